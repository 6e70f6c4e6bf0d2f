//! `fillrate audit-distance`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::distance::{self, DistancePlan, FunctionPart};
use fillrate_metrics::Estimate;
use fillrate_report::table::{TextTable, TextWidth};
use serde_json::json;

use super::{CliError, Success, progress, success};

/// Measure how far a task set is from real code.
///
/// The reconstruction error of MRG-Bench (§5.1.1 of its paper): the mean distance of a documented
/// function of real code from the nearest function of the tasks, over vectors of their
/// documentation. For comparison, the same with an equal number of random functions of real code
/// in place of the tasks. Less is nearer. No test runs, and no package is installed.
#[derive(Args)]
pub(super) struct DistanceArguments {
    /// The tasks: a file that `mine` or `import` wrote
    tasks: PathBuf,
    /// The corpus of the tasks
    #[arg(long, value_name = "MANIFEST")]
    corpus: PathBuf,
    /// The corpus of real code; projects of the tasks' names are left out
    #[arg(long, value_name = "CORPUS")]
    real: PathBuf,
    /// A settings file (.toml) with `[context.embeddings]`, the server of vectors, which gets the
    /// texts [default: vectors of words, made here]
    #[arg(long, value_name = "FILE")]
    embeddings: Option<PathBuf>,
    /// Part of a function that is compared: documentation or whole
    #[arg(long, value_name = "PART", default_value_t = FunctionPart::Documentation)]
    part: FunctionPart,
    /// The most functions of real code, by language
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Another seed chooses other functions
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &DistanceArguments, width: TextWidth) -> Result<Success, CliError> {
    let plan = DistancePlan {
        tasks: arguments.tasks.clone(),
        corpus: arguments.corpus.clone(),
        real: arguments.real.clone(),
        part: arguments.part,
        samples: usize::try_from(arguments.samples).unwrap_or(usize::MAX),
        seed: arguments.seed,
        embeddings: arguments.embeddings.clone(),
    };
    let outcome = distance::run(&plan, &*progress::listener())?;
    super::report_absent(&outcome.absent);
    if arguments.json {
        outln!("{}", json!({"part": plan.part, "rows": outcome.languages}));
        return Ok(success(&outcome.absent));
    }
    let mut table = TextTable::new([
        "language",
        "functions",
        "tasks of none",
        "variant",
        "tasks",
        "random",
        "n",
    ]);
    let figure = |estimate: Option<Estimate>| match estimate {
        Some(Estimate {
            value,
            low: Some(low),
            high: Some(high),
            ..
        }) => format!("{value:.4} [{low:.4}, {high:.4}]"),
        Some(Estimate { value, .. }) => format!("{value:.4}"),
        None => "–".to_owned(),
    };
    for one in &outcome.languages {
        table.add_row([
            one.language.to_owned(),
            one.tasks.to_string(),
            one.undocumented.to_string(),
            one.variant.to_owned(),
            figure(one.error),
            figure(one.random),
            one.error.map_or(0, |estimate| estimate.n).to_string(),
        ]);
    }
    outln!("{}", table.render(width));
    Ok(success(&outcome.absent))
}
