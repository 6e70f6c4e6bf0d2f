//! Asks a compiler that stays loaded whether a changed file compiles, before any test is started.
//!
//! For languages whose compiler takes longer to start than to find an error: most completions that
//! fail there don't compile. What it does not refuse is run as ever, and decides by that alone.

use std::time::Duration;

use serde::Deserialize;

use super::compiler_process::CompilerProcess;
use super::error::VerdictError;
use super::runner::report::{CollectError, TestReport};
use super::runner::{FAILED_STATUS, ProjectRunner, TestRunResult};
use fillrate_sandbox::{End, Limits};

/// Whether changed files of a project compile.
pub(super) struct CompileChecker(CompilerProcess);

/// The time limit for starting, in which it may have to compile the whole project.
const START_TIME: Duration = Duration::from_secs(600);
/// The time limit for one change: one that takes longer is left to a run with limits of its own.
const CHECK_TIME: Duration = Duration::from_secs(20);
/// The memory limit, in bytes.
const MEMORY: u64 = 4 << 30;

/// What the process returns.
#[derive(Deserialize)]
struct CheckerResponse {
    /// The files or packages that do not compile, with what the compiler says. Nothing says nothing.
    refused: Vec<RefusedSource>,
}

/// A file or package that does not compile.
#[derive(Deserialize)]
struct RefusedSource {
    id: String,
    message: String,
}

impl CompileChecker {
    /// The checker of a project; `None` if its framework has none.
    pub(super) fn new(runner: &ProjectRunner) -> Option<Self> {
        let limits = Limits {
            wall: START_TIME,
            cpu: START_TIME,
            memory: MEMORY,
            ..Limits::default()
        };
        let mut job = runner.compile_checker_job(limits)?;
        job.input = Some("{}\n".to_owned());
        Some(Self(CompilerProcess::new(job)))
    }

    /// What a run of tests would come to with a file that does not compile; `None` if nothing speaks
    /// against the file.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn refusal(
        &self,
        path: &str,
        contents: &str,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        let Some(finished) = self.0.check(path, contents, CHECK_TIME)? else {
            return Ok(None);
        };
        let refused = serde_json::from_slice(&finished.reply)
            .map_or_else(|_| Vec::new(), |response: CheckerResponse| response.refused);
        if refused.is_empty() {
            return Ok(None);
        }
        let errors = refused.into_iter().map(|source| CollectError {
            id: source.id,
            message: source.message,
            compile: true,
        });
        let mut report = TestReport::default();
        report.collect_errors = errors.collect();
        report.ended = true;
        Ok(Some(TestRunResult {
            end: End::Exited(FAILED_STATUS),
            report,
            changed: Vec::new(),
            unreadable: Vec::new(),
            output: String::new(),
            wall: finished.wall,
            peak_memory: finished.peak_memory,
            level: finished.level.to_string(),
        }))
    }
}
