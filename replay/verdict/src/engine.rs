//! The engines that produce verdicts.

use serde::{Deserialize, Serialize};

/// Method of producing verdicts. All engines give the same verdicts; the slow ones exist to prove
/// it.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::VariantArray,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// Forks a warm worker that has collected the unchanged project's tests, and puts the changed
    /// functions in place. Where a change is more than functions, forks one that has loaded
    /// everything outside the project, or runs tests on files that such a worker has transformed.
    /// Runs the tests that execute a changed line first. Where the framework supports none of this,
    /// starts every run from scratch, in Go and Java once a compiler that stays loaded has found no
    /// error.
    #[default]
    Warm,
    /// Selects tests the same way and starts every run from scratch.
    Cold,
    /// Copies the project, runs every test from scratch and caches nothing.
    Naive,
}

impl Engine {
    /// The engine's name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
