//! What a request came to, and how.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gate::GateSignals;
use super::reading::PromptBudget;
use super::trial::TrialAssignment;
use crate::cleanup::Decision;
#[cfg(doc)]
use crate::configuration::Configuration;
use crate::context::Window;

/// What one request came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completion {
    /// Candidates after clean-up, best first; none is empty, and each is unique.
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
    /// The name it has in the configuration: see [`crate::configuration::DEFAULT`].
    #[serde(default)]
    pub named: String,
    /// Who was asked, where there is a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialAssignment>,
    /// How the model is asked, and why so: its family and what told it.
    #[serde(default)]
    pub about: String,
    /// Whether the model was asked for it, or an earlier answer still held.
    #[serde(default)]
    pub source: CompletionOrigin,
    /// The windows of other files that the model was given, best first.
    pub windows: Vec<Window>,
    /// The completion of a first round, where one was made to find the windows with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round: Option<String>,
    /// The bound of the prompt, if the model can't read all that the settings allow in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<PromptBudget>,
    /// What was sent to the model.
    pub prompt: String,
    /// Each candidate as the model gave it, and what clean-up removed.
    pub steps: Vec<CandidateStep>,
    /// Why there is nothing to show, where there is nothing.
    pub nothing: Option<String>,
    /// What kept the model from answering, where something did: a fault of the machinery, which
    /// says nothing of the model's skill.
    pub fault: Option<String>,
    /// With a fault of the model's, what the person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Notice to the person on how the model was asked, said once. It is no part of a record.
    #[serde(skip)]
    pub notice: Option<String>,
    /// With the fault that the model's server has too much to do: for how many milliseconds it asks
    /// to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<f64>,
    /// What a gate weighs, for a completion that typing triggered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<GateSignals>,
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
    /// In a trial by pairs, how the answer of the pair's second model came about; the rest is the
    /// first one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Trace>>,
}

impl Trace {
    /// Why there is nothing to show, where there is nothing, in words that the person may see.
    pub fn why_nothing(&self) -> Option<String> {
        match &self.fault {
            Some(_) if self.is_blind() => Some(BLIND_FAULT.to_owned()),
            Some(fault) => Some(fault.clone()),
            None => self.nothing.clone(),
        }
    }

    /// Whether it is of a blind trial.
    pub fn is_blind(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.blind)
    }

    /// What the person may see of it: in a blind trial nothing that tells the model.
    #[must_use]
    pub fn as_shown(self) -> Self {
        if !self.is_blind() {
            return self;
        }
        Self {
            source: self.source,
            windows: self.windows,
            nothing: self.nothing,
            fault: self.fault.map(|_| BLIND_FAULT.to_owned()),
            wait_ms: self.wait_ms,
            context_ms: self.context_ms,
            ..Self::default()
        }
    }
}

/// What is said of a fault in a blind trial, as its own words would tell the model.
const BLIND_FAULT: &str =
    "a model of the blind trial did not answer; end the trial to see which, and why";

/// Where a completion came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionOrigin {
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
pub struct CandidateStep {
    /// As the model gave it.
    pub raw: String,
    /// What the rules removed, in order.
    pub decisions: Vec<Decision>,
    /// Mean natural-log probability per token of all that the model gave, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_probability: Option<f64>,
}

/// A duration in milliseconds.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
