//! The files of a repository in a fixed order, and a digest over them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use fillrate_language::environment::Toolchain;
use fillrate_language::{LANGUAGES, SourceFile};
use fillrate_syntax::Language;
use ignore::WalkBuilder;
use sha2::{Digest, Sha256};

use super::cache::hex;
use super::error::CorpusError;
use super::git;

/// Folders that no source keeps: they are made by tools and differ between machines.
const MADE_BY_TOOLS: [&str; 8] = [
    ".git",
    ".hg",
    ".venv",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "node_modules",
];

/// One file or link of a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TreeEntry {
    /// Relative to the tree's root, with `/` between names.
    pub(super) path: String,
    pub(super) kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EntryKind {
    File {
        executable: bool,
    },
    /// A symbolic link, with its target as written in the link.
    Link(String),
}

/// Copies the entries of a user's folder that belong to a project into a new folder.
///
/// # Errors
/// If one of the two can't be read or written.
pub fn copy_folder(from: &Path, into: &Path) -> Result<(), CorpusError> {
    fs::create_dir_all(into).map_err(CorpusError::io("creating", into))?;
    copy(from, &kept_entries(from)?, into)
}

/// The source files of a user's folder in the supported languages, sorted by path, without those
/// that [`SourceFile::read`] refuses.
///
/// # Errors
/// If the folder can't be read.
pub fn source_files(root: &Path) -> Result<Vec<SourceFile>, CorpusError> {
    let mut files = Vec::new();
    for entry in kept_entries(root)? {
        let Some(language) = Language::for_path(Path::new(&entry.path)) else {
            continue;
        };
        files.extend(SourceFile::read(root, &entry.path, language));
    }
    Ok(files)
}

/// The digest of a tree: SHA-256 over its files and links, sorted by path, each as its kind
/// (`f`, `x` for an executable file, `l` for a link), the length of its path and the path, the
/// length of its contents (of a link: its target) and these; lengths are 64-bit little-endian.
/// Empty folders, times and owners do not count.
///
/// # Errors
/// If a file cannot be read.
pub fn digest(root: &Path) -> Result<String, CorpusError> {
    digest_of(root, &entries(root)?)
}

/// Everything in a tree, sorted by path. Folders made by tools are included: a source in the
/// cache has none but those its publisher shipped.
pub(super) fn entries(root: &Path) -> Result<Vec<TreeEntry>, CorpusError> {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false);
    Ok(collect(root, &walk)?.0)
}

/// Returns the entries of a user's folder that belong to the project: neither those that its ignore
/// files leave out and Git does not track, nor those that tools made. Ignore files outside the
/// folder do not count, so that the same folder gives the same source everywhere.
pub(super) fn kept_entries(root: &Path) -> Result<Vec<TreeEntry>, CorpusError> {
    Ok(collect(root, &kept(root))?.0)
}

/// The names, readable at least in part, of files that are missing from the
/// [entries](kept_entries) of a user's folder, because a name or a link's target is not UTF-8.
pub(super) fn unnamed_entries(root: &Path) -> Result<Vec<String>, CorpusError> {
    Ok(collect(root, &kept(root))?.1)
}

/// Returns the root of the Git repository around a file, if the repository does not ignore the file,
/// which so changes its digest.
pub fn repository_with(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let root = file
        .ancestors()
        .find(|folder| folder.join(".git").exists())?;
    let mut kept = kept(root).build().flatten();
    kept.any(|entry| entry.path() == file)
        .then(|| root.to_owned())
}

fn kept(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    // `hidden(false)` keeps files whose names begin with a dot.
    walk.hidden(false)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        // A `.gitignore` has an effect without a `.git` folder, too.
        .require_git(false)
        .filter_entry(|entry| entry.depth() == 0 || !is_made_by_tools(entry.path()));
    // What is given by its path is not ignored.
    for path in tracked_although_ignored(root) {
        let mut above = path.ancestors().take_while(|folder| *folder != root);
        if path.symlink_metadata().is_ok() && !above.any(is_made_by_tools) {
            walk.add(path);
        }
    }
    walk
}

/// True if a file or folder of this path is made by a tool.
fn is_made_by_tools(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| MADE_BY_TOOLS.contains(&name) || is_build_result(path, name))
}

/// The files of a folder that Git tracks although ignore files name them, such as a `package.json`
/// that a build writes anew. Empty if Git does not know the folder, or is missing.
fn tracked_although_ignored(root: &Path) -> Vec<PathBuf> {
    let output = git::command(&Toolchain::default().git, root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--ignored",
            "--exclude-standard",
        ])
        .output();
    let Ok(output) = output else {
        return Vec::new();
    };
    let names = output.stdout.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names
        .map(|name| root.join(OsStr::from_bytes(name)))
        .collect()
}

/// Returns true if a build tool of any language compiles into a folder of this path and name. What
/// is compiled from the original of a change would give its answers.
fn is_build_result(folder: &Path, name: &str) -> bool {
    let mut results = LANGUAGES.iter().flat_map(|language| language.build_results);
    results.any(|(result, files)| {
        let mut beside = files.iter().map(|file| folder.with_file_name(file));
        *result == name && folder.is_dir() && beside.any(|file| file.is_file())
    })
}

/// The entries of a tree, sorted by path, and the names of those whose paths or targets are not
/// UTF-8: no protocol can carry them.
fn collect(root: &Path, walk: &WalkBuilder) -> Result<(Vec<TreeEntry>, Vec<String>), CorpusError> {
    let mut entries = Vec::new();
    let mut unnamed = Vec::new();
    for found in walk.build() {
        let found = found.map_err(|error| {
            let error = error
                .into_io_error()
                .unwrap_or_else(|| io::Error::other("loop"));
            CorpusError::io("reading", root)(error)
        })?;
        let path = found.path();
        let Some(kind) = found.file_type().filter(|kind| !kind.is_dir()) else {
            continue;
        };
        let relative = path.strip_prefix(root).unwrap_or(path);
        let lossy = || relative.to_string_lossy().into_owned();
        let Some(name) = relative.to_str() else {
            unnamed.push(lossy());
            continue;
        };
        let kind = if kind.is_symlink() {
            let target = fs::read_link(path).map_err(CorpusError::io("reading", path))?;
            let Some(target) = target.to_str() else {
                unnamed.push(lossy());
                continue;
            };
            EntryKind::Link(target.to_owned())
        } else if kind.is_file() {
            let metadata = found.metadata().map_err(|error| {
                let error = error
                    .into_io_error()
                    .unwrap_or_else(|| io::Error::other("gone"));
                CorpusError::io("reading", path)(error)
            })?;
            EntryKind::File {
                executable: metadata.permissions().mode() & 0o111 != 0,
            }
        } else {
            // Sockets and pipes are not part of a source.
            continue;
        };
        entries.push(TreeEntry {
            path: name.to_owned(),
            kind,
        });
    }
    // One that is tracked may be found in the folder, too.
    entries.sort();
    entries.dedup();
    unnamed.sort();
    unnamed.dedup();
    Ok((entries, unnamed))
}

pub(super) fn digest_of(root: &Path, entries: &[TreeEntry]) -> Result<String, CorpusError> {
    let mut hasher = Sha256::new();
    let mut contents = Vec::new();
    for TreeEntry { path, kind } in entries {
        contents.clear();
        let kind = match kind {
            EntryKind::Link(target) => {
                contents.extend_from_slice(target.as_bytes());
                b"l"
            }
            EntryKind::File { executable } => {
                let file = root.join(path);
                File::open(&file)
                    .and_then(|mut file| file.read_to_end(&mut contents))
                    .map_err(CorpusError::io("reading", &file))?;
                if *executable { b"x" } else { b"f" }
            }
        };
        hasher.update(kind);
        // With their lengths, different paths and contents can't join to the same bytes.
        for part in [path.as_bytes(), &contents] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Copies entries of `from` into `into`, with the permissions and times of [`write_file`].
pub(super) fn copy(from: &Path, entries: &[TreeEntry], into: &Path) -> Result<(), CorpusError> {
    for TreeEntry { path, kind } in entries {
        let target = into.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(CorpusError::io("creating", parent))?;
        }
        match kind {
            EntryKind::Link(points_to) => std::os::unix::fs::symlink(points_to, &target)
                .map_err(CorpusError::io("linking", &target))?,
            EntryKind::File { executable } => {
                let source = from.join(path);
                let mut file = File::open(&source).map_err(CorpusError::io("reading", &source))?;
                write_file(&target, &mut file, *executable)?;
            }
        }
    }
    Ok(())
}

/// Writes a file with mode 644, or 755 if it is executable, and a fixed time, so that nothing
/// of the machine it came from remains.
pub(super) fn write_file(
    path: &Path,
    contents: &mut dyn Read,
    executable: bool,
) -> Result<(), CorpusError> {
    // The first moment that every archive format can express.
    let fixed = SystemTime::UNIX_EPOCH + Duration::from_secs(315_532_800);
    let mode = if executable { 0o755 } else { 0o644 };
    let mut write = || {
        let mut file = File::create(path)?;
        io::copy(contents, &mut file)?;
        file.flush()?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        // Writing to the file changes its time, so the time is set last.
        file.set_modified(fixed)
    };
    write().map_err(CorpusError::io("writing", path))
}

/// Makes a tree's links safe to keep: one that leads out of the tree is an error, one that leads
/// nowhere is removed, because its target could later be created outside the tree.
pub(super) fn check_links(project: &str, root: &Path) -> Result<(), CorpusError> {
    let real_root = root
        .canonicalize()
        .map_err(CorpusError::io("reading", root))?;
    let refuse = |entry: &str, target: &str| CorpusError::Refused {
        project: project.to_owned(),
        entry: entry.to_owned(),
        reason: format!("is a link to `{target}`, which is outside of the source"),
    };
    for TreeEntry { path, kind } in entries(root)? {
        let EntryKind::Link(target) = kind else {
            continue;
        };
        let link = root.join(&path);
        if Path::new(&target).is_absolute() || leaves(&path, &target) {
            return Err(refuse(&path, &target));
        }
        match link.canonicalize() {
            Ok(real) if real.starts_with(&real_root) => {}
            Ok(_) => return Err(refuse(&path, &target)),
            Err(_) => fs::remove_file(&link).map_err(CorpusError::io("removing", &link))?,
        }
    }
    Ok(())
}

/// Returns true if a link's target, by its text alone, is outside of the tree. Other links on the
/// way can still lead out, so this is only the first of two checks.
fn leaves(link: &str, target: &str) -> bool {
    // The last component is the link itself, which is no folder.
    let mut depth = Path::new(link).components().count().saturating_sub(1);
    for part in Path::new(target).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}
