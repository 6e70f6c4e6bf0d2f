//! Text that is not code and that a server or a model passed through: template tokens, ends of
//! streams, broken characters, headers of files.

use super::syntax_site::SyntaxSite;
use super::{Change, last_line, line_ends};
use crate::prompt::FAMILIES;

/// A text that is not code, with the reason why it appears in raw completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignToken {
    /// The text.
    pub text: &'static str,
    /// Reason why it appears in raw completions.
    pub reason: &'static str,
    place: TokenPosition,
}

/// Position at which a text is foreign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenPosition {
    /// Anywhere: no code contains it.
    Anywhere,
    /// At the end of a line, as it could be markup or a type's argument elsewhere.
    LineEnd,
    /// As a whole line that is not indented.
    WholeLine,
}

/// Foreign texts that are in no family's template, or that could be code elsewhere in a line.
pub static FOREIGN_TOKENS: &[ForeignToken] = &[
    ForeignToken {
        text: "</s>",
        reason: "The end of a sequence of SentencePiece vocabularies, which a server decoded.",
        place: TokenPosition::LineEnd,
    },
    ForeignToken {
        text: "<EOT>",
        reason: "The end of Code Llama's middle, where the server does not know it as a stop.",
        place: TokenPosition::LineEnd,
    },
    ForeignToken {
        text: "<PRE>",
        reason: "Code Llama begins another file.",
        place: TokenPosition::LineEnd,
    },
    ForeignToken {
        text: "<SUF>",
        reason: "Code Llama begins another suffix.",
        place: TokenPosition::LineEnd,
    },
    ForeignToken {
        text: "<MID>",
        reason: "Code Llama repeats its prompt's last token.",
        place: TokenPosition::LineEnd,
    },
    ForeignToken {
        text: "[DONE]",
        reason: "The end of an event stream, which a proxy passed through as text.",
        place: TokenPosition::WholeLine,
    },
    ForeignToken {
        text: "data: [DONE]",
        reason: "The same, with the stream's field name.",
        place: TokenPosition::WholeLine,
    },
    ForeignToken {
        text: "\u{FFFD}",
        reason: "A character cut in two by a token's end or a stop: its bytes are lost.",
        place: TokenPosition::Anywhere,
    },
];

/// Ends a completion before its first foreign token, as another file or chat message follows it.
/// Tokens at the very beginning are removed.
pub(super) fn remove_foreign_tokens(text: &str, site: &SyntaxSite<'_>) -> Change {
    let begin = leading(text, site);
    let end = first_after(text, begin, site).unwrap_or(text.len());
    match begin {
        0 if end == text.len() => Change::None,
        0 => Change::EndAt(end),
        _ => Change::Rewrite(text[begin..end].to_owned()),
    }
}

/// Returns the offset of the first foreign token after those at a text's start.
pub(super) fn leaked(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    first_after(text, leading(text, site), site)
}

/// Ends a completion before a line with the file's own path, like a prompt's header: there the file
/// begins again. Such a line at the very beginning is removed.
pub(super) fn remove_path_header(text: &str, site: &SyntaxSite<'_>) -> Change {
    let Some(path) = site.path.filter(|_| !site.prefix.trim().is_empty()) else {
        return Change::None;
    };
    let mut start = 0;
    for end in line_ends(text).chain([text.len()]) {
        let line = &text[start..end];
        if is_path_header(line, path) {
            return if text[..start].trim().is_empty() && end < text.len() {
                Change::BeginAt(end)
            } else {
                Change::EndAt(start)
            };
        }
        start = end;
    }
    Change::None
}

/// True if a line is a comment mark or a header mark, followed by the path.
fn is_path_header(line: &str, path: &str) -> bool {
    let marks = ["#", "//", "+++++"];
    let Some(mark) = marks.iter().find(|mark| line.starts_with(**mark)) else {
        return false;
    };
    let said = line[mark.len()..].trim();
    let said = ["file:", "path:", "filename:", "filepath:"]
        .iter()
        .find_map(|word| {
            let (head, rest) = said.split_at_checked(word.len())?;
            head.eq_ignore_ascii_case(word).then(|| rest.trim())
        })
        .unwrap_or(said);
    said == path
}

/// Returns the length of the foreign tokens at a text's start.
fn leading(text: &str, site: &SyntaxSite<'_>) -> usize {
    let mut begin = 0;
    while let Some(length) = foreign_length(text, begin, site) {
        begin += length;
    }
    begin
}

/// Returns the offset of a text's first foreign token from `begin` on.
fn first_after(text: &str, begin: usize, site: &SyntaxSite<'_>) -> Option<usize> {
    // Every foreign token begins with one of these.
    let starts = ['<', '[', 'd', char::REPLACEMENT_CHARACTER];
    text[begin..]
        .match_indices(starts)
        .map(|(at, _)| begin + at)
        .find(|at| foreign_length(text, *at, site).is_some())
}

/// Returns the length of the foreign token at an offset of a completion. A token that is also in
/// the file, or in quotes, is code.
fn foreign_length(text: &str, at: usize, site: &SyntaxSite<'_>) -> Option<usize> {
    let (before, rest) = text.split_at(at);
    let token = template_token(rest).or_else(|| {
        let fits =
            |token: &&ForeignToken| rest.starts_with(token.text) && token.fits(rest, before, site);
        Some(FOREIGN_TOKENS.iter().find(fits)?.text)
    })?;
    let spelled = site.prefix.contains(token) || site.suffix.contains(token);
    let quotes = ['"', '\'', '`'];
    (!spelled && !is_quoted(before, &rest[token.len()..], &quotes, site)).then_some(token.len())
}

/// True if the position between two texts of a completion is in some quotes on its line: one is open
/// before it, and the same quote follows. A model that stops in a string closes no quote.
pub(super) fn is_quoted(before: &str, after: &str, quotes: &[char], site: &SyntaxSite<'_>) -> bool {
    let own = last_line(before);
    let begun = match own.len() == before.len() {
        true => last_line(site.prefix),
        false => "",
    };
    let rest_of_line = after.split('\n').next().unwrap_or_default();
    quotes.iter().any(|quote| {
        let before = begun.matches(*quote).count() + own.matches(*quote).count();
        before % 2 == 1 && rest_of_line.contains(*quote)
    })
}

impl ForeignToken {
    /// True if the token is foreign at this position.
    fn fits(&self, rest: &str, before: &str, site: &SyntaxSite<'_>) -> bool {
        let after = &rest[self.text.len()..];
        let line = last_line(before);
        match self.place {
            TokenPosition::Anywhere => true,
            // A type's argument follows its type's name, a closing tag its opening tag.
            TokenPosition::LineEnd => {
                let is_argument = line.ends_with(|c: char| c.is_alphanumeric() || "_<".contains(c));
                let opens = |text: &str| text.contains("<s>") || text.contains("<s ");
                let is_closed = self.text == "</s>" && (opens(before) || opens(site.prefix));
                let ends = after.trim_start_matches([' ', '\t', '\r']);
                let ends = ends.is_empty() || ends.starts_with(['\n', '<', '[']);
                ends && !is_closed && (self.text == "</s>" || !is_argument)
            }
            TokenPosition::WholeLine => {
                line.is_empty() && before.contains('\n') && {
                    let rest_of_line = after.split('\n').next().unwrap_or_default();
                    rest_of_line.trim().is_empty()
                }
            }
        }
    }
}

/// Returns the unmistakable template token at a text's start: one of a family, or a word in `<|`
/// and `|>`, as in most vocabularies. Ordinary words or markup in brackets, such as `<s>` or
/// `<pad>`, could be code.
fn template_token(text: &str) -> Option<&str> {
    if !text.starts_with('<') {
        return None;
    }
    let known = FAMILIES
        .iter()
        .flat_map(|family| family.reserved)
        .copied()
        .filter(|token| {
            ["<|", "<｜", "<[", "<fim_"]
                .iter()
                .any(|mark| token.starts_with(mark))
                || [
                    "<file_sep>",
                    "<repo_name>",
                    "<reponame>",
                    "<end_of_turn>",
                    "<start_of_turn>",
                ]
                .contains(token)
        })
        .find(|token| text.starts_with(token));
    known.or_else(|| {
        let word = text.strip_prefix("<|")?;
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        (end > 1 && word[end..].starts_with("|>")).then(|| &text[.."<|".len() + end + "|>".len()])
    })
}
