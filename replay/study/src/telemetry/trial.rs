//! Statistics of a trial of several models: each model's figures, their differences, and how many
//! more completions would show a difference.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_engine::developer::fit::utc_day;
use fillrate_metrics::metric::{ACCEPTANCE_PAIRS, ACCEPTANCE_SHOWN, MEDIAN_LATENCY};
use fillrate_metrics::{
    Estimate, bradley_terry, choices_to_tell, clustered_difference_of_proportions,
    clustered_proportion, design_effect, median, outcomes_per_group, paired_difference,
};
use fillrate_server::completion::{TrialAssignment, draw};
use fillrate_server::configuration::{DEFAULT, TrialUnit};
use fillrate_server::telemetry::{CompletionRow, EnteredCharacters, RecordedCompletion};
use serde::Serialize;

use super::impression::{Cluster, FEW, Impression};
use super::variant::VariantSamples;

/// The statistics of one trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialStatistics {
    /// Unit that a model was drawn for.
    pub unit: TrialUnit,
    /// The seed of the draws.
    pub seed: u64,
    /// True if the models' names are hidden, because the trial is blind and still running. They
    /// appear as `A`, `B` and so on, in an order that does not follow from the configuration.
    pub hidden: bool,
    /// Cluster of shares: `session and file`, or the unit that a model was drawn for if that is
    /// larger.
    pub clusters: &'static str,
    /// One for each model.
    pub arms: Vec<TrialArm>,
    /// One for each two models, in the order of the arms.
    pub differences: Vec<ArmDifference>,
    /// In pairs: the models' strengths by the people's choices (Bradley and Terry), if each model and
    /// each group of models was chosen over the others and not chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strengths: Option<BTreeMap<String, Estimate>>,
}

/// The figures of one model of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialArm {
    /// Its name in the configuration, unless that is hidden.
    pub model: String,
    /// Number of its completions that were shown.
    pub shown: usize,
    /// Number of them that were accepted.
    pub accepted: usize,
    /// As in [`StatisticsRow`](super::statistics::StatisticsRow). In pairs, `acceptance/pairs`
    /// replaces accepted / shown: accepted / pairs shown with a candidate of each model.
    #[serde(flatten)]
    pub figures: BTreeMap<String, Estimate>,
}

/// The difference of two models of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct ArmDifference {
    /// A model.
    pub first: String,
    /// Another.
    pub second: String,
    /// The variant compared: `acceptance/shown`, or in pairs `acceptance/pairs`.
    pub variant: &'static str,
    /// The first's share minus the second's, clustered.
    pub difference: Estimate,
    /// True if the interval excludes 0.
    pub clear: bool,
    /// Number of further completions of both models together must be shown until a difference as
    /// large as this one would be found with probability [`POWER`](fillrate_metrics::POWER) at the
    /// level of the interval. `None` if the difference is clear or 0, or if that many were shown
    /// already: then the interval is wide because there are too few clusters.
    ///
    /// For each model it is [`outcomes_per_group`](fillrate_metrics::outcomes_per_group) times the
    /// [`design_effect`](fillrate_metrics::design_effect) of the clusters, and at least 30, minus
    /// what was shown of it. In pairs it is [`choices_to_tell`](fillrate_metrics::choices_to_tell),
    /// and at least 30, minus the choices so far, divided by the choices per pair.
    pub shown_needed: Option<u64>,
    /// The same difference of other variants, by name.
    pub others: BTreeMap<String, Estimate>,
}

/// The trial whose models' names are hidden, if any.
#[derive(Clone, Debug, Default)]
pub(super) struct BlindTrial {
    /// The trial and its beginning, in milliseconds since 1970.
    trial: Option<(Identity, i64)>,
}

/// Identifies a trial: its models, its unit and its seed.
type Identity = (Vec<String>, TrialUnit, u64);

/// Replaces the names of a hidden trial's models.
const BLIND: &str = "blind trial";

fn identity(assigned: &TrialAssignment) -> Identity {
    (assigned.models.clone(), assigned.unit, assigned.seed)
}

impl BlindTrial {
    /// Finds the blind trial that is still running: the last completion is part of it.
    pub(super) fn find(recorded: &[&RecordedCompletion], unblind: bool) -> Self {
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

    /// The name that statistics use for a completion's model.
    pub(super) fn model_name(&self, answered: &CompletionRow) -> String {
        let own = answered.trial.as_ref().map(identity);
        let hidden = self.trial.as_ref().zip(own);
        if hidden.is_some_and(|((trial, _), own)| *trial == own) {
            return BLIND.to_owned();
        }
        model_label(&answered.named, &answered.model)
    }

    /// The same for characters that entered a file, if a model had answered there.
    pub(super) fn model_name_of_entered(&self, entered: &EnteredCharacters) -> Option<String> {
        let model = entered.model.clone()?;
        // These events don't name their trial, so its time and its models identify it.
        let hidden = self.trial.as_ref().is_some_and(|(trial, began)| {
            entered.at_ms >= *began && trial.0.contains(&entered.named)
        });
        Some(if hidden {
            BLIND.to_owned()
        } else {
            model_label(&entered.named, &model)
        })
    }

    /// Each model of a trial with the name that statistics use for it, in the order of the arms.
    fn names(&self, trial: &Identity) -> Vec<(String, String)> {
        let (models, _, seed) = trial;
        if self
            .trial
            .as_ref()
            .is_none_or(|(hidden, _)| hidden != trial)
        {
            let models = models.iter();
            return models.map(|name| (name.clone(), name.clone())).collect();
        }
        let mut mixed: Vec<_> = models.iter().collect();
        // Ordered by a draw of the seed, so that every evaluation gives the same letters.
        mixed.sort_by_key(|name| draw(*seed, &["hidden", name], usize::MAX));
        let letters = ('A'..='Z').map(String::from);
        let numbers = (27..).map(|number| number.to_string());
        mixed
            .into_iter()
            .cloned()
            .zip(letters.chain(numbers))
            .collect()
    }
}

/// A model's name in the configuration, or the model's own for `[model]`.
fn model_label(named: &str, model: &str) -> String {
    let own = [DEFAULT, ""].contains(&named);
    if own { model } else { named }.to_owned()
}

impl TrialStatistics {
    /// Calculates the statistics of the last trial among the impressions.
    pub(super) fn from_last_trial(
        impressions: &[Impression<'_>],
        blind: &BlindTrial,
    ) -> Option<Self> {
        let last = impressions.iter().rev();
        let last = last.filter_map(|one| one.answered.trial.as_ref()).next()?;
        let this = identity(last);
        let of_trial: Vec<&Impression<'_>> = impressions
            .iter()
            .filter(|one| {
                let trial = one.answered.trial.as_ref();
                trial.is_some_and(|trial| identity(trial) == this)
            })
            .collect();
        let names = blind.names(&this);
        let (_, unit, seed) = this;
        let (arms, differences, strengths) = match unit {
            TrialUnit::Pairs => by_pairs(&of_trial, &names),
            TrialUnit::Request | TrialUnit::Session | TrialUnit::Day => {
                let (arms, differences) = by_turns(&of_trial, &names, unit);
                (arms, differences, None)
            }
        };
        Some(Self {
            unit,
            seed,
            hidden: blind
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

/// Clusters completions at least as coarsely as models are drawn.
fn cluster_by(unit: TrialUnit) -> impl Fn(&Impression<'_>) -> Cluster {
    move |one| match unit {
        TrialUnit::Request | TrialUnit::Pairs => one.cluster(),
        TrialUnit::Session => (one.answered.session.clone(), String::new()),
        TrialUnit::Day => (String::new(), utc_day(one.answered.at_ms)),
    }
}

/// The arms and differences of models that took turns.
fn by_turns(
    impressions: &[&Impression<'_>],
    names: &[(String, String)],
    unit: TrialUnit,
) -> (Vec<TrialArm>, Vec<ArmDifference>) {
    let cluster = cluster_by(unit);
    let groups: Vec<(&str, VariantSamples)> = names
        .iter()
        .map(|(name, label)| {
            let own = answered_by(impressions, name);
            (&**label, VariantSamples::from_impressions(&own, &cluster))
        })
        .collect();
    let arms = names
        .iter()
        .zip(&groups)
        .map(|((name, _), (label, samples))| {
            let own = answered_by(impressions, name);
            let latencies: Vec<f64> = own
                .iter()
                .map(|one| one.answered.timings.latency_ms)
                .collect();
            TrialArm {
                model: (*label).to_owned(),
                shown: own.iter().filter(|one| one.shown.is_some()).count(),
                accepted: own.iter().filter(|one| one.is_accepted()).count(),
                figures: with_latency(samples.estimates(), &latencies),
            }
        });
    let mut differences = Vec::new();
    for (index, (first, first_samples)) in groups.iter().enumerate() {
        for (second, second_samples) in &groups[index + 1..] {
            let (one, two) = (first_samples.outcomes(), second_samples.outcomes());
            let mut others: BTreeMap<String, Estimate> = one
                .iter()
                .filter_map(|(name, one)| {
                    let two = two.get(name)?;
                    let difference = clustered_difference_of_proportions(one, two)?;
                    Some((name.clone(), difference))
                })
                .collect();
            if let Some(difference) = others.remove(ACCEPTANCE_SHOWN.name) {
                let needed = more_to_show(&one[ACCEPTANCE_SHOWN.name], &two[ACCEPTANCE_SHOWN.name]);
                let labels = [*first, *second];
                differences.push(ArmDifference::new(
                    labels,
                    ACCEPTANCE_SHOWN.name,
                    difference,
                    needed,
                    others,
                ));
            }
        }
    }
    (arms.collect(), differences)
}

/// The impressions of one model's completions.
fn answered_by<'a>(impressions: &[&'a Impression<'a>], name: &str) -> Vec<&'a Impression<'a>> {
    let impressions = impressions.iter().copied();
    impressions
        .filter(|one| one.answered.asked_models() == [name])
        .collect()
}

fn with_latency(
    mut figures: BTreeMap<String, Estimate>,
    latencies_ms: &[f64],
) -> BTreeMap<String, Estimate> {
    let median = median(latencies_ms);
    figures.extend(median.map(|median| (MEDIAN_LATENCY.name.to_owned(), median)));
    figures
}

impl ArmDifference {
    fn new(
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

/// Number of further outcomes of both groups together it takes to find a difference like theirs.
/// `None` if they are equal, or if none more is needed.
fn more_to_show<K: Ord + Clone>(first: &[(K, bool)], second: &[(K, bool)]) -> Option<u64> {
    let numbers = |outcomes: &[(K, bool)]| -> Vec<(K, f64)> {
        let number = |outcome: &bool| f64::from(u8::from(*outcome));
        let outcomes = outcomes.iter();
        outcomes
            .map(|(key, outcome)| (key.clone(), number(outcome)))
            .collect()
    };
    let (one, two) = (numbers(first), numbers(second));
    let share = |numbers: &[(K, f64)]| {
        numbers.iter().map(|(_, number)| number).sum::<f64>() / numbers.len() as f64
    };
    let independent = outcomes_per_group(share(&one), share(&two))?;
    // If the design effect is unknown, the number for independent outcomes is the lower bound.
    let each = independent * design_effect(&one, &two).unwrap_or(1.0);
    // Two of two outcomes would otherwise seem to be nearly enough.
    let each = each.ceil().max(FEW as f64);
    let more = |shown: usize| (each - shown as f64).max(0.0);
    Some((more(first.len()) + more(second.len())) as u64).filter(|more| *more > 0)
}

/// A pair of candidates that was shown, or of which one was chosen.
struct CandidatePair<'a> {
    impression: &'a Impression<'a>,
    /// Its models, in the order of their candidates.
    asked: [&'a str; 2],
    /// Index of the chosen one.
    chosen: Option<usize>,
}

impl<'a> CandidatePair<'a> {
    /// `None` without a candidate of each model: equal candidates, or one that is empty, leave no
    /// choice.
    fn from_impression(impression: &'a Impression<'a>) -> Option<Self> {
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

    /// True if this model was chosen; `None` if it is not part of the pair.
    fn chose(&self, name: &str) -> Option<bool> {
        let part = self.asked.iter().position(|asked| *asked == name)?;
        Some(self.chosen == Some(part))
    }
}

/// The arms, differences and strengths of models that answered two at a time.
fn by_pairs(
    impressions: &[&Impression<'_>],
    names: &[(String, String)],
) -> (
    Vec<TrialArm>,
    Vec<ArmDifference>,
    Option<BTreeMap<String, Estimate>>,
) {
    let pairs: Vec<CandidatePair<'_>> = impressions
        .iter()
        .filter_map(|one| CandidatePair::from_impression(one))
        .collect();
    let shown: Vec<&CandidatePair<'_>> = pairs
        .iter()
        .filter(|pair| pair.impression.shown.is_some())
        .collect();
    let arms = names
        .iter()
        .map(|(name, label)| pair_arm(&shown, name, label));
    let mut differences = Vec::new();
    let mut wins = Vec::new();
    for (index, (first, first_label)) in names.iter().enumerate() {
        for (second, second_label) in &names[index + 1..] {
            let labels = [&**first_label, &**second_label];
            differences.extend(pair_difference(&shown, [first, second], labels));
            // A choice shows a preference, even if the editor reports no other pair.
            for pair in &pairs {
                let (winner, loser) = match (pair.chose(first), pair.chose(second)) {
                    (Some(true), Some(_)) => (first_label, second_label),
                    (Some(_), Some(true)) => (second_label, first_label),
                    _ => continue,
                };
                wins.push((winner.clone(), loser.clone(), 1.0));
            }
        }
    }
    (arms.collect(), differences, bradley_terry(&wins))
}

/// One model's figures over the pairs that were shown.
fn pair_arm(shown: &[&CandidatePair<'_>], name: &str, label: &str) -> TrialArm {
    let own: Vec<(&CandidatePair<'_>, bool)> = shown
        .iter()
        .filter_map(|pair| Some((*pair, pair.chose(name)?)))
        .collect();
    let chosen: Vec<(Cluster, bool)> = own
        .iter()
        .map(|(pair, chosen)| (pair.impression.cluster(), *chosen))
        .collect();
    let accepted: Vec<&Impression<'_>> = own
        .iter()
        .filter(|(_, chosen)| *chosen)
        .map(|(pair, _)| pair.impression)
        .collect();
    // Among chosen completions acceptance means nothing; retention does.
    let samples =
        VariantSamples::from_impressions(&accepted, &|one: &Impression<'_>| one.cluster());
    let mut figures = samples.estimates();
    figures.retain(|name, _| !name.starts_with("acceptance/"));
    let chosen_share = clustered_proportion(&chosen);
    figures.extend(chosen_share.map(|share| (ACCEPTANCE_PAIRS.name.to_owned(), share)));
    let latencies: Vec<f64> = own
        .iter()
        .filter_map(|(pair, _)| pair.impression.answered.own_ms(name))
        .collect();
    TrialArm {
        model: label.to_owned(),
        shown: own.len(),
        accepted: accepted.len(),
        figures: with_latency(figures, &latencies),
    }
}

/// The difference of two models over the pairs that both are part of.
fn pair_difference(
    shown: &[&CandidatePair<'_>],
    [first, second]: [&str; 2],
    labels: [&str; 2],
) -> Option<ArmDifference> {
    let both: Vec<(Cluster, bool, bool)> = shown
        .iter()
        .filter_map(|pair| {
            let (one, two) = (pair.chose(first)?, pair.chose(second)?);
            Some((pair.impression.cluster(), one, two))
        })
        .collect();
    let difference = difference_of_choices(&both)?;
    let first_chosen = both.iter().filter(|pair| pair.1).count();
    let choices = first_chosen + both.iter().filter(|pair| pair.2).count();
    let needed = (choices > 0)
        .then(|| choices_to_tell(first_chosen as f64 / choices as f64))
        .flatten()
        .map(|needed| {
            let more = (needed.ceil().max(FEW as f64) - choices as f64).max(0.0);
            (more * both.len() as f64 / choices as f64).ceil() as u64
        })
        .filter(|more| *more > 0);
    Some(ArmDifference::new(
        labels,
        ACCEPTANCE_PAIRS.name,
        difference,
        needed,
        BTreeMap::new(),
    ))
}

/// The paired difference of two models' shares of the pairs that both are part of.
fn difference_of_choices(both: &[(Cluster, bool, bool)]) -> Option<Estimate> {
    let number = |chosen: bool| f64::from(u8::from(chosen));
    let pairs: Vec<(Cluster, f64, f64)> = both
        .iter()
        .map(|(cluster, one, two)| (cluster.clone(), number(*one), number(*two)))
        .collect();
    paired_difference(&pairs, 1.0)
}
