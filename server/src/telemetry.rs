//! Telemetry, kept on this machine only: events, retention, the local store.
//!
//! A completion is recorded when it is returned. Then its events are recorded under its id:
//! displayed, accepted, accepted in part, dismissed or superseded and, some time after acceptance,
//! the part of it that remains. For that its text is tracked through every edit.
//!
//! Nothing is sent anywhere, except figures if `telemetry.otlp_url` names a collector. The store
//! contains no code unless `telemetry.content` is set, and identifies sessions and files by salted
//! hashes.
//!
//! Writing does not block: a separate thread writes the rows. Two kinds of writes are acknowledged:
//! an accept, once its command is answered, and everything before the answer to `shutdown` or
//! `fillrate/purge`. These wait for the store. Everything else reaches the store moments later; a
//! killed server may lose those moments.

mod event;
mod metrics;
mod retention;
mod span;
mod store;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::completion::{Completion, Trace, Trigger};
use crate::configuration::{Configuration, TelemetrySettings};
use crate::documents::{Snapshot, TextChange};
use crate::text::{ByteOffset, Text};

pub use event::{
    AcceptedCandidate, Certainty, CompletionEvent, CompletionEventKind, CompletionRow, CursorKind,
    Displayed, EnteredCharacters, GenerationParameters, PartialAcceptance, RecordedCompletion,
    RequestKind, RequestOutcome, RetentionSample, SecondModel, TextSize, Timings,
    sessions_with_displays,
};
pub use retention::{NEAR, RETAINED, Remainder, STILL_IN_CODE};
pub use span::TrackedSpan;
pub use store::{
    ExportLine, SCHEMA, StoreContents, StoreEntry, TelemetryError, TelemetryStore, default_path,
    read,
};

use metrics::MetricsExporter;
use span::move_offset;
use writer::StoreWriter;

/// Records what happens to the completions of one session. Methods return immediately unless they
/// are `async`.
#[derive(Debug)]
pub struct Recorder {
    session: Session,
    warnings: mpsc::UnboundedSender<String>,
    state: Mutex<RecorderState>,
}

/// Identifies a session.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    client: Option<String>,
    client_version: Option<String>,
    simulated: bool,
}

/// A request for a completion, with its response time and settings.
#[derive(Clone, Copy, Debug)]
pub struct CompletionRequest<'a> {
    /// The request's method.
    pub kind: RequestKind,
    /// Trigger of the request.
    pub trigger: Trigger,
    /// The document, with the selected suggestion if the completion follows one.
    pub document: &'a Arc<Snapshot>,
    /// The cursor in it.
    pub cursor: ByteOffset,
    /// The text of the selected suggestion, right before the cursor; empty without one. The
    /// editor's document has it only once the completion is accepted.
    pub selected: &'a str,
    /// Time from the request to the response.
    pub latency: Duration,
    /// The settings in force, with the model that answered as `model`.
    pub configuration: &'a Configuration,
}

/// An event that an editor reports.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The completion is or was displayed.
    Shown,
    /// A part of it was accepted.
    PartlyAccepted {
        /// Number of characters this step accepted.
        characters: usize,
        /// `word`, `line` or `characters`.
        unit: Option<String>,
    },
    /// The person rejected it.
    Dismissed,
}

/// Client name of the replay driver. Its records are marked as simulated.
pub const SIMULATION: &str = "fillrate-replay";

/// Maximum number of completions per document whose events are accepted.
const MAX_OFFERS: usize = 128;

/// Maximum distance in bytes from the cursor at which an accepted text is searched: an editor may
/// have indented it or added an import.
const SEARCH_RADIUS: usize = 400;

/// Maximum time after an edit in which the command of an accepted item may come. Clients that run
/// it do so at once.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of inserted characters after which their count is written.
const FLUSH_CHARACTERS: usize = 2000;

#[derive(Debug, Default)]
struct RecorderState {
    /// `None` while telemetry is disabled.
    active: Option<Active>,
    /// Writers of earlier settings, which may still have rows to write.
    replaced: Vec<StoreWriter>,
    /// By URI.
    documents: HashMap<String, DocumentActivity>,
    /// True if the client reports outcomes of completions, by events or by the command of an
    /// accepted item. Then no accept is inferred.
    client_reports: bool,
}

/// Telemetry under the settings in force.
#[derive(Clone, Debug)]
struct Active {
    settings: TelemetrySettings,
    writer: StoreWriter,
}

/// Completions and edits of one open document.
#[derive(Debug)]
struct DocumentActivity {
    document: Arc<Snapshot>,
    /// Completions with candidates, newest last.
    offers: VecDeque<Offer>,
    /// Accepted texts that are tracked, by completion.
    tracked: Vec<TrackedText>,
    /// Accepts inferred from edits, until they are recorded.
    inferred: Vec<InferredAcceptance>,
    /// Number of inserted characters that are not written yet.
    characters: usize,
    overtaken: usize,
    /// The model that last answered.
    model: Option<String>,
    /// Its name in the configuration.
    named: String,
}

#[derive(Debug)]
struct Offer {
    id: String,
    kind: RequestKind,
    /// The start in bytes of the selected suggestion in the editor's document, or else the cursor.
    place: usize,
    /// The selected suggestion, which an accept inserts before the candidate; empty without one.
    selected: String,
    candidates: Vec<String>,
    /// True if it was accepted, dismissed or superseded.
    ended: bool,
    accepted: bool,
}

/// An accept inferred from an edit that inserts a candidate.
#[derive(Debug)]
struct InferredAcceptance {
    completion: String,
    candidate: usize,
    /// Range of the candidate in the document.
    span: TrackedSpan,
}

/// An accepted text, or the accepted parts of one.
#[derive(Debug)]
struct TrackedText {
    completion: String,
    candidate: usize,
    /// The accepted text.
    text: String,
    /// As in [`Offer`], for the text's search.
    place: usize,
    /// Number of bytes between the place and the text: those of the selected suggestion.
    selected: usize,
    /// Its range in the document; `None` until it is found.
    span: Option<TrackedSpan>,
    /// Remaining horizons, in seconds.
    horizons: Vec<u64>,
    timer: Option<tokio::task::AbortHandle>,
}

impl Recorder {
    /// Creates a recorder for a client's session. It records nothing until it is configured. Write
    /// failures go to `warnings`, once per store.
    pub fn new(
        client: Option<String>,
        client_version: Option<String>,
        warnings: mpsc::UnboundedSender<String>,
    ) -> Self {
        Self {
            session: Session {
                id: Uuid::new_v4().to_string(),
                simulated: client.as_deref() == Some(SIMULATION),
                client,
                client_version,
            },
            warnings,
            state: Mutex::default(),
        }
    }

    /// Creates a recorder for another session of the same client, with the same settings and store.
    pub fn for_next_session(&self) -> Self {
        let Session {
            client,
            client_version,
            ..
        } = self.session.clone();
        let next = Self::new(client, client_version, self.warnings.clone());
        next.state().active.clone_from(&self.state().active);
        next
    }

    /// Applies settings.
    pub fn configure(&self, settings: &TelemetrySettings) {
        let mut state = self.state();
        let before = state.active.take();
        let writer = before.as_ref().map(|active| active.writer.clone());
        if before.is_none() || !settings.enabled {
            // Activity while telemetry is disabled is not recorded later.
            for activity in state.documents.values_mut() {
                activity.tracked.clear();
                activity.inferred.clear();
                (activity.characters, activity.overtaken) = (0, 0);
            }
        }
        if !settings.enabled {
            state.replaced.extend(writer);
            return;
        }
        let writer = match before {
            Some(active)
                if active.settings.path == settings.path
                    && active.settings.otlp_url == settings.otlp_url =>
            {
                active.writer
            }
            _ => {
                state.replaced.extend(writer);
                let path = settings.path.clone().map_or_else(default_path, Ok);
                match path {
                    Ok(path) => {
                        let metrics = self.metrics(settings);
                        StoreWriter::start(path, metrics, self.warnings.clone())
                    }
                    Err(error) => {
                        let _ = self.warnings.send(writer::warning(&error));
                        return;
                    }
                }
            }
        };
        state.active = Some(Active {
            settings: settings.clone(),
            writer,
        });
    }

    /// Starts sending figures to a collector, if the settings name one.
    fn metrics(&self, settings: &TelemetrySettings) -> Option<MetricsExporter> {
        let collector = settings.otlp_url.as_deref()?;
        let started = MetricsExporter::start(collector, &self.session.id);
        started
            .inspect_err(|reason| {
                let _ = self
                    .warnings
                    .send(format!("No metrics are sent: {reason}."));
            })
            .ok()
    }

    /// True if the texts of completions are stored.
    pub fn keeps_content(&self) -> bool {
        let state = self.state();
        let active = state.active.as_ref();
        active.is_some_and(|active| active.settings.content)
    }

    /// Starts observing a document.
    pub fn document_opened(self: &Arc<Self>, document: &Arc<Snapshot>) {
        let activity = DocumentActivity {
            document: Arc::clone(document),
            offers: VecDeque::new(),
            tracked: Vec::new(),
            inferred: Vec::new(),
            characters: 0,
            overtaken: 0,
            model: None,
            named: String::new(),
        };
        let mut state = self.state();
        let before = state.documents.insert(document.uri.clone(), activity);
        if let Some(before) = before {
            self.write_unobserved(&state, before);
        }
    }

    /// Tracks edits of a document. If an edit inserts a candidate and the client reports no accept
    /// soon, the edit counts as an accept.
    pub fn document_edited(self: &Arc<Self>, document: &Arc<Snapshot>, changes: &[TextChange]) {
        let mut state = self.state();
        let RecorderState {
            active,
            documents,
            client_reports,
            ..
        } = &mut *state;
        let Some(activity) = documents.get_mut(&document.uri) else {
            return;
        };
        let infers = active.is_some() && !*client_reports && !self.session.simulated;
        let inferred = infers.then(|| activity.accepted_by_edit(document, changes));
        activity.document = Arc::clone(document);
        for change in changes {
            activity.characters += change.inserted.chars().count();
            for offer in &mut activity.offers {
                offer.place = move_offset(offer.place, change);
            }
            for tracked in &mut activity.tracked {
                tracked.place = move_offset(tracked.place, change);
                if let Some(span) = &mut tracked.span {
                    span.follow(change);
                }
            }
            for inferred in &mut activity.inferred {
                inferred.span.follow(change);
            }
        }
        if let Some(inferred) = inferred.flatten() {
            activity.inferred.push(inferred);
            self.settle_later(&document.uri);
        }
        for tracked in &mut activity.tracked {
            // Some clients run an item's command before they send the edit, so the text is searched
            // again.
            tracked.find(&document.text);
        }
        if activity.characters >= FLUSH_CHARACTERS
            && let Some(active) = active
        {
            self.write_entered(active, activity);
        }
    }

    /// Ends the observation of a document. Remaining horizons are recorded as unobserved.
    pub fn document_closed(self: &Arc<Self>, uri: &str) {
        let mut state = self.state();
        if let Some(activity) = state.documents.remove(uri) {
            self.write_unobserved(&state, activity);
        }
    }

    fn write_unobserved(self: &Arc<Self>, state: &RecorderState, mut activity: DocumentActivity) {
        let Some(active) = &state.active else { return };
        self.settle(active, &mut activity, state.client_reports);
        for tracked in std::mem::take(&mut activity.tracked) {
            for after_s in tracked.horizons.clone() {
                let event = tracked.event(active, after_s, None);
                active.writer.write(StoreEntry::Event(event));
            }
        }
        self.write_entered(active, &mut activity);
    }

    /// Records a completion and returns its id. Equal texts offered twice in a row at the same
    /// cursor are one completion with one id.
    pub fn record_answer(&self, request: CompletionRequest<'_>, completion: &Completion) -> String {
        let mut state = self.state();
        let RecorderState {
            active, documents, ..
        } = &mut *state;
        let (Some(active), Some(activity)) = (active, documents.get_mut(&request.document.uri))
        else {
            return Uuid::new_v4().to_string();
        };
        let last = activity
            .offers
            .iter()
            .rev()
            .find(|offer| offer.kind == request.kind);
        let place = request.cursor.0 - request.selected.len();
        if let Some(last) = last
            && last.place == place
            && last.selected == request.selected
            && last.candidates == completion.candidates
            && !last.accepted
        {
            return last.id.clone();
        }
        for offer in &mut activity.offers {
            if offer.kind == request.kind && !offer.ended {
                offer.ended = true;
                let superseded = event(&offer.id, None, None, CompletionEventKind::Superseded);
                active.writer.write(StoreEntry::Event(superseded));
            }
        }
        let answered = self.row(active, request, completion);
        let id = answered.completion.clone();
        if activity.model.is_some() && activity.named != answered.named {
            // The characters so far belong to the other model.
            self.write_entered(active, activity);
        }
        activity.model = Some(answered.model.clone());
        activity.named.clone_from(&answered.named);
        active
            .writer
            .write(StoreEntry::Answered(Box::new(answered)));
        if !completion.candidates.is_empty() {
            activity.offers.push_back(Offer {
                id: id.clone(),
                kind: request.kind,
                place,
                selected: request.selected.to_owned(),
                candidates: completion.candidates.clone(),
                ended: false,
                accepted: false,
            });
            if activity.offers.len() > MAX_OFFERS {
                activity.offers.pop_front();
            }
        }
        id
    }

    /// Counts a request that an edit, a newer request or a cancellation superseded.
    pub fn count_overtaken(&self, uri: &str) {
        if let Some(activity) = self.state().documents.get_mut(uri) {
            activity.overtaken += 1;
        }
    }

    fn row(
        &self,
        active: &Active,
        request: CompletionRequest<'_>,
        completion: &Completion,
    ) -> CompletionRow {
        let CompletionRequest {
            document, cursor, ..
        } = request;
        let trace = &completion.trace;
        let settings = &request.configuration.model;
        let text = &document.text;
        let (line_before, line_after) = text.line_around(cursor);
        let prefix_characters = text.characters_before(cursor);
        let latency_ms = request.latency.as_secs_f64() * 1000.0;
        CompletionRow {
            completion: Uuid::new_v4().to_string(),
            at_ms: now_ms() - request.latency.as_millis() as i64,
            session: self.session.id.clone(),
            file: document.uri.clone(),
            simulated: self.session.simulated,
            client: self.session.client.clone(),
            client_version: self.session.client_version.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: trace.model.clone(),
            configuration: trace.configuration.clone(),
            named: trace.named.clone(),
            trial: trace.trial.clone(),
            second: trace.second.as_deref().map(|second| SecondModel {
                model: second.model.clone(),
                named: second.named.clone(),
                configuration: second.configuration.clone(),
                own_ms: own_ms(second),
            }),
            parameters: GenerationParameters {
                max_tokens: settings.max_tokens,
                temperature: settings.temperature,
                top_p: settings.top_p,
                seed: settings.seed,
                candidates: settings.candidates,
                context_tokens: settings.context_tokens,
            },
            profile: request.configuration.context.profile.name().to_owned(),
            language: document.language.map(|language| language.name.to_owned()),
            place: CursorKind::from_line(&line_before, &line_after),
            form: request.kind,
            invoked: request.trigger == Trigger::Invoked,
            source: trace.source,
            outcome: if trace.fault.is_some() {
                RequestOutcome::Fault
            } else if completion.candidates.is_empty() {
                RequestOutcome::Nothing
            } else {
                RequestOutcome::Offered
            },
            candidates: completion
                .candidates
                .iter()
                .map(|text| TextSize::from_text(text))
                .collect(),
            prefix_characters,
            suffix_characters: text.characters_before(text.len()) - prefix_characters,
            prompt_characters: trace.prompt.chars().count(),
            windows: trace.windows.len(),
            timings: Timings {
                latency_ms,
                wait_ms: trace.wait_ms,
                context_ms: trace.context_ms,
                first_text_ms: trace.first_text_ms,
                model_ms: trace.model_ms,
                cleanup_ms: trace.cleanup_ms,
            },
            signals: trace.signals.clone(),
            texts: active
                .settings
                .content
                .then(|| completion.candidates.clone()),
        }
    }

    /// Records an event that the editor reports. Unknown completions are ignored.
    pub fn record_client_event(
        self: &Arc<Self>,
        completion: &str,
        candidate: usize,
        shown: Option<Displayed>,
        client_event: ClientEvent,
    ) {
        let mut state = self.state();
        state.client_reports = true;
        let RecorderState {
            active, documents, ..
        } = &mut *state;
        let (Some(active), Some((activity, index))) = (active, find_offer(documents, completion))
        else {
            return;
        };
        let kind = match client_event {
            ClientEvent::Shown => CompletionEventKind::Shown,
            ClientEvent::Dismissed => {
                activity.offers[index].ended = true;
                CompletionEventKind::Dismissed
            }
            ClientEvent::PartlyAccepted { characters, unit } => {
                CompletionEventKind::PartlyAccepted { characters, unit }
            }
        };
        let part = match &kind {
            CompletionEventKind::PartlyAccepted { characters, .. } => Some(*characters),
            _ => None,
        };
        let event = event(completion, Some(candidate), shown, kind);
        active.writer.write(StoreEntry::Event(event));
        if let Some(characters) = part {
            let taken = accepted_part(activity, index, candidate, characters);
            if let Some((text, range)) = taken {
                let span = Some(TrackedSpan::new(range));
                self.track(active, activity, index, candidate, text, span);
            }
        }
    }

    /// Records that a client ran the command of an accepted candidate, and waits until it is
    /// stored. Unknown or already accepted completions are ignored.
    pub async fn record_acceptance(
        self: &Arc<Self>,
        completion: &str,
        candidate: usize,
        shown: Option<Displayed>,
    ) {
        let writer = {
            let mut state = self.state();
            state.client_reports = true;
            let RecorderState {
                active, documents, ..
            } = &mut *state;
            let (Some(active), Some((activity, index))) =
                (active, find_offer(documents, completion))
            else {
                return;
            };
            if !self.write_acceptance(active, activity, index, candidate, shown, None) {
                return;
            }
            active.writer.clone()
        };
        writer.flush().await;
    }

    /// Records an accept and tracks the text. Returns true if the candidate exists and was not
    /// accepted before.
    fn write_acceptance(
        self: &Arc<Self>,
        active: &Active,
        activity: &mut DocumentActivity,
        index: usize,
        candidate: usize,
        shown: Option<Displayed>,
        span: Option<TrackedSpan>,
    ) -> bool {
        let offer = &mut activity.offers[index];
        let Some(text) = offer.candidates.get(candidate).cloned() else {
            return false;
        };
        if offer.accepted {
            return false;
        }
        (offer.ended, offer.accepted) = (true, true);
        let accepted = CompletionEventKind::Accepted {
            characters: text.chars().count(),
            text: active.settings.content.then(|| text.clone()),
        };
        let event = event(&offer.id, Some(candidate), shown, accepted);
        active.writer.write(StoreEntry::Event(event));
        self.track(active, activity, index, candidate, text, span);
        // Written in the same transaction, so that no accept is stored without the characters it
        // inserted.
        self.write_entered(active, activity);
        true
    }

    /// Records the accepts inferred from edits of a document, after the client has had time to
    /// report them itself.
    fn settle_later(self: &Arc<Self>, uri: &str) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        // A weak reference, so that the timer does not keep an ended session alive.
        let (recorder, uri) = (Arc::downgrade(self), uri.to_owned());
        runtime.spawn(async move {
            tokio::time::sleep(COMMAND_TIMEOUT).await;
            let Some(recorder) = recorder.upgrade() else {
                return;
            };
            let mut state = recorder.state();
            let RecorderState {
                active,
                documents,
                client_reports,
                ..
            } = &mut *state;
            if let (Some(active), Some(activity)) = (active, documents.get_mut(&uri)) {
                recorder.settle(active, activity, *client_reports);
            }
        });
    }

    /// Records the accepts inferred from edits, unless the client reports accepts itself. They are
    /// marked as estimated: the person may have pasted the same text.
    fn settle(
        self: &Arc<Self>,
        active: &Active,
        activity: &mut DocumentActivity,
        client_reports: bool,
    ) {
        for inferred in std::mem::take(&mut activity.inferred) {
            let mut offers = activity.offers.iter();
            let index = offers.position(|offer| offer.id == inferred.completion);
            let Some(index) = index.filter(|_| !client_reports) else {
                continue;
            };
            let shown = Displayed {
                certainty: Certainty::Estimated,
                ms: None,
            };
            let (candidate, span) = (inferred.candidate, Some(inferred.span));
            self.write_acceptance(active, activity, index, candidate, Some(shown), span);
        }
    }

    /// Starts tracking a text, in place of an earlier one of the same completion.
    fn track(
        self: &Arc<Self>,
        active: &Active,
        activity: &mut DocumentActivity,
        offer: usize,
        candidate: usize,
        text: String,
        span: Option<TrackedSpan>,
    ) {
        let offer = &activity.offers[offer];
        activity.tracked.retain(|one| one.completion != offer.id);
        let mut horizons = active.settings.retention_s.clone();
        horizons.sort_unstable();
        horizons.dedup();
        let mut tracked = TrackedText {
            completion: offer.id.clone(),
            candidate,
            text,
            place: offer.place,
            selected: offer.selected.len(),
            span,
            horizons: horizons.clone(),
            timer: None,
        };
        tracked.find(&activity.document.text);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let recorder = Arc::downgrade(self);
            let (uri, completion) = (activity.document.uri.clone(), offer.id.clone());
            let start = tokio::time::Instant::now();
            let clock = runtime.spawn(async move {
                for after_s in horizons {
                    tokio::time::sleep_until(start + Duration::from_secs(after_s)).await;
                    let Some(recorder) = recorder.upgrade() else {
                        return;
                    };
                    recorder.sample(&uri, &completion, after_s);
                }
            });
            tracked.timer = Some(clock.abort_handle());
        }
        activity.tracked.push(tracked);
    }

    /// Records the part of an accepted text that remains.
    fn sample(&self, uri: &str, completion: &str, after_s: u64) {
        let looked = {
            let mut state = self.state();
            let RecorderState {
                active, documents, ..
            } = &mut *state;
            let (Some(active), Some(activity)) = (active, documents.get_mut(uri)) else {
                return;
            };
            let index = activity
                .tracked
                .iter()
                .position(|one| one.completion == completion);
            let Some(index) = index else { return };
            let tracked = &mut activity.tracked[index];
            tracked.horizons.retain(|later| *later != after_s);
            let event = tracked.event(active, after_s, Some(&activity.document.text));
            if tracked.horizons.is_empty() {
                activity.tracked.swap_remove(index);
            }
            (active.writer.clone(), event)
        };
        let (writer, event) = looked;
        writer.write(StoreEntry::Event(event));
    }

    fn write_entered(&self, active: &Active, activity: &mut DocumentActivity) {
        let (characters, overtaken) = (
            std::mem::take(&mut activity.characters),
            std::mem::take(&mut activity.overtaken),
        );
        if characters == 0 && overtaken == 0 {
            return;
        }
        let document = &activity.document;
        active.writer.write(StoreEntry::Entered(EnteredCharacters {
            at_ms: now_ms(),
            session: self.session.id.clone(),
            file: document.uri.clone(),
            simulated: self.session.simulated,
            language: document.language.map(|language| language.name.to_owned()),
            model: activity.model.clone(),
            named: activity.named.clone(),
            characters,
            overtaken,
        }));
    }

    /// Empties the store, stops tracking, and returns the number of removed completions. While
    /// telemetry is disabled, empties the store that `settings` name.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn purge(&self, settings: &TelemetrySettings) -> Result<usize, TelemetryError> {
        let writer = {
            let mut state = self.state();
            for activity in state.documents.values_mut() {
                activity.offers.clear();
                activity.tracked.clear();
                activity.inferred.clear();
                (activity.characters, activity.overtaken) = (0, 0);
            }
            state.active.as_ref().map(|active| active.writer.clone())
        };
        let writer = match writer {
            Some(writer) => writer,
            None => {
                let path = settings.path.clone().map_or_else(default_path, Ok)?;
                if !path.is_file() {
                    return Ok(0);
                }
                StoreWriter::start(path, None, self.warnings.clone())
            }
        };
        writer.purge().await.unwrap_or(Ok(0))
    }

    /// Ends the observation of all documents and waits until everything is stored.
    pub async fn finish(self: &Arc<Self>) {
        let writers = {
            let mut state = self.state();
            for (_, activity) in std::mem::take(&mut state.documents) {
                self.write_unobserved(&state, activity);
            }
            let mut writers = state.replaced.clone();
            writers.extend(state.active.as_ref().map(|active| active.writer.clone()));
            writers
        };
        for writer in writers {
            writer.finish().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock()
    }
}

impl DocumentActivity {
    /// Returns the accept inferred from changes that lead from the document to `after`. They must
    /// insert an open candidate, or the rest of one, at its place, most of it in one piece, unlike
    /// typing.
    fn accepted_by_edit(
        &self,
        after: &Snapshot,
        changes: &[TextChange],
    ) -> Option<InferredAcceptance> {
        let grown = after.text.len().0.checked_sub(self.document.text.len().0)?;
        let pieces = changes.iter().map(|change| change.inserted.len());
        if 2 * pieces.max()? <= grown {
            return None;
        }
        let open = self.offers.iter().rev().filter(|offer| !offer.ended);
        open.filter_map(|offer| {
            let inserted_range = |candidate: &&String| {
                let inserted = [offer.selected.as_str(), candidate.as_str()].concat();
                let end = offer.place + inserted.len();
                let typed = inserted.len().checked_sub(grown)?;
                let rest = inserted.get(typed..)?;
                // A single character is typed, and so is a pair that the editor closes.
                let is_key = rest.chars().count() < 2 || matches!(rest, "()" | "[]" | "{}");
                let slice =
                    |text: &Text, end: usize| text.slice(ByteOffset(offer.place)..ByteOffset(end));
                let begun = slice(&self.document.text, offer.place + typed);
                (!is_key && begun == inserted[..typed] && slice(&after.text, end) == inserted)
                    .then_some(end - candidate.len()..end)
            };
            let mut candidates = offer.candidates.iter().enumerate();
            let (candidate, range) =
                candidates.find_map(|(index, text)| Some((index, inserted_range(&text)?)))?;
            Some(InferredAcceptance {
                completion: offer.id.clone(),
                candidate,
                span: TrackedSpan::new(range),
            })
        })
        .next()
    }
}

impl TrackedText {
    /// Searches for the text near the cursor where it was offered, unless it is found already.
    fn find(&mut self, text: &Text) {
        if self.span.is_none() {
            let found = find_near(text, self.place + self.selected, &self.text);
            self.span = found.map(TrackedSpan::new);
        }
    }

    /// Returns the event of a horizon, measured in the document's text; without the text,
    /// unobserved.
    fn event(&self, active: &Active, after_s: u64, document: Option<&Text>) -> CompletionEvent {
        let around = document.zip(self.span.as_ref()).map(|(text, span)| {
            let range = span.range();
            // A character has up to four bytes.
            let near = 4 * (NEAR + self.text.len());
            let slice = |from: usize, to: usize| text.slice(ByteOffset(from)..ByteOffset(to));
            (
                slice(range.start.saturating_sub(near), range.start),
                slice(range.start, range.end),
                slice(range.end, range.end + near),
            )
        });
        let left = around
            .as_ref()
            .map(|(before, place, after)| Remainder::measure(&self.text, before, place, after));
        let text = around.filter(|_| active.settings.content);
        let retained = RetentionSample {
            after_s,
            characters: self.text.chars().count(),
            left,
            text: text.map(|(_, place, _)| place),
        };
        event(
            &self.completion,
            Some(self.candidate),
            None,
            CompletionEventKind::Retained(retained),
        )
    }
}

impl Drop for TrackedText {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

fn event(
    completion: &str,
    candidate: Option<usize>,
    shown: Option<Displayed>,
    kind: CompletionEventKind,
) -> CompletionEvent {
    CompletionEvent {
        id: Uuid::new_v4().to_string(),
        completion: completion.to_owned(),
        at_ms: now_ms(),
        candidate,
        shown,
        kind,
    }
}

/// Finds the document of a completion and its index among the offers.
fn find_offer<'a>(
    documents: &'a mut HashMap<String, DocumentActivity>,
    completion: &str,
) -> Option<(&'a mut DocumentActivity, usize)> {
    documents.values_mut().find_map(|activity| {
        let index = activity
            .offers
            .iter()
            .position(|offer| offer.id == completion)?;
        Some((activity, index))
    })
}

/// Joins a partial accept with the adjacent earlier ones. Returns the accepted text and its range.
/// Characters of the candidate that were typed by hand do not count.
fn accepted_part(
    activity: &DocumentActivity,
    offer: usize,
    candidate: usize,
    characters: usize,
) -> Option<(String, Range<usize>)> {
    let offer = &activity.offers[offer];
    let text = offer.candidates.get(candidate)?;
    let place = offer.place + offer.selected.len();
    let present = activity
        .document
        .text
        .slice(ByteOffset(place)..ByteOffset(place + text.len()));
    let alike = text
        .chars()
        .zip(present.chars())
        .take_while(|(one, other)| one == other);
    let end: usize = alike.map(|(one, _)| one.len_utf8()).sum();
    let step: usize = text[..end]
        .chars()
        .rev()
        .take(characters)
        .map(char::len_utf8)
        .sum();
    let earlier = activity
        .tracked
        .iter()
        .find(|one| one.completion == offer.id)
        .and_then(|one| one.span.as_ref())
        .map(TrackedSpan::range)
        .filter(|range| range.start >= place && range.end == place + end - step);
    let start = earlier.map_or(end - step, |range| range.start - place);
    if start >= end || !text.is_char_boundary(start) {
        return None;
    }
    Some((text[start..end].to_owned(), place + start..place + end))
}

/// Returns the range of a text at a place, or else of its nearest occurrence.
fn find_near(document: &Text, place: usize, text: &str) -> Option<Range<usize>> {
    let at = document.slice(ByteOffset(place)..ByteOffset(place + text.len()));
    if at == text {
        return Some(place..place + text.len());
    }
    let from = place.saturating_sub(SEARCH_RADIUS + text.len());
    let to = place + SEARCH_RADIUS + 2 * text.len();
    let near = document.slice(ByteOffset(from)..ByteOffset(to));
    // The slice may begin a little earlier, at a character boundary.
    let from = document.slice(ByteOffset(0)..ByteOffset(from)).len();
    let starts = near.match_indices(text).map(|(index, _)| from + index);
    let start = starts.min_by_key(|start| start.abs_diff(place))?;
    Some(start..start + text.len())
}

/// Duration of a model's own work: windows, model and clean-up.
fn own_ms(trace: &Trace) -> f64 {
    trace.context_ms + trace.model_ms + trace.cleanup_ms
}

/// Milliseconds since 1970 (UTC).
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
