//! `fillrate augment`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::augment::{self, AugmentationPlan, LEAST_COVERAGE, TestGoal};
use fillrate_engine::play::events::Listener;

use super::events::EventArguments;
use super::{CliError, ExecutionArguments, Success};

/// Have a model write tests that notice the faults which survived mutation.
///
/// A test is kept if it passes ten times with the code as it is, with nothing tampered with, runs
/// lines of the hole, does not look at how the code is written, fails with at least one survivor,
/// twice, and leaves the project's other tests alone. Kept tests go to DIR/PROJECT/, at their paths
/// in the project, and DIR/provenance.jsonl says where they come from; tests of your own can be
/// added there. With `--coverage`, tests are for lines that no test runs in place of faults, as in
/// RepoExec (§4.2 of its paper): one is kept if it runs such a line. `--tests DIR` of `mutate`,
/// `mine` and `replay` then adds them to the project's own.
#[derive(Args)]
pub(super) struct AugmentArguments {
    /// The holes with their survivors: a file that `mutate` wrote; with `--coverage`, any tasks
    tasks: PathBuf,
    /// Ask for tests that run lines of the holes which no test runs
    #[arg(long)]
    coverage: bool,
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
    /// Number of answers of each request; 1 for a greedy model, whose temperature is 0
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
        goal: if arguments.coverage {
            TestGoal::Coverage
        } else {
            TestGoal::Faults
        },
        corpus: arguments.corpus.clone(),
        model: arguments.model.clone(),
        output: arguments.output.clone(),
        requests: arguments.rounds,
        candidates: arguments.candidates,
        execution: arguments.execution.plan(),
    };
    let outcome = augment::run(&plan, listener)?;
    for failure in &outcome.failures {
        note!("fillrate: {failure}");
    }
    for provenance in &outcome.kept {
        let gain = match plan.goal {
            TestGoal::Faults => format!("{} survivors noticed", provenance.kills.len()),
            TestGoal::Coverage => format!("{} more lines run", provenance.lines.len()),
        };
        outln!("{}: {gain}", provenance.test);
    }
    // A test that notices survivors of several holes is one test.
    let files: BTreeSet<(&str, &str)> = outcome
        .kept
        .iter()
        .map(|provenance| (provenance.project.as_str(), provenance.path.as_str()))
        .collect();
    let done = outcome.wanted - outcome.left;
    let output = arguments.output.display();
    match &outcome.coverage {
        None => outln!(
            "{} tests kept, which notice {done} of {} survivors: {output}",
            files.len(),
            outcome.wanted
        ),
        Some(coverage) => {
            let percent = |lines: usize| 100.0 * lines as f64 / coverage.lines.max(1) as f64;
            outln!(
                "{} tests kept, which run {done} of {} lines that no test ran: {output}",
                files.len(),
                outcome.wanted
            );
            outln!(
                "lines run, of {} of {} holes: {:.1} % before, {:.1} % now; {} holes below {:.0} %",
                coverage.lines,
                coverage.holes,
                percent(coverage.before),
                percent(coverage.after),
                coverage.too_low,
                100.0 * LEAST_COVERAGE
            );
        }
    }
    for (rejection, count) in &outcome.rejected {
        outln!("{count} not kept: {}", rejection.name());
    }
    Ok(Success::whole_if(outcome.failures.is_empty()))
}
