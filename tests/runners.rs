//! Every runner of tests, each with a small project of its own: its holes are mined and judged,
//! and a completion that forges an end or bends the framework does not pass.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::play::{self, TestDir, attempts, copy, has_tools, holes, repository, text};

/// A project and what is offered at one of its holes.
struct Case {
    /// The project's name, and its manifest's.
    project: &'static str,
    /// The file of the hole: the project's slow test does not run its lines.
    path: &'static str,
    /// Number of tests that run the hole's file at least in part.
    covering: u64,
    /// Number of tests.
    tests: u64,
    /// Ends the process with the status of a run in which only sentinels fail.
    exit: &'static str,
    /// Makes every expectation hold, and then returns a wrong value.
    patch: &'static str,
    /// Returns a wrong value.
    wrong: &'static str,
}

/// The manifest of a project.
fn manifest(project: &str) -> String {
    text(&play::repository(&format!("tests/corpora/{project}.toml")))
}

/// Mines holes in one file of a project.
fn mine(dir: &TestDir, project: &str, path: &str) -> Vec<Value> {
    let tasks = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &manifest(project),
        "--holes",
        "4",
        "--kinds",
        "body",
        "-o",
        &text(&tasks),
    ])
    .exits_with(0);
    let mined = holes(&tasks);
    assert!(!mined.is_empty());
    let mut of_file: Vec<Value> = mined
        .into_iter()
        .filter(|hole| hole["path"] == path)
        .collect();
    of_file.truncate(2);
    assert!(!of_file.is_empty(), "no hole in {path}");
    of_file
}

/// Replays holes with a model, and returns the verdicts by sample, those of the first hole only.
fn verdicts(
    dir: &TestDir,
    project: &str,
    tasks: &[Value],
    model: &str,
    samples: usize,
) -> BTreeMap<u64, Value> {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    let tasks_file = dir.write("tasks.jsonl", &(lines.join("\n") + "\n"));
    let run = dir.path(&format!("run-{}", model.rsplit('/').next().unwrap()));
    dir.fillrate(&[
        "replay",
        &manifest(project),
        "--tasks",
        &text(&tasks_file),
        "--model",
        model,
        "--samples",
        &samples.to_string(),
        "--out",
        &text(&run),
        "--jobs",
        "1",
        "--json",
    ])
    .exits_with(0);
    attempts(&run)
        .into_values()
        .filter(|attempt| attempt["hole"] == tasks[0]["id"])
        .map(|attempt| {
            let sample = attempt["sample"].as_u64().unwrap();
            (sample, attempt["verdict"].clone())
        })
        .collect()
}

/// True if a verdict names a piece of evidence as missing.
fn lacks(verdict: &Value, evidence: &str) -> bool {
    verdict["missing"]
        .as_array()
        .is_some_and(|missing| missing.iter().any(|each| each == evidence))
}

fn check(case: &Case) {
    let dir = TestDir::new();
    let tasks = mine(&dir, case.project, case.path);

    let reference = &verdicts(&dir, case.project, &tasks, "reference", 1)[&0];
    assert_eq!(reference["outcome"], "passed", "{reference:#}");
    assert_eq!(reference["executed"], case.tests, "{reference:#}");
    let empty = &verdicts(&dir, case.project, &tasks, "empty", 1)[&0];
    assert_ne!(empty["outcome"], "passed", "{empty:#}");

    let completions = [case.wrong, case.exit, case.patch];
    let prediction = json!({"hole": tasks[0]["id"], "completions": completions});
    let predictions = dir.write("hostile.jsonl", &prediction.to_string());
    let judged = verdicts(
        &dir,
        case.project,
        &tasks[..1],
        &text(&predictions),
        completions.len(),
    );
    let [wrong, exit, patch] = [0, 1, 2].map(|sample| &judged[&sample]);
    assert_eq!(wrong["outcome"], "failed", "{wrong:#}");
    assert_ne!(wrong["failed"], json!([]), "{wrong:#}");
    // Covering tests run first, and of these none that comes after a failure.
    let executed = wrong["executed"].as_u64().unwrap();
    assert!(executed <= case.covering, "{wrong:#}");
    assert_eq!(exit["outcome"], "failed", "{exit:#}");
    assert!(lacks(exit, "report"), "{exit:#}");
    let outcome = patch["outcome"].as_str().unwrap();
    assert!(["failed", "forged"].contains(&outcome), "{patch:#}");
    // Where assertions can't be replaced, the attempt is an error of the test.
    assert!(
        lacks(patch, "sentinels") || patch["output"].as_str().unwrap().contains("read only"),
        "{patch:#}"
    );
}

#[test]
fn unittest_verdicts_are_right() {
    if !has_tools(&["python3"]) {
        return;
    }
    check(&Case {
        project: "garden",
        path: "src/garden/beds.py",
        covering: 4,
        tests: 14,
        exit: "import os\n    os._exit(1)",
        patch: "import unittest
    unittest.TestCase.assertEqual = lambda *arguments, **options: None
    return None",
        wrong: "return None",
    });
}

#[test]
fn node_verdicts_are_right() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    check(&Case {
        project: "ferry",
        path: "src/fares.js",
        covering: 4,
        tests: 14,
        exit: "process.exit(1);",
        patch: "const assert = process.getBuiltinModule(\"node:assert\");
  assert.strict.equal = assert.strict.deepEqual = assert.strict.throws = () => {};
  return 5;",
        wrong: "return 5;",
    });
}

#[test]
fn mocha_verdicts_are_right() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    check(&Case {
        project: "orchard",
        path: "src/harvest.js",
        covering: 6,
        tests: 15,
        exit: "process.exit(1);",
        patch: "const assert = require(\"node:assert\");
  assert.strict.equal = assert.strict.deepEqual = assert.strict.throws = () => {};
  return 5;",
        wrong: "return 5;",
    });
}

#[test]
fn jest_verdicts_are_right() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    check(&Case {
        project: "quay",
        path: "src/berths.js",
        covering: 3,
        tests: 15,
        exit: "process.exit(1);",
        patch: "const always = new Proxy(() => {}, { get: () => always, apply: () => always });
  globalThis.expect = () => always;
  return 5;",
        wrong: "return 5;",
    });
}

/// A custom command offers less evidence, and every verdict lists what is missing.
#[test]
fn junit_verdicts_rely_on_available_evidence() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let project = "kitchen-junit";
    let tasks = mine(&dir, project, "src/kitchen/scale.py");
    let unchecked = json!(["signature", "quiet", "sentinels", "framework", "process"]);

    let reference = &verdicts(&dir, project, &tasks, "reference", 1)[&0];
    assert_eq!(reference["outcome"], "passed", "{reference:#}");
    assert_eq!(reference["executed"], 11, "{reference:#}");
    assert_eq!(reference["unchecked"], unchecked, "{reference:#}");
    let empty = &verdicts(&dir, project, &tasks, "empty", 1)[&0];
    assert_ne!(empty["outcome"], "passed", "{empty:#}");

    let completions = [
        "return None",
        "import os\n    os._exit(0)",
        "import pytest\n    pytest.skip('not today')",
        "import pathlib\n    pathlib.Path('conftest.py').write_text('')\n    return None",
    ];
    let prediction = json!({"hole": tasks[0]["id"], "completions": completions});
    let predictions = dir.write("hostile.jsonl", &prediction.to_string());
    let model = text(&predictions);
    let judged = verdicts(&dir, project, &tasks[..1], &model, completions.len());
    for verdict in judged.values() {
        assert_eq!(verdict["outcome"], "failed", "{verdict:#}");
        assert_eq!(verdict["unchecked"], unchecked, "{verdict:#}");
    }
    assert_ne!(judged[&0]["failed"], json!([]), "{judged:#?}");
    assert!(lacks(&judged[&1], "report"), "{judged:#?}");
    assert!(lacks(&judged[&2], "skips"), "{judged:#?}");
    assert!(lacks(&judged[&3], "files"), "{judged:#?}");
}

/// TypeScript's errors are reported with the tests' outcome, which does not depend on them.
#[test]
fn type_errors_are_reported_with_the_tests() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let mined = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &play::demo(),
        "--holes",
        "2",
        "--kinds",
        "body",
        "-o",
        &text(&mined),
    ])
    .exits_with(0);
    let of_typescript = |hole: &Value| hole["language"] == "typescript";
    let hole = holes(&mined).into_iter().find(of_typescript).unwrap();
    let tasks = dir.write("tasks.jsonl", &format!("{hole}\n"));
    let reference = hole["reference"].as_str().unwrap();
    let completions = [
        reference.to_owned(),
        format!("const wrong: number = 'no number';\n{reference}"),
        "return undefined as any;".to_owned(),
        // Clean-up ends no completion before an error inside a line.
        "const = 1;\nreturn undefined as any;".to_owned(),
    ];
    let prediction = json!({"hole": hole["id"], "completions": completions});
    let predictions = dir.write("predictions.jsonl", &prediction.to_string());
    let run = dir.path("run");
    let replayed = dir
        .fillrate(&[
            "replay",
            &play::demo(),
            "--tasks",
            &text(&tasks),
            "--model",
            &text(&predictions),
            "--samples",
            "4",
            "--type-check",
            "--out",
            &text(&run),
            "--json",
        ])
        .exits_with(0);
    let mut verdicts: Vec<(u64, Value)> = attempts(&run)
        .into_values()
        .map(|attempt| {
            (
                attempt["sample"].as_u64().unwrap(),
                attempt["verdict"].clone(),
            )
        })
        .collect();
    verdicts.sort_by_key(|(sample, _)| *sample);
    let finished: Vec<(&str, u64, u64)> = verdicts
        .iter()
        .map(|(_, verdict)| {
            let count = |files: &str| verdict["types"][files]["count"].as_u64().unwrap();
            let outcome = verdict["outcome"].as_str().unwrap();
            (outcome, count("own"), count("others"))
        })
        .collect();
    assert_eq!(
        finished[..3],
        [("passed", 0, 0), ("passed", 1, 0), ("failed", 0, 0)]
    );
    let (outcome, own, _) = finished[3];
    assert!(outcome == "syntax" && own > 0, "{finished:?}");
    let first = &verdicts[1].1["types"]["own"]["first"][0];
    assert_eq!(
        first,
        "TS2322: Type 'string' is not assignable to type 'number'."
    );

    let report: Value = serde_json::from_str(&replayed.out).unwrap();
    let all = report["rows"].as_array().unwrap().last().unwrap();
    let share = &all["metrics"]["type_check/tsc"];
    assert_eq!(
        (share["value"].as_f64(), share["n"].as_u64()),
        (Some(0.5), Some(4))
    );
    let shown = dir.fillrate(&["show", &text(&run)]).exits_with(0);
    assert!(
        shown.out.contains("type-check without a new error: 50.0"),
        "{}",
        shown.out
    );
    let id = hole["id"].as_str().unwrap();
    let shown = dir.fillrate(&["show", &text(&run), id]).exits_with(0);
    let expected = "type errors that it adds: 1 in the file, 0 in others";
    assert!(shown.out.contains(expected), "{}", shown.out);
}

/// A setup for testing TypeScript: the files in addition to the sources and tests of `jetty`.
struct Setup {
    name: &'static str,
    /// The script `test` of its package.json.
    script: &'static str,
    /// The packages that it depends on, as `NAME@VERSION`.
    packages: &'static [&'static str],
    /// Further members of its package.json.
    more: &'static str,
    /// Further files.
    files: &'static [(&'static str, &'static str)],
    /// True if every run of the tests tries it, or only one with `FILLRATE_ALL_RUNNERS` set.
    always: bool,
}

/// jest compiles it with the project's settings, which are for bundlers, on a Node that can't
/// remove types itself.
const SWC: (&str, &str) = (
    "jest.config.ts",
    "import type { Config } from \"jest\";\n\
     const parser = { syntax: \"typescript\" };\n\
     const config: Config = { transform: { \"\\\\.ts$\": [\"@swc/jest\", { jsc: { parser } }] } };\n\
     export default config;\n",
);
const FOR_BUNDLERS: (&str, &str) = (
    "tsconfig.json",
    r#"{"compilerOptions": {"module": "preserve", "moduleResolution": "bundler", "strict": true}}"#,
);
const TS_JEST: &str =
    r#""jest": {"preset": "ts-jest", "globals": {"ts-jest": {"diagnostics": false}}}"#;
const VITEST: (&str, &str) = (
    "vitest.config.ts",
    "import { defineConfig } from \"vitest/config\";\n\
     export default defineConfig({ test: { globals: true } });\n",
);
const NODE: (&str, &str) = (
    "globals.mjs",
    "import { describe, it } from \"node:test\";\nObject.assign(globalThis, { describe, it });\n",
);
const BABEL: (&str, &str) = (
    ".babelrc",
    r#"{"presets": [["@babel/preset-env", {"targets": {"node": "current"}}], "@babel/preset-typescript"]}"#,
);

const SETUPS: [Setup; 15] = [
    Setup {
        name: "jest-29-swc",
        script: "jest --coverage",
        packages: &[
            "jest@29.7.0",
            "@swc/jest@0.2.39",
            "@swc/core@1.13.2",
            "ts-node@10.9.2",
            "typescript@5.9.3",
        ],
        more: r#""private": true"#,
        files: &[SWC, FOR_BUNDLERS],
        always: true,
    },
    Setup {
        name: "jest-26-ts-jest",
        script: "jest",
        packages: &["jest@26.6.3", "ts-jest@26.5.6", "typescript@4.9.5"],
        more: TS_JEST,
        files: &[],
        always: false,
    },
    Setup {
        name: "jest-27-babel",
        script: "jest",
        packages: &[
            "jest@27.5.1",
            "babel-jest@27.5.1",
            "@babel/core@7.26.0",
            "@babel/preset-env@7.26.0",
            "@babel/preset-typescript@7.26.0",
        ],
        more: r#""private": true"#,
        files: &[BABEL],
        always: false,
    },
    Setup {
        name: "jest-28-esbuild",
        script: "jest",
        packages: &[
            "jest@28.1.3",
            "babel-jest@28.1.3",
            "esbuild-jest@0.5.0",
            "esbuild@0.14.54",
        ],
        more: r#""jest": {"transform": {"\\.ts$": "esbuild-jest"}}"#,
        files: &[],
        always: false,
    },
    Setup {
        name: "jest-30-ts-jest",
        script: "jest",
        packages: &["jest@30.0.5", "ts-jest@29.4.1", "typescript@5.9.3"],
        more: TS_JEST,
        files: &[],
        always: false,
    },
    // Two of its packages need different versions of one: npm refuses that at first.
    Setup {
        name: "mocha-11-tsx",
        script: "mocha --import=tsx --reporter=dot 'test/**/*.test.ts'",
        packages: &[
            "mocha@11.7.1",
            "tsx@4.20.3",
            "react@18.3.1",
            "react-dom@17.0.2",
        ],
        more: r#""private": true"#,
        files: &[],
        always: true,
    },
    Setup {
        name: "mocha-9-ts-node",
        script: "mocha",
        packages: &["mocha@9.2.2", "ts-node@10.9.2", "typescript@5.4.5"],
        more: r#""mocha": {"require": "ts-node/register/transpile-only", "spec": "test/**/*.ts"}"#,
        files: &[],
        always: false,
    },
    Setup {
        name: "mocha-10-swc",
        script: "mocha",
        packages: &[
            "mocha@10.8.2",
            "@swc-node/register@1.10.9",
            "typescript@5.4.5",
        ],
        more: r#""private": true"#,
        files: &[(
            ".mocharc.yml",
            "require: \"@swc-node/register\"\nspec: \"test/**/*.ts\"\n",
        )],
        always: false,
    },
    Setup {
        name: "node-tsx",
        script: "node --import tsx --import ./globals.mjs --test 'test/**/*.test.ts'",
        packages: &["tsx@4.20.3"],
        more: r#""private": true"#,
        files: &[NODE],
        always: true,
    },
    Setup {
        name: "vitest-1",
        script: "vitest run --coverage",
        packages: &["vitest@1.6.1"],
        more: r#""type": "module""#,
        files: &[VITEST],
        always: true,
    },
    Setup {
        name: "vitest-2",
        script: "vitest",
        packages: &["vitest@2.1.9", "happy-dom@15.11.7"],
        more: r#""type": "module""#,
        files: &[(
            "vitest.config.ts",
            "export default { test: { globals: true, environment: \"happy-dom\" } };\n",
        )],
        always: false,
    },
    Setup {
        name: "vitest-3-projects",
        script: "vitest run",
        packages: &["vitest@3.2.7"],
        more: r#""type": "module""#,
        files: &[(
            "vitest.config.ts",
            "export default { test: { projects: [{ extends: true, test: { name: \"a\", globals: true } }] } };\n",
        )],
        always: false,
    },
    // This vite loads no file outside the project, such as a reporter's, that its settings do not
    // allow.
    Setup {
        name: "vitest-3-vite-6",
        script: "vitest run",
        packages: &["vitest@3.2.7", "vite@6.4.6"],
        more: r#""type": "module""#,
        files: &[VITEST],
        always: true,
    },
    Setup {
        name: "vitest-4",
        script: "vitest run",
        packages: &["vitest@4.0.17"],
        more: r#""type": "module""#,
        files: &[VITEST],
        always: true,
    },
    // Its hooks of suites have another first parameter than before, and its project has a compiler
    // check the types of all files of tests.
    Setup {
        name: "vitest-4-1",
        script: "vitest run",
        packages: &["vitest@4.1.12", "typescript@5.9.3"],
        more: r#""type": "module""#,
        files: &[
            (
                "vitest.config.ts",
                "const typecheck = { enabled: true, include: [\"**/*.test.ts\"] };\n\
                 export default { test: { projects: [{ test: { name: \"a\", globals: true, typecheck } }] } };\n",
            ),
            (
                "tsconfig.json",
                "{\"compilerOptions\": {\"skipLibCheck\": true}}\n",
            ),
        ],
        always: true,
    },
];

/// Writes a repository without a manifest.
fn write_setup(dir: &TestDir, setup: &Setup) -> String {
    let root = dir.path(setup.name);
    copy(&repository("tests/corpora/jetty"), &root);
    let packages: BTreeMap<&str, &str> = setup
        .packages
        .iter()
        .map(|package| package.rsplit_once('@').unwrap())
        .collect();
    let package = format!(
        "{{\"name\": \"{}\", \"scripts\": {{\"test\": {}}}, \"devDependencies\": {}, {}}}\n",
        setup.name,
        json!(setup.script),
        json!(packages),
        setup.more,
    );
    for (name, contents) in setup
        .files
        .iter()
        .chain(&[("package.json", package.as_str())])
    {
        dir.write(&format!("{}/{name}", setup.name), contents);
    }
    text(&root)
}

/// Mines at most `most` bodies of functions into `tasks.jsonl`, and returns them.
fn mine_bodies(dir: &TestDir, root: &str, most: &str) -> Vec<Value> {
    let arguments = ["mine", root, "--holes", most, "--kinds", "body"];
    dir.fillrate(&[&arguments[..], &["-o", "tasks.jsonl"]].concat())
        .exits_with(0);
    holes(&dir.path("tasks.jsonl"))
}

/// The tests of one file share readings of the counters if there are thousands of them.
#[test]
fn the_last_of_many_tests_in_a_file_is_known_to_run_a_hole() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let setup = SETUPS
        .iter()
        .find(|setup| setup.name == "vitest-1")
        .unwrap();
    let dir = TestDir::new();
    let root = write_setup(&dir, setup);
    dir.write(
        "vitest-1/src/last.ts",
        "export function last(a: number): number {\n  const doubled = a * 2;\n  return doubled + 1;\n}\n",
    );
    dir.write(
        "vitest-1/test/many.test.ts",
        "import { last } from \"../src/last\";\n\
         for (let i = 0; i < 2002; i++) it(`is ${i}`, () => expect(i).toBe(i));\n\
         it(\"is last\", () => expect(last(2)).toBe(5));\n",
    );
    let mined = mine_bodies(&dir, &root, "10");
    let last = mined
        .iter()
        .find(|hole| hole["path"] == "src/last.ts")
        .unwrap_or_else(|| panic!("no test is said to run it: {mined:#?}"));
    dir.write("last.jsonl", &format!("{last}\n"));
    for (model, passed) in [("reference", true), ("empty", false)] {
        let arguments = ["replay", &root, "--tasks", "last.jsonl", "--model", model];
        dir.fillrate(&[&arguments[..], &["--out", model]].concat())
            .exits_with(0);
        let attempts = attempts(&dir.path(model));
        assert_eq!(attempts.len(), 1);
        for attempt in attempts.values() {
            let verdict = &attempt["verdict"];
            assert_eq!(verdict["outcome"] == "passed", passed, "{verdict:#}");
        }
    }
}

/// Repositories in TypeScript are replayed without a manifest under every runner.
#[test]
fn typescript_is_replayed_under_every_runner() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let all = std::env::var_os("FILLRATE_ALL_RUNNERS").is_some();
    for setup in SETUPS.iter().filter(|setup| all || setup.always) {
        let name = setup.name;
        let dir = TestDir::new();
        let root = write_setup(&dir, setup);
        let mined = mine_bodies(&dir, &root, "3");
        assert_eq!(mined.len(), 3, "{name}");
        let wrong: Vec<String> = mined
            .iter()
            .map(|hole| {
                let completions = ["return undefined as any;", "process.exit(1);"];
                json!({"hole": hole["id"], "completions": completions}).to_string()
            })
            .collect();
        dir.write("wrong.jsonl", &(wrong.join("\n") + "\n"));
        for (model, samples, passed) in [
            ("reference", "1", true),
            ("empty", "1", false),
            ("wrong.jsonl", "2", false),
        ] {
            let run = format!("run-{}", model.trim_end_matches(".jsonl"));
            let arguments = ["replay", &root, "--tasks", "tasks.jsonl", "--model", model];
            let more = ["--samples", samples, "--out", &run, "--jobs", "1"];
            dir.fillrate(&[&arguments[..], &more[..]].concat())
                .exits_with(0);
            for attempt in attempts(&dir.path(&run)).values() {
                let verdict = &attempt["verdict"];
                assert_eq!(
                    verdict["outcome"] == "passed",
                    passed,
                    "{name} {model}: {verdict:#}"
                );
                assert_ne!(
                    verdict["outcome"], "infrastructure",
                    "{name} {model}: {verdict:#}"
                );
                if passed {
                    assert_eq!(verdict["executed"], 7, "{name}: {verdict:#}");
                }
            }
        }
        let audit = dir
            .fillrate(&["audit", "run-wrong", "--sample", "0.5"])
            .exits_with(0);
        assert!(audit.out.contains(" 0 differ"), "{name}: {audit:#?}");
    }
}

/// Each of jest's projects runs the files of its own patterns, with its own settings, in a
/// selection too.
#[test]
fn projects_of_jest_run_their_own_files() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    for (name, contents) in [
        (
            "package.json",
            r#"{"name": "two", "scripts": {"test": "jest"}, "devDependencies": {"jest": "29.7.0"},
                "jest": {"projects": [
                  {"displayName": "mapped", "testMatch": ["<rootDir>/test/*.mapped.js"],
                   "moduleNameMapper": {"^@/(.*)$": "<rootDir>/src/$1"}, "setupFiles": ["<rootDir>/test/setup.js"]},
                  {"displayName": "plain", "testRegex": "test/.*\\.plain\\.js$",
                   "setupFilesAfterEnv": ["<rootDir>/test/after.js"]}]}}"#,
        ),
        (
            "src/sums.js",
            "exports.add = (a, b) => {\n  const sum = a + b;\n  return sum;\n};\n\
             exports.twice = (a) => {\n  const doubled = a * 2;\n  return doubled;\n};\n",
        ),
        ("test/setup.js", "global.SUM = 3;\n"),
        (
            "test/after.js",
            "beforeEach(() => { global.DOUBLE = 4; });\n",
        ),
        (
            "test/a.mapped.js",
            "const { add } = require(\"@/sums\");\ntest(\"adds\", () => { expect(add(1, 2)).toBe(SUM); });\n",
        ),
        (
            "test/b.plain.js",
            "const { twice } = require(\"../src/sums\");\n\
             test(\"doubles\", () => { expect(twice(2)).toBe(DOUBLE); });\n",
        ),
    ] {
        dir.write(&format!("two/{name}"), contents);
    }
    let (two, out) = (text(&dir.path("two")), text(&dir.path("run")));
    let arguments = ["replay", &two, "--holes", "4", "--kinds", "line"];
    let more = ["--model", "reference", "--out", &out];
    dir.fillrate(&[&arguments[..], &more].concat())
        .exits_with(0);
    let attempts = attempts(&dir.path("run"));
    assert_eq!(attempts.len(), 4);
    for attempt in attempts.values() {
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{attempt:#}");
    }
}

/// Regression: vitest looked for selected files from the folder of the tests on, by their paths from
/// the repository's top, and found none.
#[test]
fn vitest_selects_tests_in_a_folder_of_the_repository() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    copy(
        &repository("tests/corpora/dairy"),
        &dir.path("farm/packages/dairy"),
    );
    let manifest = "schema = 1\n[[project]]\nname = \"farm\"\nlanguage = \"typescript\"\n\
                    source = { path = \"farm\" }\nholes = [\"packages/dairy/src/**/*.ts\"]\n\
                    [project.environment]\nlock = \"packages/dairy/package-lock.json\"\n\
                    [project.test]\nrunner = \"vitest\"\nfolder = \"packages/dairy\"\n";
    let corpus = text(&dir.write("farm.toml", manifest));
    for engine in ["warm", "cold"] {
        let arguments = ["replay", &corpus, "--model", "reference", "--holes", "3"];
        let more = ["--kinds", "body", "--engine", engine, "--out", engine];
        let replayed = dir
            .fillrate(&[&arguments[..], &more].concat())
            .exits_with(0);
        assert!(
            replayed.out.contains("outcomes: passed 2\n"),
            "{engine}: {replayed:#?}"
        );
    }
}
