//! The test runners that manifests name, and how they are set.

use std::path::PathBuf;

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
    /// `go`: Go's own.
    Go,
    /// `jupiter`: JUnit 5's own.
    Jupiter,
    /// `junit`: any command that writes JUnit XML.
    Junit,
}

/// Settings for running a project's tests.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSettings {
    /// `runner`: one of [`LanguageSupport::runners`](super::LanguageSupport::runners).
    pub runner: RunnerName,
    /// `args`: what follows the runner's name, e.g. the folder of the tests. Empty if absent.
    pub args: Vec<String>,
    /// `folder`: the folder of the repository in which the tests run (JavaScript and TypeScript); its
    /// top if absent.
    pub folder: Option<String>,
    /// `path`: folders of the repository that are put before `sys.path` (Python). Empty if
    /// absent.
    pub path: Vec<String>,
    /// `config`: a configuration file next to the manifest, absolute here (vitest).
    pub config: Option<PathBuf>,
    /// `command`: the program and its arguments (junit). Empty for other runners.
    pub command: Vec<String>,
    /// `report`: the file that the command writes, inside the repository (junit).
    pub report: Option<String>,
    /// `timeout`: the seconds that the tests of a changed file may take, in addition to the
    /// duration of a run of the unchanged project. If absent, several times the duration of the
    /// tests on the unchanged project.
    pub timeout: Option<u16>,
    /// `min_share`: the least share of the tests that must pass in the unchanged project, from 0
    /// to 1; [`DEFAULT_MIN_SHARE`] if absent. Tests that fail are set aside.
    pub min_share: Option<f64>,
}

/// The least share of a project's tests that must pass, where its manifest has no `min_share`.
pub const DEFAULT_MIN_SHARE: f64 = 0.5;

impl TestSettings {
    /// The settings of a runner without arguments.
    pub fn new(runner: RunnerName) -> Self {
        Self {
            runner,
            args: Vec::new(),
            folder: None,
            path: Vec::new(),
            config: None,
            command: Vec::new(),
            report: None,
            timeout: None,
            min_share: None,
        }
    }
}
