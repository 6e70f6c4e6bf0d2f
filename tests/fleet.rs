//! Parts that know nothing of each other, killed at any moment, make the run of one machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::errors::{ModelServer, settings};
use crate::support::play::{self, TestDir, attempts, files, has_tools, kitchen, start, text};
use crate::support::processes::{RunningProgram, own_process, survivors};
use crate::support::programs::install;

/// The holes that all replays here share.
fn mine(dir: &TestDir) -> String {
    let tasks = text(&dir.path("tasks.jsonl"));
    dir.fillrate(&["mine", &kitchen(), "--holes", "8", "-o", &tasks])
        .exits_with(0);
    tasks
}

/// A path in the test's folder, or an address as it is.
fn place(dir: &TestDir, name: &str) -> String {
    match name.contains("://") {
        true => name.to_owned(),
        false => text(&dir.path(name)),
    }
}

/// A replay of all holes, or of a part of them.
fn replay(dir: &TestDir, tasks: &str, out: &str, more: &[&str]) -> Command {
    let (corpus, out) = (kitchen(), place(dir, out));
    let mut arguments = vec![
        "replay", &corpus, "--tasks", tasks, "--jobs", "1", "--out", &out,
    ];
    arguments.extend(more);
    if !more.contains(&"--samples") {
        arguments.extend(["--samples", "3"]);
    }
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
                    let hash = fillrate_language::task::sha256_hex(&contents);
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
    let output = one("3/3").out;
    assert!(output.starts_with("part 3/3: "), "{output}");
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
fn a_part_that_stops_with_an_error_keeps_its_attempts() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = ModelServer::with_limit(listener, 2);
    let model = text(&dir.write("model.toml", &settings(address.port(), "retries = 0\n")));
    let more = ["--model", &model, "--partition", "1/1"];
    let stopped = play::run(&mut replay(&dir, &tasks, "parts", &more)).exits_with(1);
    let message = stopped.error_message();
    assert!(
        message.contains("gave no answer 4 times in a row"),
        "{message}"
    );
    // The fourth failure in a row is not recorded as an attempt.
    let kept: String = segments(&dir.path("parts"))
        .into_values()
        .map(|contents| String::from_utf8(contents).unwrap())
        .collect();
    let kept: Vec<&str> = kept
        .lines()
        .filter(|line| line.starts_with("{\"attempt\":"))
        .collect();
    assert_eq!(kept.len(), 5, "{kept:#?}");
    let failures = kept
        .iter()
        .filter(|line| line.contains("\"outcome\":\"infrastructure\""));
    assert_eq!(failures.count(), 3, "{kept:#?}");

    let server = ModelServer::on(TcpListener::bind(address).unwrap());
    play::run(&mut replay(&dir, &tasks, "parts", &more)).exits_with(0);
    assert_eq!(server.requests.lock().unwrap().len(), 22);
}

#[test]
fn conflicts_are_reported_settled_and_counted() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let model = ["--model", "empty", "--partition", "1/1"];
    play::run(&mut replay(&dir, &tasks, "parts", &model)).exits_with(0);
    // Another part's segment, in which one verdict is another.
    let parts = dir.path("parts/parts/1-of-1");
    let mut all = segments(&dir.path("parts")).into_values();
    let contents = all.find_map(|contents| {
        let contents = String::from_utf8(contents).unwrap();
        contents.contains("\"attempt\"").then_some(contents)
    });
    let contents = contents.unwrap();
    // `passed` is the outcome that comes first, so settling can't take it unseen.
    let (before, made) = contents.split_at(contents.find("{\"attempt\":").unwrap());
    let wrong = made.replacen("\"outcome\":\"failed\"", "\"outcome\":\"passed\"", 1);
    assert_ne!(wrong, made);
    let wrong = [before, &wrong].concat();
    let name = format!(
        "{}.jsonl",
        fillrate_language::task::sha256_hex(wrong.as_bytes())
    );
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
    let settlement = &settled["settled"][0];
    assert_eq!(settlement["rejudged"], "failed", "{settled}");
    let all = attempts(&dir.path("run"));
    let chosen = &all[settlement["attempt"].as_str().unwrap()];
    assert_eq!(chosen["verdict"]["outcome"], "failed", "{chosen}");
    let shown = dir.fillrate(&["show", &run]).exits_with(0).out;
    assert!(
        shown.contains("1 verdicts in which the parts of the run differed were judged again"),
        "{shown}"
    );
    let has_passed = |attempt: &Value| attempt["verdict"]["outcome"] == "passed";
    assert!(!all.values().any(has_passed));
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
    let holes = std::fs::read(&tasks).unwrap();
    for output in [&[] as &[&str], &["-o", &tasks], &["-o", "./tasks.jsonl"]] {
        let mut arguments = vec!["mutate", &tasks, "--corpus", &corpus];
        arguments.extend(["--partition", "1/2"]);
        arguments.extend(output);
        let refused = dir.fillrate(&arguments).exits_with(1);
        let message = refused.error_message();
        assert!(message.ends_with("name another file with -o"), "{message}");
    }
    assert_eq!(std::fs::read(&tasks).unwrap(), holes);

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

#[test]
fn fleets_of_several_contexts_are_refused() {
    let dir = TestDir::new();
    let (corpus, tasks) = (kitchen(), text(&dir.write("tasks.jsonl", "")));
    let fleet = |contexts: &[&str]| {
        let mut arguments = vec!["fleet", "slurm", &corpus, "--tasks", &tasks];
        arguments.extend(["--out", "parts", "--parts", "2", "--"]);
        arguments.extend(contexts);
        dir.fillrate(&arguments)
    };
    for contexts in [
        &["--context", "none,editor"] as &[&str],
        &["--context", "none", "--context", "editor"],
    ] {
        let refused = fleet(contexts).exits_with(1);
        assert_eq!(
            refused.error_message(),
            "a fleet replays one context; start a fleet for each, with its own --out"
        );
        assert!(!dir.path("parts").exists());
    }
    fleet(&["--context", "none"]).exits_with(0);
    fleet(&[]).exits_with(0);
}

/// A Slurm cluster of two nodes on this machine, with keys, ports and folders of its own.
struct Slurm {
    programs: PathBuf,
    configuration: PathBuf,
    daemons: Vec<(String, Child)>,
}

impl Slurm {
    fn start(dir: &TestDir, programs: PathBuf) -> Self {
        let folder = dir.path("slurm");
        for name in ["state", "node1", "node2"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        // munged refuses keys that others could read, and folders that others could write.
        let key = folder.join("munge.key");
        std::fs::write(&key, rand::random::<[u8; 128]>()).unwrap();
        for (path, mode) in [(&key, 0o400), (&folder, 0o755)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let [control, first, second] = [(); 3].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        });
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim();
        let at = folder.display();
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.sock\nPluginDir={}\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/%n\nSlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n.pid\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
             MpiDefault=none\nReturnToService=2\nSlurmdTimeout=5\nRequeueExit=137\n\
             NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=4000\n\
             NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=4000\n\
             PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP\n",
            programs.join("plugins").display()
        );
        let configuration = folder.join("slurm.conf");
        std::fs::write(&configuration, text).unwrap();
        let mut slurm = Self {
            programs,
            configuration,
            daemons: Vec::new(),
        };
        slurm.daemon(
            "munged",
            &[
                "--foreground",
                "--force",
                &format!("--socket={at}/munge.sock"),
                &format!("--key-file={at}/munge.key"),
                &format!("--pid-file={at}/munged.pid"),
                &format!("--log-file={at}/munged.log"),
                &format!("--seed-file={at}/munge.seed"),
            ],
        );
        slurm.daemon("slurmctld", &["-D"]);
        slurm.node("node1");
        slurm.node("node2");
        slurm
    }

    fn daemon(&mut self, name: &str, arguments: &[&str]) {
        let child = Command::new(self.programs.join("sbin").join(name))
            .args(arguments)
            .env("SLURM_CONF", &self.configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.daemons.push((arguments.join(" "), child));
    }

    fn node(&mut self, name: &str) {
        let stepd = text(&self.programs.join("sbin/slurmstepd"));
        self.daemon("slurmd", &["-D", "-N", name, "-d", &stepd]);
    }

    /// Kills a node's daemon.
    fn lose(&mut self, name: &str) {
        let lost = self
            .daemons
            .iter_mut()
            .find(|(arguments, _)| arguments.contains(name));
        let (_, daemon) = lost.unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// The program with this cluster's programs at hand.
    fn command(&self, dir: &TestDir, arguments: &[&str]) -> Command {
        let mut command = dir.command(arguments);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.programs.join("bin").display());
        command
            .env("PATH", path)
            .env("SLURM_CONF", &self.configuration);
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for (_, daemon) in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// `FILLRATE_SAMPLES` is how many completions each of the eight holes gets.
#[test]
fn a_slurm_array_that_loses_a_node_gives_the_run_of_one_machine() {
    own_process!();
    if !has_tools(&["python3"]) || !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let Some(programs) = install("slurm") else {
        return;
    };
    let dir = TestDir::new();
    let tasks = mine(&dir);
    let samples = std::env::var("FILLRATE_SAMPLES").unwrap_or("3".to_owned());
    let samples = ["--samples", samples.as_str()];
    play::run(&mut replay(&dir, &tasks, "whole", &samples)).exits_with(0);
    let mut slurm = Slurm::start(&dir, programs);
    let (corpus, out) = (kitchen(), text(&dir.path("parts")));
    let mut arguments = vec!["fleet", "slurm", &corpus, "--tasks", &tasks, "--out", &out];
    arguments.extend(["--parts", "6", "--processors", "1", "--memory", "1"]);
    arguments.extend(["--minutes", "5"]);
    let written = [&arguments[..], &["--"], &samples].concat();
    let printed = play::run(&mut slurm.command(&dir, &written))
        .exits_with(0)
        .out;
    let script = |name: &str| text(&dir.path(&format!("parts/slurm/{name}.sh")));
    assert_eq!(
        printed,
        format!(
            "job=$(sbatch --parsable {})\nsbatch --dependency=afterany:\"$job\" {}\n",
            script("parts"),
            script("merge")
        )
    );
    let refused = [&arguments[..], &["--", "--sample", "3"]].concat();
    let refused = play::run(&mut slurm.command(&dir, &refused)).exits_with(1);
    assert!(refused.error_message().contains("--sample"), "{refused:#?}");

    let submitted = [&arguments[..], &["--submit", "--"], &samples].concat();
    let submit = || play::run(&mut slurm.command(&dir, &submitted));
    // The daemons need a moment.
    let deadline = Instant::now() + Duration::from_secs(30);
    while submit().status != Some(0) {
        assert!(Instant::now() < deadline, "{:#?}", submit());
        std::thread::sleep(Duration::from_millis(300));
    }
    let begun = || !segments(&dir.path("parts")).is_empty() || dir.path("parts/parts").is_dir();
    while !begun() {
        assert!(
            Instant::now() < deadline + Duration::from_secs(60),
            "no part begins"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    slurm.lose("node2");
    let follow = [&arguments[..], &["--follow", "--"], &samples].concat();
    let follow = || play::run(&mut slurm.command(&dir, &follow));
    let followed = follow().exits_with(0);
    assert!(followed.out.starts_with("run: "), "{followed:#?}");
    assert!(followed.err.contains("waiting for parts"), "{followed:#?}");
    assert_eq!(exported(&dir, "parts/run"), exported(&dir, "whole"));

    // A merge that wrote no run is a failure, and so is a lost part.
    std::fs::remove_dir_all(dir.path("parts/run")).unwrap();
    let merging = format!(
        "read merge.log in {}, and merge by sbatch {}",
        text(&dir.path("parts/slurm")),
        script("merge")
    );
    let followed = follow().exits_with(1);
    let message = followed.err.lines().last().unwrap();
    assert_eq!(
        message,
        format!(
            "fillrate: all parts are finished and {} holds no run; {merging}",
            text(&dir.path("parts/run"))
        )
    );
    assert!(!followed.out.contains("run: "), "{followed:#?}");
    std::fs::remove_dir_all(dir.path("parts/parts/2-of-6")).unwrap();
    let followed = follow().exits_with(1);
    let message = followed.err.lines().last().unwrap();
    assert!(
        message.starts_with("fillrate: 1 of 6 parts are missing"),
        "{message}"
    );
    let again = format!(" --array=2 {}; then {merging}", script("parts"));
    assert!(message.ends_with(&again), "{message}");
}

/// Serves with one worker until it is killed, and prints a line once it does.
const SERVER: &str = "\
import sys, time
from hyperqueue import LocalCluster
from hyperqueue.cluster import WorkerConfig
with LocalCluster(sys.argv[1], WorkerConfig(cores=1)):
    open(sys.argv[2], 'w').close()
    time.sleep(600)
";

#[test]
fn hyperqueue_parts_that_are_killed_and_fail_give_the_run_of_one_machine() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let Some(python) = install("hyperqueue") else {
        return;
    };
    let dir = TestDir::new();
    let tasks = mine(&dir);
    play::run(&mut replay(&dir, &tasks, "whole", &[])).exits_with(0);
    let (corpus, out) = (kitchen(), text(&dir.path("parts")));
    let mut arguments = vec!["fleet", "hyperqueue", &corpus, "--tasks", &tasks];
    arguments.extend(["--out", &out, "--parts", "6", "--processors", "1"]);
    // HyperQueue can't hold a part to it.
    let refused = [&arguments[..], &["--memory", "1"]].concat();
    dir.fillrate(&refused).exits_with(2);
    arguments.extend(["--minutes", "5", "--", "--samples", "3"]);
    let program = text(&dir.path("parts/hyperqueue/run.py"));
    let printed = dir.fillrate(&arguments).exits_with(0).out;
    assert_eq!(printed, format!("python3 {program}\n"));
    let parts = |more: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(&program).args(more).current_dir(dir.path(""));
        command.env("TMPDIR", dir.path("tmp")).stdin(Stdio::null());
        command
    };
    let server = text(&dir.path("server"));
    let refused = play::run(&mut parts(&["--server-dir", &server])).exits_with(1);
    let said = "run.py: no server of HyperQueue answers (";
    assert!(refused.err.contains(said), "{refused:#?}");

    // The workers end with the program that started them, and with their parts.
    let mut running = start(&mut parts(&["--local", "2"]));
    let deadline = Instant::now() + Duration::from_secs(60);
    while segments(&dir.path("parts")).is_empty() {
        assert!(Instant::now() < deadline, "no part is done");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(survivors(), Vec::<String>::new());
    let missing = || {
        let listed = dir.fillrate(&["merge", &out, "--missing"]).out;
        listed.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let first = missing();
    assert!(!first.is_empty() && first.len() < 6, "{first:?}");

    // A part that can't write fails, and the others don't.
    let failing = first.last().unwrap();
    let number = failing.strip_suffix("/6").unwrap();
    let folder = dir.path(&format!("parts/parts/{number}-of-6"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "").unwrap();
    let failed = play::run(&mut parts(&["--local", "2"])).exits_with(1);
    let log = text(&dir.path(&format!("parts/hyperqueue/part-{number}.err")));
    for line in [
        format!("run.py: running {} of 6 parts", first.len()),
        format!(
            "run.py: part {failing}: Program terminated with exit code 1; its output is in {log}"
        ),
        format!("fillrate: part {failing}: it was never begun"),
        format!(
            "run.py: 1 of 6 parts are missing; read their output in {}, and run them again by {} \
             {program} --local 2",
            text(&dir.path("parts/hyperqueue")),
            text(&python),
        ),
    ] {
        assert!(
            failed.err.lines().any(|one| one == line),
            "{line}\n{failed:#?}"
        );
    }
    let reason = std::fs::read_to_string(log).unwrap();
    assert!(reason.contains(&text(&folder)), "{reason}");
    assert!(!dir.path("parts/run").exists());
    assert_eq!(missing(), [failing.as_str()]);

    // The part that is missing runs by a server that is there, and the merge after it.
    std::fs::remove_file(&folder).unwrap();
    let before = segments(&dir.path("parts"));
    std::fs::create_dir(&server).unwrap();
    let ready = text(&dir.path("ready"));
    let mut serving = Command::new(&python);
    serving.args(["-c", SERVER, &server, &ready]);
    let serving = RunningProgram(start(serving.env("TMPDIR", dir.path("tmp"))));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !Path::new(&ready).exists() {
        assert!(Instant::now() < deadline, "the server does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let merged = play::run(&mut parts(&["--server-dir", &server])).exits_with(0);
    drop(serving);
    let run = format!("run: {}\n", text(&dir.path("parts/run")));
    assert_eq!(merged.out, run);
    assert!(merged.err.contains("running 1 of 6 parts"), "{merged:#?}");
    assert_eq!(exported(&dir, "parts/run"), exported(&dir, "whole"));
    let added = segments(&dir.path("parts")).into_keys();
    let added: Vec<PathBuf> = added.filter(|name| !before.contains_key(name)).collect();
    assert!(!added.is_empty());
    assert!(
        added
            .iter()
            .all(|name| name.starts_with(folder.file_name().unwrap())),
        "{added:?}"
    );
    // Nothing is left to do, so that no server is needed.
    let again = play::run(&mut parts(&["--server-dir", &server])).exits_with(0);
    assert_eq!((again.out, again.err), (run, String::new()));
}

/// A command of a worker that has this cache, and neither network nor registry.
fn offline(mut command: Command, cache: &Path) -> Command {
    let nowhere = "http://127.0.0.1:9/";
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
        command.env(name, nowhere);
    }
    command
        .env("FILLRATE_CACHE", cache)
        .env("PIP_INDEX_URL", nowhere)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env_remove("PIP_FIND_LINKS")
        .env_remove("PIP_EXTRA_INDEX_URL")
        .env("PIP_RETRIES", "0");
    command
}

#[test]
fn a_worker_with_a_pack_needs_no_network() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let cache = dir.path("cache");
    let (tasks, packed) = (mine(&dir), text(&dir.path("pack.tar.gz")));
    let worker = |arguments: &[&str]| offline(dir.command(arguments), &cache);
    // Without the pack, a worker that is cut off can do nothing.
    let part = |corpus: &str, tasks: &str, part: &str| {
        let out = text(&dir.path("parts"));
        let mut arguments = vec!["replay", corpus, "--tasks", tasks, "--samples", "3"];
        arguments.extend(["--jobs", "1", "--out", &out, "--partition", part]);
        play::run(&mut worker(&arguments))
    };
    let refused = part(&kitchen(), &tasks, "1/2").exits_with(3);
    assert!(refused.err.contains("pip install"), "{refused:#?}");
    std::fs::remove_dir_all(&cache).unwrap();
    // The order of tests depends on the baseline, which comes with the pack.
    let mut whole = replay(&dir, &tasks, "whole", &[]);
    play::run(whole.env("FILLRATE_CACHE", &cache)).exits_with(0);
    let corpus = kitchen();
    let pack = |out: &str| {
        let mut command = dir.command(&["pack", &corpus, "--tasks", &tasks, "-o", out]);
        command.env("FILLRATE_CACHE", &cache);
        play::run(&mut command).exits_with(0)
    };
    let said = pack(&packed).out;
    assert!(said.contains("pack.tar.gz: 1 projects, "), "{said}");
    let bytes = std::fs::read(&packed).unwrap();
    let again = text(&dir.path("again.tar.gz"));
    pack(&again);
    assert_eq!(std::fs::read(&again).unwrap(), bytes);
    std::fs::remove_dir_all(&cache).unwrap();

    let unpack = |pack: &str| play::run(&mut worker(&["unpack", pack]));
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for wrong in [flipped, bytes[..bytes.len() / 2].to_vec()] {
        std::fs::write(&again, wrong).unwrap();
        let refused = unpack(&again).exits_with(1);
        let message = refused.error_message();
        assert!(
            message.starts_with(&format!("{again} is damaged: ")),
            "{message}"
        );
    }
    let refused = unpack(&tasks).exits_with(1);
    let message = refused.error_message();
    assert!(
        message.starts_with(&format!("{tasks} is no pack; ")),
        "{message}"
    );
    let elsewhere = dir.path("elsewhere");
    let refused = play::run(&mut offline(dir.command(&["unpack", &packed]), &elsewhere));
    let refused = refused.exits_with(1);
    let advice = format!("set FILLRATE_CACHE={}", text(&cache));
    assert!(refused.error_message().ends_with(&advice), "{refused:#?}");
    assert!(!elsewhere.exists());

    let mut random = ChaCha8Rng::seed_from_u64(23);
    for _ in 0..3 {
        let mut unpacking = start(&mut worker(&["unpack", &packed]));
        std::thread::sleep(Duration::from_millis(random.random_range(20..400)));
        unpacking.kill().unwrap();
        unpacking.wait().unwrap();
    }
    let unpacked = unpack(&packed).exits_with(0).out;
    let paths: Vec<&str> = unpacked
        .lines()
        .map(|line| line.split_once(": ").unwrap().1)
        .collect();
    let [corpus, tasks] = paths[..] else {
        panic!("{unpacked}")
    };
    assert!(!cache.join("unpacking").exists());
    let once_more = unpack(&packed).exits_with(0);
    assert_eq!(once_more.out, unpacked);
    assert!(
        once_more.err.starts_with("fillrate: 0 of "),
        "{once_more:#?}"
    );
    for one in ["1/2", "2/2"] {
        part(corpus, tasks, one).exits_with(0);
    }
    merge(&dir, "parts", "run");
    assert_eq!(exported(&dir, "run"), exported(&dir, "whole"));
}

/// Serves S3 on a free port, which it prints, with one bucket.
const S3_SERVER: &str = "\
import sys, time, urllib.request
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer('127.0.0.1', 0)
server.start()
host, port = server.get_host_and_port()
bucket = urllib.request.Request(f'http://{host}:{port}/holes', method='PUT')
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(bucket)
print(port, flush=True)
time.sleep(600)
";

/// Replays two parts into an object store, the first of them killed and started again, and compares
/// their merge with `whole`. `variables` are the store's.
fn check_object_store(dir: &TestDir, tasks: &str, address: &str, variables: &[(&str, &str)]) {
    let with = |mut command: Command| {
        command.envs(variables.iter().copied());
        command
    };
    let part = |part: &str| with(replay(dir, tasks, address, &["--partition", part]));
    let mut killed = start(&mut part("1/2"));
    std::thread::sleep(Duration::from_millis(900));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let done = play::run(&mut part("1/2")).exits_with(0).out;
    assert!(
        done.ends_with(&format!(" {address}/parts/1-of-2\n")),
        "{done}"
    );
    let run = text(&dir.path(&format!("run-{}", address.split_once(':').unwrap().0)));
    let merge = |more: &[&str]| {
        let arguments = [&["merge", address] as &[&str], more].concat();
        play::run(&mut with(dir.command(&arguments)))
    };
    let missing = merge(&["--missing"]).exits_with(3);
    assert_eq!(missing.out, "2/2\n");
    play::run(&mut part("2/2")).exits_with(0);
    // What is there already is not made again.
    let before = merge(&["--missing", "--json"]).exits_with(0).out;
    play::run(&mut part("2/2")).exits_with(0);
    assert_eq!(merge(&["--missing", "--json"]).exits_with(0).out, before);
    let merged = merge(&["-o", &run, "--json"]).exits_with(0).json();
    assert_eq!(merged["attempts"], 24, "{merged}");
    assert_eq!(merged["repeated"], 0, "{merged}");
    let name = Path::new(&run).file_name().unwrap().to_str().unwrap();
    assert_eq!(exported(dir, name), exported(dir, "whole"));
    // A run is a folder.
    for refused in [
        play::run(&mut with(replay(dir, tasks, address, &[]))),
        merge(&["-o", address]),
    ] {
        let message =
            format!("{address} is an object store, which holds parts and no run; name a folder");
        assert_eq!(refused.exits_with(1).error_message(), message);
    }
}

#[test]
fn object_stores_need_a_program_that_is_built_with_them() {
    let dir = TestDir::new();
    let merging = dir.fillrate(&["merge", "s3://", "--missing"]).exits_with(1);
    let message = match cfg!(feature = "object-store") {
        true => {
            "s3:// is no object store that can be used (it names no bucket); name \
             s3://BUCKET/PREFIX or file:///FOLDER"
        }
        false => {
            "s3:// is an object store, which this program is built without; build it with \
             `--features object-store`, or name a folder"
        }
    };
    assert_eq!(merging.error_message(), message);
    // An unsupported address is not treated as a folder.
    let unknown = dir
        .fillrate(&["merge", "gs://bucket", "--missing"])
        .exits_with(1);
    let message = unknown.error_message();
    assert!(message.starts_with("gs://bucket is "), "{message}");
    assert!(message.contains(" object store"), "{message}");
}

#[test]
#[cfg_attr(
    not(feature = "object-store"),
    ignore = "it needs the feature object-store"
)]
fn parts_in_an_object_store_make_the_run_of_one_machine() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mine(&dir);
    play::run(&mut replay(&dir, &tasks, "whole", &[])).exits_with(0);
    let objects = dir.path("objects");
    let address = format!("file://{}", text(&objects));
    check_object_store(&dir, &tasks, &address, &[]);
    let segments = segments(&objects);
    let (damaged, contents) = segments.iter().next_back().unwrap();
    std::fs::write(objects.join("parts").join(damaged), &contents[1..]).unwrap();
    let refused = dir
        .fillrate(&["merge", &address, "--missing"])
        .exits_with(1);
    let message = refused.error_message();
    let named = format!("{address}/parts/{} is damaged: ", text(damaged));
    assert!(message.starts_with(&named), "{message}");

    let Some(python) = install("moto") else {
        return;
    };
    let serving = Command::new(python)
        .args(["-c", S3_SERVER])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut serving = RunningProgram(serving);
    let mut lines = BufReader::new(serving.0.stdout.take().unwrap()).lines();
    let port = lines
        .find_map(|line| line.unwrap().parse::<u16>().ok())
        .unwrap();
    let endpoint = format!("http://127.0.0.1:{port}");
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    check_object_store(&dir, &tasks, "s3://holes/of/kitchen", &variables);
    let mut missing = dir.command(&["merge", "s3://nothing/here", "--missing"]);
    let refused = play::run(missing.envs(variables)).exits_with(1);
    let message = refused.error_message();
    assert!(message.starts_with("s3://nothing/here/: "), "{message}");
}

#[test]
fn a_kubernetes_manifest_fits_the_schema() {
    let Some(python) = install("kubernetes-schema") else {
        return;
    };
    let dir = TestDir::new();
    let arguments = [
        "fleet",
        "kubernetes",
        "/fillrate/real.toml",
        "--tasks",
        "/fillrate/tasks.jsonl",
        "--out",
        "/fillrate/parts",
        "--run",
        "/fillrate/my run",
        "--parts",
        "200",
        "--image",
        "fillrate:1",
        "--workers",
        "20",
        "--claim",
        "shared",
        "--secret",
        "keys",
        "--",
        "--model",
        "/fillrate/model.toml",
    ];
    let manifest = dir.fillrate(&arguments).exits_with(0).out;
    let merging = "`fillrate merge /fillrate/parts -o '/fillrate/my run'`";
    assert!(manifest.contains(merging), "{manifest}");
    let file = dir.write("job.yaml", &manifest);
    let check = |file: &Path| {
        let mut command = Command::new(&python);
        command
            .args(["-m", "kubernetes_validate", "-k", "1.33", "--strict"])
            .arg(file);
        play::run(&mut command)
    };
    check(&file).exits_with(0);
    let wrong = manifest.replace("backoffLimitPerIndex: 6", "backoffLimitPerIndex: often");
    assert_ne!(check(&dir.write("wrong.yaml", &wrong)).status, Some(0));
    let elsewhere = arguments.map(|word| {
        if word == "/fillrate/parts" {
            "parts"
        } else {
            word
        }
    });
    let refused = dir.fillrate(&elsewhere).exits_with(1);
    assert!(refused.error_message().contains("is not on the volume"));
    // Parts need no volume, but the other files of a fleet do.
    let address = "s3://holes/parts";
    let in_store = |arguments: &[&str]| {
        let arguments = arguments.iter().map(|word| match *word {
            "/fillrate/parts" => address,
            word => word,
        });
        dir.fillrate(&arguments.collect::<Vec<_>>())
    };
    let manifest = in_store(&arguments).exits_with(0).out;
    assert!(
        manifest.contains("\"--out\",\"s3://holes/parts\""),
        "{manifest}"
    );
    let (corpus, tasks) = (kitchen(), text(&dir.write("tasks.jsonl", "")));
    let slurm = ["fleet", "slurm", &corpus, "--tasks", &tasks, "--parts", "2"];
    let refused = in_store(&[&slurm[..], &["--out", address]].concat()).exits_with(1);
    assert!(
        refused
            .error_message()
            .starts_with("s3://holes/parts is an object store, and")
    );
}
