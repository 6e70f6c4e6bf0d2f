//! Rules for finding and showing a language's imports and definitions.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::definitions::Definitions;
use super::imports::Import;
use super::outline::OutlineWriter;
use super::source::SourceFile;

/// A language's rules for imports and definitions. Kinds are tree-sitter's.
pub struct DependencyRules {
    /// Kinds of statements that import, from anywhere.
    pub import_statements: &'static [&'static str],
    /// Returns what a statement imports from the repository, whose paths are `files`; `None` if the
    /// node is not such a statement.
    pub imports: fn(Node<'_>, &SourceFile, files: &BTreeSet<&str>) -> Option<Vec<Import>>,
    /// Adds what a file defines in its outermost scope and what it exports.
    pub define: fn(Node<'_>, &SourceFile, files: &BTreeSet<&str>, &mut Definitions),
    /// Returns the files that a module may be, as [`Import::from`] names it, the likeliest first;
    /// without the file of exactly that name.
    pub module_files: fn(&str, files: &BTreeSet<&str>) -> Vec<String>,
    /// True if a folder is a module without a file of its own.
    pub is_package: fn(files: &BTreeSet<&str>, folder: &str) -> bool,
    /// Name of a class's constructor.
    pub constructor: &'static str,
    /// Kinds of statements and declarators around a definition that are part of it.
    pub definition_wrappers: &'static [&'static str],
    /// Writes a definition without its body.
    pub outline: OutlineWriter,
}
