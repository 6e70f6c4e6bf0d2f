//! How a project's own tests run before anything is changed: five times, once with the lines each
//! test runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::VerdictError;
use super::report::TestOutcome;
use super::runner::{Bench, Finding, Readiness, STATUS, TestRun};
use crate::corpus::tree;
use crate::sandbox::{End, Limits, SandboxError};

/// How often the tests are run.
pub const RUNS: usize = 5;

/// The version of the file in the cache.
const SCHEMA: u32 = 4;

/// How a project's own tests run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline {
    schema: u32,
    /// Every test, by id, with its outcome in all runs, or nothing where they don't agree.
    tests: BTreeMap<String, TestInfo>,
    /// By file: the lines each test runs, as ranges.
    coverage: BTreeMap<String, Vec<LinesRun>>,
    /// Seconds of each run without recording.
    seconds: Vec<f64>,
    /// The most memory a run held, in bytes.
    pub peak_memory: u64,
    /// What the unchanged project's own tests do to the process they run in: see
    /// [`Report::marks`](super::report::Report::marks).
    marks: BTreeSet<String>,
    /// The project's files that they make or write to.
    changed: BTreeSet<String>,
    /// What they load.
    loaded: Loaded,
    /// Why they can't be run by means of a process that has loaded all that; nothing where they
    /// can.
    unfit: Option<String>,
    /// Why they can't be run by means of a process that has collected them, too.
    uncollectable: Option<String>,
    /// Whether nothing tells which lines a test runs: every test counts as running every line.
    #[serde(default)]
    blind: bool,
}

/// What a project's tests load, so that it can be at hand before they run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Loaded {
    /// From outside the project, by module; of vitest, what its workers ask for.
    pub(super) modules: BTreeSet<String>,
    /// Of the project, by file, and whether the framework rewrites its assertions.
    pub(super) sources: BTreeMap<String, bool>,
    /// Of the project, the files that are read when the tests are collected, and not only imported:
    /// what was made of them then is unknown.
    pub(super) read: BTreeSet<String>,
    /// Whether a test's id says what it stands in.
    pub(super) plain_names: bool,
}

/// A test, `""` for import time, and the lines it runs as ranges with both ends included.
type LinesRun = (String, Vec<(usize, usize)>);

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TestInfo {
    /// Nothing where the runs don't agree: the test is quarantined.
    outcome: Option<TestOutcome>,
    /// Its slowest run.
    seconds: f64,
}

/// How long a whole run of a project's tests may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs the tests, or reads in the cache how they ran with this source and environment.
pub(super) fn establish(
    bench: &Bench,
    cache: &Path,
    jobs: usize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Baseline, VerdictError> {
    let folder = cache.join("baselines");
    let path = folder.join(format!("{}.json", bench.key()));
    let known = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Baseline>(&bytes).ok())
        .filter(|baseline| baseline.schema == SCHEMA);
    if let Some(baseline) = known {
        return Ok(baseline);
    }
    let baseline = measure(bench, jobs, progress)?;
    let fault = |source| VerdictError::Cache {
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(&folder).map_err(fault)?;
    // Whole or not at all: a killed run leaves no half file under the name.
    let file = tempfile::NamedTempFile::new_in(&folder).map_err(fault)?;
    serde_json::to_writer(std::io::BufWriter::new(&file), &baseline)
        .map_err(|error| fault(error.into()))?;
    file.persist(&path).map_err(|error| fault(error.error))?;
    Ok(baseline)
}

fn measure(
    bench: &Bench,
    jobs: usize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Baseline, VerdictError> {
    let prepared = bench.prepared();
    let project = prepared.project.name.clone();
    let files = tree::hole_files(prepared).map_err(|error| VerdictError::NotRunnable {
        project: project.clone(),
        reason: error.to_string(),
    })?;
    let limits = Limits {
        wall: PATIENCE,
        cpu: PATIENCE * 2,
        memory: 4 << 30,
        // The lines of every test are reported in one file.
        file_size: 1 << 30,
        disk: 2 << 30,
        collect: 1 << 30,
        ..Limits::default()
    };
    // The first run alone tells whether there is any point in the others.
    let plain = TestRun {
        replaced: &[],
        select: None,
        coverage: None,
        first_failure_ends: false,
        limits,
    };
    progress(0, RUNS);
    let first = checked(bench.run(&plain)?, &project)?;
    progress(1, RUNS);
    let recorded = TestRun {
        coverage: Some(&files),
        ..plain.clone()
    };
    let findings = Mutex::new(vec![(false, first)]);
    let failure = Mutex::new(None);
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, RUNS) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= RUNS {
                        break;
                    }
                    let records = index == 1;
                    let run = if records { &recorded } else { &plain };
                    let finding = bench
                        .run(run)
                        .and_then(|finding| checked(finding, &project));
                    match finding {
                        Ok(finding) => {
                            let mut findings = super::lock(&findings);
                            findings.push((records, finding));
                            progress(findings.len(), RUNS);
                        }
                        Err(error) => *super::lock(&failure) = Some(error),
                    }
                }
            });
        }
    });
    if let Some(error) = super::lock(&failure).take() {
        return Err(error);
    }
    let findings = findings
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut baseline = Baseline::of(&project, &findings)?;
    baseline.blind = !bench.chooses();
    baseline.unfit = try_warm(bench, &mut baseline, &plain, Readiness::Loaded)?;
    baseline.uncollectable = match &baseline.unfit {
        Some(reason) => Some(reason.clone()),
        None => try_warm(bench, &mut baseline, &plain, Readiness::Collected)?,
    };
    Ok(baseline)
}

/// Runs the unchanged project's tests twice in the warm way, which must come to the same as all
/// other runs; why they don't. The second time, the file that most tests run is laid over itself.
/// Marks that these runs leave are noted with the others.
fn try_warm(
    bench: &Bench,
    baseline: &mut Baseline,
    plain: &TestRun<'_>,
    readiness: Readiness,
) -> Result<Option<String>, VerdictError> {
    let most = baseline.coverage.iter().max_by_key(|(_, runs)| runs.len());
    let same = match most {
        Some((path, _)) => Some((path.clone(), bench.read(path)?)),
        None => None,
    };
    let same: Vec<(&str, &str)> = same
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    for replaced in [&[][..], &same] {
        let run = TestRun {
            replaced,
            ..plain.clone()
        };
        let finding = match bench.run_warm(&run, &baseline.loaded, readiness, plain.limits.memory) {
            Ok(Some(finding)) => finding,
            Ok(None) => return Ok(Some("its framework is not kept".to_owned())),
            Err(VerdictError::Sandbox(
                error @ (SandboxError::Program { .. } | SandboxError::BelowLevel { .. }),
            )) => return Ok(Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let report = &finding.report;
        if finding.end != End::Exited(STATUS) || !report.ended || report.sentinel_fault.is_some() {
            let output = finding.output.lines().last().unwrap_or_default();
            return Ok(Some(format!(
                "when it is kept it ends with {:?}: {output}",
                finding.end
            )));
        }
        let differs = baseline
            .tests
            .iter()
            .filter_map(|(id, info)| Some((id, info.outcome?)))
            .find(|(id, outcome)| report.tests.get(*id).map(|test| test.outcome) != Some(*outcome));
        if let Some((id, _)) = differs {
            return Ok(Some(format!("when it is kept {id} ends otherwise")));
        }
        let marks = report.marks.iter().chain(&report.broken).cloned();
        baseline.marks.extend(marks);
        baseline.changed.extend(finding.changed);
    }
    Ok(None)
}

/// A run that came to its end, with tests in it.
fn checked(finding: Finding, project: &str) -> Result<Finding, VerdictError> {
    let refuse = |reason: String| VerdictError::NotRunnable {
        project: project.to_owned(),
        reason,
    };
    let tail = || {
        let lines: Vec<&str> = finding.output.lines().rev().take(15).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    if let Some(message) = &finding.report.harness_error {
        return Err(refuse(message.clone()));
    }
    if let Some(fault) = finding.report.collect_errors.first() {
        return Err(refuse(format!(
            "{} can't be loaded: {}",
            fault.id, fault.message
        )));
    }
    let exited = matches!(finding.end, End::Exited(_));
    if !exited || !finding.report.ended {
        return Err(refuse(format!("{:?}\n{}", finding.end, tail())));
    }
    if finding.report.tests.is_empty() {
        return Err(refuse(format!("no test was found\n{}", tail())));
    }
    if let Some(fault) = &finding.report.sentinel_fault {
        return Err(refuse(format!(
            "among its tests, one that must fail does not say so: {fault}\n{}",
            tail()
        )));
    }
    Ok(finding)
}

impl Baseline {
    fn of(project: &str, findings: &[(bool, Finding)]) -> Result<Self, VerdictError> {
        let ids: BTreeSet<&String> = findings
            .iter()
            .flat_map(|(_, finding)| finding.report.tests.keys())
            .collect();
        let mut tests = BTreeMap::new();
        for id in ids {
            let results: Vec<_> = findings
                .iter()
                .map(|(_, finding)| finding.report.tests.get(id))
                .collect();
            let first = results[0].map(|result| result.outcome);
            let agree = results
                .iter()
                .all(|result| result.map(|result| result.outcome) == first);
            let seconds = results
                .iter()
                .flatten()
                .map(|result| result.seconds)
                .fold(0.0, f64::max);
            let outcome = first.filter(|_| agree);
            tests.insert(id.clone(), TestInfo { outcome, seconds });
        }
        let failing: Vec<&String> = tests
            .iter()
            .filter(|(_, info)| info.outcome.is_some_and(TestOutcome::is_failure))
            .map(|(id, _)| id)
            .collect();
        if let Some(first) = failing.first() {
            let message = findings[0].1.report.tests[*first].message.clone();
            return Err(VerdictError::TestsFail {
                project: project.to_owned(),
                failing: failing.len(),
                tests: tests.len(),
                first: (*first).clone(),
                message: telling_line(&message),
            });
        }
        let mut coverage: BTreeMap<String, Vec<LinesRun>> = BTreeMap::new();
        for (_, finding) in findings {
            for record in &finding.report.coverage {
                coverage
                    .entry(record.file.clone())
                    .or_default()
                    .push((record.test.clone(), ranges(&record.lines)));
            }
        }
        for records in coverage.values_mut() {
            records.sort();
        }
        Ok(Self {
            schema: SCHEMA,
            tests,
            coverage,
            seconds: findings
                .iter()
                .filter(|(records, _)| !records)
                .map(|(_, finding)| finding.wall.as_secs_f64())
                .collect(),
            peak_memory: findings
                .iter()
                .map(|(_, finding)| finding.peak_memory)
                .max()
                .unwrap_or_default(),
            marks: findings
                .iter()
                .flat_map(|(_, finding)| {
                    let report = &finding.report;
                    report.marks.iter().chain(&report.broken).cloned()
                })
                .collect(),
            changed: findings
                .iter()
                .flat_map(|(_, finding)| finding.changed.iter().cloned())
                .collect(),
            loaded: findings
                .iter()
                .find(|(records, _)| !records)
                .map(|(_, finding)| Loaded {
                    modules: finding.report.modules.clone(),
                    sources: finding.report.sources.clone(),
                    read: findings
                        .iter()
                        .flat_map(|(_, finding)| finding.report.read.iter().cloned())
                        .collect(),
                    plain_names: finding.report.plain_names,
                })
                .unwrap_or_default(),
            unfit: Some("it was not tried".to_owned()),
            uncollectable: Some("it was not tried".to_owned()),
            blind: false,
        })
    }

    /// The ids of the tests that agree with themselves, sorted.
    pub fn stable(&self) -> Vec<&str> {
        self.tests
            .iter()
            .filter(|(_, info)| info.outcome.is_some())
            .map(|(id, _)| id.as_str())
            .collect()
    }

    /// The ids of the tests that don't.
    pub fn quarantined(&self) -> Vec<&str> {
        self.tests
            .iter()
            .filter(|(_, info)| info.outcome.is_none())
            .map(|(id, _)| id.as_str())
            .collect()
    }

    /// What the tests load.
    pub(super) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether the tests can be run by means of a process that has loaded these.
    pub fn is_warm(&self) -> bool {
        self.unfit.is_none()
    }

    /// Whether they can be run by means of a process that has collected them.
    pub fn is_collectable(&self) -> bool {
        self.uncollectable.is_none()
    }

    /// Whether a test does not agree with itself.
    pub fn quarantines(&self, id: &str) -> bool {
        self.tests
            .get(id)
            .is_some_and(|test| test.outcome.is_none())
    }

    /// Whether the project's own tests leave this mark on their process.
    pub fn leaves(&self, mark: &str) -> bool {
        self.marks.contains(mark)
    }

    /// Whether the project's own tests make or write to this file of the project.
    pub fn changes(&self, path: &str) -> bool {
        self.changed.contains(path)
    }

    /// How a stable test ends.
    pub fn outcome(&self, id: &str) -> Option<TestOutcome> {
        self.tests.get(id)?.outcome
    }

    /// Time of the clock for the slowest run of all tests.
    pub fn slowest(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.iter().copied().fold(0.0, f64::max))
    }

    /// Time that these tests take by themselves.
    pub fn seconds(&self, ids: &[&str]) -> Duration {
        let seconds = ids
            .iter()
            .filter_map(|id| self.tests.get(*id))
            .map(|info| info.seconds)
            .sum();
        Duration::from_secs_f64(seconds)
    }

    /// The stable tests that run any of these one-based lines; all of them where such a line runs
    /// at import, which every test needs.
    pub fn covering(&self, file: &str, lines: RangeInclusive<usize>) -> BTreeSet<&str> {
        let touching: BTreeSet<&str> = self
            .coverage
            .get(file)
            .into_iter()
            .flatten()
            .filter(|(_, ranges)| {
                ranges
                    .iter()
                    .any(|(first, last)| first <= lines.end() && lines.start() <= last)
            })
            .map(|(test, _)| test.as_str())
            .collect();
        let stable = self.stable().into_iter();
        if self.blind || touching.contains("") {
            stable.collect()
        } else {
            stable.filter(|id| touching.contains(id)).collect()
        }
    }

    /// How many lines of the project each test runs.
    pub(super) fn lines_run(&self) -> HashMap<String, usize> {
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

    /// Whether importing a file runs a one-based line of it.
    pub fn runs_at_import(&self, file: &str, line: usize) -> bool {
        self.coverage
            .get(file)
            .into_iter()
            .flatten()
            .filter(|(test, _)| test.is_empty())
            .flat_map(|(_, ranges)| ranges)
            .any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Whether a stable test, and not only an import, runs a one-based line of a file.
    pub fn covers(&self, file: &str, line: usize) -> bool {
        let passes = |test: &TestInfo| test.outcome == Some(TestOutcome::Passed);
        if self.blind {
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

/// The line of a failure's message that says most: after Python's last traceback the first that is
/// not indented, elsewhere the first.
fn telling_line(message: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let traceback = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback "));
    let mut after = lines[traceback.map_or(0, |place| place + 1)..].iter();
    let telling = after.find(|line| !line.starts_with(' '));
    telling.map_or("no message", |line| line.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::report::Report;
    use super::*;

    fn finding(report: &str) -> (bool, Finding) {
        let signed = report.replace("{\"event\"", "{\"nonce\":\"w\",\"event\"");
        let finding = Finding {
            end: End::Exited(1),
            report: Report::parse(signed.as_bytes(), "w"),
            changed: Vec::new(),
            output: String::new(),
            wall: Duration::from_secs(1),
            peak_memory: 1,
            level: String::new(),
        };
        (false, finding)
    }

    const BOTH: &str = r#"{"event":"test","id":"a","outcome":"passed"}
{"event":"test","id":"b","outcome":"passed"}
{"event":"coverage","test":"a","file":"m.py","lines":[3,4,5,9]}
{"event":"coverage","test":"","file":"m.py","lines":[1]}"#;

    #[test]
    fn tests_that_do_not_agree_with_themselves_are_quarantined() {
        let failing = BOTH.replace(r#""b","outcome":"passed""#, r#""b","outcome":"failed""#);
        let findings = [finding(BOTH), finding(&failing)];
        let baseline = Baseline::of("demo", &findings).expect("no test fails always");
        assert_eq!(baseline.stable(), ["a"]);
        assert_eq!(baseline.quarantined(), ["b"]);
        let missing = [
            finding(BOTH),
            finding(r#"{"event":"test","id":"a","outcome":"passed"}"#),
        ];
        let baseline = Baseline::of("demo", &missing).expect("no test fails always");
        assert_eq!(baseline.quarantined(), ["b"]);
    }

    #[test]
    fn a_test_that_always_fails_is_told() {
        let failing = BOTH.replace(
            r#""b","outcome":"passed""#,
            r#""b","outcome":"failed","message":"Traceback (most recent call last):\n  File \"a.py\", line 1, in test\nAssertionError: assert 1 == 2\n  where 1 = f()\n""#,
        );
        let error = Baseline::of("demo", &[finding(&failing), finding(&failing)])
            .expect_err("a test fails always");
        insta::assert_snapshot!(error, @"`demo` fails 1 of its own 2 tests, first b: AssertionError: assert 1 == 2; fix the project's environment in the manifest, or leave these tests out by its `args`");
    }

    #[test]
    fn covering_tests_are_those_that_run_a_changed_line() {
        let baseline = Baseline::of("demo", &[finding(BOTH)]).expect("no test fails");
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
