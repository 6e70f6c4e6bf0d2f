//! The pipeline from a cursor to candidates, with a trace of every step.
//!
//! What was answered before still holds while a person types its beginning, a model that is
//! already writing what the person types is not asked again, and a fast typist is let finish a
//! burst before a model is asked at all.

mod engines;
mod flight;
mod memory;
mod repository;
mod retrieval;
mod rhythm;
mod trace;
mod trial;

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tree_sitter::Tree;

use self::flight::{Flight, Heard, between};
use self::memory::{Answered, Asked, Memory};
use self::repository::Repository;
use self::retrieval::Found;
use crate::cleanup::{Cleaner, Extent, Place, Watch};
use crate::configuration::{AnsweringModel, Configuration};
use crate::context::{Given, IndexError, Window};
use crate::documents::Snapshot;
use crate::model::embeddings::Embeddings;
use crate::model::{self, Model, ModelError};
use crate::text::ByteOffset;

pub use engines::Engines;
pub use repository::Indexed;
pub use retrieval::Retrieved;
pub use rhythm::{ModelTime, Rhythm};
pub use trace::{Completion, Source, Step, Trace};
pub use trial::{Assigned, draw};

/// Everything that is needed to answer with one model under one set of settings.
#[derive(Debug)]
struct Engine {
    /// The model's name in the configuration.
    name: String,
    /// The settings, with this model as the one there is.
    configuration: Configuration,
    /// Tells these settings and this name from others.
    settings: u64,
    /// As [`Configuration::fingerprint`] has it.
    fingerprint: String,
    model: Arc<dyn Model>,
    repository: Arc<Repository>,
    /// Where vectors come from, where the profile needs them.
    embeddings: Option<Arc<Embeddings>>,
    typing: Arc<Typing>,
}

/// What goes on at the keyboard.
#[derive(Debug)]
struct Typing {
    /// The moment that times are counted from.
    start: Instant,
    memory: Mutex<Memory>,
    /// By document.
    desks: Mutex<HashMap<String, Desk>>,
    /// How long the model takes.
    model_time: Mutex<ModelTime>,
}

/// What goes on in one document.
#[derive(Debug, Default)]
struct Desk {
    rhythm: Rhythm,
    /// The newest model call.
    flight: Option<Arc<Flight>>,
    /// What was last offered while the person typed.
    offered: Option<Answered>,
}

/// How a request came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The person asked for it.
    Invoked,
    /// Typing did.
    Typing,
}

/// Why an engine can't be had or can't index.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model's settings can't be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Those of one with a name of its own can't.
    #[error("[models.{name}]: {source}")]
    Named {
        /// Its name.
        name: String,
        /// What is wrong.
        source: ModelError,
    },
    /// The index can't be made.
    #[error("the index of the repository can't be built: {0}")]
    Index(#[from] IndexError),
}

impl Engine {
    /// An engine for one model over a repository. With the typing of an earlier one of the same
    /// name, what that one answered still holds where the settings are the same.
    fn new(
        contestant: AnsweringModel,
        model: Arc<dyn Model>,
        repository: Arc<Repository>,
        embeddings: Option<Arc<Embeddings>>,
        typing: Option<Arc<Typing>>,
    ) -> Self {
        Self {
            settings: fingerprint(&contestant),
            fingerprint: contestant.configuration.fingerprint(),
            name: contestant.name,
            configuration: contestant.configuration,
            model,
            repository,
            embeddings,
            typing: typing.unwrap_or_default(),
        }
    }

    /// The model and how it is asked, in a few words for people.
    fn about(&self) -> String {
        let about = self.model.about();
        if about.is_empty() {
            self.model.name().to_owned()
        } else {
            format!("{} ({about})", self.model.name())
        }
    }

    /// Takes note of an edit of an open document. Gives the cursor, where the edit put in what
    /// was offered last.
    fn document_edited(&self, before: &Snapshot, after: &Snapshot) -> Option<ByteOffset> {
        let now = self.typing.start.elapsed();
        let (flight, accepted) = {
            let mut desks = self.typing.desks();
            let desk = desks.entry(after.uri.clone()).or_default();
            let grown = after.text.len().0.abs_diff(before.text.len().0);
            desk.rhythm.edited(now, grown);
            let accepted = desk
                .offered
                .take_if(|offered| takes(after, offered).is_some())
                .and_then(|offered| takes(after, &offered));
            (desk.flight.clone(), accepted)
        };
        if let Some(flight) = flight {
            flight.edited(&after.text);
        }
        accepted
    }

    /// Forgets what goes on in a document that was closed.
    fn document_closed(&self, uri: &str) {
        if let Some(desk) = self.typing.desks().remove(uri)
            && let Some(flight) = desk.flight
        {
            flight.end();
        }
    }

    /// Whether an earlier answer holds here, or one that is being written may.
    fn holds(&self, document: &Snapshot, cursor: ByteOffset, given: &Given) -> bool {
        let asked = self.asked(document, cursor, given);
        if !self.configuration.typing.reuse {
            return false;
        }
        if self.typing.memory().typed_through(&asked).is_some() {
            return true;
        }
        let desks = self.typing.desks();
        let flight = desks.get(&asked.uri).and_then(|desk| desk.flight.as_ref());
        flight.is_some_and(|flight| {
            let typed = flight.asked.leads_to(&asked);
            typed.is_some_and(|typed| flight.may_answer(typed))
        })
    }

    /// Completes at a cursor. A document the rules hide gets nothing, and the trace says why.
    async fn complete(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        trigger: Trigger,
        given: &Given,
    ) -> Completion {
        let path = match self.repository.relative_path(document) {
            Ok(path) => path,
            Err(reason) => return self.nothing(reason),
        };
        let asked = Arc::new(self.asked(document, cursor, given));
        let completion = match self.already(&asked).await {
            Some(completion) => completion,
            None => self.anew(document, path, &asked, trigger, given).await,
        };
        let offered = (trigger == Trigger::Typing).then(|| Answered {
            asked: Arc::clone(&asked),
            completion: Arc::new(completion.clone()),
        });
        self.typing
            .desks()
            .entry(asked.uri.clone())
            .or_default()
            .offered = offered;
        self.marked(completion)
    }

    /// A completion that says which model's it is, and which settings decided it.
    fn marked(&self, mut completion: Completion) -> Completion {
        completion.trace.named.clone_from(&self.name);
        completion.trace.configuration.clone_from(&self.fingerprint);
        completion
    }

    /// Completes at a cursor without regard to what was answered before: for an explanation.
    async fn explain(&self, document: &Snapshot, cursor: ByteOffset, given: &Given) -> Completion {
        let path = match self.repository.relative_path(document) {
            Ok(path) => path,
            Err(reason) => return self.nothing(reason),
        };
        let asked = Arc::new(self.asked(document, cursor, given));
        let started = Instant::now();
        let found = match self.windows(&asked, &path, document, given).await {
            Ok(found) => found,
            Err(fault) => return self.fault(fault),
        };
        let context_ms = milliseconds(started.elapsed());
        let flight = self.call(document, path, &asked, found, given, context_ms);
        let completion = self.outcome(&flight).await;
        self.marked(completion)
    }

    /// An earlier answer that holds here, or one that is being written.
    async fn already(&self, asked: &Asked) -> Option<Completion> {
        if !self.configuration.typing.reuse {
            return None;
        }
        let remembered = self
            .typing
            .memory()
            .typed_through(asked)
            .map(|(earlier, left)| derived(earlier, left, Source::TypedThrough));
        if remembered.is_some() {
            return remembered;
        }
        let flight = {
            let desks = self.typing.desks();
            desks.get(&asked.uri)?.flight.clone()?
        };
        let typed = flight
            .asked
            .leads_to(asked)
            .filter(|typed| flight.may_answer(typed))?;
        let started = Instant::now();
        let earlier = flight.wait().await?;
        let left = if typed.is_empty() && flight.asked.suffix == asked.suffix {
            earlier.candidates.clone()
        } else {
            memory::carried(&flight.asked, &earlier.candidates, asked)?
        };
        let mut completion = derived(&earlier, left, Source::Running);
        completion.trace.model_ms = milliseconds(started.elapsed());
        Some(completion)
    }

    /// Asks the model, once the person has come to a rest, unless the very same was asked before.
    async fn anew(
        &self,
        document: &Snapshot,
        path: String,
        asked: &Arc<Asked>,
        trigger: Trigger,
        given: &Given,
    ) -> Completion {
        let wait = self.wait(&asked.uri, trigger);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let started = Instant::now();
        let found = match self.windows(asked, &path, document, given).await {
            Ok(found) => found,
            Err(fault) => return self.fault(fault),
        };
        let context_ms = milliseconds(started.elapsed());
        let same = self
            .typing
            .memory()
            .same(asked, &found.windows)
            .filter(|_| self.configuration.typing.reuse)
            .map(|earlier| derived(earlier, earlier.candidates.clone(), Source::Cache));
        let mut completion = match same {
            Some(completion) => completion,
            None => {
                let flight = self.call(document, path, asked, found, given, context_ms);
                self.outcome(&flight).await
            }
        };
        completion.trace.wait_ms = milliseconds(wait);
        completion
    }

    /// How long to wait for the next key.
    fn wait(&self, uri: &str, trigger: Trigger) -> Duration {
        let soon = self.typing.model_time.lock().is_short();
        if trigger == Trigger::Invoked || soon {
            return Duration::ZERO;
        }
        let most = Duration::from_millis(self.configuration.typing.wait_ms);
        self.typing.desks().get(uri).map_or(Duration::ZERO, |desk| {
            desk.rhythm.delay(self.typing.start.elapsed(), most)
        })
    }

    /// Asks the model, as a call that requests may share. An older call for the document ends,
    /// unless a request waits for it.
    fn call(
        &self,
        document: &Snapshot,
        path: String,
        asked: &Arc<Asked>,
        found: Found,
        given: &Given,
        context_ms: f64,
    ) -> Arc<Flight> {
        let request = self.request(document, path, asked, found.windows, given);
        let first_round = found.first_round;
        let tree = document.tree().cloned();
        let heard = Arc::new(Heard::default());
        let (tell, outcome) = watch::channel(None);
        let extent = self.configuration.cleanup.extent;
        let call = {
            let (asked, heard) = (Arc::clone(asked), Arc::clone(&heard));
            let (model, typing) = (Arc::clone(&self.model), Arc::clone(&self.typing));
            async move {
                let mut completion =
                    generate(&*model, &request, tree.as_ref(), extent, &heard).await;
                completion.trace.context_ms = context_ms;
                completion.trace.first_round = first_round;
                typing.model_time.lock().took(completion.trace.model_ms);
                let completion = Arc::new(completion);
                if completion.trace.fault.is_none() {
                    typing.memory().keep(Answered {
                        asked,
                        completion: Arc::clone(&completion),
                    });
                }
                // Nobody may be waiting any more; the memory has it all the same.
                let _ = tell.send(Some(completion));
            }
        };
        let task = tokio::spawn(call).abort_handle();
        let flight = Flight::new(Arc::clone(asked), heard, outcome, task);
        let older = self
            .typing
            .desks()
            .entry(asked.uri.clone())
            .or_default()
            .flight
            .replace(Arc::clone(&flight));
        if let Some(older) = older {
            older.replaced();
        }
        flight
    }

    async fn outcome(&self, flight: &Arc<Flight>) -> Completion {
        match flight.wait().await {
            Some(completion) => (*completion).clone(),
            None => self.nothing("the text changed while the model wrote".to_owned()),
        }
    }

    /// After an accept, the editor asks again at once: the model begins before it does.
    fn ask_ahead(&self, document: &Arc<Snapshot>, cursor: ByteOffset) {
        let Ok(path) = self.repository.relative_path(document) else {
            return;
        };
        let asked = Arc::new(self.asked(document, cursor, &Given::default()));
        let started = Instant::now();
        // Where windows can't be had at once, or there is a fault, it is left to the editor's own
        // request.
        if let Some(found) = self.windows_at_once(&asked, &path, document) {
            let context_ms = milliseconds(started.elapsed());
            self.call(document, path, &asked, found, &Given::default(), context_ms)
                .linger();
        }
    }

    /// What the model is asked at a place.
    fn request(
        &self,
        document: &Snapshot,
        path: String,
        asked: &Asked,
        windows: Vec<Window>,
        given: &Given,
    ) -> model::Request {
        model::Request {
            prefix: asked.prefix.to_string(),
            suffix: asked.suffix.to_string(),
            path,
            repository: self.repository.name.clone(),
            language: document.language,
            windows,
            form: self.configuration.context.profile.form(),
            earlier: given.earlier.clone(),
            question: None,
            parameters: self.configuration.model.parameters(),
        }
    }

    fn asked(&self, document: &Snapshot, cursor: ByteOffset, given: &Given) -> Asked {
        let heeded = self.configuration.context.profile.heeds_given() || given.earlier.is_some();
        let settings = if heeded {
            fingerprint(&(self.settings, given))
        } else {
            self.settings
        };
        Asked {
            uri: document.uri.clone(),
            prefix: document.text.slice(ByteOffset(0)..cursor).into(),
            suffix: document.text.slice(cursor..document.text.len()).into(),
            settings,
        }
    }

    fn fault(&self, fault: String) -> Completion {
        Completion {
            candidates: Vec::new(),
            trace: Trace {
                model: self.model.name().to_owned(),
                named: self.name.clone(),
                configuration: self.fingerprint.clone(),
                fault: Some(fault),
                ..Trace::default()
            },
        }
    }

    fn nothing(&self, reason: String) -> Completion {
        Completion {
            candidates: Vec::new(),
            trace: Trace {
                model: self.model.name().to_owned(),
                named: self.name.clone(),
                configuration: self.fingerprint.clone(),
                nothing: Some(reason),
                ..Trace::default()
            },
        }
    }
}

impl Default for Typing {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            memory: Mutex::default(),
            desks: Mutex::default(),
            model_time: Mutex::default(),
        }
    }
}

impl Typing {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    fn desks(&self) -> MutexGuard<'_, HashMap<String, Desk>> {
        self.desks.lock()
    }
}

/// Has the model write, ends it when nothing further could be kept, and cleans up.
async fn generate(
    model: &dyn model::Model,
    request: &model::Request,
    tree: Option<&Tree>,
    extent: Extent,
    heard: &Heard,
) -> Completion {
    let mut trace = Trace {
        model: model.name().to_owned(),
        about: model.about(),
        windows: request.windows.clone(),
        ..Trace::default()
    };
    let place = Place {
        prefix: &request.prefix,
        suffix: &request.suffix,
        language: request.language,
        tree,
        extent,
        chat: model.chats(),
    };
    let cleaner = Cleaner::new(place);
    let ear = Ear {
        heard,
        cleaner: &cleaner,
        watches: Mutex::default(),
        started: Instant::now(),
        first_text: Mutex::new(None),
    };
    let answer = model.complete(request, &ear).await;
    trace.model_ms = milliseconds(ear.started.elapsed());
    trace.first_text_ms = ear.first_text.lock().map(milliseconds);

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
    let mut candidates: Vec<String> = Vec::new();
    for candidate in answer.candidates {
        let (text, decisions) = cleaner.clean(&candidate.text);
        trace.steps.push(Step {
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
        trace.nothing = Some(nothing_left(&trace.steps));
    }
    Completion { candidates, trace }
}

/// What listens to a model.
struct Ear<'a> {
    heard: &'a Heard,
    cleaner: &'a Cleaner<'a>,
    /// By candidate.
    watches: Mutex<HashMap<usize, Watch<'a>>>,
    started: Instant,
    first_text: Mutex<Option<Duration>>,
}

impl model::Listener for Ear<'_> {
    fn heard(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        self.first_text
            .lock()
            .get_or_insert_with(|| self.started.elapsed());
        self.heard.note(candidate, text);
        let mut watches = self.watches.lock();
        let watch = watches
            .entry(candidate)
            .or_insert_with(|| self.cleaner.watch());
        if watch.enough(text) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// An earlier completion with what is left of its candidates.
fn derived(earlier: &Completion, candidates: Vec<String>, source: Source) -> Completion {
    Completion {
        candidates,
        trace: Trace {
            source,
            wait_ms: 0.0,
            context_ms: 0.0,
            first_text_ms: None,
            model_ms: 0.0,
            cleanup_ms: 0.0,
            ..earlier.trace.clone()
        },
    }
}

/// The cursor after an accept, if a document now holds an offered candidate.
fn takes(document: &Snapshot, offered: &Answered) -> Option<ByteOffset> {
    let put_in = between(&document.text, &offered.asked)?;
    offered
        .completion
        .candidates
        .contains(&put_in)
        .then(|| ByteOffset(offered.asked.prefix.len() + put_in.len()))
}

/// Tells settings apart for as long as the process lives.
fn fingerprint(settings: &impl fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{settings:?}").hash(&mut hasher);
    hasher.finish()
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
