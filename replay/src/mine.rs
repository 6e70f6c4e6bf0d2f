//! From coverage and syntax to holes: candidates, the leak audit and admission.
//!
//! A hole is admitted only if its tests can tell right from wrong: the reference passes, an
//! empty splice fails, and so does a statement that raises when it is reached.

pub mod candidates;
pub mod category;
pub mod leak;
pub mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fillrate_server::cleanup;
use fillrate_server::syntax::Language;
use serde::{Deserialize, Serialize};

use crate::task::{Hole, Kind, sha256_hex};
use crate::verdict::{Outcome, Verdict};
use candidates::Candidate;
use leak::Audit;

/// Chooses holes among candidates and admits those that tests can judge. `judge` gives the
/// verdict on a project's tests with one file in place of the original; it is called from
/// `jobs` threads. The same input gives the same holes, whatever the number of threads.
pub fn admit<E: Send>(
    sources: &[SourceFile],
    candidates: Vec<Candidate>,
    audit: &Audit,
    wanted: &Wanted,
    judge: impl Fn(&str, &str) -> Result<Verdict, E> + Sync,
    jobs: usize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Mined, E> {
    let contents: HashMap<&str, &str> = sources
        .iter()
        .map(|file| (file.path.as_str(), file.contents.as_str()))
        .collect();
    let mut queues = queues(candidates, wanted);
    let mut mined = Mined {
        candidates: queues.iter().map(Vec::len).sum(),
        ..Mined::default()
    };
    let mut taken_lines: BTreeSet<(String, usize)> = BTreeSet::new();
    loop {
        let missing = wanted.holes.saturating_sub(mined.holes.len());
        let wave = next_wave(&mut queues, missing, &mut taken_lines, &contents);
        if wave.is_empty() {
            break;
        }
        let settled = settle(&wave, &contents, audit, &judge, jobs, |done| {
            progress(mined.holes.len() + done.min(missing), wanted.holes);
        })?;
        for (candidate, rejection) in wave.into_iter().zip(settled) {
            match rejection {
                None => mined.holes.push(candidate.hole),
                Some(reason) => *mined.rejected.entry(reason).or_default() += 1,
            }
        }
    }
    mined
        .holes
        .sort_by(|a, b| (&a.path, a.start, a.end).cmp(&(&b.path, b.start, b.end)));
    Ok(mined)
}

/// A file that holes may be cut into.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// Its text.
    pub contents: String,
    /// Its language.
    pub language: &'static Language,
}

/// What is wanted of a project.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The most holes.
    pub holes: usize,
    /// The kinds, from which holes are taken in turn.
    pub kinds: Vec<Kind>,
    /// Another seed chooses other holes.
    pub seed: u64,
}

/// What mining came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mined {
    /// Admitted holes, in the order of their places.
    pub holes: Vec<Hole>,
    /// How many candidates of the wanted kinds there were to choose from.
    pub candidates: usize,
    /// Those that were tried and not admitted, by reason.
    pub rejected: BTreeMap<Rejection, usize>,
}

/// Why a candidate is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
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
    /// A wrong filling runs into a limit in place of failing.
    Unsettled,
}

impl Rejection {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::CleanUp => "clean-up",
            Self::ReferenceFails => "reference-fails",
            Self::EmptyPasses => "empty-passes",
            Self::RaisingPasses => "raising-passes",
            Self::Unsettled => "unsettled",
        }
    }
}

/// Candidates of each kind in the order in which they are tried.
fn queues(candidates: Vec<Candidate>, wanted: &Wanted) -> Vec<Vec<Candidate>> {
    let mut queues: Vec<Vec<Candidate>> = wanted.kinds.iter().map(|_| Vec::new()).collect();
    for candidate in candidates {
        if let Some(index) = wanted
            .kinds
            .iter()
            .position(|kind| *kind == candidate.hole.kind)
        {
            queues[index].push(candidate);
        }
    }
    for queue in &mut queues {
        let mut keyed: Vec<(String, Candidate)> = queue
            .drain(..)
            .map(|candidate| {
                let key = sha256_hex(format!("{}\0{}", wanted.seed, candidate.hole.id).as_bytes());
                (key, candidate)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        // The first of every file before the second of any, so that holes spread over files.
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut ranked: Vec<(usize, String, Candidate)> = keyed
            .into_iter()
            .map(|(key, candidate)| {
                let rank = seen.entry(candidate.hole.path.clone()).or_default();
                *rank += 1;
                (*rank, key, candidate)
            })
            .collect();
        // Reversed, since the best is popped off the end.
        ranked.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
        queue.extend(ranked.into_iter().map(|(_, _, candidate)| candidate));
    }
    queues
}

/// Takes candidates from the kinds in turn, no two that begin on one line.
fn next_wave(
    queues: &mut [Vec<Candidate>],
    size: usize,
    taken_lines: &mut BTreeSet<(String, usize)>,
    contents: &HashMap<&str, &str>,
) -> Vec<Candidate> {
    let mut wave = Vec::new();
    while wave.len() < size && queues.iter().any(|queue| !queue.is_empty()) {
        for queue in &mut *queues {
            if wave.len() == size {
                break;
            }
            while let Some(candidate) = queue.pop() {
                let text = contents.get(candidate.hole.path.as_str()).copied();
                let line = text.map_or(0, |text| {
                    text[..candidate.hole.start.0].matches('\n').count()
                });
                if taken_lines.insert((candidate.hole.path.clone(), line)) {
                    wave.push(candidate);
                    break;
                }
            }
        }
    }
    wave
}

/// Tries candidates on several threads; for each, why it is rejected, if it is.
fn settle<E: Send>(
    wave: &[Candidate],
    contents: &HashMap<&str, &str>,
    audit: &Audit,
    judge: &(impl Fn(&str, &str) -> Result<Verdict, E> + Sync),
    jobs: usize,
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<Option<Rejection>>, E> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let settled = Mutex::new(vec![None; wave.len()]);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, wave.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(candidate) = wave.get(index) else {
                        break;
                    };
                    match rejection(candidate, contents, audit, judge) {
                        Ok(rejection) => {
                            let mut settled = settled
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner);
                            settled[index] = rejection;
                        }
                        Err(error) => {
                            next.store(wave.len(), Ordering::Relaxed);
                            *failure
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                            break;
                        }
                    }
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    match failure
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        Some(error) => Err(error),
        None => Ok(settled
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)),
    }
}

/// Why a candidate is rejected, if it is: the cheap questions first.
fn rejection<E>(
    candidate: &Candidate,
    contents: &HashMap<&str, &str>,
    audit: &Audit,
    judge: impl Fn(&str, &str) -> Result<Verdict, E>,
) -> Result<Option<Rejection>, E> {
    let hole = &candidate.hole;
    let Some(text) = contents.get(hole.path.as_str()) else {
        return Ok(Some(Rejection::ReferenceFails));
    };
    let Ok((prefix, suffix)) = hole.cut(text) else {
        return Ok(Some(Rejection::ReferenceFails));
    };
    if audit.leaks(hole, text) {
        return Ok(Some(Rejection::Leak));
    }
    let place = cleanup::Place {
        prefix,
        suffix,
        language: Language::for_path(std::path::Path::new(&hole.path)),
        tree: None,
        extent: cleanup::Extent::default(),
        chat: false,
    };
    if cleanup::clean(&hole.reference, &place).0 != hole.reference {
        return Ok(Some(Rejection::CleanUp));
    }
    if judge(&hole.path, text)?.outcome != Outcome::Passed {
        return Ok(Some(Rejection::ReferenceFails));
    }
    let empty = judge(&hole.path, &[prefix, suffix].concat())?;
    match empty.outcome {
        Outcome::Failed | Outcome::Syntax => {}
        Outcome::Passed => return Ok(Some(Rejection::EmptyPasses)),
        _ => return Ok(Some(Rejection::Unsettled)),
    }
    let raising = judge(&hole.path, &candidate.raising(text))?;
    Ok(match raising.outcome {
        Outcome::Failed | Outcome::Syntax => None,
        Outcome::Passed => Some(Rejection::RaisingPasses),
        _ => Some(Rejection::Unsettled),
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const PROGRAM: &str = "def double(a):\n    b = a + a\n    log(b)\n    return b\n\n\ndef same(a):\n    copy = a\n    return copy\n";

    fn sources() -> Vec<SourceFile> {
        vec![SourceFile {
            path: "a.py".into(),
            contents: PROGRAM.into(),
            language: Language::by_id("python").expect("Python is in the table"),
        }]
    }

    fn mined(seed: u64, jobs: usize) -> Mined {
        let sources = sources();
        let candidates = candidates::find("demo", &sources[0], &|line| {
            (2..=4).contains(&line) || line > 7
        });
        let wanted = Wanted {
            holes: 3,
            kinds: vec![Kind::Line],
            seed,
        };
        // Stands in for tests that notice everything but a missing log line.
        let judge = |_: &str, text: &str| {
            let raises = text.contains("raise");
            let right = text.replace("    log(b)\n", "").replace("    \n", "")
                == PROGRAM.replace("    log(b)\n", "");
            Ok::<_, Infallible>(Verdict::bare(if right && !raises {
                Outcome::Passed
            } else {
                Outcome::Failed
            }))
        };
        let audit = Audit::new([("a.py".to_owned(), PROGRAM.to_owned())]);
        match admit(
            &sources,
            candidates,
            &audit,
            &wanted,
            judge,
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
}
