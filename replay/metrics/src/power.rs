//! Number of samples needed to find a difference.

use crate::distribution::normal_quantile;

use crate::interval::TAIL;

/// The probability of finding a real difference: the usual one of Cohen (1988).
pub const POWER: f64 = 0.8;

/// Returns the number of independent outcomes that each of two groups needs, so that a difference
/// between these shares is found with probability [`POWER`] by a two-sided test at 1 −
/// [`CONFIDENCE`](crate::CONFIDENCE): 2 · ((z₁₋α⁄₂ + z_power) / h)² with Cohen's effect size h = 2
/// asin √first − 2 asin √second (Statistical power analysis for the behavioral sciences, 1988, §6).
/// It is what `NormalIndPower().solve_power(proportion_effectsize(first, second), alpha=0.05,
/// power=0.8)` of statsmodels gives, but for the chance of finding the difference in the wrong
/// direction.
///
/// `None` if the shares are equal, or are not shares.
pub fn outcomes_per_group(first: f64, second: f64) -> Option<f64> {
    // The variances of both groups add up.
    Some(2.0 * needed(first, second)?)
}

/// Returns the number of independent outcomes needed to distinguish, likewise, a share from one
/// half, for choices between two things. ((z₁₋α⁄₂ + z_power) / h)² with h = 2 asin √share − 2 asin
/// √½; in statsmodels `NormalIndPower(ddof=0).solve_power(proportion_effectsize(share, 0.5),
/// alpha=0.05, power=0.8, ratio=0)`.
///
/// `None` if it is one half, or is not a share.
pub fn choices_to_tell(share: f64) -> Option<f64> {
    needed(share, 0.5)
}

/// ((z₁₋α⁄₂ + z_power) / h)².
fn needed(first: f64, second: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&first) || !(0.0..=1.0).contains(&second) || first == second {
        return None;
    }
    let quantiles = normal_quantile(1.0 - TAIL) + normal_quantile(POWER);
    let effect = 2.0 * (first.sqrt().asin() - second.sqrt().asin());
    Some((quantiles / effect).powi(2))
}
