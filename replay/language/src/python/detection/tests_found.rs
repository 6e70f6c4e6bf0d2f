//! Which tests a Python repository has, and how pytest finds them.

use super::super::super::detection::RepositoryFiles;
use super::super::super::runner::{RunnerName, TestSettings};
use super::layout::PythonLayout;
use super::metadata::Metadata;

/// The tests of a repository.
#[derive(Debug)]
pub(super) struct PythonTests {
    /// The files of tests.
    pub(super) files: Vec<String>,
    /// pytest's arguments.
    args: Vec<String>,
    /// The file with pytest's settings.
    settings_file: Option<&'static str>,
}

/// pytest's own patterns for files of tests.
fn is_test_file(name: &str) -> bool {
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

/// Other usual names for files of tests, which pytest has to be told.
const OTHER_PATTERNS: &str = "python_files=test*.py *_test.py *_tests.py tests.py";

fn is_test_file_of_other_name(name: &str) -> bool {
    name.ends_with(".py")
        && (name.starts_with("test") || name.ends_with("_tests.py") || name.ends_with("_test.py"))
}

impl PythonTests {
    /// `None` if the repository has no file that looks like one of tests.
    pub(super) fn find(
        files: &RepositoryFiles,
        metadata: &Metadata,
        layout: &PythonLayout,
    ) -> Option<Self> {
        let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let with = |is_test: fn(&str) -> bool| -> Vec<String> {
            let all = files.paths().filter(|path| is_test(&last(path)));
            all.map(str::to_owned).collect()
        };
        let mut found = with(is_test_file);
        let mut args = Vec::new();
        if found.is_empty() && !metadata.names_test_files {
            found = with(is_test_file_of_other_name);
            if !found.is_empty() {
                args = vec!["-o".to_owned(), OTHER_PATTERNS.to_owned()];
            }
        }
        if found.is_empty() && !metadata.names_test_files {
            return None;
        }
        if !metadata.names_test_paths {
            args.extend(folders(&found, layout));
        }
        Some(Self {
            files: found,
            args,
            settings_file: metadata.pytest_file,
        })
    }

    /// `test`.
    pub(super) fn settings(self, layout: &PythonLayout) -> TestSettings {
        let mut settings = TestSettings::new(RunnerName::Pytest);
        settings.args = self.args;
        settings.path = vec![layout.folder.clone()];
        // `python -m pytest` has the top on its path, too, and tests import each other from there.
        if layout.folder != "." {
            settings.path.push(".".to_owned());
        }
        settings
    }

    /// What was found.
    pub(super) fn describe(&self) -> String {
        let s = if self.files.len() == 1 { "" } else { "s" };
        let arguments = self.args.join(" ");
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
