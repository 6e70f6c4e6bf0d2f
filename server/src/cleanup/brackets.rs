//! Which brackets are open around a completion, by tree-sitter, and where indentation means
//! nothing.

use std::ops::Range;

use tree_sitter::Node;

use super::Change;
use super::site::Site;

/// A completion may close the brackets that stand open before the cursor and that nothing after
/// it closes, and no more.
pub(super) fn close_only_what_is_open(text: &str, place: &Site<'_>) -> Change {
    around(text, place)
        .and_then(|around| around.first_stray_closer)
        .map_or(Change::None, Change::EndAt)
}

/// What the brackets around a completion say.
pub(super) struct Around {
    /// How many brackets of the prefix are open at the cursor.
    pub(super) open_at_cursor: usize,
    /// Where in the completion a bracket closes that is not the completion's to close.
    first_stray_closer: Option<usize>,
    /// How many brackets are closed after the completion that are not opened there.
    closed_after: usize,
}

impl Around {
    /// Whether the completion closes a bracket that is not its own to close.
    pub(super) fn strays(&self) -> bool {
        self.first_stray_closer.is_some()
    }

    /// How many brackets a completion that opens none may close.
    pub(super) fn closable(&self) -> usize {
        self.open_at_cursor.saturating_sub(self.closed_after)
    }
}

/// Counts brackets before, in and after a completion. Tree-sitter tells which brackets are
/// tokens and which are part of a string or a comment.
pub(super) fn around(text: &str, place: &Site<'_>) -> Option<Around> {
    let parsed = place.with(text)?;
    let completion = place.prefix.len()..place.prefix.len() + text.len();
    let (mut open, mut depth_in_completion, mut strays) = (0usize, 0usize, Vec::new());
    let (mut open_after, mut closed_after) = (0usize, 0usize);
    for (kind, start) in brackets(parsed.tree.root_node()) {
        let opens = matches!(kind, "(" | "[" | "{" | "${");
        if start < completion.start {
            open = if opens {
                open + 1
            } else {
                open.saturating_sub(1)
            };
        } else if start < completion.end {
            if opens {
                depth_in_completion += 1;
            } else if depth_in_completion > 0 {
                depth_in_completion -= 1;
            } else {
                strays.push(start - completion.start);
            }
        } else if opens {
            open_after += 1;
        } else if open_after > 0 {
            open_after -= 1;
        } else {
            closed_after += 1;
        }
    }
    let allowed = open.saturating_sub(closed_after.saturating_sub(depth_in_completion));
    Some(Around {
        open_at_cursor: open,
        first_stray_closer: strays.get(allowed).copied(),
        closed_after,
    })
}

/// Every bracket token of the languages in the table.
const BRACKETS: [&str; 7] = ["(", ")", "[", "]", "{", "}", "${"];

/// The bracket tokens of a tree in order, each with its byte offset.
fn brackets(root: Node<'_>) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let is_token = node.child_count() == 0 && !node.is_missing();
        let bracket = BRACKETS.into_iter().find(|bracket| *bracket == node.kind());
        if let Some(bracket) = bracket.filter(|_| is_token) {
            found.push((bracket, node.start_byte()));
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// The stretches of a completion that continue a bracket or a string of the completion's own
/// over line ends, where indentation means nothing.
pub(super) fn continuation_lines(text: &str, place: &Site<'_>) -> Vec<Range<usize>> {
    let Some(parsed) = place.with(text) else {
        return Vec::new();
    };
    let offset = place.prefix.len();
    let mut found = Vec::new();
    let mut pending = vec![parsed.tree.root_node()];
    while let Some(node) = pending.pop() {
        let kind = node.kind();
        let bracketed = node
            .child(0)
            .is_some_and(|first| matches!(first.kind(), "(" | "[" | "{"));
        if node.start_byte() >= offset
            && (bracketed || parsed.language.strings.contains(&kind))
            && node.start_position().row < node.end_position().row
        {
            found.push(node.start_byte() - offset..node.end_byte() - offset);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}
