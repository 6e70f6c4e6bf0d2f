//! Files as they were read, compared with their known versions.

use std::collections::BTreeMap;

use crate::context::{ContentsDigest, FileStamp, KnownFile, KnownFiles};
use crate::workspace::{Workspace, WorkspaceError, WorkspaceFile};

/// A file as it was read.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) contents: String,
    /// The digest of the contents, and the stamp before they were read.
    known: KnownFile,
}

impl ReadFile {
    pub(super) fn new(contents: String, stamp: Option<FileStamp>) -> Self {
        let known = FileVersion::new(&contents, stamp).known;
        Self { contents, known }
    }

    /// Reads a file of the workspace.
    pub(super) fn read(
        workspace: &Workspace,
        file: &WorkspaceFile,
    ) -> Result<Self, WorkspaceError> {
        // If the file changes between the two reads, its stamp is too old, and it is read again
        // later.
        let stamp = FileStamp::read(&file.absolute);
        Ok(Self::new(workspace.read(file)?, stamp))
    }

    pub(super) fn version(&self) -> FileVersion<'_> {
        FileVersion {
            contents: &self.contents,
            known: self.known,
        }
    }
}

/// A file's contents, with digest and stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileVersion<'a> {
    pub(super) contents: &'a str,
    pub(super) known: KnownFile,
}

impl<'a> FileVersion<'a> {
    /// Creates a version; `stamp` is that of the file if it has these contents on disk.
    pub(super) fn new(contents: &'a str, stamp: Option<FileStamp>) -> Self {
        let known = KnownFile {
            contents: ContentsDigest::of(contents),
            stamp,
        };
        Self { contents, known }
    }

    pub(super) fn to_owned(self) -> ReadFile {
        ReadFile {
            contents: self.contents.to_owned(),
            known: self.known,
        }
    }
}

/// Records that a file's version is known; `None` means that the file was removed. Returns true if
/// this differs from the known version.
pub(super) fn note_version(
    known: &mut KnownFiles,
    path: &str,
    version: Option<FileVersion<'_>>,
) -> bool {
    let Some(version) = version else {
        return known.remove(path).is_some();
    };
    let before = known.insert(path.to_owned(), version.known);
    let same = before.filter(|before| before.contents == version.known.contents);
    if let Some(before) = same
        && version.known.stamp.is_none()
        && let Some(file) = known.get_mut(path)
    {
        // A buffer equal to the disk's contents does not change the file's stamp.
        file.stamp = before.stamp;
    }
    same.is_none()
}

/// Returns those known files that the workspace no longer has, or has with other stamps.
pub(super) fn stale(known: &KnownFiles, files: &[WorkspaceFile]) -> Vec<String> {
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
