//! Public benchmarks through the whole program: imported, and played.
//!
//! The benchmarks' own data is in a folder next to the repository, not in it; if it is missing, the
//! test skips.
//! `tests/repoexec.rs` does the same for RepoExec.

use std::collections::BTreeMap;
use std::path::Path;

use fillrate_server::cleanup::{CompletionExtent, CursorSite, clean};
use fillrate_syntax::Language;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, has_tools, holes, text};
use crate::support::programs::{print_uncaptured, recorded_results};

/// Imports files as `tasks.jsonl`.
fn import(dir: &TestDir, format: &str, file: &Path) {
    let file = text(file);
    dir.fillrate(&["import", format, &file, "-o", "tasks.jsonl"])
        .exits_with(0);
}

/// Judges predictions as they are; returns the report.
fn judge(dir: &TestDir, predictions: &str, run: &str) -> Value {
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
    dir.fillrate(&arguments).exits_with(0).json()
}

/// The figures over all projects.
fn figures(report: &Value) -> &Value {
    report["rows"].as_array().unwrap().last().unwrap()
}

/// The outcome of every attempt, by the benchmark's task.
fn outcomes(dir: &TestDir, run: &str) -> BTreeMap<String, Vec<String>> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let tasks: BTreeMap<String, String> = holes(&dir.path("tasks.jsonl"))
        .iter()
        .map(|hole| (word(&hole["id"]), word(&hole["task_id"])))
        .collect();
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for attempt in attempts(&dir.path(run)).values() {
        let task = tasks[attempt["hole"].as_str().unwrap()].clone();
        let outcome = word(&attempt["verdict"]["outcome"]);
        outcomes.entry(task).or_default().push(outcome);
    }
    outcomes
}

/// True if all tasks of the infilling benchmark are judged, which takes minutes.
fn judges_all_infillings() -> bool {
    std::env::var("FILLRATE_INFILLING").as_deref() == Ok("all")
}

/// Judges every fourth span, or each where `FILLRATE_INFILLING` is `all`.
#[test]
fn canonical_random_spans_pass_and_empty_completions_fail() {
    let Some(folder) = recorded_results("humaneval_infilling") else {
        return;
    };
    if has_tools(&["python3"]) {
        infilling(
            &folder.join("HumanEval-RandomSpanInfillingLight.jsonl.gz"),
            164,
            if judges_all_infillings() { 1 } else { 4 },
        );
    }
}

/// It is run where `FILLRATE_INFILLING` is `all`.
#[test]
fn canonical_single_lines_pass_and_empty_completions_fail() {
    let Some(folder) = recorded_results("humaneval_infilling") else {
        return;
    };
    if !judges_all_infillings() {
        print_uncaptured("skipped: the 1,033 single lines are judged with FILLRATE_INFILLING=all");
        return;
    }
    if has_tools(&["python3"]) {
        infilling(
            &folder.join("HumanEval-SingleLineInfilling.jsonl.gz"),
            1033,
            1,
        );
    }
}

/// Clean-up changes no reference, with the default extent as with any other.
#[test]
fn clean_up_keeps_references_of_infilling() {
    let Some(folder) = recorded_results("humaneval_infilling") else {
        return;
    };
    let sets = [
        ("HumanEval-SingleLineInfilling.jsonl.gz", 1033),
        ("HumanEval-RandomSpanInfillingLight.jsonl.gz", 164),
    ];
    for (file, count) in sets {
        let packed = std::fs::File::open(folder.join(file)).unwrap();
        let records = std::io::read_to_string(GzDecoder::new(packed)).unwrap();
        let kept = |extent: CompletionExtent| {
            let is_kept = |line: &&str| {
                let record: Value = serde_json::from_str(line).unwrap();
                let part = |name: &str| record[name].as_str().unwrap();
                let site = CursorSite {
                    prefix: part("prompt"),
                    suffix: part("suffix"),
                    path: None,
                    language: Language::by_id("python"),
                    tree: None,
                    extent,
                    chat: false,
                };
                let reference = part("canonical_solution");
                clean(reference, &site).0.trim_end() == reference.trim_end()
            };
            records.lines().filter(is_kept).count()
        };
        assert_eq!(records.lines().count(), count);
        assert_eq!(kept(CompletionExtent::Anything), count, "{file}");
        assert_eq!(kept(CompletionExtent::Block), count, "{file}");
    }
}

/// Judges the reference and nothing at every `step`th of a file's records, of which there are
/// `count`.
fn infilling(file: &Path, count: usize, step: usize) {
    let dir = TestDir::new();
    let packed = std::fs::File::open(file).unwrap();
    let records = std::io::read_to_string(GzDecoder::new(packed)).unwrap();
    assert_eq!(records.lines().count(), count);
    let records: Vec<&str> = records.lines().step_by(step).collect();
    let chosen = dir.write("records.jsonl", &(records.join("\n") + "\n"));
    import(&dir, "humaneval-infilling", &chosen);
    let records: Vec<Value> = records
        .into_iter()
        .map(|record| serde_json::from_str(record).unwrap())
        .collect();
    let count = records.len();
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
    dir.write(
        "canonical.jsonl",
        &predictions(&|record| record["canonical_solution"].clone()),
    );
    dir.write("empty.jsonl", &predictions(&|_| json!("")));

    let report = judge(&dir, "canonical.jsonl", "canonical");
    assert_eq!(figures(&report)["outcomes"], json!({"passed": count}));
    assert_eq!(figures(&report)["metrics"]["pass@1"]["value"], 1.0);

    judge(&dir, "empty.jsonl", "empty");
    let outcomes = outcomes(&dir, "empty");
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

/// True if the benchmark's own program, with nothing in its hole, runs to its end in time.
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
fn the_infilling_example_scores_as_published() {
    let Some(folder) = recorded_results("humaneval_infilling") else {
        return;
    };
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    import(
        &dir,
        "humaneval-infilling",
        &folder.join("example_problem.jsonl"),
    );
    let samples = text(&folder.join("example_samples.jsonl"));
    let report = judge(&dir, &samples, "example");
    let metrics = &figures(&report)["metrics"];
    let value = |name: &str| metrics[name]["value"].as_f64().unwrap();
    assert!((value("pass@1") - 0.3).abs() < 1e-12, "{metrics}");
    assert_eq!(value("pass@10"), 1.0);
}

#[test]
fn crosscodeeval_scores_equal_its_own_scorer() {
    let Some(folder) = recorded_results("crosscodeeval") else {
        return;
    };
    let dir = TestDir::new();
    import(&dir, "crosscodeeval", &folder.join("examples.jsonl"));
    let predictions = text(&folder.join("predictions.jsonl"));
    let report = judge(&dir, &predictions, "run");
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

/// Imported tasks without tests take the same path as others: an editor's requests to the server.
#[test]
fn tasks_without_tests_are_replayed_and_unjudged() {
    let dir = TestDir::new();
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
    dir.write("records.jsonl", &format!("{}\n{}\n", record(1), record(2)));
    import(&dir, "crosscodeeval", Path::new("records.jsonl"));
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
        dir.fillrate(&arguments).exits_with(0).json()
    };
    let report = play("reference");
    let all = figures(&report);
    assert_eq!(all["outcomes"], json!({"unjudged": 2}));
    assert_eq!(all["metrics"]["em/cceval"]["value"], 1.0);
    assert_eq!(all["metrics"].get("pass@1"), None);
    // The other task's file has the answer: it must not be shown.
    let report = play("embedded");
    assert_eq!(figures(&report)["outcomes"], json!({"unjudged": 2}));
    for attempt in attempts(&dir.path("embedded")).values() {
        let trace = attempt["trace"].to_string();
        assert!(!trace.contains("rope(boat)"), "{trace}");
    }

    // Without --tasks, holes are mined from the files, which have no tests either.
    let corpus = "tasks.corpus/corpus.toml";
    let mined = dir.fillrate(&["replay", corpus, "--out", "mined", "--json"]);
    let report = mined.exits_with(0).json();
    assert_eq!(figures(&report)["metrics"].get("pass@1"), None);

    let error_message = |arguments: &[&str]| {
        dir.fillrate(arguments)
            .exits_with(1)
            .error_message()
            .to_owned()
    };
    let cpp = json!({
        "task_id": "block_completion_000001", "lang": "cpp", "prompt": "",
        "eval_prompt": "int main() {\n    {{completion}}\n}\n",
        "ground_truth": "return 0;",
        "unit_tests": "[{\"input\": \"\", \"output\": [\"\"]}]",
    });
    dir.write("records.jsonl", &format!("{cpp}\n"));
    import(&dir, "safim", Path::new("records.jsonl"));
    dir.write("demo.toml", "schema = 1\n[[project]]\nname = \"a\"\nlanguage = \"python\"\nsource = { path = \".\" }\nholes = [\"*\"]\n");
    let other = error_message(&[
        "replay",
        "demo.toml",
        "--tasks",
        "tasks.jsonl",
        "--out",
        "no",
    ]);
    assert!(other.contains("holes in cpp can't be replayed"), "{other}");
}

#[test]
fn safim_programs_are_judged_by_their_output() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let record = json!({
        "task_id": "block_completion_000001", "lang": "python", "prompt": "",
        "eval_prompt": "n = float(input())\nif n > 0:\n    {{completion}}\nelse:\n    print('no')\n",
        "ground_truth": "print(n / 2)",
        "unit_tests": "[{\"input\": \"3\\n\", \"output\": [\"1.5\"]}, {\"input\": \"-1\\n\", \"output\": [\"NO\\n\"]}]",
    });
    dir.write("records.jsonl", &format!("{record}\n"));
    import(&dir, "safim", Path::new("records.jsonl"));
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
    dir.write("samples.jsonl", &(lines.join("\n") + "\n"));
    let report = judge(&dir, "samples.jsonl", "run");
    let all = figures(&report);
    assert_eq!(
        all["outcomes"],
        json!({"failed": 2, "passed": 2, "syntax": 1})
    );
    let value = all["metrics"]["pass@1"]["value"].as_f64().unwrap();
    assert!((value - 0.4).abs() < 1e-12, "{value}");
}

/// Regression: neither ran, because packages were searched only in the project's own folder, and a
/// test's name in node's form matched no test.
#[test]
fn devbench_scripts_are_run_with_their_packages() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let record = |language: &str, id: &str, factor: u32| {
        let typed = if language == "typescript" {
            ": number"
        } else {
            ""
        };
        json!({
            "id": id, "testsource": "devbench-low-context", "language": language,
            "prefix": format!("const isNumber = require('is-number');\nfunction apply(n{typed}) {{"),
            "golden_completion": format!("    return {factor} * n;"),
            "suffix": "}",
            "assertions": "if (!isNumber('3') || apply(3) !== 6) throw new Error('six');",
        })
    };
    let lines = |values: Vec<Value>| -> String {
        values.iter().map(|value| format!("{value}\n")).collect()
    };
    let languages = ["javascript", "typescript"];
    // A wrong program does not affect the others.
    let records = languages.map(|language| [record(language, "1", 2), record(language, "2", 3)]);
    dir.write("records.jsonl", &lines(records.concat()));
    let mut arguments = vec!["import", "devbench", "records.jsonl", "-o", "tasks.jsonl"];
    arguments.extend(["--package", "is-number@7.0.0"]);
    dir.fillrate(&arguments).exits_with(0);
    let completion = |language: &str, id: &str, text: &str| json!({"task_id": format!("{language}/low-context/{id}"), "completion": format!("    {text}")});
    let predictions = languages.map(|language| {
        [
            completion(language, "1", "return n + n;"),
            completion(language, "1", "return n;"),
            completion(language, "1", "return none;"),
            completion(language, "2", "return 2 * n;"),
        ]
    });
    dir.write("samples.jsonl", &lines(predictions.concat()));
    judge(&dir, "samples.jsonl", "run");
    let mut judged = outcomes(&dir, "run");
    judged.values_mut().for_each(|outcomes| outcomes.sort());
    for language in languages {
        let of = |id: &str| &judged[&format!("{language}/low-context/{id}")];
        assert_eq!(*of("1"), ["failed", "failed", "passed"]);
        assert_eq!(*of("2"), ["flaky"]);
    }
}
