//! `fillrate mine`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::mining::{self, MiningPlan};
use fillrate_engine::store::Run;
use fillrate_language::task;
use fillrate_mine::Rejection;

use super::events::EventArguments;
use super::{
    CliError, CorpusArguments, ExecutionArguments, HOLES, HoleArguments, Success, success,
};

/// Choose holes that a corpus's tests can judge, and write them to a file.
#[derive(Args)]
pub(super) struct MineArguments {
    #[command(flatten)]
    corpus: CorpusArguments,
    /// The file for the holes, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out the holes for which a model wrote the reference (em/cceval) in this run, where it
    /// was shown no other file, and take others in their place; may be given again
    #[arg(long, value_name = "RUN")]
    unless_solved: Vec<PathBuf>,
    #[command(flatten)]
    choice: HoleArguments,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &MineArguments) -> Result<Success, CliError> {
    let advice = arguments.execution.advice();
    arguments
        .events
        .listen("mine", advice, |listener| mine(arguments, listener))
}

fn mine(arguments: &MineArguments, listener: &dyn Listener) -> Result<Success, CliError> {
    // Mining takes minutes, so the output is checked first.
    super::check_writable_file(&arguments.output)?;
    let corpus = arguments.corpus.location()?;
    super::check_not_input(&arguments.output, [&corpus])?;
    let mut solved = BTreeSet::new();
    for run in &arguments.unless_solved {
        solved.extend(solved_alone(run)?);
    }
    let plan = MiningPlan {
        corpus,
        selection: arguments.choice.selection(HOLES),
        solved,
        execution: arguments.execution.plan(),
    };
    let outcome = mining::run(&plan, listener)?;
    let mut holes = Vec::new();
    for (name, mined) in outcome.projects {
        outln!(
            "{name}: {} holes admitted of {} candidates; rejected: {}",
            mined.holes.len(),
            mined.candidates,
            Rejection::describe(&mined.rejected)
        );
        holes.extend(mined.holes);
    }
    for absent in &outcome.absent {
        outln!("{}", absent.describe());
    }
    task::write(&arguments.output, &holes)?;
    outln!("{} holes in {}", holes.len(), arguments.output.display());
    Ok(success(&outcome.absent))
}

/// The holes of a run that a model filled without other files.
fn solved_alone(run: &Path) -> Result<BTreeSet<String>, CliError> {
    let (alone, solved) = fillrate_report::solved_alone(&Run::open(run)?)?;
    if alone == 0 {
        return Err(CliError::Refused(format!(
            "in the run {} every completion was given other files, so it does not show what a model \
             can do without; replay the holes with `--context none`",
            run.display()
        )));
    }
    Ok(solved)
}
