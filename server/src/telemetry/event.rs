//! The rows of the store: completions, their events, and inserted characters.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::retention::Remainder;
use crate::completion::{CompletionOrigin, GateSignals, TrialAssignment};
use crate::configuration::TrialUnit;
use crate::text::LineIndex;

/// A completion as it was returned: one row of the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionRow {
    /// The completion's id, a UUID.
    pub completion: String,
    /// Time of the request, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The session: a salted hash of a random id that each server process generates.
    pub session: String,
    /// The file: a salted hash of its URI.
    pub file: String,
    /// True if a replay made the request rather than a person.
    pub simulated: bool,
    /// The editor's name, from `clientInfo`.
    pub client: Option<String>,
    /// The editor's version.
    pub client_version: Option<String>,
    /// The version of Fillrate.
    pub version: String,
    /// The model's name.
    pub model: String,
    /// Fingerprint of the settings that produced it: see [`Configuration::fingerprint`].
    ///
    /// [`Configuration::fingerprint`]: crate::configuration::Configuration::fingerprint
    pub configuration: String,
    /// The model's name in the configuration; `default` is `[model]`.
    #[serde(default)]
    pub named: String,
    /// The trial, the drawn models, and the model of each candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialAssignment>,
    /// In a trial by pairs, the model of the second candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondModel>,
    /// Generation parameters.
    pub parameters: GenerationParameters,
    /// The context profile's name.
    pub profile: String,
    /// The name of the file's language, if known.
    pub language: Option<String>,
    /// The position of the cursor in its line.
    pub place: CursorKind,
    /// The request: `inline`, or `list` for the list of completions.
    pub form: RequestKind,
    /// True if the person invoked it; otherwise typing triggered it.
    pub invoked: bool,
    /// Origin of the completion: a model call, or an earlier completion.
    pub source: CompletionOrigin,
    /// Outcome of the request.
    pub outcome: RequestOutcome,
    /// The size of each candidate.
    pub candidates: Vec<TextSize>,
    /// Number of characters of the file before the cursor.
    pub prefix_characters: usize,
    /// Number of characters of the file after the cursor.
    pub suffix_characters: usize,
    /// Number of characters of the prompt.
    pub prompt_characters: usize,
    /// Number of windows of other files in the prompt.
    pub windows: usize,
    /// Durations of its steps.
    pub timings: Timings,
    /// Signals for a gate, if typing triggered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<GateSignals>,
    /// The candidates' texts, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<String>>,
}

/// The second model of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecondModel {
    /// The model's name.
    pub model: String,
    /// The model's name in the configuration.
    pub named: String,
    /// As in [`CompletionRow`].
    pub configuration: String,
    /// Duration of its own work in milliseconds: windows, model and clean-up.
    pub own_ms: f64,
}

impl CompletionRow {
    /// Returns the drawn models, by their names in the configuration: one, or the two of a pair in
    /// the order of their candidates. Empty without a trial.
    pub fn asked_models(&self) -> &[String] {
        self.trial.as_ref().map_or(&[], |trial| &trial.asked)
    }

    /// True if it belongs to a trial by pairs. It may still have one model: if the person types the
    /// beginning of one candidate of a pair, what remains is that model's alone.
    pub fn is_of_pairs(&self) -> bool {
        let trial = self.trial.as_ref();
        trial.is_some_and(|trial| trial.unit == TrialUnit::Pairs)
    }

    /// Returns the models that answered: their names in the configuration, and the fingerprints of
    /// their settings.
    pub fn answering_models(&self) -> impl Iterator<Item = (&str, &str)> {
        let second = self.second.iter();
        let second = second.map(|second| (&*second.named, &*second.configuration));
        std::iter::once((&*self.named, &*self.configuration)).chain(second)
    }

    /// Returns the duration of one model's own work in milliseconds: windows, model and clean-up.
    /// `None` if the model was not called.
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

/// Generation parameters of a completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationParameters {
    /// Maximum number of tokens in a candidate.
    pub max_tokens: u32,
    /// Sampling temperature.
    pub temperature: f64,
    /// Nucleus mass.
    pub top_p: f64,
    /// Seed of the sampling.
    pub seed: u64,
    /// Number of candidates requested.
    pub candidates: usize,
    /// Maximum number of tokens in a prompt.
    pub context_tokens: usize,
}

/// The position of a cursor in its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CursorKind {
    /// Text follows it on its line, even if only a closing bracket.
    MidLine,
    /// Text precedes it on its line and none follows.
    #[default]
    LineEnd,
    /// Its line is blank: a new statement or block begins.
    NewBlock,
}

impl CursorKind {
    /// Classifies a cursor by the text before and after it on its line.
    pub fn from_line(before: &str, after: &str) -> Self {
        match (before.trim().is_empty(), after.trim().is_empty()) {
            (_, false) => Self::MidLine,
            (false, true) => Self::LineEnd,
            (true, true) => Self::NewBlock,
        }
    }
}

/// The request an editor uses for a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Ghost text: `textDocument/inlineCompletion`.
    #[default]
    Inline,
    /// A list: `textDocument/completion`.
    List,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// There were candidates.
    #[default]
    Offered,
    /// There were no candidates.
    Nothing,
    /// The model failed.
    Fault,
}

/// The size of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextSize {
    /// Number of characters (Unicode scalar values).
    pub characters: usize,
    /// Number of lines, at least 1.
    pub lines: usize,
}

impl TextSize {
    /// Measures a text.
    pub fn from_text(text: &str) -> Self {
        Self {
            characters: text.chars().count(),
            lines: LineIndex::new(text).count(),
        }
    }
}

/// Durations of the steps of a request, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// From the request's arrival to its response.
    pub latency_ms: f64,
    /// Waiting for the next key.
    pub wait_ms: f64,
    /// Finding windows.
    pub context_ms: f64,
    /// Until the model's first text, if it streams.
    pub first_text_ms: Option<f64>,
    /// The model.
    pub model_ms: f64,
    /// Clean-up.
    pub cleanup_ms: f64,
}

/// An event of a completion: one row of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionEvent {
    /// The event's id, a UUID. Duplicates are ignored.
    pub id: String,
    /// The completion's id.
    pub completion: String,
    /// Time of the event, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The candidate's index, from 0, if the event concerns one candidate.
    pub candidate: Option<usize>,
    /// Display time and its certainty, if the editor reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Displayed>,
    /// The kind of event.
    #[serde(flatten)]
    pub kind: CompletionEventKind,
}

/// Kind of an event of a completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum CompletionEventKind {
    /// It was displayed.
    Shown,
    /// It was accepted in full.
    Accepted {
        /// Number of characters.
        characters: usize,
        /// Its text, only with `telemetry.content`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A part of it was accepted.
    PartlyAccepted {
        /// Number of characters this step accepted.
        characters: usize,
        /// `word`, `line` or `characters`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// The person rejected it, for example with Escape.
    Dismissed,
    /// A newer completion replaced it.
    Superseded,
    /// A measurement of the accepted text some time later.
    Retained(RetentionSample),
}

/// A measurement of an accepted text at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSample {
    /// Time since acceptance, in seconds.
    pub after_s: u64,
    /// Number of accepted characters.
    pub characters: usize,
    /// Measured remainder; `None` if it could not be observed: the document was closed, the session
    /// ended, or the text was not found where it was accepted.
    pub left: Option<Remainder>,
    /// The current text in its place, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Display of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Displayed {
    /// Certainty of the editor.
    pub certainty: Certainty,
    /// Display time in milliseconds, if known.
    pub ms: Option<f64>,
}

impl Displayed {
    /// Returns the display that a client reports, if it reports a certainty or a time. An invalid
    /// time is ignored.
    pub fn from_report(certainty: Option<Certainty>, ms: Option<f64>) -> Option<Self> {
        if certainty.is_none() && ms.is_none() {
            return None;
        }
        Some(Self {
            certainty: certainty.unwrap_or(Certainty::Estimated),
            ms: ms.filter(|ms| ms.is_finite() && *ms >= 0.0),
        })
    }
}

/// Certainty of an editor that it displayed a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The editor infers the display.
    Estimated,
    /// The editor drew it.
    Confirmed,
}

/// Characters inserted into a file: one row of the store, to be summed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnteredCharacters {
    /// End of the counting interval, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// As in [`CompletionRow`].
    pub session: String,
    /// As in [`CompletionRow`].
    pub file: String,
    /// As in [`CompletionRow`].
    pub simulated: bool,
    /// As in [`CompletionRow`].
    pub language: Option<String>,
    /// The model that last answered in the file, if any.
    pub model: Option<String>,
    /// The model's name in the configuration.
    #[serde(default)]
    pub named: String,
    /// Number of characters that edits inserted, accepted ones included. Text replaced by equal
    /// text does not count.
    pub characters: usize,
    /// Number of requests that an edit, a newer request or a cancellation superseded before they
    /// returned.
    pub overtaken: usize,
}

/// A completion with its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCompletion {
    /// The completion as it was returned.
    #[serde(flatten)]
    pub answered: CompletionRow,
    /// Display: the highest certainty and the longest time reported; `None` if no display was
    /// reported.
    pub shown: Option<Displayed>,
    /// Its acceptance as a whole.
    pub accepted: Option<AcceptedCandidate>,
    /// Its acceptance in parts.
    pub partly: Option<PartialAcceptance>,
    /// True if it was dismissed and not accepted.
    pub dismissed: bool,
    /// True if another replaced it, and it was neither accepted nor dismissed.
    pub superseded: bool,
    /// By horizon in seconds: the remainder of the accepted text, `null` if it could not be
    /// observed. A missing horizon was not reached, for example because the editor was killed.
    #[serde(deserialize_with = "by_seconds")]
    pub retention: BTreeMap<u64, Option<Remainder>>,
}

/// Reads a map with numeric keys, which JSON stores as strings.
fn by_seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u64, Option<Remainder>>, D::Error> {
    let by_name = BTreeMap::<String, Option<Remainder>>::deserialize(deserializer)?;
    let by_seconds = by_name.into_iter().map(|(name, left)| {
        let seconds = name.parse().map_err(D::Error::custom)?;
        Ok((seconds, left))
    });
    by_seconds.collect()
}

/// The acceptance of a whole candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedCandidate {
    /// Time of the event, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The candidate's index, from 0.
    pub candidate: usize,
    /// Number of characters of the candidate.
    pub characters: usize,
    /// Its text, only with `telemetry.content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The acceptance of a completion in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialAcceptance {
    /// Number of steps.
    pub steps: usize,
    /// Total number of characters.
    pub characters: usize,
}

impl RecordedCompletion {
    /// Joins a completion with its events, given in the order they were recorded. Duplicate events
    /// count once.
    pub fn from_events(answered: CompletionRow, events: &[CompletionEvent]) -> Self {
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
                CompletionEventKind::Shown => {}
                CompletionEventKind::Accepted { characters, text } => {
                    recorded.accepted.get_or_insert_with(|| AcceptedCandidate {
                        at_ms: event.at_ms,
                        candidate: event.candidate.unwrap_or(0),
                        characters: *characters,
                        text: text.clone(),
                    });
                }
                CompletionEventKind::PartlyAccepted { characters, .. } => {
                    let partly = recorded.partly.get_or_insert_default();
                    partly.steps += 1;
                    partly.characters += characters;
                }
                CompletionEventKind::Dismissed => recorded.dismissed = true,
                CompletionEventKind::Superseded => superseded = true,
                CompletionEventKind::Retained(retained) => {
                    // Each further step restarts the timers, so the last sample per horizon counts.
                    recorded.retention.insert(retained.after_s, retained.left);
                }
            }
        }
        recorded.dismissed &= recorded.accepted.is_none();
        recorded.superseded = superseded && recorded.accepted.is_none() && !recorded.dismissed;
        recorded
    }

    /// True if it had candidates.
    pub fn is_offered(&self) -> bool {
        self.answered.outcome == RequestOutcome::Offered
    }

    /// True if the editor reported a display. The display of an accept that is inferred from an
    /// edit, estimated and without a time, is no report: there is none of a completion that is not
    /// accepted.
    fn reports_display(&self) -> bool {
        self.shown.is_some_and(|shown| {
            let is_inferred = shown.certainty == Certainty::Estimated && shown.ms.is_none();
            !is_inferred || self.accepted.is_none()
        })
    }

    fn show(&mut self, shown: Displayed) {
        let known = self.shown.get_or_insert(shown);
        known.certainty = known.certainty.max(shown.certainty);
        known.ms = match (known.ms, shown.ms) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
}

/// The sessions in which the editor reports what it displays. In others, it is unknown how much was
/// displayed, so their accepts support no rate.
pub fn sessions_with_displays<'a>(
    recorded: impl IntoIterator<Item = &'a RecordedCompletion>,
) -> BTreeSet<&'a str> {
    let recorded = recorded.into_iter();
    recorded
        .filter(|one| one.reports_display())
        .map(|one| one.answered.session.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, shown: Option<Displayed>, kind: CompletionEventKind) -> CompletionEvent {
        CompletionEvent {
            id: id.to_owned(),
            completion: "c".to_owned(),
            at_ms: 7,
            candidate: Some(1),
            shown,
            kind,
        }
    }

    fn recorded(events: &[CompletionEvent]) -> RecordedCompletion {
        RecordedCompletion::from_events(CompletionRow::default(), events)
    }

    #[test]
    fn cursor_kind_follows_from_line() {
        assert_eq!(CursorKind::from_line("x = f(", ")"), CursorKind::MidLine);
        assert_eq!(CursorKind::from_line("", "x"), CursorKind::MidLine);
        assert_eq!(CursorKind::from_line("x = ", " "), CursorKind::LineEnd);
        assert_eq!(CursorKind::from_line("    ", ""), CursorKind::NewBlock);
    }

    #[test]
    fn acceptance_overrides_dismissal_and_replacement() {
        let accepted = CompletionEventKind::Accepted {
            characters: 5,
            text: None,
        };
        let recorded = recorded(&[
            event("1", None, CompletionEventKind::Superseded),
            event("2", None, accepted.clone()),
            event("3", None, CompletionEventKind::Dismissed),
        ]);
        assert!(!recorded.dismissed && !recorded.superseded);
        let accepted = recorded.accepted.expect("it was");
        assert_eq!((accepted.candidate, accepted.characters), (1, 5));
    }

    #[test]
    fn duplicate_events_count_once() {
        let part = CompletionEventKind::PartlyAccepted {
            characters: 3,
            unit: Some("word".to_owned()),
        };
        let recorded = recorded(&[
            event("1", None, part.clone()),
            event("1", None, part.clone()),
            event("2", None, part),
        ]);
        let expected = PartialAcceptance {
            steps: 2,
            characters: 6,
        };
        assert_eq!(recorded.partly, Some(expected));
    }

    #[test]
    fn display_keeps_highest_certainty_and_longest_time() {
        let shown = |certainty, ms| Some(Displayed { certainty, ms });
        let recorded = recorded(&[
            event(
                "1",
                shown(Certainty::Confirmed, None),
                CompletionEventKind::Shown,
            ),
            event(
                "2",
                shown(Certainty::Estimated, Some(900.0)),
                CompletionEventKind::Dismissed,
            ),
        ]);
        assert_eq!(recorded.shown, shown(Certainty::Confirmed, Some(900.0)));
        assert!(recorded.dismissed);
    }

    #[test]
    fn events_serialize_flat() {
        let retained = RetentionSample {
            after_s: 30,
            characters: 4,
            left: None,
            text: None,
        };
        let written =
            serde_json::to_string(&event("1", None, CompletionEventKind::Retained(retained)));
        insta::assert_snapshot!(
            written.expect("it is JSON"),
            @r#"{"id":"1","completion":"c","atMs":7,"candidate":1,"event":"retained","afterS":30,"characters":4,"left":null}"#
        );
    }
}
