//! `workspace/didChangeWorkspaceFolders`.

use std::path::PathBuf;

use tower_lsp::lsp_types::{DidChangeWorkspaceFoldersParams, WorkspaceFolder};

use crate::documents::file_path;
use crate::lsp::session::{BackgroundJob, EditorSession};

/// Changes the folders and has the repository indexed again.
pub(in crate::lsp) fn handle(session: &EditorSession, params: &DidChangeWorkspaceFoldersParams) {
    let removed = paths(&params.event.removed);
    let added = paths(&params.event.added);
    if let Some(mut state) = session.state() {
        state
            .folders
            .retain(|folder| !removed.contains(folder) && !added.contains(folder));
        state.folders.extend(added);
    }
    session.queue(BackgroundJob::Index);
}

fn paths(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    folders
        .iter()
        .filter_map(|folder| file_path(folder.uri.as_str()))
        .collect()
}
