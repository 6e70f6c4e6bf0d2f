//! Proportions of independent outcomes.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

use super::{Estimate, TAIL};

/// The share of successes among `n` independent outcomes with Wilson's score interval (Wilson
/// 1927). `None` for no outcomes, or more successes than outcomes. Outcomes that come in
/// clusters need [`clustered_proportion`](crate::clustered_proportion).
pub fn wilson(successes: usize, n: usize) -> Option<Estimate> {
    if n == 0 || successes > n {
        return None;
    }
    let (low, high) = wilson_bounds(successes as f64, n as f64);
    Some(Estimate {
        value: successes as f64 / n as f64,
        low: Some(low),
        high: Some(high),
        n,
    })
}

/// Wilson's bounds for `n` > 0.
pub(super) fn wilson_bounds(successes: f64, n: f64) -> (f64, f64) {
    let z = Normal::standard().inverse_cdf(1.0 - TAIL);
    let share = successes / n;
    let centre = share + z * z / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    // Rounding may put a bound on the wrong side of what it touches exactly.
    (
        ((centre - spread) / scale).clamp(0.0, share),
        ((centre + spread) / scale).clamp(share, 1.0),
    )
}

/// The two-sided p of McNemar's exact test for two yes-or-no answers on the same things:
/// `only_first` is how often the first alone was right, `only_second` the second alone. Where
/// both agree does not matter. If they never differ, 1.
///
/// It is twice the smaller tail of a fair coin, at most 1.
pub fn mcnemar_exact(only_first: u64, only_second: u64) -> f64 {
    let differing = only_first.saturating_add(only_second);
    let coin = Binomial::new(0.5, differing).expect("one half is a probability");
    (2.0 * coin.cdf(only_first.min(only_second))).min(1.0)
}
