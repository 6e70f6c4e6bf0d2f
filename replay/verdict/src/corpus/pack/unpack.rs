//! Unpacks a pack into a cache: each item into a temporary folder, then moved to its final path
//! once it is complete.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, Entry, EntryType};

use super::listing::{HashingReader, Listing, PackedNode, PackedNodeKind};
use super::{HEADER, PackError, PackHeader, PackedItem, SCHEMA};
use crate::corpus::CorpusStep;
use crate::corpus::cache::{self, Cache};

/// The folder of the cache in which items are unpacked.
const ASIDE: &str = "unpacking";

/// The most bytes of the first entry.
const HEADER_BYTES: u64 = 1 << 28;

/// Result of unpacking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackedCorpus {
    /// The manifest.
    pub manifest: PathBuf,
    /// The tasks, if there are some.
    pub tasks: Option<PathBuf>,
    /// Number of entries and files of the cache in the pack.
    pub items: usize,
    /// Number of them that the cache already had; these are unchanged.
    pub known: usize,
}

/// Unpacks a pack into a cache. Existing items are kept; an unpacking that was killed leaves no
/// item that another would take for complete.
///
/// # Errors
/// The file is not a pack, is damaged, or is of another cache; an interpreter is missing; the cache
/// can't be written to. Items before the damage are in the cache then.
pub fn unpack(
    cache: &Cache,
    pack: &Path,
    report_step: &dyn Fn(CorpusStep),
) -> Result<UnpackedCorpus, PackError> {
    let file = File::open(pack).map_err(PackError::io(pack))?;
    let mut tar = Archive::new(MultiGzDecoder::new(io::BufReader::new(file)));
    let no_pack = |_| PackError::NoPack(pack.to_owned());
    let mut entries = tar.entries().map_err(no_pack)?;
    let header = match entries.next() {
        Some(Ok(entry)) => read_header(pack, entry)?,
        _ => return Err(PackError::NoPack(pack.to_owned())),
    };
    check_header(pack, &header, cache)?;
    let _lock = cache.lock(Path::new(ASIDE), report_step)?;
    let aside = cache.root().join(ASIDE);
    // What a killed process left.
    cache::remove(&aside)?;
    let mut known = 0;
    let mut items = header.items.iter().peekable();
    let mut current: Option<ItemUnpacking<'_>> = None;
    let damaged = |item: &Path| PackError::Damaged {
        path: pack.to_owned(),
        item: item.to_owned(),
    };
    for entry in entries {
        let at = current
            .as_ref()
            .map_or(Path::new(HEADER), |one| one.item.path.as_path());
        let mut entry = entry.map_err(|_| damaged(at))?;
        let path = entry.path().map_err(|_| damaged(at))?.into_owned();
        if !current
            .as_ref()
            .is_some_and(|one| path.starts_with(&one.item.path))
        {
            let next = items.next().filter(|item| path.starts_with(&item.path));
            let next = next.ok_or_else(|| damaged(at))?;
            if let Some(done) = current.take() {
                known += usize::from(done.finish(pack, report_step)?);
            }
            current = Some(ItemUnpacking::new(cache, &aside, next));
        }
        if let Some(item) = &mut current {
            item.add(pack, path, &mut entry)?;
        }
    }
    let last = current.ok_or_else(|| damaged(Path::new(HEADER)))?;
    known += usize::from(last.finish(pack, report_step)?);
    if let Some(lost) = items.next() {
        return Err(damaged(&lost.path));
    }
    cache::remove(&aside)?;
    let root = cache.root();
    Ok(UnpackedCorpus {
        manifest: root.join(header.corpus.manifest),
        tasks: header.corpus.tasks.map(|tasks| root.join(tasks)),
        items: header.items.len(),
        known,
    })
}

fn read_header(pack: &Path, entry: Entry<'_, impl Read>) -> Result<PackHeader, PackError> {
    let no_pack = || PackError::NoPack(pack.to_owned());
    if entry.path().ok().as_deref() != Some(Path::new(HEADER)) {
        return Err(no_pack());
    }
    let mut text = Vec::new();
    entry
        .take(HEADER_BYTES)
        .read_to_end(&mut text)
        .map_err(|_| no_pack())?;
    #[derive(serde::Deserialize)]
    struct Version {
        pack: u32,
    }
    // The rest of another version's header may have another form.
    let Version { pack: found } = serde_json::from_slice(&text).map_err(|_| no_pack())?;
    if found != SCHEMA {
        return Err(PackError::Version {
            path: pack.to_owned(),
            found,
        });
    }
    serde_json::from_slice(&text).map_err(|_| no_pack())
}

/// Refuses a pack that would not work in this cache, on this machine.
fn check_header(pack: &Path, header: &PackHeader, cache: &Cache) -> Result<(), PackError> {
    if header.cache != cache.root() {
        return Err(PackError::OtherCache {
            path: pack.to_owned(),
            packed: header.cache.clone(),
            here: cache.root().to_owned(),
        });
    }
    let missing = header.interpreters.iter().find(|one| !one.path.exists());
    if let Some(missing) = missing {
        return Err(PackError::NoInterpreter {
            path: pack.to_owned(),
            interpreter: missing.path.clone(),
            version: missing.version.clone(),
        });
    }
    // Each is `KIND/NAME`, so that nothing but the cache is written to.
    let is_plain = |path: &Path| {
        path.components().count() == 2
            && path
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
    };
    match header.items.iter().find(|item| !is_plain(&item.path)) {
        Some(item) => Err(PackError::Damaged {
            path: pack.to_owned(),
            item: item.path.clone(),
        }),
        None => Ok(()),
    }
}

/// An item that is being unpacked.
struct ItemUnpacking<'a> {
    cache: &'a Cache,
    aside: &'a Path,
    item: &'a PackedItem,
    /// True if the cache has it, so that it is only checked.
    known: bool,
    listing: Listing,
    /// Links and their targets, made after all files, so that no file is written through one.
    links: Vec<(PathBuf, PathBuf)>,
    /// The permissions and times of folders, set when nothing is written into them any more.
    folders: Vec<(PathBuf, u32, u64)>,
}

impl<'a> ItemUnpacking<'a> {
    fn new(cache: &'a Cache, aside: &'a Path, item: &'a PackedItem) -> Self {
        Self {
            cache,
            aside,
            item,
            known: cache.has(&item.path),
            listing: Listing::default(),
            links: Vec::new(),
            folders: Vec::new(),
        }
    }

    fn damaged(&self, pack: &Path) -> PackError {
        PackError::Damaged {
            path: pack.to_owned(),
            item: self.item.path.clone(),
        }
    }

    /// Adds an entry of the archive.
    fn add(
        &mut self,
        pack: &Path,
        path: PathBuf,
        entry: &mut Entry<'_, impl Read>,
    ) -> Result<(), PackError> {
        let is_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let header = entry.header();
        let kind = match header.entry_type() {
            EntryType::Regular => PackedNodeKind::File,
            EntryType::Directory => PackedNodeKind::Folder,
            EntryType::Symlink => PackedNodeKind::Link,
            _ => return Err(self.damaged(pack)),
        };
        let (Ok(mode), Ok(modified), true) = (header.mode(), header.mtime(), is_inside) else {
            return Err(self.damaged(pack));
        };
        let size = if kind == PackedNodeKind::File {
            entry.size()
        } else {
            0
        };
        let node = PackedNode {
            path,
            kind,
            mode: mode & 0o777,
            modified,
            size,
        };
        let target = self.aside.join(&node.path);
        let contents = match kind {
            PackedNodeKind::File => self.write(pack, &node, &target, entry)?,
            PackedNodeKind::Folder => {
                if !self.known {
                    fs::create_dir_all(&target).map_err(PackError::io(&target))?;
                    self.folders.push((target, node.mode, node.modified));
                }
                hash(&[])
            }
            PackedNodeKind::Link => {
                let points_to = entry.link_name().ok().flatten();
                let points_to = points_to.ok_or_else(|| self.damaged(pack))?.into_owned();
                let contents = hash(points_to.as_os_str().as_encoded_bytes());
                self.links.push((target, points_to));
                contents
            }
        };
        self.listing.add(&node, contents);
        Ok(())
    }

    /// Writes a file, or only reads it if the cache has the item. Returns the hash of its contents.
    fn write(
        &self,
        pack: &Path,
        node: &PackedNode,
        target: &Path,
        entry: &mut impl Read,
    ) -> Result<[u8; 32], PackError> {
        let mut reader = HashingReader::new(entry);
        if self.known {
            return reader.drain().map_err(|_| self.damaged(pack));
        }
        let writing = |error| PackError::io(target)(error);
        let parent = target.parent().unwrap_or(self.aside);
        fs::create_dir_all(parent).map_err(PackError::io(parent))?;
        // A second entry of the same name is damage, and must not replace the first.
        let mut file = File::create_new(target).map_err(writing)?;
        let mut buffer = [0; 1 << 16];
        loop {
            // A fault of the pack and one of the disk need different advice.
            let read = reader.read(&mut buffer).map_err(|_| self.damaged(pack))?;
            if read == 0 {
                break;
            }
            io::Write::write_all(&mut file, &buffer[..read]).map_err(writing)?;
        }
        set_attributes(&file, node.mode, node.modified).map_err(writing)?;
        Ok(reader.finish())
    }

    /// Checks the item and puts it in its place. Returns whether it was there.
    fn finish(self, pack: &Path, report_step: &dyn Fn(CorpusStep)) -> Result<bool, PackError> {
        let damaged = self.damaged(pack);
        if self.listing.finish().0 != self.item.sha256 {
            return Err(damaged);
        }
        if self.known {
            return Ok(true);
        }
        for (link, target) in self.links {
            std::os::unix::fs::symlink(target, &link).map_err(PackError::io(&link))?;
        }
        // The innermost first: some may not be searched afterwards.
        for (folder, mode, modified) in self.folders.into_iter().rev() {
            File::open(&folder)
                .and_then(|file| set_attributes(&file, mode, modified))
                .map_err(PackError::io(&folder))?;
        }
        let made = self.aside.join(&self.item.path);
        self.cache.adopt(&self.item.path, &made, report_step)?;
        Ok(false)
    }
}

/// The hash of contents.
fn hash(contents: &[u8]) -> [u8; 32] {
    Sha256::digest(contents).into()
}

fn set_attributes(file: &File, mode: u32, modified: u64) -> io::Result<()> {
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(modified))?;
    file.set_permissions(fs::Permissions::from_mode(mode))
}
