//! What clients tell of completions that the protocol has no words for, and the purge.

use serde::{Deserialize, Serialize};

use crate::telemetry::{Certainty, ClientEvent, Displayed};

/// `fillrate/event`: a notification of what became of a completion.
pub const EVENT: &str = "fillrate/event";

/// `fillrate/purge`: a request to remove everything in the local store.
pub const PURGE: &str = "fillrate/purge";

/// The parameters of [`EVENT`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventParams {
    /// The completion's id, from the item's command.
    pub completion: String,
    /// Which of its candidates, from 0.
    #[serde(default)]
    pub candidate: usize,
    /// What happened.
    pub event: EventName,
    /// How surely the client knows that it displayed the completion. Needed with `shown`; with the
    /// others, if it was displayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// How long it was displayed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_ms: Option<f64>,
    /// With `partlyAccepted`: the characters taken by this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<usize>,
    /// With `partlyAccepted`: `word`, `line` or `characters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<PartialAcceptUnit>,
}

/// What can happen to a completion, beside being accepted whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventName {
    /// It is displayed, or was.
    Shown,
    /// A part of it was taken.
    PartlyAccepted,
    /// The person refused it, as by Escape.
    Dismissed,
}

/// By what a part of a completion is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PartialAcceptUnit {
    /// Up to the next word's end.
    Word,
    /// Up to the line's end.
    Line,
    /// Some characters.
    Characters,
}

/// The parameters of [`PURGE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeParams {}

/// The answer to [`PURGE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purged {
    /// How many completions there were.
    pub removed: usize,
}

impl EventParams {
    /// That it was displayed, if the client says so.
    pub(super) fn shown(&self) -> Option<Displayed> {
        let shown = shown(self.certainty, self.shown_ms);
        let estimated = Displayed {
            certainty: Certainty::Estimated,
            ms: None,
        };
        match self.event {
            EventName::Shown => Some(shown.unwrap_or(estimated)),
            _ => shown,
        }
    }

    pub(super) fn told(&self) -> ClientEvent {
        match self.event {
            EventName::Shown => ClientEvent::Shown,
            EventName::Dismissed => ClientEvent::Dismissed,
            EventName::PartlyAccepted => ClientEvent::PartlyAccepted {
                characters: self.characters.unwrap_or(0),
                unit: self.unit.map(|unit| unit.name().to_owned()),
            },
        }
    }
}

impl PartialAcceptUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Line => "line",
            Self::Characters => "characters",
        }
    }
}

/// That a completion was displayed, where a client tells how surely or for how long.
pub(super) fn shown(certainty: Option<Certainty>, ms: Option<f64>) -> Option<Displayed> {
    let certainty = match (certainty, ms) {
        (None, None) => return None,
        (certainty, _) => certainty.unwrap_or(Certainty::Estimated),
    };
    Some(Displayed {
        certainty,
        ms: ms.filter(|ms| ms.is_finite() && *ms >= 0.0),
    })
}
