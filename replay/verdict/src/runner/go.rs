//! The runner for Go's own tests.

use fillrate_language::go::environment::{
    ANEW, ARCHIVES, BUILT, CONVERTER, DRIVER, MODULES, SETTINGS, driver_name, module_folder,
    workspace_file,
};
use fillrate_sandbox::{Bind, Overlay, Replaced};

use super::framework::{
    Compilation, SandboxView, TestFramework, TestIds, UNAVAILABLE_IN_SHARED_PROCESS, WarmStart,
    environment_binds,
};
use super::layout::REPOSITORY;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// `go test`, started by a program that reads its output and reports out of band.
pub(super) struct GoTest;

/// The environment.
const ENVIRONMENT: &str = "/box/go";

impl TestFramework for GoTest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &DRIVER
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["error", "fatal", "subtest"]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        UNAVAILABLE_IN_SHARED_PROCESS
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        // A module may be in a subfolder, and `go` must run in the folder of its `go.mod`.
        let module = prepared.project.environment.file.as_deref();
        let folder = module_folder(module.unwrap_or("go.mod"));
        let go = prepared.environment.interpreter.display().to_string();
        let program = format!("{ENVIRONMENT}/{}", driver_name());
        let mut arguments = vec![go, format!("-C={REPOSITORY}/{folder}")];
        if let Some(file) = module.and_then(|module| workspace_file(&prepared.source, module)) {
            arguments.push(format!("--work={REPOSITORY}/{file}"));
        }
        (program, arguments)
    }

    fn environment(&self, _: &Project) -> Vec<(&'static str, String)> {
        let own = [
            ("GOCACHE", format!("{ENVIRONMENT}/{BUILT}")),
            ("GOMODCACHE", format!("{ENVIRONMENT}/{MODULES}")),
            // A user's settings and the network would make a run depend on the machine.
            ("GOENV", "off".to_owned()),
            ("GOPROXY", "off".to_owned()),
            ("GOPATH", "/tmp/go".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ];
        let settings = SETTINGS.map(|(name, value)| (name, value.to_owned()));
        settings.into_iter().chain(own).collect()
    }
}

impl SandboxView for GoTest {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let driver = driver_name();
        let mut names = vec![MODULES, ARCHIVES, &driver];
        if prepared.environment.root.join(CONVERTER).is_file() {
            names.push(CONVERTER);
        }
        environment_binds(prepared, ENVIRONMENT, &names)
    }

    /// The folder for what a run compiles, which is discarded after the run.
    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        let built = prepared.environment.root.join(BUILT);
        vec![Overlay::new(built, format!("{ENVIRONMENT}/{BUILT}"))]
    }
}

impl TestIds for GoTest {
    /// A package is a folder.
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        if !path.ends_with("_test.go") {
            return Vec::new();
        }
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        vec![format!("{folder}::{}", names.join("/"))]
    }

    fn declaration(&self, id: &str) -> Option<String> {
        let (_, name) = id.split_once("::")?;
        let function = name.split('/').next()?;
        Some(format!("func {function}("))
    }

    fn leave_out(&self, folder: &str) -> Option<String> {
        Some(format!("--leave-out={folder}"))
    }
}

impl WarmStart for GoTest {}

impl Compilation for GoTest {
    fn compile_checker(&self, prepared: &Prepared) -> Option<(String, Vec<String>)> {
        let (program, mut arguments) = self.command(prepared);
        // The driver reads its own option before the program and the arguments of `go`.
        arguments.insert(0, format!("--check={REPOSITORY}"));
        Some((program, arguments))
    }

    fn nothing_compiled(&self) -> Vec<Replaced> {
        vec![Replaced {
            path: ANEW.into(),
            content: Vec::new(),
        }]
    }
}
