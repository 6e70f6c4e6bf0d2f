//! Failures that the change can hardly have caused: looked at again before they count.

use std::collections::BTreeSet;

use super::runner::TestRun;
use super::{Engine, Judge, Outcome, Verdict, VerdictError, lock};

/// How often the tests of a doubtful failure are run again with the change.
const AGAIN: usize = 2;

impl Judge {
    /// Whether a failure is to be looked at again: nothing was changed; or none of the tests that
    /// failed runs a changed line, while others do; or all of them have been seen to disagree with
    /// themselves. `covering` are the tests that run a changed line.
    pub(super) fn doubts(
        &self,
        verdict: &Verdict,
        covering: &BTreeSet<&str>,
        is_changed: bool,
    ) -> bool {
        if verdict.outcome != Outcome::Failed || verdict.failed.is_empty() {
            return false;
        }
        let failed = || verdict.failed.iter().map(String::as_str);
        let suspects = lock(&self.suspects);
        !is_changed
            || !covering.is_empty() && failed().all(|id| !covering.contains(id))
            || failed().all(|id| suspects.contains(id))
    }

    /// Runs a round in which tests failed twice more with the change and once without it. The
    /// failure stands if a test failed every time with the change and passes without it, or else
    /// the verdict is that it hangs on tests which don't agree with themselves.
    ///
    /// # Errors
    /// The sandbox can't be had.
    pub(super) fn run_again(
        &self,
        engine: Engine,
        replaced: &[(&str, &str)],
        round: &[&str],
        verdict: &mut Verdict,
    ) -> Result<(), VerdictError> {
        verdict.again = true;
        let mut failures = |replaced| -> Result<BTreeSet<String>, VerdictError> {
            let run = TestRun {
                replaced,
                select: Some(round),
                coverage: None,
                // What fails elsewhere must not keep these tests from being run.
                first_failure_ends: false,
                limits: self.limits(round),
            };
            let finding = self.execute(engine, &run)?;
            verdict.seconds += finding.wall.as_secs_f64();
            let tests = finding.report.tests.into_values();
            Ok(tests
                .filter(|test| test.outcome.is_failure())
                .map(|test| test.id)
                .collect())
        };
        let mut with = Vec::new();
        for _ in 0..AGAIN {
            with.push(failures(replaced)?);
        }
        let without = failures(&[])?;
        let mut unsteady = verdict.failed.iter().filter(|id| {
            let every_time = with.iter().all(|failed| failed.contains(*id));
            !every_time || without.contains(*id)
        });
        let Some(first) = unsteady.next() else {
            return Ok(());
        };
        if unsteady.count() + 1 < verdict.failed.len() {
            return Ok(());
        }
        let times = 1 + with.iter().filter(|failed| failed.contains(first)).count();
        verdict.outcome = Outcome::Flaky;
        verdict.reason = format!(
            "{first} does not agree with itself: it failed {times} of {} times with the change \
             and {} of 1 without",
            1 + AGAIN,
            usize::from(without.contains(first)),
        );
        lock(&self.suspects).extend(verdict.failed.iter().cloned());
        Ok(())
    }
}
