//! Plans a study: simulates how many versions, holes and shown completions it takes to find an
//! effect.

use comfy_table::Cell;
use fillrate_metrics::{Coefficient, Estimate, exact_permutation_p, student_quantile, wilson};
use fillrate_report::table::{TextTable, TextWidth, right};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::format::{self, decimals};

/// The version of the JSON form.
pub const SCHEMA: u32 = 1;

/// The assumptions about the versions and their samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanAssumptions {
    /// The true correlation between the versions' pass rates and acceptance rates, −1 to 1.
    pub true_r: f64,
    /// The mean pass rate, 0 to 1.
    pub pass_rate: f64,
    /// The standard deviation of true pass rates between versions.
    pub pass_spread: f64,
    /// The mean acceptance rate.
    pub acceptance: f64,
    /// The standard deviation of true acceptance rates between versions.
    pub acceptance_spread: f64,
    /// The clusters of holes.
    pub holes: Clustering,
    /// The clusters of shown completions.
    pub shown: Clustering,
    /// The correlation between the verdicts of two versions on one hole, 0 to 1: an effect that all
    /// versions share is not an error between them. 0 is conservative.
    pub same_holes: f64,
}

/// The clusters that samples come in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clustering {
    /// The mean number of samples in a cluster, at least 1.
    pub size: f64,
    /// The correlation of two samples of one cluster, 0 to 1.
    pub correlation: f64,
}

impl Clustering {
    /// The effective sample size: n / (1 + (size − 1) · correlation) (Kish 1965).
    fn effective_size(self, samples: usize) -> f64 {
        samples as f64 / (1.0 + (self.size - 1.0).max(0.0) * self.correlation)
    }
}

/// The size of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StudySize {
    /// Model versions.
    pub versions: usize,
    /// Holes for each version.
    pub holes: usize,
    /// Completions shown for each version.
    pub shown: usize,
}

/// The expected results of a study of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpectedStudy {
    /// The size.
    pub size: StudySize,
    /// The median r over simulated studies.
    pub median_r: f64,
    /// The 5 % quantile of r.
    pub low_r: f64,
    /// The 95 % quantile of r.
    pub high_r: f64,
    /// The share of studies that find it at the 5 % level by Student's t, with the simulation
    /// error.
    pub student: Estimate,
    /// The share that finds it by all permutations, as `fillrate study` does, for at most 7
    /// versions.
    pub permutation: Option<Estimate>,
}

/// The most versions for which all permutations of each study are evaluated.
const MOST_PERMUTED: usize = 7;

/// Reason for which assumptions are invalid.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    /// A number is out of its range.
    #[error("{what} must be from {low} to {high}, not {value}")]
    Range {
        /// The assumption.
        what: &'static str,
        /// The least it may be.
        low: f64,
        /// The most.
        high: f64,
        /// Its value.
        value: f64,
    },
}

impl PlanAssumptions {
    /// Checks the range of every number.
    ///
    /// # Errors
    /// A number is out of its range.
    pub fn checked(self) -> Result<Self, PlanError> {
        let most = f64::INFINITY;
        for (what, value, low, high) in [
            ("the true r", self.true_r, -1.0, 1.0),
            ("the mean pass rate", self.pass_rate, 0.0, 1.0),
            ("the spread of pass rates", self.pass_spread, 0.0, 0.5),
            ("the mean acceptance rate", self.acceptance, 0.0, 1.0),
            (
                "the spread of acceptance rates",
                self.acceptance_spread,
                0.0,
                0.5,
            ),
            ("holes in a cluster", self.holes.size, 1.0, most),
            ("completions in a cluster", self.shown.size, 1.0, most),
            ("the correlation of holes", self.holes.correlation, 0.0, 1.0),
            (
                "the correlation of completions",
                self.shown.correlation,
                0.0,
                1.0,
            ),
            (
                "the correlation of verdicts on one hole",
                self.same_holes,
                0.0,
                1.0,
            ),
        ] {
            if !(low..=high).contains(&value) {
                return Err(PlanError::Range {
                    what,
                    low,
                    high,
                    value,
                });
            }
        }
        Ok(self)
    }

    /// Simulates studies of a size. Equal seeds give equal values. `None` for fewer than three
    /// versions, or without holes, completions or studies.
    pub fn simulate(&self, size: StudySize, studies: usize, seed: u64) -> Option<ExpectedStudy> {
        if size.versions < 3 || size.holes == 0 || size.shown == 0 || studies == 0 {
            return None;
        }
        let freedom = (size.versions - 2) as f64;
        let student = student_quantile(0.975, freedom)?;
        // Student's t for r is r √(freedom / (1 − r²)), solved here for r.
        let critical = student / (freedom + student * student).sqrt();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (holes, shown) = (
            self.holes.effective_size(size.holes),
            self.shown.effective_size(size.shown),
        );
        let (mut found, mut found_exactly) = (0, 0);
        let mut seen = Vec::with_capacity(studies);
        for _ in 0..studies {
            let pairs: Vec<(f64, f64)> = (0..size.versions)
                .map(|_| {
                    let first = normal(&mut random);
                    let other = normal(&mut random);
                    // Two standard normal numbers with the correlation `true_r`.
                    let second = self.true_r * first + (1.0 - self.true_r.powi(2)).sqrt() * other;
                    let rate =
                        |mean: f64, spread: f64, at: f64| (mean + spread * at).clamp(0.0, 1.0);
                    let passing = rate(self.pass_rate, self.pass_spread, first);
                    let accepting = rate(self.acceptance, self.acceptance_spread, second);
                    // All versions share a part of the error on the same holes, which does not
                    // separate them.
                    let own = (1.0 - self.same_holes).sqrt();
                    let passed = draw_rate(passing, holes, &mut random);
                    (
                        passing + own * (passed - passing),
                        draw_rate(accepting, shown, &mut random),
                    )
                })
                .collect();
            // Without a correlation, a study finds nothing.
            let Some(r) = Coefficient::Pearson.correlate(&pairs) else {
                seen.push(0.0);
                continue;
            };
            seen.push(r);
            found += usize::from(r.abs() > critical);
            if size.versions <= MOST_PERMUTED {
                let p = exact_permutation_p(Coefficient::Pearson, &pairs);
                found_exactly += usize::from(p.is_some_and(|p| p <= 0.05));
            }
        }
        let quantile = |p: f64| Some(fillrate_metrics::quantile(&seen, p)?.value);
        Some(ExpectedStudy {
            size,
            median_r: quantile(0.5)?,
            low_r: quantile(0.05)?,
            high_r: quantile(0.95)?,
            student: wilson(found, studies)?,
            permutation: (size.versions <= MOST_PERMUTED)
                .then(|| wilson(found_exactly, studies))
                .flatten(),
        })
    }
}

/// A plan as a table. `power` is the share of studies that must find the effect.
pub fn table(
    assumptions: &PlanAssumptions,
    expected: &[ExpectedStudy],
    power: f64,
    width: TextWidth,
) -> String {
    let mut table = TextTable::new([
        "versions",
        "holes",
        "shown",
        "median r",
        "90 % of studies",
        "found, Student's t",
        "found, permutation",
        "",
    ]);
    for one in expected {
        table.add_row(vec![
            right(one.size.versions.to_string()),
            right(one.size.holes.to_string()),
            right(one.size.shown.to_string()),
            right(decimals(one.median_r, 2)),
            right(format!(
                "{} to {}",
                decimals(one.low_r, 2),
                decimals(one.high_r, 2)
            )),
            right(format::of_studies(&one.student)),
            right(
                one.permutation
                    .as_ref()
                    .map_or_else(|| "–".to_owned(), format::of_studies),
            ),
            Cell::new(if one.is_enough(power) { "enough" } else { "" }),
        ]);
    }
    let table = table.render(width);
    let percent = |value: f64| format!("{:.1} %", value * 100.0);
    let studies = expected.first().map_or(0, |one| one.student.n);
    // A version costs a training or at least a deployment, a sample only computing time.
    let fewest = expected
        .iter()
        .filter(|one| one.is_enough(power))
        .min_by_key(|one| (one.size.versions, one.size.holes, one.size.shown));
    let conclusion = match fewest {
        Some(one) => format!(
            "The fewest versions of these that are enough: {} with {} holes and {} shown \
             completions each.",
            one.size.versions, one.size.holes, one.size.shown
        ),
        None => "None of these is enough.".to_owned(),
    };
    format!(
        "{table}\nFound: the share of {studies} simulated studies that find a true r of {} at the \
         5 % level, and in brackets\nthe 95 % interval of the simulation. Enough: that interval lies at \
         {} or above,\nby permutation if available.\nPass rates {} on \
         average, {} apart between versions (standard deviation); acceptance {}, {} apart.\n{} \
         holes a cluster, correlated by {}; {} completions a cluster, correlated by {}; verdicts on \
         one hole\ncorrelated by {} between versions.\n{conclusion}\n",
        decimals(assumptions.true_r, 2),
        percent(power),
        percent(assumptions.pass_rate),
        percent(assumptions.pass_spread),
        percent(assumptions.acceptance),
        percent(assumptions.acceptance_spread),
        assumptions.holes.size,
        assumptions.holes.correlation,
        assumptions.shown.size,
        assumptions.shown.correlation,
        assumptions.same_holes,
    )
}

impl ExpectedStudy {
    /// True if the share of studies that find it is at least this power, with its interval.
    fn is_enough(&self, power: f64) -> bool {
        // The test that `fillrate study` makes decides; Student's t stands in for many versions.
        let found = self.permutation.unwrap_or(self.student);
        found.low.is_some_and(|low| low >= power)
    }
}

/// Draws the rate of `outcomes` independent outcomes, by the normal distribution if there are many.
fn draw_rate(rate: f64, outcomes: f64, random: &mut ChaCha8Rng) -> f64 {
    let variance = outcomes * rate * (1.0 - rate);
    // The binomial distribution is nearly normal then, and one number replaces many.
    if variance > 25.0 {
        let drawn = rate + (variance.sqrt() / outcomes) * normal(random);
        return drawn.clamp(0.0, 1.0);
    }
    let outcomes = (outcomes.round() as usize).max(1);
    let yes = (0..outcomes).filter(|_| random.random::<f64>() < rate);
    yes.count() as f64 / outcomes as f64
}

/// A number from the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    // Above 0, so that its logarithm is finite.
    let radius = 1.0 - random.random::<f64>();
    let angle = std::f64::consts::TAU * random.random::<f64>();
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}
