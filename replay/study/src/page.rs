//! A study as one HTML page that opens from disk and loads nothing.

use fillrate_metrics::{Coefficient, Estimate, MOST_EXACT};
use fillrate_report::page::{Page, PageKind};
use maud::{Markup, PreEscaped, html};

use super::format::{self, bound, decimals, p_value};
use super::plot::{NARROW, WIDE};
use super::{Grouping, MetricPair, SecondSide, Study, Trust};

/// The page's style: light or dark as the reader's system is, and printable.
pub(super) const STYLE: &str = include_str!("study.css");

/// The page runs no script and loads nothing.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

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
                @if self.second == SecondSide::Simulated { (simulated_banner()) }
                (self.decision_section())
                (self.contents())
                @if let Some((decision, main)) = self.decision.as_ref().zip(self.pairs.first()) {
                    (folded("evidence", "The evidence for the answer", &main.title(), html! {
                        @for sentence in &main.sentences {
                            p { (sentence) }
                        }
                        ul {
                            @for detail in decision.details(main, self.second, &self.labels()) {
                                li { (detail) }
                            }
                        }
                    }))
                }
                (notes("warnings", "Warnings", &self.warnings))
                (notes("left-out", "Left out", &self.left_out))
                (self.versions_section())
                (self.trend_section())
                (self.pairs_section())
                @for (index, pair) in self.pairs.iter().enumerate().take(1) {
                    (self.pair_section(index, pair))
                }
                (self.other_pairs())
                (self.method_section())
            }
        };
        let page = Page {
            kind: PageKind::Study,
            title,
            policy: POLICY,
            head: html! { style { (PreEscaped(STYLE)) } },
            // No line begins with a % sign.
            body: PreEscaped(body.into_string().replace(" %", "\u{a0}%")),
        };
        page.render()
    }

    /// The first screen: the badge, the answer, the next step, the key figures and the scatter.
    fn decision_section(&self) -> Markup {
        let Some((decision, main)) = self.decision.as_ref().zip(self.pairs.first()) else {
            return html! { p.answer { (self.headline()) } };
        };
        let class = match decision.trust {
            Trust::Trust => "trust",
            Trust::Dont => "dont",
            Trust::Depends | Trust::CantTell => "open",
        };
        let selection = decision.selection.as_ref();
        let range = |estimate: &Estimate| {
            let end = |end: Option<f64>| format::gap(main.second_unit, end.unwrap_or(0.0));
            format!("95 % range {} to {}", end(estimate.low), end(estimate.high))
        };
        html! {
            section.decision aria-label="The answer" {
                div {
                    p.badge.(class) { (decision.trust.words()) }
                    p.answer { (decision.sentence) }
                    p.next { strong { "Next: " } (decision.next_step) }
                    dl.key {
                        div {
                            dt { "The offline winner is the best" }
                            dd {
                                (selection.map_or_else(
                                    || "unknown".to_owned(),
                                    |it| format!("{:.0} % likely", it.probability * 100.0),
                                ))
                                small { "of these " (main.points.len()) " versions" }
                            }
                        }
                        div {
                            dt { "Expected regret of picking it" }
                            dd {
                                (selection.map_or_else(
                                    || "unknown".to_owned(),
                                    |it| format::gap(main.second_unit, it.regret.value),
                                ))
                                @if let Some(selection) = selection {
                                    small { (range(&selection.regret)) }
                                }
                            }
                        }
                        div {
                            dt { "Smallest gap worth trusting" }
                            dd {
                                (decision.smallest_gap.map_or_else(
                                    || "none yet".to_owned(),
                                    |gap| format::gap(main.offline_unit, gap),
                                ))
                                @if decision.smallest_gap.is_some() {
                                    small { "estimated probability .9; 75 to 95 % in simulations" }
                                }
                            }
                        }
                        @for one in &decision.predictions {
                            div {
                                dt { (one.version) ", predicted" }
                                dd {
                                    (format::value(main.second_unit, one.second.value))
                                    @if let Some((low, high)) = one.second.low.zip(one.second.high) {
                                        small {
                                            "[" (format::value(main.second_unit, low)) ", "
                                            (format::value(main.second_unit, high)) "]"
                                            @if one.extrapolated { ", extrapolated" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                (self.scatter_figure(main))
            }
        }
    }

    /// The scatter of a pair with its caption, or nothing if it can't be drawn.
    fn scatter_figure(&self, pair: &MetricPair) -> Markup {
        let labels = self.labels();
        let points = pair.points.iter().map(|point| {
            format!(
                "{}: {} {}, {} {}",
                labels[point.version],
                pair.offline,
                format::measured(pair.offline_unit, &point.offline),
                pair.second,
                format::measured(pair.second_unit, &point.second)
            )
        });
        let description = format!(
            "Scatter of {} ({}). {}",
            pair.title(),
            self.second.name(),
            points.collect::<Vec<_>>().join("; ")
        );
        html! {
            // The drawing escapes the labels in it. Letters have the same size in both.
            @if let (Some(wide), Some(narrow)) = (self.scatter(pair, WIDE), self.scatter(pair, NARROW)) {
                figure {
                    div.wide role="img" aria-label=(description) { (PreEscaped(wide)) }
                    div.narrow role="img" aria-label=(description) { (PreEscaped(narrow)) }
                    figcaption {
                        "Each point is a version"
                        @if pair.points.iter().any(|it| it.offline.low.is_some() || it.second.low.is_some()) {
                            ", bars are 95 % intervals"
                        }
                        "."
                        @if pair.prediction().is_some() {
                            " The line predicts a new version's figure, the band is its 95 % \
                             prediction interval."
                        }
                    }
                }
            }
        }
    }

    /// The links to the folded sections.
    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Contents" {
                ul {
                    @if self.decision.is_some() {
                        li { a href="#evidence" { "Evidence" } }
                    }
                    @if !self.warnings.is_empty() {
                        li { a href="#warnings" { (counted(self.warnings.len(), "warning")) } }
                    }
                    @if !self.left_out.is_empty() {
                        li { a href="#left-out" { (self.left_out.len()) " left out" } }
                    }
                    li { a href="#versions" { (counted(self.versions.len(), "version")) } }
                    li { a href="#trend" { "Trend" } }
                    li { a href="#pairs" { (counted(self.pairs.len(), "pair")) " of metrics" } }
                    li { a href="#method" { "Method" } }
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
        let labels = self.labels().join(", ");
        folded(
            "versions",
            "Versions",
            &labels,
            table("What is compared", &header, rows, 4),
        )
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
        let contents = html! {
            p {
                "In the form of Table 9 of "
                a href="https://arxiv.org/abs/2408.03519" { "RepoMasterEval" }
                "."
            }
            (table("Differences from the first version", &header, rows, 1))
        };
        folded(
            "trend",
            "Trend",
            "differences from the first version",
            contents,
        )
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
        let rows = self.pairs.iter().map(pair_cells);
        folded(
            "pairs",
            "All pairs",
            "every metric of both sides",
            table("How the metrics of both sides agree", &header, rows, 2),
        )
    }

    /// Every pair but the main one, folded as one: there may be dozens.
    fn other_pairs(&self) -> Markup {
        let others = self.pairs.iter().enumerate().skip(1);
        html! {
            @if self.pairs.len() > 1 {
                (folded(
                    "other-pairs",
                    "The other pairs in full",
                    &format!("{} of metrics", counted(self.pairs.len() - 1, "pair")),
                    html! {
                        @for (index, pair) in others {
                            (self.pair_section(index, pair))
                        }
                    },
                ))
            }
        }
    }

    fn pair_section(&self, index: usize, pair: &MetricPair) -> Markup {
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
        let contents = html! {
            @for sentence in &pair.sentences {
                p { (sentence) }
            }
            (self.scatter_figure(pair))
            (table(&format!("The figures of {}", pair.title()), &header, rows, 1))
            ul {
                @for detail in pair.details(self.second) {
                    li { (detail) }
                }
            }
        };
        let r = pair.pearson.map_or_else(String::new, |pearson| {
            let (low, high) = (bound(pearson.low), bound(pearson.high));
            format!(", r = {} [{low}, {high}]", decimals(pearson.value, 3))
        });
        let about = format!(
            "{}{r}, n = {}",
            pair.corrected_conclusion().words(),
            pair.points.len()
        );
        folded(&format!("pair-{index}"), &pair.title(), &about, contents)
    }

    fn method_section(&self) -> Markup {
        let by = match self.by {
            Grouping::Version => "all languages together",
            Grouping::VersionAndLanguage => "each language by itself",
        };
        let contents = html! {
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
        };
        folded(
            "method",
            "Method",
            "what the figures are and assume",
            contents,
        )
    }
}

/// Says that nobody accepted what a page reports.
pub(super) fn simulated_banner() -> Markup {
    html! {
        p.banner role="note" {
            strong { "Simulated." }
            " The acceptance on this page is that of a simulated developer, not of people. It says \
             nothing about what people would accept."
        }
    }
}

/// The row of a pair in the table of all pairs.
fn pair_cells(pair: &MetricPair) -> Vec<String> {
    let dash = || "–".to_owned();
    let with_p = |coefficient| {
        pair.coefficient(coefficient).map_or_else(dash, |it| {
            format!("{} ({})", decimals(it.value, 3), p_value("", it.p, 3))
        })
    };
    vec![
        format!("{}{}", pair.language_prefix(), pair.offline),
        pair.second.clone(),
        pair.points.len().to_string(),
        pair.signs.short(),
        pair.pearson.map_or_else(dash, |it| decimals(it.value, 3)),
        pair.pearson.map_or_else(dash, |it| {
            format!("{} to {}", bound(it.low), bound(it.high))
        }),
        pair.pearson_p().map_or_else(dash, |p| p_value("", p, 3)),
        pair.p_holm.map_or_else(dash, |p| p_value("", p, 3)),
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

/// A number of things, in the plural unless it is one.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A section that is closed until a reader opens it, or follows a link to its name.
fn folded(name: &str, title: &str, about: &str, contents: Markup) -> Markup {
    html! {
        details {
            summary {
                h2 { (title) } " "
                span { (about) }
            }
            // Browsers open a section for a link to what it contains.
            div id=(name) { (contents) }
        }
    }
}

fn notes(name: &str, title: &str, items: &[String]) -> Markup {
    html! {
        @if let Some(first) = items.first() {
            (folded(name, title, first, html! {
                ul {
                    @for item in items {
                        li { (item) }
                    }
                }
            }))
        }
    }
}

/// A table whose first `words` columns are words and whose others are figures.
pub(super) fn table(
    caption: &str,
    header: &[String],
    rows: impl Iterator<Item = Vec<String>>,
    words: usize,
) -> Markup {
    let class = |column: usize| (column >= words).then_some("figure");
    html! {
        // Scrolled by keyboard too, so it has a place in the order of focus and a name.
        div.table tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { span { (caption) } }
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
