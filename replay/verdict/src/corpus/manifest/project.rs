//! A project's section of a manifest.

use std::path::PathBuf;

use fillrate_language::LanguageSupport;
use fillrate_language::environment::Packages;
use fillrate_language::runner::TestSettings;

use super::globs::Globs;

/// One repository: `[[project]]`.
#[derive(Clone, Debug)]
pub struct Project {
    /// `name`: unique in the manifest; letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// `language`: the language of the holes.
    pub language: &'static LanguageSupport,
    /// `source`: where the repository comes from.
    pub source: SourcePin,
    /// `holes`: the files that holes may be cut into.
    pub holes: Globs,
    /// `exclude`: files that are neither shown to the language server nor needed by the tests.
    /// Build output belongs here, because it gives holes away. Empty if absent.
    pub exclude: Globs,
    /// `hidden`: files that are there for the tests and that no language server is shown, but for
    /// the one with the hole. Empty if absent.
    pub hidden: Globs,
    /// `[project.environment]`: the packages that the tests need. None if absent.
    pub environment: Packages,
    /// `[project.test]`: how the tests run. A project without is played, and nothing is judged.
    pub test: Option<TestSettings>,
}

/// Origin of a project's source: exactly one of these keys is in `source`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePin {
    /// `path`: a folder, relative to the manifest's. It is copied, as its ignore files allow.
    Path(PathBuf),
    /// `pypi = "NAME==VERSION"` and `sha256`: a source distribution.
    Pypi {
        /// The package's name.
        name: String,
        /// Its exact version.
        version: String,
        /// 64 lowercase hexadecimal digits.
        sha256: String,
    },
    /// `npm = "NAME@VERSION"` and `integrity`: a package as published.
    Npm {
        /// The package's name, with its scope.
        name: String,
        /// Its exact version.
        version: String,
        /// `sha512-` and 88 digits of base64, as in a lock file.
        integrity: String,
    },
    /// `git` and `revision`: one commit of a repository, without its submodules; with `folder`, one
    /// folder of it.
    Git {
        /// An address of the kinds `https`, `ssh`, `git` or `file`.
        url: String,
        /// 40 lowercase hexadecimal digits.
        revision: String,
        /// The folder that is the project's top, relative to the repository's; `None` for that.
        folder: Option<String>,
    },
    /// `archive` and `sha256`: a `.tar.gz` or `.tar.xz` with one folder at its top.
    Archive {
        /// An `https` or `http` address.
        url: String,
        /// 64 lowercase hexadecimal digits.
        sha256: String,
    },
}

impl Project {
    /// The arguments after the test runner's name.
    pub fn arguments(&self) -> &[String] {
        self.test.as_ref().map_or(&[], |test| &test.args)
    }
}

/// Makes a name valid for a project in a manifest: invalid characters become hyphens. Returns
/// `fallback` if no character is left.
pub fn plain_project_name(name: &str, fallback: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
            _ => '-',
        })
        .collect();
    match plain.trim_start_matches(['.', '-']) {
        "" => fallback.to_owned(),
        plain => plain.to_owned(),
    }
}
