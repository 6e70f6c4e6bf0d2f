//! The listing of an item of a pack, and the hash over it.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::PackError;
use crate::corpus::cache::hex;

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackedNodeKind {
    Folder,
    File,
    Link,
}

/// A folder, a file or a link of an item.
pub(super) struct PackedNode {
    /// Relative to the cache.
    pub(super) path: PathBuf,
    pub(super) kind: PackedNodeKind,
    pub(super) mode: u32,
    /// In seconds since 1970.
    pub(super) modified: u64,
    /// A file's; 0 for others.
    pub(super) size: u64,
}

impl PackedNode {
    /// Reads a file's contents or a link's target, of a cache in the folder `root`.
    pub(super) fn open(&self, root: &Path) -> io::Result<HashingReader<Box<dyn Read>>> {
        let file = root.join(&self.path);
        let reader: Box<dyn Read> = match self.kind {
            PackedNodeKind::Folder => Box::new(io::empty()),
            PackedNodeKind::Link => Box::new(Cursor::new(
                fs::read_link(file)?.into_os_string().into_vec(),
            )),
            // An archive has room for as much as there was.
            PackedNodeKind::File => Box::new(File::open(file)?.take(self.size)),
        };
        Ok(HashingReader::new(reader))
    }
}

/// An item of a cache in the folder `root` and all below it, sorted by path.
///
/// # Errors
/// Something can't be read.
pub(super) fn nodes(root: &Path, item: &Path) -> Result<Vec<PackedNode>, PackError> {
    let mut nodes = Vec::new();
    let mut pending = vec![item.to_owned()];
    while let Some(path) = pending.pop() {
        let file = root.join(&path);
        let metadata = file.symlink_metadata().map_err(PackError::io(&file))?;
        let kind = if metadata.is_dir() {
            for entry in fs::read_dir(&file).map_err(PackError::io(&file))? {
                let entry = entry.map_err(PackError::io(&file))?;
                pending.push(path.join(entry.file_name()));
            }
            PackedNodeKind::Folder
        } else if metadata.is_symlink() {
            PackedNodeKind::Link
        } else if metadata.is_file() {
            PackedNodeKind::File
        } else {
            // A socket that a tool left is nothing that tests need.
            continue;
        };
        nodes.push(PackedNode {
            path,
            kind,
            mode: metadata.permissions().mode() & 0o777,
            modified: u64::try_from(metadata.mtime()).unwrap_or_default(),
            size: if kind == PackedNodeKind::File {
                metadata.len()
            } else {
                0
            },
        });
    }
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(nodes)
}

/// The hash over the nodes of an item, in the order in which they are added.
#[derive(Default)]
pub(super) struct Listing {
    hasher: Sha256,
    bytes: u64,
}

impl Listing {
    /// Adds a node and the hash of its contents.
    pub(super) fn add(&mut self, node: &PackedNode, contents: [u8; 32]) {
        let kind = match node.kind {
            PackedNodeKind::Folder => b"d",
            PackedNodeKind::File => b"f",
            PackedNodeKind::Link => b"l",
        };
        let path = node.path.as_os_str().as_bytes();
        self.hasher.update(kind);
        self.hasher.update(node.mode.to_le_bytes());
        self.hasher.update((path.len() as u64).to_le_bytes());
        self.hasher.update(path);
        self.hasher.update(contents);
        self.bytes += node.size;
    }

    /// The hash in hexadecimal digits, and the size of all files.
    pub(super) fn finish(self) -> (String, u64) {
        (hex(&self.hasher.finalize()), self.bytes)
    }
}

/// A reader that hashes the bytes read through it.
pub(super) struct HashingReader<R> {
    reader: R,
    hasher: Sha256,
}

impl<R: Read> HashingReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            hasher: Sha256::new(),
        }
    }

    /// The hash of the bytes read.
    pub(super) fn finish(self) -> [u8; 32] {
        self.hasher.finalize().into()
    }

    /// Reads all that is left and returns the hash.
    pub(super) fn drain(mut self) -> io::Result<[u8; 32]> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.finish())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}
