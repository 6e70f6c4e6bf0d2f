//! `textDocument/completion`: the same candidates for clients without inline completion.

use std::sync::Arc;

use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionParams, CompletionResponse,
    CompletionTextEdit, InsertTextFormat, InsertTextMode, Range, TextEdit,
};

use super::answer::{CompletionAnswer, complete};
use super::execute_command::accept_command;
use crate::completion::Trigger;
use crate::context::GivenContext;
use crate::lsp::position::{from_protocol, to_protocol};
use crate::lsp::session::EditorSession;
use crate::telemetry::RequestKind;
use crate::text::{ByteOffset, Encoding};

/// Maximum number of characters of a candidate in the list; the whole candidate is inserted.
const LABEL_CHARACTERS: usize = 60;

pub(in crate::lsp) async fn handle(
    session: &Arc<EditorSession>,
    params: CompletionParams,
) -> Option<CompletionResponse> {
    let target = params.text_document_position;
    let answer = complete(
        session,
        RequestKind::List,
        target.text_document.uri.as_str(),
        from_protocol(target.position),
        None,
        Trigger::Typing,
        GivenContext::default(),
    )
    .await?;
    Some(response(&answer, session.encoding()))
}

/// Returns the candidates as a completion list, which the client requests again with each
/// keystroke.
fn response(answer: &CompletionAnswer, encoding: Encoding) -> CompletionResponse {
    // Clients drop an item that does not match the word before the cursor. So the item contains
    // that word and replaces it by itself.
    let (before, _) = answer.document.text.line_around(answer.cursor);
    let word = word_before(&before);
    let start = ByteOffset(answer.cursor.0 - word.len());
    let position = |offset| to_protocol(answer.document.text.position(offset, encoding));
    let range = Range::new(position(start), position(answer.cursor));
    let trace = &answer.completion.trace;
    let names_model = !trace.is_blind() && trace.second.is_none();
    let detail = names_model.then(|| trace.model.clone());
    let items = answer
        .completion
        .candidates
        .iter()
        .enumerate()
        .map(|(rank, candidate)| {
            let text = [word, candidate].concat();
            CompletionItem {
                label: label(&text),
                // Helix expands items of the kind `Snippet` in any format.
                kind: Some(CompletionItemKind::TEXT),
                detail: detail.clone(),
                filter_text: Some(text.clone()),
                sort_text: Some(format!("{rank:04}")),
                insert_text_format: Some(InsertTextFormat::PLAIN_TEXT),
                // Without this, clients indent the lines of the text again.
                insert_text_mode: Some(InsertTextMode::AS_IS),
                text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, text))),
                command: Some(accept_command(&answer.id, rank)),
                ..CompletionItem::default()
            }
        })
        .collect();
    CompletionResponse::List(CompletionList {
        is_incomplete: true,
        items,
    })
}

/// Returns the identifier that ends at the cursor; empty if there is none.
fn word_before(before: &str) -> &str {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, character)| character.is_alphanumeric() || *character == '_')
        .last()
        .map_or(before.len(), |(index, _)| index);
    &before[start..]
}

/// Returns the first line, shortened.
fn label(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_start();
    let more = line.len() < text.trim_start().len() || line.chars().count() > LABEL_CHARACTERS;
    let mut label: String = line.chars().take(LABEL_CHARACTERS).collect();
    if more {
        label.push('…');
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_before_cursor_is_identifier() {
        assert_eq!(word_before("x = größe_1"), "größe_1");
        assert_eq!(word_before("f(a)."), "");
        assert_eq!(word_before(""), "");
    }

    #[test]
    fn label_is_one_short_line() {
        assert_eq!(label("  return a"), "return a");
        assert_eq!(label("if a:\n    b"), "if a:…");
        assert_eq!(label(&"é".repeat(80)).chars().count(), 61);
    }
}
