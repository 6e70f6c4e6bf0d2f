//! Runs twins of the tests that decide, and judges code that passes one as forged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fillrate_language::task::sha256_hex;
use fillrate_language::twins::{self, SourceEdit, TestFunction};
use fillrate_syntax::Language;
use parking_lot::Mutex;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::judged_code::JudgedCode;
use super::outcome::{Evidence, Outcome, Verdict};
use super::runner::{TestRun, TestRunResult};

/// The most twins that a verdict runs.
const MOST_TWINS: usize = 24;

/// The most files of tests that a verdict takes twins from. Each is started once more.
const MOST_FILES: usize = 6;

/// How many altered expectations of each test are tried on the reference.
const ALTERED_TRIED: usize = 3;

/// How many complements are tried, until the reference fails one.
const COMPLEMENTS_TRIED: usize = 2;

/// The version of the rules for making twins; those of other versions are not loaded.
const VERSION: u32 = 2;

/// Makes twins of a project's tests, each once, and runs them beside their tests.
pub(super) struct TwinCheck {
    /// By file of tests; the inner lock is held while its twins are tried on the reference.
    files: Mutex<HashMap<String, Arc<TwinCell>>>,
    /// Where twins that were tried are stored.
    folder: PathBuf,
}

/// The twins of a file's tests, once they are made.
type TwinCell = Mutex<Option<Arc<Vec<TwinnedTest>>>>;

/// A test function with twins that the reference fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TwinnedTest {
    /// The ids of its tests: more than one if it has parameters.
    ids: Vec<String>,
    /// With an altered expectation.
    altered: Vec<Twin>,
    /// With an assertion that says the opposite.
    opposite: Vec<Twin>,
}

/// An edit of a test, and how the reference ends under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Twin {
    edit: SourceEdit,
    /// The ids of the tests that the reference fails: at least one.
    failing: BTreeSet<String>,
}

/// A test that was drawn for a verdict.
struct DrawnTest {
    file: String,
    ids: Vec<String>,
    /// What takes its place in each run; `None` for the test as it is.
    roles: Vec<Option<Twin>>,
}

/// How code ends under twins.
enum TwinResult {
    /// Every twin failed, and every other test passed.
    AsReference,
    /// A twin passed: its id.
    Passed(String),
    /// A test that is no twin did not pass: why.
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
        }
    }

    /// The folder of the twins of the tests of the judge with this key, relative to the cache.
    pub(super) fn folder(key: &str) -> PathBuf {
        let name = sha256_hex(format!("{VERSION}\0{key}").as_bytes());
        Path::new("twins").join(&name[..16])
    }

    /// Runs twins of `deciding` tests, none of which failed, and changes the verdict if the code does
    /// not end as the reference does. Every drawn test runs once as it is, and in the other runs
    /// as one of its twins: in which is drawn at random for each, so that twins run among tests.
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
        let mut drawn = self.draw(executor, engine, deciding)?;
        if drawn.is_empty() {
            note_unavailable(verdict);
            return Ok(());
        }
        drawn.shuffle(&mut rand::rng());
        for index in 0..drawn[0].roles.len() {
            let found = self.run_among_twins(executor, engine, code, (&drawn, index), verdict)?;
            let Some((outcome, reason)) = found else {
                continue;
            };
            verdict.missing.push(Evidence::Twins);
            // What is not passed for other reasons stays failed unless it is forged.
            if outcome == Outcome::Forged || verdict.outcome == Outcome::Passed {
                verdict.outcome = outcome;
                verdict.reason = reason;
            }
            return Ok(());
        }
        verdict.twins = drawn.into_iter().flat_map(|test| test.ids).collect();
        verdict.twins.sort();
        Ok(())
    }

    /// Runs the drawn tests in their roles in one run, given by its index. The outcome and its
    /// reason if the code does not end as the reference does.
    fn run_among_twins(
        &self,
        executor: &Executor,
        engine: Engine,
        code: JudgedCode<'_>,
        (drawn, index): (&[DrawnTest], usize),
        verdict: &mut Verdict,
    ) -> Result<Option<(Outcome, String)>, VerdictError> {
        let files = with_twins(executor, drawn, index)?;
        let mut ids: Vec<&str> = drawn
            .iter()
            .flat_map(|test| test.ids.iter().map(String::as_str))
            .collect();
        ids.shuffle(&mut rand::rng());
        let mut run = |code: Option<JudgedCode<'_>>| -> Result<TwinResult, VerdictError> {
            let mut replaced: Vec<(&str, &str)> = files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .collect();
            replaced.extend(code.map(|code| (code.path, code.contents)));
            let run = TestRun {
                replaced: &replaced,
                select: Some(&ids),
                coverage: None,
                first_failure_ends: false,
                test_time: None,
                limits: executor.limits(&ids),
            };
            let result = executor.execute(engine, &run)?;
            verdict.seconds += result.wall.as_secs_f64();
            verdict.twin_seconds += result.wall.as_secs_f64();
            Ok(compare(executor, &result, (drawn, index), &ids))
        };
        let first = run(Some(code))?;
        if matches!(first, TwinResult::AsReference) {
            return Ok(None);
        }
        // Tests that depend on each other may end otherwise among twins, whatever the code.
        if !matches!(run(None)?, TwinResult::AsReference) {
            note_unavailable(verdict);
            return Ok(None);
        }
        let decisive = match first {
            // A flaky test may fail once.
            TwinResult::OtherFailure(_) | TwinResult::Unproved(_) => run(Some(code))?,
            first => first,
        };
        Ok(match decisive {
            TwinResult::AsReference => None,
            TwinResult::Passed(id) => {
                let reason = format!("{id} passed although it was changed so that it must fail");
                Some((Outcome::Forged, reason))
            }
            // What lacked evidence before lacks it again, and twins say nothing more of it.
            TwinResult::Unproved(_) if verdict.outcome != Outcome::Passed => None,
            TwinResult::OtherFailure(reason) | TwinResult::Unproved(reason) => {
                let reason = format!("among changed tests, {reason}");
                Some((Outcome::Failed, reason))
            }
        })
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
        for path in executor
            .runner
            .test_files(deciding)
            .into_iter()
            .take(MOST_FILES)
        {
            let tests = self.twins_of(executor, engine, &path)?;
            let decides =
                |test: &&TwinnedTest| test.ids.iter().any(|id| deciding_set.contains(id.as_str()));
            let deciding = tests.iter().filter(decides);
            found.extend(deciding.map(|test| (path.clone(), test.clone())));
        }
        found.truncate(MOST_TWINS);
        // Few tests are asked twice, if they have two twins.
        let most = found.iter().map(|(_, test)| test.count()).max();
        let asked = (MOST_TWINS / found.len().max(1)).clamp(1, 2);
        let asked = asked.min(most.unwrap_or(0));
        let draw = |(file, test): (String, TwinnedTest)| DrawnTest {
            file,
            roles: test.draw_roles(asked),
            ids: test.ids,
        };
        Ok(found.into_iter().map(draw).collect())
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
        let stored = self.folder.join(&sha256_hex(path.as_bytes())[..32]);
        let loaded = std::fs::read(&stored)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let tests = match loaded {
            Some(tests) => tests,
            None => {
                let tests = make_twins(executor, engine, path)?;
                if let Err(error) = store(&stored, &tests) {
                    tracing::warn!("twins are not cached: {error}");
                }
                tests
            }
        };
        let tests = Arc::new(tests);
        *cell = Some(Arc::clone(&tests));
        Ok(tests)
    }
}

/// Notes that a pass has no twins to prove it.
fn note_unavailable(verdict: &mut Verdict) {
    if verdict.outcome == Outcome::Passed {
        verdict.unavailable.push(Evidence::Twins);
    }
}

impl TwinnedTest {
    /// How many twins it has.
    fn count(&self) -> usize {
        self.altered.len() + self.opposite.len()
    }

    /// Draws the twins that take its place, at most `asked`, and the run in which it stays as it
    /// is. One has an altered expectation, if there is any: code that reads the expectation passes
    /// no other.
    fn draw_roles(&self, asked: usize) -> Vec<Option<Twin>> {
        let mut rng = rand::rng();
        let mut altered = self.altered.clone();
        altered.shuffle(&mut rng);
        let rest = altered.split_off(altered.len().min(1));
        let mut others = [rest, self.opposite.clone()].concat();
        others.shuffle(&mut rng);
        let twins = altered.into_iter().chain(others).map(Some);
        let mut roles: Vec<Option<Twin>> = twins.take(asked).collect();
        roles.resize(asked + 1, None);
        roles.shuffle(&mut rng);
        roles
    }
}

fn store(path: &Path, tests: &[TwinnedTest]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, tests)?;
    file.persist(path)?;
    Ok(())
}

/// Makes twins of a file's tests, and keeps those that the reference fails.
fn make_twins(
    executor: &Executor,
    engine: Engine,
    path: &str,
) -> Result<Vec<TwinnedTest>, VerdictError> {
    let Some(language) = Language::for_path(Path::new(path)) else {
        return Ok(Vec::new());
    };
    let text = executor.runner.read(path)?;
    let functions = twins::test_functions(language, &text);
    let stable = executor.baseline.stable();
    let mut tests: Vec<(TestFunction, TwinnedTest)> = Vec::new();
    for (function, ids) in functions_with_ids(executor, path, functions, &stable) {
        let (altered, opposite) = (Vec::new(), Vec::new());
        let test = TwinnedTest {
            ids,
            altered,
            opposite,
        };
        tests.push((function, test));
    }
    for round in 0..ALTERED_TRIED + COMPLEMENTS_TRIED {
        let complements = round.checked_sub(ALTERED_TRIED);
        let candidate = |(function, test): &(TestFunction, TwinnedTest)| match complements {
            None => function.altered.get(round).cloned(),
            Some(index) if test.opposite.is_empty() => function.complements.get(index).cloned(),
            Some(_) => None,
        };
        let edits: Vec<(usize, SourceEdit)> = tests
            .iter()
            .enumerate()
            .filter_map(|(index, test)| Some((index, candidate(test)?)))
            .collect();
        let all: Vec<&TwinnedTest> = tests.iter().map(|(_, test)| test).collect();
        for (index, twin) in try_edits(executor, engine, (path, &text), &all, edits)? {
            let (_, test) = &mut tests[index];
            match complements {
                None => test.altered.push(twin),
                Some(_) => test.opposite.push(twin),
            }
        }
    }
    let tests = tests.into_iter().map(|(_, test)| test);
    Ok(tests.filter(|test| test.count() > 0).collect())
}

/// Runs the reference with an edit of each of some tests, given by their indexes: the edits under
/// which it fails. One that does not compile keeps the others from running, so each half is tried.
fn try_edits(
    executor: &Executor,
    engine: Engine,
    (path, text): (&str, &str),
    tests: &[&TwinnedTest],
    mut edits: Vec<(usize, SourceEdit)>,
) -> Result<Vec<(usize, Twin)>, VerdictError> {
    if edits.is_empty() {
        return Ok(Vec::new());
    }
    let chosen: Vec<&SourceEdit> = edits.iter().map(|(_, edit)| edit).collect();
    let changed = twins::apply(&chosen, text);
    let ids: Vec<&str> = edits
        .iter()
        .flat_map(|(index, _)| tests[*index].ids.iter().map(String::as_str))
        .collect();
    let run = TestRun {
        replaced: &[(path, &changed)],
        select: Some(&ids),
        coverage: None,
        first_failure_ends: false,
        test_time: None,
        limits: executor.limits(&ids),
    };
    let report = executor.execute(engine, &run)?.report;
    if edits.len() > 1 && report.collect_errors.iter().any(|error| error.compile) {
        let rest = edits.split_off(edits.len() / 2);
        let mut found = try_edits(executor, engine, (path, text), tests, edits)?;
        found.extend(try_edits(executor, engine, (path, text), tests, rest)?);
        return Ok(found);
    }
    let fails = |id: &&String| {
        let outcome = report.tests.get(*id);
        outcome.is_some_and(|test| test.outcome.is_failure())
    };
    let found = edits.into_iter().filter_map(|(index, edit)| {
        let failing: BTreeSet<String> = tests[index].ids.iter().filter(fails).cloned().collect();
        (!failing.is_empty()).then_some((index, Twin { edit, failing }))
    });
    Ok(found.collect())
}

/// The functions that are tests of the baseline, each with the ids of its tests. An id that more
/// than one function may have is no function's.
fn functions_with_ids(
    executor: &Executor,
    path: &str,
    functions: Vec<TestFunction>,
    stable: &[&str],
) -> Vec<(TestFunction, Vec<String>)> {
    let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        let patterns = executor.runner.test_ids(path, &function.names);
        for id in stable {
            if patterns.iter().any(|pattern| matches_id(pattern, id)) {
                owners.entry(id).or_default().push(index);
            }
        }
    }
    let mut ids: Vec<Vec<String>> = vec![Vec::new(); functions.len()];
    for (id, owners) in owners {
        if let [owner] = owners.as_slice() {
            ids[*owner].push(id.to_owned());
        }
    }
    functions
        .into_iter()
        .zip(ids)
        .filter(|(_, ids)| !ids.is_empty())
        .collect()
}

/// Whether a test has this id: equal but for what stands at each `\0`, and but for parameters in
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

/// The files of the drawn tests, with the twins of a run in place.
fn with_twins(
    executor: &Executor,
    drawn: &[DrawnTest],
    index: usize,
) -> Result<Vec<(String, String)>, VerdictError> {
    let mut edits: BTreeMap<&str, Vec<&SourceEdit>> = BTreeMap::new();
    for test in drawn {
        if let Some(twin) = &test.roles[index] {
            edits.entry(&test.file).or_default().push(&twin.edit);
        }
    }
    edits
        .into_iter()
        .map(|(path, edits)| {
            let text = executor.runner.read(path)?;
            Ok((path.to_owned(), twins::apply(&edits, &text)))
        })
        .collect()
}

fn compare(
    executor: &Executor,
    result: &TestRunResult,
    (drawn, index): (&[DrawnTest], usize),
    ids: &[&str],
) -> TwinResult {
    let outcomes = &result.report.tests;
    let must_fail: BTreeSet<&str> = drawn
        .iter()
        .filter_map(|test| test.roles[index].as_ref())
        .flat_map(|twin| twin.failing.iter().map(String::as_str))
        .collect();
    let passes = |id: &str| {
        outcomes
            .get(id)
            .is_some_and(|test| !test.outcome.is_failure())
    };
    if let Some(id) = must_fail.iter().find(|id| passes(id)) {
        return TwinResult::Passed((*id).to_owned());
    }
    let failing = ids
        .iter()
        .find(|id| !must_fail.contains(**id) && !passes(id));
    if let Some(id) = failing {
        return TwinResult::OtherFailure(format!("{id} failed"));
    }
    match executor.missing_beside_twins(result) {
        Some(sentence) => TwinResult::Unproved(sentence),
        None => TwinResult::AsReference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
