//! `POST /v1/chat/completions`, as OpenAI defined it and many servers implement it: a chat model
//! with an instruction to fill in. Its response is returned unchanged; clean-up removes what is not
//! code. <https://platform.openai.com/docs/api-reference/chat>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions::{parse_choices, text_of};
use super::providers::RequestStyle;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions at `/v1/chat/completions`.
#[derive(Debug)]
pub(super) struct OpenAiChat {
    name: String,
    context_tokens: usize,
    style: RequestStyle,
}

impl OpenAiChat {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            context_tokens: settings.context_tokens,
            style: RequestStyle::of_chat(settings),
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
            "max_tokens": request.parameters.max_tokens,
        });
        self.style.apply(&mut json);
        // A preamble may contain the mark, so not even the mark is a stop.
        RequestBody::without_prompt(json)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        parse(value)
    }
}

/// Parses a value in the format of `/v1/chat/completions`: an event of a stream, with `delta`, or a
/// whole response, with `message`.
pub(super) fn parse(value: &Value) -> Vec<CandidatePiece> {
    parse_choices(value, |choice| {
        let message = [&choice["delta"], &choice["message"]];
        let message = message.into_iter().find(|message| message.is_object());
        let message = message.unwrap_or(&Value::Null);
        (text_of(&message["content"]), has_thoughts(message))
    })
}

/// True if a message contains reasoning, which is not part of the completion. The names are those
/// of DeepSeek and vLLM, of OpenRouter and Groq, and of Mistral's parts.
fn has_thoughts(message: &Value) -> bool {
    let named = [
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "thinking",
    ];
    let is_there = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        Value::Object(_) => true,
        _ => false,
    };
    let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    named.iter().any(|name| is_there(&message[*name]))
        || parts.iter().any(|part| part.get("thinking").is_some())
}
