//! A small LSP client with full control over the bytes it writes, and a scripted model server.
#![allow(
    dead_code,
    reason = "each file of tests uses its own part of what they share"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fillrate_server::lsp::frame::{FrameDecoder, encode};
use serde_json::{Value, json};

/// How long anything that should come may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An editor with a server of ours as its child.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    answers: HashMap<i64, Value>,
    /// Notifications and requests of the server.
    pub(crate) notifications: Vec<Value>,
    next_id: i64,
    /// Messages held back, to be written at once.
    held: Option<Vec<u8>>,
    /// What the server wrote to standard error.
    pub(crate) errors: Arc<Mutex<String>>,
}

impl Editor {
    /// Starts the server with a settings file in a workspace and sends `initialize`, but not yet
    /// `initialized`. Returns the response too.
    pub(crate) fn start(workspace: &Path, settings: &str, encodings: &[&str]) -> (Self, Value) {
        let capabilities = json!({
            "general": {"positionEncodings": encodings},
            "window": {"workDoneProgress": true},
        });
        Self::start_with(workspace, settings, &capabilities)
    }

    /// As [`Editor::start`], with these capabilities of the client.
    pub(crate) fn start_with(
        workspace: &Path,
        settings: &str,
        capabilities: &Value,
    ) -> (Self, Value) {
        Self::start_as(workspace, settings, capabilities, &Value::Null)
    }

    /// As [`Editor::start_with`], with these initialization options too.
    pub(crate) fn start_as(
        workspace: &Path,
        settings: &str,
        capabilities: &Value,
        options: &Value,
    ) -> (Self, Value) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fillrate"));
        // A person's own store must not hold what tests do.
        command.env("XDG_DATA_HOME", workspace.join(".data"));
        Self::start_by(command, workspace, settings, capabilities, options)
    }

    /// As [`Editor::start_as`], by a command of the program, whose environment may be another.
    pub(crate) fn start_by(
        mut command: Command,
        workspace: &Path,
        settings: &str,
        capabilities: &Value,
        options: &Value,
    ) -> (Self, Value) {
        let path = workspace.join(".settings.toml");
        std::fs::write(&path, settings).unwrap();
        let mut child = command
            .args(["serve", "--config"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = Arc::new(Mutex::new(String::new()));
        let (kept, stderr) = (Arc::clone(&errors), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                eprintln!("{line}");
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let (send, messages) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || forward_messages(output, &send));
        let mut editor = Self {
            input: child.stdin.take(),
            child,
            messages,
            answers: HashMap::new(),
            notifications: Vec::new(),
            next_id: 1,
            held: None,
            errors,
        };
        let uri = uri(workspace, "");
        let answer = editor.request(
            "initialize",
            json!({
                "processId": null, "rootUri": uri,
                "clientInfo": {"name": "test-editor", "version": "7"},
                "workspaceFolders": [{"uri": uri, "name": "w"}],
                "capabilities": capabilities,
                "initializationOptions": options,
            }),
        );
        (editor, answer)
    }

    /// As [`Editor::start`], and waits until the server is ready.
    pub(crate) fn ready(workspace: &Path, settings: &str) -> Self {
        let (mut editor, _) = Self::start(workspace, settings, &["utf-16"]);
        editor.notify("initialized", json!({}));
        editor.await_status("ready");
        editor
    }

    pub(crate) fn await_status(&mut self, state: &str) {
        let until = Instant::now() + PATIENCE;
        let seen = |editor: &Self| {
            editor.notifications.iter().any(|message| {
                message["method"] == "fillrate/status" && message["params"]["state"] == state
            })
        };
        while !seen(self) {
            assert!(Instant::now() < until, "{:?}", self.notifications);
            self.pump(Duration::from_millis(100));
        }
    }

    pub(crate) fn open(&mut self, uri: &str, language: &str, text: &str) {
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}),
        );
    }

    /// Replaces the whole of a document.
    pub(crate) fn change(&mut self, uri: &str, version: i32, text: &str) {
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}),
        );
    }

    /// Inserts a text at a place of a document.
    pub(crate) fn insert(
        &mut self,
        uri: &str,
        version: i32,
        line: u32,
        character: u32,
        text: &str,
    ) {
        let at = json!({"line": line, "character": character});
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": {"start": at, "end": at}, "text": text}],
            }),
        );
    }

    /// Asks for an inline completion without waiting.
    pub(crate) fn ask(&mut self, uri: &str, line: u32, character: u32) -> i64 {
        self.send_request(
            "textDocument/inlineCompletion",
            json!({
                "textDocument": {"uri": uri},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2},
            }),
        )
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.answer(id)
    }

    pub(crate) fn send_request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the answer to a request, whole.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            assert!(Instant::now() < until, "request {id} was not answered");
            self.pump(Duration::from_millis(100));
        }
    }

    /// The answer to a request, if it has come.
    pub(crate) fn answered(&mut self, id: i64) -> Option<Value> {
        self.answers.remove(&id)
    }

    /// How much memory the server holds, in bytes, as the system counts it.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() * 1024
    }

    /// Takes in what has come, waiting for the first message no longer than this.
    pub(crate) fn pump(&mut self, patience: Duration) {
        match self.messages.recv_timeout(patience) {
            Ok(message) => match (message.get("method").is_some(), message["id"].as_i64()) {
                (true, None) => self.notifications.push(message),
                (false, Some(id)) => {
                    self.answers.insert(id, message);
                }
                _ => {
                    // The server's own requests: their ids count apart from ours.
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": null});
                    self.send(&answer);
                    self.notifications.push(message);
                }
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => panic!("the server went away"),
        }
    }

    fn send(&mut self, message: &Value) {
        let frame = encode(message);
        match &mut self.held {
            Some(held) => held.extend(frame),
            None => self.write(&frame),
        }
    }

    /// Sends all that `messages` says in one write.
    pub(crate) fn at_once<T>(&mut self, messages: impl FnOnce(&mut Self) -> T) -> T {
        self.held = Some(Vec::new());
        let given = messages(self);
        let held = self.held.take().unwrap();
        self.write(&held);
        given
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Closes the server's input and waits for its end, which must come soon: a closed editor can't
    /// end it.
    pub(crate) fn hang_up(mut self) -> ExitStatus {
        drop(self.input.take());
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the server outlives its client");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URI of a file in a workspace.
pub(crate) fn uri(workspace: &Path, file: &str) -> String {
    // The empty name stands for the folder itself.
    let path = workspace.join(file);
    lsp_types::Url::from_file_path(path).unwrap().into()
}

/// The text of the first candidate of an answer, if there is one.
pub(crate) fn text(answer: &Value) -> Option<String> {
    let text = answer["result"]["items"][0]["insertText"].as_str()?;
    Some(text.to_owned())
}

/// Decodes the server's messages until its output ends or the receiver is gone.
fn forward_messages(mut output: impl Read, messages: &Sender<Value>) {
    let mut decoder = FrameDecoder::default();
    let mut chunk = [0; 16 * 1024];
    while let Ok(read @ 1..) = output.read(&mut chunk) {
        decoder.push(&chunk[..read]);
        while let Some(message) = decoder.next_message().unwrap() {
            if messages.send(message).is_err() {
                return;
            }
        }
    }
}

/// A model server on loopback that speaks `/v1/completions` and notes what it is asked.
#[derive(Clone)]
pub(crate) struct Oracle {
    pub(crate) address: String,
    /// Every prompt it was sent.
    pub(crate) prompts: Arc<Mutex<Vec<String>>>,
    /// When each prompt had come.
    pub(crate) arrivals: Arc<Mutex<Vec<Instant>>>,
    /// How many clients hung up before they had their answer.
    pub(crate) hung_up: Arc<Mutex<usize>>,
    /// When each of them did.
    pub(crate) gone: Arc<Mutex<Vec<Instant>>>,
    /// How many characters were written to those that get an answer piece by piece.
    pub(crate) written: Arc<Mutex<usize>>,
    delay: Duration,
    gap: Option<Duration>,
    reply: Arc<Reply>,
}

/// What a model says to a prompt.
type Reply = dyn Fn(&str) -> String + Send + Sync;

impl Oracle {
    /// A server that takes `delay` and then answers what `reply` makes of the prompt, at once.
    pub(crate) fn new(
        delay: Duration,
        reply: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::with(delay, None, reply)
    }

    /// A server that writes its answer character by character, each after this time.
    pub(crate) fn writing(
        gap: Duration,
        reply: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::with(Duration::ZERO, Some(gap), reply)
    }

    fn with(
        delay: Duration,
        gap: Option<Duration>,
        reply: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let oracle = Self {
            address,
            prompts: Arc::default(),
            arrivals: Arc::default(),
            hung_up: Arc::default(),
            gone: Arc::default(),
            written: Arc::default(),
            delay,
            gap,
            reply: Arc::new(reply),
        };
        let shared = oracle.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Answers are written in pieces.
                let _ = stream.set_nodelay(true);
                let oracle = shared.clone();
                std::thread::spawn(move || while oracle.converse(&stream).is_some() {});
            }
        });
        oracle
    }

    /// Settings of ours for this server.
    pub(crate) fn settings(&self) -> String {
        format!(
            "[model]\nprotocol = \"openai-completions\"\nurl = \"{}\"\nname = \"qwen2.5-coder\"\n",
            self.address
        )
    }

    /// Answers one request; nothing when the connection is over.
    fn converse(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let asked: Value = serde_json::from_slice(&body).ok()?;
        let prompt = asked["prompt"].as_str()?.to_owned();
        self.arrivals.lock().unwrap().push(Instant::now());
        self.prompts.lock().unwrap().push(prompt.clone());
        self.think(stream, self.delay)?;
        let answer = (self.reply)(&prompt);
        let mut output = stream;
        let Some(gap) = self.gap else {
            let answer =
                json!({"choices": [{"text": answer, "finish_reason": "stop"}]}).to_string();
            return write!(
                output,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .ok();
        };
        write!(
            output,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        for character in answer.chars() {
            self.think(stream, gap)?;
            let event = json!({"choices": [{"text": character.to_string()}]});
            write!(output, "data: {event}\n\n").ok()?;
            *self.written.lock().unwrap() += 1;
        }
        let end = json!({"choices": [{"text": "", "finish_reason": "stop"}]});
        write!(output, "data: {end}\n\ndata: [DONE]\n\n").ok()?;
        None
    }

    /// Lets time pass; nothing where the client hangs up meanwhile.
    fn think(&self, stream: &TcpStream, time: Duration) -> Option<()> {
        // A client that hangs up shows as the end of its input.
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            stream
                .set_read_timeout(Some(
                    left.clamp(Duration::from_millis(1), Duration::from_millis(20)),
                ))
                .ok()?;
            if let Ok(0) = stream.peek(&mut [0]) {
                *self.hung_up.lock().unwrap() += 1;
                self.gone.lock().unwrap().push(Instant::now());
                return None;
            }
        }
        stream.set_read_timeout(None).ok()
    }
}
