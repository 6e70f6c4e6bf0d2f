//! Starts the real program and reads its output.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::programs;

/// A finished command: its output and exit status.
#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl FinishedCommand {
    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("this is not one JSON object: {error}\n{self:#?}"))
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits_with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// The last line of standard error, of a command that failed with one clear sentence: it
    /// occurs once, names the program, and is neither a panic nor a dump of an error value.
    #[track_caller]
    pub(crate) fn error_message(&self) -> &str {
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

/// A directory for one test: for runs and files, and with the program's temporary folder.
pub(crate) struct TestDir {
    folder: TempDir,
}

impl TestDir {
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

    /// The program with these arguments, in this directory.
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
    pub(crate) fn fillrate(&self, arguments: &[&str]) -> FinishedCommand {
        run(&mut self.command(arguments))
    }

    /// Files left in the program's temporary folder.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        files(&self.path("tmp"))
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> FinishedCommand {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    FinishedCommand {
        status: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Starts a command and discards its output.
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

/// True if this machine has the tools of a test. If not, prints that, or fails if `CI` is set.
pub(crate) fn has_tools(programs: &[&str]) -> bool {
    let doctor = TestDir::new().fillrate(&["doctor"]);
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
        "this machine lacks tools that the test needs:\n{}",
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
