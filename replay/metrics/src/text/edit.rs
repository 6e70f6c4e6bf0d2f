//! Edit similarities. All count Unicode scalar values, as Python's strings do.

use std::{collections::HashMap, ops::Range};

use super::python;

/// The ratio of Python's `difflib.SequenceMatcher(None, first, second)`: twice the matched
/// characters over all characters, from 0 to 1, and 1 for two empty texts.
///
/// Matches are found as Ratcliff and Obershelp do: the longest common block, then the same to
/// its left and right. It is asymmetric: of equally long blocks the first one is taken, and in
/// a second text of 200 or more characters those that make up over 1 % of it start no match
/// (*autojunk*), <https://docs.python.org/3/library/difflib.html#difflib.SequenceMatcher>.
pub fn difflib_ratio(first: &str, second: &str) -> f64 {
    let (first, second) = (characters(first), characters(second));
    let total = first.len() + second.len();
    if total == 0 {
        return 1.0;
    }
    2.0 * matched_characters(&first, &second) as f64 / total as f64
}

/// The least number of insertions and deletions that turn one text into the other.
pub fn indel_distance(first: &str, second: &str) -> usize {
    indel(&characters(first), &characters(second))
}

/// The least number of insertions, deletions and substitutions that turn one text into the
/// other.
pub fn levenshtein(first: &str, second: &str) -> usize {
    unit_cost(&characters(first), &characters(second))
}

/// The share of characters that need no insertion or deletion, from 0 to 1, and 1 for two
/// empty texts: `Levenshtein.ratio`.
pub(super) fn indel_ratio(first: &str, second: &str) -> f64 {
    let (first, second) = (characters(first), characters(second));
    let total = first.len() + second.len();
    if total == 0 {
        return 1.0;
    }
    (total - indel(&first, &second)) as f64 / total as f64
}

/// `fuzzywuzzy.fuzz.ratio` over one of its back ends: 100 for equal texts, 0 if either is
/// empty, else 100 × ratio rounded to a whole number, halves to the even one.
pub(super) fn fuzz_ratio(first: &str, second: &str, ratio: fn(&str, &str) -> f64) -> f64 {
    if first == second {
        100.0
    } else if first.is_empty() || second.is_empty() {
        0.0
    } else {
        (100.0 * ratio(first, second)).round_ties_even()
    }
}

/// `es/repocoder`: 1 − Levenshtein / the longer length, on the stripped, non-blank lines, the
/// prediction cut to the reference's number of lines. Two texts without such lines give 1, where
/// the reference scorer divides by zero (<https://github.com/microsoft/CodeT/tree/main/RepoCoder>).
pub(super) fn repocoder_similarity(prediction: &str, reference: &str) -> f64 {
    let reference: Vec<&str> = python::stripped_lines(reference).collect();
    let prediction: Vec<&str> = python::stripped_lines(prediction)
        .take(reference.len())
        .collect();
    let (prediction, reference) = (
        characters(&prediction.join("\n")),
        characters(&reference.join("\n")),
    );
    let longer = prediction.len().max(reference.len());
    if longer == 0 {
        return 1.0;
    }
    1.0 - unit_cost(&prediction, &reference) as f64 / longer as f64
}

fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// [`indel_distance`]: what is not in a longest common subsequence, whose length is found for 64
/// characters at once (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
fn indel(first: &[char], second: &[char]) -> usize {
    let (shorter, longer) = differing(first, second);
    let masks = Masks::new(shorter);
    // A 0 at place i says that with shorter[i] the common subsequence grows by one.
    let mut column = vec![u64::MAX; masks.words];
    for character in longer {
        let mut carry = false;
        for (word, mask) in column.iter_mut().zip(masks.character_bits(*character)) {
            let matching = *word & mask;
            let (sum, first_carry) = word.overflowing_add(matching);
            let (sum, second_carry) = sum.overflowing_add(u64::from(carry));
            carry = first_carry || second_carry;
            *word = sum | (*word & !mask);
        }
    }
    // Beyond the last character all bits stay 1.
    let common: u32 = column.iter().map(|word| word.count_zeros()).sum();
    shorter.len() + longer.len() - 2 * common as usize
}

/// [`levenshtein`], for 64 characters at once (Myers 1999, <https://doi.org/10.1145/316542.316550>,
/// in the form of Hyyrö 2003).
fn unit_cost(first: &[char], second: &[char]) -> usize {
    /// Changes of the cost from one place of the shorter text to the next: a bit is 1 in `more`
    /// where the cost rises by one, and in `less` where it falls by one.
    #[derive(Clone, Copy)]
    struct Vertical {
        more: u64,
        less: u64,
    }

    let (shorter, longer) = differing(first, second);
    if shorter.is_empty() {
        return longer.len();
    }
    let masks = Masks::new(shorter);
    let last = (shorter.len() - 1) % 64;
    let whole = Vertical {
        more: u64::MAX,
        less: 0,
    };
    let mut column = vec![whole; masks.words];
    let mut cost = shorter.len();
    for character in longer {
        // How the cost changes from one place of the longer text to the next, between words.
        // Before the first character of the shorter text, it is always one more.
        let (mut more, mut less) = (1, 0);
        for (at, mask) in masks.character_bits(*character).iter().enumerate() {
            let vertical = column[at];
            let matching = mask | less;
            let diagonal = ((matching & vertical.more).wrapping_add(vertical.more) ^ vertical.more)
                | matching
                | vertical.less;
            let row_more = vertical.less | !(diagonal | vertical.more);
            let row_less = diagonal & vertical.more;
            // The cost of the whole shorter text is at its last character, in the last word.
            if at + 1 == masks.words {
                cost += (row_more >> last & 1) as usize;
                cost -= (row_less >> last & 1) as usize;
            }
            let shifted_more = row_more << 1 | more;
            let shifted_less = row_less << 1 | less;
            (more, less) = (row_more >> 63, row_less >> 63);
            column[at] = Vertical {
                more: shifted_less | !(diagonal | shifted_more),
                less: shifted_more & diagonal,
            };
        }
    }
    cost
}

/// The shorter and the longer text without what both begin or end with, which costs nothing in
/// some cheapest way.
fn differing<'t>(first: &'t [char], second: &'t [char]) -> (&'t [char], &'t [char]) {
    let same = |(a, b): &(&char, &char)| a == b;
    let start = first.iter().zip(second).take_while(same).count();
    let (first, second) = (&first[start..], &second[start..]);
    let end = first
        .iter()
        .rev()
        .zip(second.iter().rev())
        .take_while(same)
        .count();
    let (first, second) = (&first[..first.len() - end], &second[..second.len() - end]);
    if first.len() <= second.len() {
        (first, second)
    } else {
        (second, first)
    }
}

/// Places of each character in a text, a bit for each place.
struct Masks {
    /// Number of words that the bits of one character take up.
    words: usize,
    /// Of each ASCII character in turn.
    ascii: Vec<u64>,
    others: HashMap<char, Vec<u64>>,
    /// Of a character that is not there.
    nowhere: Vec<u64>,
}

impl Masks {
    const ASCII: usize = 128;

    fn new(text: &[char]) -> Self {
        let words = text.len().div_ceil(64);
        let mut ascii = vec![0; words * Self::ASCII];
        let mut others: HashMap<char, Vec<u64>> = HashMap::new();
        for (at, &character) in text.iter().enumerate() {
            let word = if character.is_ascii() {
                &mut ascii[character as usize * words + at / 64]
            } else {
                &mut others.entry(character).or_insert_with(|| vec![0; words])[at / 64]
            };
            *word |= 1 << (at % 64);
        }
        Self {
            words,
            ascii,
            others,
            nowhere: vec![0; words],
        }
    }

    fn character_bits(&self, character: char) -> &[u64] {
        if character.is_ascii() {
            let at = character as usize * self.words;
            &self.ascii[at..at + self.words]
        } else {
            self.others.get(&character).unwrap_or(&self.nowhere)
        }
    }
}

/// Returns the number of characters in the matching blocks of `difflib.SequenceMatcher`, with no
/// junk function and with autojunk.
fn matched_characters(first: &[char], second: &[char]) -> usize {
    /// From this length on, `difflib` lets frequent characters start no match.
    const AUTOJUNK_FROM: usize = 200;

    let most = if second.len() >= AUTOJUNK_FROM {
        second.len() / 100 + 1
    } else {
        second.len()
    };
    // The places of the second text, by the character there.
    let mut sorted: Vec<usize> = (0..second.len()).collect();
    sorted.sort_by_key(|&at| second[at]);
    let places_of = |character: char| {
        let start = sorted.partition_point(|&at| second[at] < character);
        let count = sorted[start..].partition_point(|&at| second[at] == character);
        if count <= most {
            &sorted[start..start + count]
        } else {
            &[]
        }
    };
    let ascii: Vec<&[usize]> = (0..128_u8).map(|byte| places_of(byte.into())).collect();
    // For every character of the first text, its places in the second, ascending.
    let places: Vec<&[usize]> = first
        .iter()
        .map(|&character| match ascii.get(character as usize) {
            Some(places) => places,
            None => places_of(character),
        })
        .collect();

    let mut runs = Runs::new(second.len());
    let mut matched = 0;
    let mut pending = vec![(0..first.len(), 0..second.len())];
    while let Some((left, right)) = pending.pop() {
        let block = longest_match(first, second, &places, &mut runs, &left, &right);
        if block.length > 0 {
            matched += block.length;
            pending.push((left.start..block.first, right.start..block.second));
            pending.push((
                block.first + block.length..left.end,
                block.second + block.length..right.end,
            ));
        }
    }
    matched
}

/// A run of characters that both texts have.
struct Block {
    first: usize,
    second: usize,
    length: usize,
}

/// The longest block within the two ranges; of several, the one that starts first in the first
/// text, then in the second.
fn longest_match(
    first: &[char],
    second: &[char],
    places: &[&[usize]],
    runs: &mut Runs,
    left: &Range<usize>,
    right: &Range<usize>,
) -> Block {
    let mut best = Block {
        first: left.start,
        second: right.start,
        length: 0,
    };
    runs.clear();
    for i in left.clone() {
        let from = places[i].partition_point(|&j| j < right.start);
        for &j in places[i][from..].iter().take_while(|&&j| j < right.end) {
            let length = runs.extend(j);
            if length > best.length {
                best = Block {
                    first: i + 1 - length,
                    second: j + 1 - length,
                    length,
                };
            }
        }
        runs.next_row();
    }
    // Frequent characters start no match but may be at the ends of one.
    while best.first > left.start
        && best.second > right.start
        && first[best.first - 1] == second[best.second - 1]
    {
        best.first -= 1;
        best.second -= 1;
        best.length += 1;
    }
    while best.first + best.length < left.end
        && best.second + best.length < right.end
        && first[best.first + best.length] == second[best.second + best.length]
    {
        best.length += 1;
    }
    best
}

/// Lengths of the common runs that end at each place of the second text and at the last, or the
/// current, place of the first. Rows are numbered so that old rows need no clearing.
struct Runs {
    row: usize,
    /// The row of the number and the number.
    last: Vec<(usize, usize)>,
    current: Vec<(usize, usize)>,
}

impl Runs {
    fn new(length: usize) -> Self {
        Self {
            row: 1,
            last: vec![(0, 0); length],
            current: vec![(0, 0); length],
        }
    }

    /// Forgets every run.
    fn clear(&mut self) {
        // Two rows on, no run that was recorded before continues.
        self.row += 2;
    }

    /// Makes the current row the last one.
    fn next_row(&mut self) {
        self.row += 1;
        std::mem::swap(&mut self.last, &mut self.current);
    }

    /// Lengthens the run before place `j` by the character there, and returns its length.
    fn extend(&mut self, j: usize) -> usize {
        let before = match j.checked_sub(1).map(|previous| self.last[previous]) {
            Some((row, length)) if row + 1 == self.row => length,
            _ => 0,
        };
        self.current[j] = (self.row, before + 1);
        before + 1
    }
}
