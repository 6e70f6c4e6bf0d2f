//! Reruns failures that the change can hardly have caused before they count.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::missing::{missing_advice, missing_modules};
use super::outcome::{Outcome, Verdict};
use super::runner::TestRun;

/// Number of reruns, without the change, of the tests of a doubtful failure.
const RERUNS: usize = 5;

/// Tests that were stable at baseline and have proved flaky since.
#[derive(Default)]
pub(super) struct FlakyTests {
    ids: Mutex<BTreeSet<String>>,
}

impl FlakyTests {
    /// Returns true if a failure needs a rerun: nothing is changed; or none of the failed tests
    /// runs a changed line, while others do; or all of them have proved flaky. `covering` are the
    /// tests that run a changed line.
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

    /// Reruns a batch with failed tests several times without the change. The failure is kept if a
    /// test passes every time; otherwise the outcome becomes flaky, or infrastructure if the tests
    /// lack a package. Runs with the change decide nothing: code that fails at random would leave
    /// the denominator.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn rerun(
        &self,
        executor: &Executor,
        engine: Engine,
        batch: &[&str],
        verdict: &mut Verdict,
    ) -> Result<(), VerdictError> {
        verdict.rerun = true;
        let mut without: Vec<BTreeSet<String>> = Vec::new();
        let mut missing = BTreeSet::new();
        for _ in 0..RERUNS {
            // A failure of another test must not keep these tests from running.
            let run = TestRun::new(&[], batch, executor.limits(batch));
            let result = executor.execute(engine, &run)?;
            verdict.seconds += result.wall.as_secs_f64();
            let tests = result.report.tests.into_values();
            let failed: Vec<_> = tests.filter(|test| test.outcome.is_failure()).collect();
            missing.extend(missing_modules(failed.iter().map(|test| &*test.message)));
            without.push(failed.into_iter().map(|test| test.id).collect());
            // What is known to be flaky needs no further runs.
            if fails_without_change(&verdict.failed, &without) {
                break;
            }
        }
        if !fails_without_change(&verdict.failed, &without) {
            return Ok(());
        }
        let first = verdict.failed.first().map_or("", String::as_str);
        if !missing.is_empty() && without.iter().all(|failed| failed.contains(first)) {
            // The environment is at fault, and the test agrees with itself.
            verdict.outcome = Outcome::Infrastructure;
            verdict.reason = format!(
                "{first} fails without the change, too: {}",
                missing_advice(&missing)
            );
            return Ok(());
        }
        let times = without
            .iter()
            .filter(|failed| failed.contains(first))
            .count();
        verdict.outcome = Outcome::Flaky;
        verdict.reason = format!(
            "{first} does not agree with itself: without the change it failed {times} of {} times",
            without.len(),
        );
        self.ids.lock().extend(verdict.failed.iter().cloned());
        Ok(())
    }
}

/// Returns true if each of these tests failed in any of these runs of the unchanged project.
fn fails_without_change(failed: &[String], without: &[BTreeSet<String>]) -> bool {
    failed
        .iter()
        .all(|id| without.iter().any(|failed| failed.contains(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_fail_without_the_change_are_flaky() {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let without = [&[][..], &["a"], &["a", "b"]].map(|run| ids(run).into_iter().collect());
        assert!(fails_without_change(&ids(&["a"]), &without));
        assert!(fails_without_change(&ids(&["a", "b"]), &without));
        assert!(!fails_without_change(&ids(&["c"]), &without));
        assert!(!fails_without_change(&ids(&["a", "c"]), &without));
        assert!(!fails_without_change(&ids(&["b"]), &without[..2]));
    }
}
