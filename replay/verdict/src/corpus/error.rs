//! Errors of preparing a project.

use std::io;
use std::path::{Path, PathBuf};

use fillrate_language::environment::EnvironmentError;

use super::manifest::ManifestError;

/// Reason why a project could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The given path of a corpus does not exist.
    #[error("{} does not exist; {}", path.display(), advise(nearest.as_deref()))]
    Missing {
        /// The path as it was named.
        path: PathBuf,
        /// The path with a similar name beside it, if there is one.
        nearest: Option<PathBuf>,
    },
    /// The manifest is not valid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An outside program is missing or failed, the file system refused something, or a source
    /// or an environment can't be used.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The downloaded source is not the one that the manifest pins.
    #[error(
        "the source of `{project}` has the hash {actual}, but the manifest pins {expected}; \
         nothing of it was unpacked"
    )]
    HashMismatch {
        /// The project's name.
        project: String,
        /// The hash in the manifest.
        expected: String,
        /// The hash of the downloaded source.
        actual: String,
    },
    /// An archive or a tree has an entry that no source has a need for.
    #[error("the source of `{project}` was refused: `{entry}` {reason}")]
    Refused {
        /// The project's name.
        project: String,
        /// The entry's path, as written in the archive or tree.
        entry: String,
        /// The fault of the entry, as the rest of a sentence.
        reason: String,
    },
    /// A download failed.
    #[error(
        "{url} could not be fetched for `{project}`: {message}; check the network and the address"
    )]
    Download {
        /// The project's name.
        project: String,
        /// The address.
        url: String,
        /// The client's own words.
        message: String,
    },
}

/// Advice on a corpus that does not exist.
fn advise(nearest: Option<&Path>) -> String {
    match nearest {
        Some(nearest) => format!("the nearest name there is {}", nearest.display()),
        None => "name a manifest (FILE.toml), a repository's folder, or its address: \
                 https://HOST/OWNER/NAME, github.com/OWNER/NAME, git@HOST:OWNER/NAME, ssh://… or \
                 DIR, each with @REVISION after it if need be; a package of PyPI or npm is named in \
                 a manifest (corpora/README.md)"
            .to_owned(),
    }
}

impl CorpusError {
    /// Turns an [`io::Error`] into an error that names the operation and its path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Environment(EnvironmentError::io(action, path)(source))
    }

    /// A project whose source or settings can't be used; `message` names the fault and the remedy.
    pub(crate) fn unusable(project: &str, message: String) -> Self {
        Self::Environment(EnvironmentError::Unusable {
            project: project.to_owned(),
            message,
        })
    }
}
