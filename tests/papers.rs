//! What papers do with a run beside scoring it: labels of failures, and signs of leakage.

use serde_json::{Value, json};

use crate::augment::Chat;
use crate::support::play::{TestDir, attempts, has_tools};

/// Imports records as `tasks.jsonl` and judges predictions as they are, into `run`.
fn judge(dir: &TestDir, format: &str, records: &[Value], predictions: &[Value], run: &str) {
    let lines =
        |values: &[Value]| -> String { values.iter().map(|value| format!("{value}\n")).collect() };
    dir.write("records.jsonl", &lines(records));
    dir.write("predictions.jsonl", &lines(predictions));
    dir.fillrate(&["import", format, "records.jsonl", "-o", "tasks.jsonl"])
        .exits_with(0);
    dir.fillrate(&[
        "replay",
        "tasks.corpus/corpus.toml",
        "--tasks",
        "tasks.jsonl",
        "--model",
        "predictions",
        "--predictions",
        "predictions.jsonl",
        "--out",
        run,
    ])
    .exits_with(0);
}

/// Of twenty holes, the model knows five by heart: it repeats their reference half of the time.
#[test]
fn planted_leaks_are_found_at_their_rate() {
    let dir = TestDir::new();
    let reference = |hole: usize| {
        let words: Vec<String> = (0..30).map(|word| format!("w{hole}_{word}")).collect();
        format!("f({})", words.join(", "))
    };
    let other = |hole: usize, sample: usize| {
        let words: Vec<String> = (0..30)
            .map(|word| format!("x{hole}_{sample}_{word}"))
            .collect();
        format!("g({})", words.join(", "))
    };
    let (mut records, mut predictions) = (Vec::new(), Vec::new());
    for hole in 0..20 {
        records.push(json!({
            "prompt": format!("def moor_{hole}():\n    return "),
            "groundtruth": reference(hole),
            "right_context": "\n",
            "metadata": {
                "task_id": format!("t/{hole}"),
                "repository": "harbour-boats-1",
                "file": format!("boats_{hole}.py"),
                "context_start_lineno": 0,
            },
        }));
        for sample in 0..11 {
            let known = hole < 5 && sample % 2 == 0;
            let text = if known {
                reference(hole)
            } else {
                other(hole, sample)
            };
            predictions.push(json!({"task_id": format!("t/{hole}"), "completion": text}));
        }
    }
    judge(&dir, "crosscodeeval", &records, &predictions, "run");
    let audit = dir
        .fillrate(&["audit-leakage", "run", "--json"])
        .exits_with(0)
        .json();
    assert_eq!(audit["leaked"]["value"], 0.25, "{audit}");
    assert_eq!(audit["leaked"]["n"], 20);
    assert_eq!(audit["overlap"]["value"], 0.25);
    let holes = audit["holes"].as_array().unwrap();
    let leaked: Vec<&Value> = holes.iter().filter(|hole| hole["leaked"] == true).collect();
    assert_eq!(leaked.len(), 5);
    // Sample 0 is the greedy output; of the other ten, five are its copies.
    assert!(
        leaked
            .iter()
            .all(|hole| hole["peakedness"] == 0.5 && hole["samples"] == 10)
    );
    let table = dir.fillrate(&["audit-leakage", "run", "--xi", "0.5"]);
    let table = table.exits_with(0).out.clone();
    assert!(table.contains("leaked/cdd: 0.0 %"), "{table}");
}

/// Three judges of ten failed answers, one of them a model: the majority is kept, and kappa is that
/// of the definition.
#[test]
fn failed_answers_get_the_label_of_the_majority() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let record = json!({
        "task_id": "block_1", "lang": "python", "prompt": "",
        "eval_prompt": "n = int(input())\n{{completion}}\n",
        "ground_truth": "print(n + 1)",
        "unit_tests": "[{\"input\": \"3\\n\", \"output\": [\"4\"]}]",
    });
    let wrong = |index: usize| json!({"task_id": "block_1", "completion": format!("print({index} - 9 * n)")});
    let mut predictions: Vec<Value> = (0..10).map(wrong).collect();
    predictions.push(json!({"task_id": "block_1", "completion": "print(n + 1)"}));
    judge(&dir, "safim", &[record], &predictions, "run");
    let failed: Vec<String> = attempts(&dir.path("run"))
        .into_iter()
        .filter(|(_, attempt)| attempt["verdict"]["outcome"] == "failed")
        .map(|(key, _)| key)
        .collect();
    assert_eq!(failed.len(), 10);

    // Ann calls the first six `what`, Ben the first five; the model says `what` throughout.
    let mut labels = String::new();
    for (index, key) in failed.iter().enumerate() {
        for (judge, first) in [("ann", 6), ("ben", 5)] {
            let label = if index < first { "what" } else { "how" };
            labels += &format!(
                "{}\n",
                json!({"attempt": key, "judge": judge, "label": label})
            );
        }
    }
    dir.write("labels.jsonl", &labels);
    dir.write("prompt.txt", "Say What or How.");
    let answer = vec!["It does something else. <label>What</label>".to_owned()];
    let chat = Chat::new(vec![answer; 10]);
    dir.write("judge.toml", &chat.settings("openai-chat"));
    let outcome = dir
        .fillrate(&[
            "annotate",
            "run",
            "--judges",
            "judge.toml",
            "--labels",
            "labels.jsonl",
            "--prompt",
            "prompt.txt",
            "-o",
            "annotated.jsonl",
            "--json",
        ])
        .exits_with(0)
        .json();
    let rows = &outcome["rows"];
    assert_eq!(rows[0]["what"], 6, "{outcome}");
    assert_eq!(rows[0]["how"], 4);
    assert_eq!(rows[0]["context"], "none shown");
    // Observed: five rows agree, five have one pair of three: (5 + 5 / 3) / 10. By chance: of 30
    // labels, 21 and 9.
    let (observed, chance) = ((5.0 + 5.0 / 3.0) / 10.0, 0.7_f64.powi(2) + 0.3_f64.powi(2));
    let kappa = outcome["kappa"]["value"].as_f64().unwrap();
    assert!(
        (kappa - (observed - chance) / (1.0 - chance)).abs() < 1e-12,
        "{kappa}"
    );
    assert_eq!(outcome["kappa"]["n"], 10);
    let written = std::fs::read_to_string(dir.path("annotated.jsonl")).unwrap();
    assert_eq!(written.lines().count(), 10);
    let requests = chat.requests.lock().unwrap();
    assert_eq!(requests.len(), 10);
    let asked = requests[0].to_string();
    assert!(asked.contains("Say What or How."), "{asked}");
    assert!(asked.contains("print(n + 1)"), "{asked}");
}
