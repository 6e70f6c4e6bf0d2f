//! Asks a compiler that stays loaded to compile changed files, before any test is started.
//!
//! For languages whose compiler takes longer to start than to find an error: most completions that
//! fail there don't compile. What it does not refuse is run as ever, and decides by that alone; what
//! it has compiled is not compiled again.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::compiler_process::CompilerProcess;
use super::error::VerdictError;
use super::runner::report::{CollectError, TestReport};
use super::runner::{FAILED_STATUS, ProjectRunner, TestRunResult};
use fillrate_sandbox::{End, Finished, Limits, Replaced};

/// Compiles changed files of a project.
pub(super) struct CompileChecker {
    process: CompilerProcess,
    /// The last request with its response: what is checked first is run next.
    last: Mutex<Option<(Value, CheckerResponse)>>,
}

/// The time limit for starting, in which it may have to compile the whole project.
const START_TIME: Duration = Duration::from_secs(600);
/// The time limit for one change: one that takes longer is left to a run with limits of its own.
const CHECK_TIME: Duration = Duration::from_secs(20);
/// The memory limit, in bytes.
const MEMORY: u64 = 4 << 30;

/// What the process returns.
#[derive(Clone, Default, Deserialize)]
struct CheckerResponse {
    /// The files or packages that do not compile, with what the compiler says. Nothing says nothing.
    refused: Vec<RefusedSource>,
    /// What was compiled, if a run can do with that alone.
    #[serde(default)]
    compiled: Vec<Replaced>,
}

/// A file or package that does not compile.
#[derive(Clone, Deserialize)]
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
        Some(Self {
            process: CompilerProcess::new(job),
            last: Mutex::default(),
        })
    }

    /// The compiled form of changed files, by their paths in the project: files for the last of the
    /// framework's overlays. Empty if it does not have all that a run needs.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn compiled(&self, changed: &[(&str, &str)]) -> Result<Vec<Replaced>, VerdictError> {
        Ok(self.check(changed)?.0.compiled)
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
        let (response, finished) = self.check(&[(path, contents)])?;
        let Some(finished) = finished.filter(|_| !response.refused.is_empty()) else {
            return Ok(None);
        };
        let errors = response.refused.into_iter().map(|source| CollectError {
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

    /// The response on changed files, and the request's end if the process was asked for this.
    fn check(
        &self,
        changed: &[(&str, &str)],
    ) -> Result<(CheckerResponse, Option<Finished>), VerdictError> {
        let files: BTreeMap<&str, &str> = changed.iter().copied().collect();
        let request = json!({"files": files});
        if let Some((asked, response)) = &*self.last.lock()
            && *asked == request
        {
            return Ok((response.clone(), None));
        }
        let finished = self.process.check(&request, CHECK_TIME)?;
        let response: CheckerResponse = finished
            .as_ref()
            .and_then(|finished| serde_json::from_slice(&finished.reply).ok())
            .unwrap_or_default();
        *self.last.lock() = Some((request, response.clone()));
        Ok((response, finished))
    }
}
