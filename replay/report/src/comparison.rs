//! Comparison of runs on the same holes: the effect of another context, model or set of tests.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::Cell;
use fillrate_engine::store::{Run, StoreError};
use fillrate_metrics::metric::{
    ACCEPTANCE_SHOWN, KEYSTROKES_SAVED, MEDIAN_LATENCY, ORACLE_ACCEPTANCE, PASS_AT_1,
};
use fillrate_metrics::{
    Estimate, Metric, Unit, hole_metrics, mcnemar_exact, paired_difference, reported_text_metrics,
};
use serde::Serialize;

use super::developers::DeveloperFigures;
use super::figures::{ReportRow, left_out_line, passes, report_row, unproven_line};
use super::policies::{self, PolicyFigures};
use super::rounds::{RepairRound, rounds, rounds_table};
use super::scored::{ScoredAttempt, load_scored, without_repairs};
use super::sensitivity::{HoleValues, Sensitivity, Standing};
use super::table::{TextTable, TextWidth, figure_text, right};

/// Runs on the same holes, each compared with the first.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// In the order in which they were named.
    pub contexts: Vec<ComparedRun>,
    /// Ranks under every policy, by each metric that ranks runs; empty if simulated developers of
    /// fewer than two policies met all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Sensitivity>,
}

/// One of the runs.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedRun {
    /// The context's name.
    pub context: String,
    /// The run's folder.
    pub run: String,
    /// Its figures over all projects.
    pub row: ReportRow,
    /// By variant, how it differs from the first on the holes that both have; empty for the first
    /// itself.
    pub against_first: BTreeMap<String, RunDifference>,
    /// Reason for which pass@1 has no difference from the first; `None` if it has one, or for the
    /// first itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_difference: Option<String>,
    /// The holes that only one of this run and the first solves; `None` for the first itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flips: Option<HoleFlips>,
    /// Its figures by repair round; empty without repair rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RepairRound>,
}

/// Difference of a figure from the first run's.
#[derive(Clone, Debug, Serialize)]
pub struct RunDifference {
    /// The mean over holes of this run's value minus the first's, with an interval clustered by
    /// file; a hole's value is the mean over its samples.
    pub difference: Estimate,
    /// McNemar's test, if each hole is a yes or a no in both.
    pub mcnemar: Option<McNemar>,
}

/// The holes whose pass rate differs between a run and the first, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HoleFlips {
    /// Holes that this run passes more often.
    pub only_this: Vec<String>,
    /// Holes that the first run passes more often.
    pub only_first: Vec<String>,
}

impl HoleFlips {
    fn new(these: &ByHole<'_>, first: &ByHole<'_>) -> Self {
        let mut flips = Self::default();
        for (hole, (_, this)) in these {
            match first.get(hole) {
                Some((_, first)) if this > first => flips.only_this.push((*hole).to_owned()),
                Some((_, first)) if this < first => flips.only_first.push((*hole).to_owned()),
                _ => {}
            }
        }
        flips
    }
}

/// McNemar's exact test on holes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct McNemar {
    /// Holes that this run alone has right.
    pub only_this: u64,
    /// Holes that the first run alone has right.
    pub only_first: u64,
    /// Two-sided.
    pub p: f64,
}

impl McNemar {
    /// `0.031` after `equals`, or `< 0.001`, as no p is 0.
    pub(super) fn p_text(&self, equals: &str) -> String {
        if self.p < 0.001 {
            return "< 0.001".to_owned();
        }
        format!("{equals}{:.3}", self.p)
    }
}

/// The level at which a difference is called one.
const LEVEL: f64 = 0.05;

/// Conclusion on which of two runs passes more often, if the figures show one.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PassConclusion {
    /// A clause.
    pub conclusion: String,
    /// Grounds of the conclusion, a clause.
    pub grounds: String,
}

impl PassConclusion {
    /// Concludes from how the second run's pass@1 differs from the first's.
    pub(super) fn new(against: Option<&RunDifference>, first: &str, second: &str) -> Self {
        let Some(against) = against else {
            return Self {
                conclusion: "Can't tell".to_owned(),
                grounds: "the runs have no judged hole in common".to_owned(),
            };
        };
        let test = against.mcnemar.map_or_else(String::new, |test| {
            format!(", McNemar's exact p {}", test.p_text("= "))
        });
        let size = match against.difference.clusters {
            Some(clusters) => format!("n {} in {clusters} files", against.difference.n),
            None => format!("n {}", against.difference.n),
        };
        let unit = PASS_AT_1.unit.format();
        let figure = unit.with_sign().render(&against.difference);
        let differs = format!(
            "pass@1 of {second} minus that of {first} is {} points {}, {size}{test}",
            figure.value, figure.interval,
        );
        let Some((low, high)) = against.difference.low.zip(against.difference.high) else {
            return Self {
                conclusion: "Can't tell".to_owned(),
                grounds: format!(
                    "all holes are in one file, so the difference has no interval; {differs}"
                ),
            };
        };
        // Both tests must agree: McNemar's ignores that holes of one file are alike.
        let excludes_0 = low > 0.0 || high < 0.0;
        let is_significant = excludes_0 && against.mcnemar.is_none_or(|test| test.p <= LEVEL);
        if !is_significant {
            return Self {
                conclusion: "No difference shown".to_owned(),
                grounds: differs,
            };
        }
        // The difference is that of the better run, so that no sign contradicts the conclusion.
        let (better, worse, advantage) = match against.difference.value > 0.0 {
            true => (second, first, against.difference),
            false => (first, second, against.difference.negated()),
        };
        let figure = unit.render(&advantage);
        Self {
            conclusion: format!("{better} passes more often than {worse}"),
            grounds: format!(
                "by {} points of pass@1 {}, {size}{test}",
                figure.value, figure.interval,
            ),
        }
    }
}

/// A hole's cluster and value.
pub(super) type ByHole<'a> = BTreeMap<&'a str, (&'a str, f64)>;

/// A run and its name in a comparison.
#[derive(Clone, Copy)]
pub struct NamedRun<'a> {
    /// The name of its context, model or folder.
    pub name: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// A run with its context's name and all that its figures are calculated from.
pub(super) struct LoadedRun<'a> {
    context: &'a str,
    run: &'a Run,
    attempts: Vec<ScoredAttempt>,
    developers: DeveloperFigures,
    rounds: Vec<RepairRound>,
}

impl<'a> LoadedRun<'a> {
    pub(super) fn load(named: &NamedRun<'a>) -> Result<Self, StoreError> {
        let NamedRun { name, run } = *named;
        let scored = load_scored(run)?;
        Ok(Self {
            context: name,
            run,
            developers: DeveloperFigures::load(run)?,
            rounds: rounds(&scored),
            attempts: without_repairs(scored),
        })
    }

    /// Calculates the run's figures and, unless it is the first itself, how it differs from the
    /// first.
    pub(super) fn compare(&self, first: Option<&Self>) -> ComparedRun {
        let mut against_first = BTreeMap::new();
        let flips = first.map(|first| {
            HoleFlips::new(
                &by_hole(PASS_AT_1, &self.attempts),
                &by_hole(PASS_AT_1, &first.attempts),
            )
        });
        if let Some(first) = first {
            let texts = reported_text_metrics().map(|text| text.metric);
            for metric in std::iter::once(PASS_AT_1).chain(texts) {
                let these = by_hole(metric, &self.attempts);
                let first = by_hole(metric, &first.attempts);
                if let Some(against) = against(metric, &these, &first) {
                    against_first.insert(metric.name.to_owned(), against);
                }
            }
        }
        let no_difference = first
            .filter(|_| !against_first.contains_key(PASS_AT_1.name))
            .map(|first| no_difference(&self.attempts, &first.attempts, first.context));
        let all: Vec<&ScoredAttempt> = self.attempts.iter().collect();
        let mut row = report_row("*", "*", &all);
        row.policies = self.developers.figures(None, &all);
        ComparedRun {
            context: self.context.to_owned(),
            run: self.run.folder().display().to_string(),
            row,
            against_first,
            no_difference,
            flips,
            rounds: self.rounds.clone(),
        }
    }
}

impl Comparison {
    /// Reads runs and calculates their figures.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn load(runs: &[NamedRun<'_>]) -> Result<Self, StoreError> {
        let loaded: Result<Vec<LoadedRun<'_>>, StoreError> =
            runs.iter().map(LoadedRun::load).collect();
        let loaded = loaded?;
        let contexts = loaded.iter().enumerate();
        // The first run has nothing to be compared with.
        let contexts = contexts.map(|(index, run)| run.compare((index > 0).then(|| &loaded[0])));
        let contexts: Vec<ComparedRun> = contexts.collect();
        let sensitivity = [ACCEPTANCE_SHOWN, KEYSTROKES_SAVED]
            .into_iter()
            .filter_map(|metric| {
                let runs = contexts.iter().zip(&loaded);
                let standings = runs.flat_map(|(run, loaded)| {
                    standings(metric, &run.context, &run.row.policies, &loaded.developers)
                });
                Sensitivity::rank(metric, &standings.collect::<Vec<_>>())
            });
        Ok(Self {
            sensitivity: sensitivity.collect(),
            contexts,
        })
    }

    /// The table for people; `what` its first column names.
    pub fn table(&self, what: &str, width: TextWidth) -> String {
        let mut header = vec![what, "holes", "completions"];
        let columns: Vec<Metric> = hole_metrics()
            .chain([ORACLE_ACCEPTANCE, MEDIAN_LATENCY])
            .collect();
        header.extend(columns.iter().map(|metric| metric.name));
        let mut table = TextTable::new(header);
        for compared in &self.contexts {
            let mut cells = vec![
                Cell::new(&compared.context),
                right(compared.row.holes),
                right(compared.row.completions),
            ];
            for metric in &columns {
                let mut text = figure_text(metric.name, compared.row.metrics.get(metric.name));
                if let Some(against) = compared.against_first.get(metric.name) {
                    text.push_str(&format!("\n{}", against.text(*metric)));
                }
                cells.push(right(text));
            }
            table.add_row(cells);
        }
        let first = self.contexts.first();
        let (first, model) = first.map_or(("", ""), |first| (&first.context, &first.row.model));
        let left_out = self.contexts.iter().map(|run| {
            let lines = [unproven_line(&run.row), left_out_line(&run.row)];
            let lines = lines.into_iter().filter(|line| !line.is_empty());
            lines
                .map(|line| width.lines(&format!("{}: {line}", run.context)))
                .collect::<String>()
        });
        let left_out: String = left_out.collect();
        let one = self.contexts.iter().all(|run| run.row.model == model);
        let mut models: Vec<&str> = Vec::new();
        for run in &self.contexts {
            // Runs of one model in several contexts name it once.
            if !models.contains(&&*run.row.model) {
                models.push(&run.row.model);
            }
        }
        let models = if one {
            format!("model {model}")
        } else {
            format!("models {}", models.join(", "))
        };
        let notes = width.paragraph(&format!(
            "{models}. Rates in %, each with its 95 % interval and its n in a number of files, \
             the clusters. Δ: the paired difference from {first} on the same holes, with \
             its interval; p: McNemar's exact test, and the holes that this one alone : {first} \
             alone has right. Acceptance is simulated, not a person's. em/cceval, \
             es/cceval-levenshtein and id_f1/cceval compare a completion's first statement alone \
             with the whole reference, so a longer reference is not 100 even against itself.",
        ));
        let mut text = format!("{left_out}{}\n{notes}", table.render(width));
        for compared in &self.contexts {
            if let Some(reason) = &compared.no_difference {
                text.push_str(&width.paragraph(&format!(
                    "No Δ of pass@1 for {}: {reason}.",
                    compared.context
                )));
            }
        }
        for compared in self.contexts.iter().filter(|run| !run.rounds.is_empty()) {
            let rounds = rounds_table(&compared.rounds, width);
            text.push_str(&format!("{}:\n{rounds}", compared.context));
        }
        for compared in self
            .contexts
            .iter()
            .filter(|run| !run.row.policies.is_empty())
        {
            let table = policies::table(&compared.row.policies, width);
            text.push_str(&format!("{}:\n{table}", compared.context));
        }
        for sensitivity in &self.sensitivity {
            text.push_str(&sensitivity.text());
        }
        text
    }
}

/// Reason for which two runs have no difference of pass@1, a clause.
fn no_difference(these: &[ScoredAttempt], first: &[ScoredAttempt], name: &str) -> String {
    let holes = |attempts: &[ScoredAttempt]| -> BTreeSet<String> {
        let holes = attempts.iter().map(|one| one.attempt.hole.clone());
        holes.collect()
    };
    let (these, first) = (holes(these), holes(first));
    match these.intersection(&first).count() {
        0 => format!(
            "none of its {} holes is one of the {} of {name}; replay both with one --tasks file",
            these.len(),
            first.len()
        ),
        common => format!(
            "of the {common} holes that it has in common with {name}, none has a verdict that counts \
             in both"
        ),
    }
}

/// Figures of a run under each of its policies.
pub(super) fn standings(
    metric: Metric,
    name: &str,
    policies: &[PolicyFigures],
    developers: &DeveloperFigures,
) -> Vec<Standing> {
    let typed = developers.typed(None);
    let of_policy = |figures: &PolicyFigures| -> Option<Standing> {
        let of_policy = typed
            .iter()
            .filter(|one| one.typing.policy == figures.policy);
        let holes: HoleValues = of_policy
            .filter_map(|one| {
                let value = if metric == ACCEPTANCE_SHOWN {
                    policies::acceptance(one)?
                } else {
                    policies::keystrokes_saved(one)
                };
                Some((one.typing.hole.clone(), (one.cluster.to_owned(), value)))
            })
            .collect();
        Some(Standing {
            model: name.to_owned(),
            policy: figures.policy.clone(),
            estimate: *figures.figure(metric)?,
            holes,
        })
    };
    policies.iter().filter_map(of_policy).collect()
}

impl RunDifference {
    /// The lines of a table's cell.
    fn text(&self, metric: Metric) -> String {
        let format = metric.unit.format().with_sign();
        let mut text = format!("Δ {}", format.render(&self.difference).lines());
        if let Some(test) = self.mcnemar {
            let (p, this, first) = (test.p_text(""), test.only_this, test.only_first);
            text.push_str(&format!("\np {p} ({this}:{first})"));
        }
        text
    }
}

/// A figure's value at each hole that has one: the mean over its samples.
pub(super) fn by_hole<'a>(
    metric: Metric,
    scored: impl IntoIterator<Item = &'a ScoredAttempt>,
) -> ByHole<'a> {
    let mut of_hole: BTreeMap<&str, Vec<&ScoredAttempt>> = BTreeMap::new();
    for one in scored {
        of_hole.entry(&one.attempt.hole).or_default().push(one);
    }
    let values = of_hole.into_iter().filter_map(|(hole, samples)| {
        let values: Vec<f64> = match metric {
            // A hole's value is the mean of its samples, so that holes weigh the same.
            PASS_AT_1 => passes(&samples)
                .into_iter()
                .map(|passed| f64::from(u8::from(passed)))
                .collect(),
            _ => samples
                .iter()
                .filter_map(|one| one.text.get(metric.name).copied())
                .collect(),
        };
        // All samples of a hole are in one file.
        let cluster = samples[0].cluster.as_str();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (!values.is_empty()).then_some((hole, (cluster, mean)))
    });
    values.collect()
}

/// Differences of one run's values from the first's, on the holes that both have.
pub(super) fn against(
    metric: Metric,
    these: &ByHole<'_>,
    first: &ByHole<'_>,
) -> Option<RunDifference> {
    let pairs: Vec<(&str, f64, f64)> = these
        .iter()
        .filter_map(|(hole, (cluster, this))| Some((*cluster, *this, first.get(hole)?.1)))
        .collect();
    let difference = paired_difference(&pairs, metric.unit.span())?;
    let binary = |value: f64| value == 0.0 || value == 1.0;
    let all =
        // McNemar's test is for pairs of yes and no; a percentage of 0 or 1 looks like one.
        metric.unit != Unit::Percent && pairs.iter().all(|(_, a, b)| binary(*a) && binary(*b));
    let mcnemar = all.then(|| {
        // Discordant pairs alone decide: pairs that are alike say nothing on the difference.
        let only = |right: f64| {
            let differing = pairs.iter().filter(|(_, a, b)| a != b);
            differing.filter(|(_, this, _)| *this == right).count() as u64
        };
        let (only_this, only_first) = (only(1.0), only(0.0));
        McNemar {
            only_this,
            only_first,
            p: mcnemar_exact(only_this, only_first),
        }
    });
    Some(RunDifference {
        difference,
        mcnemar,
    })
}

#[cfg(test)]
mod tests {
    use fillrate_metrics::metric::EM_CCEVAL;

    use super::*;

    fn holes<'a>(values: &[(&'a str, &'a str, f64)]) -> ByHole<'a> {
        let values = values.iter();
        values
            .map(|(hole, file, value)| (*hole, (*file, *value)))
            .collect()
    }

    #[test]
    fn differences_are_of_the_holes_that_both_have() {
        let this = [
            ("a", "f", 1.0),
            ("b", "f", 1.0),
            ("c", "g", 0.0),
            ("d", "g", 1.0),
            ("x", "g", 1.0),
        ];
        let first = [
            ("a", "f", 0.0),
            ("b", "f", 1.0),
            ("c", "g", 1.0),
            ("d", "g", 0.0),
            ("y", "g", 0.0),
        ];
        let found = against(PASS_AT_1, &holes(&this), &holes(&first)).expect("there are pairs");
        assert_eq!((found.difference.value, found.difference.n), (0.25, 4));
        let expected = McNemar {
            only_this: 2,
            only_first: 1,
            p: 1.0,
        };
        assert_eq!(found.mcnemar, Some(expected));
        insta::assert_snapshot!(found.text(PASS_AT_1), @r"
        Δ +25.0
        [−97.7, +99.1]
        n 4 in 2
        p 1.000 (2:1)
        ");
        let small = McNemar {
            p: 2e-4,
            ..expected
        };
        assert_eq!(small.p_text("= "), "< 0.001");
    }

    #[test]
    fn a_value_between_no_and_yes_has_no_mcnemar() {
        let (this, first) = ([("a", "f", 0.5)], [("a", "f", 0.5)]);
        let found = against(PASS_AT_1, &holes(&this), &holes(&first)).expect("there is a pair");
        assert_eq!(found.mcnemar, None);
        assert_eq!(found.text(EM_CCEVAL), "Δ 0.0\n[?, ?]\nn 1 in 1");
        assert!(against(PASS_AT_1, &holes(&this), &holes(&[])).is_none());
    }
}
