//! Simulates a developer who types the reference of a hole, key by key, and accepts completions by
//! a policy.
//!
//! Time is a clock of its own ([`Pace::Virtual`]): the pauses of the keystroke model are counted,
//! not slept, and what the server takes to answer is measured and laid onto that clock. A request
//! that is still under way when the next key is due is cancelled, as editors do, so that such a
//! pause is slept in full. In the server the wait for the next key (`typing.wait_ms`) depends on
//! the wall's clock: under a virtual clock it would see keys come as fast as it answers. So the
//! server is configured not to wait, and the developer uses the server's own [`Rhythm`] to compute
//! the wait, adds it to the answer's time, and sends no request if a key would have come before.
//! Under [`Pace::Real`] every pause is slept and nothing is counted on the server's behalf.
//!
//! With a scripted latency the developer waits for every answer without a limit and treats it as
//! if it had taken exactly that latency: the session depends on no clock and is reproducible.

use std::ops::Range;
use std::time::Duration;

use fillrate_server::completion::{ModelTime, Rhythm};
use fillrate_verdict::Outcome;
use serde::{Deserialize, Serialize};

use super::policy::{DisplayedCompletion, LinePosition, Policy};
use super::typist::{KeyPosition, Typist, draw};

/// Delay of an editor from a key to its request, in milliseconds: VS Code's
/// (<https://github.com/microsoft/vscode/pull/152747>), which sends a request without delay after
/// an accepted completion (<https://github.com/microsoft/vscode/pull/240239>).
const EDITOR_DELAY_MS: f64 = 50.0;

/// Settings of a developer's typing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypistSettings {
    /// The rhythm.
    pub typist: Typist,
    /// Another seed gives other pauses and other chances.
    pub seed: u64,
    /// Whose clock counts.
    pub pace: Pace,
    /// Scripted latency of every response, in milliseconds; `None` measures it.
    pub latency_ms: Option<f64>,
}

impl TypistSettings {
    /// The pause before the first key of a hole, in milliseconds.
    pub fn first_pause_ms(&self, hole: &str) -> f64 {
        self.pause_ms(KeyPosition::Line, hole, 0, "")
    }

    /// The random draw of a policy at a position in a hole: a number between 0 and 1.
    pub fn chance(&self, policy: &Policy, hole: &str, at: usize) -> f64 {
        let (seed, at) = (self.seed.to_string(), at.to_string());
        draw(&[&seed, hole, &at, &policy.name(), "accept"])
    }

    /// The pause before a key. It depends on the position alone, so that all policies meet the same
    /// typist.
    fn pause_ms(&self, before: KeyPosition, hole: &str, at: usize, what: &str) -> f64 {
        let draw = draw(&[&self.seed.to_string(), hole, &at.to_string(), what]);
        self.typist.pause_ms(before, draw)
    }
}

/// Whose clock counts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(
    serialize_all = "lowercase",
    parse_err_fn = unknown_pace,
    parse_err_ty = String
)]
pub enum Pace {
    /// The typist's own: pauses are counted.
    #[default]
    Virtual,
    /// The wall's: pauses are slept.
    Real,
}

fn unknown_pace(_: &str) -> String {
    "it is `virtual` or `real`".to_owned()
}

/// The record of typing the reference of a hole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypingSession {
    /// Every request, in order.
    pub requests: Vec<TypingRequest>,
    /// The keys that were pressed.
    pub keys: KeyCounts,
    /// Duration on the typist's clock, in milliseconds.
    pub duration_ms: f64,
}

/// Number of keys by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCounts {
    /// Those that put a character in.
    pub typed: usize,
    /// Those that accepted a completion.
    pub accepts: usize,
    /// Those that deleted what an accept put in wrongly, a character each.
    pub deletes: usize,
}

impl KeyCounts {
    /// All of them.
    pub fn total(self) -> usize {
        self.typed + self.accepts + self.deletes
    }
}

/// A completion that was requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypingRequest {
    /// Time of the key before it, in milliseconds since the file was opened.
    pub at_ms: f64,
    /// Number of bytes of the reference in the hole.
    pub written: usize,
    /// Pause of the developer before the next key, in milliseconds.
    pub pause_ms: f64,
    /// From the key to the answer, in milliseconds: the editor's wait, the server's wait for the
    /// next key, and the answer itself. `None` if no answer came before the request was
    /// cancelled.
    pub latency_ms: Option<f64>,
    /// Candidates that the server offered, best first.
    pub candidates: Vec<String>,
    /// Result of the request.
    pub result: RequestResult,
    /// Time on display, in milliseconds: a completion whose beginning is typed stays.
    pub shown_ms: f64,
    /// The accepted candidate; `None` if nothing was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<TypedAcceptance>,
    /// Outcome of the tests on the file in which the completion replaces the rest of the hole: of
    /// the one accepted, and of the first one that is shown where nothing is written yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestResult {
    /// A new completion is displayed.
    Shown,
    /// The answer is the rest of the displayed completion, or the one that was displayed last: it
    /// counts once.
    Continued,
    /// The answer was empty.
    Nothing,
    /// The answer came when the next key had been typed.
    Late,
    /// No answer came before the next key, or before the timeout.
    Cancelled,
}

/// A candidate that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedAcceptance {
    /// Index of the candidate.
    pub candidate: usize,
    /// Number of its characters that stayed, as [`key_count`] counts.
    pub kept: usize,
    /// Number of its characters that were deleted, likewise.
    pub removed: usize,
}

impl TypingRequest {
    /// The candidate that was accepted, or else the one on display.
    pub fn text(&self) -> Option<&str> {
        let index = self.accepted.map_or(0, |accepted| accepted.candidate);
        self.candidates.get(index).map(String::as_str)
    }
}

/// A hole as it is typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoleText<'a> {
    /// The hole's id: random choices follow from it.
    pub(crate) id: &'a str,
    /// The open file before the hole.
    pub(crate) prefix: &'a str,
    /// The open file after it.
    pub(crate) suffix: &'a str,
    /// Text to type.
    pub(crate) reference: &'a str,
    /// Text that the developer goes on to type after it. It is not typed here, but a completion may
    /// reach into it.
    pub(crate) continuation: &'a str,
    /// The longest wait of the server for the next key, in milliseconds.
    pub(crate) wait_ms: u64,
    /// Timeout for a completion, for a developer who waits for each.
    pub(crate) timeout: Duration,
}

/// The editor that a developer types into.
pub(crate) trait TypingEditor {
    /// Reason for which typing stops early.
    type Error;

    /// Requests a completion at a cursor, in bytes of the file, as an editor does while a person
    /// types; cancels the request after `timeout`.
    async fn ask(&mut self, cursor: usize, timeout: Duration) -> Result<EditorReply, Self::Error>;

    /// Replaces a range of the file, in bytes, and reports it to the server.
    async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), Self::Error>;

    /// Tells the server that what it answered to a request, counted from 0, was on display for so
    /// many milliseconds.
    async fn report_shown(&mut self, request: usize, ms: f64) -> Result<(), Self::Error>;

    /// Tells the server that a candidate of that answer was accepted, whose text is already in.
    async fn report_accepted(
        &mut self,
        request: usize,
        candidate: usize,
    ) -> Result<(), Self::Error>;

    /// Lets time pass.
    async fn sleep(&mut self, time: Duration);
}

/// Response of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditorReply {
    /// The candidates, best first.
    pub(crate) candidates: Vec<String>,
    /// From the request to the answer, in milliseconds; `None` if it was cancelled.
    pub(crate) latency_ms: Option<f64>,
    /// Time of the model, in milliseconds; `None` if it was not called for this answer.
    pub(crate) model_ms: Option<f64>,
}

/// Types the reference of a hole.
pub(crate) async fn type_hole<E: TypingEditor>(
    editor: &mut E,
    hole: HoleText<'_>,
    settings: &TypistSettings,
    policy: &Policy,
) -> Result<TypingSession, E::Error> {
    let mut state = TypingState {
        editor,
        hole,
        settings,
        policy,
        session: TypingSession::default(),
        written: 0,
        now: 0.0,
        rhythm: Rhythm::default(),
        model_time: ModelTime::default(),
        display: None,
        last: None,
    };
    let mut last_action = LastAction::Opened;
    while let Some(key) = keys(state.remaining()).next() {
        // The developer reads the place first, which takes as long as thinking of a line.
        let before = match last_action {
            LastAction::Opened => KeyPosition::Line,
            _ => KeyPosition::after(&state.before_cursor(), key),
        };
        let pause = state.pause(before, "");
        let mut due = state.now + pause;
        let mut accepted = None;
        // After deleting a wrong completion, the developer types a key before looking at another.
        if last_action != LastAction::Repaired {
            let check = state.check_display(last_action, pause).await?;
            // A developer who waits for completions types the next key only after having seen the
            // reply.
            due = due.max(check.seen_at);
            accepted = check.accepted;
        }
        state.advance_to(due).await;
        last_action = match accepted {
            Some((request, candidate)) => state.accept(request, candidate).await?,
            None => state.key(key).await?,
        };
    }
    state.end_display().await?;
    state.session.duration_ms = state.now;
    Ok(state.session)
}

/// The developer's last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastAction {
    /// The file was opened and the cursor put in the hole.
    Opened,
    /// A key was typed.
    Typed,
    /// A completion was accepted that was right to its end.
    Accepted,
    /// The wrong part of an accepted completion was deleted: no completion is considered before the
    /// next key.
    Repaired,
}

/// Result of looking at the display before the next key.
struct DisplayCheck {
    /// Time at which the developer had seen it, if the developer waits for it.
    seen_at: f64,
    /// The request and the candidate that is accepted.
    accepted: Option<(usize, usize)>,
}

/// The completion on display.
struct Display {
    /// The request that brought it.
    request: usize,
    /// Its rest.
    text: String,
    since: f64,
}

struct TypingState<'a, E> {
    editor: &'a mut E,
    hole: HoleText<'a>,
    settings: &'a TypistSettings,
    policy: &'a Policy,
    session: TypingSession,
    /// Number of bytes of the reference in the hole, which holds nothing else.
    written: usize,
    /// Milliseconds since the file was opened.
    now: f64,
    rhythm: Rhythm,
    model_time: ModelTime,
    display: Option<Display>,
    /// The request that was on display last, and what the hole would hold with it.
    last: Option<(usize, String)>,
}

impl<'a, E: TypingEditor> TypingState<'a, E> {
    /// Returns the text that is still to be typed.
    fn remaining(&self) -> &'a str {
        &self.hole.reference[self.written..]
    }

    /// The text that the developer is about to write: what remains of the reference, and what comes
    /// next.
    fn to_write(&self) -> String {
        [self.remaining(), self.hole.continuation].concat()
    }

    /// The file up to the cursor.
    fn before_cursor(&self) -> String {
        [self.hole.prefix, &self.hole.reference[..self.written]].concat()
    }

    /// Returns the cursor, in bytes of the file.
    fn cursor(&self) -> usize {
        self.hole.prefix.len() + self.written
    }

    fn pause(&self, before: KeyPosition, what: &str) -> f64 {
        self.settings
            .pause_ms(before, self.hole.id, self.written, what)
    }

    /// Advances the typist's clock to a time.
    async fn advance_to(&mut self, time: f64) {
        if self.settings.pace == Pace::Real {
            self.editor.sleep(milliseconds(time - self.now)).await;
        }
        self.now = time;
    }

    /// Asks for a completion and looks at it before the next key, which comes after `pause`.
    async fn check_display(
        &mut self,
        last_action: LastAction,
        pause: f64,
    ) -> Result<DisplayCheck, E::Error> {
        let at = self.now;
        let hurried = self.policy.latency;
        let asked_after = match last_action {
            LastAction::Typed => EDITOR_DELAY_MS,
            _ => 0.0,
        };
        // In real time the server waits itself; in virtual time its wait is only counted.
        let waited = match self.settings.pace {
            Pace::Real => 0.0,
            Pace::Virtual => self.server_wait(at + asked_after),
        };
        // From the key on until the model is asked.
        let due = asked_after + waited;
        if hurried && due >= pause {
            // The next key is there before the model is asked.
            return Ok(DisplayCheck {
                seen_at: at,
                accepted: None,
            });
        }
        let timeout = match self.settings.latency_ms {
            // A reply after the next key is useless, so no longer time is waited for it.
            None if hurried => self.hole.timeout.min(milliseconds(pause - due)),
            _ => self.hole.timeout,
        };
        if self.settings.pace == Pace::Real {
            self.editor.sleep(milliseconds(asked_after)).await;
        }
        let answer = self.editor.ask(self.cursor(), timeout).await?;
        // The server's own wait depends on its model's recent times, so they are recorded as it
        // does.
        if let Some(took) = self.settings.latency_ms.or(answer.model_ms) {
            self.model_time.took(took);
        }
        let latency = answer
            .latency_ms
            .map(|measured| due + self.settings.latency_ms.unwrap_or(measured));
        // Without a reply, the developer has waited for the whole timeout.
        let took = latency.unwrap_or(due + milliseconds_of(timeout));
        if self.settings.pace == Pace::Real {
            // What was slept while the request was under way is not slept again.
            self.now = at + took.max(asked_after);
        }
        let mut request = TypingRequest {
            at_ms: at,
            written: self.written,
            pause_ms: pause,
            latency_ms: latency,
            candidates: answer.candidates,
            result: RequestResult::Shown,
            shown_ms: 0.0,
            accepted: None,
            outcome: None,
        };
        let seen_at = at + took;
        let late = hurried && took > pause;
        let mut accepted = None;
        if late || request.candidates.is_empty() {
            request.result = match latency {
                None => RequestResult::Cancelled,
                Some(_) if late => RequestResult::Late,
                Some(_) => RequestResult::Nothing,
            };
            // An empty reply replaces what an editor displays.
            if request.result == RequestResult::Nothing {
                self.end_display_at(seen_at).await?;
            }
        } else {
            // What an editor's own wait adds is not known online.
            accepted = self
                .display_reply(&mut request, seen_at, took - asked_after)
                .await?;
        }
        self.session.requests.push(request);
        Ok(DisplayCheck {
            seen_at: if hurried { at } else { seen_at },
            accepted,
        })
    }

    /// Displays the first candidate of a reply and lets the policy choose. A candidate that
    /// continues the one displayed last does not count as a new display and causes no new choice.
    async fn display_reply(
        &mut self,
        request: &mut TypingRequest,
        seen_at: f64,
        latency_ms: f64,
    ) -> Result<Option<(usize, usize)>, E::Error> {
        let index = self.session.requests.len();
        let text = request.candidates[0].clone();
        let whole = [&self.hole.reference[..self.written], &text].concat();
        // The same completion, minus what was typed since, is still the one that was shown before.
        let again = self.last.as_ref().filter(|(_, last)| *last == whole);
        if let Some((origin, _)) = again {
            request.result = RequestResult::Continued;
            // It may have been away for a while.
            self.display.get_or_insert(Display {
                request: *origin,
                text,
                since: seen_at,
            });
            return Ok(None);
        }
        self.end_display_at(seen_at).await?;
        self.last = Some((index, whole));
        self.display = Some(Display {
            request: index,
            text,
            since: seen_at,
        });
        let chance = self
            .settings
            .chance(self.policy, self.hole.id, self.written);
        let view = DisplayedCompletion {
            remaining: &self.to_write(),
            candidates: &request.candidates,
            latency_ms,
            place: LinePosition::between(&self.before_cursor(), self.hole.suffix),
        };
        let choice = self.policy.choose(view, chance);
        Ok(choice.map(|candidate| (index, candidate)))
    }

    /// Returns the server's wait for the next key, by the typist's clock.
    fn server_wait(&self, asked_at: f64) -> f64 {
        if self.model_time.is_short() {
            return 0.0;
        }
        let most = Duration::from_millis(self.hole.wait_ms);
        milliseconds_of(self.rhythm.delay(milliseconds(asked_at), most))
    }

    /// Types the next key.
    async fn key(&mut self, key: &str) -> Result<LastAction, E::Error> {
        self.put(key).await?;
        self.written += key.len();
        self.session.keys.typed += 1;
        let now = self.now;
        let left = self.display.as_ref().and_then(|display| {
            // The key may be the completion's next character, and the editor then shows the rest.
            let left = display.text.strip_prefix(key)?;
            (!left.is_empty()).then(|| left.to_owned())
        });
        match (left, &mut self.display) {
            (Some(left), Some(display)) => display.text = left,
            _ => self.end_display_at(now).await?,
        }
        Ok(LastAction::Typed)
    }

    /// Accepts a candidate and deletes what differs from the reference.
    async fn accept(&mut self, request: usize, candidate: usize) -> Result<LastAction, E::Error> {
        self.end_display().await?;
        // After an acceptance, an equal text is another completion.
        self.last = None;
        self.session.keys.accepts += 1;
        let text = self.session.requests[request].candidates[candidate].clone();
        self.put(&text).await?;
        self.editor.report_accepted(request, candidate).await?;
        let (right, wrong) = text.split_at(agreeing(&text, &self.to_write()));
        // What comes after the reference is kept, but not counted.
        let right = &right[..right.len().min(self.remaining().len())];
        let back: Vec<&str> = keys(wrong).collect();
        let mut end = self.cursor() + text.len();
        // The developer deletes from the end, one key at a time, as a backspace does.
        for (index, key) in back.iter().rev().enumerate() {
            let pause = self.pause(KeyPosition::Key, &format!("-{index}"));
            self.advance_to(self.now + pause).await;
            self.editor.edit(end - key.len()..end, "").await?;
            self.rhythm.edited(milliseconds(self.now), key.len());
            end -= key.len();
        }
        self.session.keys.deletes += back.len();
        self.session.requests[request].accepted = Some(TypedAcceptance {
            candidate,
            kept: key_count(right),
            removed: back.len(),
        });
        self.written += right.len();
        Ok(match back.is_empty() {
            true => LastAction::Accepted,
            false => LastAction::Repaired,
        })
    }

    /// Puts a text in at the cursor.
    async fn put(&mut self, text: &str) -> Result<(), E::Error> {
        let cursor = self.cursor();
        self.editor.edit(cursor..cursor, text).await?;
        self.rhythm.edited(milliseconds(self.now), text.len());
        Ok(())
    }

    async fn end_display(&mut self) -> Result<(), E::Error> {
        self.end_display_at(self.now).await
    }

    async fn end_display_at(&mut self, time: f64) -> Result<(), E::Error> {
        if let Some(Display { request, since, .. }) = self.display.take() {
            let shown_ms = &mut self.session.requests[request].shown_ms;
            *shown_ms += (time - since).max(0.0);
            self.editor.report_shown(request, *shown_ms).await?;
        }
        Ok(())
    }
}

/// Returns the number of keys that type a text: its characters, of which a CR with its LF is one.
pub fn key_count(text: &str) -> usize {
    keys(text).count()
}

/// A text as the keys that type it: characters, but a CR with its LF is one.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        // An editor enters and deletes a line break of two characters by one key.
        let length = if rest.starts_with("\r\n") {
            2
        } else {
            first.len_utf8()
        };
        let (key, left) = rest.split_at(length);
        rest = left;
        Some(key)
    })
}

/// Returns the number of bytes of a text that agree with the text to type, in whole keys.
fn agreeing(text: &str, remaining: &str) -> usize {
    keys(text)
        .zip(keys(remaining))
        .take_while(|(a, b)| a == b)
        .map(|(key, _)| key.len())
        .sum()
}

fn milliseconds(number: f64) -> Duration {
    Duration::from_secs_f64(number.max(0.0) / 1000.0)
}

fn milliseconds_of(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An editor whose server offers what a function says of the text before the cursor.
    struct Scripted<F> {
        text: String,
        offers: F,
        asked: usize,
    }

    impl<F: Fn(&str) -> Vec<String>> TypingEditor for Scripted<F> {
        type Error = std::convert::Infallible;

        async fn ask(&mut self, cursor: usize, _: Duration) -> Result<EditorReply, Self::Error> {
            self.asked += 1;
            Ok(EditorReply {
                candidates: (self.offers)(&self.text[..cursor]),
                latency_ms: Some(7.0),
                model_ms: Some(5.0),
            })
        }

        async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), Self::Error> {
            self.text.replace_range(range, text);
            Ok(())
        }

        async fn report_shown(&mut self, request: usize, ms: f64) -> Result<(), Self::Error> {
            assert!(request < self.asked && ms >= 0.0, "{request} {ms}");
            Ok(())
        }

        async fn report_accepted(
            &mut self,
            request: usize,
            candidate: usize,
        ) -> Result<(), Self::Error> {
            assert!(
                request < self.asked && candidate < 5,
                "{request} {candidate}"
            );
            Ok(())
        }

        async fn sleep(&mut self, _: Duration) {
            panic!("a virtual clock sleeps nothing");
        }
    }

    fn settings(latency_ms: Option<f64>) -> TypistSettings {
        TypistSettings {
            typist: Typist::default(),
            seed: 1,
            pace: Pace::Virtual,
            latency_ms,
        }
    }

    fn named(policy: &str) -> Policy {
        Policy::parse(policy, |_| Err(String::new())).expect("there is one")
    }

    /// Types a reference between `f(` and `)`; returns the session and the text.
    fn typed(
        reference: &str,
        policy: &str,
        latency_ms: Option<f64>,
        offers: impl Fn(&str) -> Vec<String>,
    ) -> (TypingSession, String) {
        typed_before("", reference, policy, latency_ms, offers)
    }

    /// As [`typed`], with a text that the developer goes on to write.
    fn typed_before(
        continuation: &str,
        reference: &str,
        policy: &str,
        latency_ms: Option<f64>,
        offers: impl Fn(&str) -> Vec<String>,
    ) -> (TypingSession, String) {
        let mut editor = Scripted {
            text: "f()\n".to_owned(),
            offers,
            asked: 0,
        };
        let hole = HoleText {
            id: "h",
            prefix: "f(",
            suffix: ")\n",
            reference,
            continuation,
            wait_ms: 150,
            timeout: Duration::from_secs(1),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("the system gives a runtime");
        let Ok(session) = runtime.block_on(type_hole(
            &mut editor,
            hole,
            &settings(latency_ms),
            &named(policy),
        ));
        assert_eq!(editor.asked, session.requests.len());
        (session, editor.text)
    }

    fn results(session: &TypingSession) -> Vec<RequestResult> {
        session
            .requests
            .iter()
            .map(|request| request.result)
            .collect()
    }

    #[test]
    fn what_is_right_is_taken_whole_and_asked_on_from_there() {
        let (session, text) = typed("alpha, beta", "oracle-prefix", Some(10.0), |before| {
            let next = if before == "f(" { "alpha" } else { ", beta" };
            vec![next.to_owned()]
        });
        assert_eq!(text, "f(alpha, beta)\n");
        assert_eq!(
            session.keys,
            KeyCounts {
                typed: 0,
                accepts: 2,
                deletes: 0
            }
        );
        // After an accept the editor sends a request without delay.
        let latencies: Vec<_> = session.requests.iter().map(|one| one.latency_ms).collect();
        assert_eq!(latencies, [Some(10.0), Some(10.0)]);
    }

    #[test]
    fn what_goes_on_to_what_comes_next_is_right() {
        for (policy, offered, text, deletes) in [
            ("oracle-prefix", "ab; c", "f(ab; c)\n", 0),
            ("oracle-prefix", "ab; d", "f(ab)\n", 0),
            ("accept-all", "ab; d", "f(ab; )\n", 1),
        ] {
            let offers = |_: &str| vec![offered.to_owned()];
            let (session, typed) = typed_before("; c, d", "ab", policy, Some(10.0), offers);
            assert_eq!(typed, text, "{policy} {offered}");
            assert_eq!(session.keys.deletes, deletes, "{policy} {offered}");
            // The text after the reference saves no keys that count.
            let kept = session.requests[0].accepted.map(|one| one.kept);
            assert!(kept.is_none_or(|kept| kept == 2), "{session:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_taken_back_key_by_key() {
        let (session, text) = typed("abc", "accept-all", Some(10.0), |before| {
            vec![if before == "f(" { "axy" } else { "bc" }.to_owned()]
        });
        assert_eq!(text, "f(abc)\n");
        let accepted: Vec<_> = session.requests.iter().map(|one| one.accepted).collect();
        let wrong = TypedAcceptance {
            candidate: 0,
            kept: 1,
            removed: 2,
        };
        // The repair types `b` without a request. The next completion, `bc`, is wrong from its
        // first character, so `c` is typed too.
        assert_eq!(accepted[0], Some(wrong));
        assert_eq!(session.keys.deletes, 2 + 2);
        assert_eq!(session.keys.typed, 2);
        assert_eq!(session.keys.accepts, 2);
    }

    #[test]
    fn what_is_typed_through_stays_on_display_and_counts_once() {
        let whole = "alpha_beta";
        let (session, _) = typed(whole, "line", Some(10.0), |before| {
            vec![format!("{}2", &whole[before.len() - 2..])]
        });
        assert_eq!(results(&session)[0], RequestResult::Shown);
        let continued = results(&session)[1..]
            .iter()
            .all(|result| *result == RequestResult::Continued);
        assert!(continued, "{:?}", results(&session));
        // From its arrival to the end: `2` is still there when all is typed.
        let shown = session.requests[0].shown_ms;
        assert!(
            (shown - (session.duration_ms - 10.0)).abs() < 1e-9,
            "{shown}"
        );
    }

    #[test]
    fn who_types_on_does_not_see_what_comes_late() {
        let offers = |before: &str| vec!["alpha_beta"[before.len() - 2..].to_owned()];
        let (session, _) = typed("alpha_beta", "oracle-prefix+latency", Some(1e6), offers);
        assert_eq!(session.keys.typed, 10);
        assert!(
            results(&session)
                .iter()
                .all(|result| *result == RequestResult::Late)
        );
        // Who waits sees it.
        let (session, _) = typed("alpha_beta", "oracle-prefix", Some(1e6), offers);
        assert_eq!(session.keys.accepts, 1);
        assert_eq!(session.duration_ms, 1e6);
    }

    #[test]
    fn a_line_end_of_two_characters_is_one_key() {
        let (session, text) = typed("a\r\nb", "accept-all", Some(1.0), |before| {
            vec![if before == "f(" { "a\rx\r\n" } else { "" }.to_owned()]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect()
        });
        assert_eq!(text, "f(a\r\nb)\n");
        assert_eq!((session.keys.typed, session.keys.deletes), (2, 3));
        let (session, _) = typed("a\r\nb", "accept-all", Some(1.0), |before| {
            vec!["a\r\nb\r\nc"[before.len() - 2..].to_owned()]
        });
        let accepted = session.requests[0]
            .accepted
            .map(|one| (one.kept, one.removed));
        assert_eq!(accepted, Some((3, 2)));
    }

    proptest! {
        /// Whatever is offered and accepted: the hole holds the reference in the end, every
        /// key is accounted for by the requests alone, and it is the same a second time.
        #[test]
        fn typing_ends_with_the_reference(
            reference in "[ab_ .\n]{1,12}",
            offered in prop::collection::vec("[ab_ .\n]{0,6}", 1..5),
            policy in 0..4_usize,
            latency in any::<bool>(),
            scripted in prop::option::of(0.0..900.0_f64),
        ) {
            let name = format!(
                "{}{}",
                Policy::NAMES[policy],
                if latency { "+latency" } else { "" }
            );
            let offers = |before: &str| -> Vec<String> {
                let one = &offered[before.len() % offered.len()];
                let right = reference[before.len() - 2..].to_owned();
                let all = if before.len().is_multiple_of(3) { vec![right] } else { vec![one.clone()] };
                all.into_iter().filter(|text| !text.is_empty()).collect()
            };
            let (session, text) = typed(&reference, &name, scripted, offers);
            prop_assert_eq!(text, format!("f({reference})\n"));
            let accepted = session.requests.iter().filter_map(|one| one.accepted);
            let (mut accepts, mut kept, mut removed) = (0, 0, 0);
            for one in accepted {
                accepts += 1;
                kept += one.kept;
                removed += one.removed;
            }
            let expected = KeyCounts {
                typed: reference.chars().count() - kept,
                accepts,
                deletes: removed,
            };
            prop_assert_eq!(session.keys, expected);
            prop_assert!(session.requests.iter().all(|one| one.shown_ms <= session.duration_ms));
            prop_assert_eq!(typed(&reference, &name, scripted, offers).0, session);
        }
    }
}
