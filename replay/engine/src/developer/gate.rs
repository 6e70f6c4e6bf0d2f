//! Fits a gate, which holds completions back that would hardly be accepted, and draws the frontier
//! of accepted characters against completions shown on sessions left out of the fit.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{Logistic, LogisticError, LogisticSample};
use fillrate_server::completion::{
    FittedGate, GATE_SCHEMA, GateEvidence, GateFeature, GateSignals,
};
use fillrate_server::telemetry::RecordedCompletion;
use serde::Serialize;

use super::fit::{EVENTS_PER_COEFFICIENT, LEAST_SESSIONS};

/// A completion that was shown, what the server knew of it, and how much of it was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct GateObservation {
    /// The session it was shown in.
    pub session: String,
    /// Signals that the server had.
    pub signals: GateSignals,
    /// Number of its characters that were accepted; `None` if it was not.
    pub accepted_characters: Option<usize>,
    /// True if no person was there.
    pub simulated: bool,
}

/// A fitted gate, and what gates of other thresholds would do.
#[derive(Clone, Debug, PartialEq)]
pub struct GateFit {
    /// The gate.
    pub gate: FittedGate,
    /// From the lowest threshold to the highest.
    pub frontier: Vec<FrontierPoint>,
}

/// Effect of a threshold on sessions left out of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrontierPoint {
    /// Completions less likely to be accepted are held back.
    pub threshold: f64,
    /// The share of completions that are held back.
    pub held_back: f64,
    /// The share of accepted characters that is lost.
    pub characters_lost: f64,
}

/// Reason for which a gate can't be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GateFitError {
    /// Simulated completions and people's are never mixed.
    #[error(
        "{simulated} of {all} completions are simulated, no person's: leave them out, or say \
         --simulated to fit a gate to simulated completions alone"
    )]
    Simulated {
        /// Number of them.
        simulated: usize,
        /// Of how many.
        all: usize,
    },
    /// There is too little for a conclusion.
    #[error(
        "too little to fit a gate to: {accepted} of {shown} shown completions with signals were \
         accepted, in {sessions} sessions, and it takes {needed} accepted, {needed} not accepted \
         and {LEAST_SESSIONS} sessions; completions recorded before this version have no signals"
    )]
    TooLittle {
        /// Completions that were shown.
        shown: usize,
        /// Those of them that were accepted.
        accepted: usize,
        /// Sessions.
        sessions: usize,
        /// Number that either needs.
        needed: usize,
    },
    /// The regression has no solution.
    #[error("no gate can be fitted: {0}")]
    Regression(#[from] LogisticError),
}

/// The share of completions of which a feature must be known to be weighed. The others are shown.
const KNOWN: f64 = 0.9;

/// The most accepted characters that a gate may lose on sessions left out, as a share.
pub const MOST_CHARACTERS_LOST: f64 = 0.02;

/// Fits a gate to shown completions. Its threshold is the one that holds most back and loses at
/// most [`MOST_CHARACTERS_LOST`] of the accepted characters when each session is judged by a fit to
/// the others.
///
/// # Errors
/// The data are too few or mix completions of people with simulated ones. Simulated ones alone
/// require `simulated`.
pub fn fit_gate(
    observations: &[GateObservation],
    simulated: bool,
) -> Result<GateFit, GateFitError> {
    let all = observations.len();
    let not_people = observations.iter().filter(|one| one.simulated).count();
    if !simulated && not_people > 0 {
        return Err(GateFitError::Simulated {
            simulated: not_people,
            all,
        });
    }
    let taken = observations.iter().filter(|one| one.simulated == simulated);
    let taken: Vec<&GateObservation> = taken.collect();
    let mut features = usable_features(&taken, simulated);
    let sessions: BTreeSet<&str> = taken.iter().map(|one| one.session.as_str()).collect();
    let accepted = taken.iter().filter(|one| one.is_accepted()).count();
    let needed = EVENTS_PER_COEFFICIENT * (features.len() + 1);
    if accepted.min(taken.len() - accepted) < needed || sessions.len() < LEAST_SESSIONS {
        return Err(GateFitError::TooLittle {
            shown: taken.len(),
            accepted,
            sessions: sessions.len(),
            needed,
        });
    }
    let whole = loop {
        match regression(&taken, &features) {
            // What follows from other features adds nothing to them.
            Err(LogisticError::Collinear { feature, .. }) if feature < features.len() => {
                features.remove(feature);
            }
            fitted => break fitted?,
        }
    };
    let frontier = frontier(&judged_by_the_others(&taken, &features, &sessions)?);
    // Thresholds rise, so the last that loses little enough holds back the most.
    let best = frontier
        .iter()
        .rev()
        .find(|point| point.characters_lost <= MOST_CHARACTERS_LOST)
        .copied()
        .unwrap_or(FrontierPoint {
            threshold: 0.0,
            held_back: 0.0,
            characters_lost: 0.0,
        });
    let gate = FittedGate {
        schema: GATE_SCHEMA,
        simulated,
        threshold: best.threshold,
        intercept: whole.coefficients[0],
        evidence: GateEvidence {
            shown: taken.len(),
            accepted,
            sessions: sessions.len(),
            held_back: best.held_back,
            characters_lost: best.characters_lost,
        },
        coefficients: features
            .iter()
            .copied()
            .zip(whole.coefficients[1..].iter().copied())
            .collect(),
    };
    Ok(GateFit { gate, frontier })
}

impl GateFit {
    /// The points shown to people: the first that suppresses each tenth of the completions.
    pub fn tenths(&self) -> Vec<FrontierPoint> {
        let first = |tenth: u32| {
            let share = f64::from(tenth) / 10.0;
            self.frontier
                .iter()
                .find(|point| point.held_back >= share)
                .copied()
        };
        (1..10).filter_map(first).collect()
    }

    /// The point of the gate's own threshold; `None` if no threshold loses as little as it may.
    pub fn chosen(&self) -> Option<FrontierPoint> {
        let own = |point: &&FrontierPoint| point.threshold == self.gate.threshold;
        self.frontier.iter().find(own).copied()
    }
}

impl GateObservation {
    /// Observation of a completion that was shown or accepted and that typing triggered; `None` of
    /// another.
    pub fn from_recorded(recorded: &RecordedCompletion) -> Option<Self> {
        let accepted = recorded.accepted.as_ref();
        if recorded.shown.is_none() && accepted.is_none() {
            return None;
        }
        let answered = &recorded.answered;
        Some(Self {
            session: answered.session.clone(),
            signals: answered.signals.clone()?,
            accepted_characters: accepted.map(|accepted| accepted.characters),
            simulated: answered.simulated,
        })
    }

    fn is_accepted(&self) -> bool {
        self.accepted_characters.is_some()
    }
}

/// The features that a fit can weigh.
fn usable_features(taken: &[&GateObservation], simulated: bool) -> Vec<GateFeature> {
    let usable = |feature: &GateFeature| {
        // A simulated developer's clock is not the server's.
        let is_rhythm = matches!(feature, GateFeature::InBurst | GateFeature::LogInterval);
        !(simulated && is_rhythm) && is_usable(*feature, taken)
    };
    GateFeature::ALL.iter().copied().filter(usable).collect()
}

/// True if a feature is known of nearly every completion, and two sessions at least have
/// completions with more and with less of it, accepted ones and others: otherwise its best
/// coefficient is infinite, or is without the one session.
fn is_usable(feature: GateFeature, taken: &[&GateObservation]) -> bool {
    let known: Vec<(&GateObservation, f64)> = taken
        .iter()
        .filter_map(|one| Some((*one, feature.value(&one.signals)?)))
        .collect();
    if (known.len() as f64) < KNOWN * taken.len() as f64 {
        return false;
    }
    // Each half of a feature needs accepted and rejected completions of several sessions; else the
    // fit would separate them by one session.
    let middle = known.iter().map(|(_, value)| value).sum::<f64>() / known.len().max(1) as f64;
    let mut sessions: BTreeMap<(bool, bool), BTreeSet<&str>> = BTreeMap::new();
    for (one, value) in known {
        let cell = (value > middle, one.is_accepted());
        sessions.entry(cell).or_default().insert(&one.session);
    }
    sessions.len() == 4 && sessions.values().all(|of_cell| of_cell.len() > 1)
}

/// The values of features; `None` if one of them is unknown.
fn values(one: &GateObservation, features: &[GateFeature]) -> Option<Vec<f64>> {
    let value = |feature: &GateFeature| feature.value(&one.signals);
    features.iter().map(value).collect()
}

fn regression(
    taken: &[&GateObservation],
    features: &[GateFeature],
) -> Result<Logistic, LogisticError> {
    let samples: Vec<LogisticSample<&str>> = taken
        .iter()
        .filter_map(|one| {
            let session = one.session.as_str();
            Some((session, values(one, features)?, one.is_accepted()))
        })
        .collect();
    Logistic::fit(&samples)
}

/// The probability of an accept of each completion, by a fit to the other sessions, with the
/// characters that were accepted.
fn judged_by_the_others(
    taken: &[&GateObservation],
    features: &[GateFeature],
    sessions: &BTreeSet<&str>,
) -> Result<Vec<(f64, usize)>, LogisticError> {
    let mut judged = Vec::new();
    // Each session is judged by a fit without it, so the frontier is not that of the training data.
    for session in sessions {
        let (own, others): (Vec<_>, Vec<_>) = taken
            .iter()
            .copied()
            .partition(|one| one.session == *session);
        let fitted = regression(&others, features)?;
        judged.extend(own.iter().map(|one| {
            let values = values(one, features);
            // What can't be judged is shown.
            let probability = values.map_or(1.0, |values| fitted.probability(&values));
            (probability, one.accepted_characters.unwrap_or_default())
        }));
    }
    Ok(judged)
}

/// Returns the completions that each threshold between two probabilities suppresses and loses.
fn frontier(judged: &[(f64, usize)]) -> Vec<FrontierPoint> {
    let mut sorted = judged.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = sorted
        .iter()
        .map(|(_, characters)| characters)
        .sum::<usize>();
    let mut lost = 0;
    let mut points = Vec::new();
    for (index, (probability, characters)) in sorted.iter().enumerate() {
        // Those that are as likely stay together.
        if index > 0 && *probability > sorted[index - 1].0 {
            points.push(FrontierPoint {
                threshold: *probability,
                held_back: index as f64 / sorted.len() as f64,
                characters_lost: lost as f64 / all.max(1) as f64,
            });
        }
        lost += characters;
    }
    points
}

#[cfg(test)]
mod tests {
    use fillrate_server::completion::TokenBefore;

    use super::*;

    /// Completions of which those within words are hardly ever accepted.
    fn observations(count: usize) -> Vec<GateObservation> {
        (0..count)
            .map(|index| {
                let in_word = index % 2 == 0;
                let chance = (index * 53 % 97) as f64 / 97.0;
                let accepted = chance < if in_word { 0.03 } else { 0.6 };
                GateObservation {
                    session: format!("s{}", index % 12),
                    signals: GateSignals {
                        before: if in_word {
                            TokenBefore::Word
                        } else {
                            TokenBefore::Blank
                        },
                        characters: 5 + index % 40,
                        lines: 1,
                        ..GateSignals::default()
                    },
                    accepted_characters: accepted.then_some(if in_word { 2 } else { 20 }),
                    simulated: true,
                }
            })
            .collect()
    }

    #[test]
    fn a_gate_holds_back_what_is_hardly_accepted_on_sessions_left_out() {
        let fit = fit_gate(&observations(2400), true).expect("a fit");
        let GateEvidence {
            held_back,
            characters_lost,
            sessions,
            ..
        } = fit.gate.evidence;
        assert!((0.4..0.6).contains(&held_back), "{held_back}");
        assert!(characters_lost <= MOST_CHARACTERS_LOST, "{characters_lost}");
        assert_eq!(sessions, 12);
        let in_word = |before| GateSignals {
            before,
            characters: 20,
            lines: 1,
            ..GateSignals::default()
        };
        assert!(fit.gate.held_back(&in_word(TokenBefore::Word)).is_some());
        assert!(fit.gate.held_back(&in_word(TokenBefore::Blank)).is_none());
        assert!(fit.frontier.windows(2).all(|pair| {
            pair[0].threshold < pair[1].threshold
                && pair[0].held_back < pair[1].held_back
                && pair[0].characters_lost <= pair[1].characters_lost
        }));
    }

    #[test]
    fn noise_gives_no_gain() {
        let mut noise = observations(2400);
        for (index, one) in noise.iter_mut().enumerate() {
            // In an order that has nothing to do with the signals.
            let chance = (index * 7919 % 2399) as f64 / 2399.0;
            one.accepted_characters = (chance < 0.3).then_some(20);
        }
        let fit = fit_gate(&noise, true).expect("a fit");
        assert!(fit.gate.evidence.held_back < 0.06, "{:?}", fit.gate);
        // On noise, the share of accepted characters lost is about the share held back.
        let half = fit.frontier.iter().find(|point| point.held_back >= 0.5);
        let half = half.expect("there are many thresholds");
        assert!((half.characters_lost - 0.5).abs() < 0.1, "{half:?}");
    }

    #[test]
    fn features_that_no_fit_can_weigh_are_left_out() {
        let mut rare = observations(2400);
        rare[0].signals.mid_line = true;
        for one in &mut rare {
            one.signals.in_burst = one.accepted_characters.is_some();
        }
        for one in rare.iter_mut().step_by(2) {
            one.signals.mean_log_probability = one.accepted_characters.map(|_| -1.0);
        }
        let fit = fit_gate(&rare, true).expect("a fit");
        let weighed: Vec<GateFeature> = fit.gate.coefficients.keys().copied().collect();
        assert_eq!(
            weighed,
            [GateFeature::AfterWord, GateFeature::LogCharacters]
        );
    }

    #[test]
    fn people_and_simulations_are_not_mixed_and_few_completions_are_refused() {
        let error = fit_gate(&observations(2400), false).expect_err("simulated");
        assert!(error.to_string().contains("2400 of 2400"), "{error}");
        let error = fit_gate(&observations(40), true).expect_err("too few");
        assert!(error.to_string().starts_with("too little"), "{error}");
    }
}
