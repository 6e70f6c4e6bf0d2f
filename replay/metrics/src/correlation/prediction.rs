//! Predicting one figure of a version from another, by a line through earlier versions.

use crate::distribution::normal_cdf;

use super::coefficient::{Coefficient, centred};
use crate::interval::{Estimate, TAIL, student_quantile};

/// The least-squares line of second figures on first ones.
///
/// Both figures have measurement errors. If versions are drawn from a normal population and
/// measured equally well, a measured second figure has a linear regression on a measured first one,
/// with both errors in its slope and its residuals. So the intervals below are exact for a new
/// version that is measured as well as the old ones, and no correction for errors belongs into
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPrediction {
    /// The second figure if the first is 0.
    pub intercept: f64,
    /// Change of the second figure for each unit of the first.
    pub slope: f64,
    /// The residuals' standard deviation, with n − 2 degrees of freedom.
    residual: f64,
    /// The mean of the first figures.
    mean: f64,
    /// Σ (first − mean)².
    scatter: f64,
    /// Pearson's r, within ±1 exclusive.
    r: f64,
    n: usize,
}

/// The number of true correlations that a probability is averaged over.
const CORRELATIONS: u32 = 200;

/// The strongest correlation that so few figures, rounded as they are, can show.
const MOST_R: f64 = 0.999_9;

/// Halvings of the range that contains the smallest gap.
const HALVINGS: usize = 40;

impl LinearPrediction {
    /// Fits the line to (first, second) figures. `None` for fewer than three, or if all first
    /// figures are equal.
    pub fn fit(pairs: &[(f64, f64)]) -> Option<Self> {
        let n = pairs.len() as f64;
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (mean, first) = centred(&first);
        let (second_mean, second) = centred(&second);
        let scatter: f64 = first.iter().map(|x| x.powi(2)).sum();
        if pairs.len() < 3 || scatter <= 0.0 {
            return None;
        }
        let products = first.iter().zip(&second).map(|(x, y)| x * y);
        let slope = products.sum::<f64>() / scatter;
        let intercept = second_mean - slope * mean;
        let r = Coefficient::Pearson.correlate(pairs).unwrap_or(0.0);
        let residuals = pairs
            .iter()
            .map(|(x, y)| (y - intercept - slope * x).powi(2));
        Some(Self {
            intercept,
            slope,
            residual: (residuals.sum::<f64>() / (n - 2.0)).sqrt(),
            mean,
            scatter,
            r: r.clamp(-MOST_R, MOST_R),
            n: pairs.len(),
        })
    }

    /// The second figure of a new version, measured as well as the old ones, with its prediction
    /// interval by Student's t with n − 2 degrees of freedom.
    pub fn predict(&self, first: f64) -> Estimate {
        let n = self.n as f64;
        let value = self.intercept + self.slope * first;
        let distance = (first - self.mean).powi(2) / self.scatter;
        let error = self.residual * (1.0 + 1.0 / n + distance).sqrt();
        let half = student_quantile(1.0 - TAIL, n - 2.0).map(|student| student * error);
        Estimate {
            value,
            low: half.map(|half| value - half),
            high: half.map(|half| value + half),
            n: self.n,
            clusters: None,
        }
    }

    /// The probability that of two new versions the one whose first figure is larger by `gap`
    /// measures a larger second figure too.
    ///
    /// It is averaged over the true correlations that these versions leave possible, all equally
    /// likely before (by the leading term of Fisher's density of r, 1915,
    /// <https://doi.org/10.1093/biomet/10.4.507>). The line's own slope, taken as true, would
    /// promise too much: of few versions a slope that is large by chance looks the best.
    pub fn leads(&self, gap: f64) -> f64 {
        let n = self.n as f64;
        let spread = (self.scatter / (n - 1.0)).sqrt();
        let (mut weights, mut sum) = (0.0, 0.0);
        for step in 0..CORRELATIONS {
            // The midpoint of each equal part of the range from −1 to 1.
            let r = (2.0 * f64::from(step) + 1.0) / f64::from(CORRELATIONS) - 1.0;
            let rest = 1.0 - r * r;
            let weight = (rest.ln() * (n - 1.0) / 2.0 - (1.0 - r * self.r).ln() * (n - 1.5)).exp();
            weights += weight;
            // In standard units, the second figures differ by r · gap / spread, with variance 2 (1
            // − r²).
            sum += weight * normal_cdf(r * gap / (spread * (2.0 * rest).sqrt()));
        }
        sum / weights
    }

    /// The smallest gap between first figures at which the larger one [`leads`](Self::leads) with
    /// this probability; `None` if no gap is wide enough.
    pub fn smallest_gap(&self, probability: f64) -> Option<f64> {
        let widest = 100.0 * self.scatter.sqrt();
        if self.leads(widest) < probability {
            return None;
        }
        let (mut small, mut large) = (0.0, widest);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(small, large);
            match self.leads(middle) < probability {
                true => small = middle,
                false => large = middle,
            }
        }
        Some(large)
    }
}

/// The first figure that predicts best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestPredictor {
    /// Its index.
    pub index: usize,
    /// The share of the second figures' variance that it explains when each version is predicted
    /// from the others alone: 1 − Σ (prediction errors)² / Σ (errors of the others' mean)². Negative
    /// if the mean predicts better. Being the best of several, it is too high on average.
    pub share: f64,
    /// The same of the whole procedure: for each version the best figure is chosen among the other
    /// versions alone.
    pub nested_share: f64,
}

/// Chooses among several first figures of the same versions the one that predicts the second
/// figures best, each version predicted from the others alone. `None` for fewer than four versions,
/// or if nothing can be predicted.
pub fn best_predictor(firsts: &[Vec<f64>], second: &[f64]) -> Option<BestPredictor> {
    if second.len() < 4 || firsts.iter().any(|first| first.len() != second.len()) {
        return None;
    }
    let all: Vec<usize> = (0..second.len()).collect();
    let (index, squares) = choose(firsts, second, &all)?;
    // The mean of the others is off by n / (n − 1) of the difference from the mean of all.
    let n = second.len() as f64;
    let squared_differences = centred(second).1.into_iter().map(|it| it.powi(2));
    let total = squared_differences.sum::<f64>() * (n / (n - 1.0)).powi(2);
    let mut nested = 0.0;
    for version in &all {
        let others: Vec<usize> = all.iter().copied().filter(|at| at != version).collect();
        let chosen = choose(firsts, second, &others).map_or(index, |(chosen, _)| chosen);
        nested += prediction_error(&firsts[chosen], second, &others, *version)?.powi(2);
    }
    (total > 0.0).then(|| BestPredictor {
        index,
        share: 1.0 - squares / total,
        nested_share: 1.0 - nested / total,
    })
}

/// The first figure with the least squared prediction errors among these versions.
fn choose(firsts: &[Vec<f64>], second: &[f64], versions: &[usize]) -> Option<(usize, f64)> {
    let squares = |first: &Vec<f64>| -> Option<f64> {
        let errors = versions.iter().map(|version| {
            let others: Vec<usize> = versions
                .iter()
                .copied()
                .filter(|at| at != version)
                .collect();
            Some(prediction_error(first, second, &others, *version)?.powi(2))
        });
        errors.sum()
    };
    let scored = firsts.iter().enumerate();
    scored
        .filter_map(|(index, first)| Some((index, squares(first)?)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
}

/// The error of predicting a version from others: by the line through them, or by their mean if
/// their first figures are equal or they are fewer than three.
fn prediction_error(
    first: &[f64],
    second: &[f64],
    others: &[usize],
    version: usize,
) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = others.iter().map(|at| (first[*at], second[*at])).collect();
    let predicted = match LinearPrediction::fit(&pairs) {
        Some(line) => line.intercept + line.slope * first[version],
        None => pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len() as f64,
    };
    Some(second[version] - predicted).filter(|error| error.is_finite())
}
