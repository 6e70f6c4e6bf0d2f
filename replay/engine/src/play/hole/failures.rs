//! Failures of the model under test.

use std::sync::atomic::{AtomicUsize, Ordering};

use fillrate_language::task::Hole;

use crate::play::PlayError;
use crate::play::events::{Event, Listener};

/// Number of successive requests that a model may fail before the run is stopped.
const MOST_FAILURES_IN_A_ROW: usize = 4;

/// Requests in a row that a model failed.
pub(super) struct ModelFailures<'a> {
    in_a_row: AtomicUsize,
    model: &'a str,
    listener: &'a dyn Listener,
}

impl<'a> ModelFailures<'a> {
    /// No failures of a model yet.
    pub(super) fn new(model: &'a str, listener: &'a dyn Listener) -> Self {
        Self {
            in_a_row: AtomicUsize::new(0),
            model,
            listener,
        }
    }

    /// Ends the row: the model answered.
    pub(super) fn reset(&self) {
        self.in_a_row.store(0, Ordering::Relaxed);
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// There are too many in a row.
    pub(super) fn count(&self, hole: &Hole, reason: &str) -> Result<(), PlayError> {
        let in_a_row = self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        let model = self.model;
        self.listener.receive(&Event::ModelFailed {
            hole: hole.id.clone(),
            model: model.to_owned(),
            reason: reason.to_owned(),
            in_a_row,
        });
        if in_a_row >= MOST_FAILURES_IN_A_ROW {
            return Err(PlayError::Refused(format!(
                "the model {model} gave no answer {in_a_row} times in a row: {reason}; fix that \
                 and rerun the command, finished attempts are kept"
            )));
        }
        Ok(())
    }
}
