//! What engines know of the repository: which files they may see, what the index and the models
//! have learnt of them, and what changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::EngineError;
use crate::configuration::Profile;
use crate::context::lines::{Candidates, Cut, Lines};
use crate::context::{Index, Query, RECENT_FILES, Window};
use crate::documents::Snapshot;
use crate::model::Model;
use crate::syntax::Language;
use crate::text::Text;
use crate::workspace::{self, HiddenReason, Visibility, Workspace, WorkspaceError};

/// What is known of a repository, and the models that learn from it.
#[derive(Debug)]
pub(super) struct Repository {
    /// The first folder's name.
    pub(super) name: String,
    workspace: Workspace,
    shelf: Shelf,
    /// The models that learn from the files, each once.
    learners: RwLock<Vec<Arc<dyn Model>>>,
    /// Files that changed since the index last saw them. They are taken in by the next request
    /// for another file, so that typing costs no indexing.
    pending: Mutex<BTreeMap<String, Change>>,
    /// The files that the index and the models have taken in.
    known: Mutex<BTreeSet<String>>,
    /// Files that were opened or edited, the last first.
    recent: Mutex<Vec<String>>,
    /// Held while changes are taken in, so that nobody searches an index that lacks them.
    catching_up: Mutex<()>,
}

/// The repository's files as the profile searches them.
#[derive(Debug)]
enum Shelf {
    /// Nothing but the open file is looked at.
    Empty,
    Index(Box<Index>),
    Lines(RwLock<Lines>),
}

/// What became of a file.
#[derive(Debug)]
enum Change {
    /// It is open, and this is its buffer.
    Buffer(Text),
    /// It has other contents on disk.
    Contents(String),
    /// It is gone, or may not be seen any more.
    Gone,
}

/// What indexing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many files were taken in.
    pub files: usize,
    /// How many were left out, by the reason.
    pub left_out: BTreeMap<String, usize>,
}

impl Repository {
    /// A repository of which nothing is known yet.
    pub(super) fn new(folders: Vec<PathBuf>, profile: Profile) -> Result<Self, EngineError> {
        Ok(Self {
            name: folders
                .first()
                .and_then(|folder| folder.file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            workspace: Workspace::new(folders),
            shelf: Shelf::of(profile)?,
            learners: RwLock::default(),
            pending: Mutex::default(),
            known: Mutex::default(),
            recent: Mutex::default(),
            catching_up: Mutex::default(),
        })
    }

    /// Has a model that learns take in every file that is known, and from now on each change. What
    /// is open counts only once it is noted again.
    pub(super) fn teach(&self, model: &Arc<dyn Model>) {
        if !model.learns() {
            return;
        }
        // No change is taken in meanwhile that this model would miss.
        let _order = self.catching_up.lock();
        let known = self.known().clone();
        let files = if known.is_empty() {
            Vec::new()
        } else {
            self.workspace.files()
        };
        for file in files.iter().filter(|file| known.contains(&file.path)) {
            if let Ok(contents) = self.workspace.read(file) {
                model.observe(&file.path, Some(&contents));
            }
        }
        let mut learners = self.learners.write();
        learners.push(Arc::clone(model));
    }

    /// Reads the whole repository. `progress` is told (files done, files in all) now and then.
    pub(super) fn read(
        &self,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Indexed, EngineError> {
        let mut indexed = Indexed::default();
        if matches!(self.shelf, Shelf::Empty) {
            return Ok(indexed);
        }
        let files = self.workspace.files();
        for (done, file) in files.iter().enumerate() {
            progress(done, files.len());
            match self.workspace.read(file) {
                Ok(contents) => {
                    self.take_in(&file.path, Some(&contents))?;
                    indexed.files += 1;
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
        self.shelf.commit()?;
        progress(files.len(), files.len());
        Ok(indexed)
    }

    /// Files that were opened or edited, the last first, but for one.
    pub(super) fn recent(&self, current: &str) -> Vec<String> {
        let recent = self.recent.lock();
        let others = recent.iter().filter(|path| *path != current);
        others.cloned().collect()
    }

    /// What the index has for a place, best first, at most `limit`; nothing where the profile has
    /// no index.
    pub(super) fn indexed(
        &self,
        query: &Query<'_>,
        limit: usize,
    ) -> Result<Vec<Window>, EngineError> {
        self.catch_up(Some(query.path))?;
        match &self.shelf {
            Shelf::Index(index) => Ok(index.retrieve(query, limit)?),
            Shelf::Empty | Shelf::Lines(_) => Ok(Vec::new()),
        }
    }

    /// What `choose` makes of the windows of lines for a place in a file; nothing where the
    /// profile has none.
    pub(super) fn lines<T: Default>(
        &self,
        path: &str,
        choose: impl FnOnce(&Candidates<'_>) -> T,
    ) -> Result<T, EngineError> {
        self.catch_up(Some(path))?;
        match &self.shelf {
            Shelf::Lines(lines) => {
                let lines = lines.read();
                Ok(choose(&lines.candidates(path)))
            }
            Shelf::Empty | Shelf::Index(_) => Ok(T::default()),
        }
    }

    /// Takes note that an open document changed: unsaved text counts as the file.
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

    /// Takes note that a file or folder changed on disk, was made or was removed. What may no
    /// longer be seen is forgotten at once. Gives the folder in which there may be files to see
    /// that are not known yet, where there is one: it is for [`Engine::discover`].
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
                self.note(relative, Change::of(std::fs::read_to_string(path).ok()));
                None
            }
            Visibility::Hidden(_) => {
                if self.knows(&relative) {
                    self.note(relative.clone(), Change::Gone);
                }
                // Editors tell of a folder that is moved or removed, and not of its files.
                self.recheck(path, &format!("{relative}/"));
                self.may_hold_files(path)
            }
        }
    }

    /// The folder, if it is one whose files may be seen by its place and name.
    fn may_hold_files(&self, folder: &Path) -> Option<PathBuf> {
        // No language is known for such a file, which is asked for last.
        let inside = self.workspace.visibility_of_path(&folder.join("file"));
        (folder.is_dir() && inside == Visibility::Hidden(HiddenReason::Language))
            .then(|| folder.to_owned())
    }

    /// Takes note of the files in a folder that may be seen and are not known yet. It reads the
    /// whole workspace, so it is for the background.
    pub(super) fn discover(&self, folder: &Path) {
        let workspace = &self.workspace;
        for file in workspace.files() {
            if file.absolute.starts_with(folder)
                && !self.knows(&file.path)
                && let Ok(contents) = workspace.read(&file)
            {
                self.note(file.path, Change::Contents(contents));
            }
        }
    }

    /// Takes in all that changed: for a moment when nobody waits.
    pub(super) fn settle(&self) {
        if let Err(error) = self.catch_up(None) {
            tracing::warn!(%error, "changes could not be taken in");
        }
    }

    /// Takes in what changed in every file but the one that is being completed, where one is:
    /// its own text is in the request.
    fn catch_up(&self, current: Option<&str>) -> Result<(), EngineError> {
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
                Change::Buffer(text) => self.take_in(&path, Some(&text.to_string()))?,
                Change::Contents(contents) => self.take_in(&path, Some(&contents))?,
                Change::Gone => self.take_in(&path, None)?,
            }
        }
        self.shelf.commit()
    }

    /// Forgets the files in a folder that may no longer be seen; `prefix` is what their relative
    /// paths begin with.
    fn recheck(&self, folder: &Path, prefix: &str) {
        let mut paths: BTreeSet<String> = self
            .known()
            .range(prefix.to_owned()..)
            .take_while(|path| path.starts_with(prefix))
            .cloned()
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

    /// Whether a file has been taken in or will be.
    fn knows(&self, path: &str) -> bool {
        match self.pending().get(path) {
            Some(change) => !matches!(change, Change::Gone),
            None => self.known().contains(path),
        }
    }

    /// Gives one file's contents to the index and to the models that learn.
    fn take_in(&self, path: &str, contents: Option<&str>) -> Result<(), EngineError> {
        let learners = self.learners.read();
        for model in learners.iter() {
            model.observe(path, contents);
        }
        drop(learners);
        if contents.is_some() {
            self.known().insert(path.to_owned());
        } else {
            self.known().remove(path);
        }
        self.shelf.take_in(path, contents)
    }

    /// Marks a file as changed.
    fn note(&self, path: String, change: Change) {
        if !matches!(self.shelf, Shelf::Empty) {
            self.pending().insert(path, change);
        }
    }

    fn pending(&self) -> MutexGuard<'_, BTreeMap<String, Change>> {
        self.pending.lock()
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.known.lock()
    }

    /// The path a document goes by, or why it may not be sent to a model.
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

impl Shelf {
    /// An empty shelf of the kind that a profile searches.
    fn of(profile: Profile) -> Result<Self, EngineError> {
        let lines = |cut| Self::Lines(RwLock::new(Lines::new(cut)));
        Ok(match profile {
            Profile::None | Profile::Given => Self::Empty,
            Profile::Editor => Self::Index(Box::new(Index::new()?)),
            Profile::Cceval | Profile::Dense | Profile::Mix | Profile::Reference => {
                lines(Cut::CrossCodeEval)
            }
            Profile::Repocoder => lines(Cut::RepoCoder),
        })
    }

    /// Puts one file's contents in place of those it had; without contents it is gone.
    fn take_in(&self, path: &str, contents: Option<&str>) -> Result<(), EngineError> {
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

    /// Makes what was taken in visible to searches.
    fn commit(&self) -> Result<(), EngineError> {
        match self {
            Self::Index(index) => Ok(index.commit()?),
            Self::Empty | Self::Lines(_) => Ok(()),
        }
    }
}

impl Change {
    /// What a file's contents come to; nothing where it can't be read.
    fn of(contents: Option<String>) -> Self {
        contents.map_or(Self::Gone, Self::Contents)
    }
}
