//! Metrics of verdicts.

/// The chance that at least one of `k` completions passes, drawn without replacement from `n`
/// of which `correct` pass: 1 − Π_{i = n − correct + 1 … n} (1 − k / i), and 1 where fewer than
/// `k` fail. This is the unbiased estimator of Chen et al. 2021, <https://arxiv.org/abs/2107.03374>,
/// in the product form that does not overflow. A report shows its mean over holes.
///
/// `None` where it means nothing: `k` is 0, or `k` or `correct` is above `n`. The formula alone
/// would call a hole with too few completions solved.
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
