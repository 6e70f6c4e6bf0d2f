//! `initialize`, `initialized` and `shutdown`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{InitializeParams, InitializeResult, MessageType, ServerInfo};

use super::background;
use super::broad_folders::{broad_folder_notice, is_too_broad};
use super::capabilities::{ClientFeatures, file_watching, server_capabilities};
use super::options::unwrap_options;
use super::session::{BackgroundJob, EditorSession, Queues, SessionState, random_id};
use crate::completion::Engines;
use crate::documents::{Documents, file_path};
use crate::telemetry::Recorder;

/// Starts the session. If the settings are invalid, no state is kept: tower-lsp lets a client try
/// again, and then only the second attempt counts.
pub(super) fn initialize(
    session: &EditorSession,
    params: InitializeParams,
) -> Result<InitializeResult> {
    let features = ClientFeatures::from_params(&params);
    let (folders, broad): (Vec<_>, Vec<_>) = workspace_folders(&params)
        .into_iter()
        .partition(|folder| !is_too_broad(folder));
    let initialization_options = unwrap_options(params.initialization_options.unwrap_or_default());
    let refuse = |error: &dyn std::error::Error| Error::invalid_params(error.to_string());
    let configuration = session
        .options
        .load(
            &folders,
            &[("the initialisation options", &initialization_options)],
        )
        .map_err(|error| refuse(&error))?;
    // Checked here, while the error can still be returned to the client.
    Engines::check(&configuration).map_err(|error| refuse(&error))?;
    let (warning_sender, warnings) = mpsc::unbounded_channel();
    for folder in &broad {
        let _ = warning_sender.send(broad_folder_notice(folder));
    }
    let (name, version) = match params.client_info {
        Some(client) => (Some(client.name), client.version),
        None => (None, None),
    };
    let recorder = Arc::new(Recorder::new(name, version, warning_sender));
    recorder.configure(&configuration.telemetry);
    let (job_sender, jobs) = mpsc::unbounded_channel();
    let _ = job_sender.send(BackgroundJob::Index);
    session.start(SessionState {
        id: random_id(),
        features,
        folders,
        initialization_options,
        client_settings: Value::Null,
        documents: Documents::default(),
        engines: None,
        suspended: false,
        is_opening: true,
        opened: Arc::default(),
        revision: 0,
        running: HashMap::new(),
        completions: HashMap::new(),
        status: None,
        fault: None,
        notice: None,
        indexing: None,
        recorder,
        jobs: job_sender,
        queues: Some(Queues { jobs, warnings }),
    });
    Ok(InitializeResult {
        server_info: Some(ServerInfo {
            name: "fillrate".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        capabilities: server_capabilities(features.encoding),
    })
}

/// Starts the background worker and asks the client to watch files.
pub(super) fn initialized(session: &Arc<EditorSession>) {
    let Some((queues, features, folders)) = session.state().and_then(|mut state| {
        let queues = state.queues.take()?;
        Some((queues, state.features, state.folders.clone()))
    }) else {
        return;
    };
    if features.watches_files {
        let client = session.client.clone();
        let mut outside = session.settings_files();
        outside.retain(|file| {
            features.watches_outside && !folders.iter().any(|folder| file.starts_with(folder))
        });
        tokio::spawn(async move {
            let registration = file_watching(&outside);
            if let Err(error) = client.register_capability(vec![registration]).await {
                tracing::warn!(%error, "the client refuses to watch files");
            }
        });
    }
    let Queues { jobs, mut warnings } = queues;
    let client = session.client.clone();
    tokio::spawn(async move {
        while let Some(warning) = warnings.recv().await {
            client.show_message(MessageType::WARNING, warning).await;
        }
    });
    tokio::spawn(background::run(Arc::clone(session), jobs));
}

/// Timeout for keeping the index at shutdown. In a large repository keeping takes longer than
/// editors wait; then the next start reads the repository.
const KEEP_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits until all telemetry is stored, and a limited time for the index, if it is being kept.
pub(super) async fn shutdown(session: &EditorSession) {
    if let Some(recorder) = session.recorder() {
        recorder.finish().await;
    }
    if tokio::time::timeout(KEEP_TIMEOUT, session.keeping.lock())
        .await
        .is_err()
    {
        tracing::info!("the index is not kept: it takes too long for a shutdown");
    }
}

/// Returns the folders that a client opened.
fn workspace_folders(params: &InitializeParams) -> Vec<PathBuf> {
    match params.workspace_folders.as_deref() {
        Some(folders) if !folders.is_empty() => folders
            .iter()
            .filter_map(|folder| file_path(folder.uri.as_str()))
            .collect(),
        _ => params
            .root_uri
            .iter()
            .filter_map(|uri| file_path(uri.as_str()))
            .collect(),
    }
}
