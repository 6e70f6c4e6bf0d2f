//! One server: how it is reached, who asks, and errors that hold no key.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Once;
use std::time::SystemTime;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Proxy, Response, Url};
use serde_json::Value;
use tokio::time::Instant;

use super::protocol::{Header, HttpProtocol, bearer};
use super::retries::{RequestFault, Retries, retry_after};
use crate::model::{ModelError, ModelSettings, Secret};

/// How many characters of a server's response an error shows.
const PRINTED_CHARACTERS: usize = 300;

/// The most bytes of a response that are read.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// An address that takes JSON, and those who may ask it.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    streamed: Url,
    whole: Url,
    headers: HeaderMap,
    key: Option<Secret>,
    retries: u32,
}

impl Endpoint {
    /// The endpoint of a protocol under the settings' url. A final `/v1` of the url is dropped
    /// first, as people write it either way.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the url is missing or can't be, or what belongs to it can't.
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
        let streamed = address(base, &protocol.path(true))?;
        let whole = address(base, &protocol.path(false))?;
        Self::at(settings, environment, [streamed, whole], &|key| {
            protocol.headers(key)
        })
    }

    /// The endpoint at a path that answers as a whole, with the key as OpenAI's servers take it.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub(super) fn whole(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        base: &str,
        path: &str,
    ) -> Result<Self, ModelError> {
        let url = address(base, path)?;
        Self::at(settings, environment, [url.clone(), url], &bearer)
    }

    /// The endpoint at these addresses, that of streamed responses first.
    fn at(
        settings: &ModelSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        [streamed, whole]: [Url; 2],
        headers_of: &dyn Fn(Option<&Secret>) -> Vec<Header>,
    ) -> Result<Self, ModelError> {
        install_crypto();
        let client = client(settings, &streamed)?;
        // Last, as it may run a command that asks a person for something.
        let key = settings.key(environment)?;
        let mut headers = HeaderMap::new();
        for (name, value) in headers_of(key.as_ref()) {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                ModelError::Settings(
                    "model: the key has a character that can't be in an HTTP header.".to_owned(),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(Self {
            client,
            streamed,
            whole,
            headers,
            key,
            retries: settings.retries,
        })
    }

    /// Sends a body and gives the response once its head is there and says success. Faults that
    /// pass are waited for and tried again: see [`Retries`].
    ///
    /// # Errors
    /// [`ModelError::Unreachable`] and [`ModelError::Status`].
    pub(super) async fn send(
        &self,
        body: &Value,
        stream: bool,
        deadline: Instant,
    ) -> Result<Response, ModelError> {
        let mut retries = Retries::new(self.retries, ChaCha8Rng::from_rng(&mut rand::rng()));
        loop {
            let request = self
                .client
                .post(self.url(stream).clone())
                .headers(self.headers.clone())
                .json(body);
            let (fault, error) = match request.send().await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let wish = response
                        .headers()
                        .get(RETRY_AFTER)
                        .and_then(|value| value.to_str().ok())
                        .and_then(|value| retry_after(value, SystemTime::now()));
                    let status = response.status().as_u16();
                    let error = ModelError::Status {
                        url: self.url(stream).to_string(),
                        status,
                        body: self.printable(&text(response).await),
                        retry_after: wish,
                    };
                    (Some(RequestFault::Status(status, wish)), error)
                }
                Err(error) => {
                    let fault = passing(&error);
                    let error = ModelError::Unreachable {
                        url: self.url(stream).to_string(),
                        reason: self.printable(&causes(&error.without_url())),
                    };
                    (fault, error)
                }
            };
            let remaining = deadline.saturating_duration_since(Instant::now());
            let Some(pause) = fault.and_then(|fault| retries.pause(fault, remaining)) else {
                return Err(error);
            };
            tracing::debug!(%error, ?pause, "the request is sent again");
            tokio::time::sleep(pause).await;
        }
    }

    /// A response that is not of the documented form.
    pub(super) fn malformed(&self, stream: bool, reason: &str) -> ModelError {
        ModelError::Malformed {
            url: self.url(stream).to_string(),
            reason: self.printable(reason),
        }
    }

    /// A response that broke off.
    pub(super) fn broken(&self, stream: bool, error: reqwest::Error) -> ModelError {
        let reason = format!("it breaks off: {}", causes(&error.without_url()));
        self.malformed(stream, &reason)
    }

    /// An error that a server reports in the body of a successful response.
    pub(super) fn server_error(&self, stream: bool, error: &Value) -> ModelError {
        let message = match (error, &error["message"]) {
            (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
            (other, _) => other.to_string(),
        };
        ModelError::Failed(self.printable(&format!("{} says: {message}", self.url(stream))))
    }

    fn url(&self, stream: bool) -> &Url {
        if stream { &self.streamed } else { &self.whole }
    }

    /// A text fit for an error: without the key, on one line, and short. The key goes first, as
    /// shortening could leave a part of it.
    fn printable(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) => key.redact(text),
            None => text.to_owned(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut short: String = text.chars().take(PRINTED_CHARACTERS).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short
    }
}

/// The address of a path under a base.
fn address(base: &str, path: &str) -> Result<Url, ModelError> {
    let fault = |why: &str| {
        ModelError::Settings(format!(
            "model: the setting url is not an address of the form http://host:port: {why}."
        ))
    };
    let base = base.trim().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let own = Url::parse(base).map_err(|error| fault(&error.to_string()))?;
    if !matches!(own.scheme(), "http" | "https") {
        return Err(fault("the scheme is neither http nor https"));
    }
    if !own.username().is_empty() || own.password().is_some() {
        return Err(fault("it holds a user name or password, use key_env"));
    }
    if own.query().is_some() || own.fragment().is_some() {
        return Err(fault("it has a query or a fragment"));
    }
    Url::parse(&format!("{base}{path}")).map_err(|error| fault(&error.to_string()))
}

/// The client that the settings ask for.
fn client(settings: &ModelSettings, url: &Url) -> Result<Client, ModelError> {
    // A redirect could carry the prompt, which is a person's code, somewhere else.
    let mut builder = Client::builder()
        .redirect(Policy::none())
        .user_agent(concat!("fillrate/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &settings.proxy {
        builder = builder.proxy(named_proxy(proxy)?);
    } else if is_loopback(url) {
        builder = builder.no_proxy();
    }
    match &settings.ca_file {
        Some(path) => trusting(builder, path),
        None => builder.build().map_err(|error| {
            ModelError::Settings(format!("model: no HTTP client: {}.", causes(&error)))
        }),
    }
}

/// The client for the figures that a collector of OpenTelemetry at a base address takes, and where
/// they go.
///
/// # Errors
/// The base is no address.
pub(crate) fn collector_client(base: &str) -> Result<(Client, Url), ModelError> {
    install_crypto();
    let url = address(base, "/v1/metrics")?;
    Ok((client(&ModelSettings::default(), &url)?, url))
}

fn named_proxy(proxy: &str) -> Result<Proxy, ModelError> {
    let fault = |why: &str| {
        ModelError::Settings(format!(
            "model: the setting proxy is not an address of the form http://host:port: {why}."
        ))
    };
    let url = Url::parse(proxy.trim()).map_err(|error| fault(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("the scheme is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault(
            "it holds a user name or password, use the environment variable HTTPS_PROXY",
        ));
    }
    Proxy::all(url).map_err(|error| fault(&causes(&error)))
}

/// A client that trusts the authorities in a file too.
fn trusting(builder: ClientBuilder, path: &Path) -> Result<Client, ModelError> {
    let fault = |why: String| {
        ModelError::Settings(format!(
            "model: the file {}, which ca_file names, {why}.",
            path.display()
        ))
    };
    let pem = std::fs::read(path).map_err(|error| fault(format!("can't be read: {error}")))?;
    let certificates = Certificate::from_pem_bundle(&pem)
        .map_err(|error| fault(format!("holds no certificates: {}", causes(&error))))?;
    if certificates.is_empty() {
        return Err(fault("holds no certificate in PEM form".to_owned()));
    }
    // What a certificate holds is looked at here.
    let client = builder.tls_certs_merge(certificates).build();
    client.map_err(|error| fault(format!("can't be used: {}", causes(&error))))
}

/// The body of an error response, as far as it can be read.
async fn text(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST_BYTES {
            // A part could end within an echoed key, which would then not be seen as one.
            return "(more than 8 MiB)".to_owned();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The fault that may pass, if a request met one. To write a completion twice does no harm.
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
    // Names that can't be resolved and servers that can't be trusted are faults in connecting.
    (error.is_request() && !error.is_connect() && !error.is_timeout())
        .then_some(RequestFault::Closed)
}

/// An error with all its causes: reqwest's own message leaves out what the socket said.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// reqwest is built without a provider of its own, so the process needs one.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that the process already has a provider, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
