//! `POST /completion` of llama.cpp's server. The prompt is rendered here, from the family's
//! template.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-completion-given-a-prompt-it-returns-the-predicted-completion>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::prompts::TemplatePrompts;
use super::{ModelError, ModelRequest, ModelSettings, llama};

/// Completions at `/completion`.
#[derive(Debug)]
pub(super) struct LlamaCompletion {
    name: String,
    prompts: TemplatePrompts,
}

impl LlamaCompletion {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("llama-completion"),
            prompts: TemplatePrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for LlamaCompletion {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        self.prompts.describe()
    }

    fn path(&self, _stream: bool) -> String {
        "/completion".to_owned()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::InTurn
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let prompt = self.prompts.render(request);
        let fields = json!({ "prompt": prompt.text });
        let json = llama::body(fields, request, wanted, prompt.wire_stops());
        RequestBody::with_prompt(json, prompt)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        llama::parse(value)
    }
}
