//! Common part of llama.cpp's two own protocols: sampling parameters and the format of a response.
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#post-completion-given-a-prompt-it-returns-the-predicted-completion>

use serde_json::Value;

use super::http::{CandidatePiece, CandidateRequest};
use super::openai_completions::text_of;
use super::{Finish, ModelRequest};

/// Completes a request's body: adds the generation parameters to the texts in `place`.
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
    // Otherwise the server's own defaults would cut the distribution further.
    body["top_k"] = 0.into();
    body["min_p"] = 0.0.into();
    // The server's seeds have 32 bits, and the highest means a random one.
    body["seed"] = (wanted.seed % u64::from(u32::MAX)).into();
    body["stop"] = stops.into();
    body["cache_prompt"] = true.into();
    body["stream"] = wanted.stream.into();
    body
}

/// Parses an event or a whole response. Newer servers send `stop_type`, older ones `stopped_limit`.
/// Keep-alive and progress messages contain no text.
pub(super) fn parse(value: &Value) -> Vec<CandidatePiece> {
    let stop = value["stop"] == true;
    if value.get("content").is_none() && !stop {
        return Vec::new();
    }
    let finish = match value["stop_type"].as_str() {
        Some("limit") => Some(Finish::Length),
        _ if value["stopped_limit"] == true => Some(Finish::Length),
        Some("eos" | "word") => Some(Finish::Stop),
        _ => stop.then_some(Finish::Stop),
    };
    let tokens = value["completion_probabilities"].as_array();
    let tokens = tokens.map_or(&[][..], Vec::as_slice).iter();
    vec![CandidatePiece {
        text: text_of(&value["content"]),
        finish,
        log_probabilities: tokens
            .filter_map(|token| token["logprob"].as_f64())
            .collect(),
        ..CandidatePiece::default()
    }]
}
