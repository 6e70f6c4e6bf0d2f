//! `fillrate compare`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fillrate_engine::play::check_model_name;
use fillrate_engine::play::compare::{self, ComparisonPlan};
use fillrate_engine::play::context::ReplayContext;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::replay::{ReplayPlan, ReplayedRun};
use fillrate_report::models::{FailureRule, ModelComparison};
use fillrate_report::table::TextWidth;

use super::events::EventArguments;
use super::runs::missing_attempts;
use super::{CliError, ExecutionArguments, ReplayedHoles, Success, success};

/// Compare models on the same holes and say which one passes more, and with what probability.
///
/// The same command again continues where it was stopped; with a further `--model`, it plays that
/// one. All models are asked at one hole before the next, one request at a time and while no test
/// runs, so that a slow hour hits all models and a latency is the model's own.
#[derive(Args)]
pub(super) struct CompareArguments {
    #[command(flatten)]
    holes: ReplayedHoles,
    /// A model, two or more: `embedded`, `reference`, `empty`, a settings file (.toml) or
    /// predictions (.jsonl)
    ///
    /// A model is called by the name of its file, without `.toml` or `.jsonl`.
    #[arg(long, value_name = "NAME|FILE", required = true)]
    model: Vec<String>,
    /// Also compare passes that arrive within this time, such as `300ms` or `1.5s`
    #[arg(long, value_name = "TIME", value_parser = time)]
    within: Option<Duration>,
    /// Context from the repository that the models get [default: editor, or as the settings files
    /// say]
    #[arg(long, value_name = "NAME")]
    context: Option<ReplayContext>,
    /// Play all holes, even if the order of the models is decided before
    #[arg(long)]
    no_early_stop: bool,
    /// Ask no model at a further batch of holes after this time, such as `20m` or `2h`
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Duration>,
    /// Ask no model at a further batch of holes after N completions, all models together
    #[arg(long, value_name = "N")]
    max_calls: Option<usize>,
    #[command(flatten)]
    execution: ExecutionArguments,
    /// Number of concurrent requests [default: 1]
    ///
    /// For models on other machines. Of models on this machine, latencies then include waiting for
    /// each other.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections: Option<u16>,
    #[command(flatten)]
    events: EventArguments,
    /// The comparison's folder, with a run for each model [default: one in `runs/`, named after the
    /// holes]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the result as Markdown to the file that `GITHUB_STEP_SUMMARY` names, or else to
    /// standard output
    #[arg(long, conflicts_with = "json")]
    github: bool,
    /// Exit with status 1 if this holds, such as `pass@1 of b < a - 2`; may be given again
    ///
    /// A figure of the table of one model, `<` or `>`, and another model's with `+` or `-` a
    /// number, or a number alone; rates in points, times in milliseconds. Two models are compared
    /// on the holes that both have.
    #[arg(long, value_name = "RULE")]
    fail_if: Vec<FailureRule>,
    /// Print one JSON object in place of the tables
    #[arg(long)]
    json: bool,
}

/// The number of holes unless `--holes` names another.
const HOLES: usize = 60;

/// A time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number with ms, s, m or h, such as 300ms".to_owned()),
    };
    let number: Option<f64> = number.trim().parse().ok();
    let time = number.map(|number| number * seconds);
    time.filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "the time must be a number above 0".to_owned())
}

pub(super) fn run(arguments: &CompareArguments, width: TextWidth) -> Result<Success, CliError> {
    let advice = arguments.execution.advice();
    arguments.events.listen("compare", advice, |listener| {
        compare(arguments, listener, width)
    })
}

fn compare(
    arguments: &CompareArguments,
    listener: &dyn Listener,
    width: TextWidth,
) -> Result<Success, CliError> {
    if arguments.model.len() < 2 {
        return Err(CliError::Refused(
            "a comparison needs two models or more; add another --model".to_owned(),
        ));
    }
    let within_ms = arguments.within.map(|time| time.as_secs_f64() * 1000.0);
    // The arguments are checked before models are asked, which takes long and may cost money.
    check_rules(arguments, within_ms)?;
    for model in &arguments.model {
        check_model_name(model, true)?;
    }
    super::check_out(arguments.out.as_deref())?;
    let plan = ComparisonPlan {
        replay: ReplayPlan {
            // A comparison of several samples would mostly measure chance within a model.
            samples: Some(1),
            is_comparison: true,
            contexts: arguments.context.into_iter().collect(),
            out: arguments.out.clone(),
            connections: arguments.connections.map(usize::from),
            ..arguments
                .holes
                .plan(HOLES, arguments.model.clone(), &arguments.execution)?
        },
        within_ms,
        stops_early: !arguments.no_early_stop,
        max_time: arguments.max_time,
        max_calls: arguments.max_calls,
    };
    let outcome = compare::run(&plan, listener)?;
    let comparison = ModelComparison::load(&outcome, within_ms)?;
    if arguments.github {
        write_summary(&comparison.markdown())?;
    } else if arguments.json {
        outln!("{}", serde_json::to_string(&comparison).unwrap_or_default());
    } else {
        out!("{}", comparison.text(width));
        for model in &comparison.models {
            outln!("run of {}: {}", model.model, model.run);
        }
        let runs = comparison.models.iter();
        let runs: Vec<String> = runs
            .map(|it| super::shell_word(Path::new(&it.run)))
            .collect();
        outln!("\nnext:\n  fillrate report {} -o pages", runs.join(" "));
    }
    let mut failures = Vec::new();
    // All rules are evaluated, so that one run of CI shows every failure.
    for rule in &arguments.fail_if {
        match rule.failure(&comparison) {
            Ok(failure) => failures.extend(failure),
            // A rule that can't be applied must neither pass nor hide others.
            Err(error) => failures.push(error.to_string()),
        }
    }
    if !failures.is_empty() {
        return Err(CliError::Refused(format!(
            "--fail-if: {}",
            failures.join("; ")
        )));
    }
    let incomplete = outcome.runs.iter().filter(|run| !run.is_complete);
    let incomplete: Vec<&ReplayedRun> = incomplete.collect();
    for ReplayedRun { title, run, .. } in &incomplete {
        note!("fillrate: {}", missing_attempts(title, run)?);
    }
    if !incomplete.is_empty() {
        note!("fillrate: rerun the command to make them");
        return Ok(Success::Partial);
    }
    Ok(success(&outcome.absent))
}

/// Refuses rules of models or of a time that are not compared, before any work is done.
fn check_rules(arguments: &CompareArguments, within_ms: Option<f64>) -> Result<(), CliError> {
    // Runs are named after the stems of the settings files.
    let name = |model: &String| {
        let stem = Path::new(model).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    };
    let names: Vec<String> = arguments.model.iter().map(name).collect();
    for rule in &arguments.fail_if {
        rule.check(&names, within_ms)?;
    }
    Ok(())
}

/// Adds a text to the job's summary, or prints it outside of GitHub Actions.
fn write_summary(text: &str) -> Result<(), CliError> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) else {
        out!("{text}");
        return Ok(());
    };
    let mut options = std::fs::OpenOptions::new();
    // Other steps of the job may have written to the summary already.
    let file = options.create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(CliError::file(path))
}
