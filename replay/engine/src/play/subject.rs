//! The model under test, and the settings that its server gets.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use fillrate_language::task::Hole;
use fillrate_mine::contexts::{HoleView, PaperContext};
use fillrate_mine::written::CodeView;
use fillrate_server::configuration::{
    AnsweringModel, Configuration, ContextSettings, Profile, TelemetrySettings,
};
use fillrate_server::context::{EarlierAttempt, GivenContext};
use fillrate_server::model::recorded::{self, RecordedCompletions};
use fillrate_server::model::{self, ModelSettings, Protocol};
use fillrate_syntax::spelling::nearest_clause;

use super::PlayError;
use super::context::ReplayContext;
use super::predictions::{HolePredictions, deveval_body};

/// The model under test with its settings.
#[derive(Clone)]
pub(super) struct ModelUnderTest {
    /// The name in reports.
    pub(super) name: String,
    /// The name among several models: that of the settings file; `None` if there is one model.
    label: Option<String>,
    /// The server's settings.
    pub(super) configuration: Configuration,
    /// The paper whose context the model is given; `None` for a profile of the server.
    pub(super) paper: Option<PaperContext>,
    /// The state in which the file of a hole is shown.
    pub(super) view: CodeView,
    source: CompletionSource,
}

/// Source of the completions that are judged.
#[derive(Clone)]
enum CompletionSource {
    /// The server's model.
    Model,
    /// The references, which the server answers with.
    References,
    /// Predictions, which the server answers with.
    Predictions(Arc<HolePredictions>),
    /// Predictions that are judged unchanged: no server cleans them up.
    Verbatim {
        predictions: Arc<HolePredictions>,
        /// True if they are indented as DevEval's script does it.
        deveval: bool,
    },
}

/// Predictions that are judged unchanged, by the hole's id.
pub(super) type VerbatimCompletions = BTreeMap<String, Vec<String>>;

/// The file of the server's settings in a run's folder.
pub(super) const SERVER_SETTINGS: &str = "server.toml";
/// The file of a recorded model's answers in a run's folder.
const RECORDING: &str = "recording.jsonl";

/// Choice of the models under test.
pub(super) struct SubjectSelection<'a> {
    /// Each `embedded`, `reference`, `empty`, `predictions`, or the path of a settings file (.toml)
    /// or of predictions (.jsonl).
    pub(super) models: &'a [String],
    /// True if they are compared, which `predictions` can't be.
    pub(super) is_comparison: bool,
    /// The file for `predictions`.
    pub(super) predictions: Option<&'a Path>,
    /// True if these are indented as DevEval's script does it.
    pub(super) deveval: bool,
    /// The contexts, each a subject of its own; if there are none, the one of the settings.
    pub(super) contexts: &'a [ReplayContext],
    /// The views, each a subject of its own under each context; if there are none, the finished
    /// file.
    pub(super) views: &'a [CodeView],
    /// The number of repair rounds.
    pub(super) repair_rounds: u32,
}

/// Models that need no file, or one that another option names.
const NAMED: [&str; 4] = ["embedded", "reference", "empty", "predictions"];

/// Checks the name of a model without reading the file that it may be.
///
/// # Errors
/// It is none of the models with names, and no file of settings (.toml) or predictions (.jsonl).
pub fn check_model_name(name: &str, is_comparison: bool) -> Result<(), PlayError> {
    if NAMED.contains(&name) || name.ends_with(".toml") || name.ends_with(".jsonl") {
        return Ok(());
    }
    let names = match is_comparison {
        true => "`embedded`, `reference` or `empty`",
        false => "`embedded`, `reference`, `empty` or `predictions`",
    };
    let nearest = nearest_clause(name, &NAMED[..3]);
    Err(PlayError::Refused(format!(
        "`{name}` is no model; {nearest}name {names}, a settings file that ends in .toml, or \
         predictions in a file that ends in .jsonl"
    )))
}

impl ModelUnderTest {
    /// Loads the models, each once for each context and view.
    ///
    /// # Errors
    /// A model does not exist, its settings are invalid, a model, a context or a view is named
    /// twice, or they can't be combined.
    pub(super) fn load_all(selection: &SubjectSelection<'_>) -> Result<Vec<Self>, PlayError> {
        let judges_predictions = selection.models.iter().any(|name| name == "predictions");
        if let (Some(file), false) = (selection.predictions, judges_predictions) {
            return Err(PlayError::Refused(format!(
                "--predictions names {}, which only `--model predictions` judges; add it, or leave \
                 --predictions out",
                file.display()
            )));
        }
        let mut subjects: Vec<Self> = Vec::new();
        for name in selection.models {
            let mut model = Self::load(name, selection)?;
            if selection.models.len() > 1 {
                let label = label(name);
                if subjects
                    .iter()
                    .any(|one| one.label.as_ref() == Some(&label))
                {
                    return Err(PlayError::Refused(format!(
                        "--model names `{label}` twice; runs are named after the settings files, so \
                         give the files different names"
                    )));
                }
                model.label = Some(label);
            }
            subjects.extend(model.in_contexts(selection)?);
        }
        Ok(subjects)
    }

    /// The model once for each context and view.
    fn in_contexts(self, selection: &SubjectSelection<'_>) -> Result<Vec<Self>, PlayError> {
        let contexts = selection.contexts;
        let views = match selection.views {
            [] => &[CodeView::Finished][..],
            views => views,
        };
        self.check_views(views, contexts)?;
        if contexts.is_empty() {
            return Ok(views.iter().map(|view| self.with_view(*view)).collect());
        }
        for (index, context) in contexts.iter().enumerate() {
            if contexts[..index].contains(context) {
                return Err(PlayError::Refused(format!(
                    "--context names `{context}` twice"
                )));
            }
            if self.is_verbatim() {
                return Err(PlayError::Refused(format!(
                    "`--model predictions` asks no model, so `--context {context}` has no effect; \
                     leave it out"
                )));
            }
        }
        let in_contexts = contexts.iter().map(|context| Self {
            configuration: Configuration {
                context: ContextSettings {
                    profile: context.profile(),
                    ..self.configuration.context.clone()
                },
                ..self.configuration.clone()
            },
            paper: context.paper(),
            ..self.clone()
        });
        let subjects =
            in_contexts.flat_map(|subject| views.iter().map(move |view| subject.with_view(*view)));
        Ok(subjects.collect())
    }

    /// The same model with the files shown in this state.
    fn with_view(&self, view: CodeView) -> Self {
        Self {
            view,
            ..self.clone()
        }
    }

    /// Refuses views that are named twice, or that have no effect.
    fn check_views(&self, views: &[CodeView], contexts: &[ReplayContext]) -> Result<(), PlayError> {
        for (index, view) in views.iter().enumerate() {
            if views[..index].contains(view) {
                return Err(PlayError::Refused(format!("--view names `{view}` twice")));
            }
            if *view == CodeView::Finished {
                continue;
            }
            if self.is_verbatim() {
                return Err(PlayError::Refused(format!(
                    "`--model predictions` asks no model, so `--view {view}` has no effect; leave \
                     it out"
                )));
            }
            if let Some(paper) = contexts.iter().find(|context| context.paper().is_some()) {
                return Err(PlayError::Refused(format!(
                    "--context {paper} shows a function by itself, so `--view {view}` has no \
                     effect; leave one of them out"
                )));
            }
        }
        Ok(())
    }

    /// True if completions have a latency: recorded ones have none of their own.
    pub(super) fn has_latency(&self) -> bool {
        self.configuration.model.protocol != Protocol::Recorded
    }

    /// True if predictions are judged unchanged.
    pub(super) fn is_verbatim(&self) -> bool {
        matches!(self.source, CompletionSource::Verbatim { .. })
    }

    /// The predictions that are judged in place of a model's completions; `None` without any.
    pub(super) fn predictions(&self) -> Option<&HolePredictions> {
        match &self.source {
            CompletionSource::Predictions(predictions)
            | CompletionSource::Verbatim { predictions, .. } => Some(predictions),
            CompletionSource::Model | CompletionSource::References => None,
        }
    }

    /// The context that the model is given.
    pub(super) fn context(&self) -> ReplayContext {
        match self.paper {
            Some(paper) => ReplayContext::Paper(paper),
            None => ReplayContext::Profile(self.configuration.context.profile),
        }
    }

    /// The name among several models; `None` if there is one model.
    pub(super) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The context and, unless it is the finished file, the view: a name among the subjects of one
    /// model.
    pub(super) fn title(&self) -> String {
        match self.view {
            CodeView::Finished => self.context().to_string(),
            view => format!("{}-{view}", self.context()),
        }
    }

    /// The title that events name: no context where predictions are judged.
    pub(super) fn context_name(&self) -> String {
        if self.is_verbatim() {
            return "none shown".to_owned();
        }
        self.title()
    }

    /// Loads the model with the context of its own settings.
    fn load(name: &str, selection: &SubjectSelection<'_>) -> Result<Self, PlayError> {
        if selection.deveval && name != "predictions" {
            return Err(PlayError::Refused(
                "--deveval indents predictions that are judged as they are; add `--model \
                 predictions`, or leave it out"
                    .to_owned(),
            ));
        }
        check_model_name(name, selection.is_comparison)?;
        let mut configuration = Configuration::default();
        let mut source = CompletionSource::Model;
        let recorded = |name: &str| ModelSettings {
            protocol: Protocol::Recorded,
            name: Some(name.to_owned()),
            ..ModelSettings::default()
        };
        match name {
            "embedded" => {}
            "empty" => configuration.model.protocol = Protocol::Empty,
            "reference" => {
                configuration.model = recorded("reference");
                source = CompletionSource::References;
            }
            "predictions" if selection.is_comparison => {
                return Err(PlayError::Refused(
                    "`predictions` has no file in a comparison; name the file itself by `--model \
                     FILE.jsonl`"
                        .to_owned(),
                ));
            }
            "predictions" => {
                let Some(file) = selection.predictions else {
                    return Err(PlayError::Refused(
                        "`--model predictions` needs `--predictions FILE`".to_owned(),
                    ));
                };
                let stem = file.file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                source = CompletionSource::Verbatim {
                    predictions: Arc::new(HolePredictions::read(file)?),
                    deveval: selection.deveval,
                };
            }
            file if file.ends_with(".jsonl") => {
                let stem = Path::new(file).file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                let predictions = HolePredictions::read(Path::new(file))?;
                source = CompletionSource::Predictions(Arc::new(predictions));
            }
            settings => configuration = read_settings(settings)?,
        }
        let (name, chats) = match configuration.model.protocol {
            Protocol::Recorded => (configuration.model.name.clone().unwrap_or_default(), false),
            // Opened for its name, and so that invalid settings fail early.
            _ => {
                let opened = model::open(&configuration.model, &|key| std::env::var(key).ok());
                let model = opened.map_err(|error| match name.ends_with(".toml") {
                    // A person who names several files must know which one is wrong.
                    true => PlayError::Refused(format!("{name}: {error}")),
                    false => error.into(),
                })?;
                (model.name().to_owned(), model.chats())
            }
        };
        if selection.repair_rounds > 0 {
            let verbatim = matches!(source, CompletionSource::Verbatim { .. });
            check_repairable(&name, verbatim, chats)?;
        }
        Ok(Self {
            name,
            label: None,
            configuration,
            paper: None,
            view: CodeView::Finished,
            source,
        })
    }

    /// The completions of each hole if predictions are judged unchanged.
    ///
    /// # Errors
    /// The predictions lack a hole.
    pub(super) fn verbatim(
        &self,
        holes: &[Hole],
    ) -> Result<Option<VerbatimCompletions>, PlayError> {
        let CompletionSource::Verbatim {
            predictions,
            deveval,
        } = &self.source
        else {
            return Ok(None);
        };
        let texts = holes.iter().map(|hole| {
            let given = predictions.for_hole(hole)?;
            let texts = match (*deveval, hole.indent) {
                (false, _) => given.to_vec(),
                (true, Some(spaces)) => {
                    let indented = given.iter().map(|text| deveval_body(text, spaces));
                    indented.collect()
                }
                (true, None) => {
                    return Err(PlayError::Refused(format!(
                        "--deveval needs the indentation that `fillrate import deveval` records, \
                         and the hole {} has none; import the tasks again, or leave it out",
                        hole.id
                    )));
                }
            };
            Ok((hole.id.clone(), texts))
        });
        texts.collect::<Result<_, PlayError>>().map(Some)
    }

    /// Writes the server's settings into a run's folder, and its answers if they are known.
    pub(super) fn write(
        &self,
        folder: &Path,
        records: Option<&[RecordedCompletions]>,
    ) -> Result<(), PlayError> {
        let mut configuration = self.configuration.clone();
        // Else what is sent, and so the completion, would depend on the machine's speed.
        configuration.context.budget_ms.get_or_insert(0);
        if let Some(records) = records {
            let path = folder.join(RECORDING);
            let lines: Vec<String> = records
                .iter()
                .filter_map(|record| serde_json::to_string(record).ok())
                .collect();
            std::fs::write(&path, lines.join("\n") + "\n").map_err(PlayError::file(&path))?;
            let absolute = std::path::absolute(&path).map_err(PlayError::file(&path))?;
            configuration.model.recording = Some(absolute);
        }
        let path = folder.join(SERVER_SETTINGS);
        let text = toml::to_string(&configuration)
            .map_err(|error| PlayError::Refused(error.to_string()))?;
        std::fs::write(&path, text).map_err(PlayError::file(&path))
    }

    /// Context for the server that an editor does not send: the reference, under the profile that
    /// retrieves windows by it; the windows, in the context of a paper; in a repair round the
    /// model's earlier completion; and the hole's id, for recorded completions.
    pub(super) fn given(
        &self,
        hole: &Hole,
        shown: &HoleView,
        earlier: Option<EarlierAttempt>,
    ) -> Option<GivenContext> {
        let is_upper_bound = self.context() == ReplayContext::Profile(Profile::Reference);
        let given = GivenContext {
            reference: is_upper_bound.then(|| hole.reference.clone()),
            windows: self.paper.map(|_| shown.windows.clone()),
            earlier,
            hole: (self.configuration.model.protocol == Protocol::Recorded)
                .then(|| hole.id.clone()),
        };
        (given != GivenContext::default()).then_some(given)
    }

    /// The answers of the server at each presented hole if they are known. If the reference is the
    /// completion and the developer types, there is an answer at every key.
    ///
    /// # Errors
    /// The predictions lack a hole.
    pub(super) fn records(
        &self,
        holes: &[Hole],
        shown: &HashMap<String, HoleView>,
        typed: bool,
    ) -> Result<Option<Vec<RecordedCompletions>>, PlayError> {
        let predictions = self.predictions();
        if matches!(self.source, CompletionSource::Model) {
            return Ok(None);
        }
        let presented = holes
            .iter()
            .filter_map(|hole| Some((hole, shown.get(&hole.id)?)));
        let mut records = Vec::new();
        for (hole, shown) in presented {
            // A recorded answer has the prefix in its key, so each typed prefix needs a record.
            let written = match predictions {
                None if typed => hole.reference.char_indices().map(|(at, _)| at).collect(),
                _ => vec![0],
            };
            for at in written {
                let (written, left) = hole.reference.split_at(at);
                let completions = match predictions {
                    None => vec![left.to_owned()],
                    Some(predictions) => predictions.for_hole(hole)?.to_vec(),
                };
                let prefix = [shown.prefix.as_str(), written].concat();
                records.push(RecordedCompletions {
                    key: recorded::key(&prefix, &shown.suffix),
                    hole: Some(hole.id.clone()),
                    completions,
                });
            }
        }
        Ok(Some(records))
    }
}

/// The name of a model among several: a file's without its folder and ending.
fn label(model: &str) -> String {
    let stem = Path::new(model).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Reads the settings of one model.
fn read_settings(file: &str) -> Result<Configuration, PlayError> {
    Ok(Configuration {
        // Telemetry has no effect on completions or verdicts.
        telemetry: TelemetrySettings::default(),
        ..AnsweringModel::of_file(Path::new(file))?.configuration
    })
}

/// Refuses repair rounds of what can't repair its completions.
fn check_repairable(name: &str, verbatim: bool, chats: bool) -> Result<(), PlayError> {
    if verbatim {
        return Err(PlayError::Refused(
            "--repair-rounds asks a model to repair its completion, and `--model predictions` asks \
             none; leave the option out"
                .to_owned(),
        ));
    }
    if !chats {
        return Err(PlayError::Refused(format!(
            "--repair-rounds asks a model to repair its completion, which needs a chat protocol \
             (openai-chat or anthropic-messages); {name} has none, so leave the option out"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_is_advised_no_option_that_it_lacks() {
        let refusal = |model: &str, is_comparison| {
            let loaded = ModelUnderTest::load_all(&SubjectSelection {
                models: &[model.to_owned(), "empty".to_owned()],
                is_comparison,
                predictions: None,
                deveval: false,
                contexts: &[],
                views: &[],
                repair_rounds: 0,
            });
            let error = loaded.err().expect("there is no such model");
            error.to_string()
        };
        for model in ["predictions", "other"] {
            let (replay, comparison) = (refusal(model, false), refusal(model, true));
            assert!(replay.contains("predictions`"), "{replay}");
            assert!(!comparison.contains("--predictions"), "{comparison}");
            assert!(!comparison.contains("or `predictions`"), "{comparison}");
            assert!(comparison.contains(".jsonl"), "{comparison}");
        }
    }
}
