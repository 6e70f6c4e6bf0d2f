//! A sandbox that is created, and its program started, before its run is known.

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::run::start_spare;
use super::{Finished, Job, Replaced, SandboxError};

/// A sandbox whose program has been started for a single run and waits for its input. It has never
/// contained anything of another run.
///
/// It has a thread of its own, because the kernel ends a sandbox together with the thread that
/// started it. Dropping it ends the sandbox.
#[derive(Debug)]
pub struct Spare {
    order: Sender<(SpareRun, Sender<Result<Finished, SandboxError>>)>,
}

/// Settings of a run that were not known when its spare was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpareRun {
    /// Files laid over the job's overlays before the program reads its input: a list for each, in
    /// their order.
    pub replaced: Vec<Vec<Replaced>>,
    /// The program's standard input, as in [`Job::input`].
    pub input: String,
    /// Wall-clock time from here on.
    pub wall: Duration,
    /// Processor time from here on.
    pub cpu: Duration,
}

impl Spare {
    /// Begins to start a spare and does not wait for it: [`Spare::run`] returns the errors of its
    /// start. The job's time limits do not apply to the run, and its input is ignored.
    ///
    /// # Errors
    ///
    /// The job contradicts itself, or its thread can't be started.
    pub fn start(executable: PathBuf, mut job: Job) -> Result<Self, SandboxError> {
        job.check()?;
        // An empty input opens the channel; the run's own input follows later.
        job.input = Some(String::new());
        let (order, ordered) = mpsc::channel::<(SpareRun, Sender<_>)>();
        std::thread::Builder::new()
            .name("sandbox".into())
            .spawn(move || {
                let started = start_spare(&executable, job);
                if let Ok((run, answer)) = ordered.recv() {
                    let finished = started.and_then(|session| session.run_spare(&run));
                    // No caller waits any more.
                    let _ = answer.send(finished);
                }
            })
            .map_err(|error| SandboxError::setup("start a thread", error))?;
        Ok(Self { order })
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    ///
    /// As [`super::run()`].
    pub fn run(self, run: SpareRun) -> Result<Finished, SandboxError> {
        let gone = || SandboxError::Lost {
            reason: "the thread of a spare sandbox is gone".into(),
        };
        let (answer, answered) = mpsc::channel();
        self.order.send((run, answer)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}
