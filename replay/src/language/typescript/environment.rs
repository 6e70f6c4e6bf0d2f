//! `node_modules` folders, filled by npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, InstallRequest, Interpreter, NamedText, PackageManager,
    ProgramProbe, Toolchain, at_least, beyond_usr, read_requested,
};
use super::super::programs::{self, CHECK_NETWORK, answer};

/// The oldest Node.js that works, as (major, minor).
const OLDEST_NODE: (u32, u32) = (20, 0);

/// Folders of `node_modules` that tools write to while they run.
pub(crate) const SCRATCH_FOLDERS: [&str; 3] = [".cache", ".vite", ".vite-temp"];

/// npm.
pub(crate) struct Npm;

impl PackageManager for Npm {
    fn kind(&self) -> EnvironmentKind {
        EnvironmentKind::Node
    }

    fn file_key(&self) -> &'static str {
        "lock"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["lock", "node"]
    }

    fn interpreter_key(&self) -> &'static str {
        "node"
    }

    fn pin_form(&self) -> &'static str {
        "NAME@VERSION"
    }

    fn parse_pin(&self, pin: &str) -> Option<(String, String)> {
        parse_pin(pin)
    }

    fn interpreter(
        &self,
        toolchain: &Toolchain,
        wanted: Option<&str>,
    ) -> Result<Interpreter, EnvironmentError> {
        npm(toolchain)?;
        let found = node(toolchain)?;
        let is_wanted = |wanted: &str| {
            found.version == wanted || found.version.starts_with(&format!("{wanted}."))
        };
        match wanted.filter(|wanted| !is_wanted(wanted)) {
            None => Ok(found),
            Some(wanted) => Err(EnvironmentError::missing(
                &format!("node {wanted}"),
                "a project of the corpus",
                format!("the one found is {}; install that version", found.version),
            )),
        }
    }

    fn probes(&self, toolchain: &Toolchain) -> Vec<ProgramProbe> {
        vec![
            ProgramProbe {
                program: "node",
                version: node(toolchain).map(|found| found.version),
            },
            ProgramProbe {
                program: "npm",
                version: npm(toolchain),
            },
        ]
    }

    /// A lock file, and the `package.json` and the settings beside it.
    fn requested_files(
        &self,
        project: &str,
        lock: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        let read = |name: &str| read_requested(project, source, name);
        let beside = |name: &str| match lock.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
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
        Ok(vec![
            ("package-lock.json".to_owned(), read(lock)?),
            ("package.json".to_owned(), read(&beside("package.json"))?),
            (".npmrc".to_owned(), kept.join("\n")),
        ])
    }

    fn binds_interpreter(&self) -> bool {
        false
    }

    fn is_intact(&self, root: &Path) -> bool {
        let modules = root.join("node_modules");
        SCRATCH_FOLDERS
            .iter()
            .all(|name| modules.join(name).is_dir())
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<Vec<String>, EnvironmentError> {
        let npm = |arguments: &[&str]| {
            let mut npm = Command::new(&request.toolchain.npm);
            npm.args(arguments)
                .args(["--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(root);
            programs::run(&mut npm, request.project, CHECK_NETWORK)
        };
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::write(&path, text).map_err(EnvironmentError::io("writing", &path))
        };
        for (name, text) in request.files {
            write(name, text)?;
        }
        if request.packages.file.is_some() {
            npm(&["ci", "--no-progress"])?;
        } else {
            write("package.json", "{ \"private\": true }\n")?;
        }
        if !request.packages.packages.is_empty() {
            let mut arguments = vec!["install", "--no-progress", "--save-exact"];
            arguments.extend(request.packages.packages.iter().map(String::as_str));
            npm(&arguments)?;
        }
        let modules = root.join("node_modules");
        for name in SCRATCH_FOLDERS {
            let folder = modules.join(name);
            fs::create_dir_all(&folder).map_err(EnvironmentError::io("creating", &folder))?;
        }
        // Only `node_modules` stays: a package.json here would be found from a repository that
        // stands beside it. The lock is kept outside as a record.
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            let path = root.join(name);
            if name == "package-lock.json" && path.exists() {
                let record = root.with_file_name(name);
                fs::rename(&path, &record).map_err(EnvironmentError::io("moving", &record))?;
            } else if path.exists() {
                fs::remove_file(&path).map_err(EnvironmentError::io("removing", &path))?;
            }
        }
        installed_modules(&modules)
    }

    fn program(&self, _root: &Path, interpreter: &Path) -> PathBuf {
        interpreter.to_owned()
    }
}

/// `PATH NAME VERSION` for every package that npm noted in a `node_modules` folder.
fn installed_modules(modules: &Path) -> Result<Vec<String>, EnvironmentError> {
    let path = modules.join(".package-lock.json");
    // npm writes none where it installed nothing.
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(Vec::new());
    };
    let lock: serde_json::Value = serde_json::from_str(&text)
        .map_err(std::io::Error::other)
        .map_err(EnvironmentError::io("reading", &path))?;
    let mut lines = Vec::new();
    for (place, package) in lock["packages"].as_object().into_iter().flatten() {
        let version = package["version"].as_str().unwrap_or("linked");
        let integrity = package["integrity"].as_str().unwrap_or("-");
        lines.push(format!("{place} {version} {integrity}"));
    }
    lines.sort();
    Ok(lines)
}

/// Node as the search path has it, seen through stand-ins.
fn node(toolchain: &Toolchain) -> Result<Interpreter, EnvironmentError> {
    const ASK: &str = "console.log(require('fs').realpathSync(process.execPath));
console.log(process.versions.node);
console.log(process.platform, process.arch, process.versions.modules)";
    let missing = |how_to_get| {
        EnvironmentError::missing(
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
        kind: EnvironmentKind::Node,
        roots: beyond_usr(vec![path.clone()]),
        path,
        version: version.to_owned(),
        platform: platform.to_owned(),
    })
}

/// npm's version.
pub(crate) fn npm(toolchain: &Toolchain) -> Result<String, EnvironmentError> {
    let mut ask = Command::new(&toolchain.npm);
    ask.arg("--version");
    answer(&mut ask)
        .map(|version| version.trim().to_owned())
        .map_err(|found| {
            let how_to_get = format!(
                "it could not be run ({found}), so install it; it comes with most Node.js packages"
            );
            EnvironmentError::missing("npm", "TypeScript and JavaScript projects", how_to_get)
        })
}

/// `NAME@VERSION` or `@SCOPE/NAME@VERSION`, the version with three numbers.
fn parse_pin(pin: &str) -> Option<(String, String)> {
    let at = pin.rfind('@').filter(|&at| at > 0)?;
    let (name, version) = (&pin[..at], &pin[at + 1..]);
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let named = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| word(scope) && word(name)),
        None => word(name),
    };
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let exact = core.split('.').count() == 3
        && core
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    (named && exact).then(|| (name.to_owned(), version.to_owned()))
}
