//! Go's rules for names and their uses.

use tree_sitter::Node;

use super::super::names::{Binding, BindingSite, BoundTo, NameRules};
use super::super::source::SourceFile;

pub(super) static RULES: NameRules = NameRules {
    names: &["identifier", "package_identifier", "type_identifier"],
    expressions: &["identifier", "package_identifier", "type_identifier"],
    members: &["selector_expression"],
    type_members: &["qualified_type"],
    member,
    calls: &[("call_expression", "function")],
    instantiations: &[("composite_literal", "type")],
    // Of `&T{}` as of `T{}`, and of the only value on the right.
    transparent: &["parenthesized_expression", "unary_expression"],
    unwrap,
    own_names: &[],
    scopes: &[],
    classes: &[],
    global_statements: &[],
    implicit_members: false,
    is_undefined_alone: false,
    is_universal: |_| false,
    is_assigned: |_| false,
    is_binding: |_| false,
    is_other_name,
    bindings,
    pattern_names: &["identifier"],
    unbound_patterns: &[
        "index_expression",
        "selector_expression",
        "unary_expression",
    ],
    attribute: |_, _| None,
    type_name,
};

fn member(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let field = |name: &str| node.child_by_field_name(name);
    field("operand")
        .or_else(|| field("package"))
        .zip(field("field").or_else(|| field("name")))
}

fn unwrap(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "parenthesized_expression" | "unary_expression" | "pointer_type" => node.named_child(0),
        "generic_type" => node.child_by_field_name("type"),
        _ => None,
    }
}

/// The key of a field, the name of a package's clause, and what is declared here.
fn is_other_name(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |of: Node<'_>, field: &str, child: Node<'_>| {
        let mut cursor = of.walk();
        of.children_by_field_name(field, &mut cursor)
            .any(|one| one.id() == child.id())
    };
    match parent.kind() {
        "literal_element" => parent
            .parent()
            .is_some_and(|pair| pair.kind() == "keyed_element" && is(pair, "key", parent)),
        "package_clause" => true,
        "const_spec" | "function_declaration" | "type_alias" | "type_spec" | "var_spec" => {
            is(parent, "name", node)
        }
        _ => false,
    }
}

fn bindings<'t>(node: Node<'t>, site: BindingSite) -> Vec<Binding<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "short_var_declaration" => assigned(node),
        "var_spec" | "const_spec" => declared(node),
        "parameter_declaration" | "variadic_parameter_declaration" => declared(node),
        // Without `:=`, these are names that there are already.
        "range_clause" | "receive_statement" if declares(node) => unknown(field("left")),
        "type_switch_statement" => unknown(field("alias")),
        "function_declaration" | "type_spec" | "type_alias" if !site.is_scope => {
            unknown(field("name"))
        }
        "type_parameter_declaration" => unknown(field("name")),
        _ => Vec::new(),
    }
}

fn declares(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == ":=")
}

fn unknown(pattern: Option<Node<'_>>) -> Vec<Binding<'_>> {
    pattern
        .map(|pattern| (pattern, BoundTo::Unknown))
        .into_iter()
        .collect()
}

/// `a, b := x, y`: each name and its value, if there is one value for each name.
fn assigned(node: Node<'_>) -> Vec<Binding<'_>> {
    let children = |field: &str| {
        node.child_by_field_name(field)
            .map_or_else(Vec::new, |list| {
                let mut cursor = list.walk();
                list.named_children(&mut cursor).collect::<Vec<_>>()
            })
    };
    let (names, values) = (children("left"), children("right"));
    let value = |index: usize| match names.len() == values.len() {
        true => BoundTo::Value(values[index]),
        false => BoundTo::Unknown,
    };
    names
        .iter()
        .enumerate()
        .map(|(index, name)| (*name, value(index)))
        .collect()
}

/// `a, b T = x, y`: the names, with their type or else the value of the only one.
fn declared(node: Node<'_>) -> Vec<Binding<'_>> {
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node
        .children_by_field_name("name", &mut cursor)
        .filter(|name| name.kind() == "identifier")
        .collect();
    // A variadic parameter is a slice of its type, not an instance.
    let declared = node
        .child_by_field_name("type")
        .filter(|_| node.kind() != "variadic_parameter_declaration")
        .map(BoundTo::Type);
    let value = node
        .child_by_field_name("value")
        .filter(|_| names.len() == 1)
        .and_then(|values| values.named_child(0))
        .map(BoundTo::Value);
    let bound = declared.or(value).unwrap_or(BoundTo::Unknown);
    names.into_iter().map(|name| (name, bound)).collect()
}

fn type_name<'t>(node: Node<'t>, _: &SourceFile) -> Option<Node<'t>> {
    named_type(node)
}

/// Returns the name of a type; for a pointer, that of the type it points to.
fn named_type(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "type_identifier" | "qualified_type" => Some(node),
        "pointer_type" | "parenthesized_type" => named_type(node.named_child(0)?),
        "generic_type" => named_type(node.child_by_field_name("type")?),
        _ => None,
    }
}
