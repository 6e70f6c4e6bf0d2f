//! Detection of a project from its repository: how its tests run, what they need installed, and
//! which files are its sources.
//!
//! Each language has one function that reads its own metadata files; `corpus::detect` makes a
//! project of what it returns.

use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;

use super::environment::Packages;
use super::runner::TestSettings;

/// Result of a language's detection for a repository.
///
/// Everything that is listed parses as the value of the key of the same name in a manifest.
#[derive(Clone, Debug, Default)]
pub struct DetectedProject {
    /// The name that the repository's metadata gives it; the folder's name if `None`.
    pub name: Option<String>,
    /// `holes`: the sources, without tests, generated files and build output.
    pub holes: Vec<String>,
    /// `exclude`.
    pub exclude: Vec<String>,
    /// `hidden`.
    pub hidden: Vec<String>,
    /// `environment`.
    pub environment: Packages,
    /// `test`; `None` if the repository has no tests that a runner of ours can run.
    pub test: Option<TestSettings>,
    /// One sentence for each finding, for the user, without a full stop: what was found, in which
    /// file, and what follows.
    pub findings: Vec<String>,
}

/// True if the package in a folder is one of the workspace, or of the build of several modules, at
/// `top`: it is installed and tested with the others.
pub fn is_part_of_workspace(top: &Path, folder: &str) -> bool {
    let read = |path: &str| std::fs::read_to_string(top.join(path)).ok();
    let folder = folder.trim_matches('/');
    is_listed(folder, &read) || super::python::workspaces::names_others(top, folder)
}

/// True if `top` is the innermost folder that holds a package with the others that it is installed
/// and tested with.
pub fn is_top_of_workspace(top: &Path, folder: &str) -> bool {
    let read = |path: &str| std::fs::read_to_string(top.join(path)).ok();
    let folder = folder.trim_matches('/');
    is_listed(folder, &read) || super::python::workspaces::names_across(top, folder)
}

/// True if the top lists the package in a folder.
fn is_listed(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    super::java::modules::is_module(folder, &read)
        || super::typescript::workspaces::is_member(folder, &read)
        || super::python::workspaces::is_member(folder, &read)
        || super::go::workspaces::is_member(folder, &read)
}

/// True if patterns of folders, as lists of a workspace's packages have them, match a folder; those
/// with `!` exclude.
pub(super) fn matches_folder(patterns: &[String], folder: &str) -> bool {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        let (sign, pattern) = match pattern.strip_prefix('!') {
            Some(pattern) => ("!", pattern),
            None => ("", pattern.as_str()),
        };
        let pattern = pattern.trim_start_matches("./").trim_matches('/');
        // A pattern that is no glob matches nothing.
        let _ = builder.add_line(None, &format!("{sign}/{pattern}"));
    }
    let globs = builder.build();
    globs.is_ok_and(|globs| globs.matched(folder, true).is_ignore())
}

/// True if a pattern matches a whole name. The pattern has at most two `*`, which match any text,
/// and the second is its end.
pub(super) fn matches_name(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    name.strip_prefix(start)
        .is_some_and(|name| match rest.strip_suffix('*') {
            Some(middle) => name.contains(middle),
            None => name.ends_with(rest),
        })
}

/// Returns globs of a folder's files as globs of the repository's.
pub(super) fn globs_within(folder: &str, globs: Vec<String>) -> Vec<String> {
    if folder.is_empty() {
        return globs;
    }
    let folder = escaped_glob(folder);
    let prefixed = |glob: String| match glob.strip_prefix('/') {
        Some(rest) => format!("/{folder}/{rest}"),
        None => glob,
    };
    globs.into_iter().map(prefixed).collect()
}

/// Returns the finding that no tests are run, with the reason.
pub(super) fn tests_not_run(reason: &str) -> String {
    format!("tests: {reason}, so holes are chosen by syntax and scored by text")
}

/// A path as a glob that matches it alone: names such as `[id].js` have signs of globs.
pub(super) fn escaped_glob(path: &str) -> String {
    let mut glob = String::new();
    for c in path.chars() {
        if "[]{}*?\\!".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    // A blank at the end counts for nothing, unless it is escaped.
    if let Some(start) = glob.strip_suffix(' ') {
        glob = format!("{start}\\ ");
    }
    glob
}

/// The files of a repository, as detection reads them.
#[derive(Clone, Debug)]
pub struct RepositoryFiles {
    root: PathBuf,
    /// Relative to the root, with `/` between names, sorted.
    paths: Vec<String>,
    /// See [`RepositoryFiles::focus`].
    focus: String,
}

#[cfg(test)]
impl RepositoryFiles {
    /// A repository with these files, given by their paths and texts, in a folder that exists as
    /// long as the returned guard.
    pub(crate) fn written(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let paths = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let files = Self::new(folder.path(), paths);
        (folder, files)
    }
}

impl RepositoryFiles {
    /// The files of the repository in the folder `root`; `paths` are relative to it, with `/`
    /// between names, and omit those that its ignore files exclude.
    pub fn new(root: &Path, mut paths: Vec<String>) -> Self {
        paths.sort();
        Self {
            root: root.to_owned(),
            paths,
            focus: String::new(),
        }
    }

    /// The same files for the detection of the package in one folder, which needs others of the
    /// repository.
    #[must_use]
    pub fn focused(&self, folder: &str) -> Self {
        Self {
            focus: folder.to_owned(),
            ..self.clone()
        }
    }

    /// The folder of the package that is detected, relative to the root; empty for the repository
    /// as a whole.
    pub fn focus(&self) -> &str {
        &self.focus
    }

    /// The files below a folder as a repository of their own.
    #[must_use]
    pub fn within(&self, folder: &str) -> Self {
        let start = format!("{folder}/");
        let inside = self.paths().filter_map(|path| path.strip_prefix(&start));
        Self::new(&self.root.join(folder), inside.map(str::to_owned).collect())
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The files below a folder, or all for `""`.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let start = match folder.trim_matches('/') {
            "" | "." => String::new(),
            folder => format!("{folder}/"),
        };
        self.paths().filter(move |path| path.starts_with(&start))
    }

    /// Names of the files directly in a folder.
    pub fn names_in(&self, folder: &str) -> impl Iterator<Item = &str> {
        let start = match folder.trim_matches('/') {
            "" | "." => 0,
            folder => folder.len() + 1,
        };
        self.below(folder)
            .map(move |path| &path[start..])
            .filter(|name| !name.contains('/'))
    }

    /// Names of the folders directly in a folder that have files below them.
    pub fn folders_in(&self, folder: &str) -> Vec<&str> {
        let start = match folder.trim_matches('/') {
            "" | "." => 0,
            folder => folder.len() + 1,
        };
        let mut folders: Vec<&str> = self
            .below(folder)
            .filter_map(|path| path[start..].split_once('/'))
            .map(|(name, _)| name)
            .collect();
        // Paths are sorted, so those below one folder are adjacent.
        folders.dedup();
        folders
    }

    /// True if a file of this path exists.
    pub fn has(&self, path: &str) -> bool {
        let known = |known: &String| known.as_str().cmp(path);
        self.paths.binary_search_by(known).is_ok()
    }

    /// True if a folder of this path has files below it.
    pub fn has_folder(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }

    /// A file's text; `None` if it is absent or not UTF-8.
    pub fn read(&self, path: &str) -> Option<String> {
        self.has(path)
            .then(|| std::fs::read_to_string(self.root.join(path)).ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_globs_match_their_path_alone() {
        for path in [
            "[id].js",
            "a{b,c}.py",
            "(x)/[...all]/*.ts",
            "what?!.js",
            "a\\b",
            "#a",
            "a ",
        ] {
            let glob = format!("/{}", escaped_glob(path));
            let mut builder = ignore::gitignore::GitignoreBuilder::new("");
            builder.add_line(None, &glob).expect("it is a glob");
            let globs = builder.build().expect("it is a glob");
            assert!(globs.matched(path, false).is_ignore(), "{glob}");
            for other in ["i.js", "ab.py", "acpy", "(x)/a/b.ts", "whats!.js"] {
                assert!(!globs.matched(other, false).is_ignore(), "{glob} {other}");
            }
        }
    }

    #[test]
    fn patterns_of_names_match_whole_names() {
        for (pattern, name, expected) in [
            ("tests", "tests", true),
            ("tests", "tests2", false),
            ("*_test.go", "a_test.go", true),
            ("*_test.go", "a_test.gox", false),
            ("test_*.py", "test_a.py", true),
            ("test_*.py", "a_test_a.py", false),
            ("*.test.*", "a.test.ts", true),
            ("*.test.*", "a.tests.ts", false),
        ] {
            assert_eq!(matches_name(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn files_and_folders_are_listed_by_folder() {
        let paths = ["a/b/c.py", "a/d.py", "e.py", "ab/f.py"].map(str::to_owned);
        let files = RepositoryFiles::new(Path::new("/nowhere"), paths.to_vec());
        assert_eq!(files.folders_in(""), ["a", "ab"]);
        assert_eq!(files.folders_in("a"), ["b"]);
        assert_eq!(files.names_in("a").collect::<Vec<_>>(), ["d.py"]);
        assert_eq!(files.names_in(".").collect::<Vec<_>>(), ["e.py"]);
        assert!(files.has("a/d.py") && !files.has("a"));
        assert!(files.has_folder("a/b") && !files.has_folder("b"));
    }
}
