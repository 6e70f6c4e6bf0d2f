//! Sandboxes that were started for runs to come.

use std::time::Instant;

use fillrate_sandbox::{Job, Replaced, Sandbox, Spare, SpareRun};
use parking_lot::Mutex;

use super::LIFETIME;
use crate::error::VerdictError;
use crate::runner::project::{ProjectRunner, TestRun, TestRunResult};

/// Sandboxes, each with its start. A run takes one and leaves another in its place, so that there
/// is one for each run at the same time.
#[derive(Default)]
pub(super) struct SpareSandboxes(Mutex<Vec<(Spare, Instant)>>);

impl SpareSandboxes {
    /// Runs tests in a sandbox that was started for this job, with `last` laid over the last of its
    /// overlays and the run's own files over the first.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn run(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        job: &Job,
        last: Vec<Replaced>,
    ) -> Result<TestRunResult, VerdictError> {
        // One list of files for each overlay, in the order of the overlays.
        let mut replaced = vec![Vec::new(); job.overlays.len()];
        replaced[0].extend(run.overlay_files());
        replaced[job.overlays.len() - 1].extend(last);
        let instructions = run.instructions();
        let finished = self.take(job)?.run(SpareRun {
            replaced,
            input: instructions.line(),
            wall: run.limits.wall,
            cpu: run.limits.cpu,
        })?;
        Ok(runner.result(finished, &instructions))
    }

    /// Starts a sandbox if there is none.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn start_first(&self, job: impl FnOnce() -> Job) -> Result<(), VerdictError> {
        // The lock is held during the start, so that two threads don't both start the first.
        let mut spares = self.0.lock();
        if spares.is_empty() {
            spares.push((start(&job())?, Instant::now()));
        }
        Ok(())
    }

    /// Ends all of them.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Takes a sandbox for this job, or starts one, and starts the next.
    fn take(&self, job: &Job) -> Result<Spare, VerdictError> {
        // Starting is slow, so the lock is released before it.
        let waiting = {
            let mut spares = self.0.lock();
            spares.retain(|(_, since)| since.elapsed() < LIFETIME);
            spares.pop()
        };
        let spare = match waiting {
            Some((spare, _)) => spare,
            None => start(job)?,
        };
        // The next one loads while this one runs its tests.
        let next = start(job)?;
        self.0.lock().push((next, Instant::now()));
        Ok(spare)
    }
}

fn start(job: &Job) -> Result<Spare, VerdictError> {
    Ok(Spare::start(Sandbox::default().executable, job.clone())?)
}
