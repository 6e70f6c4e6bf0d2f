//! What simulated developers made of the completions of a run, policy by policy. None of it is a
//! person's: every figure's name has its policy's.

use std::collections::BTreeMap;

use comfy_table::Cell;
use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, ACCEPTED_GIVEN_PASS, COMPLETED_CODE,
    KEYSTROKES_SAVED, LATE, MEDIAN_LATENCY, PASS_GIVEN_ACCEPTED, REPAIRED, WASTED_ACCEPT,
};
use fillrate_metrics::{
    Estimate, Metric, READ_MS, clustered_proportion, clustered_weighted_mean, median,
};
use serde::Serialize;

use super::ScoredAttempt;
use super::table::{TextTable, figure, right};
use crate::developer::policy::{DisplayedCompletion, LinePosition};
use crate::developer::typing::{EDITOR_DELAY_MS, RequestResult, TypingRequest};
use crate::store::{DeveloperSettings, TypingAttempt};
use crate::task::Hole;
use crate::verdict::Outcome;

/// A developer's figures under one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyFigures {
    /// The policy's name.
    pub policy: String,
    /// Its version.
    pub version: u32,
    /// Holes that were typed, or asked at once where nobody typed.
    pub holes: usize,
    /// By `METRIC(POLICY)`, the metrics of [`POLICY_METRICS`] that apply. Rates are between 0 and
    /// 1, `keystrokes-saved` at most 1, latencies in milliseconds.
    pub metrics: BTreeMap<String, Estimate>,
}

/// Every metric of a policy, in the order of the tables.
pub const POLICY_METRICS: [Metric; 11] = [
    ACCEPTANCE_SHOWN,
    ACCEPTANCE_READ,
    ACCEPTANCE_CHARACTERS,
    COMPLETED_CODE,
    KEYSTROKES_SAVED,
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

/// A hole that was typed, with what it stands or falls together with.
#[derive(Clone, Copy, Debug)]
pub struct TypedHole<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// The characters of what stood in the hole.
    pub characters: usize,
    /// What came of it.
    pub typing: &'a TypingAttempt,
}

/// A completion that a developer saw, or could have seen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    accepted: bool,
    /// What the tests say, where it was judged.
    passes: Option<bool>,
    /// Whether nothing was written yet.
    opening: bool,
}

/// The figures of holes that were typed, one object for each policy, in the order of their names.
pub fn of_typings(typed: &[TypedHole<'_>]) -> Vec<PolicyFigures> {
    let mut by_policy: BTreeMap<&str, Vec<&TypedHole<'_>>> = BTreeMap::new();
    for one in typed {
        by_policy.entry(&one.typing.policy).or_default().push(one);
    }
    let figures = by_policy.into_iter().map(|(policy, typed)| {
        let mut metrics = BTreeMap::new();
        let mut put = |metric: Metric, estimate: Option<Estimate>| {
            if let Some(estimate) = estimate {
                metrics.insert(named(metric.name, policy), estimate);
            }
        };
        let requests: Vec<(&str, &TypingRequest)> = typed
            .iter()
            .flat_map(|one| {
                let requests = one.typing.session.requests.iter();
                requests.map(|request| (one.cluster, request))
            })
            .collect();
        let on_display = || {
            requests
                .iter()
                .filter(|(_, one)| one.result == RequestResult::Shown)
        };
        let read =
            || on_display().filter(|(_, one)| one.accepted.is_some() || one.shown_ms >= READ_MS);
        let accepted = |(cluster, one): &(&str, &TypingRequest)| {
            ((*cluster).to_owned(), one.accepted.is_some())
        };
        put(ACCEPTANCE_SHOWN, proportion(on_display().map(accepted)));
        put(ACCEPTANCE_READ, proportion(read().map(accepted)));
        let weighted: Vec<(&str, f64, f64)> = read()
            .map(|(cluster, one)| {
                let characters = one.text().map_or(0, |text| text.chars().count());
                (*cluster, characters as f64, yes(one.accepted.is_some()))
            })
            .collect();
        put(
            ACCEPTANCE_CHARACTERS,
            weighted_mean(&weighted).map(|it| it.within(ACCEPTANCE_CHARACTERS.unit.range())),
        );
        let entered: Vec<(&str, f64, f64)> = typed
            .iter()
            .map(|one| {
                let taken = one.typing.session.requests.iter();
                let taken: usize = taken
                    .filter_map(|request| request.accepted)
                    .map(|accepted| accepted.kept + accepted.removed)
                    .sum();
                let all = (taken + one.typing.session.keys.typed) as f64;
                (one.cluster, all, taken as f64 / all.max(1.0))
            })
            .collect();
        put(
            COMPLETED_CODE,
            weighted_mean(&entered).map(|it| it.within(COMPLETED_CODE.unit.range())),
        );
        let saved: Vec<(&str, f64, f64)> = typed
            .iter()
            .map(|one| (one.cluster, one.characters as f64, keystrokes_saved(one)))
            .collect();
        let saved = weighted_mean(&saved);
        put(
            KEYSTROKES_SAVED,
            saved.map(|it| it.within(KEYSTROKES_SAVED.unit.range())),
        );
        let seen: Vec<(&str, Seen)> = on_display()
            .map(|(cluster, one)| {
                let seen = Seen {
                    accepted: one.accepted.is_some(),
                    passes: one.outcome.and_then(passes),
                    opening: one.written == 0,
                };
                (*cluster, seen)
            })
            .collect();
        for (metric, estimate) in of_verdicts(&seen) {
            put(metric, estimate);
        }
        let repaired = on_display().filter_map(|(cluster, one)| {
            let accepted = one.accepted?;
            Some(((*cluster).to_owned(), accepted.removed > 0))
        });
        put(REPAIRED, proportion(repaired));
        let late = requests.iter().map(|(cluster, one)| {
            let late = matches!(one.result, RequestResult::Late | RequestResult::Cancelled);
            ((*cluster).to_owned(), late)
        });
        put(LATE, proportion(late));
        let latencies: Vec<f64> = on_display().filter_map(|(_, one)| one.latency_ms).collect();
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

/// The figures of completions that nobody typed for, each held against every policy: of those
/// offered, what a developer takes who was about to type the reference.
pub(super) fn of_attempts(
    scored: &[&ScoredAttempt],
    behaviour: &DeveloperSettings,
) -> Vec<PolicyFigures> {
    let figures = behaviour.policies.iter().map(|policy| {
        let name = policy.name();
        let hands = &behaviour.typing;
        let seen: Vec<(&str, Seen, f64)> = scored
            .iter()
            .filter_map(|one| {
                let attempt = &one.attempt;
                let latency = attempt.latency_ms + EDITOR_DELAY_MS;
                let late = policy.latency && latency > hands.first_pause_ms(&attempt.hole);
                if attempt.offered.is_empty() || late {
                    return None;
                }
                let view = DisplayedCompletion {
                    remaining: &one.reference,
                    candidates: &attempt.offered,
                    latency_ms: attempt.latency_ms,
                    place: one.place,
                };
                let chance = hands.chance(policy, &attempt.hole, attempt.sample as usize);
                let choice = policy.choose(view, chance);
                // Only the first candidate was judged.
                let judged = choice.unwrap_or(0) == 0;
                let seen = Seen {
                    accepted: choice.is_some(),
                    passes: passes(attempt.verdict.outcome).filter(|_| judged),
                    opening: true,
                };
                Some((one.cluster.as_str(), seen, attempt.latency_ms))
            })
            .collect();
        let mut metrics = BTreeMap::new();
        let mut put = |metric: Metric, estimate: Option<Estimate>| {
            if let Some(estimate) = estimate {
                metrics.insert(named(metric.name, &name), estimate);
            }
        };
        let accepted = seen
            .iter()
            .map(|(cluster, seen, _)| ((*cluster).to_owned(), seen.accepted));
        put(ACCEPTANCE_SHOWN, proportion(accepted));
        let latencies: Vec<f64> = seen.iter().map(|(_, _, latency)| *latency).collect();
        put(MEDIAN_LATENCY, median(&latencies));
        let seen: Vec<(&str, Seen)> = seen
            .into_iter()
            .map(|(cluster, seen, _)| (cluster, seen))
            .collect();
        for (metric, estimate) in of_verdicts(&seen) {
            put(metric, estimate);
        }
        let holes: std::collections::BTreeSet<&str> =
            scored.iter().map(|one| &*one.attempt.hole).collect();
        PolicyFigures {
            policy: name.clone(),
            version: policy.version(),
            holes: holes.len(),
            metrics,
        }
    });
    figures.collect()
}

/// What joins accepts with verdicts on the same completions.
fn of_verdicts(seen: &[(&str, Seen)]) -> [(Metric, Option<Estimate>); 3] {
    let accepted = || seen.iter().filter(|(_, one)| one.accepted);
    let passing =
        |wanted: bool| {
            proportion(accepted().filter_map(move |(cluster, one)| {
                Some(((*cluster).to_owned(), one.passes? == wanted))
            }))
        };
    let at_passing = proportion(
        seen.iter()
            .filter(|(_, one)| one.opening && one.passes == Some(true))
            .map(|(cluster, one)| ((*cluster).to_owned(), one.accepted)),
    );
    [
        (PASS_GIVEN_ACCEPTED, passing(true)),
        (ACCEPTED_GIVEN_PASS, at_passing),
        (WASTED_ACCEPT, passing(false)),
    ]
}

/// 1 − keys / characters at one hole.
pub(super) fn keystrokes_saved(typed: &TypedHole<'_>) -> f64 {
    1.0 - typed.typing.session.keys.total() as f64 / typed.characters.max(1) as f64
}

/// Of the completions shown at one hole, the share that was accepted; nothing where none was
/// shown.
pub(super) fn acceptance(typed: &TypedHole<'_>) -> Option<f64> {
    let requests = typed.typing.session.requests.iter();
    let shown: Vec<bool> = requests
        .filter(|request| request.result == RequestResult::Shown)
        .map(|request| request.accepted.is_some())
        .collect();
    let accepted = shown.iter().filter(|accepted| **accepted).count();
    (!shown.is_empty()).then(|| accepted as f64 / shown.len() as f64)
}

/// How many characters are typed into a hole at the least.
pub(super) fn characters(hole: &Hole) -> usize {
    hole.reference.chars().count()
}

/// The kind of place a hole is.
pub(super) fn place(hole: &Hole, contents: &str) -> LinePosition {
    hole.cut(contents)
        .map_or(LinePosition::LineEnd, |(prefix, suffix)| {
            LinePosition::between(prefix, suffix)
        })
}

/// Whether an outcome is a pass, where it says something of the completion.
fn passes(outcome: Outcome) -> Option<bool> {
    outcome.is_evidence().then_some(outcome == Outcome::Passed)
}

fn proportion(outcomes: impl Iterator<Item = (String, bool)>) -> Option<Estimate> {
    clustered_proportion(&outcomes.collect::<Vec<_>>())
}

fn weighted_mean(samples: &[(&str, f64, f64)]) -> Option<Estimate> {
    clustered_weighted_mean(samples)
}

fn yes(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The table for people; nothing where there are no figures.
pub(super) fn table(figures: &[PolicyFigures]) -> String {
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
        "{table}\nSimulated: what a developer of each policy accepts, not a person. \
         P(pass|accepted) and wasted-accept are over accepts, each judged\nas if it stood for the \
         rest of the hole; P(accepted|pass) over completions that are shown at an empty hole and \
         pass.\n"
    )
}
