//! A run's attempts with what can be calculated of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fillrate_engine::developer::policy::LinePosition;
use fillrate_engine::store::{Attempt, Run, StoreError};
use fillrate_language::mutate::MutationScore;
use fillrate_language::scoring::ScoringLanguage;
use fillrate_language::task::Hole;
use fillrate_metrics::metric::EM_CCEVAL;
use fillrate_metrics::{Sample, Scorer, oracle_prefix, reported_text_metrics};
use fillrate_mine::invocation::InvocationRates;
use fillrate_server::completion::Trace;
use fillrate_syntax::Language;

/// One attempt with its scores, which are absent if its outcome
/// [is not counted](fillrate_verdict::Outcome::is_counted).
pub(super) struct ScoredAttempt {
    pub(super) attempt: Attempt,
    /// The hole's file. Outcomes in one file are correlated, so intervals are clustered by it.
    pub(super) cluster: String,
    pub(super) text: BTreeMap<&'static str, f64>,
    /// The shares of the hole's dependencies that the completion names.
    pub(super) invocation: InvocationRates,
    /// True if a simulated developer accepts a candidate; `None` if none was offered.
    pub(super) accepted: Option<bool>,
    /// Milliseconds from request to response; `None` without a response, or without a model.
    pub(super) latency_ms: Option<f64>,
    /// The text that a developer is about to write.
    pub(super) remaining: String,
    /// The cursor position at the hole.
    pub(super) position: LinePosition,
    /// The hole's mutation score.
    pub(super) mutation: Option<f64>,
    /// The geometric mean of the probabilities that the model gave the tokens of the completion, if
    /// it reports them and clean-up only cut its text.
    pub(super) probability: Option<f64>,
}

impl ScoredAttempt {
    pub(super) fn score(hole: &Hole, contents: &str, attempt: Attempt) -> Self {
        let mut text = BTreeMap::new();
        let is_counted = attempt.verdict.outcome.is_counted();
        // Text metrics of attempts that don't count would enter their means.
        let language = Language::for_path(Path::new(&hole.path)).filter(|_| is_counted);
        if let (Some(language), Ok((prefix, _))) = (language, hole.cut(contents)) {
            let sample = Sample {
                syntax: &ScoringLanguage::from(language),
                prompt: prefix,
                prediction: attempt.completion(),
                reference: &hole.reference,
            };
            let scorer = Scorer::new(sample);
            for text_metric in reported_text_metrics() {
                text.insert(text_metric.metric.name, scorer.score(text_metric));
            }
        }
        let invocation = if is_counted {
            InvocationRates::score(hole, attempt.completion())
        } else {
            InvocationRates::default()
        };
        // Where the file is shown as it was written, a right completion may go on.
        let remaining = [hole.reference.as_str(), &attempt.overlap].concat();
        let has_offer = is_counted && !attempt.offered.is_empty();
        let accepted = has_offer.then(|| {
            let mut offered = attempt.offered.iter();
            // The oracle accepts a candidate that the text to write begins with.
            offered.any(|candidate| oracle_prefix(&remaining, candidate).is_some())
        });
        Self {
            cluster: cluster(hole),
            text,
            invocation,
            accepted,
            latency_ms: latency_ms(&attempt),
            remaining,
            position: position(hole, contents),
            mutation: hole
                .mutation
                .as_ref()
                .and_then(|mutation| MutationScore::from(mutation).score()),
            probability: probability(&attempt),
            attempt,
        }
    }
}

impl ScoredAttempt {
    /// The attempt of a run [with latencies](Run::has_latency) or without.
    pub(super) fn timed(self, has_latency: bool) -> Self {
        Self {
            latency_ms: self.latency_ms.filter(|_| has_latency),
            ..self
        }
    }

    /// The trace of a model that answered; `None` without a latency, as of recorded completions,
    /// whose times are not a model's.
    pub(super) fn model_trace(&self) -> Option<&Trace> {
        self.latency_ms?;
        self.attempt.trace.as_ref()
    }

    /// True if any figure counts the attempt.
    pub(super) fn is_counted(&self) -> bool {
        self.attempt.verdict.outcome.is_counted()
    }

    /// True if an attempt at the same hole has the same figures, except those of its verdict.
    pub(super) fn is_alike(&self, attempt: &Attempt) -> bool {
        self.attempt.offered == attempt.offered
            && self.is_counted() == attempt.verdict.outcome.is_counted()
    }

    /// The figures of an attempt that [is alike](Self::is_alike).
    pub(super) fn with_verdict_of(&self, attempt: Attempt) -> Self {
        Self {
            cluster: self.cluster.clone(),
            text: self.text.clone(),
            invocation: self.invocation,
            accepted: self.accepted,
            latency_ms: latency_ms(&attempt),
            remaining: self.remaining.clone(),
            position: self.position,
            mutation: self.mutation,
            probability: probability(&attempt),
            attempt,
        }
    }
}

/// See [`ScoredAttempt::latency_ms`].
fn latency_ms(attempt: &Attempt) -> Option<f64> {
    let has_latency = attempt.answered && attempt.verdict.outcome.is_counted();
    has_latency.then_some(attempt.latency_ms)
}

/// See [`ScoredAttempt::probability`].
fn probability(attempt: &Attempt) -> Option<f64> {
    if !attempt.verdict.outcome.is_counted() {
        return None;
    }
    let completion = attempt.offered.first()?;
    let steps = &attempt.trace.as_ref()?.steps;
    // Clean-up cuts the raw completion, so the shown one is a part of it.
    let step = steps.iter().find(|step| step.raw.contains(completion))?;
    step.mean_log_probability.map(f64::exp)
}

/// A run's attempts with what can be calculated of them.
pub(super) fn load_scored(run: &Run) -> Result<Vec<ScoredAttempt>, StoreError> {
    let (holes, has_latency) = (run.holes()?, run.has_latency()?);
    let mut scored = Vec::new();
    for attempt in run.attempts()? {
        if let Some(hole) = holes.get(&attempt.hole) {
            let contents = run.source(hole)?;
            scored.push(ScoredAttempt::score(hole, &contents, attempt).timed(has_latency));
        }
    }
    Ok(scored)
}

/// Number of attempts of a run that were made without being shown another file, and the holes for
/// which one of these has the reference, as `em/cceval` compares them.
///
/// # Errors
/// The run can't be read.
pub fn solved_alone(run: &Run) -> Result<(usize, BTreeSet<String>), StoreError> {
    let mut alone = 0;
    let mut solved = BTreeSet::new();
    for one in without_repairs(load_scored(run)?) {
        let trace = one.attempt.trace.as_ref();
        // A prompt with windows shows other files, so the model did not solve the hole alone.
        if !trace.is_some_and(|trace| trace.windows.is_empty()) {
            continue;
        }
        alone += 1;
        if one.text.get(EM_CCEVAL.name) == Some(&1.0) {
            solved.insert(one.attempt.hole);
        }
    }
    Ok((alone, solved))
}

/// Removes the attempts of repair rounds, which count only in the figures by round.
pub(super) fn without_repairs(mut scored: Vec<ScoredAttempt>) -> Vec<ScoredAttempt> {
    scored.retain(|one| one.attempt.repair_round == 0);
    scored
}

/// The hole's file. Outcomes in one file are correlated, so intervals are clustered by it.
pub(super) fn cluster(hole: &Hole) -> String {
    format!("{}\0{}", hole.project, hole.path)
}

/// The cursor position at a hole.
fn position(hole: &Hole, contents: &str) -> LinePosition {
    hole.cut(contents)
        .map_or(LinePosition::LineEnd, |(prefix, suffix)| {
            LinePosition::between(prefix, suffix)
        })
}
