//! One model call: the request, the streamed text, which clean-up may end early, and the clean-up.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::Tree;

use super::cache::RequestKey;
use super::model_call::StreamedText;
use super::reading::PromptBudget;
use super::trace::{CandidateStep, Completion, Trace, milliseconds};
use crate::cleanup::{Cleaner, CompletionExtent, CursorSite, EndDetector};
use crate::configuration::Configuration;
use crate::context::{GivenContext, Window};
use crate::documents::Snapshot;
use crate::model;
use crate::text::ByteOffset;

/// Names by which a model knows a document.
pub(super) struct DocumentName<'a> {
    /// Name of the repository.
    pub(super) repository: &'a str,
    /// Path in the repository.
    pub(super) path: String,
}

/// Returns the model's request at a cursor.
pub(super) fn build_request(
    configuration: &Configuration,
    name: DocumentName<'_>,
    document: &Snapshot,
    key: &RequestKey,
    windows: Vec<Window>,
    given: &GivenContext,
    budget: Option<PromptBudget>,
) -> model::ModelRequest {
    model::ModelRequest {
        prefix: key.prefix.to_string(),
        suffix: key.suffix.to_string(),
        path: name.path,
        repository: name.repository.to_owned(),
        language: document.language,
        windows,
        layout: configuration.context.profile.layout(),
        earlier: given.earlier.clone(),
        hole: given.hole.clone(),
        question: None,
        parameters: model::ModelParameters {
            prompt_tokens: budget.map(|budget| budget.tokens),
            ..configuration.model.parameters()
        },
    }
}

/// The text around a cursor that clean-up and the index read: the whole document, or the part of a
/// large one.
#[derive(Debug)]
pub(super) struct SiteText {
    pub(super) prefix: String,
    pub(super) suffix: String,
    pub(super) tree: Option<Tree>,
}

impl SiteText {
    /// Returns the text around a cursor of a document.
    pub(super) fn near(document: &Snapshot, cursor: ByteOffset) -> Self {
        let (start, part) = document.near(cursor);
        let own = ByteOffset(cursor.0 - start.0);
        Self {
            prefix: part.text.slice(ByteOffset(0)..own),
            suffix: part.text.slice(own..part.text.len()),
            tree: part.tree().cloned(),
        }
    }
}

/// Calls the model, ends each candidate as soon as clean-up would drop the rest, and cleans up.
pub(super) async fn generate(
    model: &dyn model::Model,
    request: &model::ModelRequest,
    text: &SiteText,
    extent: CompletionExtent,
    streamed: &StreamedText,
) -> Completion {
    let mut trace = Trace {
        model: model.name().to_owned(),
        about: model.describe(),
        windows: request.windows.clone(),
        ..Trace::default()
    };
    let site = CursorSite {
        prefix: &text.prefix,
        suffix: &text.suffix,
        path: Some(&request.path),
        language: request.language,
        tree: text.tree.as_ref(),
        extent,
        chat: model.chats(),
    };
    let cleaner = Cleaner::new(site);
    let listener = CleanupListener {
        streamed,
        cleaner: &cleaner,
        end_detectors: Mutex::default(),
        started: Instant::now(),
        first_text: Mutex::new(None),
    };
    let output = model.complete(request, &listener).await;
    trace.model_ms = milliseconds(listener.started.elapsed());
    trace.first_text_ms = listener.first_text.lock().map(milliseconds);

    let output = match output {
        Ok(output) => output,
        Err(error) => {
            trace.fault = Some(error.to_string());
            trace.cause = Some(error.cause().to_owned());
            trace.advice = Some(error.advice().to_owned());
            trace.retry_after_ms = error.retry_after().map(milliseconds);
            return Completion {
                candidates: Vec::new(),
                trace,
            };
        }
    };
    trace.prompt = output.prompt;
    trace.notice = output.notice;
    trace.usage = output.usage;
    trace.is_delayed = output.is_delayed;

    let started = Instant::now();
    let mut candidates: Vec<String> = Vec::new();
    let mut thinking = None;
    for candidate in output.candidates {
        let (text, decisions) = cleaner.clean(&candidate.text, candidate.finish);
        let thought = decisions.iter().any(|decision| decision.rule == "think");
        // Thinking explains an empty result only if clean-up left nothing after it.
        if text.is_empty() && (candidate.thought || thought) {
            thinking = thinking.or(Some(candidate.finish));
        }
        trace.steps.push(CandidateStep {
            raw: candidate.text,
            decisions,
            mean_log_probability: candidate.mean_log_probability,
        });
        if !text.is_empty() && !candidates.contains(&text) {
            candidates.push(text);
        }
    }
    trace.cleanup_ms = milliseconds(started.elapsed());
    if candidates.is_empty() {
        let max_tokens = request.parameters.max_tokens;
        trace.nothing = Some(match thinking {
            Some(finish) => explain_thinking(finish, max_tokens),
            None => explain_empty(&trace.steps),
        });
    }
    Completion { candidates, trace }
}

/// Records streamed text, and ends complete candidates.
struct CleanupListener<'a> {
    streamed: &'a StreamedText,
    cleaner: &'a Cleaner<'a>,
    /// By candidate.
    end_detectors: Mutex<HashMap<usize, EndDetector<'a>>>,
    started: Instant,
    first_text: Mutex<Option<Duration>>,
}

impl model::TextListener for CleanupListener<'_> {
    fn receive(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        self.first_text
            .lock()
            .get_or_insert_with(|| self.started.elapsed());
        self.streamed.update(candidate, text);
        let mut end_detectors = self.end_detectors.lock();
        let end_detector = end_detectors
            .entry(candidate)
            .or_insert_with(|| self.cleaner.end_detector());
        if end_detector.is_complete(text) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Explains why a model that reasoned has no candidate.
fn explain_thinking(finish: model::Finish, max_tokens: u32) -> String {
    match finish {
        model::Finish::Length => format!(
            "the model spent all {max_tokens} tokens on thinking: raise `model.max_tokens`, or turn \
             its thinking off with `model.parameters`"
        ),
        _ => {
            "the model spent its answer on thinking and returned no text: turn its thinking off with \
             `model.parameters`, or raise `model.max_tokens`, the limit of both"
                .to_owned()
        }
    }
}

/// Explains why no candidate remains after clean-up.
fn explain_empty(steps: &[CandidateStep]) -> String {
    let cut = steps
        .iter()
        .flat_map(|step| &step.decisions)
        .map(|decision| decision.rule.as_str())
        .next();
    match cut {
        Some(rule) => format!("clean-up removed the whole completion (rule `{rule}`)"),
        None => "the model returned an empty completion".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_thinking_names_the_limit() {
        let said = explain_thinking(model::Finish::Length, 128);
        assert!(
            said.contains("all 128 tokens") && said.contains("`model.max_tokens`"),
            "{said}"
        );
        let said = explain_thinking(model::Finish::Stop, 128);
        assert!(said.contains("returned no text"), "{said}");
    }
}
