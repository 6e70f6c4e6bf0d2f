//! Several models on the same holes: a sentence on their order, and what it rests on.

mod rule;

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::Cell;
use fillrate_engine::play::compare::{
    ComparisonEnding, ComparisonOutcome, ModelOrder, passes_by_hole,
};
use fillrate_engine::play::replay::ReplayedRun;
use fillrate_engine::store::{Attempt, StoreError};
use fillrate_metrics::metric::{
    COMPLETION_TOKENS, COST, FIRST_TEXT_MEDIAN, FIRST_TEXT_P90, LATENCY_P90, MEDIAN_LATENCY,
    PASS_AT_1, PASS_WITHIN, PROMPT_TOKENS,
};
use fillrate_metrics::{
    CONFIDENCE, Estimate, Metric, OrderChange, TimedPass, WAITING_TIMES, median, order_changes,
    pass_within, quantile,
};
use serde::Serialize;

pub use self::rule::{FailureRule, RuleError};
use super::figures::{usage, usage_figures};
use super::markdown::code;
use super::scored::cluster;
use super::table::{ABSENT, TextTable, TextWidth, figure, right};

/// Models on the same holes.
#[derive(Clone, Debug, Serialize)]
pub struct ModelComparison {
    /// The order of the models, as far as it is shown.
    pub sentence: String,
    /// The probability with which everything that the sentence says is right.
    pub probability: f64,
    /// Conclusion on each pair of models.
    pub orders: Vec<OrderFigure>,
    /// Why the comparison ended.
    pub ending: ComparisonEnding,
    /// Holes that were chosen.
    pub holes: usize,
    /// The models, in the order in which they were named.
    pub models: Vec<ComparedModel>,
    /// The times at which the order of two models by passes within the time changes.
    pub order_changes: Vec<PairChanges>,
    /// The figures of a model over the holes that it and another one have, by the names of both.
    #[serde(skip)]
    pub common: BTreeMap<(String, String), BTreeMap<String, Estimate>>,
}

/// The order of two models by one figure.
#[derive(Clone, Debug, Serialize)]
pub struct OrderFigure {
    /// The model that was named first.
    pub first: String,
    /// The other one.
    pub second: String,
    /// The figure's name.
    pub metric: String,
    /// The first model's figure minus the second's; absent without a hole that both have.
    pub difference: Option<Estimate>,
    /// The model that passes more; absent if no order is shown.
    pub better: Option<String>,
    /// True if it was decided before the end.
    pub is_early: bool,
}

/// A model's figures in a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedModel {
    /// Its name among the models.
    pub model: String,
    /// The name that its server has for it.
    pub name: String,
    /// The run's folder.
    pub run: String,
    /// The holes at which it was asked.
    pub holes: usize,
    /// Its figures by name.
    pub metrics: BTreeMap<String, Estimate>,
    /// Passes within a time; empty for recorded completions, which have no latency.
    pub curve: Vec<WaitingPoint>,
}

/// A point of a curve of passes within a time.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingPoint {
    /// The time in milliseconds.
    pub within_ms: f64,
    /// The share of holes whose whole completion arrived in time and passes.
    pub whole: Option<Estimate>,
    /// The share of holes whose completion passes and whose first text arrived in time; absent if
    /// the model does not stream.
    pub first_text: Option<Estimate>,
}

/// The times at which the order of two models changes.
#[derive(Clone, Debug, Serialize)]
pub struct PairChanges {
    /// The model that was named first.
    pub first: String,
    /// The other one.
    pub second: String,
    /// From each time on, in milliseconds, this model passes more within the time.
    pub from: Vec<(f64, String)>,
}

/// The figures of a comparison with one name each, in the order of the table. Passes within a time
/// follow the first.
const FIGURES: [Metric; 8] = [
    PASS_AT_1,
    MEDIAN_LATENCY,
    LATENCY_P90,
    FIRST_TEXT_MEDIAN,
    FIRST_TEXT_P90,
    PROMPT_TOKENS,
    COMPLETION_TOKENS,
    COST,
];

/// A model's attempts, in the form that figures need.
struct TimedModel {
    title: String,
    attempts: Vec<Attempt>,
    /// The file of each hole.
    files: BTreeMap<String, String>,
    whole: BTreeMap<String, (String, TimedPass)>,
    first_text: BTreeMap<String, (String, TimedPass)>,
    has_latency: bool,
}

impl ModelComparison {
    /// Calculates the figures of a comparison.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn load(outcome: &ComparisonOutcome, within_ms: Option<f64>) -> Result<Self, StoreError> {
        let mut timed = Vec::new();
        let mut models = Vec::new();
        for run in &outcome.runs {
            let of_run = TimedModel::read(run)?;
            models.push(of_run.compared(run, within_ms));
            timed.push(of_run);
        }
        let orders = outcome.orders.iter().map(|order| OrderFigure {
            first: timed[order.first].title.clone(),
            second: timed[order.second].title.clone(),
            metric: match order.within_ms {
                None => PASS_AT_1.name.to_owned(),
                Some(time) => within_name(time),
            },
            difference: order.difference,
            better: better(order).map(|index| timed[index].title.clone()),
            is_early: order.is_early,
        });
        let orders: Vec<OrderFigure> = orders.collect();
        let sentence = sentence(&outcome.orders, &timed);
        Ok(Self {
            sentence,
            probability: CONFIDENCE,
            orders,
            ending: outcome.ending,
            holes: outcome.holes,
            order_changes: changes(&timed),
            common: common_figures(&timed, within_ms),
            models,
        })
    }

    /// A model's figure.
    pub fn figure(&self, model: &str, metric: &str) -> Option<&Estimate> {
        let model = self.models.iter().find(|one| one.model == model)?;
        model.metrics.get(metric)
    }

    /// A model's figure over the holes that it and another one have: a model whose orders were
    /// decided has fewer than the others.
    pub fn common_figure(&self, model: &str, other: &str, metric: &str) -> Option<&Estimate> {
        if model == other {
            return self.figure(model, metric);
        }
        let both = (model.to_owned(), other.to_owned());
        self.common.get(&both)?.get(metric)
    }

    /// The columns of the table: the figures that some model has.
    fn columns(&self) -> Vec<String> {
        // The times are in the names of the metrics, so the columns are collected from the models.
        let within = self.models.iter().flat_map(|model| model.metrics.keys());
        let within = within.filter(|name| Metric::find(name) == Some(PASS_WITHIN));
        let within: BTreeSet<&String> = within.collect();
        let (first, others) = FIGURES.split_at(1);
        let name = |metric: &Metric| metric.name.to_owned();
        let columns = first.iter().map(name).chain(within.into_iter().cloned());
        let mut columns: Vec<String> = columns.chain(others.iter().map(name)).collect();
        // A column that no model has a figure for, such as the cost without a price, is left out.
        columns.retain(|name| {
            self.models
                .iter()
                .any(|model| model.metrics.contains_key(name))
        });
        columns
    }

    /// The text for people: figures, curve, and the sentence at the end.
    pub fn text(&self, width: TextWidth) -> String {
        let columns = self.columns();
        let header = std::iter::once("model".to_owned()).chain(columns.iter().cloned());
        let mut table = TextTable::new(header.collect::<Vec<String>>());
        for model in &self.models {
            let mut cells = vec![Cell::new(&model.model)];
            for name in &columns {
                cells.push(figure(name, model.metrics.get(name)));
            }
            table.add_row(cells);
        }
        let mut text = table.render(width) + "\n";
        if let Some(curve) = self.curve_table() {
            text.push_str(&(curve.render(width) + "\n"));
        }
        text.push_str(&width.paragraph(UNITS));
        for changes in &self.order_changes {
            text.push_str(&width.paragraph(&changes.sentence()));
        }
        text.push_str(&format!("\n{}", width.paragraph(&self.sentence)));
        text.push_str(&width.paragraph(&self.basis()));
        text
    }

    /// The shares within each time, a row for each time; `None` if no model has a latency.
    fn curve_table(&self) -> Option<TextTable> {
        let timed: Vec<&ComparedModel> = self
            .models
            .iter()
            .filter(|model| !model.curve.is_empty())
            .collect();
        if timed.is_empty() {
            return None;
        }
        let mut header = vec!["passes within".to_owned()];
        for model in &timed {
            header.push(model.model.clone());
            if model.streams() {
                header.push(format!("{}, first text", model.model));
            }
        }
        let mut table = TextTable::new(header);
        let shares = |index: usize| {
            let shares = timed.iter().flat_map(|model| {
                let point = &model.curve[index];
                let first_text = model
                    .streams()
                    .then(|| share_text(point.first_text.as_ref()));
                [Some(share_text(point.whole.as_ref())), first_text]
            });
            shares.flatten().collect::<Vec<String>>()
        };
        let times = WAITING_TIMES.iter().map(|time| time_text(*time));
        let rows: Vec<(String, Vec<String>)> = times.zip((0..).map(shares)).collect();
        // A time at which nothing changes says no more than the one before it.
        for same in rows.chunk_by(|(_, one), (_, other)| one == other) {
            let (first, values) = &same[0];
            let name = match same {
                [.., (last, _)] if same.len() > 1 => format!("{first} to {last}"),
                _ => first.clone(),
            };
            table.add_row([&name].into_iter().chain(values).cloned().map(right));
        }
        Some(table)
    }

    /// The sentence and the table in Markdown, for a job summary or a pull request.
    pub fn markdown(&self) -> String {
        let columns = self.columns();
        let mut text = format!("### {}\n\n| model |", self.sentence);
        for name in &columns {
            text.push_str(&format!(" {name} |"));
        }
        text.push_str("\n| --- |");
        text.push_str(&" ---: |".repeat(columns.len()));
        text.push('\n');
        for model in &self.models {
            text.push_str(&format!("| {} |", code(&model.model)));
            for name in &columns {
                let cell = model.metrics.get(name).map_or_else(
                    || ABSENT.to_owned(),
                    |estimate| Metric::of_figure(name).unit.render(estimate).line(),
                );
                text.push_str(&format!(" {cell} |"));
            }
            text.push('\n');
        }
        text.push_str(&format!("\n{} {UNITS}\n", self.basis()));
        for changes in &self.order_changes {
            text.push_str(&format!("\n{}\n", changes.sentence()));
        }
        text
    }

    /// The models that were not asked at all holes because their orders were decided, and at how
    /// many they were: `a has 16`.
    fn decided(&self) -> Vec<String> {
        let is_decided = |model: &&ComparedModel| {
            let mut own = self
                .orders
                .iter()
                .filter(|order| [&order.first, &order.second].contains(&&model.model));
            model.holes < self.holes && own.all(|order| order.is_early)
        };
        let decided = self.models.iter().filter(is_decided);
        decided
            .map(|model| format!("{} has {}", model.model, model.holes))
            .collect()
    }

    /// Evidence for the sentence.
    fn basis(&self) -> String {
        let ending = match self.ending {
            ComparisonEnding::AllHoles => {
                let decided = self.decided();
                let decided = match decided.is_empty() {
                    true => String::new(),
                    false => format!(
                        " A model whose orders are decided is not asked any more: {}.",
                        decided.join(", ")
                    ),
                };
                format!("All {} holes were played.{decided}", self.holes)
            }
            ComparisonEnding::Decided => format!(
                "Stopped early, before all {} holes were played: every order is decided.",
                self.holes
            ),
            ComparisonEnding::Time => format!(
                "Stopped by --max-time before all {} holes were played; rerun the command to \
                 continue.",
                self.holes
            ),
            ComparisonEnding::Calls => format!(
                "Stopped by --max-calls before all {} holes were played; rerun the command with more \
                 to continue.",
                self.holes
            ),
        };
        format!(
            "The sentence is right with a probability of {:.0} % or more{}, stopping early \
             included. {ending}",
            100.0 * self.probability,
            match self.orders.len() {
                1 => String::new(),
                count => format!(": all {count} intervals together"),
            }
        )
    }
}

impl ComparedModel {
    /// True if its answers are streamed.
    fn streams(&self) -> bool {
        self.metrics.contains_key(FIRST_TEXT_MEDIAN.name)
    }
}

impl PairChanges {
    /// One sentence.
    fn sentence(&self) -> String {
        let parts = self.from.iter();
        let parts: Vec<String> = parts
            .map(|(time, model)| format!("from {} on {model} passes more", time_text(*time)))
            .collect();
        format!(
            "The order of {} and {} by passes within a time changes: {} (estimates, without \
             intervals).",
            self.first,
            self.second,
            parts.join(", ")
        )
    }
}

/// Explanation of a table's numbers.
const UNITS: &str = "Rates in %, times in ms, cost in the currency of `model.price`, each with its \
                     95 % interval and its n in a number of files, the clusters.";

/// The figure's name of passes within a time.
fn within_name(time_ms: f64) -> String {
    PASS_WITHIN.name.replace("ms", &format!("{time_ms:.0}"))
}

/// A time with its unit.
fn time_text(time_ms: f64) -> String {
    format!("{time_ms:.0} ms")
}

/// A share and its interval in one line.
fn share_text(share: Option<&Estimate>) -> String {
    share.map_or_else(
        || ABSENT.to_owned(),
        |share| {
            let figure = PASS_WITHIN.unit.render(share);
            format!("{} {}", figure.value, figure.interval)
        },
    )
}

/// The index of the model that passes more; `None` if the interval includes no difference.
fn better(order: &ModelOrder) -> Option<usize> {
    let difference = order.difference?;
    // Without an interval no order is shown.
    match (difference.low?, difference.high?) {
        (low, _) if low > 0.0 => Some(order.first),
        (_, high) if high < 0.0 => Some(order.second),
        _ => None,
    }
}

/// `8.3 points [2.1, 14.2] (n = 60 holes in 22 files)`, as seen from the first model or, if
/// `mirrored`, from the second.
fn points(difference: &Estimate, mirrored: bool) -> String {
    // The difference is the first minus the second; for the second as winner all signs change.
    let seen = match mirrored {
        false => *difference,
        true => Estimate {
            value: -difference.value,
            low: difference.high.map(|high| -high),
            high: difference.low.map(|low| -low),
            ..*difference
        },
    };
    let figure = PASS_AT_1.unit.render(&seen);
    format!(
        "{} points {} (n = {} holes in {} files)",
        figure.value,
        figure.interval,
        seen.n,
        seen.clusters.unwrap_or(seen.n)
    )
}

/// Order of each pair by the figures, by passes and by passes within a time.
fn sentence(orders: &[ModelOrder], models: &[TimedModel]) -> String {
    let name = |index: usize| models[index].title.as_str();
    let mut clauses = Vec::new();
    for order in orders.iter().filter(|order| order.within_ms.is_none()) {
        let winner = better(order);
        let mut clause = match (&order.difference, winner) {
            (None, _) => format!(
                "{} and {} have no judged hole in common",
                name(order.first),
                name(order.second)
            ),
            (Some(difference), Some(winner)) => {
                // One of the two indices is the winner, so the sum minus it is the other.
                let loser = order.first + order.second - winner;
                format!(
                    "{} passes more than {} by {}",
                    name(winner),
                    name(loser),
                    points(difference, winner == order.second)
                )
            }
            (Some(difference), None) => format!(
                "No order of {} and {} is shown: they differ by {}{}",
                name(order.first),
                name(order.second),
                points(difference, false),
                match difference.low {
                    Some(_) => "",
                    None => ", which has no interval because all holes are in one file",
                }
            ),
        };
        let within = orders.iter().find(|other| {
            other.within_ms.is_some() && (other.first, other.second) == (order.first, order.second)
        });
        if let Some((within, time)) = within.and_then(|within| Some((within, within.within_ms?))) {
            let time = time_text(time);
            clause.push_str(&match (within.difference, better(within)) {
                (Some(difference), Some(best)) => {
                    let by = points(&difference, best == order.second);
                    match winner {
                        Some(winner) if winner == best => format!("; within {time} too, by {by}"),
                        Some(_) => format!(
                            "; within {time} the order is reversed: {} passes more by {by}",
                            name(best)
                        ),
                        None => format!("; within {time} {} passes more by {by}", name(best)),
                    }
                }
                (Some(difference), None) => format!(
                    "; within {time} no order is shown: they differ by {}",
                    points(&difference, false)
                ),
                (None, _) => String::new(),
            });
        }
        clauses.push(clause);
    }
    format!("{}.", clauses.join(". "))
}

/// The times at which the order of each pair of models with latencies changes, of pairs for which
/// it does.
fn changes(models: &[TimedModel]) -> Vec<PairChanges> {
    let mut all = Vec::new();
    for (index, second) in models.iter().enumerate() {
        for first in &models[..index] {
            // Recorded completions have no time to wait for.
            if !first.has_latency || !second.has_latency {
                continue;
            }
            let pairs = first
                .whole
                .iter()
                .filter_map(|(hole, (_, pass))| Some((*pass, second.whole.get(hole)?.1)));
            let changes = order_changes(&pairs.collect::<Vec<_>>()).into_iter();
            let from: Vec<(f64, String)> = changes
                .map(|OrderChange { time_ms, to_first }| {
                    let leader = if to_first { first } else { second };
                    (time_ms, leader.title.clone())
                })
                .collect();
            if !from.is_empty() {
                all.push(PairChanges {
                    first: first.title.clone(),
                    second: second.title.clone(),
                    from,
                });
            }
        }
    }
    all
}

/// The figures of each model over the holes that it and each other one have, by the names of both.
fn common_figures(
    models: &[TimedModel],
    within_ms: Option<f64>,
) -> BTreeMap<(String, String), BTreeMap<String, Estimate>> {
    let mut figures = BTreeMap::new();
    for model in models {
        for other in models.iter().filter(|other| other.title != model.title) {
            let names = (model.title.clone(), other.title.clone());
            figures.insert(names, model.at_holes_of(other).metrics(within_ms));
        }
    }
    figures
}

impl TimedModel {
    /// Reads a model's run.
    fn read(ReplayedRun { title, run, .. }: &ReplayedRun) -> Result<Self, StoreError> {
        let holes = run.holes()?.into_iter();
        let files = holes.map(|(id, hole)| (id, cluster(&hole))).collect();
        let has_latency = run.has_latency()?;
        Ok(Self::new(
            title.clone(),
            run.attempts()?,
            files,
            has_latency,
        ))
    }

    fn new(
        title: String,
        attempts: Vec<Attempt>,
        files: BTreeMap<String, String>,
        has_latency: bool,
    ) -> Self {
        let in_files = |passes: BTreeMap<String, TimedPass>| {
            let passes = passes.into_iter();
            passes
                .filter_map(|(hole, pass)| {
                    let file = files.get(&hole)?.clone();
                    Some((hole, (file, pass)))
                })
                .collect::<BTreeMap<String, (String, TimedPass)>>()
        };
        Self {
            first_text: in_files(passes_by_hole(&attempts, first_text_ms)),
            whole: in_files(passes_by_hole(&attempts, |attempt| {
                Some(attempt.latency_ms)
            })),
            title,
            attempts,
            files,
            has_latency,
        }
    }

    /// The holes that figures count, and whether those of passes do.
    fn counted(&self) -> BTreeSet<(&str, bool)> {
        let attempts = self.attempts.iter();
        attempts
            .map(|attempt| (attempt.hole.as_str(), attempt.verdict.outcome))
            .filter(|(_, outcome)| outcome.is_counted())
            .map(|(hole, outcome)| (hole, outcome.is_evidence()))
            .collect()
    }

    /// The same model with the attempts at those holes alone that count for both.
    fn at_holes_of(&self, other: &Self) -> Self {
        let (own, others) = (self.counted(), other.counted());
        let common: BTreeSet<&str> = own.intersection(&others).map(|(hole, _)| *hole).collect();
        let attempts = self.attempts.iter();
        let attempts = attempts.filter(|attempt| common.contains(attempt.hole.as_str()));
        Self::new(
            self.title.clone(),
            attempts.cloned().collect(),
            self.files.clone(),
            self.has_latency,
        )
    }

    /// The attempts whose times count.
    fn answered(&self) -> impl Iterator<Item = &Attempt> {
        // Times of failed requests say nothing on the model's speed.
        self.attempts.iter().filter(move |attempt| {
            self.has_latency && attempt.answered && attempt.verdict.outcome.is_counted()
        })
    }

    /// The figures by name.
    fn metrics(&self, within_ms: Option<f64>) -> BTreeMap<String, Estimate> {
        let latencies: Vec<f64> = self.answered().map(|attempt| attempt.latency_ms).collect();
        let first_texts: Vec<f64> = self.answered().filter_map(first_text_ms).collect();
        let whole = values(&self.whole);
        let mut metrics = BTreeMap::new();
        let mut put = |name: &str, estimate: Option<Estimate>| {
            metrics.extend(estimate.map(|estimate| (name.to_owned(), estimate)));
        };
        let rates: Vec<(String, f64, f64)> = whole
            .iter()
            .map(|(file, pass)| (file.clone(), 1.0, pass.rate))
            .collect();
        put(PASS_AT_1.name, PASS_AT_1.unit.mean(&rates));
        if let Some(time) = within_ms.filter(|_| self.has_latency) {
            put(&within_name(time), pass_within(&whole, time));
        }
        put(MEDIAN_LATENCY.name, median(&latencies));
        put(LATENCY_P90.name, quantile(&latencies, 0.9));
        put(FIRST_TEXT_MEDIAN.name, median(&first_texts));
        put(FIRST_TEXT_P90.name, quantile(&first_texts, 0.9));
        let usages = self.attempts.iter().filter_map(|attempt| {
            let file = self.files.get(&attempt.hole)?.clone();
            Some((file, usage(attempt)?))
        });
        for (metric, estimate) in usage_figures(&usages.collect::<Vec<_>>()) {
            put(metric.name, estimate);
        }
        metrics
    }

    /// Passes within a time; empty without latencies.
    fn curve(&self) -> Vec<WaitingPoint> {
        let (whole, first_text) = (values(&self.whole), values(&self.first_text));
        // A model that does not stream has no time of its first text.
        let streams = self.answered().any(|one| first_text_ms(one).is_some());
        let times = WAITING_TIMES.iter().filter(|_| self.has_latency);
        let curve = times.map(|time| WaitingPoint {
            within_ms: *time,
            whole: pass_within(&whole, *time),
            first_text: streams.then(|| pass_within(&first_text, *time)).flatten(),
        });
        curve.collect()
    }

    /// All that the comparison shows of the model.
    fn compared(&self, run: &ReplayedRun, within_ms: Option<f64>) -> ComparedModel {
        let name = self.attempts.first().map(|attempt| attempt.model.clone());
        let holes = self.attempts.iter().map(|attempt| attempt.hole.as_str());
        ComparedModel {
            model: self.title.clone(),
            name: name.unwrap_or_default(),
            run: run.run.folder().display().to_string(),
            holes: holes.collect::<BTreeSet<&str>>().len(),
            curve: self.curve(),
            metrics: self.metrics(within_ms),
        }
    }
}

/// The file and the pass of each hole.
fn values(passes: &BTreeMap<String, (String, TimedPass)>) -> Vec<(String, TimedPass)> {
    passes.values().cloned().collect()
}

/// Milliseconds from the request to the model's first text; `None` if the model does not stream.
fn first_text_ms(attempt: &Attempt) -> Option<f64> {
    let trace = attempt.trace.as_ref()?;
    let first = trace.first_text_ms?;
    // The first text is timed from the start of the model's request, the latency from the editor's.
    // Clean-up follows the model's answer.
    let before = attempt.latency_ms - trace.model_ms - trace.cleanup_ms;
    Some((before + first).clamp(0.0, attempt.latency_ms))
}

#[cfg(test)]
mod tests {
    use fillrate_engine::store::Run;
    use fillrate_language::task::{Hole, HoleKind};
    use fillrate_server::completion::Trace;
    use fillrate_verdict::Outcome;
    use serde_json::json;

    use super::*;
    use crate::tests::{FILE, attempt};

    // By hand: of 100 ms, 15 pass before the model is asked, 60 in the model, 25 in the clean-up.
    // The first text comes 10 ms after the model is asked.
    #[test]
    fn first_text_does_not_wait_for_clean_up() {
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let attempt = Attempt {
            latency_ms: 100.0,
            trace: Some(Trace {
                first_text_ms: Some(10.0),
                model_ms: 60.0,
                cleanup_ms: 25.0,
                ..Trace::default()
            }),
            ..attempt(&hole, 0, &["x"], Outcome::Passed)
        };
        assert_eq!(first_text_ms(&attempt), Some(25.0));
    }

    /// A run of a model at the first holes, of which it passes some.
    fn run(title: &str, holes: &[Hole], passed: &[bool]) -> (tempfile::TempDir, ReplayedRun) {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("the folder is empty");
        run.add_holes(holes.iter().map(|hole| (hole, FILE)))
            .expect("there is room");
        for (hole, passed) in holes.iter().zip(passed) {
            let outcome = match passed {
                true => Outcome::Passed,
                false => Outcome::Failed,
            };
            let attempt = Attempt {
                latency_ms: if *passed { 100.0 } else { 900.0 },
                ..attempt(hole, 0, &["x"], outcome)
            };
            run.add_attempt(&attempt).expect("there is room");
        }
        let run = ReplayedRun {
            title: title.to_owned(),
            run,
            is_complete: true,
        };
        (folder, run)
    }

    // `a` was decided after two holes. There `b` passes as many, and of all four it passes fewer.
    #[test]
    fn rules_of_two_models_compare_the_holes_that_both_have() {
        let files = ["a.py", "b.py", "c.py", "d.py"];
        let hole = |path| Hole::new("demo", "python", path, HoleKind::Line, 14..27, FILE);
        let holes = files.map(hole);
        let (_a, a) = run("a", &holes, &[true, false]);
        let (_b, b) = run("b", &holes, &[false, true, false, false]);
        let (_d, d) = run("d", &holes, &[false, true, true, true]);
        let order = |first, second, is_early| ModelOrder {
            first,
            second,
            within_ms: None,
            difference: None,
            is_early,
        };
        let outcome = ComparisonOutcome {
            runs: vec![a, b, d],
            absent: Vec::new(),
            orders: vec![order(0, 1, true), order(0, 2, true), order(1, 2, false)],
            ending: ComparisonEnding::AllHoles,
            holes: 4,
        };
        let comparison = ModelComparison::load(&outcome, None).expect("the runs can be read");
        let failure = |rule: &str| {
            let rule: FailureRule = rule.parse().expect("it is a rule");
            rule.failure(&comparison).map_err(|error| error.to_string())
        };
        for rule in [
            "pass@1 of b < a - 2",
            "latency_ms/median of b > a + 2",
            "latency_ms/median of a < b - 2",
        ] {
            assert_eq!(failure(rule), Ok(None), "{rule}");
        }
        assert_eq!(
            failure("pass@1 of b < a + 2"),
            Ok(Some(
                "`pass@1 of b < a + 2` holds: 50.0 < 52.0 on the 2 holes that both have".to_owned()
            ))
        );
        // Models that have the same holes are compared on all.
        assert_eq!(
            failure("pass@1 of b < d"),
            Ok(Some("`pass@1 of b < d` holds: 25.0 < 75.0".to_owned()))
        );
        let basis = comparison.basis();
        let ending = "All 4 holes were played. A model whose orders are decided is not asked any \
                      more: a has 2.";
        assert!(basis.ends_with(ending), "{basis}");
    }
}
