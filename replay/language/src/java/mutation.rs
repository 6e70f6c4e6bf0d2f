//! Java's rules for the mutation operators.

use tree_sitter::Node;

use super::super::mutation::{
    MutationRules, Operators, Replacement, body_of_catch, condition_as_in_c, named, throw_in_body,
};

pub(super) static RULES: MutationRules = MutationRules {
    binary: &["binary_expression"],
    unary: "unary_expression",
    negation: "unary_expression",
    augmented_assignment: "assignment_expression",
    operators: Operators::LIKE_C,
    primary: &[
        "array_access",
        "array_creation_expression",
        "binary_integer_literal",
        "character_literal",
        "class_literal",
        "decimal_floating_point_literal",
        "decimal_integer_literal",
        "false",
        "field_access",
        "hex_floating_point_literal",
        "hex_integer_literal",
        "identifier",
        "method_invocation",
        "null_literal",
        "object_creation_expression",
        "octal_integer_literal",
        "parenthesized_expression",
        "string_literal",
        "this",
        "true",
    ],
    prefixes: &["cast_expression"],
    updates: &["update_expression"],
    conditions_are_boolean: true,
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    numbers: &[
        "binary_integer_literal",
        "decimal_floating_point_literal",
        "decimal_integer_literal",
        "hex_integer_literal",
    ],
    strings: &["string_literal"],
    loops: &[
        "do_statement",
        "enhanced_for_statement",
        "for_statement",
        "while_statement",
    ],
    break_statement: "break;",
    terminal: &[
        "break_statement",
        "continue_statement",
        "return_statement",
        "throw_statement",
        "yield_statement",
    ],
    deletable: &[
        "assert_statement",
        "break_statement",
        "continue_statement",
        "do_statement",
        "enhanced_for_statement",
        "expression_statement",
        "for_statement",
        "if_statement",
        "labeled_statement",
        "return_statement",
        "synchronized_statement",
        "throw_statement",
        "try_statement",
        "try_with_resources_statement",
        "while_statement",
    ],
    empty_statement: "{}",
    neutral_statement: "\"\".length();",
    statement_separator: " ",
    untouched: &[
        "annotation",
        "array_type",
        "generic_type",
        "import_declaration",
        "marker_annotation",
        "package_declaration",
        "type_arguments",
        "type_parameters",
    ],
    is_untouched,
    condition: condition_as_in_c,
    raise_again,
    begins_statement: |_| false,
    continues_line: |_| false,
    ended_by_semicolons: &[],
};

/// A block of text, whose first line is its mark's.
fn is_untouched(node: Node<'_>, contents: &str) -> bool {
    node.kind() == "string_literal" && contents[node.byte_range()].starts_with("\"\"\"")
}

/// `throw` of what was caught. A handler that begins with a `throw` is unchanged.
fn raise_again(node: Node<'_>, contents: &str) -> Option<Replacement> {
    let body = body_of_catch(node)?;
    let caught = named(node)
        .into_iter()
        .find(|child| child.kind() == "catch_formal_parameter")?
        .child_by_field_name("name")?;
    let throw = format!("throw {};", &contents[caught.byte_range()]);
    Some(throw_in_body(body, &throw))
}
