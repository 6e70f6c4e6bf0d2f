//! The run database: what a run is of, and one row for each attempt under its key.
//!
//! A run is a folder with one SQLite file, `run.db`. Its tables:
//!
//! | table | holds |
//! | --- | --- |
//! | `meta` | `schema`; `identity`: what the run is of, as JSON; `corpus`, where its manifest was; `machines`: what it was made on, as JSON ([`Machine`]); `finished`, once it is |
//! | `projects` | by name, the state of each project, as JSON ([`ProjectState`]) |
//! | `sources` | by SHA-256, the contents of the files that holes were cut into |
//! | `holes` | by id, the hole records, as JSON ([`Hole`]) |
//! | `attempts` | by key, the completions and their verdict ([`Attempt`]) |
//! | `audits` | by the attempt's key, the result of judging it again, as JSON ([`AuditRecord`]) |
//! | `typings` | by key, the session of typing a hole under a policy, as JSON ([`TypingAttempt`]); with columns `hole` and `policy` |
//!
//! `meta` may have `developer_settings`, too: the policies of a run and how its developer types
//! ([`DeveloperSettings`]), and `time_spent`: where the time of its workers went ([`TimeSpent`]),
//! and `slow_paths`: by project, shortcuts to verdicts that failed.
//!
//! Attempts are only added, except that infrastructure failures are repeated. Each is committed
//! with its whole contents, so that a run killed at any moment has every attempt either whole or
//! not at all.
//!
//! A part of a run, made by one of several machines, is a folder of immutable [segments](segment)
//! instead, or such a prefix of an object store; [`MergedParts`] makes one run of them. `meta` of
//! such a run has `conflicts`, the [verdicts](Settlement) in which parts differed.

mod location;
mod machine;
mod merge;
#[cfg(not(feature = "object-store"))]
mod no_objects;
#[cfg(feature = "object-store")]
mod objects;
mod part;
mod partition;
pub mod segment;
mod time_spent;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fillrate_language::task::{Hole, TaskError};
use fillrate_mine::Rejection;
use fillrate_server::completion::Trace;
use fillrate_verdict::corpus::detect::recorded_location;
use fillrate_verdict::{Outcome, Proof, Verdict};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::{Deserialize, Serialize};

use crate::developer::policy::Policy;
use crate::developer::typing::{TypingSession, TypistSettings};
pub use location::is_object_address;
pub use machine::Machine;
pub use merge::{Conflict, MergedParts, MissingPart, Settlement};
use part::PartFolder;
pub use partition::{PARTITIONS_VARIABLE, Partition};
use segment::{SEGMENT_SCHEMA, SegmentRow};
pub use time_spent::TimeSpent;

/// The version of the format.
pub const SCHEMA: u32 = 2;

/// The file in a run's folder.
pub const FILE_NAME: &str = "run.db";

/// The context that a run's [identity](Run::identity) names: a paper's, or the server's profile.
pub fn context_name(identity: &serde_json::Value) -> Option<&str> {
    let profile = &identity["configuration"]["context"]["profile"];
    identity["context"].as_str().or_else(|| profile.as_str())
}

/// The state of files that a run's [identity](Run::identity) names: `finished`, or a view of files
/// as they were when a hole's code was written.
pub fn view_name(identity: &serde_json::Value) -> &str {
    identity["view"].as_str().unwrap_or("finished")
}

/// Number of attempts of a finished run by its [identity](Run::identity) and its number of holes,
/// if it is known in advance.
pub fn expected_attempts(identity: &serde_json::Value, holes: usize) -> Option<usize> {
    let samples = identity["samples"].as_u64()?;
    let rounds = identity["repair_rounds"].as_u64().unwrap_or(0);
    let samples = usize::try_from(samples).ok()?;
    // The number of repair rounds depends on the outcomes, so it is unknown in advance.
    (rounds == 0).then_some(holes * samples)
}

/// The context that a run's [identity](Run::identity) names and, unless it is the finished file,
/// the view.
pub fn context_title(identity: &serde_json::Value) -> Option<String> {
    let context = context_name(identity)?;
    Some(match view_name(identity) {
        "finished" => context.to_owned(),
        view => format!("{context}-{view}"),
    })
}

/// A run that is open for reading and adding.
pub struct Run {
    folder: PathBuf,
    database: Connection,
    /// Folder of the run's segments, if it is a part of one.
    part: Option<RefCell<PartFolder>>,
    /// The weakest proof with which a pass counts; `None` counts all.
    proof: Option<Proof>,
}

/// The tables of a run.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS projects (name TEXT PRIMARY KEY, record TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS sources (sha256 TEXT PRIMARY KEY, contents TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS holes (id TEXT PRIMARY KEY, record TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS attempts (
        key TEXT PRIMARY KEY,
        hole TEXT NOT NULL,
        sample INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        record TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS audits (key TEXT PRIMARY KEY, record TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS typings (
        key TEXT PRIMARY KEY,
        hole TEXT NOT NULL,
        policy TEXT NOT NULL,
        record TEXT NOT NULL
    );";

/// Adds an attempt, in place of an infrastructure failure only.
const ADD_ATTEMPT: &str = "
    INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (key) DO UPDATE SET outcome = excluded.outcome, record = excluded.record
    WHERE attempts.outcome = 'infrastructure'";

/// Adds an audit, in place of an earlier one.
const ADD_AUDIT: &str = "INSERT OR REPLACE INTO audits VALUES (?1, ?2)";

/// Adds a typing, in place of an earlier one.
const ADD_TYPING: &str = "INSERT OR REPLACE INTO typings VALUES (?1, ?2, ?3, ?4)";

/// One completion that was requested and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Hash of all that the attempt depends on.
    pub key: String,
    /// The hole's id.
    pub hole: String,
    /// The project's name.
    pub project: String,
    /// The model's name.
    pub model: String,
    /// Index of the sample for this hole, from 0.
    pub sample: u32,
    /// The number of the repair round; 0 is the first answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repair_round: u32,
    /// The candidates the server returned, best first.
    pub offered: Vec<String>,
    /// Text after the hole in the finished file that the first candidate writes as well, because
    /// the view of the file lacks it: see
    /// [`CodeView::overlap`](fillrate_mine::written::CodeView::overlap).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlap: String,
    /// True if the server answered in time.
    pub answered: bool,
    /// Milliseconds from request to answer.
    pub latency_ms: f64,
    /// Trace of the completion.
    pub trace: Option<Trace>,
    /// Verdict on the first candidate, or on an empty splice if there is none.
    pub verdict: Verdict,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Attempt {
    /// True if a repair round can follow: the verdict is evidence, and no pass.
    pub fn is_repairable(&self) -> bool {
        self.verdict.outcome.is_evidence() && self.verdict.outcome != Outcome::Passed
    }

    /// Returns the text that was spliced in: the first candidate, or nothing.
    pub fn completion(&self) -> &str {
        self.offered.first().map(String::as_str).unwrap_or_default()
    }

    /// The hole's file as it was judged.
    ///
    /// # Errors
    /// The file is not the one the hole was cut into.
    pub fn filled(&self, hole: &Hole, contents: &str) -> Result<String, TaskError> {
        hole.filled_over(contents, self.completion(), &self.overlap)
    }
}

/// A hole that was typed under a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypingAttempt {
    /// Hash of all that it depends on.
    pub key: String,
    /// The hole's id.
    pub hole: String,
    /// The project's name.
    pub project: String,
    /// The model's name.
    pub model: String,
    /// Fingerprint of the settings that determine the completions, as [`Trace`] has it; empty if
    /// nothing was requested.
    #[serde(default)]
    pub configuration: String,
    /// The policy's name: see [`Policy::name`].
    pub policy: String,
    /// The policy's version.
    pub policy_version: u32,
    /// The requests, with the completions offered, shown and accepted, and the keys pressed.
    pub session: TypingSession,
}

impl TypingAttempt {
    /// True if figures count it: no verdict is an infrastructure failure or depends on flaky tests.
    pub fn is_counted(&self) -> bool {
        let mut outcomes = self.session.requests.iter().filter_map(|one| one.outcome);
        outcomes.all(Outcome::is_counted)
    }

    /// True if a verdict is an infrastructure failure, so that the typing is repeated.
    pub fn has_infrastructure_failure(&self) -> bool {
        let mut outcomes = self.session.requests.iter().map(|request| request.outcome);
        outcomes.any(|outcome| outcome == Some(Outcome::Infrastructure))
    }
}

/// Settings by which a run's developer types and accepts completions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeveloperSettings {
    /// The policies by which completions are accepted.
    pub policies: Vec<Policy>,
    /// Typing settings.
    pub typing: TypistSettings,
}

/// A verdict that was reached again, by [`Engine::Naive`](fillrate_verdict::Engine::Naive).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The attempt's key.
    pub attempt: String,
    /// The hole's id.
    pub hole: String,
    /// The outcome in the run.
    pub outcome: Outcome,
    /// The outcome of judging it again.
    pub rejudged: Outcome,
    /// Reason of the second verdict, in a sentence.
    pub reason: String,
}

impl AuditRecord {
    /// True if the two outcomes differ.
    pub fn differs(&self) -> bool {
        self.outcome != self.rejudged
    }
}

/// The state of a project in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectState {
    /// The language's name.
    pub language: String,
    /// Status of the project.
    pub status: ProjectStatus,
    /// Reason, if it was left out or failed.
    pub reason: Option<String>,
    /// Counts of its own tests and of mining, if they ran.
    pub mined: Option<MiningCounts>,
}

/// Status of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectStatus {
    /// It does.
    Ready,
    /// This machine lacks what its language needs.
    LeftOut,
    /// Its source, its environment or its own tests are at fault.
    Failed,
}

/// Figures of a project's baseline and mining.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MiningCounts {
    /// Tests with the same outcome in all runs.
    pub tests: usize,
    /// Tests with different outcomes, which are excluded.
    pub quarantined: usize,
    /// Tests that always fail and files that can't be collected, which are excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// Stretches of code that could be a hole.
    pub candidates: usize,
    /// Holes that were admitted.
    pub admitted: usize,
    /// Candidates that were tried and not admitted, by reason.
    pub rejected: BTreeMap<Rejection, usize>,
}

/// Reason for which a run can't be read or added to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder contains no run.
    #[error("{0} holds no run; a run is a folder with a file `{FILE_NAME}`")]
    NoRun(PathBuf),
    /// The folder, or a file in it, can't be read or written.
    #[error("{folder}: {source}")]
    Folder {
        /// The folder or the file.
        folder: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The database refuses.
    #[error("{folder}/{FILE_NAME}: {source}{}", advice(source))]
    Database {
        /// The run's folder.
        folder: PathBuf,
        /// Error of the database.
        source: rusqlite::Error,
    },
    /// A value in the database is not of the form this program writes.
    #[error("{folder}/{FILE_NAME}: {reason}")]
    Content {
        /// The run's folder.
        folder: PathBuf,
        /// Reason, for people.
        reason: String,
    },
    /// The folder holds another run.
    #[error(
        "{folder} holds a run of something else ({difference} differs); name another folder with \
         --out, or start the command it was started with"
    )]
    OtherRun {
        /// The run's folder.
        folder: PathBuf,
        /// The first part of the identity that differs.
        difference: String,
    },
    /// A segment or a source of a part is not what its name says.
    #[error(
        "{0} is damaged: its contents are not those that its name is the SHA-256 of; remove it, \
         and run its part again"
    )]
    Damaged(PathBuf),
    /// A segment is not of the form that this program writes.
    #[error(
        "{path}: {reason}; it was written by another version of this program; merge it by that version, or remove it and run its part again"
    )]
    Segment {
        /// The segment.
        path: PathBuf,
        /// Reason, for people.
        reason: String,
    },
    /// The program is built without object stores.
    #[error(
        "{0} is an object store, which this program is built without; build it with `--features \
         object-store`, or name a folder"
    )]
    NoObjectStores(String),
    /// The address is of no object store that can be used.
    #[error(
        "{address} is no object store that can be used ({reason}); name s3://BUCKET/PREFIX or \
         file:///FOLDER"
    )]
    Address {
        /// The address.
        address: String,
        /// Reason, for people.
        reason: String,
    },
    /// An object store refuses, or does not answer.
    #[error("{place}: {source}; check the bucket, the credentials and the network")]
    Object {
        /// The object, or the prefix that is listed.
        place: PathBuf,
        /// Error of the store.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Parts can't be made one run.
    #[error("{0}")]
    Unmergeable(String),
    /// A folder has no segments of parts.
    #[error(
        "{0} has no segments of parts; `fillrate replay --partition k/n --out FOLDER` writes some"
    )]
    NoSegments(PathBuf),
}

impl StoreError {
    /// Names the file or folder that an I/O error is about.
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let folder = path.to_owned();
        move |source| Self::Folder { folder, source }
    }
}

/// Returns advice on a refusal by the database.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => {
            "; make room and start the same command again, finished attempts are kept"
        }
        Some(rusqlite::ErrorCode::DatabaseBusy) => "; another process is writing to this run",
        _ => "",
    }
}

/// Creates a folder for output, such as a run, with a `.gitignore` that leaves out everything in
/// it. Otherwise a repository around it would change with every run, and the next one would find
/// the references that this one stores among the repository's files. A folder that holds anything
/// is unchanged.
///
/// # Errors
/// The folder can't be created or written to.
pub fn create_output_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    match std::fs::read_dir(folder)?.next() {
        Some(_) => Ok(()),
        None => std::fs::write(folder.join(".gitignore"), "*\n"),
    }
}

impl Run {
    /// Opens the run in a folder, or begins one there. `identity` says what the run is of.
    ///
    /// # Errors
    /// The folder holds a run of something else, or can't be written to.
    pub fn open_or_begin(folder: &Path, identity: &serde_json::Value) -> Result<Self, StoreError> {
        create_output_folder(folder).map_err(|source| StoreError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
        let run = Self::connect(folder)?;
        let fault = |source| run.fault(source);
        run.database.execute_batch(TABLES).map_err(fault)?;
        let identity_text = identity.to_string();
        run.database
            // An existing identity is kept, so that the comparison below finds a run of something
            // else.
            .execute(
                "INSERT OR IGNORE INTO meta VALUES ('schema', ?1), ('identity', ?2)",
                params![SCHEMA.to_string(), identity_text],
            )
            .map_err(fault)?;
        run.unite_identity(folder, identity)?;
        Ok(run)
    }

    /// Completes the run's identity by another one of the same run; see [`united_identity`].
    ///
    /// # Errors
    /// It is of another run than `folder`.
    fn unite_identity(
        &self,
        folder: &Path,
        identity: &serde_json::Value,
    ) -> Result<(), StoreError> {
        let known = self.identity()?;
        let united =
            united_identity(&known, identity).map_err(|difference| StoreError::OtherRun {
                folder: folder.to_owned(),
                difference,
            })?;
        if united == known {
            return Ok(());
        }
        self.execute(
            "UPDATE meta SET value = ?1 WHERE key = 'identity'",
            [united.to_string()],
        )
    }

    /// Opens a run that is there.
    ///
    /// # Errors
    /// There is none, or this program can't read it.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        if !folder.join(FILE_NAME).is_file() {
            return Err(StoreError::NoRun(folder.to_owned()));
        }
        let run = Self::connect(folder)?;
        run.identity()?;
        Ok(run)
    }

    fn connect(folder: &Path) -> Result<Self, StoreError> {
        let fault = |source| StoreError::Database {
            folder: folder.to_owned(),
            source,
        };
        let database = Connection::open(folder.join(FILE_NAME)).map_err(fault)?;
        // A write-ahead log: readers see whole commits while a run goes on. No commit waits for the
        // disk: a killed process loses none, and what a power failure takes, the next run makes
        // anew.
        for (setting, value) in [("journal_mode", "WAL"), ("synchronous", "NORMAL")] {
            database
                .pragma_update(None, setting, value)
                .map_err(fault)?;
        }
        database
            .busy_timeout(Duration::from_secs(10))
            .map_err(fault)?;
        Ok(Self {
            folder: folder.to_owned(),
            database,
            part: None,
            proof: None,
        })
    }

    /// The same run, read so that only passes with this proof or a stronger one count: others are
    /// [`Outcome::Unproven`]. A pass that was recorded without a proof counts for none.
    #[must_use]
    pub fn with_proof(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof;
        self
    }

    fn with_required_proof(&self, mut attempt: Attempt) -> Attempt {
        let verdict = &mut attempt.verdict;
        // Proofs are ordered from the strongest, so a greater one is weaker.
        let is_weak = |weakest: Proof| verdict.proof.is_none_or(|proof| proof > weakest);
        if verdict.outcome == Outcome::Passed && self.proof.is_some_and(is_weak) {
            verdict.outcome = Outcome::Unproven;
        }
        attempt
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the identity of the run: everything that its figures depend on.
    ///
    /// # Errors
    /// It was written by another version of this program.
    pub fn identity(&self) -> Result<serde_json::Value, StoreError> {
        let schema = self.meta("schema")?;
        if schema != SCHEMA.to_string() {
            return Err(self.strange(format!(
                "the run has schema {schema}, and this program reads {SCHEMA}; name another folder \
                 with --out to replay anew, or read it by the version of Fillrate that wrote it"
            )));
        }
        self.parse(&self.meta("identity")?)
    }

    /// True if a model answered: recorded completions, which are those of a predictions file or the
    /// references, have no latency of their own.
    ///
    /// # Errors
    /// As [`Run::identity`].
    pub fn has_latency(&self) -> Result<bool, StoreError> {
        let identity = self.identity()?;
        let protocol = identity.pointer("/configuration/model/protocol");
        Ok(protocol.is_none_or(|protocol| protocol != "recorded"))
    }

    /// True if every attempt has been made.
    ///
    /// # Errors
    /// The database refuses.
    pub fn is_finished(&self) -> Result<bool, StoreError> {
        Ok(self.optional_meta("finished")?.is_some())
    }

    /// Records that every attempt has been made.
    ///
    /// # Errors
    /// The database refuses.
    pub fn set_finished(&self) -> Result<(), StoreError> {
        self.set_meta("finished", "true")?;
        self.write_segment()
    }

    fn meta(&self, key: &str) -> Result<String, StoreError> {
        self.optional_meta(key)?
            .ok_or_else(|| self.strange(format!("`{key}` is missing")))
    }

    /// A value of `meta` that not every run has.
    fn optional_meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let found = self.row("SELECT value FROM meta WHERE key = ?1", [key])?;
        Ok(found.map(|(value,)| value))
    }

    /// As [`Run::optional_meta`], of a value that is JSON.
    fn parsed_meta<T: for<'a> Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let recorded = self.optional_meta(key)?;
        recorded.map(|text| self.parse(&text)).transpose()
    }

    fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value])
    }

    /// Records where the corpus's manifest is.
    ///
    /// # Errors
    /// The database refuses.
    pub fn set_corpus(&self, manifest: &Path) -> Result<(), StoreError> {
        let path = recorded_location(manifest);
        self.set_meta("corpus", &path.to_string_lossy())
    }

    /// Returns the path of the corpus's manifest when the run was made.
    ///
    /// # Errors
    /// The database refuses.
    pub fn corpus(&self) -> Result<Option<PathBuf>, StoreError> {
        Ok(self.optional_meta("corpus")?.map(PathBuf::from))
    }

    /// Records where the tests are that were added to the corpus's projects.
    ///
    /// # Errors
    /// The database refuses.
    pub fn set_tests(&self, folder: &Path) -> Result<(), StoreError> {
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        self.set_meta("tests", &path.to_string_lossy())
    }

    /// The folder of the tests that were added when the run was made; `None` if there were none.
    ///
    /// # Errors
    /// The database refuses.
    pub fn tests(&self) -> Result<Option<PathBuf>, StoreError> {
        Ok(self.optional_meta("tests")?.map(PathBuf::from))
    }

    /// Records that the run is made on a machine, once for each machine.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_machine(&self, machine: &Machine) -> Result<(), StoreError> {
        let mut machines = self.machines()?;
        if machines.contains(machine) {
            return Ok(());
        }
        machines.push(machine.clone());
        self.set_meta("machines", &self.encode(&machines)?)
    }

    /// The machines the run was made on, the first first. A run of an older program has none.
    ///
    /// # Errors
    /// The database refuses.
    pub fn machines(&self) -> Result<Vec<Machine>, StoreError> {
        Ok(self.parsed_meta("machines")?.unwrap_or_default())
    }

    /// Adds to where the time of the run went.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_time_spent(&self, more: &TimeSpent) -> Result<(), StoreError> {
        let mut spent = self.time_spent()?.unwrap_or_default();
        spent.add(more);
        self.set_meta("time_spent", &self.encode(&spent)?)
    }

    /// Returns the time spent by the run's workers, if it is recorded: runs of older programs and
    /// merged ones don't.
    ///
    /// # Errors
    /// The database refuses.
    pub fn time_spent(&self) -> Result<Option<TimeSpent>, StoreError> {
        self.parsed_meta("time_spent")
    }

    /// Adds to a project's shortcuts that failed, a sentence each; those that are recorded stay.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_slow_paths(&self, project: &str, more: &[String]) -> Result<(), StoreError> {
        let mut all = self.slow_paths()?;
        let own = all.entry(project.to_owned()).or_default();
        own.extend(more.iter().cloned());
        self.set_meta("slow_paths", &self.encode(&all)?)
    }

    /// The shortcuts to verdicts that failed, by project; none of merged runs.
    ///
    /// # Errors
    /// The database refuses.
    pub fn slow_paths(&self) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        Ok(self.parsed_meta("slow_paths")?.unwrap_or_default())
    }

    /// Records an audit, in place of an earlier one of the same attempt.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_audit(&self, audit: &AuditRecord) -> Result<(), StoreError> {
        let record = self.encode(audit)?;
        self.execute(ADD_AUDIT, [&audit.attempt, &record])?;
        self.add_row(SegmentRow::Audit, &record)
    }

    /// The audits, by attempt. A run of an older program has none.
    ///
    /// # Errors
    /// The database refuses.
    pub fn audits(&self) -> Result<BTreeMap<String, AuditRecord>, StoreError> {
        if !self.has_table("audits")? {
            return Ok(BTreeMap::new());
        }
        self.records("SELECT key, record FROM audits ORDER BY key")
    }

    /// True if the run has a table: one of an older program may lack some.
    fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        let found: Option<(u32,)> =
            self.row("SELECT 1 FROM sqlite_master WHERE name = ?1", [name])?;
        Ok(found.is_some())
    }

    /// Records how the run's developer types and accepts.
    ///
    /// # Errors
    /// The database refuses.
    pub fn set_developer_settings(&self, settings: &DeveloperSettings) -> Result<(), StoreError> {
        self.set_meta("developer_settings", &self.encode(settings)?)
    }

    /// Returns the settings of the run's developer, if they are recorded.
    ///
    /// # Errors
    /// The database refuses.
    pub fn developer_settings(&self) -> Result<Option<DeveloperSettings>, StoreError> {
        self.parsed_meta("developer_settings")
    }

    /// Adds a typing, in place of an earlier one with an infrastructure failure.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_typing(&self, typing: &TypingAttempt) -> Result<(), StoreError> {
        let record = self.encode(typing)?;
        let values = [&typing.key, &typing.hole, &typing.policy, &record];
        self.execute(ADD_TYPING, values)?;
        self.add_row(SegmentRow::Typing, &record)
    }

    /// Returns the number of typings, and a number that grows with each that is added: cheap to
    /// read often during a run.
    ///
    /// # Errors
    /// The database refuses.
    pub fn typings_state(&self) -> Result<(i64, i64), StoreError> {
        if !self.has_table("typings")? {
            return Ok((0, 0));
        }
        let query = "SELECT count(*), coalesce(max(rowid), 0) FROM typings";
        Ok(self.row(query, [])?.unwrap_or_default())
    }

    /// Every typing, in the order of holes and policies. A run without typing has none.
    ///
    /// # Errors
    /// The database refuses.
    pub fn typings(&self) -> Result<Vec<TypingAttempt>, StoreError> {
        if !self.has_table("typings")? {
            return Ok(Vec::new());
        }
        let query = "SELECT record FROM typings ORDER BY hole, policy, key";
        self.rows(query, |(record,): (String,)| self.parse(&record))
    }

    /// Records the state of a project, in place of an earlier one.
    ///
    /// # Errors
    /// The database refuses.
    pub fn set_project(&self, name: &str, state: &ProjectState) -> Result<(), StoreError> {
        let is_ready = |state: &ProjectState| state.status == ProjectStatus::Ready;
        // A resumed run keeps the attempts of a project that is absent now, so it stays ready.
        if !is_ready(state) && self.projects()?.get(name).is_some_and(is_ready) {
            return Ok(());
        }
        let record = self.encode(state)?;
        self.execute(
            "INSERT OR REPLACE INTO projects VALUES (?1, ?2)",
            [name, &record],
        )
    }

    /// The state of each project.
    ///
    /// # Errors
    /// The database refuses.
    pub fn projects(&self) -> Result<BTreeMap<String, ProjectState>, StoreError> {
        self.records("SELECT name, record FROM projects ORDER BY name")
    }

    /// Adds the holes of a project, each with its file.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_holes<'a>(
        &self,
        holes: impl IntoIterator<Item = (&'a Hole, &'a str)>,
    ) -> Result<(), StoreError> {
        let fault = |source| self.fault(source);
        // One transaction for all holes: a commit for each would cost most of the time.
        let transaction = self.database.unchecked_transaction().map_err(fault)?;
        let mut is_larger = false;
        for (hole, contents) in holes {
            transaction
                .execute(
                    "INSERT OR IGNORE INTO sources VALUES (?1, ?2)",
                    [&hole.file_sha256, contents],
                )
                .map_err(fault)?;
            let record = self.encode(hole)?;
            let added = transaction
                .execute(
                    "INSERT OR IGNORE INTO holes VALUES (?1, ?2)",
                    [&hole.id, &record],
                )
                .map_err(fault)?;
            is_larger |= added > 0;
            // The same hole with other mutants or another date: figures use what is known last.
            if added == 0 && self.part.is_none() {
                transaction
                    .execute(
                        "UPDATE holes SET record = ?2 WHERE id = ?1 AND record <> ?2 \
                         AND json_extract(record, '$.file_sha256') = ?3",
                        [&hole.id, &record, &hole.file_sha256],
                    )
                    .map_err(fault)?;
            }
            if let Some(part) = &self.part {
                let mut part = part.borrow_mut();
                // Known holes too: their source may have been removed because it is damaged.
                part.write_source(&hole.file_sha256, contents)?;
                // A hole that a segment has already must not be in a second one.
                if added > 0 {
                    part.add(SegmentRow::Hole, &record);
                }
            }
        }
        if is_larger {
            // The attempts at these holes are missing.
            transaction
                .execute("DELETE FROM meta WHERE key = 'finished'", [])
                .map_err(fault)?;
        }
        transaction.commit().map_err(fault)
    }

    /// Every hole, by id.
    ///
    /// # Errors
    /// The database refuses.
    pub fn holes(&self) -> Result<BTreeMap<String, Hole>, StoreError> {
        self.records("SELECT id, record FROM holes ORDER BY id")
    }

    /// The file a hole was cut into.
    ///
    /// # Errors
    /// The database refuses, or has no such file.
    pub fn source(&self, hole: &Hole) -> Result<String, StoreError> {
        let query = "SELECT contents FROM sources WHERE sha256 = ?1";
        let found = self.row(query, [&hole.file_sha256])?;
        found
            .map(|(contents,)| contents)
            .ok_or_else(|| self.strange(format!("the file of {} is missing", hole.id)))
    }

    /// Adds an attempt. One with the same key stays as it is, unless it is an infrastructure
    /// failure.
    ///
    /// # Errors
    /// The database refuses.
    pub fn add_attempt(&self, attempt: &Attempt) -> Result<(), StoreError> {
        let record = self.encode(attempt)?;
        self.execute(
            ADD_ATTEMPT,
            params![
                attempt.key,
                attempt.hole,
                attempt.sample,
                attempt.verdict.outcome.name(),
                record
            ],
        )?;
        self.add_row(SegmentRow::Attempt, &record)
    }

    /// Every attempt, in the order of holes and samples.
    ///
    /// # Errors
    /// The database refuses.
    pub fn attempts(&self) -> Result<Vec<Attempt>, StoreError> {
        let query = "SELECT record FROM attempts ORDER BY hole, sample, key";
        let mut attempts: Vec<Attempt> = self.rows(query, |(record,): (String,)| {
            Ok(self.with_required_proof(self.parse(&record)?))
        })?;
        // Rounds are no column of their own, so that older runs can be read.
        attempts.sort_by(|a, b| {
            let key = |one: &Attempt| (one.hole.clone(), one.sample, one.repair_round);
            key(a).cmp(&key(b))
        });
        Ok(attempts)
    }

    /// The key and the outcome's name of every attempt, in the order of holes and samples: what
    /// can be read often while a run goes on.
    ///
    /// # Errors
    /// The database refuses.
    pub fn outcomes(&self) -> Result<Vec<(String, String)>, StoreError> {
        let query = "SELECT key, outcome FROM attempts ORDER BY hole, sample, key";
        self.rows(query, Ok)
    }

    /// One attempt, by its key.
    ///
    /// # Errors
    /// The database refuses, or has no such attempt.
    pub fn attempt(&self, key: &str) -> Result<Attempt, StoreError> {
        let found: Option<(String,)> =
            self.row("SELECT record FROM attempts WHERE key = ?1", [key])?;
        let (record,) = found.ok_or_else(|| self.strange(format!("attempt {key} is missing")))?;
        Ok(self.with_required_proof(self.parse(&record)?))
    }

    /// The conflicts between the parts that the run was merged of, by attempt.
    ///
    /// # Errors
    /// The database refuses.
    pub fn settlements(&self) -> Result<Vec<Settlement>, StoreError> {
        Ok(self.parsed_meta("conflicts")?.unwrap_or_default())
    }

    /// Returns the records of a query for keys and records, by key.
    fn records<T: for<'a> Deserialize<'a>>(
        &self,
        query: &str,
    ) -> Result<BTreeMap<String, T>, StoreError> {
        self.rows(query, |(key, record): (String, String)| {
            Ok((key, self.parse(&record)?))
        })
    }

    /// Returns what `read` makes of each row of a query.
    fn rows<R, T, C>(
        &self,
        query: &str,
        read: impl Fn(R) -> Result<T, StoreError>,
    ) -> Result<C, StoreError>
    where
        R: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
        C: FromIterator<T>,
    {
        let fault = |source| self.fault(source);
        let mut statement = self.database.prepare(query).map_err(fault)?;
        let rows = statement.query_map([], |row| R::try_from(row));
        let rows = rows.map_err(fault)?;
        rows.map(|row| read(row.map_err(fault)?)).collect()
    }

    /// Returns the first row of a query, if there is one.
    fn row<R>(&self, query: &str, values: impl Params) -> Result<Option<R>, StoreError>
    where
        R: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
    {
        self.database
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement
                    .query_row(values, |row| R::try_from(row))
                    .optional()
            })
            .map_err(|source| self.fault(source))
    }

    fn execute(&self, query: &str, values: impl Params) -> Result<(), StoreError> {
        self.database
            .prepare_cached(query)
            .and_then(|mut statement| statement.execute(values))
            .map(|_| ())
            .map_err(|source| self.fault(source))
    }

    fn encode(&self, value: &impl Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| self.strange(error.to_string()))
    }

    fn parse<T: for<'a> Deserialize<'a>>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.strange(error.to_string()))
    }

    fn fault(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database {
            folder: self.folder.clone(),
            source,
        }
    }

    fn strange(&self, reason: String) -> StoreError {
        StoreError::Content {
            folder: self.folder.clone(),
            reason,
        }
    }
}

/// Returns the identity of a run of which two starts or two parts have these. In `projects`, the
/// state of a project that could not be prepared is `null`: the other identity may have any. It may
/// also lack the project, as runs did before they noted such projects.
///
/// # Errors
/// They are of different runs; the error names the first key in which they differ.
fn united_identity(
    a: &serde_json::Value,
    b: &serde_json::Value,
) -> Result<serde_json::Value, String> {
    let completed = |identity: &serde_json::Value, by: &serde_json::Value| {
        let mut identity = identity.clone();
        let projects = identity
            .get_mut("projects")
            .and_then(|it| it.as_object_mut());
        let others = by["projects"].as_object();
        if let (Some(projects), Some(others)) = (projects, others) {
            for (name, known) in others {
                match projects.get_mut(name) {
                    Some(state) if state.is_null() => state.clone_from(known),
                    None if known.is_null() => {
                        projects.insert(name.clone(), serde_json::Value::Null);
                    }
                    _ => {}
                }
            }
        }
        identity
    };
    let (united, other) = (completed(a, b), completed(b, a));
    match united == other {
        true => Ok(united),
        false => Err(first_difference(&united, &other)),
    }
}

/// Returns the first key in which two objects differ.
fn first_difference(a: &serde_json::Value, b: &serde_json::Value) -> String {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return "everything".to_owned();
    };
    a.keys()
        .chain(b.keys())
        .find(|key| a.get(*key) != b.get(*key))
        .map_or_else(|| "something".to_owned(), |key| format!("`{key}`"))
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;
    use fillrate_verdict::Outcome;
    use serde_json::json;

    use super::*;

    // A run within a repository stores references, which the next one would take for the
    // repository's own files.
    #[test]
    fn a_new_run_is_left_out_of_the_repository_around_it() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let (run, own) = (folder.path().join("a/run"), folder.path().join("own"));
        Run::open_or_begin(&run, &json!({})).expect("it is absent");
        let ignored = |folder: &Path| std::fs::read_to_string(folder.join(".gitignore"));
        assert_eq!(ignored(&run).expect("it is written"), "*\n");
        // A folder with other files, such as a repository, is not hidden.
        std::fs::create_dir(&own).expect("the folder is there");
        std::fs::write(own.join("a.py"), "").expect("there is room");
        Run::open_or_begin(&own, &json!({})).expect("it has no run");
        assert!(ignored(&own).is_err());
        std::fs::remove_file(run.join(".gitignore")).expect("it is there");
        Run::open_or_begin(&run, &json!({})).expect("it is the same run");
        assert!(ignored(&run).is_err());
    }

    // `mutate` adds to the holes of a run that is there; the same hole of another file does not.
    #[test]
    fn holes_are_known_as_they_were_given_last() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("it is empty");
        let (file, other) = ("a = 1 + 2\n", "b = 1 + 2\n");
        let hole = |text| Hole::new("p", "python", "a.py", HoleKind::Line, 4..9, text);
        let dated = Hole {
            changed: Some("2026-01-02".to_owned()),
            ..hole(file)
        };
        let elsewhere = Hole {
            id: dated.id.clone(),
            ..hole(other)
        };
        for (hole, text) in [(&hole(file), file), (&dated, file), (&elsewhere, other)] {
            run.add_holes([(hole, text)]).expect("there is room");
        }
        let holes: Vec<Hole> = run.holes().expect("it can be read").into_values().collect();
        assert_eq!(holes, [dated]);
    }

    fn attempt(key: &str) -> Attempt {
        Attempt {
            key: key.into(),
            hole: "h".into(),
            project: "demo".into(),
            model: "embedded".into(),
            sample: 0,
            repair_round: 0,
            offered: vec!["x".into()],
            overlap: String::new(),
            answered: true,
            latency_ms: 1.5,
            trace: None,
            verdict: Verdict::from_outcome(Outcome::Passed),
        }
    }

    #[test]
    fn identities_differ_in_more_than_absent_projects() {
        let run = |projects: serde_json::Value, samples: u32| json!({"projects": projects, "samples": samples});
        // Runs once lacked the projects that could not be prepared.
        let united = run(json!({"a": "1", "b": null}), 1);
        assert_eq!(
            united_identity(&run(json!({"a": "1"}), 1), &united),
            Ok(united)
        );
        assert_eq!(
            united_identity(&run(json!({"a": null}), 1), &run(json!({"a": "1"}), 2)),
            Err("`samples`".to_owned())
        );
    }

    #[test]
    fn run_is_reopened_unchanged() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let identity = json!({"model": "embedded", "seed": 1});
        let contents = "x = 1\n";
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 0..5, contents);
        {
            let run = Run::open_or_begin(folder.path(), &identity).expect("the folder is empty");
            run.add_holes([(&hole, contents)]).expect("there is room");
            run.add_attempt(&attempt("k")).expect("there is room");
            run.add_attempt(&attempt("k"))
                .expect("a second time changes nothing");
        }
        let run = Run::open_or_begin(folder.path(), &identity).expect("it is the same run");
        assert_eq!(run.attempts().expect("they can be read"), [attempt("k")]);
        assert_eq!(run.attempt("k").expect("it was added"), attempt("k"));
        let outcomes = run.outcomes().expect("they can be read");
        assert_eq!(outcomes, [("k".to_owned(), "passed".to_owned())]);
        assert!(run.attempt("other").is_err());
        assert_eq!(run.source(&hole).expect("it was added"), contents);
        assert_eq!(run.holes().expect("they can be read")[&hole.id], hole);
    }

    #[test]
    fn machine_is_recorded_once() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("the folder is empty");
        assert_eq!(run.machines().expect("there are none"), []);
        let this = Machine::this();
        let other = Machine {
            processors: this.processors + 1,
            ..this.clone()
        };
        for machine in [&this, &other, &this] {
            run.add_machine(machine).expect("there is room");
        }
        assert_eq!(run.machines().expect("they were recorded"), [this, other]);
    }

    #[test]
    fn run_of_other_identity_is_refused() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        Run::open_or_begin(folder.path(), &json!({"seed": 1})).expect("the folder is empty");
        let error = Run::open_or_begin(folder.path(), &json!({"seed": 2}))
            .err()
            .expect("the identity differs");
        assert!(error.to_string().contains("`seed` differs"), "{error}");
    }

    #[test]
    fn run_goes_on_when_a_further_project_is_prepared() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let begin = |projects: serde_json::Value| {
            Run::open_or_begin(folder.path(), &json!({"seed": 1, "projects": projects}))
        };
        begin(json!({"a": "1", "b": null})).expect("the folder is empty");
        begin(json!({"a": null, "b": "2"})).expect("it is the same run");
        let run = begin(json!({"a": null, "b": null})).expect("it is the same run");
        let whole = json!({"a": "1", "b": "2"});
        assert_eq!(run.identity().expect("it is there")["projects"], whole);
        for other in [json!({"a": "1", "b": "3"}), json!({"a": "1"}), json!(null)] {
            let error = begin(other).err().expect("the identity differs");
            assert!(error.to_string().contains("`projects` differs"), "{error}");
        }
    }

    #[test]
    fn project_that_was_ready_stays_ready() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("the folder is empty");
        let statuses = [
            ProjectStatus::Failed,
            ProjectStatus::Ready,
            ProjectStatus::LeftOut,
        ];
        let after = statuses.map(|status| {
            let state = ProjectState {
                language: "python".into(),
                status,
                reason: None,
                mined: None,
            };
            run.set_project("demo", &state).expect("there is room");
            run.projects().expect("they can be read")["demo"].status
        });
        let ready = ProjectStatus::Ready;
        assert_eq!(after, [ProjectStatus::Failed, ready, ready]);
    }

    #[test]
    fn run_with_further_holes_is_not_finished() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("the folder is empty");
        let contents = "x = 1\ny = 2\n";
        let hole = |range| Hole::new("demo", "python", "a.py", HoleKind::Line, range, contents);
        let (first, second) = (hole(0..5), hole(6..11));
        run.add_holes([(&first, contents)]).expect("there is room");
        run.set_finished().expect("there is room");
        run.add_holes([(&first, contents)]).expect("there is room");
        assert!(run.is_finished().expect("it can be read"));
        run.add_holes([(&first, contents), (&second, contents)])
            .expect("there is room");
        assert!(!run.is_finished().expect("it can be read"));
    }

    #[test]
    fn run_of_older_schema_is_refused_with_advice() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let identity = json!({"model": "embedded"});
        let run = Run::open_or_begin(folder.path(), &identity).expect("the folder is empty");
        run.execute("UPDATE meta SET value = '1' WHERE key = 'schema'", [])
            .expect("there is room");
        let opened = Run::open(folder.path()).err();
        let resumed = Run::open_or_begin(folder.path(), &identity).err();
        for error in [opened, resumed] {
            let message = error.expect("the schema is older").to_string();
            assert!(
                message.contains("has schema 1, and this program reads 2; name another folder"),
                "{message}"
            );
        }
    }

    #[test]
    fn folder_without_run_is_refused() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let error = Run::open(folder.path()).err().expect("there is no run");
        assert!(matches!(error, StoreError::NoRun(_)));
    }
}
