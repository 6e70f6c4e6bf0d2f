//! Agreement between judges.

use crate::interval::{CONFIDENCE, Estimate, student_quantile};

/// Fleiss' kappa (1971, <https://doi.org/10.1037/h0031619>): how much more often the judges agree
/// than by chance. Each row is a subject, with the number of judges for each class; all rows have the
/// same number of judges, at least two. The interval is the jackknife's over subjects, with Student's
/// t of one degree of freedom fewer.
///
/// `None` without subjects, if rows have different or too few judges, or if all judges name one
/// class throughout: chance alone would agree then.
pub fn fleiss_kappa(table: &[Vec<usize>]) -> Option<Estimate> {
    let judges: usize = table.first()?.iter().sum();
    let classes = table.first()?.len();
    let is_sound = |row: &Vec<usize>| row.len() == classes && row.iter().sum::<usize>() == judges;
    if judges < 2 || !table.iter().all(is_sound) {
        return None;
    }
    let n = table.len();
    let total = Counts::new(table, classes, judges);
    let value = total.kappa(judges)?;
    let without: Option<Vec<f64>> = table
        .iter()
        .map(|row| total.without(row, judges).kappa(judges))
        .collect();
    let bounds = without.filter(|_| n > 2).and_then(|estimates| {
        let mean = estimates.iter().sum::<f64>() / n as f64;
        let squares: f64 = estimates.iter().map(|one| (one - mean).powi(2)).sum();
        let error = (squares * (n - 1) as f64 / n as f64).sqrt();
        Some(error * student_quantile(0.5 + CONFIDENCE / 2.0, (n - 1) as f64)?)
    });
    // If all subjects agree, their spread bounds nothing.
    let bounds = bounds.filter(|half| *half > 0.0);
    Some(Estimate {
        value,
        low: bounds.map(|half| (value - half).max(-1.0)),
        high: bounds.map(|half| (value + half).min(1.0)),
        n,
        clusters: None,
    })
}

/// Counts from which kappa is computed, as sums over subjects.
struct Counts {
    subjects: usize,
    by_class: Vec<usize>,
    /// Pairs of judges that agree.
    agreeing: usize,
}

impl Counts {
    fn new(table: &[Vec<usize>], classes: usize, judges: usize) -> Self {
        let mut counts = Self {
            subjects: table.len(),
            by_class: vec![0; classes],
            agreeing: 0,
        };
        for row in table {
            for (sum, count) in counts.by_class.iter_mut().zip(row) {
                *sum += count;
            }
            counts.agreeing += pairs(row, judges);
        }
        counts
    }

    fn without(&self, row: &[usize], judges: usize) -> Self {
        let by_class = self.by_class.iter().zip(row);
        Self {
            subjects: self.subjects - 1,
            by_class: by_class.map(|(sum, count)| sum - count).collect(),
            agreeing: self.agreeing - pairs(row, judges),
        }
    }

    fn kappa(&self, judges: usize) -> Option<f64> {
        let votes = (self.subjects * judges) as f64;
        let observed = self.agreeing as f64 / (votes * (judges - 1) as f64);
        let share = |count: &usize| (*count as f64 / votes).powi(2);
        let chance: f64 = self.by_class.iter().map(share).sum();
        (self.subjects > 0 && chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
    }
}

/// Ordered pairs of judges that name the same class.
fn pairs(row: &[usize], judges: usize) -> usize {
    // Σ n (n − 1) over the classes, as all n add up to the number of judges.
    row.iter().map(|count| count * count).sum::<usize>() - judges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that goes with the definition: ten subjects, fourteen judges, five classes.
    #[test]
    fn kappa_of_the_classical_example() {
        let table = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ]
        .map(|row| row.to_vec());
        let kappa = fleiss_kappa(&table).expect("the table is sound");
        assert!((kappa.value - 0.20993).abs() < 1e-5, "{}", kappa.value);
        assert_eq!(kappa.n, 10);
        let (low, high) = (kappa.low.expect("bounded"), kappa.high.expect("bounded"));
        assert!(low < kappa.value && kappa.value < high);
    }

    /// Two judges who are right with p and q, on an equal number of subjects of each class: they
    /// agree with pq + (1 − p)(1 − q), by chance with one half.
    #[test]
    fn judges_of_known_accuracy_give_the_kappa_of_the_formula() {
        let (p, q) = (0.9, 0.8);
        let mut table = Vec::new();
        for truth in 0..2 {
            // In a hundred subjects, every combination as often as its probability says.
            for (first, second, times) in [
                (true, true, 72),
                (true, false, 18),
                (false, true, 8),
                (false, false, 2),
            ] {
                let class = |right: bool| if right { truth } else { 1 - truth };
                let mut row = vec![0, 0];
                row[class(first)] += 1;
                row[class(second)] += 1;
                table.extend(std::iter::repeat_n(row, times));
            }
        }
        let observed: f64 = p * q + (1.0 - p) * (1.0 - q);
        let kappa = fleiss_kappa(&table).expect("the table is sound");
        assert!(
            (kappa.value - (observed - 0.5) / 0.5).abs() < 1e-12,
            "{}",
            kappa.value
        );
    }

    #[test]
    fn unsound_tables_have_no_kappa() {
        assert_eq!(fleiss_kappa(&[]), None);
        assert_eq!(fleiss_kappa(&[vec![1, 0]]), None);
        assert_eq!(fleiss_kappa(&[vec![2, 0], vec![1, 0]]), None);
        // Chance alone agrees.
        assert_eq!(fleiss_kappa(&[vec![2, 0], vec![2, 0]]), None);
    }
}
