//! Rules and tables of a language.

use std::fmt;

use super::category::CategoryRules;
use super::dependencies::DependencyRules;
use super::detection::{DetectedProject, RepositoryFiles};
use super::environment::PackageManager;
use super::holes::HoleRules;
use super::mutation::MutationRules;
use super::names::NameRules;
use super::runner::RunnerName;
use super::test_conventions::TestConventions;

/// Support for a language: its rules, tables and functions.
pub struct LanguageSupport {
    /// Its name in manifests and records: [`Language::name`](fillrate_syntax::Language::name) of
    /// its grammars.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// True if manifests may name folders in which modules are looked for, before all others.
    pub has_module_path: bool,
    /// True if a function's documentation is the first statement of its body.
    pub has_docstrings: bool,
    /// The test runners of its projects.
    pub runners: &'static [RunnerName],
    /// The package manager of its projects.
    pub packages: &'static dyn PackageManager,
    /// Folders into which its build tools compile, each with the files of which one is beside it.
    pub build_results: &'static [(&'static str, &'static [&'static str])],
    /// Reads how a repository's project in this language is built and tested; `None` if it has no
    /// sources in this language, or belongs to another row of the table.
    pub detect: fn(&RepositoryFiles) -> Option<DetectedProject>,
    /// Rules for the start and the end of its holes.
    pub holes: HoleRules,
    /// Rules for the mutation operators.
    pub(crate) mutation: &'static MutationRules,
    /// Rules for its imports and definitions.
    pub dependencies: &'static DependencyRules,
    /// Rules for its names and their uses.
    pub names: &'static NameRules,
    /// The syntax that decides categories.
    pub category: &'static CategoryRules,
    /// Conventions of its tests.
    pub tests: &'static TestConventions,
    /// Words that CrossCodeEval's scorer does not take for identifiers.
    pub(crate) scorer_keywords: ScorerKeywords,
}

/// Words that CrossCodeEval's scorer does not take for identifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScorerKeywords {
    /// The language's keywords without these.
    Except(&'static [&'static str]),
    /// These.
    Only(&'static [&'static str]),
}

impl fmt::Display for LanguageSupport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl fmt::Debug for LanguageSupport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl PartialEq for LanguageSupport {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for LanguageSupport {}
