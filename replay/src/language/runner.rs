//! The test runners that manifests name.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// A test runner, by its name in manifests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum RunnerName {
    /// `pytest`
    Pytest,
    /// `unittest`: Python's own.
    Unittest,
    /// `vitest`
    Vitest,
    /// `node`: Node's own.
    Node,
    /// `mocha`
    Mocha,
    /// `jest`
    Jest,
    /// `junit`: any command that writes JUnit XML.
    Junit,
}
