//! Environments of a project's tests: the interpreter, the packages, and their installers.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Properties of the environments that a package manager makes.
#[derive(Debug)]
pub struct EnvironmentRules {
    /// The kind of environment.
    pub kind: EnvironmentKind,
    /// The key under `environment` in a manifest that names a file of the repository with the
    /// packages to install.
    pub file_key: &'static str,
    /// The keys under `environment` in a manifest that only its languages' projects have, with
    /// `file_key` and `interpreter_key` among them.
    pub own_keys: &'static [&'static str],
    /// The key under `environment` in a manifest that selects the interpreter of the tests.
    pub interpreter_key: &'static str,
    /// Form of an exact pin, for messages.
    pub pin_form: &'static str,
    /// True if an environment works only with the interpreter at the path it was made with.
    pub binds_interpreter: bool,
}

/// Installs the packages of a language's projects.
pub trait PackageManager: Sync {
    /// What is the same for all environments that it makes.
    fn rules(&self) -> &'static EnvironmentRules;

    /// Parses an exact pin into its name and version; `None` if the text is not an exact pin.
    fn parse_pin(&self, pin: &str) -> Option<(String, String)>;

    /// Looks for the interpreter of the language's projects. `wanted` is a version or what a
    /// version must satisfy, as the manifest has it; without it, the usual one is taken.
    ///
    /// # Errors
    /// [`EnvironmentError::MissingProgram`] if it or the package client is missing or too old.
    fn interpreter(
        &self,
        toolchain: &Toolchain,
        wanted: Option<&str>,
    ) -> Result<Interpreter, EnvironmentError>;

    /// Looks for every outside program that it needs.
    fn probes(&self, toolchain: &Toolchain) -> Vec<ProgramProbe>;

    /// Returns the files of a repository that list what to install: the one that the manifest names
    /// and those that belong to it.
    ///
    /// # Errors
    /// [`EnvironmentError::Unusable`] if one can't be read or can't be installed from.
    fn requested_files(
        &self,
        project: &str,
        file: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError>;

    /// True if the file at this path in a repository affects the result of installing or compiling
    /// the project itself.
    fn is_build_input(&self, _path: &str) -> bool {
        false
    }

    /// Returns the folders of a repository whose files an environment holds as they are, so that
    /// any of them affects the result of installing.
    fn installed_folders(&self, _source: &Path, _packages: &Packages) -> Vec<String> {
        Vec::new()
    }

    /// Returns the first of a repository's requirements whose package has a module.
    fn provider(&self, _requirements: &[String], _module: &str) -> Option<String> {
        None
    }

    /// True if an environment holds the compiled form of the unchanged project.
    fn compiles_project(&self) -> bool {
        false
    }

    /// True if the environment in the folder `root` is still complete.
    fn is_intact(&self, root: &Path) -> bool;

    /// Installs the requested packages into the empty folder `root`; records are kept in its parent
    /// folder.
    ///
    /// # Errors
    /// See [`EnvironmentError`].
    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<InstalledPackages, EnvironmentError>;

    /// The program that runs code in an environment in the folder `root`.
    fn program(&self, _root: &Path, interpreter: &Path) -> PathBuf {
        interpreter.to_owned()
    }
}

/// A kind of environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentKind {
    /// A virtual environment.
    Python,
    /// A `node_modules` folder.
    Node,
    /// Go's modules and its compiled packages.
    Go,
    /// Java's archives of classes.
    Java,
    /// Packages of .NET.
    Dotnet,
}

/// The names or paths of the outside programs that fetch sources and build environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// A Python of at least 3.9, with `venv` and `pip`.
    pub python: PathBuf,
    /// A Node.js of at least 20.
    pub node: PathBuf,
    /// Node's package client.
    pub npm: PathBuf,
    /// Go, with its compiler.
    pub go: PathBuf,
    /// Java with its compiler.
    pub java: PathBuf,
    /// Maven, which fetches Java's archives.
    pub mvn: PathBuf,
    /// For projects whose source is a git revision.
    pub git: PathBuf,
    /// Installs Python packages and interpreters; pip does the former where it is missing.
    pub uv: PathBuf,
}

impl Default for Toolchain {
    fn default() -> Self {
        Self {
            python: "python3".into(),
            node: "node".into(),
            npm: "npm".into(),
            go: "go".into(),
            java: "java".into(),
            mvn: "mvn".into(),
            git: "git".into(),
            uv: "uv".into(),
        }
    }
}

/// An interpreter on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Kind of environment that it runs.
    pub kind: EnvironmentKind,
    /// Its real path: neither a link nor a version manager's shim.
    pub path: PathBuf,
    /// E.g. `3.11.7`.
    pub version: String,
    /// Absolute paths beyond `/usr` that must be readable for it to start, e.g. the prefix of a
    /// Python that somebody built. Empty for a distribution's own.
    pub roots: Vec<PathBuf>,
    /// Platform that its compiled packages depend on: system, processor, binary interface.
    pub platform: String,
}

impl Interpreter {
    /// True if its version is `wanted` or begins with it, as `20.11.1` does with `20`.
    pub(crate) fn has_version(&self, wanted: &str) -> bool {
        let rest = self.version.strip_prefix(wanted);
        // `3.1` must not match `3.11`.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Returns this interpreter, the only one of its `program`, unless the manifest names another
    /// version.
    ///
    /// # Errors
    /// [`EnvironmentError::MissingProgram`] if it has another version.
    pub(crate) fn if_wanted(
        self,
        program: &str,
        wanted: Option<&str>,
    ) -> Result<Self, EnvironmentError> {
        match wanted {
            Some(wanted) if !self.has_version(wanted) => Err(EnvironmentError::missing(
                &format!("{program} {wanted}"),
                "a project of the corpus",
                format!(
                    "the one found is {}, so put that version first on the PATH",
                    self.version
                ),
            )),
            _ => Ok(self),
        }
    }
}

/// Result of `fillrate doctor` for one outside program.
#[derive(Debug)]
pub struct ProgramProbe {
    /// The program's usual name, e.g. `npm`.
    pub program: &'static str,
    /// Its version, or why it cannot be used ([`EnvironmentError::MissingProgram`]).
    pub version: Result<String, EnvironmentError>,
}

/// Requirements of a project's tests: packages, the installed project itself, an interpreter, a
/// build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    /// `packages`: exact pins.
    pub packages: Vec<String>,
    /// `requires`: packages with the versions that may be installed, in the words of the language's
    /// own metadata. The installer selects a version.
    pub requires: Vec<String>,
    /// Requirements that a detected repository has for other purposes: one is installed if the
    /// tests lack its module. No key of a manifest.
    pub spare: Vec<String>,
    /// The file of the repository under [`EnvironmentRules::file_key`].
    pub file: Option<String>,
    /// `install`: the folder of the repository with the project to install, with what it depends
    /// on, as its own metadata says; `.` for the top.
    pub install: Option<String>,
    /// `extras`: optional dependencies of the project to install (Python).
    pub extras: Vec<String>,
    /// `groups`: dependency groups of the project to install (Python).
    pub groups: Vec<String>,
    /// The interpreter under [`EnvironmentRules::interpreter_key`]: a version such as `3.8`, or what
    /// a version must satisfy.
    pub interpreter: Option<String>,
    /// `env`: environment variables of the tests and of `before`.
    pub env: BTreeMap<String, String>,
    /// `before`: commands that run once in the sandbox, at the repository's top, before any test.
    /// Files they write there belong to the source of the tests.
    pub before: Vec<String>,
    /// `before_may_fail`: true if a command of `before` that fails is reported and the tests run
    /// all the same, as for commands that were detected.
    pub before_may_fail: bool,
}

/// A file's name and its text.
pub type NamedText = (String, String);

/// Request to install a project's environment.
pub struct InstallRequest<'a> {
    /// The programs to use.
    pub toolchain: &'a Toolchain,
    /// The interpreter to install for.
    pub interpreter: &'a Interpreter,
    /// The project's name, for errors.
    pub project: &'a str,
    /// Requirements from the manifest.
    pub packages: &'a Packages,
    /// Files from [`PackageManager::requested_files`].
    pub files: &'a [NamedText],
    /// The project's source.
    pub source: &'a Path,
    /// A copy of the source that a build may write to, if the project is installed.
    pub build: &'a Path,
    /// Folder for the files that a build of the project adds to its source.
    pub generated: &'a Path,
    /// Folders of the source in which its modules are looked for, as far as the manifest names
    /// them.
    pub module_path: &'a [String],
}

/// Result of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledPackages {
    /// Everything that was installed, one line each, sorted.
    pub lock: Vec<String>,
    /// The names of packages for development that the repository asks for and the registry lacks.
    pub left_out: Vec<String>,
}

impl From<Vec<String>> for InstalledPackages {
    /// All requested packages.
    fn from(lock: Vec<String>) -> Self {
        Self {
            lock,
            left_out: Vec::new(),
        }
    }
}

/// Error of building an environment or of using an outside program.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// An outside program is missing or too old. The projects that do not need it still work.
    #[error("{program} is needed for {needed_for}; {how_to_get}")]
    MissingProgram {
        /// The program, with the least version where that matters, e.g. `node ≥ 20`.
        program: String,
        /// Purpose of the program, e.g. `Python projects`.
        needed_for: &'static str,
        /// Advice to the user, including what was found instead, if anything.
        how_to_get: String,
    },
    /// An outside program failed.
    #[error("`{command}` failed for `{project}`: {message}; {advice}")]
    Command {
        /// The project's name.
        project: String,
        /// The command as it could be typed.
        command: String,
        /// The last line it wrote to its standard error.
        message: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// A project's requirements cannot be installed.
    #[error("`{project}` cannot be prepared: {message}")]
    Unusable {
        /// The project's name.
        project: String,
        /// The problem and its remedy.
        message: String,
    },
    /// The file system refused something.
    #[error("{action} `{}` failed: {source}", path.display())]
    Io {
        /// Action that failed, e.g. `reading`.
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
}

impl EnvironmentError {
    /// Turns an [`io::Error`] into an error with the action and the path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// A program that is missing or too old.
    pub fn missing(program: &str, needed_for: &'static str, how_to_get: String) -> Self {
        Self::MissingProgram {
            program: program.to_owned(),
            needed_for,
            how_to_get,
        }
    }
}

/// Reads a file that lists what to install.
///
/// # Errors
/// [`EnvironmentError::Unusable`] if it can't be read as text.
pub(crate) fn read_requested(
    project: &str,
    source: &Path,
    name: &str,
) -> Result<String, EnvironmentError> {
    std::fs::read_to_string(source.join(name)).map_err(|error| EnvironmentError::Unusable {
        project: project.to_owned(),
        message: format!(
            "`{name}`, which its environment needs, cannot be read in its source: {error}"
        ),
    })
}

/// True if a dotted version is at least (major, minor).
pub(crate) fn at_least(version: &str, least: (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= least
}

/// Returns the paths outside `/usr`, which a sandbox with `/usr` does not have, each once and none
/// inside another.
pub(crate) fn beyond_usr(mut roots: Vec<PathBuf>) -> Vec<PathBuf> {
    // Sorted, a folder comes before the folders inside it.
    roots.sort();
    roots.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for root in roots {
        let covered = root.starts_with("/usr") || kept.iter().any(|kept| root.starts_with(kept));
        if !covered {
            kept.push(root);
        }
    }
    kept
}

/// A relative path without `.`, if it stays in the folder that it is relative to.
pub fn stays_inside(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(inside)
}
