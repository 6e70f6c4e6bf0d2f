//! Imports of a file from its own repository.

use std::collections::BTreeSet;
use std::ops::Bound;

/// A name that a file imports from its own repository, or all names of a file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Name of the import in the file; `None` for everything there is.
    pub name: Option<String>,
    /// Origin of the import: in Python a module's path without its ending, which may be a folder's;
    /// in TypeScript a file's path; in Go a folder's.
    pub from: String,
    /// The item of the origin that is imported.
    pub target: ImportTarget,
    /// Byte of the file at which the statement begins.
    pub at: usize,
}

/// The item that is imported from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportTarget {
    /// The module itself: its names are members of the imported one.
    Module,
    /// The name it has there; `default` is the one without a name in TypeScript.
    Member(String),
    /// All that it exports, each under its own name.
    Everything,
}

/// The folder of a path; empty at the repository's root.
pub(crate) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..end])
}

/// Joins a folder and a path relative to it, without `.` and `..`; `None` if the result is outside
/// the repository.
pub(crate) fn joined_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!path.starts_with('/')).then(|| parts.join("/"))
}

/// Returns the files with an ending that are directly in a folder, which is empty for the
/// repository's root.
pub(crate) fn files_in_folder<'f, 'a: 'f>(
    folder: &str,
    ending: &'f str,
    files: &'f BTreeSet<&'a str>,
) -> impl Iterator<Item = &'a str> + 'f {
    let start = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let from = (Bound::Included(start.as_str()), Bound::Unbounded);
    // The set is sorted, so the first path without the folder's prefix ends the folder.
    let below = files.range::<str, _>(from).copied();
    below
        .map_while(move |path| Some((path, path.strip_prefix(start.as_str())?)))
        .filter(move |(_, name)| !name.contains('/') && name.ends_with(ending))
        .map(|(path, _)| path)
}

/// The first file with an ending in a folder that is a package: it knows the names of all others.
pub(crate) fn first_file(folder: &str, ending: &str, files: &BTreeSet<&str>) -> Vec<String> {
    let first = files_in_folder(folder, ending, files).next();
    first.into_iter().map(str::to_owned).collect()
}

/// The other files with an ending in a file's folder: what it knows without an import in languages
/// whose folders are packages.
pub(crate) fn neighbours<'f, 'a: 'f>(
    path: &'f str,
    ending: &'f str,
    files: &'f BTreeSet<&'a str>,
) -> impl Iterator<Item = String> + 'f {
    files_in_folder(parent(path), ending, files)
        .filter(move |other| *other != path)
        .map(str::to_owned)
}

/// A name within a folder, which is empty for the repository's root.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_paths_stay_in_the_repository() {
        for (folder, path, joined) in [
            ("", "a", Some("a")),
            ("a/b", "../c/pom.xml", Some("a/c/pom.xml")),
            ("a", "..", Some("")),
            ("", "../b", None),
            ("a", "/b", None),
        ] {
            assert_eq!(joined_path(folder, path).as_deref(), joined);
        }
    }
}
