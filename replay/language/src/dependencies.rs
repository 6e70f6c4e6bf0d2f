//! How a language's imports and definitions are found and shown.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::definitions::Definitions;
use super::imports::Import;
use super::outline::OutlineWriter;
use super::source::SourceFile;

/// How a language imports and defines things. Kinds are tree-sitter's.
pub struct DependencyRules {
    /// Kinds of statements that import, from anywhere.
    pub import_statements: &'static [&'static str],
    /// What a statement imports from the repository, whose paths are `files`; `None` if the node
    /// is no such statement.
    pub imports: fn(Node<'_>, &SourceFile, files: &BTreeSet<&str>) -> Option<Vec<Import>>,
    /// Adds what a file defines in its outermost scope and what it exports.
    pub define: fn(Node<'_>, &SourceFile, files: &BTreeSet<&str>, &mut Definitions),
    /// The files that a module may be, as [`Import::from`] names it, the likeliest first; the
    /// file of that very name aside.
    pub module_files: fn(&str, files: &BTreeSet<&str>) -> Vec<String>,
    /// Whether a folder is a module without a file of its own.
    pub is_package: fn(files: &BTreeSet<&str>, folder: &str) -> bool,
    /// What a class calls its constructor.
    pub constructor: &'static str,
    /// Kinds of statements and declarators around a definition that are part of it.
    pub definition_wrappers: &'static [&'static str],
    /// Writes a definition without its body.
    pub outline: OutlineWriter,
}
