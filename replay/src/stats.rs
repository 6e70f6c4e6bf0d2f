//! Intervals, paired tests, correlations, strengths and logistic regression: pure functions on numbers.
//!
//! All intervals are at [`CONFIDENCE`]. A bound that the data cannot support is absent rather
//! than guessed.

mod bootstrap;
mod bradley_terry;
mod clustered;
mod correlation;
mod difference;
mod latent;
mod logistic;
mod multiple;
mod order;
mod power;
mod proportion;

pub use bootstrap::{Bootstrap, Cluster, Sampled, Version, two_level_bootstrap};
pub use bradley_terry::bradley_terry;
pub use clustered::{
    clustered_mean, clustered_proportion, clustered_standard_error, clustered_weighted_mean,
    paired_difference,
};
pub use correlation::{
    Coefficient, CorrelationTest, MOST_EXACT, SignAgreement, attenuation_corrected,
    correlation_power, exact_permutation_p, permutation_p_by_draws, reliability, sign_agreement,
};
pub use difference::{clustered_difference, clustered_difference_of_proportions, design_effect};
pub use latent::{bootstrap_coverage, latent_correlation, pearson_interval};
pub use logistic::{Logistic, LogisticFault, LogisticSample};
pub use multiple::holm;
pub use order::{median, quantile};
pub use power::{POWER, choices_to_tell, outcomes_per_group};
pub use proportion::{mcnemar_exact, wilson};

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability with which an interval's method covers the true value.
pub const CONFIDENCE: f64 = 0.95;

/// The probability that the true value lies beyond one bound.
const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;

/// A figure, how sure it is, and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure, in the unit of the samples.
    pub value: f64,
    /// The lower end of the interval at [`CONFIDENCE`]; `None` where the data support none.
    pub low: Option<f64>,
    /// The upper end, likewise.
    pub high: Option<f64>,
    /// How many samples the figure rests on. A report never prints one without the other.
    pub n: usize,
}

impl Estimate {
    /// The same with its interval cut to the range of the samples, of which Student's interval
    /// does not know.
    #[must_use]
    pub fn within(self, range: RangeInclusive<f64>) -> Self {
        Self {
            low: self.low.map(|low| low.max(*range.start())),
            high: self.high.map(|high| high.min(*range.end())),
            ..self
        }
    }
}

/// The quantile of Student's t distribution: what a variable with so many degrees of freedom
/// stays below with probability `p`. `None` unless `p` lies between 0 and 1, exclusive, and the
/// degrees of freedom are above 0.
pub fn student_quantile(p: f64, degrees_of_freedom: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    Some(student.inverse_cdf(p))
}

#[cfg(test)]
mod tests;
