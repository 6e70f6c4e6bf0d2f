//! Outlines of definitions, in the details that a model sees.

use std::ops::Range;

use tree_sitter::Node;

use super::definitions::{Definition, DefinitionKind};
use super::source::SourceFile;

/// Level of detail at which a model sees a definition: the three sizes of RepoExec's contexts, §5.1
/// of [its paper](https://arxiv.org/abs/2406.11927).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All of it.
    Whole,
    /// Signature and documentation: bodies of functions and classes are left out, but for their
    /// members' signatures and documentation.
    Documented,
    /// The same without the empty lines of docstrings and their lines that begin with `@`.
    Condensed,
    /// The signature alone, a class's with those of its members.
    Signature,
}

/// Writes a definition without its body; the node is the definition's.
pub(crate) type OutlineWriter = for<'t> fn(&mut Outline<'_>, &Definition, Node<'t>);

/// Returns a definition at a level of detail, moved to the left margin. A definition without a body
/// to leave out, such as a variable or a type, is complete at each level, but [`Detail::Signature`]
/// omits documentation before it.
pub fn outline(
    write: OutlineWriter,
    definition: &Definition,
    root: Node<'_>,
    file: &SourceFile,
    detail: Detail,
) -> String {
    let has_body = matches!(
        definition.kind,
        DefinitionKind::Function | DefinitionKind::Class
    );
    let core = &definition.core;
    let short = root
        .descendant_for_byte_range(core.start, core.end)
        .filter(|_| detail != Detail::Whole && has_body)
        .and_then(|core| with_body(core, file));
    let mut outline = Outline {
        file,
        documented: matches!(detail, Detail::Documented | Detail::Condensed),
        condensed: detail == Detail::Condensed,
        lines: Vec::new(),
    };
    match short {
        Some(node) => write(&mut outline, definition, node),
        None if detail == Detail::Signature => {
            outline.put(definition.statement..definition.range.end);
        }
        None => outline.put(definition.range.clone()),
    }
    at_the_margin(&outline.lines)
}

/// The lines of a definition that is written without its bodies.
pub struct Outline<'a> {
    /// The file of the definition.
    pub file: &'a SourceFile,
    /// True if the outline includes documentation.
    pub documented: bool,
    /// True if docstrings lack their empty lines and those that begin with `@`.
    condensed: bool,
    lines: Vec<String>,
}

impl Outline<'_> {
    /// Adds a range of the file line by line. The first line keeps its indentation.
    pub(crate) fn put(&mut self, range: Range<usize>) {
        let indentation = self.indentation(range.start);
        let text = format!("{indentation}{}", self.file.contents[range].trim_end());
        self.lines.extend(text.lines().map(str::to_owned));
    }

    /// Adds the signature of a member, its lines after the first moved right by its indentation.
    pub(crate) fn put_member_signature(&mut self, range: Range<usize>) {
        let indentation = self.indentation(range.start).to_owned();
        // `put` indents the first line already.
        let second = self.lines.len() + 1;
        self.put(range);
        for line in self.lines.iter_mut().skip(second) {
            line.insert_str(0, &indentation);
        }
    }

    /// Adds a docstring, each line indented as its first.
    pub(crate) fn put_docstring(&mut self, range: Range<usize>) {
        let indentation = self.indentation(range.start).to_owned();
        for line in self.file.contents[range].lines().map(str::trim) {
            match line {
                "" if self.condensed => {}
                "" => self.put_blank_line(),
                _ if self.condensed && line.starts_with('@') => {}
                _ => self.lines.push(format!("{indentation}{line}")),
            }
        }
    }

    /// Returns the blanks at the start of the line of byte `at`.
    fn indentation(&self, at: usize) -> &str {
        let line = self.file.line_start(at);
        let before = &self.file.contents[line..at];
        &before[..before.len() - before.trim_start().len()]
    }

    /// Adds the comment before a definition, if documentation is wanted.
    pub(crate) fn put_comment(&mut self, definition: &Definition) {
        if self.documented && definition.range.start < definition.statement {
            self.put(definition.range.start..definition.statement);
        }
    }

    /// Adds a function or class in braces from the start of its header: a function without its
    /// body, a class with its members, which `put_member` adds.
    pub(crate) fn put_in_braces(
        &mut self,
        node: Node<'_>,
        start: usize,
        put_member: fn(&mut Self, Node<'_>),
    ) {
        let Some(body) = node.child_by_field_name("body") else {
            return self.put(start..node.end_byte());
        };
        if self.file.language.is_function(node) {
            return self.put(start..body.start_byte());
        }
        // The first and the last byte of the body are its braces.
        self.put(start..body.start_byte() + 1);
        self.put_members(body, put_member);
        self.put(body.end_byte() - 1..body.end_byte());
    }

    /// Adds the members of a body, each with the comment before it if documentation is wanted.
    pub(crate) fn put_members(&mut self, body: Node<'_>, put_member: fn(&mut Self, Node<'_>)) {
        let mut cursor = body.walk();
        let mut comment: Option<Node<'_>> = None;
        for member in body.named_children(&mut cursor) {
            if self.file.language.is_comment(member) {
                // Of several comments, the last one is right above the member.
                comment = Some(member);
                continue;
            }
            if let Some(comment) = comment.take().filter(|_| self.documented) {
                self.put(comment.byte_range());
            }
            put_member(self, member);
        }
    }

    /// Adds an empty line.
    pub(crate) fn put_blank_line(&mut self) {
        self.lines.push(String::new());
    }
}

/// The function or class of a definition, if it has a body.
pub fn with_body<'t>(core: Node<'t>, file: &SourceFile) -> Option<Node<'t>> {
    if core.child_by_field_name("body").is_some() {
        return Some(core);
    }
    // In `const f = () => …`, the function is the value of the declarator.
    let mut cursor = core.walk();
    core.named_children(&mut cursor)
        .chain(core.child_by_field_name("value"))
        .find_map(|child| match child.kind() {
            "variable_declarator" => with_body(child, file),
            _ => file.language.is_function(child).then_some(child),
        })
}

/// The lines without the first one's indentation.
fn at_the_margin(lines: &[String]) -> String {
    let first = lines.first().map_or("", String::as_str);
    let margin = first.len() - first.trim_start().len();
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| {
            // A line that is indented less than the first one loses only what it has.
            let blank = line.len() - line.trim_start().len();
            &line[blank.min(margin)..]
        })
        .collect();
    lines.join("\n")
}
