//! Parts that know nothing of each other, killed at any moment, make the run of one machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::support::play::{self, TestDir, attempts, files, has_tools, kitchen, start, text};
use crate::support::processes::{own_process, survivors};

/// The holes that all replays here share.
fn mine(dir: &TestDir) -> String {
    let tasks = text(&dir.path("tasks.jsonl"));
    dir.fillrate(&["mine", &kitchen(), "--holes", "8", "-o", &tasks])
        .exits_with(0);
    tasks
}

/// A replay of all holes, or of a part of them.
fn replay(dir: &TestDir, tasks: &str, out: &str, more: &[&str]) -> Command {
    let (corpus, out) = (kitchen(), text(&dir.path(out)));
    let mut arguments = vec!["replay", &corpus, "--tasks", tasks, "--samples", "3"];
    arguments.extend(["--jobs", "1", "--out", &out]);
    arguments.extend(more);
    dir.command(&arguments)
}

/// The export of a run without the run's name and without times, as it is to the byte.
fn exported(dir: &TestDir, run: &str) -> Vec<String> {
    let run = text(&dir.path(run));
    let table = dir.fillrate(&["export", &run]).exits_with(0).out;
    table
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().retain(|name, _| {
                name != "run" && name != "tests_seconds" && !name.ends_with("_ms")
            });
            row.to_string()
        })
        .collect()
}

/// The names of all segments with their contents.
fn segments(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let inner = out.join("parts");
    let found = if inner.is_dir() {
        files(&inner)
    } else {
        Vec::new()
    };
    found
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| {
            let contents = std::fs::read(inner.join(&path)).unwrap();
            (path, contents)
        })
        .collect()
}

fn merge(dir: &TestDir, parts: &str, run: &str) -> Vec<u8> {
    let [parts, run] = [parts, run].map(|name| text(&dir.path(name)));
    dir.fillrate(&["merge", &parts, "-o", &run]).exits_with(0);
    std::fs::read(Path::new(&run).join("run.db")).unwrap()
}

/// `FILLRATE_KILLS` is how many parts are killed in each division.
#[test]
fn killed_parts_merge_to_the_run_of_one_machine() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let kills = std::env::var("FILLRATE_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let dir = TestDir::new();
    let tasks = mine(&dir);
    // Completions of all kinds.
    let predictions: Vec<String> = play::holes(Path::new(&tasks))
        .iter()
        .map(|hole| {
            let completions = [hole["reference"].as_str().unwrap(), "", "return None"];
            json!({"hole": hole["id"], "completions": completions}).to_string()
        })
        .collect();
    let model = text(&dir.write("predictions.jsonl", &predictions.join("\n")));
    play::run(&mut replay(&dir, &tasks, "whole", &["--model", &model])).exits_with(0);
    let expected = exported(&dir, "whole");
    assert_eq!(expected.len(), 24);
    for outcome in ["passed", "failed"] {
        let named = format!("\"outcome\":\"{outcome}\"");
        assert!(
            expected.iter().any(|row| row.contains(&named)),
            "{expected:#?}"
        );
    }
    let figures = |run: &str| {
        let run = text(&dir.path(run));
        let shown = dir.fillrate(&["show", &run]).exits_with(0).out;
        // The last of the table's columns is a time.
        let cells = shown
            .lines()
            .find(|line| line.starts_with(" kitchen "))
            .unwrap();
        let cells: Vec<&str> = cells.split_whitespace().collect();
        cells[..cells.len() - 1].join(" ")
    };
    let mut random = ChaCha8Rng::seed_from_u64(22);
    for parts in [1, 2, 7, 64] {
        let out = format!("parts-{parts}");
        let mut killed = 0;
        for part in 1..=parts {
            let partition = format!("{part}/{parts}");
            let more = ["--model", &model, "--partition", &partition];
            let one = || replay(&dir, &tasks, &out, &more);
            let began = Instant::now();
            while killed < kills && began.elapsed() < Duration::from_secs(60) {
                let mut replaying = start(&mut one());
                std::thread::sleep(Duration::from_millis(random.random_range(0..1500)));
                // SIGKILL, to that one process.
                replaying.kill().unwrap();
                killed += u64::from(replaying.wait().unwrap().code().is_none());
                assert_eq!(survivors(), Vec::<String>::new());
                for (name, contents) in segments(&dir.path(&out)) {
                    let hash = fillrate::task::sha256_hex(&contents);
                    assert_eq!(name.file_stem().unwrap(), hash.as_str());
                }
                if random.random_bool(0.5) {
                    break;
                }
            }
            play::run(&mut one()).exits_with(0);
        }
        let run = format!("run-{parts}");
        let bytes = merge(&dir, &out, &run);
        assert_eq!(exported(&dir, &run), expected, "{parts} parts");
        assert_eq!(figures(&run), figures("whole"));
        assert_eq!(merge(&dir, &out, &format!("again-{parts}")), bytes);
    }
}

#[test]
fn missing_parts_are_listed_and_run_again() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let one = |part: &str| {
        play::run(&mut replay(&dir, &tasks, "parts", &["--partition", part])).exits_with(0)
    };
    one("1/3");
    let told = one("3/3").out;
    assert!(told.starts_with("part 3/3: "), "{told}");
    let parts = text(&dir.path("parts"));
    let missing = dir.fillrate(&["merge", &parts, "--missing"]).exits_with(3);
    assert_eq!(missing.out, "2/3\n");
    assert_eq!(missing.error_message(), "part 2/3: it was never begun");
    let run = text(&dir.path("run"));
    dir.fillrate(&["merge", &parts, "-o", &run]).exits_with(3);
    let some = attempts(&dir.path("run")).len();
    assert!(some > 0 && some < 24, "{some}");
    // The unfinished run is one that a single machine continues.
    play::run(&mut replay(&dir, &tasks, "run", &[])).exits_with(0);
    one("2/3");
    let missing = dir.fillrate(&["merge", &parts, "--missing"]).exits_with(0);
    assert_eq!(missing.out, "");
    merge(&dir, "parts", "merged");
    assert_eq!(exported(&dir, "merged"), exported(&dir, "run"));
}

#[test]
fn conflicts_are_reported_settled_and_counted() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let model = ["--model", "reference", "--partition", "1/1"];
    play::run(&mut replay(&dir, &tasks, "parts", &model)).exits_with(0);
    // Another part's segment, in which one verdict is another.
    let parts = dir.path("parts/parts/1-of-1");
    let mut all = segments(&dir.path("parts")).into_values();
    let contents = all.find_map(|contents| {
        let contents = String::from_utf8(contents).unwrap();
        contents.contains("\"attempt\"").then_some(contents)
    });
    let contents = contents.unwrap();
    let wrong = contents.replacen("\"outcome\":\"passed\"", "\"outcome\":\"failed\"", 1);
    assert_ne!(wrong, contents);
    let name = format!("{}.jsonl", fillrate::task::sha256_hex(wrong.as_bytes()));
    std::fs::write(parts.join(name), wrong).unwrap();

    let [shared, run] = ["parts", "run"].map(|name| text(&dir.path(name)));
    let refused = dir.fillrate(&["merge", &shared, "-o", &run]).exits_with(1);
    let message = refused.error_message();
    assert!(
        message.starts_with("parts differ in 1 verdicts ("),
        "{message}"
    );
    assert!(message.contains(": passed and failed"), "{message}");
    assert!(!dir.path("run").exists());
    let settled = dir.fillrate(&["merge", &shared, "-o", &run, "--settle", "--json"]);
    let settled = settled.exits_with(0).json();
    assert_eq!(settled["settled"][0]["again"], "passed", "{settled}");
    let shown = dir.fillrate(&["show", &run]).exits_with(0).out;
    assert!(
        shown.contains("1 verdicts in which the parts of the run differed were judged again"),
        "{shown}"
    );
    let all_passed = |attempt: &Value| attempt["verdict"]["outcome"] == "passed";
    assert!(attempts(&dir.path("run")).values().all(all_passed));
}

#[test]
fn mutating_and_auditing_in_parts_equals_doing_it_at_once() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let corpus = kitchen();
    let mutate = |out: &str, more: &[&str]| {
        let out = text(&dir.path(out));
        let mut arguments = vec!["mutate", &tasks, "--corpus", &corpus, "--audit", "0"];
        arguments.extend(["-o", &out]);
        arguments.extend(more);
        dir.fillrate(&arguments).exits_with(0);
        let mut lines: Vec<String> = std::fs::read_to_string(&out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let whole = mutate("whole.jsonl", &[]);
    assert_eq!(whole.len(), 8);
    let mut parts = mutate("first.jsonl", &["--partition", "1/2"]);
    assert!(!parts.is_empty() && parts.len() < 8, "{}", parts.len());
    parts.extend(mutate("second.jsonl", &["--partition", "2/2"]));
    parts.sort();
    assert_eq!(parts, whole);
    let refused = dir.fillrate(&["mutate", &tasks, "--corpus", &corpus, "--partition", "1/2"]);
    let message = refused.exits_with(1);
    assert!(
        message
            .error_message()
            .ends_with("name another file with -o")
    );

    play::run(&mut replay(&dir, &tasks, "run", &["--model", "empty"])).exits_with(0);
    let run = text(&dir.path("run"));
    let mut judged = 0;
    for part in ["1/2", "2/2"] {
        let audit = dir.fillrate(&["audit", &run, "--sample", "1", "--partition", part]);
        let out = audit.exits_with(0).out;
        judged += out.split(' ').next().unwrap().parse::<usize>().unwrap();
    }
    assert_eq!(judged, 24);
}

#[test]
fn a_part_needs_tasks_and_a_folder() {
    let dir = TestDir::new();
    for arguments in [
        &["replay", &kitchen(), "--partition", "1/2"] as &[&str],
        &[
            "replay",
            &kitchen(),
            "--partition",
            "3/2",
            "--out",
            "x",
            "--tasks",
            "y",
        ],
    ] {
        dir.fillrate(arguments).exits_with(2);
    }
    let auto = |variables: &[(&str, &str)]| {
        let arguments = [
            "replay",
            "c",
            "--tasks",
            "t",
            "--out",
            "o",
            "--partition",
            "auto",
        ];
        let mut command = dir.command(&arguments);
        command.env_remove("SLURM_ARRAY_TASK_ID");
        command.envs(variables.iter().copied());
        play::run(&mut command).exits_with(2).err
    };
    assert!(auto(&[]).contains("no scheduler says which part this is"));
    assert!(auto(&[("HQ_TASK_ID", "1")]).contains("FILLRATE_PARTITIONS"));
}
