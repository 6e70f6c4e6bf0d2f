//! What replay knows of each language, one folder each; everything else is generic.
//!
//! [`LANGUAGES`] is the table: a row says how the language's holes end, what its mutants are, how
//! dependencies are found, which packages and test runners its projects use, and how tests of it
//! are written. `language/README.md` says how to add one. Grammars are in the server's `syntax`.

pub(crate) mod category;
pub(crate) mod definitions;
pub mod environment;
pub(crate) mod holes;
pub(crate) mod imports;
pub(crate) mod mutation;
pub(crate) mod names;
pub(crate) mod outline;
pub(crate) mod programs;
pub(crate) mod python;
pub mod runner;
mod source;
pub(crate) mod test_conventions;
pub(crate) mod twins;
pub(crate) mod typescript;

use std::fmt;
use std::path::Path;

use fillrate_server::syntax::Language;

use category::CategoryRules;
use environment::{EnvironmentKind, PackageManager};
use holes::HoleRules;
use imports::DependencyRules;
use mutation::MutationRules;
use names::NameRules;
use runner::RunnerName;
pub use source::SourceFile;
use test_conventions::TestConventions;

/// What replay knows of a language.
pub struct LanguageSupport {
    /// Its name in manifests and records: [`Language::name`] of its grammars.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// Whether manifests may name folders that modules are looked for in, before all others.
    pub has_module_path: bool,
    /// Whether a function's documentation is the first statement of its body.
    pub(crate) has_docstrings: bool,
    /// The test runners of its projects.
    pub runners: &'static [RunnerName],
    /// What installs the packages of its projects.
    pub packages: &'static dyn PackageManager,
    /// Where its holes may begin and end.
    pub(crate) holes: HoleRules,
    /// What the mutation operators change.
    pub(crate) mutation: &'static MutationRules,
    /// How it imports and defines things.
    pub(crate) dependencies: &'static DependencyRules,
    /// How it names and uses things.
    pub(crate) names: &'static NameRules,
    /// The syntax that decides categories.
    pub(crate) category: &'static CategoryRules,
    /// How tests of it are written.
    pub(crate) tests: &'static TestConventions,
}

/// Every language whose projects can be replayed, in the order of tables.
pub static LANGUAGES: [&LanguageSupport; 3] = [
    &python::PYTHON,
    &typescript::TYPESCRIPT,
    &typescript::JAVASCRIPT,
];

/// Languages that benchmarks have and nothing here reads: names in records and file endings.
const UNREAD: [(&str, &[&str]); 4] = [
    ("java", &["java"]),
    ("csharp", &["cs"]),
    ("go", &["go"]),
    ("cpp", &["cpp", "cc"]),
];

impl LanguageSupport {
    /// The row of a language with a grammar.
    pub fn for_language(language: &Language) -> &'static Self {
        Self::by_name(language.name)
            .expect("every language of the server's table has a row: tested")
    }

    /// The row with this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        LANGUAGES.into_iter().find(|language| language.name == name)
    }
}

/// What installs the packages of an environment of this kind.
pub fn package_manager(kind: EnvironmentKind) -> &'static dyn PackageManager {
    LANGUAGES
        .into_iter()
        .map(|language| language.packages)
        .find(|manager| manager.kind() == kind)
        .expect("every kind of environment has a package manager: tested")
}

/// The name, in records, of the language of a file: one with a grammar, or one that benchmarks
/// have beside these.
pub fn name_for_path(path: &Path) -> Option<&'static str> {
    if let Some(language) = Language::for_path(path) {
        return Some(language.id);
    }
    let extension = path.extension()?.to_str()?;
    UNREAD
        .iter()
        .find(|(_, extensions)| extensions.contains(&extension))
        .map(|(name, _)| *name)
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

#[cfg(test)]
mod tests {
    use fillrate_server::syntax;

    use super::*;

    #[test]
    fn every_grammar_has_a_row() {
        for language in syntax::LANGUAGES {
            assert_eq!(LanguageSupport::for_language(language).name, language.name);
        }
    }

    #[test]
    fn every_kind_of_environment_has_a_package_manager() {
        for kind in [EnvironmentKind::Python, EnvironmentKind::Node] {
            assert_eq!(package_manager(kind).kind(), kind);
        }
    }

    #[test]
    fn files_are_named_by_their_ending() {
        let name = |path: &str| name_for_path(Path::new(path));
        assert_eq!(name("a/b.py"), Some("python"));
        assert_eq!(name("a/b.tsx"), Some("typescriptreact"));
        assert_eq!(name("a/B.java"), Some("java"));
        assert_eq!(name("a/b.cc"), Some("cpp"));
        assert_eq!(name("README"), None);
    }
}
