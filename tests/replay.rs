//! `fillrate replay` from one end to the other: the real program, its own language server as a
//! child, and the demo projects' own tests in the real sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fillrate_server::lsp::frame::encode;
use serde_json::{Value, json};

use crate::support::play::{
    self, FinishedCommand, TestDir, attempts, demo, has_tools, holes, kitchen, text,
};

/// Few enough to be quick, and enough for both projects and four kinds.
const HOLES: &str = "8";

/// Replays the demo corpus.
fn replay(dir: &TestDir, run: &str, more: &[&str]) -> FinishedCommand {
    let (corpus, run) = (demo(), text(&dir.path(run)));
    let mut arguments = vec!["replay", &corpus, "--out", &run, "--json", "--jobs", "1"];
    if !more.contains(&"--tasks") {
        arguments.extend(["--holes", HOLES]);
    }
    arguments.extend(more);
    dir.fillrate(&arguments)
}

/// A row of a report.
fn row<'a>(report: &'a Value, project: &str) -> &'a Value {
    let rows = report["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["project"] == project)
        .unwrap_or_else(|| panic!("there is no row for {project}: {rows:#?}"))
}

/// A report without what differs between two runs of one thing: times and the folder.
fn timeless(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("run");
    for row in report["rows"].as_array_mut().unwrap() {
        row["metrics"]
            .as_object_mut()
            .unwrap()
            .remove("latency_ms/median");
    }
    report
}

#[test]
fn the_reference_passes_everywhere() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let report = replay(&dir, "run", &["--model", "reference"])
        .exits_with(0)
        .json();
    for project in ["demo-python", "demo-typescript", "*"] {
        let row = row(&report, project);
        assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
        assert_eq!(row["metrics"]["em/tokens"]["value"], 1.0, "{row:#}");
        assert_eq!(row["completions"], row["holes"], "{row:#}");
    }
    assert_eq!(row(&report, "*")["outcomes"], json!({"passed": 8}));
    assert_eq!(row(&report, "demo-python")["holes"], 4);
    assert_eq!(row(&report, "demo-typescript")["holes"], 4);
    assert_eq!(dir.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_empty_completion_passes_nowhere() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let report = replay(&dir, "run", &["--model", "empty"])
        .exits_with(0)
        .json();
    let all = row(&report, "*");
    assert_eq!(all["metrics"]["pass@1"]["value"], 0.0, "{all:#}");
    assert_eq!(all["metrics"]["pass@1"]["n"], 8, "{all:#}");
    assert_eq!(all["completions"], 0, "{all:#}");
    let outcomes = all["outcomes"].as_object().unwrap();
    let count: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    assert_eq!(count, 8, "{all:#}");
    assert!(
        outcomes
            .keys()
            .all(|name| ["failed", "syntax"].contains(&name.as_str())),
        "{all:#}"
    );
}

/// A warm pytest was begun long before the verdict, which prints how long its tests took.
#[test]
fn seconds_that_pytest_prints_are_of_the_verdict() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    replay(&dir, "run", &["--model", "empty", "--anew"]).exits_with(0);
    let mut printed = 0;
    for attempt in attempts(&dir.path("run")).values() {
        let verdict = &attempt["verdict"];
        let output = verdict["output"].as_str().unwrap_or_default();
        // As in `1 failed, 442 deselected in 0.02s`.
        let of_line = |line: &str| {
            let (_, seconds) = line.strip_suffix('s')?.rsplit_once(" in ")?;
            seconds.parse::<f64>().ok()
        };
        let Some(seconds) = output.lines().find_map(of_line) else {
            continue;
        };
        printed += 1;
        assert!(
            seconds <= verdict["seconds"].as_f64().unwrap() + 0.01,
            "{verdict:#}"
        );
    }
    assert!(printed > 0);
}

/// The embedded model: what is printed, that it is the same the second time, and that mining
/// first and replaying later is the same as one step.
#[test]
fn a_seed_gives_the_same_report_in_one_command_and_in_two() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let first = replay(&dir, "one", &[]).exits_with(0).json();
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let names = |names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    };
    let expected = ["rows", "run", "projects", "audited", "differing"];
    assert_eq!(keys(&first), names(&expected));
    assert_eq!(first["run"], text(&dir.path("one")));
    let rows = first["rows"].as_array().unwrap();
    let projects: Vec<&str> = rows
        .iter()
        .map(|row| row["project"].as_str().unwrap())
        .collect();
    assert_eq!(projects, ["demo-python", "demo-typescript", "*"]);
    for row in rows {
        assert_eq!(
            keys(row),
            names(&[
                "project",
                "language",
                "model",
                "holes",
                "completions",
                "metrics",
                "outcomes",
                "left_out",
                "reruns",
                "proofs"
            ])
        );
        assert_eq!(row["model"], "embedded");
        for name in [
            "pass@1",
            "em/cceval",
            "es/cceval-levenshtein",
            "id_f1/cceval",
            "acceptance/oracle-prefix",
            "latency_ms/median",
        ] {
            let metric = &row["metrics"][name];
            let mut members = names(&["value", "low", "high", "n"]);
            if name != "latency_ms/median" {
                members.insert("clusters".into());
            }
            assert_eq!(keys(metric), members, "{name}: {row:#}");
            let value = metric["value"].as_f64().unwrap();
            let most = match name {
                "es/cceval-levenshtein" => 100.0,
                "latency_ms/median" => f64::INFINITY,
                _ => 1.0,
            };
            assert!((0.0..=most).contains(&value), "{name}: {metric}");
            let denominator = match name {
                "acceptance/oracle-prefix" => &row["completions"],
                _ => &row["holes"],
            };
            assert_eq!(&metric["n"], denominator, "{name}: {row:#}");
        }
    }
    let languages: Vec<&Value> = rows.iter().map(|row| &row["language"]).collect();
    assert_eq!(languages, ["python", "typescript", "*"]);

    let again = replay(&dir, "two", &[]).exits_with(0).json();
    assert_eq!(timeless(first.clone()), timeless(again));

    let tasks = text(&dir.path("tasks.jsonl"));
    dir.fillrate(&["mine", &demo(), "--holes", HOLES, "-o", &tasks])
        .exits_with(0);
    let mined = replay(&dir, "mined", &["--tasks", &tasks])
        .exits_with(0)
        .json();
    assert_eq!(timeless(first)["rows"], timeless(mined)["rows"]);
}

#[test]
fn holes_have_the_requested_kinds() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let chosen = |kinds: &str| -> Vec<String> {
        let tasks = dir.path("tasks.jsonl");
        dir.fillrate(&[
            "mine",
            &kitchen(),
            "--holes",
            "4",
            "--kinds",
            kinds,
            "-o",
            &text(&tasks),
        ])
        .exits_with(0);
        holes(&tasks)
            .iter()
            .map(|hole| hole["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(chosen("body"), ["body"; 4]);
    let mut both = chosen("line,span");
    both.sort();
    assert_eq!(both, ["line", "line", "span", "span"]);
    let refused = dir.fillrate(&["mine", &kitchen(), "--kinds", "word", "-o", "x"]);
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.err.contains("possible values: line, statement"),
        "{refused:#?}"
    );
}

/// Files that are equal around their holes have equal prompts: each hole gets its own completion.
#[test]
fn recorded_completions_are_those_of_their_hole() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    for (name, sign) in [("north", "+"), ("south", "-")] {
        dir.write(
            &format!("compass/{name}.py"),
            &format!("def move(y, by):\n    moved = y {sign} by\n    return moved\n"),
        );
    }
    dir.write(
        "compass/test_compass.py",
        "import north\nimport south\n\n\ndef test_north():\n    assert north.move(2, 1) == 3\n\n\n\
         def test_south():\n    assert south.move(2, 1) == 1\n",
    );
    let compass = text(&dir.path("compass"));
    let tasks = dir.path("tasks.jsonl");
    let mine = [
        "mine",
        &compass,
        "--kinds",
        "line,statement",
        "-o",
        &text(&tasks),
    ];
    dir.fillrate(&mine).exits_with(0);
    let holes = holes(&tasks);
    let lines = holes
        .iter()
        .map(|hole| json!({"hole": hole["id"], "completions": [hole["reference"]]}).to_string());
    let predictions = dir.write("right.jsonl", &lines.collect::<Vec<_>>().join("\n"));
    for model in ["reference", &text(&predictions)] {
        let run = text(&dir.path(&format!("run-{}", model.len())));
        let replayed = dir.fillrate(&[
            "replay",
            &compass,
            "--tasks",
            &text(&tasks),
            "--model",
            model,
            "--out",
            &run,
        ]);
        let outcomes = format!("outcomes: passed {}\n", holes.len());
        assert!(replayed.out.contains(&outcomes), "{replayed:#?}");
        // No model answered: there is no latency, and nothing was sampled.
        let shown = dir.fillrate(&["show", &run, "--json"]).exits_with(0).json();
        let rows = shown["rows"].as_array().expect("there are rows");
        assert!(
            rows.iter()
                .all(|row| row["metrics"].get("latency_ms/median").is_none()),
            "{shown:#}"
        );
        let hole = holes[0]["id"].as_str().unwrap();
        let shown = dir.fillrate(&["show", &run, hole]).exits_with(0);
        assert!(
            shown.out.contains("passed, a recorded completion"),
            "{shown:#?}"
        );
    }
}

/// Predictions replace the model: it is known which of them pass, so that the
/// figures are.
#[test]
fn each_sample_gets_its_own_prediction() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&["mine", &kitchen(), "--holes", "3", "-o", &text(&tasks)])
        .exits_with(0);
    let predictions: Vec<String> = holes(&tasks)
        .iter()
        .enumerate()
        .map(|(index, hole)| {
            let mut completions = vec![json!("raise NotImplementedError"); 3];
            // The first hole never passes, the second at one sample, the third at two.
            for sample in completions.iter_mut().take(index) {
                *sample = hole["reference"].clone();
            }
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    let predictions = dir.write("two-thirds.jsonl", &predictions.join("\n"));
    let run = text(&dir.path("run"));
    let report = dir
        .fillrate(&[
            "replay",
            &kitchen(),
            "--tasks",
            &text(&tasks),
            "--model",
            &text(&predictions),
            "--samples",
            "3",
            "--out",
            &run,
            "--json",
        ])
        .exits_with(0)
        .json();
    let all = row(&report, "*");
    assert_eq!(all["model"], "two-thirds");
    assert_eq!((&all["holes"], &all["completions"]), (&json!(3), &json!(9)));
    let pass = |k: u8| {
        all["metrics"][format!("pass@{k}")]["value"]
            .as_f64()
            .unwrap()
    };
    assert!((pass(1) - 1.0 / 3.0).abs() < 1e-9, "{all:#}");
    assert!((pass(3) - 2.0 / 3.0).abs() < 1e-9, "{all:#}");
    assert_eq!(all["outcomes"]["passed"], 3, "{all:#}");
}

#[test]
fn show_prints_every_part_of_an_attempt() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&["mine", &kitchen(), "--holes", "2", "-o", &text(&tasks)])
        .exits_with(0);
    let run = text(&dir.path("run"));
    dir.fillrate(&[
        "replay",
        &kitchen(),
        "--tasks",
        &text(&tasks),
        "--out",
        &run,
    ])
    .exits_with(0);
    let of_file = holes(&tasks);
    let hole = &of_file[0];
    let id = hole["id"].as_str().unwrap();
    let source = play::repository("tests/corpora/kitchen").join(hole["path"].as_str().unwrap());
    let source = fs::read_to_string(source).unwrap();
    let start = usize::try_from(hole["start"].as_u64().unwrap()).unwrap();

    let shown = dir.fillrate(&["show", &run, id]).exits_with(0).out;
    let last_line = source[..start].lines().last().unwrap();
    for wanted in [
        id,
        "--- prefix",
        last_line,
        "--- reference",
        hole["reference"].as_str().unwrap(),
        "--- suffix",
        "--- completion",
        "--- context: ",
        "--- verdict: failed",
        "--- test output",
        "short test summary info",
    ] {
        assert!(shown.contains(wanted), "{wanted:?} is missing:\n{shown}");
    }

    // The end of an id that names no other is enough.
    let end = id.rsplit(':').next().unwrap();
    let json = dir
        .fillrate(&["show", &run, end, "--json"])
        .exits_with(0)
        .json();
    assert_eq!(&json["hole"], hole);
    assert_eq!(json["prefix"], source[..start]);
    assert_eq!(json["attempts"].as_array().unwrap().len(), 1);

    let listed = dir.fillrate(&["show", &run, "--holes"]).exits_with(0).out;
    let figures = dir.fillrate(&["show", &run]).exits_with(0).out;
    assert!(listed.ends_with(&figures), "{listed}");
    for hole in &of_file {
        let id = hole["id"].as_str().unwrap();
        assert!(listed.contains(id) && !figures.contains(id), "{listed}");
    }
}

/// A folder with links to some programs, to be all of a search path.
fn only(dir: &TestDir, programs: &[(&str, PathBuf)]) -> PathBuf {
    let folder = dir.path("bin");
    fs::create_dir(&folder).unwrap();
    for (name, program) in programs {
        symlink(program, folder.join(name)).unwrap();
    }
    folder
}

/// The real path of an interpreter, with wrappers on the search path resolved.
fn interpreter(program: &str, code: &[&str]) -> PathBuf {
    let output = Command::new(program).args(code).output().unwrap();
    let path = String::from_utf8(output.stdout).unwrap();
    fs::canonicalize(path.trim()).unwrap()
}

fn python() -> PathBuf {
    interpreter("python3", &["-c", "import sys; print(sys.executable)"])
}

fn node() -> PathBuf {
    interpreter("node", &["-p", "process.execPath"])
}

/// Returns the path of npm's own script.
fn npm() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("npm"))
        .find(|program| program.is_file());
    fs::canonicalize(found.unwrap()).unwrap()
}

/// The table that a person sees on a machine with these programs and no others.
fn summary(dir: &TestDir, path: &Path) -> FinishedCommand {
    let run = text(&dir.path("run"));
    play::run(
        dir.command(&[
            "replay",
            &demo(),
            "--holes",
            HOLES,
            "--model",
            "reference",
            "--out",
            &run,
            "--jobs",
            "1",
        ])
        .env("PATH", path),
    )
}

#[test]
fn without_node_the_python_project_is_replayed() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let path = only(&dir, &[("python3", python())]);
    let finished = summary(&dir, &path).exits_with(0);
    assert!(
        finished.out.contains("1 project left out:"),
        "{finished:#?}"
    );
    assert!(
        finished
            .out
            .contains("  demo-typescript: npm is needed for TypeScript and JavaScript projects")
            || finished.out.contains("  demo-typescript: node"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains("outcomes: passed 4\n"),
        "{finished:#?}"
    );
}

#[test]
fn without_python_the_typescript_project_is_replayed() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let path = only(&dir, &[("node", node()), ("npm", npm())]);
    let finished = summary(&dir, &path).exits_with(0);
    assert!(
        finished.out.contains("1 project left out:"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains("  demo-python: python3"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains("outcomes: passed 4\n"),
        "{finished:#?}"
    );
}

/// It used to wait until its input ended, and every hole for it.
#[test]
fn the_server_exits_on_request() {
    let dir = TestDir::new();
    let mut server = dir
        .command(&["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "method": "exit"}),
    ] {
        std::io::Write::write_all(&mut input, &encode(&message)).unwrap();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let mut status = None;
    while status.is_none() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(10));
        status = server.try_wait().unwrap();
    }
    server.kill().unwrap();
    server.wait().unwrap();
    // The input is still open.
    drop(input);
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

#[test]
fn contexts_are_replayed_on_the_same_holes_and_compared() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let contexts = ["--context", "none,cceval,reference", "--seed", "1"];
    let compared = || replay(&dir, "run", &contexts).exits_with(0).json();
    let first = compared();
    let names: Vec<_> = first["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["context"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["none", "cceval", "reference"]);
    assert_eq!(first["contexts"][0]["against_first"], json!({}));
    for one in &first["contexts"].as_array().unwrap()[1..] {
        for metric in ["pass@1", "em/cceval", "em/tokens", "es/cceval-levenshtein"] {
            let against = &one["against_first"][metric];
            assert_eq!(against["difference"]["n"], 8, "{metric}");
            let test = &against["mcnemar"];
            assert_eq!(test.is_null(), metric.starts_with("es/"), "{metric}");
        }
        let (this, base) = (&one["row"], &first["contexts"][0]["row"]);
        let pass = |row: &Value| row["metrics"]["pass@1"]["value"].as_f64().unwrap();
        let difference = one["against_first"]["pass@1"]["difference"]["value"].as_f64();
        assert!((pass(this) - pass(base) - difference.unwrap()).abs() < 1e-12);
    }
    // Each is a run of its own, which `show` shows, and of which nothing is done twice.
    let of = |context: &str| attempts(&dir.path("run").join(context));
    let before = ["none", "cceval", "reference"].map(of);
    for attempt in before[0].values() {
        assert_eq!(attempt["trace"]["windows"], json!([]));
    }
    for with_windows in &before[1..] {
        let windows = with_windows.values().map(|one| &one["trace"]["windows"]);
        assert!(windows.filter(|windows| **windows != json!([])).count() >= 6);
    }
    assert_eq!(compared(), first);
    assert_eq!(["none", "cceval", "reference"].map(of), before);

    let finished = replay(&dir, "other", &["--context", "none,in-file"]).exits_with(1);
    assert_eq!(finished.error_message(), "--context names `none` twice");
}
