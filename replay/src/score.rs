//! What text metrics need to know of a language's syntax.

use std::collections::BTreeSet;
use std::path::Path;

use fillrate_metrics::ScoringSyntax;
use fillrate_server::syntax::Language;
use tree_sitter::{Node, Parser};

/// A language as CrossCodeEval's scorer sees it: where a statement ends, and which words are no
/// identifiers. That is less than a grammar, so Java and C# can be scored too.
#[derive(Debug, Clone, Copy)]
pub struct ScoringLanguage {
    /// The language's name, e.g. `typescript` for both of its grammars.
    pub name: &'static str,
    /// The grammar that finds a statement's end, if indentation delimits the language's blocks.
    grammar: Option<&'static Language>,
    keywords: &'static [&'static str],
}

impl ScoringSyntax for ScoringLanguage {
    fn keywords(&self) -> &[&str] {
        self.keywords
    }

    fn indented_blocks(&self) -> bool {
        self.grammar.is_some()
    }

    /// Parses each prefix from scratch: an incremental parse may recover from an error in another
    /// way and so answer differently. The reference gives up a parse after five seconds and a tree
    /// deeper than Python's recursion limit; this does not.
    fn first_parsing_end(&self, text: &str, ends: &[usize]) -> Option<usize> {
        let mut parser = self.grammar?.parser();
        let mut ends = ends.iter().copied();
        ends.find(|&end| parses_without_error_node(&mut parser, &text[..end]))
    }
}

impl ScoringLanguage {
    /// CrossCodeEval's four languages, and JavaScript.
    pub const NAMES: [&'static str; 5] = ["python", "java", "typescript", "csharp", "javascript"];

    /// Returns the language of this name; one of [`ScoringLanguage::NAMES`], or a language of the
    /// server's table.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "java" => Some(JAVA),
            "csharp" => Some(CSHARP),
            _ => fillrate_server::syntax::LANGUAGES
                .into_iter()
                .find(|language| language.name == name)
                .map(Self::from),
        }
    }

    /// The language of a file, by its ending.
    pub fn for_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "java" => Some(JAVA),
            "cs" => Some(CSHARP),
            _ => Language::for_path(path).map(Self::from),
        }
    }
}

impl From<&'static Language> for ScoringLanguage {
    /// The keywords are those of the scorer where it knows the language (its lists are shorter
    /// than the languages' own), and otherwise those of the table.
    fn from(language: &'static Language) -> Self {
        Self {
            name: language.name,
            grammar: language.indented_blocks.then_some(language),
            keywords: match language.name {
                "python" => PYTHON_KEYWORDS,
                "typescript" | "javascript" => TYPESCRIPT_KEYWORDS,
                _ => language.keywords,
            },
        }
    }
}

fn parses_without_error_node(parser: &mut Parser, text: &str) -> bool {
    let tree = parser
        .parse(text, None)
        .expect("parsing ends early only on a time-out or a cancel, and neither is set");
    !has_error_node(tree.root_node())
}

/// Whether a tree has an ERROR node. Only subtrees that hold an ERROR or MISSING node are
/// walked, on a stack of their own: a tree may be deeper than the thread's.
fn has_error_node(root: Node<'_>) -> bool {
    let mut cursor = root.walk();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if node.is_error() {
            return true;
        }
        if node.has_error() {
            pending.extend(node.children(&mut cursor));
        }
    }
    false
}

/// Returns the identifiers of a completion's own syntax tree; names in strings and comments are
/// none.
pub fn syntax_identifiers<'a>(text: &'a str, language: &Language) -> BTreeSet<&'a str> {
    let tree = language.parse(text);
    let mut found = BTreeSet::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        // Every grammar has several kinds: of types, of members, of what a pattern binds.
        if node.child_count() == 0 && node.kind().contains("identifier") {
            found.insert(&text[node.byte_range()]);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}

const JAVA: ScoringLanguage = ScoringLanguage {
    name: "java",
    grammar: None,
    keywords: JAVA_KEYWORDS,
};

const CSHARP: ScoringLanguage = ScoringLanguage {
    name: "csharp",
    grammar: None,
    keywords: CSHARP_KEYWORDS,
};

/// Python's, as of its version 3.7 and newer, without `True` and `False`.
const PYTHON_KEYWORDS: &[&str] = &[
    "None", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The reserved words of ECMAScript without its literals; no `await`.
const TYPESCRIPT_KEYWORDS: &[&str] = &[
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Those of the Java Language Specification, §3.9, and `var`, without the literals `true`,
/// `false` and `null` and without `_`.
const JAVA_KEYWORDS: &[&str] = &[
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "try",
    "var",
    "void",
    "volatile",
    "while",
];

/// Those of the C# language without the literals `true` and `false`; `null` is among them.
const CSHARP_KEYWORDS: &[&str] = &[
    "abstract",
    "as",
    "base",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "checked",
    "class",
    "const",
    "continue",
    "decimal",
    "default",
    "delegate",
    "do",
    "double",
    "else",
    "enum",
    "event",
    "explicit",
    "extern",
    "finally",
    "fixed",
    "float",
    "for",
    "foreach",
    "goto",
    "if",
    "implicit",
    "in",
    "int",
    "interface",
    "internal",
    "is",
    "lock",
    "long",
    "namespace",
    "new",
    "null",
    "object",
    "operator",
    "out",
    "override",
    "params",
    "private",
    "protected",
    "public",
    "readonly",
    "ref",
    "return",
    "sbyte",
    "sealed",
    "short",
    "sizeof",
    "stackalloc",
    "static",
    "string",
    "struct",
    "switch",
    "this",
    "throw",
    "try",
    "typeof",
    "uint",
    "ulong",
    "unchecked",
    "unsafe",
    "ushort",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

#[cfg(test)]
mod tests;
