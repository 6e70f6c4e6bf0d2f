//! C#.

use tree_sitter::Node;

use super::{ImportedModule, Language, Quote};

/// C#. The compiler only warns about unreachable statements.
pub(super) static CSHARP: Language = Language {
    id: "csharp",
    name: "csharp",
    extensions: &["cs"],
    line_comment: "//",
    // Keywords, literals, and the contextual ones that few programs use as names:
    // <https://learn.microsoft.com/dotnet/csharp/language-reference/keywords/>
    keywords: &[
        "abstract",
        "as",
        "async",
        "await",
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
        "dynamic",
        "else",
        "enum",
        "event",
        "explicit",
        "extern",
        "false",
        "finally",
        "fixed",
        "float",
        "for",
        "foreach",
        "get",
        "goto",
        "if",
        "implicit",
        "in",
        "init",
        "int",
        "interface",
        "internal",
        "is",
        "lock",
        "long",
        "nameof",
        "namespace",
        "new",
        "null",
        "object",
        "operator",
        "out",
        "override",
        "params",
        "partial",
        "private",
        "protected",
        "public",
        "readonly",
        "record",
        "ref",
        "return",
        "sbyte",
        "sealed",
        "set",
        "short",
        "sizeof",
        "stackalloc",
        "static",
        "string",
        "struct",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "uint",
        "ulong",
        "unchecked",
        "unsafe",
        "ushort",
        "using",
        "var",
        "virtual",
        "void",
        "volatile",
        "when",
        "where",
        "while",
        "yield",
    ],
    statements: &[
        "break_statement",
        "checked_statement",
        "class_declaration",
        "constructor_declaration",
        "continue_statement",
        "conversion_operator_declaration",
        "delegate_declaration",
        "destructor_declaration",
        "do_statement",
        "enum_declaration",
        "event_declaration",
        "event_field_declaration",
        "expression_statement",
        "extern_alias_directive",
        "field_declaration",
        "file_scoped_namespace_declaration",
        "fixed_statement",
        "for_statement",
        "foreach_statement",
        "goto_statement",
        "if_statement",
        "indexer_declaration",
        "interface_declaration",
        "labeled_statement",
        "local_declaration_statement",
        "local_function_statement",
        "lock_statement",
        "method_declaration",
        "namespace_declaration",
        "operator_declaration",
        "property_declaration",
        "record_declaration",
        "return_statement",
        "struct_declaration",
        "switch_statement",
        "throw_statement",
        "try_statement",
        "unsafe_statement",
        "using_directive",
        "using_statement",
        "while_statement",
        "yield_statement",
    ],
    blocks: &[
        "compilation_unit",
        "accessor_list",
        "block",
        "declaration_list",
        "enum_member_declaration_list",
        "global_statement",
    ],
    switch_bodies: &["switch_body", "switch_expression"],
    clauses: &[
        "catch_clause",
        "finally_clause",
        "switch_body",
        "switch_section",
    ],
    functions: &[
        "accessor_declaration",
        "constructor_declaration",
        "conversion_operator_declaration",
        "destructor_declaration",
        "lambda_expression",
        "local_function_statement",
        "method_declaration",
        "operator_declaration",
    ],
    definitions: &[
        "class_declaration",
        "constructor_declaration",
        "conversion_operator_declaration",
        "delegate_declaration",
        "destructor_declaration",
        "enum_declaration",
        "interface_declaration",
        "local_function_statement",
        "method_declaration",
        "operator_declaration",
        "record_declaration",
        "struct_declaration",
    ],
    strings: &[
        "character_literal",
        "interpolated_string_expression",
        "raw_string_literal",
        "string_literal",
        "verbatim_string_literal",
    ],
    interpolations: &["interpolation"],
    comments: &["comment"],
    quotes: &[
        Quote::raw("\"\"\""),
        Quote::raw_between("@\"", "\""),
        Quote::raw_between("@$\"", "\""),
        Quote::on_one_line("\""),
        Quote::on_one_line("'"),
    ],
    opening_brackets: &["(", "[", "{"],
    has_flat_files: false,
    has_regular_expressions: false,
    indented_blocks: false,
    raising_statement: "if (true) throw new System.InvalidOperationException(\"this place was reached\");",
    module_endings: &[".cs"],
    folder_module: "",
    import_words: &["using"],
    imports,
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
};

/// Returns the namespace of `using A.B`, and the class of `using static A.B.C` and `using C =
/// A.B.C`. A namespace maps to a folder by convention only. The folder may omit the leading parts
/// of the namespace (the project's), or spell them as one name with dots.
fn imports(node: Node<'_>, text: &str, _: &str) -> Option<Vec<ImportedModule>> {
    if node.kind() != "using_directive" {
        return None;
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let is_class = children
        .iter()
        .any(|child| matches!(child.kind(), "static" | "="));
    let named = children.iter().rfind(|child| child.is_named());
    let name = named.and_then(|name| text.get(name.byte_range()))?;
    let parts: Vec<&str> = name.split('.').map(str::trim).collect();
    // Parts may be omitted down to the last one only if the import is of the file's own project.
    let own = namespace(text).split('.').next();
    let folders = parts.len() - usize::from(is_class);
    let shortest = if own == Some(parts[0]) { folders } else { 1 };
    let tails = (0..shortest).map(|from| parts[from..].join("/"));
    let joined = (2..=folders).map(|count| {
        let project = parts[..count].join(".");
        let rest = parts[count..].iter().map(|part| format!("/{part}"));
        project + &rest.collect::<String>()
    });
    let paths = tails.chain(joined);
    Some(match is_class {
        true => paths.map(ImportedModule::Tail).collect(),
        false => paths.map(ImportedModule::FolderTail).collect(),
    })
}

/// Returns the first namespace that a file declares; empty if it declares none.
fn namespace(text: &str) -> &str {
    let declaration = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("namespace "));
    let end = |rest: &str| rest.find([';', '{', ' ']).unwrap_or(rest.len());
    declaration.map_or("", |rest| rest[..end(rest)].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<ImportedModule> {
        CSHARP.imported_modules(CSHARP.parse(text).root_node(), text, "src/Shop")
    }

    #[test]
    fn imports_name_folders_with_and_without_the_project() {
        let folder = |path: &str| ImportedModule::FolderTail(path.to_owned());
        let text = "using Shop.Core.Money;\n\nnamespace Shop.Core.Cart;\n\nclass A {}\n";
        assert_eq!(
            found(text),
            [
                "Shop/Core/Money",
                "Core/Money",
                "Money",
                "Shop.Core/Money",
                "Shop.Core.Money",
            ]
            .map(folder)
        );
        assert!(folder("Shop.Core/Money").matches("src/Shop.Core/Money/Amount"));
        let others = "using System.Text;\n\nnamespace Shop {}\n";
        assert_eq!(found(others), ["System/Text", "System.Text"].map(folder));
    }

    #[test]
    fn imports_name_classes() {
        let class = |path: &str| ImportedModule::Tail(path.to_owned());
        let text = "using static Shop.Money.Rates;\nusing R = Shop.Rates;\n\nnamespace Shop;\n";
        assert_eq!(
            found(text),
            [
                "Shop/Money/Rates",
                "Money/Rates",
                "Shop.Money/Rates",
                "Shop/Rates",
            ]
            .map(class)
        );
    }
}
