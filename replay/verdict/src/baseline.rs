//! The baseline: the results of a project's own tests before any change. It is made of two runs of
//! all tests, one of which records the lines that each test runs, and completed by others: a test
//! decides once it has had the same outcome in `RUNS` runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::VerdictError;
use super::missing::{missing_advice, missing_modules};
use super::runner::report::{TestOutcome, TestReport};
use super::runner::{LoadedCode, TestRunResult};

/// Number of runs in which a test must have the same outcome before it decides.
pub(super) const RUNS: usize = 5;

/// The version of the file in the cache.
pub(super) const SCHEMA: u32 = 9;

/// The results of a project's own tests. Further runs can be added while verdicts use it: they only
/// quarantine tests, and make warm workers available.
#[derive(Debug, Serialize, Deserialize)]
pub struct Baseline {
    pub(super) schema: u32,
    /// Every test by id.
    tests: BTreeMap<String, TestInfo>,
    /// By file: the lines each test runs, as ranges.
    coverage: BTreeMap<String, Vec<CoveredRanges>>,
    /// The files of tests that can't be collected, and why.
    pub(super) uncollected: BTreeMap<String, String>,
    /// Options of the project that can't be honoured and had no effect.
    neutralised: BTreeSet<String>,
    /// Wall-clock seconds of each run that records no lines.
    seconds: Vec<f64>,
    /// The peak memory of all runs, in bytes.
    peak_memory: u64,
    /// Changes that the unchanged project's own tests make to their process, see
    /// [`TestReport::marks`](super::runner::report::TestReport::marks).
    marks: BTreeSet<String>,
    /// The project's files that the tests create or write to.
    changed: BTreeSet<String>,
    /// The code that the tests load.
    loaded: LoadedCode,
    /// Results of the runs after the first two; empty before, when warm workers can't be used.
    #[serde(with = "written_once")]
    later: OnceLock<LaterRuns>,
    /// True if the runner records no lines: every test counts as running every line.
    #[serde(default)]
    pub(super) lacks_coverage: bool,
}

/// A test, `""` for import time, and the lines it runs as ranges with both ends included.
type CoveredRanges = (String, Vec<(usize, usize)>);

/// Results of the runs of all tests after the first two, by warm workers and from scratch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LaterRuns {
    /// Reason why a warm worker that has loaded the code can't run the tests; `None` if it can.
    pub(super) unfit: Option<String>,
    /// Reason why a warm worker that has collected the tests can't run them; `None` if it can.
    pub(super) uncollectable: Option<String>,
    /// As [`Baseline`]'s, of the workers that can be used.
    pub(super) marks: BTreeSet<String>,
    /// As [`Baseline`]'s, of the workers that can be used.
    pub(super) changed: BTreeSet<String>,
    /// Wall-clock seconds of the slowest run from scratch.
    pub(super) slowest: f64,
    /// The peak memory of the runs from scratch, in bytes.
    pub(super) peak_memory: u64,
}

impl LaterRuns {
    /// Adds the effects and costs of a run from scratch.
    pub(super) fn add(&mut self, result: &TestRunResult) {
        let report = &result.report;
        self.marks
            .extend(report.marks.iter().chain(&report.broken).cloned());
        self.changed
            .extend(result.changed.iter().chain(&result.unreadable).cloned());
        self.slowest = self.slowest.max(result.wall.as_secs_f64());
        self.peak_memory = self.peak_memory.max(result.peak_memory);
    }
}

/// Serializes a cell as an optional value.
mod written_once {
    use std::sync::OnceLock;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        cell: &OnceLock<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        cell.get().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OnceLock<T>, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(value.map_or_else(OnceLock::new, OnceLock::from))
    }
}

/// One test.
#[derive(Debug, Serialize, Deserialize)]
struct TestInfo {
    /// Its outcome in the first runs; `None` if these differ.
    outcome: Option<TestOutcome>,
    /// Number of runs with this outcome; [`DIFFERS`] if another run had a different one.
    agreeing: AtomicUsize,
    /// Of its slowest run.
    seconds: f64,
    /// Reason why it fails, if it always does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
}

/// Value of [`TestInfo::agreeing`] for a test whose outcomes differ.
const DIFFERS: usize = 0;

impl TestInfo {
    /// Its outcome in every run; `None` if the runs differ: the test is flaky and quarantined.
    fn outcome(&self) -> Option<TestOutcome> {
        self.outcome
            .filter(|_| self.agreeing.load(Ordering::Relaxed) != DIFFERS)
    }

    /// Returns true if it has had the same outcome in enough runs, or is quarantined.
    fn is_settled(&self) -> bool {
        !(1..RUNS).contains(&self.agreeing.load(Ordering::Relaxed))
    }

    /// Adds a run with this outcome; `None` if it did not run.
    fn add_run(&self, outcome: Option<TestOutcome>) {
        let agrees = outcome.is_some() && outcome == self.outcome;
        // A test that has been quarantined remains so.
        let _ =
            self.agreeing
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |agreeing| {
                    match (agreeing, agrees) {
                        (DIFFERS, _) => None,
                        (_, false) => Some(DIFFERS),
                        (agreeing, true) => Some(agreeing + 1),
                    }
                });
    }

    /// Returns true if it fails in every run.
    fn is_set_aside(&self) -> bool {
        self.outcome().is_some_and(TestOutcome::is_failure)
    }

    /// Returns true if it is flaky or fails in every run.
    fn is_left_out(&self) -> bool {
        self.outcome().is_none_or(TestOutcome::is_failure)
    }
}

/// Reason why warm workers are not used before they were tried.
const UNTRIED: &str = "its other runs are still being made";

/// Maximum number of reasons for failing tests that a message lists.
const REASONS_LISTED: usize = 5;

/// One run of all tests of the unchanged project.
pub(super) struct BaselineRun {
    /// True if it records lines.
    pub(super) with_coverage: bool,
    pub(super) result: TestRunResult,
}

impl Baseline {
    /// The baseline from runs of all tests, of which at least one records no lines; `uncollected`
    /// has the files of tests that can't be collected, with the reasons. Tests that always fail are
    /// set aside.
    ///
    /// # Errors
    /// Fewer than `min_share` of the tests pass.
    pub(super) fn from_runs(
        project: &str,
        runs: &[BaselineRun],
        uncollected: BTreeMap<String, String>,
        min_share: f64,
    ) -> Result<Self, VerdictError> {
        let results = || runs.iter().map(|run| &run.result);
        let tests = merge_tests(runs);
        let loaded = runs
            .iter()
            .find(|run| !run.with_coverage)
            .map(|run| &run.result.report)
            .map(|report| LoadedCode {
                modules: report.modules.clone(),
                sources: report.sources.clone(),
                read: results()
                    .flat_map(|result| result.report.read.iter().cloned())
                    .collect(),
                plain_names: report.plain_names,
            });
        let baseline = Self {
            schema: SCHEMA,
            tests,
            uncollected,
            neutralised: results()
                .flat_map(|result| result.report.neutralised.iter().cloned())
                .collect(),
            coverage: merge_coverage(runs),
            seconds: runs
                .iter()
                .filter(|run| !run.with_coverage)
                .map(|run| run.result.wall.as_secs_f64())
                .collect(),
            peak_memory: results()
                .map(|result| result.peak_memory)
                .max()
                .unwrap_or_default(),
            marks: results()
                .flat_map(|result| result.report.marks.iter().chain(&result.report.broken))
                .cloned()
                .collect(),
            changed: results()
                .flat_map(|result| result.changed.iter().chain(&result.unreadable))
                .cloned()
                .collect(),
            loaded: loaded.unwrap_or_default(),
            later: OnceLock::new(),
            lacks_coverage: false,
        };
        baseline.check_share(project, min_share)?;
        Ok(baseline)
    }

    /// Refuses a project of whose tests too few pass.
    pub(super) fn check_share(&self, project: &str, min_share: f64) -> Result<(), VerdictError> {
        let count = |outcome: TestOutcome| {
            let tests = self.tests.values();
            tests.filter(|test| test.outcome() == Some(outcome)).count()
        };
        let passing = count(TestOutcome::Passed);
        // A skipped test does not count, and a file that can't be collected counts as one test.
        let tests = self.tests.len() - count(TestOutcome::Skipped) + self.uncollected.len();
        // With a `min_share` of 0, one test must pass all the same.
        if passing > 0 && passing as f64 >= min_share * tests as f64 {
            return Ok(());
        }
        Err(self.tests_fail(project, format!("{:.0} %", 100.0 * min_share)))
    }

    /// The error that lists why tests are set aside; `least` is the share that must pass.
    pub(super) fn tests_fail(&self, project: &str, least: String) -> VerdictError {
        let passed = |test: &&TestInfo| test.outcome() == Some(TestOutcome::Passed);
        let skipped = |test: &&TestInfo| test.outcome() == Some(TestOutcome::Skipped);
        VerdictError::TestsFail {
            project: project.to_owned(),
            passing: self.tests.values().filter(passed).count(),
            tests: self.tests.len() - self.tests.values().filter(skipped).count()
                + self.uncollected.len(),
            least,
            reasons: self.reasons(),
        }
    }

    /// Reasons why tests are set aside: the most frequent ones first, each with its number of tests
    /// and the first of them.
    fn reasons(&self) -> String {
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (id, reason) in self.set_aside() {
            by_reason.entry(reason).or_default().push(id);
        }
        let mut reasons: Vec<(String, Vec<String>)> = by_reason.into_iter().collect();
        reasons.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
        let more = reasons.len().saturating_sub(REASONS_LISTED);
        let mut listed: Vec<String> = reasons
            .iter()
            .take(REASONS_LISTED)
            .map(|(reason, ids)| match ids.len() {
                1 => format!("{}: {reason}", ids[0]),
                count => format!("{count} such as {}: {reason}", ids[0]),
            })
            .collect();
        if more > 0 {
            listed.push(format!("{more} other reasons"));
        }
        // Tests that neither pass nor always fail are flaky.
        if listed.is_empty() {
            listed.push("the others are flaky".to_owned());
        }
        let missing = missing_modules(reasons.iter().map(|(reason, _)| reason.as_str()));
        if !missing.is_empty() {
            listed.push(missing_advice(&missing));
        }
        listed.join("; ")
    }

    /// The tests that are excluded because they always fail, and the files that can't be
    /// collected, each with the reason, sorted.
    pub fn set_aside(&self) -> Vec<(String, String)> {
        let failing = self.tests.iter().filter(|(_, info)| info.is_set_aside());
        let files = self.uncollected.iter();
        failing
            .map(|(id, info)| (id.clone(), info.message.clone()))
            .chain(files.map(|(file, reason)| (file.clone(), reason.clone())))
            .collect()
    }

    /// The project's options that can't be honoured and had no effect, sorted.
    pub fn neutralised(&self) -> Vec<&str> {
        self.neutralised.iter().map(String::as_str).collect()
    }

    /// The ids of the tests that pass in every run, or are skipped in every run, sorted.
    pub fn stable(&self) -> Vec<&str> {
        self.tests
            .iter()
            .filter(|(_, info)| !info.is_left_out())
            .map(|(id, _)| id.as_str())
            .collect()
    }

    /// The ids of the flaky tests, sorted.
    pub fn quarantined(&self) -> Vec<&str> {
        self.tests
            .iter()
            .filter(|(_, info)| info.outcome().is_none())
            .map(|(id, _)| id.as_str())
            .collect()
    }

    /// The code that the tests load.
    pub(super) fn loaded(&self) -> &LoadedCode {
        &self.loaded
    }

    /// Reason why every run of the tests starts from scratch; `None` if warm workers can run them.
    pub fn unfit(&self) -> Option<&str> {
        match self.later.get() {
            Some(later) => later.unfit.as_deref(),
            None => Some(UNTRIED),
        }
    }

    /// Returns true if a warm worker that has loaded the libraries can run the tests.
    pub fn is_warm(&self) -> bool {
        self.later.get().is_some_and(|later| later.unfit.is_none())
    }

    /// Returns true if a warm worker that has collected the tests can run them.
    pub fn is_collectable(&self) -> bool {
        let collects = |later: &LaterRuns| later.uncollectable.is_none();
        self.later.get().is_some_and(collects)
    }

    /// Returns true if all its runs are made, and warm workers were tried.
    pub fn is_complete(&self) -> bool {
        self.later.get().is_some()
    }

    /// Of these tests, those that have not had the same outcome in enough runs yet.
    pub(super) fn unsettled<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        if self.is_complete() {
            return Vec::new();
        }
        let is_unsettled = |id: &&&str| self.tests.get(**id).is_some_and(|info| !info.is_settled());
        ids.iter().filter(is_unsettled).copied().collect()
    }

    /// Returns true if a test is quarantined.
    pub(super) fn is_quarantined(&self, id: &str) -> bool {
        self.tests
            .get(id)
            .is_some_and(|info| info.outcome().is_none())
    }

    /// Of these tests, those whose outcome in a run of the unchanged project is another.
    pub(super) fn differing<'a>(&self, ids: &[&'a str], report: &TestReport) -> Vec<&'a str> {
        let differs = |id: &&&str| {
            let outcome = report.tests.get(**id).map(|test| test.outcome);
            self.tests
                .get(**id)
                .is_some_and(|info| info.outcome != outcome)
        };
        ids.iter().filter(differs).copied().collect()
    }

    /// Adds a run of these tests of the unchanged project.
    pub(super) fn add_run(&self, ids: &[&str], report: &TestReport) {
        for id in ids {
            if let Some(info) = self.tests.get(*id) {
                info.add_run(report.tests.get(*id).map(|test| test.outcome));
            }
        }
    }

    /// Adds a run of all tests in which every stable test had its outcome.
    pub(super) fn add_agreeing_run(&self) {
        for info in self.tests.values() {
            // A flaky test has no outcome, so this leaves it quarantined.
            info.add_run(info.outcome());
        }
    }

    /// The ids of all tests.
    pub(super) fn ids(&self) -> Vec<&str> {
        self.tests.keys().map(String::as_str).collect()
    }

    /// Adds the results of the later runs, which completes it.
    pub(super) fn complete(&self, later: LaterRuns) {
        // Only one thread makes them.
        drop(self.later.set(later));
    }

    /// The peak memory of all runs, in bytes.
    pub(super) fn peak_memory(&self) -> u64 {
        let later = self.later.get().map_or(0, |later| later.peak_memory);
        self.peak_memory.max(later)
    }

    /// Returns true if a test is excluded because it is flaky or always fails.
    pub fn leaves_out(&self, id: &str) -> bool {
        self.tests.get(id).is_some_and(TestInfo::is_left_out)
    }

    /// The ids of the tests that [`Self::leaves_out`], sorted.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &str> {
        let left_out = self.tests.iter().filter(|(_, test)| test.is_left_out());
        left_out.map(|(id, _)| id.as_str())
    }

    /// Returns true if the project's own tests leave this mark on their process.
    pub(super) fn leaves_mark(&self, mark: &str) -> bool {
        let later = self.later.get();
        self.marks.contains(mark) || later.is_some_and(|later| later.marks.contains(mark))
    }

    /// Returns true if the project's own tests create or write to this file of the project.
    pub(super) fn changes_file(&self, path: &str) -> bool {
        let later = self.later.get();
        self.changed.contains(path) || later.is_some_and(|later| later.changed.contains(path))
    }

    /// The outcome of a stable test.
    pub(super) fn outcome(&self, id: &str) -> Option<TestOutcome> {
        self.tests.get(id)?.outcome()
    }

    /// Wall-clock time of the slowest run of all tests.
    pub fn slowest(&self) -> Duration {
        let later = self.later.get().map_or(0.0, |later| later.slowest);
        Duration::from_secs_f64(self.seconds.iter().copied().fold(later, f64::max))
    }

    /// Time that these tests take, start-up excluded.
    pub fn seconds(&self, ids: &[&str]) -> Duration {
        let seconds = ids
            .iter()
            .filter_map(|id| self.tests.get(*id))
            .map(|info| info.seconds)
            .sum();
        Duration::from_secs_f64(seconds)
    }

    /// The stable tests that run any of these one-based lines; all of them if such a line runs at
    /// import, which every test needs.
    pub fn covering(&self, file: &str, lines: RangeInclusive<usize>) -> BTreeSet<&str> {
        let touching = self.touching(file, lines);
        let stable = self.stable().into_iter();
        if self.lacks_coverage || touching.contains("") {
            stable.collect()
        } else {
            stable.filter(|id| touching.contains(id)).collect()
        }
    }

    /// True if flaky tests run any of these one-based lines, and no others do.
    pub(super) fn only_flaky_cover(&self, file: &str, lines: RangeInclusive<usize>) -> bool {
        let touching = self.touching(file, lines.clone());
        touching.iter().any(|id| self.is_quarantined(id)) && self.covering(file, lines).is_empty()
    }

    /// The tests that run any of these one-based lines, flaky ones included, and the empty text if
    /// a line runs at import.
    fn touching(&self, file: &str, lines: RangeInclusive<usize>) -> BTreeSet<&str> {
        let touches = |ranges: &[(usize, usize)]| {
            ranges
                .iter()
                .any(|(first, last)| first <= lines.end() && lines.start() <= last)
        };
        let tests = self.coverage.get(file).into_iter().flatten();
        tests
            .filter(|(_, ranges)| touches(ranges))
            .map(|(test, _)| test.as_str())
            .collect()
    }

    /// Time of the stable tests that run a line of a file, other than by its import.
    pub fn covering_seconds(&self, file: &str) -> Duration {
        let ranges = self.coverage.get(file);
        let tests: BTreeSet<&str> = ranges
            .into_iter()
            .flatten()
            .map(|(test, _)| test.as_str())
            // Import time, whose name is empty, is no test and has no outcome.
            .filter(|test| self.outcome(test).is_some())
            .collect();
        self.seconds(&tests.into_iter().collect::<Vec<_>>())
    }

    /// The file of which the most tests run lines.
    pub(super) fn most_covered_file(&self) -> Option<&str> {
        // A file has one element for each test that runs lines of it.
        let most = self.coverage.iter().max_by_key(|(_, ranges)| ranges.len());
        most.map(|(path, _)| path.as_str())
    }

    /// The files of which tests run lines.
    pub(super) fn covered_files(&self) -> impl Iterator<Item = &str> {
        self.coverage.keys().map(String::as_str)
    }

    /// Number of lines of the project that each test runs.
    pub(super) fn line_counts(&self) -> HashMap<String, usize> {
        let mut lines: HashMap<String, usize> = HashMap::new();
        for (test, ranges) in self.coverage.values().flatten() {
            let count: usize = ranges.iter().map(|(first, last)| last - first + 1).sum();
            match lines.get_mut(test) {
                Some(lines) => *lines += count,
                None => drop(lines.insert(test.clone(), count)),
            }
        }
        lines
    }

    /// Returns true if importing a file runs a one-based line of it.
    pub fn runs_at_import(&self, file: &str, line: usize) -> bool {
        self.coverage
            .get(file)
            .into_iter()
            .flatten()
            .filter(|(test, _)| test.is_empty())
            .flat_map(|(_, ranges)| ranges)
            .any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Returns true if a stable test, and not only an import, runs a one-based line of a file.
    pub fn covers(&self, file: &str, line: usize) -> bool {
        let passes = |test: &TestInfo| test.outcome() == Some(TestOutcome::Passed);
        if self.lacks_coverage {
            return self.tests.values().any(passes);
        }
        self.coverage
            .get(file)
            .into_iter()
            .flatten()
            .any(|(test, ranges)| {
                ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&line))
                    && self.outcome(test) == Some(TestOutcome::Passed)
            })
    }
}

/// Merges the results of each test.
fn merge_tests(runs: &[BaselineRun]) -> BTreeMap<String, TestInfo> {
    let ids: BTreeSet<&String> = runs
        .iter()
        .flat_map(|run| run.result.report.tests.keys())
        .collect();
    let mut tests = BTreeMap::new();
    for id in ids {
        let results: Vec<_> = runs
            .iter()
            .map(|run| run.result.report.tests.get(id))
            .collect();
        // Each id comes from one of the runs, so there is a first.
        let first = results[0].map(|result| result.outcome);
        // A run that lacks the test differs from one that has it.
        let agree = results
            .iter()
            .all(|result| result.map(|result| result.outcome) == first);
        let seconds = results
            .iter()
            .flatten()
            .map(|result| result.seconds)
            .fold(0.0, f64::max);
        let outcome = first.filter(|_| agree);
        let message = match (outcome, results[0]) {
            (Some(outcome), Some(result)) if outcome.is_failure() => key_line(&result.message),
            _ => String::new(),
        };
        let info = TestInfo {
            outcome,
            agreeing: AtomicUsize::new(if agree { runs.len() } else { DIFFERS }),
            seconds,
            message,
        };
        tests.insert(id.clone(), info);
    }
    tests
}

/// The lines that each test runs, by file.
fn merge_coverage(runs: &[BaselineRun]) -> BTreeMap<String, Vec<CoveredRanges>> {
    let mut coverage: BTreeMap<String, Vec<CoveredRanges>> = BTreeMap::new();
    for covered in runs.iter().flat_map(|run| &run.result.report.coverage) {
        coverage
            .entry(covered.file.clone())
            .or_default()
            .push((covered.test.clone(), ranges(&covered.lines)));
    }
    for ranges in coverage.values_mut() {
        ranges.sort();
    }
    coverage
}

/// Sorted lines as ranges, both ends included.
fn ranges(lines: &[usize]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    ranges
}

/// The most informative line of a failure's message: the one with the exception and what it says,
/// or else the first that is not indented. After Python's last traceback it is the first that is not
/// indented, and pytest marks its lines.
pub(super) fn key_line(message: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| line.contains(char::is_alphanumeric))
        .collect();
    let traceback = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback "));
    if let Some(at) = traceback
        && let Some(line) = lines[at + 1..].iter().find(|line| !line.starts_with(' '))
    {
        return one_spaced(line);
    }
    let marked: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("E "))
        .collect();
    // Of chained exceptions, pytest prints the one that ended the test last.
    let found = marked
        .iter()
        .rfind(|line| names_exception(line))
        .or(marked.first());
    let found = found.or_else(|| lines.iter().find(|line| names_exception(line)));
    // Go and jest begin with the test's name, and Node with the place of the code that threw.
    let is_title = |line: &str| {
        let starts = ["=== ", "--- FAIL", "● ", "node:internal/", "throw "];
        starts
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    let said = || lines.iter().filter(|line| !is_title(line));
    let found = found
        .or_else(|| said().find(|line| !line.starts_with([' ', '\t'])))
        .or_else(|| said().next())
        .or(lines.first());
    let Some(line) = found else {
        return "no message".to_owned();
    };
    let mut said = one_spaced(line);
    let mut next = lines
        .iter()
        .skip_while(|other| !other.ends_with(line))
        .skip(1);
    // A title is completed by what follows it.
    while said.ends_with(':')
        && let Some(line) = next.next()
    {
        said.push(' ');
        said += &one_spaced(line.strip_prefix("E ").unwrap_or(line));
    }
    said
}

/// A line with single blanks.
pub(super) fn one_spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if a line begins with the name of an exception: `TypeError: …`, `AssertionError [CODE]: …`,
/// `java.lang.IllegalStateException`, `panic: …`.
pub(super) fn names_exception(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let is_part = |letter: char| letter.is_alphanumeric() || "._$".contains(letter);
    let end = line.find(|letter| !is_part(letter)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = match rest
        .strip_prefix(" [")
        .and_then(|code| code.split_once(']'))
    {
        Some((_, rest)) => rest,
        None => rest,
    };
    let ends = ["Error", "Exception", "Failure", "panic"];
    let is_name = ends.iter().any(|end| name.ends_with(end)) || name == "error";
    // A line of nothing but `Error`, `error` or `panic` names no exception.
    is_name && ((rest.is_empty() && name.len() > "Error".len()) || rest.starts_with(": "))
}

#[cfg(test)]
mod tests {
    use fillrate_sandbox::End;

    use super::super::runner::report::TestReport;
    use super::*;

    fn run(report: &str) -> BaselineRun {
        let signed = report.replace("{\"event\"", "{\"nonce\":\"w\",\"event\"");
        let result = TestRunResult {
            end: End::Exited(1),
            report: TestReport::parse(signed.as_bytes(), "w"),
            changed: Vec::new(),
            unreadable: Vec::new(),
            output: String::new(),
            wall: Duration::from_secs(1),
            peak_memory: 1,
            level: String::new(),
        };
        BaselineRun {
            with_coverage: false,
            result,
        }
    }

    #[test]
    fn key_lines_say_what_went_wrong_under_each_runner() {
        for (message, line) in [
            // pytest
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\n    import x\n\
                 ModuleNotFoundError: No module named 'x'\n",
                "ModuleNotFoundError: No module named 'x'",
            ),
            (
                "    def test_a():\n>       assert f() == 2\nE       AssertionError: no\nE       \
                 assert 1 == 2\n\ntests/test_a.py:3: AssertionError",
                "AssertionError: no",
            ),
            (
                ">       assert f() == 2\nE       assert 1 == 2\nE        +  where 1 = f()\n",
                "assert 1 == 2",
            ),
            (
                "ImportError while importing test module 'a.py'.\nTraceback:\na.py:1: in <module>\n\
                 E   ModuleNotFoundError: No module named 'y'",
                "ModuleNotFoundError: No module named 'y'",
            ),
            // mocha, and Node as it ends
            (
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n1 !== 2\n",
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2",
            ),
            (
                "Error: Configuration error:\n\nCould not locate module ./a mapped as:\n$1.\n",
                "Error: Configuration error: Could not locate module ./a mapped as: $1.",
            ),
            (
                "  throw err;\n  ^\n\nError: Cannot find module 'jake'\nRequire stack:\n- /a.js\n  \
                 code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/a.js' ]\n}\n\nNode.js v20.1.0",
                "Error: Cannot find module 'jake'",
            ),
            (
                "  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/a.js' ]\n}\n\nNode.js v20.1.0",
                "Node.js v20.1.0",
            ),
            // jest
            (
                "  ● Test suite failed to run\n\n    Cannot find module 'x' from 'src/a.test.js'\n",
                "Cannot find module 'x' from 'src/a.test.js'",
            ),
            (
                "expect(received).toBe(expected) // Object.is equality\n\nExpected: 2\nReceived: 1",
                "expect(received).toBe(expected) // Object.is equality",
            ),
            (
                "    Jest encountered an unexpected token\n\n    SyntaxError: Unexpected token '}'",
                "SyntaxError: Unexpected token '}'",
            ),
            // vitest
            (
                "AssertionError: expected 1 to be 2 // Object.is equality",
                "AssertionError: expected 1 to be 2 // Object.is equality",
            ),
            (
                "Error: Failed to resolve import \"./b\" from \"src/a.ts\". Does the file exist?\n  \
                 Plugin: vite:import-analysis\n",
                "Error: Failed to resolve import \"./b\" from \"src/a.ts\". Does the file exist?",
            ),
            // Go
            (
                "=== RUN   TestA\n    a_test.go:12: got 1, want 2\n--- FAIL: TestA (0.00s)\n",
                "a_test.go:12: got 1, want 2",
            ),
            (
                "--- FAIL: TestA (0.00s)\npanic: runtime error: index out of range [3] with length 2\n\
                 goroutine 7 [running]:",
                "panic: runtime error: index out of range [3] with length 2",
            ),
            (
                "./a.go:3:5: undefined: x\n./a.go:9:1: y\n",
                "./a.go:3:5: undefined: x",
            ),
            (
                "        Error Trace:\ta_test.go:5\n        Error:      \tNot equal: \n",
                "Error: Not equal:",
            ),
            // javac and JUnit
            (
                "src/A.java:12: cannot find symbol\n  symbol: class B\n",
                "src/A.java:12: cannot find symbol",
            ),
            (
                "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\tat a.B.c(B.java:3)",
                "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
            ),
            (
                "java.lang.NullPointerException\n\tat a.B.c(B.java:3)",
                "java.lang.NullPointerException",
            ),
            // Others
            ("}\n", "no message"),
            ("", "no message"),
        ] {
            assert_eq!(key_line(message), line, "{message}");
        }
    }

    const BOTH: &str = r#"{"event":"test","id":"a","outcome":"passed"}
{"event":"test","id":"b","outcome":"passed"}
{"event":"coverage","test":"a","file":"m.py","lines":[3,4,5,9]}
{"event":"coverage","test":"","file":"m.py","lines":[1]}"#;

    #[test]
    fn flaky_tests_are_quarantined() {
        let failing = BOTH.replace(r#""b","outcome":"passed""#, r#""b","outcome":"failed""#);
        let runs = [run(BOTH), run(&failing)];
        let baseline = from_runs(&runs, 0.5).expect("enough tests pass");
        assert_eq!(baseline.stable(), ["a"]);
        assert_eq!(baseline.quarantined(), ["b"]);
        let missing = [
            run(BOTH),
            run(r#"{"event":"test","id":"a","outcome":"passed"}"#),
        ];
        let baseline = from_runs(&missing, 0.5).expect("enough tests pass");
        assert_eq!(baseline.quarantined(), ["b"]);
    }

    fn from_runs(runs: &[BaselineRun], min_share: f64) -> Result<Baseline, VerdictError> {
        Baseline::from_runs("demo", runs, BTreeMap::new(), min_share)
    }

    #[test]
    fn later_runs_settle_tests_or_quarantine_them_for_good() {
        let baseline = from_runs(&[run(BOTH), run(BOTH)], 0.5).expect("no test fails");
        let failing = BOTH.replace(r#""b","outcome":"passed""#, r#""b","outcome":"failed""#);
        let (passing, failing) = (run(BOTH).result.report, run(&failing).result.report);
        assert_eq!(baseline.unsettled(&["a", "b", "other"]), ["a", "b"]);
        for report in [&passing, &failing, &passing] {
            baseline.add_run(&["a", "b"], report);
        }
        assert!(baseline.unsettled(&["a", "b"]).is_empty());
        assert_eq!(
            (baseline.stable(), baseline.quarantined()),
            (vec!["a"], vec!["b"])
        );
        assert!(!baseline.covers("m.py", 1) && baseline.covers("m.py", 3));
        let stored = serde_json::to_string(&baseline).expect("it is plain data");
        let loaded: Baseline = serde_json::from_str(&stored).expect("it was stored");
        assert_eq!(loaded.quarantined(), ["b"]);
        assert!(!loaded.is_complete() && !loaded.is_warm());
        loaded.complete(LaterRuns::default());
        assert!(loaded.is_complete() && loaded.is_warm());
    }

    #[test]
    fn a_test_that_always_fails_is_set_aside_unless_too_few_are_left() {
        let failing = BOTH.replace(
            r#""b","outcome":"passed""#,
            r#""b","outcome":"failed","message":"Traceback (most recent call last):\n  File \"a.py\", line 1, in test\nAssertionError: assert 1 == 2\n  where 1 = f()\n""#,
        );
        let runs = [run(&failing), run(&failing)];
        let baseline = from_runs(&runs, 0.5).expect("half of the tests pass");
        assert_eq!(baseline.stable(), ["a"]);
        assert!(baseline.quarantined().is_empty() && baseline.leaves_out("b"));
        let reason = "AssertionError: assert 1 == 2".to_owned();
        assert_eq!(baseline.set_aside(), [("b".to_owned(), reason)]);
        let error = from_runs(&runs, 0.6).expect_err("fewer than 60 % pass");
        insta::assert_snapshot!(error, @"`demo` passes 1 of its own 2 tests, and at least 60 % must pass: b: AssertionError: assert 1 == 2; correct the project's environment in the manifest (`fillrate init` writes one), leave tests out by its `args`, or lower `min_share`");
    }

    #[test]
    fn covering_tests_are_those_that_run_a_changed_line() {
        let baseline = from_runs(&[run(BOTH)], 0.5).expect("no test fails");
        let covering = |lines| {
            baseline
                .covering("m.py", lines)
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(covering(4..=7), ["a"]);
        assert_eq!(covering(6..=8), Vec::<&str>::new());
        assert_eq!(covering(1..=3), ["a", "b"]);
        assert!(baseline.covers("m.py", 9) && !baseline.covers("m.py", 1));
    }
}
