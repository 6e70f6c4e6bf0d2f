//! Strengths from comparisons in pairs.

use std::collections::BTreeMap;

use crate::distribution::normal_quantile;

use crate::interval::{Estimate, TAIL};
use crate::matrix;

/// The strengths of things that were compared in pairs, by the model of Bradley and Terry (1952):
/// P(a beats b) = 1 / (1 + exp(strength of b − strength of a)). Strengths are natural logarithms
/// whose mean is 0.
///
/// Of each comparison: the two, and how often the first one won against the second; a tie is half
/// a win for each. An estimate's n is the number of comparisons its thing took part in, rounded.
/// Intervals come from the Fisher information at the maximum of the likelihood and the normal
/// distribution; comparisons are taken as independent.
///
/// `None` if there is no finite maximum, because some things never won against any of the others,
/// or were never compared with them (Ford 1957); or for a count that is negative or not finite.
pub fn bradley_terry<K: Ord + Clone>(wins: &[(K, K, f64)]) -> Option<BTreeMap<K, Estimate>> {
    let names: BTreeMap<&K, usize> = wins
        .iter()
        .flat_map(|(winner, loser, _)| [winner, loser])
        .map(|name| (name, 0))
        .collect::<BTreeMap<_, _>>()
        .into_keys()
        .enumerate()
        .map(|(at, name)| (name, at))
        .collect();
    let size = names.len();
    let mut won = vec![vec![0.0; size]; size];
    for (winner, loser, count) in wins {
        if !count.is_finite() || *count < 0.0 {
            return None;
        }
        if winner != loser {
            won[names[winner]][names[loser]] += count;
        }
    }
    if size < 2 || !strongly_connected(&won) {
        return None;
    }
    let (strengths, covariance) = maximum(&won)?;
    let z = normal_quantile(1.0 - TAIL);
    let estimates = names.into_iter().map(|(name, at)| {
        let half = z * covariance[at][at].sqrt();
        let taken_part: f64 = (0..size).map(|other| won[at][other] + won[other][at]).sum();
        let estimate = Estimate {
            value: strengths[at],
            low: Some(strengths[at] - half),
            high: Some(strengths[at] + half),
            n: taken_part.round() as usize,
            clusters: None,
        };
        (name.clone(), estimate)
    });
    Some(estimates.collect())
}

/// True if a chain of wins leads from each thing to every other.
fn strongly_connected(won: &[Vec<f64>]) -> bool {
    let reaches_all = |edge: &dyn Fn(usize, usize) -> bool| {
        let mut reached = vec![false; won.len()];
        reached[0] = true;
        let mut pending = vec![0];
        while let Some(from) = pending.pop() {
            let next = reached.iter_mut().enumerate();
            for (to, reached) in next.filter(|(to, reached)| !**reached && edge(from, *to)) {
                *reached = true;
                pending.push(to);
            }
        }
        reached.into_iter().all(|reached| reached)
    };
    // If all lead to the first and the first leads to all, each leads to every other.
    reaches_all(&|from, to| won[from][to] > 0.0) && reaches_all(&|from, to| won[to][from] > 0.0)
}

/// The strengths at the maximum of the likelihood, and their covariance, by Newton's method. The
/// logarithm of the likelihood is concave, so a step that is halved until it gains leads there.
fn maximum(won: &[Vec<f64>]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    const MOST_STEPS: usize = 100;
    let size = won.len();
    let mut strengths = vec![0.0_f64; size];
    for _ in 0..MOST_STEPS {
        let mut gradient = vec![0.0; size];
        // The information matrix has no inverse, since only differences of strengths matter.
        // With 1/size in every cell it has one, which maps vectors of sum 0 as it should.
        let mut information = vec![vec![1.0 / size as f64; size]; size];
        for (i, row) in won.iter().enumerate() {
            for (j, &wins) in row.iter().enumerate().filter(|(j, _)| *j != i) {
                let both = wins + won[j][i];
                let chance = 1.0 / (1.0 + (strengths[j] - strengths[i]).exp());
                gradient[i] += wins - both * chance;
                information[i][i] += both * chance * (1.0 - chance);
                information[i][j] -= both * chance * (1.0 - chance);
            }
        }
        let mut inverse = matrix::inverse(information, f64::MIN_POSITIVE)?;
        let step: Vec<f64> = inverse
            .iter()
            .map(|row| row.iter().zip(&gradient).map(|(a, b)| a * b).sum())
            .collect();
        if step.iter().all(|change: &f64| change.abs() < 1e-12) {
            // The inverse has 1/size in every cell too; without it, it is the covariance.
            for row in &mut inverse {
                for cell in row {
                    *cell -= 1.0 / size as f64;
                }
            }
            return Some((strengths, inverse));
        }
        let before = log_likelihood(won, &strengths);
        let mut share = 1.0;
        strengths = loop {
            let after: Vec<f64> = strengths
                .iter()
                .zip(&step)
                .map(|(strength, change)| strength + share * change)
                .collect();
            // At the maximum, rounding hides a gain.
            let tolerance = 1e-12 * before.abs();
            if log_likelihood(won, &after) >= before - tolerance || share < 1e-9 {
                break after;
            }
            share /= 2.0;
        };
    }
    None
}

fn log_likelihood(won: &[Vec<f64>], strengths: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, row) in won.iter().enumerate() {
        for (j, wins) in row.iter().enumerate() {
            if *wins > 0.0 {
                sum -= wins * (strengths[j] - strengths[i]).exp().ln_1p();
            }
        }
    }
    sum
}
