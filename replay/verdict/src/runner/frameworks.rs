//! The table of test frameworks.

use fillrate_language::LanguageSupport;
use fillrate_language::runner::RunnerName;

use super::framework::TestFramework;
use super::{go, jest, junit, jupiter, mocha, node, pytest, unittest, vitest};

/// The framework behind a runner of the manifest, of a project in this language.
pub(super) fn framework_for(
    runner: RunnerName,
    language: &LanguageSupport,
) -> Box<dyn TestFramework> {
    match runner {
        RunnerName::Pytest => Box::new(pytest::Pytest),
        RunnerName::Unittest => Box::new(unittest::Unittest),
        RunnerName::Vitest => Box::new(vitest::Vitest),
        RunnerName::Node => Box::new(node::Node),
        RunnerName::Mocha => Box::new(mocha::Mocha),
        RunnerName::Jest => Box::new(jest::Jest),
        RunnerName::Go => Box::new(go::GoTest),
        RunnerName::Jupiter => Box::new(jupiter::Jupiter),
        RunnerName::Junit => Box::new(junit::Junit {
            own: framework_for(language.runners[0], language),
        }),
    }
}
