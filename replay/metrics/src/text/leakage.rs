//! Signs that a model has seen a benchmark: how alike its outputs are, and overlap of n-grams.

use std::collections::{BTreeSet, HashMap};

use super::edit::levenshtein;

/// The most tokens of an output that are compared.
const MOST_TOKENS: usize = 100;

/// Splits a text into words and signs; white space is none.
pub fn leakage_tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// The peakedness of a model's outputs, from contamination detection by output distribution
/// (CDD, Dong et al. 2024, <https://arxiv.org/abs/2402.15938>, §3): the share of samples whose edit
/// distance in tokens from the greedy output is at most `alpha` times the length of the longest
/// output. All are cut to their first 100 tokens. `None` without samples.
pub fn peakedness(greedy: &str, samples: &[&str], alpha: f64) -> Option<f64> {
    // Each token becomes a character, so that the distance of texts is that of tokens.
    let mut characters: HashMap<String, char> = HashMap::new();
    // From here on, `char` has no gap: the surrogates are below.
    let mut fresh = '\u{10000}'..=char::MAX;
    let mut encoded = |text: &str| -> String {
        let tokens = leakage_tokens(text);
        let tokens = tokens.into_iter().take(MOST_TOKENS);
        tokens
            .filter_map(|token| match characters.get(token) {
                Some(known) => Some(*known),
                None => {
                    let next = fresh.next()?;
                    characters.insert(token.to_owned(), next);
                    Some(next)
                }
            })
            .collect()
    };
    let greedy = encoded(greedy);
    let samples: Vec<String> = samples.iter().map(|sample| encoded(sample)).collect();
    let length = |text: &String| text.chars().count();
    let longest = samples.iter().map(length).max()?.max(length(&greedy));
    let most = alpha * longest as f64;
    let is_near = |sample: &&String| levenshtein(&greedy, sample) as f64 <= most;
    Some(samples.iter().filter(is_near).count() as f64 / samples.len() as f64)
}

/// The distinct n-grams of a text's tokens.
pub fn ngrams(text: &str, n: usize) -> BTreeSet<Vec<&str>> {
    let tokens = leakage_tokens(text);
    tokens.windows(n.max(1)).map(<[&str]>::to_vec).collect()
}

/// The share of a text's distinct n-grams that are among known ones; `None` for a text of fewer
/// than n tokens.
pub fn ngram_overlap(text: &str, known: &BTreeSet<Vec<&str>>, n: usize) -> Option<f64> {
    let own = ngrams(text, n);
    let shared = own.iter().filter(|gram| known.contains(*gram)).count();
    (!own.is_empty()).then(|| shared as f64 / own.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_copies_give_their_share_as_peakedness() {
        let words: Vec<String> = (0..40).map(|i| format!("g{i}")).collect();
        let with = |places: &[usize]| {
            let mut words = words.clone();
            for place in places {
                words[*place] = "x".to_owned();
            }
            words.join(" ")
        };
        let greedy = with(&[]);
        // Two tokens of 40 are a share of .05; three are more.
        let (near, far) = (with(&[3, 9]), with(&[3, 9, 20]));
        let other = "y ".repeat(40);
        let mut samples = vec![other.as_str(); 46];
        samples.extend([greedy.as_str(), &near, &far, &far]);
        assert_eq!(peakedness(&greedy, &samples, 0.05), Some(2.0 / 50.0));
        assert_eq!(peakedness(&greedy, &[], 0.05), None);
        // What differs after 100 tokens is not compared.
        let (long, longer) = ("a ".repeat(100), "a ".repeat(300));
        assert_eq!(peakedness(&long, &[&longer], 0.0), Some(1.0));
    }

    #[test]
    fn overlap_is_share_of_known_ngrams() {
        let text = "return rope.tie(boat, 2)";
        assert_eq!(
            leakage_tokens(text),
            ["return", "rope", ".", "tie", "(", "boat", ",", "2", ")"]
        );
        // `rope . tie`, `. tie (` and `tie ( boat`, of seven.
        let known = ngrams("rope.tie(boat)", 3);
        let overlap = ngram_overlap(text, &known, 3).expect("there are three tokens");
        assert!((overlap - 3.0 / 7.0).abs() < 1e-12);
        assert_eq!(ngram_overlap("a b", &known, 3), None);
    }
}
