//! Near-duplicates among many texts: MinHash with locality-sensitive hashing (Broder 1997;
//! Leskovec, Rajaraman & Ullman, *Mining of Massive Datasets*, §3.4), each match verified.

use std::collections::{HashMap, HashSet};

use fillrate_metrics::leakage_tokens;

/// The words and signs of a shingle.
const SHINGLE: usize = 5;
/// The rows of a band and the bands of a signature. Of two texts that share .7 of their shingles, a
/// band is equal with a probability of 1 − 2·10⁻⁸; of two that share half, with one of .98.
const ROWS: usize = 4;
const BANDS: usize = 64;

/// Set of texts that finds whether another text resembles one of them.
pub struct NearDuplicates {
    least: f64,
    /// The texts with an equal band, by its number and hash.
    bands: HashMap<(usize, u64), Vec<usize>>,
    texts: Vec<Vec<u64>>,
}

impl NearDuplicates {
    /// The least similarity that can be required: below it, bands miss too many pairs.
    pub const LEAST: f64 = 0.5;

    /// No texts yet. Two texts resemble each other if they share at least this part of their
    /// distinct shingles of five words and signs (Jaccard similarity), [`Self::LEAST`] to 1.
    pub fn new(least: f64) -> Self {
        Self {
            least,
            bands: HashMap::new(),
            texts: Vec::new(),
        }
    }

    /// Adds a text.
    pub fn insert(&mut self, text: &str) {
        let shingles = shingles(text);
        if shingles.is_empty() {
            return;
        }
        let place = self.texts.len();
        // Texts that agree in one whole band are compared; similar ones agree in some with high
        // probability.
        for band in bands(&shingles) {
            self.bands.entry(band).or_default().push(place);
        }
        self.texts.push(shingles);
    }

    /// True if a text resembles one of those added.
    pub fn resembles_any(&self, text: &str) -> bool {
        let shingles = shingles(text);
        let candidates: HashSet<usize> = bands(&shingles)
            .filter_map(|band| self.bands.get(&band))
            .flatten()
            .copied()
            .collect();
        candidates
            .into_iter()
            .any(|place| jaccard(&shingles, &self.texts[place]) >= self.least)
    }
}

/// The hashes of a text's distinct shingles, sorted; a shorter text is one shingle.
fn shingles(text: &str) -> Vec<u64> {
    let tokens = leakage_tokens(text);
    // A text shorter than a shingle is one shingle.
    let size = SHINGLE.min(tokens.len());
    if size == 0 {
        return Vec::new();
    }
    let mut hashes: Vec<u64> = tokens.windows(size).map(hash).collect();
    hashes.sort_unstable();
    // Sorted and unique, as the binary search of `jaccard` needs them.
    hashes.dedup();
    hashes
}

/// FNV-1a: the same in every build, so that a corpus gives the same file everywhere.
fn hash(tokens: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for token in tokens {
        // The zero byte separates tokens.
        for byte in token.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// The bands of a text's signature, by number and hash.
fn bands(shingles: &[u64]) -> impl Iterator<Item = (usize, u64)> {
    let count = if shingles.is_empty() { 0 } else { BANDS };
    (0..count).map(|band| {
        let rows = band * ROWS..(band + 1) * ROWS;
        let hash = rows.fold(0, |hash, row| {
            // Two texts have the same least hash with a probability of their Jaccard similarity.
            let least = shingles
                .iter()
                // Each row is another hash function, made of one by mixing in the row's
                // number.
                .map(|shingle| mixed(shingle ^ mixed(row as u64)));
            mixed(hash ^ least.min().unwrap_or_default())
        });
        (band, hash)
    })
}

/// A number's hash: the last step of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The share of common members of two sorted lists.
fn jaccard(one: &[u64], other: &[u64]) -> f64 {
    let shared = one
        .iter()
        .filter(|hash| other.binary_search(hash).is_ok())
        .count();
    // The size of the union.
    let all = one.len() + other.len() - shared;
    if all == 0 {
        0.0
    } else {
        shared as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of which a range is exchanged.
    fn words(count: usize, exchanged: std::ops::Range<usize>, series: &str) -> String {
        let word = |place: usize| match exchanged.contains(&place) {
            true => format!("{series}{place}"),
            false => format!("w{place}"),
        };
        let words: Vec<String> = (0..count).map(word).collect();
        words.join(" ")
    }

    #[test]
    fn similarity_is_share_of_common_shingles() {
        // 96 shingles each; the first 10 words are in 10 of them: 86 of 106 are shared.
        let (one, other) = (words(100, 0..0, "x"), words(100, 0..10, "x"));
        let exact = 86.0 / 106.0;
        assert_eq!(jaccard(&shingles(&one), &shingles(&other)), exact);
        for (least, resembles) in [(exact, true), (exact + 0.001, false)] {
            let mut texts = NearDuplicates::new(least);
            texts.insert(&one);
            assert_eq!(texts.resembles_any(&other), resembles);
        }
    }

    #[test]
    fn near_duplicates_are_found_among_many() {
        let mut texts = NearDuplicates::new(0.7);
        for series in 0..300 {
            texts.insert(&words(60, 0..60, &format!("s{series}_")));
        }
        for series in 0..300 {
            let near = words(60, 0..60, &format!("s{series}_")).replace("_30 ", "_x ");
            // 51 of 61 shingles.
            assert!(texts.resembles_any(&near), "{near}");
        }
        assert!(!texts.resembles_any(&words(60, 0..60, "other")));
        assert!(!texts.resembles_any(""));
    }

    #[test]
    fn short_texts_resemble_their_equals_alone() {
        let mut texts = NearDuplicates::new(0.7);
        texts.insert("return self");
        texts.insert("");
        assert!(texts.resembles_any("return  self"));
        assert!(!texts.resembles_any("return it"));
    }
}
