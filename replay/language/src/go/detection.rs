//! Detection of the layout of a repository with a Go module, and of how its tests run.

use super::super::detection::{DetectedProject, RepositoryFiles, escaped_glob, tests_not_run};
use super::super::environment::Packages;
use super::super::imports::parent;
use super::super::runner::{RunnerName, TestSettings};
use super::imports::usual_name;
use super::test_conventions::CONVENTIONS;
use super::workspaces::{WORKSPACE, focused_module, is_used};

/// Patterns of files that are neither tests nor sources of the module.
const NOT_SOURCES: [&str; 5] = [
    "!*.pb.go",
    "!*_gen.go",
    "!*_generated.go",
    "!**/testdata/",
    "!vendor/",
];

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for Go.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    let module = match files.focus() {
        "" => find_module(files),
        _ => Some(focused_module(files)?),
    };
    let is_own = |path: &&str| {
        path.ends_with(".go")
            && !path
                .split('/')
                .any(|part| matches!(part, "vendor" | "testdata" | "node_modules"))
    };
    let (tests, sources): (Vec<&str>, Vec<&str>) = files
        .below(files.focus())
        .filter(is_own)
        .partition(|path| CONVENTIONS.files.is_file(path));
    if sources.is_empty() {
        return None;
    }
    let count = |files: &[&str], what: &str| match files.len() {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let mut findings = vec![format!("sources: {} in Go", count(&sources, "file"))];
    let folder = module.and_then(|module| module.rsplit_once('/'));
    let start = folder.map_or_else(String::new, |(folder, _)| format!("{folder}/"));
    // `./...` ends where another module begins.
    let is_of_inner = |path: &str| {
        let mut ends = path.match_indices('/').map(|(at, _)| &path[..=at]);
        ends.any(|inner| inner.len() > start.len() && files.has(&format!("{inner}go.mod")))
    };
    let own_tests: Vec<&str> = tests
        .into_iter()
        .filter(|path| path.starts_with(&start) && !is_of_inner(path))
        .collect();
    let runnable = module.filter(|_| !own_tests.is_empty());
    let mut environment = Packages::default();
    let test = match (runnable, module) {
        (Some(module), _) => {
            let read = |path: &str| files.read(path);
            let workspace = match is_used(parent(module), &read) {
                true => format!(", with the other modules of {WORKSPACE}"),
                false => String::new(),
            };
            findings.push(format!(
                "packages: what {module} requires, by go{workspace}"
            ));
            let files = count(&own_tests, "file");
            findings.push(format!("tests: {files}, run by `go test`"));
            environment.file = Some(module.to_owned());
            Some(TestSettings::new(RunnerName::Go))
        }
        (None, found) => {
            let reason = match found {
                Some(module) => format!("{module} has no files named *_test.go beside it or below"),
                None => "there is no go.mod".to_owned(),
            };
            findings.push(tests_not_run(&reason));
            None
        }
    };
    let mut holes = vec![format!("{}**/*.go", escaped_glob(&start))];
    holes.extend(
        CONVENTIONS
            .files
            .names
            .iter()
            .map(|name| format!("!{name}")),
    );
    holes.extend(NOT_SOURCES.map(str::to_owned));
    findings.push(format!("holes: {}", holes.join(" ")));
    Some(DetectedProject {
        name: module
            .and_then(|module| files.read(module))
            .and_then(|text| module_name(&text)),
        holes,
        exclude: Vec::new(),
        hidden: Vec::new(),
        environment,
        test,
        findings,
    })
}

/// The `go.mod` at the top, or else the only one.
fn find_module(files: &RepositoryFiles) -> Option<&str> {
    let mut found = files
        .paths()
        .filter(|path| *path == "go.mod" || path.ends_with("/go.mod"))
        .filter(|path| !path.split('/').any(|part| part == "testdata"));
    if files.has("go.mod") {
        return found.find(|path| *path == "go.mod");
    }
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// Returns the last part of the module's path that is not a version.
fn module_name(text: &str) -> Option<String> {
    let path = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "))?
        .split_whitespace()
        .next()?
        .trim_matches('"');
    Some(usual_name(path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(paths: &[(&str, &str)]) -> Option<DetectedProject> {
        let (_folder, files) = RepositoryFiles::written(paths);
        detect(&files)
    }

    #[test]
    fn a_module_with_tests_is_run() {
        let module = "module \"example.com/shop/v2\" // the shop\n\ngo 1.22\n";
        let found = detected(&[("go.mod", module), ("a/b.go", ""), ("a/b_test.go", "")]).unwrap();
        assert_eq!(found.name.as_deref(), Some("shop"));
        assert_eq!(found.test.unwrap().runner, RunnerName::Go);
        assert_eq!(found.environment.file.as_deref(), Some("go.mod"));
        assert_eq!(found.holes[0], "**/*.go");
    }

    #[test]
    fn the_only_module_below_is_found() {
        let module = "module example.com/shop\n";
        let found = detected(&[("x/go.mod", module), ("x/b.go", ""), ("x/b_test.go", "")]).unwrap();
        assert_eq!(found.environment.file.as_deref(), Some("x/go.mod"));
        assert_eq!(found.holes[0], "x/**/*.go");
    }

    #[test]
    fn a_module_beside_others_is_run_by_itself() {
        let (_folder, files) = RepositoryFiles::written(&[
            ("go.work", "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n"),
            ("a/go.mod", "module example.com/a\n"),
            ("a/a.go", ""),
            ("a/a_test.go", ""),
            ("b/go.mod", "module example.com/b\n"),
            ("b/b.go", ""),
            ("b/c.go", ""),
            ("b/b_test.go", ""),
        ]);
        let found = detect(&files.focused("b")).unwrap();
        assert_eq!(found.name.as_deref(), Some("b"));
        assert_eq!(found.environment.file.as_deref(), Some("b/go.mod"));
        assert_eq!(found.holes[0], "b/**/*.go");
        assert_eq!(
            found.findings[..3],
            [
                "sources: 2 files in Go",
                "packages: what b/go.mod requires, by go, with the other modules of go.work",
                "tests: 1 file, run by `go test`"
            ]
        );
    }

    #[test]
    fn without_a_module_or_tests_nothing_is_run() {
        for paths in [
            &[("b.go", ""), ("b_test.go", "")][..],
            &[("go.mod", "module a\n"), ("b.go", "")],
            // `go test ./...` does not cross into another module.
            &[
                ("go.mod", "module a\n"),
                ("b.go", ""),
                ("tools/go.mod", "module a/tools\n"),
                ("tools/c_test.go", ""),
            ],
            &[
                ("go.mod", "module a\n"),
                ("b.go", ""),
                ("vendor/c/c_test.go", ""),
            ],
        ] {
            assert_eq!(detected(paths).unwrap().test, None);
        }
        assert!(detected(&[("go.mod", "module a\n"), ("b_test.go", "")]).is_none());
    }
}
