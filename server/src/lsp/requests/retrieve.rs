//! `fillrate/retrieve`: the windows of other files for a cursor, without completing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::completion::RetrievedWindows;
use crate::context::GivenContext;
use crate::lsp::position::from_protocol;
use crate::lsp::session::EditorSession;
use crate::lsp::task::AbortOnDrop;

/// The request's method. The response is a [`RetrievedWindows`], or `null` if the document is not
/// open.
pub const RETRIEVE: &str = "fillrate/retrieve";

/// The parameters of [`RETRIEVE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The cursor.
    pub position: Position,
    /// As in an inline completion's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<GivenContext>,
}

pub(in crate::lsp) async fn handle(
    session: &Arc<EditorSession>,
    params: RetrieveParams,
) -> Option<RetrievedWindows> {
    let uri = params.text_document.uri.as_str();
    let (document, cursor) = session.model_view(uri, from_protocol(params.position))?;
    let engines = session.state()?.answering_engines()?;
    let given = params.fillrate.unwrap_or_default();
    AbortOnDrop::spawn(async move { engines.retrieve(&document, cursor, &given).await }).await
}
