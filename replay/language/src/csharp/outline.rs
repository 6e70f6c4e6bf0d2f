//! A definition of C# without its bodies.

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::Outline;

/// Writes a method or class, with the comment before it if documentation is wanted.
pub(super) fn write(outline: &mut Outline<'_>, definition: &Definition, node: Node<'_>) {
    outline.put_comment(definition);
    outline.put_in_braces(node, node.start_byte(), put_member);
}

fn put_member(outline: &mut Outline<'_>, member: Node<'_>) {
    let start = member.start_byte();
    match member.kind() {
        "enum_member_declaration" => {
            let comma = member.next_sibling().filter(|next| next.kind() == ",");
            outline.put(start..comma.unwrap_or(member).end_byte());
        }
        // What a property does when it is read or written is its body; `{ get; set; }` is none.
        "property_declaration" | "indexer_declaration" | "event_declaration" => {
            let accessors = member.child_by_field_name("accessors").filter(has_body);
            let value = member.child_by_field_name("value");
            let arrow = value.filter(|value| value.kind() == "arrow_expression_clause");
            let body = accessors.or(arrow);
            outline.put(start..body.map_or(member.end_byte(), |body| body.start_byte()));
        }
        _ => outline.put_in_braces(member, start, put_member),
    }
}

/// True if one of the accessors of a property has a body.
fn has_body(accessors: &Node<'_>) -> bool {
    let mut cursor = accessors.walk();
    accessors
        .named_children(&mut cursor)
        .any(|accessor| accessor.child_by_field_name("body").is_some())
}
