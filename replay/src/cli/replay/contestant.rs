//! The model that is measured, and how the server is told of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fillrate_server::configuration::{Configuration, ContextSettings, Layers, Profile};
use fillrate_server::context::Given;
use fillrate_server::model::recorded::{self, Record};
use fillrate_server::model::{self, Protocol, Settings};
use serde::Deserialize;

use super::super::CliError;
use super::Arguments;
use crate::task::Hole;

/// The model that is measured, and how the server is told of it.
pub(super) struct Contestant {
    /// The name in reports.
    pub(super) name: String,
    /// The server's settings.
    pub(super) configuration: Configuration,
    /// A file of predictions, where that is what answers.
    pub(super) predictions: Option<PathBuf>,
    /// Whether the reference itself answers.
    reference: bool,
}

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
        let model = Self::named(&arguments.model)?;
        if arguments.context.is_empty() {
            return Ok(vec![model]);
        }
        for (index, profile) in arguments.context.iter().enumerate() {
            if arguments.context[..index].contains(profile) {
                return Err(CliError::Refused(format!(
                    "--context names `{profile}` twice"
                )));
            }
        }
        let contestants = arguments.context.iter().map(|profile| Self {
            configuration: Configuration {
                context: ContextSettings {
                    profile: *profile,
                    ..model.configuration.context.clone()
                },
                ..model.configuration.clone()
            },
            name: model.name.clone(),
            predictions: model.predictions.clone(),
            reference: model.reference,
        });
        Ok(contestants.collect())
    }

    /// How windows of other files are found for it.
    pub(super) fn profile(&self) -> Profile {
        self.configuration.context.profile
    }

    /// A model under its own settings.
    fn named(model: &str) -> Result<Self, CliError> {
        let mut configuration = Configuration::default();
        let mut predictions = None;
        let mut reference = false;
        let recorded = |name: &str| Settings {
            protocol: Protocol::Recorded,
            name: Some(name.to_owned()),
            ..Settings::default()
        };
        match model {
            "embedded" => {}
            "empty" => configuration.model.protocol = Protocol::Empty,
            "reference" => {
                configuration.model = recorded("reference");
                reference = true;
            }
            file if file.ends_with(".toml") => {
                let mut layers = Layers::default();
                layers.file(Path::new(file))?;
                configuration = layers.merged()?;
            }
            file if file.ends_with(".jsonl") => {
                let stem = Path::new(file).file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                predictions = Some(PathBuf::from(file));
            }
            other => {
                return Err(CliError::Refused(format!(
                    "`{other}` is no model; name `embedded`, `reference` or `empty`, a settings \
                     file that ends in .toml, or predictions in a file that ends in .jsonl"
                )));
            }
        }
        let name = match configuration.model.protocol {
            Protocol::Recorded => configuration.model.name.clone().unwrap_or_default(),
            // Opened only for its name, and so that a fault in the settings shows at once.
            _ => model::open(&configuration.model, &|name| std::env::var(name).ok())?
                .name()
                .to_owned(),
        };
        Ok(Self {
            name,
            configuration,
            predictions,
            reference,
        })
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
    /// the profile that looks for windows with it.
    pub(super) fn given(&self, hole: &Hole) -> Option<Given> {
        (self.profile() == Profile::Reference).then(|| Given {
            reference: Some(hole.reference.clone()),
            windows: None,
        })
    }

    /// What the server answers at each hole, where that is known.
    ///
    /// # Errors
    /// The predictions can't be read, or lack a hole.
    pub(super) fn records(&self, holes: &[(&Hole, &str)]) -> Result<Option<Vec<Record>>, CliError> {
        let predictions = match &self.predictions {
            Some(path) => Some(read_predictions(path)?),
            None if self.reference => None,
            None => return Ok(None),
        };
        let records = holes.iter().map(|(hole, contents)| {
            let (prefix, suffix) = hole.cut(contents)?;
            let completions = match &predictions {
                None => vec![hole.reference.clone()],
                Some(predictions) => predictions.get(&hole.id).cloned().ok_or_else(|| {
                    CliError::Refused(format!(
                        "the predictions have nothing for the hole {}",
                        hole.id
                    ))
                })?,
            };
            Ok(Record {
                key: recorded::key(prefix, suffix),
                completions,
            })
        });
        records.collect::<Result<_, CliError>>().map(Some)
    }
}

/// One line of a file of predictions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prediction {
    hole: String,
    completions: Vec<String>,
}

fn read_predictions(path: &Path) -> Result<HashMap<String, Vec<String>>, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::file(path))?;
    let mut predictions = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let refuse = |reason: String| {
            CliError::Refused(format!("{}, line {}: {reason}", path.display(), index + 1))
        };
        let prediction: Prediction =
            serde_json::from_str(line).map_err(|error| refuse(error.to_string()))?;
        if prediction.completions.is_empty() {
            return Err(refuse("`completions` is empty".to_owned()));
        }
        if predictions
            .insert(prediction.hole.clone(), prediction.completions)
            .is_some()
        {
            return Err(refuse(format!("{} stands there twice", prediction.hole)));
        }
    }
    Ok(predictions)
}
