//! `fillrate telemetry stats`.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use fillrate_report::table::TextWidth;
use fillrate_server::telemetry::{StoreContents, TelemetryError, read};
use fillrate_study::telemetry::statistics::{Dimension, StatisticsOptions, TelemetryStatistics};

use super::super::{CliError, Success};
use super::StoreChoice;

/// Show telemetry statistics: acceptance, retention and latency, and the results of a trial of
/// several models.
#[derive(Args)]
pub(super) struct TelemetryStatsArguments {
    #[command(flatten)]
    store: StoreChoice,
    /// Count only completions of the last N days
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// Group by model, language, day [default: model; with --json rows by model, by model and
    /// language, and by model and day]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    by: Vec<Dimension>,
    /// Count as shown only what an editor confirms to have displayed
    #[arg(long)]
    confirmed: bool,
    /// Count sessions of a simulated developer in place of people's
    #[arg(long)]
    simulated: bool,
    /// Name the models of a blind trial that is still running
    #[arg(long)]
    unblind: bool,
    /// Print one JSON object in place of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    arguments: &TelemetryStatsArguments,
    width: TextWidth,
) -> Result<Success, CliError> {
    let contents = match read(&arguments.store.path()?) {
        // Before the first completion there is no store, which is no error.
        Err(TelemetryError::Missing(_)) if !arguments.store.is_named() => StoreContents::default(),
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
            // The order of dimensions decides the columns, and not the order in which they are
            // named.
            let mut by = by.to_vec();
            by.sort();
            by.dedup();
            vec![by]
        }
    };
    let options = StatisticsOptions {
        groupings,
        since_ms: arguments.days.map(days_ago),
        simulated: arguments.simulated,
        confirmed: arguments.confirmed,
        unblind: arguments.unblind,
    };
    let statistics = TelemetryStatistics::new(&contents, &options);
    if arguments.json {
        let json = serde_json::to_value(&statistics)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        outln!("{json:#}");
    } else {
        if arguments.simulated {
            outln!("Of a simulated developer, not of a person:");
        }
        out!("{}", statistics.table(width));
    }
    Ok(Success::Whole)
}

/// The time the given number of days ago, in milliseconds since 1970.
fn days_ago(days: u32) -> i64 {
    const MS_A_DAY: i64 = 86_400_000;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64) - i64::from(days) * MS_A_DAY
}
