//! Every runner of tests, each with a small project of its own: its holes are mined and judged,
//! and a completion that forges an end or bends the framework does not pass.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::play::{self, TestDir, attempts, has_tools, holes, text};

/// A project and what is offered at one of its holes.
struct Case {
    /// The project's name, and its manifest's.
    project: &'static str,
    /// The file of the hole: the project's slow test does not run its lines.
    path: &'static str,
    /// How many tests run the hole's file at least in part.
    covering: u64,
    /// How many tests there are.
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

/// Whether a verdict names a piece of evidence as missing.
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
    assert_eq!(patch["outcome"], "failed", "{patch:#}");
    assert!(lacks(patch, "sentinels"), "{patch:#}");
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
    let unasked = json!(["signature", "quiet", "sentinels", "framework", "process"]);

    let reference = &verdicts(&dir, project, &tasks, "reference", 1)[&0];
    assert_eq!(reference["outcome"], "passed", "{reference:#}");
    assert_eq!(reference["executed"], 11, "{reference:#}");
    assert_eq!(reference["unasked"], unasked, "{reference:#}");
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
        assert_eq!(verdict["unasked"], unasked, "{verdict:#}");
    }
    assert_ne!(judged[&0]["failed"], json!([]), "{judged:#?}");
    assert!(lacks(&judged[&1], "report"), "{judged:#?}");
    assert!(lacks(&judged[&2], "skips"), "{judged:#?}");
    assert!(lacks(&judged[&3], "files"), "{judged:#?}");
}

/// TypeScript's errors are beside the tests' outcome, which does not depend on them.
#[test]
fn type_errors_are_reported_beside_the_tests() {
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
        "return (".to_owned(),
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
    let told = "type errors that it adds: 1 in the file, 0 in others";
    assert!(shown.out.contains(told), "{}", shown.out);
}
