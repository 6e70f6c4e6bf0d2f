//! Runs twins of the tests that decide, and judges code that passes one as forged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fillrate_server::syntax::Language;
use parking_lot::Mutex;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::error::VerdictError;
use super::executor::Executor;
use super::outcome::{Evidence, Outcome, Verdict};
use super::runner::{TestRun, TestRunResult};
use crate::language::twins::{self, SourceEdit, TestFunction};
use crate::task::sha256_hex;

/// The most twins that a verdict runs.
const MOST_TWINS: usize = 24;

/// The most files of tests that a verdict takes twins from. Each is started once more.
const MOST_FILES: usize = 6;

/// How many twins of each test are tried on the reference: an altered expectation, and a complement.
const TRIED: usize = 2;

/// The version of the rules for making twins; those of other versions are not loaded.
const VERSION: u32 = 1;

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
    twins: Vec<Twin>,
}

/// An edit of a test, and how the reference ends under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Twin {
    edit: SourceEdit,
    /// The ids of the tests that the reference fails: at least one.
    failing: BTreeSet<String>,
}

/// A test that was drawn for a verdict, with one of its twins.
struct DrawnTest {
    file: String,
    ids: Vec<String>,
    twin: Twin,
}

/// The code that a verdict is on.
#[derive(Clone, Copy)]
pub(super) struct JudgedCode<'a> {
    /// The changed file's path in the project.
    pub(super) path: &'a str,
    /// Its contents.
    pub(super) contents: &'a str,
}

/// How code ends under twins.
enum TwinResult {
    /// Every twin failed, and every other test passed.
    AsReference,
    /// A twin passed: its id.
    Passed(String),
    /// A test that is no twin did not pass: why.
    OtherFailure(String),
}

impl TwinCheck {
    /// Twins of the tests of the judge with this key.
    pub(super) fn new(cache: &Path, key: &str) -> Self {
        let name = sha256_hex(format!("{VERSION}\0{key}").as_bytes());
        Self {
            files: Mutex::default(),
            folder: cache.join("twins").join(&name[..16]),
        }
    }

    /// Runs twins of `deciding` tests, which all passed, and changes the verdict if the code does
    /// not end as the reference does. The tests run twice, among each other: in either run a half
    /// of them, drawn at random, are twins, and the other half are as they were.
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
            verdict.unavailable.push(Evidence::Twins);
            return Ok(());
        }
        drawn.shuffle(&mut rand::rng());
        let half = drawn.len().div_ceil(2);
        for (start, end) in [(0, half), (half, drawn.len())] {
            if start == end {
                continue;
            }
            let is_twin = |index: usize| (start..end).contains(&index);
            self.run_half(executor, engine, code, &drawn, &is_twin, verdict)?;
            if verdict.outcome != Outcome::Passed {
                return Ok(());
            }
        }
        verdict.twins = drawn
            .iter()
            .flat_map(|test| test.twin.failing.clone())
            .collect();
        verdict.twins.sort();
        Ok(())
    }

    /// Runs the drawn tests, some of them as twins.
    fn run_half(
        &self,
        executor: &Executor,
        engine: Engine,
        code: JudgedCode<'_>,
        drawn: &[DrawnTest],
        is_twin: &dyn Fn(usize) -> bool,
        verdict: &mut Verdict,
    ) -> Result<(), VerdictError> {
        let files = with_twins(executor, drawn, is_twin)?;
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
                limits: executor.limits(&ids),
            };
            let result = executor.execute(engine, &run)?;
            verdict.seconds += result.wall.as_secs_f64();
            Ok(compare(executor, &result, drawn, is_twin, &ids))
        };
        let first = run(Some(code))?;
        if matches!(first, TwinResult::AsReference) {
            return Ok(());
        }
        // Tests that depend on each other may end otherwise among twins, whatever the code.
        if !matches!(run(None)?, TwinResult::AsReference) {
            verdict.unavailable.push(Evidence::Twins);
            return Ok(());
        }
        let decisive = match first {
            // A flaky test may fail once.
            TwinResult::OtherFailure(_) => run(Some(code))?,
            first => first,
        };
        match decisive {
            TwinResult::AsReference => return Ok(()),
            TwinResult::Passed(id) => {
                verdict.reason =
                    format!("{id} passed although it was changed so that it must fail");
                verdict.outcome = Outcome::Forged;
            }
            TwinResult::OtherFailure(reason) => {
                verdict.reason = format!("among changed tests, {reason}");
                verdict.outcome = Outcome::Failed;
            }
        }
        verdict.missing = vec![Evidence::Twins];
        Ok(())
    }

    /// Draws tests with twins from those that decide, those first that are named first.
    fn draw(
        &self,
        executor: &Executor,
        engine: Engine,
        deciding: &[&str],
    ) -> Result<Vec<DrawnTest>, VerdictError> {
        let mut drawn = Vec::new();
        let deciding_set: BTreeSet<&str> = deciding.iter().copied().collect();
        for path in executor
            .runner
            .test_files(deciding)
            .into_iter()
            .take(MOST_FILES)
        {
            let tests = self.twins_of(executor, engine, &path)?;
            for test in tests.iter() {
                let decides = test.ids.iter().any(|id| deciding_set.contains(id.as_str()));
                let index = rand::random_range(0..test.twins.len());
                if decides && drawn.len() < MOST_TWINS {
                    drawn.push(DrawnTest {
                        file: path.clone(),
                        ids: test.ids.clone(),
                        twin: test.twins[index].clone(),
                    });
                }
            }
        }
        Ok(drawn)
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
                    tracing::debug!("twins are not cached: {error}");
                }
                tests
            }
        };
        let tests = Arc::new(tests);
        *cell = Some(Arc::clone(&tests));
        Ok(tests)
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
        let twins = Vec::new();
        tests.push((function, TwinnedTest { ids, twins }));
    }
    for round in 0..TRIED {
        let candidate = |function: &TestFunction| -> Option<SourceEdit> {
            let twins = &function.twins;
            let index = if round == 0 {
                0
            } else {
                twins.len().checked_sub(round)?
            };
            (round == 0 || index > 0).then(|| twins.get(index).cloned())?
        };
        let edits: Vec<Option<SourceEdit>> = tests
            .iter()
            .map(|(function, _)| candidate(function))
            .collect();
        let chosen: Vec<&SourceEdit> = edits.iter().flatten().collect();
        let ids: Vec<&str> = tests
            .iter()
            .zip(&edits)
            .filter(|(_, edit)| edit.is_some())
            .flat_map(|((_, test), _)| test.ids.iter().map(String::as_str))
            .collect();
        if ids.is_empty() {
            break;
        }
        let changed = twins::apply(&chosen, &text);
        let run = TestRun {
            replaced: &[(path, &changed)],
            select: Some(&ids),
            coverage: None,
            first_failure_ends: false,
            limits: executor.limits(&ids),
        };
        let result = executor.execute(engine, &run)?;
        let outcomes = &result.report.tests;
        for ((_, test), edit) in tests.iter_mut().zip(edits) {
            let failing: BTreeSet<String> = test
                .ids
                .iter()
                .filter(|id| {
                    outcomes
                        .get(*id)
                        .is_some_and(|test| test.outcome.is_failure())
                })
                .cloned()
                .collect();
            if let (Some(edit), false) = (edit, failing.is_empty()) {
                test.twins.push(Twin { edit, failing });
            }
        }
    }
    let tests = tests.into_iter().map(|(_, test)| test);
    Ok(tests.filter(|test| !test.twins.is_empty()).collect())
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
        .filter(|(function, ids)| !ids.is_empty() && !function.twins.is_empty())
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

/// The files of the drawn tests, with the twins in place.
fn with_twins(
    executor: &Executor,
    drawn: &[DrawnTest],
    is_twin: &dyn Fn(usize) -> bool,
) -> Result<Vec<(String, String)>, VerdictError> {
    let mut edits: BTreeMap<&str, Vec<&SourceEdit>> = BTreeMap::new();
    for (index, test) in drawn.iter().enumerate() {
        if is_twin(index) {
            edits.entry(&test.file).or_default().push(&test.twin.edit);
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
    drawn: &[DrawnTest],
    is_twin: &dyn Fn(usize) -> bool,
    ids: &[&str],
) -> TwinResult {
    let outcomes = &result.report.tests;
    let must_fail: BTreeSet<&str> = drawn
        .iter()
        .enumerate()
        .filter(|(index, _)| is_twin(*index))
        .flat_map(|(_, test)| test.twin.failing.iter().map(String::as_str))
        .collect();
    let passes = |id: &str| {
        outcomes
            .get(id)
            .is_some_and(|test| !test.outcome.is_failure())
    };
    if let Some(id) = must_fail.iter().find(|id| passes(id)) {
        return TwinResult::Passed((*id).to_owned());
    }
    if let Some(sentence) = executor.missing_beside_twins(result) {
        return TwinResult::OtherFailure(sentence);
    }
    let failing = ids
        .iter()
        .find(|id| !must_fail.contains(**id) && !passes(id));
    match failing {
        Some(id) => TwinResult::OtherFailure(format!("{id} failed")),
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
