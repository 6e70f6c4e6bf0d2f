//! Programming languages through tree-sitter: one table row each. A new language is one file
//! here and one line in [`LANGUAGES`].

mod python;
mod typescript;

use std::path::Path;

use tree_sitter::{Node, Parser, Tree};

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
    /// Kinds of a function or method, whose `body` field is its body.
    pub functions: &'static [&'static str],
    /// Kinds of a function, class, interface or the like: what a reader calls one thing.
    pub definitions: &'static [&'static str],
    /// Kinds of a string literal.
    pub strings: &'static [&'static str],
    /// Kinds of a comment.
    pub comments: &'static [&'static str],
    /// Whether indentation, rather than braces, delimits a block.
    pub indented_blocks: bool,
    /// A statement that fails whenever it runs. Tests that let it pass do not reach the place.
    pub raising_statement: &'static str,
    grammar: fn() -> tree_sitter::Language,
}

/// Every language there is.
pub static LANGUAGES: [&Language; 4] = [
    &python::PYTHON,
    &typescript::TYPESCRIPT,
    &typescript::TYPESCRIPT_REACT,
    &typescript::JAVASCRIPT,
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

    /// The syntax tree of a text that was edited, from the tree before, which has been told of
    /// the edit.
    pub fn parse_again(&self, text: &str, before: &Tree) -> Tree {
        self.parser()
            .parse(text, Some(before))
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
        assert_eq!(id("README"), None);
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
