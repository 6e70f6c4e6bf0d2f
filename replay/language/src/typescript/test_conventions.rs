//! Conventions of TypeScript and JavaScript tests for vitest.

use tree_sitter::Node;

use super::super::test_conventions::{FoundTest, TestConventions, TestFileNames};
use super::plain_comparison::with_plain_comparisons;
use super::twins::{collect_tests, messages};

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    files: TestFileNames {
        folders: &["__tests__", "test", "tests"],
        names: &["*.test.*", "*.spec.*", "*_test.*"],
    },
    framework: "TypeScript with vitest",
    form: "a call `test(\"NAME\", () => { … })` of its own at the top level, and each has \
           another plain name; use no `describe` and no `each`",
    fence: "typescript",
    test_in,
    collect_tests,
    messages,
    logging: &["console."],
    with_plain_comparisons,
    file_name,
    recompiled: str::to_owned,
    code_object: None,
};

/// A call of vitest's `test`, `it`, `describe` or `suite`.
fn test_in(node: Node<'_>, text: &str) -> Option<FoundTest> {
    let call = node.named_child(0)?;
    if node.kind() != "expression_statement" || call.kind() != "call_expression" {
        return None;
    }
    let function = &text[call.child_by_field_name("function")?.byte_range()];
    let word = function.split(['.', '(']).next().unwrap_or_default();
    if !["test", "it", "describe", "suite"].contains(&word) {
        return None;
    }
    let name = call
        .child_by_field_name("arguments")?
        .named_child(0)
        .filter(|_| ["test", "it"].contains(&function))
        .filter(|name| name.kind() == "string")
        .map(|name| &text[name.start_byte() + 1..name.end_byte() - 1])
        // What is written with escapes has another name.
        .filter(|name| !name.contains('\\'));
    Some(FoundTest {
        range: node.byte_range(),
        name: name.map(str::to_owned),
    })
}

/// With all of the example's endings: `.test.ts`.
fn file_name(example: &str, stem: &str, digest: &str) -> String {
    let endings = example
        .split_once('.')
        .map_or("test.ts", |(_, endings)| endings);
    format!("added_{stem}_{digest}.{endings}")
}
