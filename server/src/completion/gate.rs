//! Knowing when to be silent: a small logistic model of whether a completion would be accepted,
//! fitted by `fillrate fit --gate`. Without a gate everything is shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// What the server knows of a completion before it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateSignals {
    /// The usual time between two keys, in milliseconds, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<f64>,
    /// Whether the last edit was one key of a burst.
    pub in_burst: bool,
    /// Whether text follows the cursor on its line.
    pub mid_line: bool,
    /// Whether the cursor's line is blank.
    pub new_block: bool,
    /// What stands before the cursor.
    pub before: TokenBefore,
    /// Characters of the best candidate.
    pub characters: usize,
    /// Its lines.
    pub lines: usize,
    /// The mean log-probability of its tokens, if the model gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_probability: Option<f64>,
    /// The share of late completions that were accepted, a moving average.
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

/// A number that a gate weighs, in the order of coefficients.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum GateFeature {
    /// 1 where text follows the cursor on its line.
    MidLine,
    /// 1 where the cursor's line is blank.
    NewBlock,
    /// 1 within a word.
    AfterWord,
    /// 1 after an opening bracket.
    AfterOpening,
    /// 1 after another sign.
    AfterSign,
    /// The natural logarithm of 1 and the candidate's characters.
    LogCharacters,
    /// The candidate's lines.
    Lines,
    /// The mean log-probability of its tokens.
    MeanLogProbability,
    /// 1 in a burst of keys.
    InBurst,
    /// The natural logarithm of 1 and the usual time between two keys, in milliseconds.
    LogInterval,
    /// The share of late completions that were accepted.
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
    /// Whether the accepts were no person's.
    pub simulated: bool,
    /// A completion that is less likely to be accepted is not shown.
    pub threshold: f64,
    /// The log odds where every feature is 0.
    pub intercept: f64,
    /// What it was fitted to, and what it does on sessions left out of the fit.
    pub evidence: GateEvidence,
    /// What each feature adds to the log odds.
    pub coefficients: BTreeMap<GateFeature, f64>,
}

/// What a gate was fitted to, and what it does on sessions left out of the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateEvidence {
    /// Completions that were shown.
    pub shown: usize,
    /// Those of them that were accepted.
    pub accepted: usize,
    /// Sessions they were shown in.
    pub sessions: usize,
    /// The share of completions that the gate holds back.
    pub held_back: f64,
    /// The share of accepted characters that it loses.
    pub characters_lost: f64,
}

/// Why a gate can't be used.
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
    /// The file can't be read, or is no gate of this version.
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
                "it has the version {}, and this program reads {GATE_SCHEMA}; fit it anew",
                gate.schema
            )));
        }
        Ok(gate)
    }

    /// The probability of an accept; `None` if a feature of the gate is unknown here.
    pub fn probability(&self, signals: &GateSignals) -> Option<f64> {
        let mut odds = self.intercept;
        for (feature, coefficient) in &self.coefficients {
            odds += coefficient * feature.value(signals)?;
        }
        Some(1.0 / (1.0 + (-odds).exp()))
    }

    /// The probability of an accept, if it is too small for the completion to be shown.
    pub fn held_back(&self, signals: &GateSignals) -> Option<f64> {
        self.probability(signals)
            .filter(|probability| *probability < self.threshold)
    }
}

impl GateFeature {
    /// Every feature.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The feature's value; `None` if it is unknown.
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
    fn a_gate_holds_back_what_is_unlikely_and_nothing_that_it_cannot_judge() {
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
    fn a_file_is_read_as_it_was_written_and_another_version_is_refused() {
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
        assert!(refused.to_string().contains("fit it anew"), "{refused}");
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
