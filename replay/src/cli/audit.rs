//! `fillrate audit`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::PlayError;
use fillrate_engine::play::audit::{self, AuditPlan};
use fillrate_engine::play::events::Listener;
use fillrate_engine::store::{AuditRecord, Partition};

use super::events::EventArguments;
use super::{CliError, Success};

/// Judge a sample of a run's completions again in the slowest and simplest way, and list the
/// verdicts that differ.
///
/// Each is judged in a copy of its project, by every test that decides over it, from the start,
/// with nothing cached. Exit status 1 if a verdict differs, 3 if the sample has none.
#[derive(Args)]
pub(super) struct AuditArguments {
    /// The run: a folder that `replay` wrote
    run: PathBuf,
    /// The share of the verdicts to judge again, above 0 and at most 1
    #[arg(long, default_value_t = 0.1, value_name = "P", value_parser = share_above_zero)]
    sample: f64,
    /// Another seed chooses others
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Judge again at one of n parts of the holes, from 1: k/n, or `auto` for what the scheduler
    /// says
    #[arg(long, value_name = "k/n|auto")]
    partition: Option<Partition>,
    /// The corpus's manifest, if it has moved
    #[arg(long, value_name = "FILE")]
    corpus: Option<PathBuf>,
    /// The tests that were added to its projects, if they have moved
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    /// Number of attempts that are judged concurrently [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    events: EventArguments,
}

fn share_above_zero(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "a share is above 0 and at most 1".to_owned())
}

pub(super) fn run(arguments: &AuditArguments) -> Result<Success, CliError> {
    let advice = "nothing is stored before all verdicts are reached; rerun the command".to_owned();
    arguments
        .events
        .listen("audit", advice, |listener| audit(arguments, listener))
}

fn audit(arguments: &AuditArguments, listener: &dyn Listener) -> Result<Success, CliError> {
    let plan = AuditPlan {
        run: arguments.run.clone(),
        sample: arguments.sample,
        seed: arguments.seed,
        partition: arguments.partition,
        corpus: arguments.corpus.clone(),
        tests: arguments.tests.clone(),
        threads: super::threads(arguments.jobs),
    };
    let outcome = audit::run(&plan, listener)?;
    let differing: Vec<&AuditRecord> = outcome
        .records
        .iter()
        .filter(|record| record.differs())
        .collect();
    outln!(
        "{} of {} verdicts judged again, {} differ",
        outcome.records.len(),
        outcome.verdicts,
        differing.len()
    );
    // A part of a sample may be empty, unlike the sample.
    if outcome.records.is_empty() && arguments.partition.is_none() {
        let sample = 100.0 * arguments.sample;
        let run = arguments.run.display();
        return Err(CliError::Play(PlayError::Empty(match outcome.left_out {
            0 => format!(
                "no verdict of {run} was judged again: {sample} % of {} is none; raise --sample",
                outcome.verdicts
            ),
            left_out => format!(
                "no verdict of {run} was judged again: {left_out} in the sample are of projects \
                 that are not available"
            ),
        })));
    }
    if outcome.left_out > 0 {
        outln!(
            "{} more of the sample are of projects that are not available",
            outcome.left_out
        );
    }
    for record in &differing {
        outln!(
            "{}: {} in the run, {} again ({})",
            record.hole,
            record.outcome.name(),
            record.rejudged.name(),
            record.reason
        );
    }
    // Differences fail the command, so that a script notices them.
    if differing.is_empty() {
        return Ok(Success::Whole);
    }
    Err(CliError::Refused(format!(
        "{} verdicts of {} differ from those of the naive engine",
        differing.len(),
        arguments.run.display()
    )))
}
