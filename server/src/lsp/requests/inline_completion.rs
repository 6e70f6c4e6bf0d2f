//! `textDocument/inlineCompletion` of protocol version 3.18, which lsp-types 0.94 does not have.
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#textDocument_inlineCompletion>

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::{Command, Position, Range, TextDocumentIdentifier};

use super::answer::{CompletionAnswer, complete};
use super::execute_command::accept_command;
use crate::completion::Trigger;
use crate::context::GivenContext;
use crate::lsp::position::from_protocol;
use crate::lsp::session::EditorSession;
use crate::telemetry::RequestKind;

/// The request's method.
pub const METHOD: &str = "textDocument/inlineCompletion";

/// The parameters of the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The cursor.
    pub position: Position,
    /// Trigger of the request.
    #[serde(default)]
    pub context: InlineCompletionContext,
    /// Context that an evaluator provides for this cursor: a member of Fillrate's own, used by the
    /// context profiles made for it and ignored by all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<GivenContext>,
}

/// Trigger of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineCompletionContext {
    /// [`TRIGGER_INVOKED`] or [`TRIGGER_AUTOMATIC`].
    pub trigger_kind: u8,
    /// The suggestion that is selected in the client's list; completions extend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_completion_info: Option<SelectedCompletion>,
}

/// A suggestion that is selected in the client's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedCompletion {
    /// The range that it replaces.
    pub range: Range,
    /// Its text.
    pub text: String,
}

/// The person invoked it.
pub const TRIGGER_INVOKED: u8 = 1;

/// Typing triggered it, and may continue.
pub const TRIGGER_AUTOMATIC: u8 = 2;

/// The response.
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
    /// The text to insert.
    pub insert_text: String,
    /// The range it replaces: always set, since clients interpret a missing range differently.
    pub range: Option<Range>,
    /// The command that the client runs once the text is inserted: `fillrate.accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
}

pub(in crate::lsp) async fn handle(
    session: &Arc<EditorSession>,
    params: InlineCompletionParams,
) -> Option<InlineCompletionList> {
    let trigger = params.context.trigger();
    let selected = params.context.selected_completion_info;
    let selection = selected.as_ref().map(|selected| {
        let range = selected.range;
        let range = from_protocol(range.start)..from_protocol(range.end);
        (range, selected.text.clone())
    });
    let answer = complete(
        session,
        RequestKind::Inline,
        params.text_document.uri.as_str(),
        from_protocol(params.position),
        selection,
        trigger,
        params.fillrate.unwrap_or_default(),
    )
    .await?;
    // Without a selected suggestion, the candidates replace nothing at the cursor.
    let selected = selected.unwrap_or_else(|| SelectedCompletion {
        range: Range::new(params.position, params.position),
        text: String::new(),
    });
    Some(InlineCompletionList::from_answer(&answer, &selected))
}

impl InlineCompletionContext {
    fn trigger(&self) -> Trigger {
        if self.trigger_kind == TRIGGER_INVOKED {
            Trigger::Invoked
        } else {
            Trigger::Typing
        }
    }
}

impl InlineCompletionList {
    /// Returns the candidates of a completion, each after the selected suggestion and in its range.
    fn from_answer(answer: &CompletionAnswer, selected: &SelectedCompletion) -> Self {
        let items = answer
            .completion
            .candidates
            .iter()
            .enumerate()
            .map(|(index, text)| InlineCompletionItem {
                insert_text: [selected.text.as_str(), text].concat(),
                range: Some(selected.range),
                command: Some(accept_command(&answer.id, index)),
            })
            .collect();
        Self { items }
    }
}
