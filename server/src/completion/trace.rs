//! What a request came to, and how.

use serde::{Deserialize, Serialize};

use crate::cleanup::Decision;
#[cfg(doc)]
use crate::configuration::Configuration;
use crate::context::Window;

/// What one request came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completion {
    /// Candidates after clean-up, best first, none of them empty, no two alike.
    pub candidates: Vec<String>,
    /// How they came about.
    pub trace: Trace,
}

/// How a completion came about, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The model's name.
    pub model: String,
    /// Which settings decided it: see [`Configuration::fingerprint`].
    #[serde(default)]
    pub configuration: String,
    /// How the model is asked, and why so: its family and what told it.
    #[serde(default)]
    pub about: String,
    /// Whether the model was asked for it, or an earlier answer still held.
    #[serde(default)]
    pub source: Source,
    /// The windows of other files that the model was given, best first.
    pub windows: Vec<Window>,
    /// The completion of a first round, where one was made to find the windows with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round: Option<String>,
    /// What was sent to the model.
    pub prompt: String,
    /// Each candidate as the model gave it, and what clean-up removed.
    pub steps: Vec<Step>,
    /// Why there is nothing to show, where there is nothing.
    pub nothing: Option<String>,
    /// What kept the model from answering, where something did: a fault of the machinery, which
    /// says nothing of the model's skill.
    pub fault: Option<String>,
    /// Milliseconds spent waiting for the next key.
    #[serde(default)]
    pub wait_ms: f64,
    /// Milliseconds spent finding windows, the first round of two included.
    pub context_ms: f64,
    /// Milliseconds until the model's first text, where it streams.
    #[serde(default)]
    pub first_text_ms: Option<f64>,
    /// Milliseconds the model took.
    pub model_ms: f64,
    /// Milliseconds clean-up took.
    pub cleanup_ms: f64,
}

/// Where a completion came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The model was asked for this request.
    #[default]
    Model,
    /// The same was asked before.
    Cache,
    /// The beginning of an earlier completion was typed.
    TypedThrough,
    /// The model was already writing it for an earlier request, or ahead of this one.
    Running,
}

/// One candidate on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// As the model gave it.
    pub raw: String,
    /// What the rules removed, in order.
    pub decisions: Vec<Decision>,
}
