//! The [`Model`] trait and one file per wire protocol, the embedded model among them.

mod anthropic_messages;
mod deepseek_fim;
mod embedded;
pub mod embeddings;
mod empty;
mod http;
mod key_command;
mod llama;
mod llama_completion;
mod llama_infill;
mod mistral_fim;
mod ollama_generate;
mod openai_chat;
mod openai_completions;
pub mod recorded;
mod secret;
mod settings;
mod tgi;
mod vllm;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::context::{Earlier, Form, Window};
use crate::prompt::{Place, chat};
use crate::syntax::Language;

pub use embedded::Embedded;
pub use secret::Secret;
pub use settings::{Infill, Protocol, Settings};

/// Opens the model that the settings describe. `environment` looks an environment variable up;
/// it is asked for the key's variable alone. A command that gives the key is run, and waited for.
///
/// # Errors
/// [`ModelError::Settings`] with one sentence, if the settings lack what their protocol needs or
/// name something unknown.
pub fn open(
    settings: &Settings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ModelError> {
    settings.check()?;
    match settings.protocol {
        Protocol::Embedded => Ok(Arc::new(Embedded::new())),
        Protocol::OpenAiCompletions => {
            let wire = openai_completions::OpenAiCompletions::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::OpenAiChat => {
            let wire = openai_chat::OpenAiChat::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::Vllm => http::open(settings, environment, vllm::Vllm::new(settings)?),
        Protocol::LlamaInfill => {
            let wire = llama_infill::LlamaInfill::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::LlamaCompletion => {
            let wire = llama_completion::LlamaCompletion::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::AnthropicMessages => {
            let wire = anthropic_messages::AnthropicMessages::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::MistralFim => {
            let wire = mistral_fim::MistralFim::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::DeepseekFim => {
            let wire = deepseek_fim::DeepseekFim::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::OllamaGenerate => {
            let wire = ollama_generate::OllamaGenerate::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::Tgi => {
            let wire = tgi::Tgi::new(settings)?;
            http::open(settings, environment, wire)
        }
        Protocol::Recorded => Ok(Arc::new(recorded::Recorded::open(settings)?)),
        Protocol::Empty => Ok(Arc::new(empty::Empty)),
    }
}

/// How many candidates are worth asking for: greedy generation gives one.
fn distinct_candidates(parameters: &Parameters) -> usize {
    if parameters.temperature == 0.0 {
        1
    } else {
        parameters.candidates
    }
}

/// What turns a place in a file into text. One value serves all requests of a server, at once.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// The name figures are reported under.
    fn name(&self) -> &str;

    /// One sentence on how the prompt is written, and why so, for people; empty where there is
    /// nothing to tell.
    fn about(&self) -> String {
        String::new()
    }

    /// Whether it is asked as a chat is, and may answer with prose around the code.
    fn chats(&self) -> bool {
        false
    }

    /// Completes at a place, and tells `listener` what is there while more is being written,
    /// where the protocol streams. Dropping the future gives the work up, an HTTP exchange
    /// included.
    ///
    /// # Errors
    /// Says what kept the model from answering, without any key in the message.
    async fn complete(
        &self,
        request: &Request,
        listener: &dyn Listener,
    ) -> Result<Answer, ModelError>;

    /// Whether it [observes](Model::observe) the repository.
    fn learns(&self) -> bool {
        false
    }

    /// Takes note of a repository file's contents; nothing means that it is gone. Models that
    /// learn from the repository override it; it must return soon.
    fn observe(&self, _path: &str, _contents: Option<&str>) {}
}

/// Who hears what a model writes while it writes it.
pub trait Listener: Send + Sync {
    /// `text` is all that the candidate of this number, from 0, has so far, up to its first stop.
    /// [`ControlFlow::Break`] means that nothing further of this candidate is wanted: the model
    /// ends it there with [`Finish::Enough`], and ends the exchange when no candidate is wanted
    /// any more.
    fn heard(&self, candidate: usize, text: &str) -> ControlFlow<()>;
}

/// A listener that wants all there is.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl Listener for Whole {
    fn heard(&self, _candidate: usize, _text: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A place to complete, with all that may be told of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file's text before the cursor.
    pub prefix: String,
    /// The file's text after the cursor.
    pub suffix: String,
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    /// The workspace folder's name.
    pub repository: String,
    /// The file's language, where the server knows it.
    pub language: Option<&'static Language>,
    /// Windows from other files, best first.
    pub windows: Vec<Window>,
    /// How they are written into a prompt.
    pub form: Form,
    /// What the model answered here before, for one that [chats](Model::chats); others pass it
    /// over.
    pub earlier: Option<Earlier>,
    /// What a model that [chats](Model::chats) is asked in place of filling in; others pass it
    /// over.
    pub question: Option<Question>,
    /// How to generate.
    pub parameters: Parameters,
}

/// What a chat model is asked where nothing is to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What to do: the system's message.
    pub instructions: String,
    /// With what: the user's message.
    pub text: String,
}

impl Request {
    /// What a chat model is asked: the request's own question, or to fill in at its place within
    /// about `budget_tokens` tokens.
    fn question(&self, budget_tokens: usize) -> Question {
        self.question.clone().unwrap_or_else(|| {
            let chat = chat::write(&self.place(), self.earlier.as_ref(), budget_tokens);
            Question {
                instructions: chat.instructions,
                text: chat.question,
            }
        })
    }

    /// What a prompt for this place is made of.
    fn place(&self) -> Place<'_> {
        Place {
            repository: &self.repository,
            path: &self.path,
            line_comment: self.language.map_or("#", |language| language.line_comment),
            prefix: &self.prefix,
            suffix: &self.suffix,
            windows: &self.windows,
            form: self.form,
        }
    }
}

/// How to generate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// How many candidates to ask for, at least 1.
    pub candidates: usize,
    /// The most tokens a candidate may have.
    pub max_tokens: u32,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f64,
    /// Nucleus mass, in (0, 1].
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// How long the whole exchange may take.
    pub timeout: Duration,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Candidates, best first, as the model gave them.
    pub candidates: Vec<Candidate>,
    /// What was sent, as text, for the trace: the prompt or the request's body without its key.
    pub prompt: String,
}

/// One text a model offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The text, before any clean-up.
    pub text: String,
    /// Why the model stopped.
    pub finish: Finish,
    /// Mean natural-log probability per token, where the protocol tells.
    pub mean_log_probability: Option<f64>,
}

impl Candidate {
    /// Tells a listener of a candidate that came as a whole.
    fn told(mut self, index: usize, listener: &dyn Listener) -> Self {
        if listener.heard(index, &self.text).is_break() {
            self.finish = Finish::Enough;
        }
        self
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It came to its own end or to a stop.
    Stop,
    /// It used up its tokens.
    Length,
    /// The listener wanted no more of it.
    Enough,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Something in the settings cannot be.
    #[error("{0}")]
    Settings(String),
    /// No exchange came about.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// Where the request went.
        url: String,
        /// What the transport said.
        reason: String,
    },
    /// The model's server answered with an error.
    #[error("{url} answered {status}: {body}")]
    Status {
        /// Where the request went.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer's body.
        body: String,
    },
    /// The answer is not of the documented form.
    #[error("{url} gave an answer that can't be read: {reason}")]
    Malformed {
        /// Where the request went.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The recording has no entry for the place.
    #[error(
        "the recording {recording} has nothing for this place in {path} (key {key}): record it, \
         or use another model"
    )]
    NoRecord {
        /// The recording's path.
        recording: String,
        /// The path of the file to complete.
        path: String,
        /// The place's key.
        key: String,
    },
    /// The model itself failed.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The time-out ran out.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
}

#[cfg(test)]
mod tests;
