//! The plots, as SVG, with the figures they draw.
//!
//! Colours in the drawings are names of their meanings; the style of the pages replaces each by
//! one that fits a light or a dark ground.

use std::collections::BTreeMap;
use std::ops::Range;

use fillrate_metrics::metric::{ACCEPTANCE_SHOWN, ORACLE_ACCEPTANCE, PASS_AT_1, PASS_AT_K};
use fillrate_metrics::{Estimate, NumberFormat, Unit, clustered_share};
use fillrate_verdict::Outcome;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use serde::Serialize;

use super::{HtmlReport, HtmlReportError, ReportedRun};
use crate::figures::{by_hole, pass_at, pass_probability, passes, report_row};
use crate::scored::ScoredAttempt;

/// Contents of `data/plots.js`.
#[derive(Serialize)]
pub(super) struct Plots {
    plots: Vec<Plot>,
}

#[derive(Serialize)]
struct Plot {
    /// Names it in addresses.
    name: &'static str,
    title: &'static str,
    /// Description: the figures, their n and their intervals.
    about: String,
    /// The pictures, if there are figures.
    svg: Option<Drawings>,
    /// The numbers of the colours and the names of what is drawn.
    series: Vec<(usize, String)>,
    targets: Vec<Target>,
    columns: Vec<&'static str>,
    rows: Vec<Vec<PlotCell>>,
}

/// A picture in two sizes, so that its letters are readable on any screen.
#[derive(Serialize)]
struct Drawings {
    wide: String,
    /// For a telephone.
    narrow: String,
}

/// A place in a plot with figures of its own, for pointers and keys.
#[derive(Serialize)]
struct Target {
    /// Index of the row with its figures.
    row: usize,
    /// Index of the run whose attempts are behind it.
    run: usize,
    /// Its pixels from the left and the top, in the wide and the narrow picture.
    at: [(i32, i32); 2],
}

/// A cell of the table below a plot.
#[derive(Serialize)]
#[serde(untagged)]
enum PlotCell {
    Text(String),
    Number(f64),
    Count(usize),
    /// A fraction with its interval and n.
    Estimate {
        #[serde(flatten)]
        estimate: Estimate,
        /// Format of its numbers.
        unit: NumberFormat,
    },
}

impl PlotCell {
    fn fraction(estimate: Estimate) -> Self {
        let unit = Unit::Fraction.format();
        Self::Estimate { estimate, unit }
    }
}

/// Position of a figure in a plot, with its interval.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    within_x: Option<(f64, f64)>,
    within_y: Option<(f64, f64)>,
    /// Index of the table's row with its figures.
    row: Option<usize>,
    /// Index of its run.
    run: usize,
}

impl Point {
    fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            within_x: None,
            within_y: None,
            row: None,
            run: 0,
        }
    }

    /// A point with the figures of the last of some rows.
    fn estimated(x: f64, y: &Estimate, rows: &[Vec<PlotCell>]) -> Self {
        Self {
            within_y: y.low.zip(y.high),
            row: rows.len().checked_sub(1),
            ..Self::at(x, y.value)
        }
    }
}

/// One run's part of a plot.
struct Series {
    name: String,
    points: Vec<Point>,
}

/// Look of a plot.
struct Frame {
    x: Axis,
    y: Axis,
    /// True if points are joined by a line.
    lines: bool,
    /// True if points have a mark.
    marks: bool,
    /// True if the line on which both axes are equal is drawn.
    diagonal: bool,
}

struct Axis {
    name: &'static str,
    range: Range<f64>,
    scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    /// From 0 to 1, shown as per cent.
    Share,
    /// Whole numbers.
    Count,
    /// Milliseconds, by their logarithm.
    Milliseconds,
}

impl Axis {
    fn share(name: &'static str) -> Self {
        Self {
            name,
            // A little room, so that marks at the ends are whole.
            range: -0.02..1.02,
            scale: Scale::Share,
        }
    }
}

impl Scale {
    fn label(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.0} %", 100.0 * value),
            Self::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count => String::new(),
            Self::Milliseconds if value < 1.0 => format!("{value}"),
            Self::Milliseconds => format!("{value:.0}"),
        }
    }
}

const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);
const MUTED: RGBColor = RGBColor(3, 3, 3);
/// Number of colours for runs; further runs repeat them with other marks.
const COLOURS: usize = 8;

/// The colour of a run.
fn colour(series: usize) -> RGBColor {
    RGBColor(10, 0, (series % COLOURS) as u8)
}

/// Size of a drawing in pixels, which the pages stretch a little.
#[derive(Clone, Copy)]
struct Size {
    pixels: (u32, u32),
    margin: u32,
    /// More room on the right, for half of the last label.
    right: u32,
    /// Room for the labels below and on the left.
    label_areas: (u32, u32),
}

const WIDE: Size = Size {
    pixels: (720, 420),
    margin: 12,
    right: 12,
    label_areas: (48, 64),
};
const NARROW: Size = Size {
    pixels: (380, 340),
    margin: 6,
    right: 22,
    label_areas: (46, 60),
};

impl HtmlReport {
    pub(super) fn plots(&self) -> Result<Plots, HtmlReportError> {
        Ok(Plots {
            plots: vec![
                self.pass_at_k()?,
                self.acceptance()?,
                self.policies()?,
                self.latency()?,
                self.mutation()?,
                self.calibration()?,
            ],
        })
    }

    fn pass_at_k(&self) -> Result<Plot, HtmlReportError> {
        let mut rows = Vec::new();
        let mut most = 1;
        let series = self.series(|reported| {
            let first = reported.first_attempts();
            let by_hole = by_hole(&first);
            let verdicts = by_hole.values().map(|of_hole| passes(of_hole).len());
            let own_most = verdicts.max().unwrap_or(0);
            most = most.max(own_most);
            // Each k up to 20, and some of those beyond.
            let ks = (1..=own_most).filter(|k| *k <= 20 || k % 10 == 0 || *k == own_most);
            let mut points = Vec::new();
            for k in ks {
                if let Some(estimate) = pass_at(&by_hole, k) {
                    rows.push(vec![
                        PlotCell::Text(reported.name.clone()),
                        PlotCell::Count(k),
                        PlotCell::fraction(estimate),
                    ]);
                    points.push(Point::estimated(k as f64, &estimate, &rows));
                }
            }
            points
        });
        let frame = Frame {
            x: Axis {
                name: "k: completions drawn at each hole",
                range: 0.5..most as f64 + 0.5,
                scale: Scale::Count,
            },
            y: Axis::share(PASS_AT_K.name),
            lines: true,
            marks: most <= 20,
            diagonal: false,
        };
        // With one completion at each hole the only point is pass@1, which the overview has.
        let series = match most {
            1 => Vec::new(),
            _ => series,
        };
        plot(
            Plot {
                name: "pass-at-k",
                title: PASS_AT_K.name,
                about: "The probability that one of k completions makes all tests pass, mean over the holes with as many verdicts, which n counts. Bars are 95 % intervals, clustered by file.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["run", "k", PASS_AT_K.name],
                rows,
            },
            &frame,
            series,
        )
    }

    fn acceptance(&self) -> Result<Plot, HtmlReportError> {
        let mut rows = Vec::new();
        let series = self.series(|reported| {
            let mut groups: BTreeMap<&str, Vec<&ScoredAttempt>> = BTreeMap::new();
            for one in reported.first_attempts() {
                let hole = &self.holes[self.places[&one.attempt.hole]];
                groups.entry(&hole.language).or_default().push(one);
            }
            let mut points = Vec::new();
            for (language, scored) in groups {
                let figures = report_row("*", language, &scored);
                let (Some(pass), Some(accepted)) = (
                    figures.metrics.get(PASS_AT_1.name),
                    figures.metrics.get(ORACLE_ACCEPTANCE.name),
                ) else {
                    continue;
                };
                rows.push(vec![
                    PlotCell::Text(reported.name.clone()),
                    PlotCell::Text(language.to_owned()),
                    PlotCell::fraction(*pass),
                    PlotCell::fraction(*accepted),
                ]);
                points.push(Point {
                    within_x: pass.low.zip(pass.high),
                    ..Point::estimated(pass.value, accepted, &rows)
                });
            }
            points
        });
        let frame = Frame {
            x: Axis::share(PASS_AT_1.title),
            y: Axis::share(ORACLE_ACCEPTANCE.title),
            lines: false,
            marks: true,
            diagonal: true,
        };
        plot(
            Plot {
                name: "acceptance",
                title: "Acceptance against pass rate",
                about: "A point for each run and language: what a simulated developer accepts of the completions offered, against what the tests accept. A simulation, not people. Bars are 95 % intervals, clustered by file.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["run", "language", PASS_AT_1.title, ORACLE_ACCEPTANCE.title],
                rows,
            },
            &frame,
            series,
        )
    }

    /// A point for each run under each policy; a policy is a series.
    fn policies(&self) -> Result<Plot, HtmlReportError> {
        let mut rows = Vec::new();
        let mut by_policy: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for (run, reported) in self.reported_runs.iter().enumerate() {
            let first = reported.first_attempts();
            let Some(pass) = pass_at(&by_hole(&first), 1) else {
                continue;
            };
            for figures in reported.developers.figures(None, &first) {
                let Some(accepted) = figures.figure(ACCEPTANCE_SHOWN) else {
                    continue;
                };
                rows.push(vec![
                    PlotCell::Text(figures.policy.clone()),
                    PlotCell::Text(reported.name.clone()),
                    PlotCell::fraction(pass),
                    PlotCell::fraction(*accepted),
                ]);
                let point = Point {
                    within_x: pass.low.zip(pass.high),
                    run,
                    ..Point::estimated(pass.value, accepted, &rows)
                };
                by_policy.entry(figures.policy).or_default().push(point);
            }
        }
        let series = by_policy.into_iter();
        let series = series.map(|(name, points)| Series { name, points });
        let frame = Frame {
            x: Axis::share(PASS_AT_1.title),
            y: Axis::share(ACCEPTANCE_SHOWN.title),
            lines: false,
            marks: true,
            diagonal: true,
        };
        plot(
            Plot {
                name: "policies",
                title: "Simulated acceptance by policy against pass rate",
                about: "A point for each run under each policy: of the completions that a simulated developer was shown, those it accepted, against pass@1. What to look for is whether runs stand in the same order under every policy. Bars are 95 % intervals, clustered by file.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["policy", "run", PASS_AT_1.title, ACCEPTANCE_SHOWN.title],
                rows,
            },
            &frame,
            series.collect(),
        )
    }

    fn latency(&self) -> Result<Plot, HtmlReportError> {
        let mut rows = Vec::new();
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        let series = self.series(|reported| {
            let answered = reported.first_attempts().into_iter();
            let mut latencies: Vec<f64> = answered
                .filter_map(|one| one.latency_ms)
                // The axis is logarithmic, so 0 has no place on it.
                .filter(|latency| *latency > 0.0)
                .collect();
            latencies.sort_by(f64::total_cmp);
            let (Some(first), Some(last)) = (latencies.first(), latencies.last()) else {
                return Vec::new();
            };
            (least, most) = (least.min(*first), most.max(*last));
            let mut figures = vec![
                PlotCell::Text(reported.name.clone()),
                PlotCell::Count(latencies.len()),
            ];
            for p in QUANTILES {
                let value = fillrate_metrics::quantile(&latencies, p)
                    .map_or(0.0, |quantile| quantile.value);
                figures.push(PlotCell::Number((value * 10.0).round() / 10.0));
            }
            rows.push(figures);
            // More steps could not be seen at the width of a plot.
            let steps = latencies.len().min(200);
            let of = latencies.len() as f64;
            // The last step is at the last value, where the share is 1.
            let places = (1..=steps).map(|step| step * latencies.len() / steps);
            let mut points: Vec<Point> = places
                .map(|place| Point::at(latencies[place - 1], place as f64 / of))
                .collect();
            for p in QUANTILES {
                if let Some(point) = points.iter_mut().find(|point| point.y >= p) {
                    point.row = rows.len().checked_sub(1);
                }
            }
            points
        });
        let frame = Frame {
            x: Axis {
                name: "milliseconds from request to answer",
                range: latency_range(least, most),
                scale: Scale::Milliseconds,
            },
            y: Axis::share("share of answers that were there"),
            lines: true,
            marks: false,
            diagonal: false,
        };
        plot(
            Plot {
                name: "latency",
                title: "Latency",
                about: "How many of the answers were there after how long, as the editor saw it; the scale is logarithmic. Requests without an answer are left out, n counts answers.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["run", "n", "median, ms", "90 %, ms", "95 %, ms", "99 %, ms"],
                rows,
            },
            &frame,
            series,
        )
    }

    fn mutation(&self) -> Result<Plot, HtmlReportError> {
        const BINS: usize = 5;
        let mut rows = Vec::new();
        let series = self.series(|reported| {
            let first = reported.first_attempts();
            let by_hole = by_hole(&first);
            let mut bins: [Vec<(&str, f64, f64)>; BINS] = Default::default();
            for of_hole in by_hole.values() {
                let chance = pass_probability(of_hole, 1);
                if let (Some(score), Some(chance)) = (of_hole[0].mutation, chance) {
                    bins[bin(score, BINS)].push((of_hole[0].cluster.as_str(), score, chance));
                }
            }
            let name = &reported.name;
            binned(&bins, name, &mut rows)
        });
        let frame = Frame {
            x: Axis::share("mutation score of the hole"),
            y: Axis::share(PASS_AT_1.title),
            lines: false,
            marks: true,
            diagonal: false,
        };
        plot(
            Plot {
                name: "mutation",
                title: "Mutation score against pass rate",
                about: "Whether completions pass more often where tests notice fewer faults. The holes that have a mutation score (fillrate mutate, or --min-mutation-score) are put into fifths of the scale; a point is the mean score and the mean pass@1 of one, n counts its holes. Bars are 95 % intervals, clustered by file.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["run", "scores", "mean score", PASS_AT_1.title],
                rows,
            },
            &frame,
            series,
        )
    }

    fn calibration(&self) -> Result<Plot, HtmlReportError> {
        const BINS: usize = 10;
        let mut rows = Vec::new();
        let series = self.series(|reported| {
            let mut bins: [Vec<(&str, f64, f64)>; BINS] = Default::default();
            for one in reported.first_attempts() {
                let outcome = one.attempt.verdict.outcome;
                let judged = outcome.is_evidence() && !one.attempt.offered.is_empty();
                if let Some(probability) = one.probability.filter(|_| judged) {
                    let passed = f64::from(u8::from(outcome == Outcome::Passed));
                    let entry = (one.cluster.as_str(), probability, passed);
                    bins[bin(probability, BINS)].push(entry);
                }
            }
            binned(&bins, &reported.name, &mut rows)
        });
        let frame = Frame {
            x: Axis::share("the model's mean probability of a token"),
            y: Axis::share("completions that pass"),
            lines: true,
            marks: true,
            diagonal: true,
        };
        plot(
            Plot {
                name: "calibration",
                title: "Calibration",
                about: "Whether the model's own confidence predicts what passes. Completions are put into tenths by the geometric mean of the probabilities that the model gave their tokens; a point is a tenth's mean and the share that passes, n counts completions. Only models that tell probabilities are here. Bars are 95 % intervals, clustered by file.".to_owned(),
                svg: None,
                series: Vec::new(),
                targets: Vec::new(),
                columns: vec!["run", "probabilities", "mean probability", "passed"],
                rows,
            },
            &frame,
            series,
        )
    }

    fn series(&self, mut points: impl FnMut(&ReportedRun) -> Vec<Point>) -> Vec<Series> {
        let reported_runs = self.reported_runs.iter().enumerate();
        reported_runs
            .map(|(run, reported)| {
                let points = points(reported).into_iter();
                Series {
                    name: reported.name.clone(),
                    points: points.map(|point| Point { run, ..point }).collect(),
                }
            })
            .collect()
    }
}

/// Shares of the answers whose latencies are in the table.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Returns the index of the bin of a value between 0 and 1, of the given number of equal bins.
fn bin(value: f64, bins: usize) -> usize {
    // A value of 1 belongs to the last bin.
    ((value * bins as f64) as usize).min(bins - 1)
}

/// A point and a row for each part that something is in: of each entry its cluster, and the value
/// along either axis.
fn binned(bins: &[Vec<(&str, f64, f64)>], name: &str, rows: &mut Vec<Vec<PlotCell>>) -> Vec<Point> {
    let mut points = Vec::new();
    for (index, bin) in bins.iter().enumerate() {
        let values: Vec<(&str, f64, f64)> = bin
            .iter()
            // Every member of a bin weighs the same.
            .map(|(cluster, _, y)| (*cluster, 1.0, *y))
            .collect();
        let Some(estimate) = clustered_share(&values) else {
            continue;
        };
        let mean = bin.iter().map(|(_, x, _)| x).sum::<f64>() / bin.len() as f64;
        let edge = |index: usize| 100 * index / bins.len();
        rows.push(vec![
            PlotCell::Text(name.to_owned()),
            PlotCell::Text(format!("{}–{} %", edge(index), edge(index + 1))),
            PlotCell::Number((mean * 1000.0).round() / 10.0),
            PlotCell::fraction(estimate),
        ]);
        points.push(Point::estimated(mean, &estimate, rows));
    }
    points
}

/// Draws what there is.
fn plot(mut plot: Plot, frame: &Frame, series: Vec<Series>) -> Result<Plot, HtmlReportError> {
    // Without any point there is only the table, since an empty plot looks like one of zeros.
    if series.iter().any(|series| !series.points.is_empty()) {
        let drawn = |size| {
            draw(frame, &series, size).map_err(|reason| HtmlReportError::Plot {
                plot: plot.name,
                reason,
            })
        };
        let ((wide, in_wide), (narrow, in_narrow)) = (drawn(WIDE)?, drawn(NARROW)?);
        plot.svg = Some(Drawings { wide, narrow });
        let points = series.iter().flat_map(|series| &series.points);
        let places = in_wide.into_iter().zip(in_narrow);
        plot.targets = points
            .zip(places)
            .filter_map(|(point, (wide, narrow))| {
                Some(Target {
                    row: point.row?,
                    run: point.run,
                    at: [wide, narrow],
                })
            })
            .collect();
    }
    let series = series.into_iter().enumerate();
    let drawn = series.filter(|(_, series)| !series.points.is_empty());
    plot.series = drawn.map(|(at, series)| (at, series.name)).collect();
    Ok(plot)
}

/// Draws a picture. Also returns the pixels of the points, in order.
fn draw(frame: &Frame, series: &[Series], size: Size) -> Result<(String, Vec<(i32, i32)>), String> {
    let mut svg = String::new();
    let places;
    {
        let root = SVGBackend::with_string(&mut svg, size.pixels).into_drawing_area();
        let mut builder = ChartBuilder::on(&root);
        builder
            .margin(size.margin)
            .margin_right(size.right)
            .x_label_area_size(size.label_areas.0)
            .y_label_area_size(size.label_areas.1);
        let (x, y) = (frame.x.range.clone(), frame.y.range.clone());
        // The two charts have different types, so each branch draws its own.
        if frame.x.scale == Scale::Milliseconds {
            let ticks = log_ticks(&x);
            let chart = builder.build_cartesian_2d(x.log_scale().with_key_points(ticks), y);
            places = fill(chart.map_err(|error| error.to_string())?, frame, series)?;
        } else {
            let chart = builder.build_cartesian_2d(x, y);
            places = fill(chart.map_err(|error| error.to_string())?, frame, series)?;
        }
        root.present().map_err(|error| error.to_string())?;
    }
    Ok((svg, places))
}

type Chart<'a, 'b, X> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, plotters::coord::types::RangedCoordf64>>;

/// Draws into a chart. Returns the pixels of the points, in order.
fn fill<X>(
    mut chart: Chart<'_, '_, X>,
    frame: &Frame,
    series: &[Series],
) -> Result<Vec<(i32, i32)>, String>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let fault = |error: DrawingAreaErrorKind<_>| error.to_string();
    let font = |size: i32, colour: &RGBColor| ("sans-serif", size).into_font().color(colour);
    chart
        .configure_mesh()
        .axis_style(MUTED)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(font(15, &MUTED))
        .axis_desc_style(font(16, &INK))
        .x_desc(frame.x.name)
        .y_desc(frame.y.name)
        .x_labels(labels(&frame.x))
        .y_labels(6)
        .x_label_formatter(&|value| frame.x.scale.label(*value))
        .y_label_formatter(&|value| frame.y.scale.label(*value))
        .draw()
        .map_err(fault)?;
    if frame.diagonal {
        let diagonal = PathElement::new([(0.0, 0.0), (1.0, 1.0)], MUTED);
        chart.draw_series([diagonal]).map_err(fault)?;
    }
    for (number, series) in series.iter().enumerate() {
        let colour = colour(number);
        let points = &series.points;
        if frame.lines {
            let line = points.iter().map(|point| (point.x, point.y));
            let line = LineSeries::new(line, colour.stroke_width(2));
            chart.draw_series(line).map_err(fault)?;
        }
        let bars = points.iter().flat_map(|point| {
            let across = point
                .within_x
                .map(|(low, high)| [(low, point.y), (high, point.y)]);
            let up = point
                .within_y
                .map(|(low, high)| [(point.x, low), (point.x, high)]);
            across.into_iter().chain(up)
        });
        let bars = bars.map(|ends| PathElement::new(ends, colour.mix(0.5).stroke_width(1)));
        chart.draw_series(bars).map_err(fault)?;
        if !frame.marks {
            continue;
        }
        let at = points.iter().map(|point| (point.x, point.y));
        match number % MARKS {
            0 => {
                let marks = at.map(|at| Circle::new(at, 5, colour.filled()));
                chart.draw_series(marks).map_err(fault)?;
            }
            1 => {
                let marks = at.map(|at| TriangleMarker::new(at, 6, colour.filled()));
                chart.draw_series(marks).map_err(fault)?;
            }
            _ => {
                let marks = at.map(|at| Cross::new(at, 5, colour.stroke_width(2)));
                chart.draw_series(marks).map_err(fault)?;
            }
        }
    }
    let points = series.iter().flat_map(|series| &series.points);
    Ok(points
        .map(|point| chart.backend_coord(&(point.x, point.y)))
        .collect())
}

/// Number of marks for runs: ●, ▲ and ✕.
const MARKS: usize = 3;

/// Returns the range of an axis for latencies from `least` to `most`; without any, `most` is 0.
fn latency_range(least: f64, most: f64) -> Range<f64> {
    if most > 0.0 {
        least * 0.9..most * 1.1
    } else {
        1.0..10.0
    }
}

/// Returns the labelled values of a logarithmic axis: 1, 2 and 5 of each power of ten, only the
/// powers if those are many, or the digits between if they are few.
fn log_ticks(range: &Range<f64>) -> Vec<f64> {
    let powers = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let values = |factors: &[f64]| -> Vec<f64> {
        let values = powers.clone().flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        });
        values.filter(|value| range.contains(value)).collect()
    };
    let several = values(&[1.0, 2.0, 5.0]);
    match several.len() {
        // Less than a decade.
        0..=2 => match values(&[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]) {
            ticks if ticks.is_empty() => vec![range.start, range.end],
            ticks => ticks,
        },
        3..=7 => several,
        _ => values(&[1.0]),
    }
}

/// Returns the number of an axis's labels.
fn labels(axis: &Axis) -> usize {
    match axis.scale {
        Scale::Count => (axis.range.end as usize).clamp(2, 10),
        Scale::Share => 6,
        Scale::Milliseconds => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_latencies_are_within_their_axis() {
        assert!(latency_range(30.0, 30.0).contains(&30.0));
        assert_eq!(latency_range(f64::INFINITY, 0.0), 1.0..10.0);
    }

    #[test]
    fn logarithmic_axes_have_several_labels() {
        assert_eq!(log_ticks(&(41.0..181.0)), [60.0, 80.0, 100.0, 150.0]);
        assert_eq!(
            log_ticks(&(3.0..900.0)),
            [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        );
        assert_eq!(
            log_ticks(&(0.5..90_000.0)),
            [1.0, 10.0, 100.0, 1000.0, 10_000.0]
        );
        assert_eq!(log_ticks(&(61.0..69.0)), [61.0, 69.0]);
    }
}
