//! Twins of JavaScript's and TypeScript's tests: `it` and `test` of vitest, jest, mocha and Node's
//! runner, with `expect`, chai and `node:assert`.

use tree_sitter::Node;

use super::super::twins::{
    LiteralKinds, SourceEdit, TestFunction, altered_literals, named_children, unquoted,
};

/// Matchers that compare with an expected value.
const EQUALITIES: [&str; 12] = [
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toHaveLength",
    "equal",
    "equals",
    "eql",
    "eq",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "lengthOf",
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
            (Block::Test, Some(body)) => functions.push(TestFunction {
                names: around.clone(),
                twins: edits(body, text),
            }),
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

fn edits(body: Node<'_>, text: &str) -> Vec<SourceEdit> {
    let mut altered = Vec::new();
    let mut complements = Vec::new();
    find_assertions(body, text, &mut altered, &mut complements);
    altered.reverse();
    complements.reverse();
    altered.extend(complements);
    altered
}

fn find_assertions(
    node: Node<'_>,
    text: &str,
    altered: &mut Vec<SourceEdit>,
    complements: &mut Vec<SourceEdit>,
) {
    for child in named_children(node) {
        find_assertions(child, text, altered, complements);
        if child.kind() != "call_expression" {
            continue;
        }
        let (Some(function), Some(arguments)) = (
            child.child_by_field_name("function"),
            child.child_by_field_name("arguments").map(named_children),
        ) else {
            continue;
        };
        match subject(function, text) {
            Some("expect") => expectation(function, &arguments, text, altered, complements),
            Some("assert") => assertion(function, &arguments, text, altered, complements),
            _ => {}
        }
    }
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

fn expectation(
    function: Node<'_>,
    arguments: &[Node<'_>],
    text: &str,
    altered: &mut Vec<SourceEdit>,
    complements: &mut Vec<SourceEdit>,
) {
    let Some(matcher) = function.child_by_field_name("property") else {
        return;
    };
    let word = &text[matcher.byte_range()];
    let chain = &text[function.byte_range()];
    let negated = chain.contains(".not.");
    if ONE_SIDED.contains(&word) {
        return;
    }
    if EQUALITIES.contains(&word)
        && !negated
        && let Some(expected) = arguments.first()
    {
        altered.extend(altered_literals(*expected, text, LITERALS));
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
    complements.extend(complement);
}

fn assertion(
    function: Node<'_>,
    arguments: &[Node<'_>],
    text: &str,
    altered: &mut Vec<SourceEdit>,
    complements: &mut Vec<SourceEdit>,
) {
    let method = match function.kind() {
        "member_expression" => function.child_by_field_name("property"),
        _ => None,
    };
    let word = method.map_or("ok", |method| &text[method.byte_range()]);
    if EQUALITIES.contains(&word)
        && let Some(expected) = arguments.get(1)
    {
        altered.extend(altered_literals(*expected, text, LITERALS));
    }
    let opposite = OPPOSITES.iter().find_map(|(one, other)| {
        (word == *one)
            .then_some(*other)
            .or_else(|| (word == *other).then_some(*one))
    });
    match (method, opposite, arguments.first()) {
        (Some(method), Some(opposite), _) => {
            complements.push(SourceEdit::new(method.byte_range(), opposite));
        }
        (_, None, Some(condition)) if word == "ok" => {
            let source = &text[condition.byte_range()];
            complements.push(SourceEdit::new(
                condition.byte_range(),
                &format!("!({source})"),
            ));
        }
        _ => {}
    }
}
