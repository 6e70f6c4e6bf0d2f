//! TypeScript, with and without JSX, and JavaScript: two grammars with one vocabulary.

use tree_sitter::Node;

use super::{ImportedModule, Language, Quote, module_path};

/// TypeScript.
pub(super) static TYPESCRIPT: Language = Language {
    id: "typescript",
    extensions: &["ts", "mts", "cts"],
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    ..COMMON
};

/// TypeScript with JSX.
pub(super) static TYPESCRIPT_REACT: Language = Language {
    id: "typescriptreact",
    extensions: &["tsx"],
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    ..COMMON
};

/// JavaScript, optionally with JSX. TypeScript is a superset of it, so its grammar and keywords
/// apply.
pub(super) static JAVASCRIPT: Language = Language {
    id: "javascript",
    name: "javascript",
    extensions: &["js", "mjs", "cjs", "jsx"],
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    ..COMMON
};

const COMMON: Language = Language {
    id: "",
    name: "typescript",
    extensions: &[],
    line_comment: "//",
    // Reserved and contextual words of the language's scanner:
    // <https://github.com/microsoft/TypeScript/blob/main/src/compiler/scanner.ts>
    keywords: &[
        "abstract",
        "any",
        "as",
        "asserts",
        "async",
        "await",
        "bigint",
        "boolean",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "declare",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "from",
        "function",
        "get",
        "if",
        "implements",
        "import",
        "in",
        "infer",
        "instanceof",
        "interface",
        "is",
        "keyof",
        "let",
        "namespace",
        "never",
        "new",
        "null",
        "number",
        "object",
        "of",
        "override",
        "private",
        "protected",
        "public",
        "readonly",
        "return",
        "satisfies",
        "set",
        "static",
        "string",
        "super",
        "switch",
        "symbol",
        "this",
        "throw",
        "true",
        "try",
        "type",
        "typeof",
        "undefined",
        "unique",
        "unknown",
        "var",
        "void",
        "while",
        "with",
        "yield",
    ],
    statements: &[
        "abstract_class_declaration",
        "break_statement",
        "class_declaration",
        "continue_statement",
        "debugger_statement",
        "do_statement",
        "empty_statement",
        "enum_declaration",
        "export_statement",
        "expression_statement",
        "for_in_statement",
        "for_statement",
        "function_declaration",
        "generator_function_declaration",
        "if_statement",
        "import_statement",
        "interface_declaration",
        "labeled_statement",
        "lexical_declaration",
        "method_definition",
        "public_field_definition",
        "return_statement",
        "switch_statement",
        "throw_statement",
        "try_statement",
        "type_alias_declaration",
        "variable_declaration",
        "while_statement",
    ],
    blocks: &["program", "statement_block", "class_body"],
    switch_bodies: &["object_type", "switch_body"],
    clauses: &["catch_clause", "else_clause", "finally_clause"],
    functions: &[
        "arrow_function",
        "function_declaration",
        "function_expression",
        "generator_function_declaration",
        "method_definition",
    ],
    definitions: &[
        "abstract_class_declaration",
        "class_declaration",
        "enum_declaration",
        "function_declaration",
        "generator_function_declaration",
        "interface_declaration",
        "method_definition",
        "type_alias_declaration",
    ],
    strings: &["string", "template_string"],
    interpolations: &["template_substitution"],
    comments: &["comment"],
    quotes: &[
        Quote::on_one_line("\""),
        Quote::on_one_line("'"),
        Quote::across_lines("`"),
    ],
    opening_brackets: &["(", "[", "{", "${"],
    has_flat_files: true,
    has_regular_expressions: true,
    indented_blocks: false,
    raising_statement: "throw new Error(\"this place was reached\");",
    module_endings: &[
        ".d.ts", ".mts", ".cts", ".tsx", ".ts", ".mjs", ".cjs", ".jsx", ".js",
    ],
    folder_module: "index",
    import_words: &["import", "export"],
    imports,
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
};

/// The module of `import … from "…"` and `export … from "…"`.
fn imports(node: Node<'_>, text: &str, folder: &str) -> Option<Vec<ImportedModule>> {
    if let Some(source) = node.child_by_field_name("source") {
        let quoted = text.get(source.byte_range()).unwrap_or_default();
        return Some(path_module(quoted, folder).into_iter().collect());
    }
    // An `export` without a source may contain further imports, so the search goes on below it.
    matches!(node.kind(), "import_statement" | "import_alias").then(Vec::new)
}

/// Returns the module that a quoted path means.
fn path_module(quoted: &str, folder: &str) -> Option<ImportedModule> {
    let path = quoted.trim_matches(['"', '\'', '`']);
    let module = module_path(path);
    if path.starts_with('.') {
        let mut segments: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for segment in module.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(segments.pop()),
                name => segments.push(name),
            }
        }
        Some(ImportedModule::Exact(segments.join("/")))
    } else {
        // The first character is often that of an alias: `@/parts/x`, `~/parts/x`, `#parts/x`.
        let tail = module.trim_start_matches(['@', '~', '#', '/']);
        (!tail.is_empty()).then(|| ImportedModule::Tail(tail.to_owned()))
    }
}
