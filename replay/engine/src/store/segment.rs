//! The segment: an immutable file with some of the attempts of a part of a run.
//!
//! A segment is JSON lines. Its name is the SHA-256 of its contents with the ending `.jsonl`, and
//! it is put in place by renaming, so that it is there whole or not at all. The first line is the
//! [header](SegmentHeader). Each further line is an object with one member, whose name says what
//! its value is:
//!
//! | member | value |
//! | --- | --- |
//! | `hole` | a hole's record ([`Hole`](fillrate_language::task::Hole)) |
//! | `attempt` | an attempt ([`Attempt`](super::Attempt)) |
//! | `audit` | the result of judging an attempt again ([`AuditRecord`](super::AuditRecord)) |
//! | `typing` | a session of typing ([`TypingAttempt`](super::TypingAttempt)) |
//!
//! A hole is in one segment of its part. Attempts that ended in an infrastructure failure may be
//! in another segment with another outcome, which counts then.
//!
//! Below the folder that parts share, the segments of one are in `parts/K-of-N/`. The files that
//! holes were cut into are in `sources/`, each under the SHA-256 of its contents.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use fillrate_language::task::{WholeFile, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DeveloperSettings, Machine, Partition, ProjectState, StoreError};

/// Receives the name and the contents of each object that is read.
pub(super) type ObjectReceiver<'a> = dyn FnMut(&str, Vec<u8>) -> Result<(), StoreError> + Send + 'a;

/// The version of the format.
pub const SEGMENT_SCHEMA: u32 = 2;

/// The ending of a segment's name.
const ENDING: &str = "jsonl";

/// The first line of a segment: what the attempts are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentHeader {
    /// The version of the format: [`SEGMENT_SCHEMA`].
    pub segment: u32,
    /// Part of the run that it belongs to, as `k/n`.
    pub partition: Partition,
    /// Once every attempt of the part has been made, the names of the part's other segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Vec<String>>,
    /// Identity of the run.
    pub identity: Value,
    /// Path of the corpus's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<PathBuf>,
    /// Folder of the tests that were added to the corpus's projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<PathBuf>,
    /// The policies of the run and how its developer types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_settings: Option<DeveloperSettings>,
    /// The machines that the part was made on.
    pub machines: Vec<Machine>,
    /// The state of each project.
    pub projects: BTreeMap<String, ProjectState>,
}

/// Contents of a line after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentRow {
    Hole,
    Attempt,
    Audit,
    Typing,
}

impl SegmentRow {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Hole, "{\"hole\":"),
        (Self::Attempt, "{\"attempt\":"),
        (Self::Audit, "{\"audit\":"),
        (Self::Typing, "{\"typing\":"),
    ];

    /// The line with a record of this kind, which stays as it is to the byte.
    pub(super) fn line(self, record: &str) -> String {
        let (_, start) = Self::ALL[self as usize];
        format!("{start}{record}}}\n")
    }

    /// The kind of a line and where its record is in it.
    pub(super) fn parse(line: &str) -> Option<(Self, std::ops::Range<usize>)> {
        let (kind, start) = Self::ALL
            .into_iter()
            .find(|(_, start)| line.starts_with(start))?;
        // The record ends before the brace that closes the line's object.
        let end = line.strip_suffix('}')?.len();
        Some((kind, start.len()..end))
    }
}

/// A segment's contents, known to be those that its name is the hash of.
pub(super) struct Segment {
    path: PathBuf,
    contents: String,
}

impl Segment {
    /// Reads a segment.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        Self::new(path, std::fs::read(path).map_err(StoreError::file(path))?)
    }

    /// Takes what is at a path or an address.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn new(path: &Path, contents: Vec<u8>) -> Result<Self, StoreError> {
        let name = path.file_stem().unwrap_or_default();
        let contents = String::from_utf8(contents)
            .ok()
            .filter(|contents| name.to_str() == Some(&sha256_hex(contents.as_bytes())))
            .ok_or_else(|| StoreError::Damaged(path.to_owned()))?;
        Ok(Self {
            path: path.to_owned(),
            contents,
        })
    }

    /// The name, with its ending.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The first line.
    ///
    /// # Errors
    /// It was written by another version of this program.
    pub(super) fn header(&self) -> Result<SegmentHeader, StoreError> {
        #[derive(Deserialize)]
        // The version is read by itself first: a header of another version may have other members.
        struct Version {
            segment: u32,
        }
        let line = self.contents.lines().next().unwrap_or_default();
        let fault = |error: serde_json::Error| self.strange(error.to_string());
        let Version { segment } = serde_json::from_str(line).map_err(fault)?;
        if segment != SEGMENT_SCHEMA {
            return Err(self.strange(format!(
                "the segment has schema {segment}, and this program reads {SEGMENT_SCHEMA}"
            )));
        }
        serde_json::from_str(line).map_err(fault)
    }

    /// The records after the header: what each is, where it begins, and its text.
    ///
    /// # Errors
    /// A line is of another form.
    pub(super) fn records(
        &self,
    ) -> impl Iterator<Item = Result<(SegmentRow, usize, &str), StoreError>> {
        let header = self
            .contents
            .find('\n')
            .map_or(self.contents.len(), |at| at + 1);
        let mut at = header;
        self.contents[header..]
            .split_inclusive('\n')
            .map(move |line| {
                let start = at;
                at += line.len();
                let (kind, record) =
                    SegmentRow::parse(line.trim_end_matches('\n')).ok_or_else(|| {
                        self.strange(format!("the line at byte {start} has no record"))
                    })?;
                Ok((kind, start + record.start, &line[record]))
            })
    }

    /// Parses one of its records.
    ///
    /// # Errors
    /// The record is of another form.
    pub(super) fn parse<'a, T: Deserialize<'a>>(&self, record: &'a str) -> Result<T, StoreError> {
        serde_json::from_str(record).map_err(|error| self.strange(error.to_string()))
    }

    fn strange(&self, reason: String) -> StoreError {
        StoreError::Segment {
            path: self.path.clone(),
            reason,
        }
    }
}

/// The segments in a part's folder, by name.
///
/// # Errors
/// The folder can't be read.
pub(super) fn segments_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = std::fs::read_dir(folder).map_err(StoreError::file(folder))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::file(folder))?.path();
        // What was not put in place yet has another ending.
        if path.extension().is_some_and(|ending| ending == ENDING) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// True if this is the name of a segment, or the path of a file of that name.
pub(super) fn is_segment(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == ENDING)
}

/// The name and the contents of a segment.
///
/// # Errors
/// The header can't be written as JSON.
pub(super) fn encode_segment(
    header: &SegmentHeader,
    rows: &[String],
) -> serde_json::Result<(String, String)> {
    let header = serde_json::to_string(header)?;
    let contents = [&header, "\n", &rows.concat()].concat();
    let name = format!("{}.{ENDING}", sha256_hex(contents.as_bytes()));
    Ok((name, contents))
}

/// Puts a file that is named by its contents into a folder: whole, and once.
///
/// # Errors
/// The folder can't be written to.
pub(super) fn put(folder: &Path, name: &str, contents: &[u8]) -> Result<(), StoreError> {
    let path = folder.join(name);
    if path.is_file() {
        return Ok(());
    }
    let write = || -> std::io::Result<()> {
        let mut file = WholeFile::create(&path)?;
        file.write_all(contents)?;
        file.finish_synced()
    };
    write().map_err(StoreError::file(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_records_to_the_byte() {
        for (kind, record) in [
            (SegmentRow::Hole, "{\"id\":\"a\"}"),
            (SegmentRow::Attempt, "{\"x\": 1.50}"),
            (SegmentRow::Audit, "[]"),
            (SegmentRow::Typing, "{}"),
        ] {
            let line = kind.line(record);
            let line = line.trim_end_matches('\n');
            let (parsed, range) = SegmentRow::parse(line).expect("it is a row");
            assert_eq!((parsed, &line[range]), (kind, record));
        }
        assert_eq!(SegmentRow::parse("{\"other\":{}}"), None);
        assert_eq!(SegmentRow::parse("{\"hole\":"), None);
    }
}
