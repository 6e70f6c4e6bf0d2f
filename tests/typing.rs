//! A server keeps up with a person who types: it asks the model seldom and shows nothing stale.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/editor.rs"]
mod editor;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use editor::{Editor, Oracle, PATIENCE, text, uri};

/// What the model always says.
const LINE: &str = "alpha(beta, gamma)";

fn line(_: &str) -> String {
    LINE.to_owned()
}

/// A workspace with one open file that ends in `x = `, and a server on it.
struct Desk {
    // Removed when dropped.
    folder: tempfile::TempDir,
    editor: Editor,
    uri: String,
    version: i32,
    /// The cursor's column in the first line.
    column: u32,
}

impl Desk {
    fn new(oracle: &Oracle) -> Self {
        Self::with(oracle, "")
    }

    fn with(oracle: &Oracle, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut editor = Editor::ready(folder.path(), &format!("{}{settings}", oracle.settings()));
        let uri = uri(folder.path(), "a.py");
        editor.open(&uri, "python", "x = \n");
        Self {
            folder,
            editor,
            uri,
            version: 1,
            column: 4,
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.version += 1;
        let (uri, column) = (self.uri.clone(), self.column);
        self.editor.insert(&uri, self.version, 0, column, keys);
        self.column += u32::try_from(keys.len()).unwrap();
    }

    fn ask(&mut self) -> i64 {
        self.editor.ask(&self.uri, 0, self.column)
    }

    fn invoke(&mut self) -> i64 {
        self.editor.send_request(
            "textDocument/inlineCompletion",
            json!({
                "textDocument": {"uri": self.uri},
                "position": {"line": 0, "character": self.column},
                "context": {"triggerKind": 1},
            }),
        )
    }

    fn answer(&mut self) -> Option<String> {
        let id = self.ask();
        text(&self.editor.answer(id))
    }

    fn source(&mut self) -> Value {
        let uri = self.uri.clone();
        let explained = self
            .editor
            .request("fillrate/explain", json!({"textDocument": {"uri": uri}}));
        explained["result"]["trace"]["source"].clone()
    }
}

fn asked(oracle: &Oracle) -> usize {
    oracle.prompts.lock().unwrap().len()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_is_shown_stays_while_its_beginning_is_typed() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    assert_eq!(desk.answer().as_deref(), Some(LINE));
    for typed in 1..LINE.len() {
        desk.type_in(&LINE[typed - 1..typed]);
        assert_eq!(desk.answer().as_deref(), Some(&LINE[typed..]));
    }
    assert_eq!(asked(&oracle), 1);
    assert_eq!(desk.source(), "typed-through");
}

#[test]
fn a_bracket_that_the_editor_closed_is_not_closed_again() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    desk.answer();
    desk.type_in("alpha");
    desk.type_in("()");
    desk.column -= 1;
    assert_eq!(desk.answer().as_deref(), Some("beta, gamma"));
    assert_eq!(asked(&oracle), 1);
}

#[test]
fn another_text_is_asked_anew_and_the_same_is_remembered() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    desk.answer();
    desk.type_in("b");
    assert_eq!(desk.answer().as_deref(), Some(LINE));
    assert_eq!(asked(&oracle), 2);
    // Taken back: the first place again.
    desk.version += 1;
    let uri = desk.uri.clone();
    desk.editor.change(&uri, desk.version, "x = \n");
    desk.column = 4;
    assert_eq!(desk.answer().as_deref(), Some(LINE));
    assert_eq!(desk.source(), "cache");
    assert_eq!(asked(&oracle), 2);
}

#[test]
fn a_model_that_already_writes_what_is_typed_is_not_asked_again() {
    let oracle = Oracle::new(Duration::from_millis(400), line);
    let mut desk = Desk::new(&oracle);
    let first = desk.ask();
    until("the model is asked", || asked(&oracle) == 1);
    // As VS Code does: it cancels, tells of the key, and asks again a little later.
    desk.editor.notify("$/cancelRequest", json!({"id": first}));
    desk.type_in("al");
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(desk.answer().as_deref(), Some(&LINE[2..]));
    assert_eq!(desk.source(), "running");
    assert!(desk.editor.answer(first)["result"].is_null());
    assert_eq!(asked(&oracle), 1);
    assert_eq!(*oracle.hung_up.lock().unwrap(), 0);
}

#[test]
fn a_model_that_writes_something_else_than_is_typed_is_ended() {
    let oracle = Oracle::writing(Duration::from_millis(20), |_| LINE.repeat(100));
    let mut desk = Desk::new(&oracle);
    let first = desk.ask();
    until("the model writes", || *oracle.written.lock().unwrap() >= 3);
    desk.type_in("al");
    assert!(desk.editor.answer(first)["result"].is_null());
    // It agrees so far, so it goes on; then it does not.
    until("the model goes on", || *oracle.written.lock().unwrap() >= 6);
    assert_eq!(*oracle.hung_up.lock().unwrap(), 0);
    desk.type_in("x");
    until("the model is hung up on", || {
        *oracle.hung_up.lock().unwrap() == 1
    });
    assert_eq!(asked(&oracle), 1);
}

#[test]
fn a_model_that_has_written_enough_is_stopped() {
    let oracle = Oracle::writing(Duration::from_millis(5), |_| {
        format!("alpha\n{}", "b = 1\n".repeat(200))
    });
    let mut desk = Desk::new(&oracle);
    desk.type_in("f()");
    desk.column -= 1;
    assert_eq!(desk.answer().as_deref(), Some("alpha"));
    until("the model is hung up on", || {
        *oracle.hung_up.lock().unwrap() == 1
    });
    assert!(*oracle.written.lock().unwrap() < 200);
}

#[test]
fn an_edit_elsewhere_ends_the_call_and_answers_the_request() {
    let delay = Duration::from_secs(10);
    let oracle = Oracle::new(delay, line);
    let mut desk = Desk::new(&oracle);
    let started = Instant::now();
    let first = desk.ask();
    until("the model is asked", || asked(&oracle) == 1);
    let uri = desk.uri.clone();
    desk.editor.insert(&uri, 2, 1, 0, "y = 2\n");
    assert!(desk.editor.answer(first)["result"].is_null());
    until("the model is hung up on", || {
        *oracle.hung_up.lock().unwrap() == 1
    });
    assert!(started.elapsed() < delay);
}

#[test]
fn after_an_accept_the_model_is_asked_once_and_at_once() {
    let oracle = Oracle::new(Duration::from_millis(50), line);
    let mut desk = Desk::new(&oracle);
    assert_eq!(desk.answer().as_deref(), Some(LINE));
    desk.type_in(LINE);
    until("the model is asked ahead", || asked(&oracle) == 2);
    assert!(desk.answer().is_some());
    assert_eq!(asked(&oracle), 2);
    assert!(oracle.prompts.lock().unwrap()[1].contains(&format!("x = {LINE}<|fim_suffix|>")));
}

#[test]
fn what_was_asked_for_by_hand_is_not_continued_unasked() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    let id = desk.invoke();
    assert_eq!(text(&desk.editor.answer(id)).as_deref(), Some(LINE));
    desk.type_in(LINE);
    // An answer that came after the edit shows that nothing else was begun before it.
    desk.source();
    assert_eq!(asked(&oracle), 1);
}

#[test]
fn a_burst_of_keys_is_let_pass() {
    let oracle = Oracle::new(Duration::from_millis(40), |prompt| {
        // Never what is typed next.
        format!("answer_{}", prompt.len())
    });
    let mut desk = Desk::new(&oracle);
    desk.answer();
    let keys = 40;
    let mut last = 0;
    for _ in 0..keys {
        desk.type_in("b");
        last = desk.ask();
        std::thread::sleep(Duration::from_millis(30));
    }
    let answer = desk.editor.answer(last);
    assert!(text(&answer).is_some(), "{answer}");
    // A stall of the machine looks like a pause, so some calls more than two are no fault.
    let calls = asked(&oracle);
    assert!(calls < keys / 2, "{calls} calls for {keys} keys");
}

#[test]
fn with_no_wait_every_key_asks() {
    let oracle = Oracle::new(Duration::from_millis(30), |prompt| {
        format!("answer_{}", prompt.len())
    });
    let mut desk = Desk::with(&oracle, "[typing]\nwait_ms = 0\n");
    desk.answer();
    for keys in 1..=5 {
        desk.type_in("b");
        assert!(desk.answer().is_some());
        assert_eq!(asked(&oracle), keys + 1);
    }
}

#[test]
fn a_place_is_explained_on_request() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    let uri = desk.uri.clone();
    let explained = desk.editor.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}}),
    );
    let result = &explained["result"];
    assert_eq!(result["candidates"][0], LINE);
    assert_eq!(result["trace"]["source"], "model");
    let configuration = result["trace"]["configuration"].as_str().unwrap();
    assert_eq!(configuration.len(), 16, "{configuration}");
    assert!(result["trace"]["prompt"].as_str().unwrap().contains("x = "));
    let unknown = desk.editor.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": "file:///none.py"}, "position": {"line": 0, "character": 4}}),
    );
    assert!(unknown["result"].is_null());
}

#[test]
fn the_status_tells_who_is_busy_and_why_nothing_is_shown() {
    let oracle = Oracle::new(Duration::from_millis(300), |_| String::new());
    let mut desk = Desk::new(&oracle);
    assert_eq!(desk.answer(), None);
    // What is said and what is answered may overtake each other.
    let patience = Instant::now() + PATIENCE;
    while states(&desk.editor).len() < 5 && Instant::now() < patience {
        desk.source();
    }
    let said = states(&desk.editor);
    let states: Vec<&str> = said.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(states, ["starting", "indexing", "ready", "busy", "ready"]);
    assert_eq!(said[4].1, "the model had nothing to say");
}

/// Every state the client was told, with its message.
fn states(editor: &Editor) -> Vec<(String, Value)> {
    editor
        .notifications
        .iter()
        .filter(|message| message["method"] == "fillrate/status")
        .map(|message| {
            let params = &message["params"];
            (
                params["state"].as_str().unwrap().to_owned(),
                params["message"].clone(),
            )
        })
        .collect()
}

#[test]
fn folders_come_and_go() {
    let oracle = Oracle::new(Duration::ZERO, line);
    let mut desk = Desk::new(&oracle);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(
        other.path().join("b.py"),
        "def compute_total(items):\n    return canary(items)\n",
    )
    .unwrap();
    let folder = json!({"uri": uri(other.path(), ""), "name": "other"});
    let uri = desk.uri.clone();
    desk.editor.change(&uri, 2, "compute_total = \n");
    let sees = |desk: &mut Desk, change: Value, version: i32| {
        desk.editor.notifications.clear();
        desk.editor.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({"event": change}),
        );
        desk.editor.await_status("ready");
        // Another place each time: the same would be answered from memory.
        let line = format!("compute_total = {version}");
        desk.editor.change(&uri, version, &format!("{line}\n"));
        let id = desk.editor.ask(&uri, 0, u32::try_from(line.len()).unwrap());
        desk.editor.answer(id);
        let prompts = oracle.prompts.lock().unwrap();
        prompts.last().unwrap().contains("canary")
    };
    assert!(sees(
        &mut desk,
        json!({"added": [folder], "removed": []}),
        3
    ));
    assert!(!sees(
        &mut desk,
        json!({"added": [], "removed": [folder]}),
        4
    ));
    assert!(desk.folder.path().exists());
}
