//! One engine for each model that may complete, all over one repository, which is read and indexed
//! once.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::engine::{EngineError, ModelEngine, Trigger};
use super::gate::FittedGate;
use super::repository::{IndexSummary, RepositoryState};
use super::retrieval::RetrievedWindows;
use super::trace::Completion;
use super::trial::{self, DrawKeys, TrialAssignment};
use crate::configuration::{Configuration, DEFAULT, TrialSettings};
use crate::context::GivenContext;
use crate::documents::{Snapshot, TextChange};
use crate::folders::cache_folder;
use crate::model::embeddings::Embeddings;
use crate::model::{self, Model, ModelError, Protocol};
use crate::text::ByteOffset;

/// The engines of a server, under one configuration.
#[derive(Debug)]
pub struct Engines {
    configuration: Configuration,
    /// In the order of [`Configuration::answering_models`]; never empty.
    engines: Vec<Arc<ModelEngine>>,
    shared: Arc<Shared>,
}

/// State that is kept when the models change.
#[derive(Debug)]
struct Shared {
    repository: Arc<RepositoryState>,
    /// The source of vectors, if the profile needs one.
    embeddings: Option<Arc<Embeddings>>,
    /// The session, for drawing a model in a trial by session.
    session: String,
    /// Every opened model, so that no model is opened, or learns the repository, twice.
    opened: Mutex<Vec<(model::ModelSettings, Arc<dyn Model>)>>,
    /// The gate that was opened last, with its path.
    gate: Mutex<Option<(PathBuf, Arc<FittedGate>)>>,
    /// By document: the names of the models called last.
    called: Mutex<HashMap<String, Vec<String>>>,
    /// Time of the last change of a document or file, while a task waits for a pause after it.
    last_edit: Mutex<Option<Instant>>,
}

/// The pause in edits and changes of files after which they are indexed.
const PAUSE: Duration = Duration::from_millis(250);

impl Engines {
    /// Opens engines for these folders, which [`Engines::index`] reads. A trial by session draws a
    /// model for `session`.
    ///
    /// # Errors
    /// A model's settings are invalid, or the index can't be created.
    pub fn open(
        configuration: Configuration,
        folders: Vec<PathBuf>,
        session: &str,
    ) -> Result<Self, EngineError> {
        let context = &configuration.context;
        let environment = |name: &str| std::env::var(name).ok();
        let cache = cache_folder(&environment);
        let kept = cache.as_deref().filter(|_| context.keep_index);
        let repository = RepositoryState::new(folders, context.profile, kept)?;
        let embeddings = if context.profile.needs_vectors() {
            let embeddings = Embeddings::open(&context.embeddings, &environment, cache.as_deref())?;
            Some(Arc::new(embeddings))
        } else {
            None
        };
        let shared = Arc::new(Shared {
            repository: Arc::new(repository),
            embeddings,
            session: session.to_owned(),
            opened: Mutex::default(),
            gate: Mutex::default(),
            called: Mutex::default(),
            last_edit: Mutex::default(),
        });
        shared.open(&configuration)?;
        Ok(Self::over(shared, configuration, &[]))
    }

    /// Checks that the models of a configuration can be opened.
    ///
    /// # Errors
    /// One of them can't be opened.
    pub fn check(configuration: &Configuration) -> Result<(), EngineError> {
        for answering in configuration.answering_models() {
            open_model(&answering.name, &answering.configuration.model)?;
        }
        Ok(())
    }

    /// Returns engines with other settings over the same repository, without waiting. `None` if a
    /// model must be opened first or the repository must be indexed differently.
    pub fn with_settings(&self, configuration: &Configuration) -> Option<Self> {
        // A refused key is looked up again.
        self.shared
            .opened
            .lock()
            .retain(|(_, model)| !model.is_refused());
        self.serves(configuration).then(|| {
            let shared = Arc::clone(&self.shared);
            Self::over(shared, configuration.clone(), &self.engines)
        })
    }

    /// Returns engines for another session over the same repository and models, without waiting,
    /// and without this session's completions, typing and recent files. `None` if a model must be
    /// opened first or the repository must be indexed differently.
    pub fn for_session(&self, configuration: &Configuration, session: &str) -> Option<Self> {
        self.serves(configuration).then(|| {
            self.shared.repository.forget_recent();
            let shared = Arc::new(Shared {
                repository: Arc::clone(&self.shared.repository),
                embeddings: self.shared.embeddings.clone(),
                session: session.to_owned(),
                opened: Mutex::new(self.shared.opened.lock().clone()),
                gate: Mutex::new(self.shared.gate.lock().clone()),
                called: Mutex::default(),
                last_edit: Mutex::default(),
            });
            Self::over(shared, configuration.clone(), &[])
        })
    }

    /// Returns engines with other settings over the same repository. Opens further models, which
    /// learn the repository. `None` if the repository must be indexed differently. It may run a
    /// command for a key and read every file, so call it in the background. Afterwards, note open
    /// documents again with [`Engines::document_opened`].
    ///
    /// # Errors
    /// A model's settings are invalid.
    pub fn with_models(&self, configuration: &Configuration) -> Result<Option<Self>, EngineError> {
        if !self.index_serves(configuration) {
            return Ok(None);
        }
        self.shared.open(configuration)?;
        Ok(self.with_settings(configuration))
    }

    /// True if the models of other settings, and the way of drawing them, are the same.
    pub fn has_models_of(&self, configuration: &Configuration) -> bool {
        let models = |configuration: &Configuration| {
            let answering = configuration.answering_models().into_iter();
            let models: Vec<_> = answering
                .map(|one| (one.name, one.configuration.model))
                .collect();
            (models, configuration.trial().cloned())
        };
        models(&self.configuration) == models(configuration)
    }

    /// Ends every running model call, as other settings are in force.
    pub fn end_calls(&self) {
        for engine in &self.engines {
            engine.end_calls();
        }
    }

    /// True if the opened models and the index can be used with these settings.
    fn serves(&self, configuration: &Configuration) -> bool {
        let all = configuration.answering_models().iter().all(|answering| {
            let settings = &answering.configuration.model;
            settings.check().is_ok() && self.shared.model(settings).is_some()
        });
        let gate = self.shared.gate.lock().clone().map(|(path, _)| path);
        let same_gate = configuration.typing.gate.is_none() || configuration.typing.gate == gate;
        all && same_gate && self.index_serves(configuration)
    }

    /// True if the index can be used with these settings.
    fn index_serves(&self, configuration: &Configuration) -> bool {
        self.configuration.context.profile == configuration.context.profile
            && self.configuration.context.embeddings == configuration.context.embeddings
    }

    /// Creates engines for opened models. Earlier engines of the same names pass on their typing
    /// state.
    fn over(
        shared: Arc<Shared>,
        configuration: Configuration,
        earlier: &[Arc<ModelEngine>],
    ) -> Self {
        let gate = shared.gate.lock().clone().map(|(_, gate)| gate);
        let gate = gate.filter(|_| configuration.typing.gate.is_some());
        let engines = configuration.answering_models().into_iter();
        let engines = engines.filter_map(|answering| {
            let model = shared.model(&answering.configuration.model)?;
            let typing = earlier
                .iter()
                .find(|engine| engine.name == answering.name)
                .map(|engine| Arc::clone(&engine.typing));
            let (repository, embeddings) = (&shared.repository, &shared.embeddings);
            Some(Arc::new(ModelEngine::new(
                answering,
                model,
                Arc::clone(repository),
                embeddings.clone(),
                gate.clone(),
                typing,
            )))
        });
        Self {
            engines: engines.collect(),
            configuration,
            shared,
        }
    }

    /// Returns the settings in force.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the settings of the engine that made a completion, with its model as the only one;
    /// for a pair, the first one's.
    pub fn configuration_for(&self, completion: &Completion) -> &Configuration {
        let mut engines = self.engines.iter();
        let engine = engines.find(|engine| engine.name == completion.trace.named);
        &engine.unwrap_or(&self.engines[0]).configuration
    }

    /// True while a model's server may be loading its model.
    pub fn is_loading(&self) -> bool {
        self.engines.iter().any(|engine| engine.is_loading())
    }

    /// Describes the models and their prompts in a few words for people.
    pub fn describe(&self) -> String {
        match self.configuration.trial() {
            None => format!("model {}", self.engines[0].describe()),
            Some(trial) if trial.blind => format!(
                "a blind trial of {} models by {}",
                self.engines.len(),
                trial.unit
            ),
            Some(trial) => {
                let models = self.engines.iter();
                let models: Vec<_> = models
                    .map(|engine| format!("{}: {}", engine.name, engine.describe()))
                    .collect();
                format!("a trial by {} of {}", trial.unit, models.join("; "))
            }
        }
    }

    /// Returns the name for people of the model in use, or in a trial of those called last in a
    /// document. `None` before the first call, and in a blind trial.
    pub fn model_names(&self, uri: Option<&str>) -> Option<String> {
        match self.configuration.trial() {
            None => self.configuration.title_in_use(),
            Some(trial) if trial.blind => None,
            Some(_) => {
                let called = self.shared.called.lock();
                let names = uri.and_then(|uri| called.get(uri))?.iter();
                let titles: Vec<_> = names.map(|name| self.configuration.title(name)).collect();
                Some(titles.join(", "))
            }
        }
    }

    /// Indexes the whole repository. `progress` gets (files done, total files) repeatedly.
    ///
    /// # Errors
    /// The index failed.
    pub fn index(
        &self,
        progress: impl FnMut(usize, usize) + Send,
    ) -> Result<IndexSummary, EngineError> {
        Ok(self.shared.repository.read(progress)?)
    }

    /// Keeps the index for the next start. It writes to the disk, so call it in the background.
    pub fn keep_index(&self) {
        self.shared.repository.keep();
    }

    /// Records an open document's text: when it was opened, or when other engines recorded its
    /// edits.
    pub fn document_opened(&self, document: &Snapshot) {
        self.shared.repository.document_changed(document);
    }

    /// Records an edit of an open document: the document after it, and its changes.
    pub fn document_edited(&self, after: &Arc<Snapshot>, changes: &[TextChange]) {
        self.shared.repository.document_changed(after);
        // Each engine records the person's rhythm, even if it is not called.
        let accepted = self
            .engines
            // Every engine must receive the edit, so the iterator must not stop at the first
            // accept.
            .iter()
            .filter_map(|engine| engine.document_edited(after, changes))
            .fold(None, |_, cursor| Some(cursor));
        self.settle_soon();
        if let Some(cursor) = accepted
            && self.configuration.typing.ahead
        {
            // Drawn as for the editor's next request, which then joins the running call.
            for engine in self.drawn(after, cursor) {
                engine.request_ahead(after, cursor);
            }
        }
    }

    /// Indexes changes of other files after a pause in edits and changes, so that the next request
    /// need not.
    pub fn settle_soon(&self) {
        // A task that already waits reads the new time, and needs no second one.
        let waiting = self
            .shared
            .last_edit
            .lock()
            .replace(Instant::now())
            .is_some();
        if waiting {
            return;
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                // One lock covers the check and the reset, so that a later edit starts a new task.
                let mut last = shared.last_edit.lock();
                if last.is_none_or(|last| last.elapsed() >= PAUSE) {
                    *last = None;
                    break;
                }
            }
            let settled = tokio::task::spawn_blocking(move || shared.repository.settle()).await;
            if let Err(error) = settled {
                tracing::error!(%error, "indexing changes failed");
            }
        });
    }

    /// Drops the typing state of a closed document.
    pub fn document_closed(&self, uri: &str) {
        for engine in &self.engines {
            engine.document_closed(uri);
        }
        self.shared.called.lock().remove(uri);
    }

    /// Notes that a file or folder changed on disk, was created or was removed. It is read by the
    /// next request, or after a pause if there are many.
    pub fn file_changed(&self, path: &Path) {
        self.shared.repository.file_changed(path);
        self.settle_soon();
    }

    /// Hides the files of folders that were removed from the workspace, until engines for the other
    /// folders are open.
    pub fn remove_folders(&self, removed: &[PathBuf]) {
        self.shared.repository.remove_folders(removed);
    }

    /// Completes at a cursor. A hidden document gets no completion; the trace has the reason.
    pub async fn complete(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        trigger: Trigger,
        given: &GivenContext,
    ) -> Completion {
        let engines = self.chosen(document, cursor, given);
        let names = engines.iter().map(|engine| engine.name.clone()).collect();
        self.shared
            .called
            .lock()
            .insert(document.uri.clone(), names);
        let completions = engines
            .iter()
            .map(|engine| engine.complete(document, cursor, trigger, given));
        let completions = futures::future::join_all(completions).await;
        self.combine(completions)
    }

    /// Completes at a cursor without the cache, for an explanation.
    pub async fn explain(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> Completion {
        let engines = self.drawn(document, cursor);
        let completions = engines
            .iter()
            .map(|engine| engine.explain(document, cursor, given));
        let completions = futures::future::join_all(completions).await;
        self.combine(completions)
    }

    /// Returns the windows at a cursor, without completing.
    pub async fn retrieve(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> RetrievedWindows {
        let engines = self.drawn(document, cursor);
        engines[0].retrieve(document, cursor, given).await
    }

    /// Returns the engines to call at a cursor. Those called last in the document stay while their
    /// completion is valid, so that a person who types on sees one completion, of one model.
    fn chosen(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> Vec<&Arc<ModelEngine>> {
        if self.engines.len() > 1 {
            let last = self.shared.called.lock().get(&document.uri).cloned();
            let last = last.unwrap_or_default();
            let holding: Vec<_> = last
                .iter()
                .filter_map(|name| self.engines.iter().find(|engine| engine.name == *name))
                .filter(|engine| engine.holds(document, cursor, given))
                .collect();
            if !holding.is_empty() {
                return holding;
            }
        }
        self.drawn(document, cursor)
    }

    /// Returns the engines that are drawn at a cursor.
    fn drawn(&self, document: &Snapshot, cursor: ByteOffset) -> Vec<&Arc<ModelEngine>> {
        let Some(trial) = self.configuration.trial() else {
            return vec![&self.engines[0]];
        };
        // A hidden document has no relative path, and the draw needs some fixed key.
        let path = self.shared.repository.relative_path(document);
        let path = path.as_deref().unwrap_or(&document.uri);
        let prefix = document.text.slice(ByteOffset(0)..cursor);
        let suffix = document.text.slice(cursor..document.text.len());
        let keys = DrawKeys {
            cursor: [path, &prefix, &suffix],
            session: &self.shared.session,
            now: SystemTime::now(),
        };
        let drawn = trial::assign(trial, keys).into_iter();
        drawn.map(|index| &self.engines[index]).collect()
    }

    /// Combines the completions of one or two models.
    fn combine(&self, completions: Vec<Completion>) -> Completion {
        match self.configuration.trial() {
            None => completions.into_iter().next().unwrap_or_default(),
            Some(trial) => combine(trial, completions),
        }
    }
}

/// Combines the completions of the models drawn in a trial, in their order. Takes only the best
/// candidate of each if there are several models. Equal candidates count once.
fn combine(trial: &TrialSettings, completions: Vec<Completion>) -> Completion {
    let asked = completions
        .iter()
        .map(|completion| completion.trace.named.clone())
        .collect();
    let most = if completions.len() > 1 { 1 } else { usize::MAX };
    let mut candidates: Vec<String> = Vec::new();
    let mut whose = Vec::new();
    for (index, completion) in completions.iter().enumerate() {
        for candidate in completion.candidates.iter().take(most) {
            if !candidates.contains(candidate) {
                candidates.push(candidate.clone());
                whose.push(index);
            }
        }
    }
    let mut traces = completions.into_iter().map(|completion| completion.trace);
    let mut trace = traces.next().unwrap_or_default();
    trace.second = traces.next().map(Box::new);
    trace.trial = Some(TrialAssignment {
        models: trial.models.clone(),
        unit: trial.unit,
        seed: trial.seed,
        blind: trial.blind,
        asked,
        whose,
    });
    Completion { candidates, trace }
}

impl Shared {
    /// Returns the model of these settings, if it is open.
    fn model(&self, settings: &model::ModelSettings) -> Option<Arc<dyn Model>> {
        let opened = self.opened.lock();
        let same = opened.iter().find(|(other, _)| same_model(other, settings));
        same.map(|(_, model)| Arc::clone(model))
    }

    /// Opens the models of a configuration that are not open yet; they learn the repository.
    fn open(&self, configuration: &Configuration) -> Result<(), EngineError> {
        if let Some(path) = &configuration.typing.gate {
            let gate = Arc::new(FittedGate::load(path)?);
            *self.gate.lock() = Some((path.clone(), gate));
        }
        for answering in configuration.answering_models() {
            let settings = answering.configuration.model;
            let sound = settings.check();
            sound.map_err(|source| model_error(&answering.name, source))?;
            if self.model(&settings).is_none() {
                let model = open_model(&answering.name, &settings)?;
                self.repository.teach(&model);
                self.opened.lock().push((settings, model));
            }
        }
        Ok(())
    }
}

/// Opens a model that has this name in the configuration.
fn open_model(name: &str, settings: &model::ModelSettings) -> Result<Arc<dyn Model>, EngineError> {
    let opened = model::open(settings, &|variable| std::env::var(variable).ok());
    opened.map_err(|source| model_error(name, source))
}

/// Adds the name of the model with the error, unless it is `[model]`.
fn model_error(name: &str, source: ModelError) -> EngineError {
    match name {
        DEFAULT => source.into(),
        _ => EngineError::Named {
            name: name.to_owned(),
            source,
        },
    }
}

/// True if two settings mean the same model, ignoring generation parameters.
fn same_model(a: &model::ModelSettings, b: &model::ModelSettings) -> bool {
    if a.protocol == Protocol::Embedded && b.protocol == Protocol::Embedded {
        // Its learnt state does not depend on the settings.
        return true;
    }
    let generating_as_b = model::ModelSettings {
        max_tokens: b.max_tokens,
        temperature: b.temperature,
        top_p: b.top_p,
        seed: b.seed,
        timeout_ms: b.timeout_ms,
        candidates: b.candidates,
        ..a.clone()
    };
    generating_as_b == *b
}
