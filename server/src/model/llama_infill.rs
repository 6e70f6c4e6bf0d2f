//! `POST /infill` of llama.cpp's server, which writes the prompt from the model's own tokens.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-infill-for-code-infilling>

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Endpoint, cut_at_stop};
use super::{Answer, Candidate, Finish, Listener, Model, ModelError, Request, Secret, Settings};
use crate::prompt::{self, Family};

/// A model behind `/infill`.
#[derive(Debug)]
pub(super) struct LlamaInfill {
    endpoint: Endpoint,
    name: String,
    family: Option<&'static Family>,
    context_tokens: usize,
}

/// The part of the answer that matters. Newer servers say `stop_type`, older `stopped_limit`.
#[derive(Deserialize)]
struct Infill {
    content: String,
    #[serde(default)]
    stop_type: Option<String>,
    #[serde(default)]
    stopped_limit: bool,
}

impl LlamaInfill {
    /// # Errors
    /// [`ModelError::Settings`] if the url is missing or the family is unknown.
    pub(super) fn new(settings: &Settings, key: Option<Secret>) -> Result<Self, ModelError> {
        let family = match (&settings.family, &settings.name) {
            (Some(family), _) => Some(settings.known_family(family)?),
            // The server knows its model's tokens, so a name that tells nothing is no fault.
            (None, Some(name)) => Family::detect(name).map(|detected| detected.family),
            (None, None) => None,
        };
        Ok(Self {
            endpoint: Endpoint::new(settings, key, "/infill")?,
            name: settings
                .name
                .clone()
                .unwrap_or_else(|| "llama-infill".to_owned()),
            family,
            context_tokens: settings.context_tokens,
        })
    }

    fn body(&self, request: &Request, seed: u64) -> Value {
        // The server takes a text's tokens for its own where they are spelt out, so what a person
        // wrote is neutralised: for the known family, else for all of them.
        let families = match self.family {
            Some(family) => std::slice::from_ref(family),
            None => prompt::FAMILIES,
        };
        let reserved: Vec<&str> = families
            .iter()
            .flat_map(|family| family.reserved.iter().copied())
            .collect();
        let parts = prompt::parts(
            &request.prefix,
            &request.suffix,
            &request.windows,
            &reserved,
            self.context_tokens,
        );
        let stops: Vec<_> = self
            .family
            .iter()
            .flat_map(|family| family.stops)
            .take(prompt::STOPS_ON_THE_WIRE)
            .collect();
        json!({
            "input_prefix": parts.prefix,
            "input_suffix": parts.suffix,
            "input_extra": parts
                .windows
                .iter()
                .map(|(path, text)| json!({ "filename": path, "text": text }))
                .collect::<Vec<_>>(),
            "n_predict": request.parameters.max_tokens,
            "temperature": request.parameters.temperature,
            "top_p": request.parameters.top_p,
            "seed": seed,
            "stop": stops,
            "cache_prompt": true,
            "stream": false,
        })
    }

    fn candidate(&self, answer: Value) -> Result<Candidate, ModelError> {
        let answer: Infill = serde_json::from_value(answer)
            .map_err(|error| self.endpoint.malformed(&error.to_string()))?;
        let stops = self.family.map_or(&[][..], |family| family.stops);
        let (text, stopped) = cut_at_stop(&answer.content, stops);
        let limit = answer.stopped_limit || answer.stop_type.as_deref() == Some("limit");
        Ok(Candidate {
            text: text.to_owned(),
            finish: if limit && !stopped {
                Finish::Length
            } else {
                Finish::Stop
            },
            mean_log_probability: None,
        })
    }
}

#[async_trait]
impl Model for LlamaInfill {
    fn name(&self) -> &str {
        &self.name
    }

    /// One call per candidate, with the seeds *s*, *s* + 1, …, one after another, as the server
    /// keeps the prompt in its cache. At temperature 0 one candidate: all would be the same.
    async fn complete(
        &self,
        request: &Request,
        _listener: &dyn Listener,
    ) -> Result<Answer, ModelError> {
        let timeout = request.parameters.timeout;
        let seed = request.parameters.seed;
        let all = async {
            let mut candidates = Vec::new();
            for index in 0..super::distinct_candidates(&request.parameters) {
                let body = self.body(request, seed.wrapping_add(index as u64));
                let answer = self.endpoint.exchange(&body, timeout).await?;
                candidates.push(self.candidate(answer)?);
            }
            Ok(candidates)
        };
        let candidates = tokio::time::timeout(timeout, all)
            .await
            .map_err(|_| ModelError::Timeout(timeout))??;
        Ok(Answer {
            candidates,
            prompt: self.body(request, seed).to_string(),
        })
    }
}
