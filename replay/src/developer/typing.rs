//! A developer who types what stood in a hole, key by key, and takes completions by a policy.
//!
//! Time is a clock of its own ([`Pace::Virtual`]): the pauses of the keystroke model are counted,
//! not slept, and what the server takes to answer is measured and laid onto that clock. A request
//! that is still under way when the next key is due is cancelled, as editors do, so that such a
//! pause is slept in full after all. What hangs on the wall's clock in the server is its wait for
//! the next key (`typing.wait_ms`): under a virtual clock it would see keys come as fast as it
//! answers. There the server is told to wait for nothing, and the developer asks the server's own
//! [`Rhythm`] how long it would have waited, adds that to the answer's time, and does not ask
//! where a key would have come before. Under [`Pace::Real`] every pause is slept and nothing is
//! counted on the server's behalf.
//!
//! With a scripted latency every answer is waited for, whatever it takes, and is seen as if it
//! had taken just that: what comes of it hangs on no clock, and is the same every time.

use std::ops::Range;
use std::time::Duration;

use fillrate_server::completion::{ModelTime, Rhythm};
use serde::{Deserialize, Serialize};

use super::policy::{Place, Policy, View};
use super::typist::{Before, Typist, draw};
use crate::verdict::Outcome;

/// How long an editor waits after a key until it asks: VS Code's
/// (<https://github.com/microsoft/vscode/pull/152747>), which asks at once where a completion was
/// just accepted (<https://github.com/microsoft/vscode/pull/240239>).
pub const EDITOR_DELAY_MS: f64 = 50.0;

/// How a developer types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hands {
    /// The rhythm.
    pub typist: Typist,
    /// Another seed gives other pauses and other chances.
    pub seed: u64,
    /// Whose clock counts.
    pub pace: Pace,
    /// How long every answer takes from the request on, in milliseconds, where that is not
    /// measured.
    pub latency_ms: Option<f64>,
}

impl Hands {
    /// The pause before the first key of a hole, in milliseconds.
    pub fn first_pause_ms(&self, hole: &str) -> f64 {
        self.pause_ms(Before::Line, hole, 0, "")
    }

    /// What a policy leaves to chance at a place of a hole: a number between 0 and 1.
    pub fn chance(&self, policy: &Policy, hole: &str, at: usize) -> f64 {
        let (seed, at) = (self.seed.to_string(), at.to_string());
        draw(&[&seed, hole, &at, &policy.name(), "accept"])
    }

    /// The pause before a key. It hangs on the place alone, so that all policies meet the same
    /// typist.
    fn pause_ms(&self, before: Before, hole: &str, at: usize, what: &str) -> f64 {
        let draw = draw(&[&self.seed.to_string(), hole, &at.to_string(), what]);
        self.typist.pause_ms(before, draw)
    }
}

/// Whose clock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// The typist's own: pauses are counted.
    #[default]
    Virtual,
    /// The wall's: pauses are slept.
    Real,
}

impl std::fmt::Display for Pace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        })
    }
}

impl std::str::FromStr for Pace {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "virtual" => Ok(Self::Virtual),
            "real" => Ok(Self::Real),
            _ => Err("it is `virtual` or `real`".to_owned()),
        }
    }
}

/// What came of typing what stood in a hole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Every request, in order.
    pub requests: Vec<Request>,
    /// The keys that were pressed.
    pub keys: Keys,
    /// How long it took on the typist's clock, in milliseconds.
    pub duration_ms: f64,
}

/// How many keys were pressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Those that put a character in.
    pub typed: usize,
    /// Those that accepted a completion.
    pub accepts: usize,
    /// Those that took back what an accept put in wrongly, a character each.
    pub deletes: usize,
}

impl Keys {
    /// All of them.
    pub fn total(self) -> usize {
        self.typed + self.accepts + self.deletes
    }
}

/// A completion that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// When the key before it came, in milliseconds since the file was opened.
    pub at_ms: f64,
    /// How many bytes of the reference stood in the hole.
    pub written: usize,
    /// How long the developer paused before the next key, in milliseconds.
    pub pause_ms: f64,
    /// From the key to the answer, in milliseconds: the editor's wait, the server's wait for the
    /// next key, and the answer itself. Nothing where no answer came before the request was
    /// cancelled.
    pub latency_ms: Option<f64>,
    /// What the server offered, best first.
    pub candidates: Vec<String>,
    /// What became of it.
    pub fate: Fate,
    /// How long it was on display, in milliseconds: typing what it says leaves it there.
    pub shown_ms: f64,
    /// What was taken, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    /// What the tests say of the file in which the completion stands for the rest of the hole:
    /// of the one accepted, and of the first one that is shown where nothing is written yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// A completion came on display that was not there.
    Shown,
    /// The answer is what is left of the completion on display, or the very one that was there
    /// last: it counts once.
    Continued,
    /// The answer was empty.
    Nothing,
    /// The answer came when the next key had been typed.
    Late,
    /// No answer came before the next key, or while the developer had patience.
    Cancelled,
}

/// A completion that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Which of the candidates.
    pub candidate: usize,
    /// How many of its characters stayed.
    pub kept: usize,
    /// How many were taken back.
    pub removed: usize,
}

impl Request {
    /// What was taken of it, or was on display.
    pub fn text(&self) -> Option<&str> {
        let index = self.accepted.map_or(0, |accepted| accepted.candidate);
        self.candidates.get(index).map(String::as_str)
    }
}

/// A hole as a developer meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// The hole's id: what is left to chance follows from it.
    pub(crate) hole: &'a str,
    /// The open file before the hole.
    pub(crate) prefix: &'a str,
    /// The open file after it.
    pub(crate) suffix: &'a str,
    /// What is to be typed.
    pub(crate) reference: &'a str,
    /// The longest wait of the server for the next key, in milliseconds.
    pub(crate) wait_ms: u64,
    /// How long a developer who waits for answers waits for one.
    pub(crate) patience: Duration,
}

/// What a developer types into.
pub(crate) trait Editor {
    /// Why it broke off.
    type Error;

    /// Asks at a cursor, in bytes of the file, as typing makes an editor ask; cancels the
    /// request after `patience`.
    async fn ask(&mut self, cursor: usize, patience: Duration) -> Result<Answer, Self::Error>;

    /// Replaces a range of the file, in bytes, and tells the server.
    async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), Self::Error>;

    /// Tells the server that what it answered to a request, counted from 0, was on display for so
    /// many milliseconds.
    async fn shown(&mut self, request: usize, ms: f64) -> Result<(), Self::Error>;

    /// Tells the server that a candidate of that answer was accepted, whose text is already in.
    async fn accepted(&mut self, request: usize, candidate: usize) -> Result<(), Self::Error>;

    /// Lets time pass.
    async fn sleep(&mut self, time: Duration);
}

/// What the server answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The candidates, best first.
    pub(crate) candidates: Vec<String>,
    /// From the request to the answer, in milliseconds; nothing where it was cancelled.
    pub(crate) latency_ms: Option<f64>,
    /// How long the model took, in milliseconds, where it was asked for this very answer.
    pub(crate) model_ms: Option<f64>,
}

/// Types what stood in a hole.
pub(crate) async fn play<E: Editor>(
    editor: &mut E,
    scene: Scene<'_>,
    hands: &Hands,
    policy: &Policy,
) -> Result<Session, E::Error> {
    let mut desk = Desk {
        editor,
        scene,
        hands,
        policy,
        session: Session::default(),
        written: 0,
        now: 0.0,
        rhythm: Rhythm::default(),
        model_time: ModelTime::default(),
        display: None,
        last: None,
    };
    let mut moment = Moment::Opened;
    while let Some(key) = keys(desk.remaining()).next() {
        let before = match moment {
            Moment::Opened => Before::Line,
            _ => Before::of(&desk.before_cursor(), key),
        };
        let pause = desk.pause(before, "");
        let mut due = desk.now + pause;
        let mut accepted = None;
        if moment != Moment::Repaired {
            let look = desk.look(moment, pause).await?;
            due = due.max(look.seen_at);
            accepted = look.accepted;
        }
        desk.until(due).await;
        moment = match accepted {
            Some((request, candidate)) => desk.accept(request, candidate).await?,
            None => desk.key(key).await?,
        };
    }
    desk.end_display().await?;
    desk.session.duration_ms = desk.now;
    Ok(desk.session)
}

/// What was just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The file was opened and the cursor put in the hole.
    Opened,
    /// A key was typed.
    Typed,
    /// A completion was accepted that was right to its end.
    Accepted,
    /// What was wrong with an accepted completion was taken back: who does that looks at no
    /// completion before the next key.
    Repaired,
}

/// What a developer saw before the next key.
struct Look {
    /// When the developer had seen it, where the developer waits for it.
    seen_at: f64,
    /// The request and the candidate that is accepted.
    accepted: Option<(usize, usize)>,
}

/// What is on display.
struct Display {
    /// The request that brought it.
    request: usize,
    /// What is left of it.
    text: String,
    since: f64,
}

struct Desk<'a, E> {
    editor: &'a mut E,
    scene: Scene<'a>,
    hands: &'a Hands,
    policy: &'a Policy,
    session: Session,
    /// How many bytes of the reference stand in the hole. Nothing else does.
    written: usize,
    /// Milliseconds since the file was opened.
    now: f64,
    rhythm: Rhythm,
    model_time: ModelTime,
    display: Option<Display>,
    /// The request that was on display last, and what the hole would hold with it.
    last: Option<(usize, String)>,
}

impl<'a, E: Editor> Desk<'a, E> {
    /// What is still to be typed.
    fn remaining(&self) -> &'a str {
        &self.scene.reference[self.written..]
    }

    /// The file up to the cursor.
    fn before_cursor(&self) -> String {
        [self.scene.prefix, &self.scene.reference[..self.written]].concat()
    }

    /// Where the cursor is, in bytes of the file.
    fn cursor(&self) -> usize {
        self.scene.prefix.len() + self.written
    }

    fn pause(&self, before: Before, what: &str) -> f64 {
        self.hands
            .pause_ms(before, self.scene.hole, self.written, what)
    }

    /// Lets the typist's clock come to a time.
    async fn until(&mut self, time: f64) {
        if self.hands.pace == Pace::Real {
            self.editor.sleep(milliseconds(time - self.now)).await;
        }
        self.now = time;
    }

    /// Asks for a completion and looks at it before the next key, which comes after `pause`.
    async fn look(&mut self, moment: Moment, pause: f64) -> Result<Look, E::Error> {
        let at = self.now;
        let hurried = self.policy.latency;
        let asked_after = match moment {
            Moment::Typed => EDITOR_DELAY_MS,
            _ => 0.0,
        };
        let waited = match self.hands.pace {
            Pace::Real => 0.0,
            Pace::Virtual => self.server_wait(at + asked_after),
        };
        // From the key on until the model is asked.
        let due = asked_after + waited;
        if hurried && due >= pause {
            // The next key is there before the model is asked.
            return Ok(Look {
                seen_at: at,
                accepted: None,
            });
        }
        let patience = match self.hands.latency_ms {
            None if hurried => self.scene.patience.min(milliseconds(pause - due)),
            _ => self.scene.patience,
        };
        if self.hands.pace == Pace::Real {
            self.editor.sleep(milliseconds(asked_after)).await;
        }
        let answer = self.editor.ask(self.cursor(), patience).await?;
        if let Some(took) = self.hands.latency_ms.or(answer.model_ms) {
            self.model_time.took(took);
        }
        let latency = answer
            .latency_ms
            .map(|measured| due + self.hands.latency_ms.unwrap_or(measured));
        let took = latency.unwrap_or(due + milliseconds_of(patience));
        if self.hands.pace == Pace::Real {
            // What was slept while the request was under way is not slept again.
            self.now = at + took.max(asked_after);
        }
        let index = self.session.requests.len();
        let mut request = Request {
            at_ms: at,
            written: self.written,
            pause_ms: pause,
            latency_ms: latency,
            candidates: answer.candidates,
            fate: Fate::Shown,
            shown_ms: 0.0,
            accepted: None,
            outcome: None,
        };
        let seen_at = at + took;
        let mut look = Look {
            seen_at: if hurried { at } else { seen_at },
            accepted: None,
        };
        let late = hurried && took > pause;
        let Some(text) = request.candidates.first().filter(|_| !late) else {
            request.fate = match latency {
                None => Fate::Cancelled,
                Some(_) if late => Fate::Late,
                Some(_) => Fate::Nothing,
            };
            if request.fate == Fate::Nothing {
                self.end_display_at(seen_at).await?;
            }
            self.session.requests.push(request);
            return Ok(look);
        };
        let whole = [&self.scene.reference[..self.written], text].concat();
        let again = self.last.as_ref().filter(|(_, last)| *last == whole);
        let origin = again.map(|(origin, _)| *origin);
        if let Some(origin) = origin {
            request.fate = Fate::Continued;
            // It may have been away for a moment.
            self.display.get_or_insert_with(|| Display {
                request: origin,
                text: text.clone(),
                since: seen_at,
            });
        } else {
            let text = text.clone();
            self.end_display_at(seen_at).await?;
            self.last = Some((index, whole));
            self.display = Some(Display {
                request: index,
                text,
                since: seen_at,
            });
            let chance = self
                .hands
                .chance(self.policy, self.scene.hole, self.written);
            let view = View {
                remaining: self.remaining(),
                candidates: &request.candidates,
                // What an editor's own wait adds is not known online.
                latency_ms: took - asked_after,
                place: Place::between(&self.before_cursor(), self.scene.suffix),
            };
            look.accepted = self
                .policy
                .choice(view, chance)
                .map(|candidate| (index, candidate));
        }
        self.session.requests.push(request);
        Ok(look)
    }

    /// How long the server would wait for the next key with the typist's clock for its own.
    fn server_wait(&self, asked_at: f64) -> f64 {
        if self.model_time.is_short() {
            return 0.0;
        }
        let most = Duration::from_millis(self.scene.wait_ms);
        milliseconds_of(self.rhythm.delay(milliseconds(asked_at), most))
    }

    /// Types the next key.
    async fn key(&mut self, key: &str) -> Result<Moment, E::Error> {
        self.put(key).await?;
        self.written += key.len();
        self.session.keys.typed += 1;
        let now = self.now;
        let left = self.display.as_ref().and_then(|display| {
            let left = display.text.strip_prefix(key)?;
            (!left.is_empty()).then(|| left.to_owned())
        });
        match (left, &mut self.display) {
            (Some(left), Some(display)) => display.text = left,
            _ => self.end_display_at(now).await?,
        }
        Ok(Moment::Typed)
    }

    /// Accepts a candidate, and takes back what departs from the reference.
    async fn accept(&mut self, request: usize, candidate: usize) -> Result<Moment, E::Error> {
        self.end_display().await?;
        self.last = None;
        self.session.keys.accepts += 1;
        let text = self.session.requests[request].candidates[candidate].clone();
        self.put(&text).await?;
        self.editor.accepted(request, candidate).await?;
        let kept = agreeing(&text, self.remaining());
        let (right, wrong) = text.split_at(kept);
        let back: Vec<&str> = keys(wrong).collect();
        let mut end = self.cursor() + text.len();
        for (index, key) in back.iter().rev().enumerate() {
            let pause = self.pause(Before::Key, &format!("-{index}"));
            self.until(self.now + pause).await;
            self.editor.edit(end - key.len()..end, "").await?;
            self.rhythm.edited(milliseconds(self.now), key.len());
            end -= key.len();
        }
        self.session.keys.deletes += back.len();
        self.session.requests[request].accepted = Some(Accepted {
            candidate,
            kept: right.chars().count(),
            removed: wrong.chars().count(),
        });
        self.written += kept;
        Ok(match back.is_empty() {
            true => Moment::Accepted,
            false => Moment::Repaired,
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
            self.editor.shown(request, *shown_ms).await?;
        }
        Ok(())
    }
}

/// A text as the keys that type it: characters, but a CR with its LF is one.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
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

/// How many bytes of a text agree with what is to be typed, in whole keys.
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

    impl<F: Fn(&str) -> Vec<String>> Editor for Scripted<F> {
        type Error = std::convert::Infallible;

        async fn ask(&mut self, cursor: usize, _: Duration) -> Result<Answer, Self::Error> {
            self.asked += 1;
            Ok(Answer {
                candidates: (self.offers)(&self.text[..cursor]),
                latency_ms: Some(7.0),
                model_ms: Some(5.0),
            })
        }

        async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), Self::Error> {
            self.text.replace_range(range, text);
            Ok(())
        }

        async fn shown(&mut self, request: usize, ms: f64) -> Result<(), Self::Error> {
            assert!(request < self.asked && ms >= 0.0, "{request} {ms}");
            Ok(())
        }

        async fn accepted(&mut self, request: usize, candidate: usize) -> Result<(), Self::Error> {
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

    fn hands(latency_ms: Option<f64>) -> Hands {
        Hands {
            typist: Typist::default(),
            seed: 1,
            pace: Pace::Virtual,
            latency_ms,
        }
    }

    fn named(policy: &str) -> Policy {
        Policy::named(policy, |_| Err(String::new())).expect("there is one")
    }

    /// Types a reference between `f(` and `)`; gives what came of it and the text.
    fn typed(
        reference: &str,
        policy: &str,
        latency_ms: Option<f64>,
        offers: impl Fn(&str) -> Vec<String>,
    ) -> (Session, String) {
        let mut editor = Scripted {
            text: "f()\n".to_owned(),
            offers,
            asked: 0,
        };
        let scene = Scene {
            hole: "h",
            prefix: "f(",
            suffix: ")\n",
            reference,
            wait_ms: 150,
            patience: Duration::from_secs(1),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("the system gives a runtime");
        let Ok(session) =
            runtime.block_on(play(&mut editor, scene, &hands(latency_ms), &named(policy)));
        assert_eq!(editor.asked, session.requests.len());
        (session, editor.text)
    }

    fn fates(session: &Session) -> Vec<Fate> {
        session
            .requests
            .iter()
            .map(|request| request.fate)
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
            Keys {
                typed: 0,
                accepts: 2,
                deletes: 0
            }
        );
        // After an accept the editor asks at once.
        let latencies: Vec<_> = session.requests.iter().map(|one| one.latency_ms).collect();
        assert_eq!(latencies, [Some(10.0), Some(10.0)]);
    }

    #[test]
    fn what_is_wrong_is_taken_back_key_by_key() {
        let (session, text) = typed("abc", "accept-all", Some(10.0), |before| {
            vec![if before == "f(" { "axy" } else { "bc" }.to_owned()]
        });
        assert_eq!(text, "f(abc)\n");
        let accepted: Vec<_> = session.requests.iter().map(|one| one.accepted).collect();
        let wrong = Accepted {
            candidate: 0,
            kept: 1,
            removed: 2,
        };
        // After the repair `b` is typed unasked, and then `bc` is offered and wrong but for
        // nothing: `c` is asked for and typed after it.
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
        assert_eq!(fates(&session)[0], Fate::Shown);
        let continued = fates(&session)[1..]
            .iter()
            .all(|fate| *fate == Fate::Continued);
        assert!(continued, "{:?}", fates(&session));
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
        assert!(fates(&session).iter().all(|fate| *fate == Fate::Late));
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
    }

    proptest! {
        /// Whatever is offered and whoever takes it: the reference stands there in the end, every
        /// key is accounted for by the requests alone, and it is the same a second time.
        #[test]
        fn the_reference_stands_there_in_the_end(
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
            let expected = Keys {
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
