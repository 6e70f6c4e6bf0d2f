//! Java's rules for names and their uses.

use tree_sitter::Node;

use super::super::names::{Binding, BindingSite, BoundTo, ClassSite, NameRules};
use super::super::source::SourceFile;

pub(super) static RULES: NameRules = NameRules {
    names: &["identifier", "type_identifier"],
    expressions: &["identifier", "this", "super", "type_identifier"],
    members: &["field_access", "method_invocation"],
    type_members: &["scoped_type_identifier"],
    member,
    calls: &[("method_invocation", "name")],
    instantiations: &[("object_creation_expression", "type")],
    transparent: &["generic_type", "parenthesized_expression"],
    unwrap,
    own_names: &["this", "super"],
    scopes: &[],
    classes: &[
        "annotation_type_declaration",
        "class_declaration",
        "enum_declaration",
        "interface_declaration",
        "record_declaration",
    ],
    global_statements: &[],
    implicit_members: true,
    is_undefined_alone: false,
    is_universal,
    is_assigned: |_| false,
    is_binding: |_| false,
    is_other_name,
    bindings,
    pattern_names: &["identifier", "type_identifier"],
    unbound_patterns: &[],
    attribute,
    type_name,
};

fn member(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let field = |name: &str| node.child_by_field_name(name);
    if node.kind() != "scoped_type_identifier" {
        return field("object").zip(field("field").or_else(|| field("name")));
    }
    // The grammar has no fields for the parts of a scoped type.
    let last = node.named_child_count().checked_sub(1)?;
    let of = node.named_child(0).filter(|_| last > 0)?;
    Some((of, node.named_child(u32::try_from(last).ok()?)?))
}

fn unwrap(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "generic_type" | "parenthesized_expression" => node.named_child(0),
        _ => None,
    }
}

/// Members of `Object`, which every class has.
fn is_universal(member: &str) -> bool {
    matches!(
        member,
        "equals" | "getClass" | "hashCode" | "notify" | "notifyAll" | "toString" | "wait"
    )
}

/// True if a name is declared here, names an annotation's element or is a label.
fn is_other_name(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "element_value_pair" => is("key"),
        "break_statement" | "continue_statement" | "labeled_statement" => true,
        "field_access" => is("field"),
        "method_invocation" => is("name") && parent.child_by_field_name("object").is_some(),
        "package_declaration" | "scoped_identifier" | "scoped_type_identifier" => true,
        "enum_constant" | "variable_declarator" | "formal_parameter" => is("name"),
        kind => kind.ends_with("_declaration") && is("name"),
    }
}

fn bindings<'t>(node: Node<'t>, site: BindingSite) -> Vec<Binding<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    let one = |name: Option<Node<'t>>, bound: BoundTo<'t>| {
        name.map(|name| (name, bound)).into_iter().collect()
    };
    match node.kind() {
        "variable_declarator" => {
            let declaration = node.parent().filter(|parent| {
                matches!(
                    parent.kind(),
                    "local_variable_declaration" | "spread_parameter"
                )
            });
            match declaration {
                Some(declaration) => one(field("name"), declared(declaration, field("value"))),
                None => Vec::new(),
            }
        }
        "formal_parameter" | "enhanced_for_statement" | "resource" => {
            one(field("name"), declared(node, field("value")))
        }
        "catch_formal_parameter" => one(field("name"), caught(node)),
        "instanceof_expression" => one(
            field("name"),
            field("right").map_or(BoundTo::Unknown, BoundTo::Type),
        ),
        "type_pattern" | "record_pattern_component" => {
            let of = node.named_child(0).map_or(BoundTo::Unknown, BoundTo::Type);
            one(node.named_child(1), of)
        }
        "inferred_parameters" => one(Some(node), BoundTo::Unknown),
        "lambda_expression" => one(
            field("parameters").filter(|parameter| parameter.kind() == "identifier"),
            BoundTo::Unknown,
        ),
        "type_parameter" => one(node.named_child(0), BoundTo::Unknown),
        kind if kind.ends_with("_declaration") && RULES.classes.contains(&kind) => {
            match site.is_scope {
                true => Vec::new(),
                // A class of the file is known to all of it.
                false if is_local(node) => one(field("name"), BoundTo::Unknown),
                false => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// True if a class is declared in a function.
fn is_local(class: Node<'_>) -> bool {
    class
        .parent()
        .is_some_and(|parent| parent.kind() == "block")
}

/// The declared type, or the value where that is `var`.
fn declared<'t>(declaration: Node<'t>, value: Option<Node<'t>>) -> BoundTo<'t> {
    let of = declaration.child_by_field_name("type");
    match value.filter(|value| is_instantiation(*value)) {
        // An instance of the value's class is one of the declared type too.
        Some(value) => BoundTo::Value(value),
        None => of.map_or(BoundTo::Unknown, BoundTo::Type),
    }
}

fn is_instantiation(value: Node<'_>) -> bool {
    value.kind() == "object_creation_expression"
}

/// Returns the class of a caught exception, if there is only one.
fn caught(parameter: Node<'_>) -> BoundTo<'_> {
    let mut cursor = parameter.walk();
    let types = parameter
        .named_children(&mut cursor)
        .find(|child| child.kind() == "catch_type");
    match types.map(|types| (types.named_child_count(), types.named_child(0))) {
        Some((1, Some(only))) => BoundTo::Type(only),
        _ => BoundTo::Unknown,
    }
}

/// A field of the class, or a component of the record.
fn attribute<'t>(site: ClassSite<'t, '_>, node: Node<'t>) -> Option<Binding<'t>> {
    let name = node.child_by_field_name("name")?;
    let parent = node.parent()?;
    match (node.kind(), parent.kind()) {
        ("variable_declarator", "field_declaration" | "constant_declaration") => {
            // Those of an anonymous class within are its own.
            let body = parent.parent()?.parent()?;
            let is_own = body == site.class || body.parent() == Some(site.class);
            is_own.then(|| (name, declared(parent, node.child_by_field_name("value"))))
        }
        ("formal_parameter", "formal_parameters") if parent.parent() == Some(site.class) => {
            Some((name, declared(node, None)))
        }
        ("enum_constant", _) => Some((name, BoundTo::Unknown)),
        _ => None,
    }
}

fn type_name<'t>(node: Node<'t>, _: &SourceFile) -> Option<Node<'t>> {
    let inner = match node.kind() {
        "generic_type" => node.named_child(0)?,
        _ => node,
    };
    matches!(inner.kind(), "type_identifier" | "scoped_type_identifier").then_some(inner)
}
