//! A long-lived process in the sandbox that compiles or checks what it reads, and runs none of it.

use std::time::Duration;

use fillrate_sandbox::{Finished, Job, Sandbox, SandboxError, Worker};
use parking_lot::Mutex;
use serde_json::Value;

use super::error::VerdictError;
use super::runner::ask;

/// A compiler that stays loaded. It answers one request at a time.
pub(super) struct CompilerProcess {
    job: Job,
    state: Mutex<ProcessState>,
    /// Reason for the first request that it did not answer.
    fault: Mutex<Option<String>>,
}

/// Number of starts that may fail: one of them may be the fault of a busy machine.
const MOST_FAILED_STARTS: u8 = 2;

/// State of the process.
enum ProcessState {
    /// It starts with the next request, after the given number of failed starts.
    Stopped(u8),
    Running(Worker),
    /// It can't check this project.
    Unfit,
}

impl CompilerProcess {
    /// A process that is started by this job with the first request.
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            state: Mutex::new(ProcessState::Stopped(0)),
            fault: Mutex::default(),
        }
    }

    /// Reason why a request was not answered; `None` if each was.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    /// Returns the response to a request, a line of JSON about changed files; `None` if the process
    /// can't check the project, dies or exceeds the time limit. One that dies is started again with
    /// the next request.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn check(
        &self,
        request: &Value,
        time_limit: Duration,
    ) -> Result<Option<Finished>, VerdictError> {
        let mut state = self.state.lock();
        // `Stopped` stays if an error ends the request, so that the next one starts a new process.
        let mut worker = match std::mem::replace(&mut *state, ProcessState::Stopped(0)) {
            ProcessState::Running(worker) => Some(worker),
            ProcessState::Stopped(failed) => {
                let worker = self.start()?;
                if worker.is_none() {
                    *state = match failed + 1 {
                        MOST_FAILED_STARTS => ProcessState::Unfit,
                        failed => ProcessState::Stopped(failed),
                    };
                    return Ok(None);
                }
                worker
            }
            ProcessState::Unfit => {
                *state = ProcessState::Unfit;
                return Ok(None);
            }
        };
        let finished = ask(&mut worker, request.to_string(), time_limit)?;
        if finished.is_none() {
            self.record_fault(format!(
                "it died over a change, or took longer than {} s",
                time_limit.as_secs()
            ));
        }
        // `ask` takes away a process that has died.
        if let Some(worker) = worker {
            *state = ProcessState::Running(worker);
        }
        Ok(finished)
    }

    /// Logs a reason for an unanswered request, and keeps the first.
    pub(super) fn record_fault(&self, reason: String) {
        tracing::warn!("{} does not check a change: {reason}", self.job.program);
        self.fault.lock().get_or_insert(reason);
    }

    /// Starts the process; `None` if it can't check this project.
    fn start(&self) -> Result<Option<Worker>, VerdictError> {
        match Worker::start(Sandbox::default().executable, self.job.clone()) {
            Ok(worker) => Ok(Some(worker)),
            Err(SandboxError::Unfit { reason }) => {
                self.record_fault(reason);
                Ok(None)
            }
            Err(error @ (SandboxError::Program { .. } | SandboxError::BelowLevel { .. })) => {
                self.record_fault(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
