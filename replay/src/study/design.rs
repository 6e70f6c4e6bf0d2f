//! What a study of so many versions, measured so well, can show.

use fillrate_metrics::{CorrelationTest, Estimate, correlation_power};
use serde::Serialize;

use super::Options;

/// What a design can show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Design {
    /// How many versions there are.
    pub versions: usize,
    /// The least two-sided p that Pearson's r of so many can have: 1/n!.
    pub least_p: f64,
    /// What a true correlation of 1 would be seen as, on average over many versions:
    /// √(reliability of the one side × of the other). `None` where the errors are not known, and
    /// then powers are those of figures without error: at most.
    pub seen_of_one: Option<f64>,
    /// How often such a study finds true correlations.
    pub power: Vec<PowerAt>,
    /// The least true correlation that it finds with probability .8; `None` where it would
    /// have to be above 1.
    pub least_found: Option<f64>,
    /// How many versions would find a true correlation with probability .8.
    pub needed: Vec<Needed>,
}

/// The power that is called enough.
pub(super) const ENOUGH: f64 = 0.8;

/// True correlations that are asked about.
const TRUE_R: [f64; 4] = [0.5, 0.7, 0.8, 0.9];

/// The most versions that are asked about.
const MOST_VERSIONS: usize = 400;

/// The most versions for which all permutations of every simulated study are looked at.
const MOST_PERMUTED: usize = 6;

/// How often a true correlation is found at the 5 % level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerAt {
    /// The true correlation, without the error of measuring.
    pub true_r: f64,
    /// By Student's t: holds where figures are normally distributed.
    pub student: Estimate,
    /// By all permutations, for at most 6 versions.
    pub permutation: Option<Estimate>,
}

/// How many versions are needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Needed {
    /// The true correlation.
    pub true_r: f64,
    /// Versions, each measured as well as these; `None` for more than 400.
    pub versions: Option<usize>,
    /// Versions, were they measured without error: more holes and more completions shown can
    /// save no more than the difference.
    pub without_error: Option<usize>,
}

impl Design {
    /// The design of so many versions. `seen_of_one` is √(reliability × reliability), where known.
    /// `None` for fewer than three versions.
    pub(super) fn of(versions: usize, seen_of_one: Option<f64>, options: &Options) -> Option<Self> {
        if versions < 3 {
            return None;
        }
        let attenuation = seen_of_one.unwrap_or(1.0);
        let power = |r: f64, versions: usize, test| {
            correlation_power(r, versions, test, options.simulations, options.seed)
        };
        let by_student = |r: f64, versions: usize| {
            power(r, versions, CorrelationTest::Student).map_or(0.0, |power| power.value)
        };
        let at = |true_r: f64| {
            Some(PowerAt {
                true_r,
                student: power(true_r * attenuation, versions, CorrelationTest::Student)?,
                permutation: (versions <= MOST_PERMUTED)
                    .then(|| power(true_r * attenuation, versions, CorrelationTest::Permutation))
                    .flatten(),
            })
        };
        let needed = |true_r: f64| Needed {
            true_r,
            versions: fewest(|versions| by_student(true_r * attenuation, versions) >= ENOUGH),
            without_error: fewest(|versions| by_student(true_r, versions) >= ENOUGH),
        };
        Some(Self {
            versions,
            least_p: 1.0 / (1..=versions).map(|i| i as f64).product::<f64>(),
            seen_of_one,
            power: TRUE_R.into_iter().filter_map(at).collect(),
            least_found: least(|r| by_student(r, versions) >= ENOUGH)
                .map(|seen| seen / attenuation)
                .filter(|r| *r <= 1.0),
            needed: TRUE_R.into_iter().map(needed).collect(),
        })
    }
}

/// The fewest versions that are enough, where more are better.
fn fewest(enough: impl Fn(usize) -> bool) -> Option<usize> {
    let mut more = 4;
    if enough(3) {
        return Some(3);
    }
    let mut fewer = 3;
    while !enough(more) {
        if more >= MOST_VERSIONS {
            return None;
        }
        fewer = more;
        more = (more * 2).min(MOST_VERSIONS);
    }
    while more - fewer > 1 {
        let middle = fewer.midpoint(more);
        if enough(middle) {
            more = middle;
        } else {
            fewer = middle;
        }
    }
    Some(more)
}

/// The least correlation that is enough, to two digits, where stronger ones are better.
fn least(enough: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut weak, mut strong) = (0.0, 1.0);
    if !enough(0.9999) {
        return None;
    }
    for _ in 0..8 {
        let middle = f64::midpoint(weak, strong);
        if enough(middle) {
            strong = middle;
        } else {
            weak = middle;
        }
    }
    Some(strong)
}
