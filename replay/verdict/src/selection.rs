//! Selects which tests run first: the first failure is final, so the sooner a test fails that can,
//! the fewer run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::baseline::Baseline;
use super::runner::ProjectRunner;

/// Number of tests in the first batch, of those that run a changed line, if a run starts quickly.
const FIRST_BATCH: usize = 24;

/// Approximate start time of a test file if each has a process of its own.
const FILE_START: Duration = Duration::from_millis(200);

/// Inputs that determine the order of a project's tests.
pub(super) struct TestSelection<'a> {
    pub(super) baseline: &'a Baseline,
    pub(super) runner: &'a ProjectRunner,
    /// Number of lines of the project that each test runs.
    pub(super) line_counts: &'a HashMap<String, usize>,
    /// True if warm workers run the tests.
    pub(super) is_warm: bool,
}

impl TestSelection<'_> {
    /// The expected tests in batches, each of which runs if all before it passed: a few tests that
    /// are likely to fail first, the others that run a changed line, the rest. A batch that would
    /// take less time than starting it is merged into the one before.
    pub(super) fn batches<'a>(
        &self,
        expected: &[&'a str],
        covering: &BTreeSet<&str>,
    ) -> Vec<Vec<&'a str>> {
        let (first, rest) = self.covering_first(expected, covering);
        let (likely, others) = self.split_likely(first, covering);
        let mut batches: Vec<Vec<&str>> = Vec::new();
        for batch in [likely, others, rest] {
            match batches.last_mut() {
                _ if batch.is_empty() => {}
                Some(last) if self.is_short(&batch) => last.extend(batch),
                _ => batches.push(batch),
            }
        }
        batches
    }

    /// Splits off the tests that run a changed line, with all others of their files where starting
    /// a file costs more than its tests.
    pub(super) fn covering_first<'a>(
        &self,
        expected: &[&'a str],
        covering: &BTreeSet<&str>,
    ) -> (Vec<&'a str>, Vec<&'a str>) {
        with_whole_files(expected, covering, |id| self.runner.file_of(id))
    }

    /// Returns true if a batch takes less time than starting it.
    fn is_short(&self, batch: &[&str]) -> bool {
        let (start, files) = if !self.is_warm {
            (1500, 0)
        } else if self.baseline.is_collectable() {
            (20, 0)
        } else if self.runner.waits_for_instructions() {
            // The next process may still be starting.
            (500, 0)
        } else {
            // A runner that starts quickly spends most of the time on starting files.
            (100, self.files(batch).len())
        };
        let takes = self.baseline.seconds(batch) + FILE_START.mul_f64(files as f64);
        takes < Duration::from_millis(start)
    }

    fn files<'a>(&self, ids: &[&'a str]) -> BTreeSet<&'a str> {
        ids.iter()
            .filter_map(|id| self.runner.file_of(id))
            .collect()
    }

    /// Splits off a few tests that are likely to fail if any does; none if there are few tests, or
    /// if starting a run takes long, as it does without warm workers.
    pub(super) fn split_likely<'a>(
        &self,
        tests: Vec<&'a str>,
        covering: &BTreeSet<&str>,
    ) -> (Vec<&'a str>, Vec<&'a str>) {
        let lines = |id: &str| self.line_counts.get(id).copied().unwrap_or(usize::MAX);
        let chosen: BTreeSet<&str> = if !self.is_warm {
            BTreeSet::new()
        } else if self.files(&tests).len() > 1 {
            most_specific_file(&tests, covering, lines, |id| self.runner.file_of(id))
        } else if self.runner.waits_for_instructions() {
            let class = |id: &'a str| id.split_once("::").map(|(class, _)| class);
            most_specific_file(&tests, covering, lines, class)
        } else if self.baseline.is_collectable() && tests.len() >= 2 * FIRST_BATCH {
            few_of_many(&tests, lines)
        } else {
            BTreeSet::new()
        };
        tests.into_iter().partition(|id| chosen.contains(id))
    }
}

/// The tests of the file with the highest weight: a test that runs a changed line adds the more
/// weight the fewer lines it runs.
fn most_specific_file<'a>(
    tests: &[&'a str],
    covering: &BTreeSet<&str>,
    lines: impl Fn(&str) -> usize,
    file: impl Fn(&'a str) -> Option<&'a str>,
) -> BTreeSet<&'a str> {
    let mut weights: BTreeMap<Option<&str>, f64> = BTreeMap::new();
    for id in tests.iter().filter(|id| covering.contains(**id)) {
        *weights.entry(file(id)).or_default() += 1.0 / lines(id).max(1) as f64;
    }
    let most = weights.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let Some((most, _)) = most else {
        return BTreeSet::new();
    };
    let is_in = |id: &&'a str| file(id) == most;
    tests.iter().copied().filter(is_in).collect()
}

/// Selects a few tests: half of them run the fewest lines, so that the changed ones are a larger
/// share; half are spread over all.
fn few_of_many<'a>(tests: &[&'a str], lines: impl Fn(&str) -> usize) -> BTreeSet<&'a str> {
    let mut by_lines = tests.to_vec();
    by_lines.sort_by_key(|id| lines(id));
    by_lines.truncate(FIRST_BATCH / 2);
    let step = tests.len().div_ceil(FIRST_BATCH / 2);
    tests
        .iter()
        .copied()
        .step_by(step)
        .chain(by_lines)
        .collect()
}

/// Splits off the tests to run first: those that cover a change and, where starting a file costs
/// more than its tests, all others of their files.
fn with_whole_files<'a>(
    expected: &[&'a str],
    covering: &BTreeSet<&str>,
    file: impl Fn(&'a str) -> Option<&'a str>,
) -> (Vec<&'a str>, Vec<&'a str>) {
    let covers = |id: &&&str| covering.contains(**id);
    let files: BTreeSet<&str> = expected
        .iter()
        .filter(covers)
        .filter_map(|id| file(id))
        .collect();
    expected
        .iter()
        .copied()
        .partition(|id| covering.contains(id) || file(id).is_some_and(|file| files.contains(file)))
}

/// The one-based lines of `original` that `changed` touches, the lines next to a pure insertion
/// included; `None` if the two are equal.
pub(super) fn changed_lines(original: &str, changed: &str) -> Option<RangeInclusive<usize>> {
    if original == changed {
        return None;
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (original.lines().collect(), changed.lines().collect());
    let same_start = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    // Lines of the common start are excluded, as a repeated line would be counted on both sides.
    let same_end = before[same_start.min(before.len())..]
        .iter()
        .rev()
        .zip(after[same_start.min(after.len())..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let first = same_start + 1;
    let last = before.len() - same_end;
    // An insertion between two lines changes what runs after either of them.
    Some(if last < first {
        first.saturating_sub(1).max(1)..=first
    } else {
        first..=last
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str) -> Option<&str> {
        id.split(" > ").next()
    }

    #[test]
    fn covering_tests_bring_their_whole_files() {
        let expected = ["a > 1", "a > 2", "b > 1"];
        let covering = BTreeSet::from(["a > 2"]);
        let by_file = with_whole_files(&expected, &covering, file);
        assert_eq!(by_file, (vec!["a > 1", "a > 2"], vec!["b > 1"]));
        let by_test = with_whole_files(&expected, &covering, |_| None);
        assert_eq!(by_test, (vec!["a > 2"], vec!["a > 1", "b > 1"]));
    }

    #[test]
    fn most_specific_file_has_tests_that_run_few_lines() {
        let tests = ["all > 1", "all > 2", "own > 1", "own > 2"];
        let lines = |id: &str| if id.starts_with("own") { 10 } else { 100 };
        let file_for = |covering: &[&'static str]| {
            most_specific_file(&tests, &covering.iter().copied().collect(), lines, file)
        };
        assert_eq!(
            file_for(&["all > 1", "all > 2", "own > 1"]),
            BTreeSet::from(["own > 1", "own > 2"])
        );
        assert_eq!(
            file_for(&["all > 1"]),
            BTreeSet::from(["all > 1", "all > 2"])
        );
    }

    #[test]
    fn few_of_many_are_the_smallest_and_a_spread() {
        let ids: Vec<String> = (0..240).map(|number| format!("{number:03}")).collect();
        let tests: Vec<&str> = ids.iter().map(String::as_str).collect();
        let chosen = few_of_many(&tests, |id| 1000 - id.parse::<usize>().unwrap_or_default());
        assert_eq!(chosen.len(), FIRST_BATCH);
        for id in ["000", "020", "220", "228", "239"] {
            assert!(chosen.contains(id), "{id} is not among {chosen:?}");
        }
    }

    #[test]
    fn changed_lines_are_found_from_both_ends() {
        let original = "a\nb\nc\nd\n";
        assert_eq!(changed_lines(original, original), None);
        assert_eq!(changed_lines(original, "a\nB\nc\nd\n"), Some(2..=2));
        assert_eq!(changed_lines(original, "a\nd\n"), Some(2..=3));
        assert_eq!(changed_lines(original, "a\nb\nx\nc\nd\n"), Some(2..=3));
        assert_eq!(changed_lines(original, "x\n"), Some(1..=4));
        assert_eq!(changed_lines("a\na\n", "a\na\na\n"), Some(2..=3));
    }
}
