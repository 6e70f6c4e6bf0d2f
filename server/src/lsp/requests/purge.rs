//! `fillrate/purge`: removes everything from the local store.

use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;

use super::refused;
use crate::lsp::session::EditorSession;

/// The request's method.
pub(in crate::lsp) const PURGE: &str = "fillrate/purge";

/// The parameters of [`PURGE`].
#[derive(Debug, Deserialize)]
pub(in crate::lsp) struct PurgeParams {}

/// The response to [`PURGE`].
#[derive(Debug, Default, Serialize)]
pub(in crate::lsp) struct PurgeResult {
    /// Number of completions removed.
    removed: usize,
}

/// Returns once the store is empty.
pub(in crate::lsp) async fn handle(session: &EditorSession) -> Result<PurgeResult> {
    let configuration = session
        .configuration()
        .map_err(|error| refused(error.to_string()))?;
    let Some(recorder) = session.recorder() else {
        return Ok(PurgeResult::default());
    };
    match recorder.purge(&configuration.telemetry).await {
        Ok(removed) => Ok(PurgeResult { removed }),
        Err(error) => Err(refused(format!("the store can't be emptied: {error}"))),
    }
}
