//! An interval for a correlation over model versions, each of which was itself only sampled.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::coefficient::{Coefficient, two_normals};
use crate::interval::quantile::interpolate;
use crate::interval::{Estimate, TAIL};

/// Observed figures of one model version.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelVersion {
    /// Offline, by cluster: of each file the holes' scores.
    pub offline: SampledFigure,
    /// Online, by cluster: of each user whether they accepted what they were shown.
    pub online: SampledFigure,
}

/// One figure of a version, with the data for drawing it anew.
#[derive(Debug, Clone, PartialEq)]
pub enum SampledFigure {
    /// Its clusters: the figure is Σ sum / Σ weight, and clusters are drawn with replacement.
    Clusters(Vec<ClusterTotal>),
    /// The figure and its standard error alone: draws are normal about it.
    Normal {
        /// The figure.
        value: f64,
        /// Its standard error, at least 0; 0 draws nothing anew.
        error: f64,
    },
}

/// Samples that are not independent of each other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClusterTotal {
    /// The sum of its samples, each times its weight.
    pub sum: f64,
    /// The sum of the weights: the number of samples if all count alike.
    pub weight: f64,
}

impl SampledFigure {
    /// The figure as observed; `None` without samples.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Clusters(clusters) => ratio(clusters.iter().copied()),
            Self::Normal { value, .. } => Some(*value),
        }
    }

    fn drawn(&self, random: &mut ChaCha8Rng) -> Option<f64> {
        match self {
            Self::Clusters(clusters) => {
                let draws = 0..clusters.len();
                ratio(draws.map(|_| clusters[random.random_range(0..clusters.len())]))
            }
            Self::Normal { value, error } if *error > 0.0 => {
                Some(value + error * two_normals(random).0)
            }
            Self::Normal { value, .. } => Some(*value),
        }
    }
}

/// Result of [`two_level_bootstrap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The value with its percentile interval; n is the number of versions.
    pub estimate: Estimate,
    /// Number of draws.
    pub draws: u32,
    /// Draws in which a coefficient was not defined, for instance because one version was
    /// drawn each time. They are left out of the interval.
    pub undefined: u32,
}

/// Result of [`correlation_gain`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrelationGain {
    /// The coefficient with the versions' own offline figures.
    pub own: f64,
    /// The coefficient with the other offline figures.
    pub other: f64,
    /// The second minus the first.
    pub gain: Bootstrap,
}

/// A coefficient between the versions' offline and online figures, with a percentile interval
/// from a bootstrap on two levels: versions are drawn with replacement, then, within each drawn
/// one, its offline clusters and its online clusters (Davison and Hinkley 1997, §3.8).
///
/// Clusters are drawn for each version by itself. If all versions had the same holes, that makes
/// the interval rather too wide. With few versions that are measured well it is too narrow: four
/// give only 35 sets. If the error of measuring is as large as the differences it is too wide, as
/// it draws that error a second time. [`bootstrap_coverage`](crate::bootstrap_coverage) gives the
/// share of studies in which it contains the population's coefficient. Equal seeds give equal
/// values.
///
/// `None` if the coefficient is not defined for the versions as they are, or in no draw.
pub fn two_level_bootstrap(
    versions: &[ModelVersion],
    coefficient: Coefficient,
    draws: u32,
    seed: u64,
) -> Option<Bootstrap> {
    let whole: Option<Vec<(f64, f64)>> = versions
        .iter()
        .map(|version| Some((version.offline.value()?, version.online.value()?)))
        .collect();
    let value = coefficient.correlate(&whole?)?;
    percentile_interval(value, versions.len(), draws, seed, |random| {
        let pairs: Option<Vec<(f64, f64)>> = versions
            .iter()
            .map(|_| {
                let version = &versions[random.random_range(0..versions.len())];
                let offline = version.offline.drawn(random);
                let online = version.online.drawn(random);
                Some((offline?, online?))
            })
            .collect();
        coefficient.correlate(&pairs?)
    })
}

/// Compares two offline figures of the same versions by their coefficient with the online figures,
/// as [`two_level_bootstrap`] does one: `others` has the other offline figure of each version. A
/// draw of versions is the same for both coefficients; their clusters are drawn by themselves, so
/// errors that the two figures share make the interval too wide.
///
/// `None` if there is not one other figure for each version, if a coefficient is not defined for
/// the versions as they are, or in no draw.
pub fn correlation_gain(
    versions: &[ModelVersion],
    others: &[SampledFigure],
    coefficient: Coefficient,
    draws: u32,
    seed: u64,
) -> Option<CorrelationGain> {
    if others.len() != versions.len() {
        return None;
    }
    let correlate = |figures: Option<Vec<(f64, f64, f64)>>| {
        let figures = figures?;
        let own: Vec<(f64, f64)> = figures.iter().map(|it| (it.0, it.2)).collect();
        let other: Vec<(f64, f64)> = figures.iter().map(|it| (it.1, it.2)).collect();
        coefficient
            .correlate(&own)
            .zip(coefficient.correlate(&other))
    };
    let whole = versions.iter().zip(others).map(|(version, other)| {
        let offline = version.offline.value()?;
        Some((offline, other.value()?, version.online.value()?))
    });
    let (own, other) = correlate(whole.collect())?;
    let gain = percentile_interval(other - own, versions.len(), draws, seed, |random| {
        let drawn = versions.iter().map(|_| {
            let at = random.random_range(0..versions.len());
            let offline = versions[at].offline.drawn(random);
            let other = others[at].drawn(random);
            let online = versions[at].online.drawn(random);
            Some((offline?, other?, online?))
        });
        let (own, other) = correlate(drawn.collect())?;
        Some(other - own)
    })?;
    Some(CorrelationGain { own, other, gain })
}

/// A value of versions with the percentile interval of draws of it.
fn percentile_interval(
    value: f64,
    versions: usize,
    draws: u32,
    seed: u64,
    mut draw: impl FnMut(&mut ChaCha8Rng) -> Option<f64>,
) -> Option<Bootstrap> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // A draw without a value adds nothing and is counted as `undefined` below.
    let mut drawn: Vec<f64> = (0..draws).filter_map(|_| draw(&mut random)).collect();
    drawn.sort_by(f64::total_cmp);
    Some(Bootstrap {
        estimate: Estimate {
            value,
            low: Some(interpolate(&drawn, TAIL)?),
            high: Some(interpolate(&drawn, 1.0 - TAIL)?),
            n: versions,
            clusters: None,
        },
        draws,
        undefined: draws - u32::try_from(drawn.len()).ok()?,
    })
}

fn ratio(clusters: impl Iterator<Item = ClusterTotal>) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for cluster in clusters {
        sum += cluster.sum;
        weight += cluster.weight;
    }
    (weight > 0.0).then(|| sum / weight)
}
