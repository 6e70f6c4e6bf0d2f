//! Power of a study with a given number of versions and measurement error.

use fillrate_metrics::{
    CONFIDENCE, CorrelationTest, Estimate, MOST_EXACT, chi_squared_quantile, correlation_power,
};
use serde::Serialize;

use super::input::StudyOptions;

/// Power of a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyDesign {
    /// Number of versions.
    pub versions: usize,
    /// The least two-sided p that Pearson's r of that number can have: 1/n! if all permutations are
    /// evaluated, otherwise 1 / (1 + those drawn).
    pub least_p: f64,
    /// Observed correlation for a true one of 1, on average over many versions: √(reliability ×
    /// reliability). `None` if the errors are unknown; then powers are upper bounds, those of
    /// figures without error.
    pub seen_of_one: Option<f64>,
    /// Probability of finding a true correlation.
    pub power: Vec<PowerAt>,
    /// The least true correlation that it finds with probability .8; `None` if none up to 1.
    pub least_found: Option<f64>,
    /// Number of versions that finds a true correlation with probability .8.
    pub needed: Vec<VersionsNeeded>,
}

/// Permutations drawn if there are too many to evaluate all.
pub(super) const PERMUTATIONS: u32 = 99_999;

/// The power that counts as enough.
pub(super) const ENOUGH_POWER: f64 = 0.8;

/// The true correlations to give powers for.
const TRUE_R: [f64; 4] = [0.5, 0.7, 0.8, 0.9];

/// The largest number of versions to consider.
const MOST_VERSIONS: usize = 400;

/// The most versions for which all permutations of every simulated study are evaluated.
const MOST_PERMUTED: usize = 6;

/// Probability of finding a true correlation at the 5 % level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerAt {
    /// The true correlation, without measurement error.
    pub true_r: f64,
    /// By Student's t: holds where figures are normally distributed.
    pub student: Estimate,
    /// By all permutations, for at most 6 versions.
    pub permutation: Option<Estimate>,
}

/// Number of versions that are needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VersionsNeeded {
    /// The true correlation.
    pub true_r: f64,
    /// Versions, each measured as well as these; `None` for more than 400.
    pub versions: Option<usize>,
    /// The lower end of the 95 % range of `versions`, as the reliabilities are estimated from few
    /// versions themselves; `None` if they are unknown.
    pub low: Option<usize>,
    /// The upper end; `None` if the reliabilities are unknown, or for more than 400.
    pub high: Option<usize>,
    /// Versions measured without error: more holes and more shown completions can save at most the
    /// difference.
    pub without_error: Option<usize>,
}

impl StudyDesign {
    /// The design of the given number of versions, whose figures have these reliabilities on the
    /// two sides, if known. `None` for fewer than three versions.
    pub(super) fn new(
        versions: usize,
        reliabilities: Option<[f64; 2]>,
        options: &StudyOptions,
    ) -> Option<Self> {
        if versions < 3 {
            return None;
        }
        let seen_of_one = reliabilities.map(|[one, other]| (one * other).sqrt());
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
        let enough = |true_r: f64, seen_of_one: f64| {
            fewest(|versions| by_student(true_r * seen_of_one, versions) >= ENOUGH_POWER)
        };
        let range = reliabilities.and_then(|both| seen_of_one_range(both, versions));
        let needed = |true_r: f64| VersionsNeeded {
            true_r,
            versions: enough(true_r, attenuation),
            low: range.and_then(|(_, most)| enough(true_r, most)),
            high: range.and_then(|(least, _)| enough(true_r, least)),
            without_error: enough(true_r, 1.0),
        };
        Some(Self {
            versions,
            least_p: match versions {
                0..=MOST_EXACT => 1.0 / (1..=versions).map(|i| i as f64).product::<f64>(),
                _ => 1.0 / (f64::from(PERMUTATIONS) + 1.0),
            },
            seen_of_one,
            power: TRUE_R.into_iter().filter_map(at).collect(),
            // `least` returns the observed r; dividing by the attenuation gives the true one.
            least_found: least(|r| by_student(r, versions) >= ENOUGH_POWER)
                .map(|seen| seen / attenuation)
                .filter(|r| *r <= 1.0),
            needed: TRUE_R.into_iter().map(needed).collect(),
        })
    }
}

/// The 95 % range of what a true correlation of 1 appears as: the variance between versions, of
/// which the error is a known part, follows a χ² distribution with one degree of freedom less than
/// versions.
fn seen_of_one_range(reliabilities: [f64; 2], versions: usize) -> Option<(f64, f64)> {
    let freedom = versions as f64 - 1.0;
    let at = |p: f64| {
        let ratio = chi_squared_quantile(p, freedom)? / freedom;
        let [one, other] =
            reliabilities.map(|reliability| (1.0 - (1.0 - reliability) * ratio).max(0.0));
        Some((one * other).sqrt())
    };
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // More error means a smaller observed r, so the upper tail gives the lower bound.
    at(1.0 - tail).zip(at(tail))
}

/// The fewest versions that are enough, where more are better.
fn fewest(enough: impl Fn(usize) -> bool) -> Option<usize> {
    // Each test simulates many studies: doubling and bisecting needs few of them.
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
    // Eight halvings leave an interval of 1/256.
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
