//! `fillrate check`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::mining::{self, HoleSelection, MiningPlan};
use fillrate_language::task::HoleKind;
use fillrate_verdict::corpus::Corpus;

use super::events::EventArguments;
use super::{CliError, ExecutionArguments, Success};

/// Do all that comes before a replay, up to each project's first hole, and say what is wrong.
///
/// Fetches sources, builds environments, runs the projects' own tests and admits one hole of each.
#[derive(Args)]
pub(super) struct CheckArguments {
    /// The corpus: a manifest file, or a repository: a folder, or an address with `@REVISION`
    corpus: PathBuf,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<Success, CliError> {
    let advice = arguments.execution.advice();
    arguments
        .events
        .listen("check", advice, |listener| check(arguments, listener))
}

fn check(arguments: &CheckArguments, listener: &dyn Listener) -> Result<Success, CliError> {
    let manifest = Corpus::from_environment()?.load_manifest(&arguments.corpus)?;
    let plan = MiningPlan {
        corpus: arguments.corpus.clone(),
        selection: HoleSelection {
            // One hole for each project is enough to show that its tests can judge.
            holes: manifest.projects.len(),
            seed: 0,
            kinds: HoleKind::DEFAULT.to_vec(),
            min_mutation_score: None,
            since: None,
            fast_files: false,
        },
        solved: BTreeSet::new(),
        execution: arguments.execution.plan(),
    };
    let outcome = mining::run(&plan, listener)?;
    for (name, mined) in &outcome.projects {
        match mined.holes.first() {
            Some(hole) => outln!(
                "{name}: ready, {} candidates, first hole {}",
                mined.candidates,
                hole.id
            ),
            None => outln!(
                "{name}: no hole was admitted of {} candidates; correct `holes` or the tests",
                mined.candidates
            ),
        }
    }
    for absent in &outcome.absent {
        outln!("{}", absent.describe());
    }
    let mut projects = outcome.projects.iter();
    let have_holes = projects.all(|(_, mined)| !mined.holes.is_empty());
    // A project that is left out is a fault here, although it is none in a replay.
    Ok(Success::whole_if(have_holes && outcome.absent.is_empty()))
}
