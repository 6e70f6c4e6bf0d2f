//! Java.

use tree_sitter::Node;

use super::{ImportedModule, Language, Quote};

/// Java. The compiler refuses a statement that no path leads to, so what follows the raising
/// statement stays reachable by its rules.
pub(super) static JAVA: Language = Language {
    id: "java",
    name: "java",
    extensions: &["java"],
    line_comment: "//",
    // Keywords, contextual ones and literals:
    // <https://docs.oracle.com/javase/specs/jls/se21/html/jls-3.html#jls-3.9>
    keywords: &[
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
        "false",
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
        "null",
        "package",
        "permits",
        "private",
        "protected",
        "public",
        "record",
        "return",
        "sealed",
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
        "true",
        "try",
        "var",
        "void",
        "volatile",
        "while",
        "yield",
    ],
    statements: &[
        "annotation_type_declaration",
        "assert_statement",
        "break_statement",
        "class_declaration",
        "compact_constructor_declaration",
        "constant_declaration",
        "constructor_declaration",
        "continue_statement",
        "do_statement",
        "enhanced_for_statement",
        "enum_declaration",
        "explicit_constructor_invocation",
        "expression_statement",
        "field_declaration",
        "for_statement",
        "if_statement",
        "import_declaration",
        "interface_declaration",
        "labeled_statement",
        "local_variable_declaration",
        "method_declaration",
        "package_declaration",
        "record_declaration",
        "return_statement",
        "static_initializer",
        "switch_expression",
        "synchronized_statement",
        "throw_statement",
        "try_statement",
        "try_with_resources_statement",
        "while_statement",
        "yield_statement",
    ],
    blocks: &[
        "program",
        "annotation_type_body",
        "block",
        "class_body",
        "constructor_body",
        "enum_body",
        "enum_body_declarations",
        "interface_body",
    ],
    switch_bodies: &["switch_block"],
    clauses: &[
        "catch_clause",
        "finally_clause",
        "switch_block",
        "switch_block_statement_group",
        "switch_rule",
    ],
    functions: &[
        "compact_constructor_declaration",
        "constructor_declaration",
        "lambda_expression",
        "method_declaration",
    ],
    definitions: &[
        "annotation_type_declaration",
        "class_declaration",
        "compact_constructor_declaration",
        "constructor_declaration",
        "enum_declaration",
        "interface_declaration",
        "method_declaration",
        "record_declaration",
    ],
    strings: &["character_literal", "string_literal"],
    interpolations: &[],
    comments: &["block_comment", "line_comment"],
    quotes: &[
        Quote::across_lines("\"\"\""),
        Quote::on_one_line("\""),
        Quote::on_one_line("'"),
    ],
    opening_brackets: &["(", "[", "{"],
    has_flat_files: false,
    has_regular_expressions: false,
    indented_blocks: false,
    raising_statement: "if (true) throw new IllegalStateException(\"this place was reached\");",
    module_endings: &[".java"],
    folder_module: "",
    import_words: &["import"],
    imports,
    grammar: || tree_sitter_java::LANGUAGE.into(),
};

/// Returns the class of `import a.b.C` and of `import static a.b.C.member`, and the package of
/// `import a.b.*`. The source root above the package can be any folder.
fn imports(node: Node<'_>, text: &str, _: &str) -> Option<Vec<ImportedModule>> {
    if node.kind() != "import_declaration" {
        return None;
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let has = |kind: &str| children.iter().any(|child| child.kind() == kind);
    let name = children
        .iter()
        .find(|child| matches!(child.kind(), "identifier" | "scoped_identifier"))
        .and_then(|name| text.get(name.byte_range()))?;
    let path = name.replace('.', "/");
    Some(vec![match (has("static"), has("asterisk")) {
        // After `static`, the asterisk stands for the members of a class.
        (false, false) | (true, true) => ImportedModule::Tail(path),
        (false, true) => ImportedModule::FolderTail(path),
        (true, false) => {
            // The last name is that of the class's member.
            let class = path.rsplit_once('/').map_or("", |(class, _)| class);
            ImportedModule::Tail(class.to_owned())
        }
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_name_classes_and_packages() {
        let text = "package a.b;\n\nimport c.d.E;\nimport c.d.*;\nimport static c.d.F.g;\nimport static c.d.F.*;\n\nclass A {}\n";
        let found = JAVA.imported_modules(JAVA.parse(text).root_node(), text, "src/a/b");
        let tail = |path: &str| ImportedModule::Tail(path.to_owned());
        let folder = ImportedModule::FolderTail("c/d".to_owned());
        let class = tail("c/d/F");
        assert_eq!(found, [tail("c/d/E"), folder.clone(), class.clone(), class]);
        assert!(folder.matches("src/c/d/E"));
        assert!(!folder.matches("src/c/d/e/F"));
        assert!(tail("c/d/E").matches("src/c/d/E"));
    }
}
