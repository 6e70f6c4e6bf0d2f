//! Java.

mod definitions;
mod detection;
pub mod environment;
mod gradle;
mod imports;
pub mod modules;
mod mutation;
mod names;
mod outline;
mod pom;
mod test_conventions;
mod twins;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::holes::HoleRules;
use super::imports::first_file;
use super::runner::RunnerName;
use super::support::{LanguageSupport, ScorerKeywords};

pub(super) static JAVA: LanguageSupport = LanguageSupport {
    name: "java",
    title: "Java",
    has_module_path: false,
    has_docstrings: false,
    runners: &[RunnerName::Jupiter, RunnerName::Junit],
    packages: &environment::Jars,
    build_results: &[
        ("target", &[pom::POM]),
        ("build", &gradle::FILES),
        (".gradle", &gradle::FILES),
    ],
    detect: detection::detect,
    holes: HoleRules {
        case_blocks: &["switch_block_statement_group"],
        least_lines: 20,
        statement_ends: &[";", "{", "}"],
        header_end: |_, _| None,
    },
    mutation: &mutation::RULES,
    dependencies: &DependencyRules {
        import_statements: &["import_declaration"],
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
            ("annotation_type_declaration", "a type of annotations"),
            ("labeled_statement", "a label"),
            ("record_pattern", "a pattern of a record"),
            ("synchronized_statement", "a `synchronized` block"),
            ("type_parameters", "type parameters"),
            ("wildcard", "a wildcard"),
            ("yield_statement", "a `yield`"),
        ],
        loops: &[
            "do_statement",
            "enhanced_for_statement",
            "for_statement",
            "while_statement",
        ],
    },
    tests: &test_conventions::CONVENTIONS,
    // Those of the Java Language Specification, §3.9, and `var`.
    scorer_keywords: ScorerKeywords::Except(&[
        "false", "null", "permits", "record", "sealed", "true", "yield",
    ]),
};
