//! One model under one set of settings: serves a request from the cache, from a running model call
//! or from a new one.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::cache::{self, CachedCompletion, CompletionCache, RequestKey, SettingsKey};
use super::edits::RecentEdits;
use super::gate::{FittedGate, GateError, GateSignals, TokenBefore};
use super::generation::{DocumentName, SiteText, build_request, generate};
use super::model_call::{ModelCall, StreamedText, text_between};
use super::reading::{PromptBudget, ReadingSpeed};
use super::repository::RepositoryState;
use super::retrieval::{FoundWindows, RetrievedWindows, Retriever};
use super::rhythm::{ModelTime, Rhythm};
use super::trace::{Completion, CompletionOrigin, Trace, milliseconds};
use crate::configuration::{AnsweringModel, BUDGET_MS, Configuration};
use crate::context::{GivenContext, IndexError};
use crate::documents::{Snapshot, TextChange};
use crate::model::embeddings::Embeddings;
use crate::model::{Model, ModelError, OWN_TEXT, TokenUsage};
use crate::prompt::CHARACTERS_PER_TOKEN;
use crate::text::{ByteOffset, Text};

/// State needed to complete with one model under one set of settings.
#[derive(Debug)]
pub(super) struct ModelEngine {
    /// The model's name in the configuration.
    pub(super) name: String,
    /// The settings, with this model as the only one.
    pub(super) configuration: Configuration,
    /// Part of a [`RequestKey`] that identifies these settings and this name.
    settings: SettingsKey,
    /// See [`Configuration::fingerprint`].
    fingerprint: String,
    model: Arc<dyn Model>,
    repository: Arc<RepositoryState>,
    /// The source of vectors, if the profile needs one.
    embeddings: Option<Arc<Embeddings>>,
    /// The gate that holds completions back, if the settings name one.
    gate: Option<Arc<FittedGate>>,
    pub(super) typing: Arc<TypingState>,
}

/// The person's typing, and earlier completions of an engine.
#[derive(Debug)]
pub(super) struct TypingState {
    /// Moment that times are relative to.
    start: Instant,
    cache: Mutex<CompletionCache>,
    /// By document.
    documents: Mutex<HashMap<String, DocumentTyping>>,
    /// Usual time of a model call.
    model_time: Mutex<ModelTime>,
    /// Speed at which the model reads.
    reading: Mutex<ReadingSpeed>,
    /// Share of recent completions that were accepted, a moving average.
    recent_accepts: Mutex<f64>,
}

/// Weight of the newest outcome in the moving average of accepts.
const NEWEST_OUTCOME: f64 = 0.1;

/// Minimum number of bytes that a model may read before a cursor, and after it: the embedded model
/// learns from this much.
const LEAST_SENT: usize = OWN_TEXT;

/// Maximum number of bytes that count as one token: characters have up to four.
const BYTES_PER_TOKEN: usize = 4 * (CHARACTERS_PER_TOKEN as usize + 1);

/// Share of accepts before there is any outcome: about a quarter is usual (Ziegler et al.,
/// "Productivity assessment of neural code completion", 2022, <https://arxiv.org/abs/2205.06537>).
const USUAL_ACCEPTS: f64 = 0.25;

/// The typing in one document.
#[derive(Debug, Default)]
struct DocumentTyping {
    rhythm: Rhythm,
    edits: RecentEdits,
    /// The newest model call.
    model_call: Option<Arc<ModelCall>>,
    /// The completion that was last offered while the person typed.
    offered: Option<CachedCompletion>,
}

/// Cause of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The person requested it.
    Invoked,
    /// The person typed.
    Typing,
}

/// Error when opening an engine or indexing.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The settings of `[model]` are invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The settings of a named model are invalid.
    #[error("[models.{name}]: {source}")]
    Named {
        /// Its name.
        name: String,
        /// The error.
        source: ModelError,
    },
    /// The index failed.
    #[error("the index of the repository can't be built: {0}")]
    Index(#[from] IndexError),
    /// The gate can't be used.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl ModelEngine {
    /// Creates an engine for one model over a repository. With the typing state of an earlier
    /// engine of the same name, cached completions stay valid if the settings are the same.
    pub(super) fn new(
        answering: AnsweringModel,
        model: Arc<dyn Model>,
        repository: Arc<RepositoryState>,
        embeddings: Option<Arc<Embeddings>>,
        gate: Option<Arc<FittedGate>>,
        typing: Option<Arc<TypingState>>,
    ) -> Self {
        Self {
            settings: settings_key(&(&answering.name, &answering.configuration)),
            fingerprint: answering.configuration.fingerprint(),
            name: answering.name,
            configuration: answering.configuration,
            model,
            repository,
            embeddings,
            gate,
            typing: typing.unwrap_or_default(),
        }
    }

    /// True while the model's server may be loading the model.
    pub(super) fn is_loading(&self) -> bool {
        self.model.is_loading()
    }

    /// Describes the model and its prompt in a few words for people.
    pub(super) fn describe(&self) -> String {
        let description = self.model.describe();
        if description.is_empty() {
            self.model.name().to_owned()
        } else {
            format!("{} ({description})", self.model.name())
        }
    }

    /// Records an edit of an open document. Returns the cursor if the edit accepted the last
    /// offered completion.
    pub(super) fn document_edited(
        &self,
        after: &Snapshot,
        changes: &[TextChange],
    ) -> Option<ByteOffset> {
        let now = self.typing.start.elapsed();
        let (model_call, accepted) = {
            let mut documents = self.typing.documents();
            let typing = documents.entry(after.uri.clone()).or_default();
            let [inserted, removed] = [
                changes.iter().map(|change| change.inserted.len()).sum(),
                changes
                    .iter()
                    .map(|change| change.removed.len())
                    .sum::<usize>(),
            ];
            typing.rhythm.edited(now, removed.abs_diff(inserted));
            typing.edits.edited(changes);
            // `take_if` removes the offer, so that one accept is counted once.
            let accepted = typing
                .offered
                .take_if(|offered| cursor_after_accept(after, offered).is_some())
                .and_then(|offered| cursor_after_accept(after, &offered));
            (typing.model_call.clone(), accepted)
        };
        if accepted.is_some() {
            self.typing.outcome(true);
        }
        if let Some(model_call) = model_call {
            model_call.edited(&after.text);
        }
        accepted
    }

    /// Drops the typing state of a closed document, and ends its model call.
    pub(super) fn document_closed(&self, uri: &str) {
        if let Some(typing) = self.typing.documents().remove(uri)
            && let Some(model_call) = typing.model_call
        {
            model_call.end();
        }
    }

    /// Returns the path by which a document is sent, or the reason why it is not sent to the model:
    /// the rules of its file hide it, or its language is switched off.
    fn sendable_path(&self, document: &Snapshot) -> Result<String, String> {
        let path = self.repository.relative_path(document)?;
        let id = &document.language_id;
        if self.configuration.offers_in(id) {
            return Ok(path);
        }
        Err(format!(
            "completions are switched off for the language `{id}`; set `languages.{id}` to true for \
             completions in it"
        ))
    }

    /// Ends the running model calls of all documents.
    pub(super) fn end_calls(&self) {
        let mut documents = self.typing.documents();
        for typing in documents.values_mut() {
            if let Some(model_call) = typing.model_call.take() {
                model_call.end();
            }
        }
    }

    /// True if a cached completion or a running model call can serve a request here.
    pub(super) fn holds(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> bool {
        let key = self.request_key(document, cursor, given);
        if !self.configuration.typing.reuse {
            return false;
        }
        if self.typing.cache().typed_through(&key).is_some() {
            return true;
        }
        let documents = self.typing.documents();
        let model_call = documents
            .get(&key.uri)
            .and_then(|typing| typing.model_call.as_ref());
        model_call.is_some_and(|model_call| {
            let typed = model_call.key.leads_to(&key);
            typed.is_some_and(|(typed, _)| model_call.may_serve(typed))
        })
    }

    /// Completes at a cursor. A hidden document gets no completion; the trace has the reason.
    pub(super) async fn complete(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        trigger: Trigger,
        given: &GivenContext,
    ) -> Completion {
        let path = match self.sendable_path(document) {
            Ok(path) => path,
            Err(reason) => return self.uncalled(reason),
        };
        let key = Arc::new(self.request_key(document, cursor, given));
        let completion = match self.reuse_earlier(&key).await {
            Some(completion) => completion,
            None if trigger == Trigger::Typing && self.is_silent_after_edit(&key.uri) => {
                let repeated = self.cached_without_call(document, &path, &key);
                repeated.unwrap_or_else(|| {
                    self.uncalled(
                        "the last edit only deleted text, see `typing.after_deletion`".to_owned(),
                    )
                })
            }
            None => self.call_model(document, path, &key, trigger, given).await,
        };
        let completion = match trigger {
            Trigger::Invoked => completion,
            Trigger::Typing => self.weigh(completion, &key),
        };
        let offered = (trigger == Trigger::Typing).then(|| CachedCompletion {
            key: Arc::clone(&key),
            completion: Arc::new(completion.clone()),
        });
        self.typing
            .documents()
            .entry(key.uri.clone())
            .or_default()
            .offered = offered;
        self.label(completion)
    }

    /// True if the last edit of a document only deleted or undid text, after which no model is
    /// called.
    fn is_silent_after_edit(&self, uri: &str) -> bool {
        let documents = self.typing.documents();
        let takes_back = documents
            .get(uri)
            .is_some_and(|typing| typing.edits.takes_back());
        takes_back && !self.configuration.typing.after_deletion
    }

    /// Records the signals of a completion for a gate, and clears the candidates if the gate holds
    /// them back. A displayed completion stays while the person types its beginning.
    fn weigh(&self, mut completion: Completion, key: &RequestKey) -> Completion {
        let Some(best) = completion.candidates.first() else {
            return completion;
        };
        let (rhythm, displayed) = {
            let documents = self.typing.documents();
            let typing = documents.get(&key.uri);
            let offered = typing.and_then(|typing| typing.offered.as_ref());
            (
                typing.map(|typing| typing.rhythm).unwrap_or_default(),
                offered.is_some_and(|offered| !offered.completion.candidates.is_empty()),
            )
        };
        let goes_on = displayed && completion.trace.source == CompletionOrigin::TypedThrough;
        if displayed && !goes_on {
            // The displayed completion was not accepted.
            self.typing.outcome(false);
        }
        let (interval_ms, in_burst) = rhythm.tempo();
        let line_before = key.prefix.rsplit(['\n', '\r']).next().unwrap_or_default();
        let line_after = key.suffix.split(['\n', '\r']).next().unwrap_or_default();
        let mid_line = !line_after.trim().is_empty();
        let step = completion.trace.steps.first();
        let signals = GateSignals {
            interval_ms,
            in_burst,
            mid_line,
            new_block: !mid_line && line_before.trim().is_empty(),
            before: TokenBefore::from_prefix(line_before),
            characters: best.chars().count(),
            lines: best.lines().count().max(1),
            mean_log_probability: step.and_then(|step| step.mean_log_probability),
            recent_accepts: *self.typing.recent_accepts.lock(),
        };
        let held_back = self.gate.as_ref().filter(|_| !goes_on);
        if let Some(probability) = held_back.and_then(|gate| gate.held_back(&signals)) {
            completion.candidates.clear();
            completion.trace.nothing = Some(format!(
                "the gate holds it back: the chance of an accept is {:.0} %",
                100.0 * probability
            ));
        }
        completion.trace.signals = Some(signals);
        completion
    }

    /// Adds the model's name and the settings' fingerprint to a completion's trace.
    fn label(&self, mut completion: Completion) -> Completion {
        completion.trace.named.clone_from(&self.name);
        completion.trace.configuration.clone_from(&self.fingerprint);
        completion
    }

    /// Completes at a cursor without the cache, for an explanation.
    pub(super) async fn explain(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> Completion {
        let path = match self.sendable_path(document) {
            Ok(path) => path,
            Err(reason) => return self.uncalled(reason),
        };
        let key = Arc::new(self.request_key(document, cursor, given));
        let started = Instant::now();
        let budget = self.prompt_budget(&key);
        let retriever = self.retriever(budget);
        let found = match retriever.windows(&key, &path, document, given).await {
            Ok(found) => found,
            Err(fault) => return self.fault(fault),
        };
        let context_ms = milliseconds(started.elapsed());
        let found = (found, budget);
        let model_call = self.call(document, path, &key, found, given, context_ms);
        let completion = self.outcome(&model_call).await;
        self.label(completion)
    }

    /// Returns the completion from the cache or from a running model call, if one can serve the
    /// request.
    async fn reuse_earlier(&self, key: &RequestKey) -> Option<Completion> {
        if !self.configuration.typing.reuse {
            return None;
        }
        let cached = self
            .typing
            .cache()
            .typed_through(key)
            .map(|(earlier, left)| derived(earlier, left, CompletionOrigin::TypedThrough));
        if cached.is_some() {
            return cached;
        }
        let model_call = {
            let documents = self.typing.documents();
            documents.get(&key.uri)?.model_call.clone()?
        };
        let (typed, _) = model_call
            .key
            .leads_to(key)
            .filter(|(typed, _)| model_call.may_serve(typed))?;
        let started = Instant::now();
        let earlier = model_call.wait().await?;
        let left = if typed.is_empty() {
            earlier.candidates.clone()
        } else {
            cache::remaining_candidates(&model_call.key, &earlier.candidates, key)?
        };
        let mut completion = derived(&earlier, left, CompletionOrigin::Running);
        completion.trace.model_ms = milliseconds(started.elapsed());
        Some(completion)
    }

    /// Calls the model after the person's burst of keys, unless the same request is cached.
    async fn call_model(
        &self,
        document: &Snapshot,
        path: String,
        key: &Arc<RequestKey>,
        trigger: Trigger,
        given: &GivenContext,
    ) -> Completion {
        // The windows are found only after the wait: the index may have changed meanwhile.
        let wait = self.wait(&key.uri, trigger);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let started = Instant::now();
        let budget = self.prompt_budget(key);
        let retriever = self.retriever(budget);
        let found = match retriever.windows(key, &path, document, given).await {
            Ok(found) => found,
            Err(fault) => return self.fault(fault),
        };
        let context_ms = milliseconds(started.elapsed());
        let mut completion = match self.cached(key, &found) {
            Some(completion) => completion,
            None => {
                let found = (found, budget);
                let model_call = self.call(document, path, key, found, given, context_ms);
                self.outcome(&model_call).await
            }
        };
        completion.trace.wait_ms = milliseconds(wait);
        completion
    }

    /// Returns the earlier completion of the same request.
    fn cached(&self, key: &RequestKey, found: &FoundWindows) -> Option<Completion> {
        if !self.configuration.typing.reuse {
            return None;
        }
        let cache = self.typing.cache();
        let earlier = cache.same(key, &found.windows)?;
        let candidates = earlier.candidates.clone();
        Some(derived(earlier, candidates, CompletionOrigin::Cache))
    }

    /// Returns the earlier completion of the same request, if its windows are found without calling
    /// a model.
    fn cached_without_call(
        &self,
        document: &Snapshot,
        path: &str,
        key: &RequestKey,
    ) -> Option<Completion> {
        let retriever = self.retriever(self.prompt_budget(key));
        let found = retriever.windows_at_once(key, path, document)?;
        self.cached(key, &found)
    }

    /// Returns the time to wait for the next key before the model is called.
    fn wait(&self, uri: &str, trigger: Trigger) -> Duration {
        let soon = self.typing.model_time.lock().is_short();
        if trigger == Trigger::Invoked || soon {
            return Duration::ZERO;
        }
        let most = Duration::from_millis(self.configuration.typing.wait_ms);
        self.typing
            .documents()
            .get(uri)
            .map_or(Duration::ZERO, |typing| {
                typing.rhythm.delay(self.typing.start.elapsed(), most)
            })
    }

    /// Starts a model call that several requests may share. Ends an older call for the document,
    /// unless a request waits for it.
    fn call(
        &self,
        document: &Snapshot,
        path: String,
        key: &Arc<RequestKey>,
        (found, budget): (FoundWindows, Option<PromptBudget>),
        given: &GivenContext,
        context_ms: f64,
    ) -> Arc<ModelCall> {
        let repository = &self.repository.name;
        let request = build_request(
            &self.configuration,
            DocumentName { repository, path },
            document,
            key,
            found.windows,
            given,
            budget,
        );
        let (first_round, first_usage) = (found.first_round, found.first_usage);
        let site = SiteText::near(document, ByteOffset(key.cursor()));
        let streamed = Arc::new(StreamedText::default());
        let (sender, outcome) = watch::channel(None);
        let extent = self.configuration.cleanup.extent;
        let call = {
            let (key, streamed) = (Arc::clone(key), Arc::clone(&streamed));
            let (model, typing) = (Arc::clone(&self.model), Arc::clone(&self.typing));
            async move {
                let mut completion = generate(&*model, &request, &site, extent, &streamed).await;
                completion.trace.context_ms = context_ms;
                completion.trace.first_round = first_round;
                let usage = [completion.trace.usage, first_usage].into_iter().flatten();
                completion.trace.usage = usage.reduce(TokenUsage::with);
                completion.trace.budget = budget;
                if let Some(first_text_ms) = completion.trace.first_text_ms {
                    let read_ms = (!completion.trace.is_delayed).then_some(first_text_ms);
                    let mut reading = typing.reading.lock();
                    reading.read(&completion.trace.prompt, read_ms);
                }
                typing.model_time.lock().took(completion.trace.model_ms);
                if completion.trace.fault.is_none() {
                    // A notice is shown only once, so it is not cached.
                    let mut kept = completion.clone();
                    kept.trace.notice = None;
                    typing.cache().keep(CachedCompletion {
                        key,
                        completion: Arc::new(kept),
                    });
                }
                let completion = Arc::new(completion);
                // No request may be waiting any more, which is fine: the completion is cached.
                let _ = sender.send(Some(completion));
            }
        };
        let task = tokio::spawn(call).abort_handle();
        let model_call = ModelCall::new(Arc::clone(key), streamed, outcome, task);
        let older = self
            .typing
            .documents()
            .entry(key.uri.clone())
            .or_default()
            .model_call
            .replace(Arc::clone(&model_call));
        if let Some(older) = older {
            older.replaced();
        }
        model_call
    }

    async fn outcome(&self, model_call: &Arc<ModelCall>) -> Completion {
        match model_call.wait().await {
            Some(completion) => (*completion).clone(),
            None => self.without_candidates(Trace {
                nothing: Some("the text changed during the model call".to_owned()),
                ..Trace::default()
            }),
        }
    }

    /// Calls the model before the editor's own request, which follows an accept at once.
    pub(super) fn request_ahead(&self, document: &Arc<Snapshot>, cursor: ByteOffset) {
        let given = GivenContext::default();
        let Ok(path) = self.sendable_path(document) else {
            return;
        };
        let key = Arc::new(self.request_key(document, cursor, &given));
        let started = Instant::now();
        // If the profile has to wait or fails, nothing is called: the editor's own request finds
        // the windows.
        let budget = self.prompt_budget(&key);
        let retriever = self.retriever(budget);
        if let Some(found) = retriever.windows_at_once(&key, &path, document) {
            let context_ms = milliseconds(started.elapsed());
            let found = (found, budget);
            let model_call = self.call(document, path, &key, found, &given, context_ms);
            model_call.linger();
        }
    }

    /// Returns the windows at a cursor, without completing.
    pub(super) async fn retrieve(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> RetrievedWindows {
        if let Err(reason) = self.sendable_path(document) {
            return RetrievedWindows {
                profile: self.configuration.context.profile.to_string(),
                fault: Some(reason),
                ..RetrievedWindows::default()
            };
        }
        let key = self.request_key(document, cursor, given);
        let retriever = self.retriever(self.prompt_budget(&key));
        retriever.retrieve(&key, document, given).await
    }

    /// Returns the limit on a prompt, if the model's speed is known and requires one.
    fn prompt_budget(&self, key: &RequestKey) -> Option<PromptBudget> {
        let budget_ms = self.configuration.context.budget_ms.unwrap_or(BUDGET_MS);
        if budget_ms == 0 {
            return None;
        }
        let most_tokens = self.configuration.model.context_tokens;
        let mut reading = self.typing.reading.lock();
        reading.budget(budget_ms, most_tokens, &key.prefix, &key.suffix)
    }

    fn retriever(&self, budget: Option<PromptBudget>) -> Retriever<'_> {
        Retriever {
            configuration: &self.configuration,
            model: &*self.model,
            repository: &self.repository,
            embeddings: self.embeddings.as_deref(),
            budget,
        }
    }

    fn request_key(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &GivenContext,
    ) -> RequestKey {
        // The given context is in the key only if it can change the completion.
        let used = self.configuration.context.profile.heeds_given() || given.earlier.is_some();
        let settings = if used {
            settings_key(&(self.settings, given))
        } else {
            self.settings
        };
        let text = &document.text;
        let Range { start, end } = self.sent_range(text, cursor);
        RequestKey {
            uri: document.uri.clone(),
            language_id: document.language_id.clone(),
            prefix: text.slice(start..cursor).into(),
            suffix: text.slice(cursor..end).into(),
            before: start.0,
            after: text.len().0 - end.0,
            settings,
        }
    }

    /// Returns the range of a document that a model may read at a cursor. Its bounds move in coarse
    /// steps, so that the beginning of a prompt stays the same while a person types.
    fn sent_range(&self, text: &Text, cursor: ByteOffset) -> Range<ByteOffset> {
        let all = ByteOffset(0)..text.len();
        if self.model.reads_whole_files() {
            return all;
        }
        let budget = self.configuration.model.context_tokens;
        let step = LEAST_SENT.max(budget.saturating_mul(BYTES_PER_TOKEN));
        let least = cursor.0.saturating_sub(step) / step * step;
        let most = (cursor.0.saturating_add(step))
            .div_ceil(step)
            .saturating_mul(step);
        let line = |offset| text.line_offset(text.line_number(ByteOffset(offset)));
        match most < all.end.0 {
            // A very long line that contains `most` may begin before the cursor.
            true => line(least)..line(most).max(cursor),
            false => line(least)..all.end,
        }
    }

    /// Returns no candidates, because of a failure.
    fn fault(&self, fault: String) -> Completion {
        self.without_candidates(Trace {
            fault: Some(fault),
            ..Trace::default()
        })
    }

    /// Returns no candidates, for a reason that is not a failure and keeps the model from being
    /// called.
    fn uncalled(&self, reason: String) -> Completion {
        self.without_candidates(Trace {
            source: CompletionOrigin::Uncalled,
            nothing: Some(reason),
            ..Trace::default()
        })
    }

    fn without_candidates(&self, trace: Trace) -> Completion {
        self.label(Completion {
            candidates: Vec::new(),
            trace: Trace {
                model: self.model.name().to_owned(),
                ..trace
            },
        })
    }
}

impl Default for TypingState {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            cache: Mutex::default(),
            documents: Mutex::default(),
            model_time: Mutex::default(),
            reading: Mutex::default(),
            recent_accepts: Mutex::new(USUAL_ACCEPTS),
        }
    }
}

impl TypingState {
    /// Records the outcome of a completion.
    fn outcome(&self, accepted: bool) {
        let mut recent = self.recent_accepts.lock();
        *recent += NEWEST_OUTCOME * (f64::from(u8::from(accepted)) - *recent);
    }

    fn cache(&self) -> MutexGuard<'_, CompletionCache> {
        self.cache.lock()
    }

    fn documents(&self) -> MutexGuard<'_, HashMap<String, DocumentTyping>> {
        self.documents.lock()
    }
}

/// Returns an earlier completion with the remaining part of its candidates.
fn derived(earlier: &Completion, candidates: Vec<String>, source: CompletionOrigin) -> Completion {
    Completion {
        candidates,
        trace: Trace {
            source,
            // Times and tokens belong to the request that called the model; the caller adds its
            // own.
            wait_ms: 0.0,
            context_ms: 0.0,
            first_text_ms: None,
            model_ms: 0.0,
            cleanup_ms: 0.0,
            usage: None,
            ..earlier.trace.clone()
        },
    }
}

/// Returns the cursor after an accept, if a document now contains an offered candidate.
fn cursor_after_accept(document: &Snapshot, offered: &CachedCompletion) -> Option<ByteOffset> {
    let around = offered.key.cursor() + offered.key.rest();
    let inserted = document.text.len().0.checked_sub(around)?;
    let mut candidates = offered.completion.candidates.iter();
    // Comparing lengths first avoids a copy of the text at each edit.
    if !candidates.any(|candidate| candidate.len() == inserted) {
        return None;
    }
    let inserted = text_between(&document.text, &offered.key)?;
    offered
        .completion
        .candidates
        .contains(&inserted)
        .then(|| ByteOffset(offered.key.cursor() + inserted.len()))
}

/// Returns the part of a [`RequestKey`] for some settings: the SHA-256 of their JSON.
fn settings_key(settings: &impl Serialize) -> SettingsKey {
    let json = serde_json::to_vec(settings)
        .expect("settings are numbers and texts under keys that are texts");
    Sha256::digest(json).into()
}
