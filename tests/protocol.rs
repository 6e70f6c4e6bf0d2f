//! Promises of the protocol's edge that are easily broken: order, positions, privacy, and settings
//! that change while people type.

use std::path::Path;
use std::time::{Duration, Instant};

use fillrate_server::model::recorded;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::editor::{Editor, ScriptedModel, TIME_LIMIT, text, until, uri};
use crate::support::processes::free_port;

fn workspace(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, contents) in files {
        write(folder.path(), path, contents);
    }
    folder
}

fn write(folder: &Path, path: &str, contents: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// A file that the query `compute_total` finds and `canary` identifies.
fn define(canary: &str) -> String {
    format!("def compute_total_{canary}(items):\n    {canary} = sum(items)\n    return {canary}\n")
}

/// The current file's text before the cursor, as a prompt has it.
fn prefix(prompt: &str) -> &str {
    let before = prompt.split("<|fim_suffix|>").next().unwrap();
    before.rsplit("<|fim_prefix|>").next().unwrap()
}

/// Returns the text between the last blank of the cursor's line and the cursor.
fn echo(prompt: &str) -> String {
    let word = prefix(prompt).rsplit([' ', '\n']).next().unwrap();
    format!("{word}_")
}

fn fixed(_: &str) -> String {
    "b".to_owned()
}

/// The column of a text's end in an encoding.
fn columns(text: &str, encoding: &str) -> u32 {
    let count = match encoding {
        "utf-8" => text.len(),
        "utf-16" => text.encode_utf16().count(),
        _ => text.chars().count(),
    };
    u32::try_from(count).unwrap()
}

/// Sends `textDocument/completion` without waiting.
fn ask_list(editor: &mut Editor, uri: &str, line: u32, character: u32) -> i64 {
    editor.send_request(
        "textDocument/completion",
        json!({
            "textDocument": {"uri": uri},
            "position": {"line": line, "character": character},
        }),
    )
}

/// The last prompt after asking at the end of `compute_total = ` in an open document.
fn prompt_after_asking(editor: &mut Editor, scripted: &ScriptedModel, uri: &str) -> String {
    let id = editor.request_completion(uri, 0, 16);
    assert!(text(&editor.response(id)).is_some());
    scripted.prompts.lock().unwrap().last().unwrap().clone()
}

/// Sends requests until a prompt contains this text.
fn await_prompt(editor: &mut Editor, scripted: &ScriptedModel, uri: &str, text: &str) {
    let until = Instant::now() + TIME_LIMIT;
    loop {
        let prompt = prompt_after_asking(editor, scripted, uri);
        if prompt.contains(text) {
            return;
        }
        assert!(Instant::now() < until, "no {text} in {prompt}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn changed_files(editor: &mut Editor, folder: &Path, changes: &[(&str, u8)]) {
    let changes: Vec<Value> = changes
        .iter()
        .map(|(path, kind)| json!({"uri": uri(folder, path), "type": kind}))
        .collect();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
}

const CREATED: u8 = 1;
const CHANGED: u8 = 2;
const DELETED: u8 = 3;

#[test]
fn a_burst_of_range_edits_is_applied_in_order_in_every_encoding() {
    let letters: Vec<&str> = ["a", "é", "\u{1F600}", "\u{4E2D}", "e\u{301}"]
        .into_iter()
        .cycle()
        .take(50)
        .collect();
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let scripted = ScriptedModel::new(Duration::ZERO, echo);
        let folder = workspace(&[]);
        // An echo of what was typed is a completion that the person goes on to type.
        let settings = format!("{}[typing]\nreuse = false\n", scripted.settings());
        let (mut editor, _) = Editor::start(folder.path(), &settings, &[encoding]);
        editor.notify("initialized", json!({}));
        editor.await_status("ready");
        let uri = uri(folder.path(), "a.py");
        let before = "\u{1F600} = ";
        editor.open(&uri, "python", &format!("# é\r\n{before}\r\nx = 1\r\n"));
        let asked = editor.in_one_write(|editor| {
            let mut typed = String::new();
            let mut asked = Vec::new();
            for (version, letter) in (2..).zip(&letters) {
                let column = columns(&format!("{before}{typed}"), encoding);
                editor.insert(&uri, version, 1, column, letter);
                typed.push_str(letter);
                let column = columns(&format!("{before}{typed}"), encoding);
                asked.push((typed.clone(), editor.request_completion(&uri, 1, column)));
            }
            asked
        });
        let (last, _) = asked.last().unwrap().clone();
        for (typed, id) in &asked {
            let answer = editor.response(*id);
            assert!(answer.get("error").is_none(), "{answer}");
            match text(&answer) {
                Some(text) => assert_eq!(text, format!("{typed}_"), "{encoding}"),
                // A newer request replaced it.
                None => assert!(answer["result"].is_null() && *typed != last, "{answer}"),
            }
        }
        // Every prompt is a state that the document once had.
        for prompt in scripted.prompts.lock().unwrap().iter() {
            let seen = prefix(prompt);
            assert!(
                asked
                    .iter()
                    .any(|(typed, _)| seen == format!("# é\r\n{before}{typed}")),
                "{encoding}: {seen:?}"
            );
        }
    }
}

#[test]
fn fifty_documents_in_a_burst_are_each_answered_from_their_own_edit() {
    let scripted = ScriptedModel::new(Duration::ZERO, echo);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let asked: Vec<(String, i64)> = editor.in_one_write(|editor| {
        (0..50)
            .map(|n| {
                let uri = uri(folder.path(), &format!("{n}.py"));
                editor.open(&uri, "python", "x = old");
                editor.insert(&uri, 2, 0, 7, &format!("_{n}"));
                let column = 8 + u32::try_from(n.to_string().len()).unwrap();
                let id = editor.request_completion(&uri, 0, column);
                (format!("old_{n}_"), id)
            })
            .collect()
    });
    for (expected, id) in asked {
        assert_eq!(text(&editor.response(id)), Some(expected));
    }
}

#[test]
fn both_requests_produce_the_same_line() {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| " + \"\u{1F600}\"".to_owned());
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        for line in [
            "total",
            "größe = straße",
            "\u{1F600} = a.",
            "x = \"\u{1F600}\" ",
        ] {
            let folder = workspace(&[]);
            let (mut editor, _) = Editor::start(folder.path(), &scripted.settings(), &[encoding]);
            editor.notify("initialized", json!({}));
            editor.await_status("ready");
            let uri = uri(folder.path(), "a.py");
            editor.open(&uri, "python", &format!("a = 1\r\n{line}\r\n"));
            let column = columns(line, encoding);
            let id = editor.request_completion(&uri, 1, column);
            let inline = editor.response(id);
            let item = &inline["result"]["items"][0];
            let one = applied(line, encoding, &item["range"], &item["insertText"]);
            let id = ask_list(&mut editor, &uri, 1, column);
            let list = editor.response(id);
            let edit = &list["result"]["items"][0]["textEdit"];
            let other = applied(line, encoding, &edit["range"], &edit["newText"]);
            assert_eq!(
                one,
                format!("{line} + \"\u{1F600}\""),
                "{encoding}: {inline}"
            );
            assert_eq!(one, other, "{encoding}: {list}");
        }
    }
}

/// The line 1 of a document with an edit of a client's kind applied.
fn applied(line: &str, encoding: &str, range: &Value, new: &Value) -> String {
    let offset = |end: &str| {
        assert_eq!(range[end]["line"], 1, "{range}");
        let column = u32::try_from(range[end]["character"].as_u64().unwrap()).unwrap();
        (0..=line.len())
            .find(|offset| {
                line.is_char_boundary(*offset) && columns(&line[..*offset], encoding) == column
            })
            .unwrap_or_else(|| panic!("{range} is between two characters of {line}"))
    };
    [
        &line[..offset("start")],
        new.as_str().unwrap(),
        &line[offset("end")..],
    ]
    .concat()
}

#[test]
fn the_best_common_encoding_is_negotiated() {
    let folder = workspace(&[]);
    let settings = "[model]\nprotocol = \"empty\"\n";
    for (offered, taken) in [
        (json!({}), "utf-16"),
        (json!({"general": {"positionEncodings": []}}), "utf-16"),
        (
            json!({"general": {"positionEncodings": ["utf-7", "utf-16"]}}),
            "utf-16",
        ),
        (
            json!({"general": {"positionEncodings": ["utf-16", "utf-32", "utf-8"]}}),
            "utf-8",
        ),
    ] {
        let (_, answer) = Editor::start_with(folder.path(), settings, &offered);
        assert_eq!(
            answer["result"]["capabilities"]["positionEncoding"], taken,
            "{offered}"
        );
    }
}

#[test]
fn invalid_initialization_options_are_refused_by_name() {
    let folder = workspace(&[]);
    let settings = "[model]\nprotocol = \"empty\"\n";
    for (options, named) in [
        (json!({"modell": {}}), "modell"),
        (json!({"fillrate": {"context": {"windws": 1}}}), "windws"),
        (json!({"model": {"protocol": "telepathy"}}), "telepathy"),
        (json!({"model": {"temperature": -1}}), "temperature"),
        (
            json!({"model": {"protocol": "openai-completions", "url": "http://localhost:1"}}),
            "name",
        ),
        (
            json!({"model": {
                "protocol": "llama-infill", "url": "http://localhost:1",
                "key_env": "FILLRATE_NO_SUCH_KEY",
            }}),
            "FILLRATE_NO_SUCH_KEY",
        ),
        (json!("all of it"), "all of it"),
    ] {
        let (_, answer) = Editor::start_as(folder.path(), settings, &json!({}), &options);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(named), "{options}: {answer}");
    }
    let good = json!({"fillrate": {"context": {"windows": 1}}});
    let (_, answer) = Editor::start_as(folder.path(), settings, &json!({}), &good);
    assert!(answer.get("error").is_none(), "{answer}");
}

#[test]
fn seed_and_context_change_while_a_person_types() {
    let folder = workspace(&[("other.py", &define("canary"))]);
    let record = |completions: &[&str]| json!({"key": recorded::key("compute_total = ", "\n"), "completions": completions});
    write(
        folder.path(),
        "recording.jsonl",
        &record(&["one", "two"]).to_string(),
    );
    let recording = folder.path().join("recording.jsonl");
    let settings = format!("[model]\nprotocol = \"recorded\"\nrecording = {recording:?}\n");
    let mut editor = Editor::ready(folder.path(), &settings);
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let said = |editor: &mut Editor| {
        let id = editor.request_completion(&open, 0, 16);
        let said = text(&editor.response(id));
        let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": open}}));
        let windows = explained["result"]["trace"]["windows"].as_array().unwrap();
        (said, windows.len())
    };
    let configure = |editor: &mut Editor, settings: Value| {
        editor.notifications.clear();
        editor.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": {"fillrate": settings}}),
        );
    };
    // Where a switch is made in the background, a status can't say when: the one of the request
    // before may still be on its way.
    let await_said = |editor: &mut Editor, completion: &str, windows: usize| {
        let expected = (Some(completion.to_owned()), windows);
        until("the settings are in effect", || said(editor) == expected);
    };
    assert_eq!(said(&mut editor), (Some("one".into()), 1));
    // A seed is in force for the very next request.
    configure(&mut editor, json!({"model": {"seed": 1}}));
    assert_eq!(said(&mut editor), (Some("two".into()), 1));
    // A removed setting is no longer in effect.
    configure(&mut editor, json!({"context": {"profile": "none"}}));
    await_said(&mut editor, "one", 0);
    configure(
        &mut editor,
        json!({"context": {"profile": "editor"}, "model": {"seed": 3}}),
    );
    await_said(&mut editor, "two", 1);
    // After a mistake nothing is answered until it is corrected.
    configure(&mut editor, json!({"model": {"seed": "high"}}));
    editor.await_status("fault");
    assert_eq!(said(&mut editor).0, None);
    configure(&mut editor, json!({"model": {"seed": 3}}));
    await_said(&mut editor, "two", 1);
}

#[test]
fn windows_of_a_request_are_used_only_by_the_profile_given() {
    let folder = workspace(&[("tax.py", &define("compute_total"))]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let given = format!("{}\n[context]\nprofile = \"given\"\n", scripted.settings());
    let ask = |settings: &str, fillrate: Value| {
        let mut editor = Editor::ready(folder.path(), settings);
        let open = uri(folder.path(), "open.py");
        editor.open(&open, "python", "compute_total = \n");
        let answer = editor.request(
            "fillrate/explain",
            json!({
                "textDocument": {"uri": open},
                "position": {"line": 0, "character": 16},
                "fillrate": fillrate,
            }),
        );
        answer["result"]["trace"].clone()
    };
    let brought = json!({"windows": [{"path": "far.py", "text": "canary_1 = 1"}, {"path": "b.py", "text": "canary_2"}]});
    let trace = ask(&given, brought.clone());
    let prompt = trace["prompt"].as_str().unwrap();
    let places: Vec<_> = ["far.py", "canary_1 = 1", "b.py", "canary_2"]
        .iter()
        .map(|part| prompt.find(part).expect("all of it is in the prompt"))
        .collect();
    assert!(places.is_sorted(), "{prompt}");
    assert_eq!(trace["windows"].as_array().unwrap().len(), 2);

    let trace = ask(&given, json!({"windows": []}));
    assert_eq!(trace["windows"], json!([]));
    assert_eq!(trace["fault"], Value::Null);
    let trace = ask(&given, Value::Null);
    let fault = trace["fault"].as_str().unwrap();
    assert!(fault.contains("`fillrate.windows`"), "{fault}");

    // A fill-in-the-middle prompt has no place for an earlier completion.
    let earlier = json!({"earlier": {"completion": "x", "feedback": "y"}});
    let trace = ask(&scripted.settings(), earlier);
    let fault = trace["fault"].as_str().unwrap();
    assert!(fault.contains("earlier completion"), "{fault}");

    // An editor's own profile passes it over.
    let trace = ask(&scripted.settings(), brought);
    assert!(!trace["prompt"].as_str().unwrap().contains("canary"));
    assert_eq!(trace["windows"][0]["path"], "tax.py");
}

#[test]
fn open_buffers_of_hidden_files_are_not_sent() {
    let folder = workspace(&[
        (".gitignore", "local.py\n"),
        (".fillrateignore", "private/\n"),
        (".env", "compute_total = 'canary_env'\n"),
        ("local.py", &define("canary_local")),
        ("private/a.py", &define("canary_private")),
        ("secrets.py", &define("canary_secret")),
        ("id_rsa.py", &define("canary_key")),
        ("visible.py", &define("shown")),
        ("moved.py", &define("canary_moved")),
    ]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let hidden = [
        ".env",
        "local.py",
        "private/a.py",
        "private/new.py",
        "secrets.py",
        "id_rsa.py",
    ];
    for (n, path) in hidden.iter().enumerate() {
        let uri = uri(folder.path(), path);
        editor.open(&uri, "python", &define(&format!("canary_open_{n}")));
        editor.insert(
            &uri,
            2,
            0,
            0,
            &format!("canary_typed_{n} = compute_total\n"),
        );
        let id = editor.request_completion(&uri, 0, 0);
        let answer = editor.response(id);
        assert!(answer.get("error").is_none(), "{path}: {answer}");
        assert!(text(&answer).is_none(), "{path}: {answer}");
        let id = ask_list(&mut editor, &uri, 0, 0);
        let answer = editor.response(id);
        assert_ne!(answer["result"]["items"].as_array().map(Vec::len), Some(1));
    }
    // A file that a rename hides is removed from the index.
    std::fs::rename(
        folder.path().join("moved.py"),
        folder.path().join("credentials.py"),
    )
    .unwrap();
    changed_files(
        &mut editor,
        folder.path(),
        &[
            ("moved.py", DELETED),
            ("credentials.py", CREATED),
            ("local.py", CHANGED),
            (".env", CHANGED),
        ],
    );
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(prompt.contains("shown"), "{prompt}");
    // Closed, the file on disk counts: hidden as before.
    for path in hidden {
        let uri = uri(folder.path(), path);
        editor.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": uri}}),
        );
    }
    // The same place would be answered from memory.
    editor.change(&open, 2, "compute_total + \n");
    prompt_after_asking(&mut editor, &scripted, &open);
    let prompts = scripted.prompts.lock().unwrap();
    assert_eq!(prompts.len(), 2);
    for prompt in prompts.iter() {
        assert!(!prompt.contains("canary"), "{prompt}");
    }
}

#[test]
fn a_later_ignore_rule_hides_files_already_indexed() {
    let folder = workspace(&[
        ("visible.py", &define("shown")),
        ("private/a.py", &define("canary")),
    ]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(prompt.contains("canary"), "{prompt}");
    write(folder.path(), ".fillrateignore", "private/\n");
    changed_files(&mut editor, folder.path(), &[(".fillrateignore", CREATED)]);
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(
        prompt.contains("shown") && !prompt.contains("canary"),
        "{prompt}"
    );
    // A removed rule makes its files visible again.
    std::fs::remove_file(folder.path().join(".fillrateignore")).unwrap();
    changed_files(&mut editor, folder.path(), &[(".fillrateignore", DELETED)]);
    await_prompt(&mut editor, &scripted, &open, "canary");
}

#[test]
fn a_removed_folder_removes_its_files_from_the_index() {
    let folder = workspace(&[
        ("visible.py", &define("shown")),
        ("package/inner/a.py", &define("canary")),
        ("packages.py", &define("neighbour")),
    ]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(prompt.contains("canary"), "{prompt}");
    // Editors report only the folder.
    std::fs::rename(folder.path().join("package"), folder.path().join("renamed")).unwrap();
    changed_files(
        &mut editor,
        folder.path(),
        &[("package", DELETED), ("renamed", CREATED)],
    );
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(!prompt.contains("package/inner/a.py"), "{prompt}");
    assert!(
        prompt.contains("shown") && prompt.contains("neighbour"),
        "{prompt}"
    );
    // New files are looked for in the background.
    await_prompt(&mut editor, &scripted, &open, "renamed/inner/a.py");
}

#[test]
fn capable_clients_are_asked_to_watch_files() {
    let folder = workspace(&[]);
    let settings = "[model]\nprotocol = \"empty\"\n";
    for able in [true, false] {
        let capabilities = json!({
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": able}},
        });
        let (mut editor, _) = Editor::start_with(folder.path(), settings, &capabilities);
        editor.notify("initialized", json!({}));
        editor.await_status("ready");
        let asked = |editor: &Editor| {
            editor.notifications.iter().any(|message| {
                message["method"] == "client/registerCapability"
                    && message["params"]["registrations"][0]["method"]
                        == "workspace/didChangeWatchedFiles"
            })
        };
        let until = Instant::now() + TIME_LIMIT;
        while able && !asked(&editor) {
            assert!(Instant::now() < until, "{:?}", editor.notifications);
            editor.request(
                "fillrate/explain",
                json!({"textDocument": {"uri": "file:///x"}}),
            );
        }
        assert_eq!(asked(&editor), able);
    }
}

/// The URI of a notebook's cell, as VS Code writes it.
fn cell_uri(notebook: &str, cell: u32) -> String {
    format!(
        "{}#W{cell}",
        notebook.replace("file:", "vscode-notebook-cell:")
    )
}

fn cell_item(notebook: &str, cell: u32, text: &str) -> Value {
    json!({"uri": cell_uri(notebook, cell), "languageId": "python", "version": 1, "text": text})
}

fn cell(notebook: &str, cell: u32) -> Value {
    json!({"kind": 2, "document": cell_uri(notebook, cell)})
}

fn open_notebook(editor: &mut Editor, notebook: &str, texts: &[&str]) {
    let numbered = || (0..).zip(texts);
    let cells: Vec<_> = numbered().map(|(n, _)| cell(notebook, n)).collect();
    let documents: Vec<_> = numbered()
        .map(|(n, text)| cell_item(notebook, n, text))
        .collect();
    editor.notify(
        "notebookDocument/didOpen",
        json!({
            "notebookDocument": {
                "uri": notebook, "notebookType": "jupyter-notebook", "version": 1, "cells": cells,
            },
            "cellTextDocuments": documents,
        }),
    );
}

fn change_notebook(editor: &mut Editor, notebook: &str, cells: &Value) {
    editor.notify(
        "notebookDocument/didChange",
        json!({
            "notebookDocument": {"uri": notebook, "version": 2},
            "change": {"cells": cells},
        }),
    );
}

#[test]
fn a_cell_of_a_notebook_is_completed_after_the_cells_before_it() {
    let folder = workspace(&[(".gitignore", "private/\n"), ("other.py", &define("shown"))]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let (mut editor, answer) = Editor::start(folder.path(), &scripted.settings(), &["utf-16"]);
    editor.notify("initialized", json!({}));
    editor.await_status("ready");
    let sync = &answer["result"]["capabilities"]["notebookDocumentSync"];
    let selected = &sync["notebookSelector"][0]["cells"][0]["language"];
    assert_eq!(selected, "python");

    let notebook = uri(folder.path(), "a.ipynb");
    let first = define("own");
    let texts = [&*first, "%%bash\nls\n", "compute_total = \n", "after = 1\n"];
    open_notebook(&mut editor, &notebook, &texts);
    let typed = cell_uri(&notebook, 2);
    let prompt = prompt_after_asking(&mut editor, &scripted, &typed);
    assert_eq!(prefix(&prompt), format!("{first}\ncompute_total = "));
    assert_eq!(prompt.matches("compute_total_own").count(), 1, "{prompt}");
    assert!(prompt.contains("compute_total_shown"), "{prompt}");
    assert!(!prompt.contains("after = 1"), "{prompt}");

    // A cell comes to the top, the bash cell goes, and the first one is edited.
    let at = |line: u32| json!({"line": line, "character": 0});
    change_notebook(
        &mut editor,
        &notebook,
        &json!({"structure": {
            "array": {"start": 0, "deleteCount": 0, "cells": [cell(&notebook, 7)]},
            "didOpen": [cell_item(&notebook, 7, "import math")],
        }}),
    );
    change_notebook(
        &mut editor,
        &notebook,
        &json!({
            "structure": {
                "array": {"start": 2, "deleteCount": 1},
                "didClose": [{"uri": cell_uri(&notebook, 1)}],
            },
            "textContent": [{
                "document": {"uri": cell_uri(&notebook, 0), "version": 2},
                "changes": [{"range": {"start": at(0), "end": at(0)}, "text": "x = 1\n"}],
            }],
        }),
    );
    let prompt = prompt_after_asking(&mut editor, &scripted, &typed);
    let expected = format!("import math\n\nx = 1\n{first}\ncompute_total = ");
    assert_eq!(prefix(&prompt), expected);
    let explained = editor.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": typed}, "position": {"line": 0, "character": 16}}),
    );
    let sent = explained["result"]["trace"]["prompt"].as_str().unwrap();
    assert_eq!(prefix(sent), expected);
    let id = ask_list(&mut editor, &typed, 0, 16);
    let start = &editor.response(id)["result"]["items"][0]["textEdit"]["range"]["start"];
    assert_eq!(start["line"], 0, "{start}");

    // Of a hidden notebook nothing is sent, of a closed one nothing is known.
    let count = || scripted.prompts.lock().unwrap().len();
    let before = count();
    let hidden = uri(folder.path(), "private/a.ipynb");
    open_notebook(
        &mut editor,
        &hidden,
        &["secret = 1\n", "compute_total = \n"],
    );
    let cells: Vec<_> = [0, 2, 3, 7]
        .map(|n| json!({"uri": cell_uri(&notebook, n)}))
        .into();
    editor.notify(
        "notebookDocument/didClose",
        json!({"notebookDocument": {"uri": notebook}, "cellTextDocuments": cells}),
    );
    for uri in [&cell_uri(&hidden, 1), &typed] {
        let id = editor.request_completion(uri, 0, 16);
        assert!(text(&editor.response(id)).is_none(), "{uri}");
    }
    assert_eq!(count(), before);
}

#[test]
fn unsaved_text_is_indexed_until_its_buffer_closes() {
    let folder = workspace(&[("other.py", &define("saved"))]);
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    let other = uri(folder.path(), "other.py");
    editor.open(&open, "python", "compute_total = \n");
    editor.open(&other, "python", &define("saved"));
    editor.change(&other, 2, &define("typed"));
    // The disk's contents of an open file are irrelevant.
    write(folder.path(), "other.py", &define("rewritten"));
    changed_files(&mut editor, folder.path(), &[("other.py", CHANGED)]);
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(
        prompt.contains("typed") && !prompt.contains("saved") && !prompt.contains("rewritten"),
        "{prompt}"
    );
    editor.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": other}}),
    );
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(
        prompt.contains("rewritten") && !prompt.contains("typed"),
        "{prompt}"
    );
}

#[test]
fn invalid_requests_return_null_without_an_error() {
    let scripted = ScriptedModel::new(Duration::from_secs(60), fixed);
    let folder = workspace(&[]);
    let (mut editor, _) = Editor::start(folder.path(), &scripted.loaded_settings(), &["utf-16"]);
    let file = uri(folder.path(), "a.py");
    // Before the repository is read.
    editor.open(&file, "python", "x = \n");
    let early = editor.request_completion(&file, 0, 4);
    assert!(editor.response(early)["result"].is_null());
    editor.notify("initialized", json!({}));
    editor.await_status("ready");
    // A document that is not open.
    let unknown = editor.request_completion(&uri(folder.path(), "unknown.py"), 0, 0);
    assert!(editor.response(unknown)["result"].is_null());
    // A document that is closed while a model thinks; each kind of request that is cancelled.
    let closed = editor.request_completion(&file, 0, 4);
    editor.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": file}}),
    );
    assert!(editor.response(closed)["result"].is_null());
    editor.open(&file, "python", "x = \n");
    let inline = editor.request_completion(&file, 0, 4);
    let list = ask_list(&mut editor, &file, 0, 4);
    for id in [list, inline] {
        editor.notify("$/cancelRequest", json!({"id": id}));
        let answer = editor.response(id);
        assert!(
            answer.get("error").is_none() && answer["result"].is_null(),
            "{answer}"
        );
    }
    let until = Instant::now() + TIME_LIMIT;
    while *scripted.disconnects.lock().unwrap() < scripted.prompts.lock().unwrap().len() {
        assert!(Instant::now() < until, "a connection was left open");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Nothing to cancel, and nothing to explain.
    editor.notify("$/cancelRequest", json!({"id": 4711}));
    let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": file}}));
    assert!(explained["result"].is_null(), "{explained}");
}

#[test]
fn a_completion_for_outdated_text_is_not_returned() {
    let scripted = ScriptedModel::new(Duration::from_millis(300), echo);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "x = one");
    let id = editor.request_completion(&uri, 0, 7);
    editor.insert(&uri, 2, 0, 7, "s");
    let answer = editor.response(id);
    assert!(
        answer.get("error").is_none() && answer["result"].is_null(),
        "{answer}"
    );
    let id = editor.request_completion(&uri, 0, 8);
    assert_eq!(text(&editor.response(id)).as_deref(), Some("ones_"));
}

#[test]
fn many_pending_requests_block_nothing() {
    // None of them is answered in the time of this test.
    let scripted = ScriptedModel::new(Duration::from_secs(60), echo);
    let folder = workspace(&[]);
    // Otherwise requests wait for the first answer, because the model may have to be loaded.
    let settings = format!("{}load_timeout_ms = 0\n", scripted.settings());
    let mut editor = Editor::ready(folder.path(), &settings);
    let asked: Vec<(String, i64)> = (0..150)
        .map(|n| {
            let uri = uri(folder.path(), &format!("{n}.py"));
            editor.open(&uri, "python", "x = one");
            let id = editor.request_completion(&uri, 0, 7);
            (uri, id)
        })
        .collect();
    let (last, id) = asked.last().unwrap();
    editor.insert(last, 2, 0, 7, "s");
    let newer = editor.request_completion(last, 0, 8);
    assert!(editor.response(*id)["result"].is_null());
    let seen = |scripted: &ScriptedModel| {
        let prompts = scripted.prompts.lock().unwrap();
        prompts.iter().any(|prompt| prefix(prompt) == "x = ones")
    };
    let until = Instant::now() + TIME_LIMIT;
    while !seen(&scripted) {
        assert!(Instant::now() < until, "the edit was not seen");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The last first: it does not wait for those before it.
    let ids = asked.iter().map(|(_, id)| *id).take(asked.len() - 1);
    for id in std::iter::once(newer).chain(ids.rev()) {
        editor.notify("$/cancelRequest", json!({"id": id}));
        let answer = editor.response(id);
        assert!(
            answer.get("error").is_none() && answer["result"].is_null(),
            "{answer}"
        );
    }
}

#[test]
fn a_position_beyond_the_text_is_its_end() {
    let scripted = ScriptedModel::new(Duration::ZERO, echo);
    let folder = workspace(&[]);
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", "a = one\r\nb = two");
    for (line, character, word) in [(0, 99, "one_"), (1, 99, "two_"), (99, 0, "two_")] {
        let id = editor.request_completion(&uri, line, character);
        let answer = editor.response(id);
        assert_eq!(text(&answer).as_deref(), Some(word), "{line}:{character}");
    }
}

#[test]
fn folders_with_blanks_and_accents_are_indexed() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("my wörk 100%#1");
    write(&folder, "größe.py", &define("shown"));
    write(&folder, "ignored é.py", &define("canary"));
    write(&folder, ".gitignore", "ignored é.py\n");
    let scripted = ScriptedModel::new(Duration::ZERO, fixed);
    let mut editor = Editor::ready(&folder, &scripted.settings());
    let open = uri(&folder, "öffne mich.py");
    assert!(open.contains("%20"), "{open}");
    editor.open(&open, "python", "compute_total = \n");
    let prompt = prompt_after_asking(&mut editor, &scripted, &open);
    assert!(prompt.contains("<|repo_name|>my wörk 100%#1\n"), "{prompt}");
    assert!(
        prompt.contains("größe.py") && prompt.contains("öffne mich.py"),
        "{prompt}"
    );
    assert!(!prompt.contains("canary"), "{prompt}");
}

#[test]
fn an_explanation_has_every_step() {
    let folder = workspace(&[("other.py", &define("shown"))]);
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "f(a)\n\n".to_owned());
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let open = uri(folder.path(), "open.py");
    editor.open(&open, "python", "compute_total = \n");
    let id = editor.request_completion(&open, 0, 16);
    assert_eq!(text(&editor.response(id)).as_deref(), Some("f(a)"));
    let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": open}}));
    let trace = &explained["result"]["trace"];
    assert_eq!(trace["model"], "qwen2.5-coder");
    assert_eq!(
        trace["prompt"].as_str(),
        scripted.prompts.lock().unwrap().first().map(String::as_str)
    );
    assert_eq!(trace["windows"][0]["path"], "other.py");
    assert_eq!(trace["steps"][0]["raw"], "f(a)\n\n");
    assert_eq!(
        trace["steps"][0]["decisions"],
        json!([{"rule": "blank-end", "removed": "\n\n"}])
    );
    assert!(trace["fault"].is_null() && trace["nothing"].is_null());
    for step in ["context_ms", "model_ms", "cleanup_ms"] {
        assert!(trace[step].as_f64().unwrap() > 0.0, "{step}: {trace}");
    }
}

#[test]
fn a_model_failure_appears_in_the_explanation_and_not_in_the_editor() {
    let folder = workspace(&[]);
    let port = free_port();
    let settings = format!(
        "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:{port}\"\nname = \"qwen2.5-coder\"\n"
    );
    let mut editor = Editor::ready(folder.path(), &settings);
    let file = uri(folder.path(), "a.py");
    editor.open(&file, "python", "x = \n");
    let id = editor.request_completion(&file, 0, 4);
    let answer = editor.response(id);
    assert!(answer.get("error").is_none(), "{answer}");
    assert!(text(&answer).is_none(), "{answer}");
    let explained = editor.request("fillrate/explain", json!({"textDocument": {"uri": file}}));
    let fault = explained["result"]["trace"]["fault"].as_str().unwrap();
    assert!(fault.contains("cannot be reached"), "{fault}");
}

#[test]
fn an_idle_server_exits_with_its_client() {
    let folder = workspace(&[]);
    let settings = "[model]\nprotocol = \"embedded\"\n";
    assert!(
        Editor::ready(folder.path(), settings)
            .disconnect()
            .success()
    );
    // One that was greeted and no more, too.
    let (editor, _) = Editor::start(folder.path(), settings, &["utf-16"]);
    assert!(editor.disconnect().success());
}
