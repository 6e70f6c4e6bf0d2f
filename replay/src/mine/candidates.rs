//! Every stretch of a file that could be a hole, from its syntax and from which of its lines
//! tests run.

use std::ops::Range;

use fillrate_server::syntax::Language;
use tree_sitter::Node;

use super::SourceFile;
use super::category;
use super::tokens::leaves;
use crate::mutate;
use crate::task::{Hole, Kind, sha256_hex};

/// The most lines of a hole.
pub const MOST_LINES: usize = 30;

/// The most statements of a block that is cut out of a longer one.
const MOST_FOLLOWING: usize = 3;

/// A hole that could be cut.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The hole.
    pub hole: Hole,
    /// Where the statement begins that the hole begins in.
    statement: usize,
    language: &'static Language,
}

impl Candidate {
    /// The file with a statement that raises before the one the hole begins in: tests that still
    /// pass never get there.
    pub fn raising(&self, contents: &str) -> String {
        mutate::raising_before(self.language, contents, self.statement).apply(contents)
    }
}

/// What the tests run of a file, by one-based line.
#[derive(Clone, Copy)]
pub struct Coverage<'a> {
    /// Whether a test runs a line.
    pub tested: &'a dyn Fn(usize) -> bool,
    /// Whether a line runs when the file is imported.
    pub at_import: &'a dyn Fn(usize) -> bool,
}

/// Every candidate in a file. Holes lie within functions: what stands outside of them runs at
/// import, by every test alike. A function may be called at import too, which its holes tell.
pub fn find(project: &str, file: &SourceFile, coverage: Coverage<'_>) -> Vec<Candidate> {
    let tree = file.language.parse(&file.contents);
    let mut finder = Finder {
        file,
        covered: coverage.tested,
        statements: Vec::new(),
        ranges: Vec::new(),
    };
    finder.visit(tree.root_node(), false);
    finder.lines(&tree);
    let Finder {
        statements, ranges, ..
    } = finder;
    let place = Place {
        project,
        file,
        tree: &tree,
        statements: &statements,
        coverage,
    };
    let mut candidates: Vec<Candidate> = ranges
        .into_iter()
        .filter_map(|(kind, range)| place.candidate(kind, range))
        .collect();
    candidates.sort_by(|a, b| {
        let key = |candidate: &Candidate| {
            (
                candidate.hole.start,
                candidate.hole.end,
                candidate.hole.kind,
            )
        };
        key(a).cmp(&key(b))
    });
    candidates.dedup_by(|a, b| a.hole.id == b.hole.id);
    candidates
}

/// A file, as far as it is needed to tell what may be cut out of it.
pub(super) struct Place<'a> {
    pub(super) project: &'a str,
    pub(super) file: &'a SourceFile,
    pub(super) tree: &'a tree_sitter::Tree,
    /// As [`statements`] gives them.
    pub(super) statements: &'a [Statement],
    pub(super) coverage: Coverage<'a>,
}

impl Place<'_> {
    /// The candidate in a range, if the range is short enough and tests run all of it.
    pub(super) fn candidate(&self, kind: Kind, range: Range<usize>) -> Option<Candidate> {
        let file = self.file;
        let lines = file.contents[range.clone()].lines().count();
        let begins_in = self
            .statements
            .iter()
            .filter(|statement| statement.bytes.contains(&range.start))
            .min_by_key(|statement| statement.bytes.len())?;
        // Where a statement begins, tests can be seen to come by; each one must have been.
        let all_covered = self
            .statements
            .iter()
            .filter(|statement| range.contains(&statement.bytes.start))
            .all(|statement| (self.coverage.tested)(statement.line));
        if !(1..=MOST_LINES).contains(&lines)
            || !all_covered
            || !(self.coverage.tested)(begins_in.line)
        {
            return None;
        }
        let first_line = 1 + file.contents[..range.start].matches('\n').count();
        let category = category::of(
            self.tree.root_node(),
            &file.contents,
            range.clone(),
            file.language,
        );
        let mut hole = Hole::new(
            self.project,
            file.language.name,
            &file.path,
            kind,
            range,
            &file.contents,
        );
        hole.category = Some(category);
        hole.at_import = (first_line..first_line + lines).any(self.coverage.at_import);
        Some(Candidate {
            hole,
            statement: begins_in.bytes.start,
            language: file.language,
        })
    }
}

/// The statements inside functions of a file.
pub(super) fn statements(file: &SourceFile, tree: &tree_sitter::Tree) -> Vec<Statement> {
    let mut finder = Finder {
        file,
        covered: &|_| true,
        statements: Vec::new(),
        ranges: Vec::new(),
    };
    finder.visit(tree.root_node(), false);
    finder.statements
}

/// A statement inside a function.
pub(super) struct Statement {
    bytes: Range<usize>,
    /// One-based.
    line: usize,
}

struct Finder<'a> {
    file: &'a SourceFile,
    covered: &'a dyn Fn(usize) -> bool,
    statements: Vec<Statement>,
    ranges: Vec<(Kind, Range<usize>)>,
}

impl Finder<'_> {
    fn visit(&mut self, node: Node<'_>, in_function: bool) {
        let language = self.file.language;
        if in_function && language.is_statement(node) && self.stands_in_a_block(node) {
            self.statements.push(Statement {
                bytes: node.byte_range(),
                line: node.start_position().row + 1,
            });
            if !self.is_documentation(node) && !is_compound(language, node) {
                self.ranges.push((Kind::Statement, node.byte_range()));
                self.span(node);
            }
        }
        if in_function && language.is_block(node) {
            self.block(node);
        }
        if language.is_function(node)
            && let Some(body) = node.child_by_field_name("body")
            && language.is_block(body)
        {
            if let Some(range) = self.extent(&self.members(body)) {
                self.ranges.push((Kind::Body, range));
            }
            let mut cursor = body.walk();
            for child in body.named_children(&mut cursor) {
                self.visit(child, true);
            }
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                if child.id() != body.id() {
                    self.visit(child, in_function);
                }
            }
            self.following(body);
            return;
        }
        // What stands in a class within a function runs when the class is made, as the function
        // runs, so it stays inside.
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child, in_function);
        }
    }

    /// The body of a branch or a loop, and stretches of it.
    fn block(&mut self, block: Node<'_>) {
        let members = self.members(block);
        // A block of one simple statement is a hole of that kind already.
        let more = match members.as_slice() {
            [only] => is_compound(self.file.language, *only),
            _ => true,
        };
        if let Some(range) = self.extent(&members).filter(|_| more) {
            self.ranges.push((Kind::Block, range));
        }
        self.following(block);
    }

    /// Statements of a block that follow each other, short of the whole block.
    fn following<'t>(&mut self, block: Node<'t>) {
        let members: Vec<Node<'t>> = self.members(block);
        for count in 2..=MOST_FOLLOWING {
            if count >= members.len() {
                break;
            }
            for run in members.windows(count) {
                if let Some(range) = self.extent(run) {
                    self.ranges.push((Kind::Block, range));
                }
            }
        }
    }

    /// The statements of a block, without comments and without its documentation.
    fn members<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        let mut cursor = block.walk();
        block
            .named_children(&mut cursor)
            .filter(|child| {
                self.file.language.is_statement(*child) && !self.is_documentation(*child)
            })
            .collect()
    }

    fn extent(&self, members: &[Node<'_>]) -> Option<Range<usize>> {
        let start = members.first()?.start_byte();
        let end = members.last()?.end_byte();
        Some(start..end)
    }

    /// From inside a simple statement to its end. Where a person would pause is any token but
    /// the first; one is chosen by the statement's own text and place, so that the choice is
    /// stable and needs no seed.
    fn span(&mut self, statement: Node<'_>) {
        let first_row = statement.start_position().row;
        let starts: Vec<usize> = leaves(statement)
            .into_iter()
            .skip(1)
            .filter(|leaf| leaf.start_position().row == first_row)
            .map(|leaf| leaf.start_byte())
            .filter(|start| {
                let rest = &self.file.contents[*start..statement.end_byte()];
                rest.chars().filter(|c| c.is_alphanumeric()).count() >= 2
            })
            .collect();
        if starts.is_empty() {
            return;
        }
        let text = &self.file.contents[statement.byte_range()];
        let digest = sha256_hex(format!("{}\0{text}", statement.start_byte()).as_bytes());
        let draw = usize::from_str_radix(&digest[..8], 16).unwrap_or_default();
        let start = starts[draw % starts.len()];
        self.ranges.push((Kind::Span, start..statement.end_byte()));
    }

    /// Whole lines within the statements found, headers of loops and branches among them.
    fn lines(&mut self, tree: &tree_sitter::Tree) {
        let contents = &self.file.contents;
        let mut offset = 0;
        for (index, line) in contents.split_inclusive('\n').enumerate() {
            let start = offset + (line.len() - line.trim_start().len());
            let end = offset + line.trim_end().len();
            offset += line.len();
            let text = line.trim();
            if text.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
                continue;
            }
            let Some(leaf) = tree.root_node().descendant_for_byte_range(start, start + 1) else {
                continue;
            };
            let Some(last) = tree.root_node().descendant_for_byte_range(end - 1, end) else {
                continue;
            };
            // Text and remarks are not what a model of code is asked for.
            if self.is_prose(leaf, start) || self.language_comment(last) {
                continue;
            }
            let statement = self
                .statements
                .iter()
                .filter(|statement| statement.bytes.contains(&start))
                .min_by_key(|statement| statement.bytes.len());
            let Some(statement) = statement else {
                continue;
            };
            // A line inside a longer statement runs when the statement does.
            let runs = if statement.bytes.start == start {
                statement.line == index + 1
            } else {
                self.is_simple(tree, statement) || (self.covered)(index + 1)
            };
            if runs {
                self.ranges.push((Kind::Line, start..end));
            }
        }
    }

    fn is_simple(&self, tree: &tree_sitter::Tree, statement: &Statement) -> bool {
        tree.root_node()
            .named_descendant_for_byte_range(statement.bytes.start, statement.bytes.end)
            .is_some_and(|node| !is_compound(self.file.language, node))
    }

    /// Whether a line begins inside a string or is a comment.
    fn is_prose(&self, leaf: Node<'_>, start: usize) -> bool {
        let language = self.file.language;
        let mut node = Some(leaf);
        while let Some(current) = node {
            if language.is_comment(current) || self.is_documentation(current) {
                return true;
            }
            if language.strings.contains(&current.kind()) && current.start_byte() < start {
                return true;
            }
            node = current.parent();
        }
        false
    }

    fn language_comment(&self, leaf: Node<'_>) -> bool {
        self.file.language.is_comment(leaf)
            || leaf
                .parent()
                .is_some_and(|parent| self.file.language.is_comment(parent))
    }

    /// Whether a statement is nothing but a string, as documentation is in Python.
    fn is_documentation(&self, statement: Node<'_>) -> bool {
        statement.kind() == "expression_statement"
            && statement.named_child_count() == 1
            && statement
                .named_child(0)
                .is_some_and(|child| self.file.language.strings.contains(&child.kind()))
    }

    fn stands_in_a_block(&self, node: Node<'_>) -> bool {
        node.parent().is_some_and(|parent| {
            self.file.language.is_block(parent)
                || matches!(parent.kind(), "switch_case" | "switch_default")
        })
    }
}

/// Whether a statement has statements inside.
fn is_compound(language: &Language, statement: Node<'_>) -> bool {
    let mut pending = vec![statement];
    while let Some(current) = pending.pop() {
        if current.id() != statement.id() && language.is_statement(current) {
            return true;
        }
        let mut cursor = current.walk();
        pending.extend(current.named_children(&mut cursor));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, contents: &str, covered: &dyn Fn(usize) -> bool) -> String {
        let file = SourceFile {
            path: "a".into(),
            contents: contents.into(),
            language: Language::by_id(id).expect("the language is in the table"),
        };
        find("demo", &file, tested(covered))
            .iter()
            .map(|candidate| format!("{} {:?}\n", candidate.hole.kind, candidate.hole.reference))
            .collect()
    }

    fn tested(tested: &dyn Fn(usize) -> bool) -> Coverage<'_> {
        Coverage {
            tested,
            at_import: &|_| false,
        }
    }

    const PYTHON: &str = r#"import os

LIMIT = 3


def total(items, rate):
    """Adds up."""
    result = 0
    for item in items:  # each
        if item.free:
            continue
        result += item.price * rate
    log(
        "done",
        result,
    )
    return result
"#;

    #[test]
    fn candidates_in_python() {
        insta::assert_snapshot!(listed("python", PYTHON, &|_| true), @r#"
line "result = 0"
statement "result = 0"
block "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate"
block "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )"
body "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )\n    return result"
block "for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )"
block "for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )\n    return result"
line "if item.free:"
block "if item.free:\n            continue\n        result += item.price * rate"
line "continue"
statement "continue"
line "result += item.price * rate"
statement "result += item.price * rate"
span "* rate"
line "log("
statement "log(\n        \"done\",\n        result,\n    )"
block "log(\n        \"done\",\n        result,\n    )\n    return result"
span "(\n        \"done\",\n        result,\n    )"
line "\"done\","
line "result,"
line "return result"
statement "return result"
span "result"
"#);
    }

    #[test]
    fn candidates_in_typescript() {
        let contents = "export function pick(a: number[], n: number): number {\n  const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }\n}\n";
        insta::assert_snapshot!(listed("typescript", contents, &|_| true), @r#"
line "const sorted = [...a].sort();"
statement "const sorted = [...a].sort();"
block "const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }"
body "const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }"
span ".sort();"
line "if (n < 0) {"
block "if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }"
line "throw new Error('n');"
statement "throw new Error('n');"
span "Error('n');"
line "switch (n) {"
line "case 0: return sorted[0];"
statement "return sorted[0];"
span "sorted[0];"
line "default:"
line "return sorted[n];"
statement "return sorted[n];"
span "sorted[n];"
"#);
    }

    #[test]
    fn uncovered_lines_give_no_candidate() {
        assert_eq!(listed("python", PYTHON, &|_| false), "");
        let without_continue = listed("python", PYTHON, &|line| line != 11);
        assert!(!without_continue.contains("continue"), "{without_continue}");
        assert!(without_continue.contains("result += item.price * rate"));
    }

    #[test]
    fn a_raising_statement_goes_before_the_holes_statement() {
        let contents = "def f(a):\n    b = g(\n        a,\n    )\n    return b\n";
        let file = SourceFile {
            path: "a.py".into(),
            contents: contents.into(),
            language: Language::by_id("python").expect("Python is in the table"),
        };
        let candidates = find("demo", &file, tested(&|_| true));
        for candidate in candidates {
            let raising = candidate.raising(contents);
            assert!(file.language.parses(&raising), "{raising}");
            assert!(raising.contains("    raise RuntimeError(\"this place was reached\")\n    "));
        }
    }

    #[test]
    fn holes_tell_that_their_lines_run_at_import() {
        let contents = "def f(a):\n    b = g(\n        a,\n    )\n    return b\n\nC = f(1)\n";
        let file = SourceFile {
            path: "a.py".into(),
            contents: contents.into(),
            language: Language::by_id("python").expect("Python is in the table"),
        };
        let at_import = |line: usize| {
            let coverage = Coverage {
                tested: &|_| true,
                at_import: &|run| run == line,
            };
            let mut marked: Vec<String> = find("demo", &file, coverage)
                .into_iter()
                .filter(|candidate| candidate.hole.at_import)
                .map(|candidate| format!("{}:{}", candidate.hole.kind, candidate.hole.reference))
                .collect();
            marked.sort();
            marked
        };
        // A line within a statement marks what holds the line.
        assert_eq!(
            at_import(3),
            [
                "body:b = g(\n        a,\n    )\n    return b",
                "span:g(\n        a,\n    )",
                "statement:b = g(\n        a,\n    )",
            ]
        );
        assert_eq!(at_import(7), Vec::<String>::new());
    }
}
