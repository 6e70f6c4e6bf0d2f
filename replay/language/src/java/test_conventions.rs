//! Conventions of Java tests for JUnit 5.

use tree_sitter::Node;

use super::super::test_conventions::{FoundTest, TestConventions, TestFileNames};
use super::twins::{collect_tests, is_test, messages};

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    files: TestFileNames {
        folders: &["test", "tests"],
        names: &["*Test.java", "*Tests.java", "*IT.java"],
    },
    framework: "Java with JUnit 5",
    form: "a method `@Test void NAME() { … }` in a class of its own that is not public and has \
           another plain name; use no `@ParameterizedTest`",
    fence: "java",
    test_in,
    collect_tests,
    messages,
    logging: &["System.out.", "System.err.", "logger.", "log.", "LOG."],
    with_plain_comparisons: |_, _| None,
    file_name: |_, stem, digest| format!("Added{stem}{digest}Test.java"),
    recompiled: str::to_owned,
    code_object: None,
};

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
