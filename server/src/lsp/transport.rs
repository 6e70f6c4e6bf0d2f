//! Reads and writes messages over a pair of streams, and runs the handlers of requests.
//!
//! tower-lsp's own loop ends at the first message that it can't decode, and the session with it.
//! This one answers such a message with an error and reads on.

use futures::channel::mpsc;
use futures::{SinkExt, StreamExt, future, join, stream};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tower_lsp::ClientSocket;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_service::Service;

use super::frame::{FrameDecoder, FrameError, encode};

/// Number of bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// A message of a client.
enum ClientMessage {
    /// A request or a notification.
    Request(Request),
    /// The response to a request of the server.
    Response(Response),
}

/// Serves one client until its input ends and every response is written. Handlers run concurrently,
/// without a limit: slow completions must not delay an edit.
pub(super) async fn serve<I, O, S>(
    mut input: I,
    mut output: O,
    socket: ClientSocket,
    mut service: S,
) where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
    S: Service<Request, Response = Option<Response>>,
{
    let (requests, mut client_responses) = socket.split();
    let (requests, end_requests) = stream::abortable(requests);
    let (handlers, to_run) = mpsc::unbounded();
    let (mut answers, responses) = mpsc::channel::<Response>(0);
    let handled = answers.clone();
    let read = async move {
        let mut decoder = FrameDecoder::default();
        while let Some(message) = next_message(&mut input, &mut decoder).await {
            match message {
                Ok(ClientMessage::Request(request)) => {
                    if future::poll_fn(|context| service.poll_ready(context))
                        .await
                        .is_err()
                    {
                        break;
                    }
                    // The receiver lives until this sender is dropped.
                    let _ = handlers.unbounded_send(service.call(request));
                }
                // A response to a request that is not pending is dropped.
                Ok(ClientMessage::Response(response)) => {
                    let _ = client_responses.send(response).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a message of the client was dropped");
                    // The id is unknown.
                    let _ = answers.send(Response::from_error(Id::Null, error)).await;
                }
            }
        }
        end_requests.abort();
    };
    let run = async move {
        let run = |handler: S::Future| {
            let mut handled = handled.clone();
            async move {
                if let Ok(Some(response)) = handler.await {
                    let _ = handled.send(response).await;
                }
            }
        };
        to_run.for_each_concurrent(None, run).await;
    };
    let write = async move {
        let responses = responses.map(|response| encode(&response));
        let requests = requests.map(|request| encode(&request));
        let mut messages = stream::select(responses, requests);
        while let Some(message) = messages.next().await {
            if output.write_all(&message).await.is_err() || output.flush().await.is_err() {
                break;
            }
        }
    };
    join!(read, run, write);
}

/// Reads the next message, or the error with which it is answered; `None` at the end of the input.
async fn next_message(
    input: &mut (impl AsyncRead + Unpin),
    decoder: &mut FrameDecoder,
) -> Option<Result<ClientMessage, Error>> {
    loop {
        match decoder.next_message() {
            Ok(Some(message)) => return Some(ClientMessage::parse(message)),
            Ok(None) => {}
            Err(error) => return Some(Err(undecodable(&error))),
        }
        let mut bytes = Vec::with_capacity(READ_BYTES);
        match input.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => decoder.push(&bytes),
        }
    }
}

fn undecodable(error: &FrameError) -> Error {
    Error {
        message: error.to_string().into(),
        ..Error::parse_error()
    }
}

impl ClientMessage {
    fn parse(mut message: Value) -> Result<Self, Error> {
        // JavaScript writes a result that is undefined so. Without a response, its request would
        // wait forever.
        if let Value::Object(members) = &mut message
            && members.contains_key("id")
            && !["method", "result", "error"]
                .iter()
                .any(|name| members.contains_key(*name))
        {
            members.insert("result".to_owned(), Value::Null);
        }
        let parsed = match message.get("method") {
            Some(_) => serde_json::from_value(message).map(Self::Request),
            None => serde_json::from_value(message).map(Self::Response),
        };
        parsed.map_err(|error| Error {
            message: format!("a message that is not JSON-RPC: {error}").into(),
            ..Error::invalid_request()
        })
    }
}
