//! `POST /v1/completions`, as OpenAI defined it and llama.cpp, Ollama and others speak it.
//! <https://platform.openai.com/docs/api-reference/completions>
//!
//! The prompt is written here, from the family's template; or, with `infill = "suffix"`, the
//! server writes it itself from the fields `prompt` and `suffix`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{CandidateBatching, CandidatePiece, CandidateRequest, HttpProtocol, RequestBody};
use super::prompts::ChosenPrompts;
use super::{Finish, ModelError, ModelRequest, ModelSettings};

/// Completions at `/v1/completions`.
#[derive(Debug)]
pub(super) struct OpenAiCompletions {
    name: String,
    prompts: ChosenPrompts,
}

impl OpenAiCompletions {
    /// # Errors
    /// [`ModelError::Settings`] if the name or the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            name: settings.required_name()?.to_owned(),
            prompts: ChosenPrompts::new(settings)?,
        })
    }
}

impl HttpProtocol for OpenAiCompletions {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        self.prompts.describe()
    }

    fn path(&self, _stream: bool) -> String {
        "/v1/completions".to_owned()
    }

    fn batching(&self) -> CandidateBatching {
        CandidateBatching::Together
    }

    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody {
        match &self.prompts {
            ChosenPrompts::Template(prompts) => {
                let prompt = prompts.render(request);
                let json = json!({
                    "model": self.name,
                    "prompt": prompt.text,
                    "max_tokens": request.parameters.max_tokens,
                    "temperature": request.parameters.temperature,
                    "top_p": request.parameters.top_p,
                    "seed": wanted.seed,
                    "n": wanted.count,
                    "stop": prompt.wire_stops(),
                    "stream": wanted.stream,
                });
                RequestBody::with_prompt(json, prompt)
            }
            ChosenPrompts::Server(prompts) => {
                let sides = prompts.sides(request);
                RequestBody::without_prompt(json!({
                    "model": self.name,
                    "prompt": sides.prefix,
                    "suffix": sides.suffix,
                    "max_tokens": request.parameters.max_tokens,
                    "temperature": request.parameters.temperature,
                    "top_p": request.parameters.top_p,
                    "seed": wanted.seed,
                    "n": wanted.count,
                    "stream": wanted.stream,
                }))
            }
        }
    }

    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String> {
        parse(value)
    }
}

/// An event of a stream, or a whole response: both have the same form.
#[derive(Deserialize)]
struct Completions {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    /// Missing where servers take the place in the list for it.
    index: Option<usize>,
    text: String,
    finish_reason: Option<String>,
    logprobs: Option<LogProbabilities>,
}

/// Log-probabilities of a piece's tokens: OpenAI's form has a list of numbers, the form of its
/// chat protocol, which llama.cpp's server gives here as well, a list of objects.
#[derive(Deserialize)]
pub(super) struct LogProbabilities {
    token_logprobs: Option<Vec<Option<f64>>>,
    content: Option<Vec<Token>>,
}

#[derive(Deserialize)]
struct Token {
    logprob: Option<f64>,
}

impl LogProbabilities {
    /// The numbers, those left out that a server does not know.
    pub(super) fn values(&self) -> Vec<f64> {
        let numbers = self.token_logprobs.iter().flatten().copied();
        let tokens = self.content.iter().flatten().map(|token| token.logprob);
        numbers.chain(tokens).flatten().collect()
    }
}

/// The pieces of a value in the form of `/v1/completions`.
pub(super) fn parse(value: &Value) -> Result<Vec<CandidatePiece>, String> {
    let completions = Completions::deserialize(value).map_err(|error| error.to_string())?;
    let pieces = completions.choices.into_iter().enumerate();
    let pieces = pieces.map(|(place, choice)| CandidatePiece {
        candidate: choice.index.unwrap_or(place),
        text: choice.text,
        finish: choice.finish_reason.as_deref().map(finish),
        log_probabilities: choice
            .logprobs
            .map(|logprobs| logprobs.values())
            .unwrap_or_default(),
    });
    Ok(pieces.collect())
}

/// The end that a `finish_reason` tells.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "length" => Finish::Length,
        _ => Finish::Stop,
    }
}
