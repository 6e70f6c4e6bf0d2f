//! Verdicts are the same however they are reached, and one that is not is told.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use std::path::Path;

use play::{Place, attempts, demo, has, holes, kitchen, text};
use serde_json::{Value, json};

/// A run over the small project with completions of all kinds at every hole.
fn replayed(place: &Place, engine: &str) -> std::path::PathBuf {
    let tasks = place.path("tasks.jsonl");
    place
        .fillrate(&["mine", &kitchen(), "--holes", "3", "-o", &text(&tasks)])
        .ended(0);
    let predictions: Vec<String> = holes(&tasks)
        .iter()
        .enumerate()
        .map(|(index, hole)| {
            let reference = hole["reference"].as_str().unwrap();
            // Time that runs out takes long to do so.
            let slow = ["while True: pass", "return 1"][index.min(1)];
            let completions = [reference, "", "return None", slow, "x = ("];
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    judged(place, &kitchen(), &tasks, &predictions.join("\n"), engine)
}

/// A run over mined holes with these predictions, five for each hole.
fn judged(
    place: &Place,
    corpus: &str,
    tasks: &Path,
    predictions: &str,
    engine: &str,
) -> std::path::PathBuf {
    let predictions = place.write("predictions.jsonl", predictions);
    let run = place.path(engine);
    place
        .fillrate(&[
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
        .ended(0);
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
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let warm = outcomes(&replayed(&place, "warm"));
    assert_eq!(warm.len(), 15);
    for outcome in ["passed", "failed", "timeout", "syntax"] {
        let there = warm.iter().any(|(_, _, ended)| ended == outcome);
        assert!(there, "no verdict is `{outcome}`: {warm:#?}");
    }
    assert_eq!(warm, outcomes(&replayed(&place, "cold")));
    assert_eq!(warm, outcomes(&replayed(&place, "naive")));
}

#[test]
fn every_engine_gives_the_same_verdicts_on_typescript() {
    if !has(&["node", "npm"]) {
        return;
    }
    let place = Place::new();
    let mined = place.path("mined.jsonl");
    place
        .fillrate(&[
            "mine",
            &demo(),
            "--holes",
            "4",
            "--kinds",
            "body",
            "-o",
            &text(&mined),
        ])
        .ended(0);
    let of_typescript = |hole: &Value| hole["language"] == "typescript";
    let holes: Vec<Value> = holes(&mined).into_iter().filter(of_typescript).collect();
    assert!(!holes.is_empty());
    let lines: Vec<String> = holes.iter().map(Value::to_string).collect();
    let tasks = place.write("tasks.jsonl", &(lines.join("\n") + "\n"));
    let predictions: Vec<String> = holes
        .iter()
        .map(|hole| {
            let reference = hole["reference"].as_str().unwrap();
            let completions = [
                reference,
                "",
                "throw new Error('no');",
                "x = (",
                // Nothing that the unchanged project loads.
                &format!("void import('node:zlib');\n{reference}"),
            ];
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    let outcomes = |engine| {
        let predictions = predictions.join("\n");
        outcomes(&judged(&place, &demo(), &tasks, &predictions, engine))
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
fn an_audit_tells_a_verdict_that_does_not_hold() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let run = place.path("run");
    place
        .fillrate(&[
            "replay",
            &kitchen(),
            "--holes",
            "3",
            "--model",
            "reference",
            "--out",
            &text(&run),
        ])
        .ended(0);
    let audit = || place.fillrate(&["audit", &text(&run), "--sample", "1"]);
    let said = audit().ended(0);
    assert_eq!(said.out, "3 of 3 verdicts judged again, 0 differ\n");

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
    let said = audit().ended(1);
    let hole = record["hole"].as_str().unwrap();
    assert_eq!(
        said.out,
        format!(
            "3 of 3 verdicts judged again, 1 differ\n\
             {hole}: failed in the run, passed again (every test ran and passed)\n"
        )
    );
    assert!(said.complaint().starts_with("1 verdicts of "));
    let shown = place.fillrate(&["show", &text(&run)]).ended(0);
    assert!(
        shown
            .out
            .contains("3 verdicts judged again in the slow way, 1 differ"),
        "{}",
        shown.out
    );
}
