//! Means of samples that come in clusters: the holes of one file, the completions one person saw.

use std::collections::BTreeMap;

use super::proportion::wilson_bounds;
use super::{Estimate, TAIL, student_quantile};

/// The mean of samples, each with the cluster it belongs to, with an interval from the
/// [`clustered_standard_error`] and Student's t with (clusters − 1) degrees of freedom.
///
/// `None` without samples. With a single cluster there is a mean but no interval: nothing then
/// tells how much clusters differ, and an interval that takes the samples for independent would
/// be narrower than the truth.
///
/// Samples that are all equal give an interval of no width; for outcomes that are 0 or 1 use
/// [`clustered_proportion`].
pub fn clustered_mean<K: Ord>(samples: &[(K, f64)]) -> Option<Estimate> {
    let value = mean(samples)?;
    let half = half_width(samples);
    Some(Estimate {
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half),
        n: samples.len(),
    })
}

/// The share of outcomes that are true, as [`clustered_mean`] of 0 and 1 with the interval kept
/// within them.
///
/// Where all outcomes are equal, the clustered error is 0 and would claim certainty. There the
/// interval is [Wilson's](crate::wilson) with each cluster counted as one observation, which is
/// the cautious end: as if all outcomes of a cluster were one. A single cluster has no interval.
pub fn clustered_proportion<K: Ord + Clone>(outcomes: &[(K, bool)]) -> Option<Estimate> {
    let samples: Vec<(K, f64)> = outcomes
        .iter()
        .map(|(cluster, outcome)| (cluster.clone(), f64::from(u8::from(*outcome))))
        .collect();
    let estimate = clustered_mean(&samples)?;
    let unanimous = estimate.value == 0.0 || estimate.value == 1.0;
    let (low, high) = match estimate.low.zip(estimate.high) {
        Some(_) if unanimous => {
            let clusters = residuals(&samples, estimate.value).len() as f64;
            let (low, high) = wilson_bounds(estimate.value * clusters, clusters);
            (Some(low), Some(high))
        }
        Some((low, high)) => (Some(low.max(0.0)), Some(high.min(1.0))),
        None => (None, None),
    };
    Some(Estimate {
        low,
        high,
        ..estimate
    })
}

/// The mean difference, first minus second, of two figures for the same things, clustered like
/// [`clustered_mean`]: two models on the same holes.
pub fn paired_difference<K: Ord + Clone>(pairs: &[(K, f64, f64)]) -> Option<Estimate> {
    let differences: Vec<(K, f64)> = pairs
        .iter()
        .map(|(cluster, first, second)| (cluster.clone(), first - second))
        .collect();
    clustered_mean(&differences)
}

/// The mean of samples that count as much as their weights, Σ weight · sample / Σ weight, with an
/// interval like [`clustered_mean`]'s: the error is that of statsmodels' weighted regression on a
/// constant with `cov_type="cluster"`. Of each sample: its cluster, its weight, its value.
///
/// `None` without a weight above 0, or with one that is negative or not finite. With fewer than
/// two clusters of any weight there is no interval.
pub fn clustered_weighted_mean<K: Ord>(samples: &[(K, f64, f64)]) -> Option<Estimate> {
    let whole: f64 = samples.iter().map(|(_, weight, _)| weight).sum();
    let valid = |weight: f64| weight.is_finite() && weight >= 0.0;
    if whole <= 0.0 || !samples.iter().all(|(_, weight, _)| valid(*weight)) {
        return None;
    }
    let sum: f64 = samples
        .iter()
        .map(|(_, weight, sample)| weight * sample)
        .sum();
    let value = sum / whole;
    let mut residuals: BTreeMap<&K, f64> = BTreeMap::new();
    for (cluster, weight, sample) in samples.iter().filter(|(_, weight, _)| *weight > 0.0) {
        *residuals.entry(cluster).or_insert(0.0) += weight * (sample - value);
    }
    let clusters = residuals.len() as f64;
    let squares: f64 = residuals.values().map(|residual| residual * residual).sum();
    let half = student_quantile(1.0 - TAIL, clusters - 1.0)
        .map(|student| student * (clusters / (clusters - 1.0) * squares).sqrt() / whole);
    Some(Estimate {
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half),
        n: samples.len(),
    })
}

/// The standard error of a mean whose samples are independent between clusters but not within:
/// √(C / (C − 1) · Σ_c (Σ_{i∈c} (sᵢ − s̄))²) / N for C clusters and N samples. It is what
/// statsmodels gives for a regression on a constant with `cov_type="cluster"`, whose second
/// factor (N − 1) / (N − 1) is 1; Cameron and Miller 2015, <https://doi.org/10.3368/jhr.50.2.317>.
///
/// `None` with fewer than two clusters. Sums run in the order of the samples, so equal input in
/// equal order gives equal bits.
pub fn clustered_standard_error<K: Ord>(samples: &[(K, f64)]) -> Option<f64> {
    let residuals = residuals(samples, mean(samples)?);
    let clusters = residuals.len() as f64;
    if clusters < 2.0 {
        return None;
    }
    let squares: f64 = residuals.values().map(|residual| residual * residual).sum();
    Some((clusters / (clusters - 1.0) * squares).sqrt() / samples.len() as f64)
}

pub(super) fn mean<K>(samples: &[(K, f64)]) -> Option<f64> {
    let sum: f64 = samples.iter().map(|(_, sample)| sample).sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

/// The sum of (sample − mean) of every cluster.
fn residuals<K: Ord>(samples: &[(K, f64)], mean: f64) -> BTreeMap<&K, f64> {
    let mut residuals = BTreeMap::new();
    for (cluster, sample) in samples {
        *residuals.entry(cluster).or_insert(0.0) += sample - mean;
    }
    residuals
}

fn half_width<K: Ord>(samples: &[(K, f64)]) -> Option<f64> {
    let error = clustered_standard_error(samples)?;
    let clusters = residuals(samples, 0.0).len();
    Some(student_quantile(1.0 - TAIL, (clusters - 1) as f64)? * error)
}
