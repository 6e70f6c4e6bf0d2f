//! `textDocument/didOpen`.

use tower_lsp::lsp_types::DidOpenTextDocumentParams;

use crate::lsp::session::EditorSession;

pub(in crate::lsp) fn handle(session: &EditorSession, params: DidOpenTextDocumentParams) {
    let item = params.text_document;
    let uri = item.uri.as_str();
    let (document, recorder, engines) = {
        let Some(mut state) = session.state() else {
            return;
        };
        state
            .documents
            .open(uri, &item.language_id, item.version, &item.text);
        let Some(document) = state.documents.snapshot(uri) else {
            return;
        };
        (document, state.recorder.clone(), state.engines.clone())
    };
    recorder.document_opened(&document);
    if let Some(engines) = engines {
        engines.document_opened(&document);
        // The previously edited file may have unindexed changes.
        engines.settle_soon();
    }
}
