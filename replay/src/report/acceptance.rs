//! What people made of completions in their editors: pure functions on what telemetry recorded.
//!
//! Each figure is a named variant with its denominator in the name, as the field has them; see
//! [`Figures`].

mod table;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{
    Estimate, READ_MS, clustered_proportion, clustered_weighted_mean, median, quantile,
};
use fillrate_server::completion::Source;
use fillrate_server::configuration::DEFAULT;
use fillrate_server::telemetry::{
    Certainty, CompletionRow, Displayed, EnteredCharacters, RETAINED, RecordedCompletion,
    Remainder, STILL_IN_CODE, StoreContents,
};
use serde::Serialize;

pub use trial::{Arm, Difference, Trial};

/// The version of the statistics' format.
pub const SCHEMA: u32 = 1;

/// Statistics of what a store holds.
#[derive(Clone, Debug, Serialize)]
pub struct Acceptance {
    /// [`SCHEMA`].
    pub schema: u32,
    /// One for each group that there is, grouping by grouping.
    pub rows: Vec<Row>,
    /// The last trial, where there was one.
    pub trial: Option<Trial>,
}

/// The figures of one group.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What the group has in common, by the dimension's name.
    pub by: BTreeMap<&'static str, String>,
    /// Completions that were offered; the same text at the same place twice in a row counts once,
    /// also where its beginning was typed in between.
    pub offered: usize,
    /// How many of them were displayed, by how surely the editor knows: `confirmed` and
    /// `estimated`.
    pub shown: BTreeMap<&'static str, usize>,
    /// How many of them were accepted whole.
    pub accepted: usize,
    /// How many more were accepted of which the editor never said that they were shown: they count
    /// in `completed-code` and in what is left of them alone.
    pub untold: usize,
    /// By variant.
    pub figures: Figures,
}

/// Figures by the names of their [`VARIANTS`]. One that nothing speaks for is absent.
pub type Figures = BTreeMap<String, Estimate>;

/// Every figure's name, `t` being a horizon in seconds; the reference page has their definitions,
/// and in pairs there is `acceptance/pairs` instead of the first three.
pub const VARIANTS: [&str; 8] = [
    "acceptance/shown",
    "acceptance/read",
    "acceptance/chars",
    "completed-code",
    "retained@t",
    "still-in-code@t",
    "latency_ms/median",
    "latency_ms/p90",
];

/// What rows are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// The model: its name in the configuration, or the model's own for `[model]`.
    Model,
    /// The file's language.
    Language,
    /// The day by UTC, as `YYYY-MM-DD`.
    Day,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Model, Self::Language, Self::Day];

    /// The name on the command line and in a row.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Language => "language",
            Self::Day => "day",
        }
    }
}

impl std::str::FromStr for Dimension {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|dimension| dimension.name() == text)
            .ok_or_else(|| "statistics are by model, language and day".to_owned())
    }
}

/// What is counted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Each grouping gives rows of its own.
    pub groupings: Vec<Vec<Dimension>>,
    /// Nothing older than this, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Sessions of a simulated developer, in place of people's. The two are never mixed.
    pub simulated: bool,
    /// Only what an editor confirms to have displayed counts as shown.
    pub confirmed: bool,
    /// Whether a blind trial that goes on is shown by its models' names.
    pub unblind: bool,
}

/// A completion that came before a person, once.
#[derive(Clone, Debug)]
struct Impression<'a> {
    /// As it was first offered.
    answered: &'a CompletionRow,
    /// The longest it can have been displayed: repeated offers add up.
    shown: Option<Displayed>,
    /// The candidate that was accepted whole, and its characters.
    accepted: Option<(usize, usize)>,
    /// Characters taken in parts.
    partly: usize,
    /// As in [`RecordedCompletion`].
    retention: &'a BTreeMap<u64, Option<Remainder>>,
}

/// What samples are clustered by.
type Cluster = (String, String);

impl Acceptance {
    /// The statistics of what was recorded.
    pub fn of(contents: &StoreContents, choice: &Choice) -> Self {
        let counted = |at_ms: i64, simulated: bool| {
            simulated == choice.simulated && choice.since_ms.is_none_or(|since| at_ms >= since)
        };
        let recorded: Vec<&RecordedCompletion> = contents
            .completions
            .iter()
            .filter(|one| counted(one.answered.at_ms, one.answered.simulated))
            .collect();
        let entered: Vec<&EnteredCharacters> = contents
            .entered
            .iter()
            .filter(|one| counted(one.at_ms, one.simulated))
            .collect();
        let hidden = trial::Hidden::of(&recorded, choice.unblind);
        let impressions = impressions(&recorded, choice.confirmed);
        let mut rows = Vec::new();
        for grouping in &choice.groupings {
            rows.extend(grouped(grouping, &impressions, &entered, &hidden));
        }
        Self {
            schema: SCHEMA,
            rows,
            trial: Trial::of(&impressions, &hidden),
        }
    }
}

/// What was offered, each once. The same texts at the same place twice in a row have one row in the
/// store; here what is left of a completion whose beginning the person typed joins it: it is that
/// one that is still shown, and it has been shown for as long as both.
fn impressions<'a>(recorded: &[&'a RecordedCompletion], confirmed: bool) -> Vec<Impression<'a>> {
    // An editor that never says what it displays, as one that knows nothing of Fillrate, leaves
    // unknown how much was shown: of its completions an accept tells no rate.
    let telling: BTreeSet<&str> = recorded
        .iter()
        .filter(|one| one.shown.is_some())
        .map(|one| &*one.answered.session)
        .collect();
    let mut impressions: Vec<Impression<'a>> = Vec::new();
    let mut last: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in recorded.iter().filter(|one| one.is_offered()) {
        let answered = &one.answered;
        let mut impression = Impression {
            answered,
            shown: one.shown,
            accepted: one
                .accepted
                .as_ref()
                .map(|accepted| (accepted.candidate, accepted.characters)),
            partly: one.partly.as_ref().map_or(0, |partly| partly.characters),
            retention: &one.retention,
        };
        if telling.contains(&*answered.session) {
            impression.conclude();
        }
        let place = (&*answered.session, &*answered.file);
        let before = last.get(&place).map(|index| &mut impressions[*index]);
        match before.filter(|before| before.is_again(answered)) {
            Some(before) => before.join(impression),
            None => {
                last.insert(place, impressions.len());
                impressions.push(impression);
            }
        }
    }
    for impression in &mut impressions {
        let shown = impression.shown;
        let sure = |shown: &Displayed| !confirmed || shown.certainty == Certainty::Confirmed;
        impression.shown = shown.filter(sure);
    }
    impressions
}

impl Impression<'_> {
    /// What was taken was seen, whether or not the editor said so.
    fn conclude(&mut self) {
        if self.accepted.is_some() || self.partly > 0 {
            self.shown.get_or_insert(Displayed {
                certainty: Certainty::Estimated,
                ms: None,
            });
        }
    }

    /// Whether a later completion in the same session and file is the rest of this one, whose
    /// beginning the person typed.
    fn is_again(&self, later: &CompletionRow) -> bool {
        let characters =
            |of: &CompletionRow| of.candidates.first().map_or(0, |size| size.characters);
        self.accepted.is_none()
            && later.source == Source::TypedThrough
            && (later.form, &later.named) == (self.answered.form, &self.answered.named)
            && later.asked_models() == self.answered.asked_models()
            && characters(later) < characters(self.answered)
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
        self.accepted = later.accepted;
        self.partly += later.partly;
        if !later.retention.is_empty() {
            self.retention = later.retention;
        }
    }

    fn cluster(&self) -> Cluster {
        (self.answered.session.clone(), self.answered.file.clone())
    }

    /// The characters of the best candidate, which is what is displayed first.
    fn characters(&self) -> usize {
        self.answered
            .candidates
            .first()
            .map_or(0, |size| size.characters)
    }

    /// Whether it was shown, and accepted whole.
    fn is_taken(&self) -> bool {
        self.shown.is_some() && self.accepted.is_some()
    }

    /// Whether it was on the screen for long enough to be read.
    fn is_read(&self) -> bool {
        let long = |shown: Displayed| shown.ms.is_some_and(|ms| ms >= READ_MS);
        self.is_taken() || self.shown.is_some_and(long)
    }
}

/// The rows of one grouping.
fn grouped(
    grouping: &[Dimension],
    impressions: &[Impression<'_>],
    entered: &[&EnteredCharacters],
    hidden: &trial::Hidden,
) -> Vec<Row> {
    let key = |model: String, language: Option<&String>, at_ms: i64| -> Vec<String> {
        let of = |dimension: &Dimension| match dimension {
            Dimension::Model => model.clone(),
            Dimension::Language => language.cloned().unwrap_or_else(|| "other".to_owned()),
            Dimension::Day => day(at_ms),
        };
        grouping.iter().map(of).collect()
    };
    let mut groups: BTreeMap<Vec<String>, (Vec<&Impression<'_>>, Vec<&EnteredCharacters>)> =
        BTreeMap::new();
    // Of a pair, each model had half of the person's attention: what it came to is in the trial.
    for impression in impressions.iter().filter(|one| !one.answered.is_pair()) {
        let answered = impression.answered;
        let model = hidden.model(answered);
        let key = key(model, answered.language.as_ref(), answered.at_ms);
        groups.entry(key).or_default().0.push(impression);
    }
    for one in entered {
        let Some(model) = hidden.model_of_entered(one) else {
            continue;
        };
        let key = key(model, one.language.as_ref(), one.at_ms);
        // Where nothing was offered there is nothing to compare.
        if let Some(group) = groups.get_mut(&key) {
            group.1.push(*one);
        }
    }
    let rows = groups.into_iter().map(|(key, (impressions, entered))| {
        let names = grouping.iter().map(|dimension| dimension.name());
        Row {
            by: names.zip(key).collect(),
            offered: impressions.len(),
            shown: by_certainty(&impressions),
            accepted: impressions.iter().filter(|one| one.is_taken()).count(),
            untold: impressions
                .iter()
                .filter(|one| one.accepted.is_some() && one.shown.is_none())
                .count(),
            figures: figures(&impressions, &entered),
        }
    });
    rows.collect()
}

/// How many were displayed, by how surely.
fn by_certainty(impressions: &[&Impression<'_>]) -> BTreeMap<&'static str, usize> {
    let mut shown = BTreeMap::from([("confirmed", 0), ("estimated", 0)]);
    for one in impressions.iter().filter_map(|one| one.shown) {
        let certainty = match one.certainty {
            Certainty::Confirmed => "confirmed",
            Certainty::Estimated => "estimated",
        };
        *shown.entry(certainty).or_default() += 1;
    }
    shown
}

/// All figures of a group.
fn figures(impressions: &[&Impression<'_>], entered: &[&EnteredCharacters]) -> Figures {
    let cluster = |one: &Impression<'_>| one.cluster();
    let mut figures = shares(impressions, &cluster);
    let mut put = |name: &str, estimate: Option<Estimate>| {
        if let Some(estimate) = estimate {
            figures.insert(name.to_owned(), estimate);
        }
    };
    put("completed-code", completed(impressions, entered));
    let latencies: Vec<f64> = impressions
        .iter()
        .map(|one| one.answered.timings.latency_ms)
        .collect();
    put("latency_ms/median", median(&latencies));
    put("latency_ms/p90", quantile(&latencies, 0.9));
    figures
}

/// The shares among completions that were shown, and among those that were accepted.
fn shares<K: Ord + Clone>(
    impressions: &[&Impression<'_>],
    cluster: &dyn Fn(&Impression<'_>) -> K,
) -> Figures {
    let mut figures = Figures::new();
    for (name, outcomes) in outcomes(impressions, cluster) {
        if let Some(estimate) = clustered_proportion(&outcomes) {
            figures.insert(name, estimate);
        }
    }
    let weighted: Vec<(K, f64, f64)> = impressions
        .iter()
        .filter(|one| one.is_read())
        .map(|one| {
            let accepted = f64::from(u8::from(one.accepted.is_some()));
            (cluster(one), one.characters() as f64, accepted)
        })
        .collect();
    if let Some(estimate) = clustered_weighted_mean(&weighted) {
        let mut estimate = estimate.within(0.0..=1.0);
        if let Some(read) = figures.get("acceptance/read")
            && (read.value == 0.0 || read.value == 1.0)
        {
            // Where all were accepted, or none, weights change nothing, and the clustered error of
            // 0 would claim certainty.
            estimate = *read;
        }
        figures.insert("acceptance/chars".to_owned(), estimate);
    }
    figures
}

/// By variant, what each completion came to that counts for it.
fn outcomes<K: Ord + Clone>(
    impressions: &[&Impression<'_>],
    cluster: &dyn Fn(&Impression<'_>) -> K,
) -> BTreeMap<String, Vec<(K, bool)>> {
    let mut outcomes: BTreeMap<String, Vec<(K, bool)>> = BTreeMap::new();
    let mut put = |name: &str, one: &Impression<'_>, outcome: bool| {
        let outcomes = outcomes.entry(name.to_owned()).or_default();
        outcomes.push((cluster(one), outcome));
    };
    for one in impressions {
        if one.shown.is_some() {
            put("acceptance/shown", one, one.accepted.is_some());
        }
        if one.is_read() {
            put("acceptance/read", one, one.accepted.is_some());
        }
        for (horizon, left) in one.retention.iter().filter(|_| one.accepted.is_some()) {
            // Where it could not be observed, nothing is known of it.
            if let Some(left) = left {
                let retained = !left.removed && left.distance <= RETAINED;
                put(&format!("retained@{horizon}"), one, retained);
                let still = left.word_distance <= STILL_IN_CODE;
                put(&format!("still-in-code@{horizon}"), one, still);
            }
        }
    }
    outcomes
}

/// The share of the characters that entered files which were accepted, by session and file: the
/// mean of the files' shares, weighted by what entered them.
fn completed(impressions: &[&Impression<'_>], entered: &[&EnteredCharacters]) -> Option<Estimate> {
    let mut files: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for one in entered {
        files.entry((&one.session, &one.file)).or_default().0 += one.characters;
    }
    for one in impressions {
        let place = (&*one.answered.session, &*one.answered.file);
        if let Some(file) = files.get_mut(&place) {
            file.1 += one.accepted.map_or(0, |(_, characters)| characters) + one.partly;
        }
    }
    let samples: Vec<_> = files
        .into_iter()
        .filter(|(_, (entered, _))| *entered > 0)
        .map(|(place, (entered, accepted))| {
            (place, entered as f64, accepted as f64 / entered as f64)
        })
        .collect();
    Some(clustered_weighted_mean(&samples)?.within(0.0..=1.0))
}

/// What a model is called: by its name in the configuration, where it has one of its own.
fn label(named: &str, model: &str) -> String {
    let own = [DEFAULT, ""].contains(&named);
    if own { model } else { named }.to_owned()
}

/// The day of a moment by UTC, as `YYYY-MM-DD`: Hinnant's `civil_from_days`,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn day(at_ms: i64) -> String {
    const MS_A_DAY: i64 = 86_400_000;
    // Years begin in March, so that a leap day comes last; eras of 400 years are alike.
    let days = at_ms.div_euclid(MS_A_DAY) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests;
