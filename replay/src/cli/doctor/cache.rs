//! `fillrate doctor --cache`: what the cache holds, and what of it is no longer needed.

use std::path::Path;

use fillrate_server::context::{KeptEntry, KeptIndexError, kept_indexes, prune};
use fillrate_verdict::corpus::cache::Cache;

use crate::cli::{CliError, Success};

/// Lists the cache's folders with their sizes, and removes indexes that no workspace needs.
pub(super) fn run() -> Result<Success, CliError> {
    let cache = Cache::from_environment()?;
    let root = cache.root();
    let fault = |error: KeptIndexError| CliError::Refused(error.to_string());
    // Pruning comes first, so that the sizes below are those that remain.
    let removed = prune(root).map_err(fault)?;
    let kept = kept_indexes(root).map_err(fault)?;
    sayln!("The cache is {}.", root.display());
    let mut folders = match std::fs::read_dir(root) {
        Ok(listed) => listed.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(CliError::file(root)(error)),
    };
    folders.sort();
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        sayln!("  {:>9}  {name}", megabytes(size(folder)));
    }
    if folders.is_empty() {
        sayln!("  It is empty.");
    }
    list("Indexes kept for the next start of a server:", &kept);
    list(
        "Removed, since their workspace is gone or the limit is reached:",
        &removed,
    );
    sayln!(
        "Every other folder may be removed by hand while nothing runs; what is needed is made again."
    );
    Ok(Success::Whole)
}

fn list(title: &str, entries: &[KeptEntry]) {
    if entries.is_empty() {
        return;
    }
    sayln!("{title}");
    for entry in entries {
        let folders = entry
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        let folders: Vec<String> = folders.collect();
        let what = entry.model.as_ref().map_or(String::new(), |model| {
            format!(" (what the model {model} has learnt)")
        });
        sayln!(
            "  {:>9}  {}{what}",
            megabytes(entry.size),
            folders.join(", ")
        );
    }
}

/// The bytes of all files in a folder, or of a file. What can't be read counts nothing.
fn size(path: &Path) -> u64 {
    // A link is counted by itself: its target may be outside of the cache.
    let Ok(metadata) = path.symlink_metadata() else {
        return 0;
    };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
