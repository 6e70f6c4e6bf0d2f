//! What the text metrics need to know of a language.

use std::path::Path;

use fillrate_server::syntax::Language;

/// A language as CrossCodeEval's scorer sees it: where a statement ends, and which words are no
/// identifiers. That is less than a grammar, so languages can be scored that nothing else here
/// reads: Java and C#.
#[derive(Debug, Clone, Copy)]
pub struct ScoringLanguage {
    /// The language's name, e.g. `typescript` for both of its grammars.
    pub name: &'static str,
    pub(super) statement_end: StatementEnd,
    pub(super) keywords: &'static [&'static str],
}

/// How a completion is cut to its first statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum StatementEnd {
    /// Before the first newline up to which this language's grammar finds no error.
    Parsed(&'static Language),
    /// After the first `;`, `}` or `{`.
    Punctuation,
}

impl ScoringLanguage {
    /// CrossCodeEval's four languages, and JavaScript.
    pub const NAMES: [&'static str; 5] = ["python", "java", "typescript", "csharp", "javascript"];

    /// The language of this name; one of [`ScoringLanguage::NAMES`], or a language of the
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

    /// Whether what stands before a hole decides where a completion's first statement ends.
    pub fn truncation_needs_prompt(self) -> bool {
        matches!(self.statement_end, StatementEnd::Parsed(_))
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
            statement_end: if language.indented_blocks {
                StatementEnd::Parsed(language)
            } else {
                StatementEnd::Punctuation
            },
            keywords: match language.name {
                "python" => PYTHON_KEYWORDS,
                "typescript" | "javascript" => TYPESCRIPT_KEYWORDS,
                _ => language.keywords,
            },
        }
    }
}

const JAVA: ScoringLanguage = ScoringLanguage {
    name: "java",
    statement_end: StatementEnd::Punctuation,
    keywords: JAVA_KEYWORDS,
};

const CSHARP: ScoringLanguage = ScoringLanguage {
    name: "csharp",
    statement_end: StatementEnd::Punctuation,
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
