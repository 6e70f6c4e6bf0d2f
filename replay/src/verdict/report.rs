//! The report that the scripts beside the tests give: one JSON object a line, each with the word
//! that only these scripts were told.

use std::collections::{BTreeMap, BTreeSet};

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
    /// What differs at the end from how the runner's process began, in words that two runs of the
    /// same code share: functions replaced, import hooks, threads left.
    pub(super) marks: BTreeSet<String>,
    /// The modules that were loaded from outside the project, from a run of all tests.
    pub(super) modules: BTreeSet<String>,
    /// The project's files that were loaded, and whether their assertions were rewritten; from a
    /// run of all tests.
    pub(super) sources: BTreeMap<String, bool>,
    /// The project's files that were read before the first test and not only imported, from a run
    /// with coverage.
    pub(super) read: BTreeSet<String>,
    /// Whether a test's id says what it stands in, from a run of all tests.
    pub(super) plain_names: bool,
    /// Functions that decide over tests and were found replaced after one.
    pub(super) broken: BTreeSet<String>,
    /// Errors outside any test, where the framework sees them.
    pub(super) stray_errors: Option<String>,
    /// Lines without the word.
    pub(super) forged: usize,
    /// What is wrong with the tests that must fail.
    pub(super) sentinel_fault: Option<String>,
    sentinels: BTreeMap<String, Sentinel>,
    /// Whether the tests asked for something that only the framework itself, started for this run,
    /// can give them.
    pub(super) missed: bool,
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
    /// The outcome as a verb in the past.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "was skipped",
            Self::Failed => "failed",
            Self::Error => "failed around the test",
        }
    }

    /// Whether the test says no.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }
}

/// How a test ended that must fail.
#[derive(Clone, Debug, Deserialize)]
struct Sentinel {
    id: String,
    outcome: TestOutcome,
    #[serde(default)]
    message: String,
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
    Sentinel(Sentinel),
    Broken {
        what: String,
    },
    CollectError(CollectError),
    Coverage(Coverage),
    Miss,
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
        message: Option<String>,
    },
}

#[derive(Deserialize)]
struct Signature {
    nonce: String,
}

impl Report {
    /// Reads what was said; `nonce` is the word in every line.
    pub(super) fn parse(bytes: &[u8], nonce: &str) -> Self {
        let mut report = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
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
                Ok(Line::CollectError(fault)) => report.collect_errors.push(fault),
                Ok(Line::Coverage(coverage)) => report.coverage.push(coverage),
                Ok(Line::Miss) => report.missed = true,
                Ok(Line::HarnessError { message }) => report.harness_error = Some(message),
                Ok(Line::End {
                    marks,
                    modules,
                    sources,
                    read,
                    plain_names,
                    message,
                }) => {
                    report.ended = true;
                    report.marks.extend(marks);
                    report.modules.extend(modules);
                    report.sources.extend(sources);
                    report.read.extend(read);
                    report.plain_names |= plain_names;
                    report.stray_errors = message;
                }
                Err(_) => report.forged += 1,
            }
        }
        report.ended &= report.harness_error.is_none();
        report
    }

    /// Checks that every test that must fail did, and with its own words.
    pub(super) fn hold_sentinels(&mut self, expected: &[&str], token: &str) {
        let fault = |id: &str| match self.sentinels.get(id) {
            None => Some(format!("the sentinel {id} was not run")),
            Some(sentinel) if sentinel.outcome != TestOutcome::Failed => {
                let outcome = sentinel.outcome.name();
                Some(format!("the sentinel {id} must fail and {outcome}"))
            }
            Some(sentinel) if !sentinel.message.contains(token) => {
                Some(format!("the sentinel {id} failed for another reason"))
            }
            Some(_) => None,
        };
        let faults = expected.iter().find_map(|id| fault(id));
        self.sentinel_fault = faults.or_else(|| {
            let strange = self.sentinels.keys();
            let mut strange = strange.filter(|id| !expected.contains(&id.as_str()));
            strange.next().map(|id| format!("{id} is no sentinel"))
        });
    }

    /// Adds a test; of two with one id the worse counts.
    pub(super) fn add(&mut self, test: TestResult) {
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

    /// Lines signed with the word `w`.
    fn parse(lines: &str) -> Report {
        let signed = lines.replace("{\"event\"", "{\"nonce\":\"w\",\"event\"");
        Report::parse(signed.as_bytes(), "w")
    }

    #[test]
    fn a_report_is_read_as_far_as_it_goes() {
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
    fn a_broken_harness_is_no_complete_report() {
        let report =
            parse("{\"event\":\"harness_error\",\"message\":\"x\"}\n{\"event\":\"end\"}\n");
        assert!(!report.ended);
        let report = parse("{\"event\":\"end\",\"marks\":[\"a\"]}\n");
        assert!(report.ended);
        assert!(report.marks.contains("a"));
    }

    #[test]
    fn a_run_that_missed_something_is_not_complete() {
        let report = parse("{\"event\":\"miss\",\"what\":\"fetch /src/new.ts ssr\"}\n");
        assert!(report.missed && !report.ended && report.forged == 0);
        assert!(!Report::parse(b"{\"event\":\"miss\"}\n", "w").missed);
    }

    #[test]
    fn a_line_without_the_word_counts_for_nothing_but_itself() {
        let report = Report::parse(
            b"{\"event\":\"end\"}\n{\"nonce\":\"v\",\"event\":\"end\"}\nnoise\n",
            "w",
        );
        assert!(!report.ended);
        assert_eq!(report.forged, 3);
    }

    #[test]
    fn a_sentinel_must_fail_in_its_own_words() {
        let fault = |line: &str| {
            let mut report = parse(line);
            report.hold_sentinels(&["s"], "token");
            report.sentinel_fault.unwrap_or_default()
        };
        insta::assert_snapshot!(fault(""), @"the sentinel s was not run");
        insta::assert_snapshot!(
            fault(r#"{"event":"sentinel","id":"s","outcome":"passed"}"#),
            @"the sentinel s must fail and passed"
        );
        insta::assert_snapshot!(
            fault(r#"{"event":"sentinel","id":"s","outcome":"failed","message":"other"}"#),
            @"the sentinel s failed for another reason"
        );
        let held = r#"{"event":"sentinel","id":"s","outcome":"failed","message":"a token"}"#;
        assert_eq!(fault(held), "");
        let strange = held.replace(r#""s""#, r#""t""#);
        insta::assert_snapshot!(fault(&format!("{held}\n{strange}")), @"t is no sentinel");
    }
}
