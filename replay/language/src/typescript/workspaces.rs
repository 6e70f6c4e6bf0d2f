//! Workspaces of npm, pnpm and Yarn: packages of one repository that are installed together.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::detection::matches_folder;

/// Reads a file of the repository by its path.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// True if the workspace at the top of a repository has a package in a folder.
pub fn is_member(folder: &str, read: Read<'_>) -> bool {
    let Some(patterns) = patterns(read) else {
        return false;
    };
    if read(&format!("{folder}/package.json")).is_none() {
        return false;
    }
    matches_folder(&patterns, folder)
}

/// The patterns of the folders of packages; `None` if the repository is no workspace.
fn patterns(read: Read<'_>) -> Option<Vec<String>> {
    if let Some(text) = read("pnpm-workspace.yaml") {
        // Of the YAML, only the list `packages` is read, with one item a line.
        let list = text
            .lines()
            .skip_while(|line| !line.starts_with("packages:"))
            .skip(1)
            .map(|line| line.split(" #").next().unwrap_or_default().trim_end())
            .take_while(|line| line.is_empty() || line.starts_with([' ', '-', '#']));
        let items = list.filter_map(|line| line.trim().strip_prefix('-'));
        let items = items.map(|item| item.trim().trim_matches(['\'', '"']).to_owned());
        return Some(items.collect());
    }
    let package: Value = serde_json::from_str(&read("package.json")?).ok()?;
    let workspaces = package.get("workspaces")?;
    let listed = workspaces
        .as_array()
        .or(workspaces["packages"].as_array())?;
    let patterns = listed.iter().filter_map(Value::as_str);
    Some(patterns.map(str::to_owned).collect())
}

/// A package of a workspace.
struct Member {
    folder: String,
    package: Value,
}

impl Member {
    fn name(&self) -> &str {
        self.package["name"].as_str().unwrap_or_default()
    }

    fn needs(&self, name: &str) -> bool {
        ["dependencies", "devDependencies", "peerDependencies"]
            .iter()
            .any(|kind| self.package[kind].get(name).is_some())
    }
}

/// The command that builds all packages of a workspace, if its top has a script for that.
pub(super) const BUILD_ALL: &str = "npm run build";

/// Returns the commands that build the packages which the one in a folder imports from what a build
/// writes, each after those that it needs itself; [`BUILD_ALL`] is among them if one has no build
/// of its own. `""` is the top.
pub(super) fn builds_needed<'a>(
    folder: &str,
    paths: impl Iterator<Item = &'a str>,
    has: &dyn Fn(&str) -> bool,
    read: Read<'_>,
) -> Vec<String> {
    let members: Vec<Member> = paths
        .filter_map(|path| path.strip_suffix("/package.json"))
        .filter(|folder| is_member(folder, read))
        .filter_map(|folder| {
            let text = read(&format!("{folder}/package.json"))?;
            Some(Member {
                folder: folder.to_owned(),
                package: serde_json::from_str(&text).ok()?,
            })
        })
        .collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for member in &members {
        // At the top, the tests of all of them run.
        if folder.is_empty() || member.folder == folder {
            add_builds(member, &members, has, &mut seen, &mut found);
        }
    }
    found
}

fn add_builds(
    member: &Member,
    members: &[Member],
    has: &dyn Fn(&str) -> bool,
    seen: &mut BTreeSet<String>,
    found: &mut Vec<String>,
) {
    // The prefix distinguishes packages whose needs were added from packages that are built.
    if !seen.insert(format!("needs of {}", member.folder)) {
        return;
    }
    for other in members {
        if other.folder == member.folder || !member.needs(other.name()) {
            continue;
        }
        add_builds(other, members, has, seen, found);
        if is_unbuilt(other, has) && seen.insert(other.folder.clone()) {
            found.push(match other.package["scripts"]["build"].is_string() {
                true => format!("cd {} && npm run build", other.folder),
                false => BUILD_ALL.to_owned(),
            });
        }
    }
}

/// True if the files that a package is imported from are not in the repository.
fn is_unbuilt(member: &Member, has: &dyn Fn(&str) -> bool) -> bool {
    let has = |path: &str| has(&format!("{}/{path}", member.folder));
    built_entry(&member.package, &has).is_some()
}

/// Returns the file that a package is imported from, if neither it nor another such file is in the
/// repository: a build writes it.
pub(super) fn built_entry(package: &Value, has: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut entries = Vec::new();
    for key in ["exports", "module", "main"] {
        add_paths(&package[key], &mut entries);
    }
    let code = entries.iter().filter(|path| {
        let ends = [".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx"];
        ends.iter().any(|end| path.ends_with(end)) && !path.contains(".d.")
    });
    let code: Vec<&str> = code.map(|path| path.trim_start_matches("./")).collect();
    // The targets of a pattern such as `./dist/*.js` are unknown, so it counts as present.
    let exists = |path: &&str| path.contains('*') || has(path);
    let first = code.first().map(|path| (*path).to_owned());
    first.filter(|_| !code.iter().any(exists))
}

/// Adds the paths that a value of `exports` names.
fn add_paths(value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::String(path) => paths.push(path.clone()),
        Value::Array(all) => all.iter().for_each(|one| add_paths(one, paths)),
        Value::Object(all) => all.values().for_each(|one| add_paths(one, paths)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from<'a>(files: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |path| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned())
        }
    }

    #[test]
    fn members_match_the_patterns_of_each_package_client() {
        let member = ("packages/a/package.json", "{}");
        let others = ("site/package.json", "{}");
        for (name, text) in [
            ("package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("package.json", r#"{"workspaces": ["./packages/a/"]}"#),
            (
                "package.json",
                r#"{"workspaces": {"packages": ["packages/**"]}}"#,
            ),
            (
                "pnpm-workspace.yaml",
                "packages:\n  - 'packages/*' # all\n\nallowBuilds:\n  - site\n",
            ),
        ] {
            let files = [(name, text), member, others];
            let read = read_from(&files);
            assert!(is_member("packages/a", &read), "{text}");
            assert!(!is_member("packages/b", &read), "{text}");
            assert!(!is_member("site", &read), "{text}");
        }
        let excluded = r#"{"workspaces": ["packages/*", "!packages/a"]}"#;
        let files = [("package.json", excluded), member];
        assert!(!is_member("packages/a", &read_from(&files)));
        let files = [("package.json", "{}"), member];
        assert!(!is_member("packages/a", &read_from(&files)));
    }

    #[test]
    fn packages_that_others_import_from_a_build_are_built_in_their_order() {
        let files = [
            ("package.json", r#"{"workspaces": ["*"]}"#),
            (
                "a/package.json",
                r#"{"name":"@x/a","dependencies":{"@x/b":"workspace:*","@x/d":"*","@x/e":"*"}}"#,
            ),
            (
                "b/package.json",
                r#"{"name":"@x/b","scripts":{"build":"tsc"},"exports":{".":{"types":"./dist/i.d.ts","import":"./dist/i.js"}},"devDependencies":{"@x/c":"*"}}"#,
            ),
            (
                "c/package.json",
                r#"{"name":"@x/c","scripts":{"build":"tsc"},"main":"dist/i.js"}"#,
            ),
            (
                "d/package.json",
                r#"{"name":"@x/d","scripts":{"build":"tsc"},"main":"./index.js"}"#,
            ),
            ("d/index.js", ""),
            (
                "e/package.json",
                r#"{"name":"@x/e","exports":"./dist/i.mjs"}"#,
            ),
        ];
        let read = read_from(&files);
        let builds = |folder: &str| {
            let paths = files.iter().map(|(path, _)| *path);
            builds_needed(folder, paths, &|path| read(path).is_some(), &read)
        };
        assert_eq!(
            builds("a"),
            [
                "cd c && npm run build",
                "cd b && npm run build",
                "npm run build"
            ]
        );
        assert_eq!(builds("d"), [""; 0]);
        assert_eq!(builds("").len(), 3);
    }
}
