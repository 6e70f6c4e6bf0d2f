//! Completions that were shown, as data to fit a policy or a gate to.

use fillrate_engine::developer::fit::ShownObservation;
use fillrate_engine::developer::gate::GateObservation;
use fillrate_engine::developer::policy::LinePosition;
use fillrate_server::telemetry::{CursorKind, RecordedCompletion, sessions_with_displays};

use super::impression::{Impression, collect_impressions};

/// Observations of shown completions for a policy. A completion and what remains of it after its
/// beginning is typed are one observation, as a simulated developer decides once about it.
/// Completions of editors that do not report what they show are left out: only their accepts would
/// be known.
pub fn shown_observations(recorded: &[RecordedCompletion]) -> Vec<ShownObservation> {
    let recorded: Vec<&RecordedCompletion> = recorded.iter().collect();
    let impressions = collect_impressions(&recorded, false);
    impressions.iter().filter_map(shown_observation).collect()
}

/// `None` for a completion that was not shown.
fn shown_observation(one: &Impression<'_>) -> Option<ShownObservation> {
    one.shown?;
    let answered = one.answered;
    let candidate = one.accepted.map_or(0, |(candidate, _)| candidate);
    let mut sizes = answered.candidates.iter();
    let size = sizes.nth(candidate).or(answered.candidates.first())?;
    Some(ShownObservation {
        completion: answered.completion.clone(),
        session: answered.session.clone(),
        at_ms: answered.at_ms,
        characters: size.characters,
        lines: size.lines,
        latency_ms: answered.timings.latency_ms,
        place: match answered.place {
            CursorKind::MidLine => LinePosition::MidLine,
            CursorKind::LineEnd => LinePosition::LineEnd,
            CursorKind::NewBlock => LinePosition::NewBlock,
        },
        accepted: one.accepted.is_some(),
        simulated: answered.simulated,
    })
}

/// Observations of shown completions for a gate, of editors that report what they show.
pub fn gate_observations(recorded: &[RecordedCompletion]) -> Vec<GateObservation> {
    let reporting = sessions_with_displays(recorded);
    let recorded = recorded.iter();
    recorded
        .filter(|one| reporting.contains(one.answered.session.as_str()))
        .filter_map(GateObservation::from_recorded)
        .collect()
}
