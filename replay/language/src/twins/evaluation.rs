//! Assertions that a twin leaves out: what they compare is still evaluated.

use tree_sitter::Node;

use super::{Grammar, SourceEdit, has_word, named_children};

/// How a language evaluates values without an assertion.
#[derive(Clone, Copy)]
pub(crate) struct Evaluation {
    /// A statement, or the body of one, that does nothing.
    pub(crate) nothing: &'static str,
    /// What a statement has before and after values, separated by commas, that it evaluates.
    pub(crate) around: [&'static str; 2],
    /// True if it evaluates the function that asserts, too: where an unused import is an error.
    pub(crate) keeps_function: bool,
}

/// Values without which the rest of a test may be unable to go on.
const NOTHING: [&str; 4] = ["None", "nil", "null", "undefined"];

/// Returns the edit after which a statement evaluates what it compares, and asserts nothing; `None`
/// if it is no statement of its own, waits for a value or counts what it asserts.
pub(super) fn evaluated(assertion: Node<'_>, text: &str, grammar: &Grammar) -> Option<SourceEdit> {
    let evaluation = &grammar.evaluation;
    let source = |node: Node<'_>| &text[node.byte_range()];
    if assertion.kind() == "if_statement" {
        let condition = assertion.child_by_field_name("condition")?;
        let body = assertion.child_by_field_name("consequence")?;
        let is_guard = NOTHING.iter().any(|word| has_word(source(condition), word));
        let is_whole = assertion.child_by_field_name("alternative").is_none();
        return (is_whole && !is_guard)
            .then(|| SourceEdit::new(body.byte_range(), evaluation.nothing));
    }
    let (statement, values) = if assertion.kind() == "assert_statement" {
        (assertion, vec![source(assertion.named_child(0)?)])
    } else {
        let statement = assertion
            .parent()
            .filter(|parent| parent.kind() == "expression_statement")?;
        (statement, values_of_call(assertion, text, grammar)?)
    };
    let [before, after] = evaluation.around;
    let written = format!("{before}{}{after}", values.join(", "));
    Some(SourceEdit::new(statement.byte_range(), &written))
}

/// The sources of the arguments of an assertion that is a call or a chain of calls.
fn values_of_call<'s>(call: Node<'_>, text: &'s str, grammar: &Grammar) -> Option<Vec<&'s str>> {
    let is_call = |node: &Node<'_>| grammar.calls.contains(&node.kind());
    let chain = std::iter::successors(Some(call), called);
    let mut calls: Vec<Node<'_>> = chain.filter(is_call).collect();
    let before = |call: &Node<'_>| {
        let arguments = call.child_by_field_name("arguments")?;
        Some(&text[call.start_byte()..arguments.start_byte()])
    };
    // Snapshots of a file are counted.
    let function = before(&call)?;
    if ["Snapshot", "resolves", "rejects"]
        .iter()
        .any(|word| function.contains(word))
    {
        return None;
    }
    let is_assertion = |name: &str| {
        let mut parts = name.split('.');
        parts.any(|part| {
            ["expect", "assert", "Expect", "Assert"]
                .iter()
                .any(|word| part.starts_with(word))
        })
    };
    if calls.len() > 1 && !before(calls.last()?).is_some_and(is_assertion) {
        return None;
    }
    let mut values = Vec::new();
    if grammar.evaluation.keeps_function {
        calls.truncate(1);
        values.push(&text[call.child_by_field_name("function")?.byte_range()]);
    }
    for call in calls.into_iter().rev() {
        let arguments = call
            .child_by_field_name("arguments")
            .filter(|arguments| arguments.kind().starts_with("argument"))?;
        for argument in named_children(arguments) {
            match argument.kind() {
                // These have no type of their own in Java.
                "lambda_expression" | "method_reference" => return None,
                // Messages and options.
                "comment" | "keyword_argument" | "dictionary_splat" => {}
                _ => values.push(&text[argument.byte_range()]),
            }
        }
    }
    (!values.is_empty()).then_some(values)
}

/// What a call calls, or what a member is of.
fn called<'t>(node: &Node<'t>) -> Option<Node<'t>> {
    let fields = ["function", "object", "operand"];
    let mut found = fields.iter().map(|field| node.child_by_field_name(field));
    found.find_map(|child| child)
}
