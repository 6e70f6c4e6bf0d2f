//! Python's rules for names and their uses.

use tree_sitter::Node;

use super::super::names::{Binding, BindingSite, BoundTo, ClassSite, NameRules};
use super::super::source::SourceFile;

pub(super) static RULES: NameRules = NameRules {
    names: &["identifier"],
    expressions: &["identifier"],
    members: &["attribute"],
    type_members: &[],
    member: |node| {
        node.child_by_field_name("object")
            .zip(node.child_by_field_name("attribute"))
    },
    calls: &[("call", "function")],
    instantiations: &[("call", "function")],
    transparent: &["parenthesized_expression"],
    unwrap,
    own_names: &["self", "cls", "super"],
    scopes: &[
        "lambda",
        "list_comprehension",
        "set_comprehension",
        "dictionary_comprehension",
        "generator_expression",
    ],
    classes: &["class_definition"],
    global_statements: &["global_statement"],
    implicit_members: false,
    is_undefined_alone: false,
    is_universal: |member| member.starts_with("__") && member.ends_with("__"),
    is_assigned,
    is_binding: |_| false,
    is_other_name,
    bindings,
    pattern_names: &["identifier"],
    unbound_patterns: &["attribute", "subscript", "type"],
    attribute,
    type_name,
};

fn unwrap(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "parenthesized_expression" | "await" => node.named_child(0),
        // `Base[T]` is made from `Base`.
        "subscript" => node.child_by_field_name("value"),
        _ => None,
    }
}

/// True if a member is assigned to: Pylint then takes it as defined.
fn is_assigned(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        parent.kind() == "assignment"
            && parent
                .child_by_field_name("left")
                .is_some_and(|left| left.id() == node.id())
    })
}

fn is_other_name(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| {
        parent
            .child_by_field_name(field)
            .is_some_and(|child| child.id() == node.id())
    };
    match parent.kind() {
        "attribute" => is("attribute"),
        "assignment" => is("left"),
        "keyword_argument" => is("name"),
        kind => kind.ends_with("_definition") && is("name"),
    }
}

fn bindings<'t>(node: Node<'t>, site: BindingSite) -> Vec<Binding<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    let one = |name: Option<Node<'t>>, bound: BoundTo<'t>| {
        name.map(|name| (name, bound)).into_iter().collect()
    };
    match node.kind() {
        "assignment" => one(
            field("left"),
            field("right").map_or(BoundTo::Unknown, BoundTo::Value),
        ),
        "augmented_assignment" | "for_statement" | "for_in_clause" => {
            one(field("left"), BoundTo::Unknown)
        }
        "named_expression" | "function_definition" | "class_definition" if !site.is_scope => {
            one(field("name"), BoundTo::Unknown)
        }
        "as_pattern_target" => one(node.named_child(0), caught(node)),
        "parameters" | "lambda_parameters" => {
            let mut cursor = node.walk();
            node.named_children(&mut cursor)
                .map(|parameter| self::parameter(parameter, site))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the value that `as` names: an instance of the class if an exception is caught.
fn caught(target: Node<'_>) -> BoundTo<'_> {
    let pattern = target.parent();
    let is_caught = pattern
        .and_then(|pattern| pattern.parent())
        .is_some_and(|clause| clause.kind() == "except_clause");
    pattern
        .and_then(|pattern| pattern.named_child(0))
        .filter(|_| is_caught)
        .map_or(BoundTo::Unknown, BoundTo::InstanceOf)
}

fn parameter<'t>(parameter: Node<'t>, site: BindingSite) -> Binding<'t> {
    let name = parameter.child_by_field_name("name").unwrap_or(parameter);
    let declared = parameter
        .child_by_field_name("type")
        .filter(|_| site.every_use)
        .map_or(BoundTo::Unknown, BoundTo::Type);
    // The grammar gives the name in `a: int` no field.
    let plain = name
        .named_child(0)
        .filter(|plain| name.kind() == "typed_parameter" && plain.kind() == "identifier");
    (plain.unwrap_or(name), declared)
}

/// An attribute of `self` that a method assigns, or a field of a data class.
fn attribute<'t>(site: ClassSite<'t, '_>, node: Node<'t>) -> Option<Binding<'t>> {
    if node.kind() != "assignment" {
        return None;
    }
    let left = node.child_by_field_name("left")?;
    if let Some(attribute) = left.child_by_field_name("attribute") {
        let object = left.child_by_field_name("object")?;
        let value = node.child_by_field_name("right");
        return (site.file.text(object) == "self")
            .then(|| (attribute, value.map_or(BoundTo::Unknown, BoundTo::Value)));
    }
    // A data class declares the types of its fields.
    let body = node.parent()?.parent()?;
    let is_field = body.parent().map(|class| class.id()) == Some(site.class.id());
    let declared = node.child_by_field_name("type");
    (is_field && is_data_class(site))
        .then(|| (left, declared.map_or(BoundTo::Unknown, BoundTo::Type)))
}

fn is_data_class(site: ClassSite<'_, '_>) -> bool {
    site.class.parent().is_some_and(|parent| {
        let mut cursor = parent.walk();
        parent.kind() == "decorated_definition"
            && parent
                .children(&mut cursor)
                .any(|child| site.file.text(child).starts_with("@dataclass"))
    })
}

fn type_name<'t>(node: Node<'t>, _: &SourceFile) -> Option<Node<'t>> {
    let name = match node.kind() {
        "type" => node.named_child(0)?,
        _ => node,
    };
    matches!(name.kind(), "identifier" | "attribute").then_some(name)
}
