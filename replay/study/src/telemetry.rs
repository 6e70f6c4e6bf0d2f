//! Figures of the telemetry of people's editors.
//!
//! Recorded completions become `impression`s, and impressions become the samples of each `variant`
//! of acceptance and retention, once. [`statistics`] estimates them by model, language or day, and
//! for a trial; [`online`] makes them the online side of a study, and [`shown_observations`] the
//! data of a policy.

mod impression;
mod observations;
pub mod online;
mod page;
pub mod statistics;
mod text;
mod trial;
mod variant;

pub use observations::{gate_observations, shown_observations};
pub use page::{PageUse, SCRIPT, SCRIPT_PATH};
pub use trial::{ArmDifference, TrialArm, TrialStatistics};

#[cfg(test)]
mod tests;
