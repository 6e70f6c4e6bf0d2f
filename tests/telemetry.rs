//! The real program records the outcomes of completions, as clients report them, follows accepted
//! text through edits, and loses nothing.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fillrate_server::telemetry::{
    self, Certainty, CursorKind, Displayed, RecordedCompletion, RequestKind,
};
use serde_json::{Value, json};

use crate::support::editor::{Editor, ScriptedModel, TIME_LIMIT, text as text_of, uri};
use crate::support::play::{self, TestDir, attempts, has_tools, kitchen, text};
use crate::support::processes::RunningProgram;
use crate::support::programs::install;

/// Part of every text of these tests, which no store may contain.
const CANARY: &str = "canary";

/// A server under an editor, with a store of its own.
struct Typist {
    folder: tempfile::TempDir,
    editor: Editor,
    versions: BTreeMap<String, i32>,
}

/// A completion as the client has it.
struct Offered {
    id: String,
    text: String,
    command: Value,
}

impl Typist {
    /// A typist whose model always writes something else, with additional telemetry settings.
    fn new(telemetry: &str) -> Self {
        let scripted = ScriptedModel::new(Duration::ZERO, |prompt| {
            format!("{CANARY}_{}(beta, gamma)", prompt.len())
        });
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        let settings = format!(
            "{}[typing]\nwait_ms = 0\nahead = false\n[telemetry]\npath = {store:?}\n{telemetry}",
            scripted.settings()
        );
        Self {
            editor: Editor::ready(folder.path(), &settings),
            folder,
            versions: BTreeMap::new(),
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    fn uri(&self, file: &str) -> String {
        uri(self.folder.path(), file)
    }

    fn open(&mut self, file: &str, contents: &str) {
        let uri = self.uri(file);
        self.editor.open(&uri, "python", contents);
        self.versions.insert(file.to_owned(), 1);
    }

    /// Requests a completion, which must arrive.
    fn request_completion(&mut self, file: &str, line: u32, character: u32) -> Offered {
        let id = self
            .editor
            .request_completion(&self.uri(file), line, character);
        let answer = self.editor.response(id);
        let item = &answer["result"]["items"][0];
        let command = item["command"].clone();
        assert_eq!(command["command"], "fillrate.accept", "{answer}");
        Offered {
            id: command["arguments"][0]["completion"]
                .as_str()
                .unwrap()
                .to_owned(),
            text: text_of(&answer).unwrap(),
            command,
        }
    }

    /// Replaces characters of a line.
    fn edit(&mut self, file: &str, line: u32, from: u32, to: u32, new: &str) {
        let version = self.versions.get_mut(file).unwrap();
        *version += 1;
        let version = *version;
        let range = json!({
            "start": {"line": line, "character": from}, "end": {"line": line, "character": to},
        });
        self.editor.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": self.uri(file), "version": version},
                "contentChanges": [{"range": range, "text": new}],
            }),
        );
    }

    /// Runs an item's command, with more in its argument.
    fn run(&mut self, offered: &Offered, more: Value) {
        let mut argument = offered.command["arguments"][0].clone();
        for (name, value) in more.as_object().into_iter().flatten() {
            argument[name] = value.clone();
        }
        let answer = self.editor.request(
            "workspace/executeCommand",
            json!({"command": offered.command["command"], "arguments": [argument]}),
        );
        assert!(answer.get("error").is_none(), "{answer}");
    }

    /// Takes a completion as an editor does.
    fn accept(&mut self, file: &str, line: u32, character: u32) -> Offered {
        let offered = self.request_completion(file, line, character);
        let taken = offered.text.clone();
        self.edit(file, line, character, character, &taken);
        self.run(&offered, Value::Null);
        offered
    }

    fn send(&mut self, offered: &Offered, event: Value) {
        let mut params = json!({"completion": offered.id, "candidate": 0});
        for (name, value) in event.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.editor.notify("fillrate/event", params);
    }

    /// Returns the contents of the store after an orderly end of the server.
    fn leave(&mut self) -> Vec<RecordedCompletion> {
        self.editor.request("shutdown", Value::Null);
        self.completions()
    }

    fn completions(&self) -> Vec<RecordedCompletion> {
        telemetry::read(&self.store()).unwrap().completions
    }

    fn export(&self) -> String {
        let store = text(&self.store());
        let finished = TestDir::new().fillrate(&["telemetry", "export", "--store", &store]);
        finished.exits_with(0).out
    }
}

fn of<'a>(completions: &'a [RecordedCompletion], offered: &Offered) -> &'a RecordedCompletion {
    let mut with_id = completions
        .iter()
        .filter(|one| one.answered.completion == offered.id);
    let one = with_id.next().expect("it was noted");
    assert!(with_id.next().is_none(), "{} is there twice", offered.id);
    one
}

#[test]
fn accepts_without_the_command_are_inferred_from_the_edit() {
    let mut typist = Typist::new("");
    typist.open("a.py", "x = \ny = \nz = \nw = \nv = \n");
    // The edit inserts the whole text; the editor says nothing of it.
    let taken = typist.request_completion("a.py", 0, 4);
    typist.edit("a.py", 0, 4, 4, &taken.text);
    // Another text, and a part of the text, are no accepts.
    let other = typist.request_completion("a.py", 1, 4);
    typist.edit("a.py", 1, 4, 4, "something else");
    let begun = typist.request_completion("a.py", 2, 4);
    typist.edit("a.py", 2, 4, 4, &begun.text[..begun.text.len() - 1]);
    // Nor is the text itself, typed by hand.
    let typed = typist.request_completion("a.py", 3, 4);
    for (column, key) in (4..).zip(typed.text.chars()) {
        typist.edit("a.py", 3, column, column, &key.to_string());
    }
    // The session ends at once.
    let last = typist.request_completion("a.py", 4, 4);
    typist.edit("a.py", 4, 4, 4, &last.text);
    let completions = typist.leave();
    for taken in [&taken, &last] {
        let one = of(&completions, taken);
        let accepted = one.accepted.as_ref().expect("it is inferred");
        assert_eq!(accepted.characters, taken.text.chars().count());
        let shown = one.shown.expect("it was seen");
        assert_eq!((shown.certainty, shown.ms), (Certainty::Estimated, None));
    }
    for offered in [&other, &begun, &typed] {
        assert!(of(&completions, offered).accepted.is_none());
    }
}

#[test]
fn an_accept_that_the_client_reports_is_not_inferred_too() {
    let mut typist = Typist::new("");
    typist.open("a.py", "x = \ny = \n");
    // The command arrives late, after the edit counted as an accept.
    let offered = typist.request_completion("a.py", 0, 4);
    typist.edit("a.py", 0, 4, 4, &offered.text);
    std::thread::sleep(Duration::from_millis(1500));
    typist.run(&offered, json!({"certainty": "confirmed"}));
    // From now on the client is believed: it would say so.
    let pasted = typist.request_completion("a.py", 1, 4);
    typist.edit("a.py", 1, 4, 4, &pasted.text);
    let completions = typist.leave();
    assert!(of(&completions, &offered).accepted.is_some());
    assert!(of(&completions, &pasted).accepted.is_none());

    let mut typist = Typist::new("");
    typist.open("a.py", "x = \n");
    let offered = typist.request_completion("a.py", 0, 4);
    typist.send(
        &offered,
        json!({"event": "shown", "certainty": "confirmed"}),
    );
    typist.edit("a.py", 0, 4, 4, &offered.text);
    let completions = typist.leave();
    assert!(of(&completions, &offered).accepted.is_none());
}

#[test]
fn the_fate_of_completions_is_recorded() {
    let mut typist = Typist::new("");
    let lines = "x = \n".repeat(8);
    typist.open("a.py", &lines);

    // The same text at the same place twice in a row is one completion.
    let accepted = typist.request_completion("a.py", 0, 4);
    assert_eq!(typist.request_completion("a.py", 0, 4).id, accepted.id);
    typist.send(
        &accepted,
        json!({"event": "shown", "certainty": "confirmed"}),
    );
    typist.edit("a.py", 0, 4, 4, &accepted.text);
    typist.run(&accepted, json!({"certainty": "confirmed", "shownMs": 900}));
    // A repeated event counts once.
    typist.run(&accepted, Value::Null);

    let dismissed = typist.request_completion("a.py", 1, 4);
    typist.send(
        &dismissed,
        json!({"event": "dismissed", "certainty": "estimated", "shownMs": 300.5}),
    );
    let superseded = typist.request_completion("a.py", 2, 4);
    let partly = typist.request_completion("a.py", 3, 4);
    for part in ["cana", "ry_"] {
        let from = if part == "cana" { 4 } else { 8 };
        typist.edit("a.py", 3, from, from, part);
        let step = json!({
            "event": "partlyAccepted", "certainty": "confirmed",
            "characters": part.len(), "unit": "word",
        });
        typist.send(&partly, step);
    }
    // These were never offered.
    let unknown = Offered {
        id: "no-such-id".to_owned(),
        text: String::new(),
        command: accepted.command.clone(),
    };
    typist.send(&unknown, json!({"event": "dismissed"}));
    let listed = typist.editor.request(
        "textDocument/completion",
        json!({
            "textDocument": {"uri": typist.uri("a.py")},
            "position": {"line": 4, "character": 4},
        }),
    );
    let command = &listed["result"]["items"][0]["command"];
    let refused = typist.editor.request(
        "workspace/executeCommand",
        json!({"command": "fillrate.nothing", "arguments": []}),
    );
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("fillrate.nothing")
    );

    let completions = typist.leave();
    assert_eq!(completions.len(), 5);
    let one = of(&completions, &accepted);
    assert_eq!(
        one.shown,
        Some(Displayed {
            certainty: Certainty::Confirmed,
            ms: Some(900.0),
        })
    );
    let characters = accepted.text.chars().count();
    assert_eq!(one.accepted.as_ref().unwrap().characters, characters);
    assert!(!one.dismissed && !one.superseded && one.partly.is_none());
    // The session ended before its horizons: unobserved, not removed.
    let unobserved: Vec<_> = one
        .retention
        .iter()
        .map(|(at, left)| (*at, *left))
        .collect();
    assert_eq!(unobserved, [30, 120, 300, 600].map(|at| (at, None)));
    let answered = &one.answered;
    assert_eq!(answered.client.as_deref(), Some("test-editor"));
    assert_eq!(answered.client_version.as_deref(), Some("7"));
    assert_eq!(answered.model, "qwen2.5-coder");
    assert_eq!(answered.configuration.len(), 16);
    assert_eq!(answered.language.as_deref(), Some("python"));
    assert_eq!(
        (answered.form, answered.place),
        (RequestKind::Inline, CursorKind::LineEnd)
    );
    assert_eq!(answered.candidates[0].characters, characters);
    assert_eq!(
        (answered.prefix_characters, answered.suffix_characters),
        (4, lines.len() - 4)
    );
    assert!(answered.timings.latency_ms > 0.0);
    assert!(!answered.simulated && answered.trial.is_none() && answered.texts.is_none());

    let one = of(&completions, &dismissed);
    assert!(one.dismissed && !one.superseded && one.accepted.is_none());
    assert_eq!(one.shown.unwrap().certainty, Certainty::Estimated);
    assert_eq!(one.shown.unwrap().ms, Some(300.5));
    let one = of(&completions, &superseded);
    assert!(one.superseded && !one.dismissed && one.shown.is_none());
    let one = of(&completions, &partly);
    let parts = one.partly.as_ref().unwrap();
    assert_eq!((parts.steps, parts.characters), (2, 7));
    assert!(one.accepted.is_none() && one.retention.len() == 4);
    let one = completions
        .iter()
        .find(|one| command["arguments"][0]["completion"] == one.answered.completion.as_str());
    assert_eq!(one.unwrap().answered.form, RequestKind::List);

    // Characters by accepts and by keys, in one file.
    let entered = telemetry::read(&typist.store()).unwrap().entered;
    let all: usize = entered.iter().map(|one| one.characters).sum();
    assert_eq!(all, characters + 7);
    assert!(entered.iter().all(|one| one.file == answered.file));
}

#[test]
fn retention_of_accepted_text_is_measured_later() {
    // Long enough for the edits that come right after each accept, on a busy machine too.
    let mut typist = Typist::new("retention_s = [6, 7]\n");
    let started = Instant::now();
    let files = [
        "kept.py",
        "changed.py",
        "removed.py",
        "undone.py",
        "moved.py",
        "closed.py",
        "parts.py",
    ];
    for file in files {
        typist.open(file, "a = 1\nx = \n");
    }
    let mut taken = BTreeMap::new();
    for file in &files[..6] {
        taken.insert(*file, typist.accept(file, 1, 4));
    }
    let end = |text: &str| 4 + u32::try_from(text.len()).unwrap();
    // `canary_123(beta, gamma)`: another name, and the same arguments.
    let changed = taken["changed.py"].text.clone();
    typist.edit("changed.py", 1, 4, 4 + 6, "x");
    assert!(changed.starts_with(CANARY));
    for file in ["removed.py", "undone.py"] {
        let text = taken[file].text.clone();
        typist.edit(file, 1, 0, end(&text), "");
    }
    let undone = format!("x = {}", taken["undone.py"].text);
    typist.edit("undone.py", 1, 0, 0, &undone);
    typist.edit("moved.py", 0, 0, 0, "import os\n\n\n");
    typist.edit("kept.py", 1, 0, 1, "other");
    let closed = typist.uri("closed.py");
    typist.editor.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": closed}}),
    );
    let parts = typist.request_completion("parts.py", 1, 4);
    typist.edit("parts.py", 1, 4, 4, CANARY);
    typist.send(
        &parts,
        json!({"event": "partlyAccepted", "characters": CANARY.len(), "unit": "word"}),
    );
    assert!(
        started.elapsed() < Duration::from_secs(6),
        "this machine is too slow for this test"
    );

    let until = Instant::now() + TIME_LIMIT;
    let all_seen = |completions: &[RecordedCompletion]| {
        let seen = completions.iter().filter(|one| one.retention.len() == 2);
        seen.count() == files.len()
    };
    while !all_seen(&typist.completions()) {
        assert!(Instant::now() < until, "{:#?}", typist.completions());
        std::thread::sleep(Duration::from_millis(50));
    }
    let completions = typist.completions();
    let left = |file: &str| {
        let one = of(&completions, &taken[file]);
        assert_eq!(one.retention.keys().copied().collect::<Vec<_>>(), [6, 7]);
        one.retention[&6]
    };
    for file in ["kept.py", "undone.py", "moved.py"] {
        let left = left(file).unwrap();
        assert_eq!(
            (left.distance, left.word_distance, left.removed),
            (0.0, 0.0, false),
            "{file}"
        );
    }
    let characters = changed.chars().count() as f64;
    let of_changed = left("changed.py").unwrap();
    // Six letters gave way to one, which is none of them.
    assert!(
        (of_changed.distance - 6.0 / characters).abs() < 1e-9,
        "{of_changed:?}"
    );
    assert!(of_changed.is_still_in_code() && !of_changed.removed);
    let gone = left("removed.py").unwrap();
    assert!(gone.removed && !gone.is_retained() && !gone.is_still_in_code());
    assert_eq!(left("closed.py"), None);
    let part = of(&completions, &parts).retention[&6].unwrap();
    assert_eq!((part.distance, part.removed), (0.0, false));
}

/// Everything a store's files hold.
fn bytes(store: &Path) -> Vec<u8> {
    ["", "-wal", "-shm"]
        .into_iter()
        .filter_map(|end| std::fs::read(format!("{}{end}", store.display())).ok())
        .flatten()
        .collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn a_store_holds_no_code_unless_content_is_enabled() {
    for content in [false, true] {
        let mut typist = Typist::new(&format!("content = {content}\nretention_s = [1]\n"));
        typist.open("hidden_name.py", &format!("{CANARY}_before = \n"));
        let offered = typist.accept("hidden_name.py", 0, 16);
        let until = Instant::now() + TIME_LIMIT;
        while of(&typist.completions(), &offered).retention.is_empty() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(50));
        }
        let finished = typist.editor.notifications.iter();
        let mut states = finished.filter(|message| message["method"] == "fillrate/status");
        let ready = states.find(|message| message["params"]["state"] == "ready");
        assert_eq!(ready.unwrap()["params"]["content"], content);
        let completions = typist.leave();
        let export = typist.export();
        let stored = bytes(&typist.store());
        assert_eq!(holds(export.as_bytes(), CANARY), content);
        assert_eq!(holds(&stored, CANARY), content);
        // Whose code it is, and where, is in neither.
        let folder = text(typist.folder.path());
        for name in ["hidden_name", "_before", folder.as_str()] {
            assert!(
                !holds(export.as_bytes(), name) && !holds(&stored, name),
                "{name}"
            );
        }
        if content {
            let one = of(&completions, &offered);
            assert_eq!(one.answered.texts, Some(vec![offered.text.clone()]));
            let accepted = one.accepted.as_ref().unwrap();
            assert_eq!(accepted.text.as_ref(), Some(&offered.text));
        }
        let lines: Vec<Value> = export
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line["schema"] == 1));
        assert_eq!(
            (&lines[0]["record"], &lines[1]["record"]),
            (&json!("completion"), &json!("entered"))
        );
        let exported = typist.folder.path().join("export.jsonl");
        std::fs::write(&exported, &export).unwrap();
        assert_eq!(telemetry::read(&exported).unwrap().completions, completions);
    }
}

#[test]
fn telemetry_settings_change_while_the_server_runs() {
    let mut typist = Typist::new("");
    typist.open("a.py", "x = \ny = \nz = \n");
    typist.request_completion("a.py", 0, 4);
    let settings = |telemetry: Value| json!({"settings": {"fillrate": {"telemetry": telemetry}}});
    typist.editor.notifications.clear();
    typist.editor.notify(
        "workspace/didChangeConfiguration",
        settings(json!({"content": true})),
    );
    let kept = typist.request_completion("a.py", 1, 4);
    // Notifications and responses may overtake each other.
    let is_reported = |editor: &Editor| {
        let mut statuses = editor
            .notifications
            .iter()
            .filter(|message| message["method"] == "fillrate/status");
        statuses.any(|message| message["params"]["content"] == true)
    };
    let until = Instant::now() + TIME_LIMIT;
    while !is_reported(&typist.editor) {
        assert!(Instant::now() < until, "the status did not change");
        typist.editor.receive(Duration::from_millis(50));
    }
    typist.editor.notify(
        "workspace/didChangeConfiguration",
        settings(json!({"enabled": false})),
    );
    let unnoted = typist.request_completion("a.py", 2, 4);
    let completions = typist.leave();
    assert_eq!(completions.len(), 2);
    assert!(of(&completions, &kept).answered.texts.is_some());
    assert!(
        completions
            .iter()
            .all(|one| one.answered.completion != unnoted.id)
    );
}

/// A collector of OpenTelemetry at an address, and the bodies of the requests that it gets.
fn collector() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_lowercase());
            }
            assert_eq!(head[0], "post /v1/metrics http/1.1");
            assert!(head.contains(&"content-type: application/json".to_owned()));
            let length = head
                .iter()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            // Sent before the answer, after which the server may end.
            send.send(String::from_utf8(body).unwrap()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, receive)
}

/// Reads an export request with OpenTelemetry's own message types, and prints each point with its
/// attributes.
const READ_METRICS: &str = "import json, sys
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
request = Parse(sys.stdin.read(), ExportMetricsServiceRequest())
found = {}
for resource in request.resource_metrics:
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            for point in list(metric.histogram.data_points) + list(metric.sum.data_points):
                labels = {a.key: a.value.string_value for a in point.attributes}
                name = labels.get('fillrate.outcome', metric.name)
                found[name] = [getattr(point, 'count', 0) or point.as_int, labels]
                assert point.start_time_unix_nano < point.time_unix_nano
print(json.dumps(found))";

#[test]
fn metrics_reach_the_collector_that_is_set_and_hold_no_code() {
    let (address, bodies) = collector();
    let mut typist = Typist::new(&format!("otlp_url = {address:?}\n"));
    typist.open("secret_name.py", "a = 1\nb = 2\n");
    let first = typist.accept("secret_name.py", 0, 5);
    typist.send(&first, json!({"event": "shown"}));
    let second = typist.request_completion("secret_name.py", 1, 5);
    typist.send(&second, json!({"event": "dismissed"}));
    let recorded = typist.leave();
    assert_eq!(recorded.len(), 2);
    let body = bodies.try_iter().last().unwrap();
    for hidden in [CANARY, "secret_name", text(typist.folder.path()).as_str()] {
        assert!(!body.contains(hidden), "{body}");
    }
    let Some(python) = install("opentelemetry") else {
        return;
    };
    let mut reader = Command::new(python)
        .args(["-c", READ_METRICS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reader
        .stdin
        .take()
        .unwrap()
        .write_all(body.as_bytes())
        .unwrap();
    let output = reader.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let labels = json!({"fillrate.model": "qwen2.5-coder", "fillrate.language": "python"});
    assert_eq!(found["fillrate.completion.duration"], json!([2, labels]));
    for (outcome, count) in [("offered", 2), ("accepted", 1), ("dismissed", 1)] {
        assert_eq!(found[outcome][0], count, "{found}");
        assert_eq!(found[outcome][1]["fillrate.model"], "qwen2.5-coder");
    }
}

#[test]
fn an_unavailable_collector_holds_nothing_up() {
    let sends_to = |typist: &mut Typist| {
        let models = typist.editor.request("fillrate/models", json!({}));
        models["result"]["telemetry"]["sendsTo"].clone()
    };
    let mut typist = Typist::new("otlp_url = \"http://127.0.0.1:9\"\n");
    assert_eq!(sends_to(&mut typist), "http://127.0.0.1:9/v1/metrics");
    typist.open("a.py", "a = 1\n");
    typist.accept("a.py", 0, 5);
    assert_eq!(typist.leave().len(), 1);
    // An address that is none is named to the person, and completions continue.
    let mut typist = Typist::new("otlp_url = \"nowhere\"\n");
    assert!(sends_to(&mut typist).is_null());
    typist.open("a.py", "a = 1\n");
    typist.accept("a.py", 0, 5);
    assert_eq!(typist.leave().len(), 1);
    let shown = messages(&typist.editor).join("\n");
    assert!(
        shown.contains("telemetry.otlp_url is not an address"),
        "{shown}"
    );
}

#[test]
fn a_purge_removes_everything() {
    let mut typist = Typist::new("");
    typist.open("a.py", "x = \ny = \n");
    let before = typist.accept("a.py", 0, 4);
    let answer = typist.editor.request("fillrate/purge", json!({}));
    assert_eq!(answer["result"], json!({"removed": 1}));
    // Later events about it are ignored.
    typist.send(&before, json!({"event": "dismissed"}));
    assert_eq!(typist.export(), "");
    typist.accept("a.py", 1, 4);
    assert_eq!(typist.completions().len(), 1);
    let store = text(&typist.store());
    let dir = TestDir::new();
    let finished = dir
        .fillrate(&["telemetry", "purge", "--store", &store])
        .exits_with(0);
    assert_eq!(finished.out, format!("removed 1 completion from {store}\n"));
    assert_eq!(typist.export(), "");
    let none = dir.fillrate(&["telemetry", "export"]).exits_with(1);
    assert!(
        none.error_message().contains(
            "the telemetry store does not exist; the first completion in an editor creates it"
        ),
        "{none:?}"
    );
}

/// Returns the messages that the client is shown.
fn messages(editor: &Editor) -> Vec<String> {
    let finished = editor.notifications.iter();
    finished
        .filter(|message| message["method"] == "window/showMessage")
        .map(|message| message["params"]["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn completions_continue_with_an_unwritable_store() {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "beta".to_owned());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let below_a_file = folder.path().join("file/telemetry.db");
    let cases = [
        (
            format!("[telemetry]\npath = {below_a_file:?}\n"),
            "file/telemetry.db: not a directory",
        ),
        (String::new(), "neither XDG_DATA_HOME nor HOME is set"),
    ];
    for (settings, why) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fillrate"));
        command.env_remove("HOME").env_remove("XDG_DATA_HOME");
        let settings = scripted.settings() + &settings;
        let options = Value::Null;
        let (mut editor, _) =
            Editor::start_by(command, folder.path(), &settings, &json!({}), &options);
        editor.notify("initialized", json!({}));
        editor.await_status("ready");
        let uri = uri(folder.path(), "a.py");
        editor.open(&uri, "python", "x = \ny = \n");
        for line in [0, 1] {
            let id = editor.request_completion(&uri, line, 4);
            let answer = editor.response(id);
            assert_eq!(text_of(&answer).as_deref(), Some("beta"));
            let command = &answer["result"]["items"][0]["command"];
            let arguments = &command["arguments"];
            let done = editor.request(
                "workspace/executeCommand",
                json!({"command": command["command"], "arguments": arguments}),
            );
            assert!(done.get("error").is_none(), "{done}");
        }
        let until = Instant::now() + TIME_LIMIT;
        while messages(&editor).is_empty() {
            assert!(Instant::now() < until, "the status did not change");
            editor.receive(Duration::from_millis(50));
        }
        editor.request("shutdown", Value::Null);
        let shown = messages(&editor);
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(
            shown[0].contains(why) && shown[0].starts_with("Completions work"),
            "{shown:?}"
        );
    }
}

#[test]
fn the_default_store_is_below_home() {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "beta".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fillrate"));
    command
        .env_remove("XDG_DATA_HOME")
        .env("HOME", folder.path().join("home"));
    let (mut editor, _) = Editor::start_by(
        command,
        folder.path(),
        &scripted.settings(),
        &json!({}),
        &Value::Null,
    );
    editor.notify("initialized", json!({}));
    editor.await_status("ready");
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = \n");
    let id = editor.request_completion(&uri, 0, 4);
    editor.response(id);
    // Without `shutdown`: a client may just disconnect.
    assert!(editor.disconnect().success());
    let store = folder
        .path()
        .join("home/.local/share/fillrate/telemetry.db");
    assert_eq!(telemetry::read(&store).unwrap().completions.len(), 1);
}

/// Time for which several programs write into one store, in seconds: request a minute with
/// `FILLRATE_TELEMETRY_SECONDS=60`.
fn seconds() -> u64 {
    let asked = std::env::var("FILLRATE_TELEMETRY_SECONDS");
    asked.ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// A real Neovim that accepts one completion after the other.
struct Writing {
    process: RunningProgram,
    notes: PathBuf,
}

impl Writing {
    fn start(neovim: &Path, folder: &Path, name: &str, settings: &Path) -> Self {
        let workspace = folder.join(name);
        std::fs::create_dir(&workspace).unwrap();
        let file = workspace.join("open.py");
        // Enough for the embedded model to have something to say.
        std::fs::write(&file, "value = compute(alpha, beta)\n".repeat(6)).unwrap();
        let notes = folder.join(format!("{name}.notes"));
        let script = play::repository("tests/clients/writing.lua");
        let process = Command::new(neovim)
            .args(["--headless", "--clean", "-l"])
            .arg(script)
            .args([&file, &notes])
            .args([env!("CARGO_BIN_EXE_fillrate"), "serve", "--config"])
            .arg(settings)
            .env("XDG_STATE_HOME", workspace.join("state"))
            .env("XDG_DATA_HOME", workspace.join("data"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let process = RunningProgram(process);
        Self { process, notes }
    }

    /// The completions whose accepts the server has acknowledged.
    fn acknowledged(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(&self.notes).unwrap_or_default();
        // A killed writer may leave half a line.
        let whole = notes.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }

    /// Kills it and the server below it, at once and without a word.
    fn kill(&mut self) {
        let id = self.process.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let children = std::fs::read_to_string(children).unwrap();
        let server = children.split_whitespace().next().expect("it has a server");
        let kill = |id: &str| Command::new("kill").args(["-9", id]).status().unwrap();
        assert!(kill(server).success());
        assert!(kill(&id.to_string()).success());
        self.process.wait().unwrap();
    }

    fn stop(&mut self) {
        let stop = format!("{}.stop", self.notes.display());
        std::fs::write(stop, "").unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn concurrent_writers_lose_no_acknowledged_record_when_one_is_killed() {
    if !has_tools(&["python3"]) {
        return;
    }
    let Some(neovim) = install("neovim") else {
        return;
    };
    let dir = TestDir::new();
    let store = dir.path("shared.db");
    let settings = dir.write(
        "settings.toml",
        &format!("[model]\nprotocol = \"embedded\"\n[telemetry]\npath = {store:?}\n"),
    );
    let folder = dir.path("");
    let until = Instant::now() + Duration::from_secs(seconds());
    let mut stays = Writing::start(&neovim, &folder, "stays", &settings);
    let mut killed = Writing::start(&neovim, &folder, "killed", &settings);
    let half = Instant::now() + Duration::from_secs(seconds()) / 2;
    let replayed = std::thread::scope(|scope| {
        let replaying = scope.spawn(|| {
            let mut runs = Vec::new();
            while runs.is_empty() || Instant::now() < until {
                let run = format!("run-{}", runs.len());
                let arguments = ["replay", &kitchen(), "--holes", "4", "--out", &run];
                let noting = ["--telemetry", "shared.db", "--json"];
                dir.fillrate(&[&arguments[..], &noting].concat())
                    .exits_with(0);
                runs.push(dir.path(&run));
            }
            runs
        });
        while Instant::now() < half || killed.acknowledged().is_empty() {
            assert!(
                Instant::now() < until + TIME_LIMIT,
                "no editor accepts anything"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        killed.kill();
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        replaying.join().unwrap()
    });
    stays.stop();

    let completions = telemetry::read(&store).unwrap().completions;
    let accepted: HashSet<&str> = completions
        .iter()
        .filter(|one| one.accepted.is_some())
        .map(|one| one.answered.completion.as_str())
        .collect();
    for writing in [&stays, &killed] {
        let acknowledged = writing.acknowledged();
        let lost = acknowledged
            .iter()
            .filter(|id| !accepted.contains(id.as_str()));
        assert_eq!(lost.count(), 0, "of {}", acknowledged.len());
    }
    // Of the one that stays each was acknowledged, and of the other all but the last.
    let simulated = |one: &&RecordedCompletion| one.answered.simulated;
    let by_hand = completions
        .iter()
        .filter(|one| !simulated(one) && one.accepted.is_some())
        .count();
    let acknowledged = stays.acknowledged().len() + killed.acknowledged().len();
    assert!(
        (acknowledged..=acknowledged + 1).contains(&by_hand),
        "{by_hand} of {acknowledged}"
    );
    let offered = replayed.iter().flat_map(|run| attempts(run).into_values());
    let offered = offered.filter(|attempt| !attempt["offered"].as_array().unwrap().is_empty());
    let by_replay = completions.iter().filter(simulated);
    let by_replay = by_replay.filter(|one| one.accepted.is_some()).count();
    assert_eq!(by_replay, offered.count());
    assert!(by_replay > 0);
    // None is there twice, neither a completion nor an acceptance.
    let ids: HashSet<&str> = completions
        .iter()
        .map(|one| one.answered.completion.as_str())
        .collect();
    assert_eq!(ids.len(), completions.len());
    let database = rusqlite::Connection::open(&store).unwrap();
    let accepts: i64 = database
        .query_row(
            "SELECT count(*) FROM events WHERE json_extract(record, '$.event') = 'accepted'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(usize::try_from(accepts), Ok(by_hand + by_replay));
    println!(
        "{} s: {by_hand} accepts in editors, {by_replay} of replays, {} completions",
        seconds(),
        completions.len()
    );
}
