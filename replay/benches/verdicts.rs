//! Speed of verdicts, by engine: the same holes and the same completions, judged in turn.
//!
//! `cargo bench -p fillrate --bench verdicts -- [CORPUS [HOLES [JOBS]]]` mines holes of a corpus
//! (default: the demo's) and judges, for each, the reference, nothing, and two near misses, with
//! the naive engine (a copy, every test, from the start), cold and warm, and warm as a run does it:
//! identical text once. It prints verdicts per second, the median time of passing and of failing
//! ones, the peak memory of all judging processes with shared pages counted once, and the number of
//! verdicts that differ from the naive engine's.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use comfy_table::Table;
use fillrate_language::task::{self, Hole};
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::{Corpus, CorpusStep};
use fillrate_verdict::{Engine, Judge, Outcome};

fn main() {
    // The sandbox starts this binary again as its inner stages.
    if fillrate_sandbox::enter_if_requested().is_some() {
        return;
    }
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let corpus = given
        .first()
        .map_or_else(|| root.join("corpora/demo.toml"), PathBuf::from);
    let number = |index: usize, default: usize| {
        given
            .get(index)
            .map_or(default, |text| text.parse().unwrap())
    };
    let (wanted, jobs) = (number(1, 10), number(2, 1));
    let manifest = Manifest::read(&corpus).unwrap();
    let cache = Corpus::from_environment().unwrap();
    let tasks = tempfile::NamedTempFile::new().unwrap();
    // The program itself mines, so the holes are those that a run would have.
    let mined = std::process::Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .args(["mine", corpus.to_str().unwrap(), "--holes"])
        .arg((wanted * manifest.projects.len()).to_string())
        .arg("-o")
        .arg(tasks.path())
        .status()
        .unwrap();
    assert!(mined.success());
    let holes = task::read(tasks.path()).unwrap();
    let mut table = Table::new();
    table.set_header([
        "project",
        "engine",
        "verdicts",
        "a second",
        "times naive",
        "failing ms (median)",
        "passing ms (median)",
        "memory MiB",
        "disagreeing",
    ]);
    for project in &manifest.projects {
        let prepared = cache
            .prepare_project(project, &|_: &str, _: CorpusStep| {})
            .unwrap();
        let holes: Vec<&Hole> = holes
            .iter()
            .filter(|hole| hole.project == project.name)
            .collect();
        let changes: Vec<(&Hole, String)> = holes
            .iter()
            .flat_map(|hole| {
                let contents = std::fs::read_to_string(prepared.source.join(&hole.path)).unwrap();
                completions(&hole.reference)
                    .map(|completion| (*hole, hole.filled(&contents, &completion).unwrap()))
            })
            .collect();
        let judge = Judge::new(&prepared, cache.cache.root(), Engine::Warm, 2, |_| {}).unwrap();
        // Tests are altered and tried once for all verdicts on a project, whatever the engine.
        for (hole, contents) in changes.iter().step_by(COMPLETIONS) {
            judge.judge_with(Engine::Warm, hole, contents).unwrap();
        }
        let mut naive: Option<(Vec<Outcome>, f64)> = None;
        let ways = [Engine::Naive, Engine::Cold, Engine::Warm].map(|engine| (engine, false));
        for (engine, once) in ways.into_iter().chain([(Engine::Warm, true)]) {
            let memory = Memory::watch();
            let begin = Instant::now();
            let verdicts = judge_all(&changes, jobs, |hole, contents| {
                let verdict = match once {
                    // Only `judge` looks for an equal text that was judged before.
                    true => judge.judge(hole, contents),
                    false => judge.judge_with(engine, hole, contents),
                };
                verdict.unwrap().outcome
            });
            let rate = verdicts.len() as f64 / begin.elapsed().as_secs_f64();
            let outcomes: Vec<Outcome> = verdicts.iter().map(|(outcome, _)| *outcome).collect();
            let median = |passed: bool| {
                let mut times: Vec<Duration> = verdicts
                    .iter()
                    .filter(|(outcome, _)| (*outcome == Outcome::Passed) == passed)
                    .map(|(_, time)| *time)
                    .collect();
                times.sort();
                times.get(times.len() / 2).map_or_else(String::new, |time| {
                    format!("{:.0} (n {})", time.as_secs_f64() * 1e3, times.len())
                })
            };
            // The naive engine runs first, so its verdicts are those that the others are compared
            // with.
            let (expected, slowest) = naive.get_or_insert_with(|| (outcomes.clone(), rate));
            let disagreeing = outcomes.iter().zip(&*expected).filter(|(a, b)| a != b);
            table.add_row([
                project.name.clone(),
                format!("{engine}{}", if once { ", once" } else { "" }),
                verdicts.len().to_string(),
                format!("{rate:.2}"),
                format!("{:.1}", rate / *slowest),
                median(false),
                median(true),
                (memory.most() >> 10).to_string(),
                disagreeing.count().to_string(),
            ]);
        }
    }
    println!("{table}\n{jobs} at a time");
}

/// Looks at the memory that this program's children hold, and theirs.
struct Memory {
    most: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Memory {
    fn watch() -> Self {
        let (most, ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (seen, over) = (Arc::clone(&most), Arc::clone(&ended));
        // Peaks are short, so they are sampled during the runs.
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                seen.fetch_max(held_below(std::process::id()), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Self { most, ended }
    }

    /// The most that was seen, in KiB.
    fn most(&self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        self.most.load(Ordering::Relaxed)
    }
}

/// The proportional memory of all processes that descend from one, in KiB.
fn held_below(ancestor: u32) -> u64 {
    let read = |pid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let pids = std::fs::read_dir("/proc").unwrap();
    let parents: HashMap<u32, u32> = pids
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| {
            let stat = read(pid, "stat").ok()?;
            // The name in front may hold anything, blanks and brackets too.
            let (_, after) = stat.rsplit_once(')')?;
            Some((pid, after.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let descends = |mut pid: u32| {
        while let Some(parent) = parents.get(&pid) {
            if *parent == ancestor {
                return true;
            }
            pid = *parent;
        }
        false
    };
    let held = |pid: &u32| {
        let rollup = read(*pid, "smaps_rollup").ok()?;
        // Proportional memory counts a shared page once over all processes.
        let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let below = parents.keys().filter(|pid| descends(**pid));
    below.filter_map(held).sum()
}

/// Number of completions that are judged at a hole.
const COMPLETIONS: usize = 4;

/// Completions that are judged at a hole: right, nothing, and two near misses.
fn completions(reference: &str) -> [String; COMPLETIONS] {
    [
        reference.to_owned(),
        String::new(),
        format!("{reference} + 1"),
        reference.replacen(['0', '1', '='], "", 1) + " ",
    ]
}

fn judge_all(
    changes: &[(&Hole, String)],
    jobs: usize,
    judge: impl Fn(&Hole, &str) -> Outcome + Sync,
) -> Vec<(Outcome, Duration)> {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(vec![None; changes.len()]);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((hole, contents)) = changes.get(index) else {
                        break;
                    };
                    let begin = Instant::now();
                    let outcome = judge(hole, contents);
                    verdicts.lock().unwrap()[index] = Some((outcome, begin.elapsed()));
                }
            });
        }
    });
    verdicts
        .into_inner()
        .unwrap()
        .into_iter()
        .flatten()
        .collect()
}
