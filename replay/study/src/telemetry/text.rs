//! Telemetry statistics as text: tables, and a sentence on each difference.

use comfy_table::Cell;
use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_PAIRS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, COMPLETED_CODE,
    MEDIAN_LATENCY,
};
use fillrate_metrics::{NumberFormat, POWER, Unit};
use fillrate_report::table::{TextTable, TextWidth, figure, right};

use super::impression::FEW;
use super::statistics::{StatisticsRow, TelemetryStatistics, VariantEstimates};
use super::trial::{ArmDifference, TrialStatistics};

impl TelemetryStatistics {
    /// The tables with their explanations.
    pub fn table(&self, width: TextWidth) -> String {
        let mut text = String::new();
        let mut rows = self.rows.as_slice();
        // Rows of one grouping follow each other and have the same keys.
        while let Some(first) = rows.first() {
            let same_grouping = |row: &&StatisticsRow| row.by.keys().eq(first.by.keys());
            let count = rows.iter().take_while(same_grouping).count();
            let (grouping, rest) = rows.split_at(count);
            text.push_str(&grouping_table(grouping, width));
            rows = rest;
        }
        if self.rows.is_empty() && self.trial.is_some() {
            text.push_str(&width.paragraph("Nothing was offered by one model alone."));
        } else if self.rows.is_empty() {
            text.push_str(
                &width.paragraph("Nothing was offered in this time, so there are no statistics."),
            );
        } else {
            text.push_str(&width.paragraph(
                "Rates in %, each with its 95 % interval (clustered by session and file) and its \
                 n; times in ms. \"?\": the data support no bound, for example if all samples are \
                 of one file in one session. Shown: confirmed by the editor + estimated by it. A \
                 partial accept counts only in completed-code.",
            ));
            let few: Vec<String> = self
                .rows
                .iter()
                .filter(|row| row.shown.values().sum::<usize>() < FEW)
                .map(|row| row.by.values().cloned().collect::<Vec<_>>().join(", "))
                .collect();
            let unreported: usize = self.rows.iter().map(|row| row.accepted_unreported).sum();
            if unreported > 0 {
                text.push_str(&width.paragraph(&format!(
                    "{unreported} more were accepted in editors that do not report what they \
                     show: no acceptance rate counts them."
                )));
            }
            if !few.is_empty() {
                text.push_str(&width.paragraph(&format!(
                    "Too few samples (fewer than {FEW} shown): {}.",
                    few.join("; ")
                )));
            }
        }
        if let Some(trial) = &self.trial {
            text.push_str(&trial.table(width));
        }
        text
    }
}

/// The columns that any of these figures has, in the order of the table.
fn columns<'a>(figures: impl Iterator<Item = &'a VariantEstimates>, first: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
    let mut kept: Vec<(&str, u64, String)> = Vec::new();
    for name in figures.flat_map(|figures| figures.keys()) {
        if let Some((kind, horizon)) = name.split_once('@') {
            // As a number, so that 30 seconds come before 120.
            let horizon = horizon.parse().unwrap_or(u64::MAX);
            kept.push((kind, horizon, name.clone()));
        }
    }
    kept.sort();
    kept.dedup();
    names.extend(kept.into_iter().map(|(_, _, name)| name));
    names.push(MEDIAN_LATENCY.name.to_owned());
    names
}

fn grouping_table(rows: &[StatisticsRow], width: TextWidth) -> String {
    let shares = [
        ACCEPTANCE_SHOWN,
        ACCEPTANCE_READ,
        ACCEPTANCE_CHARACTERS,
        COMPLETED_CODE,
    ];
    let columns = columns(
        rows.iter().map(|row| &row.figures),
        &shares.map(|metric| metric.name),
    );
    let by = rows
        .iter()
        .flat_map(|row| row.by.keys().copied())
        .take(rows.first().map_or(0, |row| row.by.len()));
    let mut header: Vec<String> = by.map(str::to_owned).collect();
    header.extend(["offered", "shown", "accepted"].map(str::to_owned));
    header.extend(columns.iter().cloned());
    let mut table = TextTable::new(header);
    for row in rows {
        let mut cells: Vec<Cell> = row.by.values().map(Cell::new).collect();
        cells.push(right(row.offered));
        let shown = |certainty: &str| row.shown.get(certainty).copied().unwrap_or(0);
        cells.push(right(format!(
            "{} + {}",
            shown("confirmed"),
            shown("estimated")
        )));
        cells.push(right(row.accepted));
        cells.extend(
            columns
                .iter()
                .map(|name| figure(name, row.figures.get(name))),
        );
        table.add_row(cells);
    }
    table.render(width) + "\n"
}

impl TrialStatistics {
    /// The trial's table, and a sentence on each difference.
    fn table(&self, width: TextWidth) -> String {
        let pairs = self.strengths.is_some()
            || self
                .arms
                .iter()
                .any(|arm| arm.figures.contains_key(ACCEPTANCE_PAIRS.name));
        let first: &[&str] = if pairs {
            &[ACCEPTANCE_PAIRS.name]
        } else {
            &[
                ACCEPTANCE_SHOWN.name,
                ACCEPTANCE_READ.name,
                ACCEPTANCE_CHARACTERS.name,
            ]
        };
        let columns = columns(self.arms.iter().map(|arm| &arm.figures), first);
        let mut header = vec!["trial", "shown", "accepted"];
        header.extend(columns.iter().map(String::as_str));
        let mut table = TextTable::new(header);
        for arm in &self.arms {
            let mut cells = vec![Cell::new(&arm.model), right(arm.shown), right(arm.accepted)];
            cells.extend(
                columns
                    .iter()
                    .map(|name| figure(name, arm.figures.get(name))),
            );
            table.add_row(cells);
        }
        let mut text = format!("\n{}\n", table.render(width));
        text.push_str(&width.paragraph(&format!(
            "Trial by {}, seed {}; intervals clustered by {}.",
            self.unit, self.seed, self.clusters
        )));
        if self.hidden {
            text.push_str(&width.paragraph(
                "It is blind and still running, so letters replace its models' names; `--unblind` \
                 names them.",
            ));
        }
        for difference in &self.differences {
            text.push_str(&width.paragraph(&difference.sentence(self.clusters)));
        }
        if let Some(strengths) = &self.strengths {
            let strengths: Vec<String> = strengths
                .iter()
                .map(|(model, strength)| {
                    let bound = |value: Option<f64>| {
                        value.map_or_else(|| "?".to_owned(), |value| format!("{value:+.2}"))
                    };
                    format!(
                        "{model} {:+.2} [{}, {}], n {}",
                        strength.value,
                        bound(strength.low),
                        bound(strength.high),
                        strength.n
                    )
                })
                .collect();
            text.push_str(&width.paragraph(&format!(
                "Strengths by choices (Bradley–Terry, natural logarithms, mean 0): {}.",
                strengths.join("; ")
            )));
        } else if pairs {
            text.push_str(&width.paragraph(
                "Strengths need each model, and each group of models, to be chosen over the others \
                 at least once, and the others over it.",
            ));
        }
        text
    }
}

impl ArmDifference {
    /// The result in one sentence; `clusters` is what the interval is clustered by.
    fn sentence(&self, clusters: &str) -> String {
        let Self { first, second, .. } = self;
        let points = NumberFormat {
            symbol: "points",
            ..Unit::Fraction.format().with_sign()
        };
        let interval = points.render(&self.difference).sentence();
        if self.clear {
            let (more, less) = if self.difference.value > 0.0 {
                (first, second)
            } else {
                (second, first)
            };
            return format!(
                "{more} is accepted more often than {less}: {first} − {second} is {interval}. That \
                 holds for one look: who looks again and again finds a difference between equals."
            );
        }
        match self.shown_needed {
            Some(more) => format!(
                "{first} or {second}: can't tell yet. {first} − {second} is {interval}; a true \
                 difference of that size takes about {more} more shown completions ({:.0} % power at the \
                 5 % level).",
                100.0 * POWER
            ),
            None if self.difference.value == 0.0 => {
                format!("{first} or {second}: can't tell; they do not differ so far: {interval}.")
            }
            // The number needed takes the clusters' variance for known, which few do not show.
            None => format!(
                "{first} or {second}: can't tell yet. {first} − {second} is {interval}; for a true \
                 difference of that size there are enough shown completions, but too few clusters \
                 (by {clusters})."
            ),
        }
    }
}
