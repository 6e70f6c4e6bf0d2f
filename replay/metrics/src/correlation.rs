//! Association between two figures of the same models, few models at a time.

pub(crate) mod bootstrap;
pub(crate) mod coefficient;
mod covariance;
#[cfg(test)]
mod decision_tests;
pub(crate) mod latent;
pub(crate) mod prediction;
pub(crate) mod selection;
