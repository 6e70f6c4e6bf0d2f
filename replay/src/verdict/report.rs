//! The report that the scripts beside the tests write: one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a run of tests reported. Lines that can't be read are passed over: the run may have been
/// killed in the middle of one, and what is missing then shows as missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// By id. Of two lines with one id the worse counts.
    pub(super) tests: BTreeMap<String, TestResult>,
    pub(super) collect_errors: Vec<CollectError>,
    /// Lines run, by test and file; the test `""` stands for import time.
    pub(super) coverage: Vec<Coverage>,
    /// Whether the last line is there.
    pub(super) ended: bool,
    /// What the scripts themselves stumbled over.
    pub(super) harness_error: Option<String>,
}

/// One test's end.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct TestResult {
    pub(super) id: String,
    pub(super) outcome: TestOutcome,
    #[serde(default)]
    pub(super) seconds: f64,
    #[serde(default)]
    pub(super) message: String,
}

/// How one test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// It did not run, by its own wish.
    Skipped,
    /// It failed.
    Failed,
    /// Its set-up or its end failed.
    Error,
}

impl TestOutcome {
    /// Whether the test says no.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }
}

/// A file of tests that can't be loaded.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CollectError {
    pub(super) id: String,
    #[serde(default)]
    pub(super) message: String,
}

/// Lines of one file that one test ran.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Coverage {
    pub(super) test: String,
    pub(super) file: String,
    pub(super) lines: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Test(TestResult),
    CollectError(CollectError),
    Coverage(Coverage),
    HarnessError {
        #[serde(default)]
        message: String,
    },
    End {},
}

impl Report {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut report = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Test(test)) => report.add(test),
                Ok(Line::CollectError(fault)) => report.collect_errors.push(fault),
                Ok(Line::Coverage(coverage)) => report.coverage.push(coverage),
                Ok(Line::HarnessError { message }) => report.harness_error = Some(message),
                Ok(Line::End {}) => report.ended = true,
                Err(_) => {}
            }
        }
        report.ended &= report.harness_error.is_none();
        report
    }

    fn add(&mut self, test: TestResult) {
        match self.tests.get(&test.id) {
            Some(known) if known.outcome >= test.outcome => {}
            _ => {
                self.tests.insert(test.id.clone(), test);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_far_as_it_goes() {
        let report = Report::parse(
            br#"{"event":"test","id":"a","outcome":"failed","seconds":0.1,"message":"no"}
{"event":"test","id":"a","outcome":"passed","seconds":0.1}
{"event":"collect_error","id":"b.py","message":"x","syntax":true}
{"event":"coverage","test":"a","file":"c.py","lines":[1,2]}
{"event":"test","id":"d","outc"#,
        );
        assert_eq!(report.tests.len(), 1);
        assert_eq!(report.tests["a"].outcome, TestOutcome::Failed);
        assert_eq!(report.collect_errors.len(), 1);
        assert_eq!(report.coverage[0].lines, [1, 2]);
        assert!(!report.ended);
    }

    #[test]
    fn a_broken_harness_is_no_complete_report() {
        let report = Report::parse(
            b"{\"event\":\"harness_error\",\"message\":\"x\"}\n{\"event\":\"end\",\"status\":0,\"tests\":0}\n",
        );
        assert!(!report.ended);
        let report = Report::parse(b"{\"event\":\"end\",\"status\":0,\"tests\":0}\n");
        assert!(report.ended);
    }
}
