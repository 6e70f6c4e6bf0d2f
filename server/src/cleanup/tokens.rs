//! Tokens of a template that a server let through as text.

use super::Change;
use super::site::Site;
use crate::prompt::FAMILIES;

/// A completion ends before the first token of a template: what follows is another file, another
/// turn, or nothing a person would read. Tokens at the very beginning are passed over.
pub(super) fn no_template(text: &str, _place: &Site<'_>) -> Change {
    let mut begin = 0;
    while let Some(token) = tokens().find(|token| text[begin..].starts_with(*token)) {
        begin += token.len();
    }
    if begin > 0 {
        let rest = &text[begin..];
        let end = leaked(rest).unwrap_or(rest.len());
        return Change::Rewrite(rest[..end].to_owned());
    }
    leaked(text).map_or(Change::None, Change::EndAt)
}

/// Where the first token of a template stands, past the text's beginning.
pub(super) fn leaked(text: &str) -> Option<usize> {
    if !text.contains('<') {
        return None;
    }
    tokens()
        .filter_map(|token| text.find(token))
        .min()
        .filter(|at| *at > 0)
}

/// Tokens that no code spells: those that are ordinary words or markup in angle or square
/// brackets, such as `<s>` or `<pad>`, could be a person's.
fn tokens() -> impl Iterator<Item = &'static str> {
    FAMILIES
        .iter()
        .flat_map(|family| family.reserved)
        .copied()
        .filter(|token| {
            token.starts_with("<|")
                || token.starts_with("<｜")
                || token.starts_with("<fim_")
                || *token == "<file_sep>"
                || *token == "<repo_name>"
                || *token == "<reponame>"
                || *token == "<end_of_turn>"
                || *token == "<start_of_turn>"
        })
}
