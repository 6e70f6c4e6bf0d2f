//! C#.

mod definitions;
mod detection;
mod environment;
mod imports;
mod mutation;
mod names;
mod outline;
mod test_conventions;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::holes::HoleRules;
use super::imports::first_file;
use super::support::{LanguageSupport, ScorerKeywords};

pub(super) static CSHARP: LanguageSupport = LanguageSupport {
    name: "csharp",
    title: "C#",
    has_module_path: false,
    has_docstrings: false,
    runners: &[],
    packages: &environment::Nuget,
    build_results: &[],
    detect: detection::detect,
    holes: HoleRules {
        case_blocks: &["switch_section"],
        least_lines: 20,
        statement_ends: &[";", "{", "}"],
        header_end: |_, _| None,
    },
    mutation: &mutation::RULES,
    dependencies: &DependencyRules {
        import_statements: &["using_directive"],
        imports: imports::imports,
        define: definitions::define,
        module_files: |folder, files| first_file(folder, imports::ENDING, files),
        is_package: |_, _| false,
        constructor: definitions::CONSTRUCTOR,
        definition_wrappers: &[],
        outline: outline::write,
    },
    names: &names::RULES,
    category: &CategoryRules {
        markup: None,
        features: &[
            ("checked_statement", "a `checked` block"),
            ("fixed_statement", "a `fixed` statement"),
            ("goto_statement", "a `goto`"),
            ("labeled_statement", "a label"),
            ("lock_statement", "a `lock`"),
            ("operator_declaration", "an operator of its own"),
            ("query_expression", "a query"),
            ("type_parameter_list", "type parameters"),
            ("unsafe_statement", "an `unsafe` block"),
            ("yield_statement", "a `yield`"),
        ],
        loops: &[
            "do_statement",
            "for_statement",
            "foreach_statement",
            "while_statement",
        ],
    },
    tests: &test_conventions::CONVENTIONS,
    // Those of the C# language, without contextual ones and without the literals `true` and
    // `false`; `null` is among them.
    scorer_keywords: ScorerKeywords::Except(&[
        "async", "await", "dynamic", "false", "get", "init", "nameof", "partial", "record", "set",
        "true", "var", "when", "where", "yield",
    ]),
};
