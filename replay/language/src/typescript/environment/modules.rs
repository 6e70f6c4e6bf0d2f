//! The `node_modules` folders of a repository: one at the top, and those of a workspace's packages.
//!
//! They are kept apart from the repository. Where tests run, the one at the top is next to the
//! repository and the others are in it, so links between them are rewritten.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::super::super::environment::EnvironmentError;

/// The name of the folders.
pub const MODULES: &str = "node_modules";

/// The folders of that name below a folder and not within each other, relative to it, sorted.
pub fn module_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(folder) = left.pop() {
        let entries = fs::read_dir(root.join(&folder))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let path = folder.join(entry.file_name());
            // The kind is that of a link itself, so links are not followed.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name() == MODULES {
                found.push(path);
            } else {
                left.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The folder of a package that a workspace's package in `folder` has for itself; `None` if it has
/// none. `root` is the environment, in which links lead to where tests find their targets.
pub fn package_folder(root: &Path, folder: &str, package: &str) -> Option<PathBuf> {
    let path = root.join(folder).join(MODULES).join(package);
    if path.join("package.json").is_file() {
        return Some(path);
    }
    let target = fs::read_link(&path).ok()?;
    let named = target
        .components()
        .skip_while(|part| part.as_os_str() != MODULES);
    let path = root.join(named.collect::<PathBuf>());
    path.join("package.json").is_file().then_some(path)
}

/// The version of a package in its folder; `None` if it isn't installed.
pub fn installed_version(package: &Path) -> Option<String> {
    let path = package.join("package.json");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    manifest.get("version")?.as_str().map(str::to_owned)
}

/// Moves the folders from where they were installed to `root`, each to the same place.
///
/// # Errors
/// [`EnvironmentError::Io`] if one can't be moved, or a link not be written.
pub(super) fn move_modules(installed: &Path, root: &Path) -> Result<(), EnvironmentError> {
    let folders = module_folders(installed);
    let is_workspace = folders.len() > 1 || folders.iter().any(|it| leads_out(&installed.join(it)));
    if is_workspace {
        for folder in &folders {
            rewrite_links(installed, &installed.join(folder))?;
        }
    }
    for folder in folders {
        let target = root.join(&folder);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(EnvironmentError::io("creating", parent))?;
        }
        let source = installed.join(&folder);
        if source != target {
            fs::rename(&source, &target).map_err(EnvironmentError::io("moving", &source))?;
        }
    }
    Ok(())
}

/// True if a package in a folder of packages is a link to a package of the repository.
fn leads_out(folder: &Path) -> bool {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let out = |path: &Path| {
        fs::read_link(path).is_ok()
            && fs::canonicalize(path)
                .is_ok_and(|to| !to.components().any(|part| part.as_os_str() == MODULES))
    };
    entries(folder).any(|entry| {
        let is_scope = entry.file_name().to_string_lossy().starts_with('@');
        out(&entry.path()) || (is_scope && entries(&entry.path()).any(|entry| out(&entry.path())))
    })
}

/// Rewrites the links below a folder for the places where tests find them.
fn rewrite_links(installed: &Path, folder: &Path) -> Result<(), EnvironmentError> {
    let entries = fs::read_dir(folder).map_err(EnvironmentError::io("reading", folder))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            rewrite_links(installed, &path)?;
        } else if kind.is_symlink() {
            let Some(target) = link_target(installed, &path) else {
                continue;
            };
            fs::remove_file(&path)
                .and_then(|()| std::os::unix::fs::symlink(target, &path))
                .map_err(EnvironmentError::io("linking", &path))?;
        }
    }
    Ok(())
}

/// Returns the target that a link must have where tests find it; `None` if it has that already.
fn link_target(installed: &Path, link: &Path) -> Option<PathBuf> {
    let said = fs::read_link(link).ok()?;
    let parent = link.parent()?;
    let target = normal(&parent.join(&said));
    let (from, to) = (
        parent.strip_prefix(installed).ok()?,
        target.strip_prefix(installed).ok()?,
    );
    let in_top = |path: &Path| path.starts_with(MODULES);
    // If both ends move together, a relative link keeps its target.
    if in_top(from) == in_top(to) && said.is_relative() {
        return None;
    }
    Some(relative(&place(from), &place(to)))
}

/// Returns the path at which tests find an installed path: the packages at the top are next to the
/// repository, the others in it.
fn place(path: &Path) -> PathBuf {
    if path.starts_with(MODULES) {
        path.to_owned()
    } else {
        Path::new("repo").join(path)
    }
}

/// A path without `.` and `..`, by its words.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The path from a folder to another path.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_the_places_of_tests() {
        let folder = tempfile::tempdir().expect("a folder");
        let installed = folder.path().join("build");
        let root = folder.path().join("root");
        for path in [
            "node_modules/.pnpm/x@1/node_modules/x",
            "node_modules/@s",
            "packages/a/node_modules",
            "packages/b",
        ] {
            fs::create_dir_all(installed.join(path)).expect("a folder");
        }
        fs::create_dir_all(&root).expect("a folder");
        let link = |target: &str, at: &str| symlink(target, installed.join(at)).expect("a link");
        link("../../packages/b", "node_modules/@s/b");
        link(".pnpm/x@1/node_modules/x", "node_modules/x");
        link(
            "../../../node_modules/.pnpm/x@1/node_modules/x",
            "packages/a/node_modules/x",
        );
        link("../../b", "packages/a/node_modules/b");
        move_modules(&installed, &root).expect("moved");
        let read = |path: &str| fs::read_link(root.join(path)).expect("a link");
        assert_eq!(
            read("node_modules/@s/b"),
            Path::new("../../repo/packages/b")
        );
        assert_eq!(
            read("node_modules/x"),
            Path::new(".pnpm/x@1/node_modules/x")
        );
        assert_eq!(
            read("packages/a/node_modules/x"),
            Path::new("../../../../node_modules/.pnpm/x@1/node_modules/x")
        );
        assert_eq!(read("packages/a/node_modules/b"), Path::new("../../b"));
        assert_eq!(
            module_folders(&root),
            [
                Path::new("node_modules"),
                Path::new("packages/a/node_modules")
            ]
        );
    }
}
