//! Virtual environments, made with `venv` and filled by pip, or by uv where it is installed.

pub(super) mod groups;
mod interpreters;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::groups::{distribution, normalise};
use super::super::environment::{
    EnvironmentError, EnvironmentKind, EnvironmentRules, InstallRequest, InstalledPackages,
    Interpreter, NamedText, PackageManager, Packages, ProgramProbe, Toolchain, at_least,
    beyond_usr, read_requested, stays_inside,
};
use super::super::programs::{self, CHECK_NETWORK, answer};
use super::detection::provider;
use super::workspaces::{named_by_folder, path_requirements, siblings};

/// The oldest Python that works, as (major, minor).
const OLDEST_PYTHON: (u32, u32) = (3, 9);

/// pip.
pub struct Pip;

impl PackageManager for Pip {
    fn rules(&self) -> &'static EnvironmentRules {
        &EnvironmentRules {
            kind: EnvironmentKind::Python,
            file_key: "requirements",
            own_keys: &["requirements", "extras", "groups", "python"],
            interpreter_key: "python",
            pin_form: "NAME==VERSION",
            binds_interpreter: true,
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
        let python = match wanted {
            Some(wanted) => interpreters::find(toolchain, wanted)?,
            None => python(toolchain)?,
        };
        venv_works(&python)?;
        Ok(python)
    }

    fn probes(&self, toolchain: &Toolchain) -> Vec<ProgramProbe> {
        vec![
            ProgramProbe {
                program: "python3",
                version: python(toolchain).map(|found| found.version),
            },
            ProgramProbe {
                program: "python3 -m venv",
                version: python(toolchain).and_then(|python| venv_works(&python)),
            },
        ]
    }

    /// A requirements file and those it includes.
    fn requested_files(
        &self,
        project: &str,
        file: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        let mut files: Vec<NamedText> = Vec::new();
        let mut pending = vec![file.to_owned()];
        while let Some(name) = pending.pop() {
            if files.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let text = read_requested(project, source, &name)?;
            for line in text.lines().map(str::trim) {
                pending.extend(included(project, &name, line)?);
            }
            files.push((name, text));
        }
        Ok(files)
    }

    /// Metadata, and the sources of compiled modules.
    fn is_build_input(&self, path: &str) -> bool {
        const METADATA: [&str; 8] = [
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "MANIFEST.in",
            "PKG-INFO",
            "Cargo.toml",
            "meson.build",
            "CMakeLists.txt",
        ];
        const NATIVE: [&str; 10] = [
            "c", "cc", "cpp", "cxx", "h", "hpp", "pyx", "pxd", "rs", "f90",
        ];
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        METADATA.contains(&name) || ending.is_some_and(|ending| NATIVE.contains(&ending))
    }

    /// The other distributions of the repository; the project's own modules are taken out again.
    fn installed_folders(&self, source: &Path, packages: &Packages) -> Vec<String> {
        let Some(folder) = &packages.install else {
            return Vec::new();
        };
        let mut folders = siblings(source, folder, &packages.requires);
        folders.extend(named_by_folder(source, folder));
        folders
    }

    fn provider(&self, requirements: &[String], module: &str) -> Option<String> {
        provider(requirements, module).cloned()
    }

    fn is_intact(&self, root: &Path) -> bool {
        // The link dangles if the base interpreter was removed.
        root.join("bin/python").exists()
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<InstalledPackages, EnvironmentError> {
        make_venv(&request.interpreter.path, root, request.project)?;
        let python = root.join("bin/python");
        let own = match &request.packages.install {
            Some(folder) => Some(build_wheel(request, &python, root, folder)?),
            None => None,
        };
        let mut requirements = requirements(request, own.as_deref())?;
        if let Some(folder) = &request.packages.install {
            let mut built = BTreeSet::new();
            for sibling in siblings(request.build, folder, &requirements) {
                let wheel = build_wheel(request, &python, root, &sibling)?;
                let named = distribution_name(&wheel);
                // With both, pip would look for another version of the sibling in the registry.
                requirements.retain(|one| distribution(one) != normalise(named));
                built.insert(normalise(named));
                requirements.push(wheel.display().to_string());
            }
            // The address in the project's own wheel is the same, so that they do not conflict.
            for named in path_requirements(request.build, folder) {
                let name = distribution(&named);
                if !built.contains(&name) {
                    requirements.retain(|one| name.is_empty() || distribution(one) != name);
                    requirements.push(named);
                }
            }
        }
        let file = request.packages.file.as_deref();
        for (file, requirements) in steps(file, request.files, &requirements) {
            // Wheels first: they install without running anything.
            let only_wheels = ["--only-binary", ":all:"];
            let named = (file, requirements);
            if install_packages(request, &python, root, &only_wheels, named).is_err() {
                install_packages(request, &python, root, &[], named)?;
            }
        }
        if let Some(wheel) = &own {
            strip_project(request, &python, root, wheel)?;
        }
        let mut freeze = Command::new(&python);
        freeze.args([
            "-m",
            "pip",
            "freeze",
            "--all",
            "--disable-pip-version-check",
        ]);
        let frozen = programs::run(&mut freeze, request.project, CHECK_NETWORK)?;
        // Pip is part of the interpreter, not of the packages that are pinned for the tests.
        let mut lock: Vec<_> = frozen
            .lines()
            .filter(|line| !line.starts_with("pip==") && !line.is_empty())
            // The project itself: the folder of its build is irrelevant to what was installed.
            .map(|line| line.split(" @ file:").next().unwrap_or(line).to_owned())
            .collect();
        lock.sort();
        Ok(lock.into())
    }

    fn program(&self, root: &Path, _interpreter: &Path) -> PathBuf {
        root.join("bin/python")
    }
}

/// The files that a line of a requirements file includes.
fn included(project: &str, name: &str, line: &str) -> Result<Option<String>, EnvironmentError> {
    let unusable = |message: String| EnvironmentError::Unusable {
        project: project.to_owned(),
        message,
    };
    if line.starts_with(['.', '/']) || line.starts_with("-e") || line.starts_with("--edit") {
        return Err(unusable(format!(
            "`{name}` installs the repository itself (`{line}`); list `packages` instead and put \
             the repository on `path`"
        )));
    }
    let included = ["-r", "--requirement", "-c", "--constraint"]
        .iter()
        .find_map(|option| {
            line.strip_prefix(option)
                .filter(|rest| rest.starts_with([' ', '=']))
        });
    let Some(included) = included else {
        return Ok(None);
    };
    let included = included.trim_start_matches([' ', '=']);
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let inside = stays_inside(&folder.join(included));
    match inside.as_deref().and_then(Path::to_str) {
        Some(path) => Ok(Some(path.to_owned())),
        None => Err(unusable(format!(
            "`{name}` includes `{included}`, which is outside of the source"
        ))),
    }
}

/// Returns what pip installs: exact pins, requirements, dependency groups and the project's own
/// wheel with its extras.
fn requirements(
    request: &InstallRequest<'_>,
    wheel: Option<&Path>,
) -> Result<Vec<String>, EnvironmentError> {
    let packages = request.packages;
    let mut requirements = packages.packages.clone();
    requirements.extend(packages.requires.iter().cloned());
    if !packages.groups.is_empty() {
        let folder = packages.install.as_deref().unwrap_or(".");
        let path = request.source.join(folder).join("pyproject.toml");
        let text = fs::read_to_string(&path).map_err(EnvironmentError::io("reading", &path))?;
        let listed = groups::requirements(&text, &packages.groups).map_err(|message| {
            EnvironmentError::Unusable {
                project: request.project.to_owned(),
                message,
            }
        })?;
        requirements.extend(listed);
    }
    Ok(match wheel {
        Some(wheel) => with_own_wheel(&requirements, wheel, &packages.extras),
        None => requirements,
    })
}

/// The requirements, and the project's wheel in place of those that name the project itself, for
/// its extras: in addition to the wheel, pip would look for another version of it.
///
/// Tests' packages may need the project, too. Installers take no other version of what is named as
/// a file; an additional constraint makes pip fail if one of them needs extras.
fn with_own_wheel(requirements: &[String], wheel: &Path, extras: &[String]) -> Vec<String> {
    let own = normalise(distribution_name(wheel));
    let (of_own, others): (Vec<&String>, Vec<&String>) = requirements
        .iter()
        .partition(|one| distribution(one) == own);
    let mut extras: BTreeSet<&str> = extras.iter().map(String::as_str).collect();
    extras.extend(of_own.into_iter().flat_map(|one| extras_of(one)));
    let mut wheel = wheel.display().to_string();
    if !extras.is_empty() {
        wheel += &format!("[{}]", Vec::from_iter(extras).join(","));
    }
    let mut all: Vec<String> = others.into_iter().cloned().collect();
    all.push(wheel);
    all
}

/// The extras that a requirement asks for.
fn extras_of(requirement: &str) -> impl Iterator<Item = &str> {
    let list = requirement
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let list = list.map_or("", |(list, _)| list);
    list.split(',')
        .map(str::trim)
        .filter(|extra| !extra.is_empty())
}

/// A requirements file, and requirements.
type Named<'a> = (Option<&'a str>, &'a [String]);

/// Returns what the installer is called with, one call each: with hashes in a file, pip refuses
/// every requirement that has none.
fn steps<'a>(
    file: Option<&'a str>,
    files: &[NamedText],
    requirements: &'a [String],
) -> Vec<Named<'a>> {
    let mut texts = files.iter().map(|(_, text)| text);
    let mut steps = match texts.any(|text| text.contains("--hash=")) {
        true => vec![(file, &[][..]), (None, requirements)],
        false => vec![(file, requirements)],
    };
    steps.retain(|(file, requirements)| file.is_some() || !requirements.is_empty());
    steps
}

fn install_packages(
    request: &InstallRequest<'_>,
    python: &Path,
    root: &Path,
    how: &[&str],
    (file, requirements): Named<'_>,
) -> Result<(), EnvironmentError> {
    let mut installer = match uv(request.toolchain) {
        Some(uv) => {
            let mut uv = Command::new(uv);
            uv.args(["pip", "install", "--quiet", "--python"])
                .arg(python);
            uv
        }
        None => {
            let mut pip = Command::new(python);
            pip.args(["-m", "pip", "install", "--no-input", "--quiet"])
                .args(["--disable-pip-version-check", "--no-warn-script-location"]);
            pip
        }
    };
    installer.args(how);
    if let Some(file) = file {
        installer
            .arg("--requirement")
            .arg(request.source.join(file));
    }
    installer.args(requirements).current_dir(root);
    programs::run(&mut installer, request.project, CHECK_NETWORK)?;
    Ok(())
}

/// uv, if it is installed.
fn uv(toolchain: &Toolchain) -> Option<&Path> {
    let mut ask = Command::new(&toolchain.uv);
    ask.arg("--version");
    answer(&mut ask).is_ok().then_some(toolchain.uv.as_path())
}

/// Builds the project by its own build backend (PEP 517) into a folder next to the environment.
fn build_wheel(
    request: &InstallRequest<'_>,
    python: &Path,
    root: &Path,
    folder: &str,
) -> Result<PathBuf, EnvironmentError> {
    // Each project has its own folder of wheels, so that `built` finds only its wheel.
    let mut wheels = root.with_file_name("wheels");
    wheels.extend(
        Path::new(folder)
            .components()
            .filter(|part| part.as_os_str() != "."),
    );
    fs::create_dir_all(&wheels).map_err(EnvironmentError::io("creating", &wheels))?;
    let source = request.build.join(folder);
    let mut build = Command::new(python);
    build
        .args(["-m", "pip", "wheel", "--no-input", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--wheel-dir"])
        .arg(&wheels)
        .arg(&source)
        .current_dir(root);
    // The source has no history that a version could be read from.
    let version = known_version(&source).unwrap_or_else(|| "0.0.0".to_owned());
    for variable in [
        "SETUPTOOLS_SCM_PRETEND_VERSION",
        "PBR_VERSION",
        "PDM_BUILD_SCM_VERSION",
        "POETRY_DYNAMIC_VERSIONING_BYPASS",
        "UV_DYNAMIC_VERSIONING_BYPASS",
        "VERSIONINGIT_OVERRIDE_VERSION",
    ] {
        if std::env::var_os(variable).is_none() {
            build.env(variable, &version);
        }
    }
    programs::run(
        &mut build,
        request.project,
        "check that the project can be built (`pip wheel .`), or list `packages` instead of \
         `install`",
    )?;
    let entries = fs::read_dir(&wheels).map_err(EnvironmentError::io("reading", &wheels))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut built = paths.filter(|path| path.extension().is_some_and(|end| end == "whl"));
    built.next().ok_or_else(|| EnvironmentError::Unusable {
        project: request.project.to_owned(),
        message: "its build made no wheel; list `packages` instead of `install`".to_owned(),
    })
}

/// The name of the distribution in a wheel.
fn distribution_name(wheel: &Path) -> &str {
    let file = wheel.file_name().and_then(|name| name.to_str());
    let name = file.and_then(|name| name.split('-').next());
    name.unwrap_or_default()
}

/// The version in the PKG-INFO of a source distribution.
fn known_version(source: &Path) -> Option<String> {
    let text = fs::read_to_string(source.join("PKG-INFO")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Version:"))?;
    Some(line.trim().to_owned())
}

/// Removes the project's own modules from the environment, so that tests can only import the
/// source's. Files that its build generated are moved to the folder that the request names.
fn strip_project(
    request: &InstallRequest<'_>,
    python: &Path,
    root: &Path,
    wheel: &Path,
) -> Result<(), EnvironmentError> {
    let folder = request.packages.install.as_deref().unwrap_or(".");
    let mut strip = Command::new(python);
    strip
        .args(["-I", "-c", include_str!("strip_project.py")])
        .arg(distribution_name(wheel))
        .arg(request.source)
        .arg(request.generated)
        .args(request.module_path)
        .arg(folder)
        .arg(Path::new(folder).join("src"))
        .current_dir(root);
    programs::run(
        &mut strip,
        request.project,
        "check that the project installs as a wheel, or list `packages` instead of `install`",
    )?;
    Ok(())
}

/// Returns a Python whose `pip` can be used: the toolchain's own, or, if that has none, as in
/// Debian without `python3-pip`, a virtual environment in `stage`.
pub fn python_with_pip(
    toolchain: &Toolchain,
    project: &str,
    stage: &Path,
) -> Result<PathBuf, EnvironmentError> {
    let base = python(toolchain)?.path;
    let mut pip = Command::new(&base);
    pip.args(["-m", "pip", "--version"]);
    if programs::capture(&mut pip).is_ok_and(|output| output.status.success()) {
        return Ok(base);
    }
    let venv = stage.join("venv");
    make_venv(&base, &venv, project)?;
    Ok(venv.join("bin/python"))
}

fn make_venv(python: &Path, root: &Path, project: &str) -> Result<(), EnvironmentError> {
    let mut venv = Command::new(python);
    venv.args(["-m", "venv"]).arg(root);
    programs::run(
        &mut venv,
        project,
        "check that the Python installation is whole",
    )?;
    Ok(())
}

/// Python from the search path, with shims and active virtual environments resolved.
fn python(toolchain: &Toolchain) -> Result<Interpreter, EnvironmentError> {
    interpreter_at(&toolchain.python)
}

/// Returns the interpreter that a program is or starts.
fn interpreter_at(program: &Path) -> Result<Interpreter, EnvironmentError> {
    const ASK: &str = "import os, platform, sys, sysconfig
base = getattr(sys, '_base_executable', None) or sys.executable
print(os.path.realpath(base))
print('.'.join(str(part) for part in sys.version_info[:3]))
print(sys.implementation.cache_tag, sysconfig.get_platform(), *platform.libc_ver())
for root in {sys.base_prefix, sys.base_exec_prefix}: print(os.path.realpath(root))";
    let missing =
        // `-I` keeps the working directory off `sys.path`: no file in it may replace `platform`.
        |how_to_get| EnvironmentError::missing("python3 ≥ 3.9", "Python projects", how_to_get);
    let mut ask = Command::new(program);
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
    // The real executable may be outside of its prefixes.
    let path = PathBuf::from(path);
    let mut roots: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    if !roots.iter().any(|root| path.starts_with(root)) {
        roots.push(path.clone());
    }
    Ok(Interpreter {
        kind: EnvironmentKind::Python,
        path,
        version,
        roots: beyond_usr(roots),
        platform,
    })
}

fn venv_works(python: &Interpreter) -> Result<String, EnvironmentError> {
    let mut ask = Command::new(&python.path);
    ask.args([
        "-I",
        "-c",
        "import venv, ensurepip; print(ensurepip.version())",
    ]);
    match answer(&mut ask) {
        Ok(version) => Ok(format!("{} with pip {}", python.version, version.trim())),
        Err(found) => Err(EnvironmentError::missing(
            "python3 -m venv",
            "Python projects",
            format!(
                "it does not work ({found}), so install that part of Python, on Debian `python3-venv`"
            ),
        )),
    }
}

/// `NAME==VERSION`, with extras allowed after the name.
fn parse_pin(pin: &str) -> Option<(String, String)> {
    let (name, version) = pin.split_once("==")?;
    let bare = match name.split_once('[') {
        Some((bare, extras)) => {
            let extras = extras.strip_suffix(']')?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-,".contains(c);
            extras.chars().all(plain).then_some(bare)?
        }
        None => name,
    };
    let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let valid = bare.starts_with(|c: char| c.is_ascii_alphanumeric())
        && bare.chars().all(named)
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".!+-_".contains(c));
    valid.then(|| (name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_hashes_are_installed_without_other_requirements() {
        let more = ["pytest".to_owned()];
        for (text, expected) in [
            (
                "a==1 --hash=sha256:00\n",
                vec![(Some("r.txt"), &[][..]), (None, &more[..])],
            ),
            ("a==1\n", vec![(Some("r.txt"), &more[..])]),
        ] {
            let files = [("r.txt".to_owned(), text.to_owned())];
            assert_eq!(steps(Some("r.txt"), &files, &more), expected, "{text}");
        }
        assert_eq!(steps(None, &[], &[]), []);
    }

    #[test]
    fn the_project_is_installed_once_with_all_its_extras() {
        let named = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let requirements = named(&[
            "pytest>=7",
            "My.Shop[socks, fast]>=1",
            "my-shop",
            "my-shop2",
        ]);
        let wheel = Path::new("/w/my_shop-1.0-py3-none-any.whl");
        assert_eq!(
            with_own_wheel(&requirements, wheel, &named(&["all"])),
            [
                "pytest>=7",
                "my-shop2",
                "/w/my_shop-1.0-py3-none-any.whl[all,fast,socks]"
            ]
        );
        assert_eq!(
            with_own_wheel(&[], wheel, &[]),
            ["/w/my_shop-1.0-py3-none-any.whl"]
        );
    }
}
