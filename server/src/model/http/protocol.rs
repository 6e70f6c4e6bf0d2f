//! The part of a protocol over HTTP that differs from others.

use std::fmt;

use serde_json::Value;

use super::frames::Framing;
use crate::model::{Finish, ModelRequest, Secret};
use crate::prompt::Prompt;

/// A protocol over HTTP: the address and body of requests, and how responses are parsed. Everything
/// else is common to all protocols: see [`super::HttpModel`].
pub(in crate::model) trait HttpProtocol: Send + Sync + fmt::Debug {
    /// The name under which figures are reported.
    fn name(&self) -> &str;

    /// Describes in one sentence how the prompt is written, and why: see
    /// [`crate::model::Model::describe`].
    fn describe(&self) -> String {
        String::new()
    }

    /// True if the model is a chat model: see [`crate::model::Model::chats`].
    fn chats(&self) -> bool {
        false
    }

    /// The path that is appended to the URL of the settings, `/` first; a query may follow.
    fn path(&self, stream: bool) -> String;

    /// The vendor's address, the default if the settings have none.
    fn default_url(&self) -> Option<&'static str> {
        None
    }

    /// Headers in addition to the content type, including those with the key.
    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    /// Framing of a streamed response.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Way of requesting several candidates.
    fn batching(&self) -> CandidateBatching;

    /// Returns the request for these candidates.
    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody;

    /// Parses one object of a response: an event of a stream, or a whole response, whichever the
    /// server sends. Values without text, such as keep-alive messages, give no pieces. Objects with
    /// an error are never passed.
    fn parse(&self, value: &Value) -> Vec<CandidatePiece>;
}

/// A header's name, in lower case, and its value.
pub(super) type Header = (&'static str, String);

/// Returns the header with a key as OpenAI's servers expect it.
pub(super) fn bearer(key: Option<&Secret>) -> Vec<Header> {
    key.map(|key| ("authorization", format!("Bearer {}", key.expose())))
        .into_iter()
        .collect()
}

/// Way of requesting several candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum CandidateBatching {
    /// One request for all of them.
    Together,
    /// One request each, all concurrently.
    AtOnce,
    /// One request each, one after another, as the server caches the prompt.
    InTurn,
}

/// The candidates of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct CandidateRequest {
    /// Number of candidates; more than 1 only with [`CandidateBatching::Together`].
    pub(in crate::model) count: usize,
    /// Seed of the first.
    pub(in crate::model) seed: u64,
    /// True if they are streamed.
    pub(in crate::model) stream: bool,
}

/// A request, and the stops of its candidates.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct RequestBody {
    /// The request's JSON.
    pub(in crate::model) json: Value,
    /// The prompt in it, for the trace. `None` if the server writes the prompt; then the trace
    /// shows the JSON.
    pub(in crate::model) prompt: Option<String>,
    /// Texts that end a candidate, sent to the server or not.
    pub(in crate::model) stops: Vec<String>,
}

impl RequestBody {
    /// Creates a body with a prompt, whose stops end the candidates.
    pub(in crate::model) fn with_prompt(json: Value, prompt: Prompt) -> Self {
        Self {
            json,
            stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
            prompt: Some(prompt.text),
        }
    }

    /// Creates a body without a prompt, as the server writes it.
    pub(in crate::model) fn without_prompt(json: Value) -> Self {
        Self {
            json,
            prompt: None,
            stops: Vec::new(),
        }
    }
}

/// Addition of one value of a response to one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::model) struct CandidatePiece {
    /// The candidate, numbered from 0 among those of the request.
    pub(in crate::model) candidate: usize,
    /// The text to add.
    pub(in crate::model) text: String,
    /// True if the server sent reasoning separately from the text.
    pub(in crate::model) thought: bool,
    /// Reason for the candidate's end, if it ends here.
    pub(in crate::model) finish: Option<Finish>,
    /// Natural-log probabilities of the tokens of this piece, if the server reports them.
    pub(in crate::model) log_probabilities: Vec<f64>,
}
