//! `POST /v1/completions`, as OpenAI defined it and vLLM, llama.cpp, Ollama and others speak it.
//! The prompt is written here, from the family's template.
//! <https://platform.openai.com/docs/api-reference/completions>

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Endpoint, cut_at_stop};
use super::{Answer, Candidate, Finish, Listener, Model, ModelError, Request, Secret, Settings};
use crate::prompt::{self, Family, Place};

/// A model behind `/v1/completions`.
#[derive(Debug)]
pub(super) struct OpenAiCompletions {
    endpoint: Endpoint,
    name: String,
    family: &'static Family,
    context_tokens: usize,
}

#[derive(Deserialize)]
struct Completions {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    text: String,
    #[serde(default)]
    finish_reason: Option<String>,
}

impl OpenAiCompletions {
    /// # Errors
    /// [`ModelError::Settings`] if the url, the name or the family is missing or unknown.
    pub(super) fn new(settings: &Settings, key: Option<Secret>) -> Result<Self, ModelError> {
        let endpoint = Endpoint::new(settings, key, "/v1/completions")?;
        let Some(name) = settings.name.clone() else {
            return Err(ModelError::Settings(
                "model: the protocol \"openai-completions\" needs the setting name, the model's \
                 name as its server knows it."
                    .to_owned(),
            ));
        };
        let family = match &settings.family {
            Some(family) => settings.known_family(family)?,
            None => {
                Family::detect(&name)
                    .ok_or_else(|| {
                        ModelError::Settings(format!("model: {}", Family::unknown(&name)))
                    })?
                    .family
            }
        };
        Ok(Self {
            endpoint,
            name,
            family,
            context_tokens: settings.context_tokens,
        })
    }

    /// The body that asks for `count` candidates.
    fn body(&self, request: &Request, prompt: &prompt::Prompt, count: usize, seed: u64) -> Value {
        json!({
            "model": self.name,
            "prompt": prompt.text,
            "max_tokens": request.parameters.max_tokens,
            "temperature": request.parameters.temperature,
            "top_p": request.parameters.top_p,
            "seed": seed,
            "n": count,
            "stop": prompt.wire_stops(),
            "stream": false,
        })
    }

    /// The candidates of an answer.
    fn candidates(&self, answer: Value, stops: &[&str]) -> Result<Vec<Candidate>, ModelError> {
        let answer: Completions = serde_json::from_value(answer)
            .map_err(|error| self.endpoint.malformed(&error.to_string()))?;
        if answer.choices.is_empty() {
            return Err(self.endpoint.malformed("it has no choices"));
        }
        Ok(answer
            .choices
            .into_iter()
            .map(|choice| {
                let (text, stopped) = cut_at_stop(&choice.text, stops);
                Candidate {
                    text: text.to_owned(),
                    finish: match choice.finish_reason.as_deref() {
                        Some("length") if !stopped => Finish::Length,
                        _ => Finish::Stop,
                    },
                    mean_log_probability: None,
                }
            })
            .collect())
    }
}

#[async_trait]
impl Model for OpenAiCompletions {
    fn name(&self) -> &str {
        &self.name
    }

    /// Asks for all candidates at once, and again with the next seed while the server gives
    /// fewer. At temperature 0 one candidate is asked for: all would be the same, and vLLM
    /// rejects more.
    async fn complete(
        &self,
        request: &Request,
        _listener: &dyn Listener,
    ) -> Result<Answer, ModelError> {
        let place = Place {
            repository: &request.repository,
            path: &request.path,
            line_comment: request
                .language
                .map_or("#", |language| language.line_comment),
            prefix: &request.prefix,
            suffix: &request.suffix,
            windows: &request.windows,
        };
        let prompt = prompt::render(self.family, &place, self.context_tokens);
        let timeout = request.parameters.timeout;
        let wanted = super::distinct_candidates(&request.parameters);
        let all = async {
            let mut candidates = Vec::new();
            while candidates.len() < wanted {
                let seed = request
                    .parameters
                    .seed
                    .wrapping_add(candidates.len() as u64);
                let body = self.body(request, &prompt, wanted - candidates.len(), seed);
                let answer = self.endpoint.exchange(&body, timeout).await?;
                candidates.extend(self.candidates(answer, &prompt.stops)?);
            }
            candidates.truncate(wanted);
            Ok(candidates)
        };
        let candidates = tokio::time::timeout(timeout, all)
            .await
            .map_err(|_| ModelError::Timeout(timeout))??;
        Ok(Answer {
            candidates,
            prompt: prompt.text,
        })
    }
}
