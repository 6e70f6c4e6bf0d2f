//! Judges changes to one project.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_syntax::Language;
use parking_lot::Mutex;

use super::baseline::{Baseline, RUNS};
use super::baseline_runs::{
    BaselineStep, FIRST_RUNS, baseline_file, complete, load_or_begin, store,
};
use super::cache::VerdictCache;
use super::confirmation::Confirmation;
use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::flaky::FlakyTests;
use super::judged_code::{CodeOrigin, FileContents, JudgedCode};
use super::outcome::{Outcome, Proof, Verdict};
use super::runner::report::TestReport;
use super::runner::{ProjectRunner, TestRun, WarmWorkers};
use super::twin_check::TwinCheck;
use super::type_checker::TypeChecker;
use crate::corpus::Prepared;

/// Most bytes by which a completion may make a file longer. No developer accepts a completion of
/// that size, and compilers and transformers take minutes for some texts of ten times the size.
const LARGEST_GROWTH: usize = 16 << 10;

/// Judges changes to one project.
pub struct Judge {
    pub(super) executor: Arc<Executor>,
    confirmation: Confirmation,
    pub(super) engine: Engine,
    /// Verdicts by change, so that identical text runs once. The inner lock is held during a run,
    /// so that a second caller waits for it instead of running it again.
    verdicts: Mutex<HashMap<String, Arc<Mutex<Option<Verdict>>>>>,
    /// `None` disables reading and storing verdicts.
    cache: Option<VerdictCache>,
    /// Verdicts on own code that rely on tests with too few runs.
    unsettled: Mutex<UnsettledVerdicts>,
    pub(super) flaky: FlakyTests,
    /// Number of versions that got their verdict from a process that had others before or after.
    pub(super) judged_in_shared_process: AtomicUsize,
    twins: TwinCheck,
    /// `None` disables type checks.
    type_checker: Option<TypeChecker>,
}

/// Verdicts that hold if the tests that they rely on are not flaky.
#[derive(Default)]
struct UnsettledVerdicts {
    /// By their keys.
    verdicts: HashMap<String, Verdict>,
    /// The tests that they rely on.
    tests: BTreeSet<String>,
}

/// A verdict, and the tests that it relies on and that have had too few runs.
struct JudgedRun {
    verdict: Verdict,
    unsettled: BTreeSet<String>,
}

impl From<Verdict> for JudgedRun {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            unsettled: BTreeSet::new(),
        }
    }
}

/// Identifiers of the compiled forms of a file's versions: two versions that compile to the same
/// have the same identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledForms {
    /// The original's.
    pub original: String,
    /// The others', in their order; `None` for one that does not compile.
    pub others: Vec<Option<String>>,
}

impl Judge {
    /// A judge for a project. Runs the project's own tests first, or reads their results in the
    /// cache.
    ///
    /// # Errors
    /// The tests can't be run, or fail.
    pub fn new(
        prepared: &Prepared,
        cache: &Path,
        engine: Engine,
        jobs: usize,
        progress: impl Fn(BaselineStep) + Sync,
    ) -> Result<Self, VerdictError> {
        let ended = Arc::default();
        Self::after_first_runs(
            prepared,
            cache,
            engine,
            jobs,
            Duration::MAX,
            &ended,
            progress,
        )
    }

    /// As [`Judge::new`]. But if one run of all tests takes longer than `longest`, the judge can be
    /// used after two: the others are made meanwhile, and tests that decide are rerun for verdicts
    /// that come sooner. `tests_ended` is raised to the number of tests that have ended in a run,
    /// which is only good to be shown: code under test can say so too.
    ///
    /// # Errors
    /// As [`Judge::new`].
    pub fn after_first_runs(
        prepared: &Prepared,
        cache: &Path,
        engine: Engine,
        jobs: usize,
        longest: Duration,
        tests_ended: &Arc<AtomicUsize>,
        progress: impl Fn(BaselineStep) + Sync,
    ) -> Result<Self, VerdictError> {
        let mut runner = ProjectRunner::new(prepared, cache)?;
        runner.count_tests(tests_ended);
        let warm = WarmWorkers::default();
        let total = if longest == Duration::MAX {
            RUNS
        } else {
            FIRST_RUNS
        };
        let baseline = load_or_begin(&mut runner, cache, jobs, total, &progress)?;
        // Without coverage, every test decides over every change.
        let waits = baseline.slowest() <= longest || baseline.lacks_coverage;
        if !baseline.is_complete() && waits {
            let running = AtomicBool::new(false);
            complete(&runner, &warm, &baseline, jobs, &running, &progress)?;
            store(&baseline, &runner.key(), cache)?;
        }
        let mut judge = Self {
            twins: TwinCheck::new(cache, &runner.key()),
            executor: Arc::new(Executor::new(runner, warm, baseline)),
            confirmation: Confirmation::default(),
            engine,
            verdicts: Mutex::default(),
            cache: None,
            unsettled: Mutex::default(),
            flaky: FlakyTests::default(),
            judged_in_shared_process: AtomicUsize::default(),
            type_checker: None,
        };
        if !judge.baseline().is_complete() {
            judge.confirmation.start(&judge.executor, cache);
        }
        Ok(judge)
    }

    /// The same judge, whose verdicts on a project with TypeScript in its environment and a
    /// `tsconfig.json` include a type check.
    ///
    /// # Errors
    /// The checker's script can't be written into the cache.
    pub fn with_type_checker(mut self, cache: &Path) -> Result<Self, VerdictError> {
        self.type_checker = TypeChecker::new(&self.executor.runner, cache)?;
        Ok(self)
    }

    /// The same judge, which reads earlier verdicts in the cache and stores its own there. The
    /// naive engine caches nothing.
    #[must_use]
    pub fn with_cache(mut self, cache: &Path) -> Self {
        if self.engine != Engine::Naive {
            self.cache = Some(VerdictCache::new(cache, &self.key()));
        }
        self
    }

    /// Hash of everything that a verdict depends on except the change: source, environment and the
    /// way the tests are run.
    pub fn key(&self) -> String {
        self.executor.runner.key()
    }

    /// Returns the paths, relative to the cache, of the results of the project's own tests and of
    /// the twins of these; there are twins only of tests that decided.
    pub fn kept_results(&self) -> [PathBuf; 2] {
        let key = self.key();
        [baseline_file(&key), TwinCheck::folder(&key)]
    }

    /// Number of versions that got their verdict from a process that other versions shared, see
    /// [`Judge::judge_own_versions`].
    pub fn judged_in_shared_process(&self) -> usize {
        self.judged_in_shared_process.load(Ordering::Relaxed)
    }

    /// Shortcuts to verdicts that failed so far, with the reasons, a sentence each.
    pub fn slow_paths(&self) -> Vec<String> {
        let types = self.type_checker.as_ref().and_then(TypeChecker::fault);
        let types = types.map(|reason| format!("some changes' types are not checked: {reason}"));
        let mut all = self.executor.slow_paths();
        all.extend(types);
        let fault = self.confirmation.fault();
        all.extend(fault.map(|reason| {
            format!("every run of the tests starts from scratch, which takes longer: {reason}")
        }));
        all
    }

    /// The results of the project's own tests.
    pub fn baseline(&self) -> &Baseline {
        &self.executor.baseline
    }

    /// Judges the file of a hole with a completion in it. The tests that the hole names decide, or
    /// else all.
    ///
    /// # Errors
    /// The sandbox is unavailable, which says nothing about the contents. A name is not a test's.
    pub fn judge(&self, hole: &Hole, contents: &str) -> Result<Verdict, VerdictError> {
        let original = self.executor.runner.read(&hole.path)?;
        let code = JudgedCode::foreign(&hole.path, contents);
        let verdict = self.judge_code(code, &original, &hole.tests)?;
        Ok(self.unless_lost(hole, &original, verdict))
    }

    /// The verdict on a completion of a hole, unless only flaky tests run the hole. All completions
    /// of the hole leave the figures then, whatever they change: by the other tests, each that
    /// loads would pass.
    fn unless_lost(&self, hole: &Hole, original: &str, verdict: Verdict) -> Verdict {
        let baseline = &self.executor.baseline;
        let is_lost = hole.tests.is_empty()
            && verdict.outcome.is_counted()
            && baseline.only_flaky_cover(&hole.path, hole.lines(original));
        match is_lost {
            true => self.undecided(&hole.tests),
            false => verdict,
        }
    }

    /// As [`Judge::judge`], for contents that this program wrote, such as a mutant: as it forges
    /// nothing, no twins run, and its verdict holds for no completion of the same text. While the
    /// baseline is not complete, the verdict holds only if [`Judge::settle`] returns true later.
    ///
    /// # Errors
    /// As [`Judge::judge`].
    pub fn judge_own(
        &self,
        path: &str,
        contents: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let original = self.executor.runner.read(path)?;
        self.judge_code(JudgedCode::own(path, contents), &original, tests)
    }

    /// Reruns the tests on which verdicts on own code rely until they have had enough runs. Returns
    /// false if one of them proves flaky: these verdicts are then discarded.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub fn settle(&self) -> Result<bool, VerdictError> {
        let UnsettledVerdicts { verdicts, tests } = std::mem::take(&mut *self.unsettled.lock());
        let ids: Vec<&str> = tests.iter().map(String::as_str).collect();
        let stable = self.baseline().stable();
        let (executor, engine) = (&self.executor, self.engine);
        let is_flaky = self
            .confirmation
            .finds_flaky(executor, engine, &ids, &stable)?;
        for (key, verdict) in verdicts {
            if is_flaky {
                self.verdicts.lock().remove(&key);
            } else if let Some(cache) = &self.cache {
                cache.store(&key, &verdict);
            }
        }
        Ok(!is_flaky)
    }

    /// Returns true if a verdict is in memory or in the cache.
    pub(super) fn knows(&self, key: &str) -> bool {
        // The outer lock is released first, as a run may hold the inner one for minutes.
        let cell = self.verdicts.lock().get(key).map(Arc::clone);
        let in_memory = cell.is_some_and(|cell| cell.lock().is_some());
        in_memory
            || self
                .cache
                .as_ref()
                .is_some_and(|cache| cache.load(key).is_some())
    }

    /// Keeps a verdict in memory and in the cache.
    pub(super) fn keep(&self, key: &str, verdict: Verdict) {
        if let Some(cache) = &self.cache {
            cache.store(key, &verdict);
        }
        let cell = Arc::new(Mutex::new(Some(verdict)));
        self.verdicts.lock().insert(key.to_owned(), cell);
    }

    /// Returns true if its verdicts include a type check.
    pub(super) fn checks_types(&self) -> bool {
        self.type_checker.is_some()
    }

    fn judge_code(
        &self,
        code: JudgedCode<'_>,
        original: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let key = change_key((code.contents != original).then_some(code), tests);
        // The outer lock is held only meanwhile, so that other changes are judged at the same time.
        let cell = {
            let mut verdicts = self.verdicts.lock();
            Arc::clone(verdicts.entry(key.clone()).or_default())
        };
        let mut cell = cell.lock();
        if let Some(verdict) = &*cell {
            return Ok(verdict.clone());
        }
        let cached = self.cache.as_ref().and_then(|cache| cache.load(&key));
        let JudgedRun {
            mut verdict,
            unsettled,
        } = match &cached {
            Some(verdict) => verdict.clone().into(),
            None => self.run(self.engine, code, original, tests)?,
        };
        // A judge without a type checker may have stored the verdict.
        if let (Some(type_checker), None) = (&self.type_checker, &verdict.types) {
            verdict.types = type_checker.check(code.path, code.contents)?;
        }
        if !unsettled.is_empty() {
            let mut all = self.unsettled.lock();
            all.verdicts.insert(key.clone(), verdict.clone());
            all.tests.extend(unsettled);
        } else if let Some(cache) = &self.cache
            && cached.as_ref() != Some(&verdict)
        {
            cache.store(&key, &verdict);
        }
        // A judge with a type checker may have stored the verdict.
        if self.type_checker.is_none() {
            verdict.types = None;
        }
        *cell = Some(verdict.clone());
        Ok(verdict)
    }

    /// Compiles several versions of a file; `None` if the language has no compiled form to
    /// compare.
    ///
    /// # Errors
    /// The sandbox is unavailable, the compiler fails, or the original does not compile.
    pub fn compiled_forms(
        &self,
        path: &str,
        original: &str,
        versions: &[String],
    ) -> Result<Option<CompiledForms>, VerdictError> {
        let mut all = vec![original];
        all.extend(versions.iter().map(String::as_str));
        let runner = &self.executor.runner;
        let Some(compiled) = runner.compile_versions(&all)? else {
            return Ok(None);
        };
        let mut compiled = compiled.into_iter();
        match compiled.next() {
            Some(Some(original)) => Ok(Some(CompiledForms {
                original,
                others: compiled.collect(),
            })),
            _ => Err(VerdictError::NotRunnable {
                project: runner.prepared().project.name.clone(),
                reason: format!("{path} does not compile"),
            }),
        }
    }

    /// Judges with another engine and without any cache.
    ///
    /// # Errors
    /// As [`Judge::judge`].
    pub fn judge_with(
        &self,
        engine: Engine,
        hole: &Hole,
        contents: &str,
    ) -> Result<Verdict, VerdictError> {
        let original = self.executor.runner.read(&hole.path)?;
        let code = JudgedCode::foreign(&hole.path, contents);
        let verdict = self.run(engine, code, &original, &hole.tests)?.verdict;
        Ok(self.unless_lost(hole, &original, verdict))
    }

    /// As [`Judge::judge_own`] with another engine and without any cache.
    ///
    /// # Errors
    /// As [`Judge::judge`].
    pub fn judge_own_with(
        &self,
        engine: Engine,
        path: &str,
        contents: &str,
        tests: &[String],
    ) -> Result<Verdict, VerdictError> {
        let original = self.executor.runner.read(path)?;
        let code = JudgedCode::own(path, contents);
        Ok(self.run(engine, code, &original, tests)?.verdict)
    }

    /// Judges code until no test that decides proves flaky: each time, one more is quarantined.
    fn run(
        &self,
        engine: Engine,
        code: JudgedCode<'_>,
        original: &str,
        tests: &[String],
    ) -> Result<JudgedRun, VerdictError> {
        loop {
            if let Some(judged) = self.run_once(engine, code, original, tests)? {
                return Ok(judged);
            }
        }
    }

    /// The verdict on code; `None` if a test that decides proved flaky meanwhile. Own code relies
    /// on tests that have had too few runs.
    fn run_once<'s>(
        &'s self,
        engine: Engine,
        code: JudgedCode<'_>,
        original: &str,
        tests: &'s [String],
    ) -> Result<Option<JudgedRun>, VerdictError> {
        let JudgedCode {
            path,
            contents,
            origin,
        } = code;
        let growth = contents.len().saturating_sub(original.len());
        if growth > LARGEST_GROWTH {
            let verdict = Verdict {
                reason: format!(
                    "the file grows by {growth} bytes, and at most {LARGEST_GROWTH} are judged"
                ),
                ..Verdict::from_outcome(Outcome::Failed)
            };
            return Ok(Some(verdict.into()));
        }
        let executor = &self.executor;
        let expected = self.expected_tests(tests)?;
        let is_changed = contents != original;
        let covering = executor.covering(path, original, contents);
        // All of them, or all that run the change, may have proved flaky since the first runs. By
        // the others, every change would pass. Code of others does not choose which lines count:
        // see `unless_lost`.
        let is_lost = origin == CodeOrigin::Own
            && tests.is_empty()
            && covering.is_empty()
            && executor.only_flaky_cover(path, original, contents);
        if expected.is_empty() || is_lost {
            return Ok(Some(self.undecided(tests).into()));
        }
        let mut deciding = expected.clone();
        deciding.retain(|id| covering.contains(id));
        // Tests that run a line of the file need it to compile.
        if is_changed
            && !deciding.is_empty()
            && let Some(refused) = executor.refusal(engine, path, contents)?
        {
            return Ok(Some(executor.interpret(&refused, &deciding).into()));
        }
        let batches = match engine {
            Engine::Naive => vec![expected.clone()],
            _ if !is_changed => vec![expected.clone()],
            engine => executor.batches(engine, &expected, &covering),
        };
        let mut verdict = Verdict::from_outcome(Outcome::Passed);
        let waits = origin == CodeOrigin::Own && is_changed;
        let mut unsettled: BTreeSet<&str> = BTreeSet::new();
        // Returns true if a test that the verdict relies on proves flaky.
        let mut rely_on = |relied: &[&'s str], batch: &[&str]| -> Result<bool, VerdictError> {
            if waits {
                unsettled.extend(executor.baseline.unsettled(relied));
                return Ok(false);
            }
            self.confirmation
                .finds_flaky(executor, engine, relied, batch)
        };
        let mut last: &[&str] = &[];
        for batch in &batches {
            last = batch;
            let changed = [code.file()];
            let run = TestRun {
                first_failure_ends: true,
                // Selecting everything that is stable leaves quarantined tests out.
                ..TestRun::new(&changed, batch, executor.limits(batch))
            };
            let mut result = executor.execute(engine, &run)?;
            if !executor.runner.can_select() {
                // Tests that take no part ran too, as the runner can't leave them out.
                let baseline = &executor.baseline;
                let tests = &mut result.report.tests;
                tests.retain(|id, _| !baseline.leaves_out(id));
            }
            let of_batch = executor.interpret(&result, batch);
            let relied = relied_on(&of_batch, &result.report, batch, &covering);
            if rely_on(&relied, batch)? {
                return Ok(None);
            }
            // Without a change, this is one more run of the baseline's own tests.
            if !is_changed && of_batch.outcome == Outcome::Passed {
                executor.baseline.add_run(batch, &result.report);
            }
            verdict.add_batch(of_batch);
            // Without a compiler, a syntax error shows only as a failure of the tests that load the
            // file.
            if verdict.outcome == Outcome::Failed && breaks_syntax(path, original, contents) {
                verdict.outcome = Outcome::Syntax;
            }
            if self.flaky.is_doubtful(&verdict, &covering, is_changed) {
                self.flaky.rerun(executor, engine, batch, &mut verdict)?;
            }
            if verdict.outcome != Outcome::Passed {
                break;
            }
        }
        if matches!(verdict.outcome, Outcome::Timeout | Outcome::Memory)
            && let Some(first) = executor.first_of_other_engines(engine, &expected, &covering)
            && let Some(failure) = self.failure_in(engine, code.file(), &first, &covering)?
        {
            verdict = failure;
        }
        if is_changed
            && verdict.outcome == Outcome::Timeout
            && self.times_out_unchanged(engine, last)?
        {
            // A limit of time says only that the machine is slow, unless it is not without the
            // change.
            let reason = "without the change, too, the time limit ran out";
            return Ok(Some(Verdict::infrastructure(&reason).into()));
        }
        if is_changed && verdict.outcome == Outcome::Passed && rely_on(&deciding, &expected)? {
            return Ok(None);
        }
        let may_forge = origin == CodeOrigin::Foreign && is_changed;
        if may_forge && (verdict.outcome == Outcome::Passed || verdict.may_be_forged()) {
            let deciding = executor.most_specific_first(deciding);
            self.twins
                .check(executor, engine, code, &deciding, &mut verdict)?;
        } else if !is_changed && verdict.outcome == Outcome::Passed {
            // The reference itself has nothing to prove, whoever wrote it: the cached verdict of
            // mining is the one on a model's exact match.
            verdict.proof = Some(Proof::Altered);
        }
        Ok(Some(JudgedRun {
            verdict,
            unsettled: unsettled.into_iter().map(str::to_owned).collect(),
        }))
    }

    /// The verdict on changed code that fails one of these tests within their limits.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    fn failure_in(
        &self,
        engine: Engine,
        changed: FileContents<'_>,
        tests: &[&str],
        covering: &BTreeSet<&str>,
    ) -> Result<Option<Verdict>, VerdictError> {
        let changed = [changed];
        let run = TestRun {
            first_failure_ends: true,
            ..TestRun::new(&changed, tests, self.executor.limits(tests))
        };
        let result = self.executor.execute_once(engine, &run)?;
        let verdict = self.executor.interpret(&result, tests);
        let has_failed = verdict.outcome == Outcome::Failed && !verdict.failed.is_empty();
        let is_clear = has_failed && !self.flaky.is_doubtful(&verdict, covering, true);
        Ok(is_clear.then_some(verdict))
    }

    /// Returns true if tests exceed their time limit without a change.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    fn times_out_unchanged(&self, engine: Engine, tests: &[&str]) -> Result<bool, VerdictError> {
        let run = TestRun::new(&[], tests, self.executor.limits(tests));
        let result = self.executor.execute(engine, &run)?;
        let verdict = self.executor.interpret(&result, tests);
        Ok(verdict.outcome == Outcome::Timeout)
    }

    /// Returns the tests that decide over a hole: those that its benchmark names, or else the
    /// stable ones that run any of its lines.
    ///
    /// # Errors
    /// The project has no test that the hole names.
    pub fn deciding_tests(&self, hole: &Hole, contents: &str) -> Result<Vec<String>, VerdictError> {
        let tests = match self.resolve_tests(&hole.tests)? {
            Some(named) => named,
            None => {
                let baseline = &self.executor.baseline;
                let covering = baseline.covering(&hole.path, hole.lines(contents));
                covering.into_iter().collect()
            }
        };
        Ok(tests.into_iter().map(str::to_owned).collect())
    }

    /// The stable tests of these names; `None` if there are no names.
    ///
    /// # Errors
    /// A name is not a test's.
    pub(super) fn resolve_tests(
        &self,
        names: &[String],
    ) -> Result<Option<Vec<&str>>, VerdictError> {
        if names.is_empty() {
            return Ok(None);
        }
        let baseline = &self.executor.baseline;
        let (stable, quarantined) = (baseline.stable(), baseline.quarantined());
        let set_aside = baseline.set_aside();
        let unknown = names.iter().find(|name| {
            let mut all = stable.iter().chain(&quarantined);
            !all.any(|id| names_test(name, id))
                && !set_aside.iter().any(|(id, _)| names_test(name, id))
        });
        if let Some(name) = unknown {
            return Err(VerdictError::NotRunnable {
                project: self.executor.runner.prepared().project.name.clone(),
                reason: format!("it has no test `{name}`, which is to decide over a hole"),
            });
        }
        let is_named = |id: &&str| names.iter().any(|name| names_test(name, id));
        Ok(Some(stable.into_iter().filter(is_named).collect()))
    }

    /// The stable tests of these names, or all stable ones if there are no names.
    ///
    /// # Errors
    /// A name is not a test's.
    pub(super) fn expected_tests(&self, names: &[String]) -> Result<Vec<&str>, VerdictError> {
        let named = self.resolve_tests(names)?;
        Ok(named.unwrap_or_else(|| self.executor.baseline.stable()))
    }

    /// The verdict where none of the tests of these names decides.
    fn undecided(&self, names: &[String]) -> Verdict {
        Verdict {
            reason: self.why_undecided(names),
            ..Verdict::from_outcome(Outcome::Flaky)
        }
    }

    /// Reason why none of the tests of these names decides.
    fn why_undecided(&self, names: &[String]) -> String {
        let failing = self.executor.baseline.set_aside();
        let is_named = |(id, _): &&(String, String)| names.iter().any(|name| names_test(name, id));
        match failing.iter().find(is_named) {
            Some((id, reason)) => format!("without a change too, {id} fails: {reason}"),
            None => "its tests don't agree with themselves".to_owned(),
        }
    }
}

/// The tests of a batch on which its verdict relies; none for a pass, which later batches may
/// change, and for code that can't be loaded.
fn relied_on<'a>(
    verdict: &Verdict,
    report: &TestReport,
    batch: &[&'a str],
    covering: &BTreeSet<&str>,
) -> Vec<&'a str> {
    let relies = |id: &str| match verdict.outcome {
        Outcome::Passed => false,
        _ if !verdict.failed.is_empty() => verdict.failed.iter().any(|failed| failed == id),
        _ => report.collect_errors.is_empty() && covering.contains(id),
    };
    batch.iter().copied().filter(|id| relies(id)).collect()
}

/// Returns true if a name is that of a test, or of the file, class, function or suite that
/// contains it.
fn names_test(name: &str, id: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| {
        // What follows a name: `::` a name inside it, `[` parameters, ` > ` a test of the suite.
        rest.is_empty() || ["::", "[", " > "].iter().any(|next| rest.starts_with(next))
    })
}

/// The cache key of a change judged by these tests. Without a change and named tests it is empty:
/// every unchanged file gives the same run.
pub(super) fn change_key(change: Option<JudgedCode<'_>>, tests: &[String]) -> String {
    if change.is_none() && tests.is_empty() {
        return String::new();
    }
    let parts = change.map(|code| (code.path, code.contents));
    let mut json = serde_json::json!({"change": parts, "tests": tests});
    // Twins have checked nothing of it: no completion may be given its verdict.
    if change.is_some_and(|code| code.origin == CodeOrigin::Own) {
        json["own"] = true.into();
    }
    sha256_hex(json.to_string().as_bytes())
}

pub(super) fn breaks_syntax(path: &str, original: &str, contents: &str) -> bool {
    Language::for_path(Path::new(path))
        .is_some_and(|language| language.parses(original) && !language.parses(contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_test_or_of_what_holds_it() {
        for (name, id) in [
            ("tests/a.py", "tests/a.py::T::test_b[1]"),
            ("tests/a.py::T::test_b", "tests/a.py::T::test_b[1]"),
            ("tests/a.mjs", "tests/a.mjs > adds > two"),
            ("tests/a.mjs > adds", "tests/a.mjs > adds"),
        ] {
            assert!(names_test(name, id), "{name}");
        }
        assert!(!names_test("tests/a.mjs > add", "tests/a.mjs > adds"));
        assert!(!names_test("tests/a", "tests/a.py::test_b"));
    }

    #[test]
    fn change_keys_are_stable_and_distinct() {
        let tests = ["a".to_owned(), "b".to_owned()];
        let code = |path, contents| Some(JudgedCode::foreign(path, contents));
        let own = |path, contents| Some(JudgedCode::own(path, contents));
        assert_eq!(change_key(None, &[]), "");
        insta::assert_snapshot!(
            change_key(code("m.py", "x = 1\n"), &tests),
            @"898ac6e7ddce4ed50839cec011edd5a122655a40e6be9bcfc097eb878bd171d4"
        );
        let keys = [
            change_key(code("m.py", "x"), &[]),
            change_key(code("m.py", "x"), &tests),
            change_key(code("m.py", "x"), &tests[..1]),
            change_key(None, &tests),
            change_key(code("m.p", "yx"), &[]),
            change_key(own("m.py", "x"), &[]),
            change_key(own("m.py", "x"), &tests),
        ];
        let unique: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(unique.len(), keys.len());
    }
}
