//! `notebookDocument/didOpen`, `didChange` and `didClose` of protocol version 3.17, which lsp-types
//! 0.94 does not have. A cell's text is a document like any other.
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#notebookDocument_synchronization>

use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    TextDocumentContentChangeEvent, TextDocumentIdentifier, TextDocumentItem, Url,
    VersionedTextDocumentIdentifier,
};

use super::{did_change, did_close, did_open};
use crate::lsp::session::EditorSession;

/// The method of [`DidOpenNotebookParams`].
pub(in crate::lsp) const DID_OPEN: &str = "notebookDocument/didOpen";

/// The method of [`DidChangeNotebookParams`].
pub(in crate::lsp) const DID_CHANGE: &str = "notebookDocument/didChange";

/// The method of [`DidCloseNotebookParams`].
pub(in crate::lsp) const DID_CLOSE: &str = "notebookDocument/didClose";

/// The method that a client sends when it saves a notebook. It has no effect.
pub(in crate::lsp) const DID_SAVE: &str = "notebookDocument/didSave";

/// Kind of a cell with code; the other kind has Markdown.
const CODE: u8 = 2;

/// Returns the capability: cells in Python, in notebooks of every kind.
pub(in crate::lsp) fn capability() -> Value {
    json!({"notebookSelector": [{"notebook": "*", "cells": [{"language": "python"}]}]})
}

/// A notebook that was opened, with its cells' texts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct DidOpenNotebookParams {
    notebook_document: OpenedNotebook,
    cell_text_documents: Vec<TextDocumentItem>,
}

#[derive(Debug, Deserialize)]
struct OpenedNotebook {
    uri: Url,
    cells: Vec<NotebookCell>,
}

#[derive(Debug, Deserialize)]
struct NotebookCell {
    kind: u8,
    document: Url,
}

/// A notebook whose cells or texts changed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct DidChangeNotebookParams {
    notebook_document: TextDocumentIdentifier,
    change: NotebookChange,
}

#[derive(Debug, Deserialize)]
struct NotebookChange {
    #[serde(default)]
    cells: Option<CellChanges>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CellChanges {
    #[serde(default)]
    structure: Option<StructureChange>,
    #[serde(default)]
    text_content: Option<Vec<CellTextChange>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StructureChange {
    array: CellSplice,
    #[serde(default)]
    did_open: Option<Vec<TextDocumentItem>>,
    #[serde(default)]
    did_close: Option<Vec<TextDocumentIdentifier>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CellSplice {
    start: usize,
    delete_count: usize,
    #[serde(default)]
    cells: Option<Vec<NotebookCell>>,
}

#[derive(Debug, Deserialize)]
struct CellTextChange {
    document: VersionedTextDocumentIdentifier,
    changes: Vec<TextDocumentContentChangeEvent>,
}

/// A notebook that was closed, with its cells.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct DidCloseNotebookParams {
    notebook_document: TextDocumentIdentifier,
    cell_text_documents: Vec<TextDocumentIdentifier>,
}

pub(in crate::lsp) fn handle_open(session: &EditorSession, params: DidOpenNotebookParams) {
    let notebook = params.notebook_document;
    if let Some(mut state) = session.state() {
        let cells = uris(notebook.cells);
        state.documents.open_notebook(notebook.uri.as_str(), cells);
    }
    open_texts(session, params.cell_text_documents);
}

pub(in crate::lsp) fn handle_change(session: &EditorSession, params: DidChangeNotebookParams) {
    let Some(cells) = params.change.cells else {
        return;
    };
    if let Some(StructureChange {
        array,
        did_open,
        did_close,
    }) = cells.structure
    {
        let uri = params.notebook_document.uri.as_str();
        let inserted = uris(array.cells.unwrap_or_default());
        let spliced = session.state().is_some_and(|mut state| {
            state
                .documents
                .splice_cells(uri, array.start, array.delete_count, inserted)
        });
        if !spliced {
            tracing::warn!(uri, "a change of a notebook that is not open was dropped");
        }
        open_texts(session, did_open.unwrap_or_default());
        close_texts(session, did_close.unwrap_or_default());
    }
    for CellTextChange { document, changes } in cells.text_content.unwrap_or_default() {
        let params = DidChangeTextDocumentParams {
            text_document: document,
            content_changes: changes,
        };
        did_change::handle(session, params);
    }
}

pub(in crate::lsp) fn handle_close(session: &EditorSession, params: DidCloseNotebookParams) {
    close_texts(session, params.cell_text_documents);
    if let Some(mut state) = session.state() {
        let uri = params.notebook_document.uri.as_str();
        state.documents.close_notebook(uri);
    }
}

/// Returns the code cells' URIs, in order.
fn uris(cells: Vec<NotebookCell>) -> Vec<String> {
    cells
        .into_iter()
        .filter(|cell| cell.kind == CODE)
        .map(|cell| cell.document.into())
        .collect()
}

fn open_texts(session: &EditorSession, texts: Vec<TextDocumentItem>) {
    for text_document in texts {
        did_open::handle(session, DidOpenTextDocumentParams { text_document });
    }
}

fn close_texts(session: &EditorSession, texts: Vec<TextDocumentIdentifier>) {
    for text_document in texts {
        did_close::handle(session, &DidCloseTextDocumentParams { text_document });
    }
}
