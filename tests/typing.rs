//! A server keeps up with a person who types: it calls the model rarely and shows nothing outdated.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::editor::{Editor, ScriptedModel, TIME_LIMIT, text, until, uri};

/// The model's completion, always the same.
const LINE: &str = "alpha(beta, gamma)";

fn line(_: &str) -> String {
    LINE.to_owned()
}

/// A workspace with one open file that ends in `x = `, and a server on it.
struct Typist {
    // Removed when dropped.
    folder: tempfile::TempDir,
    editor: Editor,
    uri: String,
    version: i32,
    /// The cursor's column in the first line.
    column: u32,
}

impl Typist {
    fn new(scripted: &ScriptedModel) -> Self {
        Self::with(scripted, "")
    }

    fn with(scripted: &ScriptedModel, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = format!("{}{settings}", scripted.loaded_settings());
        let mut editor = Editor::ready(folder.path(), &settings);
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

    /// Takes back characters before the cursor.
    fn backspace(&mut self, characters: u32) {
        self.version += 1;
        let end = self.column;
        self.column -= characters;
        self.editor.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{
                    "range": {
                        "start": {"line": 0, "character": self.column},
                        "end": {"line": 0, "character": end},
                    },
                    "text": "",
                }],
            }),
        );
    }

    fn request_completion(&mut self) -> i64 {
        self.editor.request_completion(&self.uri, 0, self.column)
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

    fn response(&mut self) -> Option<String> {
        let id = self.request_completion();
        text(&self.editor.response(id))
    }

    fn source(&mut self) -> Value {
        let uri = self.uri.clone();
        let explained = self
            .editor
            .request("fillrate/explain", json!({"textDocument": {"uri": uri}}));
        explained["result"]["trace"]["source"].clone()
    }
}

fn calls(scripted: &ScriptedModel) -> usize {
    scripted.prompts.lock().unwrap().len()
}

#[test]
fn a_completion_stays_while_its_beginning_is_typed() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    assert_eq!(typist.response().as_deref(), Some(LINE));
    for typed in 1..LINE.len() {
        typist.type_in(&LINE[typed - 1..typed]);
        assert_eq!(typist.response().as_deref(), Some(&LINE[typed..]));
    }
    assert_eq!(calls(&scripted), 1);
    assert_eq!(typist.source(), "typed-through");
}

#[test]
fn backspace_and_undo_ask_no_model() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    typist.backspace(1);
    assert_eq!(typist.response(), None);
    // An undo.
    typist.backspace(2);
    typist.type_in(" =");
    assert_eq!(typist.response(), None);
    assert_eq!(calls(&scripted), 0);
    // Who invokes it is answered.
    let id = typist.invoke();
    assert_eq!(text(&typist.editor.response(id)).as_deref(), Some(LINE));
    typist.type_in(" ");
    assert_eq!(typist.response().as_deref(), Some(LINE));
    let asked = calls(&scripted);
    // What was offered before a slip is offered again after it.
    typist.type_in("q");
    typist.backspace(1);
    assert_eq!(typist.response().as_deref(), Some(LINE));
    assert_eq!(calls(&scripted), asked);
}

#[test]
fn backspace_asks_where_the_settings_say_so() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::with(&scripted, "[typing]\nafter_deletion = true\n");
    typist.backspace(1);
    assert_eq!(typist.response().as_deref(), Some(LINE));
}

#[test]
fn a_gate_holds_back_what_would_hardly_be_accepted() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate.toml");
    // Within a word nothing is shown.
    let fitted = "schema = 1\nsimulated = false\nthreshold = 0.5\nintercept = 1.0\n\
                  coefficients = { after_word = -4.0 }\n\
                  evidence = { shown = 9, accepted = 3, sessions = 1, held_back = 0.5, \
                  characters_lost = 0.0 }\n";
    std::fs::write(&gate, fitted).unwrap();
    let mut typist = Typist::with(&scripted, &format!("[typing]\ngate = {gate:?}\n"));
    assert_eq!(typist.response().as_deref(), Some(LINE));
    // What is displayed stays.
    typist.type_in(&LINE[..1]);
    assert_eq!(typist.response().as_deref(), Some(&LINE[1..]));
    typist.type_in("q");
    assert_eq!(typist.response(), None);
    let uri = typist.uri.clone();
    let explained = typist
        .editor
        .request("fillrate/explain", json!({"textDocument": {"uri": uri}}));
    let trace = &explained["result"]["trace"];
    assert_eq!(
        trace["nothing"],
        "the gate holds it back: the chance of an accept is 5 %"
    );
    assert_eq!(trace["signals"]["before"], "word");
    // The person asks for it.
    let invoked = typist.invoke();
    assert!(text(&typist.editor.response(invoked)).is_some());
    typist.type_in(" ");
    assert!(typist.response().is_some());
}

#[test]
fn a_bracket_closed_by_the_editor_is_not_closed_twice() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    typist.response();
    typist.type_in("alpha");
    typist.type_in("()");
    typist.column -= 1;
    assert_eq!(typist.response().as_deref(), Some("beta, gamma"));
    assert_eq!(calls(&scripted), 1);
}

#[test]
fn new_text_calls_the_model_and_repeated_text_is_cached() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    typist.response();
    typist.type_in("b");
    assert_eq!(typist.response().as_deref(), Some(LINE));
    assert_eq!(calls(&scripted), 2);
    // Taken back: the first place again.
    typist.version += 1;
    let uri = typist.uri.clone();
    typist.editor.change(&uri, typist.version, "x = \n");
    typist.column = 4;
    assert_eq!(typist.response().as_deref(), Some(LINE));
    assert_eq!(typist.source(), "cache");
    assert_eq!(calls(&scripted), 2);
}

#[test]
fn a_running_call_that_agrees_with_typing_is_reused() {
    let scripted = ScriptedModel::new(Duration::from_millis(400), line);
    let mut typist = Typist::new(&scripted);
    let first = typist.request_completion();
    until("the model is asked", || calls(&scripted) == 1);
    // As VS Code does: cancel, edit, and a new request a little later.
    typist
        .editor
        .notify("$/cancelRequest", json!({"id": first}));
    typist.type_in("al");
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(typist.response().as_deref(), Some(&LINE[2..]));
    assert_eq!(typist.source(), "running");
    assert!(typist.editor.response(first)["result"].is_null());
    assert_eq!(calls(&scripted), 1);
    assert_eq!(*scripted.disconnects.lock().unwrap(), 0);
}

#[test]
fn a_running_call_that_disagrees_with_typing_is_cancelled() {
    let scripted = ScriptedModel::writing(Duration::from_millis(20), |_| LINE.repeat(100));
    let mut typist = Typist::new(&scripted);
    let first = typist.request_completion();
    until("the model writes", || {
        *scripted.written.lock().unwrap() >= 3
    });
    typist.type_in("al");
    assert!(typist.editor.response(first)["result"].is_null());
    // It agrees at first and continues; then it disagrees.
    until("the model goes on", || {
        *scripted.written.lock().unwrap() >= 6
    });
    assert_eq!(*scripted.disconnects.lock().unwrap(), 0);
    typist.type_in("x");
    until("the model is hung up on", || {
        *scripted.disconnects.lock().unwrap() == 1
    });
    assert_eq!(calls(&scripted), 1);
}

#[test]
fn a_model_is_stopped_at_the_end_of_the_completion() {
    let scripted = ScriptedModel::writing(Duration::from_millis(5), |_| {
        format!("alpha\n{}", "b = 1\n".repeat(200))
    });
    let mut typist = Typist::new(&scripted);
    typist.type_in("f()");
    typist.column -= 1;
    assert_eq!(typist.response().as_deref(), Some("alpha"));
    until("the model is hung up on", || {
        *scripted.disconnects.lock().unwrap() == 1
    });
    assert!(*scripted.written.lock().unwrap() < 200);
}

#[test]
fn an_edit_elsewhere_cancels_the_call_and_answers_the_request() {
    let delay = Duration::from_secs(10);
    let scripted = ScriptedModel::new(delay, line);
    let mut typist = Typist::new(&scripted);
    let started = Instant::now();
    let first = typist.request_completion();
    until("the model is asked", || calls(&scripted) == 1);
    let uri = typist.uri.clone();
    typist.editor.insert(&uri, 2, 1, 0, "y = 2\n");
    assert!(typist.editor.response(first)["result"].is_null());
    until("the model is hung up on", || {
        *scripted.disconnects.lock().unwrap() == 1
    });
    assert!(started.elapsed() < delay);
}

#[test]
fn an_accept_triggers_exactly_one_model_call() {
    let scripted = ScriptedModel::new(Duration::from_millis(50), line);
    let mut typist = Typist::new(&scripted);
    assert_eq!(typist.response().as_deref(), Some(LINE));
    typist.type_in(LINE);
    until("the model is asked ahead", || calls(&scripted) == 2);
    assert!(typist.response().is_some());
    assert_eq!(calls(&scripted), 2);
    assert!(scripted.prompts.lock().unwrap()[1].contains(&format!("x = {LINE}<|fim_suffix|>")));
}

#[test]
fn manual_completions_are_not_continued_automatically() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    let id = typist.invoke();
    assert_eq!(text(&typist.editor.response(id)).as_deref(), Some(LINE));
    typist.type_in(LINE);
    // A response after the edit shows that nothing was begun before it.
    typist.source();
    assert_eq!(calls(&scripted), 1);
}

#[test]
fn a_burst_of_keys_calls_the_model_rarely() {
    let scripted = ScriptedModel::new(Duration::from_millis(40), |prompt| {
        // Never what is typed next.
        format!("answer_{}", prompt.len())
    });
    let mut typist = Typist::new(&scripted);
    typist.response();
    let keys = 40;
    let mut last = 0;
    for _ in 0..keys {
        typist.type_in("b");
        last = typist.request_completion();
        std::thread::sleep(Duration::from_millis(30));
    }
    let answer = typist.editor.response(last);
    assert!(text(&answer).is_some(), "{answer}");
    // A stall of the machine looks like a pause, so some calls more than two are no fault.
    let calls = calls(&scripted);
    assert!(calls < keys / 2, "{calls} calls for {keys} keys");
}

#[test]
fn without_wait_every_key_calls_the_model() {
    let scripted = ScriptedModel::new(Duration::from_millis(30), |prompt| {
        format!("answer_{}", prompt.len())
    });
    let mut typist = Typist::with(&scripted, "[typing]\nwait_ms = 0\n");
    typist.response();
    for keys in 1..=5 {
        typist.type_in("b");
        assert!(typist.response().is_some());
        assert_eq!(calls(&scripted), keys + 1);
    }
}

#[test]
fn a_position_is_explained_on_request() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    let uri = typist.uri.clone();
    let explained = typist.editor.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}}),
    );
    let result = &explained["result"];
    assert_eq!(result["candidates"][0], LINE);
    assert_eq!(result["trace"]["source"], "model");
    let configuration = result["trace"]["configuration"].as_str().unwrap();
    assert_eq!(configuration.len(), 16, "{configuration}");
    assert!(result["trace"]["prompt"].as_str().unwrap().contains("x = "));
    let unknown = typist.editor.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": "file:///none.py"}, "position": {"line": 0, "character": 4}}),
    );
    assert!(unknown["result"].is_null());
}

#[test]
fn the_status_reports_activity_and_why_nothing_is_shown() {
    let scripted = ScriptedModel::new(Duration::from_millis(300), |_| String::new());
    let mut typist = Typist::new(&scripted);
    assert_eq!(typist.response(), None);
    // Notifications and responses may overtake each other.
    let deadline = Instant::now() + TIME_LIMIT;
    let silent = |editor: &Editor| states(editor).iter().any(|(state, _)| state == "silent");
    while !silent(&typist.editor) && Instant::now() < deadline {
        typist.source();
    }
    let mut said = states(&typist.editor);
    // Indexing is reported more than once.
    said.dedup();
    let states: Vec<&str> = said.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(
        states,
        ["starting", "indexing", "ready", "asking", "silent"]
    );
    assert_eq!(said[4].1, "the model returned an empty completion");
}

/// Every state reported to the client, with its message.
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
fn workspace_folders_are_added_and_removed() {
    let scripted = ScriptedModel::new(Duration::ZERO, line);
    let mut typist = Typist::new(&scripted);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(
        other.path().join("b.py"),
        "def compute_total(items):\n    return canary(items)\n",
    )
    .unwrap();
    let folder = json!({"uri": uri(other.path(), ""), "name": "other"});
    let uri = typist.uri.clone();
    typist.editor.change(&uri, 2, "compute_total = \n");
    let mut version = 3;
    // A status can't say when a change is in effect: the one of the request before may still be on
    // its way.
    let mut await_sight = |typist: &mut Typist, change: Value, expected: bool| {
        typist.editor.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({"event": change}),
        );
        until("the change of folders is in effect", || {
            // Another place each time: the same would be answered from memory.
            version += 1;
            let line = format!("compute_total = {version}");
            typist.editor.change(&uri, version, &format!("{line}\n"));
            let end = u32::try_from(line.len()).unwrap();
            let id = typist.editor.request_completion(&uri, 0, end);
            typist.editor.response(id);
            let prompts = scripted.prompts.lock().unwrap();
            // A request that new engines cancel sends none.
            let is_in_sight = |prompt: &String| prompt.contains("canary");
            prompts.last().is_some_and(is_in_sight) == expected
        });
    };
    await_sight(&mut typist, json!({"added": [folder], "removed": []}), true);
    await_sight(
        &mut typist,
        json!({"added": [], "removed": [folder]}),
        false,
    );
    assert!(typist.folder.path().exists());
}
