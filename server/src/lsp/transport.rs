//! Reads and writes messages over a pair of streams, and runs the handlers of requests.
//!
//! tower-lsp's own loop ends at the first message that it can't decode, and the session with it.
//! This one answers such a message with an error and reads on.

use futures::channel::mpsc;
use futures::{SinkExt, StreamExt, future, join, stream};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
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
///
/// Notifies `ended` once the client has disconnected: its input ends, though responses may be
/// pending, or its output fails, and everything is discarded from then on.
pub(super) async fn serve<I, O, S>(
    mut input: I,
    output: O,
    socket: ClientSocket,
    mut service: S,
    ended: &Notify,
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
        ended.notify_one();
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
        let mut output = Some(output);
        while let Some(message) = messages.next().await {
            let Some(open) = &mut output else { continue };
            if open.write_all(&message).await.is_err() || open.flush().await.is_err() {
                output = None;
                ended.notify_one();
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::{Context, Poll};

    use futures::future::Either;
    use serde_json::json;

    use super::*;
    use crate::lsp::backend::build;
    use crate::lsp::options::ServerOptions;

    /// Answers each request at once, or never.
    struct FixedService {
        answers: bool,
    }

    impl Service<Request> for FixedService {
        type Response = Option<Response>;
        type Error = Infallible;
        type Future = Either<
            future::Ready<Result<Self::Response, Infallible>>,
            future::Pending<Result<Self::Response, Infallible>>,
        >;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            let id = request.id().cloned().unwrap_or_default();
            match self.answers {
                true => Either::Left(future::ready(Ok(Some(Response::from_ok(id, Value::Null))))),
                false => Either::Right(future::pending()),
            }
        }
    }

    fn request() -> Vec<u8> {
        encode(&json!({"jsonrpc": "2.0", "id": 1, "method": "a"}))
    }

    #[tokio::test]
    async fn end_of_input_notifies_though_responses_are_pending() {
        let (_, socket) = build(ServerOptions::default()).finish();
        let (mut client, input) = tokio::io::duplex(1 << 10);
        let ended = Notify::new();
        let service = FixedService { answers: false };
        let served = serve(input, tokio::io::sink(), socket, service, &ended);
        let goes = async {
            client.write_all(&request()).await.expect("it is read");
            let early = future::poll_immediate(std::pin::pin!(ended.notified())).await;
            assert_eq!(early, None);
            drop(client);
            ended.notified().await;
        };
        tokio::select! {
            () = served => panic!("a response is pending"),
            () = goes => {}
        }
    }

    #[tokio::test]
    async fn failed_output_notifies_and_discards() {
        let (_, socket) = build(ServerOptions::default()).finish();
        let (mut client, input) = tokio::io::duplex(1 << 10);
        let (reader, output) = tokio::io::duplex(1 << 10);
        drop(reader);
        let ended = Notify::new();
        let service = FixedService { answers: true };
        let served = serve(input, output, socket, service, &ended);
        let goes = async {
            client.write_all(&request()).await.expect("it is read");
            ended.notified().await;
            client.write_all(&request()).await.expect("it is read");
            drop(client);
        };
        // It ends by itself: what can't be written holds nothing up.
        tokio::join!(served, goes);
    }
}
