//! Definitions and exports of a TypeScript or JavaScript file.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::super::definitions::{Definition, DefinitionKind, Definitions, NameTarget, whole};
use super::super::imports::ImportTarget;
use super::super::source::SourceFile;
use super::imports;
use super::names::RULES;

/// Adds the definitions of a file's outermost scope, and the file's exports. Of several definitions
/// of one name the first counts, and one with a body before those without.
pub(super) fn define(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
) {
    let mut cursor = root.walk();
    let statements: Vec<Node<'_>> = root.named_children(&mut cursor).collect();
    for with_body in [true, false] {
        for statement in &statements {
            let inner = match statement.kind() {
                "export_statement" => statement.child_by_field_name("declaration"),
                _ => Some(*statement),
            };
            if let Some(inner) = inner
                && (inner.kind() != "function_signature") == with_body
            {
                declaration(inner, *statement, file, found);
            }
        }
    }
    let mut exports = BTreeMap::new();
    for statement in statements {
        if statement.kind() == "export_statement" {
            export(statement, file, files, found, &mut exports);
        }
    }
    found.exports = Some(exports);
}

/// A statement that declares something; `statement` is that, or the export around it.
fn declaration(node: Node<'_>, statement: Node<'_>, file: &SourceFile, found: &mut Definitions) {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            named(node, statement, DefinitionKind::Function, file, found);
        }
        "class_declaration" | "abstract_class_declaration" => {
            if let Some(index) = named(node, statement, DefinitionKind::Class, file, found) {
                class(node, index, file, found);
            }
        }
        "interface_declaration" => {
            if let Some(index) = named(node, statement, DefinitionKind::Type, file, found) {
                class(node, index, file, found);
            }
        }
        "type_alias_declaration" | "enum_declaration" => {
            named(node, statement, DefinitionKind::Type, file, found);
        }
        "lexical_declaration" | "variable_declaration" => {
            let mut cursor = node.walk();
            for declarator in node.named_children(&mut cursor) {
                variable(declarator, node, statement, file, found);
            }
        }
        "ambient_declaration" => {
            let mut cursor = node.walk();
            for inner in node.named_children(&mut cursor) {
                declaration(inner, statement, file, found);
            }
        }
        _ => {}
    }
}

fn named(
    node: Node<'_>,
    statement: Node<'_>,
    kind: DefinitionKind,
    file: &SourceFile,
    found: &mut Definitions,
) -> Option<usize> {
    let name = file.text(node.child_by_field_name("name")?);
    Some(found.declare(Definition::new(name, kind, statement, node, file)))
}

/// `name = value`, or a pattern of names.
fn variable(
    declarator: Node<'_>,
    node: Node<'_>,
    statement: Node<'_>,
    file: &SourceFile,
    found: &mut Definitions,
) {
    let Some(pattern) = declarator.child_by_field_name("name") else {
        return;
    };
    let value = declarator.child_by_field_name("value");
    let kind = match value {
        Some(value) if file.language.is_function(value) => DefinitionKind::Function,
        _ => DefinitionKind::Variable,
    };
    let mut pending = vec![pattern];
    while let Some(current) = pending.pop() {
        if matches!(
            current.kind(),
            "identifier" | "shorthand_property_identifier_pattern"
        ) {
            let name = file.text(current);
            let mut definition = Definition::new(name, kind, statement, node, file);
            // A name in a pattern has only a part of the value.
            if current.id() == pattern.id() {
                definition.value = value.and_then(|value| RULES.path(value, file));
            }
            found.declare(definition);
            continue;
        }
        let mut cursor = current.walk();
        let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
        pending.extend(children.into_iter().rev());
    }
}

/// The members of a class or interface, and what it is made from.
fn class(node: Node<'_>, index: usize, file: &SourceFile, found: &mut Definitions) {
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if matches!(
            child.kind(),
            "class_heritage" | "extends_clause" | "extends_type_clause"
        ) {
            let mut pending = vec![child];
            while let Some(current) = pending.pop() {
                if let Some(name) = RULES.path(current, file) {
                    found.all[index].bases.push(name);
                } else if !matches!(current.kind(), "type_arguments" | "implements_clause") {
                    let mut cursor = current.walk();
                    let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
                    pending.extend(children.into_iter().rev());
                }
            }
        }
    }
    let Some(body) = node.child_by_field_name("body") else {
        return;
    };
    let mut cursor = body.walk();
    for member in body.named_children(&mut cursor) {
        let Some(name) = member.child_by_field_name("name") else {
            continue;
        };
        let is_function = matches!(
            member.kind(),
            "method_definition" | "method_signature" | "abstract_method_signature"
        ) || member
            .child_by_field_name("value")
            .is_some_and(|value| file.language.is_function(value));
        let kind = if is_function {
            DefinitionKind::Function
        } else {
            DefinitionKind::Variable
        };
        let name = file.text(name);
        let mut definition = Definition::new(name, kind, member, member, file);
        definition.owner = Some(index);
        definition.value = member
            .child_by_field_name("value")
            .and_then(|value| RULES.path(value, file));
        found.add(definition);
    }
}

/// `export …`: declarations, names, a default, and what is exported on from another file.
fn export(
    statement: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
    exports: &mut BTreeMap<String, NameTarget>,
) {
    if let Some(declared) = statement.child_by_field_name("declaration") {
        export_declaration(statement, declared, file, found, exports);
    } else if let Some(value) = statement.child_by_field_name("value") {
        let target = default_value(statement, value, file, found);
        exports.insert("default".to_owned(), target);
    } else {
        export_names(statement, file, files, found, exports);
    }
}

/// `export const a = …`, `export default function …`.
fn export_declaration(
    statement: Node<'_>,
    declared: Node<'_>,
    file: &SourceFile,
    found: &mut Definitions,
    exports: &mut BTreeMap<String, NameTarget>,
) {
    let mut cursor = statement.walk();
    let is_default = statement
        .children(&mut cursor)
        .any(|child| child.kind() == "default");
    // Every definition of this statement has the statement's range.
    let range = whole(statement, file);
    let names: Vec<(String, usize)> = found
        .all
        .iter()
        .enumerate()
        .filter(|(_, definition)| definition.owner.is_none() && definition.range == range)
        .map(|(index, definition)| (definition.name.clone(), index))
        .collect();
    if is_default {
        let index = names.first().map(|(_, index)| *index).unwrap_or_else(|| {
            // `export default function () {…}` has no name of its own.
            let kind = match declared.kind() {
                "class_declaration" | "abstract_class_declaration" => DefinitionKind::Class,
                _ => DefinitionKind::Function,
            };
            found.add(Definition::new("default", kind, statement, declared, file))
        });
        exports.insert("default".to_owned(), NameTarget::Here(index));
        return;
    }
    for (name, index) in names {
        exports.entry(name).or_insert(NameTarget::Here(index));
    }
}

/// `export default …`: a name of the file, or what has no name.
fn default_value(
    statement: Node<'_>,
    value: Node<'_>,
    file: &SourceFile,
    found: &mut Definitions,
) -> NameTarget {
    let path = RULES.path(value, file);
    let local = path.and_then(|name| found.scope.get(&name).cloned());
    local.unwrap_or_else(|| {
        let kind = match value.kind() {
            "class" => DefinitionKind::Class,
            _ if file.language.is_function(value) => DefinitionKind::Function,
            _ => DefinitionKind::Variable,
        };
        let mut definition = Definition::new("default", kind, statement, value, file);
        definition.value = RULES.path(value, file);
        let index = found.add(definition);
        if kind == DefinitionKind::Class {
            class(value, index, file, found);
        }
        NameTarget::Here(index)
    })
}

/// `export { a, b as c }`, with or without `from "./path"`; `export * from "./path"`.
fn export_names(
    statement: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
    exports: &mut BTreeMap<String, NameTarget>,
) {
    let from = imports::source(statement, file, files);
    let elsewhere = statement.child_by_field_name("source").is_some();
    let imported = |target: ImportTarget| {
        let from = from.clone()?;
        Some(NameTarget::Imported { from, target })
    };
    // `export * from` has neither a clause nor a namespace.
    let mut everything = elsewhere;
    let mut cursor = statement.walk();
    for child in statement.named_children(&mut cursor) {
        match child.kind() {
            "export_clause" => {
                everything = false;
                for (name, exported) in specifiers(child, file) {
                    let target = match elsewhere {
                        true => imported(ImportTarget::Member(name.to_owned())),
                        false => found.scope.get(name).cloned(),
                    };
                    if let Some(target) = target {
                        exports.insert(exported.to_owned(), target);
                    }
                }
            }
            "namespace_export" => {
                everything = false;
                if let Some((target, name)) =
                    imported(ImportTarget::Module).zip(child.named_child(0))
                {
                    exports.insert(file.text(name).to_owned(), target);
                }
            }
            _ => {}
        }
    }
    if let Some(from) = from.filter(|_| everything) {
        found.re_exported.push(from);
    }
}

/// The names of an export clause, each with the name it is exported under.
fn specifiers<'a>(clause: Node<'_>, file: &'a SourceFile) -> Vec<(&'a str, &'a str)> {
    let mut cursor = clause.walk();
    clause
        .named_children(&mut cursor)
        .filter_map(|specifier| {
            let name = specifier.child_by_field_name("name")?;
            let exported = specifier.child_by_field_name("alias").unwrap_or(name);
            Some((file.text(name), file.text(exported)))
        })
        .collect()
}
