//! Telemetry statistics in words: tables, and a sentence on each difference.

use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_PAIRS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, COMPLETED_CODE,
    MEDIAN_LATENCY,
};
use fillrate_metrics::{POWER, Unit};
use fillrate_report::table::{TextTable, TextWidth, figure_text, right};

use super::impression::FEW;
use super::statistics::{Counted, StatisticsRow, TelemetryStatistics, VariantEstimates};
use super::trial::{ArmDifference, TrialStatistics};

/// A table of figures, for a terminal or a page.
pub(super) struct FigureTable {
    /// The columns: those in words come first.
    pub(super) header: Vec<String>,
    /// Number of columns in words.
    pub(super) words: usize,
    /// Cells in the order of the columns.
    pub(super) rows: Vec<Vec<String>>,
}

impl FigureTable {
    fn render(&self, width: TextWidth) -> String {
        let mut table = TextTable::new(&self.header);
        for row in &self.rows {
            let (words, figures) = row.split_at(self.words);
            let words = words.iter().map(Into::into);
            table.add_row(words.chain(figures.iter().map(right)).collect::<Vec<_>>());
        }
        table.render(width) + "\n"
    }
}

impl TelemetryStatistics {
    /// The tables with their explanations.
    pub fn table(&self, width: TextWidth) -> String {
        let tables = self.tables();
        let tables = tables.iter().map(|table| table.render(width));
        let notes = self.notes();
        let notes = notes.iter().map(|note| width.paragraph(note));
        let mut text = String::new();
        if self.counted.simulated {
            text.push_str("Of a simulated developer, not of a person:\n");
        }
        if let Some(sentence) = self.counted.sentence() {
            text.push_str(&width.paragraph(&sentence));
        }
        text.extend(tables.chain(notes));
        if let Some(trial) = &self.trial {
            text.push('\n');
            text.push_str(&trial.table().render(width));
            let sentences = trial.notes().into_iter().chain(trial.sentences());
            for sentence in sentences.chain(trial.strengths_sentence()) {
                text.push_str(&width.paragraph(&sentence));
            }
        }
        text
    }

    /// One table for each grouping.
    pub(super) fn tables(&self) -> Vec<FigureTable> {
        self.groupings().map(grouping_table).collect()
    }

    /// The rows of each grouping, which follow each other and have the same keys.
    fn groupings(&self) -> impl Iterator<Item = &[StatisticsRow]> {
        self.rows
            .chunk_by(|row, next| row.by.keys().eq(next.by.keys()))
    }

    /// Explanations of the tables of groupings.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.rows.is_empty() {
            let nothing = match self.trial {
                Some(_) => "Nothing was offered by one model alone.",
                None => "Nothing was offered in this time, so there are no statistics.",
            };
            return vec![nothing.to_owned()];
        }
        let mut notes = vec![
            "Rates in %, each with its 95 % interval (clustered by session and file) and its n; \
             times in ms. \"?\": the data support no bound, for example if all samples are of one \
             file in one session. Shown: confirmed by the editor + estimated by it. What was \
             accepted in part counts only in the share of completed code (completed-code)."
                .to_owned(),
        ];
        // Each grouping has all completions.
        let rows = self.groupings().next().unwrap_or_default();
        let unreported: usize = rows.iter().map(|row| row.accepted_unreported).sum();
        if unreported > 0 {
            notes.push(format!(
                "{unreported} more were accepted in editors that do not report what they show: no \
                 acceptance rate counts them."
            ));
        }
        let few: Vec<String> = rows
            .iter()
            .filter(|row| row.shown.values().sum::<usize>() < FEW)
            .map(|row| row.by.values().cloned().collect::<Vec<_>>().join(", "))
            .collect();
        if !few.is_empty() {
            notes.push(format!(
                "Too few samples (fewer than {FEW} shown): {}.",
                few.join("; ")
            ));
        }
        notes
    }
}

impl Counted {
    /// Says what is left out of the figures, if anything is.
    pub(super) fn sentence(self) -> Option<String> {
        let days = self.days.map(|days| match days {
            1 => "only completions of the last day count".to_owned(),
            days => format!("only completions of the last {days} days count"),
        });
        let shown = "only what an editor confirms to have displayed counts as shown".to_owned();
        let sentence = [days, self.confirmed.then_some(shown)];
        let sentence: Vec<String> = sentence.into_iter().flatten().collect();
        let sentence = sentence.join(", and ");
        (!sentence.is_empty()).then(|| sentence[..1].to_uppercase() + &sentence[1..] + ".")
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

fn grouping_table(rows: &[StatisticsRow]) -> FigureTable {
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
    let by = rows.first().into_iter().flat_map(|row| row.by.keys());
    let mut header: Vec<String> = by.map(|name| (*name).to_owned()).collect();
    let words = header.len();
    header.extend(["offered", "shown", "accepted"].map(str::to_owned));
    header.extend(columns.iter().cloned());
    let cells = |row: &StatisticsRow| {
        let shown = |certainty: &str| row.shown.get(certainty).copied().unwrap_or(0);
        let mut cells: Vec<String> = row.by.values().cloned().collect();
        cells.push(row.offered.to_string());
        cells.push(format!("{} + {}", shown("confirmed"), shown("estimated")));
        cells.push(row.accepted.to_string());
        cells.extend(figures(&columns, &row.figures));
        cells
    };
    FigureTable {
        header,
        words,
        rows: rows.iter().map(cells).collect(),
    }
}

/// The cells of these columns.
fn figures<'a>(
    columns: &'a [String],
    estimates: &'a VariantEstimates,
) -> impl Iterator<Item = String> + 'a {
    let columns = columns.iter();
    columns.map(|name| figure_text(name, estimates.get(name)))
}

impl TrialStatistics {
    /// True if two models at once were offered.
    pub(super) fn is_of_pairs(&self) -> bool {
        let mut arms = self.arms.iter();
        self.strengths.is_some() || arms.any(|arm| arm.figures.contains_key(ACCEPTANCE_PAIRS.name))
    }

    /// The figures of each model.
    pub(super) fn table(&self) -> FigureTable {
        let first: &[&str] = if self.is_of_pairs() {
            &[ACCEPTANCE_PAIRS.name]
        } else {
            &[
                ACCEPTANCE_SHOWN.name,
                ACCEPTANCE_READ.name,
                ACCEPTANCE_CHARACTERS.name,
            ]
        };
        let columns = columns(self.arms.iter().map(|arm| &arm.figures), first);
        let mut header: Vec<String> = ["trial", "shown", "accepted"].map(str::to_owned).into();
        header.extend(columns.iter().cloned());
        let rows = self.arms.iter().map(|arm| {
            let counts = [arm.shown, arm.accepted].map(|count| count.to_string());
            let mut cells = vec![arm.model.clone()];
            cells.extend(counts);
            cells.extend(figures(&columns, &arm.figures));
            cells
        });
        FigureTable {
            header,
            words: 1,
            rows: rows.collect(),
        }
    }

    /// Says how models were drawn, and whether their names are hidden.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "Trial by {}, seed {}; intervals clustered by {}.",
            self.unit, self.seed, self.clusters
        )];
        if self.hidden {
            notes.push(
                "It is blind and still running, so letters replace its models' names; with \
                 --unblind they are named."
                    .to_owned(),
            );
        }
        notes
    }

    /// A sentence on each difference.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> + '_ {
        let differences = self.differences.iter();
        differences.map(|difference| difference.sentence(self.clusters))
    }

    /// In pairs, the models' strengths, or what they need.
    pub(super) fn strengths_sentence(&self) -> Option<String> {
        let Some(strengths) = &self.strengths else {
            let needs = "Strengths need each model, and each group of models, to be chosen over \
                         the others at least once, and the others over it.";
            return self.is_of_pairs().then(|| needs.to_owned());
        };
        let strengths = strengths.iter().map(|(model, strength)| {
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
        });
        Some(format!(
            "Strengths by choices (Bradley–Terry, natural logarithms, mean 0): {}.",
            strengths.collect::<Vec<_>>().join("; ")
        ))
    }
}

impl ArmDifference {
    /// The result in one sentence; `clusters` is what the interval is clustered by.
    fn sentence(&self, clusters: &str) -> String {
        let Self { first, second, .. } = self;
        let points = Unit::Fraction.format().with_sign_in_points();
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
