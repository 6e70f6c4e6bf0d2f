//! A definition of Go without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::Outline;

/// Writes a function, with the comment before it if documentation is wanted. Types hold no bodies,
/// so they are whole.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    outline.put_comment(definition);
    let end = node
        .child_by_field_name("body")
        .map_or(node.end_byte(), |body| body.start_byte());
    outline.put(definition.statement..end);
}
