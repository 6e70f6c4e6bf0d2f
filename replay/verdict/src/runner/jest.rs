//! The jest runner.

use super::framework::TestFramework;
use super::harness::harness_scripts;
use super::layout::HARNESS;
use super::vitest::{self, NodeFramework, Vitest};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// The argument for a file of tests that takes no part.
const LEAVE_OUT: &str = "--leave-out=";

/// A project's arguments for jest, without those that the harness reads.
#[derive(Default)]
struct JestArguments {
    /// The project's configuration, if one is named.
    config: Option<String>,
    /// Files of tests that take no part.
    left_out: Vec<String>,
    /// Arguments of jest itself.
    rest: Vec<String>,
}

impl JestArguments {
    fn split(given: &[String]) -> Self {
        let mut split = Self::default();
        let mut words = given.iter();
        while let Some(word) = words.next() {
            // jest gets the harness's configuration, which reads the project's from a variable.
            if ["--config", "-c"].contains(&word.as_str()) {
                split.config = words.next().cloned();
            } else if let Some(path) = word.strip_prefix("--config=") {
                split.config = Some(path.to_owned());
            } else if let Some(file) = word.strip_prefix(LEAVE_OUT) {
                split.left_out.push(file.to_owned());
            } else {
                split.rest.push(word.clone());
            }
        }
        split
    }
}

/// jest with a reporter, a set-up file and a configuration that wraps the project's.
pub(super) struct Jest;

impl TestFramework for Jest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts![
            "fillrate.jest.config.cjs",
            "fillrate_jest.cjs",
            "fillrate_jest_setup.cjs",
            "fillrate_report.cjs",
            "fillrate_source_map.cjs",
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        Vitest.unavailable_evidence()
    }

    fn refusal(&self, prepared: &Prepared) -> Option<String> {
        // Version 22 takes no configuration that ends in .cjs; those between are untried.
        vitest::refusal(prepared, "jest", 26)
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let (_, place) = vitest::runner_package(prepared, "jest");
        let arguments = vec![
            format!("{place}/bin/jest.js"),
            format!("--config={HARNESS}/fillrate.jest.config.cjs"),
        ];
        let node = prepared.environment.interpreter.display().to_string();
        (node, arguments)
    }

    fn arguments(&self, given: &[String]) -> Vec<String> {
        JestArguments::split(given).rest
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let JestArguments {
            config, left_out, ..
        } = JestArguments::split(project.arguments());
        Vitest
            .environment(project)
            .into_iter()
            .chain(config.map(|config| ("FILLRATE_JEST_CONFIG", config)))
            .chain([("FILLRATE_JEST_LEFT_OUT", left_out.join("\n"))])
            // A configuration in TypeScript is loaded without a check of its types.
            .chain([("TS_NODE_TRANSPILE_ONLY", "true".to_owned())])
            .collect()
    }
}

impl NodeFramework for Jest {
    fn leave_out(&self, file: &str) -> Option<String> {
        Some(format!("{LEAVE_OUT}{file}"))
    }
}
