//! Common part of the protocols over HTTP: an exchange within a timeout, streamed or not, retried
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

use super::usage::CountedTokens;
use super::{
    Model, ModelError, ModelOutput, ModelParameters, ModelRequest, ModelSettings, RequestOutline,
    TextListener, TokenPrice, TokenUsage,
};
use crate::context::WindowLayout;
use compression::Body;
use drafts::Drafts;
use endpoint::{Endpoint, MOST_BYTES};
use frames::{Frame, Frames};
use loading::LoadLead;
use parameters::Parameters;

pub(crate) use endpoint::{collector_client, collector_url};
#[allow(unused_imports, reason = "for protocols that stream lines")]
pub(super) use frames::Framing;
pub(super) use protocol::{
    CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody,
};

/// Opens the model behind a protocol.
///
/// # Errors
/// [`ModelError::Settings`] if the URL is missing or invalid, or a related setting is invalid.
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
        price: settings.price,
        protocol,
        declined: AtomicBool::new(false),
    }))
}

/// An exchange of whole JSON values with a server.
#[derive(Debug)]
pub(super) struct JsonExchange {
    endpoint: Endpoint,
    timeout: Duration,
}

impl JsonExchange {
    /// Creates the exchange under a path of a base address. Timeout, retries, key, proxy and
    /// certificates are those of the settings.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the address or a related setting is invalid.
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

    /// Sends a body and returns the result of `read` on the response. Reads at most `most_bytes`
    /// bytes.
    ///
    /// # Errors
    /// There was no response in time, it is an error, or `read` rejects it.
    pub(super) async fn ask<T>(
        &self,
        body: &Value,
        most_bytes: usize,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, ModelError> {
        let deadline = Instant::now() + self.timeout;
        let exchange = async {
            let (mut response, _) = self.endpoint.send(body, false, deadline, None).await?;
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
    price: Option<TokenPrice>,
    /// True once the server rejected several candidates in one response.
    declined: AtomicBool,
}

/// State shared by the requests for one place.
struct CandidateRun<'a> {
    request: &'a ModelRequest,
    listener: &'a dyn TextListener,
    drafts: Mutex<Drafts>,
    /// The prompt sent first, for the trace.
    prompt: Mutex<Option<String>>,
    /// Tokens of each exchange that got a response.
    counted: Mutex<Vec<CountedTokens>>,
    /// See [`ModelOutput::is_delayed`].
    is_delayed: AtomicBool,
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

    /// At temperature 0 only one candidate is requested: all would be equal, and vLLM rejects more.
    /// An error fails the whole call, unless a listener already has enough of some candidate: then
    /// the result is the candidates that have ended.
    async fn complete(
        &self,
        request: &ModelRequest,
        listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        let timeout = request.parameters.timeout;
        // The first response of a server that loads the model may take longer than any other.
        let loading = self.endpoint.loading().timeout();
        let timeout = loading.map_or(timeout, |loading| loading.max(timeout));
        let wanted = super::distinct_candidates(&request.parameters);
        let run = CandidateRun {
            request,
            listener,
            drafts: Mutex::new(Drafts::new(wanted)),
            prompt: Mutex::default(),
            counted: Mutex::default(),
            is_delayed: loading.is_some().into(),
            deadline: Instant::now() + timeout,
            timeout,
        };
        let all = self.obtain(&run, (0..wanted).collect());
        let outcome = timeout_at(run.deadline, all)
            .await
            .unwrap_or(Err(ModelError::Timeout(timeout)));
        let CandidateRun {
            drafts,
            prompt,
            counted,
            is_delayed,
            ..
        } = run;
        let drafts = drafts.into_inner();
        match outcome {
            Err(error) if !drafts.has_enough() => return Err(error),
            Err(error) => tracing::debug!(%error, "an exchange failed after enough was received"),
            Ok(()) => {}
        }
        let (prompt, candidates) = (prompt.into_inner().unwrap_or_default(), drafts.candidates());
        let counted = counted.into_inner();
        let usage = TokenUsage::of_exchanges(&counted, &prompt, &candidates, self.price);
        Ok(ModelOutput {
            candidates,
            usage: Some(usage),
            prompt,
            notice: self.parameters.report(self.protocol.name()),
            is_delayed: is_delayed.into_inner(),
        })
    }
}

impl<P: HttpProtocol> HttpModel<P> {
    /// Obtains these candidates, with several requests if necessary.
    async fn obtain(
        &self,
        run: &CandidateRun<'_>,
        mut wanted: Vec<usize>,
    ) -> Result<(), ModelError> {
        let mut several = self.protocol.batching();
        if several == CandidateBatching::Together && self.declined.load(Ordering::Relaxed) {
            several = CandidateBatching::AtOnce;
        }
        while !wanted.is_empty() {
            match several {
                CandidateBatching::Together => {
                    let outcome = self.exchange(run, &wanted).await;
                    if wanted.len() > 1 && matches!(outcome, Err(ref error) if declines(error)) {
                        // Some servers return only one candidate; llama.cpp's returns at most one
                        // per slot.
                        several = CandidateBatching::AtOnce;
                        run.is_delayed.store(true, Ordering::Relaxed);
                        continue;
                    }
                    outcome?;
                }
                CandidateBatching::AtOnce => {
                    let each = wanted.iter().map(std::slice::from_ref);
                    try_join_all(each.map(|one| self.exchange(run, one))).await?;
                    self.declined.store(true, Ordering::Relaxed);
                }
                CandidateBatching::InTurn => self.exchange(run, &wanted[..1]).await?,
            }
            // A server may return fewer than requested.
            let drafts = run.drafts();
            wanted.retain(|&index| !drafts.has_begun(index));
        }
        Ok(())
    }

    /// Sends one request for these candidates and reads the response, which must contain at least
    /// one.
    async fn exchange(&self, run: &CandidateRun<'_>, wanted: &[usize]) -> Result<(), ModelError> {
        let lead = self.endpoint.loading().lead().await;
        let timeout = run.request.parameters.timeout;
        // The longer timeout applies only to the first response.
        let (deadline, limit) = match lead {
            Some(_) => (run.deadline, run.timeout),
            None => (run.deadline.min(Instant::now() + timeout), timeout),
        };
        let exchange = async {
            let (response, stops) = self.send(run, wanted, deadline, lead).await?;
            let mut counted = CountedTokens::default();
            let read = self.read(run, wanted, response, &stops, &mut counted);
            let outcome = tokio::time::timeout(timeout, read).await;
            run.counted.lock().push(counted);
            outcome.unwrap_or(Err(ModelError::Timeout(timeout)))
        };
        timeout_at(deadline, exchange)
            .await
            .unwrap_or(Err(ModelError::Timeout(limit)))
    }

    /// Sends a request until the server accepts its parameters. Returns the response, and the stops
    /// of its candidates.
    async fn send(
        &self,
        run: &CandidateRun<'_>,
        wanted: &[usize],
        deadline: Instant,
        mut lead: Option<LoadLead>,
    ) -> Result<(Body, Vec<String>), ModelError> {
        let draw = CandidateRequest {
            count: wanted.len(),
            // Candidates that are requested one by one get different seeds.
            seed: (run.request.parameters.seed).wrapping_add(wanted[0] as u64),
            stream: self.stream,
        };
        let RequestBody {
            mut json,
            prompt,
            stops,
        } = self.protocol.body(run.request, &draw);
        loop {
            self.parameters.apply(&mut json);
            run.note_prompt(|| prompt.clone().unwrap_or_else(|| json.to_string()));
            let sent = self
                .endpoint
                .send(&json, self.stream, deadline, lead.take());
            let failure = match sent.await {
                Ok((response, is_delayed)) => {
                    run.is_delayed.fetch_or(is_delayed, Ordering::Relaxed);
                    return Ok((response, stops));
                }
                Err(failure) => failure,
            };
            // If a server accepts one candidate per request, each is requested separately, so only
            // those requests are retried.
            let retries = wanted.len() == 1
                && failure
                    .refusal
                    .is_some_and(|answer| self.parameters.refuse(&answer, &json));
            if !retries {
                return Err(failure.error);
            }
            run.is_delayed.store(true, Ordering::Relaxed);
            tracing::debug!(error = %failure.error, "a parameter is left out");
        }
    }

    /// Reads the response for these candidates.
    async fn read(
        &self,
        run: &CandidateRun<'_>,
        wanted: &[usize],
        mut response: Body,
        stops: &[String],
        counted: &mut CountedTokens,
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
            let mut new = new.into_iter();
            while let Some(frame) = new.next() {
                match frame {
                    Frame::Value(value) => {
                        // Even an empty list of choices is an answer.
                        answered |= value.get("choices").is_some_and(Value::is_array);
                        counted.add(&value);
                        self.take(&value, run, wanted, stops)?;
                    }
                    Frame::Done => {
                        answered = true;
                        run.end(wanted);
                    }
                    Frame::Unreadable { reason, text } => {
                        return Err(self.malformed(&format!("{reason} in: {text}")));
                    }
                }
                if run.has_ended(wanted) {
                    // Servers count after the last text.
                    for frame in new {
                        if let Frame::Value(value) = frame {
                            counted.add(&value);
                        }
                    }
                    // Otherwise the response is dropped, which closes the connection and ends the
                    // generation.
                    if !at_end && !run.drafts().has_enough() {
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
        // A response in one piece needs no end mark.
        if frames.is_whole() || !stream {
            run.end(wanted);
        }
        let mut drafts = run.drafts();
        if !wanted.iter().any(|&index| drafts.has_begun(index)) {
            if answered {
                // An empty completion is valid: there is nothing to show.
                drafts.end_empty(wanted[0], run.listener);
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

    /// Processes one value of a response.
    fn take(
        &self,
        value: &Value,
        run: &CandidateRun<'_>,
        wanted: &[usize],
        stops: &[String],
    ) -> Result<(), ModelError> {
        // Several whole responses in one array, as llama.cpp's server sends them.
        if let Value::Array(values) = value {
            return values
                .iter()
                .try_for_each(|value| self.take(value, run, wanted, stops));
        }
        if let Some(error) = reported_error(value) {
            return Err(self.endpoint.server_error(self.stream, error));
        }
        if !value.is_object() {
            return Err(self.malformed(&format!("it is no object in: {value}")));
        }
        let mut drafts = run.drafts();
        for piece in self.protocol.parse(value) {
            // A server may also return more than requested.
            if let Some(&index) = wanted.get(piece.candidate) {
                drafts.push(index, &piece, stops, run.listener);
            }
        }
        Ok(())
    }

    fn malformed(&self, reason: &str) -> ModelError {
        self.endpoint.malformed(self.stream, reason)
    }
}

impl CandidateRun<'_> {
    /// The guard must not be held across an await.
    fn drafts(&self) -> MutexGuard<'_, Drafts> {
        self.drafts.lock()
    }

    /// Records the last prompt sent before the first response.
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

/// Returns the error that a value reports, if any. Ignores an empty error member next to a
/// completion, which some gateways send.
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

/// True if a server rejects the request as unsupported.
fn declines(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Status {
            status: 400 | 422,
            ..
        }
    )
}

/// Reads the short rest after the last piece, so that the connection can be reused.
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
