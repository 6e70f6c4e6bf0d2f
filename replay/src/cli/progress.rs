//! Shows events to people on standard error: a bar with the time left on a terminal, plain lines
//! elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use fillrate_engine::play::events::{Event, Listener, Phase, PreparationStep};
use fillrate_verdict::missing::{missing_advice, missing_modules};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use parking_lot::Mutex;

/// The listener for people: a bar on a terminal, plain lines elsewhere.
pub(super) fn listener() -> Box<dyn Listener + Send> {
    if std::io::stderr().is_terminal() {
        Box::new(ProgressBarListener::default())
    } else {
        Box::new(PlainLineListener::default())
    }
}

/// Draws a bar for the phase under way.
#[derive(Default)]
struct ProgressBarListener {
    bar: Mutex<Option<ProgressBar>>,
}

impl Listener for ProgressBarListener {
    fn receive(&self, event: &Event) {
        let mut bar = self.bar.lock();
        match event {
            Event::PhaseStarted { phase, subject } => {
                *bar = Some(new_bar(title(*phase, subject.as_deref())));
            }
            Event::PhaseProgress { done, total, .. } => {
                if let Some(bar) = &*bar
                    && *total > 0
                {
                    if bar.length().is_none()
                        && let Ok(style) = ProgressStyle::with_template(BAR)
                    {
                        bar.set_style(style.with_key("left", write_time_left));
                    }
                    bar.set_length(*total as u64);
                    bar.set_position(*done as u64);
                }
            }
            Event::PhaseFinished { .. } => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
            _ => {
                if let Some(message) = message(event) {
                    match &*bar {
                        Some(bar) => bar.println(super::plain_message(&message)),
                        None => note!("{message}"),
                    }
                }
            }
        }
    }
}

/// The bar of a phase whose length is known.
const BAR: &str = "{prefix:>28} {wide_bar} {pos}/{len} {elapsed} elapsed{left}";

/// Writes the bar's own estimate of the time left.
fn write_time_left(state: &ProgressState, text: &mut dyn Write) {
    if state.pos() >= ENOUGH_DONE as u64 {
        let seconds = state.eta().as_secs_f64();
        // A bar has no place for an error.
        let _ = text.write_str(&about(seconds));
    }
}

fn new_bar(title: String) -> ProgressBar {
    // Without a length until the first progress, because a bar of length 0 is drawn full.
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{prefix:>28} {spinner} {elapsed} elapsed") {
        bar.set_style(style);
    }
    bar.set_prefix(title);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Writes a line for a phase at its start, at its end and every [`LINE_EVERY`] between.
#[derive(Default)]
struct PlainLineListener {
    phase: Mutex<PlainPhase>,
}

/// The time between plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Listener for PlainLineListener {
    fn receive(&self, event: &Event) {
        let mut shown = self.phase.lock();
        let line = match event {
            Event::PhaseStarted { .. } => {
                *shown = PlainPhase::default();
                None
            }
            Event::PhaseProgress {
                phase,
                subject,
                done,
                total,
            } => {
                let title = title(*phase, subject.as_deref());
                shown.progress(&title, *done, *total, Instant::now())
            }
            _ => {
                let message = message(event);
                if let Event::ProjectPreparing { .. } = event {
                    shown.step.clone_from(&message);
                }
                message
            }
        };
        if let Some(line) = line {
            note!("{line}");
        }
    }
}

/// What the plain lines have shown of the phase under way.
#[derive(Default)]
struct PlainPhase {
    /// Time of the last line, and the number of units done then.
    last: Option<(Instant, usize)>,
    /// Time at which the phase began to advance, and the number of units done then.
    first: Option<(Instant, usize)>,
    /// Time at which the unit under way began, and the number of units before it.
    unit: Option<(Instant, usize)>,
    /// The line of the last step of the unit under way.
    step: Option<String>,
}

impl PlainPhase {
    /// The line about progress, if one is due.
    fn progress(&mut self, title: &str, done: usize, total: usize, now: Instant) -> Option<String> {
        // A resumed phase begins with work done earlier, which says nothing on the speed.
        let (began, before) = *self.first.get_or_insert((now, done));
        if self.unit.is_none_or(|(_, before)| before != done) {
            self.unit = Some((now, done));
            self.step = None;
        }
        let is_due = self.last.is_none_or(|(when, before)| {
            now.duration_since(when) >= LINE_EVERY || (done == total && before != total)
        });
        if !is_due {
            return None;
        }
        self.last = Some((now, done));
        // Of a long unit, its step says more than the units before it.
        if let (Some(step), Some((began, _))) = (&self.step, self.unit) {
            let so_far = time_so_far(now.duration_since(began));
            return Some(format!("{step}{so_far}"));
        }
        let elapsed = now.duration_since(began);
        let left = time_left(elapsed, done - before.min(done), total - done.min(total));
        let so_far = time_so_far(elapsed);
        Some(format!("{title}: {done}/{total}{so_far}{left}"))
    }
}

/// `, N min so far`, from the first minute on.
fn time_so_far(elapsed: Duration) -> String {
    match elapsed.as_secs() / 60 {
        0 => String::new(),
        minutes => format!(", {minutes} min so far"),
    }
}

/// Least number of finished units from which the time of the others is estimated. Two long units,
/// such as a run of tests and one with coverage, have little in common.
const ENOUGH_DONE: usize = 3;

/// `, about TIME left`, estimated from the units done so far.
fn time_left(elapsed: Duration, done: usize, left: usize) -> String {
    if done < ENOUGH_DONE || left == 0 {
        return String::new();
    }
    about(elapsed.as_secs_f64() * left as f64 / done as f64)
}

/// `, about TIME left`.
fn about(seconds: f64) -> String {
    let seconds = seconds.ceil();
    // An estimate of less than two seconds is over before it is read.
    match seconds {
        ..2.0 => String::new(),
        2.0..120.0 => format!(", about {seconds} s left"),
        _ => format!(", about {} min left", (seconds / 60.0).ceil()),
    }
}

fn title(phase: Phase, subject: Option<&str>) -> String {
    match subject {
        Some(subject) => format!("{} ({subject})", phase.title()),
        None => phase.title().to_owned(),
    }
}

/// The line that people read about an event; most have none.
fn message(event: &Event) -> Option<String> {
    match event {
        Event::ProjectDetected { project, findings } => {
            let lines: Vec<String> = findings.iter().map(|line| format!("  {line}")).collect();
            Some(format!("detected {project}\n{}", lines.join("\n")))
        }
        Event::ProjectPreparing { project, step } => Some(match step {
            PreparationStep::Environment => format!("{project}: preparing its environment"),
            PreparationStep::Waiting => {
                format!("{project}: waiting for another process to prepare it")
            }
        }),
        Event::ProjectReady {
            project,
            set_aside,
            left_out_files,
            left_out_packages,
            neutralised,
            cold_reason,
            ..
        } => test_notes(
            project,
            left_out_files,
            left_out_packages,
            set_aside,
            neutralised,
            cold_reason.as_deref(),
        ),
        Event::TestsRun {
            project,
            tests,
            seconds,
            meanwhile,
        } => estimate(project, *tests, *seconds, *meanwhile),
        Event::TestsEnded {
            project,
            done,
            tests,
        } => Some(match tests {
            Some(tests) => format!("{project}: {done} of {tests} tests have run"),
            None => format!("{project}: {done} tests have run"),
        }),
        // The end reports the reason once.
        Event::ProjectFailed { project, .. } => Some(format!("{project}: takes no part")),
        Event::ModelBusy { model, seconds, .. } => Some(format!(
            "{model} has too much to do; it is asked again in {seconds:.0} s"
        )),
        Event::SlowPath { project, reason } => Some(format!("{project}: {reason}")),
        Event::TimeSpent {
            model,
            context,
            workers,
            spent,
        } => Some(format!(
            "time of {model} with {context}, {workers} workers: {spent}"
        )),
        Event::RunOpened { run, attempts, .. } if *attempts > 0 => Some(format!(
            "continuing {}: {attempts} attempts are done",
            run.display()
        )),
        _ => None,
    }
}

/// Duration of a run of own tests from which the whole measurement is estimated.
const LONG_RUN: f64 = 10.0;
/// Number of runs of own tests that follow the first two.
const OTHER_RUNS: f64 = 4.0;

/// The message about how long the other runs of a project's tests take; `None` if it is short.
fn estimate(project: &str, tests: usize, seconds: f64, meanwhile: bool) -> Option<String> {
    if seconds < LONG_RUN {
        return None;
    }
    let minutes = (seconds * OTHER_RUNS / 60.0).ceil();
    let rest = match meanwhile {
        true => "the other runs are made while holes are chosen and replayed",
        false => "the other runs are made now",
    };
    Some(format!(
        "{project}: {tests} tests, {seconds:.0} s a run; {rest}, in about {minutes} min"
    ))
}

/// The number of files or tests that are listed.
const LISTED: usize = 5;

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Adds the first of some names with their reasons.
fn list(lines: &mut Vec<String>, reasons: &BTreeMap<String, String>) {
    let listed = reasons.iter().take(LISTED);
    lines.extend(listed.map(|(name, reason)| format!("  {name}: {reason}")));
    if let Some(more @ 1..) = reasons.len().checked_sub(LISTED) {
        lines.push(format!("  and {more} more, which `--events jsonl` lists"));
    }
}

/// The message about a project's own tests; `None` if there is nothing to say.
fn test_notes(
    project: &str,
    left_out_files: &BTreeMap<String, String>,
    left_out_packages: &[String],
    set_aside: &BTreeMap<String, String>,
    neutralised: &[String],
    cold_reason: Option<&str>,
) -> Option<String> {
    let mut lines = Vec::new();
    if !left_out_files.is_empty() {
        let (count, s) = (left_out_files.len(), plural(left_out_files.len()));
        lines.push(format!("{project}: {count} file{s} can have no hole:"));
        list(&mut lines, left_out_files);
    }
    if !left_out_packages.is_empty() {
        let names = left_out_packages.join(", ");
        lines.push(format!(
            "{project}: the registry lacks these packages for development, which are left out: \
             {names}"
        ));
    }
    if !set_aside.is_empty() {
        let count = set_aside.len();
        lines.push(format!(
            "{project}: {count} tests or files of tests fail unchanged and are set aside:"
        ));
        list(&mut lines, set_aside);
        let missing = missing_modules(set_aside.values().map(String::as_str));
        if !missing.is_empty() {
            lines.push(format!("  {}", missing_advice(&missing)));
        }
    }
    if !neutralised.is_empty() {
        let names = neutralised.join(", ");
        lines.push(format!(
            "{project}: these options have no effect here: {names}"
        ));
    }
    if let Some(reason) = cold_reason {
        lines.push(format!(
            "{project}: every run of its tests starts from scratch, which takes longer: {reason}"
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_step_is_repeated_with_its_time() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut shown = PlainPhase::default();
        let mut line = |step: Option<&str>, done, seconds| {
            if let Some(step) = step {
                shown.step = Some(step.to_owned());
            }
            shown.progress("preparing", done, 2, after(seconds))
        };
        assert_eq!(line(None, 0, 0).as_deref(), Some("preparing: 0/2"));
        let step = Some("demo: preparing its environment");
        for (seconds, expected) in [
            (60, "demo: preparing its environment, 1 min so far"),
            (120, "demo: preparing its environment, 2 min so far"),
        ] {
            assert_eq!(line(step, 0, seconds).as_deref(), Some(expected));
        }
        // The step is over, and the time of the next one begins.
        let next = line(None, 1, 130);
        assert_eq!(next.as_deref(), Some("preparing: 1/2, 2 min so far"));
        let step = Some("other: preparing its environment");
        let next = line(step, 1, 190);
        assert_eq!(
            next.as_deref(),
            Some("other: preparing its environment, 1 min so far")
        );
    }

    #[test]
    fn time_left_is_estimated_from_three_units_on() {
        let minute = Duration::from_secs(60);
        // A run of tests says nothing about the run with coverage after it.
        assert_eq!(time_left(minute, 1, 1), "");
        assert_eq!(time_left(minute, 2, 20), "");
        assert_eq!(time_left(minute, 3, 1), ", about 20 s left");
        assert_eq!(time_left(minute, 3, 20), ", about 7 min left");
        assert_eq!(time_left(minute, 3, 0), "");
    }
}
