//! A Python project's metadata files.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::super::super::detection::RepositoryFiles;
use super::super::super::imports::joined_path;
use super::super::environment::groups;
use super::super::requirements::bracketed;
use super::setup_script::SetupScript;

/// Contents of the metadata files.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The name of the distribution.
    pub(super) name: Option<String>,
    /// The file that configures the build of the project.
    pub(super) file: Option<String>,
    /// True if an installer can build the project.
    pub(super) is_installable: bool,
    /// Specifier that the interpreter's version must satisfy.
    pub(super) requires_python: Option<String>,
    /// The folders in which packages are looked for, as far as they are named.
    pub(super) package_folders: Vec<String>,
    /// The folders and modules of the packages, as far as they are named.
    pub(super) packages: Vec<String>,
    /// The names of optional dependencies.
    extras: Vec<String>,
    /// The names of dependency groups.
    groups: Vec<String>,
    /// The requirements of every group and extra, each with the name of that.
    pub(super) declared: Vec<(String, String)>,
    /// `deps` of `[testenv]` in tox.ini.
    pub(super) tox_requires: Vec<String>,
    /// The requirement files that these name.
    pub(super) tox_files: Vec<String>,
    /// Requirements that the sessions of noxfile.py install for tests.
    pub(super) nox_requires: Vec<String>,
    /// `tests_require` of setup.py and setup.cfg.
    pub(super) setup_requires: Vec<String>,
    /// Requirements of Pipenv's Pipfile.
    pub(super) pipfile_requires: Vec<String>,
    /// The module with Django's settings, as manage.py names it.
    pub(super) django_settings: Option<String>,
    /// Extras and groups that tox and nox name for tests.
    test_names: Vec<String>,
    /// Extras that the environments of Hatch install, by the names of these.
    features: BTreeMap<String, Vec<String>>,
    /// Extras of setup.py with their requirements.
    script_extras: Vec<(String, Vec<String>)>,
    /// The file with pytest's settings.
    pub(super) pytest_file: Option<&'static str>,
    /// True if these settings name the folders of the tests.
    pub(super) names_test_paths: bool,
    /// `python_files` of these settings.
    pub(super) test_files: Option<Vec<String>>,
    /// True if these settings have pytest collect the examples in documentation.
    pub(super) runs_doctests: bool,
}

/// The names of extras and groups that tests need, the better first.
const FOR_TESTS: [&str; 7] = [
    "test",
    "tests",
    "testing",
    "unittest",
    "pytest",
    "unit",
    "hatch-test",
];
/// Names of those that hold the tests' packages and others; Hatch has one without a name.
const FOR_DEVELOPMENT: [&str; 4] = ["dev", "develop", "development", "default"];

impl Metadata {
    /// Reads the files of a repository; those that can't be parsed count as absent.
    pub(super) fn read(files: &RepositoryFiles) -> Self {
        let pyproject = read_toml(files, "pyproject.toml");
        let setup = Settings::read(files, "setup.cfg");
        let tox = Settings::read(files, "tox.ini");
        let script = files.read("setup.py").unwrap_or_default();
        let nox = files.read("noxfile.py").unwrap_or_default();
        let (nox_requires, mut test_names) = nox_installs(&nox);
        let (tox_deps, names) = tox_installs(files, &tox, &pyproject);
        test_names.extend(names);
        let tox_files = tox_deps.iter().filter_map(|line| {
            let file = line.strip_prefix("-r")?.trim_start_matches([' ', '=']);
            let within = ["{toxinidir}/", "{tox_root}/"];
            let own = within.iter().find_map(|it| file.strip_prefix(it));
            joined_path("", own.unwrap_or(file))
        });
        let mut metadata = Self {
            tox_requires: plain_requirements(&tox_deps),
            tox_files: tox_files.collect(),
            nox_requires,
            test_names,
            pipfile_requires: pipfile_requires(files),
            django_settings: django_settings(files),
            ..Self::default()
        };
        // The strongest metadata comes last: it replaces values of those before.
        metadata.add_script(&script);
        metadata.add_setup(&setup);
        metadata.add_pyproject(&pyproject);
        metadata.add_pytest(files, &pyproject, &setup, &tox);
        metadata.declared = metadata.declarations(&pyproject, &setup);
        metadata
    }

    fn add_script(&mut self, script: &str) {
        if script.is_empty() {
            return;
        }
        self.file = Some("setup.py".to_owned());
        self.is_installable = true;
        let script = SetupScript::parse(script);
        self.name = script.string("name");
        self.requires_python = script.string("python_requires");
        self.setup_requires = script.list("tests_require");
        self.script_extras = script.dictionary("extras_require");
        let names = self.script_extras.iter().map(|(name, _)| name.clone());
        self.extras.extend(names);
        // The empty key means the folder of all packages.
        let folders = script.dictionary("package_dir").into_iter();
        let of_all = folders.filter(|(name, _)| name.is_empty());
        self.package_folders
            .extend(of_all.flat_map(|(_, folders)| folders));
    }

    fn add_setup(&mut self, setup: &Settings) {
        if setup.sections.iter().any(|(name, _, _)| name == "metadata") {
            self.file = Some("setup.cfg".to_owned());
            self.is_installable = true;
        }
        let text = |section: &str, key: &str| setup.value(section, key).map(str::to_owned);
        self.name = text("metadata", "name").or(self.name.take());
        self.requires_python = text("options", "python_requires").or(self.requires_python.take());
        for (section, key) in [
            ("options.packages.find", "where"),
            ("options", "package_dir"),
        ] {
            let lines = setup.lines(section, key);
            let folders = lines.iter().filter_map(|line| match line.split_once('=') {
                Some((name, folder)) => name.trim().is_empty().then(|| folder.trim()),
                None => Some(line.as_str()),
            });
            self.package_folders.extend(folders.map(str::to_owned));
        }
        let extras = setup.keys("options.extras_require");
        self.extras.extend(extras.map(str::to_owned));
        let requires = setup.requirements("options", "tests_require");
        self.setup_requires.extend(requires);
    }

    fn add_pyproject(&mut self, pyproject: &Table) {
        let tool = |name: &str| find(pyproject, &["tool", name]).and_then(Value::as_table);
        let project = pyproject.get("project").and_then(Value::as_table);
        let poetry = tool("poetry");
        // Since Poetry 2, the name may be in `[project]`.
        let is_named = poetry.is_some_and(|poetry| poetry.contains_key("name"));
        if project.is_some() || is_named || pyproject.contains_key("build-system") {
            self.file = Some("pyproject.toml".to_owned());
            self.is_installable |= project.is_some() || is_named;
        }
        for table in [project, poetry].into_iter().flatten() {
            if let Some(name) = table.get("name").and_then(Value::as_str) {
                self.name = Some(name.to_owned());
            }
        }
        if let Some(project) = project {
            let requires = project.get("requires-python").and_then(Value::as_str);
            self.requires_python = requires.map(str::to_owned).or(self.requires_python.take());
            self.extras
                .extend(keys(project.get("optional-dependencies")));
        }
        if let Some(poetry) = poetry {
            self.extras.extend(keys(poetry.get("extras")));
            let groups = poetry.get("group").and_then(Value::as_table);
            for (name, group) in groups.into_iter().flatten() {
                if group.get("dependencies").is_some() {
                    self.groups.push(name.clone());
                }
            }
            if poetry.contains_key("dev-dependencies") {
                self.groups.push("dev".to_owned());
            }
        }
        self.groups.extend(keys(pyproject.get("dependency-groups")));
        if let Some(pdm) = tool("pdm") {
            self.groups.extend(keys(pdm.get("dev-dependencies")));
        }
        if tool("uv").is_some_and(|uv| uv.contains_key("dev-dependencies")) {
            self.groups.push("dev".to_owned());
        }
        let environments = find(pyproject, &["tool", "hatch", "envs"]);
        self.groups.extend(keys(environments));
        for (name, environment) in environments.and_then(Value::as_table).into_iter().flatten() {
            let features = strings(environment.get("features"));
            self.features.insert(name.clone(), features);
        }
        // A group may be declared in two of these places.
        let mut known = BTreeSet::new();
        self.groups.retain(|name| known.insert(name.clone()));
        let folders = [
            &["tool", "setuptools", "packages", "find", "where"][..],
            &["tool", "setuptools", "package-dir", ""],
            &["tool", "pdm", "build", "package-dir"],
            &["tool", "maturin", "python-source"],
        ];
        for path in folders {
            self.package_folders.extend(strings(find(pyproject, path)));
        }
        let packages = ["tool", "hatch", "build", "targets", "wheel", "packages"];
        self.packages.extend(strings(find(pyproject, &packages)));
        let included = poetry.and_then(|poetry| poetry.get("packages")?.as_array());
        for package in included.into_iter().flatten() {
            let field = |key: &str| package.get(key).and_then(Value::as_str);
            if let Some(name) = field("include") {
                self.packages.push(match field("from") {
                    Some(folder) => format!("{folder}/{name}"),
                    None => name.to_owned(),
                });
            }
        }
    }

    /// pytest reads the first of these files that has settings for it.
    fn add_pytest(
        &mut self,
        files: &RepositoryFiles,
        pyproject: &Table,
        setup: &Settings,
        tox: &Settings,
    ) {
        let own = ["pytest.ini", ".pytest.ini"].map(|name| (name, Settings::read(files, name)));
        let own_tables = ["pytest.toml", ".pytest.toml"].map(|name| (name, read_toml(files, name)));
        let own_tables = own_tables.iter();
        let paths = [&["tool", "pytest", "ini_options"][..], &["tool", "pytest"]];
        let in_project = paths
            .into_iter()
            .map(|path| ("pyproject.toml", pyproject, path));
        let words = |values: Vec<String>| -> Vec<String> {
            let words = values.iter().flat_map(|value| value.split_whitespace());
            words.map(str::to_owned).collect()
        };
        let in_ini = |(file, settings, section): (&'static str, &Settings, &str)| {
            let keys = settings.keys(section);
            let known: BTreeMap<String, Vec<String>> = keys
                .map(|key| (key.to_owned(), words(settings.lines(section, key))))
                .collect();
            (!known.is_empty()).then_some((file, known))
        };
        let in_table = |(file, table, path): (&'static str, &Table, &[&str])| {
            let table = find(table, path)?.as_table()?.iter();
            let known = table.map(|(key, value)| (key.clone(), words(strings(Some(value)))));
            Some((file, known.collect()))
        };
        let of_pytest = own
            .iter()
            .map(|(file, settings)| (*file, settings, "pytest"));
        let others = [
            ("tox.ini", tox, "pytest"),
            ("setup.cfg", setup, "tool:pytest"),
        ];
        let found = own_tables
            .map(|(file, table)| (*file, table, &["pytest"][..]))
            .find_map(in_table)
            .or_else(|| of_pytest.into_iter().find_map(in_ini))
            .or_else(|| in_project.into_iter().find_map(in_table))
            .or_else(|| others.into_iter().find_map(in_ini));
        if let Some((file, mut settings)) = found {
            self.pytest_file = Some(file);
            self.names_test_paths = settings.contains_key("testpaths");
            self.runs_doctests = settings
                .get("addopts")
                .is_some_and(|options| options.iter().any(|it| it.starts_with("--doctest")));
            self.test_files = settings.remove("python_files");
            // pytest-django is listed where these settings name Django's.
            if settings.contains_key("DJANGO_SETTINGS_MODULE")
                || settings.contains_key("django_settings_module")
            {
                self.django_settings = None;
            }
        }
    }

    /// The requirements of every group and extra, each with the name of that.
    fn declarations(&self, pyproject: &Table, setup: &Settings) -> Vec<(String, String)> {
        let extras = find(pyproject, &["project", "optional-dependencies"]);
        // A group that can't be read holds nothing here: who installs it learns why.
        let of_groups = self.groups.iter().map(|name| {
            let listed = groups::listed(pyproject, std::slice::from_ref(name));
            (name, listed.unwrap_or_default())
        });
        let of_extras = self.extras.iter().map(|name| {
            let mut listed = strings(extras.and_then(|extras| extras.get(name)));
            listed.extend(setup.requirements("options.extras_require", name));
            let of_script = self.script_extras.iter().filter(|(known, _)| known == name);
            listed.extend(of_script.flat_map(|(_, all)| all.iter().cloned()));
            (name, listed)
        });
        of_groups
            .chain(of_extras)
            .flat_map(|(name, listed)| listed.into_iter().map(|one| (name.clone(), one)))
            .collect()
    }

    /// The extras and the groups that the tests need.
    pub(super) fn test_extras(&self) -> (Vec<String>, Vec<String>) {
        let chosen = |names: &[String], wanted: &[&str]| -> Vec<String> {
            let is_wanted = |name: &&String| wanted.contains(&name.to_lowercase().as_str());
            names.iter().filter(is_wanted).cloned().collect()
        };
        let pick = |wanted: &[&str]| (chosen(&self.extras, wanted), chosen(&self.groups, wanted));
        let named = self.test_names.iter().map(|name| name.to_lowercase());
        let named: Vec<String> = named.collect();
        let wanted = FOR_TESTS
            .into_iter()
            .chain(named.iter().map(String::as_str));
        let (extras, groups) = pick(&wanted.collect::<Vec<_>>());
        let (mut extras, groups) = match extras.is_empty() && groups.is_empty() {
            true => pick(&FOR_DEVELOPMENT),
            false => (extras, groups),
        };
        let of_groups = groups.iter().filter_map(|name| self.features.get(name));
        for extra in of_groups.flatten() {
            if !extras.contains(extra) {
                extras.push(extra.clone());
            }
        }
        (extras, groups)
    }
}

/// The arguments of nox's `session.install` in sessions that run tests: requirements, and extras of
/// the project itself.
fn nox_installs(script: &str) -> (Vec<String>, Vec<String>) {
    let (mut requires, mut extras) = (Vec::new(), Vec::new());
    for part in script.split("\ndef ") {
        if !["test", "unit", "pytest"]
            .iter()
            .any(|start| part.starts_with(start))
        {
            continue;
        }
        for call in part.split(".install(").skip(1) {
            let call = call.split(')').next().unwrap_or_default();
            // Every second part is the text between quotes.
            let words: Vec<&str> = call.split(['"', '\'']).skip(1).step_by(2).collect();
            for word in words {
                if let Some(own) = word.strip_prefix('.') {
                    extras.extend(bracketed(own));
                } else if word.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && !word.ends_with(".txt")
                {
                    requires.push(word.to_owned());
                }
            }
        }
    }
    (requires, extras)
}

/// The `deps` of tox's base environment, and the extras and groups that it installs: of tox.ini, or
/// else of the TOML files that tox reads.
fn tox_installs(
    files: &RepositoryFiles,
    tox: &Settings,
    pyproject: &Table,
) -> (Vec<String>, Vec<String>) {
    const NAMED: [&str; 2] = ["extras", "dependency_groups"];
    let in_ini = |settings: &Settings| {
        let names = NAMED.iter().flat_map(|key| settings.lines("testenv", key));
        let split = |line: String| -> Vec<String> {
            let names = line.split([',', ' ']).filter(|it| !it.is_empty());
            names.map(str::to_owned).collect()
        };
        (
            settings.lines("testenv", "deps"),
            names.flat_map(split).collect(),
        )
    };
    if !tox.sections.is_empty() {
        return in_ini(tox);
    }
    let own = read_toml(files, "tox.toml");
    let embedded = find(pyproject, &["tool", "tox", "legacy_tox_ini"]).and_then(Value::as_str);
    if let Some(text) = embedded {
        return in_ini(&Settings::parse(text));
    }
    let base = find(pyproject, &["tool", "tox", "env_run_base"]).or(own.get("env_run_base"));
    let listed = |key: &str| strings(base.and_then(|base| base.get(key)));
    (
        listed("deps"),
        NAMED.iter().flat_map(|key| listed(key)).collect(),
    )
}

/// The requirements of a Pipfile: those of the application and those for its development.
fn pipfile_requires(files: &RepositoryFiles) -> Vec<String> {
    let pipfile = read_toml(files, "Pipfile");
    let lists = ["packages", "dev-packages"].map(|name| pipfile.get(name));
    let listed = lists.into_iter().flatten().filter_map(Value::as_table);
    let requirement = |(name, value): (&String, &Value)| {
        let version = value
            .as_str()
            .or(value.get("version").and_then(Value::as_str));
        let extras = match strings(value.get("extras")) {
            extras if extras.is_empty() => String::new(),
            extras => format!("[{}]", extras.join(",")),
        };
        // Folders and repositories are only Pipenv's to install.
        let is_elsewhere = ["path", "file", "git"]
            .iter()
            .any(|key| value.get(key).is_some());
        let version = version.filter(|it| *it != "*").unwrap_or_default();
        (!is_elsewhere).then(|| format!("{name}{extras}{version}"))
    };
    listed.flatten().filter_map(requirement).collect()
}

/// The module with Django's settings that manage.py sets.
fn django_settings(files: &RepositoryFiles) -> Option<String> {
    let script = files.read("manage.py")?;
    let (_, after) = script.split_once("DJANGO_SETTINGS_MODULE")?;
    let value = after.split(['"', '\'']).nth(2)?;
    let is_module = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    (!value.is_empty() && value.chars().all(is_module)).then(|| value.to_owned())
}

/// A TOML file; empty if it is absent or can't be parsed.
fn read_toml(files: &RepositoryFiles, name: &str) -> Table {
    let text = files.read(name);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The value at a path of keys.
fn find<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let first = table.get(*first)?;
    rest.iter().try_fold(first, |value, key| value.get(key))
}

fn keys(value: Option<&Value>) -> Vec<String> {
    let table = value.and_then(Value::as_table);
    table.map_or_else(Vec::new, |table| table.keys().cloned().collect())
}

/// A string, or those of an array.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(values)) => values
            .iter()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// The requirements of a list in which a line may begin with a condition (`py38: NAME`), which are
/// left out, as are files and references to other sections.
fn plain_requirements(lines: &[String]) -> Vec<String> {
    let is_plain = |line: &&String| {
        let starts = line.starts_with(|c: char| c.is_ascii_alphanumeric());
        starts && !line.contains(['{', ':'])
    };
    lines.iter().filter(is_plain).cloned().collect()
}

/// An ini file, as Python's configparser reads it.
#[derive(Debug, Default)]
struct Settings {
    /// Section, key and value, the lines of the value trimmed.
    sections: Vec<(String, String, String)>,
}

impl Settings {
    fn read(files: &RepositoryFiles, name: &str) -> Self {
        Self::parse(&files.read(name).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut sections: Vec<(String, String, String)> = Vec::new();
        let mut section = String::new();
        for line in text.lines() {
            let content = line.trim();
            if content.is_empty() || content.starts_with(['#', ';']) {
                continue;
            }
            // An indented line continues the value before it.
            if line.starts_with([' ', '\t']) {
                if let Some((_, _, value)) = sections.last_mut() {
                    value.push('\n');
                    value.push_str(content);
                }
            } else if let Some(name) = content.strip_prefix('[') {
                section = name.trim_end_matches(']').trim().to_owned();
                sections.push((section.clone(), String::new(), String::new()));
            } else if let Some((key, value)) = content.split_once(['=', ':']) {
                let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
                sections.push((section.clone(), key, value));
            }
        }
        Self { sections }
    }

    fn value(&self, section: &str, key: &str) -> Option<&str> {
        self.sections
            .iter()
            .find(|(name, known, _)| name == section && known == key)
            .map(|(_, _, value)| value.as_str())
    }

    fn keys(&self, section: &str) -> impl Iterator<Item = &str> {
        self.sections
            .iter()
            .filter(move |(name, key, _)| name == section && !key.is_empty())
            .map(|(_, key, _)| key.as_str())
    }

    fn lines(&self, section: &str, key: &str) -> Vec<String> {
        let value = self.value(section, key).unwrap_or_default();
        let lines = value.lines().map(str::trim);
        lines
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// See [`plain_requirements`].
    fn requirements(&self, section: &str, key: &str) -> Vec<String> {
        plain_requirements(&self.lines(section, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ini_files_are_read_with_continued_lines() {
        let settings = Settings::parse(
            "[testenv]\ndeps =\n    pytest\n    py38: mock\n    hypothesis>=6 \n; no\n[pytest]\naddopts = -x\n",
        );
        assert_eq!(
            settings.requirements("testenv", "deps"),
            ["pytest", "hypothesis>=6"]
        );
        assert_eq!(settings.keys("pytest").collect::<Vec<_>>(), ["addopts"]);
    }

    #[test]
    fn setup_scripts_give_name_and_package_folder() {
        let mut metadata = Metadata::default();
        metadata.add_script(
            "setup(\n    name='demo', package_dir={'': 'lib'},\n    python_requires=\">=3.8\")",
        );
        assert_eq!(metadata.name.as_deref(), Some("demo"));
        assert_eq!(metadata.requires_python.as_deref(), Some(">=3.8"));
        assert_eq!(metadata.package_folders, ["lib"]);
    }

    #[test]
    fn groups_are_found_wherever_tools_declare_them() {
        for (declared, group) in [
            (
                "[tool.poetry.group.test.dependencies]\npytest-mock = \"*\"\n",
                "test",
            ),
            ("[tool.uv]\ndev-dependencies = [\"pytest-mock\"]\n", "dev"),
        ] {
            let pyproject: Table = format!("[project]\nname = \"a\"\n{declared}")
                .parse()
                .expect("it is TOML");
            let mut metadata = Metadata::default();
            metadata.add_pyproject(&pyproject);
            assert_eq!(metadata.test_extras(), (vec![], vec![group.to_owned()]));
            let listed = groups::listed(&pyproject, &[group.to_owned()]);
            let listed = listed.expect("it is declared");
            assert!(listed[0].starts_with("pytest-mock"), "{listed:?}");
        }
    }

    #[test]
    fn groups_of_tests_are_preferred_to_those_of_development() {
        let pyproject = "[project]\nname = \"a\"\n[project.optional-dependencies]\ndev = []\n\
                         [dependency-groups]\ntests = [\"pytest\"]\ndocs = []\n";
        let mut metadata = Metadata::default();
        metadata.add_pyproject(&pyproject.parse().expect("it is TOML"));
        assert_eq!(metadata.test_extras(), (vec![], vec!["tests".to_owned()]));
        metadata.groups.clear();
        assert_eq!(metadata.test_extras(), (vec!["dev".to_owned()], vec![]));
    }
}
