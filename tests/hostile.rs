//! Completions that attack: what they reach, what they leave behind, and the verdicts after
//! them. Each comes from a file of predictions and takes the whole path, through
//! the language server into the project's own tests in the real sandbox.
//!
//! An attack that would let a completion see or reach something gives the right answer if it
//! succeeds, so that success would show as a pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::play::{self, TestDir, attempts, demo, files, has_tools, holes, kitchen, text};
use crate::support::processes::{own_process, survivors};

/// In the replay's environment, and in no test's. Attacks put it together themselves, since a run
/// records them.
const SECRET: &str = "hunter2-hunter2-hunter2";

/// One completion and its expected outcomes.
struct Attack {
    name: &'static str,
    completion: String,
    outcomes: &'static [&'static str],
    /// Text that the tests' output must have, as proof that the attack ran.
    says: &'static str,
    /// The evidence for a pass that must be missing; with nothing else missing, and no test failed,
    /// the attack succeeds if that evidence is not required.
    lacks: Option<&'static str>,
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
        lacks: None,
    }
}

/// An attack that makes every test of the project pass, and that only one kind of evidence reveals.
fn forgery(name: &'static str, code: &str, lacks: &'static str) -> Attack {
    Attack {
        lacks: Some(lacks),
        ..attack(name, code, &["failed"], "")
    }
}

/// The evidence that a verdict lacks, twins left out: those are asked in addition.
fn missing_except_twins(verdict: &Value) -> Vec<&str> {
    let missing = verdict["missing"].as_array();
    let names = missing.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| *name != "twins").collect()
}

/// Offers the attacks at a hole in sequence, with the reference last, and checks the verdict on
/// each and that none has a lasting effect. Returns the verdicts on the attacks.
fn withstand(dir: &TestDir, corpus: &str, hole: &Value, attacks: &[Attack]) -> Vec<Value> {
    withstand_with("warm", dir, corpus, hole, attacks)
}

/// As [`withstand`], with this engine.
fn withstand_with(
    engine: &str,
    dir: &TestDir,
    corpus: &str,
    hole: &Value,
    attacks: &[Attack],
) -> Vec<Value> {
    let tasks = dir.write("tasks.jsonl", &format!("{hole}\n"));
    let reference = hole["reference"].as_str().unwrap();
    let mut completions: Vec<&str> = attacks
        .iter()
        .map(|attack| attack.completion.as_str())
        .collect();
    completions.push(reference);
    let prediction = json!({"hole": hole["id"], "completions": completions});
    let predictions = dir.write("hostile.jsonl", &prediction.to_string());
    let before = fingerprint();
    let run = dir.path("run");
    let samples = completions.len().to_string();
    let finished = play::run(
        dir.command(&[
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
            "--engine",
            engine,
            // An attack that was judged before must be judged again.
            "--anew",
            "--json",
        ])
        .env("FILLRATE_TEST_SECRET", SECRET),
    )
    .exits_with(0);

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
        // What fails for want of evidence is asked twins as well.
        let counted = match outcome {
            "forged" => "failed",
            other => other,
        };
        assert!(
            attack.outcomes.contains(&counted),
            "{}: {verdict:#}",
            attack.name
        );
        let output = verdict["output"].as_str().unwrap();
        assert!(output.contains(attack.says), "{}: {verdict:#}", attack.name);
        if let Some(evidence) = attack.lacks {
            assert_eq!(
                missing_except_twins(verdict),
                [evidence],
                "{}: {verdict:#}",
                attack.name
            );
            assert_eq!(verdict["failed"], json!([]), "{}: {verdict:#}", attack.name);
        }
        assert!(!output.contains(SECRET), "{}: {verdict:#}", attack.name);
    }
    let last = by_sample.values().next_back().unwrap();
    assert_eq!(
        last["verdict"]["outcome"], "passed",
        "the verdict after the attacks: {last:#}"
    );

    let database = fs::read(run.join("run.db")).unwrap();
    assert!(!contains(&database, SECRET));
    assert!(!finished.err.contains(SECRET) && !finished.out.contains(SECRET));
    assert_eq!(dir.leftovers(), Vec::<PathBuf>::new());
    assert_eq!(changes(&before), Vec::<PathBuf>::new());
    assert_eq!(survivors(), Vec::<String>::new());
    let judged = by_sample.into_values().take(attacks.len());
    judged.map(|attempt| attempt["verdict"].clone()).collect()
}

/// The files of the finished parts of the cache that the sandbox is shown: their contents, but
/// size and time for those of the environments, which are large.
fn fingerprint() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut seen = BTreeMap::new();
    for kind in ["sources", "environments", "harness"] {
        for entry in fs::read_dir(play::cache().join(kind)).unwrap() {
            let entry = entry.unwrap().path();
            // Other tests may be about to finish theirs: a harness is renamed into place, and the
            // others get a record.
            let hidden = entry
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
            let finished = match kind {
                "harness" => !hidden,
                _ => entry.join("record.json").is_file(),
            };
            if !finished {
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

/// Returns the entries that were there before and differ.
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
fn kitchen_hole(dir: &TestDir) -> Value {
    let tasks = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &kitchen(),
        "--holes",
        "1",
        "--kinds",
        "body",
        "-o",
        &text(&tasks),
    ])
    .exits_with(0);
    let hole = holes(&tasks).remove(0);
    assert_eq!(
        hole["path"], "src/kitchen/scale.py",
        "another hole is mined"
    );
    hole
}

#[test]
fn completions_reach_neither_secrets_nor_network_nor_files() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
    let right = hole["reference"].as_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = dir.write("secret.txt", SECRET);
    let marker = dir.path("marker");
    let failed: &[&str] = &["failed"];
    let attacks = [
        attack(
            // When pytest has emptied and closed its own; the next run's output must not have it.
            "something in every open file, for the next run",
            "import atexit, os, stat
    kept = []
    for descriptor in range(64):
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                kept.append(os.dup(descriptor))
        except OSError:
            pass
    left = (b'hunter2-' * 3)[:-1]
    atexit.register(lambda: [os.pwrite(each, left, 0) for each in kept])
    return None",
            failed,
            "",
        ),
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
            "what the next run could see of this one in the machine's memory",
            &format!(
                "import os
    file = os.open(os.__file__, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)
    {right}"
            ),
            failed,
            "Operation not supported",
        ),
        attack(
            "the repository and what is around it",
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
    withstand(&dir, &kitchen(), &hole, &attacks);

    listener.set_nonblocking(true).unwrap();
    let connection = listener.accept().map(|_| ()).unwrap_err();
    assert_eq!(connection.kind(), ErrorKind::WouldBlock);
    // A connection would have been accepted.
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
fn completions_that_exhaust_resources_hit_limits() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
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
    withstand(&dir, &kitchen(), &hole, &attacks);
}

/// Nothing that is read of the unchanged file stays in the memory of a process that runs a
/// completion, not even in blocks that were freed.
#[test]
fn raw_memory_holds_no_text_of_the_reference() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
    let reference = hole["reference"].as_str().unwrap();
    let line = reference.lines().next().unwrap();
    // The search must not find itself, so its source never contains the two halves in sequence.
    let (first, second) = line.split_at(line.len() / 2);
    let search = format!(
        "first, second = {first:?}.encode(), {second:?}.encode()
    searched, found = 0, 0
    with open('/proc/self/maps') as maps:
        regions = [line.split()[:2] for line in maps]
    with open('/proc/self/mem', 'rb', 0) as memory:
        for region, mode in regions:
            begin, end = (int(place, 16) for place in region.split('-'))
            if 'r' not in mode:
                continue
            try:
                memory.seek(begin)
                data = memory.read(end - begin)
            except (OSError, OverflowError, ValueError):
                continue
            searched += len(data)
            place = data.find(first)
            while place >= 0:
                rest = place + len(first)
                found += data[rest:rest + len(second)] == second
                place = data.find(first, rest)
    raise AssertionError(f'found {{found}} in more than {{min(searched >> 20, 4)}} MiB')"
    );
    let attacks = [attack(
        "a search through its own memory",
        &search,
        &["failed"],
        "found 0 in more than 4 MiB",
    )];
    for engine in ["warm", "cold"] {
        withstand_with(engine, &dir, &kitchen(), &hole, &attacks);
        fs::remove_dir_all(dir.path("run")).unwrap();
    }
}

/// Finds, during a test's call, the item in the frames of the runner, and whether it is the first
/// call.
const ITEM: &str = "import sys
    frame = sys._getframe()
    while 'item' not in frame.f_locals:
        frame = frame.f_back
    item = frame.f_locals['item']
    first = not hasattr(sys, 'seen')
    sys.seen = True";

/// Each attack makes all the project's own tests pass with any code after its first answer, or
/// damages the environment of later tests. Only one piece of evidence detects it, so that the
/// attack would succeed without it.
#[test]
fn each_kind_of_evidence_stops_a_forgery_alone() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
    let right = hole["reference"].as_str().unwrap();
    let then_wrong = format!("if not first:\n        return None\n    {right}");
    let attacks = [
        forgery(
            "a plugin that lets every test pass",
            &format!(
                "{ITEM}
    import pytest
    class Evil:
        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            return True
    if first:
        item.config.pluginmanager.register(Evil())
    {then_wrong}"
            ),
            "sentinels",
        ),
        forgery(
            "a plugin that lets every test pass but those it does not know",
            &format!(
                "{ITEM}
    if first:
        class Evil:
            import pytest
            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(self, item, call):
                outcome = yield
                report = outcome.get_result()
                if report.failed and 'fillrate' not in str(item.path):
                    report.outcome, report.longrepr = 'passed', None
        item.config.pluginmanager.register(Evil())
    {then_wrong}"
            ),
            "framework",
        ),
        forgery(
            "a framework that is bent for one test and back in time",
            &format!(
                "{ITEM}
    import _pytest.outcomes
    sys.calls = getattr(sys, 'calls', 0) + 1
    if sys.calls == 1:
        sys.kept = _pytest.outcomes.importorskip
        _pytest.outcomes.importorskip = lambda *arguments: None
    elif sys.calls == 2:
        _pytest.outcomes.importorskip = sys.kept
    {right}"
            ),
            "framework",
        ),
        forgery(
            "an import hook",
            &format!(
                "import sys
    class Evil:
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            return None
    sys.meta_path.insert(0, Evil)
    {right}"
            ),
            "process",
        ),
        forgery(
            "a thread that waits for its hour",
            &format!(
                "import threading, time
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    {right}"
            ),
            "process",
        ),
        forgery(
            "a library that answers otherwise from now on",
            &format!(
                "import math
    math.isclose = lambda *numbers, **tolerances: True
    {right}"
            ),
            "process",
        ),
        forgery(
            "data of a later test that would make a wrong answer right",
            &format!(
                "import sys
    if ounces == 10:
        sys._getframe(1).f_globals['READINGS'][1] = 0
    {right}"
            ),
            "process",
        ),
        forgery(
            "tests written anew",
            &format!(
                "import pathlib
    pathlib.Path('tests/test_timer.py').write_text('def test():\\n    pass\\n')
    {right}"
            ),
            "files",
        ),
        forgery(
            "tests removed",
            &format!(
                "import shutil
    shutil.rmtree('tests', ignore_errors=True)
    {right}"
            ),
            "files",
        ),
        forgery(
            "a conftest.py",
            &format!(
                "import pathlib
    pathlib.Path('conftest.py').write_text('collect_ignore_glob = [\"*\"]\\n')
    {right}"
            ),
            "files",
        ),
        forgery(
            "bytecode for the next run",
            &format!(
                "import py_compile
    py_compile.compile(__file__)
    {right}"
            ),
            "files",
        ),
        forgery(
            "tests that are skipped",
            "import pytest\n    pytest.skip('not today')",
            "skips",
        ),
        forgery(
            "tests that are not run",
            &format!(
                "{ITEM}
    items = item.session.items
    items[:] = [one for one in items if one.name != 'test_ounces_become_whole_grams[10-283]']
    {right}"
            ),
            "executed",
        ),
        forgery(
            "an end before the report's",
            &format!(
                "{ITEM}
    import os
    class Evil:
        def pytest_sessionfinish(self):
            os._exit(1)
    if first:
        item.config.pluginmanager.register(Evil())
    {right}"
            ),
            "report",
        ),
        forgery(
            "a report of its own",
            &format!(
                "import json, os, stat
    for descriptor in range(64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                line = {{'event': 'test', 'id': 'x', 'outcome': 'passed', 'nonce': ''}}
                os.write(descriptor, json.dumps(line).encode() + b'\\n')
        except OSError:
            pass
    {right}"
            ),
            "signature",
        ),
        forgery(
            "an exit status of its own",
            &format!(
                "import atexit, os
    atexit.register(os._exit, 0)
    {right}"
            ),
            "status",
        ),
    ];
    withstand(&dir, &kitchen(), &hole, &attacks);
}

/// Several defences stop each of these.
#[test]
fn forged_reports_do_not_pass() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
    let failed: &[&str] = &["failed"];
    let attacks = [
        attack(
            "a whole report and the status that goes with it",
            "import json, os, stat
    tests = ['tests/test_scale.py::test_the_bowl_is_taken_off']
    for descriptor in range(64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                for event in [{'event': 'test', 'id': id, 'outcome': 'passed'} for id in tests] + [
                    {'event': 'end', 'status': 0, 'tests': 1, 'marks': []}
                ]:
                    os.write(descriptor, json.dumps(event).encode() + b'\\n')
        except OSError:
            pass
    os._exit(1)",
            failed,
            "",
        ),
        attack(
            "a report where reports used to be",
            "import os
    with open('/tmp/fillrate-report.jsonl', 'w') as file:
        file.write('{\"event\":\"end\",\"status\":0,\"tests\":0}\\n')
    os._exit(1)",
            failed,
            "",
        ),
        attack(
            "the word of the report, looked for in the environment and in files",
            "import os, pathlib
    seen = pathlib.Path('/proc/self/environ').read_bytes() + pathlib.Path('/proc/self/cmdline').read_bytes()
    for folder in ['/box/harness', '/box/orders', '/tmp']:
        for path in pathlib.Path(folder).rglob('*'):
            if path.is_file():
                seen += path.read_bytes()
    raise AssertionError('nonce' if b'\"nonce\":\"' in seen else 'no word')",
            failed,
            "no word",
        ),
        attack(
            "the plugin that judges",
            "import gc
    for thing in gc.get_objects():
        if type(thing).__name__ == 'Plugin' and hasattr(thing, 'judge'):
            thing.judge = lambda: ('passed', '')
    return None",
            failed,
            "",
        ),
        attack(
            "what makes assertions fail",
            "import _pytest.assertion.rewrite, builtins, pytest, unittest
    class Never(Exception):
        def __new__(cls, *arguments):
            raise SystemExit(0)
    builtins.AssertionError = Never
    pytest.fail = unittest.TestCase.fail = lambda *arguments, **options: None
    unittest.TestCase.assertEqual = lambda *arguments, **options: None
    return None",
            failed,
            "",
        ),
        attack(
            "the framework itself, replaced",
            "import sys, types
    sys.modules['pytest'] = types.ModuleType('pytest')
    sys.modules['_pytest.runner'] = types.ModuleType('_pytest.runner')
    return None",
            failed,
            "",
        ),
        attack(
            "the reporter, for a moment only",
            "import _pytest.reports as reports
    original = reports.TestReport.from_item_and_call.__func__
    def passed(cls, item, call):
        reports.TestReport.from_item_and_call = classmethod(original)
        call.excinfo = None
        return original(cls, item, call)
    reports.TestReport.from_item_and_call = classmethod(passed)
    return None",
            failed,
            "",
        ),
        attack(
            "the function that the test calls",
            "import gc
    from _pytest.python import Function
    for thing in gc.get_objects():
        if isinstance(thing, Function):
            thing.obj = lambda **arguments: None
    return None",
            failed,
            "",
        ),
        attack(
            "the processes around it",
            "import os, signal
    for pid in [os.getppid(), *map(int, filter(str.isdigit, os.listdir('/proc')))]:
        if pid not in (0, os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    return None",
            failed,
            "",
        ),
        attack("a wrong answer", "return 1", failed, ""),
        attack("another, of the same size and second", "return 2", failed, ""),
    ];
    withstand(&dir, &kitchen(), &hole, &attacks);
}

/// A completion that does random things to files, the same for the same seed, and answers wrong.
fn vandalism(seed: u64) -> String {
    format!(
        "import os, random, shutil, socket
    dice = random.Random({seed})
    places = [b'/box/repo', b'/box/repo/src', b'/box/repo/tests', b'/tmp', b'/dev/shm', b'.']
    def somewhere():
        name = bytes(dice.choices(range(1, 256), k=dice.choice([1, 4, 60, 255, 300])))
        places.append(dice.choice(places) + b'/' + name.replace(b'/', b'_'))
        return places[-1]
    def deep():
        for _ in range(dice.choice([5, 60])):
            os.mkdir(b'd' * 200)
            os.chdir(b'd' * 200)
    def flood():
        folder = somewhere()
        os.mkdir(folder)
        for i in range(dice.choice([10, 25_000])):
            open(folder + b'/%d' % i, 'w').close()
    deeds = [
        lambda: os.mkdir(somewhere()),
        lambda: open(somewhere(), 'w').close(),
        lambda: open(somewhere() + b'.py', 'w').close(),
        lambda: os.chmod(dice.choice(places), dice.choice([0, 0o100, 0o200, 0o444, 0o7777])),
        lambda: os.mkfifo(somewhere()),
        lambda: os.mknod(somewhere(), dice.choice([0o020666, 0o060666, 0o140666]), 0),
        lambda: socket.socket(socket.AF_UNIX).bind(somewhere()),
        lambda: os.symlink(dice.choice(places), somewhere()),
        lambda: os.link(dice.choice(places), somewhere()),
        lambda: os.rename(dice.choice(places), somewhere()),
        lambda: os.truncate(dice.choice(places), 1 << 27),
        lambda: os.setxattr(dice.choice(places), b'user.x', b'y' * 4000),
        lambda: shutil.rmtree(dice.choice(places)),
        lambda: os.chdir(dice.choice(places)),
        deep,
        flood,
    ]
    for _ in range(dice.choice([1, 5, 60])):
        try:
            dice.choice(deeds)()
        except (OSError, ValueError, RecursionError):
            pass
    return None"
    )
}

/// `FILLRATE_VANDALISMS` is how many seeds are tried.
#[test]
fn no_random_vandalism_leaves_the_denominator() {
    own_process!();
    if !has_tools(&["python3"]) {
        return;
    }
    let seeds = std::env::var("FILLRATE_VANDALISMS").map_or(12, |seeds| seeds.parse().unwrap());
    let dir = TestDir::new();
    let hole = kitchen_hole(&dir);
    let outcomes: &[&str] = &["failed", "timeout", "memory", "sandbox"];
    let attacks: Vec<Attack> = (0..seeds)
        .map(|seed| attack("vandalism", &vandalism(seed), outcomes, ""))
        .collect();
    withstand(&dir, &kitchen(), &hole, &attacks);
}

/// A function's body in the demo's TypeScript.
fn typescript_hole(dir: &TestDir) -> Value {
    let tasks = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &demo(),
        "--holes",
        "2",
        "--kinds",
        "body",
        "-o",
        &text(&tasks),
    ])
    .exits_with(0);
    let of_typescript = |hole: &Value| hole["language"] == "typescript";
    holes(&tasks).into_iter().find(of_typescript).unwrap()
}

/// Everything that a kept transformer, the files it laid out and the process that hosts the workers
/// could give away or hand on. Each of the first three reads or writes where those files are, so
/// that it ends otherwise where nothing is kept.
#[test]
fn typescript_runs_leave_nothing_for_later_runs() {
    own_process!();
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = typescript_hole(&dir);
    let right = hole["reference"].as_str().unwrap();
    let failed: &[&str] = &["failed"];
    let line: String = right.lines().next().unwrap().trim().chars().rev().collect();
    let fs = "const fs = (process as any).getBuiltinModule('fs');";
    let places = "['/tmp', '/dev/shm', '/box/repo', '/box/repo/src', '/box/transformed']";
    let attacks = [
        attack(
            "the text of the hole, among the modules laid out",
            &format!(
                "{fs}
  const line = [...{line}].reverse().join('');
  const seen = fs.readdirSync('/box/transformed').map((name: string) => fs.readFileSync(`/box/transformed/${{name}}`, 'utf8'));
  if (!seen.some((text: string) => text.includes(line))) throw new Error(`in none of ${{seen.length}} files`);
  process.exit(0);",
                line = json!(line)
            ),
            failed,
            "in none of ",
        ),
        forgery(
            "files that other test files load",
            &format!(
                "{fs}
  fs.appendFileSync('/box/transformed/index.json', ' ');
  {right}"
            ),
            "files",
        ),
        forgery(
            "a module of the project, as it was transformed",
            &format!(
                "{fs}
  const name = fs.readdirSync('/box/transformed').find((name: string) => /^\\d/.test(name));
  fs.writeFileSync(`/box/transformed/${{name}}`, fs.readFileSync(`/box/transformed/${{name}}`));
  {right}"
            ),
            "files",
        ),
        attack(
            "marks for a later run, and a process that makes them again and again",
            &format!(
                "{fs}
  for (const folder of {places}) fs.writeFileSync(`${{folder}}/mark.txt`, 'was here');
  const make = `while true; do for d in /tmp /dev/shm /box/repo; do echo x > $d/mark.txt; done; done`;
  (process as any).getBuiltinModule('child_process').spawn('sh', ['-c', make], {{ detached: true, stdio: 'ignore' }}).unref();
  throw new Error('marks are left');"
            ),
            failed,
            "marks are left",
        ),
        attack(
            "the marks of an earlier run",
            &format!(
                "{fs}
  const marked = {places}.filter((folder) => fs.existsSync(`${{folder}}/mark.txt`));
  if (marked.length === 0) throw new Error('no mark is there');
  {right}"
            ),
            failed,
            "no mark is there",
        ),
        attack(
            "an end of the task, reported to the process that hosts this one",
            "const done = { __tinypool_worker_message__: true, source: 'port', error: null, result: undefined };
  for (let taskId = 0; taskId < 64; taskId++) (process as any).send?.({ ...done, taskId });
  while (true) {}",
            &["failed", "timeout"],
            "",
        ),
        attack(
            "the way of the report, through the process that writes it",
            &format!(
                "{fs}
  const ways = fs.readdirSync(`/proc/${{(process as any).ppid}}/fd`).map((name: string) => `/proc/${{(process as any).ppid}}/fd/${{name}}`);
  const sockets = ways.filter((way: string) => fs.readlinkSync(way).startsWith('socket:'));
  const open = sockets.filter((way: string) => {{
    try {{
      fs.openSync(way, 'w');
      return true;
    }} catch {{
      return false;
    }}
  }});
  let memory = true;
  try {{
    fs.openSync(`/proc/${{(process as any).ppid}}/mem`, 'r+');
  }} catch {{
    memory = false;
  }}
  if (open.length === 0 && !memory) throw new Error(`${{sockets.length}} sockets and none opens`);
  {right}"
            ),
            failed,
            " sockets and none opens",
        ),
        attack(
            "noise where that process listens",
            "for (const noise of ['noise', { t: 'q', m: '__proto__' }, [1, 2, 3]]) (process as any).send?.(noise);
  throw new Error('there is noise');",
            failed,
            "",
        ),
        attack(
            "a module that only the transformer's own sandbox could have",
            "return import('/box/transformed/0.json?raw' as any) as never;",
            failed,
            "",
        ),
        attack(
            "text that takes long to parse",
            &format!("return {}1{} as never;", "[".repeat(4_000), "]".repeat(4_000)),
            &["syntax", "failed"],
            "",
        ),
    ];
    withstand(&dir, &demo(), &hole, &attacks);
}

#[test]
fn typescript_attacks_do_not_pass() {
    own_process!();
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let hole = typescript_hole(&dir);
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
        // Assertions are locked: the attack itself raises.
        attack(
            "expectations that always hold",
            &format!(
                "const expect = (globalThis as any)[Symbol.for('expect-global')];
  const prototype = Object.getPrototypeOf(expect(1));
  for (const name of Object.getOwnPropertyNames(prototype)) {{
    if (/^to[A-Z]/.test(name)) {{
      Object.defineProperty(prototype, name, {{ configurable: true, value: () => {{}} }});
    }}
  }}
  {right}"
            ),
            failed,
            "",
        ),
        forgery(
            "tests written anew",
            &format!(
                "const fs = (process as any).getBuiltinModule('fs');
  fs.writeFileSync('tests/forged.test.ts', '');
  {right}"
            ),
            "files",
        ),
        attack(
            "the process that reports",
            "(process as any).kill((process as any).ppid, 'SIGKILL');
  while (true) {}",
            &["failed", "timeout"],
            "",
        ),
    ];
    withstand(&dir, &demo(), &hole, &attacks);
}

/// One attack of `tests/attacks.toml`, whose head explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedAttack {
    runner: String,
    name: String,
    stopped_by: String,
    #[serde(default)]
    twins: bool,
    #[serde(default)]
    right: bool,
    code: String,
}

/// By runner: the project, and the file and the start of the hole at which attacks are offered.
const HOLES: [(&str, &str, &str, &str); 6] = [
    ("pytest", "kitchen", "src/kitchen/scale.py", "exact ="),
    ("unittest", "garden", "src/garden/beds.py", "if spacing"),
    ("vitest", "dairy", "src/cheese.ts", "const old"),
    ("jest", "quay", "src/tides.js", "const twelfths"),
    ("mocha", "orchard", "src/harvest.js", "if (!"),
    ("node", "ferry", "src/fares.js", "if (age"),
];

/// Number of attacks of each runner that are judged unless `FILLRATE_ATTACKS=all` is set.
const USUAL_ATTACKS: usize = 4;

/// The attacks on one runner: all of them on request, and otherwise some that are stopped by
/// different defences.
fn listed_attacks(runner: &str) -> Vec<ListedAttack> {
    #[derive(Deserialize)]
    struct List {
        attack: Vec<ListedAttack>,
    }
    let path = play::repository("tests/attacks.toml");
    let list: List = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!(list.attack.len() >= 60);
    let mut attacks = list.attack;
    attacks.retain(|attack| attack.runner == runner);
    assert!(attacks.len() >= 10, "{runner}");
    if std::env::var("FILLRATE_ATTACKS").is_ok_and(|which| which == "all") {
        return attacks;
    }
    let mut seen = BTreeSet::new();
    // Twins and their absence matter the most, and the ends of processes the least.
    attacks.sort_by_key(|attack| (attack.stopped_by != "twins", !attack.twins));
    attacks.retain(|attack| seen.insert(attack.stopped_by.clone()));
    attacks.truncate(USUAL_ATTACKS);
    attacks
}

/// Offers a runner's listed attacks, and checks what stops each.
fn withstand_listed(runner: &str, tools: &[&str]) {
    if !has_tools(tools) {
        return;
    }
    let (_, project, path, start) = HOLES.into_iter().find(|hole| hole.0 == runner).unwrap();
    let dir = TestDir::new();
    let corpus = text(&play::repository(&format!("tests/corpora/{project}.toml")));
    let mined = dir.path("mined.jsonl");
    let mine = ["mine", &corpus, "--holes", "6", "--kinds", "body", "-o"];
    dir.fillrate(&[&mine[..], &[&text(&mined)]].concat())
        .exits_with(0);
    let wanted = |hole: &Value| {
        let reference = hole["reference"].as_str().unwrap();
        hole["path"] == path && reference.starts_with(start)
    };
    let hole = holes(&mined).into_iter().find(wanted).unwrap();
    let listed = listed_attacks(runner);
    let outcomes: &[&str] = &["failed", "timeout"];
    let attacks: Vec<Attack> = listed
        .iter()
        .map(|listed| attack("listed", &listed.code, outcomes, ""))
        .collect();
    let verdicts = withstand(&dir, &corpus, &hole, &attacks);
    // What would pass if tests alone decided, and what of it twins would stop without any other
    // evidence.
    let (mut forgeries, mut stopped_by_twins) = (0, 0);
    for (listed, verdict) in listed.iter().zip(&verdicts) {
        let name = &listed.name;
        let has_failed = verdict["failed"] != json!([]);
        let others = missing_except_twins(verdict);
        let missing = verdict["missing"].to_string();
        println!(
            "{runner}: {name}: {}, missing {missing}",
            verdict["outcome"]
        );
        // Without a result of every test there is nothing that could pass.
        let reports_all = !others.contains(&"report") && !others.contains(&"executed");
        if !has_failed && reports_all && !listed.right {
            forgeries += 1;
            stopped_by_twins += usize::from(missing.contains("twins"));
        }
        let is_right = !has_failed && !missing.contains("twins");
        assert!(is_right || !listed.right, "{name}: {verdict:#}");
        match listed.stopped_by.as_str() {
            "failure" => assert!(has_failed, "{name}: {verdict:#}"),
            // Without twins it passes.
            "twins" => assert!(!has_failed && others.is_empty(), "{name}: {verdict:#}"),
            evidence => assert!(others.contains(&evidence), "{name}: {verdict:#}"),
        }
        // A run with a failed test asks no twins. Where an attack has its effect only after
        // some test, the order that was drawn decides whether a twin passes or a test fails.
        if listed.twins && !has_failed {
            assert!(missing.contains("twins"), "{name}: {verdict:#}");
        }
    }
    println!("{runner}: twins alone stop {stopped_by_twins} of {forgeries} forgeries");
}

#[test]
fn listed_attacks_on_pytest_do_not_pass() {
    own_process!();
    withstand_listed("pytest", &["python3"]);
}

#[test]
fn listed_attacks_on_unittest_do_not_pass() {
    own_process!();
    withstand_listed("unittest", &["python3"]);
}

#[test]
fn listed_attacks_on_vitest_do_not_pass() {
    own_process!();
    withstand_listed("vitest", &["node", "npm"]);
}

#[test]
fn listed_attacks_on_jest_do_not_pass() {
    own_process!();
    withstand_listed("jest", &["node", "npm"]);
}

#[test]
fn listed_attacks_on_mocha_do_not_pass() {
    own_process!();
    withstand_listed("mocha", &["node", "npm"]);
}

#[test]
fn listed_attacks_on_node_do_not_pass() {
    own_process!();
    withstand_listed("node", &["node", "npm"]);
}
