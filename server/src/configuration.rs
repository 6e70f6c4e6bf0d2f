//! The settings of a server and where they come from: defaults, the user's `fillrate.toml`, the
//! workspace's `fillrate.toml`, the client's initialisation options and the command line, each
//! over the one before.

mod trial;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cleanup::Extent;
use crate::context::Form;
#[cfg(doc)]
use crate::context::Given;
use crate::model::embeddings::EmbeddingSettings;
use crate::model::{self, Protocol};

pub use trial::{AnsweringModel, DEFAULT, TrialSettings, TrialUnit};

/// All settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// Which model answers, and how it generates.
    pub model: model::Settings,
    /// Other models, by names of their own.
    pub models: BTreeMap<String, model::Settings>,
    /// The name of the one that answers; without it `model` does, and with a trial it says
    /// nothing.
    #[serde(rename = "use")]
    pub used: Option<String>,
    /// Several models that take turns.
    #[serde(deserialize_with = "trial::or_default")]
    pub trial: TrialSettings,
    /// What the model is told of the repository.
    pub context: ContextSettings,
    /// What happens while a person types.
    pub typing: TypingSettings,
    /// What becomes of a model's text.
    pub cleanup: CleanupSettings,
    /// What is noted of completions and of what becomes of them.
    pub telemetry: TelemetrySettings,
}

impl Configuration {
    /// Tells what is completed under these settings from what is under others: 16 hex digits of
    /// the SHA-256 of those that decide it. Left out are how a model is reached, be it by an
    /// address or by a file, and how it is waited for, so that one model reached in two ways is
    /// one; and what happens at the keyboard or is noted.
    pub fn fingerprint(&self) -> String {
        let defaults = Self::default();
        let model = model::Settings {
            url: None,
            key_env: None,
            key_command: None,
            proxy: None,
            ca_file: None,
            recording: None,
            timeout_ms: defaults.model.timeout_ms,
            stream: defaults.model.stream,
            retries: defaults.model.retries,
            ..self.model.clone()
        };
        let context = ContextSettings {
            embeddings: EmbeddingSettings {
                name: self.context.embeddings.name.clone(),
                ..EmbeddingSettings::default()
            },
            ..self.context.clone()
        };
        let deciding =
            serde_json::json!({"model": model, "context": context, "cleanup": self.cleanup});
        let digest = Sha256::digest(deciding.to_string());
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// What is noted of completions and of what becomes of them, on this machine alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// Whether anything is noted.
    pub enabled: bool,
    /// Whether the texts of completions are kept too.
    pub content: bool,
    /// The store, a database file; without it `fillrate/telemetry.db` in the user's folder of
    /// data.
    pub path: Option<PathBuf>,
    /// When to look at what is left of an accepted text, in seconds after the accept.
    pub retention_s: Vec<u64>,
}

/// What becomes of a model's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CleanupSettings {
    /// How far a completion may go.
    pub extent: Extent,
}

/// What happens while a person types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TypingSettings {
    /// The longest wait for the next key before a model is asked, in milliseconds; 0 asks at
    /// every key. The wait itself follows the person's rhythm.
    pub wait_ms: u64,
    /// Whether the model is asked for what comes next as soon as a completion is accepted.
    pub ahead: bool,
    /// Whether earlier answers and calls under way are used again where they hold.
    pub reuse: bool,
}

/// What the model is told of the repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContextSettings {
    /// How windows of other files are found.
    pub profile: Profile,
    /// The most windows of other files that are given to the model.
    pub windows: usize,
    /// Where the vectors of texts come from, for the profiles that compare them.
    pub embeddings: EmbeddingSettings,
}

/// How windows of other files are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Nothing but the open file.
    #[serde(alias = "in-file")]
    None,
    /// What a person types against: BM25 over windows by syntax.
    #[default]
    Editor,
    /// CrossCodeEval's: BM25 over windows of ten lines.
    Cceval,
    /// RepoCoder's: Jaccard similarity over windows of twenty lines, and a second round in which
    /// the first completion joins the question.
    Repocoder,
    /// CrossCodeEval's windows by the angle between their vectors and the question's, which a
    /// server of embeddings gives.
    Dense,
    /// The rankings of `cceval` and `dense` fused.
    Mix,
    /// CrossCodeEval's with the reference: the question holds what is missing, which a request
    /// brings along. An upper bound, not a retriever: see [`Given`].
    Reference,
    /// Just the windows that the request brings along: see [`Given`].
    Given,
}

impl Profile {
    /// All profiles, in the order of the reference page.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Editor,
        Self::Cceval,
        Self::Repocoder,
        Self::Dense,
        Self::Mix,
        Self::Reference,
        Self::Given,
    ];

    /// The name in the configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Editor => "editor",
            Self::Cceval => "cceval",
            Self::Repocoder => "repocoder",
            Self::Dense => "dense",
            Self::Mix => "mix",
            Self::Reference => "reference",
            Self::Given => "given",
        }
    }

    /// How its windows are written into a prompt.
    pub const fn form(self) -> Form {
        match self {
            Self::None | Self::Editor | Self::Repocoder => Form::Family,
            Self::Cceval | Self::Dense | Self::Mix | Self::Reference => Form::Comments,
            Self::Given => Form::Whole,
        }
    }

    /// Whether it heeds what a request gives it beside the place.
    pub const fn heeds_given(self) -> bool {
        matches!(self, Self::Reference | Self::Given)
    }

    /// Whether the repository's files are read. Where they are not, a model that learns from them
    /// does not either.
    pub const fn reads_repository(self) -> bool {
        !matches!(self, Self::None | Self::Given)
    }

    /// Whether it needs vectors of texts.
    pub const fn needs_vectors(self) -> bool {
        matches!(self, Self::Dense | Self::Mix)
    }

    /// Whether windows are found at once, without a model or another server.
    pub const fn is_immediate(self) -> bool {
        !matches!(self, Self::Repocoder | Self::Dense | Self::Mix)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "in-file" {
            return Ok(Self::None);
        }
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == text)
            .ok_or_else(|| format!("the profiles are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Why settings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file can't be read.
    #[error("{path} can't be read: {reason}")]
    Unreadable {
        /// The settings file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is not TOML, or a key or value in it is not one of ours.
    #[error("{path}: {reason}")]
    File {
        /// The settings file.
        path: PathBuf,
        /// What is wrong, with line and key.
        reason: String,
    },
    /// The client's options hold a key or value that is not one of ours.
    #[error("{origin}: {reason}")]
    Options {
        /// Where the options came from.
        origin: &'static str,
        /// What is wrong, with the key.
        reason: String,
    },
    /// A workspace's file sets what only its reader may.
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
    /// The models' names don't fit together.
    #[error("`{setting}` {reason}")]
    Models {
        /// The setting.
        setting: String,
        /// What is wrong, and what to do.
        reason: String,
    },
}

/// Layers of settings, lowest first, which make up a [`Configuration`].
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<Value>,
}

impl Layers {
    /// Lays a settings file over what is there.
    ///
    /// # Errors
    /// The file can't be read, or holds something that is no setting of ours.
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
        // Read as settings first: errors then carry their line.
        toml::from_str::<Configuration>(&contents).map_err(fault)?;
        self.layers.push(toml::from_str(&contents).map_err(fault)?);
        Ok(())
    }

    /// Lays a workspace's own file over what is there, if it has one.
    ///
    /// # Errors
    /// As [`Layers::file`], and where it sets what could lead code or keys elsewhere.
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
            .or_else(|| of_table("/telemetry", &|_, _| true));
        if let Some(key) = refused {
            self.layers.pop();
            return Err(ConfigurationError::NotForWorkspaces { path, key });
        }
        Ok(())
    }

    /// Lays options in JSON form over what is there; `null` is no options.
    ///
    /// # Errors
    /// Something in them is no setting of ours.
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
            reason: error.to_string(),
        };
        Configuration::deserialize(options).map_err(fault)?;
        self.layers.push(options.clone());
        Ok(())
    }

    /// The settings that the layers make up.
    ///
    /// # Errors
    /// The layers contradict each other in form, where each alone was checked when it was laid; or
    /// a model is named that none of them has.
    pub fn merged(&self) -> Result<Configuration, ConfigurationError> {
        let mut whole = Value::Object(serde_json::Map::new());
        for layer in &self.layers {
            let names_one = layer.get("use").is_some_and(Value::is_string);
            if names_one && layer.get("trial").is_none() {
                // Who puts one model in use ends a trial that a lower layer set up.
                merge(&mut whole, &serde_json::json!({"trial": null}));
            }
            merge(&mut whole, layer);
        }
        let merged =
            Configuration::deserialize(&whole).map_err(|error| ConfigurationError::Options {
                origin: "the settings together",
                reason: error.to_string(),
            })?;
        merged.check_names()?;
        Ok(merged)
    }
}

/// What is wrong with a file, and in which line. The line itself is not shown: who misspells a
/// setting may have written a key there.
fn located(error: &toml::de::Error, contents: &str) -> String {
    let message = error.message();
    match error.span() {
        Some(span) => {
            let before = contents.get(..span.start).unwrap_or(contents);
            format!("line {}: {message}", before.matches('\n').count() + 1)
        }
        None => message.to_owned(),
    }
}

/// What a workspace may set of a source of vectors.
const PACING: [&str; 2] = ["batch", "timeout_ms"];

/// Whether a workspace may set this of a model: how it generates, not where it is. A setting that
/// is not known here is refused.
fn workspace_may_set(key: &str, value: &Value) -> bool {
    const GENERATING: &[&str] = &[
        "name",
        "family",
        "infill",
        "max_tokens",
        "temperature",
        "top_p",
        "seed",
        "timeout_ms",
        "context_tokens",
        "candidates",
        "stream",
        "retries",
    ];
    // A protocol may bring its vendor's address with it; these two send nothing anywhere.
    let stays_here = [Protocol::Embedded, Protocol::Empty].map(Protocol::name);
    GENERATING.contains(&key)
        || (key == "protocol"
            && value
                .as_str()
                .is_some_and(|name| stays_here.contains(&name)))
}

/// The name of a settings file, in a workspace folder or the user's configuration folder.
pub const FILE_NAME: &str = "fillrate.toml";

/// The user's own settings file, whether or not it exists.
pub fn user_file() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(base.join("fillrate").join(FILE_NAME))
}

/// Lays `over` over `base`: objects key by key, everything else whole.
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
        }
    }
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            windows: 5,
            embeddings: EmbeddingSettings::default(),
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
    fn later_layers_win_key_by_key() {
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
    fn a_misspelt_key_is_named_with_its_line() {
        let (_folder, path) = written("[context]\nwindow = 3\n");
        let error = Layers::default()
            .file(&path)
            .expect_err("there is no such key");
        let message = error.to_string();
        assert!(message.contains("line 2"), "{message}");
        assert!(message.contains("`window`"), "{message}");
    }

    #[test]
    fn a_key_in_a_file_is_not_shown() {
        for line in ["key = \"sk-1\"", "key_env = [\"sk-1\"]", "key_env = sk-1"] {
            let (_folder, path) = written(&format!("[model]\n{line}\n"));
            let error = Layers::default().file(&path).expect_err("it is faulty");
            let message = error.to_string();
            assert!(message.contains("line 2: "), "{message}");
            assert!(!message.contains("sk-1"), "{message}");
        }
    }

    #[test]
    fn a_workspace_cannot_choose_where_code_and_keys_go() {
        let refused = [
            "key_env = \"SECRET\"",
            "key_command = [\"sh\", \"-c\", \"true\"]",
            "url = \"http://example.org\"",
            "proxy = \"http://example.org\"",
            "ca_file = \"own.pem\"",
            "recording = \"/etc/passwd\"",
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
                layers.merged().expect("nothing was laid"),
                Configuration::default()
            );
        }
    }

    #[test]
    fn a_workspace_cannot_choose_where_its_windows_go() {
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
        let laid = Layers::default().workspace(folder.path());
        laid.expect("both are fine");
    }

    #[test]
    fn a_workspace_cannot_choose_what_is_noted_of_a_person() {
        for line in [
            "enabled = true",
            "content = true",
            "path = \"/tmp/x.db\"",
            "retention_s = [1]",
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
    fn a_fingerprint_tells_what_decides_a_completion() {
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
            json!({"model": {"url": "http://a.example", "key_env": "K", "proxy": "http://p"}}),
            json!({"model": {"key_command": ["k"], "ca_file": "c", "timeout_ms": 9}}),
            json!({"model": {"stream": false, "retries": 0, "recording": "r.jsonl"}}),
            json!({"context": {"embeddings": {"url": "http://a.example", "batch": 1}}}),
            json!({"typing": {"wait_ms": 0}, "telemetry": {"enabled": false}}),
        ];
        for options in alike {
            assert_eq!(of(options.clone()), plain, "{options}");
        }
        let others = [
            json!({"model": {"protocol": "empty"}}),
            json!({"model": {"name": "m"}}),
            json!({"model": {"temperature": 0.5}}),
            json!({"model": {"max_tokens": 9}}),
            json!({"context": {"profile": "none"}}),
            json!({"context": {"windows": 1}}),
            json!({"context": {"embeddings": {"name": "m"}}}),
            json!({"cleanup": {"extent": "line"}}),
        ];
        let mut seen = vec![plain];
        for options in others {
            let fingerprint = of(options.clone());
            assert!(!seen.contains(&fingerprint), "{options}");
            seen.push(fingerprint);
        }
    }

    #[test]
    fn every_profile_is_told_by_its_name() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            let value = serde_json::to_value(profile).expect("it is JSON");
            assert_eq!(value, profile.name());
        }
        assert_eq!("in-file".parse(), Ok(Profile::None));
    }

    #[test]
    fn a_workspace_can_choose_how_a_model_generates() {
        let (folder, _path) = written(
            "[model]\nprotocol = \"embedded\"\nname = \"m\"\nfamily = \"codegemma\"\n\
             infill = \"suffix\"\nmax_tokens = 9\ntemperature = 0.5\ntop_p = 0.9\nseed = 7\n\
             timeout_ms = 9\ncontext_tokens = 99\ncandidates = 2\nstream = false\nretries = 1\n\
             [context]\nwindows = 3\n",
        );
        let mut layers = Layers::default();
        layers.workspace(folder.path()).expect("all of it is fine");
        let merged = layers.merged().expect("one layer");
        assert_eq!((merged.model.seed, merged.context.windows), (7, 3));
    }
}
