//! The pytest runner.

use fillrate_sandbox::Bind;

use super::framework::{
    Compilation, LoadedCode, Readiness, SandboxView, TestFramework, TestIds, WarmProgram, WarmStart,
};
use super::harness::harness_scripts;
use super::layout::{HARNESS, REPOSITORY};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;

/// pytest with a plugin that reports out of band.
pub(super) struct Pytest;

const ENVIRONMENT: &str = "/box/venv";
const PYTHON: &str = "/box/venv/bin/python";
/// pytest's own traceback reads the source of every frame, which takes longer than most tests;
/// Python's has the same message.
const OPTIONS: [&str; 7] = [
    "-p",
    "fillrate_pytest",
    "-q",
    "--tb=native",
    "-p",
    "no:cacheprovider",
    // Else a configuration file further down makes its folder the root, and ids of tests are not
    // paths of the project.
    "--rootdir=.",
];

/// A plugin, `fillrate_task`, for a project's tests outside of the sandbox: files as name and
/// contents. It gives the project's options that the sandbox can't honour no effect there either.
pub const PYTEST_PLUGIN: &[(&str, &str)] =
    harness_scripts!["fillrate_options.py", "fillrate_task.py"];

impl TestFramework for Pytest {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        harness_scripts![
            "fillrate_harness.py",
            "fillrate_options.py",
            "fillrate_pytest.py",
            "fillrate_compile.py",
            "fillrate_warm.py",
            "fillrate_swap.py",
            "fillrate_report.py",
            "fillrate_versions.py",
        ]
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &[
            "test_assertion",
            "test_exception",
            "test_expected_exception",
            "test_method",
            "test_truth",
        ]
    }

    fn command(&self, _prepared: &Prepared) -> (String, Vec<String>) {
        let options = OPTIONS.iter().map(ToString::to_string);
        let script = format!("{HARNESS}/fillrate_pytest.py");
        (
            PYTHON.to_owned(),
            std::iter::once(script).chain(options).collect(),
        )
    }

    fn environment(&self, project: &Project) -> Vec<(&'static str, String)> {
        let path: Vec<String> = std::iter::once(HARNESS.to_owned())
            .chain(
                project
                    .test
                    .iter()
                    .flat_map(|test| &test.path)
                    .map(|folder| format!("{REPOSITORY}/{folder}")),
            )
            .collect();
        vec![
            ("PYTHONPATH", path.join(":")),
            // Tests start the environment's scripts, and `python`, by name.
            (
                "PATH",
                format!("{ENVIRONMENT}/bin:/usr/local/bin:/usr/bin:/bin"),
            ),
            ("PYTHONHASHSEED", "0".to_owned()),
            // The project's source has no bytecode, and none is written: no stale file can run in
            // place of the change. The environment's own bytecode is read-only.
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            // OpenBLAS, in NumPy and SciPy, starts a thread for every further processor when it is
            // loaded, and a process with threads can't be forked. Nor should the last digit of a
            // sum depend on a machine's number of processors. See
            // <https://github.com/OpenMathLib/OpenBLAS/blob/develop/USAGE.md>.
            ("OPENBLAS_NUM_THREADS", "1".to_owned()),
        ]
    }
}

impl SandboxView for Pytest {
    fn program_folders(&self) -> &'static [&'static str] {
        &["/box/venv/bin"]
    }

    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let environment = &prepared.environment;
        std::iter::once(Bind::read_only(&environment.root, ENVIRONMENT))
            .chain(environment.interpreter_roots.iter().map(Bind::same))
            .collect()
    }
}

impl TestIds for Pytest {
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        vec![[&[path.to_owned()], names].concat().join("::")]
    }

    fn leave_out(&self, name: &str) -> Option<String> {
        // A plugin of pytest and no test: no path in a project has two slashes side by side.
        if let Some(plugin) = name.strip_prefix("plugin://") {
            return Some(format!("-pno:{plugin}"));
        }
        let option = if name.contains("::") {
            "deselect"
        } else {
            "ignore"
        };
        Some(format!("--{option}={name}"))
    }
}

impl WarmStart for Pytest {
    fn warm_program(
        &self,
        prepared: &Prepared,
        loaded: &LoadedCode,
        readiness: Readiness,
    ) -> Option<WarmProgram> {
        let own = prepared.project.arguments();
        let options = OPTIONS.iter().map(ToString::to_string);
        let task = serde_json::json!({
            "modules": loaded.modules,
            "sources": loaded.sources,
            "plain_names": loaded.plain_names,
            "read": loaded.read,
            // The warm worker parses the same options as the command, so both collect the same
            // tests.
            "arguments": options.chain(own.iter().cloned()).collect::<Vec<_>>(),
            "directory": REPOSITORY,
            "collected": readiness == Readiness::Collected,
        });
        Some(WarmProgram {
            program: PYTHON.to_owned(),
            arguments: vec![format!("{HARNESS}/fillrate_warm.py")],
            task: task.to_string() + "\n",
            host: None,
        })
    }
}

impl Compilation for Pytest {
    fn compiler(&self) -> Option<(String, Vec<String>)> {
        let script = format!("{HARNESS}/fillrate_compile.py");
        Some((PYTHON.to_owned(), vec![script]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_left_out_and_their_ids_differ_from_file_names() {
        for (name, argument) in [
            ("plugin://old", "-pno:old"),
            ("plugin old.py", "--ignore=plugin old.py"),
            ("tests/test_a.py", "--ignore=tests/test_a.py"),
            (
                "tests/test_a.py::test_b",
                "--deselect=tests/test_a.py::test_b",
            ),
        ] {
            assert_eq!(Pytest.leave_out(name).as_deref(), Some(argument));
        }
    }
}
