//! The table of test frameworks.

use super::framework::TestFramework;
use super::{jest, junit, mocha, node, pytest, unittest, vitest};
use crate::corpus::manifest::Runner;

/// The framework behind a runner of the manifest.
pub(super) fn framework_for(runner: Runner) -> &'static dyn TestFramework {
    match runner {
        Runner::Pytest => &pytest::Pytest,
        Runner::Unittest => &unittest::Unittest,
        Runner::Vitest => &vitest::Vitest,
        Runner::Node => &node::Node,
        Runner::Mocha => &mocha::Mocha,
        Runner::Jest => &jest::Jest,
        Runner::Junit => &junit::Junit,
    }
}
