//! Numbers in these tests come from scipy 1.17.1, statsmodels 0.15.0 and numpy 2.4.6, called as
//! the comment before each test says.
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
    let estimate = paired_difference(&pairs, f64::INFINITY).unwrap();
    close(estimate.value, 0.2);
    close(estimate.low.unwrap(), -0.09398179696593251);
    close(estimate.high.unwrap(), 0.49398179696593253);
    assert_eq!(estimate.n, 10);
}

#[test]
fn a_paired_difference_is_tangos() {
    // Tango 1998: without a discordant pair ± q² / (n + q²), here with t.ppf(0.975, 19).
    let alike: Vec<(u8, f64, f64)> = (0..20).map(|at| (at, 1.0, 1.0)).collect();
    let estimate = paired_difference(&alike, 1.0).unwrap();
    let square = 2.093024054408263_f64.powi(2);
    close(estimate.value, 0.0);
    close(estimate.high.unwrap(), square / (20.0 + square));
    close(estimate.low.unwrap(), -square / (20.0 + square));
    // In another unit the same.
    let of_100: Vec<(u8, f64, f64)> = (0..20).map(|at| (at, 100.0, 100.0)).collect();
    let scaled = paired_difference(&of_100, 100.0).unwrap();
    close(scaled.high.unwrap(), 100.0 * square / (20.0 + square));
    // The bounds are where Tango's score equals the quantile, by his formula for counts.
    let pairs: Vec<(usize, f64, f64)> = (0..44)
        .map(|at| match at {
            0..12 => (at, 1.0, 0.0),
            12..13 => (at, 0.0, 1.0),
            _ => (at, 1.0, 1.0),
        })
        .collect();
    let estimate = paired_difference(&pairs, 1.0).unwrap();
    let (b, c) = (12.0, 1.0);
    let wald = (b + c - (b - c) * (b - c) / 44.0) / 44.0 / 44.0;
    let effective = wald / (wald * 44.0 / 43.0) * 44.0;
    let (b, c) = (b * effective / 44.0, c * effective / 44.0);
    for bound in [estimate.low.unwrap(), estimate.high.unwrap()] {
        let linear = -b - c + (2.0 * effective - b + c) * bound;
        let constant = -c * bound * (1.0 - bound);
        let q =
            ((linear * linear - 8.0 * effective * constant).sqrt() - linear) / (4.0 * effective);
        let score =
            (b - c - effective * bound) / (effective * (2.0 * q + bound * (1.0 - bound))).sqrt();
        // t.ppf(0.975, 43)
        assert!((score.abs() - 2.016692199227824).abs() < 1e-6, "{score}");
    }
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
        clusters: Some(1),
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
    // Wilson's interval of ten clusters, 10 / (10 + t²) with scipy's t.ppf(0.975, 9).
    close(estimate.low.unwrap(), 0.6614913773287513);
    close(estimate.high.unwrap(), 1.0);
}

#[test]
fn a_clustered_proportion_is_wilsons_with_the_effective_sample_size() {
    // Six clusters of two equal outcomes each: error² = 6/5 · (2 · (4/3)² + 4 · (2/3)²) / 12², so
    // the effective number of outcomes is 5, not 12.
    let outcomes: Vec<(u8, bool)> = (0..12).map(|at| (at / 2, at / 2 < 2)).collect();
    let estimate = clustered_proportion(&outcomes).unwrap();
    assert_eq!((estimate.n, estimate.clusters), (12, Some(6)));
    close(estimate.value, 1.0 / 3.0);
    // statsmodels' formula for "wilson" with n = 5 and scipy's t.ppf(0.975, 5) for the quantile.
    close(estimate.low.unwrap(), 0.06010184801075109);
    close(estimate.high.unwrap(), 0.7963176626098818);
    // Outcomes that differ within every cluster count as independent, not as more.
    let balanced: Vec<(usize, bool)> = (0..12).map(|at| (at / 2, at % 2 == 0)).collect();
    let estimate = clustered_proportion(&balanced).unwrap();
    close(estimate.high.unwrap() - 0.5, 0.2979564987706108);
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

// By Wilson's formula in plain Python, with the quantile 1.959963984540054.
#[test]
fn bounds_of_a_stated_share_are_those_of_the_share_itself() {
    for (share, n, low, high) in [
        (0.5, 3, 0.1253344719102632, 0.8746655280897367),
        (0.305, 10, 0.11060557610428565, 0.607632215842241),
        (0.62, 50, 0.4815044693099298, 0.7413721068980641),
    ] {
        let (found_low, found_high) = wilson_bounds(share, n).unwrap();
        close(found_low, low);
        close(found_high, high);
    }
    assert_eq!(wilson_bounds(0.5, 0), None);
    assert_eq!(wilson_bounds(1.5, 9), None);
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
    // The value is between two samples; unwidened, the interval's upper bound is the lower sample.
    let estimate = quantile(&[1.0, 2.0], 0.0004).unwrap();
    close(estimate.value, 1.0004);
    assert_eq!((estimate.low, estimate.high), (None, Some(estimate.value)));
}

// r = WLS(y, ones(10), weights=w).fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True)
// r.params[0], *r.conf_int()[0]
#[test]
fn a_weighted_mean_is_that_of_statsmodels() {
    let samples = [1., 0., 1., 1., 0., 1., 0., 0., 1., 1.];
    let weights = [0.5, 1.0, 0.25, 0.8, 0.3, 0.9, 1.0, 0.1, 0.6, 0.75];
    let mut weighted: Vec<(char, f64, f64)> = "aaabbccddd"
        .chars()
        .zip(weights)
        .zip(samples)
        .map(|((cluster, weight), sample)| (cluster, weight, sample))
        .collect();
    let estimate = clustered_weighted_mean(&weighted).unwrap();
    close(estimate.value, 0.6129032258064516);
    close(estimate.low.unwrap(), 0.2368070793972178);
    close(estimate.high.unwrap(), 0.9889993722156855);
    // A sample without weight is not a cluster.
    weighted.push(('e', 0.0, 1.0));
    let again = clustered_weighted_mean(&weighted).unwrap();
    assert_eq!((again.low, again.high), (estimate.low, estimate.high));
    assert_eq!(clustered_weighted_mean(&[('a', 0.0, 1.0)]), None);
    assert_eq!(
        clustered_weighted_mean(&[('a', -1.0, 1.0), ('b', 2.0, 1.0)]),
        None
    );
    assert_eq!(clustered_weighted_mean::<char>(&[]), None);
}

// scipy.stats.t.ppf(p, degrees)
#[test]
fn quantiles_of_student_are_those_of_scipy() {
    for (p, degrees, quantile) in [
        (0.975, 1.0, 12.706204736174694),
        (0.975, 3.0, 3.1824463052837078),
        (0.975, 10.5, 2.2138402929187886),
        (0.025, 2.0, -4.302652729749464),
        (0.999, 7.0, 4.785289628638333),
        (0.6, 30.0, 0.2556053649519128),
        (0.975, 1000.0, 1.9623390808264083),
    ] {
        close(student_quantile(p, degrees).unwrap(), quantile);
    }
    assert_eq!(student_quantile(0.975, 0.0), None);
    assert_eq!(student_quantile(1.0, 3.0), None);
}

#[test]
fn an_interval_ends_where_the_metric_does() {
    let estimate = Estimate {
        value: 90.0,
        low: Some(-3.0),
        high: Some(104.0),
        n: 4,
        clusters: None,
    };
    let within = estimate.within(0.0..=100.0);
    assert_eq!((within.low, within.high), (Some(0.0), Some(100.0)));
}

fn pairs(first: &[f64], second: &[f64]) -> Vec<(f64, f64)> {
    assert_eq!(first.len(), second.len());
    first.iter().copied().zip(second.iter().copied()).collect()
}

/// Offline and online figures of six versions.
fn six() -> Vec<(f64, f64)> {
    pairs(
        &[0.31, 0.28, 0.42, 0.55, 0.47, 0.39],
        &[0.21, 0.25, 0.24, 0.33, 0.27, 0.30],
    )
}

/// Nine pairs without ties.
fn nine() -> Vec<(f64, f64)> {
    pairs(
        &[0.1, 0.4, 0.35, 0.8, 0.55, 0.62, 0.9, 0.2, 0.71],
        &[3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.0, 8.0],
    )
}

// Coefficients: scipy.stats.pearsonr, spearmanr, kendalltau. p: the share of
// itertools.permutations of the second side whose |coefficient| is at least the one seen, minus
// 1e-12; of Kendall's without ties also kendalltau(method="exact").pvalue.
#[test]
fn coefficients_and_their_exact_p_are_those_of_scipy() {
    let ties = pairs(&[1., 2., 2., 3., 4.], &[2., 1., 3., 3., 3.]);
    for (pairs, expected) in [
        (
            six(),
            [
                (0.7366615866752362, 0.09027777777777778),
                (0.6, 0.24166666666666667),
                (0.4666666666666666, 0.2722222222222222),
            ],
        ),
        (
            ties,
            [
                (0.5393193716300062, 0.45),
                (0.6308932681440449, 0.3),
                (0.5039526306789696, 0.4),
            ],
        ),
        (
            nine(),
            [
                (0.17415011127091512, 0.6467013888888888),
                (0.13333333333333333, 0.7435405643738977),
                (0.05555555555555555, 0.919455467372134),
            ],
        ),
    ] {
        for (coefficient, (value, p)) in Coefficient::ALL.into_iter().zip(expected) {
            close(coefficient.correlate(&pairs).unwrap(), value);
            close(exact_permutation_p(coefficient, &pairs).unwrap(), p);
        }
    }
}

// Table 9 of RepoMasterEval, https://arxiv.org/abs/2408.03519: each version's difference to the
// baseline, which is 0.
#[test]
fn the_published_trend_is_reproduced_with_its_exact_p() {
    let python_accepted = [0.0, -0.1, 1.4, 1.2];
    for (offline, online, r, p) in [
        ([0.0, -0.9, 6.3, 5.1], python_accepted, 0.998, 1.0 / 24.0),
        (
            [0.0, 5.2, 5.2, 8.1],
            [0.0, 1.2, 1.7, 3.9],
            0.922,
            4.0 / 24.0,
        ),
        ([0.0, 0.8, -8.9, -14.8], python_accepted, -0.908, 7.0 / 24.0),
    ] {
        let pairs = pairs(&offline, &online);
        let ours = Coefficient::Pearson.correlate(&pairs).unwrap();
        assert!((ours - r).abs() < 5e-4, "{ours} is not {r}");
        close(
            exact_permutation_p(Coefficient::Pearson, &pairs).unwrap(),
            p,
        );
    }
    // Python: all six pairs of versions agree. HumanEval orders one of six alike.
    let agreement = sign_agreement(&pairs(&[0.0, -0.9, 6.3, 5.1], &python_accepted));
    assert_eq!((agreement.agreeing, agreement.rate()), (6, Some(1.0)));
    let agreement = sign_agreement(&pairs(&[0.0, 0.8, -8.9, -14.8], &python_accepted));
    assert_eq!((agreement.agreeing, agreement.disagreeing), (1, 5));
}

// scipy.stats.permutation_test((x,), lambda x: abs(coefficient(x, y)), permutation_type="pairings",
// n_resamples=20000, alternative="greater", random_state=1): .7469, .7031, .6379; the last one
// exactly, kendalltau(x, y, method="exact"): .638361.
#[test]
fn beyond_nine_pairs_a_p_is_drawn_or_absent() {
    let twelve: Vec<(f64, f64)> = (0..12_u32)
        .map(|i| (f64::from(i * 37 % 101), f64::from(i * i * 29 % 97)))
        .collect();
    for (coefficient, theirs) in Coefficient::ALL.into_iter().zip([0.7469, 0.7031, 0.638361]) {
        assert_eq!(exact_permutation_p(coefficient, &twelve), None);
        let drawn = |seed| permutation_p_by_draws(coefficient, &twelve, 20_000, seed).unwrap();
        assert!((drawn(1) - theirs).abs() < 0.02, "{}", coefficient.name());
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
    // Where there is an exact one, the drawn one estimates it.
    let drawn = permutation_p_by_draws(Coefficient::Pearson, &six(), 20_000, 3).unwrap();
    assert!((drawn - 0.09027777777777778).abs() < 0.01);
    assert_eq!(
        permutation_p_by_draws(Coefficient::Pearson, &six(), 0, 3),
        None
    );
}

#[test]
fn sides_without_differences_have_no_correlation() {
    for coefficient in Coefficient::ALL {
        for pairs in [
            vec![],
            vec![(1.0, 2.0)],
            vec![(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)],
            vec![(1.0, 0.1), (2.0, 0.1), (3.0, 0.1)],
            vec![(1.0, f64::NAN), (2.0, 1.0)],
        ] {
            assert_eq!(coefficient.correlate(&pairs), None);
            assert_eq!(exact_permutation_p(coefficient, &pairs), None);
            assert_eq!(permutation_p_by_draws(coefficient, &pairs, 9, 0), None);
        }
    }
    assert_eq!(sign_agreement(&[]).rate(), None);
    let tied = sign_agreement(&[(1.0, 2.0), (1.0, 3.0), (2.0, 2.0)]);
    assert_eq!((tied.tied, tied.disagreeing), (2, 1));
}

// values = numpy.array([.31, .28, .42, .55]); se = numpy.array([.03, .025, .04, .035])
// 1 - (se**2).mean() / values.var(ddof=1), and .6 / numpy.sqrt(that * .8)
#[test]
fn noise_hides_a_correlation() {
    let figures = pairs(&[0.31, 0.28, 0.42, 0.55], &[0.03, 0.025, 0.04, 0.035]);
    let reliability_offline = reliability(&figures).unwrap();
    close(reliability_offline, 0.9275);
    close(
        attenuation_corrected(0.6, reliability_offline, 0.8).unwrap(),
        0.696545190318858,
    );
    assert_eq!(attenuation_corrected(0.6, 0.0, 1.0), None);
    assert_eq!(attenuation_corrected(0.6, 1.1, 1.0), None);
    assert_eq!(reliability(&[(0.3, 0.1), (0.3, 0.1)]), None);
    assert_eq!(reliability(&[(0.3, 0.1), (0.35, 0.1)]), None);
    assert_eq!(reliability(&[(0.3, 0.1)]), None);
}

// numpy, 200,000 simulations: Student's t .253 (n = 4) and .755 (n = 8); all permutations .178
// (n = 4); with 2,000 simulations .752 (n = 8).
#[test]
fn four_versions_find_a_strong_correlation_in_one_study_of_four() {
    let power = |n, test, simulations| {
        let estimate = correlation_power(0.8, n, test, simulations, 1).unwrap();
        assert_eq!(estimate.n, simulations);
        estimate.value
    };
    assert!((power(4, CorrelationTest::Student, 20_000) - 0.253).abs() < 0.01);
    assert!((power(8, CorrelationTest::Student, 20_000) - 0.755).abs() < 0.01);
    assert!((power(4, CorrelationTest::Permutation, 5_000) - 0.178).abs() < 0.02);
    // Without an association it is the level, and three pairs can show nothing exactly.
    let none = correlation_power(0.0, 6, CorrelationTest::Student, 20_000, 2).unwrap();
    assert!((none.value - 0.05).abs() < 0.01);
    assert_eq!(power(3, CorrelationTest::Permutation, 200), 0.0);
    assert_eq!(
        correlation_power(1.1, 4, CorrelationTest::Student, 9, 1),
        None
    );
    assert_eq!(
        correlation_power(0.5, 2, CorrelationTest::Student, 9, 1),
        None
    );
    assert_eq!(
        correlation_power(0.5, 10, CorrelationTest::Permutation, 9, 1),
        None
    );
}

/// Clusters of samples that all count alike.
fn sampled(clusters: &[&[f64]]) -> SampledFigure {
    let clusters = clusters.iter().map(|cluster| ClusterTotal {
        sum: cluster.iter().sum(),
        weight: cluster.len() as f64,
    });
    SampledFigure::Clusters(clusters.collect())
}

/// Versions of one sample each, with the figures of [`six`].
fn versions_of_six() -> Vec<ModelVersion> {
    let version = |(offline, online)| ModelVersion {
        offline: sampled(&[&[offline]]),
        online: sampled(&[&[online]]),
    };
    six().into_iter().map(version).collect()
}

// All 6**6 resamples of the pairs by numpy, the 6 of one version only left out:
// numpy.percentile(pearson, [2.5, 97.5]).
#[test]
fn a_bootstrap_of_versions_comes_to_its_exact_distribution() {
    let versions = versions_of_six();
    let found = two_level_bootstrap(&versions, Coefficient::Pearson, 20_000, 1).unwrap();
    close(found.estimate.value, 0.7366615866752362);
    assert!(
        (found.estimate.low.unwrap() + 0.00314464).abs() < 0.03,
        "{found:?}"
    );
    assert!(
        (found.estimate.high.unwrap() - 0.99705449).abs() < 0.002,
        "{found:?}"
    );
    assert_eq!((found.estimate.n, found.draws), (6, 20_000));
    // 1.3 in 10,000.
    assert!(found.undefined < 15);
}

// All 6**6 resamples of the versions by plain Python, the 6 of one version only left out: the
// difference of the two coefficients, linearly interpolated at 2.5 and 97.5 %.
#[test]
fn a_gain_in_correlation_comes_to_its_exact_distribution() {
    let versions = versions_of_six();
    let others = [0.30, 0.33, 0.35, 0.50, 0.41, 0.45].map(|other| sampled(&[&[other]]));
    let gain = |others: &[SampledFigure]| {
        correlation_gain(&versions, others, Coefficient::Pearson, 20_000, 1)
    };
    let found = gain(&others).unwrap();
    close(found.own, 0.7366615866752362);
    close(found.other, 0.9779642090429976);
    close(found.gain.estimate.value, 0.24130262236776145);
    let (low, high) = (found.gain.estimate.low, found.gain.estimate.high);
    assert!(low.unwrap().abs() < 0.01, "{found:?}");
    assert!((high.unwrap() - 0.90052597).abs() < 0.03, "{found:?}");
    assert_eq!(found.gain.estimate.n, 6);
    assert_eq!(gain(&others[1..]), None);
}

// numpy.random.default_rng(7), 60,000 draws of versions and in them of clusters:
// numpy.percentile(pearson, [2.5, 97.5]), and .062 % undefined.
#[test]
fn a_bootstrap_draws_within_versions_too() {
    let version = |offline: &[&[f64]], online: &[&[f64]]| ModelVersion {
        offline: sampled(offline),
        online: sampled(online),
    };
    let versions = [
        version(
            &[&[0., 1.], &[1., 1.], &[0., 0., 1.]],
            &[&[1., 0., 0.], &[0., 0.]],
        ),
        version(
            &[&[1., 1.], &[0., 1.], &[1., 0., 1.]],
            &[&[1., 0., 0.], &[1., 0.]],
        ),
        version(
            &[&[1., 1.], &[1., 1.], &[0., 1., 1.]],
            &[&[1., 1., 0.], &[0., 1.]],
        ),
        version(
            &[&[0., 0.], &[1., 0.], &[0., 0., 1.]],
            &[&[0., 1., 0.], &[0., 0.]],
        ),
        version(
            &[&[1., 1.], &[1., 0.], &[1., 1., 1.]],
            &[&[1., 1., 1.], &[0., 1.]],
        ),
    ];
    let found = two_level_bootstrap(&versions, Coefficient::Pearson, 20_000, 1).unwrap();
    close(found.estimate.value, 0.8479461097510954);
    assert!(
        (found.estimate.low.unwrap() + 0.27500907).abs() < 0.04,
        "{found:?}"
    );
    assert!(
        (found.estimate.high.unwrap() - 0.97854163).abs() < 0.004,
        "{found:?}"
    );
    assert!((1..30).contains(&found.undefined), "{found:?}");
    assert_eq!(
        two_level_bootstrap(&versions, Coefficient::Pearson, 20_000, 1),
        Some(found)
    );
    assert_eq!(
        two_level_bootstrap(&versions, Coefficient::Pearson, 0, 1),
        None
    );
    assert_eq!(two_level_bootstrap(&[], Coefficient::Pearson, 9, 1), None);
}

// By Hotelling's density of r (1953), with z = atanh r and ζ = atanh ρ
//   c · √(cosh z / cosh ζ) · cosh(z − ζ)^(3/2 − n) · 2F1(½, ½; n − ½; (1 + ρ tanh z) / 2),
//   c = (n − 2) Γ(n − 1) / (√(2π) Γ(n − ½)),
// scipy.integrate.quad for its distribution and scipy.optimize.brentq for the ρ with which it is
// .975 and .025 at r.
#[test]
fn an_interval_for_r_is_that_of_its_exact_distribution() {
    for (r, n, low, high, tolerance) in [
        (0.5, 4, -0.741135972040045, 0.9490226650212992, 0.012),
        (0.998, 4, 0.8926851474611923, 0.9998129820814787, 0.006),
        (-0.3, 9, -0.7758983907034458, 0.4282588951559417, 0.006),
        (0.9, 5, 0.0883356456240359, 0.9863446275946288, 0.012),
    ] {
        let found = pearson_interval(&with_r(r, n), 100_000, 1).unwrap();
        close(found.value, r);
        assert_eq!(found.n, n);
        let (found_low, found_high) = (found.low.unwrap(), found.high.unwrap());
        assert!((found_low - low).abs() < tolerance, "{found:?}, not {low}");
        assert!(
            (found_high - high).abs() < tolerance,
            "{found:?}, not {high}"
        );
    }
    // Pairs on a line: the quantile .025 for r = .9995 of 4,000,000 draws by numpy of Fisher's
    // distribution, and the end of the range.
    for (n, low, tolerance) in [(3, 0.56061, 0.03), (5, 0.98994, 0.002)] {
        for sign in [1.0, -1.0] {
            let line: Vec<(f64, f64)> = (0..n)
                .map(|i| (f64::from(i), sign * f64::from(i) / 3.0))
                .collect();
            let found = pearson_interval(&line, 100_000, 1).unwrap();
            let (near, far) = match sign > 0.0 {
                true => (found.high.unwrap(), found.low.unwrap()),
                false => (found.low.unwrap(), found.high.unwrap()),
            };
            close(near, sign);
            assert!((far - sign * low).abs() < tolerance, "{found:?}, not {low}");
        }
    }
    assert_eq!(pearson_interval(&[(0.0, 0.0), (1.0, 1.0)], 99, 1), None);
    assert_eq!(pearson_interval(&[(0.0, 1.0); 5], 99, 1), None);
    assert_eq!(pearson_interval(&with_r(0.5, 4), 0, 1), None);
}

/// Pairs of which Pearson's r is this.
fn with_r(r: f64, n: usize) -> Vec<(f64, f64)> {
    let unit = |values: Vec<f64>| -> Vec<f64> {
        let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        values.iter().map(|value| value / length).collect()
    };
    let middle = (n as f64 - 1.0) / 2.0;
    // A straight line and a parabola of mean 0: their product sums to 0.
    let line = unit((0..n).map(|i| i as f64 - middle).collect());
    let squares = (0..n).map(|i| (i as f64 - middle).powi(2));
    let mean = squares.clone().sum::<f64>() / n as f64;
    let parabola = unit(squares.map(|square| square - mean).collect());
    line.iter()
        .zip(&parabola)
        .map(|(line, parabola)| (*line, r * line + (1.0 - r * r).sqrt() * parabola))
        .collect()
}

// numpy.random.default_rng(7), 2,000,000 draws with either side first: with L the Cholesky factor
// of (n - 1) times the sample covariance and T lower triangular, its diagonal the roots of
// chisquare(n - 1) and chisquare(n - 2), its corner standard_normal, L T⁻¹ T⁻ᵀ Lᵀ less the noise
// on its diagonal; numpy.quantile of the correlations, undefined ones as -1 below and 1 above.
#[test]
fn an_interval_without_the_error_of_measuring_is_numpys() {
    let seven = pairs(
        &[1.2, 2.4, 3.1, 4.4, 5.0, 6.9, 8.1],
        &[2.1, 1.0, 4.9, 3.2, 6.3, 5.5, 9.0],
    );
    for (noise, value, low, high) in [
        ((0.0, 0.0), 0.8578917881403678, 0.268_85, 0.970_42),
        ((0.5, 0.4), 0.921_08, 0.292_16, 1.0),
        ((2.0, 1.0), 1.128_31, 0.314_14, 1.0),
    ] {
        let found = latent_correlation(&seven, noise, 200_000, 1).unwrap();
        assert!((found.value - value).abs() < 1e-4, "{found:?}, not {value}");
        // With the most noise, the quantile of 200,000 draws has a standard error of .005.
        assert!((found.low.unwrap() - low).abs() < 0.015, "{found:?}");
        assert!((found.high.unwrap() - high).abs() < 0.001, "{found:?}");
        let again = latent_correlation(&seven, noise, 200_000, 1);
        assert_eq!(again, Some(found));
    }
    // More error than there is variance: any correlation could be behind it.
    let hidden = latent_correlation(&seven, (60.0, 0.0), 1_000, 3).unwrap();
    assert_eq!((hidden.low, hidden.high), (Some(-1.0), Some(1.0)));
    close(hidden.value, 0.8578917881403678);
}

// numpy.random.default_rng(5): 4,000 studies, in each 600 draws of versions with replacement and
// numpy.percentile(pearson, [2.5, 97.5]).
#[test]
fn a_bootstrap_of_four_versions_holds_less_than_it_says() {
    let coverage = |n, noise| {
        bootstrap_coverage(Coefficient::Pearson, 0.8, n, noise, 600, 300, 1)
            .unwrap()
            .value
    };
    assert!((coverage(4, (0.0, 0.0)) - 0.799).abs() < 0.05);
    assert!((coverage(8, (0.0, 0.0)) - 0.903).abs() < 0.04);
    assert_eq!(
        bootstrap_coverage(Coefficient::Pearson, 1.2, 5, (0.0, 0.0), 9, 9, 1),
        None
    );
    assert_eq!(
        bootstrap_coverage(Coefficient::Pearson, 0.5, 5, (0.0, 1.2), 9, 9, 1),
        None
    );
    assert_eq!(
        bootstrap_coverage(Coefficient::Pearson, 0.5, 5, (0.0, 0.0), 0, 9, 1),
        None
    );
}

// statsmodels.stats.multitest.multipletests(p, method="holm")[1]
#[test]
fn corrected_p_values_are_those_of_statsmodels() {
    let corrected = holm(&[0.01, 0.04, 0.03, 0.005, 0.2]);
    for (ours, theirs) in corrected.iter().zip([0.04, 0.09, 0.09, 0.025, 0.2]) {
        close(*ours, theirs);
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}

// m = GLM(wins, differences, family=Binomial()).fit(tol=1e-14), the first strength 0; then with
// C = eye(4) - 1/4: C @ beta, and sqrt(diag(C @ cov @ C.T)) times scipy.stats.norm.ppf(.975).
#[test]
fn strengths_are_those_of_statsmodels() {
    let wins = [
        ('a', 'b', 6.0),
        ('b', 'a', 4.0),
        ('a', 'c', 8.0),
        ('c', 'a', 2.0),
        ('b', 'c', 5.5),
        ('c', 'b', 3.5),
        ('c', 'd', 4.0),
        ('d', 'c', 3.0),
        ('d', 'a', 1.0),
    ];
    let strengths = bradley_terry(&wins).unwrap();
    for (name, value, low, high, n) in [
        (
            'a',
            0.5566467389949173,
            -0.20463700065330215,
            1.3179304786431367,
            21,
        ),
        (
            'b',
            0.10945026625863213,
            -0.6780544542492424,
            0.8969549867665065,
            19,
        ),
        (
            'c',
            -0.3894107415144813,
            -0.9975923752766953,
            0.21877089224773272,
            26,
        ),
        (
            'd',
            -0.27668626373906824,
            -1.4006645861992864,
            0.84729205872115,
            8,
        ),
    ] {
        let estimate = strengths[&name];
        close(estimate.value, value);
        close(estimate.low.unwrap(), low);
        close(estimate.high.unwrap(), high);
        assert_eq!(estimate.n, n);
    }
}

#[test]
fn strengths_without_bound_are_absent() {
    assert!(bradley_terry(&[('a', 'b', 3.0)]).is_none());
    assert!(bradley_terry(&[('a', 'b', 3.0), ('b', 'a', 0.0)]).is_none());
    assert!(bradley_terry::<char>(&[]).is_none());
    let two_islands = [
        ('a', 'b', 1.),
        ('b', 'a', 1.),
        ('c', 'd', 1.),
        ('d', 'c', 1.),
    ];
    assert!(bradley_terry(&two_islands).is_none());
    assert!(bradley_terry(&[('a', 'b', -1.0), ('b', 'a', 1.0)]).is_none());
}

// X = numpy.column_stack([numpy.ones(len(y)), in_first])
// r = OLS(y, X).fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True)
// value, low, high = r.params[1], *r.conf_int()[1]
// design effect: r.bse[1] ** 2 / (numpy.var(first) / len(first) + numpy.var(second) / len(second))
#[test]
fn a_clustered_difference_is_that_of_statsmodels() {
    let first = clustered("aaabbccdd", &[1., 0., 1., 1., 0., 1., 0., 0., 1.]);
    let second = clustered("abbcceeeff", &[0., 0., 1., 0., 0., 1., 0., 0., 0., 1.]);
    let estimate = clustered_difference(&first, &second).unwrap();
    close(estimate.value, 0.25555555555555554);
    close(estimate.low.unwrap(), -0.05324140329422772);
    close(estimate.high.unwrap(), 0.5643525144053387);
    assert_eq!(estimate.n, 19);
    // statsmodels gives 0.297937569658127; a value below 1 need not hold in the next sample.
    close(design_effect(&first, &second).unwrap(), 1.0);

    let first = clustered("aaabbccdd", &[0.5, 0.2, 0.9, 0.4, 0.7, 0.1, 0.3, 0.3, 0.8]);
    let second = clustered(
        "abbcceeeff",
        &[0.1, 0.0, 0.2, 0.6, 0.1, 0.9, 0.4, 0.3, 0.2, 0.2],
    );
    let estimate = clustered_difference(&first, &second).unwrap();
    close(estimate.value, 0.16666666666666663);
    close(estimate.low.unwrap(), -0.19578340605619793);
    close(estimate.high.unwrap(), 0.5291167393895312);

    let first = clustered("aaaabbbbcc", &[1., 1., 1., 1., 0., 0., 0., 1., 1., 1.]);
    let second = clustered("ddddeeeebb", &[0., 0., 0., 0., 1., 1., 1., 1., 0., 0.]);
    let outcomes = |samples: &[(char, f64)]| -> Vec<(char, bool)> {
        samples.iter().map(|(k, s)| (*k, *s == 1.0)).collect()
    };
    let estimate =
        clustered_difference_of_proportions(&outcomes(&first), &outcomes(&second)).unwrap();
    close(estimate.value, 0.30000000000000004);
    close(estimate.low.unwrap(), -0.7634988858054257);
    // statsmodels has 1.3634988858054258, and knows of no range.
    close(estimate.high.unwrap(), 1.0);
    close(design_effect(&first, &second).unwrap(), 3.2604938271604915);
}

// m1 - m2 is 8/12 - 4/8; v = c / (c - 1) * sum((sum(x) - m * 4)**2 / n**2) over a group's c clusters
// degrees of freedom: (v1 + v2)**2 / (v1**2 / 2 + v2**2 / 1)
#[test]
fn groups_without_a_common_cluster_differ_by_welch() {
    let first = clustered(
        "aaaabbbbcccc",
        &[1., 1., 1., 1., 0., 0., 0., 1., 1., 0., 1., 1.],
    );
    let second = clustered("ddddeeee", &[0., 0., 1., 0., 1., 0., 1., 1.]);
    let estimate = clustered_difference(&first, &second).unwrap();
    let half = student_quantile(0.975, 2.4265402843601898).unwrap() / 3.0;
    close(estimate.value, 1.0 / 6.0);
    close(estimate.low.unwrap(), 1.0 / 6.0 - half);
    close(estimate.high.unwrap(), 1.0 / 6.0 + half);
    // The samples of one cluster say nothing of others.
    let one = clustered("aaaa", &[1., 0., 0., 1.]);
    for other in [&clustered("bbbb", &[0., 0., 1., 0.]), &second] {
        let estimate = clustered_difference(&one, other).unwrap();
        assert_eq!((estimate.low, estimate.high), (None, None));
        assert_eq!(design_effect(&one, other), None);
    }
}

// Newcombe's method with Wilson's intervals, whose quantile is scipy's t.ppf(0.975, n − 1), of 8 of
// 8 and 0 of 7, then of 5 of 5 and 3 of 10: with a cluster for each outcome.
#[test]
fn where_a_group_agrees_a_difference_is_newcombes() {
    let independent = |from: usize, outcomes: &[(usize, bool)]| -> Vec<(usize, bool)> {
        let outcomes = outcomes.iter();
        let outcomes = outcomes.flat_map(|(count, outcome)| vec![*outcome; *count]);
        (from..).zip(outcomes).collect()
    };
    let both = clustered_difference_of_proportions(
        &independent(0, &[(8, true)]),
        &independent(100, &[(7, false)]),
    );
    let both = both.unwrap();
    close(both.value, 1.0);
    close(both.low.unwrap(), 0.3821161557805509);
    close(both.high.unwrap(), 1.0);
    // No clusters for Newcombe, but Student's t and the clustered error in the second share.
    let second = independent(100, &[(3, true), (7, false)]);
    let one = clustered_difference_of_proportions(&independent(0, &[(5, true)]), &second).unwrap();
    let share = clustered_proportion(&second).unwrap();
    let (below, above) = (0.6065671008171246_f64, share.high.unwrap() - 0.3);
    close(one.value, 0.7);
    close(one.low.unwrap(), 0.7 - below.hypot(above));
    close(one.high.unwrap(), 1.0 - share.low.unwrap());
}

#[test]
fn a_difference_that_the_data_cannot_bound_has_no_interval() {
    let one = [("a", true), ("a", false)];
    let estimate = clustered_difference_of_proportions(&one, &[("a", true), ("a", true)]).unwrap();
    assert_eq!((estimate.value, estimate.low), (-0.5, None));
    assert_eq!(clustered_difference_of_proportions(&one, &[]), None);
    let single = clustered_difference(&[("a", 1.0)], &[("b", 0.0)]).unwrap();
    assert_eq!((single.value, single.high), (1.0, None));
    assert_eq!(design_effect(&[("a", 1.0); 3], &[("b", 1.0); 3]), None);
}

// NormalIndPower().solve_power(proportion_effectsize(first, second), alpha=0.05, power=0.8), and
// with 0.5 for second and ratio=0. Those count the wrong direction too, which is below 1e-5 here.
#[test]
fn the_outcomes_that_a_difference_needs_are_those_of_statsmodels() {
    let near = |ours: Option<f64>, theirs: f64| {
        let ours = ours.unwrap();
        assert!((ours / theirs - 1.0).abs() < 1e-5, "{ours} is not {theirs}");
    };
    for (first, second, both, alone) in [
        (0.3, 0.2, 291.6886683175625, 46.34803943545949),
        (0.35, 0.3, 1375.6164890630364, 84.5439711823844),
        (0.1, 0.5, 18.255787268324625, 9.127893858403633),
        (0.0, 0.25, 14.314605076843073, 3.181023342059281),
    ] {
        near(outcomes_per_group(first, second), both);
        near(outcomes_per_group(second, first), both);
        near(choices_to_tell(first), alone);
    }
    assert_eq!(outcomes_per_group(0.3, 0.3), None);
    assert_eq!(outcomes_per_group(0.3, 1.5), None);
    assert_eq!(choices_to_tell(0.5), None);
}

proptest! {
    #[test]
    fn strengths_explain_the_wins(
        wins in prop::collection::vec(prop::collection::vec(1_u8..30, 4), 4),
    ) {
        let mut list = Vec::new();
        for (i, row) in wins.iter().enumerate() {
            for (j, count) in row.iter().enumerate().filter(|(j, _)| *j != i) {
                list.push((i, j, f64::from(*count)));
            }
        }
        let strengths = bradley_terry(&list).unwrap();
        let sum: f64 = strengths.values().map(|strength| strength.value).sum();
        prop_assert!(sum.abs() < 1e-9);
        // At the maximum, the wins of each equal those that the strengths predict.
        for i in 0..4 {
            let (mut won, mut expected) = (0.0, 0.0);
            for j in (0..4).filter(|j| *j != i) {
                let both = f64::from(wins[i][j]) + f64::from(wins[j][i]);
                won += f64::from(wins[i][j]);
                let difference = strengths[&j].value - strengths[&i].value;
                expected += both / (1.0 + difference.exp());
            }
            prop_assert!((won - expected).abs() < 1e-6, "{won} is not {expected}");
        }
    }

    #[test]
    fn coefficients_are_symmetric_and_p_is_a_probability(
        pairs in prop::collection::vec((-5_i8..5, -5_i8..5), 2..7),
    ) {
        let pairs: Vec<(f64, f64)> =
            pairs.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).collect();
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        for coefficient in Coefficient::ALL {
            let value = coefficient.correlate(&pairs);
            prop_assert_eq!(value.is_some(), coefficient.correlate(&swapped).is_some());
            let Some(value) = value else { continue };
            prop_assert!((-1.0..=1.0).contains(&value));
            prop_assert!((value - coefficient.correlate(&swapped).unwrap()).abs() < 1e-12);
            let p = exact_permutation_p(coefficient, &pairs).unwrap();
            prop_assert!(p > 0.0 && p <= 1.0);
            prop_assert_eq!(p, exact_permutation_p(coefficient, &swapped).unwrap());
        }
    }

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

// r = Logit(y, add_constant(column_stack([x1, x2, x3]))).fit(cov_type="cluster",
//     cov_kwds={"groups": g}, tol=1e-14); r.params, r.bse
#[test]
fn the_logistic_regression_is_that_of_statsmodels() {
    let samples: Vec<LogisticSample<u64>> = (0..120_u64)
        .map(|i| {
            let x1 = (i * 37 % 101) as f64 / 101.0;
            let x2 = (i * i % 17) as f64 / 17.0;
            let x3 = f64::from(u8::from(i % 3 == 0));
            let chance = (i * 53 + 7) % 97;
            let p = 1.0 / (1.0 + (0.5 - 1.5 * x1 + x2 - 0.4 * x3).exp());
            (i % 11, vec![x1, x2, x3], (chance as f64 / 97.0) < p)
        })
        .collect();
    assert_eq!(samples.iter().filter(|(_, _, y)| *y).count(), 56);
    let fit = Logistic::fit(&samples).unwrap();
    let coefficients = [
        -0.2924787277556013,
        0.6976732760628049,
        -0.6316345059738947,
        0.3275609020210055,
    ];
    let errors = [
        1.0991491450284547,
        1.6347484530766743,
        0.8385178477995603,
        0.22448656702297323,
    ];
    for (ours, theirs) in fit.coefficients.iter().zip(coefficients) {
        close(*ours, theirs);
    }
    for (ours, theirs) in fit.errors.iter().zip(errors) {
        close(*ours, theirs);
    }
    // The score equation of the intercept: the mean probability is the share.
    let sum: f64 = samples.iter().map(|(_, x, _)| fit.probability(x)).sum();
    close(sum, 56.0);
}

#[test]
fn what_has_no_best_coefficients_is_refused() {
    let sample = |cluster: u8, x: f64, y: bool| (cluster, vec![x], y);
    let fault = |samples: &[LogisticSample<u8>]| Logistic::fit(samples).unwrap_err();
    assert_eq!(fault(&[]), LogisticError::Shape);
    let separated: Vec<_> = (0..20).map(|i| sample(i, f64::from(i), i >= 10)).collect();
    assert_eq!(fault(&separated), LogisticError::Separated);
    let alike: Vec<_> = (0..20).map(|i| sample(i, f64::from(i), true)).collect();
    assert_eq!(fault(&alike), LogisticError::Separated);
    let constant: Vec<_> = (0..20).map(|i| sample(i, 2.0, i % 2 == 0)).collect();
    let follows = |feature: usize, from: &[usize]| LogisticError::Collinear {
        feature,
        from: from.to_vec(),
    };
    assert_eq!(fault(&constant), follows(0, &[]));
    let twice: Vec<_> = (0..40)
        .map(|i| {
            let x = f64::from(i % 7);
            (i, vec![f64::from(i % 5), x, 3.0 - 2.0 * x], i % 3 == 0)
        })
        .collect();
    assert_eq!(fault(&twice), follows(2, &[1]));
    let one: Vec<_> = (0..20)
        .map(|i| sample(0, f64::from(i % 7), i % 2 == 0))
        .collect();
    assert_eq!(fault(&one), LogisticError::OneCluster);
    let mut shapes = separated.clone();
    shapes[3].1.clear();
    assert_eq!(fault(&shapes), LogisticError::Shape);
}
