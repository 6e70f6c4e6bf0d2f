//! Capabilities of the client and of the server.

use std::path::PathBuf;

use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    CompletionOptions, ExecuteCommandOptions, InitializeParams, OneOf, PositionEncodingKind,
    Registration, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Url,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::text::Encoding;

/// The command of every item: its text was accepted. The protocol requires clients to run it after
/// they insert the text.
pub(super) const ACCEPT: &str = "fillrate.accept";

/// Names, in lower case, of clients that add a watch for each folder of a project before they do
/// anything else. Eglot is blocked for seconds in a large project.
const FOLDER_WATCHERS: [&str; 1] = ["eglot"];

/// Capabilities of the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientFeatures {
    /// The position encoding, chosen from those that the client offers.
    pub(super) encoding: Encoding,
    /// True if it shows progress bars.
    pub(super) shows_progress: bool,
    /// True if it can be asked to report changes on disk, and bears it.
    pub(super) watches_files: bool,
    /// True if it can watch files outside of the workspace, too.
    pub(super) watches_outside: bool,
}

impl ClientFeatures {
    /// Reads the client's capabilities.
    pub(super) fn from_params(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let offered = capabilities
            .general
            .as_ref()
            .and_then(|general| general.position_encodings.as_deref())
            .unwrap_or_default();
        // UTF-8 is preferred, as bytes need no conversion.
        let encoding = [Encoding::Utf8, Encoding::Utf32]
            .into_iter()
            .find(|encoding| offered.iter().any(|kind| kind.as_str() == encoding.name()))
            .unwrap_or_default();
        let shows_progress = capabilities
            .window
            .as_ref()
            .and_then(|window| window.work_done_progress)
            .unwrap_or(false);
        let watching = capabilities
            .workspace
            .as_ref()
            .and_then(|workspace| workspace.did_change_watched_files.as_ref());
        let can_watch =
            watching.is_some_and(|watching| watching.dynamic_registration == Some(true));
        let has_relative_patterns =
            watching.is_some_and(|watching| watching.relative_pattern_support == Some(true));
        let bears_watching = match &params.client_info {
            Some(client) => !FOLDER_WATCHERS.contains(&client.name.to_lowercase().as_str()),
            // Older versions of such clients have neither a name nor relative patterns.
            None => has_relative_patterns,
        };
        let watches_files = can_watch && bears_watching;
        Self {
            encoding,
            shows_progress,
            watches_files,
            watches_outside: watches_files && has_relative_patterns,
        }
    }
}

/// Returns the server's capabilities. [`service`](super::service) adds inline completion, for which
/// lsp-types has no field.
pub(super) fn server_capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
            include_text: Some(false),
        })),
        ..TextDocumentSyncOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::new(encoding.name())),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        completion_provider: Some(CompletionOptions::default()),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![ACCEPT.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// Returns the registration for every change in the workspace, and of these files outside of it. It
/// includes ignore files, and folders, whose files appear and disappear with them.
pub(super) fn file_watching(outside: &[PathBuf]) -> Registration {
    let outside = outside.iter().filter_map(|file| {
        let base = Url::from_directory_path(file.parent()?).ok()?;
        let name = file.file_name()?.to_str()?;
        Some(json!({"globPattern": {"baseUri": base, "pattern": name}}))
    });
    let inside = std::iter::once(json!({"globPattern": "**/*"}));
    let watchers: Vec<Value> = inside.chain(outside).collect();
    Registration {
        id: "fillrate/files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: Some(json!({"watchers": watchers})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_of_the_workspace_are_watched() {
        let registration = file_watching(&[PathBuf::from("/home/a/fillrate.toml")]);
        let options = registration.register_options.expect("it has watchers");
        let pattern = json!({"baseUri": "file:///home/a/", "pattern": "fillrate.toml"});
        assert_eq!(options["watchers"][1]["globPattern"], pattern);
    }

    #[test]
    fn files_are_watched_by_clients_that_bear_it() {
        let watches = |client: serde_json::Value, relative: bool, able: bool| {
            let params = json!({
                "clientInfo": client,
                "capabilities": {"workspace": {"didChangeWatchedFiles": {
                    "dynamicRegistration": able, "relativePatternSupport": relative,
                }}},
            });
            let params = serde_json::from_value(params).expect("they are valid");
            ClientFeatures::from_params(&params).watches_files
        };
        let named = |name: &str| json!({"name": name});
        assert!(watches(named("Visual Studio Code"), true, true));
        assert!(watches(named("helix"), false, true));
        assert!(!watches(named("helix"), false, false));
        assert!(!watches(named("Eglot"), true, true));
        assert!(watches(serde_json::Value::Null, true, true));
        assert!(!watches(serde_json::Value::Null, false, true));
    }
}
