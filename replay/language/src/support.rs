//! What a language's folder says of it.

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

/// What replay knows of a language.
pub struct LanguageSupport {
    /// Its name in manifests and records: [`Language::name`](fillrate_syntax::Language::name) of its grammars.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// Whether manifests may name folders that modules are looked for in, before all others.
    pub has_module_path: bool,
    /// Whether a function's documentation is the first statement of its body.
    pub has_docstrings: bool,
    /// The test runners of its projects.
    pub runners: &'static [RunnerName],
    /// What installs the packages of its projects.
    pub packages: &'static dyn PackageManager,
    /// Reads how a repository's project in this language is built and tested; `None` if it has no
    /// sources in this language, or belongs to another row of the table.
    pub detect: fn(&RepositoryFiles) -> Option<DetectedProject>,
    /// Where its holes may begin and end.
    pub holes: HoleRules,
    /// What the mutation operators change.
    pub(crate) mutation: &'static MutationRules,
    /// How it imports and defines things.
    pub dependencies: &'static DependencyRules,
    /// How it names and uses things.
    pub names: &'static NameRules,
    /// The syntax that decides categories.
    pub category: &'static CategoryRules,
    /// How tests of it are written.
    pub tests: &'static TestConventions,
    /// The words that CrossCodeEval's scorer takes for no identifiers.
    pub(crate) scorer_keywords: &'static [&'static str],
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
