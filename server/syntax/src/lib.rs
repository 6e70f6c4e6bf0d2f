//! Programming languages through tree-sitter: one table row each. A new language is one file
//! in this folder and one line in [`LANGUAGES`]; nothing else in the server names a language or a
//! node kind.

mod csharp;
mod extent;
mod go;
mod imports;
mod java;
mod python;
pub mod spelling;
pub mod text;
mod typescript;

use std::path::Path;

use tree_sitter::{Node, Parser, Tree};

pub use extent::CompletionExtent;
pub use imports::{ImportedModule, module_path};

/// What the rest of the product needs to know of a language. Node kinds are tree-sitter's.
pub struct Language {
    /// The protocol's language identifier, e.g. `typescriptreact`.
    pub id: &'static str,
    /// The name reports group by: `typescript` for both of its grammars.
    pub name: &'static str,
    /// File endings without the dot.
    pub extensions: &'static [&'static str],
    /// What starts a comment that runs to the end of its line.
    pub line_comment: &'static str,
    /// Reserved words, which are no identifiers.
    pub keywords: &'static [&'static str],
    /// Kinds of a complete statement, simple or compound, definitions included.
    pub statements: &'static [&'static str],
    /// Kinds whose named children are statements or members.
    pub blocks: &'static [&'static str],
    /// Kinds of a statement's part that holds a block, such as `else`.
    pub clauses: &'static [&'static str],
    /// Kinds of a function or method, whose `body` field is its body.
    pub functions: &'static [&'static str],
    /// Kinds of a function, class, interface or the like: what a reader calls one thing.
    pub definitions: &'static [&'static str],
    /// Kinds of a string literal.
    pub strings: &'static [&'static str],
    /// Kinds of a comment.
    pub comments: &'static [&'static str],
    /// What begins and ends string literals, a longer mark before those it begins with.
    pub quotes: &'static [Quote],
    /// Tokens that open a bracket which one of `)`, `]` and `}` closes.
    pub opening_brackets: &'static [&'static str],
    /// Whether indentation, rather than braces, delimits a block.
    pub indented_blocks: bool,
    /// A statement that fails whenever it runs. Tests that let it pass do not reach the hole.
    pub raising_statement: &'static str,
    /// What an import leaves out at the end of a file's name, a longer ending before those it
    /// ends with.
    module_endings: &'static [&'static str],
    /// The name, without its ending, of the file that stands for its folder in imports; empty if
    /// there is none.
    folder_module: &'static str,
    /// The modules that a node imports; `None` if the node is no import. The text is the file's,
    /// the path that of its folder.
    imports: fn(Node<'_>, &str, &str) -> Option<Vec<ImportedModule>>,
    grammar: fn() -> tree_sitter::Language,
}

/// What begins and ends a string literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The mark on both sides.
    pub mark: &'static str,
    /// Whether the literal may go on over line ends.
    pub spans_lines: bool,
}

/// The line comment where the language is unknown.
const DEFAULT_LINE_COMMENT: &str = "#";

/// Every language there is.
pub static LANGUAGES: [&Language; 7] = [
    &python::PYTHON,
    &typescript::TYPESCRIPT,
    &typescript::TYPESCRIPT_REACT,
    &typescript::JAVASCRIPT,
    &go::GO,
    &java::JAVA,
    &csharp::CSHARP,
];

impl Language {
    /// The language with this protocol identifier.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        LANGUAGES.into_iter().find(|language| language.id == id)
    }

    /// The language of a file, by its ending.
    pub fn for_path(path: &Path) -> Option<&'static Self> {
        let extension = path.extension()?.to_str()?;
        LANGUAGES
            .into_iter()
            .find(|language| language.extensions.contains(&extension))
    }

    /// The protocol identifier of a file's language, for clients that know only its path: an unknown
    /// ending names its language itself.
    pub fn protocol_id(path: &Path) -> String {
        if let Some(language) = Self::for_path(path) {
            return language.id.to_owned();
        }
        let ending = path.extension().or(path.file_name()).unwrap_or_default();
        ending.to_string_lossy().to_lowercase()
    }

    /// What starts a line comment in a file of this language, `#` if the language is unknown.
    pub fn line_comment_of(language: Option<&Self>) -> &'static str {
        language.map_or(DEFAULT_LINE_COMMENT, |language| language.line_comment)
    }

    /// The tree-sitter grammar.
    pub fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    /// A parser for this language.
    pub fn parser(&self) -> Parser {
        let mut parser = Parser::new();
        parser
            .set_language(&self.grammar())
            .expect("every grammar in the table is of an ABI this tree-sitter reads: tested");
        parser
    }

    /// The syntax tree of a text. Faulty text gives a tree too, with ERROR nodes.
    pub fn parse(&self, text: &str) -> Tree {
        self.parser()
            .parse(text, None)
            .expect("parsing ends early only on a time-out or a cancel, and neither is set")
    }

    /// The syntax tree of a text that was edited, from the earlier tree, to which the edit has
    /// been applied.
    pub fn parse_again(&self, text: &str, earlier: &Tree) -> Tree {
        self.parser()
            .parse(text, Some(earlier))
            .expect("parsing ends early only on a time-out or a cancel, and neither is set")
    }

    /// Whether a text parses without ERROR and MISSING nodes.
    pub fn parses(&self, text: &str) -> bool {
        !self.parse(text).root_node().has_error()
    }

    /// Whether a node is a statement.
    pub fn is_statement(&self, node: Node<'_>) -> bool {
        self.statements.contains(&node.kind())
    }

    /// Whether a node's named children are statements or members.
    pub fn is_block(&self, node: Node<'_>) -> bool {
        self.blocks.contains(&node.kind())
    }

    /// Whether a node is a function or method.
    pub fn is_function(&self, node: Node<'_>) -> bool {
        self.functions.contains(&node.kind())
    }

    /// Whether a node is a definition.
    pub fn is_definition(&self, node: Node<'_>) -> bool {
        self.definitions.contains(&node.kind())
    }

    /// Whether a node is a comment.
    pub fn is_comment(&self, node: Node<'_>) -> bool {
        self.comments.contains(&node.kind())
    }

    /// Whether a node is a string literal.
    pub fn is_string(&self, node: Node<'_>) -> bool {
        self.strings.contains(&node.kind())
    }

    /// Whether a node is a part of a statement that holds a block.
    pub fn is_clause(&self, node: Node<'_>) -> bool {
        self.clauses.contains(&node.kind())
    }

    /// The modules that the imports in a node name, in order, for a file in `folder`. Imports
    /// inside of functions count too, those deep in expressions don't.
    pub fn imported_modules(
        &self,
        root: Node<'_>,
        text: &str,
        folder: &str,
    ) -> Vec<ImportedModule> {
        imports::find(self, root, text, folder)
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.id)
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Language {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_loads_and_knows_its_kinds() {
        for language in LANGUAGES {
            let grammar = language.grammar();
            let _ = language.parse("x");
            let kinds = [
                language.statements,
                language.blocks,
                language.functions,
                language.definitions,
                language.strings,
                language.comments,
                language.clauses,
            ];
            for kind in kinds.concat() {
                assert_ne!(
                    grammar.id_for_node_kind(kind, true),
                    0,
                    "{} has no node kind {kind}",
                    language.id
                );
            }
        }
    }

    #[test]
    fn files_are_told_by_their_ending() {
        let id = |path: &str| Language::for_path(Path::new(path)).map(|language| language.id);
        assert_eq!(id("a/b.py"), Some("python"));
        assert_eq!(id("a/b.test.ts"), Some("typescript"));
        assert_eq!(id("b.tsx"), Some("typescriptreact"));
        assert_eq!(id("c.test.mjs"), Some("javascript"));
        assert_eq!(id("a/b_test.go"), Some("go"));
        assert_eq!(id("a/B.java"), Some("java"));
        assert_eq!(id("a/B.cs"), Some("csharp"));
        assert_eq!(id("README"), None);
    }

    #[test]
    fn opening_brackets_are_tokens_of_the_grammar() {
        for language in LANGUAGES {
            for bracket in language.opening_brackets {
                let kind = language.grammar().id_for_node_kind(bracket, false);
                assert_ne!(kind, 0, "{} has no token {bracket}", language.id);
            }
        }
    }

    #[test]
    fn a_raising_statement_is_one_statement() {
        for language in LANGUAGES {
            let tree = language.parse(language.raising_statement);
            assert!(!tree.root_node().has_error());
            assert_eq!(tree.root_node().named_child_count(), 1);
        }
    }
}
