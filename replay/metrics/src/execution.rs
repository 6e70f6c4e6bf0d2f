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
}
