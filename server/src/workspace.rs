//! The repository's files: which of them may be indexed and sent to a model, and their contents.
//!
//! One set of rules decides both which files there are ([`Workspace::files`]) and whether a given
//! file is visible ([`Workspace::visibility`]), so the two cannot disagree.

mod rules;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::syntax::Language;
use crate::text::LineIndex;

use rules::{IgnoreRules, LayerCache, git_top, secret, secret_folder};

pub use rules::{SECRET_PATTERNS, folder_of_ignore_file};

/// The folders an editor has open, as one tree of files. It holds only their paths and reads the
/// disk on every call.
#[derive(Clone, Debug)]
pub struct Workspace {
    folders: Vec<Folder>,
}

/// A file that may be indexed and sent to a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspaceFile {
    /// Path relative to its workspace folder, with `/`; with several folders, preceded by the
    /// folder's name.
    pub path: String,
    /// Absolute path.
    pub absolute: PathBuf,
}

/// Visibility of a file to the index and to models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The file may be indexed and sent to a model. Holds its relative path as in
    /// [`WorkspaceFile::path`].
    Visible(String),
    /// The file may not.
    Hidden(HiddenReason),
}

/// Reason why a file is hidden. If several apply, the first in this list is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HiddenReason {
    /// It is in none of the workspace's folders.
    Outside,
    /// Its path is not UTF-8.
    Name,
    /// Its name, or that of a folder above it, starts with a dot. Secrets with such a name have
    /// [`HiddenReason::Secret`].
    DotFile,
    /// Its name matches this pattern of [`SECRET_PATTERNS`].
    Secret(&'static str),
    /// A `.gitignore`, a `.fillrateignore`, the repository's `info/exclude` or the
    /// `core.excludesFile` of Git ignores it.
    Ignored,
    /// An ignore file that may hide it can't be read.
    UnreadableRules,
    /// It, or a folder above it, is a symbolic link.
    Symlink,
    /// Its extension is that of no supported language.
    Language,
    /// It does not exist, is not a regular file, or can't be read.
    Unreadable,
    /// It has more than [`MAX_BYTES`] bytes.
    Large,
    /// It has a NUL in its first [`BINARY_BYTES`] bytes or is not UTF-8.
    Binary,
    /// Its lines have more than [`MAX_MEAN_LINE`] bytes on average, so it is probably generated.
    Generated,
}

/// Error when reading a file.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The file was removed or is not readable.
    #[error("{path} can't be read: {reason}; check that it exists and that you may read it")]
    Unreadable {
        /// Its relative path.
        path: String,
        /// The system's error.
        reason: io::Error,
    },
    /// The file was visible and no longer is.
    #[error("{path} is excluded: {reason}")]
    Hidden {
        /// Its relative path.
        path: String,
        /// Reason why it is hidden.
        reason: HiddenReason,
    },
}

/// Maximum size of a visible file in bytes: 1 MiB, about 25,000 lines.
pub const MAX_BYTES: u64 = 1 << 20;

/// Number of bytes searched for a NUL: the 8,000 of Git, rounded up to a page size.
/// <https://git-scm.com/docs/gitattributes#_marking_files_as_binary>
pub const BINARY_BYTES: usize = 8192;

/// Mean length of a line in bytes above which a file counts as generated.
pub const MAX_MEAN_LINE: usize = 2000;

#[derive(Clone, Debug)]
struct Folder {
    root: PathBuf,
    /// The root without symbolic links.
    resolved: PathBuf,
    /// Prefix of relative paths: empty, or the folder's name and `/`.
    prefix: String,
}

impl Folder {
    /// The pattern of secret folders, such as `.ssh/`, that the folder or one above it matches.
    fn secret(&self) -> Option<&'static str> {
        let components = self.root.components().chain(self.resolved.components());
        components
            .filter_map(|component| component.as_os_str().to_str())
            .find_map(secret_folder)
    }
}

impl Workspace {
    /// Creates a workspace of these folders. Duplicates count once; files of a nested folder belong
    /// to it alone. Of several folders with the same name, the second is called `name~2`.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        let mut roots: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let root = std::path::absolute(&folder).unwrap_or(folder);
            // Collecting the components drops a slash at the end.
            let root: PathBuf = root.components().collect();
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        let several = roots.len() > 1;
        let mut taken = BTreeSet::new();
        let folders = roots
            .into_iter()
            .map(|root| {
                let prefix = if several {
                    // The root of the file system has no name.
                    let name = root.file_name().map_or_else(
                        || "root".to_owned(),
                        |name| name.to_string_lossy().into_owned(),
                    );
                    let unique = (1..)
                        .map(|count| match count {
                            1 => name.clone(),
                            _ => format!("{name}~{count}"),
                        })
                        .find(|name| taken.insert(name.clone()));
                    format!("{}/", unique.unwrap_or(name))
                } else {
                    String::new()
                };
                let resolved = resolve(&root);
                Folder {
                    root,
                    resolved,
                    prefix,
                }
            })
            .collect();
        Self { folders }
    }

    /// Returns the workspace without some folders. The relative paths of the other folders' files
    /// stay.
    #[must_use]
    pub fn without(&self, removed: &[PathBuf]) -> Self {
        let folders = self.folders.iter();
        let left = folders.filter(|folder| !removed.contains(&folder.root));
        Self {
            folders: left.cloned().collect(),
        }
    }

    /// The visible files, sorted by the bytes of their relative paths.
    pub fn files(&self) -> Vec<WorkspaceFile> {
        let mut files = self.candidates();
        files.retain(|file| match contents(&file.absolute) {
            Ok(_) => true,
            Err(obstacle) => {
                tracing::debug!(path = %file.absolute.display(), %obstacle, "left out");
                false
            }
        });
        files
    }

    /// Returns the files that are visible by path and ignore rules, sorted like
    /// [`Workspace::files`]. [`Workspace::read`] checks their contents.
    pub fn candidates(&self) -> Vec<WorkspaceFile> {
        let mut files = Vec::new();
        for folder in &self.folders {
            if folder.secret().is_some() {
                continue;
            }
            let mut rules = FolderRules::new(folder, &mut LayerCache::default());
            self.walk(folder, Path::new(""), &mut rules, &mut files);
        }
        files.sort();
        files
    }

    /// Checks if a file may be indexed and sent, by its path, the ignore rules and its contents.
    pub fn visibility(&self, absolute: &Path) -> Visibility {
        match self.visibility_of_path(absolute) {
            Visibility::Visible(path) => match contents(absolute) {
                Ok(_) => Visibility::Visible(path),
                Err(Obstacle::Io(_)) => Visibility::Hidden(HiddenReason::Unreadable),
                Err(Obstacle::Reason(reason)) => Visibility::Hidden(reason),
            },
            hidden => hidden,
        }
    }

    /// As [`Workspace::visibility`], without the file's contents: for a buffer of the editor, which
    /// may be unsaved.
    pub fn visibility_of_path(&self, absolute: &Path) -> Visibility {
        self.visibility_by_rules(absolute, &mut LayerCache::default())
    }

    fn visibility_by_rules(&self, absolute: &Path, layers: &mut LayerCache) -> Visibility {
        let Some((folder, inner)) = self.folder_of(absolute) else {
            return Visibility::Hidden(HiddenReason::Outside);
        };
        if let Some(pattern) = folder.secret() {
            return Visibility::Hidden(HiddenReason::Secret(pattern));
        }
        let mut rules = FolderRules::new(folder, layers);
        let (mut current, mut inside) = (folder.resolved.clone(), PathBuf::new());
        let mut components = inner.components().peekable();
        while let Some(component) = components.next() {
            rules.own.enter(&current, layers);
            let Component::Normal(name) = component else {
                return Visibility::Hidden(HiddenReason::Outside);
            };
            current.push(name);
            inside.push(name);
            let is_folder = components.peek().is_some();
            // A missing file is not a link; an unsaved buffer may be visible.
            let is_link = fs::symlink_metadata(&current).is_ok_and(|data| data.is_symlink());
            if let Some(reason) = rules.reason(folder, &inside, is_folder, is_link) {
                return Visibility::Hidden(reason);
            }
        }
        self.relative(absolute).map_or(
            Visibility::Hidden(HiddenReason::Outside),
            Visibility::Visible,
        )
    }

    /// Returns the name under which a document may be sent to a model: its relative path, or its
    /// file name if it is outside the folders. The rules apply to its path and to the target of
    /// symbolic links.
    ///
    /// # Errors
    /// The document may not be sent.
    pub fn document_name(&self, absolute: &Path) -> Result<String, HiddenReason> {
        let named = self.name_by_rules(absolute)?;
        let resolved = resolve(absolute);
        if resolved == absolute {
            return Ok(named);
        }
        // The text of a link is that of its target, which must not be context of itself.
        let resolved = self.inside(&resolved).unwrap_or(resolved);
        self.name_by_rules(&resolved)
    }

    /// The relative path of the file whose text a document is, if that may be indexed: the file is
    /// in one of the folders, and the rules hold for it and for the document's own path.
    pub fn indexed_path(&self, absolute: &Path) -> Option<String> {
        self.document_name(absolute).ok()?;
        let resolved = resolve(absolute);
        let target = self.inside(&resolved).unwrap_or(resolved);
        match self.visibility_of_path(&target) {
            Visibility::Visible(relative) => Some(relative),
            Visibility::Hidden(_) => None,
        }
    }

    /// The path of a resolved file below its folder as that was opened.
    fn inside(&self, resolved: &Path) -> Option<PathBuf> {
        self.folders.iter().find_map(|folder| {
            let inner = resolved.strip_prefix(&folder.resolved).ok()?;
            Some(folder.root.join(inner))
        })
    }

    /// [`Workspace::document_name`] by one of a document's paths.
    fn name_by_rules(&self, absolute: &Path) -> Result<String, HiddenReason> {
        let name = || {
            let name = absolute.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        match self.visibility_of_path(absolute) {
            Visibility::Visible(relative) => Ok(relative),
            // A file without a known grammar may be sent: an unknown ending does not mean a secret.
            Visibility::Hidden(HiddenReason::Language) => Ok(name()),
            // The target of a link is judged by its own path.
            Visibility::Hidden(HiddenReason::Symlink) => hidden_outside(absolute)
                .map_or_else(|| Ok(self.relative(absolute).unwrap_or_else(name)), Err),
            Visibility::Hidden(HiddenReason::Outside) => {
                hidden_outside(absolute).map_or_else(|| Ok(name()), Err)
            }
            Visibility::Hidden(reason) => Err(reason),
        }
    }

    /// Returns the relative path of a file in one of the folders. The file need not be visible or
    /// exist.
    pub fn relative(&self, absolute: &Path) -> Option<String> {
        let (folder, inner) = self.folder_of(absolute)?;
        let mut path = folder.prefix.clone();
        for (index, component) in inner.components().enumerate() {
            let Component::Normal(name) = component else {
                return None;
            };
            if index > 0 {
                path.push('/');
            }
            path.push_str(name.to_str()?);
        }
        Some(path)
    }

    /// Returns those of some relative paths whose files may be indexed and sent by their paths and
    /// the ignore rules. Each ignore file is read once.
    pub fn shown<'a>(&self, relative: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let mut layers = LayerCache::default();
        let mut paths: BTreeSet<&str> = relative.into_iter().collect();
        paths.retain(|path| {
            self.absolute(path).is_some_and(|absolute| {
                let visibility = self.visibility_by_rules(&absolute, &mut layers);
                visibility == Visibility::Visible((*path).to_owned())
            })
        });
        paths
    }

    /// The absolute path of a relative one.
    fn absolute(&self, relative: &str) -> Option<PathBuf> {
        self.folders.iter().find_map(|folder| {
            let inner = relative.strip_prefix(&folder.prefix)?;
            Some(folder.root.join(inner))
        })
    }

    /// Reads a file without its byte order mark. The file comes from [`Workspace::files`] or
    /// [`Workspace::visibility`]: the ignore rules, which cost more than reading, are not checked
    /// again.
    ///
    /// # Errors
    /// The file was removed, or its contents are no longer visible.
    pub fn read(&self, file: &WorkspaceFile) -> Result<String, WorkspaceError> {
        contents(&file.absolute).map_err(|obstacle| match obstacle {
            Obstacle::Reason(reason) => WorkspaceError::Hidden {
                path: file.path.clone(),
                reason,
            },
            Obstacle::Io(reason) => WorkspaceError::Unreadable {
                path: file.path.clone(),
                reason,
            },
        })
    }

    /// The innermost folder of a path, and the non-empty path from there.
    fn folder_of<'a>(&self, absolute: &'a Path) -> Option<(&Folder, &'a Path)> {
        self.folders
            .iter()
            .filter_map(|folder| Some((folder, absolute.strip_prefix(&folder.root).ok()?)))
            .min_by_key(|(_, inner)| inner.components().count())
            .filter(|(_, inner)| inner.components().next().is_some())
    }

    /// Adds the visible files below a path in a folder, which has no symbolic links.
    fn walk(
        &self,
        folder: &Folder,
        inner: &Path,
        rules: &mut FolderRules,
        files: &mut Vec<WorkspaceFile>,
    ) {
        // Joining an empty path would add a slash.
        let current: PathBuf = folder.resolved.join(inner).components().collect();
        let entries = match fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(folder = %current.display(), %error, "a folder can't be listed");
                return;
            }
        };
        rules.own.enter(&current, &mut LayerCache::default());
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let inner = inner.join(entry.file_name());
            let absolute = folder.root.join(&inner);
            // A nested workspace folder is walked by itself.
            let elsewhere = |other: &Folder| other.root == absolute && other.root != folder.root;
            if self.folders.iter().any(elsewhere) {
                continue;
            }
            let reason = rules.reason(folder, &inner, kind.is_dir(), kind.is_symlink());
            if let Some(reason) = reason {
                tracing::debug!(path = %absolute.display(), %reason, "left out");
            } else if kind.is_dir() {
                self.walk(folder, &inner, rules, files);
            } else if let Some(path) = self.relative(&absolute) {
                files.push(WorkspaceFile { path, absolute });
            }
        }
        rules.own.leave();
    }
}

/// The rules for the files of a workspace folder.
struct FolderRules {
    /// Those of its files and of the folders above them.
    own: IgnoreRules,
    /// Those of the folders above the link that the workspace folder is, or that leads to it.
    link: Option<IgnoreRules>,
}

impl FolderRules {
    fn new(folder: &Folder, layers: &mut LayerCache) -> Self {
        let is_linked = folder.root != folder.resolved;
        Self {
            own: IgnoreRules::above(&folder.resolved, layers),
            link: is_linked
                .then(|| IgnoreRules::above_link(&folder.root, &folder.resolved, layers)),
        }
    }

    /// Returns the reason for which a path in the folder is hidden.
    fn reason(
        &self,
        folder: &Folder,
        inner: &Path,
        is_folder: bool,
        is_link: bool,
    ) -> Option<HiddenReason> {
        let own = &folder.resolved.join(inner);
        self.own.reason(own, is_folder, is_link).or_else(|| {
            let link = self.link.as_ref()?;
            link.rule(&folder.root.join(inner), is_folder)
        })
    }
}

impl fmt::Display for HiddenReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Outside => "it is outside the workspace's folders",
            Self::Name => "its path is not UTF-8",
            Self::DotFile => "its name or that of a folder above it starts with a dot",
            Self::Secret(pattern) => {
                return write!(
                    formatter,
                    "its name matches a pattern of secrets ({pattern})"
                );
            }
            Self::Ignored => "an ignore file excludes it",
            Self::UnreadableRules => "an ignore file that may exclude it can't be read",
            Self::Symlink => "it is reached through a symbolic link",
            Self::Language => "its extension is that of no supported language",
            Self::Unreadable => "it can't be read",
            Self::Large => "it is larger than 1 MiB",
            Self::Binary => "it is not text in UTF-8",
            Self::Generated => "its lines are too long to be written by hand",
        };
        formatter.write_str(text)
    }
}

/// The path without symbolic links, as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    let mut existing = path.ancestors();
    existing
        .find_map(|above| {
            let resolved = fs::canonicalize(above).ok()?;
            let rest = path.strip_prefix(above).ok()?;
            // Joining an empty path would add a slash.
            Some(resolved.join(rest).components().collect())
        })
        .unwrap_or_else(|| path.to_owned())
}

/// Returns the name under which a document without a file on this machine may be sent to a model:
/// the last part of its path, without the host and the user of its address.
///
/// # Errors
/// By its name, it is a secret.
pub fn name_of_uri(uri: &str) -> Result<String, HiddenReason> {
    let path = url::Url::parse(uri)
        .ok()
        .filter(|url| !url.cannot_be_a_base())
        .and_then(|url| {
            let mut plain = url::Url::parse("file:///").ok()?;
            plain.set_path(url.path());
            plain.to_file_path().ok()
        });
    let Some((path, name)) = path.as_deref().and_then(|path| {
        let name = path.file_name()?.to_str()?;
        Some((path, name))
    }) else {
        // A buffer that was never saved.
        return Ok(uri.to_owned());
    };
    for part in path.ancestors() {
        let part_name = part.file_name().and_then(|name| name.to_str());
        let pattern = part_name.and_then(|name| secret(name, part != path));
        if let Some(pattern) = pattern {
            return Err(HiddenReason::Secret(pattern));
        }
    }
    match name.starts_with('.') {
        true => Err(HiddenReason::DotFile),
        false => Ok(name.to_owned()),
    }
}

/// Why a document outside every folder may not be sent: its own repository decides as if it were
/// open, and without one all folders above the document do.
fn hidden_outside(absolute: &Path) -> Option<HiddenReason> {
    let folder = absolute.parent()?;
    let top = git_top(folder);
    let mut rules = IgnoreRules::empty();
    let mut above: Vec<&Path> = absolute.ancestors().collect();
    above.reverse();
    for pair in above.windows(2) {
        let (parent, path) = (pair[0], pair[1]);
        let is_folder = path != absolute;
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Some(HiddenReason::Name);
        };
        if top.is_some_and(|top| !parent.starts_with(top)) {
            // The repository and the folders above it were named without knowledge of its files.
            if let Some(pattern) = secret_folder(name) {
                return Some(HiddenReason::Secret(pattern));
            }
            continue;
        }
        rules.enter(parent, &mut LayerCache::default());
        if let Some(pattern) = secret(name, is_folder) {
            return Some(HiddenReason::Secret(pattern));
        }
        // Folders outside a repository may be temporary ones, whose names say nothing.
        if name.starts_with('.') && (!is_folder || top.is_some()) {
            return Some(HiddenReason::DotFile);
        }
        let rule = rules.rule(path, is_folder);
        if rule.is_some() {
            return rule;
        }
    }
    None
}

/// Why contents can't be used.
enum Obstacle {
    Reason(HiddenReason),
    Io(io::Error),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reason(reason) => reason.fmt(formatter),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

/// Reads a file and checks its contents.
fn contents(absolute: &Path) -> Result<String, Obstacle> {
    // A pipe would block, so only regular files are opened.
    if !fs::symlink_metadata(absolute)
        .map_err(Obstacle::Io)?
        .is_file()
    {
        return Err(Obstacle::Reason(HiddenReason::Unreadable));
    }
    let mut bytes = Vec::new();
    fs::File::open(absolute)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(Obstacle::Io)?;
    text(bytes).map_err(Obstacle::Reason)
}

/// Decodes a source file.
fn text(bytes: Vec<u8>) -> Result<String, HiddenReason> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(HiddenReason::Large);
    }
    if bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0) {
        return Err(HiddenReason::Binary);
    }
    let mut text = String::from_utf8(bytes).map_err(|_| HiddenReason::Binary)?;
    let lines = LineIndex::new(&text).lines(0..text.len());
    if text.len() / lines.len().max(1) > MAX_MEAN_LINE {
        return Err(HiddenReason::Generated);
    }
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// True if a file's extension is that of a supported language.
fn has_language(path: &Path) -> bool {
    Language::for_path(path).is_some()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn write(root: &Path, path: &str, contents: impl AsRef<[u8]>) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("it can be made");
        fs::write(file, contents).expect("it can be written");
    }

    fn tree(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().expect("there is room for a folder");
        for (path, contents) in files {
            write(folder.path(), path, contents);
        }
        folder
    }

    fn paths(workspace: &Workspace) -> Vec<String> {
        workspace
            .files()
            .into_iter()
            .map(|file| file.path)
            .collect()
    }

    fn hidden(workspace: &Workspace, file: &Path) -> Option<HiddenReason> {
        match workspace.visibility(file) {
            Visibility::Visible(_) => None,
            Visibility::Hidden(reason) => Some(reason),
        }
    }

    #[test]
    fn ignore_files_above_a_folder_apply_without_a_repository() {
        for name in [".gitignore", ".fillrateignore"] {
            let folder = tree(&[(name, "private.py\n"), ("app/private.py", "a = 1\n")]);
            let app = folder.path().join("app");
            let workspace = Workspace::new(vec![app.clone()]);
            let found = workspace.document_name(&app.join("private.py"));
            assert_eq!(found, Err(HiddenReason::Ignored), "{name}");
        }
    }

    #[test]
    fn ignore_files_above_the_target_of_a_linked_folder_apply() {
        let folder = tree(&[
            ("repository/.git/HEAD", ""),
            ("repository/.gitignore", "private.py\n/sub/one.py\n"),
            ("repository/sub/private.py", "a = 1\n"),
            ("repository/sub/one.py", "a = 1\n"),
            ("repository/sub/inner/ok.py", "a = 1\n"),
            ("repository/sub/inner/own.py", "a = 1\n"),
            ("links/.fillrateignore", "own*\n"),
        ]);
        let link = folder.path().join("links/link");
        std::os::unix::fs::symlink(folder.path().join("repository/sub"), &link)
            .expect("it can be made");
        let workspace = Workspace::new(vec![link.clone()]);
        assert_eq!(paths(&workspace), ["inner/ok.py"]);
        for name in ["private.py", "one.py", "inner/own.py"] {
            let found = workspace.document_name(&link.join(name));
            assert_eq!(found, Err(HiddenReason::Ignored), "{name}");
        }
    }

    #[test]
    fn rules_below_a_linked_ancestor_restore_what_those_above_ignore() {
        let folder = tree(&[
            ("real/repo/.git/HEAD", ""),
            ("real/repo/.gitignore", "gen*\n"),
            ("real/repo/sub/.gitignore", "!gen_ok.py\n"),
            ("real/repo/sub/gen_ok.py", "a = 1\n"),
            ("real/repo/sub/gen_no.py", "a = 1\n"),
        ]);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("real"), &link).expect("it can be made");
        let workspace = Workspace::new(vec![link.join("repo/sub")]);
        assert_eq!(paths(&workspace), ["gen_ok.py"]);
    }

    #[test]
    fn documents_on_other_machines_have_the_name_rules() {
        for (uri, found) in [
            ("untitled:Untitled-1", Ok("untitled:Untitled-1")),
            ("file:///", Ok("file:///")),
            ("scp://me:pw@host//home/u/a%20b.py", Ok("a b.py")),
            ("sftp://host/home/u/.env", Err(())),
            ("file://host/share/.env", Err(())),
            ("scp://me:pw@host//home/u/credentials.py", Err(())),
            ("sftp://host/home/u/.ssh/config", Err(())),
        ] {
            let name = name_of_uri(uri);
            assert_eq!(name.as_deref().map_err(|_| ()), found, "{uri}");
        }
    }

    #[test]
    fn files_lists_visible_source_files_only() {
        let folder = tree(&[
            (".gitignore", "build/\n*.gen.py\n!keep.gen.py\n"),
            (".fillrateignore", "private\n!x.gen.py\n"),
            ("b.py", "b = 1\n"),
            ("a/z.ts", "let z = 1;\n"),
            ("a/.gitignore", "z2.ts\n!x.gen.py\n"),
            ("a/z2.ts", "let z = 2;\n"),
            ("a/x.gen.py", "x = 1\n"),
            ("x.gen.py", "x = 1\n"),
            ("keep.gen.py", "x = 1\n"),
            ("build/c.py", "c = 1\n"),
            ("private/d.py", "d = 1\n"),
            (".hidden/e.py", "e = 1\n"),
            (".f.py", "f = 1\n"),
            ("README.md", "text\n"),
            ("secrets.py", "KEY = 1\n"),
            ("Credentials_prod.py", "KEY = 1\n"),
            (".env.local", "KEY=1\n"),
            ("nul.py", "x = '\0'\n"),
            ("min.ts", &format!("let a = '{}';\n", "x".repeat(3000))),
            ("large.py", &"x = 1\n".repeat(200_000)),
            ("empty.py", ""),
        ]);
        let root = folder.path();
        write(root, "latin.py", b"# caf\xe9\n");
        let workspace = Workspace::new(vec![root.to_path_buf()]);
        assert_eq!(
            paths(&workspace),
            ["a/x.gen.py", "a/z.ts", "b.py", "empty.py", "keep.gen.py"]
        );
        for (path, reason) in [
            ("x.gen.py", HiddenReason::Ignored),
            ("build/c.py", HiddenReason::Ignored),
            ("private/d.py", HiddenReason::Ignored),
            (".hidden/e.py", HiddenReason::DotFile),
            ("README.md", HiddenReason::Language),
            ("secrets.py", HiddenReason::Secret("secrets.*")),
            ("Credentials_prod.py", HiddenReason::Secret("credentials*")),
            (".env.local", HiddenReason::Secret(".env*")),
            ("nul.py", HiddenReason::Binary),
            ("latin.py", HiddenReason::Binary),
            ("min.ts", HiddenReason::Generated),
            ("large.py", HiddenReason::Large),
            ("gone.py", HiddenReason::Unreadable),
            ("a/../b.py", HiddenReason::Outside),
        ] {
            assert_eq!(hidden(&workspace, &root.join(path)), Some(reason), "{path}");
        }
        assert_eq!(
            hidden(&workspace, Path::new("/b.py")),
            Some(HiddenReason::Outside)
        );
        assert_eq!(hidden(&workspace, root), Some(HiddenReason::Outside));
    }

    #[test]
    fn every_secret_pattern_matches() {
        let folder = tree(&[]);
        let workspace = Workspace::new(vec![folder.path().to_path_buf()]);
        for pattern in SECRET_PATTERNS {
            let path = match pattern.strip_suffix('/') {
                Some(name) => format!("{name}/x.py"),
                None => pattern.replace('*', "x"),
            };
            let found = hidden(&workspace, &folder.path().join(&path));
            assert!(
                matches!(found, Some(HiddenReason::Secret(_))),
                "{path}: {found:?}"
            );
        }
        for path in [
            "secretary.py",
            "environment.py",
            "key.py",
            "monkey.py",
            "keys.ts",
        ] {
            let seen = workspace.visibility_of_path(&folder.path().join(path));
            assert_eq!(seen, Visibility::Visible(path.into()));
        }
    }

    #[test]
    fn ignore_files_above_the_folder_apply() {
        let folder = tree(&[
            (".git/info/exclude", "scratch.py\n"),
            (".gitignore", "generated\ncache/\n"),
            ("app/a.py", "a = 1\n"),
            ("app/scratch.py", "a = 1\n"),
            ("app/generated/b.py", "b = 1\n"),
            ("cache/repo/c.py", "c = 1\n"),
            ("cache/repo/generated/d.py", "d = 1\n"),
        ]);
        let workspace = |path: &str| Workspace::new(vec![folder.path().join(path)]);
        assert_eq!(paths(&workspace("app")), ["a.py"]);
        // A folder that is ignored itself was opened on purpose.
        assert_eq!(paths(&workspace("cache/repo")), ["c.py", "generated/d.py"]);
    }

    #[cfg(unix)]
    #[test]
    fn unreadable_ignore_file_hides_everything_it_may_hide() {
        let folder = tree(&[("a.py", "a = 1\n"), ("inner/b.py", "b = 1\n")]);
        let root = folder.path();
        // Opened like a file, but no one can read it, not even a privileged user.
        let rules = root.join("inner/.gitignore");
        std::os::unix::fs::symlink("/proc/self/mem", &rules).expect("links can be made");
        let workspace = Workspace::new(vec![root.to_path_buf()]);
        assert_eq!(paths(&workspace), ["a.py"]);
        let unreadable = HiddenReason::UnreadableRules;
        assert_eq!(
            hidden(&workspace, &root.join("inner/b.py")),
            Some(unreadable.clone())
        );
        let elsewhere = Workspace::new(Vec::new());
        write(root, ".git/HEAD", b"ref: refs/heads/main\n");
        let name = elsewhere.document_name(&root.join("inner/b.py"));
        assert_eq!(name, Err(unreadable));
    }

    #[test]
    fn ignore_file_in_another_encoding_hides_what_its_other_lines_say() {
        let folder = tree(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
        let root = folder.path();
        write(root, ".gitignore", b"# caf\xe9\nb.py\n");
        let workspace = Workspace::new(vec![root.to_path_buf()]);
        assert_eq!(paths(&workspace), ["a.py"]);
    }

    #[test]
    fn rules_hold_for_documents_outside_the_workspace() {
        let folder = tree(&[
            ("work/a.py", "a = 1\n"),
            ("other/.env", "KEY=1\n"),
            ("other/id_rsa", "KEY\n"),
            ("other/.ssh/config.py", "KEY\n"),
            ("other/free.py", "a = 1\n"),
            ("repo/.git/info/exclude", "notes.py\n"),
            (
                "repo/.git/config",
                "[user]\n\tname = a\n[core]\n\texcludesFile = everywhere\n",
            ),
            ("repo/everywhere", "local_*.py\n"),
            ("repo/.gitignore", "build/\n"),
            ("repo/.fillrateignore", "private\n"),
            ("repo/inner/.gitignore", "deep.py\n"),
            ("repo/.git/worktrees/tree/commondir", "../..\n"),
            ("tree/.git", "gitdir: ../repo/.git/worktrees/tree\n"),
            ("repo/.git/modules/sub/info/exclude", "notes.py\n"),
            ("sub/.git", "gitdir: ../repo/.git/modules/sub\n"),
        ]);
        let ignored = Err(HiddenReason::Ignored);
        for folders in [vec![folder.path().join("work")], Vec::new()] {
            let workspace = Workspace::new(folders);
            // A document's name outside of the folders is none of a file in them.
            let outside = folder.path().join("other/free.py");
            assert_eq!(workspace.indexed_path(&outside), None);
            let name = |path: &str| workspace.document_name(&folder.path().join(path));
            for (path, expected) in [
                ("other/.env", Err(HiddenReason::Secret("*.env"))),
                ("other/id_rsa", Err(HiddenReason::Secret("id_rsa*"))),
                ("other/.ssh/config.py", Err(HiddenReason::Secret(".ssh/"))),
                ("other/.profile", Err(HiddenReason::DotFile)),
                ("other/free.py", Ok("free.py".to_owned())),
                ("repo/notes.py", ignored.clone()),
                ("repo/local_settings.py", ignored.clone()),
                ("repo/build/a.py", ignored.clone()),
                ("repo/private/a.py", ignored.clone()),
                ("repo/inner/deep.py", ignored.clone()),
                ("repo/inner/seen.py", Ok("seen.py".to_owned())),
                ("tree/notes.py", ignored.clone()),
                ("sub/notes.py", ignored.clone()),
                ("sub/seen.py", Ok("seen.py".to_owned())),
            ] {
                assert_eq!(name(path), expected, "{path}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn rules_hold_for_the_targets_of_links() {
        let folder = tree(&[
            ("work/a.py", "a = 1\n"),
            ("work/.env", "KEY=1\n"),
            ("other/.env", "KEY=1\n"),
        ]);
        let work = folder.path().join("work");
        for (target, name) in [
            ("work/a.py", "b.py"),
            ("work/.env", "c.py"),
            ("other/.env", "d.py"),
        ] {
            let target = folder.path().join(target);
            std::os::unix::fs::symlink(target, work.join(name)).expect("links can be made");
        }
        let workspace = Workspace::new(vec![work.clone()]);
        let secret = Err(HiddenReason::Secret("*.env"));
        let name = |path: &str| workspace.document_name(&work.join(path));
        assert_eq!(name("b.py"), Ok("a.py".to_owned()));
        let indexed = |path: &str| workspace.indexed_path(&work.join(path));
        assert_eq!(indexed("b.py").as_deref(), Some("a.py"));
        assert_eq!(indexed("c.py"), None);
        assert_eq!(name("c.py"), secret);
        assert_eq!(name("d.py"), secret);
    }

    #[test]
    fn several_folders_are_distinguished_by_name() {
        let folder = tree(&[
            ("x/app/a.py", "a = 1\n"),
            ("y/app/b.py", "b = 1\n"),
            ("x/app/inner/c.py", "c = 1\n"),
        ]);
        let at = |path: &str| folder.path().join(path);
        let workspace = Workspace::new(vec![
            at("x/app/"),
            at("y/app"),
            at("x/app/inner"),
            at("x/app"),
        ]);
        assert_eq!(paths(&workspace), ["app/a.py", "app~2/b.py", "inner/c.py"]);
        assert_eq!(
            workspace.relative(&at("x/app/inner/gone.py")).as_deref(),
            Some("inner/gone.py")
        );
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_not_followed() {
        let folder = tree(&[("a/b.py", "b = 1\n")]);
        let root = folder.path();
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).expect("links can be made");
        std::os::unix::fs::symlink(root.join("a/b.py"), root.join("c.py")).expect("as above");
        let workspace = Workspace::new(vec![root.to_path_buf()]);
        assert_eq!(paths(&workspace), ["a/b.py"]);
        let reason = hidden(&workspace, &root.join("link/b.py"));
        assert_eq!(reason, Some(HiddenReason::Symlink));
        assert_eq!(
            hidden(&workspace, &root.join("c.py")),
            Some(HiddenReason::Symlink)
        );
    }

    #[test]
    fn read_checks_contents_again() {
        let folder = tree(&[("a.py", "\u{feff}a = 1\r\n"), ("b.py", "b = 1\n")]);
        let workspace = Workspace::new(vec![folder.path().to_path_buf()]);
        let files = workspace.files();
        let read = |index: usize| workspace.read(&files[index]);
        assert_eq!(read(0).expect("it is there"), "a = 1\r\n");
        write(folder.path(), "b.py", "b = '\0'\n");
        let error = read(1).expect_err("it is binary by now").to_string();
        assert_eq!(error, "b.py is excluded: it is not text in UTF-8");
        fs::remove_file(&files[0].absolute).expect("it was there");
        assert!(matches!(read(0), Err(WorkspaceError::Unreadable { .. })));
    }

    fn name() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "b",
            "a.py",
            "b.py",
            "c.ts",
            "c.txt",
            ".env",
            ".d.py",
            "secrets.py",
            "id_rsa",
        ])
    }

    fn pattern() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "b/",
            "/a",
            "*.py",
            "!a.py",
            "!b.py",
            "a/b",
            "**/b",
            "a/**",
            "# a",
            "!b/",
            "c.*",
            "*",
            "!*/",
            "!*.ts",
            "/*/*/a.py",
            "",
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// A file is listed exactly if it is visible, and what Git would not add is not listed.
        #[test]
        fn listing_visibility_and_git_agree(
            files in prop::collection::vec(prop::collection::vec(name(), 1..4), 1..14),
            ignores in prop::collection::vec(
                (prop::collection::vec(prop::sample::select(vec!["a", "b"]), 0..3),
                 prop::collection::vec(pattern(), 0..4)),
                0..4,
            ),
        ) {
            let folder = tree(&[]);
            let root = folder.path();
            let mut written = Vec::new();
            for parts in &files {
                let path = parts.join("/");
                let file = root.join(&path);
                // A name may be taken by a folder already, or a folder's by a file.
                let made = file.parent().is_some_and(|above| fs::create_dir_all(above).is_ok());
                if made && !file.exists() && fs::write(&file, "x = 1\n").is_ok() {
                    written.push(path);
                }
            }
            for (current, patterns) in &ignores {
                let above = root.join(current.join("/"));
                if above.is_dir() {
                    fs::write(above.join(".gitignore"), patterns.join("\n")).expect("it can be written");
                }
            }
            let workspace = Workspace::new(vec![root.to_path_buf()]);
            let listed = paths(&workspace);
            prop_assert!(listed.is_sorted());
            let mut visible: Vec<_> = written
                .iter()
                .filter(|path| hidden(&workspace, &root.join(path)).is_none())
                .cloned()
                .collect();
            visible.sort();
            prop_assert_eq!(&listed, &visible);

            let git = |arguments: &[&str]| {
                Command::new("git").current_dir(root).args(arguments).output()
            };
            if git(&["init", "-q"]).is_err() {
                assert!(std::env::var_os("CI").is_none(), "git is needed and absent");
                println!("skipped the comparison: there is no git");
                return Ok(());
            }
            let seen = git(&["ls-files", "--others", "--exclude-standard", "-z"])
                .expect("git ran a moment ago");
            let seen = String::from_utf8(seen.stdout).expect("the names are ASCII");
            let mut expected: Vec<_> = seen
                .split('\0')
                .filter(|path| path.ends_with(".py") || path.ends_with(".ts"))
                .filter(|path| !path.contains("secrets.py") && !path.split('/').any(|part| part.starts_with('.')))
                .filter(|path| !path.split('/').any(|part| part == "id_rsa"))
                .map(str::to_owned)
                .collect();
            expected.sort();
            prop_assert_eq!(listed, expected);
        }
    }
}
