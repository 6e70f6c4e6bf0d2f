//! Reports the session's state to the client, without repeating itself.

use tower_lsp::lsp_types::MessageType;

use super::session::EditorSession;
use super::status::{self, ServerState, ServerStatus};
use crate::completion::{Engines, IndexSummary};

/// Sends a status unless it was the last one sent.
pub(super) async fn report(session: &EditorSession, state: ServerState) {
    report_response(session, None, state, None).await;
}

/// As [`report`], after a response in a document, with the reason why it was empty.
pub(super) async fn report_response(
    session: &EditorSession,
    uri: Option<&str>,
    state: ServerState,
    message: Option<String>,
) {
    let engines = session.engines();
    let configuration = engines.as_ref().map(|engines| engines.configuration());
    let trial = configuration.is_some_and(|configuration| configuration.trial().is_some());
    let blind = configuration.is_some_and(|configuration| configuration.is_blind());
    let answering = engines
        .as_ref()
        .and_then(|engines| engines.model_names(uri));
    let status = {
        let Some(mut session) = session.state() else {
            return;
        };
        let last = session.status.as_ref();
        // Without a response, the model that answered last stays.
        let answered_last = last
            .filter(|last| last.trial == trial && !blind)
            .and_then(|last| last.model.clone());
        let status = ServerStatus {
            message,
            content: session.recorder.keeps_content(),
            model: answering.or(answered_last),
            trial,
            ..ServerStatus::new(state, last.and_then(|last| last.files))
        };
        if last == Some(&status) {
            return;
        }
        session.status.insert(status).clone()
    };
    status::send(&session.client, status).await;
}

/// Reports whether the texts of completions are stored, if that changed.
pub(super) async fn report_content(session: &EditorSession) {
    let status = {
        let Some(mut session) = session.state() else {
            return;
        };
        let content = session.recorder.keeps_content();
        let Some(status) = &mut session.status else {
            return;
        };
        if status.content == content {
            return;
        }
        status.content = content;
        status.clone()
    };
    status::send(&session.client, status).await;
}

/// Logs and reports that the repository is indexed, and which model answers.
pub(super) async fn report_indexed(
    session: &EditorSession,
    engines: &Engines,
    indexed: &IndexSummary,
) {
    let mut message = format!(
        "fillrate {}: {}; {} files indexed",
        env!("CARGO_PKG_VERSION"),
        engines.describe(),
        indexed.files,
    );
    for (reason, count) in &indexed.left_out {
        message.push_str(&format!("; left out {count}: {reason}"));
    }
    session.client.log_message(MessageType::INFO, message).await;
    report_engines(session, engines, Some(indexed.files)).await;
}

/// Logs and reports which model answers from now on.
pub(super) async fn report_switch(session: &EditorSession, engines: &Engines) {
    let message = format!("fillrate: {}", engines.describe());
    session.client.log_message(MessageType::INFO, message).await;
    let files = session
        .state()
        .and_then(|session| session.status.as_ref()?.files);
    report_engines(session, engines, files).await;
}

/// Sends a status even if it repeats the last: other settings are in force.
async fn report_engines(session: &EditorSession, engines: &Engines, files: Option<usize>) {
    let status = {
        let Some(mut session) = session.state() else {
            return;
        };
        let status = ServerStatus {
            content: session.recorder.keeps_content(),
            model: engines.model_names(None),
            trial: engines.configuration().trial().is_some(),
            ..ServerStatus::new(ServerState::Ready, files)
        };
        session.status.insert(status).clone()
    };
    status::send(&session.client, status).await;
}
