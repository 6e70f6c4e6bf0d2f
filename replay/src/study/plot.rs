//! The scatter of a pair as SVG, with error bars.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{FigureUnit, MeasuredFigure, MetricPair, SecondSide, Study};

/// Width and height in pixels.
const SIZE: (u32, u32) = (640, 400);

impl Study {
    /// The scatter of a pair: offline from left to right, the second side from bottom to top. Lines
    /// and letters are drawn in the colour of the text around it. `None` without a point, or where
    /// it can't be drawn.
    pub(super) fn scatter(&self, pair: &MetricPair) -> Option<String> {
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
        let mut svg = String::new();
        draw(
            &mut svg,
            &points,
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
    points: &[(&str, &MeasuredFigure, &MeasuredFigure)],
    units: (FigureUnit, FigureUnit),
    names: (&str, &str),
) -> Option<()> {
    let (across, along) = (
        range(points.iter().map(|point| point.1)),
        range(points.iter().map(|point| point.2)),
    );
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(across.clone(), along.clone())
        .ok()?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
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
    for (label, one, other) in points {
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
        // On the side where there is room.
        let right = one.value > f64::midpoint(across.start, across.end);
        let anchor = if right { HPos::Right } else { HPos::Left };
        let style = TextStyle::from(("sans-serif", 12).into_font())
            .color(&BLACK)
            .pos(Pos::new(anchor, VPos::Bottom));
        let shift = if right { -7 } else { 7 };
        chart
            .draw_series(std::iter::once(
                EmptyElement::at(place) + Text::new((*label).to_owned(), (shift, -4), style),
            ))
            .ok()?;
    }
    drop(chart);
    area.present().ok()?;
    drop(area);
    Some(())
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
        FigureUnit::Share => format!("{:.0} %", value * 100.0),
        FigureUnit::Milliseconds => format!("{value:.0} ms"),
        FigureUnit::Plain => format!("{value:.1}"),
    };
    match text.as_str() {
        "-0 %" | "-0.0" | "-0 ms" => text[1..].to_owned(),
        _ => text.replace('-', "−"),
    }
}
