//! `POST /beta/completions` of DeepSeek. The server writes the prompt from prefix and suffix. The
//! API has no seed and returns one candidate per request.
//! <https://api-docs.deepseek.com/api/create-completion>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions;
use super::prompts::ServerPrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Maximum of `max_tokens`. <https://api-docs.deepseek.com/guides/fim_completion>
const MOST_TOKENS: u32 = 4096;

/// Completions at `/beta/completions`.
#[derive(Debug)]
pub(super) struct DeepseekFim {
    name: String,
    prompts: ServerPrompts,
}

impl DeepseekFim {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing or the family unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: ServerPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for DeepseekFim {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        "the server writes the prompt, because the protocol requires it".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/beta/completions".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("https://api.deepseek.com")
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
                "max_tokens": parameters.max_tokens.min(MOST_TOKENS),
                "temperature": parameters.temperature,
                "top_p": parameters.top_p,
                "stream": wanted.stream,
        }))
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        openai_completions::parse(value)
    }
}
