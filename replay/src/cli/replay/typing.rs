//! `--mode type`: a developer types the reference of each hole, once for each policy.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fillrate_engine::developer::policy::Policy;
use fillrate_engine::developer::typing::{Pace, TypistSettings};
use fillrate_engine::developer::typist::Typist;
use fillrate_engine::store::DeveloperSettings;

use super::super::CliError;

/// Action of the developer at a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ReplayMode {
    /// Asks once, as in the papers
    #[default]
    Fill,
    /// Asks once, then types the reference key by key and accepts completions by each policy
    Type,
}

/// Arguments for simulated developers.
#[derive(Args)]
pub(super) struct TypingArguments {
    /// Action of the developer at a hole
    ///
    /// fill: asks once. type: also opens the file anew for each policy, types the hole's reference
    /// with a typist's rhythm, and accepts completions by the policy; wrong text is deleted, and
    /// every key counts.
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "fill|type"
    )]
    mode: ReplayMode,
    /// Policies by which the developer accepts completions: accept-all, oracle-prefix, first-token,
    /// line or probabilistic=FILE, each also as NAME+latency [default: oracle-prefix when typing]
    ///
    /// With `+latency` the developer types on and does not see what comes later than the next key.
    /// FILE is one that `fillrate fit` wrote. When filling, all are held against the same
    /// completions.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    policy: Vec<String>,
    /// Typing rhythm of the developer: a file, see the evaluator's reference page [default: a
    /// skilled typist of 55 words a minute]
    #[arg(long, value_name = "FILE")]
    typist: Option<PathBuf>,
    /// Another seed gives other pauses
    #[arg(long, default_value_t = 0, value_name = "N")]
    typing_seed: u64,
    /// Whose clock counts: virtual, on which pauses take no time; or real, on which they are slept
    #[arg(long, default_value_t, value_name = "CLOCK")]
    pace: Pace,
    /// Latency of every response in milliseconds, in place of the measured one: a run with it is
    /// reproducible to the byte
    #[arg(long, value_name = "MS", value_parser = latency)]
    latency: Option<f64>,
}

/// A time that is not negative.
fn latency(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|ms: &f64| ms.is_finite() && *ms >= 0.0)
        .ok_or_else(|| "it must be a number of milliseconds, 0 or more".to_owned())
}

impl TypingArguments {
    /// True if the developer types.
    pub(super) fn types(&self) -> bool {
        self.mode == ReplayMode::Type
    }

    /// The file with the typing rhythm, if it names one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.typist.as_deref()
    }

    /// The policies and the typist; `None` if neither typing nor a policy is requested.
    ///
    /// # Errors
    /// The policy or the typist does not exist, or an option has no effect.
    pub(super) fn developer_settings(&self) -> Result<Option<DeveloperSettings>, CliError> {
        let refused = |reason: String| Err(CliError::Refused(reason));
        // An option without an effect is an error, so that no one relies on it.
        if !self.types() && self.latency.is_some() {
            return refused(
                "--latency scripts the time of answers to a developer who types; add --mode type"
                    .to_owned(),
            );
        }
        if self.pace == Pace::Real && self.latency.is_some() {
            return refused(
                "--latency scripts the time of answers, and with --pace real it is the wall's; \
                 leave one of them out"
                    .to_owned(),
            );
        }
        // Policies without typing are compared with the completions afterwards.
        if !self.types() && self.policy.is_empty() {
            if self.typist.is_some() || self.typing_seed != 0 || self.pace != Pace::default() {
                return refused(
                    "--typist, --typing-seed and --pace are of a developer who types; add --mode \
                     type or --policy"
                        .to_owned(),
                );
            }
            return Ok(None);
        }
        let mut policies: Vec<Policy> = Vec::new();
        let default = ["oracle-prefix".to_owned()];
        let names = match self.policy.as_slice() {
            [] => &default[..],
            names => names,
        };
        for name in names {
            let read = |file: &str| std::fs::read_to_string(file).map_err(|e| e.to_string());
            let policy =
                Policy::parse(name, read).map_err(|error| CliError::Refused(error.to_string()))?;
            // Figures are named after their policy, so two of one name can't be distinguished.
            if policies.iter().any(|other| other.name() == policy.name()) {
                return refused(format!("--policy names `{policy}` twice"));
            }
            policies.push(policy);
        }
        let typist = match &self.typist {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(CliError::file(path))?;
                Typist::parse(&text)
                    .map_err(|error| CliError::Refused(format!("{}: {error}", path.display())))?
            }
            None => Typist::default(),
        };
        Ok(Some(DeveloperSettings {
            policies,
            typing: TypistSettings {
                typist,
                seed: self.typing_seed,
                pace: self.pace,
                latency_ms: self.latency,
            },
        }))
    }
}

/// Refuses predictions, which have completions for the beginning of a hole alone.
pub(in super::super) fn check_typed_models(models: &[String]) -> Result<(), CliError> {
    let is_prediction = |name: &&String| {
        let ending = Path::new(name).extension();
        *name == "predictions" || ending.is_some_and(|ending| ending == "jsonl")
    };
    match models.iter().find(is_prediction) {
        Some(name) => Err(CliError::Refused(format!(
            "a developer who types asks for completions all along a hole, and `--model {name}` has \
             them for its beginning alone; leave it out"
        ))),
        None => Ok(()),
    }
}
