//! Changes that a program made to the directories that it sees copy-on-write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::encoded;
use super::{Overlay, Replaced};

/// The most bytes of paths that are read of new files, so that a flood of files does not exceed
/// the memory limit in pid 1.
const PATH_BYTES: usize = 4 << 20;

/// The files that a program changed. Paths are bytes: a program may choose names that are not
/// UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileChanges {
    /// [`Finished::changed`](super::Finished::changed).
    #[serde(with = "encoded::paths")]
    pub(super) changed: Vec<PathBuf>,
    /// [`Finished::unreadable`](super::Finished::unreadable).
    #[serde(with = "encoded::paths")]
    pub(super) unreadable: Vec<PathBuf>,
}

impl FileChanges {
    /// Returns the changes that a program made to overlays that were like this before. Must be
    /// called after all processes of the program have ended.
    pub(super) fn since(before: &[Before]) -> Self {
        let mut all = Self::default();
        for before in before {
            let more = before.changes();
            all.changed.extend(more.changed);
            all.unreadable.extend(more.unreadable);
        }
        all
    }
}

/// One overlay as it was before the program started, kept by pid 1.
#[derive(Debug)]
pub(super) struct Before {
    /// Its path inside.
    at: PathBuf,
    /// Files that must stay, relative to it.
    guarded: Vec<PathBuf>,
    /// Files that were laid over it.
    replaced: BTreeSet<PathBuf>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The directories of an overlay file system, held open: they have no path inside.
    Layers { upper: File, lower: File },
    /// Every file of a copy.
    Files(BTreeMap<PathBuf, Stamp>),
}

/// Attributes that show whether a file is unchanged. A program can set every other time back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
}

impl Before {
    /// State of an overlay file system with these layers.
    pub(super) fn layers(overlay: &Overlay, upper: &Path, lower: &Path) -> io::Result<Self> {
        let state = State::Layers {
            upper: File::open(upper)?,
            lower: File::open(lower)?,
        };
        Ok(Self::with(overlay, state))
    }

    /// State of a copy at `root`, the replaced files included.
    pub(super) fn copy(overlay: &Overlay, root: &Path) -> io::Result<Self> {
        Ok(Self::with(overlay, State::Files(stamps(root)?)))
    }

    fn with(overlay: &Overlay, state: State) -> Self {
        Self {
            at: overlay.at.clone(),
            guarded: overlay.guarded.clone(),
            replaced: overlay.replaced.iter().map(|r| r.path.clone()).collect(),
            state,
        }
    }

    /// Returns true if its path inside is `at`.
    pub(super) fn is_at(&self, at: &Path) -> bool {
        self.at == at
    }

    /// Adds files that were laid over it later.
    pub(super) fn add_replaced(&mut self, replaced: &[Replaced]) -> io::Result<()> {
        self.replaced
            .extend(replaced.iter().map(|r| r.path.clone()));
        if let State::Files(files) = &mut self.state {
            *files = stamps(&self.at)?;
        }
        Ok(())
    }

    /// The paths inside of guarded files that were removed or written to, and of new files,
    /// sorted; and of folders that can't be read.
    fn changes(&self) -> FileChanges {
        let gone = |path: &PathBuf| fs::symlink_metadata(self.at.join(path)).is_err();
        let mut changed = BTreeSet::new();
        let unreadable;
        match &self.state {
            State::Layers { upper, lower } => {
                let (upper, lower) = (opened(upper), opened(lower));
                let leaves = Leaves::read(&upper, &self.at, PATH_BYTES);
                unreadable = leaves.unreadable;
                for path in leaves.paths {
                    // An overlay marks a deletion by a character device, which is not a new file.
                    let whiteout = fs::symlink_metadata(upper.join(&path))
                        .is_ok_and(|metadata| metadata.file_type().is_char_device());
                    let known = fs::symlink_metadata(lower.join(&path)).is_ok();
                    if !known && !whiteout && !self.replaced.contains(&path) {
                        changed.insert(path);
                    }
                }
                let written = |path: &PathBuf| {
                    fs::symlink_metadata(upper.join(path)).is_ok() && !self.replaced.contains(path)
                };
                let guarded = self.guarded.iter();
                changed.extend(guarded.filter(|path| gone(path) || written(path)).cloned());
            }
            State::Files(before) => {
                // A copy also lists the files of the original, so the limit grows with their paths.
                let known: usize = before.keys().map(|path| path.as_os_str().len()).sum();
                let now = Leaves::read(&self.at, &self.at, 2 * known + PATH_BYTES);
                unreadable = now.unreadable;
                changed.extend(
                    now.paths
                        .into_iter()
                        .filter(|path| !before.contains_key(path)),
                );
                let written = |path: &PathBuf| {
                    let now = fs::symlink_metadata(self.at.join(path));
                    now.is_ok_and(|now| before.get(path) != Some(&Stamp::from_metadata(&now)))
                };
                let guarded = self.guarded.iter();
                changed.extend(guarded.filter(|path| gone(path) || written(path)).cloned());
            }
        }
        let inside = |path: PathBuf| match path.as_os_str().is_empty() {
            true => self.at.clone(),
            false => self.at.join(path),
        };
        FileChanges {
            changed: changed.into_iter().map(inside).collect(),
            unreadable: unreadable.into_iter().map(inside).collect(),
        }
    }
}

impl Stamp {
    fn from_metadata(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The stamps of all files below a folder.
fn stamps(root: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let leaves = Leaves::read(root, root, usize::MAX);
    if leaves.unreadable.contains(&PathBuf::new()) {
        return Err(io::Error::other(format!(
            "{} is unreadable",
            root.display()
        )));
    }
    let stamped = leaves.paths.into_iter().map(|path| {
        let stamp = Stamp::from_metadata(&fs::symlink_metadata(root.join(&path))?);
        Ok((path, stamp))
    });
    stamped.collect()
}

/// A path to an open file or directory, independent of later mounts over it.
pub(super) fn opened(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Contents of a folder, by paths relative to it.
#[derive(Debug, Default)]
struct Leaves {
    /// Everything except directories.
    paths: Vec<PathBuf>,
    /// Directories that can't be read, or not to their end. Their paths may be too long, or the
    /// program may have closed them.
    unreadable: Vec<PathBuf>,
}

impl Leaves {
    /// Reads everything below `root`, until the paths have this many bytes: then `root` counts as
    /// unreadable. A folder that the program has closed is opened by its path below `at`, where it
    /// appears inside: pid 1 has the same user.
    fn read(root: &Path, at: &Path, most: usize) -> Self {
        let mut leaves = Self::default();
        let mut left = most;
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            let closed = fs::symlink_metadata(root.join(&folder))
                .is_ok_and(|metadata| metadata.permissions().mode() & 0o700 != 0o700);
            if closed {
                let all = fs::Permissions::from_mode(0o700);
                // If that fails, so does the next line.
                let _ = fs::set_permissions(at.join(&folder), all);
            }
            let Ok(entries) = fs::read_dir(root.join(&folder)) else {
                leaves.unreadable.push(folder);
                continue;
            };
            for entry in entries {
                let Ok((name, kind)) =
                    entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))
                else {
                    leaves.unreadable.push(folder);
                    break;
                };
                let path = folder.join(name);
                let Some(rest) = left.checked_sub(path.as_os_str().len()) else {
                    leaves.unreadable.push(PathBuf::new());
                    return leaves;
                };
                left = rest;
                if kind.is_dir() {
                    open.push(path);
                } else {
                    leaves.paths.push(path);
                }
            }
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_cannot_be_read_to_their_end_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let root = folder.path();
        let all = Leaves::read(root, root, 3);
        assert_eq!((all.paths.len(), all.unreadable), (3, Vec::new()));
        let some = Leaves::read(root, root, 2);
        assert_eq!(
            (some.paths.len(), some.unreadable),
            (2, vec![PathBuf::new()])
        );
        let missing = Leaves::read(&root.join("d"), root, 2);
        assert_eq!(
            (missing.paths.len(), missing.unreadable),
            (0, vec![PathBuf::new()])
        );
    }
}
