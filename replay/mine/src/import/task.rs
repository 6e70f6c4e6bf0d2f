//! Types that all importers share: the format, the options, and the task made from a record.

use std::path::{Path, PathBuf};

use fillrate_language::LanguageSupport;
use fillrate_language::java::environment::JUNIT;
use fillrate_language::task::{Hole, HoleKind};
use fillrate_syntax::CompletionExtent;
use fillrate_syntax::Language;
use fillrate_verdict::corpus::manifest::plain_project_name;

use super::error::{ImportError, RecordFault};
use super::located_hole::LocatedHole;
use super::record::BenchmarkRecord;

/// A benchmark's format.
#[derive(Debug)]
pub struct BenchmarkFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// Link to its description.
    pub link: &'static str,
    /// Fields that its records have and no other format's: dotted where they are nested.
    pub(super) marks: &'static [&'static str],
    /// The options of [`ImportOptions::given`] that it reads.
    pub(super) options: &'static [&'static str],
    /// Function that makes a task from a record.
    pub(super) read: fn(&BenchmarkRecord<'_>, &ImportOptions) -> Result<ImportedTask, RecordFault>,
}

impl BenchmarkFormat {
    /// Refuses an option that it would ignore.
    pub(super) fn check_options(&self, options: &ImportOptions) -> Result<(), ImportError> {
        match options.given().find(|name| !self.options.contains(name)) {
            Some(name) => Err(ImportError::Refused(format!(
                "{name} is not for the format `{}`; leave it out",
                self.name
            ))),
            None => Ok(()),
        }
    }

    /// True if a record has the fields of this format.
    pub(super) fn fits(&self, record: &BenchmarkRecord<'_>) -> bool {
        self.marks.iter().all(|mark| record.has(mark))
    }
}

/// Inputs of an import other than the records.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The folder with the benchmark's repositories, each named as the records name it.
    pub repositories: Option<PathBuf>,
    /// The folder that the benchmark's tests know as `/output` (RepoExec).
    pub outputs: Option<PathBuf>,
    /// Exact pins of packages that the tests need in addition to the format's, as in manifests.
    pub packages: Vec<String>,
    /// True if a hole takes the place of a whole function, its signature included, where the
    /// benchmark's predictions repeat it (RepoExec, MRG-Bench); false if only of its body.
    pub whole_functions: bool,
    /// True if a record that can't be used, or whose id occurred before, ends the import.
    pub strict: bool,
    /// The most holes to write; `None` for all.
    pub limit: Option<usize>,
}

impl ImportOptions {
    /// The given options that not every format reads, as on the command line. Packages are not
    /// among them: those that no project installs are refused at the end.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--repositories", self.repositories.is_some()),
            ("--outputs", self.outputs.is_some()),
            ("--whole-functions", self.whole_functions),
        ];
        given
            .into_iter()
            .filter_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The packages that are written as a language's pins are.
    pub(super) fn packages_for(&self, language: &str) -> Vec<String> {
        let Some(support) = LanguageSupport::by_name(language) else {
            return Vec::new();
        };
        let is_pin = |pin: &&String| support.packages.parse_pin(pin).is_some();
        self.packages.iter().filter(is_pin).cloned().collect()
    }
}

/// Task made from a record.
pub(super) struct ImportedTask {
    /// Its id in the benchmark.
    pub(super) id: String,
    /// The project's name in the manifest: see [`project_name`].
    pub(super) project: String,
    /// The language's name in records.
    pub(super) language: &'static str,
    /// The file with the hole, in the project.
    pub(super) path: String,
    pub(super) kind: HoleKind,
    /// Extent to which the task allows a completion; `None` leaves it to the settings.
    pub(super) extent: Option<CompletionExtent>,
    /// The file's text, with the hole in it.
    pub(super) text: LocatedHole,
    pub(super) tests: Option<TaskTests>,
    /// Names of the repository's own tests that decide over it, once the manifest says how they are
    /// run. Empty if there are `tests`.
    pub(super) decided_by: Vec<String>,
    /// Its dependencies as RepoExec's script finds them, if the record has them.
    pub(super) repoexec_dependencies: Option<Vec<String>>,
    /// The spaces to which the benchmark's own script indents predictions.
    pub(super) indent: Option<usize>,
}

/// Source of a project's files.
pub(super) enum FileOrigin {
    /// They are made of the records.
    Record,
    /// A repository on this machine, by its folder.
    Repository(PathBuf),
}

/// Tests that decide over a hole.
pub(super) struct TaskTests {
    pub(super) runner: TaskRunner,
    /// The file of tests, in the project, and its text.
    pub(super) path: String,
    pub(super) text: String,
    /// Further files that it needs: the file to copy, and its path in the project.
    pub(super) more_files: Vec<(PathBuf, String)>,
    /// Exact pins of packages that they need in addition to the runner.
    pub(super) packages: Vec<String>,
    /// Timeout in seconds, if the benchmark has one.
    pub(super) timeout: Option<u16>,
}

impl TaskTests {
    /// Returns the runner's name for all of them.
    fn name(&self) -> String {
        match self.runner {
            TaskRunner::Pytest | TaskRunner::Node => self.path.clone(),
            // The class, in no package.
            TaskRunner::Jupiter => {
                let file = self.path.rsplit('/').next().unwrap_or(&self.path);
                file.trim_end_matches(".java").to_owned()
            }
        }
    }
}

impl ImportedTask {
    pub(super) fn hole(&self) -> Hole {
        let laid = self.tests.iter().map(TaskTests::name);
        let tests = laid.chain(self.decided_by.iter().cloned());
        let hole = Hole::new(
            &self.project,
            self.language,
            &self.path,
            self.kind,
            self.text.range.clone(),
            &self.text.contents,
        );
        Hole {
            extent: self.extent,
            repoexec_dependencies: self.repoexec_dependencies.clone(),
            changed: None,
            indent: self.indent,
            ..hole.of_task(&self.id, tests.collect())
        }
    }
}

/// Runner of the tests of a project that an import makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskRunner {
    Pytest,
    /// Node's own.
    Node,
    /// JUnit 5.
    Jupiter,
}

impl TaskRunner {
    /// Its name in manifests.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Node => "node",
            Self::Jupiter => "jupiter",
        }
    }

    /// Its arguments in a project whose tests are in the folder `tests`.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            // Files that are named one by one would all be loaded for every test.
            Self::Pytest | Self::Node => &["tests"],
            // It finds tests wherever they are.
            Self::Jupiter => &[],
        }
    }

    /// Exact pins of itself, with all that it needs in turn.
    pub(super) fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Pytest => &[
                "pytest==8.4.2",
                "coverage==7.10.7",
                "iniconfig==2.1.0",
                "packaging==25.0",
                "pluggy==1.6.0",
                "Pygments==2.19.2",
            ],
            Self::Node => &[],
            Self::Jupiter => &[JUNIT],
        }
    }
}

/// A name that a manifest takes, made of a benchmark's own.
pub(super) fn project_name(name: &str) -> String {
    plain_project_name(name, "project")
}

/// True if holes in this file can be played.
pub(super) fn is_playable(path: &str) -> bool {
    Language::for_path(Path::new(path)).is_some()
}
