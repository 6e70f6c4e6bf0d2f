//! A Python project's metadata files.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::super::super::detection::RepositoryFiles;
use super::super::super::imports::joined_path;
use super::super::environment::groups;
use super::super::requirements::bracketed;

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
    /// Extras and groups that tox and nox name for tests.
    test_names: Vec<String>,
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
        let pyproject: Table = files
            .read("pyproject.toml")
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        let setup = Settings::read(files, "setup.cfg");
        let tox = Settings::read(files, "tox.ini");
        let script = files.read("setup.py").unwrap_or_default();
        let nox = files.read("noxfile.py").unwrap_or_default();
        let (nox_requires, mut test_names) = nox_installs(&nox);
        for key in ["extras", "dependency_groups"] {
            let names = tox.lines("testenv", key);
            let names = names.iter().flat_map(|line| line.split([',', ' ']));
            test_names.extend(names.filter(|it| !it.is_empty()).map(str::to_owned));
        }
        let tox_deps = tox.lines("testenv", "deps");
        let tox_files = tox_deps.iter().filter_map(|line| {
            let file = line.strip_prefix("-r")?.trim_start_matches([' ', '=']);
            joined_path("", file.trim_start_matches("{toxinidir}/"))
        });
        let mut metadata = Self {
            tox_requires: tox.requirements("testenv", "deps"),
            tox_files: tox_files.collect(),
            nox_requires,
            test_names,
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
        self.name = quoted_after(script, "name");
        self.requires_python = quoted_after(script, "python_requires");
        if let Some(after) = script.split("package_dir").nth(1) {
            // In `package_dir={"": "src"}`, the empty key means the folder of all packages.
            let words: Vec<&str> = after.split(['"', '\'']).take(4).collect();
            if let [_, "", _, folder] = words[..] {
                self.package_folders.push(folder.to_owned());
            }
        }
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
        self.groups
            .extend(keys(find(pyproject, &["tool", "hatch", "envs"])));
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
        let own = Settings::read(files, "pytest.ini");
        let tables = [&["tool", "pytest", "ini_options"][..], &["tool", "pytest"]];
        let table = tables
            .into_iter()
            .find_map(|path| find(pyproject, path)?.as_table());
        let ini = [
            ("pytest.ini", &own, "pytest"),
            ("tox.ini", tox, "pytest"),
            ("setup.cfg", setup, "tool:pytest"),
        ];
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
        let in_table = || {
            table.map(|table| {
                let known = table.iter();
                let known = known.map(|(key, value)| (key.clone(), words(strings(Some(value)))));
                ("pyproject.toml", known.collect())
            })
        };
        let found = in_ini(ini[0])
            .or_else(in_table)
            .or_else(|| ini[1..].iter().find_map(|one| in_ini(*one)));
        if let Some((file, mut settings)) = found {
            self.pytest_file = Some(file);
            self.names_test_paths = settings.contains_key("testpaths");
            self.runs_doctests = settings
                .get("addopts")
                .is_some_and(|options| options.iter().any(|it| it.starts_with("--doctest")));
            self.test_files = settings.remove("python_files");
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
        if extras.is_empty() && groups.is_empty() {
            return pick(&FOR_DEVELOPMENT);
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

/// The first string in quotes after `KEY=` in a setup.py.
fn quoted_after(script: &str, key: &str) -> Option<String> {
    script.match_indices(key).find_map(|(at, _)| {
        // `name` must not match the end of `package_name`.
        let starts_word = !script[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = script[at + key.len()..].trim_start().strip_prefix('=')?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
        let text = rest[1..].split(quote).next()?;
        (starts_word && !text.is_empty()).then(|| text.to_owned())
    })
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

    /// The requirements of a list in which a line may begin with a condition (`py38: NAME`), which
    /// are left out, as are files and references to other sections.
    fn requirements(&self, section: &str, key: &str) -> Vec<String> {
        let lines = self.lines(section, key);
        let is_plain = |line: &String| {
            let starts = line.starts_with(|c: char| c.is_ascii_alphanumeric());
            starts && !line.contains(['{', ':'])
        };
        lines.into_iter().filter(is_plain).collect()
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
