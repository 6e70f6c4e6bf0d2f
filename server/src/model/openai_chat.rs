//! `POST /v1/chat/completions`, as OpenAI defined it and many speak it: a chat model that is told
//! to fill in. What it says is given as it is; clean-up parts code from talk.
//! <https://platform.openai.com/docs/api-reference/chat>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::openai_completions::{LogProbabilities, finish};
use super::{ModelError, Request, Settings};

/// Completions at `/v1/chat/completions`.
#[derive(Debug)]
pub(super) struct OpenAiChat {
    name: String,
    context_tokens: usize,
    /// What the limit on tokens is called.
    limit: &'static str,
}

impl OpenAiChat {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        // OpenAI's own models that think refuse the older name, others know no newer one:
        // <https://platform.openai.com/docs/api-reference/chat/create#chat-create-max_tokens>.
        let url = settings.url.as_deref().unwrap_or_default();
        let limit = if url.contains("://api.openai.com") {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            context_tokens: settings.context_tokens,
            limit,
        })
    }
}

impl Wire for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        "a chat model that is told to fill in, because the protocol is one for chats".to_owned()
    }

    fn chats(&self) -> bool {
        true
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/chat/completions".to_owned()
    }

    fn several(&self) -> Several {
        Several::Together
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let question = request.question(self.context_tokens);
        let mut json = json!({
            "model": self.name,
            "messages": [
                { "role": "system", "content": question.instructions },
                { "role": "user", "content": question.text },
            ],
            "temperature": request.parameters.temperature,
            "top_p": request.parameters.top_p,
            "seed": draw.seed,
            "n": draw.count,
            "stream": draw.stream,
        });
        json[self.limit] = request.parameters.max_tokens.into();
        Body {
            json,
            prompt: None,
            // A preamble may name the mark, so not even that ends an answer.
            stops: Vec::new(),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        read(value)
    }
}

/// The pieces of a value in the form of `/v1/chat/completions`.
pub(super) fn read(value: &Value) -> Result<Vec<Piece>, String> {
    let chat = Chat::deserialize(value).map_err(|error| error.to_string())?;
    let pieces = chat.choices.into_iter().enumerate();
    let pieces = pieces.map(|(place, choice)| Piece {
        candidate: choice.index.unwrap_or(place),
        text: choice
            .delta
            .or(choice.message)
            .and_then(|message| message.content)
            .map(Content::text)
            .unwrap_or_default(),
        finish: choice.finish_reason.as_deref().map(finish),
        log_probabilities: choice
            .logprobs
            .map(|logprobs| logprobs.values())
            .unwrap_or_default(),
    });
    Ok(pieces.collect())
}

/// An event of a stream, with `delta`, or a whole answer, with `message`.
#[derive(Deserialize)]
struct Chat {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    /// Missing where servers take the place in the list for it.
    index: Option<usize>,
    delta: Option<Message>,
    message: Option<Message>,
    finish_reason: Option<String>,
    logprobs: Option<LogProbabilities>,
}

/// What is thought (`reasoning_content` and its like) is no part of the answer.
#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
        }
    }
}
