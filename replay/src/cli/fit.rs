//! `fillrate fit`.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use fillrate_engine::developer::fit::fit;
use fillrate_engine::developer::gate::{FrontierPoint, GateFit, fit_gate};
use fillrate_engine::developer::policy::FittedPolicy;
use fillrate_server::telemetry::{self, RecordedCompletion};
use fillrate_study::telemetry::{gate_observations, shown_observations};

use super::{CliError, Success};

/// Fit a policy that accepts completions as people did, for `replay --policy probabilistic=FILE`,
/// or a gate that holds completions back
///
/// The command fits the probability that a shown completion is accepted, and writes a file with the
/// coefficients, their errors, how well they predict sessions left out of the fit, and the data
/// they are from. With --gate the file is a gate, for the setting `typing.gate`: the server shows
/// no completion that is less likely to be accepted than its threshold. The command prints what
/// thresholds hold back, and which accepted characters they lose, on sessions left out of the fit.
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
    /// Fit a gate, not a policy
    #[arg(long)]
    gate: bool,
}

pub(super) fn run(arguments: &FitArguments) -> Result<Success, CliError> {
    super::check_writable_file(&arguments.out)?;
    super::check_not_input(&arguments.out, &arguments.telemetry)?;
    let completions = read_completions(&arguments.telemetry)?;
    if arguments.gate {
        return write_gate(arguments, &completions);
    }
    let observations = shown_observations(&completions);
    let name = arguments.out.file_stem().unwrap_or_default();
    let fitted = fit(&name.to_string_lossy(), &observations, arguments.simulated)
        .map_err(|error| CliError::Refused(error.to_string()))?;
    let text = toml::to_string(&fitted).map_err(|error| CliError::Refused(error.to_string()))?;
    std::fs::write(&arguments.out, text).map_err(CliError::file(&arguments.out))?;
    out!("{}", summary(&fitted));
    Ok(Success::Whole)
}

/// The completions of several stores or exports, each once.
pub(super) fn read_completions(paths: &[PathBuf]) -> Result<Vec<RecordedCompletion>, CliError> {
    let mut completions = Vec::new();
    let mut known = HashSet::new();
    for path in paths {
        for recorded in telemetry::read(path)?.completions {
            // A store and its export hold the same completions.
            if known.insert(recorded.answered.completion.clone()) {
                completions.push(recorded);
            }
        }
    }
    Ok(completions)
}

/// Fits a gate, writes it and prints its frontier.
fn write_gate(
    arguments: &FitArguments,
    completions: &[RecordedCompletion],
) -> Result<Success, CliError> {
    let observations = gate_observations(completions);
    let fit = fit_gate(&observations, arguments.simulated)
        .map_err(|error| CliError::Refused(error.to_string()))?;
    let text = toml::to_string(&fit.gate).map_err(|error| CliError::Refused(error.to_string()))?;
    std::fs::write(&arguments.out, text).map_err(CliError::file(&arguments.out))?;
    out!("{}", gate_summary(&fit));
    Ok(Success::Whole)
}

/// The fitted gate and its frontier as text.
fn gate_summary(fit: &GateFit) -> String {
    let GateFit { gate, .. } = fit;
    let evidence = &gate.evidence;
    let kind = if gate.simulated {
        "simulated completions (not a person's)"
    } else {
        "completions"
    };
    let mut text = format!(
        "gate: {} of {} shown {kind} accepted, in {} sessions\n",
        evidence.accepted, evidence.shown, evidence.sessions
    );
    text.push_str(&format!("  {:<22} {:+.4}\n", "intercept", gate.intercept));
    for (feature, coefficient) in &gate.coefficients {
        let name = serde_json::to_value(feature).unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        text.push_str(&format!("  {name:<22} {coefficient:+.4}\n"));
    }
    text.push_str("each session judged by a fit to the others:\n");
    text.push_str("  threshold   shown less   accepted characters lost\n");
    let mut line = |point: &FrontierPoint, mark: &str| {
        text.push_str(&format!(
            "  {:>9.4}   {:>8.1} %   {:>8.1} %{mark}\n",
            point.threshold,
            100.0 * point.held_back,
            100.0 * point.characters_lost
        ));
    };
    for point in fit.tenths() {
        line(&point, "");
    }
    match fit.chosen() {
        Some(point) => line(&point, "   the gate's"),
        None => {
            text.push_str("no threshold loses as little as the gate may: it holds nothing back\n")
        }
    }
    text
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
