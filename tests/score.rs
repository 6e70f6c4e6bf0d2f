//! `fillrate score` with the real program: its figures are the published ones, and those that
//! Python's own libraries give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::support::play::{TestDir, has_tools, holes, kitchen, repository, text};
use crate::support::programs;

/// CrossCodeEval's examples with its own scorer's values.
fn recorded_results() -> Option<PathBuf> {
    programs::recorded_results("crosscodeeval")
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Records by their task.
fn by_task(path: &Path) -> BTreeMap<String, Value> {
    records(path)
        .into_iter()
        .map(|record| (record["task_id"].as_str().unwrap().to_owned(), record))
        .collect()
}

/// Every variant that CrossCodeEval's scorer has, with its name there.
const PUBLISHED: [(&str, &str); 7] = [
    ("em/cceval", "em"),
    ("es/cceval-difflib", "es_difflib"),
    ("es/cceval-levenshtein", "es_levenshtein"),
    ("id_em/cceval", "id_em"),
    ("id_precision/cceval", "id_precision"),
    ("id_recall/cceval", "id_recall"),
    ("id_f1/cceval", "id_f1"),
];

/// The figure of a metric of the first prediction file, or of another.
fn figure<'a>(scores: &'a Value, file: usize, variant: &str) -> &'a Value {
    let metrics = scores["predictions"][file]["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|figure| figure["variant"] == variant)
        .unwrap_or_else(|| panic!("there is no {variant}: {scores:#}"))
}

#[test]
fn every_score_equals_the_published_one() {
    let Some(recorded_results) = recorded_results() else {
        return;
    };
    let dir = TestDir::new();
    let output = dir.path("values.jsonl");
    let scores = dir
        .fillrate(&[
            "score",
            "--examples",
            &text(&recorded_results.join("examples.jsonl")),
            "--predictions",
            &text(&recorded_results.join("predictions.jsonl")),
            "-o",
            &text(&output),
            "--json",
        ])
        .exits_with(0)
        .json();
    let expected = by_task(&recorded_results.join("expected.jsonl"));
    let ours = by_task(&output);
    assert_eq!(ours.len(), 72);
    assert!(ours.keys().eq(expected.keys()));
    let mut wrong = Vec::new();
    for (task, expected) in &expected {
        let fields = expected.as_object().unwrap();
        // The task, the truncated text, and every figure: nothing is left out.
        assert_eq!(fields.len(), 2 + PUBLISHED.len());
        let ours = &ours[task];
        if ours["truncated"] != expected["truncated"] {
            wrong.push(format!(
                "{task}: {} {}",
                ours["truncated"], expected["truncated"]
            ));
        }
        for (variant, field) in PUBLISHED {
            let (ours, theirs) = (
                ours["metrics"][variant].as_f64().unwrap(),
                expected[field].as_f64().unwrap(),
            );
            if (ours - theirs).abs() > 1e-12 {
                wrong.push(format!("{task} {variant}: {ours}, not {theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let aggregate = fs::read_to_string(recorded_results.join("expected_aggregate.json")).unwrap();
    let aggregate: Value = serde_json::from_str(&aggregate).unwrap();
    for (variant, field) in PUBLISHED {
        let figure = figure(&scores, 0, variant);
        assert_eq!(figure["n"], aggregate["n"]);
        // The published figures are in percent, with two decimals.
        let scale = if figure["unit"] == "percent" {
            1.0
        } else {
            100.0
        };
        let ours = format!("{:.2}", figure["value"].as_f64().unwrap() * scale);
        let theirs = format!("{:.2}", aggregate[field].as_f64().unwrap());
        assert_eq!(ours, theirs, "{variant}");
    }
    assert_eq!(scores["clusters"], 14);
}

/// A text of at most `longest` characters, from one of several alphabets.
fn random_text(random: &mut ChaCha8Rng, longest: usize) -> String {
    const ALPHABETS: [&str; 6] = [
        "ab",
        "abcdefgh \n",
        "self.result = other_name(index, 0)\n    # // '\"\\",
        "aä€𝄞名\u{301}\u{94d}\u{bd}\u{2167}१ \"'\\\n",
        "x\u{1c}\u{1f}\u{85}\u{a0}\u{2028}\u{b}\r\n \t\u{200b}\u{feff}",
        "f(x) = [1];\n{}:, ",
    ];
    let alphabet: Vec<char> = ALPHABETS.choose(random).unwrap().chars().collect();
    let length = random.random_range(0..=longest);
    (0..length)
        .map(|_| *alphabet.choose(random).unwrap())
        .collect()
}

/// A text with a few edits.
fn edited(random: &mut ChaCha8Rng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..random.random_range(0..6) {
        let at = random.random_range(0..=characters.len());
        let end = characters.len().min(at + random.random_range(0..4));
        let put = ['x', '\n', ')', 'é'].choose(random).copied();
        characters.splice(at..end, put);
    }
    characters.into_iter().collect()
}

/// Random examples with predictions, as files.
fn random_files(dir: &TestDir, seed: u64, count: usize) -> (PathBuf, PathBuf) {
    const PROMPTS: [&str; 6] = [
        "",
        "x = ",
        "def f(a):\n    return a.",
        "total = sum(\n    [",
        "# naïve 名前\nclass A:\n    def f(self):\n        if self.",
        "s = '''",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut examples, mut predictions) = (String::new(), String::new());
    for i in 0..count {
        // From 200 characters on, difflib leaves frequent ones out.
        let longest = *[0, 4, 30, 230, 420].choose(&mut random).unwrap();
        let prediction = random_text(&mut random, longest);
        let reference = if random.random_bool(0.5) {
            edited(&mut random, &prediction)
        } else {
            let longest = *[0, 4, 30, 230, 420].choose(&mut random).unwrap();
            random_text(&mut random, longest)
        };
        let file = *["m.py", "m.py", "m.ts", "M.java", "M.cs"]
            .choose(&mut random)
            .unwrap();
        let example = json!({
            "prompt": PROMPTS.choose(&mut random).unwrap(),
            "groundtruth": reference,
            "metadata": {"task_id": format!("random/{i}"), "repository": "r", "file": file},
        });
        let prediction = json!({"task_id": format!("random/{i}"), "prediction": prediction});
        examples += &format!("{example}\n");
        predictions += &format!("{prediction}\n");
    }
    (
        dir.write("examples.jsonl", &examples),
        dir.write("predictions.jsonl", &predictions),
    )
}

#[test]
fn random_texts_score_like_difflib_and_rapidfuzz() {
    let Some(python) = programs::install("scorer") else {
        return;
    };
    let dir = TestDir::new();
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let (examples, predictions) = random_files(&dir, seed, 400);
    let output = dir.path("values.jsonl");
    dir.fillrate(&[
        "score",
        "--examples",
        &text(&examples),
        "--predictions",
        &text(&predictions),
        "-o",
        &text(&output),
    ])
    .exits_with(0);
    let theirs = Command::new(python)
        .arg(repository("replay/benches/metrics.py"))
        .args([&examples, &predictions])
        .output()
        .unwrap();
    assert!(theirs.status.success(), "{theirs:?}");
    let theirs = dir.write("theirs.jsonl", &String::from_utf8(theirs.stdout).unwrap());
    let (ours, theirs) = (records(&output), records(&theirs));
    assert_eq!((ours.len(), theirs.len()), (400, 400));
    let predicted = by_task(&predictions);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let task = theirs["task_id"].as_str().unwrap();
        let finished = format!("seed {seed}, {}", predicted[task]);
        assert_eq!(ours["task_id"], task);
        assert_eq!(ours["truncated"], theirs["truncated"], "{finished}");
        let metrics = theirs["metrics"].as_object().unwrap();
        assert!(metrics.len() >= 7);
        for (variant, value) in metrics {
            // To the last bit: both have passed through the shortest decimal notation.
            assert_eq!(&ours["metrics"][variant], value, "{variant}, {finished}");
        }
    }
}

/// Two examples of two repositories, with predictions.
fn small(dir: &TestDir) -> [String; 3] {
    let example = |task: &str, repository: &str, file: &str, reference: &str| {
        let metadata = json!({"task_id": task, "repository": repository, "file": file});
        json!({"prompt": "x = ", "groundtruth": reference, "metadata": metadata}).to_string()
    };
    let examples = [
        example("a/1", "a", "m.py", "f(1)"),
        example("a/2", "a", "n.py", "g(2)"),
        example("b/1", "b", "m.cs", "new List<string>();"),
        example("b/2", "b", "M.java", "null;"),
    ];
    let predictions = |texts: [&str; 4]| -> String {
        let tasks = ["a/1", "a/2", "b/1", "b/2"];
        tasks
            .iter()
            .zip(texts)
            .map(|(task, text)| json!({"task_id": task, "prediction": text}).to_string() + "\n")
            .collect()
    };
    [
        dir.write("examples.jsonl", &(examples.join("\n") + "\n")),
        dir.write(
            "first.jsonl",
            &predictions(["f(1)\ng(3)", "h(2)", "new List<int>(); }", "null; //"]),
        ),
        dir.write(
            "second.jsonl",
            &predictions(["f(1)", "g(2)\n", "new List<string>();", "None"]),
        ),
    ]
    .map(|path| text(&path))
}

#[test]
fn two_predictions_are_compared_and_flips_listed() {
    let dir = TestDir::new();
    let [examples, first, second] = small(&dir);
    let output = text(&dir.path("values.jsonl"));
    let arguments = [
        "score",
        "--examples",
        &examples,
        "--predictions",
        &first,
        "--predictions",
        &second,
        "--metrics",
        "em/cceval,id_f1/cceval",
        "--cluster",
        "file",
        "-o",
        &output,
    ];
    let mut with_json = arguments.to_vec();
    with_json.push("--json");
    let scores = dir.fillrate(&with_json).exits_with(0).json();
    assert_eq!(scores["clusters"], 4);
    assert_eq!(figure(&scores, 0, "em/cceval")["value"], 0.5);
    assert_eq!(figure(&scores, 1, "em/cceval")["value"], 0.75);
    let compared = &scores["comparison"][0];
    assert_eq!(compared["variant"], "em/cceval");
    assert_eq!(compared["second_minus_first"]["value"], 0.25);
    assert_eq!(
        compared["flips"],
        json!({"only_first": ["b/2"], "only_second": ["a/2", "b/1"], "mcnemar_p": 1.0})
    );
    // `null` is a keyword of C# and none of Java, by CrossCodeEval's lists.
    let values = records(Path::new(&output));
    assert_eq!(values.len(), 8);
    assert_eq!(values[0]["truncated"], "f(1)");
    assert_eq!(values[0]["predictions"], first.as_str());
    assert_eq!(values[1]["predictions"], second.as_str());
    assert_eq!(values[6]["language"], "java");
    assert_eq!(values[6]["metrics"]["id_f1/cceval"], 1.0);
    assert_eq!(values[4]["language"], "csharp");
    assert_eq!(values[4]["metrics"]["id_f1/cceval"], 1.0);
    assert_eq!(values[0]["metrics"].as_object().unwrap().len(), 2);

    let table = dir.fillrate(&arguments).exits_with(0).out;
    assert!(table.contains("second − first"), "{table}");
    assert!(
        table.contains(&format!(
            "em/cceval: right only in {second} (2): a/2, b/1\n"
        )),
        "{table}"
    );
    assert!(
        table.contains("Intervals clustered by file (4 clusters)"),
        "{table}"
    );
}

#[test]
fn missing_and_duplicate_tasks_are_named() {
    let dir = TestDir::new();
    let [examples, first, _] = small(&dir);
    let contents = fs::read_to_string(&first).unwrap();
    let lines: Vec<&str> = contents.lines().collect();
    let score = |examples: &str, lines: &[&str]| {
        let predictions = text(&dir.write("p.jsonl", &lines.join("\n")));
        let output = dir.path("values.jsonl");
        let finished = dir
            .fillrate(&[
                "score",
                "--examples",
                examples,
                "--predictions",
                &predictions,
                "-o",
                &text(&output),
            ])
            .exits_with(1);
        assert!(
            !output.exists(),
            "a file of values without all values is left"
        );
        finished
            .error_message()
            .replace(&predictions, "P")
            .replace(examples, "E")
    };
    assert_eq!(
        score(&examples, &lines[..2]),
        "P has no prediction for 2 examples: b/1, b/2"
    );
    assert_eq!(
        score(&examples, &[&lines[..], &lines[1..2]].concat()),
        "P, line 5: the task `a/2` occurs on line 2 already"
    );
    let stranger = r#"{"task_id":"c/9","prediction":""}"#;
    assert_eq!(
        score(&examples, &[&lines[..], &[stranger]].concat()),
        "P has predictions that E has no example for: 1 task: c/9"
    );
    assert_eq!(
        score(
            &examples,
            &[&lines[..3], &[r#"{"task_id":"b/2"}"#]].concat()
        ),
        "P, line 4: the field `prediction` is missing"
    );
    let contents = fs::read_to_string(&examples).unwrap();
    let doubled = text(&dir.write("doubled.jsonl", &contents.repeat(2)));
    assert_eq!(
        score(&doubled, &lines),
        "E, line 5: the task `a/1` occurs on line 1 already"
    );
    let invalid = contents.replacen("\"groundtruth\":\"g(2)\"", "\"groundtruth\":2", 1);
    let invalid = text(&dir.write("invalid.jsonl", &invalid));
    assert_eq!(
        score(&invalid, &lines),
        "E, line 2: the field `groundtruth` is a number and should be a string"
    );
    let unnamed = contents.replacen("\"n.py\"", "\"n\"", 1);
    let unnamed = text(&dir.write("unnamed.jsonl", &unnamed));
    assert_eq!(
        score(&unnamed, &lines),
        "E, line 2: the field `metadata.file` is `n`, which does not imply the language; set \
         --language"
    );
    let empty = text(&dir.write("empty.jsonl", "\n"));
    assert_eq!(score(&empty, &[]), "E has no examples");
}

#[test]
fn a_tasks_file_is_scored_without_a_corpus_where_possible() {
    let dir = TestDir::new();
    let hole = |id: &str, path: &str, language: &str, reference: &str| {
        json!({
            "schema": 1, "id": id, "project": "shop", "language": language, "path": path,
            "kind": "line", "start": 0, "end": reference.len(), "file_sha256": "0",
            "reference": reference,
        })
        .to_string()
    };
    let tasks = [
        hole("shop/a.ts:1", "a.ts", "typescript", "a();"),
        hole("shop/b.py:1", "b.py", "python", "b = a"),
    ];
    let tasks = text(&dir.write("tasks.jsonl", &tasks.join("\n")));
    let predictions = [
        r#"{"task_id":"shop/a.ts:1","prediction":"a(); b();"}"#,
        r#"{"task_id":"shop/b.py:1","prediction":"b  = a"}"#,
    ];
    let predictions = text(&dir.write("predictions.jsonl", &predictions.join("\n")));
    let score = |metrics: &str| {
        dir.fillrate(&[
            "score",
            "--examples",
            &tasks,
            "--predictions",
            &predictions,
            "--metrics",
            metrics,
            "--json",
        ])
    };
    let scores = score("em/tokens").exits_with(0).json();
    assert_eq!(figure(&scores, 0, "em/tokens")["value"], 0.5);
    let finished = score("em/cceval").exits_with(1);
    assert!(
        finished
            .error_message()
            .contains("tasks.jsonl, line 2: the metrics */cceval need"),
        "{}",
        finished.error_message()
    );
}

#[test]
fn holes_are_scored_with_their_prefix_from_the_corpus() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&["mine", &kitchen(), "--holes", "4", "-o", &text(&tasks)])
        .exits_with(0);
    let holes = holes(&tasks);
    let predictions: String = holes
        .iter()
        .map(|hole| {
            let reference = hole["reference"].as_str().unwrap();
            // All text after the first statement is cut off.
            let prediction = format!("{reference}\n(");
            json!({"task_id": hole["id"], "prediction": prediction}).to_string() + "\n"
        })
        .collect();
    let predictions = dir.write("predictions.jsonl", &predictions);
    let output = dir.path("values.jsonl");
    dir.fillrate(&[
        "score",
        "--examples",
        &text(&tasks),
        "--predictions",
        &text(&predictions),
        "--corpus",
        &kitchen(),
        "-o",
        &text(&output),
    ])
    .exits_with(0);
    let values = by_task(&output);
    assert_eq!(values.len(), holes.len());
    for hole in &holes {
        let values = &values[hole["id"].as_str().unwrap()];
        let reference = hole["reference"].as_str().unwrap();
        let truncated = values["truncated"].as_str().unwrap();
        assert!(
            reference.starts_with(truncated),
            "{truncated:?} {reference:?}"
        );
        let whole = truncated.trim() == reference.trim();
        assert_eq!(values["metrics"]["em/cceval"] == 1.0, whole);
        assert_eq!(values["repository"], hole["project"]);
    }
    // Single lines are single statements.
    assert!(
        values
            .values()
            .any(|values| values["metrics"]["em/cceval"] == 1.0)
    );
}
