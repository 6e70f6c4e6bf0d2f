//! Detection of the layout and the dependencies of an npm repository, and of how its tests run.

mod command;
mod layout;
mod tests_found;

use serde_json::Value;

use super::super::detection::{DetectedProject, RepositoryFiles, globs_within, tests_not_run};
use super::super::environment::Packages;
use super::environment::ranges::NodeRange;
use super::environment::{OLDEST_NODE, PNPM_WORKSPACE, is_of_workspace};
use super::workspaces;
use layout::ScriptLayout;
use tests_found::ScriptTests;

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for TypeScript.
pub(super) fn detect_typescript(files: &RepositoryFiles) -> Option<DetectedProject> {
    detect(files, "TypeScript", &["ts", "tsx", "mts", "cts"])
}

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for JavaScript.
pub(super) fn detect_javascript(files: &RepositoryFiles) -> Option<DetectedProject> {
    detect(files, "JavaScript", &["js", "mjs", "cjs", "jsx"])
}

/// Lock files, each with its package manager, the preferred first.
const LOCK_FILES: [(&str, &str); 4] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// The versions of Node.js that remove types without an option, see
/// [the manual](https://nodejs.org/api/typescript.html#type-stripping).
const STRIPS_TYPES: &str = "^22.18 || >=23.6";

/// True if the oldest version of Node.js in a range removes types.
fn strips_types(range: Option<&str>) -> bool {
    let oldest = range.and_then(NodeRange::parse).and_then(|it| it.oldest());
    let strips = NodeRange::parse(STRIPS_TYPES);
    strips
        .zip(oldest)
        .is_some_and(|(strips, oldest)| strips.contains(&oldest))
}

/// Returns the detected project; `None` if most of the repository's sources are in another
/// language.
fn detect(
    files: &RepositoryFiles,
    title: &str,
    endings: &'static [&'static str],
) -> Option<DetectedProject> {
    let read = |path: &str| files.read(path);
    let folder = files.focus();
    // A folder that no workspace lists has none of the packages that are installed at the top.
    if !folder.is_empty() && !workspaces::is_member(folder, &read) {
        return None;
    }
    let own = match folder {
        "" => files.clone(),
        folder => files.within(folder),
    };
    let layout = ScriptLayout::find(&own, endings)?;
    let top = Package::read(files);
    let inner = match folder {
        "" => None,
        _ => Package::read(&own),
    };
    let package = match folder {
        "" => top.as_ref(),
        _ => inner.as_ref(),
    };
    let mut findings = vec![layout.describe(title)];
    let mut environment = Packages::default();
    let found = package.map(|package| {
        let tests = ScriptTests::find(&own, package);
        // The tests of all packages may be run at the top.
        let at_top = || ScriptTests::find(files, top.as_ref()?).ok();
        // Completions change sources, which tests of a build would not see.
        let tests = tests.and_then(|tests| match tests.imports_own_build(&own, package) {
            Some(reason) => Err(reason),
            None => Ok(tests),
        });
        match (folder, tests) {
            ("", tests) => tests,
            (folder, Ok(tests)) => Ok(tests.within(folder)),
            (_, Err(reason)) => at_top().ok_or(reason),
        }
    });
    let test = match found {
        Some(Ok(mut tests)) => {
            if tests.imports_builds(files) {
                let has = |path: &str| files.has(path);
                let mut builds = workspaces::builds_needed(folder, files.paths(), &has, &read);
                let all = workspaces::BUILD_ALL;
                // Without this script at the top, packages that have no build of their own stay
                // unbuilt.
                if top.as_ref().is_none_or(|it| it.script("build").is_none()) {
                    builds.retain(|build| build != all);
                } else if builds.iter().any(|build| build == all)
                    || (folder.is_empty() && builds.len() > 1)
                {
                    builds = vec![all.to_owned()];
                }
                builds.retain(|build| !tests.before.contains(build));
                // The script's own commands may need the builds.
                tests.before.splice(0..0, builds);
            }
            environment = packages(files, &mut findings);
            // The engines of the top hold for all packages of a workspace.
            let engines = [package, top.as_ref()].into_iter().flatten();
            environment.interpreter = engines.filter_map(Package::node).next();
            let mut origin = "engines of package.json";
            if tests.need_types_stripped(files) && !strips_types(environment.interpreter.as_deref())
            {
                environment.interpreter = Some(STRIPS_TYPES.to_owned());
                origin = "its tests import TypeScript without a loader";
            }
            if let Some(node) = &environment.interpreter {
                findings.push(format!("interpreter: Node {node} ({origin})"));
            }
            environment.env = tests.environment.clone();
            environment.before = tests.before.clone();
            // A script may do more than the tests need, such as lint or publish.
            environment.before_may_fail = true;
            findings.extend(tests.describe());
            Some(tests.settings)
        }
        Some(Err(reason)) => {
            findings.push(tests_not_run(&reason));
            None
        }
        None => {
            findings.push(tests_not_run("there is no package.json at the top"));
            None
        }
    };
    let holes = globs_within(folder, layout.holes());
    findings.push(format!("holes: {}", holes.join(" ")));
    Some(DetectedProject {
        name: package.and_then(|package| package.text("name").map(str::to_owned)),
        holes,
        exclude: globs_within(folder, layout.exclude()),
        hidden: Vec::new(),
        environment,
        test,
        findings,
    })
}

/// Returns the packages that the tests need.
fn packages(files: &RepositoryFiles, findings: &mut Vec<String>) -> Packages {
    // The lock file decides the versions, so its own manager installs them.
    let lock = LOCK_FILES.into_iter().find(|(name, _)| files.has(name));
    findings.push(match lock {
        Some((name, manager)) => format!("packages: as {name} has them, by {manager}"),
        None => {
            let bun = ["bun.lock", "bun.lockb"]
                .into_iter()
                .find(|it| files.has(it));
            let mut packages = files.paths().filter(|path| path.ends_with("package.json"));
            let mut names_workspace =
                || packages.any(|path| files.read(path).is_some_and(|text| is_of_workspace(&text)));
            let client = match files.has(PNPM_WORKSPACE) {
                true => "pnpm",
                false if names_workspace() => "Yarn",
                false => "npm",
            };
            let lock = match bun {
                Some(name) => format!("only bun reads {name}, so versions may differ"),
                None => "it has no lock file".to_owned(),
            };
            format!("packages: what package.json asks for, by {client}; {lock}")
        }
    });
    Packages {
        file: lock.map(|(name, _)| name.to_owned()),
        install: Some(".".to_owned()),
        ..Packages::default()
    }
}

/// The package.json at the top.
struct Package(Value);

impl Package {
    fn read(files: &RepositoryFiles) -> Option<Self> {
        let text = files.read("package.json")?;
        // Some editors write a byte order mark, which JSON does not allow.
        serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .ok()
            .map(Self)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0[key].as_str()
    }

    /// The versions of Node.js that it asks for, unless every one that works here fits or none.
    fn node(&self) -> Option<String> {
        let wanted = self.0["engines"]["node"].as_str()?.trim();
        let range = NodeRange::parse(wanted)?;
        // A range that every supported version is in, or none is, decides nothing.
        let matters = !range.allows_all_from(OLDEST_NODE) && range.from(OLDEST_NODE).is_some();
        matters.then(|| wanted.to_owned())
    }

    fn script(&self, name: &str) -> Option<&str> {
        self.0["scripts"][name].as_str()
    }

    /// The names of its scripts.
    fn scripts(&self) -> impl Iterator<Item = &str> {
        let scripts = self.0["scripts"].as_object();
        scripts.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// True if it depends on a package in any way.
    fn needs(&self, name: &str) -> bool {
        ["devDependencies", "dependencies", "peerDependencies"]
            .iter()
            .any(|kind| self.0[kind].get(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;
    use crate::environment::EnvironmentError;
    use crate::runner::RunnerName;

    /// A repository with these files.
    fn detected(files: &[(&str, &str)]) -> Result<Option<DetectedProject>, EnvironmentError> {
        let (_folder, files) = RepositoryFiles::written(files);
        Ok(detect_typescript(&files).or_else(|| detect_javascript(&files)))
    }

    fn project(files: &[(&str, &str)]) -> DetectedProject {
        detected(files).expect("readable").expect("a project")
    }

    #[test]
    fn jest_with_a_lock_file_is_detected() {
        let found = project(&[
            (
                "package.json",
                r#"{"name":"a","scripts":{"test":"npm run lint && jest --coverage --verbose -c 'jest.config.js'","lint":"eslint ."},"devDependencies":{"jest":"29"}}"#,
            ),
            ("package-lock.json", "{}"),
            ("jest.config.js", ""),
            ("src/a.ts", ""),
            ("src/a.d.ts", ""),
            ("src/a.test.ts", ""),
            ("dist/a.js", ""),
        ]);
        let test = found.test.expect("tests");
        assert_eq!(test.runner, RunnerName::Jest);
        assert_eq!(test.args, ["-c", "jest.config.js"]);
        assert_eq!(found.environment.file.as_deref(), Some("package-lock.json"));
        assert_eq!(found.holes, ["/src/**/*.ts", "!*.d.ts", "!*.test.*"]);
        assert_eq!(found.exclude, ["/dist/"]);
        assert_snapshot!(found.findings.join("\n"), @r"
        sources: 1 file in TypeScript, in src
        packages: as package-lock.json has them, by npm
        tests: run by `jest -c jest.config.js` (script test of package.json); left out: --coverage, --verbose
        holes: /src/**/*.ts !*.d.ts !*.test.*
        ");
    }

    #[test]
    fn variables_and_wrappers_of_scripts_are_read() {
        let found = project(&[
            (
                "package.json",
                r#"{"scripts":{"test":"npm run test:node && npm run test:types","test:node":"NODE_OPTIONS='--experimental-vm-modules --no-warnings' nyc npx mocha -R spec test/*.js","test:types":"tsc"}}"#,
            ),
            ("index.js", ""),
            ("test/a.js", ""),
        ]);
        let test = found.test.expect("tests");
        assert_eq!(test.runner, RunnerName::Mocha);
        assert_eq!(test.args, ["test/*.js"]);
        assert_eq!(
            found.environment.env["NODE_OPTIONS"],
            "--experimental-vm-modules --no-warnings"
        );
        assert_eq!(found.holes, ["/index.js"]);
    }

    #[test]
    fn a_node_that_package_json_asks_for_is_wanted_if_not_every_one_fits() {
        for (engines, wanted) in [
            (r#"{"node":">=22.12"}"#, Some(">=22.12")),
            (r#"{"node":"^18 || ^20"}"#, Some("^18 || ^20")),
            (r#"{"node":">= 8"}"#, None),
            (r#"{"node":"8.x"}"#, None),
            (r#"{"npm":">=9"}"#, None),
        ] {
            let package = format!(r#"{{"engines":{engines},"scripts":{{"test":"vitest run"}}}}"#);
            let found = project(&[("package.json", &package), ("src/a.ts", "")]);
            assert_eq!(
                found.environment.interpreter.as_deref(),
                wanted,
                "{engines}"
            );
            let line = "interpreter: Node >=22.12 (engines of package.json)".to_owned();
            assert_eq!(found.findings.contains(&line), wanted == Some(">=22.12"));
        }
    }

    #[test]
    fn tests_that_import_typescript_without_a_loader_get_a_node_that_strips_types() {
        let typed = "import { a } from '../src/a.ts'";
        for (script, test, wanted) in [
            ("node --test", typed, Some("^22.18 || >=23.6")),
            ("node --import tsx --test", typed, None),
            ("NODE_OPTIONS=--import=tsx node --test", typed, None),
            ("node --test", "import { a } from '../src/a.js'", None),
            ("vitest run", typed, None),
        ] {
            let package = format!(r#"{{"scripts":{{"test":"{script}"}}}}"#);
            let files = [
                ("package.json", package.as_str()),
                ("src/a.ts", "export const a = 1"),
                ("test/a.test.mjs", test),
            ];
            let found = project(&files);
            assert_eq!(found.environment.interpreter.as_deref(), wanted, "{script}");
        }
        for (engines, is_enough) in [(">=24", true), (">=22", false), ("20 || 24", false)] {
            assert_eq!(strips_types(Some(engines)), is_enough, "{engines}");
        }
        assert!(!strips_types(None));
    }

    #[test]
    fn checks_of_types_are_no_sources() {
        for types in ["types/index.tst.ts", "types/check.ts"] {
            let found = project(&[
                ("package.json", r#"{"scripts":{"test":"node --test"}}"#),
                ("index.js", ""),
                ("test/a.test.js", ""),
                (types, ""),
            ]);
            assert_eq!(found.holes, ["/index.js"], "{types}");
        }
    }

    #[test]
    fn a_runner_that_another_package_brings_is_known_by_its_settings() {
        let package = r#"{"scripts":{"test":"kcd-scripts test"},"devDependencies":{"vitest":"1","kcd-scripts":"1"}}"#;
        let files = [
            ("package.json", package),
            ("src/a.js", ""),
            ("jest.config.js", ""),
            // An entry of the package, which is no setting.
            ("vitest.js", ""),
        ];
        let found = project(&files).test.expect("tests");
        assert_eq!(found.runner, RunnerName::Jest);
        let package = r#"{"scripts":{"test":"kcd-scripts test"}}"#;
        let found = project(&[("package.json", package), ("src/a.js", "")]);
        assert_snapshot!(found.findings[1], @"tests: script test of package.json starts `kcd-scripts`, which is no runner that Fillrate knows (vitest, jest, mocha, node), so holes are chosen by syntax and scored by text");
        let package = r#"{"scripts":{"test":"node test.js"}}"#;
        let found = project(&[("package.json", package), ("src/a.js", ""), ("test.js", "")]);
        assert_snapshot!(found.findings[1], @"tests: script test of package.json starts `node` without its test framework, so holes are chosen by syntax and scored by text");
    }

    #[test]
    fn an_entry_that_passes_a_build_on_is_no_source() {
        let package = r#"{"name":"a","exports":{"import":"./index.mjs","require":"./build/index.cjs"},"scripts":{"test":"mocha test/*.cjs test/*.mjs"},"devDependencies":{"mocha":"1"}}"#;
        let is_tested = |entry: &str| {
            let found = project(&[
                ("package.json", package),
                ("index.mjs", entry),
                ("lib/index.ts", ""),
                ("lib/other.ts", ""),
                ("test/a.cjs", "require('../build/index.cjs')"),
                ("test/b.mjs", "import a from '../index.mjs'"),
                // Another program runs these.
                ("test/deno/a.ts", "import a from '../../lib/other.ts'"),
            ]);
            found.test.is_some()
        };
        assert!(!is_tested("import { a } from './build/lib/index.js'"));
        assert!(is_tested("import { a } from './lib/index.js'"));
    }

    #[test]
    fn findings_say_which_client_installs_without_its_lock_file() {
        let package = r#"{"scripts":{"test":"vitest"}}"#;
        let packages = |name: &str| {
            let found = project(&[("package.json", package), ("src/a.js", ""), (name, "")]);
            found.findings[1].clone()
        };
        assert_snapshot!(packages("pnpm-workspace.yaml"), @"packages: what package.json asks for, by pnpm; it has no lock file");
        let protocol = r#"{"dependencies":{"a":"workspace:*"}}"#;
        let found = project(&[
            ("package.json", package),
            ("b/package.json", protocol),
            ("src/a.js", ""),
        ]);
        assert!(
            found.findings[1].contains("by Yarn;"),
            "{:?}",
            found.findings
        );
        assert_snapshot!(packages("bun.lock"), @"packages: what package.json asks for, by npm; only bun reads bun.lock, so versions may differ");
    }

    #[test]
    fn scripts_called_build_run_before_the_tests() {
        let package = r#"{"scripts":{
            "test": "npm run lint && npm run build && npm run build:types && node --test",
            "build": "node support/build.mjs", "build:types": "node types.mjs",
            "lint": "eslint ."
        }}"#;
        let found = project(&[("package.json", package), ("src/a.js", "")]);
        let before = ["npm run build", "npm run build:types"];
        assert_eq!(found.environment.before, before);
    }

    #[test]
    fn values_of_wrappers_options_are_no_commands() {
        let mocha = ["--require", "ts-node/register", "test/*.ts"];
        for (script, args) in [
            (
                "nyc --require ts-node/register mocha 'test/*.ts'",
                &mocha[..],
            ),
            (
                "nyc -i ts-node/register --reporter=lcov -n src mocha test/*.ts",
                &mocha,
            ),
            (
                "nyc --require=ts-node/register --all mocha test/*.ts",
                &mocha,
            ),
            ("c8 --reporter html --src lib mocha test/*.ts", &mocha[2..]),
            ("c8 --unheard of mocha test/*.ts", &mocha[2..]),
            ("env -u CI dotenv -e .env -- mocha test/*.ts", &mocha[2..]),
            ("dotenvx run -f .env -- npx mocha test/*.ts", &mocha[2..]),
            (
                "pnpm exec nyc -x 'a' --check-coverage mocha test/*.ts",
                &mocha[2..],
            ),
        ] {
            let package = json!({"scripts": {"test": script, "test:cjs": "mocha lib/test/*.js"}});
            let found = project(&[
                ("package.json", &package.to_string()),
                ("src/a.ts", ""),
                ("test/a.ts", ""),
            ]);
            assert_eq!(found.test.expect("tests").args, args, "{script}");
        }
    }

    #[test]
    fn options_of_mocha_that_a_task_runner_gives_are_read_from_its_file() {
        let found = project(&[
            (
                "package.json",
                r#"{"name":"a","scripts":{"test":"npx jake test"},"devDependencies":{"mocha":"10"}}"#,
            ),
            (
                "test/mocha.opts",
                "# as ever\n--ui tdd\n--reporter spec\n--check-leaks\n",
            ),
            ("lib/a.js", ""),
            ("test/a.js", ""),
        ]);
        let test = found.test.expect("tests");
        assert_eq!(test.runner, RunnerName::Mocha);
        assert_eq!(test.args, ["--ui", "tdd", "--check-leaks"]);
    }

    #[test]
    fn node_is_detected_with_a_loader() {
        let found = project(&[
            (
                "package.json",
                r#"{"scripts":{"test":"node --import tsx --test --test-reporter=spec 'test/**/*.test.ts'"}}"#,
            ),
            ("lib/a.ts", ""),
            ("test/a.test.ts", ""),
        ]);
        let test = found.test.expect("tests");
        assert_eq!(test.runner, RunnerName::Node);
        assert_eq!(test.args, ["--import", "tsx", "test/**/*.test.ts"]);
        let tsx = project(&[
            (
                "package.json",
                r#"{"scripts":{"test":"tsx --test test/*.ts"}}"#,
            ),
            ("lib/a.ts", ""),
        ]);
        assert_eq!(tsx.test.expect("tests").args, ["--import=tsx", "test/*.ts"]);
    }

    #[test]
    fn unknown_runners_are_named() {
        let found = project(&[
            ("package.json", r#"{"scripts":{"test":"xo && ava"}}"#),
            ("index.js", ""),
        ]);
        assert!(found.test.is_none());
        assert_snapshot!(found.findings[1], @"tests: package.json runs them by ava, which no runner of Fillrate's can stand in for, so holes are chosen by syntax and scored by text");
    }

    #[test]
    fn builds_before_tests_are_kept() {
        let found = project(&[
            (
                "package.json",
                r#"{"scripts":{"pretest":"npm run build","build":"tsc","test":"vitest run"}}"#,
            ),
            ("src/a.ts", ""),
        ]);
        assert_eq!(found.environment.before, ["npm run build"]);
        assert_eq!(found.test.expect("tests").args, [""; 0]);
    }

    #[test]
    fn a_package_of_a_workspace_is_installed_with_the_others_and_tested_in_its_folder() {
        let (_folder, files) = RepositoryFiles::written(&[
            (
                "package.json",
                r#"{"workspaces":["packages/*"],"scripts":{"test":"jest"}}"#,
            ),
            ("package-lock.json", "{}"),
            (
                "packages/a/package.json",
                r#"{"name":"@x/a","scripts":{"pretest":"npm run build","build":"tsc","test":"mocha test"},"dependencies":{"@x/b":"*"}}"#,
            ),
            ("packages/a/src/a.js", ""),
            ("packages/a/dist/a.js", ""),
            (
                "packages/b/package.json",
                r#"{"name":"@x/b","main":"dist/b.js","scripts":{"build":"tsc"}}"#,
            ),
            ("packages/b/src/b.js", ""),
        ]);
        let found = detect_javascript(&files.focused("packages/a")).expect("a project");
        assert_eq!(found.environment.file.as_deref(), Some("package-lock.json"));
        assert_eq!(found.environment.install.as_deref(), Some("."));
        assert_eq!(
            found.environment.before,
            [
                "cd packages/b && npm run build",
                "cd packages/a && npm run build"
            ]
        );
        assert_eq!(found.holes, ["/packages/a/src/**/*.js"]);
        assert_eq!(found.exclude, ["/packages/a/dist/"]);
        let test = found.test.expect("tests");
        assert_eq!(test.folder.as_deref(), Some("packages/a"));
        assert_eq!(test.args, ["test"]);
        let found = detect_javascript(&files.focused("packages/b")).expect("a project");
        let test = found.test.expect("those of the top");
        assert_eq!((test.runner, test.folder), (RunnerName::Jest, None));
        assert_eq!(found.holes, ["/packages/b/src/**/*.js"]);
    }

    #[test]
    fn tests_of_node_are_run_without_its_option() {
        let test = |text: &str| {
            project(&[
                (
                    "package.json",
                    r#"{"scripts":{"test":"npm run lint && c8 -- npm run api","lint":"xo","api":"node --conditions development test.js"}}"#,
                ),
                ("lib/a.js", ""),
                ("test.js", text),
                ("test/io/index.js", "import '../a.js'"),
                ("test/a.js", "import test from 'node:test'"),
            ])
            .test
        };
        let found = test("import test from 'node:test'\n").expect("tests");
        assert_eq!(found.runner, RunnerName::Node);
        assert_eq!(found.args, ["--conditions", "development", "test.js"]);
        assert_eq!(test("import assert from 'node:assert'\n"), None);
        assert!(test("import './test/io/index.js'\n").is_some());
        assert_eq!(test("import './lib/a.js'\n"), None);
    }

    #[test]
    fn tests_that_a_build_writes_are_not_run() {
        let found = project(&[
            (
                "package.json",
                r#"{"scripts":{"pretest":"npm run build","build":"./build.sh","test":"node --test dist-node/test/*.js"}}"#,
            ),
            ("src/a.ts", ""),
        ]);
        assert_eq!(found.test, None);
        assert_snapshot!(found.findings[1], @"tests: package.json runs `dist-node/test/*.js`, which a build writes, and completions are not built, so holes are chosen by syntax and scored by text");
    }

    #[test]
    fn tests_in_a_folder_of_any_name_that_only_a_build_fills_are_not_run() {
        let found = |test: &str| {
            let package = format!(
                r#"{{"scripts":{{"test":"npm run compile && {test}","compile":"tsc -p ."}}}}"#
            );
            let files = [
                ("package.json", package.as_str()),
                ("src/a.ts", ""),
                ("test/unit/a.test.ts", ""),
            ];
            project(&files).test.is_some()
        };
        for built in [
            "node --test ./lib/test/*.test.js",
            "mocha --exit lib/**/*.test.js",
            "mocha lib/test",
            "jest lib/",
        ] {
            assert!(!found(built), "{built}");
        }
        for kept in [
            "node --test --import tsx/esm test/**/*.ts",
            "mocha --reporter made/spec test/**/*.ts",
            "mocha -r ./lib/setup.js test/unit",
            "jest unit/",
            "mocha **/*.test.ts",
        ] {
            assert!(found(kept), "{kept}");
        }
    }

    #[test]
    fn tests_that_import_only_what_a_build_writes_are_not_run() {
        let found = |test: &str, package: &str| {
            project(&[
                ("package.json", package),
                ("src/index.ts", ""),
                ("test/index_test.ts", test),
                ("test/kit.ts", ""),
            ])
        };
        let package = r#"{"name":"bus","main":"dist/bus.js","scripts":{"test":"mocha test"}}"#;
        for import in [
            "import bus from '..';\nimport './kit';\n",
            "require(\"bus\")",
            "import { other } from '../dist/other.js'",
        ] {
            let found = found(import, package);
            assert_eq!(found.test, None, "{import}");
            insta::allow_duplicates! {
                assert_snapshot!(found.findings[1], @"tests: its tests import `dist/bus.js`, which a build writes, and completions are not built, so holes are chosen by syntax and scored by text");
            }
        }
        let import = "import bus from '..';\nimport '../src/index';\n";
        assert!(found(import, package).test.is_some());
        assert!(found("'.'.split('.')", package).test.is_some());
        let mapped = package.replace("mocha test", "vitest --config a --alias x");
        assert!(found("import bus from '..'", &mapped).test.is_some());
        // It is compiled next to its source, which the tests' framework finds.
        let beside = package.replace("dist/bus.js", "src/index.js");
        assert!(
            found("import bus from '../src/index'", &beside)
                .test
                .is_some()
        );
        let source = package.replace("dist/bus.js", "src/index.ts");
        assert!(found("import bus from '..'", &source).test.is_some());
    }

    #[test]
    fn the_language_of_most_sources_is_detected() {
        let files = [
            ("package.json", "{}"),
            ("src/a.js", ""),
            ("src/b.js", ""),
            ("src/c.ts", ""),
        ];
        let paths: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let files = RepositoryFiles::new(std::path::Path::new("/nowhere"), paths);
        assert!(detect_typescript(&files).is_none());
        assert!(detect_javascript(&files).is_some());
    }
}
