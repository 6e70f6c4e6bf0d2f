//! The protocol edge: the only room that knows tower-lsp and JSON-RPC.

mod commands;
mod completion;
mod events;
mod inline_completion;
mod input;
mod ordered;
mod progress;
mod requests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{
    CompletionOptions, CompletionParams, CompletionResponse, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    ExecuteCommandOptions, ExecuteCommandParams, InitializeParams, InitializeResult,
    InitializedParams, MessageType, OneOf, PositionEncodingKind, Registration, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceFolder,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use tower_lsp::{Client, LanguageServer, LspService};

use crate::completion::{Completion, EngineError, Engines, Indexed, Retrieved, Trigger};
use crate::configuration::{Configuration, ConfigurationError, Layers, user_file};
use crate::context::Given;
use crate::documents::{ContentChange, Documents, Snapshot, file_path};
use crate::telemetry::{self, Recorder, RequestKind};
use crate::text::{ByteOffset, Encoding, Position};

pub use commands::{ACCEPT, AcceptArguments};
pub use events::{EVENT, EventName, EventParams, PURGE, PurgeParams, Purged, Unit};
pub use inline_completion::{
    InlineCompletionContext, InlineCompletionItem, InlineCompletionList, InlineCompletionParams,
    METHOD as INLINE_COMPLETION, TRIGGER_AUTOMATIC, TRIGGER_INVOKED,
};
use progress::State;
pub use progress::Status;
pub use requests::{
    EXPLAIN, ExplainParams, Explanation, MODELS, Models, NamedModel, RETRIEVE, RetrieveParams,
    Trial,
};

/// Serves one client over standard input and output until it says `exit` or goes away.
///
/// # Errors
/// The settings given can't be used.
pub async fn serve(options: Options) -> std::result::Result<(), ConfigurationError> {
    // Faults in what was given on the command line are told before a client waits for an answer.
    options.configuration(&[], &[])?;
    let mut shared = None;
    let (service, socket) = LspService::build(|client| {
        let server = Server::new(client, options);
        shared = Some(Arc::clone(&server));
        Edge(server)
    })
    .custom_method(inline_completion::METHOD, Edge::inline_completion)
    .custom_method(requests::EXPLAIN, Edge::explain)
    .custom_method(requests::RETRIEVE, Edge::retrieve)
    .custom_method(requests::MODELS, Edge::models)
    .custom_method(events::EVENT, Edge::event)
    .custom_method(events::PURGE, Edge::purge)
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
    // A client that goes without `shutdown` has been at work, too.
    if let Some(recorder) = shared.as_ref().and_then(|server| server.recorder.get()) {
        let _ = tokio::time::timeout(LAST_WRITES, recorder.finish()).await;
    }
    Ok(())
}

/// How long what is noted may take to get into the store when the client is gone.
const LAST_WRITES: Duration = Duration::from_secs(1);

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
    /// Tells this run of the server from others.
    run: String,
    documents: RwLock<Documents>,
    engine: RwLock<Option<Arc<Engines>>>,
    /// Where slow work goes, so that notification handlers return at once.
    work: mpsc::UnboundedSender<Work>,
    /// Taken by the worker when the client is ready.
    queue: Mutex<Option<mpsc::UnboundedReceiver<Work>>>,
    /// By document and kind of request: what tells the running one that a newer one came.
    running: Mutex<HashMap<(String, Kind), oneshot::Sender<()>>>,
    /// By document: its last completion.
    completions: Mutex<HashMap<String, Completion>>,
    /// What the client was last told.
    status: Mutex<Option<Status>>,
    /// The settings the client last sent.
    settings: Mutex<Value>,
    /// Files that changed on disk while an index is being built that may have read them before.
    meanwhile: Mutex<Option<Vec<PathBuf>>>,
    /// What becomes of completions; there from `initialize` on.
    recorder: OnceLock<Arc<Recorder>>,
    /// What keeps the recorder from writing.
    complaints: Mutex<Option<mpsc::UnboundedReceiver<String>>>,
}

/// What `initialize` settles for the whole session.
struct Session {
    encoding: Encoding,
    folders: RwLock<Vec<PathBuf>>,
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
    /// Names it for ever: no two have the same.
    id: String,
    completion: Completion,
    document: Arc<Snapshot>,
    cursor: ByteOffset,
}

/// Slow work for the background.
enum Work {
    /// Open engines for these settings and index the repository.
    Configure(Box<Configuration>),
    /// Put the settings that are now in force in use, over the same index where that serves them.
    Switch,
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
            run: format!("{:032x}", rand::random::<u128>()),
            documents: RwLock::default(),
            engine: RwLock::default(),
            work,
            queue: Mutex::new(Some(queue)),
            running: Mutex::default(),
            completions: Mutex::default(),
            status: Mutex::default(),
            settings: Mutex::default(),
            meanwhile: Mutex::default(),
            recorder: OnceLock::new(),
            complaints: Mutex::default(),
        })
    }

    /// The settings in force.
    fn configuration(&self) -> std::result::Result<Configuration, ConfigurationError> {
        let settings = self.settings.lock().clone();
        let session = self.session.get();
        let folders = session.map(Session::folders);
        let none = Value::Null;
        let initial = session.map_or(&none, |session| &session.initialization_options);
        self.options.configuration(
            &folders.unwrap_or_default(),
            &[
                ("the initialisation options", initial),
                ("the client's settings", &settings),
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
        self.documents.read().snapshot(uri)
    }

    fn engine(&self) -> Option<Arc<Engines>> {
        self.engine.read().clone()
    }

    /// Completes at a position of an open document: what both completion requests come to. The
    /// answer is empty where a newer request replaced this one or the document moved on.
    async fn complete_at(
        self: &Arc<Self>,
        kind: Kind,
        uri: &str,
        position: Position,
        trigger: Trigger,
        given: Given,
    ) -> Option<Answer> {
        // Everything up to the first await runs in the order of arrival.
        let started = Instant::now();
        let document = self.snapshot(uri)?;
        let overtaken = Overtaken::unless_answered(self, uri);
        let (newer, replaced) = oneshot::channel();
        // Dropping the older sender tells the older request that it is replaced.
        self.running.lock().insert((uri.to_owned(), kind), newer);
        let engine = self.engine()?;
        let cursor = document.text.offset(position, self.encoding());
        let _busy = Busy::begin(self);
        let task = {
            let (engine, document) = (Arc::clone(&engine), Arc::clone(&document));
            // A task of its own: the embedded model and the clean-up compute, and must not hold
            // up the other handlers, which share one task.
            AbortOnDrop(tokio::spawn(async move {
                engine.complete(&document, cursor, trigger, &given).await
            }))
        };
        let completion = tokio::select! {
            done = task => done?,
            _ = replaced => return None,
        };
        self.completions
            .lock()
            .insert(uri.to_owned(), completion.clone());
        let now = self.snapshot(uri)?;
        if now.version != document.version {
            return None;
        }
        let why = if completion.candidates.is_empty() {
            completion.trace.why_nothing()
        } else {
            None
        };
        let request = telemetry::CompletionRequest {
            kind: kind.form(),
            trigger,
            document: &document,
            cursor,
            latency: started.elapsed(),
            configuration: engine.configuration_of(&completion),
        };
        let id = overtaken.answered(request, &completion);
        self.tell_of(Some(uri), State::Ready, why).await;
        Some(Answer {
            id,
            completion,
            document,
            cursor,
        })
    }

    /// Tells the client what the server is at, unless it was told so last.
    async fn tell(&self, state: State, message: Option<String>) {
        self.tell_of(None, state, message).await;
    }

    /// As [`Server::tell`], about an answer in a document where there is one.
    async fn tell_of(&self, uri: Option<&str>, state: State, message: Option<String>) {
        let engine = self.engine();
        let trial = engine
            .as_ref()
            .is_some_and(|engine| engine.configuration().trial().is_some());
        let answering = engine.as_ref().and_then(|engine| engine.answering(uri));
        let blind = engine.is_some_and(|engine| engine.configuration().is_blind());
        let status = {
            let mut last = self.status.lock();
            let files = last.as_ref().and_then(|status| status.files);
            // Who answered last stays, where nothing is said of an answer.
            let before = last.as_ref().filter(|last| last.trial == trial && !blind);
            let before = before.and_then(|status| status.model.clone());
            let status = Status {
                message,
                content: self.keeps_content(),
                model: answering.or(before),
                trial,
                ..Status::of(state, files)
            };
            if last.as_ref() == Some(&status) {
                return;
            }
            last.insert(status).clone()
        };
        progress::tell(&self.client, status).await;
    }
}

/// A request that counts as overtaken unless it comes to be answered.
struct Overtaken<'a> {
    recorder: Option<&'a Arc<Recorder>>,
    uri: &'a str,
}

impl<'a> Overtaken<'a> {
    fn unless_answered(server: &'a Server, uri: &'a str) -> Self {
        Self {
            recorder: server.recorder.get(),
            uri,
        }
    }

    /// Notes the answer, and gives the completion's id.
    fn answered(
        mut self,
        request: telemetry::CompletionRequest<'_>,
        completion: &Completion,
    ) -> String {
        match self.recorder.take() {
            Some(recorder) => recorder.record_answer(request, completion),
            // No request comes before `initialize`; an id costs nothing.
            None => uuid::Uuid::new_v4().to_string(),
        }
    }
}

impl Drop for Overtaken<'_> {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder {
            recorder.count_overtaken(self.uri);
        }
    }
}

/// How long a request takes before the client is told that a model is writing.
const BUSY_AFTER: Duration = Duration::from_millis(100);

/// Tells the client of a request that takes long, and that it is over.
struct Busy {
    server: Arc<Server>,
    told: Arc<AtomicBool>,
    timer: tokio::task::AbortHandle,
}

impl Busy {
    fn begin(server: &Arc<Server>) -> Self {
        let told = Arc::new(AtomicBool::new(false));
        let timer = {
            let (server, told) = (Arc::clone(server), Arc::clone(&told));
            tokio::spawn(async move {
                tokio::time::sleep(BUSY_AFTER).await;
                told.store(true, Ordering::Relaxed);
                server.tell(State::Busy, None).await;
            })
        };
        Self {
            server: Arc::clone(server),
            told,
            timer: timer.abort_handle(),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.timer.abort();
        let busy = self
            .server
            .status
            .lock()
            .as_ref()
            .is_some_and(|status| status.state == "busy");
        if self.told.load(Ordering::Relaxed) && busy {
            let server = Arc::clone(&self.server);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { server.tell(State::Ready, None).await });
            }
        }
    }
}

impl Edge {
    async fn explain(&self, params: ExplainParams) -> Result<Option<Explanation>> {
        let uri = params.text_document.uri.as_str();
        let Some(position) = params.position else {
            let last = self.completions.lock().get(uri).cloned();
            return Ok(last.map(Explanation::from));
        };
        let (Some(document), Some(engine)) = (self.snapshot(uri), self.engine()) else {
            return Ok(None);
        };
        let cursor = document
            .text
            .offset(from_protocol(position), self.encoding());
        let given = params.fillrate.unwrap_or_default();
        let task = AbortOnDrop(tokio::spawn(async move {
            engine.explain(&document, cursor, &given).await
        }));
        Ok(task.await.map(Explanation::from))
    }

    /// Which models there are, and who answers.
    async fn models(&self, _: Value) -> Result<Models> {
        // What is in force, which a change of the settings that can't be used leaves as it was.
        let engine = self.engine();
        let configuration = match engine {
            Some(engine) => engine.configuration().clone(),
            None => self
                .configuration()
                .map_err(|error| Error::invalid_params(error.to_string()))?,
        };
        Ok(Models::of(&configuration))
    }

    async fn retrieve(&self, params: RetrieveParams) -> Result<Option<Retrieved>> {
        let uri = params.text_document.uri.as_str();
        let (Some(document), Some(engine)) = (self.snapshot(uri), self.engine()) else {
            return Ok(None);
        };
        let cursor = document
            .text
            .offset(from_protocol(params.position), self.encoding());
        let given = params.fillrate.unwrap_or_default();
        let task = AbortOnDrop(tokio::spawn(async move {
            engine.retrieve(&document, cursor, &given).await
        }));
        Ok(task.await)
    }

    async fn inline_completion(
        &self,
        params: InlineCompletionParams,
    ) -> Result<Option<InlineCompletionList>> {
        let uri = params.text_document.uri.as_str();
        let position = from_protocol(params.position);
        let trigger = params.context.trigger();
        let given = params.fillrate.unwrap_or_default();
        let answer = self
            .0
            .complete_at(Kind::Inline, uri, position, trigger, given)
            .await;
        Ok(answer.map(|answer| InlineCompletionList::at(&answer, position)))
    }

    async fn event(&self, params: EventParams) {
        if let Some(recorder) = self.recorder.get() {
            let shown = params.shown();
            recorder.record_client_event(
                &params.completion,
                params.candidate,
                shown,
                params.told(),
            );
        }
    }

    async fn purge(&self, _: PurgeParams) -> Result<Purged> {
        let refused = |reason: String| Error {
            code: ErrorCode::ServerError(1),
            message: reason.into(),
            data: None,
        };
        let configuration = self
            .configuration()
            .map_err(|error| refused(error.to_string()))?;
        let Some(recorder) = self.recorder.get() else {
            return Ok(Purged::default());
        };
        match recorder.purge(&configuration.telemetry).await {
            Ok(removed) => Ok(Purged { removed }),
            Err(error) => Err(refused(format!("the store can't be emptied: {error}"))),
        }
    }
}

impl Kind {
    fn form(self) -> RequestKind {
        match self {
            Self::Inline => RequestKind::Inline,
            Self::List => RequestKind::List,
        }
    }
}

impl Session {
    fn folders(&self) -> Vec<PathBuf> {
        self.folders.read().clone()
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
            folders: RwLock::new(folders(&params)),
            initialization_options: unwrapped(params.initialization_options.unwrap_or_default()),
            shows_progress,
            watches_files,
        };
        // A second `initialize` is refused by tower-lsp before it gets here.
        let _ = self.session.set(session);
        let configuration = self
            .configuration()
            .map_err(|error| Error::invalid_params(error.to_string()))?;
        // The models' settings are checked here, where the client still hears the answer.
        Engines::check(&configuration).map_err(|error| Error::invalid_params(error.to_string()))?;
        let recorder = {
            let (complaints, said) = mpsc::unbounded_channel();
            *self.complaints.lock() = Some(said);
            let (name, version) = match params.client_info {
                Some(client) => (Some(client.name), client.version),
                None => (None, None),
            };
            Arc::new(Recorder::new(name, version, complaints))
        };
        recorder.configure(&configuration.telemetry);
        let _ = self.recorder.set(recorder);
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
                execute_command_provider: Some(ExecuteCommandOptions {
                    commands: vec![commands::ACCEPT.to_owned()],
                    ..ExecuteCommandOptions::default()
                }),
                workspace: Some(WorkspaceServerCapabilities {
                    workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                        supported: Some(true),
                        change_notifications: Some(OneOf::Left(true)),
                    }),
                    file_operations: None,
                }),
                ..ServerCapabilities::default()
            },
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let Some(mut queue) = self.queue.lock().take() else {
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
        if let Some(mut complaints) = self.complaints.lock().take() {
            let client = self.client.clone();
            tokio::spawn(async move {
                while let Some(complaint) = complaints.recv().await {
                    client.show_message(MessageType::WARNING, complaint).await;
                }
            });
        }
        let server = Arc::clone(&self.0);
        tokio::spawn(async move {
            server.tell(State::Starting, None).await;
            while let Some(work) = queue.recv().await {
                match work {
                    Work::Configure(configuration) => server.configure(*configuration).await,
                    Work::Switch => server.switch().await,
                    Work::Discover(folder) => server.discover(folder).await,
                }
            }
        });
    }

    async fn shutdown(&self) -> Result<()> {
        if let Some(recorder) = self.recorder.get() {
            recorder.finish().await;
        }
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.documents.write().open(
            document.uri.as_str(),
            &document.language_id,
            document.version,
            &document.text,
        );
        let Some(document) = self.snapshot(document.uri.as_str()) else {
            return;
        };
        if let Some(recorder) = self.recorder.get() {
            recorder.document_opened(&document);
        }
        if let Some(engine) = self.engine() {
            engine.document_opened(&document);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        let edits: Vec<ContentChange> = params
            .content_changes
            .into_iter()
            .map(|change| ContentChange {
                range: change
                    .range
                    .map(|range| from_protocol(range.start)..from_protocol(range.end)),
                text: change.text,
            })
            .collect();
        let before = self.snapshot(uri);
        let changes = self.documents.write().change(
            uri,
            params.text_document.version,
            &edits,
            self.encoding(),
        );
        let (Some(before), Some(after)) = (before, self.snapshot(uri)) else {
            tracing::warn!(uri, "an edit of a document that is not open was dropped");
            return;
        };
        if let (Some(recorder), Some(changes)) = (self.recorder.get(), changes) {
            recorder.document_edited(&after, &changes);
        }
        // What was asked of the text before can't be shown any more.
        self.running
            .lock()
            .retain(|(document, _), _| document != uri);
        if let Some(engine) = self.engine() {
            engine.document_edited(&before, &after);
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        self.documents.write().close(uri);
        self.running
            .lock()
            .retain(|(document, _), _| document != uri);
        self.completions.lock().remove(uri);
        if let Some(recorder) = self.recorder.get() {
            recorder.document_closed(uri);
        }
        if let Some(engine) = self.engine() {
            engine.document_closed(uri);
        }
        // The file on disk counts again.
        self.tell_engine_of_file(uri);
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        // The open document already counts as the file.
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        for change in params.changes {
            let is_open = file_path(change.uri.as_str())
                .is_some_and(|path| self.open_document(&path).is_some());
            if !is_open {
                self.tell_engine_of_file(change.uri.as_str());
            }
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let Some(session) = self.session.get() else {
            return;
        };
        let paths = |folders: Vec<WorkspaceFolder>| -> Vec<PathBuf> {
            folders
                .iter()
                .filter_map(|folder| file_path(folder.uri.as_str()))
                .collect()
        };
        let (removed, added) = (paths(params.event.removed), paths(params.event.added));
        {
            let mut folders = session.folders.write();
            folders.retain(|folder| !removed.contains(folder) && !added.contains(folder));
            folders.extend(added);
        }
        self.configure_again();
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        *self.settings.lock() = unwrapped(params.settings);
        match self.configuration() {
            Ok(configuration) => {
                if let Some(recorder) = self.recorder.get() {
                    recorder.configure(&configuration.telemetry);
                }
                self.0.reconfigure(&configuration);
                self.tell_what_is_kept().await;
            }
            Err(error) => self.complain(error),
        }
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let uri = params.text_document_position.text_document.uri;
        let position = from_protocol(params.text_document_position.position);
        let answer = self
            .0
            .complete_at(
                Kind::List,
                uri.as_str(),
                position,
                Trigger::Typing,
                Given::default(),
            )
            .await;
        Ok(answer.map(|answer| completion::response(&answer, self.encoding())))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        if params.command != commands::ACCEPT {
            let unknown = format!("there is no command `{}`", params.command);
            return Err(Error::invalid_params(unknown));
        }
        let Some(accepted) = commands::read(&params.arguments) else {
            tracing::warn!("a command that accepts names no completion");
            return Ok(None);
        };
        if let Some(recorder) = self.recorder.get() {
            let shown = events::shown(accepted.certainty, accepted.shown_ms);
            recorder
                .record_acceptance(&accepted.completion, accepted.candidate, shown)
                .await;
        }
        Ok(None)
    }
}

impl Server {
    /// Opens engines for these settings, indexes the repository and tells the client of both.
    async fn configure(&self, configuration: Configuration) {
        let Some(session) = self.session.get() else {
            return;
        };
        self.tell(State::Indexing, None).await;
        *self.meanwhile.lock() = Some(Vec::new());
        let bar = progress::Bar::begin(&self.client, session.shows_progress).await;
        let (reports, mut receive) = mpsc::unbounded_channel();
        let folders = session.folders();
        let run = self.run.clone();
        let build = tokio::task::spawn_blocking(move || -> std::result::Result<_, EngineError> {
            let engine = Engines::open(configuration, folders, &run)?;
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
                let engine = self.put_in_force(engine);
                for path in self.meanwhile.lock().take().unwrap_or_default() {
                    if self.open_document(&path).is_none() {
                        self.file_changed(&engine, &path);
                    }
                }
                self.ready(&engine, &indexed).await;
                // Settings may have come meanwhile that were put in use before this.
                let now = self.configuration();
                if now.is_ok_and(|now| now != *engine.configuration()) {
                    let _ = self.work.send(Work::Switch);
                }
            }
            Ok(Err(error)) => progress::complain(&self.client, error).await,
            Err(error) => progress::complain(&self.client, error).await,
        }
    }

    /// Whether the texts of completions are kept.
    fn keeps_content(&self) -> bool {
        self.recorder
            .get()
            .is_some_and(|recorder| recorder.keeps_content())
    }

    /// Tells the client whether the texts of completions are kept, where it was told otherwise.
    async fn tell_what_is_kept(&self) {
        let status = {
            let mut last = self.status.lock();
            let Some(status) = &mut *last else { return };
            let content = self.keeps_content();
            if status.content == content {
                return;
            }
            status.content = content;
            status.clone()
        };
        progress::tell(&self.client, status).await;
    }

    /// Puts engines in force. What was opened or typed while they were made counts as well.
    fn put_in_force(&self, engine: Engines) -> Arc<Engines> {
        let engine = Arc::new(engine);
        let open = || self.documents.read().all();
        // While this lock is held no edit reaches an engine, so none is lost between the two.
        let mut current = self.engine.write();
        for document in open() {
            engine.document_opened(&document);
        }
        *current = Some(Arc::clone(&engine));
        engine
    }

    /// Puts the settings that are now in force in use: without reading the repository again, where
    /// what is known of it serves them.
    async fn switch(&self) {
        let configuration = match self.configuration() {
            Ok(configuration) => configuration,
            Err(error) => return progress::complain(&self.client, error).await,
        };
        let switched = match self.engine() {
            None => Ok(Ok(None)),
            Some(engine) => {
                let configuration = configuration.clone();
                tokio::task::spawn_blocking(move || engine.switched(&configuration)).await
            }
        };
        match switched {
            Ok(Ok(Some(engine))) => {
                let engine = self.put_in_force(engine);
                self.switched_to(&engine).await;
            }
            Ok(Ok(None)) => self.configure(configuration).await,
            Ok(Err(error)) => progress::complain(&self.client, error).await,
            Err(error) => progress::complain(&self.client, error).await,
        }
    }

    /// Tells the client, and its log, who answers from now on.
    async fn switched_to(&self, engine: &Engines) {
        let said = format!("fillrate: {}", engine.about());
        self.client.log_message(MessageType::INFO, said).await;
        let files = self.status.lock().as_ref().and_then(|status| status.files);
        self.tell_ready(engine, files).await;
    }

    fn open_document(&self, path: &Path) -> Option<Arc<Snapshot>> {
        self.documents.read().find_by_path(path)
    }

    /// Tells the client, and once in its log, that all is ready and with what.
    async fn ready(&self, engine: &Engines, indexed: &Indexed) {
        let mut said = format!(
            "fillrate {}: {}; {} files indexed",
            env!("CARGO_PKG_VERSION"),
            engine.about(),
            indexed.files,
        );
        for (reason, count) in &indexed.left_out {
            said.push_str(&format!("; left out {count}: {reason}"));
        }
        self.client.log_message(MessageType::INFO, said).await;
        self.tell_ready(engine, Some(indexed.files)).await;
    }

    /// Tells the client that other settings are in force, even where it can't see that in them.
    async fn tell_ready(&self, engine: &Engines, files: Option<usize>) {
        let status = Status {
            content: self.keeps_content(),
            model: engine.answering(None),
            trial: engine.configuration().trial().is_some(),
            ..Status::of(State::Ready, files)
        };
        *self.status.lock() = Some(status.clone());
        progress::tell(&self.client, status).await;
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

    /// Opens an engine anew for the folders as they are now.
    fn configure_again(&self) {
        match self.configuration() {
            Ok(configuration) => {
                let _ = self.work.send(Work::Configure(Box::new(configuration)));
            }
            Err(error) => self.complain(error),
        }
    }

    fn complain(&self, error: ConfigurationError) {
        let client = self.client.clone();
        tokio::spawn(async move { progress::complain(&client, error).await });
    }

    /// Puts other settings in force: at once where every model they name is open, else after it
    /// was opened, in the background.
    fn reconfigure(self: &Arc<Self>, configuration: &Configuration) {
        let tuned = {
            let mut engine = self.engine.write();
            let is_in_force = |engine: &Arc<Engines>| engine.configuration() == configuration;
            if engine.as_ref().is_some_and(is_in_force) {
                return;
            }
            let tuned = engine
                .as_ref()
                .and_then(|engine| engine.tuned(configuration));
            let tuned = tuned.map(Arc::new);
            if let Some(tuned) = &tuned {
                *engine = Some(Arc::clone(tuned));
            }
            tuned
        };
        match tuned {
            Some(tuned) => {
                let server = Arc::clone(self);
                tokio::spawn(async move { server.switched_to(&tuned).await });
            }
            None => {
                let _ = self.work.send(Work::Switch);
            }
        }
    }

    fn tell_engine_of_file(&self, uri: &str) {
        let Some(path) = file_path(uri) else { return };
        if let Some(meanwhile) = &mut *self.meanwhile.lock() {
            meanwhile.push(path.clone());
        }
        if let Some(engine) = self.engine() {
            self.file_changed(&engine, &path);
        }
    }

    fn file_changed(&self, engine: &Engines, path: &Path) {
        if let Some(folder) = engine.file_changed(path) {
            let _ = self.work.send(Work::Discover(folder));
        }
    }
}
