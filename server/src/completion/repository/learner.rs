//! A model that learns from the repository's files, and what it has learnt from them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::files::{FileVersion, ReadFile, note_version, stale};
use crate::context::{IndexParts, KeptIndex, KeptIndexError, KnownFiles};
use crate::model::{BulkLearning, Model};
use crate::workspace::WorkspaceFile;

/// A model that learns from the files.
#[derive(Debug)]
pub(super) struct Learner {
    model: Arc<dyn Model>,
    /// The files that it has learnt.
    known: Mutex<KnownFiles>,
    /// Location of the kept state; `None` disables keeping.
    kept: Option<KeptIndex>,
    /// Number of files learnt or forgotten since the state was written.
    changed: AtomicUsize,
    /// State of learning many files at once, if in progress.
    bulk: Mutex<Option<Bulk>>,
}

/// Many files that a model learns at once.
struct Bulk {
    /// `None` while the learnt files are sorted.
    learning: Option<Box<dyn BulkLearning>>,
    known: KnownFiles,
    /// Changes during this time, which the model learns afterwards.
    later: BTreeMap<String, Option<ReadFile>>,
}

impl fmt::Debug for Bulk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bulk = formatter.debug_struct("Bulk");
        bulk.field("files", &self.known.len())
            .finish_non_exhaustive()
    }
}

/// Divisor of the minimum share of changed files for which the state is written again: the next
/// start learns the others.
const WORTH_KEEPING: usize = 20;

impl Learner {
    /// Creates a learner that knows nothing yet.
    pub(super) fn new(model: &Arc<dyn Model>, kept: Option<KeptIndex>) -> Self {
        Self {
            model: Arc::clone(model),
            known: Mutex::default(),
            kept,
            changed: AtomicUsize::default(),
            bulk: Mutex::default(),
        }
    }

    /// The model's name.
    pub(super) fn name(&self) -> &str {
        self.model.name()
    }

    /// True if it has learnt a file.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.known.lock().contains_key(path)
    }

    /// Lets the model learn a file's version, unless it is known, or forget the file.
    pub(super) fn observe(&self, path: &str, version: Option<FileVersion<'_>>) {
        if note_version(&mut self.known.lock(), path, version) {
            self.model
                .observe(path, version.map(|version| version.contents));
            self.changed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// As [`Learner::observe`], but deferred until the files being learnt at once are finished.
    pub(super) fn change(&self, path: &str, version: Option<FileVersion<'_>>) {
        match &mut *self.bulk.lock() {
            Some(bulk) => {
                let version = version.map(FileVersion::to_owned);
                bulk.later.insert(path.to_owned(), version);
            }
            None => self.observe(path, version),
        }
    }

    /// Starts to learn many files at once, if the model supports this and knows none.
    pub(super) fn begin_bulk(&self) {
        if self.known.lock().is_empty() {
            *self.bulk.lock() = self.model.learn_many().map(|learning| Bulk {
                learning: Some(learning),
                known: KnownFiles::new(),
                later: BTreeMap::new(),
            });
        }
    }

    /// Learns one of many files. Returns true if it is learning many.
    pub(super) fn learn(&self, path: &str, read: &ReadFile) -> bool {
        let mut bulk = self.bulk.lock();
        let Some(bulk) = &mut *bulk else {
            return false;
        };
        if let Some(learning) = &mut bulk.learning {
            learning.learn(path, &read.contents);
            bulk.known.insert(path.to_owned(), read.version().known);
        }
        true
    }

    /// Finishes learning many files; `None` if it is not learning many.
    pub(super) fn finish_bulk(&self) -> Option<Vec<u8>> {
        let learning = self.bulk.lock().as_mut()?.learning.take();
        // The lock is released, as this takes seconds.
        Some(learning?.finish())
    }

    /// Replaces the model's state by that learnt from many files, and then applies the changes
    /// since.
    pub(super) fn take_bulk(&self, learnt: Vec<u8>) {
        let Some(bulk) = self.bulk.lock().take() else {
            return;
        };
        if self.model.relearn(Arc::new(learnt), &[]) {
            self.changed.store(bulk.known.len(), Ordering::Relaxed);
            *self.known.lock() = bulk.known;
        } else {
            tracing::error!("the model {} can't take what it learnt", self.model.name());
        }
        for (path, version) in &bulk.later {
            self.observe(path, version.as_ref().map(ReadFile::version));
        }
    }

    /// Loads the model's kept state, without the files that changed since and those with a newer
    /// change.
    pub(super) fn relearn(&self, files: &[WorkspaceFile], is_overtaken: impl Fn(&str) -> bool) {
        let mut known = self.known.lock();
        let Some(kept) = self.kept.as_ref().filter(|_| known.is_empty()) else {
            return;
        };
        let (parts, mut kept_files) = match kept.load() {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the model {} learns everything anew", self.model.name());
                return;
            }
        };
        let mut gone = stale(&kept_files, files);
        gone.extend(kept_files.keys().filter(|path| is_overtaken(path)).cloned());
        let learnt = parts.into_values().next().unwrap_or_default();
        if self.model.relearn(learnt, &gone) {
            kept_files.retain(|path, _| !gone.contains(path));
            *known = kept_files;
            self.changed.store(gone.len(), Ordering::Relaxed);
        }
    }

    /// Writes the model's state, if enough of it is new.
    pub(super) fn keep(&self, catching_up: &Mutex<()>) -> Result<(), KeptIndexError> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        let (learning, known) = {
            let _order = catching_up.lock();
            // State and record must be of the same moment, as the record decides what is learnt
            // again.
            let known = self.known.lock().clone();
            if self.changed.load(Ordering::Relaxed) * WORTH_KEEPING <= known.len() {
                return Ok(());
            }
            self.changed.store(0, Ordering::Relaxed);
            (self.model.learning(), known)
        };
        let Some(write) = learning else {
            return Ok(());
        };
        // Writing takes long, so it runs without the lock, and the model may learn meanwhile.
        let learnt = write();
        let parts = IndexParts::from([(PathBuf::from("learnt"), Arc::clone(&learnt))]);
        kept.save(&parts, known)?;
        // The kept form uses less memory than the one it was made from.
        let _order = catching_up.lock();
        if self.changed.load(Ordering::Relaxed) == 0 {
            self.model.relearn(learnt, &[]);
        }
        Ok(())
    }
}
