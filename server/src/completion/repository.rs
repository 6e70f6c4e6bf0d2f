//! The repository as engines know it: the visible files, what the index and the models have learnt
//! of them, and what has changed since.

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use crate::configuration::Profile;
use crate::context::lines::{CandidateWindows, LineWindows, WindowScheme};
use crate::context::{
    FileStamp, Index, IndexError, IndexParts, KeptIndex, KeptIndexError, KnownFiles, Query,
    RECENT_FILES, Window,
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

/// A change of a file that is not indexed yet.
#[derive(Debug)]
enum Change {
    /// It is open, and this is its buffer.
    Buffer(Text),
    /// It has other contents on disk.
    Contents(String),
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
        };
        if self.is_read.load(Ordering::Acquire) {
            let known = self.known().clone();
            let files = self.workspace.candidates();
            for file in files.iter().filter(|file| known.contains_key(&file.path)) {
                if let Ok(contents) = self.workspace.read(file) {
                    learner.observe(&file.path, Some(&contents), None);
                }
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
        progress: impl FnMut(usize, usize),
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
        }
        let (sender, contents) = mpsc::sync_channel(READ_AHEAD);
        let indexed = std::thread::scope(|scope| {
            // Learning takes about as long as all the rest.
            scope.spawn(|| self.learn_all(contents));
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

    /// Puts all files into the store and passes their contents on to models that learn. What a kept
    /// index has is read for these only.
    fn index_all(
        &self,
        files: &[WorkspaceFile],
        contents: mpsc::SyncSender<ReadFile>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<IndexSummary, IndexError> {
        let mut indexed = IndexSummary::default();
        let learners = self.learners();
        for (done, file) in files.iter().enumerate() {
            progress(done, files.len());
            let is_kept = self.known().contains_key(&file.path);
            let is_learnt = learners.iter().all(|learner| learner.knows(&file.path));
            if is_kept && is_learnt {
                indexed.files += 1;
                continue;
            }
            let stamp = FileStamp::read(&file.absolute);
            match self.workspace.read(file) {
                Ok(read) => {
                    indexed.files += 1;
                    let order = self.catching_up.lock();
                    if !is_kept && !self.is_overtaken(&file.path) {
                        self.known().insert(file.path.clone(), stamp);
                        self.store.index_file(&file.path, Some(&read))?;
                        self.differs.store(true, Ordering::Relaxed);
                    }
                    drop(order);
                    if !is_learnt {
                        // The receiver lives as long as this sender.
                        let _ = contents.send((file.path.clone(), read, stamp));
                    }
                }
                Err(error) => {
                    tracing::debug!(path = file.path, %error, "a file was left out");
                    let reason = match error {
                        WorkspaceError::Hidden { reason, .. } => reason.to_string(),
                        WorkspaceError::Unreadable { .. } => "it can't be read".to_owned(),
                    };
                    *indexed.left_out.entry(reason).or_default() += 1;
                }
            }
        }
        progress(files.len(), files.len());
        Ok(indexed)
    }

    /// Has the models learn contents as they come.
    fn learn_all(&self, contents: mpsc::Receiver<ReadFile>) {
        for (path, contents, stamp) in contents {
            let _order = self.catching_up.lock();
            if self.is_overtaken(&path) {
                continue;
            }
            for learner in self.learners() {
                if !learner.knows(&path) {
                    learner.observe(&path, Some(&contents), stamp);
                }
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
                self.note(
                    relative,
                    Change::from_contents(std::fs::read_to_string(path).ok()),
                );
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
                && let Ok(contents) = workspace.read(&file)
            {
                self.note(file.path, Change::Contents(contents));
            }
        }
    }

    /// Indexes all changes: for a moment when no request waits.
    pub(super) fn settle(&self) {
        if let Err(error) = self.catch_up(None) {
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
        if changed.is_empty() {
            return Ok(());
        }
        for (path, change) in changed {
            match change {
                Change::Buffer(text) => self.index_file(&path, Some(&text.to_string()))?,
                Change::Contents(contents) => self.index_file(&path, Some(&contents))?,
                Change::Gone => self.index_file(&path, None)?,
            }
        }
        self.store.commit()
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

    /// Indexes one file's changed contents and has the models learn them.
    fn index_file(&self, path: &str, contents: Option<&str>) -> Result<(), IndexError> {
        for learner in self.learners.read().iter() {
            learner.observe(path, contents, None);
        }
        if let Some(overtaken) = &mut *self.overtaken.lock() {
            overtaken.insert(path.to_owned());
        }
        match contents {
            // From a buffer, or from a moment without a stamp.
            Some(_) => self.known().insert(path.to_owned(), None),
            None => self.known().remove(path),
        };
        self.store.index_file(path, contents)
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

/// A file that was read: its path, its contents, and its stamp before that.
type ReadFile = (String, String, Option<FileStamp>);

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
        .filter(|(path, stamp)| !stamp.is_some_and(|stamp| is_same(path, &stamp)))
        .map(|(path, _)| path.clone())
        .collect()
}

impl Learner {
    fn knows(&self, path: &str) -> bool {
        self.known.lock().contains_key(path)
    }

    /// Has the model learn a file's contents, or forget it, and notes the stamp it had.
    fn observe(&self, path: &str, contents: Option<&str>, stamp: Option<FileStamp>) {
        self.model.observe(path, contents);
        match contents {
            Some(_) => self.known.lock().insert(path.to_owned(), stamp),
            None => self.known.lock().remove(path),
        };
        self.changed.fetch_add(1, Ordering::Relaxed);
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
        let parts = IndexParts::from([(PathBuf::from("learnt"), write())]);
        kept.save(&parts, known)?;
        // What is kept takes less memory than what it was made from.
        let _order = catching_up.lock();
        if self.changed.load(Ordering::Relaxed) == 0 {
            let learnt = parts.into_values().next().unwrap_or_default();
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

    /// Replaces one file's contents; `None` removes the file.
    fn index_file(&self, path: &str, contents: Option<&str>) -> Result<(), IndexError> {
        let language = Language::for_path(Path::new(path));
        match (self, contents, language) {
            (Self::Empty, ..) => {}
            (Self::Index(index), Some(contents), Some(language)) => {
                index.update(path, contents, language)?;
            }
            (Self::Index(index), ..) => index.remove(path)?,
            (Self::Lines(lines), contents, language) => {
                let mut lines = lines.write();
                match contents.filter(|_| language.is_some()) {
                    Some(contents) => lines.update(path, contents),
                    None => lines.remove(path),
                }
            }
        }
        Ok(())
    }

    /// Makes all changes visible to searches.
    fn commit(&self) -> Result<(), IndexError> {
        match self {
            Self::Index(index) => Ok(index.commit()?),
            Self::Empty | Self::Lines(_) => Ok(()),
        }
    }
}

impl Change {
    /// The change to these contents; `None` means that the file can't be read.
    fn from_contents(contents: Option<String>) -> Self {
        contents.map_or(Self::Gone, Self::Contents)
    }
}
