//! Intervals and paired tests: pure functions on numbers.
//!
//! All intervals are at [`CONFIDENCE`]. A bound that the data cannot support is absent rather
//! than guessed.

mod clustered;
mod order;
mod proportion;

pub use clustered::{
    clustered_mean, clustered_proportion, clustered_standard_error, paired_difference,
};
pub use order::{median, quantile};
pub use proportion::{mcnemar_exact, wilson};

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests;
