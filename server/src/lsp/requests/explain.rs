//! `fillrate/explain`: the trace of the last completion in a document, or of a new one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use super::refused;
use crate::completion::{Completion, Trace};
use crate::context::GivenContext;
use crate::lsp::position::from_protocol;
use crate::lsp::session::EditorSession;
use crate::lsp::task::AbortOnDrop;

/// The request's method.
pub const EXPLAIN: &str = "fillrate/explain";

/// The parameters of [`EXPLAIN`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct ExplainParams {
    text_document: TextDocumentIdentifier,
    /// Position to complete at; `None` explains the last completion.
    #[serde(default)]
    position: Option<Position>,
    /// As in an inline completion's request.
    #[serde(default)]
    fillrate: Option<GivenContext>,
}

/// The response to [`EXPLAIN`]; `null` if the document is not open or, without a position, has no
/// completion yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The candidates, best first.
    #[serde(default)]
    pub candidates: Vec<String>,
    /// The trace of its steps.
    pub trace: Trace,
}

impl From<Completion> for Explanation {
    fn from(completion: Completion) -> Self {
        Self {
            candidates: completion.candidates,
            trace: completion.trace.as_shown(),
        }
    }
}

/// Returns the trace.
///
/// # Errors
/// The settings can't be used, so that nothing completes.
pub(in crate::lsp) async fn handle(
    session: &Arc<EditorSession>,
    params: ExplainParams,
) -> Result<Option<Explanation>> {
    let uri = params.text_document.uri.as_str();
    let Some(position) = params.position else {
        let last = session
            .state()
            .and_then(|state| state.completions.get(uri).cloned());
        return Ok(last.map(Explanation::from));
    };
    let Some(engines) = session.state().and_then(|state| state.answering_engines()) else {
        let fault = session.state().and_then(|state| state.fault.clone());
        return fault.map_or(Ok(None), |fault| Err(refused(fault.sentence())));
    };
    let Some((document, cursor)) = session.model_view(uri, from_protocol(position)) else {
        return Ok(None);
    };
    let given = params.fillrate.unwrap_or_default();
    let task = AbortOnDrop::spawn(async move { engines.explain(&document, cursor, &given).await });
    Ok(task.await.map(Explanation::from))
}
