//! One file per request. Handlers copy what they need from the state before their first await.

mod answer;
pub(super) mod completion;
pub(super) mod execute_command;
pub(super) mod explain;
pub(super) mod inline_completion;
pub(super) mod models;
pub(super) mod new_session;
pub(super) mod purge;
pub(super) mod retrieve;

use tower_lsp::jsonrpc::{Error, ErrorCode};

/// The response to a request that can't be served, with the reason.
fn refused(reason: String) -> Error {
    Error {
        code: ErrorCode::ServerError(1),
        message: reason.into(),
        data: None,
    }
}
