//! `fillrate/status`: the notification of the server's state.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use tower_lsp::Client;
use tower_lsp::lsp_types::MessageType;
use tower_lsp::lsp_types::notification::Notification;

/// The parameters of `fillrate/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// `starting`, `indexing`, `ready`, `busy` (a model is writing) or `error`.
    pub state: ServerState,
    /// Number of files indexed, once known.
    pub files: Option<usize>,
    /// With `error`, the reason; with `ready`, why the last request showed nothing, if it did.
    pub message: Option<String>,
    /// The name in the configuration of the model that answers, or that answered last in a trial;
    /// absent in a blind trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether several models are on trial.
    #[serde(default)]
    pub trial: bool,
    /// Whether the local store keeps the texts of completions.
    #[serde(default)]
    pub content: bool,
}

/// The server's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerState {
    /// The session began.
    Starting,
    /// The repository is being indexed.
    Indexing,
    /// Completions are available.
    Ready,
    /// A model is writing.
    Busy,
    /// The settings can't be used.
    Error,
}

impl ServerStatus {
    /// The notification's method.
    pub const METHOD: &'static str = "fillrate/status";

    /// A state without details.
    pub(super) fn new(state: ServerState, files: Option<usize>) -> Self {
        Self {
            state,
            files,
            message: None,
            model: None,
            trial: false,
            content: false,
        }
    }
}

enum StatusNotification {}

impl Notification for StatusNotification {
    type Params = ServerStatus;
    const METHOD: &'static str = ServerStatus::METHOD;
}

/// Sends a status to the client.
pub(super) async fn send(client: &Client, status: ServerStatus) {
    client.send_notification::<StatusNotification>(status).await;
}

/// Logs an error that keeps the server from working, and sends it as the status.
pub(super) async fn send_error(client: &Client, error: impl Display) {
    let message = error.to_string();
    client.log_message(MessageType::ERROR, &message).await;
    let status = ServerStatus {
        message: Some(message),
        ..ServerStatus::new(ServerState::Error, None)
    };
    send(client, status).await;
}
