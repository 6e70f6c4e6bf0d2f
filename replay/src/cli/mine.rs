//! `fillrate mine`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::stop::tell_when_stopped;
use super::{CliError, Execution, HoleChoice, Success, projects};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::report;
use crate::store::Run;
use crate::task;

/// Choose holes that a corpus's tests can judge, and write them to a file.
#[derive(Args)]
pub(super) struct Arguments {
    /// The corpus: a manifest file
    corpus: PathBuf,
    /// The file for the holes, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out the holes for which a model wrote the reference (em/cceval) in this run, where it
    /// was shown no other file, and take others in their place; may be given again
    #[arg(long, value_name = "RUN")]
    unless_solved: Vec<PathBuf>,
    #[command(flatten)]
    choice: HoleChoice,
    #[command(flatten)]
    execution: Execution,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let mut solved = BTreeSet::new();
    for run in &arguments.unless_solved {
        solved.extend(solved_alone(run)?);
    }
    let manifest = Manifest::read(&arguments.corpus)?;
    let corpus = Corpus::from_environment()?;
    let jobs = arguments.execution.jobs();
    let cache = corpus.cache.root().to_owned();
    tell_when_stopped(arguments.execution.kept());
    let (prepared, mut absent) =
        projects::prepare(&corpus, &manifest, arguments.execution.tests.as_deref())?;
    let (ready, failed) = projects::judge(
        prepared,
        &cache,
        arguments.execution.engine,
        arguments.execution.anew,
        jobs,
    )?;
    absent.extend(failed);
    let mut holes = Vec::new();
    for ready in &ready {
        let name = &ready.prepared.project.name;
        let quota = projects::quota(&arguments.choice, &manifest, name);
        let mined = projects::holes(
            ready,
            &ready.judge,
            &arguments.choice,
            quota,
            &solved,
            &cache,
            jobs,
        )?;
        let rejected: Vec<String> = mined
            .rejected
            .iter()
            .map(|(reason, count)| format!("{} {count}", reason.name()))
            .collect();
        outln!(
            "{name}: {} holes admitted of {} candidates; rejected: {}",
            mined.holes.len(),
            mined.candidates,
            if rejected.is_empty() {
                "none".to_owned()
            } else {
                rejected.join(", ")
            },
        );
        holes.extend(mined.holes);
    }
    for (name, state) in &absent {
        outln!("{name}: {}", state.reason.as_deref().unwrap_or("left out"));
    }
    if ready.is_empty() {
        return Err(CliError::Refused(
            "no project of the corpus could be mined".to_owned(),
        ));
    }
    task::write(&arguments.output, &holes)?;
    outln!("{} holes in {}", holes.len(), arguments.output.display());
    Ok(super::replay::success(&absent))
}

/// The holes of a run that a model filled without other files.
fn solved_alone(run: &Path) -> Result<BTreeSet<String>, CliError> {
    let (alone, solved) = report::solved_alone(&Run::open(run)?)?;
    if alone == 0 {
        return Err(CliError::Refused(format!(
            "in the run {} every completion was given other files, so that it does not tell what a \
             model can do without; replay the holes with `--context none`",
            run.display()
        )));
    }
    Ok(solved)
}
