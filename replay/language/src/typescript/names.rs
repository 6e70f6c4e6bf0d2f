//! The rules of TypeScript and JavaScript for names and their uses.

use tree_sitter::Node;

use super::super::names::{Binding, BindingSite, BoundTo, ClassSite, NameRules};
use super::super::source::SourceFile;

pub(super) static RULES: NameRules = NameRules {
    names: &[
        "identifier",
        "type_identifier",
        "shorthand_property_identifier",
    ],
    expressions: &["identifier", "this", "super", "type_identifier"],
    members: &["member_expression"],
    type_members: &["nested_identifier", "nested_type_identifier"],
    member,
    calls: &[("call_expression", "function")],
    instantiations: &[("new_expression", "constructor")],
    transparent: &["parenthesized_expression", "non_null_expression"],
    unwrap,
    own_names: &["this", "super"],
    scopes: &[],
    classes: &["class_declaration", "abstract_class_declaration", "class"],
    global_statements: &[],
    implicit_members: false,
    is_undefined_alone: true,
    is_universal,
    is_assigned: |_| false,
    is_binding,
    is_other_name,
    bindings,
    pattern_names: &[
        "identifier",
        "shorthand_property_identifier_pattern",
        "type_identifier",
    ],
    unbound_patterns: &["member_expression", "subscript_expression"],
    attribute,
    type_name,
};

fn member(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let field = |name: &str| node.child_by_field_name(name);
    // A `nested_type_identifier` calls its parts `module` and `name`.
    let object = field("object").or_else(|| field("module"))?;
    let member = field("property").or_else(|| field("name"))?;
    Some((object, member))
}

fn unwrap(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "parenthesized_expression" | "non_null_expression" | "as_expression" => node.named_child(0),
        _ => None,
    }
}

/// Members of every function, and with that of every class.
fn is_universal(member: &str) -> bool {
    matches!(
        member,
        "apply"
            | "arguments"
            | "bind"
            | "call"
            | "caller"
            | "constructor"
            | "hasOwnProperty"
            | "isPrototypeOf"
            | "length"
            | "name"
            | "propertyIsEnumerable"
            | "prototype"
            | "toLocaleString"
            | "toString"
            | "valueOf"
    )
}

/// True if a name is declared here, for example as a parameter of a function type.
fn is_binding(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        ["name", "pattern", "parameter"].iter().any(|field| {
            matches!(
                parent.kind(),
                "required_parameter"
                    | "optional_parameter"
                    | "variable_declarator"
                    | "type_parameter"
                    | "arrow_function"
            ) && parent
                .child_by_field_name(field)
                .is_some_and(|bound| bound.id() == node.id())
        })
    })
}

fn is_other_name(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        let kind = parent.kind();
        let is_name = parent
            .child_by_field_name("name")
            .is_some_and(|child| child.id() == node.id());
        is_name
            && (kind == "nested_type_identifier"
                || kind.ends_with("_definition")
                || kind.ends_with("_declaration"))
    })
}

fn bindings<'t>(node: Node<'t>, site: BindingSite) -> Vec<Binding<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    let one = |name: Option<Node<'t>>, bound: BoundTo<'t>| {
        name.map(|name| (name, bound)).into_iter().collect()
    };
    match node.kind() {
        "variable_declarator" | "required_parameter" | "optional_parameter" => one(
            // A declarator has a name, and a parameter has a pattern.
            field("name").or_else(|| field("pattern")),
            declared_or_value(node),
        ),
        "for_in_statement" => one(field("left"), BoundTo::Unknown),
        // A function's own name is bound in the scope around it.
        "function_declaration"
        | "generator_function_declaration"
        | "class_declaration"
        | "abstract_class_declaration"
        | "enum_declaration"
        | "type_parameter"
            if !site.is_scope =>
        {
            one(field("name"), BoundTo::Unknown)
        }
        "arrow_function" | "catch_clause" => one(field("parameter"), BoundTo::Unknown),
        _ => Vec::new(),
    }
}

/// The declared type, or else the value, that a node has.
fn declared_or_value(node: Node<'_>) -> BoundTo<'_> {
    let declared = node.child_by_field_name("type").map(BoundTo::Type);
    declared
        .or_else(|| node.child_by_field_name("value").map(BoundTo::Value))
        .unwrap_or(BoundTo::Unknown)
}

/// A field, or a parameter of a constructor that is one.
fn attribute<'t>(_: ClassSite<'t, '_>, node: Node<'t>) -> Option<Binding<'t>> {
    match node.kind() {
        "public_field_definition" => {
            Some((node.child_by_field_name("name")?, declared_or_value(node)))
        }
        "required_parameter" | "optional_parameter" => {
            // A modifier such as `private` makes a field of a constructor's parameter.
            let mut cursor = node.walk();
            let is_field = node
                .children(&mut cursor)
                .any(|child| matches!(child.kind(), "accessibility_modifier" | "readonly"));
            let declared = node.child_by_field_name("type");
            let pattern = node.child_by_field_name("pattern").filter(|_| is_field)?;
            Some((pattern, declared.map_or(BoundTo::Unknown, BoundTo::Type)))
        }
        _ => None,
    }
}

fn type_name<'t>(node: Node<'t>, file: &SourceFile) -> Option<Node<'t>> {
    match node.kind() {
        "type_annotation" => type_name(node.named_child(0)?, file),
        "type_identifier" | "identifier" | "nested_type_identifier" => Some(node),
        "union_type" => {
            // A member can only be that of the part that is not null.
            let mut cursor = node.walk();
            let mut some = node
                .named_children(&mut cursor)
                .filter(|part| !matches!(file.text(*part), "null" | "undefined"));
            match (some.next(), some.next()) {
                (Some(only), None) => type_name(only, file),
                _ => None,
            }
        }
        _ => None,
    }
}
