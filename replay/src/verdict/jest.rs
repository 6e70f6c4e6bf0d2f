//! jest.

use super::Evidence;
use super::runner::{HARNESS, Runner};
use super::vitest::{PACKAGES, Vitest};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::sandbox::Bind;

/// jest with a reporter, a set-up file and a configuration of our own around the project's.
pub(super) struct Jest;

impl Runner for Jest {
    fn harness(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate.jest.config.cjs",
                include_str!("harness/fillrate.jest.config.cjs"),
            ),
            (
                "fillrate_jest.cjs",
                include_str!("harness/fillrate_jest.cjs"),
            ),
            (
                "fillrate_jest_setup.cjs",
                include_str!("harness/fillrate_jest_setup.cjs"),
            ),
            (
                "fillrate_report.cjs",
                include_str!("harness/fillrate_report.cjs"),
            ),
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn lacks(&self) -> &'static [Evidence] {
        Vitest.lacks()
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
}
