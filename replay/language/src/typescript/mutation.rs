//! The rules of TypeScript and JavaScript, with and without JSX, for the mutation operators.

use tree_sitter::Node;

use super::super::mutation::{
    MutationRules, Operators, Replacement, body_of_catch, condition_as_in_c, named, throw_in_body,
};

pub(super) static RULES: MutationRules = MutationRules {
    binary: &["binary_expression"],
    unary: "unary_expression",
    negation: "unary_expression",
    augmented_assignment: "augmented_assignment_expression",
    operators: Operators {
        // <https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Operators/Operator_precedence#table>
        precedence: &[
            &["??"],
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["&"],
            &["==", "!=", "===", "!=="],
            &["<", "<=", ">", ">=", "in", "instanceof"],
            &["<<", ">>", ">>>"],
            &["+", "-"],
            &["*", "/", "%"],
            &["unary"],
            &["**"],
        ],
        unmixable: &[("??", "||"), ("??", "&&")],
        arithmetic: &[
            ("+", &["-"]),
            ("-", &["+"]),
            ("*", &["/", "**"]),
            ("/", &["*"]),
            ("%", &["*"]),
            ("**", &["*"]),
        ],
        logical: &[("&&", &["||"]), ("||", &["&&"]), ("??", &["&&", "||"])],
        relational: &[
            ("<", &[">", "<="]),
            (">", &["<", ">="]),
            ("<=", &[">=", "<"]),
            (">=", &["<=", ">"]),
            ("==", &["!="]),
            ("!=", &["=="]),
            ("===", &["!=="]),
            ("!==", &["==="]),
        ],
        opposites: &["in", "==", "!=", "===", "!=="],
        ..Operators::LIKE_C
    },
    primary: &[
        "array",
        "call_expression",
        "false",
        "identifier",
        "jsx_element",
        "jsx_self_closing_element",
        "member_expression",
        "new_expression",
        "non_null_expression",
        "null",
        "number",
        "object",
        "parenthesized_expression",
        "regex",
        "string",
        "subscript_expression",
        "template_string",
        "this",
        "true",
        "undefined",
    ],
    prefixes: &[
        "as_expression",
        "await_expression",
        "satisfies_expression",
        "type_assertion",
    ],
    updates: &["update_expression"],
    conditions_are_boolean: false,
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    numbers: &["number"],
    strings: &["string", "template_string"],
    loops: &[
        "do_statement",
        "for_in_statement",
        "for_statement",
        "while_statement",
    ],
    break_statement: "break;",
    terminal: &[
        "break_statement",
        "continue_statement",
        "return_statement",
        "throw_statement",
    ],
    deletable: &[
        "break_statement",
        "continue_statement",
        "do_statement",
        "expression_statement",
        "for_in_statement",
        "for_statement",
        "if_statement",
        "labeled_statement",
        "lexical_declaration",
        "return_statement",
        "switch_statement",
        "throw_statement",
        "try_statement",
        "variable_declaration",
        "while_statement",
    ],
    empty_statement: ";",
    neutral_statement: "void 0;",
    statement_separator: " ",
    untouched: &[
        "abstract_method_signature",
        "ambient_declaration",
        "asserts_annotation",
        "function_signature",
        "implements_clause",
        "import_alias",
        "import_statement",
        "index_signature",
        "interface_declaration",
        "method_signature",
        "type_alias_declaration",
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "type_predicate_annotation",
    ],
    is_untouched,
    condition: condition_as_in_c,
    raise_again,
    begins_statement: |text| {
        ["{", "function", "class", "async function"]
            .iter()
            .any(|start| text.starts_with(start))
    },
    // Before `++` and `--`, the end of a line is the end of a statement.
    continues_line: |text| {
        let is_prefix = text.starts_with("++") || text.starts_with("--");
        text.starts_with(['(', '[', '`', '+', '-', '*', '/', '.', ',']) && !is_prefix
    },
    ended_by_semicolons: &[
        "break_statement",
        "continue_statement",
        "do_statement",
        "expression_statement",
        "lexical_declaration",
        "return_statement",
        "throw_statement",
        "variable_declaration",
    ],
};

/// The type of `x as T`; what a module is loaded from; a name that is written as a string; a number
/// whose mutant would be equivalent.
fn is_untouched(node: Node<'_>, contents: &str) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    if node.kind() == "number" && is_equivalent_number(node, parent, contents) {
        return true;
    }
    match parent.kind() {
        "as_expression" | "satisfies_expression" => {
            // The first child is the expression, the other one its type.
            node.is_named() && named(parent).first() != Some(&node)
        }
        "call_expression" if is("arguments") => {
            parent
                .child_by_field_name("function")
                .is_some_and(|called| {
                    called.kind() == "import" || &contents[called.byte_range()] == "require"
                })
        }
        _ => {
            matches!(node.kind(), "string" | "number")
                && (is("source") || is("key") || is("name") || is("alias"))
        }
    }
}

/// True for the 0 of `void 0`, whose value is always `undefined`, and for a condition that is a
/// number other than 0, as in `while (1)`: the next number is true too.
fn is_equivalent_number(number: Node<'_>, parent: Node<'_>, contents: &str) -> bool {
    if parent.kind() == "unary_expression" {
        let operator = parent.child_by_field_name("operator");
        return operator.is_some_and(|operator| operator.kind() == "void");
    }
    let outermost = match parent.kind() {
        "parenthesized_expression" => parent,
        _ => number,
    };
    let is_condition = outermost
        .parent()
        .is_some_and(|around| around.child_by_field_name("condition") == Some(outermost));
    is_condition && contents[number.byte_range()].parse() != Ok(0.0)
}

/// `throw` of what was caught, which gets a name if it has none. A handler that begins with a
/// `throw` is unchanged.
fn raise_again(node: Node<'_>, contents: &str) -> Option<Replacement> {
    let body = body_of_catch(node)?;
    let caught = node
        .child_by_field_name("parameter")
        .filter(|parameter| parameter.kind() == "identifier");
    Some(match caught {
        Some(caught) => {
            let throw = format!("throw {};", &contents[caught.byte_range()]);
            throw_in_body(body, &throw)
        }
        None => (
            node.byte_range(),
            "catch (caught) { throw caught; }".to_owned(),
        ),
    })
}
