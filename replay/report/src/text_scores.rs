//! Summarises text scores: each metric with its interval, and the comparison of two prediction
//! files.

use comfy_table::Cell;
use fillrate_engine::play::score::ExampleScores;
use fillrate_metrics::{CONFIDENCE, Estimate, TextMetric, Unit, mcnemar_exact, paired_difference};
use serde::Serialize;

use super::table::{TextTable, TextWidth, right};

/// The figures of one prediction file or two.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreSummary {
    /// The number of clusters behind the intervals.
    pub clusters: usize,
    /// The nominal coverage of the intervals.
    pub confidence: f64,
    /// Of each prediction file.
    pub predictions: Vec<PredictionScores>,
    /// Of two prediction files, metric by metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Vec<MetricComparison>>,
}

/// The figures of one prediction file.
#[derive(Clone, Debug, Serialize)]
pub struct PredictionScores {
    /// The file.
    pub file: String,
    /// One for each metric.
    pub metrics: Vec<MetricScore>,
}

/// One metric's mean.
#[derive(Clone, Debug, Serialize)]
pub struct MetricScore {
    /// The metric's name with its variant.
    pub variant: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The mean over all examples.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// One metric of two prediction files for the same examples.
#[derive(Clone, Debug, Serialize)]
pub struct MetricComparison {
    /// The metric's name with its variant.
    pub variant: &'static str,
    /// The unit of the difference.
    pub unit: Unit,
    /// The mean of the second file's value minus the first's.
    pub second_minus_first: Estimate,
    /// For metrics that are 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flips: Option<ExampleFlips>,
}

/// The examples that one of two prediction files has right and the other wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExampleFlips {
    /// Right in the first file alone.
    pub only_first: Vec<String>,
    /// Right in the second file alone.
    pub only_second: Vec<String>,
    /// McNemar's exact p, two-sided.
    pub mcnemar_p: f64,
}

impl ScoreSummary {
    /// Summarises examples scored with these metrics for these prediction files, and compares two
    /// files. Figures of no examples are absent.
    pub fn new(
        metrics: &[&'static TextMetric],
        files: &[String],
        scored: &[ExampleScores],
    ) -> Self {
        let clusters: std::collections::BTreeSet<&str> =
            scored.iter().map(|one| one.cluster.as_str()).collect();
        let predictions = files
            .iter()
            .enumerate()
            .map(|(file, name)| PredictionScores {
                file: name.clone(),
                metrics: metrics
                    .iter()
                    .enumerate()
                    .filter_map(|(at, metric)| figure(metric, |one| one.values[file][at], scored))
                    .collect(),
            })
            .collect();
        // More than two files have no single pair to compare.
        let comparison = (files.len() == 2).then(|| {
            metrics
                .iter()
                .enumerate()
                .filter_map(|(at, metric)| compared(metric, at, scored))
                .collect()
        });
        Self {
            clusters: clusters.len(),
            confidence: CONFIDENCE,
            predictions,
            comparison,
        }
    }

    /// The tables: each file's figures, the comparison and the flips. `cluster` names what the
    /// examples are clustered by.
    pub fn table(&self, cluster: &str, width: TextWidth) -> String {
        let mut text = String::new();
        let mut header = vec!["predictions", "variant", "n", "value", "95 % interval"];
        if self.predictions.len() == 1 {
            header.remove(0);
        }
        let mut table = TextTable::new(header);
        for predictions in &self.predictions {
            for figure in &predictions.metrics {
                let text = figure
                    .unit
                    .format()
                    .with_decimals(2)
                    .render(&figure.estimate);
                let mut cells = vec![
                    Cell::new(&predictions.file),
                    Cell::new(figure.variant),
                    right(text.n),
                    right(text.value),
                    right(text.interval),
                ];
                if self.predictions.len() == 1 {
                    cells.remove(0);
                }
                table.add_row(cells);
            }
        }
        text.push_str(&(table.render(width) + "\n"));
        if let Some(comparison) = &self.comparison {
            text.push_str(&comparison_table(comparison, width));
        }
        let intervals = match self.clusters {
            1 => format!("All examples are of one {cluster}, so there are no intervals."),
            count => format!("Intervals clustered by {cluster} ({count} clusters)."),
        };
        text.push_str(&format!(
            "All values in %, means over examples. {intervals}\n"
        ));
        if let (Some(comparison), [first, second]) = (&self.comparison, &self.predictions[..]) {
            for compared in comparison {
                if let Some(flips) = &compared.flips {
                    for (file, ids) in [(first, &flips.only_first), (second, &flips.only_second)] {
                        text.push_str(&format!(
                            "{}: right only in {} ({}){}{}\n",
                            compared.variant,
                            file.file,
                            ids.len(),
                            if ids.is_empty() { "" } else { ": " },
                            ids.join(", ")
                        ));
                    }
                }
            }
        }
        text
    }
}

fn figure(
    metric: &'static TextMetric,
    value: impl Fn(&ExampleScores) -> f64,
    scored: &[ExampleScores],
) -> Option<MetricScore> {
    let samples: Vec<(&str, f64, f64)> = scored
        .iter()
        .map(|one| (one.cluster.as_str(), 1.0, value(one)))
        .collect();
    Some(MetricScore {
        variant: metric.metric.name,
        unit: metric.metric.unit,
        estimate: metric.metric.unit.mean(&samples)?,
    })
}

fn compared(
    metric: &'static TextMetric,
    at: usize,
    scored: &[ExampleScores],
) -> Option<MetricComparison> {
    let pairs: Vec<(&str, f64, f64)> = scored
        .iter()
        .map(|one| (one.cluster.as_str(), one.values[1][at], one.values[0][at]))
        .collect();
    let flips = (metric.metric.unit == Unit::ZeroOrOne).then(|| {
        let only = |right: usize, wrong: usize| -> Vec<String> {
            scored
                .iter()
                .filter(|one| one.values[right][at] > one.values[wrong][at])
                .map(|one| one.task_id.clone())
                .collect()
        };
        let (only_first, only_second) = (only(0, 1), only(1, 0));
        let mcnemar_p = mcnemar_exact(only_first.len() as u64, only_second.len() as u64);
        ExampleFlips {
            only_first,
            only_second,
            mcnemar_p,
        }
    });
    Some(MetricComparison {
        variant: metric.metric.name,
        unit: metric.metric.unit,
        second_minus_first: paired_difference(&pairs, metric.metric.unit.span())?,
        flips,
    })
}

fn comparison_table(comparison: &[MetricComparison], width: TextWidth) -> String {
    let mut table = TextTable::new([
        "variant",
        "n",
        "second − first",
        "95 % interval",
        "flips",
        "McNemar's exact p",
    ]);
    for compared in comparison {
        let format = compared.unit.format().with_decimals(2);
        let difference = format.render(&compared.second_minus_first);
        let (flips, p) = compared.flips.as_ref().map_or_else(
            || ("–".to_owned(), "–".to_owned()),
            |flips| {
                (
                    format!("−{} +{}", flips.only_first.len(), flips.only_second.len()),
                    format!("{:.6}", flips.mcnemar_p),
                )
            },
        );
        table.add_row(vec![
            Cell::new(compared.variant),
            right(difference.n),
            right(difference.value),
            right(difference.interval),
            right(flips),
            right(p),
        ]);
    }
    table.render(width) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Vec<&'static TextMetric> {
        ["em/cceval", "es/repocoder"]
            .map(|name| TextMetric::named(name).unwrap())
            .to_vec()
    }

    fn scored(task: usize, cluster: &str, values: &[[f64; 2]]) -> ExampleScores {
        ExampleScores {
            task_id: format!("t/{task}"),
            cluster: cluster.to_owned(),
            values: values.iter().map(|values| values.to_vec()).collect(),
        }
    }

    #[test]
    fn one_file_prints_a_table_of_means() {
        let rows = [
            scored(1, "a", &[[1.0, 1.0]]),
            scored(2, "a", &[[0.0, 0.25]]),
            scored(3, "b", &[[0.0, 0.5]]),
            scored(4, "c", &[[0.0, 0.125]]),
        ];
        let scores = ScoreSummary::new(&metrics(), &["p.jsonl".to_owned()], &rows);
        assert!(scores.comparison.is_none());
        insta::assert_snapshot!(scores.table("repository", TextWidth::UNLIMITED), @"
        ──────────────────────────────────────────
         variant        n   value   95 % interval 
        ══════════════════════════════════════════
         em/cceval      4   25.00   [1.24, 89.88] 
        ──────────────────────────────────────────
         es/repocoder   4   46.88   [7.90, 90.07] 
        ──────────────────────────────────────────
        All values in %, means over examples. Intervals clustered by repository (3 clusters).
        ");
    }

    #[test]
    fn two_files_are_compared_example_by_example() {
        let rows = [
            scored(1, "a", &[[1.0, 1.0], [0.0, 0.75]]),
            scored(2, "a", &[[0.0, 0.25], [1.0, 1.0]]),
            scored(3, "b", &[[0.0, 0.5], [1.0, 1.0]]),
            scored(4, "c", &[[1.0, 1.0], [1.0, 1.0]]),
        ];
        let files = ["p.jsonl".to_owned(), "q.jsonl".to_owned()];
        let scores = ScoreSummary::new(&metrics(), &files, &rows);
        insta::assert_snapshot!(scores.table("repository", TextWidth::UNLIMITED), @"
        ─────────────────────────────────────────────────────────
         predictions   variant        n   value   95 % interval  
        ═════════════════════════════════════════════════════════
         p.jsonl       em/cceval      4   50.00    [4.66, 95.34] 
        ─────────────────────────────────────────────────────────
         p.jsonl       es/repocoder   4   68.75   [14.97, 96.49] 
        ─────────────────────────────────────────────────────────
         q.jsonl       em/cceval      4   75.00   [10.12, 98.76] 
        ─────────────────────────────────────────────────────────
         q.jsonl       es/repocoder   4   93.75   [45.81, 99.63] 
        ─────────────────────────────────────────────────────────
        ─────────────────────────────────────────────────────────────────────────────────
         variant        n   second − first   95 % interval     flips   McNemar's exact p 
        ═════════════════════════════════════════════════════════════════════════════════
         em/cceval      4            25.00   [−83.20, 93.05]   −1 +2            1.000000 
        ─────────────────────────────────────────────────────────────────────────────────
         es/repocoder   4            25.00   [−64.68, 83.93]       –                   – 
        ─────────────────────────────────────────────────────────────────────────────────
        All values in %, means over examples. Intervals clustered by repository (3 clusters).
        em/cceval: right only in p.jsonl (1): t/1
        em/cceval: right only in q.jsonl (2): t/2, t/3
        ");
        let comparison = scores.comparison.unwrap();
        assert_eq!(
            comparison[0].flips,
            Some(ExampleFlips {
                only_first: vec!["t/1".to_owned()],
                only_second: vec!["t/2".to_owned(), "t/3".to_owned()],
                mcnemar_p: 1.0,
            })
        );
        assert_eq!(comparison[0].second_minus_first.value, 0.25);
        assert_eq!(comparison[1].flips, None);
    }

    #[test]
    fn one_cluster_has_no_interval() {
        let rows = [scored(1, "a", &[[1.0, 1.0]]), scored(2, "a", &[[0.0, 0.0]])];
        let scores = ScoreSummary::new(&metrics(), &["p.jsonl".to_owned()], &rows);
        let table = scores.table("repository", TextWidth::UNLIMITED);
        assert!(table.contains("[?, ?]"), "{table}");
        assert!(
            table.contains("All examples are of one repository, so there are no intervals."),
            "{table}"
        );
    }
}
