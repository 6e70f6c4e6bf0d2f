//! Adapts a completion to the file's line ends and indentation.

use std::collections::BTreeMap;
use std::ops::Range;

use tree_sitter::Node;

use super::extent::before_a_line;
use super::syntax_site::SyntaxSite;
use super::written::{begins_with_blank, rest_ends_lines};
use super::{Change, first_line, last_line};

/// Replaces line ends by the file's, if the file is consistent.
pub(super) fn match_line_ends(text: &str, site: &SyntaxSite<'_>) -> Change {
    let file = [site.prefix, site.suffix].map(str::as_bytes);
    let ends = || {
        let ends = |part| memchr::memchr_iter(b'\n', part).map(move |at| (part, at));
        file.into_iter().flat_map(ends)
    };
    if ends().next().is_none() {
        return Change::None;
    }
    let has_return = |(part, at): &(&[u8], usize)| *at > 0 && part[at - 1] == b'\r';
    let may_return = file
        .iter()
        .any(|part| memchr::memchr(b'\r', part).is_some());
    // Most files have no carriage return, and their line ends need not be counted.
    let (all, with_return) = match may_return {
        true => (ends().count(), ends().filter(has_return).count()),
        false => (1, 0),
    };
    let plain = text.replace("\r\n", "\n");
    if with_return == all {
        Change::Rewrite(plain.replace('\n', "\r\n"))
    } else if with_return == 0 {
        Change::Rewrite(plain)
    } else {
        Change::None
    }
}

/// The unit of indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Indent {
    Tabs,
    /// This number of spaces per level.
    Spaces(usize),
}

/// Replaces the unit of indentation, tabs or a number of spaces, by the one around the cursor, if
/// both units are clear.
pub(super) fn match_indentation(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !text.contains('\n') {
        return Change::None;
    }
    let (literals, first_row) = own_literals(text, site);
    let is_literal = |index: usize| literals.contains_key(&(first_row + index));
    let Some(own) = own_style(text, is_literal, site) else {
        return Change::None;
    };
    // The indentation of the line that the completion continues or begins.
    let line = [last_line(site.prefix), first_line(text)].concat();
    let base = &line[..line.len() - line.trim_start().len()];
    let Some((file, seen)) = style_around(site, own, base) else {
        return Change::None;
    };
    // A single step may be specific to its block, as units differ within a file.
    if seen < 2 && file != Indent::Tabs && own != Indent::Tabs {
        return Change::None;
    }
    let one = |indent: Indent| match indent {
        Indent::Tabs => "\t".to_owned(),
        Indent::Spaces(count) => " ".repeat(count),
    };
    if file == own {
        return Change::None;
    }
    let (from, to) = (one(own), one(file));
    let mut new = String::with_capacity(text.len());
    // The indentation of the last line of code, before and after.
    let mut above = (base.to_owned(), base.to_owned());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let code = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - code.len()];
        let literal = literals.get(&(first_row + index));
        // The text of a string is a value.
        if index == 0 || code.trim().is_empty() || literal == Some(&Literal::String) {
            new.push_str(line);
            continue;
        }
        // A comment moves with the line on which it begins.
        if literal == Some(&Literal::Comment)
            && let Some(deeper) = indent.strip_prefix(&above.0)
        {
            new.push_str(&above.1);
            new.push_str(deeper);
            new.push_str(code);
            continue;
        }
        // Indentation up to the block's own belongs to the file; only the deeper part is converted.
        let (kept, deeper) = match indent.strip_prefix(base) {
            Some(deeper) => (base, deeper),
            None if base.starts_with(indent) => (indent, ""),
            None => ("", indent),
        };
        let levels = deeper.matches(&from).count();
        if deeper.len() > levels * from.len() {
            // Aligned by hand, or mixed: left as it is.
            return Change::None;
        }
        above = (indent.to_owned(), [kept, &to.repeat(levels)].concat());
        new.push_str(&above.1);
        new.push_str(code);
    }
    // The file's unit may differ within this block, so a conversion of the file's own lines, or one
    // that breaks the syntax, is dropped.
    let mut changed = text
        .lines()
        .zip(new.lines())
        .filter(|(old, new)| old != new);
    if changed.any(|(old, _)| site.suffix.lines().any(|line| line == old)) {
        return Change::None;
    }
    if is_correct(text, site) && !is_correct(&new, site) {
        return Change::None;
    }
    Change::Rewrite(new)
}

/// True if a file with a completion has no syntax error.
fn is_correct(text: &str, site: &SyntaxSite<'_>) -> bool {
    site.with(text)
        .is_some_and(|parsed| !parsed.tree.root_node().has_error())
}

/// Returns the unit for a completion with the unit `own`: that of the cursor's outermost block if
/// it has at least two steps, else the file's, unless the block agrees with the completion. A
/// cursor without indentation before it (`base`) is in no block.
fn style_around(site: &SyntaxSite<'_>, own: Indent, base: &str) -> Option<(Indent, usize)> {
    let file = [site.prefix, site.suffix].concat();
    let lines = lines_of_code(&file, site);
    if base.is_empty() {
        return style(lines.iter(), MIN_INDENTED);
    }
    let cursor = site.prefix.matches('\n').count();
    let is_outermost = |line: &CodeLine<'_>| !line.text.starts_with([' ', '\t']);
    let before = |line: &&CodeLine<'_>| line.number < cursor && is_outermost(line);
    let after = |line: &&CodeLine<'_>| line.number > cursor && is_outermost(line);
    let first = lines.iter().rfind(before).map_or(0, |line| line.number);
    let last = lines.iter().find(after).map_or(usize::MAX, |it| it.number);
    let block = lines
        .iter()
        .filter(|line| (first..last).contains(&line.number));
    match style(block, 1) {
        Some(found @ (_, 2..)) => Some(found),
        Some((unit, _)) if unit == own => None,
        _ => style(lines.iter(), MIN_INDENTED),
    }
}

/// A nonblank line that does not continue a string or a comment.
struct CodeLine<'a> {
    number: usize,
    text: &'a str,
}

fn lines_of_code<'a>(file: &'a str, site: &SyntaxSite<'_>) -> Vec<CodeLine<'a>> {
    let literals = literal_rows("", 0..file.len(), site);
    file.split('\n')
        .map(str::trim_end)
        .enumerate()
        .filter(|(number, text)| !text.is_empty() && !literals.contains_key(number))
        .map(|(number, text)| CodeLine { number, text })
        .collect()
}

/// A literal that spans lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literal {
    String,
    /// A comment, or a string that documents its definition.
    Comment,
}

/// Returns the rows of a completion that continue a string or a comment, and its first row.
fn own_literals(text: &str, site: &SyntaxSite<'_>) -> (BTreeMap<usize, Literal>, usize) {
    let cursor = site.prefix.len();
    let rows = literal_rows(text, cursor..cursor + text.len(), site);
    (
        rows,
        memchr::memchr_iter(b'\n', site.prefix.as_bytes()).count(),
    )
}

/// Returns the rows that continue a string or a comment, of those that overlap a range of bytes of the
/// file with a completion.
fn literal_rows(
    text: &str,
    range: Range<usize>,
    site: &SyntaxSite<'_>,
) -> BTreeMap<usize, Literal> {
    let mut rows = BTreeMap::new();
    let Some(parsed) = site.with(text) else {
        return rows;
    };
    let mut pending = vec![parsed.tree.root_node()];
    while let Some(node) = pending.pop() {
        let (first, last) = (node.start_position().row, node.end_position().row);
        if first == last || node.end_byte() < range.start || node.start_byte() > range.end {
            continue;
        }
        let is_comment = parsed.language.is_comment(node);
        if is_comment || node.kind().contains("string") {
            let is_statement = |node: Node<'_>| parsed.language.is_statement(node);
            let literal = match is_comment || node.parent().is_some_and(is_statement) {
                true => Literal::Comment,
                false => Literal::String,
            };
            rows.extend((first + 1..=last).map(|row| (row, literal)));
            continue;
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    rows
}

/// Returns the unit of these lines and the number of steps one level deeper below a line that opens
/// a block; `None` unless at least `least` lines are indented, all in one way.
fn style<'a>(
    lines: impl Iterator<Item = &'a CodeLine<'a>>,
    least: usize,
) -> Option<(Indent, usize)> {
    let (mut tabs, mut spaces, mut steps) = (0, 0, Vec::new());
    let (mut above, mut opens) = (0, false);
    for CodeLine { text, .. } in lines {
        if text.starts_with('\t') {
            tabs += 1;
        }
        let width = text.len() - text.trim_start_matches(' ').len();
        if width > 0 {
            spaces += 1;
        }
        if width > above && opens {
            steps.push(width - above);
        }
        above = width;
        opens = text.ends_with(BLOCK_OPENERS);
    }
    match (tabs, spaces) {
        (tabs, 0) if tabs >= least => Some((Indent::Tabs, tabs)),
        (0, spaces) if spaces >= least => {
            // The commonest step, unless it is tied.
            let common = |step: usize| steps.iter().filter(|other| **other == step).count();
            let most = steps.iter().map(|step| common(*step)).max()?;
            let mut commonest = steps.iter().filter(|step| common(**step) == most);
            let step = *commonest.next()?;
            commonest
                .all(|other| *other == step)
                .then_some((Indent::Spaces(step), most))
        }
        _ => None,
    }
}

/// Minimum number of indented lines that establish a file's unit.
const MIN_INDENTED: usize = 2;

/// Characters that end a line that opens a block.
const BLOCK_OPENERS: [char; 2] = [':', '{'];

/// Returns the unit of a completion, from the line after the first that opens a block. Lines that
/// continue a literal, by their index, do not count.
fn own_style(
    text: &str,
    is_literal: impl Fn(usize) -> bool,
    site: &SyntaxSite<'_>,
) -> Option<Indent> {
    let is_code = |(index, line): &(usize, &str)| !line.trim().is_empty() && !is_literal(*index);
    // The first line may continue the cursor's, and that line may open the block.
    let begun = [last_line(site.prefix), first_line(text)].concat();
    let mut above = begun.as_str();
    for (_, line) in text.lines().enumerate().skip(1).filter(is_code) {
        let [above_width, width] = [above, line].map(|it| it.len() - it.trim_start().len());
        if above.trim_end().ends_with(BLOCK_OPENERS) && width > above_width {
            let deeper = &line[above_width..width];
            let all = |one: char| deeper.chars().all(|character| character == one);
            return if all('\t') {
                Some(Indent::Tabs)
            } else {
                all(' ').then_some(Indent::Spaces(deeper.len()))
            };
        }
        above = line;
    }
    None
}

/// Removes white space at the end, unless it separates the completion from the suffix: a word, a
/// line, or a bracket that is on its own line or whose opening one has a blank after it.
pub(super) fn remove_trailing_blanks(text: &str, site: &SyntaxSite<'_>) -> Change {
    let end = text.trim_end().len();
    let next = site.suffix.chars().next();
    let parts_words = next.is_some_and(|next| !next.is_whitespace() && !")]},;:.".contains(next));
    let lines = text[end..].matches('\n').count();
    let parts_lines = before_a_line(site) && lines > 0;
    let parts_bracket = next.is_some_and(|next| ")]}".contains(next)) && lines == 1;
    let parts_end = rest_ends_lines(site) && lines == 1;
    if end > 0 && (parts_words || parts_lines || parts_bracket || parts_end) {
        return Change::None;
    }
    // A blank on one side of brackets has one on the other.
    let is_padded = end > 0 && lines == 0 && next.is_some_and(|next| ")]}".contains(next));
    if is_padded && begins_with_blank(&text[..end], site) {
        return Change::EndAt(end + usize::from(text[end..].starts_with(' ')));
    }
    Change::EndAt(end)
}
