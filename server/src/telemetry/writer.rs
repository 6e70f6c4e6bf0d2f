//! The one thread that writes, so that nobody else ever waits for the disk.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::store::{Entry, Store, TelemetryError};

/// Where rows go on their way to a store. When the last copy is dropped, the thread writes what it
/// has and ends.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    messages: Sender<Message>,
}

enum Message {
    Entry(Entry),
    /// Answered when everything before it is in the store, or is known not to get there.
    Flush(oneshot::Sender<()>),
    Purge(oneshot::Sender<Result<usize, TelemetryError>>),
}

/// The most rows in one transaction.
const MOST_ROWS: usize = 1000;

/// How soon a store that could not be opened is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(5);

impl Writer {
    /// Starts writing to a store. The first fault goes to `complaints`; later ones, of which a
    /// person has been told by then, do not.
    pub(super) fn start(path: PathBuf, complaints: mpsc::UnboundedSender<String>) -> Self {
        let (messages, receive) = channel();
        let desk = Desk {
            path,
            store: None,
            tried: None,
            complaints: Some(complaints),
        };
        let started = std::thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || desk.work(&receive));
        if let Err(error) = started {
            tracing::warn!(%error, "nothing is noted of completions");
        }
        Self { messages }
    }

    /// Hands a row over. Never waits.
    pub(super) fn write(&self, entry: Entry) {
        let _ = self.messages.send(Message::Entry(entry));
    }

    /// Waits until everything that was handed over is in the store, or can't get there.
    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.messages.send(Message::Flush(done)).is_ok() {
            let _ = wait.await;
        }
    }

    /// Empties the store and says how many completions it had.
    pub(super) async fn purge(&self) -> Option<Result<usize, TelemetryError>> {
        let (done, wait) = oneshot::channel();
        self.messages.send(Message::Purge(done)).ok()?;
        wait.await.ok()
    }
}

/// What the thread works with.
struct Desk {
    path: PathBuf,
    store: Option<Store>,
    /// When it was last tried to open it, in vain.
    tried: Option<Instant>,
    /// Gone once somebody was told.
    complaints: Option<mpsc::UnboundedSender<String>>,
}

impl Desk {
    fn work(mut self, messages: &Receiver<Message>) {
        while let Ok(first) = messages.recv() {
            // All that has come meanwhile goes into one transaction.
            let mut rows = Vec::new();
            let mut waiting = Vec::new();
            let mut purges = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Entry(entry) => rows.push(entry),
                    Message::Flush(done) => waiting.push(done),
                    Message::Purge(done) => {
                        purges.push(done);
                        break;
                    }
                }
                if rows.len() < MOST_ROWS {
                    next = messages.try_recv().ok();
                }
            }
            if !rows.is_empty() {
                let written = self.store().map(|store| store.record(&rows));
                if let Some(Err(error)) = written {
                    self.complain(&error);
                }
            }
            for done in waiting {
                let _ = done.send(());
            }
            for done in purges {
                let emptied = Store::open(&self.path).and_then(|mut store| store.purge());
                let _ = done.send(emptied);
            }
        }
    }

    fn store(&mut self) -> Option<&mut Store> {
        if self.store.is_none() && self.tried.is_none_or(|tried| tried.elapsed() > TRY_AGAIN) {
            match Store::open(&self.path) {
                Ok(store) => self.store = Some(store),
                Err(error) => {
                    self.tried = Some(Instant::now());
                    self.complain(&error);
                }
            }
        }
        self.store.as_mut()
    }

    fn complain(&mut self, error: &TelemetryError) {
        tracing::warn!(%error, "telemetry can't be written");
        if let Some(complaints) = self.complaints.take() {
            let _ = complaints.send(complaint(error));
        }
    }
}

/// What a person is told where nothing can be noted.
pub(super) fn complaint(error: &TelemetryError) -> String {
    format!(
        "Completions work, but what becomes of them is not noted: {error}. Mend that, or set \
         `telemetry.enabled = false`."
    )
}
