//! Repair rounds: figures after each round.

use std::collections::BTreeMap;

use fillrate_metrics::Estimate;
use fillrate_metrics::metric::{INVOCATION, PASS_AT_1};
use fillrate_verdict::Outcome;
use serde::Serialize;

use super::figures::report_row;
use super::scored::ScoredAttempt;
use super::table::{TextTable, TextWidth, figure, right};

/// Figures after some repair rounds: §6.2 of
/// [RepoExec](https://arxiv.org/abs/2406.11927).
#[derive(Clone, Debug, Serialize)]
pub struct RepairRound {
    /// The most failed completions of its own that the model had seen.
    pub round: u32,
    /// Attempts made in this round.
    pub attempts: usize,
    /// `pass@1` and `DIR/repository` of each sample's last completion up to this round, by these
    /// names.
    pub metrics: BTreeMap<String, Estimate>,
}

/// Figures after each round; empty without repair rounds.
pub(super) fn rounds(scored: &[ScoredAttempt]) -> Vec<RepairRound> {
    let last = scored.iter().map(|one| one.attempt.repair_round).max();
    // A run without repair rounds has no table of them.
    let Some(last) = last.filter(|last| *last > 0) else {
        return Vec::new();
    };
    (0..=last)
        .map(|round| {
            let mut standing: BTreeMap<(&str, u32), &ScoredAttempt> = BTreeMap::new();
            // A later completion replaces an earlier one unless it is an infrastructure failure.
            let so_far = scored.iter().filter(|one| {
                let attempt = &one.attempt;
                let broken = attempt.verdict.outcome == Outcome::Infrastructure;
                let counts = attempt.repair_round == 0 || !broken;
                attempt.repair_round <= round && counts
            });
            for one in so_far {
                let place = (one.attempt.hole.as_str(), one.attempt.sample);
                let latest = standing.entry(place).or_insert(one);
                if latest.attempt.repair_round < one.attempt.repair_round {
                    *latest = one;
                }
            }
            let standing: Vec<&ScoredAttempt> = standing.into_values().collect();
            let mut metrics = report_row("*", "*", &standing).metrics;
            metrics.retain(|name, _| name == PASS_AT_1.name || name == INVOCATION.name);
            RepairRound {
                round,
                attempts: scored
                    .iter()
                    .filter(|one| one.attempt.repair_round == round)
                    .count(),
                metrics,
            }
        })
        .collect()
}

/// The table of rounds; empty without repair rounds.
pub(super) fn rounds_table(rounds: &[RepairRound], width: TextWidth) -> String {
    if rounds.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(["round", "attempts", PASS_AT_1.name, INVOCATION.name]);
    for round in rounds {
        let figures =
            [PASS_AT_1.name, INVOCATION.name].map(|name| figure(name, round.metrics.get(name)));
        let counts = [round.round as usize, round.attempts].map(right);
        table.add_row(counts.into_iter().chain(figures));
    }
    format!(
        "{}\nRounds: figures after the model saw its failed completions and the test output that often; \
         all other figures are of round 0.\n",
        table.render(width)
    )
}
