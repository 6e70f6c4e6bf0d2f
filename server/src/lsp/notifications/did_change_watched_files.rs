//! `workspace/didChangeWatchedFiles`.

use tower_lsp::lsp_types::DidChangeWatchedFilesParams;

use super::did_change_configuration;
use crate::documents::file_path;
use crate::lsp::session::EditorSession;

pub(in crate::lsp) async fn handle(session: &EditorSession, params: &DidChangeWatchedFilesParams) {
    for change in &params.changes {
        session.uri_changed(change.uri.as_str());
    }
    let settings = session.settings_files();
    let mut changed = params.changes.iter();
    if changed.any(|change| {
        let path = file_path(change.uri.as_str());
        path.is_some_and(|path| settings.contains(&path))
    }) {
        did_change_configuration::reload(session).await;
    }
}
