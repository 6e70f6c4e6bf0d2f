//! `fillrate pack` and `fillrate unpack`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::pack::{self, PackPlan};
use fillrate_verdict::corpus::cache::Cache;
use fillrate_verdict::corpus::pack::unpack;

use super::events::EventArguments;
use super::{CliError, Success, report_absent, success};

/// Pack what workers without network need of a corpus: sources, environments, baselines.
///
/// Sources, environments, baselines and twins that the cache lacks are made first. The manifest and
/// the tasks are in the pack as well; `fillrate unpack` prints their paths on a worker, which needs
/// the same cache path (`FILLRATE_CACHE`) and the same interpreters.
#[derive(Args)]
pub(super) struct PackArguments {
    /// The corpus: a manifest file, or a repository: a folder, or an address with `@REVISION`
    corpus: PathBuf,
    /// The holes, which `mine` wrote
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// The pack's file, a `.tar.gz`
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Number of concurrent jobs [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    events: EventArguments,
}

/// Unpack what `fillrate pack` packed into this worker's cache, and print where the corpus is.
///
/// Items that the cache has already are kept, so that the command can be rerun.
#[derive(Args)]
pub(super) struct UnpackArguments {
    /// The pack's file
    pack: PathBuf,
}

pub(super) fn run(arguments: &PackArguments) -> Result<Success, CliError> {
    super::check_writable_file(&arguments.out)?;
    let inputs = arguments.tasks.iter().chain([&arguments.corpus]);
    super::check_not_input(&arguments.out, inputs)?;
    let plan = PackPlan {
        corpus: arguments.corpus.clone(),
        tasks: arguments.tasks.clone(),
        out: arguments.out.clone(),
        threads: super::threads(arguments.jobs),
    };
    let advice = "environments and baselines are kept in the cache; rerun the command".to_owned();
    arguments
        .events
        .listen("pack", advice, |listener| pack_corpus(&plan, listener))
}

fn pack_corpus(plan: &PackPlan, listener: &dyn Listener) -> Result<Success, CliError> {
    let outcome = pack::run(plan, listener)?;
    report_absent(&outcome.absent);
    outln!(
        "{}: {} projects, {} items of the cache, {:.1} MB",
        plan.out.display(),
        outcome.projects,
        outcome.size.items,
        outcome.size.bytes as f64 / 1e6
    );
    Ok(success(&outcome.absent))
}

pub(super) fn run_unpack(arguments: &UnpackArguments) -> Result<Success, CliError> {
    let cache = Cache::from_environment()?;
    let waiting = |_| note!("fillrate: another process uses the cache; waiting for it");
    let unpacked = unpack(&cache, &arguments.pack, &waiting)?;
    note!(
        "fillrate: {} of {} items are new in {}",
        unpacked.items - unpacked.known,
        unpacked.items,
        cache.root().display()
    );
    outln!("corpus: {}", unpacked.manifest.display());
    if let Some(tasks) = unpacked.tasks {
        outln!("tasks: {}", tasks.display());
    }
    Ok(Success::Whole)
}
