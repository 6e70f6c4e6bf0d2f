//! The table of test frameworks.

use super::framework::TestFramework;
use super::{go, jest, junit, jupiter, mocha, node, pytest, unittest, vitest};
use crate::language::runner::RunnerName;

/// The framework behind a runner of the manifest.
pub(super) fn framework_for(runner: RunnerName) -> &'static dyn TestFramework {
    match runner {
        RunnerName::Pytest => &pytest::Pytest,
        RunnerName::Unittest => &unittest::Unittest,
        RunnerName::Vitest => &vitest::Vitest,
        RunnerName::Node => &node::Node,
        RunnerName::Mocha => &mocha::Mocha,
        RunnerName::Jest => &jest::Jest,
        RunnerName::Go => &go::GoTest,
        RunnerName::Jupiter => &jupiter::Jupiter,
        RunnerName::Junit => &junit::Junit,
    }
}
