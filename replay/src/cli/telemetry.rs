//! `fillrate telemetry`.

mod stats;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fillrate_report::table::TextWidth;
use fillrate_server::configuration::{Layers, user_file};
use fillrate_server::telemetry::{ExportLine, StoreContents, TelemetryStore, default_path, read};

use super::{CliError, Success};

/// Show, export or delete the telemetry of completions on this machine.
#[derive(Args)]
pub(super) struct TelemetryArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show acceptance, retention and latency by model, language or day, and the results of a trial
    ///
    /// The names of the models of a blind trial are hidden while it is running: as long as the last
    /// completion in the store is part of it.
    Stats(stats::TelemetryStatsArguments),
    /// Print the telemetry as JSON lines: each completion with its events, then the characters that
    /// entered files
    ///
    /// The server's reference page lists each line's members. They hold no code unless
    /// `telemetry.content` was set when they were recorded.
    Export(StoreChoice),
    /// Delete all telemetry
    Purge(StoreChoice),
}

/// The store to use.
#[derive(Args)]
pub(super) struct StoreChoice {
    /// The store [default: `telemetry.path` of your user settings, else fillrate/telemetry.db in
    /// your data folder, ~/.local/share]
    ///
    /// `export` also reads an exported file.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(super) fn run(arguments: &TelemetryArguments, width: TextWidth) -> Result<Success, CliError> {
    match &arguments.command {
        Command::Stats(arguments) => stats::run(arguments, width),
        Command::Export(choice) => export(choice),
        Command::Purge(choice) => purge(choice),
    }
}

impl StoreChoice {
    /// True if the command line names the store.
    pub(super) fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// The path of the store, which need not exist.
    ///
    /// # Errors
    /// The user settings are invalid, or no data folder is known.
    pub(super) fn path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.store {
            return Ok(path.clone());
        }
        // Only the user's own file names a store: that of a workspace must not choose one.
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
