//! The real programs that tests meet, brought by the scripts in `tests/setup`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
        Some(3 | 4) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped, since {name} can't be had here: {said}");
            None
        }
        status => panic!("{name}: {status:?}\n{said}"),
    }
}
