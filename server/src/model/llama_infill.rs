//! `POST /infill` of llama.cpp's server, which writes the prompt from the model's own tokens.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-infill-for-code-infilling>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::prompts::ServerPrompts;
use super::{ModelError, ModelRequest, ModelSettings, llama};
use crate::prompt::{self, Family};

/// Completions at `/infill`.
#[derive(Debug)]
pub(super) struct LlamaInfill {
    name: String,
    family: Option<&'static Family>,
    prompts: ServerPrompts,
}

impl LlamaInfill {
    /// # Errors
    /// [`ModelError::Settings`] if the family is unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("llama-infill"),
            // The server knows its model's tokens, so the family may stay unknown.
            family: settings.family_if_known()?.map(|chosen| chosen.family),
            prompts: ServerPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for LlamaInfill {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        "the server writes the prompt from the model's own tokens".to_owned()
    }

    fn path(&self, _stream: bool) -> String {
        "/infill".to_owned()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::InTurn
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let parts = self.prompts.parts(request);
        let stops = self.family.map_or(&[][..], |family| family.stops);
        let on_the_wire = &stops[..stops.len().min(prompt::STOPS_ON_THE_WIRE)];
        let windows = parts
            .windows
            .iter()
            .map(|(path, text)| json!({ "filename": path, "text": text }));
        let fields = json!({
            "input_prefix": parts.prefix,
            "input_suffix": parts.suffix,
            "input_extra": windows.collect::<Value>(),
        });
        RequestBody {
            json: llama::body(fields, request, wanted, on_the_wire),
            prompt: None,
            stops: stops.iter().map(|&stop| stop.to_owned()).collect(),
        }
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        llama::parse(value)
    }
}
