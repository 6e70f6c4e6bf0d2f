//! Runs as logs of [Inspect](https://inspect.aisi.org.uk), written by its own library.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fillrate_engine::store::Run;

use super::{EvaluationRecord, ExportError};

/// Reads records and rows from standard input and writes a log.
const SCRIPT: &str = include_str!("inspect_log.py");

/// Writes a log of each run into a folder with a Python that has `inspect_ai`, and returns their
/// paths.
///
/// # Errors
/// A run can't be read, or that Python is missing or fails.
pub fn write_inspect(
    runs: &[Run],
    python: &Path,
    folder: &Path,
) -> Result<Vec<PathBuf>, ExportError> {
    runs.iter()
        .map(|run| write_log(run, python, folder))
        .collect()
}

fn write_log(run: &Run, python: &Path, folder: &Path) -> Result<PathBuf, ExportError> {
    let record = EvaluationRecord::load(run)?;
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| ExportError::Inspect(format!("{}: {error}", python.display())))?;
    // The script writes nothing before it has read all input. If it stops reading, its exit status
    // and output show the reason.
    let sent = child.stdin.take().map(|input| send(&record, input));
    // The status is examined before the error of sending, which says only that the pipe broke.
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.trim().lines().next_back().unwrap_or("no reason given");
        return Err(ExportError::Inspect(format!(
            "{}: {reason}",
            python.display()
        )));
    }
    sent.unwrap_or(Ok(()))?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}

fn send(record: &EvaluationRecord<'_>, input: impl Write) -> Result<(), ExportError> {
    let mut input = BufWriter::new(input);
    writeln!(input, "{}", record.aggregate())?;
    record.each_row(|row| Ok(writeln!(input, "{row}")?))?;
    Ok(input.flush()?)
}
