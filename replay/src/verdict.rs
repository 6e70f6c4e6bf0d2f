//! Test runners and what their runs prove: the outcome of putting one file in place of another.
//!
//! A verdict is evidence. A pass needs all of: the exit status of a run in which nothing failed
//! but the sentinels; a report written out of band and signed; the set of executed tests equal to
//! the baseline's; no test that is skipped now and was not before; every sentinel, a test that
//! must fail, failed; nothing of the test framework replaced; the tests, their configuration and
//! every other file that is no hole's left alone. Everything runs in the [`crate::sandbox`], on a
//! copy-on-write view of the project with the one file laid over it.
//!
//! Spliced code shares a process with the tests. What it does to the framework in general shows;
//! code that is written against these very scripts, finds their objects in the interpreter's
//! memory and speaks in their name is not ruled out by construction. What no code can do is leave
//! the sandbox or reach another verdict.

pub mod baseline;
pub mod feedback;
mod flaky;
mod jest;
mod junit;
mod memory;
mod mocha;
mod node;
mod pytest;
mod report;
mod rounds;
mod runner;
mod stage;
mod trial;
mod types;
mod unittest;
mod vitest;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use fillrate_server::syntax::Language;
use serde::{Deserialize, Serialize};

use crate::corpus::Prepared;
use crate::sandbox::{End, Limits, SandboxError};
use crate::task::sha256_hex;
use baseline::Baseline;
use memory::Memory;
use report::{TestOutcome, TestResult};
use runner::{BESIDE, Bench, Finding, Readiness, TestRun};
use types::Types;
pub use types::{TypeCheck, TypeErrors};

/// Judges changes to one project.
pub struct Judge {
    bench: Bench,
    baseline: Baseline,
    /// How many lines each test runs.
    lines: HashMap<String, usize>,
    engine: Engine,
    /// Held by every run, and by one that must be alone for writing.
    company: RwLock<()>,
    /// Verdicts by changed text, so that identical text is run once. The inner lock is held while
    /// a run is under way, so that a second asker waits for it instead of running it again.
    settled: Mutex<HashMap<String, Arc<Mutex<Option<Verdict>>>>>,
    /// Where verdicts outlive the run.
    memory: Option<Memory>,
    /// Tests that agreed with themselves at baseline and have been seen not to since.
    suspects: Mutex<BTreeSet<String>>,
    /// What checks types, where that was asked for and can be.
    types: Option<Types>,
}

/// Words for versions of a file: two that compile to the same have the same word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The original's.
    pub original: String,
    /// The others', in their order; nothing for one that does not compile.
    pub others: Vec<Option<String>>,
}

/// How verdicts come about. All engines give the same ones; the slow ones are there to show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// A fork of a process that has collected the unchanged project's tests, with the changed
    /// functions put in place; where that is not all there is to a change, of one that has loaded
    /// everything outside the project; or workers on what such a process has transformed. First
    /// for the tests that run a changed line, then for the others. From the start where the
    /// framework does none of this.
    #[default]
    Warm,
    /// The same choice of tests, every run from the start.
    Cold,
    /// A copy of the project, every test, from the start, and nothing remembered.
    Naive,
}

impl Engine {
    /// The engine's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Naive => "naive",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Warm, Self::Cold, Self::Naive]
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| format!("`{name}` is no engine; the engines are warm, cold, naive"))
    }
}

/// What tests say of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// What decided it, in a sentence.
    pub reason: String,
    /// Tests that failed, as far as they were run: a first failure is final.
    pub failed: Vec<String>,
    /// What a pass needs beside tests that pass, and was not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Evidence>,
    /// What the project's test runner can't show, so that it was not asked for: a pass without it
    /// proves less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<Evidence>,
    /// How many tests were run.
    pub executed: usize,
    /// Whether tests failed that the change can hardly have made fail, so that they were run again
    /// before that counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Seconds of the clock, all runs together.
    pub seconds: f64,
    /// The isolation that was reached, e.g. `full/cgroup-v1`.
    pub sandbox: String,
    /// The end of what the tests printed, and the messages of those that failed.
    pub output: String,
    /// The errors of TypeScript's checker that the change adds, where that was asked for; the
    /// outcome does not hang on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypeCheck>,
}

/// How a change ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every test that should run ran and passed.
    Passed,
    /// A test failed, or the tests did not run as they should.
    Failed,
    /// The changed file does not parse, and the tests fail.
    Syntax,
    /// The time limit ran out.
    Timeout,
    /// The memory limit was exceeded.
    Memory,
    /// Another limit of the sandbox was exceeded: processes, output.
    Sandbox,
    /// The machinery failed; it says nothing of the change.
    Infrastructure,
    /// The verdict hangs on tests that don't agree with themselves.
    Flaky,
    /// The project has no tests: nothing says whether the completion was right.
    Unjudged,
}

impl Outcome {
    /// The outcome's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Syntax => "syntax",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Sandbox => "sandbox",
            Self::Infrastructure => "infrastructure",
            Self::Flaky => "flaky",
            Self::Unjudged => "unjudged",
        }
    }

    /// Whether it says whether the completion was right. An outcome that does not is left out of
    /// a pass rate's denominator and counted beside it.
    pub fn is_evidence(self) -> bool {
        !matches!(self, Self::Infrastructure | Self::Flaky | Self::Unjudged)
    }
}

/// What a pass needs beside tests that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// A report that goes to its end.
    Report,
    /// Nothing on the report's way but the report.
    Signature,
    /// Exactly the baseline's tests, run.
    Executed,
    /// No test skipped that was not before.
    Skips,
    /// No errors outside the tests.
    Quiet,
    /// Every test that must fail, failed.
    Sentinels,
    /// What decides over tests, as it was after each of them.
    Framework,
    /// No function of any library replaced, no import hook, no thread left, at the end.
    Process,
    /// Tests, settings and other files as they were, and no new ones that could stand for them.
    Files,
    /// The exit status of a run in which nothing but the sentinels failed.
    Status,
}

impl Evidence {
    /// The name in records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Signature => "signature",
            Self::Executed => "executed",
            Self::Skips => "skips",
            Self::Quiet => "quiet",
            Self::Sentinels => "sentinels",
            Self::Framework => "framework",
            Self::Process => "process",
            Self::Files => "files",
            Self::Status => "status",
        }
    }

    /// All of it, in the order in which it is looked for.
    pub const ALL: [Self; 10] = [
        Self::Report,
        Self::Signature,
        Self::Executed,
        Self::Skips,
        Self::Quiet,
        Self::Sentinels,
        Self::Framework,
        Self::Process,
        Self::Files,
        Self::Status,
    ];
}

/// Why there is no verdict, or no baseline to hold one against.
#[derive(Debug, thiserror::Error)]
pub enum VerdictError {
    /// The sandbox can't be had.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The project fails its own tests.
    #[error(
        "`{project}` fails {failing} of its own {tests} tests, first {first}: {message}; fix the \
         project's environment in the manifest, or leave these tests out by its `args`"
    )]
    TestsFail {
        /// The project.
        project: String,
        /// How many fail.
        failing: usize,
        /// How many there are.
        tests: usize,
        /// The first one's id.
        first: String,
        /// What it said, shortened.
        message: String,
    },
    /// The project's tests can't be run at all.
    #[error("the tests of `{project}` can't be run: {reason}")]
    NotRunnable {
        /// The project.
        project: String,
        /// What happened, with the end of the output.
        reason: String,
    },
    /// A file of the cache can't be read or written.
    #[error("{path}: {source}")]
    Cache {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Judge {
    /// A judge for a project, which runs the project's own tests first, or reads in the cache how
    /// they ended.
    ///
    /// # Errors
    /// The tests can't be run, or fail.
    pub fn new(
        prepared: &Prepared,
        cache: &Path,
        engine: Engine,
        jobs: usize,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<Self, VerdictError> {
        let bench = Bench::new(prepared, cache)?;
        let baseline = baseline::establish(&bench, cache, jobs, progress)?;
        Ok(Self {
            bench,
            lines: baseline.lines_run(),
            baseline,
            engine,
            company: RwLock::default(),
            settled: Mutex::default(),
            memory: None,
            suspects: Mutex::default(),
            types: None,
        })
    }

    /// The same judge, whose verdicts on a project with TypeScript in its environment and a
    /// `tsconfig.json` say, too, what its checker makes of the change.
    ///
    /// # Errors
    /// The script beside the checker can't be written into the cache.
    pub fn checking_types(mut self, cache: &Path) -> Result<Self, VerdictError> {
        self.types = Types::of(&self.bench, cache)?;
        Ok(self)
    }

    /// The same judge, which reads in the cache what was judged before, and leaves its verdicts
    /// there.
    #[must_use]
    pub fn remembering(mut self, cache: &Path) -> Self {
        if self.engine != Engine::Naive {
            self.memory = Some(Memory::new(cache, &self.key()));
        }
        self
    }

    /// The hash of all that a verdict depends on beside the change: source, environment, how the
    /// tests are run.
    pub fn key(&self) -> String {
        self.bench.key()
    }

    /// How the project's own tests run.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The verdict on a file of the project having these contents. The tests of these names
    /// decide, and no others: test ids, or the files, classes or functions that hold tests; all
    /// tests where none is named.
    ///
    /// # Errors
    /// The sandbox can't be had: that is no verdict on the contents. A name is no test's.
    pub fn judge(
        &self,
        path: &str,
        contents: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let original = self.bench.read(path)?;
        // Without a change, every file is the same question.
        let mut question = String::new();
        if !tests.is_empty() {
            question = format!("{tests:?}\0");
        }
        if contents != original {
            question += &format!("{path}\0{contents}");
        }
        let key = if question.is_empty() {
            question
        } else {
            sha256_hex(question.as_bytes())
        };
        let cell = {
            let mut settled = lock(&self.settled);
            Arc::clone(settled.entry(key.clone()).or_default())
        };
        let mut cell = lock(&cell);
        if let Some(verdict) = &*cell {
            return Ok(verdict.clone());
        }
        let remembered = self.memory.as_ref().and_then(|memory| memory.recall(&key));
        let known = remembered.clone();
        let mut verdict = match remembered {
            Some(verdict) => verdict,
            None => self.run(self.engine, path, &original, contents, tests)?,
        };
        if let (Some(types), None) = (&self.types, &verdict.types) {
            verdict.types = types.check(path, contents)?;
        }
        if let Some(memory) = self
            .memory
            .as_ref()
            .filter(|_| known.as_ref() != Some(&verdict))
        {
            memory.keep(&key, &verdict);
        }
        if self.types.is_none() {
            verdict.types = None;
        }
        *cell = Some(verdict.clone());
        Ok(verdict)
    }

    /// Which of several versions of a file compile to the same; nothing where the language has no
    /// compiled form to look at.
    ///
    /// # Errors
    /// The sandbox can't be had, or the compiler says nothing.
    pub fn compiled(
        &self,
        path: &str,
        original: &str,
        texts: &[String],
    ) -> Result<Option<Compiled>, VerdictError> {
        let mut all = vec![original];
        all.extend(texts.iter().map(String::as_str));
        let Some(compiled) = self.bench.compiled(&all)? else {
            return Ok(None);
        };
        let mut compiled = compiled.into_iter();
        match compiled.next() {
            Some(Some(original)) => Ok(Some(Compiled {
                original,
                others: compiled.collect(),
            })),
            _ => Err(VerdictError::NotRunnable {
                project: self.bench.prepared().project.name.clone(),
                reason: format!("{path} does not compile"),
            }),
        }
    }

    /// The verdict of another engine, on the same contents and with nothing remembered.
    ///
    /// # Errors
    /// As [`Judge::judge`].
    pub fn judge_with(
        &self,
        engine: Engine,
        path: &str,
        contents: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let original = self.bench.read(path)?;
        self.run(engine, path, &original, contents, tests)
    }

    fn run(
        &self,
        engine: Engine,
        path: &str,
        original: &str,
        contents: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let expected = match self.named(tests)? {
            Some(named) if named.is_empty() => {
                return Ok(Verdict {
                    reason: "its tests don't agree with themselves".to_owned(),
                    ..Verdict::bare(Outcome::Flaky)
                });
            }
            Some(named) => named,
            None => self.baseline.stable(),
        };
        let covering = self.covering(path, original, contents);
        let rounds = match engine {
            Engine::Naive => vec![expected],
            _ if contents == original => vec![expected],
            engine => self.rounds(engine, &expected, &covering),
        };
        let mut verdict = Verdict::bare(Outcome::Passed);
        for round in &rounds {
            let run = TestRun {
                replaced: &[(path, contents)],
                // Selecting everything that is stable leaves quarantined tests out.
                select: Some(round),
                coverage: None,
                first_failure_ends: true,
                limits: self.limits(round),
            };
            let mut finding = self.execute(engine, &run)?;
            if !self.bench.chooses() {
                // Quarantined tests were run, for nothing could leave them out.
                let baseline = &self.baseline;
                let tests = &mut finding.report.tests;
                tests.retain(|id, _| !baseline.quarantines(id));
            }
            verdict.add(self.interpret(&finding, round));
            if verdict.outcome == Outcome::Failed && self.breaks_syntax(path, original, contents) {
                verdict.outcome = Outcome::Syntax;
            }
            if self.doubts(&verdict, &covering, contents != original) {
                self.run_again(engine, &[(path, contents)], round, &mut verdict)?;
            }
            if verdict.outcome != Outcome::Passed {
                break;
            }
        }
        Ok(verdict)
    }

    /// The stable tests of these names; nothing where none is named.
    ///
    /// # Errors
    /// A name is no test's.
    fn named(&self, names: &[String]) -> Result<Option<Vec<&str>>, VerdictError> {
        if names.is_empty() {
            return Ok(None);
        }
        let is = |id: &str, name: &str| {
            id.strip_prefix(name).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with("::") || rest.starts_with('[')
            })
        };
        let (stable, quarantined) = (self.baseline.stable(), self.baseline.quarantined());
        let unknown = names.iter().find(|name| {
            let mut all = stable.iter().chain(&quarantined);
            !all.any(|id| is(id, name))
        });
        if let Some(name) = unknown {
            return Err(VerdictError::NotRunnable {
                project: self.bench.prepared().project.name.clone(),
                reason: format!("it has no test `{name}`, which is to decide over a hole"),
            });
        }
        let named = |id: &&str| names.iter().any(|name| is(id, name));
        Ok(Some(stable.into_iter().filter(named).collect()))
    }

    /// Runs tests. Time that runs out counts only if it does with nothing else going on, and with
    /// as much of it as all tests would get, whichever these are: code that never ends meets the
    /// limit of memory then or it does not, and says the same under every engine.
    fn execute(&self, engine: Engine, run: &TestRun<'_>) -> Result<Finding, VerdictError> {
        let finding = {
            let _company = self.company.read().unwrap_or_else(PoisonError::into_inner);
            self.execute_in(engine, run)?
        };
        if !matches!(finding.end, End::TimedOut | End::OutOfProcessor) {
            return Ok(finding);
        }
        let _alone = self.company.write().unwrap_or_else(PoisonError::into_inner);
        let mut patient = run.clone();
        patient.limits = self.limits(&self.baseline.stable());
        if self.bench.timeout().is_none() {
            patient.limits.wall *= 2;
            patient.limits.cpu *= 2;
        }
        self.execute_in(engine, &patient)
    }

    fn execute_in(&self, engine: Engine, run: &TestRun<'_>) -> Result<Finding, VerdictError> {
        if self.is_warm(engine) {
            if let Some(finding) = self.run_warm(run, Readiness::Collected)? {
                return Ok(finding);
            }
            if let Some(finding) = self.run_warm(run, Readiness::Loaded)? {
                return Ok(finding);
            }
        }
        match engine {
            Engine::Naive => self.bench.run_in_copy(run),
            Engine::Warm | Engine::Cold => self.bench.run(run),
        }
    }

    fn run_warm(
        &self,
        run: &TestRun<'_>,
        readiness: Readiness,
    ) -> Result<Option<Finding>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        if collected && !self.baseline.is_collectable() {
            return Ok(None);
        }
        let memory = self.most_memory();
        let found = self
            .bench
            .run_warm(run, self.baseline.loaded(), readiness, memory);
        match found {
            // It could before; the other way still can.
            Err(VerdictError::Sandbox(SandboxError::Program { .. })) if collected => {
                self.bench.give_up_collecting();
                Ok(None)
            }
            found => found,
        }
    }

    fn is_warm(&self, engine: Engine) -> bool {
        engine == Engine::Warm && self.baseline.is_warm()
    }

    /// What one run of tests proves.
    fn interpret(&self, finding: &Finding, expected: &[&str]) -> Verdict {
        let (outcome, reason, failed, missing) = self.decide(finding, expected);
        let mut output = finding.output.clone();
        for test in finding.report.tests.values() {
            if failed.contains(&test.id) && !test.message.is_empty() {
                output.push_str(&format!("\n--- {}\n{}\n", test.id, test.message));
            }
        }
        for fault in &finding.report.collect_errors {
            output.push_str(&format!("\n--- {}\n{}\n", fault.id, fault.message));
        }
        Verdict {
            outcome,
            reason,
            failed,
            missing,
            unasked: self.bench.lacks().to_vec(),
            executed: finding.report.tests.len(),
            again: false,
            seconds: finding.wall.as_secs_f64(),
            sandbox: finding.level.clone(),
            output,
            types: None,
        }
    }

    fn decide(
        &self,
        finding: &Finding,
        expected: &[&str],
    ) -> (Outcome, String, Vec<String>, Vec<Evidence>) {
        let limit = |outcome, what: &str| (outcome, what.to_owned(), Vec::new(), Vec::new());
        match finding.end {
            End::TimedOut | End::OutOfProcessor => {
                return limit(Outcome::Timeout, "the time limit ran out");
            }
            End::OutOfMemory => return limit(Outcome::Memory, "the memory limit was exceeded"),
            End::TooManyProcesses => {
                return limit(Outcome::Sandbox, "the limit on processes was exceeded");
            }
            End::TooMuchOutput => {
                return limit(Outcome::Sandbox, "the limit on output was exceeded");
            }
            End::Exited(_) | End::Signalled(_) => {}
        }
        let report = &finding.report;
        let failed: Vec<String> = report
            .tests
            .values()
            .filter(|test| test.outcome.is_failure())
            .map(|test| test.id.clone())
            .collect();
        let missing = self.missing(finding, expected);
        let reason = if let Some(first) = failed.first() {
            format!("{first} failed")
        } else if let Some(fault) = report.collect_errors.first() {
            format!("{} can't be loaded", fault.id)
        } else if let Some((_, what)) = missing.first() {
            what.clone()
        } else {
            let reason = "every test ran and passed".to_owned();
            return (Outcome::Passed, reason, failed, Vec::new());
        };
        let missing = missing.into_iter().map(|(evidence, _)| evidence).collect();
        (Outcome::Failed, reason, failed, missing)
    }

    /// All that a pass needs and that is not there, each with a sentence; more than one of it may
    /// have the same cause.
    fn missing(&self, finding: &Finding, expected: &[&str]) -> Vec<(Evidence, String)> {
        let report = &finding.report;
        let mut missing = Vec::new();
        let mut miss = |evidence, what: String| missing.push((evidence, what));
        if !report.ended {
            let what = "the run ended without a complete report";
            miss(Evidence::Report, what.to_owned());
        }
        if report.forged > 0 {
            let what = format!("{} lines of the report are forged", report.forged);
            miss(Evidence::Signature, what);
        }
        let unrun = |id: &&&str| !report.tests.contains_key(**id);
        if let Some(id) = expected.iter().find(unrun) {
            miss(Evidence::Executed, format!("{id} was not run"));
        }
        let known: BTreeSet<&str> = expected.iter().copied().collect();
        let strange = |id: &&String| !known.contains(id.as_str());
        if let Some(id) = report.tests.keys().find(strange) {
            let what = format!("{id} was run and is no test of the baseline");
            miss(Evidence::Executed, what);
        }
        let newly_skipped = |test: &&TestResult| {
            test.outcome == TestOutcome::Skipped
                && self.baseline.outcome(&test.id) != Some(TestOutcome::Skipped)
        };
        if let Some(test) = report.tests.values().find(newly_skipped) {
            miss(Evidence::Skips, format!("{} was skipped", test.id));
        }
        if let Some(message) = &report.stray_errors {
            let first = message.lines().next().unwrap_or_default();
            let what = format!("there were errors outside the tests: {first}");
            miss(Evidence::Quiet, what);
        }
        if let Some(fault) = &report.sentinel_fault {
            miss(Evidence::Sentinels, fault.clone());
        }
        let unknown = |mark: &&String| !self.baseline.leaves(mark);
        if let Some(what) = report.broken.iter().find(unknown) {
            let what = format!("{what}, which decides over tests, was replaced");
            miss(Evidence::Framework, what);
        }
        if let Some(mark) = report.marks.iter().find(unknown) {
            let what = format!(
                "the tests' process is not what it was, and with the original it is: {mark}"
            );
            miss(Evidence::Process, what);
        }
        if let Some(path) = finding.changed.iter().find(|path| self.forbids(path)) {
            let what = format!("{path} was made, changed or removed meanwhile");
            miss(Evidence::Files, what);
        }
        match finding.end {
            End::Exited(status) if status == self.bench.status() => {}
            End::Exited(status) => {
                let expected = self.bench.status();
                let what = format!("the test runner exited with status {status}, not {expected}");
                miss(Evidence::Status, what);
            }
            _ => miss(Evidence::Status, "the test runner was killed".to_owned()),
        }
        missing.retain(|(evidence, _)| !self.bench.lacks().contains(evidence));
        missing
    }

    /// Whether a pass is out of the question once this file is new or was written to.
    fn forbids(&self, path: &str) -> bool {
        let deciding = self.bench.guards(path) || decides(path) || path.starts_with(BESIDE);
        deciding && !self.baseline.changes(path)
    }

    /// The stable tests that run any of the lines in which two versions of a file differ; all of
    /// them where such a line runs at import, or nothing differs.
    fn covering(&self, path: &str, original: &str, contents: &str) -> BTreeSet<&str> {
        match changed_lines(original, contents) {
            Some(lines) => self.baseline.covering(path, lines),
            None => self.baseline.stable().into_iter().collect(),
        }
    }

    /// Limits from how the project's own tests ran: several times what these of them take, since
    /// other verdicts run beside this one. Time that runs out is given twice over before it counts,
    /// but where the manifest says how much it is: then once more, with nothing else going on.
    fn limits(&self, tests: &[&str]) -> Limits {
        let share = tests.len() as f64 / self.baseline.stable().len().max(1) as f64;
        let usual = self.baseline.slowest().mul_f64(share) + self.baseline.seconds(tests);
        let wall = match self.bench.timeout() {
            Some(timeout) => timeout + self.baseline.slowest(),
            None => Duration::from_secs(3) + usual.mul_f64(5.0),
        };
        Limits {
            wall,
            cpu: wall * 2,
            memory: self.most_memory(),
            ..Limits::default()
        }
    }

    /// Most memory of a run, in bytes.
    fn most_memory(&self) -> u64 {
        (self.baseline.peak_memory * 3).max(1 << 30)
    }

    fn breaks_syntax(&self, path: &str, original: &str, contents: &str) -> bool {
        Language::for_path(Path::new(path))
            .is_some_and(|language| language.parses(original) && !language.parses(contents))
    }
}

impl Verdict {
    /// A verdict with nothing but an outcome.
    pub fn bare(outcome: Outcome) -> Self {
        Self {
            outcome,
            reason: String::new(),
            failed: Vec::new(),
            missing: Vec::new(),
            unasked: Vec::new(),
            executed: 0,
            again: false,
            seconds: 0.0,
            sandbox: String::new(),
            output: String::new(),
            types: None,
        }
    }

    /// The verdict of the machinery's own failure.
    pub fn infrastructure(reason: &dyn std::fmt::Display) -> Self {
        Self {
            reason: reason.to_string(),
            ..Self::bare(Outcome::Infrastructure)
        }
    }

    /// Adds what a further round of tests proved; the last round decides.
    fn add(&mut self, round: Self) {
        let (executed, seconds) = (self.executed + round.executed, self.seconds + round.seconds);
        *self = Self {
            executed,
            seconds,
            ..round
        };
    }
}

/// Whether a new file of this name may change what tests do: code that they could load, and their
/// frameworks' settings.
fn decides(path: &str) -> bool {
    const CODE: [&str; 12] = [
        "py", "pyc", "pyi", "pth", "so", "ts", "tsx", "mts", "cts", "js", "mjs", "cjs",
    ];
    const SETTINGS: [&str; 7] = [
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "package.json",
        "tsconfig.json",
    ];
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| CODE.contains(&extension))
        || name.is_some_and(|name| SETTINGS.contains(&name))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one-based lines of `original` that `changed` touches, the lines next to a pure insertion
/// included; nothing where the two are equal.
fn changed_lines(original: &str, changed: &str) -> Option<std::ops::RangeInclusive<usize>> {
    if original == changed {
        return None;
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (original.lines().collect(), changed.lines().collect());
    let same_start = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let same_end = before[same_start.min(before.len())..]
        .iter()
        .rev()
        .zip(after[same_start.min(after.len())..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let first = same_start + 1;
    let last = before.len() - same_end;
    // An insertion between two lines changes what runs after either of them.
    Some(if last < first {
        first.saturating_sub(1).max(1)..=first
    } else {
        first..=last
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_found_from_both_ends() {
        let original = "a\nb\nc\nd\n";
        assert_eq!(changed_lines(original, original), None);
        assert_eq!(changed_lines(original, "a\nB\nc\nd\n"), Some(2..=2));
        assert_eq!(changed_lines(original, "a\nd\n"), Some(2..=3));
        assert_eq!(changed_lines(original, "a\nb\nx\nc\nd\n"), Some(2..=3));
        assert_eq!(changed_lines(original, "x\n"), Some(1..=4));
        assert_eq!(changed_lines("a\na\n", "a\na\na\n"), Some(2..=3));
    }
}
