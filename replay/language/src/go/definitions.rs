//! Definitions of a Go file.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::definitions::{Definition, DefinitionKind, Definitions};
use super::super::source::SourceFile;
use super::imports::siblings;
use super::names::RULES;

/// Adds what a file declares, and the other files of its package. A method belongs to its type if
/// both are in one file.
pub(super) fn define(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
) {
    let mut cursor = root.walk();
    let declarations: Vec<Node<'_>> = root.named_children(&mut cursor).collect();
    for node in &declarations {
        match node.kind() {
            "function_declaration" => {
                if let Some(name) = node.child_by_field_name("name") {
                    let kind = DefinitionKind::Function;
                    found.declare(Definition::new(file.text(name), kind, *node, *node, file));
                }
            }
            "type_declaration" | "const_declaration" | "var_declaration" => {
                specifications(*node, *node, file, found);
            }
            _ => {}
        }
    }
    // A method may come before its type in the file, so all types are declared first.
    for node in declarations {
        if node.kind() == "method_declaration" {
            method(node, file, found);
        }
    }
    found.re_exported.extend(siblings(&file.path, files));
}

/// The parts of a declaration, each of which is a definition. A single one has the whole
/// declaration.
fn specifications(
    node: Node<'_>,
    declaration: Node<'_>,
    file: &SourceFile,
    found: &mut Definitions,
) {
    let mut cursor = node.walk();
    let parts: Vec<Node<'_>> = node
        .named_children(&mut cursor)
        .filter(|part| !part.is_extra())
        .collect();
    // A part of a group has the comment right above it, a single one that above the declaration.
    let is_alone = node.id() == declaration.id() && parts.len() == 1;
    for part in parts {
        let statement = if is_alone { declaration } else { part };
        match part.kind() {
            "type_spec" | "type_alias" => type_definition(part, statement, file, found),
            "const_spec" | "var_spec" => variables(part, statement, file, found),
            "var_spec_list" => specifications(part, declaration, file, found),
            _ => {}
        }
    }
}

/// A type: a class, as methods may belong to any.
fn type_definition(
    spec: Node<'_>,
    statement: Node<'_>,
    file: &SourceFile,
    found: &mut Definitions,
) {
    let Some(name) = spec.child_by_field_name("name") else {
        return;
    };
    let name = file.text(name);
    let kind = match spec.kind() {
        "type_alias" => DefinitionKind::Type,
        _ => DefinitionKind::Class,
    };
    let index = found.declare(Definition::new(name, kind, statement, spec, file));
    let fields = spec
        .child_by_field_name("type")
        .filter(|of| matches!(of.kind(), "struct_type" | "interface_type"));
    let mut pending: Vec<Node<'_>> = fields.into_iter().collect();
    while let Some(current) = pending.pop() {
        let mut cursor = current.walk();
        for child in current.named_children(&mut cursor) {
            match child.kind() {
                "field_declaration_list" => pending.push(child),
                "field_declaration" => fields_of(child, index, file, found),
                "method_elem" => {
                    if let Some(name) = child.child_by_field_name("name") {
                        found.define(
                            file.text(name),
                            DefinitionKind::Function,
                            child,
                            Some(index),
                            file,
                        );
                    }
                }
                _ => {}
            }
        }
    }
}

/// The names of a field, or the type that a struct is made from.
fn fields_of(field: Node<'_>, owner: usize, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = field.walk();
    let names: Vec<Node<'_>> = field.children_by_field_name("name", &mut cursor).collect();
    // An embedded type has no name of its own, and lends its members to the struct.
    if let ([], Some(embedded)) = (&names[..], field.child_by_field_name("type")) {
        found.all[owner].bases.extend(RULES.path(embedded, file));
    }
    for name in names {
        found.define(
            file.text(name),
            DefinitionKind::Variable,
            field,
            Some(owner),
            file,
        );
    }
}

/// The names of a specification of constants or variables.
fn variables(spec: Node<'_>, statement: Node<'_>, file: &SourceFile, found: &mut Definitions) {
    let value = spec.child_by_field_name("value");
    let mut cursor = spec.walk();
    let names: Vec<Node<'_>> = spec
        .children_by_field_name("name", &mut cursor)
        .filter(|name| name.kind() == "identifier")
        .collect();
    for name in &names {
        let text = file.text(*name);
        let kind = DefinitionKind::Variable;
        let mut definition = Definition::new(text, kind, statement, spec, file);
        // Of several names, none has the whole expression as its value.
        if names.len() == 1 {
            definition.value = value
                .and_then(|value| value.named_child(0))
                .and_then(|value| RULES.path(value, file));
        }
        found.declare(definition);
    }
}

/// A method, which is a member of its receiver's type.
fn method(node: Node<'_>, file: &SourceFile, found: &mut Definitions) {
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    let mut of = node
        .child_by_field_name("receiver")
        .and_then(|receiver| receiver.named_child(0))
        .and_then(|receiver| receiver.child_by_field_name("type"));
    // A pointer (`*T`) or a generic type (`T[P]`) is a node around the type's name.
    while let Some(outer) = of.filter(|of| of.kind() != "type_identifier") {
        of = outer
            .child_by_field_name("type")
            .or_else(|| outer.named_child(0));
    }
    let owner = of.and_then(|of| {
        let name = file.text(of);
        let is_owner = |known: &Definition| known.owner.is_none() && known.name == name;
        found.all.iter().position(is_owner)
    });
    let name = file.text(name);
    let kind = DefinitionKind::Function;
    let mut method = Definition::new(name, kind, node, node, file);
    method.owner = owner;
    found.add(method);
}
