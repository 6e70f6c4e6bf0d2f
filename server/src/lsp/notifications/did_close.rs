//! `textDocument/didClose`.

use tower_lsp::lsp_types::DidCloseTextDocumentParams;

use crate::lsp::session::EditorSession;

pub(in crate::lsp) fn handle(session: &EditorSession, params: &DidCloseTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    let (recorder, engines) = {
        let Some(mut state) = session.state() else {
            return;
        };
        state.documents.close(uri);
        state.cancel_running(uri);
        state.completions.remove(uri);
        (state.recorder.clone(), state.engines.clone())
    };
    recorder.document_closed(uri);
    if let Some(engines) = engines {
        engines.document_closed(uri);
    }
    // From now on the file's contents on disk count.
    session.uri_changed(uri);
}
