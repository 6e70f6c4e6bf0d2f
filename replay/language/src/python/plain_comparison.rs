//! Has tests compare values by their contents, whatever the classes of these say of equality.

use tree_sitter::Node;

use super::super::twins::{SourceEdit, apply, named_children, operator};
use super::test_conventions::recompiled;

/// The functions that compare.
const FUNCTIONS: &str = include_str!("plain_comparison.py");

/// Methods of `unittest.TestCase` that compare their first two arguments.
const ASSERTIONS: [&str; 16] = [
    "assertEqual",
    "assertEquals",
    "assertNotEqual",
    "assertAlmostEqual",
    "assertNotAlmostEqual",
    "assertCountEqual",
    "assertDictEqual",
    "assertListEqual",
    "assertSequenceEqual",
    "assertSetEqual",
    "assertTupleEqual",
    "assertMultiLineEqual",
    "assertIn",
    "assertNotIn",
    "assertGreater",
    "assertLess",
];

/// Returns a file of tests in which the comparisons of functions look at contents. Its lines keep
/// their numbers if it begins with an import or documentation.
pub(super) fn with_plain_comparisons(root: Node<'_>, text: &str) -> String {
    let mut edits = Vec::new();
    collect(root, text, false, &mut edits);
    if edits.is_empty() {
        return text.to_owned();
    }
    edits.push(definitions(root, text));
    apply(&edits.iter().collect::<Vec<_>>(), text)
}

/// The edit that defines the functions: before all that can call one, and after what only the
/// beginning of a file may have.
fn definitions(root: Node<'_>, text: &str) -> SourceEdit {
    let functions = recompiled(FUNCTIONS);
    let functions = functions.trim_end();
    let statements = named_children(root).into_iter();
    let mut statements = statements.filter(|node| node.kind() != "comment");
    let mut last = None;
    let mut first = statements.next();
    while let Some(statement) = first
        && (statement.kind() == "future_import_statement" || is_documentation(statement, last))
    {
        last = Some(statement);
        first = statements.next();
    }
    match (last, first) {
        (Some(last), _) => {
            SourceEdit::new(last.end_byte()..last.end_byte(), &format!("; {functions}"))
        }
        (None, Some(first)) if is_simple(first) => SourceEdit::new(
            first.start_byte()..first.start_byte(),
            &format!("{functions}; "),
        ),
        (None, Some(first)) => SourceEdit::new(
            first.start_byte()..first.start_byte(),
            &format!("{functions}\n"),
        ),
        (None, None) => SourceEdit::new(text.len()..text.len(), &format!("\n{functions}\n")),
    }
}

fn is_simple(statement: Node<'_>) -> bool {
    [
        "import_statement",
        "import_from_statement",
        "expression_statement",
    ]
    .contains(&statement.kind())
}

/// True for a string that is the first statement.
fn is_documentation(statement: Node<'_>, before: Option<Node<'_>>) -> bool {
    let is_string = || {
        statement
            .named_child(0)
            .is_some_and(|child| child.kind() == "string")
    };
    before.is_none() && statement.kind() == "expression_statement" && is_string()
}

/// Collects the edits of comparisons below a node; `is_inside` says that it is in a function's body,
/// which runs once the functions are defined.
fn collect(node: Node<'_>, text: &str, is_inside: bool, edits: &mut Vec<SourceEdit>) {
    let mut insert = |at: usize, what: &str| edits.push(SourceEdit::new(at..at, what));
    let children = named_children(node);
    if is_inside
        && let ("comparison_operator", [left, right]) = (node.kind(), children.as_slice())
        && let Some(sign) = operator(node)
    {
        let (before, between) = match &text[sign.byte_range()] {
            "==" => ("_fillrate_equal(", true),
            "!=" => ("_fillrate_differ(", true),
            "is" | "is not" => ("", false),
            _ => ("_fillrate_plain(", false),
        };
        if between {
            insert(left.start_byte(), before);
            insert(right.end_byte(), ")");
            edits.push(SourceEdit::new(sign.byte_range(), ","));
        } else if !before.is_empty() {
            for operand in [left, right] {
                insert(operand.start_byte(), before);
                insert(operand.end_byte(), ")");
            }
        }
    } else if is_inside
        && node.kind() == "call"
        && let Some((first, second)) = compared_arguments(node, text)
    {
        insert(first.start_byte(), "*_fillrate_both(");
        insert(second.end_byte(), ")");
    }
    let body = node
        .child_by_field_name("body")
        .filter(|_| node.kind() == "function_definition");
    for child in children {
        collect(child, text, is_inside || Some(child) == body, edits);
    }
}

/// The first two arguments of a call of an assertion that compares them.
fn compared_arguments<'t>(call: Node<'t>, text: &str) -> Option<(Node<'t>, Node<'t>)> {
    let function = call.child_by_field_name("function")?;
    let name = &text[function.child_by_field_name("attribute")?.byte_range()];
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let [first, second, ..] = arguments.as_slice() else {
        return None;
    };
    let is_positional = |node: &Node<'_>| {
        ![
            "keyword_argument",
            "list_splat",
            "dictionary_splat",
            "comment",
        ]
        .contains(&node.kind())
    };
    (ASSERTIONS.contains(&name) && is_positional(first) && is_positional(second))
        .then_some((*first, *second))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fillrate_syntax::Language;

    use super::*;

    /// The text with the definitions left out.
    fn changed(text: &str) -> String {
        let python = Language::for_path(Path::new("a.py")).expect("Python is known");
        let tree = python.parse(text);
        with_plain_comparisons(tree.root_node(), text)
            .replace(recompiled(FUNCTIONS).trim_end(), "DEFINED")
    }

    #[test]
    fn comparisons_in_functions_look_at_contents() {
        insta::assert_snapshot!(changed(r#"import os

LIMIT = 1 if os.sep == "/" else 2


def test_it(self):
    assert f(1) == [g(2) != 3] and x is None, "a == b"
    assert "a" in f(2) and 1 < f(3) < 4
    self.assertEqual(f(1), 2, msg="no")
    self.assertEqual(first=f(1), second=2)
    if f(1) != 2:
        raise AssertionError
"#), @r#"
        DEFINED; import os

        LIMIT = 1 if os.sep == "/" else 2


        def test_it(self):
            assert _fillrate_equal(f(1) , [_fillrate_differ(g(2) , 3)]) and x is None, "a == b"
            assert _fillrate_plain("a") in _fillrate_plain(f(2)) and 1 < f(3) < 4
            self.assertEqual(*_fillrate_both(f(1), 2), msg="no")
            self.assertEqual(first=f(1), second=2)
            if _fillrate_differ(f(1) , 2):
                raise AssertionError
        "#);
        let test = "def test_it():\n    assert f() == 1\n";
        for (beginning, end) in [
            ("\"\"\"About.\"\"\"\n", "\"\"\"About.\"\"\"; DEFINED\ndef "),
            (
                "from __future__ import annotations\n",
                "annotations; DEFINED\ndef ",
            ),
            ("# One.\nimport os\n", "# One.\nDEFINED; import os\ndef "),
            ("@mark\n", "DEFINED\n@mark\ndef "),
        ] {
            let text = changed(&format!("{beginning}{test}"));
            assert!(text.contains(end), "{text}");
        }
        assert_eq!(
            changed("import os\n\nassert os == 1\n"),
            "import os\n\nassert os == 1\n"
        );
    }
}
