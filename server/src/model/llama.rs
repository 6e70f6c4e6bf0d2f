//! What the two protocols of llama.cpp's own have in common: settings of the sampling and the
//! form of a response.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-completion-given-a-prompt-it-returns-the-predicted-completion>

use serde::Deserialize;
use serde_json::Value;

use super::http::{CandidatePiece, CandidateRequest};
use super::{Finish, ModelRequest};

/// A request's body: what tells the place, and how to generate.
pub(super) fn body(
    place: Value,
    request: &ModelRequest,
    wanted: &CandidateRequest,
    stops: &[&str],
) -> Value {
    let mut body = place;
    body["n_predict"] = request.parameters.max_tokens.into();
    body["temperature"] = request.parameters.temperature.into();
    body["top_p"] = request.parameters.top_p.into();
    // Else the server's own defaults would cut the distribution further.
    body["top_k"] = 0.into();
    body["min_p"] = 0.0.into();
    // The server's seeds have 32 bits, and the highest asks for a random one.
    body["seed"] = (wanted.seed % u64::from(u32::MAX)).into();
    body["stop"] = stops.into();
    body["cache_prompt"] = true.into();
    body["stream"] = wanted.stream.into();
    body
}

/// The part of an event or a whole response that matters. Newer servers say `stop_type`, older
/// `stopped_limit`.
#[derive(Deserialize)]
struct Completion {
    content: String,
    #[serde(default)]
    stop: bool,
    stop_type: Option<String>,
    #[serde(default)]
    stopped_limit: bool,
    #[serde(default)]
    completion_probabilities: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    logprob: Option<f64>,
}

/// The piece of an event or of a whole response.
pub(super) fn parse(value: &Value) -> Result<Vec<CandidatePiece>, String> {
    // Only how far the server is with the prompt.
    if value.get("prompt_progress").is_some() && value.get("content").is_none() {
        return Ok(Vec::new());
    }
    let completion = Completion::deserialize(value).map_err(|error| error.to_string())?;
    let finish = match completion.stop_type.as_deref() {
        Some("limit") => Some(Finish::Length),
        _ if completion.stopped_limit => Some(Finish::Length),
        Some("eos" | "word") => Some(Finish::Stop),
        _ => completion.stop.then_some(Finish::Stop),
    };
    Ok(vec![CandidatePiece {
        candidate: 0,
        text: completion.content,
        finish,
        log_probabilities: completion
            .completion_probabilities
            .iter()
            .filter_map(|token| token.logprob)
            .collect(),
    }])
}
