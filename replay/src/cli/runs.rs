//! Runs as they are named on the command line: a folder that is a run, or one that holds the runs
//! of several contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fillrate_engine::store::{FILE_NAME, Run};
use fillrate_verdict::Outcome;

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

/// The files of the databases of runs, with those that SQLite keeps next to them.
pub(super) fn database_files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let runs = folders.iter().flat_map(|folder| expand_runs(folder));
    // A folder that can't be read is reported when the run is opened.
    let entries = runs.filter_map(|run| std::fs::read_dir(run).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(FILE_NAME)
        })
        .collect()
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

/// Says that a run with this name lacks attempts, and why most of those failed that did.
pub(super) fn missing_attempts(name: &str, run: &Run) -> Result<String, CliError> {
    // Typings keep no reasons.
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for verdict in run.attempts()?.into_iter().map(|attempt| attempt.verdict) {
        if verdict.outcome == Outcome::Infrastructure {
            *reasons.entry(verdict.reason).or_default() += 1;
        }
    }
    let failed: usize = reasons.values().sum();
    let missing =
        format!("some attempts of {name} are missing or ended in an infrastructure failure");
    Ok(match reasons.into_iter().max_by_key(|(_, count)| *count) {
        None => missing,
        Some((reason, count)) if count == failed => format!("{missing}: {reason}"),
        Some((reason, _)) => format!("{missing}, for example: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::check_not_input;
    use super::*;

    #[test]
    fn outputs_never_replace_what_a_command_reads() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = folder.path().join("run");
        std::fs::create_dir(&run).expect("the folder is made");
        for name in ["run.db", "run.db-wal", "notes.csv"] {
            std::fs::write(run.join(name), "").expect("the file is written");
        }
        let link = folder.path().join("link.jsonl");
        std::os::unix::fs::symlink(run.join("run.db"), &link).expect("the link is made");
        let refused = |output: PathBuf| {
            let inputs = database_files(std::slice::from_ref(&run));
            check_not_input(&output, inputs).is_err()
        };
        for name in ["run.db", "run.db-wal", "../run/run.db", "../link.jsonl"] {
            assert!(refused(run.join(name)), "{name}");
        }
        for name in ["notes.csv", "new.csv", "../new.csv"] {
            assert!(!refused(run.join(name)), "{name}");
        }
        let file = folder.path().join("predictions.jsonl");
        std::fs::write(&file, "").expect("the file is written");
        assert!(check_not_input(&folder.path().join("run/../predictions.jsonl"), [&file]).is_err());
    }
}
