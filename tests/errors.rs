//! What goes wrong ends in one clear sentence, with a status that scripts can tell, and with
//! everything else done.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use play::{Place, Said, attempts, files, has, holes, kitchen, repository, text};
use serde_json::{Value, json};

/// A copy of the small project with its manifest, to be spoiled.
fn copied(place: &Place) -> PathBuf {
    play::copy(&repository("tests/corpora/kitchen"), &place.path("kitchen"));
    let manifest = fs::read_to_string(kitchen()).unwrap();
    place.write("kitchen.toml", &manifest)
}

/// Holes of the small project, in a tasks file.
fn mined(place: &Place, count: &str) -> PathBuf {
    let tasks = place.path("tasks.jsonl");
    place
        .fillrate(&["mine", &kitchen(), "--holes", count, "-o", &text(&tasks)])
        .ended(0);
    tasks
}

/// Replays the small project, or another corpus, with a model.
fn replay(place: &Place, corpus: &str, more: &[&str]) -> Said {
    let run = text(&place.path("run"));
    let mut arguments = vec!["replay", corpus, "--out", &run, "--jobs", "1"];
    arguments.extend(more);
    place.fillrate(&arguments)
}

#[test]
fn a_corpus_that_is_not_there() {
    let place = Place::new();
    for command in [
        &["replay", "nowhere.toml"] as &[&str],
        &["mine", "nowhere.toml", "-o", "tasks.jsonl"],
    ] {
        let said = place.fillrate(command).ended(1);
        let complaint = said.complaint();
        assert!(complaint.starts_with("nowhere.toml"), "{complaint}");
        assert!(complaint.contains("No such file"), "{complaint}");
        assert_eq!(said.err.lines().count(), 1, "{said:#?}");
    }
    assert_eq!(files(&place.path("")), Vec::<PathBuf>::new());
}

#[test]
fn a_typing_error_in_a_manifest_is_shown_where_it_is() {
    let place = Place::new();
    let manifest = copied(&place);
    let right = fs::read_to_string(&manifest).unwrap();
    let wrong = right.replace("runner = ", "runer = ");
    let line = 1 + wrong
        .lines()
        .position(|line| line.contains("runer"))
        .unwrap();
    fs::write(&manifest, wrong).unwrap();
    let said = replay(&place, "kitchen.toml", &[]).ended(1);
    let complaint = said.complaint();
    assert!(
        complaint.starts_with(&format!("kitchen.toml:{line}: ")),
        "{complaint}"
    );
    assert!(complaint.contains("runer`"), "{complaint}");
    assert!(!place.path("run").exists());
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
fn a_source_with_another_hash_fails_alone() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let manifest = copied(&place);
    let url = served(b"this is not what was pinned");
    let pinned = "0".repeat(64);
    let other = format!(
        "\n[[project]]\nname = \"swapped\"\nlanguage = \"python\"\nsource = {{ archive = \
         \"{url}/swapped.tar.gz\", sha256 = \"{pinned}\" }}\nholes = [\"*.py\"]\n\
         [project.environment]\npackages = [\"pytest==8.4.2\"]\n[project.test]\nrunner = \
         \"pytest\"\n"
    );
    fs::write(&manifest, fs::read_to_string(&manifest).unwrap() + &other).unwrap();
    let said = replay(
        &place,
        "kitchen.toml",
        &["--holes", "4", "--model", "reference"],
    )
    .ended(3);
    assert!(said.out.contains("outcomes: passed 2\n"), "{said:#?}");
    assert!(
        said.out.contains("1 project failed:\n  swapped: "),
        "{said:#?}"
    );
    assert!(
        said.out
            .contains(&format!("but the manifest pins {pinned}")),
        "{said:#?}"
    );
    assert!(!said.err.contains("panicked"), "{said:#?}");
}

#[test]
fn a_project_that_fails_its_own_tests_fails_alone() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let manifest = copied(&place);
    play::copy(&place.path("kitchen"), &place.path("broken"));
    let test = "def test_that_never_passes():\n    assert 1 == 2\n";
    place.write("broken/tests/test_broken.py", test);
    let right = fs::read_to_string(&manifest).unwrap();
    let (_, project) = right.split_once("[[project]]").unwrap();
    let broken = project.replace("kitchen", "broken");
    fs::write(&manifest, format!("{right}\n[[project]]{broken}")).unwrap();
    let said = replay(
        &place,
        "kitchen.toml",
        &["--holes", "4", "--model", "reference"],
    )
    .ended(3);
    assert!(said.out.contains("outcomes: passed 2\n"), "{said:#?}");
    assert!(
        said.out.contains(
            "1 project failed:\n  broken: `broken` fails 1 of its own 12 tests, first \
             tests/test_broken.py::test_that_never_passes: AssertionError: assert 1 == 2; "
        ),
        "{said:#?}"
    );

    // With no other project there is nothing to go on with.
    fs::write(&manifest, format!("schema = 1\n[[project]]{broken}")).unwrap();
    let said = place
        .fillrate(&["replay", "kitchen.toml", "--out", "alone"])
        .ended(1);
    assert!(
        said.complaint()
            .starts_with("no project of kitchen.toml can be replayed: `broken` fails 1"),
        "{said:#?}"
    );
    assert!(!place.path("alone").exists());
}

#[test]
fn a_model_that_nobody_knows() {
    let place = Place::new();
    let said = replay(&place, &kitchen(), &["--model", "embeded"]).ended(1);
    assert_eq!(
        said.complaint(),
        "`embeded` is no model; name `embedded`, `reference`, `empty` or `predictions`, a settings \
         file that ends in .toml, or predictions in a file that ends in .jsonl"
    );
    let said = replay(&place, &kitchen(), &["--model", "nowhere.toml"]).ended(1);
    assert!(
        said.complaint().starts_with("nowhere.toml can't be read: "),
        "{said:#?}"
    );
}

#[test]
fn settings_that_can_not_be_used() {
    let place = Place::new();
    let with = |settings: &str| {
        place.write("model.toml", settings);
        replay(&place, &kitchen(), &["--model", "model.toml"]).ended(1)
    };
    let said = with("[model]\nprotocol = \"empty\"\ntemprature = 0.5\n");
    let complaint = said.complaint();
    assert!(complaint.starts_with("model.toml: "), "{complaint}");
    assert!(complaint.contains("line 3"), "{complaint}");
    assert!(complaint.contains("`temprature`"), "{complaint}");

    let said = with("[model]\nprotocol = \"carrier-pigeon\"\n");
    let complaint = said.complaint();
    assert!(
        complaint.contains("line 2") && complaint.contains("openai-completions"),
        "{complaint}"
    );

    let remote = "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:9\"\n";
    let said = with(&format!("{remote}name = \"mystery-7b\"\n"));
    let complaint = said.complaint();
    assert!(
        complaint.contains("mystery-7b") && complaint.contains("family"),
        "{complaint}"
    );

    let said = with(&format!("{remote}name = \"m\"\nfamily = \"qwen3\"\n"));
    let complaint = said.complaint();
    assert!(
        complaint.contains("there is no family \"qwen3\"") && complaint.contains("qwen2.5-coder"),
        "{complaint}"
    );

    let said = with(&format!(
        "{remote}name = \"qwen2.5-coder\"\nkey_env = \"FILLRATE_TEST_NO_SUCH_KEY\"\n"
    ));
    assert!(
        said.complaint()
            .contains("FILLRATE_TEST_NO_SUCH_KEY, which key_env names, is not set"),
        "{said:#?}"
    );
    assert!(!place.path("run").exists());
}

/// Answers `/v1/completions` with `pass`, and remembers what was sent.
struct ModelServer {
    port: u16,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl ModelServer {
    fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || {
                    seen.lock().unwrap().push(request(&mut stream));
                    let body = json!({"choices": [{"text": "pass", "finish_reason": "stop"}]});
                    let body = body.to_string();
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: \
                                close\r\n";
                    let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                    let _ = stream.write_all(answer.as_bytes());
                });
            }
        });
        Self { port, requests }
    }
}

fn settings(port: u16, more: &str) -> String {
    format!(
        "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:{port}\"\nname = \
         \"qwen2.5-coder-1.5b\"\n{more}"
    )
}

#[test]
fn a_dead_model_server_ends_the_run_and_a_living_one_goes_on_with_it() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let tasks = text(&mined(&place, "6"));
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    place.write("model.toml", &settings(address.port(), ""));
    let arguments = ["--tasks", &tasks, "--model", "model.toml"];
    let said = replay(&place, &kitchen(), &arguments).ended(1);
    let complaint = said.complaint();
    assert!(
        complaint.starts_with("the model qwen2.5-coder-1.5b gave no answer 4 times in a row: "),
        "{complaint}"
    );
    assert!(complaint.contains(&address.to_string()), "{complaint}");
    assert!(
        complaint.ends_with("rerun the command, finished attempts are kept"),
        "{complaint}"
    );
    for attempt in attempts(&place.path("run")).values() {
        assert_eq!(attempt["verdict"]["outcome"], "infrastructure");
    }

    let server = ModelServer::on(TcpListener::bind(address).unwrap());
    let said = replay(&place, &kitchen(), &arguments).ended(0);
    assert!(!said.out.contains("infrastructure"), "{said:#?}");
    assert_eq!(server.requests.lock().unwrap().len(), 6);
    assert_eq!(attempts(&place.path("run")).len(), 6);
}

#[test]
fn a_run_that_came_to_nothing_is_no_success() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    // Fewer holes than the faults in a row that stop a run.
    let tasks = text(&mined(&place, "2"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    place.write("model.toml", &settings(port, ""));
    let arguments = ["--tasks", &tasks, "--model", "model.toml"];
    let said = replay(&place, &kitchen(), &arguments).ended(1);
    assert!(
        said.complaint().starts_with("no attempt completed: "),
        "{said:#?}"
    );
}

#[test]
fn predictions_that_lack_a_hole() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let tasks = mined(&place, "2");
    let [first, second] = &holes(&tasks)[..] else {
        panic!("two holes were asked for");
    };
    let with = |predictions: &str| {
        place.write("made.jsonl", predictions);
        let arguments = ["--tasks", &text(&tasks), "--model", "made.jsonl"];
        replay(&place, &kitchen(), &arguments).ended(1)
    };
    let line = |hole: &Value| json!({"hole": hole["id"], "completions": ["pass"]}).to_string();
    let said = with(&line(first));
    let id = second["id"].as_str().unwrap();
    assert_eq!(
        said.complaint(),
        format!("the predictions have nothing for the hole {id}")
    );
    let twice = format!("{}\n{}\n", line(first), line(first));
    assert!(
        with(&twice).complaint().starts_with("made.jsonl, line 2: "),
        "{twice}"
    );
    let wrong = format!(
        "{}\n{{\"hole\": \"x\", \"completion\": \"y\"}}",
        line(first)
    );
    let said = with(&wrong);
    let complaint = said.complaint();
    assert!(
        complaint.starts_with("made.jsonl, line 2: ") && complaint.contains("`completion`"),
        "{complaint}"
    );
    assert!(!place.path("run").exists());
}

#[test]
fn tasks_cut_into_another_version_of_a_file() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let tasks = mined(&place, "2");
    copied(&place);
    let hole = holes(&tasks).remove(0);
    let file = place.path("kitchen").join(hole["path"].as_str().unwrap());
    let changed = fs::read_to_string(&file).unwrap() + "\n# A later version.\n";
    fs::write(&file, changed).unwrap();
    let said = replay(&place, "kitchen.toml", &["--tasks", &text(&tasks)]).ended(1);
    let complaint = said.complaint();
    let (id, path) = (hole["id"].as_str().unwrap(), hole["path"].as_str().unwrap());
    assert!(
        complaint.starts_with(&format!(
            "{id}: {path} is not the file this hole was cut into"
        )),
        "{complaint}"
    );
    assert!(!place.path("run").exists());
}

#[test]
fn a_run_that_can_not_be_written() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    place.write("file", "no folder");
    let said = place
        .fillrate(&["replay", &kitchen(), "--holes", "1", "--out", "file/run"])
        .ended(1);
    let complaint = said.complaint();
    assert!(complaint.starts_with("file/run: "), "{complaint}");
    assert!(complaint.contains("Not a directory"), "{complaint}");
    let said = place.fillrate(&["show", "nowhere"]).ended(1);
    assert_eq!(
        said.complaint(),
        "nowhere holds no run; a run is a folder with a file `run.db`"
    );
}

/// A shell in a mount namespace of its own, where it may mount; nothing where the kernel refuses.
fn mounting_shell(place: &Place, script: &str) -> Option<Command> {
    let flags: &[&str] = if nix::unistd::geteuid().is_root() {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let folder = place.path("mounted");
    fs::create_dir_all(&folder).unwrap();
    let shell = |script: &str| {
        let mut command = place.command(&[]);
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script, "sh"]);
        command.arg(&folder).arg(env!("CARGO_BIN_EXE_fillrate"));
        command.envs(environment).current_dir(place.path(""));
        command
    };
    let probe = shell("mount -t tmpfs -o size=1m tmpfs \"$1\"").output();
    match probe {
        Ok(output) if output.status.success() => Some(shell(script)),
        other => {
            play::programs::skip(&format!("no file system can be mounted here: {other:?}"));
            None
        }
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let tasks = text(&mined(&place, "10"));
    let replay = format!(
        "\"$2\" replay {} --tasks {tasks} --model empty --jobs 1 --out \"$1/run\"",
        kitchen()
    );
    // Room for some of the ten attempts; then made larger.
    let script = format!(
        "mount -t tmpfs -o size=240k tmpfs \"$1\" || exit 9
         {replay}; echo \"status $?\"
         \"$2\" show \"$1/run\" | grep -c ' kitchen/src/'
         mount -o remount,size=64m \"$1\" || exit 9
         {replay}; echo \"status $?\""
    );
    let Some(mut shell) = mounting_shell(&place, &script) else {
        return;
    };
    let said = play::run(&mut shell).ended(0);
    // The first of the two runs ends with it; the second says nothing of the kind.
    assert!(
        said.complaint().contains(
            "database or disk is full; make room and start the same command again, nothing that \
             was done is lost\n"
        ),
        "{said:#?}"
    );
    let mut lines = said.out.lines();
    assert_eq!(lines.next(), Some("status 1"), "{said:#?}");
    let kept: usize = lines.next().unwrap().parse().unwrap();
    assert!((1..10).contains(&kept), "{said:#?}");
    // What was kept is where the second run begins.
    assert!(said.err.contains(&format!(": {kept}/10\n")), "{said:#?}");
    assert!(said.out.ends_with("status 0\n"), "{said:#?}");
    assert_eq!(said.out.matches("status ").count(), 2, "{said:#?}");
    assert!(!said.out.contains("infrastructure"), "{said:#?}");
}

#[test]
fn a_key_goes_to_the_model_and_nowhere_else() {
    if !has(&["python3"]) {
        return;
    }
    const KEY: &str = "sk-do-not-tell-anybody";
    let place = Place::new();
    let tasks = text(&mined(&place, "2"));
    let server = ModelServer::on(TcpListener::bind("127.0.0.1:0").unwrap());
    let settings = settings(server.port, "key_env = \"FILLRATE_TEST_KEY\"\n");
    place.write("model.toml", &settings);
    let run = text(&place.path("run"));
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
    let said = play::run(
        place
            .command(&arguments)
            .env("FILLRATE_TEST_KEY", KEY)
            .env("FILLRATE_LOG", "trace"),
    )
    .ended(0);
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
        !said.out.contains(KEY) && !said.err.contains(KEY),
        "{said:#?}"
    );
    let shown = place.fillrate(&["show", &run, "--json"]).ended(0);
    assert!(!shown.out.contains(KEY), "{shown:#?}");
    let kept = files(&place.path(""));
    assert!(
        ["run/run.db", "run/server.toml"]
            .iter()
            .all(|name| kept.contains(&Path::new(name).to_owned())),
        "{kept:?}"
    );
    for name in kept {
        let bytes = fs::read(place.path("").join(&name)).unwrap();
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key stands in {}", name.display());
    }

    // A fault of the server is told without it, too.
    drop(requests);
    let dead = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = dead.local_addr().unwrap().port();
    drop(dead);
    place.write(
        "model.toml",
        &settings.replace(&server.port.to_string(), &port.to_string()),
    );
    let mut arguments = arguments;
    let other = text(&place.path("dead"));
    arguments[7] = &other;
    let said = play::run(place.command(&arguments).env("FILLRATE_TEST_KEY", KEY));
    assert!(
        !said.out.contains(KEY) && !said.err.contains(KEY),
        "{said:#?}"
    );
    for name in files(&place.path("dead")) {
        let bytes = fs::read(place.path("dead").join(&name)).unwrap();
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key stands in dead/{}", name.display());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let place = Place::new();
    let tasks = place.write("tasks.jsonl", "");
    let mut child = place
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
fn standard_output_that_takes_nothing_is_told() {
    let place = Place::new();
    let tasks = place.write("tasks.jsonl", "");
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = place.command(&["stats", &text(&tasks)]);
    let output = command.stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.ends_with(
            "fillrate: standard output can't be written to: No space left on device (os error 28)\n"
        ),
        "{err}"
    );
}
