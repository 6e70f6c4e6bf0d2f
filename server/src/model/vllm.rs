//! vLLM's `POST /v1/completions`: OpenAI's form with more to say. The prompt is written here, from
//! the family's template, as this server takes no `suffix`.
//! <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html#completions-api>

use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::openai_completions;
use super::settings::Chosen;
use super::{ModelError, Request, Settings};
use crate::prompt;

/// Completions of vLLM's server.
#[derive(Debug)]
pub(super) struct Vllm {
    name: String,
    template: Chosen,
    context_tokens: usize,
}

impl Vllm {
    /// # Errors
    /// [`ModelError::Settings`] if the name or the family is missing or unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            template: settings.template()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for Vllm {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        self.template.about()
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/completions".to_owned()
    }

    fn several(&self) -> Several {
        Several::Together
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let prompt = prompt::render(self.template.family, &request.place(), self.context_tokens);
        Body {
            json: json!({
                "model": self.name,
                "prompt": prompt.text,
                "max_tokens": request.parameters.max_tokens,
                "temperature": request.parameters.temperature,
                "top_p": request.parameters.top_p,
                // The server's seeds are signed.
                "seed": draw.seed & (u64::MAX >> 1),
                "n": draw.count,
                // It takes any number.
                "stop": prompt.stops,
                "stream": draw.stream,
                // Else tokens such as a file's separator are left out of the text, a stop never
                // shows, and the model writes on into another file.
                "skip_special_tokens": false,
                "spaces_between_special_tokens": false,
                // Else a model's own file of sampling settings would change them in silence.
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
                // The log-probability of each token that was chosen, and of no other.
                "logprobs": 0,
            }),
            stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
            prompt: Some(prompt.text),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        openai_completions::read(value)
    }
}
