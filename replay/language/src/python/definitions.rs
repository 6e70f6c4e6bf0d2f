//! Definitions of a Python file.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::definitions::{Definition, DefinitionKind, Definitions};
use super::super::source::SourceFile;
use super::names::RULES;

/// Adds the definitions of a file's outermost scope, including those within `if`, `try`, `with` and
/// loops. Of several definitions of one name the first counts, but not those under `@overload`.
pub(super) fn define(
    root: Node<'_>,
    file: &SourceFile,
    _: &BTreeSet<&str>,
    found: &mut Definitions,
) {
    statements(root, file, None, found);
}

/// The statements of a block, in a class where there is an owner.
fn statements(block: Node<'_>, file: &SourceFile, owner: Option<usize>, found: &mut Definitions) {
    let mut cursor = block.walk();
    for node in block.named_children(&mut cursor) {
        match node.kind() {
            "function_definition" | "class_definition" => {
                definition(node, node, file, owner, found);
            }
            "decorated_definition" => {
                let Some(inner) = node.child_by_field_name("definition") else {
                    continue;
                };
                let mut cursor = node.walk();
                let is_overload = node
                    .children(&mut cursor)
                    .filter(|child| child.kind() == "decorator")
                    .filter_map(|decorator| decorator.named_child(0))
                    .any(|decorator| file.text(decorator).ends_with("overload"));
                if !is_overload {
                    definition(inner, node, file, owner, found);
                }
            }
            "expression_statement" => {
                if let Some(assignment) = node.named_child(0) {
                    variables(assignment, node, file, owner, found);
                }
            }
            "type_alias_statement" => {
                if let Some(name) = node.child_by_field_name("left") {
                    add(
                        file.text(name),
                        DefinitionKind::Type,
                        [node, node],
                        file,
                        owner,
                        found,
                    );
                }
            }
            "if_statement" | "elif_clause" | "else_clause" | "try_statement" | "except_clause"
            | "finally_clause" | "with_statement" | "for_statement" | "while_statement"
            | "block" => statements(node, file, owner, found),
            _ => {}
        }
    }
}

/// A function or class; `whole` has its decorators.
fn definition(
    node: Node<'_>,
    whole: Node<'_>,
    file: &SourceFile,
    owner: Option<usize>,
    found: &mut Definitions,
) {
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    let is_class = node.kind() == "class_definition";
    let kind = if is_class {
        DefinitionKind::Class
    } else {
        DefinitionKind::Function
    };
    let index = add(file.text(name), kind, [whole, node], file, owner, found);
    if !is_class {
        return;
    }
    if let Some(bases) = node.child_by_field_name("superclasses") {
        let mut cursor = bases.walk();
        found.all[index].bases = bases
            .named_children(&mut cursor)
            .filter_map(|base| RULES.path(base, file))
            .collect();
    }
    if let Some(body) = node.child_by_field_name("body") {
        statements(body, file, Some(index), found);
    }
}

/// Adds the variables that an assignment binds: `a = b = c`, `a, b = c`, `a: int = b`.
fn variables(
    assignment: Node<'_>,
    statement: Node<'_>,
    file: &SourceFile,
    owner: Option<usize>,
    found: &mut Definitions,
) {
    if assignment.kind() != "assignment" {
        return;
    }
    let right = assignment.child_by_field_name("right");
    if let Some(left) = assignment.child_by_field_name("left") {
        let mut pending = vec![left];
        while let Some(node) = pending.pop() {
            match node.kind() {
                "identifier" => {
                    let name = file.text(node);
                    let index = add(
                        name,
                        DefinitionKind::Variable,
                        [statement; 2],
                        file,
                        owner,
                        found,
                    );
                    // In a pattern of several names, none has the whole right side as its value.
                    if node.id() == left.id() {
                        found.all[index].value = right.and_then(|right| RULES.path(right, file));
                    }
                }
                "pattern_list" | "tuple_pattern" | "list_pattern" => {
                    let mut cursor = node.walk();
                    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
                    pending.extend(children.into_iter().rev());
                }
                _ => {}
            }
        }
    }
    // In `a = b = c`, the right side is an assignment itself.
    if let Some(right) = right {
        variables(right, statement, file, owner, found);
    }
}

/// Adds a definition, its statement given before what it is of.
fn add(
    name: &str,
    kind: DefinitionKind,
    [statement, core]: [Node<'_>; 2],
    file: &SourceFile,
    owner: Option<usize>,
    found: &mut Definitions,
) -> usize {
    let mut definition = Definition::new(name, kind, statement, core, file);
    definition.owner = owner;
    found.declare(definition)
}
