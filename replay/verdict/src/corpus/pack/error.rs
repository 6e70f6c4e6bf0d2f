//! Errors of making or unpacking a pack.

use std::io;
use std::path::{Path, PathBuf};

use crate::corpus::CorpusError;

/// Reason why a pack can't be made or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file or folder can't be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The cache can't be used.
    #[error(transparent)]
    Cache(#[from] CorpusError),
    /// An item changed while it was packed.
    #[error("{0} changed while it was packed; run this again once nothing writes to it")]
    Changed(PathBuf),
    /// The file is not a pack.
    #[error("{0} is no pack; `fillrate pack CORPUS -o FILE` makes one")]
    NoPack(PathBuf),
    /// A pack is of another version of the format.
    #[error(
        "{path} is a pack of version {found}, and this program reads version {}; pack with this \
         program",
        super::SCHEMA
    )]
    Version {
        /// The pack.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A pack differs from the one that was written.
    #[error("{path} is damaged: {item} in it is not what was packed; copy the pack again")]
    Damaged {
        /// The pack.
        path: PathBuf,
        /// The item that is damaged, or after which the pack is.
        item: PathBuf,
    },
    /// A pack is of a cache at another path.
    #[error(
        "{path} was packed in the cache {packed}, whose path its environments hold, and the cache \
         here is {here}; set FILLRATE_CACHE={packed}"
    )]
    OtherCache {
        /// The pack.
        path: PathBuf,
        /// The cache it was made of.
        packed: PathBuf,
        /// The cache it would be unpacked into.
        here: PathBuf,
    },
    /// The interpreter of an environment is missing.
    #[error(
        "{path} has environments for {interpreter} ({version}), which does not exist here; install \
         it, or use the image that the pack was made in"
    )]
    NoInterpreter {
        /// The pack.
        path: PathBuf,
        /// The interpreter's path.
        interpreter: PathBuf,
        /// Its version.
        version: String,
    },
}

impl PackError {
    /// Adds the path to an I/O error.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
