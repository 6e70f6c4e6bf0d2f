//! A definition of TypeScript or JavaScript without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::{Outline, with_body};

/// Writes a function or class, with the comment before it if documentation is wanted.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    outline.put_comment(definition);
    outline.put_in_braces(node, definition.statement, put_member);
}

fn put_member(outline: &mut Outline<'_>, member: Node<'_>) {
    match with_body(member, outline.file) {
        Some(node) => outline.put_in_braces(node, member.start_byte(), put_member),
        None => outline.put(member.byte_range()),
    }
}
