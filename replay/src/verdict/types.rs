//! What TypeScript's own checker says of a changed file.
//!
//! It is a detail of a verdict and never its reason: a program may be right and not type-check,
//! as vitest and others take the types away unread, and the other way round. What counts is what
//! is new: errors that the unchanged project has already are not the change's.

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::VerdictError;
use super::runner::Bench;
use super::stage::ask;
use crate::sandbox::{Job, Sandbox, SandboxError, Worker};

/// The errors that a change adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCheck {
    /// In the changed file itself.
    pub own: TypeErrors,
    /// In the project's other files.
    pub others: TypeErrors,
}

/// Errors of the checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeErrors {
    /// How many.
    pub count: usize,
    /// The first of them, as in `TS2304: Cannot find name 'x'.`
    pub first: Vec<String>,
}

impl TypeCheck {
    /// Whether the change adds no error anywhere.
    pub fn passes(&self) -> bool {
        self.own.count == 0 && self.others.count == 0
    }
}

/// A checker that is kept and only ever shown text.
#[derive(Debug)]
pub(super) struct Types {
    job: Job,
    /// Nothing before the first question, and after one that it died of.
    worker: Mutex<Option<Worker>>,
}

/// The script that keeps the checker, as name and contents.
pub(super) const SCRIPT: (&str, &str) = (
    "fillrate_types.mjs",
    include_str!("harness/fillrate_types.mjs"),
);

/// Longest time for the whole project.
pub(super) const WHOLE: Duration = Duration::from_secs(900);
/// Longest time for one change.
const ONE: Duration = Duration::from_secs(120);

/// What the checker answers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Checked(TypeCheck),
    Outside {
        #[serde(rename = "outside")]
        _outside: bool,
    },
}

impl Types {
    /// For a project that has TypeScript in its environment and a `tsconfig.json`; nothing for
    /// others.
    pub(super) fn of(bench: &Bench, cache: &std::path::Path) -> Result<Option<Self>, VerdictError> {
        Ok(bench.checker(cache)?.map(|job| Self {
            job,
            worker: Mutex::default(),
        }))
    }

    /// What a change adds; nothing where the project's types don't take in the file, its own
    /// program can't be checked or the check takes too long.
    pub(super) fn check(
        &self,
        path: &str,
        contents: &str,
    ) -> Result<Option<TypeCheck>, VerdictError> {
        let mut worker = super::lock(&self.worker);
        if worker.is_none() {
            match Worker::start(Sandbox::default().executable, self.job.clone()) {
                Ok(started) => *worker = Some(started),
                Err(error @ (SandboxError::Program { .. } | SandboxError::BelowLevel { .. })) => {
                    tracing::debug!("types are not checked: {error}");
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let question = serde_json::json!({"path": path, "contents": contents}).to_string();
        Ok(match ask(&mut worker, question, ONE)? {
            Some(Answer::Checked(checked)) => Some(checked),
            Some(Answer::Outside { .. }) | None => None,
        })
    }
}
