//! C#'s rules for the mutation operators.

use tree_sitter::Node;

use super::super::mutation::{MutationRules, Operators, Replacement, body_of_catch, throw_in_body};

pub(super) static RULES: MutationRules = MutationRules {
    binary: &["binary_expression"],
    unary: "prefix_unary_expression",
    negation: "prefix_unary_expression",
    augmented_assignment: "assignment_expression",
    operators: Operators {
        // <https://learn.microsoft.com/dotnet/csharp/language-reference/operators/#operator-precedence>
        precedence: &[
            &["??"],
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["&"],
            &["==", "!="],
            &["<", "<=", ">", ">="],
            &["<<", ">>", ">>>"],
            &["+", "-"],
            &["*", "/", "%"],
            &["unary"],
        ],
        ..Operators::LIKE_C
    },
    primary: &[
        "array_creation_expression",
        "boolean_literal",
        "character_literal",
        "default_expression",
        "element_access_expression",
        "generic_name",
        "identifier",
        "integer_literal",
        "interpolated_string_expression",
        "invocation_expression",
        "member_access_expression",
        "null_literal",
        "object_creation_expression",
        "parenthesized_expression",
        "postfix_unary_expression",
        "raw_string_literal",
        "real_literal",
        "string_literal",
        "typeof_expression",
        "verbatim_string_literal",
    ],
    prefixes: &["await_expression", "cast_expression"],
    updates: &["postfix_unary_expression", "prefix_unary_expression"],
    conditions_are_boolean: true,
    booleans: ["true", "false"],
    boolean_kinds: &["boolean_literal"],
    numbers: &["integer_literal", "real_literal"],
    strings: &["string_literal"],
    loops: &[
        "do_statement",
        "for_statement",
        "foreach_statement",
        "while_statement",
    ],
    break_statement: "break;",
    terminal: &[
        "break_statement",
        "continue_statement",
        "goto_statement",
        "return_statement",
        "throw_statement",
    ],
    deletable: &[
        "break_statement",
        "checked_statement",
        "continue_statement",
        "do_statement",
        "expression_statement",
        "fixed_statement",
        "for_statement",
        "foreach_statement",
        "goto_statement",
        "if_statement",
        "labeled_statement",
        "lock_statement",
        "return_statement",
        "throw_statement",
        "try_statement",
        "unsafe_statement",
        "using_statement",
        "while_statement",
        "yield_statement",
    ],
    empty_statement: "{}",
    neutral_statement: "\"\".ToString();",
    statement_separator: " ",
    untouched: &[
        "array_type",
        "attribute_list",
        "base_list",
        "preproc_define",
        "preproc_error",
        "preproc_line",
        "preproc_pragma",
        "preproc_region",
        "preproc_undef",
        "preproc_warning",
        "type_argument_list",
        "type_parameter_constraints_clause",
        "type_parameter_list",
        "using_directive",
    ],
    is_untouched: |node, _| is_condition_of_directive(node),
    condition,
    raise_again,
    begins_statement: |_| false,
    continues_line: |_| false,
    ended_by_semicolons: &[],
};

/// True for `DEBUG` of `#if DEBUG`. The code between the directives is among their children.
fn is_condition_of_directive(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        matches!(parent.kind(), "preproc_if" | "preproc_elif")
            && parent.child_by_field_name("condition") == Some(node)
    })
}

/// The grammar counts no parentheses of a statement to its condition.
fn condition(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "if_statement"
        | "while_statement"
        | "do_statement"
        | "for_statement"
        | "conditional_expression" => node.child_by_field_name("condition"),
        _ => None,
    }
}

/// `throw;`, which throws the caught exception again without its name. A handler that begins with
/// a `throw` is unchanged.
fn raise_again(node: Node<'_>, _: &str) -> Option<Replacement> {
    Some(throw_in_body(body_of_catch(node)?, "throw;"))
}
