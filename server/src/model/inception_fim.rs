//! `POST /v1/fim/completions` of Inception, for Mercury's models for code. The server writes the
//! prompt from prefix and suffix. The API has no seed and returns one candidate per request. The
//! response has the format of `/v1/completions`.
//! <https://docs.inceptionlabs.ai/capabilities/fim>,
//! <https://docs.litellm.ai/docs/providers/inception>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions;
use super::prompts::ServerPrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions at `/v1/fim/completions`.
#[derive(Debug)]
pub(super) struct InceptionFim {
    name: String,
    prompts: ServerPrompts,
}

impl InceptionFim {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing or the family unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: ServerPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for InceptionFim {
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
        Some("https://api.inceptionlabs.ai")
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
                "top_p": parameters.top_p,
                "stream": wanted.stream,
        }))
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        openai_completions::parse(value)
    }
}
