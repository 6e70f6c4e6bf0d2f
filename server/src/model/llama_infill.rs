//! `POST /infill` of llama.cpp's server, which writes the prompt from the model's own tokens.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-infill-for-code-infilling>

use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::{ModelError, Request, Settings, llama};
use crate::prompt::{self, Family};

/// Completions at `/infill`.
#[derive(Debug)]
pub(super) struct LlamaInfill {
    name: String,
    family: Option<&'static Family>,
    reserved: Vec<&'static str>,
    context_tokens: usize,
}

impl LlamaInfill {
    /// # Errors
    /// [`ModelError::Settings`] if the family is unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("llama-infill"),
            // The server knows its model's tokens, so a name that tells nothing is no fault.
            family: settings.family_if_known()?.map(|chosen| chosen.family),
            reserved: settings.reserved()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for LlamaInfill {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        "the server writes the prompt from the model's own tokens".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/infill".to_owned()
    }

    fn several(&self) -> Several {
        Several::InTurn
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let parts = prompt::parts(&request.place(), &self.reserved, self.context_tokens);
        let stops = self.family.map_or(&[][..], |family| family.stops);
        let on_the_wire = &stops[..stops.len().min(prompt::STOPS_ON_THE_WIRE)];
        let windows = parts
            .windows
            .iter()
            .map(|(path, text)| json!({ "filename": path, "text": text }));
        let place = json!({
            "input_prefix": parts.prefix,
            "input_suffix": parts.suffix,
            "input_extra": windows.collect::<Value>(),
        });
        Body {
            json: llama::body(place, request, draw, on_the_wire),
            prompt: None,
            stops: stops.iter().map(|&stop| stop.to_owned()).collect(),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        llama::read(value)
    }
}
