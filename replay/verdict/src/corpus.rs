//! The repositories that holes are cut into: their list ([`manifest`]), their sources ([`source`]),
//! the environments of their tests ([`environment`]), and the files that a language server sees
//! ([`tree`]).
//!
//! Everything is fetched into a cache outside every repository, once, under an exact pin, and is
//! only read after that. No working tree is changed.

mod added;
mod archive;
pub mod cache;
pub mod detect;
pub mod environment;
mod error;
mod git;
pub mod history;
pub mod license;
pub mod manifest;
pub mod pack;
mod prepared;
pub mod source;
mod step;
pub mod tree;

use std::path::{Path, PathBuf};

use cache::Cache;
use environment::Environment;
pub use error::CorpusError;
use manifest::{Manifest, Project};
pub use prepared::Prepared;
pub use step::CorpusStep;

use fillrate_language::environment::Toolchain;

/// Brings the projects of a manifest into a cache.
pub struct Corpus {
    /// The cache of sources and environments.
    pub cache: Cache,
    /// The outside programs to use.
    pub toolchain: Toolchain,
}

impl Corpus {
    /// A corpus in the user's cache, with the programs on the search path.
    ///
    /// # Errors
    /// [`CorpusError::Environment`] if the environment names no place for a cache.
    pub fn from_environment() -> Result<Self, CorpusError> {
        Ok(Self {
            cache: Cache::from_environment()?,
            toolchain: Toolchain::default(),
        })
    }

    /// Loads the manifest at a location: a manifest's file, or the manifest detected in a folder or
    /// in the repository at an address, `https://…/repo`, optionally followed by `@REVISION`.
    ///
    /// # Errors
    /// The file is not a valid manifest, the address can't be fetched, or nothing is detected.
    pub fn load_manifest(&self, location: &Path) -> Result<Manifest, CorpusError> {
        detect::load_manifest(self, location)
    }

    /// Returns the location of one of the packages of a repository that has several, by its folder
    /// or its name.
    ///
    /// # Errors
    /// The location is no repository, or has no such package; the message lists those it has.
    pub fn locate_package(&self, location: &Path, name: &str) -> Result<PathBuf, CorpusError> {
        detect::locate_package(self, location, name)
    }

    /// Prepares every project of a manifest, in its order. One that fails does not stop the
    /// others. `progress` gets the project's name and its current step.
    pub fn prepare(
        &self,
        manifest: &Manifest,
        progress: &dyn Fn(&str, CorpusStep),
    ) -> Vec<Result<Prepared, CorpusError>> {
        manifest
            .projects
            .iter()
            .map(|project| self.prepare_project(project, progress))
            .collect()
    }

    /// Prepares one project; cached items are used unchanged.
    ///
    /// # Errors
    /// See [`CorpusError`]; a project none of whose files may hold a hole is
    /// [`CorpusError::Environment`].
    pub fn prepare_project(
        &self,
        project: &Project,
        progress: &dyn Fn(&str, CorpusStep),
    ) -> Result<Prepared, CorpusError> {
        let report_step = |step| progress(&project.name, step);
        // The interpreter is searched for first: without it, the source is not needed.
        let interpreter = match project.test {
            Some(_) => {
                let wanted = project.environment.interpreter.as_deref();
                let manager = project.language.packages;
                Some(manager.interpreter(&self.toolchain, wanted)?)
            }
            None => None,
        };
        report_step(CorpusStep::Source);
        let source = source::fetch(&self.cache, &self.toolchain, project, &report_step)?;
        let environment = match interpreter {
            Some(interpreter) => {
                report_step(CorpusStep::Environment);
                environment::build(
                    &self.cache,
                    &self.toolchain,
                    &interpreter,
                    project,
                    &source.root,
                    &report_step,
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
            unnamed: source.unnamed,
            failed_before: Vec::new(),
        };
        let prepared = added::with_generated(&self.cache, prepared, &report_step)?;
        if prepared.hole_files()?.is_empty() {
            return Err(CorpusError::unusable(
                &project.name,
                "no file of its source matches `holes` without matching `exclude`; \
                          correct the globs"
                    .to_owned(),
            ));
        }
        report_step(CorpusStep::Ready);
        Ok(prepared)
    }

    /// The project with its source changed by a function, which is given a copy of it and
    /// returns what is added to [`Prepared::failed_before`]; `parts` differ whenever the changes
    /// do. Files that it adds are shown to no language server.
    ///
    /// # Errors
    /// The function fails, or the source in the cache can't be kept.
    pub fn with_changed_source(
        &self,
        prepared: Prepared,
        parts: &[&str],
        change: impl FnOnce(&Path) -> Result<Vec<String>, CorpusError>,
        report_step: &dyn Fn(CorpusStep),
    ) -> Result<Prepared, CorpusError> {
        added::with_changes(&self.cache, prepared, parts, change, report_step)
    }

    /// Returns the project with the files of `tests/PROJECT` added to its source, a tree that
    /// mirrors the project's; the same project if that folder does not exist. The new source has
    /// its own folder in the cache and its own digest.
    ///
    /// # Errors
    /// [`CorpusError::Environment`] if a file is in the project already, or is one that holes may
    /// be cut into, or can't be read or kept.
    pub fn with_tests(
        &self,
        prepared: Prepared,
        tests: &Path,
        report_step: &dyn Fn(CorpusStep),
    ) -> Result<Prepared, CorpusError> {
        added::lay_over(&self.cache, prepared, tests, report_step)
    }
}

/// Returns a word of a POSIX shell, quoted if that is needed.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
