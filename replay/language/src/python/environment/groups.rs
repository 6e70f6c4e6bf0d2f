//! Dependency groups of a pyproject.toml: PEP 735's, PDM's and Poetry's, and Hatch's environments.

use toml::{Table, Value};

/// The requirements of groups.
///
/// # Errors
/// A group is missing, or includes itself; the message includes the remedy.
pub(super) fn requirements(pyproject: &str, groups: &[String]) -> Result<Vec<String>, String> {
    let table: Table = pyproject.parse().map_err(|error: toml::de::Error| {
        format!("its pyproject.toml is not TOML: {}", error.message())
    })?;
    listed(&table, groups)
}

/// As [`requirements`], of a pyproject.toml that was parsed.
pub(in super::super) fn listed(table: &Table, groups: &[String]) -> Result<Vec<String>, String> {
    let mut requirements = Vec::new();
    for group in groups {
        add(table, group, &mut Vec::new(), &mut requirements)?;
    }
    Ok(requirements)
}

fn add(
    table: &Table,
    group: &str,
    within: &mut Vec<String>,
    requirements: &mut Vec<String>,
) -> Result<(), String> {
    let normal = normalise(group);
    if within.contains(&normal) {
        return Err(format!("its dependency group `{group}` includes itself"));
    }
    let tool = |name: &str| table.get("tool")?.get(name);
    let named = |groups: Option<&Value>| {
        let groups = groups?.as_table()?;
        let found = groups.iter().find(|(name, _)| normalise(name) == normal);
        found.map(|(_, group)| group.clone())
    };
    let standard = named(table.get("dependency-groups"));
    let pdm = || named(tool("pdm")?.get("dev-dependencies"));
    let uv = || {
        let listed = tool("uv")?.get("dev-dependencies").cloned();
        listed.filter(|_| normal == "dev")
    };
    let poetry = || {
        let poetry = tool("poetry")?;
        let group = named(poetry.get("group")).and_then(|it| it.get("dependencies").cloned());
        let old = || {
            poetry
                .get("dev-dependencies")
                .filter(|_| normal == "dev")
                .cloned()
        };
        group.or_else(old)
    };
    // https://hatch.pypa.io/latest/config/environment/overview/#dependencies
    let hatch = || {
        let environment = named(tool("hatch")?.get("envs"))?;
        let keys = ["dependencies", "extra-dependencies"];
        let listed = keys
            .iter()
            .filter_map(|key| environment.get(key)?.as_array());
        // A form such as `name @ {root:uri}/folder` is only Hatch's to read.
        let plain = |one: &&Value| one.as_str().is_some_and(|text| !text.contains('{'));
        let mut all: Vec<Value> = listed.flatten().filter(plain).cloned().collect();
        let groups = environment.get("dependency-groups");
        for group in groups.and_then(Value::as_array).into_iter().flatten() {
            all.push(Value::Table(Table::from_iter([(
                "include-group".to_owned(),
                group.clone(),
            )])));
        }
        Some(Value::Array(all))
    };
    let found = standard.or_else(uv).or_else(pdm).or_else(poetry);
    match found.or_else(hatch) {
        Some(Value::Array(listed)) => {
            within.push(normal);
            for one in &listed {
                if let Some(text) = one.as_str() {
                    // A PDM group may contain `-e NAME`, which is not a requirement of the tests.
                    if !text.starts_with('-') {
                        requirements.push(text.to_owned());
                    }
                } else if let Some(other) = one.get("include-group").and_then(Value::as_str) {
                    add(table, other, within, requirements)?;
                }
            }
            // Two groups may include the same third one; only a group within itself is an error.
            within.pop();
            Ok(())
        }
        Some(Value::Table(poetry)) => {
            requirements.extend(poetry.iter().filter_map(|(name, it)| poetry_form(name, it)));
            Ok(())
        }
        _ => Err(format!(
            "its pyproject.toml has no dependency group `{group}`; correct `groups`"
        )),
    }
}

/// The normal form of a group's or a distribution's name.
pub(in super::super) fn normalise(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// The name of a requirement's distribution, in its normal form.
pub(in super::super) fn distribution(requirement: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let end = requirement.find(|c| !is_name(c));
    normalise(&requirement[..end.unwrap_or(requirement.len())])
}

/// A dependency of Poetry's as a requirement; `None` for Python itself and for what only Poetry can
/// install.
fn poetry_form(name: &str, value: &Value) -> Option<String> {
    if name == "python" {
        return None;
    }
    let (version, table) = match value {
        Value::String(version) => (version.as_str(), None),
        Value::Table(table) => (table.get("version")?.as_str()?, Some(table)),
        // Several constraints for several environments: the installer takes any version.
        Value::Array(_) => ("*", None),
        _ => return None,
    };
    let extras: Vec<&str> = table
        .and_then(|table| table.get("extras")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let extras = match &extras[..] {
        [] => String::new(),
        extras => format!("[{}]", extras.join(",")),
    };
    let clauses: Vec<String> = version.split(',').map(|one| clause(one.trim())).collect();
    let marker = table.and_then(|table| table.get("markers")?.as_str());
    let marker = marker.map_or_else(String::new, |marker| format!(" ; {marker}"));
    Some(format!("{name}{extras}{}{marker}", clauses.join(",")))
}

/// A clause of a Poetry constraint as one of PEP 440.
fn clause(text: &str) -> String {
    let next = |version: &str, index: usize| {
        let mut numbers: Vec<u32> = version
            .split('.')
            .map_while(|part| part.parse().ok())
            .collect();
        numbers.truncate(index + 1);
        if let Some(last) = numbers.last_mut() {
            *last += 1;
        }
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        numbers.join(".")
    };
    if text == "*" || text.is_empty() || text.contains("||") {
        return String::new();
    }
    if let Some(version) = text.strip_prefix('^') {
        // The first number that is not 0 stays.
        let first = version.split('.').take_while(|part| *part == "0").count();
        return format!(">={version},<{}", next(version, first));
    }
    if let Some(version) = text.strip_prefix('~').filter(|rest| !rest.starts_with('=')) {
        // `~1.2.3` means below 1.3, and `~1` below 2.
        return format!(">={version},<{}", next(version, 1));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("=={text}");
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_every_tool_are_read() {
        let pyproject = r#"
[dependency-groups]
Test_All = ["pytest>=7", { include-group = "more" }]
more = ["hypothesis"]
[tool.poetry.group.dev.dependencies]
python = "^3.8"
mock = "^4.0.2"
freezegun = { version = "~1.2", extras = ["a"] }
zero = "^0.3.1"
exact = "1.0"
any = "*"
[tool.hatch.envs.hatched]
dependencies = ["beautifulsoup4", "own @ {root:uri}/own"]
extra-dependencies = ["lxml"]
dependency-groups = ["more"]
"#;
        let list =
            |group: &str| requirements(pyproject, &[group.to_owned()]).expect("the group exists");
        assert_eq!(list("test-all"), ["pytest>=7", "hypothesis"]);
        let mut poetry = list("dev");
        poetry.sort();
        assert_eq!(
            poetry,
            [
                "any",
                "exact==1.0",
                "freezegun[a]>=1.2,<1.3",
                "mock>=4.0.2,<5",
                "zero>=0.3.1,<0.4"
            ]
        );
        assert_eq!(list("hatched"), ["beautifulsoup4", "lxml", "hypothesis"]);
        let error = requirements(pyproject, &["none".to_owned()]).expect_err("it is missing");
        assert!(error.contains("no dependency group `none`"), "{error}");
        let cycle = "[dependency-groups]\na = [{ include-group = \"a\" }]\n";
        let error = requirements(cycle, &["a".to_owned()]).expect_err("it is a cycle");
        assert!(error.contains("includes itself"), "{error}");
    }
}
