//! `workspace/executeCommand`: the command of an accepted item.

use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{Command, ExecuteCommandParams};

use crate::lsp::capabilities::ACCEPT;
use crate::lsp::session::EditorSession;
use crate::telemetry::{Certainty, Displayed};

/// The argument of [`ACCEPT`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcceptArgument {
    /// The completion's id.
    completion: String,
    /// The candidate's index, from 0.
    #[serde(default)]
    candidate: usize,
    /// Certainty of the client that it displayed the completion, if reported.
    #[serde(default)]
    certainty: Option<Certainty>,
    /// Display time in milliseconds, if reported.
    #[serde(default)]
    shown_ms: Option<f64>,
}

/// Records the acceptance and returns once it is stored.
pub(in crate::lsp) async fn handle(
    session: &EditorSession,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    if params.command != ACCEPT {
        let unknown = format!("unknown command `{}`", params.command);
        return Err(Error::invalid_params(unknown));
    }
    let argument = params.arguments.first().map(AcceptArgument::deserialize);
    let Some(Ok(accepted)) = argument else {
        tracing::warn!("`{ACCEPT}` without a completion's id was ignored");
        return Ok(None);
    };
    if let Some(recorder) = session.recorder() {
        let displayed = Displayed::from_report(accepted.certainty, accepted.shown_ms);
        recorder
            .record_acceptance(&accepted.completion, accepted.candidate, displayed)
            .await;
    }
    Ok(None)
}

/// The command of one candidate.
pub(super) fn accept_command(completion: &str, candidate: usize) -> Command {
    Command {
        title: "Accept".to_owned(),
        command: ACCEPT.to_owned(),
        arguments: Some(vec![
            json!({"completion": completion, "candidate": candidate}),
        ]),
    }
}
