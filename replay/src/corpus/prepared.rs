//! A project that is ready to be played and judged.

use std::path::PathBuf;

use super::environment::Environment;
use super::manifest::Project;

/// A project that is ready: its source and its environment are in the cache.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the manifest says of it.
    pub project: Project,
    /// The pristine source. Shared between runs, so only ever read.
    pub source: PathBuf,
    /// [`tree::digest`](super::tree::digest) of the source: 64 hexadecimal digits.
    pub digest: String,
    /// What the project's tests run in.
    pub environment: Environment,
    /// The files of the source that [`Corpus::with_tests`](super::Corpus::with_tests) added, sorted. Tests see them, and no
    /// language server is shown them.
    pub added: Vec<String>,
}
