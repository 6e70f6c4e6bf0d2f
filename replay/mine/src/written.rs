//! A file as it was when a hole's code was written: without what was written after it.
//!
//! In finished code, the text after a hole shows a model where to stop and what comes next. People
//! write where nothing follows yet, except for the brackets that their editor has closed.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fillrate_metrics::oracle_prefix;
use fillrate_syntax::{Language, brackets};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tree_sitter::{Node, Tree};

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
    /// Version of the rules of views: verdicts by another one may differ.
    pub const VERSION: u32 = 2;

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
        let Some(extent) = self.extent() else {
            return contents[hole.end..].to_owned();
        };
        // Without a grammar it is unknown where a definition ends.
        let cut = language.map(|language| CutFile::new(language, contents, hole, extent));
        cut.map_or_else(String::new, |cut| cut.suffix(self.is_closed()))
    }

    /// Returns the text after the hole in `contents` that a completion writes as well, because this
    /// view lacks it: `\n}` if the completion closes a function that is closed after the hole. The
    /// completion with this text after it would have it twice. It is empty in a finished file.
    ///
    /// If the completion goes on as `contents` does, it is just that. Else it reaches to the last
    /// bracket that the completion closes and the hole's own text does not, and over what the
    /// completion's end repeats of the lines up to the next bracket.
    pub fn overlap<'c>(
        self,
        language: Option<&Language>,
        contents: &'c str,
        hole: &Range<usize>,
        completion: &str,
    ) -> &'c str {
        let (Some(extent), Some(language)) = (self.extent(), language) else {
            return "";
        };
        let cut = CutFile::new(language, contents, hole, extent);
        let end = cut.overlap_end(completion, self.is_closed());
        &contents[hole.end..end]
    }

    /// Returns the text that a person goes on to write after the hole's own, because this view
    /// lacks it. It is empty if the view shows a part of it: the brackets that an editor has closed.
    pub fn continuation<'c>(
        self,
        language: Option<&Language>,
        contents: &'c str,
        hole: &Range<usize>,
    ) -> &'c str {
        let (Self::AsWritten(extent), Some(language)) = (self, language) else {
            return "";
        };
        &contents[hole.end..CutFile::new(language, contents, hole, extent).end]
    }

    fn is_closed(self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// The end of what is cut; `None` if nothing is.
    fn extent(self) -> Option<ViewExtent> {
        match self {
            Self::Finished => None,
            Self::AsWritten(extent) | Self::Closed(extent) => Some(extent),
        }
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

/// A file that is cut after a hole.
struct CutFile<'a> {
    language: &'a Language,
    contents: &'a str,
    hole: &'a Range<usize>,
    tree: Tree,
    /// The end of what is cut.
    end: usize,
}

impl<'a> CutFile<'a> {
    fn new(
        language: &'a Language,
        contents: &'a str,
        hole: &'a Range<usize>,
        extent: ViewExtent,
    ) -> Self {
        let tree = language.parse(contents);
        let end = match extent {
            ViewExtent::File => contents.len(),
            ViewExtent::Definition => {
                let around: Vec<Node<'_>> = ancestors(tree.root_node(), hole).collect();
                definition_end(language, &around, hole)
            }
        };
        Self {
            language,
            contents,
            hole,
            tree,
            end,
        }
    }

    /// The text after the hole, with or without what an editor has closed.
    fn suffix(&self, is_closed: bool) -> String {
        let mut suffix = String::new();
        if is_closed {
            let around: Vec<Node<'_>> = ancestors(self.tree.root_node(), self.hole).collect();
            for pair in open_pairs(self.language, &around, self.hole) {
                // A pair that is closed behind the cut is closed by the text that is kept.
                if pair.close.end <= self.end {
                    suffix.push_str(&pair.closed(self.contents));
                }
            }
        }
        suffix + &self.contents[self.end..]
    }

    /// The end of the overlap of a completion, which begins at the hole's end.
    fn overlap_end(&self, completion: &str, is_closed: bool) -> usize {
        let Self { contents, hole, .. } = *self;
        let reference = &contents[hole.clone()];
        if completion.trim_end() == reference.trim_end() {
            return hole.end;
        }
        let written = oracle_prefix(&contents[hole.start..self.end], completion);
        if let Some(length) = written.filter(|length| *length > reference.len() && !is_closed) {
            return hole.start + length;
        }
        let suffix = self.suffix(is_closed);
        let shown = [&contents[..hole.start], completion, &suffix].concat();
        let shown = self.language.parse(&shown);
        let unmatched = |tree: &Tree, range| UnmatchedBrackets::within(self.language, tree, &range);
        let own = unmatched(&shown, hole.start..hole.start + completion.len());
        let of_reference = unmatched(&self.tree, hole.clone());
        let after = unmatched(&self.tree, hole.end..self.end);
        // The brackets that were open before the hole and that the hole's own text leaves open.
        let outer = own.closed.len().saturating_sub(of_reference.closed.len());
        let ends_block = completion.trim_end().ends_with([')', ']', '}'])
            && completion.trim().lines().count() > reference.trim().lines().count();
        let closed_more = match outer {
            // The hole opens some itself, which the text after it closes first.
            0 if ends_block => of_reference.opened.saturating_sub(own.opened),
            0 => 0,
            // An editor has closed the outer ones.
            _ if is_closed => of_reference.opened,
            _ => of_reference.opened + outer,
        };
        let closed_more = closed_more.min(after.closed.len());
        let (closed, open) = after.closed.split_at(closed_more);
        // A closing bracket is one byte.
        let begin = closed.last().map_or(hole.end, |bracket| bracket + 1);
        let end = open.first().copied().unwrap_or(self.end);
        let lines = contents[begin..end].trim_end();
        // Code that repeats itself in the finished file is no overlap.
        if closed.is_empty() && !repeated(reference, lines, is_closed).is_empty() {
            return begin;
        }
        begin + repeated(completion, lines, is_closed).len()
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

/// The brackets of a range whose other one is outside of it.
#[derive(Default)]
struct UnmatchedBrackets {
    /// Number of brackets that are opened.
    opened: usize,
    /// The offsets of those that are closed.
    closed: Vec<usize>,
}

impl UnmatchedBrackets {
    fn within(language: &Language, tree: &Tree, range: &Range<usize>) -> Self {
        let mut found = Self::default();
        let is_outside =
            |node: Node<'_>| node.end_byte() <= range.start || range.end <= node.start_byte();
        let all = brackets(language, tree.root_node(), is_outside).into_iter();
        for bracket in all.filter(|bracket| range.contains(&bracket.start)) {
            match found.opened.checked_sub(1) {
                _ if bracket.opens => found.opened += 1,
                Some(opened) => found.opened = opened,
                None => found.closed.push(bracket.start),
            }
        }
        found
    }
}

/// Returns the longest beginning of `after`, up to a line end, that `text` ends with after something
/// else; white space does not count, but a line end does if `after` begins with it or if
/// `on_own_line` is set.
fn repeated<'a>(text: &str, after: &'a str, on_own_line: bool) -> &'a str {
    let text = text.trim_end();
    let most = text.matches('\n').count() + 2;
    let ends = after.match_indices('\n').map(|(end, _)| end);
    let pieces = ends.chain([after.len()]).map(|end| &after[..end]);
    let begins_line = on_own_line
        || after
            .trim_start_matches([' ', '\t', '\r'])
            .starts_with('\n');
    let ends_with = |piece: &&str| {
        let mut left = text;
        for character in piece.chars().rev().filter(|one| !one.is_whitespace()) {
            left = left.trim_end();
            match left.strip_suffix(character) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        let (kept, repetition) = (left.trim_end(), &text[left.len()..]);
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        let splits_word =
            kept.len() == left.len() && kept.ends_with(is_word) && repetition.starts_with(is_word);
        !kept.is_empty()
            && !repetition.is_empty()
            && !splits_word
            && (!begins_line || left[kept.len()..].contains('\n'))
    };
    pieces
        .take(most)
        .filter(ends_with)
        .last()
        .unwrap_or_default()
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
        let (contents, hole) = cut(fixture);
        let language = Language::by_id(language).expect("the language is in the table");
        assert!(language.parses(&contents), "{contents}");
        let suffix = view.suffix(Some(language), &contents, &hole);
        format!("{}|{suffix}", &contents[..hole.start])
    }

    /// The file and the hole of a fixture.
    fn cut(fixture: &str) -> (String, Range<usize>) {
        let parts: Vec<&str> = fixture.split("$0").collect();
        let [prefix, reference, suffix] = parts[..] else {
            panic!("a fixture has two marks: {fixture}");
        };
        let hole = prefix.len()..prefix.len() + reference.len();
        ([prefix, reference, suffix].concat(), hole)
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

    /// The overlap of a completion with the fixture's text after the hole.
    fn overlap(language: &str, fixture: &str, view: CodeView, completion: &str) -> String {
        let (contents, hole) = cut(fixture);
        let language = Language::by_id(language);
        view.overlap(language, &contents, &hole, completion)
            .to_owned()
    }

    #[test]
    fn completions_overlap_the_brackets_that_they_close() {
        let written = CodeView::AsWritten(ViewExtent::Definition);
        let closed = CodeView::Closed(ViewExtent::Definition);
        let method = "class A {\n  f(x) {\n    if (x) {\n      $0return x;$0\n    }\n    \
            return 0;\n  }\n}\n";
        let catching = "function f(g) {\n  try {\n    g();\n  $0} catch (error) {$0\n    \
            return 1;\n  }\n  return 0;\n}\nf();\n";
        let call = "function f(g) {\n  g($01$0);\n  return 0;\n}\n";
        for (fixture, view, completion, expected) in [
            (method, written, "return x;", ""),
            (method, written, "return x + 1;", ""),
            (method, written, "return x;\n    }", "\n    }"),
            (
                method,
                written,
                "return x;\n    }\n    return 1;\n  }",
                "\n    }\n    return 0;\n  }",
            ),
            // Its own bracket, not the function's.
            (method, written, "while (x) {\n        x--;\n      }", ""),
            // An editor closed them, so the buffer has them twice.
            (method, closed, "return x;\n    }", ""),
            (method, CodeView::Finished, "return x;\n    }", ""),
            (
                catching,
                written,
                "} catch (error) {\n    throw error;\n  }\n  return 2;\n}",
                "\n    return 1;\n  }\n  return 0;\n}",
            ),
            // The hole opens this one, so no editor has closed it.
            (
                catching,
                closed,
                "} catch (error) {\n    throw error;\n  }",
                "\n    return 1;\n  }",
            ),
            // It opens no block that the text after the hole could close.
            (catching, written, "} finally_(1);", ""),
            (call, written, "2)", ")"),
            (call, written, "2);\n  return 1;\n}", ");\n  return 0;\n}"),
            (call, written, "g(2)", ""),
        ] {
            let found = overlap("typescript", fixture, view, completion);
            assert_eq!(found, expected, "{completion:?} in {view}: {fixture}");
        }
    }

    #[test]
    fn completions_overlap_the_lines_that_they_repeat() {
        let written = CodeView::AsWritten(ViewExtent::Definition);
        let twice = "def f(x):\n    $0g(x)$0\n    g(x)\n    return x\n";
        for (language, fixture, completion, expected) in [
            ("python", PYTHON, "total = count", ""),
            (
                "python",
                PYTHON,
                "total = 3 * count\n        return total\n",
                "\n        return total",
            ),
            // A word that is cut in two is not the file's.
            ("python", PYTHON, "total = count * 3\n        retur", ""),
            // Another rest is inserted as it is.
            ("python", PYTHON, "total = 3\n        return 3", ""),
            ("python", PYTHON, "return total", ""),
            // Both calls are in the finished file.
            ("python", twice, "g(x)\n    g(x)", "\n    g(x)"),
            (
                "python",
                "def f(x):\n    $0g(x)\n    g(x)$0\n    g(x)\n",
                "g(y)\n    g(x)",
                "",
            ),
            (
                "typescript",
                "function f() {\n  const x = $01$0;\n  return x;\n}\n",
                "2;\n  return x;",
                ";\n  return x;",
            ),
            (
                "typescript",
                "function f() {\n  return $0x$0;\n}\n",
                "y;",
                ";",
            ),
        ] {
            let found = overlap(language, fixture, written, completion);
            assert_eq!(found, expected, "{completion:?} in {fixture}");
        }
    }

    /// Whoever goes on exactly as the finished file does writes the finished file.
    #[test]
    fn the_finished_text_gives_the_finished_file() {
        let mut tried = 0;
        for path in [
            "demo-python/src/ledgerline/errors.py",
            "demo-typescript/src/desk.ts",
            "demo-typescript/src/result.ts",
            "demo-typescript/src/address/postcode.ts",
        ] {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../corpora")
                .join(path);
            let contents = std::fs::read_to_string(&path).expect("the demo has the file");
            let language = Language::for_path(&path);
            let view = CodeView::AsWritten(ViewExtent::Definition);
            let line_ends: Vec<usize> = contents.match_indices('\n').map(|(at, _)| at).collect();
            for lines in line_ends.windows(2) {
                let line = &contents[lines[0] + 1..lines[1]];
                let hole = lines[1] - line.trim_start().len()..lines[1];
                let cut = view.continuation(language, &contents, &hole);
                let ends = cut
                    .match_indices('\n')
                    .map(|(end, _)| end)
                    .chain([cut.len()]);
                for end in ends.filter(|_| !hole.is_empty()) {
                    let text = [&contents[hole.clone()], &cut[..end]].concat();
                    let overlap = view.overlap(language, &contents, &hole, &text);
                    tried += 1;
                    let written = cut[..end].trim_end();
                    assert_eq!(overlap, written, "{}: {text}", path.display());
                }
            }
        }
        assert!(tried > 1000, "{tried}");
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
