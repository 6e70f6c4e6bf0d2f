//! The result of a request, with a trace of its steps.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gate::GateSignals;
use super::reading::PromptBudget;
use super::trial::TrialAssignment;
use crate::cleanup::Decision;
#[cfg(doc)]
use crate::configuration::Configuration;
use crate::context::Window;
use crate::model::TokenUsage;

/// Result of one request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completion {
    /// Candidates after clean-up, best first; none is empty, and each is unique.
    pub candidates: Vec<String>,
    /// Trace of its steps.
    pub trace: Trace,
}

/// Trace of a completion, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The model's name.
    pub model: String,
    /// Fingerprint of the settings: see [`Configuration::fingerprint`].
    #[serde(default)]
    pub configuration: String,
    /// The model's name in the configuration: see [`crate::configuration::DEFAULT`].
    #[serde(default)]
    pub named: String,
    /// Models drawn in a trial, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialAssignment>,
    /// Description of the prompt: the model's family, and how it was identified.
    #[serde(default)]
    pub about: String,
    /// Origin of the completion: a model call, or an earlier completion.
    #[serde(default)]
    pub source: CompletionOrigin,
    /// The windows of other files in the prompt, best first.
    pub windows: Vec<Window>,
    /// The completion of a first round, if the profile used one to find windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round: Option<String>,
    /// The limit on the prompt, if the model can't read all that the settings allow in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<PromptBudget>,
    /// The prompt that was sent.
    pub prompt: String,
    /// Each candidate as the model returned it, and what clean-up removed.
    pub steps: Vec<CandidateStep>,
    /// Reason why there is nothing to show, if so.
    pub nothing: Option<String>,
    /// Failure of the model, if any. It is an infrastructure failure, which says nothing about the
    /// model's quality.
    pub fault: Option<String>,
    /// Cause of the failure in a few words, for a message. It is not recorded.
    #[serde(skip)]
    pub cause: Option<String>,
    /// Advice to the person about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Notice to the person on the request's parameters, shown once. It is not recorded.
    #[serde(skip)]
    pub notice: Option<String>,
    /// With a failure due to an overloaded server, the requested pause in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<f64>,
    /// Signals for a gate, if typing triggered the completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<GateSignals>,
    /// Milliseconds spent waiting for the next key.
    #[serde(default)]
    pub wait_ms: f64,
    /// Milliseconds spent finding windows, including the first round of two.
    pub context_ms: f64,
    /// Milliseconds until the model's first text, if it streams.
    #[serde(default)]
    pub first_text_ms: Option<f64>,
    /// See [`crate::model::ModelOutput::is_delayed`].
    #[serde(skip)]
    pub is_delayed: bool,
    /// Duration of the model call in milliseconds.
    pub model_ms: f64,
    /// Duration of clean-up in milliseconds.
    pub cleanup_ms: f64,
    /// Tokens of the requests for this completion, of both rounds of two; absent if nothing was
    /// sent to a server for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// In a trial by pairs, the trace of the pair's second model; the rest is the first one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Trace>>,
}

impl Trace {
    /// Returns the reason why there is nothing to show, in words that the person may see.
    pub fn why_nothing(&self) -> Option<String> {
        match &self.fault {
            Some(_) if self.is_blind() => Some(BLIND_FAULT.to_owned()),
            Some(fault) => Some(fault.clone()),
            None => self.nothing.clone(),
        }
    }

    /// Returns the failure of the model, with the advice to the person.
    pub fn fault_with_advice(&self) -> Option<String> {
        let fault = self.fault.as_deref()?;
        Some(match &self.advice {
            Some(advice) => format!("{fault}. {advice}"),
            None => fault.to_owned(),
        })
    }

    /// True in a blind trial.
    pub fn is_blind(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.blind)
    }

    /// Returns the part that the person may see: in a blind trial nothing that identifies the
    /// model.
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

/// Message for a failure in a blind trial, as the failure's own words would identify the model.
const BLIND_FAULT: &str =
    "a model of the blind trial did not answer; end the trial to see which, and why";

/// Origin of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionOrigin {
    /// The model was called for this request.
    #[default]
    Model,
    /// The same request was made before.
    Cache,
    /// The beginning of an earlier completion was typed.
    TypedThrough,
    /// The model was already generating it for an earlier request, or ahead of this one.
    Running,
    /// No model was called and nothing was reused: [`Trace::nothing`] has the reason.
    Uncalled,
}

/// One candidate before and after clean-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateStep {
    /// As the model returned it.
    pub raw: String,
    /// The rules' decisions, in order.
    pub decisions: Vec<Decision>,
    /// Mean natural-log probability per token of the whole raw completion, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_probability: Option<f64>,
}

/// Converts a duration to milliseconds.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
