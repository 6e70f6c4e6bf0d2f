//! Twins of Go's tests: functions of the package `testing`, whose assertions are branches that
//! report an error, and calls of `testify`.

use tree_sitter::Node;

use super::super::twins::{
    self, Assertion, CallFrame, Cells, Evaluation, FoundFunction, Grammar, LiteralKinds,
    NeutralName, ParsedFile, RowNames, SourceEdit, named_children, opposite,
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
const EQUALITIES: [&str; 7] = [
    "Equal",
    "EqualValues",
    "Exactly",
    "Contains",
    "ElementsMatch",
    "EqualError",
    "Len",
];

/// Literals that may be altered in a value that is compared with the code's result.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["float_literal", "int_literal"],
    strings: &[
        "interpreted_string_literal_content",
        "raw_string_literal_content",
    ],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("", ""),
    untouched: &["array_type", "func_literal", "slice_expression"],
};

const GRAMMAR: Grammar = Grammar {
    literals: LITERALS,
    identifiers: &["identifier"],
    calls: &["call_expression"],
    members: &[
        ("selector_expression", "operand", "field"),
        ("index_expression", "operand", "index"),
    ],
    assignments: &[
        ("short_var_declaration", "left", "right"),
        ("assignment_statement", "left", "right"),
        ("var_spec", "name", "value"),
        ("const_spec", "name", "value"),
    ],
    functions: &["function_declaration", "method_declaration", "func_literal"],
    returns: "return_statement",
    lists: &["literal_value"],
    empty: &[("interpreted_string_literal", "\"\"", "\"x\"")],
    is_pure: |name| PURE.contains(&name),
    evaluation: Evaluation {
        nothing: "{}",
        around: ["func(...interface{}) {}(", ")"],
        keeps_function: true,
        messages,
    },
    assertion: |node, text| match node.kind() {
        "if_statement" => branch(node, text),
        "call_expression" => call(node, text),
        "expression_case" => case(node, text),
        // An expression that says whether a value is right.
        "binary_expression" => {
            let returned = node
                .parent()
                .and_then(|list| list.parent())
                .filter(|parent| parent.kind() == "return_statement");
            returned.map(|_| Assertion::comparing(compared(node, text)))
        }
        _ => None,
    },
    cells: table_cells,
};

/// Functions whose results depend only on their arguments.
const PURE: [&str; 27] = [
    "string",
    "byte",
    "rune",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint",
    "uint8",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "len",
    "append",
    "Join",
    "Split",
    "Repeat",
    "TrimSpace",
    "Sprint",
    "Sprintf",
    "Duration",
    "Date",
    "ToUpper",
    "ToLower",
    "Fields",
];

/// Tests of a file.
pub(super) fn collect_tests(
    root: Node<'_>,
    files: &[ParsedFile<'_>],
    _around: &mut Vec<String>,
    functions: &mut Vec<FoundFunction>,
) {
    let text = files[0].text;
    for node in named_children(root) {
        let name = node
            .child_by_field_name("name")
            .filter(|_| node.kind() == "function_declaration")
            .filter(|name| is_test(&text[name.byte_range()]));
        if let (Some(name), Some(body)) = (name, node.child_by_field_name("body")) {
            functions.push(FoundFunction {
                names: vec![text[name.byte_range()].to_owned()],
                inherited: Vec::new(),
                file: 0,
                span: node.byte_range(),
                assertions: CallFrame::new(&GRAMMAR, files, node).assertions(),
                neutral: Some(neutral(name, body, functions.len(), files)),
            });
        }
    }
}

/// A name without meaning, and no names of subtests.
fn neutral<'t>(
    name: Node<'t>,
    body: Node<'t>,
    index: usize,
    files: &[ParsedFile<'t>],
) -> NeutralName {
    let file = &files[0];
    let text = file.text;
    let frame = CallFrame::new(&GRAMMAR, files, body);
    // The files of a package share their names.
    let stem = file.name.trim_end_matches("_test.go");
    let of_file: String = stem.bytes().map(|byte| format!("{byte:x}")).collect();
    let new = format!("TestNo{index}In{of_file}");
    let mut edits = vec![SourceEdit::new(name.byte_range(), &new)];
    let mut pending = vec![body];
    while let Some(node) = pending.pop() {
        pending.extend(named_children(node));
        let subtest = node
            .child_by_field_name("function")
            .filter(|function| {
                node.kind() == "call_expression" && text[function.byte_range()].ends_with(".Run")
            })
            .and_then(|_| node.child_by_field_name("arguments")?.named_child(0));
        if let Some(title) = subtest {
            let source = &text[title.byte_range()];
            // What its name is computed from stays in use.
            let blank = || SourceEdit::new(title.byte_range(), &format!("({source})[:0]"));
            edits.push(frame.emptied(title, body).unwrap_or_else(blank));
            edits.extend(names_of_rows(title, body, &frame));
        }
    }
    NeutralName {
        name: new,
        single: edits.clone(),
        several: edits,
        rows: RowNames::Kept,
        suites: Vec::new(),
    }
}

/// The edits that remove the names of a table's rows, if these are nothing else.
fn names_of_rows<'t>(
    title: Node<'t>,
    body: Node<'t>,
    frame: &CallFrame<'t, '_>,
) -> Vec<SourceEdit> {
    let is_used_once = frame.source(body).matches(frame.source(title)).count() == 1;
    let is_member = title.kind() == "selector_expression" && is_used_once;
    let cells = table_cells(title, frame).filter(|_| is_member);
    let cells = cells.map_or_else(Vec::new, |found| found.cells).into_iter();
    cells.filter_map(|cell| frame.emptied(cell, body)).collect()
}

/// True if a function of this name is a test: `Test`, followed by nothing or by a character that is
/// not a lowercase letter.
pub(super) fn is_test(name: &str) -> bool {
    name.strip_prefix("Test")
        .is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// `if got != want { t.Errorf(…) }`.
fn branch<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let condition = node.child_by_field_name("condition")?;
    let consequence = node.child_by_field_name("consequence")?;
    let all = |block: Node<'t>| {
        named_children(block)
            .into_iter()
            .flat_map(|list| match list.kind() {
                "statement_list" => named_children(list),
                _ => vec![list],
            })
            .collect::<Vec<_>>()
    };
    let is_failure = |block: Node<'t>| all(block).into_iter().any(|inner| reports(inner, text));
    let is_return = |block: Node<'t>| {
        all(block)
            .into_iter()
            .any(|inner| inner.kind() == "return_statement")
    };
    let alternative = node.child_by_field_name("alternative");
    // What else fails: `if got == want { … } else { t.Error() }`, and a test that ends with a
    // failure unless it returns.
    let is_other = alternative.is_some_and(is_failure) || is_return(consequence);
    if !is_failure(consequence) && !is_other {
        return None;
    }
    let source = &text[condition.byte_range()];
    let complement = SourceEdit::new(condition.byte_range(), &format!("!({source})"));
    let mut value = condition;
    while matches!(
        value.kind(),
        "unary_expression" | "parenthesized_expression"
    ) {
        value = value.named_child(0)?;
    }
    Some(Assertion {
        complement: Some(complement),
        is_truth: matches!(value.kind(), "call_expression" | "identifier")
            && compared(condition, text).is_empty(),
        bounds: bounds(condition, text),
        choices: choices(condition, text),
        ..Assertion::comparing(compared(condition, text))
    })
}

/// What tests report or log.
pub(super) fn messages<'t>(node: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let method = node
        .child_by_field_name("function")
        .filter(|_| node.kind() == "call_expression")
        .and_then(|function| function.child_by_field_name("field"));
    let is_report = method.is_some_and(|method| {
        let word = &text[method.byte_range()];
        REPORTS.contains(&word) || matches!(word, "Log" | "Logf")
    });
    node.child_by_field_name("arguments")
        .filter(|_| is_report)
        .map_or_else(Vec::new, named_children)
}

/// `case got != want: t.Error(…)`, and `case 3:` of a value.
fn case<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let values = named_children(node.child_by_field_name("value")?);
    let conditions = values.iter().flat_map(|value| match value.kind() {
        "binary_expression" | "unary_expression" | "call_expression" => compared(*value, text),
        _ => vec![*value],
    });
    Some(Assertion::comparing(conditions.collect()))
}

/// True if a statement calls a method that makes the test fail.
fn reports(statement: Node<'_>, text: &str) -> bool {
    statement
        .named_child(0)
        .filter(|_| statement.kind() == "expression_statement")
        .and_then(|call| call.child_by_field_name("function"))
        .is_some_and(|function| {
            let method = function.child_by_field_name("field").unwrap_or(function);
            let word = &text[method.byte_range()];
            REPORTS.contains(&word) || word == "panic"
        })
}

/// Returns the operands of the comparisons in a condition, and the arguments of `DeepEqual` and
/// similar functions; the right one of each first. If several values are correct, as in
/// `got != 1 && got != 2`, none of them is altered alone, see [`choices`].
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    match condition.kind() {
        "binary_expression" => {
            let operator = condition.child_by_field_name("operator");
            let operands = named_children(condition).into_iter().rev();
            match operator.map(|operator| &text[operator.byte_range()]) {
                Some("!=" | "==") => operands.collect(),
                // A table may say in which rows an error is expected.
                Some("&&") => operands
                    .map(|part| match part.kind() {
                        "unary_expression" => part.named_child(0).unwrap_or(part),
                        _ => part,
                    })
                    .filter(|part| part.kind() == "selector_expression")
                    .collect(),
                _ => operands.flat_map(|part| compared(part, text)).collect(),
            }
        }
        "call_expression" => {
            let function = condition.child_by_field_name("function");
            // `slices.Contains` lists several correct values, see [`choices`].
            let is_equality = function.is_some_and(|function| {
                let name = &text[function.byte_range()];
                let names = ["Equal", "HasPrefix", "HasSuffix", "MatchString", "Contains"];
                names.iter().any(|end| name.ends_with(end)) && !name.starts_with("slices.")
            });
            let arguments = condition
                .child_by_field_name("arguments")
                .filter(|_| is_equality)
                .map_or_else(Vec::new, named_children);
            // A pattern that is compiled where it is used.
            let pattern = function
                .and_then(|function| function.child_by_field_name("operand"))
                .filter(|operand| is_equality && operand.kind() == "call_expression");
            pattern
                .into_iter()
                .chain(arguments.into_iter().rev())
                .collect()
        }
        "unary_expression" | "parenthesized_expression" => named_children(condition)
            .into_iter()
            .flat_map(|part| compared(part, text))
            .collect(),
        _ => Vec::new(),
    }
}

/// The operands of orderings, such as `got < 3 || got > 7`.
fn bounds<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let wrappers = ["parenthesized_expression", "unary_expression"];
    twins::bounds(condition, text, "||", &wrappers)
}

/// The values of which one is right, as in `got != 1 && got != 2` and in
/// `!slices.Contains([]int{1, 2}, got)`.
fn choices<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let operator = condition.child_by_field_name("operator");
    let operator = operator.map(|operator| &text[operator.byte_range()]);
    let parts = || named_children(condition).into_iter();
    match (condition.kind(), operator) {
        ("binary_expression", Some("&&")) => parts()
            .flat_map(|part| match part.child_by_field_name("operator") {
                Some(operator) if &text[operator.byte_range()] == "!=" => {
                    part.child_by_field_name("right").into_iter().collect()
                }
                _ => choices(part, text),
            })
            .collect(),
        ("unary_expression" | "parenthesized_expression", _) => {
            parts().flat_map(|part| choices(part, text)).collect()
        }
        ("call_expression", _) => condition
            .child_by_field_name("function")
            .filter(|function| &text[function.byte_range()] == "slices.Contains")
            .and_then(|_| condition.child_by_field_name("arguments")?.named_child(0))
            .and_then(|list| list.child_by_field_name("body"))
            .map_or_else(Vec::new, named_children),
        _ => Vec::new(),
    }
}

/// `assert.Equal(t, want, got)`, `require.NoError(t, err)`.
fn call<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let function = node.child_by_field_name("function")?;
    let package = &text[function.child_by_field_name("operand")?.byte_range()];
    let method = function.child_by_field_name("field")?;
    if !matches!(package, "assert" | "require") {
        return None;
    }
    let word = &text[method.byte_range()];
    let arguments = named_children(node.child_by_field_name("arguments")?);
    let opposite = opposite(word, &OPPOSITES);
    // The first argument is the `*testing.T`.
    let comparing = match arguments[..] {
        [_, expected, _, delta, ..] if word == "InDelta" => {
            Assertion::near(expected, twins::number(delta, text))
        }
        _ => {
            let compared = arguments.into_iter().skip(1).take(2);
            let compared = compared.filter(|_| EQUALITIES.contains(&word));
            Assertion::comparing(compared.collect())
        }
    };
    Some(Assertion {
        complement: opposite.map(|opposite| SourceEdit::new(method.byte_range(), opposite)),
        is_truth: matches!(word, "True" | "False"),
        ..comparing
    })
}

/// The cells of a table that a loop around goes through, as in `for _, row := range rows`: of
/// `row.field`, or of the rows themselves.
fn table_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (row, field) = match used.kind() {
        "selector_expression" => (
            used.child_by_field_name("operand")?,
            Some(frame.source(used.child_by_field_name("field")?)),
        ),
        _ => (used, None),
    };
    Some(Cells {
        cells: cells_of(table_of(row, frame)?, field, frame.text()),
        is_tests: false,
        column: None,
    })
}

/// The table that a variable has its rows from, in a loop around it, or around the call that passes
/// the row.
fn table_of<'t>(row: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Node<'t>> {
    let name = frame.source(row);
    let mut around = row.parent();
    while let Some(node) = around {
        around = node.parent();
        let Some(clause) = named_children(node)
            .into_iter()
            .find(|child| node.kind() == "for_statement" && child.kind() == "range_clause")
        else {
            continue;
        };
        let is_row = clause
            .child_by_field_name("left")
            // The first name of a `range` clause is the index, the second the row.
            .and_then(|left| left.named_child(1))
            .is_some_and(|row| frame.source(row) == name);
        if let Some(table) = clause.child_by_field_name("right").filter(|_| is_row) {
            return frame.written(table, &["composite_literal"]);
        }
    }
    let (argument, caller) = frame.argument(name)?;
    table_of(argument, caller)
}

/// The cells of a table.
fn cells_of<'t>(table: Node<'t>, field: Option<&str>, text: &str) -> Vec<Node<'t>> {
    let Some((of, body)) = table
        .child_by_field_name("type")
        .zip(table.child_by_field_name("body"))
    else {
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
    // A position means a field only if no element has a key.
    let is_plain = elements
        .iter()
        .all(|element| element.kind() == "literal_element");
    elements.get(position?).copied().filter(|_| is_plain)
}
