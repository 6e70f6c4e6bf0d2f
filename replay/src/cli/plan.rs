//! `fillrate plan`.

use clap::Args;
use fillrate_engine::play::events::{Phase, PhaseProgress};
use fillrate_report::table::TextWidth;
use fillrate_study::plan::{self, Clustering, PlanAssumptions, StudySize};
use serde_json::json;

use super::{CliError, Success, progress, share};

/// Simulate how many versions, holes and shown completions a study needs.
#[derive(Args)]
pub(super) struct PlanArguments {
    /// The true correlation to find, from -1 to 1
    #[arg(
        long,
        default_value_t = 0.8,
        value_name = "R",
        allow_negative_numbers = true
    )]
    true_r: f64,
    /// Numbers of model versions
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "4,6,8,12,16",
        value_name = "N,…"
    )]
    versions: Vec<usize>,
    /// Numbers of holes for each version
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "100,300,1000",
        value_name = "N,…"
    )]
    holes: Vec<usize>,
    /// Numbers of completions shown to people, for each version
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1000,10000",
        value_name = "N,…"
    )]
    shown: Vec<usize>,
    /// The mean pass rate, from 0 to 1
    #[arg(long, default_value_t = 0.4, value_parser = share, value_name = "P")]
    pass_rate: f64,
    /// The standard deviation of true pass rates between versions
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SD")]
    spread: f64,
    /// The mean acceptance rate, from 0 to 1
    #[arg(long, default_value_t = 0.3, value_parser = share, value_name = "P")]
    acceptance: f64,
    /// The standard deviation of true acceptance rates between versions
    #[arg(long, default_value_t = 0.03, value_parser = share, value_name = "SD")]
    acceptance_spread: f64,
    /// Holes in one file, on average
    #[arg(long, default_value_t = 4.0, value_name = "N")]
    holes_per_file: f64,
    /// The correlation of the verdicts of two holes in one file
    #[arg(long, default_value_t = 0.1, value_parser = share, value_name = "RHO")]
    file_correlation: f64,
    /// Completions shown to one person in one file, on average
    #[arg(long, default_value_t = 20.0, value_name = "N")]
    shown_per_cluster: f64,
    /// The correlation of two completions of one such cluster
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "RHO")]
    cluster_correlation: f64,
    /// The correlation of two versions' verdicts on one hole; 0 is conservative
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "RHO")]
    same_holes: f64,
    /// The share of studies that must find it
    #[arg(long, default_value_t = 0.8, value_parser = share, value_name = "P")]
    power: f64,
    /// Simulated studies for each size
    #[arg(long, default_value_t = 1000, value_name = "N")]
    simulations: usize,
    /// Equal seeds give equal plans
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &PlanArguments, width: TextWidth) -> Result<Success, CliError> {
    let assumptions = PlanAssumptions {
        true_r: arguments.true_r,
        pass_rate: arguments.pass_rate,
        pass_spread: arguments.spread,
        acceptance: arguments.acceptance,
        acceptance_spread: arguments.acceptance_spread,
        holes: Clustering {
            size: arguments.holes_per_file,
            correlation: arguments.file_correlation,
        },
        shown: Clustering {
            size: arguments.shown_per_cluster,
            correlation: arguments.cluster_correlation,
        },
        same_holes: arguments.same_holes,
    };
    let assumptions = assumptions
        .checked()
        .map_err(|error| CliError::Refused(error.to_string()))?;
    let mut sizes = Vec::new();
    for &versions in &arguments.versions {
        for &holes in &arguments.holes {
            for &shown in &arguments.shown {
                sizes.push(StudySize {
                    versions,
                    holes,
                    shown,
                });
            }
        }
    }
    let listener = progress::listener();
    let progress = PhaseProgress::start(&*listener, Phase::Simulate, None, sizes.len());
    let mut expected = Vec::with_capacity(sizes.len());
    for size in &sizes {
        let one = assumptions.simulate(*size, arguments.simulations, arguments.seed);
        expected.push(one.ok_or_else(|| {
            CliError::Refused(
                "a study has at least 3 versions, 1 hole, 1 shown completion and 1 simulation"
                    .to_owned(),
            )
        })?);
        progress.advance(1);
    }
    drop(progress);
    if arguments.json {
        let whole = json!({
            "schema": plan::SCHEMA,
            "assumptions": assumptions,
            "power": arguments.power,
            "simulations": arguments.simulations,
            "seed": arguments.seed,
            "sizes": expected,
        });
        outln!("{whole}");
    } else {
        out!(
            "{}",
            plan::table(&assumptions, &expected, arguments.power, width)
        );
    }
    Ok(Success::Whole)
}
