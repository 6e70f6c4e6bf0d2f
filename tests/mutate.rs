//! Faults put into holes' code: counted, remembered in the record, shown.

use std::fs;
use std::path::Path;

use fillrate_language::task::{Hole, HoleKind};

use crate::support::play::{TestDir, has_tools, holes, kitchen, repository, text};

#[test]
fn mutate_writes_scores_and_survivors_into_holes() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&[
        "mine",
        &kitchen(),
        "--holes",
        "4",
        "--kinds",
        "body,block",
        "-o",
        &text(&tasks),
    ])
    .exits_with(0);
    let before = fs::read_to_string(&tasks).unwrap();
    let listed = dir
        .fillrate(&["mutate", &text(&tasks), "--corpus", &kitchen(), "--list"])
        .exits_with(0)
        .out;
    assert_eq!(fs::read_to_string(&tasks).unwrap(), before);
    let mutate = |engine: &str, audit: &str, into: &str| {
        let output = dir.path(into);
        let finished = dir
            .fillrate(&[
                "mutate",
                &text(&tasks),
                "--corpus",
                &kitchen(),
                "--engine",
                engine,
                "--anew",
                "--audit",
                audit,
                "-o",
                &text(&output),
            ])
            .exits_with(0);
        (output, finished)
    };
    let (output, finished) = mutate("warm", "0.15", "scored.jsonl");
    let scored = holes(&output);
    assert_eq!(scored.len(), holes(&tasks).len());
    assert!(
        finished.out.contains("4 of 4 holes have a score"),
        "{}",
        finished.out
    );
    let again = finished
        .out
        .split(" verdicts judged again by the naive engine, 0 differ");
    let again: Vec<&str> = again.collect();
    assert_eq!(again.len(), 2, "{}", finished.out);
    let again: u64 = again[0].split('\n').next_back().unwrap().parse().unwrap();
    assert!(again > 2, "{}", finished.out);
    let count = |name: &str| -> u64 {
        scored
            .iter()
            .map(|hole| hole["mutation"][name].as_u64().unwrap())
            .sum()
    };
    assert!(count("killed") > 10, "{scored:#?}");
    let listed: Vec<serde_json::Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let judged = count("killed") + count("survived") + count("timeout");
    assert_eq!(listed.len() as u64, judged);
    for hole in &scored {
        let survivors = hole["mutation"]["survivors"].as_array();
        for survivor in survivors.into_iter().flatten() {
            assert!(
                listed
                    .iter()
                    .any(|mutant| mutant["diff"] == survivor["diff"]
                        && mutant["hole"] == hole["id"]
                        && mutant["operator"] == survivor["operator"])
            );
        }
    }
    for hole in &scored {
        let survivors = hole["mutation"]["survivors"].as_array();
        assert_eq!(
            survivors.map_or(0, Vec::len) as u64,
            hole["mutation"]["survived"].as_u64().unwrap()
        );
    }
    // The tests ask for the face at 125 s, not for its format at others: faults that show only
    // there survive.
    let surviving = scored
        .iter()
        .find(|hole| hole["mutation"]["survived"].as_u64() > Some(0))
        .expect("no suite as small as this one notices every fault");
    let finished = dir
        .fillrate(&["show", &text(&output), surviving["id"].as_str().unwrap()])
        .exits_with(0);
    let survivor = &surviving["mutation"]["survivors"][0];
    let fault = survivor["fault"].as_str().unwrap();
    assert!(
        finished.out.contains(&format!("survived: {fault}")),
        "{}",
        finished.out
    );
    let removed = survivor["diff"].as_str().unwrap().lines();
    assert!(removed.into_iter().any(|line| line.starts_with('-')));

    // What was judged is remembered, and the counts by operator are those by project.
    let again = text(&dir.path("again.jsonl"));
    let summary = dir
        .fillrate(&[
            "mutate",
            &text(&tasks),
            "--corpus",
            &kitchen(),
            "--json",
            "-o",
            &again,
        ])
        .exits_with(0)
        .json();
    assert_eq!(
        fs::read_to_string(again).unwrap(),
        fs::read_to_string(&output).unwrap()
    );
    assert_eq!(
        (&summary["holes"], &summary["scored"]),
        (&4.into(), &4.into())
    );
    let project = &summary["projects"]["kitchen"];
    for name in ["killed", "survived", "timeout", "unjudged", "mutants"] {
        let operators = summary["operators"].as_object().unwrap().values();
        let sum: u64 = operators.map(|counts| counts[name].as_u64().unwrap()).sum();
        assert_eq!(project[name], sum, "{name}");
    }
    assert_eq!(project["mutants"], judged);

    // The naive engine gives the same bytes.
    let (slow, _) = mutate("cold", "0", "cold.jsonl");
    assert_eq!(
        fs::read_to_string(output).unwrap(),
        fs::read_to_string(slow).unwrap()
    );
}

#[test]
fn a_hole_whose_check_survives_gets_no_score() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let module = "def used():\n    return 1\n\n\ndef unused():\n    return 2\n";
    dir.write("half/m.py", module);
    dir.write(
        "half/test_m.py",
        "from m import used\n\n\ndef test_it():\n    assert used() == 1\n",
    );
    let manifest = fs::read_to_string(kitchen()).unwrap();
    let manifest = manifest
        .replace("kitchen", "half")
        .replace("src/**/*.py", "m.py")
        .replace("args = [\"tests\"]", "args = []")
        .replace("path = [\"src\"]", "path = [\".\"]");
    let corpus = dir.write("half.toml", &manifest);
    let at = |code: &str| {
        let start = module.find(code).unwrap();
        let range = start..start + code.len();
        Hole::new("half", "python", "m.py", HoleKind::Line, range, module)
    };
    let line = |hole: &Hole| serde_json::to_string(hole).unwrap() + "\n";
    let lines = line(&at("return 1")) + &line(&at("return 2"));
    let tasks = dir.write("tasks.jsonl", &lines);
    let finished = dir
        .fillrate(&["mutate", &text(&tasks), "--corpus", &text(&corpus)])
        .exits_with(3);
    let error_message = "its tests pass with a statement that raises";
    assert!(finished.err.contains(error_message), "{}", finished.err);
    let scored = holes(&tasks);
    assert_eq!(scored[0]["mutation"]["survived"], 0);
    assert_eq!(scored[1]["mutation"], serde_json::Value::Null);
}

/// Mutants of this text misbehave in one process after the other: they differ when it is imported,
/// never end, never end in one test but fail others, end their process, leave files, processes and
/// variables behind, or do no harm.
const MISCHIEF: &str = r#"import os
import subprocess

LIMIT = 3
SEEN = []


def count():
    number = 0
    while number < LIMIT:
        number += 1
    return number


def leave(code):
    if code > 90:
        os._exit(code)
    return code


def write(name, keep=False):
    with open(name, "w") as file:
        file.write("x")
    if not keep:
        os.remove(name)
    return os.path.exists(name)


def start(seconds="0"):
    child = subprocess.Popen(["sleep", seconds])
    child.wait()
    return child.returncode


def see(number):
    SEEN.append(number)
    return len(SEEN)


def grade(points):
    if points >= 50:
        return "pass"
    return "fail"


def reach(place, step):
    while place != 10:
        place += step
    return place
"#;

const MISCHIEF_TESTS: &str = r#"import pytest

import mischief


def test_count():
    assert mischief.count() == 3


def test_leave():
    assert mischief.leave(1) == 1


def test_write():
    assert not mischief.write("note.py")


def test_start():
    assert mischief.start() == 0


def test_see():
    assert mischief.see(1) == 1


def test_grade():
    assert mischief.grade(80) == "pass"


def test_reach_at_least():
    assert mischief.reach(9, 1) >= 10


# A mutant by which this never ends fails the tests below, and is detected whichever run first. Of so
# many tests the first to run are few; this is none of them, as it runs more lines than others.
def test_leap():
    assert mischief.reach(8, 2) == 10
    assert mischief.grade(80) == "pass"


@pytest.mark.parametrize("place", range(-50, 10))
def test_reach(place):
    assert mischief.reach(place, 1) == 10
"#;

#[test]
fn mutants_in_one_process_get_the_verdicts_of_runs_of_their_own() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    dir.write("mischief/mischief.py", MISCHIEF);
    dir.write("mischief/test_mischief.py", MISCHIEF_TESTS);
    let manifest = fs::read_to_string(kitchen()).unwrap();
    let manifest = manifest
        .replace("kitchen", "mischief")
        .replace("src/**/*.py", "mischief.py")
        .replace("args = [\"tests\"]", "args = []\ntimeout = 4")
        .replace("path = [\"src\"]", "path = [\".\"]");
    let corpus = dir.write("mischief.toml", &manifest);
    let all = 0..MISCHIEF.len();
    let hole = Hole::new(
        "mischief",
        "python",
        "mischief.py",
        HoleKind::Block,
        all,
        MISCHIEF,
    );
    let tasks = dir.write(
        "tasks.jsonl",
        &(serde_json::to_string(&hole).unwrap() + "\n"),
    );
    let mutation = audited(&dir, &tasks, &corpus).remove(0);
    let count = |name: &str| mutation[name].as_u64().unwrap();
    assert!(count("timeout") > 0, "{mutation:#}");
    assert!(count("survived") > 0, "{mutation:#}");
    assert!(count("killed") > count("survived"), "{mutation:#}");
}

/// As [`MISCHIEF`], in TypeScript.
const TRICKS: &str = r#"import { rmSync, writeFileSync } from "node:fs";

export function count(limit: number): number {
  const steps: number[] = [];
  while (steps.length < limit) {
    rest();
    steps.push(1);
  }
  return steps.length;
}

// Mutants by which the loop above never ends leave the processor to others.
function rest(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

const MOST = 3;
const shared = globalThis as Record<string, unknown>;

export function clip(number: number): number {
  return Math.min(number, MOST);
}

export function leave(code: number): number {
  if (code > 90) process.kill(process.pid, "SIGKILL");
  return code;
}

export function mark(name: string): string {
  shared[name] = 1;
  delete shared[name];
  return name;
}

export function write(name: string): string {
  writeFileSync(name, "x");
  rmSync(name);
  return name;
}

export function wait(): boolean {
  const timer = setInterval(() => {}, 1000);
  clearInterval(timer);
  return true;
}
"#;

const TRICKS_TESTS: &str = r#"import { expect, test } from "vitest";
import { clip, count, leave, mark, wait, write } from "../src/tricks";

test("counts", () => expect(count(3)).toBe(3));
test("clips", () => expect(clip(5)).toBe(3));
test("leaves", () => expect(leave(1)).toBe(1));
test("marks", () => {
  expect("note" in globalThis).toBe(false);
  expect(mark("note")).toBe("note");
});
test("writes", () => expect(write("note.ts")).toBe("note.ts"));
test("waits", () => expect(wait()).toBe(true));
"#;

#[test]
fn mutants_in_one_worker_of_vitest_get_the_verdicts_of_runs_of_their_own() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let dairy = repository("tests/corpora/dairy");
    for name in ["package.json", "package-lock.json", "tsconfig.json"] {
        let contents = fs::read_to_string(dairy.join(name)).unwrap();
        dir.write(&format!("tricks/{name}"), &contents);
    }
    dir.write("tricks/src/tricks.ts", TRICKS);
    dir.write("tricks/tests/tricks.test.ts", TRICKS_TESTS);
    let manifest = fs::read_to_string(dairy.with_extension("toml")).unwrap();
    let manifest = manifest.replace("dairy", "tricks") + "timeout = 10\n";
    let corpus = dir.write("tricks.toml", &manifest);
    let start = TRICKS.find("const MOST").unwrap();
    let step = TRICKS.find("steps.push(1);").unwrap();
    let hole = |kind, range: std::ops::Range<usize>| {
        let hole = Hole::new("tricks", "typescript", "src/tricks.ts", kind, range, TRICKS);
        serde_json::to_string(&hole).unwrap() + "\n"
    };
    let lines = hole(HoleKind::Line, step..step + "steps.push(1);".len())
        + &hole(HoleKind::Block, start..TRICKS.len());
    let tasks = dir.write("tasks.jsonl", &lines);
    let mutation = audited(&dir, &tasks, &corpus);
    let count = |name: &str| -> u64 {
        let counts = mutation.iter().map(|one| one[name].as_u64().unwrap());
        counts.sum()
    };
    assert!(count("timeout") > 0, "{mutation:#?}");
    assert!(count("survived") > 0, "{mutation:#?}");
    assert!(count("killed") > count("survived"), "{mutation:#?}");
}

/// Judges all mutants of the holes, and each again by the naive engine, which must agree. Returns
/// the holes' counts.
fn audited(dir: &TestDir, tasks: &Path, corpus: &Path) -> Vec<serde_json::Value> {
    let mutate = ["mutate", &text(tasks), "--corpus", &text(corpus)];
    let listed = dir.fillrate(&[&mutate[..], &["--list"]].concat());
    let mutants = listed.exits_with(0).out.lines().count();
    assert!(mutants > 20, "{mutants}");
    let audited = [&mutate[..], &["--audit", "1.0", "--anew"]].concat();
    let finished = dir.fillrate(&audited).exits_with(0);
    let again = format!("{mutants} verdicts judged again by the naive engine, 0 differ");
    assert!(finished.out.contains(&again), "{}", finished.out);
    // Most of them, or the two would agree because both were judged alone.
    let ending = " mutants were judged one after the other";
    let in_turn = finished
        .out
        .lines()
        .find_map(|line| line.split_once(ending));
    let in_turn: usize = in_turn.map_or(0, |(count, _)| count.parse().unwrap());
    assert!(
        2 * in_turn > mutants,
        "{in_turn} of {mutants}: {}",
        finished.out
    );
    let holes = holes(tasks);
    holes.iter().map(|hole| hole["mutation"].clone()).collect()
}
