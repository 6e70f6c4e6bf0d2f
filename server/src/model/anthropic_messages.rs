//! `POST /v1/messages` of Anthropic: a chat model with an instruction to fill in. Its response is
//! returned unchanged; clean-up removes what is not code. The API has no seed and returns one
//! candidate per request.
//! <https://docs.anthropic.com/en/api/messages>,
//! <https://docs.anthropic.com/en/api/messages-streaming>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions::text_of;
use super::providers::RequestStyle;
use super::{Finish, ModelError, ModelRequest, ModelSettings, Secret};

/// Version of the API.
/// <https://docs.anthropic.com/en/api/versioning>
const VERSION: &str = "2023-06-01";

/// Completions at `/v1/messages`.
#[derive(Debug)]
pub(super) struct AnthropicMessages {
    name: String,
    context_tokens: usize,
    style: RequestStyle,
}

impl AnthropicMessages {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            context_tokens: settings.context_tokens,
            style: RequestStyle::of_messages(settings),
        })
    }
}

impl HttpProtocol for AnthropicMessages {
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
        "/v1/messages".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("https://api.anthropic.com")
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", VERSION.to_owned());
        let key = key.map(|key| ("x-api-key", key.expose().to_owned()));
        [version].into_iter().chain(key).collect()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::AtOnce
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let question = request.question(request.prompt_budget(self.context_tokens));
        let parameters = &request.parameters;
        let mut json = json!({
            "model": self.name,
            "system": question.instructions,
            "messages": [{ "role": "user", "content": question.text }],
            "max_tokens": parameters.max_tokens,
            // A temperature above 1 is rejected.
            "temperature": parameters.temperature.min(1.0),
            "stream": wanted.stream,
        });
        // Newer models reject temperature and `top_p` together.
        if parameters.top_p < 1.0 && parameters.temperature > 0.0 {
            json["top_p"] = parameters.top_p.into();
            if let Some(fields) = json.as_object_mut() {
                fields.remove("temperature");
            }
        }
        self.style.apply(&mut json);
        RequestBody::without_prompt(json)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        // Reasoning is not part of the completion: its blocks have no `text`.
        let thinks = |block: &Value| {
            matches!(
                block["type"].as_str(),
                Some("thinking" | "redacted_thinking" | "thinking_delta")
            )
        };
        let piece = match value["type"].as_str() {
            // A whole response, or the beginning of a stream, which has no stop reason yet.
            Some("message") => CandidatePiece {
                text: text_of(&value["content"]),
                thought: value["content"]
                    .as_array()
                    .is_some_and(|blocks| blocks.iter().any(thinks)),
                finish: finish(&value["stop_reason"]),
                ..CandidatePiece::default()
            },
            Some("content_block_start") => CandidatePiece {
                text: text_of(&value["content_block"]["text"]),
                thought: thinks(&value["content_block"]),
                ..CandidatePiece::default()
            },
            Some("content_block_delta") => CandidatePiece {
                text: text_of(&value["delta"]["text"]),
                thought: thinks(&value["delta"]),
                ..CandidatePiece::default()
            },
            Some("message_delta") => CandidatePiece {
                finish: finish(&value["delta"]["stop_reason"]),
                ..CandidatePiece::default()
            },
            // Keep-alive messages, beginnings and ends of blocks.
            _ => return Vec::new(),
        };
        vec![piece]
    }
}

/// Parses a `stop_reason`.
fn finish(reason: &Value) -> Option<Finish> {
    match reason.as_str()? {
        "" => None,
        "max_tokens" | "model_context_window_exceeded" => Some(Finish::Length),
        _ => Some(Finish::Stop),
    }
}
