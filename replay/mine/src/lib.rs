//! From coverage and syntax to holes: candidates, the leak audit and admission.
//!
//! A hole is admitted only if its tests distinguish right from wrong: the reference passes, an
//! empty splice fails, and so does a statement that raises when it is reached.

pub mod api;
pub mod candidates;
pub mod category;
pub mod contexts;
pub mod dependencies;
pub mod import;
mod imports;
pub mod invocation;
pub mod leak;
pub mod minhash;
mod nesting;
mod spread;
pub mod tokens;
mod uses;
pub mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use candidates::HoleCandidate;
use fillrate_language::SourceFile;
use fillrate_language::mutate::MutationScore;
use fillrate_language::task::{Hole, HoleKind, Mutation};
use fillrate_server::cleanup;
use fillrate_syntax::Language;
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{Outcome, Verdict};
use leak::LeakIndex;
use serde::{Deserialize, Serialize};
use spread::CandidateQueue;
use strum::IntoStaticStr;

/// Chooses holes among candidates and admits those that tests can judge; tests run from `jobs`
/// threads. The same input gives the same holes for any number of threads.
///
/// # Errors
/// The first error of running the tests.
pub fn admit<E: Send>(
    sources: &[SourceFile],
    candidates: Vec<HoleCandidate>,
    audit: &LeakIndex,
    wanted: &MiningRequest,
    tests: &HoleJudge<
        impl Fn(&str, &str) -> Result<Verdict, E> + Sync,
        impl Fn(&Hole, f64) -> Result<Mutation, E> + Sync,
    >,
    jobs: usize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<MinedHoles, E> {
    let contents = contents_by_path(sources);
    let try_one = |candidate: &HoleCandidate| -> Result<Admission, E> {
        // This is checked first, since it needs no test.
        if wanted.solved.contains(&candidate.hole.id) {
            return Ok(Err(Rejection::Solved));
        }
        if let Some(rejection) = rejection(candidate, &contents, audit, &tests.judge)? {
            return Ok(Err(rejection));
        }
        let Some(least) = wanted.mutation_score else {
            return Ok(Ok(None));
        };
        let mutation = (tests.mutate)(&candidate.hole, least)?;
        let score = MutationScore::from(&mutation).score();
        Ok(match score.is_some_and(|score| score >= least) {
            true => Ok(Some(mutation)),
            false => Err(Rejection::MutationScore),
        })
    };
    admit_by(&contents, candidates, wanted, try_one, jobs, progress)
}

/// As [`admit`] without tests: chooses holes by their text alone.
pub fn admit_untested(
    sources: &[SourceFile],
    candidates: Vec<HoleCandidate>,
    audit: &LeakIndex,
    wanted: &MiningRequest,
) -> MinedHoles {
    let contents = contents_by_path(sources);
    let try_one = |candidate: &HoleCandidate| -> Result<Admission, Infallible> {
        if wanted.solved.contains(&candidate.hole.id) {
            return Ok(Err(Rejection::Solved));
        }
        Ok(textual_rejection(candidate, &contents, audit).map_or(Ok(None), Err))
    };
    match admit_by(&contents, candidates, wanted, try_one, 1, |_, _| {}) {
        Ok(mined) => mined,
        Err(never) => match never {},
    }
}

fn contents_by_path(sources: &[SourceFile]) -> HashMap<&str, &str> {
    sources
        .iter()
        .map(|file| (file.path.as_str(), file.contents.as_str()))
        .collect()
}

/// Chooses holes among candidates that `try_one` admits.
fn admit_by<E: Send>(
    contents: &HashMap<&str, &str>,
    candidates: Vec<HoleCandidate>,
    wanted: &MiningRequest,
    try_one: impl Fn(&HoleCandidate) -> Result<Admission, E> + Sync,
    jobs: usize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<MinedHoles, E> {
    let mut queue = CandidateQueue::new(candidates, &wanted.kinds, wanted.seed);
    let mut mined = MinedHoles {
        candidates: queue.len(),
        ..MinedHoles::default()
    };
    loop {
        // A wave has as many candidates as holes are missing, so it never admits too many.
        let missing = wanted.holes.saturating_sub(mined.holes.len());
        let wave: Vec<HoleCandidate> = (0..missing).map_while(|_| queue.take(contents)).collect();
        if wave.is_empty() {
            break;
        }
        // What is tried and rejected is no progress: others take its place in a later wave.
        let admitted = AtomicUsize::new(mined.holes.len());
        let settled = run_jobs(
            &wave,
            jobs,
            || (),
            |(), candidate| {
                let settled = try_one(candidate)?;
                admitted.fetch_add(usize::from(settled.is_ok()), Ordering::Relaxed);
                Ok(settled)
            },
            |_| progress(admitted.load(Ordering::Relaxed), wanted.holes),
        )?;
        // Taken in the order of the wave, results do not depend on the number of threads.
        for (mut candidate, settled) in wave.into_iter().zip(settled) {
            match settled {
                Ok(mutation) => {
                    candidate.hole.mutation = mutation;
                    mined.holes.push(candidate.hole);
                }
                Err(reason) => {
                    *mined.rejected.entry(reason).or_default() += 1;
                    // The next candidate is then of the same kind, so kinds stay balanced.
                    queue.give_back(&candidate, contents);
                }
            }
        }
    }
    // Holes are sorted by place, so that the output does not depend on when each was admitted.
    mined
        .holes
        .sort_by(|a, b| (&a.path, a.start, a.end).cmp(&(&b.path, b.start, b.end)));
    Ok(mined)
}

/// Functions that run a project's tests.
pub struct HoleJudge<J, M> {
    /// The verdict with one file, by its path, in place of the original.
    pub judge: J,
    /// The mutation score of a hole; it stops as soon as the score is known to be below a number.
    pub mutate: M,
}

/// Holes wanted of a project.
#[derive(Clone, Debug)]
pub struct MiningRequest {
    /// The most holes.
    pub holes: usize,
    /// The kinds, mined in equal numbers as far as the candidates allow.
    pub kinds: Vec<HoleKind>,
    /// Another seed chooses other holes.
    pub seed: u64,
    /// The least mutation score of a hole, from 0 to 1; `None` for no minimum.
    pub mutation_score: Option<f64>,
    /// Holes, by id, that are not admitted because a model has filled them without other files.
    pub solved: BTreeSet<String>,
}

/// Result of mining.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinedHoles {
    /// Admitted holes, in the order of their places.
    pub holes: Vec<Hole>,
    /// Number of candidates of the wanted kinds.
    pub candidates: usize,
    /// Those that were tried and not admitted, by reason.
    pub rejected: BTreeMap<Rejection, usize>,
}

/// Reason for rejecting a candidate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Rejection {
    /// None of its lines changed after the wanted time.
    Older,
    /// The reference can be read elsewhere in what a server sees.
    Leak,
    /// The server's clean-up would change the reference, so no model could score.
    CleanUp,
    /// The tests fail with the reference itself.
    ReferenceFails,
    /// The tests pass with nothing in the hole.
    EmptyPasses,
    /// The tests pass with a raising statement before the hole.
    RaisingPasses,
    /// A wrong filling reaches a limit and does not fail.
    Unsettled,
    /// The tests detect fewer of the faults put into its lines than required, or no fault fits into
    /// them.
    MutationScore,
    /// A model has written the reference, shown the hole's own file alone.
    Solved,
}

/// Outcome of a candidate: admitted, with its mutation score if one is wanted, or rejected.
type Admission = Result<Option<Mutation>, Rejection>;

impl Rejection {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Lists how many candidates were rejected for which reason.
    pub fn describe(counts: &BTreeMap<Self, usize>) -> String {
        let counts = counts.iter();
        let reasons: Vec<String> = counts
            .map(|(reason, count)| format!("{} {count}", reason.name()))
            .collect();
        match reasons.is_empty() {
            true => "none".to_owned(),
            false => reasons.join(", "),
        }
    }
}

/// Returns the reason for rejecting a candidate, if there is one; the cheap checks run first.
fn rejection<E>(
    candidate: &HoleCandidate,
    contents: &HashMap<&str, &str>,
    audit: &LeakIndex,
    judge: impl Fn(&str, &str) -> Result<Verdict, E>,
) -> Result<Option<Rejection>, E> {
    if let Some(rejection) = textual_rejection(candidate, contents, audit) {
        return Ok(Some(rejection));
    }
    let hole = &candidate.hole;
    let Some((text, (prefix, suffix))) = cut(hole, contents) else {
        return Ok(Some(Rejection::ReferenceFails));
    };
    // A timeout or a flaky test shows nothing, so such a candidate is unsettled and left out.
    let empty = judge(&hole.path, &[prefix, suffix].concat())?;
    match empty.outcome {
        Outcome::Failed | Outcome::Syntax => {}
        Outcome::Passed => return Ok(Some(Rejection::EmptyPasses)),
        _ => return Ok(Some(Rejection::Unsettled)),
    }
    let raising = judge(&hole.path, &candidate.raising(text))?;
    match raising.outcome {
        Outcome::Failed | Outcome::Syntax => {}
        Outcome::Passed => return Ok(Some(Rejection::RaisingPasses)),
        _ => return Ok(Some(Rejection::Unsettled)),
    }
    // The same run of all tests for every candidate: others are tried during it.
    let reference = judge(&hole.path, text)?;
    Ok((reference.outcome != Outcome::Passed).then_some(Rejection::ReferenceFails))
}

/// Returns the text of a hole's file, and the text before and after the hole.
fn cut<'a>(
    hole: &Hole,
    contents: &HashMap<&str, &'a str>,
) -> Option<(&'a str, (&'a str, &'a str))> {
    let text = *contents.get(hole.path.as_str())?;
    Some((text, hole.cut(text).ok()?))
}

/// Returns the reason for rejecting a candidate that does not depend on its tests, if there is one.
fn textual_rejection(
    candidate: &HoleCandidate,
    contents: &HashMap<&str, &str>,
    audit: &LeakIndex,
) -> Option<Rejection> {
    let hole = &candidate.hole;
    let Some((text, (prefix, suffix))) = cut(hole, contents) else {
        return Some(Rejection::ReferenceFails);
    };
    if audit.leaks(hole, text) {
        return Some(Rejection::Leak);
    }
    let place = cleanup::CursorSite {
        prefix,
        suffix,
        path: None,
        language: Language::for_path(std::path::Path::new(&hole.path)),
        tree: None,
        extent: cleanup::CompletionExtent::default(),
        chat: false,
    };
    // A reference that the clean-up cuts could not be completed even by a perfect model.
    (cleanup::clean(&hole.reference, &place).0 != hole.reference).then_some(Rejection::CleanUp)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use fillrate_language::task::sha256_hex;
    use proptest::prelude::*;

    use super::candidates::LineCoverage;
    use super::*;

    const PROGRAM: &str = "def double(a):\n    b = a + a\n    log(b)\n    return b\n\n\ndef same(a):\n    copy = a\n    return copy\n";

    fn sources() -> Vec<SourceFile> {
        vec![SourceFile {
            path: "a.py".into(),
            contents: PROGRAM.into(),
            language: Language::by_id("python").expect("Python is in the table"),
        }]
    }

    fn mined(seed: u64, jobs: usize) -> MinedHoles {
        let sources = sources();
        let coverage = LineCoverage {
            tested: &|line| (2..=4).contains(&line) || line > 7,
            at_import: &|_| false,
        };
        let candidates = candidates::find_candidates("demo", &sources[0], coverage);
        let wanted = MiningRequest {
            holes: 3,
            kinds: vec![HoleKind::Line],
            seed,
            mutation_score: None,
            solved: BTreeSet::new(),
        };
        // Stands in for tests that notice everything but a missing log line.
        let judge = |_: &str, text: &str| {
            let raises = text.contains("raise");
            let right = text.replace("    log(b)\n", "").replace("    \n", "")
                == PROGRAM.replace("    log(b)\n", "");
            Ok::<_, Infallible>(Verdict::from_outcome(if right && !raises {
                Outcome::Passed
            } else {
                Outcome::Failed
            }))
        };
        let audit = LeakIndex::new([("a.py".to_owned(), PROGRAM.to_owned())]);
        match admit(
            &sources,
            candidates,
            &audit,
            &wanted,
            &HoleJudge {
                judge,
                mutate: |_: &Hole, _: f64| Ok(Mutation::default()),
            },
            jobs,
            |_, _| {},
        ) {
            Ok(mined) => mined,
            Err(never) => match never {},
        }
    }

    #[test]
    fn only_what_tests_can_judge_is_admitted() {
        for seed in 0..8 {
            let mined = mined(seed, 1);
            assert_eq!(mined.candidates, 5);
            assert_eq!(mined.holes.len(), 3);
            assert!(mined.holes.iter().all(|hole| hole.reference != "log(b)"));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_holes_on_any_number_of_threads() {
        assert_eq!(mined(7, 1), mined(7, 4));
        let choices: BTreeSet<Vec<String>> = (0..20)
            .map(|seed| {
                mined(seed, 2)
                    .holes
                    .into_iter()
                    .map(|hole| hole.id)
                    .collect()
            })
            .collect();
        assert!(choices.len() > 1, "every seed chose the same holes");
    }

    #[test]
    fn a_rejected_candidate_leaves_its_line_to_others() {
        let sources = sources();
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|_| false,
        };
        let settle = |candidate: &HoleCandidate| {
            Ok::<_, Infallible>(match candidate.hole.kind {
                HoleKind::Line => Err(Rejection::Leak),
                _ => Ok(None),
            })
        };
        for seed in 0..8 {
            let wanted = MiningRequest {
                holes: 100,
                kinds: vec![HoleKind::Line, HoleKind::Body],
                seed,
                mutation_score: None,
                solved: BTreeSet::new(),
            };
            let candidates = candidates::find_candidates("demo", &sources[0], coverage);
            let contents = HashMap::from([("a.py", PROGRAM)]);
            let Ok(mined) = admit_by(&contents, candidates, &wanted, settle, 2, |_, _| {});
            assert_eq!(mined.holes.len(), 2, "{mined:?}");
        }
    }

    #[test]
    fn progress_counts_admitted_holes_and_never_runs_backwards() {
        let sources = sources();
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|_| false,
        };
        let tried = AtomicUsize::new(0);
        let settle = |_: &HoleCandidate| {
            Ok::<_, Infallible>(match tried.fetch_add(1, Ordering::Relaxed) {
                0 | 2 => Err(Rejection::Leak),
                _ => Ok(None),
            })
        };
        let wanted = MiningRequest {
            holes: 3,
            kinds: vec![HoleKind::Line],
            seed: 0,
            mutation_score: None,
            solved: BTreeSet::new(),
        };
        let candidates = candidates::find_candidates("demo", &sources[0], coverage);
        let contents = HashMap::from([("a.py", PROGRAM)]);
        let shown = Mutex::new(Vec::new());
        let show = |done, total| shown.lock().expect("no panic").push((done, total));
        let Ok(mined) = admit_by(&contents, candidates, &wanted, settle, 1, show);
        assert_eq!(mined.holes.len(), 3);
        let shown = shown.into_inner().expect("no panic");
        assert_eq!(shown, [(0, 3), (1, 3), (1, 3), (2, 3), (3, 3)]);
    }

    fn python(path: String, contents: String) -> SourceFile {
        SourceFile {
            path,
            contents,
            language: Language::by_id("python").expect("Python is in the table"),
        }
    }

    /// Mines with tests that find fault with everything but the reference, and let some faults
    /// pass: about one of `lax`.
    fn mined_of(
        sources: &[SourceFile],
        wanted: &MiningRequest,
        lax: u8,
        jobs: usize,
    ) -> MinedHoles {
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|_| false,
        };
        let candidates = sources
            .iter()
            .flat_map(|file| candidates::find_candidates("demo", file, coverage))
            .collect();
        let judge = |path: &str, text: &str| {
            let right = sources
                .iter()
                .any(|file| file.path == path && file.contents == text);
            let chance = u8::from_str_radix(&sha256_hex(text.as_bytes())[..2], 16);
            let lets_pass = chance.is_ok_and(|chance| chance % lax == 0);
            Ok::<_, Infallible>(Verdict::from_outcome(if right || lets_pass {
                Outcome::Passed
            } else {
                Outcome::Failed
            }))
        };
        let audit = LeakIndex::default();
        let mutate = |hole: &Hole, _: f64| {
            let killed = hole.reference.len() % 4;
            Ok(Mutation {
                killed,
                survived: 3 - killed,
                ..Mutation::default()
            })
        };
        let tests = HoleJudge { judge, mutate };
        match admit(sources, candidates, &audit, wanted, &tests, jobs, |_, _| {}) {
            Ok(mined) => mined,
            Err(never) => match never {},
        }
    }

    /// A function of some statements.
    fn function(name: &str, statements: &[&str]) -> String {
        format!("def {name}(a):\n    {}\n\n\n", statements.join("\n    "))
    }

    const STATEMENTS: [&str; 6] = [
        "a += 1",
        "log(a)",
        "path = folder.joinpath(a.filename)",
        "rows = cursor.execute(QUERY_OF_EVERY_ROW_THERE_IS, a, limit=100, offset=0).fetchall()",
        "total = sum(item.price * item.amount for item in a.items if item.amount > 0) + a.extra",
        "return a",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_same_input_gives_the_same_holes(
            files in prop::collection::vec(
                prop::collection::vec(prop::sample::subsequence(&STATEMENTS[..], 1..=6), 1..5),
                1..4,
            ),
            seed: u64,
            holes in 0_usize..12,
            lax in 2_u8..20,
            jobs in 2_usize..5,
        ) {
            let mut sources: Vec<SourceFile> = files
                .iter()
                .enumerate()
                .map(|(index, functions)| {
                    let contents = functions
                        .iter()
                        .enumerate()
                        .map(|(index, statements)| function(&format!("f{index}"), statements))
                        .collect();
                    python(format!("{index}.py"), contents)
                })
                .collect();
            let wanted = MiningRequest { holes, kinds: vec![HoleKind::Line, HoleKind::Body, HoleKind::Span], seed, mutation_score: None, solved: BTreeSet::new() };
            let mined = mined_of(&sources, &wanted, lax, 1);
            prop_assert_eq!(&mined_of(&sources, &wanted, lax, jobs), &mined);
            sources.reverse();
            prop_assert_eq!(&mined_of(&sources, &wanted, lax, 1), &mined);
            let tried = mined.holes.len() + mined.rejected.values().sum::<usize>();
            prop_assert!(mined.holes.len() <= holes && tried <= mined.candidates);
        }
    }

    #[test]
    fn holes_whose_faults_go_unnoticed_are_replaced_by_others() {
        let contents = (0..20)
            .map(|index| function(&format!("f{index}"), &STATEMENTS))
            .collect();
        let sources = [python("a.py".to_owned(), contents)];
        let mut wanted = MiningRequest {
            holes: 12,
            kinds: vec![HoleKind::Line],
            seed: 3,
            mutation_score: None,
            solved: BTreeSet::new(),
        };
        let any = mined_of(&sources, &wanted, 255, 2);
        assert!(any.holes.iter().all(|hole| hole.mutation.is_none()));
        wanted.mutation_score = Some(0.6);
        let mined = mined_of(&sources, &wanted, 255, 2);
        assert_eq!(mined.holes.len(), 12);
        assert!(mined.rejected[&Rejection::MutationScore] > 0);
        for hole in &mined.holes {
            let mutation = hole.mutation.as_ref().expect("it was asked for");
            assert!(mutation.killed >= 2, "{hole:?}");
        }
    }

    #[test]
    fn holes_spread_over_kinds_files_sizes_and_categories() {
        // One file has nearly all candidates, and one function of each other file the same
        // statements.
        let long = (0..40)
            .map(|index| function(&format!("f{index}"), &STATEMENTS))
            .collect();
        let mut sources = vec![python("long.py".to_owned(), long)];
        for name in ["b", "c", "d"] {
            sources.push(python(format!("{name}.py"), function(name, &STATEMENTS)));
        }
        let wanted = MiningRequest {
            holes: 12,
            kinds: vec![HoleKind::Line, HoleKind::Statement, HoleKind::Span],
            seed: 3,
            mutation_score: None,
            solved: BTreeSet::new(),
        };
        let listed: Vec<String> = mined_of(&sources, &wanted, 255, 1)
            .holes
            .iter()
            .map(|hole| {
                let category = hole.category.as_ref().expect("every candidate has one");
                format!(
                    "{} {} {} {}",
                    hole.path, hole.kind, category.name, hole.reference
                )
            })
            .collect();
        insta::assert_snapshot!(listed.join("\n"), @r#"
b.py line common-tools path = folder.joinpath(a.filename)
b.py line databases rows = cursor.execute(QUERY_OF_EVERY_ROW_THERE_IS, a, limit=100, offset=0).fetchall()
b.py span common-tools items if item.amount > 0) + a.extra
c.py statement common-tools log(a)
c.py statement common-tools path = folder.joinpath(a.filename)
c.py statement databases rows = cursor.execute(QUERY_OF_EVERY_ROW_THERE_IS, a, limit=100, offset=0).fetchall()
d.py span common-tools filename)
d.py line databases rows = cursor.execute(QUERY_OF_EVERY_ROW_THERE_IS, a, limit=100, offset=0).fetchall()
d.py span common-tools items if item.amount > 0) + a.extra
long.py span databases = cursor.execute(QUERY_OF_EVERY_ROW_THERE_IS, a, limit=100, offset=0).fetchall()
long.py line common-tools return a
long.py statement common-tools log(a)
"#);
    }

    #[test]
    fn a_rejected_candidate_does_not_use_up_its_kinds_turn() {
        let contents: String = (0..30)
            .map(|index| function(&format!("f{index}"), &STATEMENTS))
            .collect();
        let sources = [python("a.py".to_owned(), contents)];
        let wanted = MiningRequest {
            holes: 20,
            kinds: vec![HoleKind::Line, HoleKind::Span],
            seed: 0,
            mutation_score: None,
            solved: BTreeSet::new(),
        };
        let mined = mined_of(&sources, &wanted, 3, 2);
        assert!(!mined.rejected.is_empty(), "the tests were not lax enough");
        let of_kind = |kind| mined.holes.iter().filter(|hole| hole.kind == kind).count();
        assert_eq!([of_kind(HoleKind::Line), of_kind(HoleKind::Span)], [10, 10]);
    }
}
