//! A scripted HTTP server.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// Reaction of the scripted server to one request.
#[derive(Clone, Debug)]
pub(super) enum Script {
    /// Responds with this status line, these header lines and this body.
    ModelOutput(&'static str, &'static str, Vec<u8>),
    /// Responds with these pieces, one after another, and then does this.
    Pieces(Vec<Vec<u8>>, Then),
    /// Closes the connection.
    HangUp,
}

/// End of a response after its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The response's proper end. The connection stays open for further requests.
    End,
    /// The same, a little later than the last piece.
    EndLater,
    /// Closes the connection in the middle of the response.
    HangUp,
    /// Waits until the client disconnects, which [`Server::hung_up`] reports.
    Silence,
}

/// Returns a successful response with this body.
pub(super) fn whole(body: &str) -> Script {
    Script::ModelOutput("200 OK", "", body.as_bytes().to_vec())
}

/// Returns a successful response in pieces, with its proper end.
pub(super) fn streamed(pieces: &[String]) -> Script {
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec());
    Script::Pieces(pieces.collect(), Then::End)
}

/// A server that replays one script per request and records the requests. Further requests get no
/// response.
pub(super) struct Server {
    pub(super) url: String,
    played: Arc<Mutex<Played>>,
    hang_ups: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

/// Remaining scripts, and recorded requests.
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
        let (sender, hang_ups) = mpsc::unbounded_channel();
        let shared = Arc::clone(&played);
        let task = tokio::spawn(async move {
            // The connections end with the server.
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                shared.lock().connections += 1;
                connections.spawn(serve(stream, Arc::clone(&shared), sender.clone()));
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

    /// Number of connections from clients.
    pub(super) fn connections(&self) -> usize {
        let played = self.played.lock();
        played.connections
    }

    /// Waits until a client disconnects from a server that stopped responding.
    pub(super) async fn hung_up(&mut self) {
        self.hang_ups.recv().await.expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Replays scripts on one connection, request by request.
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
        // The client may disconnect at any time, so write errors are ignored.
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
                    // A pause, so that the client gets each piece separately if possible.
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

/// Reads a request with its body; `None` if the connection ends before it.
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
