//! The environment that a project's tests run in, built once in the cache and never in a
//! repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fillrate_language::environment::{
    EnvironmentError, EnvironmentKind, InstallRequest, InstalledPackages, Interpreter, NamedText,
    ProgramProbe, Toolchain,
};
use fillrate_language::programs::answer;
use fillrate_language::{LANGUAGES, LanguageSupport, package_manager};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, ENVIRONMENTS, entry_name};
use super::error::CorpusError;
use super::manifest::Project;
use super::step::CorpusStep;
use super::tree;

/// An environment that is ready to run tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The kind of packages that it holds.
    pub kind: EnvironmentKind,
    /// The virtual environment's folder, or the folder that holds `node_modules`. Shared between
    /// runs, so only ever read.
    pub root: PathBuf,
    /// The folder of files that building the project added to its source, which tests need there;
    /// `None` if there are none.
    pub generated: Option<PathBuf>,
    /// The real path of the interpreter. For Python this is the base interpreter, which knows
    /// nothing of the environment; see [`Environment::program`].
    pub interpreter: PathBuf,
    /// Absolute paths beyond `/usr` that must be readable for the interpreter to start, e.g. the
    /// prefix of a Python built from source. Empty for a distribution's own.
    pub interpreter_roots: Vec<PathBuf>,
    /// The interpreter's version, e.g. `3.11.7`.
    pub version: String,
    /// The name of the environment in the cache: differs whenever the request differs.
    pub key: String,
    /// The exact versions of all installed packages, as the package manager pins them.
    pub installed: Vec<String>,
    /// The names of packages for development that the repository asks for and the registry lacks.
    pub left_out: Vec<String>,
}

impl Environment {
    /// The empty environment of a project without tests: nothing ever runs in it.
    pub fn none(language: &LanguageSupport) -> Self {
        Self {
            kind: language.packages.rules().kind,
            generated: None,
            root: PathBuf::new(),
            interpreter: PathBuf::new(),
            interpreter_roots: Vec::new(),
            version: String::new(),
            key: "none".to_owned(),
            installed: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// The program that runs code in this environment. Outside of its place in the cache, the
    /// same path relative to wherever [`Environment::root`] is then.
    pub fn program(&self) -> PathBuf {
        package_manager(self.kind).program(&self.root, &self.interpreter)
    }
}

/// Looks for every outside program. Costs a few process starts.
pub fn probe(toolchain: &Toolchain) -> Vec<ProgramProbe> {
    let mut kinds = Vec::new();
    let mut probes = Vec::new();
    for language in LANGUAGES {
        let kind = language.packages.rules().kind;
        if !kinds.contains(&kind) {
            kinds.push(kind);
            probes.extend(language.packages.probes(toolchain));
        }
    }
    probes.push(ProgramProbe {
        program: "git",
        version: git(toolchain),
    });
    probes
}

/// The cache's record of an environment.
#[derive(Serialize, Deserialize)]
struct EnvironmentRecord {
    schema: u32,
    kind: EnvironmentKind,
    interpreter: PathBuf,
    version: String,
    /// The requested packages.
    packages: Vec<String>,
    /// The installed packages.
    lock: Vec<String>,
    /// Packages that the registry lacks; absent in older records, whose packages were all there.
    #[serde(default)]
    left_out: Vec<String>,
}

/// Counts up when an environment would come out differently from the same request.
const SCHEMA: u32 = 3;

/// Builds a project's environment, or finds it in the cache. `source` is the project's source,
/// for the lock or requirements file in it.
///
/// # Errors
/// See [`CorpusError`].
pub fn build(
    cache: &Cache,
    toolchain: &Toolchain,
    interpreter: &Interpreter,
    project: &Project,
    source: &Path,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Environment, CorpusError> {
    let packages = &project.environment;
    let manager = project.language.packages;
    let files = requested_files(project, source)?;
    let label = format!("{}-{}", project.language, interpreter.version);
    let mut asked = packages.packages.clone();
    asked.sort();
    asked.dedup();
    let path = interpreter.path.to_string_lossy();
    let mut parts = vec![interpreter.version.as_str(), &interpreter.platform];
    let schema = SCHEMA.to_string();
    parts.push(&schema);
    // Such an environment has the interpreter's path in it, and fails with another one.
    if manager.rules().binds_interpreter {
        parts.push(&path);
    }
    parts.extend(files.iter().map(|(_, text)| text.as_str()));
    // Without this part, a file's text could pass for a package.
    parts.push("packages");
    parts.extend(asked.iter().map(String::as_str));
    let more = further_parts(project, source)?;
    parts.extend(more.iter().map(String::as_str));
    let key = entry_name(&label, &parts);
    let module_path = match &project.test {
        Some(test) => test.path.as_slice(),
        None => &[],
    };
    let (folder, record) = cache.entry(
        ENVIRONMENTS,
        &key,
        report_step,
        |folder, _: &EnvironmentRecord| manager.is_intact(&folder.join("root")),
        |folder| {
            let root = folder.join("root");
            fs::create_dir(&root).map_err(CorpusError::io("creating", &root))?;
            let copy = folder.join("build");
            if packages.install.is_some() {
                // A build writes into the folder of its sources, so it runs on a copy.
                tree::copy(source, &tree::entries(source)?, &copy)?;
            }
            let request = InstallRequest {
                toolchain,
                interpreter,
                project: &project.name,
                packages,
                files: &files,
                source,
                build: &copy,
                generated: &folder.join(GENERATED),
                module_path,
            };
            let InstalledPackages { lock, left_out } = manager.install(&request, &root)?;
            if copy.is_dir() {
                fs::remove_dir_all(&copy).map_err(CorpusError::io("removing", &copy))?;
            }
            Ok(EnvironmentRecord {
                schema: SCHEMA,
                kind: interpreter.kind,
                interpreter: interpreter.path.clone(),
                version: interpreter.version.clone(),
                packages: asked.clone(),
                lock,
                left_out,
            })
        },
    )?;
    let generated = folder.join(GENERATED);
    Ok(Environment {
        kind: interpreter.kind,
        generated: generated.is_dir().then_some(generated),
        root: folder.join("root"),
        interpreter: interpreter.path.clone(),
        interpreter_roots: interpreter.roots.clone(),
        version: interpreter.version.clone(),
        key,
        installed: record.lock,
        left_out: record.left_out,
    })
}

/// The folder of an environment's entry with the files that building the project added.
const GENERATED: &str = "generated";

/// Returns everything else that an environment depends on, in a form that differs whenever it does;
/// empty if the project asks for pins and a file only.
fn further_parts(project: &Project, source: &Path) -> Result<Vec<String>, CorpusError> {
    let packages = &project.environment;
    let manager = project.language.packages;
    let mut parts = Vec::new();
    let lists = [
        ("requires", &packages.requires),
        ("extras", &packages.extras),
        ("groups", &packages.groups),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        parts.push(name.to_owned());
        parts.extend(list.iter().cloned());
    }
    if packages.install.is_some() || manager.compiles_project() {
        let mut inputs = tree::entries(source)?;
        let installed = manager.installed_folders(source, packages);
        let is_installed = |path: &str| {
            // The top of the repository may be one of them.
            installed.iter().any(|folder| {
                let rest = path.strip_prefix(&**folder);
                folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
            })
        };
        inputs.retain(|entry| manager.is_build_input(&entry.path) || is_installed(&entry.path));
        let folder = packages.install.as_deref().unwrap_or_default();
        parts.push(format!("install {folder}"));
        // Of two modules of one build, each is compiled for itself.
        parts.extend(packages.file.clone());
        parts.push(tree::digest_of(source, &inputs)?);
        let test = project.test.as_ref();
        parts.extend(test.into_iter().flat_map(|test| test.path.iter().cloned()));
    } else if !packages.groups.is_empty() {
        // The groups are defined in this file, so its text decides what they install.
        let text = fs::read_to_string(source.join("pyproject.toml")).unwrap_or_default();
        parts.push(text);
    }
    Ok(parts)
}

/// The files of the repository that list packages to install, with their names and texts.
pub(super) fn requested_files(
    project: &Project,
    source: &Path,
) -> Result<Vec<NamedText>, EnvironmentError> {
    match &project.environment.file {
        Some(file) => {
            let manager = project.language.packages;
            manager.requested_files(&project.name, file, source)
        }
        None => Ok(Vec::new()),
    }
}

/// git's version.
pub(super) fn git(toolchain: &Toolchain) -> Result<String, EnvironmentError> {
    let mut ask = Command::new(&toolchain.git);
    ask.arg("--version");
    answer(&mut ask)
        .map(|version| version.trim().trim_start_matches("git version ").to_owned())
        .map_err(|found| {
            let how_to_get = format!(
                "it could not be run ({found}), so install git from your system's packages"
            );
            EnvironmentError::missing("git", "projects whose source is a git revision", how_to_get)
        })
}
