//! An interval for a correlation over model versions, each of which was itself only sampled.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Coefficient, Estimate, TAIL};

/// What was seen of one model version.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// Offline, by cluster: of each file the holes' scores.
    pub offline: Vec<Vec<f64>>,
    /// Online, by cluster: of each user whether they accepted what they were shown.
    pub online: Vec<Vec<f64>>,
}

/// What [`two_level_bootstrap`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The coefficient with its percentile interval; n is the number of versions.
    pub estimate: Estimate,
    /// How often was drawn.
    pub draws: u32,
    /// Draws in which the coefficient was not defined, for instance because one version was
    /// drawn each time. They are left out of the interval.
    pub undefined: u32,
}

/// A coefficient between the versions' offline and online means, with a percentile interval from
/// a bootstrap on two levels: versions are drawn with replacement, then, within each drawn one,
/// its offline clusters and its online clusters (Davison and Hinkley 1997, §3.8). A mean weighs
/// every sample alike.
///
/// Clusters are drawn for each version by itself. Where all versions had the same holes, that
/// makes the interval rather too wide. With few versions it is too narrow all the same: four give
/// only 35 sets. Equal seeds give equal values.
///
/// `None` if the coefficient is not defined for the versions as they are, or in no draw.
pub fn two_level_bootstrap(
    versions: &[Version],
    coefficient: Coefficient,
    draws: u32,
    seed: u64,
) -> Option<Bootstrap> {
    let whole: Option<Vec<(f64, f64)>> = versions
        .iter()
        .map(|version| Some((mean(&version.offline)?, mean(&version.online)?)))
        .collect();
    let value = coefficient.of(&whole?)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = Vec::new();
    for _ in 0..draws {
        let pairs: Option<Vec<(f64, f64)>> = versions
            .iter()
            .map(|_| {
                let version = &versions[random.random_range(0..versions.len())];
                let offline = drawn_mean(&version.offline, &mut random);
                let online = drawn_mean(&version.online, &mut random);
                Some((offline?, online?))
            })
            .collect();
        drawn.extend(pairs.and_then(|pairs| coefficient.of(&pairs)));
    }
    drawn.sort_by(f64::total_cmp);
    Some(Bootstrap {
        estimate: Estimate {
            value,
            low: Some(percentile(&drawn, TAIL)?),
            high: Some(percentile(&drawn, 1.0 - TAIL)?),
            n: versions.len(),
        },
        draws,
        undefined: draws - u32::try_from(drawn.len()).ok()?,
    })
}

/// The mean of all samples; `None` without any.
fn mean(clusters: &[Vec<f64>]) -> Option<f64> {
    mean_of(clusters.iter())
}

/// The mean of as many clusters as there are, drawn with replacement.
fn drawn_mean(clusters: &[Vec<f64>], random: &mut ChaCha8Rng) -> Option<f64> {
    mean_of((0..clusters.len()).map(|_| &clusters[random.random_range(0..clusters.len())]))
}

fn mean_of<'a>(clusters: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0_usize);
    for cluster in clusters {
        sum += cluster.iter().sum::<f64>();
        n += cluster.len();
    }
    (n > 0).then(|| sum / n as f64)
}

/// The value below which the share `p` of sorted values lies, between neighbours in a straight
/// line.
fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * p;
    let (left, right) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(left + (right - left) * place.fract())
}
