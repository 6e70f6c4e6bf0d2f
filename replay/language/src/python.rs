//! Python.

mod definitions;
mod detection;
pub mod environment;
mod imports;
mod mutation;
mod names;
mod outline;
mod plain_comparison;
mod requirements;
mod test_conventions;
mod twins;
pub mod workspaces;

use tree_sitter::Node;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::holes::HoleRules;
use super::runner::RunnerName;
use super::support::{LanguageSupport, ScorerKeywords};

pub(super) static PYTHON: LanguageSupport = LanguageSupport {
    name: "python",
    title: "Python",
    has_module_path: true,
    has_docstrings: true,
    runners: &[RunnerName::Pytest, RunnerName::Unittest, RunnerName::Junit],
    packages: &environment::Pip,
    build_results: &[],
    detect: detection::detect,
    holes: HoleRules {
        case_blocks: &[],
        least_lines: 10,
        statement_ends: &[],
        header_end,
    },
    mutation: &mutation::RULES,
    dependencies: &DependencyRules {
        import_statements: &[
            "import_statement",
            "import_from_statement",
            "future_import_statement",
        ],
        imports: imports::imports,
        define: definitions::define,
        module_files: imports::module_files,
        is_package: imports::has_python_below,
        constructor: "__init__",
        definition_wrappers: &["decorated_definition"],
        outline: outline::write,
    },
    names: &names::RULES,
    category: &CategoryRules {
        markup: None,
        features: &[
            ("decorator", "a decorator"),
            ("match_statement", "structural pattern matching"),
            ("yield", "a generator"),
        ],
        loops: &["for_statement", "while_statement", "for_in_clause"],
    },
    tests: &test_conventions::CONVENTIONS,
    scorer_keywords: ScorerKeywords::Except(&["False", "True"]),
};

/// Returns the byte after the colon of the header, or after the decorator, that contains a token.
fn header_end<'t>(token: Node<'t>, statement: Node<'t>) -> Option<usize> {
    let mut node = token;
    while node.id() != statement.id() {
        if node.kind() == "decorator" {
            return Some(node.end_byte());
        }
        node = node.parent()?;
        let mut cursor = node.walk();
        let block = node
            .children(&mut cursor)
            .find(|child| child.kind() == "block" && child.start_byte() >= token.end_byte());
        if let Some(block) = block {
            // Comments may come between the colon and the block.
            let mut before = block.prev_sibling();
            while let Some(colon) = before.filter(|sibling| sibling.kind() != ":") {
                before = colon.prev_sibling();
            }
            return Some(before?.end_byte());
        }
    }
    None
}
