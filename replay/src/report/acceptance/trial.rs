//! A trial of several models: what each came to, how they differ, and how much more it takes.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{
    Estimate, bradley_terry, choices_to_tell, clustered_difference_of_proportions,
    clustered_proportion, design_effect, outcomes_per_group, paired_difference,
};
use fillrate_server::completion::{Assigned, draw};
use fillrate_server::configuration::TrialUnit;
use fillrate_server::telemetry::{CompletionRow, EnteredCharacters, RecordedCompletion};
use serde::Serialize;

use super::{Cluster, Figures, Impression, label, outcomes, shares};

/// What a trial came to.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// What a model was drawn for.
    pub unit: TrialUnit,
    /// The seed of the draws.
    pub seed: u64,
    /// Whether the models' names are hidden, as the trial is blind and goes on. They stand as `A`,
    /// `B` and so on, in an order that the configuration does not tell.
    pub hidden: bool,
    /// What shares are clustered by: `session and file`, or what a model was drawn for, where that
    /// is more.
    pub clusters: &'static str,
    /// One for each model.
    pub arms: Vec<Arm>,
    /// One for each two models, in the order of the arms.
    pub differences: Vec<Difference>,
    /// In pairs: the models' strengths by the people's choices, as of Bradley and Terry, where
    /// each was chosen at least once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strengths: Option<BTreeMap<String, Estimate>>,
}

/// What one model of a trial came to.
#[derive(Clone, Debug, Serialize)]
pub struct Arm {
    /// Its name in the configuration, unless that is hidden.
    pub model: String,
    /// How many of its completions were shown.
    pub shown: usize,
    /// How many of them were accepted.
    pub accepted: usize,
    /// As in [`Row`](super::Row); in pairs `acceptance/pairs`, accepted / pairs shown with a
    /// candidate of each, stands for what is accepted / shown.
    #[serde(flatten)]
    pub figures: Figures,
}

/// How two models of a trial differ.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// A model.
    pub first: String,
    /// Another.
    pub second: String,
    /// What is compared: `acceptance/shown`, or in pairs `acceptance/pairs`.
    pub variant: &'static str,
    /// The first's share less the second's, clustered.
    pub difference: Estimate,
    /// Whether the interval leaves 0 out.
    pub clear: bool,
    /// How many more completions have to be shown, of both together, until a difference as large
    /// as this one would be found with probability [`fillrate_metrics::POWER`] at the level of the interval.
    /// Nothing where it is clear, and where there is none to be found.
    ///
    /// For each of the models it is [`fillrate_metrics::outcomes_per_group`] times the
    /// [`fillrate_metrics::design_effect`] of the clusters, less what was shown of it. In pairs it is
    /// [`fillrate_metrics::choices_to_tell`], less the choices there were, divided by how many pairs a choice
    /// takes.
    pub shown_needed: Option<u64>,
    /// The same difference of other shares, by variant.
    pub others: BTreeMap<String, Estimate>,
}

/// The names that are not told while a blind trial goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    /// Of the trial, and when it began, in milliseconds since 1970.
    trial: Option<(Identity, i64)>,
}

/// What tells a trial from others.
type Identity = (Vec<String>, TrialUnit, u64);

/// What stands in place of the names of a hidden trial's models.
const BLIND: &str = "blind trial";

fn identity(assigned: &Assigned) -> Identity {
    (assigned.models.clone(), assigned.unit, assigned.seed)
}

impl Hidden {
    /// What is hidden: a blind trial goes on as long as the last completion there is was part of
    /// it.
    pub(super) fn of(recorded: &[&RecordedCompletion], unblind: bool) -> Self {
        let trial = |one: &&RecordedCompletion| one.answered.trial.clone();
        let last = recorded.last().and_then(trial);
        let Some(last) = last.filter(|last| last.blind && !unblind) else {
            return Self::default();
        };
        let this = identity(&last);
        let mut of_it = recorded
            .iter()
            .filter(|one| trial(one).is_some_and(|trial| identity(&trial) == this));
        let began = of_it.next().map_or(i64::MIN, |one| one.answered.at_ms);
        Self {
            trial: Some((this, began)),
        }
    }

    /// The name under which a completion's model is shown.
    pub(super) fn model(&self, answered: &CompletionRow) -> String {
        let of = answered.trial.as_ref().map(identity);
        let hidden = self.trial.as_ref().zip(of);
        if hidden.is_some_and(|((trial, _), of)| *trial == of) {
            return BLIND.to_owned();
        }
        label(&answered.named, &answered.model)
    }

    /// The same of what entered a file, where a model had answered there.
    pub(super) fn model_of_entered(&self, entered: &EnteredCharacters) -> Option<String> {
        let model = entered.model.clone()?;
        let hidden = self.trial.as_ref().is_some_and(|(trial, began)| {
            entered.at_ms >= *began && trial.0.contains(&entered.named)
        });
        Some(if hidden {
            BLIND.to_owned()
        } else {
            label(&entered.named, &model)
        })
    }

    /// The name under which a model of a trial is shown, for each of them, in the order in which
    /// they are shown.
    fn names(&self, of: &Identity) -> Vec<(String, String)> {
        let (models, _, seed) = of;
        if self.trial.as_ref().is_none_or(|(trial, _)| trial != of) {
            let models = models.iter();
            return models.map(|name| (name.clone(), name.clone())).collect();
        }
        let mut mixed: Vec<_> = models.iter().collect();
        mixed.sort_by_key(|name| draw(*seed, &["hidden", name], usize::MAX));
        let letters = ('A'..='Z').map(String::from);
        let numbers = (27..).map(|number| number.to_string());
        let shown = letters.chain(numbers);
        mixed.into_iter().cloned().zip(shown).collect()
    }
}

impl Trial {
    /// The last trial among what was offered.
    pub(super) fn of(impressions: &[Impression<'_>], hidden: &Hidden) -> Option<Self> {
        let last = impressions.iter().rev();
        let last = last.filter_map(|one| one.answered.trial.as_ref()).next()?;
        let this = identity(last);
        let of_it: Vec<&Impression<'_>> = impressions
            .iter()
            .filter(|one| {
                let trial = one.answered.trial.as_ref();
                trial.is_some_and(|trial| identity(trial) == this)
            })
            .collect();
        let names = hidden.names(&this);
        let (_, unit, seed) = this;
        let (arms, differences, strengths) = match unit {
            TrialUnit::Pairs => by_pairs(&of_it, &names),
            TrialUnit::Request | TrialUnit::Session | TrialUnit::Day => {
                let (arms, differences) = by_turns(&of_it, &names, unit);
                (arms, differences, None)
            }
        };
        Some(Self {
            unit,
            seed,
            hidden: hidden
                .trial
                .as_ref()
                .is_some_and(|(trial, _)| *trial == identity(last)),
            clusters: match unit {
                TrialUnit::Request | TrialUnit::Pairs => "session and file",
                TrialUnit::Session => "session",
                TrialUnit::Day => "day",
            },
            arms,
            differences,
            strengths,
        })
    }
}

/// What a completion is clustered with: at least those for which the same draw decided.
fn cluster(unit: TrialUnit) -> impl Fn(&Impression<'_>) -> Cluster {
    move |one| match unit {
        TrialUnit::Request | TrialUnit::Pairs => one.cluster(),
        TrialUnit::Session => (one.answered.session.clone(), String::new()),
        TrialUnit::Day => (String::new(), super::day(one.answered.at_ms)),
    }
}

/// Models that took turns.
fn by_turns(
    impressions: &[&Impression<'_>],
    names: &[(String, String)],
    unit: TrialUnit,
) -> (Vec<Arm>, Vec<Difference>) {
    let cluster = cluster(unit);
    let of = |name: &str| -> Vec<&Impression<'_>> {
        let impressions = impressions.iter().copied();
        impressions
            .filter(|one| one.answered.asked_models() == [name])
            .collect()
    };
    let groups: Vec<(&str, Vec<&Impression<'_>>)> = names
        .iter()
        .map(|(name, told)| (&**told, of(name)))
        .collect();
    let arms = groups.iter().map(|(told, of)| {
        let mut figures = shares(of, &cluster);
        let latencies: Vec<f64> = of
            .iter()
            .map(|one| one.answered.timings.latency_ms)
            .collect();
        let median = fillrate_metrics::median(&latencies);
        figures.extend(median.map(|median| ("latency_ms/median".to_owned(), median)));
        Arm {
            model: (*told).to_owned(),
            shown: of.iter().filter(|one| one.shown.is_some()).count(),
            accepted: of.iter().filter(|one| one.is_taken()).count(),
            figures,
        }
    });
    let mut differences = Vec::new();
    for (index, (first, of_first)) in groups.iter().enumerate() {
        for (second, of_second) in &groups[index + 1..] {
            let (one, two) = (outcomes(of_first, &cluster), outcomes(of_second, &cluster));
            let mut others: BTreeMap<String, Estimate> = one
                .iter()
                .filter_map(|(name, one)| {
                    let two = two.get(name)?;
                    let difference = clustered_difference_of_proportions(one, two)?;
                    Some((name.clone(), difference))
                })
                .collect();
            if let Some(difference) = others.remove(SHOWN) {
                let needed = more_to_show(&one[SHOWN], &two[SHOWN]);
                differences.push(Difference::of(
                    [first, second],
                    SHOWN,
                    difference,
                    needed,
                    others,
                ));
            }
        }
    }
    (arms.collect(), differences)
}

const SHOWN: &str = "acceptance/shown";
const PAIRS: &str = "acceptance/pairs";

impl Difference {
    fn of(
        [first, second]: [&str; 2],
        variant: &'static str,
        difference: Estimate,
        needed: Option<u64>,
        others: BTreeMap<String, Estimate>,
    ) -> Self {
        let above = difference.low.is_some_and(|low| low > 0.0);
        let below = difference.high.is_some_and(|high| high < 0.0);
        let clear = above || below;
        Self {
            first: first.to_owned(),
            second: second.to_owned(),
            variant,
            difference,
            clear,
            shown_needed: needed.filter(|_| !clear),
            others,
        }
    }
}

/// How many more outcomes of both groups together a difference like theirs needs to be found, at
/// least one.
fn more_to_show<K: Ord + Clone>(first: &[(K, bool)], second: &[(K, bool)]) -> Option<u64> {
    let numbers = |outcomes: &[(K, bool)]| -> Vec<(K, f64)> {
        let number = |outcome: &bool| f64::from(u8::from(*outcome));
        let outcomes = outcomes.iter();
        outcomes
            .map(|(key, outcome)| (key.clone(), number(outcome)))
            .collect()
    };
    let (one, two) = (numbers(first), numbers(second));
    let share =
        |of: &[(K, f64)]| of.iter().map(|(_, number)| number).sum::<f64>() / of.len() as f64;
    let independent = outcomes_per_group(share(&one), share(&two))?;
    // Where nothing is known of the clusters, it takes at least as many as if there were none.
    let each = independent * design_effect(&one, &two).unwrap_or(1.0);
    let more = |shown: usize| (each.ceil() - shown as f64).max(0.0);
    Some((more(first.len()) + more(second.len())).max(1.0) as u64)
}

/// A pair that was shown, or of which one was chosen.
struct Pair<'a> {
    impression: &'a Impression<'a>,
    /// Its models, in the order in which their candidates stood.
    asked: [&'a str; 2],
    /// Which of them was chosen.
    chosen: Option<usize>,
}

impl<'a> Pair<'a> {
    /// A pair with a candidate of each model; where they gave the same, or one of them nothing,
    /// there was no choice.
    fn of(impression: &'a Impression<'a>) -> Option<Self> {
        let trial = impression.answered.trial.as_ref()?;
        let [first, second] = trial.asked.as_slice() else {
            return None;
        };
        if impression.shown.is_none() && impression.accepted.is_none() {
            return None;
        }
        let both: BTreeSet<usize> = trial.whose.iter().copied().collect();
        let accepted = impression.accepted;
        let chosen = accepted.and_then(|(candidate, _)| trial.whose.get(candidate));
        (both.len() == 2).then(|| Self {
            impression,
            asked: [first, second],
            chosen: chosen.copied(),
        })
    }

    /// Whether this model was chosen; nothing where it took no part.
    fn chose(&self, name: &str) -> Option<bool> {
        let part = self.asked.iter().position(|asked| *asked == name)?;
        Some(self.chosen == Some(part))
    }
}

/// Models that answered two at a time.
fn by_pairs(
    impressions: &[&Impression<'_>],
    names: &[(String, String)],
) -> (
    Vec<Arm>,
    Vec<Difference>,
    Option<BTreeMap<String, Estimate>>,
) {
    let cluster = cluster(TrialUnit::Pairs);
    let chosen_or_shown: Vec<Pair<'_>> =
        impressions.iter().filter_map(|one| Pair::of(one)).collect();
    let is_shown = |pair: &&Pair<'_>| pair.impression.shown.is_some();
    let pairs: Vec<&Pair<'_>> = chosen_or_shown.iter().filter(is_shown).collect();
    let arms = names.iter().map(|(name, told)| {
        let of: Vec<(&Pair<'_>, bool)> = pairs
            .iter()
            .filter_map(|pair| Some((*pair, pair.chose(name)?)))
            .collect();
        let chosen: Vec<(Cluster, bool)> = of
            .iter()
            .map(|(pair, chosen)| (cluster(pair.impression), *chosen))
            .collect();
        let accepted: Vec<&Impression<'_>> = of
            .iter()
            .filter(|(_, chosen)| *chosen)
            .map(|(pair, _)| pair.impression)
            .collect();
        // What is accepted of what was chosen says nothing; what is left of it does.
        let mut figures = shares(&accepted, &cluster);
        figures.retain(|name, _| !name.starts_with("acceptance/"));
        let chosen_share = clustered_proportion(&chosen);
        figures.extend(chosen_share.map(|share| (PAIRS.to_owned(), share)));
        let latencies: Vec<f64> = of
            .iter()
            .filter_map(|(pair, _)| pair.impression.answered.own_ms(name))
            .collect();
        let median = fillrate_metrics::median(&latencies);
        figures.extend(median.map(|median| ("latency_ms/median".to_owned(), median)));
        Arm {
            model: told.clone(),
            shown: of.len(),
            accepted: accepted.len(),
            figures,
        }
    });
    let mut differences = Vec::new();
    let mut wins = Vec::new();
    for (index, (first, first_told)) in names.iter().enumerate() {
        for (second, second_told) in &names[index + 1..] {
            let both: Vec<(Cluster, bool, bool)> = pairs
                .iter()
                .filter_map(|pair| {
                    let (one, two) = (pair.chose(first)?, pair.chose(second)?);
                    Some((cluster(pair.impression), one, two))
                })
                .collect();
            let count = |which: &dyn Fn(&(Cluster, bool, bool)) -> bool| {
                both.iter().filter(|pair| which(pair)).count()
            };
            let (one, two) = (count(&|pair| pair.1), count(&|pair| pair.2));
            // A choice tells who was preferred, also where the editor tells of no other pair.
            for pair in &chosen_or_shown {
                let sides = (pair.chose(first), pair.chose(second));
                let (first, second) = (first_told.clone(), second_told.clone());
                match sides {
                    (Some(true), Some(_)) => wins.push((first, second, 1.0)),
                    (Some(_), Some(true)) => wins.push((second, first, 1.0)),
                    _ => {}
                }
            }
            let Some(difference) = difference_of_choices(&both) else {
                continue;
            };
            let choices = one + two;
            let needed = (choices > 0)
                .then(|| choices_to_tell(one as f64 / choices as f64))
                .flatten()
                .map(|needed| {
                    let more = (needed.ceil() - choices as f64).max(1.0);
                    (more * both.len() as f64 / choices as f64).ceil() as u64
                });
            let told = [&**first_told, &**second_told];
            differences.push(Difference::of(
                told,
                PAIRS,
                difference,
                needed,
                BTreeMap::new(),
            ));
        }
    }
    (arms.collect(), differences, bradley_terry(&wins))
}

/// The paired difference of two models' shares of the pairs that both took part in. Where every
/// pair came to the same, the clustered error is 0 and would claim certainty: there the interval is
/// that of the share of pairs, which is Wilson's, with a choice for the first as 1 and one for the
/// second as −1.
fn difference_of_choices(both: &[(Cluster, bool, bool)]) -> Option<Estimate> {
    let number = |chosen: bool| f64::from(u8::from(chosen));
    let pairs: Vec<(Cluster, f64, f64)> = both
        .iter()
        .map(|(cluster, one, two)| (cluster.clone(), number(*one), number(*two)))
        .collect();
    let estimate = paired_difference(&pairs)?;
    let same = both
        .iter()
        .all(|(_, one, two)| (*one, *two) == (both[0].1, both[0].2));
    if !same {
        return Some(estimate.within(-1.0..=1.0));
    }
    let first: Vec<(Cluster, bool)> = both.iter().map(|pair| (pair.0.clone(), pair.1)).collect();
    let second: Vec<(Cluster, bool)> = both.iter().map(|pair| (pair.0.clone(), pair.2)).collect();
    let (one, two) = (
        clustered_proportion(&first)?,
        clustered_proportion(&second)?,
    );
    Some(Estimate {
        low: one
            .low
            .zip(two.high)
            .map(|(one, two)| (one - two).max(-1.0)),
        high: one.high.zip(two.low).map(|(one, two)| (one - two).min(1.0)),
        ..estimate
    })
}
