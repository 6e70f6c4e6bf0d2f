//! `POST /completion` of llama.cpp's server. The prompt is written here, from the family's
//! template.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-completion-given-a-prompt-it-returns-the-predicted-completion>

use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::settings::Chosen;
use super::{ModelError, Request, Settings, llama};
use crate::prompt;

/// Completions at `/completion`.
#[derive(Debug)]
pub(super) struct LlamaCompletion {
    name: String,
    template: Chosen,
    context_tokens: usize,
}

impl LlamaCompletion {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("llama-completion"),
            template: settings.template()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for LlamaCompletion {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        self.template.about()
    }

    fn path(&self, _stream: bool) -> String {
        "/completion".to_owned()
    }

    fn several(&self) -> Several {
        Several::InTurn
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let prompt = prompt::render(self.template.family, &request.place(), self.context_tokens);
        let place = json!({ "prompt": prompt.text });
        Body {
            json: llama::body(place, request, draw, prompt.wire_stops()),
            stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
            prompt: Some(prompt.text),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        llama::read(value)
    }
}
