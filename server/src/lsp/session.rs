//! The state of one client's session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tower_lsp::Client;

use super::capabilities::ClientFeatures;
use super::options::ServerOptions;
use super::status::{ServerFault, ServerStatus};
use crate::completion::{Completion, Engines};
use crate::configuration::{Configuration, ConfigurationError};
use crate::documents::{Documents, Snapshot, file_path};
use crate::telemetry::{Recorder, RequestKind};
use crate::text::{ByteOffset, Encoding, Position};

/// A client and its state, shared by handlers and background jobs.
pub(super) struct EditorSession {
    pub(super) client: Client,
    pub(super) options: ServerOptions,
    /// `None` until `initialize` succeeds, and after the session.
    state: Mutex<Option<SessionState>>,
    /// Held while the index is being kept for the next start. `shutdown` waits for it, with a
    /// timeout.
    pub(super) keeping: tokio::sync::Mutex<()>,
}

/// The state since `initialize`. Its lock is held only briefly, never across an await.
pub(super) struct SessionState {
    /// Random id of this session.
    pub(super) id: String,
    pub(super) features: ClientFeatures,
    pub(super) folders: Vec<PathBuf>,
    pub(super) initialization_options: Value,
    /// The settings the client last sent.
    pub(super) client_settings: Value,
    pub(super) documents: Documents,
    /// `None` until they are first opened.
    pub(super) engines: Option<Arc<Engines>>,
    /// True if the last settings can't be used. Then no request is served: the person chose another
    /// model than the one whose engines are open, and that one may send code elsewhere.
    pub(super) suspended: bool,
    /// True while the newest settings are being put in force, which requests wait for.
    pub(super) is_opening: bool,
    /// Wakes the requests that wait when that is over.
    pub(super) opened: Arc<Notify>,
    /// Number of changes of settings and folders, by which engines for earlier ones are recognised.
    pub(super) revision: u64,
    /// By document and method: the running request, which a newer one or an edit cancels.
    pub(super) running: HashMap<(String, RequestKind), RunningRequest>,
    /// The last completion of each document.
    pub(super) completions: HashMap<String, Completion>,
    /// The status last sent to the client.
    pub(super) status: Option<ServerStatus>,
    /// The current fault that prevents completions.
    pub(super) fault: Option<ServerFault>,
    /// The notice on settings last shown to the person.
    pub(super) notice: Option<String>,
    /// Progress while the repository is read.
    pub(super) indexing: Option<IndexingState>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) jobs: mpsc::UnboundedSender<BackgroundJob>,
    /// Queues that `initialized` starts to consume.
    pub(super) queues: Option<Queues>,
}

impl SessionState {
    /// Progress of reading the repository in percent; `None` once it is read.
    pub(super) fn indexing_percent(&self) -> Option<usize> {
        self.indexing.as_ref().map(|indexing| indexing.percent)
    }
}

/// A request that is not answered yet. Dropping it cancels the request.
pub(super) struct RunningRequest {
    pub(super) _cancel: oneshot::Sender<()>,
    /// True once it has engines.
    pub(super) has_engines: bool,
}

/// Progress of reading the repository.
#[derive(Debug, Default)]
pub(super) struct IndexingState {
    pub(super) percent: usize,
    /// Files that changed on disk meanwhile, after reading may have listed or read them.
    pub(super) changed: Vec<PathBuf>,
}

/// The receiving ends of the session's channels.
pub(super) struct Queues {
    pub(super) jobs: mpsc::UnboundedReceiver<BackgroundJob>,
    /// Messages of the recorder for the user.
    pub(super) warnings: mpsc::UnboundedReceiver<String>,
}

/// Slow work for the background.
pub(super) enum BackgroundJob {
    /// Open engines for the current settings and index the repository.
    Index,
    /// Apply the current settings, over the same index if possible.
    Switch,
}

impl EditorSession {
    pub(super) fn new(client: Client, options: ServerOptions) -> Self {
        Self {
            client,
            options,
            state: Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
        }
    }

    /// Starts the session after a successful `initialize`.
    pub(super) fn start(&self, state: SessionState) {
        *self.state.lock() = Some(state);
    }

    /// Ends the session: drops its engines, and with them the background worker.
    pub(super) fn end(&self) {
        let state = self.state.lock().take();
        // Closing an index takes time, so the lock is released first.
        drop(state);
    }

    /// Locks the state; `None` before `initialize` succeeded, when tower-lsp rejects all other
    /// messages.
    pub(super) fn state(&self) -> Option<MappedMutexGuard<'_, SessionState>> {
        MutexGuard::try_map(self.state.lock(), Option::as_mut).ok()
    }

    /// Returns the settings in force, from files, client and command line.
    ///
    /// # Errors
    /// A file can't be read, or a setting is invalid.
    pub(super) fn configuration(&self) -> Result<Configuration, ConfigurationError> {
        let (folders, initialization_options, client_settings) = self
            .state()
            .map(|state| {
                (
                    state.folders.clone(),
                    state.initialization_options.clone(),
                    state.client_settings.clone(),
                )
            })
            .unwrap_or_default();
        self.options.load(
            &folders,
            &[
                ("the initialisation options", &initialization_options),
                ("the client's settings", &client_settings),
            ],
        )
    }

    /// Returns the settings files, which need not exist.
    pub(super) fn settings_files(&self) -> Vec<PathBuf> {
        let folders = self.state().map(|state| state.folders.clone());
        self.options.files(&folders.unwrap_or_default())
    }

    /// Number of changes of settings and folders so far.
    pub(super) fn revision(&self) -> u64 {
        self.state().map_or(0, |state| state.revision)
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.state()
            .map(|state| state.features.encoding)
            .unwrap_or_default()
    }

    /// Returns an open document as models see it, and the offset in it of a position of the
    /// document.
    pub(super) fn model_view(
        &self,
        uri: &str,
        position: Position,
    ) -> Option<(Arc<Snapshot>, ByteOffset)> {
        let state = self.state()?;
        let own = state.documents.snapshot(uri)?;
        let view = state.documents.model_view(uri)?;
        let cursor = own.text.offset(position, state.features.encoding);
        Some((Arc::clone(&view.document), view.offset(cursor)))
    }

    pub(super) fn engines(&self) -> Option<Arc<Engines>> {
        self.state()?.engines.clone()
    }

    pub(super) fn recorder(&self) -> Option<Arc<Recorder>> {
        Some(Arc::clone(&self.state()?.recorder))
    }

    /// Queues a job for the background.
    pub(super) fn queue(&self, job: BackgroundJob) {
        if let Some(state) = self.state() {
            let _ = state.jobs.send(job);
        }
    }

    /// Installs engines and informs them of the open documents. Returns them. If the settings
    /// changed since `revision`, requests wait for the engines of the newer ones.
    pub(super) fn install_engines(&self, engines: Engines, revision: u64) -> Arc<Engines> {
        let engines = Arc::new(engines);
        let replaced = self.state().and_then(|mut state| {
            // Edits need the state's lock, so none is lost between the documents and the engines.
            for document in state.documents.all() {
                engines.document_opened(&document);
            }
            // Newer settings may name another model, or be invalid.
            state.suspended = state.revision != revision;
            state.cancel_asking();
            if !state.suspended {
                state.fault = None;
                state.finish_opening();
            }
            state.engines.replace(Arc::clone(&engines))
        });
        if let Some(replaced) = replaced {
            // Ending calls and closing an index take time, so the lock is released first.
            replaced.end_calls();
        }
        engines
    }

    /// Notes for the engines that a file changed on disk. The file of an open document does not
    /// count.
    pub(super) fn file_changed(&self, path: &Path) {
        let engines = {
            let Some(mut state) = self.state() else {
                return;
            };
            if state.documents.find_by_path(path).is_some() {
                return;
            }
            if let Some(indexing) = &mut state.indexing {
                indexing.changed.push(path.to_owned());
            }
            state.engines.clone()
        };
        if let Some(engines) = engines {
            engines.file_changed(path);
        }
    }

    /// As [`EditorSession::file_changed`], by URI.
    pub(super) fn uri_changed(&self, uri: &str) {
        if let Some(path) = file_path(uri) {
            self.file_changed(&path);
        }
    }
}

impl SessionState {
    /// Returns the engines that serve requests; `None` before they are open and while the settings
    /// can't be used.
    pub(super) fn answering_engines(&self) -> Option<Arc<Engines>> {
        self.engines.clone().filter(|_| !self.suspended)
    }

    /// Ends a suspension if the engines have these settings, which are those of `revision`. Returns
    /// the engines, and true if they were suspended. `None` if newer settings have arrived: they may
    /// name another model.
    pub(super) fn resume(
        &mut self,
        configuration: &Configuration,
        revision: u64,
    ) -> Option<(Arc<Engines>, bool)> {
        let engines = self.engines.as_ref().filter(|_| self.revision == revision);
        let engines = engines.filter(|engines| engines.configuration() == configuration);
        let engines = Arc::clone(engines?);
        let was_suspended = std::mem::take(&mut self.suspended);
        if was_suspended {
            self.fault = None;
        }
        self.finish_opening();
        Some((engines, was_suspended))
    }

    /// Wakes the requests that wait for engines: these are open, or can't be opened.
    pub(super) fn finish_opening(&mut self) {
        self.is_opening = false;
        self.opened.notify_waiters();
    }

    /// Cancels the requests that ask a model. Those that wait for engines go on.
    pub(super) fn cancel_asking(&mut self) {
        self.running.retain(|_, request| !request.has_engines);
    }

    /// Cancels the running requests of a document.
    pub(super) fn cancel_running(&mut self, uri: &str) {
        self.running.retain(|(document, _), _| document != uri);
    }
}

/// Generates a random id of a session.
pub(super) fn random_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}
