//! The settings of a server and their layers: defaults, the user's `fillrate.toml`, the workspace's
//! `fillrate.toml`, the client's initialisation options and settings, and the command line. Each
//! layer overrides the previous one.

mod languages;
mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::cleanup::CompletionExtent;
#[cfg(doc)]
use crate::context::GivenContext;
use crate::context::WindowLayout;
use crate::digest::hex;
use crate::folders::{base_folder, below_home};
use crate::model::embeddings::EmbeddingSettings;
use crate::model::{self, Protocol};
use crate::text::LineIndex;
use fillrate_syntax::spelling::{nearest_clause, nearest_name};

pub use languages::SWITCHED_OFF;
pub use trial::{AnsweringModel, DEFAULT, TrialSettings, TrialUnit};

/// All settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// The default model, and its generation parameters.
    pub model: model::ModelSettings,
    /// Further models, by name.
    pub models: BTreeMap<String, model::ModelSettings>,
    /// The name of the model in use; by default `model`. Ignored in a trial.
    #[serde(rename = "use")]
    pub used: Option<String>,
    /// A trial of several models.
    #[serde(deserialize_with = "trial::or_default")]
    pub trial: TrialSettings,
    /// Context of the repository in the prompt.
    pub context: ContextSettings,
    /// Settings that apply while a person types.
    pub typing: TypingSettings,
    /// Clean-up of a model's text.
    pub cleanup: CleanupSettings,
    /// By protocol identifier of a language, or `*` for every other one: true if completions are
    /// offered in its documents.
    pub languages: BTreeMap<String, bool>,
    /// Recording of completions.
    pub telemetry: TelemetrySettings,
}

impl Configuration {
    /// True if completions are offered in documents of the language with this protocol identifier.
    pub fn offers_in(&self, language_id: &str) -> bool {
        languages::offers(&self.languages, language_id)
    }

    /// True if settings may have this top-level key.
    pub fn has_key(key: &str) -> bool {
        // `use` is not serialised while it is unset, or is `null`; both are keys.
        let keys = serde_json::to_value(Self::default()).unwrap_or_default();
        key == "use" || keys.get(key).is_some()
    }

    /// Identifies the settings that determine a completion's text: 16 hex digits of their SHA-256.
    /// Excludes the model's address or file, its timeouts and its price, so that one model reached in two ways
    /// counts as one; the location of the index; the settings of typing and telemetry; and a
    /// `context.budget_ms` of 0, as replays set it to measure servers with the default.
    pub fn fingerprint(&self) -> String {
        let defaults = Self::default();
        let model = model::ModelSettings {
            url: None,
            key_env: None,
            key_command: None,
            headers: BTreeMap::new(),
            proxy: None,
            ca_file: None,
            recording: None,
            timeout_ms: defaults.model.timeout_ms,
            load_timeout_ms: defaults.model.load_timeout_ms,
            stream: defaults.model.stream,
            retries: defaults.model.retries,
            price: None,
            ..self.model.clone()
        };
        let context = ContextSettings {
            embeddings: EmbeddingSettings {
                name: self.context.embeddings.name.clone(),
                ..EmbeddingSettings::default()
            },
            keep_index: true,
            budget_ms: self.context.budget_ms.filter(|budget| *budget > 0),
            ..self.context.clone()
        };
        let mut deciding =
            serde_json::json!({"model": model, "context": context, "cleanup": self.cleanup});
        // Added only if it is set, so that settings without a gate keep their fingerprint.
        if let Some(gate) = &self.typing.gate {
            deciding["gate"] = serde_json::json!(gate);
        }
        let digest = Sha256::digest(deciding.to_string());
        hex(&digest[..8])
    }
}

/// Recording of completions, on this machine only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// True if completions are recorded.
    pub enabled: bool,
    /// True if the texts of completions are recorded too.
    pub content: bool,
    /// The store, a database file; by default `fillrate/telemetry.db` in the user's data folder.
    pub path: Option<PathBuf>,
    /// Times after an accept, in seconds, at which the remaining part of the text is measured.
    pub retention_s: Vec<u64>,
    /// Base address of a collector of OpenTelemetry that gets latencies and outcomes as numbers
    /// only; `None` sends nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_url: Option<String>,
}

/// Clean-up of a model's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CleanupSettings {
    /// Limit on the length of a completion.
    pub extent: CompletionExtent,
}

/// Settings that apply while a person types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TypingSettings {
    /// Maximum wait for the next key before a model is called, in milliseconds; 0 calls it at
    /// every key. The wait itself follows the person's rhythm.
    pub wait_ms: u64,
    /// True to call the model for the next completion as soon as one is accepted.
    pub ahead: bool,
    /// True to reuse earlier completions and running calls that still fit.
    pub reuse: bool,
    /// True to call the model after an edit that only deletes or undoes text. Earlier completions
    /// that fit are offered in any case.
    #[serde(skip_serializing_if = "is_false")]
    pub after_deletion: bool,
    /// File of a gate, made by `fillrate fit --gate`, which holds back completions that would
    /// hardly be accepted.
    pub gate: Option<PathBuf>,
}

/// Context of the repository in the prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContextSettings {
    /// Method of finding windows of other files.
    pub profile: Profile,
    /// Maximum number of windows of other files in the prompt.
    pub windows: usize,
    /// Maximum time that a model takes to read a prompt, in milliseconds; 0 sets no limit, `None`
    /// is [`BUDGET_MS`].
    #[serde(rename = "budget_ms", skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// True to keep the index of the profile `editor`, and what the embedded model has learnt, in
    /// the cache for the next start.
    #[serde(rename = "keep_index", skip_serializing_if = "is_true")]
    pub keep_index: bool,
    /// The source of embeddings, for the profiles that compare them.
    pub embeddings: EmbeddingSettings,
}

/// Default of `context.budget_ms`: people hardly wait another second for a completion.
pub const BUDGET_MS: u64 = 1000;

/// Omits the default of a new key from serialised settings and their hash.
fn is_true(value: &bool) -> bool {
    *value
}

/// As [`is_true`].
fn is_false(value: &bool) -> bool {
    !*value
}

/// Method of finding windows of other files.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = unknown_profile)]
pub enum Profile {
    /// Only the open file. The name `in-file` is also accepted.
    #[serde(alias = "in-file")]
    #[strum(to_string = "none", serialize = "in-file")]
    None,
    /// For editing: BM25 over windows along syntax.
    #[default]
    Editor,
    /// CrossCodeEval's: BM25 over windows of ten lines.
    Cceval,
    /// RepoCoder's: Jaccard similarity over windows of twenty lines, and a second round whose query
    /// includes the first completion.
    Repocoder,
    /// CrossCodeEval's windows, ranked by the cosine between their embeddings and the query's.
    Dense,
    /// The rankings of `cceval` and `dense`, fused.
    Mix,
    /// CrossCodeEval's with the reference, which the request provides, in the query. An upper
    /// bound, not a retriever: see [`GivenContext`].
    Reference,
    /// Only the windows that the request provides: see [`GivenContext`].
    Given,
}

impl Profile {
    /// All profiles, in the order of the reference page.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// The name in the configuration and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Layout of its windows in a prompt.
    pub const fn layout(self) -> WindowLayout {
        match self {
            Self::None | Self::Editor | Self::Repocoder => WindowLayout::Family,
            Self::Cceval | Self::Dense | Self::Mix | Self::Reference => WindowLayout::Comments,
            Self::Given => WindowLayout::Whole,
        }
    }

    /// True if it uses values that a request provides.
    pub const fn heeds_given(self) -> bool {
        matches!(self, Self::Reference | Self::Given)
    }

    /// True if it needs embeddings.
    pub const fn needs_vectors(self) -> bool {
        matches!(self, Self::Dense | Self::Mix)
    }

    /// True if windows are found without calling a model or another server.
    pub const fn is_immediate(self) -> bool {
        !matches!(self, Self::Repocoder | Self::Dense | Self::Mix)
    }
}

fn unknown_profile(_: &str) -> String {
    let names: Vec<_> = Profile::ALL.iter().map(|profile| profile.name()).collect();
    format!("the profiles are {}", names.join(", "))
}

/// Error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file can't be read.
    #[error("{path} can't be read: {reason}")]
    Unreadable {
        /// The settings file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file is not TOML, or holds an unknown key or an invalid value.
    #[error("{path}: {reason}")]
    File {
        /// The settings file.
        path: PathBuf,
        /// Description of the error, with line and key.
        reason: String,
    },
    /// Options hold an unknown key or an invalid value.
    #[error("{origin}: {reason}")]
    Options {
        /// The source of the options.
        origin: &'static str,
        /// Description of the error, with the key.
        reason: String,
    },
    /// A workspace's file sets a key that only the user may set.
    #[error(
        "{path}: `{key}` can't be set by a workspace, since a repository that you open \
         could then decide where your code and your keys go or what runs; set it in your own \
         configuration file"
    )]
    NotForWorkspaces {
        /// The settings file.
        path: PathBuf,
        /// The setting.
        key: String,
    },
    /// A setting is invalid, alone or with others: a model's name that is unknown or used twice, an
    /// address without a protocol, a relative path.
    #[error("`{setting}` {reason}")]
    Setting {
        /// The setting.
        setting: String,
        /// Description of the error, and its remedy.
        reason: String,
    },
}

/// Layers of settings, lowest first, which make up a [`Configuration`].
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<Value>,
}

impl Layers {
    /// Adds a settings file as the top layer.
    ///
    /// # Errors
    /// The file can't be read, or holds an unknown or invalid setting.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigurationError> {
        let contents =
            std::fs::read_to_string(path).map_err(|error| ConfigurationError::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
        let fault = |error: toml::de::Error| ConfigurationError::File {
            path: path.to_owned(),
            reason: located(&error, &contents),
        };
        // Parsed as settings first, so that errors carry their line.
        toml::from_str::<Configuration>(&contents).map_err(fault)?;
        self.layers.push(toml::from_str(&contents).map_err(fault)?);
        Ok(())
    }

    /// Adds a workspace's own file, if it has one, as the top layer.
    ///
    /// # Errors
    /// As [`Layers::file`], or it sets a key that could send code or keys elsewhere.
    pub fn workspace(&mut self, folder: &Path) -> Result<(), ConfigurationError> {
        let path = folder.join(FILE_NAME);
        if !path.is_file() {
            return Ok(());
        }
        self.file(&path)?;
        let of_table = |pointer: &str, refuses: &dyn Fn(&str, &Value) -> bool| {
            let table = self.layers.last()?.pointer(pointer)?.as_object()?;
            let refused = table.iter().find(|(key, value)| refuses(key, value))?;
            let table = pointer.trim_start_matches('/').replace('/', ".");
            Some(format!("{table}.{}", refused.0))
        };
        let whole = |key: &&str| {
            self.layers
                .last()
                .is_some_and(|layer| layer.get(key).is_some())
        };
        let whole = ["models", "use", "trial"].into_iter().find(whole);
        let refused = whole.map(str::to_owned);
        let refused = refused
            .or_else(|| of_table("/model", &|key, value| !workspace_may_set(key, value)))
            .or_else(|| of_table("/context/embeddings", &|key, _| !PACING.contains(&key)))
            .or_else(|| of_table("/telemetry", &|_, _| true))
            .or_else(|| of_table("/typing", &|key, _| key == "gate"))
            // The switch applies to documents of other folders too.
            .or_else(|| of_table("/languages", &|_, value| *value == Value::Bool(true)));
        if let Some(key) = refused {
            self.layers.pop();
            return Err(ConfigurationError::NotForWorkspaces { path, key });
        }
        Ok(())
    }

    /// Adds options in JSON as the top layer; `null` means none.
    ///
    /// # Errors
    /// They hold an unknown or invalid setting.
    pub fn options(
        &mut self,
        origin: &'static str,
        options: &Value,
    ) -> Result<(), ConfigurationError> {
        if options.is_null() {
            return Ok(());
        }
        let fault = |error: serde_json::Error| ConfigurationError::Options {
            origin,
            reason: with_pointer(error.to_string()),
        };
        Configuration::deserialize(options).map_err(fault)?;
        self.layers.push(options.clone());
        Ok(())
    }

    /// Adds the flags of a command line as the top layer. A model's name alone selects the table
    /// of `models` that has it, if there is one.
    ///
    /// # Errors
    /// As [`Layers::options`], or no table has the name and `model` has no protocol.
    pub fn flags(&mut self, flags: &Value) -> Result<(), ConfigurationError> {
        let lower = self.whole();
        let model = flags.get("model").and_then(Value::as_object);
        let alone = model.filter(|model| model.len() == 1);
        if let Some(name) = alone.and_then(|model| model.get("name")?.as_str()) {
            let tables = lower.get("models").and_then(Value::as_object);
            if tables.is_some_and(|tables| tables.contains_key(name)) {
                let mut flags = flags.clone();
                if let Some(flags) = flags.as_object_mut() {
                    flags.remove("model");
                    flags.insert("use".to_owned(), name.into());
                }
                return self.options("the command line", &flags);
            }
            if lower.pointer("/model/protocol").is_none_or(Value::is_null) {
                let names = tables.into_iter().flatten();
                let names: Vec<String> = names.map(|(name, _)| format!("`{name}`")).collect();
                let known = match names.is_empty() {
                    true => "there are none".to_owned(),
                    false => format!("there are {}", names.join(", ")),
                };
                return Err(ConfigurationError::Setting {
                    setting: format!("--model {name}"),
                    reason: format!(
                        "names none of the models under `[models]`, of which {known}; for another \
                         model, add `--protocol`"
                    ),
                });
            }
        }
        self.options("the command line", flags)
    }

    /// The settings of all layers, unchecked.
    fn whole(&self) -> Value {
        let mut whole = Value::Object(serde_json::Map::new());
        for layer in &self.layers {
            let names_one = layer.get("use").is_some_and(Value::is_string);
            if names_one && layer.get("trial").is_none() {
                // Selecting one model ends a trial of a lower layer.
                merge(&mut whole, &serde_json::json!({"trial": null}));
            }
            merge(&mut whole, layer);
        }
        whole
    }

    /// Merges the layers.
    ///
    /// # Errors
    /// The layers, each valid by itself, conflict, or name a model that none of them defines.
    pub fn merged(&self) -> Result<Configuration, ConfigurationError> {
        let whole = self.whole();
        let mut merged =
            Configuration::deserialize(&whole).map_err(|error| ConfigurationError::Options {
                origin: "the settings together",
                reason: error.to_string(),
            })?;
        merged.check_names()?;
        check_protocols(&whole)?;
        merged.vary_candidates(&whole);
        if let Some(path) = &mut merged.telemetry.path {
            *path = absolute("telemetry.path", path)?;
        }
        if merged.used.is_none() && merged.trial().is_none() {
            // Without a protocol, `[model]` may only hold what a workspace sets.
            let protocol = whole.pointer("/model/protocol");
            let has_protocol = protocol.is_some_and(|protocol| !protocol.is_null());
            // A `null` of a client or of the command line chooses `[model]`.
            merged.use_default_or_only(has_protocol || whole.get("use").is_some());
        }
        Ok(merged)
    }
}

/// Checks that a model that has an address or a name has a protocol too: without one, the embedded
/// model would answer in its place.
fn check_protocols(whole: &Value) -> Result<(), ConfigurationError> {
    let named = whole.get("models").and_then(Value::as_object);
    let named = named.into_iter().flatten();
    let named = named.map(|(name, model)| (format!("models.{name}"), model));
    let model = whole.get("model").map(|model| ("model".to_owned(), model));
    for (table, model) in model.into_iter().chain(named) {
        let sets = |key: &&str| model.get(key).is_some_and(|value| !value.is_null());
        let unused = ["url", "name", "key_env", "key_command"]
            .into_iter()
            .find(sets);
        if let (Some(key), false) = (unused, sets(&"protocol")) {
            return Err(ConfigurationError::Setting {
                setting: format!("{table}.{key}"),
                reason: format!(
                    "has no effect without `{table}.protocol`, since the embedded model would answer; \
                     add the protocol of the model's server"
                ),
            });
        }
    }
    Ok(())
}

/// Returns a path below the home folder where it begins with `~/`; another relative path would
/// depend on the folder that a server is started in.
fn absolute(setting: &str, path: &Path) -> Result<PathBuf, ConfigurationError> {
    let whole = below_home(path);
    if whole.is_absolute() {
        return Ok(whole);
    }
    Err(ConfigurationError::Setting {
        setting: setting.to_owned(),
        reason: format!(
            "is the relative path {}, which depends on where a server is started; write the whole \
             path, or one that begins with `~/`",
            path.display()
        ),
    })
}

/// Describes an error with its line number. Omits the line itself, as it may contain a key.
fn located(error: &toml::de::Error, contents: &str) -> String {
    let message = with_pointer(error.message().to_owned());
    match error.span() {
        Some(span) => {
            let line = LineIndex::new(contents).number(span.start);
            format!("line {line}: {message}")
        }
        None => message,
    }
}

/// Settings of other programs that call models, with our names for them.
const SETTINGS_ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["api_key", "key", "token", "auth_token", "bearer_token"],
        "`key_env`, the name of the environment variable that holds the key, or `key_command`",
    ),
    (
        &[
            "api_base",
            "base_url",
            "api_url",
            "api_base_url",
            "api_endpoint",
            "endpoint",
            "end_point",
            "host",
            "server_url",
            "openai_api_base",
            "azure_endpoint",
            "address",
        ],
        "`url`",
    ),
    (
        &[
            "model",
            "model_name",
            "model_id",
            "deployment",
            "deployment_name",
            "title",
        ],
        "`name`",
    ),
    (
        &["provider", "api_type", "backend", "kind", "type"],
        "`protocol`",
    ),
    (
        &[
            "extra_headers",
            "default_headers",
            "request_headers",
            "custom_headers",
        ],
        "`headers`",
    ),
    (
        &[
            "extra_body",
            "request_options",
            "completion_options",
            "options",
            "params",
            "optional",
            "reasoning_effort",
            "thinking",
            "enable_thinking",
            "think",
            "stop",
            "top_k",
            "repetition_penalty",
            "presence_penalty",
            "frequency_penalty",
            "keep_alive",
        ],
        "`parameters`, which are added to the request",
    ),
    (
        &["drop_params", "exclude", "additional_drop_params"],
        "`omit`",
    ),
    (
        &[
            "max_new_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "num_predict",
            "n_predict",
            "max_length",
        ],
        "`max_tokens`",
    ),
    (
        &[
            "num_ctx",
            "n_ctx",
            "context_length",
            "context_window",
            "max_context_tokens",
            "ctx_size",
        ],
        "`context_tokens`",
    ),
    (
        &["timeout", "request_timeout", "timeout_s", "timeout_seconds"],
        "`timeout_ms`, in milliseconds",
    ),
    (&["max_retries", "num_retries"], "`retries`"),
    (&["api_version"], "`?api-version=…` at the end of `url`"),
    (&["template", "prompt_template", "fim_template"], "`family`"),
    (
        &[
            "ca_cert",
            "ca_bundle",
            "ca_bundle_path",
            "verify",
            "ssl_cert",
        ],
        "`ca_file`",
    ),
    (&["n", "num_samples", "n_completions"], "`candidates`"),
    (&["http_proxy", "https_proxy"], "`proxy`"),
    (&["organization", "org_id", "project"], "`headers`"),
    (
        &["debounce", "debounce_ms", "debounce_delay", "delay"],
        "`typing.wait_ms`",
    ),
];

/// Replaces the names of Rust types in serde's errors by plain ones.
fn in_plain_types(message: String) -> String {
    // The value in the message may contain the word too, so serde's own one is the last.
    let Some((rest, expected)) = message.rsplit_once("expected ") else {
        return message;
    };
    let plain = match expected {
        "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table of settings",
        _ => return message,
    };
    format!("{rest}expected {plain}")
}

/// The unknown name in an error of serde's that begins so, and the known ones: it writes each in
/// backticks.
fn unknown_name<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let (_, rest) = message.split_once(beginning)?;
    let mut names = rest.split('`').step_by(2);
    Some((names.next()?, names.collect()))
}

/// Adds to serde's error about an unknown setting or value the one that may be meant: the equivalent
/// of another program's setting, else the nearest name. The names of other programs have several
/// spellings.
fn with_pointer(message: String) -> String {
    if let Some((name, known)) = unknown_name(&message, "unknown variant `") {
        let nearest = nearest_clause(name, &known);
        return format!(
            "`{name}` is no value here; {nearest}the values are `{}`",
            known.join("`, `")
        );
    }
    let Some((name, known)) = unknown_name(&message, "unknown field `") else {
        return in_plain_types(message);
    };
    let mut plain = String::new();
    let mut was_small = false;
    for character in name.chars() {
        // A small letter before a capital ends a word: `maxTokens` is `max_tokens`.
        if character.is_ascii_uppercase() && was_small {
            plain.push('_');
        }
        was_small = character.is_ascii_lowercase();
        plain.push(match character {
            '-' | '.' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        });
    }
    let pointer = SETTINGS_ELSEWHERE
        .iter()
        .find(|(names, _)| names.contains(&plain.as_str()));
    if let Some((_, ours)) = pointer {
        return format!("`{name}` is called {ours} here");
    }
    match nearest_name(name, &known) {
        Some(nearest) => format!("there is no setting `{name}`; `{nearest}` is the nearest"),
        None => format!(
            "there is no setting `{name}` here; the settings are `{}`",
            known.join("`, `")
        ),
    }
}

/// Keys of a source of embeddings that a workspace may set.
const PACING: [&str; 2] = ["batch", "timeout_ms"];

/// True if a workspace may set this key of a model: generation parameters, but neither the address
/// nor the name, which on a gateway chooses who gets the code.
/// Unlisted keys are refused.
fn workspace_may_set(key: &str, value: &Value) -> bool {
    const GENERATING: &[&str] = &[
        "family",
        "infill",
        "max_tokens",
        "temperature",
        "top_p",
        "seed",
        "timeout_ms",
        "load_timeout_ms",
        "context_tokens",
        "candidates",
        "stream",
        "retries",
    ];
    // Any other protocol may imply its vendor's address; these two send nothing.
    let stays_here = [Protocol::Embedded, Protocol::Empty].map(Protocol::name);
    GENERATING.contains(&key)
        || (key == "protocol"
            && value
                .as_str()
                .is_some_and(|name| stays_here.contains(&name)))
}

/// The name of a settings file, in a workspace folder or the user's configuration folder.
pub const FILE_NAME: &str = "fillrate.toml";

/// Path of the user's own settings file, even if it does not exist.
pub fn user_file() -> Option<PathBuf> {
    let base = base_folder("XDG_CONFIG_HOME", ".config")?;
    Some(base.join("fillrate").join(FILE_NAME))
}

/// Merges `over` into `base`: objects key by key, other values by replacement.
fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

impl Default for TypingSettings {
    fn default() -> Self {
        Self {
            wait_ms: 150,
            ahead: true,
            reuse: true,
            after_deletion: false,
            gate: None,
        }
    }
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            content: false,
            path: None,
            retention_s: vec![30, 120, 300, 600],
            otlp_url: None,
        }
    }
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            windows: 5,
            budget_ms: None,
            embeddings: EmbeddingSettings::default(),
            keep_index: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(contents: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let path = folder.path().join(FILE_NAME);
        std::fs::write(&path, contents).expect("the folder is writable");
        (folder, path)
    }

    #[test]
    fn later_layers_override_key_by_key() {
        let (_folder, path) = written("[context]\nwindows = 3\n[model]\nseed = 7\n");
        let mut layers = Layers::default();
        layers.file(&path).expect("it is well-formed");
        layers
            .options(
                "the client's options",
                &json!({"context": {"profile": "none"}}),
            )
            .expect("it is well-formed");
        let merged = layers.merged().expect("the layers agree in form");
        assert_eq!(merged.context.windows, 3);
        assert_eq!(merged.context.profile, Profile::None);
        assert_eq!(merged.model.seed, 7);
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let merged = |options: serde_json::Value| {
            let mut layers = Layers::default();
            layers.options("a test", &options).expect("each is known");
            layers.merged()
        };
        let refused = |options| merged(options).expect_err("it has no effect").to_string();
        insta::assert_snapshot!(refused(json!({"model": {"name": "qwen"}})), @"`model.name` has no effect without `model.protocol`, since the embedded model would answer; add the protocol of the model's server");
        insta::assert_snapshot!(refused(json!({"models": {"a": {"url": "http://a"}}})), @"`models.a.url` has no effect without `models.a.protocol`, since the embedded model would answer; add the protocol of the model's server");
        // A workspace may choose a protocol that stays here.
        merged(json!({"model": {"url": "http://a", "protocol": "empty"}})).expect("it is chosen");
        insta::assert_snapshot!(refused(json!({"telemetry": {"path": "a.db"}})), @"`telemetry.path` is the relative path a.db, which depends on where a server is started; write the whole path, or one that begins with `~/`");
        let home = merged(json!({"telemetry": {"path": "~/a.db"}})).expect("it is below the home");
        let path = home.telemetry.path.expect("it is set");
        assert!(path.is_absolute() && path.ends_with("a.db"), "{path:?}");
    }

    #[test]
    fn unknown_key_is_named_with_its_line() {
        let (_folder, path) = written("[context]\nwindow = 3\n");
        let error = Layers::default()
            .file(&path)
            .expect_err("there is no such key");
        let message = error.to_string();
        assert!(message.contains("line 2"), "{message}");
        assert!(message.contains("`window`"), "{message}");
    }

    #[test]
    fn values_are_refused_in_plain_words() {
        let refused = |text: &str| {
            let (_folder, path) = written(text);
            let error = Layers::default().file(&path).expect_err("it is unknown");
            let message = error.to_string();
            message
                .split_once("line 2: ")
                .expect("it has a line")
                .1
                .to_owned()
        };
        insta::assert_snapshot!(refused("[context]\nprofile = \"edtor\"\n"), @"`edtor` is no value here; `editor` is the nearest; the values are `in-file`, `none`, `editor`, `cceval`, `repocoder`, `dense`, `mix`, `reference`, `given`");
        insta::assert_snapshot!(refused("\ncontext = \"none\"\n"), @r#"invalid type: string "none", expected a table of settings"#);
    }

    #[test]
    fn settings_of_other_programs_point_to_ours() {
        for (line, ours) in [
            ("api_key = \"sk-1\"", "`key_env`"),
            ("apiKey = \"sk-1\"", "`key_env`"),
            ("api_base = \"http://h\"", "`url`"),
            ("baseURL = \"http://h\"", "`url`"),
            ("extra_headers = { a = \"b\" }", "`headers`"),
            ("reasoning_effort = \"low\"", "`parameters`"),
            ("num_ctx = 4096", "`context_tokens`"),
            ("timeout = 10", "`timeout_ms`"),
        ] {
            let (_folder, path) = written(&format!("[model]\n{line}\n"));
            let error = Layers::default().file(&path).expect_err("it is not ours");
            let message = error.to_string();
            let expected = format!("is called {ours}");
            assert!(
                message.contains(&expected) && message.contains("line 2"),
                "{message}"
            );
            assert!(!message.contains("sk-1"), "{message}");
        }
    }

    #[test]
    fn errors_do_not_show_keys() {
        for line in ["key = \"sk-1\"", "key_env = [\"sk-1\"]", "key_env = sk-1"] {
            let (_folder, path) = written(&format!("[model]\n{line}\n"));
            let error = Layers::default().file(&path).expect_err("it is faulty");
            let message = error.to_string();
            assert!(message.contains("line 2: "), "{message}");
            assert!(!message.contains("sk-1"), "{message}");
        }
    }

    #[test]
    fn workspace_cannot_set_where_code_and_keys_go() {
        let refused = [
            "key_env = \"SECRET\"",
            "key_command = [\"sh\", \"-c\", \"true\"]",
            "url = \"http://example.org\"",
            "proxy = \"http://example.org\"",
            "name = \"evil/free\"",
            "ca_file = \"own.pem\"",
            "recording = \"/etc/passwd\"",
            "headers = { x = \"${SECRET}\" }",
            "omit = [\"store\"]",
            "parameters = { plugins = 1 }",
            "protocol = \"openai-chat\"",
        ];
        for line in refused {
            let (folder, path) = written(&format!("[model]\nseed = 7\n{line}\n"));
            let mut layers = Layers::default();
            let error = layers
                .workspace(folder.path())
                .expect_err("it could lead something elsewhere");
            let (key, _) = line.split_once(' ').expect("a key and its value");
            assert_eq!(
                error.to_string(),
                format!(
                    "{}: `model.{key}` can't be set by a workspace, since a repository that you \
                     open could then decide where your code and your keys go or what runs; set \
                     it in your own configuration file",
                    path.display()
                )
            );
            assert_eq!(
                layers.merged().expect("nothing was added"),
                Configuration::default()
            );
        }
    }

    #[test]
    fn workspace_cannot_set_where_windows_go() {
        for line in [
            "url = \"http://example.org\"",
            "key_env = \"SECRET\"",
            "name = \"m\"",
        ] {
            let (folder, path) = written(&format!("[context.embeddings]\nbatch = 2\n{line}\n"));
            let error = Layers::default()
                .workspace(folder.path())
                .expect_err("it could lead something elsewhere");
            let (key, _) = line.split_once(' ').expect("a key and its value");
            let expected = format!("{}: `context.embeddings.{key}` can't", path.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        let (folder, _path) = written("[context.embeddings]\nbatch = 2\ntimeout_ms = 9\n");
        let accepted = Layers::default().workspace(folder.path());
        accepted.expect("both are allowed");
    }

    #[test]
    fn workspace_cannot_name_a_gate() {
        let (folder, _) = written("[typing]\ngate = \"/dev/zero\"\n");
        let error = Layers::default().workspace(folder.path());
        let error = error.expect_err("it names a file of this machine");
        assert!(error.to_string().contains("`typing.gate` can't"), "{error}");
    }

    #[test]
    fn workspace_cannot_set_telemetry() {
        for line in [
            "enabled = true",
            "content = true",
            "path = \"/tmp/x.db\"",
            "retention_s = [1]",
            "otlp_url = \"http://x:4318\"",
        ] {
            let (folder, path) = written(&format!("[telemetry]\n{line}\n"));
            let error = Layers::default()
                .workspace(folder.path())
                .expect_err("it is the person's own choice");
            let (key, _) = line.split_once(' ').expect("a key and its value");
            let expected = format!("{}: `telemetry.{key}` can't", path.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn fingerprint_covers_what_decides_a_completion() {
        let of = |options: Value| {
            let mut layers = Layers::default();
            layers
                .options("a test", &options)
                .expect("they are settings");
            layers.merged().expect("one layer").fingerprint()
        };
        let plain = of(json!({}));
        assert_eq!(plain, Configuration::default().fingerprint());
        assert_eq!(plain.len(), 16);
        let alike = [
            json!({"model": {"protocol": "embedded", "url": "http://a.example", "key_env": "K"}}),
            json!({"model": {"proxy": "http://p", "ca_file": "c", "timeout_ms": 9}}),
            json!({"model": {"protocol": "embedded", "key_command": ["k"]}}),
            json!({"model": {"headers": {"x": "y"}, "load_timeout_ms": 9}}),
            json!({"model": {"price": {"input": 0.5, "output": 1}}}),
            json!({"model": {"stream": false, "retries": 0, "recording": "r.jsonl"}}),
            json!({"context": {"embeddings": {"url": "http://a.example", "batch": 1}}}),
            json!({"context": {"keep_index": false}}),
            json!({"context": {"budget_ms": 0}}),
            json!({"typing": {"wait_ms": 0}, "telemetry": {"enabled": false}}),
        ];
        for options in alike {
            assert_eq!(of(options.clone()), plain, "{options}");
        }
        let others = [
            json!({"model": {"protocol": "empty"}}),
            json!({"model": {"protocol": "embedded", "name": "m"}}),
            json!({"model": {"temperature": 0.5}}),
            json!({"model": {"max_tokens": 9}}),
            json!({"model": {"omit": ["temperature"]}}),
            json!({"model": {"parameters": {"top_k": 9}}}),
            json!({"context": {"profile": "none"}}),
            json!({"context": {"windows": 1}}),
            json!({"context": {"budget_ms": 500}}),
            json!({"context": {"embeddings": {"name": "m"}}}),
            json!({"cleanup": {"extent": "line"}}),
            json!({"typing": {"gate": "/g.toml"}}),
        ];
        let mut seen = vec![plain];
        for options in others {
            let fingerprint = of(options.clone());
            assert!(!seen.contains(&fingerprint), "{options}");
            seen.push(fingerprint);
        }
    }

    #[test]
    fn profile_names_round_trip() {
        for &profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            let value = serde_json::to_value(profile).expect("it is JSON");
            assert_eq!(value, profile.name());
        }
        assert_eq!("in-file".parse(), Ok(Profile::None));
        let unknown = "None".parse::<Profile>().expect_err("it is in upper case");
        assert_eq!(
            unknown,
            "the profiles are none, editor, cceval, repocoder, dense, mix, reference, given"
        );
    }

    #[test]
    fn workspace_can_set_generation() {
        let (folder, _path) = written(
            "[model]\nprotocol = \"embedded\"\nfamily = \"codegemma\"\n\
             infill = \"suffix\"\nmax_tokens = 9\ntemperature = 0.5\ntop_p = 0.9\nseed = 7\n\
             timeout_ms = 9\ncontext_tokens = 99\ncandidates = 2\nstream = false\nretries = 1\n\
             [context]\nwindows = 3\n",
        );
        let mut layers = Layers::default();
        layers
            .workspace(folder.path())
            .expect("all of it is allowed");
        let merged = layers.merged().expect("one layer");
        assert_eq!((merged.model.seed, merged.context.windows), (7, 3));
    }
}
