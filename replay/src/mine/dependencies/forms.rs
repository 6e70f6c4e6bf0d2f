//! How much of a definition is shown.

use std::ops::Range;

use tree_sitter::Node;

use super::super::SourceFile;
use super::definitions::{Definition, Sort};

/// How much of a definition is shown: the three sizes of RepoExec's contexts, §5.1 of
/// [its paper](https://arxiv.org/abs/2406.11927).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All of it.
    Whole,
    /// Signature and documentation: bodies of functions and classes are left out, but for their
    /// members' signatures and documentation.
    Documented,
    /// The signature alone, a class's with those of its members.
    Signature,
}

/// A definition in a form, moved to the left margin. What has no body to leave out, a variable or
/// a type, is whole in each. The shorter forms leave out Python's decorators and the variables of
/// its classes, as RepoExec's data has it.
pub(super) fn shown(
    definition: &Definition,
    root: Node<'_>,
    file: &SourceFile,
    form: Form,
) -> String {
    let has_body = matches!(definition.sort, Sort::Function | Sort::Class);
    let core = &definition.core;
    let short = root
        .descendant_for_byte_range(core.start, core.end)
        .filter(|_| form != Form::Whole && has_body)
        .and_then(|core| with_body(core, file));
    let mut shown = Shown {
        file,
        documented: form == Form::Documented,
        lines: Vec::new(),
    };
    match short {
        Some(node) => {
            let start = if file.language.indented_blocks {
                node.start_byte()
            } else {
                if shown.documented && definition.range.start < definition.statement {
                    shown.put(definition.range.start..definition.statement);
                }
                definition.statement
            };
            shown.definition(node, start);
        }
        None if form == Form::Signature => shown.put(definition.statement..definition.range.end),
        None => shown.put(definition.range.clone()),
    }
    at_the_margin(&shown.lines)
}

struct Shown<'a> {
    file: &'a SourceFile,
    documented: bool,
    lines: Vec<String>,
}

impl Shown<'_> {
    /// A function or class from where its header begins.
    fn definition(&mut self, node: Node<'_>, start: usize) {
        let Some(body) = node.child_by_field_name("body") else {
            return self.put(start..node.end_byte());
        };
        let is_class = !self.file.language.is_function(node);
        if self.file.language.indented_blocks {
            // A comment after the colon may belong to the body.
            let colon = self.file.contents[start..body.start_byte()].rfind(':');
            self.put(start..colon.map_or(body.start_byte(), |colon| start + colon + 1));
            if self.documented
                && let Some(documentation) = documentation(body)
            {
                self.put(documentation.byte_range());
            }
            if is_class {
                self.members_of_python(body);
            }
        } else if is_class {
            self.put(start..body.start_byte() + 1);
            self.members_of_typescript(body);
            self.put(body.end_byte() - 1..body.end_byte());
        } else {
            self.put(start..body.start_byte());
        }
    }

    fn members_of_python(&mut self, body: Node<'_>) {
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            let member = member.child_by_field_name("definition").unwrap_or(member);
            if self.file.language.is_definition(member) {
                if self.documented {
                    self.lines.push(String::new());
                }
                self.definition(member, member.start_byte());
            }
        }
    }

    fn members_of_typescript(&mut self, body: Node<'_>) {
        let mut cursor = body.walk();
        let mut comment: Option<Node<'_>> = None;
        for member in body.named_children(&mut cursor) {
            if self.file.language.is_comment(member) {
                comment = Some(member);
                continue;
            }
            if let Some(comment) = comment.take().filter(|_| self.documented) {
                self.put(comment.byte_range());
            }
            match with_body(member, self.file) {
                Some(node) => self.definition(node, member.start_byte()),
                None => self.put(member.byte_range()),
            }
        }
    }

    /// A stretch of the file, line by line, its first indented as it is there.
    fn put(&mut self, range: Range<usize>) {
        let contents = &self.file.contents;
        let line = contents[..range.start].rfind('\n').map_or(0, |end| end + 1);
        let before = &contents[line..range.start];
        let indentation = &before[..before.len() - before.trim_start().len()];
        let text = format!("{indentation}{}", contents[range].trim_end());
        self.lines.extend(text.lines().map(str::to_owned));
    }
}

/// The function or class of a definition, where it has a body.
fn with_body<'t>(core: Node<'t>, file: &SourceFile) -> Option<Node<'t>> {
    if core.child_by_field_name("body").is_some() {
        return Some(core);
    }
    let mut cursor = core.walk();
    core.named_children(&mut cursor)
        .chain(core.child_by_field_name("value"))
        .find_map(|child| match child.kind() {
            "variable_declarator" => with_body(child, file),
            _ => file.language.is_function(child).then_some(child),
        })
}

/// The string that documents a body of Python.
fn documentation(body: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = body.walk();
    let first = body
        .named_children(&mut cursor)
        .find(|child| child.kind() != "comment")?;
    let string = first.named_child(0)?;
    (first.kind() == "expression_statement" && string.kind() == "string").then_some(string)
}

/// The lines without the first one's indentation.
fn at_the_margin(lines: &[String]) -> String {
    let first = lines.first().map_or("", String::as_str);
    let margin = first.len() - first.trim_start().len();
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| {
            let blank = line.len() - line.trim_start().len();
            &line[blank.min(margin)..]
        })
        .collect();
    lines.join("\n")
}
