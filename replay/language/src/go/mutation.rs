//! Go's rules for the mutation operators.

use tree_sitter::Node;

use super::super::mutation::{MutationRules, Operators};

pub(super) static RULES: MutationRules = MutationRules {
    binary: &["binary_expression"],
    unary: "unary_expression",
    negation: "unary_expression",
    augmented_assignment: "assignment_statement",
    operators: Operators {
        // <https://go.dev/ref/spec#Operator_precedence>
        precedence: &[
            &["||"],
            &["&&"],
            &["==", "!=", "<", "<=", ">", ">="],
            &["+", "-", "|", "^"],
            &["*", "/", "%", "<<", ">>", "&", "&^"],
            &["unary"],
        ],
        bitwise: &[
            ("&", &["|"]),
            ("|", &["&"]),
            ("^", &["&"]),
            ("&^", &["&"]),
            ("<<", &[">>"]),
            (">>", &["<<"]),
        ],
        ..Operators::LIKE_C
    },
    primary: &[
        "call_expression",
        "composite_literal",
        "false",
        "float_literal",
        "func_literal",
        "identifier",
        "imaginary_literal",
        "index_expression",
        "int_literal",
        "interpreted_string_literal",
        "iota",
        "nil",
        "parenthesized_expression",
        "raw_string_literal",
        "rune_literal",
        "selector_expression",
        "slice_expression",
        "true",
        "type_assertion_expression",
        "type_conversion_expression",
    ],
    prefixes: &[],
    updates: &["inc_statement", "dec_statement"],
    conditions_are_boolean: true,
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    numbers: &["float_literal", "int_literal"],
    strings: &["interpreted_string_literal", "raw_string_literal"],
    loops: &["for_statement"],
    break_statement: "break",
    terminal: &[
        "break_statement",
        "continue_statement",
        "goto_statement",
        "return_statement",
    ],
    deletable: &[
        "assignment_statement",
        "break_statement",
        "continue_statement",
        "dec_statement",
        "defer_statement",
        "expression_statement",
        "expression_switch_statement",
        "fallthrough_statement",
        "for_statement",
        "go_statement",
        "if_statement",
        "inc_statement",
        "return_statement",
        "select_statement",
        "send_statement",
        "type_switch_statement",
    ],
    empty_statement: "{}",
    neutral_statement: "_ = 0",
    statement_separator: "; ",
    untouched: &[
        "array_type",
        "field_declaration",
        "import_declaration",
        "interface_type",
        "map_type",
        "type_arguments",
        "type_parameter_list",
    ],
    is_untouched: |_, _| false,
    condition,
    raise_again: |_, _| None,
    begins_statement: |_| false,
    continues_line: |_| false,
    ended_by_semicolons: &[],
};

/// Returns the condition of `if` and of `for`.
fn condition(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "if_statement" | "for_clause" => node.child_by_field_name("condition"),
        "for_statement" => {
            let mut cursor = node.walk();
            node.named_children(&mut cursor).find(|child| {
                !child.is_extra()
                    && !matches!(child.kind(), "block" | "for_clause" | "range_clause")
            })
        }
        _ => None,
    }
}
