//! A small LSP client with control over every byte it writes, and a scripted model server.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fillrate_server::lsp::frame::{FrameDecoder, encode};
use serde_json::{Value, json};

/// Time limit for anything expected, on a busy machine.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(20);

use crate::support::processes::RunningProgram;

/// An editor with a language server as its child.
pub(crate) struct Editor {
    child: RunningProgram,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    answers: HashMap<i64, Value>,
    /// The server's notifications and requests.
    pub(crate) notifications: Vec<Value>,
    next_id: i64,
    /// Messages held back for one write.
    held_back: Option<Vec<u8>>,
    /// The server's standard error.
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
        let (received, stderr) = (Arc::clone(&errors), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                eprintln!("{line}");
                let mut received = received.lock().unwrap();
                received.push_str(&line);
                received.push('\n');
            }
        });
        let (send, messages) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || forward_messages(output, &send));
        let mut editor = Self {
            input: child.stdin.take(),
            child: RunningProgram(child),
            messages,
            answers: HashMap::new(),
            notifications: Vec::new(),
            next_id: 1,
            held_back: None,
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

    pub(crate) fn await_status(&mut self, state: &str) -> Value {
        let until = Instant::now() + TIME_LIMIT;
        loop {
            let seen = self.notifications.iter().find(|message| {
                message["method"] == "fillrate/status" && message["params"]["state"] == state
            });
            if let Some(message) = seen {
                return message["params"].clone();
            }
            assert!(Instant::now() < until, "{:?}", self.notifications);
            self.receive(Duration::from_millis(100));
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

    /// Inserts a text at a position of a document.
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

    /// Requests an inline completion without waiting.
    pub(crate) fn request_completion(&mut self, uri: &str, line: u32, character: u32) -> i64 {
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
        self.response(id)
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

    /// Waits for the whole response to a request.
    pub(crate) fn response(&mut self, id: i64) -> Value {
        let until = Instant::now() + TIME_LIMIT;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            assert!(Instant::now() < until, "request {id} was not answered");
            self.receive(Duration::from_millis(100));
        }
    }

    /// The response to a request, if it has arrived.
    pub(crate) fn try_response(&mut self, id: i64) -> Option<Value> {
        self.answers.remove(&id)
    }

    /// Returns the memory of the server, in bytes, as the system counts it.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() * 1024
    }

    /// Receives pending messages; waits for the first one at most this long.
    pub(crate) fn receive(&mut self, timeout: Duration) {
        match self.messages.recv_timeout(timeout) {
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
        match &mut self.held_back {
            Some(held_back) => held_back.extend(frame),
            None => self.write(&frame),
        }
    }

    /// Sends all of `messages` in one write.
    pub(crate) fn in_one_write<T>(&mut self, messages: impl FnOnce(&mut Self) -> T) -> T {
        self.held_back = Some(Vec::new());
        let given = messages(self);
        let held_back = self.held_back.take().unwrap();
        self.write(&held_back);
        given
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Closes the server's input and waits for its end, which must come soon, because nothing
    /// else would end it.
    pub(crate) fn disconnect(mut self) -> ExitStatus {
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

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + TIME_LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "not seen in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The URI of a file in a workspace.
pub(crate) fn uri(workspace: &Path, file: &str) -> String {
    // The empty name is the folder itself.
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

/// A model server on loopback that speaks `/v1/completions` and records its requests.
#[derive(Clone)]
pub(crate) struct ScriptedModel {
    pub(crate) address: String,
    /// Every prompt received.
    pub(crate) prompts: Arc<Mutex<Vec<String>>>,
    /// Arrival time of each prompt.
    pub(crate) arrivals: Arc<Mutex<Vec<Instant>>>,
    /// Number of clients that disconnected before the response.
    pub(crate) disconnects: Arc<Mutex<usize>>,
    /// Time at which each of them disconnected.
    pub(crate) disconnect_times: Arc<Mutex<Vec<Instant>>>,
    /// Number of characters streamed.
    pub(crate) written: Arc<Mutex<usize>>,
    delay: Duration,
    gap: Option<Duration>,
    reply: Arc<Reply>,
}

/// A model's completion for a prompt.
type Reply = dyn Fn(&str) -> String + Send + Sync;

impl ScriptedModel {
    /// A server that waits for `delay` and then responds with `reply(prompt)` at once.
    pub(crate) fn new(
        delay: Duration,
        reply: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::with(delay, None, reply)
    }

    /// A server that streams its response character by character, each after this time.
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
        let scripted = Self {
            address,
            prompts: Arc::default(),
            arrivals: Arc::default(),
            disconnects: Arc::default(),
            disconnect_times: Arc::default(),
            written: Arc::default(),
            delay,
            gap,
            reply: Arc::new(reply),
        };
        let shared = scripted.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Responses are written in pieces.
                let _ = stream.set_nodelay(true);
                let scripted = shared.clone();
                std::thread::spawn(move || while scripted.answer(&stream).is_some() {});
            }
        });
        scripted
    }

    /// Settings for this server.
    pub(crate) fn settings(&self) -> String {
        format!(
            "[model]\nprotocol = \"openai-completions\"\nurl = \"{}\"\nname = \"qwen2.5-coder\"\n",
            self.address
        )
    }

    /// Settings for this server as one that has loaded its model: the client disconnects from its
    /// first request, too, when the answer is no longer needed.
    pub(crate) fn loaded_settings(&self) -> String {
        format!("{}load_timeout_ms = 0\n", self.settings())
    }

    /// Answers one request; `None` when the connection ends.
    fn answer(&self, stream: &TcpStream) -> Option<()> {
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

    /// Sleeps; `None` if the client disconnects meanwhile.
    fn think(&self, stream: &TcpStream, time: Duration) -> Option<()> {
        // A client that disconnects ends its input.
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            stream
                .set_read_timeout(Some(
                    left.clamp(Duration::from_millis(1), Duration::from_millis(20)),
                ))
                .ok()?;
            if let Ok(0) = stream.peek(&mut [0]) {
                *self.disconnects.lock().unwrap() += 1;
                self.disconnect_times.lock().unwrap().push(Instant::now());
                return None;
            }
        }
        stream.set_read_timeout(None).ok()
    }
}
