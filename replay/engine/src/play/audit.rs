//! Reaches a sample of a run's verdicts again by the naive engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_verdict::corpus::Corpus;
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{Engine, Judge, Outcome};

use super::PlayError;
use super::events::{Event, Listener, Phase, PhaseProgress};
use super::projects::{ExecutionPlan, ProjectLoader, TestedProject, none_ready};
use crate::store::{Attempt, AuditRecord, Partition, Run};

/// Run to audit, and the sample.
#[derive(Clone, Debug)]
pub struct AuditPlan {
    /// The run's folder.
    pub run: PathBuf,
    /// The share of the verdicts to reach again, above 0 and at most 1.
    pub sample: f64,
    /// Chooses others.
    pub seed: u64,
    /// At which holes verdicts are reached again; `None` for all.
    pub partition: Option<Partition>,
    /// The corpus's manifest; `None` for where it was when the run was made.
    pub corpus: Option<PathBuf>,
    /// The folder of added tests; `None` for where it was when the run was made.
    pub tests: Option<PathBuf>,
    /// Number of concurrent jobs.
    pub threads: usize,
}

/// Result of an audit.
#[derive(Debug)]
pub struct AuditOutcome {
    /// The verdicts that were reached again, by hole and attempt.
    pub records: Vec<AuditRecord>,
    /// Number of verdicts that the sample is drawn from: those of the run, or of the part of its
    /// holes. Attempts that were not judged have none.
    pub verdicts: usize,
    /// Number of verdicts in the sample whose projects are absent.
    pub left_out: usize,
}

/// The share of a run's verdicts that is audited while the run is made.
pub const CONTINUOUS_SHARE: f64 = 0.01;

/// An attempt to judge again.
struct AuditJob<'a> {
    attempt: &'a Attempt,
    hole: &'a Hole,
    project: &'a TestedProject,
    /// The file with the completion in it.
    filled: String,
}

/// Audits a run and stores the results.
///
/// # Errors
/// The corpus is unknown or can't be prepared, or the sandbox or the database fails: then nothing
/// is stored.
pub fn run(plan: &AuditPlan, listener: &dyn Listener) -> Result<AuditOutcome, PlayError> {
    let run = Run::open(&plan.run)?;
    let manifest = match &plan.corpus {
        Some(path) => path.clone(),
        None => run.corpus()?.ok_or_else(|| {
            PlayError::Refused(
                "the run does not say where its corpus is: name it by --corpus".to_owned(),
            )
        })?,
    };
    let corpus = Corpus::from_environment()?;
    let manifest = corpus.load_manifest(&manifest)?;
    let holes = run.holes()?;
    let all = run.attempts()?;
    let judged = verdicts(&all, plan.partition);
    let sampled: Vec<&Attempt> = judged
        .iter()
        .copied()
        .filter(|attempt| is_sampled(&attempt.key, plan.sample, plan.seed))
        .collect();
    let tests = match &plan.tests {
        Some(folder) => Some(folder.clone()),
        None => run.tests()?,
    };
    let execution = ExecutionPlan::naive(plan.threads, tests);
    let loader = ProjectLoader::new(&corpus, &execution, listener);
    let (projects, absent) = loader.load_tested(&manifest)?;
    if projects.is_empty() && !sampled.is_empty() {
        let what = format!("no verdict of {} can be reached again", plan.run.display());
        return Err(none_ready(&what, &absent));
    }
    let projects: BTreeMap<&str, &TestedProject> =
        projects.iter().map(|one| (one.name(), one)).collect();
    let mut jobs = Vec::new();
    for attempt in &sampled {
        if let (Some(hole), Some(project)) = (
            holes.get(&attempt.hole),
            projects.get(attempt.project.as_str()),
        ) {
            jobs.push(AuditJob {
                attempt,
                hole,
                project,
                filled: attempt.filled(hole, &run.source(hole)?)?,
            });
        }
    }
    let progress = PhaseProgress::start(listener, Phase::Audit, None, jobs.len());
    let mut records = run_jobs(
        &jobs,
        plan.threads,
        || (),
        |(), job| {
            let judge = &job.project.judge;
            let record = audit_attempt(judge, job.attempt, job.hole, &job.filled, listener);
            progress.advance(1);
            record
        },
        |_| {},
    )?;
    records.sort_by(|a, b| (&a.hole, &a.attempt).cmp(&(&b.hole, &b.attempt)));
    // Records are stored after all verdicts: a failing sandbox leaves no partial audit.
    for record in &records {
        run.add_audit(record)?;
    }
    Ok(AuditOutcome {
        verdicts: judged.len(),
        left_out: sampled.len() - records.len(),
        records,
    })
}

/// The attempts at one part of the holes, or at all, whose verdicts can be reached again.
fn verdicts(attempts: &[Attempt], partition: Option<Partition>) -> Vec<&Attempt> {
    let judged = attempts.iter().filter(|attempt| {
        // Nothing was judged after an infrastructure failure, or in a project without tests.
        let outcome = attempt.verdict.outcome;
        !matches!(outcome, Outcome::Infrastructure | Outcome::Unjudged)
            && partition.is_none_or(|partition| partition.includes(&attempt.hole))
    });
    judged.collect()
}

/// True if the verdict with this key is in a sample. One that is in a sample is in every larger
/// sample of the same seed.
pub(super) fn is_sampled(key: &str, share: f64, seed: u64) -> bool {
    let hash = sha256_hex(format!("audit\0{seed}\0{key}").as_bytes());
    // 13 hexadecimal digits are 52 bits, which an `f64` represents exactly.
    let position = u64::from_str_radix(&hash[..13], 16).unwrap_or_default();
    (position as f64) < share * (1u64 << 52) as f64
}

/// Judges an attempt again.
///
/// # Errors
/// The sandbox is unavailable.
pub(super) fn audit_attempt(
    judge: &Judge,
    attempt: &Attempt,
    hole: &Hole,
    filled: &str,
    listener: &dyn Listener,
) -> Result<AuditRecord, PlayError> {
    let rejudged = judge.judge_with(Engine::Naive, hole, filled)?;
    let record = AuditRecord {
        attempt: attempt.key.clone(),
        hole: attempt.hole.clone(),
        outcome: attempt.verdict.outcome,
        rejudged: rejudged.outcome,
        reason: rejudged.reason,
    };
    listener.receive(&Event::VerdictAudited {
        hole: record.hole.clone(),
        attempt: Some(record.attempt.clone()),
        fault: None,
        outcome: record.outcome,
        rejudged: record.rejudged,
        agrees: !record.differs(),
        reason: record.reason.clone(),
    });
    Ok(record)
}

#[cfg(test)]
mod tests {
    use fillrate_verdict::Verdict;

    use super::*;

    #[test]
    fn attempts_that_were_not_judged_are_no_verdicts() {
        let attempt = |hole: &str, outcome| Attempt {
            key: format!("{hole}-{outcome:?}"),
            hole: hole.to_owned(),
            project: "demo".into(),
            model: "embedded".into(),
            sample: 0,
            repair_round: 0,
            offered: Vec::new(),
            overlap: String::new(),
            answered: true,
            latency_ms: 1.0,
            trace: None,
            verdict: Verdict::from_outcome(outcome),
        };
        let attempts: Vec<Attempt> = ["a", "b", "c"]
            .iter()
            .flat_map(|hole| Outcome::ALL.iter().map(|one| attempt(hole, *one)))
            .collect();
        let counted = |partition| verdicts(&attempts, partition).len();
        assert_eq!(counted(None), 3 * (Outcome::ALL.len() - 2));
        let parts = (1..=2).map(|part| counted(Partition::new(part, 2)));
        assert_eq!(parts.sum::<usize>(), counted(None));
    }

    #[test]
    fn sample_has_its_share_and_is_in_every_larger_sample() {
        let keys: Vec<String> = (0..2000).map(|number| format!("key{number}")).collect();
        let sample = |share, seed| -> Vec<&String> {
            keys.iter()
                .filter(|key| is_sampled(key, share, seed))
                .collect()
        };
        assert!((150..250).contains(&sample(0.1, 7).len()));
        assert_eq!(sample(1.0, 7).len(), keys.len());
        let larger = sample(0.3, 7);
        assert!(sample(0.1, 7).iter().all(|key| larger.contains(key)));
        assert_ne!(sample(0.1, 7), sample(0.1, 8));
    }
}
