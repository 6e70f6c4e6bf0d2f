//! `fillrate study --demo`: replays model versions that need no network.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::super::CliError;
use super::StudyArguments;

/// The model versions: configurations of the embedded model, by name, as settings. They differ in
/// context, temperature and clean-up, so that their figures differ.
const VERSIONS: [(&str, &str); 5] = [
    (
        "v1-open-file-only",
        "[model]\nprotocol = \"embedded\"\n\n[context]\nprofile = \"none\"\n",
    ),
    (
        "v2-hot",
        "[model]\nprotocol = \"embedded\"\ntemperature = 1.2\n",
    ),
    (
        "v3-one-line",
        "[model]\nprotocol = \"embedded\"\n\n[cleanup]\nextent = \"line\"\n",
    ),
    (
        "v4-warm",
        "[model]\nprotocol = \"embedded\"\ntemperature = 0.6\n",
    ),
    ("v5-default", "[model]\nprotocol = \"embedded\"\n"),
];

/// The kinds of holes: those that so weak a model sometimes fills.
const KINDS: &str = "line,span";

/// The latency of every completion in the demo, in milliseconds: scripted, so that the demo's
/// figures are the same on every machine.
const LATENCY_MS: &str = "30";

/// Replays every version as a run of its own, resuming interrupted ones, and returns the runs'
/// folders.
///
/// # Errors
/// A replay fails; it prints why.
pub(super) fn replay_versions(arguments: &StudyArguments) -> Result<Vec<PathBuf>, CliError> {
    if !arguments.corpus.is_file() {
        return Err(CliError::Refused(format!(
            "{} does not exist; run the demo in the project's folder, or name its corpus with \
             --corpus",
            arguments.corpus.display()
        )));
    }
    let folder = arguments.out.join("versions");
    std::fs::create_dir_all(&folder).map_err(CliError::file(&folder))?;
    let mut runs = Vec::new();
    for (at, (name, settings)) in VERSIONS.iter().enumerate() {
        note!("version {} of {}: {name}", at + 1, VERSIONS.len());
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, settings).map_err(CliError::file(&file))?;
        let run = folder.join(name);
        // A process of its own, so that a replay prints to the terminal and can be interrupted by
        // itself.
        let status = Command::new("/proc/self/exe")
            .arg("replay")
            .arg(&arguments.corpus)
            .args(["--mode", "type", "--latency", LATENCY_MS])
            .args(["--holes", &arguments.holes.to_string(), "--kinds", KINDS])
            .arg("--model")
            .arg(&file)
            .arg("--out")
            .arg(&run)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(CliError::file("/proc/self/exe"))?;
        // 3: some projects could not be replayed; the replay prints which.
        if !matches!(status.code(), Some(0 | 3)) {
            return Err(CliError::Refused(format!(
                "the replay of {name} failed ({status}); fix the error above and rerun the command, \
                 which resumes the demo"
            )));
        }
        runs.push(run);
    }
    Ok(runs)
}
