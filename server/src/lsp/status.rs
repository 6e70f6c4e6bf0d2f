//! `fillrate/status`: the notification of the server's state, with the same text for every editor.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tower_lsp::Client;
use tower_lsp::lsp_types::notification::Notification;

/// The parameters of `fillrate/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// The server's state.
    pub state: ServerState,
    /// The state in a few words, for a status bar.
    #[serde(default)]
    pub text: String,
    /// Number of files indexed, once known.
    pub files: Option<usize>,
    /// With `indexing`, the progress in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<usize>,
    /// With `fault`, its description; with `silent`, the reason why the last request showed
    /// nothing.
    pub message: Option<String>,
    /// With `fault`, its cause in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// With `fault`, advice to the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// With `fault`, its start, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// With `silent`, the document that it refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The name for people of the model in use, or in a trial of the one that answered last: that in
    /// the configuration, or for `[model]` the one its server knows it by, or its protocol. Absent in
    /// a blind trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// True in a trial of several models.
    #[serde(default)]
    pub trial: bool,
    /// True if the local store keeps the texts of completions.
    #[serde(default)]
    pub content: bool,
    /// With `asking`, true if the model's server has not responded yet and may be loading the
    /// model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loading: bool,
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
    /// A model is generating.
    Asking,
    /// The last request showed nothing, for a reason that is not a failure.
    Silent,
    /// The settings can't be used, or the model does not answer.
    Fault,
}

/// A fault that prevents completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerFault {
    /// Cause in a few words, without those of the model's server.
    pub(super) cause: String,
    /// Description of the fault.
    pub(super) message: String,
    /// Advice to the person, if the message contains none.
    pub(super) advice: Option<String>,
    /// Start of the fault, in milliseconds since 1970.
    pub(super) since_ms: u64,
}

impl ServerFault {
    /// Creates a fault that starts now.
    pub(super) fn new(cause: String, message: String, advice: Option<String>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_millis();
        Self {
            cause,
            message,
            advice,
            since_ms: u64::try_from(since).unwrap_or(u64::MAX),
        }
    }

    /// True if another fault needs no further notice: servers may word one fault in several ways,
    /// for example with the number of a request.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.advice, &other.advice) {
            (Some(advice), Some(other)) => advice == other,
            _ => self.message == other.message,
        }
    }

    /// Formats fault and advice for a person.
    pub(super) fn sentence(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}. {advice}", self.message.trim_end_matches('.')),
            None => self.message.clone(),
        }
    }

    /// Formats fault and advice for a notification.
    pub(super) fn notice(&self) -> String {
        format!("Fillrate: {}", self.sentence())
    }
}

impl ServerStatus {
    /// The notification's method.
    pub const METHOD: &'static str = "fillrate/status";

    /// Creates a state without details.
    pub(super) fn new(state: ServerState, files: Option<usize>) -> Self {
        Self {
            state,
            text: String::new(),
            files,
            percent: None,
            message: None,
            cause: None,
            advice: None,
            since_ms: None,
            uri: None,
            model: None,
            trial: false,
            content: false,
            loading: false,
        }
    }

    /// Replaces `ready` by `indexing` while the repository is read; `percent` is the progress.
    pub(super) fn unless_indexing(self, percent: Option<usize>) -> Self {
        match (self.state, percent) {
            (ServerState::Ready, Some(percent)) => Self {
                state: ServerState::Indexing,
                percent: Some(percent),
                ..self
            },
            _ => self,
        }
    }

    /// Replaces the state by that of a fault.
    pub(super) fn with_fault(self, fault: &ServerFault) -> Self {
        Self {
            state: ServerState::Fault,
            percent: None,
            message: Some(fault.message.clone()),
            cause: Some(fault.cause.clone()),
            advice: fault.advice.clone(),
            since_ms: Some(fault.since_ms),
            uri: None,
            ..self
        }
    }

    /// Writes the state's text, once everything else is known.
    pub(super) fn with_text(self) -> Self {
        let name = match (&self.model, self.trial) {
            // In a blind trial, nothing identifies the model.
            (None, true) => "blind trial",
            (None, false) => "ready",
            (Some(model), _) => model,
        };
        let trial = match (&self.model, self.trial) {
            (Some(_), true) => " (trial)",
            _ => "",
        };
        let message = self.message.as_deref().unwrap_or_default();
        let text = match self.state {
            ServerState::Starting => "starting".to_owned(),
            ServerState::Indexing => format!("indexing {} %", self.percent.unwrap_or_default()),
            ServerState::Ready => format!("{name}{trial}"),
            ServerState::Asking if self.loading => format!("{name}{trial}: loading"),
            ServerState::Asking => format!("{name}{trial}: asking"),
            ServerState::Silent => format!("{name}{trial}: silent ({message})"),
            ServerState::Fault => {
                format!("fault: {}", self.cause.as_deref().unwrap_or(message))
            }
        };
        Self { text, ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_request_to_a_local_server_reports_loading() {
        let status = |loading| {
            ServerStatus {
                model: Some("codestral".to_owned()),
                loading,
                ..ServerStatus::new(ServerState::Asking, None)
            }
            .with_text()
            .text
        };
        assert_eq!(status(true), "codestral: loading");
        assert_eq!(status(false), "codestral: asking");
    }
}
