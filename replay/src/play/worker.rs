//! A worker of a replay: the copies of projects that its servers see.

use std::collections::HashMap;
use std::path::PathBuf;

use super::PlayError;
use super::projects::PlayableProject;
use crate::corpus::tree;
use crate::task::Hole;

/// A worker's own state: a copy of each project it works on, and what runs its conversations.
#[derive(Default)]
pub(super) struct ReplayWorker {
    copies: HashMap<String, tempfile::TempDir>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl ReplayWorker {
    /// Runs a conversation with a server to its end.
    pub(super) fn block_on<T>(
        &mut self,
        conversation: impl Future<Output = Result<T, PlayError>>,
    ) -> Result<T, PlayError> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(PlayError::file("the runtime"))?,
        };
        let result = runtime.block_on(conversation);
        self.runtime = Some(runtime);
        result
    }

    /// Writes a file with its hole cut out into the worker's copy of the project, so the server
    /// never sees the reference. Returns the copy's folder.
    pub(super) fn write_cut_file(
        &mut self,
        project: &PlayableProject,
        hole: &Hole,
        cut: &str,
    ) -> Result<PathBuf, PlayError> {
        let name = project.name();
        if !self.copies.contains_key(name) {
            let folder = tempfile::tempdir().map_err(PlayError::file(std::env::temp_dir()))?;
            tree::materialise(&project.prepared, &folder.path().join(name))?;
            self.copies.insert(name.to_owned(), folder);
        }
        // The folder has the project's name because prompts contain it.
        let workspace = self.copies[name].path().join(name);
        let path = workspace.join(&hole.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(PlayError::file(folder))?;
        }
        std::fs::write(&path, cut).map_err(PlayError::file(&path))?;
        Ok(workspace)
    }

    /// Restores the file that a hole was cut out of.
    pub(super) fn restore_file(
        &self,
        project: &PlayableProject,
        hole: &Hole,
    ) -> Result<(), PlayError> {
        let Some(folder) = self.copies.get(project.name()) else {
            return Ok(());
        };
        let path = folder.path().join(project.name()).join(&hole.path);
        let prepared = &project.prepared;
        if prepared.project.hidden.matches(&hole.path) {
            std::fs::remove_file(&path).map_err(PlayError::file(&path))?;
        } else {
            let source = prepared.source.join(&hole.path);
            std::fs::copy(&source, &path).map_err(PlayError::file(&path))?;
        }
        Ok(())
    }
}
