//! Speed of text metrics, compared with the same definitions in Python on the same files.
//!
//! `cargo bench -p fillrate --bench metrics -- [PREDICTIONS [SEED]]` makes PREDICTIONS predictions
//! (default: 10,000) by editing those of CrossCodeEval's examples in `../shared/oracles` or, if
//! that folder is missing, lines of the demo's Python project. It scores them with all metrics:
//! with `metrics.py`, which follows the definitions literally, with `metrics.py --lazy`, which
//! parses only where a cut is possible, and with `fillrate score`, which does the same and uses all
//! processors. Times are of whole programs, from start to end. It prints a table, and fails if any
//! value of any example differs.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[allow(dead_code, reason = "a bench uses its part of what tests share")]
#[path = "../../tests/support/programs.rs"]
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::Table;
use nix::sys::resource::{UsageWho, getrusage};
use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

fn main() {
    let given: Vec<u64> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(|text| text.parse().unwrap())
        .collect();
    let count = given.first().copied().unwrap_or(10_000);
    let seed = given.get(1).copied().unwrap_or(0);
    let Some(python) = programs::install("scorer") else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (of, bases) = bases(&root);
    let folder = tempfile::tempdir().unwrap();
    let [examples, predictions, ours] =
        ["examples", "predictions", "ours"].map(|name| folder.path().join(name));
    make(&bases, count, seed, &examples, &predictions);
    let script = root.join("replay/benches/metrics.py");

    let mut by_definition = Command::new(&python);
    by_definition.arg(&script).args([&examples, &predictions]);
    let mut lazy = Command::new(&python);
    lazy.arg(&script)
        .arg("--lazy")
        .args([&examples, &predictions]);
    let mut fillrate = Command::new(env!("CARGO_BIN_EXE_fillrate"));
    fillrate
        .arg("score")
        .arg("--examples")
        .arg(&examples)
        .arg("--predictions")
        .arg(&predictions)
        .arg("-o")
        .arg(&ours);

    let mut table = Table::new();
    table.set_header([
        "program",
        "predictions",
        "seconds",
        "processor seconds",
        "predictions per processor second",
        "times the definition, in seconds",
        "in processor seconds",
    ]);
    let mut first = None;
    let mut values = Vec::new();
    for (name, command) in [
        ("metrics.py, as defined", &mut by_definition),
        ("metrics.py --lazy", &mut lazy),
        ("fillrate score", &mut fillrate),
    ] {
        let Timed { said, wall, cpu } = timed(command);
        values.push(said);
        let (first_wall, first_cpu) = *first.get_or_insert((wall, cpu));
        table.add_row([
            name.to_owned(),
            count.to_string(),
            format!("{wall:.2}"),
            format!("{cpu:.2}"),
            format!("{:.0}", count as f64 / cpu),
            format!("{:.1}", first_wall / wall),
            format!("{:.1}", first_cpu / cpu),
        ]);
    }
    assert_eq!(values[0], values[1], "the two ways to truncate differ");
    compare(&values[0], &fs::read_to_string(&ours).unwrap());
    println!("{table}");
    println!(
        "Seed {seed}; edited from {} of {of}. Every value of every example is the same. \
         fillrate ran on {} processors, Python on one.",
        bases.len(),
        std::thread::available_parallelism().map_or(1, usize::from)
    );
}

/// An example with a prediction that is edited.
struct Base {
    prompt: String,
    reference: String,
    prediction: String,
    file: String,
}

/// Texts that predictions are made of, and their source.
fn bases(root: &Path) -> (&'static str, Vec<Base>) {
    let oracle = root.join("../shared/oracles/crosscodeeval");
    if oracle.is_dir() {
        let read = |name: &str| -> Vec<Value> {
            let text = fs::read_to_string(oracle.join(name)).unwrap();
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let predictions = read("predictions.jsonl");
        let bases = read("examples.jsonl")
            .iter()
            .map(|example| {
                let task = &example["metadata"]["task_id"];
                let of_task = predictions.iter().find(|record| record["task_id"] == *task);
                Base {
                    prompt: text(&example["prompt"]),
                    reference: text(&example["groundtruth"]),
                    prediction: text(&of_task.unwrap()["prediction"]),
                    file: text(&example["metadata"]["file"]),
                }
            })
            .collect();
        return ("CrossCodeEval's examples", bases);
    }
    let mut files = Vec::new();
    python_files(&root.join("corpora"), &mut files);
    files.sort();
    let bases = files.iter().flat_map(|path| {
        let contents = fs::read_to_string(path).unwrap();
        let starts: Vec<usize> = contents.match_indices('\n').map(|(at, _)| at + 1).collect();
        let bases: Vec<Base> = starts
            .windows(6)
            .filter(|lines| !contents[lines[0]..lines[1]].trim().is_empty())
            .map(|lines| {
                let line = &contents[lines[0]..lines[1]];
                let indent = line.len() - line.trim_start().len();
                Base {
                    prompt: contents[..lines[0] + indent].to_owned(),
                    reference: line.trim().to_owned(),
                    prediction: contents[lines[0] + indent..lines[5]].to_owned(),
                    file: path.display().to_string(),
                }
            })
            .collect();
        bases
    });
    ("the demo corpus's lines", bases.collect())
}

fn python_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            python_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "py") {
            found.push(path);
        }
    }
}

/// Writes `count` examples and one prediction for each, edited from the prediction of a base.
fn make(bases: &[Base], count: u64, seed: u64, examples: &Path, predictions: &Path) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut of_examples, mut of_predictions) = (String::new(), String::new());
    for (task, base) in (0..count).zip(bases.iter().cycle()) {
        let mut prediction: Vec<char> = base.prediction.chars().collect();
        for _ in 0..random.random_range(0..4) {
            let at = random.random_range(0..=prediction.len());
            let end = prediction.len().min(at + random.random_range(0..6));
            // Mostly within what is there, sometimes with what changes where a statement ends.
            let put = ["x", "_", "1", "(", ")", "\n", " = ", "é"].choose(&mut random);
            prediction.splice(at..end, put.unwrap().chars());
        }
        let prediction: String = prediction.into_iter().collect();
        let example = json!({
            "prompt": base.prompt,
            "groundtruth": base.reference,
            "metadata": {"task_id": task.to_string(), "repository": "r", "file": base.file},
        });
        of_examples += &format!("{example}\n");
        let prediction = json!({"task_id": task.to_string(), "prediction": prediction});
        of_predictions += &format!("{prediction}\n");
    }
    fs::write(examples, of_examples).unwrap();
    fs::write(predictions, of_predictions).unwrap();
}

/// Output of a program, and its duration.
struct Timed {
    said: String,
    /// From start to end, in seconds.
    wall: f64,
    /// On all processors together, in seconds.
    cpu: f64,
}

fn timed(command: &mut Command) -> Timed {
    let used = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let seconds =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        seconds(usage.user_time()) + seconds(usage.system_time())
    };
    let before = used();
    let start = Instant::now();
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    let wall = start.elapsed().as_secs_f64();
    assert!(output.status.success());
    Timed {
        said: String::from_utf8(output.stdout).unwrap(),
        wall,
        cpu: used() - before,
    }
}

/// Checks that both programs gave the same values for the same examples.
fn compare(theirs: &str, ours: &str) {
    assert_eq!(theirs.lines().count(), ours.lines().count());
    for (theirs, ours) in theirs.lines().zip(ours.lines()) {
        let theirs: Value = serde_json::from_str(theirs).unwrap();
        let ours: Value = serde_json::from_str(ours).unwrap();
        for field in ["task_id", "truncated", "metrics"] {
            assert_eq!(ours[field], theirs[field], "{}", theirs["task_id"]);
        }
    }
}
