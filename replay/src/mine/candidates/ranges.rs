//! The ranges of a file that could be holes, from its syntax.

use std::ops::Range;

use fillrate_server::syntax::Language;
use fillrate_server::text::LineIndex;
use tree_sitter::{Node, Tree};

use super::super::tokens::leaves;
use crate::language::{LanguageSupport, SourceFile};
use crate::task::{HoleKind, sha256_hex};

/// The most statements of a block that is cut out of a longer one.
const MOST_FOLLOWING: usize = 3;

/// What is found in the functions of a file.
pub(in crate::mine) struct FoundRanges {
    /// Their statements.
    pub(in crate::mine) statements: Vec<Statement>,
    /// The ranges that could be holes, in bytes.
    pub(in crate::mine) ranges: Vec<(HoleKind, Range<usize>)>,
}

/// Finds the statements of a file's functions, and the ranges that could be holes; `covered` says
/// whether tests run a line, counted from one.
pub(in crate::mine) fn find_ranges(
    file: &SourceFile,
    tree: &Tree,
    covered: &dyn Fn(usize) -> bool,
) -> FoundRanges {
    let mut finder = RangeFinder {
        file,
        index: LineIndex::new(&file.contents),
        covered,
        statements: Vec::new(),
        ranges: Vec::new(),
    };
    finder.visit(tree.root_node(), false);
    finder.lines(tree);
    FoundRanges {
        statements: finder.statements,
        ranges: finder.ranges,
    }
}

/// A statement inside a function.
pub(in crate::mine) struct Statement {
    /// Where it stands in the file.
    pub(in crate::mine) bytes: Range<usize>,
    /// The line it begins in, counted from one.
    pub(in crate::mine) line: usize,
}

struct RangeFinder<'a> {
    file: &'a SourceFile,
    index: LineIndex,
    covered: &'a dyn Fn(usize) -> bool,
    statements: Vec<Statement>,
    ranges: Vec<(HoleKind, Range<usize>)>,
}

impl RangeFinder<'_> {
    fn visit(&mut self, node: Node<'_>, in_function: bool) {
        let language = self.file.language;
        if in_function && language.is_statement(node) && self.stands_in_a_block(node) {
            self.statements.push(Statement {
                bytes: node.byte_range(),
                line: self.index.number(node.start_byte()),
            });
            if !self.is_documentation(node) && !is_compound(language, node) {
                self.ranges.push((HoleKind::Statement, node.byte_range()));
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
                self.ranges.push((HoleKind::Body, range));
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
            self.ranges.push((HoleKind::Block, range));
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
                    self.ranges.push((HoleKind::Block, range));
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
        self.ranges
            .push((HoleKind::Span, start..statement.end_byte()));
    }

    /// Whole lines within the statements found, headers of loops and branches among them.
    fn lines(&mut self, tree: &Tree) {
        let contents = &self.file.contents;
        let lines = (0..).map_while(|line| self.index.range(line));
        for (number, bytes) in (1..).zip(lines) {
            let line = &contents[bytes.clone()];
            let start = bytes.start + (line.len() - line.trim_start().len());
            let end = bytes.start + line.trim_end().len();
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
                statement.line == number
            } else {
                self.is_simple(tree, statement) || (self.covered)(number)
            };
            if runs {
                self.ranges.push((HoleKind::Line, start..end));
            }
        }
    }

    fn is_simple(&self, tree: &Tree, statement: &Statement) -> bool {
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
                || LanguageSupport::for_language(self.file.language)
                    .holes
                    .case_blocks
                    .contains(&parent.kind())
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
