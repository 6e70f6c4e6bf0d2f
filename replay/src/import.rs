//! Public benchmarks, made into what the rest of the program knows: holes and projects.
//!
//! An import reads a benchmark's records as JSON lines, plain or gzip, one after the other, and
//! writes a tasks file and beside it a folder, `NAME.corpus`, with the manifest `corpus.toml` and
//! the sources of projects that it made itself. What becomes of a record depends on what there is:
//!
//! - with the repository at hand, it is a hole in the repository's file; that the record's text
//!   stands there is verified;
//! - without, it is a hole in a file made of the record's own text, which is all that a model is
//!   shown;
//! - with tests, these are laid into the project, and they alone decide over the hole;
//! - without, the hole is played and its text measured, and nothing is judged;
//! - in a language that this program has no grammar for, the hole is written down, but its project
//!   is in no manifest: it can't be played.
//!
//! One file a format; [`FORMATS`] lists them.

mod crosscodeeval;
mod deveval;
mod humaneval_infilling;
mod mrg_bench;
mod record;
mod repobench;
mod repoeval;
mod repoexec;
mod safim;
mod site;
mod writer;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use fillrate_server::syntax::Language;

use crate::corpus::CorpusError;
use crate::task::{Hole, Kind, TaskError};
use record::{Lines, Record};
use writer::Writer;

/// A benchmark's format.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it is described.
    pub link: &'static str,
    /// Fields that its records have and no other format's: dotted where they are nested.
    marks: &'static [&'static str],
    /// What becomes of a record.
    read: fn(&Record<'_>, &Options) -> Result<Task, Fault>,
}

/// Every format, in the order of tables.
pub static FORMATS: [Format; 8] = [
    crosscodeeval::FORMAT,
    repoexec::FORMAT,
    humaneval_infilling::FORMAT,
    repobench::FORMAT,
    repoeval::FORMAT,
    deveval::FORMAT,
    safim::FORMAT,
    mrg_bench::FORMAT,
];

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    fn fits(&self, record: &Record<'_>) -> bool {
        self.marks.iter().all(|mark| record.has(mark))
    }
}

/// What an import is told beside the records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder with the benchmark's repositories, each named as the records name it.
    pub repositories: Option<PathBuf>,
    /// The folder that the benchmark's tests know as `/output` (RepoExec).
    pub outputs: Option<PathBuf>,
    /// Exact pins of what the tests need beside what the format knows, `NAME==VERSION`.
    pub packages: Vec<String>,
    /// Whether a hole takes the place of a whole function, its signature included, where the
    /// benchmark's predictions repeat it (RepoExec, MRG-Bench); else only of its body.
    pub whole_functions: bool,
    /// The most records to read; all if nothing.
    pub limit: Option<usize>,
}

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Holes in the tasks file.
    pub holes: usize,
    /// Those of them that tests decide over.
    pub judged: usize,
    /// Those of them that can't be played, by their language.
    pub unplayable: BTreeMap<String, usize>,
    /// Projects in the manifest.
    pub projects: usize,
    /// The manifest, where there is any project.
    pub manifest: Option<PathBuf>,
}

/// What one record becomes.
struct Task {
    /// What the benchmark calls it.
    id: String,
    /// The project's name in the manifest: see [`project_name`].
    project: String,
    /// The language's name in records.
    language: &'static str,
    /// The file with the hole, in the project.
    path: String,
    kind: Kind,
    /// The file's text.
    contents: String,
    /// The hole in it, in bytes.
    range: Range<usize>,
    origin: Origin,
    tests: Option<Tests>,
    /// Names of the repository's own tests that decide over it, once the manifest says how they
    /// are run. Empty where there are `tests`.
    decided_by: Vec<String>,
}

/// Where a project's files come from.
enum Origin {
    /// They are made of the records.
    Made,
    /// A repository on this machine, by its folder.
    Repository(PathBuf),
}

/// What decides over a hole, for pytest.
struct Tests {
    /// The file of tests, in the project, and its text.
    path: String,
    text: String,
    /// Further files that it needs: what is copied, and to where in the project.
    beside: Vec<(PathBuf, String)>,
    /// What the tests need installed: exact pins.
    packages: Vec<String>,
    /// Seconds that they may take, where the benchmark says so.
    timeout: Option<u16>,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The dotted field.
    field: String,
    /// The rest of a sentence that begins with the field.
    reason: String,
}

impl Fault {
    fn of(field: &str, reason: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Why an import failed. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record is not what its format says.
    #[error("{path}, line {line}: {reason}")]
    Record {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// A sentence that names the field.
        reason: String,
    },
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The tasks file.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A repository can't be copied.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// What was asked can't be done.
    #[error("{0}")]
    Refused(String),
}

impl ImportError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// Reads files of a format and writes the tasks file `to` and its corpus folder, both whole or not
/// at all. What an earlier import of the same name left is replaced. `progress` hears how many
/// bytes of how many are read.
///
/// # Errors
/// The first record that is not what its format says; a file that can't be read or written.
pub fn import(
    format: &Format,
    files: &[PathBuf],
    options: &Options,
    to: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<Summary, ImportError> {
    let mut all = 0;
    for path in files {
        let metadata = std::fs::metadata(path).map_err(ImportError::file(path))?;
        all += metadata.len();
    }
    let mut writer = Writer::begin(format.name, to)?;
    let mut seen: HashMap<String, (usize, usize)> = HashMap::new();
    let mut before = 0;
    'files: for (number, path) in files.iter().enumerate() {
        let mut lines = Lines::open(path)?;
        while let Some((line, text)) = lines.next_line()? {
            if options.limit.is_some_and(|limit| seen.len() >= limit) {
                break 'files;
            }
            let refuse = |reason: String| ImportError::Record {
                path: path.clone(),
                line,
                reason,
            };
            let value = serde_json::from_str(&text)
                .map_err(|error| refuse(format!("this is not a JSON object: {error}")))?;
            let record = Record::new(&value, path)
                .ok_or_else(|| refuse("this is not a JSON object".to_owned()))?;
            let task = (format.read)(&record, options)
                .map_err(|fault| refuse(told(&fault, format, &record)))?;
            if let Some((file, first)) = seen.insert(task.id.clone(), (number, line)) {
                return Err(refuse(format!(
                    "the task {} stands in line {first} of {} already",
                    task.id,
                    files[file].display()
                )));
            }
            writer.add(task).map_err(|error| match error {
                writer::AddError::Fault(fault) => refuse(told(&fault, format, &record)),
                writer::AddError::Import(error) => error,
            })?;
            progress(before + lines.bytes(), all);
        }
        before += lines.bytes();
    }
    if seen.is_empty() {
        return Err(ImportError::Refused(
            "there are no records to import".to_owned(),
        ));
    }
    let summary = writer.finish()?;
    progress(all, all);
    Ok(summary)
}

/// A fault as a sentence, with a hint where the record is one of another format.
fn told(fault: &Fault, format: &Format, record: &Record<'_>) -> String {
    let sentence = format!("`{}` {}", fault.field, fault.reason);
    let other = FORMATS
        .iter()
        .filter(|other| other.name != format.name)
        .find(|other| other.fits(record));
    match other {
        Some(other) if !format.fits(record) => format!(
            "{sentence}; the record has the fields of `{}`, and all files of an import are of one \
             format",
            other.name
        ),
        _ => sentence,
    }
}

/// A name that a manifest takes, made of a benchmark's own.
fn project_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() {
        "project".to_owned()
    } else {
        name.to_owned()
    }
}

/// A benchmark's task id as the name of a file.
fn file_name(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect::<String>()
        .to_ascii_lowercase()
}

/// Whether holes in this file can be played.
fn playable(path: &str) -> bool {
    Language::for_path(Path::new(path)).is_some()
}

/// The language of a file by its extension: its name in records.
fn language_of(path: &str) -> Option<&'static str> {
    if let Some(language) = Language::for_path(Path::new(path)) {
        return Some(language.id);
    }
    match Path::new(path).extension()?.to_str()? {
        "java" => Some("java"),
        "cs" => Some("csharp"),
        "go" => Some("go"),
        "cpp" | "cc" => Some("cpp"),
        _ => None,
    }
}

impl Task {
    fn hole(&self) -> Hole {
        let laid = self.tests.iter().map(|tests| tests.path.clone());
        let tests = laid.chain(self.decided_by.iter().cloned());
        Hole::new(
            &self.project,
            self.language,
            &self.path,
            self.kind,
            self.range.clone(),
            &self.contents,
        )
        .of_task(&self.id, tests.collect())
    }
}

#[cfg(test)]
mod tests;
