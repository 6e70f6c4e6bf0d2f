//! Tests of the server over in-memory streams.

mod sending;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::InitializeParams;

use super::backend::{Backend, build};
use super::frame::{FrameDecoder, encode};
use super::task::AbortOnDrop;
use super::*;
use crate::completion::Engines;

/// A client of a server in this process.
struct TestClient {
    stream: DuplexStream,
    server: JoinHandle<SessionEnd>,
    decoder: FrameDecoder,
    /// Messages of the server other than responses.
    messages: Vec<Value>,
    next_id: i64,
    /// A settings file, so that none of this machine is read.
    settings: tempfile::NamedTempFile,
}

impl TestClient {
    /// Starts a server with additional methods.
    fn start(
        add_methods: impl FnOnce(LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend>,
    ) -> Self {
        Self::start_with("", add_methods)
    }

    /// As [`TestClient::start`], with these settings in a file.
    fn start_with(
        contents: &str,
        add_methods: impl FnOnce(LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend>,
    ) -> Self {
        let settings = tempfile::NamedTempFile::new().expect("there is room for a file");
        std::fs::write(settings.path(), contents).expect("it can be written");
        let options = ServerOptions {
            configuration_file: Some(settings.path().to_owned()),
            flags: json!({"telemetry": {"enabled": false}}),
        };
        let builder = add_methods(build(options));
        let (stream, server) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server);
        let server = tokio::spawn(run(builder, input, output));
        Self {
            stream,
            server,
            decoder: FrameDecoder::default(),
            messages: Vec::new(),
            next_id: 1,
            settings,
        }
    }

    /// Sends a request and waits for its whole response.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let sent = self.stream.write_all(&encode(&request)).await;
        sent.expect("the server reads");
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            self.messages.push(message);
        }
    }

    /// Sends a notification.
    async fn notify(&mut self, method: &str, params: Value) {
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let sent = self.stream.write_all(&encode(&notification)).await;
        sent.expect("the server reads");
    }

    /// Waits for the end of the session.
    async fn ended(self) -> SessionEnd {
        self.server.await.expect("the server does not panic")
    }

    /// Sends a message as it is written.
    async fn send_text(&mut self, text: &str) {
        let message = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let sent = self.stream.write_all(message.as_bytes()).await;
        sent.expect("the server reads");
    }

    async fn initialize(&mut self, params: Value) -> Value {
        self.request("initialize", params).await
    }

    async fn receive(&mut self) -> Value {
        loop {
            if let Some(message) = self.decoder.next_message().expect("it is a message") {
                return message;
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).await.expect("it is open");
            assert!(read > 0, "the server ended");
            self.decoder.push(&bytes[..read]);
        }
    }

    /// Reads messages until this number of a method have arrived.
    async fn await_messages(&mut self, method: &str, count: usize) {
        while self.of_method(method).len() < count {
            let message = self.receive().await;
            self.messages.push(message);
        }
    }

    /// The texts of the messages of a method.
    fn of_method(&self, method: &str) -> Vec<String> {
        let messages = self.messages.iter();
        let messages = messages.filter(|message| message["method"] == method);
        messages
            .map(|message| message["params"]["message"].to_string())
            .collect()
    }
}

async fn panic_in_handler(_: &Backend, _: Value) -> Result<Value> {
    panic!("a fault in a handler")
}

async fn panic_in_task(_: &Backend, _: Value) -> Result<Value> {
    let task = AbortOnDrop::<Value>::spawn(async { panic!("a fault in a task") });
    Ok(task.await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn panics_are_logged_and_shown_once() {
    let mut client = TestClient::start(|builder| {
        builder
            .custom_method("test/handler", panic_in_handler)
            .custom_method("test/task", panic_in_task)
    });
    let initialized = client.initialize(json!({"capabilities": {}})).await;
    assert!(initialized["result"].is_object(), "{initialized}");
    for method in ["test/handler", "test/task", "test/handler"] {
        let response = client.request(method, json!({})).await;
        assert_eq!(response["error"]["code"], -32603, "{response}");
        let message = response["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(method), "{response}");
    }
    client.await_messages("window/logMessage", 3).await;
    // The server still responds, and messages sent before the response have arrived.
    let models = client.request("fillrate/models", json!({})).await;
    assert!(models["result"]["models"].is_array(), "{models}");
    let logged = client.of_method("window/logMessage");
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[0].contains("a fault in a handler"), "{logged:?}");
    assert!(logged[1].contains("a fault in a task"), "{logged:?}");
    assert!(logged[1].contains("lsp/tests.rs"), "{logged:?}");
    let shown = client.of_method("window/showMessage");
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("a fault in a handler"), "{shown:?}");
}

#[tokio::test]
async fn undecodable_message_does_not_end_the_session() {
    let mut client = TestClient::start(|builder| builder);
    client.initialize(json!({"capabilities": {}})).await;
    let nested = "[".repeat(200) + &"]".repeat(200);
    for (params, code) in [("1e999", -32700), (nested.as_str(), -32700), ("?", -32700)] {
        client
            .send_text(&format!(
                r#"{{"jsonrpc":"2.0","method":"$/a","params":{params}}}"#
            ))
            .await;
        let answer = client.receive().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code))
        );
    }
    for text in ["[]", "7", r#"{"id":1}"#, r#"{"jsonrpc":"2.0","method":1}"#] {
        client.send_text(text).await;
        let answer = client.receive().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
    }
    client
        .send_text(
            r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
            "uri":"file:///a.py","languageId":"python","version":1,"text":"s = '\ud83d'"}}}"#,
        )
        .await;
    let position = json!({"line": 0, "character": 7});
    let params = json!({"textDocument": {"uri": "file:///a.py"}, "position": position});
    let answer = client.request(EXPLAIN, params).await;
    assert!(answer.get("result").is_some(), "{answer}");
    assert!(client.messages.is_empty(), "{:?}", client.messages);
}

#[tokio::test]
async fn malformed_messages_end_no_session() {
    let mut client = TestClient::start(|builder| builder);
    client.initialize(json!({"capabilities": {}})).await;
    let change = json!({"textDocument": "file:///a.py", "contentChanges": []});
    client.notify("textDocument/didChange", change).await;
    // A response whose result is undefined, as JavaScript writes it.
    client.send_text(r#"{"jsonrpc":"2.0","id":99}"#).await;
    let models = client.request("fillrate/models", json!({})).await;
    assert!(models["result"]["models"].is_array(), "{models}");
    let is_error = |message: &Value| message.get("error").is_some();
    assert!(
        !client.messages.iter().any(is_error),
        "{:?}",
        client.messages
    );
}

#[tokio::test]
async fn exit_without_shutdown_is_an_error() {
    let mut client = TestClient::start(|builder| builder);
    client.initialize(json!({"capabilities": {}})).await;
    client.notify("exit", json!({})).await;
    assert_eq!(client.ended().await, SessionEnd::WithoutShutdown);
    let mut client = TestClient::start(|builder| builder);
    client.initialize(json!({"capabilities": {}})).await;
    // Some clients send parameters, which the method does not have.
    let answer = client.request("shutdown", json!({})).await;
    assert_eq!(answer.get("result"), Some(&Value::Null), "{answer}");
    client.notify("exit", Value::Null).await;
    assert_eq!(client.ended().await, SessionEnd::Orderly);
}

#[tokio::test]
async fn changed_settings_file_is_in_force_at_once() {
    let mut client = TestClient::start_with("[context]\nkeep_index = false\n", |builder| builder);
    client.initialize(json!({"capabilities": {}})).await;
    client.notify("initialized", json!({})).await;
    let is_ready = |message: &Value| message["params"]["state"] == "ready";
    while !is_ready(&client.receive().await) {}
    let document = json!({
        "uri": "file:///w/a.py", "languageId": "python", "version": 1, "text": "x = \n",
    });
    let opened = json!({"textDocument": document});
    client.notify("textDocument/didOpen", opened).await;
    let position = json!({"line": 0, "character": 4});
    let params = json!({"textDocument": {"uri": "file:///w/a.py"}, "position": position});
    let answer = client.request(RETRIEVE, params.clone()).await;
    assert_eq!(answer["result"].get("fault"), None, "{answer}");
    let path = client.settings.path();
    std::fs::write(
        path,
        "[context]\nkeep_index = false\n[languages]\npython = false\n",
    )
    .expect("it can be written");
    let change = json!({"uri": format!("file://{}", path.display()), "type": 2});
    let changes = json!({"changes": [change]});
    client
        .notify("workspace/didChangeWatchedFiles", changes)
        .await;
    let answer = client.request(RETRIEVE, params).await;
    let fault = answer["result"]["fault"].as_str().unwrap_or_default();
    assert!(fault.contains("switched off"), "{answer}");
}

/// Regression: a failed `initialize` left its session behind. The retry was rejected because of the
/// options of the first attempt, and kept its encoding and folders.
#[tokio::test]
async fn retried_initialize_forgets_the_refused_attempt() {
    let mut client = TestClient::start(|builder| builder);
    let refused = client
        .initialize(json!({
            "capabilities": {"general": {"positionEncodings": ["utf-8"]}},
            "initializationOptions": {"model": {"sead": 1}},
        }))
        .await;
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`sead`"), "{refused}");
    let accepted = client
        .initialize(json!({
            "capabilities": {"general": {"positionEncodings": ["utf-32"]}},
            "initializationOptions": {"models": {"second": {}}, "use": "second"},
        }))
        .await;
    let capabilities = &accepted["result"]["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-32", "{accepted}");
    let models = client.request("fillrate/models", json!({})).await;
    let second = &models["result"]["models"][1];
    assert_eq!(
        (&second["name"], &second["active"]),
        (&json!("second"), &json!(true))
    );
}

#[tokio::test]
async fn earlier_settings_never_resume_the_engines() {
    let options = ServerOptions {
        configuration_file: None,
        flags: json!({"telemetry": {"enabled": false}, "context": {"keep_index": false}}),
    };
    let (service, _socket) = build(options).finish();
    let session = service.inner().session();
    super::lifecycle::initialize(session, InitializeParams::default())
        .expect("no setting is wrong");
    let configuration = session.configuration().expect("no setting is wrong");
    let engines = Engines::open(configuration.clone(), Vec::new(), "session");
    session.install_engines(engines.expect("the embedded model opens"), 0);
    {
        let mut state = session.state().expect("it is initialized");
        // The person chose another model, which is not open yet.
        state.revision = 1;
        state.suspended = true;
        assert!(state.resume(&configuration, 0).is_none());
        assert!(state.answering_engines().is_none());
        assert!(state.resume(&configuration, 1).is_some());
        assert!(state.answering_engines().is_some());
    }
    session.end();
    assert!(session.state().is_none());
}
