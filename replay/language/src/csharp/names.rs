//! C#'s rules for names and their uses.

use tree_sitter::Node;

use super::super::names::{Binding, BindingSite, BoundTo, ClassSite, NameRules};
use super::super::source::SourceFile;

pub(super) static RULES: NameRules = NameRules {
    names: &["identifier"],
    expressions: &["identifier", "this", "base"],
    members: &["member_access_expression"],
    type_members: &["qualified_name"],
    member,
    calls: &[("invocation_expression", "function")],
    instantiations: &[("object_creation_expression", "type")],
    transparent: &["generic_name", "nullable_type", "parenthesized_expression"],
    unwrap,
    own_names: &["this", "base"],
    scopes: &[],
    classes: &[
        "class_declaration",
        "enum_declaration",
        "interface_declaration",
        "record_declaration",
        "struct_declaration",
    ],
    global_statements: &[],
    implicit_members: true,
    is_undefined_alone: false,
    is_universal,
    is_assigned: |_| false,
    is_binding: |_| false,
    is_other_name,
    bindings,
    pattern_names: &["identifier", "implicit_parameter"],
    unbound_patterns: &[],
    attribute,
    type_name,
};

fn member(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let field = |name: &str| node.child_by_field_name(name);
    field("expression")
        .or_else(|| field("qualifier"))
        .zip(field("name"))
}

fn unwrap(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "await_expression" | "generic_name" | "nullable_type" | "parenthesized_expression" => {
            node.named_child(0)
        }
        _ => None,
    }
}

/// Members of `object`, which every class has.
fn is_universal(member: &str) -> bool {
    matches!(
        member,
        "Equals" | "Finalize" | "GetHashCode" | "GetType" | "MemberwiseClone" | "ToString"
    )
}

/// True if a name is declared here, names an argument or is a label.
fn is_other_name(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "argument"
        | "attribute_argument"
        | "catch_declaration"
        | "declaration_expression"
        | "declaration_pattern"
        | "from_clause"
        | "member_access_expression"
        | "member_binding_expression"
        | "parameter"
        | "type_parameter"
        | "variable_declarator" => is("name"),
        "goto_statement" | "labeled_statement" | "qualified_name" => true,
        kind => {
            let declares = kind.ends_with("_declaration") || kind.ends_with("_function_statement");
            declares && is("name")
        }
    }
}

fn bindings<'t>(node: Node<'t>, site: BindingSite) -> Vec<Binding<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    let one = |name: Option<Node<'t>>, bound: BoundTo<'t>| {
        name.map(|name| (name, bound)).into_iter().collect()
    };
    match node.kind() {
        "variable_declarator" => {
            let is_field = |of: &Node<'_>| {
                matches!(of.kind(), "event_field_declaration" | "field_declaration")
            };
            // A field is an attribute of its class, see [`attribute`], and no name of a scope.
            let declaration = node.parent();
            let local = declaration.filter(|of| !of.parent().as_ref().is_some_and(is_field));
            local.map_or_else(Vec::new, |local| {
                one(field("name"), declared(local, initial_value(node)))
            })
        }
        "parameter" | "declaration_expression" | "declaration_pattern" | "from_clause" => {
            one(field("name"), declared(node, None))
        }
        "foreach_statement" => {
            let name = field("left").filter(|left| left.kind() == "identifier");
            one(name, declared(node, None))
        }
        "catch_declaration" => one(field("name"), declared(node, None)),
        "implicit_parameter" => one(Some(node), BoundTo::Unknown),
        "local_function_statement" if !site.is_scope => one(field("name"), BoundTo::Unknown),
        "type_parameter" => one(field("name"), BoundTo::Unknown),
        _ => Vec::new(),
    }
}

/// Returns the initial value in the declaration of a variable.
fn initial_value(declarator: Node<'_>) -> Option<Node<'_>> {
    // The grammar has no field for the value: it is the last child, after the name and array sizes.
    let last = declarator.named_child_count().checked_sub(1)?;
    declarator
        .named_child(u32::try_from(last).ok()?)
        .filter(|_| last > 0)
        .filter(|value| value.kind() != "bracketed_argument_list")
}

/// The declared type, or the value where that is `var`.
fn declared<'t>(declaration: Node<'t>, value: Option<Node<'t>>) -> BoundTo<'t> {
    let of = declaration
        .child_by_field_name("type")
        .filter(|of| of.kind() != "implicit_type");
    let is_instantiation = |value: &Node<'_>| value.kind() == "object_creation_expression";
    match (of, value) {
        // An instance of the value's class is one of the declared type too.
        (_, Some(value)) if of.is_none() || is_instantiation(&value) => BoundTo::Value(value),
        (Some(of), _) => BoundTo::Type(of),
        _ => BoundTo::Unknown,
    }
}

/// A field or a property of the class, or a component of the record.
fn attribute<'t>(site: ClassSite<'t, '_>, node: Node<'t>) -> Option<Binding<'t>> {
    let name = node.child_by_field_name("name")?;
    let parent = node.parent()?;
    match (node.kind(), parent.kind()) {
        ("variable_declarator", "variable_declaration") => {
            let field = parent.parent()?;
            let is_own =
                field.kind() == "field_declaration" && field.parent()?.parent() == Some(site.class);
            is_own.then(|| (name, declared(parent, initial_value(node))))
        }
        ("property_declaration", "declaration_list") if parent.parent() == Some(site.class) => {
            Some((name, declared(node, None)))
        }
        ("parameter", "parameter_list") if parent.parent() == Some(site.class) => {
            Some((name, declared(node, None)))
        }
        ("enum_member_declaration", _) => Some((name, BoundTo::Unknown)),
        _ => None,
    }
}

fn type_name<'t>(node: Node<'t>, _: &SourceFile) -> Option<Node<'t>> {
    let inner = match node.kind() {
        "generic_name" | "nullable_type" => node.named_child(0)?,
        _ => node,
    };
    matches!(inner.kind(), "identifier" | "qualified_name").then_some(inner)
}
