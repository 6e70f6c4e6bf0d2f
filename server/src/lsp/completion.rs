//! `textDocument/completion`: the same candidates for clients without inline completion.

use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionResponse, CompletionTextEdit,
    InsertTextFormat, Range, TextEdit,
};

use super::{Answer, commands, to_protocol};
use crate::text::{ByteOffset, Encoding};

/// The most characters of a candidate that stand in the list; the whole is inserted.
const LABEL_CHARACTERS: usize = 60;

/// The candidates as a completion list that the client asks for anew with each keystroke.
pub(super) fn response(answer: &Answer, encoding: Encoding) -> CompletionResponse {
    // Clients drop an item that does not match the word before the cursor. That word is part of
    // the item, therefore, and replaced by itself.
    let before = answer.document.text.slice(ByteOffset(0)..answer.cursor);
    let word = word_before(&before);
    let start = ByteOffset(before.len() - word.len());
    let position = |offset| to_protocol(answer.document.text.position(offset, encoding));
    let range = Range::new(position(start), position(answer.cursor));
    let trace = &answer.completion.trace;
    let told = !trace.is_blind() && trace.second.is_none();
    let detail = told.then(|| trace.model.clone());
    let items = answer
        .completion
        .candidates
        .iter()
        .enumerate()
        .map(|(rank, candidate)| {
            let text = [word, candidate].concat();
            CompletionItem {
                label: label(&text),
                kind: Some(CompletionItemKind::SNIPPET),
                detail: detail.clone(),
                filter_text: Some(text.clone()),
                sort_text: Some(format!("{rank:04}")),
                insert_text_format: Some(InsertTextFormat::PLAIN_TEXT),
                text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, text))),
                command: Some(commands::accept(&answer.id, rank)),
                ..CompletionItem::default()
            }
        })
        .collect();
    CompletionResponse::List(CompletionList {
        is_incomplete: true,
        items,
    })
}

/// The identifier that the cursor stands at the end of, or nothing.
fn word_before(before: &str) -> &str {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, character)| character.is_alphanumeric() || *character == '_')
        .last()
        .map_or(before.len(), |(index, _)| index);
    &before[start..]
}

/// The first line, shortened.
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
    fn the_word_before_the_cursor_is_an_identifier() {
        assert_eq!(word_before("x = größe_1"), "größe_1");
        assert_eq!(word_before("f(a)."), "");
        assert_eq!(word_before(""), "");
    }

    #[test]
    fn a_label_is_one_short_line() {
        assert_eq!(label("  return a"), "return a");
        assert_eq!(label("if a:\n    b"), "if a:…");
        assert_eq!(label(&"é".repeat(80)).chars().count(), 61);
    }
}
