//! Tokens of a template that a server let through as text.

use super::Change;
use super::site::Site;
use crate::prompt::FAMILIES;

/// A completion ends before the first token of a template: what follows is another file, another
/// turn, or nothing a person would read. Tokens at the very beginning are passed over.
pub(super) fn no_template(text: &str, place: &Site<'_>) -> Change {
    if !text.contains('<') {
        return Change::None;
    }
    let mut begin = 0;
    while let Some(token) = tokens(place).find(|token| text[begin..].starts_with(*token)) {
        begin += token.len();
    }
    if begin > 0 {
        let rest = &text[begin..];
        let end = leaked(rest, place).unwrap_or(rest.len());
        return Change::Rewrite(rest[..end].to_owned());
    }
    leaked(text, place).map_or(Change::None, Change::EndAt)
}

/// Where the first token of a template stands, past the text's beginning.
pub(super) fn leaked(text: &str, place: &Site<'_>) -> Option<usize> {
    if !text.contains('<') {
        return None;
    }
    tokens(place)
        .filter_map(|token| text.find(token))
        .min()
        .filter(|at| *at > 0)
}

/// Tokens that no code spells, nor the file itself: those that are ordinary words or markup in angle or square
/// brackets, such as `<s>` or `<pad>`, could be a person's.
fn tokens<'a>(place: &Site<'a>) -> impl Iterator<Item = &'static str> + use<'a> {
    let (prefix, suffix) = (place.prefix, place.suffix);
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
        .filter(move |token| !prefix.contains(token) && !suffix.contains(token))
}
