//! Folders that are never used as a workspace: the home folder, those above it, and temporary
//! folders. Editors open them for a single file, and they contain unrelated projects.

use std::path::{Path, PathBuf};

/// True if a folder is the home folder, a folder above it, or a temporary one.
pub(super) fn is_too_broad(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    is_broad(folder, home.as_deref(), &std::env::temp_dir())
}

/// As [`is_too_broad`], with this home folder and this folder for temporary files.
fn is_broad(folder: &Path, home: Option<&Path>, temporary: &Path) -> bool {
    let resolve = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = resolve(folder);
    let holds_home = home
        .filter(|home| home.is_absolute())
        .is_some_and(|home| resolve(home).starts_with(&folder));
    let shared = [Path::new("/tmp"), Path::new("/var/tmp"), temporary];
    let is_temporary = shared
        .into_iter()
        .any(|path| resolve(path).starts_with(&folder));
    folder.parent().is_none() || holds_home || is_temporary
}

/// Returns the message about such a folder.
pub(super) fn broad_folder_notice(folder: &Path) -> String {
    format!(
        "Fillrate: {} is not used as a workspace, since it holds other projects: files in it are \
         completed without context; open a project's own folder for context",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_and_temporary_folders_are_no_workspace() {
        let (home, temporary) = (Path::new("/people/ann"), Path::new("/scratch"));
        let broad = |folder: &str| is_broad(Path::new(folder), Some(home), temporary);
        for folder in [
            "/",
            "/people",
            "/people/ann",
            "/people/ann/",
            "/scratch",
            "/tmp",
        ] {
            assert!(broad(folder), "{folder}");
        }
        for folder in ["/people/ann/project", "/people/bob", "/scratch/project"] {
            assert!(!broad(folder), "{folder}");
        }
    }
}
