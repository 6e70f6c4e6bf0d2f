//! Removes lines that the model repeats.

use super::syntax_site::SyntaxSite;
use super::{Change, alphanumerics, last_line};

/// Minimum number of letters and digits of a single repeated line that is removed.
const LONG_LINE: usize = 10;

/// Removes lines at the start that repeat the lines just above the cursor: two or more, or a long
/// one.
pub(super) fn remove_repeated_line_above(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !last_line(site.prefix).trim().is_empty() {
        return Change::None;
    }
    let above: Vec<&str> = site
        .prefix
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    // Lines are compared with their indentation: in another block, an equal line is not a
    // repetition.
    let indent = last_line(site.prefix);
    let whole = [indent, text].concat();
    let mut own = Vec::new();
    let mut offset = 0;
    for line in whole.split_inclusive('\n') {
        offset += line.len();
        if !line.trim().is_empty() {
            own.push((offset - indent.len(), line.trim_end()));
        }
    }
    for count in (1..=own.len().min(above.len())).rev() {
        let repeated = own[..count]
            .iter()
            .map(|(_, line)| *line)
            .eq(above[above.len() - count..].iter().copied());
        let letters: usize = own[..count]
            .iter()
            .map(|(_, line)| alphanumerics(line))
            .sum();
        if repeated && letters >= LONG_LINE * count.min(2) {
            let end = own[count - 1].0;
            // The cursor's line is already indented.
            let rest = &text[end..];
            return Change::BeginAt(
                end + (rest.len() - rest.trim_start_matches([' ', '\t']).len()),
            );
        }
    }
    Change::None
}

/// Keeps only the first round of repeated lines.
pub(super) fn remove_repeated_lines(text: &str, _site: &SyntaxSite<'_>) -> Change {
    loop_end(text).map_or(Change::None, Change::EndAt)
}

/// Returns the offset at which a loop's second round begins: one line repeated four times, or
/// several lines three times.
pub(super) fn loop_end(text: &str) -> Option<usize> {
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        lines.push((offset, line.trim_end()));
        offset += line.len();
    }
    for period in 1..=lines.len() / 3 {
        let rounds = if period == 1 { 4 } else { 3 };
        for first in 0..=lines.len().saturating_sub(period * rounds) {
            let Some(run) = lines.get(first..first + period * rounds) else {
                break;
            };
            let repeats = run
                .iter()
                .zip(&run[period..])
                .all(|((_, line), (_, next))| line == next);
            let letters: usize = run[..period]
                .iter()
                .map(|(_, line)| alphanumerics(line))
                .sum();
            if repeats && letters >= 3 * period.min(3) {
                return Some(run[period].0);
            }
        }
    }
    None
}

/// Maximum length in characters of a repeated unit within a line.
const LONGEST_UNIT: usize = 24;

/// Minimum number of repetitions, and minimum total length in characters, of a stutter.
const ROUNDS: usize = 8;
const STUTTER: usize = 48;

/// Keeps only the first of the units that repeat at the end of the last line.
pub(super) fn remove_stutter(text: &str, _site: &SyntaxSite<'_>) -> Change {
    let line: Vec<(usize, char)> = last_line(text).char_indices().collect();
    let line_start = text.len() - last_line(text).len();
    for unit in 1..=LONGEST_UNIT {
        // The last round may be cut off.
        let rounds = line
            .iter()
            .rev()
            .zip(line.iter().rev().skip(unit))
            .take_while(|((_, a), (_, b))| a == b)
            .count()
            / unit;
        let letters = line
            .iter()
            .rev()
            .take(unit)
            .filter(|(_, character)| character.is_alphanumeric())
            .count();
        if rounds + 1 >= ROUNDS && (rounds + 1) * unit >= STUTTER && letters > 0 {
            let first_end = line.len() - rounds * unit;
            let end = line
                .get(first_end)
                .map_or(text.len(), |(at, _)| line_start + at);
            return Change::EndAt(end);
        }
    }
    Change::None
}
