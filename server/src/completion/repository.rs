//! The repository as engines know it: the visible files, what the index and the models have learnt
//! of them, and what has changed since.

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use rayon::prelude::*;

use crate::configuration::Profile;
use crate::context::lines::{CandidateWindows, LineWindows, WindowScheme};
use crate::context::{
    ContentsDigest, FileStamp, Index, IndexError, IndexParts, KeptIndex, KeptIndexError, KnownFile,
    KnownFiles, Query, RECENT_FILES, Window, windows,
};
use crate::documents::Snapshot;
use crate::model::{BulkLearning, Model};
use crate::syntax::Language;
use crate::text::Text;
use crate::workspace::{self, HiddenReason, Visibility, Workspace, WorkspaceError, WorkspaceFile};

/// A repository's files as they are indexed, and the models that learn from them.
#[derive(Debug)]
pub(super) struct RepositoryState {
    /// The first folder's name.
    pub(super) name: String,
    workspace: Workspace,
    store: WindowStore,
    /// The models that learn from the files, each once.
    learners: RwLock<Vec<Arc<Learner>>>,
    /// Files that changed since they were last indexed. The next request for another file indexes
    /// them, so that typing costs no indexing.
    pending: Mutex<BTreeMap<String, Change>>,
    /// The files that are indexed and learnt.
    known: Mutex<KnownFiles>,
    /// While the repository is read: the files of which a change is indexed, which is newer than what
    /// reading finds.
    overtaken: Mutex<Option<BTreeSet<String>>>,
    /// Files that were opened or edited, the last first.
    recent: Mutex<Vec<String>>,
    /// Held while changes are indexed, so that no search misses them.
    catching_up: Mutex<()>,
    /// Where the index is kept between two starts; `None` if it isn't.
    kept: Option<KeptIndex>,
    /// The cache in which what models have learnt of these folders is kept; `None` if it isn't.
    keeps: Option<(PathBuf, Vec<PathBuf>)>,
    /// Whether the repository was read once.
    is_read: AtomicBool,
    /// Whether the index has no file that is hidden by now. Before that it is not searched.
    searchable: AtomicBool,
    /// Whether reading found the index to be other than the kept one.
    differs: AtomicBool,
}

/// A model that learns from the files.
#[derive(Debug)]
struct Learner {
    model: Arc<dyn Model>,
    /// The files that it has learnt.
    known: Mutex<KnownFiles>,
    /// Where that is kept between two starts; `None` if it isn't.
    kept: Option<KeptIndex>,
    /// How many files it has learnt or forgotten since that was written.
    changed: AtomicUsize,
    /// While it learns many files at once.
    bulk: Mutex<Option<Bulk>>,
}

/// Many files that a model learns at once.
struct Bulk {
    /// `None` while what was learnt is put in order.
    learning: Option<Box<dyn BulkLearning>>,
    known: KnownFiles,
    /// Changes of files meanwhile, which the model learns afterwards.
    later: BTreeMap<String, Option<ReadFile>>,
}

impl fmt::Debug for Bulk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bulk = formatter.debug_struct("Bulk");
        bulk.field("files", &self.known.len())
            .finish_non_exhaustive()
    }
}

/// What a model has learnt is written again once more than one file in so many has changed: the
/// next start learns the others again.
const WORTH_KEEPING: usize = 20;

/// The repository's files as the profile searches them.
#[derive(Debug)]
enum WindowStore {
    /// The profile searches no files.
    Empty,
    Index(Box<Index>),
    Lines(RwLock<LineWindows>),
}

/// A file's contents as a store holds them.
enum CutFile<'a> {
    /// The file is not held.
    Nothing,
    Windows(Vec<Window>, &'static Language),
    Whole(&'a str),
}

/// A change of a file that is not indexed yet.
#[derive(Debug)]
enum Change {
    /// It is open, and this is its buffer.
    Buffer(Text),
    /// It has these contents on disk.
    File(ReadFile),
    /// It was removed, or is hidden now.
    Gone,
}

/// The most files that are indexed and not yet learnt.
const READ_AHEAD: usize = 64;

/// How many files were indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSummary {
    /// How many files were indexed.
    pub files: usize,
    /// How many were left out, by reason.
    pub left_out: BTreeMap<String, usize>,
}

impl RepositoryState {
    /// A repository before it is indexed, or with the index that was kept.
    pub(super) fn new(
        folders: Vec<PathBuf>,
        profile: Profile,
        cache: Option<&Path>,
    ) -> Result<Self, IndexError> {
        let keeps = cache.map(|cache| (cache.to_owned(), folders.clone()));
        let kept = cache.filter(|_| profile == Profile::Editor);
        let kept = kept.map(|cache| KeptIndex::new(cache, &folders));
        let load = |kept: &KeptIndex| -> Result<_, KeptIndexError> {
            let Some((parts, known)) = kept.load()? else {
                return Ok(None);
            };
            Ok(Some((Index::from_parts(parts)?, known)))
        };
        let loaded = kept.as_ref().and_then(|kept| match load(kept) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::warn!(%error, "the index is built anew");
                None
            }
        });
        let (store, known) = match loaded {
            Some((index, known)) => (WindowStore::Index(Box::new(index)), known),
            None => (WindowStore::for_profile(profile)?, KnownFiles::new()),
        };
        Ok(Self {
            name: folders
                .first()
                .and_then(|folder| folder.file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            workspace: Workspace::new(folders),
            searchable: known.is_empty().into(),
            differs: AtomicBool::default(),
            known: Mutex::new(known),
            store,
            kept,
            keeps,
            is_read: AtomicBool::default(),
            learners: RwLock::default(),
            pending: Mutex::default(),
            overtaken: Mutex::default(),
            recent: Mutex::default(),
            catching_up: Mutex::default(),
        })
    }

    /// Has a model learn every indexed file, and from now on each change. Open documents count only
    /// once they are noted again.
    pub(super) fn teach(&self, model: &Arc<dyn Model>) {
        if !model.learns() {
            return;
        }
        // No change is indexed meanwhile that this model would miss.
        let _order = self.catching_up.lock();
        let mut learner = Learner {
            model: Arc::clone(model),
            known: Mutex::default(),
            kept: None,
            changed: AtomicUsize::default(),
            bulk: Mutex::default(),
        };
        if self.is_read.load(Ordering::Acquire) {
            let known = self.known().clone();
            let files = self.workspace.candidates();
            learner.begin_bulk();
            for file in files.iter().filter(|file| known.contains_key(&file.path)) {
                if let Ok(read) = ReadFile::read(&self.workspace, file) {
                    learner.learn(&file.path, &read);
                }
            }
            if let Some(learnt) = learner.finish_bulk() {
                learner.take_bulk(learnt);
            }
        } else if let Some((cache, folders)) = &self.keeps {
            // Reading the files, which is still to come, teaches it what it has not kept.
            learner.kept = Some(KeptIndex::of_model(cache, folders, model.name()));
        }
        self.learners.write().push(Arc::new(learner));
    }

    /// Indexes the whole repository. `progress` gets (files done, files in all) now and then. Requests
    /// may be served and changes noted meanwhile.
    pub(super) fn read(
        &self,
        progress: impl FnMut(usize, usize) + Send,
    ) -> Result<IndexSummary, IndexError> {
        if matches!(self.store, WindowStore::Empty) {
            return Ok(IndexSummary::default());
        }
        {
            let _order = self.catching_up.lock();
            *self.overtaken.lock() = Some(BTreeSet::new());
        }
        let files = self.workspace.candidates();
        self.forget_changed(&files)?;
        for learner in self.learners() {
            let _order = self.catching_up.lock();
            learner.relearn(&files, |path| self.is_overtaken(path));
            learner.begin_bulk();
        }
        let (sender, to_learn) = mpsc::sync_channel(READ_AHEAD);
        let indexed = std::thread::scope(|scope| {
            // Models that learn need not wait for the index.
            scope.spawn(|| self.learn_all(to_learn));
            self.index_all(&files, sender, progress)
        });
        let _order = self.catching_up.lock();
        *self.overtaken.lock() = None;
        self.is_read.store(true, Ordering::Release);
        self.store.commit()?;
        indexed
    }

    /// Takes files that are gone, hidden or changed out of a kept index.
    fn forget_changed(&self, files: &[WorkspaceFile]) -> Result<(), IndexError> {
        if self.searchable.load(Ordering::Acquire) {
            return Ok(());
        }
        let _order = self.catching_up.lock();
        let mut changed = stale(&self.known(), files);
        changed.retain(|path| !self.is_overtaken(path));
        for path in &changed {
            self.known().remove(path);
        }
        if !changed.is_empty() {
            for path in &changed {
                self.store.index_file(path, None)?;
            }
            self.store.commit()?;
            self.differs.store(true, Ordering::Relaxed);
        }
        self.searchable.store(true, Ordering::Release);
        Ok(())
    }

    /// Keeps for the next start what reading found to be other than what is kept.
    pub(super) fn keep(&self) {
        self.keep_index();
        for learner in self.learners() {
            if let Err(error) = learner.keep(&self.catching_up) {
                let name = learner.model.name();
                tracing::warn!(%error, "what {name} has learnt can't be kept for the next start");
            }
        }
    }

    fn keep_index(&self) {
        let (Some(kept), WindowStore::Index(index)) = (&self.kept, &self.store) else {
            return;
        };
        if !self.differs.swap(false, Ordering::Relaxed) {
            return;
        }
        let (parts, known) = {
            let _order = self.catching_up.lock();
            (index.parts(), self.known().clone())
        };
        let saved = parts.map_err(KeptIndexError::from);
        if let Err(error) = saved.and_then(|parts| kept.save(&parts, known)) {
            tracing::warn!(%error, "the index can't be kept for the next start");
        }
    }

    /// Puts all files into the store, on all cores, and passes their contents on to models that learn.
    /// What a kept index has is read for these only.
    fn index_all(
        &self,
        files: &[WorkspaceFile],
        to_learn: mpsc::SyncSender<(String, ReadFile)>,
        progress: impl FnMut(usize, usize) + Send,
    ) -> Result<IndexSummary, IndexError> {
        let learners = self.learners();
        let indexed = Mutex::new((0, IndexSummary::default(), progress));
        let index =
            |to_learn: &mut mpsc::SyncSender<_>, file: &WorkspaceFile| -> Result<(), IndexError> {
                let outcome = self.index_unread(file, &learners, to_learn)?;
                let (done, summary, progress) = &mut *indexed.lock();
                *done += 1;
                progress(*done, files.len());
                match outcome {
                    None => summary.files += 1,
                    Some(reason) => *summary.left_out.entry(reason).or_default() += 1,
                }
                Ok(())
            };
        files.par_iter().try_for_each_with(to_learn, index)?;
        Ok(indexed.into_inner().1)
    }

    /// Reads a file that the index or a learner lacks, and puts it there. Returns why it is left out,
    /// if it is.
    fn index_unread(
        &self,
        file: &WorkspaceFile,
        learners: &[Arc<Learner>],
        to_learn: &mpsc::SyncSender<(String, ReadFile)>,
    ) -> Result<Option<String>, IndexError> {
        let is_kept = self.known().contains_key(&file.path);
        let is_learnt = learners.iter().all(|learner| learner.knows(&file.path));
        if is_kept && is_learnt {
            return Ok(None);
        }
        let read = match ReadFile::read(&self.workspace, file) {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(path = file.path, %error, "a file was left out");
                return Ok(Some(match error {
                    WorkspaceError::Hidden { reason, .. } => reason.to_string(),
                    WorkspaceError::Unreadable { .. } => "it can't be read".to_owned(),
                }));
            }
        };
        if !is_kept {
            let cut = self.store.cut(&file.path, &read.contents);
            let _order = self.catching_up.lock();
            if !self.is_overtaken(&file.path) {
                self.known()
                    .insert(file.path.clone(), read.version().known());
                self.store.put(&file.path, cut)?;
                self.differs.store(true, Ordering::Relaxed);
            }
        }
        if !is_learnt {
            // The receiver lives as long as this sender.
            let _ = to_learn.send((file.path.clone(), read));
        }
        Ok(None)
    }

    /// Has the models learn contents as they come.
    fn learn_all(&self, to_learn: mpsc::Receiver<(String, ReadFile)>) {
        let learners = self.learners();
        for (path, read) in to_learn {
            for learner in learners.iter().filter(|learner| !learner.knows(&path)) {
                if learner.learn(&path, &read) {
                    continue;
                }
                let _order = self.catching_up.lock();
                if !self.is_overtaken(&path) {
                    learner.observe(&path, Some(read.version()));
                }
            }
        }
        for learner in learners {
            if let Some(learnt) = learner.finish_bulk() {
                let _order = self.catching_up.lock();
                learner.take_bulk(learnt);
            }
        }
    }

    fn learners(&self) -> Vec<Arc<Learner>> {
        self.learners.read().clone()
    }

    /// Whether a change of a file is indexed that is newer than what reading found.
    fn is_overtaken(&self, path: &str) -> bool {
        let overtaken = self.overtaken.lock();
        overtaken.as_ref().is_some_and(|paths| paths.contains(path))
    }

    /// Files that were opened or edited, the last first, without the current one.
    pub(super) fn recent(&self, current: &str) -> Vec<String> {
        let recent = self.recent.lock();
        let others = recent.iter().filter(|path| *path != current);
        others.cloned().collect()
    }

    /// Forgets which files were opened or edited.
    pub(super) fn forget_recent(&self) {
        self.recent.lock().clear();
    }

    /// The index's windows for a query, best first, at most `limit`; none if the profile has no
    /// index.
    pub(super) fn indexed(
        &self,
        query: &Query<'_>,
        limit: usize,
    ) -> Result<Vec<Window>, IndexError> {
        self.catch_up(Some(query.path))?;
        match &self.store {
            WindowStore::Index(index) if self.searchable.load(Ordering::Acquire) => {
                Ok(index.retrieve(query, limit)?)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What `choose` picks from the windows of lines for a file; the default if the profile has
    /// none.
    pub(super) fn lines<T: Default>(
        &self,
        path: &str,
        choose: impl FnOnce(&CandidateWindows<'_>) -> T,
    ) -> Result<T, IndexError> {
        self.catch_up(Some(path))?;
        match &self.store {
            WindowStore::Lines(lines) => {
                let lines = lines.read();
                Ok(choose(&lines.candidates(path)))
            }
            WindowStore::Empty | WindowStore::Index(_) => Ok(T::default()),
        }
    }

    /// Notes that an open document changed: its unsaved text counts as the file.
    pub(super) fn document_changed(&self, document: &Snapshot) {
        let Some(path) = document.path.as_deref() else {
            return;
        };
        if let Visibility::Visible(relative) = self.workspace.visibility_of_path(path) {
            let mut recent = self.recent.lock();
            if recent.first() != Some(&relative) {
                recent.retain(|path| *path != relative);
                recent.insert(0, relative.clone());
                // One more than counts, as the file that is completed is no context of itself.
                recent.truncate(RECENT_FILES + 1);
            }
            drop(recent);
            self.note(relative, Change::Buffer(document.text.clone()));
        }
    }

    /// Notes that a file or folder changed on disk, was created or was removed. Files that are hidden
    /// now are forgotten at once. Returns a folder that may hold new visible files, if there is one,
    /// for [`RepositoryState::discover`].
    pub(super) fn file_changed(&self, path: &Path) -> Option<PathBuf> {
        let workspace = &self.workspace;
        let relative = workspace.relative(path)?;
        if workspace::is_ignore_file(path) {
            let folder = path.parent()?;
            let inner = relative
                .rsplit_once('/')
                .map_or(0, |(above, _)| above.len() + 1);
            self.recheck(folder, &relative[..inner]);
            return self.may_hold_files(folder);
        }
        match workspace.visibility(path) {
            Visibility::Visible(_) => {
                let stamp = FileStamp::read(path);
                let contents = std::fs::read_to_string(path).ok();
                let read = contents.map(|contents| ReadFile { contents, stamp });
                self.note(relative, read.map_or(Change::Gone, Change::File));
                None
            }
            Visibility::Hidden(_) => {
                if self.knows(&relative) {
                    self.note(relative.clone(), Change::Gone);
                }
                // Editors report a folder that is moved or removed, and not its files.
                self.recheck(path, &format!("{relative}/"));
                self.may_hold_files(path)
            }
        }
    }

    /// The folder, if files in it may be visible.
    fn may_hold_files(&self, folder: &Path) -> Option<PathBuf> {
        // The file has no known language, which is checked last.
        let inside = self.workspace.visibility_of_path(&folder.join("file"));
        (folder.is_dir() && inside == Visibility::Hidden(HiddenReason::Language))
            .then(|| folder.to_owned())
    }

    /// Notes the visible files in a folder that are not known yet. It reads the whole workspace, so
    /// call it in the background.
    pub(super) fn discover(&self, folder: &Path) {
        let workspace = &self.workspace;
        for file in workspace.candidates() {
            if file.absolute.starts_with(folder)
                && !self.knows(&file.path)
                && let Ok(read) = ReadFile::read(workspace, &file)
            {
                self.note(file.path, Change::File(read));
            }
        }
    }

    /// Indexes the changes of every file but the one that was opened or edited last, whose text is in
    /// the next request most likely: for a moment when no request waits.
    pub(super) fn settle(&self) {
        let current = self.recent.lock().first().cloned();
        if let Err(error) = self.catch_up(current.as_deref()) {
            tracing::warn!(%error, "changes could not be indexed");
        }
    }

    /// Indexes the changes of every file but the current one, whose text is in the request.
    fn catch_up(&self, current: Option<&str>) -> Result<(), IndexError> {
        let _order = self.catching_up.lock();
        let changed: Vec<(String, Change)> = {
            let mut pending = self.pending();
            let kept = current.and_then(|current| pending.remove_entry(current));
            let changed = std::mem::take(&mut *pending).into_iter().collect();
            pending.extend(kept);
            changed
        };
        let mut is_changed = false;
        for (path, change) in changed {
            is_changed |= match change {
                Change::Buffer(text) => {
                    self.index_file(&path, Some(FileVersion::new(&text.to_string(), None)))?
                }
                Change::File(read) => self.index_file(&path, Some(read.version()))?,
                Change::Gone => self.index_file(&path, None)?,
            };
        }
        if is_changed {
            self.store.commit()?;
        }
        Ok(())
    }

    /// Forgets the files in a folder that are hidden now; `prefix` is the beginning of their relative
    /// paths.
    fn recheck(&self, folder: &Path, prefix: &str) {
        let mut paths: BTreeSet<String> = self
            .known()
            .range(prefix.to_owned()..)
            .take_while(|(path, _)| path.starts_with(prefix))
            .map(|(path, _)| path.clone())
            .collect();
        paths.extend(
            self.pending()
                .range(prefix.to_owned()..)
                .take_while(|(path, _)| path.starts_with(prefix))
                .map(|(path, _)| path.clone()),
        );
        for path in paths {
            let absolute = folder.join(&path[prefix.len()..]);
            if let Visibility::Hidden(_) = self.workspace.visibility(&absolute) {
                self.note(path, Change::Gone);
            }
        }
    }

    /// Whether a file is indexed or will be.
    fn knows(&self, path: &str) -> bool {
        match self.pending().get(path) {
            Some(change) => !matches!(change, Change::Gone),
            None => self.known().contains_key(path),
        }
    }

    /// Indexes one file's version, unless that is the indexed one, and has the models learn it. `None`
    /// removes the file. Returns whether the index changed.
    fn index_file(&self, path: &str, version: Option<FileVersion<'_>>) -> Result<bool, IndexError> {
        for learner in self.learners.read().iter() {
            learner.change(path, version);
        }
        if let Some(overtaken) = &mut *self.overtaken.lock() {
            overtaken.insert(path.to_owned());
        }
        if note_version(&mut self.known(), path, version) {
            self.store
                .index_file(path, version.map(|version| version.contents))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Marks a file as changed.
    fn note(&self, path: String, change: Change) {
        if !matches!(self.store, WindowStore::Empty) {
            self.pending().insert(path, change);
        }
    }

    fn pending(&self) -> MutexGuard<'_, BTreeMap<String, Change>> {
        self.pending.lock()
    }

    fn known(&self) -> MutexGuard<'_, KnownFiles> {
        self.known.lock()
    }

    /// The path a document is known by, or why it may not be sent to a model.
    pub(super) fn relative_path(&self, document: &Snapshot) -> Result<String, String> {
        let Some(path) = document.path.as_deref() else {
            // An untitled buffer belongs to no file, so no rule of a repository hides it.
            return Ok(document.uri.clone());
        };
        match self.workspace.visibility_of_path(path) {
            Visibility::Visible(relative) => Ok(relative),
            // A file outside every folder, or in a language of which no grammar is known, holds
            // no secret by that.
            Visibility::Hidden(HiddenReason::Outside | HiddenReason::Language) => Ok(path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()),
            Visibility::Hidden(reason) => {
                Err(format!("this file is not sent to a model: {reason}"))
            }
        }
    }
}

/// A file as it was read.
#[derive(Debug)]
struct ReadFile {
    contents: String,
    /// Its stamp before that.
    stamp: Option<FileStamp>,
}

impl ReadFile {
    fn read(workspace: &Workspace, file: &WorkspaceFile) -> Result<Self, WorkspaceError> {
        let stamp = FileStamp::read(&file.absolute);
        let contents = workspace.read(file)?;
        Ok(Self { contents, stamp })
    }

    fn version(&self) -> FileVersion<'_> {
        FileVersion::new(&self.contents, self.stamp)
    }
}

/// A file's contents, with the stamp that the file had with them if it had them on disk.
#[derive(Clone, Copy, Debug)]
struct FileVersion<'a> {
    contents: &'a str,
    digest: ContentsDigest,
    stamp: Option<FileStamp>,
}

impl<'a> FileVersion<'a> {
    fn new(contents: &'a str, stamp: Option<FileStamp>) -> Self {
        Self {
            contents,
            digest: ContentsDigest::of(contents),
            stamp,
        }
    }

    fn known(self) -> KnownFile {
        KnownFile {
            contents: self.digest,
            stamp: self.stamp,
        }
    }
}

/// Notes that a file's version is known, or with `None` that the file is gone, and says whether that
/// differs from what was known.
fn note_version(known: &mut KnownFiles, path: &str, version: Option<FileVersion<'_>>) -> bool {
    let Some(version) = version else {
        return known.remove(path).is_some();
    };
    let before = known.insert(path.to_owned(), version.known());
    let same = before.filter(|before| before.contents == version.digest);
    if let Some(before) = same
        && version.stamp.is_none()
        && let Some(file) = known.get_mut(path)
    {
        // A buffer with the contents of the disk says nothing new of that.
        file.stamp = before.stamp;
    }
    same.is_none()
}

/// Those of some known files that are not in the workspace as they were.
fn stale(known: &KnownFiles, files: &[WorkspaceFile]) -> Vec<String> {
    let now: BTreeMap<&str, &WorkspaceFile> = files
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let is_same = |path: &str, stamp: &FileStamp| {
        now.get(path)
            .is_some_and(|file| FileStamp::read(&file.absolute) == Some(*stamp))
    };
    known
        .iter()
        .filter(|(path, file)| !file.stamp.is_some_and(|stamp| is_same(path, &stamp)))
        .map(|(path, _)| path.clone())
        .collect()
}

impl Learner {
    fn knows(&self, path: &str) -> bool {
        self.known.lock().contains_key(path)
    }

    /// Has the model learn a file's version, unless it has, or forget the file.
    fn observe(&self, path: &str, version: Option<FileVersion<'_>>) {
        if note_version(&mut self.known.lock(), path, version) {
            self.model
                .observe(path, version.map(|version| version.contents));
            self.changed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// As [`Learner::observe`], but after the files that it learns at once.
    fn change(&self, path: &str, version: Option<FileVersion<'_>>) {
        match &mut *self.bulk.lock() {
            Some(bulk) => {
                let version = version.map(|version| ReadFile {
                    contents: version.contents.to_owned(),
                    stamp: version.stamp,
                });
                bulk.later.insert(path.to_owned(), version);
            }
            None => self.observe(path, version),
        }
    }

    /// Begins to learn many files at once, if the model can and knows none.
    fn begin_bulk(&self) {
        if self.known.lock().is_empty() {
            *self.bulk.lock() = self.model.learn_many().map(|learning| Bulk {
                learning: Some(learning),
                known: KnownFiles::new(),
                later: BTreeMap::new(),
            });
        }
    }

    /// Learns one of many files; returns whether it learns many.
    fn learn(&self, path: &str, read: &ReadFile) -> bool {
        let mut bulk = self.bulk.lock();
        let Some(bulk) = &mut *bulk else {
            return false;
        };
        if let Some(learning) = &mut bulk.learning {
            learning.learn(path, &read.contents);
            bulk.known.insert(path.to_owned(), read.version().known());
        }
        true
    }

    /// Puts what was learnt of many files in order; `None` if it does not learn many.
    fn finish_bulk(&self) -> Option<Vec<u8>> {
        let learning = self.bulk.lock().as_mut()?.learning.take();
        // Without the lock: it takes seconds.
        Some(learning?.finish())
    }

    /// Has the model take what was learnt of many files, and then the changes since.
    fn take_bulk(&self, learnt: Vec<u8>) {
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

    /// Has the model learn what was kept, less the files that changed since and those for which a
    /// newer change is known.
    fn relearn(&self, files: &[WorkspaceFile], is_overtaken: impl Fn(&str) -> bool) {
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

    /// Writes what the model has learnt, if enough of it is new.
    fn keep(&self, catching_up: &Mutex<()>) -> Result<(), KeptIndexError> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        let (learning, known) = {
            let _order = catching_up.lock();
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
        let learnt = write();
        let parts = IndexParts::from([(PathBuf::from("learnt"), Arc::clone(&learnt))]);
        kept.save(&parts, known)?;
        // What is kept takes less memory than what it was made from.
        let _order = catching_up.lock();
        if self.changed.load(Ordering::Relaxed) == 0 {
            self.model.relearn(learnt, &[]);
        }
        Ok(())
    }
}

impl WindowStore {
    /// An empty store of the kind that a profile searches.
    fn for_profile(profile: Profile) -> Result<Self, IndexError> {
        let lines = |cut| Self::Lines(RwLock::new(LineWindows::new(cut)));
        Ok(match profile {
            Profile::None | Profile::Given => Self::Empty,
            Profile::Editor => Self::Index(Box::new(Index::new()?)),
            Profile::Cceval | Profile::Dense | Profile::Mix | Profile::Reference => {
                lines(WindowScheme::CrossCodeEval)
            }
            Profile::Repocoder => lines(WindowScheme::RepoCoder),
        })
    }

    /// Cuts a file's contents as the store holds them, which is most of the work of indexing.
    fn cut<'a>(&self, path: &str, contents: &'a str) -> CutFile<'a> {
        match (self, Language::for_path(Path::new(path))) {
            (Self::Index(_), Some(language)) => {
                CutFile::Windows(windows(path, contents, language), language)
            }
            (Self::Lines(_), Some(_)) => CutFile::Whole(contents),
            _ => CutFile::Nothing,
        }
    }

    /// Replaces one file's contents.
    fn put(&self, path: &str, cut: CutFile<'_>) -> Result<(), IndexError> {
        match (self, cut) {
            (Self::Index(index), CutFile::Windows(windows, language)) => {
                index.put(path, windows, language)
            }
            (Self::Index(index), _) => index.remove(path),
            (Self::Lines(lines), CutFile::Whole(contents)) => {
                lines.write().update(path, contents);
                Ok(())
            }
            (Self::Lines(lines), _) => {
                lines.write().remove(path);
                Ok(())
            }
            (Self::Empty, _) => Ok(()),
        }
    }

    /// Replaces one file's contents; `None` removes the file.
    fn index_file(&self, path: &str, contents: Option<&str>) -> Result<(), IndexError> {
        let cut = contents.map_or(CutFile::Nothing, |contents| self.cut(path, contents));
        self.put(path, cut)
    }

    /// Makes all changes visible to searches.
    fn commit(&self) -> Result<(), IndexError> {
        match self {
            Self::Index(index) => Ok(index.commit()?),
            Self::Empty | Self::Lines(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::model::{ModelError, ModelOutput, ModelRequest, TextListener};

    /// Writes down what it is to learn.
    #[derive(Clone, Debug, Default)]
    struct Pupil {
        notes: Arc<Mutex<Vec<String>>>,
        learns_many: bool,
    }

    impl Pupil {
        fn note(&self, what: &str, path: &str, contents: Option<&str>) {
            let contents = contents.unwrap_or("-");
            self.notes.lock().push(format!("{what} {path} {contents}"));
        }

        /// What it wrote down since it was last asked, sorted: files come in no certain order.
        fn notes(&self) -> Vec<String> {
            let mut notes = std::mem::take(&mut *self.notes.lock());
            notes.sort();
            notes
        }
    }

    #[async_trait]
    impl Model for Pupil {
        fn name(&self) -> &str {
            "pupil"
        }

        async fn complete(
            &self,
            _request: &ModelRequest,
            _listener: &dyn TextListener,
        ) -> Result<ModelOutput, ModelError> {
            Err(ModelError::Failed("it only learns".to_owned()))
        }

        fn learns(&self) -> bool {
            true
        }

        fn observe(&self, path: &str, contents: Option<&str>) {
            self.note("observe", path, contents);
        }

        fn learn_many(&self) -> Option<Box<dyn BulkLearning>> {
            let learning: Box<dyn BulkLearning> = Box::new(self.clone());
            self.learns_many.then_some(learning)
        }

        fn relearn(&self, kept: Arc<Vec<u8>>, _gone: &[String]) -> bool {
            self.note("relearn", &String::from_utf8_lossy(&kept), None);
            true
        }
    }

    impl BulkLearning for Pupil {
        fn learn(&mut self, path: &str, contents: &str) {
            self.note("learn", path, Some(contents));
        }

        fn finish(self: Box<Self>) -> Vec<u8> {
            b"all".to_vec()
        }
    }

    /// A folder with two files, and the state of it that teaches a pupil.
    fn taught(pupil: &Pupil) -> (tempfile::TempDir, RepositoryState) {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.py", "b.py"] {
            std::fs::write(folder.path().join(name), name).expect("it is written");
        }
        let folders = vec![folder.path().to_owned()];
        let state = RepositoryState::new(folders, Profile::Editor, None).expect("an index");
        let model: Arc<dyn Model> = Arc::new(pupil.clone());
        state.teach(&model);
        state.read(|_, _| {}).expect("it is read");
        (folder, state)
    }

    fn open(state: &RepositoryState, path: &Path, contents: &str) {
        let uri = format!("file://{}", path.display());
        state.document_changed(&Snapshot::new(&uri, "python", 1, contents));
    }

    #[test]
    fn only_other_contents_of_other_files_are_indexed() {
        let pupil = Pupil::default();
        let (folder, state) = taught(&pupil);
        assert_eq!(pupil.notes(), ["observe a.py a.py", "observe b.py b.py"]);
        let [a, b] = ["a.py", "b.py"].map(|name| folder.path().join(name));
        open(&state, &a, "edited");
        state.settle();
        assert_eq!(pupil.notes(), [""; 0], "it is the current file");
        open(&state, &b, "b.py");
        state.settle();
        assert_eq!(pupil.notes(), ["observe a.py edited"]);
        // Closed: the disk counts again.
        state.file_changed(&a);
        state.settle();
        assert_eq!(pupil.notes(), ["observe a.py a.py"]);
        state.file_changed(&a);
        state.file_changed(&b);
        open(&state, &a, "a.py");
        state.settle();
        assert_eq!(pupil.notes(), [""; 0], "all is as it was");
        std::fs::remove_file(&b).expect("it is removed");
        state.file_changed(&b);
        state.settle();
        assert_eq!(pupil.notes(), ["observe b.py -"]);
    }

    #[test]
    fn changes_while_many_files_are_learnt_come_after_them() {
        let pupil = Pupil {
            learns_many: true,
            ..Pupil::default()
        };
        let _taught = taught(&pupil);
        assert_eq!(
            pupil.notes(),
            ["learn a.py a.py", "learn b.py b.py", "relearn all -"]
        );
        let learner = Learner {
            model: Arc::new(pupil.clone()),
            known: Mutex::default(),
            kept: None,
            changed: AtomicUsize::default(),
            bulk: Mutex::default(),
        };
        let file = |contents: &str| ReadFile {
            contents: contents.to_owned(),
            stamp: None,
        };
        learner.begin_bulk();
        assert!(learner.learn("a.py", &file("old")));
        learner.change("a.py", Some(file("new").version()));
        learner.change("b.py", None);
        let learnt = learner.finish_bulk().expect("it learns many");
        learner.change("c.py", Some(file("c").version()));
        learner.take_bulk(learnt);
        learner.change("a.py", Some(file("newer").version()));
        let notes = pupil.notes.lock().clone();
        assert_eq!(
            notes,
            [
                "learn a.py old",
                "relearn all -",
                "observe a.py new",
                "observe c.py c",
                "observe a.py newer"
            ]
        );
        assert!(!learner.learn("d.py", &file("d")), "no more at once");
    }
}
