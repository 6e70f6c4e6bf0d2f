//! Correlation of two figures of the same things: offline scores and online rates of model
//! versions. There are few versions, so p values come from permutations, never from a normal
//! approximation.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::interval::proportion::wilson;
use crate::interval::{Estimate, student_quantile};

/// A measure of association between −1 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficient {
    /// Pearson's r: how well a straight line fits.
    Pearson,
    /// Spearman's ρ: Pearson's r of the ranks, ties at the mean of their ranks.
    Spearman,
    /// Kendall's τ-b: pairs in the same order minus pairs in the opposite one, corrected for
    /// ties (Kendall 1945).
    Kendall,
}

/// The most pairs for which all permutations are evaluated: 9! = 362,880.
pub const MOST_EXACT: usize = 9;

impl Coefficient {
    /// Every coefficient, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Pearson, Self::Spearman, Self::Kendall];

    /// The coefficient's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pearson => "pearson",
            Self::Spearman => "spearman",
            Self::Kendall => "kendall",
        }
    }

    /// The coefficient of these pairs, from −1 to 1. `None` if it is not defined: fewer than two
    /// pairs, a side without any difference, or a number that is not finite.
    pub fn correlate(self, pairs: &[(f64, f64)]) -> Option<f64> {
        let association = Association::new(self, pairs)?;
        let order: Vec<usize> = (0..pairs.len()).collect();
        Some((association.numerator(&order) / association.scale).clamp(-1.0, 1.0))
    }
}

/// The exact two-sided p of no association: of all ways to pair the two sides, the share whose
/// coefficient is at least as far from 0 as the one seen.
///
/// `None` for more than [`MOST_EXACT`] pairs, where [`permutation_p_by_draws`] has an answer, and
/// if the coefficient is not defined. The least possible p is 1/n! (Pearson, if no other pairing is
/// as far from 0) or 2/n!: with 3 pairs, nothing can be found.
///
/// For Pearson's r this is not always scipy's `permutation_test`, which doubles the smaller tail:
/// the distribution is not symmetric.
pub fn exact_permutation_p(coefficient: Coefficient, pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() > MOST_EXACT {
        return None;
    }
    let association = Association::new(coefficient, pairs)?;
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let least = association.at_least(&order);
    let (mut extreme, mut all) = (0_u32, 0_u32);
    let mut look = |order: &[usize]| {
        all += 1;
        extreme += u32::from(association.numerator(order).abs() >= least);
    };
    // Heap's algorithm: each permutation is one exchange away from the one before it.
    look(&order);
    let mut counters = vec![0; order.len()];
    let mut level = 1;
    while level < order.len() {
        if counters[level] < level {
            let with = if level % 2 == 0 { 0 } else { counters[level] };
            order.swap(with, level);
            look(&order);
            counters[level] += 1;
            level = 1;
        } else {
            counters[level] = 0;
            level += 1;
        }
    }
    Some(f64::from(extreme) / f64::from(all))
}

/// An estimate of [`exact_permutation_p`] from `draws` random permutations, for any number of
/// pairs: (1 + those at least as far from 0) / (1 + draws), which keeps the error of the first
/// kind below p (Phipson and Smyth 2010, <https://doi.org/10.2202/1544-6115.1585>). Equal seeds
/// give equal values. A report that prints one says that it is drawn, and from how many.
///
/// `None` if the coefficient is not defined, or without draws.
pub fn permutation_p_by_draws(
    coefficient: Coefficient,
    pairs: &[(f64, f64)],
    draws: u32,
    seed: u64,
) -> Option<f64> {
    if draws == 0 {
        return None;
    }
    let association = Association::new(coefficient, pairs)?;
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let least = association.at_least(&order);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let extreme = (0..draws)
        .filter(|_| {
            order.shuffle(&mut random);
            association.numerator(&order).abs() >= least
        })
        .count();
    Some((extreme as f64 + 1.0) / (f64::from(draws) + 1.0))
}

/// Two sides, prepared so that only the sum over pairs is left to be calculated for each way to
/// pair them.
struct Association {
    coefficient: Coefficient,
    /// Of each item its distance from the mean; for Kendall's τ, row by row, the signs of the
    /// differences between items.
    first: Vec<f64>,
    /// Likewise.
    second: Vec<f64>,
    /// Denominator of the coefficient, the same for every pairing. Above 0.
    scale: f64,
}

impl Association {
    fn new(coefficient: Coefficient, pairs: &[(f64, f64)]) -> Option<Self> {
        let finite = |&(first, second): &(f64, f64)| first.is_finite() && second.is_finite();
        if pairs.len() < 2 || !pairs.iter().all(finite) {
            return None;
        }
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let prepared = |side: &[f64]| match coefficient {
            Coefficient::Pearson => centred(side).1,
            Coefficient::Spearman => centred(&ranks(side)).1,
            Coefficient::Kendall => signs(side),
        };
        let (first, second) = (prepared(&first), prepared(&second));
        let squares = |side: &[f64]| side.iter().map(|value| value * value).sum::<f64>();
        // Two roots rather than the root of a product, which may be out of range.
        let scale = squares(&first).sqrt() * squares(&second).sqrt();
        (scale > 0.0).then_some(Self {
            coefficient,
            first,
            second,
            scale,
        })
    }

    /// The coefficient times [`Association::scale`], where the first side's item `i` is paired
    /// with the second's item `order[i]`.
    fn numerator(&self, order: &[usize]) -> f64 {
        match self.coefficient {
            Coefficient::Kendall => {
                let rows = self.first.chunks_exact(order.len());
                let sums = order.iter().zip(rows).map(|(&at, first)| {
                    let second = &self.second[at * order.len()..];
                    order
                        .iter()
                        .zip(first)
                        .map(|(&other, first)| first * second[other])
                        .sum::<f64>()
                });
                sums.sum()
            }
            _ => order
                .iter()
                .zip(&self.first)
                .map(|(&at, first)| first * self.second[at])
                .sum(),
        }
    }

    /// Returns the least absolute numerator that counts as at least as far from 0 as this
    /// pairing's. Equal coefficients may differ by a rounding error when their sums run in another
    /// order.
    fn at_least(&self, order: &[usize]) -> f64 {
        self.numerator(order).abs() - 1e-13 * self.scale
    }
}

/// Returns the mean of values and the difference of each from it. Differences of equal values are
/// exactly 0, so that rounding does not make them vary.
pub fn centred(values: &[f64]) -> (f64, Vec<f64>) {
    // The sum of equal values, divided by their number, may differ from them by a rounding error.
    if let Some(first) = values.first()
        && values.iter().all(|value| value == first)
    {
        return (*first, vec![0.0; values.len()]);
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| value - mean).collect())
}

/// Ranks from 1; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            below as f64 + (equal as f64 + 1.0) / 2.0
        })
        .collect()
}

/// The signs of the differences between any two values, row by row.
fn signs(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .flat_map(|value| values.iter().map(move |other| sign(value - other)))
        .collect()
}

/// −1, 0 or 1; `f64::signum` knows no 0.
fn sign(value: f64) -> f64 {
    match value {
        _ if value > 0.0 => 1.0,
        _ if value < 0.0 => -1.0,
        _ => 0.0,
    }
}

/// Over all pairs of things, whether two figures rank them alike: does a better offline score go
/// with a better online rate?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignAgreement {
    /// Pairs whose two differences have the same sign.
    pub agreeing: usize,
    /// Pairs whose two differences have opposite signs.
    pub disagreeing: usize,
    /// Pairs that do not differ on one side or both.
    pub tied: usize,
}

impl SignAgreement {
    /// The share of agreeing pairs among those that are not tied, from 0 to 1; without an
    /// association one half is expected. `None` if all are tied.
    pub fn rate(self) -> Option<f64> {
        let untied = self.agreeing + self.disagreeing;
        (untied > 0).then(|| self.agreeing as f64 / untied as f64)
    }
}

/// The [`SignAgreement`] over all pairs of versions, of each its offline and its online figure.
pub fn sign_agreement(versions: &[(f64, f64)]) -> SignAgreement {
    let mut counts = SignAgreement {
        agreeing: 0,
        disagreeing: 0,
        tied: 0,
    };
    for (at, one) in versions.iter().enumerate() {
        for other in &versions[..at] {
            let product = sign(one.0 - other.0) * sign(one.1 - other.1);
            let count = match product {
                _ if product > 0.0 => &mut counts.agreeing,
                _ if product < 0.0 => &mut counts.disagreeing,
                _ => &mut counts.tied,
            };
            *count += 1;
        }
    }
    counts
}

/// Returns the share of the variance of figures that is not their own error, from 0 to 1: 1 − the
/// mean of the squared standard errors / the variance of the values. Of each figure: its value and
/// its standard error, e.g. from [`clustered_standard_error`](crate::clustered_standard_error).
///
/// `None` for fewer than two figures, figures that do not differ, or errors that leave no variance:
/// then the figures can't be distinguished.
pub fn reliability(figures: &[(f64, f64)]) -> Option<f64> {
    if figures.len() < 2 {
        return None;
    }
    let n = figures.len() as f64;
    let values: Vec<f64> = figures.iter().map(|(value, _)| *value).collect();
    let (_, differences) = centred(&values);
    let squares = differences.iter().map(|difference| difference.powi(2));
    let variance = squares.sum::<f64>() / (n - 1.0);
    let noise = figures.iter().map(|(_, error)| error * error).sum::<f64>() / n;
    let reliability = 1.0 - noise / variance;
    (variance > 0.0 && reliability > 0.0).then_some(reliability)
}

/// Returns the correlation as it would be if neither side were measured with error: r /
/// √(reliability of the one × of the other) (Spearman 1904, <https://doi.org/10.2307/1412159>). It
/// may be beyond ±1 by chance, and is not clipped. `None` unless both [`reliability`] values are
/// above 0 and at most 1.
pub fn attenuation_corrected(r: f64, first: f64, second: f64) -> Option<f64> {
    let valid = |reliability: f64| reliability > 0.0 && reliability <= 1.0;
    (valid(first) && valid(second)).then(|| r / (first * second).sqrt())
}

/// The two-sided test of Pearson's r against 0 at the 5 % level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrelationTest {
    /// r √((n − 2) / (1 − r²)) against Student's t with n − 2 degrees of freedom: holds where
    /// both sides are normally distributed.
    Student,
    /// [`exact_permutation_p`], for at most [`MOST_EXACT`] pairs: holds anyway.
    Permutation,
}

/// The power of a correlation: the share of simulated studies of `n` pairs that find a true r,
/// with Wilson's interval for the number of simulations. Pairs are drawn from the bivariate
/// normal distribution. Equal seeds give equal values.
///
/// `None` for a true r beyond ±1, fewer than 3 pairs, too many for the test, or no simulations.
pub fn correlation_power(
    true_r: f64,
    n: usize,
    test: CorrelationTest,
    simulations: usize,
    seed: u64,
) -> Option<Estimate> {
    const LEVEL: f64 = 0.05;
    if !(-1.0..=1.0).contains(&true_r) || n < 3 {
        return None;
    }
    if test == CorrelationTest::Permutation && n > MOST_EXACT {
        return None;
    }
    let freedom = (n - 2) as f64;
    let critical = student_quantile(1.0 - LEVEL / 2.0, freedom)?;
    // The test's statistic is t = r √(freedom / (1 − r²)), solved here for r.
    let critical = critical / (freedom + critical * critical).sqrt();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut found = 0;
    for _ in 0..simulations {
        let pairs: Vec<(f64, f64)> = (0..n)
            .map(|_| {
                let (first, other) = two_normals(&mut random);
                (
                    first,
                    true_r * first + (1.0 - true_r * true_r).sqrt() * other,
                )
            })
            .collect();
        let significant = match test {
            CorrelationTest::Student => Coefficient::Pearson
                .correlate(&pairs)
                .is_some_and(|r| r.abs() > critical),
            CorrelationTest::Permutation => {
                exact_permutation_p(Coefficient::Pearson, &pairs).is_some_and(|p| p <= LEVEL)
            }
        };
        found += usize::from(significant);
    }
    wilson(found, simulations)
}

/// Two independent numbers from the standard normal distribution (Box and Muller 1958).
pub(super) fn two_normals(random: &mut ChaCha8Rng) -> (f64, f64) {
    // Above 0, so that its logarithm is finite.
    let radius = 1.0 - random.random::<f64>();
    let angle = std::f64::consts::TAU * random.random::<f64>();
    let radius = (-2.0 * radius.ln()).sqrt();
    (radius * angle.cos(), radius * angle.sin())
}
