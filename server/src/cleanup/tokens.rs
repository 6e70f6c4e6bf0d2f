//! Template tokens that a server passed through as text.

use super::Change;
use super::syntax_site::SyntaxSite;
use crate::prompt::FAMILIES;

/// Ends a completion before its first template token, as another file or turn follows it. Tokens at
/// the very beginning are removed.
pub(super) fn remove_template_tokens(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !text.contains('<') {
        return Change::None;
    }
    let mut begin = 0;
    while let Some(token) = tokens(site).find(|token| text[begin..].starts_with(*token)) {
        begin += token.len();
    }
    if begin > 0 {
        let rest = &text[begin..];
        let end = leaked(rest, site).unwrap_or(rest.len());
        return Change::Rewrite(rest[..end].to_owned());
    }
    leaked(text, site).map_or(Change::None, Change::EndAt)
}

/// The offset of the first template token past the text's beginning.
pub(super) fn leaked(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    if !text.contains('<') {
        return None;
    }
    tokens(site)
        .filter_map(|token| text.find(token))
        .min()
        .filter(|at| *at > 0)
}

/// Template tokens that are unmistakable, and that the file itself does not spell: ordinary words or
/// markup in brackets, such as `<s>` or `<pad>`, could be code.
fn tokens<'a>(site: &SyntaxSite<'a>) -> impl Iterator<Item = &'static str> + use<'a> {
    let (prefix, suffix) = (site.prefix, site.suffix);
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
