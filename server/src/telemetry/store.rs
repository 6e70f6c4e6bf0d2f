//! The store: one SQLite file that several servers append to at once.
//!
//! | table | holds |
//! | --- | --- |
//! | `meta` | `schema`, and `salt`, which session and file are hashed with |
//! | `completions` | by id, each completion as it was answered, as JSON ([`Answered`]) |
//! | `events` | by id, what became of it, as JSON ([`Event`]) |
//! | `entered` | characters that entered files, as JSON ([`Entered`]) |
//!
//! Rows are only added, but for a purge, which removes all of them. They are added in transactions
//! under SQLite's write-ahead log, so that a server killed at any moment leaves each row whole or
//! not at all; a loss of power may cost the last ones.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::event::{Answered, Entered, Event, Recorded};

/// The version of the format, of the store and of its export.
pub const SCHEMA: u32 = 1;

/// How long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store that is open for reading and adding.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Connection,
}

/// One row to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A completion. Its session and file are as they are; the store has their hashes.
    Answered(Box<Answered>),
    /// What became of it.
    Event(Event),
    /// Characters that entered a file, with session and file as they are.
    Entered(Entered),
}

/// Everything in a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Completions with what became of them, in the order of their requests.
    pub completions: Vec<Recorded>,
    /// Characters that entered files.
    pub entered: Vec<Entered>,
}

/// One line of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Line {
    /// A completion with everything that became of it.
    Completion(Box<Recorded>),
    /// Characters that entered a file.
    Entered(Entered),
}

/// Why telemetry can't be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// No folder for data is known.
    #[error(
        "no folder for data is known, since neither XDG_DATA_HOME nor HOME is set; name the store \
         by `telemetry.path`"
    )]
    NoFolder,
    /// There is no store.
    #[error("{0}: there is no telemetry here; it comes with the first completion in an editor")]
    Missing(PathBuf),
    /// The file system refuses.
    #[error("{path}: {source}")]
    File {
        /// The store, its folder, or an export.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database refuses.
    #[error("{path}: {source}")]
    Database {
        /// The store.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// It was written by another version of the program.
    #[error("{path}: its format has version {found}, and this program knows version {SCHEMA}")]
    Schema {
        /// The store or export.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// A row or line is not of the form this program writes.
    #[error("{path}: {reason}")]
    Content {
        /// The store or export.
        path: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
}

impl Store {
    /// Opens a store to add to it, or makes one that only its owner can read.
    ///
    /// # Errors
    /// The file or its folder can't be made or written, or is no store of this version.
    pub fn open(path: &Path) -> Result<Self, TelemetryError> {
        make_file(path).map_err(|source| TelemetryError::File {
            path: path.to_owned(),
            source,
        })?;
        let store = Self {
            path: path.to_owned(),
            database: Connection::open(path).map_err(database(path))?,
        };
        let until = Instant::now() + PATIENCE;
        loop {
            match store.prepare() {
                Ok(()) => break,
                // SQLite itself does not wait where several put a new file under its log at once.
                Err(error) if is_busy(&error) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(database(path)(error)),
            }
        }
        store.check()?;
        Ok(store)
    }

    /// Opens a store that is there to read it.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn open_existing(path: &Path) -> Result<Self, TelemetryError> {
        if !path.is_file() {
            return Err(TelemetryError::Missing(path.to_owned()));
        }
        Self::open(path)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        self.database.busy_timeout(PATIENCE)?;
        // Of several that open a new file at once, one makes it.
        self.database.pragma_update(None, "journal_mode", "wal")?;
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

    /// Adds rows, all of them or none. An event of a completion that is not there, as after a
    /// purge, is passed over; so is a row that is there already.
    ///
    /// # Errors
    /// The store can't be written.
    pub fn record(&mut self, entries: &[Entry]) -> Result<(), TelemetryError> {
        self.add(entries).map_err(database(&self.path))
    }

    fn add(&mut self, entries: &[Entry]) -> rusqlite::Result<()> {
        let transaction = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let drawn = uuid::Uuid::new_v4().to_string();
        transaction.execute("INSERT OR IGNORE INTO meta VALUES ('salt', ?1)", [drawn])?;
        let salt: String =
            transaction.query_row("SELECT value FROM meta WHERE key = 'salt'", [], |row| {
                row.get(0)
            })?;
        let hashed = |text: &str| hash(&salt, text);
        for entry in entries {
            match entry {
                Entry::Answered(answered) => {
                    let row = Answered {
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
                Entry::Event(event) => {
                    transaction
                        .prepare_cached(
                            "INSERT OR IGNORE INTO events (id, completion, record)
                             SELECT ?1, ?2, ?3
                             WHERE EXISTS (SELECT 1 FROM completions WHERE id = ?2)",
                        )?
                        .execute(params![event.id, event.completion, json(event)?])?;
                }
                Entry::Entered(entered) => {
                    let row = Entered {
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

    /// Everything in it.
    ///
    /// # Errors
    /// The store can't be read, or a row is not of the form this program writes.
    pub fn contents(&self) -> Result<Contents, TelemetryError> {
        Ok(Contents {
            completions: self.completions()?,
            entered: self.rows("SELECT record FROM entered ORDER BY number")?,
        })
    }

    /// All completions with what became of them, in the order in which they were noted.
    ///
    /// # Errors
    /// As [`Store::contents`].
    pub fn completions(&self) -> Result<Vec<Recorded>, TelemetryError> {
        // Events first: what is added meanwhile then has none, rather than events without it.
        let events: Vec<Event> = self.rows("SELECT record FROM events ORDER BY number")?;
        let mut by_completion: HashMap<String, Vec<Event>> = HashMap::new();
        for event in events {
            by_completion
                .entry(event.completion.clone())
                .or_default()
                .push(event);
        }
        let answered: Vec<Answered> =
            self.rows("SELECT record FROM completions ORDER BY number")?;
        let recorded = answered.into_iter().map(|answered| {
            let events = by_completion.remove(&answered.completion);
            Recorded::of(answered, &events.unwrap_or_default())
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

    /// Removes everything, the salt too, leaves no trace of it in the file, and says how many
    /// completions there were.
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
        // The log has the old rows until it is written back; while others read, it is later.
        self.database.execute_batch("VACUUM")?;
        self.database
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(removed)
    }
}

/// Reads a store, or a file of JSON lines that was exported from one.
///
/// # Errors
/// There is none, it can't be read, or it is of another version.
pub fn read(path: &Path) -> Result<Contents, TelemetryError> {
    let fault = |source| TelemetryError::File {
        path: path.to_owned(),
        source,
    };
    if !path.is_file() {
        return Err(TelemetryError::Missing(path.to_owned()));
    }
    let mut reader = std::io::BufReader::new(std::fs::File::open(path).map_err(fault)?);
    if reader.fill_buf().map_err(fault)?.starts_with(MAGIC) {
        return Store::open_existing(path)?.contents();
    }
    let mut contents = Contents::default();
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
        match Line::deserialize(&value).map_err(garbled)? {
            Line::Completion(recorded) => contents.completions.push(*recorded),
            Line::Entered(entered) => contents.entered.push(entered),
        }
    }
    Ok(contents)
}

/// What every SQLite file begins with: <https://www.sqlite.org/fileformat.html#magic_header_string>.
const MAGIC: &[u8] = b"SQLite format 3\0";

impl Line {
    /// The line as it is written, with the version of its format.
    pub fn written(&self) -> serde_json::Value {
        let mut value = serde_json::json!({"schema": SCHEMA});
        if let (Some(whole), Ok(serde_json::Value::Object(members))) =
            (value.as_object_mut(), serde_json::to_value(self))
        {
            whole.extend(members);
        }
        value
    }
}

/// The store's file where no setting names one: `fillrate/telemetry.db` in the user's folder of
/// data, <https://specifications.freedesktop.org/basedir-spec/latest/>.
///
/// # Errors
/// [`TelemetryError::NoFolder`].
pub fn default_path() -> Result<PathBuf, TelemetryError> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .ok_or(TelemetryError::NoFolder)?;
    Ok(base.join("fillrate").join("telemetry.db"))
}

/// 16 hex digits that stand for a text in one store and tell nothing of it.
fn hash(salt: &str, text: &str) -> String {
    let digest = Sha256::digest(format!("{salt}\0{text}"));
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
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

/// Makes the file and its folder, for nobody but their owner, where they are not there yet.
fn make_file(path: &Path) -> std::io::Result<()> {
    let mut folders = std::fs::DirBuilder::new();
    let mut file = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        file.mode(0o600);
    }
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        folders.recursive(true).create(folder).map_err(|error| {
            // What the system says of a file in a folder's place is that it exists.
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => std::io::ErrorKind::NotADirectory.into(),
                _ => error,
            }
        })?;
    }
    file.append(true).create(true).open(path).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::event::{EventKind, Outcome};
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join("a/b/telemetry.db");
        (folder, path)
    }

    fn answered(id: &str) -> Entry {
        Entry::Answered(Box::new(Answered {
            completion: id.to_owned(),
            session: "session".to_owned(),
            file: "file:///home/somebody/secret.py".to_owned(),
            outcome: Outcome::Offered,
            ..Answered::default()
        }))
    }

    fn dismissed(id: &str, completion: &str) -> Entry {
        Entry::Event(Event {
            id: id.to_owned(),
            completion: completion.to_owned(),
            at_ms: 1,
            candidate: None,
            shown: None,
            kind: EventKind::Dismissed,
        })
    }

    #[test]
    fn what_is_recorded_is_read_again_joined() {
        let (_folder, path) = place();
        let mut store = Store::open(&path).expect("it is made");
        let entered = Entered {
            file: "f".to_owned(),
            characters: 5,
            ..Entered::default()
        };
        let rows = [
            answered("a"),
            answered("b"),
            dismissed("1", "b"),
            Entry::Entered(entered),
        ];
        store.record(&rows).expect("there is room");
        // What comes a second time counts once; what is of nothing known counts not at all.
        let again = [answered("a"), dismissed("1", "b"), dismissed("2", "none")];
        store.record(&again).expect("there is room");
        let contents = read(&path).expect("it is a store");
        let told: Vec<_> = contents
            .completions
            .iter()
            .map(|one| (one.answered.completion.as_str(), one.dismissed))
            .collect();
        assert_eq!(told, [("a", false), ("b", true)]);
        assert_eq!(contents.entered[0].characters, 5);
    }

    #[test]
    fn names_are_kept_as_hashes_that_differ_from_store_to_store() {
        let hashes: Vec<String> = (0..2)
            .map(|_| {
                let (_folder, path) = place();
                let mut store = Store::open(&path).expect("it is made");
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
    fn an_export_is_read_as_its_store_is() {
        let (folder, path) = place();
        let mut store = Store::open(&path).expect("it is made");
        let entered = Entry::Entered(Entered::default());
        store
            .record(&[answered("a"), dismissed("1", "a"), entered])
            .expect("there is room");
        let contents = store.contents().expect("it is whole");
        let completions = contents.completions.iter().cloned().map(Box::new);
        let lines = completions.map(Line::Completion);
        let lines = lines.chain(contents.entered.iter().cloned().map(Line::Entered));
        let lines: Vec<_> = lines.map(|line| line.written().to_string()).collect();
        let export = folder.path().join("export.jsonl");
        std::fs::write(&export, lines.join("\n")).expect("the folder is writable");
        assert_eq!(read(&export).expect("it was exported"), contents);
        std::fs::write(&export, r#"{"schema": 9}"#).expect("the folder is writable");
        let error = read(&export).expect_err("it is of another version");
        assert!(error.to_string().contains("version 9"), "{error}");
    }

    #[test]
    fn a_purge_leaves_nothing_in_the_file() {
        let (_folder, path) = place();
        let mut store = Store::open(&path).expect("it is made");
        let ids: Vec<_> = (0..50).map(|n| answered(&format!("canary-{n}"))).collect();
        store.record(&ids).expect("there is room");
        assert_eq!(store.purge().expect("nobody else has it"), 50);
        // What still comes of what is purged is not kept.
        store
            .record(&[dismissed("1", "canary-1")])
            .expect("there is room");
        assert_eq!(store.contents().expect("it is whole"), Contents::default());
        drop(store);
        for file in std::fs::read_dir(path.parent().expect("it has one")).expect("it is there") {
            let bytes = std::fs::read(file.expect("it is there").path()).expect("it is readable");
            let found = bytes.windows(7).any(|window| window == b"canary-" as &[u8]);
            // The event that came later names its completion in no file either.
            assert!(!found);
        }
    }

    #[test]
    fn several_writers_lose_nothing() {
        let (_folder, path) = place();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut store = Store::open(path).expect("it is made once");
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
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = place();
        let mut store = Store::open(&path).expect("it is made");
        store.record(&[answered("a")]).expect("there is room");
        let folder = path.parent().expect("it has one");
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let entry = entry.expect("it is there");
            let mode = entry.metadata().expect("it has some").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?}", entry.path());
        }
    }

    #[test]
    fn what_is_no_store_is_told_as_such() {
        let (folder, path) = place();
        let error = read(&path).expect_err("there is none");
        assert!(error.to_string().contains("no telemetry here"), "{error}");
        let other = folder.path().join("other.db");
        std::fs::write(
            &other,
            "this is no database at all, but long enough to be read as one",
        )
        .expect("the folder is writable");
        assert!(Store::open(&other).is_err());
    }
}
