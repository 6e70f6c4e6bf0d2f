//! `POST /v1/chat/completions`, as OpenAI defined it and many servers implement it: a chat model with
//! an instruction to fill in. Its response is returned unchanged; clean-up removes what is not code.
//! <https://platform.openai.com/docs/api-reference/chat>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions::{LogProbabilities, finish};
use super::{ModelError, ModelRequest, ModelSettings};

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
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
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

impl HttpProtocol for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        "a chat model with an instruction to fill in, because the protocol is for chats".to_owned()
    }

    fn chats(&self) -> bool {
        true
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/chat/completions".to_owned()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::Together
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let question = request.question(request.prompt_budget(self.context_tokens));
        let mut json = json!({
            "model": self.name,
            "messages": [
                { "role": "system", "content": question.instructions },
                { "role": "user", "content": question.text },
            ],
            "temperature": request.parameters.temperature,
            "top_p": request.parameters.top_p,
            "seed": wanted.seed,
            "n": wanted.count,
            "stream": wanted.stream,
        });
        json[self.limit] = request.parameters.max_tokens.into();
        // A preamble may name the mark, so not even that is a stop.
        RequestBody::without_prompt(json)
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        parse(value)
    }
}

/// The pieces of a value in the form of `/v1/chat/completions`.
pub(super) fn parse(value: &Value) -> Result<Vec<CandidatePiece>, String> {
    let chat = Chat::deserialize(value).map_err(|error| error.to_string())?;
    let pieces = chat.choices.into_iter().enumerate();
    let pieces = pieces.map(|(place, choice)| CandidatePiece {
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

/// An event of a stream, with `delta`, or a whole response, with `message`.
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

/// What is thought (`reasoning_content` and its like) is no part of the response.
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
