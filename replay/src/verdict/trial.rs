//! Tests that a project does not have yet, tried on it under the same rules of evidence.

use std::collections::BTreeSet;

use super::runner::TestRun;
use super::{Engine, Judge, Verdict, VerdictError};

impl Judge {
    /// What tests say with a new file of tests, `added`, laid over the project, and with a file
    /// of it changed beside that. `tests` are the ids of those to run: the new ones, the
    /// project's own, or both. Nothing is remembered: asked again, they are run again.
    ///
    /// A pass needs the same evidence as one of [`Judge::judge`]. A test counts as having noticed
    /// the change if it stands in [`Verdict::failed`] with nothing in [`Verdict::missing`].
    ///
    /// # Errors
    /// The sandbox can't be had: that is no verdict on the tests.
    pub fn try_tests(
        &self,
        added: (&str, &str),
        change: Option<(&str, &str)>,
        tests: &[&str],
    ) -> Result<Verdict, VerdictError> {
        let replaced: Vec<(&str, &str)> = std::iter::once(added).chain(change).collect();
        let run = TestRun {
            replaced: &replaced,
            select: Some(tests),
            coverage: None,
            first_failure_ends: false,
            limits: self.limits(tests),
        };
        let finding = self.execute(self.engine, &run)?;
        Ok(self.interpret(&finding, tests))
    }

    /// As [`Judge::try_tests`] without a change, from the start, and the one-based lines of a
    /// file of the project that the tests run: those that are run at import are none of them.
    ///
    /// # Errors
    /// As [`Judge::try_tests`].
    pub fn try_recorded(
        &self,
        added: (&str, &str),
        tests: &[&str],
        file: &str,
    ) -> Result<(Verdict, BTreeSet<usize>), VerdictError> {
        let recorded = [file.to_owned()];
        let mut limits = self.limits(tests);
        // Recording makes every line slower.
        limits.wall *= 3;
        limits.cpu *= 3;
        let run = TestRun {
            replaced: &[added],
            select: Some(tests),
            coverage: Some(&recorded),
            first_failure_ends: false,
            limits,
        };
        let finding = self.execute(Engine::Cold, &run)?;
        let lines = finding
            .report
            .coverage
            .iter()
            .filter(|coverage| coverage.file == file && tests.contains(&coverage.test.as_str()))
            .flat_map(|coverage| coverage.lines.iter().copied())
            .collect();
        Ok((self.interpret(&finding, tests), lines))
    }
}
