//! Quantiles with intervals that assume no distribution: what latencies need.

use super::{Estimate, TAIL};
use crate::distribution::binomial_cdf;

/// The median, [`quantile`] at one half.
pub fn median(samples: &[f64]) -> Option<Estimate> {
    quantile(samples, 0.5)
}

/// Returns the value below which the share `p` of samples is, interpolated linearly between
/// neighbours (type 7 of Hyndman and Fan 1996, the default of NumPy and R).
///
/// The interval runs between two samples, chosen by the binomial distribution so that each side
/// misses the true quantile with probability 2.5 % at most, whatever the distribution. A bound for
/// which there are too few samples is `None`: the median needs 6, the upper bound of the 95th
/// percentile 72. Samples are taken as independent. In the tails the interpolated value can be
/// outside the interval, which is then widened to contain it.
///
/// `None` without samples, with an infinite one or a NaN among them, or for `p` outside 0 to 1.
pub fn quantile(samples: &[f64], p: f64) -> Option<Estimate> {
    let in_range = (0.0..=1.0).contains(&p);
    if samples.is_empty() || !in_range || !samples.iter().all(|sample| sample.is_finite()) {
        return None;
    }
    let n = samples.len();
    // Probability that fewer than `rank` samples are below the true quantile.
    let below = |rank: usize| binomial_cdf(rank as u64 - 1, n as u64, p);
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);

    let value = interpolate(&sorted, p)?;

    // The sample of rank r (from 1) is above the quantile if fewer than r samples are below it.
    let low = ranks_while(n, |rank| below(rank) <= TAIL);
    let high = ranks_while(n, |rank| below(rank) < 1.0 - TAIL) + 1;
    let at = |rank: usize| sorted.get(rank.checked_sub(1)?).copied();
    Some(Estimate {
        value,
        low: at(low).map(|low| low.min(value)),
        high: at(high).map(|high| high.max(value)),
        n,
        clusters: None,
    })
}

/// Returns the value below which the share `p` of sorted values is, interpolated linearly between
/// neighbours. `None` without values.
pub(crate) fn interpolate(sorted: &[f64], p: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * p;
    let (left, right) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(left + (right - left) * place.fract())
}

/// Returns the number of ranks in 1 … `n` that satisfy a condition, which holds up to some rank and
/// not beyond.
fn ranks_while(n: usize, condition: impl Fn(usize) -> bool) -> usize {
    let (mut holds, mut fails) = (0, n + 1);
    while fails - holds > 1 {
        let middle = holds + (fails - holds) / 2;
        if condition(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}
