//! Has tests compare values by their contents, whatever the classes of these say of equality.

use tree_sitter::Node;

use super::test_conventions::recompiled;

/// Compiles the functions of a file anew, with other comparisons.
const COMPARISONS: &str = include_str!("plain_comparison.py");

/// Returns a file of tests in which the comparisons of functions look at contents: with a last line
/// that has them do so.
pub(super) fn with_plain_comparisons(_: Node<'_>, text: &str) -> String {
    format!("{text}\n{}", recompiled(COMPARISONS))
}
