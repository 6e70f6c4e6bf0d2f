//! Methods of papers other than scoring: labels of failures, signs of leakage, tuning data, and
//! distance from real code.

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

/// Writes a corpus of projects without tests as `NAME.toml`: each a Python module of its name.
fn write_corpus(dir: &TestDir, name: &str, modules: &[(&str, &str)]) {
    let mut manifest = "schema = 1\n".to_owned();
    for (project, text) in modules {
        dir.write(&format!("{name}/{project}/{project}.py"), text);
        manifest += &format!(
            "[[project]]\nname = \"{project}\"\nlanguage = \"python\"\n\
             source = {{ path = \"{name}/{project}\" }}\nholes = [\"*.py\"]\n"
        );
    }
    dir.write(&format!("{name}.toml"), &manifest);
}

/// The rows of a file of tuning data.
fn tuning_rows(dir: &TestDir, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.path(file)).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.collect()
}

const HARBOUR: &str = r#"from math import hypot

LIMIT = 12


def knots(metres):
    """Metres a second as knots."""
    return metres * 3600 / 1852


def speed(east, north):
    """Return the speed of a boat over ground.

    In knots, never above the limit of the harbour.
    """
    over_ground = knots(hypot(east, north))
    if over_ground > LIMIT:
        return LIMIT
    return over_ground


def drift(east, north):
    return knots(east) - knots(north)


class Boat:
    length = 4

    def fee(self, days):
        """The fee for some days."""
        return days * self.length * LIMIT
"#;

/// Of `harbour`, `knots` has no dependencies and `drift` no documentation; `speed` of `moorage` is
/// a near-duplicate.
#[test]
fn tuning_data_has_prompts_of_the_paper_and_no_planted_duplicate() {
    let dir = TestDir::new();
    let moorage = HARBOUR
        .replace("def fee", "def charge")
        .replace("The fee for some days.", "What somebody owes who stayed.")
        .replace("days * self.length * LIMIT", "knots(days) + self.length")
        .replace("over_ground)", "over_ground )")
        .replace("never above", "not above");
    write_corpus(
        &dir,
        "boats",
        &[("harbour", HARBOUR), ("moorage", &moorage)],
    );
    dir.write(
        "boats/harbour/LICENSE",
        "Permission is hereby granted, free of charge, to any person obtaining a copy",
    );
    let report = dir
        .fillrate(&[
            "export-tuning",
            "boats.toml",
            "-o",
            "tuning.jsonl",
            "--json",
        ])
        .exits_with(0)
        .json();
    let counts = |project: usize| {
        let one = &report["projects"][project];
        ["documented", "independent", "duplicates", "functions"].map(|key| one[key].as_u64())
    };
    assert_eq!(counts(0), [3, 1, 0, 2].map(Some), "{report}");
    assert_eq!(counts(1), [3, 1, 1, 1].map(Some), "{report}");
    let rows = tuning_rows(&dir, "tuning.jsonl");
    // Three functions, three levels, two forms.
    assert_eq!(rows.len(), 18);
    let of = |name: &str, context: &str, form: &str| {
        let row = rows.iter().find(|row| {
            row["function"] == name && row["context"] == context && row["form"] == form
        });
        row.unwrap().clone()
    };
    let speed = of("speed", "medium", "instruct-2");
    assert_eq!(speed["id"], "harbour/harbour.py:11:speed");
    assert_eq!(speed["license"], "MIT");
    assert_eq!(speed["dependencies"], json!(["knots", "LIMIT"]));
    insta::assert_snapshot!(speed["prompt"].as_str().unwrap(), @r#"
### Instruction:
from math import hypot

LIMIT = 12

def knots(metres):
    """Metres a second as knots."""

The provided code snippet includes necessary dependencies for implementing the `speed` function. Write a Python function `speed(east, north)` to solve the following problem:
"""Return the speed of a boat over ground.

    In knots, never above the limit of the harbour.
    """

### Response:
def speed(east, north):
    """Return the speed of a boat over ground.

    In knots, never above the limit of the harbour.
    """
"#);
    assert_eq!(
        speed["completion"].as_str().unwrap(),
        "\n    over_ground = knots(hypot(east, north))\n    if over_ground > LIMIT:\n        return LIMIT\n    return over_ground"
    );
    insta::assert_snapshot!(of("Boat.fee", "small", "instruct-1")["prompt"].as_str().unwrap(), @r#"
### Instruction:
Write a Python function `fee(self, days)` to solve the following problem:
"""The fee for some days."""

### Response:
from math import hypot

LIMIT = 12

class Boat:
    length = 4

    def fee(self, days):
        """The fee for some days."""
"#);
    // One of the two repositories is for validation, with all its functions.
    for project in ["harbour", "moorage"] {
        let mut splits: Vec<&Value> = rows
            .iter()
            .filter(|row| row["project"] == project)
            .map(|row| &row["split"])
            .collect();
        splits.dedup();
        assert_eq!(splits.len(), 1, "{project}");
    }
}

#[test]
fn tuning_data_leaves_evaluation_sets_out() {
    let dir = TestDir::new();
    write_corpus(&dir, "boats", &[("harbour", HARBOUR)]);
    // The same functions in a project and file of other names.
    write_corpus(&dir, "set", &[("elsewhere", HARBOUR)]);
    dir.fillrate(&["mine", "set.toml", "-o", "tasks.jsonl", "--kinds", "body"])
        .exits_with(0);
    let mined = crate::support::play::holes(&dir.path("tasks.jsonl"));
    let speed = mined
        .iter()
        .find(|hole| hole["reference"].as_str().unwrap().contains("over_ground"));
    dir.write("speed.jsonl", &format!("{}\n", speed.unwrap()));
    let export = |exclude: &[&str]| {
        let mut arguments = vec![
            "export-tuning",
            "boats.toml",
            "-o",
            "tuning.jsonl",
            "--json",
        ];
        arguments.extend(exclude);
        dir.fillrate(&arguments)
    };
    let report = export(&["--exclude", "speed.jsonl"]).exits_with(0).json();
    assert_eq!(report["projects"][0]["excluded"], 1, "{report}");
    let rows = tuning_rows(&dir, "tuning.jsonl");
    assert!(rows.iter().all(|row| row["function"] == "Boat.fee"));
    assert_eq!(rows.len(), 6);
    // With all of them nothing is left, and the earlier file stays.
    let error = export(&["--exclude", "speed.jsonl", "--exclude", "tasks.jsonl"]).exits_with(3);
    let said = error.error_message().to_owned();
    assert!(said.contains("there is nothing to write"), "{said}");
    assert_eq!(tuning_rows(&dir, "tuning.jsonl").len(), 6);
    let error = export(&["--similarity", "0.2"]).exits_with(2);
    assert!(error.err.contains("0.5 to 1"), "{error:?}");
}

#[test]
fn tuning_prompts_show_no_code_of_evaluation_sets() {
    let dir = TestDir::new();
    // The one dependency of `total` is documented, that of `sign` is not and has a short reference.
    let shop = "def price(items, rate):\n    \"\"\"Sums items with a rate.\"\"\"\n    summed = 0\n    \
                for item in items:\n        summed += item * (1 + rate)\n    return summed + cents()\n\n\n\
                def cents():\n    return 99\n\n\n\
                def total(items):\n    \"\"\"The price with tax.\"\"\"\n    return price(items, 0.2)\n\n\n\
                def sign():\n    \"\"\"What the door says.\"\"\"\n    return str(cents())\n";
    write_corpus(&dir, "shops", &[("shop", shop)]);
    dir.fillrate(&["mine", "shops.toml", "-o", "tasks.jsonl", "--kinds", "body"])
        .exits_with(0);
    let mined = crate::support::play::holes(&dir.path("tasks.jsonl"));
    for (name, reference) in [("price", "summed = 0"), ("cents", "return 99")] {
        let hole = mined.iter().find(|hole| {
            hole["reference"]
                .as_str()
                .unwrap()
                .trim()
                .starts_with(reference)
        });
        dir.write(&format!("{name}.jsonl"), &format!("{}\n", hole.unwrap()));
    }
    let levels = |name: &str| {
        let exclude = format!("{name}.jsonl");
        let arguments = [
            "export-tuning",
            "shops.toml",
            "-o",
            "tuning.jsonl",
            "--prompts",
            "base",
            "--exclude",
            &exclude,
            "--json",
        ];
        let report = dir.fillrate(&arguments).exits_with(0).json();
        let rows = tuning_rows(&dir, "tuning.jsonl");
        let of = |function: &str| {
            let rows = rows.iter().filter(|row| row["function"] == function);
            let levels: Vec<String> = rows.map(|row| row["context"].to_string()).collect();
            levels.join(" ")
        };
        let revealing = report["projects"][0]["revealing"].as_u64();
        (of("total"), of("sign"), revealing)
    };
    let all = "\"full\" \"medium\" \"small\"".to_owned();
    let hidden = "\"medium\" \"small\"".to_owned();
    assert_eq!(levels("price"), (hidden.clone(), all.clone(), Some(1)));
    assert_eq!(levels("cents").1, hidden);
}

/// A module of documented functions.
fn documented(name: &str, documentation: &[String]) -> String {
    let functions = documentation.iter().enumerate().map(|(number, text)| {
        format!(
            "def {name}_{number}(value):\n    \"\"\"{text}\"\"\"\n    return value * {number} + {}\n\n\n",
            number + 1000
        )
    });
    functions.collect()
}

/// Writes tasks with this documentation as `NAME.jsonl` with `NAME.toml`.
fn write_tasks(dir: &TestDir, name: &str, documentation: &[String]) {
    write_corpus(dir, name, &[(name, &documented(name, documentation))]);
    let (manifest, tasks) = (format!("{name}.toml"), format!("{name}.jsonl"));
    dir.fillrate(&["mine", &manifest, "-o", &tasks, "--kinds", "body"])
        .exits_with(0);
}

fn distance(dir: &TestDir, name: &str, more: &[&str]) -> Value {
    let (manifest, tasks) = (format!("{name}.toml"), format!("{name}.jsonl"));
    let mut arguments = vec!["audit-distance", &tasks, "--corpus", &manifest];
    arguments.extend(["--real", "real.toml", "--json"]);
    arguments.extend(more);
    dir.fillrate(&arguments).exits_with(0).json()["rows"][0].clone()
}

#[test]
fn tasks_drawn_from_real_code_are_nearer_than_foreign_ones() {
    let dir = TestDir::new();
    let things = [
        "rope", "anchor", "oar", "sail", "mast", "keel", "rudder", "buoy",
    ];
    let doings = ["Ties", "Moves", "Paints", "Weighs"];
    let of = |count: usize, step: usize| -> Vec<String> {
        (0..count)
            .map(|i| i * step)
            .map(|i| format!("{} the {} in a harbour.", doings[i % 4], things[i % 8]))
            .collect()
    };
    write_corpus(&dir, "real", &[("real", &documented("real", &of(40, 1)))]);
    write_tasks(&dir, "drawn", &of(8, 3));
    let foreign: Vec<String> = (0..8)
        .map(|i| format!("Sums integer series number{i}."))
        .collect();
    write_tasks(&dir, "foreign", &foreign);
    let (drawn, foreign) = (distance(&dir, "drawn", &[]), distance(&dir, "foreign", &[]));
    assert_eq!(drawn["variant"], "reconstruction-error/lexical");
    assert_eq!(drawn["error"]["n"], 32, "{drawn}");
    // The eight tasks have every text of the real code; the foreign ones share no word with it.
    let value = |row: &Value, key: &str| row[key]["value"].as_f64().unwrap();
    assert!(value(&drawn, "error") < 1e-6, "{drawn}");
    assert!(
        (value(&foreign, "error") - 2f64.sqrt()).abs() < 1e-9,
        "{foreign}"
    );
    let random = value(&foreign, "random");
    assert!((0.0..1.2).contains(&random), "{foreign}");
    assert_eq!(foreign["random"], drawn["random"]);
}

#[test]
fn reconstruction_error_over_vectors_of_a_server_is_that_by_hand() {
    let dir = TestDir::new();
    // A text's vector are the numbers in it.
    let server = embedding_server();
    dir.write(
        "vectors.toml",
        &format!("[context.embeddings]\nurl = \"{server}\"\nbatch = 3\n"),
    );
    let real: Vec<String> = ["3 4", "3 4", "3 4", "3 4"].map(str::to_owned).to_vec();
    write_corpus(&dir, "real", &[("real", &documented("real", &real))]);
    write_tasks(&dir, "tasks", &["0 0".to_owned(), "100 4".to_owned()]);
    let row = distance(&dir, "tasks", &["--embeddings", "vectors.toml"]);
    assert_eq!(row["variant"], "reconstruction-error");
    assert_eq!(row["tasks"], 2);
    assert_eq!(row["error"]["n"], 2);
    assert_eq!(row["error"]["value"], 5.0, "{row}");
    assert_eq!(row["random"]["value"], 0.0, "{row}");
    let few = &["--embeddings", "vectors.toml", "--samples", "1"];
    assert_eq!(distance(&dir, "tasks", few)["error"]["n"], 1);
}

/// Serves vectors on loopback: the numbers of each text.
fn embedding_server() -> String {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = |stream: &std::net::TcpStream| -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request: Value = serde_json::from_slice(&body).ok()?;
        let vector = |text: &Value| -> Vec<f64> {
            let numbers = text.as_str().unwrap().split(|c: char| !c.is_ascii_digit());
            numbers.filter_map(|number| number.parse().ok()).collect()
        };
        let data: Vec<Value> = request["input"]
            .as_array()?
            .iter()
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
            .collect();
        let text = json!({"data": data}).to_string();
        let mut output = stream;
        write!(
            output,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        )
        .ok()
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            while answer(&stream).is_some() {}
        }
    });
    address
}
