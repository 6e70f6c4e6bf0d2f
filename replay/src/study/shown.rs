//! Numbers as people read them.

use fillrate_metrics::Estimate;

use super::{Measured, Unit};

/// A value in its unit.
pub(super) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share => format!("{:.1} %", value * 100.0),
        Unit::Milliseconds => format!("{value:.0} ms"),
        Unit::Plain => trimmed(value),
    }
    .replace('-', "−")
}

/// A figure with its interval and its n.
pub(super) fn measured(unit: Unit, figure: &Measured) -> String {
    let mut text = value(unit, figure.value);
    if let Some((low, high)) = figure.low.zip(figure.high) {
        text.push_str(&format!(" [{}, {}]", value(unit, low), value(unit, high)));
    }
    match figure.n {
        Some(n) => text.push_str(&format!(" n {n}")),
        None => text.push_str(" n ?"),
    }
    text
}

/// A difference from the baseline, with an arrow as the paper has it.
pub(super) fn difference(unit: Unit, difference: Option<f64>) -> String {
    let Some(difference) = difference else {
        return "–".to_owned();
    };
    let scale = if unit == Unit::Share { 100.0 } else { 1.0 };
    let text = format!("{:.1}", (difference * scale).abs());
    let arrow = match difference {
        _ if text == "0.0" => "→",
        _ if difference > 0.0 => "↑",
        _ => "↓",
    };
    format!("{arrow}{text}")
}

/// What differences of a unit are counted in.
pub(super) fn difference_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "points",
        Unit::Milliseconds => "ms",
        Unit::Plain => "as given",
    }
}

/// A share of studies in %, with its interval.
pub(super) fn of_studies(estimate: &Estimate) -> String {
    let percent = |value: f64| format!("{:.0}", value * 100.0);
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!(
            "{} % [{}, {}]",
            percent(estimate.value),
            percent(low),
            percent(high)
        ),
        None => format!("{} %", percent(estimate.value)),
    }
}

/// Up to four digits after the point, no zeros at the end.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}
