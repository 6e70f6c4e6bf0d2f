//! `fillrate stats`: what a tasks file holds, with the real program.

use serde_json::{Value, json};

use crate::support::play::{TestDir, demo, has_tools, holes, kitchen, text};

/// The row of a group.
fn row<'a>(stats: &'a Value, by: &str, name: &str) -> &'a Value {
    let rows = stats["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["by"] == by && row["name"] == name)
        .unwrap_or_else(|| panic!("there is no row for {by} {name}: {rows:#?}"))
}

/// A tasks file written by hand, so that its figures are known. It has the
/// fields of the first version of the format and no others.
fn written(dir: &TestDir) -> String {
    let record = |path: &str, kind: &str, reference: &str| {
        json!({
            "schema": 1, "id": format!("shop/{path}:1:{kind}:0"), "project": "shop",
            "language": "python", "path": path, "kind": kind, "start": 0,
            "end": reference.len(), "file_sha256": "0", "reference": reference,
        })
        .to_string()
    };
    let records = [
        record("a.py", "line", "b = a"),
        record("a.py", "body", "b = a\nreturn b"),
        record("b.py", "body", "b = a\nif b:\n    b = 1\nreturn b"),
    ];
    text(&dir.write("tasks.jsonl", &records.join("\n")))
}

#[test]
fn stats_counts_tasks_without_their_corpus() {
    let dir = TestDir::new();
    let tasks = written(&dir);
    let stats = dir
        .fillrate(&["stats", &tasks, "--json"])
        .exits_with(0)
        .json();
    assert_eq!(stats["tasks"], tasks);
    let all = row(&stats, "all", "*");
    assert_eq!(
        [&all["repositories"], &all["files"], &all["holes"]],
        [1, 2, 3]
    );
    let body = &row(&stats, "kind", "body")["measures"];
    assert_eq!(
        body["reference/lines"],
        json!({"mean": 3.0, "min": 2.0, "max": 4.0, "n": 2})
    );
    assert_eq!(
        body["reference/tokens/syntax"],
        json!({"mean": 8.0, "min": 5.0, "max": 11.0, "n": 2})
    );
    assert_eq!(all["measures"]["prefix/lines"], Value::Null);

    let table = dir.fillrate(&["stats", &tasks]).exits_with(0).out;
    let of_bodies = table.lines().find(|line| line.contains("body")).unwrap();
    let cells: Vec<&str> = of_bodies.split_whitespace().collect();
    assert_eq!(
        cells,
        [
            "kind", "body", "1", "2", "2", "3.0", "(2–4)", "8.0", "(5–11)"
        ]
    );
}

#[test]
fn stats_measures_surroundings_in_the_corpus() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let path = dir.path("tasks.jsonl");
    let tasks = text(&path);
    dir.fillrate(&["mine", &kitchen(), "--holes", "4", "-o", &tasks])
        .exits_with(0);
    let stats = dir
        .fillrate(&["stats", &tasks, "--corpus", &kitchen(), "--json"])
        .exits_with(0)
        .json();
    let all = row(&stats, "all", "*");
    let mined = holes(&path);
    assert_eq!(all["holes"], mined.len());
    assert_eq!(row(&stats, "project", "kitchen")["holes"], mined.len());
    let characters: Vec<u64> = mined
        .iter()
        .map(|hole| hole["start"].as_u64().unwrap())
        .collect();
    // The files hold ASCII only, so that bytes are characters, of which 3.5 count as a token.
    let least = *characters.iter().min().unwrap() as f64;
    assert_eq!(
        all["measures"]["prefix/tokens/approximate"]["min"],
        (least / 3.5).ceil()
    );
    assert_eq!(all["measures"]["suffix/lines"]["n"], mined.len());
}

#[test]
fn stats_refuses_a_corpus_without_the_project() {
    let dir = TestDir::new();
    let tasks = written(&dir);
    let finished = dir
        .fillrate(&["stats", &tasks, "--corpus", &demo()])
        .exits_with(1);
    assert!(
        finished.error_message().contains("the project `shop`"),
        "{}",
        finished.error_message()
    );
}
