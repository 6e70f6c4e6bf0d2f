//! Warm workers: processes that have imported what tests need, and run them without its start-up
//! time.

mod forks;
mod spares;
mod transformed;
mod transformer;
pub(super) mod versions;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fillrate_sandbox::{ForkRun, Limits, Replaced};

use self::forks::ForkedWorkers;
use self::spares::SpareSandboxes;
use self::transformed::TransformedRuns;
use super::framework::{LoadedCode, Readiness};
use super::project::{ProjectRunner, TestRun, TestRunResult};
use crate::error::VerdictError;

pub(crate) use transformer::ask;

/// The warm workers of one project, of the mechanism that its framework supports.
#[derive(Default)]
pub(crate) struct WarmWorkers {
    forks: ForkedWorkers,
    transformed: TransformedRuns,
    /// Sandboxes in which the framework waits for its instructions.
    waiting: SpareSandboxes,
    /// True if a worker failed to collect the tests, though one succeeded at baseline.
    uncollectable: AtomicBool,
    /// True if no process can run the tests on several versions of a file.
    unversioned: AtomicBool,
}

/// Lifetime of a process that was started for runs to come, or has collected a project's tests. The
/// time that modules read at import must not be older than in a slow run of all tests.
const LIFETIME: Duration = Duration::from_secs(60);

impl WarmWorkers {
    /// Runs tests in a fork of a warm worker, on transformed files, or in a process that was
    /// started before; `None` if the framework can't, or this run needs the whole framework.
    /// `compiled` is the compiled form of the changed files, if a compiler that stays loaded made
    /// it.
    ///
    /// # Errors
    /// The sandbox is unavailable or supports no workers; the framework refuses to be forked.
    pub(crate) fn run(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        loaded: &LoadedCode,
        readiness: Readiness,
        memory: u64,
        compiled: Vec<Replaced>,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        // A worker that has collected ran the imports already, whose lines coverage has to record.
        if collected && (run.coverage.is_some() || self.uncollectable.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let framework = &runner.framework;
        if framework.waits_for_instructions() {
            if collected || run.coverage.is_some() {
                return Ok(None);
            }
            let job = runner.test_job(run.limits.clone());
            return self.waiting.run(runner, run, &job, compiled).map(Some);
        }
        let Some(program) = framework.warm_program(runner.prepared(), loaded, readiness) else {
            return Ok(None);
        };
        let result = match &program.host {
            // Runs on transformed files record no coverage.
            Some(_) if run.coverage.is_some() => None,
            Some(host) => self.transformed.run(runner, run, &program, host)?,
            None => {
                let instructions = run.instructions();
                let fork_run = ForkRun {
                    replaced: run.overlay_files().collect(),
                    input: instructions.line(),
                    wall: run.limits.wall,
                    cpu: run.limits.cpu,
                };
                let forks = &self.forks;
                let finished = forks.run(runner, program, readiness, memory, fork_run)?;
                Some(runner.result(finished, &instructions))
            }
        };
        // A run that needed the framework itself gives no evidence; the caller runs it in full.
        Ok(result.filter(|result| !result.report.missed))
    }

    /// Starts no further worker that collects the tests.
    pub(crate) fn disable_collecting(&self) {
        self.uncollectable.store(true, Ordering::Relaxed);
    }

    /// Starts a sandbox for a run to come if none waits and runs wait for their instructions.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(crate) fn start_spare(
        &self,
        runner: &ProjectRunner,
        limits: Limits,
    ) -> Result<(), VerdictError> {
        match runner.waits_for_instructions() {
            true => self.waiting.start_first(|| runner.test_job(limits)),
            false => Ok(()),
        }
    }
}
