//! Which tests are run first: a failure is final, so that the sooner a test fails that can, the
//! fewer are run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Engine, Judge};

/// How many tests are run before all others that run a changed line, where a run begins quickly.
const TELLING: usize = 24;

/// About what a file of tests takes before its first test, where each is started on its own.
const FILE: Duration = Duration::from_millis(200);

impl Judge {
    /// The tests expected to pass, in rounds, of which each is run if all before it passed: a few
    /// that are likely to tell, the others that run a changed line, the rest. A round that would
    /// take less than to start one is part of the one before.
    pub(super) fn rounds<'a>(
        &self,
        engine: Engine,
        expected: &[&'a str],
        covering: &BTreeSet<&str>,
    ) -> Vec<Vec<&'a str>> {
        let (first, rest) = with_whole_files(expected, covering, |id| self.bench.file(id));
        let (telling, others) = if self.is_warm(engine) {
            self.telling(first, covering)
        } else {
            (Vec::new(), first)
        };
        let mut rounds: Vec<Vec<&str>> = Vec::new();
        for round in [telling, others, rest] {
            match rounds.last_mut() {
                _ if round.is_empty() => {}
                Some(last) if self.is_short(engine, &round) => last.extend(round),
                _ => rounds.push(round),
            }
        }
        rounds
    }

    /// Whether a round takes less than what starting it does.
    fn is_short(&self, engine: Engine, round: &[&str]) -> bool {
        let (start, files) = if !self.is_warm(engine) {
            (1500, 0)
        } else if self.baseline.is_collectable() {
            (20, 0)
        } else {
            // Next to a runner that starts quickly, the files that it starts count, too.
            (100, self.files(round).len())
        };
        let takes = self.baseline.seconds(round) + FILE.mul_f64(files as f64);
        takes < Duration::from_millis(start)
    }

    fn files<'a>(&self, ids: &[&'a str]) -> BTreeSet<&'a str> {
        ids.iter().filter_map(|id| self.bench.file(id)).collect()
    }

    /// Of tests a few that are likely to tell what is wrong, and the others; none where there are
    /// not many, or to start a run takes too long.
    fn telling<'a>(
        &self,
        tests: Vec<&'a str>,
        covering: &BTreeSet<&str>,
    ) -> (Vec<&'a str>, Vec<&'a str>) {
        let lines = |id: &str| self.lines.get(id).copied().unwrap_or(usize::MAX);
        let chosen: BTreeSet<&str> = if self.files(&tests).len() > 1 {
            most_telling_file(&tests, covering, lines, |id| self.bench.file(id))
        } else if self.baseline.is_collectable() && tests.len() >= 2 * TELLING {
            few_of_many(&tests, lines)
        } else {
            BTreeSet::new()
        };
        tests.into_iter().partition(|id| chosen.contains(id))
    }
}

/// The tests of the file that has most of those that run a changed line, each counted for the more
/// the fewer lines it runs in all.
fn most_telling_file<'a>(
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

/// A few tests: half of them are those that run the fewest lines, and so more than others the
/// changed ones; half are spread over all.
fn few_of_many<'a>(tests: &[&'a str], lines: impl Fn(&str) -> usize) -> BTreeSet<&'a str> {
    let mut by_lines = tests.to_vec();
    by_lines.sort_by_key(|id| lines(id));
    by_lines.truncate(TELLING / 2);
    let step = tests.len().div_ceil(TELLING / 2);
    tests
        .iter()
        .copied()
        .step_by(step)
        .chain(by_lines)
        .collect()
}

/// The tests to run first, and the others: those that cover a change, and where a file is started
/// for one of its tests, all of that file, which would have to be started again for them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str) -> Option<&str> {
        id.split(" > ").next()
    }

    #[test]
    fn a_file_that_is_started_for_a_test_is_run_whole() {
        let expected = ["a > 1", "a > 2", "b > 1"];
        let covering = BTreeSet::from(["a > 2"]);
        let by_file = with_whole_files(&expected, &covering, file);
        assert_eq!(by_file, (vec!["a > 1", "a > 2"], vec!["b > 1"]));
        let by_test = with_whole_files(&expected, &covering, |_| None);
        assert_eq!(by_test, (vec!["a > 2"], vec!["a > 1", "b > 1"]));
    }

    #[test]
    fn a_file_tells_by_tests_that_run_little_else() {
        let tests = ["all > 1", "all > 2", "own > 1", "own > 2"];
        let lines = |id: &str| if id.starts_with("own") { 10 } else { 100 };
        let told = |covering: &[&'static str]| {
            most_telling_file(&tests, &covering.iter().copied().collect(), lines, file)
        };
        assert_eq!(
            told(&["all > 1", "all > 2", "own > 1"]),
            BTreeSet::from(["own > 1", "own > 2"])
        );
        assert_eq!(told(&["all > 1"]), BTreeSet::from(["all > 1", "all > 2"]));
    }

    #[test]
    fn a_few_of_many_are_the_smallest_and_some_of_all() {
        let ids: Vec<String> = (0..240).map(|number| format!("{number:03}")).collect();
        let tests: Vec<&str> = ids.iter().map(String::as_str).collect();
        let chosen = few_of_many(&tests, |id| 1000 - id.parse::<usize>().unwrap_or_default());
        assert_eq!(chosen.len(), TELLING);
        for id in ["000", "020", "220", "228", "239"] {
            assert!(chosen.contains(id), "{id} is not among {chosen:?}");
        }
    }
}
