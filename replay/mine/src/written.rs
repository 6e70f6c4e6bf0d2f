//! A file as it was when a hole's code was written: without what was written after it.
//!
//! In finished code, the text after a hole shows a model where to stop and what comes next. People
//! write where nothing follows yet, except for the brackets that their editor has closed.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fillrate_syntax::Language;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tree_sitter::Node;

/// The state in which a hole's file is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CodeView {
    /// The finished file.
    #[default]
    Finished,
    /// Without what was written after the hole.
    AsWritten(ViewExtent),
    /// As [`CodeView::AsWritten`], with the brackets and quotes that an editor has closed.
    Closed(ViewExtent),
}

/// The end of what is cut after a hole.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ViewExtent {
    /// The end of the innermost definition that contains the hole; outside of definitions, of the
    /// outermost statement.
    #[default]
    Definition,
    /// The end of the file.
    File,
}

impl ViewExtent {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl CodeView {
    /// Every view.
    pub fn all() -> impl Iterator<Item = Self> {
        let cut = ViewExtent::VARIANTS
            .iter()
            .flat_map(|&extent| [Self::AsWritten(extent), Self::Closed(extent)]);
        std::iter::once(Self::Finished).chain(cut)
    }

    /// The same view with another extent; [`CodeView::Finished`] has none.
    #[must_use]
    pub fn with_extent(self, extent: ViewExtent) -> Self {
        match self {
            Self::Finished => Self::Finished,
            Self::AsWritten(_) => Self::AsWritten(extent),
            Self::Closed(_) => Self::Closed(extent),
        }
    }

    /// The text after the cursor, with the hole in `contents` cut out. A file of an unknown
    /// language has no definitions and no brackets.
    pub fn suffix(
        self,
        language: Option<&Language>,
        contents: &str,
        hole: &Range<usize>,
    ) -> String {
        let (extent, closes) = match self {
            Self::Finished => return contents[hole.end..].to_owned(),
            Self::AsWritten(extent) => (extent, false),
            Self::Closed(extent) => (extent, true),
        };
        // Without a grammar it is unknown where a definition ends.
        let Some(language) = language else {
            return String::new();
        };
        let tree = language.parse(contents);
        let around: Vec<Node<'_>> = ancestors(tree.root_node(), hole).collect();
        let end = match extent {
            ViewExtent::File => contents.len(),
            ViewExtent::Definition => definition_end(language, &around, hole),
        };
        let mut suffix = String::new();
        if closes {
            for pair in open_pairs(language, &around, hole) {
                // A pair that is closed behind the cut is closed by the text that is kept.
                if pair.close.end <= end {
                    suffix.push_str(&pair.closed(contents));
                }
            }
        }
        suffix + &contents[end..]
    }
}

/// The name in records and on the command line: `as-written-file` with the extent
/// [`ViewExtent::File`].
impl fmt::Display for CodeView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, extent) = match self {
            Self::Finished => return formatter.write_str("finished"),
            Self::AsWritten(extent) => ("as-written", extent),
            Self::Closed(extent) => ("closed", extent),
        };
        formatter.write_str(name)?;
        match extent {
            ViewExtent::Definition => Ok(()),
            ViewExtent::File => write!(formatter, "-{}", extent.name()),
        }
    }
}

impl FromStr for CodeView {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::all().find(|view| view.to_string() == name);
        found.ok_or_else(|| {
            let names: Vec<String> = Self::all().map(|view| view.to_string()).collect();
            format!("the views are {}", names.join(", "))
        })
    }
}

/// The nodes that contain a range, innermost first.
fn ancestors<'t>(root: Node<'t>, range: &Range<usize>) -> impl Iterator<Item = Node<'t>> {
    let innermost = root.descendant_for_byte_range(range.start, range.end);
    std::iter::successors(innermost, Node::parent)
}

/// The end of the innermost definition that begins before a hole and contains it, or else of the
/// outermost statement.
fn definition_end(language: &Language, around: &[Node<'_>], hole: &Range<usize>) -> usize {
    let definition = around
        .iter()
        // A definition that begins at the hole is the hole's own content.
        .find(|node| language.is_definition(**node) && node.start_byte() < hole.start);
    let statement = || {
        around
            .iter()
            .rev()
            .find(|node| language.is_statement(**node))
    };
    let end = definition.or_else(statement).map(Node::end_byte);
    // A hole may reach beyond the node around its start.
    end.unwrap_or(hole.end).max(hole.end)
}

/// A bracket or a quote that is open at a hole and closed after it.
struct OpenPair {
    open: Range<usize>,
    close: Range<usize>,
}

impl OpenPair {
    /// The closing mark where an editor puts it: on a line of its own if the line of the opening
    /// mark ends with it, as Enter between the two leaves them, else right after the cursor.
    fn closed(&self, contents: &str) -> String {
        let mark = &contents[self.close.clone()];
        // A bracket at the end of its line has its closing one on a line of its own.
        let after = contents[self.open.end..].split('\n').next();
        if !after.unwrap_or_default().trim().is_empty() {
            return mark.to_owned();
        }
        let before = &contents[..self.open.start];
        let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        // The closing bracket is indented as the line that opens it.
        format!("\n{}{mark}", &line[..indentation])
    }
}

/// The pairs around a hole, innermost first.
fn open_pairs(language: &Language, around: &[Node<'_>], hole: &Range<usize>) -> Vec<OpenPair> {
    let mut pairs = Vec::new();
    for node in around {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        if language.is_string(*node) {
            // The first and the last part of a string's node are its quotes.
            if let [first, .., last] = children.as_slice() {
                pairs.push((first.byte_range(), last.byte_range()));
            }
            continue;
        }
        let mut open: Vec<Node<'_>> = Vec::new();
        for child in children {
            if language.opening_brackets.contains(&child.kind()) {
                open.push(child);
            } else if [")", "]", "}"].contains(&child.kind())
                && let Some(opening) = open.pop()
            {
                pairs.push((opening.byte_range(), child.byte_range()));
            }
        }
    }
    pairs
        .into_iter()
        // A mark that the text lacks is a node without bytes.
        .filter(|(open, close)| {
            open.end <= hole.start && close.start >= hole.end && !close.is_empty()
        })
        .map(|(open, close)| OpenPair { open, close })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that is shown for a fixture whose hole is between two `$0`, with the cursor as `|`.
    fn shown(language: &str, fixture: &str, view: CodeView) -> String {
        let parts: Vec<&str> = fixture.split("$0").collect();
        let [prefix, reference, suffix] = parts[..] else {
            panic!("a fixture has two marks: {fixture}");
        };
        let contents = [prefix, reference, suffix].concat();
        let hole = prefix.len()..prefix.len() + reference.len();
        let language = Language::by_id(language).expect("the language is in the table");
        assert!(language.parses(&contents), "{contents}");
        format!("{prefix}|{}", view.suffix(Some(language), &contents, &hole))
    }

    const PYTHON: &str = "import os\n\n\nclass Shop:\n    def price(self, count):\n        \
        $0total = count * 3$0\n        return total\n\n    def name(self):\n        \
        return 'shop'\n\n\ndef main():\n    pass\n";

    #[test]
    fn as_written_ends_with_the_definition() {
        let view = CodeView::AsWritten(ViewExtent::Definition);
        insta::assert_snapshot!(shown("python", PYTHON, view), @r"
        import os


        class Shop:
            def price(self, count):
                |

            def name(self):
                return 'shop'


        def main():
            pass
        ");
    }

    #[test]
    fn as_written_to_the_file_leaves_nothing_after_the_cursor() {
        for view in [CodeView::AsWritten, CodeView::Closed] {
            let shown = shown("python", PYTHON, view(ViewExtent::File));
            assert!(shown.ends_with("count):\n        |"), "{shown}");
        }
    }

    #[test]
    fn finished_view_cuts_only_the_hole() {
        let finished = shown("python", PYTHON, CodeView::Finished);
        assert_eq!(finished, PYTHON.replace("$0total = count * 3$0", "|"));
    }

    #[test]
    fn closed_has_the_brackets_of_an_editor() {
        let fixture = "class A {\n  run(items: number[]) {\n    items.forEach((item) => {\n      \
            if (item > 2) {\n        $0log(item);$0\n        stop();\n      }\n    });\n    \
            done();\n  }\n\n  other() {}\n}\n";
        let view = CodeView::Closed(ViewExtent::Definition);
        insta::assert_snapshot!(shown("typescript", fixture, view), @r"
        class A {
          run(items: number[]) {
            items.forEach((item) => {
              if (item > 2) {
                |
              }
            })
          }

          other() {}
        }
        ");
        let view = CodeView::AsWritten(ViewExtent::Definition);
        insta::assert_snapshot!(shown("typescript", fixture, view), @r"
        class A {
          run(items: number[]) {
            items.forEach((item) => {
              if (item > 2) {
                |

          other() {}
        }
        ");
    }

    #[test]
    fn closed_marks_of_the_cursor_line_follow_the_cursor() {
        let line = |language: &str, fixture: &str| {
            let view = CodeView::Closed(ViewExtent::File);
            let shown = shown(language, fixture, view);
            let at = shown.find('|').expect("the cursor is shown");
            shown[at..].to_owned()
        };
        assert_eq!(line("python", "print(\"a $0word$0 b\", 1)\n"), "|\")");
        assert_eq!(line("python", "x = [1, $02$0, 3]\ny = 4\n"), "|]");
        assert_eq!(
            line("go", "package a\n\nfunc f() {\n\tg(1, $02$0)\n}\n"),
            "|)\n}"
        );
        // The hole closes the bracket itself.
        assert_eq!(line("python", "print($01)$0\n"), "|");
    }

    #[test]
    fn top_level_code_ends_with_its_statement() {
        let fixture = "const f = (x: number) => {\n  $0return x;$0\n};\nconst y = f(1);\n";
        let view = CodeView::AsWritten(ViewExtent::Definition);
        insta::assert_snapshot!(shown("typescript", fixture, view), @r"
        const f = (x: number) => {
          |
        const y = f(1);
        ");
    }

    #[test]
    fn names_round_trip() {
        for view in CodeView::all() {
            assert_eq!(view.to_string().parse(), Ok(view));
        }
        let error = "open"
            .parse::<CodeView>()
            .expect_err("there is no such view");
        assert!(
            error.contains("as-written, closed, as-written-file"),
            "{error}"
        );
    }
}
