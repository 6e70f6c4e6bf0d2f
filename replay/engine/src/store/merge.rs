//! Makes one run of its parts: the union of their attempts by key.
//!
//! The result depends on the parts' contents alone, not on their number, their order or where they
//! are. Only places in segments are kept in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_verdict::Outcome;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

use super::location::{LocalFolders, PARTS, SOURCES};
use super::part::AttemptIndex;
use super::segment::{Segment, SegmentHeader, SegmentRow, segments_in};
use super::{
    ADD_ATTEMPT, ADD_AUDIT, ADD_TYPING, Attempt, AuditRecord, DeveloperSettings, FILE_NAME,
    Machine, Partition, ProjectState, ProjectStatus, SCHEMA, StoreError, TABLES, TypingAttempt,
    create_output_folder, united_identity,
};

/// The parts of one run, read and checked.
pub struct MergedParts {
    segments: Vec<PathBuf>,
    /// The folders with the files that holes were cut into.
    sources: BTreeSet<PathBuf>,
    identity: Value,
    corpus: BTreeSet<PathBuf>,
    tests: BTreeSet<PathBuf>,
    developer_settings: Option<DeveloperSettings>,
    /// By their JSON, which orders them.
    machines: BTreeMap<String, Machine>,
    projects: BTreeMap<String, ProjectState>,
    finished: FinishedParts,
    holes: BTreeMap<String, RecordLocation>,
    attempts: HashMap<String, AttemptVariants>,
    audits: BTreeMap<String, RecordLocation>,
    typings: HashMap<String, TypingVariant>,
    /// Number of attempts found, repeated ones included.
    found: usize,
    /// Copies of objects.
    _copies: Vec<TempDir>,
}

/// Location of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordLocation {
    segment: u32,
    start: u64,
    length: u32,
    /// The first bytes of the record's SHA-256: what chooses one of several.
    digest: u64,
}

/// Attempts of the parts under one key.
struct AttemptVariants {
    hole: String,
    sample: u32,
    repair_round: u32,
    /// The record of each outcome; infrastructure failures only if there is nothing else.
    by_outcome: BTreeMap<Outcome, RecordLocation>,
}

/// Typing of the parts under one key.
struct TypingVariant {
    hole: String,
    policy: String,
    failed: bool,
    place: RecordLocation,
}

/// Attempts with one key and different outcomes.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The attempt's key.
    pub key: String,
    /// The hole that they are of.
    pub hole: Hole,
    /// The file that the hole was cut into.
    pub contents: String,
    /// One attempt for each outcome.
    pub attempts: Vec<Attempt>,
}

/// Result of settling a conflict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settlement {
    /// The attempt's key.
    pub attempt: String,
    /// The hole's id.
    pub hole: String,
    /// The outcomes that parts have.
    pub outcomes: Vec<Outcome>,
    /// The outcome of judging again.
    pub rejudged: Outcome,
}

/// A part that is not, or not wholly, there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// Number of the part.
    pub partition: Partition,
    /// Reason for which it counts as missing.
    pub reason: String,
}

impl fmt::Display for MissingPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.partition, self.reason)
    }
}

/// Reason of a part that has no segment.
const NEVER_BEGUN: &str = "it was never begun";

impl MissingPart {
    /// All parts of a division.
    pub fn all(parts: u32) -> Vec<Self> {
        let missing = Partition::all(parts).map(|partition| Self {
            partition,
            reason: NEVER_BEGUN.to_owned(),
        });
        missing.collect()
    }
}

/// Parts that are recorded as finished.
#[derive(Default)]
struct FinishedParts {
    /// By how many parts there are, those that left anything.
    begun: BTreeMap<u32, BTreeSet<u32>>,
    /// Endings in each part's last segment.
    ends: BTreeMap<Partition, Vec<PartEnd>>,
    /// The names of all segments.
    names: HashSet<String>,
}

/// Ending in the last segment of a part.
struct PartEnd {
    /// The names of the others.
    others: Vec<String>,
    /// The projects that are excluded.
    absent: BTreeSet<String>,
}

impl FinishedParts {
    fn add(&mut self, name: String, header: &SegmentHeader) {
        let partition = header.partition;
        let begun = self.begun.entry(partition.parts()).or_default();
        begun.insert(partition.part());
        self.names.insert(name);
        // Only the last segment of a part says that it is finished, and names the others.
        let Some(others) = &header.finished else {
            return;
        };
        let absent = header.projects.iter();
        let absent = absent.filter(|(_, state)| state.status != ProjectStatus::Ready);
        self.ends.entry(partition).or_default().push(PartEnd {
            others: others.clone(),
            absent: absent.map(|(name, _)| name.clone()).collect(),
        });
    }

    /// The parts that are missing of the wanted division, by default of the one that lacks fewest;
    /// none if any is whole. `ready` are the projects that take part on some machine.
    fn missing(&self, ready: &BTreeSet<&str>, wanted: Option<u32>) -> Vec<MissingPart> {
        let divisions = self.begun.iter().map(|(parts, begun)| {
            let missing = Partition::all(*parts).filter_map(|partition| {
                let reason = self.fault(partition, begun, ready)?;
                Some(MissingPart { partition, reason })
            });
            (*parts, missing.collect::<Vec<_>>())
        });
        let mut divisions: BTreeMap<u32, Vec<MissingPart>> = divisions.collect();
        let is_whole = divisions.values().any(Vec::is_empty);
        if let Some(wanted) = wanted.filter(|_| !is_whole) {
            return divisions
                .remove(&wanted)
                .unwrap_or_else(|| MissingPart::all(wanted));
        }
        // A run may have been divided anew; parts of an abandoned division must not count as
        // missing.
        divisions
            .into_values()
            .min_by_key(Vec::len)
            .unwrap_or_default()
    }

    /// Reason for which a part counts as missing; `None` if it is whole.
    fn fault(
        &self,
        partition: Partition,
        begun: &BTreeSet<u32>,
        ready: &BTreeSet<&str>,
    ) -> Option<String> {
        let Some(ends) = self.ends.get(&partition) else {
            return Some(match begun.contains(&partition.part()) {
                true => "it is not finished".to_owned(),
                false => NEVER_BEGUN.to_owned(),
            });
        };
        let mut fault = None;
        for end in ends {
            let lost = end.others.iter().find(|name| !self.names.contains(*name));
            let absent = end.absent.iter().find(|name| ready.contains(name.as_str()));
            fault = match (lost, absent) {
                (Some(name), _) => Some(format!("its segment {name} is missing")),
                (None, Some(project)) => Some(format!(
                    "its machine left out the project `{project}`, which other machines have"
                )),
                // One whole ending suffices: an interrupted or repeated part may have others.
                (None, None) => return None,
            };
        }
        fault
    }
}

impl MergedParts {
    /// Reads the segments below folders: those that parts share (`--out`), or the parts' own. Those
    /// at the addresses of object stores are copied first.
    ///
    /// # Errors
    /// There are none, a segment is damaged, or they are of different runs.
    pub fn read(folders: &[PathBuf]) -> Result<Self, StoreError> {
        let mut paths = BTreeSet::new();
        let mut sources = BTreeSet::new();
        let local = LocalFolders::open(folders)?;
        for folder in &local.folders {
            let found = part_folders(folder)?;
            for part in &found {
                paths.extend(segments_in(part)?);
                // A part's folder is `parts/K-of-N`, so the sources are beside its parent.
                let shared = part.parent().and_then(Path::parent);
                sources.extend(shared.map(|shared| shared.join(SOURCES)));
            }
        }
        let mut merged: Option<Self> = None;
        let mut names = HashSet::new();
        for path in paths {
            // The same name is the same contents, wherever it is.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if names.insert(name.into_owned()) {
                let segment = Segment::read(&path)?;
                let header = segment.header()?;
                let merged = merged.get_or_insert_with(|| Self::empty(&header, sources.clone()));
                merged.add(&path, &segment, header)?;
            }
        }
        let merged = merged.map(|merged| Self {
            _copies: local.copies,
            ..merged
        });
        merged.ok_or_else(|| {
            let folder = folders.first().cloned();
            StoreError::NoSegments(folder.unwrap_or_default())
        })
    }

    fn empty(header: &SegmentHeader, sources: BTreeSet<PathBuf>) -> Self {
        Self {
            segments: Vec::new(),
            sources,
            identity: header.identity.clone(),
            corpus: BTreeSet::new(),
            tests: BTreeSet::new(),
            developer_settings: None,
            machines: BTreeMap::new(),
            projects: BTreeMap::new(),
            finished: FinishedParts::default(),
            holes: BTreeMap::new(),
            attempts: HashMap::new(),
            audits: BTreeMap::new(),
            typings: HashMap::new(),
            found: 0,
            _copies: Vec::new(),
        }
    }

    fn add(
        &mut self,
        path: &Path,
        segment: &Segment,
        header: SegmentHeader,
    ) -> Result<(), StoreError> {
        let united = united_identity(&self.identity, &header.identity);
        self.identity = united.map_err(|difference| {
            StoreError::Unmergeable(format!(
                "the parts are of different runs: {difference} of {} differs from {}; name the \
                 parts of one run",
                path.display(),
                self.segments[0].display(),
            ))
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.finished.add(name.into_owned(), &header);
        let number = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
        self.segments.push(path.to_owned());
        for row in segment.records() {
            let (kind, start, record) = row?;
            let place = RecordLocation {
                segment: number,
                start: start as u64,
                length: u32::try_from(record.len()).unwrap_or(u32::MAX),
                digest: digest(record),
            };
            self.add_record(segment, kind, record, place)?;
        }
        self.describe(header);
        Ok(())
    }

    fn add_record(
        &mut self,
        segment: &Segment,
        kind: SegmentRow,
        record: &str,
        place: RecordLocation,
    ) -> Result<(), StoreError> {
        match kind {
            SegmentRow::Hole => {
                #[derive(Deserialize)]
                struct Id {
                    id: String,
                }
                let Id { id } = segment.parse(record)?;
                let known = self.holes.entry(id).or_insert(place);
                *known = first_of(*known, place);
            }
            SegmentRow::Attempt => {
                let index: AttemptIndex = segment.parse(record)?;
                let outcome = index.outcome();
                self.found += 1;
                let variants = self.attempts.entry(index.key).or_insert(AttemptVariants {
                    hole: index.hole,
                    sample: index.sample,
                    repair_round: index.repair_round,
                    by_outcome: BTreeMap::new(),
                });
                let known = variants.by_outcome.entry(outcome).or_insert(place);
                *known = first_of(*known, place);
                // Another outcome replaces an infrastructure failure and is no conflict with it.
                if variants.by_outcome.len() > 1 {
                    variants.by_outcome.remove(&Outcome::Infrastructure);
                }
            }
            SegmentRow::Audit => {
                let audit: AuditRecord = segment.parse(record)?;
                let known = self.audits.entry(audit.attempt).or_insert(place);
                *known = first_of(*known, place);
            }
            SegmentRow::Typing => {
                let typing: TypingAttempt = segment.parse(record)?;
                let failed = typing.has_infrastructure_failure();
                let known = self.typings.entry(typing.key).or_insert(TypingVariant {
                    hole: typing.hole,
                    policy: typing.policy,
                    failed,
                    place,
                });
                // A typing without a failure wins; of equals, the least digest does, whatever the
                // order.
                if known.failed && !failed {
                    (known.failed, known.place) = (false, place);
                } else if known.failed == failed {
                    known.place = first_of(known.place, place);
                }
            }
        }
        Ok(())
    }

    /// Adds what a header says of the run.
    fn describe(&mut self, header: SegmentHeader) {
        self.corpus.extend(header.corpus);
        self.tests.extend(header.tests);
        // Parts may estimate other policies. Their JSON decides, as the order of parts must not.
        let known = self.developer_settings.take();
        let settings = known.into_iter().chain(header.developer_settings);
        self.developer_settings = settings.min_by_key(json);
        for machine in header.machines {
            self.machines.insert(json(&machine), machine);
        }
        for (name, state) in header.projects {
            match self.projects.get_mut(&name) {
                None => {
                    self.projects.insert(name, state);
                }
                Some(known) => {
                    // A project that is ready on any machine is ready in the run; JSON breaks ties.
                    let rank =
                        |state: &ProjectState| (state.status != ProjectStatus::Ready, json(state));
                    if rank(&state) < rank(known) {
                        *known = state;
                    }
                }
            }
        }
    }

    /// Returns the number of attempts of the merged run.
    pub fn attempts(&self) -> usize {
        self.attempts.len()
    }

    /// Returns the number of attempts in more than one segment.
    pub fn repeated(&self) -> usize {
        self.found - self.attempts.len()
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Returns the path of the corpus's manifest when the parts were made.
    pub fn corpus(&self) -> Option<&Path> {
        self.corpus.first().map(PathBuf::as_path)
    }

    /// The folder of the tests that were added when the parts were made.
    pub fn tests(&self) -> Option<&Path> {
        self.tests.first().map(PathBuf::as_path)
    }

    /// The parts to run again, if any is missing, of the division that lacks fewest.
    pub fn missing(&self) -> Vec<MissingPart> {
        self.missing_of(None)
    }

    /// As [`Self::missing`], of the wanted division if one is named.
    pub(crate) fn missing_of(&self, wanted: Option<u32>) -> Vec<MissingPart> {
        let ready = self.projects.iter();
        let ready = ready.filter(|(_, state)| state.status == ProjectStatus::Ready);
        let ready = ready.map(|(name, _)| name.as_str()).collect();
        self.finished.missing(&ready, wanted)
    }

    /// The attempts whose parts differ in their outcome, by hole.
    ///
    /// # Errors
    /// A segment can't be read any more.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        let mut conflicts = Vec::new();
        let differing = self.attempts.iter();
        for (key, variants) in differing.filter(|(_, one)| one.by_outcome.len() > 1) {
            let place = self.holes.get(&variants.hole).ok_or_else(|| {
                StoreError::Unmergeable(format!("no part has the hole {}", variants.hole))
            })?;
            let hole: Hole = self.parse(*place)?;
            conflicts.push(Conflict {
                key: key.clone(),
                contents: self.source(&hole)?,
                hole,
                attempts: variants
                    .by_outcome
                    .values()
                    .map(|place| self.parse(*place))
                    .collect::<Result<_, _>>()?,
            });
        }
        conflicts.sort_by(|a, b| (&a.hole.id, &a.key).cmp(&(&b.hole.id, &b.key)));
        Ok(conflicts)
    }

    /// Writes the run into a folder, which must not exist or must contain the same run. `settled`
    /// are the attempts that result from conflicts.
    ///
    /// # Errors
    /// A source or a segment is missing, or the folder can't be written to.
    pub fn write(
        &self,
        folder: &Path,
        settled: &[(Settlement, Attempt)],
    ) -> Result<(), StoreError> {
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(parent).map_err(StoreError::file(parent))?;
        // The database is made beside the run's folder, so that the rename can't cross file
        // systems.
        let made = tempfile::tempdir_in(parent).map_err(StoreError::file(parent))?;
        let database = made.path().join(FILE_NAME);
        self.write_database(&database, settled)?;
        let existing = folder.join(FILE_NAME);
        if existing.is_file() {
            if is_same_file(&existing, &database).map_err(StoreError::file(&existing))? {
                return Ok(());
            }
            return Err(StoreError::Unmergeable(format!(
                "{} holds another run; name a folder that does not exist",
                folder.display()
            )));
        }
        create_output_folder(folder).map_err(StoreError::file(folder))?;
        std::fs::rename(&database, &existing).map_err(StoreError::file(&existing))
    }

    fn write_database(
        &self,
        path: &Path,
        settled: &[(Settlement, Attempt)],
    ) -> Result<(), StoreError> {
        let fault = |source| StoreError::Database {
            folder: path.parent().unwrap_or(path).to_owned(),
            source,
        };
        let database = Connection::open(path).map_err(fault)?;
        // The file is visible only once it is whole.
        for setting in ["journal_mode", "synchronous"] {
            database
                .pragma_update(None, setting, "OFF")
                .map_err(fault)?;
        }
        let transaction = database.unchecked_transaction().map_err(fault)?;
        transaction.execute_batch(TABLES).map_err(fault)?;
        self.write_meta(&transaction, settled).map_err(fault)?;
        // Only sources that a hole refers to are written, so spare files don't change the result.
        let sources = self.write_holes(&transaction, &fault)?;
        for sha256 in sources {
            let contents = self.source_file(&sha256)?;
            transaction
                .execute("INSERT INTO sources VALUES (?1, ?2)", [&sha256, &contents])
                .map_err(fault)?;
        }
        self.write_attempts(&transaction, settled, &fault)?;
        self.write_audits(&transaction, &fault)?;
        self.write_typings(&transaction, &fault)?;
        transaction.commit().map_err(fault)?;
        // As every run is opened, so that opening it changes nothing.
        database
            .pragma_update(None, "journal_mode", "WAL")
            .map_err(fault)?;
        database.close().map_err(|(_, source)| fault(source))
    }

    fn write_meta(
        &self,
        database: &Connection,
        settled: &[(Settlement, Attempt)],
    ) -> rusqlite::Result<()> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let machines: Vec<&Machine> = self.machines.values().collect();
        let settlements: Vec<&Settlement> = settled.iter().map(|(one, _)| one).collect();
        let finished = self.missing().is_empty();
        let values = [
            ("schema", Some(SCHEMA.to_string())),
            ("identity", Some(self.identity.to_string())),
            ("corpus", self.corpus.first().map(text)),
            ("tests", self.tests.first().map(text)),
            (
                "developer_settings",
                self.developer_settings.as_ref().map(json),
            ),
            ("machines", Some(json(&machines))),
            (
                "conflicts",
                (!settled.is_empty()).then(|| json(&settlements)),
            ),
            ("finished", finished.then(|| "true".to_owned())),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                database.execute("INSERT INTO meta VALUES (?1, ?2)", [key, &value])?;
            }
        }
        for (name, state) in &self.projects {
            database.execute("INSERT INTO projects VALUES (?1, ?2)", [name, &json(state)])?;
        }
        Ok(())
    }

    /// Writes the holes and returns the hashes of the files they were cut into.
    fn write_holes(
        &self,
        database: &Connection,
        fault: &dyn Fn(rusqlite::Error) -> StoreError,
    ) -> Result<BTreeSet<String>, StoreError> {
        #[derive(Deserialize)]
        struct CutFile {
            file_sha256: String,
        }
        let mut insert = database
            .prepare("INSERT INTO holes VALUES (?1, ?2)")
            .map_err(fault)?;
        let mut reader = self.reader();
        let mut sources = BTreeSet::new();
        for (id, place) in &self.holes {
            let record = reader.record(*place)?;
            let CutFile { file_sha256 } =
                serde_json::from_str(&record).map_err(|error| self.strange(*place, &error))?;
            sources.insert(file_sha256);
            insert.execute([id, &record]).map_err(fault)?;
        }
        Ok(sources)
    }

    fn write_attempts(
        &self,
        database: &Connection,
        settled: &[(Settlement, Attempt)],
        fault: &dyn Fn(rusqlite::Error) -> StoreError,
    ) -> Result<(), StoreError> {
        let settled: HashMap<&str, &Attempt> = settled
            .iter()
            .map(|(_, attempt)| (attempt.key.as_str(), attempt))
            .collect();
        let mut ordered: Vec<(&String, &AttemptVariants)> = self.attempts.iter().collect();
        // The order of insertion decides the bytes of the file, which must not depend on the hash
        // map.
        ordered.sort_by_key(|(key, one)| (&one.hole, one.sample, one.repair_round, *key));
        let mut insert = database.prepare(ADD_ATTEMPT).map_err(fault)?;
        let mut reader = self.reader();
        for (key, variants) in ordered {
            let (outcome, record) = match (settled.get(key.as_str()), &variants.by_outcome) {
                (Some(attempt), _) => (attempt.verdict.outcome, json(attempt)),
                (None, outcomes) => {
                    let mut outcomes = outcomes.iter();
                    let (Some((outcome, place)), None) = (outcomes.next(), outcomes.next()) else {
                        return Err(StoreError::Unmergeable(format!(
                            "parts differ in the verdict on {}; settle it by --settle",
                            variants.hole
                        )));
                    };
                    (*outcome, reader.record(*place)?)
                }
            };
            insert
                .execute(params![
                    key,
                    variants.hole,
                    variants.sample,
                    outcome.name(),
                    record
                ])
                .map_err(fault)?;
        }
        Ok(())
    }

    fn write_audits(
        &self,
        database: &Connection,
        fault: &dyn Fn(rusqlite::Error) -> StoreError,
    ) -> Result<(), StoreError> {
        let mut insert = database.prepare(ADD_AUDIT).map_err(fault)?;
        let mut reader = self.reader();
        for (attempt, place) in &self.audits {
            insert
                .execute([attempt, &reader.record(*place)?])
                .map_err(fault)?;
        }
        Ok(())
    }

    fn write_typings(
        &self,
        database: &Connection,
        fault: &dyn Fn(rusqlite::Error) -> StoreError,
    ) -> Result<(), StoreError> {
        let mut ordered: Vec<(&String, &TypingVariant)> = self.typings.iter().collect();
        // The order of insertion decides the bytes of the file.
        ordered.sort_by_key(|(key, one)| (&one.hole, &one.policy, *key));
        let mut insert = database.prepare(ADD_TYPING).map_err(fault)?;
        let mut reader = self.reader();
        for (key, typing) in ordered {
            let record = reader.record(typing.place)?;
            insert
                .execute([key, &typing.hole, &typing.policy, &record])
                .map_err(fault)?;
        }
        Ok(())
    }

    /// The file that a hole was cut into.
    fn source(&self, hole: &Hole) -> Result<String, StoreError> {
        self.source_file(&hole.file_sha256)
    }

    fn source_file(&self, sha256: &str) -> Result<String, StoreError> {
        let paths = self.sources.iter().map(|folder| folder.join(sha256));
        let mut damaged = None;
        // A damaged copy is an error only if no other folder has a whole one.
        for path in paths.filter(|path| path.is_file()) {
            let bytes = std::fs::read(&path).map_err(StoreError::file(&path))?;
            match String::from_utf8(bytes) {
                Ok(contents) if sha256_hex(contents.as_bytes()) == sha256 => return Ok(contents),
                _ => damaged = Some(path),
            }
        }
        Err(damaged.map_or_else(
            || {
                StoreError::Unmergeable(format!(
                    "no folder of the parts has `{SOURCES}/{sha256}`, the file that a hole was cut \
                     into; name the whole folder that `--out` named"
                ))
            },
            StoreError::Damaged,
        ))
    }

    fn reader(&self) -> RecordReader<'_> {
        RecordReader {
            segments: &self.segments,
            open: None,
        }
    }

    fn parse<T: for<'a> Deserialize<'a>>(&self, place: RecordLocation) -> Result<T, StoreError> {
        let record = self.reader().record(place)?;
        serde_json::from_str(&record).map_err(|error| self.strange(place, &error))
    }

    fn strange(&self, place: RecordLocation, error: &serde_json::Error) -> StoreError {
        StoreError::Segment {
            path: self.segments[place.segment as usize].clone(),
            reason: error.to_string(),
        }
    }
}

/// Reads records again, those of one segment after each other.
struct RecordReader<'a> {
    segments: &'a [PathBuf],
    open: Option<(u32, File)>,
}

impl RecordReader<'_> {
    fn record(&mut self, place: RecordLocation) -> Result<String, StoreError> {
        let path = &self.segments[place.segment as usize];
        let file = match self.open.take() {
            Some((segment, file)) if segment == place.segment => file,
            _ => File::open(path).map_err(StoreError::file(path))?,
        };
        let mut bytes = vec![0; place.length as usize];
        file.read_exact_at(&mut bytes, place.start)
            .map_err(StoreError::file(path))?;
        self.open = Some((place.segment, file));
        // The segment was whole when it was read first.
        String::from_utf8(bytes)
            .ok()
            .filter(|record| digest(record) == place.digest)
            .ok_or_else(|| StoreError::Damaged(path.clone()))
    }
}

/// The folders with segments of a run: the folder itself, or those of the parts in it.
fn part_folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    if !folder.is_dir() {
        return Err(StoreError::Unmergeable(format!(
            "{} is no folder; name the `--out` of `fillrate replay --partition k/n`",
            folder.display()
        )));
    }
    let inner = folder.join(PARTS);
    // Without `parts/`, the folder is that of a single part.
    if !inner.is_dir() {
        return Ok(match segments_in(folder)?.is_empty() {
            true => Vec::new(),
            false => vec![std::path::absolute(folder).map_err(StoreError::file(folder))?],
        });
    }
    // Absolute, so that the same folder given in two ways is read once.
    let inner = std::path::absolute(&inner).map_err(StoreError::file(&inner))?;
    let entries = std::fs::read_dir(&inner).map_err(StoreError::file(&inner))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::file(&inner))?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The same of two records, whichever is found first.
fn first_of(a: RecordLocation, b: RecordLocation) -> RecordLocation {
    if b.digest < a.digest { b } else { a }
}

fn digest(record: &str) -> u64 {
    u64::from_str_radix(&sha256_hex(record.as_bytes())[..16], 16).unwrap_or_default()
}

/// Returns plain data as JSON, which can't fail.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn is_same_file(a: &Path, b: &Path) -> std::io::Result<bool> {
    use std::io::Read;
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut files = [a, b].map(|path| File::open(path).map(std::io::BufReader::new));
    let [Ok(a), Ok(b)] = &mut files else {
        return Ok(false);
    };
    let (mut of_a, mut of_b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = a.read(&mut of_a)?;
        b.read_exact(&mut of_b[..read])?;
        if of_a[..read] != of_b[..read] {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests;
