//! Formats values, figures and numbers.

use fillrate_metrics::Estimate;

use super::figure::{FigureUnit, MeasuredFigure};

/// A value in its unit.
pub(super) fn value(unit: FigureUnit, value: f64) -> String {
    match unit {
        FigureUnit::Share | FigureUnit::Saving => format!("{:.1} %", value * 100.0),
        FigureUnit::Milliseconds => format!("{value:.0} ms"),
        FigureUnit::Plain => trimmed(value),
    }
    .replace('-', "−")
}

/// A figure with its interval and its n.
pub(super) fn measured(unit: FigureUnit, figure: &MeasuredFigure) -> String {
    let mut text = value(unit, figure.value);
    if let Some((low, high)) = figure.low.zip(figure.high) {
        text.push_str(&format!(" [{}, {}]", value(unit, low), value(unit, high)));
    }
    match figure.n {
        Some(n) => {
            text.push_str(&format!(" n {n}"));
            if let Some(clusters) = figure.clusters {
                text.push_str(&format!(" in {clusters}"));
            }
        }
        None => text.push_str(" n ?"),
    }
    text
}

/// A difference from the baseline, with an arrow as in Table 9 of RepoMasterEval.
pub(super) fn difference(unit: FigureUnit, difference: Option<f64>) -> String {
    let Some(difference) = difference else {
        return "–".to_owned();
    };
    let scale = if unit.is_percent() { 100.0 } else { 1.0 };
    let text = format!("{:.1}", (difference * scale).abs());
    let arrow = match difference {
        _ if text == "0.0" => "→",
        _ if difference > 0.0 => "↑",
        _ => "↓",
    };
    format!("{arrow}{text}")
}

/// A difference in its unit, without a sign.
pub(super) fn gap(unit: FigureUnit, gap: f64) -> String {
    match unit {
        FigureUnit::Share | FigureUnit::Saving => format!("{:.1} points", gap * 100.0),
        FigureUnit::Milliseconds => format!("{gap:.0} ms"),
        FigureUnit::Plain => trimmed(gap),
    }
}

/// The unit of differences.
pub(super) fn difference_unit(unit: FigureUnit) -> &'static str {
    match unit {
        FigureUnit::Share | FigureUnit::Saving => "points",
        FigureUnit::Milliseconds => "ms",
        FigureUnit::Plain => "as given",
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

/// A number with `digits` digits after the point and no 0 before it.
pub(super) fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = text
        .strip_prefix("0.")
        .map(|rest| format!(".{rest}"))
        .or_else(|| text.strip_prefix("-0.").map(|rest| format!("−.{rest}")))
        .unwrap_or(text);
    text.replace('-', "−")
}

/// A p with `digits` digits after `equals`, or the bound that it is below, as no p is 0.
pub(super) fn p_value(equals: &str, p: f64, digits: usize) -> String {
    // A power of 0.1 is above the decimal it should equal, so that p = .001 would be below it.
    let least = 10_f64
        .powi(i32::try_from(digits).unwrap_or(i32::MAX))
        .recip();
    if p < least {
        return format!("< {}", decimals(least, digits));
    }
    format!("{equals}{}", decimals(p, digits))
}

/// The end of an interval, or `?` if the data support none.
pub(super) fn bound(bound: Option<f64>) -> String {
    bound.map_or_else(|| "?".to_owned(), |bound| decimals(bound, 3))
}

/// r corrected for measurement error, which says nothing beyond ±1.
pub(super) fn corrected(r: f64) -> String {
    match r {
        r if r > 1.0 => "at least 1".to_owned(),
        r if r < -1.0 => "at most −1".to_owned(),
        r => decimals(r, 3),
    }
}
