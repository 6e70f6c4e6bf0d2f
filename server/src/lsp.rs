//! The protocol layer: the only module that knows tower-lsp and JSON-RPC.
//!
//! `EditorSession` holds the state behind one lock, which is never held across an await. Each
//! request and notification has its own file in `requests` and `notifications`; `backend` routes to
//! them. Slow work is queued in `background` as jobs.
//!
//! `transport` polls handlers in order of arrival but runs them concurrently. `service` therefore
//! polls each handler once before it reads the next message: up to its first await, a handler runs
//! in order. Notification handlers change the state before any await; request handlers take an
//! [`Arc`] of the document before any await.

mod backend;
mod background;
mod broad_folders;
mod busy;
mod capabilities;
pub mod frame;
mod indexing;
mod lifecycle;
mod notifications;
mod options;
mod panics;
mod position;
mod reporting;
mod requests;
mod service;
mod session;
mod status;
mod stdio;
mod task;
mod transport;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tower_lsp::LspServiceBuilder;

use crate::configuration::ConfigurationError;

use backend::Backend;
use service::SessionPhase;

pub use notifications::event::EVENT;
pub use options::ServerOptions;
pub use requests::explain::{EXPLAIN, Explanation};
pub use requests::inline_completion::{
    InlineCompletionContext, InlineCompletionItem, InlineCompletionList, InlineCompletionParams,
    METHOD as INLINE_COMPLETION, SelectedCompletion, TRIGGER_AUTOMATIC, TRIGGER_INVOKED,
};
pub use requests::new_session::NEW_SESSION;
pub use requests::retrieve::{RETRIEVE, RetrieveParams};
pub use status::{ServerState, ServerStatus};

/// Timeout for the last telemetry writes after the client disconnected.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Timeout for pending responses after the client closed its output: enough for finished ones,
/// without waiting for a model.
const LAST_RESPONSES: Duration = Duration::from_millis(500);

/// End of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client shut the server down, or closed its end.
    Orderly,
    /// The client sent `exit` without `shutdown`, for which the protocol requires exit code 1.
    WithoutShutdown,
}

/// Serves one client over standard input and output until it sends `exit` or closes its end.
///
/// # Errors
/// The settings on the command line are invalid.
pub async fn serve(options: ServerOptions) -> Result<SessionEnd, ConfigurationError> {
    // Errors in command-line settings are reported before a client waits for a response.
    options.load(&[], &[])?;
    Ok(run(backend::build(options), stdio::input(), stdio::output()).await)
}

/// Serves one client over a pair of streams.
async fn run<I, O>(builder: LspServiceBuilder<Backend>, input: I, output: O) -> SessionEnd
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let (service, socket) = builder.finish();
    let session = Arc::clone(service.inner().session());
    panics::report_to(session.client.clone());
    let (phase, mut phases) = watch::channel(SessionPhase::Running);
    let ended = Notify::new();
    let service = service::OrderedService::new(service, phase);
    let served = transport::serve(input, output, socket, service, &ended);
    let exited = async {
        let is_exit = |phase: &SessionPhase| matches!(phase, SessionPhase::Exited(_));
        let _ = phases.wait_for(is_exit).await;
    };
    let client_gone = async {
        ended.notified().await;
        tokio::time::sleep(LAST_RESPONSES).await;
    };
    tokio::select! {
        () = served => {}
        () = exited => {}
        () = client_gone => {}
    }
    // A client that exits without `shutdown` may have recorded events, too.
    if let Some(recorder) = session.recorder() {
        let _ = tokio::time::timeout(LAST_WRITES, recorder.finish()).await;
    }
    session.end();
    match *phases.borrow() {
        SessionPhase::Exited(end) => end,
        SessionPhase::Running | SessionPhase::ShutDown => SessionEnd::Orderly,
    }
}
