//! A model call under way, which outlives the request it was made for where the person types
//! what the model writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::memory::{Asked, agrees};
use super::trace::Completion;
use crate::text::Text;

/// One model call. It ends when nobody waits for it any more, after a moment of grace: editors
/// cancel a request when a key is typed, and ask again right after.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) asked: Arc<Asked>,
    heard: Arc<Heard>,
    outcome: watch::Receiver<Option<Arc<Completion>>>,
    task: AbortHandle,
    waiting: Mutex<Waiting>,
}

/// What each candidate has so far.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<Vec<String>>);

#[derive(Debug, Default)]
struct Waiting {
    requests: usize,
    /// Until when the call goes on though no request waits for it.
    until: Option<Instant>,
}

/// How long a call goes on after its request was cancelled: an edit that goes with the cancel
/// comes within this time.
const GRACE: Duration = Duration::from_millis(15);

/// How long a call goes on after an edit that agrees with it: the next request comes within this
/// time. VS Code waits 50 ms, Neovim 200 ms.
const LINGER: Duration = Duration::from_millis(300);

impl Heard {
    /// Takes note of a candidate's text so far.
    pub(super) fn note(&self, candidate: usize, text: &str) {
        let mut texts = self.0.lock();
        if texts.len() <= candidate {
            texts.resize(candidate + 1, String::new());
        }
        texts[candidate].clear();
        texts[candidate].push_str(text);
    }

    /// Whether any candidate may go on as was typed. Before the first text, all may.
    fn agrees(&self, typed: &str) -> bool {
        let texts = self.0.lock();
        texts.is_empty() || texts.iter().any(|text| agrees(text, typed))
    }
}

impl Flight {
    /// Watches over a call that `task` makes; its end comes through `outcome`.
    pub(super) fn new(
        asked: Arc<Asked>,
        heard: Arc<Heard>,
        outcome: watch::Receiver<Option<Arc<Completion>>>,
        task: AbortHandle,
    ) -> Arc<Self> {
        Arc::new(Self {
            asked,
            heard,
            outcome,
            task,
            waiting: Mutex::default(),
        })
    }

    /// Waits for the call's end; nothing where it was given up. Dropping the future says that
    /// the request is gone.
    pub(super) async fn wait(self: &Arc<Self>) -> Option<Arc<Completion>> {
        self.waiting.lock().requests += 1;
        let _request = Request(Arc::clone(self));
        let mut outcome = self.outcome.clone();
        let done = outcome.wait_for(Option::is_some).await.ok()?;
        done.clone()
    }

    /// Goes on for a while without a request: one is about to come.
    pub(super) fn linger(self: &Arc<Self>) {
        self.waiting.lock().until = Some(Instant::now() + LINGER);
        self.end_when_unwanted();
    }

    /// Tells the call of the document's text after an edit. A call that can't be right any more
    /// ends at once.
    pub(super) fn edited(self: &Arc<Self>, text: &Text) {
        match between(text, &self.asked) {
            Some(typed) if self.heard.agrees(&typed) => self.linger(),
            _ => self.end(),
        }
    }

    /// Whether the call may yet answer a place where this was typed since it began.
    pub(super) fn may_answer(&self, typed: &str) -> bool {
        !self.task.is_finished() && self.heard.agrees(typed)
    }

    /// Ends the call, unless a request waits for it: a newer one has taken its place.
    pub(super) fn replaced(&self) {
        if self.waiting.lock().requests == 0 {
            self.end();
        }
    }

    /// Gives the call up.
    pub(super) fn end(&self) {
        self.task.abort();
    }

    /// Ends the call once nobody waits for it and its time is over.
    fn end_when_unwanted(self: &Arc<Self>) {
        let flight = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                if flight.task.is_finished() {
                    return;
                }
                let until = {
                    let waiting = flight.waiting.lock();
                    if waiting.requests > 0 {
                        return;
                    }
                    waiting.until
                };
                match until.filter(|until| *until > Instant::now()) {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => return flight.end(),
                }
            }
        });
    }
}

/// A request that waits for a call.
struct Request(Arc<Flight>);

impl Drop for Request {
    fn drop(&mut self) {
        {
            let mut waiting = self.0.waiting.lock();
            waiting.requests -= 1;
            let grace = Instant::now() + GRACE;
            waiting.until = Some(waiting.until.map_or(grace, |until| until.max(grace)));
        }
        // A drop outside the runtime is the end of the process.
        if !self.0.task.is_finished() && tokio::runtime::Handle::try_current().is_ok() {
            self.0.end_when_unwanted();
        }
    }
}

/// What stands between the prefix and the suffix of an earlier place in a text, where both still
/// stand.
pub(super) fn between(text: &Text, asked: &Asked) -> Option<String> {
    use crate::text::ByteOffset;
    let (start, kept) = (asked.prefix.len(), asked.prefix.len() + asked.suffix.len());
    let end = start + text.len().0.checked_sub(kept)?;
    let same = text.slice(ByteOffset(0)..ByteOffset(start)) == *asked.prefix
        && text.slice(ByteOffset(end)..text.len()) == *asked.suffix;
    same.then(|| text.slice(ByteOffset(start)..ByteOffset(end)))
}
