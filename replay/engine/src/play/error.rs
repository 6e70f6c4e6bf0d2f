//! Errors that stop the engine.

use std::path::PathBuf;

use fillrate_language::task::TaskError;
use fillrate_server::configuration::ConfigurationError;
use fillrate_server::model::ModelError;
use fillrate_verdict::VerdictError;
use fillrate_verdict::corpus::CorpusError;
use fillrate_verdict::corpus::history::HistoryError;
use fillrate_verdict::corpus::manifest::ManifestError;
use fillrate_verdict::corpus::pack::PackError;

use super::score::InputError;
use crate::developer::DeveloperError;
use crate::store::StoreError;

/// Reason for which the engine stops.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A corpus's manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A corpus's sources or environments are unavailable.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The times of a project's lines are unknown.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A pack can't be made.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A tasks file is invalid, or a hole does not fit its project.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The run database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A project's tests or the sandbox fail.
    #[error(transparent)]
    Verdict(#[from] VerdictError),
    /// The session with the language server fails.
    #[error(transparent)]
    Developer(#[from] DeveloperError),
    /// The server's settings are invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The model's settings are invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Examples and predictions can't be scored.
    #[error(transparent)]
    Scoring(#[from] InputError),
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The request is invalid, or nothing could be done.
    #[error("{0}")]
    Refused(String),
    /// There is nothing to work on: no project is left, or no hole.
    #[error("{0}")]
    Empty(String),
}

impl PlayError {
    /// Adds the file's path to an I/O error.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// Returns the result of a step that another step followed, or the first of their errors, which
    /// is the cause of the other.
    pub(super) fn first_of<T>(
        step: Result<T, Self>,
        following: Result<(), impl Into<Self>>,
    ) -> Result<T, Self> {
        let done = step?;
        following.map_err(Into::into)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_two_errors_is_returned() {
        let refused = |text: &str| PlayError::Refused(text.to_owned());
        let message = |step: Result<u8, PlayError>, following: Result<(), PlayError>| {
            PlayError::first_of(step, following).map_err(|error| error.to_string())
        };
        assert_eq!(
            message(Err(refused("a")), Err(refused("b"))),
            Err("a".into())
        );
        assert_eq!(message(Err(refused("a")), Ok(())), Err("a".into()));
        assert_eq!(message(Ok(1), Err(refused("b"))), Err("b".into()));
        assert_eq!(message(Ok(1), Ok(())), Ok(1));
    }
}
