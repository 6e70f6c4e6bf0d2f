//! The server's command-line options and the settings they load.

use std::path::PathBuf;

use serde_json::Value;

use crate::configuration::{Configuration, ConfigurationError, Layers, user_file};

/// Options from the command line.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// A settings file in place of the user's and the workspace's own.
    pub configuration_file: Option<PathBuf>,
    /// Settings from single flags, which override everything else.
    pub flags: Value,
}

impl ServerOptions {
    /// Loads the settings for these workspace folders: files, then the client's options by origin,
    /// then the flags, each overriding the ones before.
    ///
    /// # Errors
    /// A file can't be read, or a setting is invalid.
    pub(super) fn load(
        &self,
        folders: &[PathBuf],
        client: &[(&'static str, &Value)],
    ) -> Result<Configuration, ConfigurationError> {
        let mut layers = Layers::default();
        match &self.configuration_file {
            Some(path) => layers.file(path)?,
            None => {
                if let Some(path) = user_file().filter(|path| path.is_file()) {
                    layers.file(&path)?;
                }
                for folder in folders {
                    layers.workspace(folder)?;
                }
            }
        }
        for (origin, options) in client {
            layers.options(origin, options)?;
        }
        layers.options("the command line", &self.flags)?;
        layers.merged()
    }
}

/// Returns settings that a client sends either bare or under the key `fillrate`; an empty object
/// counts as no settings.
pub(super) fn unwrap_settings(settings: Value) -> Value {
    match settings {
        Value::Object(mut map) if map.contains_key("fillrate") => {
            map.remove("fillrate").unwrap_or_default()
        }
        Value::Object(map) if map.is_empty() => Value::Null,
        other => other,
    }
}
