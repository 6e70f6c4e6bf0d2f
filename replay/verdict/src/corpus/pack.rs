//! A pack: one file with the parts of a cache that a worker without network needs.
//!
//! It is a `.tar.gz`. Its first entry, `fillrate-pack.json`, names the items that follow: entries
//! of the cache and files in it, each with a SHA-256. That is the hash over the item's folders,
//! files and links, sorted by path, each as its kind (`d`, `f` or `l`), its permissions as 32 bits,
//! the length of its path as 64 bits, the path, and the SHA-256 of its contents or its target;
//! numbers are little-endian. Two packs of the same cache are equal to the byte.
//!
//! Environments hold the path of their cache, so that a pack is only unpacked into a cache at the
//! same path.

mod error;
mod listing;
mod unpack;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fillrate_language::task::WholeFile;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::cache::{Cache, hex};
use super::environment::Environment;
pub use error::PackError;
use listing::{Listing, PackedNode, PackedNodeKind, nodes};
pub use unpack::{UnpackedCorpus, unpack};

/// The version of the format.
const SCHEMA: u32 = 1;

/// The name of the first entry.
const HEADER: &str = "fillrate-pack.json";

/// The folder of the cache with packed manifests and tasks.
const CORPORA: &str = "packs";

/// Contents of the first entry.
#[derive(Debug, Serialize, Deserialize)]
struct PackHeader {
    /// The version of the format: [`SCHEMA`].
    pack: u32,
    /// The version of the program that packed.
    program: String,
    /// The cache's folder.
    cache: PathBuf,
    corpus: PackedCorpus,
    /// The interpreters of the environments.
    interpreters: BTreeSet<PackedInterpreter>,
    /// In the order in which they follow.
    items: Vec<PackedItem>,
}

/// An interpreter that an environment was made for, which a worker has itself.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct PackedInterpreter {
    path: PathBuf,
    version: String,
}

/// Something in the cache.
#[derive(Debug, Serialize, Deserialize)]
struct PackedItem {
    /// Relative to the cache.
    path: PathBuf,
    /// The size of its files.
    bytes: u64,
    /// See the module's description.
    sha256: String,
}

/// A manifest and tasks in a folder of the cache; paths are relative to the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedCorpus {
    folder: PathBuf,
    manifest: PathBuf,
    tasks: Option<PathBuf>,
}

impl PackedCorpus {
    /// Puts files, each a name and contents, into a folder of the cache that is named after them.
    /// The first is the manifest; `tasks` names the one with the tasks.
    ///
    /// # Errors
    /// The cache can't be written to.
    pub fn keep(
        cache: &Cache,
        files: &[(PathBuf, Vec<u8>)],
        tasks: Option<&Path>,
    ) -> Result<Self, PackError> {
        let mut hasher = Sha256::new();
        for (name, text) in files {
            for part in [name.as_os_str().as_bytes(), text] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        let folder = Path::new(CORPORA).join(&hex(&hasher.finalize())[..16]);
        let root = cache.root();
        fs::create_dir_all(root).map_err(PackError::io(root))?;
        // In the cache itself, as `adopt` renames the folder within one file system.
        let made = tempfile::tempdir_in(root).map_err(PackError::io(root))?;
        let aside = made.path().join("corpus");
        for (name, text) in files {
            let path = aside.join(name);
            let parent = path.parent().unwrap_or(&aside);
            fs::create_dir_all(parent).map_err(PackError::io(parent))?;
            fs::write(&path, text).map_err(PackError::io(&path))?;
        }
        cache.adopt(&folder, &aside, &|_| {})?;
        Ok(Self {
            manifest: files
                .first()
                .map_or_else(PathBuf::new, |(name, _)| folder.join(name)),
            tasks: tasks.map(|name| folder.join(name)),
            folder,
        })
    }
}

/// Contents of a pack.
pub struct PackContents<'a> {
    /// The manifest and the tasks.
    pub corpus: PackedCorpus,
    /// The environments of the corpus's projects.
    pub environments: Vec<&'a Environment>,
    /// The packed items of the cache, relative to it.
    pub items: BTreeSet<PathBuf>,
}

/// Size of a pack's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackSize {
    /// Number of entries and files of the cache.
    pub items: usize,
    /// The size of their files, which the pack holds compressed.
    pub bytes: u64,
}

/// Packs contents into a file. An existing file is replaced once the pack is complete.
///
/// # Errors
/// An item can't be read or changes while it is packed, or the file can't be written.
pub fn pack(cache: &Cache, contents: &PackContents<'_>, out: &Path) -> Result<PackSize, PackError> {
    let corpus = &contents.corpus;
    let mut items = vec![list_item(cache, &corpus.folder)?];
    for path in &contents.items {
        items.push(list_item(cache, path)?);
    }
    let size = PackSize {
        items: items.len(),
        bytes: items.iter().map(|item| item.bytes).sum(),
    };
    let interpreters = contents.environments.iter();
    let header = PackHeader {
        pack: SCHEMA,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        cache: cache.root().to_owned(),
        corpus: corpus.clone(),
        interpreters: interpreters
            // A project without tests has none.
            .filter(|environment| !environment.interpreter.as_os_str().is_empty())
            .map(|environment| PackedInterpreter {
                path: environment.interpreter.clone(),
                version: environment.version.clone(),
            })
            .collect(),
        items,
    };
    write_pack(cache, &header, out)?;
    Ok(size)
}

/// The hash of an item as it is now.
fn list_item(cache: &Cache, path: &Path) -> Result<PackedItem, PackError> {
    let mut listing = Listing::default();
    for node in nodes(cache.root(), path)? {
        let fault = PackError::io(&cache.root().join(&node.path));
        let contents = node
            .open(cache.root())
            .and_then(|reader| reader.drain())
            .map_err(fault)?;
        listing.add(&node, contents);
    }
    let (sha256, bytes) = listing.finish();
    Ok(PackedItem {
        path: path.to_owned(),
        bytes,
        sha256,
    })
}

fn write_pack(cache: &Cache, header: &PackHeader, out: &Path) -> Result<(), PackError> {
    let writing = |error| PackError::io(out)(error);
    let file = WholeFile::create(out).map_err(writing)?;
    let mut tar = Builder::new(GzEncoder::new(file, Compression::fast()));
    let text = serde_json::to_vec_pretty(header)
        .map_err(io::Error::from)
        .map_err(writing)?;
    let mut first = plain_header(EntryType::Regular, 0o644, 0, text.len() as u64);
    tar.append_data(&mut first, HEADER, text.as_slice())
        .map_err(writing)?;
    for item in &header.items {
        let mut listing = Listing::default();
        for node in nodes(cache.root(), &item.path)? {
            let fault = PackError::io(&cache.root().join(&node.path));
            let contents = append(&mut tar, cache.root(), &node).map_err(fault)?;
            listing.add(&node, contents);
        }
        if listing.finish().0 != item.sha256 {
            return Err(PackError::Changed(cache.root().join(&item.path)));
        }
    }
    let file = tar.into_inner().and_then(GzEncoder::finish);
    file.and_then(WholeFile::finish_synced).map_err(writing)
}

/// Appends a node and returns the hash of its contents.
fn append<W: io::Write>(
    tar: &mut Builder<W>,
    root: &Path,
    node: &PackedNode,
) -> io::Result<[u8; 32]> {
    let mut reader = node.open(root)?;
    match node.kind {
        PackedNodeKind::Link => {
            let mut header = plain_header(EntryType::Symlink, node.mode, node.modified, 0);
            tar.append_link(
                &mut header,
                &node.path,
                fs::read_link(root.join(&node.path))?,
            )?;
            reader.drain()
        }
        PackedNodeKind::Folder => {
            let mut header = plain_header(EntryType::Directory, node.mode, node.modified, 0);
            tar.append_data(&mut header, &node.path, io::empty())?;
            reader.drain()
        }
        PackedNodeKind::File => {
            let mut header = plain_header(EntryType::Regular, node.mode, node.modified, node.size);
            tar.append_data(&mut header, &node.path, &mut reader)?;
            Ok(reader.finish())
        }
    }
}

/// A header with nothing of the machine but permissions and the time.
fn plain_header(kind: EntryType, mode: u32, modified: u64, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(modified);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header
}

#[cfg(test)]
mod tests;
