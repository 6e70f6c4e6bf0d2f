//! Data about a workspace that the cache keeps between two starts of a server: its index, and what
//! a model has learnt from it.
//!
//! One file holds the data of one owner: a line that identifies the owner, a line with the SHA-256
//! of all other bytes in hex, a line with the known files of the workspace, and the parts of the
//! index. A new file is renamed into place. So any number of servers may read and write it, and a
//! server killed while writing leaves the old file. A server holds its index in memory and never
//! writes to the file that it read.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::index::{IndexError, IndexParts};
use crate::digest::hex;
use crate::folders::create_private_folder;

/// Location in the cache of one workspace's index, or of what a model has learnt from it.
#[derive(Clone, Debug)]
pub struct KeptIndex {
    file: PathBuf,
    origin: Origin,
}

/// The known files, by relative path.
pub type KnownFiles = BTreeMap<String, KnownFile>;

/// A known file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFile {
    /// Digest of its contents.
    pub contents: ContentsDigest,
    /// Stamp of the file with these contents; `None` if the disk has, or may have, other contents.
    pub stamp: Option<FileStamp>,
}

/// Digest by which contents are compared: the first half of their SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentsDigest([u64; 2]);

/// Stamp by which a file counts as unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    size: u64,
    /// Nanoseconds from 1970 to the last change.
    modified: u64,
}

/// A kept index of the cache, as it is listed.
#[derive(Clone, Debug)]
pub struct KeptEntry {
    /// The workspace's folders.
    pub folders: Vec<PathBuf>,
    /// The model that has learnt from it; `None` for an index.
    pub model: Option<String>,
    /// Bytes on disk.
    pub size: u64,
    /// Time of the last write.
    pub written: SystemTime,
    file: PathBuf,
}

/// Error when writing or reading a kept index.
#[derive(Debug, thiserror::Error)]
pub enum KeptIndexError {
    /// The disk fails.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The checksum does not match, or the file is cut off.
    #[error("{0} is damaged")]
    Damaged(PathBuf),
    /// The index can't be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// First line of a file: the owner of the index, and the program that wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    folders: Vec<PathBuf>,
    /// The model that has learnt from it; `None` for an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The program's version, size and build time, as another program may cut windows differently.
    program: String,
}

/// Third line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    files: KnownFiles,
    /// The names and lengths of the index's files, which follow in this order.
    parts: Vec<(PathBuf, usize)>,
}

/// The folder of all kept indexes in the cache.
const FOLDER: &str = "index";

/// Maximum total size of all kept indexes.
const MAX_TOTAL_BYTES: u64 = 2 << 30;

/// Minimum age of a change for a reliable stamp: a later change may leave the same time.
/// <https://git-scm.com/docs/racy-git>
const SETTLED: Duration = Duration::from_secs(2);

/// Minimum age of an unfinished file that is removed: its writer was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

impl KeptIndex {
    /// Returns the location of these folders' index in a cache.
    pub fn new(cache: &Path, folders: &[PathBuf]) -> Self {
        let folders = folders
            .iter()
            .map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
        let folders: Vec<PathBuf> = folders.collect();
        let digest = Sha256::digest(format!("{folders:?}"));
        Self {
            file: cache.join(FOLDER).join(hex(&digest[..16])),
            origin: Origin {
                folders,
                model: None,
                program: program(),
            },
        }
    }

    /// Returns the location of the data that a model of this name has learnt from these folders.
    pub fn of_model(cache: &Path, folders: &[PathBuf], model: &str) -> Self {
        let mut place = Self::new(cache, folders);
        place.file.as_mut_os_string().push(format!("-{model}"));
        place.origin.model = Some(model.to_owned());
        place
    }

    /// Reads the parts; `None` if there are none of this program.
    ///
    /// # Errors
    /// The file can't be read, or is damaged.
    pub fn load(&self) -> Result<Option<(IndexParts, KnownFiles)>, KeptIndexError> {
        let mut bytes = match fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&self.file)(error)),
        };
        let damaged = || KeptIndexError::Damaged(self.file.clone());
        // The fourth piece is binary and may contain line feeds, which `splitn` does not split.
        let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
        let mut next = || lines.next().ok_or_else(damaged);
        let (origin, sum, contents, parts) = (next()?, next()?, next()?, next()?);
        // Checked before parsing: a damaged first line must not pass for that of another program.
        if checksum(origin, contents, [parts]).as_bytes() != sum {
            return Err(damaged());
        }
        let origin: Origin = serde_json::from_slice(origin).map_err(|_| damaged())?;
        // Another program's file is intact but may have other windows; the next save replaces it.
        if origin != self.origin {
            return Ok(None);
        }
        let contents: Contents = serde_json::from_slice(contents).map_err(|_| damaged())?;
        // Split from the end, so that the largest part is not copied: parts may be hundreds of
        // megabytes.
        let mut end = bytes.len();
        let mut starts = Vec::new();
        for (_, length) in contents.parts.iter().rev() {
            end = end.checked_sub(*length).ok_or_else(damaged)?;
            starts.push(end);
        }
        let mut parts = IndexParts::new();
        for (index, ((name, _), start)) in contents.parts.into_iter().rev().zip(&starts).enumerate()
        {
            let part = if index + 1 < starts.len() {
                bytes.split_off(*start)
            } else {
                bytes.drain(..start);
                std::mem::take(&mut bytes)
            };
            parts.insert(name, Arc::new(part));
        }
        Ok(Some((parts, contents.files)))
    }

    /// Writes the parts. Removes kept indexes of deleted folders, and the oldest ones beyond 2 GiB.
    ///
    /// # Errors
    /// The disk is full or can't be written to.
    pub fn save(&self, parts: &IndexParts, files: KnownFiles) -> Result<(), KeptIndexError> {
        let contents = Contents {
            files,
            parts: parts
                .iter()
                .map(|(name, bytes)| (name.clone(), bytes.len()))
                .collect(),
        };
        let folder = self.file.parent().unwrap_or(Path::new("."));
        // The index contains code.
        create_private_folder(folder).map_err(io_error(folder))?;
        let part = self
            .file
            .with_extension(format!("{}.part", std::process::id()));
        let write = || -> io::Result<()> {
            let mut file = io::BufWriter::new(fs::File::create(&part)?);
            let origin = serde_json::to_vec(&self.origin)?;
            let contents = serde_json::to_vec(&contents)?;
            let bytes = parts.values().map(|part| part.as_slice());
            let sum = checksum(&origin, &contents, bytes).into_bytes();
            for line in [origin, sum, contents] {
                file.write_all(&line)?;
                file.write_all(b"\n")?;
            }
            for bytes in parts.values() {
                file.write_all(bytes)?;
            }
            // Without the sync, a crash after the rename could leave a file with missing contents.
            file.into_inner()?.sync_all()?;
            fs::rename(&part, &self.file)
        };
        let written = write();
        if written.is_err() {
            // The partial file is useless, and the first error is the one to report.
            let _ = fs::remove_file(&part);
        }
        written.map_err(io_error(&self.file))?;
        prune(folder.parent().unwrap_or(folder))?;
        Ok(())
    }
}

impl ContentsDigest {
    /// Returns the digest of some contents.
    pub fn of(contents: &str) -> Self {
        let digest = Sha256::digest(contents);
        let (halves, _) = digest.as_chunks();
        Self([0, 1].map(|half: usize| u64::from_le_bytes(halves[half])))
    }
}

impl FileStamp {
    /// Returns the stamp of a file; `None` if it is unavailable, or the file changed a moment ago.
    pub fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let modified = metadata.modified().ok()?;
        // A modification time in the future makes `duration_since` fail, and gives no stamp either.
        if SystemTime::now().duration_since(modified).ok()? < SETTLED {
            return None;
        }
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(Self {
            size: metadata.len(),
            modified: u64::try_from(since.as_nanos()).ok()?,
        })
    }
}

/// Lists the kept indexes of a cache, the last written first.
///
/// # Errors
/// The folder can't be read.
pub fn kept_indexes(cache: &Path) -> Result<Vec<KeptEntry>, KeptIndexError> {
    let folder = cache.join(FOLDER);
    let listed = match fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(&folder)(error)),
    };
    let mut entries = Vec::new();
    for entry in listed.flatten() {
        let file = entry.path();
        // Files being written have an extension.
        let Some(metadata) = entry.metadata().ok().filter(|_| file.extension().is_none()) else {
            continue;
        };
        let origin = first_line(&file).and_then(|line| serde_json::from_str::<Origin>(&line).ok());
        let (folders, model) = origin.map(|origin| (origin.folders, origin.model)).unzip();
        entries.push(KeptEntry {
            folders: folders.unwrap_or_default(),
            model: model.flatten(),
            size: metadata.len(),
            written: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            file,
        });
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
    Ok(entries)
}

/// Removes the kept indexes of deleted folders, damaged ones, and the oldest ones beyond 2 GiB.
/// Returns the removed ones.
///
/// # Errors
/// The folder can't be read, or a file can't be removed.
pub fn prune(cache: &Path) -> Result<Vec<KeptEntry>, KeptIndexError> {
    remove_unfinished(&cache.join(FOLDER));
    let mut total = 0;
    let mut removed = Vec::new();
    // The list is newest first, so the limit excludes the oldest ones.
    for entry in kept_indexes(cache)? {
        // A file whose first line is unreadable has no folders, and is removed.
        let is_used = entry.folders.iter().any(|folder| folder.is_dir());
        if is_used && total + entry.size <= MAX_TOTAL_BYTES {
            total += entry.size;
            continue;
        }
        match fs::remove_file(&entry.file) {
            // Another server may have removed it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error(&entry.file)(error));
            }
            _ => removed.push(entry),
        }
    }
    Ok(removed)
}

/// Removes files whose writer was killed.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if path.extension().is_some() && age.is_some_and(|age| age > ABANDONED) {
            // Not fatal: the next run tries it again.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns an identification of the running program.
fn program() -> String {
    let metadata = std::env::current_exe().and_then(fs::metadata).ok();
    let built = metadata.as_ref().and_then(|metadata| {
        let modified = metadata.modified().ok()?;
        modified.duration_since(SystemTime::UNIX_EPOCH).ok()
    });
    format!(
        "{} {} {}",
        env!("CARGO_PKG_VERSION"),
        metadata.map_or(0, |metadata| metadata.len()),
        built.unwrap_or_default().as_nanos(),
    )
}

/// Second line of a file.
fn checksum<'a>(
    origin: &[u8],
    contents: &[u8],
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> String {
    let mut digest = Sha256::new_with_prefix(origin);
    digest.update(contents);
    for part in parts {
        digest.update(part);
    }
    hex(&digest.finalize())
}

fn first_line(file: &Path) -> Option<String> {
    let mut line = String::new();
    let file = fs::File::open(file).ok()?;
    io::BufRead::read_line(&mut io::BufReader::new(file), &mut line).ok()?;
    Some(line)
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> KeptIndexError {
    let path = path.to_owned();
    |source| KeptIndexError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Index, Query};
    use crate::syntax::Language;

    fn index() -> Index {
        let index = Index::new().expect("an index");
        let python = Language::for_path(Path::new("a.py")).expect("a language");
        index
            .update(
                "tax.py",
                "def tax(amount):\n    return amount * RATE\n",
                python,
            )
            .expect("it is indexed");
        index.commit().expect("it is committed");
        index
    }

    fn parts() -> IndexParts {
        index().parts().expect("its files")
    }

    fn found(index: &Index) -> Vec<String> {
        let query = Query {
            path: "main.py",
            language: Language::for_path(Path::new("a.py")).expect("a language"),
            prefix: "total = tax(amount",
            suffix: "",
            tree: None,
            head: None,
            recent: &[],
        };
        let windows = index.retrieve(&query, 5).expect("windows");
        windows.into_iter().map(|window| window.path).collect()
    }

    #[test]
    fn kept_index_is_loaded_only_by_same_program_and_folders() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let kept = KeptIndex::new(cache.path(), &folders);
        assert!(kept.load().expect("nothing is no fault").is_none());
        let stamp = FileStamp {
            size: 3,
            modified: 4,
        };
        let known = |contents, stamp| KnownFile {
            contents: ContentsDigest::of(contents),
            stamp,
        };
        let files = KnownFiles::from([
            ("tax.py".to_owned(), known("TAX", Some(stamp))),
            ("b.py".to_owned(), known("B", None)),
        ]);
        kept.save(&parts(), files.clone()).expect("it is written");
        let (again, known) = kept.load().expect("it is read").expect("it is there");
        let again = Index::from_parts(again).expect("an index");
        assert_eq!(found(&again), ["tax.py"]);
        assert_eq!(known, files);
        // The loaded index accepts updates.
        again.remove("tax.py").expect("it is removed");
        again.commit().expect("it is committed");
        assert!(found(&again).is_empty());

        // The data of a model has its own file.
        let learnt = KeptIndex::of_model(cache.path(), &folders, "embedded");
        assert!(learnt.load().expect("nothing is no fault").is_none());
        let parts = IndexParts::from(
            [("a", "one"), ("b", ""), ("c", "three")]
                .map(|(name, text)| (PathBuf::from(name), Arc::new(text.as_bytes().to_vec()))),
        );
        learnt
            .save(&parts, KnownFiles::new())
            .expect("it is written");
        let (read, _) = learnt.load().expect("it is read").expect("it is there");
        assert_eq!(read, parts);
        let listed = kept_indexes(cache.path()).expect("a list");
        let mut models: Vec<Option<String>> = listed.into_iter().map(|one| one.model).collect();
        models.sort();
        assert_eq!(models, [None, Some("embedded".to_owned())]);

        let elsewhere = KeptIndex::new(cache.path(), &[cache.path().to_owned()]);
        assert!(elsewhere.load().expect("nothing is no fault").is_none());
        let mut rebuilt = kept.clone();
        rebuilt.origin.program.push('1');
        assert!(rebuilt.load().expect("no fault").is_none());
    }

    #[test]
    fn damage_is_detected_at_any_byte() {
        let cache = tempfile::tempdir().expect("a folder");
        let kept = KeptIndex::new(cache.path(), &[cache.path().to_owned()]);
        let tax = KnownFile {
            contents: ContentsDigest::of("TAX"),
            stamp: None,
        };
        kept.save(&parts(), KnownFiles::from([("tax.py".to_owned(), tax)]))
            .expect("it is written");
        let whole = fs::read(&kept.file).expect("it is there");
        for length in (0..whole.len()).step_by(101) {
            fs::write(&kept.file, &whole[..length]).expect("it is written");
            assert!(kept.load().is_err(), "cut at {length} of {}", whole.len());
        }
        let mut lines = whole.split(|byte| *byte == b'\n');
        let head: usize = lines.by_ref().take(3).map(|line| line.len() + 1).sum();
        assert!(head < whole.len());
        for at in (0..head).chain((head..whole.len()).step_by(97)) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&kept.file, flipped).expect("it is written");
            assert!(kept.load().is_err(), "flipped at {at} of {}", whole.len());
        }
    }

    #[test]
    fn prune_removes_indexes_of_deleted_folders() {
        let cache = tempfile::tempdir().expect("a folder");
        let gone = tempfile::tempdir().expect("a folder");
        let folders = [cache.path(), gone.path()].map(Path::to_owned);
        for folder in &folders {
            let kept = KeptIndex::new(cache.path(), std::slice::from_ref(folder));
            kept.save(&parts(), KnownFiles::new())
                .expect("it is written");
        }
        assert_eq!(kept_indexes(cache.path()).expect("a list").len(), 2);
        gone.close().expect("it is removed");
        let removed = prune(cache.path()).expect("a list");
        assert_eq!(removed.len(), 1);
        assert_eq!(removed[0].folders, [folders[1].clone()]);
        let left = kept_indexes(cache.path()).expect("a list");
        assert_eq!(left[0].folders, [folders[0].clone()]);
    }

    #[test]
    fn recently_changed_files_have_no_stamp() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.py");
        fs::write(&path, "a = 1\n").expect("it is written");
        assert_eq!(FileStamp::read(&path), None);
        let file = fs::File::options().write(true).open(&path).expect("a file");
        let earlier = SystemTime::now() - Duration::from_secs(60);
        file.set_modified(earlier).expect("a time");
        assert_eq!(FileStamp::read(&path).map(|stamp| stamp.size), Some(6));
    }
}
