//! `POST /generate` and `/generate_stream` of Hugging Face's text-generation-inference. The prompt
//! is rendered here, from the family's template.
//! <https://huggingface.github.io/text-generation-inference/>

use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::openai_completions::{finish, text_of};
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
        // The server rejects a temperature of 0 and a `top_p` of 1; both are its defaults.
        if generation.temperature > 0.0 {
            parameters["temperature"] = generation.temperature.into();
            if generation.top_p < 1.0 {
                parameters["top_p"] = generation.top_p.into();
            }
        }
        let json = json!({ "inputs": prompt.text, "parameters": parameters });
        RequestBody::with_prompt(json, prompt)
    }

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        let finish = finish(&value["details"]["finish_reason"]);
        let token = &value["token"];
        // The last event repeats the whole text in addition to its own token.
        if token.is_object() {
            // The token that ends the text is not part of it; other special tokens are matched by
            // the stops.
            let ends = token["special"] == true && finish.is_some();
            return vec![CandidatePiece {
                text: if ends {
                    String::new()
                } else {
                    text_of(&token["text"])
                },
                finish,
                log_probabilities: token["logprob"].as_f64().into_iter().collect(),
                ..CandidatePiece::default()
            }];
        }
        let Some(text) = value["generated_text"].as_str() else {
            return Vec::new();
        };
        vec![CandidatePiece {
            text: text.to_owned(),
            finish: finish.or(Some(super::Finish::Stop)),
            ..CandidatePiece::default()
        }]
    }
}
