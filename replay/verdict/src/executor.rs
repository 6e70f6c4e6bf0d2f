//! Runs tests with an engine, under limits from the baseline.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::time::Duration;

use fillrate_sandbox::{End, Limits, SandboxError};
use parking_lot::{Mutex, RwLock};

use super::baseline::Baseline;
use super::compile_checker::CompileChecker;
use super::engine::Engine;
use super::error::VerdictError;
use super::evidence::Rules;
use super::judged_code::FileContents;
use super::outcome::Verdict;
use super::runner::{
    ProjectRunner, Readiness, SLOW_START, TestRun, TestRunResult, Version, VersionsRun, WarmWorkers,
};
use super::selection::{self, TestSelection};

/// Time limit for one of several versions, plus several times the duration of its tests. A version
/// that takes longer runs by itself, with limits of its own.
const VERSION_TIME: Duration = Duration::from_secs(2);

/// A shortcut of Go's: its tests are compiled without `go test`.
const BY_PLAN: &str = "compiling tests by the plan of the environment";

/// A project's runner and baseline, and the resources that runs of its tests share.
pub(super) struct Executor {
    pub(super) runner: ProjectRunner,
    pub(super) warm: WarmWorkers,
    /// `None` if the framework has none.
    compile_checker: Option<CompileChecker>,
    pub(super) baseline: Baseline,
    /// Number of lines of the project that each test runs.
    line_counts: HashMap<String, usize>,
    /// Read by every run, and written by one that needs exclusive access to the machine.
    exclusive: RwLock<()>,
    /// The first reason for each shortcut that failed.
    slow_paths: Mutex<BTreeMap<&'static str, String>>,
}

impl Executor {
    pub(super) fn new(runner: ProjectRunner, warm: WarmWorkers, baseline: Baseline) -> Self {
        Self {
            compile_checker: CompileChecker::new(&runner),
            runner,
            warm,
            line_counts: baseline.line_counts(),
            baseline,
            exclusive: RwLock::default(),
            slow_paths: Mutex::default(),
        }
    }

    /// Shortcuts that failed so far, with the first reason for each, a sentence each.
    pub(super) fn slow_paths(&self) -> Vec<String> {
        let compiling = self
            .compile_checker
            .as_ref()
            .and_then(CompileChecker::fault);
        let compiling = compiling.map(|reason| {
            format!(
                "the compiler that stays loaded failed, and changes were compiled with their tests, \
                 which takes longer: {reason}"
            )
        });
        let others = self.slow_paths.lock();
        let others = others.iter().map(|(what, reason)| {
            let instead = match *what {
                BY_PLAN => "`go test` compiled them",
                _ => "tests were loaded again",
            };
            format!("{what} failed, and {instead}, which takes longer: {reason}")
        });
        let starting = self.runner.starts_slowly().then(|| SLOW_START.to_owned());
        others.chain(compiling).chain(starting).collect()
    }

    fn record_slow_path(&self, what: &'static str, reason: &dyn Display) {
        tracing::warn!("{what} failed: {reason}");
        self.slow_paths
            .lock()
            .entry(what)
            .or_insert_with(|| reason.to_string());
    }

    /// Runs tests. A time limit that runs out counts only if it runs out again in an exclusive run
    /// with the limits of all tests, whichever these are: code that never ends then exceeds the
    /// memory limit or not, and every engine gives the same verdict.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn execute(
        &self,
        engine: Engine,
        run: &TestRun<'_>,
    ) -> Result<TestRunResult, VerdictError> {
        let result = {
            // Released at the end of this block: the exclusive lock below waits for it.
            let _shared = self.exclusive.read();
            self.execute_once(engine, run)?
        };
        if !matches!(result.end, End::TimedOut | End::OutOfProcessor) {
            return Ok(result);
        }
        let _exclusive = self.exclusive.write();
        let mut patient = run.clone();
        patient.limits = self.limits(&self.baseline.stable());
        // A time limit in the manifest is not extended.
        if self.runner.timeout().is_none() {
            patient.limits.wall *= 2;
            patient.limits.cpu *= 2;
        }
        self.execute_once(engine, &patient)
    }

    /// As [`Self::execute`], but a time limit counts at once.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn execute_once(
        &self,
        engine: Engine,
        run: &TestRun<'_>,
    ) -> Result<TestRunResult, VerdictError> {
        if self.is_warm(engine) {
            // One that has collected the tests still has what altered tests expected before.
            let keeps_tests = run.replaced.len() <= 1;
            if keeps_tests && let Some(result) = self.execute_warm(run, Readiness::Collected)? {
                return Ok(result);
            }
            if let Some(result) = self.execute_warm(run, Readiness::Loaded)? {
                return Ok(result);
            }
        }
        if engine == Engine::Naive {
            return self.runner.run_in_copy(run);
        }
        let result = self.runner.run(run)?;
        if let Some(reason) = &result.report.missing_plan {
            self.record_slow_path(BY_PLAN, reason);
        }
        Ok(result)
    }

    /// Returns the result of tests that need a changed file which does not compile; `None` if no
    /// error is known without running them.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn refusal(
        &self,
        engine: Engine,
        path: &str,
        contents: &str,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        match &self.compile_checker {
            Some(checker) if engine == Engine::Warm && !self.baseline.lacks_coverage => {
                if self.is_warm(engine) {
                    // It starts while the compiler works.
                    self.warm.start_spare(&self.runner, self.limits(&[]))?;
                }
                checker.refusal(path, contents)
            }
            _ => Ok(None),
        }
    }

    fn execute_warm(
        &self,
        run: &TestRun<'_>,
        readiness: Readiness,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        if collected && !self.baseline.is_collectable() {
            return Ok(None);
        }
        let (compiled, compile_time) = match &self.compile_checker {
            Some(checker) if !collected && !run.replaced.is_empty() => {
                checker.compiled(run.replaced)?
            }
            _ => (Vec::new(), Duration::ZERO),
        };
        let loaded = self.baseline.loaded();
        let memory = self.memory_limit();
        let result = self
            .warm
            .run(&self.runner, run, loaded, readiness, memory, compiled);
        match result {
            // It worked at baseline; a worker that has only loaded the libraries still works.
            Err(VerdictError::Sandbox(
                error @ (SandboxError::Program { .. } | SandboxError::Unfit { .. }),
            )) if collected => {
                self.record_slow_path("collecting tests once", &error);
                self.warm.disable_collecting();
                Ok(None)
            }
            result => Ok(result?.map(|result| TestRunResult {
                wall: result.wall + compile_time,
                ..result
            })),
        }
    }

    /// Runs tests on versions of a file, given with its own contents, one after the other. Returns
    /// the results of the first versions, at least one; `None` for a version that has to run by
    /// itself. Returns no results if this engine or project runs each version by itself.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn execute_versions(
        &self,
        engine: Engine,
        original: FileContents<'_>,
        versions: &[&str],
        expected: &[&str],
    ) -> Result<Vec<Option<TestRunResult>>, VerdictError> {
        if !self.is_warm(engine) {
            return Ok(Vec::new());
        }
        let indices: HashMap<&str, usize> = expected.iter().copied().zip(0..).collect();
        let versions = versions.iter().map(|contents| {
            let covering = self.covering(original.path, original.contents, contents);
            let batches = self.batches(engine, expected, &covering);
            let indices = |ids: &Vec<&str>| {
                ids.iter()
                    .filter_map(|id| indices.get(id).copied())
                    .collect()
            };
            Version {
                contents,
                groups: batches.iter().map(indices).collect(),
            }
        });
        let run = VersionsRun {
            path: original.path,
            versions: versions.collect(),
            select: expected,
            time: VERSION_TIME
                + self.baseline.slowest()
                + self.baseline.seconds(expected).mul_f64(5.0),
        };
        let _shared = self.exclusive.read();
        let loaded = self.baseline.loaded();
        let readiness = match self.baseline.is_collectable() {
            true => Readiness::Collected,
            false => Readiness::Loaded,
        };
        let memory = self.memory_limit();
        let result = self
            .warm
            .run_versions(&self.runner, &run, loaded, readiness, memory);
        match result {
            Ok(results) => Ok(results.unwrap_or_default()),
            // Each by itself may still work.
            Err(VerdictError::Sandbox(
                error @ (SandboxError::Program { .. } | SandboxError::Unfit { .. }),
            )) => {
                self.record_slow_path("judging several versions in one process", &error);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if the engine uses warm workers for this project.
    pub(super) fn is_warm(&self, engine: Engine) -> bool {
        engine == Engine::Warm && self.baseline.is_warm()
    }

    /// The verdict on a run of the `expected` tests.
    pub(super) fn interpret(&self, result: &TestRunResult, expected: &[&str]) -> Verdict {
        let rules = Rules {
            runner: &self.runner,
            baseline: &self.baseline,
        };
        rules.interpret(result, expected)
    }

    /// The evidence that is missing in a run with twins, see [`Rules::missing_beside_twins`].
    pub(super) fn missing_beside_twins(&self, result: &TestRunResult) -> Option<String> {
        let rules = Rules {
            runner: &self.runner,
            baseline: &self.baseline,
        };
        rules.missing_beside_twins(result)
    }

    /// Tests in the order of how many lines of the project they run, the fewest first: such a test
    /// depends the most on each.
    pub(super) fn most_specific_first<'a>(&self, mut tests: Vec<&'a str>) -> Vec<&'a str> {
        tests.sort_by_key(|id| self.line_counts.get(*id).copied().unwrap_or(usize::MAX));
        tests
    }

    /// The tests in the batches in which an engine runs them, see [`TestSelection::batches`].
    pub(super) fn batches<'a>(
        &self,
        engine: Engine,
        expected: &[&'a str],
        covering: &BTreeSet<&str>,
    ) -> Vec<Vec<&'a str>> {
        self.selection(self.is_warm(engine))
            .batches(expected, covering)
    }

    /// The tests that another engine would run first, if this one begins with others. Code may fail
    /// one test and never end in another: which comes first depends on the order, and the verdict
    /// must not.
    pub(super) fn first_of_other_engines<'a>(
        &self,
        engine: Engine,
        expected: &[&'a str],
        covering: &BTreeSet<&str>,
    ) -> Option<Vec<&'a str>> {
        let selection = self.selection(self.baseline.is_warm());
        let (first, _) = selection.covering_first(expected, covering);
        let (likely, _) = selection.split_likely(first.clone(), covering);
        if likely.is_empty() {
            return None;
        }
        Some(match self.is_warm(engine) {
            true => first,
            false => likely,
        })
    }

    fn selection(&self, is_warm: bool) -> TestSelection<'_> {
        TestSelection {
            baseline: &self.baseline,
            runner: &self.runner,
            line_counts: &self.line_counts,
            is_warm,
        }
    }

    /// The stable tests that run any of the lines in which two versions of a file differ; all of
    /// them if such a line runs at import, or the versions are equal.
    pub(super) fn covering(&self, path: &str, original: &str, contents: &str) -> BTreeSet<&str> {
        match selection::changed_lines(original, contents) {
            Some(lines) => self.baseline.covering(path, lines),
            None => self.baseline.stable().into_iter().collect(),
        }
    }

    /// True if flaky tests run any of the lines in which two versions of a file differ, and no others
    /// do.
    pub(super) fn only_flaky_cover(&self, path: &str, original: &str, contents: &str) -> bool {
        selection::changed_lines(original, contents)
            .is_some_and(|lines| self.baseline.only_flaky_cover(path, lines))
    }

    /// Limits derived from the baseline: several times what these tests take, since other verdicts
    /// run at the same time. [`Self::execute`] doubles a time limit before it counts, unless the
    /// manifest sets it.
    pub(super) fn limits(&self, tests: &[&str]) -> Limits {
        let all = self.baseline.seconds(&self.baseline.stable());
        // A run takes more than the tests themselves, to start and to load.
        let start = self.baseline.slowest().saturating_sub(all);
        let usual = start + self.baseline.seconds(tests);
        let wall = match self.runner.timeout() {
            Some(timeout) => timeout + self.baseline.slowest(),
            None => Duration::from_secs(3) + usual.mul_f64(5.0),
        };
        Limits {
            wall,
            // Tests may use several processors at the same time.
            cpu: wall * 2,
            memory: self.memory_limit(),
            ..Limits::default()
        }
    }

    /// The memory limit of a run, in bytes.
    fn memory_limit(&self) -> u64 {
        (self.baseline.peak_memory() * 3).max(1 << 30)
    }
}
