//! Runs the tests on one version of a file after the other, in one sandbox: for versions that this
//! program wrote, which are not hostile.
//!
//! A process that is ready for the tests runs them on the first version, returns to its previous
//! state and goes on to the next. The scripts check that state, and end the run if it differs: the
//! remaining versions run again, and the version that failed the check runs by itself.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fillrate_sandbox::{End, Finished, ForkRun, Limits};
use serde::{Deserialize, Serialize};

use super::WarmWorkers;
use super::transformed::TransformedVersions;
use crate::error::VerdictError;
use crate::judged_code::FileContents;
use crate::runner::framework::{LoadedCode, Readiness};
use crate::runner::harness::{RunInstructions, instruction_line};
use crate::runner::project::{ProjectRunner, TestRun, TestRunResult};

/// Time limit for a run before the first version.
const START_TIME: Duration = Duration::from_secs(20);

/// The exit status of scripts that can't run several versions of this project.
const MISSED: i32 = 71;

/// Versions of a file, and the tests to run on each.
pub(crate) struct VersionsRun<'a> {
    /// The file's path in the project.
    pub(crate) path: &'a str,
    pub(crate) versions: Vec<Version<'a>>,
    /// The tests that run on each version, until one fails.
    pub(crate) select: &'a [&'a str],
    /// Time limit for the tests on one version.
    pub(crate) time: Duration,
}

/// A version of a file.
pub(crate) struct Version<'a> {
    pub(crate) contents: &'a str,
    /// The tests in the groups in which they run, as indices of [`VersionsRun::select`].
    pub(crate) groups: Vec<Vec<usize>>,
}

/// Input of the scripts: the instructions of any run, and the differences between the versions.
#[derive(Serialize)]
struct VersionsInstructions<'a> {
    #[serde(flatten)]
    instructions: RunInstructions<'a>,
    versions: Vec<VersionInstructions<'a>>,
}

#[derive(Serialize)]
struct VersionInstructions<'a> {
    /// Replaces the nonce of the whole run.
    nonce: String,
    /// Empty for a framework whose files are transformed first.
    contents: &'a str,
    /// The transformed files that differ, by name.
    files: BTreeMap<String, String>,
    groups: &'a [Vec<usize>],
    seconds: f64,
}

/// The last line on a version, which reports how the process of its tests ended.
#[derive(Deserialize)]
struct LastLine {
    event: LastEvent,
    /// `None` if it had to be killed.
    status: Option<i32>,
    seconds: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LastEvent {
    Exited,
}

impl WarmWorkers {
    /// Runs tests on several versions of a file. Returns the results of those that were reached,
    /// `None` for one that has to run by itself; no list if this framework or project can't.
    /// With [`Readiness::Collected`], workers can collect the project's tests.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(crate) fn run_versions(
        &self,
        runner: &ProjectRunner,
        run: &VersionsRun<'_>,
        loaded: &LoadedCode,
        readiness: Readiness,
        memory: u64,
    ) -> Result<Option<Vec<Option<TestRunResult>>>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        let framework = &runner.framework;
        let Some(program) = framework.warm_program(runner.prepared(), loaded, readiness) else {
            return Ok(None);
        };
        // An earlier run found that this project can't run several versions.
        let refused = [&self.unversioned, &self.uncollectable];
        if refused
            .iter()
            .any(|refused| refused.load(Ordering::Relaxed))
        {
            return Ok(None);
        }
        // The path marks the file as changed; each version brings its own contents.
        let replaced = [FileContents {
            path: run.path,
            contents: "",
        }];
        // The scripts enforce the time limit of each version; this one bounds their sum.
        let count = u32::try_from(run.versions.len()).unwrap_or(u32::MAX);
        let wall = run.time * count + START_TIME;
        let limits = Limits {
            wall,
            cpu: wall * 2,
            memory,
            ..Limits::default()
        };
        let all = TestRun {
            first_failure_ends: true,
            ..TestRun::new(&replaced, run.select, limits)
        };
        let mut instructions = VersionsInstructions {
            instructions: all.instructions(),
            versions: run
                .versions
                .iter()
                .map(|version| version.instructions(run.time))
                .collect(),
        };
        let finished = match (&program.host, collected) {
            // Versions of a framework with a transformer run on the transformed files alone.
            (Some(host), _) => {
                let transformed = self.transformed.transform_versions(runner, run, &program)?;
                let Some(TransformedVersions { mut folder, files }) = transformed else {
                    return Ok(None);
                };
                for (version, files) in instructions.versions.iter_mut().zip(files) {
                    // The script reads the transformed files in place of the source.
                    version.contents = "";
                    version.files = files;
                }
                let mut job = runner.job(program.program, host.clone(), all.limits.clone());
                job.input = Some(instruction_line(&instructions));
                // The script puts each version's modules there.
                folder.guarded.clear();
                job.overlays.push(folder);
                fillrate_sandbox::run(&job)?
            }
            // A fork of a worker that has collected the tests runs all versions.
            (None, true) => {
                let fork_run = ForkRun {
                    replaced: Vec::new(),
                    input: instruction_line(&instructions),
                    wall,
                    cpu: wall * 2,
                };
                let forks = &self.forks;
                forks.run(runner, program, readiness, memory, fork_run)?
            }
            (None, false) => return Ok(None),
        };
        if finished.end == End::Exited(MISSED) {
            self.unversioned.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        Ok(Some(instructions.results(runner, &finished)))
    }
}

impl<'a> Version<'a> {
    fn instructions(&'a self, time: Duration) -> VersionInstructions<'a> {
        VersionInstructions {
            nonce: RunInstructions::secret(),
            contents: self.contents,
            files: BTreeMap::new(),
            groups: &self.groups,
            seconds: time.as_secs_f64(),
        }
    }
}

impl VersionsInstructions<'_> {
    /// The results of a run with these instructions.
    fn results(&self, runner: &ProjectRunner, finished: &Finished) -> Vec<Option<TestRunResult>> {
        let reports = split_reports(&finished.reply, &self.versions);
        // Which version reached a limit that ended the run is not known.
        let is_complete = matches!(finished.end, End::Exited(_) | End::Signalled(_));
        let mut results = Vec::new();
        for (version, bytes) in self.versions.iter().zip(reports) {
            let Some((last, bytes)) = split_last_line(&bytes) else {
                if !is_complete {
                    results.push(None);
                    continue;
                }
                // After exit status 0 this version was not reached. Otherwise, or if it is the
                // first, it ended the process and has to run by itself.
                if finished.end != End::Exited(0) || results.is_empty() {
                    results.push(None);
                }
                break;
            };
            let LastLine {
                status, seconds, ..
            } = last;
            // A version whose process was killed has to run by itself, under limits of its own.
            results.push(status.and_then(|status| {
                let alone = Finished {
                    end: End::Exited(status),
                    wall: Duration::from_secs_f64(seconds.max(0.0)),
                    reply: bytes.to_vec(),
                    ..finished.clone()
                };
                let nonce = version.nonce.clone();
                let mut result = runner.result_with_nonce(alone, &nonce, &self.instructions.token);
                // The output is that of all versions together.
                result.output.clear();
                (!result.report.missed).then_some(result)
            }));
        }
        results
    }
}

/// The lines of a report for each version. A line without any version's nonce belongs to the
/// version before it, where it counts as forged.
fn split_reports(reply: &[u8], versions: &[VersionInstructions<'_>]) -> Vec<Vec<u8>> {
    #[derive(Deserialize)]
    struct Signature {
        nonce: String,
    }
    let mut reports = vec![Vec::new(); versions.len()];
    let mut current = 0;
    for line in reply.split_inclusive(|byte| *byte == b'\n') {
        let nonce = serde_json::from_slice::<Signature>(line).map(|signature| signature.nonce);
        let signed = versions
            .iter()
            .position(|version| nonce.as_ref().is_ok_and(|nonce| *nonce == version.nonce));
        current = signed.unwrap_or(current);
        if let Some(report) = reports.get_mut(current) {
            report.extend_from_slice(line);
        }
    }
    reports
}

/// The last line of a version's report, and those before it; `None` if its run did not end.
fn split_last_line(report: &[u8]) -> Option<(LastLine, &[u8])> {
    // A last line without a line break was cut off, so the version did not end.
    let end = report.strip_suffix(b"\n")?;
    let start = end
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |index| index + 1);
    let last: LastLine = serde_json::from_slice(&end[start..]).ok()?;
    let LastEvent::Exited = last.event;
    Some((last, &report[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(nonce: &str) -> VersionInstructions<'static> {
        VersionInstructions {
            nonce: nonce.to_owned(),
            contents: "",
            files: BTreeMap::new(),
            groups: &[],
            seconds: 1.0,
        }
    }

    #[test]
    fn each_version_has_its_own_lines() {
        let reply = br#"{"nonce":"a","event":"test","id":"t"}
noise
{"nonce":"a","event":"exited","status":1,"seconds":0.5}
{"nonce":"b","event":"test","id":"t"}
{"nonce":"c","event":"exited","status":null,"seconds":2}
"#;
        let versions = ["a", "b", "c", "d"].map(version);
        let reports = split_reports(reply, &versions);
        assert_eq!(reports.concat(), reply);
        let (last, rest) = split_last_line(&reports[0]).expect("the first has ended");
        assert_eq!((last.status, last.seconds), (Some(1), 0.5));
        assert!(rest.ends_with(b"\nnoise\n"));
        assert!(split_last_line(&reports[1]).is_none());
        let (last, rest) = split_last_line(&reports[2]).expect("the third has ended");
        assert_eq!((last.status, rest), (None, &b""[..]));
        assert!(reports[3].is_empty());
    }
}
