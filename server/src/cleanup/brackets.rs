//! Brackets around a completion, by tree-sitter, and lines whose indentation means nothing.

use std::ops::Range;

use tree_sitter::Node;

use super::Change;
use super::syntax_site::SyntaxSite;
use crate::syntax::Language;

/// Ends a completion before a closing bracket that matches none of its own and none that is open
/// at the cursor and left open by the suffix.
pub(super) fn end_at_stray_closer(text: &str, site: &SyntaxSite<'_>) -> Change {
    around(text, site)
        .and_then(|around| around.first_stray_closer)
        .map_or(Change::None, Change::EndAt)
}

/// The balance of brackets around a completion.
pub(super) struct Around {
    /// How many brackets of the prefix are open at the cursor.
    pub(super) open_at_cursor: usize,
    /// The offset in the completion of the first closing bracket it may not close.
    first_stray_closer: Option<usize>,
    /// How many brackets the suffix closes without opening them.
    closed_after: usize,
}

impl Around {
    /// Whether the completion closes a bracket that it may not close.
    pub(super) fn strays(&self) -> bool {
        self.first_stray_closer.is_some()
    }

    /// How many brackets a completion that opens none may close.
    pub(super) fn closable(&self) -> usize {
        self.open_at_cursor.saturating_sub(self.closed_after)
    }
}

/// Counts brackets in the prefix, the completion and the suffix. Tree-sitter separates brackets
/// that are tokens from those in strings and comments.
pub(super) fn around(text: &str, site: &SyntaxSite<'_>) -> Option<Around> {
    let parsed = site.with(text)?;
    let completion = site.prefix.len()..site.prefix.len() + text.len();
    let (mut open, mut depth_in_completion, mut strays) = (0usize, 0usize, Vec::new());
    let (mut open_after, mut closed_after) = (0usize, 0usize);
    for (opens, start) in brackets(parsed.language, parsed.tree.root_node()) {
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

/// The bracket tokens of a tree in order: whether each opens, and its byte offset.
fn brackets(language: &Language, root: Node<'_>) -> Vec<(bool, usize)> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let is_token = node.child_count() == 0 && !node.is_missing();
        let opens = language.opening_brackets.contains(&node.kind());
        if is_token && (opens || matches!(node.kind(), ")" | "]" | "}")) {
            found.push((opens, node.start_byte()));
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

/// The byte ranges of a completion inside brackets or strings of its own that span lines, where
/// indentation means nothing.
pub(super) fn continuation_lines(text: &str, site: &SyntaxSite<'_>) -> Vec<Range<usize>> {
    let Some(parsed) = site.with(text) else {
        return Vec::new();
    };
    let offset = site.prefix.len();
    let mut found = Vec::new();
    let mut pending = vec![parsed.tree.root_node()];
    while let Some(node) = pending.pop() {
        let bracketed = node
            .child(0)
            .is_some_and(|first| parsed.language.opening_brackets.contains(&first.kind()));
        if node.start_byte() >= offset
            && (bracketed || parsed.language.is_string(node))
            && node.start_position().row < node.end_position().row
        {
            found.push(node.start_byte() - offset..node.end_byte() - offset);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}
