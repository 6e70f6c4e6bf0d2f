//! Go.

use tree_sitter::Node;

use super::{ImportedModule, Language, Quote};

/// Go. A line end or a semicolon ends every statement: without either at its end, a file has an
/// error there.
pub(super) static GO: Language = Language {
    id: "go",
    name: "go",
    extensions: &["go"],
    line_comment: "//",
    // Keywords and the predeclared names that few programs use for something else:
    // <https://go.dev/ref/spec#Keywords>, <https://go.dev/ref/spec#Predeclared_identifiers>
    keywords: &[
        "any",
        "append",
        "bool",
        "break",
        "byte",
        "case",
        "chan",
        "const",
        "continue",
        "default",
        "defer",
        "else",
        "error",
        "fallthrough",
        "false",
        "float64",
        "for",
        "func",
        "go",
        "goto",
        "if",
        "import",
        "int",
        "int64",
        "interface",
        "iota",
        "len",
        "make",
        "map",
        "nil",
        "package",
        "panic",
        "range",
        "return",
        "rune",
        "select",
        "string",
        "struct",
        "switch",
        "true",
        "type",
        "var",
    ],
    statements: &[
        "assignment_statement",
        "break_statement",
        "const_declaration",
        "continue_statement",
        "dec_statement",
        "defer_statement",
        "empty_statement",
        "expression_statement",
        "expression_switch_statement",
        "fallthrough_statement",
        "for_statement",
        "function_declaration",
        "go_statement",
        "goto_statement",
        "if_statement",
        "import_declaration",
        "inc_statement",
        "labeled_statement",
        "method_declaration",
        "package_clause",
        "return_statement",
        "select_statement",
        "send_statement",
        "short_var_declaration",
        "type_declaration",
        "type_switch_statement",
        "var_declaration",
    ],
    blocks: &["source_file", "block"],
    switch_bodies: &[
        "expression_switch_statement",
        "select_statement",
        "type_switch_statement",
    ],
    clauses: &[
        "communication_case",
        "default_case",
        "expression_case",
        "type_case",
    ],
    functions: &["func_literal", "function_declaration", "method_declaration"],
    definitions: &[
        "function_declaration",
        "method_declaration",
        "type_declaration",
    ],
    strings: &[
        "interpreted_string_literal",
        "raw_string_literal",
        "rune_literal",
    ],
    interpolations: &[],
    comments: &["comment"],
    quotes: &[
        Quote::on_one_line("\""),
        Quote::on_one_line("'"),
        Quote::raw("`"),
    ],
    opening_brackets: &["(", "[", "{"],
    has_flat_files: true,
    has_regular_expressions: false,
    indented_blocks: false,
    raising_statement: "panic(\"this place was reached\");",
    module_endings: &[".go"],
    folder_module: "",
    import_words: &["import"],
    imports,
    grammar: || tree_sitter_go::LANGUAGE.into(),
};

/// Returns the packages of `import "a/b"` and of a group of imports. A package is a folder, and its
/// files may have any names.
fn imports(node: Node<'_>, text: &str, _: &str) -> Option<Vec<ImportedModule>> {
    if node.kind() != "import_declaration" {
        return None;
    }
    let mut modules = Vec::new();
    let mut pending = vec![node];
    while let Some(current) = pending.pop() {
        if let Some(path) = current.child_by_field_name("path") {
            let quoted = text.get(path.byte_range()).unwrap_or_default();
            let path = quoted.trim_matches(['"', '`']);
            modules.push(ImportedModule::Folder(path.to_owned()));
        }
        let mut cursor = current.walk();
        let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
        pending.extend(children.into_iter().rev());
    }
    Some(modules)
}
