//! The interface of a test framework, whose runs give evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fillrate_sandbox::{Bind, Overlay, Replaced};
use serde::{Deserialize, Serialize};

use super::report::TestReport;
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// A test framework: its command and the scripts that run with it.
pub(super) trait TestFramework:
    SandboxView + TestIds + WarmStart + Compilation + Send + Sync
{
    /// The scripts that run with the tests, as name and contents.
    fn scripts(&self) -> &'static [(&'static str, &'static str)];

    /// The sentinels by name: tests that must fail, and run after the project's own. With them
    /// failing and all others passing, the framework exits with [`FAILED_STATUS`].
    fn sentinels(&self) -> &'static [&'static str];

    /// Evidence that its runs can't give and that is not required.
    fn unavailable_evidence(&self) -> &'static [Evidence] {
        &[]
    }

    /// The exit status of a run in which only the sentinels fail.
    fn status(&self) -> i32 {
        FAILED_STATUS
    }

    /// The report file, relative to the repository, of a framework without a script that reports
    /// out of band. Such a framework neither selects tests nor records which lines they run.
    fn report_file(&self, _project: &Project) -> Option<PathBuf> {
        None
    }

    /// Reads the report of a run, which is the report file or the scripts' output on their standard
    /// input, signed with `nonce`.
    fn read_report(&self, bytes: &[u8], nonce: &str) -> TestReport {
        TestReport::parse(bytes, nonce)
    }

    /// Reason why a project's packages can't run its tests under observation; `None` if they can,
    /// or if the first run reports the reason.
    fn refusal(&self, _prepared: &Prepared) -> Option<String> {
        None
    }

    /// The program inside the sandbox and its arguments.
    fn command(&self, prepared: &Prepared) -> (String, Vec<String>);

    /// The arguments of the manifest as they follow the program.
    fn arguments(&self, given: &[String]) -> Vec<String> {
        given.to_vec()
    }

    /// The framework's environment variables.
    fn environment(&self, project: &Project) -> Vec<(&'static str, String)>;
}

/// The files and folders that the sandbox shows a framework.
pub(super) trait SandboxView {
    /// Files and folders of the host that the sandbox shows in addition to the project and the
    /// scripts.
    fn binds(&self, prepared: &Prepared) -> Vec<Bind>;

    /// The folders inside the sandbox with the programs of an environment, for shell commands.
    fn program_folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files and folders that such commands need in addition to [`SandboxView::binds`].
    fn program_binds(&self, _prepared: &Prepared) -> Vec<Bind> {
        Vec::new()
    }

    /// Folders among those that the sandbox shows of the host that tools write to.
    fn overlays(&self, _prepared: &Prepared) -> Vec<Overlay> {
        Vec::new()
    }
}

/// The relation between a framework's tests and their files.
pub(super) trait TestIds {
    /// The file of a test, if running any test of a file costs about as much as running them all.
    fn file_of<'a>(&self, _id: &'a str) -> Option<&'a str> {
        None
    }

    /// The ids that a test function may have, given its file's path in the project and its name,
    /// which follows the names of its enclosing items: at most one of them is a test's. Without
    /// names, the prefixes of the ids of the file's tests. `\0` is a placeholder for text that is
    /// known only at run time. Empty if tests of this framework can't have twins.
    fn test_ids(&self, _path: &str, _names: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// The beginning of a test's declaration, if several files share the beginning of their ids, so
    /// that only their text says which has the test.
    fn declaration(&self, _id: &str) -> Option<String> {
        None
    }

    /// The argument that leaves a file of tests out of every run; `None` if there is none.
    fn leave_out(&self, _file: &str) -> Option<String> {
        None
    }

    /// The ending of the files that it compiles together, so that those that match `exclude` have
    /// to be left out; `None` if it compiles none.
    fn compiled_ending(&self) -> Option<&'static str> {
        None
    }
}

/// The start of a framework before the run is known.
pub(super) trait WarmStart {
    /// The program of a warm worker; `None` if the framework can't run that way.
    fn warm_program(&self, _: &Prepared, _: &LoadedCode, _: Readiness) -> Option<WarmProgram> {
        None
    }

    /// Returns true if its command first loads what every run needs and then waits for its
    /// instructions, so that it can be started before the run is known. Until it has them it reads
    /// no file that a run may replace.
    fn waits_for_instructions(&self) -> bool {
        false
    }

    /// A file from which every later run starts faster; `None` if there is none.
    fn start_file(&self, _: &Prepared) -> Option<StartFile> {
        None
    }
}

/// The compiled form of a framework's project.
pub(super) trait Compilation {
    /// A program that compiles versions of a file, see
    /// [`ProjectRunner::compile_versions`](super::ProjectRunner::compile_versions); `None` if the
    /// language has no compiled form to compare.
    fn compiler(&self) -> Option<(String, Vec<String>)> {
        None
    }

    /// A long-lived program that compiles files with other contents and runs none of them; `None`
    /// if there is none. It gets the arguments of the manifest. It writes `ready`, or `unfit` and
    /// the reason; then it reads lines of JSON with `files`, contents by path, and answers each
    /// with `refused`, a list of the sources that certainly do not compile, with `id` and
    /// `message`. If all compile, it may also answer with `compiled`: files of the last of
    /// [`SandboxView::overlays`], with `path` and `content` in base64, with which the command
    /// has nothing left to compile.
    fn compile_checker(&self, _: &Prepared) -> Option<(String, Vec<String>)> {
        None
    }

    /// The overlay with the compiled form of the unchanged project, which a run on a copy does not
    /// see; `None` if there is none or it holds other files too.
    fn compiled_files(&self) -> Option<PathBuf> {
        None
    }

    /// Files over the last of [`SandboxView::overlays`] with which the command finds nothing
    /// compiled that depends on the project's sources. Empty if it finds only what equal sources
    /// would compile to again.
    fn nothing_compiled(&self) -> Vec<Replaced> {
        Vec::new()
    }
}

/// The exit status of a run in which only the sentinels fail: every runner's for failed tests, but
/// mocha's is their number. A program that exits with a status of its own choice has to guess it
/// too.
pub(crate) const FAILED_STATUS: i32 = 1;

/// Code that a warm worker has in memory before a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The libraries that the project's tests load, and the compiled or transformed text of its
    /// own files.
    Loaded,
    /// The imported, unchanged project and all of its collected tests.
    Collected,
}

/// A file from which runs start, which a program writes in the sandbox before any code of the
/// project runs.
pub(super) struct StartFile {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// The path inside at which the program writes it.
    pub(super) written: PathBuf,
    /// The file on the host from which runs have it; empty if the program can't write one.
    pub(super) kept: PathBuf,
}

/// The program of a warm worker.
pub(super) struct WarmProgram {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// The first line on its standard input.
    pub(super) task: String,
    /// If the program is a transformer: its arguments for running tests on what it transformed, in
    /// a sandbox of that run. `None` if forks of the worker run tests.
    pub(super) host: Option<Vec<String>>,
}

/// The code that a project's tests load, so that a warm worker can load it before they run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LoadedCode {
    /// Modules from outside the project; for vitest, its workers' requests to the main process.
    pub(crate) modules: BTreeSet<String>,
    /// The project's files, and whether the framework rewrites their assertions.
    pub(crate) sources: BTreeMap<String, bool>,
    /// The project's files that are read, and not only imported, during collection: what the
    /// project computed from them is unknown.
    pub(crate) read: BTreeSet<String>,
    /// True if a test's id is its parent's id followed by its own name.
    pub(crate) plain_names: bool,
}

/// Evidence that is unavailable from a runner whose tests share a process with the code under test
/// and report their results by printing: no line of it is signed, nothing in the process is
/// compared, and errors outside of tests end it.
pub(super) const UNAVAILABLE_IN_SHARED_PROCESS: &[Evidence] = &[
    Evidence::Signature,
    Evidence::Quiet,
    Evidence::Framework,
    Evidence::Process,
];

/// Folders and files of an environment at a path inside, and its interpreter where that is on the
/// host. What is compiled of the project must not be among them.
pub(super) fn environment_binds(prepared: &Prepared, at: &str, names: &[&str]) -> Vec<Bind> {
    let environment = &prepared.environment;
    // The folders are named one by one: what is compiled of the project is writable and mounted
    // apart.
    names
        .iter()
        .map(|name| Bind::read_only(environment.root.join(name), format!("{at}/{name}")))
        .chain(environment.interpreter_roots.iter().map(Bind::same))
        .collect()
}
