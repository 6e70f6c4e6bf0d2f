//! What the protocols over HTTP share: one JSON exchange within a time-out, and errors that hold
//! no key.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use serde_json::Value;

use super::{ModelError, Secret, Settings};

/// How many characters of a server's answer an error shows.
const SHOWN_CHARACTERS: usize = 300;

/// The most bytes of an answer that are read.
const MOST_BYTES: usize = 8 << 20;

/// One address that takes JSON and gives JSON.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    key: Option<Secret>,
}

impl Endpoint {
    /// The endpoint `path` under the settings' url. A final `/v1` of the url is dropped first,
    /// as people write it either way.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the url is missing or can't be.
    pub(super) fn new(
        settings: &Settings,
        key: Option<Secret>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let Some(base) = &settings.url else {
            return Err(ModelError::Settings(format!(
                "model: the protocol \"{}\" needs the setting url, the address of the model's \
                 server.",
                settings.protocol
            )));
        };
        let fault = |why: &str| {
            ModelError::Settings(format!(
                "model: the setting url is not an address of the form http://host:port: {why}."
            ))
        };
        let base = base.trim().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let url =
            Url::parse(&format!("{base}{path}")).map_err(|error| fault(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(fault("the scheme is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault("it holds a user name or password, use key_env"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(fault("it has a query or a fragment"));
        }
        install_crypto();
        // A redirect could carry the prompt, which is a person's code, somewhere else.
        let mut builder = Client::builder().redirect(Policy::none());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| ModelError::Settings(format!("model: no HTTP client: {error}.")))?;
        Ok(Self { client, url, key })
    }

    /// The address, for errors and traces.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Sends a body and gives the answer's JSON.
    ///
    /// # Errors
    /// Every [`ModelError`] but that of the settings.
    pub(super) async fn exchange(
        &self,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, ModelError> {
        let mut request = self.client.post(self.url.clone()).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose());
        }
        match tokio::time::timeout(timeout, self.answer(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(ModelError::Timeout(timeout)),
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value, ModelError> {
        let unreachable = |error: reqwest::Error| ModelError::Unreachable {
            url: self.url().to_owned(),
            reason: self.shown(&causes(&error.without_url())),
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err(self.malformed("it is longer than 8 MiB"));
            }
        }
        if !status.is_success() {
            return Err(ModelError::Status {
                url: self.url().to_owned(),
                status: status.as_u16(),
                body: self.shown(&String::from_utf8_lossy(&bytes)),
            });
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let body = String::from_utf8_lossy(&bytes);
            self.malformed(&format!("{error} in: {body}"))
        })
    }

    /// An answer that is not of the documented form.
    pub(super) fn malformed(&self, reason: &str) -> ModelError {
        ModelError::Malformed {
            url: self.url().to_owned(),
            reason: self.shown(reason),
        }
    }

    /// A text fit for an error: without the key, on one line, and short. The key goes first, as
    /// shortening could leave a part of it.
    fn shown(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) => key.redact(text),
            None => text.to_owned(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut short: String = text.chars().take(SHOWN_CHARACTERS).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short
    }
}

/// A text up to its first stop, and whether there was one. Servers get few stops and some ignore
/// them.
pub(super) fn cut_at_stop<'a>(text: &'a str, stops: &[&str]) -> (&'a str, bool) {
    match stops.iter().filter_map(|stop| text.find(stop)).min() {
        Some(end) => (&text[..end], true),
        None => (text, false),
    }
}

/// An error with all its causes: reqwest's own message leaves out what the socket said.
fn causes(error: &dyn std::error::Error) -> String {
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
