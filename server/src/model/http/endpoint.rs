//! A server's address: how it is reached, with which key, and errors without the key.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    LOCATION, RETRY_AFTER, TRANSFER_ENCODING,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Proxy, RequestBuilder, Response, Url};
use serde_json::Value;
use tokio::time::Instant;

use super::address::{is_azure, is_local, is_this_machine, resolve};
use super::compression::{Body, BodyFault};
use super::loading::{LoadLead, Loading};
use super::pacing::{Blocked, Pacing};
use super::protocol::{Header, HttpProtocol, bearer};
use super::retries::{RequestFault, Retries, retry_after};
use super::trust::trusting;
use crate::model::{ModelError, ModelSettings, ReachFault, Secret};

/// Pause before the next request to a server that loads the model.
const LOAD_POLL: Duration = Duration::from_millis(500);

/// Headers that settings can't override.
const OWN_HEADERS: [HeaderName; 5] = [
    ACCEPT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HOST,
    TRANSFER_ENCODING,
];

/// Maximum number of characters of a server's response in an error.
const PRINTED_CHARACTERS: usize = 300;

/// Maximum number of bytes of a response.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// An address that accepts JSON, with its key and headers.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    streamed: Url,
    whole: Url,
    headers: HeaderMap,
    /// Secrets that must not appear in an error: the key, and header values from the environment.
    secrets: Vec<Secret>,
    retries: u32,
    pacing: Pacing,
    loading: Loading,
}

/// Failure of a request.
#[derive(Debug)]
pub(super) struct SendFailure {
    /// The error for the person.
    pub(super) error: ModelError,
    /// The body of a response of status 400 or 422, which may name a parameter.
    pub(super) refusal: Option<String>,
}

impl From<SendFailure> for ModelError {
    fn from(failure: SendFailure) -> Self {
        failure.error
    }
}

/// Response to one request.
enum Answer {
    Success(Box<Body>),
    Refused(Response),
}

impl Endpoint {
    /// Creates the endpoint of a protocol under the URL of the settings.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the URL is missing or invalid, or a related setting is invalid.
    pub(super) fn new(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        protocol: &dyn HttpProtocol,
    ) -> Result<Self, ModelError> {
        let Some(base) = settings.url.as_deref().or(protocol.default_url()) else {
            return Err(ModelError::Settings(format!(
                "model: the protocol \"{}\" needs the setting url, the address of the model's \
                 server.",
                settings.protocol
            )));
        };
        let name = settings.name.as_deref();
        let streamed = resolve("url", base, &protocol.path(true), name)?;
        let whole = resolve("url", base, &protocol.path(false), name)?;
        let is_azure = is_azure(&whole);
        Self::at(settings, environment, [streamed, whole], &|key| {
            if is_azure {
                // The protocol's own headers, such as a version, without its form of the key:
                // <https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference#authentication>
                let key = key.map(|key| ("api-key", key.expose().to_owned()));
                protocol.headers(None).into_iter().chain(key).collect()
            } else {
                protocol.headers(key)
            }
        })
    }

    /// Creates the endpoint of a path with whole responses, with the key as OpenAI's servers expect
    /// it.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub(super) fn whole(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        base: &str,
        path: &str,
    ) -> Result<Self, ModelError> {
        let url = resolve("url", base, path, None)?;
        Self::at(settings, environment, [url.clone(), url], &bearer)
    }

    /// Creates the endpoint of these addresses, that of streamed responses first.
    fn at(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        [streamed, whole]: [Url; 2],
        headers_of: &dyn Fn(Option<&Secret>) -> Vec<Header>,
    ) -> Result<Self, ModelError> {
        install_crypto();
        let client = client(settings, &streamed)?;
        let (own, mut secrets) = own_headers(&settings.headers, environment)?;
        // The key comes last, as its command may ask the person for something.
        let key = settings.key(environment)?;
        let mut headers = HeaderMap::new();
        // Asks for no compression, as a proxy may hold a compressed stream back.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in headers_of(key.as_ref()) {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                ModelError::Settings(
                    "model: the key has a character that can't be in an HTTP header.".to_owned(),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        headers.extend(own);
        secrets.extend(key);
        let loads = settings.load_timeout_ms > 0 && is_local(&whole);
        let loading = loads.then(|| Duration::from_millis(settings.load_timeout_ms));
        Ok(Self {
            client,
            streamed,
            whole,
            headers,
            secrets,
            retries: settings.retries,
            pacing: Pacing::default(),
            loading: Loading::new(loading),
        })
    }

    /// State of the first response, if the server may load the model.
    pub(super) fn loading(&self) -> &Loading {
        &self.loading
    }

    /// True once the server has refused the key.
    pub(super) fn is_refused(&self) -> bool {
        self.pacing.is_refused()
    }

    /// Sends a body and returns the response as soon as its head reports success, and true if a
    /// pause or another request preceded it. Temporary faults are retried: see [`Retries`]. A pause
    /// that the server requested is respected: see [`Pacing`]. With a `lead`, the first response is
    /// awaited even if the caller is cancelled.
    ///
    /// # Errors
    /// [`ModelError::Unreachable`] and [`ModelError::Status`].
    pub(super) async fn send(
        &self,
        body: &Value,
        stream: bool,
        deadline: Instant,
        mut lead: Option<LoadLead>,
    ) -> Result<(Body, bool), SendFailure> {
        let mut retries = Retries::new(self.retries, ChaCha8Rng::from_rng(&mut rand::rng()));
        let mut is_delayed = false;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if let Some(Blocked { error, rest }) = self.pacing.blocked(Instant::now()) {
                match rest {
                    Some(rest) if rest < remaining => {
                        is_delayed = true;
                        tokio::time::sleep(rest).await;
                        continue;
                    }
                    _ => {
                        let refusal = None;
                        return Err(SendFailure { error, refusal });
                    }
                }
            }
            let request = self
                .client
                .post(self.url(stream).clone())
                .headers(self.headers.clone())
                .json(body);
            let answer = match lead.take() {
                None => answer(request).await,
                Some(held) => {
                    let (answer, held) = self.first_answer(request, held).await;
                    lead = held;
                    answer
                }
            };
            let (fault, failure) = match answer {
                Ok(Answer::Success(body)) => {
                    self.pacing.succeeded();
                    return Ok((*body, is_delayed));
                }
                Ok(Answer::Refused(response)) => {
                    is_delayed = true;
                    let (fault, failure) = self.refused(response, stream).await;
                    let text = failure.error.to_string().to_lowercase();
                    let loads = lead.is_some() && text.contains("loading");
                    if matches!(fault, RequestFault::Status(503, _)) && loads {
                        // llama.cpp's server answers this while it loads the model.
                        let remaining = deadline.saturating_duration_since(Instant::now());
                        if LOAD_POLL < remaining {
                            tokio::time::sleep(LOAD_POLL).await;
                            continue;
                        }
                    }
                    self.pacing.failed(&failure.error, Instant::now());
                    (Some(fault), failure)
                }
                Err(error) => {
                    is_delayed = true;
                    let fault = passing(&error);
                    let error = error.without_url();
                    let reason = causes(&error);
                    let error = ModelError::Unreachable {
                        url: self.url(stream).to_string(),
                        fault: ReachFault::from_reason(&reason),
                        reason: self.printable(&system_cause(&error).unwrap_or(reason)),
                    };
                    let refusal = None;
                    (fault, SendFailure { error, refusal })
                }
            };
            let remaining = deadline.saturating_duration_since(Instant::now());
            let Some(pause) = fault.and_then(|fault| retries.pause(fault, remaining)) else {
                return Err(failure);
            };
            tracing::debug!(error = %failure.error, ?pause, "the request is sent again");
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends the first request in a separate task, which survives a cancelled caller: a server that
    /// loads the model may abort the load if the client disconnects.
    async fn first_answer(
        &self,
        request: RequestBuilder,
        lead: LoadLead,
    ) -> (Result<Answer, reqwest::Error>, Option<LoadLead>) {
        let limit = self.loading.timeout().unwrap_or_default();
        let task = tokio::spawn(tokio::time::timeout(limit, async move {
            match answer(request).await {
                Ok(Answer::Success(mut body)) => {
                    body.begin().await;
                    lead.answered();
                    (Ok(Answer::Success(body)), None)
                }
                other => (other, Some(lead)),
            }
        }));
        match task.await {
            Ok(Ok(answer)) => answer,
            // The caller's own timeout ends at the same moment and reports the error.
            _ => std::future::pending().await,
        }
    }

    /// Returns the fault and the error of an unsuccessful response.
    async fn refused(&self, response: Response, stream: bool) -> (RequestFault, SendFailure) {
        let url = self.url(stream);
        let header = |name| {
            let value = response.headers().get(name)?;
            value.to_str().ok()
        };
        let retry_after =
            header(RETRY_AFTER).and_then(|value| retry_after(value, SystemTime::now()));
        let target = header(LOCATION).and_then(|value| url.join(value).ok());
        let status = response.status().as_u16();
        let text = text(response).await;
        let shown = match target.filter(|_| (300..400).contains(&status)) {
            Some(mut target) => {
                // A query could hold a key.
                target.set_query(None);
                target.set_fragment(None);
                format!("it redirects to {target}")
            }
            None => error_message(&text),
        };
        let error = ModelError::Status {
            url: url.to_string(),
            status,
            body: self.printable(&shown),
            retry_after,
        };
        let refusal = matches!(status, 400 | 422).then_some(text);
        let fault = RequestFault::Status(status, retry_after);
        (fault, SendFailure { error, refusal })
    }

    /// Error for a response in an undocumented format.
    pub(super) fn malformed(&self, stream: bool, reason: &str) -> ModelError {
        ModelError::Malformed {
            url: self.url(stream).to_string(),
            reason: self.printable(reason),
        }
    }

    /// Error for a response whose body can't be read.
    pub(super) fn unreadable(&self, stream: bool, fault: BodyFault) -> ModelError {
        let reason = match fault {
            BodyFault::Broken(error) => format!("it breaks off: {}", causes(&error.without_url())),
            BodyFault::Compressed(reason) => reason,
        };
        self.malformed(stream, &reason)
    }

    /// Returns the address of streamed or whole responses.
    pub(super) fn address(&self, stream: bool) -> String {
        self.url(stream).to_string()
    }

    /// Error that a server reports in the body of a successful response.
    pub(super) fn server_error(&self, stream: bool, error: &Value) -> ModelError {
        let message = message_of(error).unwrap_or_else(|| error.to_string());
        ModelError::Failed(self.printable(&format!("{} says: {message}", self.url(stream))))
    }

    fn url(&self, stream: bool) -> &Url {
        if stream { &self.streamed } else { &self.whole }
    }

    /// Makes a text fit for an error: redacted, on one line, and short. Secrets are redacted first,
    /// as shortening could leave a part of one.
    fn printable(&self, text: &str) -> String {
        let text = self
            .secrets
            .iter()
            .fold(text.to_owned(), |text, secret| secret.redact(&text));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut short: String = text.chars().take(PRINTED_CHARACTERS).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short
    }
}

/// Returns the message of an unsuccessful response, or the whole text if its format is unknown.
fn error_message(response: &str) -> String {
    let message = serde_json::from_str(response)
        .ok()
        .and_then(|value: Value| {
            // Gemini's is a list with one object.
            let value = value.get(0).unwrap_or(&value);
            ["error", "detail"]
                .iter()
                .find_map(|name| message_of(value.get(name)?))
                .or_else(|| message_of(value.get("message")?))
        });
    message.unwrap_or_else(|| response.to_owned())
}

/// Returns the message of an error: the error itself or its member.
fn message_of(error: &Value) -> Option<String> {
    let message = error.get("message").unwrap_or(error).as_str()?;
    Some(message.to_owned())
}

/// Sends one request.
async fn answer(request: RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    Ok(if response.status().is_success() {
        Answer::Success(Box::new(Body::new(response)))
    } else {
        Answer::Refused(response)
    })
}

/// Returns the headers of the settings, and those values in them that came from the environment.
fn own_headers(
    headers: &BTreeMap<String, String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(HeaderMap, Vec<Secret>), ModelError> {
    let mut own = HeaderMap::new();
    let mut secrets = Vec::new();
    for (name, template) in headers {
        let fault = |why: &str| ModelError::Settings(format!("model: headers.{name}: {why}."));
        let parsed = HeaderName::try_from(name.as_str())
            .map_err(|_| fault("it is not the name of an HTTP header"))?;
        if OWN_HEADERS.contains(&parsed) {
            return Err(fault("this header is the server's own to write"));
        }
        let mut value = String::new();
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let (variable, after) = after
                .split_once('}')
                .ok_or_else(|| fault("a `${` has no `}` after the variable's name"))?;
            let found = environment(variable).filter(|found| !found.trim().is_empty());
            let found = found
                .ok_or_else(|| fault(&format!("the environment variable {variable} is not set")))?;
            value.push_str(before);
            value.push_str(found.trim());
            secrets.push(Secret::new(&found));
            rest = after;
        }
        value.push_str(rest);
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| fault("the value has a character that can't be in an HTTP header"))?;
        value.set_sensitive(true);
        own.insert(parsed, value);
    }
    Ok((own, secrets))
}

/// Creates the HTTP client of the settings.
fn client(settings: &ModelSettings, url: &Url) -> Result<Client, ModelError> {
    let proxy = settings.proxy.as_deref().map(named_proxy).transpose()?;
    let builder = || {
        // A redirect could send the prompt, which is a person's code, to another host.
        let builder = Client::builder()
            .redirect(Policy::none())
            .user_agent(concat!("fillrate/", env!("CARGO_PKG_VERSION")));
        match &proxy {
            Some(proxy) => builder.proxy(proxy.clone()),
            None if is_this_machine(url) => builder.no_proxy(),
            None => builder,
        }
    };
    let is_direct = url.scheme() == "http" && proxy.is_none() && is_this_machine(url);
    let client = match &settings.ca_file {
        Some(path) => builder().tls_backend_preconfigured(trusting(path)?).build(),
        // Reading the system's certificates is slow, and an unencrypted address needs none.
        None if is_direct => builder().tls_certs_only([]).build(),
        None => builder().build(),
    };
    client
        .or_else(|error| match url.scheme() {
            // An http address needs no certificates, and a slim system has none.
            "http" => builder().tls_certs_only([]).build(),
            _ => Err(error),
        })
        .map_err(|error| {
            ModelError::Settings(format!(
                "model: there are no certificates to trust https servers by ({}): install the \
                 system's, often the package ca-certificates, or name a file of them in ca_file.",
                causes(&error)
            ))
        })
}

/// Returns the address under `base` at which a collector of OpenTelemetry receives metrics. It
/// contains no credentials.
///
/// # Errors
/// The base is not an address, or contains credentials.
pub(crate) fn collector_url(base: &str) -> Result<Url, ModelError> {
    resolve("telemetry.otlp_url", base, "/v1/metrics", None)
}

/// Creates the client for metrics to a collector, and returns it with the address of
/// [`collector_url`].
///
/// # Errors
/// Those of [`collector_url`].
pub(crate) fn collector_client(base: &str) -> Result<(Client, Url), ModelError> {
    install_crypto();
    let url = collector_url(base)?;
    Ok((client(&ModelSettings::default(), &url)?, url))
}

fn named_proxy(proxy: &str) -> Result<Proxy, ModelError> {
    let fault = |why: &str| {
        ModelError::Settings(format!(
            "model: the setting proxy is not an address of the form http://host:port: {why}."
        ))
    };
    let url = Url::parse(proxy.trim()).map_err(|error| fault(&error.to_string()))?;
    if !matches!(
        url.scheme(),
        "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h"
    ) {
        return Err(fault(
            "the scheme is none of http, https, socks4, socks4a, socks5 and socks5h",
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault(
            "it holds a user name or password, use the environment variable HTTPS_PROXY",
        ));
    }
    Proxy::all(url).map_err(|error| fault(&causes(&error)))
}

/// Reads the body of an error response, as far as possible.
async fn text(response: Response) -> String {
    let mut body = Body::new(response);
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = body.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST_BYTES {
            // A cut text could end within an echoed key, which then would not be redacted.
            return "(more than 8 MiB)".to_owned();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the temporary fault of a failed request, if it is one. Generating a completion twice
/// does no harm.
fn passing(error: &reqwest::Error) -> Option<RequestFault> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return Some(RequestFault::Refused);
        }
        cause = inner.source();
    }
    // Unknown names and untrusted servers are connection errors that a retry does not fix.
    (error.is_request() && !error.is_connect() && !error.is_timeout())
        .then_some(RequestFault::Closed)
}

/// Formats an error with all its causes: reqwest's own message omits the socket's error.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Returns the system's own error that an error comes from, such as "connection refused", without
/// its number and the layers above it, which say nothing to a person.
fn system_cause(error: &dyn Error) -> Option<String> {
    let mut found = None;
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(system) = inner.downcast_ref::<std::io::Error>()
            && system.raw_os_error().is_some()
        {
            let text = system.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            let mut letters = text.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            found = Some(first.into_iter().chain(letters).collect());
        }
        cause = inner.source();
    }
    found
}

/// Installs a crypto provider for the process, as reqwest is built without one.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that the process already has a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_messages_are_found_in_every_format() {
        for (response, message) in [
            (
                r#"{"error": {"message": "no such model"}}"#,
                "no such model",
            ),
            (r#"{"type": "error", "error": {"message": "busy"}}"#, "busy"),
            (r#"{"error": "model not found"}"#, "model not found"),
            (r#"{"object": "error", "message": "too long"}"#, "too long"),
            (r#"[{"error": {"code": 400, "message": "bad"}}]"#, "bad"),
            (r#"{"detail": "Not Found"}"#, "Not Found"),
        ] {
            assert_eq!(error_message(response), message);
        }
        for unknown in [
            r#"{"detail": [{"loc": ["body", "n"]}]}"#,
            "<html>",
            r#""text""#,
            "{}",
        ] {
            assert_eq!(error_message(unknown), unknown);
        }
    }
}
