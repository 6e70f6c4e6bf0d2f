//! The jest runner.

use super::framework::TestFramework;
use super::layout::{HARNESS, PACKAGES};
use super::vitest::Vitest;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::verdict::outcome::Evidence;
use fillrate_sandbox::{Bind, Overlay};

/// The configuration that arguments name, which the harness reads, and the other arguments.
fn split_config(given: &[String]) -> (Option<String>, Vec<String>) {
    let mut config = None;
    let mut rest = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if ["--config", "-c"].contains(&word.as_str()) {
            config = words.next().cloned();
        } else if let Some(path) = word.strip_prefix("--config=") {
            config = Some(path.to_owned());
        } else {
            rest.push(word.clone());
        }
    }
    (config, rest)
}

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

    fn arguments(&self, given: &[String]) -> Vec<String> {
        split_config(given).1
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let (config, _) = split_config(project.arguments());
        Vitest
            .environment(project)
            .into_iter()
            .chain(config.map(|config| ("FILLRATE_JEST_CONFIG", config)))
            // A configuration in TypeScript is loaded without a check of its types.
            .chain([("TS_NODE_TRANSPILE_ONLY", "true".to_owned())])
            .collect()
    }

    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        Vitest.binds(prepared)
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        Vitest.overlays(prepared)
    }
}
