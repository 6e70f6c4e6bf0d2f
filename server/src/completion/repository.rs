//! The repository as engines use it: the visible files, what the index and the models have learnt
//! from them, and the changes since.

mod files;
mod learner;

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

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
    workspace: Workspace,
    store: WindowStore,
    /// The models that learn from the files, each once.
    learners: RwLock<Vec<Arc<Learner>>>,
    /// Files that changed since they were last indexed. The next request for another file indexes
    /// them, so that typing does not wait for indexing.
    pending: Mutex<BTreeMap<String, Change>>,
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

/// Maximum number of files that are indexed and not yet learnt.
const READ_AHEAD: usize = 64;

/// Result of indexing.
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
            let files = self.workspace.candidates();
            learner.begin_bulk();
            for file in files.iter().filter(|file| known.contains_key(&file.path)) {
                if let Ok(read) = ReadFile::read(&self.workspace, file)
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
        self.catch_up(Some(query.path))?;
        match &self.store {
            WindowStore::Index(index) if self.searchable.load(Ordering::Acquire) => {
                Ok(self.visible_only(index.retrieve(query, limit)?))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the choice of `choose` from the windows of lines for a file; the default if the
    /// profile has none.
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

    /// Records a change of an open document: its unsaved text replaces the file's.
    pub(super) fn document_changed(&self, document: &Snapshot) {
        let Some(path) = document.path.as_deref() else {
            return;
        };
        // A link's text counts as that of its target.
        let seen = self.workspace.document_name(path);
        let seen = seen.ok().filter(|relative| self.workspace.shows(relative));
        if let Some(relative) = seen {
            let mut recent = self.recent.lock();
            if recent.first() != Some(&relative) {
                recent.retain(|path| *path != relative);
                recent.insert(0, relative.clone());
                // One more than is used, as the current file is excluded.
                recent.truncate(RECENT_FILES + 1);
            }
            drop(recent);
            self.note(relative, Change::Buffer(document.text.clone()));
        }
    }

    /// Records that a file or folder on disk changed, was created or was removed. Drops files that
    /// are hidden now at once. Returns a folder that may contain new visible files, if there is
    /// one, for [`RepositoryState::discover`].
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
                let file = WorkspaceFile {
                    path: relative.clone(),
                    absolute: path.to_owned(),
                };
                let read = ReadFile::read(workspace, &file).ok();
                self.note(relative, read.map_or(Change::Gone, Change::File));
                None
            }
            Visibility::Hidden(_) => {
                if self.knows(&relative) {
                    self.note(relative.clone(), Change::Gone);
                }
                // Editors report a moved or removed folder, but not its files.
                self.recheck(path, &format!("{relative}/"));
                self.may_hold_files(path)
            }
        }
    }

    /// Returns the folder, if files in it may be visible.
    fn may_hold_files(&self, folder: &Path) -> Option<PathBuf> {
        // The file name has no known language, which is the last rule: so no other rule hides it.
        let inside = self.workspace.visibility_of_path(&folder.join("file"));
        (folder.is_dir() && inside == Visibility::Hidden(HiddenReason::Language))
            .then(|| folder.to_owned())
    }

    /// Records the visible files in a folder that are not known yet. It reads the whole workspace,
    /// so call it in the background.
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

    /// Indexes the changes of every file except the one opened or edited last, which the next
    /// request most likely contains. Called when no request waits.
    pub(super) fn settle(&self) {
        let current = self.recent.lock().first().cloned();
        if let Err(error) = self.catch_up(current.as_deref()) {
            tracing::warn!(%error, "changes could not be indexed");
        }
    }

    /// Indexes the changes of every file except the current one, whose text is in the request.
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

    /// Drops the files in a folder that are hidden now; `prefix` is the beginning of their relative
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

    /// True if a file is indexed or will be.
    fn knows(&self, path: &str) -> bool {
        match self.pending().get(path) {
            Some(change) => !matches!(change, Change::Gone),
            None => self.known().contains_key(path),
        }
    }

    /// Indexes one file's version, unless it is already indexed, and lets the models learn it.
    /// `None` removes the file. Returns true if the index changed.
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

    /// Returns the path by which a document is sent, or the reason why it may not be sent to a
    /// model.
    pub(super) fn relative_path(&self, document: &Snapshot) -> Result<String, String> {
        // An unnamed buffer belongs to no file, so no rule of a repository hides it. Neovim gives
        // it the URI `file:///`.
        let path = document.path.as_deref();
        let Some(path) = path.filter(|path| path.file_name().is_some()) else {
            return Ok(document.uri.clone());
        };
        let name = self.workspace.document_name(path);
        name.map_err(|reason| format!("this file is not sent to a model: {reason}"))
    }

    /// Removes windows of files that are hidden by now: their change may be recorded after the
    /// search.
    fn visible_only(&self, mut windows: Vec<Window>) -> Vec<Window> {
        windows.retain(|window| self.workspace.shows(&window.path));
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
