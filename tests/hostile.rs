//! Completions that attack: what they reach for, what they leave behind, and what becomes of the
//! verdicts after them. Each is offered by a file of predictions and goes the whole way, through
//! the language server into the project's own tests in the real sandbox.
//!
//! An attack that would let a completion see or reach something gives the right answer if it
//! succeeds, so that success would show as a pass.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;
#[path = "support/processes.rs"]
mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use play::{Place, alone, attempts, demo, files, has, holes, kitchen, text};
use processes::{adopt_orphans, survivors};
use serde_json::{Value, json};

/// In the replay's environment, and in no test's. Attacks put it together themselves, since a run
/// records them.
const SECRET: &str = "hunter2-hunter2-hunter2";

/// One completion and what must become of it.
struct Attack {
    name: &'static str,
    completion: String,
    outcomes: &'static [&'static str],
    /// What the tests' output must say, so that the attack is known to have been run.
    says: &'static str,
}

/// An attack in Python: the body of a function, indented by four after its first line.
fn attack(
    name: &'static str,
    code: &str,
    outcomes: &'static [&'static str],
    says: &'static str,
) -> Attack {
    Attack {
        name,
        completion: code.trim().to_owned(),
        outcomes,
        says,
    }
}

/// Offers the attacks at a hole, one after the other and the reference last, and checks what
/// becomes of each and that nothing is left of any.
fn withstand(place: &Place, corpus: &str, hole: &Value, attacks: &[Attack]) {
    adopt_orphans();
    let tasks = place.write("tasks.jsonl", &format!("{hole}\n"));
    let reference = hole["reference"].as_str().unwrap();
    let mut completions: Vec<&str> = attacks
        .iter()
        .map(|attack| attack.completion.as_str())
        .collect();
    completions.push(reference);
    let prediction = json!({"hole": hole["id"], "completions": completions});
    let predictions = place.write("hostile.jsonl", &prediction.to_string());
    let before = fingerprint();
    let run = place.path("run");
    let samples = completions.len().to_string();
    let said = play::run(
        place
            .command(&[
                "replay",
                corpus,
                "--tasks",
                &text(&tasks),
                "--model",
                &text(&predictions),
                "--samples",
                &samples,
                "--out",
                &text(&run),
                "--jobs",
                "1",
                "--json",
            ])
            .env("FILLRATE_TEST_SECRET", SECRET),
    )
    .ended(0);

    let by_sample: BTreeMap<u64, Value> = attempts(&run)
        .into_values()
        .map(|attempt| (attempt["sample"].as_u64().unwrap(), attempt))
        .collect();
    assert_eq!(by_sample.len(), completions.len());
    for ((sample, attempt), completion) in by_sample.iter().zip(&completions) {
        assert_eq!(
            attempt["offered"],
            json!([completion]),
            "the clean-up disarmed sample {sample}"
        );
    }
    for (attack, attempt) in attacks.iter().zip(by_sample.values()) {
        let verdict = &attempt["verdict"];
        let outcome = verdict["outcome"].as_str().unwrap();
        assert!(
            attack.outcomes.contains(&outcome),
            "{}: {verdict:#}",
            attack.name
        );
        let output = verdict["output"].as_str().unwrap();
        assert!(output.contains(attack.says), "{}: {verdict:#}", attack.name);
        assert!(!output.contains(SECRET), "{}: {verdict:#}", attack.name);
    }
    let last = by_sample.values().next_back().unwrap();
    assert_eq!(
        last["verdict"]["outcome"], "passed",
        "the verdict after the attacks: {last:#}"
    );

    let database = fs::read(run.join("run.db")).unwrap();
    assert!(!contains(&database, SECRET));
    assert!(!said.err.contains(SECRET) && !said.out.contains(SECRET));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
    assert_eq!(changes(&before), Vec::<PathBuf>::new());
    let _alone = alone();
    assert_eq!(survivors(), Vec::<String>::new());
}

/// The files of the finished parts of the cache that the sandbox is shown: their contents, but
/// size and time for those of the environments, which are large.
fn fingerprint() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut seen = BTreeMap::new();
    for kind in ["sources", "environments", "harness"] {
        for entry in fs::read_dir(play::cache().join(kind)).unwrap() {
            let entry = entry.unwrap().path();
            // Other tests may be about to finish theirs.
            if kind != "harness" && !entry.join("record.json").is_file() {
                continue;
            }
            for path in files(&entry).into_iter().map(|name| entry.join(name)) {
                let mark = if kind == "environments" {
                    let data = fs::symlink_metadata(&path).unwrap();
                    format!("{} {:?}", data.len(), data.modified().unwrap()).into_bytes()
                } else {
                    fs::read(&path).unwrap()
                };
                seen.insert(path, mark);
            }
        }
    }
    assert!(!seen.is_empty());
    seen
}

/// What differs of the entries that were there before.
fn changes(before: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let entry = |path: &Path| {
        let inside = path.strip_prefix(play::cache()).unwrap();
        inside.iter().take(2).collect::<PathBuf>()
    };
    let known: BTreeSet<PathBuf> = before.keys().map(|path| entry(path)).collect();
    let after = fingerprint();
    let mut all: BTreeSet<&PathBuf> = before.keys().collect();
    all.extend(after.keys().filter(|path| known.contains(&entry(path))));
    all.into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// A function's body in the small project.
fn kitchen_hole(place: &Place) -> Value {
    let tasks = place.path("mined.jsonl");
    place
        .fillrate(&[
            "mine",
            &kitchen(),
            "--holes",
            "1",
            "--kinds",
            "body",
            "-o",
            &text(&tasks),
        ])
        .ended(0);
    let hole = holes(&tasks).remove(0);
    assert_eq!(
        hole["path"], "src/kitchen/scale.py",
        "another hole is mined"
    );
    hole
}

#[test]
fn what_completions_reach_for_they_do_not_get() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let hole = kitchen_hole(&place);
    let right = hole["reference"].as_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = place.write("secret.txt", SECRET);
    let marker = place.path("marker");
    let failed: &[&str] = &["failed"];
    let attacks = [
        attack(
            "its own environment",
            &format!(
                "import os
    if ('hunter2-' * 3)[:-1] not in os.environ.values():
        raise AssertionError(f'nothing among {{len(os.environ)}} variables')
    {right}"
            ),
            failed,
            "nothing among ",
        ),
        attack(
            "the environment of other processes",
            &format!(
                "import pathlib
    seen = []
    for path in pathlib.Path('/proc').glob('[0-9]*/environ'):
        try:
            seen.append(path.read_bytes())
        except OSError:
            pass
    if not any((b'hunter2-' * 3)[:-1] in each for each in seen):
        raise AssertionError(f'nothing in {{len(seen)}} processes')
    {right}"
            ),
            failed,
            "nothing in ",
        ),
        attack(
            "a file of the host",
            &format!(
                "with open({:?}) as file:
        file.read()
    {right}",
                text(&file)
            ),
            failed,
            "No such file or directory",
        ),
        attack(
            "a server on the loopback interface",
            &format!(
                "import socket
    socket.create_connection(('127.0.0.1', {port}), timeout=2).sendall(b'hello')
    {right}"
            ),
            failed,
            "Connection refused",
        ),
        attack(
            "the repository and what lies around it",
            &format!(
                "import os, pathlib, shutil
    for path in pathlib.Path('.').rglob('test_*.py'):
        path.write_text('def test():\\n    pass\\n')
    pathlib.Path('conftest.py').write_text('collect_ignore_glob = [\"*\"]\\n')
    for root in ['/box/venv', '/box/harness', '/box/orders', '/tmp', '/usr', '/etc', {parent:?}]:
        for name in ['sitecustomize.py', 'pytest.py', 'select.json']:
            try:
                pathlib.Path(root, name).write_text('raise SystemExit(0)')
            except OSError:
                pass
    try:
        pathlib.Path({marker:?}).write_text('was here')
    except OSError:
        pass
    shutil.rmtree('src')
    shutil.rmtree('/box', ignore_errors=True)
    raise AssertionError('the source is gone: ' + str(os.path.exists('src')))",
                parent = text(marker.parent().unwrap()),
                marker = text(&marker),
            ),
            failed,
            "the source is gone: False",
        ),
        attack(
            "the test runner's exit status",
            "import os
    os._exit(0)",
            failed,
            "",
        ),
        attack(
            "the test runner's exit status, politely",
            "import sys
    sys.exit(0)",
            failed,
            "SystemExit: 0",
        ),
        attack(
            "an exit status in spite of a failure",
            "import atexit, os
    atexit.register(os._exit, 0)
    raise AssertionError('with a status of 0')",
            failed,
            "with a status of 0",
        ),
        attack(
            "a skip in place of a failure",
            "import pytest
    pytest.skip('not today')",
            failed,
            "",
        ),
        attack(
            "the runner's place",
            "import os
    os.execv('/bin/true', ['true'])",
            failed,
            "",
        ),
    ];
    withstand(&place, &kitchen(), &hole, &attacks);

    listener.set_nonblocking(true).unwrap();
    let nobody = listener.accept().map(|_| ()).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    // It would have been heard.
    let _caller = TcpStream::connect(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(false).unwrap();
    listener.accept().unwrap();

    assert!(!marker.exists());
    let seen: Vec<PathBuf> = ["/tmp", "/usr", "/etc"]
        .iter()
        .map(|folder| Path::new(folder).join("sitecustomize.py"))
        .filter(|path| path.exists())
        .collect();
    assert_eq!(seen, Vec::<PathBuf>::new());
}

#[test]
fn what_completions_take_has_an_end() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let hole = kitchen_hole(&place);
    let attacks = [
        attack(
            "processes",
            "import os
    while True:
        os.fork()",
            &["sandbox"],
            "",
        ),
        attack(
            "memory",
            "hoard = []
    while True:
        hoard.append(b'x' * (64 << 20))",
            &["memory"],
            "",
        ),
        attack(
            "output, by way of the runner",
            "while True:
        print('x' * 100000)",
            // pytest catches it in a file, and shows it once the file is full.
            &["sandbox", "failed"],
            "",
        ),
        attack(
            "output, past the runner",
            "import os, stat
    pipes = []
    for descriptor in range(64):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                pipes.append(descriptor)
        except OSError:
            pass
    while True:
        os.write(pipes[0], b'x' * 65536)",
            &["sandbox"],
            "xxxxxxxx",
        ),
        attack(
            "the disk",
            "count = 0
    while True:
        count += 1
        with open(f'/tmp/fill{count}', 'wb') as file:
            file.write(b'x' * (16 << 20))",
            &["failed", "memory"],
            "",
        ),
        attack(
            "time",
            "import time
    while True:
        time.sleep(3600)",
            &["timeout"],
            "",
        ),
        attack(
            "time after the end",
            "import os, time
    if os.fork() == 0:
        os.setsid()
        for descriptor in range(64):
            try:
                os.close(descriptor)
            except OSError:
                pass
        if os.fork() == 0:
            while True:
                time.sleep(3600)
        os._exit(0)
    os.wait()
    raise AssertionError('a process is left')",
            &["failed"],
            "a process is left",
        ),
    ];
    withstand(&place, &kitchen(), &hole, &attacks);
}

#[test]
fn typescript_is_held_as_well() {
    if !has(&["node", "npm"]) {
        return;
    }
    let place = Place::new();
    let tasks = place.path("mined.jsonl");
    place
        .fillrate(&[
            "mine",
            &demo(),
            "--holes",
            "2",
            "--kinds",
            "body",
            "-o",
            &text(&tasks),
        ])
        .ended(0);
    let of_typescript = |hole: &Value| hole["language"] == "typescript";
    let hole = holes(&tasks).into_iter().find(of_typescript).unwrap();
    let right = hole["reference"].as_str().unwrap();
    let failed: &[&str] = &["failed"];
    let attacks = [
        attack(
            "the environment",
            &format!(
                "const all = Object.values(process.env);
  if (!all.includes('hunter2-'.repeat(3).slice(0, -1))) throw new Error(`nothing among ${{all.length}}`);
  {right}"
            ),
            failed,
            "nothing among ",
        ),
        attack("the exit status", "process.exit(0);", failed, ""),
        attack(
            "the exit status, past the runner",
            "(process as any).reallyExit(0);",
            failed,
            "",
        ),
        attack(
            "the repository",
            "const fs = (process as any).getBuiltinModule('fs');
  for (const name of fs.readdirSync('src')) fs.rmSync(`src/${name}`, { recursive: true });
  fs.writeFileSync('vitest.config.ts', 'export default { test: { passWithNoTests: true } }');
  throw new Error(`there are ${fs.readdirSync('src').length} files`);",
            failed,
            "there are 0 files",
        ),
    ];
    withstand(&place, &demo(), &hole, &attacks);
}
