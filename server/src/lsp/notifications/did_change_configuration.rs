//! `workspace/didChangeConfiguration`.

use std::sync::Arc;

use tower_lsp::lsp_types::DidChangeConfigurationParams;

use crate::completion::Engines;
use crate::configuration::Configuration;
use crate::lsp::options::unwrap_settings;
use crate::lsp::reporting::{report_content, report_switch, suspend};
use crate::lsp::session::{BackgroundJob, EditorSession};

/// Applies the client's settings.
pub(in crate::lsp) async fn handle(session: &EditorSession, params: DidChangeConfigurationParams) {
    if let Some(mut state) = session.state() {
        state.client_settings = unwrap_settings(params.settings);
    }
    reload(session).await;
}

/// Applies settings that the client or a file changed.
pub(super) async fn reload(session: &EditorSession) {
    if let Some(mut state) = session.state() {
        state.revision += 1;
    }
    let configuration = match session.configuration() {
        Ok(configuration) => configuration,
        Err(error) => return suspend(session, error).await,
    };
    if let Some(recorder) = session.recorder() {
        recorder.configure(&configuration.telemetry);
    }
    let tuned = apply(session, &configuration);
    report_content(session).await;
    if let Some(engines) = tuned {
        report_switch(session, &engines).await;
    }
}

/// Applies settings: without waiting if every model they name is open, and returns the engines;
/// otherwise in the background. Also returns the engines if unusable settings were withdrawn.
fn apply(session: &EditorSession, configuration: &Configuration) -> Option<Arc<Engines>> {
    let (tuned, replaced) = {
        let mut state = session.state()?;
        let revision = state.revision;
        if let Some((engines, was_suspended)) = state.resume(configuration, revision) {
            return was_suspended.then_some(engines);
        }
        let current = state.engines.clone();
        let tuned = current
            .as_ref()
            .and_then(|engines| engines.with_settings(configuration));
        let tuned = tuned.map(Arc::new);
        let same_models = current
            .as_ref()
            .is_some_and(|engines| engines.has_models_of(configuration));
        // Until the chosen model is open, no other model gets the code.
        state.suspended = tuned.is_none() && (state.suspended || !same_models);
        if !same_models {
            state.cancel_asking();
        }
        let replaced = match &tuned {
            Some(engines) => {
                state.fault = None;
                state.finish_opening();
                state.engines.replace(Arc::clone(engines))
            }
            None => {
                state.is_opening = true;
                current
            }
        };
        // Calls of models that stay in use are not ended.
        (tuned, replaced.filter(|_| !same_models))
    };
    if let Some(replaced) = replaced {
        replaced.end_calls();
    }
    if tuned.is_none() {
        session.queue(BackgroundJob::Switch);
    }
    tuned
}
