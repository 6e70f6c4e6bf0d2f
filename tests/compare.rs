//! `fillrate compare`: the order of models on the same holes.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::errors::{ModelServer, settings};
use crate::support::play::{self, TestDir, attempts, has_tools, holes, kitchen, start, text};
use crate::support::processes::{own_process, survivors};

/// Files of the project, each with a test and a hole.
const FILES: usize = 24;

/// The most holes at which models are asked before the completions are judged.
const CHUNK: usize = 8;

/// A project of many small files, its tasks, and models whose completions are recorded: `good` has
/// the reference everywhere, `bad` nowhere, `worse` is another `bad`.
fn prepare(dir: &TestDir) -> (String, String) {
    for file in 0..FILES {
        let source = format!(
            "def scaled_{file}(value, factor):\n    total = value * factor + {file}\n    return total\n"
        );
        dir.write(&format!("many/src/many_{file}.py"), &source);
        let test = format!(
            "from many_{file} import scaled_{file}\n\n\ndef test_scaled():\n    \
             assert scaled_{file}(3, 4) == {}\n    assert scaled_{file}(2, 5) == {}\n",
            12 + file,
            10 + file
        );
        dir.write(&format!("many/tests/test_{file}.py"), &test);
    }
    record(dir)
}

/// Mines the project and records the models' completions.
fn record(dir: &TestDir) -> (String, String) {
    let manifest = std::fs::read_to_string(kitchen()).unwrap();
    let manifest = manifest.replace("\"kitchen\"", "\"many\"");
    let corpus = text(&dir.write("many.toml", &manifest));
    let tasks = dir.path("tasks.jsonl");
    let mine = ["mine", &corpus, "--kinds", "body", "-o", &text(&tasks)];
    dir.fillrate(&mine).exits_with(0);
    let recorded = |name: &str, text: &dyn Fn(&Value) -> String| {
        let lines = holes(&tasks)
            .into_iter()
            .map(|hole| json!({"hole": hole["id"], "completions": [text(&hole)]}).to_string());
        dir.write(name, &lines.collect::<Vec<_>>().join("\n"));
    };
    recorded("good.jsonl", &|hole| {
        hole["reference"].as_str().unwrap().to_owned()
    });
    recorded("bad.jsonl", &|_| "return 0".to_owned());
    recorded("worse.jsonl", &|_| "return 1".to_owned());
    (corpus, text(&tasks))
}

fn compare(
    dir: &TestDir,
    (corpus, tasks): &(String, String),
    out: &str,
    models: &[&str],
    more: &[&str],
) -> Command {
    let mut arguments = vec!["compare", corpus, "--tasks", tasks, "--out", out];
    for model in models {
        arguments.extend(["--model", model]);
    }
    arguments.extend(more);
    dir.command(&arguments)
}

/// The attempts of a comparison's models, without what depends on time.
fn outcomes(dir: &TestDir, out: &str, models: &[&str]) -> BTreeMap<String, Vec<(Value, Value)>> {
    let of_model = |model: &&str| {
        let attempts = attempts(&dir.path(out).join(model)).into_values();
        let mut outcomes: Vec<(Value, Value)> = attempts
            .map(|attempt| {
                (
                    attempt["hole"].clone(),
                    attempt["verdict"]["outcome"].clone(),
                )
            })
            .collect();
        outcomes.sort_by_key(|(hole, _)| hole.to_string());
        ((*model).to_owned(), outcomes)
    };
    models.iter().map(of_model).collect()
}

fn done(run: &Path) -> usize {
    let count = || -> rusqlite::Result<u32> {
        let database = rusqlite::Connection::open(run.join("run.db"))?;
        database.query_row("SELECT count(*) FROM attempts", [], |row| row.get(0))
    };
    // The table may not be there yet.
    if run.join("run.db").is_file() {
        return count().unwrap_or_default() as usize;
    }
    0
}

#[test]
fn comparison_stops_when_the_order_is_decided_and_resumes_to_the_same_end() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = prepare(&dir);
    let two = ["bad.jsonl", "good.jsonl"];
    let started = Instant::now();
    let whole = play::run(&mut compare(&dir, &corpus, "whole", &two, &["--json"]));
    let duration = started.elapsed();
    let whole = whole.exits_with(0).json();
    assert_eq!(whole["ending"], "decided", "{whole:#}");
    assert_eq!(whole["orders"][0]["better"], "good", "{whole:#}");
    assert_eq!(whole["orders"][0]["is_early"], true, "{whole:#}");
    let sentence = whole["sentence"].as_str().unwrap();
    let start_of_sentence = "good passes more than bad by 100.0 points [";
    assert!(sentence.starts_with(start_of_sentence), "{sentence}");
    let played = outcomes(&dir, "whole", &["good", "bad"]);
    // An early stop leaves some holes out.
    assert!(played["good"].len() < FILES, "{played:#?}");

    for at_least in [1, 6] {
        // The second kill is of a comparison that was resumed.
        let mut comparing = start(&mut compare(&dir, &corpus, "killed", &two, &["--json"]));
        // Attempts are awaited, since a kill before the first would test only the start.
        while done(&dir.path("killed/good")) < at_least {
            if comparing.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        // SIGKILL, to that one process.
        let _ = comparing.kill();
        comparing.wait().unwrap();
        assert_eq!(survivors(), Vec::<String>::new());
    }
    let ends_equally = |out: &str| {
        let resumed = play::run(&mut compare(&dir, &corpus, out, &two, &["--json"]));
        let resumed = resumed.exits_with(0).json();
        for member in ["sentence", "orders", "ending", "holes"] {
            // Times differ between runs, so only what must be equal is compared.
            assert_eq!(resumed[member], whole[member], "{out}");
        }
        assert_eq!(outcomes(&dir, out, &["good", "bad"]), played, "{out}");
    };
    ends_equally("killed");

    // At any moment: of starting, playing, judging and writing.
    let kills = std::env::var("FILLRATE_KILLS").map_or(2, |number| number.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(44);
    for kill in 0..kills {
        let out = format!("killed-{kill}");
        let mut comparing = start(&mut compare(&dir, &corpus, &out, &two, &["--json"]));
        std::thread::sleep(duration.mul_f64(random.random()));
        let _ = comparing.kill();
        comparing.wait().unwrap();
        assert_eq!(survivors(), Vec::<String>::new());
        ends_equally(&out);
    }
}

#[test]
fn model_added_later_is_played_alone_and_rules_fail_the_command() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = prepare(&dir);
    let all = ["--no-early-stop"];
    let two = ["bad.jsonl", "good.jsonl"];
    play::run(&mut compare(&dir, &corpus, "out", &two, &all)).exits_with(0);
    let before = ["bad", "good"].map(|model| attempts(&dir.path("out").join(model)));
    assert_eq!(before.clone().map(|attempts| attempts.len()), [FILES; 2]);
    let three = ["bad.jsonl", "good.jsonl", "worse.jsonl"];
    let more = [
        "--no-early-stop",
        "--github",
        "--fail-if",
        "pass@1 of worse < good - 2",
    ];
    let ended = play::run(&mut compare(&dir, &corpus, "out", &three, &more)).exits_with(1);
    assert_eq!(
        ended.error_message(),
        "--fail-if: `pass@1 of worse < good - 2` holds: 0.0 < 98.0"
    );
    assert!(ended.out.contains("| `worse` | 0.0 ["), "{ended:#?}");
    assert!(
        ended.out.contains("No order of bad and worse is shown"),
        "{ended:#?}"
    );
    let after = ["bad", "good"].map(|model| attempts(&dir.path("out").join(model)));
    // The earlier models are not asked again, since their orders need no further attempts.
    assert_eq!(after, before);
    assert_eq!(attempts(&dir.path("out/worse")).len(), FILES);

    let unknown = ["--fail-if", "pass@1 of other < good"];
    let refused = play::run(&mut compare(&dir, &corpus, "out", &three, &unknown)).exits_with(1);
    let message = "--fail-if names the model `other`; the models are bad, good, worse";
    assert_eq!(refused.error_message(), message);
    let within = ["--within", "300ms"];
    let refused = play::run(&mut compare(&dir, &corpus, "out", &three, &within)).exits_with(1);
    let message = "--within compares latencies, and bad has none, because its completions are \
                   recorded; leave one of them out";
    assert_eq!(refused.error_message(), message);
    // Settings whose model is recorded have no latency either.
    let settings = "[model]\nprotocol = \"recorded\"\nname = \"kept\"\n";
    std::fs::write(dir.path("kept.toml"), settings).expect("there is room");
    let kept = ["kept.toml", "embedded"];
    let refused = play::run(&mut compare(&dir, &corpus, "out", &kept, &within)).exits_with(1);
    assert!(refused.err.contains("kept has none"), "{refused:#?}");
}

#[test]
fn spent_budget_asks_nothing_and_hides_nothing_that_runs_have() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = prepare(&dir);
    let two = ["bad.jsonl", "good.jsonl"];
    let three = ["bad.jsonl", "good.jsonl", "worse.jsonl"];
    let started = |models: &[&str], more: &[&str]| {
        let more = [&["--no-early-stop"], more].concat();
        play::run(&mut compare(&dir, &corpus, "out", models, &more))
    };
    let whole = started(&two, &["--json"]).exits_with(0).json();
    let order = &whole["orders"][0];
    assert_eq!(order["difference"]["n"], FILES, "{whole:#}");
    // Both models have more completions than the budget, and lack none.
    let budget = ["--max-calls", "40", "--json"];
    let again = started(&two, &budget).exits_with(0);
    assert!(!again.err.contains("time of"), "{again:#?}");
    let again = again.json();
    assert_eq!(again["ending"], "all-holes", "{again:#}");
    assert_eq!(&again["orders"][0], order, "{again:#}");

    let more = started(&three, &budget);
    let more = more.exits_with(0).json();
    assert_eq!(more["ending"], "calls", "{more:#}");
    assert_eq!(more["orders"][0]["better"], "good", "{more:#}");
    assert_eq!(more["orders"][0]["difference"]["n"], FILES, "{more:#}");
    let sentence = more["sentence"].as_str().unwrap();
    let nothing = "bad and worse have no judged hole in common";
    assert!(sentence.contains(nothing), "{sentence}");

    // A rule that can't be applied hides no other one.
    let unusable = "latency_ms/median of bad > 1";
    let rules = ["--fail-if", unusable, "--fail-if", "pass@1 of bad < good"];
    let failed = started(&two, &rules).exits_with(1);
    assert_eq!(
        failed.error_message(),
        format!(
            "--fail-if: `{unusable}` compares `latency_ms/median`, which bad has not; `pass@1 of \
             bad < good` holds: 0.0 < 100.0"
        )
    );
}

#[test]
fn completions_of_other_models_are_kept_if_one_fails() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    // One file, which is one batch.
    let mut source = String::new();
    let mut test = "from many import *\n".to_owned();
    for function in 0..FILES {
        source += &format!(
            "def scaled_{function}(value, factor):\n    total = value * factor + {function}\n    \
             return total\n\n\n"
        );
        test += &format!(
            "\n\ndef test_{function}():\n    assert scaled_{function}(3, 4) == {}\n",
            12 + function
        );
    }
    dir.write("many/src/many.py", &source);
    dir.write("many/tests/test_many.py", &test);
    let corpus = record(&dir);
    assert_eq!(holes(Path::new(&corpus.1)).len(), FILES);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let _server = ModelServer::with_limit(listener, 0);
    dir.write("dead.toml", &settings(port, "retries = 0\n"));
    let models = ["dead.toml", "good.jsonl"];
    let jobs = ["--jobs", "1"];
    let stopped = play::run(&mut compare(&dir, &corpus, "out", &models, &jobs)).exits_with(1);
    let message = stopped.error_message();
    assert!(
        message.contains("gave no answer 4 times in a row"),
        "{message}"
    );
    assert_eq!(attempts(&dir.path("out/good")).len(), CHUNK);
    assert!(stopped.err.contains("time of good"), "{stopped:#?}");
}
