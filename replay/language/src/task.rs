//! The hole record and its file format: JSON lines, one hole a line.
//!
//! ```json
//! {"schema":1,"id":"mistune/src/util.py:12:line:1f0c77aa","project":"mistune","language":"python",
//!  "path":"src/util.py","kind":"line","start":310,"end":334,"file_sha256":"…","reference":"…"}
//! ```
//! `start` and `end` are byte offsets into the file as the project's source has it; `file_sha256`
//! is of that file. A record is refused if the file has another hash, as the offsets would be
//! wrong.
//!
//! A record may have `"category":{"name":"common-tools","reason":"…"}`: the category of its code,
//! one of the variants of [`Topic`], and the reason for it. Records of older programs don't. It has
//! `"at_import":true` if any of its lines runs when the file is imported, and not only from tests;
//! such a hole is judged by all tests. `"dependencies":["is_string"]` are the names that the
//! reference uses and the repository defines, as the reference calls them and each once: see
//! `fillrate_mine::dependencies`. Records of older programs don't have it, one of a hole that uses
//! none has an empty list. `"repoexec_dependencies"` are the names that RepoExec's script counts in
//! their place: these and what the file imports from anywhere. `"changed"` is the day on which the
//! newest of its lines changed, if the project's folder has a git history.
//!
//! A record that was imported from a public benchmark has `"task_id"`, its id in the benchmark,
//! and, if the benchmark names the tests that decide over it, these as `"tests"`: ids of tests, or
//! the files, classes or functions that hold them. No others are run then. `"indent"` is the number
//! of spaces to which `replay --deveval` indents a prediction.

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufWriter, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fillrate_syntax::CompletionExtent;
use fillrate_syntax::text::{ByteOffset, LineIndex};
use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// The version of the format this program writes and reads.
pub const SCHEMA: u32 = 1;

/// A range of a file that is cut out, for a model to fill in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hole {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Id of the hole, unique within its corpus: `PROJECT/PATH:LINE:KIND:HASH`.
    pub id: String,
    /// The project's name in its manifest.
    pub project: String,
    /// The language's name, e.g. `typescript`.
    pub language: String,
    /// The file, relative to the project's root, with `/`.
    pub path: String,
    /// Kind of the hole: how it was chosen.
    pub kind: HoleKind,
    /// Start of the hole in the file.
    pub start: ByteOffset,
    /// End of the hole in the file, exclusive.
    pub end: ByteOffset,
    /// SHA-256 of the file, in hexadecimal digits.
    pub file_sha256: String,
    /// Reference: the original text of the hole.
    pub reference: String,
    /// Category of its code; `None` if it was not determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// True if any of its lines runs when the file is imported, so that every test reaches it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_import: bool,
    /// The names that the reference uses and the repository defines, if they were determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<String>>,
    /// The names that RepoExec's script takes for dependencies, if they were determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repoexec_dependencies: Option<Vec<String>>,
    /// The day in UTC on which the newest of its lines changed, as YYYY-MM-DD; `None` without a git
    /// history, or for lines of no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Outcomes of the tests on mutants of its lines, if they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Mutation>,
    /// Id of the hole in the benchmark it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Extent that the benchmark allows a completion; `None` leaves it to the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<CompletionExtent>,
    /// The spaces to which the benchmark's own script indents predictions, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indent: Option<usize>,
    /// Tests that decide over the hole, if the benchmark names them; if empty, the project's own
    /// coverage selects the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
}

/// True if a text is a day of the calendar, YYYY-MM-DD, as [`Hole::changed`] has.
pub fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts[..] else {
        return false;
    };
    if [year, month, day].map(str::len) != [4, 2, 2] || !parts.iter().all(|part| is_number(part)) {
        return false;
    }
    let number = |part: &str| part.parse::<u32>().unwrap_or_default();
    let is_leap =
        |year: u32| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match number(month) {
        2 if is_leap(number(year)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&number(day))
}

/// Outcomes of a hole's tests on mutants of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Mutants with which a test failed.
    pub killed: usize,
    /// Mutants with which all tests passed.
    pub survived: usize,
    /// Mutants with which the tests ran into a limit: a fault that was noticed, or a slow machine.
    pub timeout: usize,
    /// Mutants without a verdict because of an infrastructure failure, and those that do not
    /// compile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unjudged: usize,
    /// The mutants that survived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
}

/// A fault that no test noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivor {
    /// The operator's name, e.g. `AOR`.
    pub operator: String,
    /// The fault in a line.
    pub fault: String,
    /// Its change to the file, as a unified diff.
    pub diff: String,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Category of a hole's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// The category.
    pub name: Topic,
    /// Reason for this category, as a sentence.
    pub reason: String,
}

/// The thirteen categories of RepoMasterEval, §3.6 of
/// [its paper](https://arxiv.org/abs/2408.03519).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Topic {
    /// Arithmetic, conditions, plain loops: what belongs nowhere else.
    ProgrammingBasics,
    /// Files, dates, formats, logs, the command line.
    CommonTools,
    /// Training and using models.
    MachineLearning,
    /// Text in human languages.
    NaturalLanguageProcessing,
    /// User interfaces.
    FrontEndDevelopment,
    /// Requests and responses.
    ServerSideDevelopment,
    /// Secrets and permissions.
    SecurityAndPrivacy,
    /// Tables of data and statistics.
    DataManagementAndAnalysis,
    /// Queries and what runs them.
    Databases,
    /// Trees, graphs, sorting, searching.
    DataStructuresAndAlgorithms,
    /// Caches and doing things at once.
    PerformanceOptimization,
    /// Images, sound, video.
    MultimediaProcessing,
    /// Features that only this language or few others have.
    LanguageFeatures,
}

impl Topic {
    /// The category's name in records and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The category's name within a sentence.
    pub fn title(self) -> String {
        match self {
            Self::FrontEndDevelopment => "front-end development".to_owned(),
            Self::ServerSideDevelopment => "server-side development".to_owned(),
            _ => self.name().replace('-', " "),
        }
    }
}

/// Kind of a hole: how it was chosen.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum HoleKind {
    /// One line, from its first token to its end.
    Line,
    /// One simple statement, over one line or several.
    Statement,
    /// A branch, a loop's body, or some statements that follow each other.
    Block,
    /// A function's body, without its documentation.
    Body,
    /// From inside a line to the end of its statement, as at a pause in typing.
    Span,
    /// As [`HoleKind::Span`], if the next name is defined in another file of the repository.
    Api,
}

impl HoleKind {
    /// The kinds that are mined by default.
    pub const DEFAULT: [Self; 5] = [
        Self::Line,
        Self::Statement,
        Self::Block,
        Self::Body,
        Self::Span,
    ];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Hole {
    /// Refuses a record of another version of the format.
    ///
    /// # Errors
    /// Says which version it is.
    pub fn check_schema(&self) -> Result<(), String> {
        match self.schema {
            SCHEMA => Ok(()),
            other => Err(format!(
                "`schema` is {other}, and this program reads {SCHEMA}"
            )),
        }
    }

    /// A hole in a file; the id follows from the rest.
    pub fn new(
        project: &str,
        language: &str,
        path: &str,
        kind: HoleKind,
        range: std::ops::Range<usize>,
        contents: &str,
    ) -> Self {
        HoledFile::new(project, language, path, contents).hole(kind, range)
    }

    /// Returns the hole as a benchmark's task that these tests decide over. Its id differs, so that
    /// two tasks at one place are two holes.
    #[must_use]
    pub fn of_task(mut self, task_id: &str, tests: Vec<String>) -> Self {
        let (before, hash) = self.id.rsplit_once(':').unwrap_or((&self.id, ""));
        let hash = &sha256_hex(format!("{hash}\0{task_id}").as_bytes())[..8];
        self.id = format!("{before}:{hash}");
        self.task_id = Some(task_id.to_owned());
        self.tests = tests;
        self
    }

    /// The file's text before and after the hole.
    ///
    /// # Errors
    /// The file is not the one the hole was cut into.
    pub fn cut<'a>(&self, contents: &'a str) -> Result<(&'a str, &'a str), TaskError> {
        let range = self.start.0..self.end.0;
        let fits = sha256_hex(contents.as_bytes()) == self.file_sha256
            && contents.get(range.clone()) == Some(self.reference.as_str());
        if !fits {
            return Err(TaskError::other_file(self));
        }
        Ok((&contents[..range.start], &contents[range.end..]))
    }

    /// Returns the one-based lines of the hole in its file, without white space at its end.
    pub fn lines(&self, contents: &str) -> RangeInclusive<usize> {
        let index = LineIndex::new(contents);
        // A record of another file is refused by `cut`; here it must not panic.
        let text = contents
            .get(self.start.0..self.end.0)
            .unwrap_or_default()
            .trim_end();
        index.number(self.start.0)..=index.number(self.start.0 + text.len())
    }

    /// The file with this text in the hole.
    ///
    /// # Errors
    /// The file is not the one the hole was cut into.
    pub fn filled(&self, contents: &str, completion: &str) -> Result<String, TaskError> {
        self.filled_over(contents, completion, "")
    }

    /// As [`Hole::filled`], without the text after the hole that the completion writes as well.
    ///
    /// # Errors
    /// As [`Hole::filled`].
    pub fn filled_over(
        &self,
        contents: &str,
        completion: &str,
        overlap: &str,
    ) -> Result<String, TaskError> {
        let (prefix, suffix) = self.cut(contents)?;
        let suffix = suffix.strip_prefix(overlap).unwrap_or(suffix);
        Ok([prefix, completion, suffix].concat())
    }
}

/// A file that many holes are cut into: what all of them need from it is computed once.
pub struct HoledFile<'a> {
    project: &'a str,
    language: &'a str,
    path: &'a str,
    contents: &'a str,
    sha256: String,
    lines: LineIndex,
}

impl<'a> HoledFile<'a> {
    /// A file of a project.
    pub fn new(project: &'a str, language: &'a str, path: &'a str, contents: &'a str) -> Self {
        Self {
            project,
            language,
            path,
            contents,
            sha256: sha256_hex(contents.as_bytes()),
            lines: LineIndex::new(contents),
        }
    }

    /// The file's lines.
    pub fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// A hole in the file; the id follows from the rest.
    pub fn hole(&self, kind: HoleKind, range: std::ops::Range<usize>) -> Hole {
        let Self { project, path, .. } = *self;
        let reference = self.contents[range.clone()].to_owned();
        let line = self.lines.number(range.start);
        // NUL separates the parts, as no name or path contains it.
        let place = format!("{project}\0{path}\0{kind}\0{}\0{reference}", range.start);
        let id = format!(
            "{project}/{path}:{line}:{kind}:{}",
            &sha256_hex(place.as_bytes())[..8]
        );
        Hole {
            schema: SCHEMA,
            id,
            project: project.to_owned(),
            language: self.language.to_owned(),
            path: path.to_owned(),
            kind,
            start: ByteOffset(range.start),
            end: ByteOffset(range.end),
            file_sha256: self.sha256.clone(),
            reference,
            category: None,
            at_import: false,
            extent: None,
            dependencies: None,
            repoexec_dependencies: None,
            changed: None,
            indent: None,
            mutation: None,
            task_id: None,
            tests: Vec::new(),
        }
    }
}

/// Error of reading or using holes.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line of the file is not what it should be.
    #[error("{path}, line {line}: {reason}")]
    Record {
        /// The file.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// The problem, with the field's name.
        reason: String,
    },
    /// The project's file is another than the one the hole was cut into.
    #[error(
        "{id}: {path} is not the file this hole was cut into; mine the corpus again, or use the \
         version of the project the tasks were mined from"
    )]
    OtherFile {
        /// The hole.
        id: String,
        /// The project's file.
        path: String,
    },
}

impl TaskError {
    /// The error of a hole whose file is missing, or is another than the one it was cut into.
    pub fn other_file(hole: &Hole) -> Self {
        Self::OtherFile {
            id: hole.id.clone(),
            path: hole.path.clone(),
        }
    }

    /// The error of a line, which has a one-based number.
    pub fn record(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Record {
            path: path.to_owned(),
            line,
            reason: reason.into(),
        }
    }
}

/// Skips the byte order mark that some programs write at the beginning of a text.
///
/// # Errors
/// The text can't be read.
pub fn skip_byte_order_mark(reader: &mut impl std::io::BufRead) -> std::io::Result<()> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    if reader.fill_buf()?.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    Ok(())
}

/// Opens a file of lines, plain or packed by gzip, past its byte order mark.
///
/// # Errors
/// It can't be read.
pub fn open_lines(path: &Path) -> std::io::Result<Box<dyn BufRead>> {
    let mut plain = std::io::BufReader::new(std::fs::File::open(path)?);
    // A gzip stream begins with these two bytes.
    let is_packed = plain.fill_buf()?.starts_with(b"\x1f\x8b");
    let mut lines: Box<dyn BufRead> = match is_packed {
        true => Box::new(std::io::BufReader::new(MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    };
    skip_byte_order_mark(&mut lines)?;
    Ok(lines)
}

/// The lines of a file that are not blank, with their numbers from 1.
pub struct NonBlankLines {
    path: PathBuf,
    lines: std::iter::Enumerate<std::io::Lines<Box<dyn BufRead>>>,
}

impl NonBlankLines {
    /// Opens a file as [`open_lines`] does.
    ///
    /// # Errors
    /// It can't be read.
    pub fn open(path: &Path) -> Result<Self, TaskError> {
        let lines = open_lines(path).map_err(|source| TaskError::File {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            lines: lines.lines().enumerate(),
        })
    }
}

impl Iterator for NonBlankLines {
    type Item = Result<(usize, String), TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (index, line) = self.lines.next()?;
            let path = &self.path;
            return Some(match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => Ok((index + 1, line)),
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    Err(TaskError::record(path, index + 1, "this is not UTF-8"))
                }
                Err(source) => Err(TaskError::File {
                    path: path.clone(),
                    source,
                }),
            });
        }
    }
}

/// Returns the parser's reason why a line is not JSON, with a remedy for the forms that other
/// programs write.
pub fn json_fault(line: &str, reason: &str) -> String {
    let has = |name: &str| {
        // A name next to a letter or a quote is part of a text.
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '"');
        line.match_indices(name).any(|(at, _)| {
            let after = line[at + name.len()..].chars().next();
            !is_part(line[..at].chars().next_back()) && !is_part(after)
        })
    };
    if reason.contains("surrogate") || reason.contains("unexpected end of hex escape") {
        return format!(
            "{reason}: half of a character, which no text has; write the texts with \
             `.encode(\"utf-8\", \"replace\").decode()`"
        );
    }
    if !line.trim_start().starts_with('{') {
        return "it is no JSON object; the file must hold one object a line".to_owned();
    }
    match ["NaN", "Infinity", "None", "True", "False"]
        .into_iter()
        .find(|name| has(name))
    {
        Some(name) if reason.starts_with("expected") => {
            format!("{reason}: `{name}` is no JSON; write null, true, false or a number")
        }
        _ => reason.to_owned(),
    }
}

/// Reads a tasks file.
///
/// # Errors
/// Names the file, and the line if it is not a hole.
pub fn read(path: &Path) -> Result<Vec<Hole>, TaskError> {
    let mut holes = Vec::new();
    let mut lines: HashMap<String, usize> = HashMap::new();
    for line in NonBlankLines::open(path)? {
        let (line, text) = line?;
        let refuse = |reason: String| TaskError::record(path, line, reason);
        let hole: Hole = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        hole.check_schema().map_err(refuse)?;
        // Attempts are known by their holes' ids, so a run with two of one id would never end.
        if let Some(earlier) = lines.insert(hole.id.clone(), line) {
            return Err(refuse(format!(
                "`id`: line {earlier} has the hole {} too; remove one of the two",
                hole.id
            )));
        }
        holes.push(hole);
    }
    Ok(holes)
}

/// Writes a tasks file, whole or not at all.
///
/// # Errors
/// Names the file.
pub fn write(path: &Path, holes: &[Hole]) -> Result<(), TaskError> {
    let write = || -> std::io::Result<()> {
        let mut file = WholeFile::create(path)?;
        for hole in holes {
            writeln!(file, "{}", serde_json::to_string(hole)?)?;
        }
        file.finish()
    };
    write().map_err(|source| TaskError::File {
        path: path.to_owned(),
        source,
    })
}

/// A file that gets its name only when it is finished, so that a killed process leaves no part of it
/// under the name. Its permissions are those of any new file.
pub struct WholeFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl WholeFile {
    /// Starts a file in a folder that exists.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // `persist` renames, which works only within one file system, hence the target's folder.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
        })
    }

    /// Writes a value as JSON into a file, whole or not at all, and makes its folder.
    ///
    /// # Errors
    /// The folder or the file can't be written.
    pub fn write_json(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        let mut file = Self::create(path)?;
        serde_json::to_writer(&mut file, value)?;
        file.finish()
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn finish(self) -> std::io::Result<()> {
        self.file.into_inner()?.persist(&self.path)?;
        Ok(())
    }

    /// Gives the file its name, which no other file may have.
    ///
    /// # Errors
    /// The file can't be written, or another one has the name.
    pub fn finish_new(self) -> std::io::Result<()> {
        self.file.into_inner()?.persist_noclobber(&self.path)?;
        Ok(())
    }

    /// Gives the file its name, and returns once both have reached the disk.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn finish_synced(mut self) -> std::io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_ref();
        file.as_file().sync_all()?;
        let folder = File::open(file.path().parent().unwrap_or(Path::new(".")))?;
        self.finish()?;
        folder.sync_all()
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    fn hole() -> Hole {
        Hole::new(
            "demo",
            "python",
            "a.py",
            HoleKind::Line,
            4..9,
            "x = 1 + 2\ny = 3\n",
        )
    }

    #[test]
    fn a_hole_is_cut_and_filled() {
        let hole = hole();
        assert_eq!(hole.reference, "1 + 2");
        assert_eq!(
            hole.cut("x = 1 + 2\ny = 3\n").expect("it is the same file"),
            ("x = ", "\ny = 3\n")
        );
        assert_eq!(
            hole.filled("x = 1 + 2\ny = 3\n", "7")
                .expect("it is the same file"),
            "x = 7\ny = 3\n"
        );
        assert!(matches!(
            hole.cut("x = 1 + 2\ny = 4\n"),
            Err(TaskError::OtherFile { .. })
        ));
    }

    #[test]
    fn days_are_of_the_calendar() {
        for day in ["2026-02-28", "2024-02-29", "2000-02-29", "2026-12-31"] {
            assert!(is_day(day), "{day}");
        }
        for text in [
            "2026-13-01",
            "2026-99-99",
            "2026-02-29",
            "1900-02-29",
            "2026-4-01",
            "20260401",
            "2026-04-00",
        ] {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn faults_of_json_say_what_other_programs_wrote() {
        let fault = |line: &str| {
            let error = serde_json::from_str::<serde_json::Value>(line).expect_err("it is no JSON");
            json_fault(line, &error.to_string())
        };
        insta::assert_snapshot!(fault(r#"{"hole": "NaN", "p": NaN}"#), @"expected value at line 1 column 22: `NaN` is no JSON; write null, true, false or a number");
        insta::assert_snapshot!(fault(r#"{"p": -Infinity}"#), @"invalid number at line 1 column 8");
        insta::assert_snapshot!(fault(r#"{"text": None}"#), @"expected value at line 1 column 10: `None` is no JSON; write null, true, false or a number");
        insta::assert_snapshot!(fault(r#"{"text": "\ud800x"}"#), @r#"unexpected end of hex escape at line 1 column 17: half of a character, which no text has; write the texts with `.encode("utf-8", "replace").decode()`"#);
        insta::assert_snapshot!(fault(r#"{"None": 1"#), @"EOF while parsing an object at line 1 column 10");
    }

    #[test]
    fn packed_lines_are_unpacked() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut packed = flate2::write::GzEncoder::new(&file, flate2::Compression::fast());
        packed
            .write_all("\u{feff}a\nb\n".as_bytes())
            .expect("a file");
        packed.finish().expect("a file");
        let lines = open_lines(file.path()).expect("it is read").lines();
        let lines: Vec<String> = lines.map(|line| line.expect("it is UTF-8")).collect();
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn records_go_there_and_back() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("tasks.jsonl");
        let holes = [hole(), hole().of_task("7", Vec::new())];
        write(&path, &holes).expect("the folder is writable");
        assert_eq!(read(&path).expect("it was just written"), holes);
    }

    #[test]
    fn whole_files_have_the_permissions_of_new_files() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let mode = |name: &str| {
            let metadata = folder.path().join(name).metadata();
            metadata.expect("the file exists").permissions().mode()
        };
        std::fs::write(folder.path().join("plain"), "a").expect("the folder is writable");
        for (name, finish) in [
            (
                "a",
                WholeFile::finish as fn(WholeFile) -> std::io::Result<()>,
            ),
            ("b", WholeFile::finish_synced),
        ] {
            let path = folder.path().join(name);
            let mut file = WholeFile::create(&path).expect("the folder is writable");
            file.write_all(b"text").expect("the folder is writable");
            assert!(!path.exists());
            finish(file).expect("the folder is writable");
            assert_eq!(std::fs::read(&path).expect("it is whole"), b"text");
            assert_eq!(mode(name), mode("plain"));
        }
    }

    #[test]
    fn two_holes_of_one_id_are_refused() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("tasks.jsonl");
        write(&path, &[hole(), hole()]).expect("the folder is writable");
        let error = read(&path).expect_err("one is there twice").to_string();
        let reason = format!("line 2: `id`: line 1 has the hole {} too", hole().id);
        assert!(error.contains(&reason), "{error}");
    }

    #[test]
    fn records_of_older_programs_are_read_and_others_keep_their_category() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("tasks.jsonl");
        let old = serde_json::to_string(&hole()).expect("a hole is plain data");
        assert!(
            !old.contains("category") && !old.contains("at_import"),
            "{old}"
        );
        let new = old.replace(
            "\"kind\"",
            "\"category\":{\"name\":\"common-tools\",\"reason\":\"Why.\"},\"at_import\":true,\"kind\"",
        );
        let new = new.replace("\"id\":\"", "\"id\":\"new:");
        std::fs::write(&path, format!("{old}\n{new}\n")).expect("the folder is writable");
        let holes = read(&path).expect("both are holes");
        assert_eq!(holes[0], hole());
        let category = Category {
            name: Topic::CommonTools,
            reason: "Why.".to_owned(),
        };
        assert_eq!(holes[1].category, Some(category));
        assert!(holes[1].at_import);
    }

    #[test]
    fn names_are_those_of_records() {
        for topic in Topic::VARIANTS {
            let name = serde_json::to_value(topic).expect("a name is plain data");
            assert_eq!(name, topic.name());
        }
    }

    #[test]
    fn a_bad_record_is_named_by_line_and_field() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("tasks.jsonl");
        std::fs::write(&path, "\n{\"schema\":1}\n").expect("the folder is writable");
        let message = read(&path).expect_err("fields are missing").to_string();
        assert!(
            message.contains("line 2") && message.contains("`id`"),
            "{message}"
        );
    }
}
