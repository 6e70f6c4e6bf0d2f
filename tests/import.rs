//! Public benchmarks through the whole program: imported, and played.
//!
//! The benchmarks' own data stands beside the repository, not in it; where it is missing, the test
//! says so. `tests/repoexec.rs` does the same for RepoExec.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use std::collections::BTreeMap;
use std::path::Path;

use flate2::read::GzDecoder;
use play::programs::{oracle, say};
use play::{Place, attempts, has, holes, text};
use serde_json::{Value, json};

/// Imports files as `tasks.jsonl`.
fn import(place: &Place, format: &str, file: &Path) {
    let file = text(file);
    place
        .fillrate(&["import", format, &file, "-o", "tasks.jsonl"])
        .ended(0);
}

/// Judges predictions as they stand; the report.
fn judge(place: &Place, predictions: &str, run: &str) -> Value {
    let arguments = [
        "replay",
        "tasks.corpus/corpus.toml",
        "--tasks",
        "tasks.jsonl",
        "--model",
        "predictions",
        "--predictions",
        predictions,
        "--out",
        run,
        "--json",
    ];
    place.fillrate(&arguments).ended(0).json()
}

/// The figures over all projects.
fn figures(report: &Value) -> &Value {
    report["rows"].as_array().unwrap().last().unwrap()
}

/// The outcome of every attempt, by the benchmark's task.
fn outcomes(place: &Place, run: &str) -> BTreeMap<String, Vec<String>> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let tasks: BTreeMap<String, String> = holes(&place.path("tasks.jsonl"))
        .iter()
        .map(|hole| (word(&hole["id"]), word(&hole["task_id"])))
        .collect();
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for attempt in attempts(&place.path(run)).values() {
        let task = tasks[attempt["hole"].as_str().unwrap()].clone();
        let outcome = word(&attempt["verdict"]["outcome"]);
        outcomes.entry(task).or_default().push(outcome);
    }
    outcomes
}

#[test]
fn canonical_solutions_of_random_spans_pass_and_nothing_does_not() {
    let Some(folder) = oracle("humaneval_infilling") else {
        return;
    };
    if has(&["python3"]) {
        infilling(
            &folder.join("HumanEval-RandomSpanInfillingLight.jsonl.gz"),
            164,
        );
    }
}

/// Takes minutes: it is run where `FILLRATE_INFILLING` is `all`.
#[test]
fn canonical_solutions_of_single_lines_pass_and_nothing_does_not() {
    let Some(folder) = oracle("humaneval_infilling") else {
        return;
    };
    if std::env::var("FILLRATE_INFILLING").as_deref() != Ok("all") {
        say("skipped: the 1,033 single lines are judged with FILLRATE_INFILLING=all");
        return;
    }
    if has(&["python3"]) {
        infilling(&folder.join("HumanEval-SingleLineInfilling.jsonl.gz"), 1033);
    }
}

fn infilling(file: &Path, count: usize) {
    let place = Place::new();
    import(&place, "humaneval-infilling", file);
    let packed = std::fs::File::open(file).unwrap();
    let records = std::io::read_to_string(GzDecoder::new(packed)).unwrap();
    let records: Vec<Value> = records
        .lines()
        .map(|record| serde_json::from_str(record).unwrap())
        .collect();
    let predictions = |completion: &dyn Fn(&Value) -> Value| -> String {
        let line = |record: &Value| {
            let completion = completion(record);
            format!(
                "{}\n",
                json!({"task_id": record["task_id"], "completion": completion})
            )
        };
        records.iter().map(line).collect()
    };
    place.write(
        "canonical.jsonl",
        &predictions(&|record| record["canonical_solution"].clone()),
    );
    place.write("empty.jsonl", &predictions(&|_| json!("")));

    let report = judge(&place, "canonical.jsonl", "canonical");
    assert_eq!(figures(&report)["outcomes"], json!({"passed": count}));
    assert_eq!(figures(&report)["metrics"]["pass@1"]["value"], 1.0);

    judge(&place, "empty.jsonl", "empty");
    let outcomes = outcomes(&place, "empty");
    assert_eq!(outcomes.len(), count);
    // What passes with nothing in the hole does so by itself, too: its hole changes nothing.
    let mut differing = Vec::new();
    let mut passing = 0;
    for record in &records {
        let task = record["task_id"].as_str().unwrap();
        let ours = outcomes[task] == ["passed"];
        passing += usize::from(ours);
        if ours != passes_by_itself(record) {
            differing.push(format!("{task}: {:?}", outcomes[task]));
        }
    }
    println!("{count} tasks, {passing} pass with nothing in the hole");
    assert!(differing.is_empty(), "{differing:?}");
}

/// Whether the benchmark's own program, with nothing in its hole, runs to its end in time.
fn passes_by_itself(record: &Value) -> bool {
    let part = |name: &str| record[name].as_str().unwrap();
    let program = format!(
        "{}{}\n{}\ncheck({})",
        part("prompt"),
        part("suffix"),
        part("test"),
        part("entry_point")
    );
    let done = std::process::Command::new("timeout")
        .args(["10", "python3", "-c", &program])
        .output()
        .unwrap();
    done.status.success()
}

#[test]
fn the_example_of_infilling_scores_as_its_authors_say() {
    let Some(folder) = oracle("humaneval_infilling") else {
        return;
    };
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    import(
        &place,
        "humaneval-infilling",
        &folder.join("example_problem.jsonl"),
    );
    let samples = text(&folder.join("example_samples.jsonl"));
    let report = judge(&place, &samples, "example");
    let metrics = &figures(&report)["metrics"];
    let value = |name: &str| metrics[name]["value"].as_f64().unwrap();
    assert!((value("pass@1") - 0.3).abs() < 1e-12, "{metrics}");
    assert_eq!(value("pass@10"), 1.0);
}

#[test]
fn crosscodeeval_scores_as_its_own_scorer_does() {
    let Some(folder) = oracle("crosscodeeval") else {
        return;
    };
    let place = Place::new();
    import(&place, "crosscodeeval", &folder.join("examples.jsonl"));
    let predictions = text(&folder.join("predictions.jsonl"));
    let report = judge(&place, &predictions, "run");
    let all = figures(&report);
    assert_eq!(all["outcomes"], json!({"unjudged": 72}));
    assert_eq!(all["metrics"].get("pass@1"), None, "nothing was judged");
    let expected = std::fs::read_to_string(folder.join("expected_aggregate.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let pairs = [
        ("em/cceval", "em", 100.0),
        ("es/cceval-levenshtein", "es_levenshtein", 1.0),
        ("id_f1/cceval", "id_f1", 100.0),
    ];
    for (ours, theirs, scale) in pairs {
        let value = all["metrics"][ours]["value"].as_f64().unwrap() * scale;
        let rounded = (value * 100.0).round() / 100.0;
        assert_eq!(rounded, expected[theirs], "{ours}");
    }
}

/// Imported tasks without tests go the way of all others: a server is asked, in an editor's words.
#[test]
fn tasks_without_tests_are_played_and_not_judged() {
    let place = Place::new();
    let record = |number: usize| {
        json!({
            "prompt": "import sea\n\n\ndef moor(boat):\n    rope = sea.",
            "groundtruth": "rope(boat)",
            "right_context": "\n    return rope.tie()\n",
            "metadata": {
                "task_id": format!("project_cc_python/{number}"),
                "repository": "harbour-boats-0a1b2c3",
                "file": "boats.py",
                "context_start_lineno": 0,
            },
        })
    };
    place.write("records.jsonl", &format!("{}\n{}\n", record(1), record(2)));
    import(&place, "crosscodeeval", Path::new("records.jsonl"));
    let play = |model: &str| {
        let arguments = [
            "replay",
            "tasks.corpus/corpus.toml",
            "--tasks",
            "tasks.jsonl",
            "--model",
            model,
            "--out",
            model,
            "--json",
        ];
        place.fillrate(&arguments).ended(0).json()
    };
    let report = play("reference");
    let all = figures(&report);
    assert_eq!(all["outcomes"], json!({"unjudged": 2}));
    assert_eq!(all["metrics"]["em/cceval"]["value"], 1.0);
    assert_eq!(all["metrics"].get("pass@1"), None);
    // The other task's file has the answer: it must not be shown.
    let report = play("embedded");
    assert_eq!(figures(&report)["outcomes"], json!({"unjudged": 2}));
    for attempt in attempts(&place.path("embedded")).values() {
        let trace = attempt["trace"].to_string();
        assert!(!trace.contains("rope(boat)"), "{trace}");
    }

    let complaint = |arguments: &[&str]| place.fillrate(arguments).ended(1).complaint().to_owned();
    let mined = complaint(&["replay", "tasks.corpus/corpus.toml", "--out", "no"]);
    assert!(
        mined.contains("has no tests") && mined.contains("--tasks"),
        "{mined}"
    );
    let java = record(3).to_string().replace("boats.py", "Boats.java");
    place.write("records.jsonl", &format!("{java}\n"));
    import(&place, "crosscodeeval", Path::new("records.jsonl"));
    place.write("demo.toml", "schema = 1\n[[project]]\nname = \"a\"\nlanguage = \"python\"\nsource = { path = \".\" }\nholes = [\"*\"]\n");
    let other = complaint(&[
        "replay",
        "demo.toml",
        "--tasks",
        "tasks.jsonl",
        "--out",
        "no",
    ]);
    assert!(other.contains("holes in java can't be replayed"), "{other}");
}

#[test]
fn programs_of_safim_are_judged_by_what_they_print() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let record = json!({
        "task_id": "block_completion_000001", "lang": "python", "prompt": "",
        "eval_prompt": "n = float(input())\nif n > 0:\n    {{completion}}\nelse:\n    print('no')\n",
        "ground_truth": "print(n / 2)",
        "unit_tests": "[{\"input\": \"3\\n\", \"output\": [\"1.5\"]}, {\"input\": \"-1\\n\", \"output\": [\"NO\\n\"]}]",
    });
    place.write("records.jsonl", &format!("{record}\n"));
    import(&place, "safim", Path::new("records.jsonl"));
    let samples = [
        "print(n / 2)",
        "print('1.500000')",
        "print(n / 3)",
        "raise SystemExit",
        "print(",
    ];
    let lines: Vec<String> = samples
        .iter()
        .map(|text| json!({"task_id": "block_completion_000001", "completion": text}).to_string())
        .collect();
    place.write("samples.jsonl", &(lines.join("\n") + "\n"));
    let report = judge(&place, "samples.jsonl", "run");
    let all = figures(&report);
    assert_eq!(
        all["outcomes"],
        json!({"failed": 2, "passed": 2, "syntax": 1})
    );
    let value = all["metrics"]["pass@1"]["value"].as_f64().unwrap();
    assert!((value - 0.4).abs() < 1e-12, "{value}");
}
