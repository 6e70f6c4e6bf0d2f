//! `workspace/executeCommand`: what an item's command says when a client runs it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::lsp_types::Command;

use crate::telemetry::Certainty;

/// The command of every item: its text was accepted. A client that knows nothing of Fillrate runs
/// it after the text is inserted, as the protocol asks.
pub const ACCEPT: &str = "fillrate.accept";

/// The one argument of [`ACCEPT`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptArguments {
    /// The completion's id.
    pub completion: String,
    /// Which of its candidates, from 0.
    #[serde(default)]
    pub candidate: usize,
    /// How surely the client knows that it displayed the completion, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// How long it was displayed, in milliseconds, if the client says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_ms: Option<f64>,
}

/// The command of one candidate.
pub(super) fn accept(completion: &str, candidate: usize) -> Command {
    Command {
        title: "Accept".to_owned(),
        command: ACCEPT.to_owned(),
        arguments: Some(vec![
            json!({"completion": completion, "candidate": candidate}),
        ]),
    }
}

/// What the command is told, if it is as it was given out.
pub(super) fn read(arguments: &[Value]) -> Option<AcceptArguments> {
    AcceptArguments::deserialize(arguments.first()?).ok()
}
