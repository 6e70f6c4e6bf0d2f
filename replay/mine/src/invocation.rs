//! Dependency Invocation Rates of a completion.

use std::path::Path;

use fillrate_language::scoring::{function_head, syntax_identifiers, without_head};
use fillrate_language::task::Hole;
use fillrate_metrics::dependency_invocation_rate;
use fillrate_syntax::Language;

/// The Dependency Invocation Rates of a completion, each absent if the hole has no such names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InvocationRates {
    /// `DIR/repository`.
    pub repository: Option<f64>,
    /// `DIR/repoexec`.
    pub repoexec: Option<f64>,
}

impl InvocationRates {
    /// Computes the rates of a completion of a hole.
    pub fn score(hole: &Hole, completion: &str) -> Self {
        let Some(language) = Language::for_path(Path::new(&hole.path)) else {
            return Self::default();
        };
        let rate = |text: &str, names: &Option<Vec<String>>| {
            let names = names.as_ref().filter(|names| !names.is_empty())?;
            dependency_invocation_rate(&syntax_identifiers(text, language), names)
        };
        // A hole that is a whole function is filled with one, whose signature invokes nothing.
        let body =
            function_head(&hole.reference, language).map(|head| without_head(completion, head));
        Self {
            repository: rate(completion, &hole.dependencies),
            repoexec: rate(
                body.as_deref().unwrap_or(completion),
                &hole.repoexec_dependencies,
            ),
        }
    }
}
