//! Numbers in these tests come from scipy 1.17.1 and statsmodels 0.15.0.
#![allow(clippy::unwrap_used)] // A test may panic: that is how it fails.

use proptest::prelude::*;

use super::*;

fn close(ours: f64, theirs: f64) {
    let scale = theirs.abs().max(1.0);
    assert!(
        (ours - theirs).abs() <= 1e-9 * scale,
        "{ours} is not {theirs}"
    );
}

fn clustered(clusters: &str, samples: &[f64]) -> Vec<(char, f64)> {
    clusters.chars().zip(samples.iter().copied()).collect()
}

// r = OLS(y, numpy.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True)
// value, error, low, high = r.params[0], r.bse[0], *r.conf_int()[0]
#[test]
fn the_clustered_mean_is_that_of_statsmodels() {
    let long: Vec<(u64, f64)> = (0..100_u64)
        .map(|i| (i * i % 17, (i * 37 % 101) as f64 / 101.0))
        .collect();
    let check = |estimate: Option<Estimate>, error: Option<f64>, [v, e, l, h]: [f64; 4]| {
        let estimate = estimate.unwrap();
        close(estimate.value, v);
        close(error.unwrap(), e);
        close(estimate.low.unwrap(), l);
        close(estimate.high.unwrap(), h);
    };
    let outcomes = clustered("aaabbccddd", &[1., 0., 1., 1., 0., 1., 0., 0., 1., 1.]);
    let similarities = clustered("abbcaadea", &[69., 46., 57., 83., 52., 100., 0., 23., 12.]);
    let two_clusters = clustered("aabb", &[0.5, 0.25, 0.75, 1.0]);
    for (samples, numbers) in [
        (
            &outcomes,
            [
                0.6,
                0.04618802153517005,
                0.4530091015170337,
                0.7469908984829663,
            ],
        ),
        (
            &similarities,
            [
                49.11111111111111,
                9.297288160488284,
                23.297700906310013,
                74.9245213159122,
            ],
        ),
        (
            &two_clusters,
            [0.625, 0.25, -2.5515511840436735, 3.8015511840436735],
        ),
    ] {
        let error = clustered_standard_error(samples);
        check(clustered_mean(samples), error, numbers);
    }
    check(
        clustered_mean(&long),
        clustered_standard_error(&long),
        [
            0.49366336633663377,
            0.02804784327888339,
            0.4289849237519703,
            0.5583418089212973,
        ],
    );
}

// The same call on first − second.
#[test]
fn a_paired_difference_is_that_of_statsmodels() {
    let first = [1., 0., 1., 1., 0., 1., 0., 0., 1., 1.];
    let second = [0., 0., 1., 0., 1., 1., 0., 0., 0., 1.];
    let pairs: Vec<(char, f64, f64)> = "aaabbccddd"
        .chars()
        .zip(first)
        .zip(second)
        .map(|((cluster, first), second)| (cluster, first, second))
        .collect();
    let estimate = paired_difference(&pairs).unwrap();
    close(estimate.value, 0.2);
    close(estimate.low.unwrap(), -0.09398179696593251);
    close(estimate.high.unwrap(), 0.49398179696593253);
    assert_eq!(estimate.n, 10);
}

#[test]
fn what_the_data_cannot_support_is_absent() {
    assert_eq!(clustered_mean::<u8>(&[]), None);
    assert_eq!(clustered_proportion::<u8>(&[]), None);
    assert_eq!(wilson(0, 0), None);
    assert_eq!(wilson(2, 1), None);
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[1.0, f64::NAN]), None);
    assert_eq!(median(&[1.0, f64::INFINITY]), None);
    assert_eq!(quantile(&[1.0], 1.5), None);
    assert_eq!(clustered_standard_error(&[('a', 1.0), ('a', 0.0)]), None);
    let one_cluster = Estimate {
        value: 0.5,
        low: None,
        high: None,
        n: 2,
    };
    assert_eq!(clustered_mean(&[('a', 1.0), ('a', 0.0)]), Some(one_cluster));
    assert_eq!(
        clustered_proportion(&[('a', true), ('a', false)]),
        Some(one_cluster)
    );
}

#[test]
fn unanimous_outcomes_are_not_certain() {
    let outcomes: Vec<(u8, bool)> = (0..20).map(|i| (i / 2, true)).collect();
    let estimate = clustered_proportion(&outcomes).unwrap();
    assert_eq!((estimate.value, estimate.n), (1.0, 20));
    // proportion_confint(10, 10, method="wilson"): ten clusters.
    close(estimate.low.unwrap(), 0.7224672001371106);
    close(estimate.high.unwrap(), 1.0);
}

#[test]
fn a_clustered_proportion_is_the_mean_kept_within_0_and_1() {
    let outcomes = [('a', true), ('a', true), ('b', true), ('b', false)];
    let estimate = clustered_proportion(&outcomes).unwrap();
    assert_eq!(estimate.value, 0.75);
    assert_eq!((estimate.low, estimate.high), (Some(0.0), Some(1.0)));
}

// proportion_confint(successes, n, method="wilson")
#[test]
fn wilson_is_that_of_statsmodels() {
    for (successes, n, low, high) in [
        (30, 100, 0.21894885294932756, 0.39584854633346667),
        (0, 10, 0.0, 0.27753279986288926),
        (10, 10, 0.7224672001371106, 1.0),
        (1, 3, 0.06149194472039626, 0.7923403991979523),
        (355, 1000, 0.3259484631755532, 0.38516129678525773),
    ] {
        let estimate = wilson(successes, n).unwrap();
        close(estimate.value, successes as f64 / n as f64);
        close(estimate.low.unwrap(), low);
        close(estimate.high.unwrap(), high);
    }
}

// mcnemar([[0, b], [c, 0]], exact=True).pvalue
#[test]
fn mcnemar_is_that_of_statsmodels() {
    for (b, c, p) in [
        (12, 5, 0.143463134765625),
        (5, 12, 0.143463134765625),
        (0, 0, 1.0),
        (3, 3, 1.0),
        (0, 7, 0.015625),
        (40, 61, 0.046044066929342785),
        (1, 0, 1.0),
    ] {
        close(mcnemar_exact(b, c), p);
    }
}

// numpy.quantile(x, p) and scipy.stats.quantile_test(x, q=0, p=p).confidence_interval(0.95)
#[test]
fn quantiles_are_those_of_numpy_and_scipy() {
    let latencies: Vec<f64> = (0..60)
        .map(|i| f64::from(i * i % 97) + f64::from(i) / 10.0)
        .collect();
    for (p, value, low, high) in [
        (0.5, 53.2, Some(36.6), Some(71.8)),
        (0.9, 92.5, Some(89.5), Some(98.2)),
        (0.95, 96.735, Some(91.9), None),
    ] {
        let estimate = quantile(&latencies, p).unwrap();
        close(estimate.value, value);
        assert_eq!((estimate.low, estimate.high), (low, high));
    }
    for (n, low, high) in [
        (5, None, None),
        (6, Some(0.0), Some(5.0)),
        (10, Some(1.0), Some(8.0)),
    ] {
        let samples: Vec<f64> = (0..n).map(f64::from).collect();
        let estimate = median(&samples).unwrap();
        assert_eq!((estimate.low, estimate.high), (low, high));
    }
}

#[test]
fn the_upper_bound_of_the_95th_percentile_needs_72_samples() {
    let high = |n: u32| {
        let samples: Vec<f64> = (0..n).map(f64::from).collect();
        quantile(&samples, 0.95).unwrap().high
    };
    assert_eq!(high(71), None);
    assert_eq!(high(72), Some(71.0));
}

#[test]
fn an_interval_far_out_holds_its_value() {
    // The value lies between two samples, the interval's upper bound would be the lower one.
    let estimate = quantile(&[1.0, 2.0], 0.0004).unwrap();
    close(estimate.value, 1.0004);
    assert_eq!((estimate.low, estimate.high), (None, Some(estimate.value)));
}

proptest! {
    #[test]
    fn the_order_of_clusters_and_their_names_do_not_matter(
        samples in prop::collection::vec((0_u8..6, -100.0..100.0), 1..40),
    ) {
        let estimate = clustered_mean(&samples).unwrap();
        let renamed: Vec<(u8, f64)> = samples.iter().rev().map(|&(c, s)| (9 - c, s)).collect();
        let other = clustered_mean(&renamed).unwrap();
        prop_assert!((estimate.value - other.value).abs() < 1e-9);
        prop_assert_eq!(estimate.low.is_some(), other.low.is_some());
        if let (Some(low), Some(other)) = (estimate.low, other.low) {
            prop_assert!((low - other).abs() < 1e-6);
        }
    }

    #[test]
    fn estimates_lie_within_their_intervals(
        samples in prop::collection::vec((0_u8..6, any::<bool>()), 1..60),
        p in 0.0..=1.0,
    ) {
        let outcomes: Vec<bool> = samples.iter().map(|(_, outcome)| *outcome).collect();
        let values: Vec<f64> = samples
            .iter()
            .zip(1_u32..)
            .map(|((c, _), i)| f64::from(*c) + f64::from(i % 7))
            .collect();
        let successes = outcomes.iter().filter(|&&outcome| outcome).count();
        for estimate in [
            clustered_proportion(&samples).unwrap(),
            wilson(successes, outcomes.len()).unwrap(),
        ] {
            prop_assert!(estimate.low.is_none_or(|low| (0.0..=estimate.value).contains(&low)));
            prop_assert!(estimate.high.is_none_or(|high| (estimate.value..=1.0).contains(&high)));
        }
        let estimate = quantile(&values, p).unwrap();
        prop_assert!(estimate.low.is_none_or(|low| low <= estimate.value));
        prop_assert!(estimate.high.is_none_or(|high| high >= estimate.value));
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        let mirror = quantile(&mirrored, 0.5).unwrap();
        let estimate = median(&values).unwrap();
        prop_assert_eq!(estimate.low, mirror.high.map(|high| -high));
    }

    #[test]
    fn mcnemar_is_symmetric_and_a_probability(b in 0_u64..500, c in 0_u64..500) {
        let p = mcnemar_exact(b, c);
        prop_assert_eq!(p, mcnemar_exact(c, b));
        prop_assert!((0.0..=1.0).contains(&p));
    }
}
