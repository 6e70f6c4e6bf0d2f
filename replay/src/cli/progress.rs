//! Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one stage of work.
pub(super) struct Progress {
    name: String,
    bar: Option<ProgressBar>,
    /// When the last plain line was written, and how far things were.
    last_line: Mutex<Option<(Instant, usize)>>,
}

/// How far apart plain lines are.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Progress {
    /// A stage that is about to begin.
    pub(super) fn of(name: impl Into<String>) -> Self {
        let name = name.into();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template(
                "{prefix:>28} {wide_bar} {pos}/{len} {elapsed} left {eta}",
            );
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.set_prefix(name.clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            name,
            bar,
            last_line: Mutex::new(None),
        }
    }

    /// So much of so much is done.
    pub(super) fn at(&self, done: usize, all: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            return;
        }
        let mut last = self
            .last_line
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let due = match *last {
            None => true,
            Some((when, before)) => when.elapsed() >= LINE_EVERY || (done == all && before != all),
        };
        if due {
            eprintln!("{}: {done}/{all}", self.name);
            *last = Some((Instant::now(), done));
        }
    }

    /// Says something without spoiling the bar.
    pub(super) fn say(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.println(message),
            None => eprintln!("{message}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
