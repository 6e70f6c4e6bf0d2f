//! Removes what chat models put around the code: reasoning, fences, prose and repeated context.
//! How chat models fail to fill holes: RepoMasterEval, <https://arxiv.org/abs/2408.03519>, tables
//! 7 and 8.

use super::syntax_site::SyntaxSite;
use super::{Change, alphanumerics, last_line, line_ends};

/// Removes reasoning at the beginning. Reasoning without an end leaves nothing.
pub(super) fn remove_reasoning(text: &str, _site: &SyntaxSite<'_>) -> Change {
    let Some(reasoning) = text.trim_start().strip_prefix("<think>") else {
        return Change::None;
    };
    match reasoning.split_once("</think>") {
        Some((_, reply)) => {
            let reply = reply.trim_start_matches(['\n', '\r']);
            Change::BeginAt(text.len() - reply.len())
        }
        None => Change::EndAt(0),
    }
}

/// Keeps only the code within a reply's first fence, if it has one.
pub(super) fn keep_fenced_code(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return remove_leaked_fence(text, site);
    }
    match fence(text) {
        Some((start, end)) => {
            let code = &text[start..end];
            // The fence's own line end is not the code's.
            let code = code.strip_suffix('\n').unwrap_or(code);
            Change::Rewrite(code.strip_suffix('\r').unwrap_or(code).to_owned())
        }
        None => Change::None,
    }
}

/// Keeps the code within the fence that a completion begins with, or ends it before a later one: a
/// model that is trained for chat writes them whatever the protocol. Fences in a string, a comment
/// or a file that has fences itself are its own.
fn remove_leaked_fence(text: &str, site: &SyntaxSite<'_>) -> Change {
    // Most completions have no fence, and the file need not be searched for any.
    if !text.contains("```") {
        return Change::None;
    }
    if begins_with_fence(text, site) {
        return match fence(text) {
            Some((start, end)) => Change::Rewrite(text[start..end].trim_end().to_owned()),
            None => Change::EndAt(0),
        };
    }
    if !may_leak_fences(site) {
        return Change::None;
    }
    std::iter::once(0)
        .chain(line_ends(text))
        .find(|start| text[*start..].starts_with("```") && !in_literal(text, *start, site))
        .map_or(Change::None, Change::EndAt)
}

/// Whether a completion that no chat model wrote begins with a fence.
pub(super) fn begins_with_fence(text: &str, site: &SyntaxSite<'_>) -> bool {
    text.trim_start().starts_with("```") && may_leak_fences(site) && !in_literal("", 0, site)
}

/// Whether a fence in a completion is none of the file's.
fn may_leak_fences(site: &SyntaxSite<'_>) -> bool {
    !site.chat
        && site.language.is_some()
        && !site.prefix.contains("```")
        && !site.suffix.contains("```")
}

/// Whether an offset of a completion is in a string or a comment that begins before it.
fn in_literal(text: &str, at: usize, site: &SyntaxSite<'_>) -> bool {
    let Some(parsed) = site.with(text) else {
        return false;
    };
    let at = site.prefix.len() + at;
    let root = parsed.tree.root_node();
    let mut node = root.descendant_for_byte_range(at.saturating_sub(1), at);
    while let Some(inner) = node {
        let literal = parsed.language.is_string(inner) || parsed.language.is_comment(inner);
        if literal && inner.start_byte() < at && inner.end_byte() > at {
            return true;
        }
        node = inner.parent();
    }
    false
}

/// The code in the first fence, from the line after its beginning to the line of its end, or to
/// the text's end.
fn fence(text: &str) -> Option<(usize, usize)> {
    let mut start = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match start {
                None if line.ends_with('\n') => start = Some(offset + line.len()),
                None => return None,
                Some(start) => return Some((start, offset)),
            }
        }
        offset += line.len();
    }
    start.map(|start| (start, text.len()))
}

/// Whether a reply's code is complete: its fence, outside of reasoning, is closed.
pub(super) fn is_fence_closed(text: &str) -> bool {
    let reply = match text.trim_start().strip_prefix("<think>") {
        Some(reasoning) => match reasoning.split_once("</think>") {
            Some((_, reply)) => reply,
            None => return false,
        },
        None => text,
    };
    let fences = reply
        .split_inclusive('\n')
        .filter(|line| line.trim_start().starts_with("```"))
        .count();
    fences >= 2
}

/// Whether a text begins with reasoning.
pub(super) fn starts_with_reasoning(text: &str) -> bool {
    text.trim_start().starts_with("<think>")
}

/// How preambles begin.
const PREAMBLES: [&str; 12] = [
    "here is",
    "here's",
    "here are",
    "sure",
    "certainly",
    "of course",
    "okay",
    "ok,",
    "the code",
    "the missing",
    "the completed",
    "to complete",
];

/// Removes a first line of prose: one that begins as preambles do and ends with a colon, full stop
/// or exclamation mark, or is followed by a blank line.
pub(super) fn remove_preamble(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return Change::None;
    }
    let Some((first, rest)) = text.split_once('\n') else {
        return Change::None;
    };
    let line = first.trim().to_lowercase();
    let is_prose = PREAMBLES.iter().any(|words| line.starts_with(words))
        && (line.ends_with([':', '.', '!']) || first_is_blank(rest));
    if !is_prose {
        return Change::None;
    }
    let code = rest.trim_start_matches(['\n', '\r']);
    Change::BeginAt(text.len() - code.len())
}

fn first_is_blank(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim().is_empty())
}

/// Removes whole lines at a reply's beginning that repeat the prefix up to the cursor or up to the
/// cursor's line, and the indentation of its first line if the cursor's line is indented already.
pub(super) fn remove_repeated_prefix(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return Change::None;
    }
    let partial = last_line(site.prefix);
    let begun = partial.trim();
    let mut prefix_lines: Vec<&str> = site
        .prefix
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if begun.is_empty() {
        // An empty last line, which every line begins with.
        prefix_lines.push("");
    }
    let mut own = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            own.push((offset, line));
        }
        offset += line.len();
    }
    for count in (1..=prefix_lines.len().min(own.len())).rev() {
        let tail = &prefix_lines[prefix_lines.len() - count..];
        let whole_lines = tail[..count - 1]
            .iter()
            .zip(&own)
            .all(|(line, (_, own))| *line == own.trim());
        let (start, last) = own[count - 1];
        let goes_on = last.trim_start().starts_with(tail[count - 1]);
        let letters: usize = tail.iter().map(|line| alphanumerics(line)).sum();
        let distinctive = letters >= 3 || (begun.len() >= 3 && letters >= 1);
        if whole_lines && goes_on && distinctive {
            let indent = last.len() - last.trim_start().len();
            let mut begin = start + indent + tail[count - 1].len();
            if partial.ends_with([' ', '\t']) {
                let rest = &text[begin..];
                begin += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            }
            return Change::BeginAt(begin);
        }
    }
    if begun.is_empty() && !partial.is_empty() {
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        return Change::BeginAt(indent);
    }
    Change::None
}
