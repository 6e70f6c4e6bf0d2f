//! The repository as engines use it: the visible files, what the index and the models have learnt
//! from them, and the changes since.

mod files;
mod learner;

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rayon::prelude::*;

use self::files::{FileVersion, ReadFile, note_version, stale};
use self::learner::Learner;
use crate::configuration::Profile;
use crate::context::lines::{CandidateWindows, LineWindows, WindowScheme};
use crate::context::{
    Index, IndexError, KeptIndex, KeptIndexError, KnownFiles, Query, RECENT_FILES, Window, windows,
};
use crate::documents::Snapshot;
use crate::model::Model;
use crate::syntax::Language;
use crate::text::Text;
use crate::workspace::{self, HiddenReason, Visibility, Workspace, WorkspaceError, WorkspaceFile};

/// A repository's files as they are indexed, and the models that learn from them.
#[derive(Debug)]
pub(super) struct RepositoryState {
    /// The first folder's name.
    pub(super) name: String,
    /// Its folders lack those that were removed since.
    workspace: RwLock<Arc<Workspace>>,
    store: WindowStore,
    /// The models that learn from the files, each once.
    learners: RwLock<Vec<Arc<Learner>>>,
    /// Changes since files were last indexed. The next request for another file indexes them, so
    /// that typing costs no indexing, unless they are many.
    pending: Mutex<PendingChanges>,
    /// The files that are indexed and learnt.
    known: Mutex<KnownFiles>,
    /// While the repository is read: files of which a newer change is already indexed.
    overtaken: Mutex<Option<BTreeSet<String>>>,
    /// Files that were opened or edited, the last first.
    recent: Mutex<Vec<String>>,
    /// Held while changes are indexed, so that no search misses them.
    catching_up: Mutex<()>,
    /// Location of the kept index; `None` disables keeping.
    kept: Option<KeptIndex>,
    /// Cache and folders for keeping what models have learnt; `None` disables keeping.
    keeps: Option<(PathBuf, Vec<PathBuf>)>,
    /// True once the repository was read.
    is_read: AtomicBool,
    /// True once the index contains no file that is hidden by now. Before that it is not searched.
    searchable: AtomicBool,
    /// True if reading found the index to differ from the kept one.
    differs: AtomicBool,
}

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

/// Changes that are not indexed yet.
#[derive(Debug, Default)]
struct PendingChanges {
    /// Changes of files, by relative path.
    files: BTreeMap<String, Change>,
    /// Files and folders that were reported as changed on disk and are not read yet, each with the
    /// number of its last report.
    reported: BTreeMap<PathBuf, u64>,
    /// Number of reports so far.
    reports: u64,
    /// Folders that may hold new visible files.
    folders: BTreeSet<PathBuf>,
}

impl PendingChanges {
    /// Notes that a file or folder changed on disk.
    fn report(&mut self, path: PathBuf) {
        self.reports += 1;
        self.reported.insert(path, self.reports);
    }

    /// True if changes on disk are too many for a request to index them, or an ignore file is among
    /// them, which concerns all files below it.
    fn are_many(&self) -> bool {
        let is_on_disk = |change: &&Change| !matches!(change, Change::Buffer(_));
        let count = self.reported.len() + self.files.values().filter(is_on_disk).count();
        count > FEW_CHANGES
            || self
                .reported
                .keys()
                .any(|path| workspace::folder_of_ignore_file(path).is_some())
    }

    /// Takes the changes that a condition holds for.
    fn take(&mut self, wanted: impl Fn(&str, &Change) -> bool) -> Vec<(String, Change)> {
        let (taken, left): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.files)
            .into_iter()
            .partition(|(path, change)| wanted(path, change));
        self.files = left;
        taken.into_iter().collect()
    }
}

/// The most files that are indexed and not yet learnt.
const READ_AHEAD: usize = 64;

/// The most changes on disk that a request reads and indexes itself. More, as after a switch of
/// branches, are left to [`RepositoryState::settle`].
const FEW_CHANGES: usize = 16;

/// The longest that a request waits while the repository is read, until it uses what is indexed.
const READING_WAIT: Duration = Duration::from_millis(30);

/// Number of files after which [`RepositoryState::settle`] makes them visible to searches.
const FILES_PER_COMMIT: usize = 128;

/// Number of files indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSummary {
    /// Number of indexed files.
    pub files: usize,
    /// Number of excluded files, by reason.
    pub left_out: BTreeMap<String, usize>,
}

impl RepositoryState {
    /// Creates a repository that is not indexed yet, or opens the kept index.
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
            workspace: RwLock::new(Arc::new(Workspace::new(folders))),
            // A kept index may contain files that are hidden by now; an empty one can't.
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

    /// Lets a model learn every indexed file, and from now on each change. Open documents count
    /// only once they are noted again.
    pub(super) fn teach(&self, model: &Arc<dyn Model>) {
        if !model.learns() {
            return;
        }
        // The lock prevents changes that this model would miss.
        let _order = self.catching_up.lock();
        let is_read = self.is_read.load(Ordering::Acquire);
        // Before the first reading, only the kept state is loaded: reading teaches the rest.
        let kept = self.keeps.as_ref().filter(|_| !is_read);
        let kept = kept.map(|(cache, folders)| KeptIndex::of_model(cache, folders, model.name()));
        let learner = Learner::new(model, kept);
        if is_read {
            let known = self.known().clone();
            let files = self.workspace().candidates();
            learner.begin_bulk();
            for file in files.iter().filter(|file| known.contains_key(&file.path)) {
                if let Ok(read) = ReadFile::read(&self.workspace(), file)
                    && !learner.learn(&file.path, &read)
                {
                    learner.observe(&file.path, Some(read.version()));
                }
            }
            if let Some(learnt) = learner.finish_bulk() {
                learner.take_bulk(learnt);
            }
        }
        self.learners.write().push(Arc::new(learner));
    }

    /// Indexes the whole repository. `progress` gets (files done, total files) repeatedly. Requests
    /// may be served and changes noted meanwhile.
    pub(super) fn read(
        &self,
        progress: impl FnMut(usize, usize) + Send,
    ) -> Result<IndexSummary, IndexError> {
        if matches!(self.store, WindowStore::Empty) {
            return Ok(IndexSummary::default());
        }
        {
            // Under the lock no change is being indexed, so each later one is recorded as
            // overtaking.
            let _order = self.catching_up.lock();
            *self.overtaken.lock() = Some(BTreeSet::new());
        }
        let files = self.workspace().candidates();
        self.forget_changed(&files)?;
        for learner in self.learners() {
            let _order = self.catching_up.lock();
            learner.relearn(&files, |path| self.is_overtaken(path));
            learner.begin_bulk();
        }
        let (sender, to_learn) = mpsc::sync_channel(READ_AHEAD);
        let indexed = std::thread::scope(|scope| {
            // Models learn concurrently with indexing.
            scope.spawn(|| self.learn_all(to_learn));
            self.index_all(&files, sender, progress)
        });
        let _order = self.catching_up.lock();
        *self.overtaken.lock() = None;
        self.is_read.store(true, Ordering::Release);
        self.store.commit()?;
        indexed
    }

    /// Removes deleted, hidden or changed files from a kept index.
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

    /// Keeps the index and what models have learnt for the next start, if they changed.
    pub(super) fn keep(&self) {
        self.keep_index();
        for learner in self.learners() {
            if let Err(error) = learner.keep(&self.catching_up) {
                let name = learner.name();
                tracing::warn!(%error, "what {name} has learnt can't be kept for the next start");
            }
        }
    }

    fn keep_index(&self) {
        let (Some(kept), WindowStore::Index(index)) = (&self.kept, &self.store) else {
            return;
        };
        // Cleared before writing, so that a change during the write sets it again.
        if !self.differs.swap(false, Ordering::Relaxed) {
            return;
        }
        let (parts, known) = {
            // Both must be of the same moment, or a later start would trust a wrong digest.
            let _order = self.catching_up.lock();
            (index.parts(), self.known().clone())
        };
        let saved = parts.map_err(KeptIndexError::from);
        if let Err(error) = saved.and_then(|parts| kept.save(&parts, known)) {
            tracing::warn!(%error, "the index can't be kept for the next start");
        }
    }

    /// Puts all files into the store, on all cores, and passes their contents to models that learn.
    /// Files of a kept index are read only for these models.
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

    /// Reads a file that the index or a learner lacks, and adds it. Returns the reason if it is
    /// excluded.
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
        let read = match ReadFile::read(&self.workspace(), file) {
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
            // Cutting is most of the work, so it is done before the lock is taken.
            let cut = self.store.cut(&file.path, &read.contents);
            // An edit may have been indexed while this file was read; it must not be overwritten.
            let _order = self.catching_up.lock();
            if !self.is_overtaken(&file.path) {
                self.known().insert(file.path.clone(), read.version().known);
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

    /// Lets the models learn contents as they arrive.
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

    /// True if a change of a file is indexed that is newer than the contents read.
    fn is_overtaken(&self, path: &str) -> bool {
        let overtaken = self.overtaken.lock();
        overtaken.as_ref().is_some_and(|paths| paths.contains(path))
    }

    /// Returns files that were opened or edited, the last first, without the current one.
    pub(super) fn recent(&self, current: &str) -> Vec<String> {
        let recent = self.recent.lock();
        let others = recent.iter().filter(|path| *path != current);
        others.cloned().collect()
    }

    /// Clears the list of opened and edited files.
    pub(super) fn forget_recent(&self) {
        self.recent.lock().clear();
    }

    /// Returns the index's windows for a query, best first, at most `limit`; none if the profile
    /// has no index.
    pub(super) fn indexed(
        &self,
        query: &Query<'_>,
        limit: usize,
    ) -> Result<Vec<Window>, IndexError> {
        let WindowStore::Index(index) = &self.store else {
            return Ok(Vec::new());
        };
        if !self.searchable.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        self.catch_up(Some(query.path))?;
        Ok(self.visible_only(index.retrieve(query, limit)?))
    }

    /// Returns the choice of `choose` from the windows of lines for a file; none if the profile has
    /// no windows of lines.
    pub(super) fn lines(
        &self,
        path: &str,
        choose: impl FnOnce(&CandidateWindows<'_>) -> Vec<Window>,
    ) -> Result<Vec<Window>, IndexError> {
        Ok(self.visible_only(self.with_lines(path, choose)?))
    }

    /// Returns the texts of the windows of lines for a file.
    pub(super) fn line_texts(&self, path: &str) -> Result<Vec<String>, IndexError> {
        self.with_lines(path, |candidates| {
            // A server that computes vectors gets all of them.
            let shown = self.workspace().shown(candidates.paths());
            let windows = candidates.paths().zip(candidates.texts());
            let windows = windows.filter(|(path, _)| shown.contains(path));
            windows.map(|(_, text)| text.to_owned()).collect()
        })
    }

    /// Returns what `choose` makes of the windows of lines for a file; the default if the profile
    /// has none.
    fn with_lines<T: Default>(
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

    /// Records a change of an open document: its unsaved text replaces the file's.
    pub(super) fn document_changed(&self, document: &Snapshot) {
        let Some(path) = document.path.as_deref() else {
            return;
        };
        // A link's text counts as that of its target.
        if let Some(relative) = self.workspace().indexed_path(path) {
            let mut recent = self.recent.lock();
            if recent.first() != Some(&relative) {
                recent.retain(|path| *path != relative);
                recent.insert(0, relative.clone());
                // One more than is used, as the current file is excluded.
                recent.truncate(RECENT_FILES + 1);
            }
            drop(recent);
            let mut pending = self.pending();
            // What was reported of the file on disk counts no longer.
            pending.reported.remove(path);
            if self.has_files() {
                let change = Change::Buffer(document.text.clone());
                pending.files.insert(relative, change);
            }
        }
    }

    /// Notes that a file or folder changed on disk, was created or was removed. It is read by the
    /// next request, or if many changed by [`RepositoryState::settle`].
    pub(super) fn file_changed(&self, path: &Path) {
        if self.has_files() && self.workspace().relative(path).is_some() {
            self.pending().report(path.to_owned());
        }
    }

    /// Reads a file or folder that was reported as changed. Files that are hidden now are
    /// forgotten.
    fn read_reported(&self, path: &Path, report: u64) {
        let workspace = &self.workspace();
        let Some(relative) = workspace.relative(path) else {
            self.finish_report(path, report, None);
            return;
        };
        if let Some(folder) = workspace::folder_of_ignore_file(path) {
            self.finish_report(path, report, None);
            let own = path.strip_prefix(folder).ok().and_then(Path::to_str);
            if let Some(inner) = own.and_then(|own| relative.strip_suffix(own)) {
                self.recheck(folder, inner);
                self.note_folder(folder);
            }
            return;
        }
        match workspace.visibility(path) {
            Visibility::Visible(_) => {
                let file = WorkspaceFile {
                    path: relative.clone(),
                    absolute: path.to_owned(),
                };
                let read = ReadFile::read(workspace, &file).ok();
                let change = read.map_or(Change::Gone, Change::File);
                self.finish_report(path, report, Some((relative, change)));
            }
            Visibility::Hidden(_) => {
                let gone = self.knows(&relative).then_some(Change::Gone);
                let change = gone.map(|gone| (relative.clone(), gone));
                self.finish_report(path, report, change);
                // Editors report a folder that is moved or removed, and not its files.
                self.recheck(path, &format!("{relative}/"));
                self.note_folder(path);
            }
        }
    }

    /// Notes what reading a reported file found, unless it was reported again or opened meanwhile.
    fn finish_report(&self, path: &Path, report: u64, change: Option<(String, Change)>) {
        let mut pending = self.pending();
        if pending.reported.get(path) == Some(&report) {
            pending.reported.remove(path);
            pending.files.extend(change);
        }
    }

    /// The next path that was reported as changed, with the number of its report.
    fn next_reported(&self) -> Option<(PathBuf, u64)> {
        let pending = self.pending();
        let (path, report) = pending.reported.first_key_value()?;
        Some((path.clone(), *report))
    }

    /// Notes a folder whose new visible files [`RepositoryState::settle`] looks for, if it may have
    /// any.
    fn note_folder(&self, folder: &Path) {
        if let Some(folder) = self.may_hold_files(folder) {
            self.pending().folders.insert(folder);
        }
    }

    /// The folder, if files in it may be visible.
    fn may_hold_files(&self, folder: &Path) -> Option<PathBuf> {
        // The file name has no known language, which is the last rule: so no other rule hides it.
        let inside = self.workspace().visibility_of_path(&folder.join("file"));
        (folder.is_dir() && inside == Visibility::Hidden(HiddenReason::Language))
            .then(|| folder.to_owned())
    }

    /// Reports the visible files in some folders that are not known yet, which reads the whole
    /// workspace.
    fn discover(&self, folders: &BTreeSet<PathBuf>) {
        if folders.is_empty() {
            return;
        }
        for file in self.workspace().candidates() {
            let is_inside = folders
                .iter()
                .any(|folder| file.absolute.starts_with(folder));
            if is_inside && !self.knows(&file.path) {
                self.pending().report(file.absolute);
            }
        }
    }

    /// Reads and indexes all changes but those of the file that was opened or edited last, whose
    /// text is in the next request most likely: for a moment when no request waits. A request that
    /// comes meanwhile waits for one file at most.
    pub(super) fn settle(&self) {
        if let Err(error) = self.index_changes() {
            tracing::warn!(%error, "changes could not be indexed");
        }
    }

    fn index_changes(&self) -> Result<(), IndexError> {
        let mut uncommitted = 0;
        loop {
            let reported = self.next_reported();
            if let Some((path, report)) = &reported {
                self.read_reported(path, *report);
            } else {
                let folders = std::mem::take(&mut self.pending().folders);
                self.discover(&folders);
            }
            let current = self.recent.lock().first().cloned();
            let is_other = |path: &str| Some(path) != current.as_deref();
            loop {
                let order = self.catching_up.lock();
                let next = {
                    let mut pending = self.pending();
                    let next = pending.files.keys().find(|path| is_other(path)).cloned();
                    next.and_then(|path| pending.files.remove_entry(&path))
                };
                let Some((path, change)) = next else {
                    break;
                };
                uncommitted += usize::from(self.index_change(&path, change)?);
                if uncommitted == FILES_PER_COMMIT {
                    self.store.commit()?;
                    uncommitted = 0;
                }
                // A request that waits goes first.
                MutexGuard::unlock_fair(order);
            }
            // Reading a report may add folders, and searching folders may add reports.
            let pending = self.pending();
            if reported.is_none() && pending.reported.is_empty() && pending.folders.is_empty() {
                break;
            }
        }
        if uncommitted > 0 {
            let _order = self.catching_up.lock();
            self.store.commit()?;
        }
        Ok(())
    }

    /// Indexes the changes of every file but the current one, whose text is in the request. Of many
    /// changes on disk, only those of open documents.
    fn catch_up(&self, current: Option<&str>) -> Result<(), IndexError> {
        let is_other = |path: &str| Some(path) != current;
        // The windows of lines are compared with published ones, so none may be missing.
        let may_defer = matches!(self.store, WindowStore::Index(_));
        // What models have learnt is put in order while the repository is read, which takes
        // seconds.
        let is_read = self.overtaken.lock().is_none();
        let order = match may_defer && !is_read {
            true => self.catching_up.try_lock_for(READING_WAIT),
            false => Some(self.catching_up.lock()),
        };
        let Some(_order) = order else {
            return Ok(());
        };
        let mut is_deferred = may_defer && self.pending().are_many();
        while !is_deferred && let Some((path, report)) = self.next_reported() {
            self.read_reported(&path, report);
            // A folder may have had many files.
            is_deferred = may_defer && self.pending().are_many();
        }
        let changed = self.pending().take(|path, change| {
            is_other(path) && (!is_deferred || matches!(change, Change::Buffer(_)))
        });
        let mut is_changed = false;
        for (path, change) in changed {
            is_changed |= self.index_change(&path, change)?;
        }
        if is_changed {
            self.store.commit()?;
        }
        Ok(())
    }

    /// Indexes one change; returns whether the index changed.
    fn index_change(&self, path: &str, change: Change) -> Result<bool, IndexError> {
        match change {
            Change::Buffer(text) => {
                self.index_file(path, Some(FileVersion::new(&text.to_string(), None)))
            }
            Change::File(read) => self.index_file(path, Some(read.version())),
            Change::Gone => self.index_file(path, None),
        }
    }

    /// Forgets the files in a folder that are hidden now; `prefix` is the beginning of their
    /// relative paths.
    fn recheck(&self, folder: &Path, prefix: &str) {
        let mut paths: BTreeSet<String> = self
            .known()
            .range(prefix.to_owned()..)
            .take_while(|(path, _)| path.starts_with(prefix))
            .map(|(path, _)| path.clone())
            .collect();
        paths.extend(
            self.pending()
                .files
                .range(prefix.to_owned()..)
                .take_while(|(path, _)| path.starts_with(prefix))
                .map(|(path, _)| path.clone()),
        );
        for path in paths {
            let absolute = folder.join(&path[prefix.len()..]);
            if let Visibility::Hidden(_) = self.workspace().visibility(&absolute) {
                self.note(path, Change::Gone);
            }
        }
    }

    /// True if a file is indexed or will be.
    fn knows(&self, path: &str) -> bool {
        match self.pending().files.get(path) {
            Some(change) => !matches!(change, Change::Gone),
            None => self.known().contains_key(path),
        }
    }

    /// Indexes one file's version, unless it is already indexed, and lets the models learn it.
    /// `None` removes the file. Returns true if the index changed.
    fn index_file(&self, path: &str, version: Option<FileVersion<'_>>) -> Result<bool, IndexError> {
        // Each learner has its own record of versions, and may lack one that the index has.
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
        if self.has_files() {
            self.pending().files.insert(path, change);
        }
    }

    /// Hides the files of removed folders. They stay in the index.
    pub(super) fn remove_folders(&self, removed: &[PathBuf]) {
        let mut workspace = self.workspace.write();
        *workspace = Arc::new(workspace.without(removed));
    }

    fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&self.workspace.read())
    }

    /// True if the profile searches files.
    fn has_files(&self) -> bool {
        !matches!(self.store, WindowStore::Empty)
    }

    fn pending(&self) -> MutexGuard<'_, PendingChanges> {
        self.pending.lock()
    }

    fn known(&self) -> MutexGuard<'_, KnownFiles> {
        self.known.lock()
    }

    /// Returns the path by which a document is sent, or the reason why it may not be sent to a
    /// model.
    pub(super) fn relative_path(&self, document: &Snapshot) -> Result<String, String> {
        // An unnamed buffer belongs to no file, so no rule of a repository hides it. Neovim gives
        // it the URI `file:///`. Of a file on another machine, only the name is known.
        let path = document.path.as_deref();
        let name = match path.filter(|path| path.file_name().is_some()) {
            Some(path) => self.workspace().document_name(path),
            None => workspace::name_of_uri(&document.uri),
        };
        name.map_err(|reason| format!("this file is not sent to a model: {reason}"))
    }

    /// Removes windows of files that are hidden by now: their change may be recorded after the
    /// search.
    fn visible_only(&self, mut windows: Vec<Window>) -> Vec<Window> {
        let paths: Vec<String> = windows.iter().map(|window| window.path.clone()).collect();
        let shown = self.workspace().shown(paths.iter().map(String::as_str));
        windows.retain(|window| shown.contains(window.path.as_str()));
        windows
    }
}

impl WindowStore {
    /// Creates an empty store of the kind that a profile searches.
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

    /// Cuts a file's contents for the store, which is most of the work of indexing.
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
mod tests;
