//! Requests of our own.

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::TextDocumentIdentifier;

use crate::completion::Trace;

/// `fillrate/explain`: how the last completion in a document came about.
pub const EXPLAIN: &str = "fillrate/explain";

/// What a client asks with [`EXPLAIN`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
}

/// The answer to [`EXPLAIN`]; `null` where the document has had no completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Every step.
    pub trace: Trace,
}
