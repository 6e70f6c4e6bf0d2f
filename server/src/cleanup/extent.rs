//! Ends a completion at its line, its statement, its block or its definition.

use std::ops::Range;

use tree_sitter::Node;

use super::overlap::{
    before_blanks, closes_line, completes_line, counted_brackets, end_by_brackets,
};
use super::syntax_site::SyntaxSite;
use super::written::{
    breaks_off, leaves_brackets_open, leaves_header, leaves_string, rest_ends_lines,
};
use super::{Change, CompletionExtent, first_line, last_line};

/// Ends a completion at its first line end if the extent is a line. Within a line, with text on
/// both sides of the cursor, ends it at the first line end at which it [closes](closes_line) or
/// [completes](completes_line) the line, or else at the last at which it [fits], or else at the
/// first at which it does not [break off](breaks_off). Before a line, only whole lines are inserted.
pub(super) fn end_at_line(text: &str, site: &SyntaxSite<'_>) -> Change {
    if before_a_line(site) {
        return end_before_the_line(text, site);
    }
    let Some(first) = text.find(['\n', '\r']) else {
        return Change::None;
    };
    if site.extent == CompletionExtent::Line {
        return Change::EndAt(first);
    }
    if !continues_line(text, site) {
        return Change::None;
    }
    let ends = super::line_ends(text)
        .map(|end| text[..end].trim_end_matches(['\n', '\r']).len())
        // The last line of a text may have no end.
        .chain([text.len()]);
    let mut ends = ends.collect::<Vec<_>>().into_iter();
    if site.language.is_none() {
        return Change::EndAt(end_without_grammar(text, ends, site));
    }
    let completing = ends
        .clone()
        .find(|end| closes_line(&text[..*end], site) || completes_line(text, *end, site));
    // In a string, comment or element, no end of a line is an end of syntax.
    if completing.is_none() && rest_ends_lines(site) {
        return Change::None;
    }
    let end = completing
        // A comma or the next line continues each of these.
        .or_else(|| {
            let is_whole = |lines: &str| fits(lines, site) && !leaves_brackets_open(lines, site);
            ends.clone().rfind(|end| is_whole(&text[..*end]))
        })
        .or_else(|| ends.find(|end| !breaks_off(&text[..*end], site)));
    Change::EndAt(end.unwrap_or(0))
}

/// Returns the end of a completion of a line in a language without a grammar: before the bracket
/// that the rest of the line closes. If there is none, the end is one of `ends` at which no bracket of
/// the completion is open and no comma goes on, before what repeats the rest of the line: the last
/// before a closing bracket, as inside of it lines follow each other, or else the first.
fn end_without_grammar(
    text: &str,
    mut ends: impl DoubleEndedIterator<Item = usize>,
    site: &SyntaxSite<'_>,
) -> usize {
    if let Some(end) = end_by_brackets(text, site) {
        return end;
    }
    let rest = first_line(site.suffix);
    let begins_closed = rest.trim_start().starts_with([')', ']', '}']);
    let is_closed = begins_closed && counted_brackets(text, site).0.is_empty();
    // A comma that the rest has, too, is the end of an element.
    let goes_on = |lines: &str| lines.ends_with(',') && !rest.trim_start().starts_with(',');
    let whole = |end: usize| {
        let lines = text[..end].trim_end();
        let kept = match lines.strip_suffix(rest.trim()) {
            Some(kept) => before_blanks(kept, rest),
            None if goes_on(lines) && !(is_closed && end == text.len()) => return None,
            None => end,
        };
        (counted_brackets(&text[..kept], site).1 == 0).then_some(kept)
    };
    let end = match is_closed {
        true => ends.rev().find_map(whole),
        false => ends.find_map(whole),
    };
    end.unwrap_or(0)
}

/// True if a completion continues the cursor's line, which has text after the cursor. False if it
/// begins with a line end inside brackets, or a string, comment or element, that the line closes:
/// then it inserts lines between both ends.
pub(super) fn continues_line(text: &str, site: &SyntaxSite<'_>) -> bool {
    let rest = first_line(site.suffix).trim_start();
    let is_closed = rest.starts_with([')', ']', '}']) || rest_ends_lines(site);
    let fills = is_closed && first_line(text).trim().is_empty();
    !rest.is_empty() && !before_a_line(site) && !fills
}

/// True if a nonblank completion gives correct syntax on the lines where it begins and ends.
pub(super) fn fits(text: &str, site: &SyntaxSite<'_>) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    let Some(parsed) = site.with(text) else {
        return false;
    };
    let start = site.prefix.len() - last_line(site.prefix).len();
    let rest = first_line(site.suffix);
    let own_end = site.prefix.len() + text.len();
    let end = own_end + rest.len();
    let last = parsed
        .tree
        .root_node()
        .descendant_for_byte_range(own_end - 1, own_end);
    // The rest of the line would become part of a comment.
    let swallows_rest = last.is_some_and(|token| {
        parsed.language.is_comment(token)
            && token.start_byte() >= site.prefix.len()
            && token.end_byte() >= own_end + rest.trim_end().len()
    });
    if swallows_rest && !rest.trim().is_empty() {
        return false;
    }
    let root = parsed.tree.root_node();
    !has_error_within(root, &(start..end))
        && !leaves_header(text, root, site)
        && !leaves_string(text, site)
}

/// True if a syntax error touches a range of bytes.
pub(super) fn has_error_within(root: Node<'_>, range: &Range<usize>) -> bool {
    // Not recursive, as a model's text may be nested arbitrarily deeply.
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let touches = node.start_byte() <= range.end && range.start <= node.end_byte();
        if !touches || !node.has_error() {
            continue;
        }
        if is_error(node) {
            return true;
        }
        pending.extend(node.children(&mut node.walk()));
    }
    false
}

/// True if a node is a syntax error. A grammar may hide a missing token: then only the node around
/// it has the error.
pub(super) fn is_error(node: Node<'_>) -> bool {
    let hides = || {
        node.has_error()
            && !node
                .children(&mut node.walk())
                .any(|child| child.has_error())
    };
    node.is_error() || node.is_missing() || hides()
}

/// True if the cursor's line has only indentation before the cursor, and text after it.
pub(super) fn before_a_line(site: &SyntaxSite<'_>) -> bool {
    last_line(site.prefix).trim().is_empty() && !first_line(site.suffix).trim().is_empty()
}

/// Ends a completion that is inserted before a line at a whole line, as a partial last line would
/// be joined with that line.
fn end_before_the_line(text: &str, site: &SyntaxSite<'_>) -> Change {
    // The next line keeps the indentation before the cursor.
    let indent = last_line(site.prefix);
    let mut ends = super::line_ends(text)
        .filter(|end| text[*end..].starts_with(indent))
        .map(|end| end + indent.len());
    if site.extent == CompletionExtent::Line {
        let end = ends.next().or_else(|| text.find(['\n', '\r']));
        return end.map_or(Change::None, Change::EndAt);
    }
    let (Some(end), Some(whole)) = (ends.last(), site.with(text)) else {
        return Change::None;
    };
    // A last partial line is dropped only if this repairs the syntax.
    let torn = end < text.len() && whole.tree.root_node().has_error();
    let repaired = torn
        && site
            .with(&text[..end])
            .is_some_and(|lines| !lines.tree.root_node().has_error());
    if repaired {
        Change::EndAt(end)
    } else {
        Change::None
    }
}

/// Ends a completion of extent `statement` with the statement that contains the cursor, or else
/// with the first that begins in it.
pub(super) fn end_at_statement(text: &str, site: &SyntaxSite<'_>) -> Change {
    if site.extent != CompletionExtent::Statement {
        return Change::None;
    }
    let Some(language) = site.language else {
        return Change::None;
    };
    let cursor = site.prefix.len();
    // The statement's first character: on the cursor's line, or else the completion's first.
    let begun = last_line(site.prefix).trim_end();
    let first = if begun.trim().is_empty() {
        cursor + (text.len() - text.trim_start().len())
    } else {
        let line_start = cursor - last_line(site.prefix).len();
        line_start + (begun.len() - begun.trim_start().len())
    };
    end_of(text, site, |node| {
        language.is_statement(node) && node.start_byte() <= first && first < node.end_byte()
    })
}

/// Ends a completion with the definition that contains the cursor, or else with the first that
/// begins in it. Applies to the extent `definition`, and to chat models, which tend to add further
/// definitions.
pub(super) fn end_at_definition(text: &str, site: &SyntaxSite<'_>) -> Change {
    let wanted = site.extent == CompletionExtent::Definition || site.chat;
    let Some(language) = site.language.filter(|_| wanted) else {
        return Change::None;
    };
    let cursor = site.prefix.len();
    let around = end_of(text, site, |node| {
        language.is_definition(node) && node.start_byte() < cursor && cursor <= node.end_byte()
    });
    if around != Change::None {
        return around;
    }
    let Some(parsed) = site.with(text) else {
        return Change::None;
    };
    let first = nodes(parsed.tree.root_node())
        .into_iter()
        .filter(|node| language.is_definition(*node))
        .filter(|node| node.start_byte() >= cursor && node.end_byte() < cursor + text.len())
        // Of nested definitions that begin at the same place, the outermost counts.
        .min_by_key(|node| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
    first.map_or(Change::None, |node| Change::EndAt(node.end_byte() - cursor))
}

/// Ends a completion with the smallest node that satisfies a condition, if this node ends within
/// the completion.
fn end_of(text: &str, site: &SyntaxSite<'_>, wanted: impl Fn(Node<'_>) -> bool) -> Change {
    let cursor = site.prefix.len();
    let Some(parsed) = site.with(text) else {
        return Change::None;
    };
    nodes(parsed.tree.root_node())
        .into_iter()
        .filter(|node| wanted(*node))
        .min_by_key(|node| node.end_byte() - node.start_byte())
        .map(|node| node.end_byte())
        .filter(|end| (cursor..cursor + text.len()).contains(end))
        .map_or(Change::None, |end| Change::EndAt(end - cursor))
}

/// Returns all nodes of a tree, each before its children.
fn nodes(root: Node<'_>) -> Vec<Node<'_>> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        let mut cursor = node.walk();
        found.extend(node.named_children(&mut cursor));
        next += 1;
    }
    found
}
