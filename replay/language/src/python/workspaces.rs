//! Workspaces of uv: distributions of one repository that depend on each other's sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::detection::{RepositoryFiles, matches_folder};
use super::environment::groups::distribution;

/// Reads a TOML file.
fn table(text: &str) -> Option<toml::Table> {
    text.parse().ok()
}

/// The table of the workspace in a pyproject.toml.
fn workspace(pyproject: &toml::Table) -> Option<&toml::Table> {
    let uv = pyproject.get("tool")?.get("uv")?;
    uv.get("workspace")?.as_table()
}

/// The texts of a list.
fn texts(table: &toml::Table, key: &str) -> Vec<String> {
    let listed = table.get(key).and_then(toml::Value::as_array);
    let texts = listed.into_iter().flatten().filter_map(toml::Value::as_str);
    texts.map(str::to_owned).collect()
}

/// True if the workspace at the top of a repository has a distribution in a folder.
pub fn is_member(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some(top) = read("pyproject.toml").and_then(|text| table(&text)) else {
        return false;
    };
    let Some(workspace) = workspace(&top) else {
        return false;
    };
    read(&format!("{folder}/pyproject.toml")).is_some()
        && matches_folder(&texts(workspace, "members"), folder)
        && !matches_folder(&texts(workspace, "exclude"), folder)
}

/// True if a repository's pyproject.toml is that of a workspace and of no distribution.
pub(super) fn is_only_workspace(read: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some(top) = read("pyproject.toml").and_then(|text| table(&text)) else {
        return false;
    };
    let uv = top.get("tool").and_then(|tool| tool.get("uv"));
    let is_package = uv.and_then(|uv| uv.get("package")?.as_bool());
    workspace(&top).is_some() && (is_package == Some(false) || !top.contains_key("project"))
}

/// Returns the names of the workspace's other distributions whose modules the files of one import.
/// Tests import more than a distribution depends on.
pub(super) fn imported_members(files: &RepositoryFiles, folder: &str) -> Vec<String> {
    let read = |path: &str| files.read(path);
    let folders = files
        .paths()
        .filter_map(|path| path.strip_suffix("/pyproject.toml"));
    let others = folders.filter(|other| *other != folder && is_member(other, &read));
    let names: BTreeSet<String> = others
        .filter_map(|other| {
            let member = table(&read(&format!("{other}/pyproject.toml"))?)?;
            let name = member.get("project")?.get("name")?.as_str()?;
            Some(distribution(name))
        })
        .collect();
    let mut found = BTreeSet::new();
    for path in files.below(folder).filter(|path| path.ends_with(".py")) {
        let text = files.read(path).unwrap_or_default();
        for line in text.lines().map(str::trim_start) {
            let rest = line.strip_prefix("import ").or(line.strip_prefix("from "));
            let module = rest.and_then(|rest| rest.split([' ', ',', ';']).next());
            // `demo.core.x` is of the distribution `demo-core`.
            let name = distribution(module.unwrap_or_default());
            let ends = name
                .match_indices('-')
                .map(|(at, _)| at)
                .chain([name.len()]);
            found.extend(ends.filter_map(|end| names.get(&name[..end])).cloned());
        }
    }
    found.into_iter().collect()
}

/// Returns the folders of the workspace's distributions that the one in a folder depends on,
/// directly or not, or that `named` requirements name, the most needed first.
pub(super) fn siblings(source: &Path, folder: &str, named: &[String]) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(source.join(path)).ok();
    let top = read("pyproject.toml").and_then(|text| table(&text));
    let Some(workspace) = top.as_ref().and_then(workspace) else {
        return Vec::new();
    };
    let mut members = BTreeMap::new();
    for pattern in texts(workspace, "members") {
        for folder in expanded(source, &pattern) {
            let text = read(&format!("{folder}/pyproject.toml"));
            let Some(member) = text.and_then(|text| table(&text)) else {
                continue;
            };
            let name = member
                .get("project")
                .and_then(|project| project.get("name"));
            if let Some(name) = name.and_then(toml::Value::as_str)
                && is_member(&folder, &read)
            {
                members.insert(distribution(name), (folder, requirements(&member)));
            }
        }
    }
    let mut found = Vec::new();
    let own = members.values().find(|(member, _)| member == folder);
    let mut left: Vec<String> = named.iter().map(|one| distribution(one)).collect();
    left.extend(own.into_iter().flat_map(|(_, needs)| needs.iter().cloned()));
    while let Some(name) = left.pop() {
        if let Some((member, needs)) = members.get(&name)
            && member != folder
            && !found.contains(member)
        {
            found.push(member.clone());
            left.extend(needs.iter().cloned());
        }
    }
    // A distribution is found before those that it needs itself.
    found.reverse();
    found
}

/// The distributions that one depends on, with those for its extras and groups.
fn requirements(pyproject: &toml::Table) -> Vec<String> {
    let project = pyproject.get("project").and_then(toml::Value::as_table);
    let optional = project.and_then(|project| project.get("optional-dependencies")?.as_table());
    let groups = pyproject
        .get("dependency-groups")
        .and_then(toml::Value::as_table);
    let lists = optional.into_iter().chain(groups).flat_map(|lists| {
        let names = lists.keys();
        names.flat_map(|name| texts(lists, name))
    });
    let own = project.map_or_else(Vec::new, |project| texts(project, "dependencies"));
    own.into_iter()
        .chain(lists)
        .map(|requirement| distribution(&requirement))
        .collect()
}

/// The folders that a pattern of a workspace matches, relative to the source.
fn expanded(source: &Path, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        let within = |folder: &String, name: &str| match folder.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let next = found.iter().flat_map(|folder| {
            if !part.contains('*') {
                return vec![within(folder, part)];
            }
            let entries = std::fs::read_dir(source.join(folder)).into_iter().flatten();
            let names = entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok());
            names.map(|name| within(folder, &name)).collect()
        });
        found = next.collect();
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_the_members_that_one_depends_on() {
        let top = "[tool.uv]\npackage = false\n[tool.uv.workspace]\nmembers = ['core', \
                   'libs/*']\nexclude = ['libs/old']\n";
        let member = |name: &str, needs: &str| {
            format!("[project]\nname = 'My_{name}'\ndependencies = [{needs}]\n")
        };
        let (core, a) = (member("core", "'six'"), member("a", "'my-core ==1.0.dev'"));
        let b = member("b", "") + "[dependency-groups]\ntest = ['my.a']\n";
        let (folder, files) = RepositoryFiles::written(&[
            ("pyproject.toml", top),
            ("core/pyproject.toml", &core),
            ("libs/a/pyproject.toml", &a),
            ("libs/b/pyproject.toml", &b),
            ("libs/old/pyproject.toml", &core),
            ("other/pyproject.toml", &core),
            (
                "libs/b/tests/test_b.py",
                "import my\nfrom my.a.x import y\n    from my_core import z\n",
            ),
        ]);
        let read = |path: &str| files.read(path);
        assert!(is_member("core", &read) && is_member("libs/a", &read));
        assert!(!is_member("libs/old", &read) && !is_member("other", &read));
        assert!(is_only_workspace(&read));
        assert_eq!(siblings(folder.path(), "libs/b", &[]), ["core", "libs/a"]);
        assert_eq!(siblings(folder.path(), "core", &[]), [""; 0]);
        let named = ["my-a>=1".to_owned(), "six".to_owned()];
        assert_eq!(siblings(folder.path(), "core", &named), ["libs/a"]);
        assert_eq!(imported_members(&files, "libs/b"), ["my-a", "my-core"]);
    }
}
