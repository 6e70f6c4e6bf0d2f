//! How far a completion goes: its line, its statement, its block, its definition.

use tree_sitter::Node;

use super::brackets::{around, continuation_lines};
use super::site::Site;
use super::{Change, Extent, first_line, indentation, last_line};

/// With text on both sides of the cursor on its line, a completion stays on that line: anything
/// else would tear the line in two. So it does where it may go no further than its line. With
/// text after the cursor only, whole lines may go before it.
pub(super) fn stay_on_the_line(text: &str, place: &Site<'_>) -> Change {
    if before_a_line(place) {
        return end_before_the_line(text, place);
    }
    if !keeps_to_its_line(place) {
        return Change::None;
    }
    text.find(['\n', '\r']).map_or(Change::None, Change::EndAt)
}

/// Whether a completion has to end with its first line.
pub(super) fn keeps_to_its_line(place: &Site<'_>) -> bool {
    let mid_line = !first_line(place.suffix).trim().is_empty() && !before_a_line(place);
    place.extent == Extent::Line || mid_line
}

/// Whether all of the cursor's line comes after it, but for indentation.
pub(super) fn before_a_line(place: &Site<'_>) -> bool {
    last_line(place.prefix).trim().is_empty() && !first_line(place.suffix).trim().is_empty()
}

/// Before a line, a completion is whole lines, or lines and the beginning of that line. One that
/// breaks off in a line of its own would run into it.
fn end_before_the_line(text: &str, place: &Site<'_>) -> Change {
    // The line that follows keeps the indentation that stands before the cursor.
    let indent = last_line(place.prefix);
    let mut ends = super::line_ends(text)
        .filter(|end| text[*end..].starts_with(indent))
        .map(|end| end + indent.len());
    if place.extent == Extent::Line {
        let end = ends.next().or_else(|| text.find(['\n', '\r']));
        return end.map_or(Change::None, Change::EndAt);
    }
    let (Some(end), Some(whole)) = (ends.last(), place.with(text)) else {
        return Change::None;
    };
    let torn = end < text.len() && whole.tree.root_node().has_error();
    let mended = torn
        && place
            .with(&text[..end])
            .is_some_and(|lines| !lines.tree.root_node().has_error());
    if mended {
        Change::EndAt(end)
    } else {
        Change::None
    }
}

/// Where a statement is asked for, a completion ends with the statement that the cursor is in,
/// or else with the first that it begins.
pub(super) fn end_with_the_statement(text: &str, place: &Site<'_>) -> Change {
    if place.extent != Extent::Statement {
        return Change::None;
    }
    let Some(language) = place.language else {
        return Change::None;
    };
    let cursor = place.prefix.len();
    // The statement's own ink: before the cursor on its line, or the completion's first.
    let begun = last_line(place.prefix).trim_end();
    let ink = if begun.trim().is_empty() {
        cursor + (text.len() - text.trim_start().len())
    } else {
        let line_start = cursor - last_line(place.prefix).len();
        line_start + (begun.len() - begun.trim_start().len())
    };
    end_of(text, place, |node| {
        language.is_statement(node) && node.start_byte() <= ink && ink < node.end_byte()
    })
}

/// Where a definition is asked for, a completion ends with the definition that the cursor is in,
/// or else with the first that it begins. A chat model's always does: it likes to add more.
pub(super) fn end_with_the_definition(text: &str, place: &Site<'_>) -> Change {
    let wanted =
        place.extent == Extent::Definition || (place.chat && place.extent != Extent::Anything);
    let Some(language) = place.language.filter(|_| wanted) else {
        return Change::None;
    };
    let cursor = place.prefix.len();
    let around = end_of(text, place, |node| {
        language.is_definition(node) && node.start_byte() < cursor && cursor <= node.end_byte()
    });
    if around != Change::None {
        return around;
    }
    let Some(parsed) = place.with(text) else {
        return Change::None;
    };
    let first = nodes(parsed.tree.root_node())
        .into_iter()
        .filter(|node| language.is_definition(*node))
        .filter(|node| node.start_byte() >= cursor && node.end_byte() < cursor + text.len())
        .min_by_key(|node| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
    first.map_or(Change::None, |node| Change::EndAt(node.end_byte() - cursor))
}

/// The end of the smallest node of a kind, where it is within the completion.
fn end_of(text: &str, place: &Site<'_>, wanted: impl Fn(Node<'_>) -> bool) -> Change {
    let cursor = place.prefix.len();
    let Some(parsed) = place.with(text) else {
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

/// All nodes of a tree, each before its children.
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

/// Where indentation delimits blocks, a completion ends before the first line that is indented
/// less than its block.
pub(super) fn stay_in_the_block(text: &str, place: &Site<'_>) -> Change {
    let indented = place
        .language
        .is_some_and(|language| language.indented_blocks);
    if !indented || place.extent == Extent::Anything {
        return Change::None;
    }
    let block = block_of(text, indentation(last_line(place.prefix)));
    // Inside brackets or a string that began earlier, indentation means nothing.
    let inside = around(text, place).is_some_and(|around| around.open_at_cursor > 0);
    if inside || block == 0 {
        return Change::None;
    }
    let continuations = continuation_lines(text, place);
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let leaves = index > 0
            && !line.trim().is_empty()
            && indentation(line) < block
            && !continuations.iter().any(|lines| lines.contains(&start));
        if leaves {
            return Change::EndAt(start);
        }
        start += line.len();
    }
    Change::None
}

/// The indentation of the block that a text goes on with: that of the cursor's line, or, where
/// the text begins with a line end, that of its first line with ink, if it is indented at all.
/// After `return x` the next line stands further left, and still belongs to the function.
pub(super) fn block_of(text: &str, cursor_line: usize) -> usize {
    let mut lines = text.split_inclusive('\n');
    let begun = lines.next().is_some_and(|line| !line.trim().is_empty());
    if begun {
        return cursor_line;
    }
    let first = lines.find(|line| !line.trim().is_empty()).map(indentation);
    first
        .filter(|width| *width > 0)
        .map_or(cursor_line, |width| width.min(cursor_line))
}
