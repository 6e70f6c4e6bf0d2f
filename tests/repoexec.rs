//! Our verdicts held against those that others recorded: generations of a model for tasks of
//! [RepoExec](https://github.com/FSoft-AI4Code/RepoExec), each with whether it passed, judged anew by the
//! library's own judge in the real sandbox.
//!
//! The records stand beside the repository, not in it. A task is a function of a package and a
//! file of tests; it becomes a project of its own, the package's source distribution with that one
//! file added, and a generation takes the function's place as it is: no server cleans it up.
//!
//! Every fifth task is judged, or all of them with `FILLRATE_REPOEXEC=all`. The sandbox starts
//! this binary again as its inner stages, so that it has a `main` of its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fillrate::corpus::cache::Cache;
use fillrate::corpus::manifest::Manifest;
use fillrate::corpus::{Corpus, Prepared, Toolchain, source};
use fillrate::task::{Hole, Kind};
use fillrate::verdict::{Engine, Judge, Outcome, Verdict};
use play::{Place, cache, copy, has, repository};
use serde::Deserialize;

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

/// What the recorded tests load beside the packages, which need nothing themselves, and what runs
/// them.
const ENVIRONMENT: [&str; 8] = [
    "pytest==8.4.2",
    "coverage==7.10.7",
    "iniconfig==2.1.0",
    "packaging==25.0",
    "pluggy==1.6.0",
    "Pygments==2.19.2",
    "numpy==2.2.6",
    "timeout-decorator==0.5.0",
];

/// The file that a task's tests come to stand in.
const TESTS: &str = "test_recorded.py";

/// Every which task is judged where not all are asked for.
const STEP: usize = 5;

/// Verdicts at a time: as many as a small machine has processors.
const JOBS: usize = 2;

/// A function to generate, with what became of it.
#[derive(Deserialize)]
struct Task {
    task_index: usize,
    pypi: String,
    record: Record,
    generations: Vec<Generation>,
}

#[derive(Deserialize)]
struct Record {
    focal_function: String,
    module: String,
    test: String,
}

#[derive(Deserialize)]
struct Generation {
    generation: String,
    passed: bool,
    /// Whether the verdict came from tests that are not among the record's.
    tests_not_shipped: bool,
}

impl Task {
    fn name(&self) -> String {
        format!("task-{}", self.task_index)
    }

    fn package(&self) -> &str {
        self.record.module.split('.').next().unwrap()
    }

    /// The file in which the function stands.
    fn path(&self) -> String {
        self.record.module.replace('.', "/") + ".py"
    }

    /// The tests as they run in the project's folder, rather than where they were recorded.
    fn tests(&self) -> String {
        let package = self.package();
        let lines = self.record.test.lines().filter_map(|line| {
            if line.starts_with("sys.path.insert(") {
                return None;
            }
            Some(match line.strip_prefix("from .") {
                Some(rest) => format!("from {package}.{rest}\n"),
                None => line.replace("\"/output/", "\"output/") + "\n",
            })
        });
        let tests: String = lines.collect();
        assert!(!tests.contains("/input/") && !tests.contains("\"/output"));
        tests
    }

    /// The generations whose recorded verdict the recorded tests gave, with their places.
    fn judged(&self) -> impl Iterator<Item = (usize, &Generation)> {
        self.generations
            .iter()
            .enumerate()
            .filter(|(_, generation)| !generation.tests_not_shipped)
    }
}

/// What came of comparing.
#[derive(Default)]
struct Tally {
    compared: usize,
    passing: usize,
    cold: usize,
    by_outcome: BTreeMap<Outcome, usize>,
    /// In sentences.
    differing: Vec<String>,
}

fn main() {
    if fillrate::sandbox::enter_if_asked().is_some() {
        return;
    }
    // `cargo test WORD` gives the word to every test binary first, and `--list` asks for no more
    // than names.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let unwanted = arguments.first().is_some_and(|word| {
        !word.starts_with('-') && !"verdicts_are_those_that_others_recorded".contains(word.as_str())
    });
    if unwanted || arguments.iter().any(|word| word == "--list") {
        return;
    }
    verdicts_are_those_that_others_recorded();
}

fn verdicts_are_those_that_others_recorded() {
    let records = repository("../shared/oracles/repoexec");
    let tasks = match fs::read_to_string(records.join("tasks.jsonl")) {
        Ok(tasks) => tasks,
        Err(error) => {
            let reason = format!("{} cannot be read: {error}", records.display());
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            return;
        }
    };
    if !has(&["python3"]) {
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

    let corpus = Corpus {
        cache: Cache::at(&cache()),
        toolchain: Toolchain::default(),
    };
    let place = Place::new();
    let manifest = projects(&place, &corpus, &records, &tasks);
    let mut tally = Tally::default();
    for (task, project) in tasks.iter().zip(&manifest.projects) {
        let prepared = corpus.prepare_project(project, &|_, _| {}).unwrap();
        compare(task, &prepared, &mut tally);
    }
    println!(
        "repoexec: {} tasks, {} verdicts compared, {} of them passing, {} differ; {} judged cold \
         too; outcomes: {:?}",
        tasks.len(),
        tally.compared,
        tally.passing,
        tally.differing.len(),
        tally.cold,
        tally.by_outcome
    );
    assert!(tally.passing > 0 && tally.passing < tally.compared);
    assert!(tally.differing.is_empty(), "{}", tally.differing.join("\n"));
}

/// One project for each task, in one manifest and with one environment.
fn projects(place: &Place, corpus: &Corpus, records: &Path, tasks: &[Task]) -> Manifest {
    let sources = sources(place, corpus);
    let mut manifest = "schema = 1\n".to_owned();
    for task in tasks {
        let (name, tests) = (task.name(), task.tests());
        copy(&sources[&task.pypi], &place.path(&name));
        place.write(&format!("{name}/{TESTS}"), &tests);
        // Only the files that these tests load, so that projects stay small.
        for file in tests.split('"').filter(|text| text.starts_with("output/")) {
            let to = place.path(&name).join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(records.join(file), to).unwrap();
        }
        let source = format!("path = \"{name}\"");
        manifest += &project(&name, &source, &task.path());
    }
    Manifest::parse(&manifest, &place.path("repoexec.toml")).unwrap()
}

/// The packages as they are published, by what tasks call them.
fn sources(place: &Place, corpus: &Corpus) -> BTreeMap<String, PathBuf> {
    let mut manifest = "schema = 1\n".to_owned();
    for (index, (pin, sha256)) in PACKAGES.iter().enumerate() {
        let source = format!("pypi = \"{pin}\", sha256 = \"{sha256}\"");
        manifest += &project(&format!("package-{index}"), &source, "*.py");
    }
    let manifest = Manifest::parse(&manifest, &place.path("packages.toml")).unwrap();
    let projects = manifest.projects.iter();
    PACKAGES
        .iter()
        .zip(projects)
        .map(|((pin, _), project)| {
            let source = source::bring(&corpus.cache, &corpus.toolchain, project, &|_| {});
            ((*pin).to_owned(), source.unwrap().root)
        })
        .collect()
}

/// A project's lines in a manifest.
fn project(name: &str, source: &str, holes: &str) -> String {
    format!(
        r#"
[[project]]
name = "{name}"
language = "python"
source = {{ {source} }}
holes = ["{holes}"]

[project.environment]
packages = {ENVIRONMENT:?}

[project.test]
runner = "pytest"
args = ["{TESTS}"]
path = ["."]
"#
    )
}

/// Judges a task's generations and holds the verdicts against the recorded ones.
fn compare(task: &Task, prepared: &Prepared, tally: &mut Tally) {
    let path = task.path();
    let contents = fs::read_to_string(prepared.source.join(&path)).unwrap();
    let places: Vec<usize> = contents
        .match_indices(&task.record.focal_function)
        .map(|(start, _)| start)
        .collect();
    let [start] = places[..] else {
        panic!("{} stands {} times in {path}", task.name(), places.len());
    };
    let range = start..start + task.record.focal_function.len();
    let hole = Hole::new(&task.name(), "python", &path, Kind::Body, range, &contents);
    let judge = Judge::new(prepared, &cache(), Engine::Warm, JOBS, |_, _| {}).unwrap();
    let baseline = judge.baseline();
    // Otherwise every verdict here would be a cold one.
    assert!(baseline.is_warm(), "{} is not judged warm", task.name());
    let filled: Vec<(usize, bool, String)> = task
        .judged()
        .map(|(index, generation)| {
            let filled = hole.filled(&contents, &generation.generation).unwrap();
            (index, generation.passed, filled)
        })
        .collect();

    let warm = in_parallel(&filled, |(_, _, filled)| {
        judge.judge(&path, filled, &[]).unwrap()
    });
    for ((index, passed, _), verdict) in filled.iter().zip(&warm) {
        tally.compared += 1;
        tally.passing += usize::from(*passed);
        *tally.by_outcome.entry(verdict.outcome).or_default() += 1;
        let agrees = (verdict.outcome == Outcome::Passed) == *passed;
        if !agrees || !verdict.outcome.is_evidence() {
            let recorded = if *passed { "passed" } else { "failed" };
            tally.differing.push(format!(
                "{}, generation {index}: recorded as {recorded}, judged {}",
                task.name(),
                told(verdict)
            ));
        }
        // What fails here must fail for the reason that it failed there, and not for want of
        // evidence, which others don't ask for.
        let loaded = !verdict.reason.ends_with("can't be loaded");
        if verdict.outcome == Outcome::Failed && verdict.failed.is_empty() && loaded {
            tally.differing.push(format!(
                "{}, generation {index}: no test failed, and yet it is judged {}",
                task.name(),
                told(verdict)
            ));
        }
    }

    // The first of those that pass and the first of the others, from the start.
    let sample: Vec<_> = [true, false]
        .into_iter()
        .filter_map(|wanted| {
            let of_kind = |(_, passed, _): &&(usize, bool, String)| *passed == wanted;
            filled.iter().find(of_kind)
        })
        .collect();
    let cold = in_parallel(&sample, |(_, _, filled)| {
        judge.judge_with(Engine::Cold, &path, filled, &[]).unwrap()
    });
    for ((index, ..), verdict) in sample.iter().zip(&cold) {
        tally.cold += 1;
        let place = filled.iter().position(|(other, ..)| other == index);
        let warm = &warm[place.unwrap()];
        if verdict.outcome != warm.outcome {
            tally.differing.push(format!(
                "{}, generation {index}: judged {}, but cold {}",
                task.name(),
                told(warm),
                told(verdict)
            ));
        }
    }
    println!(
        "{}: {} tests, {} that don't agree with themselves left out, {} verdicts",
        task.name(),
        baseline.stable().len(),
        baseline.quarantined().len(),
        filled.len()
    );
}

/// A verdict for somebody who has to find out why it is what it is.
fn told(verdict: &Verdict) -> String {
    format!(
        "{} since {} (missing {:?}, {} tests run, {:.1} s):\n{}",
        verdict.outcome.name(),
        verdict.reason,
        verdict.missing,
        verdict.executed,
        verdict.seconds,
        verdict.output
    )
}

/// What becomes of each, in their order, [`JOBS`] at a time.
fn in_parallel<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, R>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(one) = all.get(index)
                {
                    let result = each(one);
                    done.lock().unwrap().insert(index, result);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}
