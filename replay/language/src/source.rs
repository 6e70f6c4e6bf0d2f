//! A file of a repository.

use fillrate_syntax::Language;
use fillrate_syntax::text::line_start;
use tree_sitter::Node;

/// A file that holes may be cut into.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// Its text.
    pub contents: String,
    /// Its language.
    pub language: &'static Language,
}

impl SourceFile {
    /// The text of a node of the file's syntax tree.
    pub fn text(&self, node: Node<'_>) -> &str {
        &self.contents[node.byte_range()]
    }

    /// The byte at which the line begins that a byte stands in.
    pub fn line_start(&self, byte: usize) -> usize {
        line_start(&self.contents, byte)
    }
}
