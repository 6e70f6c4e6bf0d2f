//! A running model call, which outlives its request while the person types what the model streams.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::cache::{RequestKey, agrees};
use super::trace::Completion;
use crate::text::{ByteOffset, Text};

/// One model call. It ends a grace period after the last request for it: editors cancel a request
/// when a key is typed, and send the next one right after.
#[derive(Debug)]
pub(super) struct ModelCall {
    pub(super) key: Arc<RequestKey>,
    streamed: Arc<StreamedText>,
    outcome: watch::Receiver<Option<Arc<Completion>>>,
    task: AbortHandle,
    waiting: Mutex<Waiting>,
}

/// The text of each candidate so far.
#[derive(Debug, Default)]
pub(super) struct StreamedText(Mutex<Vec<String>>);

#[derive(Debug, Default)]
struct Waiting {
    requests: usize,
    /// Time until which the call continues without a request.
    until: Option<Instant>,
}

/// Time for which a call continues after its request was cancelled: the edit that caused the
/// cancellation arrives within this time.
const GRACE: Duration = Duration::from_millis(15);

/// Time for which a call continues after an edit that agrees with it: the next request arrives
/// within this time. VS Code waits 50 ms, Neovim 200 ms.
const LINGER: Duration = Duration::from_millis(300);

impl StreamedText {
    /// Records a candidate's text so far.
    pub(super) fn update(&self, candidate: usize, text: &str) {
        let mut texts = self.0.lock();
        // A later candidate may stream before an earlier one.
        if texts.len() <= candidate {
            texts.resize(candidate + 1, String::new());
        }
        texts[candidate].clear();
        texts[candidate].push_str(text);
    }

    /// True if some candidate may agree with the typed text. Before the first text, all may.
    fn agrees(&self, typed: &str) -> bool {
        let texts = self.0.lock();
        texts.is_empty() || texts.iter().any(|text| agrees(text, typed))
    }
}

impl ModelCall {
    /// Creates a call that runs in `task`; its completion arrives through `outcome`.
    pub(super) fn new(
        key: Arc<RequestKey>,
        streamed: Arc<StreamedText>,
        outcome: watch::Receiver<Option<Arc<Completion>>>,
        task: AbortHandle,
    ) -> Arc<Self> {
        Arc::new(Self {
            key,
            streamed,
            outcome,
            task,
            waiting: Mutex::default(),
        })
    }

    /// Waits for the completion; `None` if the call is aborted. Dropping the future withdraws the
    /// request.
    pub(super) async fn wait(self: &Arc<Self>) -> Option<Arc<Completion>> {
        self.waiting.lock().requests += 1;
        let _request = Request(Arc::clone(self));
        let mut outcome = self.outcome.clone();
        let done = outcome.wait_for(Option::is_some).await.ok()?;
        done.clone()
    }

    /// Continues for a while without a request, as one is about to arrive.
    pub(super) fn linger(self: &Arc<Self>) {
        self.waiting.lock().until = Some(Instant::now() + LINGER);
        self.end_when_unwanted();
    }

    /// Handles an edit of the document. A call that contradicts the new text ends at once.
    pub(super) fn edited(self: &Arc<Self>, text: &Text) {
        match text_between(text, &self.key) {
            Some(typed) if self.streamed.agrees(&typed) => self.linger(),
            _ => self.end(),
        }
    }

    /// True if the call can still serve a request after this text was typed.
    pub(super) fn may_serve(&self, typed: &str) -> bool {
        !self.task.is_finished() && self.streamed.agrees(typed)
    }

    /// Ends the call, as a newer one replaces it, unless a request waits for it.
    pub(super) fn replaced(&self) {
        if self.waiting.lock().requests == 0 {
            self.end();
        }
    }

    /// Aborts the call.
    pub(super) fn end(&self) {
        self.task.abort();
    }

    /// Ends the call once no request waits for it and its grace period is over.
    fn end_when_unwanted(self: &Arc<Self>) {
        let model_call = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                if model_call.task.is_finished() {
                    return;
                }
                let until = {
                    let waiting = model_call.waiting.lock();
                    // The last waiting request starts this task again when it is dropped.
                    if waiting.requests > 0 {
                        return;
                    }
                    waiting.until
                };
                match until.filter(|until| *until > Instant::now()) {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => return model_call.end(),
                }
            }
        });
    }
}

/// A request that waits for a call.
struct Request(Arc<ModelCall>);

impl Drop for Request {
    fn drop(&mut self) {
        {
            let mut waiting = self.0.waiting.lock();
            waiting.requests -= 1;
            let grace = Instant::now() + GRACE;
            // The longer period after an edit must not be shortened.
            waiting.until = Some(waiting.until.map_or(grace, |until| until.max(grace)));
        }
        // Outside of the runtime the process is about to end, so no task is needed.
        if !self.0.task.is_finished() && tokio::runtime::Handle::try_current().is_ok() {
            self.0.end_when_unwanted();
        }
    }
}

/// Returns the text of a document between the prefix and the suffix of an earlier request; `None`
/// if either has changed.
pub(super) fn text_between(text: &Text, key: &RequestKey) -> Option<String> {
    let start = key.cursor();
    let end = start + text.len().0.checked_sub(start + key.rest())?;
    let same = text.has_at(ByteOffset(key.before), &key.prefix)
        && text.has_at(ByteOffset(end), &key.suffix);
    same.then(|| text.slice(ByteOffset(start)..ByteOffset(end)))
}
