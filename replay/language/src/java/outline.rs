//! A definition of Java without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::Outline;

/// Writes a method or class, with the comment before it if documentation is wanted.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    outline.put_comment(definition);
    outline.put_in_braces(node, node.start_byte(), put_member);
}

fn put_member(outline: &mut Outline<'_>, member: Node<'_>) {
    match member.kind() {
        "enum_body_declarations" => outline.put_members(member, put_member),
        "enum_constant" => outline.put(member.start_byte()..separator_end(member)),
        // An initializer is not a member.
        "block" | "static_initializer" => {}
        _ => outline.put_in_braces(member, member.start_byte(), put_member),
    }
}

/// Returns the end of the comma or semicolon that follows a constant, or else of the constant.
fn separator_end(constant: Node<'_>) -> usize {
    let next = constant.next_sibling();
    // If an enumeration has members, the semicolon is the first child of their node.
    let next = next.and_then(|next| match next.kind() {
        "enum_body_declarations" => next.child(0),
        _ => Some(next),
    });
    next.filter(|next| matches!(next.kind(), "," | ";"))
        .unwrap_or(constant)
        .end_byte()
}
