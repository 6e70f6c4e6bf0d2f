//! Sensitivity of ranks to the policy: pure functions on figures.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{Estimate, Metric, paired_difference};
use serde::Serialize;

/// The values of one model under one policy: by hole, its cluster and the value there.
pub type HoleValues = BTreeMap<String, (String, f64)>;

/// One model's figure under one policy.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The model, or the run.
    pub model: String,
    /// The policy.
    pub policy: String,
    /// The figure by which models are ranked.
    pub estimate: Estimate,
    /// Values at each hole, for paired differences.
    pub holes: HoleValues,
}

/// Ranks of models under each policy, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The metric.
    pub metric: String,
    /// By policy, the models, best first.
    pub rankings: BTreeMap<String, Vec<Ranked>>,
    /// Pairs of models that two policies put in opposite orders.
    pub reversals: Vec<Reversal>,
}

/// A model in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The model, or the run.
    pub model: String,
    /// Its rank from 1; the mean rank of those that are equal.
    pub rank: f64,
    /// Its figure.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// Two models that two policies put in opposite orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reversal {
    /// Both policies.
    pub policies: [String; 2],
    /// The model that leads under the first policy, and the one that leads under the second.
    pub models: [String; 2],
    /// Under each policy, how the first model differs from the second: the mean over the holes
    /// that both have, with its interval clustered by file; `None` if no hole was typed.
    pub differences: [Option<Estimate>; 2],
    /// True if both intervals exclude 0, on opposite sides: other reversals may be chance.
    pub supported: bool,
}

impl Sensitivity {
    /// Ranks models under every policy that all of them have. `None` without two models and two
    /// policies.
    pub fn rank(metric: Metric, standings: &[Standing]) -> Option<Self> {
        let models: BTreeSet<&str> = standings.iter().map(|one| one.model.as_str()).collect();
        let mut by_policy: BTreeMap<&str, BTreeMap<&str, &Standing>> = BTreeMap::new();
        for one in standings {
            let of_policy = by_policy.entry(&one.policy).or_default();
            of_policy.insert(&one.model, one);
        }
        // Ranks under a policy are comparable only if every model was typed under it.
        by_policy.retain(|_, of_policy| of_policy.len() == models.len());
        if models.len() < 2 || by_policy.len() < 2 {
            return None;
        }
        let rankings = by_policy
            .iter()
            .map(|(policy, of_policy)| ((*policy).to_owned(), ranking(of_policy)))
            .collect();
        let mut reversals = Vec::new();
        let policies: Vec<_> = by_policy.iter().collect();
        let models: Vec<&str> = models.into_iter().collect();
        for (at, (first, under_first)) in policies.iter().enumerate() {
            for (second, under_second) in &policies[at + 1..] {
                for (index, a) in models.iter().enumerate() {
                    for b in &models[index + 1..] {
                        let by = |under: &BTreeMap<&str, &Standing>| {
                            under[a].estimate.value.total_cmp(&under[b].estimate.value)
                        };
                        let (one, other) = (by(under_first), by(under_second));
                        // A tie under either policy is no reversal.
                        if one.is_eq() || one != other.reverse() {
                            continue;
                        }
                        // `a` is the model that leads under the first policy.
                        let (a, b) = if one.is_gt() { (*a, *b) } else { (*b, *a) };
                        let differences = [under_first, under_second]
                            .map(|under| difference(metric, &under[a].holes, &under[b].holes));
                        let above = |of: &Option<Estimate>| {
                            of.and_then(|it| it.low).is_some_and(|low| low > 0.0)
                        };
                        let below = |of: &Option<Estimate>| {
                            of.and_then(|it| it.high).is_some_and(|high| high < 0.0)
                        };
                        reversals.push(Reversal {
                            policies: [(**first).to_owned(), (**second).to_owned()],
                            models: [a.to_owned(), b.to_owned()],
                            supported: above(&differences[0]) && below(&differences[1]),
                            differences,
                        });
                    }
                }
            }
        }
        Some(Self {
            metric: metric.name.to_owned(),
            rankings,
            reversals,
        })
    }

    /// The text for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "Ranking by {}, simulated, under each policy, best first:\n",
            self.metric
        );
        let unit = Metric::of_figure(&self.metric).unit;
        for (policy, ranking) in &self.rankings {
            let models: Vec<String> = ranking
                .iter()
                .map(|one| format!("{} ({})", one.model, unit.render(&one.estimate).sentence()))
                .collect();
            text.push_str(&format!("  {policy}: {}\n", models.join(", ")));
        }
        if self.reversals.is_empty() {
            text.push_str("  No two policies put two of them in opposite orders.\n");
        }
        for reversal in &self.reversals {
            let [first, second] = &reversal.policies;
            let [a, b] = &reversal.models;
            let sure = match (reversal.supported, reversal.differences) {
                (true, _) => "both differences are off 0",
                (false, [Some(_), Some(_)]) => "the differences may be chance",
                (false, _) => "the differences can't be tested",
            };
            text.push_str(&format!(
                "  REVERSED: {a} leads {b} under {first}, {b} leads {a} under {second}; {sure}\n"
            ));
        }
        text
    }
}

fn ranking(of_policy: &BTreeMap<&str, &Standing>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = of_policy
        .values()
        .map(|one| {
            let value = one.estimate.value;
            let better = of_policy
                .values()
                .filter(|other| other.estimate.value > value);
            let equal = of_policy
                .values()
                .filter(|other| other.estimate.value == value);
            Ranked {
                model: one.model.clone(),
                // Equal models share the mean of their ranks.
                rank: better.count() as f64 + (equal.count() as f64 + 1.0) / 2.0,
                estimate: one.estimate,
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        a.rank
            .total_cmp(&b.rank)
            .then_with(|| a.model.cmp(&b.model))
    });
    ranked
}

fn difference(metric: Metric, first: &HoleValues, second: &HoleValues) -> Option<Estimate> {
    let pairs: Vec<(&str, f64, f64)> = first
        .iter()
        .filter_map(|(hole, (cluster, value))| {
            Some((cluster.as_str(), *value, second.get(hole)?.1))
        })
        .collect();
    paired_difference(&pairs, metric.unit.span())
}

#[cfg(test)]
mod tests {
    use fillrate_metrics::clustered_mean;
    use fillrate_metrics::metric::KEYSTROKES_SAVED;

    use super::*;

    fn standing(model: &str, policy: &str, values: &[f64]) -> Standing {
        let holes = values.iter().enumerate();
        let holes: HoleValues = holes
            .map(|(index, value)| (format!("h{index}"), (format!("f{index}"), *value)))
            .collect();
        let samples: Vec<_> = holes.values().cloned().collect();
        Standing {
            model: model.to_owned(),
            policy: policy.to_owned(),
            estimate: clustered_mean(&samples).expect("there are values"),
            holes,
        }
    }

    #[test]
    fn opposite_orders_are_reported_with_their_support() {
        let standings = [
            standing("a", "line", &[0.9, 0.8, 1.0, 0.9]),
            standing("b", "line", &[0.1, 0.2, 0.1, 0.0]),
            standing("c", "line", &[0.1, 0.2, 0.1, 0.0]),
            standing("a", "all", &[0.1, 0.2, 0.1, 0.1]),
            standing("b", "all", &[0.8, 0.9, 1.0, 0.9]),
            standing("c", "all", &[0.0, 0.9, 0.0, 0.0]),
            // No ranking: the others were not played under it.
            standing("a", "alone", &[1.0]),
        ];
        let found = Sensitivity::rank(KEYSTROKES_SAVED, &standings).expect("two of each");
        insta::assert_snapshot!(found.text(), @r"
        Ranking by keystrokes-saved, simulated, under each policy, best first:
          all: b (90.0 % [77.0, 103.0], n 4 in 4), c (22.5 % [−49.1, 94.1], n 4 in 4), a (12.5 % [4.5, 20.5], n 4 in 4)
          line: a (90.0 % [77.0, 103.0], n 4 in 4), b (10.0 % [−3.0, 23.0], n 4 in 4), c (10.0 % [−3.0, 23.0], n 4 in 4)
          REVERSED: b leads a under all, a leads b under line; both differences are off 0
          REVERSED: c leads a under all, a leads c under line; the differences may be chance
        ");
        let ranks: Vec<f64> = found.rankings["line"].iter().map(|one| one.rank).collect();
        assert_eq!(ranks, [1.0, 2.5, 2.5]);
    }

    #[test]
    fn one_policy_or_one_model_ranks_nothing() {
        let one = [standing("a", "line", &[1.0]), standing("b", "line", &[0.5])];
        assert!(Sensitivity::rank(KEYSTROKES_SAVED, &one).is_none());
        let one = [standing("a", "line", &[1.0]), standing("a", "all", &[0.5])];
        assert!(Sensitivity::rank(KEYSTROKES_SAVED, &one).is_none());
    }
}
