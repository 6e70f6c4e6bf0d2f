//! A part of a run that is being made: what one of several machines does of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fillrate_verdict::Outcome;
use rusqlite::params;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::location::PartsLocation;
use super::segment::{Segment, SegmentHeader, SegmentRow, encode_segment};
use super::{AuditRecord, Partition, ProjectState, Run, SEGMENT_SCHEMA, StoreError, TypingAttempt};

/// The time since the last segment after which the next record writes another. A killed part loses
/// what it made since its last segment.
const WAIT: Duration = Duration::from_secs(10);

/// Folder of a part's segments.
pub(super) struct PartFolder {
    partition: Partition,
    location: PartsLocation,
    /// The lines of the next segment.
    pending: Vec<String>,
    /// The names of the segments that are there.
    segments: BTreeSet<String>,
    /// The projects of the segments that say that the part is finished and name no lost segment.
    finished: Vec<BTreeMap<String, ProjectState>>,
    written: Instant,
    /// Holds the part's database, which no other machine ever sees.
    _scratch: TempDir,
}

impl PartFolder {
    /// Adds a row to the next segment.
    pub(super) fn add(&mut self, kind: SegmentRow, record: &str) {
        self.pending.push(kind.line(record));
    }

    /// Writes a file that a hole was cut into, unless it is there.
    pub(super) fn write_source(&self, sha256: &str, contents: &str) -> Result<(), StoreError> {
        self.location.put_source(sha256, contents.as_bytes())
    }
}

/// The members of an attempt that its place in a run depends on.
#[derive(Deserialize)]
pub(super) struct AttemptIndex {
    pub(super) key: String,
    pub(super) hole: String,
    pub(super) sample: u32,
    #[serde(default)]
    pub(super) repair_round: u32,
    verdict: VerdictIndex,
}

#[derive(Deserialize)]
struct VerdictIndex {
    outcome: Outcome,
}

impl AttemptIndex {
    pub(super) fn outcome(&self) -> Outcome {
        self.verdict.outcome
    }
}

impl Run {
    /// Begins a part of a run, with the attempts of its segments in `shared`: the folder of all
    /// parts, or the address of an object store. The database is in a temporary folder; what is
    /// added to it goes into further segments.
    ///
    /// # Errors
    /// The folder holds parts of another run, has a damaged segment, or can't be written to.
    pub fn begin_part(
        shared: &Path,
        partition: Partition,
        identity: &Value,
    ) -> Result<Self, StoreError> {
        let location = PartsLocation::open(shared)?;
        location.prepare(partition)?;
        let scratch = tempfile::tempdir().map_err(StoreError::file(&std::env::temp_dir()))?;
        let mut run = Self::open_or_begin(scratch.path(), identity)?;
        let mut segments = BTreeSet::new();
        let mut ends = Vec::new();
        for segment in location.segments(partition)? {
            let header = segment.header()?;
            run.unite_identity(shared, &header.identity)?;
            run.add_segment(&segment)?;
            if let Some(others) = header.finished {
                ends.push((others, header.projects));
            }
            segments.insert(segment.name());
        }
        // If a segment is lost, the part needs an end that does not name it.
        ends.retain(|(others, _)| others.iter().all(|name| segments.contains(name)));
        let finished = ends.into_iter().map(|(_, projects)| projects).collect();
        run.part = Some(
            PartFolder {
                partition,
                location,
                pending: Vec::new(),
                segments,
                finished,
                written: Instant::now(),
                _scratch: scratch,
            }
            .into(),
        );
        Ok(run)
    }

    /// The folder of the part's segments, or its address; `None` if this is a whole run.
    pub fn part_folder(&self) -> Option<PathBuf> {
        let part = self.part.as_ref()?.borrow();
        Some(part.location.part_place(part.partition))
    }

    /// Adds the rows of a segment, byte for byte. The sources are not needed to go on.
    fn add_segment(&self, segment: &Segment) -> Result<(), StoreError> {
        let fault = |source| self.fault(source);
        let transaction = self.database.unchecked_transaction().map_err(fault)?;
        for row in segment.records() {
            let (kind, _, record) = row?;
            match kind {
                SegmentRow::Hole => {
                    #[derive(Deserialize)]
                    struct Id {
                        id: String,
                    }
                    let Id { id } = segment.parse(record)?;
                    self.execute("INSERT OR IGNORE INTO holes VALUES (?1, ?2)", [&id, record])?;
                }
                SegmentRow::Attempt => {
                    let index: AttemptIndex = segment.parse(record)?;
                    self.execute(
                        super::ADD_ATTEMPT,
                        params![
                            index.key,
                            index.hole,
                            index.sample,
                            index.outcome().name(),
                            record
                        ],
                    )?;
                }
                SegmentRow::Audit => {
                    let audit: AuditRecord = segment.parse(record)?;
                    self.execute(super::ADD_AUDIT, [&audit.attempt, record])?;
                }
                SegmentRow::Typing => {
                    let typing: TypingAttempt = segment.parse(record)?;
                    // Segments come in the order of their hashes, so a failed typing may follow its
                    // repetition.
                    let query = match typing.has_infrastructure_failure() {
                        true => "INSERT OR IGNORE INTO typings VALUES (?1, ?2, ?3, ?4)",
                        false => super::ADD_TYPING,
                    };
                    self.execute(
                        query,
                        params![typing.key, typing.hole, typing.policy, record],
                    )?;
                }
            }
        }
        transaction.commit().map_err(fault)
    }

    /// Adds a row to the part's next segment, and writes it if the last one is some time ago. A
    /// whole run has no segments.
    pub(super) fn add_row(&self, kind: SegmentRow, record: &str) -> Result<(), StoreError> {
        let Some(part) = &self.part else {
            return Ok(());
        };
        let waited = {
            let mut part = part.borrow_mut();
            part.add(kind, record);
            part.written.elapsed()
        };
        if waited < WAIT {
            return Ok(());
        }
        self.write_segment()
    }

    /// Writes what was added to a part since its last segment. Once the run is finished, the
    /// segment says so. A whole run has no segments.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub fn write_segment(&self) -> Result<(), StoreError> {
        let Some(part) = &self.part else {
            return Ok(());
        };
        let finished = self.is_finished()?;
        let projects = self.projects()?;
        let mut part = part.borrow_mut();
        // A finished part still writes an end without rows unless one says the same of its
        // projects.
        if part.pending.is_empty() && (!finished || part.finished.contains(&projects)) {
            return Ok(());
        }
        let header = SegmentHeader {
            segment: SEGMENT_SCHEMA,
            partition: part.partition,
            finished: finished.then(|| part.segments.iter().cloned().collect()),
            identity: self.identity()?,
            corpus: self.corpus()?,
            tests: self.tests()?,
            developer_settings: self.developer_settings()?,
            machines: self.machines()?,
            projects,
        };
        let (name, contents) = encode_segment(&header, &part.pending)
            .map_err(std::io::Error::from)
            .map_err(StoreError::file(&part.location.part_place(part.partition)))?;
        part.location
            .put_segment(part.partition, &name, contents.as_bytes())?;
        // The rows are dropped only once they are written: after an error, the next segment has
        // them.
        part.segments.insert(name);
        if finished {
            part.finished.push(header.projects);
        }
        part.pending.clear();
        part.written = Instant::now();
        Ok(())
    }
}
