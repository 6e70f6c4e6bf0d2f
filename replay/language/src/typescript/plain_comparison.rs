//! Has `expect` refuse values that decide by themselves what they equal.

use tree_sitter::Node;

use super::super::twins::{SourceEdit, apply, named_children};

/// The function that refuses such values.
const FUNCTION: &str = include_str!("plain_comparison.js");

/// Returns a file of tests in which `expect` refuses such values. Its lines keep their numbers.
pub(super) fn with_plain_comparisons(root: Node<'_>, text: &str) -> String {
    let mut edits = Vec::new();
    let mut pending = vec![root];
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
        return text.to_owned();
    }
    // A declared function is known above its declaration.
    let end = SourceEdit::new(text.len()..text.len(), &format!("\n{FUNCTION}"));
    edits.push(end);
    apply(&edits.iter().collect::<Vec<_>>(), text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fillrate_syntax::Language;

    use super::*;

    #[test]
    fn values_of_expect_are_looked_at() {
        let text = "import { expect, it } from 'vitest';\n\nit('sums', () => {\n  \
                    expect(sum([expect(1)])).toEqual(2);\n  expect.any(Number);\n  expect(...all);\n});\n";
        let typescript = Language::for_path(Path::new("a.ts")).expect("TypeScript is known");
        let changed = with_plain_comparisons(typescript.parse(text).root_node(), text);
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
        let tree = typescript.parse(plain);
        assert_eq!(with_plain_comparisons(tree.root_node(), plain), plain);
    }
}
