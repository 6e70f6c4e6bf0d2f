//! Python.

use tree_sitter::Node;

use super::{ImportedModule, Language, Quote};

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
    switch_bodies: &[],
    clauses: &[
        "case_clause",
        "elif_clause",
        "else_clause",
        "except_clause",
        "finally_clause",
    ],
    functions: &["function_definition"],
    definitions: &["function_definition", "class_definition"],
    strings: &["string"],
    interpolations: &["interpolation"],
    comments: &["comment"],
    quotes: &[
        Quote::across_lines("\"\"\""),
        Quote::across_lines("'''"),
        Quote::on_one_line("\""),
        Quote::on_one_line("'"),
    ],
    opening_brackets: &["(", "[", "{"],
    has_flat_files: true,
    has_regular_expressions: false,
    indented_blocks: true,
    raising_statement: "raise RuntimeError(\"this place was reached\")",
    module_endings: &[".pyi", ".py"],
    folder_module: "__init__",
    import_words: &["import"],
    imports,
    grammar: || tree_sitter_python::LANGUAGE.into(),
};

/// Returns the modules of `import a.b` and `from a.b import c`. `c` may be a module of the package.
fn imports(node: Node<'_>, text: &str, folder: &str) -> Option<Vec<ImportedModule>> {
    if !matches!(node.kind(), "import_statement" | "import_from_statement") {
        return None;
    }
    let part = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    let module = node.child_by_field_name("module_name").map(part);
    let mut modules = Vec::new();
    if let Some(module) = module {
        modules.extend(dotted_module(module, None, folder));
    }
    for name in node.children_by_field_name("name", &mut node.walk()) {
        // In `a as b`, the imported name is a field of the alias.
        let name = part(name.child_by_field_name("name").unwrap_or(name));
        modules.extend(match module {
            Some(module) => dotted_module(module, Some(name), folder),
            None => dotted_module(name, None, folder),
        });
    }
    Some(modules)
}

/// Returns the module that a dotted name means, or the name imported from it if that is a module.
fn dotted_module(module: &str, name: Option<&str>, folder: &str) -> Option<ImportedModule> {
    let inner = module.trim_start_matches('.');
    let dots = module.len() - inner.len();
    let segments = inner.split('.').chain(name).map(str::trim);
    // `from . import a` has no name after its dots.
    let segments: Vec<&str> = segments.filter(|part| !part.is_empty()).collect();
    if dots == 0 {
        return (!segments.is_empty()).then(|| ImportedModule::Tail(segments.join("/")));
    }
    // One dot is the file's own folder; each further dot is one folder up.
    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    path.truncate(path.len().checked_sub(dots - 1)?);
    path.extend(segments);
    Some(ImportedModule::Exact(path.join("/")))
}
