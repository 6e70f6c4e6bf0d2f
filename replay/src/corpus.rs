//! The repositories that holes are cut into: which they are ([`manifest`]), where their source
//! comes from ([`source`]), what their tests need ([`environment`]), and what a language server
//! is shown of them ([`tree`]).
//!
//! Everything is brought into a cache outside every repository, once, under an exact pin, and is
//! only read after that. Nobody's working tree is touched.

mod added;
mod archive;
pub mod cache;
pub mod environment;
pub mod manifest;
pub mod source;
pub mod tree;

use std::io;
use std::path::{Path, PathBuf};

use cache::Cache;
use environment::Environment;
use manifest::{Manifest, ManifestError, Project};

use crate::language::environment::{EnvironmentError, Toolchain};

/// Brings the projects of a manifest into a cache.
pub struct Corpus {
    /// Where sources and environments are kept.
    pub cache: Cache,
    /// The outside programs to use.
    pub toolchain: Toolchain,
}

/// A project that is ready: its source and its environment are in the cache.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the manifest says of it.
    pub project: Project,
    /// The pristine source. Shared between runs, so only ever read.
    pub source: PathBuf,
    /// [`tree::digest`] of the source: 64 hexadecimal digits.
    pub digest: String,
    /// What the project's tests run in.
    pub environment: Environment,
    /// The files of the source that [`Corpus::with_tests`] added, sorted. Tests see them, and no
    /// language server is shown them.
    pub added: Vec<String>,
}

/// What [`Corpus::prepare`] is doing for a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The source is being brought into the cache.
    Source,
    /// The environment is being installed.
    Environment,
    /// Another process is preparing the same thing; this one waits for it.
    Waiting,
    /// The project is ready.
    Ready,
}

/// Why a project could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The manifest is not valid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An outside program is missing or failed, or an environment could not be built.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// What arrived is not what the manifest pins.
    #[error(
        "the source of `{project}` has the hash {actual}, but the manifest pins {expected}; \
         nothing of it was unpacked"
    )]
    HashMismatch {
        /// The project's name.
        project: String,
        /// The hash in the manifest.
        expected: String,
        /// The hash of what arrived.
        actual: String,
    },
    /// An archive or a tree has an entry that no source has a need for.
    #[error("the source of `{project}` was refused: `{entry}` {reason}")]
    Refused {
        /// The project's name.
        project: String,
        /// The entry's path, as it stands in the archive or tree.
        entry: String,
        /// What is wrong with it, as the rest of a sentence.
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
    /// A project's source or settings cannot be used as they are.
    #[error("`{project}` cannot be prepared: {message}")]
    Unusable {
        /// The project's name.
        project: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// The file system refused something.
    #[error("{action} `{}` failed: {source}", path.display())]
    Io {
        /// What was being done, e.g. `reading`.
        action: &'static str,
        /// To which path.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl CorpusError {
    /// Turns an [`io::Error`] into an error that says what was being done to which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

impl Corpus {
    /// A corpus in the user's cache, with the programs on the search path.
    ///
    /// # Errors
    /// [`CorpusError::Unusable`] if the environment names no place for a cache.
    pub fn from_environment() -> Result<Self, CorpusError> {
        Ok(Self {
            cache: Cache::from_environment()?,
            toolchain: Toolchain::default(),
        })
    }

    /// Prepares every project of a manifest, in its order. One that fails does not stop the
    /// others. `progress` hears the project's name and what is being done for it.
    pub fn prepare(
        &self,
        manifest: &Manifest,
        progress: &dyn Fn(&str, Step),
    ) -> Vec<Result<Prepared, CorpusError>> {
        manifest
            .projects
            .iter()
            .map(|project| self.prepare_project(project, progress))
            .collect()
    }

    /// Prepares one project; what is in the cache already is used as it is.
    ///
    /// # Errors
    /// See [`CorpusError`]; a project none of whose files may hold a hole is
    /// [`CorpusError::Unusable`].
    pub fn prepare_project(
        &self,
        project: &Project,
        progress: &dyn Fn(&str, Step),
    ) -> Result<Prepared, CorpusError> {
        let tell = |step| progress(&project.name, step);
        // The interpreter is looked for first: without it, fetching the source is for nothing.
        let interpreter = match project.test {
            Some(_) => Some(project.language.packages.interpreter(&self.toolchain)?),
            None => None,
        };
        tell(Step::Source);
        let source = source::bring(&self.cache, &self.toolchain, project, &tell)?;
        let environment = match interpreter {
            Some(interpreter) => {
                tell(Step::Environment);
                environment::build(
                    &self.cache,
                    &self.toolchain,
                    &interpreter,
                    project,
                    &source.root,
                    &tell,
                )?
            }
            None => Environment::none(project.language),
        };
        let prepared = Prepared {
            project: project.clone(),
            source: source.root,
            digest: source.digest,
            environment,
            added: Vec::new(),
        };
        if tree::hole_files(&prepared)?.is_empty() {
            return Err(CorpusError::Unusable {
                project: project.name.clone(),
                message: "no file of its source matches `holes` without matching `exclude`; \
                          correct the globs"
                    .to_owned(),
            });
        }
        tell(Step::Ready);
        Ok(prepared)
    }

    /// The project with the files of `tests/PROJECT` added to its source, a tree that mirrors the
    /// project's; the same project where that folder does not exist. The source in the cache is
    /// another one then, with a digest of its own.
    ///
    /// # Errors
    /// [`CorpusError::Unusable`] if a file stands in the project already, or is one that holes
    /// may be cut into; [`CorpusError::Io`] if a file can't be read or kept.
    pub fn with_tests(
        &self,
        prepared: Prepared,
        tests: &Path,
        tell: &dyn Fn(Step),
    ) -> Result<Prepared, CorpusError> {
        added::lay_over(&self.cache, prepared, tests, tell)
    }
}

#[cfg(test)]
mod tests;
