//! Python.

use super::Language;

/// Python 3. `print` and `exec` statements parse too, as the grammar covers Python 2.
pub(super) static PYTHON: Language = Language {
    id: "python",
    name: "python",
    extensions: &["py", "pyi"],
    line_comment: "#",
    // <https://docs.python.org/3/reference/lexical_analysis.html#keywords>
    keywords: &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ],
    statements: &[
        "assert_statement",
        "break_statement",
        "class_definition",
        "continue_statement",
        "decorated_definition",
        "delete_statement",
        "expression_statement",
        "for_statement",
        "function_definition",
        "future_import_statement",
        "global_statement",
        "if_statement",
        "import_from_statement",
        "import_statement",
        "match_statement",
        "nonlocal_statement",
        "pass_statement",
        "raise_statement",
        "return_statement",
        "try_statement",
        "while_statement",
        "with_statement",
    ],
    blocks: &["module", "block"],
    functions: &["function_definition"],
    definitions: &["function_definition", "class_definition"],
    strings: &["string"],
    comments: &["comment"],
    indented_blocks: true,
    raising_statement: "raise RuntimeError(\"this place was reached\")",
    grammar: || tree_sitter_python::LANGUAGE.into(),
};
