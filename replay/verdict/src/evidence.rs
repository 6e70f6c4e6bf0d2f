//! Interprets one run of tests: its outcome and the evidence that is missing for a pass.

use std::collections::BTreeSet;
use std::path::Path;

use fillrate_sandbox::End;
use fillrate_syntax::Language;

use super::baseline::Baseline;
use super::outcome::{Evidence, Outcome, Verdict};
use super::runner::layout::OUTSIDE_PROJECT;
use super::runner::report::{TestOutcome, TestResult};
use super::runner::{ProjectRunner, TestRunResult};

/// The runner and baseline against which verdicts on one project are checked.
pub(super) struct Rules<'a> {
    pub(super) runner: &'a ProjectRunner,
    pub(super) baseline: &'a Baseline,
}

/// An outcome and its reason.
struct Decision {
    outcome: Outcome,
    reason: String,
    failed: Vec<String>,
    missing: Vec<Evidence>,
}

impl Rules<'_> {
    /// The verdict on a run of the `expected` tests.
    pub(super) fn interpret(&self, run: &TestRunResult, expected: &[&str]) -> Verdict {
        let decision = self.decide(run, expected);
        let mut output = run.output.clone();
        for test in run.report.tests.values() {
            if decision.failed.contains(&test.id) && !test.message.is_empty() {
                output.push_str(&format!("\n--- {}\n{}\n", test.id, test.message));
            }
        }
        for error in &run.report.collect_errors {
            output.push_str(&format!("\n--- {}\n{}\n", error.id, error.message));
        }
        Verdict {
            outcome: decision.outcome,
            reason: decision.reason,
            failed: decision.failed,
            missing: decision.missing,
            unavailable: self.runner.unavailable_evidence().to_vec(),
            twins: Vec::new(),
            proof: None,
            unproven: Vec::new(),
            executed: run.report.tests.len(),
            rerun: false,
            seconds: run.wall.as_secs_f64(),
            twin_seconds: 0.0,
            sandbox: run.level.clone(),
            output,
            types: None,
        }
    }

    /// The evidence that is missing in a run within its limits in which some tests must fail, as a
    /// sentence.
    pub(super) fn missing_beside_twins(&self, run: &TestRunResult) -> Option<String> {
        // Which tests must run and with which status the runner exits is the caller's to check.
        let counts = |(evidence, _): &(Evidence, String)| {
            !matches!(evidence, Evidence::Executed | Evidence::Status)
        };
        let missing = self.missing(run, &[]).into_iter().find(counts);
        missing.map(|(_, sentence)| sentence)
    }

    fn decide(&self, run: &TestRunResult, expected: &[&str]) -> Decision {
        if let Some((outcome, reason)) = exceeded_limit(run.end) {
            return Decision {
                outcome,
                reason: reason.to_owned(),
                failed: Vec::new(),
                missing: Vec::new(),
            };
        }
        let report = &run.report;
        let failed: Vec<String> = report
            .tests
            .values()
            .filter(|test| test.outcome.is_failure())
            .map(|test| test.id.clone())
            .collect();
        let missing = self.missing(run, expected);
        // A compile error explains all other failures of the run.
        if let Some(error) = report.collect_errors.iter().find(|error| error.compile) {
            return Decision {
                outcome: Outcome::Syntax,
                reason: format!("{} does not compile", error.id),
                failed,
                missing: missing.into_iter().map(|(evidence, _)| evidence).collect(),
            };
        }
        let reason = if let Some(first) = failed.first() {
            format!("{first} failed")
        } else if let Some(error) = report.collect_errors.first() {
            format!("{} can't be loaded", error.id)
        } else if let Some((_, sentence)) = missing.first() {
            sentence.clone()
        } else {
            return Decision {
                outcome: Outcome::Passed,
                reason: "every test ran and passed".to_owned(),
                failed,
                missing: Vec::new(),
            };
        };
        Decision {
            outcome: Outcome::Failed,
            reason,
            failed,
            missing: missing.into_iter().map(|(evidence, _)| evidence).collect(),
        }
    }

    /// The evidence that is missing for a pass, each with a sentence. Several may have the same
    /// cause.
    fn missing(&self, run: &TestRunResult, expected: &[&str]) -> Vec<(Evidence, String)> {
        let mut missing = self.missing_in_report(run, expected);
        let report = &run.report;
        let unknown = |mark: &&String| !self.baseline.leaves_mark(mark);
        if let Some(name) = report.broken.iter().find(unknown) {
            let sentence = format!("{name}, which decides over tests, was replaced");
            missing.push((Evidence::Framework, sentence));
        }
        if let Some(mark) = report.marks.iter().find(unknown) {
            let sentence = format!(
                "the tests' process is not what it was, and with the original it is: {mark}"
            );
            missing.push((Evidence::Process, sentence));
        }
        if let Some(path) = run.changed.iter().find(|path| self.forbids_change(path)) {
            let sentence = format!("{path} was made, changed or removed meanwhile");
            missing.push((Evidence::Files, sentence));
        }
        let is_closed = |path: &&String| !self.baseline.changes_file(path);
        if let Some(path) = run.unreadable.iter().find(is_closed) {
            // An empty path is the project's own folder.
            let name = if path.is_empty() { "the project" } else { path };
            let sentence = format!("changes to files in {name} can't be seen");
            missing.push((Evidence::Files, sentence));
        }
        let expected_status = self.runner.status();
        match run.end {
            End::Exited(status) if status == expected_status => {}
            End::Exited(status) => {
                let sentence =
                    format!("the test runner exited with status {status}, not {expected_status}");
                missing.push((Evidence::Status, sentence));
            }
            _ => missing.push((Evidence::Status, "the test runner was killed".to_owned())),
        }
        let unavailable = self.runner.unavailable_evidence();
        missing.retain(|(evidence, _)| !unavailable.contains(evidence));
        missing
    }

    /// The missing evidence that the report alone shows.
    fn missing_in_report(&self, run: &TestRunResult, expected: &[&str]) -> Vec<(Evidence, String)> {
        let report = &run.report;
        let mut missing = Vec::new();
        let mut add = |evidence, sentence: String| missing.push((evidence, sentence));
        if !report.ended {
            let sentence = "the run ended without a complete report";
            add(Evidence::Report, sentence.to_owned());
        }
        if report.forged > 0 {
            let sentence = format!("{} lines of the report are forged", report.forged);
            add(Evidence::Signature, sentence);
        }
        let not_run = |id: &&&str| !report.tests.contains_key(**id);
        if let Some(id) = expected.iter().find(not_run) {
            add(Evidence::Executed, format!("{id} was not run"));
        }
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        let unexpected = |id: &&String| !expected.contains(id.as_str());
        if let Some(id) = report.tests.keys().find(unexpected) {
            let sentence = format!("{id} was run and is no test of the baseline");
            add(Evidence::Executed, sentence);
        }
        let newly_skipped = |test: &&TestResult| {
            test.outcome == TestOutcome::Skipped
                && self.baseline.outcome(&test.id) != Some(TestOutcome::Skipped)
        };
        if let Some(test) = report.tests.values().find(newly_skipped) {
            add(Evidence::Skips, format!("{} was skipped", test.id));
        }
        if let Some(message) = &report.stray_errors {
            let first = message.lines().next().unwrap_or_default();
            let sentence = format!("there were errors outside the tests: {first}");
            add(Evidence::Quiet, sentence);
        }
        if let Some(fault) = &report.sentinel_fault {
            add(Evidence::Sentinels, fault.clone());
        }
        missing
    }

    /// Returns true if a pass is impossible once this file is new, changed or removed.
    fn forbids_change(&self, path: &str) -> bool {
        let protected = self.runner.is_guarded(path)
            || affects_tests(path)
            || path.starts_with(OUTSIDE_PROJECT);
        protected && !self.baseline.changes_file(path)
    }
}

/// The outcome of a run that exceeded a limit, with the reason.
pub(super) fn exceeded_limit(end: End) -> Option<(Outcome, &'static str)> {
    match end {
        End::TimedOut | End::OutOfProcessor => Some((Outcome::Timeout, "the time limit ran out")),
        End::OutOfMemory => Some((Outcome::Memory, "the memory limit was exceeded")),
        End::TooManyProcesses => Some((Outcome::Sandbox, "the limit on processes was exceeded")),
        End::TooMuchOutput => Some((Outcome::Sandbox, "the limit on output was exceeded")),
        End::Exited(_) | End::Signalled(_) => None,
    }
}

/// Returns true if a new file of this name may change what tests do: code that they could load, and
/// their frameworks' settings.
fn affects_tests(path: &str) -> bool {
    // Beside sources.
    const CODE: [&str; 3] = ["pyc", "pth", "so"];
    const SETTINGS: [&str; 11] = [
        "go.mod",
        "go.sum",
        "pytest.toml",
        ".pytest.toml",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "package.json",
        "tsconfig.json",
    ];
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    let extension = path.extension().and_then(|extension| extension.to_str());
    Language::for_path(path).is_some()
        || extension.is_some_and(|extension| CODE.contains(&extension))
        || name.is_some_and(|name| SETTINGS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_pytest_affect_tests_in_every_form() {
        for name in ["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"] {
            assert!(affects_tests(&format!("checks/{name}")), "{name}");
        }
        assert!(!affects_tests("checks/data.toml"));
    }
}
