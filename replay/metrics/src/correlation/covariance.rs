//! Draws of the covariance that the population of measured pairs may have.

use rand_chacha::ChaCha8Rng;

use super::coefficient::two_normals;

/// The lower triangular root of a covariance matrix of two figures, or of a matrix of their sums of
/// products.
#[derive(Clone, Copy, Debug)]
pub(super) struct CovarianceRoot {
    /// First row.
    pub(super) corner: f64,
    /// Second row, first column.
    pub(super) below: f64,
    /// Second row, second column.
    pub(super) end: f64,
}

impl CovarianceRoot {
    /// Draws the root of a population's covariance matrix from what the pairs leave possible, by
    /// Bartlett's decomposition. `self` is the root of the pairs' sums of products around their
    /// means, and `freedom`, at least 2, is one less than the number of pairs.
    pub(super) fn draw(self, freedom: usize, random: &mut ChaCha8Rng) -> Self {
        let one = draw_chi(freedom, random);
        let other = draw_chi(freedom - 1, random);
        let normal = two_normals(random).0;
        Self {
            corner: self.corner / one,
            below: self.below / one - self.end * normal / (one * other),
            end: self.end / other,
        }
    }

    /// The variance of the first, the covariance, the variance of the second.
    pub(super) fn covariance(self) -> (f64, f64, f64) {
        (
            self.corner * self.corner,
            self.corner * self.below,
            self.below * self.below + self.end * self.end,
        )
    }
}

/// Draws from the χ distribution.
fn draw_chi(freedom: usize, random: &mut ChaCha8Rng) -> f64 {
    let mut squares = 0.0;
    for _ in 0..freedom / 2 {
        let (one, other) = two_normals(random);
        squares += one * one + other * other;
    }
    if freedom % 2 == 1 {
        squares += two_normals(random).0.powi(2);
    }
    squares.sqrt()
}
