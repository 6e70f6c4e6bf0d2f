//! What tests meet that is not in the repository: real programs, brought by the scripts in
//! `tests/setup`, and results of others. A test that lacks something fails where `CI` is set, and
//! elsewhere says so.
#![allow(
    dead_code,
    reason = "each file of tests uses its own part of what they share"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Brings a program and gives its path. Where this machine can't have it, fails if `CI` is set
/// and otherwise says so and gives nothing.
pub(crate) fn bring(name: &str) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/setup")
        .join(name);
    let output = Command::new(&script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(PathBuf::from(
            String::from_utf8(output.stdout).unwrap().trim(),
        )),
        // A tool is missing, or a download failed: see tests/setup/README.md.
        Some(3 | 4) => {
            skip(&format!("{name} can't be had here: {said}"));
            None
        }
        status => panic!("{name}: {status:?}\n{said}"),
    }
}

/// Says that a test is skipped, and why.
///
/// # Panics
/// `CI` is set.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    say(&format!("skipped: {reason}"));
}

/// Says something out loud: what `eprintln!` says of a test that passes is kept back.
pub(crate) fn say(text: &str) {
    writeln!(std::io::stderr().lock(), "{text}").unwrap();
}

/// A folder of results of others, which stand beside the repository and not in it.
#[track_caller]
pub(crate) fn oracle(name: &str) -> Option<PathBuf> {
    let oracles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/oracles");
    let folder = oracles.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("{} is not there", folder.display()));
    None
}
