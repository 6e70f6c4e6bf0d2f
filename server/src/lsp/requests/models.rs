//! `fillrate/models`: the configured models, and which of them are in use. Parameters are ignored.

use serde::Serialize;
use tower_lsp::jsonrpc::{Error, Result};

use crate::configuration::{Configuration, TrialUnit};
use crate::lsp::session::EditorSession;
use crate::model::collector_url;
use crate::telemetry::default_path;

/// The request's method.
pub(in crate::lsp) const MODELS: &str = "fillrate/models";

/// The response to [`MODELS`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct ModelList {
    /// The models: `default`, which is `[model]`, first, then the others by name.
    models: Vec<NamedModel>,
    /// The trial, if there is one.
    trial: Option<TrialInfo>,
    /// Settings of telemetry.
    telemetry: TelemetryInfo,
}

/// Settings of telemetry.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TelemetryInfo {
    /// True if it is enabled.
    enabled: bool,
    /// True if the store keeps the texts of completions.
    content: bool,
    /// Path of the store, for `fillrate telemetry stats --store`.
    path: String,
    /// Address that metrics are sent to, without credentials; `None` if nothing is sent.
    sends_to: Option<String>,
}

/// A model of the configuration.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedModel {
    /// Its name in `use` and `trial.models`.
    name: String,
    /// A short description for people.
    about: String,
    /// True if it is in use or takes part in the trial; always false in a blind trial, and while
    /// the settings can't be used.
    active: bool,
}

/// The current trial.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialInfo {
    /// The names of the models in the trial.
    models: Vec<String>,
    /// Unit for which a model is drawn.
    unit: TrialUnit,
    /// True if the person does not learn which model answers.
    blind: bool,
    /// The seed of the draws.
    seed: u64,
}

pub(in crate::lsp) fn handle(session: &EditorSession) -> Result<ModelList> {
    // The settings in force, without invalid ones that the client sent since.
    let configuration = match session.engines() {
        Some(engines) => engines.configuration().clone(),
        None => session
            .configuration()
            .map_err(|error| Error::invalid_params(error.to_string()))?,
    };
    let suspended = session.state().is_some_and(|state| state.suspended);
    Ok(ModelList::from_configuration(&configuration, suspended))
}

impl ModelList {
    fn from_configuration(configuration: &Configuration, suspended: bool) -> Self {
        let telemetry = &configuration.telemetry;
        let answering = configuration.answering_models();
        let trial = configuration.trial();
        let blind = configuration.is_blind();
        let path = telemetry.path.clone();
        // Without a data folder there is no store.
        let path = path.or_else(|| default_path().ok()).unwrap_or_default();
        // Metrics are not sent to what is no address.
        let collector = telemetry.otlp_url.as_deref().filter(|_| telemetry.enabled);
        let sends_to = collector.and_then(|collector| collector_url(collector).ok());
        let named = configuration.named().map(|(name, settings)| NamedModel {
            name: name.to_owned(),
            about: settings.describe(),
            active: !blind && !suspended && answering.iter().any(|one| one.name == name),
        });
        Self {
            models: named.collect(),
            trial: trial.map(|trial| TrialInfo {
                models: trial.models.clone(),
                unit: trial.unit,
                blind: trial.blind,
                seed: trial.seed,
            }),
            telemetry: TelemetryInfo {
                enabled: telemetry.enabled,
                content: telemetry.content,
                path: path.display().to_string(),
                sends_to: sends_to.map(String::from),
            },
        }
    }
}
