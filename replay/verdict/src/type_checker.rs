//! Checks the types of a changed file with TypeScript's own checker.
//!
//! The result is a detail of a verdict and never its reason: a correct program may not type-check,
//! as vitest and others remove types unread, and the reverse. Only new errors count: those of the
//! unchanged project are not the change's.

use std::path::Path;
use std::time::Duration;

use fillrate_sandbox::{Bind, Limits};
use serde::Deserialize;

use super::compiler_process::CompilerProcess;
use super::error::VerdictError;
use super::outcome::TypeCheck;
use super::runner::layout::{HARNESS, REPOSITORY};
use super::runner::{ProjectRunner, write_scripts};

/// TypeScript's own checker of one project.
pub(super) struct TypeChecker(CompilerProcess);

/// The checker's script, as name and contents.
const SCRIPT: (&str, &str) = (
    "fillrate_types.mjs",
    include_str!("harness/fillrate_types.mjs"),
);

/// The time limit for the whole project.
const START_TIME: Duration = Duration::from_secs(900);
/// The time limit for one change.
const CHECK_TIME: Duration = Duration::from_secs(120);

/// Response of the checker.
#[derive(Deserialize)]
#[serde(untagged)]
enum CheckerResponse {
    Checked(TypeCheck),
    Outside {
        #[serde(rename = "outside")]
        _outside: bool,
    },
}

impl TypeChecker {
    /// The checker of a project that has TypeScript in its environment and a `tsconfig.json`;
    /// `None` for others.
    ///
    /// # Errors
    /// Its script can't be written into the cache.
    pub(super) fn new(runner: &ProjectRunner, cache: &Path) -> Result<Option<Self>, VerdictError> {
        let prepared = runner.prepared();
        let environment = &prepared.environment;
        let applies = environment.root.join("node_modules/typescript").is_dir()
            && prepared.source.join("tsconfig.json").is_file();
        if !applies {
            return Ok(None);
        }
        let limits = Limits {
            wall: START_TIME,
            cpu: START_TIME,
            memory: 4 << 30,
            ..Limits::default()
        };
        let program = environment.interpreter.display().to_string();
        let (name, _) = SCRIPT;
        let mut job = runner.job(program, vec![format!("{HARNESS}/{name}")], limits);
        // The checker's script takes the place of the test framework's scripts.
        job.binds.retain(|bind| bind.at != Path::new(HARNESS));
        job.binds
            .push(Bind::read_only(write_scripts(&[SCRIPT], cache)?, HARNESS));
        job.input = Some(serde_json::json!({"directory": REPOSITORY}).to_string() + "\n");
        Ok(Some(Self(CompilerProcess::new(job))))
    }

    /// Reason why a change was not checked; `None` if each was.
    pub(super) fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    /// The errors that a change adds; `None` if `tsconfig.json` does not include the file, the
    /// project can't be checked or the check takes too long.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn check(
        &self,
        path: &str,
        contents: &str,
    ) -> Result<Option<TypeCheck>, VerdictError> {
        let request = serde_json::json!({"path": path, "contents": contents});
        let Some(finished) = self.0.check(&request, CHECK_TIME)? else {
            return Ok(None);
        };
        Ok(match serde_json::from_slice(&finished.reply) {
            Ok(CheckerResponse::Checked(checked)) => Some(checked),
            Ok(CheckerResponse::Outside { .. }) => None,
            Err(error) => {
                self.0
                    .record_fault(format!("its answer can't be read: {error}"));
                None
            }
        })
    }
}
