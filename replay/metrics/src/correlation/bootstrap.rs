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
    /// The coefficient with its percentile interval; n is the number of versions.
    pub estimate: Estimate,
    /// Number of draws.
    pub draws: u32,
    /// Draws in which the coefficient was not defined, for instance because one version was
    /// drawn each time. They are left out of the interval.
    pub undefined: u32,
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
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = Vec::new();
    for _ in 0..draws {
        let pairs: Option<Vec<(f64, f64)>> = versions
            .iter()
            .map(|_| {
                let version = &versions[random.random_range(0..versions.len())];
                let offline = version.offline.drawn(&mut random);
                let online = version.online.drawn(&mut random);
                Some((offline?, online?))
            })
            .collect();
        // A draw without a coefficient adds nothing and is counted as `undefined` below.
        drawn.extend(pairs.and_then(|pairs| coefficient.correlate(&pairs)));
    }
    drawn.sort_by(f64::total_cmp);
    Some(Bootstrap {
        estimate: Estimate {
            value,
            low: Some(interpolate(&drawn, TAIL)?),
            high: Some(interpolate(&drawn, 1.0 - TAIL)?),
            n: versions.len(),
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
