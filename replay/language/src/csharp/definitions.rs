//! Definitions of a C# file.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::definitions::{DefinitionKind, Definitions};
use super::super::imports::neighbours;
use super::super::source::SourceFile;
use super::imports::ENDING;
use super::names::RULES;

/// Name of a constructor, as in compiled classes.
pub(super) const CONSTRUCTOR: &str = ".ctor";

/// Adds the classes that a file declares, with their members, and the other files of its folder.
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

/// Adds the members of a file, of a namespace or of the body of a class.
fn members(body: Node<'_>, owner: Option<usize>, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = body.walk();
    for node in body.named_children(&mut cursor) {
        let name = node
            .child_by_field_name("name")
            .map_or("", |name| file.text(name));
        let add_as = |kind: DefinitionKind, found: &mut Definitions| {
            let index = found.define(name, kind, node, owner, file);
            found.all[index].value = match kind {
                DefinitionKind::Variable => RULES.declared_instance(node, file),
                _ => None,
            };
        };
        match node.kind() {
            "namespace_declaration" => {
                if let Some(body) = node.child_by_field_name("body") {
                    members(body, owner, file, found);
                }
            }
            "class_declaration" | "enum_declaration" | "record_declaration"
            | "struct_declaration" => class(node, DefinitionKind::Class, owner, file, found),
            "interface_declaration" => class(node, DefinitionKind::Type, owner, file, found),
            "delegate_declaration" => add_as(DefinitionKind::Type, found),
            "method_declaration" => add_as(DefinitionKind::Function, found),
            "constructor_declaration" => {
                let kind = DefinitionKind::Function;
                found.define(CONSTRUCTOR, kind, node, owner, file);
            }
            "enum_member_declaration" | "event_declaration" | "property_declaration" => {
                add_as(DefinitionKind::Variable, found);
            }
            "event_field_declaration" | "field_declaration" => fields(node, owner, file, found),
            _ => {}
        }
    }
}

/// A class, an enumeration, a record, a structure or an interface.
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
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        let mut cursor = child.walk();
        let parts: Vec<Node<'_>> = child.named_children(&mut cursor).collect();
        match child.kind() {
            "base_list" => {
                let bases = parts.iter().filter_map(|of| {
                    // A base class with constructor arguments is a node around its type.
                    let of = of.child_by_field_name("type").unwrap_or(*of);
                    RULES.path(of, file)
                });
                found.all[index].bases.extend(bases);
            }
            // The components of a record are members that are read by their names.
            "parameter_list" if node.kind() == "record_declaration" => {
                for component in parts {
                    if let Some(name) = component.child_by_field_name("name") {
                        let kind = DefinitionKind::Variable;
                        let of = found.define(file.text(name), kind, component, Some(index), file);
                        found.all[of].value = RULES.declared_instance(component, file);
                    }
                }
            }
            "declaration_list" | "enum_member_declaration_list" => {
                members(child, Some(index), file, found);
            }
            _ => {}
        }
    }
}

/// The names of a field, each of which holds an instance of the declared type.
fn fields(field: Node<'_>, owner: Option<usize>, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = field.walk();
    let declaration = field
        .named_children(&mut cursor)
        .find(|child| child.kind() == "variable_declaration");
    let Some(declaration) = declaration else {
        return;
    };
    let mut cursor = declaration.walk();
    for declarator in declaration.named_children(&mut cursor) {
        if let Some(name) = declarator
            .child_by_field_name("name")
            .filter(|_| declarator.kind() == "variable_declarator")
        {
            let kind = DefinitionKind::Variable;
            let index = found.define(file.text(name), kind, field, owner, file);
            found.all[index].value = RULES.declared_instance(declaration, file);
        }
    }
}
