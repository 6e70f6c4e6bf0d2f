//! Reports the session's state to the client, without repeating itself.

use std::fmt::Display;

use tower_lsp::lsp_types::MessageType;

use super::session::EditorSession;
use super::status::{self, ServerFault, ServerState, ServerStatus};
use crate::completion::{Completion, CompletionOrigin, Engines, IndexSummary};

/// Sends a status unless it equals the last one. A fault lasts until a model answers.
pub(super) async fn report(session: &EditorSession, state: ServerState) {
    report_status(session, None, ServerStatus::new(state, None)).await;
}

/// Reports the progress of indexing in percent.
pub(super) async fn report_indexing(session: &EditorSession, percent: usize) {
    if let Some(mut state) = session.state() {
        state.indexing.get_or_insert_default().percent = percent;
    }
    report(session, ServerState::Ready).await;
}

/// Reports the result of a request in a document: the reason if it was empty, or its failure.
pub(super) async fn report_response(session: &EditorSession, uri: &str, completion: &Completion) {
    let trace = &completion.trace;
    let is_fresh = matches!(
        trace.source,
        CompletionOrigin::Model | CompletionOrigin::Running
    );
    if let Some(notice) = trace.notice.as_ref().filter(|_| !trace.is_blind()) {
        let notice = format!("Fillrate: {notice}");
        session.client.show_message(MessageType::INFO, notice).await;
    }
    if trace.fault.is_some() {
        let message = trace.why_nothing().unwrap_or_default();
        let seen = |text: &Option<String>| text.clone().filter(|_| !trace.is_blind());
        let cause = seen(&trace.cause).unwrap_or_else(|| "a model did not answer".to_owned());
        let fault = ServerFault::new(cause, message, seen(&trace.advice));
        report_fault(session, Some(uri), fault).await;
        return;
    }
    // A file that was not sent says nothing about the model, so it does not end the fault.
    let answered = !trace.prompt.is_empty() || !trace.steps.is_empty();
    if is_fresh
        && answered
        && let Some(mut state) = session.state()
    {
        state.fault = None;
    }
    let why = completion.candidates.is_empty();
    let why = why.then(|| trace.why_nothing()).flatten();
    let state = match &why {
        Some(_) => ServerState::Silent,
        None => ServerState::Ready,
    };
    let status = ServerStatus {
        uri: why.is_some().then(|| uri.to_owned()),
        message: why,
        ..ServerStatus::new(state, None)
    };
    report_status(session, Some(uri), status).await;
}

/// Stops serving requests until other settings are in force, as these can't be used, and reports
/// the reason.
pub(super) async fn suspend(session: &EditorSession, error: impl Display) {
    suspend_for(session, "the settings can't be used", error).await;
}

/// Stops serving requests until other settings are in force, and reports the reason. `cause` names
/// it in a few words.
pub(super) async fn suspend_for(session: &EditorSession, cause: &str, error: impl Display) {
    if let Some(mut state) = session.state() {
        state.suspended = true;
        state.cancel_asking();
        state.finish_opening();
        if let Some(engines) = &state.engines {
            engines.end_calls();
        }
    }
    let fault = ServerFault::new(cause.to_owned(), error.to_string(), None);
    report_fault(session, None, fault).await;
}

/// Reports a fault, and notifies the person of each fault once.
pub(super) async fn report_fault(session: &EditorSession, uri: Option<&str>, fault: ServerFault) {
    let is_new = {
        let Some(mut state) = session.state() else {
            return;
        };
        let known = state.fault.as_ref().filter(|known| known.is_same(&fault));
        let since_ms = known.map(|known| known.since_ms);
        state.fault = Some(ServerFault {
            since_ms: since_ms.unwrap_or(fault.since_ms),
            ..fault.clone()
        });
        since_ms.is_none()
    };
    if is_new {
        let notice = fault.notice();
        session
            .client
            .log_message(MessageType::ERROR, &fault.message)
            .await;
        session
            .client
            .show_message(MessageType::ERROR, notice)
            .await;
    }
    report_status(session, uri, ServerStatus::new(ServerState::Fault, None)).await;
}

/// Completes a status from the session's state, and sends it unless it equals the last one.
async fn report_status(session: &EditorSession, uri: Option<&str>, status: ServerStatus) {
    let engines = session.engines();
    // The settings that can't be used name the model that the person chose; the engines have an
    // earlier one.
    let suspended = session.state().is_some_and(|state| state.suspended);
    let unusable = suspended.then(|| session.configuration().ok()).flatten();
    let in_force = engines.as_ref().map(|engines| engines.configuration());
    let configuration = unusable.as_ref().or(in_force);
    let trial = configuration.is_some_and(|configuration| configuration.trial().is_some());
    let blind = configuration.is_some_and(|configuration| configuration.is_blind());
    let answering = match &unusable {
        Some(configuration) => configuration.title_in_use(),
        None => engines
            .as_ref()
            .and_then(|engines| engines.model_names(uri)),
    };
    let loading = status.state == ServerState::Asking
        && !blind
        && engines.as_ref().is_some_and(|engines| engines.is_loading());
    let status = {
        let Some(mut session) = session.state() else {
            return;
        };
        let last = session.status.as_ref();
        // Without a response, the status keeps the model that answered last.
        let answered_last = last
            .filter(|last| last.trial == trial && !blind)
            .and_then(|last| last.model.clone());
        let mut status = ServerStatus {
            content: session.recorder.keeps_content(),
            model: answering.or(answered_last),
            trial,
            loading,
            files: last.and_then(|last| last.files),
            ..status.unless_indexing(session.indexing_percent())
        };
        // An activity is reported even during a fault. An empty response does not end the fault.
        let is_over = matches!(
            status.state,
            ServerState::Ready | ServerState::Silent | ServerState::Fault
        );
        if let Some(fault) = session.fault.as_ref().filter(|_| is_over) {
            status = status.with_fault(fault);
        }
        let status = status.with_text();
        if last == Some(&status) {
            return;
        }
        session.status.insert(status).clone()
    };
    status::send(&session.client, status).await;
}

/// Reports if the setting for storing texts of completions changed.
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

/// Logs and reports that the repository is indexed, and which model is used.
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

/// Logs and reports which model is used from now on.
pub(super) async fn report_switch(session: &EditorSession, engines: &Engines) {
    let message = format!("fillrate: {}", engines.describe());
    session.client.log_message(MessageType::INFO, message).await;
    let files = session
        .state()
        .and_then(|session| session.status.as_ref()?.files);
    report_engines(session, engines, files).await;
}

/// Sends a status even if it equals the last one, as other settings are in force, and shows a notice
/// on them once.
async fn report_engines(session: &EditorSession, engines: &Engines, files: Option<usize>) {
    let notice = engines.configuration().notice();
    let is_new = session.state().is_some_and(|mut state| {
        let is_new = state.notice != notice;
        state.notice.clone_from(&notice);
        is_new
    });
    if let Some(notice) = notice.filter(|_| is_new) {
        let notice = format!("Fillrate: {notice}");
        session.client.show_message(MessageType::INFO, notice).await;
    }
    let status = {
        let Some(mut session) = session.state() else {
            return;
        };
        let status = ServerStatus {
            content: session.recorder.keeps_content(),
            model: engines.model_names(None),
            trial: engines.configuration().trial().is_some(),
            ..ServerStatus::new(ServerState::Ready, files)
                .unless_indexing(session.indexing_percent())
        };
        let status = match session.fault.as_ref().filter(|_| session.suspended) {
            Some(fault) => status.with_fault(fault),
            None => status,
        };
        session.status.insert(status.with_text()).clone()
    };
    status::send(&session.client, status).await;
}
