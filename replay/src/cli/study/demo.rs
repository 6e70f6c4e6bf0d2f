//! `fillrate study --demo`: model versions that anybody can play, offline.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::super::CliError;
use super::Arguments;

/// The model versions: configurations of the embedded model, by name, as settings. They differ in
/// what the model is told and in how far it is let stray, so that their figures differ.
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

/// The kinds of holes: those that so weak a model fills now and then.
const KINDS: &str = "line,span";

/// The time that every answer takes in the demo, in milliseconds: scripted, so that the demo comes
/// to the same figures on every machine.
const LATENCY_MS: &str = "30";

/// Replays every version, each as a run of its own that goes on where it was stopped, and gives
/// the runs' folders.
///
/// # Errors
/// A replay failed; it has said why.
pub(super) fn play(arguments: &Arguments) -> Result<Vec<PathBuf>, CliError> {
    if !arguments.corpus.is_file() {
        return Err(CliError::Refused(format!(
            "{} is not there; start the demo in the project's folder, or name its corpus by \
             --corpus",
            arguments.corpus.display()
        )));
    }
    let folder = arguments.out.join("versions");
    std::fs::create_dir_all(&folder).map_err(CliError::file(&folder))?;
    let mut runs = Vec::new();
    for (at, (name, settings)) in VERSIONS.iter().enumerate() {
        eprintln!("version {} of {}: {name}", at + 1, VERSIONS.len());
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, settings).map_err(CliError::file(&file))?;
        let run = folder.join(name);
        // This very program, as a process of its own: a replay speaks for itself on the terminal,
        // and may be stopped by itself.
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
        // 3: some projects could not be replayed, and the replay has said which.
        if !matches!(status.code(), Some(0 | 3)) {
            return Err(CliError::Refused(format!(
                "the replay of {name} failed ({status}); mend what it says above and start the \
                 same command again, nothing that was done is lost"
            )));
        }
        runs.push(run);
    }
    Ok(runs)
}
