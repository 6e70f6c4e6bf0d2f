//! Holds back completions that are unlikely to be accepted: a small logistic model, fitted by
//! `fillrate fit --gate`. Without a gate everything is shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Signals about a completion that are known before it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateSignals {
    /// Usual time between two keys, in milliseconds, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<f64>,
    /// True if the last edit was one key of a burst.
    pub in_burst: bool,
    /// True if text follows the cursor on its line.
    pub mid_line: bool,
    /// True if the cursor's line is blank.
    pub new_block: bool,
    /// Class of the character before the cursor.
    pub before: TokenBefore,
    /// Number of characters of the best candidate.
    pub characters: usize,
    /// Number of lines of the best candidate.
    pub lines: usize,
    /// Mean log-probability of its tokens, if the model reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_probability: Option<f64>,
    /// Share of recent completions that were accepted, a moving average.
    pub recent_accepts: f64,
}

/// The class of the character before the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenBefore {
    /// A letter, a digit or `_`: within a word.
    Word,
    /// A blank, or nothing.
    #[default]
    Blank,
    /// An opening bracket.
    Opening,
    /// Any other sign.
    Other,
}

/// A feature of the logistic model, in the order of coefficients.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum GateFeature {
    /// 1 if text follows the cursor on its line.
    MidLine,
    /// 1 if the cursor's line is blank.
    NewBlock,
    /// 1 within a word.
    AfterWord,
    /// 1 after an opening bracket.
    AfterOpening,
    /// 1 after another sign.
    AfterSign,
    /// Natural logarithm of 1 plus the candidate's number of characters.
    LogCharacters,
    /// The candidate's number of lines.
    Lines,
    /// The mean log-probability of its tokens.
    MeanLogProbability,
    /// 1 in a burst of keys.
    InBurst,
    /// Natural logarithm of 1 plus the usual time between two keys, in milliseconds.
    LogInterval,
    /// Share of recent completions that were accepted.
    RecentAccepts,
}

/// The version of a gate file's format.
pub const GATE_SCHEMA: u32 = 1;

/// A fitted gate: a file in TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedGate {
    /// Version of the format, [`GATE_SCHEMA`].
    pub schema: u32,
    /// True if the accepts were simulated.
    pub simulated: bool,
    /// Minimum probability of an accept for which a completion is shown.
    pub threshold: f64,
    /// Log odds if every feature is 0.
    pub intercept: f64,
    /// Data of the fit, and its effect on sessions excluded from the fit.
    pub evidence: GateEvidence,
    /// Contribution of each feature to the log odds.
    pub coefficients: BTreeMap<GateFeature, f64>,
}

/// Data of a gate's fit, and its effect on sessions excluded from the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateEvidence {
    /// Number of completions that were shown.
    pub shown: usize,
    /// Number of those that were accepted.
    pub accepted: usize,
    /// Number of sessions.
    pub sessions: usize,
    /// Share of completions that the gate holds back.
    pub held_back: f64,
    /// Share of accepted characters that it loses.
    pub characters_lost: f64,
}

/// Error when reading a gate.
#[derive(Debug, thiserror::Error)]
#[error("the gate that `typing.gate` names, {path}, can't be used: {reason}")]
pub struct GateError {
    path: PathBuf,
    reason: String,
}

impl FittedGate {
    /// Reads a gate's file.
    ///
    /// # Errors
    /// The file can't be read, or is not a gate of this version.
    pub fn load(path: &Path) -> Result<Self, GateError> {
        let fault = |reason: String| GateError {
            path: path.to_owned(),
            reason,
        };
        if path.is_relative() {
            let reason = "the path is relative; write it from the root on";
            return Err(fault(reason.to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let gate: Self = toml::from_str(&text).map_err(|error| fault(error.to_string()))?;
        if gate.schema != GATE_SCHEMA {
            return Err(fault(format!(
                "its version is {}, and this program reads version {GATE_SCHEMA}; fit it again with \
                 `fillrate fit --gate`",
                gate.schema
            )));
        }
        Ok(gate)
    }

    /// Returns the probability of an accept; `None` if a feature of the gate is unknown here.
    pub fn probability(&self, signals: &GateSignals) -> Option<f64> {
        // The sum is the log odds, which the logistic function below turns into a probability.
        let mut odds = self.intercept;
        for (feature, coefficient) in &self.coefficients {
            odds += coefficient * feature.value(signals)?;
        }
        Some(1.0 / (1.0 + (-odds).exp()))
    }

    /// Returns the probability of an accept, if it is too low for the completion to be shown.
    pub fn held_back(&self, signals: &GateSignals) -> Option<f64> {
        self.probability(signals)
            .filter(|probability| *probability < self.threshold)
    }
}

impl GateFeature {
    /// All features.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the feature's value; `None` if it is unknown.
    pub fn value(self, signals: &GateSignals) -> Option<f64> {
        let flag = |is: bool| Some(f64::from(u8::from(is)));
        match self {
            Self::MidLine => flag(signals.mid_line),
            Self::NewBlock => flag(signals.new_block),
            Self::AfterWord => flag(signals.before == TokenBefore::Word),
            Self::AfterOpening => flag(signals.before == TokenBefore::Opening),
            Self::AfterSign => flag(signals.before == TokenBefore::Other),
            Self::LogCharacters => Some((signals.characters as f64).ln_1p()),
            Self::Lines => Some(signals.lines as f64),
            Self::MeanLogProbability => signals.mean_log_probability,
            Self::InBurst => flag(signals.in_burst),
            Self::LogInterval => signals.interval_ms.map(f64::ln_1p),
            Self::RecentAccepts => Some(signals.recent_accepts),
        }
    }
}

impl TokenBefore {
    /// Classifies the end of the text before a cursor.
    pub fn from_prefix(prefix: &str) -> Self {
        match prefix.chars().next_back() {
            None => Self::Blank,
            Some(last) if last.is_whitespace() => Self::Blank,
            Some(last) if last.is_alphanumeric() || last == '_' => Self::Word,
            Some('(' | '[' | '{') => Self::Opening,
            Some(_) => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> FittedGate {
        FittedGate {
            schema: GATE_SCHEMA,
            simulated: true,
            threshold: 0.2,
            intercept: 0.0,
            evidence: GateEvidence {
                shown: 1,
                accepted: 1,
                sessions: 1,
                held_back: 0.0,
                characters_lost: 0.0,
            },
            coefficients: [
                (GateFeature::AfterWord, -3.0),
                (GateFeature::MeanLogProbability, 1.0),
            ]
            .into(),
        }
    }

    #[test]
    fn gate_holds_back_unlikely_completions_unless_a_feature_is_unknown() {
        let signals = |before, mean_log_probability| GateSignals {
            before,
            mean_log_probability,
            ..GateSignals::default()
        };
        let gate = gate();
        let likely = signals(TokenBefore::Blank, Some(0.0));
        assert_eq!(gate.probability(&likely), Some(0.5));
        assert_eq!(gate.held_back(&likely), None);
        let unlikely = gate.held_back(&signals(TokenBefore::Word, Some(0.0)));
        assert!(
            unlikely.is_some_and(|p| (p - 0.0474).abs() < 1e-4),
            "{unlikely:?}"
        );
        assert_eq!(gate.held_back(&signals(TokenBefore::Word, None)), None);
    }

    #[test]
    fn gate_file_round_trips_and_other_versions_are_rejected() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gate.toml");
        let write = |gate: &FittedGate| {
            let text = toml::to_string(gate).expect("it is TOML");
            std::fs::write(&path, text).expect("it is written");
        };
        write(&gate());
        assert_eq!(FittedGate::load(&path).ok(), Some(gate()));
        write(&FittedGate {
            schema: 9,
            ..gate()
        });
        let refused = FittedGate::load(&path).expect_err("another version");
        assert!(refused.to_string().contains("fit it again"), "{refused}");
        let missing = FittedGate::load(&folder.path().join("none")).expect_err("no file");
        assert!(missing.to_string().contains("`typing.gate`"), "{missing}");
        let relative = FittedGate::load(Path::new("gate.toml")).expect_err("which folder's");
        assert!(relative.to_string().contains("relative"), "{relative}");
    }

    #[test]
    fn the_text_before_the_cursor_has_a_class() {
        let classes = ["", "x = ", "x", "f(", "x =", "a_"].map(TokenBefore::from_prefix);
        use TokenBefore::{Blank, Opening, Other, Word};
        assert_eq!(classes, [Blank, Blank, Word, Opening, Other, Word]);
    }
}
