//! A definition of TypeScript or JavaScript without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::{Outline, with_body};

/// Writes a function or class, with the comment before it if documentation is wanted.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    if outline.documented && definition.range.start < definition.statement {
        outline.put(definition.range.start..definition.statement);
    }
    self::definition(outline, node, definition.statement);
}

/// A function or class from where its header begins.
fn definition(outline: &mut Outline<'_>, node: Node<'_>, start: usize) {
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
        match with_body(member, outline.file) {
            Some(node) => definition(outline, node, member.start_byte()),
            None => outline.put(member.byte_range()),
        }
    }
}
