//! The jest runner.

use super::framework::TestFramework;
use super::layout::{HARNESS, PACKAGES};
use super::vitest::Vitest;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::verdict::outcome::Evidence;
use fillrate_sandbox::{Bind, Overlay};

/// jest with a reporter, a set-up file and a configuration that wraps the project's.
pub(super) struct Jest;

impl TestFramework for Jest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate.jest.config.cjs",
                include_str!("../harness/fillrate.jest.config.cjs"),
            ),
            (
                "fillrate_jest.cjs",
                include_str!("../harness/fillrate_jest.cjs"),
            ),
            (
                "fillrate_jest_setup.cjs",
                include_str!("../harness/fillrate_jest_setup.cjs"),
            ),
            (
                "fillrate_report.cjs",
                include_str!("../harness/fillrate_report.cjs"),
            ),
            (
                "fillrate_source_map.cjs",
                include_str!("../harness/fillrate_source_map.cjs"),
            ),
        ]
    }

    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        Vitest.test_ids(path, names)
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        Vitest.unavailable_evidence()
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let arguments = vec![
            format!("{PACKAGES}/jest/bin/jest.js"),
            format!("--config={HARNESS}/fillrate.jest.config.cjs"),
        ];
        let node = prepared.environment.interpreter.display().to_string();
        (node, arguments)
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        Vitest.environment(project)
    }

    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        Vitest.binds(prepared)
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        Vitest.overlays(prepared)
    }
}
