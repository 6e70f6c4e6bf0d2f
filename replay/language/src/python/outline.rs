//! A definition of Python without its bodies.

use std::ops::Range;

use tree_sitter::Node;

use super::super::definitions::Definition;
use super::super::outline::Outline;

/// Writes a function or class as RepoExec's data has it: without decorators and the variables of
/// classes, docstrings without the indentation within, an empty line before each member.
pub(super) fn write(outline: &mut Outline<'_>, _: &Definition, node: Node<'_>) {
    definition(outline, node, Outline::put);
}

fn definition<'a>(
    outline: &mut Outline<'a>,
    node: Node<'_>,
    put_signature: fn(&mut Outline<'a>, Range<usize>),
) {
    let start = node.start_byte();
    let Some(body) = node.child_by_field_name("body") else {
        return outline.put(start..node.end_byte());
    };
    // A comment after the colon may belong to the body.
    let mut cursor = node.walk();
    let colon = node.children(&mut cursor).find(|child| child.kind() == ":");
    let end = colon.map_or(body.start_byte(), |colon| colon.end_byte());
    put_signature(outline, start..end);
    if outline.documented
        && let Some(documentation) = documentation(body)
    {
        outline.put_docstring(documentation.byte_range());
    }
    if !outline.file.language.is_function(node) {
        members(outline, body);
    }
}

fn members(outline: &mut Outline<'_>, body: Node<'_>) {
    let mut cursor = body.walk();
    for member in body.named_children(&mut cursor) {
        let member = member.child_by_field_name("definition").unwrap_or(member);
        if outline.file.language.is_definition(member) {
            outline.put_blank_line();
            definition(outline, member, Outline::put_member_signature);
        }
    }
}

/// The string that documents a body.
fn documentation(body: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = body.walk();
    let first = body
        .named_children(&mut cursor)
        .find(|child| child.kind() != "comment")?;
    let string = first.named_child(0)?;
    (first.kind() == "expression_statement" && string.kind() == "string").then_some(string)
}
