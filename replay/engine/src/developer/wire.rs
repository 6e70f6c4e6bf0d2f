//! JSON-RPC messages over a child's standard input and output.
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol>

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use fillrate_server::lsp::frame::{FrameDecoder, encode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::DeveloperError;

/// The most of a server's standard error that is kept, in lines.
const LAST_WORDS: usize = 5;

/// Number of bytes read at once.
const CHUNK: usize = 16 * 1024;

/// One end of the connection. A caller that waits for one message keeps the others for later.
pub(super) struct Wire {
    input: ChildStdin,
    output: ChildStdout,
    next_id: i64,
    answers: HashMap<i64, Result<Value, String>>,
    notifications: VecDeque<(String, Value)>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    /// Holds what a cancelled wait has already read of a message.
    decoder: FrameDecoder,
}

impl Wire {
    /// Takes over a child's pipes.
    pub(super) fn open(child: &mut Child) -> Result<Self, DeveloperError> {
        let missing = || DeveloperError::Garbled("no pipe to the server".to_owned());
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(errors) = child.stderr.take() {
            let last_words = Arc::clone(&last_words);
            // A full pipe of standard error would block the server, so it is always read.
            tokio::spawn(async move {
                let mut lines = BufReader::new(errors).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push_back(line);
                    if kept.len() > LAST_WORDS {
                        kept.pop_front();
                    }
                }
            });
        }
        Ok(Self {
            input,
            output,
            next_id: 1,
            answers: HashMap::new(),
            notifications: VecDeque::new(),
            last_words,
            decoder: FrameDecoder::default(),
        })
    }

    /// Sends a request and gives its id.
    pub(super) async fn send_request(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<i64, DeveloperError> {
        let id = self.next_id;
        self.next_id += 1;
        let params =
            serde_json::to_value(params).map_err(|e| DeveloperError::Garbled(e.to_string()))?;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message).await?;
        Ok(id)
    }

    /// Sends a notification.
    pub(super) async fn send_notification(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<(), DeveloperError> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message).await
    }

    /// Waits for the answer to a request: a result, or the error's message. Safe to cancel.
    pub(super) async fn answer(
        &mut self,
        id: i64,
    ) -> Result<Result<Value, String>, DeveloperError> {
        loop {
            // Answers may come in another order than the requests.
            if let Some(answer) = self.answers.remove(&id) {
                return Ok(answer);
            }
            self.receive().await?;
        }
    }

    /// Waits for the next notification. Safe to cancel.
    pub(super) async fn notification(&mut self) -> Result<(String, Value), DeveloperError> {
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(notification);
            }
            self.receive().await?;
        }
    }

    /// Drops the notifications that no call has read.
    pub(super) fn forget_notifications(&mut self) {
        self.notifications.clear();
    }

    /// Reads one message and puts it where its reader looks for it.
    async fn receive(&mut self) -> Result<(), DeveloperError> {
        let mut message = self.read().await?;
        let id = message.get("id").and_then(Value::as_i64);
        let method = message
            .get("method")
            .and_then(Value::as_str)
            .map(str::to_owned);
        match (method, id) {
            (Some(_), Some(id)) => {
                // The server asks something of the editor; this editor grants everything.
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": null}))
                    .await?;
            }
            (Some(method), None) => {
                let params = message["params"].take();
                self.notifications.push_back((method, params));
            }
            (None, Some(id)) => {
                let answer = match message.get("error") {
                    Some(error) => {
                        Err(error["message"].as_str().unwrap_or("no message").to_owned())
                    }
                    None => Ok(message["result"].take()),
                };
                self.answers.insert(id, answer);
            }
            (None, None) => return Err(DeveloperError::Garbled(message.to_string())),
        }
        Ok(())
    }

    async fn send(&mut self, message: &Value) -> Result<(), DeveloperError> {
        let frame = encode(message);
        let sent = async {
            self.input.write_all(&frame).await?;
            self.input.flush().await
        };
        match sent.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Reads one message. What has been read survives a cancelled wait.
    async fn read(&mut self) -> Result<Value, DeveloperError> {
        loop {
            let message = self.decoder.next_message();
            if let Some(message) =
                message.map_err(|error| DeveloperError::Garbled(error.to_string()))?
            {
                return Ok(message);
            }
            let mut chunk = [0; CHUNK];
            match self.output.read(&mut chunk).await {
                Ok(0) | Err(_) => return Err(self.ended().await),
                Ok(read) => self.decoder.push(&chunk[..read]),
            }
        }
    }

    async fn ended(&self) -> DeveloperError {
        // The last lines of standard error may still be on their way.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let words = self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        DeveloperError::Ended(words.iter().cloned().collect::<Vec<_>>().join(" | "))
    }
}
