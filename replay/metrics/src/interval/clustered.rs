//! Means of samples that come in clusters: the holes of one file, the completions one person saw.

use std::collections::BTreeMap;

use super::proportion::{score_bounds, tango_bounds};
use super::{Estimate, TAIL, student_quantile};

/// The least standard error of a share. A smaller one is the rounding of equal samples and counts
/// as 0.
const LEAST_ERROR: f64 = 1e-7;

/// The mean of samples, each with the cluster it belongs to, with an interval from the
/// [`clustered_standard_error`] and Student's t with (clusters − 1) degrees of freedom.
///
/// `None` without samples. With a single cluster there is a mean but no interval: the differences
/// between clusters are then unknown, and an interval that assumes independent samples would be too
/// narrow.
///
/// Samples that are all equal give an interval of no width; for samples between 0 and 1 use
/// [`clustered_share`].
pub fn clustered_mean<K: Ord>(samples: &[(K, f64)]) -> Option<Estimate> {
    clustered_mean_at(samples, TAIL)
}

/// As [`clustered_mean`], with the given probability that the true value is beyond one bound.
fn clustered_mean_at<K: Ord>(samples: &[(K, f64)], tail: f64) -> Option<Estimate> {
    let value = mean(samples)?;
    let half = half_width(samples, tail);
    Some(Estimate {
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half),
        n: samples.len(),
        clusters: Some(residuals(samples, 0.0).len()),
    })
}

/// The share of outcomes that are true, as [`clustered_share`] of 0 and 1.
pub fn clustered_proportion<K: Ord + Clone>(outcomes: &[(K, bool)]) -> Option<Estimate> {
    let samples: Vec<(K, f64, f64)> = outcomes
        .iter()
        .map(|(cluster, outcome)| (cluster.clone(), 1.0, f64::from(u8::from(*outcome))))
        .collect();
    clustered_share(&samples)
}

/// The mean of samples between 0 and 1, weighted like [`clustered_weighted_mean`], with Wilson's
/// score interval (Wilson 1927). Of each sample: its cluster, its weight, its value.
///
/// The interval's number of outcomes is Kish's effective sample size: the number of independent
/// outcomes whose variance is that of the clustered error. Its quantile is Student's t with
/// (clusters − 1) degrees of freedom in place of the normal one. The error is at least that of
/// independent samples, as clusters that agree less than chance in one sample need not do so in the
/// next. Near 0 and 1 an interval of ± t errors is too short, and this one is not: the tests in
/// `coverage` simulate both.
///
/// If all samples are equal, the differences between clusters are unknown. Then each cluster counts
/// as one outcome, which is the cautious choice. A single cluster has no interval.
pub fn clustered_share<K: Ord>(samples: &[(K, f64, f64)]) -> Option<Estimate> {
    let estimate = clustered_weighted_mean(samples)?;
    let bounds = share_error(samples, estimate.value)
        .and_then(|(error, clusters)| share_bounds(estimate.value, error, clusters));
    let (low, high) = bounds.unzip();
    Some(Estimate {
        low,
        high,
        ..estimate
    })
}

/// Returns the bounds of [`clustered_share`] of a share with this error in the given number of
/// clusters; `None` for fewer than two.
pub fn share_bounds(share: f64, error: f64, clusters: usize) -> Option<(f64, f64)> {
    let share = share.clamp(0.0, 1.0);
    let count = clusters as f64;
    let outcomes = match share * (1.0 - share) / (error * error) {
        outcomes if error >= LEAST_ERROR && outcomes.is_finite() && outcomes > 0.0 => outcomes,
        _ => count,
    };
    effective_share_bounds(share, outcomes, clusters)
}

/// Returns the bounds of a share that says as much as the given number of independent outcomes, in
/// clusters whose number gives the degrees of freedom; `None` for fewer than two.
pub fn effective_share_bounds(share: f64, outcomes: f64, clusters: usize) -> Option<(f64, f64)> {
    let student = student_quantile(1.0 - TAIL, clusters as f64 - 1.0)?;
    Some(score_bounds(share.clamp(0.0, 1.0), outcomes, student))
}

/// The mean difference, first minus second, of two figures for the same things, clustered like
/// [`clustered_mean`]: two models on the same holes. `span` is the most that a first can differ
/// from its second: 1 for outcomes, infinity if nothing bounds it.
///
/// With a finite span the interval is Tango's score interval of paired proportions (1998,
/// <https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8%3C891::AID-SIM780%3E3.0.CO;2-B>), which is
/// to a difference what [`clustered_share`]'s is to a share: with Kish's effective number of
/// pairs and Student's t. It has a width even if no pair differs; then each cluster counts as one
/// pair.
pub fn paired_difference<K: Ord + Clone>(pairs: &[(K, f64, f64)], span: f64) -> Option<Estimate> {
    paired_difference_at(pairs, span, TAIL)
}

/// As [`paired_difference`], with the given probability that the true value is beyond one bound.
pub(crate) fn paired_difference_at<K: Ord + Clone>(
    pairs: &[(K, f64, f64)],
    span: f64,
    tail: f64,
) -> Option<Estimate> {
    let differences: Vec<(K, f64)> = pairs
        .iter()
        .map(|(cluster, first, second)| (cluster.clone(), first - second))
        .collect();
    let estimate = clustered_mean_at(&differences, tail)?;
    if !span.is_finite() || span <= 0.0 {
        return Some(estimate);
    }
    let of_span: Vec<(&K, f64, f64)> = differences
        .iter()
        .map(|(cluster, difference)| (cluster, 1.0, difference / span))
        .collect();
    let n = of_span.len() as f64;
    let part = |sign: f64| -> f64 {
        let parts = of_span.iter().map(|(_, _, it)| (sign * it).max(0.0));
        parts.sum::<f64>() / n
    };
    let (more, less) = (part(1.0), part(-1.0));
    let bounds = share_error(&of_span, more - less).and_then(|(error, clusters)| {
        let pairs = match error {
            error if error >= LEAST_ERROR => {
                (more + less - (more - less).powi(2)) / (error * error)
            }
            _ => clusters as f64,
        };
        let student = student_quantile(1.0 - tail, clusters as f64 - 1.0)?;
        Some(tango_bounds(more, less, pairs, student))
    });
    Some(Estimate {
        low: bounds.map(|(low, _)| low * span),
        high: bounds.map(|(_, high)| high * span),
        ..estimate
    })
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
        clusters: Some(residuals.len()),
    })
}

/// The larger one of the clustered error of a weighted mean and that of independent samples, with
/// the number of clusters; `None` with fewer than two clusters of any weight.
fn share_error<K: Ord>(samples: &[(K, f64, f64)], value: f64) -> Option<(f64, usize)> {
    let mut residuals: BTreeMap<&K, f64> = BTreeMap::new();
    let (mut whole, mut independent) = (0.0, 0.0);
    for (cluster, weight, sample) in samples.iter().filter(|(_, weight, _)| *weight > 0.0) {
        let residual = weight * (sample - value);
        *residuals.entry(cluster).or_insert(0.0) += residual;
        independent += residual * residual;
        whole += weight;
    }
    let clusters = residuals.len();
    if clusters < 2 {
        return None;
    }
    let squares: f64 = residuals.values().map(|residual| residual * residual).sum();
    let clustered = clusters as f64 / (clusters as f64 - 1.0) * squares;
    Some((clustered.max(independent).sqrt() / whole, clusters))
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

fn half_width<K: Ord>(samples: &[(K, f64)], tail: f64) -> Option<f64> {
    let error = clustered_standard_error(samples)?;
    let clusters = residuals(samples, 0.0).len();
    Some(student_quantile(1.0 - tail, (clusters - 1) as f64)? * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_width(estimate: Estimate, (low, high): (f64, f64)) {
        let width = estimate.high.unwrap() - estimate.low.unwrap();
        assert!((width - (high - low)).abs() < 1e-9, "{estimate:?}");
    }

    // The residuals of equal samples are 0 but for the rounding of their mean.
    #[test]
    fn equal_samples_count_as_one_outcome_a_cluster() {
        let student = student_quantile(1.0 - TAIL, 9.0).unwrap();
        let samples: Vec<(u8, f64, f64)> = (0..10).map(|at| (at, 1.0, 0.3)).collect();
        let (error, _) = share_error(&samples, clustered_share(&samples).unwrap().value).unwrap();
        assert!(error > 0.0, "the mean is not rounded");
        let expected = score_bounds(0.3, 10.0, student);
        assert_width(clustered_share(&samples).unwrap(), expected);

        let pairs: Vec<(u8, f64, f64)> = (0..10).map(|at| (at, 0.3, 0.0)).collect();
        let expected = tango_bounds(0.3, 0.0, 10.0, student);
        assert_width(paired_difference(&pairs, 1.0).unwrap(), expected);
    }
}
