//! `fillrate fit`.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use fillrate_server::telemetry::{self, CursorKind, RecordedCompletion};

use super::{CliError, Success};
use crate::developer::fit::{ShownObservation, fit};
use crate::developer::policy::{FittedPolicy, LinePosition};

/// Fit a policy that accepts completions as people did, for `replay --policy probabilistic=FILE`
///
/// The command fits the probability that a shown completion is accepted, and writes a file with the
/// coefficients, their errors, how well they predict sessions left out of the fit, and the data
/// they are from.
#[derive(Args)]
pub(super) struct FitArguments {
    /// Stores of telemetry, or exports of them
    #[arg(required = true, value_name = "TELEMETRY")]
    telemetry: Vec<PathBuf>,
    /// The policy's file; its stem is the policy's name in figures
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Fit to simulated completions only, not a person's; the policy is marked so
    #[arg(long)]
    simulated: bool,
}

pub(super) fn run(arguments: &FitArguments) -> Result<Success, CliError> {
    let mut observations = Vec::new();
    let mut known = HashSet::new();
    for path in &arguments.telemetry {
        for recorded in telemetry::read(path)?.completions {
            // A store and its export hold the same completions.
            if known.insert(recorded.answered.completion.clone()) {
                observations.extend(observation(&recorded));
            }
        }
    }
    let name = arguments.out.file_stem().unwrap_or_default();
    let fitted = fit(&name.to_string_lossy(), &observations, arguments.simulated)
        .map_err(|error| CliError::Refused(error.to_string()))?;
    let text = toml::to_string(&fitted).map_err(|error| CliError::Refused(error.to_string()))?;
    std::fs::write(&arguments.out, text).map_err(CliError::file(&arguments.out))?;
    out!("{}", summary(&fitted));
    Ok(Success::Whole)
}

/// The observation of a completion that was shown or accepted; `None` for another.
fn observation(recorded: &RecordedCompletion) -> Option<ShownObservation> {
    let accepted = recorded.accepted.as_ref();
    if recorded.shown.is_none() && accepted.is_none() {
        return None;
    }
    let answered = &recorded.answered;
    let candidate = accepted.map_or(0, |accepted| accepted.candidate);
    let size = answered.candidates.get(candidate)?;
    Some(ShownObservation {
        completion: answered.completion.clone(),
        session: answered.session.clone(),
        at_ms: answered.at_ms,
        characters: size.characters,
        lines: size.lines,
        latency_ms: answered.timings.latency_ms,
        place: match answered.place {
            CursorKind::MidLine => LinePosition::MidLine,
            CursorKind::LineEnd => LinePosition::LineEnd,
            CursorKind::NewBlock => LinePosition::NewBlock,
        },
        accepted: accepted.is_some(),
        simulated: answered.simulated,
    })
}

/// The fitted policy as text.
fn summary(fitted: &FittedPolicy) -> String {
    let data = &fitted.data;
    let kind = if fitted.simulated {
        "simulated completions (not a person's)"
    } else {
        "completions"
    };
    let mut text = format!(
        "policy {}: {} of {} shown {kind} accepted, in {} sessions, from {} to {}\n",
        fitted.name, data.accepted, data.shown, data.sessions, data.first_day, data.last_day
    );
    let mut line = |name: &str, value: f64, se: f64| {
        text.push_str(&format!("  {name:<16} {value:+.4} ± {se:.4}\n"));
    };
    line("intercept", fitted.intercept.value, fitted.intercept.se);
    for one in &fitted.coefficients {
        line(one.feature.name(), one.value, one.se);
    }
    let calibration = &fitted.calibration;
    let se = calibration
        .brier_se
        .map_or_else(String::new, |se| format!(" ± {se:.4}"));
    text.push_str(&format!(
        "on sessions left out ({} folds): Brier {:.4}{se}, of the rate alone {:.4}; expected \
         calibration error {:.4}\nLog odds, with standard errors clustered by session.\n",
        calibration.folds,
        calibration.brier,
        calibration.brier_of_the_rate_alone,
        calibration.expected_calibration_error
    ));
    text
}
