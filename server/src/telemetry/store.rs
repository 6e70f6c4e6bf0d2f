//! The store: one SQLite file that several servers append to concurrently.
//!
//! | table | holds |
//! | --- | --- |
//! | `meta` | `schema`, and `salt`, which salts the hashes of sessions and files |
//! | `completions` | completions by id, as JSON ([`CompletionRow`]) |
//! | `events` | events by id, as JSON ([`CompletionEvent`]) |
//! | `entered` | counts of inserted characters, as JSON ([`EnteredCharacters`]) |
//!
//! Rows are only added, except by a purge, which removes all of them. Transactions use SQLite's
//! write-ahead log, so a killed server leaves each row complete or absent. A power loss may lose
//! the last rows.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::event::{CompletionEvent, CompletionRow, EnteredCharacters, RecordedCompletion};
use crate::digest::hex;
use crate::folders::{base_folder, create_private_folder};

/// Format version of the store and of its export.
pub const SCHEMA: u32 = 1;

/// Timeout for waiting for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A store, open for reading and appending.
#[derive(Debug)]
pub struct TelemetryStore {
    path: PathBuf,
    database: Connection,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreEntry {
    /// A completion. Session and file are plain; the store hashes them.
    Answered(Box<CompletionRow>),
    /// An event.
    Event(CompletionEvent),
    /// Characters inserted into a file, with session and file plain.
    Entered(EnteredCharacters),
}

/// The contents of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreContents {
    /// Completions with their events, in the order of their requests.
    pub completions: Vec<RecordedCompletion>,
    /// Characters inserted into files.
    pub entered: Vec<EnteredCharacters>,
}

/// One line of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum ExportLine {
    /// A completion and everything that happened to it.
    Completion(Box<RecordedCompletion>),
    /// Characters inserted into a file.
    Entered(EnteredCharacters),
}

/// Error when reading or writing telemetry.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The user's data folder is unknown.
    #[error(
        "the data folder is unknown because neither XDG_DATA_HOME nor HOME is set; set \
         `telemetry.path`"
    )]
    NoFolder,
    /// The store does not exist.
    #[error(
        "{0}: the telemetry store does not exist; the first completion in an editor creates it"
    )]
    Missing(PathBuf),
    /// A file operation failed.
    #[error("{path}: {source}")]
    File {
        /// The store, its folder, or an export.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A database operation failed.
    #[error("{path}: {source}")]
    Database {
        /// The store.
        path: PathBuf,
        /// The database's error.
        source: rusqlite::Error,
    },
    /// The format version is unknown.
    #[error("{path}: format version {found} is not supported; this program reads version {SCHEMA}")]
    Schema {
        /// The store or export.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// A row or line is malformed.
    #[error("{path}: {reason}")]
    Content {
        /// The store or export.
        path: PathBuf,
        /// Description of the error, with the line.
        reason: String,
    },
}

impl TelemetryStore {
    /// Opens a store for appending, or creates one that only its owner can read.
    ///
    /// # Errors
    /// The file or its folder can't be created or written, or is not a store of this version.
    pub fn open(path: &Path) -> Result<Self, TelemetryError> {
        create_file(path).map_err(|source| TelemetryError::File {
            path: path.to_owned(),
            source,
        })?;
        let store = Self {
            path: path.to_owned(),
            database: Connection::open(path).map_err(database(path))?,
        };
        let until = Instant::now() + BUSY_TIMEOUT;
        loop {
            match store.prepare() {
                Ok(()) => break,
                // SQLite does not wait while another process switches a new file to the write-ahead
                // log.
                Err(error) if is_busy(&error) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(database(path)(error)),
            }
        }
        store.check()?;
        Ok(store)
    }

    /// Opens a store for reading.
    ///
    /// # Errors
    /// It does not exist or can't be read.
    pub fn open_existing(path: &Path) -> Result<Self, TelemetryError> {
        if !path.is_file() {
            return Err(TelemetryError::Missing(path.to_owned()));
        }
        Self::open(path)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        self.database.busy_timeout(BUSY_TIMEOUT)?;
        // Several processes may open a new file at once: the immediate transaction lets one create
        // its tables.
        self.database.pragma_update(None, "journal_mode", "wal")?;
        // With a write-ahead log, a crash may lose the last rows then, but can't damage the file.
        self.database.pragma_update(None, "synchronous", "normal")?;
        self.database.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS completions
                 (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS events
                 (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                  completion TEXT NOT NULL, record TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS entered
                 (number INTEGER PRIMARY KEY, record TEXT NOT NULL);
             INSERT OR IGNORE INTO meta VALUES ('schema', '{SCHEMA}');
             COMMIT;"
        ))
    }

    fn check(&self) -> Result<(), TelemetryError> {
        let found: String = self
            .database
            .query_row("SELECT value FROM meta WHERE key = 'schema'", [], |row| {
                row.get(0)
            })
            .map_err(database(&self.path))?;
        if found == SCHEMA.to_string() {
            Ok(())
        } else {
            Err(TelemetryError::Schema {
                path: self.path.clone(),
                found,
            })
        }
    }

    /// Adds rows, all of them or none. Events of unknown completions, as after a purge, and
    /// duplicate rows are ignored.
    ///
    /// # Errors
    /// The store can't be written.
    pub fn record(&mut self, entries: &[StoreEntry]) -> Result<(), TelemetryError> {
        self.add(entries).map_err(database(&self.path))
    }

    fn add(&mut self, entries: &[StoreEntry]) -> rusqlite::Result<()> {
        let transaction = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let salt = uuid::Uuid::new_v4().to_string();
        // The first transaction of a store, or after a purge, chooses the salt.
        transaction.execute("INSERT OR IGNORE INTO meta VALUES ('salt', ?1)", [salt])?;
        let salt: String =
            transaction.query_row("SELECT value FROM meta WHERE key = 'salt'", [], |row| {
                row.get(0)
            })?;
        let hashed = |text: &str| hash(&salt, text);
        for entry in entries {
            match entry {
                StoreEntry::Answered(answered) => {
                    let row = CompletionRow {
                        session: hashed(&answered.session),
                        file: hashed(&answered.file),
                        ..(**answered).clone()
                    };
                    transaction
                        .prepare_cached(
                            "INSERT OR IGNORE INTO completions (id, record) VALUES (?1, ?2)",
                        )?
                        .execute(params![row.completion, json(&row)?])?;
                }
                StoreEntry::Event(event) => {
                    transaction
                        .prepare_cached(
                            "INSERT OR IGNORE INTO events (id, completion, record)
                             SELECT ?1, ?2, ?3
                             WHERE EXISTS (SELECT 1 FROM completions WHERE id = ?2)",
                        )?
                        .execute(params![event.id, event.completion, json(event)?])?;
                }
                StoreEntry::Entered(entered) => {
                    let row = EnteredCharacters {
                        session: hashed(&entered.session),
                        file: hashed(&entered.file),
                        ..entered.clone()
                    };
                    transaction
                        .prepare_cached("INSERT INTO entered (record) VALUES (?1)")?
                        .execute([json(&row)?])?;
                }
            }
        }
        transaction.commit()
    }

    /// Reads the whole store.
    ///
    /// # Errors
    /// The store can't be read, or a row is malformed.
    pub fn contents(&self) -> Result<StoreContents, TelemetryError> {
        Ok(StoreContents {
            completions: self.completions()?,
            entered: self.rows("SELECT record FROM entered ORDER BY number")?,
        })
    }

    /// Returns all completions with their events, in the order in which they were recorded.
    ///
    /// # Errors
    /// As [`TelemetryStore::contents`].
    pub fn completions(&self) -> Result<Vec<RecordedCompletion>, TelemetryError> {
        // Events are read first: a completion added meanwhile then lacks events, but no event lacks
        // its completion.
        let events: Vec<CompletionEvent> =
            self.rows("SELECT record FROM events ORDER BY number")?;
        let mut by_completion: HashMap<String, Vec<CompletionEvent>> = HashMap::new();
        for event in events {
            by_completion
                .entry(event.completion.clone())
                .or_default()
                .push(event);
        }
        let answered: Vec<CompletionRow> =
            self.rows("SELECT record FROM completions ORDER BY number")?;
        let recorded = answered.into_iter().map(|answered| {
            let events = by_completion.remove(&answered.completion);
            RecordedCompletion::from_events(answered, &events.unwrap_or_default())
        });
        Ok(recorded.collect())
    }

    fn rows<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>, TelemetryError> {
        let fault = database(&self.path);
        let mut statement = self.database.prepare(query).map_err(&fault)?;
        let records = statement
            .query_map([], |row| row.get::<_, String>(0))
            .map_err(&fault)?;
        records
            .map(|record| {
                let record = record.map_err(&fault)?;
                serde_json::from_str(&record).map_err(|error| TelemetryError::Content {
                    path: self.path.clone(),
                    reason: error.to_string(),
                })
            })
            .collect()
    }

    /// Removes all rows and the salt, and overwrites them in the file. Returns the number of
    /// removed completions.
    ///
    /// # Errors
    /// The store can't be written.
    pub fn purge(&mut self) -> Result<usize, TelemetryError> {
        self.empty().map_err(database(&self.path))
    }

    fn empty(&mut self) -> rusqlite::Result<usize> {
        self.database.pragma_update(None, "secure_delete", "on")?;
        let transaction = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let removed = transaction.execute("DELETE FROM completions", [])?;
        transaction.execute("DELETE FROM events", [])?;
        transaction.execute("DELETE FROM entered", [])?;
        transaction.execute("DELETE FROM meta WHERE key = 'salt'", [])?;
        transaction.commit()?;
        // The log keeps the old rows until the checkpoint, which readers may delay.
        self.database.execute_batch("VACUUM")?;
        self.database
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(removed)
    }
}

/// Reads a store, or a JSON Lines export of one.
///
/// # Errors
/// It does not exist, can't be read, or has another format version.
pub fn read(path: &Path) -> Result<StoreContents, TelemetryError> {
    let fault = |source| TelemetryError::File {
        path: path.to_owned(),
        source,
    };
    if !path.is_file() {
        return Err(TelemetryError::Missing(path.to_owned()));
    }
    let mut reader = std::io::BufReader::new(std::fs::File::open(path).map_err(fault)?);
    if reader.fill_buf().map_err(fault)?.starts_with(MAGIC) {
        return TelemetryStore::open_existing(path)?.contents();
    }
    let mut contents = StoreContents::default();
    for (number, line) in reader.lines().enumerate() {
        let line = line.map_err(fault)?;
        if line.trim().is_empty() {
            continue;
        }
        let garbled = |error: serde_json::Error| TelemetryError::Content {
            path: path.to_owned(),
            reason: format!("line {}: {error}", number + 1),
        };
        let value: serde_json::Value = serde_json::from_str(&line).map_err(garbled)?;
        if value["schema"] != SCHEMA {
            return Err(TelemetryError::Schema {
                path: path.to_owned(),
                found: value["schema"].to_string(),
            });
        }
        match ExportLine::deserialize(&value).map_err(garbled)? {
            ExportLine::Completion(recorded) => contents.completions.push(*recorded),
            ExportLine::Entered(entered) => contents.entered.push(entered),
        }
    }
    Ok(contents)
}

/// The first bytes of every SQLite file: <https://www.sqlite.org/fileformat.html#magic_header_string>.
const MAGIC: &[u8] = b"SQLite format 3\0";

impl ExportLine {
    /// Serializes the line, with the format version.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!({"schema": SCHEMA});
        if let (Some(whole), Ok(serde_json::Value::Object(members))) =
            (value.as_object_mut(), serde_json::to_value(self))
        {
            whole.extend(members);
        }
        value
    }
}

/// Returns the default path of the store: `fillrate/telemetry.db` in the user's data folder.
///
/// # Errors
/// [`TelemetryError::NoFolder`].
pub fn default_path() -> Result<PathBuf, TelemetryError> {
    let base = base_folder("XDG_DATA_HOME", ".local/share").ok_or(TelemetryError::NoFolder)?;
    Ok(base.join("fillrate").join("telemetry.db"))
}

/// Hashes a text with the salt of its store: 16 hex digits.
fn hash(salt: &str, text: &str) -> String {
    let digest = Sha256::digest(format!("{salt}\0{text}"));
    hex(&digest[..8])
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

fn json(row: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(row)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn database(path: &Path) -> impl Fn(rusqlite::Error) -> TelemetryError {
    let path = path.to_owned();
    move |source| TelemetryError::Database {
        path: path.clone(),
        source,
    }
}

/// Creates the file and its folder, accessible to their owner only, unless they exist.
fn create_file(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        create_private_folder(folder).map_err(|error| {
            // The system reports a file in place of a folder as "already exists".
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => std::io::ErrorKind::NotADirectory.into(),
                _ => error,
            }
        })?;
    }
    // An existing file must not be opened here: closing it would release the locks of every other
    // connection of this process. <https://www.sqlite.org/howtocorrupt.html>, §2.2
    match file.append(true).create_new(true).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{CompletionEventKind, RequestOutcome};
    use super::*;

    fn temporary_store() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("a/b/telemetry.db");
        (folder, path)
    }

    fn answered(id: &str) -> StoreEntry {
        StoreEntry::Answered(Box::new(CompletionRow {
            completion: id.to_owned(),
            session: "session".to_owned(),
            file: "file:///home/somebody/secret.py".to_owned(),
            outcome: RequestOutcome::Offered,
            ..CompletionRow::default()
        }))
    }

    fn dismissed(id: &str, completion: &str) -> StoreEntry {
        StoreEntry::Event(CompletionEvent {
            id: id.to_owned(),
            completion: completion.to_owned(),
            at_ms: 1,
            candidate: None,
            shown: None,
            kind: CompletionEventKind::Dismissed,
        })
    }

    #[test]
    fn recorded_rows_are_read_joined() {
        let (_folder, path) = temporary_store();
        let mut store = TelemetryStore::open(&path).expect("it is made");
        let entered = EnteredCharacters {
            file: "f".to_owned(),
            characters: 5,
            ..EnteredCharacters::default()
        };
        let rows = [
            answered("a"),
            answered("b"),
            dismissed("1", "b"),
            StoreEntry::Entered(entered),
        ];
        store.record(&rows).expect("there is room");
        // Duplicates and events of unknown completions are ignored.
        let again = [answered("a"), dismissed("1", "b"), dismissed("2", "none")];
        store.record(&again).expect("there is room");
        let contents = read(&path).expect("it is a store");
        let dismissed_by_id: Vec<_> = contents
            .completions
            .iter()
            .map(|one| (one.answered.completion.as_str(), one.dismissed))
            .collect();
        assert_eq!(dismissed_by_id, [("a", false), ("b", true)]);
        assert_eq!(contents.entered[0].characters, 5);
    }

    #[test]
    fn names_are_hashed_with_salt_of_store() {
        let hashes: Vec<String> = (0..2)
            .map(|_| {
                let (_folder, path) = temporary_store();
                let mut store = TelemetryStore::open(&path).expect("it is made");
                store
                    .record(&[answered("a"), answered("b")])
                    .expect("there is room");
                let completions = store.completions().expect("it is whole");
                let files: Vec<_> = completions.iter().map(|one| &one.answered.file).collect();
                assert_eq!(files[0], files[1]);
                assert_ne!(files[0], &completions[0].answered.session);
                files[0].clone()
            })
            .collect();
        assert_ne!(hashes[0], hashes[1]);
        assert_eq!(hashes[0].len(), 16);
    }

    #[test]
    fn export_reads_like_its_store() {
        let (folder, path) = temporary_store();
        let mut store = TelemetryStore::open(&path).expect("it is made");
        let entered = StoreEntry::Entered(EnteredCharacters::default());
        store
            .record(&[answered("a"), dismissed("1", "a"), entered])
            .expect("there is room");
        let contents = store.contents().expect("it is whole");
        let completions = contents.completions.iter().cloned().map(Box::new);
        let lines = completions.map(ExportLine::Completion);
        let lines = lines.chain(contents.entered.iter().cloned().map(ExportLine::Entered));
        let lines: Vec<_> = lines.map(|line| line.to_json().to_string()).collect();
        let export = folder.path().join("export.jsonl");
        std::fs::write(&export, lines.join("\n")).expect("the folder is writable");
        assert_eq!(read(&export).expect("it was exported"), contents);
        std::fs::write(&export, r#"{"schema": 9}"#).expect("the folder is writable");
        let error = read(&export).expect_err("it is of another version");
        assert!(error.to_string().contains("version 9"), "{error}");
    }

    #[test]
    fn purge_leaves_no_bytes_in_file() {
        let (_folder, path) = temporary_store();
        let mut store = TelemetryStore::open(&path).expect("it is made");
        let ids: Vec<_> = (0..50).map(|n| answered(&format!("canary-{n}"))).collect();
        store.record(&ids).expect("there is room");
        assert_eq!(store.purge().expect("no other process has it"), 50);
        // Later events of purged completions are ignored.
        store
            .record(&[dismissed("1", "canary-1")])
            .expect("there is room");
        assert_eq!(
            store.contents().expect("it is whole"),
            StoreContents::default()
        );
        drop(store);
        for file in std::fs::read_dir(path.parent().expect("it has one")).expect("it is there") {
            let bytes = std::fs::read(file.expect("it is there").path()).expect("it is readable");
            let found = bytes.windows(7).any(|window| window == b"canary-" as &[u8]);
            // The database file does not contain the completion of the later event either.
            assert!(!found);
        }
    }

    #[test]
    fn concurrent_writers_lose_no_rows() {
        let (_folder, path) = temporary_store();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut store = TelemetryStore::open(path).expect("it is made once");
                    for number in 0..50 {
                        let id = format!("{writer}-{number}");
                        store
                            .record(&[answered(&id), dismissed(&id, &id)])
                            .expect("each waits for the others");
                    }
                });
            }
        });
        let completions = read(&path).expect("it is a store").completions;
        assert_eq!(completions.len(), 200);
        assert!(completions.iter().all(|one| one.dismissed));
    }

    #[cfg(unix)]
    #[test]
    fn only_owner_may_read_store() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = temporary_store();
        let mut store = TelemetryStore::open(&path).expect("it is made");
        store.record(&[answered("a")]).expect("there is room");
        let folder = path.parent().expect("it has one");
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let entry = entry.expect("it is there");
            let mode = entry.metadata().expect("it has some").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?}", entry.path());
        }
    }

    #[test]
    fn missing_and_foreign_files_are_refused() {
        let (folder, path) = temporary_store();
        let error = read(&path).expect_err("there is none");
        assert!(
            error
                .to_string()
                .contains("the telemetry store does not exist"),
            "{error}"
        );
        let other = folder.path().join("other.db");
        std::fs::write(
            &other,
            "this is no database at all, but long enough to be read as one",
        )
        .expect("the folder is writable");
        assert!(TelemetryStore::open(&other).is_err());
    }
}
