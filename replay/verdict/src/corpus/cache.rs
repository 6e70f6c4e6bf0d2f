//! The folder that sources and environments are kept in, safe for several processes at once.
//!
//! An entry is a folder with a record in it, and the record is written last: without it, the
//! entry was never finished and is made anew. Entries are made at their final path instead of
//! being moved there, because a virtual environment holds its own path. A lock file per entry
//! keeps others away while it is made; the system releases the lock when its holder dies.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fillrate_language::task::WholeFile;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::error::CorpusError;
use super::step::CorpusStep;

/// The file that makes an entry complete.
const RECORD: &str = "record.json";

/// The folders of entries.
const ENTRIES: [&str; 2] = [SOURCES, ENVIRONMENTS];

/// The folder of the entries of sources.
pub(super) const SOURCES: &str = "sources";

/// The folder of the entries of environments.
pub(super) const ENVIRONMENTS: &str = "environments";

/// A cache; see the module's description.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    /// The requested entries, relative to the folder.
    used: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Cache {
    /// The user's cache: `$FILLRATE_CACHE`, else `$XDG_CACHE_HOME/fillrate`, else
    /// `~/.cache/fillrate`. An empty variable counts as absent.
    ///
    /// # Errors
    /// [`CorpusError::Environment`] if none of the variables is set.
    pub fn from_environment() -> Result<Self, CorpusError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = if let Some(root) = set("FILLRATE_CACHE") {
            PathBuf::from(root)
        } else if let Some(caches) = set("XDG_CACHE_HOME") {
            Path::new(&caches).join("fillrate")
        } else if let Some(home) = set("HOME") {
            Path::new(&home).join(".cache/fillrate")
        } else {
            return Err(CorpusError::unusable(
                "cache",
                "there is no home folder; set FILLRATE_CACHE to a folder".to_owned(),
            ));
        };
        Ok(Self::at(&root))
    }

    /// A cache in this folder, which is made when it is needed.
    pub fn at(root: &Path) -> Self {
        // Child processes run in other folders, so a relative path would mislead them.
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        Self {
            root,
            used: Arc::default(),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder and the record of the entry `kind/name`: the existing ones if it is
    /// complete and `usable`, else made anew by `make`, which is given an empty folder. Waits while
    /// another thread or process makes it.
    pub(crate) fn entry<R: Serialize + DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
        report_step: &dyn Fn(CorpusStep),
        usable: impl Fn(&Path, &R) -> bool,
        make: impl FnOnce(&Path) -> Result<R, CorpusError>,
    ) -> Result<(PathBuf, R), CorpusError> {
        let path = Path::new(kind).join(name);
        let folder = self.root.join(&path);
        let _lock = self.lock(&path, report_step)?;
        self.used.lock().insert(path);
        if let Some(record) = read_record(&folder)
            && usable(&folder, &record)
        {
            return Ok((folder, record));
        }
        remove(&folder)?;
        fs::create_dir_all(&folder).map_err(CorpusError::io("creating", &folder))?;
        let record = match make(&folder) {
            Ok(record) => record,
            Err(error) => {
                // What is left is not complete and costs only room; the first error matters more.
                let _ = remove(&folder);
                return Err(error);
            }
        };
        write_record(&folder, &record)?;
        Ok((folder, record))
    }

    /// The entries requested from this cache and its clones, relative to the folder.
    pub fn used_entries(&self) -> BTreeSet<PathBuf> {
        self.used.lock().clone()
    }

    /// Keeps other threads and processes away from an item, a path relative to the folder, until
    /// the file is closed.
    pub(super) fn lock(
        &self,
        item: &Path,
        report_step: &dyn Fn(CorpusStep),
    ) -> Result<File, CorpusError> {
        let locks = self.root.join("locks");
        fs::create_dir_all(&locks).map_err(CorpusError::io("creating", &locks))?;
        let names: Vec<_> = item.iter().map(|name| name.to_string_lossy()).collect();
        lock(&locks.join(names.join("-")), report_step)
    }

    /// Returns true if an item, a path relative to the folder, exists and is complete. An item that
    /// is not an entry is complete once it exists: it, or each file in it, is renamed into place.
    pub(super) fn has(&self, item: &Path) -> bool {
        let path = self.root.join(item);
        let is_entry = ENTRIES.iter().any(|kind| item.starts_with(kind));
        if is_entry {
            path.join(RECORD).is_file()
        } else {
            path.exists()
        }
    }

    /// Moves `made`, which is on the same file system, to the path of an item unless the item
    /// exists. It was made for that path, so that moving it breaks nothing.
    pub(super) fn adopt(
        &self,
        item: &Path,
        made: &Path,
        report_step: &dyn Fn(CorpusStep),
    ) -> Result<(), CorpusError> {
        let _lock = self.lock(item, report_step)?;
        if self.has(item) {
            return Ok(());
        }
        let path = self.root.join(item);
        let parent = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(CorpusError::io("creating", parent))?;
        // An entry that was never finished.
        remove(&path)?;
        fs::rename(made, &path).map_err(CorpusError::io("writing", &path))
    }
}

/// Name of an entry that starts with its `label` and differs whenever one of `parts` does.
pub(crate) fn entry_name(label: &str, parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // With their lengths, the parts `a` and `bc` differ from `ab` and `c`.
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let plain: String = label
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    // 80 bits: two pins with one name would need a collision that somebody searched for.
    format!("{plain}-{}", &hex(&hasher.finalize())[..20])
}

/// Lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock(path: &Path, report_step: &dyn Fn(CorpusStep)) -> Result<File, CorpusError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(CorpusError::io("opening", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            report_step(CorpusStep::Waiting);
            file.lock().map_err(CorpusError::io("locking", path))?;
        }
        Err(TryLockError::Error(error)) => return Err(CorpusError::io("locking", path)(error)),
    }
    Ok(file)
}

fn read_record<R: DeserializeOwned>(folder: &Path) -> Option<R> {
    // A record that cannot be read is as good as none: the entry is made anew.
    serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()
}

fn write_record<R: Serialize>(folder: &Path, record: &R) -> Result<(), CorpusError> {
    let path = folder.join(RECORD);
    let write = || {
        let mut file = WholeFile::create(&path)?;
        serde_json::to_writer_pretty(&mut file, record)?;
        // The record makes the entry complete, so its bytes reach the disk before its name does.
        file.finish_synced()
    };
    write().map_err(CorpusError::io("writing", &path))
}

pub(super) fn remove(folder: &Path) -> Result<(), CorpusError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CorpusError::io("removing", folder)(error))
        }
        _ => Ok(()),
    }
}
