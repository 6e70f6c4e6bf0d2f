//! What every importer shares: its format, its options, and what a record becomes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use fillrate_language::LanguageSupport;
use fillrate_language::java::environment::JUNIT;
use fillrate_language::task::{Hole, HoleKind};
use fillrate_syntax::CompletionExtent;
use fillrate_syntax::Language;
use fillrate_verdict::corpus::manifest::plain_project_name;

use super::error::RecordFault;
use super::record::BenchmarkRecord;

/// A benchmark's format.
#[derive(Debug)]
pub struct BenchmarkFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it is described.
    pub link: &'static str,
    /// Fields that its records have and no other format's: dotted where they are nested.
    pub(super) marks: &'static [&'static str],
    /// What becomes of a record.
    pub(super) read: fn(&BenchmarkRecord<'_>, &ImportOptions) -> Result<ImportedTask, RecordFault>,
}

impl BenchmarkFormat {
    /// Whether a record has the fields of this format.
    pub(super) fn fits(&self, record: &BenchmarkRecord<'_>) -> bool {
        self.marks.iter().all(|mark| record.has(mark))
    }
}

/// What an import needs beside the records.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The folder with the benchmark's repositories, each named as the records name it.
    pub repositories: Option<PathBuf>,
    /// The folder that the benchmark's tests know as `/output` (RepoExec).
    pub outputs: Option<PathBuf>,
    /// Exact pins of what the tests need beside what the format knows, as in manifests.
    pub packages: Vec<String>,
    /// Whether a hole takes the place of a whole function, its signature included, where the
    /// benchmark's predictions repeat it (RepoExec, MRG-Bench); else only of its body.
    pub whole_functions: bool,
    /// Whether a record that can't be used, or whose id occurred before, ends the import.
    pub strict: bool,
    /// The most holes to write; all if nothing.
    pub limit: Option<usize>,
}

impl ImportOptions {
    /// The packages that are written as a language's pins are.
    pub(super) fn packages_for(&self, language: &str) -> Vec<String> {
        let Some(support) = LanguageSupport::by_name(language) else {
            return Vec::new();
        };
        let is_pin = |pin: &&String| support.packages.parse_pin(pin).is_some();
        self.packages.iter().filter(is_pin).cloned().collect()
    }
}

/// What one record becomes.
pub(super) struct ImportedTask {
    /// What the benchmark calls it.
    pub(super) id: String,
    /// The project's name in the manifest: see [`project_name`].
    pub(super) project: String,
    /// The language's name in records.
    pub(super) language: &'static str,
    /// The file with the hole, in the project.
    pub(super) path: String,
    pub(super) kind: HoleKind,
    /// How far the task lets a completion go; `None` leaves it to the settings.
    pub(super) extent: Option<CompletionExtent>,
    /// The file's text.
    pub(super) contents: String,
    /// The hole in it, in bytes.
    pub(super) range: Range<usize>,
    pub(super) origin: FileOrigin,
    pub(super) tests: Option<TaskTests>,
    /// Names of the repository's own tests that decide over it, once the manifest says how they
    /// are run. Empty where there are `tests`.
    pub(super) decided_by: Vec<String>,
    /// What RepoExec's script takes for its dependencies, where the record says so.
    pub(super) repoexec_dependencies: Option<Vec<String>>,
    /// The spaces to which the benchmark's own script indents predictions.
    pub(super) indent: Option<usize>,
}

/// Where a project's files come from.
pub(super) enum FileOrigin {
    /// They are made of the records.
    Record,
    /// A repository on this machine, by its folder.
    Repository(PathBuf),
}

/// What decides over a hole.
pub(super) struct TaskTests {
    pub(super) runner: TaskRunner,
    /// The file of tests, in the project, and its text.
    pub(super) path: String,
    pub(super) text: String,
    /// Further files that it needs: what is copied, and to where in the project.
    pub(super) beside: Vec<(PathBuf, String)>,
    /// What they need installed beside the runner: exact pins.
    pub(super) packages: Vec<String>,
    /// Seconds that they may take, where the benchmark says so.
    pub(super) timeout: Option<u16>,
}

impl TaskTests {
    /// What the runner calls them together.
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
            self.range.clone(),
            &self.contents,
        );
        Hole {
            extent: self.extent,
            repoexec_dependencies: self.repoexec_dependencies.clone(),
            indent: self.indent,
            ..hole.of_task(&self.id, tests.collect())
        }
    }
}

/// What runs the tests of a project that an import makes.
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

/// Whether holes in this file can be played.
pub(super) fn is_playable(path: &str) -> bool {
    Language::for_path(Path::new(path)).is_some()
}
