//! `POST /v1/completions`, as OpenAI defined it and llama.cpp, Ollama and others speak it.
//! <https://platform.openai.com/docs/api-reference/completions>
//!
//! The prompt is rendered here, from the family's template; or, with `infill = "suffix"`, the
//! server writes it from the fields `prompt` and `suffix`.

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

    fn parse(&self, value: &Value) -> Vec<CandidatePiece> {
        parse(value)
    }
}

/// Parses a value in the format of `/v1/completions`: an event of a stream, or a whole response.
pub(super) fn parse(value: &Value) -> Vec<CandidatePiece> {
    parse_choices(value, |choice| (text_of(&choice["text"]), false))
}

/// Parses the `choices` of a value. `read` returns the text of one, and true if it also contains
/// reasoning. Servers and gateways send empty values, with `choices` missing, null or empty, and
/// empty members of a choice: these add nothing.
pub(super) fn parse_choices(
    value: &Value,
    read: impl Fn(&Value) -> (String, bool),
) -> Vec<CandidatePiece> {
    let choices = value["choices"].as_array().map_or(&[][..], Vec::as_slice);
    let choices = choices.iter().filter(|choice| choice.is_object());
    let pieces = choices.enumerate().map(|(place, choice)| {
        let (text, thought) = read(choice);
        // Missing if the server identifies candidates by their place in the list.
        let index = choice["index"].as_u64();
        CandidatePiece {
            candidate: index
                .and_then(|index| usize::try_from(index).ok())
                .unwrap_or(place),
            text,
            thought,
            finish: finish(&choice["finish_reason"]),
            log_probabilities: log_probabilities(&choice["logprobs"]),
        }
    });
    pieces.collect()
}

/// Returns a text, or the texts of a list of parts. Parts with reasoning have no `text`.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()))
            .collect(),
        _ => String::new(),
    }
}

/// Returns the natural-log probabilities of a piece's tokens, without unknown ones. OpenAI's format
/// has a list of numbers. The format of its chat protocol, which llama.cpp's server also uses for
/// completions, has a list of objects.
fn log_probabilities(value: &Value) -> Vec<f64> {
    let list = |name: &str| value[name].as_array().map_or(&[][..], Vec::as_slice);
    let numbers = list("token_logprobs").iter().filter_map(Value::as_f64);
    let tokens = list("content").iter();
    let tokens = tokens.filter_map(|token| token["logprob"].as_f64());
    numbers.chain(tokens).collect()
}

/// Parses a `finish_reason`. Some servers send an empty one, or the text `null`, with every piece
/// but the last.
pub(super) fn finish(reason: &Value) -> Option<Finish> {
    match reason.as_str()?.trim() {
        "" | "null" | "none" | "None" => None,
        // Broken off for other reasons, a text is as unfinished: Mistral has `model_length` and
        // `error`, DeepSeek `insufficient_system_resource`, and OpenAI `content_filter`.
        "length"
        | "max_tokens"
        | "MAX_TOKENS"
        | "model_length"
        | "error"
        | "insufficient_system_resource"
        | "content_filter" => Some(Finish::Length),
        _ => Some(Finish::Stop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As the pages of the providers list them.
    #[test]
    fn texts_that_were_broken_off_are_unfinished() {
        for (reason, expected) in [
            ("stop", Some(Finish::Stop)),
            ("eos_token", Some(Finish::Stop)),
            ("length", Some(Finish::Length)),
            ("model_length", Some(Finish::Length)),
            ("insufficient_system_resource", Some(Finish::Length)),
            ("content_filter", Some(Finish::Length)),
            ("", None),
        ] {
            assert_eq!(finish(&reason.into()), expected, "{reason}");
        }
    }
}
