//! The ranges of a file that could be holes, from its syntax.

use std::ops::Range;

use fillrate_language::task::{HoleKind, sha256_hex};
use fillrate_language::{LanguageSupport, SourceFile};
use fillrate_syntax::Language;
use fillrate_syntax::text::LineIndex;
use tree_sitter::{Node, Tree};

use super::super::nesting::Nesting;
use super::super::tokens::leaves;

/// The most statements of a block that is cut out of a longer one.
const MOST_FOLLOWING: usize = 3;

/// Statements and possible holes found in the functions of a file.
pub(crate) struct FoundRanges {
    /// Their statements.
    pub(crate) statements: Nesting<StatementSite>,
    /// The ranges that could be holes, in bytes.
    pub(crate) ranges: Vec<(HoleKind, Range<usize>)>,
}

/// Finds the statements of a file's functions, and the ranges that could be holes; `covered` says
/// whether tests run a line, counted from one.
pub(crate) fn find_ranges(
    file: &SourceFile,
    tree: &Tree,
    covered: &dyn Fn(usize) -> bool,
) -> FoundRanges {
    let mut finder = RangeFinder {
        file,
        index: LineIndex::new(&file.contents),
        statements: Vec::new(),
        prose: Vec::new(),
        ranges: Vec::new(),
    };
    finder.visit(tree.root_node(), NodeSurroundings::default());
    let statements = Nesting::new(std::mem::take(&mut finder.statements));
    finder.lines(&statements, covered);
    FoundRanges {
        statements,
        ranges: finder.ranges,
    }
}

/// A statement inside a function.
pub(crate) struct StatementSite {
    /// The line it begins in, counted from one.
    pub(crate) line: usize,
    /// True if it has statements inside.
    is_compound: bool,
}

/// Parts of a file that a model of code is not asked to complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    Comment,
    /// Text between elements of markup, or a comment in braces there.
    Markup,
    /// A statement that is nothing but a string.
    Documentation,
    Literal,
}

/// Surroundings of a node.
#[derive(Clone, Copy, Default)]
struct NodeSurroundings {
    in_function: bool,
    /// True if it is one of a block's statements.
    in_block: bool,
}

struct RangeFinder<'a> {
    file: &'a SourceFile,
    index: LineIndex,
    statements: Vec<(Range<usize>, StatementSite)>,
    prose: Vec<(Range<usize>, Prose)>,
    ranges: Vec<(HoleKind, Range<usize>)>,
}

impl RangeFinder<'_> {
    fn visit(&mut self, node: Node<'_>, place: NodeSurroundings) {
        let language = self.file.language;
        let NodeSurroundings {
            in_function,
            in_block,
        } = place;
        let prose = self.prose(node);
        self.prose
            .extend(prose.map(|prose| (node.byte_range(), prose)));
        // Statements outside of functions run at import, before any test.
        if in_function && in_block && language.is_statement(node) {
            let is_compound = is_compound(language, node);
            let site = StatementSite {
                line: self.index.number(node.start_byte()),
                is_compound,
            };
            self.statements.push((node.byte_range(), site));
            // Documentation is text, which a model of code is not asked to complete.
            if !is_compound && prose != Some(Prose::Documentation) {
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
                let place = NodeSurroundings {
                    in_function: true,
                    in_block: true,
                };
                self.visit(child, place);
            }
            let place = NodeSurroundings {
                in_function,
                in_block: self.holds_statements(node),
            };
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                // The head of a function, such as its parameters, is in the enclosing function, if
                // there is one.
                if child.id() != body.id() {
                    self.visit(child, place);
                }
            }
            self.following(body);
            return;
        }
        // Code in a class within a function runs when the function runs, so it counts as inside.
        let place = NodeSurroundings {
            in_function,
            in_block: self.holds_statements(node),
        };
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child, place);
        }
    }

    /// The body of a branch or a loop, and ranges of it.
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
            // All members together are the whole block, which is a hole already.
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
        let starts: Vec<usize> = leaves(statement, self.file.language)
            .into_iter()
            // From its first token on, the rest of a statement is the whole statement.
            .skip(1)
            .filter(|leaf| leaf.start_position().row == first_row)
            .map(|leaf| leaf.start_byte())
            .filter(|start| {
                // A rest of one letter, or of signs alone, leaves nothing to complete.
                let rest = &self.file.contents[*start..statement.end_byte()];
                rest.chars()
                    .filter(|c| c.is_alphanumeric())
                    .nth(1)
                    .is_some()
            })
            .collect();
        if starts.is_empty() {
            return;
        }
        let text = &self.file.contents[statement.byte_range()];
        // The draw depends on the statement alone, so that it is the same in every run.
        let digest = sha256_hex(format!("{}\0{text}", statement.start_byte()).as_bytes());
        let draw = usize::from_str_radix(&digest[..8], 16).unwrap_or_default();
        let start = starts[draw % starts.len()];
        self.ranges
            .push((HoleKind::Span, start..statement.end_byte()));
    }

    /// Whole lines within the statements found, headers of loops and branches among them.
    fn lines(&mut self, statements: &Nesting<StatementSite>, covered: &dyn Fn(usize) -> bool) {
        let contents = &self.file.contents;
        let prose = Nesting::new(std::mem::take(&mut self.prose));
        let lines = (0..).map_while(|line| self.index.range(line));
        for (number, bytes) in (1..).zip(lines) {
            let line = &contents[bytes.clone()];
            let start = bytes.start + (line.len() - line.trim_start().len());
            let end = bytes.start + line.trim_end().len();
            let text = line.trim();
            // Fewer than three letters and digits leave too little to complete.
            if text
                .chars()
                .filter(|c| c.is_alphanumeric())
                .nth(2)
                .is_none()
            {
                continue;
            }
            // A model of code is not asked to complete text and comments.
            let begins_in_prose = prose.around(start).any(|one| match one.value {
                Prose::Comment | Prose::Markup | Prose::Documentation => true,
                Prose::Literal => one.bytes.start < start,
            });
            let ends_in_comment = prose.around(end - 1).any(|one| one.value == Prose::Comment);
            if begins_in_prose || ends_in_comment {
                continue;
            }
            let Some(statement) = statements.around(start).next() else {
                continue;
            };
            // A line inside a longer statement runs when the statement does.
            let runs = if statement.bytes.start == start {
                statement.value.line == number
            } else {
                !statement.value.is_compound || covered(number)
            };
            if runs {
                self.ranges.push((HoleKind::Line, start..end));
            }
        }
    }

    /// Returns the kind of a node that holds no code.
    fn prose(&self, node: Node<'_>) -> Option<Prose> {
        let language = self.file.language;
        if language.is_comment(node) {
            Some(Prose::Comment)
        } else if language.is_string(node) {
            Some(Prose::Literal)
        } else if self.is_documentation(node) {
            Some(Prose::Documentation)
        } else if self.is_text_of_markup(node) {
            Some(Prose::Markup)
        } else {
            None
        }
    }

    /// True for `Hello`, `&amp;` and `{/* why */}` of
    /// `<p>Hello &amp; {/* why */}</p>`.
    fn is_text_of_markup(&self, node: Node<'_>) -> bool {
        let rules = LanguageSupport::for_language(self.file.language).category;
        let part = rules
            .markup
            .and_then(|(prefix, _)| node.kind().strip_prefix(prefix));
        match part {
            Some("text") => true,
            // As in `&nbsp;word`.
            None => node.kind() == "html_character_reference",
            Some("expression") => {
                let mut cursor = node.walk();
                let is_comment = |child| self.file.language.is_comment(child);
                node.named_children(&mut cursor).all(is_comment)
            }
            _ => false,
        }
    }

    /// True if a statement is nothing but a string, as documentation is in Python.
    fn is_documentation(&self, statement: Node<'_>) -> bool {
        statement.kind() == "expression_statement"
            && statement.named_child_count() == 1
            && statement
                .named_child(0)
                .is_some_and(|child| self.file.language.strings.contains(&child.kind()))
    }

    /// True if a node's children that are statements are those of a block.
    fn holds_statements(&self, node: Node<'_>) -> bool {
        let rules = &LanguageSupport::for_language(self.file.language).holes;
        self.file.language.is_block(node) || rules.case_blocks.contains(&node.kind())
    }
}

/// True if a statement has statements inside.
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
