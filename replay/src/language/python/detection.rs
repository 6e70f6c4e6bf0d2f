//! How a Python repository is laid out, what it depends on and how its tests run.

mod imported;
mod layout;
mod metadata;
mod tests_found;

use super::super::detection::{DetectedProject, RepositoryFiles, tests_not_run};
use super::super::environment::Packages;
use super::environment::groups::distribution;

use imported::imported_requirements;
use layout::PythonLayout;
use metadata::Metadata;
use tests_found::PythonTests;

/// What [`LanguageSupport::detect`](super::super::LanguageSupport) returns of Python.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    let metadata = Metadata::read(files);
    let tests = PythonTests::find(files, &metadata);
    let test_files = tests.as_ref().map_or(&[][..], |tests| &tests.files);
    let layout = PythonLayout::find(files, &metadata, test_files)?;
    let mut findings = vec![layout.describe()];
    let patterns = tests.as_ref().map_or(&[][..], |tests| &tests.patterns);
    let holes = layout.holes(patterns);
    let environment = match &tests {
        Ok(tests) => environment(files, &metadata, (tests, &layout), &mut findings),
        Err(_) => Packages::default(),
    };
    let test = match tests {
        Ok(tests) => {
            findings.push(tests.describe(&layout));
            Some(tests.settings(&layout))
        }
        Err(reason) => {
            findings.push(tests_not_run(reason));
            None
        }
    };
    findings.push(format!("holes: {}", holes.join(" ")));
    Some(DetectedProject {
        name: metadata.name.clone(),
        holes,
        exclude: layout.exclude(files),
        hidden: Vec::new(),
        environment,
        test,
        findings,
    })
}

/// What pytest and coverage are allowed to be: the versions that the harness works with.
const REQUIRED: [&str; 2] = ["pytest>=7,<10", "coverage>=7"];

/// What the tests need installed.
fn environment(
    files: &RepositoryFiles,
    metadata: &Metadata,
    (tests, layout): (&PythonTests, &PythonLayout),
    findings: &mut Vec<String>,
) -> Packages {
    let mut packages = Packages {
        requires: REQUIRED.map(str::to_owned).to_vec(),
        interpreter: metadata.requires_python.clone(),
        ..Packages::default()
    };
    let mut sources = Vec::new();
    if metadata.is_installable {
        packages.install = Some(".".to_owned());
        let file = metadata.file.as_deref().unwrap_or("setup.py");
        sources.push(format!("the project itself ({file})"));
    }
    let (extras, groups) = metadata.test_extras();
    if packages.install.is_some() && !extras.is_empty() {
        sources.push(format!("its extras {}", extras.join(", ")));
        packages.extras = extras;
    }
    if !groups.is_empty() {
        sources.push(format!("its groups {}", groups.join(", ")));
        packages.groups = groups;
    }
    let (file, from) = requirements(files, metadata, packages.install.is_some());
    if let Some(file) = &file {
        sources.push(file.clone());
    }
    packages.file = file;
    if packages.groups.is_empty() && packages.extras.is_empty() {
        let known: Vec<String> = metadata.tox_requires.clone();
        if !known.is_empty() && packages.file.is_none() {
            sources.push("deps of tox.ini".to_owned());
        }
        if packages.file.is_none() {
            packages.requires.extend(known);
        }
    }
    packages.requires.extend(from);
    let imported = imported_requirements(
        files,
        &tests.files,
        layout,
        &declared_elsewhere(files, metadata, &packages),
    );
    if !imported.is_empty() {
        sources.push(format!("{}, which tests import", imported.join(", ")));
        packages.requires.extend(imported);
    }
    sources.push("pytest and coverage".to_owned());
    findings.push(format!("packages: {}", sources.join("; ")));
    if let Some(python) = &packages.interpreter {
        findings.push(format!("interpreter: Python {python}"));
    }
    packages
}

/// What the repository requires for anything else than what is installed already, the requirements
/// of files first.
fn declared_elsewhere(
    files: &RepositoryFiles,
    metadata: &Metadata,
    packages: &Packages,
) -> Vec<String> {
    let in_files = REQUIREMENT_FILES
        .iter()
        .filter(|name| packages.file.as_deref() != Some(name))
        .filter_map(|name| files.read(name))
        .flat_map(|text| metadata::plain_requirements(&text));
    let is_chosen =
        |name: &String| packages.groups.contains(name) || packages.extras.contains(name);
    let chosen: Vec<String> = metadata
        .declared
        .iter()
        .filter(|(name, _)| is_chosen(name))
        .map(|(_, one)| one)
        .chain(&packages.requires)
        .map(|one| distribution(one))
        .collect();
    let declared = metadata.declared.iter().map(|(_, one)| one.clone());
    in_files
        .chain(declared)
        .chain(metadata.tox_requires.iter().cloned())
        .filter(|one| !chosen.contains(&distribution(one)))
        .collect()
}

/// Where the requirements of tests usually stand, the better first.
const REQUIREMENT_FILES: [&str; 14] = [
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements-testing.txt",
    "requirements_test.txt",
    "requirements_tests.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "test/requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// The requirements file of the tests; without an installable project also the project's own, which
/// is returned as single requirements if both exist.
fn requirements(
    files: &RepositoryFiles,
    metadata: &Metadata,
    installable: bool,
) -> (Option<String>, Vec<String>) {
    let (extras, groups) = metadata.test_extras();
    let declared = !extras.is_empty() || !groups.is_empty();
    let usable = |name: &&str| {
        files
            .read(name)
            .is_some_and(|text| !metadata::installs_itself(&text))
    };
    let of_tests = REQUIREMENT_FILES
        .into_iter()
        .filter(|_| !declared)
        .find(usable);
    let own = ["requirements.txt", "requirements/base.txt"]
        .into_iter()
        .filter(|_| !installable)
        .find(usable);
    match (of_tests, own) {
        (Some(tests), Some(own)) => {
            let text = files.read(own).unwrap_or_default();
            (Some(tests.to_owned()), metadata::plain_requirements(&text))
        }
        (file, own) => (file.or(own).map(str::to_owned), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources that a repository with these files is taken to have, and pytest's arguments.
    fn found(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let (_folder, files) = RepositoryFiles::written(files);
        let project = detect(&files).expect("it has sources");
        let holes = project.holes.into_iter();
        let sources = holes.filter(|glob| !glob.starts_with('!')).collect();
        (
            sources,
            project.test.map_or_else(Vec::new, |test| test.args),
        )
    }

    #[test]
    fn sources_are_found_in_folders_of_any_name() {
        let imports = |module: &str| format!("from {module} import f\n\ndef test_f():\n    f()\n");
        for (source, module, glob) in [
            ("app/main.py", "app.main", "/app/**/*.py"),
            ("code/mod.py", "mod", "/code/mod.py"),
            ("lib/mod.py", "mod", "/lib/mod.py"),
            ("lib/mod.py", "lib.mod", "/lib/**/*.py"),
            ("backend/shop/__init__.py", "shop", "/backend/shop/**/*.py"),
            ("src/acme/tool/mod.py", "acme.tool.mod", "/src/acme/**/*.py"),
        ] {
            let (sources, args) = found(&[(source, ""), ("tests/test_f.py", &imports(module))]);
            assert_eq!(sources, [glob], "{source} as {module}");
            assert_eq!(args, ["tests"]);
        }
    }

    #[test]
    fn files_of_tests_are_no_sources_whatever_they_are_called() {
        let case = "import unittest\nclass T(unittest.TestCase):\n    pass\n";
        let holes = |files: &[(&str, &str)]| {
            let (_folder, files) = RepositoryFiles::written(files);
            detect(&files).expect("it has sources")
        };
        let flat = holes(&[("app/__init__.py", ""), ("tests.py", case)]);
        assert!(!flat.holes.contains(&"/tests.py".to_owned()), "{flat:?}");
        assert!(flat.test.is_some());
        let odd = holes(&[("app/__init__.py", ""), ("tests/checks.py", case)]);
        let args = odd.test.expect("tests").args;
        assert_eq!(args, ["-o", "python_files=checks.py", "tests"]);
        let own = holes(&[
            ("beans.py", ""),
            ("check_beans.py", ""),
            ("pytest.ini", "[pytest]\npython_files = check_*.py\n"),
        ]);
        assert!(own.holes.contains(&"!check_*.py".to_owned()), "{own:?}");
        assert_eq!(own.test.expect("tests").args, ["check_beans.py"]);
        let documented = holes(&[
            ("app/__init__.py", ""),
            (
                "setup.cfg",
                "[tool:pytest]\naddopts = -v --doctest-modules\n",
            ),
        ]);
        assert!(documented.test.is_none());
        assert!(documented.findings[1].contains("only examples in documentation"));
    }
}
