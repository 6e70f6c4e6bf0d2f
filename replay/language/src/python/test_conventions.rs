//! Conventions of Python tests for pytest.

use tree_sitter::Node;

use super::super::test_conventions::{FoundTest, TestConventions, TestFileNames};
use super::plain_comparison::with_plain_comparisons;
use super::twins::{collect_tests, messages};

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    files: TestFileNames {
        folders: &["tests", "test"],
        names: &["test_*.py", "*_test.py", "*_tests.py", "tests.py"],
    },
    framework: "Python with pytest",
    form: "a function of its own at the top level whose name begins with `test_`; use no \
           classes and no `parametrize`",
    fence: "python",
    test_in,
    collect_tests,
    messages,
    logging: &[
        "print(",
        "pprint(",
        "logging.",
        "logger.",
        "log.",
        "LOG.",
        "warnings.warn(",
    ],
    with_plain_comparisons,
    file_name,
    recompiled,
    code_object: Some("__code__"),
};

/// A test function.
fn test_in(node: Node<'_>, text: &str) -> Option<FoundTest> {
    let decorated = node.kind() == "decorated_definition";
    let function = if decorated {
        node.child_by_field_name("definition")?
    } else {
        node
    };
    if function.kind() != "function_definition" {
        return None;
    }
    let name = &text[function.child_by_field_name("name")?.byte_range()];
    let decorators = &text[node.start_byte()..function.start_byte()];
    let is_single = !decorators.contains("parametrize");
    name.starts_with("test").then(|| FoundTest {
        range: node.byte_range(),
        name: is_single.then(|| name.to_owned()),
    })
}

fn file_name(example: &str, stem: &str, digest: &str) -> String {
    if example.ends_with("_test.py") && !example.starts_with("test_") {
        format!("added_{stem}_{digest}_test.py")
    } else {
        format!("test_added_{stem}_{digest}.py")
    }
}

/// One statement that runs the text from its bytes in hexadecimal digits.
pub(super) fn recompiled(text: &str) -> String {
    // Hexadecimal digits need no escapes, whatever the text contains.
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("exec(compile(bytes.fromhex(\"{digits}\"), __file__, \"exec\"))\n")
}
