//! Detection of the layout and the dependencies of a Python repository, and of how its tests run.

mod imported;
mod layout;
mod metadata;
mod setup_script;
mod tests_found;

use super::super::detection::{DetectedProject, RepositoryFiles, globs_within, tests_not_run};
use super::super::environment::Packages;
use super::super::imports::joined_path;
use super::environment::groups::distribution;
use super::requirements::{self, RequirementList};
use super::workspaces;

use imported::imported_requirements;
use layout::PythonLayout;
use metadata::Metadata;
use tests_found::{OF_DISTRIBUTIONS, PythonTests};

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for Python.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    let folder = files.focus();
    let read = |path: &str| files.read(path);
    match folder {
        // Its distributions have tests of their own.
        "" if workspaces::is_only_workspace(&read) => None,
        "" => detect_alone(files),
        folder => {
            let is_member = workspaces::is_member(folder, &read);
            if !is_member && !workspaces::names_others(files.root(), folder) {
                return None;
            }
            let mut found = detect_alone(&files.within(folder))?;
            if is_member && found.test.is_some() {
                let members = workspaces::imported_members(files, folder);
                found.environment.requires.extend(members);
                add_groups_of_workspace(files, &mut found);
            }
            Some(within(folder, found))
        }
    }
}

/// Adds what the workspace installs for the tests of all its distributions, if the one that was
/// found lists nothing for its own.
fn add_groups_of_workspace(files: &RepositoryFiles, found: &mut DetectedProject) {
    let environment = &mut found.environment;
    let lists_own = environment.file.is_some() || environment.requires.len() > REQUIRED.len();
    if lists_own || !environment.groups.is_empty() || !environment.extras.is_empty() {
        return;
    }
    let top = Metadata::read(files);
    let (_, groups) = top.test_extras();
    let of_groups = top
        .declared
        .iter()
        .filter(|(name, _)| groups.contains(name));
    let before = environment.requires.len();
    environment
        .requires
        .extend(of_groups.map(|(_, one)| one.clone()));
    let mut findings = found.findings.iter_mut();
    if environment.requires.len() > before
        && let Some(finding) = findings.find(|it| it.starts_with("packages: "))
    {
        finding.push_str(&format!("; the workspace's groups {}", groups.join(", ")));
    }
}

/// What was found of a distribution of a workspace, for the repository.
fn within(folder: &str, mut found: DetectedProject) -> DetectedProject {
    let inside = |path: &str| match path {
        "." => folder.to_owned(),
        path => format!("{folder}/{path}"),
    };
    found.holes = globs_within(folder, found.holes);
    found.exclude = globs_within(folder, found.exclude);
    let environment = &mut found.environment;
    environment.install = environment.install.as_deref().map(inside);
    environment.file = environment.file.as_deref().map(inside);
    if let Some(test) = &mut found.test {
        for path in &mut test.path {
            *path = inside(path);
        }
        let mut has_path = false;
        let mut is_value = false;
        for argument in &mut test.args {
            if !is_value && !argument.starts_with('-') {
                *argument = inside(argument);
                has_path = true;
            }
            is_value = argument == "-o";
        }
        // Without a path, pytest would collect the tests of the whole workspace.
        if !has_path {
            test.args.push(folder.to_owned());
        }
    }
    // Findings quote globs and arguments, which now have the folder before them.
    for finding in &mut found.findings {
        if finding.starts_with("holes: ") {
            *finding = format!("holes: {}", found.holes.join(" "));
        } else if let (Some(test), Some((start, rest))) = (&found.test, finding.split_once('`'))
            && finding.starts_with("tests: ")
            && let Some((_, end)) = rest.split_once('`')
        {
            *finding = format!("{start}`pytest {}`{end}", test.args.join(" "));
        }
    }
    found
}

/// Detects the distribution at the top of the files.
fn detect_alone(files: &RepositoryFiles) -> Option<DetectedProject> {
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
            let advice = match reason {
                OF_DISTRIBUTIONS => "; replay one of them with `--package`",
                _ => "",
            };
            findings.push(tests_not_run(reason) + advice);
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

/// Versions of pytest and coverage that the harness works with, as requirements.
const REQUIRED: [&str; 2] = ["pytest>=7,<10", "coverage>=7"];

/// Variable by which Django finds its settings, and the plugin of pytest that prepares them and the
/// database, as `manage.py test` does.
const DJANGO_SETTINGS: &str = "DJANGO_SETTINGS_MODULE";
const DJANGO_PLUGIN: &str = "pytest-django";

/// Returns the packages that the tests need.
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
    let listed = ListedRequirements::find(files, metadata, packages.install.is_some());
    sources.extend(listed.sources);
    packages.file = listed.file;
    let from = listed.requires;
    if packages.install.is_some() {
        for extra in listed.extras {
            if !packages.extras.contains(&extra) {
                packages.extras.push(extra);
            }
        }
    }
    let is_listed = packages.file.is_some() || !from.is_empty();
    // These count only if the project itself lists nothing for its tests.
    if packages.groups.is_empty() && packages.extras.is_empty() && !is_listed {
        for (file, known) in [
            ("Pipfile", &metadata.pipfile_requires),
            ("tests_require of its setup", &metadata.setup_requires),
            ("deps of tox", &metadata.tox_requires),
            ("sessions of noxfile.py", &metadata.nox_requires),
        ] {
            if !known.is_empty() {
                sources.push(file.to_owned());
                packages.requires.extend(known.iter().cloned());
                break;
            }
        }
    }
    packages.requires.extend(from);
    let declared = declared_elsewhere(files, metadata, &packages);
    let imported = imported_requirements(files, &tests.files, layout, &declared);
    packages.spare.extend(declared);
    packages.spare.extend(locked(files));
    if !imported.is_empty() {
        sources.push(format!("{}, which tests import", imported.join(", ")));
        packages.requires.extend(imported);
    }
    if let Some(settings) = &metadata.django_settings {
        let variable = DJANGO_SETTINGS.to_owned();
        packages.env.insert(variable, settings.clone());
        packages.requires.push(DJANGO_PLUGIN.to_owned());
        sources.push(format!(
            "{DJANGO_PLUGIN}, since manage.py names settings of Django"
        ));
    }
    sources.push("pytest and coverage".to_owned());
    findings.push(format!("packages: {}", sources.join("; ")));
    for (name, value) in &packages.env {
        findings.push(format!("variables: {name}={value} (manage.py)"));
    }
    if let Some(python) = &packages.interpreter {
        findings.push(format!("interpreter: Python {python}"));
    }
    packages
}

/// Returns the repository's requirements for other purposes, without those of the packages that are
/// installed already; the requirements of files are first.
fn declared_elsewhere(
    files: &RepositoryFiles,
    metadata: &Metadata,
    packages: &Packages,
) -> Vec<String> {
    let in_files: Vec<String> = requirement_files(files)
        .iter()
        .map(String::as_str)
        .chain(["requirements.txt"])
        .filter(|name| packages.file.as_deref() != Some(name))
        .filter_map(|name| files.read(name))
        .flat_map(|text| RequirementList::parse(&text).requires)
        .collect();
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
        .into_iter()
        .chain(declared)
        .chain(metadata.pipfile_requires.iter().cloned())
        .chain(metadata.setup_requires.iter().cloned())
        .chain(metadata.tox_requires.iter().cloned())
        .chain(metadata.nox_requires.iter().cloned())
        .filter(|one| !chosen.contains(&distribution(one)))
        .collect()
}

/// Returns the requirements that a repository's lock files have.
fn locked(files: &RepositoryFiles) -> Vec<String> {
    let names = ["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"];
    let tables = names
        .iter()
        .filter_map(|name| files.read(name)?.parse::<toml::Table>().ok());
    let mut found = Vec::new();
    for table in tables {
        // The standard lock file (PEP 751) has the plural.
        let listed = table.get("package").or(table.get("packages"));
        let listed = listed.and_then(toml::Value::as_array);
        for package in listed.into_iter().flatten() {
            let text = |key: &str| package.get(key).and_then(toml::Value::as_str);
            if let (Some(name), Some(version)) = (text("name"), text("version")) {
                found.push(format!("{name}=={version}"));
            }
        }
    }
    found
}

/// Returns the first of the requirements that provide a module.
pub(super) fn provider<'a>(requirements: &'a [String], module: &str) -> Option<&'a String> {
    let outermost = module.split('.').next().unwrap_or_default();
    let mut requirements = requirements.iter();
    requirements.find(|one| imported::provides(one, outermost))
}

/// Lists of the tests' packages.
#[derive(Default)]
struct ListedRequirements {
    /// A requirements file that an installer can read.
    file: Option<String>,
    /// Single requirements of files that an installer can't read, or of several files.
    requires: Vec<String>,
    /// Extras of the project that such files ask for: `-e .[full]`.
    extras: Vec<String>,
    /// Files in which they were found, for messages.
    sources: Vec<String>,
}

impl ListedRequirements {
    /// Reads the requirements file of the tests; without an installable project also the project's
    /// own.
    fn find(files: &RepositoryFiles, metadata: &Metadata, installable: bool) -> Self {
        let (extras, groups) = metadata.test_extras();
        let declared = !extras.is_empty() || !groups.is_empty();
        let named = metadata.tox_files.iter().cloned();
        let of_tests = named
            .chain(requirement_files(files))
            .filter(|_| !declared)
            .find(|path| files.has(path));
        let own = ["requirements.txt", "requirements/base.txt"]
            .into_iter()
            .filter(|_| !installable)
            .find(|path| files.has(path))
            .map(str::to_owned);
        let mut listed = Self::default();
        for path in [of_tests, own].into_iter().flatten() {
            if listed.sources.contains(&path) {
                continue;
            }
            let mut lists = Vec::new();
            let is_readable = read_requirements(files, &path, &mut Vec::new(), &mut lists);
            if is_readable && listed.file.is_none() {
                listed.file = Some(path.clone());
            } else {
                for list in lists {
                    listed.requires.extend(list.requires);
                    listed.extras.extend(list.extras);
                }
            }
            listed.sources.push(path);
        }
        listed
    }
}

/// Reads a requirements file and those that it includes. Returns true if an installer can read them
/// unchanged: none installs the repository itself, or leads out of it.
fn read_requirements(
    files: &RepositoryFiles,
    path: &str,
    within: &mut Vec<String>,
    lists: &mut Vec<RequirementList>,
) -> bool {
    let Some(text) = files
        .read(path)
        .filter(|_| !within.contains(&path.to_owned()))
    else {
        // A file that includes itself is readable; an absent file is not.
        return within.contains(&path.to_owned());
    };
    within.push(path.to_owned());
    let list = RequirementList::parse(&text);
    let mut is_readable = !list.installs_itself;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for included in &list.includes {
        let included = joined_path(folder, included);
        is_readable &= included.is_some_and(|it| read_requirements(files, &it, within, lists));
    }
    lists.push(list);
    is_readable
}

/// The requirement files of a repository's tests, the better first.
fn requirement_files(files: &RepositoryFiles) -> Vec<String> {
    requirements::requirement_files(|folder| files.names_in(folder).map(str::to_owned).collect())
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
    fn a_distribution_of_a_workspace_is_found_in_its_folder() {
        let (_folder, files) = RepositoryFiles::written(&[
            (
                "pyproject.toml",
                "[project]\nname = 'all'\n[tool.uv]\npackage = false\n[tool.uv.workspace]\n\
                 members = ['libs/*']\n",
            ),
            (
                "libs/a/pyproject.toml",
                "[project]\nname = 'demo-a'\n[build-system]\nrequires = ['hatchling']\n",
            ),
            ("libs/a/src/demo/a.py", ""),
            (
                "libs/a/tests/test_a.py",
                "import demo.a\nfrom demo.b import c\n\n\ndef test_a():\n    assert c\n",
            ),
            ("libs/b/pyproject.toml", "[project]\nname = 'demo-b'\n"),
        ]);
        assert!(detect(&files).is_none(), "its distributions have tests");
        let found = detect(&files.focused("libs/a")).expect("a project");
        assert_eq!(found.name.as_deref(), Some("demo-a"));
        assert_eq!(found.holes[0], "/libs/a/src/demo/**/*.py");
        assert_eq!(found.environment.install.as_deref(), Some("libs/a"));
        assert_eq!(
            found.environment.requires,
            ["pytest>=7,<10", "coverage>=7", "demo-b"]
        );
        let test = found.test.expect("tests");
        assert_eq!(test.path, ["libs/a/src", "libs/a"]);
        assert_eq!(test.args, ["libs/a/tests"]);
        let findings = found.findings.join("\n");
        assert!(findings.contains("`pytest libs/a/tests`"), "{findings}");
        assert!(findings.contains("holes: /libs/a/src"), "{findings}");
    }

    #[test]
    fn options_of_members_tests_are_no_paths() {
        let (_folder, files) = RepositoryFiles::written(&[
            (
                "pyproject.toml",
                "[project]\nname = 'all'\n[tool.uv.workspace]\nmembers = ['libs/*']\n",
            ),
            ("libs/a/pyproject.toml", "[project]\nname = 'a'\n"),
            ("libs/a/src/a/__init__.py", ""),
            (
                "libs/a/tests/tests.py",
                "import a\n\n\ndef test_a():\n    assert a\n",
            ),
        ]);
        let found = detect(&files.focused("libs/a")).expect("a project");
        let args = found.test.expect("tests").args;
        let (options, paths): (Vec<String>, Vec<String>) =
            args.into_iter().partition(|one| !one.starts_with("libs/"));
        assert_eq!(paths, ["libs/a/tests"]);
        assert_eq!(options[0], "-o");
        assert!(options[1].starts_with("python_files="), "{options:?}");
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

    /// Returns the packages of a repository with these files and one test.
    fn packages(files: &[(&str, &str)]) -> Packages {
        let basic = [
            ("shop/__init__.py", ""),
            ("tests/test_a.py", "import yaml\n"),
        ];
        let (_folder, files) = RepositoryFiles::written(&[&basic[..], files].concat());
        detect(&files).expect("it has sources").environment
    }

    const INSTALLABLE: (&str, &str) = (
        "pyproject.toml",
        "[project]\nname = \"shop\"\n[project.optional-dependencies]\nfull = [\"rich\"]\n",
    );

    #[test]
    fn tests_of_distributions_below_the_top_are_not_run_and_advice_is_given() {
        let (_folder, files) = RepositoryFiles::written(&[
            ("tools.py", ""),
            ("libs/a/pyproject.toml", "[project]\nname = 'a'\n"),
            ("libs/a/test_a.py", "def test_a():\n    pass\n"),
        ]);
        let project = detect(&files).expect("it has sources");
        insta::assert_snapshot!(project.findings[1], @"tests: each belongs to a distribution below the top, so holes are chosen by syntax and scored by text; replay one of them with `--package`");
    }

    #[test]
    fn tests_of_members_are_not_those_of_the_top() {
        let metadata = "[project]\nname = 'shop'\n";
        let (_, args) = found(&[
            ("pyproject.toml", metadata),
            ("shop/__init__.py", ""),
            (
                "tests/test_shop.py",
                "import shop\n\ndef test_a():\n    pass\n",
            ),
            ("packages/a/pyproject.toml", "[project]\nname = 'a'\n"),
            ("packages/a/tests/test_a.py", "def test_a():\n    pass\n"),
        ]);
        assert_eq!(args, ["tests"]);
    }

    #[test]
    fn a_package_of_the_distributions_name_is_found_whatever_that_is() {
        for name in ["demo", "ci"] {
            let metadata = format!("[project]\nname = '{name}'\n");
            let test = format!("import {name}\n\ndef test_a():\n    pass\n");
            let package = format!("{name}/__init__.py");
            let (sources, _) = found(&[
                ("pyproject.toml", &metadata),
                (&package, ""),
                ("tests/test_a.py", &test),
            ]);
            assert_eq!(sources, [format!("/{name}/**/*.py")]);
        }
    }

    #[test]
    fn extras_of_requirement_files_are_installed() {
        let found = packages(&[
            INSTALLABLE,
            (
                "requirements/dev.txt",
                "-r base.txt\n-e .[full]  # the project\npytest-mock\n--index-url x\n",
            ),
            ("requirements/base.txt", "PyYAML>=6\n"),
        ]);
        assert_eq!(found.file, None);
        assert_eq!(found.extras, ["full"]);
        for one in ["pytest-mock", "PyYAML>=6"] {
            assert!(found.requires.contains(&one.to_owned()), "{found:?}");
        }
    }

    #[test]
    fn requirement_files_of_tests_are_preferred_to_those_of_development() {
        for (names, expected) in [
            (["requirements-dev.txt", "requirements-test.txt"], 1),
            (
                ["requirements/development.txt", "requirements/tests.txt"],
                1,
            ),
            (["requirements.dev.txt", "tests/requirements.txt"], 1),
            (["reqs/ci.txt", "docs/requirements.txt"], 0),
        ] {
            let found = packages(&[(names[0], "a\n"), (names[1], "b\n")]);
            assert_eq!(found.file.as_deref(), Some(names[expected]), "{names:?}");
        }
        assert_eq!(packages(&[("docs/requirements.txt", "a\n")]).file, None);
    }

    #[test]
    fn tox_and_nox_name_what_tests_need() {
        let tox = "[testenv]\nextras = full\ndeps =\n    -r reqs/listed.txt\n    mock\n";
        let found = packages(&[INSTALLABLE, ("tox.ini", tox), ("reqs/listed.txt", "a\n")]);
        assert_eq!(found.extras, ["full"]);
        let found = packages(&[("tox.ini", tox), ("reqs/listed.txt", "a\n")]);
        assert_eq!(found.file.as_deref(), Some("reqs/listed.txt"));
        let nox = "import nox\n\n@nox.session\ndef tests(session):\n    \
                   session.install(\"pytest\", 'responses>=0.2', \".[full]\", \"-r\", \"x.txt\")\n\n\
                   @nox.session\ndef docs_test(session):\n    session.install(\"flake8\")\n";
        let found = packages(&[INSTALLABLE, ("noxfile.py", nox)]);
        assert_eq!(found.extras, ["full"]);
        let found = packages(&[("noxfile.py", nox)]);
        assert!(
            found.requires.contains(&"responses>=0.2".to_owned()),
            "{found:?}"
        );
        assert!(!found.requires.contains(&"flake8".to_owned()), "{found:?}");
    }

    #[test]
    fn requirements_of_tests_are_found_in_setup_scripts_and_pipfiles() {
        let setup = "from setuptools import setup\nEXTRAS = {\n    'test': ['parameterized>=0.9', \
                     \"mock\"],\n    'docs': DOCS,\n}\nsetup(name='shop', extras_require=EXTRAS)\n";
        assert_eq!(packages(&[("setup.py", setup)]).extras, ["test"]);
        let required = |files: &[(&str, &str)]| packages(files).requires.split_off(REQUIRED.len());
        let setup = "setup(name='shop', tests_require=['pytest', \"parameterized>=0.9\"])\n";
        let found = required(&[("setup.py", setup)]);
        assert_eq!(found, ["pytest", "parameterized>=0.9"]);
        // A quote in a comment is none, and variables that name each other have no value.
        let setup = "setup(tests_require=['pytest',  # it doesn't matter which\n    'mock'],\n      \
                     extras_require=A)\nA = B\nB = A\n";
        assert_eq!(required(&[("setup.py", setup)]), ["pytest", "mock"]);
        let config = "[options]\ntests_require =\n    parameterized\n";
        assert_eq!(required(&[("setup.cfg", config)]), ["parameterized"]);
        let pipfile = "[packages]\nrich = '*'\nown = {path = '.'}\n[dev-packages]\n\
                       responses = {extras = ['tests'], version = '>=0.2'}\n";
        let found = required(&[("Pipfile", pipfile)]);
        assert_eq!(found, ["rich", "responses[tests]>=0.2"]);
        let locked = "[[packages]]\nname = 'pyyaml'\nversion = '6.0'\n";
        assert_eq!(packages(&[("pylock.toml", locked)]).spare, ["pyyaml==6.0"]);
        let hashed = "responses==0.2 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n";
        let found = required(&[
            ("test-requirements.txt", hashed),
            ("requirements.txt", hashed),
        ]);
        assert_eq!(found, ["responses==0.2"]);
    }

    #[test]
    fn settings_of_tox_in_toml_are_read() {
        let file = "'-r {tox_root}/reqs/listed.txt'";
        for (name, table) in [
            ("tox.toml", "env_run_base"),
            ("pyproject.toml", "tool.tox.env_run_base"),
        ] {
            let text = format!("[{table}]\ndeps = ['responses>=0.2']\n");
            let found = packages(&[(name, &text)]).requires;
            assert!(found.contains(&"responses>=0.2".to_owned()), "{name}");
            let text = format!("[{table}]\ndeps = [{file}]\n");
            let found = packages(&[(name, &text), ("reqs/listed.txt", "mock\n")]);
            assert_eq!(found.file.as_deref(), Some("reqs/listed.txt"), "{name}");
        }
        let groups = "[dependency-groups]\nchecks = ['mock']\n[tool.tox]\nlegacy_tox_ini = \
                      \"[testenv]\\ndependency_groups = checks\"\n";
        assert_eq!(packages(&[("pyproject.toml", groups)]).groups, ["checks"]);
    }

    #[test]
    fn features_and_groups_of_hatchs_environments_are_installed() {
        let text = INSTALLABLE.1.to_owned()
            + "[dependency-groups]\nchecks = ['mock']\n[tool.hatch.envs.hatch-test]\n\
               features = ['full']\ndependency-groups = ['checks']\n";
        let found = packages(&[("pyproject.toml", &text)]);
        assert_eq!(found.extras, ["full"]);
        assert_eq!(found.groups, ["hatch-test"]);
    }

    #[test]
    fn settings_of_django_are_those_of_manage_py() {
        let manage = "os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\", 'site.settings')\n";
        let found = packages(&[("manage.py", manage)]);
        assert_eq!(found.env["DJANGO_SETTINGS_MODULE"], "site.settings");
        let plugin = "pytest-django".to_owned();
        assert!(found.requires.contains(&plugin), "{found:?}");
        let own = "[pytest]\nDJANGO_SETTINGS_MODULE = site.other\n";
        let found = packages(&[("manage.py", manage), ("pytest.ini", own)]);
        assert!(found.env.is_empty(), "{found:?}");
    }

    #[test]
    fn settings_of_pytest_in_toml_are_read() {
        let (_, args) = found(&[
            ("shop/__init__.py", ""),
            ("checks/check_a.py", "import shop\n"),
            ("pytest.toml", "[pytest]\npython_files = ['check_*.py']\n"),
        ]);
        assert_eq!(args, ["checks"]);
    }

    #[test]
    fn groups_of_a_workspace_serve_members_without_their_own() {
        let top = "[tool.uv.workspace]\nmembers = ['libs/*']\n[dependency-groups]\n\
                   dev = ['responses']\n";
        let requires = |member: &str| {
            let (_folder, files) = RepositoryFiles::written(&[
                ("pyproject.toml", top),
                ("libs/a/pyproject.toml", member),
                ("libs/a/src/a/__init__.py", ""),
                ("libs/a/tests/test_a.py", "import a\n"),
            ]);
            let mut found = detect(&files.focused("libs/a")).expect("a project");
            found.environment.requires.split_off(REQUIRED.len())
        };
        assert_eq!(requires("[project]\nname = 'a'\n"), ["responses"]);
        let own = "[project]\nname = 'a'\n[dependency-groups]\ntest = ['mock']\n";
        assert_eq!(requires(own), [""; 0]);
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
        let specs = "from app import a\n\n\nclass Spec(unittest.TestCase):\n    def test_a(self):\n\
                     \x20       pass\n";
        let specified = holes(&[("app/a.py", ""), ("specs/a_spec.py", specs)]);
        let args = specified.test.expect("tests").args;
        assert_eq!(args, ["-o", "python_files=a_spec.py", "specs"]);
        assert_eq!(specified.holes[0], "/app/**/*.py");
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
