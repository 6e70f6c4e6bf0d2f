//! Events that a command reports while it works.
//!
//! The engine sends each [`Event`] to one [`Listener`]. The command line has three: a progress bar
//! on a terminal, plain lines elsewhere, and JSON lines for other programs. Their format, event by
//! event, is also described in `replay/docs/events.md`, which a test compares with this file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use fillrate_mine::Rejection;
use fillrate_verdict::Outcome;
use parking_lot::Mutex;
use serde::Serialize;

use crate::store::{ProjectStatus, TimeSpent};

/// The version of the events' format.
pub const EVENT_SCHEMA: u32 = 2;

/// Receives the events of one command, from several threads.
pub trait Listener: Sync {
    /// Handles one event. It must return soon: the worker that sent the event waits for it.
    fn receive(&self, event: &Event);
}

/// Ignores every event.
impl Listener for () {
    fn receive(&self, _: &Event) {}
}

/// One thing that happened. As JSON it is an object whose `event` is the name of the variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[cfg_attr(test, derive(strum::EnumDiscriminants))]
#[cfg_attr(
    test,
    strum_discriminants(derive(strum::EnumIter), name(EventName), vis(pub(super)))
)]
pub enum Event {
    /// The command starts: always the first event.
    CommandStarted {
        /// The version of this format: [`EVENT_SCHEMA`].
        schema: u32,
        /// The version of the program.
        program: String,
        /// The subcommand, such as `replay`.
        command: String,
    },
    /// A phase of the command starts. Phases do not overlap.
    PhaseStarted {
        /// The phase.
        phase: Phase,
        /// The project or model that the phase works on, or the number of the request; `null` if
        /// it works on all.
        subject: Option<String>,
    },
    /// A phase advances.
    PhaseProgress {
        /// The phase.
        phase: Phase,
        /// As in `phase-started`.
        subject: Option<String>,
        /// Number of units that are completed.
        done: usize,
        /// Number of units the phase has. It may grow.
        total: usize,
    },
    /// A phase ends, completed or not.
    PhaseFinished {
        /// The phase.
        phase: Phase,
        /// As in `phase-started`.
        subject: Option<String>,
    },
    /// A project was detected in a corpus that has no manifest.
    ProjectDetected {
        /// The project's name.
        project: String,
        /// Findings and their consequences, a sentence each.
        findings: Vec<String>,
    },
    /// The preparation of a project takes time.
    ProjectPreparing {
        /// The project's name.
        project: String,
        /// The step that takes time.
        step: PreparationStep,
    },
    /// A project's own tests ran for the first time.
    TestsRun {
        /// The project's name.
        project: String,
        /// Number of its tests.
        tests: usize,
        /// Duration of the run.
        seconds: f64,
        /// True if the other runs are made while holes are already chosen and replayed.
        meanwhile: bool,
    },
    /// Tests of a project's own have ended in a run of all that takes long: once a minute.
    TestsEnded {
        /// The project's name.
        project: String,
        /// Number of tests that have ended, as the tests' process says.
        done: usize,
        /// Number of its tests; `null` in the first run.
        tests: Option<usize>,
    },
    /// A project takes part: its own tests pass, or it has none.
    ProjectReady {
        /// The project's name.
        project: String,
        /// The language's name.
        language: String,
        /// Number of tests that are stable; `null` if the project has no tests.
        tests: Option<usize>,
        /// Excluded tests, which always fail, and files of tests that can't be collected, with the
        /// reasons.
        set_aside: BTreeMap<String, String>,
        /// Files that can have no hole, with the reasons: not UTF-8, or nested too deeply.
        left_out_files: BTreeMap<String, String>,
        /// Packages for development that the project asks for and the registry lacks.
        left_out_packages: Vec<String>,
        /// Options of the project's test runner that can't be honoured and had no effect.
        neutralised: Vec<String>,
        /// State that a warm worker reaches: `collected`, `loaded`, or `cold` if the tests can't be
        /// run by one; `measuring` if this is not known yet; `null` if the project has no tests.
        readiness: Option<String>,
        /// Reason for which every run of the tests starts from scratch; `null` unless `readiness`
        /// is `cold`.
        cold_reason: Option<String>,
    },
    /// A project is excluded.
    ProjectFailed {
        /// The project's name.
        project: String,
        /// The language's name.
        language: String,
        /// `failed`, or `left-out` if this machine lacks what the language needs.
        status: ProjectStatus,
        /// Cause of the failure, and the remedy.
        reason: String,
    },
    /// The holes of a project are chosen.
    HolesMined {
        /// The project's name.
        project: String,
        /// Number of candidates.
        candidates: usize,
        /// Number of holes that were admitted.
        admitted: usize,
        /// Number of candidates that were tried and rejected, by reason.
        rejected: BTreeMap<Rejection, usize>,
    },
    /// A run is opened: attempts are added to it from now on.
    RunOpened {
        /// The run's folder.
        run: PathBuf,
        /// The model's name.
        model: String,
        /// The name of the context that the model is given.
        context: String,
        /// Number of attempts earlier commands left in it.
        attempts: usize,
    },
    /// An attempt has its verdict and is stored in the run.
    AttemptFinished {
        /// The attempt's key.
        key: String,
        /// The project's name.
        project: String,
        /// The hole's id.
        hole: String,
        /// The model's name.
        model: String,
        /// Index of the sample for this hole, from 0.
        sample: u32,
        /// The number of the repair round; 0 is the first answer.
        repair_round: u32,
        /// True if the server answered in time.
        answered: bool,
        /// Milliseconds from request to answer.
        latency_ms: f64,
        /// The outcome of the verdict.
        outcome: Outcome,
    },
    /// A hole was typed under a policy and is stored in the run.
    TypingFinished {
        /// The key of the typing.
        key: String,
        /// The project's name.
        project: String,
        /// The hole's id.
        hole: String,
        /// The model's name.
        model: String,
        /// The policy's name.
        policy: String,
        /// Number of completions that were accepted.
        accepts: usize,
    },
    /// The model gave no answer. After several in a row the command stops.
    ModelFailed {
        /// The hole's id.
        hole: String,
        /// The model's name.
        model: String,
        /// Message of the server.
        reason: String,
        /// Number of successive requests that failed.
        in_a_row: usize,
    },
    /// A model's server is overloaded. Its next request follows after the time in its
    /// `Retry-After`.
    ModelBusy {
        /// The model's name.
        model: String,
        /// The id of the hole for which it is asked again.
        hole: String,
        /// The time in seconds.
        seconds: f64,
    },
    /// A shortcut to a project's verdicts failed. They are the same without it, and take longer.
    SlowPath {
        /// The project's name.
        project: String,
        /// Failed operation and its cause.
        reason: String,
    },
    /// Everything that was missing of a run was made, or an error ended the replay.
    TimeSpent {
        /// The model's name.
        model: String,
        /// The context that it was given.
        context: String,
        /// Number of workers.
        workers: usize,
        /// Time of the workers, in seconds of all together: `models` were asked, in `servers` that
        /// start or read, in `tests`, in `twins` of these, in the `sandbox` and the rest of
        /// verdicts, in the `audit` of some, or `idle`; and `wall`, the time on the clock.
        #[serde(flatten)]
        spent: TimeSpent,
    },
    /// A mutant has its verdict.
    MutantJudged {
        /// The project's name.
        project: String,
        /// The hole's id.
        hole: String,
        /// The name of the mutation operator.
        operator: String,
        /// The fault in a line.
        fault: String,
        /// The outcome of the verdict; `passed` means that the mutant survived.
        outcome: Outcome,
    },
    /// A test that a model wrote was judged.
    TestJudged {
        /// The project's name.
        project: String,
        /// The id of the hole whose survivors the model was shown.
        hole: String,
        /// The test's file, relative to the project.
        path: String,
        /// Number of survivors the test notices; 0 if it is rejected.
        kills: usize,
        /// Reason for which it is rejected; `null` if it notices a survivor.
        rejection: Option<String>,
    },
    /// A verdict was reached again by the naive engine.
    VerdictAudited {
        /// The hole's id.
        hole: String,
        /// The attempt's key; `null` if the verdict was over a mutant.
        attempt: Option<String>,
        /// The mutant's fault in a line; `null` if the verdict was over an attempt.
        fault: Option<String>,
        /// The outcome that is checked.
        outcome: Outcome,
        /// The outcome of the naive engine.
        rejudged: Outcome,
        /// True if the two agree.
        agrees: bool,
        /// Reason of the second verdict.
        reason: String,
    },
    /// The command was interrupted by a signal and ends at once, with status 130: the last event.
    CommandInterrupted {
        /// Way to continue.
        advice: String,
    },
    /// The command ends: the last event.
    CommandFinished {
        /// Status at its end.
        status: CommandStatus,
        /// The error message if it failed.
        message: Option<String>,
    },
}

/// A phase of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Sources and environments are fetched; the unit is a project.
    Prepare,
    /// A project's own tests run; the unit is a run of all tests.
    Baseline,
    /// Holes of a project are chosen; the unit is a hole.
    Mine,
    /// A developer is simulated at holes; the unit is a sample of a hole or a typed policy.
    Replay,
    /// Mutants are judged; the unit is a verdict.
    JudgeMutants,
    /// A model writes tests; the unit is a request.
    WriteTests,
    /// Written tests are judged; the unit is a test.
    JudgeTests,
    /// Verdicts are reached again; the unit is a verdict.
    Audit,
    /// Records of a benchmark are read; the unit is a byte.
    Import,
    /// Studies are simulated; the unit is a study.
    Simulate,
    /// A scheduler runs the parts of a replay; the unit is a part.
    Fleet,
}

impl Phase {
    /// Returns the title of a progress bar.
    pub fn title(self) -> &'static str {
        match self {
            Self::Prepare => "preparing projects",
            Self::Baseline => "running own tests",
            Self::Mine => "mining holes",
            Self::Replay => "replaying",
            Self::JudgeMutants => "judging mutants",
            Self::WriteTests => "asking for tests",
            Self::JudgeTests => "judging tests",
            Self::Audit => "auditing",
            Self::Import => "importing",
            Self::Simulate => "simulating studies",
            Self::Fleet => "waiting for parts",
        }
    }
}

/// Step of the preparation of a project that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[serde(rename_all = "kebab-case")]
pub enum PreparationStep {
    /// Its environment is built.
    Environment,
    /// Another process prepares it.
    Waiting,
}

/// Status of a command at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[serde(rename_all = "kebab-case")]
pub enum CommandStatus {
    /// Everything was done.
    Complete,
    /// Some projects or attempts failed; the others were done.
    Partial,
    /// The command failed.
    Failed,
}

/// Sends the progress of one phase; the phase ends when this is dropped.
pub struct PhaseProgress<'a> {
    listener: &'a dyn Listener,
    phase: Phase,
    subject: Option<String>,
    done: AtomicUsize,
    total: usize,
    /// The units done and their number, as reported last.
    last: Mutex<(usize, usize)>,
}

impl<'a> PhaseProgress<'a> {
    /// Starts a phase of `total` units; 0 if the number is not known yet.
    pub fn start(
        listener: &'a dyn Listener,
        phase: Phase,
        subject: Option<&str>,
        total: usize,
    ) -> Self {
        Self::resume(listener, phase, subject, 0, total)
    }

    /// Starts a phase of which `done` units were completed by an earlier process.
    pub(crate) fn resume(
        listener: &'a dyn Listener,
        phase: Phase,
        subject: Option<&str>,
        done: usize,
        total: usize,
    ) -> Self {
        let subject = subject.map(str::to_owned);
        listener.receive(&Event::PhaseStarted {
            phase,
            subject: subject.clone(),
        });
        let progress = Self {
            listener,
            phase,
            subject,
            done: AtomicUsize::new(done),
            total,
            last: Mutex::new((done, total)),
        };
        // Without a total, the number of steps is not known yet, and a display shows no bar.
        if total > 0 {
            progress.set(done, total);
        }
        progress
    }

    /// Completes further units.
    pub fn advance(&self, units: usize) {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        self.set(done, self.total);
    }

    /// Says how many units of how many are completed.
    pub fn set(&self, done: usize, total: usize) {
        // It is recorded for the repetition by `repeating`, which has no figures of its own. Held
        // meanwhile, it keeps threads that report at once in the order of their numbers.
        let mut last = self.last.lock();
        let done = done.max(last.0);
        *last = (done, total);
        self.listener.receive(&Event::PhaseProgress {
            phase: self.phase,
            subject: self.subject.clone(),
            done,
            total,
        });
    }
}

impl PhaseProgress<'_> {
    /// Does work. Each time that `every` has passed meanwhile, reports the progress again and calls
    /// `also`.
    pub(crate) fn repeating<T>(
        &self,
        every: Duration,
        also: impl Fn() + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        let (finished, is_finished) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while is_finished.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    let (done, total) = *self.last.lock();
                    self.set(done, total);
                    also();
                }
            });
            let result = work();
            // Closing the channel ends the thread at once, and the scope waits for it.
            drop(finished);
            result
        })
    }
}

impl Drop for PhaseProgress<'_> {
    fn drop(&mut self) {
        self.listener.receive(&Event::PhaseFinished {
            phase: self.phase,
            subject: self.subject.take(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;
    use strum::IntoEnumIterator;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/events.md");

    /// One event of each name.
    fn samples() -> Vec<Event> {
        let text = || "x".to_owned();
        let subject = || Some(text());
        let phase = Phase::Replay;
        let outcome = Outcome::Passed;
        vec![
            Event::CommandStarted {
                schema: EVENT_SCHEMA,
                program: text(),
                command: text(),
            },
            Event::PhaseStarted {
                phase,
                subject: subject(),
            },
            Event::PhaseProgress {
                phase,
                subject: subject(),
                done: 1,
                total: 2,
            },
            Event::PhaseFinished {
                phase,
                subject: None,
            },
            Event::ProjectDetected {
                project: text(),
                findings: vec![text()],
            },
            Event::ProjectPreparing {
                project: text(),
                step: PreparationStep::Waiting,
            },
            Event::TestsRun {
                project: text(),
                tests: 1,
                seconds: 1.0,
                meanwhile: true,
            },
            Event::TestsEnded {
                project: text(),
                done: 1,
                tests: Some(2),
            },
            Event::ProjectReady {
                project: text(),
                language: text(),
                tests: Some(1),
                set_aside: BTreeMap::from([(text(), text())]),
                left_out_files: BTreeMap::from([(text(), text())]),
                left_out_packages: vec![text()],
                neutralised: vec![text()],
                readiness: Some(text()),
                cold_reason: Some(text()),
            },
            Event::ProjectFailed {
                project: text(),
                language: text(),
                status: ProjectStatus::LeftOut,
                reason: text(),
            },
            Event::HolesMined {
                project: text(),
                candidates: 1,
                admitted: 1,
                rejected: BTreeMap::from([(Rejection::Leak, 1)]),
            },
            Event::RunOpened {
                run: PathBuf::from("run"),
                model: text(),
                context: text(),
                attempts: 0,
            },
            Event::AttemptFinished {
                key: text(),
                project: text(),
                hole: text(),
                model: text(),
                sample: 0,
                repair_round: 0,
                answered: true,
                latency_ms: 1.0,
                outcome,
            },
            Event::TypingFinished {
                key: text(),
                project: text(),
                hole: text(),
                model: text(),
                policy: text(),
                accepts: 1,
            },
            Event::ModelFailed {
                hole: text(),
                model: text(),
                reason: text(),
                in_a_row: 1,
            },
            Event::ModelBusy {
                model: text(),
                hole: text(),
                seconds: 1.0,
            },
            Event::SlowPath {
                project: text(),
                reason: text(),
            },
            Event::TimeSpent {
                model: text(),
                context: text(),
                workers: 1,
                spent: TimeSpent::default(),
            },
            Event::MutantJudged {
                project: text(),
                hole: text(),
                operator: text(),
                fault: text(),
                outcome,
            },
            Event::TestJudged {
                project: text(),
                hole: text(),
                path: text(),
                kills: 0,
                rejection: None,
            },
            Event::VerdictAudited {
                hole: text(),
                attempt: None,
                fault: None,
                outcome,
                rejudged: outcome,
                agrees: true,
                reason: text(),
            },
            Event::CommandInterrupted { advice: text() },
            Event::CommandFinished {
                status: CommandStatus::Failed,
                message: subject(),
            },
        ]
    }

    /// The first cells of the table rows of each section of the page.
    fn sections() -> BTreeMap<String, Vec<String>> {
        let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut section = String::new();
        for line in PAGE.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                section = name.trim_matches('`').to_owned();
                sections.entry(section.clone()).or_default();
            } else if let Some((cell, _)) =
                line.strip_prefix("| `").and_then(|row| row.split_once('`'))
            {
                sections
                    .entry(section.clone())
                    .or_default()
                    .push(cell.to_owned());
            }
        }
        sections
    }

    fn json_name(value: impl Serialize) -> String {
        match serde_json::to_value(value) {
            Ok(Value::String(name)) => name,
            other => panic!("not a name: {other:?}"),
        }
    }

    #[test]
    fn page_has_every_event_with_every_member() {
        let samples = samples();
        let names: Vec<EventName> = samples.iter().map(EventName::from).collect();
        assert_eq!(names, EventName::iter().collect::<Vec<_>>());
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in &samples {
            let Ok(Value::Object(mut members)) = serde_json::to_value(event) else {
                panic!("{event:?} is no object");
            };
            let name = members
                .shift_remove("event")
                .expect("every event has a name");
            expected.insert(
                name.as_str().expect("a name is text").to_owned(),
                members.keys().cloned().collect(),
            );
        }
        let mut sections = sections();
        let phases = sections
            .remove("Phases")
            .expect("the page lists the phases");
        sections.remove("Outcomes");
        assert_eq!(sections, expected);
        let of_code: Vec<String> = Phase::iter().map(json_name).collect();
        assert_eq!(phases, of_code);
    }

    #[test]
    fn page_has_every_value() {
        let outcomes = PAGE
            .split("## Outcomes")
            .nth(1)
            .expect("the page lists them");
        let listed: BTreeSet<&str> = outcomes.split('`').skip(1).step_by(2).collect();
        // No verdict has this outcome.
        let all = Outcome::ALL.iter().filter(|one| **one != Outcome::Unproven);
        let all: BTreeSet<&str> = all.map(|outcome| outcome.name()).collect();
        assert_eq!(listed, all);
        let statuses = CommandStatus::iter().map(json_name);
        for value in statuses.chain(PreparationStep::iter().map(json_name)) {
            assert!(PAGE.contains(&format!("`{value}`")), "{value}");
        }
    }
}
