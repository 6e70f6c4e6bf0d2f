//! The brackets of a tree.

use tree_sitter::Node;

use crate::Language;

/// Returns the bracket tokens of a tree, in order, without those of nodes that `leaves_out`
/// selects.
pub fn brackets(
    language: &Language,
    root: Node<'_>,
    leaves_out: impl Fn(Node<'_>) -> bool,
) -> Vec<Bracket> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    // Not recursive, as code may be nested arbitrarily deeply.
    loop {
        let node = cursor.node();
        // The parser inserts missing tokens into the tree, which the text does not contain.
        let is_token = node.child_count() == 0 && !node.is_missing();
        let opens = language.opening_brackets.contains(&node.kind());
        let closer = match node.kind().chars().next_back() {
            Some('(' | ')') => Some(')'),
            Some('[' | ']') => Some(']'),
            Some('{' | '}') => Some('}'),
            _ => None,
        };
        if let Some(closer) = closer
            && is_token
            && (opens || matches!(node.kind(), ")" | "]" | "}"))
        {
            found.push(Bracket {
                closer,
                opens,
                start: node.start_byte(),
            });
        }
        if (!leaves_out(node) && cursor.goto_first_child()) || cursor.goto_next_sibling() {
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

/// A bracket token of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Bracket {
    /// The bracket that closes it, or itself.
    pub closer: char,
    /// True if it opens a pair.
    pub opens: bool,
    /// Its byte offset.
    pub start: usize,
}
