//! `workspace/didChangeWorkspaceFolders`.

use std::path::PathBuf;

use tower_lsp::lsp_types::{DidChangeWorkspaceFoldersParams, MessageType, WorkspaceFolder};

use crate::documents::file_path;
use crate::lsp::broad_folders::{broad_folder_notice, is_too_broad};
use crate::lsp::session::{BackgroundJob, EditorSession};

/// Changes the folders and queues indexing.
pub(in crate::lsp) async fn handle(
    session: &EditorSession,
    params: &DidChangeWorkspaceFoldersParams,
) {
    let removed = paths(&params.event.removed);
    let (broad, added): (Vec<_>, Vec<_>) = paths(&params.event.added)
        .into_iter()
        .partition(|folder| is_too_broad(folder));
    if let Some(mut state) = session.state() {
        state
            .folders
            .retain(|folder| !removed.contains(folder) && !added.contains(folder));
        state.folders.extend(added);
        state.revision += 1;
        if let Some(engines) = &state.engines {
            engines.remove_folders(&removed);
        }
    }
    // A folder's own settings may name another model, which then must be opened first.
    let chosen = session.configuration();
    if let Some(mut state) = session.state() {
        let engines = state.engines.clone();
        let same_models = engines
            .zip(chosen.ok())
            .is_some_and(|(engines, chosen)| engines.has_models_of(&chosen));
        if !same_models {
            state.suspended = true;
            state.is_opening = true;
            state.cancel_asking();
        }
    }
    session.queue(BackgroundJob::Index);
    for folder in broad {
        let notice = broad_folder_notice(&folder);
        session.client.show_message(MessageType::INFO, notice).await;
    }
}

fn paths(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    folders
        .iter()
        .filter_map(|folder| file_path(folder.uri.as_str()))
        .collect()
}
