//! What a test framework makes of a project's files, kept at hand for runs that then need nothing
//! but its workers.
//!
//! One process, in a sandbox that is kept, has transformed every file that the project's own tests
//! load. For a change it is told the changed file's text and says what it makes of that; it runs
//! none of it. The tests run elsewhere, each time in a sandbox of their own, and nothing leads from
//! there back to that process: what it says is the same whatever was run before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::VerdictError;
use crate::sandbox::{End, Job, Overlay, Replaced, Sandbox, SandboxError, Worker};

/// A process that transforms, and what it made of the unchanged project.
#[derive(Debug)]
pub(super) struct Stage {
    /// Nothing once it is dead.
    worker: Option<Worker>,
    folder: tempfile::TempDir,
    /// The names of the files in the folder.
    names: Vec<PathBuf>,
}

/// Where runs see what was transformed.
pub(super) const SCENE: &str = "/box/scene";

/// Longest time for the whole project.
pub(super) const WHOLE: Duration = Duration::from_secs(600);
/// Longest time for one file: what takes longer is better left to a run with limits of its own.
const ONE: Duration = Duration::from_secs(20);

/// What the process answers.
#[derive(Deserialize)]
struct Answer {
    /// By name; nothing where it could not do as it was asked.
    #[serde(default)]
    files: Option<BTreeMap<String, String>>,
    #[serde(default)]
    fault: Option<String>,
}

impl Stage {
    /// Starts the process and has it transform the whole project.
    pub(super) fn set(job: Job) -> Result<Self, VerdictError> {
        let program = job.program.clone();
        let refuse = |reason: String| {
            VerdictError::Sandbox(SandboxError::Program {
                program: program.clone(),
                reason,
            })
        };
        let mut worker = Some(Worker::start(Sandbox::default().executable, job)?);
        let answer = ask(&mut worker, "{}".to_owned(), WHOLE)?;
        let files = match answer {
            Some(Answer {
                files: Some(files), ..
            }) => files,
            Some(Answer { fault, .. }) => return Err(refuse(fault.unwrap_or_default())),
            None => return Err(refuse("it says nothing".to_owned())),
        };
        let fault = |path: &Path| {
            let path = path.to_owned();
            move |source| VerdictError::Cache { path, source }
        };
        let folder = tempfile::tempdir().map_err(fault(&std::env::temp_dir()))?;
        super::runner::readable(folder.path()).map_err(fault(folder.path()))?;
        for (name, text) in &files {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map_err(fault(&path))?;
        }
        Ok(Self {
            worker,
            folder,
            names: files.into_keys().map(PathBuf::from).collect(),
        })
    }

    /// What runs are shown where a file of the project has other contents; nothing when the process
    /// died over it or could not do it.
    pub(super) fn change(
        &mut self,
        path: &str,
        contents: &str,
    ) -> Result<Option<Overlay>, VerdictError> {
        let question = serde_json::json!({"path": path, "contents": contents}).to_string();
        let answer: Option<Answer> = ask(&mut self.worker, question, ONE)?;
        let files = answer.and_then(|answer| answer.files);
        Ok(files.map(|files| {
            let laid_over = files.into_iter().map(|(name, text)| Replaced {
                path: name.into(),
                content: text.into(),
            });
            self.overlay(laid_over.collect())
        }))
    }

    /// What runs are shown with these files in place of those of the same names.
    pub(super) fn overlay(&self, replaced: Vec<Replaced>) -> Overlay {
        let mut overlay = Overlay::new(self.folder.path(), SCENE);
        overlay.guarded.clone_from(&self.names);
        overlay.replaced = replaced;
        overlay
    }
}

/// The answer to a line, if there is one.
pub(super) fn ask<T: DeserializeOwned>(
    worker: &mut Option<Worker>,
    mut question: String,
    time: Duration,
) -> Result<Option<T>, VerdictError> {
    let Some(asked) = worker.take() else {
        return Ok(None);
    };
    question.push('\n');
    let (finished, alive) = asked.ask(question, time)?;
    *worker = alive;
    if finished.end != End::Exited(0) {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&finished.statement).ok())
}
