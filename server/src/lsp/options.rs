//! The server's command-line options and the settings they load.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::configuration::{Configuration, ConfigurationError, FILE_NAME, Layers, user_file};

/// Options from the command line.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// A settings file in place of the user's and the workspace's own.
    pub configuration_file: Option<PathBuf>,
    /// Settings from single flags, which override everything else.
    pub flags: Value,
}

impl ServerOptions {
    /// Returns the settings files for these workspace folders. They need not exist.
    pub(super) fn files(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        match &self.configuration_file {
            // A client reports changes by absolute paths, without `..`.
            Some(path) => std::path::absolute(path)
                .map(|path| without_parents(&path))
                .into_iter()
                .collect(),
            None => {
                let own = folders.iter().map(|folder| folder.join(FILE_NAME));
                user_file().into_iter().chain(own).collect()
            }
        }
    }

    /// Loads the settings for these workspace folders: files, then the client's options by origin,
    /// then the flags. Each overrides the previous ones.
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
        layers.flags(&self.flags)?;
        layers.merged()
    }
}

/// Returns an absolute path in which no part is `..`.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// Unwraps settings that a client sends either bare or under the key `fillrate`. An empty object or
/// list counts as no settings. Clients may send one object to all their servers, so bare settings
/// without any key of ours are ignored.
pub(super) fn unwrap_settings(settings: Value) -> Value {
    let own = match settings {
        Value::Object(mut map) if map.contains_key("fillrate") => {
            map.remove("fillrate").unwrap_or_default()
        }
        Value::Object(map) if !map.keys().any(|key| Configuration::has_key(key)) => {
            if !map.is_empty() {
                tracing::info!("the client's settings have no section `fillrate`");
            }
            Value::Null
        }
        other => other,
    };
    match own {
        Value::Array(list) if list.is_empty() => Value::Null,
        other => with_objects(other),
    }
}

/// Unwraps the options of `initialize`, which are only for this server: as [`unwrap_settings`], but
/// every key counts.
pub(super) fn unwrap_options(options: Value) -> Value {
    match options {
        Value::Object(map) if !map.is_empty() && !map.contains_key("fillrate") => {
            with_objects(Value::Object(map))
        }
        other => unwrap_settings(other),
    }
}

/// Replaces empty lists by empty objects where settings have a table, as Lua has one value for
/// both.
fn with_objects(mut settings: Value) -> Value {
    const TABLES: [&str; 9] = [
        "/model",
        "/models",
        "/trial",
        "/context",
        "/context/embeddings",
        "/typing",
        "/cleanup",
        "/telemetry",
        "/languages",
    ];
    for table in TABLES {
        if let Some(value) = settings.pointer_mut(table)
            && value.as_array().is_some_and(Vec::is_empty)
        {
            *value = Value::Object(serde_json::Map::new());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_lists_and_sections_of_others_are_no_settings() {
        for none in [
            json!([]),
            json!({}),
            json!({"fillrate": []}),
            json!({"pylsp": {"plugins": {}}}),
        ] {
            assert_eq!(unwrap_settings(none.clone()), Value::Null, "{none}");
        }
        let both = json!({"pylsp": {}, "fillrate": {"use": "a", "model": []}});
        assert_eq!(unwrap_settings(both), json!({"use": "a", "model": {}}));
        let misspelt = json!({"use": "a", "modle": {}});
        assert_eq!(unwrap_settings(misspelt.clone()), misspelt);
    }

    #[test]
    fn unknown_initialization_options_are_kept_to_be_refused() {
        assert_eq!(unwrap_options(json!([])), Value::Null);
        let misspelt = json!({"modle": {}});
        assert_eq!(unwrap_options(misspelt.clone()), misspelt);
    }
}
