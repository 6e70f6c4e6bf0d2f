//! Go.

mod definitions;
mod detection;
pub mod environment;
mod imports;
mod mutation;
mod names;
mod outline;
mod test_conventions;
mod twins;
pub(crate) mod workspaces;

use tree_sitter::Node;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::holes::HoleRules;
use super::runner::RunnerName;
use super::support::{LanguageSupport, ScorerKeywords};

pub(super) static GO: LanguageSupport = LanguageSupport {
    name: "go",
    title: "Go",
    has_module_path: false,
    has_docstrings: false,
    runners: &[RunnerName::Go, RunnerName::Junit],
    packages: &environment::GoModules,
    build_results: &[],
    detect: detection::detect,
    holes: HoleRules {
        case_blocks: &[
            "communication_case",
            "default_case",
            "expression_case",
            "type_case",
        ],
        // CrossCodeEval has no Go; this is its number for Java.
        least_lines: 20,
        statement_ends: &[],
        header_end,
    },
    mutation: &mutation::RULES,
    dependencies: &DependencyRules {
        import_statements: &["import_declaration"],
        imports: imports::imports,
        define: definitions::define,
        module_files: imports::package_file,
        is_package: |_, _| false,
        constructor: "",
        definition_wrappers: &[],
        outline: outline::write,
    },
    names: &names::RULES,
    category: &CategoryRules {
        markup: None,
        features: &[
            ("select_statement", "a `select`"),
            ("go_statement", "a goroutine"),
            ("type_parameter_list", "type parameters"),
            ("type_switch_statement", "a type switch"),
            ("channel_type", "a channel"),
        ],
        loops: &["for_statement"],
    },
    tests: &test_conventions::CONVENTIONS,
    // Without predeclared names, <https://go.dev/ref/spec#Keywords>; CrossCodeEval's scorer has none.
    scorer_keywords: ScorerKeywords::Except(&[
        "any", "append", "bool", "byte", "error", "false", "float64", "int", "int64", "iota",
        "len", "make", "nil", "panic", "rune", "string", "true",
    ]),
};

/// Returns the byte after the brace that opens the block of the header that contains a token, or
/// after the colon of a `case`.
fn header_end<'t>(token: Node<'t>, statement: Node<'t>) -> Option<usize> {
    let mut node = token;
    while node.id() != statement.id() {
        node = node.parent()?;
        let mut cursor = node.walk();
        // The block of a function literal does not end the header that contains the literal.
        let end = node
            .children(&mut cursor)
            .filter(|child| child.start_byte() >= token.end_byte())
            .find_map(|child| match (node.kind(), child.kind()) {
                ("func_literal", "block") => None,
                (_, "block") => Some(child.start_byte() + 1),
                ("expression_switch_statement" | "type_switch_statement", "{")
                | ("expression_case" | "type_case" | "communication_case", ":") => {
                    Some(child.end_byte())
                }
                _ => None,
            });
        if end.is_some() {
            return end;
        }
    }
    None
}
