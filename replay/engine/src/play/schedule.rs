//! Attempts of a run that are missing, by their keys.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use fillrate_language::task::{Hole, sha256_hex};
use fillrate_mine::contexts::HoleView;
use fillrate_mine::written::CodeView;
use fillrate_server::context::EarlierAttempt;
use fillrate_verdict::Outcome;
use serde_json::{Value, json};

use super::projects::PlayableProject;
use super::subject::{ModelUnderTest, VerbatimCompletions};
use crate::developer::policy::Policy;
use crate::store::{Attempt, DeveloperSettings, Run, StoreError, TypingAttempt};

/// Parameters that the attempts of one subject depend on.
pub(super) struct ReplayParameters<'a> {
    /// Number of completions that are requested at each hole; `None` for the number of predictions.
    pub(super) samples: Option<u32>,
    /// Number of repair rounds after a completion that fails.
    pub(super) repair_rounds: u32,
    /// Timeout for a completion.
    pub(super) request_timeout: Duration,
    /// The model under test.
    pub(super) subject: &'a ModelUnderTest,
    /// Source of completions.
    pub(super) source: CompletionSource<'a>,
    /// Settings for typing the holes; `None` if they are only filled.
    pub(super) developer: Option<&'a DeveloperSettings>,
    /// The telemetry store; `None` disables recording.
    pub(super) telemetry: Option<PathBuf>,
    /// The projects, by name.
    pub(super) projects: BTreeMap<&'a str, &'a PlayableProject>,
}

/// Source of the completions of a replay.
pub(super) enum CompletionSource<'a> {
    /// They are given and judged unchanged; no server is started.
    Verbatim(VerbatimCompletions),
    /// A server, which gets the holes as they are presented: by id.
    Server(&'a HashMap<String, HoleView>),
}

/// Samples and typings that are missing at one hole.
pub(super) struct HoleJob<'a> {
    /// The hole.
    pub(super) hole: &'a Hole,
    /// Samples that are missing, or whose repair rounds are.
    pub(super) samples: Vec<MissingSample>,
    /// Policies under which the hole has not been typed.
    pub(super) policies: Vec<&'a Policy>,
}

/// A sample that is not complete.
pub(super) struct MissingSample {
    /// Index of the sample, from 0.
    pub(super) number: u32,
    /// The repair round that is missing, from 0.
    pub(super) repair_round: u32,
    /// The completion of the round before and its verdict.
    pub(super) earlier: Option<EarlierAttempt>,
}

impl HoleJob<'_> {
    /// Returns the number of samples and typings that are missing.
    pub(super) fn units(&self) -> usize {
        self.samples.len() + self.policies.len()
    }
}

impl<'a> ReplayParameters<'a> {
    /// Returns the number of samples of a hole.
    pub(super) fn samples_at(&self, hole: &Hole) -> u32 {
        let given = match &self.source {
            CompletionSource::Verbatim(texts) => texts.get(&hole.id),
            CompletionSource::Server(_) => None,
        };
        let given = given.map(|texts| u32::try_from(texts.len()).unwrap_or(u32::MAX));
        // More samples than a hole has predictions can't be made.
        match (self.samples, given) {
            (Some(wanted), Some(given)) => wanted.min(given),
            (Some(wanted), None) => wanted,
            (None, given) => given.unwrap_or(1),
        }
    }

    /// Returns the number of samples and typings of all holes.
    pub(super) fn total(&self, holes: &[Hole]) -> usize {
        let policies = self
            .developer
            .map_or(0, |developer| developer.policies.len());
        holes
            .iter()
            .map(|hole| self.samples_at(hole) as usize + policies)
            .sum()
    }

    /// Returns the samples and typings that a run lacks at each hole. Infrastructure failures are
    /// repeated.
    pub(super) fn missing_jobs<'h>(
        &'h self,
        holes: &'h [Hole],
        attempts: Vec<Attempt>,
        typings: Vec<TypingAttempt>,
    ) -> Vec<HoleJob<'h>> {
        let done: HashMap<String, Attempt> = attempts
            .into_iter()
            .filter(|attempt| attempt.verdict.outcome != Outcome::Infrastructure)
            .map(|attempt| (attempt.key.clone(), attempt))
            .collect();
        let typed: HashSet<String> = typings
            .into_iter()
            .filter(|typing| !typing.has_infrastructure_failure())
            .map(|typing| typing.key)
            .collect();
        let policies = self
            .developer
            .map_or(&[][..], |developer| &developer.policies);
        let jobs = holes.iter().map(|hole| HoleJob {
            hole,
            samples: (0..self.samples_at(hole))
                .filter_map(|number| self.missing_sample(hole, number, &done))
                .collect(),
            policies: policies
                .iter()
                .filter(|policy| !typed.contains(&self.typing_key(hole, policy)))
                .collect(),
        });
        jobs.filter(|job| !job.samples.is_empty() || !job.policies.is_empty())
            .collect()
    }

    /// Checks that the attempts of a run that is continued depend on these parameters. Otherwise a
    /// sample would be made a second time and would count twice.
    ///
    /// # Errors
    /// An attempt depends on something else. What [`Run::identity`] lacks is how a project's tests
    /// are run.
    pub(super) fn check_attempts(&self, run: &Run) -> Result<(), StoreError> {
        let (holes, attempts) = (run.holes()?, run.attempts()?);
        let is_other = |attempt: &&Attempt| {
            // A project that is absent now keeps its attempts.
            let hole = holes.get(&attempt.hole);
            let hole = hole.filter(|hole| self.projects.contains_key(hole.project.as_str()));
            hole.is_some_and(|hole| {
                self.attempt_key(hole, attempt.sample, attempt.repair_round) != attempt.key
            })
        };
        match attempts.iter().find(is_other) {
            Some(attempt) => Err(StoreError::OtherRun {
                folder: run.folder().to_owned(),
                difference: format!("the way in which the tests of `{}` run", attempt.project),
            }),
            None => Ok(()),
        }
    }

    /// The first repair round of a sample that is missing; `None` if the sample is complete.
    fn missing_sample(
        &self,
        hole: &Hole,
        number: u32,
        done: &HashMap<String, Attempt>,
    ) -> Option<MissingSample> {
        let mut earlier = None;
        for repair_round in 0..=self.repair_rounds {
            let Some(attempt) = done.get(&self.attempt_key(hole, number, repair_round)) else {
                return Some(MissingSample {
                    number,
                    repair_round,
                    earlier,
                });
            };
            if !attempt.is_repairable() {
                return None;
            }
            earlier = Some(earlier_attempt(attempt));
        }
        None
    }

    /// The hash of everything that an attempt depends on. The prompt of a repair round follows
    /// from the rounds before it, which depend on the same.
    pub(super) fn attempt_key(&self, hole: &Hole, sample: u32, repair_round: u32) -> String {
        let mut parts = self.key_parts(hole, sample);
        if let Some(latency) = self.scripted_latency() {
            parts.push(json!({"latency": latency}));
        }
        if repair_round > 0 {
            parts.push(json!({"repair_round": repair_round}));
        }
        hash(parts)
    }

    /// The hash of everything that a typing depends on.
    pub(super) fn typing_key(&self, hole: &Hole, policy: &Policy) -> String {
        let mut parts = self.key_parts(hole, 0);
        parts.push(json!({
            "policy": policy,
            "version": policy.version(),
            "typing": self.developer.map(|developer| &developer.typing),
        }));
        hash(parts)
    }

    /// The latency of every answer in milliseconds if it is set and not measured.
    pub(super) fn scripted_latency(&self) -> Option<f64> {
        self.developer?.typing.latency_ms
    }

    /// Values that attempts and typings at a hole depend on. Runs are resumed by these values: a
    /// change of them makes a run start over.
    fn key_parts(&self, hole: &Hole, sample: u32) -> Vec<Value> {
        let project = self.projects.get(hole.project.as_str());
        let judge = project.and_then(|project| Some(project.judge.as_ref()?.key()));
        let mut parts = vec![
            json!(hole.id),
            json!(hole.file_sha256),
            json!(self.subject.name),
            json!(self.subject.configuration),
            json!(sample),
            json!(judge),
            json!(self.request_timeout.as_secs()),
        ];
        if let Some(paper) = self.subject.paper {
            parts.push(json!(paper.to_string()));
        }
        let hidden = project.map(|project| project.prepared.project.hidden.patterns());
        if let Some(hidden) = hidden.filter(|hidden| !hidden.is_empty()) {
            parts.push(json!({"hidden": hidden}));
        }
        if self.subject.view != CodeView::Finished {
            let view = self.subject.view.to_string();
            parts.push(json!({"view": view, "version": CodeView::VERSION}));
        }
        parts
    }
}

/// Returns the failed attempt as the model receives it.
pub(super) fn earlier_attempt(attempt: &Attempt) -> EarlierAttempt {
    EarlierAttempt {
        completion: attempt.completion().to_owned(),
        feedback: attempt.verdict.feedback(),
    }
}

fn hash(parts: Vec<Value>) -> String {
    sha256_hex(Value::Array(parts).to_string().as_bytes())
}
