//! A project that is ready to be played and judged.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::environment::Environment;
use super::error::CorpusError;
use super::manifest::Project;
use super::tree::{self, EntryKind, TreeEntry};

/// A project that is ready: its source and its environment are in the cache.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The project's section of the manifest.
    pub project: Project,
    /// The pristine source. Shared between runs, so only ever read.
    pub source: PathBuf,
    /// [`tree::digest`](super::tree::digest) of the source: 64 hexadecimal digits.
    pub digest: String,
    /// The environment in which the project's tests run.
    pub environment: Environment,
    /// The files of the source that [`Corpus::with_tests`](super::Corpus::with_tests) added,
    /// sorted. Tests see them, language servers do not.
    pub added: Vec<String>,
    /// Names of files that the source lacks because they are not UTF-8.
    pub unnamed: Vec<String>,
    /// Commands under `before` that failed and may fail, each with the reason.
    pub failed_before: Vec<String>,
}

impl Prepared {
    /// The files that a language server is shown and the tests see: everything but `exclude`,
    /// `hidden` and [added tests](Self::added), relative to the source, with `/` between names,
    /// sorted by bytes.
    ///
    /// # Errors
    /// If the cached source cannot be read.
    pub fn visible_files(&self) -> Result<Vec<String>, CorpusError> {
        Ok(self
            .visible()?
            .into_iter()
            .map(|entry| entry.path)
            .collect())
    }

    /// The files that holes may be cut into: regular files that match `holes`, and are visible or
    /// `hidden`, in the order of [`visible_files`](Self::visible_files).
    ///
    /// # Errors
    /// If the cached source cannot be read.
    pub fn hole_files(&self) -> Result<Vec<String>, CorpusError> {
        Ok(self
            .kept()?
            .into_iter()
            .filter(|entry| matches!(entry.kind, EntryKind::File { .. }))
            .filter(|entry| self.project.holes.matches(&entry.path))
            .map(|entry| entry.path)
            .collect())
    }

    /// All that the tests see of a project but the files that holes may be cut into.
    ///
    /// # Errors
    /// If the cached source cannot be read.
    pub fn other_files(&self) -> Result<Vec<PathBuf>, CorpusError> {
        let holes = &self.project.holes;
        Ok(tree::entries(&self.source)?
            .into_iter()
            .filter(|entry| !holes.matches(&entry.path))
            .map(|entry| entry.path.into())
            .collect())
    }

    /// Copies the visible files into a folder that does not exist yet or is empty. Two copies are
    /// equal to the byte, times included.
    ///
    /// # Errors
    /// If `into` has something in it or cannot be written.
    pub fn materialise(&self, into: &Path) -> Result<(), CorpusError> {
        fs::create_dir_all(into).map_err(CorpusError::io("creating", into))?;
        let mut there = fs::read_dir(into).map_err(CorpusError::io("reading", into))?;
        if there.next().is_some() {
            let error = io::Error::from(io::ErrorKind::DirectoryNotEmpty);
            return Err(CorpusError::io("copying a project into", into)(error));
        }
        tree::copy(&self.source, &self.visible()?, into)
    }

    /// Copies all that the tests see of a project into a folder that does not exist yet.
    ///
    /// # Errors
    /// If `into` cannot be written.
    pub fn copy_source(&self, into: &Path) -> Result<(), CorpusError> {
        fs::create_dir_all(into).map_err(CorpusError::io("creating", into))?;
        tree::copy(&self.source, &tree::entries(&self.source)?, into)
    }

    /// The files that match `exclude`, relative to the source.
    ///
    /// # Errors
    /// If the cached source cannot be read.
    pub(crate) fn excluded_files(&self) -> Result<Vec<String>, CorpusError> {
        if self.project.exclude.patterns().is_empty() {
            return Ok(Vec::new());
        }
        let entries = tree::entries(&self.source)?.into_iter();
        let excluded = entries.filter(|entry| self.project.exclude.matches(&entry.path));
        Ok(excluded.map(|entry| entry.path).collect())
    }

    fn visible(&self) -> Result<Vec<TreeEntry>, CorpusError> {
        let mut entries = self.kept()?;
        entries.retain(|entry| !self.project.hidden.matches(&entry.path));
        Ok(entries)
    }

    /// The visible files and the hidden ones.
    fn kept(&self) -> Result<Vec<TreeEntry>, CorpusError> {
        let mut entries = tree::entries(&self.source)?;
        entries.retain(|entry| {
            !self.project.exclude.matches(&entry.path)
                && self.added.binary_search(&entry.path).is_err()
        });
        Ok(entries)
    }
}
