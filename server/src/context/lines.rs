//! Windows of a fixed number of lines, as CrossCodeEval and RepoCoder retrieve them.
//!
//! CrossCodeEval: <https://arxiv.org/abs/2310.11248>, §2.3 and appendix C, and the code that made
//! its data, <https://github.com/amazon-science/cceval>. RepoCoder:
//! <https://arxiv.org/abs/2303.12570>, §2.2, and
//! <https://github.com/microsoft/CodeT/tree/main/RepoCoder>.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use super::Window;
use super::bm25::{self, DocumentTerms, TermNumbers};
use super::windows::with_line_feeds;
use super::words::{runs, words};

/// Number of nonblank lines in a window of CrossCodeEval.
pub const CCEVAL_LINES: usize = 10;

/// Number of nonblank lines in a query of CrossCodeEval.
pub const CCEVAL_QUERY_LINES: usize = 10;

/// Maximum number of files that CrossCodeEval searches.
pub const CCEVAL_FILES: usize = 1000;

/// Maximum number of windows that CrossCodeEval scores.
pub const CCEVAL_WINDOWS: usize = 1000;

/// Maximum number of tokens of CrossCodeEval's windows in a prompt, headers included.
pub const CCEVAL_TOKENS: usize = 512;

/// Number of lines, blank ones included, in a window of RepoCoder.
pub const REPOCODER_LINES: usize = 20;

/// Distance in lines between the beginnings of two windows of RepoCoder.
pub const REPOCODER_STEP: usize = 10;

/// The constant of reciprocal rank fusion. <https://doi.org/10.1145/1571941.1572114>
pub const FUSION: f64 = 60.0;

/// The repository's files as windows of lines. A file's terms are computed when the file changes,
/// not for each query.
#[derive(Clone, Debug)]
pub struct LineWindows {
    scheme: WindowScheme,
    vocabulary: TermNumbers,
    files: BTreeMap<String, Vec<Piece>>,
}

/// Rules by which a [`LineWindows`] cuts windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowScheme {
    /// CrossCodeEval's: [`CCEVAL_LINES`] nonblank lines. Windows do not overlap.
    CrossCodeEval,
    /// RepoCoder's: [`REPOCODER_LINES`] lines around every [`REPOCODER_STEP`]th line, fewer at a
    /// file's ends.
    RepoCoder,
}

/// A window and its terms.
#[derive(Clone, Debug)]
struct Piece {
    first_line: usize,
    text: String,
    terms: DocumentTerms,
}

/// The windows that compete for one query, in CrossCodeEval's order.
#[derive(Clone, Debug)]
pub struct CandidateWindows<'a> {
    lines: &'a LineWindows,
    /// Path, number within the file, and window.
    all: Vec<(&'a str, usize, &'a Piece)>,
}

/// The window to return for a window that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitTarget {
    /// The matching window: if the query contains the reference, a similar window is the answer.
    Itself,
    /// The next window of the file, if there is one: the text after lines similar to those before
    /// the cursor may be similar to the missing text.
    Next,
}

impl LineWindows {
    /// Creates an empty collection.
    pub fn new(scheme: WindowScheme) -> Self {
        Self {
            scheme,
            vocabulary: TermNumbers::default(),
            files: BTreeMap::new(),
        }
    }

    /// Replaces a file's windows.
    pub fn update(&mut self, path: &str, contents: &str) {
        let contents = with_line_feeds(contents);
        let pieces = match self.scheme {
            WindowScheme::CrossCodeEval => cceval_windows(&contents),
            WindowScheme::RepoCoder => repocoder_windows(&contents),
        };
        let pieces = pieces.into_iter().filter_map(|(first_line, text)| {
            let words = match self.scheme {
                WindowScheme::CrossCodeEval => words(&text),
                WindowScheme::RepoCoder => runs(&text).map(str::to_owned).collect(),
            };
            // A window without words matches nothing, and with an empty query Jaccard's divisor
            // would be 0.
            (!words.is_empty()).then(|| Piece {
                first_line,
                terms: self.vocabulary.learn(&words),
                text,
            })
        });
        let pieces = pieces.collect();
        self.files.insert(path.to_owned(), pieces);
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// Returns the windows of the other files with the same file ending, ordered by the files'
    /// distance in folders, up and down, and then by path.
    pub fn candidates(&self, path: &str) -> CandidateWindows<'_> {
        let mut others: Vec<_> = self
            .files
            .iter()
            .filter(|(other, _)| *other != path && ending(other) == ending(path))
            .map(|(other, pieces)| (distance(other, path), other.as_str(), pieces))
            .collect();
        others.sort_unstable_by_key(|(distance, other, _)| (*distance, *other));
        if self.scheme == WindowScheme::CrossCodeEval {
            others.truncate(CCEVAL_FILES);
        }
        let all = others.into_iter().flat_map(|(_, other, pieces)| {
            let numbered = pieces.iter().enumerate();
            numbered.map(move |(number, piece)| (other, number, piece))
        });
        CandidateWindows {
            lines: self,
            all: all.collect(),
        }
    }
}

impl CandidateWindows<'_> {
    /// Number of windows that are scored. For CrossCodeEval, at most [`CCEVAL_WINDOWS`].
    fn scored(&self) -> usize {
        match self.lines.scheme {
            WindowScheme::CrossCodeEval => self.all.len().min(CCEVAL_WINDOWS),
            WindowScheme::RepoCoder => self.all.len(),
        }
    }

    /// Returns the texts that are scored, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let scored = &self.all[..self.scored()];
        scored.iter().map(|(_, _, piece)| piece.text.as_str())
    }

    /// Returns the paths of the windows that are scored, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let scored = &self.all[..self.scored()];
        scored.iter().map(|(path, _, _)| *path)
    }

    /// Returns each window's BM25 score for a text.
    pub fn bm25(&self, query: &str) -> Vec<f64> {
        let documents: Vec<&DocumentTerms> = self.all[..self.scored()]
            .iter()
            .map(|(_, _, piece)| &piece.terms)
            .collect();
        bm25::scores(&self.lines.vocabulary, &documents, &words(query))
    }

    /// Returns each window's Jaccard similarity to a text: the number of words in both, divided by
    /// the number of words in either.
    pub fn jaccard(&self, query: &str) -> Vec<f64> {
        let query: HashSet<&str> = runs(query).collect();
        let known: HashSet<u32> = query
            .iter()
            .filter_map(|word| self.lines.vocabulary.number(word))
            .collect();
        let scored = &self.all[..self.scored()];
        let scores = scored.iter().map(|(_, _, piece)| {
            let common = piece.terms.distinct().filter(|term| known.contains(term));
            let common = common.count();
            let either = piece.terms.distinct().count() + query.len() - common;
            common as f64 / either as f64
        });
        scores.collect()
    }

    /// Returns the targets of the best `limit` scores, best first, without repeated texts, so there
    /// may be fewer than `limit`. Ties are broken as in CrossCodeEval: the later path and number
    /// wins, with numbers compared as text.
    pub fn best(&self, scores: &[f64], limit: usize, target: HitTarget) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for place in self.order(scores).into_iter().take(limit) {
            let (path, _, piece) = self.all[place];
            let shown = match target {
                HitTarget::Itself => piece,
                HitTarget::Next => self.following(place).unwrap_or(piece),
            };
            if windows.iter().all(|window| window.text != shown.text) {
                windows.push(Window {
                    path: path.to_owned(),
                    first_line: shown.first_line,
                    text: shown.text.clone(),
                    score: scores[place],
                });
            }
        }
        windows
    }

    /// Returns the indices of scores, the best first.
    fn order(&self, scores: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let name = |place: usize| {
            let (path, number, _) = self.all[place];
            format!("{path}|{number}")
        };
        order.sort_unstable_by(|a, b| {
            scores[*b].total_cmp(&scores[*a]).then_with(|| {
                if a == b {
                    Ordering::Equal
                } else {
                    name(*b).cmp(&name(*a))
                }
            })
        });
        order
    }

    /// Returns the window after another in its file.
    fn following(&self, place: usize) -> Option<&Piece> {
        let (path, _, _) = self.all[place];
        let (next_path, _, next) = self.all.get(place + 1)?;
        (*next_path == path).then_some(*next)
    }

    /// Fuses several rankings of the same windows: the score is the sum of 1 / ([`FUSION`] + rank),
    /// ranks from 1, as in Cormack, Clarke and Büttcher 2009.
    pub fn fused(&self, rankings: &[Vec<f64>]) -> Vec<f64> {
        let mut fused = vec![0.0; self.scored()];
        for scores in rankings {
            for (rank, place) in self.order(scores).into_iter().enumerate() {
                fused[place] += 1.0 / (FUSION + (rank + 1) as f64);
            }
        }
        fused
    }
}

/// Query of CrossCodeEval: the last [`CCEVAL_QUERY_LINES`] nonblank lines before the cursor; with a
/// reference, the last of these and the reference's lines.
pub fn cceval_query(prefix: &str, reference: Option<&str>) -> String {
    let prefix = with_line_feeds(prefix);
    let reference = with_line_feeds(reference.unwrap_or_default());
    let lines: Vec<&str> = filled(&prefix).chain(filled(&reference)).collect();
    lines[lines.len().saturating_sub(CCEVAL_QUERY_LINES)..].join("\n")
}

/// Query of RepoCoder. First round: the last [`REPOCODER_LINES`] lines before the cursor's line.
/// Second round: half that number of lines, then up to the same number of lines of the cursor's
/// line with the first completion, without blank lines.
pub fn repocoder_query(prefix: &str, completion: Option<&str>) -> String {
    let prefix = with_line_feeds(prefix);
    let (before, line) = prefix.rsplit_once('\n').unwrap_or(("", &prefix));
    // Splitting the empty text would give one empty line.
    let before: Vec<&str> = match prefix.contains('\n') {
        true => before.split('\n').collect(),
        false => Vec::new(),
    };
    let last = |count: usize| before[before.len().saturating_sub(count)..].join("\n");
    match completion {
        None => last(REPOCODER_LINES),
        Some(completion) => {
            let completed = format!("{line}{}", with_line_feeds(completion));
            let half = REPOCODER_LINES / 2;
            let before = last(half);
            let completed = filled(&completed).take(half);
            let lines: Vec<&str> = filled(&before).chain(completed).collect();
            lines.join("\n")
        }
    }
}

/// Returns the cosine similarity of two vectors in double precision; 0 if one of them has length 0
/// or their dimensions differ.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 {
        dot(a, b) / lengths
    } else {
        0.0
    }
}

/// Keeps the best windows whose prompt, as comments, has at most `tokens` tokens. The first that
/// does not fit is cut at its end, and those after it are omitted. `tokens_of` returns the number
/// of tokens of a prompt with these windows.
pub fn limited(
    windows: Vec<Window>,
    tokens: usize,
    tokens_of: impl Fn(&[Window]) -> usize,
) -> Vec<Window> {
    let mut kept: Vec<Window> = Vec::new();
    for window in windows {
        kept.push(window);
        if tokens_of(&kept) <= tokens {
            continue;
        }
        let whole = kept.pop().expect("one was pushed above");
        let ends: Vec<usize> = whole.text.char_indices().map(|(end, _)| end).collect();
        let fits = |end: &usize| {
            let mut with = kept.clone();
            with.push(Window {
                text: whole.text[..*end].to_owned(),
                ..whole.clone()
            });
            tokens_of(&with) <= tokens
        };
        // The number of tokens grows with the text, so a binary search finds the longest part that
        // fits.
        let fitting = ends.partition_point(fits);
        if let Some(end) = fitting
            .checked_sub(1)
            .map(|last| ends[last])
            .filter(|end| *end > 0)
        {
            kept.push(Window {
                text: whole.text[..end].to_owned(),
                ..whole
            });
        }
        break;
    }
    kept
}

fn filled(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').filter(|line| !line.trim().is_empty())
}

/// Returns CrossCodeEval's windows of a file, each with its first line.
fn cceval_windows(contents: &str) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = contents
        .split('\n')
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .collect();
    let windows = lines.chunks(CCEVAL_LINES).map(|lines| {
        let texts: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        (lines[0].0, texts.join("\n"))
    });
    windows.collect()
}

/// Returns RepoCoder's windows of a file, each with its first line.
fn repocoder_windows(contents: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = contents.lines().collect();
    let half = REPOCODER_LINES / 2;
    let windows = (0..lines.len()).step_by(REPOCODER_STEP).map(|middle| {
        let first = middle.saturating_sub(half);
        let end = (middle + REPOCODER_LINES - half).min(lines.len());
        (first, lines[first..end].join("\n"))
    });
    windows.collect()
}

/// Returns a file's ending, with its dot.
fn ending(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').map_or("", |dot| &name[dot..])
}

/// Distance between two files in folders, up and down.
fn distance(a: &str, b: &str) -> usize {
    let common = a
        .split('/')
        .zip(b.split('/'))
        .take_while(|(a, b)| a == b)
        .count();
    let folders = |path: &str| path.matches('/').count();
    folders(a) + folders(b) - 2 * common
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(scheme: WindowScheme, files: &[(&str, &str)]) -> LineWindows {
        let mut lines = LineWindows::new(scheme);
        for (path, contents) in files {
            lines.update(path, contents);
        }
        lines
    }

    /// Lines numbered `first` to `last`.
    fn counted(name: &str, first: usize, last: usize) -> String {
        (first..=last)
            .map(|number| format!("{name}_{number}\n"))
            .collect()
    }

    fn shown(windows: &[Window]) -> Vec<String> {
        let show = |window: &Window| {
            let lines: Vec<&str> = window.text.lines().collect();
            let (first, last) = (lines[0], lines[lines.len() - 1]);
            format!("{}:{} {first}..{last}", window.path, window.first_line)
        };
        windows.iter().map(show).collect()
    }

    fn found(lines: &LineWindows, query: &str, target: HitTarget) -> Vec<String> {
        let candidates = lines.candidates("here.py");
        shown(&candidates.best(&candidates.bm25(query), 5, target))
    }

    #[test]
    fn cceval_window_has_ten_nonblank_lines_and_may_return_the_next() {
        let source = format!("a_0\n\n \t\n{}\n", counted("a", 1, 24));
        let lines = lines(
            WindowScheme::CrossCodeEval,
            &[("m.py", &source), ("n.py", "b\n")],
        );
        assert_eq!(
            found(&lines, "a_3", HitTarget::Itself)[0],
            "m.py:0 a_0..a_9"
        );
        assert_eq!(
            found(&lines, "a_3", HitTarget::Next)[0],
            "m.py:12 a_10..a_19"
        );
        // The last window of a file has no next one.
        let last = "m.py:22 a_20..a_24";
        assert_eq!(found(&lines, "a_22", HitTarget::Next)[0], last);
    }

    #[test]
    fn windows_without_words_are_skipped() {
        let signs = ")\n".repeat(10);
        let source = format!("{}{signs}{}", counted("a", 0, 9), counted("a", 10, 12));
        let lines = lines(
            WindowScheme::CrossCodeEval,
            &[("m.py", &source), ("n.py", "b\n")],
        );
        let next = "m.py:20 a_10..a_12";
        assert_eq!(found(&lines, "a_3", HitTarget::Next)[0], next);
    }

    #[test]
    fn files_are_ordered_by_distance_then_path() {
        let lines = lines(
            WindowScheme::CrossCodeEval,
            &[
                ("z.py", "top"),
                ("a/here.py", "itself"),
                ("a/y.py", "neighbour"),
                ("a/x.py", "neighbour_2"),
                ("a/b/w.py", "below"),
                ("c/v.py", "level"),
                ("c/v.pyi", "of another ending"),
                ("Makefile", "of none"),
            ],
        );
        let texts: Vec<_> = lines
            .candidates("a/here.py")
            .texts()
            .map(str::to_owned)
            .collect();
        assert_eq!(texts, ["neighbour_2", "neighbour", "below", "top", "level"]);
    }

    #[test]
    fn equal_scores_are_ordered_by_name_descending_and_texts_deduplicated() {
        let source = "same\n".repeat(10) + &counted("x", 0, 9);
        let many: String = (0..11)
            .map(|number| counted(&format!("y{number}"), 0, 9))
            .collect();
        let files = [
            ("a.py", source.as_str()),
            ("b.py", &source),
            ("c.py", &many),
        ];
        let lines = lines(WindowScheme::CrossCodeEval, &files);
        assert_eq!(
            found(&lines, "same", HitTarget::Itself)[0],
            "b.py:0 same..same"
        );
        // Both hits return the same text.
        assert_eq!(
            found(&lines, "same", HitTarget::Next)[0],
            "b.py:10 x_0..x_9"
        );
        let candidates = lines.candidates("here.py");
        let scores = vec![0.0; candidates.texts().count()];
        let order = candidates.best(&scores, 4, HitTarget::Itself);
        // Numbers are compared as text: 9 comes after 10.
        let starts: Vec<_> = order.iter().map(|window| window.first_line).collect();
        assert_eq!(starts, [90, 80, 70, 60]);
        let all = candidates.best(&scores, 99, HitTarget::Itself);
        let tenth = all.iter().position(|window| window.first_line == 100);
        let second = all
            .iter()
            .position(|window| window.first_line == 10 && window.path == "c.py");
        assert!(tenth < second, "{tenth:?} {second:?}");
    }

    #[test]
    fn update_replaces_windows_of_a_file() {
        let mut lines = lines(
            WindowScheme::CrossCodeEval,
            &[("m.py", "old"), ("n.py", "other")],
        );
        lines.update("m.py", "new\r\nline\r");
        lines.remove("n.py");
        let candidates = lines.candidates("here.py");
        assert_eq!(candidates.texts().collect::<Vec<_>>(), ["new\nline"]);
    }

    #[test]
    fn repocoder_windows_overlap_and_have_twenty_lines() {
        let lines = lines(WindowScheme::RepoCoder, &[("m.py", &counted("a", 0, 34))]);
        let candidates = lines.candidates("here.py");
        let scores = vec![1.0; candidates.texts().count()];
        let mut all = candidates.best(&scores, 9, HitTarget::Itself);
        all.reverse();
        assert_eq!(
            shown(&all),
            [
                "m.py:0 a_0..a_9",
                "m.py:0 a_0..a_19",
                "m.py:10 a_10..a_29",
                "m.py:20 a_20..a_34"
            ]
        );
        let similar = candidates.jaccard("a_31 a_32 a_33 b");
        // Three of fifteen, and the unknown word.
        assert_eq!(similar, [0.0, 0.0, 0.0, 3.0 / 16.0]);
    }

    #[test]
    fn queries_are_the_last_lines_before_the_cursor() {
        let prefix = format!("{}\n   \nx = f(", counted("a", 0, 29));
        let cceval = cceval_query(&prefix, None);
        assert!(cceval.starts_with("a_21\n") && cceval.ends_with("\na_29\nx = f("));
        let with_reference = cceval_query(&prefix, Some("y)\n\nz = 1"));
        assert!(with_reference.starts_with("a_23\n"), "{with_reference}");
        assert!(with_reference.ends_with("\nx = f(\ny)\nz = 1"));

        let first = repocoder_query(&prefix, None);
        assert!(first.starts_with("a_12\n") && first.ends_with("a_29\n\n   "));
        let second = repocoder_query(&prefix, Some("y)\n\nz = 1\n"));
        assert!(second.starts_with("a_22\n"), "{second}");
        assert!(second.ends_with("a_29\nx = f(y)\nz = 1"), "{second}");
        assert_eq!(repocoder_query("x = ", None), "");
        assert_eq!(cceval_query("", None), "");
    }

    #[test]
    fn rankings_are_fused_by_their_ranks() {
        let files = [("a.py", "a"), ("b.py", "b"), ("c.py", "c")];
        let lines = lines(WindowScheme::CrossCodeEval, &files);
        let candidates = lines.candidates("here.py");
        let fused = candidates.fused(&[vec![3.0, 2.0, 1.0], vec![0.1, 0.9, 0.5]]);
        let expected = [
            1.0 / 61.0 + 1.0 / 63.0,
            1.0 / 62.0 + 1.0 / 61.0,
            1.0 / 63.0 + 1.0 / 62.0,
        ];
        assert_eq!(fused, expected);
        assert_eq!(cosine(&[1.0, 0.0], &[2.0, 0.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 3.0]), 0.0);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
        assert_eq!(cosine(&[1.0], &[1.0, 1.0]), 0.0);
    }

    #[test]
    fn window_beyond_the_limit_is_cut_at_its_end() {
        let window = |text: &str| Window {
            path: "a.py".into(),
            first_line: 0,
            text: text.into(),
            score: 1.0,
        };
        let windows = vec![window("abc"), window("défg"), window("h")];
        let count = |windows: &[Window]| -> usize {
            windows
                .iter()
                .map(|window| window.text.chars().count())
                .sum()
        };
        let texts = |tokens| -> Vec<String> {
            let kept = limited(windows.clone(), tokens, count);
            kept.into_iter().map(|window| window.text).collect()
        };
        assert_eq!(texts(8), ["abc", "défg", "h"]);
        assert_eq!(texts(5), ["abc", "dé"]);
        assert_eq!(texts(3), ["abc"]);
        assert_eq!(texts(2), ["ab"]);
        assert!(texts(0).is_empty());
    }

    /// The formula of rank_bm25, computed over every document, without optimisation.
    fn naive(documents: &[Vec<String>], query: &[String]) -> Vec<f64> {
        let count = documents.len() as f64;
        let total: usize = documents.iter().map(Vec::len).sum();
        let mean = total as f64 / count;
        let mut order: Vec<&String> = Vec::new();
        for word in documents.iter().flatten() {
            if !order.contains(&word) {
                order.push(word);
            }
        }
        let idf = |word: &String| {
            let held = documents
                .iter()
                .filter(|words| words.contains(word))
                .count() as f64;
            (count - held + 0.5).ln() - (held + 0.5).ln()
        };
        let mut sum = 0.0;
        for word in &order {
            sum += idf(word);
        }
        let floor = 0.25 * (sum / order.len() as f64);
        let mut scores = vec![0.0; documents.len()];
        for word in query {
            let weight = match order.contains(&word) {
                false => 0.0,
                true if idf(word) < 0.0 => floor,
                true => idf(word),
            };
            for (score, words) in scores.iter_mut().zip(documents) {
                let frequency = words.iter().filter(|other| *other == word).count() as f64;
                let length = words.len() as f64;
                *score += weight
                    * (frequency * (1.5 + 1.0)
                        / (frequency + 1.5 * (1.0 - 0.75 + 0.75 * length / mean)));
            }
        }
        scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn scores_are_those_of_the_formula_to_the_last_bit(
            files in prop::collection::vec("([a-e] ?){1,9}(\n([a-e] ?){1,5}){0,24}", 1..5),
            query in "([a-g] ){0,12}",
        ) {
            let named: Vec<_> = files
                .iter()
                .enumerate()
                .map(|(number, contents)| (format!("f{number}.py"), contents.as_str()))
                .collect();
            let mut lines = LineWindows::new(WindowScheme::CrossCodeEval);
            // Earlier contents have no effect.
            lines.update("f0.py", "a a x");
            lines.update("gone.py", "b y");
            lines.remove("gone.py");
            for (path, contents) in &named {
                lines.update(path, contents);
            }
            let candidates = lines.candidates("here.py");
            let documents: Vec<_> = candidates.texts().map(words).collect();
            let ours = candidates.bm25(&query);
            let expected = naive(&documents, &words(&query));
            let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&ours), bits(&expected));
        }
    }
}
