//! Removes from a completion what the suffix already has.

use super::extent::fits;
use super::scan::closes_its_brackets;
use super::syntax_site::SyntaxSite;
use super::{Change, alphanumerics, first_line, last_line};

/// How many lines of the suffix a streaming model repeats before it is stopped.
const REPEATED_LINES: usize = 3;

/// Removes whole lines at the end that repeat the suffix's first lines: two or more, or one that is
/// more than brackets.
pub(super) fn remove_repeated_suffix(text: &str, site: &SyntaxSite<'_>) -> Change {
    let Some(following) = following(site) else {
        return Change::None;
    };
    let lines = lines(text);
    // The first line continues the cursor's line, so it repeats nothing.
    for first in 1..lines.len() {
        let own = &lines[first..];
        let repeated = own
            .iter()
            .zip(&following)
            .take_while(|((_, line), next)| line == *next)
            .count();
        // Up to the end, or so many that chance is excluded.
        let distinctive = if repeated == own.len() {
            repeated > 1 || alphanumerics(own[0].1) >= 3
        } else {
            repeated >= REPEATED_LINES && is_distinctive(&own[..repeated])
        };
        if distinctive {
            return Change::EndAt(own[0].0);
        }
    }
    Change::None
}

/// Whether the last lines repeat the beginning of the suffix.
pub(super) fn repeats_suffix(lines_so_far: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(following) = following(site).filter(|lines| lines.len() >= REPEATED_LINES) else {
        return false;
    };
    let lines = lines(lines_so_far);
    let Some(first) = lines
        .len()
        .checked_sub(REPEATED_LINES)
        .filter(|first| *first > 0)
    else {
        return false;
    };
    let own = &lines[first..];
    is_distinctive(own)
        && own
            .iter()
            .zip(&following)
            .all(|((_, line), next)| line == next)
}

/// Whether lines are more than brackets.
fn is_distinctive(lines: &[(usize, &str)]) -> bool {
    lines
        .iter()
        .filter(|(_, line)| alphanumerics(line) >= 3)
        .count()
        >= 2
}

/// The lines below the cursor's, without blank ones; `None` if text follows on the cursor's own
/// line.
fn following<'a>(site: &SyntaxSite<'a>) -> Option<Vec<&'a str>> {
    let rest = first_line(site.suffix);
    if !rest.trim().is_empty() {
        return None;
    }
    let lines = site.suffix.lines().skip(1).map(str::trim_end);
    Some(lines.filter(|line| !line.is_empty()).collect())
}

/// The lines of a text with their offsets, blank ones left out.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            found.push((offset, line.trim_end()));
        }
        offset += line.len();
    }
    found
}

/// Removes the end of a completion that repeats the rest of the cursor's line: all of it, if it has
/// enough letters, or what begins with its first closing bracket or quote if the completion fits only
/// without it, or a quote, comma or semicolon that the completion does not need.
pub(super) fn remove_repeated_line_rest(text: &str, site: &SyntaxSite<'_>) -> Change {
    let rest = first_line(site.suffix).trim_end();
    if rest.trim().is_empty() {
        return Change::None;
    }
    if alphanumerics(rest) >= 3
        && let Some(kept) = text.strip_suffix(rest)
    {
        return Change::EndAt(kept.len());
    }
    if let Some(end) = end_before_closer(text, rest, site) {
        return Change::EndAt(end);
    }
    let last = text.chars().next_back();
    let Some(last) = last.filter(|last| rest.starts_with(*last) && !text.contains(['\n', '\r']))
    else {
        return Change::None;
    };
    let needless = match last {
        '"' | '\'' | '`' => text.matches(last).count() % 2 == 1,
        ',' | ';' => true,
        _ => false,
    };
    if needless {
        Change::EndAt(text.len() - last.len_utf8())
    } else {
        Change::None
    }
}

/// Whether whole lines fit before the rest of the cursor's line, or fit once the end that repeats
/// it is removed.
pub(super) fn completes_line(lines: &str, site: &SyntaxSite<'_>) -> bool {
    let text = lines.trim_end_matches(['\n', '\r']);
    fits(text, site) || end_before_closer(text, first_line(site.suffix), site).is_some()
}

/// How many occurrences of a closer are tried.
const TRIED_CLOSERS: usize = 8;

/// Where to end a completion that does not fit before the rest of its line because it closes what
/// the rest closes, as an editor inserts closing brackets and quotes with the opening ones.
fn end_before_closer(text: &str, rest: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let closer = rest.trim_start().chars().next()?;
    if !")]}>\"'`".contains(closer) || !text.contains(closer) || fits(text, site) {
        return None;
    }
    // Otherwise the rest would close a bracket of the completion's, and not the one it was for.
    let closes_its_own = |kept: &str| {
        let language = site.language.filter(|_| ")]}".contains(closer));
        language.is_none_or(|language| closes_its_brackets(kept, language))
    };
    text.rmatch_indices(closer)
        .take(TRIED_CLOSERS)
        .map(|(at, _)| at)
        .find(|at| fits(&text[..*at], site) && closes_its_own(&text[..*at]))
        .or_else(|| end_of_string(text, rest.trim_start(), site))
}

/// Where a completion ends the string that the cursor is in and that the rest of the line ends. In
/// languages whose statements need a semicolon after it, the line is not correct either way.
fn end_of_string(text: &str, rest: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let mut following = rest.chars();
    let quote = following.next().filter(|quote| "\"'`".contains(*quote))?;
    // Several quotes end a string of several lines, whose beginning may be on another line.
    let is_single = following.next() != Some(quote);
    let is_open = unescaped(last_line(site.prefix), quote).count() % 2 == 1;
    (is_single && is_open)
        .then(|| unescaped(text, quote).next())
        .flatten()
}

/// The offsets of a character that no backslash stands before.
fn unescaped(text: &str, character: char) -> impl Iterator<Item = usize> {
    let mut escaped = false;
    text.char_indices().filter_map(move |(at, each)| {
        let found = each == character && !escaped;
        escaped = each == '\\' && !escaped;
        found.then_some(at)
    })
}
