//! What becomes of completions, noted on this machine alone: events, retention, the local store.
//!
//! A completion is noted when it is answered, and then everything that becomes of it under its
//! id: that it was shown, accepted, taken in parts, dismissed or superseded, and, some time after
//! it was taken, what is left of it. For that its text is followed through every edit.
//!
//! Nothing is ever sent anywhere. The store has no code unless `telemetry.content` is set, and
//! names sessions and files by salted hashes.
//!
//! Writing holds nobody up: rows go to a thread of their own. What counts as acknowledged: an
//! accept once its command is answered, and everything before the answer to `shutdown` or
//! `fillrate/purge`; these wait until the store has it. Everything else is in the store moments
//! after it happened; a server that is killed then may lose those moments.

mod event;
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
use crate::documents::{Change, Snapshot};
use crate::text::{ByteOffset, Text};

pub use event::{
    Accepted, Answered, Certainty, Entered, Event, EventKind, Form, Outcome, Parameters, Partly,
    PlaceKind, Recorded, Retained, Second, Shown, Size, Timings,
};
pub use retention::{Left, NEAR, RETAINED, STILL_IN_CODE};
pub use span::Span;
pub use store::{Contents, Entry, Line, SCHEMA, Store, TelemetryError, default_path, read};

use span::place_after;
use writer::Writer;

/// Notes what becomes of one session's completions. Every method returns at once, but for those
/// that say that they wait.
#[derive(Debug)]
pub struct Recorder {
    session: Session,
    complaints: mpsc::UnboundedSender<String>,
    state: Mutex<State>,
}

/// Whose session it is.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    client: Option<String>,
    client_version: Option<String>,
    simulated: bool,
}

/// A request for a completion and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// How it was asked for.
    pub form: Form,
    /// How it came about.
    pub trigger: Trigger,
    /// The document that was asked about.
    pub document: &'a Arc<Snapshot>,
    /// Where in it.
    pub cursor: ByteOffset,
    /// From the request to the answer.
    pub latency: Duration,
    /// The settings in force, with the model that answered as the one there is.
    pub configuration: &'a Configuration,
}

/// What an editor tells of a completion.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// It is or was displayed.
    Shown,
    /// A part of it was taken.
    PartlyAccepted {
        /// The characters taken by this step.
        characters: usize,
        /// `word`, `line` or `characters`.
        unit: Option<String>,
    },
    /// The person refused it.
    Dismissed,
}

/// The client that plays a developer in a replay: what it does is marked as simulated.
pub const SIMULATION: &str = "fillrate-replay";

/// The most completions of one document of which events are still taken.
const MOST_OFFERS: usize = 128;

/// How far from where it was offered an accepted text is looked for, in bytes: an editor may have
/// indented it or added an import.
const SEARCHED: usize = 400;

/// After how many characters what entered a file is written down.
const MANY: usize = 2000;

#[derive(Debug, Default)]
struct State {
    /// Nothing where nothing is noted.
    active: Option<Active>,
    /// Those of earlier settings, which may not have written everything yet.
    earlier: Vec<Writer>,
    /// By URI.
    desks: HashMap<String, Desk>,
}

/// Telemetry under the settings in force.
#[derive(Debug)]
struct Active {
    settings: TelemetrySettings,
    writer: Writer,
}

/// What goes on in one document.
#[derive(Debug)]
struct Desk {
    document: Arc<Snapshot>,
    /// Completions with candidates, newest last.
    offers: VecDeque<Offer>,
    /// What was taken and is followed, by its completion.
    followed: Vec<Followed>,
    /// What entered it and is not written down yet.
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
    form: Form,
    /// The cursor it was made for, in bytes.
    place: usize,
    candidates: Vec<String>,
    /// Whether it was accepted, dismissed or superseded.
    ended: bool,
    accepted: bool,
}

/// A text that was taken, or the parts of it.
#[derive(Debug)]
struct Followed {
    completion: String,
    candidate: usize,
    /// What was taken.
    text: String,
    /// Where it was offered, in bytes.
    place: usize,
    /// Where it stands; nothing until it is found.
    span: Option<Span>,
    /// Horizons that are to come, in seconds.
    ahead: Vec<u64>,
    timer: Option<tokio::task::AbortHandle>,
}

impl Recorder {
    /// A recorder for the session of a client, which notes nothing until it is configured. What
    /// keeps it from writing goes to `complaints`, once for each store.
    pub fn new(
        client: Option<String>,
        client_version: Option<String>,
        complaints: mpsc::UnboundedSender<String>,
    ) -> Self {
        Self {
            session: Session {
                id: Uuid::new_v4().to_string(),
                simulated: client.as_deref() == Some(SIMULATION),
                client,
                client_version,
            },
            complaints,
            state: Mutex::default(),
        }
    }

    /// Puts settings in force.
    pub fn configure(&self, settings: &TelemetrySettings) {
        let mut state = self.state();
        let before = state.active.take();
        let writer = before.as_ref().map(|active| active.writer.clone());
        if before.is_none() || !settings.enabled {
            // What went on while nothing is noted is not noted later either.
            for desk in state.desks.values_mut() {
                desk.followed.clear();
                (desk.characters, desk.overtaken) = (0, 0);
            }
        }
        if !settings.enabled {
            state.earlier.extend(writer);
            return;
        }
        let writer = match before {
            Some(active) if active.settings.path == settings.path => active.writer,
            _ => {
                state.earlier.extend(writer);
                let path = settings.path.clone().map_or_else(default_path, Ok);
                match path {
                    Ok(path) => Writer::start(path, self.complaints.clone()),
                    Err(error) => {
                        let _ = self.complaints.send(writer::complaint(&error));
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

    /// Whether the texts of completions are kept.
    pub fn keeps_content(&self) -> bool {
        let state = self.state();
        let active = state.active.as_ref();
        active.is_some_and(|active| active.settings.content)
    }

    /// Takes note of a document that was opened.
    pub fn opened(&self, document: &Arc<Snapshot>) {
        let desk = Desk {
            document: Arc::clone(document),
            offers: VecDeque::new(),
            followed: Vec::new(),
            characters: 0,
            overtaken: 0,
            model: None,
            named: String::new(),
        };
        let mut state = self.state();
        let before = state.desks.insert(document.uri.clone(), desk);
        if let Some(before) = before {
            self.close(&state, before);
        }
    }

    /// Follows edits of a document.
    pub fn edited(&self, document: &Arc<Snapshot>, changes: &[Change]) {
        let mut state = self.state();
        let State { active, desks, .. } = &mut *state;
        let Some(desk) = desks.get_mut(&document.uri) else {
            return;
        };
        desk.document = Arc::clone(document);
        for change in changes {
            desk.characters += change.inserted.chars().count();
            for offer in &mut desk.offers {
                offer.place = place_after(offer.place, change);
            }
            for followed in &mut desk.followed {
                followed.place = place_after(followed.place, change);
                if let Some(span) = &mut followed.span {
                    span.follow(change);
                }
            }
        }
        for followed in &mut desk.followed {
            // Some clients run an item's command before they tell of the edit.
            followed.find(&document.text);
        }
        if desk.characters >= MANY
            && let Some(active) = active
        {
            self.write_entered(active, desk);
        }
    }

    /// Ends the observation of a document that was closed: what is still to be looked at then is
    /// unobserved.
    pub fn closed(&self, uri: &str) {
        let mut state = self.state();
        if let Some(desk) = state.desks.remove(uri) {
            self.close(&state, desk);
        }
    }

    fn close(&self, state: &State, mut desk: Desk) {
        let Some(active) = &state.active else { return };
        for followed in std::mem::take(&mut desk.followed) {
            for after_s in followed.ahead.clone() {
                let event = followed.event(active, after_s, None);
                active.writer.write(Entry::Event(event));
            }
        }
        self.write_entered(active, &mut desk);
    }

    /// Notes a completion, and gives its id. The same texts offered at the same place twice in a
    /// row are one completion and have one id.
    pub fn answered(&self, request: Request<'_>, completion: &Completion) -> String {
        let mut state = self.state();
        let State { active, desks, .. } = &mut *state;
        let (Some(active), Some(desk)) = (active, desks.get_mut(&request.document.uri)) else {
            return Uuid::new_v4().to_string();
        };
        let last = desk
            .offers
            .iter()
            .rev()
            .find(|offer| offer.form == request.form);
        if let Some(last) = last
            && last.place == request.cursor.0
            && last.candidates == completion.candidates
            && !last.accepted
        {
            return last.id.clone();
        }
        for offer in &mut desk.offers {
            if offer.form == request.form && !offer.ended {
                offer.ended = true;
                let superseded = event(&offer.id, None, None, EventKind::Superseded);
                active.writer.write(Entry::Event(superseded));
            }
        }
        let answered = self.row(active, request, completion);
        let id = answered.completion.clone();
        if desk.model.is_some() && desk.named != answered.named {
            // What entered until now did so under the other model.
            self.write_entered(active, desk);
        }
        desk.model = Some(answered.model.clone());
        desk.named.clone_from(&answered.named);
        active.writer.write(Entry::Answered(Box::new(answered)));
        if !completion.candidates.is_empty() {
            desk.offers.push_back(Offer {
                id: id.clone(),
                form: request.form,
                place: request.cursor.0,
                candidates: completion.candidates.clone(),
                ended: false,
                accepted: false,
            });
            if desk.offers.len() > MOST_OFFERS {
                desk.offers.pop_front();
            }
        }
        id
    }

    /// Counts a request that was overtaken by an edit, a newer request or a cancel.
    pub fn overtaken(&self, uri: &str) {
        if let Some(desk) = self.state().desks.get_mut(uri) {
            desk.overtaken += 1;
        }
    }

    fn row(&self, active: &Active, request: Request<'_>, completion: &Completion) -> Answered {
        let Request {
            document, cursor, ..
        } = request;
        let trace = &completion.trace;
        let settings = &request.configuration.model;
        let text = &document.text;
        let before = text.slice(ByteOffset(0)..cursor);
        let after = text.slice(cursor..text.len());
        let on_line = |text: &str| {
            text.split(['\n', '\r'])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let line_before = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let latency_ms = request.latency.as_secs_f64() * 1000.0;
        Answered {
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
            second: trace.second.as_deref().map(|second| Second {
                model: second.model.clone(),
                named: second.named.clone(),
                configuration: second.configuration.clone(),
                own_ms: own_ms(second),
            }),
            parameters: Parameters {
                max_tokens: settings.max_tokens,
                temperature: settings.temperature,
                top_p: settings.top_p,
                seed: settings.seed,
                candidates: settings.candidates,
                context_tokens: settings.context_tokens,
            },
            profile: request.configuration.context.profile.name().to_owned(),
            language: document.language.map(|language| language.name.to_owned()),
            place: PlaceKind::of(line_before, &on_line(&after)),
            form: request.form,
            invoked: request.trigger == Trigger::Invoked,
            source: trace.source,
            outcome: if trace.fault.is_some() {
                Outcome::Fault
            } else if completion.candidates.is_empty() {
                Outcome::Nothing
            } else {
                Outcome::Offered
            },
            candidates: completion
                .candidates
                .iter()
                .map(|text| Size::of(text))
                .collect(),
            prefix_characters: before.chars().count(),
            suffix_characters: after.chars().count(),
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
            texts: active
                .settings
                .content
                .then(|| completion.candidates.clone()),
        }
    }

    /// Notes what an editor tells of a completion. One that is not known is passed over.
    pub fn told(
        self: &Arc<Self>,
        completion: &str,
        candidate: usize,
        shown: Option<Shown>,
        told: Told,
    ) {
        let mut state = self.state();
        let State { active, desks, .. } = &mut *state;
        let (Some(active), Some((desk, index))) = (active, offer_of(desks, completion)) else {
            return;
        };
        let kind = match told {
            Told::Shown => EventKind::Shown,
            Told::Dismissed => {
                desk.offers[index].ended = true;
                EventKind::Dismissed
            }
            Told::PartlyAccepted { characters, unit } => {
                EventKind::PartlyAccepted { characters, unit }
            }
        };
        let part = match &kind {
            EventKind::PartlyAccepted { characters, .. } => Some(*characters),
            _ => None,
        };
        let event = event(completion, Some(candidate), shown, kind);
        active.writer.write(Entry::Event(event));
        if let Some(characters) = part {
            let taken = part_taken(desk, index, candidate, characters);
            if let Some((text, range)) = taken {
                let span = Some(Span::new(range));
                self.follow(active, desk, index, candidate, text, span);
            }
        }
    }

    /// Notes that a completion was accepted, and waits until the store has it. One that is not
    /// known, or was accepted already, is passed over.
    pub async fn accepted(
        self: &Arc<Self>,
        completion: &str,
        candidate: usize,
        shown: Option<Shown>,
    ) {
        let writer = {
            let mut state = self.state();
            let State { active, desks, .. } = &mut *state;
            let (Some(active), Some((desk, index))) = (active, offer_of(desks, completion)) else {
                return;
            };
            let Some(text) = desk.offers[index].candidates.get(candidate).cloned() else {
                return;
            };
            let offer = &mut desk.offers[index];
            if offer.accepted {
                return;
            }
            (offer.ended, offer.accepted) = (true, true);
            let accepted = EventKind::Accepted {
                characters: text.chars().count(),
                text: active.settings.content.then(|| text.clone()),
            };
            let event = event(completion, Some(candidate), shown, accepted);
            active.writer.write(Entry::Event(event));
            self.follow(active, desk, index, candidate, text, None);
            // So that what was accepted is never without what entered the file with it.
            self.write_entered(active, desk);
            active.writer.clone()
        };
        writer.flush().await;
    }

    /// Follows a text from now on, in place of what of the same completion was followed before.
    fn follow(
        self: &Arc<Self>,
        active: &Active,
        desk: &mut Desk,
        offer: usize,
        candidate: usize,
        text: String,
        span: Option<Span>,
    ) {
        let offer = &desk.offers[offer];
        desk.followed.retain(|one| one.completion != offer.id);
        let mut ahead = active.settings.retention_s.clone();
        ahead.sort_unstable();
        ahead.dedup();
        let mut followed = Followed {
            completion: offer.id.clone(),
            candidate,
            text,
            place: offer.place,
            span,
            ahead: ahead.clone(),
            timer: None,
        };
        followed.find(&desk.document.text);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let recorder = Arc::downgrade(self);
            let (uri, completion) = (desk.document.uri.clone(), offer.id.clone());
            let start = tokio::time::Instant::now();
            let clock = runtime.spawn(async move {
                for after_s in ahead {
                    tokio::time::sleep_until(start + Duration::from_secs(after_s)).await;
                    let Some(recorder) = recorder.upgrade() else {
                        return;
                    };
                    recorder.look(&uri, &completion, after_s);
                }
            });
            followed.timer = Some(clock.abort_handle());
        }
        desk.followed.push(followed);
    }

    /// Looks at what is left of what was taken of a completion.
    fn look(&self, uri: &str, completion: &str, after_s: u64) {
        let looked = {
            let mut state = self.state();
            let State { active, desks, .. } = &mut *state;
            let (Some(active), Some(desk)) = (active, desks.get_mut(uri)) else {
                return;
            };
            let index = desk
                .followed
                .iter()
                .position(|one| one.completion == completion);
            let Some(index) = index else { return };
            let followed = &mut desk.followed[index];
            followed.ahead.retain(|later| *later != after_s);
            let event = followed.event(active, after_s, Some(&desk.document.text));
            if followed.ahead.is_empty() {
                desk.followed.swap_remove(index);
            }
            (active.writer.clone(), event)
        };
        let (writer, event) = looked;
        writer.write(Entry::Event(event));
    }

    fn write_entered(&self, active: &Active, desk: &mut Desk) {
        let (characters, overtaken) = (
            std::mem::take(&mut desk.characters),
            std::mem::take(&mut desk.overtaken),
        );
        if characters == 0 && overtaken == 0 {
            return;
        }
        let document = &desk.document;
        active.writer.write(Entry::Entered(Entered {
            at_ms: now_ms(),
            session: self.session.id.clone(),
            file: document.uri.clone(),
            simulated: self.session.simulated,
            language: document.language.map(|language| language.name.to_owned()),
            model: desk.model.clone(),
            named: desk.named.clone(),
            characters,
            overtaken,
        }));
    }

    /// Empties the store, forgets what is followed, and says how many completions were removed.
    /// Waits for it. Works where nothing is noted, too, on the store that `settings` name.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn purge(&self, settings: &TelemetrySettings) -> Result<usize, TelemetryError> {
        let writer = {
            let mut state = self.state();
            for desk in state.desks.values_mut() {
                desk.offers.clear();
                desk.followed.clear();
                (desk.characters, desk.overtaken) = (0, 0);
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
                Writer::start(path, self.complaints.clone())
            }
        };
        writer.purge().await.unwrap_or(Ok(0))
    }

    /// Ends the observation of all documents, and waits until the store has everything.
    pub async fn end(&self) {
        let writers = {
            let mut state = self.state();
            for (_, desk) in std::mem::take(&mut state.desks) {
                self.close(&state, desk);
            }
            let mut writers = state.earlier.clone();
            writers.extend(state.active.as_ref().map(|active| active.writer.clone()));
            writers
        };
        for writer in writers {
            writer.flush().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Followed {
    /// Looks for the text where it was offered, unless it is found already.
    fn find(&mut self, text: &Text) {
        if self.span.is_none() {
            let found = located(text, self.place, &self.text);
            self.span = found.map(Span::new);
        }
    }

    /// What is noted at a horizon, of the document's text, or without it that it could not be
    /// observed.
    fn event(&self, active: &Active, after_s: u64, document: Option<&Text>) -> Event {
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
            .map(|(before, place, after)| Left::of(&self.text, before, place, after));
        let text = around.filter(|_| active.settings.content);
        let retained = Retained {
            after_s,
            characters: self.text.chars().count(),
            left,
            text: text.map(|(_, place, _)| place),
        };
        event(
            &self.completion,
            Some(self.candidate),
            None,
            EventKind::Retained(retained),
        )
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

fn event(
    completion: &str,
    candidate: Option<usize>,
    shown: Option<Shown>,
    kind: EventKind,
) -> Event {
    Event {
        id: Uuid::new_v4().to_string(),
        completion: completion.to_owned(),
        at_ms: now_ms(),
        candidate,
        shown,
        kind,
    }
}

/// The desk that has a completion, and where.
fn offer_of<'a>(
    desks: &'a mut HashMap<String, Desk>,
    completion: &str,
) -> Option<(&'a mut Desk, usize)> {
    desks.values_mut().find_map(|desk| {
        let index = desk
            .offers
            .iter()
            .position(|offer| offer.id == completion)?;
        Some((desk, index))
    })
}

/// What a step that took so many characters of a candidate comes to with those before it: the
/// text that was taken, and where it stands. What was typed of the candidate by hand is not taken.
fn part_taken(
    desk: &Desk,
    offer: usize,
    candidate: usize,
    characters: usize,
) -> Option<(String, Range<usize>)> {
    let offer = &desk.offers[offer];
    let text = offer.candidates.get(candidate)?;
    let place = offer.place;
    let stands = desk
        .document
        .text
        .slice(ByteOffset(place)..ByteOffset(place + text.len()));
    let alike = text
        .chars()
        .zip(stands.chars())
        .take_while(|(one, other)| one == other);
    let end: usize = alike.map(|(one, _)| one.len_utf8()).sum();
    let step: usize = text[..end]
        .chars()
        .rev()
        .take(characters)
        .map(char::len_utf8)
        .sum();
    let earlier = desk
        .followed
        .iter()
        .find(|one| one.completion == offer.id)
        .and_then(|one| one.span.as_ref())
        .map(Span::range)
        .filter(|range| range.start >= place && range.end == place + end - step);
    let start = earlier.map_or(end - step, |range| range.start - place);
    if start >= end || !text.is_char_boundary(start) {
        return None;
    }
    Some((text[start..end].to_owned(), place + start..place + end))
}

/// Where a text stands at or near a place: there, else the nearest.
fn located(document: &Text, place: usize, text: &str) -> Option<Range<usize>> {
    let at = document.slice(ByteOffset(place)..ByteOffset(place + text.len()));
    if at == text {
        return Some(place..place + text.len());
    }
    let from = place.saturating_sub(SEARCHED + text.len());
    let to = place + SEARCHED + 2 * text.len();
    let near = document.slice(ByteOffset(from)..ByteOffset(to));
    // The slice may begin a little earlier, at a character's start.
    let from = document.slice(ByteOffset(0)..ByteOffset(from)).len();
    let starts = near.match_indices(text).map(|(index, _)| from + index);
    let start = starts.min_by_key(|start| start.abs_diff(place))?;
    Some(start..start + text.len())
}

/// How long a model's own answer took: windows, model and clean-up.
fn own_ms(trace: &Trace) -> f64 {
    trace.context_ms + trace.model_ms + trace.cleanup_ms
}

/// Milliseconds since 1970 (UTC).
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
