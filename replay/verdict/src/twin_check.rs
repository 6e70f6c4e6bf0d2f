//! Runs twins of the tests that decide, and judges code that passes one as forged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fillrate_language::task::{WholeFile, sha256_hex};
use fillrate_language::twins::{
    self, ANY_TITLE, EvaluatedAssertion, ExpectationFile, LeftOutAnswer, NeutralName, RowNames,
    SourceEdit, TestEdit, TestFunction, Way, has_word,
};
use fillrate_syntax::Language;
use parking_lot::Mutex;
use rand::seq::{IteratorRandom, SliceRandom};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::baseline::{key_line, names_exception};
use super::engine::Engine;
use super::error::VerdictError;
use super::evidence::exceeded_limit;
use super::executor::Executor;
use super::judged_code::{FileContents, JudgedCode};
use super::outcome::{Evidence, Outcome, Proof, Verdict};
use super::runner::report::TestReport;
use super::runner::{TestRun, TestRunResult};

/// The most tests that a verdict runs as twins.
const MOST_TWINS: usize = 24;

/// The most files of tests that a verdict takes twins from. Each is started once more.
const MOST_FILES: usize = 6;
/// The fewest and the most runs of up to four drawn tests among twins.
const FEWEST_RUNS: usize = 5;
const MOST_RUNS: usize = 7;

/// Number of drawings in which code must end as the reference does once it has ended otherwise.
const DRAWINGS_AFTER_DOUBT: usize = 2;

/// Number of altered expectations of each test that are tried on the reference.
const ALTERED_TRIED: usize = 8;

/// Number of complements that are tried, until the reference fails one.
const COMPLEMENTS_TRIED: usize = 2;

/// The most edits outside of tests, such as of constants, that are tried for a file.
const SHARED_TRIED: usize = 32;

/// The most edits outside of tests that are tried for one test.
const SHARED_OF_TEST: usize = 5;

/// The most files in which expectations of a file of tests are looked for, and their size in bytes.
const MOST_OTHER_FILES: usize = 8;
const LARGEST_OTHER_FILE: usize = 100_000;

/// Endings of the names of files of data in which expectations are looked for.
const DATA_ENDINGS: [&str; 14] = [
    ".json",
    ".txt",
    ".golden",
    ".out",
    ".expected",
    ".csv",
    ".tsv",
    ".md",
    ".html",
    ".xml",
    ".yaml",
    ".yml",
    ".toml",
    ".jsonl",
];

/// The version of the rules for making twins; those of other versions are not loaded.
const VERSION: u32 = 42;

/// Makes twins of a project's tests, each once, and runs them together with their tests.
pub(super) struct TwinCheck {
    /// By file of tests; the inner lock is held while its twins are tried on the reference.
    files: Mutex<HashMap<String, Arc<TwinCell>>>,
    /// The folder of twins that were tried.
    folder: PathBuf,
    /// The seed from which edits are drawn, once it is needed. It is one for all files, so that an
    /// answer that several files repeat can be altered alike in all.
    seed: OnceLock<u64>,
}

/// The twins of a file's tests, once they are made.
type TwinCell = Mutex<Option<Arc<Vec<TwinnedTest>>>>;

/// A test function, and the twins of it that the reference fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TwinnedTest {
    /// The ids of its tests: more than one if it has parameters.
    ids: Vec<String>,
    /// The id under which each of its tests runs among twins, which reveals nothing.
    inside: Vec<String>,
    /// The edits of its file that give it these ids.
    rename: Vec<SourceEdit>,
    /// True if each id among twins belongs to the own one at its place.
    is_ordered: bool,
    /// The file in which it is written, if its own file inherits it from there.
    home: Option<String>,
    /// The files in which values are compared by their contents in runs among twins; none if the
    /// reference fails then.
    plain: Vec<String>,
    /// Its assertions that a twin of another one leaves out.
    evaluated: Vec<EvaluatedAssertion>,
    /// The twins.
    twins: Vec<Twin>,
}

impl TwinnedTest {
    /// The test's own id for one among twins; of rows that are numbered, that of the function.
    fn own_id(&self, inside: &str) -> Option<String> {
        let at = self.inside.iter().position(|id| id == inside)?;
        let id = self.ids.get(at)?;
        if self.is_ordered {
            return Some(id.clone());
        }
        let function = id
            .split_once('[')
            .map_or(id.as_str(), |(function, _)| function);
        Some(format!("a row of {function}"))
    }

    /// The assertions beside the one that a twin alters, which are left out: code that reads the
    /// altered answer would fail those whose answers depend on it, as code does that computes.
    fn beside(&self, twin: &Twin) -> Vec<&EvaluatedAssertion> {
        let is_altered = |other: &&EvaluatedAssertion| other.assertion == twin.assertion;
        let own = self.evaluated.iter().find(is_altered);
        let is_apart = |other: &&EvaluatedAssertion| {
            let range = &other.edit.range;
            let overlaps =
                |own: &EvaluatedAssertion| range.start < own.span.end && own.span.start < range.end;
            !own.is_some_and(overlaps)
        };
        let others = self.evaluated.iter().filter(|_| twin.is_own);
        let others = others.filter(|other| !is_altered(other));
        others.filter(is_apart).collect()
    }

    /// The edits of its file in a run among twins. A test that is not altered has assertions left
    /// out as if a twin were in its place, so that this does not tell them apart.
    fn edits_of_run(&self, twin: Option<&Twin>) -> Vec<SourceEdit> {
        let mut rng = rand::rng();
        let altered = self.twins.iter().filter(|twin| twin.way.is_some());
        let twin = twin.or_else(|| altered.choose(&mut rng));
        let twin = twin.or_else(|| self.twins.iter().choose(&mut rng));
        let mut edits = self.rename.clone();
        for other in twin.into_iter().flat_map(|twin| self.beside(twin)) {
            edits.push(other.edit.clone());
            edits.extend(other.answers.iter().map(|answer| answer.drawn(&mut rng)));
        }
        edits
    }

    /// The ids among twins of the tests for which a twin counts: those that the reference fails. A
    /// drawn part of a table counts for all rows with answers, since code can't know which it is.
    fn stood_for(&self, twin: &Twin) -> Vec<&String> {
        let fails = |twin: &Twin, id: &String| twin.way.is_some() && twin.failing.contains(id);
        let own = self.inside.iter().filter(|id| fails(twin, id)).count();
        let has_answer = |id: &String| {
            twin.rows >= self.inside.len() || self.twins.iter().any(|twin| fails(twin, id))
        };
        let counts = |id: &&String| fails(twin, id) || own > 0 && twin.rows > 0 && has_answer(id);
        self.inside.iter().filter(counts).collect()
    }

    /// The tests whose answer was altered if these ids among twins failed: all or none if it is
    /// unknown which one a row is.
    fn altered_ids(&self, failing: &BTreeSet<&String>) -> Vec<&str> {
        let ids = || self.ids.iter().map(String::as_str);
        let fails: Vec<bool> = self.inside.iter().map(|id| failing.contains(id)).collect();
        match self.is_ordered {
            true => ids()
                .zip(fails)
                .filter(|(_, fails)| *fails)
                .map(|(id, _)| id)
                .collect(),
            false if fails.iter().all(|fails| *fails) => ids().collect(),
            false => Vec::new(),
        }
    }
}

/// An edit of a test, and the tests that the reference fails under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Twin {
    /// The file that is edited.
    path: String,
    edit: SourceEdit,
    /// True if the edit is within the test.
    is_own: bool,
    /// The text that the edit replaces.
    before: String,
    /// The index of the assertion in its test.
    assertion: usize,
    /// The way in which an expectation is altered; `None` if an assertion is inverted.
    way: Option<Way>,
    /// Number of rows with answers, of which it alters a drawn part; 0 if it alters all it can.
    rows: usize,
    /// The ids among twins of the tests that the reference fails: at least one.
    failing: BTreeSet<String>,
}

/// The fewest bytes of an answer that several tests may have altered at once. Tests have shorter
/// ones in common by chance, and code that sees one altered could conclude that others are.
const LEAST_SHARED: usize = 2;

impl Twin {
    /// The assertion, and the file and the range of the answer, that it alters.
    fn place(&self) -> (usize, &str, &Range<usize>) {
        (self.assertion, &self.path, &self.edit.range)
    }

    /// True if both alter the same answer to the same other one.
    fn agrees(&self, other: &Self) -> bool {
        let is_altered = self.way.is_some() && self.before.len() >= LEAST_SHARED;
        is_altered
            && self.before == other.before
            && self.edit.replacement() == other.edit.replacement()
    }
}

/// A test that was drawn for a verdict.
struct DrawnTest {
    file: String,
    test: TwinnedTest,
    /// The twin in each run; `None` for the test as it is.
    roles: Vec<Option<Twin>>,
}

/// A difference between a run among twins and one of the reference as it should end.
enum Difference {
    /// A limit was exceeded.
    Limit(Outcome, &'static str),
    /// A twin passed: its id.
    Passed(String),
    /// A test that is not a twin did not pass: its id.
    OtherFailure(String),
    /// Every test ended as with the reference, and other evidence is missing: why.
    Unproved(String),
}

impl TwinCheck {
    /// Twins of the tests of the judge with this key.
    pub(super) fn new(cache: &Path, key: &str) -> Self {
        Self {
            files: Mutex::default(),
            folder: cache.join(Self::folder(key)),
            seed: OnceLock::new(),
        }
    }

    /// The folder of the twins of the tests of the judge with this key, relative to the cache.
    pub(super) fn folder(key: &str) -> PathBuf {
        let name = sha256_hex(format!("{VERSION}\0{key}").as_bytes());
        Path::new("twins").join(&name[..16])
    }

    /// Runs twins of `deciding` tests, none of which failed, and changes the verdict if the code
    /// does not end as the reference does. The runs in which a twin replaces a drawn test, and the
    /// twin, are drawn for each verdict, so that twins run among tests.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(super) fn check(
        &self,
        executor: &Executor,
        engine: Engine,
        code: JudgedCode<'_>,
        deciding: &[&str],
        verdict: &mut Verdict,
    ) -> Result<(), VerdictError> {
        // One that is not passed anyway needs no second look.
        let mut may_doubt = verdict.outcome == Outcome::Passed;
        let (mut drawings, mut may_be_slow) = (1, true);
        while drawings > 0 {
            drawings -= 1;
            let mut drawn = self.draw(executor, engine, deciding)?;
            if drawn.is_empty() {
                note_unavailable(verdict, deciding);
                return Ok(());
            }
            drawn.shuffle(&mut rand::rng());
            let (mut ended, mut last) = (Vec::new(), Ending::AsReference);
            for index in 0..drawn[0].roles.len() {
                last = self.run_among_twins(executor, engine, code, &drawn, index, verdict)?;
                match last {
                    Ending::AsReference => ended.push(index),
                    Ending::Unclear => {}
                    Ending::Limited(_) | Ending::Differs(..) => break,
                }
            }
            match last {
                // A flaky test may fail once. Code that guesses in which runs an answer is altered
                // has no second chance with the same roles: it must guess right again, and twice.
                Ending::Differs(outcome, _) if may_doubt && outcome != Outcome::Forged => {
                    may_doubt = false;
                    drawings = DRAWINGS_AFTER_DOUBT;
                }
                Ending::Limited(_) if may_be_slow => {
                    may_be_slow = false;
                    drawings = drawings.max(1);
                }
                Ending::Differs(outcome, reason) => {
                    verdict.missing.push(Evidence::Twins);
                    // One that is not passed for other reasons stays failed unless it is forged.
                    if outcome == Outcome::Forged || verdict.outcome == Outcome::Passed {
                        verdict.outcome = outcome;
                        verdict.reason = reason;
                    }
                    return Ok(());
                }
                Ending::Limited(reason) => {
                    if verdict.outcome == Outcome::Passed {
                        verdict.outcome = Outcome::Infrastructure;
                        verdict.reason =
                            format!("among changed tests and without the change, too, {reason}");
                    }
                    return Ok(());
                }
                Ending::AsReference | Ending::Unclear if drawings > 0 => {}
                Ending::AsReference | Ending::Unclear => {
                    note_proof(verdict, deciding, &drawn, &ended);
                }
            }
        }
        Ok(())
    }

    /// Runs the drawn tests in their roles in one run, given by its index.
    fn run_among_twins(
        &self,
        executor: &Executor,
        engine: Engine,
        code: JudgedCode<'_>,
        drawn: &[DrawnTest],
        index: usize,
        verdict: &mut Verdict,
    ) -> Result<Ending, VerdictError> {
        let own: Vec<Vec<SourceEdit>> = drawn
            .iter()
            .map(|drawn| drawn.test.edits_of_run(drawn.roles[index].as_ref()))
            .collect();
        let edits = drawn.iter().zip(&own).map(|(drawn, own)| {
            let twin = drawn.roles[index].as_ref();
            let twin = twin.map(|twin| (twin.path.as_str(), &twin.edit));
            (drawn.file.as_str(), own.as_slice(), twin)
        });
        let mut files = edited_files(executor, edits)?;
        // A file replaced in only some runs would reveal the runs with altered expectations.
        let all = drawn.iter().flat_map(|drawn| &drawn.test.twins);
        let paths: BTreeSet<&str> = all.map(|twin| twin.path.as_str()).collect();
        for path in paths {
            if !files.iter().any(|(edited, _)| edited == path) {
                files.push((path.to_owned(), edited_file(executor, path, &[])?));
            }
        }
        let plain = drawn.iter().flat_map(|drawn| &drawn.test.plain);
        compare_plainly(executor, plain, &mut files)?;
        let mut inside: Vec<&str> = drawn
            .iter()
            .flat_map(|drawn| drawn.test.inside.iter().map(String::as_str))
            .collect();
        inside.shuffle(&mut rand::rng());
        let ids: Vec<&str> = drawn
            .iter()
            .flat_map(|drawn| drawn.test.ids.iter().map(String::as_str))
            .collect();
        let mut run = |code: Option<JudgedCode<'_>>| -> Result<_, VerdictError> {
            let mut replaced = changed_files(&files);
            replaced.extend(code.map(JudgedCode::file));
            let run = TestRun::new(&replaced, &inside, executor.limits(&ids));
            let result = executor.execute(engine, &run)?;
            verdict.seconds += result.wall.as_secs_f64();
            verdict.twin_seconds += result.wall.as_secs_f64();
            let missing = || executor.missing_beside_twins(&result);
            Ok(difference(&result, drawn, index, &inside, missing))
        };
        let Some(found) = run(Some(code))? else {
            return Ok(Ending::AsReference);
        };
        let of_reference = run(None)?;
        let outside = |id: &str| {
            let own = drawn.iter().find_map(|drawn| drawn.test.own_id(id));
            own.unwrap_or_else(|| id.to_owned())
        };
        let is_passed = verdict.outcome == Outcome::Passed;
        Ok(ending(found, of_reference, is_passed, outside))
    }

    /// Draws tests with twins from those that decide, those first that are named first.
    fn draw(
        &self,
        executor: &Executor,
        engine: Engine,
        deciding: &[&str],
    ) -> Result<Vec<DrawnTest>, VerdictError> {
        let mut found: Vec<(String, TwinnedTest)> = Vec::new();
        let deciding_set: BTreeSet<&str> = deciding.iter().copied().collect();
        // Which of many files is looked at, apart from the most specific ones, is drawn.
        let mut paths = executor.runner.test_files(deciding);
        if paths.len() > MOST_FILES {
            paths[MOST_FILES / 2..].shuffle(&mut rand::rng());
        }
        for path in paths.into_iter().take(MOST_FILES) {
            let tests = self.twins_of(executor, engine, &path)?;
            let decides =
                |test: &&TwinnedTest| test.ids.iter().any(|id| deciding_set.contains(id.as_str()));
            let deciding = tests.iter().filter(decides);
            found.extend(deciding.map(|test| (path.clone(), test.clone())));
        }
        retain_one_heir(&mut found);
        // A test that can only be answered by being right counts more than one that says the
        // opposite. Which of many run is drawn, apart from the most specific ones.
        found.sort_by_key(|(_, test)| !test.has_altered());
        let altered = found.iter().filter(|(_, test)| test.has_altered()).count();
        if altered > MOST_TWINS {
            found[MOST_TWINS / 2..altered].shuffle(&mut rand::rng());
        }
        found.truncate(MOST_TWINS);
        let runs = match runs(found.iter().map(|(_, test)| test)) {
            0 => return Ok(Vec::new()),
            runs => runs,
        };
        let mut drawn: Vec<DrawnTest> = Vec::new();
        for (file, test) in found {
            let roles = test.draw_roles(runs, &drawn);
            drawn.push(DrawnTest { file, test, roles });
        }
        spare_each(&mut drawn);
        Ok(drawn)
    }

    /// The seed from which edits are drawn, which is kept with the twins.
    fn seed(&self) -> u64 {
        *self.seed.get_or_init(|| {
            let file = self.folder.join("seed");
            loaded(&file).unwrap_or_else(|| stored(&file, rand::random()))
        })
    }

    /// The twins of a file's tests, which are tried on the reference the first time.
    fn twins_of(
        &self,
        executor: &Executor,
        engine: Engine,
        path: &str,
    ) -> Result<Arc<Vec<TwinnedTest>>, VerdictError> {
        let cell = {
            let mut files = self.files.lock();
            Arc::clone(files.entry(path.to_owned()).or_default())
        };
        let mut cell = cell.lock();
        if let Some(tests) = &*cell {
            return Ok(Arc::clone(tests));
        }
        let file = self.folder.join(&sha256_hex(path.as_bytes())[..32]);
        let tests = match loaded(&file) {
            Some(tests) => tests,
            None => stored(&file, make_twins(executor, engine, path, self.seed())?),
        };
        let tests = Arc::new(tests);
        *cell = Some(Arc::clone(&tests));
        Ok(tests)
    }
}

/// The value in a file of the cache.
fn loaded<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let bytes = std::fs::read(file).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns a value after it was written to a file of the cache.
fn stored<T: Serialize>(file: &Path, value: T) -> T {
    if let Err(error) = WholeFile::write_json(file, &value) {
        tracing::warn!("twins are not cached: {error}");
    }
    value
}

/// The result of a run among twins.
enum Ending {
    /// As the reference's.
    AsReference,
    /// The reference does not end as it did when the twins were made.
    Unclear,
    /// The reference exceeds a limit too: the machine is too slow. The limit, in a sentence.
    Limited(&'static str),
    /// The code does not end as the reference does.
    Differs(Outcome, String),
}

/// The result of a run in which the code differs, and maybe the reference. `outside` gives the id of
/// a test for one among twins.
fn ending(
    found: Difference,
    of_reference: Option<Difference>,
    is_passed: bool,
    outside: impl Fn(&str) -> String,
) -> Ending {
    match of_reference {
        None => {}
        // This says nothing of the code.
        Some(Difference::Limit(_, reason)) => return Ending::Limited(reason),
        // Tests that depend on each other may have other outcomes among twins with any code.
        Some(
            Difference::Passed(what) | Difference::OtherFailure(what) | Difference::Unproved(what),
        ) => {
            tracing::debug!("among twins, the reference ends otherwise: {what}");
            return Ending::Unclear;
        }
    }
    match found {
        Difference::Passed(id) => {
            let id = outside(&id);
            let reason = format!("{id} passed although it was changed so that it must fail");
            Ending::Differs(Outcome::Forged, reason)
        }
        // What lacked evidence before lacks it again, and twins say nothing more of it.
        Difference::Unproved(_) if !is_passed => Ending::AsReference,
        Difference::OtherFailure(id) => {
            let reason = format!("among changed tests, {} failed", outside(&id));
            Ending::Differs(Outcome::Failed, reason)
        }
        Difference::Unproved(reason) => {
            let reason = format!("among changed tests, {reason}");
            Ending::Differs(Outcome::Failed, reason)
        }
        Difference::Limit(outcome, reason) => {
            Ending::Differs(outcome, format!("among changed tests, {reason}"))
        }
    }
}

/// Notes that a pass has no twins to prove it.
fn note_unavailable(verdict: &mut Verdict, deciding: &[&str]) {
    if verdict.outcome == Outcome::Passed {
        if !verdict.unavailable.contains(&Evidence::Twins) {
            verdict.unavailable.push(Evidence::Twins);
        }
        verdict.proof = Some(Proof::None);
        verdict.unproven = named(deciding.iter().copied());
    }
}

/// Notes which tests ran as twins in the runs that ended as the reference's, given by their indexes,
/// how well these prove a pass, and by which tests they do not.
fn note_proof(verdict: &mut Verdict, deciding: &[&str], drawn: &[DrawnTest], ended: &[usize]) {
    let twins = |run: usize| drawn.iter().filter_map(move |one| one.roles[run].as_ref());
    let failed: BTreeSet<&String> = ended
        .iter()
        .flat_map(|run| twins(*run))
        .flat_map(|twin| &twin.failing)
        .collect();
    let ran = drawn
        .iter()
        .filter(|one| one.test.inside.iter().any(|id| failed.contains(id)));
    verdict.twins = ran.flat_map(|one| one.test.ids.clone()).collect();
    verdict.twins.sort();
    if failed.is_empty() {
        note_unavailable(verdict, deciding);
    }
    if verdict.outcome != Outcome::Passed || failed.is_empty() {
        return;
    }
    // Code that fails every test among twins is right in each run in which the answer is altered.
    let passed = |id: &String| {
        let mut runs = ended.iter();
        runs.any(|run| twins(*run).all(|twin| !twin.failing.contains(id)))
    };
    // An edit that several tests share alters the answers of all of them.
    let failing: BTreeSet<&String> = ended
        .iter()
        .flat_map(|run| twins(*run))
        .flat_map(|twin| drawn.iter().flat_map(|one| one.test.stood_for(twin)))
        .filter(|id| passed(id))
        .collect();
    // Of a table, some rows may have no answer that can be altered.
    let is_altered = |one: &&DrawnTest| !one.test.altered_ids(&failing).is_empty();
    let altered: BTreeSet<&str> = drawn
        .iter()
        .flat_map(|drawn| drawn.test.altered_ids(&failing))
        .collect();
    let without = deciding.iter().copied().filter(|id| !altered.contains(id));
    let enough = drawn.iter().filter(is_altered).count() >= MOST_TWINS;
    let unproven = named(without);
    verdict.proof = Some(match altered.is_empty() {
        _ if enough || unproven.is_empty() => Proof::Altered,
        true => Proof::Opposite,
        false => Proof::Partial,
    });
    if !enough {
        verdict.unproven = unproven;
    }
}

/// The most tests that a verdict names as unproven.
const MOST_NAMED: usize = 50;

fn named<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ids: Vec<String> = ids.map(str::to_owned).collect();
    ids.sort();
    ids.truncate(MOST_NAMED);
    ids
}

impl TwinnedTest {
    /// Its twins with an altered expectation.
    fn altered(&self) -> impl Iterator<Item = &Twin> {
        self.twins.iter().filter(|twin| twin.way.is_some())
    }

    /// True if one of its twins has an altered expectation.
    fn has_altered(&self) -> bool {
        self.altered().next().is_some()
    }

    /// Draws the number of runs in which a twin takes its place: as if a coin decided over each run,
    /// so that code can't know how many times it has to fail, but at least as often as it has
    /// answers to alter, and not in every run, so that code that fails every test of a run among
    /// twins fails the test itself.
    fn draw_number(&self, runs: usize) -> usize {
        // Two of many runs are left, so that a guess has to be right in more than one way.
        let kept = if runs > 3 { 2 } else { 1 };
        let least = self.altered().count().clamp(1, runs - kept);
        loop {
            let number = (0..runs).filter(|_| rand::random::<bool>()).count();
            if (least..runs).contains(&number) {
                return number;
            }
        }
    }

    /// Draws the twins that take its place in some of the runs, in addition to the twins of tests
    /// drawn already. Those with altered expectations come first, of different
    /// assertions and then in different ways: code that reads the expectation passes no other. If
    /// there are several, two elements of a list are exchanged in one: code can tell a list with
    /// another element by an element that is unknown or repeated. Once each was drawn, they are
    /// drawn again.
    ///
    /// In one run, an answer that other tests have altered is altered alike. So if a test has its
    /// answer altered in half of the runs, altered ones are as many as the others in some run, and
    /// code that takes the answer that most tests give is wrong there. In which runs stays
    /// independent: code that computes the others' answers would see when this one is altered.
    fn draw_roles(&self, runs: usize, others: &[DrawnTest]) -> Vec<Option<Twin>> {
        let mut rng = rand::rng();
        let wanted = self.draw_number(runs);
        let mut left = self.twins.clone();
        left.shuffle(&mut rng);
        let mut roles: Vec<Option<Twin>> = vec![None; runs];
        // Drawn, too, is the run in which the test itself has to pass.
        let mut order: Vec<usize> = (0..runs).collect();
        order.shuffle(&mut rng);
        let agrees = |twin: &Twin, run: usize| {
            let mut others = others.iter().filter_map(|other| other.roles[run].as_ref());
            others.any(|other| other.agrees(twin))
        };
        let mut drawn: Vec<Twin> = Vec::new();
        for run in order.into_iter().take(wanted) {
            let uses = |twin: &Twin| {
                let same = |other: &&Twin| other.assertion == twin.assertion;
                let alike = |other: &&Twin| same(other) && other.way == twin.way;
                let place = |other: &&Twin| other.place() == twin.place();
                let place = drawn.iter().filter(place).count();
                let (same, alike) = (drawn.iter().filter(same), drawn.iter().filter(alike));
                let is_exchange = |twin: &Twin| twin.way == Some(Way::Exchanged);
                let lacks_exchange =
                    wanted > 1 && !is_exchange(twin) && !drawn.iter().any(is_exchange);
                // The opposite has been asked once by then.
                let opposite = twin.way.is_none() && drawn.iter().any(|twin| twin.way.is_none());
                // The smallest tuple is drawn, so the criteria come in the order of their weight.
                let same = same.count();
                let agrees = agrees(twin, run);
                (
                    !(agrees && same == 0),
                    lacks_exchange,
                    opposite,
                    twin.way.is_none(),
                    same,
                    place,
                    !agrees,
                    alike.count(),
                )
            };
            // Two edits that one test depends on may undo each other: an altered answer, and an
            // assertion in a shared function that says the opposite.
            let touches = |twin: &Twin, test: &TwinnedTest| {
                test.inside.iter().any(|id| twin.failing.contains(id))
            };
            let fits = |twin: &&Twin| {
                let mut others = others
                    .iter()
                    .filter_map(|other| Some((&other.test, other.roles[run].as_ref()?)));
                !others.any(|(test, other)| {
                    let overlaps = other.path == twin.path && other.edit.overlaps(&twin.edit);
                    overlaps || touches(twin, test) || touches(other, self)
                })
            };
            // One that agrees is drawn again.
            let agreeing = self.twins.iter().filter(|twin| agrees(twin, run));
            let Some(twin) = left
                .iter()
                .chain(agreeing)
                .filter(fits)
                .min_by_key(|twin| uses(twin))
                .cloned()
            else {
                continue;
            };
            left.retain(|other| *other != twin);
            if left.is_empty() {
                left.clone_from(&self.twins);
            }
            drawn.push(twin.clone());
            roles[run] = Some(twin);
        }
        roles
    }
}

/// Removes inherited tests if others that are written in the same file run: an edit there changes
/// the names and the answers of both. Of several files that inherit, the first remains.
fn retain_one_heir(found: &mut Vec<(String, TwinnedTest)>) {
    let mut users: BTreeMap<String, String> = BTreeMap::new();
    for (file, test) in found.iter() {
        if test.home.is_none() {
            users.insert(file.clone(), file.clone());
        }
    }
    found.retain(|(file, test)| {
        let home = test.home.as_ref().unwrap_or(file);
        users.entry(home.clone()).or_insert_with(|| file.clone()) == file
    });
}

/// Removes twins until there is a run for each test in which nothing that it depends on is altered.
fn spare_each(drawn: &mut [DrawnTest]) {
    for index in 0..drawn.len() {
        let inside = drawn[index].test.inside.clone();
        let touching = |one: &DrawnTest, run: usize| {
            let twin = one.roles[run].as_ref();
            twin.is_some_and(|twin| inside.iter().any(|id| twin.failing.contains(id)))
        };
        let spared = |run: &usize| drawn[index].roles[*run].is_none();
        let number = |run: &usize| drawn.iter().filter(|one| touching(one, *run)).count();
        let run = (0..drawn[index].roles.len())
            .filter(spared)
            .min_by_key(number);
        if let Some(run) = run {
            for one in drawn.iter_mut() {
                if touching(one, run) {
                    one.roles[run] = None;
                }
            }
        }
    }
}

/// Number of runs in which twins of these tests are among them; 0 for no tests.
///
/// Few tests have as many as all their assertions need, within a limit, and two more: in a twin of
/// one assertion, code that reads another's expectation from the test is right.
fn runs<'t>(tests: impl ExactSizeIterator<Item = &'t TwinnedTest> + Clone) -> usize {
    let assertions = |test: &TwinnedTest| {
        let altered = test.altered().map(|twin| twin.assertion);
        altered.collect::<BTreeSet<_>>().len()
    };
    let (runs, spared) = match tests.len() {
        0 => return 0,
        1..=4 => {
            let most = tests.clone().map(assertions).max().unwrap_or(0);
            ((most + 2).clamp(FEWEST_RUNS, MOST_RUNS), 2)
        }
        5..=12 => (3, 1),
        _ => return 2,
    };
    // Of one twin, code could guess the one run in which it has to fail.
    let most = tests.map(|test| test.twins.len()).max();
    runs.min(most.unwrap_or(0).max(2) + spared)
}

/// Edited files as a run of tests gets them.
fn changed_files(files: &[(String, String)]) -> Vec<FileContents<'_>> {
    files
        .iter()
        .map(|(path, contents)| FileContents { path, contents })
        .collect()
}

/// A twin that is yet to be tried on the reference.
struct UntriedTwin {
    /// The index of its test.
    test: usize,
    /// The twin, of which is not known yet which tests fail.
    twin: Twin,
}

/// Makes twins of the tests of one file.
struct TwinMaker<'a> {
    executor: &'a Executor,
    engine: Engine,
    path: &'a str,
    tests: Vec<TwinnedTest>,
    /// The files in which values are compared by their contents.
    plain: Vec<String>,
    /// Whether the tests pass without the messages of another file, by its path.
    without_messages: BTreeMap<String, bool>,
    /// Whether a run without twins has all evidence, once that was asked.
    has_evidence: Option<bool>,
}

/// Makes twins of a file's tests, and keeps those that the reference fails.
fn make_twins(
    executor: &Executor,
    engine: Engine,
    path: &str,
    seed: u64,
) -> Result<Vec<TwinnedTest>, VerdictError> {
    let Some(language) = Language::for_path(Path::new(path)) else {
        return Ok(Vec::new());
    };
    let text = executor.runner.read(path)?;
    let mut files = vec![(path.to_owned(), Some(language), text)];
    let others = other_files(executor, path, language, &files[0].2);
    files.extend(others);
    let texts: Vec<ExpectationFile<'_>> = files
        .iter()
        .map(|(path, language, text)| ExpectationFile {
            name: file_name(path),
            language: *language,
            text,
        })
        .collect();
    let functions = twins::test_functions(&texts, seed);
    let stable = executor.baseline.stable();
    let functions = functions_with_ids(executor, path, functions, &stable);
    let tests = |suites: SuiteNames| -> Vec<TwinnedTest> {
        let tests = functions.iter().map(|(function, ids)| {
            let renamed = renamed_ids(executor, path, function, ids, suites);
            let (inside, rename) = renamed.unwrap_or_else(|| (ids.clone(), Vec::new()));
            TwinnedTest {
                is_ordered: has_own_rows(ids, &inside),
                home: (function.file > 0).then(|| files[function.file].0.clone()),
                ids: ids.clone(),
                inside,
                rename,
                plain: Vec::new(),
                evaluated: Vec::new(),
                twins: Vec::new(),
            }
        });
        tests.collect()
    };
    let mut maker = TwinMaker {
        executor,
        engine,
        path,
        tests: tests(SuiteNames::Neutral),
        plain: Vec::new(),
        without_messages: BTreeMap::new(),
        has_evidence: None,
    };
    let failing = maker.take_names_back(tests(SuiteNames::Own))?;
    maker.tests = without(&failing, maker.tests);
    let functions = without(&failing, functions);
    maker.order_rows(&functions)?;
    maker.try_plain_comparisons(&files)?;
    maker.try_evaluations(&functions)?;
    let is_own = |function: &TestFunction, edit: &TestEdit| {
        let (span, range) = (&function.span, &edit.edit.range);
        edit.file == function.file && span.start <= range.start && range.end <= span.end
    };
    let untried = |test: usize, edit: &TestEdit| UntriedTwin {
        test,
        twin: Twin {
            path: files[edit.file].0.clone(),
            edit: edit.edit.clone(),
            is_own: is_own(&functions[test].0, edit),
            before: files[edit.file].2[edit.edit.range.clone()].to_owned(),
            assertion: edit.assertion,
            way: edit.way,
            rows: edit.rows,
            failing: BTreeSet::new(),
        },
    };
    // Each round tries one edit of every test, so that one run tries many edits.
    for round in 0..ALTERED_TRIED + COMPLEMENTS_TRIED {
        let complements = round.checked_sub(ALTERED_TRIED);
        let candidates = functions
            .iter()
            .enumerate()
            .filter_map(|(index, (function, _))| {
                let own = |edits: &'_ [TestEdit], nth: usize| {
                    edits
                        .iter()
                        .filter(|edit| is_own(function, edit))
                        .nth(nth)
                        .cloned()
                };
                let edit = match complements {
                    None => own(&function.altered, round),
                    // One complement that the reference fails is enough.
                    Some(nth) if maker.lacks_opposite(index) => own(&function.complements, nth),
                    Some(_) => None,
                };
                edit.map(|edit| untried(index, &edit))
            });
        let candidates = candidates.collect();
        maker.try_own(candidates)?;
    }
    // What several tests share is tried by itself, for tests first that have nothing else.
    let mut shared: Vec<UntriedTwin> = Vec::new();
    for has_altered in [false, true] {
        for nth in 0..SHARED_OF_TEST {
            for (index, (function, _)) in functions.iter().enumerate() {
                let foreign = |edit: &&TestEdit| !is_own(function, edit);
                let all = function.altered.iter().filter(foreign);
                let opposite = function.complements.iter().filter(foreign).take(1);
                let opposite = opposite.filter(|_| maker.lacks_opposite(index));
                if maker.tests[index].has_altered() == has_altered {
                    let edit = match nth {
                        0 => all.chain(opposite).next(),
                        nth => all.chain(opposite).nth(nth),
                    };
                    shared.extend(edit.map(|edit| untried(index, edit)));
                }
            }
        }
    }
    let mut tried: Vec<(String, SourceEdit)> = Vec::new();
    for untried in shared {
        let key = (untried.twin.path.clone(), untried.twin.edit.clone());
        if tried.contains(&key) {
            maker.share(&untried);
        } else if tried.len() < SHARED_TRIED {
            tried.push(key);
            maker.try_shared(&untried)?;
        }
    }
    let plain = maker.plain;
    let tests = maker.tests.into_iter();
    let tests = tests.filter(|test| !test.twins.is_empty());
    let tests = tests.map(|test| TwinnedTest {
        plain: plain.clone(),
        ..test
    });
    Ok(tests.collect())
}

/// True if each id among twins has the row of the own one at its place.
fn has_own_rows(ids: &[String], inside: &[String]) -> bool {
    let row = |id: &String| id.split_once('[').map(|(_, row)| row.to_owned());
    let mut pairs = inside.iter().zip(ids);
    ids.len() == 1 || pairs.all(|(inside, id)| inside == id || row(inside) == row(id))
}

/// Returns the items that are not at one of these indexes.
fn without<T>(indexes: &BTreeSet<usize>, items: Vec<T>) -> Vec<T> {
    let items = items.into_iter().enumerate();
    let others = items.filter(|(index, _)| !indexes.contains(index));
    others.map(|(_, item)| item).collect()
}

impl TwinMaker<'_> {
    fn lacks_opposite(&self, test: usize) -> bool {
        self.tests[test].twins.iter().all(|twin| twin.way.is_some())
    }

    /// Runs the reference on tests, given by their indexes, in files with these edits, and with
    /// `others` without their messages.
    fn run(
        &self,
        tests: &[usize],
        edits: &[&UntriedTwin],
        others: &[&str],
    ) -> Result<TestRunResult, VerdictError> {
        let renamed = tests
            .iter()
            .map(|test| (self.path, self.tests[*test].rename.as_slice(), None));
        let beside = |untried: &&UntriedTwin| {
            let others = self.tests[untried.test].beside(&untried.twin);
            let edits = others.into_iter().map(|other| other.edit.clone());
            edits.collect::<Vec<SourceEdit>>()
        };
        let beside: Vec<Vec<SourceEdit>> = edits.iter().map(beside).collect();
        let twins = edits
            .iter()
            .zip(&beside)
            .map(|(UntriedTwin { twin, .. }, beside)| {
                let altered = (twin.path.as_str(), &twin.edit);
                (self.path, beside.as_slice(), Some(altered))
            });
        let others = others.iter().map(|path| (*path, [].as_slice(), None));
        let mut files = edited_files(self.executor, renamed.chain(twins).chain(others))?;
        compare_plainly(self.executor, self.plain.iter(), &mut files)?;
        let replaced = changed_files(&files);
        let names = |of: fn(&TwinnedTest) -> &Vec<String>| -> Vec<&str> {
            let tests = tests.iter().flat_map(|test| of(&self.tests[*test]));
            tests.map(String::as_str).collect()
        };
        let inside = names(|test| &test.inside);
        let limits = self.executor.limits(&names(|test| &test.ids));
        let run = TestRun::new(&replaced, &inside, limits);
        self.executor.execute(self.engine, &run)
    }

    /// Gives tests their own names back that do not pass under neutral ones, and all suites theirs,
    /// as in `with_suites`. Returns the indexes of those that do not pass then either: they expect a
    /// message that is blank among twins.
    fn take_names_back(
        &mut self,
        with_suites: Vec<TwinnedTest>,
    ) -> Result<BTreeSet<usize>, VerdictError> {
        let all: Vec<usize> = (0..self.tests.len()).collect();
        let mut failing = self.failing(&all)?;
        if !failing.is_empty() && self.tests != with_suites {
            self.tests = with_suites;
            failing = self.failing(&all)?;
        }
        for index in &failing {
            let test = &mut self.tests[*index];
            test.inside.clone_from(&test.ids);
            test.rename.clear();
            test.is_ordered = true;
        }
        Ok(self.failing(&failing)?.into_iter().collect())
    }

    /// Has these files compare values by their contents from here on, unless a test fails then: it
    /// expects a value of a class that is lenient by design.
    fn try_plain_comparisons(&mut self, files: &[OtherFile]) -> Result<(), VerdictError> {
        let changes = |(_, language, text): &&OtherFile| {
            language.is_some_and(|of| twins::with_plain_comparisons(of, text).is_some())
        };
        let plain = files.iter().filter(changes);
        self.plain = plain.map(|(path, ..)| path.clone()).collect();
        let all: Vec<usize> = (0..self.tests.len()).collect();
        if !self.plain.is_empty() && !self.failing(&all)?.is_empty() {
            self.plain.clear();
        }
        Ok(())
    }

    /// Has twins leave out the assertions beside those that they alter, unless the reference fails
    /// without any of a test's: it counts them. What is left out has other answers, unless the
    /// reference fails with these, which may be no dates.
    fn try_evaluations(
        &mut self,
        functions: &[(TestFunction, Vec<String>)],
    ) -> Result<(), VerdictError> {
        let leaves_out = |index: &usize| {
            let function = &functions[*index].0;
            let mut edits = function.altered.iter().chain(&function.complements);
            let is_beside = |edit: &TestEdit| {
                let mut others = function.evaluated.iter();
                others.any(|other| other.assertion != edit.assertion)
            };
            function.file == 0 && edits.any(is_beside)
        };
        let mut left: Vec<usize> = (0..self.tests.len()).filter(leaves_out).collect();
        for index in &left {
            let evaluated = &functions[*index].0.evaluated;
            self.tests[*index].evaluated.clone_from(evaluated);
        }
        for draws_answers in [true, false] {
            let renamed: Vec<Vec<SourceEdit>> = left
                .iter()
                .map(|index| self.tests[*index].rename.clone())
                .collect();
            for index in &left {
                let test = &mut self.tests[*index];
                for other in &mut test.evaluated {
                    if !draws_answers {
                        other.answers.clear();
                    }
                    test.rename.push(other.edit.clone());
                    let answers = other.answers.iter().map(LeftOutAnswer::greatest);
                    test.rename.extend(answers);
                }
            }
            let failing = self.failing(&left)?;
            for (index, rename) in left.iter().zip(renamed) {
                self.tests[*index].rename = rename;
            }
            left = failing;
        }
        for index in left {
            self.tests[index].evaluated.clear();
        }
        Ok(())
    }

    /// Puts the ids of numbered rows in the order of the rows. Tests run in the same order under
    /// both names, unless the order depends on what a row contains.
    fn order_rows(
        &mut self,
        functions: &[(TestFunction, Vec<String>)],
    ) -> Result<(), VerdictError> {
        let has_order = |index: &usize| {
            let neutral = functions[*index].0.neutral.as_ref();
            neutral.is_some_and(|neutral| neutral.rows != RowNames::Unordered)
        };
        let unordered: Vec<usize> = (0..self.tests.len())
            .filter(|index| !self.tests[*index].is_ordered)
            .filter(has_order)
            .collect();
        if unordered.is_empty() {
            return Ok(());
        }
        let inside = self.run(&unordered, &[], &[])?.report;
        let own: Vec<TwinnedTest> = unordered
            .iter()
            .map(|index| TwinnedTest {
                inside: self.tests[*index].ids.clone(),
                rename: Vec::new(),
                ..self.tests[*index].clone()
            })
            .collect();
        let renamed = std::mem::replace(&mut self.tests, own);
        let all: Vec<usize> = (0..self.tests.len()).collect();
        let own = self.run(&all, &[], &[]);
        self.tests = renamed;
        let own = own?.report;
        for index in unordered {
            let test = &mut self.tests[index];
            test.is_ordered =
                sort_by_place(&mut test.ids, &own) && sort_by_place(&mut test.inside, &inside);
        }
        Ok(())
    }

    /// Returns those of some tests, given by their indexes, that do not pass without a twin. One
    /// that does not compile keeps the others from running, so each half is tried.
    fn failing(&self, tests: &[usize]) -> Result<Vec<usize>, VerdictError> {
        if tests.is_empty() {
            return Ok(Vec::new());
        }
        let report = self.run(tests, &[], &[])?.report;
        if tests.len() > 1 && !report.collect_errors.is_empty() {
            let (first, second) = tests.split_at(tests.len() / 2);
            return Ok([self.failing(first)?, self.failing(second)?].concat());
        }
        let passes = |id: &String| {
            let test = report.tests.get(id);
            test.is_some_and(|test| !test.outcome.is_failure())
        };
        let fails = |index: &usize| !self.tests[*index].inside.iter().all(passes);
        Ok(tests.iter().copied().filter(fails).collect())
    }

    /// True if every test passes without the comments and messages of another file; one of data has
    /// none.
    fn pass_without_messages(&mut self, path: &str) -> Result<bool, VerdictError> {
        if Language::for_path(Path::new(path)).is_none() {
            return Ok(true);
        }
        if let Some(known) = self.without_messages.get(path) {
            return Ok(*known);
        }
        let all: Vec<usize> = (0..self.tests.len()).collect();
        let report = self.run(&all, &[], &[path])?.report;
        let fails = report.tests.values().any(|test| test.outcome.is_failure());
        let pass = report.collect_errors.is_empty() && !fails;
        self.without_messages.insert(path.to_owned(), pass);
        Ok(pass)
    }

    /// True if a run with twins lacks evidence that one without them has: a test that fails may leave
    /// a thread. No verdict would learn from a run with such a twin.
    fn lacks_evidence(&mut self, result: &TestRunResult) -> Result<bool, VerdictError> {
        if self.executor.missing_beside_twins(result).is_none() {
            return Ok(false);
        }
        let has_evidence = match self.has_evidence {
            Some(known) => known,
            None => {
                let all: Vec<usize> = (0..self.tests.len()).collect();
                let alone = self.run(&all, &[], &[])?;
                self.executor.missing_beside_twins(&alone).is_none()
            }
        };
        self.has_evidence = Some(has_evidence);
        Ok(has_evidence)
    }

    /// Runs the reference with an edit of each of some tests, and keeps those under which it fails.
    /// One that does not compile, or whose table raises, keeps the others from running: so each half
    /// is tried.
    fn try_own(&mut self, mut edits: Vec<UntriedTwin>) -> Result<(), VerdictError> {
        let mut paths: BTreeSet<String> = edits
            .iter()
            .map(|untried| untried.twin.path.clone())
            .collect();
        paths.remove(self.path);
        for path in paths {
            if !self.pass_without_messages(&path)? {
                edits.retain(|untried| untried.twin.path != path);
            }
        }
        if edits.is_empty() {
            return Ok(());
        }
        let tests: Vec<usize> = edits.iter().map(|twin| twin.test).collect();
        let result = self.run(&tests, &edits.iter().collect::<Vec<_>>(), &[])?;
        let lacks_evidence = self.lacks_evidence(&result)?;
        let report = result.report;
        // One that ends the process keeps tests after it from running, here and in verdicts.
        let ids = || tests.iter().flat_map(|test| &self.tests[*test].inside);
        let is_complete = ids().all(|id| report.tests.contains_key(id));
        if edits.len() > 1 && (!report.collect_errors.is_empty() || !is_complete || lacks_evidence)
        {
            let rest = edits.split_off(edits.len() / 2);
            self.try_own(edits)?;
            return self.try_own(rest);
        }
        if lacks_evidence {
            return Ok(());
        }
        for UntriedTwin { test, twin } in edits {
            let test = &mut self.tests[test];
            let fails = |id: &&String| {
                // In Go, a panic ends the process, and the tests after it would not run.
                let result = report.tests.get(*id);
                result.is_some_and(|test| {
                    test.outcome.is_failure() && !test.message.contains("panic: ")
                })
            };
            let failing: BTreeSet<String> = test.inside.iter().filter(fails).cloned().collect();
            if !are_broken(self.executor, &twin, &failing, &report) {
                keep(test, &twin, failing);
            }
        }
        Ok(())
    }

    /// Runs the reference on all tests with an edit outside of tests, and keeps it if one fails.
    fn try_shared(&mut self, untried: &UntriedTwin) -> Result<(), VerdictError> {
        let UntriedTwin { test, twin } = untried;
        if twin.path != self.path && !self.pass_without_messages(&twin.path)? {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.tests.len()).collect();
        let result = self.run(&all, &[untried], &[])?;
        let lacks_evidence = self.lacks_evidence(&result)?;
        let report = result.report;
        if !report.collect_errors.is_empty() || lacks_evidence {
            return Ok(());
        }
        let failing: BTreeSet<String> = report
            .tests
            .values()
            .filter(|test| test.outcome.is_failure())
            .map(|test| test.id.clone())
            .collect();
        let test = &mut self.tests[*test];
        let own: Vec<&String> = test
            .inside
            .iter()
            .filter(|id| failing.contains(*id))
            .collect();
        if !own.is_empty() && !are_broken(self.executor, twin, own, &report) {
            keep(test, twin, failing);
        }
        Ok(())
    }

    /// Keeps an edit outside of tests that was tried for another test.
    fn share(&mut self, UntriedTwin { test, twin }: &UntriedTwin) {
        let known = self
            .tests
            .iter()
            .flat_map(|test| &test.twins)
            .find(|known| known.path == twin.path && known.edit == twin.edit);
        let failing = known.map(|known| known.failing.clone());
        let test = &mut self.tests[*test];
        if let Some(failing) = failing
            && test.inside.iter().any(|id| failing.contains(id))
            && !test.twins.iter().any(|own| own.edit == twin.edit)
        {
            keep(test, twin, failing);
        }
    }
}

/// True if none of these tests, which fail under an altered expectation, asserts it: each ends before.
/// Code that reads expectations would fail there too.
fn are_broken<'t>(
    executor: &Executor,
    twin: &Twin,
    failing: impl IntoIterator<Item = &'t String>,
    report: &TestReport,
) -> bool {
    let sources = || {
        let covered = executor.baseline.covered_files();
        covered.filter(|path| !executor.runner.is_guarded(path))
    };
    let mut messages = failing.into_iter().filter_map(|id| report.tests.get(id));
    twin.way.is_some() && messages.all(|test| is_broken(&test.message, sources()))
}

/// True if a test that failed with a message could not make a value of its own, such as a date of an
/// altered text: an exception ended it that neither an assertion raised nor these files.
fn is_broken<'t>(message: &str, mut sources: impl Iterator<Item = &'t str>) -> bool {
    let line = key_line(message);
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    // jest's assertions are of the class `Error`, and tests throw these themselves.
    let is_general = ["Error", "Exception", "RuntimeException"].contains(&name);
    let is_assertion = ["Assert", "ComparisonFailure", "MultipleFailures"]
        .iter()
        .any(|part| name.contains(part))
        || is_general && !line.contains("ENOENT");
    // After Python's last traceback comes an exception of any name.
    (names_exception(&line) || message.contains("Traceback (most recent call last)"))
        && name != "Failed"
        && !is_assertion
        && !sources.any(|path| has_word(message, file_name(path)))
}

/// Sorts ids in the order in which a run reported them. Returns false if it lacks one.
fn sort_by_place(ids: &mut [String], report: &TestReport) -> bool {
    let place = |id: &String| report.tests.get(id).map(|test| test.place);
    ids.sort_by_key(place);
    ids.iter().all(|id| place(id).is_some())
}

/// Adds a twin under which tests fail.
fn keep(test: &mut TwinnedTest, twin: &Twin, failing: BTreeSet<String>) {
    if !failing.is_empty() {
        test.twins.push(Twin {
            failing,
            ..twin.clone()
        });
    }
}

/// The names of suites around tests with neutral names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SuiteNames {
    Neutral,
    Own,
}

/// The ids of a function's tests under a neutral name, and the edits that give it to them; `None`
/// if it keeps its name.
fn renamed_ids(
    executor: &Executor,
    path: &str,
    function: &TestFunction,
    ids: &[String],
    suites: SuiteNames,
) -> Option<(Vec<String>, Vec<SourceEdit>)> {
    let neutral = function.neutral.as_ref()?;
    let is_single = ids.len() == 1 && neutral.single != neutral.several;
    let suites = match suites {
        SuiteNames::Neutral => neutral.suites.as_slice(),
        SuiteNames::Own => &[],
    };
    let mut inside: BTreeMap<&String, String> = BTreeMap::new();
    for names in function.all_names() {
        let patterns = executor.runner.test_ids(path, names);
        let of_names: Vec<&String> = ids
            .iter()
            .filter(|id| patterns.iter().any(|pattern| matches_id(pattern, id)))
            .collect();
        if of_names.is_empty() {
            continue;
        }
        let renamed = ids_inside(executor, path, names, neutral, suites, &of_names, is_single)?;
        inside.extend(of_names.into_iter().zip(renamed));
    }
    let inside: Vec<String> = ids
        .iter()
        .map(|id| inside.get(id).cloned())
        .collect::<Option<_>>()?;
    let edits = match is_single {
        true => &neutral.single,
        false => &neutral.several,
    };
    let suites = suites.iter().map(|(_, edit)| edit);
    Some((inside, edits.iter().chain(suites).cloned().collect()))
}

/// The ids under a neutral name of those of a function's tests that have these names; `None` if they
/// are not known.
fn ids_inside(
    executor: &Executor,
    path: &str,
    names: &[String],
    neutral: &NeutralName,
    suites: &[(String, SourceEdit)],
    ids: &[&String],
    is_single: bool,
) -> Option<Vec<String>> {
    let (_, around) = names.split_last()?;
    // A part that is not known can't be written into the new ids.
    if around.iter().any(|name| name.contains('\0')) {
        return None;
    }
    let own = executor.runner.test_ids(path, names);
    let index = own
        .iter()
        .position(|pattern| ids.iter().all(|id| matches_id(pattern, id)))?;
    let mut names: Vec<String> = suites.iter().map(|(name, _)| name.clone()).collect();
    if suites.is_empty() {
        names.extend_from_slice(around);
    }
    names.push(neutral.name.clone());
    let start = executor
        .runner
        .test_ids(path, &names)
        .into_iter()
        .nth(index)?;
    // Rows are counted, and one that is left out would be counted, too.
    let mut left_out = executor.baseline.left_out();
    if neutral.rows != RowNames::Kept && left_out.any(|id| matches_id(&own[index], id)) {
        return None;
    }
    Some(match neutral.rows {
        _ if is_single => vec![start],
        RowNames::Kept => ids
            .iter()
            .map(|id| Some(format!("{start}{}", id.strip_prefix(own[index].as_str())?)))
            .collect::<Option<_>>()?,
        RowNames::Bracketed | RowNames::Unordered => (0..ids.len())
            .map(|row| format!("{start}[{row}]"))
            .collect(),
        RowNames::Numbered => (0..ids.len()).map(|row| format!("{start} {row}")).collect(),
    })
}

/// A file by its path, its language unless it is data, and its text.
type OtherFile = (String, Option<&'static Language>, String);

/// Files in which expectations of a file of tests may be written: other files of tests that it
/// imports, files that its framework reads along with it, and files of data that it names.
fn other_files(
    executor: &Executor,
    path: &str,
    language: &'static Language,
    text: &str,
) -> Vec<OtherFile> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let imports: String = text
        .lines()
        .filter(|line| {
            ["import", "from", "require"]
                .iter()
                .any(|word| line.contains(word))
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut found: Vec<OtherFile> = Vec::new();
    let add = |other: &str, is_data: bool, found: &mut Vec<_>| {
        if let Ok(text) = executor.runner.read(other)
            && text.len() <= LARGEST_OTHER_FILE
        {
            found.push((other.to_owned(), Some(language).filter(|_| !is_data), text));
        }
    };
    let stem = |file: &Path| Some(file.file_stem()?.to_str()?.to_owned());
    for other in executor.runner.guarded_files() {
        let file = Path::new(other);
        let (true, Some(stem)) = (other != path && found.len() < MOST_OTHER_FILES, stem(file))
        else {
            continue;
        };
        let is_code = Language::for_path(file).is_some_and(|other| other.id == language.id);
        let is_read = match stem.as_str() {
            // pytest loads the `conftest.py` of every folder above a test.
            "conftest" => file
                .parent()
                .is_some_and(|parent| folder.starts_with(parent)),
            // A package of tests may hold what its modules share.
            "__init__" => {
                let package = file.parent().unwrap_or(Path::new(""));
                let name = package.file_name().and_then(|name| name.to_str());
                let is_named = name.is_some_and(|name| has_word(&imports, name));
                folder.starts_with(package) && (is_named || imports.contains("from ."))
            }
            // Go compiles all test files of a folder together.
            _ if other.ends_with("_test.go") => file.parent() == Some(folder),
            stem => has_word(&imports, stem),
        };
        if is_code && is_read {
            add(other, false, &mut found);
        }
    }
    let code: Vec<String> = found.iter().map(|(_, _, text)| text.clone()).collect();
    let own_snapshots = format!("{}.snap", file_name(path));
    for other in executor.runner.guarded_files() {
        let name = file_name(other);
        let is_data = DATA_ENDINGS.iter().any(|ending| name.ends_with(ending));
        let is_named = name == own_snapshots || {
            let mut texts = code.iter().map(String::as_str).chain([text]);
            is_data && texts.any(|text| text.contains(name))
        };
        if is_named && found.len() < MOST_OTHER_FILES {
            add(other, true, &mut found);
        }
    }
    found
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The functions that are tests of the baseline, each with the ids of its tests. An ambiguous id is
/// assigned to no function.
fn functions_with_ids(
    executor: &Executor,
    path: &str,
    functions: Vec<TestFunction>,
    stable: &[&str],
) -> Vec<(TestFunction, Vec<String>)> {
    let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        let patterns: Vec<String> = function
            .all_names()
            .flat_map(|names| executor.runner.test_ids(path, names))
            .collect();
        for id in stable {
            if patterns.iter().any(|pattern| matches_id(pattern, id)) {
                owners.entry(id).or_default().push(index);
            }
        }
    }
    let mut ids: Vec<Vec<String>> = vec![Vec::new(); functions.len()];
    let mut unclear: BTreeSet<usize> = BTreeSet::new();
    for (id, owners) in owners {
        match only_owner(&functions, &owners) {
            Some(owner) => ids[owner].push(id.to_owned()),
            None => unclear.extend(owners),
        }
    }
    functions
        .into_iter()
        .zip(ids)
        .enumerate()
        .filter(|(_, (_, ids))| !ids.is_empty())
        .map(|(index, (mut function, ids))| {
            // Under another name, it would be counted with tests that it may not be.
            if unclear.contains(&index) {
                function.neutral = None;
            }
            (function, ids)
        })
        .collect()
}

/// The function that an id belongs to, of those whose names match it; `None` if it is not clear. A
/// computed title matches any id in its suite, so a title without placeholders goes before it, and
/// of computed ones that in the innermost suite.
fn only_owner(functions: &[TestFunction], owners: &[usize]) -> Option<usize> {
    let names = |owner: usize| functions[owner].names.as_slice();
    let title = |owner: usize| names(owner).last().map_or("", String::as_str);
    let (computed, written): (Vec<usize>, Vec<usize>) =
        owners.iter().partition(|owner| title(**owner) == ANY_TITLE);
    match written.as_slice() {
        [] => {
            let depth = computed.iter().map(|owner| names(*owner).len()).max()?;
            let mut innermost = computed
                .iter()
                .filter(|owner| names(**owner).len() == depth);
            let first = innermost.next()?;
            innermost.next().is_none().then_some(*first)
        }
        [owner] => (computed.is_empty() || !title(*owner).contains('\0')).then_some(*owner),
        _ => None,
    }
}

/// Returns true if a test has this id: equal except for the text at each `\0` and parameters in
/// brackets at its end.
fn matches_id(pattern: &str, id: &str) -> bool {
    let mut rest = id;
    let mut parts = pattern.split('\0');
    let Some(after) = parts.next().and_then(|first| rest.strip_prefix(first)) else {
        return false;
    };
    rest = after;
    for part in parts {
        match rest.find(part) {
            // The last part must end the id.
            Some(_) if !part.is_empty() && rest.ends_with(part) => rest = "",
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || pattern.ends_with('\0') || rest.starts_with('[') && rest.ends_with(']')
}

/// Files with edits: of each test its file, the edits that rename it, and the file and edit of its
/// twin.
fn edited_files<'a>(
    executor: &Executor,
    tests: impl Iterator<Item = (&'a str, &'a [SourceEdit], Option<(&'a str, &'a SourceEdit)>)>,
) -> Result<Vec<(String, String)>, VerdictError> {
    let mut edits: BTreeMap<&str, Vec<&SourceEdit>> = BTreeMap::new();
    for (file, rename, twin) in tests {
        let renamed = rename.iter().map(|edit| (file, edit));
        // A file without edits loses its comments too.
        edits.entry(file).or_default();
        for (path, edit) in renamed.chain(twin) {
            let all = edits.entry(path).or_default();
            // Several tests may share an edit, which is applied once.
            if !all.contains(&edit) {
                all.push(edit);
            }
        }
    }
    edits
        .into_iter()
        .map(|(path, edits)| Ok((path.to_owned(), edited_file(executor, path, &edits)?)))
        .collect()
}

/// Has files of tests compare values by their contents: those edited already, and others.
fn compare_plainly<'a>(
    executor: &Executor,
    paths: impl Iterator<Item = &'a String>,
    files: &mut Vec<(String, String)>,
) -> Result<(), VerdictError> {
    for path in paths.collect::<BTreeSet<_>>() {
        let at = files.iter().position(|(edited, _)| edited == path);
        let text = match at {
            Some(at) => files.swap_remove(at).1,
            None => executor.runner.read(path)?,
        };
        let language = Language::for_path(Path::new(path));
        let plain = language.and_then(|language| twins::with_plain_comparisons(language, &text));
        files.push((path.clone(), plain.unwrap_or(text)));
    }
    Ok(())
}

/// A file with edits and without comments, which may repeat what the edits alter.
fn edited_file(
    executor: &Executor,
    path: &str,
    edits: &[&SourceEdit],
) -> Result<String, VerdictError> {
    let text = twins::apply(edits, &executor.runner.read(path)?);
    Ok(match Language::for_path(Path::new(path)) {
        Some(language) => twins::without_comments(language, &text),
        None => text,
    })
}

/// The first difference between a run of drawn tests and one of the reference as it should end. A
/// limit comes first: it keeps tests from ending.
fn difference(
    result: &TestRunResult,
    drawn: &[DrawnTest],
    index: usize,
    ids: &[&str],
    missing: impl FnOnce() -> Option<String>,
) -> Option<Difference> {
    if let Some((outcome, reason)) = exceeded_limit(result.end) {
        return Some(Difference::Limit(outcome, reason));
    }
    let outcomes = &result.report.tests;
    let selected: BTreeSet<&str> = ids.iter().copied().collect();
    let must_fail: BTreeSet<&str> = drawn
        .iter()
        .filter_map(|drawn| drawn.roles[index].as_ref())
        .flat_map(|twin| twin.failing.iter().map(String::as_str))
        .filter(|id| selected.contains(id))
        .collect();
    let passes = |id: &str| {
        outcomes
            .get(id)
            .is_some_and(|test| !test.outcome.is_failure())
    };
    if let Some(id) = must_fail.iter().find(|id| passes(id)) {
        return Some(Difference::Passed((*id).to_owned()));
    }
    let failing = ids
        .iter()
        .find(|id| !must_fail.contains(**id) && !passes(id));
    match failing {
        Some(id) => Some(Difference::OtherFailure((*id).to_owned())),
        None => missing().map(Difference::Unproved),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fillrate_sandbox::End;

    use super::*;

    /// A test with twins of these assertions and ways.
    fn twinned(twins: &[(usize, Option<Way>)]) -> TwinnedTest {
        let twins = twins.iter().enumerate().map(|(at, (assertion, way))| Twin {
            path: "t.py".into(),
            edit: SourceEdit::new(at..at + 1, "x"),
            is_own: true,
            before: at.to_string(),
            assertion: *assertion,
            way: *way,
            rows: 0,
            failing: BTreeSet::new(),
        });
        TwinnedTest {
            ids: Vec::new(),
            inside: Vec::new(),
            rename: Vec::new(),
            is_ordered: true,
            home: None,
            plain: Vec::new(),
            evaluated: Vec::new(),
            twins: twins.collect(),
        }
    }

    /// Code that reads what the test expects gets the same exception.
    #[test]
    fn tests_that_end_before_their_assertion_are_broken() {
        let python = "Traceback (most recent call last):\n  File \"tests/test_rocks.py\", line 5, in \
                      test_it\n    assert f(0) == float(\"ing\")\n";
        let inner = "  File \"src/rocks.py\", line 14, in f\n    raise ValueError(\"bad\")\n";
        let java = "java.time.DateTimeException: no such day\n  at quarry.RocksTest.grades(\
                    RocksTest.java:25)\n";
        for (message, expected) in [
            (format!("{python}ValueError: could not convert"), true),
            (
                format!("{python}decimal.InvalidOperation: [<class 'x'>]"),
                true,
            ),
            (format!("{python}Failed: DID NOT RAISE"), false),
            (format!("{python}{inner}ValueError: bad"), false),
            (format!("{python}AssertionError: assert 1 == 2"), false),
            (
                "TypeError: x\n    at tests/rocks.test.ts:20:12".into(),
                true,
            ),
            (
                "TypeError: x\n    at heavy (src/rocks.ts:7:9)".into(),
                false,
            ),
            ("Error: expect(received).toEqual(expected)".into(), false),
            ("Error: ENOENT: no such file or directory".into(), true),
            ("AssertionError [ERR_ASSERTION]: Expected".into(), false),
            (java.to_owned(), true),
            (
                format!("{java}  at quarry.Rocks.grade(Rocks.java:7)"),
                false,
            ),
            (
                "org.opentest4j.AssertionFailedError: expected: <1>".into(),
                false,
            ),
            ("    rocks_test.go:25: got 7".into(), false),
        ] {
            let sources = [
                "src/rocks.py",
                "src/rocks.ts",
                "src/main/java/quarry/Rocks.java",
            ];
            assert_eq!(
                is_broken(&message, sources.into_iter()),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn twins_of_few_tests_alter_every_assertion() {
        let altered = (0..5).flat_map(|at| [(at, Some(Way::Other)), (at, Some(Way::Anywhere))]);
        let opposite = (0..5).map(|at| (at, None));
        let test = twinned(&altered.chain(opposite).collect::<Vec<_>>());
        let runs = runs([&test].into_iter());
        assert_eq!(runs, 7);
        for _ in 0..100 {
            let roles = test.draw_roles(runs, &[]).into_iter().flatten();
            let altered = roles.filter(|twin| twin.way.is_some());
            let assertions: BTreeSet<usize> = altered.map(|twin| twin.assertion).collect();
            assert_eq!(assertions, (0..5).collect());
        }
        // Of few twins, each takes the test's place several times.
        let one = twinned(&[(0, Some(Way::Other)), (0, None)]);
        assert_eq!(super::runs([&one].into_iter()), 4);
        assert_eq!(super::runs([&test; 5].into_iter()), 3);
    }

    #[test]
    fn twins_of_one_assertion_alter_different_places() {
        let ways = [Some(Way::Other), Some(Way::First), Some(Way::Anywhere)];
        let mut test = twinned(
            &[ways, ways, ways]
                .concat()
                .into_iter()
                .map(|way| (0, way))
                .collect::<Vec<_>>(),
        );
        for (index, twin) in test.twins.iter_mut().enumerate() {
            twin.edit = SourceEdit::new(index / 3..index / 3 + 1, "x");
        }
        for _ in 0..100 {
            let roles = test.draw_roles(5, &[]).into_iter().flatten();
            let places: BTreeSet<usize> = roles.map(|twin| twin.edit.range.start).collect();
            assert_eq!(places, (0..3).collect());
        }
    }

    /// Code may be right where another test expects the same, and equal to anything elsewhere.
    #[test]
    fn a_shared_answer_is_altered_again_only_after_the_others() {
        let mut other = twinned(&[(0, Some(Way::Anywhere)), (0, Some(Way::Other)), (0, None)]);
        for twin in &mut other.twins {
            "fine".clone_into(&mut twin.before);
        }
        let mut listed = twinned(&[(0, Some(Way::Anywhere)); 3]);
        for (index, answer) in ["fine", "coarse", "boulder"].into_iter().enumerate() {
            answer.clone_into(&mut listed.twins[index].before);
            listed.twins[index].edit = SourceEdit::new(10 + index..11 + index, "x");
        }
        listed
            .twins
            .extend(twinned(&[(0, Some(Way::Exchanged))]).twins);
        for twin in &mut listed.twins {
            twin.path = "expected.json".into();
        }
        for _ in 0..200 {
            let drawn = draw(&[other.clone(), listed.clone()]);
            let twins = drawn[1].roles.iter().flatten();
            let answers: Vec<&str> = twins.map(|twin| twin.before.as_str()).collect();
            assert!(
                answers.contains(&"coarse") || answers.contains(&"boulder"),
                "{answers:?}"
            );
        }
    }

    #[test]
    fn every_test_runs_unaltered_among_twins() {
        let own = |id: &str, failing: &[&str]| {
            let mut test = twinned(&[(0, Some(Way::Other)), (1, Some(Way::First)), (1, None)]);
            test.inside = vec![id.into()];
            for twin in &mut test.twins {
                twin.failing = failing.iter().map(|id| (*id).to_owned()).collect();
            }
            test
        };
        // The edits of the first two are of what both depend on.
        let tests = [
            own("a", &["a", "b"]),
            own("b", &["a", "b"]),
            own("c", &["c"]),
        ];
        let mut kept = 0;
        for _ in 0..200 {
            let runs = runs(tests.iter());
            let mut drawn: Vec<DrawnTest> = Vec::new();
            for test in &tests {
                drawn.push(DrawnTest {
                    file: "t.py".into(),
                    roles: test.draw_roles(runs, &drawn),
                    test: test.clone(),
                });
            }
            spare_each(&mut drawn);
            for one in &drawn {
                let fails = |run: usize| {
                    let mut twins = drawn.iter().filter_map(|other| other.roles[run].as_ref());
                    twins.any(|twin| twin.failing.contains(&one.test.inside[0]))
                };
                assert!((0..runs).any(|run| !fails(run)));
                kept += usize::from((0..runs).any(fails));
            }
        }
        assert_eq!(kept, 600);
    }

    /// The roles of all tests in one verdict.
    fn draw(tests: &[TwinnedTest]) -> Vec<DrawnTest> {
        let runs = runs(tests.iter());
        let mut drawn: Vec<DrawnTest> = Vec::new();
        for test in tests {
            drawn.push(DrawnTest {
                file: "t.py".into(),
                roles: test.draw_roles(runs, &drawn),
                test: test.clone(),
            });
        }
        spare_each(&mut drawn);
        drawn
    }

    /// Tests that expect the same answers, each in an assertion of its own.
    fn with_answers(answers: &[&str], tests: usize) -> Vec<TwinnedTest> {
        let places = (0..answers.len()).flat_map(|assertion| {
            let ways = [Some(Way::First), Some(Way::Other), None];
            ways.map(|way| (assertion, way))
        });
        let of = |number: usize| {
            let mut test = twinned(&places.clone().collect::<Vec<_>>());
            for twin in &mut test.twins {
                let place = 1000 * number + 10 * twin.assertion;
                let replacement = format!("{:?}", twin.way);
                twin.before = answers[twin.assertion].into();
                twin.edit = SourceEdit::new(place..place + 4, &replacement);
            }
            test
        };
        (0..tests).map(of).collect()
    }

    #[test]
    fn code_that_takes_the_most_frequent_answer_is_wrong_in_some_run() {
        let passes = |answers: &[&str], number: usize| {
            let tests = with_answers(answers, number);
            let is_right = |drawn: &[DrawnTest], run: usize, answer: &str| {
                let altered: Vec<&Twin> = drawn
                    .iter()
                    .filter_map(|one| one.roles[run].as_ref())
                    .filter(|twin| twin.way.is_some() && twin.before == answer)
                    .collect();
                let alike = |one: &Twin| {
                    let same = |other: &&&Twin| one.edit.replacement() == other.edit.replacement();
                    altered.iter().filter(same).count()
                };
                let most = altered.iter().map(|one| alike(one)).max();
                // Of two that are as frequent, it may take either.
                most.unwrap_or(0) <= number - altered.len()
            };
            let verdicts = (0..200).map(|_| draw(&tests)).filter(|drawn| {
                let runs = 0..drawn[0].roles.len();
                runs.clone().all(|run| {
                    let mut answers = answers.iter();
                    answers.all(|answer| is_right(drawn, run, answer))
                })
            });
            verdicts.count()
        };
        for tests in [3, 4, 5, 8, 13] {
            let (one, three) = (&["4127"][..], &["4127", "4128", "4129"][..]);
            let passed = (passes(one, tests), passes(three, tests));
            // An even number in two halves is a tie.
            assert!(
                passed.0 <= 20 && passed.1 <= 20,
                "{tests} tests: {passed:?}"
            );
        }
        // One of a single digit would tell code that computes the others of this one.
        assert!(passes(&["4"], 13) > 50);
    }

    /// Code may compute the other answers, see in which runs these are altered, and guess that of
    /// one test from their number.
    #[test]
    fn tests_with_the_same_answer_do_not_tell_when_one_is_altered() {
        for (number, bound) in [(2, 0.08), (4, 0.08), (5, 0.34), (8, 0.34), (13, 0.5)] {
            let tests = with_answers(&["4127"], number);
            // In each run: the number of other tests altered, and whether the first is.
            let seen = |drawn: &[DrawnTest], run: usize| {
                let altered = |one: &&DrawnTest| one.roles[run].is_some();
                let others = drawn[1..].iter().filter(altered).count();
                (others, drawn[0].roles[run].is_some())
            };
            let verdicts: Vec<Vec<(usize, bool)>> = (0..2000)
                .map(|_| draw(&tests))
                .map(|drawn| {
                    (0..drawn[0].roles.len())
                        .map(|run| seen(&drawn, run))
                        .collect()
                })
                .collect();
            let share = |least: usize, above: f64, below: f64| {
                let is_right = |(others, altered): &(usize, bool)| {
                    let altering = if *others >= least { above } else { below };
                    if *altered { altering } else { 1.0 - altering }
                };
                let of = |runs: &Vec<(usize, bool)>| runs.iter().map(is_right).product::<f64>();
                verdicts.iter().map(of).sum::<f64>() / 2000.0
            };
            let chances = [0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0];
            let guesses = (1..=number).flat_map(|least| {
                chances.map(|above| chances.map(|below| share(least, above, below)))
            });
            let best = guesses.flatten().fold(0.0, f64::max);
            assert!(best < bound, "{number} tests: {best}");
        }
    }

    /// Code that takes the middle of two bounds fails if the opposite is asked, as right code does.
    #[test]
    fn altered_answers_are_drawn_before_an_opposite_one() {
        let altered = [(1, Some(Way::Opposite)), (1, Some(Way::First))];
        let test = twinned(&[altered[0], altered[1], (0, None)]);
        for _ in 0..100 {
            let roles = test.draw_roles(5, &[]).into_iter().flatten();
            let ways: Vec<Option<Way>> = roles.map(|twin| twin.way).collect();
            for (_, way) in altered {
                assert!(ways.contains(&way), "{ways:?}");
            }
        }
    }

    #[test]
    fn one_of_several_twins_exchanges_elements() {
        let ways = [
            Some(Way::Other),
            Some(Way::Anywhere),
            Some(Way::Exchanged),
            None,
        ];
        let test = twinned(&ways.map(|way| (0, way)));
        let exchanges = |runs: usize| {
            let roles = test.draw_roles(runs, &[]).into_iter().flatten();
            roles
                .filter(|twin| twin.way == Some(Way::Exchanged))
                .count()
        };
        for _ in 0..100 {
            assert_eq!(exchanges(4), 1);
            assert_eq!(exchanges(3), 1);
        }
        // Of one twin, the way is drawn.
        let of_one: BTreeSet<usize> = (0..200).map(|_| exchanges(2)).collect();
        assert_eq!(of_one, [0, 1].into());
    }

    /// Code may read the answers of rows whose expected value is computed.
    #[test]
    fn rows_without_an_altered_answer_are_not_proven() {
        let mut test = twinned(&[(0, Some(Way::Other))]);
        test.ids = vec!["t.py::test[1]".into(), "t.py::test[2]".into()];
        test.inside = vec!["t.py::t0[1]".into(), "t.py::t0[2]".into()];
        let proof_of = |test: &TwinnedTest, failing: &[usize]| {
            let mut test = test.clone();
            test.twins[0].failing = failing.iter().map(|at| test.inside[*at].clone()).collect();
            let drawn = [DrawnTest {
                file: "t.py".into(),
                roles: vec![None, Some(test.twins[0].clone())],
                test,
            }];
            let mut verdict = Verdict::from_outcome(Outcome::Passed);
            let deciding = ["t.py::test[1]", "t.py::test[2]"];
            note_proof(&mut verdict, &deciding, &drawn, &[0, 1]);
            (verdict.proof, verdict.unproven)
        };
        assert_eq!(proof_of(&test, &[0, 1]), (Some(Proof::Altered), Vec::new()));
        assert_eq!(
            proof_of(&test, &[0]),
            (Some(Proof::Partial), vec!["t.py::test[2]".to_owned()])
        );
        // The order of the rows is unknown.
        test.is_ordered = false;
        test.inside = vec!["t.py::t0[0]".into(), "t.py::t0[1]".into()];
        let both = ["t.py::test[1]", "t.py::test[2]"].map(str::to_owned);
        assert_eq!(proof_of(&test, &[0]), (Some(Proof::Opposite), both.into()));
        assert_eq!(proof_of(&test, &[0, 1]), (Some(Proof::Altered), Vec::new()));
        assert_eq!(test.own_id("t.py::t0[0]").unwrap(), "a row of t.py::test");
    }

    /// Otherwise code that reads an answer fails the twin because of another answer.
    #[test]
    fn assertions_beside_the_altered_one_are_left_out() {
        let evaluated = |assertion, span: Range<usize>| EvaluatedAssertion {
            assertion,
            edit: SourceEdit::new(span.clone(), "pass"),
            answers: Vec::new(),
            span,
        };
        let mut test = TwinnedTest {
            // The last one is within the one before it.
            evaluated: vec![
                evaluated(0, 0..9),
                evaluated(1, 10..30),
                evaluated(2, 20..25),
            ],
            ..twinned(&[(0, Some(Way::Other)), (2, Some(Way::Other))])
        };
        let beside = |test: &TwinnedTest, twin: usize| {
            let others = test.beside(&test.twins[twin]).into_iter();
            others
                .map(|other| other.edit.range.start)
                .collect::<Vec<_>>()
        };
        assert_eq!(beside(&test, 0), [10, 20]);
        assert_eq!(beside(&test, 1), [0]);
        // One that is not altered looks like one that is.
        let unaltered: BTreeSet<usize> = (0..100).map(|_| test.edits_of_run(None).len()).collect();
        assert_eq!(unaltered, BTreeSet::from([1, 2]));
        // Of what several tests share, other assertions of each may be altered.
        test.twins[0].is_own = false;
        assert_eq!(beside(&test, 0), [0; 0]);
    }

    /// In each run, the reference ended otherwise than alone, so that no run proved anything.
    #[test]
    fn tests_of_one_file_do_not_run_with_those_that_inherit_them() {
        let own = |file: &str, home: Option<&str>| {
            let test = TwinnedTest {
                home: home.map(str::to_owned),
                ..twinned(&[])
            };
            (file.to_owned(), test)
        };
        let retained = |mut found: Vec<(String, TwinnedTest)>| {
            retain_one_heir(&mut found);
            let names = found.into_iter().map(|(file, test)| (file, test.home));
            names.collect::<Vec<_>>()
        };
        let (base, first, second) = (own("a", None), own("b", Some("a")), own("c", Some("a")));
        let other = own("b", None);
        let found = vec![first.clone(), base, other.clone(), second.clone()];
        let a = || Some("a".to_owned());
        assert_eq!(retained(found), [("a".into(), None), ("b".into(), None)]);
        let found = vec![first, second, other];
        assert_eq!(retained(found), [("b".into(), a()), ("b".into(), None)]);
    }

    /// Each altered row counts for its own test, and not only if all rows are altered.
    #[test]
    fn numbered_rows_belong_to_the_tests_that_run_at_their_places() {
        let lines = ["a[x]", "a[10]", "a[9]"].map(|id| {
            format!(
                "{{\"nonce\":\"w\",\"event\":\"test\",\"id\":\"{id}\",\"outcome\":\"passed\"}}\n"
            )
        });
        let report = TestReport::parse(lines.concat().as_bytes(), "w");
        let mut ids = ["a[10]", "a[9]", "a[x]"].map(str::to_owned);
        assert!(sort_by_place(&mut ids, &report));
        assert_eq!(ids, ["a[x]", "a[10]", "a[9]"]);
        let mut test = twinned(&[]);
        test.ids = ids.into();
        test.inside = ["t[0]", "t[1]", "t[2]"].map(str::to_owned).into();
        assert!(!has_own_rows(&test.ids, &test.inside));
        assert_eq!(test.altered_ids(&[&"t[1]".to_owned()].into()), ["a[10]"]);
        assert_eq!(test.own_id("t[2]").unwrap(), "a[9]");
        assert!(!sort_by_place(&mut ["a[8]".to_owned()], &report));
    }

    #[test]
    fn a_drawn_part_of_rows_stands_for_those_with_answers() {
        let ways = [Some(Way::First), Some(Way::Other), None];
        let mut test = twinned(&ways.map(|way| (0, way)));
        let ids =
            |at: &[usize]| -> BTreeSet<String> { at.iter().map(|at| format!("t[{at}]")).collect() };
        test.inside = ids(&[0, 1, 2, 3]).into_iter().collect();
        let twins = [(3, &[0][..]), (3, &[1, 2]), (0, &[1])];
        for (twin, (rows, failing)) in twins.into_iter().enumerate() {
            test.twins[twin].failing = ids(failing);
            test.twins[twin].rows = rows;
        }
        let stood_for: Vec<BTreeSet<String>> = test
            .twins
            .iter()
            .map(|twin| test.stood_for(twin).into_iter().cloned().collect())
            .collect();
        let answered = ids(&[0, 1, 2]);
        assert_eq!(stood_for, [answered.clone(), answered, ids(&[])]);
        test.twins[0].rows = 4;
        assert_eq!(test.stood_for(&test.twins[0]).len(), 4);
    }

    /// Code that reads the answer from the test, and fails as often as is best for it.
    #[test]
    fn a_guess_is_seldom_right_in_every_run() {
        let ways = [
            Some(Way::Other),
            Some(Way::First),
            Some(Way::Anywhere),
            None,
        ];
        for assertions in 1..=5 {
            let twins: Vec<_> = (0..assertions)
                .flat_map(|at| ways.map(|way| (at, way)))
                .collect();
            let test = twinned(&twins);
            let runs = runs([&test].into_iter());
            let mut numbers = vec![0u32; runs + 1];
            for _ in 0..4000 {
                let roles = test.draw_roles(runs, &[]);
                numbers[roles.iter().flatten().count()] += 1;
            }
            assert_eq!((numbers[0], numbers[runs]), (0, 0));
            let times = |chance: f64, number: usize| chance.powi(i32::try_from(number).unwrap());
            let is_right = |fails: f64| -> f64 {
                let of_number = |(altered, drawn): (usize, &u32)| {
                    let right = times(fails, altered) * times(1.0 - fails, runs - altered);
                    f64::from(*drawn) / 4000.0 * right
                };
                numbers.iter().enumerate().map(of_number).sum()
            };
            let best = (1..100).map(|percent| is_right(f64::from(percent) / 100.0));
            assert!(best.fold(0.0, f64::max) < 0.05, "{assertions}: {numbers:?}");
        }
    }

    #[test]
    fn a_limit_says_nothing_of_the_tests_that_it_kept_from_ending() {
        let result = |end: End| TestRunResult {
            end,
            report: TestReport::default(),
            changed: Vec::new(),
            unreadable: Vec::new(),
            output: String::new(),
            wall: Duration::ZERO,
            peak_memory: 0,
            level: String::new(),
        };
        let found = |end: End| difference(&result(end), &[], 0, &["t.py::test_000"], || None);
        let differs = |found: Option<Difference>, of_reference: Option<Difference>| match ending(
            found.unwrap(),
            of_reference,
            true,
            str::to_owned,
        ) {
            Ending::Differs(outcome, reason) => (outcome, reason),
            Ending::Limited(reason) => (Outcome::Infrastructure, reason.to_owned()),
            Ending::AsReference | Ending::Unclear => (Outcome::Passed, String::new()),
        };
        let (limit, other) = (End::TimedOut, End::Exited(1));
        let (outcome, reason) = differs(found(limit), None);
        assert_eq!(outcome, Outcome::Timeout);
        assert_eq!(reason, "among changed tests, the time limit ran out");
        assert_eq!(differs(found(other), None).0, Outcome::Failed);
        // The machine was slow for both.
        for of_code in [limit, other] {
            assert_eq!(
                differs(found(of_code), found(limit)).0,
                Outcome::Infrastructure
            );
        }
        // The tests depend on each other.
        assert_eq!(differs(found(other), found(other)).0, Outcome::Passed);
    }

    #[test]
    fn only_runs_that_ended_as_the_references_prove_a_pass() {
        let mut test = twinned(&[(0, Some(Way::Other))]);
        test.ids = vec!["t.py::test".into()];
        test.inside = vec!["t.py::test_000".into()];
        test.twins[0].failing = test.inside.iter().cloned().collect();
        let drawn = [DrawnTest {
            file: "t.py".into(),
            roles: vec![None, Some(test.twins[0].clone())],
            test,
        }];
        let noted = |ended: &[usize]| {
            let mut verdict = Verdict::from_outcome(Outcome::Passed);
            note_proof(&mut verdict, &["t.py::test"], &drawn, ended);
            let is_unchecked = verdict.unavailable.contains(&Evidence::Twins);
            (verdict.proof, verdict.twins.len(), is_unchecked)
        };
        assert_eq!(noted(&[0, 1]), (Some(Proof::Altered), 1, false));
        assert_eq!(noted(&[0]), (Some(Proof::None), 0, true));
        assert_eq!(noted(&[]), (Some(Proof::None), 0, true));
        // Without the run in which the test itself passed, code that always fails is right.
        assert_eq!(noted(&[1]), (Some(Proof::Opposite), 1, false));
    }

    #[test]
    fn an_id_belongs_to_a_written_title_before_a_computed_one() {
        let function = |names: &[&str]| TestFunction {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            inherited: Vec::new(),
            file: 0,
            span: 0..1,
            altered: Vec::new(),
            complements: Vec::new(),
            evaluated: Vec::new(),
            neutral: None,
        };
        let functions = [
            function(&["f", ANY_TITLE]),
            function(&["f", "a"]),
            function(&["f", "g", ANY_TITLE]),
            function(&["f", "g", ANY_TITLE]),
            function(&["f", "case \0"]),
            function(&["f", "\0 one"]),
        ];
        assert_eq!(only_owner(&functions, &[0]), Some(0));
        assert_eq!(only_owner(&functions, &[0, 1]), Some(1));
        assert_eq!(only_owner(&functions, &[0, 2]), Some(2));
        assert_eq!(only_owner(&functions, &[0, 2, 3]), None);
        assert_eq!(only_owner(&functions, &[4, 5]), None);
        // A row's title may look like that of another loop.
        assert_eq!(only_owner(&functions, &[0, 4]), None);
    }

    #[test]
    fn ids_match_their_function() {
        assert!(matches_id("t.py::test_a", "t.py::test_a"));
        assert!(matches_id("t.py::test_a", "t.py::test_a[1-2]"));
        assert!(!matches_id("t.py::test_a", "t.py::test_ab"));
        assert!(matches_id("f > case \0 of \0.", "f > case 1 of b."));
        assert!(!matches_id("f > case \0 of", "f > case 1 on"));
        assert!(matches_id("f > case \0", "f > case 1"));
    }
}
