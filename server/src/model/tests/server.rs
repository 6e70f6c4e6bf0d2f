//! A server that plays scripts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// What the scripted server does with one request.
#[derive(Clone, Debug)]
pub(super) enum Script {
    /// Answers with this status line, these header lines and this body.
    ModelOutput(&'static str, &'static str, Vec<u8>),
    /// Answers with these pieces, one after another, and then does this.
    Pieces(Vec<Vec<u8>>, Then),
    /// Closes the connection.
    HangUp,
}

/// What comes after the pieces of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The response's proper end. The connection stays open for further requests.
    End,
    /// The same, a little later than the last piece.
    EndLater,
    /// The connection's end in the middle of the response.
    HangUp,
    /// Nothing, until the client hangs up, which [`Server::hung_up`] tells.
    Silence,
}

/// A response of success with this body.
pub(super) fn whole(body: &str) -> Script {
    Script::ModelOutput("200 OK", "", body.as_bytes().to_vec())
}

/// A response of success in pieces, with its proper end.
pub(super) fn streamed(pieces: &[String]) -> Script {
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec());
    Script::Pieces(pieces.collect(), Then::End)
}

/// A server that plays one script per request and keeps what it was sent. Requests beyond the
/// scripts get nothing.
pub(super) struct Server {
    pub(super) url: String,
    played: Arc<Mutex<Played>>,
    hang_ups: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

/// What is left to play, and what was seen.
#[derive(Default)]
struct Played {
    scripts: VecDeque<Script>,
    requests: Vec<String>,
    connections: usize,
}

impl Server {
    pub(super) async fn start(scripts: Vec<Script>) -> Self {
        Self::start_at("127.0.0.1:0", scripts).await
    }

    pub(super) async fn start_at(address: &str, scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let played = Arc::new(Mutex::new(Played {
            scripts: scripts.into(),
            ..Played::default()
        }));
        let (told, hang_ups) = mpsc::unbounded_channel();
        let shared = Arc::clone(&played);
        let task = tokio::spawn(async move {
            // They end with the server.
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                shared.lock().connections += 1;
                connections.spawn(serve(stream, Arc::clone(&shared), told.clone()));
            }
        });
        Self {
            url,
            played,
            hang_ups,
            task,
        }
    }

    pub(super) fn requests(&self) -> Vec<String> {
        let played = self.played.lock();
        played.requests.clone()
    }

    pub(super) fn bodies(&self) -> Vec<Value> {
        self.requests()
            .iter()
            .map(|text| {
                let (_, body) = text.split_once("\r\n\r\n").expect("a head");
                serde_json::from_str(body).expect("JSON")
            })
            .collect()
    }

    /// How many connections clients made.
    pub(super) fn connections(&self) -> usize {
        let played = self.played.lock();
        played.connections
    }

    /// Waits until a client hung up on a server that had fallen silent.
    pub(super) async fn hung_up(&mut self) {
        self.hang_ups.recv().await.expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Plays scripts on one connection, request by request.
async fn serve(
    mut stream: TcpStream,
    played: Arc<Mutex<Played>>,
    hung_up: mpsc::UnboundedSender<()>,
) {
    while let Some(request) = read_request(&mut stream).await {
        let script = {
            let mut played = played.lock();
            played.requests.push(request);
            played.scripts.pop_front()
        };
        // The client may hang up at any time, so that what is written may go nowhere.
        match script {
            Some(Script::ModelOutput(status, headers, body)) => {
                let head = format!(
                    "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(&body).await;
            }
            Some(Script::Pieces(pieces, then)) => {
                let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                let _ = stream.write_all(head.as_bytes()).await;
                for piece in pieces {
                    let size = format!("{:x}\r\n", piece.len());
                    let chunk = [size.as_bytes(), &piece, b"\r\n"].concat();
                    let _ = stream.write_all(&chunk).await;
                    // So that the client gets each by itself, as far as it goes.
                    tokio::task::yield_now().await;
                }
                match then {
                    Then::End | Then::EndLater => {
                        if then == Then::EndLater {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                    }
                    Then::HangUp => return,
                    Then::Silence => {
                        // The client sends nothing more, so this is the end or an error.
                        let _ = stream.read(&mut [0; 1]).await;
                        let _ = hung_up.send(());
                        return;
                    }
                }
            }
            Some(Script::HangUp) | None => return,
        }
    }
}

/// One request with its body; nothing where the connection ends before it begins.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap_or(0);
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        if body.len() >= length {
            return Some(text);
        }
    }
}
