//! The report of the scripts that run with the tests: one JSON object a line, each with the nonce
//! of the run, which only these scripts know.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The report of a run. Unreadable lines count as forged: the run may have been killed in the
/// middle of one, and the report is then incomplete.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestReport {
    /// By id. Of two results with one id the worse counts.
    pub(crate) tests: BTreeMap<String, TestResult>,
    pub(crate) collect_errors: Vec<CollectError>,
    /// Lines run, by test and file; the test `""` is import time.
    pub(crate) coverage: Vec<TestCoverage>,
    /// True if the last line is present.
    pub(crate) ended: bool,
    /// Differences between the runner's process at the start and at the end, the same for two runs
    /// of the same code: functions replaced, import hooks added, threads left.
    pub(crate) marks: BTreeSet<String>,
    /// The modules loaded from outside the project, from a run of all tests.
    pub(crate) modules: BTreeSet<String>,
    /// The project's files loaded, and whether their assertions were rewritten; from a run of all
    /// tests.
    pub(crate) sources: BTreeMap<String, bool>,
    /// The project's files read before the first test and not only imported, from a run with
    /// coverage.
    pub(crate) read: BTreeSet<String>,
    /// True if a test's id is its parent's id followed by its own name, from a run of all tests.
    pub(crate) plain_names: bool,
    /// Options of the project that can't be honoured and had no effect, from a run of all tests.
    pub(crate) neutralised: BTreeSet<String>,
    /// Functions that decide over tests and were replaced after one.
    pub(crate) broken: BTreeSet<String>,
    /// Errors outside any test that the framework reports.
    pub(crate) stray_errors: Option<String>,
    /// Lines that are unreadable or without the nonce.
    pub(crate) forged: usize,
    /// Reason why the sentinels, the tests that must fail, prove nothing; `None` if all failed.
    pub(crate) sentinel_fault: Option<String>,
    sentinels: BTreeMap<String, SentinelResult>,
    /// True if the tests need something that only the framework itself, started for this run, can
    /// provide.
    pub(crate) missed: bool,
    /// Reason why Go's tests were not compiled by the plan of the environment, if it has none.
    pub(crate) missing_plan: Option<String>,
    /// Files of the unchanged project's compiled form that the scripts removed before the first
    /// test, relative to the folder of what is compiled.
    pub(crate) removed: BTreeSet<String>,
    /// An error of the scripts themselves.
    pub(crate) harness_error: Option<String>,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct TestResult {
    pub(crate) id: String,
    pub(crate) outcome: TestOutcome,
    #[serde(default)]
    pub(crate) seconds: f64,
    #[serde(default)]
    pub(crate) message: String,
    /// The number of tests that were reported before it.
    #[serde(skip)]
    pub(crate) place: usize,
}

/// The outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TestOutcome {
    /// It passed.
    Passed,
    /// It was skipped.
    Skipped,
    /// It failed.
    Failed,
    /// Its set-up or teardown failed.
    Error,
}

impl TestOutcome {
    /// The outcome as a past-tense verb.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "was skipped",
            Self::Failed => "failed",
            Self::Error => "failed around the test",
        }
    }

    /// Returns true if it makes a run fail.
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }
}

/// The most bytes of the list of files whose sentinels did not fail.
const LONGEST_FAULT: usize = 200;

/// The result of a sentinel, a test that must fail.
#[derive(Clone, Debug, Deserialize)]
struct SentinelResult {
    id: String,
    outcome: TestOutcome,
    #[serde(default)]
    message: String,
}

/// A test file that can't be loaded.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CollectError {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) message: String,
    /// True if a compiler refuses it, or code of the project that it needs.
    #[serde(default)]
    pub(crate) compile: bool,
}

/// Lines of one file that one test runs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TestCoverage {
    pub(crate) test: String,
    pub(crate) file: String,
    pub(crate) lines: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Test(TestResult),
    Sentinel(SentinelResult),
    Broken {
        what: String,
    },
    CollectError(CollectError),
    Coverage(TestCoverage),
    Miss,
    /// Go's tests were compiled by `go test`, and not by the plan of the environment.
    GoTest {
        reason: String,
        lacks_plan: bool,
    },
    Removed {
        files: BTreeSet<String>,
    },
    HarnessError {
        #[serde(default)]
        message: String,
    },
    End {
        #[serde(default)]
        marks: BTreeSet<String>,
        #[serde(default)]
        modules: BTreeSet<String>,
        #[serde(default)]
        sources: BTreeMap<String, bool>,
        #[serde(default)]
        read: BTreeSet<String>,
        #[serde(default)]
        plain_names: bool,
        #[serde(default)]
        neutralised: BTreeSet<String>,
        #[serde(default)]
        message: Option<String>,
    },
}

#[derive(Deserialize)]
struct Signature {
    nonce: String,
}

impl TestReport {
    /// Parses a report whose every line holds `nonce`.
    pub(crate) fn parse(bytes: &[u8], nonce: &str) -> Self {
        let mut report = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            // The signature is checked before the event: an unsigned line must not even be parsed
            // as one.
            let signed = serde_json::from_slice::<Signature>(line)
                .is_ok_and(|signature| signature.nonce == nonce);
            if !signed {
                report.forged += 1;
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(Line::Test(test)) => report.add(test),
                Ok(Line::Sentinel(sentinel)) => {
                    report.sentinels.insert(sentinel.id.clone(), sentinel);
                }
                Ok(Line::Broken { what }) => {
                    report.broken.insert(what);
                }
                Ok(Line::CollectError(error)) => report.collect_errors.push(error),
                Ok(Line::Coverage(coverage)) => report.coverage.push(coverage),
                Ok(Line::Miss) => report.missed = true,
                Ok(Line::GoTest { reason, lacks_plan }) => {
                    tracing::debug!("compiled by `go test`: {reason}");
                    report.missing_plan = Some(reason).filter(|_| lacks_plan);
                }
                Ok(Line::Removed { files }) => report.removed.extend(files),
                Ok(Line::HarnessError { message }) => report.harness_error = Some(message),
                Ok(Line::End {
                    marks,
                    modules,
                    sources,
                    read,
                    plain_names,
                    neutralised,
                    message,
                }) => {
                    report.ended = true;
                    report.marks.extend(marks);
                    report.modules.extend(modules);
                    report.sources.extend(sources);
                    report.read.extend(read);
                    report.plain_names |= plain_names;
                    report.neutralised.extend(neutralised);
                    report.stray_errors = message;
                }
                Err(_) => report.forged += 1,
            }
        }
        // An error of the scripts may have hidden results, so the report does not count as
        // complete.
        report.ended &= report.harness_error.is_none();
        report
    }

    /// Checks that the expected sentinels and no others ran, and failed with `token` in their
    /// messages.
    pub(crate) fn check_sentinels(&mut self, expected: &[&str], token: &str) {
        // The token proves that the sentinel's own assertion failed, and not a replaced one.
        let fault = |id: &str| match self.sentinels.get(id) {
            None => Some(format!("the sentinel {id} was not run")),
            Some(sentinel) if sentinel.outcome != TestOutcome::Failed => {
                let outcome = sentinel.outcome.name();
                let of_files = sentinel.message.replace(token, "");
                let of_files = match of_files.trim() {
                    "" => String::new(),
                    files => format!(" ({})", &files[..files.floor_char_boundary(LONGEST_FAULT)]),
                };
                Some(format!(
                    "the sentinel {id} must fail and {outcome}{of_files}"
                ))
            }
            Some(sentinel) if !sentinel.message.contains(token) => {
                Some(format!("the sentinel {id} failed for another reason"))
            }
            Some(_) => None,
        };
        let faults = expected.iter().find_map(|id| fault(id));
        // A sentinel that this framework does not have can only come from the code under test.
        self.sentinel_fault = faults.or_else(|| {
            let mut unexpected = self
                .sentinels
                .keys()
                .filter(|id| !expected.contains(&id.as_str()));
            unexpected.next().map(|id| format!("{id} is no sentinel"))
        });
    }

    /// Adds a result; of two with one id the worse counts.
    pub(crate) fn add(&mut self, mut test: TestResult) {
        test.place = self.tests.len();
        match self.tests.get_mut(&test.id) {
            // The first of equally bad results stays, with its message.
            Some(known) if known.outcome >= test.outcome => {}
            Some(known) => {
                test.place = known.place;
                *known = test;
            }
            None => {
                self.tests.insert(test.id.clone(), test);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses lines signed with the nonce `w`.
    fn parse(lines: &str) -> TestReport {
        let signed = lines.replace("{\"event\"", "{\"nonce\":\"w\",\"event\"");
        TestReport::parse(signed.as_bytes(), "w")
    }

    #[test]
    fn truncated_report_is_parsed_and_incomplete() {
        let report = parse(
            r#"{"event":"test","id":"a","outcome":"failed","seconds":0.1,"message":"no"}
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
    fn harness_error_makes_report_incomplete() {
        let report =
            parse("{\"event\":\"harness_error\",\"message\":\"x\"}\n{\"event\":\"end\"}\n");
        assert!(!report.ended);
        let report = parse("{\"event\":\"end\",\"marks\":[\"a\"]}\n");
        assert!(report.ended);
        assert!(report.marks.contains("a"));
    }

    #[test]
    fn miss_makes_report_incomplete() {
        let report = parse("{\"event\":\"miss\",\"what\":\"fetch /src/new.ts ssr\"}\n");
        assert!(report.missed && !report.ended && report.forged == 0);
        assert!(!TestReport::parse(b"{\"event\":\"miss\"}\n", "w").missed);
    }

    #[test]
    fn lines_without_nonce_are_forged_and_ignored() {
        let report = TestReport::parse(
            b"{\"event\":\"end\"}\n{\"nonce\":\"v\",\"event\":\"end\"}\nnoise\n",
            "w",
        );
        assert!(!report.ended);
        assert_eq!(report.forged, 3);
    }

    #[test]
    fn sentinel_must_fail_with_token() {
        let fault = |line: &str| {
            let mut report = parse(line);
            report.check_sentinels(&["s"], "token");
            report.sentinel_fault.unwrap_or_default()
        };
        insta::assert_snapshot!(fault(""), @"the sentinel s was not run");
        insta::assert_snapshot!(
            fault(r#"{"event":"sentinel","id":"s","outcome":"passed"}"#),
            @"the sentinel s must fail and passed"
        );
        insta::assert_snapshot!(
            fault(r#"{"event":"sentinel","id":"s","outcome":"passed","message":"token a.ts: toBe"}"#),
            @"the sentinel s must fail and passed (a.ts: toBe)"
        );
        insta::assert_snapshot!(
            fault(r#"{"event":"sentinel","id":"s","outcome":"failed","message":"other"}"#),
            @"the sentinel s failed for another reason"
        );
        let held = r#"{"event":"sentinel","id":"s","outcome":"failed","message":"a token"}"#;
        assert_eq!(fault(held), "");
        let unexpected = held.replace(r#""s""#, r#""t""#);
        insta::assert_snapshot!(fault(&format!("{held}\n{unexpected}")), @"t is no sentinel");
    }
}
