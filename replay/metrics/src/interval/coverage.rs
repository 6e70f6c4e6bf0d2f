//! Simulated coverage of the intervals for clustered shares and paired differences.
//!
//! `cargo test --workspace --lib interval::coverage -- --nocapture` prints the tables of
//! `replay/docs/metrics.md`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::clustered::{clustered_mean, clustered_proportion, paired_difference};
use super::{CONFIDENCE, Estimate};

/// Simulated samples of each cell.
const STUDIES: usize = 2_000;

/// Holes of each sample, in files of unequal size.
const HOLES: usize = 50;

/// The least coverage of a cell: three standard errors of the simulation below the nominal one.
const LEAST: f64 = 0.935;

#[test]
fn shares_are_covered_at_their_level_near_0_too() {
    let mut random = ChaCha8Rng::seed_from_u64(19);
    println!("files  correlation  share  score interval  ± t errors");
    let mut short = 0;
    for files in [12, 18] {
        for correlation in [0.1, 0.2] {
            for share in [0.05, 0.1, 0.2, 0.35, 0.5] {
                let (mut score, mut wald) = (0, 0);
                for _ in 0..STUDIES {
                    let outcomes = draw_outcomes(files, share, correlation, &mut random);
                    let numbers: Vec<(usize, f64)> = outcomes
                        .iter()
                        .map(|(file, outcome)| (*file, f64::from(u8::from(*outcome))))
                        .collect();
                    score += usize::from(covers(clustered_proportion(&outcomes), share));
                    wald += usize::from(covers(clustered_mean(&numbers), share));
                }
                let [score, wald] = [score, wald].map(|count| count as f64 / STUDIES as f64);
                println!("{files:5}  {correlation:11.2}  {share:5.2}  {score:14.3}  {wald:10.3}");
                assert!(score >= LEAST, "{files} {correlation} {share}: {score}");
                short += usize::from(wald < LEAST);
            }
        }
    }
    assert!(short > 0, "the simulation finds no fault with ± t errors");
}

#[test]
fn differences_are_covered_at_their_level_if_few_holes_differ() {
    let mut random = ChaCha8Rng::seed_from_u64(23);
    println!("files  correlation  differing  for the first  score interval  ± t errors");
    let mut short = 0;
    for files in [12, 18] {
        for correlation in [0.1, 0.2] {
            for (differing, first) in [(0.02, 0.5), (0.05, 0.8), (0.1, 0.5), (0.3, 0.7)] {
                let truth = differing * (2.0 * first - 1.0);
                let (mut score, mut wald) = (0, 0);
                for _ in 0..STUDIES {
                    let pairs = draw_pairs(files, (differing, first), correlation, &mut random);
                    score += usize::from(covers(paired_difference(&pairs, 1.0), truth));
                    let unbounded = paired_difference(&pairs, f64::INFINITY);
                    wald += usize::from(covers(unbounded, truth));
                }
                let [score, wald] = [score, wald].map(|count| count as f64 / STUDIES as f64);
                println!(
                    "{files:5}  {correlation:11.2}  {differing:9.2}  {first:13.2}  {score:14.3}  \
                     {wald:10.3}"
                );
                assert!(score >= LEAST, "{files} {correlation} {differing}: {score}");
                short += usize::from(wald < LEAST);
            }
        }
    }
    assert!(short > 0, "the simulation finds no fault with ± t errors");
}

fn covers(estimate: Option<Estimate>, truth: f64) -> bool {
    assert!((CONFIDENCE - 0.95).abs() < 1e-12);
    let bounds = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
    bounds.is_some_and(|(low, high)| low < high && low <= truth && truth <= high)
}

/// The file of each hole. Larger files have more holes; every file has one.
fn draw_files(files: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let more = (files..HOLES).map(|_| {
        let at = random.random::<f64>();
        ((at * at * files as f64) as usize).min(files - 1)
    });
    (0..files).chain(more.collect::<Vec<_>>()).collect()
}

/// Outcomes whose share in each file has a beta distribution.
fn draw_outcomes(
    files: usize,
    share: f64,
    correlation: f64,
    random: &mut ChaCha8Rng,
) -> Vec<(usize, bool)> {
    let shares: Vec<f64> = (0..files)
        .map(|_| draw_beta(share, correlation, random))
        .collect();
    let holes = draw_files(files, random);
    let outcomes = holes
        .into_iter()
        .map(|file| (file, random.random::<f64>() < shares[file]));
    outcomes.collect()
}

/// Pairs of outcomes: in each file a share of them differs, and of those a share is for the first.
fn draw_pairs(
    files: usize,
    (differing, first): (f64, f64),
    correlation: f64,
    random: &mut ChaCha8Rng,
) -> Vec<(usize, f64, f64)> {
    let shares: Vec<(f64, f64)> = (0..files)
        .map(|_| {
            let differing = draw_beta(differing, correlation, random);
            (differing, draw_beta(first, correlation, random))
        })
        .collect();
    let holes = draw_files(files, random);
    let pairs = holes.into_iter().map(|file| {
        let (differing, first) = shares[file];
        if random.random::<f64>() >= differing {
            return (file, 1.0, 1.0);
        }
        match random.random::<f64>() < first {
            true => (file, 1.0, 0.0),
            false => (file, 0.0, 1.0),
        }
    });
    pairs.collect()
}

/// A number from the beta distribution with this mean, in which two outcomes have this correlation.
fn draw_beta(mean: f64, correlation: f64, random: &mut ChaCha8Rng) -> f64 {
    let size = (1.0 - correlation) / correlation;
    let one = draw_gamma(mean * size, random);
    let other = draw_gamma((1.0 - mean) * size, random);
    one / (one + other)
}

/// A number from the gamma distribution (Marsaglia and Tsang 2000,
/// <https://doi.org/10.1145/358407.358414>).
fn draw_gamma(shape: f64, random: &mut ChaCha8Rng) -> f64 {
    if shape < 1.0 {
        let power = (1.0 - random.random::<f64>()).powf(1.0 / shape);
        // Above 0, so that two of them have a ratio.
        return (draw_gamma(shape + 1.0, random) * power).max(f64::MIN_POSITIVE);
    }
    let third = shape - 1.0 / 3.0;
    let scale = 1.0 / (9.0 * third).sqrt();
    loop {
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.random::<f64>()).cos();
        let cube = (1.0 + scale * normal).powi(3);
        if cube <= 0.0 {
            continue;
        }
        let bound = normal * normal / 2.0 + third * (1.0 - cube + cube.ln());
        if (1.0 - random.random::<f64>()).ln() < bound {
            return third * cube;
        }
    }
}
