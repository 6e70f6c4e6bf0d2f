//! Policies by which a simulated developer accepts completions: pure functions, each with a name
//! and a version.
//!
//! The policies are those of the table in the evaluator's reference page. Each may have the rule
//! `latency`, written `NAME+latency`: what comes later than the developer's pause is not seen.
//! Without it the developer waits for every answer before the next key.

use std::fmt;

use fillrate_metrics::{first_line, first_token, oracle_prefix};
use fillrate_syntax::text::LineIndex;
use serde::{Deserialize, Serialize};

/// A developer's rule, and whether a late answer is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The rule.
    pub rule: Rule,
    /// True if the developer types on and does not see what comes later than the next key.
    pub latency: bool,
}

/// Rule by which completions are accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Everything that is shown.
    AcceptAll,
    /// The longest candidate that is a prefix of what remains to be typed and ends at a token's
    /// end: see [`oracle_prefix`].
    OraclePrefix,
    /// Completions that begin with the right token.
    FirstToken,
    /// Completions that begin with the right line.
    Line,
    /// By a probability that was fitted to what people did.
    Probabilistic(Box<FittedPolicy>),
}

/// A completion on display, with the text that the developer was about to type.
#[derive(Clone, Copy, Debug)]
pub struct DisplayedCompletion<'a> {
    /// Text that remains to be typed.
    pub remaining: &'a str,
    /// Candidates that the server offered, best first; the first is on display.
    pub candidates: &'a [String],
    /// From the request to the answer, in milliseconds.
    pub latency_ms: f64,
    /// Position of the cursor in its line.
    pub place: LinePosition,
}

/// The kind of place a completion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinePosition {
    /// There is text after the cursor in its line.
    MidLine,
    /// There is text before the cursor in its line, and none after it.
    LineEnd,
    /// The cursor's line is blank.
    NewBlock,
}

/// The version of a policy file's format.
pub const SCHEMA: u32 = 1;

/// A policy that `fillrate fit` wrote: the probability of an accept, by logistic regression on
/// what is known both online and in a replay.
///
/// The file is TOML. Its coefficients are of [`Feature`]s as they are, not standardised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedPolicy {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// The policy's name in figures.
    pub name: String,
    /// True if the accepts were no person's: then no figure of it says anything of people.
    pub simulated: bool,
    /// Data that it was fitted to.
    pub data: FittedData,
    /// Calibration on data that it was not fitted to.
    pub calibration: Calibration,
    /// The log odds where every feature is 0.
    pub intercept: PolicyCoefficient,
    /// Addend of each feature to the log odds.
    pub coefficients: Vec<FeatureCoefficient>,
}

/// Data that a policy was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedData {
    /// SHA-256 of the completions' records, in hexadecimal digits.
    pub sha256: String,
    /// Completions that were shown.
    pub shown: usize,
    /// Those of them that were accepted.
    pub accepted: usize,
    /// Sessions they were shown in.
    pub sessions: usize,
    /// The first day, as `YYYY-MM-DD`, in UTC.
    pub first_day: String,
    /// The last day, likewise.
    pub last_day: String,
    /// The program that fitted it.
    pub program: String,
}

/// Calibration of a fitted policy, by cross-validation with folds of whole sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Folds.
    pub folds: usize,
    /// The mean squared error of the probability: Brier 1950.
    pub brier: f64,
    /// Its standard error, clustered by session.
    pub brier_se: Option<f64>,
    /// The same of a constant prediction: the training folds' share of accepts.
    pub brier_of_the_rate_alone: f64,
    /// The expected calibration error over ten bins of equal width.
    pub expected_calibration_error: f64,
}

/// A number with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyCoefficient {
    /// The number.
    pub value: f64,
    /// Its standard error, clustered by session.
    pub se: f64,
}

/// Addend of a feature to the log odds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureCoefficient {
    /// Of what.
    pub feature: Feature,
    /// The number.
    pub value: f64,
    /// Its standard error, clustered by session.
    pub se: f64,
}

/// Features of a shown completion that are known both online and in a replay, in the order of
/// coefficients.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Feature {
    /// The natural logarithm of its characters.
    LogCharacters,
    /// The natural logarithm of its lines.
    LogLines,
    /// The natural logarithm of 1 + the milliseconds from the request to the answer.
    LogLatency,
    /// 1 where the cursor is at the end of a line that is not blank.
    AtLineEnd,
    /// 1 where the cursor's line is blank.
    AtNewBlock,
}

impl Feature {
    /// The name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its value at a completion with the given numbers of characters and lines.
    pub fn value(
        self,
        characters: usize,
        lines: usize,
        latency_ms: f64,
        place: LinePosition,
    ) -> f64 {
        let yes = |holds: bool| f64::from(u8::from(holds));
        match self {
            Self::LogCharacters => (characters.max(1) as f64).ln(),
            Self::LogLines => (lines.max(1) as f64).ln(),
            Self::LogLatency => latency_ms.max(0.0).ln_1p(),
            Self::AtLineEnd => yes(place == LinePosition::LineEnd),
            Self::AtNewBlock => yes(place == LinePosition::NewBlock),
        }
    }
}

/// Reason why a policy can't be parsed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error(
        "`{0}` is no policy; the policies are `{names}`, and `probabilistic=FILE` with a file \
         that `fillrate fit` wrote, each also with `+latency` behind its name",
        names = Policy::NAMES.join("`, `")
    )]
    Unknown(String),
    /// The file does not contain a policy.
    #[error("{file} is no policy: {reason}")]
    File {
        /// The file.
        file: String,
        /// Reason, for people.
        reason: String,
    },
}

impl Policy {
    /// The policies that need no file.
    pub const NAMES: [&'static str; 4] = ["accept-all", "oracle-prefix", "first-token", "line"];

    /// The policy that a command line names. `read` gives a file's text.
    ///
    /// # Errors
    /// The policy does not exist, or its file does not contain one.
    pub fn parse(
        text: &str,
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, PolicyError> {
        let (name, latency) = match text.strip_suffix("+latency") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let rule = match name {
            "accept-all" => Rule::AcceptAll,
            "oracle-prefix" => Rule::OraclePrefix,
            "first-token" => Rule::FirstToken,
            "line" => Rule::Line,
            _ => {
                let Some(file) = name.strip_prefix("probabilistic=") else {
                    return Err(PolicyError::Unknown(text.to_owned()));
                };
                let fault = |reason: String| PolicyError::File {
                    file: file.to_owned(),
                    reason,
                };
                let fitted: FittedPolicy = read(file)
                    .and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()))
                    .map_err(fault)?;
                if fitted.schema != SCHEMA {
                    return Err(fault(format!(
                        "it has schema {}, and this program reads {SCHEMA}",
                        fitted.schema
                    )));
                }
                Rule::Probabilistic(Box::new(fitted))
            }
        };
        Ok(Self { rule, latency })
    }

    /// The name in figures.
    pub fn name(&self) -> String {
        let name = match &self.rule {
            Rule::AcceptAll => "accept-all".to_owned(),
            Rule::OraclePrefix => "oracle-prefix".to_owned(),
            Rule::FirstToken => "first-token".to_owned(),
            Rule::Line => "line".to_owned(),
            Rule::Probabilistic(fitted) => {
                let of = if fitted.simulated { "simulated " } else { "" };
                format!("probabilistic: {of}{}", fitted.name)
            }
        };
        let latency = if self.latency { "+latency" } else { "" };
        format!("{name}{latency}")
    }

    /// The version of the policy's rule: another one may accept otherwise.
    pub fn version(&self) -> u32 {
        1
    }

    /// The index of the candidate that is accepted; `None` is a dismissal. `oracle-prefix`
    /// considers all candidates, the other policies the displayed one. `draw` is between 0 and 1:
    /// random choices depend on it alone.
    pub fn choose(&self, view: DisplayedCompletion<'_>, draw: f64) -> Option<usize> {
        let shown = view.candidates.first()?;
        let accepted = match &self.rule {
            Rule::AcceptAll => true,
            Rule::OraclePrefix => {
                let taken = view.candidates.iter().enumerate();
                let taken = taken.filter_map(|(index, candidate)| {
                    Some((oracle_prefix(view.remaining, candidate)?, index))
                });
                // Of equally long ones the first.
                return taken
                    .max_by_key(|(length, index)| (*length, usize::MAX - index))
                    .map(|(_, index)| index);
            }
            Rule::FirstToken => {
                let token = first_token(shown);
                token.is_some() && token == first_token(view.remaining)
            }
            Rule::Line => {
                let line = first_line(shown);
                line.is_some() && line == first_line(view.remaining)
            }
            Rule::Probabilistic(fitted) => {
                draw < fitted.probability(shown, view.latency_ms, view.place)
            }
        };
        accepted.then_some(0)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

impl FittedPolicy {
    /// The probability that a person accepts this text.
    pub fn probability(&self, shown: &str, latency_ms: f64, place: LinePosition) -> f64 {
        let (characters, lines) = (shown.chars().count(), LineIndex::new(shown).count());
        let log_odds = self.coefficients.iter().fold(
            self.intercept.value,
            |sum, FeatureCoefficient { feature, value, .. }| {
                sum + value * feature.value(characters, lines, latency_ms, place)
            },
        );
        // The logistic function, as the policy was fitted.
        1.0 / (1.0 + (-log_odds).exp())
    }
}

impl LinePosition {
    /// The kind of the place between two texts.
    pub fn between(prefix: &str, suffix: &str) -> Self {
        let before = prefix.rsplit(['\n', '\r']).next().unwrap_or_default();
        let after = suffix.split(['\n', '\r']).next().unwrap_or_default();
        match (before.trim().is_empty(), after.trim().is_empty()) {
            (_, false) => Self::MidLine,
            (false, true) => Self::LineEnd,
            (true, true) => Self::NewBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Policy {
        Policy::parse(name, |_| Err("there is none".to_owned())).expect("the name is one")
    }

    fn choice(policy: &str, remaining: &str, candidates: &[&str]) -> Option<usize> {
        let candidates: Vec<String> = candidates.iter().map(|text| (*text).to_owned()).collect();
        let view = DisplayedCompletion {
            remaining,
            candidates: &candidates,
            latency_ms: 100.0,
            place: LinePosition::LineEnd,
        };
        named(policy).choose(view, 0.5)
    }

    #[test]
    fn each_policy_accepts_what_it_says() {
        let remaining = "foo(bar)\nreturn 1";
        for (candidates, expected) in [
            (
                &["foo(bar)\nreturn 2"][..],
                [Some(0), None, Some(0), Some(0)],
            ),
            (&["foo(baz)"], [Some(0), None, Some(0), None]),
            (&["foo"], [Some(0), Some(0), Some(0), None]),
            (&["fo"], [Some(0), None, None, None]),
            (&["qux", "foo", "foo(bar)"], [Some(0), Some(2), None, None]),
            (&["foo", "foo "], [Some(0), Some(0), Some(0), None]),
            (&[], [None; 4]),
        ] {
            let found = Policy::NAMES.map(|policy| choice(policy, remaining, candidates));
            assert_eq!(found, expected, "{candidates:?}");
        }
    }

    #[test]
    fn policy_names_are_parsed_and_displayed() {
        assert_eq!(named("line+latency").to_string(), "line+latency");
        assert!(named("line+latency").latency);
        let error = |name| {
            let error = Policy::parse(name, |_| Err("no such file".to_owned()));
            error.expect_err("it is none").to_string()
        };
        assert!(error("greedy").contains("`first-token`, `line`"));
        assert_eq!(
            error("probabilistic=p.toml"),
            "p.toml is no policy: no such file"
        );
    }

    #[test]
    fn a_place_is_what_its_line_says() {
        for (prefix, suffix, place) in [
            ("x = ", "\ny", LinePosition::LineEnd),
            ("x = f(", ")\n", LinePosition::MidLine),
            ("x\n    ", "\n", LinePosition::NewBlock),
            ("", "", LinePosition::NewBlock),
            ("x\r\n", "y", LinePosition::MidLine),
        ] {
            assert_eq!(
                LinePosition::between(prefix, suffix),
                place,
                "{prefix:?} {suffix:?}"
            );
        }
    }
}
