//! Programs that tests need from outside the repository: real programs, installed by the scripts in
//! `tests/setup`, and recorded results of others. A test that lacks something fails if `CI` is set,
//! and otherwise skips with a message.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variable with the names of programs that this run of tests must not use, set by `tests/run`.
const LEAVE_OUT: &str = "FILLRATE_TESTS_LEAVE_OUT";

/// Installs a program and returns its path. If it is unavailable on this machine, fails if `CI` is
/// set, and otherwise prints that and returns `None`. Returns `None` too if `tests/run` leaves it
/// to `--all`.
pub(crate) fn install(name: &str) -> Option<PathBuf> {
    let left_out = std::env::var(LEAVE_OUT).unwrap_or_default();
    if left_out.split(' ').any(|left_out| left_out == name) {
        print_uncaptured(&format!("left out: {name} is for `tests/run --all`"));
        return None;
    }
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
            skip(&format!("{name} is unavailable: {said}"));
            None
        }
        status => panic!("{name}: {status:?}\n{said}"),
    }
}

/// A variable of the environment, and its value.
pub(crate) type Variable = (&'static str, String);

/// The search path with a folder of programs first.
pub(crate) fn search_path(folder: &Path) -> Variable {
    let path = std::env::var("PATH").unwrap_or_default();
    ("PATH", format!("{}:{path}", folder.display()))
}

/// Installs Go and returns a search path on which it is first.
pub(crate) fn go_first() -> Option<Variable> {
    let program = install("go")?;
    Some(search_path(program.parent().unwrap()))
}

/// Installs JUnit and returns the variable by which Maven finds it.
pub(crate) fn junit_in_maven() -> Option<Variable> {
    let folder = install("junit")?;
    let options = format!("-Dmaven.repo.local={}", folder.display());
    Some(("MAVEN_OPTS", options))
}

/// True if attacks are judged under every runner, and not only under pytest.
pub(crate) fn judges_all_attacks() -> bool {
    std::env::var("FILLRATE_ATTACKS").is_ok_and(|which| which == "all")
}

/// Prints that a test is skipped, and why.
///
/// # Panics
/// `CI` is set.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    print_uncaptured(&format!("skipped: {reason}"));
}

/// Prints a line even for a passing test, whose `eprintln!` output is captured.
pub(crate) fn print_uncaptured(text: &str) {
    writeln!(std::io::stderr().lock(), "{text}").unwrap();
}

/// A folder of recorded results of other tools, which is next to the repository and not in it.
#[track_caller]
pub(crate) fn recorded_results(name: &str) -> Option<PathBuf> {
    let oracles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/oracles");
    let folder = oracles.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("{} does not exist", folder.display()));
    None
}
