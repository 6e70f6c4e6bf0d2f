//! `fillrate telemetry`.

mod stats;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fillrate_server::configuration::{Layers, user_file};
use fillrate_server::telemetry::{ExportLine, StoreContents, TelemetryStore, default_path, read};

use super::{CliError, Success};

/// What to do with what was noted of completions on this machine.
#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show acceptance, retention and latency by model, language or day, and what a trial came to
    ///
    /// A blind trial's models are not named while it goes on, which it does as long as the last
    /// completion in the store is part of it.
    Stats(stats::Arguments),
    /// Print what was noted, as JSON lines: a completion with all that became of it in each, and
    /// then what entered files
    ///
    /// The server's reference page has each line's members. There is no code in them unless
    /// `telemetry.content` was set when they were noted.
    Export(StoreChoice),
    /// Remove all that was noted
    Purge(StoreChoice),
}

/// Which store is meant.
#[derive(Args)]
pub(super) struct StoreChoice {
    /// The store [default: `telemetry.path` of your own settings file, else
    /// fillrate/telemetry.db in your folder of data, ~/.local/share]
    ///
    /// `export` also reads a file that was exported.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    match &arguments.command {
        Command::Stats(arguments) => stats::run(arguments),
        Command::Export(choice) => export(choice),
        Command::Purge(choice) => purge(choice),
    }
}

impl StoreChoice {
    /// The store's file, whether or not it is there.
    ///
    /// # Errors
    /// The user's own settings file is faulty, or no folder for data is known.
    pub(super) fn path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.store {
            return Ok(path.clone());
        }
        let mut layers = Layers::default();
        if let Some(path) = user_file().filter(|path| path.is_file()) {
            layers.file(&path)?;
        }
        match layers.merged()?.telemetry.path {
            Some(path) => Ok(path),
            None => Ok(default_path()?),
        }
    }
}

fn export(choice: &StoreChoice) -> Result<Success, CliError> {
    let StoreContents {
        completions,
        entered,
    } = read(&choice.path()?)?;
    let completions = completions
        .into_iter()
        .map(Box::new)
        .map(ExportLine::Completion);
    for line in completions.chain(entered.into_iter().map(ExportLine::Entered)) {
        outln!("{}", line.to_json());
    }
    Ok(Success::Whole)
}

fn purge(choice: &StoreChoice) -> Result<Success, CliError> {
    let path = choice.path()?;
    let removed = TelemetryStore::open_existing(&path)?.purge()?;
    let noun = if removed == 1 {
        "completion"
    } else {
        "completions"
    };
    outln!("removed {removed} {noun} from {}", path.display());
    Ok(Success::Whole)
}
