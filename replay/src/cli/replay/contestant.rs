//! The model that is measured, and how the server is told of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use fillrate_server::configuration::{
    Configuration, ContextSettings, Layers, Profile, TelemetrySettings,
};
use fillrate_server::context::{Earlier, Given};
use fillrate_server::model::recorded::{self, Record};
use fillrate_server::model::{self, Protocol, Settings};

use super::super::CliError;
use super::Arguments;
use super::context::Context;
use super::predictions::Predictions;
use crate::mine::contexts::{Paper, Shown};
use crate::task::Hole;

/// The model that is measured, and how the server is told of it.
pub(super) struct Contestant {
    /// The name in reports.
    pub(super) name: String,
    /// The server's settings.
    pub(super) configuration: Configuration,
    /// The paper whose context the holes are shown in, where they are.
    pub(super) paper: Option<Paper>,
    /// Predictions, where that is what answers.
    pub(super) predictions: Option<Arc<Predictions>>,
    /// Whether predictions are taken as they stand: no server sees them.
    verbatim: bool,
    /// Whether the reference itself answers.
    reference: bool,
}

/// Predictions that are judged as they stand, by the hole's id.
pub(super) type Verbatim = BTreeMap<String, Vec<String>>;

/// The server's settings in a run's folder.
pub(super) const SETTINGS: &str = "server.toml";
/// What a recorded model answers, in a run's folder.
const RECORDING: &str = "recording.jsonl";

impl Contestant {
    /// The contestants of a command line: the model under each context that is named, or under
    /// the one that its settings say.
    ///
    /// # Errors
    /// There is no such model, its settings can't be used, or a context is named twice.
    pub(super) fn of(arguments: &Arguments) -> Result<Vec<Self>, CliError> {
        let model = Self::named(arguments)?;
        if arguments.context.is_empty() {
            return Ok(vec![model]);
        }
        for (index, context) in arguments.context.iter().enumerate() {
            if arguments.context[..index].contains(context) {
                return Err(CliError::Refused(format!(
                    "--context names `{context}` twice"
                )));
            }
            if model.verbatim && context.paper().is_some() {
                return Err(CliError::Refused(format!(
                    "`--model predictions` asks no model, so `--context {context}` has nobody to \
                     be shown to; leave it out"
                )));
            }
        }
        let contestants = arguments.context.iter().map(|context| Self {
            configuration: Configuration {
                context: ContextSettings {
                    profile: context.profile(),
                    ..model.configuration.context.clone()
                },
                ..model.configuration.clone()
            },
            name: model.name.clone(),
            paper: context.paper(),
            predictions: model.predictions.clone(),
            verbatim: model.verbatim,
            reference: model.reference,
        });
        Ok(contestants.collect())
    }

    /// Whether predictions are taken as they stand.
    pub(super) fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// What it is told of the repository.
    pub(super) fn context(&self) -> Context {
        match self.paper {
            Some(paper) => Context::Paper(paper),
            None => Context::Profile(self.configuration.context.profile),
        }
    }

    /// A model under its own settings.
    fn named(arguments: &Arguments) -> Result<Self, CliError> {
        let mut configuration = Configuration::default();
        let mut predictions = None;
        let mut reference = false;
        let mut verbatim = false;
        let recorded = |name: &str| Settings {
            protocol: Protocol::Recorded,
            name: Some(name.to_owned()),
            ..Settings::default()
        };
        match arguments.model.as_str() {
            "embedded" => {}
            "empty" => configuration.model.protocol = Protocol::Empty,
            "reference" => {
                configuration.model = recorded("reference");
                reference = true;
            }
            "predictions" => {
                let Some(file) = &arguments.predictions else {
                    return Err(CliError::Refused(
                        "`--model predictions` needs `--predictions FILE`".to_owned(),
                    ));
                };
                let stem = file.file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                predictions = Some(Arc::new(Predictions::read(file)?));
                verbatim = true;
            }
            file if file.ends_with(".toml") => {
                let mut layers = Layers::default();
                layers.file(Path::new(file))?;
                let mut contestants = layers.merged()?.answering_models();
                configuration = match (contestants.pop(), contestants.is_empty()) {
                    (Some(one), true) => one.configuration,
                    _ => {
                        return Err(CliError::Refused(format!(
                            "{file} sets a trial of several models, and a replay plays one: leave \
                             `[trial]` out of the file, and name the model by `use`"
                        )));
                    }
                };
                // What is noted decides nothing of what is completed or judged.
                configuration.telemetry = TelemetrySettings::default();
            }
            file if file.ends_with(".jsonl") => {
                let stem = Path::new(file).file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                predictions = Some(Arc::new(Predictions::read(Path::new(file))?));
            }
            other => {
                return Err(CliError::Refused(format!(
                    "`{other}` is no model; name `embedded`, `reference`, `empty` or \
                     `predictions`, a settings file that ends in .toml, or predictions in a file \
                     that ends in .jsonl"
                )));
            }
        }
        let (name, chats) = match configuration.model.protocol {
            Protocol::Recorded => (configuration.model.name.clone().unwrap_or_default(), false),
            // Opened only for its name, and so that a fault in the settings shows at once.
            _ => {
                let model = model::open(&configuration.model, &|name| std::env::var(name).ok())?;
                (model.name().to_owned(), model.chats())
            }
        };
        if arguments.debug_rounds > 0 && verbatim {
            return Err(CliError::Refused(
                "--debug-rounds tells a model what was wrong with its answer, and `--model \
                 predictions` asks none; leave the option out"
                    .to_owned(),
            ));
        }
        if arguments.debug_rounds > 0 && !chats {
            return Err(CliError::Refused(format!(
                "--debug-rounds tells a model what was wrong with its answer, and only one that \
                 is asked as a chat is can be told (protocols openai-chat and anthropic-messages); \
                 {name} is not, so leave the option out"
            )));
        }
        Ok(Self {
            name,
            configuration,
            paper: None,
            predictions,
            verbatim,
            reference,
        })
    }

    /// What is judged at each hole, by its id, where predictions are taken as they stand.
    ///
    /// # Errors
    /// The predictions lack a hole.
    pub(super) fn verbatim(&self, holes: &[Hole]) -> Result<Option<Verbatim>, CliError> {
        let Some(predictions) = self.predictions.as_ref().filter(|_| self.verbatim) else {
            return Ok(None);
        };
        let texts = holes
            .iter()
            .map(|hole| Ok((hole.id.clone(), predictions.of(hole)?.to_vec())));
        texts.collect::<Result<_, CliError>>().map(Some)
    }

    /// Writes the server's settings into a run's folder, and what it answers where that is known.
    pub(super) fn write(&self, folder: &Path, records: Option<&[Record]>) -> Result<(), CliError> {
        let mut configuration = self.configuration.clone();
        if let Some(records) = records {
            let path = folder.join(RECORDING);
            let lines: Vec<String> = records
                .iter()
                .filter_map(|record| serde_json::to_string(record).ok())
                .collect();
            std::fs::write(&path, lines.join("\n") + "\n").map_err(CliError::file(&path))?;
            let absolute = std::path::absolute(&path).map_err(CliError::file(&path))?;
            configuration.model.recording = Some(absolute);
        }
        let path = folder.join(SETTINGS);
        let text = toml::to_string(&configuration)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        std::fs::write(&path, text).map_err(CliError::file(&path))
    }

    /// What the server is told of a hole beside what an editor would tell: its reference, under
    /// the profile that looks for windows with it; its windows, in the context of a paper; and the
    /// model's own earlier answer, where it is to mend one.
    pub(super) fn given(
        &self,
        hole: &Hole,
        shown: &Shown,
        earlier: Option<Earlier>,
    ) -> Option<Given> {
        let is_upper_bound = self.context() == Context::Profile(Profile::Reference);
        let given = Given {
            reference: is_upper_bound.then(|| hole.reference.clone()),
            windows: self.paper.map(|_| shown.windows.clone()),
            earlier,
        };
        (given != Given::default()).then_some(given)
    }

    /// What the server answers at each hole as it is shown to it, where that is known. Where the
    /// reference answers a developer who types, it knows what is left of it at every key.
    ///
    /// # Errors
    /// The predictions lack a hole.
    pub(super) fn records(
        &self,
        holes: &[Hole],
        shown: &HashMap<String, Shown>,
        typed: bool,
    ) -> Result<Option<Vec<Record>>, CliError> {
        let predictions = match &self.predictions {
            Some(predictions) => Some(predictions),
            None if self.reference => None,
            None => return Ok(None),
        };
        let places = holes
            .iter()
            .filter_map(|hole| Some((hole, shown.get(&hole.id)?)));
        let mut records = Vec::new();
        for (hole, shown) in places {
            let written = match &predictions {
                None if typed => hole.reference.char_indices().map(|(at, _)| at).collect(),
                _ => vec![0],
            };
            for at in written {
                let (written, left) = hole.reference.split_at(at);
                let completions = match &predictions {
                    None => vec![left.to_owned()],
                    Some(predictions) => predictions.of(hole)?.to_vec(),
                };
                let prefix = [shown.prefix.as_str(), written].concat();
                records.push(Record {
                    key: recorded::key(&prefix, &shown.suffix),
                    completions,
                });
            }
        }
        Ok(Some(records))
    }
}
