//! Keeps messages in order: each handler has run up to its first await before the next message
//! is looked at.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::Either;
use futures::task::noop_waker_ref;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::{ErrorCode, Request, Response};
use tower_service::Service;

/// A service around the server that polls every handler's future once inside `call`, requests
/// and notifications alike. Without it a request may see the document as it was before an edit
/// that arrived earlier; with notifications alone polled, requests fall out of order.
pub(super) struct Ordered<S> {
    inner: S,
    exit: Arc<Notify>,
}

impl<S> Ordered<S> {
    /// `exit` is told when the client says `exit`: tower-lsp itself goes on until its input ends.
    pub(super) fn new(inner: S, exit: Arc<Notify>) -> Self {
        Self { inner, exit }
    }
}

type Answer<E> = Result<Option<Response>, E>;

impl<S> Service<Request> for Ordered<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Future<Output = Answer<S::Error>> + Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = Either<
        Ready<Answer<S::Error>>,
        Pin<Box<dyn Future<Output = Answer<S::Error>> + Send + 'static>>,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let greeting = (request.method() == "initialize").then(|| Greeting::of(&request));
        if request.method() == "exit" {
            self.exit.notify_one();
        }
        let future = self.inner.call(without_null(request));
        let mut future: Pin<Box<dyn Future<Output = Answer<S::Error>> + Send>> =
            Box::pin(async move { Ok(future.await?.map(|answer| amended(answer, greeting))) });
        // The waker may be idle: whoever gets a pending future polls it again before sleeping,
        // with a waker of its own.
        match future
            .as_mut()
            .poll(&mut Context::from_waker(noop_waker_ref()))
        {
            Poll::Ready(answer) => Either::Left(ready(answer)),
            Poll::Pending => Either::Right(future),
        }
    }
}

/// Some clients send `"params": null` where a request has none, which tower-lsp refuses.
fn without_null(request: Request) -> Request {
    if request.params() != Some(&Value::Null) {
        return request;
    }
    let (method, id, _) = request.into_parts();
    let plain = Request::build(method);
    match id {
        Some(id) => plain.id(id).finish(),
        None => plain.finish(),
    }
}

/// What `initialize` says that lsp-types has no field for.
#[derive(Clone, Copy)]
struct Greeting {
    /// Whether the client shows inline completions.
    inline: bool,
}

impl Greeting {
    fn of(request: &Request) -> Self {
        let inline = request
            .params()
            .and_then(|params| params.pointer("/capabilities/textDocument/inlineCompletion"));
        Self {
            inline: inline.is_some_and(Value::is_object),
        }
    }
}

/// An answer as it goes out: `initialize` names the capability that lsp-types has no field for,
/// and a cancelled request is answered with `null`, since editors show errors to people.
fn amended(answer: Response, greeting: Option<Greeting>) -> Response {
    let (id, result) = answer.into_parts();
    let result = match result {
        Ok(mut value) => {
            let capabilities = value
                .pointer_mut("/capabilities")
                .and_then(Value::as_object_mut);
            if let (Some(greeting), Some(capabilities)) = (greeting, capabilities) {
                capabilities.insert("inlineCompletionProvider".to_owned(), json!(true));
                // The same text as ghost text and in a list would be once too often.
                if greeting.inline {
                    capabilities.remove("completionProvider");
                }
            }
            Ok(value)
        }
        Err(error) if error.code == ErrorCode::RequestCancelled => Ok(Value::Null),
        Err(error) => Err(error),
    };
    Response::from_parts(id, result)
}
