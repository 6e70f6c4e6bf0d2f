//! `fillrate export-tasks`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::tasks::{self, TaskFormat, TasksPlan};

use super::events::EventArguments;
use super::{CliError, Success, report_absent, success};

/// Write holes as tasks that other harnesses run with agents.
///
/// Each hole becomes a folder as Harbor and programs that read its format have it: an instruction,
/// an image of the project without the hole's text, a script that runs the tests which decide over
/// the hole and writes the reward, and one that inserts the original text. The tests of projects
/// whose baseline the cache lacks are run first. A reward comes from the exit status of the
/// project's own test command: code that means to can forge it, and only `replay` notices.
#[derive(Args)]
pub(super) struct ExportTasksArguments {
    /// The corpus: a manifest file, or a repository: a folder, or an address with `@REVISION`
    corpus: PathBuf,
    /// The holes, which `mine` wrote
    #[arg(long, value_name = "FILE")]
    tasks: PathBuf,
    /// The folder that gets a folder for each hole; it must be empty or absent
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Format of the tasks
    #[arg(long, default_value = "harbor", value_parser = super::one_of::<TaskFormat>())]
    format: TaskFormat,
    /// Number of concurrent jobs [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Tests to add to the projects' own: files in DIR/PROJECT/, at the paths they shall have in
    /// the project
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &ExportTasksArguments) -> Result<Success, CliError> {
    let plan = TasksPlan {
        corpus: arguments.corpus.clone(),
        tasks: arguments.tasks.clone(),
        out: arguments.output.clone(),
        format: arguments.format,
        threads: super::threads(arguments.jobs),
        tests: arguments.tests.clone(),
    };
    let advice = "environments and baselines are kept in the cache; rerun the command".to_owned();
    arguments
        .events
        .listen("export-tasks", advice, |listener| write(&plan, listener))
}

fn write(plan: &TasksPlan, listener: &dyn Listener) -> Result<Success, CliError> {
    let outcome = tasks::run(plan, listener)?;
    report_absent(&outcome.absent);
    for (number, reason) in &outcome.left_out {
        outln!("{number} holes are left out: {reason}");
    }
    outln!("{} tasks in {}", outcome.written, plan.out.display());
    Ok(success(&outcome.absent))
}
