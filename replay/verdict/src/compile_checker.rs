//! Asks a compiler that stays loaded to compile changed files, before any test is started.
//!
//! For languages whose compiler takes longer to start than to find an error: most completions that
//! fail there don't compile. The tests run as usual on a change that it does not refuse, and only
//! they decide the verdict; the files it has compiled are not compiled again.

use std::collections::BTreeMap;
use std::time::Duration;

use fillrate_sandbox::{End, Finished, Limits, Replaced};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::compiler_process::CompilerProcess;
use super::error::VerdictError;
use super::judged_code::FileContents;
use super::runner::report::{CollectError, TestReport};
use super::runner::{FAILED_STATUS, ProjectRunner, TestRunResult};

/// Compiles changed files of a project.
pub(super) struct CompileChecker {
    process: CompilerProcess,
    /// The last change that compiled: a change that was checked is run next.
    last: Mutex<Option<Compiled>>,
}

/// A change that compiled.
struct Compiled {
    request: Value,
    files: Vec<Replaced>,
    /// Time taken to compile, until a run has counted it.
    wall: Duration,
}

/// The time limit for starting, in which it may have to compile the whole project.
const START_TIME: Duration = Duration::from_secs(600);
/// The time limit for one change: one that takes longer is left to a run with limits of its own.
const CHECK_TIME: Duration = Duration::from_secs(20);
/// The memory limit, in bytes.
const MEMORY: u64 = 4 << 30;

/// Response of the process.
#[derive(Deserialize)]
struct CheckerResponse {
    /// The files or packages that do not compile, with the compiler's messages; empty if all do.
    refused: Vec<RefusedSource>,
    /// The compiled files, if a run needs no others.
    #[serde(default)]
    compiled: Vec<Replaced>,
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
        Some(Self {
            process: CompilerProcess::new(job),
            last: Mutex::default(),
        })
    }

    /// Reason why a change was not checked; `None` if each was.
    pub(super) fn fault(&self) -> Option<String> {
        self.process.fault()
    }

    /// The compiled form of changed files, by their paths in the project: files for the last of the
    /// framework's overlays, and how long compiling took if that was not asked before. No files if
    /// the process does not have all that a run needs.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn compiled(
        &self,
        changed: &[FileContents<'_>],
    ) -> Result<(Vec<Replaced>, Duration), VerdictError> {
        let request = request(changed);
        let kept = || {
            let mut last = self.last.lock();
            let compiled = last
                .as_mut()
                .filter(|compiled| compiled.request == request)?;
            // Taken, so that only the first run with these files counts the time of compiling them.
            Some((compiled.files.clone(), std::mem::take(&mut compiled.wall)))
        };
        if let Some(kept) = kept() {
            return Ok(kept);
        }
        self.check(request.clone())?;
        // Nothing is kept of files that do not compile, or if the process does not answer.
        Ok(kept().unwrap_or_default())
    }

    /// Returns the result that a run of tests would have with a file that does not compile; `None`
    /// if no error in the file is known.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn refusal(
        &self,
        path: &str,
        contents: &str,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        let Some((refused, finished)) = self.check(request(&[FileContents { path, contents }]))?
        else {
            return Ok(None);
        };
        let errors = refused.into_iter().map(|source| CollectError {
            id: source.id,
            message: source.message,
            compile: true,
        });
        let mut report = TestReport::default();
        report.collect_errors = errors.collect();
        // Otherwise the run would also lack a complete report.
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

    /// Returns the sources that do not compile; `None` if none is known. Keeps the compiled files
    /// until the next request.
    fn check(
        &self,
        request: Value,
    ) -> Result<Option<(Vec<RefusedSource>, Finished)>, VerdictError> {
        let Some(finished) = self.process.check(&request, CHECK_TIME)? else {
            return Ok(None);
        };
        let response: CheckerResponse = match serde_json::from_slice(&finished.reply) {
            Ok(response) => response,
            Err(error) => {
                self.process
                    .record_fault(format!("its answer can't be read: {error}"));
                return Ok(None);
            }
        };
        if !response.refused.is_empty() {
            return Ok(Some((response.refused, finished)));
        }
        *self.last.lock() = Some(Compiled {
            request,
            files: response.compiled,
            wall: finished.wall,
        });
        Ok(None)
    }
}

/// The request on changed files.
fn request(changed: &[FileContents<'_>]) -> Value {
    let files = changed.iter().map(|file| (file.path, file.contents));
    let files: BTreeMap<&str, &str> = files.collect();
    json!({"files": files})
}
