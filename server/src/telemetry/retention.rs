//! Measures the part of an accepted text that remains: pure functions on texts.

use serde::{Deserialize, Serialize};

/// Part of an accepted text that remains some time later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remainder {
    /// `retained@t`: the edit distance between the accepted text and the text in its place, divided
    /// by the length of the longer: 0 if unchanged, 1 if nothing remains. As in Ziegler et al.
    /// 2022, <https://doi.org/10.1145/3520312.3534864>, and Cody.
    pub distance: f64,
    /// True if the text in its place is blank.
    pub removed: bool,
    /// `still-in-code@t`: the edit distance in words between the accepted text and the most similar
    /// text near its place, divided by the number of its words.
    pub word_distance: f64,
}

/// Maximum [`Remainder::distance`] of a text that counts as retained.
pub const RETAINED: f64 = 0.33;

/// Maximum [`Remainder::word_distance`] of a text that counts as still in the code, as in GitHub
/// Copilot's client: <https://github.com/microsoft/vscode-copilot-chat>.
pub const STILL_IN_CODE: f64 = 0.5;

/// Number of characters searched before and after its place, as in the same client.
pub const NEAR: usize = 50;

impl Remainder {
    /// Compares an accepted text with `place`, the text in its tracked span, and with [`NEAR`]
    /// characters of the text around it, `before` and `after`.
    pub fn measure(accepted: &str, before: &str, place: &str, after: &str) -> Self {
        let before: Vec<char> = before.chars().rev().take(NEAR).collect();
        // The search covers the length of the accepted text from its start.
        let rest = accepted
            .chars()
            .count()
            .saturating_sub(place.chars().count())
            + NEAR;
        let near: String = before
            .into_iter()
            .rev()
            .chain(place.chars())
            .chain(after.chars().take(rest))
            .collect();
        Self {
            distance: distance(accepted, place),
            removed: place.trim().is_empty(),
            word_distance: word_distance(&near, accepted),
        }
    }

    /// True if it counts as retained.
    pub fn is_retained(&self) -> bool {
        !self.removed && self.distance <= RETAINED
    }

    /// True if it counts as still in the code.
    pub fn is_still_in_code(&self) -> bool {
        self.word_distance <= STILL_IN_CODE
    }
}

/// Levenshtein distance in characters, divided by the length of the longer text; 0 for two empty
/// texts.
fn distance(one: &str, other: &str) -> f64 {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let longest = one.len().max(other.len());
    if longest == 0 {
        return 0.0;
    }
    // The whole of both texts is compared, so a match may not start anywhere.
    let edits = *last_row(&one, &other, false).last().unwrap_or(&0);
    edits as f64 / longest as f64
}

/// Minimum number of word edits that turn some part of `near` into the accepted text, divided by
/// the number of words of the accepted text; 0 if it has none.
fn word_distance(near: &str, accepted: &str) -> f64 {
    let near = words(near);
    let accepted = words(accepted);
    if accepted.is_empty() {
        return 0.0;
    }
    let edits = last_row(&accepted, &near, true).into_iter().min();
    edits.unwrap_or(accepted.len()) as f64 / accepted.len() as f64
}

/// Returns the last row of the Levenshtein table: the number of edits from `needle` to each prefix
/// of `hay` or, with `anywhere`, to the best substring that ends there.
fn last_row<T: PartialEq>(needle: &[T], hay: &[T], anywhere: bool) -> Vec<usize> {
    let mut row: Vec<usize> = (0..=hay.len())
        .map(|index| if anywhere { 0 } else { index })
        .collect();
    for (above, item) in needle.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (index, other) in hay.iter().enumerate() {
            let substituted = diagonal + usize::from(item != other);
            diagonal = row[index + 1];
            row[index + 1] = substituted.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row
}

/// Splits a text into words: runs of letters, digits and `_`, runs of blanks, and every other
/// single character. Single blanks are dropped.
fn words(text: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Class {
        Word,
        Blank,
        Other,
    }
    let class = |character: char| match character {
        ' ' => Class::Blank,
        '_' => Class::Word,
        one if one.is_alphabetic() || one.is_numeric() => Class::Word,
        _ => Class::Other,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (index, character) in text.char_indices() {
        let now = class(character);
        if before.is_some_and(|before| before != now || now == Class::Other) {
            words.push(&text[start..index]);
            start = index;
        }
        before = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words.retain(|word| *word != " ");
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn left(accepted: &str, document: &str) -> Remainder {
        let start = document.find('[').expect("it is marked");
        let end = document.find(']').expect("it is marked");
        Remainder::measure(
            accepted,
            &document[..start],
            &document[start + 1..end],
            &document[end + 1..],
        )
    }

    #[test]
    fn unchanged_text_is_retained() {
        let left = left("return a + b", "def f(a, b):\n    [return a + b]\n");
        assert_eq!((left.distance, left.word_distance), (0.0, 0.0));
        assert!(left.is_retained() && left.is_still_in_code());
    }

    #[test]
    fn retained_allows_a_third_of_edits() {
        // 3 of 9 characters, and 3 of 9.1.
        let kept = left("abcdefghi", "[abcdefXYZ]");
        assert!((kept.distance - 1.0 / 3.0).abs() < 1e-12);
        assert!(!kept.is_retained());
        let kept = left("abcdefghij", "[abcdefgXYZ]");
        assert!((kept.distance - 0.3).abs() < 1e-12);
        assert!(kept.is_retained());
        // By the longer of the two.
        assert!((left("ab", "[abcd]").distance - 0.5).abs() < 1e-12);
    }

    #[test]
    fn blank_text_counts_as_removed() {
        let gone = left("x", "a []\n");
        assert!(gone.removed && !gone.is_retained());
        assert_eq!(gone.distance, 1.0);
        assert!(left("x", "a [ ]\n").removed);
    }

    #[test]
    fn text_moved_nearby_is_still_in_code() {
        let moved = left("total = price * rate", "[]\n    total = price * rate\n");
        assert!(moved.removed && moved.is_still_in_code());
        assert_eq!(moved.word_distance, 0.0);
        let far = ["[]", &"\n".repeat(60), "total = price * rate\n"].concat();
        let far = left("total = price * rate", &far);
        // The search ends 50 characters after its place, but the text may begin there.
        assert!(!far.is_still_in_code(), "{far:?}");
    }

    #[test]
    fn still_in_code_allows_half_of_the_words() {
        // `a`, `=`, `b`, `+`: two of four.
        assert_eq!(
            left("a = b + c + d", "[a = x * c - d]").word_distance,
            3.0 / 7.0
        );
        assert!(left("a = b + c + d", "[a = x * c - d]").is_still_in_code());
        assert!(!left("a = b", "[x * b]").is_still_in_code());
    }

    #[test]
    fn words_split_by_class() {
        assert_eq!(
            words("as22_b  = größe(\t-1)\n"),
            ["as22_b", "  ", "=", "größe", "(", "\t", "-", "1", ")", "\n"]
        );
    }

    fn naive(one: &[char], other: &[char]) -> usize {
        match (one, other) {
            ([], rest) | (rest, []) => rest.len(),
            ([a, one_rest @ ..], [b, other_rest @ ..]) => (naive(one_rest, other_rest)
                + usize::from(a != b))
            .min(naive(one, other_rest) + 1)
            .min(naive(one_rest, other) + 1),
        }
    }

    proptest! {
        #[test]
        fn distance_is_levenshtein(one in "[ab]{0,6}", other in "[ab]{0,6}") {
            let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
            let longest = a.len().max(b.len()).max(1);
            prop_assert_eq!(distance(&one, &other), naive(&a, &b) as f64 / longest as f64);
        }

        #[test]
        fn word_distance_finds_best_substring(near in "[ab ]{0,7}", text in "[ab ]{1,5}") {
            let (hay, needle) = (words(&near), words(&text));
            let parts = (0..=hay.len()).flat_map(|start| (start..=hay.len()).map(move |end| start..end));
            let best = parts.map(|part| {
                let row = last_row(&needle, &hay[part], false);
                row[row.len() - 1]
            }).min().expect("there is the empty part");
            let expected = if needle.is_empty() { 0.0 } else { best as f64 / needle.len() as f64 };
            prop_assert_eq!(word_distance(&near, &text), expected);
        }
    }
}
