//! Reruns failures that the change can hardly have caused before they count.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::outcome::{Outcome, Verdict};
use super::runner::TestRun;

/// How often the tests of a doubtful failure are rerun with the change.
const RERUNS: usize = 2;

/// Tests that were stable at baseline and have proved flaky since.
#[derive(Default)]
pub(super) struct FlakyTests {
    ids: Mutex<BTreeSet<String>>,
}

impl FlakyTests {
    /// Whether a failure needs a rerun: nothing is changed; or none of the failed tests runs a
    /// changed line, while others do; or all of them have proved flaky. `covering` are the tests
    /// that run a changed line.
    pub(super) fn is_doubtful(
        &self,
        verdict: &Verdict,
        covering: &BTreeSet<&str>,
        is_changed: bool,
    ) -> bool {
        if verdict.outcome != Outcome::Failed || verdict.failed.is_empty() {
            return false;
        }
        let failed = || verdict.failed.iter().map(String::as_str);
        let flaky = self.ids.lock();
        !is_changed
            || !covering.is_empty() && failed().all(|id| !covering.contains(id))
            || failed().all(|id| flaky.contains(id))
    }

    /// Reruns a batch with failed tests twice with the change and once without it. The failure
    /// stands if a test fails every time with the change and passes without it; otherwise the
    /// outcome becomes flaky.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn rerun(
        &self,
        executor: &Executor,
        engine: Engine,
        replaced: &[(&str, &str)],
        batch: &[&str],
        verdict: &mut Verdict,
    ) -> Result<(), VerdictError> {
        verdict.rerun = true;
        let mut failures = |replaced| -> Result<BTreeSet<String>, VerdictError> {
            let run = TestRun {
                replaced,
                select: Some(batch),
                coverage: None,
                // A failure of another test must not keep these tests from running.
                first_failure_ends: false,
                limits: executor.limits(batch),
            };
            let result = executor.execute(engine, &run)?;
            verdict.seconds += result.wall.as_secs_f64();
            let tests = result.report.tests.into_values();
            Ok(tests
                .filter(|test| test.outcome.is_failure())
                .map(|test| test.id)
                .collect())
        };
        let mut with = Vec::new();
        for _ in 0..RERUNS {
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
            1 + RERUNS,
            usize::from(without.contains(first)),
        );
        self.ids.lock().extend(verdict.failed.iter().cloned());
        Ok(())
    }
}
