//! The runner for Python's own unittest.

use fillrate_sandbox::Bind;

use super::framework::{Compilation, SandboxView, TestFramework, TestIds, WarmStart};
use super::harness::harness_scripts;
use super::pytest::Pytest;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;

/// unittest, loaded and run by a script that reports out of band.
pub(super) struct Unittest;

impl TestFramework for Unittest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts!["fillrate_report.py", "fillrate_unittest.py"]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &[
            "test_assertion",
            "test_equality",
            "test_exception",
            "test_expected_exception",
            "test_subtest",
            "test_truth",
        ]
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let (python, _) = Pytest.command(prepared);
        (
            python,
            ["-m", "fillrate_unittest"].map(str::to_owned).into(),
        )
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        Pytest.environment(project)
    }
}

impl SandboxView for Unittest {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        Pytest.binds(prepared)
    }
}

impl TestIds for Unittest {
    /// A module's name depends on the folder from which discovery starts.
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        let module: Vec<&str> = path.trim_end_matches(".py").split('/').collect();
        let names = names.iter().map(String::as_str);
        let whole: Vec<&str> = module.iter().copied().chain(names).collect();
        // Each folder above may be the one from which discovery starts.
        (0..module.len())
            .map(|start| whole[start..].join("."))
            .collect()
    }
}

impl WarmStart for Unittest {}

impl Compilation for Unittest {}
