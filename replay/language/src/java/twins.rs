//! Twins of Java's tests: methods that JUnit runs, with the assertions of JUnit and of AssertJ.

use tree_sitter::Node;

use super::super::twins::{
    AssertionEdits, LiteralKinds, SourceEdit, TestFunction, altered_literals, named_children,
    opposite, value_used_once,
};

/// Assertions and their complements, of JUnit first and then of AssertJ.
const OPPOSITES: [(&str, &str); 13] = [
    ("assertEquals", "assertNotEquals"),
    ("assertTrue", "assertFalse"),
    ("assertNull", "assertNotNull"),
    ("assertSame", "assertNotSame"),
    ("isEqualTo", "isNotEqualTo"),
    ("isTrue", "isFalse"),
    ("isNull", "isNotNull"),
    ("isSameAs", "isNotSameAs"),
    ("isEmpty", "isNotEmpty"),
    ("contains", "doesNotContain"),
    ("isInstanceOf", "isNotInstanceOf"),
    ("startsWith", "doesNotStartWith"),
    ("endsWith", "doesNotEndWith"),
];

/// Assertions that compare with an expected value: which argument it is.
const EQUALITIES: [(&str, usize); 11] = [
    ("assertEquals", 0),
    ("assertArrayEquals", 0),
    ("assertIterableEquals", 0),
    ("assertLinesMatch", 0),
    ("isEqualTo", 0),
    ("hasSize", 0),
    ("contains", 0),
    ("containsExactly", 0),
    ("hasMessage", 0),
    ("startsWith", 0),
    ("endsWith", 0),
];

/// Annotations of methods that JUnit runs.
const ANNOTATIONS: [&str; 5] = [
    "Test",
    "ParameterizedTest",
    "RepeatedTest",
    "TestFactory",
    "TestTemplate",
];

/// What may be altered in a value that is compared with what the code returns.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["decimal_floating_point_literal", "decimal_integer_literal"],
    strings: &["string_fragment"],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("", ""),
    untouched: &["array_access", "lambda_expression", "string_interpolation"],
};

/// Lists the tests of a file, in its order, each with the edits that make twins of it.
pub(super) fn test_functions(root: Node<'_>, text: &str) -> Vec<TestFunction> {
    let mut functions = Vec::new();
    collect(root, text, &mut Vec::new(), &mut functions);
    functions
}

/// The tests of a file or of a class, with the classes around them.
fn collect(
    node: Node<'_>,
    text: &str,
    around: &mut Vec<String>,
    functions: &mut Vec<TestFunction>,
) {
    for child in named_children(node) {
        let name = child.child_by_field_name("name");
        let body = child.child_by_field_name("body");
        let (Some(name), Some(body)) = (name, body) else {
            continue;
        };
        around.push(text[name.byte_range()].to_owned());
        if child.kind() == "class_declaration" {
            collect(body, text, around, functions);
        } else if is_test(child, text) {
            let mut assertions = Vec::new();
            find_assertions(body, body, text, &mut assertions);
            functions.push(TestFunction::new(around.clone(), assertions));
        }
        around.pop();
    }
}

/// Whether a member of a class is a method that JUnit runs.
pub(super) fn is_test(member: Node<'_>, text: &str) -> bool {
    member.kind() == "method_declaration"
        && annotations(member, text).any(|name| ANNOTATIONS.contains(&name))
}

/// The names of the annotations of a declaration, without their packages.
fn annotations<'a>(declaration: Node<'_>, text: &'a str) -> impl Iterator<Item = &'a str> {
    let mut cursor = declaration.walk();
    let modifiers = declaration
        .named_children(&mut cursor)
        .find(|child| child.kind() == "modifiers");
    let mut names = Vec::new();
    if let Some(modifiers) = modifiers {
        let mut cursor = modifiers.walk();
        for annotation in modifiers.named_children(&mut cursor) {
            let name = annotation.child_by_field_name("name");
            names.extend(name.map(|name| &text[name.byte_range()]));
        }
    }
    names
        .into_iter()
        .map(|name| name.rsplit('.').next().unwrap_or(name))
}

fn find_assertions<'t>(
    node: Node<'t>,
    body: Node<'t>,
    text: &str,
    found: &mut Vec<AssertionEdits>,
) {
    for child in named_children(node) {
        let edits = match child.kind() {
            "method_invocation" => call(child, body, text),
            _ => None,
        };
        found.extend(edits);
        find_assertions(child, body, text, found);
    }
}

/// `assertEquals(3, f())`, `assertThat(f()).isEqualTo(3)`.
fn call<'t>(node: Node<'t>, body: Node<'t>, text: &str) -> Option<AssertionEdits> {
    let name = node.child_by_field_name("name")?;
    let word = &text[name.byte_range()];
    let is_own = word.starts_with("assert") || follows_assert_that(node, text);
    let arguments = node.child_by_field_name("arguments").filter(|_| is_own)?;
    let expected = EQUALITIES
        .iter()
        .find(|(equality, _)| *equality == word)
        .and_then(|(_, index)| named_children(arguments).get(*index).copied());
    // Numbers that differ by less than a third argument count as equal, and nothing as unequal to
    // that.
    let third = named_children(arguments).get(2).copied();
    let is_message = |third: Node<'_>| {
        matches!(
            third.kind(),
            "string_literal" | "lambda_expression" | "binary_expression"
        )
    };
    let has_tolerance = word == "assertEquals" && third.is_some_and(|third| !is_message(third));
    let complement = opposite(word, &OPPOSITES).filter(|_| !has_tolerance);
    let edits = AssertionEdits {
        altered: expected.map_or_else(Vec::new, |expected| altered_value(expected, body, text)),
        complement: complement.map(|other| {
            let class = "org.junit.jupiter.api.Assertions";
            // A file may import the one name and not the other.
            let is_imported = node.child_by_field_name("object").is_none() && text.contains(class);
            match is_imported {
                true => SourceEdit::new(name.byte_range(), &format!("{class}.{other}")),
                false => SourceEdit::new(name.byte_range(), other),
            }
        }),
    };
    (!edits.altered.is_empty() || edits.complement.is_some()).then_some(edits)
}

/// Whether a call goes on after `assertThat(…)`.
fn follows_assert_that(node: Node<'_>, text: &str) -> bool {
    let mut object = node.child_by_field_name("object");
    while let Some(call) = object.filter(|object| object.kind() == "method_invocation") {
        let name = call.child_by_field_name("name");
        if name.is_some_and(|name| text[name.byte_range()].starts_with("assertThat")) {
            return true;
        }
        object = call.child_by_field_name("object");
    }
    false
}

/// The edits that each alter a literal of a value, one that is written there or that a variable holds.
fn altered_value<'t>(value: Node<'t>, body: Node<'t>, text: &str) -> Vec<SourceEdit> {
    let held = match value.kind() {
        "identifier" => {
            value_used_once(value, body, text, ("variable_declarator", "name", "value"))
        }
        _ => Some(value),
    };
    held.map_or_else(Vec::new, |held| altered_literals(held, text, LITERALS))
}
