//! How tests of Java are written for JUnit 5.

use tree_sitter::Node;

use super::super::test_conventions::{FoundTest, TestConventions};
use super::twins::test_functions;

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    framework: "Java with JUnit 5",
    form: "a method `@Test void NAME() { … }` in a class of its own that is not public and has \
           another plain name; use no `@ParameterizedTest`",
    fence: "java",
    test_in,
    test_functions,
    file_name: |_, stem, digest| format!("Added{stem}{digest}Test.java"),
    recompiled: str::to_owned,
    code_object: None,
};

/// Annotations of methods that JUnit runs.
const ANNOTATIONS: [&str; 5] = [
    "Test",
    "ParameterizedTest",
    "RepeatedTest",
    "TestFactory",
    "TestTemplate",
];

/// A class that holds a test.
fn test_in(node: Node<'_>, text: &str) -> Option<FoundTest> {
    if node.kind() != "class_declaration" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let mut cursor = body.walk();
    let holds_tests = body
        .named_children(&mut cursor)
        .any(|member| is_test(member, text));
    holds_tests.then(|| FoundTest {
        range: node.byte_range(),
        name: None,
    })
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
