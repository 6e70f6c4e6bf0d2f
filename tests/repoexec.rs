//! Our verdicts compared with published ones: generations of a model for tasks of
//! [RepoExec](https://github.com/FSoft-AI4Code/RepoExec), each with its recorded result. The tasks
//! go through `import`, the generations through `replay --model predictions`, as a user's would.
//!
//! The records are in a folder next to the repository, not in it. Their repositories are packages
//! as published. The test judges every fifth task, or all of them with `FILLRATE_REPOEXEC=all`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fillrate_language::environment::Toolchain;
use fillrate_verdict::corpus::cache::Cache;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::source;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, cache, copy, has_tools, holes, text};
use crate::support::programs::recorded_results;

/// The packages whose functions are generated, as their tasks name them, with the hashes of their
/// source distributions.
const PACKAGES: [(&str, &str); 2] = [
    (
        "python-string-utils==1.0.0",
        "dcf9060b03f07647c0a603408dc8b03f807f3b54a05c6e19eb14460256fac0cb",
    ),
    (
        "docstring-parser==0.7.3",
        "cde5fbf8b846433dfbde1e0f96b7f909336a634d5df34a38cb75050c7346734a",
    ),
];

/// Distance between judged tasks, unless all are requested.
const STEP: usize = 5;

/// A function to generate, with what became of it.
#[derive(Deserialize)]
struct Task {
    pypi: String,
    /// As the benchmark has it.
    record: Value,
    generations: Vec<Generation>,
}

#[derive(Deserialize)]
struct Generation {
    generation: String,
    passed: bool,
    /// True if the verdict came from tests that are not among the record's.
    tests_not_shipped: bool,
}

impl Task {
    fn id(&self) -> String {
        match &self.record["problem_ids"] {
            Value::String(id) => id.clone(),
            other => other.to_string(),
        }
    }

    /// True for each generation that passed, of those whose recorded verdict the recorded tests
    /// gave.
    fn passed(&self) -> Vec<bool> {
        self.judged().map(|generation| generation.passed).collect()
    }

    fn judged(&self) -> impl Iterator<Item = &Generation> {
        let shipped = |generation: &&Generation| !generation.tests_not_shipped;
        self.generations.iter().filter(shipped)
    }
}

#[test]
fn verdicts_equal_recorded_ones() {
    let Some(records) = recorded_results("repoexec") else {
        return;
    };
    let tasks = fs::read_to_string(records.join("tasks.jsonl")).unwrap();
    if !has_tools(&["python3"]) {
        return;
    }
    let every = match std::env::var("FILLRATE_REPOEXEC") {
        Ok(all) if all == "all" => 1,
        Ok(other) => panic!("FILLRATE_REPOEXEC is `{other}`; it can only be `all`"),
        Err(_) => STEP,
    };
    let tasks: Vec<Task> = tasks
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|task: &Task| task.judged().next().is_some())
        .step_by(every)
        .collect();
    assert!(!tasks.is_empty());

    let dir = TestDir::new();
    bring_repositories(&dir, &tasks);
    let lines = |values: Vec<Value>| -> String {
        values.iter().map(|value| format!("{value}\n")).collect()
    };
    let all = tasks.iter().map(|task| task.record.clone()).collect();
    dir.write("pass_data.jsonl", &lines(all));
    let predictions = tasks.iter().flat_map(|task| {
        let of_task = |generation: &Generation| {
            json!({"task_id": task.id(), "generation": generation.generation})
        };
        task.judged().map(of_task).collect::<Vec<_>>()
    });
    dir.write("phi-2.jsonl", &lines(predictions.collect()));
    dir.fillrate(&[
        "import",
        "repoexec",
        "pass_data.jsonl",
        "-o",
        "tasks.jsonl",
        "--repositories",
        "repositories",
        "--outputs",
        &text(&records.join("output")),
        "--whole-functions",
    ])
    .exits_with(0);
    let report = dir
        .fillrate(&[
            "replay",
            "tasks.corpus/corpus.toml",
            "--tasks",
            "tasks.jsonl",
            "--model",
            "predictions",
            "--predictions",
            "phi-2.jsonl",
            "--out",
            "run",
            "--anew",
            "--json",
        ])
        .exits_with(0)
        .json();

    compare(&dir, &tasks);
    let figures = &report["rows"].as_array().unwrap().last().unwrap()["metrics"];
    for k in [1, 5, 10] {
        let counts = tasks.iter().map(Task::passed);
        let enough = counts.filter(|passed| passed.len() >= k);
        let chances: Vec<f64> = enough.map(|passed| pass_at_k(&passed, k)).collect();
        let expected = chances.iter().sum::<f64>() / chances.len() as f64;
        let figure = &figures[format!("pass@{k}")];
        assert_eq!(figure["n"], chances.len(), "pass@{k}");
        let value = figure["value"].as_f64().unwrap();
        assert!(
            (value - expected).abs() < 1e-12,
            "pass@{k}: {value}, not {expected}"
        );
        println!("pass@{k}: {value:.4} over {} tasks", chances.len());
    }
    // Some of them again by the slowest and simplest way.
    dir.fillrate(&["audit", "run", "--sample", "0.05"])
        .exits_with(0);
}

/// The packages as they are published, where the benchmark has its repositories.
fn bring_repositories(dir: &TestDir, tasks: &[Task]) {
    let mut manifest = "schema = 1\n".to_owned();
    for (index, (pin, sha256)) in PACKAGES.iter().enumerate() {
        manifest += &format!(
            "[[project]]\nname = \"package-{index}\"\nlanguage = \"python\"\nholes = [\"*.py\"]\n\
             source = {{ pypi = \"{pin}\", sha256 = \"{sha256}\" }}\n"
        );
    }
    let manifest = Manifest::parse(&manifest, Path::new("packages.toml")).unwrap();
    let cache = Cache::at(&cache());
    for ((pin, _), project) in PACKAGES.iter().zip(&manifest.projects) {
        let Some(task) = tasks.iter().find(|task| task.pypi == *pin) else {
            continue;
        };
        let name = task.record["project"].as_str().unwrap();
        let source = source::fetch(&cache, &Toolchain::default(), project, &|_| {}).unwrap();
        copy(&source.root, &dir.path("repositories").join(name));
    }
}

/// Holds every verdict of the run against the recorded one.
fn compare(dir: &TestDir, tasks: &[Task]) {
    let of_hole: BTreeMap<String, String> = holes(&dir.path("tasks.jsonl"))
        .iter()
        .map(|hole| {
            let name = |key: &str| hole[key].as_str().unwrap().to_owned();
            (name("id"), name("task_id"))
        })
        .collect();
    let recorded: BTreeMap<String, Vec<bool>> = tasks
        .iter()
        .map(|task| (task.id(), task.passed()))
        .collect();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut differing = Vec::new();
    let attempts = attempts(&dir.path("run"));
    for attempt in attempts.values() {
        let task = &of_hole[attempt["hole"].as_str().unwrap()];
        let sample = usize::try_from(attempt["sample"].as_u64().unwrap()).unwrap();
        let verdict = &attempt["verdict"];
        let outcome = verdict["outcome"].as_str().unwrap();
        *outcomes.entry(outcome.to_owned()).or_default() += 1;
        let agrees = (outcome == "passed") == recorded[task][sample];
        // What fails here must fail for the reason that it failed there, and not for want of
        // evidence, which others don't ask for.
        let failed = verdict["failed"].as_array().unwrap();
        let loaded = !verdict["reason"]
            .as_str()
            .unwrap()
            .ends_with("can't be loaded");
        let unfounded = outcome == "failed" && failed.is_empty() && loaded;
        if !agrees || unfounded || outcome == "infrastructure" || outcome == "flaky" {
            differing.push(format!(
                "task {task}, generation {sample}: recorded as passed: {}, judged {verdict}",
                recorded[task][sample]
            ));
        }
    }
    let (compared, passing) = (
        recorded.values().map(Vec::len).sum::<usize>(),
        recorded
            .values()
            .flatten()
            .filter(|passed| **passed)
            .count(),
    );
    println!(
        "repoexec: {} tasks, {compared} verdicts, {passing} of them passing, {} differ; outcomes: \
         {outcomes:?}",
        tasks.len(),
        differing.len()
    );
    assert_eq!(attempts.len(), compared);
    assert!(0 < passing && passing < compared);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// 1 − Π (1 − k/i), from the definition that the benchmark has.
fn pass_at_k(passed: &[bool], k: usize) -> f64 {
    let correct = passed.iter().filter(|passed| **passed).count();
    if passed.len() - correct < k {
        return 1.0;
    }
    let failing = passed.len() - correct + 1..=passed.len();
    1.0 - failing.map(|i| 1.0 - k as f64 / i as f64).product::<f64>()
}
