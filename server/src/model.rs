//! The [`Model`] trait, one file per wire protocol, and the embedded model.

mod anthropic_messages;
mod embedded;
pub mod embeddings;
mod empty;
mod fim_api;
mod http;
mod key_command;
mod llama;
mod llama_completion;
mod llama_infill;
mod ollama_generate;
mod openai_chat;
mod openai_completions;
mod prompts;
mod providers;
pub mod recorded;
mod secret;
mod settings;
mod tgi;
mod usage;
mod vllm;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use self::anthropic_messages::AnthropicMessages;
use self::fim_api::{FimApi, FimProvider};
use self::llama_completion::LlamaCompletion;
use self::llama_infill::LlamaInfill;
use self::ollama_generate::OllamaGenerate;
use self::openai_chat::OpenAiChat;
use self::openai_completions::OpenAiCompletions;
use self::tgi::Tgi;
use self::vllm::Vllm;
use crate::context::{EarlierAttempt, Window, WindowLayout};
use crate::prompt::{PromptInput, chat};
use crate::syntax::Language;

pub use embedded::EmbeddedModel;
pub(crate) use embedded::OWN_TEXT;
pub(crate) use http::{collector_client, collector_url};
pub use secret::Secret;
pub use settings::{Infill, ModelSettings, Protocol};
pub use usage::{TokenPrice, TokenUsage};

/// Opens the model that the settings describe. `environment` looks up an environment variable; it
/// is called only for the key's variable. A command that prints the key is run to its end.
///
/// # Errors
/// [`ModelError::Settings`] with one sentence, if the settings lack a value that their protocol
/// needs or name something unknown.
pub fn open(
    settings: &ModelSettings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ModelError> {
    settings.check()?;
    let fim = |provider| http::open(settings, environment, FimApi::new(provider, settings)?);
    match settings.protocol {
        Protocol::Embedded => Ok(Arc::new(EmbeddedModel::new())),
        Protocol::OpenAiCompletions => {
            http::open(settings, environment, OpenAiCompletions::new(settings)?)
        }
        Protocol::OpenAiChat => http::open(settings, environment, OpenAiChat::new(settings)?),
        Protocol::Vllm => http::open(settings, environment, Vllm::new(settings)?),
        Protocol::LlamaInfill => http::open(settings, environment, LlamaInfill::new(settings)?),
        Protocol::LlamaCompletion => {
            http::open(settings, environment, LlamaCompletion::new(settings)?)
        }
        Protocol::AnthropicMessages => {
            http::open(settings, environment, AnthropicMessages::new(settings)?)
        }
        Protocol::MistralFim => fim(FimProvider::Mistral),
        Protocol::DeepseekFim => fim(FimProvider::Deepseek),
        Protocol::InceptionFim => fim(FimProvider::Inception),
        Protocol::OllamaGenerate => {
            http::open(settings, environment, OllamaGenerate::new(settings)?)
        }
        Protocol::Tgi => http::open(settings, environment, Tgi::new(settings)?),
        Protocol::Recorded => Ok(Arc::new(recorded::RecordedModel::open(settings)?)),
        Protocol::Empty => Ok(Arc::new(empty::EmptyModel)),
    }
}

/// Number of distinct candidates that a request can produce: greedy generation produces one.
fn distinct_candidates(parameters: &ModelParameters) -> usize {
    if parameters.temperature == 0.0 {
        1
    } else {
        parameters.candidates
    }
}

/// A model that completes at a cursor. One value serves all requests of a server concurrently.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// The name under which figures are reported.
    fn name(&self) -> &str;

    /// Describes for people in one sentence how the prompt is written, and why; empty if there is
    /// no prompt.
    fn describe(&self) -> String {
        String::new()
    }

    /// Outline of the requests that are sent; `None` if nothing is sent.
    fn outline(&self) -> Option<RequestOutline> {
        None
    }

    /// True while the model's server has not answered yet and may be loading the model.
    fn is_loading(&self) -> bool {
        false
    }

    /// True once the model's server has refused the key. Nothing more is sent until changed
    /// settings open the model again.
    fn is_refused(&self) -> bool {
        false
    }

    /// True if it must be given the whole text of a large file, not the part near the cursor.
    fn reads_whole_files(&self) -> bool {
        false
    }

    /// True for a chat model, which may reply with prose around the code.
    fn chats(&self) -> bool {
        false
    }

    /// Completes at a cursor and passes streamed text to `listener`, if the protocol streams.
    /// Dropping the future cancels the work, an HTTP exchange included.
    ///
    /// # Errors
    /// The model returned no candidates. The message contains no key.
    async fn complete(
        &self,
        request: &ModelRequest,
        listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError>;

    /// True if it [observes](Model::observe) the repository.
    fn learns(&self) -> bool {
        false
    }

    /// Learns a repository file's contents; `None` means that the file was removed. Models that
    /// learn from the repository override it. It must return quickly.
    fn observe(&self, _path: &str, _contents: Option<&str>) {}

    /// Starts to learn many files into a separate state, so that it may take long. `None` if the
    /// model can only [observe](Model::observe) files one by one.
    fn learn_many(&self) -> Option<Box<dyn BulkLearning>> {
        None
    }

    /// Returns all that it has learnt so far, to be kept for the next start; `None` if it can't be
    /// kept.
    fn learning(&self) -> Option<KeptLearning> {
        None
    }

    /// Replaces its learnt state by a kept or bulk-learnt one, without the files in `_gone`.
    /// Returns true on success. Afterwards its answers are as if it had observed the remaining
    /// files.
    fn relearn(&self, _kept: Arc<Vec<u8>>, _gone: &[String]) -> bool {
        false
    }
}

/// Learns many files, each once.
pub trait BulkLearning: Send {
    /// Learns a file.
    fn learn(&mut self, path: &str, contents: &str);

    /// Returns the learnt state, for [`Model::relearn`]. This may take seconds.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Serialises the learnt state of a model, which may take seconds.
pub type KeptLearning = Box<dyn FnOnce() -> Arc<Vec<u8>> + Send>;

/// Receives streamed text while a model generates it.
pub trait TextListener: Send + Sync {
    /// Receives the whole text so far, up to its first stop, of a candidate, numbered from 0.
    /// [`ControlFlow::Break`] ends this candidate there with [`Finish::Enough`]. Once every
    /// candidate has ended, so does the exchange.
    fn receive(&self, candidate: usize, text: &str) -> ControlFlow<()>;
}

/// A listener that ends no candidate early.
#[derive(Clone, Copy, Debug)]
pub struct UnlimitedListener;

impl TextListener for UnlimitedListener {
    fn receive(&self, _candidate: usize, _text: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A cursor to complete at, with all input of a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The file's text before the cursor; of a large file, its end.
    pub prefix: String,
    /// The file's text after the cursor; of a large file, its beginning.
    pub suffix: String,
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    /// The workspace folder's name.
    pub repository: String,
    /// The file's language, if known.
    pub language: Option<&'static Language>,
    /// Windows from other files, best first.
    pub windows: Vec<Window>,
    /// Layout of the windows in a prompt.
    pub layout: WindowLayout,
    /// The model's earlier completion here, for a chat model; others ignore it.
    pub earlier: Option<EarlierAttempt>,
    /// Id of the hole at the cursor, for a [recorded] model; others ignore it.
    pub hole: Option<String>,
    /// A question for a chat model, instead of filling in; others ignore it.
    pub question: Option<ChatQuestion>,
    /// Parameters of generation.
    pub parameters: ModelParameters,
}

/// Outline of a request to a model's server, without the texts and without a key.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOutline {
    /// The address that is requested.
    pub address: String,
    /// The parameters, as JSON: those of the protocol, the model and the settings.
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// Returns the outline of the requests that the settings produce, without looking up the key;
/// `None` if nothing is sent.
///
/// # Errors
/// [`ModelError::Settings`] if the settings are faulty.
pub fn outline(settings: &ModelSettings) -> Result<Option<RequestOutline>, ModelError> {
    // Opening a model runs the command that prints the key, which the outline does not need.
    let keyless = ModelSettings {
        key_env: None,
        key_command: None,
        headers: std::collections::BTreeMap::new(),
        ..settings.clone()
    };
    Ok(open(&keyless, &|_| None)?.outline())
}

/// A question to a chat model that has nothing to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatQuestion {
    /// Instructions: the system's message.
    pub instructions: String,
    /// Input: the user's message.
    pub text: String,
}

impl ModelRequest {
    /// Returns the question for a chat model: the request's own question, or else to fill in at the
    /// cursor, in about `budget_tokens` tokens.
    fn question(&self, budget_tokens: usize) -> ChatQuestion {
        self.question.clone().unwrap_or_else(|| {
            let chat = chat::render(&self.prompt_input(), self.earlier.as_ref(), budget_tokens);
            ChatQuestion {
                instructions: chat.instructions,
                text: chat.question,
            }
        })
    }

    /// Maximum number of tokens of the prompt, given `context_tokens` of the settings.
    fn prompt_budget(&self, context_tokens: usize) -> usize {
        let bound = self.parameters.prompt_tokens;
        bound.map_or(context_tokens, |bound| bound.min(context_tokens))
    }

    /// Returns the input of a prompt for this request.
    fn prompt_input(&self) -> PromptInput<'_> {
        PromptInput {
            repository: &self.repository,
            path: &self.path,
            line_comment: Language::line_comment_of(self.language),
            prefix: &self.prefix,
            suffix: &self.suffix,
            windows: &self.windows,
            layout: self.layout,
        }
    }
}

/// Parameters of generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelParameters {
    /// Number of requested candidates, at least 1.
    pub candidates: usize,
    /// Maximum number of tokens of a candidate.
    pub max_tokens: u32,
    /// Maximum number of tokens of the prompt, if fewer than the settings allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<usize>,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f64,
    /// Nucleus mass, in (0, 1].
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// Timeout for the whole exchange.
    pub timeout: Duration,
}

/// Output of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelOutput {
    /// Raw completions, best first.
    pub candidates: Vec<RawCandidate>,
    /// The prompt that was sent, for the trace, or else the request's body. It contains no key.
    pub prompt: String,
    /// Notice to the person on the request's parameters, shown once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Tokens of the requests; `None` if nothing was sent to a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// True if the first text may have waited for something else than the model: a load, a pause
    /// or another request. It is not recorded.
    #[serde(skip)]
    pub is_delayed: bool,
}

/// One raw completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawCandidate {
    /// The raw completion.
    pub text: String,
    /// Reason why the model stopped.
    pub finish: Finish,
    /// Mean natural-log probability per token, if the protocol reports it.
    pub mean_log_probability: Option<f64>,
    /// True if the model's server sent reasoning separately from the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thought: bool,
}

impl RawCandidate {
    /// Passes a candidate that was not streamed to a listener.
    fn announce(mut self, index: usize, listener: &dyn TextListener) -> Self {
        if listener.receive(index, &self.text).is_break() {
            self.finish = Finish::Enough;
        }
        self
    }
}

/// Reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It ended by itself or at a stop.
    Stop,
    /// It used up its tokens.
    Length,
    /// The listener ended it.
    Enough,
}

/// Error that left a model without candidates.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The settings are faulty.
    #[error("{0}")]
    Settings(String),
    /// The server could not be reached.
    #[error("{reason}: {url} cannot be reached")]
    Unreachable {
        /// Address of the request.
        url: String,
        /// Error of the transport.
        reason: String,
        /// Kind of fault, if known.
        fault: ReachFault,
    },
    /// The model's server responded with an error status.
    #[error("the model's server answered {status}: {body} ({url})")]
    Status {
        /// Address of the request.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's message, or else the beginning of the response's body.
        body: String,
        /// Requested pause, from `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The response does not match the documented format.
    #[error("the answer can't be read: {reason} ({url})")]
    Malformed {
        /// Address of the request.
        url: String,
        /// Error in the response.
        reason: String,
    },
    /// The recording has no entry for the cursor.
    #[error(
        "the recording {recording} has no completion for this place in {path} (key {key}): record it, \
         or use another model"
    )]
    NotRecorded {
        /// The recording's path.
        recording: String,
        /// The path of the file to complete.
        path: String,
        /// The cursor's key: see [`recorded::key`].
        key: String,
    },
    /// The model itself failed.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The timeout elapsed.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
}

/// Kind of fault that prevented a connection to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachFault {
    /// The certificate is not valid for the address.
    WrongName,
    /// The certificate expired or is not valid yet.
    Expired,
    /// The certificate is of no trusted authority.
    Untrusted,
    /// The server speaks HTTP without TLS.
    PlainServer,
    /// The host's name is unknown.
    UnknownHost,
    /// The proxy failed.
    Proxy,
    /// The proxy's scheme is unsupported.
    ProxyScheme,
    /// Any other fault, such as a refused connection.
    Other,
}

impl ReachFault {
    /// Classifies a transport error by its text: the types behind it are those of four crates, and
    /// some are private.
    fn from_reason(reason: &str) -> Self {
        let reason = reason.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        // The specific texts come first: faults of names and dates also contain the word
        // `certificate`.
        if has(&["not valid for name", "notvalidforname"]) {
            Self::WrongName
        } else if has(&["expired", "not valid yet", "notvalidyet"]) {
            Self::Expired
        } else if has(&["certificate", "unknownissuer", "unknown issuer"]) {
            Self::Untrusted
        } else if has(&["invalidcontenttype", "corrupt message"]) {
            Self::PlainServer
        } else if has(&["unknown proxy scheme", "unsupported scheme"]) {
            Self::ProxyScheme
        } else if has(&["proxy", "tunnel", "socks"]) {
            Self::Proxy
        } else if has(&["dns error", "failed to lookup address"]) {
            Self::UnknownHost
        } else {
            Self::Other
        }
    }

    fn cause(self) -> &'static str {
        match self {
            Self::WrongName => "the certificate names another host",
            Self::Expired => "the certificate's dates are wrong",
            Self::Untrusted => "the certificate is not trusted",
            Self::PlainServer => "the server speaks plain HTTP",
            Self::UnknownHost => "the host is unknown",
            Self::ProxyScheme => "the proxy's scheme is unsupported",
            Self::Proxy => "the proxy failed",
            Self::Other => "the model's server is unreachable",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::WrongName => {
                "Use a name in `model.url` that the server's certificate has (its subjectAltName), \
                 or give the server a certificate for this one."
            }
            Self::Expired => "Renew the server's certificate, or check this machine's clock.",
            Self::Untrusted => {
                "Name the server's own certificate, or that of its authority, in `model.ca_file`; \
                 on a system without certificates install the package ca-certificates."
            }
            Self::PlainServer => "Write http:// in `model.url`: the server does not speak TLS.",
            Self::UnknownHost => {
                "Check the host in `model.url`, and the network; behind a proxy set `model.proxy`."
            }
            Self::ProxyScheme => {
                "Use http://, https:// or socks5h:// in `model.proxy` or in the environment's \
                 http_proxy, https_proxy or all_proxy."
            }
            Self::Proxy => {
                "Check the proxy: `model.proxy`, or else http_proxy, https_proxy and all_proxy of \
                 the environment; no_proxy lists hosts that are reached directly."
            }
            Self::Other => "Start the model's server, or correct `model.url`.",
        }
    }
}

impl ModelError {
    /// Returns the requested pause, if the model's server is overloaded and says when to retry.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status {
                status: 429 | 503 | 529,
                retry_after,
                ..
            } => *retry_after,
            _ => None,
        }
    }

    /// Returns the cause in at most five words, without the server's own words, for a message that
    /// a person reads at a glance.
    pub fn cause(&self) -> &'static str {
        match self {
            Self::Settings(_) => "the model's settings are invalid",
            Self::Unreachable { fault, .. } => fault.cause(),
            Self::Status { status: 401, .. } => "the key was refused",
            Self::Status { status: 403, .. } => "access was denied",
            Self::Status { status: 402, .. } => "the account's balance is spent",
            Self::Status {
                status: 300..=399, ..
            } => "the server redirects elsewhere",
            Self::Status {
                status: 400 | 422, ..
            } => "the request was refused",
            Self::Status { status: 404, .. } => "model or address is unknown",
            Self::Status { status: 429, .. } => "too many requests were sent",
            Self::Status {
                status: 503 | 529, ..
            } => "the model's server is overloaded",
            Self::Status { .. } => "the model's server failed",
            Self::Malformed { .. } => "the response can't be read",
            Self::NotRecorded { .. } => "nothing is recorded here",
            Self::Failed(_) => "the model failed",
            Self::Timeout(_) => "the model timed out",
        }
    }

    /// Returns advice to the person, as one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Settings(_) => "Correct the settings of the model.",
            Self::Unreachable { fault, .. } => fault.advice(),
            Self::Status { status: 401, .. } => {
                "Check the key that `model.key_env` or `model.key_command` gives, or set one of \
                 them; nothing is requested until then."
            }
            Self::Status { status: 403, .. } => {
                "Check the key that `model.key_env` or `model.key_command` names, and what it may \
                 do."
            }
            Self::Status { status: 402, .. } => {
                "Top up the account at the model's provider, or choose another model."
            }
            Self::Status {
                status: 300..=399, ..
            } => "Set `model.url` to the address it redirects to, if that is the server you mean.",
            Self::Status {
                status: 400 | 422, ..
            } => {
                "Leave out what the server refuses with `model.omit`, or set it with \
                 `model.parameters`; check `model.name` and `model.protocol`."
            }
            Self::Status { status: 404, .. } => {
                "Check `model.name`, `model.protocol` and `model.url`: the server knows no such \
                 model or address."
            }
            Self::Status {
                status: 429 | 503 | 529,
                ..
            } => {
                "Wait: nothing is requested until the server's pause is over; raise \
                 `typing.wait_ms` to send fewer requests."
            }
            Self::Status { .. } | Self::Malformed { .. } => {
                "Check `model.protocol`, and the log of the model's server."
            }
            Self::NotRecorded { .. } => "Record it, or choose another model.",
            Self::Failed(_) => "Check the log of the model's server.",
            Self::Timeout(_) => {
                "Wait until the model is loaded. If it is slow, choose a smaller model, lower \
                 `model.max_tokens` or raise `model.timeout_ms`, or `model.load_timeout_ms` for the \
                 first answer."
            }
        }
    }
}

#[cfg(test)]
mod tests;
