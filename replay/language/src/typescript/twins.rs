//! Twins of JavaScript's and TypeScript's tests: `it` and `test` of vitest, jest, mocha and Node's
//! runner, with `expect`, chai and `node:assert`.

use tree_sitter::Node;

use super::super::twins::{
    AssertionEdits, LiteralKinds, SourceEdit, TestFunction, altered_cells, altered_literals,
    loop_cells, named_children, opposite, unquoted, value_used_once,
};

/// Matchers that compare with an expected value.
const EQUALITIES: [&str; 23] = [
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toHaveLength",
    "toContain",
    "toContainEqual",
    "toMatchObject",
    "toHaveProperty",
    "toBeCloseTo",
    "toThrow",
    "toThrowError",
    "equal",
    "equals",
    "eql",
    "eq",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "lengthOf",
    "include",
    "contain",
    "members",
    "closeTo",
];

/// Matchers that can't be turned into their complement.
const ONE_SIDED: [&str; 6] = [
    "toMatchSnapshot",
    "toMatchInlineSnapshot",
    "toMatchFileSnapshot",
    "toThrowErrorMatchingSnapshot",
    "toThrowErrorMatchingInlineSnapshot",
    "assertions",
];

/// Functions of `node:assert` and of chai's, and their complements.
const OPPOSITES: [(&str, &str); 12] = [
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("match", "doesNotMatch"),
    ("isTrue", "isNotTrue"),
    ("isFalse", "isNotFalse"),
    ("isNull", "isNotNull"),
    ("isUndefined", "isDefined"),
    ("include", "notInclude"),
];

const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["number"],
    strings: &["string_fragment"],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("null", "0"),
    untouched: &[
        "call_expression",
        "new_expression",
        "arrow_function",
        "function_expression",
        "subscript_expression",
        "template_substitution",
        "property_identifier",
        "regex",
    ],
};

/// Lists the tests of a file, in its order, each with the edits that make twins of it.
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
        let Some((block, title)) = titled(child, text) else {
            collect(child, text, around, functions);
            continue;
        };
        around.push(title);
        let body = child
            .child_by_field_name("arguments")
            .and_then(|arguments| named_children(arguments).into_iter().find(is_function));
        match (block, body) {
            (Block::Describe, Some(body)) => collect(body, text, around, functions),
            (Block::Test, Some(body)) => {
                let mut assertions = Vec::new();
                find_assertions(body, body, text, &mut assertions);
                functions.push(TestFunction::new(around.clone(), assertions));
            }
            (_, None) => {}
        }
        around.pop();
    }
}

#[derive(Clone, Copy)]
enum Block {
    Describe,
    Test,
}

fn is_function(node: &Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "function"
    )
}

/// The title of a call of `describe`, `it`, `test` or their kin, such as `it.each(table)`.
fn titled(node: Node<'_>, text: &str) -> Option<(Block, String)> {
    if node.kind() != "call_expression" {
        return None;
    }
    let function = node.child_by_field_name("function")?;
    let word = text[function.byte_range()]
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()?;
    let block = match word {
        "describe" | "suite" | "context" => Block::Describe,
        "it" | "test" | "specify" => Block::Test,
        _ => return None,
    };
    let title = named_children(node.child_by_field_name("arguments")?)
        .into_iter()
        .next()?;
    if !matches!(title.kind(), "string" | "template_string") {
        return None;
    }
    let is_table = text[function.byte_range()].contains(".each");
    let plain = unquoted(&text[title.byte_range()]);
    Some((block, with_placeholders(plain, is_table)))
}

/// A title with `\0` for each of its placeholders: `${…}` of a template, and `%s` and `$name` of a
/// table.
fn with_placeholders(title: &str, is_table: bool) -> String {
    let mut result = String::new();
    let mut rest = title;
    while let Some(letter) = rest.chars().next() {
        let length = if rest.starts_with("${") {
            rest.find('}').map(|end| end + 1)
        } else if is_table && letter == '%' {
            Some(rest.chars().take(2).map(char::len_utf8).sum())
        } else if is_table && letter == '$' {
            let end = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            Some(end.map_or(rest.len(), |end| end + 1))
        } else if letter == '\\' {
            // An escape: whatever it stands for.
            Some(rest.chars().take(2).map(char::len_utf8).sum())
        } else {
            None
        };
        match length {
            Some(length) => {
                result.push('\0');
                rest = &rest[length..];
            }
            None => {
                result.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    result
}

fn find_assertions(node: Node<'_>, body: Node<'_>, text: &str, found: &mut Vec<AssertionEdits>) {
    for child in named_children(node) {
        if child.kind() == "call_expression"
            && let (Some(function), Some(arguments)) = (
                child.child_by_field_name("function"),
                child.child_by_field_name("arguments").map(named_children),
            )
        {
            let parts = match subject(function, text) {
                Some("expect") => expectation(function, &arguments, text),
                Some("assert") => assertion(function, &arguments, text),
                _ => None,
            };
            found.extend(parts.map(|(expected, complement)| {
                let altered = |expected: Node<'_>| altered_value(expected, body, text);
                AssertionEdits {
                    altered: expected.into_iter().flat_map(altered).collect(),
                    complement,
                }
            }));
        }
        find_assertions(child, body, text, found);
    }
}

/// Loops over tables that are written out.
const LOOPS: (&str, &[&str], &[&str]) = ("for_in_statement", &["array_pattern"], &["array"]);

/// The edits that each alter a literal of an expected value, which may be a variable or a parameter.
fn altered_value(expected: Node<'_>, body: Node<'_>, text: &str) -> Vec<SourceEdit> {
    let cells =
        loop_cells(expected, body, text, LOOPS).or_else(|| table_cells(expected, body, text));
    if let Some(cells) = cells {
        return altered_cells(cells.into_iter(), text, LITERALS);
    }
    let value = match expected.kind() {
        "identifier" => {
            let declaration = ("variable_declarator", "name", "value");
            value_used_once(expected, body, text, declaration)
        }
        _ => Some(expected),
    };
    value.map_or_else(Vec::new, |value| altered_literals(value, text, LITERALS))
}

/// The cells of a parameter of a test with a table, as in `test.each([[1, 2]])("title", (a, b) =>
/// …)`; rows are arrays, objects or single values.
fn table_cells<'t>(used: Node<'t>, body: Node<'t>, text: &str) -> Option<Vec<Node<'t>>> {
    let name = &text[used.byte_range()];
    let is_name = |node: &Node<'_>| &text[node.byte_range()] == name;
    let parameters = body
        .child_by_field_name("parameters")
        .map(named_children)
        .or_else(|| Some(vec![body.child_by_field_name("parameter")?]))?;
    let patterns: Vec<Node<'t>> = parameters
        .into_iter()
        .map(|node| node.child_by_field_name("pattern").unwrap_or(node))
        .collect();
    let index = patterns.iter().position(is_name);
    let is_property = patterns.first().is_some_and(|pattern| {
        pattern.kind() == "object_pattern" && named_children(*pattern).iter().any(is_name)
    });
    if index.is_none() && !is_property {
        return None;
    }
    let call = body.parent()?.parent()?;
    let table = call.child_by_field_name("function")?;
    let table = named_children(table.child_by_field_name("arguments")?)
        .into_iter()
        .next()?;
    let property = |row: Node<'t>| {
        let pairs = named_children(row).into_iter();
        let mut named = pairs.filter(|pair| {
            pair.child_by_field_name("key")
                .is_some_and(|key| is_name(&key))
        });
        named.next()?.child_by_field_name("value")
    };
    let cell = |row: Node<'t>| match (row.kind(), index) {
        ("object", None) => property(row),
        ("array", Some(index)) => named_children(row).get(index).copied(),
        (_, Some(0)) => Some(row),
        _ => None,
    };
    (table.kind() == "array").then(|| named_children(table).into_iter().filter_map(cell).collect())
}

/// What is compared for equality in a condition, the right side of each comparison first.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let operator = condition.child_by_field_name("operator");
    let is_equality = operator
        .is_some_and(|operator| matches!(&text[operator.byte_range()], "==" | "===" | "in"));
    if condition.kind() == "binary_expression" && is_equality {
        return named_children(condition).into_iter().rev().collect();
    }
    if LITERALS.untouched.contains(&condition.kind()) {
        return Vec::new();
    }
    let parts = named_children(condition).into_iter();
    parts.flat_map(|part| compared(part, text)).collect()
}

/// What a chain of members and calls begins with: `expect` of `expect(a).not.toBe`, where there is
/// a member behind it, and `assert` of `assert` and `assert.equal`.
fn subject<'t>(function: Node<'_>, text: &'t str) -> Option<&'t str> {
    let mut node = function;
    let mut is_called = false;
    loop {
        match node.kind() {
            "member_expression" => node = node.child_by_field_name("object")?,
            "call_expression" => {
                is_called = true;
                node = node.child_by_field_name("function")?;
            }
            "identifier" => break,
            _ => return None,
        }
    }
    match &text[node.byte_range()] {
        "expect" if is_called && function.kind() == "member_expression" => Some("expect"),
        "assert" if !is_called => Some("assert"),
        _ => None,
    }
}

/// What an assertion compares with, and the edit that makes it say the opposite.
type AssertionParts<'t> = (Vec<Node<'t>>, Option<SourceEdit>);

fn expectation<'t>(
    function: Node<'t>,
    arguments: &[Node<'t>],
    text: &str,
) -> Option<AssertionParts<'t>> {
    let matcher = function.child_by_field_name("property")?;
    let word = &text[matcher.byte_range()];
    let chain = &text[function.byte_range()];
    let negated = chain.contains(".not.");
    if ONE_SIDED.contains(&word) {
        return None;
    }
    let mut expected = Vec::new();
    if EQUALITIES.contains(&word) && !negated {
        expected.extend(arguments.iter().rev().copied());
    }
    if let Some(actual) = function.child_by_field_name("object") {
        expected.extend(compared_actual(actual, text));
    }
    let start = function.start_byte();
    let complement = if negated {
        chain
            .rfind(".not.")
            .map(|at| SourceEdit::new(start + at..start + at + ".not".len(), ""))
    } else {
        // chai's `to` precedes its `not`, which reads better and is the same.
        let at = matcher.start_byte();
        Some(SourceEdit::new(at..at, "not."))
    };
    Some((expected, complement))
}

/// What is compared within the argument of `expect`, as in `expect(a === 3).toBe(true)`.
fn compared_actual<'t>(chain: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let mut node = chain;
    while node.kind() == "member_expression" {
        match node.child_by_field_name("object") {
            Some(object) => node = object,
            None => return Vec::new(),
        }
    }
    let arguments = node.child_by_field_name("arguments").map(named_children);
    let arguments = arguments.unwrap_or_default().into_iter();
    arguments.flat_map(|part| compared(part, text)).collect()
}

fn assertion<'t>(
    function: Node<'t>,
    arguments: &[Node<'t>],
    text: &str,
) -> Option<AssertionParts<'t>> {
    let method = match function.kind() {
        "member_expression" => function.child_by_field_name("property"),
        _ => None,
    };
    let word = method.map_or("ok", |method| &text[method.byte_range()]);
    let condition = arguments.first()?;
    let expected = if EQUALITIES.contains(&word) {
        arguments.get(1).copied().into_iter().collect()
    } else {
        compared(*condition, text)
    };
    let opposite = opposite(word, &OPPOSITES);
    let complement = match (method, opposite) {
        (Some(method), Some(opposite)) => Some(SourceEdit::new(method.byte_range(), opposite)),
        (_, None) if word == "ok" => {
            let source = &text[condition.byte_range()];
            let negated = format!("!({source})");
            Some(SourceEdit::new(condition.byte_range(), &negated))
        }
        _ => None,
    };
    Some((expected, complement))
}
