//! A real browser that looks at pages.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::play;
use super::processes::RunningProgram;
use super::programs::install;

/// The two programs that look at pages.
pub(crate) struct Browser {
    chromium: PathBuf,
    packages: PathBuf,
    pub(crate) pictures: PathBuf,
}

impl Browser {
    /// Nothing where this machine can't have them.
    pub(crate) fn new() -> Option<Self> {
        let chromium = install("chromium")?;
        let packages = install("playwright")?;
        let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
        fs::create_dir_all(&pictures).unwrap();
        Some(Self {
            chromium,
            packages,
            pictures,
        })
    }

    pub(crate) fn command(&self, task: &str, address: &str) -> Command {
        let mut command = Command::new("node");
        command
            .arg(play::repository("tests/clients/report.mjs"))
            .args([&self.chromium, &self.packages])
            .args([task, address])
            .arg(&self.pictures);
        command
    }

    /// Does something with a report on the disk. No page of it may complain or ask the network.
    pub(crate) fn look(&self, task: &str, report: &Path) -> Value {
        let address = format!("file://{}/", report.canonicalize().unwrap().display());
        let output = self.command(task, &address).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        seen(&output.stdout)
    }
}

/// Returns the record of a browser in which nothing went wrong.
pub(crate) fn seen(output: &[u8]) -> Value {
    let seen: Value = serde_json::from_slice(output).unwrap();
    assert_eq!(seen["complaints"], json!([]));
    assert_eq!(seen["foreign"], json!([]));
    assert_eq!(seen["dialogs"], 0);
    seen
}

/// Asserts that a page is accessible, and no wider than its window.
pub(crate) fn assert_accessible(name: &str, page: &Value) {
    for nothing in [
        "beyond",
        "tablesWithoutCaption",
        "headsWithoutScope",
        "namelessControls",
        "inputsWithoutLabel",
        "scrollsWithoutFocus",
    ] {
        assert_eq!(page[nothing], 0, "{name}: {nothing}");
    }
    assert_eq!(page["axe"], json!([]), "{name}");
    assert_eq!(page["language"], "en", "{name}");
}

/// Pages that `fillrate` serves, until it is dropped.
pub(crate) struct Live {
    _program: RunningProgram,
    pub(crate) address: String,
}

impl Live {
    /// Starts a command that prints the address first.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self {
            _program: RunningProgram(child),
            address,
        }
    }

    /// The answer to a request for a path, with headers of its own.
    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        let authority = self
            .address
            .trim_start_matches("http://")
            .trim_end_matches('/');
        let mut stream = TcpStream::connect(authority).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}
