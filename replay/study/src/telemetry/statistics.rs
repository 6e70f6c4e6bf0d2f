//! Telemetry statistics: acceptance, retention and latency by model, language or day, and the
//! results of a trial.
//!
//! Each figure is a named variant with its denominator in the name; see [`VARIANTS`].

use std::collections::BTreeMap;

use fillrate_engine::developer::fit::utc_day;
use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, COMPLETED_CODE, LATENCY_P90,
    MEDIAN_LATENCY,
};
use fillrate_metrics::{Estimate, median, quantile};
use fillrate_server::telemetry::{
    Certainty, CompletionRow, EnteredCharacters, RecordedCompletion, StoreContents,
};
use serde::Serialize;

use super::impression::{Impression, collect_impressions};
use super::online::last_answer;
use super::trial::{BlindTrial, TrialStatistics};
use super::variant::VariantSamples;

/// The version of the statistics' format.
pub const SCHEMA: u32 = 2;

/// Statistics of a telemetry store.
#[derive(Clone, Debug, Serialize)]
pub struct TelemetryStatistics {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Completions that they count.
    pub counted: Counted,
    /// One row for each group, grouping by grouping.
    pub rows: Vec<StatisticsRow>,
    /// The last trial, if there is one.
    pub trial: Option<TrialStatistics>,
}

/// The figures of one group.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticsRow {
    /// The group's value of each [`Dimension`], by the dimension's name.
    pub by: BTreeMap<&'static str, String>,
    /// Completions that were offered. The same text at the same position twice in a row counts
    /// once, also if its beginning was typed in between.
    pub offered: usize,
    /// Number of them that were displayed, by certainty: `confirmed` and `estimated`.
    pub shown: BTreeMap<&'static str, usize>,
    /// Number of those shown that were accepted whole.
    pub accepted: usize,
    /// Number of further completions that were accepted in editors that never report what they
    /// display: only `completed-code` and retention count them.
    pub accepted_unreported: usize,
    /// By variant.
    pub figures: VariantEstimates,
}

/// Estimates by the names of their [`VARIANTS`]. A variant without a sample is absent.
pub type VariantEstimates = BTreeMap<String, Estimate>;

/// Every variant's name, `t` being a horizon in seconds; the reference page defines them. A trial
/// in pairs has `acceptance/pairs` in place of the first three.
pub const VARIANTS: [&str; 8] = [
    ACCEPTANCE_SHOWN.name,
    ACCEPTANCE_READ.name,
    ACCEPTANCE_CHARACTERS.name,
    COMPLETED_CODE.name,
    "retained@t",
    "still-in-code@t",
    MEDIAN_LATENCY.name,
    LATENCY_P90.name,
];

/// Dimension that statistics are grouped by.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::EnumString,
)]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = String,
    parse_err_fn = unknown_dimension
)]
pub enum Dimension {
    /// The model: its name in the configuration, or the model's own for `[model]`.
    Model,
    /// The file's language.
    Language,
    /// The day in UTC, as `YYYY-MM-DD`.
    Day,
}

fn unknown_dimension(_: &str) -> String {
    "statistics are by model, language and day".to_owned()
}

/// Options of the statistics.
#[derive(Clone, Debug, Default)]
pub struct StatisticsOptions {
    /// Each grouping has rows of its own.
    pub groupings: Vec<Vec<Dimension>>,
    /// Completions that are counted.
    pub counted: Counted,
    /// Names the models of a blind trial that is still running.
    pub unblind: bool,
}

/// Completions that statistics count, and when one counts as shown.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counted {
    /// Those of the last so many days; all without it.
    pub days: Option<u32>,
    /// Those of a simulated developer in place of people's. The two are never mixed.
    pub simulated: bool,
    /// Only what an editor confirms to have displayed counts as shown.
    pub confirmed: bool,
}

impl Counted {
    /// Returns whether something of a time is counted; times are in milliseconds since 1970.
    fn counts(self, at_ms: i64, simulated: bool, now_ms: i64) -> bool {
        const MS_A_DAY: i64 = 86_400_000;
        let is_recent = |days| at_ms >= now_ms - i64::from(days) * MS_A_DAY;
        simulated == self.simulated && self.days.is_none_or(is_recent)
    }
}

impl TelemetryStatistics {
    /// Calculates the statistics of a store's contents at a time, in milliseconds since 1970.
    pub fn new(contents: &StoreContents, options: &StatisticsOptions, now_ms: i64) -> Self {
        let counted = |at_ms, simulated| options.counted.counts(at_ms, simulated, now_ms);
        let recorded: Vec<&RecordedCompletion> = contents
            .completions
            .iter()
            .filter(|one| counted(one.answered.at_ms, one.answered.simulated))
            .collect();
        // What enters a file during pairs has no accepts to be compared with.
        let has_pairs = recorded.iter().any(|one| one.answered.is_of_pairs());
        let is_of_pairs = |one: &EnteredCharacters| {
            has_pairs && last_answer(one, &recorded).is_some_and(CompletionRow::is_of_pairs)
        };
        let entered: Vec<&EnteredCharacters> = contents
            .entered
            .iter()
            .filter(|one| counted(one.at_ms, one.simulated) && !is_of_pairs(one))
            .collect();
        let blind = BlindTrial::find(&recorded, options.unblind);
        let impressions = collect_impressions(&recorded, options.counted.confirmed);
        let groupings = options.groupings.iter();
        Self {
            schema: SCHEMA,
            counted: options.counted,
            rows: groupings
                .flat_map(|grouping| group_rows(grouping, &impressions, &entered, &blind))
                .collect(),
            trial: TrialStatistics::from_last_trial(&impressions, &blind),
        }
    }
}

/// The rows of one grouping.
fn group_rows(
    grouping: &[Dimension],
    impressions: &[Impression<'_>],
    entered: &[&EnteredCharacters],
    blind: &BlindTrial,
) -> Vec<StatisticsRow> {
    let key = |model: String, language: Option<&String>, at_ms: i64| -> Vec<String> {
        let value = |dimension: &Dimension| match dimension {
            Dimension::Model => model.clone(),
            Dimension::Language => language.cloned().unwrap_or_else(|| "other".to_owned()),
            Dimension::Day => utc_day(at_ms),
        };
        grouping.iter().map(value).collect()
    };
    let mut groups: BTreeMap<Vec<String>, (Vec<&Impression<'_>>, Vec<&EnteredCharacters>)> =
        BTreeMap::new();
    // Each model of a pair had half of the person's attention: the trial's statistics count it.
    let alone = impressions.iter().filter(|one| !one.answered.is_of_pairs());
    for impression in alone {
        let answered = impression.answered;
        let model = blind.model_name(answered);
        let key = key(model, answered.language.as_ref(), answered.at_ms);
        groups.entry(key).or_default().0.push(impression);
    }
    for one in entered {
        let Some(model) = blind.model_name_of_entered(one) else {
            continue;
        };
        let key = key(model, one.language.as_ref(), one.at_ms);
        // Where nothing was offered there is nothing to compare.
        if let Some(group) = groups.get_mut(&key) {
            group.1.push(*one);
        }
    }
    let rows = groups.into_iter().map(|(key, (impressions, entered))| {
        let names = grouping.iter().map(<&'static str>::from);
        StatisticsRow {
            by: names.zip(key).collect(),
            offered: impressions.len(),
            shown: count_by_certainty(&impressions),
            accepted: impressions.iter().filter(|one| one.is_accepted()).count(),
            accepted_unreported: impressions
                .iter()
                .filter(|one| one.accepted.is_some() && !one.is_reported)
                .count(),
            figures: estimates(&impressions, &entered),
        }
    });
    rows.collect()
}

/// Returns the number of displayed completions, by certainty.
fn count_by_certainty(impressions: &[&Impression<'_>]) -> BTreeMap<&'static str, usize> {
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
fn estimates(impressions: &[&Impression<'_>], entered: &[&EnteredCharacters]) -> VariantEstimates {
    let samples =
        VariantSamples::from_impressions(impressions, &|one: &Impression<'_>| one.cluster());
    let mut estimates = samples.with_entered(impressions, entered).estimates();
    let latencies: Vec<f64> = impressions
        .iter()
        .map(|one| one.answered.timings.latency_ms)
        .collect();
    let median = (MEDIAN_LATENCY.name, median(&latencies));
    for (name, estimate) in [median, (LATENCY_P90.name, quantile(&latencies, 0.9))] {
        estimates.extend(estimate.map(|estimate| (name.to_owned(), estimate)));
    }
    estimates
}
