//! What a project's tests run in: a Python virtual environment or a `node_modules` folder, in
//! the cache, never in a repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cache::{Cache, entry_name, hex};
use super::command::{self, CHECK_NETWORK};
use super::manifest::{Language, Packages, Project};
use super::{CorpusError, Step, Toolchain, tree};

/// The oldest Python that works, as (major, minor).
pub const OLDEST_PYTHON: (u32, u32) = (3, 9);
/// The oldest Node.js that works, as (major, minor).
pub const OLDEST_NODE: (u32, u32) = (20, 0);

/// An environment that is ready to run tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Python or Node.
    pub kind: Kind,
    /// The virtual environment's folder, or the folder that holds `node_modules`. Shared between
    /// runs, so only ever read.
    pub root: PathBuf,
    /// The real path of the interpreter. For Python this is the base interpreter, which knows
    /// nothing of the environment; see [`Environment::program`].
    pub interpreter: PathBuf,
    /// Absolute paths beyond `/usr` that must be readable for the interpreter to start, e.g. the
    /// prefix of a Python that somebody built. Empty for a distribution's own.
    pub interpreter_roots: Vec<PathBuf>,
    /// The interpreter's version, e.g. `3.11.7`.
    pub version: String,
    /// The name of the environment in the cache: differs whenever what was asked for differs.
    pub key: String,
    /// SHA-256 of the exact versions of everything that was installed: differs whenever what was
    /// got differs, and is equal on two machines that got the same.
    pub lock: String,
}

/// A kind of environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A virtual environment.
    Python,
    /// A `node_modules` folder.
    Node,
}

/// An interpreter on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Python or Node.
    pub kind: Kind,
    /// Its real path: no link, no version switcher's stand-in.
    pub path: PathBuf,
    /// E.g. `3.11.7`.
    pub version: String,
    /// See [`Environment::interpreter_roots`].
    pub roots: Vec<PathBuf>,
    /// What compiled packages for it depend on: system, processor, binary interface.
    pub platform: String,
}

/// What `fillrate doctor` asks of one outside program.
#[derive(Debug)]
pub struct Probe {
    /// The program's usual name, e.g. `npm`.
    pub program: &'static str,
    /// Its version, or why it cannot be used ([`CorpusError::MissingProgram`]).
    pub version: Result<String, CorpusError>,
}

impl Environment {
    /// What a project has that has no tests: nothing ever runs in it.
    pub fn none(language: Language) -> Self {
        Self {
            kind: match language {
                Language::Python => Kind::Python,
                Language::TypeScript | Language::JavaScript => Kind::Node,
            },
            root: PathBuf::new(),
            interpreter: PathBuf::new(),
            interpreter_roots: Vec::new(),
            version: String::new(),
            key: "none".to_owned(),
            lock: "none".to_owned(),
        }
    }

    /// The program that runs code in this environment. Outside of its place in the cache, the
    /// same path relative to wherever [`Environment::root`] is then.
    pub fn program(&self) -> PathBuf {
        match self.kind {
            Kind::Python => self.root.join("bin/python"),
            Kind::Node => self.interpreter.clone(),
        }
    }
}

/// Looks for every outside program. Costs a few process starts.
pub fn probe(toolchain: &Toolchain) -> Vec<Probe> {
    let version = |found: Result<Interpreter, CorpusError>| found.map(|found| found.version);
    vec![
        Probe {
            program: "python3",
            version: version(python(toolchain)),
        },
        Probe {
            program: "python3 -m venv",
            version: python(toolchain).and_then(|python| venv_works(&python)),
        },
        Probe {
            program: "node",
            version: version(node(toolchain)),
        },
        Probe {
            program: "npm",
            version: npm(toolchain),
        },
        Probe {
            program: "git",
            version: git(toolchain),
        },
    ]
}

/// The interpreter of a language's projects.
///
/// # Errors
/// [`CorpusError::MissingProgram`] if it or its package client is missing or too old.
pub fn interpreter(language: Language, toolchain: &Toolchain) -> Result<Interpreter, CorpusError> {
    match language {
        Language::Python => {
            let python = python(toolchain)?;
            venv_works(&python)?;
            Ok(python)
        }
        Language::TypeScript | Language::JavaScript => {
            npm(toolchain)?;
            node(toolchain)
        }
    }
}

/// What the cache remembers of an environment.
#[derive(Serialize, Deserialize)]
struct Record {
    schema: u32,
    kind: Kind,
    interpreter: PathBuf,
    version: String,
    /// What was asked for.
    packages: Vec<String>,
    /// What was installed: `pip freeze`, or the paths, names and versions in `node_modules`.
    lock: Vec<String>,
}

/// Counts up when an environment would come out differently from the same request.
const SCHEMA: u32 = 1;

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
    tell: &dyn Fn(Step),
) -> Result<Environment, CorpusError> {
    let packages = &project.environment;
    let files = requested_files(project, source)?;
    let label = format!("{}-{}", project.language, interpreter.version);
    let mut asked = packages.packages.clone();
    asked.sort();
    asked.dedup();
    let path = interpreter.path.to_string_lossy();
    let mut parts = vec![interpreter.version.as_str(), &interpreter.platform];
    let schema = SCHEMA.to_string();
    parts.push(&schema);
    if interpreter.kind == Kind::Python {
        // A virtual environment is bound to the interpreter that it was made from.
        parts.push(&path);
    }
    parts.extend(files.iter().map(|(_, text)| text.as_str()));
    parts.push("packages");
    parts.extend(asked.iter().map(String::as_str));
    let key = entry_name(&label, &parts);

    let install = Install {
        toolchain,
        interpreter,
        project: &project.name,
        packages,
        files: &files,
        source,
    };
    let (folder, record) = cache.entry(
        "environments",
        &key,
        tell,
        |folder, _: &Record| match interpreter.kind {
            // The link dangles once the base interpreter is gone.
            Kind::Python => folder.join("root/bin/python").exists(),
            Kind::Node => folder.join("root/node_modules").is_dir(),
        },
        |folder| {
            let root = folder.join("root");
            fs::create_dir(&root).map_err(CorpusError::io("creating", &root))?;
            let lock = match interpreter.kind {
                Kind::Python => install.python(&root)?,
                Kind::Node => install.node(&root, folder)?,
            };
            Ok(Record {
                schema: SCHEMA,
                kind: interpreter.kind,
                interpreter: interpreter.path.clone(),
                version: interpreter.version.clone(),
                packages: asked.clone(),
                lock,
            })
        },
    )?;
    Ok(Environment {
        kind: interpreter.kind,
        root: folder.join("root"),
        interpreter: interpreter.path.clone(),
        interpreter_roots: interpreter.roots.clone(),
        version: interpreter.version.clone(),
        key,
        lock: hex(&Sha256::digest(record.lock.join("\n").as_bytes())),
    })
}

/// The files of the repository that say what to install, with their names and texts: a lock file
/// and the `package.json` beside it, or a requirements file and those it includes.
pub(super) fn requested_files(
    project: &Project,
    source: &Path,
) -> Result<Vec<(String, String)>, CorpusError> {
    let unusable = |message: String| CorpusError::Unusable {
        project: project.name.clone(),
        message,
    };
    let read = |name: &str| {
        fs::read_to_string(source.join(name)).map_err(|error| {
            unusable(format!(
                "`{name}`, which its environment needs, cannot be read in its source: {error}"
            ))
        })
    };
    let mut files = Vec::new();
    if let Some(lock) = &project.environment.lock {
        let beside = |name: &str| match lock.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
        files.push(("package-lock.json".to_owned(), read(lock)?));
        files.push(("package.json".to_owned(), read(&beside("package.json"))?));
        // Only what bears on the tree that npm makes; where to fetch from is the user's affair.
        let settings = fs::read_to_string(source.join(beside(".npmrc"))).unwrap_or_default();
        let kept: Vec<_> = settings
            .lines()
            .filter(|line| {
                ["legacy-peer-deps", "strict-peer-deps", "install-links"]
                    .iter()
                    .any(|key| line.split('=').next().is_some_and(|k| k.trim() == *key))
            })
            .collect();
        files.push((".npmrc".to_owned(), kept.join("\n")));
    }
    let mut pending: Vec<String> = project.environment.requirements.iter().cloned().collect();
    while let Some(name) = pending.pop() {
        if files.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let text = read(&name)?;
        for line in text.lines().map(str::trim) {
            if line.starts_with(['.', '/']) || line.starts_with("-e") || line.starts_with("--edit")
            {
                return Err(unusable(format!(
                    "`{name}` installs the repository itself (`{line}`); list `packages` instead \
                     and put the repository on `path`"
                )));
            }
            for option in ["-r", "--requirement", "-c", "--constraint"] {
                if let Some(included) = line.strip_prefix(option)
                    && included.starts_with([' ', '='])
                {
                    let included = included.trim_start_matches([' ', '=']);
                    let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
                    let inside = tree::stays_inside(&folder.join(included));
                    match inside.as_deref().and_then(Path::to_str) {
                        Some(path) => pending.push(path.to_owned()),
                        None => {
                            return Err(unusable(format!(
                                "`{name}` includes `{included}`, which is outside of the source"
                            )));
                        }
                    }
                }
            }
        }
        files.push((name, text));
    }
    Ok(files)
}

struct Install<'a> {
    toolchain: &'a Toolchain,
    interpreter: &'a Interpreter,
    project: &'a str,
    packages: &'a Packages,
    files: &'a [(String, String)],
    source: &'a Path,
}

impl Install<'_> {
    fn python(&self, root: &Path) -> Result<Vec<String>, CorpusError> {
        make_venv(&self.interpreter.path, root, self.project)?;
        let python = root.join("bin/python");
        if !self.packages.packages.is_empty() || self.packages.requirements.is_some() {
            // Wheels first: they install without running anything.
            let wheels = self.pip_install(&python, root, &["--only-binary", ":all:"]);
            if wheels.is_err() {
                self.pip_install(&python, root, &[])?;
            }
        }
        let mut freeze = Command::new(&python);
        freeze.args([
            "-m",
            "pip",
            "freeze",
            "--all",
            "--disable-pip-version-check",
        ]);
        let frozen = command::run(&mut freeze, self.project, CHECK_NETWORK)?;
        // Pip came with the interpreter and is no part of what the tests see as pinned.
        let mut lock: Vec<_> = frozen
            .lines()
            .filter(|line| !line.starts_with("pip==") && !line.is_empty())
            .map(str::to_owned)
            .collect();
        lock.sort();
        Ok(lock)
    }

    fn pip_install(&self, python: &Path, root: &Path, how: &[&str]) -> Result<(), CorpusError> {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--no-input", "--quiet"])
            .args(["--disable-pip-version-check", "--no-warn-script-location"])
            .args(how);
        if let Some(requirements) = &self.packages.requirements {
            pip.arg("--requirement").arg(self.source.join(requirements));
        }
        pip.args(&self.packages.packages).current_dir(root);
        command::run(&mut pip, self.project, CHECK_NETWORK)?;
        Ok(())
    }

    fn node(&self, root: &Path, folder: &Path) -> Result<Vec<String>, CorpusError> {
        let npm = |arguments: &[&str]| {
            let mut npm = Command::new(&self.toolchain.npm);
            npm.args(arguments)
                .args(["--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(root);
            command::run(&mut npm, self.project, CHECK_NETWORK)
        };
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::write(&path, text).map_err(CorpusError::io("writing", &path))
        };
        for (name, text) in self.files {
            write(name, text)?;
        }
        if self.packages.lock.is_some() {
            npm(&["ci", "--no-progress"])?;
        } else {
            write("package.json", "{ \"private\": true }\n")?;
        }
        if !self.packages.packages.is_empty() {
            let mut arguments = vec!["install", "--no-progress", "--save-exact"];
            arguments.extend(self.packages.packages.iter().map(String::as_str));
            npm(&arguments)?;
        }
        let modules = root.join("node_modules");
        fs::create_dir_all(&modules).map_err(CorpusError::io("creating", &modules))?;
        // Only `node_modules` stays: a package.json here would be found from a repository that
        // stands beside it. The lock is kept outside as a record.
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            let path = root.join(name);
            if name == "package-lock.json" && path.exists() {
                let record = folder.join(name);
                fs::rename(&path, &record).map_err(CorpusError::io("moving", &record))?;
            } else if path.exists() {
                fs::remove_file(&path).map_err(CorpusError::io("removing", &path))?;
            }
        }
        installed_modules(&modules)
    }
}

/// `PATH NAME VERSION` for every package that npm noted in a `node_modules` folder.
fn installed_modules(modules: &Path) -> Result<Vec<String>, CorpusError> {
    let path = modules.join(".package-lock.json");
    // npm writes none where it installed nothing.
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(Vec::new());
    };
    let lock: serde_json::Value = serde_json::from_str(&text)
        .map_err(std::io::Error::other)
        .map_err(CorpusError::io("reading", &path))?;
    let mut lines = Vec::new();
    for (place, package) in lock["packages"].as_object().into_iter().flatten() {
        let version = package["version"].as_str().unwrap_or("linked");
        let integrity = package["integrity"].as_str().unwrap_or("-");
        lines.push(format!("{place} {version} {integrity}"));
    }
    lines.sort();
    Ok(lines)
}

/// A Python whose `pip` can be used: the toolchain's own, or a virtual environment in `stage`
/// where that one has none, as in Debian without `python3-pip`.
pub(super) fn python_with_pip(
    toolchain: &Toolchain,
    project: &str,
    stage: &Path,
) -> Result<PathBuf, CorpusError> {
    let base = python(toolchain)?.path;
    let mut pip = Command::new(&base);
    pip.args(["-m", "pip", "--version"]);
    if command::capture(&mut pip).is_ok_and(|output| output.status.success()) {
        return Ok(base);
    }
    let venv = stage.join("venv");
    make_venv(&base, &venv, project)?;
    Ok(venv.join("bin/python"))
}

fn make_venv(python: &Path, root: &Path, project: &str) -> Result<(), CorpusError> {
    let mut venv = Command::new(python);
    venv.args(["-m", "venv"]).arg(root);
    command::run(
        &mut venv,
        project,
        "check that the Python installation is whole",
    )?;
    Ok(())
}

/// Python as the search path has it, seen through stand-ins and active virtual environments.
pub(super) fn python(toolchain: &Toolchain) -> Result<Interpreter, CorpusError> {
    const ASK: &str = "import os, platform, sys, sysconfig
base = getattr(sys, '_base_executable', None) or sys.executable
print(os.path.realpath(base))
print('.'.join(str(part) for part in sys.version_info[:3]))
print(sys.implementation.cache_tag, sysconfig.get_platform(), *platform.libc_ver())
for root in {sys.base_prefix, sys.base_exec_prefix}: print(os.path.realpath(root))";
    let missing = |how_to_get| missing("python3 ≥ 3.9", "Python projects", how_to_get);
    let mut ask = Command::new(&toolchain.python);
    ask.args(["-I", "-c", ASK]);
    let answer = answer(&mut ask).map_err(|found| {
        missing(format!(
            "it could not be run ({found}), so install Python from your system's packages"
        ))
    })?;
    let mut lines = answer.lines().map(str::to_owned);
    let (Some(path), Some(version), Some(platform)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err(missing(
            "the one found gave no version, so install another".to_owned(),
        ));
    };
    if !at_least(&version, OLDEST_PYTHON) {
        return Err(missing(format!(
            "the one found is {version}, so install a newer one"
        )));
    }
    let path = PathBuf::from(path);
    let mut roots: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    if !roots.iter().any(|root| path.starts_with(root)) {
        roots.push(path.clone());
    }
    Ok(Interpreter {
        kind: Kind::Python,
        path,
        version,
        roots: beyond_usr(roots),
        platform,
    })
}

fn venv_works(python: &Interpreter) -> Result<String, CorpusError> {
    let mut ask = Command::new(&python.path);
    ask.args([
        "-I",
        "-c",
        "import venv, ensurepip; print(ensurepip.version())",
    ]);
    match answer(&mut ask) {
        Ok(version) => Ok(format!("{} with pip {}", python.version, version.trim())),
        Err(found) => Err(missing(
            "python3 -m venv",
            "Python projects",
            format!(
                "it does not work ({found}), so install that part of Python, on Debian `python3-venv`"
            ),
        )),
    }
}

/// Node as the search path has it, seen through stand-ins.
pub(super) fn node(toolchain: &Toolchain) -> Result<Interpreter, CorpusError> {
    const ASK: &str = "console.log(require('fs').realpathSync(process.execPath));
console.log(process.versions.node);
console.log(process.platform, process.arch, process.versions.modules)";
    let missing = |how_to_get| {
        missing(
            "node ≥ 20",
            "TypeScript and JavaScript projects",
            how_to_get,
        )
    };
    let mut ask = Command::new(&toolchain.node);
    ask.args(["-e", ASK]);
    let answer = answer(&mut ask).map_err(|found| {
        missing(format!(
            "it could not be run ({found}), so install Node.js 20 or newer"
        ))
    })?;
    let mut lines = answer.lines();
    let (Some(path), Some(version), Some(platform)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err(missing(
            "the one found gave no version, so install another".to_owned(),
        ));
    };
    if !at_least(version, OLDEST_NODE) {
        return Err(missing(format!(
            "the one found is {version}, so install a newer one"
        )));
    }
    let path = PathBuf::from(path);
    Ok(Interpreter {
        kind: Kind::Node,
        roots: beyond_usr(vec![path.clone()]),
        path,
        version: version.to_owned(),
        platform: platform.to_owned(),
    })
}

/// npm's version.
pub(super) fn npm(toolchain: &Toolchain) -> Result<String, CorpusError> {
    let mut ask = Command::new(&toolchain.npm);
    ask.arg("--version");
    answer(&mut ask)
        .map(|version| version.trim().to_owned())
        .map_err(|found| {
            let how_to_get = format!(
                "it could not be run ({found}), so install it; it comes with most Node.js packages"
            );
            missing("npm", "TypeScript and JavaScript projects", how_to_get)
        })
}

/// git's version.
pub(super) fn git(toolchain: &Toolchain) -> Result<String, CorpusError> {
    let mut ask = Command::new(&toolchain.git);
    ask.arg("--version");
    answer(&mut ask)
        .map(|version| version.trim().trim_start_matches("git version ").to_owned())
        .map_err(|found| {
            let how_to_get = format!(
                "it could not be run ({found}), so install git from your system's packages"
            );
            missing("git", "projects whose source is a git revision", how_to_get)
        })
}

/// The standard output of a program that was asked something, or how it failed.
fn answer(ask: &mut Command) -> Result<String, String> {
    match command::capture(ask) {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(command::last_line(&output)),
        Err(error) => Err(error.to_string()),
    }
}

fn missing(program: &str, needed_for: &'static str, how_to_get: String) -> CorpusError {
    CorpusError::MissingProgram {
        program: program.to_owned(),
        needed_for,
        how_to_get,
    }
}

/// Whether a dotted version is at least (major, minor).
fn at_least(version: &str, least: (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= least
}

/// Paths that a sandbox with `/usr` in it does not have, each once and none inside another.
fn beyond_usr(mut roots: Vec<PathBuf>) -> Vec<PathBuf> {
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
