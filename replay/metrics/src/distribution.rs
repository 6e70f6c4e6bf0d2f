//! Distributions: quantiles and probabilities by integration of their densities, which stays exact
//! at many degrees of freedom.

use libm::{erfc, lgamma};

/// Nodes and weights of the Gauss–Legendre rule with 16 points on -1 to 1, those above 0.
const RULE: [(f64, f64); 8] = [
    (0.9894009349916499, 0.027152459411754096),
    (0.9445750230732326, 0.062253523938647894),
    (0.8656312023878318, 0.09515851168249279),
    (0.755404408355003, 0.12462897125553388),
    (0.6178762444026438, 0.14959598881657674),
    (0.45801677765722737, 0.16915651939500254),
    (0.2816035507792589, 0.18260341504492358),
    (0.09501250983763744, 0.1894506104550685),
];

/// Number of equal parts of a range, each integrated by [`RULE`].
const PARTS: u32 = 48;
/// Exponent beyond which a density counts as 0.
const NEGLIGIBLE: f64 = 80.0;
/// Most steps towards a quantile; halving alone needs about 60.
const MOST_STEPS: usize = 200;

/// Integrates a smooth function.
fn integrate(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    let half = (to - from) / (2.0 * f64::from(PARTS));
    let part = |index: u32| {
        let middle = from + half * (2.0 * f64::from(index) + 1.0);
        let values = RULE.iter().map(|(node, weight)| {
            weight * (function(middle - half * node) + function(middle + half * node))
        });
        values.sum::<f64>()
    };
    half * (0..PARTS).map(part).sum::<f64>()
}

/// Finds the argument at which a growing function is `p`, by Newton's steps within a bracket.
fn invert(
    p: f64,
    (mut low, mut high): (f64, f64),
    start: f64,
    cumulative: impl Fn(f64) -> f64,
    density: impl Fn(f64) -> f64,
) -> f64 {
    let mut at = start.clamp(low, high);
    for _ in 0..MOST_STEPS {
        let excess = cumulative(at) - p;
        match excess > 0.0 {
            true => high = at,
            false => low = at,
        }
        let step = at - excess / density(at);
        // A step that leaves the bracket may diverge; halving always converges.
        let next = match step > low && step < high {
            true => step,
            false => f64::midpoint(low, high),
        };
        if (next - at).abs() <= f64::EPSILON * at.abs() {
            return next;
        }
        at = next;
    }
    at
}

/// Error of Stirling's formula for ln Γ(`x`).
fn stirling_error(x: f64) -> f64 {
    // The series below is accurate only for large arguments.
    if x < 30.0 {
        let formula = (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0;
        return lgamma(x) - formula;
    }
    let square = x * x;
    let tail = 1.0 / 1260.0 - 1.0 / (1680.0 * square);
    (1.0 / 12.0 - (1.0 / 360.0 - tail / square) / square) / x
}

/// Probability that a standard normal variable is below `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

/// Value that a standard normal variable is below with probability `p`, between 0 and 1, exclusive.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        // 1 - p is exact here, and the tail below is the one with digits.
        return -normal_quantile(1.0 - p);
    }
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // The tail is concave in the logarithm; this is on its outer side.
    let start = -(-2.0 * p.ln()).sqrt();
    invert(p, (-40.0, 0.0), start, normal_cdf, density)
}

/// Value that a variable of Student's t distribution is below with probability `p`, between 0 and
/// 1, exclusive, for at least one degree of freedom.
pub(crate) fn student_quantile(p: f64, freedom: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    // With t = √ν tan θ, the density is a power of cos θ.
    let density = |angle: f64| {
        let sine = angle.sin();
        ((freedom - 1.0) / 2.0 * (-sine * sine).ln_1p()).exp()
    };
    let scale = gamma_ratio(freedom / 2.0) / std::f64::consts::PI.sqrt();
    let angle = invert(
        p,
        (0.0, std::f64::consts::FRAC_PI_2),
        0.0,
        |angle| 0.5 + scale * integrate(0.0, angle, density),
        |angle| scale * density(angle),
    );
    freedom.sqrt() * angle.tan()
}

/// Γ(`x` + ½) / Γ(`x`).
fn gamma_ratio(x: f64) -> f64 {
    // Γ(x + 1) = x Γ(x) leads to a larger x, for which the series is accurate.
    if x < 25.0 {
        return gamma_ratio(x + 1.0) * x / (x + 0.5);
    }
    let square = x * x;
    let series = 1.0 / 640.0 - 17.0 / (14336.0 * square);
    let series = 1.0 / 8.0 - (1.0 / 192.0 - series / square) / square;
    x.sqrt() * (-series / x).exp()
}

/// Value that a variable of the χ² distribution is below with probability `p`, between 0 and 1,
/// exclusive, for degrees of freedom above 0.
pub(crate) fn chi_squared_quantile(p: f64, freedom: f64) -> f64 {
    let shape = freedom / 2.0;
    // The variable is ν exp(s); this is the density of s.
    let scale = (shape / (2.0 * std::f64::consts::PI)).sqrt() * (-stirling_error(shape)).exp();
    let density = |s: f64| scale * (-shape * (s.exp_m1() - s)).exp();
    let width = (3.0 * NEGLIGIBLE / shape).sqrt();
    let lowest = match width <= 1.0 {
        true => -width,
        false => -(NEGLIGIBLE / shape + 1.0),
    };
    let cumulative = |s: f64| integrate(lowest, s, density);
    let highest = width.max((1.0 + 2.0 * NEGLIGIBLE / shape).ln());
    freedom * invert(p, (lowest, highest), 0.0, cumulative, density).exp()
}

/// Probability of at most `most` successes in `n` trials that each succeed with probability `p`.
pub(crate) fn binomial_cdf(most: u64, n: u64, p: f64) -> f64 {
    if most >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if most as f64 > n as f64 * p {
        // The smaller tail is summed.
        return 1.0 - binomial_cdf(n - most - 1, n, 1.0 - p);
    }
    let odds = (1.0 - p) / p;
    let (mut term, mut sum) = (binomial_probability(most, n, p), 0.0);
    for successes in (0..=most).rev() {
        sum += term;
        if term <= f64::EPSILON * sum / 1e3 {
            break;
        }
        // In this order, terms of few trials at even odds are exact.
        term = term * successes as f64 / (n - successes + 1) as f64 * odds;
    }
    sum.min(1.0)
}

/// Most trials whose numbers of combinations an `f64` holds exactly.
const EXACT_TRIALS: u64 = 50;

/// Probability of exactly this number of successes, as Loader computes it (2000, "Fast and accurate
/// computation of binomial probabilities").
fn binomial_probability(successes: u64, n: u64, p: f64) -> f64 {
    if n <= EXACT_TRIALS {
        let factors = 0..successes.min(n - successes);
        let ways = factors.fold(1, |ways, index| ways * (n - index) / (index + 1));
        return ways as f64 * p.powf(successes as f64) * (1.0 - p).powf((n - successes) as f64);
    }
    let (x, n) = (successes as f64, n as f64);
    let rest = n - x;
    if successes == 0 {
        return (n * (-p).ln_1p()).exp();
    }
    if rest == 0.0 {
        return (n * p.ln()).exp();
    }
    let deviance = |count: f64, expected: f64| {
        let relative = (expected - count) / count;
        count * (relative - relative.ln_1p())
    };
    let errors = stirling_error(n) - stirling_error(x) - stirling_error(rest);
    let exponent = errors - deviance(x, n * p) - deviance(rest, n * (1.0 - p));
    (n / (2.0 * std::f64::consts::PI * x * rest)).sqrt() * exponent.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a figure to 1e-12 of itself.
    #[track_caller]
    fn exactly(ours: f64, theirs: f64) {
        let off = (ours / theirs - 1.0).abs();
        assert!(off <= 1e-12, "{ours} is not {theirs}: {off:e}");
    }

    // scipy.stats.t.ppf(p, freedom)
    #[test]
    fn student_quantiles_are_those_of_scipy() {
        for (p, freedom, theirs) in [
            (0.975, 1.0, 12.706204736174694),
            (0.995, 1.0, 63.656741162871526),
            (0.975, 2.0, 4.302652729749462),
            (0.9, 2.5, 1.7302509288071766),
            (0.975, 4.0, 2.7764451051977934),
            (0.025, 10.0, -2.2281388519862753),
            (0.995, 29.0, 2.756385903670605),
            (0.975, 100.5, 1.9838506553357993),
            (0.975, 1000.0, 1.9623390808264083),
            (0.975, 29999.0, 1.9600430660200883),
            (0.975, 1000000.0, 1.959966356814107),
            (0.999, 1000000.0, 3.09024045631652),
        ] {
            exactly(student_quantile(p, freedom), theirs);
        }
    }

    // scipy.stats.chi2.ppf(p, freedom)
    #[test]
    fn chi_squared_quantiles_are_those_of_scipy() {
        for (p, freedom, theirs) in [
            (0.025, 1.0, 0.0009820691171752555),
            (0.975, 1.0, 5.023886187314888),
            (0.5, 2.5, 1.8738477677808791),
            (0.975, 4.0, 11.143286781877796),
            (0.025, 10.0, 3.2469727802368413),
            (0.975, 29.0, 45.72228580417452),
            (0.025, 500.0, 439.9359912618746),
            (0.975, 29999.0, 30480.974654714675),
            (0.975, 1000000.0, 1002773.701467926),
            (0.025, 1000000.0, 997230.0871432901),
        ] {
            exactly(chi_squared_quantile(p, freedom), theirs);
        }
    }

    // scipy.stats.norm.ppf(p)
    #[test]
    fn normal_quantiles_are_those_of_scipy() {
        for (p, theirs) in [
            (0.8, 0.8416212335729143),
            (0.975, 1.959963984540054),
            (0.999, 3.090232306167813),
            (0.3, -0.5244005127080409),
            (1e-06, -4.753424308822899),
            (0.02425, -1.972961051311885),
        ] {
            exactly(normal_quantile(p), theirs);
        }
    }

    // scipy.stats.binom.cdf(most, n, p)
    #[test]
    fn binomial_probabilities_are_those_of_scipy() {
        for (most, n, p, theirs) in [
            (0, 5, 0.5, 0.03125),
            (3, 10, 0.5, 0.171875),
            (7, 10, 0.3, 0.9984096136),
            (450, 1000, 0.5, 0.0008652680424881513),
            (949, 1000, 0.95, 0.462470959198575),
            (94900, 100000, 0.95, 0.07474041229409113),
            (499000, 1000000, 0.5, 0.0228041499326948),
        ] {
            exactly(binomial_cdf(most, n, p), theirs);
        }
    }
}
