//! One engine for each model that may answer, all over one repository: it is read and indexed
//! once, whoever answers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::repository::{Indexed, Repository};
use super::trial::{self, Assigned, Keys};
use super::{Completion, Engine, EngineError, Retrieved, Trigger};
use crate::configuration::{Configuration, DEFAULT, TrialSettings};
use crate::context::Given;
use crate::documents::Snapshot;
use crate::model::embeddings::{self, Embeddings};
use crate::model::{self, Model, ModelError, Protocol};
use crate::text::ByteOffset;

/// The engines of a server, under one configuration.
#[derive(Debug)]
pub struct Engines {
    configuration: Configuration,
    /// In the order of [`Configuration::answering_models`]; never empty.
    engines: Vec<Arc<Engine>>,
    shared: Arc<Shared>,
}

/// What stays when another of the models is put in use.
#[derive(Debug)]
struct Shared {
    repository: Arc<Repository>,
    /// Where vectors come from, where the profile needs them.
    embeddings: Option<Arc<Embeddings>>,
    /// What a model is drawn for in a trial by session.
    session: String,
    /// Every model that was opened, so that none is opened, or taught, twice.
    opened: Mutex<Vec<(model::Settings, Arc<dyn Model>)>>,
    /// By document: the names of those who were asked last.
    asked: Mutex<HashMap<String, Vec<String>>>,
    /// When a document was last edited, while somebody waits for a pause after it.
    last_edit: Mutex<Option<Instant>>,
}

/// How long nobody types before changes are taken in.
const PAUSE: Duration = Duration::from_millis(250);

impl Engines {
    /// Engines for these folders. They know nothing of them until [`Engines::index`]. `session`
    /// is what a model is drawn for in a trial by session.
    ///
    /// # Errors
    /// A model's settings can't be used, or there is no room for an index.
    pub fn open(
        configuration: Configuration,
        folders: Vec<PathBuf>,
        session: &str,
    ) -> Result<Self, EngineError> {
        let repository = Repository::new(folders, configuration.context.profile)?;
        let context = &configuration.context;
        let embeddings = if context.profile.needs_vectors() {
            let environment = |name: &str| std::env::var(name).ok();
            let cache = embeddings::cache_folder(&environment);
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
            asked: Mutex::default(),
            last_edit: Mutex::default(),
        });
        shared.open(&configuration)?;
        Ok(Self::over(shared, configuration, &[]))
    }

    /// Says whether the models of a configuration can be opened.
    ///
    /// # Errors
    /// One of them can't.
    pub fn check(configuration: &Configuration) -> Result<(), EngineError> {
        for contestant in configuration.answering_models() {
            opened(&contestant.name, &contestant.configuration.model)?;
        }
        Ok(())
    }

    /// Engines under other settings over the same repository, at once; nothing where a model has
    /// to be opened first or what is known of the repository would be another.
    pub fn tuned(&self, configuration: &Configuration) -> Option<Self> {
        let all = configuration.answering_models().iter().all(|contestant| {
            let settings = &contestant.configuration.model;
            settings.check().is_ok() && self.shared.model(settings).is_some()
        });
        (all && self.knows_enough_for(configuration)).then(|| {
            let shared = Arc::clone(&self.shared);
            Self::over(shared, configuration.clone(), &self.engines)
        })
    }

    /// Engines under other settings over the same repository, with the models that it takes
    /// opened, and taught what is known of the repository; nothing where that would be another.
    /// It may run a command for a key and read every file, so it is for the background. Documents
    /// that are open have to be noted again by [`Engines::document_opened`].
    ///
    /// # Errors
    /// A model's settings can't be used.
    pub fn switched(&self, configuration: &Configuration) -> Result<Option<Self>, EngineError> {
        if !self.knows_enough_for(configuration) {
            return Ok(None);
        }
        self.shared.open(configuration)?;
        Ok(self.tuned(configuration))
    }

    /// Whether what is known of the repository serves these settings.
    fn knows_enough_for(&self, configuration: &Configuration) -> bool {
        self.configuration.context.profile == configuration.context.profile
            && self.configuration.context.embeddings == configuration.context.embeddings
    }

    /// Engines for models that have been opened. Earlier ones of the same names lend what they
    /// have answered.
    fn over(shared: Arc<Shared>, configuration: Configuration, earlier: &[Arc<Engine>]) -> Self {
        let engines = configuration.answering_models().into_iter();
        let engines = engines.filter_map(|contestant| {
            let model = shared.model(&contestant.configuration.model)?;
            let typing = earlier
                .iter()
                .find(|engine| engine.name == contestant.name)
                .map(|engine| Arc::clone(&engine.typing));
            let (repository, embeddings) = (&shared.repository, &shared.embeddings);
            Some(Arc::new(Engine::new(
                contestant,
                model,
                Arc::clone(repository),
                embeddings.clone(),
                typing,
            )))
        });
        Self {
            engines: engines.collect(),
            configuration,
            shared,
        }
    }

    /// The settings in force.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The settings that a completion of theirs came about under, with its model as the one there
    /// is; of a pair, the first one's.
    pub fn configuration_of(&self, completion: &Completion) -> &Configuration {
        let mut engines = self.engines.iter();
        let engine = engines.find(|engine| engine.name == completion.trace.named);
        &engine.unwrap_or(&self.engines[0]).configuration
    }

    /// Who answers and how, in a few words for people.
    pub fn about(&self) -> String {
        match self.configuration.trial() {
            None => format!("model {}", self.engines[0].about()),
            Some(trial) if trial.blind => format!(
                "a blind trial of {} models by {}",
                self.engines.len(),
                trial.unit
            ),
            Some(trial) => {
                let models = self.engines.iter();
                let models: Vec<_> = models
                    .map(|engine| format!("{}: {}", engine.name, engine.about()))
                    .collect();
                format!("a trial by {} of {}", trial.unit, models.join("; "))
            }
        }
    }

    /// The name of who answers, or in a trial who answered last in a document; nothing before the
    /// first answer, and nothing in a blind trial.
    pub fn answering(&self, uri: Option<&str>) -> Option<String> {
        match self.configuration.trial() {
            None => Some(self.engines[0].name.clone()),
            Some(trial) if trial.blind => None,
            Some(_) => {
                let asked = self.shared.asked.lock();
                uri.and_then(|uri| asked.get(uri))
                    .map(|names| names.join(", "))
            }
        }
    }

    /// Reads the whole repository. `progress` is told (files done, files in all) now and then.
    ///
    /// # Errors
    /// The index can't take the files in.
    pub fn index(&self, progress: impl FnMut(usize, usize)) -> Result<Indexed, EngineError> {
        self.shared.repository.read(progress)
    }

    /// Takes note of an open document as it stands now: when it was opened, or when other engines
    /// saw its edits.
    pub fn document_opened(&self, document: &Snapshot) {
        self.shared.repository.document_changed(document);
    }

    /// Takes note of an edit of an open document.
    pub fn document_edited(&self, before: &Snapshot, after: &Arc<Snapshot>) {
        self.shared.repository.document_changed(after);
        // Each of them learns of the person's rhythm, whoever is asked.
        let accepted = self
            .engines
            .iter()
            .filter_map(|engine| engine.document_edited(before, after))
            .fold(None, |_, cursor| Some(cursor));
        self.settle_soon();
        if let Some(cursor) = accepted
            && self.configuration.typing.ahead
        {
            // Drawn as the request to come will be, which then finds its answer under way.
            let asked = self.drawn(after, cursor);
            for engine in &asked {
                engine.ask_ahead(after, cursor);
            }
        }
    }

    /// Takes changes in when the person pauses, so that the next request need not.
    fn settle_soon(&self) {
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
                let mut last = shared.last_edit.lock();
                if last.is_none_or(|last| last.elapsed() >= PAUSE) {
                    *last = None;
                    break;
                }
            }
            let settled = tokio::task::spawn_blocking(move || shared.repository.settle()).await;
            if let Err(error) = settled {
                tracing::error!(%error, "taking changes in broke off");
            }
        });
    }

    /// Forgets what goes on in a document that was closed.
    pub fn document_closed(&self, uri: &str) {
        for engine in &self.engines {
            engine.document_closed(uri);
        }
        self.shared.asked.lock().remove(uri);
    }

    /// Takes note that a file or folder changed on disk, was made or was removed. What may no
    /// longer be seen is forgotten at once. Gives the folder in which there may be files to see
    /// that are not known yet, where there is one: it is for [`Engines::discover`].
    pub fn file_changed(&self, path: &Path) -> Option<PathBuf> {
        self.shared.repository.file_changed(path)
    }

    /// Takes note of the files in a folder that may be seen and are not known yet. It reads the
    /// whole workspace, so it is for the background.
    pub fn discover(&self, folder: &Path) {
        self.shared.repository.discover(folder);
    }

    /// Completes at a cursor. A document the rules hide gets nothing, and the trace says why.
    pub async fn complete(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        trigger: Trigger,
        given: &Given,
    ) -> Completion {
        let asked = self.asked(document, cursor, given);
        let names = asked.iter().map(|engine| engine.name.clone()).collect();
        self.shared.asked.lock().insert(document.uri.clone(), names);
        let completions = asked
            .iter()
            .map(|engine| engine.complete(document, cursor, trigger, given));
        let completions = futures::future::join_all(completions).await;
        self.together(completions)
    }

    /// Completes at a cursor without regard to what was answered before: for an explanation.
    pub async fn explain(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &Given,
    ) -> Completion {
        let asked = self.drawn(document, cursor);
        let completions = asked
            .iter()
            .map(|engine| engine.explain(document, cursor, given));
        let completions = futures::future::join_all(completions).await;
        self.together(completions)
    }

    /// The windows for a place, without a completion there.
    pub async fn retrieve(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &Given,
    ) -> Retrieved {
        let asked = self.drawn(document, cursor);
        asked[0].retrieve(document, cursor, given).await
    }

    /// Who is asked at a place. Those who were asked last in the document stay while what they
    /// answered holds: what a person sees while typing on is one completion, of one model.
    fn asked(&self, document: &Snapshot, cursor: ByteOffset, given: &Given) -> Vec<&Arc<Engine>> {
        if self.engines.len() > 1 {
            let last = self.shared.asked.lock().get(&document.uri).cloned();
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

    /// Who is drawn for a place.
    fn drawn(&self, document: &Snapshot, cursor: ByteOffset) -> Vec<&Arc<Engine>> {
        let Some(trial) = self.configuration.trial() else {
            return vec![&self.engines[0]];
        };
        let path = self.shared.repository.relative_path(document);
        let path = path.as_deref().unwrap_or(&document.uri);
        let before = document.text.slice(ByteOffset(0)..cursor);
        let after = document.text.slice(cursor..document.text.len());
        let keys = Keys {
            place: [path, &before, &after],
            session: &self.shared.session,
            now: SystemTime::now(),
        };
        let drawn = trial::assign(trial, keys).into_iter();
        drawn.map(|index| &self.engines[index]).collect()
    }

    /// One completion of what one model answered, or two.
    fn together(&self, completions: Vec<Completion>) -> Completion {
        match self.configuration.trial() {
            None => completions.into_iter().next().unwrap_or_default(),
            Some(trial) => together(trial, completions),
        }
    }
}

/// One completion of what those who were asked in a trial answered, in their order. Of each of
/// several, the best candidate; of one text, one candidate.
fn together(trial: &TrialSettings, completions: Vec<Completion>) -> Completion {
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
    trace.trial = Some(Assigned {
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
    /// The model of these settings, if it has been opened.
    fn model(&self, settings: &model::Settings) -> Option<Arc<dyn Model>> {
        let opened = self.opened.lock();
        let same = opened.iter().find(|(other, _)| same_model(other, settings));
        same.map(|(_, model)| Arc::clone(model))
    }

    /// Opens those models of a configuration that are not open yet, and teaches them the
    /// repository.
    fn open(&self, configuration: &Configuration) -> Result<(), EngineError> {
        for contestant in configuration.answering_models() {
            let settings = contestant.configuration.model;
            let sound = settings.check();
            sound.map_err(|source| of_name(&contestant.name, source))?;
            if self.model(&settings).is_none() {
                let model = opened(&contestant.name, &settings)?;
                self.repository.teach(&model);
                self.opened.lock().push((settings, model));
            }
        }
        Ok(())
    }
}

/// Opens a model that has this name in the configuration.
fn opened(name: &str, settings: &model::Settings) -> Result<Arc<dyn Model>, EngineError> {
    let opened = model::open(settings, &|variable| std::env::var(variable).ok());
    opened.map_err(|source| of_name(name, source))
}

/// Says which model is at fault, where it is not `[model]`.
fn of_name(name: &str, source: ModelError) -> EngineError {
    match name {
        DEFAULT => source.into(),
        _ => EngineError::Named {
            name: name.to_owned(),
            source,
        },
    }
}

/// Whether two settings mean one model, however it generates.
fn same_model(a: &model::Settings, b: &model::Settings) -> bool {
    if a.protocol == Protocol::Embedded && b.protocol == Protocol::Embedded {
        // What it has learnt is all there is to it.
        return true;
    }
    let generating_as_b = model::Settings {
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
