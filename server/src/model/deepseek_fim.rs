//! `POST /beta/completions` of DeepSeek. The server writes the prompt from what stands before and
//! after the cursor. It takes no seed and gives one candidate a request.
//! <https://api-docs.deepseek.com/api/create-completion>

use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::openai_completions;
use super::{ModelError, Request, Settings};
use crate::prompt;

/// The most tokens it may be asked for. <https://api-docs.deepseek.com/guides/fim_completion>
const MOST_TOKENS: u32 = 4096;

/// Completions at `/beta/completions`.
#[derive(Debug)]
pub(super) struct DeepseekFim {
    name: String,
    reserved: Vec<&'static str>,
    context_tokens: usize,
}

impl DeepseekFim {
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

impl Wire for DeepseekFim {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        "the server writes the prompt, because the protocol has it so".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/beta/completions".to_owned()
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("https://api.deepseek.com")
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
                "max_tokens": parameters.max_tokens.min(MOST_TOKENS),
                "temperature": parameters.temperature,
                "top_p": parameters.top_p,
                "stream": draw.stream,
            }),
            prompt: None,
            stops: Vec::new(),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        openai_completions::read(value)
    }
}
