//! Metrics of verdicts.

/// The chance that at least one of `k` completions passes, drawn without replacement from `n`
/// of which `correct` pass: 1 − Π_{i = n − correct + 1 … n} (1 − k / i), and 1 where fewer than
/// `k` fail. This is the unbiased estimator of Chen et al. 2021, <https://arxiv.org/abs/2107.03374>,
/// in the product form that does not overflow. A report shows its mean over holes.
///
/// `None` if it is not defined: `k` is 0, or `k` or `correct` is above `n`. The formula alone would
/// call a hole with too few completions solved.
pub fn pass_at_k(n: u64, correct: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n || correct > n {
        return None;
    }
    if n - correct < k {
        return Some(1.0);
    }
    let all_fail: f64 = (n - correct + 1..=n)
        .map(|i| 1.0 - k as f64 / i as f64)
        .product();
    Some(1.0 - all_fail)
}

/// The pass rate in which each hole counts as much as its mutation score: Σ score · pass / Σ score,
/// from 0 to 1. A pass counts little if the tests hardly distinguish right from wrong.
///
/// Of each hole: its mutation score, from 0 to 1, and its pass rate, 0 or 1 or its pass@k.
/// `None` if no hole has a score above 0. Its interval is that of
/// [`clustered_weighted_mean`](crate::clustered_weighted_mean) with the same weights.
pub fn mutation_weighted_pass_rate(holes: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut weights, mut passed) = (0.0, 0.0);
    for (weight, pass) in holes {
        weights += weight;
        passed += weight * pass;
    }
    (weights > 0.0).then(|| passed / weights)
}

/// Numbers of completions by acceptance and by the tests' outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedAndPassed {
    /// Accepted, and the tests passed.
    pub accepted_passing: usize,
    /// Accepted, and a test failed.
    pub accepted_failing: usize,
    /// Not accepted, though the tests would have passed.
    pub declined_passing: usize,
    /// Not accepted, and a test would have failed.
    pub declined_failing: usize,
}

impl AcceptedAndPassed {
    /// P(pass | accepted): of the accepted completions, the share that passes. `None` if none
    /// was accepted.
    pub fn pass_given_accepted(self) -> Option<f64> {
        share(self.accepted_passing, self.accepted_failing)
    }

    /// P(accepted | pass): of the passing completions, the share that was accepted. `None` if
    /// none passes.
    pub fn accepted_given_pass(self) -> Option<f64> {
        share(self.accepted_passing, self.declined_passing)
    }

    /// The wasted-accept rate: of the accepted completions, the share that fails. `None` if none
    /// was accepted.
    pub fn wasted_accept_rate(self) -> Option<f64> {
        share(self.accepted_failing, self.accepted_passing)
    }
}

impl FromIterator<(bool, bool)> for AcceptedAndPassed {
    /// Counts completions, of each whether it was accepted and whether it passes.
    fn from_iter<I: IntoIterator<Item = (bool, bool)>>(completions: I) -> Self {
        let mut counts = Self::default();
        for (accepted, passes) in completions {
            let count = match (accepted, passes) {
                (true, true) => &mut counts.accepted_passing,
                (true, false) => &mut counts.accepted_failing,
                (false, true) => &mut counts.declined_passing,
                (false, false) => &mut counts.declined_failing,
            };
            *count += 1;
        }
        counts
    }
}

fn share(part: usize, rest: usize) -> Option<f64> {
    (part + rest > 0).then(|| part as f64 / (part + rest) as f64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn published_pass_at_k_is_reproduced() {
        let path = "../../../shared/oracles/repoexec/pass_at_k.json";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let Ok(text) = std::fs::read_to_string(&path) else {
            assert!(
                std::env::var_os("CI").is_none(),
                "{} is absent",
                path.display()
            );
            return;
        };
        let counts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let n = counts["n"].as_u64().unwrap();
        let correct: Vec<u64> = counts["correct_per_task"]
            .as_array()
            .unwrap()
            .iter()
            .map(|count| count.as_u64().unwrap())
            .collect();
        assert_eq!(correct.len(), 355);
        for k in [1, 5, 10] {
            let sum: f64 = correct.iter().map(|&c| pass_at_k(n, c, k).unwrap()).sum();
            let published = counts["passk"][format!("pass@{k}")].as_f64().unwrap();
            assert!((sum / 355.0 - published).abs() <= 1e-12, "pass@{k}");
        }
    }

    #[test]
    fn pass_at_k_has_its_worked_values() {
        for (n, correct, k, expected) in [
            (10, 3, 5, 0.916667),
            (20, 1, 10, 0.5),
            (200, 7, 100, 0.992991),
            (10, 0, 10, 0.0),
            (10, 1, 10, 1.0),
            (1, 1, 1, 1.0),
        ] {
            let value = pass_at_k(n, correct, k).unwrap();
            assert!((value - expected).abs() < 5e-7, "{value} is not {expected}");
        }
    }

    #[test]
    fn pass_at_k_of_fewer_than_k_completions_is_undefined() {
        assert_eq!(pass_at_k(5, 0, 10), None);
        assert_eq!(pass_at_k(5, 6, 1), None);
        assert_eq!(pass_at_k(5, 2, 0), None);
        assert_eq!(pass_at_k(0, 0, 1), None);
    }

    #[test]
    fn a_pass_is_worth_its_holes_mutation_score() {
        // statsmodels: WLS([1, 0, 1], [1, 1, 1], weights=[.5, 1, .25]).fit().params
        let rate = mutation_weighted_pass_rate([(0.5, 1.0), (1.0, 0.0), (0.25, 1.0)]).unwrap();
        assert!((rate - 0.42857142857142855).abs() < 1e-12, "{rate}");
        assert_eq!(
            mutation_weighted_pass_rate([(0.0, 1.0), (1.0, 0.0)]),
            Some(0.0)
        );
        assert_eq!(mutation_weighted_pass_rate([(0.0, 1.0)]), None);
        assert_eq!(mutation_weighted_pass_rate([]), None);
    }

    #[test]
    fn accepting_and_passing_are_told_apart() {
        let completions = [
            (true, true),
            (true, true),
            (true, true),
            (true, false),
            (false, true),
            (false, false),
            (false, false),
        ];
        let counts: AcceptedAndPassed = completions.into_iter().collect();
        assert_eq!(counts.declined_failing, 2);
        assert_eq!(counts.pass_given_accepted(), Some(0.75));
        assert_eq!(counts.accepted_given_pass(), Some(0.75));
        assert_eq!(counts.wasted_accept_rate(), Some(0.25));

        let declined: AcceptedAndPassed = [(false, false)].into_iter().collect();
        assert_eq!(declined.pass_given_accepted(), None);
        assert_eq!(declined.accepted_given_pass(), None);
        assert_eq!(declined.wasted_accept_rate(), None);
    }
}
