//! `fillrate mine`.

use std::path::PathBuf;

use clap::Args;

use super::{CliError, Execution, HoleChoice, Success, projects};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::task;

/// Choose holes that a corpus's tests can judge, and write them to a file.
#[derive(Args)]
pub(super) struct Arguments {
    /// The corpus: a manifest file
    corpus: PathBuf,
    /// The file for the holes, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    choice: HoleChoice,
    #[command(flatten)]
    execution: Execution,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let manifest = Manifest::read(&arguments.corpus)?;
    let corpus = Corpus::from_environment()?;
    let jobs = arguments.execution.jobs();
    let cache = corpus.cache.root().to_owned();
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
        let mined = projects::holes(ready, &ready.judge, &arguments.choice, quota, &cache, jobs)?;
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
