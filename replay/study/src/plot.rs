//! The scatter of a pair as SVG, with error bars.

use fillrate_metrics::LinearPrediction;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{FigureUnit, MeasuredFigure, MetricPair, SecondSide, Study};

/// Width of a scatter in pixels, for a window and for a telephone.
pub(super) const WIDE: u32 = 640;
pub(super) const NARROW: u32 = 360;

/// Height of a scatter in pixels.
const HEIGHT: u32 = 400;

/// The height of a label in pixels.
const LETTER: i32 = 12;

/// The pixels at the left that the labels of the axis take, with the margin.
const LEFT: i32 = 76;

/// The radius of a point and the room around it, in pixels.
const DOT: i32 = 5;

/// The pieces of the prediction band.
const STEPS: u32 = 40;

impl Study {
    /// The scatter of a pair, `width` pixels wide: offline from left to right, the second side from bottom to top. Lines
    /// and letters are drawn in the colour of the text around it. `None` without a point, or where
    /// it can't be drawn.
    pub(super) fn scatter(&self, pair: &MetricPair, width: u32) -> Option<String> {
        let labels = pair
            .points
            .iter()
            .map(|point| self.versions[point.version].label.as_str());
        let points: Vec<(&str, &MeasuredFigure, &MeasuredFigure)> = labels
            .zip(&pair.points)
            .map(|(label, point)| (label, &point.offline, &point.second))
            .collect();
        if points.is_empty() {
            return None;
        }
        let line = pair.prediction();
        let mut svg = String::new();
        draw(
            &mut svg,
            width,
            &points,
            line.as_ref(),
            (pair.offline_unit, pair.second_unit),
            (&pair.offline, &axis_name(self.second, &pair.second)),
        )?;
        // So that it can be read on a dark page as on a light one.
        Some(svg.replace("#000000", "currentColor"))
    }
}

fn axis_name(second: SecondSide, metric: &str) -> String {
    format!("{metric} ({})", second.name())
}

fn draw(
    svg: &mut String,
    width: u32,
    points: &[(&str, &MeasuredFigure, &MeasuredFigure)],
    prediction: Option<&LinearPrediction>,
    units: (FigureUnit, FigureUnit),
    names: (&str, &str),
) -> Option<()> {
    let across = range(points.iter().map(|point| point.1));
    let along = range(points.iter().map(|point| point.2));
    let along = match prediction {
        Some(prediction) => {
            let places = points.iter().map(|point| point.1.value);
            with_band(along, units.1, prediction, places)
        }
        None => along,
    };
    let area = SVGBackend::with_string(svg, (width, HEIGHT)).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(across.clone(), along.clone())
        .ok()?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        // The letters of ten labels would lie on each other in a narrow plot.
        .x_labels(if width == NARROW { 5 } else { 10 })
        .bold_line_style(BLACK.mix(0.15))
        .axis_style(BLACK.mix(0.6))
        .label_style(("sans-serif", 12).into_font().color(&BLACK))
        .x_label_formatter(&|value| tick(units.0, *value))
        .y_label_formatter(&|value| tick(units.1, *value))
        .x_desc(names.0)
        .y_desc(names.1)
        .draw()
        .ok()?;
    let line = ShapeStyle::from(&BLACK.mix(0.5)).stroke_width(1);
    let dot = RGBColor(0x1f, 0x77, 0xc8);
    if let Some((band, middle)) = prediction.map(|it| band(it, &across, &along)) {
        chart
            .draw_series(std::iter::once(Polygon::new(band, dot.mix(0.12))))
            .ok()?;
        let style = ShapeStyle::from(&dot.mix(0.7)).stroke_width(2);
        chart
            .draw_series(std::iter::once(PathElement::new(middle, style)))
            .ok()?;
    }
    let places: Vec<(i32, i32)> = points
        .iter()
        .map(|(_, one, other)| chart.backend_coord(&(one.value, other.value)))
        .collect();
    let names: Vec<&str> = points.iter().map(|(label, _, _)| *label).collect();
    let shifts = place_labels(&places, &names, width as i32);
    for ((label, one, other), shift) in points.iter().zip(shifts) {
        if let Some((low, high)) = one.low.zip(one.high) {
            let ends = [(low, other.value), (high, other.value)];
            chart
                .draw_series(std::iter::once(PathElement::new(ends.to_vec(), line)))
                .ok()?;
        }
        if let Some((low, high)) = other.low.zip(other.high) {
            let ends = [(one.value, low), (one.value, high)];
            chart
                .draw_series(std::iter::once(PathElement::new(ends.to_vec(), line)))
                .ok()?;
        }
        let place = (one.value, other.value);
        chart
            .draw_series(std::iter::once(Circle::new(place, 4, dot.filled())))
            .ok()?;
        let style = TextStyle::from(("sans-serif", LETTER).into_font())
            .color(&BLACK)
            .pos(Pos::new(HPos::Left, VPos::Top));
        chart
            .draw_series(std::iter::once(
                EmptyElement::at(place) + Text::new((*label).to_owned(), shift, style),
            ))
            .ok()?;
    }
    drop(chart);
    area.present().ok()?;
    drop(area);
    Some(())
}

/// Points of the plot, in the units of its axes.
type Polyline = Vec<(f64, f64)>;

/// The corners of the prediction band and the points of its line, within the axes.
fn band(
    prediction: &LinearPrediction,
    across: &std::ops::Range<f64>,
    along: &std::ops::Range<f64>,
) -> (Polyline, Polyline) {
    let (mut upper, mut lower, mut middle) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..=STEPS {
        let x = across.start + (across.end - across.start) * f64::from(step) / f64::from(STEPS);
        let estimate = prediction.predict(x);
        let within = |y: f64| y.clamp(along.start, along.end);
        upper.push((x, within(estimate.high.unwrap_or(estimate.value))));
        lower.push((x, within(estimate.low.unwrap_or(estimate.value))));
        if along.contains(&estimate.value) {
            middle.push((x, estimate.value));
        }
    }
    // The lower edge runs backwards, so that the polygon does not cross itself.
    upper.extend(lower.into_iter().rev());
    (upper, middle)
}

/// Lengthens an axis so that it has the edges of the prediction band at the points, to three times
/// its length at most: the band of few points may be as wide as to press them into a line.
fn with_band(
    axis: std::ops::Range<f64>,
    unit: FigureUnit,
    prediction: &LinearPrediction,
    places: impl Iterator<Item = f64>,
) -> std::ops::Range<f64> {
    let length = axis.end - axis.start;
    let (mut least, mut most) = (axis.start - length, axis.end + length);
    if unit == FigureUnit::Share {
        least = least.max(0.0);
        most = most.min(1.0);
    }
    places
        .map(|place| prediction.predict(place))
        .fold(axis, |axis, estimate| {
            let low = estimate.low.unwrap_or(estimate.value).max(least);
            let high = estimate.high.unwrap_or(estimate.value).min(most);
            axis.start.min(low)..axis.end.max(high)
        })
}

/// Places each label next to its point so that it covers no other point and no other label, in a
/// plot `plot_width` pixels wide. Returns the shifts of their upper left corners from the points, in
/// pixels.
fn place_labels(points: &[(i32, i32)], labels: &[&str], plot_width: i32) -> Vec<(i32, i32)> {
    let mut taken: Vec<[i32; 4]> = points
        .iter()
        .map(|(x, y)| [x - DOT, y - DOT, x + DOT, y + DOT])
        .collect();
    let mut shifts = Vec::new();
    for ((x, y), label) in points.iter().zip(labels) {
        // A letter is about 0.6 times as wide as it is high.
        let width = label.chars().count() as i32 * LETTER * 6 / 10;
        let sides = [DOT + 3, -DOT - 3 - width, -width / 2];
        let heights = [
            -LETTER - 5,
            5,
            -2 * LETTER - 8,
            LETTER + 8,
            -3 * LETTER - 11,
        ];
        let shifted = heights
            .into_iter()
            .flat_map(|down| sides.map(|right| (right, down)));
        let area = |shift: (i32, i32)| {
            let (left, top) = (x + shift.0, y + shift.1);
            [left, top, left + width, top + LETTER]
        };
        let cost = |shift: &(i32, i32)| {
            let own = area(*shift);
            let is_outside = own[0] < LEFT || own[2] > plot_width || own[1] < 0;
            let covered = taken.iter().filter(|other| overlap(&own, other)).count();
            // Of places outside none is better than a covered one.
            (is_outside, covered)
        };
        // Of equally good places the first, which is the nearest.
        let shift = shifted.min_by_key(cost).unwrap_or((DOT + 3, 0));
        taken.push(area(shift));
        shifts.push(shift);
    }
    shifts
}

/// True if two boxes overlap, given as left, top, right and bottom.
fn overlap(one: &[i32; 4], other: &[i32; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/// From the least to the most of what is drawn, with room around it.
fn range<'a>(figures: impl Iterator<Item = &'a MeasuredFigure>) -> std::ops::Range<f64> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for figure in figures {
        low = low.min(figure.low.unwrap_or(figure.value));
        high = high.max(figure.high.unwrap_or(figure.value));
    }
    let room = match (high - low) * 0.08 {
        room if room > 0.0 => room,
        _ => (high.abs() * 0.1).max(0.01),
    };
    low - room..high + room
}

fn tick(unit: FigureUnit, value: f64) -> String {
    let text = match unit {
        FigureUnit::Share | FigureUnit::Saving => format!("{:.0} %", value * 100.0),
        FigureUnit::Milliseconds => format!("{value:.0} ms"),
        FigureUnit::Plain => format!("{value:.1}"),
    };
    match text.as_str() {
        "-0 %" | "-0.0" | "-0 ms" => text[1..].to_owned(),
        _ => text.replace('-', "−"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_has_edges_of_band_in_bounds() {
        let pairs = [(0.1, 0.3), (0.2, 0.5), (0.3, 0.4), (0.4, 0.6)];
        let prediction = LinearPrediction::fit(&pairs).expect("the points differ");
        let axis = |unit, range| with_band(range, unit, &prediction, pairs.iter().map(|it| it.0));
        let estimate = prediction.predict(0.4);
        let high = estimate.high.expect("four points have an interval");
        let wide = axis(FigureUnit::Plain, 0.0..1.0);
        assert!(wide.end >= high && wide.end < 2.0, "{wide:?}");
        assert_eq!(axis(FigureUnit::Share, 0.29..0.61).end, 0.61 + 0.32);
        assert_eq!(axis(FigureUnit::Share, 0.2..0.7).start, 0.0);
        assert!(axis(FigureUnit::Plain, 0.2..0.7).start < 0.0);
    }

    #[test]
    fn labels_cover_neither_points_nor_each_other() {
        let points = [
            (300, 200),
            (304, 203),
            (308, 198),
            (320, 210),
            (620, 30),
            (90, 380),
        ];
        let labels = [
            "version-one",
            "version-two",
            "version-three",
            "v4",
            "at-the-edge",
            "low",
        ];
        let shifts = place_labels(&points, &labels, WIDE as i32);
        let areas: Vec<[i32; 4]> = points
            .iter()
            .zip(&shifts)
            .zip(labels)
            .map(|((point, shift), label)| {
                let (left, top) = (point.0 + shift.0, point.1 + shift.1);
                [
                    left,
                    top,
                    left + label.len() as i32 * LETTER * 6 / 10,
                    top + LETTER,
                ]
            })
            .collect();
        for (at, one) in areas.iter().enumerate() {
            assert!(one[0] >= LEFT && one[2] <= WIDE as i32, "{}", labels[at]);
            for (earlier, other) in areas[..at].iter().enumerate() {
                assert!(
                    !overlap(one, other),
                    "{} covers {}",
                    labels[at],
                    labels[earlier]
                );
            }
            for (x, y) in points {
                assert!(
                    !overlap(one, &[x - DOT, y - DOT, x + DOT, y + DOT]),
                    "{}",
                    labels[at]
                );
            }
        }
    }
}
