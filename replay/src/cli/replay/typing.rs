//! `--mode type`: a developer types what stood in each hole, once for each policy.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fillrate_server::completion::Source;
use fillrate_server::context::Given;
use fillrate_server::text::ByteOffset;
use lsp_types::Command;
use serde_json::{Value, json};

use super::super::CliError;
use crate::developer::policy::Policy;
use crate::developer::typing::{Answer, Editor, Fate, Hands, Pace, Request};
use crate::developer::typist::Typist;
use crate::developer::{Buffer, Developer, DeveloperError};
use crate::store::Behaviour;

/// What the developer does at a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Asks once, as in the papers
    #[default]
    Fill,
    /// Asks once, and then types what stood there, key by key, and takes completions by each
    /// policy
    Type,
}

/// How a simulated developer types and accepts.
#[derive(Args)]
pub(super) struct Typed {
    /// What the developer does at a hole
    ///
    /// fill: asks once. type: also opens the file anew for each policy, types what stood in the hole
    /// with a typist's rhythm, and takes completions as the policy says; what is then wrong is
    /// taken back, and every key counts.
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "fill|type"
    )]
    mode: Mode,
    /// What the developer accepts: accept-all, oracle-prefix, first-token, line or
    /// probabilistic=FILE, each also as NAME+latency [default: oracle-prefix when typing]
    ///
    /// With `+latency` the developer types on and does not see what comes later than the next key.
    /// FILE is one that `fillrate fit` wrote. When filling, all are held against the same
    /// completions.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    policy: Vec<String>,
    /// How fast the developer types: a file, see the evaluator's reference page [default: a skilled
    /// typist of 55 words a minute]
    #[arg(long, value_name = "FILE")]
    typist: Option<PathBuf>,
    /// Another seed gives other pauses
    #[arg(long, default_value_t = 0, value_name = "N")]
    typing_seed: u64,
    /// Whose clock counts: virtual, on which pauses take no time; or real, on which they are slept
    #[arg(long, default_value_t, value_name = "CLOCK")]
    pace: Pace,
    /// How long every answer takes, in milliseconds, in place of what was measured: a run with it
    /// can be repeated to the byte
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

impl Typed {
    /// Whether the developer types.
    pub(super) fn types(&self) -> bool {
        self.mode == Mode::Type
    }

    /// What the developer does with completions; nothing where that was not asked for.
    ///
    /// # Errors
    /// There is no such policy or typist, or an option is given that has no meaning.
    pub(super) fn behaviour(&self) -> Result<Option<Behaviour>, CliError> {
        let refused = |reason: String| Err(CliError::Refused(reason));
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
        if !self.types() && self.policy.is_empty() {
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
                Policy::named(name, read).map_err(|error| CliError::Refused(error.to_string()))?;
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
        Ok(Some(Behaviour {
            policies,
            hands: Hands {
                typist,
                seed: self.typing_seed,
                pace: self.pace,
                latency_ms: self.latency,
            },
        }))
    }
}

/// An open file, and the server that sees its edits.
pub(super) struct Keyboard<'a> {
    pub(super) developer: &'a mut Developer,
    pub(super) buffer: Buffer,
    pub(super) given: Option<Given>,
    /// Which settings decided the completions, once one was asked for.
    pub(super) configuration: String,
    /// What tells of each request's accept, by candidate, where telemetry is noted.
    pub(super) noted: Option<Vec<Vec<Command>>>,
}

/// Why typing broke off.
pub(super) enum Broken {
    /// The model gave no answer: a fault of the machinery.
    Fault(String),
    /// The conversation failed.
    Developer(DeveloperError),
}

impl Editor for Keyboard<'_> {
    type Error = Broken;

    async fn ask(&mut self, cursor: usize, patience: Duration) -> Result<Answer, Broken> {
        let asked = self.developer.ask_as_typed(
            &self.buffer,
            ByteOffset(cursor),
            patience,
            self.given.clone(),
        );
        let offer = asked.await.map_err(Broken::Developer)?;
        if let Some(noted) = &mut self.noted {
            noted.push(offer.commands);
        }
        if !offer.answered {
            return Ok(Answer::default());
        }
        if let Some(fault) = offer.trace.as_ref().and_then(|trace| trace.fault.clone()) {
            return Err(Broken::Fault(fault));
        }
        if let Some(trace) = &offer.trace {
            self.configuration.clone_from(&trace.configuration);
        }
        let asked_model = offer.trace.filter(|trace| trace.source == Source::Model);
        Ok(Answer {
            candidates: offer.candidates,
            latency_ms: Some(offer.latency.as_secs_f64() * 1000.0),
            model_ms: asked_model.map(|trace| trace.model_ms),
        })
    }

    async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), Broken> {
        let range = ByteOffset(range.start)..ByteOffset(range.end);
        let edited = self.developer.edit(&mut self.buffer, range, text);
        edited.await.map_err(Broken::Developer)
    }

    async fn shown(&mut self, request: usize, ms: f64) -> Result<(), Broken> {
        let commands = self.noted.as_ref().and_then(|noted| noted.get(request));
        let told = commands.and_then(|commands| commands.first());
        let Some(Value::Object(mut event)) =
            told.and_then(|command| command.arguments.as_ref()?.first().cloned())
        else {
            return Ok(());
        };
        event.insert("event".to_owned(), json!("shown"));
        event.insert("certainty".to_owned(), json!("confirmed"));
        event.insert("shownMs".to_owned(), json!(ms));
        let told = self.developer.tell(Value::Object(event));
        told.await.map_err(Broken::Developer)
    }

    async fn accepted(&mut self, request: usize, candidate: usize) -> Result<(), Broken> {
        let commands = self.noted.as_ref().and_then(|noted| noted.get(request));
        if let Some(command) = commands.and_then(|commands| commands.get(candidate)) {
            let run = self.developer.run(command);
            run.await.map_err(Broken::Developer)?;
        }
        Ok(())
    }

    async fn sleep(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// The requests of a session whose completions are judged: those that were accepted, and the
/// first that was shown where nothing was written yet.
pub(super) fn to_judge(requests: &[Request]) -> Vec<usize> {
    let opening = requests
        .iter()
        .position(|request| request.written == 0 && request.fate == Fate::Shown);
    (0..requests.len())
        .filter(|index| requests[*index].accepted.is_some() || Some(*index) == opening)
        .collect()
}

/// Whether a name is of predictions, which know no answer but at a hole's beginning.
pub(super) fn check_model(name: &str) -> Result<(), CliError> {
    let predictions = name == "predictions"
        || Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "jsonl");
    if predictions {
        return Err(CliError::Refused(format!(
            "--mode type asks for completions all along a hole, and `--model {name}` has them for \
             its beginning alone; leave the option out"
        )));
    }
    Ok(())
}
