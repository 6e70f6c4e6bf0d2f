//! Distance of a set of tasks from real code: the reconstruction error of MRG-Bench, §5.1.1 of [its
//! paper](https://arxiv.org/abs/2508.02998).

use std::collections::{BTreeMap, HashMap};

/// The distance of each of `real` from the nearest of `tasks`, Euclidean. Their mean is the
/// reconstruction error. Empty without tasks. All vectors have one length.
pub fn nearest_distances(real: &[&[f32]], tasks: &[&[f32]]) -> Vec<f64> {
    let squared = |one: &[f32], other: &[f32]| -> f64 {
        let parts = one.iter().zip(other);
        parts.map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    real.iter()
        .filter_map(|real| {
            let nearest = tasks.iter().map(|task| squared(real, task));
            nearest.min_by(f64::total_cmp).map(f64::sqrt)
        })
        .collect()
}

/// As [`nearest_distances`], of texts by their words: TF-IDF vectors of length 1, with ln((1 + n) /
/// (1 + d)) + 1 as the weight of a word that d of the n real texts have. So a distance is 0 for
/// texts of the same words, and √2 for texts without a common word.
pub fn nearest_lexical_distances(real: &[&str], tasks: &[&str]) -> Vec<f64> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let counts: Vec<BTreeMap<String, f64>> = real.iter().map(|text| counts(text)).collect();
    let mut texts_with: HashMap<&str, usize> = HashMap::new();
    for word in counts.iter().flat_map(BTreeMap::keys) {
        *texts_with.entry(word).or_default() += 1;
    }
    let weight = |word: &str| {
        let with = texts_with.get(word).copied().unwrap_or_default();
        ((1 + real.len()) as f64 / (1 + with) as f64).ln() + 1.0
    };
    let mut tasks_with: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
    let mut has_words = vec![false; tasks.len()];
    for (place, text) in tasks.iter().enumerate() {
        for (word, weight) in unit_vector(self::counts(text), weight) {
            has_words[place] = true;
            tasks_with.entry(word).or_default().push((place, weight));
        }
    }
    counts
        .iter()
        .map(|counts| {
            let mut products = vec![0.0; tasks.len()];
            for (word, weight) in unit_vector(counts.clone(), weight) {
                for (place, other) in tasks_with.get(&word).into_iter().flatten() {
                    products[*place] += weight * other;
                }
            }
            let own = f64::from(u8::from(!counts.is_empty()));
            // |a − b|² = |a|² + |b|² − 2 a·b, where a vector has length 1, or 0 without words.
            let squared = products
                .iter()
                .zip(&has_words)
                .map(|(product, has)| own + f64::from(u8::from(*has)) - 2.0 * product);
            let nearest = squared.min_by(f64::total_cmp).unwrap_or_default();
            nearest.max(0.0).sqrt()
        })
        .collect()
}

/// The words of a text in lower case, parted at `_` and where a lower case letter meets an upper
/// case one, each with its number.
fn counts(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        for c in run.chars() {
            if c.is_uppercase() && word.chars().last().is_some_and(char::is_lowercase) {
                *counts.entry(word.to_lowercase()).or_default() += 1.0;
                word.clear();
            }
            word.push(c);
        }
        if !word.is_empty() {
            *counts.entry(word.to_lowercase()).or_default() += 1.0;
        }
    }
    counts
}

/// The counts with their weights, to a length of 1.
fn unit_vector(
    counts: BTreeMap<String, f64>,
    weight: impl Fn(&str) -> f64,
) -> impl Iterator<Item = (String, f64)> {
    let weighted: Vec<(String, f64)> = counts
        .into_iter()
        .map(|(word, count)| {
            let weight = count * weight(&word);
            (word, weight)
        })
        .collect();
    let length = weighted.iter().map(|(_, it)| it * it).sum::<f64>().sqrt();
    weighted
        .into_iter()
        .map(move |(word, it)| (word, it / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_by_hand() {
        let real: [&[f32]; 4] = [&[0.0, 0.0], &[3.0, 4.0], &[6.0, 8.0], &[1.0, 0.0]];
        let tasks: [&[f32]; 2] = [&[0.0, 0.0], &[6.0, 0.0]];
        assert_eq!(nearest_distances(&real, &tasks), [0.0, 5.0, 8.0, 1.0]);
        assert!(nearest_distances(&real, &[]).is_empty());
    }

    #[test]
    fn lexical_distances_are_those_by_hand() {
        let real = ["Tie the boat", "tieThe_boat", "sum"];
        let same = nearest_lexical_distances(&real[..2], &["the boat tie"]);
        assert!(
            same.iter().all(|distance| distance.abs() < 1e-7),
            "{same:?}"
        );
        let none = nearest_lexical_distances(&real, &["row row"]);
        let apart = |distance: &f64| (distance - 2f64.sqrt()).abs() < 1e-12;
        assert!(none.iter().all(apart), "{none:?}");
        // `tie` is in 2 of 3 real texts, `sum` in 1, `knot` in none.
        let half = nearest_lexical_distances(&["tie sum", "tie", "oar"], &["tie knot"]);
        let (tie, sum, knot) = (
            (4f64 / 3.0).ln() + 1.0,
            (4f64 / 2.0).ln() + 1.0,
            4f64.ln() + 1.0,
        );
        let task = tie / tie.hypot(knot);
        let expected = [task * tie / tie.hypot(sum), task, 0.0];
        for (distance, product) in half.iter().zip(expected) {
            assert!((distance - (2.0 - 2.0 * product).sqrt()).abs() < 1e-12);
        }
        assert_eq!(nearest_lexical_distances(&["", "oar"], &["—"]), [0.0, 1.0]);
    }
}
