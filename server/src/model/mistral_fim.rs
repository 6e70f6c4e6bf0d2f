//! `POST /v1/fim/completions` of Mistral, for Codestral. The server writes the prompt from prefix
//! and suffix.
//! <https://docs.mistral.ai/api/endpoint/fim>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_chat;
use super::prompts::ServerPrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions at `/v1/fim/completions`.
#[derive(Debug)]
pub(super) struct MistralFim {
    name: String,
    prompts: ServerPrompts,
}

impl MistralFim {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing or the family unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: ServerPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for MistralFim {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        "the server writes the prompt, because the protocol requires it".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/fim/completions".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("https://api.mistral.ai")
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::AtOnce
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let sides = self.prompts.sides(request);
        let parameters = &request.parameters;
        RequestBody::without_prompt(json!({
                "model": self.name,
                "prompt": sides.prefix,
                "suffix": sides.suffix,
                "max_tokens": parameters.max_tokens,
                "temperature": parameters.temperature,
                // Greedy generation requires a `top_p` of 1.
                "top_p": if parameters.temperature == 0.0 { 1.0 } else { parameters.top_p },
                "random_seed": wanted.seed,
                "stream": wanted.stream,
        }))
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        // The response has the format of a chat response, with `message` or `delta`.
        openai_chat::parse(value)
    }
}
