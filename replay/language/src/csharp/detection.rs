//! Detection of the layout of a C# repository.

use super::super::detection::{DetectedProject, RepositoryFiles, tests_not_run};
use super::test_conventions::CONVENTIONS;

/// Folders of files that are no sources.
const OTHER_FOLDERS: [&str; 5] = ["bin", "generated", "node_modules", "obj", "packages"];

/// Endings of files that tools write.
const OTHER_ENDINGS: [&str; 4] = [
    ".g.cs",
    ".Designer.cs",
    "AssemblyInfo.cs",
    "GlobalUsings.cs",
];

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for C#.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    // A repository in C# is detected as a whole, never one folder of it.
    if !files.focus().is_empty() {
        return None;
    }
    let sources = files.paths().filter(|path| is_source(path)).count();
    if sources == 0 {
        return None;
    }
    let noun = if sources == 1 { "file" } else { "files" };
    let mut holes = vec!["**/*.cs".to_owned()];
    let tests = &CONVENTIONS.files;
    holes.extend(tests.names.iter().map(|name| format!("!{name}")));
    holes.extend(OTHER_ENDINGS.map(|ending| format!("!*{ending}")));
    let folders = OTHER_FOLDERS.iter().chain(tests.folders);
    holes.extend(folders.map(|folder| format!("!**/{folder}/")));
    let findings = vec![
        format!("sources: {sources} {noun} in C#"),
        tests_not_run("those of C# are not run"),
        format!("holes: {}", holes.join(" ")),
    ];
    Some(DetectedProject {
        name: name(files),
        holes,
        findings,
        ..DetectedProject::default()
    })
}

/// True if a C# file is neither a test nor written by a tool.
fn is_source(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folders = folders.split('/');
    let is_wanted = !OTHER_ENDINGS.iter().any(|ending| name.ends_with(ending));
    name.ends_with(".cs")
        && is_wanted
        && !folders.any(|folder| OTHER_FOLDERS.contains(&folder))
        && !CONVENTIONS.files.is_file(path)
}

/// The name of the solution at the top, or of the only project.
fn name(files: &RepositoryFiles) -> Option<String> {
    let at_top = files.names_in("");
    let solution = at_top
        .filter_map(|name| name.strip_suffix(".slnx").or(name.strip_suffix(".sln")))
        .next();
    let mut projects = files.paths().filter_map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.strip_suffix(".csproj")
    });
    // Of several projects, none names the repository.
    let only = projects.next().filter(|_| projects.next().is_none());
    solution.or(only).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str]) -> Option<DetectedProject> {
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, "")).collect();
        let (_folder, files) = RepositoryFiles::written(&files);
        detect(&files)
    }

    #[test]
    fn sources_are_told_from_tests() {
        let paths = ["Shop.sln", "src/Shop/Cart.cs", "Shop.Tests/CartTests.cs"];
        let detected = found(&paths).unwrap();
        assert_eq!(detected.name.as_deref(), Some("Shop"));
        assert_eq!(detected.findings[0], "sources: 1 file in C#");
        assert_eq!(detected.test, None);
        for path in [
            "CartTests.cs",
            "tests/Cart.cs",
            "Shop.Tests/Cart.cs",
            "obj/Cart.g.cs",
            "a.go",
        ] {
            assert!(found(&[path]).is_none(), "{path}");
        }
    }

    #[test]
    fn a_repository_has_the_name_of_its_only_project() {
        let named = |paths: &[&str]| found(paths).unwrap().name;
        let one = named(&["src/Shop.csproj", "src/Cart.cs"]);
        assert_eq!(one.as_deref(), Some("Shop"));
        assert_eq!(named(&["A.csproj", "B.csproj", "Cart.cs"]), None);
    }
}
