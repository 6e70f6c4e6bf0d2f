//! Records of a run, each with its event.

use fillrate_verdict::Judge;
use parking_lot::{Mutex, MutexGuard};

use crate::play::PlayError;
use crate::play::events::{Event, Listener};
use crate::play::schedule::ReplayParameters;
use crate::store::{Attempt, Run, StoreError, TimeSpent, TypingAttempt};

/// A run that workers write to, and the listener to what they write.
pub(super) struct RunRecorder<'a> {
    run: Mutex<Run>,
    listener: &'a dyn Listener,
}

impl<'a> RunRecorder<'a> {
    /// A recorder of a run.
    pub(super) fn new(run: Run, listener: &'a dyn Listener) -> Self {
        Self {
            run: Mutex::new(run),
            listener,
        }
    }

    /// The run as it is until now.
    pub(super) fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock()
    }

    /// Stores an attempt.
    ///
    /// # Errors
    /// The database fails.
    pub(super) fn add_attempt(&self, attempt: &Attempt) -> Result<(), StoreError> {
        self.run().add_attempt(attempt)?;
        self.listener.receive(&Event::AttemptFinished {
            key: attempt.key.clone(),
            project: attempt.project.clone(),
            hole: attempt.hole.clone(),
            model: attempt.model.clone(),
            sample: attempt.sample,
            repair_round: attempt.repair_round,
            answered: attempt.answered,
            latency_ms: attempt.latency_ms,
            outcome: attempt.verdict.outcome,
        });
        Ok(())
    }

    /// Stores a typing.
    ///
    /// # Errors
    /// The database fails.
    pub(super) fn add_typing(&self, typing: TypingAttempt) -> Result<(), StoreError> {
        self.run().add_typing(&typing)?;
        self.listener.receive(&Event::TypingFinished {
            key: typing.key,
            project: typing.project,
            hole: typing.hole,
            model: typing.model,
            policy: typing.policy,
            accepts: typing.session.keys.accepts,
        });
        Ok(())
    }

    /// Records the shortcuts to verdicts that failed, and the time spent by the given number of
    /// workers, and returns the run.
    ///
    /// # Errors
    /// `played` is an error, or the database fails.
    pub(super) fn finish(
        self,
        played: Result<(), PlayError>,
        parameters: &ReplayParameters<'_>,
        workers: usize,
        spent: TimeSpent,
    ) -> Result<Run, PlayError> {
        // This is recorded even if the replay failed; the error of the replay is returned first.
        let recorded = self
            .add_slow_paths(parameters)
            .and_then(|()| self.add_time_spent(parameters, workers, spent));
        let written = match &played {
            Ok(()) => Ok(()),
            // A part keeps what it made before the error.
            Err(_) => self.run().write_segment(),
        };
        PlayError::first_of(played, recorded.and(written))?;
        Ok(self.run.into_inner())
    }

    fn add_slow_paths(&self, parameters: &ReplayParameters<'_>) -> Result<(), StoreError> {
        for (name, project) in &parameters.projects {
            let judge = project.judge.as_ref();
            let reasons = judge.map(Judge::slow_paths).unwrap_or_default();
            if reasons.is_empty() {
                continue;
            }
            self.run().add_slow_paths(name, &reasons)?;
            for reason in reasons {
                self.listener.receive(&Event::SlowPath {
                    project: (*name).to_owned(),
                    reason,
                });
            }
        }
        Ok(())
    }

    fn add_time_spent(
        &self,
        parameters: &ReplayParameters<'_>,
        workers: usize,
        spent: TimeSpent,
    ) -> Result<(), StoreError> {
        // A resumed run that lacks nothing has no workers, and its earlier times stay.
        if workers == 0 {
            return Ok(());
        }
        self.run().add_time_spent(&spent)?;
        self.listener.receive(&Event::TimeSpent {
            model: parameters.subject.name.clone(),
            context: parameters.subject.context_name(),
            workers,
            spent,
        });
        Ok(())
    }
}
