//! The runner for Node's own test framework.

use super::framework::TestFramework;
use super::harness::harness_scripts;
use super::layout::HARNESS;
use super::vitest::{NodeFramework, Vitest};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;

/// `node:test`, each test file in a process of its own, started by a script.
pub(super) struct Node;

impl TestFramework for Node {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts![
            "fillrate_node.mjs",
            "fillrate_node_file.mjs",
            "fillrate_node_reporter.mjs",
            "fillrate_report.cjs",
            "fillrate_source_map.cjs",
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

impl NodeFramework for Node {
    fn leave_out(&self, file: &str) -> Option<String> {
        Some(format!("--leave-out={file}"))
    }
}
