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
mod input;
mod lifecycle;
mod notifications;
mod options;
mod output;
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
use tokio::sync::Notify;
use tower_lsp::LspServiceBuilder;

use crate::configuration::ConfigurationError;

use backend::Backend;

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

/// Serves one client over standard input and output until it sends `exit` or closes its end.
///
/// # Errors
/// The settings on the command line are invalid.
pub async fn serve(options: ServerOptions) -> Result<(), ConfigurationError> {
    // Errors in command-line settings are reported before a client waits for a response.
    options.load(&[], &[])?;
    run(backend::build(options), stdio::input(), stdio::output()).await;
    Ok(())
}

/// Serves one client over a pair of streams.
async fn run<I, O>(builder: LspServiceBuilder<Backend>, input: I, output: O)
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let (service, socket) = builder.finish();
    let session = Arc::clone(service.inner().session());
    panics::report_to(session.client.clone());
    let exit = Arc::new(Notify::new());
    let ended = Arc::new(Notify::new());
    let input = input::EndNotifyingReader::new(input, Arc::clone(&ended));
    let output = output::EndNotifyingWriter::new(output, Arc::clone(&ended));
    let service = service::OrderedService::new(service, Arc::clone(&exit));
    let served = transport::serve(input, output, socket, service);
    let client_gone = async {
        ended.notified().await;
        tokio::time::sleep(LAST_RESPONSES).await;
    };
    tokio::select! {
        () = served => {}
        () = exit.notified() => {}
        () = client_gone => {}
    }
    // A client that exits without `shutdown` may have recorded events, too.
    if let Some(recorder) = session.recorder() {
        let _ = tokio::time::timeout(LAST_WRITES, recorder.finish()).await;
    }
    session.end();
}
