//! The model's part of the configuration.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ModelError, Parameters, Secret};
use crate::prompt::{FAMILIES, Family};

/// Which model answers, how it is reached and how it generates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How the model is reached.
    pub protocol: Protocol,
    /// Base address of the model's server, `http` or `https`, with or without a final `/v1`.
    pub url: Option<String>,
    /// The model's name as its server knows it.
    pub name: Option<String>,
    /// The fill-in-the-middle family, where the name does not tell it: see
    /// [`crate::prompt::FAMILIES`].
    pub family: Option<String>,
    /// The *name* of the environment variable that holds the server's key.
    pub key_env: Option<String>,
    /// The recording, a file of JSON lines: see [`super::recorded`].
    pub recording: Option<PathBuf>,
    /// The most tokens a candidate may have, at least 1.
    pub max_tokens: u32,
    /// Sampling temperature, at least 0; 0 is greedy.
    pub temperature: f64,
    /// Nucleus mass, in (0, 1].
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// How long the whole exchange may take, in milliseconds, at least 1.
    pub timeout_ms: u64,
    /// The most tokens a prompt may have, approximately: see [`crate::prompt::approximate_tokens`].
    pub context_tokens: usize,
    /// How many candidates to ask for, at least 1.
    pub candidates: usize,
}

/// How a model is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Protocol {
    /// The model inside the server: needs no network and no download.
    #[default]
    Embedded,
    /// `POST /v1/completions` with the family's prompt.
    OpenAiCompletions,
    /// `POST /infill` of llama.cpp's server, which writes the prompt itself.
    LlamaInfill,
    /// Answers read from a file.
    Recorded,
    /// Always the empty text.
    Empty,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            url: None,
            name: None,
            family: None,
            key_env: None,
            recording: None,
            max_tokens: 128,
            temperature: 0.0,
            top_p: 1.0,
            seed: 0,
            timeout_ms: 10_000,
            context_tokens: 2048,
            candidates: 1,
        }
    }
}

impl Settings {
    /// How to generate, for a [`super::Request`].
    pub fn parameters(&self) -> Parameters {
        Parameters {
            candidates: self.candidates,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            seed: self.seed,
            timeout: Duration::from_millis(self.timeout_ms),
        }
    }

    /// Whether the figures are in their ranges.
    ///
    /// # Errors
    /// [`ModelError::Settings`], which names the first figure that is not.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let checks = [
            (self.max_tokens >= 1, "max_tokens must be at least 1"),
            (
                self.temperature.is_finite() && self.temperature >= 0.0,
                "temperature must be a number of at least 0",
            ),
            (
                self.top_p > 0.0 && self.top_p <= 1.0,
                "top_p must be above 0 and at most 1",
            ),
            (self.timeout_ms >= 1, "timeout_ms must be at least 1"),
            (
                self.context_tokens >= 64,
                "context_tokens must be at least 64",
            ),
            (self.candidates >= 1, "candidates must be at least 1"),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, sentence)) => Err(ModelError::Settings(format!("model: {sentence}."))),
            None => Ok(()),
        }
    }

    /// The family of this name.
    ///
    /// # Errors
    /// [`ModelError::Settings`], which names the families there are.
    pub(super) fn known_family(&self, name: &str) -> Result<&'static Family, ModelError> {
        Family::named(name).ok_or_else(|| {
            let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
            ModelError::Settings(format!(
                "model: there is no family \"{name}\": use one of {}.",
                names.join(", ")
            ))
        })
    }

    /// The key, if the settings name a variable for it.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if that variable is not set or is empty.
    pub(super) fn key(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Secret>, ModelError> {
        let Some(variable) = &self.key_env else {
            return Ok(None);
        };
        match environment(variable) {
            Some(key) if !key.trim().is_empty() => Ok(Some(Secret::new(&key))),
            _ => Err(ModelError::Settings(format!(
                "model: the environment variable {variable}, which key_env names, is not set."
            ))),
        }
    }
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 5] = [
        Self::Embedded,
        Self::OpenAiCompletions,
        Self::LlamaInfill,
        Self::Recorded,
        Self::Empty,
    ];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::OpenAiCompletions => "openai-completions",
            Self::LlamaInfill => "llama-infill",
            Self::Recorded => "recorded",
            Self::Empty => "empty",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        Self::ALL
            .into_iter()
            .find(|protocol| protocol.name() == name)
            .ok_or_else(|| {
                ModelError::Settings(format!(
                    "model: there is no protocol \"{name}\": use one of {}.",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}

impl TryFrom<String> for Protocol {
    type Error = ModelError;

    fn try_from(name: String) -> Result<Self, ModelError> {
        name.parse()
    }
}

impl From<Protocol> for &'static str {
    fn from(protocol: Protocol) -> Self {
        protocol.name()
    }
}
