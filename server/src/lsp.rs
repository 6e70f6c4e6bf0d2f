//! The protocol edge: the only room that knows tower-lsp and JSON-RPC.

mod completion;
mod inline_completion;
mod input;
mod ordered;
mod progress;
mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{
    CompletionOptions, CompletionParams, CompletionResponse, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, InitializeParams, InitializeResult,
    InitializedParams, PositionEncodingKind, Registration, SaveOptions, ServerCapabilities,
    ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions,
};
use tower_lsp::{Client, LanguageServer, LspService};

use crate::completion::{Completion, Engine, EngineError, Trace};
use crate::configuration::{Configuration, ConfigurationError, Layers, user_file};
use crate::documents::{Documents, Edit, Snapshot, file_path};
use crate::text::{ByteOffset, Encoding, Position};

pub use inline_completion::{
    InlineCompletionContext, InlineCompletionItem, InlineCompletionList, InlineCompletionParams,
    METHOD as INLINE_COMPLETION, TRIGGER_INVOKED,
};
pub use progress::Status;
pub use requests::{EXPLAIN, ExplainParams, Explanation};

/// Serves one client over standard input and output until it says `exit` or goes away.
///
/// # Errors
/// The settings given can't be used.
pub async fn serve(options: Options) -> std::result::Result<(), ConfigurationError> {
    // Faults in what was given on the command line are told before a client waits for an answer.
    options.configuration(&[], &[])?;
    let (service, socket) = LspService::build(|client| Edge(Server::new(client, options)))
        .custom_method(inline_completion::METHOD, Edge::inline_completion)
        .custom_method(requests::EXPLAIN, Edge::explain)
        .finish();
    let exit = Arc::new(Notify::new());
    let ended = Arc::new(Notify::new());
    let input = input::Input::new(tokio::io::stdin(), Arc::clone(&ended));
    // Four at once, the default, would let four slow completions hold up every edit.
    let served = tower_lsp::Server::new(input, tokio::io::stdout(), socket)
        .concurrency_level(1024)
        .serve(ordered::Ordered::new(service, Arc::clone(&exit)));
    let gone = async {
        ended.notified().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = served => {}
        () = exit.notified() => {}
        () = gone => {}
    }
    Ok(())
}

/// How long answers under way may still take when the client has closed its end: enough for those
/// that are ready, and no wait for a model.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A settings file in place of the user's and the workspace's own.
    pub configuration_file: Option<PathBuf>,
    /// Settings of single flags, laid over everything else.
    pub flags: Value,
}

impl Options {
    /// The settings in force in these folders, with the client's options laid over the files
    /// and the command line over everything.
    fn configuration(
        &self,
        folders: &[PathBuf],
        client: &[(&'static str, &Value)],
    ) -> std::result::Result<Configuration, ConfigurationError> {
        let mut layers = Layers::default();
        match &self.configuration_file {
            Some(path) => layers.file(path)?,
            None => {
                if let Some(path) = user_file().filter(|path| path.is_file()) {
                    layers.file(&path)?;
                }
                for folder in folders {
                    layers.workspace(folder)?;
                }
            }
        }
        for (origin, options) in client {
            layers.options(origin, options)?;
        }
        layers.options("the command line", &self.flags)?;
        layers.merged()
    }
}

/// The server as tower-lsp holds it; the background worker shares it.
struct Edge(Arc<Server>);

impl std::ops::Deref for Edge {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

/// The server's state. Locks are held for moments only, never across an await.
struct Server {
    client: Client,
    options: Options,
    session: OnceLock<Session>,
    documents: RwLock<Documents>,
    engine: RwLock<Option<Arc<Engine>>>,
    /// Where slow work goes, so that notification handlers return at once.
    work: mpsc::UnboundedSender<Work>,
    /// Taken by the worker when the client is ready.
    queue: Mutex<Option<mpsc::UnboundedReceiver<Work>>>,
    /// By document and kind of request: what tells the running one that a newer one came.
    running: Mutex<HashMap<(String, Kind), oneshot::Sender<()>>>,
    /// By document: how its last completion came about.
    traces: Mutex<HashMap<String, Trace>>,
}

/// What `initialize` settles for the whole session.
struct Session {
    encoding: Encoding,
    folders: Vec<PathBuf>,
    initialization_options: Value,
    shows_progress: bool,
    /// Whether the client can be asked to tell of changes on disk.
    watches_files: bool,
}

/// The two requests that ask for a completion. An editor may have one of each under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Inline,
    List,
}

/// A completion with the place it is for.
struct Answer {
    completion: Completion,
    document: Arc<Snapshot>,
    cursor: ByteOffset,
}

/// Slow work for the background.
enum Work {
    /// Open an engine for these settings and index the repository.
    Configure(Box<Configuration>),
    /// Look for files in a folder that may be seen and are not known yet.
    Discover(PathBuf),
}

impl Server {
    fn new(client: Client, options: Options) -> Arc<Self> {
        let (work, queue) = mpsc::unbounded_channel();
        Arc::new(Self {
            client,
            options,
            session: OnceLock::new(),
            documents: RwLock::default(),
            engine: RwLock::default(),
            work,
            queue: Mutex::new(Some(queue)),
            running: Mutex::default(),
            traces: Mutex::default(),
        })
    }

    /// The settings in force with these of the client laid over its initialisation options.
    fn configuration(
        &self,
        settings: &Value,
    ) -> std::result::Result<Configuration, ConfigurationError> {
        let session = self.session.get();
        let folders = session.map(|session| session.folders.as_slice());
        let none = Value::Null;
        let initial = session.map_or(&none, |session| &session.initialization_options);
        self.options.configuration(
            folders.unwrap_or_default(),
            &[
                ("the initialisation options", initial),
                ("the client's settings", settings),
            ],
        )
    }

    fn encoding(&self) -> Encoding {
        self.session
            .get()
            .map(|session| session.encoding)
            .unwrap_or_default()
    }

    fn snapshot(&self, uri: &str) -> Option<Arc<Snapshot>> {
        self.documents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot(uri)
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        self.engine
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Completes at a position of an open document: what both completion requests come to. The
    /// answer is empty where a newer request replaced this one or the document moved on.
    async fn complete_at(&self, kind: Kind, uri: &str, position: Position) -> Option<Answer> {
        // Everything up to the first await runs in the order of arrival.
        let document = self.snapshot(uri)?;
        let (newer, replaced) = oneshot::channel();
        // Dropping the older sender tells the older request that it is replaced.
        lock(&self.running).insert((uri.to_owned(), kind), newer);
        let engine = self.engine()?;
        let cursor = document.text.offset(position, self.encoding());
        let task = {
            let document = Arc::clone(&document);
            // A task of its own: the embedded model and the clean-up compute, and must not hold
            // up the other handlers, which share one task.
            AbortOnDrop(tokio::spawn(async move {
                engine.complete(&document, cursor).await
            }))
        };
        let completion = tokio::select! {
            done = task => done?,
            _ = replaced => return None,
        };
        lock(&self.traces).insert(uri.to_owned(), completion.trace.clone());
        let now = self.snapshot(uri)?;
        (now.version == document.version).then_some(Answer {
            completion,
            document,
            cursor,
        })
    }
}

impl Edge {
    async fn explain(&self, params: ExplainParams) -> Result<Option<Explanation>> {
        let trace = lock(&self.traces)
            .get(params.text_document.uri.as_str())
            .cloned();
        Ok(trace.map(|trace| Explanation { trace }))
    }

    async fn inline_completion(
        &self,
        params: InlineCompletionParams,
    ) -> Result<Option<InlineCompletionList>> {
        let uri = params.text_document.uri.as_str();
        let position = from_protocol(params.position);
        let answer = self.complete_at(Kind::Inline, uri, position).await;
        Ok(answer.map(|answer| InlineCompletionList::at(&answer.completion, position)))
    }
}

/// Runs a task that ends when nobody waits for it any more, and its HTTP exchange with it.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    /// Nothing where the task ended in a panic, which the log has.
    type Output = Option<T>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0)
            .poll(context)
            .map(std::result::Result::ok)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn from_protocol(position: tower_lsp::lsp_types::Position) -> Position {
    Position {
        line: position.line,
        character: position.character,
    }
}

fn to_protocol(position: Position) -> tower_lsp::lsp_types::Position {
    tower_lsp::lsp_types::Position::new(position.line, position.character)
}

/// The best encoding both sides know: bytes cost nothing to convert.
fn negotiate(params: &InitializeParams) -> Encoding {
    let offered = params
        .capabilities
        .general
        .as_ref()
        .and_then(|general| general.position_encodings.as_deref())
        .unwrap_or_default();
    [Encoding::Utf8, Encoding::Utf32]
        .into_iter()
        .find(|encoding| offered.iter().any(|kind| kind.as_str() == encoding.name()))
        .unwrap_or_default()
}

/// Asks for word of every change in the workspace: of folders as well, whose files go and come
/// with them, and of ignore files.
fn watching() -> Registration {
    Registration {
        id: "fillrate/files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: Some(serde_json::json!({"watchers": [{"globPattern": "**/*"}]})),
    }
}

/// The folders a client opened.
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    match params.workspace_folders.as_deref() {
        Some(folders) if !folders.is_empty() => folders
            .iter()
            .filter_map(|folder| file_path(folder.uri.as_str()))
            .collect(),
        _ => params
            .root_uri
            .iter()
            .filter_map(|uri| file_path(uri.as_str()))
            .collect(),
    }
}

/// Settings as clients wrap them: under our name, or bare.
fn unwrapped(settings: Value) -> Value {
    match settings {
        Value::Object(mut map) if map.contains_key("fillrate") => {
            map.remove("fillrate").unwrap_or_default()
        }
        Value::Object(map) if map.is_empty() => Value::Null,
        other => other,
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Edge {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let encoding = negotiate(&params);
        let shows_progress = params
            .capabilities
            .window
            .as_ref()
            .and_then(|window| window.work_done_progress)
            .unwrap_or(false);
        let watches_files = params
            .capabilities
            .workspace
            .as_ref()
            .and_then(|workspace| workspace.did_change_watched_files.as_ref())
            .and_then(|watching| watching.dynamic_registration)
            .unwrap_or(false);
        let session = Session {
            encoding,
            folders: folders(&params),
            initialization_options: unwrapped(params.initialization_options.unwrap_or_default()),
            shows_progress,
            watches_files,
        };
        // A second `initialize` is refused by tower-lsp before it gets here.
        let _ = self.session.set(session);
        let configuration = self
            .configuration(&Value::Null)
            .map_err(|error| Error::invalid_params(error.to_string()))?;
        // The model's settings are checked here, where the client still hears the answer.
        crate::model::open(&configuration.model, &|name| std::env::var(name).ok())
            .map_err(|error| Error::invalid_params(error.to_string()))?;
        let _ = self.work.send(Work::Configure(Box::new(configuration)));
        Ok(InitializeResult {
            server_info: Some(ServerInfo {
                name: "fillrate".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            capabilities: ServerCapabilities {
                position_encoding: Some(PositionEncodingKind::new(encoding.name())),
                text_document_sync: Some(TextDocumentSyncCapability::Options(
                    TextDocumentSyncOptions {
                        open_close: Some(true),
                        change: Some(TextDocumentSyncKind::INCREMENTAL),
                        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                            include_text: Some(false),
                        })),
                        ..TextDocumentSyncOptions::default()
                    },
                )),
                completion_provider: Some(CompletionOptions::default()),
                ..ServerCapabilities::default()
            },
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let Some(mut queue) = lock(&self.queue).take() else {
            return;
        };
        if self
            .session
            .get()
            .is_some_and(|session| session.watches_files)
        {
            let client = self.client.clone();
            tokio::spawn(async move {
                if let Err(error) = client.register_capability(vec![watching()]).await {
                    tracing::warn!(%error, "the client does not watch files for us");
                }
            });
        }
        let server = Arc::clone(&self.0);
        tokio::spawn(async move {
            while let Some(work) = queue.recv().await {
                match work {
                    Work::Configure(configuration) => server.configure(*configuration).await,
                    Work::Discover(folder) => server.discover(folder).await,
                }
            }
        });
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.documents
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .open(
                document.uri.as_str(),
                &document.language_id,
                document.version,
                &document.text,
            );
        self.tell_engine(document.uri.as_str());
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        let edits: Vec<Edit> = params
            .content_changes
            .into_iter()
            .map(|change| Edit {
                range: change
                    .range
                    .map(|range| from_protocol(range.start)..from_protocol(range.end)),
                text: change.text,
            })
            .collect();
        let known = self
            .documents
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .change(uri, params.text_document.version, &edits, self.encoding());
        if known {
            self.tell_engine(uri);
        } else {
            tracing::warn!(uri, "an edit of a document that is not open was dropped");
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        self.documents
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .close(uri);
        lock(&self.running).retain(|(document, _), _| document != uri);
        lock(&self.traces).remove(uri);
        // The file on disk counts again.
        self.tell_engine_of_file(uri);
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        // The open document already counts as the file.
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        for change in params.changes {
            let is_open = file_path(change.uri.as_str()).is_some_and(|path| {
                self.documents
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .of_path(&path)
                    .is_some()
            });
            if !is_open {
                self.tell_engine_of_file(change.uri.as_str());
            }
        }
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match self.configuration(&unwrapped(params.settings)) {
            Ok(configuration) => self.reconfigure(configuration),
            Err(error) => {
                let client = self.client.clone();
                tokio::spawn(async move { progress::complain(&client, error).await });
            }
        }
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let uri = params.text_document_position.text_document.uri;
        let position = from_protocol(params.text_document_position.position);
        let answer = self.complete_at(Kind::List, uri.as_str(), position).await;
        Ok(answer.map(|answer| completion::response(&answer, self.encoding())))
    }
}

impl Server {
    /// Opens an engine for these settings, indexes the repository and tells the client of both.
    async fn configure(&self, configuration: Configuration) {
        let Some(session) = self.session.get() else {
            return;
        };
        progress::tell(&self.client, Status::indexing()).await;
        let bar = progress::Bar::begin(&self.client, session.shows_progress).await;
        let (reports, mut receive) = mpsc::unbounded_channel();
        let folders = session.folders.clone();
        let build = tokio::task::spawn_blocking(move || -> std::result::Result<_, EngineError> {
            let engine = Engine::open(configuration, folders)?;
            let indexed = engine.index(|done, all| {
                let _ = reports.send((done, all));
            })?;
            Ok((engine, indexed))
        });
        while let Some((done, all)) = receive.recv().await {
            bar.report(done, all).await;
        }
        let built = build.await;
        bar.end().await;
        match built {
            Ok(Ok((engine, indexed))) => {
                let engine = Arc::new(engine);
                // What was opened or typed while the index was built counts as well.
                let open = self
                    .documents
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .all();
                for document in open {
                    engine.document_changed(&document);
                }
                *self.engine.write().unwrap_or_else(PoisonError::into_inner) = Some(engine);
                progress::tell(&self.client, Status::ready(indexed.files)).await;
            }
            Ok(Err(error)) => progress::complain(&self.client, error).await,
            Err(error) => progress::complain(&self.client, error).await,
        }
    }

    /// Looks for files that are not known yet.
    async fn discover(&self, folder: PathBuf) {
        if let Some(engine) = self.engine() {
            let looked = tokio::task::spawn_blocking(move || engine.discover(&folder)).await;
            if let Err(error) = looked {
                tracing::error!(%error, "the search for new files broke off");
            }
        }
    }

    /// Puts other settings in force: at once where only the way of generating differs, after
    /// opening another engine where the model or its context does.
    fn reconfigure(&self, configuration: Configuration) {
        let mut engine = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        let tuned = engine
            .as_ref()
            .and_then(|engine| engine.tuned(&configuration));
        if let Some(tuned) = tuned {
            *engine = Some(Arc::new(tuned));
            return;
        }
        let _ = self.work.send(Work::Configure(Box::new(configuration)));
    }

    fn tell_engine(&self, uri: &str) {
        if let (Some(engine), Some(document)) = (self.engine(), self.snapshot(uri)) {
            engine.document_changed(&document);
        }
    }

    fn tell_engine_of_file(&self, uri: &str) {
        if let (Some(engine), Some(path)) = (self.engine(), file_path(uri))
            && let Some(folder) = engine.file_changed(&path)
        {
            let _ = self.work.send(Work::Discover(folder));
        }
    }
}
