//! The clients that install a repository's packages as its lock file has them: npm, pnpm and Yarn.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::super::super::environment::{EnvironmentError, Toolchain};
use super::super::super::programs::{self, CHECK_NETWORK, answer};

/// A package client, as a repository's lock file needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackageClient {
    /// npm, with a lock file or without.
    Npm {
        /// True if there is a lock file.
        locked: bool,
        /// True if conflicts of peer dependencies are accepted, as npm 6 did.
        lenient: bool,
    },
    /// pnpm.
    Pnpm {
        /// The version that reads the lock file.
        version: &'static str,
        /// True if there is a lock file.
        locked: bool,
    },
    /// Yarn 1.
    YarnClassic,
    /// Yarn 2 and later.
    YarnBerry,
}

impl PackageClient {
    /// npm, for a repository without a lock file.
    pub(super) const UNLOCKED: Self = Self::Npm {
        locked: false,
        lenient: false,
    };

    /// pnpm, for a workspace of its own without a lock file.
    pub(super) const UNLOCKED_PNPM: Self = Self::Pnpm {
        version: NEWEST_PNPM,
        locked: false,
    };

    pub(super) fn is_npm(self) -> bool {
        matches!(self, Self::Npm { .. })
    }

    /// The client for a lock file of this name with this text.
    pub(super) fn for_lock(name: &str, text: &str) -> Self {
        match name.rsplit('/').next().unwrap_or(name) {
            // pnpm 7 writes lock files of version 5, pnpm 8 of version 6, pnpm from 9 on of version
            // 9.
            "pnpm-lock.yaml" => Self::Pnpm {
                version: match lock_version(text) {
                    ..6 => "7",
                    6..9 => "8",
                    _ => NEWEST_PNPM,
                },
                locked: true,
            },
            // Only Yarn 2 and later write this block.
            "yarn.lock" if text.contains("__metadata:") => Self::YarnBerry,
            "yarn.lock" => Self::YarnClassic,
            _ => Self::Npm {
                locked: true,
                lenient: text.contains("\"lockfileVersion\": 1,"),
            },
        }
    }

    /// Installs the packages of the repository in a folder, without running code of any. Returns
    /// the client that succeeded, and the names of packages that it left out. If versions of peers
    /// conflict, npm accepts this, as with `--legacy-peer-deps`, and it continues without packages
    /// for development that the registry lacks.
    ///
    /// # Errors
    /// [`EnvironmentError::Command`] if the client fails.
    pub(super) fn install(
        self,
        toolchain: &Toolchain,
        folder: &Path,
        project: &str,
    ) -> Result<(Self, Vec<String>), EnvironmentError> {
        let mut client = self;
        let mut left_out = Vec::new();
        if let Self::Pnpm { .. } = self {
            accept_any_pnpm(folder)?;
        }
        loop {
            let failed = |message| EnvironmentError::Command {
                project: project.to_owned(),
                command: client.name(),
                message,
                advice: CHECK_NETWORK,
            };
            let mut command = client.command(toolchain, folder);
            let output =
                programs::capture(&mut command).map_err(|error| failed(error.to_string()))?;
            if output.status.success() {
                return Ok((client, left_out));
            }
            let said = said(&output);
            client = match client {
                Self::Npm {
                    locked,
                    lenient: false,
                } if said.contains("ERESOLVE") => Self::Npm {
                    locked,
                    lenient: true,
                },
                Self::Npm { lenient, .. }
                    if let Some(package) = absent_package(&said)
                        && leave_out(folder, &package)? =>
                {
                    left_out.push(package);
                    // `npm ci` refuses a lock file that has more than `package.json`; `npm install`
                    // takes the versions from it as well.
                    let locked = false;
                    Self::Npm { locked, lenient }
                }
                _ => {
                    return Err(failed(
                        error_line(&said).unwrap_or_else(|| programs::last_line(&output)),
                    ));
                }
            };
        }
    }

    /// The options by which npm installs more.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::Npm { lenient: true, .. } => &["--legacy-peer-deps"],
            _ => &[],
        }
    }

    /// Returns the command's name, for messages.
    fn name(self) -> String {
        match self {
            Self::Npm { locked: true, .. } => "npm ci".to_owned(),
            Self::Npm { locked: false, .. } => "npm install".to_owned(),
            Self::Pnpm { version, locked } => format!("pnpm@{version} install {}", frozen(locked)),
            Self::YarnClassic => "yarn install --frozen-lockfile".to_owned(),
            Self::YarnBerry => "yarn install".to_owned(),
        }
    }

    fn command(self, toolchain: &Toolchain, folder: &Path) -> Command {
        let mut npm = Command::new(&toolchain.npm);
        npm.current_dir(folder);
        // Npm fetches a client whose version reads this lock file; an installed one may not.
        let mut fetched = |package: &str, program: &str, at: &str| {
            npm.args(["exec", "--yes", &format!("--package={package}"), "--"])
                .args([program, at])
                .arg(folder)
                // There, the repository's own settings for npm do not count.
                .current_dir(folder.parent().unwrap_or(folder));
        };
        match self {
            Self::Npm { locked, .. } => {
                npm.arg(if locked { "ci" } else { "install" }).args([
                    "--ignore-scripts",
                    "--no-audit",
                    "--no-fund",
                    "--no-progress",
                ]);
                npm.args(self.options());
            }
            Self::Pnpm { version, locked } => {
                fetched(&format!("pnpm@{version}"), "pnpm", "--dir");
                npm.args([
                    "install",
                    frozen(locked),
                    "--ignore-scripts",
                    "--ignore-pnpmfile",
                ])
                // Otherwise it fetches and starts the version that package.json names.
                .env("npm_config_manage_package_manager_versions", "false");
            }
            Self::YarnClassic => {
                fetched("yarn@1", "yarn", "--cwd");
                npm.args([
                    "install",
                    "--frozen-lockfile",
                    "--ignore-scripts",
                    "--ignore-engines",
                ])
                .args(["--non-interactive", "--no-progress"]);
            }
            Self::YarnBerry => {
                fetched("@yarnpkg/cli-dist@4", "yarn", "--cwd");
                npm.arg("install");
                for (name, value) in [
                    ("YARN_NODE_LINKER", "node-modules"),
                    ("YARN_ENABLE_SCRIPTS", "0"),
                    // Lock files of earlier versions are brought up to date.
                    ("YARN_ENABLE_IMMUTABLE_INSTALLS", "0"),
                    ("YARN_ENABLE_HARDENED_MODE", "0"),
                    ("YARN_ENABLE_TELEMETRY", "0"),
                    ("YARN_ENABLE_PROGRESS_BARS", "0"),
                    ("YARN_IGNORE_PATH", "1"),
                ] {
                    npm.env(name, value);
                }
                let mut ask = Command::new(&toolchain.npm);
                // It knows nothing of npm's settings.
                if let Ok(registry) = answer(ask.args(["config", "get", "registry"])) {
                    npm.env(
                        "YARN_NPM_REGISTRY_SERVER",
                        registry.trim().trim_end_matches('/'),
                    );
                }
            }
        }
        npm
    }
}

/// The newest version of pnpm that runs with every Node.js that works.
const NEWEST_PNPM: &str = "10";

/// pnpm's option for a lock file or none.
fn frozen(locked: bool) -> &'static str {
    match locked {
        true => "--frozen-lockfile",
        false => "--no-frozen-lockfile",
    }
}

/// The number before the point in `lockfileVersion: '6.0'`.
fn lock_version(text: &str) -> u32 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("lockfileVersion:"));
    let version = line.unwrap_or_default().trim().trim_matches(['\'', '"']);
    version
        .split('.')
        .next()
        .and_then(|it| it.parse().ok())
        .unwrap_or(9)
}

/// Returns the output of a client, errors first.
fn said(output: &Output) -> String {
    [&output.stderr[..], &output.stdout]
        .map(String::from_utf8_lossy)
        .join("\n")
}

/// Returns the name of the package that the registry lacks according to npm, entirely or in the
/// requested version.
fn absent_package(said: &str) -> Option<String> {
    let after = |mark: &str| {
        let line = said.lines().find_map(|line| line.split_once(mark))?.1;
        line.split_whitespace().next()
    };
    if let Some(version) = after("No matching version found for ") {
        return Some(version.rsplit_once('@')?.0.to_owned());
    }
    // npm writes the slash after a scope as `%2f`.
    let address = after("404 Not Found - GET ")?.replace("%2f", "/");
    let package = address
        // The address of an archive has the file's name after `/-/`.
        .split_once("/-/")
        .map_or(&*address, |(package, _)| package);
    let mut names = package.rsplit('/');
    let name = names.next()?;
    match names.next() {
        Some(scope) if scope.starts_with('@') => Some(format!("{scope}/{name}")),
        _ => Some(name.to_owned()),
    }
}

/// Removes the versions of pnpm that the `package.json` in a folder asks for: others of the same
/// lock file refuse to install.
fn accept_any_pnpm(folder: &Path) -> Result<(), EnvironmentError> {
    change_package(folder, |manifest| {
        let mut is_changed = false;
        for (group, key) in [("engines", "pnpm"), ("devEngines", "packageManager")] {
            let asked = manifest.get_mut(group).and_then(Value::as_object_mut);
            is_changed |= asked.and_then(|asked| asked.remove(key)).is_some();
        }
        is_changed
    })?;
    Ok(())
}

/// Removes a package for development from the `package.json` in a folder; returns `false` if it has
/// none of this name.
fn leave_out(folder: &Path, package: &str) -> Result<bool, EnvironmentError> {
    change_package(folder, |manifest| {
        let asked = manifest["devDependencies"].as_object_mut();
        asked.and_then(|asked| asked.remove(package)).is_some()
    })
}

/// Changes the `package.json` in a folder; returns `false` if `change` does or it is no JSON.
fn change_package(
    folder: &Path,
    change: impl FnOnce(&mut Value) -> bool,
) -> Result<bool, EnvironmentError> {
    let path = folder.join("package.json");
    let text = fs::read_to_string(&path).map_err(EnvironmentError::io("reading", &path))?;
    let Ok(mut manifest) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'))
    else {
        return Ok(false);
    };
    if !manifest.is_object() || !change(&mut manifest) {
        return Ok(false);
    }
    fs::write(&path, manifest.to_string()).map_err(EnvironmentError::io("writing", &path))?;
    Ok(true)
}

/// pnpm's and Yarn's line for an error.
fn error_line(said: &str) -> Option<String> {
    let starts = ["ERR_PNPM", "error ", "➤ YN"];
    let mut lines = said.lines().map(str::trim);
    lines
        .find(|line| {
            let is_error =
                line.starts_with("➤ YN") && !line.starts_with("➤ YN0000") && line.contains("Error");
            // pnpm puts a thin space before its error codes.
            is_error
                || starts[..2]
                    .iter()
                    .any(|start| line.trim_start_matches('\u{2009}').starts_with(start))
        })
        .map(|line| {
            line.trim_start_matches("error ")
                .trim_end_matches('.')
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_packages_are_parsed_from_npm_errors() {
        let tarball = "npm error code E404\nnpm error 404 Not Found - GET https://a.b/top-sites/-/top-sites-1.1.225.tgz\nnpm error 404";
        assert_eq!(absent_package(tarball).as_deref(), Some("top-sites"));
        let scoped = "npm error 404 Not Found - GET https://a.b/npm/@acme%2fplans - Not found";
        assert_eq!(absent_package(scoped).as_deref(), Some("@acme/plans"));
        let scoped_tarball =
            "npm error 404 Not Found - GET https://a.b/@acme/plans/-/plans-1.0.0.tgz";
        assert_eq!(
            absent_package(scoped_tarball).as_deref(),
            Some("@acme/plans")
        );
        let version = "npm error code ETARGET\nnpm error notarget No matching version found for @acme/plans@^9.0.0.";
        assert_eq!(absent_package(version).as_deref(), Some("@acme/plans"));
        assert_eq!(absent_package("npm error code ENOTFOUND"), None);
    }

    #[test]
    fn only_packages_for_development_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("package.json");
        let text = r#"{"dependencies":{"a":"1"},"devDependencies":{"b":"1","c":"2"}}"#;
        std::fs::write(&path, text).expect("writable");
        assert!(!leave_out(folder.path(), "a").expect("readable"));
        assert!(leave_out(folder.path(), "b").expect("readable"));
        assert!(!leave_out(folder.path(), "b").expect("readable"));
        let left = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(
            left,
            r#"{"dependencies":{"a":"1"},"devDependencies":{"c":"2"}}"#
        );
    }

    #[test]
    fn versions_of_pnpm_that_a_repository_asks_for_refuse_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("package.json");
        for (text, left) in [
            (
                r#"{"engines":{"node":">=20","pnpm":">=11"},"devEngines":{"packageManager":{}}}"#,
                r#"{"engines":{"node":">=20"},"devEngines":{}}"#,
            ),
            (r#"{"engines":{"pnpm":"11"}}"#, r#"{"engines":{}}"#),
            (r#"{"name": "a"}"#, r#"{"name": "a"}"#),
        ] {
            fs::write(&path, text).expect("writable");
            accept_any_pnpm(folder.path()).expect("readable");
            assert_eq!(fs::read_to_string(&path).expect("readable"), left);
        }
    }

    #[test]
    fn lock_files_choose_their_client() {
        let client = PackageClient::for_lock;
        assert_eq!(
            client("pnpm-lock.yaml", "lockfileVersion: 5.4\n"),
            PackageClient::Pnpm {
                version: "7",
                locked: true
            }
        );
        assert_eq!(
            client("pnpm-lock.yaml", "lockfileVersion: '6.0'\n"),
            PackageClient::Pnpm {
                version: "8",
                locked: true
            }
        );
        assert_eq!(
            client("pnpm-lock.yaml", "lockfileVersion: '9.0'\n"),
            PackageClient::Pnpm {
                version: "10",
                locked: true
            }
        );
        assert_eq!(
            client("yarn.lock", "# yarn lockfile v1\n"),
            PackageClient::YarnClassic
        );
        assert_eq!(
            client("a/yarn.lock", "__metadata:\n  version: 8\n"),
            PackageClient::YarnBerry
        );
    }
}
