//! Runner that a package.json uses for its tests, and its arguments.

use std::collections::{BTreeMap, BTreeSet};

use ignore::gitignore::GitignoreBuilder;

use super::super::super::detection::RepositoryFiles;
use super::super::super::imports::{joined_path, parent};
use super::super::super::runner::{RunnerName, TestSettings};
use super::Package;
use super::command::{ScriptCommand, commands, program_name, steps};
use super::layout::is_script;
use crate::typescript::imports::find_script;
use crate::typescript::test_conventions::CONVENTIONS;
use crate::typescript::workspaces::built_entry;

/// The tests of a repository.
#[derive(Debug)]
pub(super) struct ScriptTests {
    pub(super) settings: TestSettings,
    /// The variables that the tests' script sets.
    pub(super) environment: BTreeMap<String, String>,
    /// Builds that the script runs before the tests.
    pub(super) before: Vec<String>,
    /// The options that were left out.
    left_out: Vec<String>,
    /// Script or dependency in which the runner was found.
    origin: String,
}

/// Scripts that may run the tests, the preferred first.
const SCRIPTS: [&str; 14] = [
    "test",
    "test:unit",
    "unit",
    "test:node",
    "test:jest",
    "test:vitest",
    "test:mocha",
    "tests-only",
    "test:run",
    "test:ci",
    "test:src",
    "jest",
    "vitest",
    "mocha",
];

/// Options whose value node loads before the tests.
const LOADERS: [&str; 5] = [
    "--import",
    "--require",
    "-r",
    "--loader",
    "--experimental-loader",
];

/// Runners that no runner of ours can replace.
const OTHER_RUNNERS: [&str; 17] = [
    "ava",
    "borp",
    "bun",
    "cypress",
    "deno",
    "jasmine",
    "karma",
    "lab",
    "lerna",
    "nx",
    "playwright",
    "tap",
    "tape",
    "taptest",
    "turbo",
    "uvu",
    "wtr",
];

/// Options that a runner can't have here: the harness sets them, or they have no use. An option
/// whose value follows it ends in a space.
fn impossible_options(runner: RunnerName) -> &'static [&'static str] {
    match runner {
        RunnerName::Jest => &[
            "--bail",
            "-b",
            "--cache",
            "--no-cache",
            "--ci",
            "--clearCache",
            "--collectCoverage",
            "--collectCoverageFrom ",
            "--colors",
            "--color",
            "--coverage",
            "--coverageDirectory ",
            "--coverageProvider ",
            "--coverageReporters ",
            "--coverageThreshold ",
            "--detectOpenHandles",
            "--json",
            "--logHeapUsage",
            "--maxWorkers ",
            "-w ",
            "--notify",
            "--onlyChanged",
            "-o",
            "--outputFile ",
            "--reporters ",
            "--silent",
            "--updateSnapshot",
            "-u",
            "--verbose",
            "--watch",
            "--watchAll",
            "--errorOnDeprecated",
        ],
        RunnerName::Vitest => &[
            "--bail ",
            "--changed",
            "--coverage",
            "--outputFile ",
            "--passWithNoTests",
            "--reporter ",
            "--run",
            "--silent",
            "--typecheck",
            "--ui",
            "--update",
            "-u",
            "--watch",
            "-w",
            "--no-watch",
            "--open",
            "--no-color",
            "--color",
            "--hideSkippedTests",
        ],
        RunnerName::Mocha => &[
            "--bail",
            "-b",
            "--color",
            "--colors",
            "-c",
            "--forbid-only",
            "--jobs ",
            "-j ",
            "--parallel",
            "-p",
            "--reporter ",
            "-R ",
            "--reporter-option ",
            "--reporter-options ",
            "-O ",
            "--watch",
            "-w",
            "--growl",
        ],
        _ => &[
            "--test",
            "--test-reporter ",
            "--test-reporter-destination ",
            "--test-concurrency ",
            "--test-timeout ",
            "--test-force-exit",
            "--experimental-test-coverage",
            "--test-coverage-include ",
            "--test-coverage-exclude ",
            "--test-coverage-lines ",
            "--test-coverage-branches ",
            "--test-coverage-functions ",
            "--watch",
            "--enable-source-maps",
            "--experimental-test-module-mocks ",
        ],
    }
}

impl ScriptTests {
    /// # Errors
    /// The reason why the tests can't be run, as a clause.
    pub(super) fn find(files: &RepositoryFiles, package: &Package) -> Result<Self, String> {
        let mut other = None;
        let mut started = None;
        let further = package.scripts().filter(|name| name.starts_with("test"));
        for script in SCRIPTS.into_iter().chain(further) {
            let all = commands(package, script);
            // A script may start with a run of a few files only.
            let found = all
                .iter()
                .filter_map(|command| Self::from_command(files, command))
                .min_by_key(|found| {
                    found
                        .settings
                        .args
                        .iter()
                        .filter(|it| !it.starts_with('-'))
                        .count()
                });
            if let Some(mut found) = found {
                found.before = builds(files, package, script);
                let is_built = !found.before.is_empty() || package.script("build").is_some();
                if is_built && let Some(built) = found.built_argument(files) {
                    return Err(format!(
                        "package.json runs `{built}`, which a build writes, and completions are \
                         not built"
                    ));
                }
                return Ok(found);
            }
            // The first foreign runner is kept for the message if no script has a known one.
            other = other.or_else(|| all.iter().find_map(named_runner));
            started = started.or_else(|| {
                all.first()
                    .map(|it| (it.script.clone(), it.program.clone()))
            });
        }
        // A package without a usable script may still depend on a runner.
        if let Some(found) = Self::from_dependencies(files, package) {
            return Ok(found);
        }
        let other = other.or_else(|| {
            let known = OTHER_RUNNERS.iter().find(|name| package.needs(name));
            known.map(|name| (*name).to_owned())
        });
        let known = "no runner that Fillrate knows (vitest, jest, mocha, node)";
        Err(match (other, started) {
            (Some(other), _) => format!(
                "package.json runs them by {other}, which no runner of Fillrate's can stand in for"
            ),
            (None, Some((script, program))) if program == "node" => {
                format!("script {script} of package.json starts `node` without its test framework")
            }
            (None, Some((script, program))) => {
                format!("script {script} of package.json starts `{program}`, which is {known}")
            }
            (None, None) => format!("package.json names {known}"),
        })
    }

    /// These tests, of the package in a folder.
    pub(super) fn within(mut self, folder: &str) -> Self {
        for command in &mut self.before {
            *command = format!("cd {folder} && {command}");
        }
        self.settings.folder = Some(folder.to_owned());
        self
    }

    /// True if the tests see other packages of a workspace as a build writes them: no setting leads
    /// to their sources.
    pub(super) fn imports_builds(&self, files: &RepositoryFiles) -> bool {
        const SETTINGS: [&str; 4] = ["vite.config.", "vitest.", "jest.config.", "package.json"];
        const MARKS: [&str; 5] = [
            "alias",
            "conditions",
            "moduleNameMapper",
            "tsconfigPaths",
            "tsconfig-paths",
        ];
        let folders = [Some(""), self.settings.folder.as_deref()];
        let maps = |folder: &str| {
            let names = files.names_in(folder);
            let settings = names.filter(|name| SETTINGS.iter().any(|it| name.starts_with(it)));
            let paths = settings.map(|name| match folder {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            });
            let mut texts = paths.filter_map(|path| files.read(&path));
            texts.any(|text| MARKS.iter().any(|mark| text.contains(mark)))
        };
        // Settings that map modules let the tests import sources in place of builds.
        !folders.into_iter().flatten().any(maps)
    }

    /// Returns the reason why completions can't be judged by these tests, if all that they import of
    /// the package is what a build writes.
    pub(super) fn imports_own_build(
        &self,
        files: &RepositoryFiles,
        package: &Package,
    ) -> Option<String> {
        const BUILT: [&str; 3] = ["build/", "dist/", "out/"];
        let entry = built_entry(&package.0, &|path| files.has(path));
        if !self.imports_builds(files) {
            return None;
        }
        let mut built = entry.clone();
        let name = package.text("name").unwrap_or_default();
        let mut tests: Vec<&str> = files.paths().filter(|path| is_test(path)).collect();
        // Other programs may run other tests.
        let mut named = GitignoreBuilder::new("");
        for pattern in self.settings.args.iter().filter(|it| !it.starts_with('-')) {
            // A value of an option is no pattern of a file, and matches none.
            let _ = named.add_line(None, &format!("/{}", pattern.trim_start_matches("./")));
        }
        let named = named.build().ok();
        let is_named = |path: &&str| {
            let named = named.as_ref();
            named.is_some_and(|it| it.matched_path_or_any_parents(path, false).is_ignore())
        };
        if tests.iter().any(is_named) {
            tests.retain(is_named);
        }
        let mut imports_build = false;
        let all: BTreeSet<&str> = files.paths().collect();
        for path in &tests {
            let text = files.read(path).unwrap_or_default();
            for imported in imported(&text) {
                let is_relative = imported.starts_with('.');
                if !is_relative && imported != name {
                    continue;
                }
                let other = joined_path(parent(path), imported).unwrap_or_default();
                // The package's folder stands for its entry, as its name does.
                if !is_relative || other.is_empty() {
                    entry.as_ref()?;
                    imports_build = true;
                    continue;
                }
                let found = find_script(imported, path, &all).or_else(|| script_at(files, &other));
                match found {
                    Some(found) if is_test(&found) => {}
                    // An entry that is no build itself may still have all of its code from one.
                    Some(found) if passes_build_on(files, &found, &all) => imports_build = true,
                    // A test that imports any source of its own sees a change without a build.
                    Some(_) => return None,
                    // What is no script is data; what the repository lacks, a build writes.
                    None if files.has(&other) => {}
                    None => {
                        imports_build = true;
                        let is_built = BUILT.iter().any(|folder| other.starts_with(folder));
                        built = built.or(is_built.then_some(other));
                    }
                }
            }
        }
        // Without one of the two, something else may be missing.
        let built = built.filter(|_| imports_build)?;
        Some(format!(
            "its tests import `{built}`, which a build writes, and completions are not built"
        ))
    }

    /// True if node itself removes the types of what the tests load: they import TypeScript by its
    /// name, and no option brings a loader.
    pub(super) fn need_types_stripped(&self, files: &RepositoryFiles) -> bool {
        const TYPED: [&str; 3] = [".ts", ".mts", ".cts"];
        let is_typed = |path: &str| TYPED.iter().any(|end| path.ends_with(end));
        let options = self.environment.get("NODE_OPTIONS");
        let options = options.into_iter().flat_map(|all| all.split_whitespace());
        let mut all = self.settings.args.iter().map(String::as_str).chain(options);
        let loads = |word: &str| LOADERS.contains(&word.split('=').next().unwrap_or(word));
        if self.settings.runner != RunnerName::Node || all.any(loads) {
            return false;
        }
        let mut tests = files.paths().filter(|path| is_test(path));
        tests.any(|path| {
            let text = files.read(path).unwrap_or_default();
            // Without a loader, node reads a file only under its whole name.
            imported(&text).any(|name| name.starts_with('.') && is_typed(name))
        })
    }

    /// The first file or pattern among the arguments that the repository has no files for, so that
    /// a build writes them.
    fn built_argument(&self, files: &RepositoryFiles) -> Option<&str> {
        let arguments = &self.settings.args;
        let is_path = |index: usize| {
            let word = arguments[index].as_str();
            let after = index
                .checked_sub(1)
                .map(|before| arguments[before].as_str());
            // The value of an option may be a package, or a file that the tests write.
            let may_be_value = after.is_some_and(|it| it.starts_with('-') && !it.contains('='));
            let is_plain = is_script(word) || word.contains('*');
            let is_loaded = after.is_some_and(|it| LOADERS.contains(&it));
            !word.starts_with('-')
                && word.contains('/')
                && !is_loaded
                && (is_plain || !may_be_value)
        };
        let mut paths = (0..arguments.len()).filter(|index| is_path(*index));
        let built = paths.find(|index| {
            let mut parts = arguments[*index].split(['*', '?', '[', '{', '(']);
            let fixed = parent(parts.next().unwrap_or_default());
            // What leads out of the package is not its own.
            let Some(folder) = joined_path("", fixed) else {
                return false;
            };
            // For these runners, an argument is a part of paths.
            let is_part = matches!(self.settings.runner, RunnerName::Jest | RunnerName::Vitest);
            let part = format!("{folder}/");
            let is_within = || is_part && files.paths().any(|it| it.contains(&part));
            !files.has_folder(&folder) && !is_within()
        });
        built.map(|index| arguments[index].as_str())
    }

    /// Finds the runner in a command of a script, if it starts one.
    fn from_command(files: &RepositoryFiles, command: &ScriptCommand) -> Option<Self> {
        let RunnerCall {
            runner,
            arguments,
            node_options,
        } = runner_of(files, command)?;
        let mut settings = TestSettings::new(runner);
        let mut left_out = Vec::new();
        let impossible = impossible_options(runner);
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            let (name, has_value) = match word.split_once('=') {
                Some((name, _)) if word.starts_with('-') => (name, true),
                _ => (word.as_str(), false),
            };
            // Options may be written with dots: `--coverage.enabled`.
            let top = if name.starts_with("--") {
                name.split('.').next().unwrap_or(name)
            } else {
                name
            };
            let known = impossible.iter().find(|option| option.trim_end() == top);
            match known {
                Some(option) => {
                    // That is what the runner is for.
                    if name != "--test" {
                        left_out.push(name.to_owned());
                    }
                    // A left-out option takes its value with it, which would otherwise be a file to
                    // run.
                    if option.ends_with(' ') && !has_value {
                        words.next();
                    }
                }
                None => settings.args.push(word),
            }
        }
        let mut environment = command.environment.clone();
        if !node_options.is_empty() {
            let options = environment.entry("NODE_OPTIONS".to_owned()).or_default();
            *options = [options.as_str(), &node_options.join(" ")]
                .join(" ")
                .trim()
                .to_owned();
        }
        Some(Self {
            settings,
            environment,
            before: Vec::new(),
            left_out,
            origin: format!("script {} of package.json", command.script),
        })
    }

    /// Finds the runner from the packages and settings of a repository whose scripts name no
    /// runner.
    fn from_dependencies(files: &RepositoryFiles, package: &Package) -> Option<Self> {
        const KNOWN: [(RunnerName, &str, &[&str]); 3] = [
            (
                RunnerName::Vitest,
                "vitest",
                &["vitest.config.", "vitest.projects.", "vitest.workspace."],
            ),
            (RunnerName::Jest, "jest", &["jest.config."]),
            (RunnerName::Mocha, "mocha", &[".mocharc"]),
        ];
        let has_settings = |starts: &[&str]| {
            let mut names = files.names_in("");
            names.any(|name| starts.iter().any(|start| name.starts_with(start)))
        };
        let (runner, name, _) = KNOWN
            .into_iter()
            // A runner with a settings file is preferred to one that is merely installed.
            .find(|(_, name, start)| package.needs(name) && has_settings(start))
            // Another package may bring the runner with it, as `kcd-scripts` does.
            .or_else(|| KNOWN.into_iter().find(|(_, _, start)| has_settings(start)))
            .or_else(|| KNOWN.into_iter().find(|(_, name, _)| package.needs(name)))?;
        if runner == RunnerName::Mocha
            && !has_settings(&[".mocharc"])
            && let Some(options) = files.read(MOCHA_OPTIONS)
        {
            // Versions from 8 on don't read it, and task runners give what it says.
            let words = options.lines().filter(|line| !line.starts_with('#'));
            let words = words.flat_map(str::split_whitespace).map(str::to_owned);
            let command = ScriptCommand {
                environment: BTreeMap::new(),
                program: name.to_owned(),
                arguments: words.collect(),
                script: String::new(),
            };
            let origin = format!("package.json depends on {name}; options of {MOCHA_OPTIONS}");
            return Self::from_command(files, &command).map(|found| Self { origin, ..found });
        }
        Some(Self {
            settings: TestSettings::new(runner),
            environment: BTreeMap::new(),
            before: Vec::new(),
            left_out: Vec::new(),
            origin: match package.needs(name) {
                true => format!("package.json depends on {name}"),
                false => format!("there are settings of {name}"),
            },
        })
    }

    /// Describes the tests for the user.
    pub(super) fn describe(&self) -> Vec<String> {
        let name: &str = self.settings.runner.into();
        let mut words = vec![name.to_owned()];
        words.extend(self.settings.args.iter().cloned());
        let mut tests = format!("tests: run by `{}` ({})", words.join(" "), self.origin);
        if !self.left_out.is_empty() {
            tests.push_str(&format!("; left out: {}", self.left_out.join(", ")));
        }
        let mut findings = vec![tests];
        if !self.before.is_empty() {
            findings.push(format!("before the tests: `{}`", self.before.join("`, `")));
        }
        if !self.environment.is_empty() {
            let variables = self
                .environment
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            findings.push(format!(
                "variables: {}",
                variables.collect::<Vec<_>>().join(" ")
            ));
        }
        findings
    }
}

/// Options of mocha before version 8.
const MOCHA_OPTIONS: &str = "test/mocha.opts";

/// A command of a runner.
struct RunnerCall {
    runner: RunnerName,
    arguments: Vec<String>,
    /// Options of node before a runner's file.
    node_options: Vec<String>,
}

/// True if a script is one of tests, or has one of the names that are usual at the top of a package
/// and that sources have elsewhere.
fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_usual = folders.split('/').any(|folder| folder == "spec") || name.starts_with("test.");
    is_script(path) && (is_usual || CONVENTIONS.files.is_file(path))
}

/// The paths and packages that a text imports.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = text.split(['\'', '"']).collect();
    let pairs = parts.windows(2).map(|pair| (pair[0], pair[1]));
    let words = ["from", "require(", "import", "import("];
    let found =
        pairs.filter(move |(before, _)| words.iter().any(|word| before.trim_end().ends_with(word)));
    found.map(|(_, name)| name).collect::<Vec<_>>().into_iter()
}

/// True if all that a source imports of its package is missing, so that a build writes it.
fn passes_build_on(files: &RepositoryFiles, path: &str, all: &BTreeSet<&str>) -> bool {
    let text = files.read(path).unwrap_or_default();
    let mut own = imported(&text)
        .filter(|name| name.starts_with('.'))
        .peekable();
    let is_missing = |name: &str| {
        let other = joined_path(parent(path), name).unwrap_or_default();
        find_script(name, path, all).is_none() && !files.has(&other)
    };
    own.peek().is_some() && own.all(is_missing)
}

/// The most files that are looked through for Node's test framework.
const LOOKED_THROUGH: usize = 100;

/// True if a file, or one that it imports, uses Node's own test framework: a file may only list
/// those with the tests.
fn uses_node_test(files: &RepositoryFiles, path: &str) -> bool {
    // A runner script may load its tests through other files, so its imports are followed.
    let mut found = vec![path.trim_start_matches("./").to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        let text = files.read(&path).unwrap_or_default();
        let folder = parent(&path);
        for name in imported(&text) {
            if name == "node:test" {
                return true;
            }
            let path = name.starts_with('.').then(|| joined_path(folder, name));
            if let Some(other) = path.flatten().and_then(|path| script_at(files, &path))
                && found.len() < LOOKED_THROUGH
                && !found.contains(&other)
            {
                found.push(other);
            }
        }
    }
    false
}

/// The file that an import of a path reads.
fn script_at(files: &RepositoryFiles, path: &str) -> Option<String> {
    const ENDS: [&str; 6] = ["", ".js", ".mjs", ".cjs", "/index.js", "/index.mjs"];
    let paths = ENDS.iter().map(|end| format!("{path}{end}"));
    paths.filter(|path| files.has(path)).find(|path| {
        let is_script = |end: &str| path.ends_with(end);
        [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]
            .into_iter()
            .any(is_script)
    })
}

/// The runner that a command starts, if it starts one of ours.
fn runner_of(files: &RepositoryFiles, command: &ScriptCommand) -> Option<RunnerCall> {
    let ScriptCommand {
        program, arguments, ..
    } = command;
    let mut arguments = arguments.clone();
    let tests = arguments.iter().any(|word| word == "--test");
    let call = |runner, arguments| {
        Some(RunnerCall {
            runner,
            arguments,
            node_options: Vec::new(),
        })
    };
    match program.as_str() {
        "vitest" => {
            if arguments
                .first()
                .is_some_and(|word| ["run", "watch", "dev"].contains(&word.as_str()))
            {
                arguments.remove(0);
            }
            call(RunnerName::Vitest, arguments)
        }
        "jest" => call(RunnerName::Jest, arguments),
        "mocha" => call(RunnerName::Mocha, arguments),
        "tsx" if tests => {
            // `tsx --test` starts node with tsx's loader.
            arguments.insert(0, "--import=tsx".to_owned());
            call(RunnerName::Node, arguments)
        }
        "ts-node" if tests => {
            arguments.insert(0, "--require=ts-node/register".to_owned());
            call(RunnerName::Node, arguments)
        }
        "node" if tests => call(RunnerName::Node, arguments),
        "node" if arguments.iter().any(|path| uses_node_test(files, path)) => {
            call(RunnerName::Node, arguments)
        }
        "node" => {
            // node may start a runner by its file, with options of its own before it.
            let at = arguments.iter().position(|word| {
                let runners = ["jest", "mocha", "vitest"];
                runners.contains(&program_name(word).as_str()) && word.contains('/')
            })?;
            let inner = ScriptCommand {
                program: program_name(&arguments[at]),
                arguments: arguments.split_off(at + 1),
                ..command.clone()
            };
            arguments.truncate(at);
            Some(RunnerCall {
                node_options: arguments,
                ..runner_of(files, &inner)?
            })
        }
        _ => None,
    }
}

/// The name of an unsupported runner, if a command starts one.
fn named_runner(command: &ScriptCommand) -> Option<String> {
    let names = std::iter::once(&command.program).chain(&command.arguments);
    names
        .map(|word| program_name(word))
        .find(|name| OTHER_RUNNERS.contains(&name.as_str()))
}

/// True if a step runs a script that is called a build, whatever program that starts.
fn is_build_script(line: &str) -> bool {
    let name = line.strip_prefix("npm run ");
    name.is_some_and(|name| name == "build" || name.starts_with("build:"))
}

/// Returns the build commands of a script and of its `pre` script that run before the tests, as a
/// user would type them.
fn builds(files: &RepositoryFiles, package: &Package, script: &str) -> Vec<String> {
    const BUILDERS: [&str; 12] = [
        "babel", "bunchee", "esbuild", "rollup", "swc", "tsc", "tsdown", "tsup", "unbuild", "vite",
        "webpack", "zshy",
    ];
    let is_build = |command: &ScriptCommand| {
        // `tsc --noEmit` only checks types.
        let checks = command.arguments.iter().any(|word| word == "--noEmit");
        BUILDERS.contains(&command.program.as_str()) && !checks
    };
    let mut found = Vec::new();
    // npm runs the script `preNAME` before the script `NAME`.
    for name in [format!("pre{script}"), script.to_owned()] {
        // Steps after the runner, such as a coverage report, are not needed before it.
        for step in steps(package, &name) {
            let ran = step.commands(package);
            if ran
                .iter()
                .any(|command| runner_of(files, command).is_some())
            {
                break;
            }
            let is_build = is_build_script(&step.line) || ran.iter().any(is_build);
            if is_build && !found.contains(&step.line) {
                found.push(step.line);
            }
        }
    }
    found
}
