//! TypeScript and JavaScript, with and without JSX.

mod definitions;
mod detection;
pub mod environment;
mod imports;
mod mutation;
mod names;
mod outline;
mod plain_comparison;
mod test_conventions;
mod twins;
pub mod workspaces;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::holes::HoleRules;
use super::runner::RunnerName;
use super::support::{LanguageSupport, ScorerKeywords};

pub(super) static TYPESCRIPT: LanguageSupport = LanguageSupport {
    name: "typescript",
    title: "TypeScript",
    detect: detection::detect_typescript,
    ..COMMON
};

pub(super) static JAVASCRIPT: LanguageSupport = LanguageSupport {
    name: "javascript",
    title: "JavaScript",
    detect: detection::detect_javascript,
    ..COMMON
};

const COMMON: LanguageSupport = LanguageSupport {
    name: "",
    title: "",
    has_module_path: false,
    has_docstrings: false,
    runners: &[
        RunnerName::Vitest,
        RunnerName::Node,
        RunnerName::Mocha,
        RunnerName::Jest,
        RunnerName::Junit,
    ],
    packages: &environment::Npm,
    build_results: &[],
    detect: |_| None,
    holes: HoleRules {
        case_blocks: &["switch_case", "switch_default"],
        least_lines: 30,
        statement_ends: &[";", "{", "}"],
        header_end: |_, _| None,
    },
    mutation: &mutation::RULES,
    dependencies: &DependencyRules {
        import_statements: &["import_statement"],
        imports: imports::imports,
        define: definitions::define,
        module_files: |_, _| Vec::new(),
        is_package: |_, _| false,
        constructor: "constructor",
        definition_wrappers: &[
            "export_statement",
            "variable_declarator",
            "lexical_declaration",
        ],
        outline: outline::write,
    },
    names: &names::RULES,
    category: &CategoryRules {
        markup: Some(("jsx_", "JSX")),
        features: &[
            ("conditional_type", "a conditional type"),
            ("decorator", "a decorator"),
            ("index_type_query", "a type query"),
            ("mapped_type_clause", "a mapped type"),
            ("satisfies_expression", "a `satisfies` expression"),
            ("type_predicate", "a type predicate"),
            ("yield_expression", "a generator"),
        ],
        loops: &[
            "do_statement",
            "for_in_statement",
            "for_statement",
            "while_statement",
        ],
    },
    tests: &test_conventions::CONVENTIONS,
    scorer_keywords: ScorerKeywords::Only(SCORER_KEYWORDS),
};

/// The reserved words of ECMAScript without its literals; no `await`.
const SCORER_KEYWORDS: &[&str] = &[
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
