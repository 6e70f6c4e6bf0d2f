//! All engines give the same verdicts, and an audit lists one that differs.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, demo, has_tools, holes, kitchen, text};

/// A run over the small project with completions of all kinds at every hole.
fn replayed(dir: &TestDir, engine: &str) -> std::path::PathBuf {
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&["mine", &kitchen(), "--holes", "3", "-o", &text(&tasks)])
        .exits_with(0);
    let predictions: Vec<String> = holes(&tasks)
        .iter()
        .enumerate()
        .map(|(index, hole)| {
            let reference = hole["reference"].as_str().unwrap();
            // Time that runs out takes long to do so; sleeping leaves the processor to others.
            let slow = ["while True: __import__('time').sleep(1)", "return 1"][index.min(1)];
            let completions = [reference, "", "return None", slow, "x = 1 2"];
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    judged(dir, &kitchen(), &tasks, &predictions.join("\n"), engine)
}

/// A run over mined holes with these predictions, five for each hole.
fn judged(
    dir: &TestDir,
    corpus: &str,
    tasks: &Path,
    predictions: &str,
    engine: &str,
) -> std::path::PathBuf {
    let predictions = dir.write("predictions.jsonl", predictions);
    let run = dir.path(engine);
    dir.fillrate(&[
        "replay",
        corpus,
        "--tasks",
        &text(tasks),
        "--model",
        &text(&predictions),
        "--samples",
        "5",
        "--engine",
        engine,
        "--anew",
        "--out",
        &text(&run),
        "--json",
    ])
    .exits_with(0);
    run
}

/// Outcomes by hole and sample.
fn outcomes(run: &Path) -> Vec<(String, u64, String)> {
    let of = |attempt: Value| {
        (
            attempt["hole"].as_str().unwrap().to_owned(),
            attempt["sample"].as_u64().unwrap(),
            attempt["verdict"]["outcome"].as_str().unwrap().to_owned(),
        )
    };
    let mut all: Vec<_> = attempts(run).into_values().map(of).collect();
    all.sort();
    all
}

#[test]
fn every_engine_gives_the_same_verdicts() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let warm = outcomes(&replayed(&dir, "warm"));
    assert_eq!(warm.len(), 15);
    for outcome in ["passed", "failed", "timeout", "syntax"] {
        let there = warm.iter().any(|(_, _, ended)| ended == outcome);
        assert!(there, "no verdict is `{outcome}`: {warm:#?}");
    }
    assert_eq!(warm, outcomes(&replayed(&dir, "cold")));
    assert_eq!(warm, outcomes(&replayed(&dir, "naive")));
}

#[test]
fn every_engine_gives_the_same_verdicts_on_typescript() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let mined = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &demo(),
        "--holes",
        // One of them in Python.
        "2",
        "--kinds",
        "body",
        "-o",
        &text(&mined),
    ])
    .exits_with(0);
    let of_typescript = |hole: &Value| hole["language"] == "typescript";
    let holes: Vec<Value> = holes(&mined).into_iter().filter(of_typescript).collect();
    assert!(!holes.is_empty());
    let lines: Vec<String> = holes.iter().map(Value::to_string).collect();
    let tasks = dir.write("tasks.jsonl", &(lines.join("\n") + "\n"));
    let predictions: Vec<String> = holes
        .iter()
        .map(|hole| {
            let reference = hole["reference"].as_str().unwrap();
            let completions = [
                reference,
                "",
                "throw new Error('no');",
                "x = 1 2",
                // Nothing that the unchanged project loads.
                &format!("void import('node:zlib');\n{reference}"),
            ];
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    let outcomes = |engine| {
        let predictions = predictions.join("\n");
        outcomes(&judged(&dir, &demo(), &tasks, &predictions, engine))
    };
    let warm = outcomes("warm");
    assert_eq!(warm.len(), 5 * holes.len());
    for outcome in ["passed", "failed", "syntax"] {
        let there = warm.iter().any(|(_, _, ended)| ended == outcome);
        assert!(there, "no verdict is `{outcome}`: {warm:#?}");
    }
    assert_eq!(warm, outcomes("cold"));
    assert_eq!(warm, outcomes("naive"));
}

#[test]
fn an_audit_lists_a_verdict_that_differs() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let run = dir.path("run");
    dir.fillrate(&[
        "replay",
        &kitchen(),
        "--holes",
        "3",
        "--model",
        "reference",
        "--out",
        &text(&run),
    ])
    .exits_with(0);
    let audit = || dir.fillrate(&["audit", &text(&run), "--sample", "1"]);
    let finished = audit().exits_with(0);
    assert_eq!(finished.out, "3 of 3 verdicts judged again, 0 differ\n");

    let database = rusqlite::Connection::open(run.join("run.db")).unwrap();
    let (key, record): (String, String) = database
        .query_row("SELECT key, record FROM attempts LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    record["verdict"]["outcome"] = json!("failed");
    database
        .execute(
            "UPDATE attempts SET record = ?1, outcome = 'failed' WHERE key = ?2",
            [record.to_string(), key],
        )
        .unwrap();
    let finished = audit().exits_with(1);
    let hole = record["hole"].as_str().unwrap();
    assert_eq!(
        finished.out,
        format!(
            "3 of 3 verdicts judged again, 1 differ\n\
             {hole}: failed in the run, passed again (every test ran and passed)\n"
        )
    );
    assert!(finished.error_message().starts_with("1 verdicts of "));
    let shown = dir.fillrate(&["show", &text(&run)]).exits_with(0);
    assert!(
        shown
            .out
            .contains("3 verdicts judged again by the naive engine, 1 differ"),
        "{}",
        shown.out
    );
}

/// Mining judges the reference as it is, and a model's exact match has this verdict: it is proven
/// like one that was judged for the model.
#[test]
fn exact_matches_are_proven_and_an_empty_sample_is_an_error() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    dir.write(
        "halves/halves.py",
        "def half(n):\n    whole = n // 2\n    return whole\n",
    );
    dir.write(
        "halves/test_halves.py",
        "from halves import half\n\n\ndef test_half():\n    assert half(8) == 4\n",
    );
    let (project, tasks) = (text(&dir.path("halves")), text(&dir.path("tasks.jsonl")));
    let options = ["--kinds", "body", "--holes", "1", "-o", &tasks];
    dir.fillrate(&[&["mine", &project], &options[..]].concat())
        .exits_with(0);
    for out in ["x/run", "y/run"] {
        let replay = [
            "replay",
            &project,
            "--tasks",
            &tasks,
            "--model",
            "reference",
        ];
        dir.fillrate(&[&replay[..], &["--out", out]].concat())
            .exits_with(0);
    }
    for attempt in attempts(&dir.path("x/run")).into_values() {
        assert_eq!(attempt["verdict"]["proof"], "altered", "{attempt:#}");
    }
    let proven = dir.fillrate(&["show", "x/run", "--proof", "altered", "--json"]);
    let proven = proven.exits_with(0).json();
    assert_eq!(proven["rows"][0]["metrics"]["pass@1"]["value"], 1.0);
    // Two folders of one name are named by their paths.
    let compared = dir.fillrate(&["show", "x/run", "--compare-with", "y/run"]);
    let table = compared.exits_with(0).out;
    assert!(
        table.contains("x/run") && table.contains("y/run"),
        "{table}"
    );
    let audit = dir.fillrate(&["audit", "x/run", "--sample", "0.0000001"]);
    let message = audit.exits_with(3).error_message().to_owned();
    assert!(message.contains("raise --sample"), "{message}");
}
