//! The plan of a replay, and the identity of a run that is made by it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_mine::written::CodeView;
use serde_json::{Value, json};

use super::PlayError;
use super::context::ReplayContext;
use super::mining::HoleSelection;
use super::projects::ExecutionPlan;
use super::subject::{ModelUnderTest, SubjectSelection};
use crate::store::{DeveloperSettings, Partition, Run};

/// Plan of a replay.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// The corpus's manifest.
    pub corpus: PathBuf,
    /// The tasks file; `None` mines holes.
    pub tasks: Option<PathBuf>,
    /// Selection of holes to mine.
    pub selection: HoleSelection,
    /// Number of completions that are requested at each hole; `None` for 1, or all of a predictions
    /// file.
    pub samples: Option<u32>,
    /// The models, each a run of its own: `embedded`, `reference`, `empty`, `predictions`, or the
    /// path of a settings file (.toml) or of predictions (.jsonl).
    pub models: Vec<String>,
    /// True if the runs without [`out`](Self::out) are in one folder, which does not depend on the
    /// models that are compared.
    pub is_comparison: bool,
    /// The file whose predictions are judged unchanged by the model `predictions`.
    pub predictions: Option<PathBuf>,
    /// True if predictions are indented as DevEval's script does it.
    pub deveval: bool,
    /// The contexts, each a run of its own; if there are none, the one of the settings.
    pub contexts: Vec<ReplayContext>,
    /// The states in which files are shown, each a run of its own; if there are none, finished.
    pub views: Vec<CodeView>,
    /// Number of repair rounds after a completion that fails.
    pub repair_rounds: u32,
    /// Timeout for a completion.
    pub request_timeout: Duration,
    /// The policies and the typist; `None` if the completions are only requested.
    pub developer: Option<DeveloperSettings>,
    /// True if the developer types the holes, too.
    pub types: bool,
    /// True if TypeScript's checker looks at the completions.
    pub type_check: bool,
    /// The telemetry store; `None` disables recording.
    pub telemetry: Option<PathBuf>,
    /// The run's folder, or that of all parts; `None` for one in `runs/`.
    pub out: Option<PathBuf>,
    /// Part of the holes that is replayed; `None` for all.
    pub partition: Option<Partition>,
    /// Settings for running tests.
    pub execution: ExecutionPlan,
    /// Number of concurrent model requests, apart from the jobs; `None` if each job requests a
    /// completion and then judges it.
    pub connections: Option<usize>,
}

impl ReplayPlan {
    /// Timeout for a completion unless another is set.
    pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// A plan to mine holes and request one completion at each, with the settings' own context.
    pub fn new(
        corpus: PathBuf,
        selection: HoleSelection,
        models: Vec<String>,
        execution: ExecutionPlan,
    ) -> Self {
        Self {
            corpus,
            tasks: None,
            selection,
            samples: None,
            models,
            is_comparison: false,
            predictions: None,
            deveval: false,
            contexts: Vec::new(),
            views: Vec::new(),
            repair_rounds: 0,
            request_timeout: Self::REQUEST_TIMEOUT,
            developer: None,
            types: false,
            type_check: false,
            telemetry: None,
            out: None,
            partition: None,
            execution,
            connections: None,
        }
    }

    /// The models under test.
    pub(super) fn subjects(&self) -> SubjectSelection<'_> {
        SubjectSelection {
            models: &self.models,
            is_comparison: self.is_comparison,
            predictions: self.predictions.as_deref(),
            deveval: self.deveval,
            contexts: &self.contexts,
            views: &self.views,
            repair_rounds: self.repair_rounds,
        }
    }

    /// The developer if holes are typed.
    pub(super) fn typing_developer(&self) -> Option<&DeveloperSettings> {
        self.developer.as_ref().filter(|_| self.types)
    }

    /// Everything that the figures depend on, so that a folder never holds two different runs.
    ///
    /// # Errors
    /// The predictions can't be read.
    pub(super) fn identity(
        &self,
        projects: &BTreeMap<String, Value>,
        tasks: Option<&[Hole]>,
        subject: &ModelUnderTest,
        corpus: &str,
    ) -> Result<Value, PlayError> {
        let predictions = match subject.predictions() {
            Some(predictions) => {
                let path = &predictions.path;
                let bytes = std::fs::read(path).map_err(PlayError::file(path))?;
                Some(sha256_hex(&bytes))
            }
            None => None,
        };
        let mut identity = json!({
            "program": env!("CARGO_PKG_VERSION"),
            "corpus": corpus,
            "projects": projects,
            "holes": self.identity_of_holes(tasks),
            "samples": self.samples.or(subject.predictions().is_none().then_some(1)),
            "model": subject.name,
            "configuration": subject.configuration,
            "predictions": predictions,
            "request_timeout": self.request_timeout.as_secs(),
        });
        // Options are added only if they are set: runs made before an option existed keep their
        // identity.
        if self.type_check {
            identity["types"] = json!(true);
        }
        if subject.paper.is_some() || subject.is_verbatim() {
            identity["context"] = subject.context_name().into();
        }
        if subject.view != CodeView::Finished {
            identity["view"] = subject.view.to_string().into();
        }
        if self.deveval {
            identity["deveval"] = true.into();
        }
        if self.repair_rounds > 0 {
            identity["repair_rounds"] = self.repair_rounds.into();
        }
        // Policies that are only compared with the completions afterwards make no other run.
        if let Some(developer) = self.typing_developer() {
            // A number that is read back may differ in its last digit, a hash does not.
            let policies = developer.policies.iter();
            let names: Vec<String> = policies.map(|policy| policy.name()).collect();
            let hash = sha256_hex(json!(developer).to_string().as_bytes());
            identity["typing"] = json!({"policies": names, "sha256": hash});
        }
        Ok(identity)
    }

    /// A subject's name among the subjects of the plan: its model, its context and its view, as far
    /// as there are several.
    pub(super) fn title(&self, subject: &ModelUnderTest) -> String {
        let presentations = self.contexts.len().max(1) * self.views.len().max(1);
        match subject.label() {
            None => subject.title(),
            Some(label) if presentations == 1 => label.to_owned(),
            Some(label) => format!("{label}-{}", subject.title()),
        }
    }

    /// The folder of all runs, if they have one: the one that was named, or of a comparison one in
    /// `runs/` that depends on everything but the models.
    fn comparison_folder(&self, identity: &Value) -> Result<Option<PathBuf>, PlayError> {
        if self.out.is_some() || !self.is_comparison {
            return Ok(self.out.clone());
        }
        let mut holes = identity.clone();
        if let Some(members) = holes.as_object_mut() {
            for of_model in ["model", "configuration", "predictions", "context"] {
                members.shift_remove(of_model);
            }
        }
        let short = &sha256_hex(holes.to_string().as_bytes())[..8];
        let corpus = file_name_part(identity["corpus"].as_str().unwrap_or_default());
        Ok(Some(
            Path::new("runs").join(format!("{corpus}-comparison-{short}")),
        ))
    }

    fn identity_of_holes(&self, tasks: Option<&[Hole]>) -> Value {
        if let Some(tasks) = tasks {
            let ids: Vec<&str> = tasks.iter().map(|hole| hole.id.as_str()).collect();
            return json!({"tasks": sha256_hex(ids.join("\0").as_bytes())});
        }
        let selection = &self.selection;
        let mut holes = json!({
            "holes": selection.holes,
            "seed": selection.seed,
            "kinds": selection.kinds,
        });
        if let Some(least) = selection.min_mutation_score {
            holes["min_mutation_score"] = json!(least);
        }
        if let Some(since) = &selection.since {
            holes["since"] = json!(since);
        }
        if selection.fast_files {
            holes["fast_files"] = true.into();
        }
        holes
    }

    /// Opens the run that the plan names, or the unfinished one of the same identity in `runs/`,
    /// or begins a new one there. If there are several subjects, each has a folder with its
    /// [title](Self::title). A part of a run has a folder among those of the other parts.
    ///
    /// # Errors
    /// The folder holds another run, or can't be written to.
    pub(super) fn open_run(
        &self,
        one_of_several: Option<&ModelUnderTest>,
        identity: &Value,
    ) -> Result<Run, PlayError> {
        let title = one_of_several.map(|subject| self.title(subject));
        if let Some(folder) = &self.comparison_folder(identity)? {
            let folder = match title {
                Some(title) => folder.join(title),
                None => folder.clone(),
            };
            if let Some(partition) = self.partition {
                return Ok(Run::begin_part(&folder, partition, identity)?);
            }
            return Ok(Run::open_or_begin(&folder, identity)?);
        }
        let short = &sha256_hex(identity.to_string().as_bytes())[..8];
        let part = |key: &str| file_name_part(identity[key].as_str().unwrap_or_default());
        let title = title.map_or_else(String::new, |title| format!("{title}-"));
        let name = format!("{}-{}-{title}{short}", part("corpus"), part("model"));
        // A finished run is not continued: the same command again begins another.
        for attempt in 1.. {
            let folder = match attempt {
                1 => Path::new("runs").join(&name),
                _ => Path::new("runs").join(format!("{name}-{attempt}")),
            };
            let run = Run::open_or_begin(&folder, identity)?;
            if !run.is_finished()? {
                return Ok(run);
            }
        }
        Err(PlayError::Refused("runs/ is full".to_owned()))
    }
}

/// A name with nothing in it that a file's name can't have.
fn file_name_part(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.replace(|c| !is_plain(c), "-")
}
