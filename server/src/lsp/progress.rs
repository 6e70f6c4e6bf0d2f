//! What a client is told without asking: the state of the server and the progress of indexing.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use tower_lsp::Client;
use tower_lsp::lsp_types::notification::{Notification, Progress};
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    MessageType, NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress,
    WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
    WorkDoneProgressReport,
};

/// The parameters of `fillrate/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `starting`, `indexing`, `ready`, `busy` (a model is writing) or `error`.
    pub state: String,
    /// How many files are indexed, once that is known.
    pub files: Option<usize>,
    /// With `error`, what went wrong; with `ready`, why the last request showed nothing, where
    /// it did.
    pub message: Option<String>,
    /// The name in the configuration of the model that answers, or that answered last in a trial;
    /// absent in a blind one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether several models are on trial.
    #[serde(default)]
    pub trial: bool,
    /// Whether the texts of completions are kept in the local store.
    #[serde(default)]
    pub content: bool,
}

impl Status {
    /// The notification's method.
    pub const METHOD: &'static str = "fillrate/status";

    /// A state with nothing more to say.
    pub(super) fn of(state: State, files: Option<usize>) -> Self {
        Self {
            state: state.name().to_owned(),
            files,
            message: None,
            model: None,
            trial: false,
            content: false,
        }
    }
}

/// What the server is at.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Starting,
    Indexing,
    Ready,
    Busy,
    Error,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Error => "error",
        }
    }
}

enum StatusNotification {}

impl Notification for StatusNotification {
    type Params = Status;
    const METHOD: &'static str = Status::METHOD;
}

/// Sends the server's state.
pub(super) async fn tell(client: &Client, status: Status) {
    client.send_notification::<StatusNotification>(status).await;
}

/// Says that the server can't work as it is set up.
pub(super) async fn complain(client: &Client, error: impl Display) {
    let message = error.to_string();
    client.log_message(MessageType::ERROR, &message).await;
    let status = Status {
        message: Some(message),
        ..Status::of(State::Error, None)
    };
    tell(client, status).await;
}

/// The client's progress bar for indexing, where it shows one.
pub(super) struct Bar<'a> {
    client: &'a Client,
    shown: bool,
}

impl<'a> Bar<'a> {
    pub(super) async fn begin(client: &'a Client, wanted: bool) -> Self {
        let create = WorkDoneProgressCreateParams { token: token() };
        let shown = wanted
            && client
                .send_request::<WorkDoneProgressCreate>(create)
                .await
                .is_ok();
        let bar = Self { client, shown };
        bar.send(WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: "Indexing".to_owned(),
            percentage: Some(0),
            ..WorkDoneProgressBegin::default()
        }))
        .await;
        bar
    }

    pub(super) async fn report(&self, done: usize, all: usize) {
        // One report a hundredth is plenty for a bar.
        if all == 0 || !done.is_multiple_of((all / 100).max(1)) {
            return;
        }
        let percentage = u32::try_from(done * 100 / all).unwrap_or(100);
        self.send(WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some(format!("{done}/{all} files")),
            percentage: Some(percentage),
            ..WorkDoneProgressReport::default()
        }))
        .await;
    }

    pub(super) async fn end(self) {
        self.send(WorkDoneProgress::End(WorkDoneProgressEnd::default()))
            .await;
    }

    async fn send(&self, value: WorkDoneProgress) {
        if self.shown {
            let params = ProgressParams {
                token: token(),
                value: ProgressParamsValue::WorkDone(value),
            };
            self.client.send_notification::<Progress>(params).await;
        }
    }
}

fn token() -> NumberOrString {
    NumberOrString::String("fillrate/indexing".to_owned())
}
