//! The pipeline from a cursor to candidates, with a trace of every step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cleanup::{self, Decision, Place};
use crate::configuration::{Configuration, Profile};
use crate::context::{self, Index, IndexError, Query, Window};
use crate::documents::Snapshot;
use crate::model::{self, Model, ModelError};
use crate::prompt;
use crate::syntax::Language;
use crate::text::ByteOffset;
use crate::workspace::{self, Reason, Visibility, Workspace};

/// Everything a server needs to answer, under one set of settings.
#[derive(Debug)]
pub struct Engine {
    configuration: Configuration,
    repository: Arc<Repository>,
}

/// What is known of a repository, and the model that may have learnt from it.
#[derive(Debug)]
struct Repository {
    /// The first folder's name.
    name: String,
    workspace: Workspace,
    model: Arc<dyn Model>,
    index: Index,
    /// Files whose contents changed since the index last saw them; nothing means gone. They are
    /// taken in by the next request for another file, so that typing costs no indexing.
    pending: Mutex<BTreeMap<String, Option<String>>>,
    /// The files that the index and the model have taken in.
    known: Mutex<BTreeSet<String>>,
}

/// What one request came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completion {
    /// Candidates after clean-up, best first, none of them empty, no two alike.
    pub candidates: Vec<String>,
    /// How they came about.
    pub trace: Trace,
}

/// How a completion came about, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The model's name.
    pub model: String,
    /// The windows of other files that the model was given, best first.
    pub windows: Vec<Window>,
    /// What was sent to the model.
    pub prompt: String,
    /// Each candidate as the model gave it, and what clean-up removed.
    pub steps: Vec<Step>,
    /// Why there is nothing to show, where there is nothing.
    pub nothing: Option<String>,
    /// What kept the model from answering, where something did: a fault of the machinery, which
    /// says nothing of the model's skill.
    pub fault: Option<String>,
    /// Milliseconds spent finding windows.
    pub context_ms: f64,
    /// Milliseconds the model took.
    pub model_ms: f64,
    /// Milliseconds clean-up took.
    pub cleanup_ms: f64,
}

/// One candidate on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// As the model gave it.
    pub raw: String,
    /// What the rules removed, in order.
    pub decisions: Vec<Decision>,
}

/// Why an engine can't be had or can't index.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model's settings can't be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The index can't be made.
    #[error("the index of the repository can't be built: {0}")]
    Index(#[from] IndexError),
}

/// What indexing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many files were taken in.
    pub files: usize,
    /// How many were left out because they could not be read.
    pub unreadable: usize,
}

impl Engine {
    /// An engine for these folders. It knows nothing of them until [`Engine::index`].
    ///
    /// # Errors
    /// The model's settings can't be used, or there is no room for an index.
    pub fn open(configuration: Configuration, folders: Vec<PathBuf>) -> Result<Self, EngineError> {
        let repository = Repository {
            name: folders
                .first()
                .and_then(|folder| folder.file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            model: model::open(&configuration.model, &|name| std::env::var(name).ok())?,
            workspace: Workspace::new(folders),
            index: Index::new()?,
            pending: Mutex::default(),
            known: Mutex::default(),
        };
        Ok(Self {
            configuration,
            repository: Arc::new(repository),
        })
    }

    /// The same engine under other settings, where only the way of generating differs; nothing
    /// where the model or what it learns from would be another.
    pub fn tuned(&self, configuration: &Configuration) -> Option<Self> {
        let same = same_model(&self.configuration.model, &configuration.model)
            && self.configuration.context.profile == configuration.context.profile;
        same.then(|| Self {
            configuration: configuration.clone(),
            repository: Arc::clone(&self.repository),
        })
    }

    /// The settings in force.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Reads the whole repository. `progress` is told (files done, files in all) now and then.
    ///
    /// # Errors
    /// The index can't take the files in.
    pub fn index(&self, mut progress: impl FnMut(usize, usize)) -> Result<Indexed, EngineError> {
        let mut indexed = Indexed::default();
        if self.configuration.context.profile == Profile::None {
            return Ok(indexed);
        }
        let files = self.repository.workspace.files();
        for (done, file) in files.iter().enumerate() {
            progress(done, files.len());
            match self.repository.workspace.read(file) {
                Ok(contents) => {
                    self.take_in(&file.path, Some(&contents))?;
                    indexed.files += 1;
                }
                Err(error) => {
                    tracing::debug!(path = file.path, %error, "a file could not be read");
                    indexed.unreadable += 1;
                }
            }
        }
        self.repository.index.commit()?;
        progress(files.len(), files.len());
        Ok(indexed)
    }

    /// Takes note that an open document changed: unsaved text counts as the file.
    pub fn document_changed(&self, document: &Snapshot) {
        let Some(path) = document.path.as_deref() else {
            return;
        };
        let workspace = &self.repository.workspace;
        if let Visibility::Visible(relative) = workspace.visibility_of_path(path) {
            self.note(relative, Some(document.text.to_string()));
        }
    }

    /// Takes note that a file or folder changed on disk, was made or was removed. What may no
    /// longer be seen is forgotten at once. Gives the folder in which there may be files to see
    /// that are not known yet, where there is one: it is for [`Engine::discover`].
    pub fn file_changed(&self, path: &Path) -> Option<PathBuf> {
        let workspace = &self.repository.workspace;
        let relative = workspace.relative(path)?;
        if workspace::is_ignore_file(path) {
            let folder = path.parent()?;
            let inner = relative
                .rsplit_once('/')
                .map_or(0, |(above, _)| above.len() + 1);
            self.recheck(folder, &relative[..inner]);
            return self.may_hold_files(folder);
        }
        match workspace.visibility(path) {
            Visibility::Visible(_) => {
                self.note(relative, std::fs::read_to_string(path).ok());
                None
            }
            Visibility::Hidden(_) => {
                if self.knows(&relative) {
                    self.note(relative.clone(), None);
                }
                // Editors tell of a folder that is moved or removed, and not of its files.
                self.recheck(path, &format!("{relative}/"));
                self.may_hold_files(path)
            }
        }
    }

    /// The folder, if it is one whose files may be seen by its place and name.
    fn may_hold_files(&self, folder: &Path) -> Option<PathBuf> {
        // No language is known for such a file, which is asked for last.
        let inside = self
            .repository
            .workspace
            .visibility_of_path(&folder.join("file"));
        (folder.is_dir() && inside == Visibility::Hidden(Reason::Language))
            .then(|| folder.to_owned())
    }

    /// Takes note of the files in a folder that may be seen and are not known yet. It reads the
    /// whole workspace, so it is for the background.
    pub fn discover(&self, folder: &Path) {
        let workspace = &self.repository.workspace;
        for file in workspace.files() {
            if file.absolute.starts_with(folder)
                && !self.knows(&file.path)
                && let Ok(contents) = workspace.read(&file)
            {
                self.note(file.path, Some(contents));
            }
        }
    }

    /// Completes at a cursor. A document the rules hide gets nothing, and the trace says why.
    pub async fn complete(&self, document: &Snapshot, cursor: ByteOffset) -> Completion {
        let mut trace = Trace {
            model: self.repository.model.name().to_owned(),
            ..Trace::default()
        };
        let path = match self.relative_path(document) {
            Ok(path) => path,
            Err(reason) => {
                trace.nothing = Some(reason);
                return Completion {
                    candidates: Vec::new(),
                    trace,
                };
            }
        };
        let prefix = document.text.slice(ByteOffset(0)..cursor);
        let suffix = document.text.slice(cursor..document.text.len());

        let started = Instant::now();
        trace.windows = match self.windows(&path, &prefix, &suffix, document.language) {
            Ok(windows) => windows,
            Err(error) => {
                tracing::warn!(%error, "no windows for this request");
                Vec::new()
            }
        };
        trace.context_ms = milliseconds(started.elapsed());

        let request = model::Request {
            prefix,
            suffix,
            path,
            repository: self.repository.name.clone(),
            language: document.language,
            windows: trace.windows.clone(),
            parameters: self.configuration.model.parameters(),
        };
        let started = Instant::now();
        let answer = self
            .repository
            .model
            .complete(&request, &model::Whole)
            .await;
        trace.model_ms = milliseconds(started.elapsed());

        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                trace.fault = Some(error.to_string());
                return Completion {
                    candidates: Vec::new(),
                    trace,
                };
            }
        };
        trace.prompt = answer.prompt;

        let started = Instant::now();
        let place = Place {
            prefix: &request.prefix,
            suffix: &request.suffix,
            language: request.language,
        };
        let mut candidates: Vec<String> = Vec::new();
        for candidate in answer.candidates {
            let (text, decisions) = cleanup::clean(&candidate.text, &place);
            trace.steps.push(Step {
                raw: candidate.text,
                decisions,
            });
            if !text.is_empty() && !candidates.contains(&text) {
                candidates.push(text);
            }
        }
        trace.cleanup_ms = milliseconds(started.elapsed());
        if candidates.is_empty() {
            trace.nothing = Some(nothing_left(&trace.steps));
        }
        Completion { candidates, trace }
    }

    /// The windows that help at a place, best first.
    fn windows(
        &self,
        path: &str,
        prefix: &str,
        suffix: &str,
        language: Option<&'static Language>,
    ) -> Result<Vec<Window>, EngineError> {
        let Some(language) = language else {
            return Ok(Vec::new());
        };
        if self.configuration.context.profile == Profile::None {
            return Ok(Vec::new());
        }
        self.catch_up(path)?;
        let query = Query {
            path,
            prefix,
            suffix,
            language,
        };
        let windows = self
            .repository
            .index
            .retrieve(&query, self.configuration.context.windows)?;
        Ok(context::budget(
            windows,
            prompt::windows_budget(self.configuration.model.context_tokens),
            prompt::approximate_tokens,
        ))
    }

    /// Takes in what changed in every file but the one that is being completed: its own text is
    /// in the request.
    fn catch_up(&self, current: &str) -> Result<(), EngineError> {
        let changed: Vec<(String, Option<String>)> = {
            let mut pending = self.pending();
            let kept = pending.remove_entry(current);
            let changed = std::mem::take(&mut *pending).into_iter().collect();
            pending.extend(kept);
            changed
        };
        if changed.is_empty() {
            return Ok(());
        }
        for (path, contents) in changed {
            self.take_in(&path, contents.as_deref())?;
        }
        Ok(self.repository.index.commit()?)
    }

    /// Forgets the files in a folder that may no longer be seen; `prefix` is what their relative
    /// paths begin with.
    fn recheck(&self, folder: &Path, prefix: &str) {
        let mut paths: BTreeSet<String> = self
            .known()
            .range(prefix.to_owned()..)
            .take_while(|path| path.starts_with(prefix))
            .cloned()
            .collect();
        paths.extend(
            self.pending()
                .range(prefix.to_owned()..)
                .take_while(|(path, _)| path.starts_with(prefix))
                .map(|(path, _)| path.clone()),
        );
        for path in paths {
            let absolute = folder.join(&path[prefix.len()..]);
            if let Visibility::Hidden(_) = self.repository.workspace.visibility(&absolute) {
                self.note(path, None);
            }
        }
    }

    /// Whether a file has been taken in or will be.
    fn knows(&self, path: &str) -> bool {
        match self.pending().get(path) {
            Some(contents) => contents.is_some(),
            None => self.known().contains(path),
        }
    }

    /// Gives one file's contents to the index and to the model.
    fn take_in(&self, path: &str, contents: Option<&str>) -> Result<(), EngineError> {
        self.repository.model.observe(path, contents);
        if contents.is_some() {
            self.known().insert(path.to_owned());
        } else {
            self.known().remove(path);
        }
        match (contents, Language::for_path(Path::new(path))) {
            (Some(contents), Some(language)) => {
                self.repository.index.update(path, contents, language)?
            }
            _ => self.repository.index.remove(path)?,
        }
        Ok(())
    }

    /// Marks a file as changed.
    fn note(&self, path: String, contents: Option<String>) {
        if self.configuration.context.profile != Profile::None {
            self.pending().insert(path, contents);
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.repository
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.repository
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The path a document goes by, or why it may not be sent to a model.
    fn relative_path(&self, document: &Snapshot) -> Result<String, String> {
        let Some(path) = document.path.as_deref() else {
            // An untitled buffer belongs to no file, so no rule of a repository hides it.
            return Ok(document.uri.clone());
        };
        match self.repository.workspace.visibility_of_path(path) {
            Visibility::Visible(relative) => Ok(relative),
            // A file outside every folder, or in a language of which no grammar is known, holds
            // no secret by that.
            Visibility::Hidden(Reason::Outside | Reason::Language) => Ok(path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()),
            Visibility::Hidden(reason) => {
                Err(format!("this file is not sent to a model: {reason}"))
            }
        }
    }
}

/// Whether two settings mean one model, however it generates.
fn same_model(a: &model::Settings, b: &model::Settings) -> bool {
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

/// Why no candidate is left after clean-up.
fn nothing_left(steps: &[Step]) -> String {
    let cut = steps
        .iter()
        .flat_map(|step| &step.decisions)
        .map(|decision| decision.rule.as_str())
        .next();
    match cut {
        Some(rule) => format!("clean-up left nothing of the model's text (rule `{rule}`)"),
        None => "the model had nothing to say".to_owned(),
    }
}

/// A duration in milliseconds.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
