//! `workspace/didChangeWatchedFiles`.

use tower_lsp::lsp_types::DidChangeWatchedFilesParams;

use crate::lsp::session::EditorSession;

pub(in crate::lsp) fn handle(session: &EditorSession, params: &DidChangeWatchedFilesParams) {
    for change in &params.changes {
        session.uri_changed(change.uri.as_str());
    }
}
