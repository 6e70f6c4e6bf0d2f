//! `fillrate audit`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;

use super::progress::Progress;
use super::projects::{self, Ready};
use super::stop::tell_when_stopped;
use super::{CliError, Success};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::store::{Attempt, Audit, Run};
use crate::task::Hole;
use crate::verdict::{Engine, Judge, Outcome};

/// Judge a sample of a run's completions again in the slowest and simplest way, and list the
/// verdicts that differ.
///
/// Each is judged in a copy of its project, by every test that decides over it, from the start,
/// with nothing remembered. Exit status 1 where a verdict differs.
#[derive(Args)]
pub(super) struct Arguments {
    /// The run: a folder that `replay` wrote
    run: PathBuf,
    /// The share of the verdicts to judge again, above 0 and at most 1
    #[arg(long, default_value_t = 0.1, value_name = "P", value_parser = share)]
    sample: f64,
    /// Another seed chooses others
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The corpus's manifest, where it is no longer where it was
    #[arg(long, value_name = "FILE")]
    corpus: Option<PathBuf>,
    /// The tests that were added to its projects, where they are no longer where they were
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    /// How many are judged at once [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "a share is above 0 and at most 1".to_owned())
}

/// As [`share`], or nothing at all.
pub(super) fn share_or_none(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is from 0 to 1".to_owned())
}

/// The share of every run's verdicts that is judged again while it is made.
pub(super) const CONTINUOUS: f64 = 0.01;

/// Whether the attempt with this key is in a sample. An attempt in a sample is in every larger one
/// of the same seed.
pub(super) fn chosen(key: &str, sample: f64, seed: u64) -> bool {
    let hash = crate::task::sha256_hex(format!("audit\0{seed}\0{key}").as_bytes());
    let place = u64::from_str_radix(&hash[..13], 16).unwrap_or_default();
    (place as f64) < sample * (1u64 << 52) as f64
}

/// Judges an attempt again.
pub(super) fn judge_again(
    judge: &Judge,
    attempt: &Attempt,
    hole: &Hole,
    filled: &str,
) -> Result<Audit, CliError> {
    let again = judge.judge_with(Engine::Naive, &hole.path, filled, &hole.tests)?;
    Ok(Audit {
        attempt: attempt.key.clone(),
        hole: attempt.hole.clone(),
        outcome: attempt.verdict.outcome,
        again: again.outcome,
        reason: again.reason,
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let run = Run::open(&arguments.run)?;
    tell_when_stopped("nothing is written before all is judged, start again".to_owned());
    let manifest = match &arguments.corpus {
        Some(path) => path.clone(),
        None => run.corpus()?.ok_or_else(|| {
            CliError::Refused(
                "the run does not say where its corpus is: name it by --corpus".into(),
            )
        })?,
    };
    let manifest = Manifest::read(&manifest)?;
    let corpus = Corpus::from_environment()?;
    let holes = run.holes()?;
    let attempts: Vec<Attempt> = run
        .attempts()?
        .into_iter()
        .filter(|attempt| attempt.verdict.outcome != Outcome::Infrastructure)
        .filter(|attempt| attempt.verdict.outcome != Outcome::Unjudged)
        .filter(|attempt| chosen(&attempt.key, arguments.sample, arguments.seed))
        .collect();
    let jobs = arguments.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        usize::from,
    );
    let tests = match &arguments.tests {
        Some(folder) => Some(folder.clone()),
        None => run.tests()?,
    };
    let (prepared, _) = projects::prepare(&corpus, &manifest, tests.as_deref())?;
    let cache = corpus.cache.root().to_owned();
    let (ready, _) = projects::judge(prepared, &cache, Engine::Naive, true, jobs)?;
    let ready: BTreeMap<&str, &Ready> = ready
        .iter()
        .map(|ready| (ready.prepared.project.name.as_str(), ready))
        .collect();
    let work = attempts
        .iter()
        .filter_map(|attempt| {
            let hole = holes.get(&attempt.hole)?;
            Some((attempt, hole, *ready.get(attempt.project.as_str())?))
        })
        .map(|(attempt, hole, ready)| {
            let filled = hole.filled(&run.source(hole)?, attempt.completion())?;
            Ok((attempt, hole, ready, filled))
        })
        .collect::<Result<Vec<_>, CliError>>()?;
    let left_out = attempts.len() - work.len();
    let progress = Progress::of("judging again");
    progress.at(0, work.len());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let audits = Mutex::new(Vec::new());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((attempt, hole, ready, filled)) =
                    work.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    match judge_again(&ready.judge, attempt, hole, filled) {
                        Ok(audit) => audits.lock().map(|mut audits| audits.push(audit)).ok(),
                        Err(error) => failure.lock().map(|mut slot| *slot = Some(error)).ok(),
                    };
                    progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, work.len());
                }
            });
        }
    });
    drop(progress);
    if let Some(error) = failure.into_inner().unwrap_or_default() {
        return Err(error);
    }
    let mut audits = audits.into_inner().unwrap_or_default();
    audits.sort_by(|a, b| (&a.hole, &a.attempt).cmp(&(&b.hole, &b.attempt)));
    for audit in &audits {
        run.add_audit(audit)?;
    }
    let differing: Vec<&Audit> = audits.iter().filter(|audit| audit.differs()).collect();
    outln!(
        "{} of {} verdicts judged again, {} differ",
        audits.len(),
        run.attempts()?.len(),
        differing.len()
    );
    if left_out > 0 {
        outln!("{left_out} chosen ones are of projects that are not at hand");
    }
    for audit in &differing {
        outln!(
            "{}: {} in the run, {} again ({})",
            audit.hole,
            audit.outcome.name(),
            audit.again.name(),
            audit.reason
        );
    }
    if differing.is_empty() {
        Ok(Success::Whole)
    } else {
        Err(CliError::Refused(format!(
            "{} verdicts of {} differ from those of the slow way",
            differing.len(),
            arguments.run.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_and_lies_in_every_larger_one() {
        let keys: Vec<String> = (0..2000).map(|number| format!("key{number}")).collect();
        let sample =
            |share| -> Vec<&String> { keys.iter().filter(|key| chosen(key, share, 7)).collect() };
        assert!((150..250).contains(&sample(0.1).len()));
        assert_eq!(sample(1.0).len(), keys.len());
        let larger = sample(0.3);
        assert!(sample(0.1).iter().all(|key| larger.contains(key)));
        assert_ne!(
            sample(0.1),
            keys.iter()
                .filter(|key| chosen(key, 0.1, 8))
                .collect::<Vec<_>>()
        );
    }
}
