//! What the protocols over HTTP share: an exchange within a time-out, streamed or not, retried
//! if that helps, and ended as soon as the caller drops it. A protocol itself is a
//! [`HttpProtocol`].

mod address;
mod compression;
mod drafts;
mod endpoint;
mod frames;
mod loading;
mod pacing;
mod parameters;
mod protocol;
mod retries;
mod trust;

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join_all;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{
    Model, ModelError, ModelOutput, ModelParameters, ModelRequest, ModelSettings, RequestOutline,
    TextListener,
};
use crate::context::WindowLayout;
use compression::Body;
use drafts::Drafts;
use endpoint::{Endpoint, MOST_BYTES};
use frames::{Frame, Frames};
use loading::LoadLead;
use parameters::Parameters;

pub(crate) use endpoint::collector_client;
#[allow(unused_imports, reason = "for protocols that stream lines")]
pub(super) use frames::Framing;
pub(super) use protocol::{
    CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody,
};

/// Opens the model behind a protocol.
///
/// # Errors
/// [`ModelError::Settings`] if the url is missing or can't be, or what belongs to it can't.
pub(super) fn open(
    settings: &ModelSettings,
    environment: &dyn Fn(&str) -> Option<String>,
    protocol: impl HttpProtocol + 'static,
) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(HttpModel {
        endpoint: Endpoint::new(settings, environment, &protocol)?,
        stream: settings.stream,
        parameters: Parameters::new(settings)?,
        generation: settings.parameters(),
        protocol,
        declined: AtomicBool::new(false),
    }))
}

/// A server that takes JSON and answers with JSON, as a whole.
#[derive(Debug)]
pub(super) struct JsonExchange {
    endpoint: Endpoint,
    timeout: Duration,
}

impl JsonExchange {
    /// The exchange under a path of a base address; time-out, retries, key, proxy and
    /// certificates are those of the settings.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the address or what belongs to it can't be.
    pub(super) fn new(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        base: &str,
        path: &str,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            endpoint: Endpoint::whole(settings, environment, base, path)?,
            timeout: Duration::from_millis(settings.timeout_ms),
        })
    }

    /// Sends a body and gives what `read` makes of the response, of which at most so many bytes are
    /// read.
    ///
    /// # Errors
    /// No answer came, or not in time, or it says no, or `read` can't make anything of it.
    pub(super) async fn ask<T>(
        &self,
        body: &Value,
        most_bytes: usize,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, ModelError> {
        let deadline = Instant::now() + self.timeout;
        let exchange = async {
            let mut response = self.endpoint.send(body, false, deadline, None).await?;
            let mut bytes = Vec::new();
            loop {
                match response.chunk().await {
                    Ok(Some(chunk)) if bytes.len() + chunk.len() <= most_bytes => {
                        bytes.extend_from_slice(&chunk);
                    }
                    Ok(Some(_)) => return Err(self.endpoint.malformed(false, "it is too long")),
                    Ok(None) => break,
                    Err(fault) => return Err(self.endpoint.unreadable(false, fault)),
                }
            }
            let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
                self.endpoint
                    .malformed(false, &format!("it is no JSON: {error}"))
            })?;
            if let Some(error) = reported_error(&value) {
                return Err(self.endpoint.server_error(false, error));
            }
            read(&value).map_err(|why| self.endpoint.malformed(false, &why))
        };
        timeout_at(deadline, exchange)
            .await
            .unwrap_or(Err(ModelError::Timeout(self.timeout)))
    }
}

/// A model behind a protocol over HTTP.
#[derive(Debug)]
struct HttpModel<P> {
    protocol: P,
    endpoint: Endpoint,
    stream: bool,
    parameters: Parameters,
    /// Generation parameters of the settings, for an outline of requests.
    generation: ModelParameters,
    /// Whether the server once declined to give several candidates in one response.
    declined: AtomicBool,
}

/// What the exchanges for one place have in common.
struct Conversation<'a> {
    request: &'a ModelRequest,
    listener: &'a dyn TextListener,
    drafts: Mutex<Drafts>,
    /// What was sent first, for the trace.
    prompt: Mutex<Option<String>>,
    /// The end of `timeout`.
    deadline: Instant,
    timeout: Duration,
}

#[async_trait]
impl<P: HttpProtocol> Model for HttpModel<P> {
    fn name(&self) -> &str {
        self.protocol.name()
    }

    fn chats(&self) -> bool {
        self.protocol.chats()
    }

    fn describe(&self) -> String {
        self.protocol.describe()
    }

    fn outline(&self) -> Option<RequestOutline> {
        let request = ModelRequest {
            prefix: String::new(),
            suffix: String::new(),
            path: String::new(),
            repository: String::new(),
            language: None,
            windows: Vec::new(),
            layout: WindowLayout::default(),
            earlier: None,
            question: None,
            hole: None,
            parameters: self.generation.clone(),
        };
        let draw = CandidateRequest {
            count: 1,
            seed: self.generation.seed,
            stream: self.stream,
        };
        let mut body = self.protocol.body(&request, &draw).json;
        self.parameters.apply(&mut body);
        Some(RequestOutline {
            address: self.endpoint.address(self.stream),
            parameters: parameters::without_texts(body),
        })
    }

    fn is_loading(&self) -> bool {
        self.endpoint.loading().is_under_way()
    }

    fn is_refused(&self) -> bool {
        self.endpoint.is_refused()
    }

    /// At temperature 0 one candidate is asked for: all would be the same, and vLLM rejects more.
    /// A fault fails the whole, unless a listener already has enough of some candidate: then
    /// those that have ended are the response.
    async fn complete(
        &self,
        request: &ModelRequest,
        listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        let timeout = request.parameters.timeout;
        // The first answer of a server that loads the model takes longer than any other.
        let loading = self.endpoint.loading().timeout();
        let timeout = loading.map_or(timeout, |loading| loading.max(timeout));
        let wanted = super::distinct_candidates(&request.parameters);
        let conversation = Conversation {
            request,
            listener,
            drafts: Mutex::new(Drafts::new(wanted)),
            prompt: Mutex::default(),
            deadline: Instant::now() + timeout,
            timeout,
        };
        let all = self.converse(&conversation, (0..wanted).collect());
        let outcome = timeout_at(conversation.deadline, all)
            .await
            .unwrap_or(Err(ModelError::Timeout(timeout)));
        let Conversation { drafts, prompt, .. } = conversation;
        let drafts = drafts.into_inner();
        match outcome {
            Err(error) if !drafts.has_enough() => return Err(error),
            Err(error) => tracing::debug!(%error, "an exchange failed after enough was received"),
            Ok(()) => {}
        }
        let prompt = prompt.into_inner();
        Ok(ModelOutput {
            candidates: drafts.candidates(),
            prompt: prompt.unwrap_or_default(),
            notice: self.parameters.report(self.protocol.name()),
        })
    }
}

impl<P: HttpProtocol> HttpModel<P> {
    /// Has these candidates written, however many exchanges that takes.
    async fn converse(
        &self,
        conversation: &Conversation<'_>,
        mut wanted: Vec<usize>,
    ) -> Result<(), ModelError> {
        let mut several = self.protocol.batching();
        if several == CandidateBatching::Together && self.declined.load(Ordering::Relaxed) {
            several = CandidateBatching::AtOnce;
        }
        while !wanted.is_empty() {
            match several {
                CandidateBatching::Together => {
                    let outcome = self.exchange(conversation, &wanted).await;
                    if wanted.len() > 1 && matches!(outcome, Err(ref error) if declines(error)) {
                        // Some servers give one only, llama.cpp's no more than it has slots.
                        several = CandidateBatching::AtOnce;
                        continue;
                    }
                    outcome?;
                }
                CandidateBatching::AtOnce => {
                    let each = wanted.iter().map(std::slice::from_ref);
                    try_join_all(each.map(|one| self.exchange(conversation, one))).await?;
                    self.declined.store(true, Ordering::Relaxed);
                }
                CandidateBatching::InTurn => self.exchange(conversation, &wanted[..1]).await?,
            }
            // A server may give fewer than it was asked for.
            let drafts = conversation.drafts();
            wanted.retain(|&index| !drafts.has_begun(index));
        }
        Ok(())
    }

    /// One request for these candidates, and its response, of which at least one has to be.
    async fn exchange(
        &self,
        conversation: &Conversation<'_>,
        wanted: &[usize],
    ) -> Result<(), ModelError> {
        let lead = self.endpoint.loading().lead().await;
        let timeout = conversation.request.parameters.timeout;
        // The longer timeout is for the first answer alone.
        let (deadline, limit) = match lead {
            Some(_) => (conversation.deadline, conversation.timeout),
            None => (conversation.deadline.min(Instant::now() + timeout), timeout),
        };
        let exchange = async {
            let (response, stops) = self.send(conversation, wanted, deadline, lead).await?;
            let read = self.read(conversation, wanted, response, &stops);
            tokio::time::timeout(timeout, read)
                .await
                .unwrap_or(Err(ModelError::Timeout(timeout)))
        };
        timeout_at(deadline, exchange)
            .await
            .unwrap_or(Err(ModelError::Timeout(limit)))
    }

    /// Sends a request until the server takes its parameters. Returns the response, and what ends
    /// its candidates.
    async fn send(
        &self,
        conversation: &Conversation<'_>,
        wanted: &[usize],
        deadline: Instant,
        mut lead: Option<LoadLead>,
    ) -> Result<(Body, Vec<String>), ModelError> {
        let draw = CandidateRequest {
            count: wanted.len(),
            seed: (conversation.request.parameters.seed).wrapping_add(wanted[0] as u64),
            stream: self.stream,
        };
        let RequestBody {
            mut json,
            prompt,
            stops,
        } = self.protocol.body(conversation.request, &draw);
        loop {
            self.parameters.apply(&mut json);
            conversation.note_prompt(|| prompt.clone().unwrap_or_else(|| json.to_string()));
            let sent = self
                .endpoint
                .send(&json, self.stream, deadline, lead.take());
            let failure = match sent.await {
                Ok(response) => return Ok((response, stops)),
                Err(failure) => failure,
            };
            // A server that gives one candidate a request is asked for one by one.
            let retries = wanted.len() == 1
                && failure
                    .refusal
                    .is_some_and(|answer| self.parameters.refuse(&answer, &json));
            if !retries {
                return Err(failure.error);
            }
            tracing::debug!(error = %failure.error, "a parameter is left out");
        }
    }

    /// Reads the response for these candidates.
    async fn read(
        &self,
        conversation: &Conversation<'_>,
        wanted: &[usize],
        mut response: Body,
        stops: &[String],
    ) -> Result<(), ModelError> {
        let stream = self.stream;
        let mut answered = false;
        let mut frames = Frames::new(self.protocol.framing());
        let mut bytes = 0;
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|fault| self.endpoint.unreadable(stream, fault))?;
            let at_end = chunk.is_none();
            let new = match chunk {
                Some(chunk) => {
                    bytes += chunk.len();
                    frames.push(&chunk)
                }
                None => frames.end(),
            };
            for frame in new {
                match frame {
                    Frame::Value(value) => {
                        answered |= value.get("choices").is_some_and(Value::is_array);
                        self.take(&value, conversation, wanted, stops)?;
                    }
                    Frame::Done => {
                        answered = true;
                        conversation.end(wanted);
                    }
                    Frame::Unreadable { reason, text } => {
                        return Err(self.malformed(&format!("{reason} in: {text}")));
                    }
                }
                if conversation.has_ended(wanted) {
                    if !at_end && !conversation.drafts().has_enough() {
                        keep_alive(response);
                    }
                    return Ok(());
                }
            }
            if bytes > MOST_BYTES {
                return Err(self.malformed("it is longer than 8 MiB"));
            }
            if at_end {
                break;
            }
        }
        // A whole response needs no mark of its end.
        if frames.is_whole() || !stream {
            conversation.end(wanted);
        }
        let mut drafts = conversation.drafts();
        if !wanted.iter().any(|&index| drafts.has_begun(index)) {
            if answered {
                // An answer without text is nothing to show, and no fault.
                drafts.end_empty(wanted[0], conversation.listener);
                return Ok(());
            }
            return Err(self.malformed("it holds no completion"));
        }
        let unended = |&index: &usize| drafts.has_begun(index) && !drafts.has_ended(index);
        if wanted.iter().any(unended) {
            return Err(self.malformed("it breaks off in the middle of a completion"));
        }
        Ok(())
    }

    /// Takes in what one value of a response holds.
    fn take(
        &self,
        value: &Value,
        conversation: &Conversation<'_>,
        wanted: &[usize],
        stops: &[String],
    ) -> Result<(), ModelError> {
        // Several whole responses in one, as llama.cpp's server gives them.
        if let Value::Array(values) = value {
            return values
                .iter()
                .try_for_each(|value| self.take(value, conversation, wanted, stops));
        }
        if let Some(error) = reported_error(value) {
            return Err(self.endpoint.server_error(self.stream, error));
        }
        let pieces = self
            .protocol
            .parse(value)
            .map_err(|reason| self.malformed(&format!("{reason} in: {value}")))?;
        let mut drafts = conversation.drafts();
        for piece in pieces {
            // A server may also give more than it was asked for.
            if let Some(&index) = wanted.get(piece.candidate) {
                drafts.push(index, &piece, stops, conversation.listener);
            }
        }
        Ok(())
    }

    fn malformed(&self, reason: &str) -> ModelError {
        self.endpoint.malformed(self.stream, reason)
    }
}

impl Conversation<'_> {
    /// The guard is never held across an await.
    fn drafts(&self) -> MutexGuard<'_, Drafts> {
        self.drafts.lock()
    }

    /// The last prompt before the first answer counts.
    fn note_prompt(&self, prompt: impl FnOnce() -> String) {
        let begun = {
            let drafts = self.drafts();
            drafts.has_begun(0)
        };
        let mut noted = self.prompt.lock();
        if noted.is_none() || !begun {
            *noted = Some(prompt());
        }
    }

    /// Ends those candidates that have begun.
    fn end(&self, wanted: &[usize]) {
        let mut drafts = self.drafts();
        for &index in wanted {
            if !drafts.has_ended(index) {
                drafts.end(index, self.listener);
            }
        }
    }

    fn has_ended(&self, wanted: &[usize]) -> bool {
        let drafts = self.drafts();
        wanted.iter().all(|&index| drafts.has_ended(index))
    }
}

/// The error that a value reports, if it does: not one that is empty next to a completion, as
/// gateways send it.
fn reported_error(value: &Value) -> Option<&Value> {
    if value["object"] == "error" {
        // vLLM before 0.10.
        return Some(value);
    }
    value.get("error").filter(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) => true,
    })
}

/// Whether a server says that it can't do what it was asked for.
fn declines(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Status {
            status: 400 | 422,
            ..
        }
    )
}

/// Reads the little that comes after the last piece, so that the connection can be used again.
fn keep_alive(mut response: Body) {
    const LITTLE: usize = 64 << 10;
    const SOON: Duration = Duration::from_secs(1);
    tokio::spawn(tokio::time::timeout(SOON, async move {
        let mut bytes = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes += chunk.len();
            if bytes > LITTLE {
                break;
            }
        }
    }));
}
