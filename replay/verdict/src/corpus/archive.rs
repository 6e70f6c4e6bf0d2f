//! Unpacks a `.tar.gz` or `.tar.xz` whose hash has been verified. A pinned hash proves that the
//! bytes are the intended ones, not that they are harmless, so entries that would escape are
//! refused.

use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fillrate_language::environment::stays_inside;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use sha2::{Digest, Sha256, Sha512};
use tar::EntryType;

use super::cache::hex;
use super::error::CorpusError;
use super::tree::{check_links, write_file};

/// Unpacks an archive into a folder without the one folder at its top.
///
/// # Errors
/// [`CorpusError::Refused`] for an entry that is absolute, has `..` in its path, is a link out
/// of the tree or a device, or is not in the one folder at the top; an I/O error if the archive
/// is damaged.
pub(super) fn unpack(project: &str, archive: &Path, into: &Path) -> Result<(), CorpusError> {
    let reading = |error| CorpusError::io("unpacking", archive)(error);
    let mut tar = tar::Archive::new(decompress(archive).map_err(reading)?);
    let mut top: Option<PathBuf> = None;
    // Links are made after all files, so that no file can be written through one.
    let mut links = Vec::new();
    for entry in tar.entries().map_err(reading)? {
        let mut entry = entry.map_err(reading)?;
        let kind = entry.header().entry_type();
        // Headers of the pax format describe the entries after them and are no files.
        if matches!(kind, EntryType::XGlobalHeader | EntryType::XHeader) {
            continue;
        }
        let named = entry.path().map_err(reading)?.into_owned();
        let refuse = |reason: &str| CorpusError::Refused {
            project: project.to_owned(),
            entry: named.to_string_lossy().into_owned(),
            reason: reason.to_owned(),
        };
        let path = stays_inside(&named).ok_or_else(|| refuse("leads out of the archive"))?;
        let mut parts = path.components();
        let Some(first) = parts.next() else { continue };
        let first = PathBuf::from(first.as_os_str());
        if top.get_or_insert_with(|| first.clone()) != &first {
            return Err(refuse("is not in the one folder at the archive's top"));
        }
        let relative = parts.as_path().to_owned();
        if relative.as_os_str().is_empty() {
            if kind.is_dir() {
                continue;
            }
            return Err(refuse(
                "is next to the folder that an archive has at its top",
            ));
        }
        let target = into.join(&relative);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(CorpusError::io("creating", parent))?;
        }
        match kind {
            EntryType::Directory => {
                fs::create_dir_all(&target).map_err(CorpusError::io("creating", &target))?;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let executable = entry.header().mode().map_err(reading)? & 0o111 != 0;
                write_file(&target, &mut entry, executable)?;
            }
            EntryType::Link => {
                let original = entry
                    .link_name()
                    .map_err(reading)?
                    .and_then(|name| stays_inside(&name))
                    .and_then(|name| Some(into.join(name.strip_prefix(&first).ok()?)))
                    .ok_or_else(|| refuse("is a hard link out of the archive"))?;
                let mut file =
                    File::open(&original).map_err(CorpusError::io("reading", &original))?;
                let metadata = file
                    .metadata()
                    .map_err(CorpusError::io("reading", &original))?;
                // The header of a link has no mode.
                let executable = metadata.permissions().mode() & 0o111 != 0;
                write_file(&target, &mut file, executable)?;
            }
            EntryType::Symlink => {
                let name = entry.link_name().map_err(reading)?;
                let name = name.ok_or_else(|| refuse("is a link without a target"))?;
                links.push((named, target, name.into_owned()));
            }
            _ => return Err(refuse("is neither a file, a folder nor a link")),
        }
    }
    for (named, link, target) in links {
        if link.symlink_metadata().is_ok() {
            return Err(CorpusError::Refused {
                project: project.to_owned(),
                entry: named.to_string_lossy().into_owned(),
                reason: "is a link in the place of another entry".to_owned(),
            });
        }
        std::os::unix::fs::symlink(target, &link).map_err(CorpusError::io("linking", &link))?;
    }
    check_links(project, into)
}

/// The bytes of a file compressed by gzip or, if it starts as such a file does, by xz.
fn decompress(file: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = io::BufReader::new(File::open(file)?);
    // https://tukaani.org/xz/xz-file-format.txt, 2.1.1.1
    let is_xz = file.fill_buf()?.starts_with(b"\xfd7zXZ\0");
    // Both formats allow several concatenated streams.
    Ok(if is_xz {
        Box::new(XzReader::new(file, true))
    } else {
        Box::new(MultiGzDecoder::new(file))
    })
}

/// A hash of a file's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hash {
    /// As 64 hexadecimal digits.
    Sha256,
    /// As npm writes it: `sha512-` and base64.
    Integrity,
}

/// Checks a file against its pin before anything looks into it.
pub(super) fn verify(
    project: &str,
    file: &Path,
    hash: Hash,
    expected: &str,
) -> Result<(), CorpusError> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(CorpusError::io("reading", file))?;
    let actual = match hash {
        Hash::Sha256 => hex(&Sha256::digest(&bytes)),
        Hash::Integrity => {
            use base64::Engine;
            let digest = Sha512::digest(&bytes);
            let base64 = base64::engine::general_purpose::STANDARD.encode(digest);
            format!("sha512-{base64}")
        }
    };
    if actual == expected {
        Ok(())
    } else {
        Err(CorpusError::HashMismatch {
            project: project.to_owned(),
            expected: expected.to_owned(),
            actual,
        })
    }
}
