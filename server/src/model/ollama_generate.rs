//! `POST /api/generate` of Ollama. The prompt is rendered here, from the family's template, and
//! sent `raw`; or, with `infill = "suffix"`, Ollama renders it from the model's own template.
//! <https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-completion>

use serde_json::{Value, json};

use super::http::{
    CandidateBatching, CandidatePiece, CandidateRequest, Framing, HttpProtocol, RequestBody,
};
use super::openai_completions::{finish, text_of};
use super::prompts::ChosenPrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions at `/api/generate`.
#[derive(Debug)]
pub(super) struct OllamaGenerate {
    name: String,
    prompts: ChosenPrompts,
    context_tokens: usize,
}

impl OllamaGenerate {
    /// # Errors
    /// [`ModelError::Settings`] if the name or the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: ChosenPrompts::new(settings)?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl HttpProtocol for OllamaGenerate {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        self.prompts.describe()
    }

    fn path(&self, _stream: bool) -> String {
        "/api/generate".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        // <https://github.com/ollama/ollama/blob/main/docs/faq.md>
        Some("http://127.0.0.1:11434")
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::InTurn
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let parameters = &request.parameters;
        let options = |stops: &[&str]| {
            json!({
                "num_predict": parameters.max_tokens,
                "temperature": parameters.temperature,
                "top_p": parameters.top_p,
                "seed": wanted.seed,
                // The prompt must not lose its beginning, which holds the template's first token.
                "num_ctx": self.context_tokens + parameters.max_tokens as usize + ROOM,
                "stop": stops,
            })
        };
        match &self.prompts {
            ChosenPrompts::Template(prompts) => {
                let prompt = prompts.render(request);
                let json = json!({
                    "model": self.name,
                    "prompt": prompt.text,
                    "raw": true,
                    "stream": wanted.stream,
                    "options": options(prompt.wire_stops()),
                });
                RequestBody::with_prompt(json, prompt)
            }
            ChosenPrompts::Server(prompts) => {
                let sides = prompts.sides(request);
                RequestBody::without_prompt(json!({
                    "model": self.name,
                    "prompt": sides.prefix,
                    "suffix": sides.suffix,
                    "stream": wanted.stream,
                    "options": options(&[]),
                }))
            }
        }
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        let thought = value["thinking"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        let done = value["done"] == true;
        if value.get("response").is_none() && !thought && !done {
            return Vec::new();
        }
        vec![CandidatePiece {
            text: text_of(&value["response"]),
            thought,
            finish: done.then(|| finish(&value["done_reason"]).unwrap_or(super::Finish::Stop)),
            ..CandidatePiece::default()
        }]
    }
}

/// Additional context tokens, as the prompt's count is only approximate.
const ROOM: usize = 512;
