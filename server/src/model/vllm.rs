//! vLLM's `POST /v1/completions`: OpenAI's format with more parameters. The prompt is rendered
//! here, from the family's template, as this server accepts no `suffix`.
//! <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html#completions-api>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions;
use super::prompts::TemplatePrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions of vLLM's server.
#[derive(Debug)]
pub(super) struct Vllm {
    name: String,
    prompts: TemplatePrompts,
}

impl Vllm {
    /// # Errors
    /// [`ModelError::Settings`] if the name or the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: TemplatePrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for Vllm {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        self.prompts.describe()
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/completions".to_owned()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::Together
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let prompt = self.prompts.render(request);
        let json = json!({
                "model": self.name,
                "prompt": prompt.text,
                "max_tokens": request.parameters.max_tokens,
                "temperature": request.parameters.temperature,
                "top_p": request.parameters.top_p,
                // The server's seeds are signed.
                "seed": wanted.seed & (u64::MAX >> 1),
                "n": wanted.count,
                // vLLM accepts any number of stops.
                "stop": prompt.stops,
                "stream": wanted.stream,
                // Otherwise special tokens such as a file's separator are omitted from the text, no
                // stop ever matches, and the model continues with another file.
                "skip_special_tokens": false,
                "spaces_between_special_tokens": false,
                // Otherwise a model's own file of sampling settings silently overrides these.
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
                // Requests the log-probability of each chosen token only.
                "logprobs": 0,
        });
        RequestBody::with_prompt(json, prompt)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        openai_completions::parse(value)
    }
}
