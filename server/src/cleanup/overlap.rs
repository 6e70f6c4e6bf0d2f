//! What already stands after the cursor is not written again.

use super::site::Site;
use super::{Change, first_line, ink};

/// How many lines of what follows have to come again before a model is stopped at it.
const TELLING_LINES: usize = 3;

/// Models like to go on into what already stands after the cursor. Whole lines at the end that
/// repeat the lines that follow are cut: two or more, or one that is no mere bracket.
pub(super) fn do_not_repeat_what_follows(text: &str, place: &Site<'_>) -> Change {
    let Some(following) = following(place) else {
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
        // Up to the end, or so far that it can't be by chance.
        let telling = if repeated == own.len() {
            repeated > 1 || ink(own[0].1) >= 3
        } else {
            repeated >= TELLING_LINES && is_telling(&own[..repeated])
        };
        if telling {
            return Change::EndAt(own[0].0);
        }
    }
    Change::None
}

/// Whether lines have come to repeat so much of what follows the cursor that no more is needed.
pub(super) fn runs_into_what_follows(lines_so_far: &str, place: &Site<'_>) -> bool {
    let Some(following) = following(place).filter(|lines| lines.len() >= TELLING_LINES) else {
        return false;
    };
    let lines = lines(lines_so_far);
    let Some(first) = lines
        .len()
        .checked_sub(TELLING_LINES)
        .filter(|first| *first > 0)
    else {
        return false;
    };
    let own = &lines[first..];
    is_telling(own)
        && own
            .iter()
            .zip(&following)
            .all(|((_, line), next)| line == next)
}

/// Whether lines are no mere brackets.
fn is_telling(lines: &[(usize, &str)]) -> bool {
    lines.iter().filter(|(_, line)| ink(line) >= 3).count() >= 2
}

/// The lines that follow the cursor's, blank ones left out; nothing where text follows on the
/// cursor's own line, as that is no line of its own.
fn following<'a>(place: &Site<'a>) -> Option<Vec<&'a str>> {
    let rest = first_line(place.suffix);
    if !rest.trim().is_empty() {
        return None;
    }
    let lines = place.suffix.lines().skip(1).map(str::trim_end);
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

/// The end of a completion that repeats what follows the cursor on its line is cut: all of it, if
/// that tells something, or a quote, comma or semicolon that the text does not need.
pub(super) fn do_not_repeat_the_rest_of_the_line(text: &str, place: &Site<'_>) -> Change {
    let rest = first_line(place.suffix).trim_end();
    if rest.trim().is_empty() || text.contains(['\n', '\r']) {
        return Change::None;
    }
    if ink(rest) >= 3
        && let Some(kept) = text.strip_suffix(rest)
    {
        return Change::EndAt(kept.len());
    }
    let Some(last) = text
        .chars()
        .next_back()
        .filter(|last| rest.starts_with(*last))
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
