//! `workspace/didChangeWatchedFiles`.

use tower_lsp::lsp_types::DidChangeWatchedFilesParams;

use super::did_change_configuration;
use crate::documents::file_path;
use crate::lsp::session::EditorSession;

pub(in crate::lsp) async fn handle(session: &EditorSession, params: &DidChangeWatchedFilesParams) {
    for change in &params.changes {
        session.uri_changed(change.uri.as_str());
    }
    let changed = params.changes.iter();
    reload_settings(session, changed.map(|change| change.uri.as_str())).await;
}

/// Applies the settings anew if one of these files holds some.
pub(in crate::lsp) async fn reload_settings<'u>(
    session: &EditorSession,
    mut uris: impl Iterator<Item = &'u str>,
) {
    let settings = session.settings_files();
    if uris.any(|uri| file_path(uri).is_some_and(|path| settings.contains(&path))) {
        did_change_configuration::reload(session).await;
    }
}
