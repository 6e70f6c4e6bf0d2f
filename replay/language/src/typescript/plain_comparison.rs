//! Has `expect` refuse values that decide by themselves what they equal.

use fillrate_syntax::Language;

use super::super::twins::{SourceEdit, apply, named_children};

/// The function that refuses such values.
const FUNCTION: &str = include_str!("plain_comparison.js");

/// Returns a file of tests in which `expect` refuses such values, if it has one. Its lines keep their
/// numbers.
pub(super) fn with_plain_comparisons(language: &'static Language, text: &str) -> Option<String> {
    let tree = language.parse(text);
    let mut edits = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        pending.extend(named_children(node));
        let called = node.child_by_field_name("function");
        let is_expect = called.is_some_and(|called| &text[called.byte_range()] == "expect");
        let arguments = node
            .child_by_field_name("arguments")
            .filter(|_| is_expect)
            .map(named_children);
        if let Some([value, ..]) = arguments.as_deref()
            && !["spread_element", "comment"].contains(&value.kind())
        {
            let start = value.start_byte();
            edits.push(SourceEdit::new(start..start, "_fillratePlain("));
            edits.push(SourceEdit::new(value.end_byte()..value.end_byte(), ")"));
        }
    }
    if edits.is_empty() {
        return None;
    }
    // A declared function is known above its declaration.
    let end = SourceEdit::new(text.len()..text.len(), &format!("\n{FUNCTION}"));
    edits.push(end);
    Some(apply(&edits.iter().collect::<Vec<_>>(), text))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn typescript() -> &'static Language {
        Language::for_path(Path::new("a.ts")).expect("TypeScript is known")
    }

    #[test]
    fn values_of_expect_are_looked_at() {
        let text = "import { expect, it } from 'vitest';\n\nit('sums', () => {\n  \
                    expect(sum([expect(1)])).toEqual(2);\n  expect.any(Number);\n  expect(...all);\n});\n";
        let changed = with_plain_comparisons(typescript(), text).expect("it has `expect`");
        insta::assert_snapshot!(changed.replace(FUNCTION, "DEFINED"), @r"
        import { expect, it } from 'vitest';

        it('sums', () => {
          expect(_fillratePlain(sum([expect(_fillratePlain(1))]))).toEqual(2);
          expect.any(Number);
          expect(...all);
        });

        DEFINED
        ");
        let plain = "it('is', () => assert(true));\n";
        assert_eq!(with_plain_comparisons(typescript(), plain), None);
    }

    #[test]
    fn values_that_decide_what_they_equal_are_refused() {
        let script = r#"
class Any extends Array { asymmetricMatch() { return true; } }
const itself = []; itself.push(itself);
const plain = [3, null, undefined, [1, { a: 2 }], itself, new Map(), Promise.resolve(), () => 1];
const refused = [new Any(), [new Any()], { a: { b: new Any() } }].filter((value) => {
  try { _fillratePlain(value); return false; } catch { return true; }
});
console.log(refused.length, plain.every((value) => _fillratePlain(value) === value));
"#;
        let mut node = Command::new("node");
        let output = node.args(["-e", &format!("{FUNCTION}{script}")]).output();
        let output = output.expect("Node.js is installed");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "3 true\n");
    }
}
