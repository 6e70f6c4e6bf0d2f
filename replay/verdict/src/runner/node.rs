//! The runner for Node's own test framework.

use fillrate_sandbox::{Bind, Overlay};

use super::framework::{Compilation, SandboxView, TestFramework, TestIds, WarmStart};
use super::layout::HARNESS;
use super::vitest::Vitest;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;

/// `node:test`, each test file in a process of its own, started by a script.
pub(super) struct Node;

impl TestFramework for Node {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate_node.mjs",
                include_str!("../harness/fillrate_node.mjs"),
            ),
            (
                "fillrate_node_file.mjs",
                include_str!("../harness/fillrate_node_file.mjs"),
            ),
            (
                "fillrate_node_reporter.mjs",
                include_str!("../harness/fillrate_node_reporter.mjs"),
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

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let node = prepared.environment.interpreter.display().to_string();
        (node, vec![format!("{HARNESS}/fillrate_node.mjs")])
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        Vitest.environment(project)
    }
}

impl SandboxView for Node {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        Vitest.binds(prepared)
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        Vitest.overlays(prepared)
    }
}

impl TestIds for Node {
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        Vitest.test_ids(path, names)
    }

    fn leave_out(&self, file: &str) -> Option<String> {
        Some(format!("--leave-out={file}"))
    }
}

impl WarmStart for Node {
    fn waits_for_instructions(&self) -> bool {
        true
    }
}

impl Compilation for Node {}
