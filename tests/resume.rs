//! A run that is killed at any moment and started again does what is missing and nothing twice.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::support::play::{self, TestDir, attempts, has_tools, kitchen, repository, start, text};
use crate::support::processes::{own_process, survivors};

/// Attempts of a whole run: 8 holes, 3 samples each.
const ATTEMPTS: usize = 24;

/// The command of both replays: the one that is killed and the uninterrupted one.
fn replay(dir: &TestDir, run: &str) -> Command {
    dir.command(&[
        "replay",
        &kitchen(),
        "--holes",
        "8",
        "--samples",
        "3",
        "--out",
        &text(&dir.path(run)),
        "--jobs",
        "1",
        // With verdicts cached by the uninterrupted run, a replay ends too soon to be killed.
        "--anew",
        "--json",
    ])
}

/// An attempt without its times, and without the addresses in memory that Python prints.
fn timeless(mut attempt: Value) -> Value {
    let chance = regex::Regex::new(r"\b\d+\.\d+s\b|\b0x[0-9a-f]+\b").unwrap();
    let mut pending = vec![&mut attempt];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !name.ends_with("_ms") && name != "seconds");
                pending.extend(fields.values_mut());
            }
            Value::Array(items) => pending.extend(items),
            Value::String(text) => *text = chance.replace_all(text, "…").into_owned(),
            _ => {}
        }
    }
    attempt
}

/// Returns the places at which two values differ, with both values.
fn differences(a: &Value, b: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), a, b)];
    while let Some((path, a, b)) = pending.pop() {
        match (a, b) {
            (Value::Object(of_a), Value::Object(of_b)) if of_a.keys().eq(of_b.keys()) => {
                pending.extend(
                    of_a.iter()
                        .map(|(name, value)| (format!("{path}/{name}"), value, &of_b[name])),
                );
            }
            _ if a != b => found.push(format!("{path}: {a} and {b}")),
            _ => {}
        }
    }
    found
}

/// Returns the number of attempts that a run has so far.
fn done(run: &Path) -> usize {
    if !run.join("run.db").is_file() {
        return 0;
    }
    let count = || -> rusqlite::Result<u32> {
        let database = rusqlite::Connection::open(run.join("run.db"))?;
        database.query_row("SELECT count(*) FROM attempts", [], |row| row.get(0))
    };
    // The table may not be there yet.
    count().unwrap_or_default() as usize
}

#[test]
fn a_run_killed_three_times_equals_an_uninterrupted_run() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let whole = play::run(&mut replay(&dir, "whole")).exits_with(0).json();

    let run = dir.path("killed");
    let mut random = ChaCha8Rng::seed_from_u64(20);
    let mut before: BTreeMap<String, Value> = BTreeMap::new();
    for (kill, at_least) in [0, 3, 8].into_iter().enumerate() {
        let mut replaying = start(&mut replay(&dir, "killed"));
        let deadline = Instant::now() + Duration::from_secs(60);
        while done(&run) < at_least && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(random.random_range(0..40)));
        // SIGKILL, to that one process.
        replaying.kill().unwrap();
        let status = replaying.wait().unwrap();
        assert_eq!(status.code(), None, "kill {kill} came too late");
        assert_eq!(survivors(), Vec::<String>::new(), "after kill {kill}");
        if !run.join("run.db").is_file() {
            continue;
        }
        let after = attempts(&run);
        assert!(
            (at_least..ATTEMPTS).contains(&after.len()),
            "{}",
            after.len()
        );
        for (key, attempt) in &before {
            // Its times are the same as well, so it is the same attempt and not another like it.
            assert_eq!(after.get(key), Some(attempt));
        }
        before = after;
    }
    let resumed = play::run(&mut replay(&dir, "killed")).exits_with(0).json();

    let after = attempts(&run);
    for (key, attempt) in &before {
        assert_eq!(after.get(key), Some(attempt));
    }
    let timeless_attempts = |run: &Path| -> BTreeMap<String, Value> {
        attempts(run)
            .into_iter()
            .map(|(key, attempt)| (key, timeless(attempt)))
            .collect()
    };
    let expected = timeless_attempts(&dir.path("whole"));
    assert_eq!(expected.len(), ATTEMPTS);
    let resumed_attempts = timeless_attempts(&run);
    assert!(resumed_attempts.keys().eq(expected.keys()));
    for (key, attempt) in &expected {
        assert_eq!(
            differences(attempt, &resumed_attempts[key]),
            Vec::<String>::new()
        );
    }
    let mut places: Vec<(&Value, &Value)> = after
        .values()
        .map(|attempt| (&attempt["hole"], &attempt["sample"]))
        .collect();
    places.sort_by_key(|(hole, sample)| (hole.as_str(), sample.as_u64()));
    places.dedup();
    assert_eq!(places.len(), ATTEMPTS, "an attempt was made twice");

    let rows = |mut report: Value| -> Value {
        for row in report["rows"].as_array_mut().unwrap() {
            row["metrics"]["latency_ms/median"] = json!("a time");
        }
        report["rows"].take()
    };
    assert_eq!(rows(resumed), rows(whole));

    // What is finished is not begun again, and prints the same.
    let again = play::run(&mut replay(&dir, "killed")).exits_with(0);
    assert_eq!(attempts(&run), after);
    assert!(again.err.contains(": 24/24"), "{again:#?}");
}

/// `FILLRATE_KILLS` is how many runs are killed.
#[test]
fn runs_killed_at_random_moments_lose_nothing_and_leave_nothing() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let kills = std::env::var("FILLRATE_KILLS").map_or(4, |kills| kills.parse().unwrap());
    let dir = TestDir::new();
    let began = Instant::now();
    play::run(&mut replay(&dir, "whole")).exits_with(0);
    let usual = began.elapsed();
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let (mut runs, mut killed) = (0, 0);
    let mut before: BTreeMap<String, Value> = BTreeMap::new();
    while killed < kills {
        let name = format!("run-{runs}");
        let mut replaying = start(&mut replay(&dir, &name));
        std::thread::sleep(usual.mul_f64(random.random_range(0.0..0.7)));
        replaying.kill().unwrap();
        let status = replaying.wait().unwrap();
        assert_eq!(survivors(), Vec::<String>::new(), "after kill {killed}");
        let after = match dir.path(&name).join("run.db").is_file() && done(&dir.path(&name)) > 0 {
            true => attempts(&dir.path(&name)),
            false => BTreeMap::new(),
        };
        for (key, attempt) in &before {
            assert_eq!(after.get(key), Some(attempt), "after kill {killed}");
        }
        before = after;
        if status.code().is_none() {
            killed += 1;
        }
        if before.len() == ATTEMPTS || killed == kills {
            play::run(&mut replay(&dir, &name)).exits_with(0);
            let whole = attempts(&dir.path(&name));
            assert_eq!(whole.len(), ATTEMPTS);
            let is_infrastructure =
                |attempt: &&Value| attempt["verdict"]["outcome"] == "infrastructure";
            assert_eq!(whole.values().filter(is_infrastructure).count(), 0);
            (runs, before) = (runs + 1, BTreeMap::new());
        }
    }
    println!("{killed} kills of {runs} runs");
}

#[test]
fn a_run_refuses_another_command() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let run = text(&dir.path("run"));
    let first = |more: &[&str]| {
        let corpus = kitchen();
        let mut arguments = vec!["replay", &corpus, "--holes", "2", "--out", &run];
        arguments.extend(more);
        dir.fillrate(&arguments)
    };
    first(&["--model", "empty"]).exits_with(0);
    let before = attempts(&dir.path("run"));
    for (more, what) in [
        (&["--model", "reference"] as &[&str], "`model`"),
        (&["--model", "empty", "--seed", "7"], "`holes`"),
        (&["--model", "empty", "--samples", "2"], "`samples`"),
        (
            &["--model", "empty", "--context", "none"],
            "`configuration`",
        ),
        (
            &["--model", "empty", "--request-timeout", "5"],
            "`request_timeout`",
        ),
    ] {
        let refused = first(more).exits_with(1);
        assert_eq!(
            refused.error_message(),
            format!(
                "{run} holds a run of something else ({what} differs); name another folder with \
                 --out, or start the command it was started with"
            )
        );
    }
    assert_eq!(attempts(&dir.path("run")), before);
    // The number of jobs is not part of a run's identity.
    first(&["--model", "empty", "--jobs", "1"]).exits_with(0);
}

/// A limit of the tests is in the key of an attempt. The attempts under the old limit would count a
/// second time.
#[test]
fn a_run_refuses_attempts_whose_tests_ran_otherwise() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let run = text(&dir.path("run"));
    let kitchen = std::fs::read_to_string(kitchen()).unwrap();
    let source = repository("tests/corpora/kitchen");
    let kitchen = kitchen.replace(
        "path = \"kitchen\"",
        &format!("path = \"{}\"", text(&source)),
    );
    let replay = |limit: &str| {
        let manifest = kitchen.replace(
            "runner = \"pytest\"",
            &format!("runner = \"pytest\"\n{limit}"),
        );
        let manifest = text(&dir.write("kitchen.toml", &manifest));
        dir.fillrate(&[
            "replay", &manifest, "--model", "empty", "--holes", "2", "--out", &run, "--json",
        ])
    };
    let once = replay("").exits_with(0).json();
    assert_eq!(once["rows"][0]["metrics"]["em/cceval"]["n"], 2, "{once:#}");
    let before = attempts(&dir.path("run"));
    let refused = replay("timeout = 50").exits_with(1);
    assert_eq!(
        refused.error_message(),
        format!(
            "{run} holds a run of something else (the way in which the tests of `kitchen` run \
             differs); name another folder with --out, or start the command it was started with"
        )
    );
    assert_eq!(attempts(&dir.path("run")), before);
    replay("").exits_with(0);
}
