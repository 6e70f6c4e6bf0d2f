//! Any command that writes a JUnit XML report, which nearly every test framework can.
//!
//! The format has no standard. This reads what frameworks agree on: a `testcase` with a `name` and
//! usually a `classname`, which passed unless it contains a `failure`, an `error` or a `skipped`.
//! See <https://github.com/testmoapp/junitxml>.
//!
//! Such a run proves less than others. It neither selects tests nor records the lines they run, so
//! that every verdict runs all of them. The code under test can write the report file as well as
//! the framework can: the report has no signature and no sentinels, and nothing checks the
//! framework or the process. A verdict lists this in
//! [`Verdict::unavailable`](crate::Verdict::unavailable). The rest is some evidence
//! against wrong completions and little against hostile ones.

use std::path::PathBuf;

use fillrate_sandbox::{Bind, Overlay};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::framework::{Compilation, SandboxView, TestFramework, TestIds, WarmStart};
use super::report::{TestOutcome, TestReport, TestResult};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// The command of the manifest.
pub(super) struct Junit {
    /// The framework of the language's own runner: its programs are there for the command.
    pub(super) own: Box<dyn TestFramework>,
}

/// The longest failure message that is kept, in characters, as in the other runners' scripts.
const MESSAGE_LIMIT: usize = 4000;

impl TestFramework for Junit {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &[]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        &[
            Evidence::Signature,
            Evidence::Quiet,
            Evidence::Sentinels,
            Evidence::Framework,
            Evidence::Process,
        ]
    }

    fn status(&self) -> i32 {
        0
    }

    fn report_file(&self, project: &Project) -> Option<PathBuf> {
        project.test.as_ref()?.report.as_ref().map(PathBuf::from)
    }

    fn read_report(&self, bytes: &[u8], _nonce: &str) -> TestReport {
        parse(bytes)
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        // The manifest guarantees a command for this runner.
        let test = prepared.project.test.iter();
        let mut words = test.flat_map(|test| &test.command).cloned();
        (words.next().unwrap_or_default(), words.collect())
    }

    /// Environment of the language's own runner, with its programs on the search path.
    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        // The language's variables are kept, but its `PATH` lacks the environment's programs.
        let mut environment = self.own.environment(project);
        let mut folders = self.own.program_folders().to_vec();
        folders.extend(["/usr/local/bin", "/usr/bin", "/bin"]);
        environment.retain(|(name, _)| *name != "PATH");
        environment.push(("PATH", folders.join(":")));
        environment
    }
}

impl SandboxView for Junit {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let mut binds = self.own.binds(prepared);
        binds.extend(self.own.program_binds(prepared));
        binds
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        self.own.overlays(prepared)
    }
}

impl TestIds for Junit {}

impl WarmStart for Junit {}

impl Compilation for Junit {}

/// Parses a report. An incomplete XML document gives an incomplete report.
fn parse(bytes: &[u8]) -> TestReport {
    let mut report = TestReport::default();
    let Ok(text) = std::str::from_utf8(bytes) else {
        return report;
    };
    let mut reader = Reader::from_str(text);
    // The number of open elements, and the open test with its result so far.
    let mut depth = 0_usize;
    let mut seen = false;
    let mut test: Option<TestResult> = None;
    // The depth of the open element whose text is the test's message.
    let mut message: Option<usize> = None;
    loop {
        // A run that was killed leaves a truncated document, which must not count as ended.
        let Ok(event) = reader.read_event() else {
            return report;
        };
        match event {
            Event::Start(element) => {
                depth += 1;
                seen = true;
                if start_element(&mut test, &element) && message.is_none() {
                    message = Some(depth);
                }
            }
            Event::Empty(element) => {
                start_element(&mut test, &element);
                // An empty element has no end event.
                if element.name().as_ref() == "testcase" {
                    end_test(&mut report, &mut test);
                }
            }
            Event::End(element) => {
                message = message.filter(|open| *open != depth);
                depth = depth.saturating_sub(1);
                if element.name().as_ref() == "testcase" {
                    end_test(&mut report, &mut test);
                }
            }
            // Text elsewhere, as in `system-out`, is what a test printed.
            Event::Text(text) if message.is_some() => add_message(&mut test, &text.xml10_content()),
            Event::CData(text) if message.is_some() => {
                add_message(&mut test, &text.xml10_content());
            }
            // The reader reports entities apart from the text around them.
            Event::GeneralRef(reference) if message.is_some() => {
                let known = match &*reference {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => reference.resolve_char_ref().ok().flatten(),
                };
                if let Some(character) = known {
                    add_message(&mut test, character.encode_utf8(&mut [0; 4]));
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    report.ended = seen && depth == 0;
    report
}

/// Handles the start of a test, or of the element that has its outcome. Returns true for the
/// latter.
fn start_element(test: &mut Option<TestResult>, element: &BytesStart<'_>) -> bool {
    let attribute = |name: &str| {
        let found = element.try_get_attribute(name).ok().flatten()?;
        let value = found.normalized_value(XmlVersion::Implicit1_0).ok()?;
        Some(value.into_owned())
    };
    // Elements such as `flakyFailure` and `rerunFailure` of Surefire don't fail the test.
    let outcome = match element.name().as_ref() {
        "testcase" => {
            let name = attribute("name").unwrap_or_default();
            let class = attribute("classname").filter(|class| !class.is_empty());
            *test = Some(TestResult {
                id: class.map_or(name.clone(), |class| format!("{class} > {name}")),
                outcome: TestOutcome::Passed,
                seconds: attribute("time")
                    // Some frameworks write a thousands separator.
                    .and_then(|time| time.replace(',', "").parse().ok())
                    .filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
                    .unwrap_or_default(),
                message: String::new(),
                place: 0,
            });
            return false;
        }
        "failure" => TestOutcome::Failed,
        "error" => TestOutcome::Error,
        "skipped" => TestOutcome::Skipped,
        _ => return false,
    };
    if let Some(test) = test {
        // A test may have an error of its teardown after its failure; the worse counts.
        test.outcome = test.outcome.max(outcome);
        // Each message begins a line.
        if !test.message.is_empty() && !test.message.ends_with('\n') {
            test.message.push('\n');
        }
        if let Some(message) = attribute("message") {
            test.message.push_str(&message);
            test.message.push('\n');
        }
    }
    true
}

/// Adds to a test's message.
fn add_message(test: &mut Option<TestResult>, text: &str) {
    if let Some(test) = test {
        test.message.push_str(text);
    }
}

/// Handles the end of a test.
fn end_test(report: &mut TestReport, test: &mut Option<TestResult>) {
    if let Some(mut test) = test.take() {
        // The limit is in characters, so the cut is never within one.
        let end = test.message.char_indices().nth(MESSAGE_LIMIT);
        test.message
            .truncate(end.map_or(test.message.len(), |(at, _)| at));
        report.add(test);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="s" tests="4">
<testcase classname="a.b" name="x[1 &lt; 2]" time="0.25"><system-out>said</system-out></testcase>
<testcase classname="a.b" name="y"><failure message="one &quot;two&quot;">at &#65; &amp; <![CDATA[<b>]]></failure></testcase>
<testcase classname="" name="z"><skipped/></testcase>
<testcase name="w" time="nan"><error>no set-up</error></testcase>
</testsuite></testsuites>"#;

    #[test]
    fn tests_are_parsed_with_their_outcomes() {
        let report = parse(REPORT.as_bytes());
        let tests: Vec<String> = report
            .tests
            .values()
            .map(|test| {
                let outcome = test.outcome.name();
                format!("{} {outcome} {} {:?}", test.id, test.seconds, test.message)
            })
            .collect();
        insta::assert_snapshot!(tests.join("\n"), @r#"
        a.b > x[1 < 2] passed 0.25 ""
        a.b > y failed 0 "one \"two\"\nat A & <b>"
        w failed around the test 0 "no set-up"
        z was skipped 0 ""
        "#);
        assert!(report.ended);
    }

    #[test]
    fn output_of_a_test_is_no_message_of_its_failure() {
        let report = parse(
            b"<testsuite>
              <testcase name='a'>
                <system-out>before &amp; <![CDATA[<x>]]></system-out>
                <failure message='one'>two<b>three</b></failure>
                <system-out>after &lt; <![CDATA[<y>]]></system-out>
                <error>four</error>
                <rerunFailure message='five'><stackTrace>six</stackTrace></rerunFailure>
              </testcase>
              <testcase name='b'><skipped/><system-err>said</system-err></testcase>
              </testsuite>",
        );
        assert_eq!(report.tests["a"].message, "one\ntwothree\nfour");
        assert_eq!(report.tests["b"].message, "");
        assert!(report.ended);
    }

    #[test]
    fn truncated_report_is_incomplete() {
        for cut in 0..REPORT.len() {
            assert!(
                !parse(&REPORT.as_bytes()[..cut]).ended,
                "{}",
                &REPORT[..cut]
            );
        }
        assert!(!parse(b"not XML").ended);
        assert!(!parse(b"<a></b>").ended);
    }

    #[test]
    fn worse_result_of_one_name_counts() {
        let report = parse(
            b"<testsuite><testcase name='a'><failure/></testcase><testcase name='a'/></testsuite>",
        );
        assert_eq!(report.tests["a"].outcome, TestOutcome::Failed);
    }
}
