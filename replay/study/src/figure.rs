//! Figures with their errors and intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use fillrate_metrics::{
    CONFIDENCE, ClusterTotal, Metric, SampledFigure, Unit, effective_share_bounds, share_bounds,
    student_quantile, wilson_bounds,
};
use serde::Serialize;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureUnit {
    /// A share from 0 to 1, printed in %.
    Share,
    /// A fraction that is saved, printed in %: at most 1, and negative if more is spent instead.
    Saving,
    /// Milliseconds.
    Milliseconds,
    /// As a table states it, printed unchanged.
    Plain,
}

impl FigureUnit {
    /// The unit of values between 0 and 1 of a metric.
    pub(super) fn of_fraction(metric: Metric) -> Self {
        match metric.unit {
            Unit::Saving => Self::Saving,
            _ => Self::Share,
        }
    }

    /// The least and the greatest value.
    pub(super) fn range(self) -> RangeInclusive<f64> {
        match self {
            Self::Share => 0.0..=1.0,
            Self::Saving => f64::NEG_INFINITY..=1.0,
            Self::Milliseconds | Self::Plain => f64::NEG_INFINITY..=f64::INFINITY,
        }
    }

    /// True if values are printed in %.
    pub(super) fn is_percent(self) -> bool {
        matches!(self, Self::Share | Self::Saving)
    }
}

/// A figure's value, and its rows or its stated error.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The rows themselves, summed by cluster. The value is Σ sum / Σ weight.
    Sampled {
        /// The clusters by name. A name is the same for every version that has the cluster, so that
        /// two versions on the same holes are compared hole by hole.
        clusters: BTreeMap<String, ClusterTotal>,
        /// The number of rows.
        n: usize,
        /// The spread of the rows.
        spread: RowSpread,
    },
    /// A value without its rows.
    Stated(StatedFigure),
}

/// A figure as a table states it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedFigure {
    /// The value.
    pub value: f64,
    /// Its standard error, if stated.
    pub error: Option<f64>,
    /// The number of rows behind it, if stated.
    pub n: Option<usize>,
    /// The number of clusters that the rows come in, if stated.
    pub clusters: Option<usize>,
    /// Ratio of the variance to that of n independent rows, if stated (Kish 1965).
    pub design_effect: Option<f64>,
    /// The correlation of its error with that of another version on the same holes, if stated.
    pub correlation: Option<f64>,
}

impl StatedFigure {
    /// The number of independent rows that say as much.
    fn effective_n(&self) -> Option<f64> {
        Some(self.n? as f64 / self.design_effect.unwrap_or(1.0))
    }

    /// The interval of a share whose error is not stated: Wilson's, with the effective number of
    /// rows, and the degrees of freedom that the clusters allow.
    fn share_bounds(&self) -> Option<(f64, f64)> {
        let n = self.n?;
        if self.clusters.is_none() && self.design_effect.is_none() {
            return wilson_bounds(self.value, n);
        }
        effective_share_bounds(self.value, self.effective_n()?, self.clusters.unwrap_or(n))
    }
}

/// Sums over rows of weights and values, from which the error of independent rows follows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowSpread {
    /// Σ weight².
    weights: f64,
    /// Σ weight² · value.
    values: f64,
    /// Σ weight² · value².
    squares: f64,
}

impl RowSpread {
    fn add_row(&mut self, weight: f64, value: f64) {
        let square = weight * weight;
        self.weights += square;
        self.values += square * value;
        self.squares += square * value * value;
    }

    /// Adds the sums of other rows.
    pub(super) fn add(&mut self, other: Self) {
        self.weights += other.weights;
        self.values += other.values;
        self.squares += other.squares;
    }

    /// The sums of rows whose weights are multiplied by a factor.
    fn scaled(self, factor: f64) -> Self {
        let square = factor * factor;
        Self {
            weights: self.weights * square,
            values: self.values * square,
            squares: self.squares * square,
        }
    }

    /// The standard error of the rows' mean, of this total weight, if they were independent.
    fn independent_error(self, mean: f64, weight: f64) -> f64 {
        // This is Σ weight² (value − mean)², expanded.
        let squares = self.squares - 2.0 * mean * self.values + mean * mean * self.weights;
        // Rounding can make the sum of equal values slightly negative.
        squares.max(0.0).sqrt() / weight
    }
}

impl Figure {
    /// Sums rows of cluster, weight and value.
    pub fn from_rows<K: Into<String>>(rows: impl IntoIterator<Item = (K, f64, f64)>) -> Self {
        let mut clusters: BTreeMap<String, ClusterTotal> = BTreeMap::new();
        let mut n = 0;
        let mut spread = RowSpread::default();
        for (cluster, weight, value) in rows {
            let cluster = clusters.entry(cluster.into()).or_default();
            cluster.sum += weight * value;
            cluster.weight += weight;
            spread.add_row(weight, value);
            n += 1;
        }
        Self::Sampled {
            clusters,
            n,
            spread,
        }
    }

    /// One figure of several parts, each of which counts as much as its share. The shares add up
    /// to 1. `None` if some parts have their rows and others do not, or one has none.
    pub(super) fn weighted(parts: &[(&Self, f64)], unit: FigureUnit) -> Option<Self> {
        let mut whole: BTreeMap<String, ClusterTotal> = BTreeMap::new();
        let (mut rows, mut sums) = (0, RowSpread::default());
        let (mut mean, mut variance) = (0.0, Some(0.0));
        for (part, share) in parts {
            match part {
                Self::Sampled {
                    clusters,
                    n,
                    spread,
                } => {
                    let weight: f64 = clusters.values().map(|cluster| cluster.weight).sum();
                    // The weights of a part's clusters then add up to the part's share.
                    let scale = share / weight;
                    for (name, cluster) in clusters {
                        let of_whole = whole.entry(name.clone()).or_default();
                        of_whole.sum += cluster.sum * scale;
                        of_whole.weight += cluster.weight * scale;
                    }
                    rows += n;
                    sums.add(spread.scaled(scale));
                }
                Self::Stated(stated) => {
                    mean += share * stated.value;
                    variance = variance
                        .zip(part.error(unit))
                        .map(|(sum, error)| sum + (share * error).powi(2));
                }
            }
        }
        let sampled = parts
            .iter()
            .filter(|(part, _)| matches!(part, Self::Sampled { .. }));
        match sampled.count() {
            0 if !parts.is_empty() => Some(Self::Stated(StatedFigure {
                value: mean,
                error: variance.map(f64::sqrt),
                n: parts.iter().map(|(part, _)| part.n()).sum(),
                ..StatedFigure::default()
            })),
            count if count == parts.len() && rows > 0 => Some(Self::Sampled {
                clusters: whole,
                n: rows,
                spread: sums,
            }),
            _ => None,
        }
    }

    /// The value; `None` without rows.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Sampled { .. } => self.drawable(FigureUnit::Plain).value(),
            Self::Stated(stated) => Some(stated.value),
        }
    }

    /// The number of rows behind it, if known.
    pub fn n(&self) -> Option<usize> {
        match self {
            Self::Sampled { n, .. } => Some(*n),
            Self::Stated(stated) => stated.n,
        }
    }

    /// The number of clusters that its rows come in, if known.
    fn clusters(&self) -> Option<usize> {
        match self {
            Self::Sampled { clusters, .. } => Some(clusters.len()),
            Self::Stated(stated) => stated.clusters,
        }
    }

    /// Its standard error: clustered if it has rows; for a stated share without an error, that of n
    /// independent outcomes (Agresti and Coull 1998,
    /// <https://doi.org/10.1080/00031305.1998.10480550>). `None` if unknown.
    pub(super) fn error(&self, unit: FigureUnit) -> Option<f64> {
        match self {
            Self::Sampled { .. } => {
                let influences = self.influences()?;
                let squares = influences.values().map(|influence| influence * influence);
                Some(squares.sum::<f64>().sqrt())
            }
            Self::Stated(stated) if stated.error.is_some() => stated.error,
            Self::Stated(stated) if unit == FigureUnit::Share => {
                let n = stated.effective_n()?;
                // Two successes and two failures are added, so that a share of 0 or 1 has an error
                // too.
                let share = (stated.value * n + 2.0) / (n + 4.0);
                Some((share * (1.0 - share) / (n + 4.0)).sqrt())
            }
            Self::Stated(_) => None,
        }
    }

    /// The value with its interval and its n.
    pub(super) fn measured(&self, unit: FigureUnit) -> Option<MeasuredFigure> {
        let value = self.value()?;
        let error = self.error(unit);
        let (low, high) = self.bounds(value, unit, error).unzip();
        Some(MeasuredFigure {
            value,
            error,
            low,
            high,
            n: self.n(),
            clusters: self.clusters(),
        })
    }

    fn bounds(&self, value: f64, unit: FigureUnit, error: Option<f64>) -> Option<(f64, f64)> {
        // Half of what the confidence leaves is at either end.
        let (tail, is_share) = (f64::midpoint(CONFIDENCE, 1.0), unit == FigureUnit::Share);
        let range = unit.range();
        let cut_to_range =
            |(low, high): (f64, f64)| (low.max(*range.start()), high.min(*range.end()));
        match self {
            Self::Sampled {
                clusters, spread, ..
            } if is_share => {
                let weight = clusters.values().map(|cluster| cluster.weight).sum();
                // A few clusters may agree by chance, and then show less error than independent
                // rows have.
                let error = error?.max(spread.independent_error(value, weight));
                share_bounds(value, error, clusters.len())
            }
            Self::Sampled { clusters, .. } => {
                let freedom = clusters.len() as f64 - 1.0;
                let half = student_quantile(tail, freedom)? * error?;
                Some(cut_to_range((value - half, value + half)))
            }
            Self::Stated(stated) if is_share && stated.error.is_none() => stated.share_bounds(),
            Self::Stated(stated) => {
                // With this number of degrees of freedom Student's t is the normal distribution.
                let freedom = stated
                    .clusters
                    .map_or(1e6, |clusters| clusters as f64 - 1.0);
                let half = student_quantile(tail, freedom)? * error?;
                Some(cut_to_range((value - half, value + half)))
            }
        }
    }

    /// Returns the distribution that a bootstrap draws from.
    pub(super) fn drawable(&self, unit: FigureUnit) -> SampledFigure {
        match self {
            Self::Sampled { clusters, .. } => {
                SampledFigure::Clusters(clusters.values().copied().collect())
            }
            Self::Stated(stated) => SampledFigure::Normal {
                value: stated.value,
                // Without a known error, only the choice of versions varies between draws.
                error: self.error(unit).unwrap_or(0.0),
            },
        }
    }

    /// Each cluster's influence on the value. The sum of the squares is the square of the clustered
    /// standard error: see
    /// [`clustered_standard_error`](fillrate_metrics::clustered_standard_error). `None` with fewer
    /// than two clusters.
    fn influences(&self) -> Option<BTreeMap<&str, f64>> {
        let Self::Sampled { clusters, .. } = self else {
            return None;
        };
        let count = clusters.len() as f64;
        let value = self.value().filter(|_| count >= 2.0)?;
        let whole: f64 = clusters.values().map(|cluster| cluster.weight).sum();
        // The factor k / (k − 1) corrects the variance for few clusters.
        let scale = (count / (count - 1.0)).sqrt() / whole;
        let influences = clusters.iter().map(|(name, cluster)| {
            (
                name.as_str(),
                scale * (cluster.sum - value * cluster.weight),
            )
        });
        Some(influences.collect())
    }
}

/// A figure as reports print it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredFigure {
    /// The value.
    pub value: f64,
    /// Its standard error, if known.
    pub error: Option<f64>,
    /// The lower end of its interval, if known.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The number of rows behind it, if known.
    pub n: Option<usize>,
    /// The number of clusters that they come in, if known.
    pub clusters: Option<usize>,
}

/// The part of the variance between versions that is measurement error: the mean over pairs of
/// versions of half the squared error of their difference. An effect that all versions share, such
/// as a hard hole, is not an error between them. If versions share no cluster, this is the mean of
/// the squared standard errors.
///
/// `None` if an error is unknown, or with fewer than two figures.
pub(super) fn error_variance(figures: &[(&Figure, FigureUnit)]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (at, (one, unit)) in figures.iter().enumerate() {
        for (other, other_unit) in &figures[..at] {
            let squared = match (one.influences(), other.influences()) {
                (Some(one), Some(other)) => {
                    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
                    let at = |influences: &BTreeMap<&str, f64>, name| {
                        *influences.get(name).unwrap_or(&0.0)
                    };
                    let apart = names
                        .into_iter()
                        .map(|name| at(&one, name) - at(&other, name));
                    apart.map(|apart| apart * apart).sum::<f64>()
                }
                _ => {
                    let (first, second) = (one.error(*unit)?, other.error(*other_unit)?);
                    let shared = 2.0 * stated_correlation(one, other) * first * second;
                    first.powi(2) + second.powi(2) - shared
                }
            };
            sum += squared / 2.0;
            count += 1.0;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// The correlation of the errors of two stated figures, 0 unless both tables say one.
fn stated_correlation(one: &Figure, other: &Figure) -> f64 {
    match (one, other) {
        (Figure::Stated(one), Figure::Stated(other)) => {
            let both = one.correlation.zip(other.correlation);
            both.map_or(0.0, |(one, other)| one.min(other))
        }
        _ => 0.0,
    }
}

/// True if two figures differ beyond chance: the interval of their difference excludes 0. `None` if
/// an error is unknown.
pub(super) fn differ(one: (&Figure, FigureUnit), other: (&Figure, FigureUnit)) -> Option<bool> {
    let variance = error_variance(&[one, other])?;
    let difference = (one.0.value()? - other.0.value()?).abs();
    // The error variance is half the variance of the difference, and the number is the 97.5 %
    // quantile of the normal distribution.
    Some(difference > 1.959_963_984_540_054 * (2.0 * variance).sqrt())
}
