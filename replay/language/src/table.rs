//! The table of languages.

use std::path::Path;

use fillrate_syntax::Language;

use super::environment::{EnvironmentKind, PackageManager};
use super::support::LanguageSupport;
use super::unread::UNREAD_LANGUAGES;
use super::{csharp, go, java, python, typescript};

/// Every language whose projects can be replayed, in the order of tables.
pub static LANGUAGES: [&LanguageSupport; 6] = [
    &python::PYTHON,
    &typescript::TYPESCRIPT,
    &typescript::JAVASCRIPT,
    &go::GO,
    &java::JAVA,
    &csharp::CSHARP,
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

/// Returns the package manager for an environment of this kind.
pub fn package_manager(kind: EnvironmentKind) -> &'static dyn PackageManager {
    LANGUAGES
        .into_iter()
        .map(|language| language.packages)
        .find(|manager| manager.rules().kind == kind)
        .expect("every kind of environment has a package manager: tested")
}

/// True if a file is one of tests by the conventions of its language, and not if no language has it.
pub fn is_test_file(path: &str) -> bool {
    let language = Language::for_path(Path::new(path));
    language.is_some_and(|language| {
        let support = LanguageSupport::for_language(language);
        support.tests.files.is_file(path)
    })
}

/// The name, in records, of the language of a file: one with a grammar, or another one that
/// benchmarks have.
pub fn name_for_path(path: &Path) -> Option<&'static str> {
    if let Some(language) = Language::for_path(path) {
        return Some(language.name);
    }
    let extension = path.extension()?.to_str()?;
    UNREAD_LANGUAGES
        .iter()
        .find(|language| language.extensions.contains(&extension))
        .map(|language| language.name)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn every_grammar_has_a_row() {
        for language in fillrate_syntax::LANGUAGES {
            assert_eq!(LanguageSupport::for_language(language).name, language.name);
        }
    }

    #[test]
    fn every_kind_of_environment_has_a_package_manager() {
        for kind in [
            EnvironmentKind::Python,
            EnvironmentKind::Node,
            EnvironmentKind::Go,
            EnvironmentKind::Java,
            EnvironmentKind::Dotnet,
        ] {
            assert_eq!(package_manager(kind).rules().kind, kind);
        }
    }

    #[test]
    fn files_of_tests_are_known_by_the_names_of_their_language() {
        for path in [
            "a/test_b.py",
            "tests/b.py",
            "src/a.spec.tsx",
            "src/a_test.ts",
            "src/__tests__/a.js",
            "a/b_test.go",
            "src/test/java/a/B.java",
            "a/BIT.java",
            "Shop.Tests/Cart.cs",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "a/contest.py",
            "src/latest.ts",
            "tests/b.go",
            "a/Testing.java",
            "a/Cart.cs",
            "tests/data.json",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn files_are_named_by_their_ending() {
        let name = |path: &str| name_for_path(Path::new(path));
        assert_eq!(name("a/b.py"), Some("python"));
        assert_eq!(name("a/b.tsx"), Some("typescript"));
        assert_eq!(name("a/B.java"), Some("java"));
        assert_eq!(name("a/B.cs"), Some("csharp"));
        assert_eq!(name("a/b_test.go"), Some("go"));
        assert_eq!(name("a/b.cc"), Some("cpp"));
        assert_eq!(name("README"), None);
    }
}
