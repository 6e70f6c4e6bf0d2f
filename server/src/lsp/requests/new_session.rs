//! `fillrate/newSession`: starts another session over the same index and models.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::refused;
use crate::lsp::reporting::suspend;
use crate::lsp::session::{BackgroundJob, EditorSession, random_id};

/// The request's method. The response is `null`, once the previous session's telemetry is stored.
pub const NEW_SESSION: &str = "fillrate/newSession";

/// The parameters of [`NEW_SESSION`].
#[derive(Debug, Deserialize)]
pub(in crate::lsp) struct NewSessionParams {}

/// Resets the session: the client's settings, completions, the typing rhythm, recent files.
/// Afterwards the server behaves as after a start.
pub(in crate::lsp) async fn handle(session: &Arc<EditorSession>) -> Result<()> {
    let Some((id, ended)) = session.state().map(|mut state| {
        state.id = random_id();
        state.client_settings = Value::Null;
        state.revision += 1;
        state.running.clear();
        state.completions.clear();
        state.status = None;
        let next = Arc::new(state.recorder.for_next_session());
        for document in state.documents.all() {
            next.document_opened(&document);
        }
        // Telemetry of the ended session is finished below, outside of the lock.
        let ended = std::mem::replace(&mut state.recorder, next);
        (state.id.clone(), ended)
    }) else {
        return Ok(());
    };
    let revision = session.revision();
    let configuration = match session.configuration() {
        Ok(configuration) => configuration,
        Err(error) => {
            suspend(session, &error).await;
            return Err(refused(error.to_string()));
        }
    };
    if let Some(recorder) = session.recorder() {
        recorder.configure(&configuration.telemetry);
    }
    let engines = session.engines();
    match engines.and_then(|engines| engines.for_session(&configuration, &id)) {
        Some(engines) => {
            session.install_engines(engines, revision);
        }
        None => session.queue(BackgroundJob::Index),
    }
    ended.finish().await;
    Ok(())
}
