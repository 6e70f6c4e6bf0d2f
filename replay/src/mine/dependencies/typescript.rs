//! What a file of TypeScript or JavaScript defines and exports.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::super::SourceFile;
use super::super::api::imports::{self, Imported};
use super::definitions::{Bound, Definition, Definitions, Sort, names_of, text, whole};

/// Adds what stands in a file's outermost scope, and what the file exports. Of several definitions
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
            named(node, statement, Sort::Function, file, found);
        }
        "class_declaration" | "abstract_class_declaration" => {
            if let Some(index) = named(node, statement, Sort::Class, file, found) {
                class(node, index, file, found);
            }
        }
        "interface_declaration" => {
            if let Some(index) = named(node, statement, Sort::Type, file, found) {
                class(node, index, file, found);
            }
        }
        "type_alias_declaration" | "enum_declaration" => {
            named(node, statement, Sort::Type, file, found);
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
    sort: Sort,
    file: &SourceFile,
    found: &mut Definitions,
) -> Option<usize> {
    let name = text(node.child_by_field_name("name")?, file);
    let index = found.add(Definition::new(name, sort, statement, node, file));
    found.bind(name, index);
    Some(index)
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
    let sort = match value {
        Some(value) if file.language.is_function(value) => Sort::Function,
        _ => Sort::Variable,
    };
    let mut pending = vec![pattern];
    while let Some(current) = pending.pop() {
        if matches!(
            current.kind(),
            "identifier" | "shorthand_property_identifier_pattern"
        ) {
            let name = text(current, file);
            let mut definition = Definition::new(name, sort, statement, node, file);
            if current.id() == pattern.id() {
                definition.value = value.and_then(|value| names_of(value, file));
            }
            let index = found.add(definition);
            found.bind(name, index);
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
                if let Some(name) = names_of(current, file) {
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
        let sort = if is_function {
            Sort::Function
        } else {
            Sort::Variable
        };
        let name = text(name, file);
        let mut definition = Definition::new(name, sort, member, member, file);
        definition.owner = Some(index);
        definition.value = member
            .child_by_field_name("value")
            .and_then(|value| names_of(value, file));
        let member = found.add(definition);
        found.all[index]
            .members
            .entry(name.to_owned())
            .or_insert(member);
    }
}

/// `export …`: declarations, names, a default, and what is given on from another file.
fn export(
    statement: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    found: &mut Definitions,
    exports: &mut BTreeMap<String, Bound>,
) {
    let mut cursor = statement.walk();
    let is_default = statement
        .children(&mut cursor)
        .any(|child| child.kind() == "default");
    if let Some(declared) = statement.child_by_field_name("declaration") {
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
                let sort = match declared.kind() {
                    "class_declaration" | "abstract_class_declaration" => Sort::Class,
                    _ => Sort::Function,
                };
                found.add(Definition::new("default", sort, statement, declared, file))
            });
            exports.insert("default".to_owned(), Bound::Here(index));
            return;
        }
        for (name, index) in names {
            exports.entry(name).or_insert(Bound::Here(index));
        }
        return;
    }
    if let Some(value) = statement.child_by_field_name("value") {
        let local = names_of(value, file).and_then(|name| found.scope.get(&name).cloned());
        let bound = local.unwrap_or_else(|| {
            let sort = match value.kind() {
                "class" => Sort::Class,
                _ if file.language.is_function(value) => Sort::Function,
                _ => Sort::Variable,
            };
            let mut definition = Definition::new("default", sort, statement, value, file);
            definition.value = names_of(value, file);
            let index = found.add(definition);
            if sort == Sort::Class {
                class(value, index, file, found);
            }
            Bound::Here(index)
        });
        exports.insert("default".to_owned(), bound);
        return;
    }
    let from = imports::source(statement, file, files);
    let elsewhere = statement.child_by_field_name("source").is_some();
    let mut cursor = statement.walk();
    let mut everything = elsewhere;
    for child in statement.named_children(&mut cursor) {
        match child.kind() {
            "export_clause" => {
                everything = false;
                let mut cursor = child.walk();
                for specifier in child.named_children(&mut cursor) {
                    let Some(name) = specifier.child_by_field_name("name") else {
                        continue;
                    };
                    let given = specifier.child_by_field_name("alias").unwrap_or(name);
                    let name = text(name, file);
                    let bound = match (&from, elsewhere) {
                        (Some(from), _) => Some(Bound::Imported {
                            from: from.clone(),
                            what: Imported::Member(name.to_owned()),
                        }),
                        (None, true) => None,
                        (None, false) => found.scope.get(name).cloned(),
                    };
                    if let Some(bound) = bound {
                        exports.insert(text(given, file).to_owned(), bound);
                    }
                }
            }
            "namespace_export" => {
                everything = false;
                if let (Some(from), Some(name)) = (&from, child.named_child(0)) {
                    let bound = Bound::Imported {
                        from: from.clone(),
                        what: Imported::Module,
                    };
                    exports.insert(text(name, file).to_owned(), bound);
                }
            }
            _ => {}
        }
    }
    if let Some(from) = from.filter(|_| everything) {
        found.everything.push(from);
    }
}
