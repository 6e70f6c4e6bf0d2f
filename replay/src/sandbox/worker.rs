//! A sandbox that is kept, for many short runs of a program that is slow to start.

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::run::Kept;
use super::{Finished, Job, Replaced, SandboxError};

/// A sandbox whose program has loaded what it needs and waits. Each [`Round`] is run by a fork of
/// it, and sees and leaves nothing of the rounds before: see the protocol and what is made anew at
/// the head of `rounds.rs`.
///
/// It has a thread of its own, because the kernel ends a sandbox together with the thread that
/// started it. Dropping it ends the sandbox.
#[derive(Debug)]
pub struct Worker {
    orders: Sender<(Task, Sender<Answer>)>,
}

/// How a round ended, and whether the worker can go on.
type Answer = (Result<Finished, SandboxError>, bool);

/// What a worker is told to do.
#[derive(Debug)]
struct Task {
    round: Round,
    /// Whether the waiting program does it itself.
    itself: bool,
}

/// One run of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Files laid over the job's first overlay.
    pub replaced: Vec<Replaced>,
    /// What the fork finds on its standard input, as in [`Job::question`].
    pub question: String,
    /// Wall-clock time from the fork on.
    pub wall: Duration,
    /// Processor time of the fork and what it starts.
    pub cpu: Duration,
}

impl Worker {
    /// Starts a worker and waits until its program does. The job's [`Job::question`] is the first
    /// that the program hears; limits on time that the job names hold for its start.
    ///
    /// # Errors
    ///
    /// Every [`SandboxError`]; [`SandboxError::BelowLevel`] also where an overlay can only be had
    /// as a copy, and [`SandboxError::Program`] with the program's own words where it says that it
    /// is not fit for this.
    pub fn start(executable: PathBuf, job: Job) -> Result<Self, SandboxError> {
        job.check()?;
        let (orders, rounds) = mpsc::channel::<(Task, Sender<Answer>)>();
        let (started, start) = mpsc::channel();
        std::thread::Builder::new()
            .name("sandbox".into())
            .spawn(move || {
                let mut kept = match Kept::start(&executable, &job) {
                    Ok(kept) => kept,
                    Err(error) => return drop(started.send(Err(error))),
                };
                if started.send(Ok(())).is_err() {
                    return;
                }
                while let Ok((task, answer)) = rounds.recv() {
                    let finished = kept.round(&task.round, task.itself);
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

    /// Runs a round to its end. Gives the worker back if it can run another: it can't after a
    /// limit was reached or its program was hit.
    ///
    /// # Errors
    ///
    /// As [`super::run()`].
    pub fn round(self, round: Round) -> Result<(Finished, Option<Self>), SandboxError> {
        self.perform(Task {
            round,
            itself: false,
        })
    }

    /// Has the waiting program itself answer a line, `question`, in this time: it reads the line
    /// from its standard input and writes one, which is [`Finished::statement`]. Nothing is made
    /// anew, so that only a program that runs nothing of what it is shown may be asked.
    ///
    /// # Errors
    ///
    /// As [`super::run()`].
    pub fn ask(
        self,
        question: String,
        time: Duration,
    ) -> Result<(Finished, Option<Self>), SandboxError> {
        let round = Round {
            replaced: Vec::new(),
            question,
            wall: time,
            cpu: time * 2,
        };
        self.perform(Task {
            round,
            itself: true,
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
        reason: "the thread of a kept sandbox is gone".into(),
    }
}
