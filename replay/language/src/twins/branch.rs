//! Branches in which a test fails without an assertion: `if (got !== wanted) throw …`.

use tree_sitter::Node;

use super::{Assertion, SourceEdit, named_children};

/// Kinds of statements that raise an error.
const RAISES: [&str; 2] = ["throw_statement", "raise_statement"];
/// Kinds of blocks of statements.
const BLOCKS: [&str; 2] = ["block", "statement_block"];
/// Functions and methods that make a test fail.
const FAILURES: [&str; 2] = ["fail", "done"];

/// Returns the values that an `if` statement compares, if its body makes the test fail. `compared`
/// returns the operands of comparisons that hold for equal values.
pub(crate) fn failing_branch<'t>(
    statement: Node<'t>,
    text: &str,
    compared: fn(Node<'t>, &str) -> Vec<Node<'t>>,
) -> Option<Assertion<'t>> {
    let condition = statement.child_by_field_name("condition")?;
    let consequence = statement.child_by_field_name("consequence")?;
    if !fails(consequence, text) {
        return None;
    }
    let source = &text[condition.byte_range()];
    Some(Assertion {
        complement: Some(SourceEdit::new(
            condition.byte_range(),
            &format!("(!{source})"),
        )),
        ..Assertion::comparing(differing(condition, text, compared))
    })
}

/// Returns what a statement raises if it is in a branch, as it is where a test finds a wrong
/// value. What is raised elsewhere is more often part of a mock, whose message a test expects.
pub(crate) fn raised_in_branch(statement: Node<'_>) -> Vec<Node<'_>> {
    let mut around = statement.parent();
    while let Some(block) = around.filter(|node| BLOCKS.contains(&node.kind())) {
        around = block.parent();
    }
    let branches = ["if_statement", "elif_clause", "else_clause"];
    match around {
        Some(node) if branches.contains(&node.kind()) || node.kind().starts_with("switch_") => {
            named_children(statement)
        }
        _ => Vec::new(),
    }
}

/// True if a statement raises an error, or calls a function that makes the test fail.
fn fails(statement: Node<'_>, text: &str) -> bool {
    let kind = statement.kind();
    if RAISES.contains(&kind) {
        return true;
    }
    if BLOCKS.contains(&kind) {
        let mut inside = named_children(statement).into_iter();
        return inside.any(|inner| fails(inner, text));
    }
    let called = statement
        .named_child(0)
        .filter(|_| kind == "expression_statement")
        .and_then(|call| {
            let name = call.child_by_field_name("name");
            name.or_else(|| call.child_by_field_name("function"))
        });
    called
        .and_then(|called| text[called.byte_range()].rsplit('.').next())
        .is_some_and(|name| FAILURES.contains(&name))
}

/// Returns the operands of comparisons of which any that differ make a condition hold.
pub(crate) fn differing<'t>(
    condition: Node<'t>,
    text: &str,
    compared: fn(Node<'t>, &str) -> Vec<Node<'t>>,
) -> Vec<Node<'t>> {
    let parts = || named_children(condition).into_iter();
    match operator(condition).map(|operator| &text[operator.byte_range()]) {
        Some("!=" | "!==" | "is not") => parts().rev().collect(),
        Some("not in") => parts().take(1).collect(),
        Some("||" | "or" | "(") => parts()
            .flat_map(|part| differing(part, text, compared))
            .collect(),
        Some("!" | "not") => parts().flat_map(|part| compared(part, text)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the first operator of an expression, or the bracket around it.
pub(crate) fn operator(expression: Node<'_>) -> Option<Node<'_>> {
    let operators = [
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "comparison_operator",
        "boolean_operator",
        "not_operator",
    ];
    if !operators.contains(&expression.kind()) {
        return None;
    }
    // Python's grammar makes `not in` and `is not` named nodes, unlike other operators.
    (0..expression.child_count())
        .filter_map(|index| expression.child(index))
        .find(|child| !child.is_named() || ["not in", "is not"].contains(&child.kind()))
}
