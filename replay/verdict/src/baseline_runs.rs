//! Measures a project's baseline, or loads it from the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fillrate_language::task::WholeFile;
use fillrate_sandbox::{End, Limits, SandboxError};

use super::baseline::{Baseline, BaselineRun, LaterRuns, RUNS, SCHEMA, key_line};
use super::error::VerdictError;
use super::judged_code::FileContents;
use super::missing::{missing_advice, missing_modules};
use super::runner::report::{CollectError, TestReport};
use super::runner::{FAILED_STATUS, ProjectRunner, Readiness, TestRun, TestRunResult, WarmWorkers};
use crate::queue::run_jobs;

/// The time limit for a run of all tests.
const RUN_TIME: Duration = Duration::from_secs(900);
/// The time after which a test counts as one that does not end. A test of this length would cost
/// as much in each of its verdicts.
const TEST_TIME: Duration = Duration::from_secs(60);
/// Most runs in which a test may not end, or files not compile.
const MOST_REPEATS: usize = 8;
/// Number of runs of all tests with warm workers of one readiness.
const WARM_RUNS: usize = 2;
/// Number of runs of all tests after which a baseline can be used.
pub(super) const FIRST_RUNS: usize = 2;

/// What happens while a baseline is made.
#[derive(Clone, Copy, Debug)]
pub enum BaselineStep {
    /// Runs of all tests are finished.
    Runs {
        /// Number of these.
        done: usize,
        /// Number of runs before the baseline is used.
        total: usize,
    },
    /// The first run of all tests succeeded.
    FirstRun {
        /// Number of tests.
        tests: usize,
        /// Its wall-clock time.
        time: Duration,
    },
}

/// The file of the baseline with this key, relative to the cache.
pub(super) fn baseline_file(key: &str) -> PathBuf {
    Path::new("baselines").join(format!("{key}.json"))
}

/// Loads the baseline for this source and environment from the cache, or makes the first runs of
/// the tests and stores their results there: a baseline that is not complete if it is new.
/// `progress` gets what happens; `total` is the number of runs that it reports.
///
/// # Errors
/// The tests can't be run, or fail; the cache can't be written.
pub(super) fn load_or_begin(
    runner: &mut ProjectRunner,
    cache: &Path,
    threads: usize,
    total: usize,
    progress: &(dyn Fn(BaselineStep) + Sync),
) -> Result<Baseline, VerdictError> {
    let path = cache.join(baseline_file(&runner.key()));
    let cached = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Baseline>(&bytes).ok())
        .filter(|baseline| baseline.schema == SCHEMA);
    if let Some(baseline) = cached {
        // The files that were left out when the baseline was made are unknown to this runner.
        let files: Vec<String> = baseline.uncollected.keys().cloned().collect();
        runner.leave_out(&files);
        return Ok(baseline);
    }
    let baseline = first_runs(runner, threads, total, progress)?;
    store(&baseline, &runner.key(), cache)?;
    Ok(baseline)
}

/// Stores a baseline in the cache.
///
/// # Errors
/// The cache can't be written.
pub(super) fn store(baseline: &Baseline, key: &str, cache: &Path) -> Result<(), VerdictError> {
    let path = cache.join(baseline_file(key));
    WholeFile::write_json(&path, baseline).map_err(|source| VerdictError::Cache { path, source })
}

/// A run of all tests without coverage and without changes.
fn plain_run() -> TestRun<'static> {
    TestRun {
        replaced: &[],
        select: None,
        coverage: None,
        first_failure_ends: false,
        test_time: None,
        limits: Limits {
            wall: RUN_TIME,
            cpu: RUN_TIME * 2,
            memory: 4 << 30,
            // The lines of every test are reported in one file.
            file_size: 1 << 30,
            disk: 2 << 30,
            collect: 1 << 30,
            ..Limits::default()
        },
    }
}

/// Runs all tests once plain and once with coverage, at the same time if there are several
/// threads.
fn first_runs(
    runner: &mut ProjectRunner,
    threads: usize,
    total: usize,
    progress: &(dyn Fn(BaselineStep) + Sync),
) -> Result<Baseline, VerdictError> {
    let prepared = runner.prepared();
    let project = prepared.project.name.clone();
    let files = prepared
        .hole_files()
        .map_err(|error| VerdictError::NotRunnable {
            project: project.clone(),
            reason: error.to_string(),
        })?;
    let plain = TestRun {
        test_time: Some(TEST_TIME),
        ..plain_run()
    };
    let with_coverage = TestRun {
        coverage: Some(&files),
        ..plain_run()
    };
    let runs_done = |done| progress(BaselineStep::Runs { done, total });
    runs_done(0);
    let early = TestRun {
        test_time: Some(TEST_TIME),
        ..with_coverage.clone()
    };
    // If the first run fails, a second one after it is pointless.
    let both = [plain.clone(), early];
    let together = if threads > 1 { &both[..] } else { &both[..1] };
    let mut results = run_jobs(
        together,
        threads,
        || (),
        |(), run| runner.run(run),
        runs_done,
    )?
    .into_iter();
    let (first, early) = (results.next(), results.next());
    let first = first.expect("each job has a result");
    let (first, uncollected) = settle_first(runner, &plain, &files, first)?;
    let first = check_complete(first, &project)?;
    progress(BaselineStep::FirstRun {
        tests: first.report.tests.len(),
        time: first.wall,
    });
    let runner = &*runner;
    // Tests that are left out must not run, and one that takes longer with coverage must end.
    let counts = |result: &TestRunResult| {
        uncollected.is_empty() && result.report.ended && result.report.collect_errors.is_empty()
    };
    let covered = match early.filter(counts) {
        Some(result) => result,
        None => runner.run(&with_coverage)?,
    };
    let runs = [
        BaselineRun {
            with_coverage: false,
            result: first,
        },
        BaselineRun {
            with_coverage: true,
            result: check_complete(covered, &project)?,
        },
    ];
    let mut baseline = Baseline::from_runs(&project, &runs, uncollected, runner.min_share())?;
    baseline.lacks_coverage = !runner.can_select();
    check_passes(runner, &baseline)?;
    runs_done(runs.len());
    Ok(baseline)
}

/// Refuses a baseline of which too few tests pass.
fn check_passes(runner: &ProjectRunner, baseline: &Baseline) -> Result<(), VerdictError> {
    let project = &runner.prepared().project.name;
    baseline.check_share(project, runner.min_share())?;
    if baseline.lacks_coverage && !baseline.set_aside().is_empty() {
        // Its command runs all tests, so that it can't succeed.
        return Err(baseline.tests_fail(project, "100 %".to_owned()));
    }
    Ok(())
}

/// Makes the other runs of a baseline, after which it is complete; `stopped` ends it before the
/// next run.
///
/// # Errors
/// The tests can't be run, or too few of them pass.
pub(super) fn complete(
    runner: &ProjectRunner,
    warm: &WarmWorkers,
    baseline: &Baseline,
    threads: usize,
    stopped: &AtomicBool,
    progress: &(dyn Fn(BaselineStep) + Sync),
) -> Result<(), VerdictError> {
    let project = &runner.prepared().project.name;
    let plain = plain_run();
    let try_all = || -> Result<[WarmTrial; 2], VerdictError> {
        let trials = run_jobs(
            &[Readiness::Loaded, Readiness::Collected],
            threads,
            || (),
            |(), readiness| try_warm(runner, warm, baseline, &plain, *readiness, stopped),
            |_| {},
        )?;
        Ok(trials
            .try_into()
            .expect("each of the two jobs has a result"))
    };
    // Runs by warm workers are runs of all tests, too. They count if every test agrees; if one
    // differs, it may be flaky, or such workers may not fit it.
    let quarantined = baseline.quarantined().len();
    let mut trials = try_all()?;
    let fit = trials.iter().filter(|trial| trial.fits()).count();
    // The warm workers of each fitting readiness have made `WARM_RUNS` of the missing runs.
    let missing = RUNS.saturating_sub(FIRST_RUNS + WARM_RUNS * fit);
    let runs_done = |done| progress(BaselineStep::Runs { done, total: RUNS });
    runs_done(RUNS - missing);
    let from_scratch = run_jobs(
        &vec![(); missing],
        threads,
        || (),
        |(), ()| {
            if stopped.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let result = check_complete(runner.run(&plain)?, project)?;
            baseline.add_run(&baseline.ids(), &result.report);
            Ok::<_, VerdictError>(Some(result))
        },
        |done| runs_done(RUNS - missing + done),
    )?;
    // Only a test that proved flaky changes the result of the warm workers.
    if missing > 0 && baseline.quarantined().len() > quarantined {
        trials = try_all()?;
    }
    if stopped.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut later = later_runs(trials);
    from_scratch
        .iter()
        .flatten()
        .for_each(|result| later.add(result));
    check_passes(runner, baseline)?;
    baseline.complete(later);
    Ok(())
}

/// The reasons why warm workers of each readiness can't be used, and the effects of those that can.
fn later_runs([loaded, collected]: [WarmTrial; 2]) -> LaterRuns {
    let mut later = LaterRuns::default();
    // The effects of a worker that is not used are not expected.
    for trial in [&loaded, &collected]
        .into_iter()
        .filter(|trial| trial.fits())
    {
        later.marks.extend(trial.marks.iter().cloned());
        later.changed.extend(trial.changed.iter().cloned());
    }
    // A worker that has collected the tests has loaded the code, too.
    later.uncollectable = loaded.reason.clone().or(collected.reason);
    later.unfit = loaded.reason;
    later
}

/// Result of running all tests with warm workers.
#[derive(Debug, Default)]
struct WarmTrial {
    /// Why the workers can't be used; `None` if the results are those of other runs.
    reason: Option<String>,
    marks: BTreeSet<String>,
    changed: BTreeSet<String>,
}

impl WarmTrial {
    fn fits(&self) -> bool {
        self.reason.is_none()
    }

    fn unfit(reason: String) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }
}

/// Runs all tests again without a test that did not end in the first run or a file of tests that
/// keeps the others from being compiled. Returns the last run and, by name, why tests or files of
/// tests are left out from now on. `sources` are the files with holes: if most do not compile,
/// nothing is left out.
fn settle_first(
    runner: &mut ProjectRunner,
    run: &TestRun<'_>,
    sources: &[String],
    first: TestRunResult,
) -> Result<(TestRunResult, BTreeMap<String, String>), VerdictError> {
    let mut uncollected = BTreeMap::new();
    let mut first = Some(first);
    for _ in 0..MOST_REPEATS {
        let mut result = match first.take() {
            Some(result) => result,
            None => runner.run(run)?,
        };
        let more = leave_out_uncollected(runner, &mut result.report, sources);
        let none_ran = result.report.ended && result.report.tests.is_empty();
        // A run that ended although files were left out has the results of all other tests.
        let repeat = !more.is_empty() && (!result.report.ended || none_ran);
        uncollected.extend(more);
        if repeat {
            continue;
        }
        // If nothing is left, what was left out is the reason.
        if none_ran && let Some((id, message)) = uncollected.first_key_value() {
            result.report.collect_errors.push(CollectError {
                id: id.clone(),
                message: message.clone(),
                compile: true,
            });
        }
        return Ok((result, uncollected));
    }
    Ok((runner.run(run)?, uncollected))
}

/// Runs the unchanged project's tests twice with a warm worker, the second time with the file that
/// most tests run replaced by itself, and compares the results with those of the other runs.
fn try_warm(
    runner: &ProjectRunner,
    warm: &WarmWorkers,
    baseline: &Baseline,
    plain: &TestRun<'_>,
    readiness: Readiness,
    stopped: &AtomicBool,
) -> Result<WarmTrial, VerdictError> {
    let unchanged = match baseline.most_covered_file() {
        Some(path) => Some((path.to_owned(), runner.read(path)?)),
        None => None,
    };
    let unchanged: Vec<FileContents<'_>> = unchanged
        .iter()
        .map(|(path, contents)| FileContents { path, contents })
        .collect();
    let mut trial = WarmTrial::default();
    let runs: [&[FileContents<'_>]; WARM_RUNS] = [&[], &unchanged];
    for replaced in runs {
        if stopped.load(Ordering::Relaxed) {
            return Ok(WarmTrial::unfit("it was stopped".to_owned()));
        }
        let run = TestRun {
            replaced,
            ..plain.clone()
        };
        let memory = plain.limits.memory;
        let result = match warm.run(
            runner,
            &run,
            baseline.loaded(),
            readiness,
            memory,
            Vec::new(),
        ) {
            Ok(Some(result)) => result,
            Ok(None) => {
                let reason = "its framework supports no warm workers";
                return Ok(WarmTrial::unfit(reason.to_owned()));
            }
            Err(VerdictError::Sandbox(SandboxError::Unfit { reason })) => {
                return Ok(WarmTrial::unfit(reason));
            }
            Err(VerdictError::Sandbox(
                error @ (SandboxError::Program { .. } | SandboxError::BelowLevel { .. }),
            )) => return Ok(WarmTrial::unfit(error.to_string())),
            Err(error) => return Err(error),
        };
        if let Some(reason) = difference(baseline, &result) {
            return Ok(WarmTrial::unfit(reason));
        }
        // Every stable test had its outcome, or `difference` would have found one that had not.
        baseline.add_agreeing_run();
        let report = result.report;
        trial.marks.extend(report.marks);
        trial.marks.extend(report.broken);
        trial.changed.extend(result.changed);
        trial.changed.extend(result.unreadable);
    }
    Ok(trial)
}

/// Describes how the result of a warm worker differs from the baseline; `None` if it doesn't.
fn difference(baseline: &Baseline, result: &TestRunResult) -> Option<String> {
    let report = &result.report;
    let complete = report.ended && report.sentinel_fault.is_none();
    // The sentinels fail in every run, so a complete one exits with this status.
    if result.end != End::Exited(FAILED_STATUS) || !complete {
        let output = result.output.lines().last().unwrap_or_default();
        let end = result.end;
        return Some(format!("with a warm worker it {end}: {output}"));
    }
    let differs = |id: &&str| {
        let outcome = report.tests.get(*id).map(|test| test.outcome);
        outcome != baseline.outcome(id)
    };
    let id = baseline.stable().into_iter().find(differs)?;
    Some(format!("with a warm worker {id} has another outcome"))
}

/// Takes the files of tests that can't be collected, and tests that don't end, out of a report and
/// of all further runs, if the framework can do that; returns why, by name.
fn leave_out_uncollected(
    runner: &mut ProjectRunner,
    report: &mut TestReport,
    sources: &[String],
) -> BTreeMap<String, String> {
    let errors = &report.collect_errors;
    let uncollected: BTreeMap<String, String> = errors
        .iter()
        .map(|error| (error.id.clone(), key_line(&error.message)))
        .collect();
    let files: Vec<String> = uncollected.keys().cloned().collect();
    // If no test can be collected, the reason is more useful than a list. But if all files are
    // compiled together, one that lacks a package prevents all others, also a source: what a build
    // would write for it is missing.
    let broken = sources.iter().filter(|source| {
        let mut of_source = errors.iter().map(|error| error.id.as_str());
        of_source.any(|id| is_within(source, id))
    });
    let most_compile = broken.count() * 2 < sources.len();
    let hopeless = report.tests.is_empty()
        && report.ended
        && !(errors.iter().all(|error| error.compile) && most_compile);
    if hopeless || uncollected.contains_key("") || !runner.leave_out(&files) {
        return BTreeMap::new();
    }
    report.collect_errors.clear();
    uncollected
}

/// Returns true if a source is a file, or in the folder of a package.
fn is_within(source: &str, name: &str) -> bool {
    let rest = source.strip_prefix(name);
    name == "." || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reason that a harness reports if only the output of the tests contains the reason.
const SEE_OUTPUT: &str = "see the output";

/// Checks that a run is complete and has tests in it.
fn check_complete(result: TestRunResult, project: &str) -> Result<TestRunResult, VerdictError> {
    let refuse = |reason: String| {
        Err(VerdictError::NotRunnable {
            project: project.to_owned(),
            reason,
        })
    };
    let tail = || {
        // Frames of JavaScript and Java say less than the line above them.
        let said = result
            .output
            .lines()
            .filter(|line| !line.trim_start().starts_with("at "));
        let lines: Vec<&str> = said.rev().take(15).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    let report = &result.report;
    if let Some(message) = &report.harness_error {
        let is_frame = |line: &&str| line.trim_start().starts_with("at ");
        let said = message.lines().filter(|line| !is_frame(line));
        return refuse(said.collect::<Vec<_>>().join("\n"));
    }
    if let Some(error) = report.collect_errors.first() {
        let name = match error.id.as_str() {
            "" => "its configuration can't be loaded".to_owned(),
            test if test.contains("::") => test.to_owned(),
            file => format!("{file} can't be loaded"),
        };
        let missing = missing_modules([error.message.as_str(), &result.output]);
        let reason = match error.message.as_str() {
            // The message alone would send people to an output that they never see.
            SEE_OUTPUT | "" => format!("{}\n{}", key_line(&tail()), tail()),
            message => key_line(message).to_owned(),
        };
        return refuse(match missing.is_empty() {
            true => format!("{name}: {reason}"),
            false => format!("{name}: {reason}; {}", missing_advice(&missing)),
        });
    }
    if matches!(result.end, End::TimedOut | End::OutOfProcessor) {
        return refuse(format!(
            "one run of all of them takes more than {} s; leave slow ones out by `args`",
            RUN_TIME.as_secs()
        ));
    }
    if !matches!(result.end, End::Exited(_)) || !report.ended {
        let (end, output) = (result.end, tail());
        return refuse(format!(
            "what runs them {end}: {}\n{output}",
            key_line(&output)
        ));
    }
    if report.tests.is_empty() {
        return refuse(format!("no test was found\n{}", tail()));
    }
    if let Some(fault) = &report.sentinel_fault {
        return refuse(format!(
            "among its tests, one that must fail does not say so: {fault}\n{}",
            tail()
        ));
    }
    Ok(result)
}
