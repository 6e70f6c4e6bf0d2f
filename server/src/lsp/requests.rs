//! Requests of our own.

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::completion::{Completion, Trace};
use crate::context::Given;

/// `fillrate/explain`: how the last completion in a document came about, or one at a position.
pub const EXPLAIN: &str = "fillrate/explain";

/// `fillrate/retrieve`: the windows of other files for a position, without a completion there.
/// The answer is a [`crate::completion::Retrieved`], or `null` where the document is not open.
pub const RETRIEVE: &str = "fillrate/retrieve";

/// What a client asks with [`RETRIEVE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The cursor.
    pub position: Position,
    /// As in an inline completion's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<Given>,
}

/// What a client asks with [`EXPLAIN`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// Where to complete anew; nothing explains the last completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// As in an inline completion's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<Given>,
}

/// The answer to [`EXPLAIN`]; `null` where the document is not open or, without a position, has
/// had no completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// What was offered, or would be, best first.
    #[serde(default)]
    pub candidates: Vec<String>,
    /// Every step.
    pub trace: Trace,
}

impl From<Completion> for Explanation {
    fn from(completion: Completion) -> Self {
        Self {
            candidates: completion.candidates,
            trace: completion.trace,
        }
    }
}
