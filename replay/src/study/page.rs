//! A study as one HTML page that opens from disk and loads nothing.

use fillrate_metrics::{Coefficient, MOST_EXACT};
use maud::{Markup, PreEscaped, html};

use super::format::{self, bound, decimals};
use super::{Conclusion, Grouping, MetricPair, SecondSide, Study};
use crate::report::page::Page;

/// The page's style: light or dark as the reader's system is, and printable.
const STYLE: &str = include_str!("study.css");

/// The page runs no script and loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

impl Study {
    /// The page, an HTML document of its own.
    pub fn page(&self) -> String {
        let title = match self.second {
            SecondSide::Online => "Offline score and online acceptance",
            SecondSide::Simulated => "Offline score and simulated acceptance",
        };
        let body = html! {
            main {
                h1 { (title) }
                (self.banner())
                p.answer { (self.headline()) }
                (notes("Warnings", &self.warnings))
                (notes("Left out", &self.left_out))
                (self.versions_section())
                (self.trend_section())
                (self.pairs_section())
                @for (index, pair) in self.pairs.iter().enumerate() {
                    (self.pair_section(index, pair))
                }
                (self.method_section())
            }
        };
        let page = Page {
            title,
            policy: POLICY,
            head: html! { style { (PreEscaped(STYLE)) } },
            body,
        };
        page.render()
    }

    fn banner(&self) -> Markup {
        html! {
            @if self.second == SecondSide::Simulated {
                p.banner role="note" {
                    strong { "Simulated." }
                    " The acceptance on this page is that of a simulated developer, not of people. \
                     It shows how a study works and says nothing about what people would accept."
                }
            }
        }
    }

    fn versions_section(&self) -> Markup {
        let header = [
            "version".to_owned(),
            "model".to_owned(),
            "offline configuration".to_owned(),
            format!("{} configuration", self.second.name()),
        ];
        let rows = self.versions.iter().map(|version| {
            let configuration =
                |it: &Option<String>| it.clone().unwrap_or_else(|| "unknown".to_owned());
            vec![
                version.label.clone(),
                version.model.clone(),
                configuration(&version.offline_configuration),
                configuration(&version.second_configuration),
            ]
        });
        html! {
            h2 { "Versions" }
            (table(&header, rows, 4))
        }
    }

    fn trend_section(&self) -> Markup {
        let mut header = vec!["version".to_owned()];
        header.extend(self.trend.columns.iter().map(|column| {
            let side = if column.second {
                self.second.name()
            } else {
                "offline"
            };
            let language = column
                .language
                .as_ref()
                .map_or_else(String::new, |language| format!("{language} "));
            format!(
                "{language}{} ({side}, {})",
                column.metric,
                format::difference_unit(column.unit)
            )
        }));
        let rows = self.trend.rows.iter().enumerate().map(|(index, row)| {
            let mut cells = vec![self.versions[row.version].label.clone()];
            let columns = row.differences.iter().zip(&self.trend.columns);
            cells.extend(
                columns.map(|(difference, column)| match (index, difference) {
                    (0, Some(_)) => "baseline".to_owned(),
                    _ => format::difference(column.unit, *difference),
                }),
            );
            cells
        });
        html! {
            h2 { "Trend" }
            p {
                "Differences from the first version, in the form of Table 9 of "
                a href="https://arxiv.org/abs/2408.03519" { "RepoMasterEval" }
                "."
            }
            (table(&header, rows, 1))
        }
    }

    fn pairs_section(&self) -> Markup {
        let header = [
            "offline",
            self.second.name(),
            "versions",
            "signs agree",
            "Pearson r",
            "95 % interval",
            "p",
            "p (Holm)",
            "Spearman (p)",
            "Kendall (p)",
            "corrected r",
            "conclusion",
        ]
        .map(str::to_owned);
        html! {
            h2 { "All pairs" }
            (table(&header, self.pairs.iter().map(pair_cells), 2))
        }
    }

    fn pair_section(&self, index: usize, pair: &MetricPair) -> Markup {
        let class = match pair.conclusion {
            Conclusion::CantTell => "unknown",
            _ => "found",
        };
        let header = [
            "version".to_owned(),
            format!("{} (offline)", pair.offline),
            format!("{} ({})", pair.second, self.second.name()),
        ];
        let rows = pair.points.iter().map(|point| {
            vec![
                self.versions[point.version].label.clone(),
                format::measured(pair.offline_unit, &point.offline),
                format::measured(pair.second_unit, &point.second),
            ]
        });
        let description = format!(
            "Scatter of {} ({}) over the versions, with intervals",
            pair.title(),
            self.second.name()
        );
        html! {
            section id={ "pair-" (index) } {
                h2 { (pair.title()) }
                @for sentence in &pair.sentences {
                    p class=(class) { (sentence) }
                }
                // The drawing escapes the labels in it.
                @if let Some(svg) = self.scatter(pair) {
                    figure role="img" aria-label=(description) {
                        (PreEscaped(svg))
                        figcaption { "Bars are 95 % intervals." }
                    }
                }
                (table(&header, rows, 1))
                ul {
                    @for detail in pair.details(self.second) {
                        li { (detail) }
                    }
                }
            }
        }
    }

    fn method_section(&self) -> Markup {
        let by = match self.by {
            Grouping::Version => "all languages together",
            Grouping::VersionAndLanguage => "each language by itself",
        };
        html! {
            h2 { "Method" }
            ul {
                li {
                    "Versions are joined by the model's name and its configuration's fingerprint \
                     and compared with " (by) "."
                }
                li {
                    "Pearson's interval is exact if both sides are normally distributed, for any \
                     number of versions; its bounds come from " (self.method.draws) " draws. The \
                     two-level bootstrap draws versions, then clusters within them, "
                    (self.method.bootstrap_draws) " times; with few versions its coverage is not \
                     the nominal one, so its simulated coverage is beside it."
                }
                li {
                    "p are of permutations of the versions, all of them up to "
                    (MOST_EXACT) " versions."
                }
                li {
                    "Powers come from " (self.method.simulations) " simulated studies each. \
                     Intervals are at 95 %. The seed is " (self.method.seed) "."
                }
                li {
                    "A correlation over versions means that two figures go together, not that one \
                     causes the other."
                }
            }
        }
    }
}

/// The row of a pair in the table of all pairs.
fn pair_cells(pair: &MetricPair) -> Vec<String> {
    let dash = || "–".to_owned();
    let with_p = |coefficient| {
        pair.coefficient(coefficient).map_or_else(dash, |it| {
            format!("{} ({})", decimals(it.value, 3), decimals(it.p, 3))
        })
    };
    let language = pair
        .language
        .as_ref()
        .map_or_else(String::new, |language| format!("{language}: "));
    vec![
        format!("{language}{}", pair.offline),
        pair.second.clone(),
        pair.points.len().to_string(),
        pair.signs.short(),
        pair.pearson.map_or_else(dash, |it| decimals(it.value, 3)),
        pair.pearson.map_or_else(dash, |it| {
            format!("{} to {}", bound(it.low), bound(it.high))
        }),
        pair.pearson_p().map_or_else(dash, |p| decimals(p, 3)),
        pair.p_holm.map_or_else(dash, |p| decimals(p, 3)),
        with_p(Coefficient::Spearman),
        with_p(Coefficient::Kendall),
        pair.attenuation.map_or_else(
            || "can't tell".to_owned(),
            |it| {
                format!(
                    "{} [{}, {}]",
                    format::corrected(it.corrected),
                    bound(it.low),
                    bound(it.high)
                )
            },
        ),
        pair.corrected_conclusion().words().to_owned(),
    ]
}

fn notes(title: &str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            h2 { (title) }
            ul.notes {
                @for item in items {
                    li { (item) }
                }
            }
        }
    }
}

/// A table whose first `words` columns are words and whose others are figures.
fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>, words: usize) -> Markup {
    let class = |column: usize| (column >= words).then_some("figure");
    html! {
        div.table {
            table {
                thead {
                    tr {
                        @for (column, cell) in header.iter().enumerate() {
                            th scope="col" class=[class(column)] { (cell) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 {
                                    th scope="row" { (cell) }
                                } @else {
                                    td class=[class(column)] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
