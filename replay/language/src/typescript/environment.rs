//! `node_modules` folders, filled by npm, pnpm or Yarn.

mod client;
mod interpreters;
pub mod modules;
pub(super) mod ranges;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, EnvironmentRules, InstallRequest, InstalledPackages,
    Interpreter, NamedText, PackageManager, ProgramProbe, Toolchain, at_least, read_requested,
};
use super::super::programs::{self, CHECK_NETWORK, answer};
use client::PackageClient;
use modules::MODULES;

/// The oldest Node.js that works, as (major, minor).
pub(super) const OLDEST_NODE: (u32, u32) = (20, 0);

/// Folders of `node_modules` that tools write to while they run.
pub const SCRATCH_FOLDERS: [&str; 3] = [".cache", ".vite", ".vite-temp"];

/// npm, and the clients that it fetches.
pub struct Npm;

impl PackageManager for Npm {
    fn rules(&self) -> &'static EnvironmentRules {
        &EnvironmentRules {
            kind: EnvironmentKind::Node,
            file_key: "lock",
            own_keys: &["lock", "node"],
            interpreter_key: "node",
            pin_form: "NAME@VERSION",
            binds_interpreter: false,
        }
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
        match wanted {
            Some(wanted) => interpreters::find(toolchain, wanted),
            None => node(toolchain),
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

    /// A lock file, and the `package.json` and the settings next to it.
    fn requested_files(
        &self,
        project: &str,
        lock: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        let (folder, name) = lock.rsplit_once('/').unwrap_or(("", lock));
        let name = if LOCK_NAMES.contains(&name) {
            name
        } else {
            LOCK_NAMES[0]
        };
        let beside = |name: &str| Path::new(folder).join(name).display().to_string();
        let mut files = vec![
            (name.to_owned(), read_requested(project, source, lock)?),
            (
                "package.json".to_owned(),
                read_requested(project, source, &beside("package.json"))?,
            ),
        ];
        for name in SETTINGS {
            let text = fs::read_to_string(source.join(beside(name))).unwrap_or_default();
            if !text.is_empty() || name == SETTINGS[0] {
                files.push((name.to_owned(), plain_settings(name, &text)));
            }
        }
        Ok(files)
    }

    /// True for the files that package clients read.
    fn is_build_input(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == "package.json"
            || LOCK_NAMES.contains(&name)
            || SETTINGS.contains(&name)
            || path.split('/').any(|folder| folder == "patches")
    }

    fn is_intact(&self, root: &Path) -> bool {
        let modules = root.join(MODULES);
        SCRATCH_FOLDERS
            .iter()
            .all(|name| modules.join(name).is_dir())
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<InstalledPackages, EnvironmentError> {
        let packages = request.packages;
        let folder = match &packages.install {
            Some(folder) => request.build.join(folder),
            None => root.to_owned(),
        };
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(EnvironmentError::io("writing", &path))
        };
        for (name, text) in request.files {
            write(name, text)?;
        }
        let client = match request.files.first() {
            Some((name, text)) => Some(PackageClient::for_lock(name, text)),
            None if packages.install.is_none() => None,
            // Only pnpm reads where this file says that packages are, and in which versions.
            None if folder.join(PNPM_WORKSPACE).is_file() => Some(PackageClient::UNLOCKED_PNPM),
            None if names_workspace(&folder, MEMBER_DEPTH) => Some(PackageClient::YarnBerry),
            None => Some(PackageClient::UNLOCKED),
        };
        let (client, left_out) = match client {
            Some(client) => {
                let (client, left_out) =
                    client.install(request.toolchain, &folder, request.project)?;
                (Some(client), left_out)
            }
            None => {
                write("package.json", "{ \"private\": true }\n")?;
                (None, Vec::new())
            }
        };
        let more: Vec<&str> = [&packages.packages, &packages.requires]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !more.is_empty() {
            if client.is_some_and(|client| !client.is_npm()) {
                return Err(EnvironmentError::Unusable {
                    project: request.project.to_owned(),
                    message: "`packages` and `requires` can't be added to what pnpm or Yarn \
                              installs; add them to its package.json and lock file"
                        .to_owned(),
                });
            }
            let mut npm = Command::new(&request.toolchain.npm);
            npm.args(["install", "--no-progress", "--save-exact"])
                .args(more)
                .args(["--ignore-scripts", "--no-audit", "--no-fund"])
                .args(client.map(PackageClient::options).unwrap_or_default())
                .current_dir(&folder);
            programs::run(&mut npm, request.project, CHECK_NETWORK)?;
        }
        let lock = installed_modules(&folder)?;
        modules::move_modules(&folder, root)?;
        let mut folders = modules::module_folders(root);
        folders.push(PathBuf::from(MODULES));
        for folder in folders {
            for name in SCRATCH_FOLDERS {
                let scratch = root.join(&folder).join(name);
                fs::create_dir_all(&scratch).map_err(EnvironmentError::io("creating", &scratch))?;
            }
        }
        // Only `node_modules` stays: a package.json here would be found from a repository next to
        // it. The lock is kept outside as a record.
        for name in LOCK_NAMES
            .into_iter()
            .chain(SETTINGS)
            .chain(["package.json"])
        {
            let path = root.join(name);
            if name == LOCK_NAMES[0] && path.exists() {
                let record = root.with_file_name(name);
                fs::rename(&path, &record).map_err(EnvironmentError::io("moving", &record))?;
            } else if path.exists() {
                fs::remove_file(&path).map_err(EnvironmentError::io("removing", &path))?;
            }
        }
        Ok(InstalledPackages { lock, left_out })
    }
}

/// The names of lock files; another name is npm's first.
const LOCK_NAMES: [&str; 4] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
];
/// Files with settings of package clients.
const SETTINGS: [&str; 3] = [".npmrc", ".yarnrc.yml", PNPM_WORKSPACE];
/// pnpm's list of a workspace's packages, with its settings.
pub(super) const PNPM_WORKSPACE: &str = "pnpm-workspace.yaml";

/// The most folders above a workspace's package.
const MEMBER_DEPTH: usize = 3;

/// True if a `package.json` in a folder or below names a package of its workspace by the protocol
/// for that, which npm does not read.
fn names_workspace(folder: &Path, depth: usize) -> bool {
    let text = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let inner = || {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
        folders.filter(|entry| entry.file_name() != MODULES)
    };
    is_of_workspace(&text)
        || depth > 0 && inner().any(|entry| names_workspace(&entry.path(), depth - 1))
}

/// True if a `package.json` names a package of its workspace.
pub(super) fn is_of_workspace(package: &str) -> bool {
    package.contains("\"workspace:")
}

/// Returns a file of settings without registries, which the user configures, and without settings
/// that run code of the repository.
fn plain_settings(name: &str, text: &str) -> String {
    const KEPT: [&str; 10] = [
        "auto-install-peers",
        "hoist",
        "hoist-pattern",
        "install-links",
        "legacy-peer-deps",
        "link-workspace-packages",
        "node-linker",
        "public-hoist-pattern",
        "shamefully-hoist",
        "strict-peer-deps",
    ];
    // Yarn's keys for registries begin with `npm`.
    const DROPPED: [&str; 5] = ["npm", "plugins", "yarnPath", "unsafeHttpWhitelist", "http"];
    let mut is_kept = true;
    let kept = text.lines().filter(|line| match name {
        ".npmrc" => {
            let key = line.split('=').next().unwrap_or_default().trim();
            KEPT.contains(&key.trim_end_matches("[]"))
        }
        ".yarnrc.yml" => {
            // A block belongs to the key before it.
            if !line.starts_with([' ', '\t', '-']) {
                is_kept = !DROPPED.iter().any(|start| line.starts_with(start));
            }
            is_kept
        }
        _ => true,
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Returns `PATH NAME VERSION` for every package that npm recorded; for another client, the lines
/// of its lock file, which holds the same facts.
fn installed_modules(folder: &Path) -> Result<Vec<String>, EnvironmentError> {
    for name in ["pnpm-lock.yaml", "yarn.lock"] {
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            return Ok(text.lines().map(str::to_owned).collect());
        }
    }
    let path = folder.join(MODULES).join(".package-lock.json");
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

/// Node from the search path, with shims resolved.
fn node(toolchain: &Toolchain) -> Result<Interpreter, EnvironmentError> {
    let missing = |how_to_get| {
        EnvironmentError::missing(
            "node ≥ 20",
            "TypeScript and JavaScript projects",
            how_to_get,
        )
    };
    let found = interpreters::ask(&toolchain.node).map_err(|found| {
        missing(format!(
            "it could not be run ({found}), so install Node.js 20 or newer"
        ))
    })?;
    if !at_least(&found.version, OLDEST_NODE) {
        return Err(missing(format!(
            "the one found is {}, so install a newer one",
            found.version
        )));
    }
    Ok(found)
}

/// npm's version.
pub fn npm(toolchain: &Toolchain) -> Result<String, EnvironmentError> {
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
    // A scope begins with `@` too.
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
