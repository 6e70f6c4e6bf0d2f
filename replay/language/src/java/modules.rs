//! Modules of a Java repository: the folders that Maven or Gradle builds by themselves, and those
//! that one depends on.

use std::path::Path;

use super::gradle::GradleBuild;
use super::pom::{MavenBuild, POM};

/// A module that another depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiblingModule {
    /// Its folder in the repository; empty for the top.
    pub folder: String,
    /// True if its tests' classes are needed as well.
    pub has_tests: bool,
}

/// The build that a module belongs to.
pub(super) enum JavaBuild {
    /// Of Maven.
    Maven(MavenBuild),
    /// Of Gradle.
    Gradle(GradleBuild),
}

impl JavaBuild {
    /// Reads the build that the module in a folder belongs to; `None` if the folder is no module.
    pub(super) fn around(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let maven = MavenBuild::around(folder, read).map(Self::Maven);
        maven.or_else(|| GradleBuild::around(folder, read).map(Self::Gradle))
    }

    /// Reads the build at the top of a repository.
    pub(super) fn at_top(read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        match read(POM) {
            Some(_) => Some(Self::Maven(MavenBuild::read("", read))),
            None => GradleBuild::read("", read).map(Self::Gradle),
        }
    }

    /// The folders of its modules without the top, sorted.
    pub(super) fn folders(&self) -> Vec<String> {
        match self {
            Self::Maven(build) => build.folders().map(str::to_owned).collect(),
            Self::Gradle(build) => build.folders().map(str::to_owned).collect(),
        }
    }

    fn siblings(&self, folder: &str) -> Vec<SiblingModule> {
        match self {
            Self::Maven(build) => build.siblings(folder),
            Self::Gradle(build) => build.siblings(folder),
        }
    }
}

/// Returns the folders of a repository's modules, without the top, sorted.
pub fn module_folders(read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    JavaBuild::at_top(read).map_or_else(Vec::new, |build| build.folders())
}

/// True if the build at the top of a repository has a module in a folder.
pub fn is_module(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    module_folders(read).iter().any(|module| module == folder)
}

/// Returns the name that Maven knows a module by.
pub fn module_name(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let build = MavenBuild::read(folder, read);
    build.name(folder).map(str::to_owned)
}

/// Returns the modules of a repository that the module in a folder depends on, directly or not.
pub fn siblings(source: &Path, folder: &str) -> Vec<SiblingModule> {
    let folder = folder.trim_matches(['/', '.']);
    let read = |path: &str| std::fs::read_to_string(source.join(path)).ok();
    JavaBuild::around(folder, &read).map_or_else(Vec::new, |build| build.siblings(folder))
}

/// Returns the folders in which the build of a module may begin: those around it, the outermost
/// first, then its own.
pub(super) fn build_tops(folder: &str) -> impl Iterator<Item = &str> {
    let ends = folder.match_indices('/').map(|(at, _)| at);
    let ends = std::iter::once(0).chain(ends).chain([folder.len()]);
    ends.map(|end| &folder[..end])
}

/// Returns the modules that the one in a folder depends on, directly or not. `needed` returns those
/// that a module depends on itself; its second argument is true for the first module, whose tests'
/// dependencies count too.
pub(super) fn closure(
    folder: &str,
    mut needed: impl FnMut(&str, bool) -> Vec<SiblingModule>,
) -> Vec<SiblingModule> {
    let mut siblings: Vec<SiblingModule> = Vec::new();
    let mut left = vec![(folder.to_owned(), true)];
    while let Some((module, is_own)) = left.pop() {
        for sibling in needed(&module, is_own) {
            // A module that the first one's tests need may itself depend on the first one.
            if sibling.folder == folder {
                continue;
            }
            let known = siblings
                .iter_mut()
                .find(|known| known.folder == sibling.folder);
            match known {
                Some(known) => known.has_tests |= sibling.has_tests,
                None => {
                    left.push((sibling.folder.clone(), false));
                    siblings.push(sibling);
                }
            }
        }
    }
    siblings
}
