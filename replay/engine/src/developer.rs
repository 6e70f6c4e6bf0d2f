//! The LSP client that simulates a developer: opens a file, puts the cursor in a hole, waits for a
//! completion and accepts it.
//!
//! It starts the language server as an editor does, as a child over standard input and output, and
//! uses nothing but the protocol.

pub mod fit;
pub mod gate;
pub mod policy;
pub mod typing;
pub mod typist;
mod wire;

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fillrate_server::completion::{RetrievedWindows, Trace};
use fillrate_server::context::GivenContext;
use fillrate_server::lsp::{
    EVENT, EXPLAIN, Explanation, INLINE_COMPLETION, InlineCompletionContext, InlineCompletionList,
    InlineCompletionParams, NEW_SESSION, RETRIEVE, RetrieveParams, ServerState, ServerStatus,
    TRIGGER_AUTOMATIC, TRIGGER_INVOKED,
};
use fillrate_server::telemetry::SIMULATION;
use fillrate_syntax::text::{ByteOffset, Encoding, Position, Text};
use lsp_types::{Command, FileChangeType, FileEvent, TextDocumentIdentifier, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Child;
use wire::Wire;

/// An editor with one workspace open, and its language server.
pub struct Developer {
    server: Child,
    wire: Wire,
    encoding: Encoding,
    /// True if every request was answered.
    answered: bool,
    open_files: usize,
}

/// Command that starts the language server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Timeout for the server to start and to index the workspace.
    pub start_timeout: Duration,
    /// The telemetry store of its completions; `None` disables recording.
    pub telemetry: Option<PathBuf>,
    /// True if the server keeps its index for the next one in this workspace.
    pub keeps_index: bool,
}

/// Response of the server at a cursor.
#[derive(Clone, Debug)]
pub struct CompletionReply {
    /// The candidates, best first; empty if the server had none or did not answer in time.
    pub candidates: Vec<String>,
    /// From the last byte of the request to the last byte of the answer.
    pub latency: Duration,
    /// True if the answer came in time.
    pub answered: bool,
    /// The server's trace of the completion.
    pub trace: Option<Trace>,
    /// The commands that an editor runs when a candidate is accepted, in the candidates' order;
    /// empty if the server names none.
    pub commands: Vec<Command>,
}

/// Reason for which the session with the server failed.
#[derive(Debug, thiserror::Error)]
pub enum DeveloperError {
    /// The server can't be started.
    #[error("the language server {program} can't be started: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The server went away.
    #[error("the language server ended during a request; its last output: {0}")]
    Ended(String),
    /// The server refused a request.
    #[error("the language server refused `{method}`: {message}")]
    Refused {
        /// The request.
        method: String,
        /// Its answer.
        message: String,
    },
    /// The server can't work with its settings or its model; its own sentence.
    #[error("{0}")]
    Fault(String),
    /// The server sent a message that is not LSP.
    #[error("the language server sent something that can't be read: {0}")]
    Garbled(String),
    /// The server did not become ready.
    #[error("the language server was not ready after {0:?}")]
    NotReady(Duration),
    /// The server did not answer a request that needs no model.
    #[error("the language server did not answer `{0}` within {limit:?}", limit = LONGEST_ANSWER)]
    Unanswered(String),
    /// A path has no file URI.
    #[error("{0} can't be named by a URI")]
    Path(PathBuf),
}

/// Time limit for a request that needs no model: a server that takes longer hangs.
const LONGEST_ANSWER: Duration = Duration::from_secs(600);

impl Developer {
    /// Starts a server on a workspace folder and waits until it has read the repository.
    ///
    /// # Errors
    /// The server can't be started, refuses its settings, or does not get ready.
    pub async fn start(server: &ServerCommand, workspace: &Path) -> Result<Self, DeveloperError> {
        let mut child = tokio::process::Command::new(&server.program)
            .args(&server.arguments)
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| DeveloperError::Start {
                program: server.program.clone(),
                source,
            })?;
        let wire = Wire::open(&mut child)?;
        let mut developer = Self {
            server: child,
            wire,
            encoding: Encoding::default(),
            answered: true,
            open_files: 0,
        };
        let ready = tokio::time::timeout(
            server.start_timeout,
            developer.initialize(server, workspace),
        )
        .await;
        match ready {
            Ok(done) => done.map(|()| developer),
            Err(_) => Err(DeveloperError::NotReady(server.start_timeout)),
        }
    }

    async fn initialize(
        &mut self,
        server: &ServerCommand,
        workspace: &Path,
    ) -> Result<(), DeveloperError> {
        let uri = uri(workspace)?;
        // A simulated developer must not write into a person's own telemetry store.
        let mut telemetry = json!({"enabled": server.telemetry.is_some()});
        if let Some(path) = &server.telemetry {
            telemetry["path"] = json!(path);
        }
        let answer: Value = self
            .request(
                "initialize",
                json!({
                    "processId": std::process::id(),
                    "clientInfo": {"name": SIMULATION, "version": env!("CARGO_PKG_VERSION")},
                    "initializationOptions": {
                        "telemetry": telemetry,
                        "context": {"keep_index": server.keeps_index},
                    },
                    "rootUri": uri,
                    "workspaceFolders": [{"uri": uri, "name": "workspace"}],
                    "capabilities": {
                        "general": {"positionEncodings": ["utf-16"]},
                        "textDocument": {"inlineCompletion": {}},
                    },
                }),
            )
            .await?;
        if let Some(name) = answer
            .pointer("/capabilities/positionEncoding")
            .and_then(Value::as_str)
        {
            self.encoding = Encoding::from_name(name)
                .ok_or_else(|| DeveloperError::Garbled(format!("position encoding {name}")))?;
        }
        // The server answers `initialize` before it has read the repository, so its status is
        // awaited.
        self.notify("initialized", json!({})).await?;
        loop {
            let (method, params) = self.wire.notification().await?;
            if method != ServerStatus::METHOD {
                continue;
            }
            let status: ServerStatus = from_value(params)?;
            match status.state {
                ServerState::Ready | ServerState::Silent => return Ok(()),
                ServerState::Fault => {
                    return Err(DeveloperError::Fault(status.message.unwrap_or_default()));
                }
                ServerState::Starting | ServerState::Indexing | ServerState::Asking => {}
            }
        }
    }

    /// True if no file is open and the server has nothing left to do: it may still be busy with a
    /// request that was not answered in time.
    pub fn is_idle(&self) -> bool {
        self.answered && self.open_files == 0
    }

    /// Begins another session in the same workspace, in which the server has seen nothing but the
    /// files as they are now. `changed` are those that changed on disk since it read them.
    ///
    /// # Errors
    /// The server went away, or can't read its settings.
    pub async fn begin_session(&mut self, changed: &[PathBuf]) -> Result<(), DeveloperError> {
        let mut changes = Vec::new();
        for path in changed {
            changes.push(FileEvent::new(uri(path)?, FileChangeType::CHANGED));
        }
        self.notify(
            "workspace/didChangeWatchedFiles",
            json!({"changes": changes}),
        )
        .await?;
        // The response shows that the server has handled the notification before it.
        let _: Value = self.request(NEW_SESSION, json!({})).await?;
        // Notifications of the last session are not about this one.
        self.wire.forget_notifications();
        Ok(())
    }

    /// Changes the server's settings, as an editor does when a person edits theirs.
    ///
    /// # Errors
    /// The server went away.
    pub async fn configure(&mut self, settings: &Value) -> Result<(), DeveloperError> {
        self.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": {"fillrate": settings}}),
        )
        .await
    }

    /// Opens a file with these contents, which may differ from what the disk has.
    ///
    /// # Errors
    /// The server went away.
    pub async fn open(
        &mut self,
        path: &Path,
        language_id: &str,
        contents: &str,
    ) -> Result<OpenFile, DeveloperError> {
        let uri = uri(path)?;
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {
                "uri": uri, "languageId": language_id, "version": 1, "text": contents,
            }}),
        )
        .await?;
        self.open_files += 1;
        Ok(OpenFile {
            uri,
            version: 1,
            text: Text::new(contents),
        })
    }

    /// Requests a completion at a cursor and waits for it; after `timeout` the
    /// request is cancelled. `given` is what an evaluator sends and an editor does not: only
    /// the context profiles made for it use it.
    ///
    /// # Errors
    /// The server went away or refused the request.
    pub async fn request_completion(
        &mut self,
        file: &OpenFile,
        cursor: ByteOffset,
        timeout: Duration,
        given: Option<GivenContext>,
    ) -> Result<CompletionReply, DeveloperError> {
        self.request_with_trigger(file, cursor, TRIGGER_INVOKED, timeout, given)
            .await
    }

    /// Requests a completion as an editor does after a key: the server may wait for the next one.
    ///
    /// # Errors
    /// The server went away or refused the request.
    pub async fn request_while_typing(
        &mut self,
        file: &OpenFile,
        cursor: ByteOffset,
        timeout: Duration,
        given: Option<GivenContext>,
    ) -> Result<CompletionReply, DeveloperError> {
        self.request_with_trigger(file, cursor, TRIGGER_AUTOMATIC, timeout, given)
            .await
    }

    async fn request_with_trigger(
        &mut self,
        file: &OpenFile,
        cursor: ByteOffset,
        trigger_kind: u8,
        timeout: Duration,
        given: Option<GivenContext>,
    ) -> Result<CompletionReply, DeveloperError> {
        let params = InlineCompletionParams {
            text_document: TextDocumentIdentifier::new(file.uri.clone()),
            position: self.position(&file.text, cursor),
            context: InlineCompletionContext {
                trigger_kind,
                selected_completion_info: None,
            },
            fillrate: given,
        };
        let started = Instant::now();
        let id = self.wire.send_request(INLINE_COMPLETION, &params).await?;
        let (answered, list) = match tokio::time::timeout(timeout, self.wire.answer(id)).await {
            Ok(answer) => {
                let list: Option<InlineCompletionList> = from_answer(INLINE_COMPLETION, answer?)?;
                (true, list.unwrap_or_default())
            }
            Err(_) => {
                // The server may still be busy with the request, so it serves no further hole.
                self.answered = false;
                self.notify("$/cancelRequest", json!({"id": id})).await?;
                (false, InlineCompletionList::default())
            }
        };
        // The latency ends before the explanation is requested, which no editor does.
        let latency = started.elapsed();
        let commands = list.items.iter().filter_map(|item| item.command.clone());
        let commands = commands.collect();
        let explanation: Option<Explanation> = self
            .request(EXPLAIN, json!({"textDocument": {"uri": file.uri}}))
            .await?;
        Ok(CompletionReply {
            candidates: list
                .items
                .into_iter()
                .map(|item| item.insert_text)
                .collect(),
            latency,
            answered,
            trace: explanation.map(|explanation| explanation.trace),
            commands,
        })
    }

    /// Requests the windows of other files at a cursor, without a completion.
    ///
    /// # Errors
    /// The server went away or refused the request.
    pub async fn retrieve(
        &mut self,
        file: &OpenFile,
        cursor: ByteOffset,
        given: Option<GivenContext>,
    ) -> Result<RetrievedWindows, DeveloperError> {
        let params = RetrieveParams {
            text_document: TextDocumentIdentifier::new(file.uri.clone()),
            position: self.position(&file.text, cursor),
            fillrate: given,
        };
        let retrieved: Option<RetrievedWindows> = self.request(RETRIEVE, params).await?;
        retrieved.ok_or_else(|| DeveloperError::Garbled(format!("nothing to {RETRIEVE}")))
    }

    /// Accepts a completion: inserts it and notifies the server.
    ///
    /// # Errors
    /// The server went away.
    pub async fn accept(
        &mut self,
        file: &mut OpenFile,
        cursor: ByteOffset,
        completion: &str,
    ) -> Result<(), DeveloperError> {
        self.edit(file, cursor..cursor, completion).await
    }

    /// Replaces a range of the file and notifies the server.
    ///
    /// # Errors
    /// The server went away.
    pub async fn edit(
        &mut self,
        file: &mut OpenFile,
        range: Range<ByteOffset>,
        text: &str,
    ) -> Result<(), DeveloperError> {
        // The positions are those before the change, as LSP requires.
        let (start, end) = (
            self.position(&file.text, range.start),
            self.position(&file.text, range.end),
        );
        let position = |offset| file.text.position(offset, self.encoding);
        let replaced = position(range.start)..position(range.end);
        file.version += 1;
        file.text.replace(replaced, self.encoding, text);
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": file.uri, "version": file.version},
                "contentChanges": [{"range": {"start": start, "end": end}, "text": text}],
            }),
        )
        .await
    }

    /// Sends a telemetry event: the parameters of [`EVENT`].
    ///
    /// # Errors
    /// The server went away.
    pub async fn send_event(&mut self, event: Value) -> Result<(), DeveloperError> {
        self.notify(EVENT, event).await
    }

    /// Runs an item's command, as an editor does once its text is inserted.
    ///
    /// # Errors
    /// The server went away or refused it.
    pub async fn run_command(&mut self, command: &Command) -> Result<(), DeveloperError> {
        let _: Value = self
            .request(
                "workspace/executeCommand",
                json!({"command": command.command, "arguments": command.arguments}),
            )
            .await?;
        Ok(())
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The server went away.
    pub async fn close(&mut self, file: OpenFile) -> Result<(), DeveloperError> {
        self.open_files -= 1;
        self.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": file.uri}}),
        )
        .await
    }

    /// Shuts the server down and waits for its end.
    ///
    /// # Errors
    /// The server went away before it was asked to.
    pub async fn shut_down(mut self) -> Result<(), DeveloperError> {
        let _: Value = self.request("shutdown", Value::Null).await?;
        self.notify("exit", Value::Null).await?;
        // A server that does not exit is killed when it is dropped.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.server.wait()).await;
        Ok(())
    }

    fn position(&self, text: &Text, offset: ByteOffset) -> lsp_types::Position {
        let Position { line, character } = text.position(offset, self.encoding);
        lsp_types::Position::new(line, character)
    }

    async fn request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T, DeveloperError> {
        let id = self.wire.send_request(method, &params).await?;
        let answer = tokio::time::timeout(LONGEST_ANSWER, self.wire.answer(id))
            .await
            .map_err(|_| DeveloperError::Unanswered(method.to_owned()))?;
        from_answer(method, answer?)
    }

    async fn notify(&mut self, method: &str, params: Value) -> Result<(), DeveloperError> {
        self.wire.send_notification(method, params).await
    }
}

/// A file as the editor shows it.
#[derive(Clone, Debug)]
pub struct OpenFile {
    uri: Url,
    version: i32,
    text: Text,
}

impl OpenFile {
    /// Returns the file's contents in the editor.
    pub fn contents(&self) -> String {
        self.text.to_string()
    }
}

fn uri(path: &Path) -> Result<Url, DeveloperError> {
    Url::from_file_path(path).map_err(|()| DeveloperError::Path(path.to_owned()))
}

fn from_answer<T: DeserializeOwned>(
    method: &str,
    answer: Result<Value, String>,
) -> Result<T, DeveloperError> {
    match answer {
        Ok(value) => from_value(value),
        // A server refuses its settings, whose reader knows no method of LSP.
        Err(message) if method == "initialize" => Err(DeveloperError::Fault(message)),
        Err(message) => Err(DeveloperError::Refused {
            method: method.to_owned(),
            message,
        }),
    }
}

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, DeveloperError> {
    serde_json::from_value(value).map_err(|error| DeveloperError::Garbled(error.to_string()))
}
