//! Keeps messages in order and turns panics into errors: each handler runs up to its first await
//! before the next message is read.

use std::future::{Future, Ready, ready};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::{Either, FutureExt};
use futures::task::noop_waker_ref;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_lsp::jsonrpc::{Error, ErrorCode, Request, Response};
use tower_service::Service;

use super::SessionEnd;
use super::notifications::notebook;

/// Version of a change if the client sends none: the document's version is incremented.
pub(super) const NO_VERSION: i32 = i32::MIN;

/// Polls every handler's future once inside `call`, for requests and notifications alike. Without
/// it, a request might see the document before an earlier edit. If only notifications were polled,
/// requests would be handled out of order.
///
/// A request whose handler panics gets an internal error; [`panics`](super::panics) reports it.
pub(super) struct OrderedService<S> {
    inner: S,
    phase: watch::Sender<SessionPhase>,
}

/// Phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionPhase {
    /// The client sent neither `shutdown` nor `exit`.
    Running,
    /// The client sent `shutdown`.
    ShutDown,
    /// The client sent `exit`.
    Exited(SessionEnd),
}

impl<S> OrderedService<S> {
    /// Reports to `phase` when the client sends `exit`: `transport` itself continues until its input
    /// ends.
    pub(super) fn new(inner: S, phase: watch::Sender<SessionPhase>) -> Self {
        Self { inner, phase }
    }

    /// Notes a method that ends the session.
    fn note(&self, method: &str) {
        self.phase.send_if_modified(|phase| {
            let next = match (method, *phase) {
                ("shutdown", SessionPhase::Running) => SessionPhase::ShutDown,
                ("exit", SessionPhase::Running) => {
                    SessionPhase::Exited(SessionEnd::WithoutShutdown)
                }
                ("exit", SessionPhase::ShutDown) => SessionPhase::Exited(SessionEnd::Orderly),
                _ => return false,
            };
            *phase = next;
            true
        });
    }
}

type Handled<E> = Result<Option<Response>, E>;

impl<S> Service<Request> for OrderedService<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Future<Output = Handled<S::Error>> + Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = Either<
        Ready<Handled<S::Error>>,
        Pin<Box<dyn Future<Output = Handled<S::Error>> + Send + 'static>>,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let method = request.method().to_owned();
        let id = request.id().cloned();
        let shows_inline = shows_inline_completion(&request);
        self.note(&method);
        let request = with_version(without_needless_params(request));
        let handler = AssertUnwindSafe(self.inner.call(request));
        let mut future: Pin<Box<dyn Future<Output = Handled<S::Error>> + Send>> =
            Box::pin(async move {
                let response = match handler.catch_unwind().await {
                    Ok(handled) => handled?,
                    Err(_) => id.map(|id| Response::from_error(id, panicked(&method))),
                };
                Ok(response.map(|response| amend(response, method == "initialize", shows_inline)))
            });
        // The idle waker loses no wake-up: the caller polls a pending future again, with its own
        // waker, before it sleeps.
        match future
            .as_mut()
            .poll(&mut Context::from_waker(noop_waker_ref()))
        {
            Poll::Ready(handled) => Either::Left(ready(handled)),
            Poll::Pending => Either::Right(future),
        }
    }
}

/// Removes `"params": null`, and any parameters of methods that have none. Some clients send them,
/// and tower-lsp rejects them.
fn without_needless_params(request: Request) -> Request {
    let has_none = matches!(request.method(), "shutdown" | "exit");
    if request.params() != Some(&Value::Null) && !has_none {
        return request;
    }
    let (method, id, _) = request.into_parts();
    let plain = Request::build(method);
    match id {
        Some(id) => plain.id(id).finish(),
        None => plain.finish(),
    }
}

/// Adds [`NO_VERSION`] to a change of a document without a version, which tower-lsp rejects.
fn with_version(request: Request) -> Request {
    let lacks_version = request.method() == "textDocument/didChange"
        && request
            .params()
            .and_then(|params| params.get("textDocument"))
            .and_then(Value::as_object)
            .is_some_and(|document| document.get("version").is_none_or(Value::is_null));
    if !lacks_version {
        return request;
    }
    let (method, _, params) = request.into_parts();
    let mut params = params.unwrap_or_default();
    if let Some(Value::Object(document)) = params.get_mut("textDocument") {
        document.insert("version".to_owned(), json!(NO_VERSION));
    }
    Request::build(method).params(params).finish()
}

/// True if `initialize` declares that the client shows inline completions, for which lsp-types has
/// no field.
fn shows_inline_completion(request: &Request) -> bool {
    request
        .params()
        .and_then(|params| params.pointer("/capabilities/textDocument/inlineCompletion"))
        .is_some_and(Value::is_object)
}

fn panicked(method: &str) -> Error {
    Error {
        message: format!("the server failed on `{method}`; its log has the details").into(),
        ..Error::internal_error()
    }
}

/// Amends a response: `initialize` gets the capabilities that lsp-types has no fields for, and a
/// cancelled request gets `null`, since editors show errors to people.
fn amend(response: Response, is_initialize: bool, shows_inline: bool) -> Response {
    let (id, result) = response.into_parts();
    let result = match result {
        Ok(mut value) => {
            let capabilities = value
                .pointer_mut("/capabilities")
                .and_then(Value::as_object_mut);
            if let (true, Some(capabilities)) = (is_initialize, capabilities) {
                capabilities.insert("inlineCompletionProvider".to_owned(), json!(true));
                let notebooks = notebook::capability();
                capabilities.insert("notebookDocumentSync".to_owned(), notebooks);
                // A client with both would show the same text as ghost text and in a list.
                if shows_inline {
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
