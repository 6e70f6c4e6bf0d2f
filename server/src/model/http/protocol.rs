//! What differs between protocols over HTTP.

use std::fmt;

use serde_json::Value;

use super::frames::Framing;
use crate::model::{Finish, ModelRequest, Secret};
use crate::prompt::Prompt;

/// A protocol over HTTP: what is sent where, and how responses are parsed. Everything else is the
/// same for all of them: see [`super::HttpModel`].
pub(in crate::model) trait HttpProtocol: Send + Sync + fmt::Debug {
    /// The name figures are reported under.
    fn name(&self) -> &str;

    /// One sentence on how the prompt is written, and why so: see [`crate::model::Model::describe`].
    fn describe(&self) -> String {
        String::new()
    }

    /// Whether the model is a chat model: see [`crate::model::Model::chats`].
    fn chats(&self) -> bool {
        false
    }

    /// The path that is appended to the settings' url, `/` first; a query may follow.
    fn path(&self, stream: bool) -> String;

    /// The vendor's address, which is used if the settings have none.
    fn default_url(&self) -> Option<&'static str> {
        None
    }

    /// Headers beside the content's type, those that hold the key among them.
    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    /// How a streamed response is parted.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// How several candidates are requested.
    fn batching(&self) -> CandidateBatching;

    /// The request for these candidates.
    fn body(&self, request: &ModelRequest, wanted: &CandidateRequest) -> RequestBody;

    /// The pieces that one value of a response holds: an event of a stream, or a whole response,
    /// whichever comes. Values that hold none, such as signs of life, give none. Objects with an
    /// error never come here.
    ///
    /// # Errors
    /// The value is no object: what is wrong with it.
    fn parse(&self, value: &Value) -> Result<Vec<CandidatePiece>, String>;
}

/// A header's name, in small letters, and its value.
pub(super) type Header = (&'static str, String);

/// The header that holds a key as OpenAI's servers take it.
pub(super) fn bearer(key: Option<&Secret>) -> Vec<Header> {
    key.map(|key| ("authorization", format!("Bearer {}", key.expose())))
        .into_iter()
        .collect()
}

/// How several candidates are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum CandidateBatching {
    /// A request may ask for any number.
    Together,
    /// A request for each, all at once.
    AtOnce,
    /// A request for each, one after another, as the server keeps the prompt in its cache.
    InTurn,
}

/// Which candidates one request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct CandidateRequest {
    /// How many; more than 1 only with [`CandidateBatching::Together`].
    pub(in crate::model) count: usize,
    /// The seed of the first.
    pub(in crate::model) seed: u64,
    /// Whether they are to be streamed.
    pub(in crate::model) stream: bool,
}

/// A request, and what ends its candidates.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct RequestBody {
    /// The request's JSON.
    pub(in crate::model) json: Value,
    /// The prompt in it, for the trace; `None` if the server writes it, and the trace shows the JSON.
    pub(in crate::model) prompt: Option<String>,
    /// What ends a candidate, sent to the server or not.
    pub(in crate::model) stops: Vec<String>,
}

impl RequestBody {
    /// A body that holds a prompt, whose stops end the candidates.
    pub(in crate::model) fn with_prompt(json: Value, prompt: Prompt) -> Self {
        Self {
            json,
            stops: prompt.stops.iter().map(|&stop| stop.to_owned()).collect(),
            prompt: Some(prompt.text),
        }
    }

    /// A body without a prompt, as the server writes it.
    pub(in crate::model) fn without_prompt(json: Value) -> Self {
        Self {
            json,
            prompt: None,
            stops: Vec::new(),
        }
    }
}

/// What one value of a response adds to one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::model) struct CandidatePiece {
    /// The candidate, from 0, among those that the request asked for.
    pub(in crate::model) candidate: usize,
    /// The text to add.
    pub(in crate::model) text: String,
    /// True if the server sent thinking apart from the text.
    pub(in crate::model) thought: bool,
    /// Why the candidate ends here, where it does.
    pub(in crate::model) finish: Option<Finish>,
    /// Natural-log probabilities of the tokens of this piece, where the server tells them.
    pub(in crate::model) log_probabilities: Vec<f64>,
}
