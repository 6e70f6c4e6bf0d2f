//! `workspace/didChangeWatchedFiles`.

use tower_lsp::lsp_types::DidChangeWatchedFilesParams;

use crate::lsp::session::Session;

pub(in crate::lsp) fn handle(session: &Session, params: &DidChangeWatchedFilesParams) {
    for change in &params.changes {
        session.uri_changed(change.uri.as_str());
    }
}
