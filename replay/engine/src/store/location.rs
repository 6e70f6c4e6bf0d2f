//! Location of the parts of a run: a folder, or a prefix of an object store.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

#[cfg(not(feature = "object-store"))]
use super::no_objects::UnavailableObjects as ObjectPrefix;
#[cfg(feature = "object-store")]
use super::objects::ObjectPrefix;
use super::segment::{Segment, is_segment, put, segments_in};
use super::{Partition, StoreError};

/// The folder of the parts' folders.
pub(super) const PARTS: &str = "parts";

/// The folder of the files that holes were cut into.
pub(super) const SOURCES: &str = "sources";

/// True if the location is an address, such as that of an object store, and not a folder.
pub fn is_object_address(location: &Path) -> bool {
    location.to_string_lossy().contains("://")
}

/// Location of the parts of a run.
pub(super) enum PartsLocation {
    /// A folder.
    Folder(PathBuf),
    /// A prefix of an object store.
    Objects(ObjectPrefix),
}

impl PartsLocation {
    /// The location that a person names.
    ///
    /// # Errors
    /// It looks like an object store's address and is none.
    pub(super) fn open(location: &Path) -> Result<Self, StoreError> {
        Ok(match is_object_address(location) {
            true => Self::Objects(ObjectPrefix::open(&location.to_string_lossy())?),
            false => Self::Folder(location.to_owned()),
        })
    }

    /// Makes the folders of a part.
    ///
    /// # Errors
    /// They can't be made. An object store has none.
    pub(super) fn prepare(&self, partition: Partition) -> Result<(), StoreError> {
        let Self::Folder(shared) = self else {
            return Ok(());
        };
        for folder in [part_folder(partition), SOURCES.to_owned()] {
            let folder = shared.join(folder);
            std::fs::create_dir_all(&folder).map_err(StoreError::file(&folder))?;
        }
        Ok(())
    }

    /// The segments of a part.
    ///
    /// # Errors
    /// One can't be read, or is damaged.
    pub(super) fn segments(&self, partition: Partition) -> Result<Vec<Segment>, StoreError> {
        let folder = part_folder(partition);
        match self {
            Self::Folder(shared) => segments_in(&shared.join(folder))?
                .iter()
                .map(|path| Segment::read(path))
                .collect(),
            Self::Objects(objects) => {
                let names = objects.list(&folder)?;
                let names: Vec<String> =
                    names.into_iter().filter(|name| is_segment(name)).collect();
                let mut segments = Vec::new();
                objects.read(&names, &mut |name, contents| {
                    segments.push(Segment::new(&objects.place(name), contents)?);
                    Ok(())
                })?;
                Ok(segments)
            }
        }
    }

    /// Puts a segment in place: whole, and once.
    ///
    /// # Errors
    /// The location can't be written to.
    pub(super) fn put_segment(
        &self,
        partition: Partition,
        name: &str,
        contents: &[u8],
    ) -> Result<(), StoreError> {
        self.put(&part_folder(partition), name, contents)
    }

    /// Puts a file that a hole was cut into in place: whole, and once.
    ///
    /// # Errors
    /// The location can't be written to.
    pub(super) fn put_source(&self, sha256: &str, contents: &[u8]) -> Result<(), StoreError> {
        self.put(SOURCES, sha256, contents)
    }

    fn put(&self, folder: &str, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Folder(shared) => put(&shared.join(folder), name, contents),
            Self::Objects(objects) => objects.put(&format!("{folder}/{name}"), contents),
        }
    }

    /// Returns the location of a part's segments, for messages.
    pub(super) fn part_place(&self, partition: Partition) -> PathBuf {
        let folder = part_folder(partition);
        match self {
            Self::Folder(shared) => shared.join(folder),
            Self::Objects(objects) => objects.place(&folder),
        }
    }
}

/// A part's folder, relative to the location.
fn part_folder(partition: Partition) -> String {
    format!("{PARTS}/{}", partition.folder_name())
}

/// Folders with parts: those that people name, and copies of what is in object stores.
pub(super) struct LocalFolders {
    pub(super) folders: Vec<PathBuf>,
    /// Folders that are removed once the parts are merged.
    pub(super) copies: Vec<TempDir>,
}

impl LocalFolders {
    /// # Errors
    /// An object store does not answer, or one of its segments or sources is damaged.
    pub(super) fn open(locations: &[PathBuf]) -> Result<Self, StoreError> {
        let mut local = Self {
            folders: Vec::new(),
            copies: Vec::new(),
        };
        for location in locations {
            match PartsLocation::open(location)? {
                PartsLocation::Folder(folder) => local.folders.push(folder),
                PartsLocation::Objects(objects) => {
                    let copy = copy(&objects)?;
                    local.folders.push(copy.path().to_owned());
                    local.copies.push(copy);
                }
            }
        }
        Ok(local)
    }
}

/// Copies all segments and sources into a temporary folder. Each is named by its contents, which
/// are checked, since later faults would name the copy.
fn copy(objects: &ObjectPrefix) -> Result<TempDir, StoreError> {
    let folder = tempfile::tempdir().map_err(StoreError::file(&std::env::temp_dir()))?;
    let names = objects.list("")?.into_iter();
    let names: Vec<String> = names
        // Other objects under the prefix, such as logs of a scheduler, are no part of the
        // run.
        .filter(|name| is_segment(name) || name.starts_with(&format!("{SOURCES}/")))
        .collect();
    objects.read(&names, &mut |name, contents| {
        let path = folder.path().join(name);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if fillrate_language::task::sha256_hex(&contents) != stem {
            return Err(StoreError::Damaged(objects.place(name)));
        }
        let parent = path.parent().unwrap_or(folder.path());
        std::fs::create_dir_all(parent).map_err(StoreError::file(parent))?;
        std::fs::write(&path, contents).map_err(StoreError::file(&path))
    })?;
    Ok(folder)
}
