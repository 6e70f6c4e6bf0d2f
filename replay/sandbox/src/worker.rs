//! A long-lived sandbox for many short runs of a program that starts slowly.

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::run::WarmSandbox;
use super::{Finished, Job, Replaced, SandboxError};

/// A sandbox whose program has loaded its libraries and waits. Each [`ForkRun`] is run by a fork of
/// it. Runs see nothing of each other: the protocol and the parts that are replaced between runs
/// are documented at the head of `fork_server.rs`.
///
/// It has a thread of its own, because the kernel ends a sandbox together with the thread that
/// started it. Dropping it ends the sandbox.
#[derive(Debug)]
pub struct Worker {
    orders: Sender<(Task, Sender<WorkerReply>)>,
}

/// Result of a run, and true if the worker can go on.
type WorkerReply = (Result<Finished, SandboxError>, bool);

/// The next task of a worker.
#[derive(Debug)]
struct Task {
    run: ForkRun,
    /// True if the waiting program does it itself.
    without_fork: bool,
}

/// One run of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRun {
    /// Files laid over the job's first overlay.
    pub replaced: Vec<Replaced>,
    /// The fork's standard input, as in [`Job::input`].
    pub input: String,
    /// Wall-clock time from the fork on.
    pub wall: Duration,
    /// Processor time of the fork and what it starts.
    pub cpu: Duration,
}

impl Worker {
    /// Starts a worker and waits until its program is ready. The job's [`Job::input`] is the
    /// program's first input; the job's time limits apply to its start.
    ///
    /// # Errors
    ///
    /// Every [`SandboxError`]; [`SandboxError::BelowLevel`] also if an overlay is only available as
    /// a copy, and [`SandboxError::Unfit`] with the program's own message if it reports that it is
    /// unfit.
    pub fn start(executable: PathBuf, job: Job) -> Result<Self, SandboxError> {
        job.check()?;
        let (orders, tasks) = mpsc::channel::<(Task, Sender<WorkerReply>)>();
        let (started, start) = mpsc::channel();
        std::thread::Builder::new()
            .name("sandbox".into())
            .spawn(move || {
                let mut kept = match WarmSandbox::start(&executable, &job) {
                    Ok(kept) => kept,
                    Err(error) => return drop(started.send(Err(error))),
                };
                if started.send(Ok(())).is_err() {
                    return;
                }
                while let Ok((task, answer)) = tasks.recv() {
                    let finished = kept.run(&task.run, task.without_fork);
                    let alive = kept.alive();
                    if answer.send((finished, alive)).is_err() || !alive {
                        return;
                    }
                }
            })
            .map_err(|error| SandboxError::setup("start a thread", error))?;
        start.recv().unwrap_or_else(|_| Err(gone()))?;
        Ok(Self { orders })
    }

    /// Runs a fork to its end. Gives the worker back if it can run another: it can't after a
    /// limit was reached or its program was hit.
    ///
    /// # Errors
    ///
    /// As [`super::run()`].
    pub fn run(self, run: ForkRun) -> Result<(Finished, Option<Self>), SandboxError> {
        self.perform(Task {
            run,
            without_fork: false,
        })
    }

    /// Sends a line, `input`, to the waiting program itself, which reads it from its standard input
    /// and writes one, [`Finished::reply`], within `time`. Nothing is replaced between queries, so
    /// that the program must not run any of what it reads.
    ///
    /// # Errors
    ///
    /// As [`super::run()`].
    pub fn query(
        self,
        input: String,
        time: Duration,
    ) -> Result<(Finished, Option<Self>), SandboxError> {
        let run = ForkRun {
            replaced: Vec::new(),
            input,
            wall: time,
            cpu: time * 2,
        };
        self.perform(Task {
            run,
            without_fork: true,
        })
    }

    fn perform(self, task: Task) -> Result<(Finished, Option<Self>), SandboxError> {
        let (answer, answered) = mpsc::channel();
        self.orders.send((task, answer)).map_err(|_| gone())?;
        let (finished, alive) = answered.recv().map_err(|_| gone())?;
        Ok((finished?, alive.then_some(self)))
    }
}

fn gone() -> SandboxError {
    SandboxError::Lost {
        reason: "the thread of a worker's sandbox is gone".into(),
    }
}
