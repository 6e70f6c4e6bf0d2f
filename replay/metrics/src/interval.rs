//! Figures with intervals.

pub(crate) mod clustered;
#[cfg(test)]
mod coverage;
pub(crate) mod difference;
pub(crate) mod proportion;
pub(crate) mod quantile;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::distribution;

/// The probability with which an interval's method covers the true value.
pub const CONFIDENCE: f64 = 0.95;

/// The probability that the true value is beyond one bound.
pub(crate) const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;

/// A figure, its interval, and the number of samples behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure, in the unit of the samples.
    pub value: f64,
    /// The lower end of the interval at [`CONFIDENCE`]; `None` if the data support none.
    pub low: Option<f64>,
    /// The upper end, likewise.
    pub high: Option<f64>,
    /// The number of samples. A report never prints a figure without it.
    pub n: usize,
    /// The number of clusters that the samples come in; `None` if the interval takes them for
    /// independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
}

impl Estimate {
    /// The same difference seen from the other side: with the opposite sign, and the ends of its
    /// interval exchanged.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            value: -self.value,
            low: self.high.map(|high| -high),
            high: self.low.map(|low| -low),
            ..self
        }
    }
}

impl Estimate {
    /// Multiplies the value and its bounds.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low.map(|low| low * factor),
            high: self.high.map(|high| high * factor),
            ..self
        }
    }

    /// Clips the interval to the range of the samples, which Student's interval ignores.
    #[must_use]
    pub fn within(self, range: RangeInclusive<f64>) -> Self {
        Self {
            low: self.low.map(|low| low.max(*range.start())),
            high: self.high.map(|high| high.min(*range.end())),
            ..self
        }
    }
}

/// Returns the quantile of Student's t distribution: the value that a variable with these degrees
/// of freedom stays below with probability `p`. `None` unless `p` is between 0 and 1, exclusive,
/// and there is at least 1 degree of freedom.
pub fn student_quantile(p: f64, degrees_of_freedom: f64) -> Option<f64> {
    let defined = p > 0.0 && p < 1.0 && degrees_of_freedom >= 1.0 && degrees_of_freedom.is_finite();
    defined.then(|| distribution::student_quantile(p, degrees_of_freedom))
}

/// Returns the quantile of the χ² distribution: the value that a variable with these degrees of
/// freedom stays below with probability `p`. `None` unless `p` is between 0 and 1, exclusive, and
/// the degrees of freedom are above 0.
pub fn chi_squared_quantile(p: f64, degrees_of_freedom: f64) -> Option<f64> {
    let defined = p > 0.0 && p < 1.0 && degrees_of_freedom > 0.0 && degrees_of_freedom.is_finite();
    defined.then(|| distribution::chi_squared_quantile(p, degrees_of_freedom))
}
