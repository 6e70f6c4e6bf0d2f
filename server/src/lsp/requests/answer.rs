//! Common part of both completion requests.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::completion::{Completion, Engines, Trigger};
use crate::context::GivenContext;
use crate::documents::Snapshot;
use crate::lsp::busy::BusyGuard;
use crate::lsp::reporting::report_response;
use crate::lsp::session::{EditorSession, RunningRequest};
use crate::lsp::task::AbortOnDrop;
use crate::telemetry::{CompletionRequest, Recorder, RequestKind};
use crate::text::{ByteOffset, Position};

/// A completion with its document and cursor.
pub(super) struct CompletionAnswer {
    /// The completion's globally unique id.
    pub(super) id: String,
    pub(super) completion: Completion,
    pub(super) document: Arc<Snapshot>,
    pub(super) cursor: ByteOffset,
}

/// Time limit for engines to be opened, after which a request gets no answer.
const OPENING: Duration = Duration::from_secs(5);

/// Completes at a position of an open document, or after a selected suggestion that replaces a
/// range. Returns `None` if the document is not open, the settings can't be used, a newer request
/// replaced this one, or the document changed.
pub(super) async fn complete(
    session: &Arc<EditorSession>,
    kind: RequestKind,
    uri: &str,
    position: Position,
    selection: Option<(Range<Position>, String)>,
    trigger: Trigger,
    given: GivenContext,
) -> Option<CompletionAnswer> {
    // Runs up to the first await before the next message is read, so the document is the current
    // one.
    let started = Instant::now();
    let (document, view, encoding, mut pending, mut replaced) = {
        let mut state = session.state()?;
        let document = state.documents.snapshot(uri)?;
        let view = state.documents.model_view(uri)?;
        let pending = PendingRequest::new(&state.recorder, uri);
        let (newer, replaced) = oneshot::channel();
        let request = RunningRequest {
            _cancel: newer,
            has_engines: false,
        };
        // Dropping the previous sender cancels the previous request.
        state.running.insert((uri.to_owned(), kind), request);
        (document, view, state.features.encoding, pending, replaced)
    };
    let Some(engines) = engines(session, uri, kind, &mut replaced).await else {
        // Without a model that can be asked, nothing was overtaken.
        pending.is_overtaken = replaced.try_recv() != Err(oneshot::error::TryRecvError::Empty);
        return None;
    };
    let mut cursor = document.text.offset(position, encoding);
    let mut model_cursor = view.offset(cursor);
    let mut model_document = Arc::clone(&view.document);
    let mut document = document;
    let mut selected = String::new();
    // The text that the list would insert is completed, both in the document and in the models'
    // view.
    if let Some((range, text)) = selection {
        let start = document.text.offset(range.start, encoding).min(cursor);
        let end = document.text.offset(range.end, encoding).max(cursor);
        let (replaced, end_in_view) =
            model_document.with_replaced(view.offset(start)..view.offset(end), &text);
        (model_document, model_cursor) = (Arc::new(replaced), end_in_view);
        let (replaced, own_end) = document.with_replaced(start..end, &text);
        (document, cursor) = (Arc::new(replaced), own_end);
        selected = text;
    }
    let _busy = BusyGuard::new(session);
    let task = {
        let engines = Arc::clone(&engines);
        AbortOnDrop::spawn(async move {
            engines
                .complete(&model_document, model_cursor, trigger, &given)
                .await
        })
    };
    let completion = tokio::select! {
        done = task => done?,
        _ = &mut replaced => return None,
    };
    {
        let mut state = session.state()?;
        state.completions.insert(uri.to_owned(), completion.clone());
        // The text changed while the model was generating, so the completion does not fit.
        if state.documents.snapshot(uri)?.version != document.version {
            return None;
        }
    }
    let request = CompletionRequest {
        kind,
        trigger,
        document: &document,
        cursor,
        selected: &selected,
        latency: started.elapsed(),
        configuration: engines.configuration_for(&completion),
    };
    let id = pending.record_answer(request, &completion);
    report_response(session, uri, &completion).await;
    Some(CompletionAnswer {
        id,
        completion,
        document,
        cursor,
    })
}

/// The engines that answer a request, which waits for them while they are opened. `None` if the
/// settings can't be used or the request is cancelled.
async fn engines(
    session: &EditorSession,
    uri: &str,
    kind: RequestKind,
    cancelled: &mut oneshot::Receiver<()>,
) -> Option<Arc<Engines>> {
    let until = tokio::time::Instant::now() + OPENING;
    loop {
        let opened = Arc::clone(&session.state()?.opened);
        let opened = opened.notified();
        tokio::pin!(opened);
        // From here on no opening is missed.
        opened.as_mut().enable();
        {
            let mut state = session.state()?;
            if cancelled.try_recv() != Err(oneshot::error::TryRecvError::Empty) {
                return None;
            }
            if let Some(engines) = state.answering_engines() {
                if let Some(request) = state.running.get_mut(&(uri.to_owned(), kind)) {
                    request.has_engines = true;
                }
                return Some(engines);
            }
            if !state.is_opening {
                return None;
            }
        }
        tokio::select! {
            () = opened => {}
            _ = &mut *cancelled => return None,
            () = tokio::time::sleep_until(until) => return None,
        }
    }
}

/// A request that counts as overtaken if it is dropped before it is answered.
struct PendingRequest {
    recorder: Arc<Recorder>,
    uri: String,
    /// False once it was answered, and if there is no model that can be asked.
    is_overtaken: bool,
}

impl PendingRequest {
    fn new(recorder: &Arc<Recorder>, uri: &str) -> Self {
        Self {
            recorder: Arc::clone(recorder),
            uri: uri.to_owned(),
            is_overtaken: true,
        }
    }

    /// Records the completion and returns its id.
    fn record_answer(mut self, request: CompletionRequest<'_>, completion: &Completion) -> String {
        self.is_overtaken = false;
        self.recorder.record_answer(request, completion)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if self.is_overtaken {
            self.recorder.count_overtaken(&self.uri);
        }
    }
}
