//! Splits a file into windows.

use std::borrow::Cow;
use std::ops::Range;

use tree_sitter::Node;

use crate::syntax::Language;

use super::Window;

/// Maximum number of lines of a definition that stays one window.
pub const LARGEST_DEFINITION: usize = 40;

/// Minimum number of lines of a definition that gets its own window: one-line types and functions
/// are more useful together with their neighbours.
pub const SMALLEST_DEFINITION: usize = 3;

/// Number of nonblank lines of a window outside definitions, as in CrossCodeEval.
/// <https://arxiv.org/abs/2310.11248>
pub const STEP: usize = 10;

/// Maximum depth in nodes at which definitions are searched. Deeper code is cut by lines, so that
/// no file can exhaust the stack.
const MAX_DEPTH: usize = 48;

/// Maximum number of nodes between a statement and the definition it wraps, such as `export
/// default`, decorators, `const f =` or `describe("…", () => …)`.
const WRAPPERS: usize = 4;

/// Splits a file into windows, in order. Windows don't overlap. Each line with a letter or digit is
/// in exactly one of them, unchanged.
///
/// A definition of [`SMALLEST_DEFINITION`] to [`LARGEST_DEFINITION`] lines, with the comments right
/// above it, is one window. A larger definition is split into the definitions among its members and
/// the rest. The rest, there and at the top level, is cut into windows of [`STEP`] nonblank lines.
/// Blank lines at a window's ends are dropped. Scores are 0.
pub fn windows(path: &str, contents: &str, language: &Language) -> Vec<Window> {
    let contents = with_line_feeds(contents);
    let lines: Vec<&str> = contents.split('\n').collect();
    let tree = language.parse(&contents);
    let mut definitions = Vec::new();
    find(language, tree.root_node(), 0, &mut definitions);

    let mut pieces = Vec::new();
    let mut next = 0;
    for definition in definitions {
        // Two definitions may share a line: it belongs to the first.
        let rows = definition.start.max(next)..definition.end.min(lines.len());
        if rows.is_empty() {
            continue;
        }
        cut(&lines, next..rows.start, &mut pieces);
        next = rows.end;
        pieces.push(rows);
    }
    cut(&lines, next..lines.len(), &mut pieces);

    pieces
        .into_iter()
        .filter_map(|rows| window(path, &lines, rows))
        .collect()
}

/// Replaces CR and CRLF by LF, so that `text`, tree-sitter (which knows only LF) and windows count
/// the same lines.
pub(crate) fn with_line_feeds(contents: &str) -> Cow<'_, str> {
    if contents.contains('\r') {
        Cow::Owned(contents.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(contents)
    }
}

/// Adds the rows of those definitions in a node that are windows, in order.
fn find(language: &Language, node: Node<'_>, depth: usize, found: &mut Vec<Range<usize>>) {
    let mut comments: Option<Range<usize>> = None;
    for child in node.named_children(&mut node.walk()) {
        let rows = rows(child);
        if language.is_comment(child) {
            // Each line comment is a node of its own; adjacent ones form one block.
            comments = match comments {
                Some(above) if above.end == rows.start => Some(above.start..rows.end),
                _ => Some(rows),
            };
            continue;
        }
        // A comment separated by a blank line does not belong to the definition.
        let above = comments.take().filter(|above| above.end == rows.start);
        if rows.len() < SMALLEST_DEFINITION {
            continue;
        }
        let whole = above.map_or(rows.start, |above| above.start)..rows.end;
        let is_definition = wraps_definition(language, child, WRAPPERS);
        if is_definition && whole.len() <= LARGEST_DEFINITION {
            found.push(whole);
        } else if depth < MAX_DEPTH {
            find(language, child, depth + 1, found);
        }
    }
}

/// True if a node is a definition or wraps one.
fn wraps_definition(language: &Language, node: Node<'_>, levels: usize) -> bool {
    if language.is_definition(node) || language.is_function(node) {
        return true;
    }
    // A definition within a block is a member, found by `find`, and not what the statement wraps.
    levels > 0
        && !language.is_block(node)
        && node
            .named_children(&mut node.walk())
            .any(|child| wraps_definition(language, child, levels - 1))
}

/// Returns the rows that a node covers. A node that ends at a row's start, as Python's comments in
/// blocks may, does not cover that row.
fn rows(node: Node<'_>) -> Range<usize> {
    let (start, end) = (node.start_position(), node.end_position());
    let past = if end.column == 0 && end.row > start.row {
        end.row
    } else {
        end.row + 1
    };
    start.row..past
}

/// Cuts rows into pieces of [`STEP`] nonblank lines.
fn cut(lines: &[&str], rows: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let mut start = rows.start;
    let mut filled = 0;
    for row in rows.clone() {
        filled += usize::from(!lines[row].trim().is_empty());
        if filled == STEP {
            pieces.push(start..row + 1);
            start = row + 1;
            filled = 0;
        }
    }
    if start < rows.end {
        pieces.push(start..rows.end);
    }
}

fn window(path: &str, lines: &[&str], rows: Range<usize>) -> Option<Window> {
    let blank = |row: &usize| lines[*row].trim().is_empty();
    let first = rows.clone().find(|row| !blank(row))?;
    let last = rows.rev().find(|row| !blank(row))?;
    let text = lines[first..=last].join("\n");
    text.contains(char::is_alphanumeric).then(|| Window {
        path: path.to_owned(),
        first_line: first,
        text,
        score: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn python() -> &'static Language {
        Language::by_id("python").expect("the table has it")
    }

    /// Formats windows with their lines for a snapshot.
    fn shown(path: &str, contents: &str) -> String {
        let language = Language::for_path(path.as_ref()).expect("the path has a known ending");
        let show = |window: Window| format!("-- line {}\n{}\n", window.first_line, window.text);
        windows(path, contents, language)
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn python_is_cut_at_definitions() {
        let source = r#""""Prices."""
import json

RATE = 0.2

# What the shop adds.
# Whole cents.
def tax(amount):
    """Tax of an amount."""

    return round(amount * RATE)


@cache
def load(path):
    with open(path) as file:
        return json.load(file)

def one(): return 1

if RATE:
    class Basket:
        def total(self):
            return sum(self.items)
"#;
        insta::assert_snapshot!(shown("shop/prices.py", source), @r#"
        -- line 0
        """Prices."""
        import json

        RATE = 0.2
        -- line 5
        # What the shop adds.
        # Whole cents.
        def tax(amount):
            """Tax of an amount."""

            return round(amount * RATE)
        -- line 13
        @cache
        def load(path):
            with open(path) as file:
                return json.load(file)
        -- line 18
        def one(): return 1

        if RATE:
        -- line 21
            class Basket:
                def total(self):
                    return sum(self.items)
        "#);
    }

    #[test]
    fn large_classes_are_cut_at_members_and_then_at_lines() {
        let fields: String = (0..24).map(|n| format!("    field_{n} = {n}\n")).collect();
        let body: String = (0..45).map(|n| format!("        step({n})\n")).collect();
        let source = format!(
            "class Big(Base):\n{fields}\n    def small(self):\n        a = 1\n        return a\n\n    def large(self):\n{body}"
        );
        let found = windows("big.py", &source, python());
        let rows: Vec<_> = found
            .iter()
            .map(|window| (window.first_line, window.text.lines().count()))
            .collect();
        let fields = [(0, 10), (10, 10), (20, 5)];
        let small = [(26, 3)];
        let large = [(30, 10), (40, 10), (50, 10), (60, 10), (70, 6)];
        assert_eq!(rows, [&fields[..], &small[..], &large[..]].concat());
    }

    #[test]
    fn typescript_is_cut_at_definitions() {
        let source = r#"import { Cart } from "./cart";

type Id = string;
type Name = string;

/** What a customer sees. */
export interface View {
  id: Id;
  name: Name;
}

export const total = (cart: Cart): number => {
  return cart.items.reduce((sum, item) => sum + item.price, 0);
};

describe("total", () => {
  it("adds", () => {
    expect(total({ items: [] })).toBe(0);
  });
});

export default class Shop {
  open(): void {}
}
"#;
        insta::assert_snapshot!(shown("src/shop.ts", source), @r#"
        -- line 0
        import { Cart } from "./cart";

        type Id = string;
        type Name = string;
        -- line 5
        /** What a customer sees. */
        export interface View {
          id: Id;
          name: Name;
        }
        -- line 11
        export const total = (cart: Cart): number => {
          return cart.items.reduce((sum, item) => sum + item.price, 0);
        };
        -- line 15
        describe("total", () => {
          it("adds", () => {
            expect(total({ items: [] })).toBe(0);
          });
        });
        -- line 21
        export default class Shop {
          open(): void {}
        }
        "#);
    }

    #[test]
    fn carriage_returns_keep_line_numbers() {
        let source = "# é\r\n\r\ndef a():\r\n    x = '😀'\r\n    return x\r\n\rdef b():\r    y = 2\r    return y\r";
        insta::assert_snapshot!(shown("a.py", source), @r#"
        -- line 0
        # é
        -- line 2
        def a():
            x = '😀'
            return x
        -- line 6
        def b():
            y = 2
            return y
        "#);
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        let depth = 3000;
        let open: String = (0..depth).map(|_| "f(() => {\n").collect();
        let close: String = (0..depth).map(|_| "});\n").collect();
        let language = Language::by_id("typescript").expect("the table has it");
        let found = windows("deep.ts", &format!("{open}{close}"), language);
        assert!(found.len() > depth / STEP / 2);
    }

    fn code() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "def f(x):\n",
            "class A:\n",
            "    ",
            "        ",
            "return x",
            "x = 1",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "# note\n",
            "@d\n",
            "function f() {\n",
            "}\n",
            "class B {",
            "const g = () => {\n",
            "é",
            "\u{2028}",
            "'",
            "export ",
            "(",
            "if x:\n",
            "\t",
            "\u{c}",
        ]);
        prop::collection::vec(pieces, 0..120).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn windows_share_no_line_and_leave_none_out(
            contents in code(),
            language in prop::sample::select(crate::syntax::LANGUAGES.to_vec()),
        ) {
            let contents = with_line_feeds(&contents);
            let lines: Vec<_> = contents.split('\n').collect();
            let mut covered = vec![false; lines.len()];
            let mut next = 0;
            for window in windows("a", &contents, language) {
                prop_assert!(window.first_line >= next);
                for line in window.text.split('\n') {
                    prop_assert_eq!(lines[window.first_line.max(next)], line);
                    next = window.first_line.max(next) + 1;
                    covered[next - 1] = true;
                }
                let text: Vec<_> = window.text.split('\n').collect();
                prop_assert!(text.len() <= LARGEST_DEFINITION
                    || text.iter().filter(|line| !line.trim().is_empty()).count() <= STEP);
            }
            for (line, covered) in lines.iter().zip(covered) {
                prop_assert!(covered || !line.contains(char::is_alphanumeric), "{:?}", line);
            }
        }
    }
}
