//! Proportions of independent outcomes.

use super::{Estimate, TAIL};
use crate::distribution::{binomial_cdf, normal_quantile};

/// The share of successes among `n` independent outcomes with Wilson's score interval (Wilson
/// 1927). `None` for no outcomes, or more successes than outcomes. Outcomes that come in
/// clusters need [`clustered_proportion`](crate::clustered_proportion).
pub fn wilson(successes: usize, n: usize) -> Option<Estimate> {
    if n == 0 || successes > n {
        return None;
    }
    let value = successes as f64 / n as f64;
    let z = normal_quantile(1.0 - TAIL);
    let (low, high) = score_bounds(value, n as f64, z);
    Some(Estimate {
        value,
        low: Some(low),
        high: Some(high),
        n,
        clusters: None,
    })
}

/// Wilson's bounds of a share whose number of successes is not known exactly, as a table gives it
/// with a few digits. `None` without outcomes, or for a share out of range.
pub fn wilson_bounds(share: f64, n: usize) -> Option<(f64, f64)> {
    if n == 0 || !(0.0..=1.0).contains(&share) {
        return None;
    }
    let z = normal_quantile(1.0 - TAIL);
    Some(score_bounds(share, n as f64, z))
}

/// Wilson's bounds of a share of `n` > 0 outcomes, with this quantile.
pub(super) fn score_bounds(share: f64, n: f64, quantile: f64) -> (f64, f64) {
    let square = quantile * quantile;
    let centre = share + square / (2.0 * n);
    let spread = quantile * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    // Rounding may put a bound on the wrong side of what it touches exactly.
    (
        ((centre - spread) / scale).clamp(0.0, share),
        ((centre + spread) / scale).clamp(share, 1.0),
    )
}

/// Halvings of the range that contains a bound of [`tango_bounds`].
const HALVINGS: usize = 60;

/// Tango's bounds of the difference of two paired shares, with this quantile: `more` and `less` are
/// the shares of `n` > 0 pairs in which only the first, and only the second, is true.
pub(super) fn tango_bounds(more: f64, less: f64, n: f64, quantile: f64) -> (f64, f64) {
    let difference = more - less;
    // True if the score test does not reject this true difference. The share of pairs in which only
    // the second is true has its restricted maximum-likelihood estimate at the quadratic's root.
    let holds = |truth: f64| {
        let square = 2.0;
        let linear = (2.0 - difference) * truth - more - less;
        let constant = -less * truth * (1.0 - truth);
        let root = (linear * linear - 4.0 * square * constant).max(0.0).sqrt();
        let only_second = (root - linear) / (2.0 * square);
        let variance = (2.0 * only_second + truth * (1.0 - truth)).max(0.0) / n;
        (difference - truth).powi(2) <= quantile * quantile * variance
    };
    // The test holds in an interval around the observed difference, so halving finds its ends.
    let bound = |end: f64| {
        let (mut inside, mut outside) = (difference, end);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, outside);
            match holds(middle) {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    };
    (bound(-1.0), bound(1.0))
}

/// The two-sided p of McNemar's exact test for two yes-or-no answers on the same things:
/// `only_first` is how often the first alone was right, `only_second` the second alone. Where
/// both agree does not matter. If they never differ, 1.
///
/// It is twice the smaller tail of a fair coin, at most 1.
pub fn mcnemar_exact(only_first: u64, only_second: u64) -> f64 {
    let differing = only_first.saturating_add(only_second);
    (2.0 * binomial_cdf(only_first.min(only_second), differing, 0.5)).min(1.0)
}
