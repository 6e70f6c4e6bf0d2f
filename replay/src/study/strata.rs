//! Holes weighted to the mix that people see: post-stratification.

use std::collections::BTreeMap;

use fillrate_metrics::Coefficient;
use serde::Serialize;

use super::MetricPair;
use super::figure::{Figure, FigureUnit, MeasuredFigure};
use super::format;
use super::input::{StratumFigure, StudySide};
use super::join::{JoinedVersion, VersionKey};
use super::mix::counts;

/// The main offline figure with the holes of each stratum weighted to the second side's share of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightedFigures {
    /// The dimension, e.g. `language`.
    pub dimension: &'static str,
    /// The share of each stratum on the second side, of those that have holes of every version.
    pub shares: BTreeMap<String, f64>,
    /// The share of the second side's samples in strata without holes.
    pub uncovered: f64,
    /// By the index of the version, its weighted figure.
    pub figures: Vec<(usize, MeasuredFigure)>,
    /// Pearson's r with the raw figures.
    pub raw_r: f64,
    /// Pearson's r with the weighted figures.
    pub weighted_r: f64,
    /// The stratum without which the weighted r is highest, with that r.
    pub disagreeing: Option<(String, f64)>,
}

impl WeightedFigures {
    /// In a sentence.
    pub(super) fn sentence(&self, metric: &str, side: &str) -> String {
        let shares: Vec<String> = self
            .shares
            .iter()
            .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
            .collect();
        let mut text = format!(
            "{metric} with holes weighted to the {side} mix of {} ({}): r = {}, raw {}",
            self.dimension,
            shares.join(", "),
            format::decimals(self.weighted_r, 3),
            format::decimals(self.raw_r, 3)
        );
        if self.uncovered > 0.005 {
            text.push_str(&format!(
                "; {:.0} % of the {side} samples are in strata without holes",
                self.uncovered * 100.0
            ));
        }
        if let Some((stratum, r)) = &self.disagreeing {
            text.push_str(&format!(
                "; {stratum} agrees least: r = {} without it",
                format::decimals(*r, 3)
            ));
        }
        text + "."
    }
}

/// Weights the offline figures of a pair to the second side's mix, by each dimension that both
/// sides have. Dimensions with one stratum are left out.
pub(super) fn weighted_figures(
    offline: &StudySide,
    second: &StudySide,
    versions: &[JoinedVersion],
    pair: &MetricPair,
) -> Vec<WeightedFigures> {
    let mut dimensions: Vec<&'static str> = Vec::new();
    for stratum in &offline.strata {
        if stratum.metric == pair.offline && !dimensions.contains(&stratum.dimension) {
            dimensions.push(stratum.dimension);
        }
    }
    if pair.language.is_some() {
        dimensions.clear();
    }
    let keys: Vec<VersionKey> = versions.iter().map(JoinedVersion::second_key).collect();
    let weighted = dimensions.into_iter().filter_map(|dimension| {
        let mix = counts(second, dimension, &keys);
        let strata: Vec<Strata<'_>> = pair
            .points
            .iter()
            .map(|point| {
                let key = versions[point.version].offline_key();
                strata(offline, dimension, &pair.offline, &key)
            })
            .collect();
        weight(dimension, &mix, &strata, pair)
    });
    weighted.collect()
}

/// A version's figures by stratum.
type Strata<'a> = BTreeMap<&'a str, Vec<&'a StratumFigure>>;

fn strata<'a>(
    side: &'a StudySide,
    dimension: &str,
    metric: &str,
    version: &VersionKey,
) -> Strata<'a> {
    let mut strata = Strata::new();
    for one in &side.strata {
        let is_version = one.version == version.0 && one.configuration == version.1;
        if one.dimension == dimension && one.metric == metric && is_version {
            strata.entry(&one.stratum).or_default().push(one);
        }
    }
    strata
}

fn weight(
    dimension: &'static str,
    mix: &BTreeMap<String, usize>,
    strata: &[Strata<'_>],
    pair: &MetricPair,
) -> Option<WeightedFigures> {
    let whole: usize = mix.values().sum();
    let covered: BTreeMap<&str, usize> = mix
        .iter()
        .filter(|(name, _)| strata.iter().all(|own| own.contains_key(name.as_str())))
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    let total: usize = covered.values().sum();
    if covered.len() < 2 || total == 0 {
        return None;
    }
    let shares: BTreeMap<String, f64> = covered
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count as f64 / total as f64))
        .collect();
    let correlate = |shares: &BTreeMap<String, f64>| -> Option<(Vec<Figure>, f64)> {
        let figures: Option<Vec<Figure>> = strata.iter().map(|own| combine(own, shares)).collect();
        let figures = figures?;
        let values: Option<Vec<(f64, f64)>> = figures
            .iter()
            .zip(&pair.points)
            .map(|(figure, point)| Some((figure.value()?, point.second.value)))
            .collect();
        let r = Coefficient::Pearson.correlate(&values?)?;
        Some((figures, r))
    };
    let (figures, weighted_r) = correlate(&shares)?;
    let without = shares.keys().filter_map(|name| {
        let mut rest = shares.clone();
        rest.remove(name);
        Some((name.clone(), correlate(&rest)?.1))
    });
    let best = without.max_by(|one, other| one.1.total_cmp(&other.1));
    let measured = figures
        .iter()
        .zip(&pair.points)
        .filter_map(|(figure, point)| Some((point.version, figure.measured(FigureUnit::Share)?)));
    Some(WeightedFigures {
        dimension,
        uncovered: 1.0 - total as f64 / whole as f64,
        figures: measured.collect(),
        raw_r: Coefficient::Pearson.correlate(&pair.values())?,
        weighted_r,
        disagreeing: best.filter(|(_, r)| *r > weighted_r + 0.01),
        shares,
    })
}

/// One figure of the strata, each of which counts as much as its share.
fn combine(strata: &Strata<'_>, shares: &BTreeMap<String, f64>) -> Option<Figure> {
    let whole: f64 = shares.values().sum();
    let mut rows: Vec<(String, f64, f64)> = Vec::new();
    for (name, share) in shares {
        let own: Vec<&(String, f64, f64)> = strata
            .get(name.as_str())?
            .iter()
            .flat_map(|one| &one.rows)
            .collect();
        let weight: f64 = own.iter().map(|row| row.1).sum();
        let scale = share / whole / weight;
        rows.extend(
            own.into_iter()
                .map(|(cluster, w, value)| (cluster.clone(), w * scale, *value)),
        );
    }
    (!rows.is_empty()).then(|| Figure::from_rows(rows))
}
