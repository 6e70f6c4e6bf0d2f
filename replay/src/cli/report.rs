//! `fillrate report`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use axum::body::Body;
use clap::Args;
use fillrate_engine::developer::gate::{GateFit, fit_gate};
use fillrate_engine::store::Run;
use fillrate_report::page::PageKind;
use fillrate_report::pages::HtmlReport;
use fillrate_report::{NamedRun, compare_in_markdown};
use fillrate_study::telemetry::gate_observations;

use super::fit::read_completions;
use super::live::{FRESH, LivePages, serve};
use super::runs::{check_unique, open_runs, run_names};
use super::{CliError, Success, day};

/// Write a report on runs as pages that a browser opens from the disk.
#[derive(Args)]
pub(super) struct ReportArguments {
    /// The runs: folders that `replay` wrote; a folder of runs with several contexts includes all
    /// of them
    #[arg(required_unless_present = "compare", value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Print the second run against the first in Markdown, for a pull request: paired differences,
    /// McNemar's test and the holes that flip
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["runs", "out", "live"])]
    compare: Vec<PathBuf>,
    /// The folder for the pages; an earlier report in it is replaced
    #[arg(
        short,
        long,
        value_name = "DIR",
        required_unless_present_any = ["live", "compare"],
        conflicts_with = "live"
    )]
    out: Option<PathBuf>,
    /// Fit a gate to the completions in this telemetry, and show on the first page what each
    /// threshold holds back and loses: stores of `replay --mode type --telemetry`, or of a person,
    /// or exports of them
    #[arg(long, value_name = "TELEMETRY", conflicts_with = "compare")]
    gate: Vec<PathBuf>,
    /// Divide the holes at a date (2026-03-01) by when their code last changed, and show on the first
    /// page what each run passes on both sides
    #[arg(long, value_name = "DATE", value_parser = day, conflicts_with = "compare")]
    since: Option<String>,
    /// Show the pages while the runs go on, from this machine and to it only; ends with Ctrl-C
    #[arg(long)]
    live: bool,
}

pub(super) fn run(arguments: &ReportArguments) -> Result<Success, CliError> {
    if let [old, new] = arguments.compare.as_slice() {
        return compare(old, new);
    }
    if let Some(out) = &arguments.out {
        super::check_page_folder(out, PageKind::Report)?;
    }
    let runs = open_runs(&arguments.runs)?;
    let mut report = HtmlReport::load(runs, arguments.live)?;
    if !arguments.gate.is_empty() {
        report.show_gate(&fitted_gate(&arguments.gate)?);
    }
    if let Some(since) = &arguments.since {
        report.divide_at(since);
    }
    let Some(out) = &arguments.out else {
        serve(LiveReport {
            report,
            read: Instant::now(),
        })?;
        return Ok(Success::Whole);
    };
    report.write(out)?;
    outln!("{}", out.join("index.html").display());
    note!(
        "fillrate: open it in a browser. It holds the code of the holes; to send it, send the whole \
         folder:"
    );
    // A command is never broken. A folder such as `.` gives an archive no name.
    let name = out
        .file_name()
        .map_or_else(|| "report".into(), |name| name.to_string_lossy());
    let archive = super::shell_word(Path::new(&format!("{name}.tgz")));
    let out = super::shell_word(out);
    super::write_error(format_args!("  tar -czf {archive} {out}\n"));
    Ok(Success::Whole)
}

/// A gate fitted to telemetry, which is simulated as a whole or a person's.
fn fitted_gate(telemetry: &[PathBuf]) -> Result<GateFit, CliError> {
    let observations = gate_observations(&read_completions(telemetry)?);
    // A mixture is fitted as if it were of people, which the fit then refuses.
    let simulated = observations.iter().all(|one| one.simulated);
    fit_gate(&observations, simulated).map_err(|error| CliError::Refused(error.to_string()))
}

/// Prints one run against another in Markdown.
fn compare(old: &Path, new: &Path) -> Result<Success, CliError> {
    check_unique(&[old, new])?;
    let names = run_names(&[old, new]);
    let opened = [Run::open(old)?, Run::open(new)?];
    let [first, second] = [0, 1].map(|index| NamedRun {
        name: &names[index],
        run: &opened[index],
    });
    out!("{}", compare_in_markdown(&first, &second)?);
    Ok(Success::Whole)
}

/// A report on runs that go on.
struct LiveReport {
    report: HtmlReport,
    read: Instant,
}

impl LivePages for LiveReport {
    fn contents(&mut self, path: &str) -> Result<Option<(&'static str, Body)>, CliError> {
        if path == "progress.json" {
            // Several tabs that poll cause one look at the run a second.
            if self.read.elapsed() >= FRESH {
                self.report.refresh()?;
                self.read = Instant::now();
            }
            let progress = serde_json::to_string(&self.report.progress()).unwrap_or_default();
            return Ok(Some(("application/json", progress.into())));
        }
        let file = self.report.file(path)?;
        Ok(file.map(|file| (file.media_type, file.contents.into_owned().into())))
    }
}
