//! Distributions of one repository that depend on each other's sources: workspaces of uv, and
//! dependencies that are named by their folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::detection::{RepositoryFiles, matches_folder};
use super::super::imports::joined_path;
use super::environment::groups::distribution;
use super::requirements::{RequirementList, requirement_files};

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

/// True if the distribution in a folder names others of the repository by their folders.
pub fn names_others(source: &Path, folder: &str) -> bool {
    !others_of(source, folder).is_empty()
}

/// True if the distribution in a folder names others of the repository by their folders, and no
/// folder below the top holds it with all of them. Above that top, its folders name the same
/// others.
pub fn names_across(source: &Path, folder: &str) -> bool {
    let first = |path: &str| path.split('/').next().map(str::to_owned);
    let mut others = others_of(source, folder).into_iter();
    others.any(|other| first(&other) != first(folder))
}

/// The folders of the other distributions that the one in a folder names.
fn others_of(source: &Path, folder: &str) -> Vec<String> {
    let mut others = named_directly(source, folder, true);
    others.retain(|other| {
        // Neither the top, nor the folder itself or one in it; `app2` begins with `app` and is not
        // in it.
        let inside = other.strip_prefix(folder);
        !other.is_empty() && inside.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
    });
    others
}

/// The folders of the distributions that the one in a folder names; those for its tests count only
/// if `is_own`.
fn named_directly(source: &Path, folder: &str, is_own: bool) -> Vec<String> {
    let mut named = named_folders(&metadata(source, folder), is_own);
    if is_own {
        named.extend(listed_folders(&source.join(folder)));
    }
    let others = named.iter().filter_map(|path| joined_path(folder, path));
    others
        .filter(|other| is_distribution(|name| source.join(other).join(name).is_file()))
        .collect()
}

/// True if a folder that has a file of a name is that of a distribution.
pub(super) fn is_distribution(has: impl Fn(&str) -> bool) -> bool {
    has("pyproject.toml") || has("setup.py")
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

/// Returns the distributions of the repository that the one in a folder names by their folders,
/// directly or not, as requirements: `NAME @ file://…`, as Poetry's own builds name them.
pub(super) fn path_requirements(source: &Path, folder: &str) -> Vec<String> {
    let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    let requirement = |folder: String| {
        let path = source.join(&folder).display().to_string();
        match name_of(&metadata(&source, &folder)) {
            // A blank ends the address of a requirement.
            Some(name) => format!("{name} @ file://{}", path.replace(' ', "%20")),
            // The metadata of `setup.py` are known only when it runs, so the installer finds the
            // name.
            None => path,
        }
    };
    let folders = named_by_folder(&source, folder).into_iter();
    folders.map(requirement).collect()
}

/// Returns the folders of the distributions of the repository that the one in a folder names by
/// their folders, directly or not.
pub(super) fn named_by_folder(source: &Path, folder: &str) -> Vec<String> {
    let own = joined_path("", folder).unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    let mut left = vec![(own.clone(), true)];
    while let Some((folder, is_own)) = left.pop() {
        for other in named_directly(source, &folder, is_own) {
            if other != own && !found.contains(&other) {
                found.push(other.clone());
                left.push((other, false));
            }
        }
    }
    found
}

/// The pyproject.toml in a folder; empty if there is none.
fn metadata(source: &Path, folder: &str) -> toml::Table {
    let text = std::fs::read_to_string(source.join(folder).join("pyproject.toml"));
    text.ok().and_then(|text| table(&text)).unwrap_or_default()
}

/// The name of the distribution that a pyproject.toml describes.
pub fn name_of(pyproject: &toml::Table) -> Option<String> {
    let poetry = || pyproject.get("tool")?.get("poetry")?.get("name");
    let project = pyproject
        .get("project")
        .and_then(|project| project.get("name"));
    Some(project.or_else(poetry)?.as_str()?.to_owned())
}

/// The folders that the requirement files of the distribution in a folder install: `-e ../core`.
fn listed_folders(folder: &Path) -> Vec<String> {
    let names_in = |inner: &str| {
        let entries = std::fs::read_dir(folder.join(inner)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).collect()
    };
    let names = requirement_files(names_in);
    let names = names.iter().map(String::as_str).chain(["requirements.txt"]);
    let texts = names.filter_map(|name| std::fs::read_to_string(folder.join(name)).ok());
    let folders = texts.flat_map(|text| RequirementList::parse(&text).folders);
    folders.collect()
}

/// The folders by which a distribution names others: Poetry's and uv's `path`, PDM's `file:`
/// addresses. Those for its tests count only if `is_own`.
fn named_folders(pyproject: &toml::Table, is_own: bool) -> Vec<String> {
    let tool = |name: &str| pyproject.get("tool").and_then(|tool| tool.get(name));
    let within = |value: Option<&toml::Value>, key: &str| value?.get(key).cloned();
    let poetry = tool("poetry");
    let mut tables = vec![
        within(poetry, "dependencies"),
        within(tool("uv"), "sources"),
    ];
    if is_own {
        tables.push(within(poetry, "dev-dependencies"));
        let groups = within(poetry, "group");
        let groups = groups.as_ref().and_then(toml::Value::as_table);
        let groups = groups.into_iter().flatten();
        tables.extend(groups.map(|(_, group)| group.get("dependencies").cloned()));
    }
    let tables = tables.iter().flatten().filter_map(toml::Value::as_table);
    let named = tables.flatten().filter_map(|(_, value)| value.get("path"));
    let mut folders: Vec<String> = named
        .filter_map(|path| path.as_str().map(str::to_owned))
        .collect();
    if let Some(pdm) = within(tool("pdm"), "dev-dependencies").filter(|_| is_own) {
        let groups = pdm.as_table().into_iter().flatten();
        let all = groups.flat_map(|(_, group)| group.as_array().into_iter().flatten());
        for requirement in all.filter_map(toml::Value::as_str) {
            let address = requirement.split_once("file:///${PROJECT_ROOT}/");
            // The fragment of the address is the name: `#egg=core`.
            let path = address.and_then(|(_, path)| path.split('#').next());
            folders.extend(path.map(str::to_owned));
        }
    }
    folders
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
    fn distributions_that_are_named_by_folders_are_required() {
        let poetry = |name: &str, more: &str| {
            format!("[tool.poetry]\nname = '{name}'\n[tool.poetry.dependencies]\n{more}\n")
        };
        let app = poetry(
            "app",
            "core-lib = { path = '../core', develop = true }\nx = '^1'",
        ) + "[tool.poetry.group.dev.dependencies]\nkit = { path = '../test kit' }\n\
               out = { path = '../../out' }\nwheel = { path = '../a.whl' }\n";
        let core = poetry(
            "core-lib",
            "low = { path = '../low' }\napp = { path = '../app' }",
        );
        let low = "[project]\nname = 'low'\n[tool.uv.sources]\nold = { path = '../old' }\n";
        let pdm = "[project]\nname = 'p'\n[tool.pdm.dev-dependencies]\ndev = ['-e \
                   file:///${PROJECT_ROOT}/../old#egg=old']\n";
        let (folder, _) = RepositoryFiles::written(&[
            ("app/pyproject.toml", &app),
            ("core/pyproject.toml", &core),
            ("test kit/pyproject.toml", &poetry("kit", "")),
            ("low/pyproject.toml", low),
            ("old/setup.py", ""),
            ("pdm/pyproject.toml", pdm),
            ("plain/pyproject.toml", "[project]\nname = 'plain'\n"),
            (
                "plain/requirements-dev.txt",
                "-e ../pdm[x] # also\n-e .\nsix\n",
            ),
            ("listed/pyproject.toml", "[project]\nname = 'listed'\n"),
            ("listed/reqs/testing.txt", "--editable=../pdm\n"),
        ]);
        let root = folder.path().canonicalize().unwrap().display().to_string();
        let required = |folder_: &str| {
            let found = path_requirements(folder.path(), folder_).into_iter();
            let mut found: Vec<String> = found.map(|one| one.replace(&root, "")).collect();
            found.sort();
            found
        };
        assert_eq!(
            required("app"),
            [
                "/old",
                "core-lib @ file:///core",
                "kit @ file:///test%20kit",
                "low @ file:///low",
            ]
        );
        assert_eq!(required("pdm"), ["/old"]);
        assert_eq!(required("plain"), ["p @ file:///pdm"]);
        assert_eq!(required("listed"), required("plain"));
        let (_folder, files) = RepositoryFiles::written(&[
            ("app/pyproject.toml", &app),
            ("core/pyproject.toml", &core),
            ("app/inner/pyproject.toml", &poetry("inner", "")),
        ]);
        let names = |folder: &str| names_others(files.root(), folder);
        assert!(names("app") && names("core"));
        assert!(!names("app/inner") && !names("none"));
        assert!(names_across(files.root(), "app"));
        // Any folder above the workspace names the same distributions.
        let (_folder, files) = RepositoryFiles::written(&[
            ("mono/app/pyproject.toml", &app),
            ("mono/core/pyproject.toml", &core),
        ]);
        assert!(names_others(files.root(), "mono/app"));
        assert!(!names_across(files.root(), "mono/app"));
        assert_eq!(required("."), [""; 0]);
    }

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
