//! Tests of a Python repository, and the settings with which pytest finds them.

use ignore::gitignore::GitignoreBuilder;

use super::super::super::detection::RepositoryFiles;
use super::super::super::runner::{RunnerName, TestSettings};
use super::super::test_conventions::CONVENTIONS;
use super::layout::PythonLayout;
use super::metadata::Metadata;

/// The tests of a repository.
#[derive(Debug)]
pub(super) struct PythonTests {
    /// The files of tests.
    pub(super) files: Vec<String>,
    /// The patterns of their names.
    pub(super) patterns: Vec<String>,
    /// True if pytest's settings name the folders of the tests.
    names_paths: bool,
    /// pytest's arguments without the folders of the tests.
    args: Vec<String>,
    /// The file with pytest's settings.
    settings_file: Option<&'static str>,
}

/// pytest's own patterns for files of tests.
const USUAL_PATTERNS: [&str; 2] = ["test_*.py", "*_test.py"];

/// Other usual names for files of tests, which pytest has to be given.
const OTHER_PATTERNS: [&str; 4] = ["test*.py", "*_test.py", "*_tests.py", "tests.py"];

/// Reason why no tests are run.
pub(super) const NO_TESTS: &str = "none were found";
pub(super) const OF_DISTRIBUTIONS: &str = "each belongs to a distribution below the top";
const ONLY_DOCTESTS: &str = "the settings of pytest name only examples in documentation, which \
                             are in the files that holes are cut into and prove nothing about \
                             them";

impl PythonTests {
    /// Looks for files of tests by the names that pytest's settings give them, else by usual names,
    /// else by what they hold.
    ///
    /// # Errors
    /// The reason why there are none, as a clause.
    pub(super) fn find(files: &RepositoryFiles, metadata: &Metadata) -> Result<Self, &'static str> {
        let matching = |patterns: &[String]| -> Vec<String> {
            let mut globs = GitignoreBuilder::new("");
            for pattern in patterns {
                // An invalid glob matches nothing, as for pytest.
                let _ = globs.add_line(None, pattern);
            }
            let Ok(globs) = globs.build() else {
                return Vec::new();
            };
            let is_test =
                |path: &&str| path.ends_with(".py") && globs.matched(path, false).is_ignore();
            let found = files.paths().filter(is_test);
            let (mut found, others): (Vec<String>, Vec<String>) = found
                .map(str::to_owned)
                .partition(|path| CONVENTIONS.files.is_within(path));
            // Beside folders of tests, `*.py` matches the sources, too.
            if found.is_empty() || !patterns.iter().any(|pattern| pattern == "*.py") {
                found.extend(others);
                found.sort();
            }
            found
        };
        let named = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|it| (*it).to_owned()).collect();
            (matching(&patterns), patterns)
        };
        let mut args = Vec::new();
        let (mut found, patterns) = match &metadata.test_files {
            Some(patterns) => (matching(patterns), patterns.clone()),
            None => {
                let mut found = named(&USUAL_PATTERNS);
                if found.0.is_empty() {
                    found = named(&OTHER_PATTERNS);
                    if found.0.is_empty() {
                        found = by_contents(files);
                    }
                    args = vec![
                        "-o".to_owned(),
                        format!("python_files={}", found.1.join(" ")),
                    ];
                }
                found
            }
        };
        if found.is_empty() {
            return Err(match metadata.runs_doctests {
                true => ONLY_DOCTESTS,
                false => NO_TESTS,
            });
        }
        let is_of_distribution = |path: &String| {
            let mut ends = path.match_indices('/').map(|(at, _)| &path[..at]);
            ends.any(|folder| {
                let has = |name: &str| files.has(&format!("{folder}/{name}"));
                has("pyproject.toml") || has("setup.py")
            })
        };
        match found.iter().all(is_of_distribution) {
            true if metadata.file.is_none() => return Err(OF_DISTRIBUTIONS),
            true => {}
            // Tests of members of a workspace need their packages, and are run where they are.
            false => found.retain(|path| !is_of_distribution(path)),
        }
        Ok(Self {
            files: found,
            patterns,
            names_paths: metadata.names_test_paths,
            args,
            settings_file: metadata.pytest_file,
        })
    }

    /// `test`.
    pub(super) fn settings(&self, layout: &PythonLayout) -> TestSettings {
        let mut settings = TestSettings::new(RunnerName::Pytest);
        settings.args = self.arguments(layout);
        settings.path = vec![layout.folder.clone()];
        // `python -m pytest` has the top on its path, too, and tests import each other from there.
        if layout.folder != "." {
            settings.path.push(".".to_owned());
        }
        settings
    }

    /// pytest's arguments.
    fn arguments(&self, layout: &PythonLayout) -> Vec<String> {
        let mut arguments = self.args.clone();
        if !self.names_paths {
            arguments.extend(folders(&self.files, layout));
        }
        arguments
    }

    /// Describes the tests for the user.
    pub(super) fn describe(&self, layout: &PythonLayout) -> String {
        let s = if self.files.len() == 1 { "" } else { "s" };
        let arguments = self.arguments(layout).join(" ");
        let settings = match self.settings_file {
            Some(file) => format!(", settings in {file}"),
            None => String::new(),
        };
        format!(
            "tests: {} file{s}, run by `{}`{settings}",
            self.files.len(),
            ["pytest", &arguments].join(" ").trim_end()
        )
    }
}

/// The files that define tests under other names, and their names: those in folders of tests, or
/// else those of the standard library's framework anywhere.
fn by_contents(files: &RepositoryFiles) -> (Vec<String>, Vec<String>) {
    let defines = |path: &&str| {
        let text = files.read(path).filter(|_| path.ends_with(".py"));
        let text = text.unwrap_or_default();
        let is_class = |line: &str| line.starts_with("class ") && line.contains("TestCase)");
        let has_test = text
            .lines()
            .any(|line| line.trim_start().starts_with("def test"));
        (text.lines().any(is_class), has_test)
    };
    let within = files
        .paths()
        .filter(|path| CONVENTIONS.files.is_within(path));
    let mut found: Vec<String> = within
        .filter(|path| {
            let (has_class, has_test) = defines(path);
            has_class || has_test
        })
        .map(str::to_owned)
        .collect();
    if found.is_empty() {
        let of_unittest = files.paths().filter(|path| defines(path) == (true, true));
        found.extend(of_unittest.map(str::to_owned));
    }
    let names = found.iter().filter_map(|path| path.rsplit('/').next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    (found, names)
}

/// The outermost folders of the tests: those named for tests, else those of the packages that have
/// tests among their modules.
fn folders(found: &[String], layout: &PythonLayout) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for path in found {
        let mut parts: Vec<&str> = path.split('/').collect();
        parts.pop();
        let named = parts.iter().position(|part| {
            let lower = part.to_lowercase();
            lower.starts_with("test") || lower.ends_with("tests")
        });
        let in_package = layout
            .packages
            .iter()
            .find(|package| path.starts_with(&format!("{package}/")));
        let folder = match (named, in_package) {
            (_, Some(package)) => package.clone(),
            (Some(index), None) => parts[..=index].join("/"),
            (None, None) if parts.is_empty() => path.clone(),
            // Tests of examples and tools are no tests of the project.
            (None, None) => continue,
        };
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if folders.is_empty() {
        folders.extend(found.first().and_then(|path| {
            let (folder, _) = path.split_once('/')?;
            Some(folder.to_owned())
        }));
    }
    folders
}
