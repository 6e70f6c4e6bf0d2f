//! `--events`, and the listeners of a command.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use fillrate_engine::play::events::{CommandStatus, EVENT_SCHEMA, Event, Listener};
use parking_lot::Mutex;
use serde::Serialize;

use super::interrupt::on_interrupt;
use super::{CliError, Success, progress};

/// Destination of events.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct EventArguments {
    /// Report events to other programs as JSON lines: `jsonl` on standard error, in place of the
    /// progress shown there; `jsonl=FILE` in a file
    #[arg(long, value_name = "jsonl[=FILE]")]
    events: Option<EventsTarget>,
}

/// The value of `--events`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EventsTarget {
    StandardError,
    File(PathBuf),
}

impl FromStr for EventsTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "jsonl" => Ok(Self::StandardError),
            Some(("jsonl", file)) if !file.is_empty() => Ok(Self::File(PathBuf::from(file))),
            _ => Err("write `jsonl` or `jsonl=FILE`".to_owned()),
        }
    }
}

impl EventArguments {
    /// Runs a command with listeners for its events, from its start to its end. If the command is
    /// interrupted, `advice` says how to continue.
    pub(super) fn listen(
        &self,
        command: &str,
        advice: String,
        work: impl FnOnce(&dyn Listener) -> Result<Success, CliError>,
    ) -> Result<Success, CliError> {
        let mut listeners: Vec<Box<dyn Listener + Send>> = Vec::new();
        match &self.events {
            Some(EventsTarget::StandardError) => {
                // Progress on the same stream would break the lines of JSON.
                listeners.push(Box::new(JsonLinesListener::new(
                    Box::new(std::io::stderr()),
                )));
            }
            Some(EventsTarget::File(path)) => {
                let file = File::create(path).map_err(CliError::file(path))?;
                listeners.push(Box::new(JsonLinesListener::new(Box::new(file))));
                listeners.push(progress::listener());
            }
            None => listeners.push(progress::listener()),
        }
        let listeners = Arc::new(CommandListeners {
            listeners,
            advice: Mutex::new(Advice {
                text: advice,
                runs: Vec::new(),
            }),
        });
        listeners.receive(&Event::CommandStarted {
            schema: EVENT_SCHEMA,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
        });
        // An interrupt ends the program without dropping what holds temporary folders, so all of
        // them are in one that it can remove.
        let scratch = tempfile::tempdir().map_err(CliError::file(std::env::temp_dir()))?;
        let _ = tempfile::env::override_temp_dir(scratch.path());
        let scratch_path = scratch.path().to_owned();
        let interrupted = Arc::clone(&listeners);
        let is_quiet = self.events == Some(EventsTarget::StandardError);
        on_interrupt(move || {
            let advice = interrupted.advice.lock().text.clone();
            if !is_quiet {
                note!("\nfillrate: stopped; {advice}");
            }
            interrupted.receive(&Event::CommandInterrupted { advice });
            // Workers go on meanwhile, and may write into a folder that is being removed.
            for _ in 0..3 {
                if std::fs::remove_dir_all(&scratch_path).is_ok() {
                    break;
                }
            }
        });
        let outcome = work(&*listeners);
        let (status, message) = match &outcome {
            Ok(Success::Whole) => (CommandStatus::Complete, None),
            Ok(Success::Partial) => (CommandStatus::Partial, None),
            Err(error) => (CommandStatus::Failed, Some(error.to_string())),
        };
        listeners.receive(&Event::CommandFinished { status, message });
        outcome
    }
}

/// The listeners of one command.
struct CommandListeners {
    listeners: Vec<Box<dyn Listener + Send>>,
    advice: Mutex<Advice>,
}

/// Advice on continuing an interrupted command.
struct Advice {
    text: String,
    /// The runs that were opened.
    runs: Vec<String>,
}

impl Listener for CommandListeners {
    fn receive(&self, event: &Event) {
        if let Event::RunOpened { run, .. } = event {
            let mut advice = self.advice.lock();
            advice.runs.push(run.display().to_string());
            advice.text = format!(
                "finished attempts are kept in {}; rerun the command to continue",
                advice.runs.join(", ")
            );
        }
        for listener in &self.listeners {
            listener.receive(event);
        }
    }
}

/// Writes one JSON object a line.
struct JsonLinesListener {
    /// `None` once writing has failed.
    output: Mutex<Option<Box<dyn Write + Send>>>,
}

/// An event with its time.
#[derive(Serialize)]
struct TimedEvent<'a> {
    /// Milliseconds since 1970-01-01 in UTC.
    time_ms: u64,
    #[serde(flatten)]
    event: &'a Event,
}

impl JsonLinesListener {
    fn new(output: Box<dyn Write + Send>) -> Self {
        Self {
            output: Mutex::new(Some(output)),
        }
    }
}

impl Listener for JsonLinesListener {
    fn receive(&self, event: &Event) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time_ms = now.map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        });
        let mut output = self.output.lock();
        // A reader that went away must not stop a replay.
        let Some(writer) = &mut *output else { return };
        let written = serde_json::to_string(&TimedEvent { time_ms, event })
            .map_err(std::io::Error::from)
            .and_then(|line| writer.write_all((line + "\n").as_bytes()))
            .and_then(|()| writer.flush());
        if let Err(error) = written {
            *output = None;
            note!("fillrate: events can't be written: {error}; no more are");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_to_standard_error_or_a_file() {
        assert_eq!("jsonl".parse(), Ok(EventsTarget::StandardError));
        let file = EventsTarget::File(PathBuf::from("a=b.jsonl"));
        assert_eq!("jsonl=a=b.jsonl".parse(), Ok(file));
        for wrong in ["", "json", "jsonl=", "csv=a"] {
            assert!(wrong.parse::<EventsTarget>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn json_lines_have_time_and_event() {
        let file = tempfile::NamedTempFile::new().expect("the system gives a temporary file");
        let writer = file.reopen().expect("the file exists");
        JsonLinesListener::new(Box::new(writer)).receive(&Event::CommandFinished {
            status: CommandStatus::Partial,
            message: None,
        });
        let text = std::fs::read_to_string(file.path()).expect("it was written");
        let line: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(line["time_ms"].as_u64() > Some(1_600_000_000_000), "{line}");
        assert_eq!(line["event"], "command-finished");
        assert_eq!(line["status"], "partial");
    }
}
