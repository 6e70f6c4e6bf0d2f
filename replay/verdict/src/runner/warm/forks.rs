//! Workers whose forks run the tests.

use std::time::Instant;

use fillrate_sandbox::{Finished, ForkRun, Limits, Sandbox, Worker};
use parking_lot::Mutex;

use super::LIFETIME;
use crate::error::VerdictError;
use crate::runner::framework::{Readiness, WarmProgram};
use crate::runner::project::ProjectRunner;

/// Idle workers, one for each run at the same time.
#[derive(Default)]
pub(super) struct ForkedWorkers(Mutex<Vec<IdleWorker>>);

/// A worker that waits for a run.
struct IdleWorker {
    worker: Worker,
    readiness: Readiness,
    since: Instant,
}

impl ForkedWorkers {
    /// Runs tests in a fork of an idle worker with this readiness, or of a new one.
    ///
    /// # Errors
    /// The sandbox is unavailable or supports no workers; the framework refuses to be forked.
    pub(super) fn run(
        &self,
        runner: &ProjectRunner,
        program: WarmProgram,
        readiness: Readiness,
        memory: u64,
        run: ForkRun,
    ) -> Result<Finished, VerdictError> {
        // The worker is taken out of the list, so two runs never fork the same one.
        let IdleWorker { worker, since, .. } = match self.take_idle(readiness) {
            Some(idle) => idle,
            None => {
                let limits = Limits {
                    memory,
                    ..Limits::default()
                };
                let mut job = runner.job(program.program, program.arguments, limits);
                job.input = Some(program.task);
                IdleWorker {
                    worker: Worker::start(Sandbox::default().executable, job)?,
                    readiness,
                    since: Instant::now(),
                }
            }
        };
        let (finished, worker) = worker.run(run)?;
        // It is kept if it can run another.
        self.0.lock().extend(worker.map(|worker| IdleWorker {
            worker,
            readiness,
            since,
        }));
        Ok(finished)
    }

    /// Takes an idle worker with this readiness, and drops those that are too old.
    fn take_idle(&self, readiness: Readiness) -> Option<IdleWorker> {
        let mut idle = self.0.lock();
        // A worker that only loaded libraries does not become stale.
        idle.retain(|idle| idle.readiness == Readiness::Loaded || idle.since.elapsed() < LIFETIME);
        let index = idle.iter().position(|idle| idle.readiness == readiness)?;
        Some(idle.swap_remove(index))
    }
}
