//! `textDocument/inlineCompletion`, in the words of protocol version 3.18, which lsp-types 0.94
//! does not have.
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#textDocument_inlineCompletion>

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::{Command, Position, Range, TextDocumentIdentifier};

use super::{Answer, commands, to_protocol};
use crate::completion::Trigger;
use crate::context::Given;

/// The request's method.
pub const METHOD: &str = "textDocument/inlineCompletion";

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The cursor.
    pub position: Position,
    /// How the request came about.
    #[serde(default)]
    pub context: InlineCompletionContext,
    /// What an evaluator knows of the place: a member that the protocol does not have, heeded
    /// under the profiles that are made for it and passed over under all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<Given>,
}

/// How a request came about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionContext {
    /// 1: the person asked for it; 2: typing did, which may go on.
    pub trigger_kind: u8,
}

/// Asked for by the person.
pub const TRIGGER_INVOKED: u8 = 1;

/// Came about by typing.
pub const TRIGGER_AUTOMATIC: u8 = 2;

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionList {
    /// Candidates, best first.
    pub items: Vec<InlineCompletionItem>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionItem {
    /// What is inserted.
    pub insert_text: String,
    /// What it replaces: always given, since clients disagree about what a missing range means.
    pub range: Option<Range>,
    /// What the client runs once the text is inserted: see [`super::ACCEPT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
}

impl InlineCompletionContext {
    pub(super) fn trigger(&self) -> Trigger {
        if self.trigger_kind == TRIGGER_INVOKED {
            Trigger::Invoked
        } else {
            Trigger::Typing
        }
    }
}

impl InlineCompletionList {
    /// The candidates of a completion, each inserted at the cursor.
    pub(super) fn at(answer: &Answer, position: crate::text::Position) -> Self {
        let cursor = to_protocol(position);
        let items = answer
            .completion
            .candidates
            .iter()
            .enumerate()
            .map(|(index, text)| InlineCompletionItem {
                insert_text: text.clone(),
                range: Some(Range::new(cursor, cursor)),
                command: Some(commands::accept(&answer.id, index)),
            })
            .collect();
        Self { items }
    }
}
