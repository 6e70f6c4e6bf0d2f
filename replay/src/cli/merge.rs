//! `fillrate merge`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::merge::{self, MergeOutcome, MergePlan, SettlingPlan};
use fillrate_engine::store::MergedParts;
use serde_json::json;

use super::events::EventArguments;
use super::{CliError, Success};

/// Make one run of the parts that several machines have made of it.
///
/// The run is the one that a single machine would have made, times aside. Parts that are missing
/// are listed, and the exit status is 3.
#[derive(Args)]
pub(super) struct MergeArguments {
    /// Parts that `replay --partition` wrote: folders, or addresses of object stores
    #[arg(required = true, value_name = "PARTS")]
    parts: Vec<PathBuf>,
    /// The run's folder, which must not exist
    #[arg(
        short,
        long,
        value_name = "RUN",
        required_unless_present = "missing",
        conflicts_with = "missing"
    )]
    out: Option<PathBuf>,
    /// Print the parts to run again, one `k/n` a line, and write nothing
    #[arg(long, conflicts_with = "settle")]
    missing: bool,
    /// Judge again what parts judged differently, by the naive engine; the verdicts are counted in
    /// the run's report
    #[arg(long)]
    settle: bool,
    /// The corpus's manifest, if it has moved
    #[arg(long, value_name = "FILE", requires = "settle")]
    corpus: Option<PathBuf>,
    /// The tests that were added to its projects, if they have moved
    #[arg(long, value_name = "DIR", requires = "settle")]
    tests: Option<PathBuf>,
    /// Number of attempts that are judged concurrently [default: the number of processors]
    #[arg(short, long, value_name = "N", requires = "settle", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON object in place of the text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &MergeArguments) -> Result<Success, CliError> {
    let Some(out) = &arguments.out else {
        return list_missing(arguments);
    };
    super::check_run_folder(out)?;
    let plan = MergePlan {
        parts: arguments.parts.clone(),
        out: out.clone(),
        settling: arguments.settle.then(|| SettlingPlan {
            corpus: arguments.corpus.clone(),
            tests: arguments.tests.clone(),
            threads: super::threads(arguments.jobs),
        }),
    };
    let advice = "nothing is written before the run is whole; rerun the command".to_owned();
    arguments.events.listen("merge", advice, |listener| {
        merge(arguments, &plan, listener)
    })
}

/// Prints the parts to run again, and why on standard error.
fn list_missing(arguments: &MergeArguments) -> Result<Success, CliError> {
    let missing = MergedParts::read(&arguments.parts)?.missing();
    if arguments.json {
        let parts: Vec<String> = missing
            .iter()
            .map(|one| one.partition.to_string())
            .collect();
        outln!("{}", json!({"missing": parts}));
    } else {
        // Standard output has the numbers alone, for a script; the reasons go to standard error.
        for part in &missing {
            outln!("{}", part.partition);
        }
    }
    for part in &missing {
        note!("fillrate: part {part}");
    }
    Ok(Success::whole_if(missing.is_empty()))
}

fn merge(
    arguments: &MergeArguments,
    plan: &MergePlan,
    listener: &dyn Listener,
) -> Result<Success, CliError> {
    let MergeOutcome {
        attempts,
        segments,
        repeated,
        settlements,
        missing,
    } = merge::run(plan, listener)?;
    if arguments.json {
        let parts: Vec<String> = missing
            .iter()
            .map(|one| one.partition.to_string())
            .collect();
        outln!(
            "{}",
            json!({
                "run": plan.out,
                "attempts": attempts,
                "segments": segments,
                "repeated": repeated,
                "settled": settlements,
                "missing": parts,
            })
        );
    } else {
        outln!(
            "{}: {attempts} attempts of {segments} segments, {repeated} of them made twice",
            plan.out.display()
        );
        for one in &settlements {
            let outcomes: Vec<&str> = one.outcomes.iter().map(|outcome| outcome.name()).collect();
            outln!(
                "{}: {} in the parts, {} again",
                one.hole,
                outcomes.join(" and "),
                one.rejudged.name()
            );
        }
    }
    if missing.is_empty() {
        return Ok(Success::Whole);
    }
    for part in &missing {
        note!("fillrate: part {part}");
    }
    note!(
        "fillrate: {} parts are missing, so the run is unfinished; run them again and merge into \
         another folder",
        missing.len()
    );
    Ok(Success::Partial)
}
