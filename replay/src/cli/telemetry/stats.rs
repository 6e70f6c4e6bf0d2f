//! `fillrate telemetry stats`.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use fillrate_server::telemetry::{StoreContents, TelemetryError, read};

use super::super::{CliError, Success};
use super::StoreChoice;
use crate::report::acceptance::{Acceptance, Choice, Dimension};

/// Show what people made of completions: acceptance, retention and latency, and what a trial of
/// several models came to.
#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    store: StoreChoice,
    /// Only what was asked for in the last N days
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// What has figures of its own: model, language, day [default: model; with --json rows by
    /// model, by model and language, and by model and day]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    by: Vec<Dimension>,
    /// Count only what an editor confirms to have displayed as shown
    #[arg(long)]
    confirmed: bool,
    /// Sessions of a simulated developer, in place of people's
    #[arg(long)]
    simulated: bool,
    /// Name the models of a blind trial though it goes on
    #[arg(long)]
    unblind: bool,
    /// Print one JSON object in place of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let contents = match read(&arguments.store.path()?) {
        // Before the first completion there is nothing to tell, and no fault.
        Err(TelemetryError::Missing(_)) => StoreContents::default(),
        read => read?,
    };
    let groupings = match (arguments.by.as_slice(), arguments.json) {
        ([], false) => vec![vec![Dimension::Model]],
        ([], true) => vec![
            vec![Dimension::Model],
            vec![Dimension::Model, Dimension::Language],
            vec![Dimension::Model, Dimension::Day],
        ],
        (by, _) => {
            let mut by = by.to_vec();
            by.sort();
            by.dedup();
            vec![by]
        }
    };
    let choice = Choice {
        groupings,
        since_ms: arguments.days.map(days_ago),
        simulated: arguments.simulated,
        confirmed: arguments.confirmed,
        unblind: arguments.unblind,
    };
    let acceptance = Acceptance::of(&contents, &choice);
    if arguments.json {
        let json = serde_json::to_value(&acceptance)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        outln!("{json:#}");
    } else {
        if arguments.simulated {
            outln!("A simulated developer's, not a person's:");
        }
        out!("{}", acceptance.table());
    }
    Ok(Success::Whole)
}

/// The moment so many days ago, in milliseconds since 1970.
fn days_ago(days: u32) -> i64 {
    const MS_A_DAY: i64 = 86_400_000;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64) - i64::from(days) * MS_A_DAY
}
