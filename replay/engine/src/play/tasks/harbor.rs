//! Tasks as [Harbor](https://www.harborframework.com/docs/tasks) and other harnesses read them: for
//! each hole a folder with the instruction, an image of the project without the hole's text, a
//! script that runs the tests and writes the reward, and one that inserts the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use fillrate_language::environment::EnvironmentKind;
use fillrate_language::package_manager;
use fillrate_language::runner::{RunnerName, TestSettings};
use fillrate_language::task::Hole;
use fillrate_syntax::text::LineIndex;
use fillrate_verdict::PYTEST_PLUGIN;
use fillrate_verdict::corpus::{Prepared, shell_word};

use crate::play::PlayError;

/// A project whose holes are written as tasks.
pub(super) struct HarborProject<'a> {
    prepared: &'a Prepared,
    test: &'a TestSettings,
    /// The image's build file.
    image: String,
    /// Files beside it, for the installation of packages.
    packages: Vec<(String, String)>,
}

/// Number of lines of the file that the instruction shows before and after the hole.
const SHOWN_LINES: usize = 8;

/// Stands for the missing text in the instruction.
const MARK: &str = "<<<HOLE>>>";

impl<'a> HarborProject<'a> {
    /// Returns the project.
    ///
    /// # Errors
    /// [`TaskFault::LeftOut`] if its holes can't be tasks.
    pub(super) fn new(prepared: &'a Prepared) -> Result<Self, TaskFault> {
        let Prepared {
            project,
            environment,
            ..
        } = prepared;
        let Some(test) = &project.test else {
            return Err(TaskFault::left_out(prepared, "it has no tests"));
        };
        if test.folder.is_some() || test.config.is_some() {
            return Err(TaskFault::left_out(
                prepared,
                "tasks can't be written for a project with `folder` or `config`",
            ));
        }
        if environment.generated.is_some() {
            return Err(TaskFault::left_out(
                prepared,
                "tasks can't be written for a project whose tests need files that its build makes",
            ));
        }
        // Images are published for the first two numbers of a version, and for the first.
        let versions: Vec<&str> = environment.version.splitn(3, '.').take(2).collect();
        let mut packages = Vec::new();
        let (base, install, prepare) = match environment.kind {
            EnvironmentKind::Python => {
                let pins = &environment.installed;
                if let Some(pin) = pins.iter().find(|pin| pin.contains('@')) {
                    let reason = format!("`{pin}` is in no package index");
                    return Err(TaskFault::left_out(prepared, &reason));
                }
                packages.push(("requirements.txt".to_owned(), pins.join("\n") + "\n"));
                let install = "COPY packages /packages\n\
                     RUN pip install --no-cache-dir --no-deps -r /packages/requirements.txt\n";
                let base = format!("python:{}-slim", versions.join("."));
                (base, install.to_owned(), "")
            }
            EnvironmentKind::Node => {
                let install = match &project.environment.file {
                    Some(file) => {
                        packages = requested_packages(prepared, file)?;
                        "COPY packages /packages\nRUN cd /packages && npm ci".to_owned()
                    }
                    None => {
                        let pins = project.environment.packages.iter();
                        let pins: Vec<String> = pins.map(|pin| shell_word(pin)).collect();
                        let pins = pins.join(" ");
                        format!("RUN mkdir /packages && cd /packages && npm install {pins}")
                    }
                };
                let install = install + " --ignore-scripts --no-audit --no-fund\n";
                let base = format!("node:{}-slim", versions[0]);
                let prepare = "RUN ln -sfn /packages/node_modules node_modules\n";
                (base, install, prepare)
            }
            EnvironmentKind::Go => {
                let module = project.environment.file.as_deref();
                if module.is_some_and(|module| module.contains('/')) {
                    let reason = "tasks can't be written for a module in a subfolder";
                    return Err(TaskFault::left_out(prepared, reason));
                }
                let base = format!("golang:{}", versions.join("."));
                // Else every container would compile the standard library anew.
                let install = "RUN go build std\n".to_owned();
                (base, install, "RUN go mod download\n")
            }
            EnvironmentKind::Java | EnvironmentKind::Dotnet => {
                let reason = format!("tasks can't be written for {} projects", project.language);
                return Err(TaskFault::left_out(prepared, &reason));
            }
        };
        Ok(Self {
            prepared,
            test,
            image: format!("FROM {base}\n{install}WORKDIR /app\nCOPY project /app\n{prepare}"),
            packages,
        })
    }

    /// Writes the task of a hole that these tests decide over.
    ///
    /// # Errors
    /// [`TaskFault::LeftOut`] if it can't be one. A file can't be written, or is not the one that
    /// the hole was cut into.
    pub(super) fn write(
        &self,
        hole: &Hole,
        contents: &str,
        tests: &DecidingTests,
        out: &Path,
    ) -> Result<(), TaskFault> {
        let (prefix, suffix) = hole.cut(contents)?;
        let command = test_command(self.test, &self.prepared.source, tests)
            .map_err(|reason| TaskFault::left_out(self.prepared, &reason))?;
        let variables = variables(&self.prepared.project.environment.env);
        let folder = out.join(slug(&hole.id));
        let without = [prefix, suffix].concat();
        let environment = folder.join("environment");
        write_file(&environment.join("Dockerfile"), &self.image)?;
        for (name, text) in &self.packages {
            write_file(&environment.join("packages").join(name), text)?;
        }
        // The tests have a copy of their own, so that only the hole's file can differ.
        let [shown, tested] = ["environment/project", "tests/project"].map(|it| folder.join(it));
        self.prepared.materialise(&shown)?;
        self.prepared.copy_source(&tested)?;
        for project in [shown, tested] {
            write_file(&project.join(&hole.path), &without)?;
        }
        write_file(&folder.join("task.toml"), &self.settings(hole)?)?;
        write_file(
            &folder.join("instruction.md"),
            &instruction(hole, prefix, suffix),
        )?;
        if self.test.runner == RunnerName::Pytest {
            for (name, text) in PYTEST_PLUGIN {
                write_file(&folder.join("tests").join(PLUGIN).join(name), text)?;
            }
        }
        write_script(
            &folder.join("tests/test.sh"),
            &test_script(
                hole,
                prefix.len(),
                suffix.len(),
                &format!("{variables}\nif {command}; then"),
            ),
        )?;
        write_file(&folder.join("solution/reference"), &hole.reference)?;
        write_script(
            &folder.join("solution/solve.sh"),
            &solve_script(hole, prefix.len(), suffix.len()),
        )?;
        Ok(())
    }

    /// The contents of `task.toml`.
    fn settings(&self, hole: &Hole) -> Result<String, PlayError> {
        let text = |value: &str| toml::Value::from(value);
        let table = |entries: Vec<(&str, toml::Value)>| {
            let entries = entries.into_iter();
            let named = entries.map(|(name, value)| (name.to_owned(), value));
            toml::Value::Table(named.collect())
        };
        let mut metadata = vec![
            ("category", text("code-completion")),
            ("hole", text(&hole.id)),
            ("project", text(&hole.project)),
            ("language", text(&hole.language)),
            ("path", text(&hole.path)),
            ("kind", text(hole.kind.name())),
            ("source_sha256", text(&self.prepared.digest)),
        ];
        metadata.extend(hole.changed.as_deref().map(|day| ("changed", text(day))));
        let name = format!("fillrate/{}", slug(&hole.id));
        let settings = table(vec![
            ("schema_version", text("1.1")),
            ("task", table(vec![("name", text(&name))])),
            ("metadata", table(metadata)),
            ("verifier", table(vec![("timeout_sec", 600.0.into())])),
            ("agent", table(vec![("timeout_sec", 600.0.into())])),
            (
                "environment",
                table(vec![("build_timeout_sec", 600.0.into())]),
            ),
        ]);
        toml::to_string(&settings).map_err(|error| PlayError::Refused(error.to_string()))
    }
}

/// The tests of a project in view of a hole.
pub(super) struct DecidingTests {
    /// The ids of the tests that decide over it.
    pub(super) ids: Vec<String>,
    /// The ids of the project's tests that fail or are flaky, or of their files.
    pub(super) unstable: Vec<String>,
}

/// The command that exits with status 0 if the tests pass, in a copy of the project at `source`.
///
/// # Errors
/// Returns the reason if there is none.
fn test_command(
    test: &TestSettings,
    source: &Path,
    tests: &DecidingTests,
) -> Result<String, String> {
    if tests.ids.is_empty() {
        // Without names, the command would run all tests, and they pass without the hole's text.
        return Err("no test decides over the hole".to_owned());
    }
    let known_file = |id: &str, separator: &str| -> Result<String, String> {
        let file = id.split(separator).next().unwrap_or_default();
        match source.join(file).is_file() {
            true => Ok(file.to_owned()),
            // Ids may begin at another folder than the project's.
            false => Err("the file of a test is unknown".to_owned()),
        }
    };
    let options = options(&test.args, source);
    let whole_files = |program: &str| -> Result<String, String> {
        let files = tests.ids.iter().map(|id| known_file(id, " > "));
        let files: BTreeSet<String> = files.collect::<Result<_, _>>()?;
        let mut unstable = tests.unstable.iter();
        if unstable.any(|id| id.split(" > ").next().is_some_and(|it| files.contains(it))) {
            return Err(UNSTABLE.to_owned());
        }
        let files = words(files.into_iter().map(|file| format!("./{file}")).collect());
        Ok(format!("{program}{options} {files}"))
    };
    match test.runner {
        RunnerName::Pytest => {
            for id in &tests.ids {
                known_file(id, "::")?;
            }
            let path = test.path.iter().map(|path| shell_word(path));
            let path: String = path.map(|path| format!("\"$PWD\"/{path}:")).collect();
            // Own options come first, as one with an optional value would take a test as such.
            Ok(format!(
                "PYTHONPATH={path}\"$here\"/{PLUGIN} python -m pytest{options} -q \
                 -p fillrate_task -p no:cacheprovider --rootdir=. {}",
                words(tests.ids.iter().cloned().collect())
            ))
        }
        RunnerName::Vitest => whole_files("node_modules/.bin/vitest run"),
        RunnerName::Jest => whole_files("node_modules/.bin/jest --runTestsByPath"),
        RunnerName::Mocha => whole_files("node_modules/.bin/mocha"),
        RunnerName::Node => whole_files("node --test"),
        RunnerName::Go => go_command(tests, &options),
        RunnerName::Unittest | RunnerName::Jupiter | RunnerName::Junit => Err(format!(
            "tasks can't be written for the runner `{}`",
            test.runner
        )),
    }
}

/// The command that sets the variables with which verdicts run the tests; those of the manifest win.
fn variables(own: &BTreeMap<String, String>) -> String {
    let fixed = [
        ("CI", "true"),
        ("LANG", "C.UTF-8"),
        ("PYTHONHASHSEED", "0"),
        ("TZ", "UTC"),
    ];
    let mut all = BTreeMap::from(fixed);
    all.extend(own.iter().map(|(name, value)| (&**name, &**value)));
    let words = all
        .iter()
        .map(|(name, value)| format!("{name}={}", shell_word(value)));
    format!("export {}", words.collect::<Vec<_>>().join(" "))
}

/// Folder with pytest's plugin, next to the test script.
const PLUGIN: &str = "plugin";

/// Reason for which a hole is left out whose tests can't run without unstable ones.
const UNSTABLE: &str = "tests that decide over the hole run with others that fail or are flaky";

/// Options of runners whose value is the next argument and may be a file, a folder or a pattern.
const PATH_OPTIONS: [&str; 30] = [
    "-c",
    "-C",
    "-k",
    "-m",
    "-o",
    "-p",
    "-r",
    "-run",
    "-tags",
    "--basetemp",
    "--confcutdir",
    "--config",
    "--config-file",
    "--cov",
    "--cov-config",
    "--deselect",
    "--dir",
    "--env-file",
    "--file",
    "--ignore",
    "--ignore-glob",
    "--import",
    "--loader",
    "--override-ini",
    "--project",
    "--require",
    "--root",
    "--rootDir",
    "--rootdir",
    "--roots",
];

/// The options among a runner's arguments, each after a space. The arguments that select tests are
/// left out.
fn options(arguments: &[String], source: &Path) -> String {
    let names_tests = |word: &str| {
        let file = word.split("::").next().unwrap_or_default();
        word.contains('*') || word.contains("...") || source.join(file).exists()
    };
    let mut text = String::new();
    let mut before = "";
    for word in arguments {
        // A word after an option may be its value or a selection.
        let may_be_value = before.starts_with('-') && !before.contains('=');
        let is_value = may_be_value && (PATH_OPTIONS.contains(&before) || !names_tests(word));
        if word.starts_with('-') || is_value {
            text.push(' ');
            text.push_str(&shell_word(word));
        }
        before = word;
    }
    text
}

/// Reason for which a hole is not written as a task.
pub(super) enum TaskFault {
    /// It can't be one; a sentence that names the project.
    LeftOut(String),
    /// Writing fails.
    Failed(PlayError),
}

impl<E: Into<PlayError>> From<E> for TaskFault {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl TaskFault {
    fn left_out(prepared: &Prepared, reason: &str) -> Self {
        Self::LeftOut(format!("{}: {reason}", prepared.project.name))
    }
}

/// The files of npm that a project's packages are installed by.
fn requested_packages(prepared: &Prepared, file: &str) -> Result<Vec<(String, String)>, TaskFault> {
    let manager = package_manager(prepared.environment.kind);
    let files = manager
        .requested_files(&prepared.project.name, file, &prepared.source)
        .map_err(|error| PlayError::Refused(error.to_string()))?;
    match files.iter().any(|(name, _)| name == "package-lock.json") {
        true => Ok(files),
        false => Err(TaskFault::left_out(
            prepared,
            &format!("`{file}` is not npm's lock"),
        )),
    }
}

/// The command that runs these tests of Go, package by package.
///
/// # Errors
/// Returns the reason if unstable ones would run with them.
fn go_command(tests: &DecidingTests, options: &str) -> Result<String, String> {
    // Subtests run with their function.
    let function = |id: &str| -> (String, String) {
        let (package, test) = id.split_once("::").unwrap_or((".", id));
        let function = test.split('/').next().unwrap_or(test);
        (package.to_owned(), function.to_owned())
    };
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, function) in tests.ids.iter().map(|id| function(id)) {
        packages.entry(package).or_default().insert(function);
    }
    let mut unstable = tests.unstable.iter().map(|id| function(id));
    if unstable.any(|(package, function)| {
        let chosen = packages.get(&package);
        chosen.is_some_and(|functions| functions.contains(&function))
    }) {
        return Err(UNSTABLE.to_owned());
    }
    let commands = packages.into_iter().map(|(package, functions)| {
        let functions: Vec<String> = functions.into_iter().collect();
        let chosen = shell_word(&format!("^({})$", functions.join("|")));
        let package = shell_word(&format!("./{package}"));
        // The project's own choice of tests must not replace this one, so the latter is last.
        format!("go test -vet=off -count=1{options} -run {chosen} {package}")
    });
    Ok(commands.collect::<Vec<_>>().join(" && "))
}

/// Words of a shell, each once.
fn words(words: BTreeSet<String>) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

/// The text that the agent gets.
fn instruction(hole: &Hole, prefix: &str, suffix: &str) -> String {
    let index = LineIndex::new(prefix);
    let line = index.number(prefix.len());
    let column = prefix.len() - prefix.rfind('\n').map_or(0, |end| end + 1) + 1;
    let before: Vec<&str> = prefix.split_inclusive('\n').collect();
    let before = before[before.len().saturating_sub(SHOWN_LINES)..].concat();
    let after: String = suffix.split_inclusive('\n').take(SHOWN_LINES).collect();
    let fence = "````";
    let mut text = String::new();
    let _ = writeln!(
        text,
        "Text is missing in the file `/app/{}`, at line {line}, byte column {column}. Insert it \
         there, so that the project's tests pass. Change nothing else: any other change counts as \
         a failure.\n\n`{MARK}` marks the place in this excerpt; the file has no mark.\n\n\
         {fence}{}\n{before}{MARK}{}\n{fence}",
        hole.path,
        hole.language,
        after.trim_end_matches('\n'),
    );
    text
}

/// The script that writes the reward, 1 or 0, by the beginning of a conditional command. `APP` and
/// `REWARD` replace Harbor's own paths.
fn test_script(hole: &Hole, prefix: usize, suffix: usize, condition: &str) -> String {
    let path = shell_word(&hole.path);
    format!(
        r#"#!/bin/bash
# Writes 1 as the reward if only the hole's text was inserted and the tests pass, else 0.
# The tests run in a copy of the project of their own.
here=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
app=${{APP:-/app}}
reward=${{REWARD:-/logs/verifier/reward.txt}}
file=$app/{path}
own=$here/project/{path}
mkdir -p "$(dirname "$reward")"
echo 0 >"$reward"
if [ "$(wc -c <"$file")" -lt {whole} ] ||
    ! cmp -s <(head -c {prefix} "$file") <(head -c {prefix} "$own") ||
    ! cmp -s <(tail -c {suffix} "$file") <(tail -c {suffix} "$own"); then
    echo {path} "differs outside of the hole"
    exit 0
fi
cp "$file" "$own"
cd "$here/project" || exit 1
if [ -e "$app/node_modules" ]; then
    ln -sfn "$(readlink -f "$app/node_modules")" node_modules
fi
{condition}
    echo 1 >"$reward"
fi
"#,
        whole = prefix + suffix,
    )
}

/// The script that inserts the reference.
fn solve_script(hole: &Hole, prefix: usize, suffix: usize) -> String {
    let path = shell_word(&hole.path);
    format!(
        r#"#!/bin/bash
# Inserts the original text.
set -e
here=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
file=${{APP:-/app}}/{path}
filled=$(mktemp)
{{ head -c {prefix} "$file"; cat "$here/reference"; tail -c {suffix} "$file"; }} >"$filled"
cat "$filled" >"$file"
rm "$filled"
"#
    )
}

/// The name of a hole's folder: lower-case letters, digits and single hyphens.
fn slug(id: &str) -> String {
    let words = id.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

fn write_file(path: &Path, text: &str) -> Result<(), PlayError> {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(PlayError::file(&folder))?;
    fs::write(path, text).map_err(PlayError::file(path))
}

fn write_script(path: &Path, text: &str) -> Result<(), PlayError> {
    use std::os::unix::fs::PermissionsExt;

    write_file(path, text)?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, mode).map_err(PlayError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command of a project with these files for tests, of which some are unstable.
    fn command(test: &TestSettings, ids: &[&str], unstable: &[&str]) -> Result<String, String> {
        let source = tempfile::tempdir().expect("a temporary folder");
        for file in ["tests/a.py", "tests/b.py", "a.test.ts", "b.test.ts"] {
            write_file(&source.path().join(file), "").expect("the file is written");
        }
        let owned = |ids: &[&str]| ids.iter().map(ToString::to_string).collect();
        let tests = DecidingTests {
            ids: owned(ids),
            unstable: owned(unstable),
        };
        test_command(test, source.path(), &tests)
    }

    fn settings(runner: RunnerName, args: &[&str]) -> TestSettings {
        TestSettings {
            args: args.iter().map(ToString::to_string).collect(),
            ..TestSettings::new(runner)
        }
    }

    #[test]
    fn holes_that_no_test_decides_over_have_no_command() {
        for runner in [RunnerName::Pytest, RunnerName::Node, RunnerName::Go] {
            let found = command(&settings(runner, &[]), &[], &[]);
            assert_eq!(found, Err("no test decides over the hole".to_owned()));
        }
    }

    #[test]
    fn variables_of_the_manifest_replace_those_of_verdicts() {
        let own = [("GREETING", "hello you"), ("TZ", "CET")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            variables(&BTreeMap::from(own)),
            "export CI=true GREETING='hello you' LANG=C.UTF-8 PYTHONHASHSEED=0 TZ=CET"
        );
    }

    #[test]
    fn commands_have_the_options_of_the_manifest_without_its_selection() {
        let args = [
            "tests",
            "--import-mode=importlib",
            "-c",
            "tests/a.py",
            "--cov",
        ];
        let pytest = TestSettings {
            path: vec!["src dir".to_owned(), "lib".to_owned()],
            ..settings(RunnerName::Pytest, &args)
        };
        assert_eq!(
            command(
                &pytest,
                &["tests/a.py::test_a[x y]"],
                &["tests/a.py::test_b"]
            )
            .as_deref(),
            Ok(
                "PYTHONPATH=\"$PWD\"/'src dir':\"$PWD\"/lib:\"$here\"/plugin python -m \
                pytest --import-mode=importlib -c tests/a.py --cov -q -p fillrate_task -p \
                no:cacheprovider --rootdir=. 'tests/a.py::test_a[x y]'"
            )
        );
        let node = settings(
            RunnerName::Node,
            &["--import=tsx", "--no-warnings", "*.test.ts"],
        );
        assert_eq!(
            command(&node, &["a.test.ts > adds"], &["b.test.ts > fails"]).as_deref(),
            Ok("node --test --import=tsx --no-warnings ./a.test.ts")
        );
        let go = settings(RunnerName::Go, &["-tags=slow", "-race", "./..."]);
        assert_eq!(
            command(&go, &["kit::TestA/one", "kit::TestB"], &["kit::TestC"]).as_deref(),
            Ok("go test -vet=off -count=1 -tags=slow -race -run '^(TestA|TestB)$' ./kit")
        );
    }

    #[test]
    fn unstable_tests_that_run_with_the_deciding_ones_leave_the_hole_out() {
        let unstable = Err(UNSTABLE.to_owned());
        for runner in [
            RunnerName::Vitest,
            RunnerName::Jest,
            RunnerName::Mocha,
            RunnerName::Node,
        ] {
            let of = |failing| command(&settings(runner, &[]), &["a.test.ts > adds"], &[failing]);
            assert_eq!(of("a.test.ts > fails"), unstable);
            assert!(of("b.test.ts > fails").is_ok());
        }
        let of = |failing| {
            command(
                &settings(RunnerName::Go, &[]),
                &["kit::TestA/one"],
                &[failing],
            )
        };
        assert_eq!(of("kit::TestA/two"), unstable);
        assert!(of("other::TestA/two").is_ok());
    }

    #[test]
    fn folders_of_holes_have_names_that_harbor_takes() {
        assert_eq!(
            slug("demo-python/src/A_b.py:12:line:1f0c77aa"),
            "demo-python-src-a-b-py-12-line-1f0c77aa"
        );
    }
}
