//! The order of models on the same holes, with one error for everything that a comparison says.
//!
//! A comparison plays holes file by file and looks at the figures after each batch of whole files.
//! An order that a look decides is final; what no look decides is estimated once, at the end. A
//! comparison may also stop before the end, and continue, any number of times: what it says at a
//! stop is what a look knows. The error is divided by union bounds, which hold for any dependence
//! between the questions:
//!
//! - [`EARLY_ERROR`] covers all looks and stops. The k-th question (a pair of models and a figure,
//!   from 1) gets 1 / (k (k + 1)) of it, whose sum is 1 for any number of questions: a model that is
//!   added later changes nothing of what was decided.
//! - The rest of 1 − [`CONFIDENCE`] covers the end, equally divided by the questions.
//!
//! A look bounds a difference by a confidence sequence, which holds at all looks at once: capital
//! that bets on whole files is a martingale under the true difference, and by Ville's inequality
//! exceeds 1 / error with at most that probability (Waudby-Smith and Ramdas 2024,
//! <https://doi.org/10.1093/jrsssb/qkad009>). Files are taken as independent, holes of one file are
//! not.

use std::collections::BTreeMap;

use super::interval::clustered::paired_difference_at;
use super::{CONFIDENCE, Estimate};

/// The probability that something that is decided or said before the end is false.
pub const EARLY_ERROR: f64 = 0.01;

/// Bets of a confidence sequence, as shares of the largest that can't lose more than the capital.
/// Each has an equal part of the capital.
const BETS: usize = 24;

/// Halvings of the range in which a bound is.
const HALVINGS: usize = 40;

/// The questions of a comparison, and those that a look decided.
#[derive(Clone, Debug)]
pub struct OrderDecisions {
    decided: Vec<Option<Estimate>>,
    /// The most holes of one file.
    largest: usize,
    looks: bool,
}

impl OrderDecisions {
    /// No question is decided. `largest` is the most holes of one file, known before any is played;
    /// `looks` is true if orders may be decided before the end.
    pub fn new(questions: usize, largest: usize, looks: bool) -> Self {
        Self {
            decided: vec![None; questions],
            largest,
            looks,
        }
    }

    /// True if a look decided the question.
    pub fn is_decided(&self, question: usize) -> bool {
        self.decided.get(question).is_some_and(Option::is_some)
    }

    /// Looks at the pairs of a question so far: of each hole, its file and both models' values from
    /// 0 to 1, in the order in which files were played.
    pub fn look<K: Ord>(&mut self, question: usize, pairs: &[(K, f64, f64)]) {
        if !self.looks || self.is_decided(question) {
            return;
        }
        // Most looks decide nothing, and need no bounds to say so.
        if !excludes_0(pairs, self.largest, early_error(question)) {
            return;
        }
        self.decided[question] = self.estimate_early(question, pairs).filter(|estimate| {
            estimate.low.is_some_and(|low| low > 0.0)
                || estimate.high.is_some_and(|high| high < 0.0)
        });
    }

    /// The estimate that decided the question, or else that of all pairs. `None` without pairs.
    ///
    /// `is_end` is true if there are no further pairs. Before the end the interval is wider, since
    /// it holds at all such conclusions at once.
    pub fn conclude<K: Ord + Clone>(
        &self,
        question: usize,
        pairs: &[(K, f64, f64)],
        is_end: bool,
    ) -> Option<Estimate> {
        if let Some(decided) = self.decided.get(question).copied().flatten() {
            return Some(decided);
        }
        if !is_end {
            return self.estimate_early(question, pairs);
        }
        // Without looks, too: the comparison may have stopped before, and said something.
        let error = (1.0 - CONFIDENCE - EARLY_ERROR) / self.decided.len().max(1) as f64;
        paired_difference_at(pairs, 1.0, error / 2.0)
    }

    /// The mean difference of the pairs so far with the bounds of the confidence sequence; `None`
    /// without pairs.
    fn estimate_early<K: Ord>(&self, question: usize, pairs: &[(K, f64, f64)]) -> Option<Estimate> {
        let (low, high) = confidence_sequence(pairs, self.largest, early_error(question))?;
        let n = pairs.len();
        let sum: f64 = pairs.iter().map(|(_, first, second)| first - second).sum();
        Some(Estimate {
            value: sum / n as f64,
            low: Some(low),
            high: Some(high),
            n,
            clusters: Some(by_file(pairs).len()),
        })
    }
}

/// The part of [`EARLY_ERROR`] that a question has.
fn early_error(question: usize) -> f64 {
    // Σ 1 / (k (k + 1)) = 1, so the errors of all questions add up to `EARLY_ERROR`.
    EARLY_ERROR / ((question + 1) * (question + 2)) as f64
}

/// The bounds of the mean difference, first minus second, of values from 0 to 1: with probability
/// 1 − `error`, the true difference is within the bounds of every beginning of the sequence that
/// ends with a whole file. `None` without pairs.
///
/// Of each pair: its file, the first value, the second. `largest` is the most holes of one file
/// that the whole sequence has.
pub fn confidence_sequence<K: Ord>(
    pairs: &[(K, f64, f64)],
    largest: usize,
    error: f64,
) -> Option<(f64, f64)> {
    let (files, mirrored, largest) = both_sides(pairs, largest)?;
    let low = lower_bound(&files, largest, error / 2.0);
    let high = -lower_bound(&mirrored, largest, error / 2.0);
    Some((low, high))
}

/// True if the bounds of a [`confidence_sequence`] exclude no difference.
fn excludes_0<K: Ord>(pairs: &[(K, f64, f64)], largest: usize, error: f64) -> bool {
    both_sides(pairs, largest).is_some_and(|(files, mirrored, largest)| {
        let sides = [files, mirrored];
        sides
            .iter()
            .any(|side| rejects(side, largest, error / 2.0, 0.0))
    })
}

/// The sum of the differences and the number of holes of each file.
type FileSums = Vec<(f64, f64)>;

/// The files, the same with the models exchanged, and the most holes of one file; `None` without
/// pairs.
fn both_sides<K: Ord>(
    pairs: &[(K, f64, f64)],
    largest: usize,
) -> Option<(FileSums, FileSums, f64)> {
    let files = by_file(pairs);
    if files.is_empty() {
        return None;
    }
    let holes = files.iter().map(|(_, holes)| *holes);
    let largest = holes.fold(largest as f64, f64::max);
    let mirrored = files.iter().map(|(sum, holes)| (-sum, *holes)).collect();
    Some((files, mirrored, largest))
}

/// The sum of the differences of each file and its number of holes, in the order of files.
fn by_file<K: Ord>(pairs: &[(K, f64, f64)]) -> FileSums {
    let mut index: BTreeMap<&K, usize> = BTreeMap::new();
    let mut files = FileSums::new();
    for (file, first, second) in pairs {
        let at = *index.entry(file).or_insert(files.len());
        if at == files.len() {
            files.push((0.0, 0.0));
        }
        files[at].0 += first - second;
        files[at].1 += 1.0;
    }
    files
}

/// The least difference that bets on a larger one don't reject.
fn lower_bound(files: &[(f64, f64)], largest: f64, error: f64) -> f64 {
    let holes: f64 = files.iter().map(|(_, holes)| holes).sum();
    let sum: f64 = files.iter().map(|(sum, _)| sum).sum();
    // The mean itself is never rejected: the logarithm is concave.
    let (mut rejected, mut kept) = (-1.0, sum / holes);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(rejected, kept);
        match rejects(files, largest, error, middle) {
            true => rejected = middle,
            false => kept = middle,
        }
    }
    rejected
}

/// True if bets on a larger difference than this one gain 1 / error.
///
/// Against a difference δ, the capital of a bet is multiplied by 1 + bet · (sum − δ · holes) /
/// ((1 + δ) · largest) for each file: never below 0, and in the mean 1 if δ is true. It falls as δ
/// grows, so that halving finds a bound.
fn rejects(files: &[(f64, f64)], largest: f64, error: f64, difference: f64) -> bool {
    let stake = 1.0 / ((1.0 + difference) * largest);
    let logarithms = (0..BETS).map(|bet| {
        let bet = (bet as f64 + 0.5) / BETS as f64 * stake;
        let files = files.iter();
        files
            .map(|(sum, holes)| (bet * (sum - difference * holes)).ln_1p())
            .sum::<f64>()
    });
    let logarithms: Vec<f64> = logarithms.collect();
    // The mean of the capitals as a logarithm: the capitals themselves may overflow.
    let most = logarithms.iter().copied().fold(f64::MIN, f64::max);
    let scaled = logarithms.iter().map(|one| (one - most).exp()).sum::<f64>() / BETS as f64;
    most + scaled.ln() >= -error.ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    // With holes in files of their own that the first model alone solves, the capital of a bet b
    // against no difference is (1 + b)^n; the mean over 24 bets was computed with Python's
    // fractions.
    #[test]
    fn unanimous_files_decide_when_the_mean_capital_exceeds_the_inverse_error() {
        let pairs: Vec<(usize, f64, f64)> = (0..12).map(|file| (file, 1.0, 0.0)).collect();
        // Its mean capital after 12 files is 628.3.
        let excludes = |error: f64| {
            let (low, _) = confidence_sequence(&pairs, 1, error).expect("there are pairs");
            low > 0.0
        };
        assert!(excludes(2.0 / 620.0));
        assert!(!excludes(2.0 / 640.0));
    }

    #[test]
    fn looks_decide_once_and_stay_with_what_they_decided() {
        let mut decisions = OrderDecisions::new(1, 1, true);
        let mut pairs: Vec<(usize, f64, f64)> = (0..8).map(|file| (file, 1.0, 0.0)).collect();
        decisions.look(0, &pairs);
        assert!(!decisions.is_decided(0));
        pairs.extend((8..20).map(|file| (file, 1.0, 0.0)));
        decisions.look(0, &pairs);
        assert!(decisions.is_decided(0));
        pairs.extend((20..60).map(|file| (file, 0.0, 1.0)));
        decisions.look(0, &pairs);
        let concluded = decisions.conclude(0, &pairs, true).expect("it is decided");
        assert_eq!((concluded.value, concluded.n), (1.0, 20));
        let mut without = OrderDecisions::new(1, 1, false);
        without.look(0, &pairs[..20]);
        assert!(!without.is_decided(0));
        assert_eq!(without.conclude(0, &pairs, true).map(|one| one.n), Some(60));
    }

    #[test]
    fn conclusions_at_the_end_share_what_the_looks_leave_of_the_error() {
        let pairs: Vec<(usize, f64, f64)> = (0..30)
            .map(|hole| (hole / 2, f64::from(hole % 3 > 0), f64::from(hole % 4 > 1)))
            .map(|(file, first, second): (i32, f64, f64)| (file as usize, first, second))
            .collect();
        let usual = crate::paired_difference(&pairs, 1.0).expect("there are pairs");
        let conclude = |questions, looks| {
            let decisions = OrderDecisions::new(questions, 2, looks);
            let concluded = decisions.conclude(questions - 1, &pairs, true);
            concluded.expect("there are pairs")
        };
        let (alone, shared) = (conclude(1, true), conclude(3, true));
        // A comparison without looks may have been stopped before its end, too.
        assert_eq!(conclude(1, false), alone);
        assert!(alone.low < usual.low && alone.high > usual.high);
        assert!(shared.low < alone.low && shared.high > alone.high);
    }

    proptest! {
        #[test]
        fn bounds_hold_the_mean_and_mirror(
            holes in prop::collection::vec((0_u8..6, 0_u8..2, 0_u8..2), 1..40),
        ) {
            let pairs: Vec<(u8, f64, f64)> = holes
                .iter()
                .map(|(file, first, second)| (*file, f64::from(*first), f64::from(*second)))
                .collect();
            let swapped: Vec<(u8, f64, f64)> =
                pairs.iter().map(|(file, first, second)| (*file, *second, *first)).collect();
            let mean = pairs.iter().map(|(_, a, b)| a - b).sum::<f64>() / pairs.len() as f64;
            let (low, high) = confidence_sequence(&pairs, 1, 0.05).expect("there are pairs");
            prop_assert!(low <= mean && mean <= high, "{low} {mean} {high}");
            prop_assert!(low < high);
            let (other_low, other_high) = confidence_sequence(&swapped, 1, 0.05).expect("pairs");
            prop_assert!((other_low + high).abs() < 1e-9 && (other_high + low).abs() < 1e-9);
        }
    }

    /// Holes of a batch between two looks.
    const BATCH: usize = 8;

    /// Simulated comparisons.
    struct Simulation {
        comparisons: usize,
        /// Holes of a comparison.
        holes: usize,
        /// The most holes of a file.
        largest: usize,
        /// True if a comparison stops and continues after each batch.
        stops: bool,
    }

    /// A file's pass rates of each model around their means, correlated between models.
    fn draw_rates(means: &[f64], spread: f64, random: &mut ChaCha8Rng) -> Vec<f64> {
        let common = random.random_range(-spread..=spread);
        let rate = |mean: &f64| mean + 0.5 * common + 0.5 * random.random_range(-spread..=spread);
        means.iter().map(rate).collect()
    }

    /// One comparison: true if anything that it says is false, and the holes it played.
    fn compare(
        simulation: &Simulation,
        means: &[f64],
        spread: f64,
        random: &mut ChaCha8Rng,
    ) -> (bool, usize) {
        let Simulation { largest, stops, .. } = *simulation;
        let mut files: Vec<Vec<Vec<f64>>> = Vec::new();
        let mut left = simulation.holes;
        while left > 0 {
            let holes = random.random_range(1..=largest).min(left);
            left -= holes;
            let rates = draw_rates(means, spread, random);
            let outcome = |rate: &f64| f64::from(u8::from(random.random::<f64>() < *rate));
            let mut outcome = outcome;
            files.push(
                (0..holes)
                    .map(|_| rates.iter().map(&mut outcome).collect())
                    .collect(),
            );
        }
        let questions: Vec<(usize, usize)> = (1..means.len())
            .flat_map(|second| (0..second).map(move |first| (first, second)))
            .collect();
        let mut decisions = OrderDecisions::new(questions.len(), largest, true);
        let mut pairs: Vec<Vec<(usize, f64, f64)>> = vec![Vec::new(); questions.len()];
        let says_false =
            |decisions: &OrderDecisions, pairs: &[Vec<(usize, f64, f64)>], is_end: bool| {
                let mut questions = questions.iter().zip(pairs).enumerate();
                questions.any(|(question, ((first, second), pairs))| {
                    let truth = means[*first] - means[*second];
                    let said = decisions.conclude(question, pairs, is_end);
                    let bounds = said.and_then(|said| said.low.zip(said.high));
                    bounds.is_some_and(|(low, high)| truth < low || truth > high)
                })
            };
        let mut is_wrong = false;
        let (mut played, mut since_look) = (0, 0);
        for (file, holes) in files.iter().enumerate() {
            for values in holes {
                played += 1;
                since_look += 1;
                for (question, (first, second)) in questions.iter().enumerate() {
                    if !decisions.is_decided(question) {
                        pairs[question].push((file, values[*first], values[*second]));
                    }
                }
            }
            if since_look >= BATCH {
                since_look = 0;
                for (question, pairs) in pairs.iter().enumerate() {
                    decisions.look(question, pairs);
                }
                is_wrong |= stops && says_false(&decisions, &pairs, false);
                if (0..questions.len()).all(|question| decisions.is_decided(question)) {
                    break;
                }
            }
        }
        (is_wrong || says_false(&decisions, &pairs, true), played)
    }

    /// Simulates comparisons of models with these true pass rates, prints how many say something
    /// false, and fails if these are too many.
    fn check_comparisons(simulation: &Simulation, means: &[f64], spread: f64) {
        let mut random = ChaCha8Rng::seed_from_u64(44);
        let (mut wrong, mut holes) = (0, 0);
        for _ in 0..simulation.comparisons {
            let (is_wrong, played) = compare(simulation, means, spread, &mut random);
            wrong += usize::from(is_wrong);
            holes += played;
        }
        let comparisons = simulation.comparisons as f64;
        let mean = holes as f64 / comparisons;
        println!("{means:?}  {spread}  {wrong}  {mean:.1}");
        // Three standard errors above the stated 5 %.
        let most = 0.05 * comparisons + 3.0 * (0.05 * 0.95 * comparisons).sqrt();
        assert!(wrong as f64 <= most, "{means:?} {spread}: {wrong}");
    }

    #[test]
    fn sentences_are_wrong_at_most_at_their_stated_probability() {
        let simulation = Simulation {
            comparisons: 1_000,
            holes: 60,
            largest: 4,
            stops: false,
        };
        println!("models  spread  wrong of 1,000  mean holes of 60");
        for (means, spread) in [
            (&[0.5, 0.5][..], 0.3),
            (&[0.3, 0.3], 0.0),
            (&[0.5, 0.42], 0.3),
            (&[0.85, 0.25], 0.1),
            (&[0.9, 0.1], 0.1),
            (&[0.5, 0.5, 0.5], 0.3),
            (&[0.7, 0.5, 0.2], 0.2),
        ] {
            check_comparisons(&simulation, means, spread);
        }
    }

    #[test]
    fn sentences_of_all_stops_are_wrong_at_most_at_their_stated_probability() {
        let simulation = Simulation {
            comparisons: 300,
            holes: 120,
            largest: 1,
            stops: true,
        };
        println!("models  spread  wrong of 300, each stopped after every batch  mean holes of 120");
        check_comparisons(&simulation, &[0.5, 0.5], 0.0);
    }
}
