//! The settings of a server and where they come from: defaults, the user's `fillrate.toml`, the
//! workspace's `fillrate.toml`, the client's initialisation options and the command line, each
//! over the one before.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model;

/// All settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// Which model answers, and how it generates.
    pub model: model::Settings,
    /// What the model is told of the repository.
    pub context: ContextSettings,
    /// What happens while a person types.
    pub typing: TypingSettings,
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
}

/// How windows of other files are found (`definitions`: retrieval profiles).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Nothing but the open file.
    None,
    /// What a person types against: BM25 over windows by syntax.
    #[default]
    Editor,
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
    /// A workspace's file asks for a key.
    #[error(
        "{path}: `model.key_env` can't be set by a workspace, since a repository that you open \
         could then send your key anywhere; set it in your own configuration file"
    )]
    KeyInWorkspace {
        /// The settings file.
        path: PathBuf,
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
            reason: error.to_string().trim_end().to_owned(),
        };
        // Read as settings first: errors then carry their line.
        toml::from_str::<Configuration>(&contents).map_err(fault)?;
        self.layers.push(toml::from_str(&contents).map_err(fault)?);
        Ok(())
    }

    /// Lays a workspace's own file over what is there, if it has one.
    ///
    /// # Errors
    /// As [`Layers::file`], and where it names a key.
    pub fn workspace(&mut self, folder: &Path) -> Result<(), ConfigurationError> {
        let path = folder.join(FILE_NAME);
        if !path.is_file() {
            return Ok(());
        }
        self.file(&path)?;
        let names_key = self
            .layers
            .last()
            .is_some_and(|layer| layer.pointer("/model/key_env").is_some());
        if names_key {
            self.layers.pop();
            return Err(ConfigurationError::KeyInWorkspace { path });
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
    /// The layers contradict each other in form; each alone was checked when it was laid.
    pub fn merged(&self) -> Result<Configuration, ConfigurationError> {
        let mut whole = Value::Object(serde_json::Map::new());
        for layer in &self.layers {
            merge(&mut whole, layer);
        }
        Configuration::deserialize(&whole).map_err(|error| ConfigurationError::Options {
            origin: "the settings together",
            reason: error.to_string(),
        })
    }
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

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            windows: 5,
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
    fn a_workspace_cannot_choose_who_gets_a_key() {
        let (folder, _path) = written("[model]\nkey_env = \"SECRET\"\n");
        let mut layers = Layers::default();
        let error = layers.workspace(folder.path()).expect_err("it names a key");
        assert!(matches!(error, ConfigurationError::KeyInWorkspace { .. }));
        assert_eq!(
            layers.merged().expect("nothing was laid"),
            Configuration::default()
        );
    }
}
