//! Providers' requests for fill-in-the-middle, in which the server writes the prompt from prefix and
//! suffix and returns one candidate:
//!
//! - Mistral's `POST /v1/fim/completions`, for Codestral:
//!   <https://docs.mistral.ai/api/endpoint/fim>
//! - DeepSeek's `POST /beta/completions`, without a seed:
//!   <https://api-docs.deepseek.com/api/create-completion>
//! - Inception's `POST /v1/fim/completions`, for Mercury's models for code, without a seed:
//!   <https://docs.inceptionlabs.ai/capabilities/fim>,
//!   <https://docs.litellm.ai/docs/providers/inception>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::prompts::ServerPrompts;
use super::{ModelError, ModelRequest, ModelSettings};
use super::{openai_chat, openai_completions};

/// Maximum of DeepSeek's `max_tokens`. <https://api-docs.deepseek.com/guides/fim_completion>
const MOST_TOKENS_OF_DEEPSEEK: u32 = 4096;

/// Provider of fill-in-the-middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FimProvider {
    Mistral,
    Deepseek,
    Inception,
}

/// Completions of a provider.
#[derive(Debug)]
pub(super) struct FimApi {
    provider: FimProvider,
    name: String,
    prompts: ServerPrompts,
}

impl FimApi {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing or the family unknown.
    pub(super) fn new(provider: FimProvider, settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            provider,
            name: settings.required_name()?.to_owned(),
            prompts: ServerPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for FimApi {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        "the server writes the prompt, because the protocol requires it".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        let path = match self.provider {
            FimProvider::Mistral | FimProvider::Inception => "/v1/fim/completions",
            FimProvider::Deepseek => "/beta/completions",
        };
        path.to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some(match self.provider {
            FimProvider::Mistral => "https://api.mistral.ai",
            FimProvider::Deepseek => "https://api.deepseek.com",
            FimProvider::Inception => "https://api.inceptionlabs.ai",
        })
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::AtOnce
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let sides = self.prompts.sides(request);
        let parameters = &request.parameters;
        let mut body = json!({
            "model": self.name,
            "prompt": sides.prefix,
            "suffix": sides.suffix,
            "max_tokens": parameters.max_tokens,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
        });
        match self.provider {
            FimProvider::Mistral => {
                body["random_seed"] = json!(wanted.seed);
                // Greedy generation requires a `top_p` of 1.
                if parameters.temperature == 0.0 {
                    body["top_p"] = json!(1.0);
                }
            }
            FimProvider::Deepseek => {
                body["max_tokens"] = json!(parameters.max_tokens.min(MOST_TOKENS_OF_DEEPSEEK));
            }
            FimProvider::Inception => {}
        }
        body["stream"] = json!(wanted.stream);
        RequestBody::without_prompt(body)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        match self.provider {
            // The response has the format of a chat response, with `message` or `delta`.
            FimProvider::Mistral => openai_chat::parse(value),
            FimProvider::Deepseek | FimProvider::Inception => openai_completions::parse(value),
        }
    }
}
