//! Telemetry statistics as one HTML page, which opens from disk or is served while people work.

use fillrate_metrics::metric::{ACCEPTANCE_PAIRS, ACCEPTANCE_SHOWN};
use fillrate_metrics::{Estimate, Metric};
use fillrate_report::page::{Page, PageKind};
use fillrate_report::table::figure_text;
use maud::{Markup, PreEscaped, html};

use super::statistics::TelemetryStatistics;
use super::text::FigureTable;
use super::trial::TrialStatistics;
use crate::page::{POLICY, STYLE, simulated_banner, table};

/// The script of a page that is served, at [`SCRIPT_PATH`].
pub const SCRIPT: &str = include_str!("live.js");

/// Path of [`SCRIPT`], beside the page.
pub const SCRIPT_PATH: &str = "live.js";

/// The script follows the server; nothing else is run or asked for.
const LIVE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; \
                           connect-src 'self'";

/// Most steps of the scale below the intervals of a picture.
const MOST_STEPS: f64 = 5.0;

/// Where statistics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageUse {
    /// In a file.
    File,
    /// By a server, with [`SCRIPT`], which replaces them as they change.
    Live,
}

impl TelemetryStatistics {
    /// The page, an HTML document of its own.
    pub fn page(&self, page_use: PageUse) -> String {
        let title = match (&self.trial, self.counted.simulated) {
            (Some(_), false) => "Which model people accept",
            (Some(_), true) => "Which model a simulated developer accepts",
            (None, false) => "What people accept",
            (None, true) => "What a simulated developer accepts",
        };
        let tables = self.tables();
        let on_trial = self.trial.as_ref().map(TrialStatistics::table);
        let body = html! {
            main {
                h1 { (title) }
                @if self.counted.simulated { (simulated_banner()) }
                @if let Some(sentence) = self.counted.sentence() { p { (sentence) } }
                @if let Some(trial) = &self.trial { (trial.section()) }
                @if let Some(on_trial) = &on_trial { (figures("Models on trial", on_trial)) }
                @for one in &tables {
                    (figures(&caption(one), one))
                }
                @for note in self.notes() {
                    p { (note) }
                }
                (meanings(on_trial.iter().chain(&tables)))
            }
        };
        let page = Page {
            kind: PageKind::Statistics,
            title,
            policy: match page_use {
                PageUse::File => POLICY,
                PageUse::Live => LIVE_POLICY,
            },
            head: html! {
                style { (PreEscaped(STYLE)) }
                @if page_use == PageUse::Live {
                    script src=(SCRIPT_PATH) defer {}
                }
            },
            body,
        };
        page.render()
    }
}

impl TrialStatistics {
    /// The answer with its picture.
    fn section(&self) -> Markup {
        let (class, answer) = match self.most_accepted() {
            Some(model) => ("trust", format!("{model} is accepted most")),
            None => ("open", "Can't tell yet".to_owned()),
        };
        html! {
            section.decision aria-label="The answer" {
                div {
                    p.badge.(class) { (answer) }
                    @for sentence in self.sentences() {
                        p.answer { (sentence) }
                    }
                    @if let Some(sentence) = self.strengths_sentence() {
                        p { (sentence) }
                    }
                    @for note in self.notes() {
                        p { (note) }
                    }
                }
                (self.picture())
            }
        }
    }

    /// The model that is accepted more often than each other one, if there is one.
    fn most_accepted(&self) -> Option<&str> {
        let beats = |model: &str| {
            let ahead = self.differences.iter().filter(|one| {
                let is_of_model = one.first == model || one.second == model;
                one.clear && is_of_model && (one.difference.value > 0.0) == (one.first == model)
            });
            // A model of which nothing was shown has no difference from others.
            self.arms.len() > 1 && ahead.count() == self.arms.len() - 1
        };
        let mut models = self.arms.iter().map(|arm| arm.model.as_str());
        models.find(|model| beats(model))
    }

    /// Each model's acceptance with its interval, on one scale.
    fn picture(&self) -> Markup {
        let metric = if self.is_of_pairs() {
            ACCEPTANCE_PAIRS
        } else {
            ACCEPTANCE_SHOWN
        };
        let of = |arm: &super::TrialArm| arm.figures.get(metric.name).copied();
        let estimates: Vec<(&str, Option<Estimate>)> = self
            .arms
            .iter()
            .map(|arm| (arm.model.as_str(), of(arm)))
            .collect();
        let top = estimates
            .iter()
            .filter_map(|(_, estimate)| estimate.map(|it| it.high.unwrap_or(it.value)))
            .fold(0.0, f64::max);
        if top == 0.0 {
            return html! {};
        }
        // Steps of 1, 2, 5, 10 or 20 %.
        let steps = [0.01, 0.02, 0.05, 0.1, 0.2];
        let step = steps.into_iter().find(|step| top / step <= MOST_STEPS);
        let step = step.unwrap_or(0.2);
        let end = (top / step).ceil() * step;
        let place = |value: f64| format!("{:.2}%", 100.0 * (value / end).clamp(0.0, 1.0));
        let marks = (0..=(end / step).round() as usize).map(|mark| mark as f64 * step);
        html! {
            figure {
                table.intervals {
                    caption { (metric.title) }
                    tbody {
                        @for (model, estimate) in &estimates {
                            tr {
                                th scope="row" { (model) }
                                td.scale aria-hidden="true" {
                                    @for mark in marks.clone() {
                                        i style={"left:" (place(mark))} {}
                                    }
                                    @if let Some(estimate) = estimate {
                                        @if let Some((low, high)) = estimate.low.zip(estimate.high) {
                                            b style={"left:" (place(low)) ";right:calc(100% - " (place(high)) ")"} {}
                                        }
                                        strong style={"left:" (place(estimate.value))} {}
                                    }
                                }
                                td.figure { (figure_text(metric.name, estimate.as_ref())) }
                            }
                        }
                        tr aria-hidden="true" {
                            td {}
                            td.scale {
                                @for mark in marks.clone() {
                                    span style={"left:" (place(mark))} { (format!("{:.0}", mark * 100.0)) }
                                }
                            }
                            td.unit { "%" }
                        }
                    }
                }
                figcaption { "Points are shares, bars their 95 % intervals." }
            }
        }
    }
}

/// Says what the rows of a table are.
fn caption(table: &FigureTable) -> String {
    let (by, _) = table.header.split_at(table.words);
    let (last, others) = by
        .split_last()
        .map_or(("", by), |(last, others)| (last.as_str(), others));
    match others {
        [] => format!("By {last}"),
        others => format!("By {} and {last}", others.join(", ")),
    }
}

/// A table whose metrics are named for people.
fn figures(caption: &str, of: &FigureTable) -> Markup {
    let titles: Vec<String> = of.header.iter().map(|name| title(name)).collect();
    table(caption, &titles, of.rows.iter().cloned(), of.words)
}

/// A column's name for people.
fn title(name: &str) -> String {
    Metric::find(name).map_or_else(|| name.to_owned(), |metric| metric.title_of(name))
}

/// Says what each metric of some tables is.
fn meanings<'a>(tables: impl Iterator<Item = &'a FigureTable>) -> Markup {
    let mut metrics: Vec<(String, Metric)> = Vec::new();
    for name in tables.flat_map(|table| &table.header) {
        let title = title(name);
        if let Some(metric) = Metric::find(name)
            && metrics.iter().all(|(other, _)| *other != title)
        {
            metrics.push((title, metric));
        }
    }
    html! {
        @if !metrics.is_empty() {
            dl.meanings {
                @for (title, metric) in metrics {
                    dt { (title) }
                    dd { (metric.meaning) }
                }
            }
        }
    }
}
