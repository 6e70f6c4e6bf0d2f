//! A process that transforms a project's files as its test framework does, for runs that then need
//! only the framework's workers.
//!
//! The process runs in a long-lived sandbox and has transformed every file that the project's own
//! tests load. For a change it gets the changed files' texts and returns the transformed files; it
//! runs none of them. The tests run in a sandbox of their own each time, which can't reach the
//! transformer: its answer does not depend on earlier runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fillrate_sandbox::{End, Finished, Job, Overlay, Replaced, Sandbox, SandboxError, Worker};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::VerdictError;
use crate::judged_code::FileContents;
use crate::runner::harness::make_readable;
use crate::runner::layout::TRANSFORMED;

/// A process that transforms files, and the transformed files of the unchanged project.
#[derive(Debug)]
pub(super) struct Transformer {
    /// `None` once it is dead.
    worker: Option<Worker>,
    folder: tempfile::TempDir,
    /// The names of the files in the folder.
    names: Vec<PathBuf>,
}

/// The time limit for transforming the whole project.
pub(super) const START_TIME: Duration = Duration::from_secs(600);
/// The time limit for one change: one that takes longer is left to a run with limits of its own.
const CHANGE_TIME: Duration = Duration::from_secs(20);

/// Response of the process.
#[derive(Deserialize)]
struct TransformResponse {
    /// By name; `None` if it failed.
    #[serde(default)]
    files: Option<BTreeMap<String, String>>,
    #[serde(default)]
    fault: Option<String>,
}

impl Transformer {
    /// Starts the process and has it transform the whole project.
    ///
    /// # Errors
    /// The sandbox is unavailable, or the process can't transform the project.
    pub(super) fn start(job: Job) -> Result<Self, VerdictError> {
        let mut worker = Some(Worker::start(Sandbox::default().executable, job)?);
        // The first query has no changes and returns the whole project.
        let response = query(&mut worker, "{}".to_owned(), START_TIME)?;
        let files = match response {
            Some(TransformResponse {
                files: Some(files), ..
            }) => match files.keys().find(|name| !is_plain_name(name)) {
                // The project's own plugins run in the process, and its files are written outside
                // of the sandbox.
                Some(name) => Err(format!("`{name}` leads out of its folder")),
                None => Ok(files),
            },
            Some(TransformResponse { fault, .. }) => Err(fault.unwrap_or_default()),
            None => Err("it gives no answer".to_owned()),
        };
        let files = files.map_err(|reason| SandboxError::Unfit { reason })?;
        let cache_error = |path: &Path| {
            let path = path.to_owned();
            move |source| VerdictError::Cache { path, source }
        };
        let folder = tempfile::tempdir().map_err(cache_error(&std::env::temp_dir()))?;
        make_readable(folder.path()).map_err(cache_error(folder.path()))?;
        for (name, text) in &files {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map_err(cache_error(&path))?;
        }
        Ok(Self {
            worker,
            folder,
            names: files.into_keys().map(PathBuf::from).collect(),
        })
    }

    /// The overlay for runs with changed files; `None` if the process died or failed.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn transform(
        &mut self,
        changes: &[FileContents<'_>],
    ) -> Result<Option<Overlay>, VerdictError> {
        let changes: Vec<[&str; 2]> = changes
            .iter()
            .map(|file| [file.path, file.contents])
            .collect();
        let line = serde_json::json!({ "changes": changes }).to_string();
        let response: Option<TransformResponse> = query(&mut self.worker, line, CHANGE_TIME)?;
        let files = response.and_then(|response| response.files);
        Ok(files.map(|files| {
            let replaced = files.into_iter().map(|(name, text)| Replaced {
                path: name.into(),
                content: text.into(),
            });
            self.overlay(replaced.collect())
        }))
    }

    /// The overlay for runs, with these files in place of those of the same names.
    pub(super) fn overlay(&self, replaced: Vec<Replaced>) -> Overlay {
        let mut overlay = Overlay::new(self.folder.path(), TRANSFORMED);
        overlay.guarded.clone_from(&self.names);
        overlay.replaced = replaced;
        overlay
    }
}

/// True for the name of a file in a folder, which does not lead out of it.
fn is_plain_name(name: &str) -> bool {
    Path::new(name).file_name() == Some(name.as_ref())
}

/// Sends a line to a worker and returns its answer; `None` if the worker is dead or gives no
/// answer. A worker that does not survive is removed.
///
/// # Errors
/// The sandbox is unavailable.
fn query<T: DeserializeOwned>(
    worker: &mut Option<Worker>,
    line: String,
    time_limit: Duration,
) -> Result<Option<T>, VerdictError> {
    let finished = ask(worker, line, time_limit)?;
    Ok(finished.and_then(|finished| serde_json::from_slice(&finished.reply).ok()))
}

/// As [`query`], with the answer as it came.
///
/// # Errors
/// The sandbox is unavailable.
pub(crate) fn ask(
    worker: &mut Option<Worker>,
    mut line: String,
    time_limit: Duration,
) -> Result<Option<Finished>, VerdictError> {
    let Some(taken) = worker.take() else {
        return Ok(None);
    };
    line.push('\n');
    let (finished, alive) = taken.query(line, time_limit)?;
    // A worker that died in the query is not returned, and the place stays empty.
    *worker = alive;
    Ok((finished.end == End::Exited(0)).then_some(finished))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_folder() {
        for name in ["index.json", "0f3a", "..json"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "/etc/x",
            "a/b",
            "a/",
            "a/../../x",
            "./x",
        ] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
