//! Definitions of a Java file.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::definitions::{DefinitionKind, Definitions};
use super::super::imports::neighbours;
use super::super::source::SourceFile;
use super::imports::ENDING;
use super::names::RULES;

/// Name of a constructor, as in compiled classes.
pub(super) const CONSTRUCTOR: &str = "<init>";

/// Adds the classes that a file declares, with their members, and the other files of its package.
pub(super) fn define(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
) {
    members(root, None, file, found);
    found
        .re_exported
        .extend(neighbours(&file.path, ENDING, files));
}

/// Adds the members of a file or of the body of a class.
fn members(body: Node<'_>, owner: Option<usize>, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = body.walk();
    for node in body.named_children(&mut cursor) {
        let name = node
            .child_by_field_name("name")
            .map_or("", |name| file.text(name));
        match node.kind() {
            "class_declaration" | "enum_declaration" | "record_declaration" => {
                class(node, DefinitionKind::Class, owner, file, found);
            }
            "interface_declaration" | "annotation_type_declaration" => {
                class(node, DefinitionKind::Type, owner, file, found);
            }
            "method_declaration" | "annotation_type_element_declaration" => {
                found.define(name, DefinitionKind::Function, node, owner, file);
            }
            "constructor_declaration" | "compact_constructor_declaration" => {
                let kind = DefinitionKind::Function;
                found.define(CONSTRUCTOR, kind, node, owner, file);
            }
            "enum_constant" => {
                found.define(name, DefinitionKind::Variable, node, owner, file);
            }
            "field_declaration" | "constant_declaration" => {
                variables(node, owner, file, found);
            }
            "enum_body_declarations" => members(node, owner, file, found),
            _ => {}
        }
    }
}

/// A class, an enumeration, a record or an interface.
fn class(
    node: Node<'_>,
    kind: DefinitionKind,
    owner: Option<usize>,
    file: &SourceFile,
    found: &mut Definitions,
) {
    let Some(name) = node.child_by_field_name("name") else {
        return;
    };
    let index = found.define(file.text(name), kind, node, owner, file);
    found.all[index].bases = bases(node, file);
    // The components of a record are members that are read by their names.
    if let Some(components) = node.child_by_field_name("parameters") {
        let mut cursor = components.walk();
        for component in components.named_children(&mut cursor) {
            if let Some(name) = component.child_by_field_name("name") {
                let kind = DefinitionKind::Variable;
                let of = found.define(file.text(name), kind, component, Some(index), file);
                found.all[of].value = RULES.declared_instance(component, file);
            }
        }
    }
    if let Some(body) = node.child_by_field_name("body") {
        members(body, Some(index), file, found);
    }
}

/// Returns the types that a class extends and implements, in this order.
fn bases(class: Node<'_>, file: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = class.walk();
    for clause in class.named_children(&mut cursor) {
        let mut pending = match clause.kind() {
            "superclass" | "super_interfaces" | "extends_interfaces" => vec![clause],
            _ => Vec::new(),
        };
        while let Some(node) = pending.pop() {
            let mut cursor = node.walk();
            let types: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
            for of in types {
                // Interfaces are inside a `type_list`; a superclass is directly in its clause.
                match of.kind() {
                    "type_list" => pending.push(of),
                    _ => found.extend(RULES.path(of, file)),
                }
            }
        }
    }
    found
}

/// The names of a field, each of which holds an instance of the declared type.
fn variables(field: Node<'_>, owner: Option<usize>, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = field.walk();
    for declarator in field.children_by_field_name("declarator", &mut cursor) {
        if let Some(name) = declarator.child_by_field_name("name") {
            let kind = DefinitionKind::Variable;
            let index = found.define(file.text(name), kind, field, owner, file);
            found.all[index].value = RULES.declared_instance(field, file);
        }
    }
}
