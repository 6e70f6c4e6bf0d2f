//! `textDocument/didChange`.

use tower_lsp::lsp_types::DidChangeTextDocumentParams;

use crate::documents::ContentChange;
use crate::lsp::position::from_protocol;
use crate::lsp::service::NO_VERSION;
use crate::lsp::session::EditorSession;

pub(in crate::lsp) fn handle(session: &EditorSession, params: DidChangeTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    let version = params.text_document.version;
    let edits: Vec<ContentChange> = params
        .content_changes
        .into_iter()
        .map(|change| ContentChange {
            range: change
                .range
                .map(|range| from_protocol(range.start)..from_protocol(range.end)),
            text: change.text,
        })
        .collect();
    let (after, view, changes, recorder, engines) = {
        let Some(mut state) = session.state() else {
            return;
        };
        let encoding = state.features.encoding;
        let version = match version {
            NO_VERSION => {
                let known = state.documents.snapshot(uri);
                known.map_or(0, |document| document.version.wrapping_add(1))
            }
            version => version,
        };
        let changes = state.documents.change(uri, version, &edits, encoding);
        let after = state.documents.snapshot(uri);
        let view = state.documents.model_view(uri);
        let (Some(after), Some(view), Some(changes)) = (after, view, changes) else {
            // VS Code sends the last edit of a document that it reverts and closes after its end.
            tracing::debug!(uri, "an edit of a document that is not open was dropped");
            return;
        };
        // A completion for the earlier text can't be shown any more.
        state.cancel_running(uri);
        let (recorder, engines) = (state.recorder.clone(), state.engines.clone());
        (after, view, changes, recorder, engines)
    };
    recorder.document_edited(&after, &changes);
    if let Some(engines) = engines {
        engines.document_edited(&view.document, &changes);
    }
}
