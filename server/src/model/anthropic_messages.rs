//! `POST /v1/messages` of Anthropic: a chat model that is instructed to fill in. What it says is given
//! as it is; clean-up parts code from talk. It takes no seed and gives one candidate a request.
//! <https://docs.anthropic.com/en/api/messages>,
//! <https://docs.anthropic.com/en/api/messages-streaming>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::{Finish, ModelError, ModelRequest, ModelSettings, Secret};

/// The version of the interface that is spoken here.
/// <https://docs.anthropic.com/en/api/versioning>
const VERSION: &str = "2023-06-01";

/// Completions at `/v1/messages`.
#[derive(Debug)]
pub(super) struct AnthropicMessages {
    name: String,
    context_tokens: usize,
}

impl AnthropicMessages {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            context_tokens: settings.context_tokens,
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
            // Above 1 is refused.
            "temperature": parameters.temperature.min(1.0),
            "stream": wanted.stream,
        });
        // Newer models refuse both ways of sampling at once.
        if parameters.top_p < 1.0 && parameters.temperature > 0.0 {
            json["top_p"] = parameters.top_p.into();
            if let Some(fields) = json.as_object_mut() {
                fields.remove("temperature");
            }
        }
        RequestBody::without_prompt(json)
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        let event = Event::deserialize(value).map_err(|error| error.to_string())?;
        let piece = match event {
            Event::Message {
                content,
                stop_reason,
            } => CandidatePiece {
                text: content.into_iter().map(|part| part.text).collect(),
                // A message whose stream only begins has no reason yet.
                finish: stop_reason.as_deref().map(finish),
                ..CandidatePiece::default()
            },
            Event::ContentBlockDelta { delta } => CandidatePiece {
                text: delta.text,
                ..CandidatePiece::default()
            },
            Event::MessageDelta { delta } => CandidatePiece {
                finish: delta.stop_reason.as_deref().map(finish),
                ..CandidatePiece::default()
            },
            Event::Other => return Ok(Vec::new()),
        };
        Ok(vec![piece])
    }
}

/// A whole response, or an event of a stream. What is thought is no part of the response: its blocks
/// have no `text`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    Message {
        content: Vec<Text>,
        stop_reason: Option<String>,
    },
    ContentBlockDelta {
        delta: Text,
    },
    MessageDelta {
        delta: End,
    },
    /// Signs of life, beginnings and ends of blocks.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

/// The end that a `stop_reason` tells.
fn finish(reason: &str) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        _ => Finish::Stop,
    }
}
