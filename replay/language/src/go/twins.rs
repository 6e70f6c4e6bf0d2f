//! Twins of Go's tests: functions of the package `testing`, whose assertions are branches that
//! report an error, and calls of `testify`.

use tree_sitter::Node;

use super::super::twins::{
    AssertionEdits, LiteralKinds, SourceEdit, TestFunction, altered_cells, altered_literals,
    named_children, opposite,
};

/// Methods of `testing.T` that make a test fail.
const REPORTS: [&str; 6] = ["Error", "Errorf", "Fail", "FailNow", "Fatal", "Fatalf"];

/// testify's assertions and their complements.
const OPPOSITES: [(&str, &str); 11] = [
    ("Equal", "NotEqual"),
    ("EqualValues", "NotEqualValues"),
    ("True", "False"),
    ("Nil", "NotNil"),
    ("NoError", "Error"),
    ("ErrorIs", "NotErrorIs"),
    ("Empty", "NotEmpty"),
    ("Contains", "NotContains"),
    ("Zero", "NotZero"),
    ("Panics", "NotPanics"),
    ("Regexp", "NotRegexp"),
];

/// testify's assertions that compare with an expected value.
const EQUALITIES: [&str; 8] = [
    "Equal",
    "EqualValues",
    "Exactly",
    "Contains",
    "ElementsMatch",
    "EqualError",
    "InDelta",
    "Len",
];

/// What may be altered in a value that is compared with what the code returns.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["float_literal", "int_literal"],
    strings: &[
        "interpreted_string_literal_content",
        "raw_string_literal_content",
    ],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("", ""),
    untouched: &[
        "array_type",
        "call_expression",
        "func_literal",
        "index_expression",
        "slice_expression",
    ],
};

/// Lists the tests of a file, in its order, each with the edits that make twins of it.
pub(super) fn test_functions(root: Node<'_>, text: &str) -> Vec<TestFunction> {
    let mut functions = Vec::new();
    for node in named_children(root) {
        let name = node
            .child_by_field_name("name")
            .filter(|_| node.kind() == "function_declaration")
            .map(|name| &text[name.byte_range()])
            .filter(|name| is_test(name));
        if let (Some(name), Some(body)) = (name, node.child_by_field_name("body")) {
            let mut assertions = Vec::new();
            find_assertions(body, TestBody { root, body, text }, &mut assertions);
            functions.push(TestFunction::new(vec![name.to_owned()], assertions));
        }
    }
    functions
}

/// Whether a function of this name is a test: `Test`, and then nothing or no small letter.
pub(super) fn is_test(name: &str) -> bool {
    name.strip_prefix("Test")
        .is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// The body of a test, and its file.
#[derive(Clone, Copy)]
struct TestBody<'t, 'a> {
    root: Node<'t>,
    body: Node<'t>,
    text: &'a str,
}

fn find_assertions<'t>(node: Node<'t>, test: TestBody<'t, '_>, found: &mut Vec<AssertionEdits>) {
    for child in named_children(node) {
        let edits = match child.kind() {
            "if_statement" => branch(child, test),
            "call_expression" => call(child, test),
            _ => None,
        };
        found.extend(edits);
        find_assertions(child, test, found);
    }
}

/// `if got != want { t.Errorf(…) }`.
fn branch<'t>(node: Node<'t>, test: TestBody<'t, '_>) -> Option<AssertionEdits> {
    let condition = node.child_by_field_name("condition")?;
    let consequence = node.child_by_field_name("consequence")?;
    if !named_children(consequence)
        .into_iter()
        .any(|statement| reports(statement, test.text))
    {
        return None;
    }
    let source = &test.text[condition.byte_range()];
    let complement = SourceEdit::new(condition.byte_range(), &format!("!({source})"));
    Some(AssertionEdits {
        altered: compared(condition, test.text)
            .into_iter()
            .flat_map(|operand| altered_value(operand, test))
            .collect(),
        complement: Some(complement),
    })
}

/// Whether a statement calls a method that makes the test fail.
fn reports(statement: Node<'_>, text: &str) -> bool {
    statement
        .named_child(0)
        .filter(|_| statement.kind() == "expression_statement")
        .and_then(|call| call.child_by_field_name("function"))
        .and_then(|function| function.child_by_field_name("field"))
        .is_some_and(|method| REPORTS.contains(&&text[method.byte_range()]))
}

/// The operands of the comparisons in a condition, and the arguments of `DeepEqual` and its kin;
/// the right one of each first.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    match condition.kind() {
        "binary_expression" => {
            let operator = condition.child_by_field_name("operator");
            let is_comparison = operator
                .is_some_and(|operator| matches!(&text[operator.byte_range()], "!=" | "=="));
            let operands = named_children(condition).into_iter().rev();
            match is_comparison {
                true => operands.collect(),
                false => operands.flat_map(|part| compared(part, text)).collect(),
            }
        }
        "call_expression" => {
            let function = condition.child_by_field_name("function");
            let is_equality =
                function.is_some_and(|function| text[function.byte_range()].ends_with("Equal"));
            condition
                .child_by_field_name("arguments")
                .filter(|_| is_equality)
                .map_or_else(Vec::new, |arguments| {
                    named_children(arguments).into_iter().rev().collect()
                })
        }
        "unary_expression" | "parenthesized_expression" => named_children(condition)
            .into_iter()
            .flat_map(|part| compared(part, text))
            .collect(),
        _ => Vec::new(),
    }
}

/// `assert.Equal(t, want, got)`, `require.NoError(t, err)`.
fn call<'t>(node: Node<'t>, test: TestBody<'t, '_>) -> Option<AssertionEdits> {
    let function = node.child_by_field_name("function")?;
    let package = &test.text[function.child_by_field_name("operand")?.byte_range()];
    let method = function.child_by_field_name("field")?;
    if !matches!(package, "assert" | "require") {
        return None;
    }
    let word = &test.text[method.byte_range()];
    let arguments = named_children(node.child_by_field_name("arguments")?);
    let opposite = opposite(word, &OPPOSITES);
    let compared = arguments.into_iter().skip(1).take(2);
    Some(AssertionEdits {
        altered: compared
            .filter(|_| EQUALITIES.contains(&word))
            .flat_map(|expected| altered_value(expected, test))
            .collect(),
        complement: opposite.map(|opposite| SourceEdit::new(method.byte_range(), opposite)),
    })
}

/// The edits that each alter a literal of a value: one that is written there, that a variable
/// holds, or that stands in a table of cases.
fn altered_value<'t>(value: Node<'t>, test: TestBody<'t, '_>) -> Vec<SourceEdit> {
    let TestBody { body, text, .. } = test;
    match value.kind() {
        "identifier" => {
            if let Some(held) = held_value(value, body, text) {
                return altered_literals(held, text, LITERALS);
            }
            let cells = table_cells(value, None, test);
            altered_cells(cells.into_iter(), text, LITERALS)
        }
        "selector_expression" => {
            let parts = value
                .child_by_field_name("operand")
                .zip(value.child_by_field_name("field"));
            let cells = parts.map_or_else(Vec::new, |(row, field)| {
                table_cells(row, Some(&text[field.byte_range()]), test)
            });
            altered_cells(cells.into_iter(), text, LITERALS)
        }
        _ => altered_literals(value, text, LITERALS),
    }
}

/// The value of a variable that is set once, to a value of its own: `want := 3`.
fn held_value<'t>(used: Node<'t>, around: Node<'t>, text: &str) -> Option<Node<'t>> {
    let name = &text[used.byte_range()];
    let mut values = Vec::new();
    let mut pending = vec![around];
    while let Some(node) = pending.pop() {
        let (target, value) = match node.kind() {
            "short_var_declaration" | "assignment_statement" => ("left", "right"),
            "var_spec" | "const_spec" => ("name", "value"),
            _ => ("", ""),
        };
        let field = |name: &str| node.child_by_field_name(name);
        if let (Some(target), Some(value)) = (field(target), field(value))
            && &text[target.byte_range()] == name
        {
            values.push(value);
        }
        pending.extend(named_children(node));
    }
    match values[..] {
        [value] => value.named_child(0),
        _ => None,
    }
}

/// The cells of a table that a loop around goes through, as in `for _, row := range rows`: of
/// `row.field`, or of the rows themselves.
fn table_cells<'t>(used: Node<'t>, field: Option<&str>, test: TestBody<'t, '_>) -> Vec<Node<'t>> {
    let name = &test.text[used.byte_range()];
    let mut around = used.parent();
    while let Some(node) = around {
        around = node.parent();
        let Some(clause) = named_children(node)
            .into_iter()
            .find(|child| node.kind() == "for_statement" && child.kind() == "range_clause")
        else {
            continue;
        };
        let row = clause
            .child_by_field_name("left")
            .and_then(|left| left.named_child(1))
            .is_some_and(|row| &test.text[row.byte_range()] == name);
        if let Some(table) = clause.child_by_field_name("right").filter(|_| row) {
            return cells_of(table, field, test);
        }
    }
    Vec::new()
}

/// The cells of a table that is written out there or in a variable of the test or the file.
fn cells_of<'t>(table: Node<'t>, field: Option<&str>, test: TestBody<'t, '_>) -> Vec<Node<'t>> {
    let text = test.text;
    let table = match table.kind() {
        "identifier" => {
            held_value(table, test.body, text).or_else(|| held_value(table, test.root, text))
        }
        _ => Some(table),
    };
    let Some((of, body)) = table.and_then(|table| {
        table
            .child_by_field_name("type")
            .zip(table.child_by_field_name("body"))
    }) else {
        return Vec::new();
    };
    let rows = named_children(body)
        .into_iter()
        .filter_map(|row| match row.kind() {
            "keyed_element" => row.child_by_field_name("value"),
            _ => Some(row),
        });
    let Some(field) = field else {
        return rows.collect();
    };
    let position = field_names(of, text).iter().position(|name| *name == field);
    rows.filter_map(|row| cell(row, field, position, text))
        .collect()
}

/// The names of the fields of the struct in a type such as `[]struct{ in, want string }`.
fn field_names<'a>(of: Node<'_>, text: &'a str) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut pending = vec![of];
    while let Some(node) = pending.pop() {
        if node.kind() == "field_declaration" {
            let mut cursor = node.walk();
            let own = node.children_by_field_name("name", &mut cursor);
            names.extend(
                own.filter(|name| name.is_named())
                    .map(|name| &text[name.byte_range()]),
            );
            continue;
        }
        pending.extend(named_children(node).into_iter().rev());
    }
    names
}

/// A field of a row, `{in: 1, want: 2}`, `{1, 2}` or `T{1, 2}`.
fn cell<'t>(row: Node<'t>, field: &str, position: Option<usize>, text: &str) -> Option<Node<'t>> {
    let mut row = row;
    while matches!(
        row.kind(),
        "literal_element" | "unary_expression" | "composite_literal"
    ) {
        row = row
            .child_by_field_name("body")
            .or_else(|| row.named_child(0))?;
    }
    let elements = named_children(row);
    let mut named = elements.iter().filter(|element| {
        element
            .child_by_field_name("key")
            .is_some_and(|key| &text[key.byte_range()] == field)
    });
    if let Some(element) = named.next() {
        return element.child_by_field_name("value");
    }
    let is_plain = elements
        .iter()
        .all(|element| element.kind() == "literal_element");
    elements.get(position?).copied().filter(|_| is_plain)
}
