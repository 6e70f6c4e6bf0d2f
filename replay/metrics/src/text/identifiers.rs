//! Identifier match, as CrossCodeEval's reference scorer has it
//! (<https://github.com/amazon-science/cceval>).

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::sample::ScoringSyntax;

/// The identifiers of a text in order, duplicates included, without a parser: string literals
/// are taken out, the rest is cut into words, and a word counts if it starts with an ASCII
/// letter or `_` and is not a keyword.
///
/// A string literal here is the text between two equal quotation marks, line breaks included, in
/// which a backslash hides the character after it unless that is a line break. So a triple-quoted
/// string is an empty one, a plain one and an empty one. Words are Python's `\w+`.
pub fn identifiers_cceval(text: &str, syntax: &dyn ScoringSyntax) -> Vec<String> {
    // Python's `\w` is the letters and numbers of Unicode, and the underscore. Rust's own
    // `char::is_alphanumeric` also takes in the vowel signs of many scripts.
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[\p{L}\p{N}_]+").expect("the pattern is a constant, compiled in tests")
    });
    let text = without_strings(text);
    WORD.find_iter(&text)
        .map(|word| word.as_str())
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
        .filter(|word| !syntax.is_keyword(word))
        .map(str::to_owned)
        .collect()
}

/// `id_em/cceval`: the identifiers are equal lists.
pub(super) fn exact_match([prediction, reference]: &[Vec<String>; 2]) -> f64 {
    f64::from(prediction == reference)
}

/// The overlap between the sets of identifiers.
pub(super) fn overlap([prediction, reference]: &[Vec<String>; 2]) -> Overlap {
    let prediction: BTreeSet<&String> = prediction.iter().collect();
    let reference: BTreeSet<&String> = reference.iter().collect();
    Overlap {
        common: prediction.intersection(&reference).count(),
        predicted: prediction.len(),
        referenced: reference.len(),
    }
}

/// The sizes of two sets and of what they have in common.
#[derive(Debug)]
pub(super) struct Overlap {
    common: usize,
    predicted: usize,
    referenced: usize,
}

impl Overlap {
    /// The share of the predicted that is right; 0 if nothing is predicted.
    pub(super) fn precision(&self) -> f64 {
        ratio_or_zero(self.common, self.predicted)
    }

    /// The share of the reference that is predicted; 0 if the reference has none.
    pub(super) fn recall(&self) -> f64 {
        ratio_or_zero(self.common, self.referenced)
    }

    /// The harmonic mean of the two; 0 if both sets are empty.
    pub(super) fn f1(&self) -> f64 {
        ratio_or_zero(2 * self.common, self.predicted + self.referenced)
    }
}

fn ratio_or_zero(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// A text without its string literals.
fn without_strings(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(quote) = rest.find(['"', '\'']) {
        let (before, literal) = rest.split_at(quote);
        kept.push_str(before);
        match string_length(literal) {
            Some(length) => rest = &literal[length..],
            None => {
                kept.push_str(&literal[..1]);
                rest = &literal[1..];
            }
        }
    }
    kept + rest
}

/// Returns the length, in bytes, of the string literal at the start of a text, which starts with
/// the quotation mark. `None` if the literal does not end.
fn string_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next()?;
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some(at + quote.len_utf8());
        }
        if character == '\\' && characters.next()?.1 == '\n' {
            return None;
        }
    }
    None
}
