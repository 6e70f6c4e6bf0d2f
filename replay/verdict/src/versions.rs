//! Judges several versions of a file that this program wrote, such as mutants, in few runs.
//!
//! A process that is ready for the tests runs them on one version after the other. Only a certain
//! result of such a run counts: a pass with all evidence, or a failed test. Every other version is
//! judged by itself, as if there had been no such run.

use std::sync::atomic::Ordering;

use super::error::VerdictError;
use super::judge::{Judge, breaks_syntax, change_key};
use super::judged_code::{FileContents, JudgedCode};
use super::outcome::{Outcome, Verdict};
use super::runner::TestRunResult;

/// Number of runs ending after their first version after which no more versions share a run: if
/// that is usual, runs of one version cost less.
const MOST_SHORT: usize = 3;

impl Judge {
    /// As [`Judge::judge_own`] for several versions of a file, whose verdicts it returns in their
    /// order.
    ///
    /// # Errors
    /// As [`Judge::judge`].
    pub fn judge_own_versions(
        &self,
        path: &str,
        versions: &[String],
        tests: &[String],
    ) -> Result<Vec<Verdict>, VerdictError> {
        let original = self.executor.runner.read(path)?;
        let keys: Vec<String> = versions
            .iter()
            .map(|contents| {
                let code = JudgedCode::own(path, contents);
                change_key((*contents != original).then_some(code), tests)
            })
            .collect();
        let is_open = |index: &usize| versions[*index] != original && !self.knows(&keys[*index]);
        let open: Vec<usize> = (0..versions.len()).filter(is_open).collect();
        if open.len() > 1 && !self.checks_types() {
            let texts: Vec<&str> = open.iter().map(|index| versions[*index].as_str()).collect();
            let original = FileContents {
                path,
                contents: &original,
            };
            let verdicts = self.judge_in_turn(original, &texts, tests)?;
            for (index, verdict) in open.iter().zip(verdicts) {
                if let Some(verdict) = verdict {
                    self.judged_in_shared_process
                        .fetch_add(1, Ordering::Relaxed);
                    self.keep(&keys[*index], verdict);
                }
            }
        }
        let versions = versions.iter();
        versions
            .map(|contents| self.judge_own(path, contents, tests))
            .collect()
    }

    /// Judges versions of a file in sequence in one process; `None` for a version that has to be
    /// judged by itself.
    fn judge_in_turn(
        &self,
        original: FileContents<'_>,
        versions: &[&str],
        tests: &[String],
    ) -> Result<Vec<Option<Verdict>>, VerdictError> {
        let expected = self.expected_tests(tests)?;
        let mut verdicts = Vec::new();
        let mut short = 0;
        while verdicts.len() < versions.len() && short < MOST_SHORT && !expected.is_empty() {
            let left = &versions[verdicts.len()..];
            let results = self
                .executor
                .execute_versions(self.engine, original, left, &expected)?;
            if results.is_empty() {
                break;
            }
            short += usize::from(results.len() == 1);
            let results = left.iter().zip(results);
            verdicts.extend(
                results.map(|(contents, result)| {
                    self.undoubted(result?, original, contents, &expected)
                }),
            );
        }
        // The versions that are left are judged by themselves.
        verdicts.resize(versions.len(), None);
        Ok(verdicts)
    }

    /// The verdict on a version if its run leaves no doubt.
    fn undoubted(
        &self,
        result: TestRunResult,
        FileContents {
            path,
            contents: original,
        }: FileContents<'_>,
        contents: &str,
        expected: &[&str],
    ) -> Option<Verdict> {
        let verdict = self.executor.interpret(&result, expected);
        let covering = self.executor.covering(path, original, contents);
        let is_clear = match verdict.outcome {
            Outcome::Passed => {
                let executor = &self.executor;
                !covering.is_empty() || !executor.only_flaky_cover(path, original, contents)
            }
            Outcome::Failed => {
                let collect_errors = &result.report.collect_errors;
                let has_failed = !verdict.failed.is_empty() || !collect_errors.is_empty();
                has_failed
                    && !breaks_syntax(path, original, contents)
                    && !self.flaky.is_doubtful(&verdict, &covering, true)
            }
            _ => false,
        };
        is_clear.then_some(verdict)
    }
}
