//! Starts the real program and reads what it says.
#![allow(
    dead_code,
    reason = "each file of tests uses its own part of what they share"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "programs.rs"]
pub(crate) mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use tempfile::TempDir;

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("this is not one JSON object: {error}\n{self:#?}"))
    }

    /// Checks how it ended.
    #[track_caller]
    pub(crate) fn ended(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// The last line of standard error, of a command that failed with one clear sentence: it
    /// stands there once, names the program, and is neither a panic nor a dump of an error value.
    #[track_caller]
    pub(crate) fn complaint(&self) -> &str {
        assert!(!self.err.contains("panicked at"), "{self:#?}");
        let complaints: Vec<&str> = self
            .err
            .split_inclusive('\n')
            .filter(|line| line.starts_with("fillrate: "))
            .collect();
        assert_eq!(complaints.len(), 1, "{self:#?}");
        let from = self.err.find(complaints[0]).unwrap();
        self.err[from + "fillrate: ".len()..].trim_end()
    }
}

/// A place of its own for one test: a folder for runs and files, and one for what the program
/// puts into the system's temporary folder.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    /// The program with these arguments, in this place.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fillrate"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("FILLRATE_CACHE", cache())
            .env("TMPDIR", self.path("tmp"))
            // A person's own settings must not decide a test.
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn fillrate(&self, arguments: &[&str]) -> Said {
        run(&mut self.command(arguments))
    }

    /// What the program left in its temporary folder.
    pub(crate) fn left_over(&self) -> Vec<PathBuf> {
        files(&self.path("tmp"))
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Said {
    let _shared = running();
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Said {
        status: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Starts a command whose output nobody reads.
pub(crate) fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The cache that all tests share, so that environments are installed once.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fillrate-cache")
}

/// A path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(path)
}

/// The demo corpus's manifest.
pub(crate) fn demo() -> String {
    text(&repository("corpora/demo.toml"))
}

/// The manifest of a project that is judged in a second.
pub(crate) fn kitchen() -> String {
    text(&repository("tests/corpora/kitchen.toml"))
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Whether this machine has what a test needs; says so where it does not, and fails under `CI`.
pub(crate) fn has(programs: &[&str]) -> bool {
    let doctor = Place::new().fillrate(&["doctor"]);
    let missing: Vec<&str> = doctor
        .out
        .lines()
        .filter(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("missing")
                && words
                    .next()
                    .is_some_and(|word| word == "sandbox" || programs.contains(&word))
        })
        .collect();
    if missing.is_empty() {
        return true;
    }
    programs::skip(&format!(
        "this machine lacks what the test needs:\n{}",
        missing.join("\n")
    ));
    false
}

/// The holes of a tasks file.
pub(crate) fn holes(tasks: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(tasks).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The attempts of a run as its database has them, by key.
pub(crate) fn attempts(run: &Path) -> BTreeMap<String, Value> {
    let database = rusqlite::Connection::open(run.join("run.db")).unwrap();
    let mut statement = database
        .prepare("SELECT key, record FROM attempts")
        .unwrap();
    let rows = statement
        .query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .unwrap();
    rows.map(|row| {
        let (key, record) = row.unwrap();
        (key, serde_json::from_str(&record).unwrap())
    })
    .collect()
}

/// Every file below a folder, sorted, relative to it.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    for name in files(from) {
        let target = to.join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&name), target).unwrap();
    }
}

/// Held by whoever has a program running, so that [`alone`] can tell what was left running.
static RUNNING: RwLock<()> = RwLock::new(());

pub(crate) fn running() -> RwLockReadGuard<'static, ()> {
    RUNNING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other test of this process has a program running.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    RUNNING.write().unwrap_or_else(PoisonError::into_inner)
}
