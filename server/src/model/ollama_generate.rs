//! `POST /api/generate` of Ollama. The prompt is written here, from the family's template, and
//! sent `raw`; or, with `infill = "suffix"`, Ollama writes it by the model's own template.
//! <https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-completion>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Body, Draw, Framing, Piece, Several, Wire};
use super::openai_completions::finish;
use super::settings::{Chosen, Infill};
use super::{ModelError, Request, Settings};
use crate::prompt;

/// Completions at `/api/generate`.
#[derive(Debug)]
pub(super) struct OllamaGenerate {
    name: String,
    /// The family whose template is written, where one is.
    template: Option<Chosen>,
    reserved: Vec<&'static str>,
    context_tokens: usize,
}

impl OllamaGenerate {
    /// # Errors
    /// [`ModelError::Settings`] if the name or the family is missing or unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            template: match settings.infill {
                Infill::Template => Some(settings.template()?),
                Infill::Suffix => None,
            },
            reserved: settings.reserved()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for OllamaGenerate {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        match &self.template {
            Some(chosen) => chosen.about(),
            None => "the server writes the prompt, because `infill` is \"suffix\"".to_owned(),
        }
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

    fn several(&self) -> Several {
        Several::InTurn
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let place = request.place();
        let parameters = &request.parameters;
        let options = |stops: &[&str]| {
            json!({
                "num_predict": parameters.max_tokens,
                "temperature": parameters.temperature,
                "top_p": parameters.top_p,
                "seed": draw.seed,
                // The prompt must not lose its beginning, which holds the template's first token.
                "num_ctx": self.context_tokens + parameters.max_tokens as usize + ROOM,
                "stop": stops,
            })
        };
        match &self.template {
            Some(chosen) => {
                let prompt = prompt::render(chosen.family, &place, self.context_tokens);
                Body {
                    json: json!({
                        "model": self.name,
                        "prompt": prompt.text,
                        "raw": true,
                        "stream": draw.stream,
                        "options": options(prompt.wire_stops()),
                    }),
                    stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
                    prompt: Some(prompt.text),
                }
            }
            None => {
                let sides = prompt::sides(&place, &self.reserved, self.context_tokens);
                Body {
                    json: json!({
                        "model": self.name,
                        "prompt": sides.prefix,
                        "suffix": sides.suffix,
                        "stream": draw.stream,
                        "options": options(&[]),
                    }),
                    prompt: None,
                    stops: Vec::new(),
                }
            }
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        let piece = Generated::deserialize(value).map_err(|error| error.to_string())?;
        Ok(vec![Piece {
            text: piece.response,
            finish: piece
                .done
                .then(|| finish(piece.done_reason.as_deref().unwrap_or("stop"))),
            ..Piece::default()
        }])
    }
}

/// Tokens beside the prompt's and the answer's: the count of the prompt's is approximate.
const ROOM: usize = 512;

/// A line of a stream, or a whole answer.
#[derive(Deserialize)]
struct Generated {
    response: String,
    done: bool,
    done_reason: Option<String>,
}
