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
}

/// What became of the process.
enum ProcessState {
    /// It starts with the next request.
    Stopped,
    Running(Worker),
    /// It can't check this project.
    Unfit,
}

impl CompilerProcess {
    /// A process that is started by this job with the first request.
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            state: Mutex::new(ProcessState::Stopped),
        }
    }

    /// The answer to a request, a line of JSON about changed files; `None` if the process can't check
    /// the project, dies or exceeds the time limit. One that dies is started again with the next
    /// request.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn check(
        &self,
        request: &Value,
        time_limit: Duration,
    ) -> Result<Option<Finished>, VerdictError> {
        let mut state = self.state.lock();
        let mut worker = match std::mem::replace(&mut *state, ProcessState::Stopped) {
            ProcessState::Running(worker) => Some(worker),
            ProcessState::Stopped => self.start()?,
            ProcessState::Unfit => None,
        };
        if worker.is_none() {
            *state = ProcessState::Unfit;
            return Ok(None);
        }
        let finished = ask(&mut worker, request.to_string(), time_limit)?;
        if let Some(worker) = worker {
            *state = ProcessState::Running(worker);
        }
        Ok(finished)
    }

    /// Starts the process; `None` if it can't check this project.
    fn start(&self) -> Result<Option<Worker>, VerdictError> {
        match Worker::start(Sandbox::default().executable, self.job.clone()) {
            Ok(worker) => Ok(Some(worker)),
            Err(error @ (SandboxError::Program { .. } | SandboxError::BelowLevel { .. })) => {
                tracing::debug!("{} is not used: {error}", self.job.program);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
