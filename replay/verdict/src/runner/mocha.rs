//! The mocha runner.

use std::path::Path;

use super::framework::TestFramework;
use super::harness::harness_scripts;
use super::layout::HARNESS;
use super::vitest::{self, NodeFramework, Vitest};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;

/// Returns true if a mocha has a mode in which files run in parallel, as versions from 8 on do.
fn has_parallel_mode(package: &Path) -> bool {
    let text = std::fs::read_to_string(package.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let version = package["version"].as_str().unwrap_or_default();
    let major = version.split('.').next().unwrap_or_default();
    major.parse().unwrap_or(u32::MAX) >= 8
}

/// mocha with a reporter in the same process as the project's code.
pub(super) struct Mocha;

impl TestFramework for Mocha {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts![
            "fillrate_mocha.cjs",
            "fillrate_report.cjs",
            "fillrate_source_map.cjs",
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn refusal(&self, prepared: &Prepared) -> Option<String> {
        vitest::refusal(prepared, "mocha", 5)
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        // Before version 9 its program has another name, which starts no process of its own.
        let (package, place) = vitest::runner_package(prepared, "mocha");
        let programs = ["bin/mocha.js", "bin/_mocha"];
        let program = programs
            .into_iter()
            .find(|name| package.join(name).is_file())
            .unwrap_or(programs[0]);
        let mut arguments = vec![
            format!("{place}/{program}"),
            format!("--require={HARNESS}/fillrate_mocha.cjs"),
            format!("--reporter={HARNESS}/fillrate_mocha.cjs"),
        ];
        // The harness does not support the parallel mode; versions without it don't know the
        // option.
        if has_parallel_mode(&package) {
            arguments.push("--no-parallel".to_owned());
        }
        let node = prepared.environment.interpreter.display().to_string();
        (node, arguments)
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        Vitest.environment(project)
    }
}

impl NodeFramework for Mocha {}
