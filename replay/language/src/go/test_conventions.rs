//! Conventions of Go tests.

use tree_sitter::Node;

use super::super::test_conventions::{FoundTest, TestConventions, TestFileNames};
use super::twins::{collect_tests, is_test, messages};

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    files: TestFileNames {
        folders: &[],
        names: &["*_test.go"],
    },
    framework: "Go with its package testing",
    form: "a function `func TestNAME(t *testing.T) { … }` of its own, and each has another plain \
           name",
    fence: "go",
    test_in,
    collect_tests,
    messages,
    logging: &["fmt.Print", "log."],
    with_plain_comparisons: |_, _| None,
    file_name: |_, stem, digest| format!("added_{stem}_{digest}_test.go"),
    recompiled: str::to_owned,
    code_object: None,
};

/// A function whose name `go test` takes for a test's.
fn test_in(node: Node<'_>, text: &str) -> Option<FoundTest> {
    if node.kind() != "function_declaration" {
        return None;
    }
    let name = &text[node.child_by_field_name("name")?.byte_range()];
    is_test(name).then(|| FoundTest {
        range: node.byte_range(),
        name: Some(name.to_owned()),
    })
}
