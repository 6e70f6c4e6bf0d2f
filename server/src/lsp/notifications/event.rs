//! `fillrate/event`: an event of a completion, for which the protocol has no notification.

use serde::Deserialize;

use crate::lsp::session::EditorSession;
use crate::telemetry::{Certainty, ClientEvent, Displayed};

/// The notification's method.
pub const EVENT: &str = "fillrate/event";

/// The parameters of [`EVENT`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::lsp) struct EventParams {
    /// The completion's id, from the item's command.
    completion: String,
    /// The candidate's index, from 0.
    #[serde(default)]
    candidate: usize,
    /// The event.
    event: EventName,
    /// Certainty of the client that it displayed the completion. Required with `shown`; with the
    /// others, present if it was displayed.
    #[serde(default)]
    certainty: Option<Certainty>,
    /// Display time in milliseconds.
    #[serde(default)]
    shown_ms: Option<f64>,
    /// With `partlyAccepted`: the number of characters this step accepted.
    #[serde(default)]
    characters: Option<usize>,
    /// With `partlyAccepted`: `word`, `line` or `characters`.
    #[serde(default)]
    unit: Option<PartialAcceptUnit>,
}

/// Event of a completion, except its acceptance in full.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum EventName {
    /// It is displayed, or was.
    Shown,
    /// A part of it was accepted.
    PartlyAccepted,
    /// The person rejected it, for example with Escape.
    Dismissed,
}

/// The unit of a partial acceptance.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PartialAcceptUnit {
    /// Up to the next word's end.
    Word,
    /// Up to the line's end.
    Line,
    /// Some characters.
    Characters,
}

/// Records the event.
pub(in crate::lsp) fn handle(session: &EditorSession, params: &EventParams) {
    if let Some(recorder) = session.recorder() {
        recorder.record_client_event(
            &params.completion,
            params.candidate,
            params.displayed(),
            params.client_event(),
        );
    }
}

impl EventParams {
    /// Returns the display of the completion, if the client reports it.
    fn displayed(&self) -> Option<Displayed> {
        let displayed = Displayed::from_report(self.certainty, self.shown_ms);
        let estimated = Displayed {
            certainty: Certainty::Estimated,
            ms: None,
        };
        match self.event {
            EventName::Shown => Some(displayed.unwrap_or(estimated)),
            _ => displayed,
        }
    }

    fn client_event(&self) -> ClientEvent {
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
