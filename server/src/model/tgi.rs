//! `POST /generate` and `/generate_stream` of Hugging Face's text-generation-inference. The
//! prompt is written here, from the family's template.
//! <https://huggingface.github.io/text-generation-inference/>

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions::finish;
use super::prompts::TemplatePrompts;
use super::{ModelError, ModelRequest, ModelSettings};

/// Completions at `/generate`.
#[derive(Debug)]
pub(super) struct Tgi {
    name: String,
    prompts: TemplatePrompts,
}

impl Tgi {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.name_or("tgi"),
            prompts: TemplatePrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for Tgi {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        self.prompts.describe()
    }

    fn path(&self, stream: bool) -> String {
        if stream {
            "/generate_stream".to_owned()
        } else {
            "/generate".to_owned()
        }
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::AtOnce
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        let prompt = self.prompts.render(request);
        let generation = &request.parameters;
        let mut parameters = json!({
            "max_new_tokens": generation.max_tokens,
            "do_sample": generation.temperature > 0.0,
            "seed": wanted.seed,
            "stop": prompt.wire_stops(),
            "return_full_text": false,
            "details": true,
        });
        // A temperature of 0 and a whole nucleus are refused: leaving them out means them.
        if generation.temperature > 0.0 {
            parameters["temperature"] = generation.temperature.into();
            if generation.top_p < 1.0 {
                parameters["top_p"] = generation.top_p.into();
            }
        }
        let json = json!({ "inputs": prompt.text, "parameters": parameters });
        RequestBody::with_prompt(json, prompt)
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        let generated = Generated::deserialize(value).map_err(|error| error.to_string())?;
        let reason = generated.details.map(|details| details.finish_reason);
        let finish = reason.as_deref().map(finish);
        let piece = match (generated.token, generated.generated_text) {
            // The last event repeats the whole text beside its own token.
            (Some(token), _) => CandidatePiece {
                // The token that ends the text is no part of it; other special ones are for the
                // stops to find.
                text: if token.special && finish.is_some() {
                    String::new()
                } else {
                    token.text
                },
                finish,
                log_probabilities: token.logprob.into_iter().collect(),
                ..CandidatePiece::default()
            },
            (None, Some(text)) => CandidatePiece {
                text,
                finish: finish.or(Some(super::Finish::Stop)),
                ..CandidatePiece::default()
            },
            (None, None) => return Err("it has neither token nor generated_text".to_owned()),
        };
        Ok(vec![piece])
    }
}

/// An event of a stream, with `token`, or a whole response.
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
