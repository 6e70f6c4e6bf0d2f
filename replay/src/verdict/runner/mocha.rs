//! The mocha runner.

use super::framework::TestFramework;
use super::layout::{HARNESS, PACKAGES};
use super::vitest::Vitest;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use fillrate_sandbox::{Bind, Overlay};

/// mocha with a reporter in the same process as the project's code.
pub(super) struct Mocha;

impl TestFramework for Mocha {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate_mocha.cjs",
                include_str!("../harness/fillrate_mocha.cjs"),
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

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let arguments = vec![
            format!("{PACKAGES}/mocha/bin/mocha.js"),
            format!("--require={HARNESS}/fillrate_mocha.cjs"),
            format!("--reporter={HARNESS}/fillrate_mocha.cjs"),
            "--no-parallel".to_owned(),
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
