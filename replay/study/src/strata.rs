//! Figures within strata of the samples: those that go the other way than pooled, and holes
//! weighted to the mix that people see, which is post-stratification.

use std::collections::BTreeMap;

use fillrate_metrics::{Coefficient, exact_permutation_p, permutation_p_by_draws, sign_agreement};
use serde::Serialize;
use strum::VariantArray as _;

use super::figure::{Figure, MeasuredFigure};
use super::input::{SampleDimension, StudyError, StudySide};
use super::join::{JoinedVersion, VersionKey};
use super::mix::{SampleCounts, counts};
use super::{MetricPair, SideFigures, format};

/// The figures of both sides within the strata of each dimension.
pub(super) struct StratifiedFigures(Vec<(SampleDimension, SideFigures)>);

/// A stratum in which the figures of a pair go the other way than pooled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ContraryStratum {
    /// Name of the stratum, e.g. `python` or `kind api`.
    pub(super) name: String,
    /// Pearson's r within it.
    pub(super) r: f64,
    /// The number of versions.
    pub(super) versions: usize,
}

/// One-sided, the level at which a stratum by itself goes the other way beyond chance.
const LEVEL: f64 = 0.05;

impl StratifiedFigures {
    /// Pools the observations of both sides within each stratum.
    ///
    /// # Errors
    /// Values can't be pooled.
    pub(super) fn new(offline: &StudySide, second: &StudySide) -> Result<Self, StudyError> {
        let dimensions = SampleDimension::VARIANTS.iter().map(|&dimension| {
            let figures = SideFigures::pooled(offline, second, Some(dimension))?;
            Ok((dimension, figures))
        });
        dimensions.collect::<Result<_, _>>().map(Self)
    }

    /// The strata in which the figures of a pair go the other way than pooled, both by r and by
    /// most pairs of versions. Of a dimension other than the language, whose strata are many and
    /// small, they count if they hold half of the offline samples, or if one goes the other way
    /// beyond chance.
    pub(super) fn contrary(
        &self,
        versions: &[JoinedVersion],
        pooled: &MetricPair,
    ) -> Vec<ContraryStratum> {
        let Some(pooled_r) = pooled.pearson.map(|pearson| pearson.value) else {
            return Vec::new();
        };
        let mut contrary = Vec::new();
        for (dimension, figures) in &self.0 {
            let (mut all, mut against, mut beyond_chance) = (0.0, 0.0, false);
            let mut own = Vec::new();
            for stratum in figures.common_groups().into_iter().flatten() {
                let paired =
                    figures.paired(versions, Some(&stratum), &pooled.offline, &pooled.second);
                let values: Vec<(f64, f64)> = paired
                    .iter()
                    .filter_map(|one| {
                        Some((one.offline.figure.value()?, one.second.figure.value()?))
                    })
                    .collect();
                let Some(r) = Coefficient::Pearson.correlate(&values) else {
                    continue;
                };
                let samples = paired.iter().filter_map(|one| one.offline.figure.n());
                // Without any n, every stratum weighs the same.
                let samples = samples.sum::<usize>().max(1) as f64;
                all += samples;
                let signs = sign_agreement(&values);
                let (same, opposite) = match pooled_r > 0.0 {
                    true => (signs.agreeing, signs.disagreeing),
                    false => (signs.disagreeing, signs.agreeing),
                };
                // Two versions have an r of 1 or -1, whatever their figures are.
                if values.len() >= 3 && r * pooled_r < 0.0 && opposite > same {
                    against += samples;
                    // Half of the two-sided p, as the direction is given.
                    beyond_chance |= permutation_p(&values).is_some_and(|p| p / 2.0 <= LEVEL);
                    let name = match dimension {
                        SampleDimension::Language => stratum,
                        _ => format!("{} {stratum}", dimension.name()),
                    };
                    own.push(ContraryStratum {
                        name,
                        r,
                        versions: values.len(),
                    });
                }
            }
            let counts = *dimension == SampleDimension::Language;
            if counts || beyond_chance || against >= all / 2.0 {
                contrary.extend(own);
            }
        }
        contrary
    }

    /// Weights the offline figures of a pair to the second side's mix, by each dimension that both
    /// sides have. Dimensions with one stratum are left out.
    pub(super) fn weighted(
        &self,
        second: &StudySide,
        versions: &[JoinedVersion],
        pair: &MetricPair,
    ) -> Vec<WeightedFigures> {
        if pair.language.is_some() {
            return Vec::new();
        }
        let weighted = self.0.iter().filter_map(|(dimension, figures)| {
            let mix = mix_of_second(*dimension, figures, second, versions, pair);
            let strata: Vec<Strata<'_>> = pair
                .points
                .iter()
                .map(|point| {
                    let key = versions[point.version].offline_key();
                    figures.offline_strata(&key, &pair.offline)
                })
                .collect();
            weight(*dimension, &mix, &strata, pair)
        });
        weighted.collect()
    }
}

/// The two-sided p of Pearson's r, estimated where the versions are too many for all their orders.
fn permutation_p(values: &[(f64, f64)]) -> Option<f64> {
    let pearson = Coefficient::Pearson;
    let drawn = || permutation_p_by_draws(pearson, values, 9_999, 0);
    exact_permutation_p(pearson, values).or_else(drawn)
}

/// Number of samples of each stratum of the second side: completions that people saw, or the n of a
/// table's figures.
fn mix_of_second(
    dimension: SampleDimension,
    figures: &SideFigures,
    second: &StudySide,
    versions: &[JoinedVersion],
    pair: &MetricPair,
) -> SampleCounts {
    let keys: Vec<VersionKey> = versions.iter().map(JoinedVersion::second_key).collect();
    // Counts of what people saw are of all metrics; the n of a figure is of those it is defined for.
    let seen = counts(second, dimension, &keys);
    if !seen.is_empty() {
        return seen;
    }
    let mut stated = SampleCounts::new();
    for (key, pooled) in &figures.second {
        let is_joined = keys.contains(&(key.version.clone(), key.configuration.clone()));
        if let (true, Some(group), Some(n)) = (is_joined, &key.group, pooled.figure.n())
            && key.metric == pair.second
        {
            *stated.entry(group.clone()).or_default() += n;
        }
    }
    stated
}

/// The main offline figure with the holes of each stratum weighted to the second side's share of
/// it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightedFigures {
    /// The dimension.
    pub dimension: SampleDimension,
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
            self.dimension.name(),
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

/// A version's figures by stratum.
pub(super) type Strata<'a> = BTreeMap<&'a str, &'a Figure>;

fn weight(
    dimension: SampleDimension,
    mix: &SampleCounts,
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
        // Without one stratum, the other shares no longer add up to 1.
        let whole: f64 = shares.values().sum();
        let combine = |own: &Strata<'_>| {
            let parts: Option<Vec<(&Figure, f64)>> = shares
                .iter()
                .map(|(name, share)| Some((*own.get(name.as_str())?, share / whole)))
                .collect();
            Figure::weighted(&parts?, pair.offline_unit)
        };
        let figures: Vec<Figure> = strata.iter().map(combine).collect::<Option<_>>()?;
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
        .filter_map(|(figure, point)| Some((point.version, figure.measured(pair.offline_unit)?)));
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
