//! `fillrate augment`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::events::EventArguments;
use super::{CliError, ExecutionArguments, Success};
use crate::play::augment::{self, AugmentationPlan};
use crate::play::events::Listener;

/// Have a model write tests that notice the faults which survived mutation.
///
/// A test is kept if it passes ten times with the code as it is, with nothing tampered with, runs
/// lines of the hole, does not look at how the code is written, fails with at least one survivor,
/// twice, and leaves the project's other tests alone. Kept tests go to DIR/PROJECT/, at their
/// paths in the project, and DIR/provenance.jsonl says where they come from; tests of your own
/// can be added there. `--tests DIR` of `mutate`, `mine` and `replay` then adds them to the
/// project's own.
#[derive(Args)]
pub(super) struct AugmentArguments {
    /// The holes with their survivors: a file that `mutate` wrote
    tasks: PathBuf,
    /// The corpus they were mined from
    #[arg(long, value_name = "MANIFEST")]
    corpus: PathBuf,
    /// A settings file (.toml) whose `[model]` is one that chats
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The folder for the tests
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The most times to ask about a hole; it is asked again while survivors are left and the
    /// last time gained something
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many answers to ask for each time; of a greedy model, whose temperature is 0, it is one
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    candidates: u16,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &AugmentArguments) -> Result<Success, CliError> {
    let advice = "the tests kept so far are in the output folder; rerun the command".to_owned();
    arguments
        .events
        .listen("augment", advice, |listener| augment(arguments, listener))
}

fn augment(arguments: &AugmentArguments, listener: &dyn Listener) -> Result<Success, CliError> {
    let plan = AugmentationPlan {
        tasks: arguments.tasks.clone(),
        corpus: arguments.corpus.clone(),
        model: arguments.model.clone(),
        output: arguments.output.clone(),
        requests: arguments.rounds,
        candidates: arguments.candidates,
        execution: arguments.execution.plan(),
    };
    let outcome = augment::run(&plan, listener)?;
    for failure in &outcome.failures {
        eprintln!("fillrate: {failure}");
    }
    for provenance in &outcome.kept {
        outln!(
            "{}: {} survivors noticed",
            provenance.test,
            provenance.kills.len()
        );
    }
    // A test that notices survivors of several holes is one test.
    let files: BTreeSet<(&str, &str)> = outcome
        .kept
        .iter()
        .map(|provenance| (provenance.project.as_str(), provenance.path.as_str()))
        .collect();
    outln!(
        "{} tests kept, which notice {} of {} survivors: {}",
        files.len(),
        outcome.survivors - outcome.left,
        outcome.survivors,
        arguments.output.display()
    );
    for (rejection, count) in &outcome.rejected {
        outln!("{count} not kept: {}", rejection.name());
    }
    if outcome.failures.is_empty() {
        Ok(Success::Whole)
    } else {
        Ok(Success::Partial)
    }
}
