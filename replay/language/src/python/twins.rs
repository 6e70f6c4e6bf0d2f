//! Twins of Python tests: pytest's functions and methods, and unittest's methods.

use tree_sitter::Node;

use super::super::twins::{
    AssertionEdits, LiteralKinds, SourceEdit, TestFunction, altered_cells, altered_literals,
    loop_cells, named_children, opposite, unquoted, value_used_once,
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
                let assertions = edits(decorated, definition, text);
                functions.push(TestFunction::new(names, assertions));
            }
            // Tests may stand under a condition.
            ("if_statement" | "else_clause" | "try_statement" | "block", _) => {
                collect(definition, text, around, functions);
            }
            _ => {}
        }
    }
}

/// The edits of each assertion of a test.
fn edits(decorated: Option<Node<'_>>, function: Node<'_>, text: &str) -> Vec<AssertionEdits> {
    let Some(body) = function.child_by_field_name("body") else {
        return Vec::new();
    };
    let mut assertions = Vec::new();
    find_assertions(body, text, &mut assertions);
    let altered = |expected: Node<'_>| {
        if let Some(edits) = parameter_literals(decorated, expected, text) {
            return edits;
        }
        if let Some(cells) = loop_cells(expected, body, text, LOOPS) {
            return altered_cells(cells.into_iter(), text, LITERALS);
        }
        let value = match expected.kind() {
            "identifier" => value_used_once(expected, body, text, ("assignment", "left", "right")),
            "call" => constructed(expected, text),
            _ => Some(expected),
        };
        value.map_or_else(Vec::new, |value| altered_literals(value, text, LITERALS))
    };
    assertions
        .into_iter()
        .map(|assertion| AssertionEdits {
            altered: assertion.expected.into_iter().flat_map(altered).collect(),
            complement: assertion.complement,
        })
        .collect()
}

/// Loops over tables that are written out.
const LOOPS: (&str, &[&str], &[&str]) = (
    "for_statement",
    &["pattern_list", "tuple_pattern"],
    &["list", "tuple"],
);

/// Functions whose result is what they are given, in another form.
const CONVERSIONS: [&str; 11] = [
    "approx",
    "Decimal",
    "Fraction",
    "set",
    "frozenset",
    "list",
    "tuple",
    "dict",
    "float",
    "bytes",
    "OrderedDict",
];

/// The arguments of a call that is as good as a literal.
fn constructed<'t>(call: Node<'t>, text: &str) -> Option<Node<'t>> {
    let function = call.child_by_field_name("function")?;
    let name = text[function.byte_range()].rsplit('.').next()?;
    CONVERSIONS
        .contains(&name)
        .then(|| call.child_by_field_name("arguments"))?
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
    let opposite = match (condition.kind(), operator(condition)) {
        ("comparison_operator", Some(operator)) if named_children(condition).len() == 2 => {
            let opposite = match &text[operator.byte_range()] {
                "==" => Some("!="),
                "!=" => Some("=="),
                "in" => Some("not in"),
                "not in" => Some("in"),
                "is" => Some("is not"),
                "is not" => Some("is"),
                _ => None,
            };
            opposite.map(|opposite| SourceEdit::new(operator.byte_range(), opposite))
        }
        _ => None,
    };
    Some(Assertion {
        expected: compared(condition, text),
        complement: Some(opposite.unwrap_or_else(|| negated(condition, text))),
    })
}

/// The first operator of a comparison.
fn operator(comparison: Node<'_>) -> Option<Node<'_>> {
    (0..comparison.child_count())
        .filter_map(|index| comparison.child(index))
        .find(|child| !child.is_named() || child.kind() == "not in" || child.kind() == "is not")
}

/// What is compared for equality or looked for in a condition, the right side of each comparison
/// first.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    if condition.kind() == "comparison_operator"
        && operator(condition)
            .is_some_and(|operator| matches!(&text[operator.byte_range()], "==" | "in"))
    {
        found.extend(named_children(condition).into_iter().rev());
    } else if !LITERALS.untouched.contains(&condition.kind()) {
        for child in named_children(condition) {
            found.extend(compared(child, text));
        }
    }
    found
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
    let opposite = opposite(word, &OPPOSITES);
    let is_equality = EQUALITIES.contains(&word);
    if opposite.is_none() && !is_equality {
        return None;
    }
    let expected = match positional.as_slice() {
        [first, second, ..] if is_equality || word == "assertIn" => vec![*second, *first],
        [condition, ..] if word == "assertTrue" => compared(*condition, text),
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
        let rows: Option<Vec<Vec<Node<'_>>>> = named_children(*values)
            .into_iter()
            .map(|row| match (names.len(), row.kind()) {
                (1, _) => Some(vec![row]),
                (_, "tuple" | "list") => Some(named_children(row)),
                _ => None,
            })
            .collect();
        let rows = rows.unwrap_or_default();
        let cells = rows.iter().filter_map(|row| row.get(index).copied());
        let mut edits = altered_cells(cells, text, LITERALS);
        let at = values.end_byte();
        let has_ids = arguments.iter().flatten().any(|argument| {
            argument
                .child_by_field_name("name")
                .is_some_and(|name| &text[name.byte_range()] == "ids")
        });
        if let (false, Some(ids)) = (has_ids, parameter_ids(&names, &rows, text)) {
            let ids = SourceEdit::new(at..at, &format!(", ids=[{ids}]"));
            edits.push(ids);
        }
        return Some(SourceEdit::joined(edits, text).into_iter().collect());
    }
    None
}

/// The ids that pytest gives the rows of a table, as the elements of a list: they tell the values,
/// and a twin must have its test's id. `None` if a value's id is not plain.
fn parameter_ids(names: &[String], rows: &[Vec<Node<'_>>], text: &str) -> Option<String> {
    let is_plain = |id: &str| {
        id.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-.,:;/ +*".contains(letter))
    };
    let mut ids = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let mut parts = Vec::new();
        for (name, cell) in names.iter().zip(row) {
            let source = &text[cell.byte_range()];
            let id = match cell.kind() {
                "integer" | "float" | "unary_operator" | "true" | "false" | "none" => {
                    source.to_owned()
                }
                "string" => unquoted(source).to_owned(),
                "list" | "tuple" | "dictionary" | "set" => format!("{name}{number}"),
                _ => return None,
            };
            parts.push(id);
        }
        let id = parts.join("-");
        if !is_plain(&id) {
            return None;
        }
        ids.push(format!("\"{id}\""));
    }
    Some(ids.join(", "))
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
