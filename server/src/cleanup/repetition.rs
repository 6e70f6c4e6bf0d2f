//! Removes lines that the model repeats.

use super::extent::has_error_within;
use super::syntax_site::SyntaxSite;
use super::written::{begins_with_operator, innermost_bracket, line_below};
use super::{Change, alphanumerics, first_line, indentation, last_line};
use crate::syntax::Language;

/// Minimum number of letters and digits of a single repeated line that is removed.
const LONG_LINE: usize = 10;

/// Removes the beginning of the cursor's line that a completion repeats: its code, or its
/// indentation.
pub(super) fn remove_repeated_line_start(text: &str, site: &SyntaxSite<'_>) -> Change {
    without_line_start(text, site).map_or(Change::None, Change::Rewrite)
}

/// Returns a completion without the beginning of the cursor's line that it repeats; `None` if it
/// repeats nothing.
pub(super) fn without_line_start(text: &str, site: &SyntaxSite<'_>) -> Option<String> {
    let begun = last_line(site.prefix);
    match begun.trim() {
        "" => without_indentation(text, begun, site),
        code => without_code(text, begun, code, site).map(str::to_owned),
    }
}

/// Returns a completion without the code of the cursor's line that it repeats. The repetition has
/// to be wrong: a keyword, a target of an assignment, or a syntax error.
fn without_code<'t>(
    text: &'t str,
    begun: &str,
    code: &str,
    site: &SyntaxSite<'_>,
) -> Option<&'t str> {
    let language = site.language?;
    let rest = text.trim_start_matches([' ', '\t']).strip_prefix(code)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let splits_word = code.ends_with(is_word) && rest.starts_with(is_word);
    // Short code, and a word that goes on, may be repeated by chance.
    if alphanumerics(code) < 3 || splits_word || site.open_text_after("").is_some() {
        return None;
    }
    let rest = match begun.ends_with([' ', '\t']) {
        true => rest.trim_start_matches([' ', '\t']),
        false => rest,
    };
    let first = code.split(|c: char| !is_word(c)).next().unwrap_or_default();
    let end = site.prefix.len();
    let is_wrong = |text: &str| {
        let line = first_line(text);
        let parsed = site.written_with(line);
        let range = end - begun.len()..end + line.len();
        parsed.is_some_and(|it| has_error_within(it.tree.root_node(), &range))
    };
    let is_repeated = language.keywords.contains(&first)
        || code.ends_with('=')
        || is_wrong(text) && !is_wrong(rest);
    is_repeated.then_some(rest)
}

/// Returns a completion without the indentation of the cursor's line that it repeats. Lines that
/// follow it move along if they are indented like its first.
fn without_indentation(text: &str, begun: &str, site: &SyntaxSite<'_>) -> Option<String> {
    let own = text.trim_start_matches([' ', '\t']);
    let lead = text.len() - own.len();
    let first = first_line(own);
    let later = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let next = || later().next().map(indentation);
    if begun.is_empty()
        || lead == 0
        || first.is_empty()
        || !is_indented(text, begun, lead, next(), site)
    {
        return None;
    }
    let least = |width: usize| later().all(|line| indentation(line) >= width);
    let (here, own_width) = (indentation(begun), indentation(text));
    // Below a header, lines are deeper in any case, so their depth does not show a shift.
    let surplus = if first.trim_end().ends_with([':', '{', '(', '[', ',']) {
        own_width.saturating_sub(here)
    } else if least(here + own_width) {
        own_width
    } else {
        own_width.saturating_sub(here)
    };
    let moves = surplus > 0 && least(surplus + here);
    let mut lines = own.split_inclusive('\n');
    let mut kept = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        let removed = line[..blanks]
            .char_indices()
            .map(|(at, blank)| at + blank.len_utf8())
            .find(|end| indentation(&line[..*end]) >= surplus);
        kept.push_str(match removed {
            Some(removed) if moves => &line[removed..],
            _ => line,
        });
    }
    Some(kept)
}

/// True if a completion that begins with `lead` blanks repeats the indentation of the cursor's line:
/// the line above allows no deeper one, or the next line is not deeper either. `next` is the
/// indentation of the completion's next line.
fn is_indented(
    text: &str,
    begun: &str,
    lead: usize,
    next: Option<usize>,
    site: &SyntaxSite<'_>,
) -> bool {
    if site.open_text_after("").is_some() {
        return false;
    }
    let before = &site.prefix[..site.prefix.len() - begun.len()];
    let Some(above) = before.lines().rfind(|line| !line.trim().is_empty()) else {
        return false;
    };
    let (here, width) = (indentation(begun), indentation(above));
    let own_width = indentation(&[begun, text].concat());
    let first = first_line(text).trim();
    // The lines of a block are deeper than its header.
    let opens_block = first.ends_with([':', '{']);
    let misplaces_block =
        opens_block && next.is_some_and(|next| (here..=own_width).contains(&next));
    if misplaces_block {
        return true;
    }
    let below = line_below(site);
    let is_contradicted = next.or_else(|| below.map(indentation)) == Some(here);
    let is_whole =
        text[..lead] == *begun && (width == 0 || here > width && here % (here - width) == 0);
    // The cursor may be in the middle of the indentation.
    let mut lines = [before, site.suffix].into_iter().flat_map(str::lines);
    let mut is_level = || {
        lines.any(|line| {
            let code = line.trim_start();
            !code.is_empty() && !code.starts_with('*') && indentation(line) == here
        })
    };
    let comment = format!(" {}", Language::line_comment_of(site.language));
    let code = above.split(comment.as_str()).next().unwrap_or_default();
    let code = code.trim_end();
    let last = code.chars().next_back().unwrap_or(' ');
    let word = code.trim_start().split(|c: char| !c.is_alphabetic()).next();
    let leaves_block = word.is_some_and(|word| LEAVING.contains(&word));
    let indented_blocks = site.language.is_some_and(|it| it.indented_blocks);
    // A part of a chain may be deeper than the line above, unless that or the next is a part too.
    let continues = begins_with_operator(first, site)
        && ![Some(code), below]
            .into_iter()
            .flatten()
            .any(|line| begins_with_operator(line.trim(), site));
    let ends_statement = "{};".contains(last);
    let is_known = site.language.is_some() || ends_statement;
    if !is_contradicted && !(is_known && (is_whole || is_level())) {
        return false;
    }
    match last {
        '{' => here > width && (!indented_blocks || is_contradicted),
        ':' => here > width && (indented_blocks || is_contradicted),
        // A list's elements are as deep as the one above, unless that opens a bracket.
        ',' => is_contradicted && here == width && !opens_bracket(before, above, site),
        '(' | '[' => is_contradicted && here > width,
        '\\' | '=' => false,
        _ if indented_blocks => {
            own_width > width || here < width && leaves_block && own_width == width
        }
        ';' | '}' => here >= width,
        _ => is_contradicted && here >= width && !continues,
    }
}

/// Words that begin a statement after which nothing of its block runs.
const LEAVING: [&str; 4] = ["break", "continue", "raise", "return"];

/// True if a line, the last of `before`, opens a bracket that is open at the cursor.
fn opens_bracket(before: &str, line: &str, site: &SyntaxSite<'_>) -> bool {
    let start = before.rfind(line).unwrap_or(0);
    innermost_bracket(site).is_some_and(|at| at >= start)
}

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
