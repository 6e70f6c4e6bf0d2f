//! What is noted of a completion, and of what becomes of it.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::retention::Left;
use crate::completion::{Assigned, Source};

/// A completion as it was answered: one row of the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The completion's id, a UUID.
    pub completion: String,
    /// When it was asked for, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The session: a salted hash of an id that each server draws for itself.
    pub session: String,
    /// The file: a salted hash of its URI.
    pub file: String,
    /// Whether nobody sat at the keyboard, but a replay.
    pub simulated: bool,
    /// The editor's name, as it calls itself.
    pub client: Option<String>,
    /// The editor's version.
    pub client_version: Option<String>,
    /// The version of Fillrate.
    pub version: String,
    /// The model's name.
    pub model: String,
    /// Which settings decided it: see [`Configuration::fingerprint`].
    ///
    /// [`Configuration::fingerprint`]: crate::configuration::Configuration::fingerprint
    pub configuration: String,
    /// The name that the model has in the configuration; `default` is `[model]`.
    #[serde(default)]
    pub named: String,
    /// The trial that it belongs to, who was asked in it, and whose each candidate is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Assigned>,
    /// In a trial by pairs, the model whose candidate stands second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
    /// How the model generated.
    pub parameters: Parameters,
    /// The context profile's name.
    pub profile: String,
    /// The name of the file's language, where it is known.
    pub language: Option<String>,
    /// Where in its line the cursor stood.
    pub place: PlaceKind,
    /// How the editor asked: `inline`, or `list` for the list of completions.
    pub form: Form,
    /// Whether the person asked for it, rather than typing.
    pub invoked: bool,
    /// Whether the model was asked for it, or an earlier answer held.
    pub source: Source,
    /// What came of it.
    pub outcome: Outcome,
    /// How large each candidate was.
    pub candidates: Vec<Size>,
    /// Characters of the file before the cursor.
    pub prefix_characters: usize,
    /// Characters of the file after the cursor.
    pub suffix_characters: usize,
    /// Characters of the prompt.
    pub prompt_characters: usize,
    /// How many windows of other files the model was given.
    pub windows: usize,
    /// How long it took.
    pub timings: Timings,
    /// The candidates' texts, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<String>>,
}

/// The second model of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Second {
    /// The model's name.
    pub model: String,
    /// The name it has in the configuration.
    pub named: String,
    /// As in [`Answered`].
    pub configuration: String,
    /// How long its own answer took, in milliseconds: windows, model and clean-up.
    pub own_ms: f64,
}

impl Answered {
    /// Who was asked, by their names in the configuration: one, or the two of a pair in the order
    /// of their candidates. Nothing without a trial.
    pub fn asked(&self) -> &[String] {
        self.trial.as_ref().map_or(&[], |trial| &trial.asked)
    }

    /// Whether two models answered.
    pub fn is_pair(&self) -> bool {
        self.second.is_some()
    }

    /// How long the own answer of one of the models took, in milliseconds: windows, model and
    /// clean-up.
    pub fn own_ms(&self, named: &str) -> Option<f64> {
        let Timings {
            context_ms,
            model_ms,
            cleanup_ms,
            ..
        } = self.timings;
        match &self.second {
            Some(second) if second.named == named => Some(second.own_ms),
            _ => (self.named == named).then_some(context_ms + model_ms + cleanup_ms),
        }
    }
}

/// How a model generated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// The most tokens a candidate may have.
    pub max_tokens: u32,
    /// Sampling temperature.
    pub temperature: f64,
    /// Nucleus mass.
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// How many candidates were asked for.
    pub candidates: usize,
    /// The most tokens of a prompt.
    pub context_tokens: usize,
}

/// Where in its line a cursor stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// Text stands after it on its line, be it a closing bracket.
    MidLine,
    /// Text stands before it on its line and none after it.
    #[default]
    LineEnd,
    /// Nothing but blanks stands on its line: what comes is a statement or block of its own.
    NewBlock,
}

impl PlaceKind {
    /// The kind of a place, by what stands before and after the cursor on its line.
    pub fn of(before: &str, after: &str) -> Self {
        match (before.trim().is_empty(), after.trim().is_empty()) {
            (_, false) => Self::MidLine,
            (false, true) => Self::LineEnd,
            (true, true) => Self::NewBlock,
        }
    }
}

/// How an editor asks for a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As ghost text: `textDocument/inlineCompletion`.
    #[default]
    Inline,
    /// In a list: `textDocument/completion`.
    List,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// There were candidates.
    #[default]
    Offered,
    /// There was nothing to offer.
    Nothing,
    /// Something kept the model from answering.
    Fault,
}

/// How large a candidate was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Size {
    /// Its characters (Unicode scalar values).
    pub characters: usize,
    /// Its lines, at least 1.
    pub lines: usize,
}

impl Size {
    /// The size of a text.
    pub fn of(text: &str) -> Self {
        Self {
            characters: text.chars().count(),
            lines: text.matches('\n').count() + 1,
        }
    }
}

/// How long an answer took, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// From the request's arrival to its answer.
    pub latency_ms: f64,
    /// Waiting for the next key.
    pub wait_ms: f64,
    /// Finding windows.
    pub context_ms: f64,
    /// Until the model's first text, where it streams.
    pub first_text_ms: Option<f64>,
    /// The model.
    pub model_ms: f64,
    /// Clean-up.
    pub cleanup_ms: f64,
}

/// Something that became of a completion: one row of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's own id, a UUID: none is taken twice.
    pub id: String,
    /// The completion's id.
    pub completion: String,
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// Which of the candidates, from 0, where it is about one.
    pub candidate: Option<usize>,
    /// How long it had been displayed, and how surely, where the editor tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened to a completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum EventKind {
    /// It was displayed.
    Shown,
    /// It was accepted whole.
    Accepted {
        /// Its characters.
        characters: usize,
        /// Its text, only with `telemetry.content`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A part of it was taken.
    PartlyAccepted {
        /// The characters taken by this step.
        characters: usize,
        /// `word`, `line` or `characters`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// The person refused it, as by Escape.
    Dismissed,
    /// Another answer came in its place.
    Superseded,
    /// What was left of what was taken, some time later.
    Retained(Retained),
}

/// What was left of what was taken of a completion, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retained {
    /// How long after it was taken, in seconds.
    pub after_s: u64,
    /// The characters that were taken.
    pub characters: usize,
    /// What was left; nothing where it could not be observed: the document was closed, the
    /// session ended, or the text was not found where it was taken.
    pub left: Option<Left>,
    /// What stood in its place, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// That a completion was displayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// How surely the editor knows.
    pub certainty: Certainty,
    /// How long, in milliseconds, where that is known.
    pub ms: Option<f64>,
}

/// How surely an editor knows that it displayed a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It concludes so.
    Estimated,
    /// It drew it.
    Confirmed,
}

/// Characters that entered a file: one row of the store, to be added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entered {
    /// When the counting ended, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// As in [`Answered`].
    pub session: String,
    /// As in [`Answered`].
    pub file: String,
    /// As in [`Answered`].
    pub simulated: bool,
    /// As in [`Answered`].
    pub language: Option<String>,
    /// The model that last answered in the file, where one had.
    pub model: Option<String>,
    /// The name it has in the configuration.
    #[serde(default)]
    pub named: String,
    /// All characters that edits put into the file, accepted ones included; what an edit replaces
    /// by the same does not count.
    pub characters: usize,
    /// Requests that were overtaken by an edit, a newer request or a cancel, so that nothing was
    /// offered.
    pub overtaken: usize,
}

/// A completion with everything that became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The completion as it was answered.
    #[serde(flatten)]
    pub answered: Answered,
    /// Whether and how it was displayed: as surely as anything said of it, and for the longest
    /// time that was told.
    pub shown: Option<Shown>,
    /// Its acceptance as a whole.
    pub accepted: Option<Accepted>,
    /// What was taken of it in parts.
    pub partly: Option<Partly>,
    /// Whether it was dismissed, and not accepted.
    pub dismissed: bool,
    /// Whether another took its place, and it was neither accepted nor dismissed.
    pub superseded: bool,
    /// By horizon in seconds: what was left of what was taken, `null` where that could not be
    /// observed. A horizon that is not there was not reached, as where the editor was killed.
    #[serde(deserialize_with = "by_seconds")]
    pub retention: BTreeMap<u64, Option<Left>>,
}

/// A table by seconds, whose names JSON has as text.
fn by_seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u64, Option<Left>>, D::Error> {
    let by_name = BTreeMap::<String, Option<Left>>::deserialize(deserializer)?;
    let by_seconds = by_name.into_iter().map(|(name, left)| {
        let seconds = name.parse().map_err(D::Error::custom)?;
        Ok((seconds, left))
    });
    by_seconds.collect()
}

/// That a completion was accepted whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// Which of the candidates, from 0.
    pub candidate: usize,
    /// The candidate's characters.
    pub characters: usize,
    /// Its text, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What was taken of a completion in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Partly {
    /// In how many steps.
    pub steps: usize,
    /// Their characters together.
    pub characters: usize,
}

impl Recorded {
    /// A completion and its events, in the order in which they were noted. The same event twice
    /// counts once.
    pub fn of(answered: Answered, events: &[Event]) -> Self {
        let mut recorded = Self {
            answered,
            ..Self::default()
        };
        let mut superseded = false;
        for (index, event) in events.iter().enumerate() {
            if events[..index].iter().any(|earlier| earlier.id == event.id) {
                continue;
            }
            if let Some(shown) = event.shown {
                recorded.show(shown);
            }
            match &event.kind {
                EventKind::Shown => {}
                EventKind::Accepted { characters, text } => {
                    recorded.accepted.get_or_insert_with(|| Accepted {
                        at_ms: event.at_ms,
                        candidate: event.candidate.unwrap_or(0),
                        characters: *characters,
                        text: text.clone(),
                    });
                }
                EventKind::PartlyAccepted { characters, .. } => {
                    let partly = recorded.partly.get_or_insert_default();
                    partly.steps += 1;
                    partly.characters += characters;
                }
                EventKind::Dismissed => recorded.dismissed = true,
                EventKind::Superseded => superseded = true,
                EventKind::Retained(retained) => {
                    // With every further step the clocks begin anew: the last says most.
                    recorded.retention.insert(retained.after_s, retained.left);
                }
            }
        }
        recorded.dismissed &= recorded.accepted.is_none();
        recorded.superseded = superseded && recorded.accepted.is_none() && !recorded.dismissed;
        recorded
    }

    /// Whether it had candidates.
    pub fn is_offered(&self) -> bool {
        self.answered.outcome == Outcome::Offered
    }

    fn show(&mut self, shown: Shown) {
        let known = self.shown.get_or_insert(shown);
        known.certainty = known.certainty.max(shown.certainty);
        known.ms = match (known.ms, shown.ms) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, shown: Option<Shown>, kind: EventKind) -> Event {
        Event {
            id: id.to_owned(),
            completion: "c".to_owned(),
            at_ms: 7,
            candidate: Some(1),
            shown,
            kind,
        }
    }

    fn of(events: &[Event]) -> Recorded {
        Recorded::of(Answered::default(), events)
    }

    #[test]
    fn a_place_is_told_by_its_line() {
        assert_eq!(PlaceKind::of("x = f(", ")"), PlaceKind::MidLine);
        assert_eq!(PlaceKind::of("", "x"), PlaceKind::MidLine);
        assert_eq!(PlaceKind::of("x = ", " "), PlaceKind::LineEnd);
        assert_eq!(PlaceKind::of("    ", ""), PlaceKind::NewBlock);
    }

    #[test]
    fn an_acceptance_outdoes_what_came_before_and_after_it() {
        let accepted = EventKind::Accepted {
            characters: 5,
            text: None,
        };
        let recorded = of(&[
            event("1", None, EventKind::Superseded),
            event("2", None, accepted.clone()),
            event("3", None, EventKind::Dismissed),
        ]);
        assert!(!recorded.dismissed && !recorded.superseded);
        let accepted = recorded.accepted.expect("it was");
        assert_eq!((accepted.candidate, accepted.characters), (1, 5));
    }

    #[test]
    fn an_event_that_comes_twice_counts_once() {
        let part = EventKind::PartlyAccepted {
            characters: 3,
            unit: Some("word".to_owned()),
        };
        let recorded = of(&[
            event("1", None, part.clone()),
            event("1", None, part.clone()),
            event("2", None, part),
        ]);
        let expected = Partly {
            steps: 2,
            characters: 6,
        };
        assert_eq!(recorded.partly, Some(expected));
    }

    #[test]
    fn what_is_shown_is_as_sure_and_as_long_as_the_best_of_it() {
        let shown = |certainty, ms| Some(Shown { certainty, ms });
        let recorded = of(&[
            event("1", shown(Certainty::Confirmed, None), EventKind::Shown),
            event(
                "2",
                shown(Certainty::Estimated, Some(900.0)),
                EventKind::Dismissed,
            ),
        ]);
        assert_eq!(recorded.shown, shown(Certainty::Confirmed, Some(900.0)));
        assert!(recorded.dismissed);
    }

    #[test]
    fn an_event_is_flat_json() {
        let retained = Retained {
            after_s: 30,
            characters: 4,
            left: None,
            text: None,
        };
        let written = serde_json::to_string(&event("1", None, EventKind::Retained(retained)));
        insta::assert_snapshot!(
            written.expect("it is JSON"),
            @r#"{"id":"1","completion":"c","atMs":7,"candidate":1,"event":"retained","afterS":30,"characters":4,"left":null}"#
        );
    }
}
