//! Errors of an import.

use std::path::{Path, PathBuf};

use fillrate_language::task::TaskError;
use fillrate_verdict::corpus::CorpusError;

/// Reason for the failure of an import. A failed import leaves no files.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record is not what its format says.
    #[error("{path}, line {line}: {reason}")]
    Record {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// A sentence that names the field.
        reason: String,
    },
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The tasks file.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A repository can't be copied.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The request can't be carried out.
    #[error("{0}")]
    Refused(String),
}

impl ImportError {
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// Fault of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {reason}")]
pub(super) struct RecordFault {
    /// The dotted field.
    pub(super) field: String,
    /// The rest of a sentence that begins with the field.
    pub(super) reason: String,
}

impl RecordFault {
    pub(super) fn new(field: &str, reason: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            reason: reason.into(),
        }
    }
}
