//! Fits the policy `probabilistic` to what people did with completions that they were shown.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{Logistic, LogisticError, LogisticSample, clustered_standard_error};
use sha2::{Digest, Sha256};
use strum::VariantArray;

use super::policy::{
    Calibration, Feature, FeatureCoefficient, FittedData, FittedPolicy, LinePosition,
    PolicyCoefficient, SCHEMA,
};

/// A completion that was shown, and whether it was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownObservation {
    /// Globally unique id of the completion.
    pub completion: String,
    /// The session it was shown in.
    pub session: String,
    /// Time in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// Its characters.
    pub characters: usize,
    /// Its lines.
    pub lines: usize,
    /// From the request to the answer, in milliseconds.
    pub latency_ms: f64,
    /// Position of the cursor in its line.
    pub place: LinePosition,
    /// True if it was accepted as a whole.
    pub accepted: bool,
    /// True if no person was there.
    pub simulated: bool,
}

/// Reason for which a policy can't be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Simulated completions and people's are never mixed.
    #[error(
        "{simulated} of {all} completions are simulated, no person's; a policy fitted to people \
         takes none of them: leave them out, or say --simulated to fit one to simulated \
         completions alone"
    )]
    Simulated {
        /// Number of them.
        simulated: usize,
        /// Of how many.
        all: usize,
    },
    /// There are no completions of the requested kind.
    #[error("there are no {0} completions that were shown")]
    None(&'static str),
    /// There are too few completions for a fit.
    #[error(
        "too little to fit a policy to: {accepted} of {shown} shown completions were accepted, \
         in {sessions} sessions, and it takes {needed} accepted, {needed} not accepted and \
         {LEAST_SESSIONS} sessions"
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
    /// One feature follows from others.
    #[error(
        "no policy can be fitted: in these {shown} completions {feature} follows from {from}, so \
         their effects can't be separated; add telemetry in which they vary independently"
    )]
    Collinear {
        /// Completions that were shown.
        shown: usize,
        /// The feature's name.
        feature: &'static str,
        /// The names of those that it follows from.
        from: String,
    },
    /// The regression has no solution.
    #[error("no policy can be fitted: {0}")]
    Regression(#[from] LogisticError),
}

/// Number of accepts, and of completions that were not accepted, that each coefficient needs:
/// Peduzzi et al. 1996, <https://doi.org/10.1016/S0895-4356(96)00236-3>.
pub const EVENTS_PER_COEFFICIENT: usize = 10;

/// The fewest sessions: errors are clustered by session, and with fewer clusters they are too
/// small.
pub const LEAST_SESSIONS: usize = 10;

/// Into how many parts sessions are put to see how a fit does on others.
pub const FOLDS: usize = 5;

/// Bins of the calibration error.
const BINS: usize = 10;

/// Fits a policy to shown completions. Features that are the same everywhere are left out.
///
/// # Errors
/// The data are too few or mix completions of people with simulated ones. Simulated ones alone
/// require `simulated`.
pub fn fit(
    name: &str,
    observations: &[ShownObservation],
    simulated: bool,
) -> Result<FittedPolicy, FitError> {
    let all = observations.len();
    let not_people = observations.iter().filter(|one| one.simulated).count();
    if !simulated && not_people > 0 {
        return Err(FitError::Simulated {
            simulated: not_people,
            all,
        });
    }
    let mut taken: Vec<&ShownObservation> = observations
        .iter()
        .filter(|one| one.simulated == simulated)
        .collect();
    // The order in which a store gives them decides nothing.
    taken.sort_by(|a, b| (a.at_ms, &a.completion).cmp(&(b.at_ms, &b.completion)));
    let (Some(first), Some(last)) = (taken.first(), taken.last()) else {
        let kind = if simulated { "simulated" } else { "real" };
        return Err(FitError::None(kind));
    };
    let (first_day, last_day) = (utc_day(first.at_ms), utc_day(last.at_ms));
    let features: Vec<Feature> = Feature::VARIANTS
        .iter()
        .copied()
        .filter(|feature| varies(taken.iter().map(|one| value(*feature, one))))
        .collect();
    let accepted = taken.iter().filter(|one| one.accepted).count();
    let sessions: BTreeSet<&str> = taken.iter().map(|one| one.session.as_str()).collect();
    // The intercept is a coefficient, too.
    let needed = EVENTS_PER_COEFFICIENT * (features.len() + 1);
    if accepted.min(taken.len() - accepted) < needed || sessions.len() < LEAST_SESSIONS {
        return Err(FitError::TooLittle {
            shown: taken.len(),
            accepted,
            sessions: sessions.len(),
            needed,
        });
    }
    let samples: Vec<LogisticSample<&str>> = taken
        .iter()
        .map(|one| {
            let values = features.iter().map(|feature| value(*feature, one));
            (one.session.as_str(), values.collect(), one.accepted)
        })
        .collect();
    let regression = Logistic::fit(&samples).map_err(|error| match error {
        LogisticError::Collinear { feature, from } => FitError::Collinear {
            shown: taken.len(),
            feature: features[feature].name(),
            from: names(from.iter().map(|at| features[*at].name())),
        },
        error => FitError::Regression(error),
    })?;
    let calibration = calibration(&samples)?;
    let number = |index: usize| (regression.coefficients[index], regression.errors[index]);
    let (intercept, se) = number(0);
    Ok(FittedPolicy {
        schema: SCHEMA,
        name: name.to_owned(),
        simulated,
        data: FittedData {
            sha256: digest(&taken),
            shown: taken.len(),
            accepted,
            sessions: sessions.len(),
            first_day,
            last_day,
            program: format!("fillrate {}", env!("CARGO_PKG_VERSION")),
        },
        calibration,
        intercept: PolicyCoefficient {
            value: intercept,
            se,
        },
        coefficients: features
            .iter()
            .enumerate()
            .map(|(index, feature)| {
                let (value, se) = number(index + 1);
                FeatureCoefficient {
                    feature: *feature,
                    value,
                    se,
                }
            })
            .collect(),
    })
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => "the intercept".to_owned(),
        names => names.join(" and "),
    }
}

/// True if not all values of a feature are equal: otherwise it can't be separated from the
/// intercept.
fn varies(mut values: impl Iterator<Item = f64>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

fn value(feature: Feature, one: &ShownObservation) -> f64 {
    feature.value(one.characters, one.lines, one.latency_ms, one.place)
}

/// Calibration of a fit on sessions that it was not fitted to. As in the fit to all sessions, a
/// feature that is the same in all sessions of a fold's fit is left out of it.
fn calibration(samples: &[LogisticSample<&str>]) -> Result<Calibration, LogisticError> {
    let sessions: BTreeSet<&str> = samples.iter().map(|(session, ..)| *session).collect();
    // By their hashes, so that neither time nor a person's habits decide over a fold.
    let mut hashed: Vec<(String, &str)> = sessions
        .into_iter()
        .map(|session| (hex(session.as_bytes()), session))
        .collect();
    hashed.sort();
    let fold: BTreeMap<&str, usize> = hashed
        .iter()
        .enumerate()
        .map(|(index, (_, session))| (*session, index % FOLDS))
        .collect();
    let mut squares = Vec::new();
    let mut squares_of_the_rate = 0.0;
    let mut predictions = Vec::new();
    for held_out in 0..FOLDS {
        let (mut test, mut training): (Vec<_>, Vec<_>) = samples
            .iter()
            .cloned()
            .partition(|(session, ..)| fold[session] == held_out);
        let width = training
            .first()
            .map_or(0, |(_, features, _)| features.len());
        let varying: Vec<bool> = (0..width)
            .map(|at| varies(training.iter().map(|(_, features, _)| features[at])))
            .collect();
        for (_, features, _) in test.iter_mut().chain(&mut training) {
            let mut varying = varying.iter();
            features.retain(|_| varying.next() == Some(&true));
        }
        // The completions of a session are alike, so whole sessions are held out.
        let regression = Logistic::fit(&training)?;
        let accepts = training.iter().filter(|(_, _, accepted)| *accepted).count();
        let rate = accepts as f64 / training.len() as f64;
        for (session, features, accepted) in test {
            let outcome = f64::from(u8::from(accepted));
            let probability = regression.probability(&features);
            squares.push((session, (probability - outcome).powi(2)));
            squares_of_the_rate += (rate - outcome).powi(2);
            predictions.push((probability, outcome));
        }
    }
    let n = squares.len() as f64;
    Ok(Calibration {
        folds: FOLDS,
        brier: squares.iter().map(|(_, square)| square).sum::<f64>() / n,
        brier_se: clustered_standard_error(&squares),
        brier_of_the_rate_alone: squares_of_the_rate / n,
        expected_calibration_error: calibration_error(&predictions),
    })
}

/// The expected calibration error: over bins of equal width, the share of predictions in a bin
/// times the distance of their mean from the share of accepts (Naeini, Cooper and Hauskrecht 2015,
/// <https://doi.org/10.1609/aaai.v29i1.9602>).
fn calibration_error(predictions: &[(f64, f64)]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for (probability, outcome) in predictions {
        // A probability of 1 belongs to the last bin.
        let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
        bins[bin].0 += probability;
        bins[bin].1 += outcome;
    }
    let apart: f64 = bins
        .iter()
        .map(|(probability, outcome)| (probability - outcome).abs())
        .sum();
    apart / predictions.len().max(1) as f64
}

/// The SHA-256 of the input of a fit.
fn digest(taken: &[&ShownObservation]) -> String {
    let lines: Vec<String> = taken
        .iter()
        .map(|one| {
            serde_json::json!([
                one.completion,
                one.session,
                one.at_ms,
                one.characters,
                one.lines,
                one.latency_ms,
                one.place,
                one.accepted,
            ])
            .to_string()
        })
        .collect();
    hex(lines.join("\n").as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The day of a time in UTC, by Hinnant's `civil_from_days`,
/// <https://howardhinnant.github.io/date_algorithms.html>.
pub fn utc_day(at_ms: i64) -> String {
    // The year begins with March, so that the leap day is its last day (Hinnant's
    // `civil_from_days`).
    let days = at_ms.div_euclid(86_400_000) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::developer::policy::{DisplayedCompletion, Policy, Rule};

    /// Completions whose acceptance follows a known law, in the given number of sessions.
    fn observations(count: usize, sessions: usize) -> Vec<ShownObservation> {
        (0..count)
            .map(|index| {
                let characters = 1 + index * 37 % 80;
                let place = match index % 3 {
                    0 => LinePosition::MidLine,
                    1 => LinePosition::LineEnd,
                    _ => LinePosition::NewBlock,
                };
                let odds = 1.0 - 0.8 * (characters as f64).ln()
                    + if place == LinePosition::LineEnd {
                        1.0
                    } else {
                        0.0
                    };
                let chance = crate::developer::typist::draw(&[&index.to_string(), "x"]);
                ShownObservation {
                    completion: format!("c{index}"),
                    session: format!("s{}", index % sessions),
                    at_ms: 1_760_000_000_000 + index as i64 * 1000,
                    characters,
                    lines: 1,
                    latency_ms: (index * 13 % 400) as f64,
                    place,
                    accepted: chance < 1.0 / (1.0 + (-odds).exp()),
                    simulated: false,
                }
            })
            .collect()
    }

    #[test]
    fn a_known_law_is_found_again() {
        let data = observations(6000, 40);
        let fitted = fit("mine", &data, false).expect("there is enough");
        // All have one line, so lines are no feature.
        let names: Vec<&str> = fitted
            .coefficients
            .iter()
            .map(|one| one.feature.name())
            .collect();
        assert_eq!(
            names,
            [
                "log_characters",
                "log_latency",
                "at_line_end",
                "at_new_block"
            ]
        );
        let truth = [-0.8, 0.0, 1.0, 0.0];
        for (one, truth) in fitted.coefficients.iter().zip(truth) {
            assert!((one.value - truth).abs() < 4.0 * one.se, "{one:?} {truth}");
            assert!(one.se > 0.0 && one.se < 0.3, "{one:?}");
        }
        let Calibration {
            brier,
            brier_of_the_rate_alone,
            expected_calibration_error,
            ..
        } = fitted.calibration;
        assert!(brier < brier_of_the_rate_alone);
        assert!(expected_calibration_error < 0.03);
        assert_eq!(fitted.data.first_day, "2025-10-09");
        // The order does not matter, the data do.
        let mut turned = data.clone();
        turned.reverse();
        assert_eq!(fit("mine", &turned, false), Ok(fitted.clone()));
        turned[0].accepted = !turned[0].accepted;
        let other = fit("mine", &turned, false).expect("there is enough");
        assert_ne!(other.data.sha256, fitted.data.sha256);
    }

    #[test]
    fn a_feature_that_follows_from_another_is_named() {
        let mut data = observations(2000, 20);
        for one in &mut data {
            // If latency is proportional to length, it adds no information.
            one.latency_ms = one.characters as f64 - 1.0;
        }
        let error = fit("mine", &data, false).expect_err("it is refused");
        assert_eq!(
            error.to_string(),
            "no policy can be fitted: in these 2000 completions log_latency follows from \
             log_characters, so their effects can't be separated; add telemetry in which they \
             vary independently"
        );
    }

    #[test]
    fn a_feature_of_one_session_alone_does_not_prevent_the_fit() {
        let mut data = observations(2000, 20);
        // The fold that holds this session out meets no other number of lines.
        for one in data.iter_mut().filter(|one| one.session == "s3") {
            one.lines = 1 + one.characters % 3;
        }
        let fitted = fit("mine", &data, false).expect("there is enough");
        let lines = fitted.coefficients.iter();
        let lines = lines.filter(|one| one.feature == Feature::LogLines);
        assert_eq!(lines.count(), 1);
        assert!(fitted.calibration.brier < 0.25, "{:?}", fitted.calibration);
    }

    #[test]
    fn calibration_error_of_certain_predictions_is_their_share_of_faults() {
        assert_eq!(calibration_error(&[]), 0.0);
        assert_eq!(calibration_error(&[(1.0, 1.0), (0.0, 0.0)]), 0.0);
        assert_eq!(calibration_error(&[(1.0, 0.0)]), 1.0);
        assert_eq!(calibration_error(&[(0.5, 1.0), (0.5, 0.0)]), 0.0);
    }

    #[test]
    fn a_fitted_policy_survives_its_file() {
        let fitted = fit("mine", &observations(2000, 20), false).expect("there is enough");
        let text = toml::to_string(&fitted).expect("it can be written");
        let policy = Policy::parse("probabilistic=p.toml+latency", |file| {
            assert_eq!(file, "p.toml");
            Ok(text.clone())
        })
        .expect("it is one");
        assert_eq!(policy.name(), "probabilistic: mine+latency");
        let Rule::Probabilistic(read) = &policy.rule else {
            panic!("it is fitted");
        };
        assert_eq!(**read, fitted);
        let candidates = ["x".to_owned()];
        let view = DisplayedCompletion {
            remaining: "y",
            candidates: &candidates,
            latency_ms: 10.0,
            place: LinePosition::LineEnd,
        };
        let probability = fitted.probability("x", 10.0, LinePosition::LineEnd);
        assert_eq!(policy.choose(view, probability - 0.01), Some(0));
        assert_eq!(policy.choose(view, probability + 0.01), None);
    }

    #[test]
    fn what_supports_no_fit_is_refused_in_a_sentence() {
        let error = |data: &[ShownObservation], simulated| {
            fit("mine", data, simulated)
                .expect_err("it is refused")
                .to_string()
        };
        insta::assert_snapshot!(error(&observations(60, 12), false), @"too little to fit a policy to: 15 of 60 shown completions were accepted, in 12 sessions, and it takes 50 accepted, 50 not accepted and 10 sessions");
        assert!(error(&observations(6000, 9), false).contains("in 9 sessions"));
        let mut mixed = observations(6000, 40);
        mixed[7].simulated = true;
        insta::assert_snapshot!(error(&mixed, false), @"1 of 6000 completions are simulated, no person's; a policy fitted to people takes none of them: leave them out, or say --simulated to fit one to simulated completions alone");
        // Simulated completions alone are too few, and `--simulated` ignores those of people.
        assert!(error(&mixed, true).contains("of 1 shown"));
        assert_eq!(
            error(&mixed[..7], true),
            "there are no simulated completions that were shown"
        );
        let mut simulated = observations(2000, 20);
        simulated.iter_mut().for_each(|one| one.simulated = true);
        let fitted = fit("demo", &simulated, true).expect("it was asked for");
        assert!(fitted.simulated);
        let text = toml::to_string(&fitted).expect("it can be written");
        let policy = Policy::parse("probabilistic=p", |_| Ok(text.clone())).expect("it is one");
        assert_eq!(policy.name(), "probabilistic: simulated demo");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (at_ms, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_735_689_599_999, "2024-12-31"),
            (4_107_542_399_999, "2100-02-28"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(utc_day(at_ms), expected);
        }
    }
}
