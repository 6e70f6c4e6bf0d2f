//! The vitest runner, and the common parts of the JavaScript runners.

use std::path::{Path, PathBuf};

use fillrate_language::typescript::environment::SCRATCH_FOLDERS;
use fillrate_language::typescript::environment::modules::{
    MODULES, installed_version, module_folders, package_folder,
};
use fillrate_sandbox::{Bind, Overlay};

use super::framework::{
    Compilation, LoadedCode, Readiness, SandboxView, TestFramework, TestIds, WarmProgram, WarmStart,
};
use super::harness::harness_scripts;
use super::layout::{HARNESS, PACKAGES, REPOSITORY, TRANSFORMED};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// vitest, opened by a script that adds a reporter and set-up files to the project's settings.
pub(super) struct Vitest;

const CONFIGURATION: &str = "/box/configuration";
/// The folder of the interpreter, for commands of the shell.
const PROGRAMS: &str = "/box/bin";

/// The place in the sandbox of a folder of packages, given its path in the environment.
fn place_of(folder: &Path) -> PathBuf {
    match folder.as_os_str() == MODULES {
        true => PathBuf::from(PACKAGES),
        false => Path::new(REPOSITORY).join(folder),
    }
}

fn node(prepared: &Prepared) -> String {
    prepared.environment.interpreter.display().to_string()
}

/// The folder of a runner's package: on this machine, and where the tests run. A workspace's package
/// may have one of its own.
pub(super) fn runner_package(prepared: &Prepared, name: &str) -> (PathBuf, String) {
    let root = &prepared.environment.root;
    let test = prepared.project.test.as_ref();
    let own = test.and_then(|test| {
        let folder = test.folder.as_deref()?;
        let package = package_folder(root, folder, name)?;
        Some((package, format!("{REPOSITORY}/{folder}/{MODULES}/{name}")))
    });
    // Packages of the top folder are mounted outside the repository, where Node finds them too.
    own.unwrap_or_else(|| (root.join(MODULES).join(name), format!("{PACKAGES}/{name}")))
}

/// Reason why a runner's package can't be observed: it is missing or older than this major version.
pub(super) fn refusal(prepared: &Prepared, name: &str, first: u32) -> Option<String> {
    let (package, _) = runner_package(prepared, name);
    let Some(version) = installed_version(&package) else {
        return Some(format!(
            "its runner {name} is not among its packages; add it to its package.json or to \
             `packages`"
        ));
    };
    let major: Option<u32> = version.split('.').next().and_then(|it| it.parse().ok());
    // A version that is no number may be a local build; the first run shows if it works.
    major.is_some_and(|major| major < first).then(|| {
        format!(
            "they need {name} {version}, and the first version that can be observed is {first}; ask \
             for a newer one in its package.json"
        )
    })
}

/// A framework that runs with the files that vitest's runs see, gives its tests ids of the same form
/// and waits for its instructions.
pub(super) trait NodeFramework {
    /// The argument that leaves a file of tests out of every run; `None` if there is none.
    fn leave_out(&self, _file: &str) -> Option<String> {
        None
    }
}

impl<T: NodeFramework> SandboxView for T {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        Vitest.binds(prepared)
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        Vitest.overlays(prepared)
    }
}

impl<T: NodeFramework> TestIds for T {
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        Vitest.test_ids(path, names)
    }

    fn leave_out(&self, file: &str) -> Option<String> {
        NodeFramework::leave_out(self, file)
    }
}

impl<T: NodeFramework> WarmStart for T {
    fn waits_for_instructions(&self) -> bool {
        true
    }
}

impl<T: NodeFramework> Compilation for T {}

impl TestFramework for Vitest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts![
            "fillrate_coverage.mjs",
            "fillrate_select.mjs",
            "fillrate_sentinel.mjs",
            "fillrate_source_map.cjs",
            "fillrate_vitest.mjs",
            "fillrate_vitest_host.mjs",
            "fillrate_vitest_open.mjs",
            "fillrate_vitest_pool.mjs",
            "fillrate_vitest_run.mjs",
            "fillrate_vitest_tinypool.mjs",
            "fillrate_vitest_transform.mjs",
            "fillrate_vitest_versions.mjs",
            "fillrate_vitest_versions_worker.mjs",
            "fillrate_vitest_worker.mjs",
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["expectations", "test"]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        // Tests run in contexts and processes of their own, whose functions are not compared.
        &[Evidence::Framework, Evidence::Process]
    }

    fn refusal(&self, prepared: &Prepared) -> Option<String> {
        refusal(prepared, "vitest", 1)
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let script = format!("{HARNESS}/fillrate_vitest_run.mjs");
        (node(prepared), vec![script])
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let configuration = project
            .test
            .as_ref()
            .and_then(|test| test.config.as_deref()?.file_name())
            .map(|name| format!("{CONFIGURATION}/{}", name.to_string_lossy()));
        configuration
            .map(|path| ("FILLRATE_VITEST_CONFIG", path))
            .into_iter()
            .chain([("NO_COLOR", "1".to_owned())])
            // Names of files are relative to it.
            .chain([("FILLRATE_ROOT", REPOSITORY.to_owned())])
            .collect()
    }
}

impl SandboxView for Vitest {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let environment = &prepared.environment;
        let test = prepared.project.test.as_ref();
        let configuration = test.and_then(|test| {
            let path = test.config.as_deref()?;
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(Bind::read_only(path, format!("{CONFIGURATION}/{name}")))
        });
        module_folders(&environment.root)
            .into_iter()
            .map(|folder| {
                let at = place_of(&folder);
                Bind::read_only(environment.root.join(folder), at)
            })
            .chain(environment.interpreter_roots.iter().map(Bind::same))
            .chain(configuration)
            .collect()
    }

    fn program_folders(&self) -> &'static [&'static str] {
        &[
            "/box/repo/node_modules/.bin",
            "/box/node_modules/.bin",
            PROGRAMS,
        ]
    }

    fn program_binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let node = &prepared.environment.interpreter;
        vec![Bind::read_only(node, format!("{PROGRAMS}/node"))]
    }

    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        let root = &prepared.environment.root;
        // A tool writes to the packages of the workspace's package whose settings it reads.
        let places = module_folders(root).into_iter().map(|folder| {
            let at = place_of(&folder);
            (root.join(folder), at)
        });
        let scratch = places.flat_map(|(modules, at)| {
            SCRATCH_FOLDERS.map(|name| (modules.join(name), at.join(name)))
        });
        // An overlay needs a folder below it; a tool can't write to one that is missing.
        scratch
            .filter(|(folder, _)| folder.is_dir())
            .map(|(folder, at)| Overlay::new(folder, at))
            .collect()
    }
}

impl TestIds for Vitest {
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        vec![[&[path.to_owned()], names].concat().join(" > ")]
    }

    fn leave_out(&self, file: &str) -> Option<String> {
        // vitest reads the exclusion as a glob, in which these characters have a meaning.
        let escape = |c: char| match c {
            c if "\\()[]{}!*?+@|".contains(c) => format!("\\{c}"),
            c => c.to_string(),
        };
        let pattern: String = file.chars().map(escape).collect();
        Some(format!("--exclude={pattern}"))
    }

    fn file_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        id.split(" > ").next()
    }
}

impl WarmStart for Vitest {
    fn warm_program(
        &self,
        prepared: &Prepared,
        loaded: &LoadedCode,
        readiness: Readiness,
    ) -> Option<WarmProgram> {
        // Packages within the repository are mounted for a single run only.
        let test = prepared.project.test.as_ref();
        let is_workspace = module_folders(&prepared.environment.root).len() > 1
            || test.is_some_and(|test| test.folder.is_some());
        if readiness == Readiness::Collected || is_workspace {
            return None;
        }
        let own = prepared.project.test.iter().flat_map(|test| &test.args);
        let script = format!("{HARNESS}/fillrate_vitest_transform.mjs");
        let task = serde_json::json!({
            "transform": true,
            "requests": loaded.modules,
            "directory": REPOSITORY,
        });
        Some(WarmProgram {
            program: node(prepared),
            arguments: std::iter::once(script).chain(own.cloned()).collect(),
            task: task.to_string() + "\n",
            host: Some(vec![
                format!("{HARNESS}/fillrate_vitest_host.mjs"),
                TRANSFORMED.to_owned(),
            ]),
        })
    }
}

impl Compilation for Vitest {}
