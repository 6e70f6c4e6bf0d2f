//! Twins of Python tests: pytest's functions and methods, and unittest's methods.

use tree_sitter::Node;

use super::super::twins::{
    LiteralKinds, SourceEdit, TestFunction, altered_literals, named_children, unquoted,
};

/// An exception class that no code under test raises.
const UNRAISED: &str = "type(\"ValueError\", (Exception,), {})";

/// unittest's assertions and their complements.
const OPPOSITES: [(&str, &str); 10] = [
    ("assertEqual", "assertNotEqual"),
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertRegex", "assertNotRegex"),
];

/// unittest's assertions that compare with an expected value.
const EQUALITIES: [&str; 9] = [
    "assertEqual",
    "assertEquals",
    "assertListEqual",
    "assertTupleEqual",
    "assertDictEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
    "assertCountEqual",
];

/// Lists the functions of a file that may be tests, in the order of the file, each with the edits
/// that make twins of it.
pub(super) fn test_functions(root: Node<'_>, text: &str) -> Vec<TestFunction> {
    let mut functions = Vec::new();
    collect(root, text, &mut Vec::new(), &mut functions);
    functions
}

fn collect(
    node: Node<'_>,
    text: &str,
    around: &mut Vec<String>,
    functions: &mut Vec<TestFunction>,
) {
    for child in named_children(node) {
        let (decorated, definition) = match child.kind() {
            "decorated_definition" => (Some(child), child.child_by_field_name("definition")),
            _ => (None, Some(child)),
        };
        let Some(definition) = definition else {
            continue;
        };
        let name = definition
            .child_by_field_name("name")
            .map(|name| text[name.byte_range()].to_owned());
        match (definition.kind(), name) {
            ("class_definition", Some(name)) => {
                around.push(name);
                if let Some(body) = definition.child_by_field_name("body") {
                    collect(body, text, around, functions);
                }
                around.pop();
            }
            ("function_definition", Some(name)) => {
                let mut names = around.clone();
                names.push(name);
                let twins = edits(decorated, definition, text);
                functions.push(TestFunction { names, twins });
            }
            // Tests may stand under a condition.
            ("if_statement" | "else_clause" | "try_statement" | "block", _) => {
                collect(definition, text, around, functions);
            }
            _ => {}
        }
    }
}

/// The edits that make twins of a test: altered expectations first, for they catch code that reads
/// the answer out of the test, then complements.
fn edits(decorated: Option<Node<'_>>, function: Node<'_>, text: &str) -> Vec<SourceEdit> {
    let Some(body) = function.child_by_field_name("body") else {
        return Vec::new();
    };
    let mut assertions = Vec::new();
    find_assertions(body, text, &mut assertions);
    let mut altered = Vec::new();
    let mut complements = Vec::new();
    for assertion in assertions.iter().rev() {
        for expected in &assertion.expected {
            match parameter_literals(decorated, *expected, text) {
                Some(edits) => altered.extend(edits),
                None => altered.extend(altered_literals(*expected, text, LITERALS)),
            }
        }
        complements.extend(assertion.complement.clone());
    }
    altered.extend(complements);
    altered
}

/// Tree-sitter's kinds of literals that can be altered.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["integer", "float"],
    strings: &["string_content"],
    booleans: ["True", "False"],
    boolean_kinds: &["true", "false"],
    nothing: ("none", "0"),
    untouched: &["call", "lambda", "interpolation", "subscript"],
};

/// One assertion of a test.
struct Assertion<'t> {
    /// What the code's value is compared with, where it is.
    expected: Vec<Node<'t>>,
    /// The edit that makes it say the opposite.
    complement: Option<SourceEdit>,
}

fn find_assertions<'t>(node: Node<'t>, text: &str, found: &mut Vec<Assertion<'t>>) {
    for child in named_children(node) {
        match child.kind() {
            "assert_statement" => found.extend(assert_statement(child, text)),
            "call" => found.extend(call(child, text)),
            _ => {}
        }
        if child.kind() != "assert_statement" {
            find_assertions(child, text, found);
        }
    }
}

fn assert_statement<'t>(statement: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let condition = named_children(statement).into_iter().next()?;
    let mut expected = Vec::new();
    let mut complement = None;
    if condition.kind() == "comparison_operator" {
        let operands = named_children(condition);
        let operator = (0..condition.child_count())
            .filter_map(|index| condition.child(index))
            .find(|child| {
                !child.is_named() || child.kind() == "not in" || child.kind() == "is not"
            });
        if let ([left, right], Some(operator)) = (operands.as_slice(), operator) {
            let word = &text[operator.byte_range()];
            if word == "==" {
                expected = vec![*right, *left];
            }
            let opposite = match word {
                "==" => Some("!="),
                "!=" => Some("=="),
                "in" => Some("not in"),
                "not in" => Some("in"),
                "is" => Some("is not"),
                "is not" => Some("is"),
                _ => None,
            };
            complement = opposite.map(|opposite| SourceEdit::new(operator.byte_range(), opposite));
        }
    }
    if complement.is_none() {
        complement = Some(negated(condition, text));
    }
    Some(Assertion {
        expected,
        complement,
    })
}

fn negated(condition: Node<'_>, text: &str) -> SourceEdit {
    let range = condition.byte_range();
    if condition.kind() == "not_operator"
        && let Some(argument) = condition.child_by_field_name("argument")
    {
        return SourceEdit::new(range, &text[argument.byte_range()]);
    }
    let plain = matches!(
        condition.kind(),
        "identifier" | "call" | "attribute" | "subscript" | "parenthesized_expression"
    );
    let source = &text[range.clone()];
    let replacement = if plain {
        format!("not {source}")
    } else {
        format!("not ({source})")
    };
    SourceEdit::new(range, &replacement)
}

/// An assertion made by a call: unittest's methods, and what expects an exception.
fn call<'t>(call: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let function = call.child_by_field_name("function")?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let positional: Vec<Node<'t>> = arguments
        .into_iter()
        .filter(|argument| !matches!(argument.kind(), "keyword_argument" | "comment"))
        .collect();
    let name = match function.kind() {
        "attribute" => function.child_by_field_name("attribute")?,
        "identifier" => function,
        _ => return None,
    };
    let word = &text[name.byte_range()];
    if matches!(
        word,
        "raises" | "assertRaises" | "assertRaisesRegex" | "assertWarns"
    ) {
        let class = positional.first()?;
        return Some(Assertion {
            expected: Vec::new(),
            complement: Some(SourceEdit::new(class.byte_range(), UNRAISED)),
        });
    }
    let opposite = OPPOSITES.iter().find_map(|(one, other)| {
        (word == *one)
            .then_some(*other)
            .or_else(|| (word == *other).then_some(*one))
    });
    let is_equality = EQUALITIES.contains(&word);
    if opposite.is_none() && !is_equality {
        return None;
    }
    let expected = match positional.as_slice() {
        [first, second, ..] if is_equality => vec![*second, *first],
        _ => Vec::new(),
    };
    Some(Assertion {
        expected,
        complement: opposite.map(|opposite| SourceEdit::new(name.byte_range(), opposite)),
    })
}

/// The altered literals of a parameter that a test compares with: each value that
/// `@pytest.mark.parametrize` gives it, in one edit. `None` where it is no such parameter.
fn parameter_literals(
    decorated: Option<Node<'_>>,
    expected: Node<'_>,
    text: &str,
) -> Option<Vec<SourceEdit>> {
    if expected.kind() != "identifier" {
        return None;
    }
    let wanted = &text[expected.byte_range()];
    for decorator in named_children(decorated?) {
        if decorator.kind() != "decorator" {
            continue;
        }
        let Some(call) = named_children(decorator)
            .into_iter()
            .find(|child| child.kind() == "call")
        else {
            continue;
        };
        let is_parametrize = call
            .child_by_field_name("function")
            .is_some_and(|function| text[function.byte_range()].ends_with("parametrize"));
        let arguments = call.child_by_field_name("arguments").map(named_children);
        let (true, Some([names, values, ..])) = (is_parametrize, arguments.as_deref()) else {
            continue;
        };
        let names = parameter_names(*names, text);
        let Some(index) = names.iter().position(|name| name == wanted) else {
            continue;
        };
        if !matches!(values.kind(), "list" | "tuple") {
            return Some(Vec::new());
        }
        let rows = named_children(*values).into_iter();
        let cells = rows.filter_map(|row| match (names.len(), row.kind()) {
            (1, _) => Some(row),
            (_, "tuple" | "list") => named_children(row).get(index).copied(),
            _ => None,
        });
        let parts: Vec<SourceEdit> = cells
            .filter_map(|cell| altered_literals(cell, text, LITERALS).into_iter().next())
            .collect();
        return Some(SourceEdit::joined(parts, text).into_iter().collect());
    }
    None
}

fn parameter_names(names: Node<'_>, text: &str) -> Vec<String> {
    let word = |node: Node<'_>| unquoted(&text[node.byte_range()]).trim().to_owned();
    match names.kind() {
        "string" => word(names)
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
        _ => named_children(names).into_iter().map(word).collect(),
    }
}
