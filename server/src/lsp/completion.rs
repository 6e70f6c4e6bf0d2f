//! `textDocument/completion`: the same candidates for clients without inline completion.

use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionResponse, CompletionTextEdit,
    InsertTextFormat, Range, TextEdit,
};

use super::to_protocol;
use crate::completion::Completion;
use crate::text::Position;

/// The most characters of a candidate that stand in the list; the whole is inserted.
const LABEL_CHARACTERS: usize = 60;

/// The candidates as a completion list that the client asks for anew with each keystroke.
pub(super) fn response(completion: &Completion, position: Position) -> CompletionResponse {
    let cursor = to_protocol(position);
    let items = completion
        .candidates
        .iter()
        .enumerate()
        .map(|(rank, text)| CompletionItem {
            label: label(text),
            kind: Some(CompletionItemKind::SNIPPET),
            detail: Some(completion.trace.model.clone()),
            documentation: None,
            // Clients filter by what stands before the cursor: nothing of it belongs to us.
            filter_text: Some(String::new()),
            sort_text: Some(format!("{rank:04}")),
            insert_text_format: Some(InsertTextFormat::PLAIN_TEXT),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(
                Range::new(cursor, cursor),
                text.clone(),
            ))),
            ..CompletionItem::default()
        })
        .collect();
    CompletionResponse::List(CompletionList {
        is_incomplete: true,
        items,
    })
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
    fn a_label_is_one_short_line() {
        assert_eq!(label("  return a"), "return a");
        assert_eq!(label("if a:\n    b"), "if a:…");
        assert_eq!(label(&"é".repeat(80)).chars().count(), 61);
    }
}
