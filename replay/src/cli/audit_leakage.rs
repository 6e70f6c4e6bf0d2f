//! `fillrate audit-leakage`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::PlayError;
use fillrate_engine::store::Run;
use fillrate_metrics::{Estimate, Unit};
use fillrate_report::leakage::{LeakageAudit, LeakageParameters};
use fillrate_report::table::{TextTable, TextWidth};
use serde_json::json;

use super::{CliError, Success};

/// Look for signs that a run's model has seen the benchmark.
///
/// A hole counts as leaked if more than a share XI of its samples are copies of the greedy output:
/// within a share ALPHA of the longest output's length, in tokens (CDD, Dong et al. 2024). Replay
/// with `--samples 50` at temperature 0.8 for the samples, and at temperature 0 for the greedy
/// outputs.
#[derive(Args)]
pub(super) struct LeakageArguments {
    /// The run with the samples: a folder that `replay` wrote
    run: PathBuf,
    /// The run with the greedy outputs [default: the first sample of each hole]
    #[arg(long, value_name = "RUN")]
    greedy: Option<PathBuf>,
    /// The share of the length up to which an output is a copy
    #[arg(long, default_value_t = LeakageParameters::default().alpha, value_parser = super::share)]
    alpha: f64,
    /// The share of copies above which a hole counts as leaked
    #[arg(long, default_value_t = LeakageParameters::default().xi, value_parser = super::share)]
    xi: f64,
    /// The length of n-grams, in words and signs
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    ngram: u16,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &LeakageArguments, width: TextWidth) -> Result<Success, CliError> {
    let run = Run::open(&arguments.run)?;
    let greedy = arguments.greedy.as_deref().map(Run::open).transpose()?;
    let parameters = LeakageParameters {
        alpha: arguments.alpha,
        xi: arguments.xi,
        n: usize::from(arguments.ngram),
    };
    let audit = LeakageAudit::load(&run, greedy.as_ref(), parameters)?;
    if audit.leaked.is_none() {
        return Err(CliError::Play(PlayError::Empty(format!(
            "{} has no samples in addition to the greedy outputs; replay with `--samples`, 2 or more",
            arguments.run.display()
        ))));
    }
    if arguments.json {
        outln!("{}", json!(audit));
        return Ok(Success::Whole);
    }
    let mut table = TextTable::new(["leaked hole", "samples", "peakedness", "n-gram overlap"]);
    let number = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{share:.3}"));
    for hole in audit.holes.iter().filter(|hole| hole.leaked) {
        table.add_row([
            hole.hole.clone(),
            hole.samples.to_string(),
            number(hole.peakedness),
            number(hole.overlap),
        ]);
    }
    if audit.holes.iter().any(|hole| hole.leaked) {
        outln!("{}", table.render(width));
    }
    let figure = |estimate: Option<Estimate>| match estimate {
        Some(estimate) => Unit::Fraction.render(&estimate).sentence(),
        None => "–".to_owned(),
    };
    outln!(
        "leaked/cdd: {} (α {}, ξ {})",
        figure(audit.leaked),
        arguments.alpha,
        arguments.xi
    );
    outln!(
        "n-gram overlap of references and greedy outputs: {} (n-grams of {})",
        figure(audit.overlap),
        arguments.ngram
    );
    Ok(Success::Whole)
}
