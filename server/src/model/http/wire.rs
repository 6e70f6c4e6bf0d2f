//! What tells one protocol over HTTP from another.

use std::fmt;

use serde_json::Value;

use super::frames::Framing;
use crate::model::{Finish, Request, Secret};

/// A protocol over HTTP: what is sent where, and how what comes back is read. Everything else is
/// the same for all of them: see [`super::Remote`].
pub(in crate::model) trait Wire: Send + Sync + fmt::Debug {
    /// The name figures are reported under.
    fn name(&self) -> &str;

    /// One sentence on how the prompt is written, and why so: see [`crate::model::Model::about`].
    fn about(&self) -> String {
        String::new()
    }

    /// Whether the model is asked as a chat is: see [`crate::model::Model::chats`].
    fn chats(&self) -> bool {
        false
    }

    /// What is laid on the settings' url, `/` first; a query may follow.
    fn path(&self, stream: bool) -> String;

    /// The address where the settings have none, for vendors that have one.
    fn default_url(&self) -> Option<&'static str> {
        None
    }

    /// Headers beside the content's type, those that hold the key among them.
    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    /// How a streamed answer is parted.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// How several candidates are had.
    fn several(&self) -> Several;

    /// What asks for these candidates at this place.
    fn body(&self, request: &Request, draw: &Draw) -> Body;

    /// The pieces that one value of an answer holds: an event of a stream, or a whole answer,
    /// whichever comes. Values that hold none, such as signs of life, give none. Objects with a
    /// member `error` never come here.
    ///
    /// # Errors
    /// The value is not of the documented form: what is wrong with it.
    fn read(&self, value: &Value) -> Result<Vec<Piece>, String>;
}

/// A header's name, in small letters, and its value.
pub(super) type Header = (&'static str, String);

/// The header that holds a key as OpenAI's servers take it.
pub(super) fn bearer(key: Option<&Secret>) -> Vec<Header> {
    key.map(|key| ("authorization", format!("Bearer {}", key.expose())))
        .into_iter()
        .collect()
}

/// How a protocol gives several candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Several {
    /// A request may ask for any number.
    Together,
    /// A request for each, all at once.
    AtOnce,
    /// A request for each, one after another, as the server keeps the prompt in its cache.
    InTurn,
}

/// Which candidates one request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Draw {
    /// How many; more than 1 only with [`Several::Together`].
    pub(in crate::model) count: usize,
    /// The seed of the first.
    pub(in crate::model) seed: u64,
    /// Whether they are to be streamed.
    pub(in crate::model) stream: bool,
}

/// What is sent, and what ends a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct Body {
    /// The request's JSON.
    pub(in crate::model) json: Value,
    /// The prompt in it, for the trace, where the server gets one as it is; else the trace shows
    /// the JSON.
    pub(in crate::model) prompt: Option<String>,
    /// What ends a candidate, whether or not the server knows of it.
    pub(in crate::model) stops: Vec<String>,
}

/// What one value of an answer adds to one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::model) struct Piece {
    /// The candidate, from 0, among those that the request asked for.
    pub(in crate::model) candidate: usize,
    /// The text to add.
    pub(in crate::model) text: String,
    /// Why the candidate ends here, where it does.
    pub(in crate::model) finish: Option<Finish>,
    /// Natural-log probabilities of the tokens of this piece, where the server tells them.
    pub(in crate::model) log_probabilities: Vec<f64>,
}
