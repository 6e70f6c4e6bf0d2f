//! Every error ends in one clear sentence, with a distinct exit status, and with
//! everything else done.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::play::{
    self, FinishedCommand, TestDir, attempts, files, has_tools, holes, kitchen, repository, text,
};
use crate::support::processes::free_port;
use crate::support::programs;

/// A copy of the small project with its manifest, to be damaged.
fn copied(dir: &TestDir) -> PathBuf {
    play::copy(&repository("tests/corpora/kitchen"), &dir.path("kitchen"));
    let manifest = fs::read_to_string(kitchen()).unwrap();
    dir.write("kitchen.toml", &manifest)
}

/// Holes of the small project, in a tasks file.
fn mined(dir: &TestDir, count: &str) -> PathBuf {
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&["mine", &kitchen(), "--holes", count, "-o", &text(&tasks)])
        .exits_with(0);
    tasks
}

/// Replays the small project, or another corpus, with a model.
fn replay(dir: &TestDir, corpus: &str, more: &[&str]) -> FinishedCommand {
    let run = text(&dir.path("run"));
    let mut arguments = vec!["replay", corpus, "--out", &run, "--jobs", "1"];
    arguments.extend(more);
    dir.fillrate(&arguments)
}

#[test]
fn a_missing_corpus_is_reported() {
    let dir = TestDir::new();
    for command in [
        &["replay", "nowhere.toml"] as &[&str],
        &["mine", "nowhere.toml", "-o", "tasks.jsonl"],
    ] {
        let finished = dir.fillrate(command).exits_with(1);
        let error_message = finished.error_message();
        assert!(error_message.starts_with("nowhere.toml"), "{error_message}");
        assert!(error_message.contains("does not exist"), "{error_message}");
        assert_eq!(finished.err.lines().count(), 1, "{finished:#?}");
    }
    assert_eq!(files(&dir.path("")), Vec::<PathBuf>::new());
}

#[test]
fn a_misspelt_key_in_a_manifest_is_reported_with_its_line() {
    let dir = TestDir::new();
    let manifest = copied(&dir);
    let right = fs::read_to_string(&manifest).unwrap();
    let wrong = right.replace("runner = ", "runer = ");
    let line = 1 + wrong
        .lines()
        .position(|line| line.contains("runer"))
        .unwrap();
    fs::write(&manifest, wrong).unwrap();
    let finished = replay(&dir, "kitchen.toml", &[]).exits_with(1);
    let error_message = finished.error_message();
    assert!(
        error_message.starts_with(&format!("kitchen.toml:{line}: ")),
        "{error_message}"
    );
    assert!(error_message.contains("runer`"), "{error_message}");
    assert!(!dir.path("run").exists());
}

/// Serves one file by HTTP until the test ends; its address.
fn served(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            request(&mut stream);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                bytes.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(bytes);
        }
    });
    format!("http://{address}")
}

/// Reads one HTTP request, head and body.
fn request(stream: &mut TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(count) = line.to_lowercase().strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    (head, String::from_utf8_lossy(&body).into_owned())
}

#[test]
fn a_source_with_a_wrong_hash_fails_only_its_project() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let manifest = copied(&dir);
    let url = served(b"this is not what was pinned");
    let pinned = "0".repeat(64);
    let other = format!(
        "\n[[project]]\nname = \"swapped\"\nlanguage = \"python\"\nsource = {{ archive = \
         \"{url}/swapped.tar.gz\", sha256 = \"{pinned}\" }}\nholes = [\"*.py\"]\n\
         [project.environment]\npackages = [\"pytest==8.4.2\"]\n[project.test]\nrunner = \
         \"pytest\"\n"
    );
    fs::write(&manifest, fs::read_to_string(&manifest).unwrap() + &other).unwrap();
    let finished = replay(
        &dir,
        "kitchen.toml",
        &["--holes", "4", "--model", "reference"],
    )
    .exits_with(3);
    assert!(
        finished.out.contains("outcomes: passed 2\n"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains("1 project failed:\n  swapped: "),
        "{finished:#?}"
    );
    assert!(
        finished
            .out
            .contains(&format!("but the manifest pins {pinned}")),
        "{finished:#?}"
    );
    assert!(!finished.err.contains("panicked"), "{finished:#?}");
}

#[test]
fn a_project_that_fails_its_own_tests_fails_only_itself() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let manifest = copied(&dir);
    play::copy(&dir.path("kitchen"), &dir.path("broken"));
    let test = "import pytest\n\n@pytest.mark.parametrize('n', range(20))\n\
                def test_that_never_passes(n):\n    assert 1 == 2\n";
    dir.write("broken/tests/test_broken.py", test);
    let right = fs::read_to_string(&manifest).unwrap();
    let (_, project) = right.split_once("[[project]]").unwrap();
    let broken = project.replace("kitchen", "broken");
    fs::write(&manifest, format!("{right}\n[[project]]{broken}")).unwrap();
    let finished = replay(
        &dir,
        "kitchen.toml",
        &["--holes", "4", "--model", "reference"],
    )
    .exits_with(3);
    assert!(
        finished.out.contains("outcomes: passed 2\n"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains(
            "1 project failed:\n  broken: `broken` passes 11 of its own 31 tests, and at least 50 % \
             must pass: 20 such as tests/test_broken.py::test_that_never_passes[0]: \
             AssertionError: assert 1 == 2; "
        ),
        "{finished:#?}"
    );

    // With no other project there is nothing to go on with.
    fs::write(&manifest, format!("schema = 1\n[[project]]{broken}")).unwrap();
    let finished = dir
        .fillrate(&["replay", "kitchen.toml", "--out", "alone"])
        .exits_with(3);
    assert!(
        finished
            .error_message()
            .starts_with("no project of kitchen.toml can be replayed: `broken` passes 11"),
        "{finished:#?}"
    );
    assert!(!dir.path("alone").exists());
}

#[test]
fn an_unknown_model_is_reported() {
    let dir = TestDir::new();
    let finished = replay(&dir, &kitchen(), &["--model", "embeded"]).exits_with(1);
    assert_eq!(
        finished.error_message(),
        "`embeded` is no model; `embedded` is the nearest; name `embedded`, `reference`, `empty` or \
         `predictions`, a settings file that ends in .toml, or predictions in a file that ends in \
         .jsonl"
    );
    // Before anything is found out of the repository.
    for command in ["replay", "compare"] {
        let arguments = [command, ".", "--model", "embeded", "--model", "embedded"];
        let finished = dir.fillrate(&arguments).exits_with(1);
        assert!(
            finished
                .err
                .starts_with("fillrate: `embeded` is no model; "),
            "{finished:#?}"
        );
    }
    let finished = replay(&dir, &kitchen(), &["--model", "nowhere.toml"]).exits_with(1);
    assert!(
        finished
            .error_message()
            .starts_with("nowhere.toml can't be read: "),
        "{finished:#?}"
    );
}

#[test]
fn invalid_settings_are_reported() {
    let dir = TestDir::new();
    let with = |settings: &str| {
        dir.write("model.toml", settings);
        replay(&dir, &kitchen(), &["--model", "model.toml"]).exits_with(1)
    };
    let finished = with("[model]\nprotocol = \"empty\"\ntemprature = 0.5\n");
    let error_message = finished.error_message();
    assert!(error_message.starts_with("model.toml: "), "{error_message}");
    assert!(error_message.contains("line 3"), "{error_message}");
    assert!(error_message.contains("`temprature`"), "{error_message}");

    let finished = with("[model]\nprotocol = \"carrier-pigeon\"\n");
    let error_message = finished.error_message();
    assert!(
        error_message.contains("line 2") && error_message.contains("openai-completions"),
        "{error_message}"
    );

    let remote = "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:9\"\n";
    let finished = with(&format!("{remote}name = \"mystery-7b\"\n"));
    let error_message = finished.error_message();
    assert!(
        error_message.contains("mystery-7b") && error_message.contains("family"),
        "{error_message}"
    );

    let finished = with(&format!("{remote}name = \"m\"\nfamily = \"qwen3\"\n"));
    let error_message = finished.error_message();
    assert!(
        error_message.contains("there is no family \"qwen3\"")
            && error_message.contains("qwen2.5-coder"),
        "{error_message}"
    );

    let finished = with(&format!(
        "{remote}name = \"qwen2.5-coder\"\nkey_env = \"FILLRATE_TEST_NO_SUCH_KEY\"\n"
    ));
    assert!(
        finished
            .error_message()
            .contains("FILLRATE_TEST_NO_SUCH_KEY, which key_env names, is not set"),
        "{finished:#?}"
    );
    assert!(!dir.path("run").exists());
}

/// Answers `/v1/completions` with `pass`, and remembers what was sent.
pub(crate) struct ModelServer {
    port: u16,
    pub(crate) requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl ModelServer {
    pub(crate) fn on(listener: TcpListener) -> Self {
        Self::with_limit(listener, usize::MAX)
    }

    /// A server that answers `limit` requests and refuses the others.
    pub(crate) fn with_limit(listener: TcpListener, limit: usize) -> Self {
        Self::new(listener, limit, usize::MAX)
    }

    /// A server that answers all requests with a completion but one, of this number from 1, which
    /// gets an error.
    pub(crate) fn failing(listener: TcpListener, failed: usize) -> Self {
        Self::new(listener, usize::MAX, failed)
    }

    fn new(listener: TcpListener, limit: usize, failed: usize) -> Self {
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().take(limit) {
                let mut stream = stream.unwrap();
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || {
                    let request = request(&mut stream);
                    // A connection that was opened in advance, and not used.
                    if request.0.is_empty() {
                        return;
                    }
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(request);
                        seen.len()
                    };
                    let choice = json!({"text": "pass", "finish_reason": "stop"});
                    // The name of a parameter, such as `stop`, would be taken for a refused one.
                    let (status, body) = match number == failed {
                        true => ("400 Bad Request", json!({"error": {"message": "no"}})),
                        false => ("200 OK", json!({"choices": [choice]})),
                    };
                    let body = body.to_string();
                    let head = "Content-Type: application/json\r\nConnection: close";
                    let answer = format!(
                        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    let _ = stream.write_all(answer.as_bytes());
                });
            }
        });
        Self { port, requests }
    }
}

pub(crate) fn settings(port: u16, more: &str) -> String {
    format!(
        "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:{port}\"\nname = \
         \"qwen2.5-coder-1.5b\"\n{more}"
    )
}

#[test]
fn a_dead_model_server_stops_the_run_and_a_live_one_resumes_it() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = text(&mined(&dir, "6"));
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    dir.write("model.toml", &settings(port, ""));
    let arguments = ["--tasks", &tasks, "--model", "model.toml"];
    let finished = replay(&dir, &kitchen(), &arguments).exits_with(1);
    let error_message = finished.error_message();
    assert!(
        error_message.starts_with("the model qwen2.5-coder-1.5b gave no answer 4 times in a row: "),
        "{error_message}"
    );
    assert!(error_message.contains(&address), "{error_message}");
    assert!(
        error_message.ends_with("rerun the command, finished attempts are kept"),
        "{error_message}"
    );
    for attempt in attempts(&dir.path("run")).values() {
        assert_eq!(attempt["verdict"]["outcome"], "infrastructure");
    }

    let server = ModelServer::on(TcpListener::bind(address).unwrap());
    let finished = replay(&dir, &kitchen(), &arguments).exits_with(0);
    assert!(!finished.out.contains("infrastructure"), "{finished:#?}");
    assert_eq!(server.requests.lock().unwrap().len(), 6);
    assert_eq!(attempts(&dir.path("run")).len(), 6);
}

/// What is missing says why, so that a person knows whether to run it again or to change a setting.
#[test]
fn a_run_that_lacks_an_attempt_says_why() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = text(&mined(&dir, "4"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = ModelServer::failing(listener, 2);
    dir.write("model.toml", &settings(server.port, "retries = 0\n"));
    let arguments = ["--tasks", &tasks, "--model", "model.toml"];
    let finished = replay(&dir, &kitchen(), &arguments).exits_with(3);
    let wanted = "are missing or ended in an infrastructure failure: the model";
    assert!(finished.err.contains(wanted), "{finished:#?}");
    assert!(
        finished.err.contains("; rerun the command to make them"),
        "{finished:#?}"
    );
}

#[test]
fn a_run_without_attempts_fails() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    // Fewer holes than the faults in a row that stop a run.
    let tasks = text(&mined(&dir, "2"));
    let port = free_port();
    dir.write("model.toml", &settings(port, ""));
    let arguments = ["--tasks", &tasks, "--model", "model.toml"];
    let finished = replay(&dir, &kitchen(), &arguments).exits_with(1);
    assert!(
        finished
            .error_message()
            .starts_with("no attempt completed: "),
        "{finished:#?}"
    );
}

#[test]
fn predictions_without_a_hole_are_reported() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mined(&dir, "2");
    let [first, second] = &holes(&tasks)[..] else {
        panic!("two holes were asked for");
    };
    let with = |predictions: &str| {
        dir.write("made.jsonl", predictions);
        let arguments = ["--tasks", &text(&tasks), "--model", "made.jsonl"];
        replay(&dir, &kitchen(), &arguments).exits_with(1)
    };
    let line = |hole: &Value| json!({"hole": hole["id"], "completions": ["pass"]}).to_string();
    let finished = with(&line(first));
    let id = second["id"].as_str().unwrap();
    assert_eq!(
        finished.error_message(),
        format!(
            "the predictions have no completion for the hole {id}; they have 1, such as for {}; \
             name the tasks that they were made for by --tasks",
            first["id"].as_str().unwrap()
        )
    );
    let twice = format!("{}\n{}\n", line(first), line(first));
    assert!(
        with(&twice)
            .error_message()
            .starts_with("made.jsonl, line 2: "),
        "{twice}"
    );
    let wrong = format!(
        "{}\n{{\"hole\": \"x\", \"completion\": \"y\"}}",
        line(first)
    );
    let finished = with(&wrong);
    let error_message = finished.error_message();
    assert!(
        error_message.starts_with("made.jsonl, line 2: ") && error_message.contains("`completion`"),
        "{error_message}"
    );
    assert!(!dir.path("run").exists());
}

#[test]
fn tasks_for_another_version_of_a_file_are_reported() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = mined(&dir, "2");
    copied(&dir);
    let hole = holes(&tasks).remove(0);
    let file = dir.path("kitchen").join(hole["path"].as_str().unwrap());
    let changed = fs::read_to_string(&file).unwrap() + "\n# A later version.\n";
    fs::write(&file, changed).unwrap();
    let finished = replay(&dir, "kitchen.toml", &["--tasks", &text(&tasks)]).exits_with(1);
    let error_message = finished.error_message();
    let (id, path) = (hole["id"].as_str().unwrap(), hole["path"].as_str().unwrap());
    assert!(
        error_message.starts_with(&format!(
            "{id}: {path} is not the file this hole was cut into"
        )),
        "{error_message}"
    );
    assert!(!dir.path("run").exists());
}

#[test]
fn an_unwritable_run_is_reported() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    dir.write("file", "no folder");
    let finished = dir
        .fillrate(&["replay", &kitchen(), "--holes", "1", "--out", "file/run"])
        .exits_with(1);
    let error_message = finished.error_message();
    let file = text(&dir.path("file"));
    assert_eq!(
        error_message,
        format!("file/run can't be written, because {file} is a file; name another path")
    );
    let finished = dir.fillrate(&["show", "nowhere"]).exits_with(1);
    assert_eq!(
        finished.error_message(),
        "nowhere holds no run; a run is a folder with a file `run.db`"
    );
    let finished = dir
        .fillrate(&["merge", "nowhere", "-o", "run"])
        .exits_with(1);
    assert_eq!(
        finished.error_message(),
        "nowhere is no folder; name the `--out` of `fillrate replay --partition k/n`"
    );
}

/// A shell in a mount namespace of its own, where it may mount; nothing where the kernel refuses.
fn mounting_shell(dir: &TestDir, script: &str) -> Option<Command> {
    let flags: &[&str] = if nix::unistd::geteuid().is_root() {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let folder = dir.path("mounted");
    fs::create_dir_all(&folder).unwrap();
    let shell = |script: &str| {
        let mut command = dir.command(&[]);
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script, "sh"]);
        command.arg(&folder).arg(env!("CARGO_BIN_EXE_fillrate"));
        command.envs(environment).current_dir(dir.path(""));
        command
    };
    let probe = shell("mount -t tmpfs -o size=1m tmpfs \"$1\"").output();
    match probe {
        Ok(output) if output.status.success() => Some(shell(script)),
        other => {
            programs::skip(&format!("no file system can be mounted here: {other:?}"));
            None
        }
    }
}

#[test]
fn a_full_disk_loses_no_attempt() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = text(&mined(&dir, "10"));
    let replay = format!(
        "\"$2\" replay {} --tasks {tasks} --model empty --jobs 1 --out \"$1/run\"",
        kitchen()
    );
    // Room for some of the ten attempts; then made larger.
    let script = format!(
        "mount -t tmpfs -o size=240k tmpfs \"$1\" || exit 9
         {replay}; echo \"status $?\"
         \"$2\" show \"$1/run\" --holes | grep -c ' kitchen/src/'
         mount -o remount,size=64m \"$1\" || exit 9
         {replay}; echo \"status $?\""
    );
    let Some(mut shell) = mounting_shell(&dir, &script) else {
        return;
    };
    let finished = play::run(&mut shell).exits_with(0);
    // The first of the two runs ends with it; the second does not mention it.
    assert!(
        finished.error_message().contains(
            "database or disk is full; make room and start the same command again, finished \
             attempts are kept\n"
        ),
        "{finished:#?}"
    );
    let mut lines = finished.out.lines();
    assert_eq!(lines.next(), Some("status 1"), "{finished:#?}");
    let kept: usize = lines.next().unwrap().parse().unwrap();
    assert!((1..10).contains(&kept), "{finished:#?}");
    // What was kept is where the second run begins.
    assert!(
        finished.err.contains(&format!(": {kept}/10\n")),
        "{finished:#?}"
    );
    assert!(finished.out.ends_with("status 0\n"), "{finished:#?}");
    assert_eq!(finished.out.matches("status ").count(), 2, "{finished:#?}");
    assert!(!finished.out.contains("infrastructure"), "{finished:#?}");
}

#[test]
fn a_key_goes_to_the_model_and_nowhere_else() {
    if !has_tools(&["python3"]) {
        return;
    }
    const KEY: &str = "sk-do-not-tell-anybody";
    let dir = TestDir::new();
    let tasks = text(&mined(&dir, "2"));
    let server = ModelServer::on(TcpListener::bind("127.0.0.1:0").unwrap());
    let settings = settings(server.port, "key_env = \"FILLRATE_TEST_KEY\"\n");
    dir.write("model.toml", &settings);
    let run = text(&dir.path("run"));
    let arguments = [
        "replay",
        &kitchen(),
        "--tasks",
        &tasks,
        "--model",
        "model.toml",
        "--out",
        &run,
        "--jobs",
        "1",
    ];
    let finished = play::run(
        dir.command(&arguments)
            .env("FILLRATE_TEST_KEY", KEY)
            .env("FILLRATE_LOG", "trace"),
    )
    .exits_with(0);
    let requests = server.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for (head, body) in requests.iter() {
        let lines: Vec<&str> = head.lines().filter(|line| line.contains(KEY)).collect();
        assert_eq!(lines.len(), 1, "{head}");
        assert_eq!(
            lines[0].to_lowercase(),
            format!("authorization: bearer {KEY}"),
            "{head}"
        );
        assert!(!body.contains(KEY), "{body}");
    }
    assert!(
        !finished.out.contains(KEY) && !finished.err.contains(KEY),
        "{finished:#?}"
    );
    let shown = dir.fillrate(&["show", &run, "--json"]).exits_with(0);
    assert!(!shown.out.contains(KEY), "{shown:#?}");
    let kept = files(&dir.path(""));
    assert!(
        ["run/run.db", "run/server.toml"]
            .iter()
            .all(|name| kept.contains(&Path::new(name).to_owned())),
        "{kept:?}"
    );
    for name in kept {
        let bytes = fs::read(dir.path("").join(&name)).unwrap();
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in {}", name.display());
    }

    // An error of the server is reported without it, too.
    drop(requests);
    let port = free_port();
    dir.write(
        "model.toml",
        &settings.replace(&server.port.to_string(), &port.to_string()),
    );
    let mut arguments = arguments;
    let other = text(&dir.path("dead"));
    arguments[7] = &other;
    let finished = play::run(dir.command(&arguments).env("FILLRATE_TEST_KEY", KEY));
    assert!(
        !finished.out.contains(KEY) && !finished.err.contains(KEY),
        "{finished:#?}"
    );
    for name in files(&dir.path("dead")) {
        let bytes = fs::read(dir.path("dead").join(&name)).unwrap();
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in dead/{}", name.display());
    }
}

#[test]
fn a_closed_pipe_does_not_panic() {
    let dir = TestDir::new();
    let tasks = dir.write("tasks.jsonl", "");
    let mut child = dir
        .command(&["stats", &text(&tasks), "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Closed before anything is written: the program has files to read first, and if it is faster
    // than this, there is nothing to see.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn a_full_standard_error_does_not_panic() {
    let dir = TestDir::new();
    for arguments in [
        &["show", "nowhere"] as &[&str],
        &["check", &kitchen(), "--events", "jsonl"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = dir.command(arguments);
        let status = command.stderr(full.unwrap()).output().unwrap().status;
        assert!(
            matches!(status.code(), Some(0 | 1)),
            "{arguments:?}: {status}"
        );
    }
}

#[test]
fn a_telemetry_store_that_cannot_be_written_is_reported_before_work() {
    let dir = TestDir::new();
    let file = text(&dir.write("notes.txt", "no database, but a long text\n"));
    for path in [&text(&dir.path("")), &file] {
        let telemetry = ["--mode", "type", "--telemetry", path];
        let finished = replay(&dir, &kitchen(), &telemetry).exits_with(1);
        let error_message = finished.error_message();
        assert!(
            error_message.contains(path.trim_end_matches('/')),
            "{error_message}"
        );
        assert!(!dir.path("run").exists());
    }
}

#[test]
fn a_manifest_that_exists_is_never_replaced() {
    let dir = TestDir::new();
    let manifest = dir.write("m.toml", "# mine\n");
    let garden = text(&repository("tests/corpora/garden"));
    let finished = dir
        .fillrate(&["init", &garden, "-o", "m.toml"])
        .exits_with(1);
    insta::assert_snapshot!(finished.error_message(), @"m.toml exists, and may have been corrected by hand; remove it, or name another file with -o");
    assert_eq!(fs::read_to_string(manifest).unwrap(), "# mine\n");
    dir.fillrate(&["init", &garden, "-o", "other.toml"])
        .exits_with(0);
    assert!(dir.path("other.toml").is_file());
}

#[test]
fn a_page_replaces_only_pages_of_its_kind() {
    let dir = TestDir::new();
    let statistics = ["telemetry", "stats", "-o", "pages"];
    let others = [
        vec!["report", "run", "-o", "pages"],
        vec![
            "study",
            "--offline",
            "a.csv",
            "--online",
            "b.csv",
            "-o",
            "pages",
        ],
    ];
    dir.fillrate(&statistics).exits_with(0);
    let written = fs::read_to_string(dir.path("pages/index.html")).unwrap();
    dir.fillrate(&statistics).exits_with(0);
    for other in &others {
        let refused = dir.fillrate(other).exits_with(1);
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused.error_message(), @"pages/index.html is a page of something else, or of another version, and would be replaced; name another folder, or delete it");
        }
    }
    assert_eq!(
        fs::read_to_string(dir.path("pages/index.html")).unwrap(),
        written
    );
    dir.write("pages/index.html", "<h1>Mine</h1>");
    for command in others.iter().map(Vec::as_slice).chain([&statistics[..]]) {
        let refused = dir.fillrate(command).exits_with(1);
        assert!(
            refused
                .error_message()
                .contains("is a page of something else")
        );
    }
}

#[test]
fn unwritable_standard_output_is_reported() {
    let dir = TestDir::new();
    let tasks = dir.write("tasks.jsonl", "");
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = dir.command(&["stats", &text(&tasks)]);
    let output = command.stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.ends_with("fillrate: standard output can't be written to: No space left on device\n"),
        "{err}"
    );
}

/// What a person reads in a terminal of 80 columns: both outputs of a command.
fn in_80_columns(dir: &TestDir, arguments: &[&str]) -> String {
    let mut command = dir.command(arguments);
    let output = command.env("COLUMNS", "80").output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(both).unwrap();
    // A word is never broken, so an address or a path alone may be longer.
    for line in said.lines() {
        let fits = line.chars().count() <= 80 || !line.trim().contains(' ');
        assert!(fits, "{arguments:?}: a line is wider:\n{line}");
    }
    // Numbers of the system's errors say nothing to a person.
    assert!(!said.contains("(os error"), "{said}");
    said
}

#[test]
fn messages_and_help_fit_80_columns() {
    let dir = TestDir::new();
    let settings = |name: &str, model: &str| {
        let text = format!("[model]\nprotocol = \"openai-completions\"\n{model}\n");
        dir.write(name, &text);
    };
    settings(
        "address.toml",
        "url = \"127.0.0.1:8080\"\nname = \"qwen2.5-coder\"",
    );
    settings(
        "family.toml",
        "url = \"http://127.0.0.1:9\"\nname = \"my-own\"",
    );
    settings(
        "dead.toml",
        "url = \"http://127.0.0.1:9\"\nname = \"qwen2.5-coder\"",
    );
    for arguments in [
        &[] as &[&str],
        &["--help"],
        &["help", "replay"],
        &["doctor"],
        &["doctor", "--model", "none.toml"],
        &["show", "nowhere"],
        &["telemetry", "stats", "--store", "nowhere.db"],
    ] {
        in_80_columns(&dir, arguments);
    }
    insta::assert_snapshot!(in_80_columns(&dir, &["replay", "nowhere.toml"]), @r#"
    fillrate: nowhere.toml does not exist; name a manifest (FILE.toml), a
    repository's folder, or its address: https://HOST/OWNER/NAME,
    github.com/OWNER/NAME, git@HOST:OWNER/NAME, ssh://… or DIR, each with @REVISION
    after it if need be; a package of PyPI or npm is named in a manifest
    (corpora/README.md)
    "#);
    let replayed = |model| {
        let kitchen = kitchen();
        in_80_columns(
            &dir,
            &["replay", &kitchen, "--model", model, "--out", "run"],
        )
    };
    insta::assert_snapshot!(replayed("address.toml"), @r#"
    fillrate: address.toml: model: the setting url is not an address of the form
    http://host:port: put http:// or https:// before it.
    "#);
    insta::assert_snapshot!(replayed("family.toml"), @r#"
    fillrate: family.toml: model: the name "my-own" identifies no model family: set
    `family` to one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder,
    codellama, qwen2.5-coder, qwen3-coder, codegemma, codestral, granite-code,
    seed-coder, mellum, stable-code, refact-1.6b, granite-4.0-base, aixcoder-7b,
    left-to-right; `left-to-right` is for models that can't fill in the middle.
    "#);
    let dead = in_80_columns(&dir, &["doctor", "--model", "dead.toml"]);
    let (_, error) = dead.split_once("fillrate: ").unwrap();
    insta::assert_snapshot!(error, @r"
    connection refused: http://127.0.0.1:9/v1/completions cannot be
    reached. Start the model's server, or correct `model.url`.
    ");
}
