//! Cost of choosing a version by its first figure.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::coefficient::{centred, two_normals};
use super::covariance::CovarianceRoot;
use crate::interval::quantile::interpolate;
use crate::interval::{Estimate, TAIL};

/// The result of choosing the version with the largest first figure, on the second side.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Selection {
    /// The index of the chosen version.
    pub chosen: usize,
    /// The probability that its true second figure is the largest of these versions.
    pub probability: f64,
    /// Expected difference between the largest true second figure and the chosen version's, with a
    /// 95 % range.
    pub regret: Estimate,
}

/// Chooses by the first figures and judges by the second ones, whose true values are drawn given
/// both measured figures.
///
/// The true figures are bivariate normal and the errors, of the variances `noise`, independent.
/// Covariance matrices are drawn from what the pairs leave possible by the decomposition of
/// [`latent_correlation`](crate::latent_correlation), which here always takes the first side first,
/// and means given them. The error is taken from the diagonals, down to 0, and a covariance beyond
/// what is left is cut to it. Then the true second figures follow from the measured ones by the
/// normal regression: an exceptional figure that is mostly error counts as such. Equal seeds give
/// equal values.
///
/// `None` for fewer than three pairs or no draws, if a side does not vary, if several versions have
/// the largest first figure, or if the second side has no error, since then the winner is known.
pub fn selection(
    pairs: &[(f64, f64)],
    noise: (f64, f64),
    draws: u32,
    seed: u64,
) -> Option<Selection> {
    if pairs.len() < 3 || draws == 0 || noise.1 <= 0.0 {
        return None;
    }
    let observed = MeasuredMoments::new(pairs)?;
    let largest = pairs.iter().map(|pair| pair.0).fold(f64::MIN, f64::max);
    let mut first = (0..pairs.len()).filter(|at| pairs[*at].0 >= largest);
    // Of equal figures, the order in which they are given would choose.
    let (Some(chosen), None) = (first.next(), first.next()) else {
        return None;
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut wins, mut regrets) = (0_u32, Vec::with_capacity(draws as usize));
    for _ in 0..draws {
        let population = observed.draw(&mut random);
        let truth = population.draw_second(pairs, noise, &mut random);
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let regret = best - truth[chosen];
        wins += u32::from(regret <= 0.0);
        regrets.push(regret);
    }
    let mean = regrets.iter().sum::<f64>() / f64::from(draws);
    regrets.sort_by(f64::total_cmp);
    Some(Selection {
        chosen,
        probability: f64::from(wins) / f64::from(draws),
        regret: Estimate {
            value: mean,
            low: interpolate(&regrets, TAIL),
            high: interpolate(&regrets, 1.0 - TAIL),
            n: pairs.len(),
            clusters: None,
        },
    })
}

/// The means of measured figures, and the root of their sums of products.
#[derive(Clone, Copy, Debug)]
struct MeasuredMoments {
    n: usize,
    means: (f64, f64),
    root: CovarianceRoot,
}

impl MeasuredMoments {
    fn new(pairs: &[(f64, f64)]) -> Option<Self> {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (first_mean, firsts) = centred(&first);
        let (second_mean, seconds) = centred(&second);
        let (mut first, mut product, mut second) = (0.0, 0.0, 0.0);
        for (one, other) in firsts.into_iter().zip(seconds) {
            first += one * one;
            product += one * other;
            second += other * other;
        }
        if first <= 0.0 || second <= 0.0 {
            return None;
        }
        let corner = first.sqrt();
        let below = product / corner;
        Some(Self {
            n: pairs.len(),
            means: (first_mean, second_mean),
            root: CovarianceRoot {
                corner,
                below,
                end: (second - below * below).max(0.0).sqrt(),
            },
        })
    }

    /// Draws a population that the measured figures may come from.
    fn draw(&self, random: &mut ChaCha8Rng) -> Population {
        let root = self.root.draw(self.n - 1, random);
        let (first, second) = two_normals(random);
        // The mean of n figures has the population's covariance divided by n.
        let scale = (self.n as f64).sqrt();
        Population {
            means: (
                self.means.0 + root.corner * first / scale,
                self.means.1 + (root.below * first + root.end * second) / scale,
            ),
            covariance: root.covariance(),
        }
    }
}

/// The moments of a population of measured figures.
#[derive(Clone, Copy, Debug)]
struct Population {
    means: (f64, f64),
    /// The variance of the first, the covariance, the variance of the second.
    covariance: (f64, f64, f64),
}

impl Population {
    /// Draws each version's true second figure given its measured ones.
    fn draw_second(
        &self,
        pairs: &[(f64, f64)],
        noise: (f64, f64),
        random: &mut ChaCha8Rng,
    ) -> Vec<f64> {
        let (first, product, second) = self.covariance;
        let latent = ((first - noise.0).max(0.0), (second - noise.1).max(0.0));
        let most = (latent.0 * latent.1).sqrt();
        let product = product.clamp(-most, most);
        let (first, second) = (latent.0 + noise.0, latent.1 + noise.1);
        let determinant = first * second - product * product;
        // The regression of the true second figure on both measured ones.
        let weights = if determinant > 0.0 {
            (
                product * (second - latent.1) / determinant,
                (latent.1 * first - product * product) / determinant,
            )
        } else {
            (0.0, latent.1 / second)
        };
        let rest = latent.1 - weights.0 * product - weights.1 * latent.1;
        let spread = rest.max(0.0).sqrt();
        let truth = pairs.iter().map(|pair| {
            let expected = self.means.1
                + weights.0 * (pair.0 - self.means.0)
                + weights.1 * (pair.1 - self.means.1);
            expected + spread * two_normals(random).0
        });
        truth.collect()
    }
}
