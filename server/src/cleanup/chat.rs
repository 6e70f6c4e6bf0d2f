//! What chat models put around the code: thoughts, fences, prose, and what they were given.
//! Their failings as fillers of holes: RepoMasterEval, <https://arxiv.org/abs/2408.03519>, tables
//! 7 and 8.

use super::site::Site;
use super::{Change, ink, last_line};

/// What thinking models write before they answer is no answer. A thought without an end leaves
/// nothing.
pub(super) fn no_thoughts(text: &str, _place: &Site<'_>) -> Change {
    let Some(thought) = text.trim_start().strip_prefix("<think>") else {
        return Change::None;
    };
    match thought.split_once("</think>") {
        Some((_, answer)) => {
            let answer = answer.trim_start_matches(['\n', '\r']);
            Change::BeginAt(text.len() - answer.len())
        }
        None => Change::EndAt(0),
    }
}

/// Of a reply with a code fence, the code within the first one is kept.
pub(super) fn only_the_code(text: &str, place: &Site<'_>) -> Change {
    if !place.chat {
        return Change::None;
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

/// Whether a reply has come to the end of its code: its fence is closed, outside of a thought.
pub(super) fn is_over(text: &str) -> bool {
    let answer = match text.trim_start().strip_prefix("<think>") {
        Some(thought) => match thought.split_once("</think>") {
            Some((_, answer)) => answer,
            None => return false,
        },
        None => text,
    };
    let fences = answer
        .split_inclusive('\n')
        .filter(|line| line.trim_start().starts_with("```"))
        .count();
    fences >= 2
}

/// Whether a text begins with a thought.
pub(super) fn thinks(text: &str) -> bool {
    text.trim_start().starts_with("<think>")
}

/// How replies begin that say what they are going to say.
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

/// A first line of prose is dropped: one that begins as such lines do and ends with a colon, or
/// is followed by a blank line.
pub(super) fn no_preamble(text: &str, place: &Site<'_>) -> Change {
    if !place.chat {
        return Change::None;
    }
    let Some((first, rest)) = text.split_once('\n') else {
        return Change::None;
    };
    let said = first.trim().to_lowercase();
    let is_prose = PREAMBLES.iter().any(|words| said.starts_with(words))
        && (said.ends_with([':', '.', '!']) || first_is_blank(rest));
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

/// A reply that begins with what stands before the cursor, whole lines of it up to the cursor or
/// the beginning of the cursor's line, gives that up. A reply that is indented for the cursor's
/// line, which has its indentation already, gives up that of its first line.
pub(super) fn do_not_repeat_what_precedes(text: &str, place: &Site<'_>) -> Change {
    if !place.chat {
        return Change::None;
    }
    let partial = last_line(place.prefix);
    let begun = partial.trim();
    let mut before: Vec<&str> = place
        .prefix
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if begun.is_empty() {
        // A mark at the end, which every line begins with.
        before.push("");
    }
    let mut own = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            own.push((offset, line));
        }
        offset += line.len();
    }
    for count in (1..=before.len().min(own.len())).rev() {
        let tail = &before[before.len() - count..];
        let whole_lines = tail[..count - 1]
            .iter()
            .zip(&own)
            .all(|(line, (_, own))| *line == own.trim());
        let (start, last) = own[count - 1];
        let goes_on = last.trim_start().starts_with(tail[count - 1]);
        let letters: usize = tail.iter().map(|line| ink(line)).sum();
        let telling = letters >= 3 || (begun.len() >= 3 && letters >= 1);
        if whole_lines && goes_on && telling {
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
