//! Runs that complete a baseline while verdicts already use it.
//!
//! The runs of all tests that a new baseline lacks are made on a thread of their own. A verdict does
//! not wait for them: the tests that decide over it run alone, without the change, until each has
//! had the same outcome in enough runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::baseline_runs::{self, BaselineStep};
use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::runner::{TestRun, TestRunResult};

/// Completes the baseline of an executor.
#[derive(Default)]
pub(super) struct Confirmation {
    /// Held during reruns, so that no test is rerun for two verdicts at once.
    exclusive: Mutex<()>,
    /// Ends the runs of all tests before the next one.
    stopped: Arc<AtomicBool>,
    /// Reason for which the runs of all tests failed.
    fault: Arc<Mutex<Option<String>>>,
    /// The executor, and the cache that gets its baseline; `None` if there is nothing to complete.
    started: Option<(Arc<Executor>, PathBuf)>,
}

impl Confirmation {
    /// Starts the other runs of all tests on a thread. If they fail, every run starts from scratch.
    pub(super) fn start(&mut self, executor: &Arc<Executor>, cache: &Path) {
        self.started = Some((Arc::clone(executor), cache.to_owned()));
        let executor = Arc::clone(executor);
        let (stopped, fault) = (Arc::clone(&self.stopped), Arc::clone(&self.fault));
        let cache = cache.to_owned();
        // It is not joined: a run may take minutes, and the kernel ends it together with its
        // thread.
        std::thread::spawn(move || {
            let Executor {
                runner,
                warm,
                baseline,
                ..
            } = &*executor;
            let ignored = |_: BaselineStep| {};
            let result = baseline_runs::complete(runner, warm, baseline, 1, &stopped, &ignored)
                .and_then(|()| baseline_runs::store(baseline, &runner.key(), &cache));
            if let Err(error) = result {
                *fault.lock() = Some(error.to_string());
            }
        });
    }

    /// Reason for which the runs of all tests failed; `None` if they did not.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    /// Reruns those of these tests that have not had the same outcome in enough runs yet. Returns
    /// true if one of them is quarantined, now or since the caller selected it. `batch` are the
    /// tests that ran with them: a test whose outcome alone is another may need these.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn finds_flaky(
        &self,
        executor: &Executor,
        engine: Engine,
        ids: &[&str],
        batch: &[&str],
    ) -> Result<bool, VerdictError> {
        let baseline = &executor.baseline;
        if !baseline.unsettled(ids).is_empty() {
            let _exclusive = self.exclusive.lock();
            loop {
                let unsettled = baseline.unsettled(ids);
                if unsettled.is_empty() {
                    break;
                }
                let alone = rerun(executor, engine, &unsettled)?;
                let differing = baseline.differing(&unsettled, &alone.report);
                // If the batch has no other tests, running all of it would only repeat this run.
                if differing.is_empty() || batch.len() == unsettled.len() {
                    baseline.add_run(&unsettled, &alone.report);
                    continue;
                }
                let all = rerun(executor, engine, batch)?;
                let (others, differing): (Vec<&str>, Vec<&str>) =
                    unsettled.iter().partition(|id| !differing.contains(id));
                baseline.add_run(&others, &alone.report);
                baseline.add_run(&differing, &all.report);
            }
        }
        Ok(ids.iter().any(|id| baseline.is_quarantined(id)))
    }
}

impl Drop for Confirmation {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some((executor, cache)) = &self.started
            && !executor.baseline.is_complete()
            && let Err(error) =
                baseline_runs::store(&executor.baseline, &executor.runner.key(), cache)
        {
            tracing::warn!("the runs of own tests are not cached: {error}");
        }
    }
}

/// Runs tests without a change.
fn rerun(executor: &Executor, engine: Engine, ids: &[&str]) -> Result<TestRunResult, VerdictError> {
    executor.execute(engine, &TestRun::new(&[], ids, executor.limits(ids)))
}
