//! `POST /generate` and `/generate_stream` of Hugging Face's text-generation-inference. The
//! prompt is written here, from the family's template.
//! <https://huggingface.github.io/text-generation-inference/>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Body, Draw, Piece, Several, Wire};
use super::openai_completions::finish;
use super::settings::Chosen;
use super::{ModelError, Request, Settings};
use crate::prompt;

/// Completions at `/generate`.
#[derive(Debug)]
pub(super) struct Tgi {
    name: String,
    template: Chosen,
    context_tokens: usize,
}

impl Tgi {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &Settings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("tgi"),
            template: settings.template()?,
            context_tokens: settings.context_tokens,
        })
    }
}

impl Wire for Tgi {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        self.template.about()
    }

    fn path(&self, stream: bool) -> String {
        if stream {
            "/generate_stream".to_owned()
        } else {
            "/generate".to_owned()
        }
    }

    fn several(&self) -> Several {
        Several::AtOnce
    }

    fn body(&self, request: &Request, draw: &Draw) -> Body {
        let prompt = prompt::render(self.template.family, &request.place(), self.context_tokens);
        let asked = &request.parameters;
        let mut parameters = json!({
            "max_new_tokens": asked.max_tokens,
            "do_sample": asked.temperature > 0.0,
            "seed": draw.seed,
            "stop": prompt.wire_stops(),
            "return_full_text": false,
            "details": true,
        });
        // A temperature of 0 and a whole nucleus are refused: leaving them out means them.
        if asked.temperature > 0.0 {
            parameters["temperature"] = asked.temperature.into();
            if asked.top_p < 1.0 {
                parameters["top_p"] = asked.top_p.into();
            }
        }
        Body {
            json: json!({ "inputs": prompt.text, "parameters": parameters }),
            stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
            prompt: Some(prompt.text),
        }
    }

    fn read(&self, value: &Value) -> Result<Vec<Piece>, String> {
        let generated = Generated::deserialize(value).map_err(|error| error.to_string())?;
        let reason = generated.details.map(|details| details.finish_reason);
        let finish = reason.as_deref().map(finish);
        let piece = match (generated.token, generated.generated_text) {
            // The last event repeats the whole text beside its own token.
            (Some(token), _) => Piece {
                // The token that ends the text is no part of it; other special ones are for the
                // stops to find.
                text: if token.special && finish.is_some() {
                    String::new()
                } else {
                    token.text
                },
                finish,
                log_probabilities: token.logprob.into_iter().collect(),
                ..Piece::default()
            },
            (None, Some(text)) => Piece {
                text,
                finish: finish.or(Some(super::Finish::Stop)),
                ..Piece::default()
            },
            (None, None) => return Err("it has neither token nor generated_text".to_owned()),
        };
        Ok(vec![piece])
    }
}

/// An event of a stream, with `token`, or a whole answer.
#[derive(Deserialize)]
struct Generated {
    token: Option<Token>,
    generated_text: Option<String>,
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Token {
    text: String,
    logprob: Option<f64>,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Details {
    finish_reason: String,
}
