//! Intervals for Pearson's r that hold with few pairs: of the figures as they were measured, and
//! of what they would be without the error of measuring them.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::bootstrap::{ModelVersion, SampledFigure, two_level_bootstrap};
use super::coefficient::{Coefficient, two_normals};
use super::covariance::CovarianceRoot;
use crate::interval::proportion::wilson;
use crate::interval::quantile::interpolate;
use crate::interval::{Estimate, TAIL};

/// The greatest |r| that an interval is calculated from: figures have about three digits.
const GREATEST_R: f64 = 0.9995;

/// Pearson's r of these pairs with an interval for the correlation of the population that they
/// were drawn from, of figures measured as these were.
///
/// If both sides are normally distributed, the interval is exact for any number of pairs from three
/// up: its bounds are the quantiles of Fisher's distribution of ρ given r, for which ρ/√(1−ρ²) is
/// (r/√(1−r²) · χ(n−2) − Z) / χ(n−1) (Fisher 1930, <https://doi.org/10.1017/S0305004100016297>).
/// They are found from `draws` of that distribution; equal seeds give equal values. The usual
/// interval by Fisher's z has an error of approximation that matters below ten pairs.
///
/// `None` for fewer than three pairs or draws, or if r is not defined.
pub fn pearson_interval(pairs: &[(f64, f64)], draws: u32, seed: u64) -> Option<Estimate> {
    latent_correlation(pairs, (0.0, 0.0), draws, seed).map(|latent| Estimate {
        value: Coefficient::Pearson
            .correlate(pairs)
            .unwrap_or(latent.value),
        ..latent
    })
}

/// The correlation that the two sides would have without the error of measuring them, whose
/// variances are `noise`: the covariance less the error, the attenuation-corrected r, with an
/// interval.
///
/// The interval is a generalised one (Weerahandi 1993,
/// <https://doi.org/10.1080/01621459.1993.10476355>): covariance matrices are drawn from what the
/// pairs leave possible, by Bartlett's decomposition, the error is taken from their diagonals, and
/// the quantiles of the correlations that are left are its bounds. A matrix that the error leaves
/// without a variance could have any correlation, so it counts as below the lower bound and above
/// the upper one. With few pairs and much error the interval is all of −1 to 1: then the pairs
/// decide nothing. Without error it is [`pearson_interval`]'s.
///
/// Pairs on a line leave no variance that an interval could come from, and yet do not prove that
/// the next pair is on it. So the interval is that of an r of at most .9995, with r itself.
///
/// It holds if figures and errors are normally distributed, the errors of the two sides are
/// independent, and their variances are known. The value may be beyond ±1 by chance and is not
/// clipped; it is r itself if the error leaves no variance.
///
/// `None` for fewer than three pairs, none of the draws, or if r is not defined.
pub fn latent_correlation(
    pairs: &[(f64, f64)],
    noise: (f64, f64),
    draws: u32,
    seed: u64,
) -> Option<Estimate> {
    let r = Coefficient::Pearson.correlate(pairs)?;
    if pairs.len() < 3 || draws == 0 {
        return None;
    }
    let scatter = |side: &dyn Fn(&(f64, f64)) -> f64| {
        let mean = pairs.iter().map(side).sum::<f64>() / pairs.len() as f64;
        let squares = pairs.iter().map(|pair| (side(pair) - mean).powi(2));
        squares.sum::<f64>()
    };
    let scatters = (scatter(&|pair| pair.0), scatter(&|pair| pair.1));
    let freedom = pairs.len() - 1;
    // The share of the variance, scatter / freedom, that is not error.
    let kept = |scatter: f64, noise: f64| 1.0 - noise * freedom as f64 / scatter;
    // With `max`, two negative shares have no positive product.
    let kept = kept(scatters.0, noise.0) * kept(scatters.1, noise.1).max(0.0);
    let value = if kept > 0.0 { r / kept.sqrt() } else { r };

    let measured = r;
    let r = r.clamp(-GREATEST_R, GREATEST_R);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for draw in 0..draws {
        // The decomposition takes one side first; each does in half of the draws.
        let swapped = draw % 2 == 1;
        let turn = |(one, other): (f64, f64)| if swapped { (other, one) } else { (one, other) };
        let ((first, second), noise) = (turn(scatters), turn(noise));
        let root_second = second.sqrt();
        let observed = CovarianceRoot {
            corner: first.sqrt(),
            below: r * root_second,
            end: (1.0 - r * r).max(0.0).sqrt() * root_second,
        };
        let (first, product, second) = observed.draw(freedom, &mut random).covariance();
        let variances = (first - noise.0, second - noise.1);
        let possible = variances.0 > 0.0 && variances.1 > 0.0;
        let correlation = product / (variances.0.sqrt() * variances.1.sqrt());
        let correlation = Some(correlation.clamp(-1.0, 1.0)).filter(|_| possible);
        lows.push(correlation.unwrap_or(-1.0));
        highs.push(correlation.unwrap_or(1.0));
    }
    // The interval of an r beyond the greatest extends to the end of the range, so it contains r.
    let bound = |bound: Option<f64>, end: f64| match end * measured > GREATEST_R {
        true => Some(end),
        false => bound,
    };
    lows.sort_by(f64::total_cmp);
    highs.sort_by(f64::total_cmp);
    Some(Estimate {
        value,
        low: bound(interpolate(&lows, TAIL), -1.0),
        high: bound(interpolate(&highs, 1.0 - TAIL), 1.0),
        n: pairs.len(),
        clusters: None,
    })
}

/// Returns the share of simulated studies of `versions` versions in which the interval of
/// [`two_level_bootstrap`] contains the population's coefficient, with Wilson's interval for the
/// number of `studies`: the actual coverage of its nominal 95 %. Versions are drawn from the
/// bivariate normal distribution with the correlation `r` of figures as they are measured; of each
/// side, the share `noise` of the variance is error of measurement, which is drawn anew with the
/// versions. Equal seeds give equal values.
///
/// The population's Spearman is 6/π · asin(r/2) and its Kendall 2/π · asin r, as for any bivariate
/// normal distribution.
///
/// `None` for r or a share out of range, fewer than three versions, or no studies.
pub fn bootstrap_coverage(
    coefficient: Coefficient,
    r: f64,
    versions: usize,
    noise: (f64, f64),
    studies: usize,
    draws: u32,
    seed: u64,
) -> Option<Estimate> {
    let share = 0.0..=1.0;
    let valid = share.contains(&noise.0) && share.contains(&noise.1);
    if !(-1.0..=1.0).contains(&r) || !valid || versions < 3 {
        return None;
    }
    let truth = match coefficient {
        Coefficient::Pearson => r,
        Coefficient::Spearman => 6.0 / std::f64::consts::PI * (r / 2.0).asin(),
        Coefficient::Kendall => 2.0 / std::f64::consts::PI * r.asin(),
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut holding, mut all) = (0, 0);
    for study in 0..studies {
        let drawn: Vec<ModelVersion> = (0..versions)
            .map(|_| {
                let (first, other) = two_normals(&mut random);
                let second = r * first + (1.0 - r * r).sqrt() * other;
                let figure = |value: f64, noise: f64| SampledFigure::Normal {
                    value,
                    error: noise.sqrt(),
                };
                ModelVersion {
                    offline: figure(first, noise.0),
                    online: figure(second, noise.1),
                }
            })
            .collect();
        // Each study's bootstrap has a seed of its own.
        let found = two_level_bootstrap(&drawn, coefficient, draws, seed ^ study as u64);
        if let Some(found) = found {
            let Estimate { low, high, .. } = found.estimate;
            let holds = low.is_some_and(|low| low <= truth) && high.is_some_and(|it| it >= truth);
            holding += usize::from(holds);
            all += 1;
        }
    }
    wilson(holding, all)
}
