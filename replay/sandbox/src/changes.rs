//! What a program did to the directories that it sees copy-on-write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::Overlay;

/// One overlay as it was before the program started, kept by pid 1.
#[derive(Debug)]
pub(super) struct Before {
    /// Where it appears inside.
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

/// What tells whether a file is still the same. A program can set every other time back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
}

impl Before {
    /// Of an overlay file system with these layers.
    pub(super) fn layers(overlay: &Overlay, upper: &Path, lower: &Path) -> io::Result<Self> {
        let state = State::Layers {
            upper: File::open(upper)?,
            lower: File::open(lower)?,
        };
        Ok(Self::with(overlay, state))
    }

    /// Of a copy that lies at `root`, the replaced files included.
    pub(super) fn copy(overlay: &Overlay, root: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for path in leaves(root)? {
            let stamp = Stamp::of(&fs::symlink_metadata(root.join(&path))?);
            files.insert(path, stamp);
        }
        Ok(Self::with(overlay, State::Files(files)))
    }

    fn with(overlay: &Overlay, state: State) -> Self {
        Self {
            at: overlay.at.clone(),
            guarded: overlay.guarded.clone(),
            replaced: overlay.replaced.iter().map(|r| r.path.clone()).collect(),
            state,
        }
    }

    /// The paths inside of guarded files that are gone or were written to, and of new files,
    /// sorted. To be called when nothing of the program is left.
    pub(super) fn changed(&self) -> io::Result<Vec<PathBuf>> {
        let gone = |path: &PathBuf| fs::symlink_metadata(self.at.join(path)).is_err();
        let mut changed = BTreeSet::new();
        match &self.state {
            State::Layers { upper, lower } => {
                let (upper, lower) = (opened(upper), opened(lower));
                for path in leaves(&upper)? {
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
                let now = leaves(&self.at)?;
                changed.extend(now.into_iter().filter(|path| !before.contains_key(path)));
                let written = |path: &PathBuf| {
                    let now = fs::symlink_metadata(self.at.join(path));
                    now.is_ok_and(|now| before.get(path) != Some(&Stamp::of(&now)))
                };
                let guarded = self.guarded.iter();
                changed.extend(guarded.filter(|path| gone(path) || written(path)).cloned());
            }
        }
        Ok(changed.into_iter().map(|path| self.at.join(path)).collect())
    }
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A path to a directory that is held open, whatever is mounted over it.
fn opened(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Everything below `root` that is no directory, and directories that can't be read, relative to
/// it.
fn leaves(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut leaves = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Ok(entries) => entries,
            Err(error) if folder.as_os_str().is_empty() => return Err(error),
            Err(_) => {
                leaves.push(folder);
                continue;
            }
        };
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else {
                leaves.push(path);
            }
        }
    }
    Ok(leaves)
}
