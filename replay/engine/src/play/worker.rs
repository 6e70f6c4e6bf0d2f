//! A worker of a replay: the copies of projects, and the server that sees one of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fillrate_language::task::Hole;

use super::PlayError;
use super::projects::PlayableProject;
use crate::developer::{Developer, ServerCommand};

/// A worker's own state: a copy of each project it works on, the server of the last one, and what
/// runs its sessions.
#[derive(Default)]
pub(super) struct ReplayWorker {
    copies: HashMap<String, tempfile::TempDir>,
    server: Option<IdleServer>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// A server between two holes.
struct IdleServer {
    developer: Developer,
    workspace: PathBuf,
    /// The file that changed since the server last read the workspace.
    restored: PathBuf,
}

impl ReplayWorker {
    /// Runs a session with a server that has seen nothing but the workspace, in which one file
    /// is cut. A server that is idle afterwards serves the next hole of the workspace, so that a
    /// repository is read once: see [`Developer::begin_session`].
    pub(super) fn run_session<T>(
        &mut self,
        command: &ServerCommand,
        workspace: &Path,
        cut: &Path,
        session: impl AsyncFnOnce(&mut Developer) -> Result<T, PlayError>,
    ) -> Result<T, PlayError> {
        // The server is taken out: if the session fails, it is dropped and not used again.
        let earlier = self.server.take();
        let (result, developer) = self.block_on(async {
            let mut developer = match earlier {
                Some(mut idle) if idle.workspace == workspace => {
                    // The server still knows the last hole's file as cut, and this one's as whole.
                    let changed = [idle.restored, cut.to_owned()];
                    idle.developer.begin_session(&changed).await?;
                    idle.developer
                }
                other => {
                    if let Some(idle) = other {
                        idle.developer.shut_down().await?;
                    }
                    Developer::start(command, workspace).await?
                }
            };
            let result = session(&mut developer).await?;
            Ok((result, developer))
        })?;
        // A server that still works on a request could answer into the next session.
        if developer.is_idle() {
            self.server = Some(IdleServer {
                developer,
                workspace: workspace.to_owned(),
                restored: cut.to_owned(),
            });
        }
        Ok(result)
    }

    /// Runs a session with a server to its end.
    fn block_on<T>(
        &mut self,
        session: impl Future<Output = Result<T, PlayError>>,
    ) -> Result<T, PlayError> {
        // The runtime outlives a session because an idle server's connection is bound to it.
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(PlayError::file("the runtime"))?,
        };
        let result = runtime.block_on(session);
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
            project.prepared.materialise(&folder.path().join(name))?;
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
        // A hidden file is not in the copy: it exists only while its own hole is open.
        if prepared.project.hidden.matches(&hole.path) {
            std::fs::remove_file(&path).map_err(PlayError::file(&path))?;
        } else {
            let source = prepared.source.join(&hole.path);
            std::fs::copy(&source, &path).map_err(PlayError::file(&path))?;
        }
        Ok(())
    }
}

impl Drop for ReplayWorker {
    /// Lets the server store its telemetry.
    fn drop(&mut self) {
        if let Some(idle) = self.server.take() {
            // A server that went away has nothing left to store.
            let _ = self.block_on(async { Ok(idle.developer.shut_down().await?) });
        }
    }
}
