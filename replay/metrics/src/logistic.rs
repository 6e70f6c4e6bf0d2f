//! Logistic regression by Newton's method, with errors for samples that come in clusters.

use std::collections::BTreeMap;

use crate::matrix;

/// A sample: its cluster, its features, and its outcome.
pub type LogisticSample<K> = (K, Vec<f64>, bool);

/// A fitted logistic regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// The log odds if all features are 0, then the change of the log odds for each feature.
    pub coefficients: Vec<f64>,
    /// Their standard errors, clustered.
    pub errors: Vec<f64>,
}

/// Reason why there is no fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogisticError {
    /// There are no samples, or not all have the same number of features, all finite.
    #[error("the samples are of different shapes, or there are none")]
    Shape,
    /// All outcomes are equal, or the features separate them perfectly: the best coefficients are
    /// infinite.
    #[error(
        "the features tell the outcomes apart without a fault, so no coefficients are the best"
    )]
    Separated,
    /// One feature is a linear function of others.
    #[error("feature {feature} follows from other features, or never changes")]
    Collinear {
        /// The index of the feature.
        feature: usize,
        /// The indices of those that it follows from; none if it never changes.
        from: Vec<usize>,
    },
    /// There are not two clusters.
    #[error("all samples are of one cluster, so how much clusters differ is unknown")]
    OneCluster,
}

/// The most steps; if the best coefficients are finite, a dozen are enough.
const STEPS: usize = 60;

/// Log odds beyond this are a probability of 0 or 1 to all digits: coefficients that give them for
/// every sample are on their way to infinity.
const BEYOND: f64 = 30.0;

impl Logistic {
    /// The coefficients of the greatest likelihood, with an intercept, and their clustered
    /// errors: the sandwich with the factor C / (C − 1) · (N − 1) / (N − k) for C clusters, N
    /// samples and k coefficients, as statsmodels' `Logit(y, X).fit(cov_type="cluster")` has it
    /// (Cameron and Miller 2015, <https://doi.org/10.3368/jhr.50.2.317>).
    ///
    /// # Errors
    /// The data support no fit.
    pub fn fit<K: Ord>(samples: &[LogisticSample<K>]) -> Result<Self, LogisticError> {
        let width = samples.first().ok_or(LogisticError::Shape)?.1.len();
        let fits = |x: &Vec<f64>| x.len() == width && x.iter().all(|value| value.is_finite());
        if !samples.iter().all(|(_, x, _)| fits(x)) {
            return Err(LogisticError::Shape);
        }
        let rows: Vec<Vec<f64>> = samples
            .iter()
            .map(|(_, x, _)| [&[1.0], x.as_slice()].concat())
            .collect();
        let outcome = |index: usize| f64::from(u8::from(samples[index].2));
        let mut coefficients = vec![0.0; width + 1];
        for step in 0.. {
            let (mut gradient, mut information) =
                (vec![0.0; width + 1], vec![vec![0.0; width + 1]; width + 1]);
            let mut decided = true;
            for (index, row) in rows.iter().enumerate() {
                let odds = dot(&coefficients, row);
                decided &= odds.abs() > BEYOND;
                let p = sigmoid(odds);
                for (a, value) in row.iter().enumerate() {
                    gradient[a] += (outcome(index) - p) * value;
                    for (b, other) in row.iter().enumerate() {
                        information[a][b] += p * (1.0 - p) * value * other;
                    }
                }
            }
            if decided || step == STEPS {
                return Err(LogisticError::Separated);
            }
            // The least pivot is relative, so that a common scale of the features does not matter.
            let largest = (0..=width).fold(0.0_f64, |most, at| most.max(information[at][at]));
            let Some(inverse) = matrix::inverse(information.clone(), 1e-13 * largest) else {
                // Weights that vanish make any matrix singular.
                let moved = coefficients.iter().any(|value| value.abs() > BEYOND);
                return Err(match moved || step > 0 {
                    true => LogisticError::Separated,
                    false => collinear(&information, 1e-13 * largest),
                });
            };
            let change: Vec<f64> = inverse.iter().map(|row| dot(row, &gradient)).collect();
            for (value, change) in coefficients.iter_mut().zip(&change) {
                *value += change;
            }
            let largest = change.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
            if largest < 1e-10 {
                let errors = errors(samples, &rows, &coefficients, &inverse)?;
                return Ok(Self {
                    coefficients,
                    errors,
                });
            }
        }
        Err(LogisticError::Separated)
    }

    /// The probability at these features. Missing ones count as 0.
    pub fn probability(&self, features: &[f64]) -> f64 {
        sigmoid(self.coefficients[0] + dot(&self.coefficients[1..], features))
    }
}

/// Names the first feature that follows from those before it, in the information matrix, whose
/// first column is the intercept's. `least` is the least pivot of an invertible matrix.
fn collinear(information: &[Vec<f64>], least: f64) -> LogisticError {
    let block = |size: usize| -> Vec<Vec<f64>> {
        let rows = information.iter().take(size);
        rows.map(|row| row[..size].to_vec()).collect()
    };
    for column in 1..information.len() {
        if matrix::inverse(block(column + 1), least).is_some() {
            continue;
        }
        let Some(before) = matrix::inverse(block(column), least) else {
            break;
        };
        // The column's regression on those before it, in their own scale.
        let target: Vec<f64> = information[..column]
            .iter()
            .map(|row| row[column])
            .collect();
        let share = |at: usize| {
            let moments = (information[at][at] / information[column][column]).sqrt();
            (dot(&before[at], &target) * moments).abs()
        };
        let from = (1..column).filter(|at| share(*at) > 1e-6);
        return LogisticError::Collinear {
            feature: column - 1,
            from: from.map(|at| at - 1).collect(),
        };
    }
    LogisticError::Shape
}

/// The clustered errors of coefficients; `inverse` is that of the information.
fn errors<K: Ord>(
    samples: &[LogisticSample<K>],
    rows: &[Vec<f64>],
    coefficients: &[f64],
    inverse: &[Vec<f64>],
) -> Result<Vec<f64>, LogisticError> {
    let width = coefficients.len();
    let mut scores: BTreeMap<&K, Vec<f64>> = BTreeMap::new();
    for ((cluster, _, outcome), row) in samples.iter().zip(rows) {
        let residual = f64::from(u8::from(*outcome)) - sigmoid(dot(coefficients, row));
        let sum = scores.entry(cluster).or_insert_with(|| vec![0.0; width]);
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += residual * value;
        }
    }
    let (clusters, n) = (scores.len() as f64, rows.len() as f64);
    if clusters < 2.0 {
        return Err(LogisticError::OneCluster);
    }
    let factor = clusters / (clusters - 1.0) * (n - 1.0) / (n - width as f64);
    // Of bread · meat · bread only the diagonal is wanted: Σ_c (bread_a · score_c)².
    Ok(inverse
        .iter()
        .map(|bread| {
            let squares: f64 = scores.values().map(|score| dot(bread, score).powi(2)).sum();
            (factor * squares).sqrt()
        })
        .collect())
}

fn sigmoid(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
