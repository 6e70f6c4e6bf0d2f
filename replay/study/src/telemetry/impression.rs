//! Completions that were offered to a person, each counted once.

use std::collections::BTreeMap;

use fillrate_metrics::READ_MS;
use fillrate_server::completion::CompletionOrigin;
use fillrate_server::telemetry::{
    Certainty, CompletionRow, Displayed, RecordedCompletion, Remainder, sessions_with_displays,
};

/// With fewer shown completions, a share is unreliable even if its interval is short.
pub(super) const FEW: usize = 30;

/// A completion that was offered to a person. Repeated offers of the same one are one impression.
#[derive(Clone, Debug)]
pub(super) struct Impression<'a> {
    /// The completion as it was first offered.
    pub(super) answered: &'a CompletionRow,
    /// Certainty and longest time of its display: the times of repeated offers add up.
    pub(super) shown: Option<Displayed>,
    /// The candidate that was accepted whole, and its characters.
    pub(super) accepted: Option<(usize, usize)>,
    /// Characters accepted in parts, of a completion that was not accepted whole afterwards.
    pub(super) partly: usize,
    /// True if the editor reports what it displays.
    pub(super) is_reported: bool,
    /// As in [`RecordedCompletion`].
    pub(super) retention: &'a BTreeMap<u64, Option<Remainder>>,
}

/// Cluster of samples: the session and the file.
pub(super) type Cluster = (String, String);

/// Collects the impressions of recorded completions, in the order in which they were offered.
///
/// A store has one row for equal texts at the same position twice in a row. Here what remains of a
/// completion whose beginning the person typed joins it as well: it is the same one, still shown.
/// What remains of one candidate of a pair joins the pair.
/// With `confirmed`, only what an editor confirms to have displayed counts as shown.
pub(super) fn collect_impressions<'a>(
    recorded: &[&'a RecordedCompletion],
    confirmed: bool,
) -> Vec<Impression<'a>> {
    let reporting = sessions_with_displays(recorded.iter().copied());
    let mut impressions: Vec<Impression<'a>> = Vec::new();
    let mut last: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in recorded.iter().filter(|one| one.is_offered()) {
        let answered = &one.answered;
        let impression = Impression::new(one, reporting.contains(&*answered.session));
        let file = (&*answered.session, &*answered.file);
        let earlier = last.get(&file).map(|index| &mut impressions[*index]);
        match earlier.filter(|earlier| earlier.continues_as(answered)) {
            Some(earlier) => earlier.join(impression),
            None => {
                last.insert(file, impressions.len());
                impressions.push(impression);
            }
        }
    }
    for impression in &mut impressions {
        let counts = |shown: &Displayed| !confirmed || shown.certainty == Certainty::Confirmed;
        impression.shown = impression.shown.filter(counts);
    }
    impressions
}

impl<'a> Impression<'a> {
    fn new(recorded: &'a RecordedCompletion, is_reported: bool) -> Self {
        let accepted = recorded.accepted.as_ref();
        let partly = recorded.partly.as_ref();
        let accepted = accepted.map(|accepted| (accepted.candidate, accepted.characters));
        let accepted = accepted.or_else(|| accepted_in_parts(recorded));
        // An accepted completion was shown, whether or not that was reported.
        let is_taken = accepted.is_some() || partly.is_some();
        let taken = is_taken.then_some(Displayed {
            certainty: Certainty::Estimated,
            ms: None,
        });
        Self {
            answered: &recorded.answered,
            // Without reports, it is unknown which others were shown.
            shown: recorded.shown.or(taken).filter(|_| is_reported),
            accepted,
            // A whole candidate has the parts of it that were accepted before.
            partly: partly
                .filter(|_| accepted.is_none())
                .map_or(0, |partly| partly.characters),
            is_reported,
            retention: &recorded.retention,
        }
    }
}

/// Returns the candidate that the accepted parts of a completion add up to, and its characters.
/// Editors differ in whether they report the last of several parts as an accept.
fn accepted_in_parts(recorded: &RecordedCompletion) -> Option<(usize, usize)> {
    let taken = recorded.partly.as_ref()?.characters;
    let mut candidates = recorded.answered.candidates.iter();
    let candidate = candidates.position(|size| size.characters == taken)?;
    Some((candidate, taken))
}

impl Impression<'_> {
    /// True if a later completion in the same session and file is the rest of this one, whose
    /// beginning the person typed. The rest of a pair may be one model's alone.
    fn continues_as(&self, later: &CompletionRow) -> bool {
        let earlier = self.answered;
        let characters = |answered: &CompletionRow, candidate: usize| {
            let size = answered.candidates.get(candidate);
            size.map_or(0, |size| size.characters)
        };
        let is_same_trial = || match (&earlier.trial, &later.trial) {
            (Some(earlier), Some(later)) => {
                (&earlier.models, earlier.unit, earlier.seed)
                    == (&later.models, later.unit, later.seed)
                    && later
                        .asked
                        .iter()
                        .all(|model| earlier.asked.contains(model))
            }
            (earlier, later) => earlier.is_none() && later.is_none(),
        };
        let mut models = later.answering_models();
        self.accepted.is_none()
            && later.source == CompletionOrigin::TypedThrough
            && later.form == earlier.form
            && is_same_trial()
            && models.all(|model| earlier.answering_models().any(|one| one == model))
            && characters(later, 0) < characters(earlier, self.earlier_candidate(later, 0))
    }

    /// The index of the candidate that a later completion's one is the rest of.
    fn earlier_candidate(&self, later: &CompletionRow, candidate: usize) -> usize {
        let trials = self.answered.trial.as_ref().zip(later.trial.as_ref());
        let Some((earlier, later)) = trials.filter(|_| self.answered.is_of_pairs()) else {
            return candidate;
        };
        let own = later.whose.get(candidate);
        let own = own.and_then(|whose| later.asked.get(*whose));
        let mut models = earlier.whose.iter().map(|whose| earlier.asked.get(*whose));
        let same = own.and_then(|own| models.position(|model| model == Some(own)));
        // Equal texts of both models are one candidate, which is the first model's.
        same.unwrap_or(0)
    }

    fn join(&mut self, later: Self) {
        self.shown = match (self.shown, later.shown) {
            (Some(one), Some(other)) => Some(Displayed {
                certainty: one.certainty.max(other.certainty),
                ms: match (one.ms, other.ms) {
                    (Some(one), Some(other)) => Some(one + other),
                    (one, other) => one.or(other),
                },
            }),
            (one, other) => one.or(other),
        };
        // The earlier one was not accepted: see `continues_as`.
        self.accepted = later.accepted.map(|(candidate, characters)| {
            let candidate = self.earlier_candidate(later.answered, candidate);
            (candidate, characters)
        });
        self.partly += later.partly;
        if !later.retention.is_empty() {
            self.retention = later.retention;
        }
    }

    /// The session and the file.
    pub(super) fn cluster(&self) -> Cluster {
        (self.answered.session.clone(), self.answered.file.clone())
    }

    /// The characters of the best candidate, which is displayed first.
    pub(super) fn characters(&self) -> usize {
        let first = self.answered.candidates.first();
        first.map_or(0, |size| size.characters)
    }

    /// The characters that were accepted, whole or in parts.
    pub(super) fn accepted_characters(&self) -> usize {
        self.accepted.map_or(0, |(_, characters)| characters) + self.partly
    }

    /// True if it was shown and accepted whole.
    pub(super) fn is_accepted(&self) -> bool {
        self.shown.is_some() && self.accepted.is_some()
    }

    /// True if it was displayed for long enough to be read, or accepted.
    pub(super) fn is_read(&self) -> bool {
        let long = |shown: Displayed| shown.ms.is_some_and(|ms| ms >= READ_MS);
        self.is_accepted() || self.shown.is_some_and(long)
    }
}
