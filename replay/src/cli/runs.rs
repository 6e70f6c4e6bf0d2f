//! Runs as they are named on the command line: a folder that is a run, or one that holds the runs
//! of several contexts.

use std::path::{Path, PathBuf};

use fillrate_engine::store::{FILE_NAME, Run};

use super::CliError;

/// Opens runs, in the order in which they are named.
pub(super) fn open_runs(folders: &[PathBuf]) -> Result<Vec<Run>, CliError> {
    let runs = folders.iter().flat_map(|folder| expand_runs(folder));
    Ok(runs
        .map(|folder| Run::open(&folder))
        .collect::<Result<_, _>>()?)
}

/// The folder itself, or the runs that it holds.
pub(super) fn expand_runs(folder: &Path) -> Vec<PathBuf> {
    let inner = inner_runs(folder);
    match inner.is_empty() {
        true => vec![folder.to_owned()],
        false => inner,
    }
}

/// The runs that a folder holds, by name; none if it is a run itself.
pub(super) fn inner_runs(folder: &Path) -> Vec<PathBuf> {
    if folder.join(FILE_NAME).is_file() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(FILE_NAME).is_file())
        .collect();
    runs.sort();
    runs
}

/// What a run is called in a table: its folder's name.
pub(super) fn run_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}
