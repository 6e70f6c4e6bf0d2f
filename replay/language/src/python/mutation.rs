//! Python's rules for the mutation operators.

use tree_sitter::Node;

use super::super::mutation::{MutationRules, Operators, Replacement, named};

pub(super) static RULES: MutationRules = MutationRules {
    binary: &["binary_operator", "boolean_operator", "comparison_operator"],
    unary: "unary_operator",
    negation: "not_operator",
    augmented_assignment: "augmented_assignment",
    operators: Operators {
        // <https://docs.python.org/3/reference/expressions.html#operator-precedence>
        precedence: &[
            &["or"],
            &["and"],
            &["not"],
            &[
                "<", "<=", "==", "!=", ">=", ">", "<>", "in", "not in", "is", "is not",
            ],
            &["|"],
            &["^"],
            &["&"],
            &["<<", ">>"],
            &["+", "-"],
            &["*", "/", "//", "%", "@"],
            &["unary"],
            &["**"],
        ],
        // The grammar has these two in the wrong order (version 0.25.0), so neither reading is
        // trusted.
        unmixable: &[("&", "^")],
        arithmetic: &[
            ("+", &["-"]),
            ("-", &["+"]),
            ("*", &["/", "//", "**"]),
            ("/", &["*", "//"]),
            ("//", &["/", "*"]),
            ("%", &["*"]),
            ("**", &["*"]),
        ],
        update: &[],
        logical: &[("and", &["or"]), ("or", &["and"])],
        bitwise: &[
            ("&", &["|"]),
            ("|", &["&"]),
            ("^", &["&"]),
            ("<<", &[">>"]),
            (">>", &["<<"]),
        ],
        relational: &[
            ("<", &[">", "<="]),
            (">", &["<", ">="]),
            ("<=", &[">=", "<"]),
            (">=", &["<=", ">"]),
            ("==", &["!="]),
            ("!=", &["=="]),
            ("is", &["is not"]),
            ("is not", &["is"]),
        ],
        not: "not ",
        not_in: Some("not in"),
        // Not `==`: a class may define it and `!=` as it likes.
        opposites: &["in", "not in", "is", "is not"],
    },
    primary: &[
        "attribute",
        "call",
        "concatenated_string",
        "dictionary",
        "dictionary_comprehension",
        "ellipsis",
        "false",
        "float",
        "generator_expression",
        "identifier",
        "integer",
        "list",
        "list_comprehension",
        "none",
        "parenthesized_expression",
        "set",
        "set_comprehension",
        "string",
        "subscript",
        "true",
        "tuple",
    ],
    prefixes: &["await"],
    updates: &[],
    conditions_are_boolean: false,
    booleans: ["True", "False"],
    boolean_kinds: &["true", "false"],
    numbers: &["integer", "float"],
    strings: &["concatenated_string", "string"],
    loops: &["for_statement", "while_statement"],
    break_statement: "break",
    terminal: &[
        "break_statement",
        "continue_statement",
        "raise_statement",
        "return_statement",
    ],
    deletable: &[
        "assert_statement",
        "break_statement",
        "continue_statement",
        "delete_statement",
        "expression_statement",
        "for_statement",
        "global_statement",
        "if_statement",
        "match_statement",
        "nonlocal_statement",
        "raise_statement",
        "return_statement",
        "try_statement",
        "while_statement",
        "with_statement",
    ],
    empty_statement: "pass",
    // Constants alone would be left out of the bytecode.
    neutral_statement: "[]",
    statement_separator: "; ",
    untouched: &[
        "future_import_statement",
        "import_from_statement",
        "import_statement",
        "type",
        "type_alias_statement",
        "type_parameter",
    ],
    is_untouched: |_, _| false,
    condition,
    raise_again,
    begins_statement: |_| false,
    continues_line: |_| false,
    ended_by_semicolons: &[],
};

/// Returns the condition of `if`, `elif`, `while`, a comprehension's or a case's `if`, and
/// `a if condition else b`.
fn condition(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "if_statement" | "elif_clause" | "while_statement" => node.child_by_field_name("condition"),
        "if_clause" => named(node).first().copied(),
        "conditional_expression" => named(node).get(1).copied(),
        _ => None,
    }
}

/// A bare `raise`. A handler that begins with a `raise` is unchanged, as in MutPy.
fn raise_again(node: Node<'_>, _: &str) -> Option<Replacement> {
    if node.kind() != "except_clause" {
        return None;
    }
    let body = named(node)
        .into_iter()
        .find(|child| child.kind() == "block")?;
    let statements = named(body);
    let (first, last) = (statements.first()?, statements.last()?);
    (first.kind() != "raise_statement")
        .then(|| (first.start_byte()..last.end_byte(), "raise".to_owned()))
}
