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
    edit_distance(&characters(first), &characters(second), 2)
}

/// The least number of insertions, deletions and substitutions that turn one text into the
/// other.
pub fn levenshtein(first: &str, second: &str) -> usize {
    edit_distance(&characters(first), &characters(second), 1)
}

/// The share of characters that need no insertion or deletion, from 0 to 1, and 1 for two
/// empty texts: `Levenshtein.ratio`.
pub(super) fn indel_ratio(first: &str, second: &str) -> f64 {
    let (first, second) = (characters(first), characters(second));
    let total = first.len() + second.len();
    if total == 0 {
        return 1.0;
    }
    (total - edit_distance(&first, &second, 2)) as f64 / total as f64
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
/// prediction cut to as many as the reference has. Two texts without such lines give 1, where
/// the reference scorer divides by zero
/// (<https://github.com/microsoft/CodeT/tree/main/RepoCoder>).
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
    1.0 - edit_distance(&prediction, &reference, 1) as f64 / longer as f64
}

fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// The least cost of insertions and deletions, at 1 each, and substitutions that turn one text
/// into the other (Wagner and Fischer 1974).
fn edit_distance(first: &[char], second: &[char], substitution: usize) -> usize {
    // What both begin or end with costs nothing in some cheapest way, so it can be left out.
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

    // `row[j]` is the cost of turning what was read of `first` into `second[..j]`.
    let mut row: Vec<usize> = (0..=second.len()).collect();
    for (i, a) in first.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in second.iter().enumerate() {
            let substituted = if a == b {
                diagonal
            } else {
                diagonal + substitution
            };
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[second.len()]
}

/// How many characters stand in the matching blocks of `difflib.SequenceMatcher`, with no junk
/// function and with autojunk.
fn matched_characters(first: &[char], second: &[char]) -> usize {
    /// From this length on, `difflib` lets frequent characters start no match.
    const AUTOJUNK_FROM: usize = 200;

    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, &character) in second.iter().enumerate() {
        places.entry(character).or_default().push(at);
    }
    if second.len() >= AUTOJUNK_FROM {
        let most = second.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    // For every character of the first text, where it stands in the second, ascending.
    let places: Vec<&[usize]> = first
        .iter()
        .map(|character| places.get(character).map_or(&[][..], Vec::as_slice))
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
    // Frequent characters start no match but may stand at the ends of one.
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

/// How long the common run is that ends at each place of the second text and at the last, or
/// the current, place of the first. Rows are numbered so that nothing needs to be wiped.
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
