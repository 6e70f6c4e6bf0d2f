//! Judges new tests that a project does not have yet, under the same rules of evidence.

use std::collections::BTreeSet;

use super::engine::Engine;
use super::error::VerdictError;
use super::judge::Judge;
use super::judged_code::FileContents;
use super::outcome::Verdict;
use super::runner::TestRun;

impl Judge {
    /// Runs tests with a new test file, `added`, laid over the project, and optionally with a
    /// changed file. `tests` are the ids of those to run: new ones, the project's own, or both.
    /// Nothing is cached: a second call runs them again.
    ///
    /// A pass needs the same evidence as one of [`Judge::judge`]. A test detects the change if it
    /// is in [`Verdict::failed`] and [`Verdict::missing`] is empty.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub fn judge_added_tests(
        &self,
        added: FileContents<'_>,
        change: Option<FileContents<'_>>,
        tests: &[&str],
    ) -> Result<Verdict, VerdictError> {
        let replaced: Vec<FileContents<'_>> = std::iter::once(added).chain(change).collect();
        let run = TestRun::new(&replaced, tests, self.executor.limits(tests));
        let result = self.executor.execute(self.engine, &run)?;
        Ok(self.executor.interpret(&result, tests))
    }

    /// As [`Judge::judge_added_tests`] without a change and with the cold engine; also returns the
    /// one-based lines of a file of the project that the tests run, those that run at import
    /// excluded.
    ///
    /// # Errors
    /// As [`Judge::judge_added_tests`].
    pub fn judge_added_tests_with_coverage(
        &self,
        added: FileContents<'_>,
        tests: &[&str],
        file: &str,
    ) -> Result<(Verdict, BTreeSet<usize>), VerdictError> {
        let covered = [file.to_owned()];
        let mut limits = self.executor.limits(tests);
        // Recording makes every line slower.
        limits.wall *= 3;
        limits.cpu *= 3;
        let added = [added];
        let run = TestRun {
            coverage: Some(&covered),
            ..TestRun::new(&added, tests, limits)
        };
        let result = self.executor.execute(Engine::Cold, &run)?;
        let lines = result
            .report
            .coverage
            .iter()
            .filter(|coverage| coverage.file == file && tests.contains(&coverage.test.as_str()))
            .flat_map(|coverage| coverage.lines.iter().copied())
            .collect();
        Ok((self.executor.interpret(&result, tests), lines))
    }
}
