//! A study as text.

use std::collections::BTreeSet;

use comfy_table::Cell;
use fillrate_metrics::{Coefficient, MOST_EXACT};
use fillrate_report::table::{TextTable, TextWidth, right};

use super::format::{self, bound, decimals, p_value};
use super::pair::ASSUMPTIONS;
use super::{
    Conclusion, MetricPair, SecondSide, SignCounts, Study, StudyDecision, StudyDesign, TrendColumn,
};

/// The most pairs printed in full; the others have a row in the table of pairs.
const WHOLE: usize = 3;

impl Study {
    /// The study as text for a terminal.
    pub fn text(&self, width: TextWidth) -> String {
        let mut text = String::new();
        let mut line = |words: &str| {
            text.push_str(words);
            text.push('\n');
        };
        if self.second == SecondSide::Simulated {
            line("SIMULATED ACCEPTANCE: of a simulated developer, not of people.\n");
        }
        for words in self.decision_text() {
            line(&words);
        }
        line(&self.headline());
        if !self.warnings.is_empty() {
            line("\nWarnings:");
            for warning in &self.warnings {
                line(&format!("  - {warning}"));
            }
        }
        if !self.left_out.is_empty() {
            line("\nLeft out:");
            for left_out in &self.left_out {
                line(&format!("  - {left_out}"));
            }
        }
        line(&format!(
            "\nDifferences from {}, the baseline:\n{}",
            self.versions.first().map_or("", |it| &it.label),
            self.trend_table(width)
        ));
        line(&self.pairs_table(width));
        line(&format!(
            "Each row: sign agreement over pairs of versions; Pearson's r with an interval that \
             is exact for normal figures, and its permutation p over all orders of {} versions \
             or fewer; p by Holm for all rows; Spearman's and Kendall's coefficient with p; r \
             without measurement error; the conclusion by p Holm.",
            MOST_EXACT
        ));
        // A sentence that applies to several pairs is printed once.
        let mut printed = BTreeSet::new();
        for pair in self.pairs.iter().take(WHOLE) {
            line(&format!("\n{}", self.pair_text(pair, &mut printed)));
        }
        if self.pairs.len() > WHOLE {
            line(&format!(
                "\nstudy.json and the page have the other {} pairs in full.",
                self.pairs.len() - WHOLE
            ));
        }
        // What a person reads first has scrolled away on a terminal.
        if let Some(decision) = &self.decision {
            line(&format!("\n{}", verdict(decision)));
        }
        text
    }

    /// The decision: its badge, its sentence, the next step, and the evidence for it.
    fn decision_text(&self) -> Vec<String> {
        let Some((decision, main)) = self.decision.as_ref().zip(self.pairs.first()) else {
            return Vec::new();
        };
        let mut lines = vec![verdict(decision)];
        let details = decision.details(main, self.second, &self.labels());
        lines.extend(details.into_iter().map(|it| format!("  - {it}")));
        lines.push(String::new());
        lines
    }

    /// The versions' labels.
    pub(super) fn labels(&self) -> Vec<&str> {
        let versions = self.versions.iter();
        versions.map(|version| version.label.as_str()).collect()
    }

    /// The main pair's conclusion.
    pub(super) fn headline(&self) -> String {
        self.pairs.first().map_or_else(
            || "Can't tell: the sides have no metrics to compare.".to_owned(),
            |pair| format!("{}: {}", pair.title(), pair.sentences.join(" ")),
        )
    }

    /// The columns of the pairs printed in full; the page has all.
    fn trend_table(&self, width: TextWidth) -> String {
        let is_printed = |column: &TrendColumn| {
            self.pairs.iter().take(WHOLE).any(|pair| {
                let metric = if column.second {
                    &pair.second
                } else {
                    &pair.offline
                };
                pair.language == column.language && *metric == column.metric
            })
        };
        let columns: Vec<(usize, &TrendColumn)> = self
            .trend
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| is_printed(column))
            .collect();
        let header = columns.iter().map(|(_, column)| {
            let side = if column.second {
                self.second.name()
            } else {
                "offline"
            };
            format!(
                "{}{}\n{side}, {}",
                column
                    .language
                    .as_ref()
                    .map_or_else(String::new, |language| format!("{language}\n")),
                column.metric,
                format::difference_unit(column.unit)
            )
        });
        let mut table = TextTable::new(std::iter::once("version".to_owned()).chain(header));
        for (at, row) in self.trend.rows.iter().enumerate() {
            let cells =
                columns.iter().map(
                    |(column_at, column)| match (at, row.differences[*column_at]) {
                        (0, Some(_)) => "baseline".to_owned(),
                        (_, difference) => format::difference(column.unit, difference),
                    },
                );
            let mut row_cells = vec![Cell::new(&self.versions[row.version].label)];
            row_cells.extend(cells.map(right));
            table.add_row(row_cells);
        }
        table.render(width)
    }

    fn pairs_table(&self, width: TextWidth) -> String {
        let mut table = TextTable::new([
            "offline",
            self.second.name(),
            "n",
            "signs",
            "Pearson r\n[95 %]",
            "p\np Holm",
            "Spearman\np",
            "Kendall\np",
            "corrected r\n[95 %]",
            "conclusion",
        ]);
        for pair in &self.pairs {
            let language = pair
                .language
                .as_ref()
                .map_or_else(String::new, |language| format!("{language}\n"));
            let pearson = pair.pearson.map_or_else(
                || "–".to_owned(),
                |it| {
                    format!(
                        "{}\n[{}, {}]",
                        decimals(it.value, 3),
                        bound(it.low),
                        bound(it.high)
                    )
                },
            );
            let p = pair.pearson_p().map_or_else(
                || "–".to_owned(),
                |p| {
                    let holm = pair.p_holm.map_or_else(String::new, |p| p_value("", p, 3));
                    format!("{}\n{holm}", p_value("", p, 3))
                },
            );
            let cell = |coefficient| {
                pair.coefficient(coefficient).map_or_else(
                    || "–".to_owned(),
                    |it| format!("{}\n{}", decimals(it.value, 3), p_value("", it.p, 3)),
                )
            };
            let corrected = pair.attenuation.map_or_else(
                || "can't tell".to_owned(),
                |it| {
                    format!(
                        "{}\n[{}, {}]",
                        format::corrected(it.corrected),
                        bound(it.low),
                        bound(it.high)
                    )
                },
            );
            table.add_row(vec![
                Cell::new(format!("{language}{}", pair.offline)),
                Cell::new(&pair.second),
                right(pair.points.len().to_string()),
                right(pair.signs.short()),
                right(pearson),
                right(p),
                right(cell(Coefficient::Spearman)),
                right(cell(Coefficient::Kendall)),
                right(corrected),
                Cell::new(pair.corrected_conclusion().words()),
            ]);
        }
        table.render(width)
    }

    fn pair_text(&self, pair: &MetricPair, printed: &mut BTreeSet<String>) -> String {
        let mut lines = vec![pair.title()];
        lines.extend(pair.sentences.iter().map(|it| format!("  {it}")));
        for point in &pair.points {
            lines.push(format!(
                "  {}: {} {}; {} {} {}",
                self.versions[point.version].label,
                pair.offline,
                format::measured(pair.offline_unit, &point.offline),
                self.second.name(),
                pair.second,
                format::measured(pair.second_unit, &point.second)
            ));
        }
        lines.extend(
            pair.details(self.second)
                .into_iter()
                .filter(|it| printed.insert(it.clone()))
                .map(|it| format!("  {it}")),
        );
        lines.join("\n")
    }
}

impl SignCounts {
    /// Agreeing pairs of those not tied.
    pub(super) fn short(&self) -> String {
        format!("{}/{}", self.agreeing, self.agreeing + self.disagreeing)
    }

    /// In a sentence.
    pub(super) fn sentence(&self) -> String {
        let untied = self.agreeing + self.disagreeing;
        let mut sentence = format!(
            "Sign agreement: of {untied} pairs of versions that differ on both sides, {} have \
             both differences in the same direction{}",
            self.agreeing,
            match self.tied {
                0 => String::new(),
                tied => format!(" ({tied} more are tied)"),
            }
        );
        match self
            .agreeing_beyond_chance
            .zip(self.disagreeing_beyond_chance)
        {
            Some((0, 0)) => sentence
                .push_str("; in none of them do both differences exceed the measurement error."),
            Some((agreeing, disagreeing)) => sentence.push_str(&format!(
                "; of the {} whose differences exceed the measurement error on both sides, \
                 {agreeing}.",
                agreeing + disagreeing
            )),
            None => sentence.push('.'),
        }
        sentence
    }
}

impl Conclusion {
    /// The words in tables.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::Opposed => "opposed",
            Self::DependsOnMix => "depends on the mix",
            Self::CantTell => "can't tell",
        }
    }
}

impl MetricPair {
    /// The details of a pair below its conclusion, in sentences.
    pub(super) fn details(&self, second: SecondSide) -> Vec<String> {
        let mut lines = vec![self.signs.sentence()];
        for figure in &self.coefficients {
            let how = match figure.p_draws {
                None => "exact permutation p".to_owned(),
                Some(draws) => format!("permutation p by {draws} draws"),
            };
            let mut line = format!(
                "{}: {}, {how} {}",
                figure.name,
                decimals(figure.value, 3),
                p_value("", figure.p, 3)
            );
            if let Some(bootstrap) = &figure.bootstrap {
                line.push_str(&format!(
                    "; two-level bootstrap {} to {}",
                    bound(bootstrap.low),
                    bound(bootstrap.high)
                ));
                if let Some(coverage) = &figure.coverage {
                    line.push_str(&format!(
                        " (nominally at 95 %; it covers the truth in {} of simulated studies of as \
                         many versions, measured as well)",
                        format::of_studies(coverage)
                    ));
                }
            }
            lines.push(line + ".");
        }
        match (&self.attenuation, &self.no_attenuation) {
            (Some(it), _) => {
                lines.push(format!(
                    "Without measurement error r is {}, 95 % interval {} to {} (reliability \
                     offline {}, {} {}).",
                    format::corrected(it.corrected),
                    bound(it.low),
                    bound(it.high),
                    decimals(it.offline_reliability, 3),
                    second.name(),
                    decimals(it.second_reliability, 3)
                ));
                lines.push(ASSUMPTIONS.to_owned());
            }
            (None, Some(reason)) => {
                lines.push(format!("Without measurement error: {reason}."));
            }
            (None, None) => {}
        }
        if let Some(design) = &self.design {
            lines.extend(design.sentences());
        }
        lines
    }
}

impl StudyDesign {
    /// Returns the power of the design, in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let measured = match self.seen_of_one {
            Some(seen) => format!(
                "a true r of 1 appears as {} through measurement error",
                decimals(seen, 2)
            ),
            None => "an upper bound as their errors are unknown and taken as 0".to_owned(),
        };
        let powers: Vec<String> = self
            .power
            .iter()
            .map(|at| {
                let permutation = at.permutation.as_ref().map_or_else(String::new, |it| {
                    format!(" ({} by permutation)", format::of_studies(it))
                });
                format!(
                    "r {} in {}{permutation}",
                    decimals(at.true_r, 1),
                    format::of_studies(&at.student)
                )
            })
            .collect();
        let mut sentences = vec![format!(
            "Power: with {} versions, {measured}. Student's t finds a true r at the 5 % level in so \
             many of such studies: {}.",
            self.versions,
            powers.join(", ")
        )];
        sentences.push(match self.least_found {
            Some(r) => format!(
                "The least true r found in 80 of 100 such studies is about {}.",
                decimals(r, 2)
            ),
            None => "No true r, not even 1, would be found in 80 of 100 such studies.".to_owned(),
        });
        let needed: Vec<String> = self
            .needed
            .iter()
            .map(|needed| {
                let count = |count: Option<usize>| {
                    count.map_or_else(|| "more than 400".to_owned(), |count| count.to_string())
                };
                let better =
                    if self.seen_of_one.is_some() && needed.without_error != needed.versions {
                        format!(" ({} measured without error)", count(needed.without_error))
                    } else {
                        String::new()
                    };
                format!(
                    "{} takes {} versions{better}",
                    decimals(needed.true_r, 1),
                    count(needed.versions)
                )
            })
            .collect();
        sentences.push(format!(
            "To find it in 80 of 100 studies, a true r of {}.",
            needed.join(", of ")
        ));
        sentences
    }
}

/// Returns a decision's badge and sentence, and the next step.
fn verdict(decision: &StudyDecision) -> String {
    format!(
        "[{}] {}\nNext: {}",
        decision.trust.words().to_uppercase(),
        decision.sentence,
        decision.next_step
    )
}
