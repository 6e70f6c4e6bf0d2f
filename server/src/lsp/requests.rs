//! Requests of our own.

use serde::{Deserialize, Serialize};
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::completion::{Completion, Trace};
use crate::configuration::{Configuration, TrialUnit};
use crate::context::Given;
use crate::telemetry::default_path;

/// `fillrate/explain`: how the last completion in a document came about, or one at a position.
pub const EXPLAIN: &str = "fillrate/explain";

/// `fillrate/retrieve`: the windows of other files for a position, without a completion there.
/// The answer is a [`crate::completion::Retrieved`], or `null` where the document is not open.
pub const RETRIEVE: &str = "fillrate/retrieve";

/// What a client asks with [`RETRIEVE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The cursor.
    pub position: Position,
    /// As in an inline completion's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<Given>,
}

/// What a client asks with [`EXPLAIN`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// Where to complete anew; nothing explains the last completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// As in an inline completion's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fillrate: Option<Given>,
}

/// The answer to [`EXPLAIN`]; `null` where the document is not open or, without a position, has
/// had no completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// What was offered, or would be, best first.
    #[serde(default)]
    pub candidates: Vec<String>,
    /// Every step.
    pub trace: Trace,
}

impl From<Completion> for Explanation {
    fn from(completion: Completion) -> Self {
        Self {
            candidates: completion.candidates,
            trace: completion.trace.as_shown(),
        }
    }
}

/// `fillrate/models`: which models there are, and which of them answers. It takes no parameters
/// that are heeded.
pub const MODELS: &str = "fillrate/models";

/// The answer to [`MODELS`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    /// `default` first, which is `[model]`; then the others by name.
    pub models: Vec<NamedModel>,
    /// The trial, if there is one.
    pub trial: Option<Trial>,
    /// What is noted on this machine.
    pub telemetry: Telemetry,
}

/// What is noted of completions, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Telemetry {
    /// Whether anything is.
    pub enabled: bool,
    /// Whether the texts of completions are too.
    pub content: bool,
    /// The store: what `fillrate telemetry stats --store` takes.
    pub path: String,
}

/// A model that can be put in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedModel {
    /// What `use` and `trial.models` call it.
    pub name: String,
    /// What it is, in a few words for people.
    pub about: String,
    /// Whether it answers, or takes its turn; of none of them it is said in a blind trial.
    pub active: bool,
}

/// A trial under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The names of the models that take turns.
    pub models: Vec<String>,
    /// What a model is drawn for.
    pub unit: TrialUnit,
    /// Whether the person is not told which answers.
    pub blind: bool,
    /// The seed of the draws.
    pub seed: u64,
}

impl Models {
    /// What a configuration has.
    pub(super) fn of(configuration: &Configuration) -> Self {
        let contestants = configuration.answering_models();
        let trial = configuration.trial();
        let blind = configuration.is_blind();
        let path = configuration.telemetry.path.clone();
        // Where no folder for data is known, there is no store.
        let path = path.or_else(|| default_path().ok()).unwrap_or_default();
        let named = configuration.named().map(|(name, settings)| NamedModel {
            name: name.to_owned(),
            about: settings.about(),
            active: !blind && contestants.iter().any(|one| one.name == name),
        });
        Self {
            models: named.collect(),
            trial: trial.map(|trial| Trial {
                models: trial.models.clone(),
                unit: trial.unit,
                blind: trial.blind,
                seed: trial.seed,
            }),
            telemetry: Telemetry {
                enabled: configuration.telemetry.enabled,
                content: configuration.telemetry.content,
                path: path.display().to_string(),
            },
        }
    }
}
