//! A definition of Java without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::Outline;

/// Writes a method or class, with the comment before it if documentation is wanted.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    if outline.documented && definition.range.start < definition.statement {
        outline.put(definition.range.start..definition.statement);
    }
    self::definition(outline, node);
}

fn definition(outline: &mut Outline<'_>, node: Node<'_>) {
    let start = node.start_byte();
    let Some(body) = node.child_by_field_name("body") else {
        return outline.put(start..node.end_byte());
    };
    if outline.file.language.is_function(node) {
        return outline.put(start..body.start_byte());
    }
    outline.put(start..body.start_byte() + 1);
    members(outline, body);
    outline.put(body.end_byte() - 1..body.end_byte());
}

fn members(outline: &mut Outline<'_>, body: Node<'_>) {
    let mut cursor = body.walk();
    let mut comment: Option<Node<'_>> = None;
    for member in body.named_children(&mut cursor) {
        if outline.file.language.is_comment(member) {
            comment = Some(member);
            continue;
        }
        if let Some(comment) = comment.take().filter(|_| outline.documented) {
            outline.put(comment.byte_range());
        }
        match member.kind() {
            "enum_body_declarations" => members(outline, member),
            "enum_constant" => outline.put(member.start_byte()..separator_end(member)),
            // What runs when a class is made is no member.
            "block" | "static_initializer" => {}
            _ => definition(outline, member),
        }
    }
}

/// Where the comma or the semicolon ends that follows a constant, or else the constant.
fn separator_end(constant: Node<'_>) -> usize {
    let next = constant.next_sibling();
    let next = next.and_then(|next| match next.kind() {
        "enum_body_declarations" => next.child(0),
        _ => Some(next),
    });
    next.filter(|next| matches!(next.kind(), "," | ";"))
        .unwrap_or(constant)
        .end_byte()
}
