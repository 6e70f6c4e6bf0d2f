//! Figures as differences from the first version, in the form of Table 9 of RepoMasterEval.

use serde::Serialize;

use super::figure::FigureUnit;
use super::join::JoinedVersion;
use super::pair::MetricPair;

/// The figures of each version as differences from the first one's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trend {
    /// The columns.
    pub columns: Vec<TrendColumn>,
    /// One row for each version; the first is the baseline.
    pub rows: Vec<TrendRow>,
}

/// A column of [`Trend`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrendColumn {
    /// The language; `None` for all together.
    pub language: Option<String>,
    /// The metric.
    pub metric: String,
    /// True if it is the second side's.
    pub second: bool,
    /// Its unit.
    pub unit: FigureUnit,
}

/// A row of [`Trend`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendRow {
    /// Index of the version in the study.
    pub version: usize,
    /// By column the difference from the baseline, in the metric's unit; `None` where either has
    /// no figure.
    pub differences: Vec<Option<f64>>,
}

impl Trend {
    pub(super) fn new(versions: &[JoinedVersion], pairs: &[MetricPair]) -> Self {
        let mut columns: Vec<TrendColumn> = Vec::new();
        let mut values: Vec<Vec<Option<f64>>> = Vec::new();
        for second in [false, true] {
            for pair in pairs {
                let column = TrendColumn {
                    language: pair.language.clone(),
                    metric: if second { &pair.second } else { &pair.offline }.clone(),
                    second,
                    unit: if second {
                        pair.second_unit
                    } else {
                        pair.offline_unit
                    },
                };
                // A metric is in several pairs, and has one column.
                let at = match columns.iter().position(|it| *it == column) {
                    Some(at) => at,
                    None => {
                        columns.push(column);
                        values.push(vec![None; versions.len()]);
                        columns.len() - 1
                    }
                };
                for point in &pair.points {
                    let measured = if second { point.second } else { point.offline };
                    values[at][point.version] = Some(measured.value);
                }
            }
        }
        // Languages side by side, offline before the second side within each.
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|&at| (columns[at].language.clone(), columns[at].second));
        let rows = (0..versions.len()).map(|version| TrendRow {
            version,
            differences: order
                .iter()
                .map(|&at| Some(values[at][version]? - values[at][0]?))
                .collect(),
        });
        Self {
            rows: rows.collect(),
            columns: order.iter().map(|&at| columns[at].clone()).collect(),
        }
    }
}
