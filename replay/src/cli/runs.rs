//! Runs as they are named on the command line: a folder that is a run, or one that holds the runs
//! of several contexts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fillrate_engine::store::{FILE_NAME, Run};

use super::CliError;

/// Opens runs, in the order in which they are named.
pub(super) fn open_runs(folders: &[PathBuf]) -> Result<Vec<Run>, CliError> {
    let runs: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| expand_runs(folder))
        .collect();
    check_unique(&runs)?;
    Ok(runs
        .iter()
        .map(|folder| Run::open(folder))
        .collect::<Result<_, _>>()?)
}

/// Refuses a path that is named twice: what it holds would count twice.
pub(super) fn check_unique<P: AsRef<Path>>(paths: &[P]) -> Result<(), CliError> {
    let mut known: Vec<(PathBuf, &Path)> = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        // Links and relative paths may name one folder in several ways.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some((_, first)) = known.iter().find(|(known, _)| *known == real) {
            let same = match *first == path {
                true => "is named twice".to_owned(),
                false => format!("is {}, which is named already", first.display()),
            };
            return Err(CliError::Refused(format!(
                "{} {same}; leave one of them out",
                path.display()
            )));
        }
        known.push((real, path));
    }
    Ok(())
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
    // A run's own folder may hold further runs, such as one of another context.
    if folder.join(FILE_NAME).is_file() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(FILE_NAME).is_file())
        .collect();
    // The order of a folder's entries differs between file systems.
    runs.sort();
    runs
}

/// Returns names of runs in a table: those of their folders, or their paths if two are alike.
pub(super) fn run_names<P: AsRef<Path>>(folders: &[P]) -> Vec<String> {
    let folders = || folders.iter().map(AsRef::as_ref);
    let names: Vec<String> = folders()
        .map(|folder: &Path| {
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            name.to_string_lossy().into_owned()
        })
        .collect();
    match names.iter().collect::<BTreeSet<_>>().len() == names.len() {
        true => names,
        false => folders()
            .map(|folder| folder.display().to_string())
            .collect(),
    }
}
