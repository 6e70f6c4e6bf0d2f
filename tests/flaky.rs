//! Completions whose tests don't agree with themselves, with the real program: tests that are also
//! flaky without a completion decide nothing, and those that are only flaky with it fail it.

use std::fs;
use std::process::Command;

use fillrate_language::task::{Hole, HoleKind};
use serde_json::{Value, json};

use crate::support::play::{self, FinishedCommand, TestDir, attempts, has_tools, kitchen, text};

const MODULE: &str = "def following(a):\n    return a + 1\n";

/// The first test runs the changed line. The others never do: one is steady, one throws a coin as
/// soon as the file is not what it was, as if the completion failed at random.
const TESTS: &str = r#"
import os
import m


def source():
    with open(m.__file__) as file:
        return file.read()


def test_following():
    assert m.following(1) == 2


def test_coin():
    assert "return a + 1\n" in source() or os.urandom(1)[0] >= 148


def test_steady():
    assert "1 + a" not in source()
"#;

/// Distinct completions that are right but for the coin, by which each fails with a chance of .58,
/// and would with a chance of .38 fail in some runs of three and pass in others.
const COMPLETIONS: usize = 30;

/// Writes a project of one module and these tests; its manifest, and the hole in it.
fn coin(dir: &TestDir, tests: &str) -> (String, Hole) {
    dir.write("coin/m.py", MODULE);
    dir.write("coin/test_m.py", tests);
    let manifest = fs::read_to_string(kitchen()).unwrap();
    let manifest = manifest
        .replace("kitchen", "coin")
        .replace("src/**/*.py", "m.py")
        .replace("args = [\"tests\"]", "args = []")
        .replace("path = [\"src\"]", "path = [\".\"]");
    let corpus = text(&dir.write("coin.toml", &manifest));
    let reference = "return a + 1";
    let start = MODULE.find(reference).unwrap();
    let range = start..start + reference.len();
    let hole = Hole::new("coin", "python", "m.py", HoleKind::Line, range, MODULE);
    (corpus, hole)
}

#[test]
fn what_is_flaky_only_with_a_completion_fails_it() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, hole) = coin(&dir, TESTS);
    let reference = hole.reference.as_str();
    let tasks = dir.write("tasks.jsonl", &serde_json::to_string(&hole).unwrap());
    // The first three have outcomes that do not depend on the coin alone.
    let mut completions = vec![
        reference.to_owned(),
        "return a - 1".to_owned(),
        "return 1 + a".to_owned(),
    ];
    completions
        .extend((0..COMPLETIONS).map(|i| format!("return a + {}", i + 1) + &format!(" - {i}")));
    let predictions = json!({"hole": hole.id, "completions": completions}).to_string();
    let predictions = dir.write("coins.jsonl", &predictions);
    let run = dir.path("run");
    let replay = |more: &[&str]| {
        let mut arguments = vec!["replay", &corpus];
        let (tasks, predictions, out) = (text(&tasks), text(&predictions), text(&run));
        let samples = completions.len().to_string();
        arguments.extend(["--tasks", &tasks, "--model", &predictions]);
        arguments.extend(["--samples", &samples, "--out", &out]);
        arguments.extend(more);
        dir.fillrate(&arguments).exits_with(0)
    };
    let report = replay(&["--json"]).json();
    let attempts = attempts(&run);
    assert_eq!(attempts.len(), completions.len());
    let (mut reruns, mut fallen) = (0, 0);
    for attempt in attempts.values() {
        let verdict = &attempt["verdict"];
        let outcome = verdict["outcome"].as_str().unwrap();
        let was_rerun = verdict["rerun"] == true;
        reruns += u64::from(was_rerun);
        let failed = verdict["failed"].as_array().unwrap();
        match attempt["offered"][0].as_str().unwrap() {
            "return a + 1" => assert_eq!(outcome, "passed"),
            // What runs the changed line needs no second look; the coin may have fallen first.
            "return a - 1" if failed[0] != "test_m.py::test_coin" => {
                assert_eq!((outcome, was_rerun), ("failed", false));
            }
            "return 1 + a" if failed.iter().any(|id| id == "test_m.py::test_steady") => {
                assert_eq!((outcome, was_rerun), ("failed", true), "{verdict:#}");
            }
            _ if outcome == "passed" => assert!(!was_rerun),
            _ => assert!(was_rerun, "{verdict:#}"),
        }
        assert!(["passed", "failed"].contains(&outcome), "{verdict:#}");
        fallen += u64::from(failed.iter().any(|id| id == "test_m.py::test_coin"));
    }
    // Without a fall, the test would have tried nothing; the chance of that is .42 to the 30th.
    assert!(fallen > 0, "the coin fell on one side {COMPLETIONS} times");
    let rows = report["rows"].as_array().unwrap();
    let all = rows.last().unwrap();
    assert_eq!(all["reruns"], reruns);
    assert!(
        all["outcomes"]["flaky"]
            .as_u64()
            .is_none_or(|flaky| flaky == 0)
    );
    let shown = dir.fillrate(&["show", &text(&run)]).exits_with(0).out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!(
        "{reruns} of {} verdicts depended on tests that run no line of the completion and were rerun; \
         0 (0.0 %) are flaky and left out of every figure",
        completions.len()
    );
    assert!(shown.contains(&line), "{line}\n{shown}");
}

/// The hole's own test fails on this machine with any code.
const FAILING_TESTS: &str = r#"
import m


def test_following():
    assert m.following(1) == 2


def test_elsewhere():
    assert m.following(1) == 3
"#;

/// Such an attempt once was said to have tests that don't agree with themselves.
#[test]
fn a_test_that_fails_without_a_completion_too_is_the_reason() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, mut hole) = coin(&dir, FAILING_TESTS);
    hole.tests = vec!["test_m.py::test_elsewhere".to_owned()];
    let manifest = fs::read_to_string(&corpus).unwrap();
    // Half of the tests fail in the unchanged project, which the default share refuses.
    let manifest = manifest.replace("[project.test]", "[project.test]\nmin_share = 0.5");
    fs::write(&corpus, manifest).unwrap();
    let tasks = text(&dir.write("tasks.jsonl", &serde_json::to_string(&hole).unwrap()));
    let out = text(&dir.path("run"));
    let arguments = [
        "replay",
        &corpus,
        "--tasks",
        &tasks,
        "--out",
        &out,
        "--model",
        "reference",
    ];
    dir.fillrate(&arguments).exits_with(0);
    let attempts = attempts(&dir.path("run"));
    let verdict = &attempts.values().next().unwrap()["verdict"];
    assert_eq!(verdict["outcome"], "flaky", "{verdict:#}");
    let reason = verdict["reason"].as_str().unwrap();
    let start = "without a change too, test_m.py::test_elsewhere fails: ";
    assert!(reason.starts_with(start), "{reason}");
}

/// One test runs the changed line. The other has a random outcome on a busy machine, which a lower
/// priority simulates: the baseline runs at the usual one.
const BUSY_TESTS: &str = r#"
import os
import m


def test_following():
    assert m.following(1) == 2


def test_coin():
    assert os.nice(0) == 0 or os.urandom(1)[0] < 64
"#;

#[test]
fn what_is_also_flaky_without_a_completion_leaves_the_denominator() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, hole) = coin(&dir, BUSY_TESTS);
    let tasks = text(&dir.write("tasks.jsonl", &serde_json::to_string(&hole).unwrap()));
    let completions: Vec<String> = (0..10)
        .map(|i| format!("return a + 1 + {i} - {i}"))
        .collect();
    let predictions = json!({"hole": hole.id, "completions": completions}).to_string();
    let predictions = text(&dir.write("coins.jsonl", &predictions));
    let replay = |out: &str, model: &str| {
        let out = text(&dir.path(out));
        let arguments = [
            "replay",
            &corpus,
            "--tasks",
            &tasks,
            "--model",
            model,
            "--samples",
        ];
        let samples = if model == "reference" { "1" } else { "10" };
        dir.command(&[&arguments[..], &[samples, "--out", &out, "--json"]].concat())
    };
    play::run(&mut replay("baseline", "reference")).exits_with(0);
    let usual = replay("run", &predictions);
    // `nice` is inherited by the tests' processes and needs no privilege to lower the priority.
    let mut busy = Command::new("nice");
    busy.args(["-n", "5"])
        .arg(usual.get_program())
        .args(usual.get_args());
    for (name, value) in usual.get_envs() {
        busy.env(name, value.unwrap_or_default());
    }
    let report = play::run(&mut busy).exits_with(0).json();

    // Each is flaky with a chance of .75: the coin falls before the line's own test has its say.
    let attempts = attempts(&dir.path("run"));
    let outcome = |attempt: &&Value| attempt["verdict"]["outcome"] == "flaky";
    let flaky: Vec<&Value> = attempts.values().filter(outcome).collect();
    assert!(!flaky.is_empty(), "{attempts:#?}");
    for attempt in &flaky {
        let verdict = &attempt["verdict"];
        let reason = verdict["reason"].as_str().unwrap();
        let expected =
            "test_m.py::test_coin does not agree with itself: without the change it failed ";
        assert!(reason.starts_with(expected), "{verdict:#}");
        assert_eq!(
            (&verdict["failed"], &verdict["rerun"]),
            (&json!(["test_m.py::test_coin"]), &json!(true))
        );
    }
    let passed = attempts.len() - flaky.len();
    let all = report["rows"].as_array().unwrap().last().unwrap();
    assert_eq!(all["outcomes"]["flaky"], flaky.len());
    assert_eq!(all["left_out"], flaky.len(), "{all:#}");
    assert_eq!(
        all["outcomes"]["passed"].as_u64().unwrap_or(0),
        passed as u64
    );
}

const SLOW_MODULE: &str = "def added(a):
    total = a + 1
    total = total * 2
    return total


def lonely(a):
    lone = a + 1
    lone = lone * 3
    return lone
";

/// One run takes so long that verdicts don't wait for all. The last test depends on one that takes
/// this time and always fails, which no verdict runs: it passes in every run of all tests, and never
/// in a selection.
const SLOW_TESTS: &str = r#"
import time
import m

ran = []


def test_added():
    assert m.added(1) == 4


def test_broken():
    time.sleep(5.5)
    ran.append(1)
    assert m.added(1) == 5


def test_lonely():
    assert m.lonely(1) == 6 and ran
"#;

/// Writes a project of [`SLOW_MODULE`] and these tests; its manifest.
fn slow(dir: &TestDir, tests: &str) -> String {
    let (corpus, _) = coin(dir, tests);
    dir.write("coin/m.py", SLOW_MODULE);
    let manifest = fs::read_to_string(&corpus).unwrap();
    let manifest = manifest.replace("[project.test]", "[project.test]\nmin_share = 0.5");
    fs::write(&corpus, manifest).unwrap();
    corpus
}

#[test]
fn tests_that_prove_flaky_after_the_first_runs_decide_over_no_hole() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = slow(&dir, SLOW_TESTS);
    let out = text(&dir.path("run"));
    let arguments = [
        "replay", &corpus, "--holes", "8", "--kinds", "line", "--out", &out,
    ];
    let more = ["--model", "reference", "--events", "jsonl"];
    let events = dir
        .fillrate(&[&arguments[..], &more].concat())
        .exits_with(0);
    let events = [events.out, events.err].concat();
    let ready = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|event| event["event"] == "project-ready")
        .unwrap();
    assert_eq!(ready["readiness"], "measuring");
    let attempts = attempts(&dir.path("run"));
    let offered = |attempt: &Value| attempt["offered"][0].as_str().unwrap().to_owned();
    let mut texts: Vec<String> = attempts.values().map(offered).collect();
    texts.sort();
    assert_eq!(
        texts,
        ["return total", "total = a + 1", "total = total * 2"]
    );
    for attempt in attempts.values() {
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{attempt:#}");
    }
}

/// Replays completions of a hole; the outcomes of their verdicts, in the same order.
fn judged(
    dir: &TestDir,
    corpus: &str,
    hole: &Hole,
    completions: &[&str],
) -> (FinishedCommand, Vec<String>) {
    let model = json!({"hole": hole.id, "completions": completions});
    dir.write("tasks.jsonl", &serde_json::to_string(hole).unwrap());
    dir.write("recorded.jsonl", &model.to_string());
    let samples = completions.len().to_string();
    let holes = ["--tasks", "tasks.jsonl", "--model", "recorded.jsonl"];
    let more = ["--samples", &samples, "--out", "run"];
    let finished = dir.fillrate(&[&["replay", corpus], &holes[..], &more].concat());
    let mut attempts: Vec<Value> = attempts(&dir.path("run")).into_values().collect();
    attempts.sort_by_key(|attempt| attempt["sample"].as_u64());
    let outcome = |attempt: Value| attempt["verdict"]["outcome"].as_str().unwrap().to_owned();
    (finished, attempts.into_iter().map(outcome).collect())
}

#[test]
fn nothing_passes_by_tests_that_do_not_run_the_hole() {
    if !has_tools(&["python3"]) {
        return;
    }
    let start = SLOW_MODULE.find("lone = a + 1").unwrap();
    let range = start..start + "lone = a + 1".len();
    let hole = Hole::new("coin", "python", "m.py", HoleKind::Line, range, SLOW_MODULE);
    // The reference leaves the figures as well: what a model writes does not choose.
    let completions = ["lone = a + 2", "lone = a + 1"];
    let added = "def test_added():\n    assert m.added(1) == 4\n";
    // The test that runs the hole proves flaky; a stable one runs other lines, or there is none.
    for tests in [SLOW_TESTS, &SLOW_TESTS.replace(added, "")] {
        let dir = TestDir::new();
        let corpus = slow(&dir, tests);
        let (_, outcomes) = judged(&dir, &corpus, &hole, &completions);
        assert_eq!(outcomes, ["flaky", "flaky"]);
    }
}

/// A function whose branches are run by a test each: a stable one, and one that proves flaky.
const BRANCHES: &str = "def signed(a):
    if a > 5:
        result = a + 1
    else:
        result = a - 1
    return result
";

const BRANCH_TESTS: &str = r#"
import time
import m

ran = []


def test_above():
    assert m.signed(6) == 7


def test_broken():
    time.sleep(5.5)
    ran.append(1)
    assert m.signed(6) == 8


def test_below():
    assert m.signed(1) == 0 and ran
"#;

#[test]
fn completions_do_not_choose_to_be_left_out() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = slow(&dir, BRANCH_TESTS);
    dir.write("coin/m.py", BRANCHES);
    let (start, end) = (
        BRANCHES.find("if a").unwrap(),
        BRANCHES.find("\n    return").unwrap(),
    );
    let hole = Hole::new(
        "coin",
        "python",
        "m.py",
        HoleKind::Block,
        start..end,
        BRANCHES,
    );
    // Only the branch of the flaky test differs.
    let other = hole.reference.replace("a - 1", "a - 2");
    let both = hole
        .reference
        .replace("a - 1", "a - 2")
        .replace("a + 1", "a + 2");
    let (finished, outcomes) = judged(&dir, &corpus, &hole, &[&other, &both]);
    finished.exits_with(0);
    assert_eq!(outcomes, ["passed", "failed"]);
}
