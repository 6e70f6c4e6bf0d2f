//! Removes text that a completion repeats from the suffix.

use std::ops::Range;

use super::extent::fits;
use super::syntax_site::SyntaxSite;
use super::written::{
    begins_statement_at, begins_with_operator, closes_before_rest, end_of_line_node,
    end_of_type_arguments, ends_alone, is_in_brackets, is_in_interpolation, leaves_brackets_open,
    opens_brackets, rest_ends_lines, unescaped,
};
use super::{Change, alphanumerics, first_line, last_line};

/// Number of lines of the suffix that a streaming model repeats before it is stopped.
const REPEATED_LINES: usize = 3;

/// Removes whole lines at the end that repeat the suffix's first lines: two or more, or one that is
/// more than brackets.
pub(super) fn remove_repeated_suffix(text: &str, site: &SyntaxSite<'_>) -> Change {
    let Some(following) = following(site) else {
        return Change::None;
    };
    let lines = lines(text);
    for first in begins_lines(text)..lines.len() {
        let own = &lines[first..];
        let repeated = own
            .iter()
            .zip(&following)
            .take_while(|((_, line), next)| is_same(line, next))
            .count();
        // Repetition up to the end of the completion, or enough lines to exclude chance.
        let distinctive = if repeated == own.len() {
            repeated > 1
                || alphanumerics(own[0].1) >= 3
                || ends_open_text(own[0].1, site)
                || is_end_of_tag(own[0].1.trim())
                || is_last_statement(text, own[0], &following, site)
        } else {
            repeated >= REPEATED_LINES && is_distinctive(&own[..repeated])
        };
        if distinctive {
            return Change::EndAt(before_trailing_comment(&text[..own[0].0], site));
        }
    }
    // The comment alone may be repeated too.
    match trailing_comment(site) {
        Some(comment) if text.trim_end().ends_with(comment) => {
            Change::EndAt(before_trailing_comment(text, site))
        }
        _ => Change::None,
    }
}

/// True if a line is a closing tag, or closes an opening one.
fn is_end_of_tag(line: &str) -> bool {
    line == ">" || line == "/>" || line.starts_with("</")
}

/// True if a line is a statement, however short, that only closing brackets follow in the suffix.
fn is_last_statement(
    text: &str,
    (start, line): (usize, &str),
    following: &[&str],
    site: &SyntaxSite<'_>,
) -> bool {
    let next = following.get(1).map_or("}", |next| next.trim());
    let begun = start + line.len() - line.trim_start().len();
    alphanumerics(line) > 0
        && next.starts_with([')', ']', '}'])
        && begins_statement_at(begun, text, site)
}

/// True if a line begins with the end of the string or comment around the cursor.
fn ends_open_text(line: &str, site: &SyntaxSite<'_>) -> bool {
    let open = site.open_text_after("");
    open.is_some_and(|open| line.trim().starts_with(open.end_mark()))
}

/// Returns the end of whole lines, where the cursor line's trailing comment follows if there is one,
/// without a repetition of it.
fn before_trailing_comment(lines: &str, site: &SyntaxSite<'_>) -> usize {
    trailing_comment(site).map_or(lines.len(), |comment| {
        let kept = lines.trim_end();
        kept.strip_suffix(comment).unwrap_or(kept).len()
    })
}

/// Returns the rest of the cursor's line if that is a comment after white space.
fn trailing_comment<'a>(site: &SyntaxSite<'a>) -> Option<&'a str> {
    let rest = first_line(site.suffix).trim_end();
    let mark = site.language?.line_comment;
    (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with(mark)).then_some(rest)
}

/// Returns the index of the first line that may repeat another: a line that continues the cursor's
/// line repeats nothing.
fn begins_lines(text: &str) -> usize {
    usize::from(!first_line(text).trim().is_empty())
}

/// True if the last lines repeat the beginning of the suffix.
pub(super) fn repeats_suffix(lines_so_far: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(following) = following(site).filter(|lines| lines.len() >= REPEATED_LINES) else {
        return false;
    };
    let lines = lines(lines_so_far);
    let Some(first) = lines
        .len()
        .checked_sub(REPEATED_LINES)
        .filter(|first| *first >= begins_lines(lines_so_far))
    else {
        return false;
    };
    let own = &lines[first..];
    is_distinctive(own)
        && own
            .iter()
            .zip(&following)
            .all(|((_, line), next)| is_same(line, next))
}

/// True if two lines are the same up to the semicolons or commas at their ends.
fn is_same(one: &str, other: &str) -> bool {
    let marks = [';', ','];
    one.trim_end_matches(marks) == other.trim_end_matches(marks)
}

/// True if lines are more than brackets.
fn is_distinctive(lines: &[(usize, &str)]) -> bool {
    lines
        .iter()
        .filter(|(_, line)| alphanumerics(line) >= 3)
        .count()
        >= 2
}

/// Returns the nonblank lines below the cursor's; `None` if code follows on the cursor's line.
fn following<'a>(site: &SyntaxSite<'a>) -> Option<Vec<&'a str>> {
    let rest = first_line(site.suffix);
    if !rest.trim().is_empty() && trailing_comment(site).is_none() {
        return None;
    }
    let lines = site.suffix.lines().skip(1).map(str::trim_end);
    Some(lines.filter(|line| !line.is_empty()).collect())
}

/// Returns the nonblank lines of a text with their offsets.
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

/// Removes the end of a completion that repeats the rest of the cursor's line. Removes the whole
/// rest if it has enough letters. Removes the text from its first closing bracket or quote if the
/// completion fits only without it. Removes a single quote, comma or semicolon that the completion
/// does not need.
pub(super) fn remove_repeated_line_rest(text: &str, site: &SyntaxSite<'_>) -> Change {
    if site.language.is_none()
        && let Some(end) = end_by_brackets(text, site)
    {
        return Change::EndAt(end);
    }
    let rest = first_line(site.suffix).trim_end();
    if rest.trim().is_empty() {
        return closes_before_rest(text, site).map_or(Change::None, Change::EndAt);
    }
    if alphanumerics(rest) >= 3
        && let Some(kept) = text.trim_end().strip_suffix(rest)
        && !(text.ends_with('\n') && is_blank(last_line(kept)))
    {
        return Change::EndAt(kept.len());
    }
    let end = end_before_repeated_lines(text, site)
        .or_else(|| end_before_closer(text, site))
        .or_else(|| end_before_rest(text, site));
    if let Some(end) = end {
        return Change::EndAt(end);
    }
    let last = text.chars().next_back();
    let Some(last) = last.filter(|last| rest.starts_with(*last)) else {
        return Change::None;
    };
    let is_single = !text.contains(['\n', '\r']);
    let needless = match last {
        // An even number of quotes closes its own strings.
        '"' | '\'' | '`' => is_single && text.matches(last).count() % 2 == 1,
        ',' | ';' => true,
        _ => false,
    };
    if needless {
        Change::EndAt(text.len() - last.len_utf8())
    } else {
        Change::None
    }
}

/// Returns the end of a completion whose last lines repeat the rest of the cursor's line and lines
/// below it. It closes what that rest closes, and the same line opens another of this kind for it.
fn end_before_repeated_lines(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let closed = closes_before_rest(text, site)?;
    let mut following = site.suffix.lines().map(str::trim_end);
    let rest = following.next()?.trim_start();
    if !first_line(&text[closed..])
        .trim_end()
        .ends_with(opener(rest)?)
    {
        return None;
    }
    let following: Vec<&str> = following.filter(|line| !line.is_empty()).collect();
    let lines = lines(text);
    let repeats = |first: &usize| {
        let below = &lines[first + 1..];
        let mut same = below.iter().zip(&following);
        is_same(lines[*first].1.trim_start(), rest)
            && (1..=following.len()).contains(&below.len())
            && same.all(|((_, line), next)| is_same(line, next))
    };
    let (start, line) = lines[(1..lines.len()).find(repeats)?];
    let end = start + line.len() - line.trim_start().len();
    (!leaves_brackets_open(&text[..end], site)).then_some(end)
}

/// Returns the character that opens what a rest of a line begins by closing.
fn opener(rest: &str) -> Option<char> {
    Some(match rest.chars().next()? {
        ')' => '(',
        ']' => '[',
        '}' => '{',
        quote @ ('"' | '\'' | '`') => quote,
        _ => return None,
    })
}

/// Returns the end of a completion before the bracket or quote with which it closes what the suffix
/// closes, in a language without a grammar.
pub(super) fn end_by_brackets(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let rest = first_line(site.suffix);
    let line = last_line(site.prefix);
    let is_open = |quote: char| unescaped(line, quote).count() % 2 == 1;
    let first = rest.trim_start().chars().next();
    if let Some(quote) = first.filter(|c| "\"'`".contains(*c) && is_open(*c)) {
        return unescaped(text, quote).next();
    }
    let closer = site.suffix.trim_start().chars().next();
    let closer = closer.filter(|c| ")]}".contains(*c))?;
    let (at, letter) = *counted_brackets(text, site).0.first()?;
    let kept = match rest.trim().is_empty() {
        true => text[..at].trim_end().len(),
        false => before_blanks(&text[..at], rest),
    };
    (letter == closer).then_some(kept)
}

/// Counts the [brackets](all_brackets) of a completion, for languages without a grammar.
pub(super) fn counted_brackets(text: &str, site: &SyntaxSite<'_>) -> (Vec<(usize, char)>, usize) {
    let in_string = unescaped(last_line(site.prefix), '"').count() % 2 == 1;
    all_brackets(text, in_string)
}

/// Counts the brackets of a text outside of strings. Returns those that close none of its own, with
/// their offsets, and the number of those left open.
pub(super) fn all_brackets(text: &str, mut in_string: bool) -> (Vec<(usize, char)>, usize) {
    let (mut strays, mut open) = (Vec::new(), 0);
    let mut quotes = unescaped(text, '"').peekable();
    for (at, letter) in text.char_indices() {
        if quotes.next_if_eq(&at).is_some() {
            in_string = !in_string;
        }
        match letter {
            _ if in_string => {}
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open > 0 => open -= 1,
            ')' | ']' | '}' => strays.push((at, letter)),
            _ => {}
        }
    }
    (strays, open)
}

/// True if whole lines close what the rest of the cursor's line closes, or repeat that rest, and fit
/// only without that end.
pub(super) fn closes_line(lines: &str, site: &SyntaxSite<'_>) -> bool {
    let text = lines.trim_end_matches(['\n', '\r']);
    closing_repeated(text, site).is_some() || end_before_rest(text, site).is_some()
}

/// True if a completion up to a line end completes the text before the rest of the cursor's line: it
/// fits there, and the next line does not continue it. After a comma, more may follow, and inside a
/// string, comment or element that the rest ends.
pub(super) fn completes_line(text: &str, end: usize, site: &SyntaxSite<'_>) -> bool {
    let lines = text[..end].trim_end_matches(['\n', '\r']);
    // A comma that the rest has, too, is the end of an element.
    let is_repeated = first_line(site.suffix).trim_start().starts_with(',');
    let goes_on = lines.trim_end().ends_with(',') && !is_repeated;
    let may_end = !goes_on && !rest_ends_lines(site) && !leaves_brackets_open(lines, site);
    may_end && fits(lines, site) && !is_continued(text, end, site)
}

/// True if whole lines are known to [complete the line](completes_line) by their last one, which
/// shows whether it continues those before it.
pub(super) fn ends_before_last_line(lines: &str, site: &SyntaxSite<'_>) -> bool {
    let mut ends = super::line_ends(lines).map(|end| end - 1);
    let is_last = |next: Range<usize>| next.end == lines.len();
    let judged = ends.find(|end| following_line(lines, *end, site).is_some_and(is_last));
    judged.is_some_and(|end| completes_line(lines, end, site))
}

/// The most lines of comments that a stream is read on for, to see whether a line continues another.
const COMMENT_LINES: usize = 2;

/// Returns the first line after a line end that is not a comment, or the one after several comments.
fn following_line(text: &str, end: usize, site: &SyntaxSite<'_>) -> Option<Range<usize>> {
    let comment = site.language?.line_comment;
    let starts = super::line_ends(&text[end..]).map(|start| end + start);
    let is_comment = |start: usize| {
        let line = text[start..].trim_start_matches([' ', '\t']);
        line.starts_with(comment)
    };
    let (_, start) = starts
        .enumerate()
        .find(|(index, start)| *index >= COMMENT_LINES || !is_comment(*start))?;
    let next = start + text[start..].split_inclusive('\n').next()?.len();
    Some(start..next)
}

/// Words with which a line in brackets continues the previous one, where indentation delimits
/// blocks.
const CONTINUING_WORDS: [&str; 8] = ["and", "else", "for", "if", "in", "is", "not", "or"];

/// True if the line after a line end continues what is before it: both fit, as parts of the
/// statement that begins with the cursor's line, or the line closes what the rest of that line
/// closes. A line that is not complete itself continues another if it begins with an operator, or,
/// in brackets, with a word as in a comprehension.
fn is_continued(text: &str, end: usize, site: &SyntaxSite<'_>) -> bool {
    let next = following_line(text, end, site);
    let Some(next) = next.filter(|next| !text[next.clone()].trim().is_empty()) else {
        return false;
    };
    let lines = &text[..next.end].trim_end_matches(['\n', '\r']);
    let line = text[next.clone()].trim();
    // After lines that fit, a closing bracket closes one of the prefix.
    if !line.starts_with([')', ']', '}']) && fits(lines, site) {
        let begun = next.end - text[next].trim_start().len();
        let is_indented = site.language.is_some_and(|it| it.indented_blocks);
        let reaches = end_of_line_node(lines, site).map_or_else(
            || {
                begins_with_operator(line, site)
                    || is_indented && is_in_brackets(&text[..end], site)
            },
            |end_of_node| end_of_node > begun,
        );
        return reaches && !begins_statement_at(begun, lines, site);
    }
    if closing_repeated(lines, site).is_some() {
        return true;
    }
    let Some(language) = site.language else {
        return false;
    };
    let word = line.split(|c: char| !c.is_alphabetic()).next();
    let begins_with_word = word.is_some_and(|word| CONTINUING_WORDS.contains(&word));
    match language.indented_blocks {
        // Outside of brackets, a line end ends a statement.
        true => {
            !line.ends_with(':')
                && (begins_with_word || begins_with_operator(line, site))
                && is_in_brackets(&text[..end], site)
        }
        // In Go, an operator at the end of a line continues it.
        false if language.id == "go" => {
            let before = text[..end].trim_end();
            let is_step = before.ends_with("++") || before.ends_with("--");
            !is_step && before.ends_with(['.', '+', '-', '*', '/', '%', '&', '|', '<', '=', '>'])
        }
        false => line.starts_with('{') || begins_with_operator(line, site),
    }
}

/// Returns the end of a completion that closes what the rest of its line closes: before that
/// closing bracket or quote, or further on if it [opens another](end_beyond_closer) for the rest.
fn end_before_closer(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let end = closing_repeated(text, site)?;
    let rest = first_line(site.suffix);
    Some(end_beyond_closer(text, end, site).unwrap_or_else(|| before_blanks(&text[..end], rest)))
}

/// Returns where a completion closes the bracket or quote that the rest of its line closes, if that
/// is too much.
fn closing_repeated(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let end = closes_before_rest(text, site)?;
    let rest = first_line(site.suffix).trim();
    let repeats = text[end..].starts_with(rest);
    let kept = &text[..end];
    if rest.starts_with('>') {
        // It may also be an operator, or end a tag, unless it ends a list of types.
        if opens_types(site) {
            return Some(end);
        }
        let is_right = || fits(kept, site) || ends_alone(&[kept, rest].concat(), site);
        let is_needless = repeats && rest.len() > 1 || !fits(text, site);
        return (is_needless && is_right()).then_some(end);
    }
    // In a string, a second `}` is text.
    if rest.starts_with('}') && is_in_interpolation(site) {
        return Some(end);
    }
    // Unlike brackets, a string is seldom closed at once to go on after it.
    let goes_on = kept.trim().is_empty() && !rest.starts_with(['"', '\'', '`']);
    (!goes_on && (repeats || !fits(text, site))).then_some(end)
}

/// True if the cursor's line opens a list of types before the cursor, such as `Map<`, and does not
/// close it.
pub(super) fn opens_types(site: &SyntaxSite<'_>) -> bool {
    let line = last_line(site.prefix);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices('<').any(|(at, _)| {
        let inner = &line[at + 1..];
        line[..at].ends_with(is_word)
            && !inner.starts_with([' ', '='])
            && end_of_type_arguments(inner).is_none()
    })
}

/// Returns the end of a completion that goes on after `end`, where it closes the bracket or quote
/// around the cursor, and opens another of this kind on the same line: the rest of the cursor's line
/// then closes that one, as in `expect(sum).toBe(3)` with only `)` after the cursor.
fn end_beyond_closer(text: &str, end: usize, site: &SyntaxSite<'_>) -> Option<usize> {
    let rest = first_line(site.suffix).trim();
    let opener = opener(rest)?;
    let line = first_line(&text[end..]).trim_end();
    let inner = line.trim_end_matches([';', ',', '{', ' ']);
    // The model may repeat a part of the rest alone.
    let mut parts = (1..rest.len()).rev().filter_map(|end| rest.get(..end));
    let own = line.strip_suffix(rest).or_else(|| inner.strip_suffix(rest));
    let own = own.or_else(|| parts.find_map(|part| line.strip_suffix(part)));
    let beyond = end + own.unwrap_or(line).len();
    let reopens = text[end..beyond].chars().skip(1).any(|c| c == opener);
    let is_right = || {
        let kept = &text[..beyond];
        // A text that needs no closing bracket ends with a comment.
        fits(kept, site) || !ends_alone(kept, site) && ends_alone(&[kept, rest].concat(), site)
    };
    (reopens && is_right()).then_some(beyond)
}

/// Returns the end of a completion that does not fit because it repeats the whole rest of its line.
fn end_before_rest(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let rest = first_line(site.suffix);
    let ink = text.trim_end();
    let kept = ink.strip_suffix(rest.trim())?;
    // Nothing follows these at the end of a line but the block that they begin.
    let begins_block = matches!(rest.trim(), "{" | ":");
    let fits_without = || kept.trim().is_empty() || fits(kept, site);
    let is_needless = kept.len() < ink.len()
        && !opens_brackets(kept, site)
        && (begins_block || !fits(text, site) && fits_without());
    is_needless.then(|| before_blanks(kept, rest))
}

/// True for blanks alone. A whole line that begins with them is indented further than the rest of
/// the cursor's line that it ends with, and so another one.
fn is_blank(line: &str) -> bool {
    !line.is_empty() && line.trim().is_empty()
}

/// Returns the end of a text without the blanks that the rest of its line begins with.
pub(super) fn before_blanks(text: &str, rest: &str) -> usize {
    let blanks = &rest[..rest.len() - rest.trim_start().len()];
    text.strip_suffix(blanks).unwrap_or(text).len()
}
