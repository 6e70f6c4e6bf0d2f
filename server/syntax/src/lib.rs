//! Programming languages through tree-sitter: one table row each. A new language is one file
//! in this folder and one line in [`LANGUAGES`]; nothing else in the server names a language or a
//! node kind.

mod brackets;
mod csharp;
mod extent;
mod go;
mod imports;
mod java;
mod python;
pub mod spelling;
mod strings;
pub mod text;
mod typescript;

use std::path::Path;

use tree_sitter::{Node, Parser, Point, Tree};

use crate::text::{ByteOffset, Text};

pub use brackets::{Bracket, brackets};
pub use extent::CompletionExtent;
pub use imports::{ImportedModule, module_path};
pub use strings::OpenText;

/// Description of a language: its grammar and its node kinds, as tree-sitter names them.
pub struct Language {
    /// The protocol's language identifier, e.g. `typescriptreact`.
    pub id: &'static str,
    /// The name reports group by: `typescript` for both of its grammars.
    pub name: &'static str,
    /// File endings without the dot.
    pub extensions: &'static [&'static str],
    /// Mark that starts a comment up to the end of the line.
    pub line_comment: &'static str,
    /// Reserved words, which are no identifiers.
    pub keywords: &'static [&'static str],
    /// Kinds of a complete statement, simple or compound, definitions included.
    pub statements: &'static [&'static str],
    /// Kinds whose named children are statements or members.
    pub blocks: &'static [&'static str],
    /// Kinds whose braces hold the cases of a `switch` or similar statement, or the properties of a
    /// type.
    pub switch_bodies: &'static [&'static str],
    /// Kinds of a statement's part that holds a block, such as `else`.
    pub clauses: &'static [&'static str],
    /// Kinds of a function or method, whose `body` field is its body.
    pub functions: &'static [&'static str],
    /// Kinds of a function, class, interface or similar.
    pub definitions: &'static [&'static str],
    /// Kinds of a string literal.
    pub strings: &'static [&'static str],
    /// Kinds of the code in a string literal.
    pub interpolations: &'static [&'static str],
    /// Kinds of a comment.
    pub comments: &'static [&'static str],
    /// Marks of string literals. A longer mark precedes those that are its prefixes.
    pub quotes: &'static [Quote],
    /// Tokens that open a bracket closed by `)`, `]` or `}`.
    pub opening_brackets: &'static [&'static str],
    /// True if most definitions of a file are outside of all others, and begin at the first column:
    /// then the statements near a place can be parsed without the rest of the file.
    pub has_flat_files: bool,
    /// True if it has literals of regular expressions, between slashes.
    has_regular_expressions: bool,
    /// True if indentation, rather than braces, delimits a block.
    pub indented_blocks: bool,
    /// A statement that fails whenever it runs. A test that passes with it does not reach the hole.
    pub raising_statement: &'static str,
    /// Endings of file names that imports omit. A longer ending precedes those that are its
    /// suffixes.
    module_endings: &'static [&'static str],
    /// Name, without its ending, of the file that imports name by its folder, such as `index`;
    /// empty if the language has none.
    folder_module: &'static str,
    /// Words of which every import has at least one.
    import_words: &'static [&'static str],
    /// The modules that a node imports; `None` if the node is not an import. The text is the
    /// file's, the path that of its folder.
    imports: fn(Node<'_>, &str, &str) -> Option<Vec<ImportedModule>>,
    grammar: fn() -> tree_sitter::Language,
}

/// Delimiter of a string literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The mark at its start.
    pub start: &'static str,
    /// The mark at its end.
    pub mark: &'static str,
    /// True if the literal may continue over line ends.
    pub spans_lines: bool,
    /// True if a backslash in the literal escapes nothing.
    pub is_raw: bool,
}

impl Quote {
    /// A literal that ends with its line.
    const fn on_one_line(mark: &'static str) -> Self {
        Self {
            start: mark,
            mark,
            spans_lines: false,
            is_raw: false,
        }
    }

    /// A literal that may continue over line ends.
    const fn across_lines(mark: &'static str) -> Self {
        Self {
            spans_lines: true,
            ..Self::on_one_line(mark)
        }
    }

    /// A literal that may continue over line ends and in which a backslash escapes nothing.
    const fn raw(mark: &'static str) -> Self {
        Self {
            is_raw: true,
            ..Self::across_lines(mark)
        }
    }

    /// A raw literal that begins with another mark than it ends with.
    const fn raw_between(start: &'static str, mark: &'static str) -> Self {
        Self {
            start,
            ..Self::raw(mark)
        }
    }
}

/// Line comment of an unknown language.
const DEFAULT_LINE_COMMENT: &str = "#";

/// All supported languages.
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
    /// Returns the language with this protocol identifier.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        LANGUAGES.into_iter().find(|language| language.id == id)
    }

    /// Returns the language of a file, by its ending.
    pub fn for_path(path: &Path) -> Option<&'static Self> {
        let extension = path.extension()?.to_str()?;
        LANGUAGES
            .into_iter()
            .find(|language| language.extensions.contains(&extension))
    }

    /// Returns the protocol identifier of a file's language, for clients that know only its path.
    /// For an unknown ending, it is the ending itself.
    pub fn protocol_id(path: &Path) -> String {
        if let Some(language) = Self::for_path(path) {
            return language.id.to_owned();
        }
        // A file without an ending, such as `Makefile`, is known by its name.
        let ending = path.extension().or(path.file_name()).unwrap_or_default();
        ending.to_string_lossy().to_lowercase()
    }

    /// Returns the mark that starts a line comment in this language; `#` if the language is
    /// unknown.
    pub fn line_comment_of(language: Option<&Self>) -> &'static str {
        language.map_or(DEFAULT_LINE_COMMENT, |language| language.line_comment)
    }

    /// The tree-sitter grammar.
    pub fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    /// Creates a parser for this language.
    pub fn parser(&self) -> Parser {
        let mut parser = Parser::new();
        parser
            .set_language(&self.grammar())
            .expect("every grammar in the table is of an ABI this tree-sitter reads: tested");
        parser
    }

    /// Parses a text. A faulty text gives a tree with ERROR nodes.
    pub fn parse(&self, text: &str) -> Tree {
        self.parser()
            .parse(text, None)
            .expect("parsing ends early only on a time-out or a cancel, and neither is set")
    }

    /// The syntax tree of the concatenation of some texts, from an earlier tree to which the edits
    /// have been applied.
    pub fn parse_parts(&self, parts: &[&str], earlier: Option<&Tree>) -> Tree {
        // Tree-sitter asks for the text piece by piece; an empty piece is the end.
        let mut read = |offset: usize, _: Point| {
            let mut at = offset;
            for part in parts {
                match part.as_bytes().get(at..) {
                    Some(rest) if !rest.is_empty() => return rest,
                    // An offset at the part's end or past it is in a later part.
                    _ => at -= part.len(),
                }
            }
            &[]
        };
        self.parse_read(&mut read, earlier)
    }

    /// The syntax tree of a document's text, from an earlier tree to which the edits have
    /// been applied.
    pub fn parse_text(&self, text: &Text, earlier: Option<&Tree>) -> Tree {
        self.parse_read(
            &mut |offset, _| text.bytes_from(ByteOffset(offset)),
            earlier,
        )
    }

    fn parse_read<'t>(
        &self,
        read: &mut impl FnMut(usize, Point) -> &'t [u8],
        earlier: Option<&Tree>,
    ) -> Tree {
        self.parser()
            .parse_with_options(read, earlier, None)
            .expect("parsing ends early only on a time-out or a cancel, and neither is set")
    }

    /// True if a text parses without ERROR and MISSING nodes.
    pub fn parses(&self, text: &str) -> bool {
        !self.parse(text).root_node().has_error()
    }

    /// True if a node is a statement.
    pub fn is_statement(&self, node: Node<'_>) -> bool {
        self.statements.contains(&node.kind())
    }

    /// True if a node's named children are statements or members.
    pub fn is_block(&self, node: Node<'_>) -> bool {
        self.blocks.contains(&node.kind())
    }

    /// True if a node's braces hold the cases of a `switch` or similar statement.
    pub fn is_switch_body(&self, node: Node<'_>) -> bool {
        self.switch_bodies.contains(&node.kind())
    }

    /// True if a node is a function or method.
    pub fn is_function(&self, node: Node<'_>) -> bool {
        self.functions.contains(&node.kind())
    }

    /// True if a node is a definition.
    pub fn is_definition(&self, node: Node<'_>) -> bool {
        self.definitions.contains(&node.kind())
    }

    /// True if a node is a comment.
    pub fn is_comment(&self, node: Node<'_>) -> bool {
        self.comments.contains(&node.kind())
    }

    /// True if a node is a string literal.
    pub fn is_string(&self, node: Node<'_>) -> bool {
        self.strings.contains(&node.kind())
    }

    /// True if a node is a part of a statement that holds a block.
    pub fn is_clause(&self, node: Node<'_>) -> bool {
        self.clauses.contains(&node.kind())
    }

    /// True if a word begins a part of a statement that holds a block, such as `else`.
    pub fn begins_clause(&self, word: &str) -> bool {
        let mut clauses = self.clauses.iter();
        // A clause's kind is named after its word: `else_clause`.
        clauses.any(|clause| clause.strip_suffix("_clause") == Some(word))
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
                language.interpolations,
                language.comments,
                language.clauses,
                language.switch_bodies,
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
    fn parts_parse_as_their_concatenation() {
        let text = "def größe(a):\n    x = '''é\n'''\n    return [a, \"b\"]\n\nclass K:\n    def m(self): pass\n";
        let python = &python::PYTHON;
        let whole = python.parse(text).root_node().to_sexp();
        let boundaries = || (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        for first in boundaries() {
            for second in boundaries().filter(|second| *second >= first) {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                let parsed = python.parse_parts(&parts, None);
                assert_eq!(parsed.root_node().to_sexp(), whole, "{first} {second}");
            }
        }
        let long = text.repeat(200);
        let parsed = python.parse_text(&Text::new(&long), None);
        let expected = python.parse(&long);
        assert_eq!(parsed.root_node().to_sexp(), expected.root_node().to_sexp());
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
