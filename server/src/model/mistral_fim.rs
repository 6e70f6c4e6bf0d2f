//! `POST /v1/fim/completions` of Mistral, which Codestral is asked by. The server writes the
//! prompt from what stands before and after the cursor.
//! <https://docs.mistral.ai/api/endpoint/fim>

use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::openai_chat;
use super::{ModelError, Request, Settings};
use crate::prompt;

/// Completions at `/v1/fim/completions`.
#[derive(Debug)]
pub(super) struct MistralFim {
    name: String,
    reserved: Vec<&'static str>,
    context_tokens: usize,
}

impl MistralFim {
    /// # Errors
    /// [`ModelError::Settings`] if the name is missing or the family unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            reserved: settings.reserved()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for MistralFim {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        "the server writes the prompt, because the protocol has it so".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/fim/completions".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("https://api.mistral.ai")
    }

    fn several(&self) -> Several {
        Several::AtOnce
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let sides = prompt::sides(&request.place(), &self.reserved, self.context_tokens);
        let parameters = &request.parameters;
        Body {
            json: json!({
                "model": self.name,
                "prompt": sides.prefix,
                "suffix": sides.suffix,
                "max_tokens": parameters.max_tokens,
                "temperature": parameters.temperature,
                // Greedy generation with any other is refused.
                "top_p": if parameters.temperature == 0.0 { 1.0 } else { parameters.top_p },
                "random_seed": draw.seed,
                "stream": draw.stream,
            }),
            prompt: None,
            stops: Vec::new(),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        // The answer has the form of a chat's, with `message` or `delta`.
        openai_chat::read(value)
    }
}
