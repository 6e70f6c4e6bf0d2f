//! The model's part of the configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use fillrate_syntax::spelling::nearest_name;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ModelError, ModelParameters, Secret, TokenPrice, key_command};
use crate::prompt::{FAMILIES, Family};

/// Settings of the model: which one it is, how it is reached and how it generates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Protocol of the model's server.
    pub protocol: Protocol,
    /// Address of the model's server, `http` or `https`: its base as the server's page prints it, or
    /// the whole endpoint.
    pub url: Option<String>,
    /// The model's name as its server knows it.
    pub name: Option<String>,
    /// The family, which determines the template of prompts, if the name does not identify it: see
    /// [`crate::prompt::FAMILIES`].
    pub family: Option<String>,
    /// Writer of the fill-in-the-middle prompt, if the protocol leaves a choice.
    pub infill: Infill,
    /// The *name* of the environment variable that holds the server's key.
    pub key_env: Option<String>,
    /// A program and its arguments that print the server's key, run once when the model is opened.
    pub key_command: Option<Vec<String>>,
    /// Further headers by name. In a value, `${NAME}` is the environment variable of that name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Parameters of the request to omit, as the model rejects them; a dotted path names an inner
    /// one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
    /// Parameters of the request to add or to replace.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Address of the proxy, `http`, `https`, `socks5` or `socks5h`. By default the environment's
    /// proxies are used, except for this machine.
    pub proxy: Option<String>,
    /// A file of certificates in PEM form whose authorities are trusted in addition to the
    /// system's.
    pub ca_file: Option<PathBuf>,
    /// The recording, a file of JSON lines: see [`super::recorded`].
    pub recording: Option<PathBuf>,
    /// Maximum number of tokens of a candidate, at least 1.
    pub max_tokens: u32,
    /// Sampling temperature, at least 0; 0 is greedy.
    pub temperature: f64,
    /// Nucleus mass, in (0, 1].
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// Timeout for the whole exchange in milliseconds, at least 1.
    pub timeout_ms: u64,
    /// Timeout for the first response of a server on this machine or in its network, which may have
    /// to load the model, in milliseconds; 0 means `timeout_ms`.
    #[serde(skip_serializing_if = "is_default_load_timeout")]
    pub load_timeout_ms: u64,
    /// Maximum number of tokens of a prompt, approximately: see
    /// [`crate::prompt::approximate_tokens`].
    pub context_tokens: usize,
    /// Number of requested candidates, at least 1.
    pub candidates: usize,
    /// True to stream responses, so that they can be ended early.
    pub stream: bool,
    /// Maximum number of retries after a temporary fault, within the timeout.
    pub retries: u32,
    /// Price of tokens, for figures of cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
}

/// Timeout that allows for loading tens of gigabytes from a slow disk, which takes minutes.
const DEFAULT_LOAD_TIMEOUT_MS: u64 = 300_000;

/// Omits the default from serialised settings and their hash.
fn is_default_load_timeout(value: &u64) -> bool {
    *value == DEFAULT_LOAD_TIMEOUT_MS
}

/// Writer of the fill-in-the-middle prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Infill {
    /// This server, from the template of the model's family.
    #[default]
    Template,
    /// The model's server, from the prefix and the suffix.
    Suffix,
}

/// The family whose template is used, and the reason.
#[derive(Clone, Debug)]
pub(super) struct ChosenFamily {
    /// The family.
    pub(super) family: &'static Family,
    /// Reason for this family, for people.
    reason: String,
}

impl ChosenFamily {
    /// Describes family and reason in one sentence.
    pub(super) fn describe(&self) -> String {
        format!("{} template, because {}", self.family.name, self.reason)
    }
}

/// Protocol of a model's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Protocol {
    /// The model inside the server: needs no network and no download.
    #[default]
    Embedded,
    /// `POST /v1/completions` with the family's prompt.
    OpenAiCompletions,
    /// `POST /v1/chat/completions`, where a chat model is instructed to fill in.
    OpenAiChat,
    /// vLLM's `POST /v1/completions` with the family's prompt.
    Vllm,
    /// `POST /infill` of llama.cpp's server, which writes the prompt itself.
    LlamaInfill,
    /// `POST /completion` of llama.cpp's server with the family's prompt.
    LlamaCompletion,
    /// `POST /v1/messages` of Anthropic, where a chat model is instructed to fill in.
    AnthropicMessages,
    /// `POST /v1/fim/completions` of Mistral, which writes the prompt itself.
    MistralFim,
    /// `POST /beta/completions` of DeepSeek, which writes the prompt itself.
    DeepseekFim,
    /// `POST /v1/fim/completions` of Inception, which writes the prompt itself.
    InceptionFim,
    /// Ollama's `POST /api/generate` with the family's prompt, or its own.
    OllamaGenerate,
    /// `POST /generate` of Hugging Face's text-generation-inference with the family's prompt.
    Tgi,
    /// Completions read from a file.
    Recorded,
    /// Always returns the empty text.
    Empty,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            url: None,
            name: None,
            family: None,
            infill: Infill::default(),
            key_env: None,
            key_command: None,
            headers: BTreeMap::new(),
            omit: Vec::new(),
            parameters: Map::new(),
            proxy: None,
            ca_file: None,
            recording: None,
            max_tokens: 128,
            temperature: 0.0,
            top_p: 1.0,
            seed: 0,
            timeout_ms: 10_000,
            load_timeout_ms: DEFAULT_LOAD_TIMEOUT_MS,
            context_tokens: 2048,
            candidates: 1,
            stream: true,
            retries: 2,
            price: None,
        }
    }
}

impl ModelSettings {
    /// Returns the generation parameters, for a [`super::ModelRequest`].
    pub fn parameters(&self) -> ModelParameters {
        ModelParameters {
            candidates: self.candidates,
            max_tokens: self.max_tokens,
            prompt_tokens: None,
            temperature: self.temperature,
            top_p: self.top_p,
            seed: self.seed,
            timeout: Duration::from_millis(self.timeout_ms),
        }
    }

    /// Describes the settings in a few words for people: the model's name, the protocol, and
    /// generation parameters other than the defaults. Contains no address, and nothing that leads
    /// to a key.
    pub fn describe(&self) -> String {
        let defaults = Self::default();
        let mut about = match &self.name {
            Some(name) => format!("{name} by {}", self.protocol),
            None => self.protocol.to_string(),
        };
        let figures = [
            ("temperature", self.temperature, defaults.temperature),
            ("top_p", self.top_p, defaults.top_p),
            (
                "max_tokens",
                self.max_tokens.into(),
                defaults.max_tokens.into(),
            ),
        ];
        for (name, figure, default) in figures {
            if figure != default {
                about.push_str(&format!(", {name} {figure}"));
            }
        }
        about
    }

    /// Checks that the numbers are in their ranges.
    ///
    /// # Errors
    /// [`ModelError::Settings`], which names the first number that is not.
    pub fn check(&self) -> Result<(), ModelError> {
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
            (
                self.infill != Infill::Suffix
                    || !matches!(
                        self.protocol,
                        Protocol::Vllm | Protocol::LlamaCompletion | Protocol::Tgi
                    ),
                "infill = \"suffix\" has no effect with this protocol, which sends a prompt of the \
                 model's family; leave it out",
            ),
            (
                self.price.is_none_or(|price| {
                    [price.input, price.output]
                        .iter()
                        .all(|price| price.is_finite() && *price >= 0.0)
                }),
                "price.input and price.output must be numbers of at least 0",
            ),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, sentence)) => Err(ModelError::Settings(format!("model: {sentence}."))),
            None => Ok(()),
        }
    }

    /// Returns the model's name, for protocols that require it.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if there is none.
    pub(super) fn required_name(&self) -> Result<&str, ModelError> {
        self.name.as_deref().ok_or_else(|| {
            ModelError::Settings(format!(
                "model: the protocol \"{}\" needs the setting name, the model's name as its \
                 server knows it.",
                self.protocol
            ))
        })
    }

    /// Returns the model's name, or else the given one, for protocols whose servers have one model.
    pub(super) fn name_or(&self, name: &str) -> String {
        self.name.clone().unwrap_or_else(|| name.to_owned())
    }

    /// Returns the family whose template is used: the one that is set, else the one that the
    /// model's name identifies.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the family is unknown, or neither is given.
    pub(super) fn template(&self) -> Result<ChosenFamily, ModelError> {
        if let Some(chosen) = self.family_if_known()? {
            return Ok(chosen);
        }
        Err(ModelError::Settings(match &self.name {
            Some(name) => format!("model: {}", Family::explain_unknown(name)),
            None => format!(
                "model: the protocol \"{}\" needs the setting family, or a model name that identifies it.",
                self.protocol
            ),
        }))
    }

    /// Returns the family that is set, else the one that the model's name identifies, if any.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if an unknown family is set; the error lists the known ones.
    pub(super) fn family_if_known(&self) -> Result<Option<ChosenFamily>, ModelError> {
        if let Some(name) = &self.family {
            let family = Family::from_name(name).ok_or_else(|| {
                let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
                ModelError::Settings(format!(
                    "model: there is no family \"{name}\": use one of {}.",
                    names.join(", ")
                ))
            })?;
            let reason = "`family` is set in the configuration".to_owned();
            return Ok(Some(ChosenFamily { family, reason }));
        }
        let detected = self.name.as_deref().and_then(Family::detect);
        Ok(detected.map(|detected| ChosenFamily {
            family: detected.family,
            reason: detected.reason,
        }))
    }

    /// Returns the tokens that a text must not spell if the model's server writes the prompt, as
    /// the server would parse them as special tokens: those of the known family, else of all
    /// families.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if an unknown family is set.
    pub(super) fn reserved(&self) -> Result<Vec<&'static str>, ModelError> {
        Ok(match self.family_if_known()? {
            Some(chosen) => chosen.family.reserved.to_vec(),
            None => FAMILIES
                .iter()
                .flat_map(|family| family.reserved.iter().copied())
                .collect(),
        })
    }

    /// Returns the key, if the settings name a variable or a command for it.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the variable is unset or empty, or the command prints no key.
    pub(super) fn key(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Secret>, ModelError> {
        match (&self.key_env, &self.key_command) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(ModelError::Settings(
                "model: key_env and key_command are both set, and only one of them can give the \
                 key."
                    .to_owned(),
            )),
            (Some(variable), None) => match environment(variable) {
                Some(key) if !key.trim().is_empty() => Ok(Some(Secret::new(&key))),
                _ => Err(ModelError::Settings(format!(
                    "model: the environment variable {variable}, which key_env names, is not set."
                ))),
            },
            (None, Some(command)) => match key_command::run(command, key_command::TIMEOUT) {
                Ok(key) => Ok(Some(key)),
                Err(why) => Err(ModelError::Settings(format!(
                    "model: the command that key_command names {why}."
                ))),
            },
        }
    }
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 14] = [
        Self::Embedded,
        Self::OpenAiCompletions,
        Self::OpenAiChat,
        Self::Vllm,
        Self::LlamaInfill,
        Self::LlamaCompletion,
        Self::AnthropicMessages,
        Self::MistralFim,
        Self::DeepseekFim,
        Self::InceptionFim,
        Self::OllamaGenerate,
        Self::Tgi,
        Self::Recorded,
        Self::Empty,
    ];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiChat => "openai-chat",
            Self::Vllm => "vllm",
            Self::LlamaInfill => "llama-infill",
            Self::LlamaCompletion => "llama-completion",
            Self::AnthropicMessages => "anthropic-messages",
            Self::MistralFim => "mistral-fim",
            Self::DeepseekFim => "deepseek-fim",
            Self::InceptionFim => "inception-fim",
            Self::OllamaGenerate => "ollama-generate",
            Self::Tgi => "tgi",
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
                let names = Self::ALL.map(Self::name);
                // A vendor's name begins those of its protocols: `ollama` means `ollama-generate`.
                let mut meant = names.iter().filter(|known| known.starts_with(name));
                let nearest = match meant.next() {
                    Some(first) if !name.is_empty() && meant.next().is_none() => Some(*first),
                    _ => nearest_name(name, &names),
                };
                let pointer = nearest.map_or(String::new(), |it| format!("write \"{it}\", or "));
                ModelError::Settings(format!(
                    "model: there is no protocol \"{name}\": {pointer}use one of {}.",
                    names.join(", ")
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
