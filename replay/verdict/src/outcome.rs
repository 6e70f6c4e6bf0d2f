//! Verdicts and their parts.

use serde::{Deserialize, Serialize};

/// The result of running tests on a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason for the outcome, in a sentence.
    pub reason: String,
    /// Failed tests among those that ran: the first failure ends a run.
    pub failed: Vec<String>,
    /// Evidence that a pass needs and the run did not give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Evidence>,
    /// Evidence that the project's test runner can't give and that is not required: a pass without
    /// it proves less.
    #[serde(default, rename = "unchecked", skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Evidence>,
    /// The ids of the tests that also ran as twins, which failed as they must.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<String>,
    /// The proof of a pass; `None` for other outcomes, and for code that this program wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The ids of deciding tests of a pass that ran as no twin with an altered expectation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
    /// Number of tests that ran.
    pub executed: usize,
    /// True if failed tests were rerun because the change can hardly have caused the failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rerun: bool,
    /// Wall-clock seconds of all runs together.
    pub seconds: f64,
    /// Wall-clock seconds of the runs among twins, a part of `seconds`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub twin_seconds: f64,
    /// The isolation reached, e.g. `full/cgroup-v1`.
    pub sandbox: String,
    /// The end of the tests' output, and the messages of those that failed.
    pub output: String,
    /// The TypeScript errors that the change adds, where they were requested. They do not affect
    /// the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypeCheck>,
}

impl Verdict {
    /// A verdict with only an outcome.
    pub fn from_outcome(outcome: Outcome) -> Self {
        Self {
            outcome,
            reason: String::new(),
            failed: Vec::new(),
            missing: Vec::new(),
            unavailable: Vec::new(),
            twins: Vec::new(),
            proof: None,
            unproven: Vec::new(),
            executed: 0,
            rerun: false,
            seconds: 0.0,
            twin_seconds: 0.0,
            sandbox: String::new(),
            output: String::new(),
            types: None,
        }
    }

    /// The verdict on an infrastructure failure.
    pub fn infrastructure(reason: &dyn std::fmt::Display) -> Self {
        Self {
            reason: reason.to_string(),
            ..Self::from_outcome(Outcome::Infrastructure)
        }
    }

    /// Returns true if all tests ran, none failed, and evidence is missing.
    pub(super) fn may_be_forged(&self) -> bool {
        let tests_ran = !self.missing.contains(&Evidence::Report)
            && !self.missing.contains(&Evidence::Executed);
        self.outcome == Outcome::Failed
            && self.failed.is_empty()
            && !self.missing.is_empty()
            && tests_ran
    }

    /// Adds the verdict on a further batch of tests, which replaces all but the sums.
    pub(super) fn add_batch(&mut self, batch: Self) {
        let (executed, seconds) = (self.executed + batch.executed, self.seconds + batch.seconds);
        *self = Self {
            executed,
            seconds,
            ..batch
        };
    }
}

/// Returns true if no twin ran.
fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// The outcome of judging a change.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
    /// Every expected test ran and passed.
    Passed,
    /// A test failed, or evidence is missing.
    Failed,
    /// A twin of a test passed although the reference fails it: the tests' results are forged.
    Forged,
    /// It passed with less proof than a report asks for. No verdict has this outcome.
    Unproven,
    /// The changed file's syntax tree has errors, and the tests fail; or the project does not compile
    /// with it, in a language whose tests are compiled.
    Syntax,
    /// The time limit ran out.
    Timeout,
    /// The memory limit was exceeded.
    Memory,
    /// Another limit of the sandbox was exceeded: processes, output.
    Sandbox,
    /// The infrastructure failed; the change is not judged.
    Infrastructure,
    /// The verdict depends on tests that are flaky, or that all fail without a change too.
    Flaky,
    /// The project has no tests that could judge the completion.
    Unjudged,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The names of all outcomes, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    /// The outcome's name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns true if it shows that the completion is right or wrong. Other outcomes are left out
    /// of a pass rate's denominator and counted separately.
    pub fn is_evidence(self) -> bool {
        !matches!(self, Self::Infrastructure | Self::Flaky | Self::Unjudged)
    }

    /// Returns true if an attempt with it is included in figures that need no verdict: text
    /// metrics, latency, acceptance and keystrokes. Other attempts are counted separately. A
    /// project without tests has these figures and no others.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::Infrastructure | Self::Flaky)
    }
}

/// Strength of the evidence that code which passes computes its answers.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
    strum::VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Proof {
    /// Every deciding test, or the most that a verdict draws, failed when an answer that it expects
    /// was altered.
    Altered,
    /// Some deciding tests did; the others did not run with an altered answer.
    Partial,
    /// No test ran with an altered answer; some failed when an assertion was inverted.
    Opposite,
    /// No twin of any test could be run.
    None,
}

impl Proof {
    /// All kinds, the strongest first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The name in records and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Evidence that a pass needs in addition to passing tests, in the order in which it is checked.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Evidence {
    /// A complete report.
    Report,
    /// No unsigned line in the report.
    Signature,
    /// Exactly the baseline's tests, executed.
    Executed,
    /// No newly skipped test.
    Skips,
    /// No errors outside the tests.
    Quiet,
    /// Every sentinel, a test that must fail, failed.
    Sentinels,
    /// The functions that decide over tests, unchanged after each test.
    Framework,
    /// At the end, no library function replaced, no import hook added, no thread left.
    Process,
    /// Tests, settings and other files unchanged, and no new ones that could replace them.
    Files,
    /// The exit status of a run in which only the sentinels fail.
    Status,
    /// Twins of the tests that decide, which the reference fails, failed.
    Twins,
}

impl Evidence {
    /// All kinds, in the order in which they are checked.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The name in records and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The type errors that a change adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCheck {
    /// In the changed file itself.
    pub own: TypeErrors,
    /// In the project's other files.
    pub others: TypeErrors,
}

impl TypeCheck {
    /// Returns true if the change adds no error anywhere.
    pub fn passes(&self) -> bool {
        self.own.count == 0 && self.others.count == 0
    }
}

/// Errors of the TypeScript checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeErrors {
    /// Number of errors.
    pub count: usize,
    /// The first of them, e.g. `TS2304: Cannot find name 'x'.`
    pub first: Vec<String>,
}
