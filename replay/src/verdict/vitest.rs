//! vitest.

use super::Evidence;
use super::runner::{HARNESS, Runner};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::sandbox::Bind;

/// vitest with a reporter and a configuration of our own around the project's.
pub(super) struct Vitest;

/// Beside the repository and the harness, so that both find their packages in it.
pub(super) const PACKAGES: &str = "/box/node_modules";
const CONFIGURATION: &str = "/box/configuration";

impl Runner for Vitest {
    fn harness(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate.vitest.config.mjs",
                include_str!("harness/fillrate.vitest.config.mjs"),
            ),
            (
                "fillrate_coverage.mjs",
                include_str!("harness/fillrate_coverage.mjs"),
            ),
            (
                "fillrate_select.mjs",
                include_str!("harness/fillrate_select.mjs"),
            ),
            (
                "fillrate_sentinel.mjs",
                include_str!("harness/fillrate_sentinel.mjs"),
            ),
            (
                "fillrate_vitest.mjs",
                include_str!("harness/fillrate_vitest.mjs"),
            ),
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn lacks(&self) -> &'static [Evidence] {
        // Tests run in contexts and processes of their own, and their functions are not compared.
        &[Evidence::Framework, Evidence::Process]
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let arguments = vec![
            format!("{PACKAGES}/vitest/vitest.mjs"),
            "run".to_owned(),
            "--root=.".to_owned(),
            format!("--config={HARNESS}/fillrate.vitest.config.mjs"),
            // Vite's own loader would write beside the packages, which are read-only.
            "--configLoader=native".to_owned(),
            format!("--reporter={HARNESS}/fillrate_vitest.mjs"),
        ];
        let node = prepared.environment.interpreter.display().to_string();
        (node, arguments)
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let configuration = project
            .test
            .config
            .as_deref()
            .and_then(|path| path.file_name())
            .map(|name| format!("{CONFIGURATION}/{}", name.to_string_lossy()));
        configuration
            .map(|path| ("FILLRATE_VITEST_CONFIG", path))
            .into_iter()
            .chain([("NO_COLOR", "1".to_owned())])
            .collect()
    }

    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let environment = &prepared.environment;
        let configuration = prepared.project.test.config.as_deref().and_then(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(Bind::read_only(path, format!("{CONFIGURATION}/{name}")))
        });
        std::iter::once(Bind::read_only(
            environment.root.join("node_modules"),
            PACKAGES,
        ))
        .chain(environment.interpreter_roots.iter().map(Bind::same))
        .chain(configuration)
        .collect()
    }
}
