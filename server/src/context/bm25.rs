//! BM25 as rank_bm25's `BM25Okapi` calculates it, operation by operation, so that scores are
//! bit-identical. <https://github.com/dorianbrown/rank_bm25/blob/0.2.2/rank_bm25.py>

use std::collections::HashMap;

/// The saturation of a term's frequency.
const K1: f64 = 1.5;

/// The weight of a document's length.
const B: f64 = 0.75;

/// Share of the mean inverse document frequency that replaces a negative one.
const EPSILON: f64 = 0.25;

/// A document's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentTerms {
    /// Each distinct term with its count, in the order of first occurrence. This order decides the
    /// order of a sum below.
    counts: Vec<(u32, u32)>,
    /// Number of terms, repeated ones included.
    length: u32,
}

impl DocumentTerms {
    /// Returns the distinct terms.
    pub(super) fn distinct(&self) -> impl Iterator<Item = u32> {
        self.counts.iter().map(|(term, _)| *term)
    }
}

/// Maps words to numbers, counted from 0.
#[derive(Clone, Debug, Default)]
pub(super) struct TermNumbers {
    numbers: HashMap<String, u32>,
}

impl TermNumbers {
    /// Returns the terms of a document, and adds its words to the numbers.
    pub(super) fn learn(&mut self, words: &[String]) -> DocumentTerms {
        let mut terms = DocumentTerms::default();
        let mut places = HashMap::new();
        for word in words {
            let next = self.numbers.len() as u32;
            let number = match self.numbers.get(word) {
                Some(number) => *number,
                None => *self.numbers.entry(word.clone()).or_insert(next),
            };
            let place = *places.entry(number).or_insert_with(|| {
                terms.counts.push((number, 0));
                terms.counts.len() - 1
            });
            terms.counts[place].1 += 1;
            terms.length += 1;
        }
        terms
    }

    /// Returns a word's number; `None` if no document contained it.
    pub(super) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }
}

/// Computes the score of each document for a query.
pub(super) fn scores(
    vocabulary: &TermNumbers,
    documents: &[&DocumentTerms],
    query: &[String],
) -> Vec<f64> {
    let mut scores = vec![0.0; documents.len()];
    if documents.is_empty() {
        return scores;
    }
    let count = documents.len() as f64;
    let lengths: u64 = documents.iter().map(|terms| u64::from(terms.length)).sum();
    let mean_length = lengths as f64 / count;

    // Number of documents with each term, and the terms in the order of first occurrence.
    let mut holding = vec![0_u32; vocabulary.numbers.len()];
    let mut order = Vec::new();
    for terms in documents {
        for (term, _) in &terms.counts {
            let held = &mut holding[*term as usize];
            if *held == 0 {
                order.push(*term);
            }
            *held += 1;
        }
    }
    // Logarithms of (number of documents + 0.5), computed once as they are needed often.
    let logarithms: Vec<f64> = (0..=documents.len())
        .map(|number| (number as f64 + 0.5).ln())
        .collect();
    // The idf is ln((N - n + 0.5) / (n + 0.5)): negative for a term in more than half of the
    // documents.
    let idf = |term: u32| {
        let held = holding[term as usize] as usize;
        logarithms[documents.len() - held] - logarithms[held]
    };
    // Float addition is not associative, so the terms are summed in a fixed order.
    let mut sum = 0.0;
    for term in &order {
        sum += idf(*term);
    }
    let floor = EPSILON * (sum / order.len() as f64);

    // The documents that have each term of the query.
    let wanted: Vec<Option<u32>> = query.iter().map(|word| vocabulary.number(word)).collect();
    let mut found: HashMap<u32, Vec<(usize, f64)>> = wanted
        .iter()
        .flatten()
        .map(|term| (*term, Vec::new()))
        .collect();
    for (place, terms) in documents.iter().enumerate() {
        for (term, frequency) in &terms.counts {
            if let Some(found) = found.get_mut(term) {
                found.push((place, f64::from(*frequency)));
            }
        }
    }
    // Scale of each document's frequencies, by its length.
    let scales: Vec<f64> = documents
        .iter()
        .map(|terms| K1 * (1.0 - B + B * f64::from(terms.length) / mean_length))
        .collect();
    // A term that occurs twice in the query counts twice.
    for term in wanted.into_iter().flatten() {
        let weight = match idf(term) {
            negative if negative < 0.0 => floor,
            idf => idf,
        };
        for (place, frequency) in &found[&term] {
            scores[*place] += weight * (frequency * (K1 + 1.0) / (frequency + scales[*place]));
        }
    }
    scores
}
