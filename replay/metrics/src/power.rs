//! How many samples it takes to see a difference.

use crate::distribution::normal_quantile;

use crate::interval::TAIL;

/// The probability with which a difference is to be found that is there: the usual one of Cohen
/// (1988).
pub const POWER: f64 = 0.8;

/// How many independent outcomes each of two groups needs, so that a difference between these
/// shares is found with probability [`POWER`] by a two-sided test at 1 −
/// [`CONFIDENCE`](crate::CONFIDENCE): 2 · ((z₁₋α⁄₂ + z_power) / h)² with Cohen's effect size
/// h = 2 asin √first − 2 asin √second (Statistical power analysis for the behavioral sciences,
/// 1988, §6). It is what `NormalIndPower().solve_power(proportion_effectsize(first, second), alpha=0.05,
/// power=0.8)` of statsmodels gives, but for the chance of finding the difference in the wrong
/// direction.
///
/// `None` where the shares are equal, or no shares.
pub fn outcomes_per_group(first: f64, second: f64) -> Option<f64> {
    // The variances of both groups add up.
    Some(2.0 * needed(first, second)?)
}

/// How many independent outcomes tell, likewise, a share from one half: which of two things is
/// chosen more often. ((z₁₋α⁄₂ + z_power) / h)² with h = 2 asin √share − 2 asin √½; in statsmodels
/// `NormalIndPower(ddof=0).solve_power(proportion_effectsize(share, 0.5), alpha=0.05, power=0.8,
/// ratio=0)`.
///
/// `None` where it is one half, or no share.
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
