//! pytest.

use super::runner::{HARNESS, REPOSITORY, Runner};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::sandbox::Bind;

/// pytest with a plugin that reports out of band.
pub(super) struct Pytest;

const ENVIRONMENT: &str = "/box/venv";

impl Runner for Pytest {
    fn harness(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "fillrate_harness.py",
                include_str!("harness/fillrate_harness.py"),
            ),
            (
                "fillrate_pytest.py",
                include_str!("harness/fillrate_pytest.py"),
            ),
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &[
            "test_assertion",
            "test_exception",
            "test_expected_exception",
            "test_method",
            "test_truth",
        ]
    }

    fn command(&self, _prepared: &Prepared) -> (String, Vec<String>) {
        let mut arguments: Vec<String> = ["-m", "pytest", "-p", "fillrate_pytest", "-q"]
            .map(str::to_owned)
            .into();
        arguments.extend(["-p", "no:cacheprovider"].map(str::to_owned));
        (format!("{ENVIRONMENT}/bin/python"), arguments)
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let path: Vec<String> = std::iter::once(HARNESS.to_owned())
            .chain(
                project
                    .test
                    .path
                    .iter()
                    .map(|folder| format!("{REPOSITORY}/{folder}")),
            )
            .collect();
        vec![
            ("PYTHONPATH", path.join(":")),
            ("PYTHONHASHSEED", "0".to_owned()),
            // The project's source has no bytecode, and none is written: a stale file can't be
            // run in place of the change. The environment's own bytecode is read-only.
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ]
    }

    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let environment = &prepared.environment;
        std::iter::once(Bind::read_only(&environment.root, ENVIRONMENT))
            .chain(environment.interpreter_roots.iter().map(Bind::same))
            .collect()
    }
}
