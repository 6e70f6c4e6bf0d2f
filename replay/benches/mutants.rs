//! Speed of judging mutants, compared with other programs: the same file, the same tests, and
//! whether they agree on the mutants that both have.
//!
//! `cargo bench -p fillrate --bench mutants -- [MOST [PYTHON [TYPESCRIPT]]]` mutates a module of
//! mistune (default: `src/mistune/util.py`) and compares with cosmic-ray and mutmut, then a file of
//! the TypeScript demo (default: `src/units/quantity.ts`) and compares with Stryker. The scripts in
//! `tests/setup` install the programs. Each program judges all its own mutants of the file, except
//! cosmic-ray, the slowest, which judges at most MOST of those that ours has too (default: 20; 0
//! for all). The bench prints mutants per second of wall-clock time and of processor time, kills,
//! the number of shared mutants on which both agree, and the mutants on which they differ. A
//! timeout counts as a kill. Times exclude our baseline, which is prepared once for many runs; they
//! include the work that a program repeats at each start, copying and a first run of the tests.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a bench uses its part of what tests share"
)]
#[path = "../../tests/support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::Table;
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::Value;

use support::peers::{Module, cosmic_ray};
use support::play::{self, TestDir, text};
use support::programs::install;

/// Verdicts of a program on a file's mutants.
struct Judged {
    program: &'static str,
    wall: f64,
    cpu: f64,
    /// True for each that was killed, by its change.
    killed: Vec<(String, bool)>,
}

fn main() {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let most = given.first().map_or(20, |most| most.parse().unwrap());
    let path =
        |index: usize, default: &str| given.get(index).map_or(default, |path| path).to_owned();
    let dir = TestDir::new();
    let meter = Meter::new();

    let python = path(1, "src/mistune/util.py");
    let module = Module::prepare(&dir, "corpora/real.toml", "mistune", &python);
    let mut judged = vec![ours(&meter, &dir, &module)];
    judged.extend(install("cosmic-ray").map(|python| cosmic(&python, &dir, &module, most)));
    judged.extend(install("mutmut").map(|python| mutmut(&meter, &python, &dir, &module)));
    show(&meter, &module, &judged);

    let typescript = path(2, "src/units/quantity.ts");
    let module = Module::prepare(&dir, "corpora/demo.toml", "demo-typescript", &typescript);
    let mut judged = vec![ours(&meter, &dir, &module)];
    judged.extend(install("stryker").map(|folder| stryker(&meter, &folder, &dir, &module)));
    show(&meter, &module, &judged);
}

/// `fillrate mutate` with nothing remembered.
fn ours(meter: &Meter, dir: &TestDir, module: &Module) -> Judged {
    let listed = module.listed(dir);
    let mut survivors = BTreeSet::new();
    // The list of mutants is made before the clock starts.
    let (wall, cpu) = timed(meter, || survivors = module.survivors(dir, &["--anew"]));
    let diff = |mutant: &Value| mutant["diff"].as_str().unwrap().to_owned();
    Judged {
        program: "fillrate",
        wall,
        cpu,
        killed: listed
            .iter()
            .map(|mutant| (change(&diff(mutant)), !survivors.contains(&diff(mutant))))
            .collect(),
    }
}

fn cosmic(python: &Path, dir: &TestDir, module: &Module, most: usize) -> Judged {
    let listed = module.listed(dir);
    let theirs = cosmic_ray(python, dir, module, &listed, most);
    Judged {
        program: "cosmic-ray",
        wall: theirs["wall"].as_f64().unwrap(),
        cpu: theirs["cpu"].as_f64().unwrap(),
        killed: theirs["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|verdict| {
                let index = usize::try_from(verdict["index"].as_u64().unwrap()).unwrap();
                let diff = listed[index]["diff"].as_str().unwrap();
                (change(diff), verdict["killed"] == true)
            })
            .collect(),
    }
}

fn mutmut(meter: &Meter, python: &Path, dir: &TestDir, module: &Module) -> Judged {
    let project = module.copied(dir, "mutmut");
    let settings = format!(
        "[mutmut]\nsource_paths=src\nonly_mutate={}\nalso_copy=\n    tests\n",
        module.path
    );
    fs::write(project.join("setup.cfg"), settings).unwrap();
    let jobs = std::thread::available_parallelism().unwrap().to_string();
    let start = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&project)
            .env("PYTHONPATH", "src")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "mutmut: {said}");
        output.stdout
    };
    let program = python.with_file_name("mutmut");
    let (wall, cpu) = timed(meter, || {
        start(&program, &["run", "--max-children", &jobs]);
    });
    let script = text(&play::repository("tests/peers/mutmut_kills.py"));
    let verdicts: Vec<Value> = serde_json::from_slice(&start(python, &[&script])).unwrap();
    Judged {
        program: "mutmut",
        wall,
        cpu,
        killed: verdicts
            .iter()
            // Skipped mutants were not judged.
            .filter(|verdict| verdict["status"] != "skipped")
            .map(|verdict| {
                let survives =
                    matches!(verdict["status"].as_str().unwrap(), "survived" | "no tests");
                (change(verdict["diff"].as_str().unwrap()), !survives)
            })
            .collect(),
    }
}

fn stryker(meter: &Meter, folder: &Path, dir: &TestDir, module: &Module) -> Judged {
    let project = module.copied(dir, "stryker");
    let modules = folder.join("node_modules");
    // The packages are installed once and linked, which Node follows.
    std::os::unix::fs::symlink(&modules, project.join("node_modules")).unwrap();
    let settings = serde_json::json!({
        "testRunner": "vitest",
        "plugins": ["@stryker-mutator/vitest-runner"],
        "mutate": [module.path],
        "reporters": ["json"],
        "concurrency": std::thread::available_parallelism().unwrap().get(),
    });
    fs::write(project.join("stryker.config.json"), settings.to_string()).unwrap();
    let (wall, cpu) = timed(meter, || {
        let status = Command::new(&module.program)
            .arg(modules.join("@stryker-mutator/core/bin/stryker.js"))
            .arg("run")
            .current_dir(&project)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    });
    let report = fs::read(project.join("reports/mutation/mutation.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let mutants = report["files"][&module.path]["mutants"].as_array().unwrap();
    let lines: Vec<usize> = std::iter::once(0)
        .chain(module.contents.match_indices('\n').map(|(end, _)| end + 1))
        .collect();
    // Lines and columns count from one; the demo's files have nothing beyond the first plane.
    let offset = |position: &Value| {
        let number = |name: &str| usize::try_from(position[name].as_u64().unwrap()).unwrap() - 1;
        let line = &module.contents[lines[number("line")]..];
        let column: usize = line
            .chars()
            .take(number("column"))
            .map(char::len_utf8)
            .sum();
        lines[number("line")] + column
    };
    let killed = mutants
        .iter()
        .filter(|mutant| mutant["status"] != "Ignored")
        .map(|mutant| {
            let at = &mutant["location"];
            let mutated = [
                &module.contents[..offset(&at["start"])],
                mutant["replacement"].as_str().unwrap(),
                &module.contents[offset(&at["end"])..],
            ]
            .concat();
            let diff = similar::TextDiff::from_lines(&module.contents, &mutated);
            let diff = diff.unified_diff().to_string();
            let survives = matches!(
                mutant["status"].as_str().unwrap(),
                "Survived" | "NoCoverage"
            );
            (change(&diff), !survives)
        })
        .collect();
    Judged {
        program: "Stryker",
        wall,
        cpu,
        killed,
    }
}

/// Seconds of the clock, and of the processors in all processes that were started meanwhile.
fn timed(meter: &Meter, work: impl FnOnce()) -> (f64, f64) {
    let (begin, before) = (Instant::now(), meter.used());
    work();
    (begin.elapsed().as_secs_f64(), meter.used() - before)
}

/// Counts the processors' time. The system's own count of a process's children leaves out those
/// that a sandbox kills, so that a control group has to count, where there is one.
enum Meter {
    /// A group of the first version with this program and its children alone, and what it is below.
    Own(PathBuf),
    /// The group of the second version that this program shares with other processes.
    Shared(PathBuf),
    /// Children that were waited for: too little.
    Reaped,
}

impl Meter {
    fn new() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            // The second version of control groups has no controllers in its line and one
            // hierarchy.
            let below = Path::new("/sys/fs/cgroup").join(controllers);
            let group = below.join(path.trim_start_matches('/'));
            if controllers.is_empty() && group.join("cpu.stat").exists() {
                return Self::Shared(group);
            }
            if controllers
                .split(',')
                .any(|controller| controller == "cpuacct")
            {
                let own = group.join(format!("fillrate-bench-{}", std::process::id()));
                let moved = fs::create_dir(&own).and_then(|()| {
                    fs::write(own.join("cgroup.procs"), std::process::id().to_string())
                });
                if moved.is_ok() {
                    return Self::Own(own);
                }
            }
        }
        Self::Reaped
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Own(_) => "processor s",
            Self::Shared(_) => "processor s (and others of the control group)",
            Self::Reaped => "processor s (less what a sandbox killed)",
        }
    }

    /// Seconds until now.
    fn used(&self) -> f64 {
        match self {
            Self::Own(group) => {
                let nanoseconds = fs::read_to_string(group.join("cpuacct.usage")).unwrap();
                nanoseconds.trim().parse::<f64>().unwrap() / 1e9
            }
            Self::Shared(group) => {
                let counts = fs::read_to_string(group.join("cpu.stat")).unwrap();
                let mut lines = counts.lines();
                let microseconds = lines.find_map(|line| line.strip_prefix("usage_usec "));
                microseconds.unwrap().parse::<f64>().unwrap() / 1e6
            }
            Self::Reaped => {
                let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
                let times = [usage.user_time(), usage.system_time()];
                let seconds = times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
                seconds.iter().sum()
            }
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Self::Own(group) = self {
            // A group can only be removed once nothing is in it.
            let above = group.parent().unwrap().join("cgroup.procs");
            let _ = fs::write(above, std::process::id().to_string());
            let _ = fs::remove_dir(group);
        }
    }
}

/// Returns the text that a diff removes and the text that it adds, without blanks, parentheses and
/// quotes' kinds, in which programs differ.
fn change(diff: &str) -> String {
    let kept = |line: &str| -> String {
        let is_compared = |c: &char| !c.is_whitespace() && !"();".contains(*c);
        let one = |c: char| if c == '\'' { '"' } else { c };
        line.chars().filter(is_compared).map(one).collect()
    };
    diff.lines()
        .filter(|line| !line.starts_with("---") && !line.starts_with("+++"))
        .filter(|line| line.starts_with(['-', '+']))
        .map(kept)
        .collect::<Vec<_>>()
        .join("\n")
}

fn show(meter: &Meter, module: &Module, judged: &[Judged]) {
    let mut table = Table::new();
    table.set_header([
        module.path.as_str(),
        "mutants",
        "s",
        "a second",
        meter.name(),
        "a processor second",
        "killed",
        "survived",
        "shared",
        "agreeing",
    ]);
    // If a line occurs twice, the one that a program changed is unknown.
    let unique = |judged: &Judged| -> BTreeMap<String, bool> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (change, _) in &judged.killed {
            *counts.entry(change).or_default() += 1;
        }
        let once = judged
            .killed
            .iter()
            .filter(|(change, _)| counts[change.as_str()] == 1);
        once.cloned().collect()
    };
    let known = unique(&judged[0]);
    let mut disagreeing = String::new();
    for (index, one) in judged.iter().enumerate() {
        let shared: Vec<(String, bool, bool)> = unique(one)
            .into_iter()
            .filter_map(|(change, killed)| {
                let ours = *known.get(&change)?;
                Some((change, ours, killed))
            })
            .collect();
        for (change, ours, theirs) in shared.iter().filter(|(_, ours, theirs)| ours != theirs) {
            let word = |killed: bool| if killed { "killed" } else { "survived" };
            let (ours, theirs, program) = (word(*ours), word(*theirs), one.program);
            disagreeing += &format!("{program}: {theirs}, fillrate: {ours}\n{change}\n");
        }
        let compared = |count: usize| match index {
            0 => String::new(),
            _ => count.to_string(),
        };
        let number = one.killed.len();
        let killed = one.killed.iter().filter(|(_, killed)| *killed).count();
        let agreeing = shared.iter().filter(|(_, ours, theirs)| ours == theirs);
        table.add_row([
            one.program.to_owned(),
            number.to_string(),
            format!("{:.1}", one.wall),
            format!("{:.2}", number as f64 / one.wall),
            format!("{:.1}", one.cpu),
            format!("{:.2}", number as f64 / one.cpu),
            killed.to_string(),
            (number - killed).to_string(),
            compared(shared.len()),
            compared(agreeing.count()),
        ]);
    }
    println!("{table}\n{disagreeing}");
}
