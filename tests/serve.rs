//! The language server as an editor meets it: the real binary over standard input and output.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::editor::{Editor, ScriptedModel, TIME_LIMIT, text, until, uri};

const REFERENCE: &str = "b = a + 1";

fn workspace(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, contents) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    folder
}

/// The number in the last `version_N` before the cursor, which the prompt has before the token
/// that asks for the middle.
fn echo_version(prompt: &str) -> String {
    let before = prompt.split("<|fim_suffix|>").next().unwrap();
    let number = before.rsplit("version_").next().unwrap();
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    format!("answer_{digits}")
}

fn fixed(_: &str) -> String {
    REFERENCE.to_owned()
}

#[test]
fn both_requests_give_the_same_text_in_every_encoding() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    // Before the cursor on its line: 3 characters, 5 UTF-16 units, 9 bytes; the line before ends
    // with CRLF.
    let contents = "def f(a):\r\n\u{1F600}\u{1F600} \r\n    return b\r\n";
    for (encoding, column) in [("utf-8", 9), ("utf-16", 5), ("utf-32", 3)] {
        let folder = workspace(&[]);
        let (mut editor, answer) = Editor::start(folder.path(), &scripted.settings(), &[encoding]);
        let capabilities = &answer["result"]["capabilities"];
        assert_eq!(capabilities["positionEncoding"], encoding);
        assert_eq!(capabilities["inlineCompletionProvider"], true);
        assert!(capabilities["completionProvider"].is_object());
        editor.notify("initialized", json!({}));
        editor.await_status("ready");

        let uri = uri(folder.path(), "a.py");
        editor.open(&uri, "python", contents);
        let id = editor.request_completion(&uri, 1, column);
        let inline = editor.response(id);
        let item = &inline["result"]["items"][0];
        let cursor = json!({"line": 1, "character": column});
        assert_eq!(item["insertText"], REFERENCE);
        assert_eq!(item["range"], json!({"start": cursor, "end": cursor}));
        let list = editor.request(
            "textDocument/completion",
            json!({"textDocument": {"uri": uri}, "position": cursor}),
        );
        assert_eq!(list["result"]["items"][0]["textEdit"]["newText"], REFERENCE);
        let prompts = scripted.prompts.lock().unwrap();
        let prompt = prompts.last().unwrap();
        assert!(
            prompt.contains("\u{1F600}\u{1F600} <|fim_suffix|>"),
            "{prompt}"
        );
    }
}

#[test]
fn a_completion_list_does_not_replace_ghost_text() {
    let scripted = ScriptedModel::new(Duration::from_millis(500), fixed);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = \n");
    let inline = editor.request_completion(&uri, 0, 4);
    let list = editor.send_request(
        "textDocument/completion",
        json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}}),
    );
    assert_eq!(text(&editor.response(inline)).as_deref(), Some(REFERENCE));
    assert_eq!(
        editor.response(list)["result"]["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_client_with_ghost_text_gets_no_list() {
    let folder = workspace(&[]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let (mut editor, first) = Editor::start(folder.path(), &scripted.settings(), &["utf-16"]);
    assert!(first["result"]["capabilities"]["completionProvider"].is_object());
    let again = editor.request("initialize", json!({"capabilities": {}}));
    assert!(
        again.get("error").is_some(),
        "a second greeting is refused: {again}"
    );
    let (_, answer) = Editor::start_with(
        folder.path(),
        &scripted.settings(),
        &json!({"textDocument": {"inlineCompletion": {}}}),
    );
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["inlineCompletionProvider"], true);
    assert!(capabilities["completionProvider"].is_null());
}

#[test]
fn a_list_item_replaces_the_word_before_the_cursor() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = größ\n");
    let list = editor.request(
        "textDocument/completion",
        json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 8}}),
    );
    let item = &list["result"]["items"][0];
    assert_eq!(item["textEdit"]["newText"], format!("größ{REFERENCE}"));
    assert_eq!(item["textEdit"]["range"]["start"]["character"], 4);
    assert!(item["filterText"].as_str().unwrap().starts_with("größ"));
    // Plain text, inserted as it is: neither a snippet nor indented once more.
    assert_eq!(
        [
            &item["kind"],
            &item["insertTextFormat"],
            &item["insertTextMode"]
        ],
        [&json!(1), &json!(1), &json!(1)]
    );
}

#[test]
fn requests_in_a_burst_are_answered_from_their_own_versions() {
    let scripted = ScriptedModel::new(Duration::ZERO, echo_version);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "version_0 = \n");
    let ids: Vec<(i32, i64)> = (1..=50)
        .map(|version| {
            let line = format!("version_{version} = ");
            editor.change(&uri, version + 1, &format!("{line}\n"));
            let id = editor.request_completion(&uri, 0, u32::try_from(line.len()).unwrap());
            (version, id)
        })
        .collect();
    for (version, id) in ids {
        let answer = editor.response(id);
        assert!(answer.get("error").is_none(), "{answer}");
        match text(&answer) {
            Some(text) => assert_eq!(text, format!("answer_{version}")),
            // A newer request replaced it.
            None => assert!(
                answer["result"].is_null() && version < 50,
                "{version}: {answer}"
            ),
        }
    }
}

#[test]
fn slow_models_delay_neither_edits_nor_cancels() {
    let delay = Duration::from_secs(4);
    let scripted = ScriptedModel::new(delay, echo_version);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.loaded_settings());
    let uris: Vec<String> = (0..8)
        .map(|n| uri(folder.path(), &format!("{n}.py")))
        .collect();
    let mut ids = Vec::new();
    for uri in &uris {
        editor.open(uri, "python", "version_1 = \n");
        ids.push(editor.request_completion(uri, 0, 12));
    }
    let until = Instant::now() + TIME_LIMIT;
    while scripted.prompts.lock().unwrap().len() < 8 {
        assert!(
            Instant::now() < until,
            "the model server was not asked eight times"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    // An edit is seen: the request after it replaces the older one at once and is sent.
    let started = Instant::now();
    editor.change(&uris[0], 2, "version_2 = \n");
    let newer = editor.request_completion(&uris[0], 0, 12);
    assert!(editor.response(ids[0])["result"].is_null());
    editor.notify("$/cancelRequest", json!({"id": ids[1]}));
    let cancelled = editor.response(ids[1]);
    assert!(
        cancelled.get("error").is_none() && cancelled["result"].is_null(),
        "{cancelled}"
    );
    // Far below the model's delay, even on a busy machine.
    assert!(started.elapsed() < delay / 2, "{:?}", started.elapsed());
    while *scripted.disconnects.lock().unwrap() < 2 {
        assert!(
            started.elapsed() < delay,
            "the model server was not hung up on"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(text(&editor.response(newer)).as_deref(), Some("answer_2"));
    for id in &ids[2..] {
        assert_eq!(text(&editor.response(*id)).as_deref(), Some("answer_1"));
    }
}

#[test]
fn settings_change_without_restart() {
    let (first, second) = (
        ScriptedModel::new(Duration::ZERO, fixed),
        ScriptedModel::new(Duration::ZERO, |_| "other".to_owned()),
    );
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &first.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = \n");
    let id = editor.request_completion(&uri, 0, 4);
    assert_eq!(text(&editor.response(id)).as_deref(), Some(REFERENCE));
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": {"fillrate": {"model": {"url": second.address}}}}),
    );
    until("the other model answers", || {
        let id = editor.request_completion(&uri, 0, 4);
        text(&editor.response(id)).as_deref() == Some("other")
    });
}

#[test]
fn an_unusable_choice_of_model_silences_the_previous_one() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = \n");
    let choose = |editor: &mut Editor, model: Value| {
        editor.notifications.clear();
        editor.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": {"fillrate": {"model": model}}}),
        );
    };
    // Two that are refused when the settings are read, and when the model is opened.
    for unusable in [
        json!({"protocol": "telepathy"}),
        json!({"name": "unknown-family"}),
    ] {
        let id = editor.request_completion(&uri, 0, 4);
        assert_eq!(text(&editor.response(id)).as_deref(), Some(REFERENCE));
        choose(&mut editor, unusable);
        editor.await_status("fault");
        let sent = scripted.prompts.lock().unwrap().len();
        let id = editor.request_completion(&uri, 0, 4);
        assert_eq!(text(&editor.response(id)), None);
        assert_eq!(scripted.prompts.lock().unwrap().len(), sent);
        choose(&mut editor, json!({}));
        editor.await_status("ready");
    }
}

/// A status with a fault names the model that the person chose, not the one before it.
#[test]
fn a_model_without_its_key_is_named_in_the_fault() {
    let folder = workspace(&[]);
    let settings = "use = \"free\"\n[models.free]\nprotocol = \"embedded\"\n\
                    [models.paid]\nprotocol = \"mistral-fim\"\nurl = \"http://127.0.0.1:1\"\n\
                    name = \"codestral-latest\"\nkey_env = \"NOWHERE_SET\"\n";
    let mut editor = Editor::ready(folder.path(), settings);
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": {"fillrate": {"use": "paid"}}}),
    );
    let status = editor.await_status("fault");
    assert_eq!(status["model"], "paid", "{status}");
}

/// Several candidates at temperature 0 are one: a notice says so, once for the same settings.
#[test]
fn candidates_at_temperature_zero_are_explained() {
    let folder = workspace(&[]);
    let settings = "[model]\nprotocol = \"openai-completions\"\nname = \"qwen2.5-coder\"\n\
                    url = \"http://127.0.0.1:9\"\ntemperature = 0.0\n";
    let mut editor = Editor::ready(folder.path(), settings);
    let notices = |editor: &Editor| {
        let said = "`candidates` is 3, but at temperature 0 there is only one";
        let notices = editor.notifications.iter().filter(|notice| {
            let text = notice["params"]["message"].as_str().unwrap_or_default();
            text.contains(said)
        });
        notices.count()
    };
    let wanted = |candidates: usize, max_tokens: usize| {
        json!({"settings": {"fillrate": {"model": {
            "candidates": candidates, "max_tokens": max_tokens,
        }}}})
    };
    for (candidates, max_tokens) in [(3, 20), (3, 30), (1, 30)] {
        editor.notifications.clear();
        let settings = wanted(candidates, max_tokens);
        editor.notify("workspace/didChangeConfiguration", settings);
        editor.await_status("ready");
        let expected = usize::from((candidates, max_tokens) == (3, 20));
        assert_eq!(notices(&editor), expected, "{candidates} {max_tokens}");
    }
    // The embedded model has several.
    let mut editor = Editor::ready(folder.path(), "[model]\nprotocol = \"embedded\"\n");
    editor.notify("workspace/didChangeConfiguration", wanted(3, 20));
    editor.await_status("ready");
    assert_eq!(notices(&editor), 0);
}

/// Nothing completes with settings that can't be used, and what is wrong with them explains it.
#[test]
fn unusable_settings_explain_a_position() {
    let folder = workspace(&[("a.py", "total = 1\n")]);
    let mut editor = Editor::ready(folder.path(), "");
    let file = uri(folder.path(), "a.py");
    editor.open(&file, "python", "total = 1\n");
    let settings = json!({"settings": {"fillrate": {"modle": {}}}});
    editor.notify("workspace/didChangeConfiguration", settings);
    editor.await_status("fault");
    let position = json!({"line": 1, "character": 0});
    let params = json!({"textDocument": {"uri": file}, "position": position});
    let response = editor.request("fillrate/explain", params);
    let message = response["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("there is no setting `modle`"),
        "{response}"
    );
}

/// A model's server that answers every request with a status, or not at all with status 0.
fn failing_server() -> (String, Arc<AtomicU16>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let status = Arc::new(AtomicU16::new(200));
    let shared = Arc::clone(&status);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let status = shared.load(Ordering::SeqCst);
            std::thread::spawn(move || answer_with(status, stream));
        }
    });
    (address, status)
}

fn answer_with(status: u16, mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    // The body ends with the object's brace.
    while !request.ends_with(b"}") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(read) => request.extend_from_slice(&piece[..read]),
        }
    }
    let body = match status {
        0 => {
            // The client gives up first.
            std::thread::sleep(Duration::from_secs(2));
            return;
        }
        200 => json!({"choices": [{"index": 0, "text": "f(1)", "finish_reason": "stop"}]}),
        code => json!({"error": {"message": format!("no {code}")}}),
    };
    let body = body.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

#[test]
fn a_fault_is_notified_once_with_what_to_do_and_is_over_when_the_model_answers() {
    let (address, status) = failing_server();
    let folder = workspace(&[(".env", "KEY=1\n")]);
    let settings = format!(
        "[model]\nprotocol = \"openai-completions\"\nurl = \"{address}\"\nname = \"qwen2.5-coder\"\n\
         retries = 0\nstream = false\ntimeout_ms = 500\n[typing]\nwait_ms = 0\nahead = false\n"
    );
    let mut editor = Editor::ready(folder.path(), &settings);
    let own = uri(folder.path(), "a.py");
    let secret = uri(folder.path(), ".env");
    editor.open(&own, "python", &"x = \n".repeat(20));
    editor.open(&secret, "plaintext", "KEY=1\n");
    let mut line = 0;
    let mut ask = |editor: &mut Editor| {
        line += 1;
        let id = editor.request_completion(&own, line, 4);
        text(&editor.response(id))
    };
    // The status and the notices since the last call.
    let report = |editor: &mut Editor, state: &str| -> (Value, Vec<String>) {
        editor.await_status(state);
        editor.receive(Duration::from_millis(100));
        let notices = editor.notifications.iter();
        let notices = notices.filter(|message| message["method"] == "window/showMessage");
        let notices =
            notices.map(|message| message["params"]["message"].as_str().unwrap().to_owned());
        let notices = notices.collect();
        let mut states = editor.notifications.iter().rev();
        let last = states.find(|message| message["method"] == "fillrate/status");
        let last = last.unwrap()["params"].clone();
        editor.notifications.clear();
        (last, notices)
    };
    assert_eq!(ask(&mut editor).as_deref(), Some("f(1)"));
    let (said, notices) = report(&mut editor, "ready");
    assert_eq!(
        (said["text"].as_str(), notices.len()),
        (Some("qwen2.5-coder"), 0)
    );

    for (code, cause, reason, advice) in [
        (
            403,
            "access was denied",
            "the model's server answered 403",
            "Check the key",
        ),
        (
            404,
            "model or address is unknown",
            "the model's server answered 404",
            "Check `model.name`",
        ),
        (
            0,
            "the model timed out",
            "the model did not answer within",
            "Wait until the model is loaded. If it is slow,",
        ),
    ] {
        status.store(code, Ordering::SeqCst);
        assert_eq!(ask(&mut editor), None);
        let (said, notices) = report(&mut editor, "fault");
        let message = said["message"].as_str().unwrap();
        assert!(message.starts_with(reason), "{said}");
        assert_eq!(said["cause"], cause);
        assert_eq!(said["text"], format!("fault: {cause}"));
        assert!(
            said["advice"].as_str().unwrap().starts_with(advice),
            "{said}"
        );
        let since = said["sinceMs"].as_u64().unwrap();
        assert!(since > 1_700_000_000_000, "{said}");
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(
            notices[0].contains(reason) && notices[0].contains(advice),
            "{notices:?}"
        );
        // A repeated failure causes no second notice and keeps the time of the first.
        editor.notifications.clear();
        assert_eq!(ask(&mut editor), None);
        let id = editor.request_completion(&secret, 0, 5);
        assert_eq!(text(&editor.response(id)), None);
        editor.receive(Duration::from_millis(100));
        let news = editor.notifications.iter();
        let mut news = news.filter(|message| message["method"] == "window/showMessage");
        assert!(news.next().is_none(), "{:?}", editor.notifications);
        let states = editor.notifications.iter();
        let mut states = states.filter(|message| message["method"] == "fillrate/status");
        let is_known = |status: &Value| {
            status["state"] == "asking" || status["state"] == "fault" && status["sinceMs"] == since
        };
        assert!(
            states.all(|message| is_known(&message["params"])),
            "{:?}",
            editor.notifications
        );
        editor.notifications.clear();
    }
    status.store(200, Ordering::SeqCst);
    assert_eq!(ask(&mut editor).as_deref(), Some("f(1)"));
    let (said, notices) = report(&mut editor, "ready");
    assert!(
        said["message"].is_null() && said.get("sinceMs").is_none(),
        "{said}"
    );
    assert!(notices.is_empty(), "{notices:?}");

    // What is said of a secret file names that file.
    let id = editor.request_completion(&secret, 0, 5);
    assert_eq!(text(&editor.response(id)), None);
    let (said, _) = report(&mut editor, "silent");
    assert_eq!(said["uri"], secret);
    assert!(
        said["text"]
            .as_str()
            .unwrap()
            .contains("silent (this file is not sent"),
        "{said}"
    );
    assert_eq!(ask(&mut editor).as_deref(), Some("f(1)"));
    let (said, _) = report(&mut editor, "ready");
    assert!(
        said.get("uri").is_none() && said["message"].is_null(),
        "{said}"
    );
}

#[test]
fn the_server_exits_with_its_client_during_a_model_call() {
    let scripted = ScriptedModel::new(Duration::from_secs(60), fixed);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = \n");
    editor.request_completion(&uri, 0, 4);
    assert!(editor.disconnect().success());
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    let folder = workspace(&[]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let (mut editor, _) = Editor::start(folder.path(), &scripted.settings(), &["utf-16"]);
    editor.notify("initialized", json!({}));
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": {"fillrate": {"model": {"urll": "x"}}}}),
    );
    editor.await_status("fault");
    let said = editor
        .notifications
        .iter()
        .find(|m| m["params"]["state"] == "fault")
        .unwrap();
    let message = said["params"]["message"].as_str().unwrap();
    assert!(message.contains("urll"), "{message}");
}

#[test]
fn hidden_files_never_reach_a_model_and_changed_files_do() {
    let define = |name: &str| {
        format!(
            "def compute_total_{name}(items):\n    total_{name} = sum(items)\n    return total_{name}\n"
        )
    };
    let folder = workspace(&[
        (".gitignore", "ignored/\n"),
        ("ignored/a.py", &define("ignored")),
        ("secrets.py", &define("secret")),
        ("visible.py", &define("visible")),
        ("gone.py", &define("gone")),
    ]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let id = editor.request_completion(&open, 0, 16);
    editor.response(id);
    std::fs::remove_file(folder.path().join("gone.py")).unwrap();
    std::fs::write(folder.path().join("fresh.py"), define("fresh")).unwrap();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [
            {"uri": uri(folder.path(), "gone.py"), "type": 3},
            {"uri": uri(folder.path(), "fresh.py"), "type": 1},
        ]}),
    );
    let id = editor.request_completion(&open, 0, 16);
    editor.response(id);
    let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": open}}));
    let windows = explained["result"]["trace"]["windows"]
        .as_array()
        .unwrap()
        .clone();
    let paths: Vec<&str> = windows
        .iter()
        .filter_map(|window| window["path"].as_str())
        .collect();
    assert!(
        paths.contains(&"fresh.py") && !paths.contains(&"gone.py"),
        "{paths:?}"
    );
    let prompts = scripted.prompts.lock().unwrap();
    let [before, after] = prompts.as_slice() else {
        panic!("two prompts: {prompts:?}");
    };
    assert!(
        before.contains("total_visible") && before.contains("total_gone"),
        "{before}"
    );
    assert!(
        after.contains("total_fresh") && !after.contains("total_gone"),
        "{after}"
    );
    for prompt in [before, after] {
        assert!(
            !prompt.contains("total_ignored") && !prompt.contains("total_secret"),
            "{prompt}"
        );
    }
    // A hidden file itself gets nothing, and hears why.
    let hidden = uri(folder.path(), "ignored/a.py");
    editor.open(&hidden, "python", "x = \n");
    let id = editor.request_completion(&hidden, 0, 4);
    assert_eq!(editor.response(id)["result"]["items"], json!([]));
    let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": hidden}}));
    assert!(
        explained["result"]["trace"]["nothing"].is_string(),
        "{explained}"
    );
    drop(prompts);
    assert_eq!(scripted.prompts.lock().unwrap().len(), 2);
}

#[test]
fn indexing_progress_is_reported() {
    let folder = workspace(&[("a.py", "x = 1\n"), ("b.py", "y = 2\n")]);
    let mut editor = Editor::ready(folder.path(), "[model]\nprotocol = \"embedded\"\n");
    let kinds: Vec<&Value> = editor
        .notifications
        .iter()
        .filter(|message| message["method"] == "$/progress")
        .map(|message| &message["params"]["value"]["kind"])
        .collect();
    assert!(
        kinds.contains(&&json!("begin")) && kinds.contains(&&json!("end")),
        "{kinds:?}"
    );
    let ready = editor
        .notifications
        .iter()
        .find(|message| message["params"]["state"] == "ready")
        .unwrap();
    assert_eq!(ready["params"]["files"], 2);
    let closed = editor.request("shutdown", Value::Null);
    assert!(closed.get("error").is_none(), "{closed}");
}

#[test]
fn a_file_that_is_ignored_while_the_repository_is_read_is_not_found_afterwards() {
    let defining = "def compute_total_late(items):\n    return sum(items)\n";
    let folder = workspace(&[("y.py", defining), ("z/late.py", &defining.repeat(2))]);
    for number in 0..1500 {
        let text = format!("def unrelated_{number}(a, b):\n    return a - b\n").repeat(20);
        std::fs::write(folder.path().join(format!("f{number:04}.py")), text).unwrap();
    }
    let settings = "[model]\nprotocol = \"empty\"\n";
    let (mut editor, _) = Editor::start(folder.path(), settings, &["utf-16"]);
    editor.notify("initialized", json!({}));
    let until = Instant::now() + TIME_LIMIT;
    let has_begun = |message: &Value| message["params"]["percent"].as_u64() >= Some(10);
    while !editor.notifications.iter().any(has_begun) {
        assert!(Instant::now() < until, "{:?}", editor.notifications);
        editor.receive(Duration::from_millis(100));
    }
    std::fs::write(folder.path().join(".gitignore"), "z/\n").unwrap();
    let changes = json!({"changes": [{"uri": uri(folder.path(), ".gitignore"), "type": 1}]});
    editor.notify("workspace/didChangeWatchedFiles", changes);
    editor.await_status("ready");
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total_late(items)\n");
    let place = json!({"textDocument": {"uri": open}, "position": {"line": 0, "character": 25}});
    let found = editor.request("fillrate/retrieve", place);
    let windows = found["result"]["windows"].as_array().unwrap();
    let paths: Vec<&str> = windows
        .iter()
        .map(|window| window["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"y.py"), "{found}");
    assert!(!paths.contains(&"z/late.py"), "{found}");
}

#[test]
fn a_request_while_the_server_starts_is_answered_from_what_is_open() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let folder = workspace(&[("a.py", "y = 1\n")]);
    let (mut editor, _) = Editor::start(folder.path(), &scripted.settings(), &["utf-16"]);
    let uri = uri(folder.path(), "b.py");
    let id = editor.in_one_write(|editor| {
        editor.notify("initialized", json!({}));
        editor.open(&uri, "python", "x = \n");
        editor.request_completion(&uri, 0, 4)
    });
    assert_eq!(text(&editor.response(id)).as_deref(), Some(REFERENCE));
}

#[test]
fn late_choices_of_a_model_send_nothing_to_another() {
    for delay in 0..5 {
        let scripted = ScriptedModel::new(Duration::ZERO, fixed);
        let folder = workspace(&[]);
        let (mut editor, _) = Editor::start(folder.path(), &scripted.settings(), &["utf-16"]);
        let uri = uri(folder.path(), "a.py");
        editor.notify("initialized", json!({}));
        // A choice may come at any moment of the start.
        std::thread::sleep(Duration::from_millis(10 * delay));
        let choice = json!({"settings": {"fillrate": {"use": "no-such-model"}}});
        let id = editor.in_one_write(|editor| {
            editor.notify("workspace/didChangeConfiguration", choice);
            editor.open(&uri, "python", "x = \n");
            editor.request_completion(&uri, 0, 4)
        });
        assert_eq!(text(&editor.response(id)), None);
        editor.await_status("fault");
        let id = editor.request_completion(&uri, 0, 4);
        assert_eq!(text(&editor.response(id)), None);
        assert_eq!(scripted.prompts.lock().unwrap().len(), 0);
    }
}

#[test]
fn empty_lists_of_options_and_settings_keep_the_persons_model() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let folder = workspace(&[]);
    let (mut editor, answer) =
        Editor::start_as(folder.path(), &scripted.settings(), &json!({}), &json!([]));
    assert!(answer["result"].is_object(), "{answer}");
    let uri = uri(folder.path(), "a.py");
    editor.notify("initialized", json!({}));
    for settings in [json!([]), json!({}), json!({"fillrate": []})] {
        editor.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": settings}),
        );
        let name = format!("{uri}?{}", scripted.prompts.lock().unwrap().len());
        editor.open(&name, "python", "x = \n");
        let id = editor.request_completion(&name, 0, 4);
        assert_eq!(text(&editor.response(id)).as_deref(), Some(REFERENCE));
    }
    assert_eq!(scripted.prompts.lock().unwrap().len(), 3);
}

#[test]
fn unknown_methods_make_no_noise_and_changes_need_no_version() {
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    for method in [
        "textDocument/willSave",
        "workspace/didCreateFiles",
        "workspace/unheardOf",
        "$/unheardOf",
    ] {
        editor.notify(
            method,
            json!({"textDocument": {"uri": "file:///a.py"}, "reason": 1, "files": []}),
        );
    }
    let place =
        json!({"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}});
    for method in ["textDocument/hover", "workspace/unheardOf"] {
        let id = editor.send_request(method, place.clone());
        assert_eq!(editor.response(id)["error"]["code"], -32601, "{method}");
    }
    // Neovim's name of a buffer without one.
    for uri in ["file:///", "untitled:Untitled-1"] {
        editor.open(uri, "python", "x = \n");
        editor.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri}, "contentChanges": [{"text": "changed = \n"}]}),
        );
        let id = editor.request_completion(uri, 0, 10);
        assert_eq!(text(&editor.response(id)).as_deref(), Some(REFERENCE));
        let prompts = scripted.prompts.lock().unwrap();
        assert!(
            prompts.last().unwrap().contains("changed = "),
            "{prompts:?}"
        );
    }
    let messages = editor
        .notifications
        .iter()
        .filter(|message| message["method"] == "window/showMessage");
    assert_eq!(messages.count(), 0, "{:?}", editor.notifications);
    assert_eq!(*editor.errors.lock().unwrap(), "");
}

#[test]
fn many_changes_on_disk_are_found_after_a_pause() {
    let folder = workspace(&[("a.py", "y = 1\n")]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let changes: Vec<Value> = (0..100)
        .map(|number| {
            let name = format!("new{number}.py");
            let text = format!("def compute_total_{number}(items):\n    return sum(items)\n");
            std::fs::write(folder.path().join(&name), text).unwrap();
            json!({"uri": uri(folder.path(), &name), "type": 1})
        })
        .collect();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
    until("a window of a changed file", || {
        let id = editor.request_completion(&open, 0, 16);
        assert!(text(&editor.response(id)).is_some());
        let prompts = scripted.prompts.lock().unwrap();
        prompts.last().unwrap().contains("compute_total_")
    });
}
