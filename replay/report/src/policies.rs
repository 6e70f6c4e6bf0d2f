//! Figures of simulated developers in a run, by policy. None of it is a person's: every figure's
//! name has its policy's.

use std::collections::BTreeMap;

use comfy_table::Cell;
use fillrate_engine::developer::policy::DisplayedCompletion;
use fillrate_engine::developer::typing::{RequestResult, TypingRequest, key_count};
use fillrate_engine::store::{DeveloperSettings, TypingAttempt};
use fillrate_language::task::Hole;
use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, ACCEPTED_GIVEN_PASS,
    ACCEPTED_PER_MINUTE, COMPLETED_CODE, INTERRUPTIONS, KEYSTROKES_SAVED, LATE, MEDIAN_LATENCY,
    PASS_GIVEN_ACCEPTED, REPAIRED, WASTED_ACCEPT,
};
use fillrate_metrics::{Estimate, Metric, READ_MS, clustered_proportion, median};
use fillrate_verdict::Outcome;
use serde::Serialize;

use super::scored::ScoredAttempt;
use super::table::{TextTable, TextWidth, figure, right};

/// A developer's figures under one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyFigures {
    /// The policy's name.
    pub policy: String,
    /// Its version.
    pub version: u32,
    /// Holes that were typed, or completed at once in a run without typing.
    pub holes: usize,
    /// By `METRIC(POLICY)`, the metrics of [`POLICY_METRICS`] that apply. Rates are between 0 and
    /// 1, `keystrokes-saved` at most 1, latencies in milliseconds.
    pub metrics: BTreeMap<String, Estimate>,
}

/// Every metric of a policy, in the order of the tables.
pub const POLICY_METRICS: [Metric; 13] = [
    ACCEPTANCE_SHOWN,
    ACCEPTANCE_READ,
    ACCEPTANCE_CHARACTERS,
    COMPLETED_CODE,
    KEYSTROKES_SAVED,
    ACCEPTED_PER_MINUTE,
    INTERRUPTIONS,
    PASS_GIVEN_ACCEPTED,
    ACCEPTED_GIVEN_PASS,
    WASTED_ACCEPT,
    REPAIRED,
    LATE,
    MEDIAN_LATENCY,
];

impl PolicyFigures {
    /// A metric's figure.
    pub fn figure(&self, metric: Metric) -> Option<&Estimate> {
        self.metrics.get(&named(metric.name, &self.policy))
    }
}

/// The name of a policy's figure.
pub fn named(metric: &str, policy: &str) -> String {
    format!("{metric}({policy})")
}

/// A hole that a simulated developer typed.
#[derive(Clone, Copy, Debug)]
pub struct TypedHole<'a> {
    /// The cluster of its samples.
    pub cluster: &'a str,
    /// The [`characters`] of the reference.
    pub characters: usize,
    /// The typing.
    pub typing: &'a TypingAttempt,
}

impl<'a> TypedHole<'a> {
    /// The requests whose completion was displayed.
    fn displayed(self) -> impl Iterator<Item = &'a TypingRequest> {
        let requests = self.typing.session.requests.iter();
        requests.filter(|request| request.result == RequestResult::Shown)
    }

    /// The accepted characters, those deleted again included.
    fn accepted_characters(self) -> usize {
        let requests = self.typing.session.requests.iter();
        let accepted = requests.filter_map(|request| request.accepted);
        accepted.map(|one| one.kept + one.removed).sum()
    }
}

/// A sample: its cluster, its weight and its value.
pub type PolicySample<'a> = (&'a str, f64, f64);

/// The samples of the metrics that compare accepts with what was shown or typed, the main one
/// first: `acceptance/shown` and `acceptance/read`, whose weights are 1 and values 0 or 1;
/// `acceptance/chars`, `completed-code` and `keystrokes-saved`, weighted by characters.
pub fn typing_samples<'a>(typed: &[TypedHole<'a>]) -> [(Metric, Vec<PolicySample<'a>>); 5] {
    let (mut shown, mut read, mut characters) = (Vec::new(), Vec::new(), Vec::new());
    let (mut completed, mut saved) = (Vec::new(), Vec::new());
    for hole in typed {
        for request in hole.displayed() {
            let accepted = f64::from(u8::from(request.accepted.is_some()));
            shown.push((hole.cluster, 1.0, accepted));
            // A completion that vanished before a person could read it was neither accepted nor
            // rejected.
            if request.accepted.is_some() || request.shown_ms >= READ_MS {
                let length = request.text().map_or(0, |text| text.chars().count());
                read.push((hole.cluster, 1.0, accepted));
                characters.push((hole.cluster, length as f64, accepted));
            }
        }
        let accepted = hole.accepted_characters();
        let entered = (accepted + hole.typing.session.keys.typed) as f64;
        // Shares are weighted by their denominators, so the mean is a ratio of sums.
        completed.push((hole.cluster, entered, accepted as f64 / entered.max(1.0)));
        saved.push((hole.cluster, hole.characters as f64, keystrokes_saved(hole)));
    }
    [
        (ACCEPTANCE_SHOWN, shown),
        (ACCEPTANCE_READ, read),
        (ACCEPTANCE_CHARACTERS, characters),
        (COMPLETED_CODE, completed),
        (KEYSTROKES_SAVED, saved),
    ]
}

/// The estimate of a metric of [`typing_samples`].
fn estimate_samples(metric: Metric, samples: &[PolicySample<'_>]) -> Option<Estimate> {
    metric.unit.mean(samples)
}

/// Completions shown and not accepted for each accepted one: the odds against an accept, whose
/// bounds are those of the share accepted. `None` if none was accepted.
fn interruptions(accepted: Estimate) -> Option<Estimate> {
    // The odds fall as the share rises, so the bounds change places.
    let odds = |share: f64| (share > 0.0).then(|| (1.0 - share) / share);
    Some(Estimate {
        value: odds(accepted.value)?,
        low: accepted.high.and_then(odds),
        high: accepted.low.and_then(odds),
        ..accepted
    })
}

/// Accepted characters that stayed, a minute of the typist's clock.
fn accepted_per_minute(typed: &[TypedHole<'_>]) -> Option<Estimate> {
    let samples: Vec<PolicySample<'_>> = typed
        .iter()
        .filter_map(|hole| {
            let session = &hole.typing.session;
            let accepted = session
                .requests
                .iter()
                .filter_map(|request| request.accepted);
            let kept: usize = accepted.map(|one| one.kept).sum();
            let minutes = session.duration_ms / 60_000.0;
            (minutes > 0.0).then(|| (hole.cluster, minutes, kept as f64 / minutes))
        })
        .collect();
    ACCEPTED_PER_MINUTE.unit.mean(&samples)
}

/// A completion that a developer saw, or would have seen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JudgedCompletion {
    accepted: bool,
    /// True if it passes the tests, if it was judged.
    passes: Option<bool>,
    /// True if the hole was still empty.
    opening: bool,
}

/// Estimates the figures of typed holes, one object for each policy, in the order of their names.
pub(super) fn estimate_typed(typed: &[TypedHole<'_>]) -> Vec<PolicyFigures> {
    let mut by_policy: BTreeMap<&str, Vec<TypedHole<'_>>> = BTreeMap::new();
    for one in typed {
        by_policy.entry(&one.typing.policy).or_default().push(*one);
    }
    let figures = by_policy.into_iter().map(|(policy, typed)| {
        let mut metrics = BTreeMap::new();
        let mut put = |metric: Metric, estimate: Option<Estimate>| {
            if let Some(estimate) = estimate {
                metrics.insert(named(metric.name, policy), estimate);
            }
        };
        for (metric, samples) in typing_samples(&typed) {
            let estimate = estimate_samples(metric, &samples);
            if metric == ACCEPTANCE_SHOWN {
                put(INTERRUPTIONS, estimate.and_then(interruptions));
            }
            put(metric, estimate);
        }
        put(ACCEPTED_PER_MINUTE, accepted_per_minute(&typed));
        let displayed = || {
            typed
                .iter()
                .flat_map(|hole| hole.displayed().map(|one| (hole.cluster, one)))
        };
        let judged: Vec<(&str, JudgedCompletion)> = displayed()
            .map(|(cluster, one)| {
                let judged = JudgedCompletion {
                    accepted: one.accepted.is_some(),
                    passes: one.outcome.and_then(passes),
                    opening: one.written == 0,
                };
                (cluster, judged)
            })
            .collect();
        for (metric, estimate) in estimate_judged(&judged) {
            put(metric, estimate);
        }
        let repaired = displayed().filter_map(|(cluster, one)| {
            let accepted = one.accepted?;
            Some((cluster.to_owned(), accepted.removed > 0))
        });
        put(REPAIRED, proportion(repaired));
        let late = typed.iter().flat_map(|hole| {
            let requests = hole.typing.session.requests.iter();
            requests.map(|one| {
                let late = matches!(one.result, RequestResult::Late | RequestResult::Cancelled);
                (hole.cluster.to_owned(), late)
            })
        });
        put(LATE, proportion(late));
        let latencies: Vec<f64> = displayed().filter_map(|(_, one)| one.latency_ms).collect();
        put(MEDIAN_LATENCY, median(&latencies));
        PolicyFigures {
            policy: policy.to_owned(),
            version: typed[0].typing.policy_version,
            holes: typed.len(),
            metrics,
        }
    });
    figures.collect()
}

/// Estimates, for a run without typing, which of the offered completions a developer of each policy
/// accepts who is about to type the reference.
pub(super) fn estimate_attempts(
    scored: &[&ScoredAttempt],
    settings: &DeveloperSettings,
) -> Vec<PolicyFigures> {
    let figures = settings.policies.iter().map(|policy| {
        let name = policy.name();
        let typing = &settings.typing;
        let judged: Vec<(&str, JudgedCompletion, Option<f64>)> = scored
            .iter()
            .filter(|one| one.is_counted())
            .filter_map(|one| {
                let attempt = &one.attempt;
                let latency_ms = one.latency_ms.unwrap_or_default();
                // A completion that comes after the next key is never shown. At an empty hole, an
                // editor does not wait after a key.
                let late = policy.latency && latency_ms > typing.first_pause_ms(&attempt.hole);
                if attempt.offered.is_empty() || late {
                    return None;
                }
                let view = DisplayedCompletion {
                    remaining: &one.remaining,
                    candidates: &attempt.offered,
                    latency_ms,
                    place: one.position,
                };
                let chance = typing.chance(policy, &attempt.hole, attempt.sample as usize);
                let choice = policy.choose(view, chance);
                // Only the first candidate was judged.
                let has_verdict = choice.unwrap_or(0) == 0;
                let judged = JudgedCompletion {
                    accepted: choice.is_some(),
                    passes: passes(attempt.verdict.outcome).filter(|_| has_verdict),
                    opening: true,
                };
                Some((one.cluster.as_str(), judged, one.latency_ms))
            })
            .collect();
        let mut metrics = BTreeMap::new();
        let mut put = |metric: Metric, estimate: Option<Estimate>| {
            if let Some(estimate) = estimate {
                metrics.insert(named(metric.name, &name), estimate);
            }
        };
        let accepted = judged
            .iter()
            .map(|(cluster, one, _)| ((*cluster).to_owned(), one.accepted));
        put(ACCEPTANCE_SHOWN, proportion(accepted));
        let latencies: Vec<f64> = judged.iter().filter_map(|(_, _, it)| *it).collect();
        put(MEDIAN_LATENCY, median(&latencies));
        let judged: Vec<(&str, JudgedCompletion)> = judged
            .into_iter()
            .map(|(cluster, one, _)| (cluster, one))
            .collect();
        for (metric, estimate) in estimate_judged(&judged) {
            put(metric, estimate);
        }
        let holes: std::collections::BTreeSet<&str> = scored
            .iter()
            .filter(|one| one.is_counted())
            .map(|one| &*one.attempt.hole)
            .collect();
        PolicyFigures {
            policy: name.clone(),
            version: policy.version(),
            holes: holes.len(),
            metrics,
        }
    });
    figures.collect()
}

/// The metrics that join accepts with verdicts on the same completions.
fn estimate_judged(judged: &[(&str, JudgedCompletion)]) -> [(Metric, Option<Estimate>); 3] {
    let accepted = || judged.iter().filter(|(_, one)| one.accepted);
    let passing =
        |wanted: bool| {
            proportion(accepted().filter_map(move |(cluster, one)| {
                Some(((*cluster).to_owned(), one.passes? == wanted))
            }))
        };
    let at_passing = proportion(
        judged
            .iter()
            // A completion in the middle of a hole is judged only if it was accepted, which would
            // bias it.
            .filter(|(_, one)| one.opening && one.passes == Some(true))
            .map(|(cluster, one)| ((*cluster).to_owned(), one.accepted)),
    );
    [
        (PASS_GIVEN_ACCEPTED, passing(true)),
        (ACCEPTED_GIVEN_PASS, at_passing),
        (WASTED_ACCEPT, passing(false)),
    ]
}

/// 1 − keys / characters of the reference at one hole.
pub(super) fn keystrokes_saved(typed: &TypedHole<'_>) -> f64 {
    // Typing by hand takes one key for each character of the reference.
    1.0 - typed.typing.session.keys.total() as f64 / typed.characters.max(1) as f64
}

/// The share of the completions shown at one hole that was accepted; `None` if none was shown.
pub(super) fn acceptance(typed: &TypedHole<'_>) -> Option<f64> {
    let shown = typed.displayed().count();
    let accepted = typed
        .displayed()
        .filter(|request| request.accepted.is_some());
    (shown > 0).then(|| accepted.count() as f64 / shown as f64)
}

/// The characters of a hole's reference, as keys type them: a CR with its LF is one.
pub fn characters(hole: &Hole) -> usize {
    key_count(&hole.reference)
}

/// Returns true for a pass; `None` if it says nothing about the completion.
fn passes(outcome: Outcome) -> Option<bool> {
    outcome.is_evidence().then_some(outcome == Outcome::Passed)
}

fn proportion(outcomes: impl Iterator<Item = (String, bool)>) -> Option<Estimate> {
    clustered_proportion(&outcomes.collect::<Vec<_>>())
}

/// The table of all policies; empty without figures.
pub(super) fn table(figures: &[PolicyFigures], width: TextWidth) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let there: Vec<Metric> = POLICY_METRICS
        .into_iter()
        .filter(|metric| figures.iter().any(|one| one.figure(*metric).is_some()))
        .collect();
    let mut header = vec!["policy", "holes"];
    header.extend(there.iter().map(|metric| metric.name));
    let mut table = TextTable::new(header);
    for one in figures {
        let mut cells = vec![Cell::new(&one.policy), right(one.holes)];
        let figures = there.iter();
        cells.extend(figures.map(|metric| figure(metric.name, one.figure(*metric))));
        table.add_row(cells);
    }
    format!(
        "{}\nSimulated: accepts of a developer of each policy, not of a person. \
         P(pass|accepted) and wasted-accept are over accepts, each judged\nas the rest of the \
         hole; P(accepted|pass) over completions that are shown at an empty hole and pass.\n",
        table.render(width)
    )
}

#[cfg(test)]
mod tests {
    use fillrate_engine::developer::typing::{KeyCounts, TypedAcceptance, TypingSession};
    use fillrate_engine::store::Attempt;
    use fillrate_language::task::HoleKind;

    use super::*;
    use crate::tests::{FILE, accepts_all, attempt};

    // By hand: `a`, the line end and `b` are three keys, and nothing is accepted.
    #[test]
    fn line_end_of_two_characters_saves_no_key() {
        let contents = "f(a\r\nb)\n";
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Span, 2..6, contents);
        let typing = TypingAttempt {
            hole: hole.id.clone(),
            key: String::new(),
            project: String::new(),
            model: String::new(),
            configuration: String::new(),
            policy: "line".to_owned(),
            policy_version: 1,
            session: TypingSession {
                keys: KeyCounts {
                    typed: 3,
                    ..KeyCounts::default()
                },
                ..TypingSession::default()
            },
        };
        let typed = TypedHole {
            cluster: "a",
            characters: characters(&hole),
            typing: &typing,
        };
        assert_eq!(keystrokes_saved(&typed), 0.0);
    }

    #[test]
    fn completions_within_the_first_pause_are_not_late() {
        let mut settings = accepts_all();
        settings.policies[0].latency = true;
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let pause = settings.typing.first_pause_ms(&hole.id);
        let shown = |latency_ms: f64| {
            let attempt = Attempt {
                latency_ms,
                ..attempt(&hole, 0, &["total"], Outcome::Passed)
            };
            let scored = ScoredAttempt::score(&hole, FILE, attempt);
            let figures = estimate_attempts(&[&scored], &settings);
            figures[0].figure(ACCEPTANCE_SHOWN).map(|shown| shown.n)
        };
        assert_eq!(shown(pause - 1.0), Some(1));
        assert_eq!(shown(pause + 1.0), None);
    }

    #[test]
    fn accepted_characters_are_counted_by_the_typists_minute() {
        let typing = |duration_ms: f64, kept: usize| TypingAttempt {
            hole: String::new(),
            key: String::new(),
            project: String::new(),
            model: String::new(),
            configuration: String::new(),
            policy: "line".to_owned(),
            policy_version: 1,
            session: TypingSession {
                requests: vec![TypingRequest {
                    at_ms: 0.0,
                    written: 0,
                    pause_ms: 0.0,
                    latency_ms: None,
                    candidates: Vec::new(),
                    result: RequestResult::Shown,
                    shown_ms: 0.0,
                    accepted: Some(TypedAcceptance {
                        candidate: 0,
                        kept,
                        removed: 9,
                    }),
                    outcome: None,
                }],
                duration_ms,
                ..TypingSession::default()
            },
        };
        let typings = [typing(30_000.0, 40), typing(90_000.0, 20), typing(0.0, 5)];
        let typed: Vec<TypedHole<'_>> = typings
            .iter()
            .zip(["a", "b", "c"])
            .map(|(typing, cluster)| TypedHole {
                cluster,
                characters: 50,
                typing,
            })
            .collect();
        let estimate = accepted_per_minute(&typed).expect("two holes took time");
        // By hand: 60 characters in two minutes.
        assert!((estimate.value - 30.0).abs() < 1e-9, "{estimate:?}");
        assert_eq!(estimate.n, 2);
    }

    #[test]
    fn interruptions_are_the_odds_against_an_accept() {
        let accepted = Estimate {
            value: 0.25,
            low: Some(0.0),
            high: Some(0.5),
            n: 8,
            clusters: Some(2),
        };
        let estimate = interruptions(accepted).expect("some are accepted");
        assert_eq!(
            (estimate.value, estimate.low, estimate.high),
            (3.0, Some(1.0), None)
        );
        assert!(
            interruptions(Estimate {
                value: 0.0,
                ..accepted
            })
            .is_none()
        );
    }
}
