//! Replays of files as they were when a hole's code was written.

use fillrate_server::model::recorded;
use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, has_tools, holes};

const SHOP: &str = "RATE = 3\n\n\ndef price(count):\n    total = sum(\n        \
    [count] * RATE\n    )\n    return total\n\n\ndef label(count):\n    return str(price(count))\n";

/// A project with one file, and the tasks file of one hole in it, the argument of `sum`.
fn shop(dir: &TestDir) {
    dir.write("shop/shop.py", SHOP);
    dir.write(
        "shop/test_shop.py",
        "from shop import label, price\n\n\ndef test_price():\n    assert price(2) == 6\n    \
         assert label(1) == '3'\n",
    );
    dir.fillrate(&["mine", "shop", "--kinds", "line", "-o", "all.jsonl"])
        .exits_with(0);
    let all = holes(&dir.path("all.jsonl"));
    let hole = all
        .iter()
        .find(|hole| hole["reference"] == "[count] * RATE")
        .unwrap_or_else(|| panic!("{all:#?}"));
    dir.write("tasks.jsonl", &format!("{hole}\n"));
}

#[test]
fn each_view_shows_its_file_and_judges_the_finished_one() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    shop(&dir);
    let replay = |more: &[&str]| {
        let model = ["--model", "reference", "--context", "none"];
        let base = ["replay", "shop", "--tasks", "tasks.jsonl"];
        dir.fillrate(&[&base[..], &model[..], more].concat())
    };
    let views = [
        "--view",
        "finished,as-written,closed",
        "--out",
        "run",
        "--json",
    ];
    let compared = replay(&views).exits_with(0).json();
    let file = [
        "--view",
        "as-written",
        "--view-extent",
        "file",
        "--out",
        "file",
    ];
    replay(&file).exits_with(0);
    let names: Vec<&Value> = compared["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["context"])
        .collect();
    assert_eq!(names, ["none", "none-as-written", "none-closed"]);

    let (before, after) = SHOP.split_once("[count] * RATE").unwrap();
    let (_, rest) = after.split_once("return total").unwrap();
    let mut keys = Vec::new();
    for (run, suffix, view) in [
        ("run/none", after.to_owned(), "finished"),
        ("run/none-as-written", rest.to_owned(), "as-written"),
        ("run/none-closed", format!("\n    ){rest}"), "closed"),
        ("file", String::new(), "as-written-file"),
    ] {
        // The recorded model answers only where the server sees exactly this.
        let recording = std::fs::read_to_string(dir.path(run).join("recording.jsonl")).unwrap();
        assert!(
            recording.contains(&recorded::key(before, &suffix)),
            "{view}"
        );
        // What is sent never depends on the machine's speed.
        let settings = std::fs::read_to_string(dir.path(run).join("server.toml")).unwrap();
        assert!(settings.contains("budget_ms = 0"), "{settings}");
        let attempts = attempts(&dir.path(run));
        assert_eq!(attempts.len(), 1);
        keys.extend(attempts.keys().cloned());
        let attempt = attempts.values().next().unwrap();
        assert_eq!(attempt["offered"], json!(["[count] * RATE"]), "{view}");
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{view}");
        let table = format!("{view}.jsonl");
        dir.fillrate(&["export", run, "-o", &table]).exits_with(0);
        let row = std::fs::read_to_string(dir.path(&table)).unwrap();
        let row: Value = serde_json::from_str(&row).unwrap();
        assert_eq!(row["view"], view);
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4, "each view has attempts of its own");
}

#[test]
fn views_without_effect_are_refused() {
    let dir = TestDir::new();
    dir.write("shop/shop.py", SHOP);
    for (more, message) in [
        (
            &["--view-extent", "file"][..],
            "--view-extent says what `--view as-written` and `--view closed` cut; add one of \
             them, or leave it out",
        ),
        (&["--view", "closed,closed"], "--view names `closed` twice"),
        (
            &["--view", "closed", "--context", "mrg-none"],
            "--context mrg-none shows a function by itself, so `--view closed` has no effect; \
             leave one of them out",
        ),
    ] {
        let refused = dir
            .fillrate(&[&["replay", "shop"], more].concat())
            .exits_with(1);
        assert_eq!(refused.error_message(), message);
    }
}

/// Where nothing follows, a model closes what the finished file closes after the hole.
#[test]
fn what_a_view_lacks_may_be_written_too() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    shop(&dir);
    let hole = &holes(&dir.path("tasks.jsonl"))[0];
    let answer =
        json!({"hole": hole["id"], "completions": ["[count] * RATE\n    )\n    return total"]});
    dir.write("answers.jsonl", &answer.to_string());
    let replay = [
        "replay",
        "shop",
        "--tasks",
        "tasks.jsonl",
        "--model",
        "answers.jsonl",
        "--context",
        "none",
        "--view",
        "finished,as-written,closed",
        "--out",
        "run",
        "--json",
    ];
    dir.fillrate(&replay).exits_with(0);
    let id = hole["id"].as_str().unwrap().to_owned();
    for (run, offered, overlap) in [
        ("run/none", "[count] * RATE", Value::Null),
        (
            "run/none-as-written",
            "[count] * RATE\n    )",
            json!("\n    )"),
        ),
        ("run/none-closed", "[count] * RATE", Value::Null),
    ] {
        let attempts = attempts(&dir.path(run));
        let attempt = attempts.values().next().unwrap();
        assert_eq!(attempt["offered"], json!([offered]), "{run}");
        assert_eq!(attempt["overlap"], overlap, "{run}");
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{run}");
        let shown = dir.fillrate(&["show", run, "--json"]).exits_with(0).json();
        let accepted = &shown["rows"][0]["metrics"]["acceptance/oracle-prefix"];
        assert_eq!(accepted["value"], 1.0, "{run}: {shown:#}");
        let attempt = dir.fillrate(&["show", run, &id]).exits_with(0).out;
        let judged = "text of the finished file that it writes too, left out where it was judged";
        assert_eq!(
            attempt.contains(judged),
            overlap != Value::Null,
            "{attempt}"
        );
        let audit = ["audit", run, "--sample", "1.0"];
        dir.fillrate(&audit).exits_with(0);
    }
}
