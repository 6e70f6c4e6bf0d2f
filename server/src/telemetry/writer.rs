//! The thread that writes to the store, so that nothing else waits for the disk.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::metrics::MetricsExporter;
use super::store::{StoreEntry, TelemetryError, TelemetryStore};

/// Handle to the thread that writes rows. When the last clone is dropped, the thread writes the
/// remaining rows and ends.
#[derive(Clone, Debug)]
pub(super) struct StoreWriter {
    messages: Sender<Message>,
    /// Exporter that counts every row, if a collector is set.
    metrics: Option<MetricsExporter>,
}

enum Message {
    Entry(StoreEntry),
    /// Answered when all earlier messages are written or have failed.
    Flush(oneshot::Sender<()>),
    Purge(oneshot::Sender<Result<usize, TelemetryError>>),
}

/// Maximum number of rows in one transaction.
const MAX_ROWS: usize = 1000;

/// Delay before opening the store is retried.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl StoreWriter {
    /// Starts writing to a store. The first failure goes to `warnings`; later ones are only logged.
    pub(super) fn start(
        path: PathBuf,
        metrics: Option<MetricsExporter>,
        warnings: mpsc::UnboundedSender<String>,
    ) -> Self {
        let (messages, receive) = channel();
        let thread = WriterThread {
            path,
            store: None,
            tried: None,
            warnings: Some(warnings),
        };
        let started = std::thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || thread.run(&receive));
        if let Err(error) = started {
            tracing::warn!(%error, "telemetry is disabled: its thread can't be started");
        }
        Self { messages, metrics }
    }

    /// Queues a row.
    pub(super) fn write(&self, entry: StoreEntry) {
        if let Some(metrics) = &self.metrics {
            metrics.observe(&entry);
        }
        let _ = self.messages.send(Message::Entry(entry));
    }

    /// Waits until every queued row is written or has failed.
    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.messages.send(Message::Flush(done)).is_ok() {
            let _ = wait.await;
        }
    }

    /// Waits until every queued row is written, and figures are sent, or have failed.
    pub(super) async fn finish(&self) {
        self.flush().await;
        if let Some(metrics) = &self.metrics {
            metrics.flush().await;
        }
    }

    /// Empties the store and returns the number of its completions; `None` if the thread has ended.
    pub(super) async fn purge(&self) -> Option<Result<usize, TelemetryError>> {
        let (done, wait) = oneshot::channel();
        self.messages.send(Message::Purge(done)).ok()?;
        wait.await.ok()
    }
}

/// The state of the thread.
struct WriterThread {
    path: PathBuf,
    store: Option<TelemetryStore>,
    /// Time of the last failed attempt to open the store.
    tried: Option<Instant>,
    /// `None` after the first warning.
    warnings: Option<mpsc::UnboundedSender<String>>,
}

impl WriterThread {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(first) = messages.recv() {
            // Queued rows go into one transaction.
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
                        // Rows that are queued after the purge must not be removed by it.
                        break;
                    }
                }
                if rows.len() < MAX_ROWS {
                    next = messages.try_recv().ok();
                }
            }
            if !rows.is_empty() {
                let written = self.store().map(|store| store.record(&rows));
                if let Some(Err(error)) = written {
                    self.warn(&error);
                }
            }
            for done in waiting {
                let _ = done.send(());
            }
            for done in purges {
                // `store` would not try again soon after a failure.
                let emptied = TelemetryStore::open(&self.path).and_then(|mut store| store.purge());
                let _ = done.send(emptied);
            }
        }
    }

    fn store(&mut self) -> Option<&mut TelemetryStore> {
        if self.store.is_none() && self.tried.is_none_or(|tried| tried.elapsed() > RETRY_AFTER) {
            match TelemetryStore::open(&self.path) {
                Ok(store) => self.store = Some(store),
                Err(error) => {
                    self.tried = Some(Instant::now());
                    self.warn(&error);
                }
            }
        }
        self.store.as_mut()
    }

    fn warn(&mut self, error: &TelemetryError) {
        tracing::warn!(%error, "telemetry can't be written");
        if let Some(warnings) = self.warnings.take() {
            let _ = warnings.send(warning(error));
        }
    }
}

/// The message for the user when telemetry can't be written.
pub(super) fn warning(error: &TelemetryError) -> String {
    format!(
        "Completions work, but telemetry can't be written: {error}. Fix that, or set \
         `telemetry.enabled = false`."
    )
}
