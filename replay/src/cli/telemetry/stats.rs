//! `fillrate telemetry stats`.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use clap::Args;
use fillrate_engine::store::create_output_folder;
use fillrate_report::page::PageKind;
use fillrate_report::table::TextWidth;
use fillrate_server::telemetry::{StoreContents, TelemetryError, read};
use fillrate_study::telemetry::statistics::{
    Counted, Dimension, StatisticsOptions, TelemetryStatistics,
};
use fillrate_study::telemetry::{PageUse, SCRIPT, SCRIPT_PATH};

use super::super::live::{FRESH, LivePages, serve};
use super::super::{CliError, Success, check_page_folder};
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
    /// Write the statistics as a page, too: `index.html` in this folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "live")]
    out: Option<PathBuf>,
    /// Show them as a page that follows the store, from this machine and to it only; ends with
    /// Ctrl-C
    #[arg(long, conflicts_with = "json")]
    live: bool,
}

pub(super) fn run(
    arguments: &TelemetryStatsArguments,
    width: TextWidth,
) -> Result<Success, CliError> {
    if let Some(out) = &arguments.out {
        check_page_folder(out, PageKind::Statistics)?;
    }
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
    let statistics = ReadStatistics {
        store: arguments.store.path()?,
        is_named: arguments.store.is_named(),
        options: StatisticsOptions {
            groupings,
            counted: Counted {
                days: arguments.days,
                simulated: arguments.simulated,
                confirmed: arguments.confirmed,
            },
            unblind: arguments.unblind,
        },
    };
    if arguments.live {
        let page = statistics.page()?;
        serve(LiveStatistics {
            statistics,
            page,
            read: Instant::now(),
        })?;
        return Ok(Success::Whole);
    }
    let statistics = statistics.read()?;
    if let Some(folder) = &arguments.out {
        create_output_folder(folder).map_err(CliError::file(folder))?;
        let page = folder.join("index.html");
        // Before anything is printed: a reader such as `head` may leave at once.
        std::fs::write(&page, statistics.page(PageUse::File)).map_err(CliError::file(&page))?;
        note!("fillrate: page: {}", page.display());
    }
    if arguments.json {
        let json = serde_json::to_value(&statistics)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        outln!("{json:#}");
    } else {
        out!("{}", statistics.table(width));
    }
    Ok(Success::Whole)
}

/// Statistics of a store, read when they are asked for.
struct ReadStatistics {
    store: PathBuf,
    /// Whether the command line names the store.
    is_named: bool,
    options: StatisticsOptions,
}

impl ReadStatistics {
    fn read(&self) -> Result<TelemetryStatistics, CliError> {
        let contents = match read(&self.store) {
            // Before the first completion there is no store, which is no error.
            Err(TelemetryError::Missing(_)) if !self.is_named => StoreContents::default(),
            read => read?,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| now.as_millis() as i64);
        Ok(TelemetryStatistics::new(&contents, &self.options, now_ms))
    }

    /// The page as it is served.
    fn page(&self) -> Result<String, CliError> {
        Ok(self.read()?.page(PageUse::Live))
    }
}

/// Statistics that are served.
struct LiveStatistics {
    statistics: ReadStatistics,
    page: String,
    /// The time at which the page was made.
    read: Instant,
}

impl LivePages for LiveStatistics {
    fn contents(&mut self, path: &str) -> Result<Option<(&'static str, Body)>, CliError> {
        Ok(match path {
            "index.html" => {
                // Several tabs that poll cause one look at the store a second.
                if self.read.elapsed() >= FRESH {
                    self.page = self.statistics.page()?;
                    self.read = Instant::now();
                }
                Some(("text/html; charset=utf-8", self.page.clone().into()))
            }
            SCRIPT_PATH => Some(("text/javascript; charset=utf-8", SCRIPT.into())),
            _ => None,
        })
    }
}
