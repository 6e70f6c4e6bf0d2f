//! Plays several models on the same holes, hole by hole, and decides in which order they are.
//!
//! Holes come in batches of whole files, in an order that depends on their ids alone. Of every few
//! holes, all models are asked first, one request at a time, and then the completions are judged in
//! parallel, so that no verdict slows a model down. After each batch the comparison looks at the
//! order of each pair of models: a model whose orders are all decided is not asked any more. Each
//! step of a comparison depends only on the attempts that its runs have, so that one that is killed
//! and started again has the same result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_metrics::{Estimate, OrderDecisions, TimedPass};
use fillrate_verdict::Outcome;
use fillrate_verdict::queue::run_jobs;
use parking_lot::Mutex;

use super::PlayError;
use super::events::{Listener, Phase, PhaseProgress};
use super::hole::SubjectReplay;
use super::projects::AbsentProject;
use super::replay::{
    PlayedSubject, PreparedReplay, ReplayPlan, ReplayedRun, is_complete, names, with_prepared,
};
use super::schedule::{HoleJob, MissingSample};
use super::subject::ModelUnderTest;
use super::worker::ReplayWorker;
use crate::developer::CompletionReply;
use crate::store::{Attempt, Run};

/// Plan of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonPlan {
    /// The models, and how they are replayed.
    pub replay: ReplayPlan,
    /// The time within which completions count, too, in milliseconds.
    pub within_ms: Option<f64>,
    /// True if models whose orders are decided are not asked any more.
    pub stops_early: bool,
    /// The time after which nothing is asked for a further batch.
    pub max_time: Option<Duration>,
    /// The number of completions of all models after which nothing is asked for a further batch.
    pub max_calls: Option<usize>,
}

/// Result of a comparison.
pub struct ComparisonOutcome {
    /// The runs, in the order of the models.
    pub runs: Vec<ReplayedRun>,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
    /// The order of each pair of models, in the order in which a comparison of more models would
    /// have them, too.
    pub orders: Vec<ModelOrder>,
    /// Why the comparison ended.
    pub ending: ComparisonEnding,
    /// Holes that were chosen.
    pub holes: usize,
}

/// The order of two models by one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelOrder {
    /// The index of the model that was named first.
    pub first: usize,
    /// The index of the other one.
    pub second: usize,
    /// The time in milliseconds within which passes count; `None` if all count.
    pub within_ms: Option<f64>,
    /// The share of holes that the first passes minus that of the second; `None` if the two have no
    /// judged hole in common.
    pub difference: Option<Estimate>,
    /// True if an interim look decided it.
    pub is_early: bool,
}

/// Why a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonEnding {
    /// All holes were played, by each model until its orders were decided.
    AllHoles,
    /// Every order was decided.
    Decided,
    /// The budget of time was spent.
    Time,
    /// The budget of completions was spent.
    Calls,
}

/// The number of holes of a batch at which it ends with the file, and the most holes at which all
/// models are asked before the completions are judged.
const BATCH: usize = 8;

/// The time after which no further model is asked before the completions so far are judged, so that
/// slow models show progress, and a killed comparison loses little.
const ASKED_AT_ONCE: Duration = Duration::from_secs(20);

/// Compares models as planned. The same plan again continues where it was stopped; with further
/// models, it plays these.
///
/// # Errors
/// As [`replay::run`](super::replay::run). Passes within a time are compared, and a model has no
/// latency.
pub fn run(plan: &ComparisonPlan, listener: &dyn Listener) -> Result<ComparisonOutcome, PlayError> {
    if plan.within_ms.is_some() {
        // Before projects are prepared and models are asked, which takes long.
        check_latencies(&ModelUnderTest::load_all(&plan.replay.subjects())?)?;
    }
    let (played, absent) = with_prepared(&plan.replay, listener, |prepared| {
        play(prepared, Some(plan))
    })?;
    Ok(ComparisonOutcome { absent, ..played })
}

/// Refuses models whose completions are recorded, whatever names them, since they have no latency.
fn check_latencies(models: &[ModelUnderTest]) -> Result<(), PlayError> {
    match models.iter().find(|model| !model.has_latency()) {
        Some(model) => Err(PlayError::Refused(format!(
            "--within compares latencies, and {} has none, because its completions are recorded; \
             leave one of them out",
            model.label().unwrap_or(&model.name)
        ))),
        None => Ok(()),
    }
}

/// Plays all models on all holes, interleaved.
pub(super) fn play_all(prepared: PreparedReplay<'_>) -> Result<ComparisonOutcome, PlayError> {
    play(prepared, None)
}

/// Each pair of models by each figure. The pairs of a further model come after those of the models
/// before it.
fn questions(models: usize, within_ms: Option<f64>) -> Vec<ModelOrder> {
    let figures = std::iter::once(None).chain(within_ms.map(Some));
    let pairs = (1..models).flat_map(|second| (0..second).map(move |first| (first, second)));
    let questions = pairs.flat_map(|(first, second)| {
        figures.clone().map(move |within_ms| ModelOrder {
            first,
            second,
            within_ms,
            difference: None,
            is_early: false,
        })
    });
    questions.collect()
}

/// Plays models batch by batch.
fn play(
    prepared: PreparedReplay<'_>,
    comparison: Option<&ComparisonPlan>,
) -> Result<ComparisonOutcome, PlayError> {
    let (plan, listener) = (prepared.plan, prepared.listener);
    let (holes, projects) = (prepared.holes, prepared.projects);
    let began = Instant::now();
    let subjects = prepared.into_replays();
    let mut orders = match comparison {
        Some(comparison) => questions(subjects.len(), comparison.within_ms),
        None => Vec::new(),
    };
    let jobs = plan.execution.threads;
    let mut player = BatchPlayer::new(&subjects, listener, jobs, plan.connections, holes)?;
    let played = play_batches(&mut player, comparison, &mut orders, holes);
    let workers = player.into_workers();
    let wall = began.elapsed();
    let policies = plan.typing_developer().map_or(0, |one| one.policies.len());
    let mut runs = Vec::new();
    let mut failed = None;
    for (PlayedSubject { title, replay }, workers) in subjects.into_iter().zip(workers) {
        // A comparison that stopped early lacks attempts, and its runs must not count as finished.
        let has_all = replay.missing_jobs(holes)?.is_empty();
        // An error can't be cloned, so each run gets its message; the error itself is returned
        // last.
        let outcome = match &played {
            Ok(_) => Ok(()),
            Err(error) => Err(PlayError::Refused(error.to_string())),
        };
        let run = match replay.finish(outcome, workers, wall) {
            Ok(run) => run,
            // The other runs keep what they have, too.
            Err(_) if played.is_err() => continue,
            Err(error) => return Err(error),
        };
        let is_complete = is_complete(&run, policies * holes.len(), names(projects));
        let written = match is_complete {
            Ok(true) if has_all => run.set_finished(),
            _ => run.write_segment(),
        };
        // A run that was finished earlier lacks nothing, whatever could be prepared now.
        let is_complete = is_complete.and_then(|is_complete| Ok(is_complete || run.is_finished()?));
        match PlayError::first_of(is_complete, written) {
            Ok(is_complete) => runs.push(ReplayedRun {
                title,
                run,
                is_complete,
            }),
            // The other runs keep what they have, too, so the first error is returned last.
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    // The error of playing is the cause of others.
    let ending = played?;
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(ComparisonOutcome {
        runs,
        absent: Vec::new(),
        orders,
        ending,
        holes: holes.len(),
    })
}

/// Plays batches until nothing is open or the budget is spent, and concludes the orders by all that
/// the runs have.
fn play_batches<'s>(
    player: &mut BatchPlayer<'s, '_>,
    comparison: Option<&ComparisonPlan>,
    orders: &mut [ModelOrder],
    holes: &'s [Hole],
) -> Result<ComparisonEnding, PlayError> {
    let looks = comparison.is_some_and(|comparison| comparison.stops_early);
    // The bound of the sequential test needs the largest cluster, known before any result.
    let largest = by_file(holes).values().map(Vec::len).max().unwrap_or(1);
    let mut decisions = OrderDecisions::new(orders.len(), largest, looks);
    let mut played_holes: Vec<&Hole> = Vec::new();
    let mut stopped = None;
    let began = Instant::now();
    for batch in batches(holes) {
        // Without a comparison nothing is decided, so every model plays every hole.
        let is_open = |model: usize| {
            let mut questions = orders.iter().enumerate();
            comparison.is_none()
                || questions.any(|(index, order)| {
                    (order.first == model || order.second == model) && !decisions.is_decided(index)
                })
        };
        let open: Vec<bool> = (0..player.subjects.len()).map(is_open).collect();
        if open.iter().all(|open| !open) {
            stopped = Some(ComparisonEnding::Decided);
            break;
        }
        // A batch that the runs have costs nothing, so a spent budget does not hide it.
        if let (Some(comparison), None) = (comparison, stopped)
            && player.lacks(&batch, &open)
        {
            stopped = player.spent(comparison, began)?;
        }
        if stopped.is_none() {
            player.play_batch(&batch, &open)?;
        }
        played_holes.extend(batch);
        if looks {
            let passes = player.passes()?;
            for (index, order) in orders.iter().enumerate() {
                let holes = player.compared(order, &played_holes, stopped.is_some());
                decisions.look(index, &pairs(order, &passes, &holes));
            }
        }
    }
    // The last look uses all that was played, even if the looks in between were disabled.
    if !orders.is_empty() {
        let passes = player.passes()?;
        for (index, order) in orders.iter_mut().enumerate() {
            order.is_early = decisions.is_decided(index);
            let holes = player.compared(order, &played_holes, stopped.is_some());
            let pairs = pairs(order, &passes, &holes);
            // Where a model lacks holes, the same command may conclude from more of them later.
            let is_end = player.has_all(order.first) && player.has_all(order.second);
            order.difference = decisions.conclude(index, &pairs, is_end);
        }
    }
    Ok(match stopped {
        // The budget ended before a batch, and what the runs had of later ones decided the orders.
        Some(_) if orders.iter().all(|order| order.is_early) => ComparisonEnding::Decided,
        Some(ending) => ending,
        None => ComparisonEnding::AllHoles,
    })
}

/// The holes of each file, files in an order that looks random and depends on their names alone.
fn by_file(holes: &[Hole]) -> BTreeMap<String, Vec<&Hole>> {
    let mut files: BTreeMap<String, Vec<&Hole>> = BTreeMap::new();
    for hole in holes {
        // The hash mixes the projects, so that a comparison that stops early has seen several.
        let key = sha256_hex(cluster(hole).as_bytes());
        files.entry(key).or_default().push(hole);
    }
    for of_file in files.values_mut() {
        of_file.sort_by(|one, other| one.id.cmp(&other.id));
    }
    files
}

/// Holes in batches of whole files.
fn batches(holes: &[Hole]) -> Vec<Vec<&Hole>> {
    let mut batches: Vec<Vec<&Hole>> = Vec::new();
    for file in by_file(holes).into_values() {
        match batches.last_mut() {
            // A batch is never cut within a file, which is one cluster of the test.
            Some(batch) if batch.len() < BATCH => batch.extend(file),
            _ => batches.push(file),
        }
    }
    batches
}

/// The file of a hole: holes of one file are no independent samples.
fn cluster(hole: &Hole) -> String {
    format!("{}\0{}", hole.project, hole.path)
}

/// A completion to judge: its subject, its hole and its sample.
type UnjudgedReply<'j> = (usize, &'j Hole, &'j MissingSample, CompletionReply);

/// Plays batches, with workers that keep their servers from batch to batch.
struct BatchPlayer<'s, 'a> {
    subjects: &'s [PlayedSubject<'a>],
    progress: PhaseProgress<'s>,
    /// Number of concurrent verdicts, and of concurrent requests.
    limits: (usize, usize),
    /// Idle workers, each with one for each subject.
    idle: Mutex<Vec<Vec<ReplayWorker>>>,
    /// The jobs that are not played yet, by hole and subject.
    missing: BTreeMap<(&'s str, usize), HoleJob<'s>>,
    /// The number of jobs of each subject that were begun since the program started.
    begun: Vec<usize>,
    /// True for each subject that was asked since the program started.
    is_warm: Vec<bool>,
    /// The hole for requests that are not counted.
    warm_up: Option<&'s Hole>,
}

impl<'s, 'a> BatchPlayer<'s, 'a> {
    fn new(
        subjects: &'s [PlayedSubject<'a>],
        listener: &'s dyn Listener,
        jobs: usize,
        connections: Option<usize>,
        holes: &'s [Hole],
    ) -> Result<Self, PlayError> {
        let mut missing = BTreeMap::new();
        let mut total = 0;
        for (index, subject) in subjects.iter().enumerate() {
            total += subject.replay.total(holes);
            for job in subject.replay.missing_jobs(holes)? {
                missing.insert((job.hole.id.as_str(), index), job);
            }
        }
        let left: usize = missing.values().map(HoleJob::units).sum();
        let title = format!("{} models", subjects.len());
        let phase = Phase::Replay;
        Ok(Self {
            subjects,
            progress: PhaseProgress::resume(listener, phase, Some(&title), total - left, total),
            limits: (jobs, connections.unwrap_or(1)),
            idle: Mutex::default(),
            missing,
            begun: vec![0; subjects.len()],
            is_warm: vec![false; subjects.len()],
            warm_up: holes.last(),
        })
    }

    /// The played holes by which two models are compared. Once nothing more is asked, a file of
    /// which one of them lacks a hole is left out: the sequential test counts whole files.
    fn compared<'h>(
        &self,
        order: &ModelOrder,
        played: &[&'h Hole],
        is_stopped: bool,
    ) -> Vec<&'h Hole> {
        let lacks = |hole: &&&Hole| {
            let mut models = [order.first, order.second].into_iter();
            models.any(|model| self.missing.contains_key(&(hole.id.as_str(), model)))
        };
        let partial = played.iter().filter(|hole| is_stopped && lacks(hole));
        let partial: BTreeSet<String> = partial.map(|hole| cluster(hole)).collect();
        let is_whole = |hole: &&&Hole| !partial.contains(&cluster(hole));
        played.iter().filter(is_whole).copied().collect()
    }

    /// True if attempts at a batch's holes are missing, of the models that are `open`.
    fn lacks(&self, batch: &[&Hole], open: &[bool]) -> bool {
        let is_missing = |hole: &str| {
            let mut models = open.iter().enumerate();
            models.any(|(index, open)| *open && self.missing.contains_key(&(hole, index)))
        };
        batch.iter().any(|hole| is_missing(&hole.id))
    }

    /// True if a subject has been asked at all holes.
    fn has_all(&self, index: usize) -> bool {
        self.missing.keys().all(|(_, subject)| *subject != index)
    }

    /// The number of workers that each subject had: none if nothing was asked of it.
    fn into_workers(self) -> Vec<usize> {
        // Requests and verdicts take turns, so the workers of the one are idle during the other.
        let (threads, connections) = self.limits;
        let most = threads.max(connections);
        self.begun.iter().map(|jobs| most.min(*jobs)).collect()
    }

    /// Makes the attempts at a batch's holes that are missing, of the models that are `open`.
    fn play_batch(&mut self, batch: &[&'s Hole], open: &[bool]) -> Result<(), PlayError> {
        // Completions that are not judged yet are lost if the program is killed, and a file may
        // have hundreds of holes.
        for holes in batch.chunks(BATCH) {
            while self.lacks(holes, open) {
                self.play_holes(holes, open)?;
            }
        }
        Ok(())
    }

    /// Asks the models that are `open` at holes, for a limited time, and then judges the
    /// completions.
    fn play_holes(&mut self, holes: &[&'s Hole], open: &[bool]) -> Result<(), PlayError> {
        let mut jobs: Vec<(usize, HoleJob<'s>)> = Vec::new();
        for hole in holes {
            for (index, _) in open.iter().enumerate().filter(|(_, open)| **open) {
                // A hole that the run of a resumed comparison already has is missing here.
                let job = self.missing.remove(&(hole.id.as_str(), index));
                jobs.extend(job.map(|job| (index, job)));
            }
        }
        self.warm_up(&jobs)?;
        let replies: Mutex<Vec<UnjudgedReply<'_>>> = Mutex::default();
        let begun: Mutex<BTreeSet<usize>> = Mutex::default();
        let began = Instant::now();
        let asked = run_jobs(
            &jobs.iter().enumerate().collect::<Vec<_>>(),
            self.limits.1,
            || AskingWorker::take(&self.idle, self.subjects.len()),
            |worker, (place, (index, job))| {
                if began.elapsed() >= ASKED_AT_ONCE {
                    return Ok(());
                }
                begun.lock().insert(*place);
                let of_job = self
                    .replay(*index)
                    .ask_job(job, &mut worker.of_subject[*index])?;
                let of_job = job.samples.iter().zip(of_job);
                let of_job = of_job.map(|(sample, reply)| (*index, job.hole, sample, reply));
                replies.lock().extend(of_job);
                self.progress.advance(job.policies.len());
                Ok::<_, PlayError>(())
            },
            |_| {},
        );
        // What was answered before an error is kept.
        let judged = self.judge_replies(&replies.into_inner());
        let begun = begun.into_inner();
        for (place, (index, job)) in jobs.into_iter().enumerate() {
            if begun.contains(&place) {
                self.begun[index] += 1;
            } else {
                self.missing.insert((job.hole.id.as_str(), index), job);
            }
        }
        PlayError::first_of(asked.map(drop), judged)
    }

    /// Judges completions. Those of a subject that fails are left out, the others are kept.
    fn judge_replies(&self, replies: &[UnjudgedReply<'_>]) -> Result<(), PlayError> {
        let failed: Mutex<BTreeMap<usize, PlayError>> = Mutex::default();
        run_jobs(
            replies,
            self.limits.0,
            || (),
            |(), (index, hole, sample, reply)| {
                if failed.lock().contains_key(index) {
                    return Ok(());
                }
                let replay = self.replay(*index);
                match replay.judge_reply(hole, sample, reply.clone()) {
                    Ok(()) => self.progress.advance(1),
                    Err(error) => {
                        failed.lock().entry(*index).or_insert(error);
                    }
                }
                Ok::<_, PlayError>(())
            },
            |_| {},
        )?;
        match failed.into_inner().into_values().next() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Asks each model once that was not asked yet, and has a job.
    fn warm_up(&mut self, jobs: &[(usize, HoleJob<'_>)]) -> Result<(), PlayError> {
        let Some(hole) = self.warm_up else {
            return Ok(());
        };
        let mut worker = AskingWorker::take(&self.idle, self.subjects.len());
        for (index, _) in jobs {
            if !self.is_warm[*index] {
                self.is_warm[*index] = true;
                let of_subject = &mut worker.of_subject[*index];
                self.subjects[*index].replay.warm_up(hole, of_subject)?;
            }
        }
        Ok(())
    }

    fn replay(&self, index: usize) -> &SubjectReplay<'a> {
        &self.subjects[index].replay
    }

    /// The budget that is spent, of completions by all processes; `None` if there is more.
    fn spent(
        &self,
        comparison: &ComparisonPlan,
        began: Instant,
    ) -> Result<Option<ComparisonEnding>, PlayError> {
        if comparison
            .max_time
            .is_some_and(|most| began.elapsed() >= most)
        {
            return Ok(Some(ComparisonEnding::Time));
        }
        let Some(most) = comparison.max_calls else {
            return Ok(None);
        };
        let mut calls = 0;
        for subject in self.subjects {
            // Attempts of earlier processes count too, so the budget is that of the whole
            // comparison.
            calls += subject.replay.with_run(Run::attempts)?.len();
        }
        Ok((calls >= most).then_some(ComparisonEnding::Calls))
    }

    /// The passes of each subject, by hole.
    fn passes(&self) -> Result<Vec<BTreeMap<String, TimedPass>>, PlayError> {
        let subjects = self.subjects.iter();
        let passes = subjects.map(|subject| {
            let attempts = subject.replay.with_run(Run::attempts)?;
            Ok(passes_by_hole(&attempts, |attempt| {
                Some(attempt.latency_ms)
            }))
        });
        passes.collect()
    }
}

/// The file and both models' values of each hole that both have a verdict of.
fn pairs(
    order: &ModelOrder,
    passes: &[BTreeMap<String, TimedPass>],
    holes: &[&Hole],
) -> Vec<(String, f64, f64)> {
    let (first, second) = (&passes[order.first], &passes[order.second]);
    let value = |pass: TimedPass| match order.within_ms {
        Some(time) => pass.within(time),
        None => pass.rate,
    };
    let pairs = holes.iter().filter_map(|hole| {
        let (one, other) = (first.get(&hole.id)?, second.get(&hole.id)?);
        Some((cluster(hole), value(*one), value(*other)))
    });
    pairs.collect()
}

/// One worker for each subject, given back when it is dropped.
struct AskingWorker<'p> {
    of_subject: Vec<ReplayWorker>,
    idle: &'p Mutex<Vec<Vec<ReplayWorker>>>,
}

impl<'p> AskingWorker<'p> {
    fn take(idle: &'p Mutex<Vec<Vec<ReplayWorker>>>, subjects: usize) -> Self {
        let known = idle.lock().pop();
        let of_subject =
            known.unwrap_or_else(|| (0..subjects).map(|_| ReplayWorker::default()).collect());
        Self { of_subject, idle }
    }
}

impl Drop for AskingWorker<'_> {
    fn drop(&mut self) {
        self.idle.lock().push(std::mem::take(&mut self.of_subject));
    }
}

/// The pass rate and the time of arrival at each hole with a verdict, of first completions: repair
/// rounds are left out. `arrival_ms` is of an attempt that was answered.
pub fn passes_by_hole(
    attempts: &[Attempt],
    arrival_ms: impl Fn(&Attempt) -> Option<f64>,
) -> BTreeMap<String, TimedPass> {
    let mut by_hole: BTreeMap<&str, Vec<(f64, Option<f64>)>> = BTreeMap::new();
    let counted = attempts
        .iter()
        // A repair round exists only where the first completion failed, so it would bias
        // the rate.
        .filter(|attempt| attempt.repair_round == 0 && attempt.verdict.outcome.is_evidence());
    for attempt in counted {
        let rate = f64::from(u8::from(attempt.verdict.outcome == Outcome::Passed));
        let arrived = attempt.answered.then(|| arrival_ms(attempt)).flatten();
        by_hole
            .entry(&attempt.hole)
            .or_default()
            .push((rate, arrived));
    }
    let passes = by_hole.into_iter().map(|(hole, samples)| {
        let rate = samples.iter().map(|(rate, _)| rate).sum::<f64>() / samples.len() as f64;
        // The first sample is what an editor shows.
        let arrived_ms = samples[0].1;
        (hole.to_owned(), TimedPass { rate, arrived_ms })
    });
    passes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_a_further_model_come_last() {
        let pairs = |models| -> Vec<(usize, usize, Option<f64>)> {
            let questions = questions(models, Some(300.0)).into_iter();
            questions
                .map(|order| (order.first, order.second, order.within_ms))
                .collect()
        };
        let three = pairs(3);
        assert_eq!(three[..2], pairs(2));
        assert_eq!(three.len(), 6);
        assert_eq!(three[2], (0, 2, None));
        assert_eq!(three[5], (1, 2, Some(300.0)));
    }
}
