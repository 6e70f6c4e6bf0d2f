//! Go's modules and compiled packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, EnvironmentRules, InstallRequest, InstalledPackages,
    Interpreter, NamedText, PackageManager, ProgramProbe, Toolchain, at_least, beyond_usr,
    read_requested,
};
use super::super::imports::parent;
use super::super::programs::{self, CHECK_NETWORK, answer};
use super::workspaces::{WORKSPACE, is_used, workspace_files};
use crate::task::sha256_hex;

/// The program that runs tests: its source, which every environment has compiled.
pub const DRIVER: [(&str, &str); 4] = [
    (
        "fillrate_go_archives.go",
        include_str!("harness/fillrate_go_archives.go"),
    ),
    ("fillrate_go.go", include_str!("harness/fillrate_go.go")),
    (
        "fillrate_go_direct.go",
        include_str!("harness/fillrate_go_direct.go"),
    ),
    (
        "fillrate_go_check.go",
        include_str!("harness/fillrate_go_check.go"),
    ),
];

/// The oldest Go that works, as (major, minor).
const OLDEST_GO: (u32, u32) = (1, 21);

/// The folder of an environment with the modules of others.
pub const MODULES: &str = "modules";
/// The folder of an environment with the compiled packages, those of the unchanged project among
/// them.
pub const BUILT: &str = "build";
/// The file of an environment that lists what is compiled of the unchanged project.
pub const ARCHIVES: &str = "archives.json";
/// The program of an environment that reads what tests print; only if tests can be compiled without
/// `go`.
pub const CONVERTER: &str = "test2json";
/// The file in the folder of compiled packages with which none of the project's is used.
pub const ANEW: &str = "fillrate-anew";

/// The environment of every command of Go, so that what is compiled outside the sandbox is found
/// within: no output contains paths of this machine, and no compiler of C is needed. Only a module
/// that the workspace at the top uses is compiled with its others.
pub const SETTINGS: [(&str, &str); 4] = [
    ("GOFLAGS", "-trimpath"),
    ("CGO_ENABLED", "0"),
    ("GOTOOLCHAIN", "local"),
    ("GOWORK", "off"),
];

/// The command `go`.
pub(crate) struct GoModules;

impl PackageManager for GoModules {
    fn rules(&self) -> &'static EnvironmentRules {
        &EnvironmentRules {
            kind: EnvironmentKind::Go,
            file_key: "module",
            own_keys: &["go", "module"],
            interpreter_key: "go",
            pin_form: "require NAME VERSION` in go.mod, and here `module = \"go.mod\"",
            binds_interpreter: true,
        }
    }

    /// Always `None`: only the requirements of `go.mod` are installed.
    fn parse_pin(&self, _: &str) -> Option<(String, String)> {
        None
    }

    fn interpreter(
        &self,
        toolchain: &Toolchain,
        wanted: Option<&str>,
    ) -> Result<Interpreter, EnvironmentError> {
        go(toolchain)?.if_wanted("go", wanted)
    }

    fn probes(&self, toolchain: &Toolchain) -> Vec<ProgramProbe> {
        vec![ProgramProbe {
            program: "go",
            version: go(toolchain).map(|found| found.version),
        }]
    }

    /// `go.mod`, `go.sum` if there is one, and those of the other modules of a workspace.
    fn requested_files(
        &self,
        project: &str,
        module: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        let mut files = vec![(
            "go.mod".to_owned(),
            read_requested(project, source, module)?,
        )];
        let sums = source.join(module).with_file_name("go.sum");
        if let Ok(text) = fs::read_to_string(sums) {
            files.push(("go.sum".to_owned(), text));
        }
        let read = |path: &str| fs::read_to_string(source.join(path)).ok();
        files.extend(workspace_files(parent(module), &read));
        Ok(files)
    }

    fn is_intact(&self, root: &Path) -> bool {
        root.join(driver_name()).is_file() && root.join(BUILT).is_dir()
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<InstalledPackages, EnvironmentError> {
        let packages = request.packages;
        let Some(module) = packages
            .file
            .as_deref()
            .filter(|_| packages.install.is_none() && packages.requires.is_empty())
        else {
            return Err(EnvironmentError::Unusable {
                project: request.project.to_owned(),
                message: "Go's modules come from go.mod alone; name it by `module`, and give \
                          neither `install` nor `requires`"
                    .to_owned(),
            });
        };
        if let Some((_, text)) = request.files.first() {
            check_version(text, &request.interpreter.version)?;
        }
        let folders = [MODULES, BUILT].map(|name| root.join(name));
        for folder in &folders {
            fs::create_dir_all(folder).map_err(EnvironmentError::io("creating", folder))?;
        }
        let sources = request.source.join(module_folder(module));
        let mut lines = vec![format!("go {}", request.interpreter.version)];
        for (name, text) in request.files {
            lines.extend(text.lines().map(|line| format!("{name} {line}")));
        }
        let workspace = workspace_file(request.source, module);
        let workspace = workspace.map(|file| ("GOWORK", request.source.join(file)));
        let go = |arguments: &[&str], folder: &Path| {
            let mut go = Command::new(&request.interpreter.path);
            go.args(arguments)
                .current_dir(folder)
                .envs(SETTINGS)
                .envs(workspace.clone())
                .env("GOMODCACHE", root.join(MODULES))
                .env("GOCACHE", root.join(BUILT));
            go
        };
        let run = |mut go: Command| programs::run(&mut go, request.project, CHECK_NETWORK);
        for (name, text) in DRIVER {
            let driver = root.join(name);
            fs::write(&driver, text).map_err(EnvironmentError::io("writing", &driver))?;
        }
        let program = root.join(driver_name());
        let output = program.display().to_string();
        let names = DRIVER.map(|(name, _)| name);
        run(go(&[&["build", "-o", &output][..], &names].concat(), root))?;
        // Vendored modules are part of the source; `-modcacherw` keeps the cache removable.
        let vendoring = match workspace {
            Some(_) => request.source,
            None => sources.as_path(),
        };
        if !vendoring.join("vendor").is_dir() {
            let needed = run(go(
                &["list", "-modcacherw", "-deps", "-test", "./..."],
                &sources,
            ));
            // `mod download` also fetches what only tools need, and of a workspace it asks for
            // modules that are in its folders; but it needs no package that compiles.
            match workspace {
                Some(_) => needed.map(drop)?,
                None if needed.is_err() => {
                    run(go(&["mod", "download", "-modcacherw"], &sources))?;
                }
                None => {}
            }
        }
        // Compiles and links all tests, and runs none: with them the cache is warm. The baseline
        // reports what does not compile, and a run which packages have no plan.
        let mut list = Command::new(&program);
        list.arg(format!("--prepare={}", root.display()))
            .arg(&request.interpreter.path)
            .current_dir(&sources)
            .envs(SETTINGS)
            .envs(workspace.clone())
            .env("GOMODCACHE", root.join(MODULES))
            .env("GOCACHE", root.join(BUILT));
        for line in run(list)?.lines() {
            tracing::warn!("{}: {line}", request.project);
        }
        lines.sort();
        Ok(lines.into())
    }
}

/// The version of Go that a `go.mod` asks for, as (major, minor), and its text.
fn go_version(module: &str) -> Option<((u32, u32), &str)> {
    let lines = module.lines().map(str::trim);
    let text = lines.filter_map(|line| line.strip_prefix("go ")).next()?;
    let text = text.split("//").next().unwrap_or_default().trim();
    // A release candidate is written as `1.26rc1`.
    let mut numbers = text.split(['.', 'r', 'b']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some(((major, minor), text)),
        _ => None,
    }
}

/// The folder of the repository with the module, given its `go.mod`.
pub fn module_folder(module: &str) -> &str {
    module.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// The file at the top of a repository that names the modules of the workspace, if it uses the one
/// with this `go.mod`.
pub fn workspace_file(source: &Path, module: &str) -> Option<&'static str> {
    let read = |path: &str| fs::read_to_string(source.join(path)).ok();
    is_used(parent(module), &read).then_some(WORKSPACE)
}

/// The name of the compiled driver in an environment.
pub fn driver_name() -> String {
    let texts = DRIVER.map(|(_, text)| text).concat();
    format!("driver-{}", &sha256_hex(texts.as_bytes())[..16])
}

/// Go from the search path, with links and wrappers resolved.
fn go(toolchain: &Toolchain) -> Result<Interpreter, EnvironmentError> {
    let missing = |how_to_get| EnvironmentError::missing("go ≥ 1.21", "Go projects", how_to_get);
    // Outside of any module and with `GOTOOLCHAIN=local`, no `go.mod` selects another version.
    let mut ask = Command::new(&toolchain.go);
    ask.args(["env", "GOROOT", "GOVERSION", "GOOS", "GOARCH"])
        .env("GOTOOLCHAIN", "local")
        .current_dir(std::env::temp_dir());
    let said = answer(&mut ask).map_err(|found| {
        missing(format!(
            "it could not be run ({found}), so install it, e.g. your distribution's package \
             `golang-go`, and put it on the PATH"
        ))
    })?;
    let mut lines = said.lines();
    let (Some(root), Some(version)) = (lines.next(), lines.next()) else {
        return Err(missing("it gave no version, so install another".to_owned()));
    };
    // `GOVERSION` begins with `go`, and lists experiments after a blank.
    let version = version.trim_start_matches("go");
    let version = version.split(' ').next().unwrap_or(version);
    if !at_least(version, OLDEST_GO) {
        return Err(missing(format!(
            "the one found is {version}, so install a newer one"
        )));
    }
    let root = PathBuf::from(root);
    Ok(Interpreter {
        kind: EnvironmentKind::Go,
        path: root.join("bin/go"),
        version: version.to_owned(),
        roots: beyond_usr(vec![root]),
        platform: lines.collect::<Vec<_>>().join(" "),
    })
}

/// Refuses a version of Go that is older than the one for which a module asks. Go itself would try
/// to fetch the other one.
fn check_version(module: &str, found: &str) -> Result<(), EnvironmentError> {
    match go_version(module) {
        Some((wanted, text)) if !at_least(found, wanted) => Err(EnvironmentError::missing(
            &format!("go ≥ {text}"),
            "modules whose go.mod asks for it",
            format!(
                "the one found is {found}, so install a newer one and put it first on the PATH"
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_read_from_modules() {
        for (module, version) in [
            (
                "module a\n\ngo 1.26.0 // newest\n",
                Some(((1, 26), "1.26.0")),
            ),
            (
                "module a\ngo 1.26rc1\ntoolchain go1.27.1\n",
                Some(((1, 26), "1.26rc1")),
            ),
            ("module go\n", None),
        ] {
            assert_eq!(go_version(module), version, "{module}");
        }
    }

    #[test]
    fn a_module_that_asks_for_a_newer_go_is_refused() {
        let check = |found| check_version("module a\n\ngo 1.26.0\n", found);
        assert!(check("1.26.0").is_ok() && check("1.27.1").is_ok());
        assert_eq!(
            check("1.25.4").unwrap_err().to_string(),
            "go ≥ 1.26.0 is needed for modules whose go.mod asks for it; the one found is 1.25.4, \
             so install a newer one and put it first on the PATH"
        );
    }
}
