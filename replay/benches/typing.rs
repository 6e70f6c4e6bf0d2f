//! Speed of the server at a keyboard, and its number of model requests.
//!
//! `cargo bench -p fillrate --bench typing [-- FOLDER]` starts `fillrate serve` on a folder of
//! Python code (without one, on a copy of the Python demo) with a model server on loopback, and
//! prints a table. `server/benches/million` makes a folder of a million lines.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a bench uses its part of what tests share"
)]
#[path = "../../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use comfy_table::Table;
use rand::prelude::*;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use support::editor::{self, Editor, ScriptedModel, uri};

/// No reuse and no waiting: every request is a call.
const BARE: &str = "[typing]\nwait_ms = 0\nreuse = false\nahead = false\n";

fn main() {
    let given = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let copy = tempfile::tempdir().unwrap();
    let folder = match given {
        Some(folder) => PathBuf::from(folder),
        None => {
            let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora/demo-python/src");
            for file in python_files(&demo, usize::MAX) {
                let path = copy.path().join(file.strip_prefix(&demo).unwrap());
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::copy(&file, path).unwrap();
            }
            copy.path().to_owned()
        }
    };
    let files = python_files(&folder, 16);
    assert!(files.len() >= 10, "the folder needs ten Python files");

    let mut table = Table::new();
    table.set_header(["what", "n", "p50 ms", "p99 ms", "most ms"]);
    start(&mut table, &folder);
    send(&mut table, &folder, &files, "editor");
    send(&mut table, &folder, &files, "none");
    for in_flight in [1, 4, 8] {
        edit_to_visible(&mut table, &folder, &files, in_flight);
    }
    cancel(&mut table, &folder, &files);
    println!("{table}");

    let mut table = Table::new();
    table.set_header([
        "typing 10 keys a second",
        "keys",
        "calls",
        "calls per 100 keys",
        "keys with something shown",
    ]);
    for (name, settings) in [
        ("every key asks", BARE),
        ("type-through alone", "[typing]\nwait_ms = 0\n"),
        ("waiting alone", "[typing]\nreuse = false\nahead = false\n"),
        ("as it comes", ""),
    ] {
        typing(&mut table, name, settings);
    }
    println!("{table}");
}

/// From the start of the program until the repository is indexed.
fn start(table: &mut Table, folder: &Path) {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "x".to_owned());
    let started = Instant::now();
    let editor = Editor::ready(folder, &scripted.settings());
    row(table, "start to ready", &mut [started.elapsed()]);
    println!("server's memory: {} MiB", editor.memory() >> 20);
}

/// From a request to its arrival at the model server, which answers at once.
fn send(table: &mut Table, folder: &Path, files: &[PathBuf], context: &str) {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "x".to_owned());
    let settings = format!(
        "{}{BARE}[context]\nprofile = \"{context}\"\n",
        scripted.settings()
    );
    let mut editor = Editor::ready(folder, &settings);
    let mut documents = open(&mut editor, files);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut on, mut after) = (Vec::new(), Vec::new());
    for round in 0..20 * 15 {
        let place = round % 20;
        let file = &mut documents[round / 20];
        let line = random.random_range(0..file.lines);
        file.type_at(&mut editor, line, "x");
        // The edit is dealt with before the clock starts.
        let params = json!({"textDocument": {"uri": file.uri}});
        editor.request("fillrate/explain", params);
        let before = scripted.arrivals.lock().unwrap().len();
        let started = Instant::now();
        let id = file.ask(&mut editor, line, 1);
        editor.response(id);
        let arrived = scripted.arrivals.lock().unwrap()[before];
        if place == 0 {
            after.push(arrived - started);
        } else {
            on.push(arrived - started);
        }
    }
    row(
        table,
        &format!("request to send, context {context}"),
        &mut on,
    );
    let name = format!("the first after another file was edited, context {context}");
    row(table, &name, &mut after);
}

/// From an edit to a prompt that shows it, while the model is slow with other requests.
fn edit_to_visible(table: &mut Table, folder: &Path, files: &[PathBuf], in_flight: usize) {
    let scripted = ScriptedModel::new(Duration::from_secs(600), |_| "x".to_owned());
    let settings = format!("{}timeout_ms = 600000\n{BARE}", scripted.settings());
    let mut editor = Editor::ready(folder, &settings);
    let mut documents = open(&mut editor, files);
    for file in &documents[1..=in_flight] {
        file.ask(&mut editor, 0, 0);
    }
    wait_for(|| scripted.arrivals.lock().unwrap().len() >= in_flight);
    let mut times = Vec::new();
    for round in 0..60 {
        let before = scripted.arrivals.lock().unwrap().len();
        let mark = format!("visible_{round} = ");
        let started = Instant::now();
        documents[0].type_at(&mut editor, 0, &mark);
        let id = documents[0].ask(&mut editor, 0, mark.len());
        // A call's prompt is kept after its arrival.
        wait_for(|| scripted.prompts.lock().unwrap().len() > before);
        assert!(scripted.prompts.lock().unwrap()[before].contains(&mark));
        if round >= 10 {
            times.push(scripted.arrivals.lock().unwrap()[before] - started);
        }
        editor.notify("$/cancelRequest", json!({"id": id}));
        editor.response(id);
    }
    row(
        table,
        &format!("edit to visible, {in_flight} in flight"),
        &mut times,
    );
}

/// From a cancel to its answer, and to the end of the exchange with the model.
fn cancel(table: &mut Table, folder: &Path, files: &[PathBuf]) {
    let scripted = ScriptedModel::new(Duration::from_secs(600), |_| "x".to_owned());
    let settings = format!("{}timeout_ms = 600000\n{BARE}", scripted.settings());
    let mut editor = Editor::ready(folder, &settings);
    let documents = open(&mut editor, files);
    let (mut answered, mut hung_up) = (Vec::new(), Vec::new());
    for round in 0..50 {
        let (calls, gone) = (
            scripted.arrivals.lock().unwrap().len(),
            scripted.disconnect_times.lock().unwrap().len(),
        );
        let id = documents[round % documents.len()].ask(&mut editor, 0, 0);
        wait_for(|| scripted.arrivals.lock().unwrap().len() > calls);
        let started = Instant::now();
        editor.notify("$/cancelRequest", json!({"id": id}));
        editor.response(id);
        answered.push(started.elapsed());
        wait_for(|| scripted.disconnect_times.lock().unwrap().len() > gone);
        hung_up.push(scripted.disconnect_times.lock().unwrap()[gone] - started);
    }
    row(table, "cancel to answer", &mut answered);
    row(table, "cancel to hang-up", &mut hung_up);
}

/// A person types a file; the model takes 150 ms and is right at two places of five.
fn typing(table: &mut Table, name: &str, settings: &str) {
    let wanted = include_str!("../../corpora/demo-python/src/ledgerline/money.py");
    let wanted = &wanted[..wanted.match_indices('\n').nth(60).unwrap().0];
    let typed = &wanted[wanted.len() - 400..];
    let (begun, _) = wanted.split_at(wanted.len() - typed.len());
    let reply = move |prompt: &str| {
        let own = prompt.rsplit("<|fim_prefix|>").next().unwrap_or_default();
        let own = own.split("<|fim_suffix|>").next().unwrap_or_default();
        match wanted.strip_prefix(own) {
            Some(rest) if own.len() * 7 % 5 < 2 => rest.lines().next().unwrap_or("").to_owned(),
            _ => "something_else()".to_owned(),
        }
    };
    let scripted = ScriptedModel::new(Duration::from_millis(150), reply);
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::ready(folder.path(), &format!("{}{settings}", scripted.settings()));
    let uri = uri(folder.path(), "a.py");
    editor.open(&uri, "python", begun);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut line, mut column) = end(begun);
    let (mut shown, mut under_way) = (0, Vec::new());
    for (key, character) in typed.chars().enumerate() {
        let version = i32::try_from(key).unwrap() + 2;
        // Like VS Code: cancels the older request, sends the edit, then sends a new request.
        for id in std::mem::take(&mut under_way) {
            if editor
                .try_response(id)
                .is_some_and(|answer| editor::text(&answer).is_some())
            {
                shown += 1;
            } else {
                editor.notify("$/cancelRequest", json!({"id": id}));
            }
        }
        editor.insert(&uri, version, line, column, &character.to_string());
        (line, column) = if character == '\n' {
            (line + 1, 0)
        } else {
            (line, column + 1)
        };
        under_way.push(editor.request_completion(&uri, line, column));
        let until = Instant::now() + gap(&mut random);
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            editor.receive(left);
        }
    }
    let keys = typed.chars().count();
    let calls = scripted.prompts.lock().unwrap().len();
    table.add_row([
        name.to_owned(),
        keys.to_string(),
        calls.to_string(),
        format!("{:.1}", 100.0 * calls as f64 / keys as f64),
        shown.to_string(),
    ]);
}

/// The time until the next key: log-normal around 90 ms, with a pause at one key of twelve.
fn gap(random: &mut ChaCha8Rng) -> Duration {
    let (a, b): (f64, f64) = (random.random(), random.random());
    let normal = (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    let middle = if random.random_bool(1.0 / 12.0) {
        400.0
    } else {
        90.0
    };
    Duration::from_secs_f64(middle / 1000.0 * (0.35 * normal).exp())
}

/// The position of a text's end.
fn end(text: &str) -> (u32, u32) {
    let line = text.matches('\n').count();
    let column = text.rsplit('\n').next().unwrap().encode_utf16().count();
    (u32::try_from(line).unwrap(), u32::try_from(column).unwrap())
}

/// An open file.
struct OpenFile {
    uri: String,
    version: i32,
    lines: usize,
}

fn open(editor: &mut Editor, files: &[PathBuf]) -> Vec<OpenFile> {
    files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let uri = lsp_types::Url::from_file_path(file).unwrap().to_string();
            editor.open(&uri, "python", &text);
            OpenFile {
                uri,
                version: 1,
                lines: text.lines().count(),
            }
        })
        .collect()
}

impl OpenFile {
    fn type_at(&mut self, editor: &mut Editor, line: usize, text: &str) {
        self.version += 1;
        let line = u32::try_from(line).unwrap();
        editor.insert(&self.uri, self.version, line, 0, text);
    }

    fn ask(&self, editor: &mut Editor, line: usize, column: usize) -> i64 {
        editor.send_request(
            "textDocument/inlineCompletion",
            json!({
                "textDocument": {"uri": self.uri},
                "position": {"line": line, "character": column},
                "context": {"triggerKind": 1},
            }),
        )
    }
}

/// Python files of some length, spread over a folder.
fn python_files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ignore::Walk::new(folder)
        .flatten()
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .filter(|path| {
            let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            most == usize::MAX || (1000..100_000).contains(&size)
        })
        .collect();
    files.sort();
    let step = (files.len() / most.max(1)).max(1);
    files.into_iter().step_by(step).take(most).collect()
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + editor::TIME_LIMIT;
    while !holds() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_micros(50));
    }
}

fn row(table: &mut Table, what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: f64| {
        let index = (share * (times.len() - 1) as f64).round() as usize;
        format!("{:.2}", times[index].as_secs_f64() * 1000.0)
    };
    table.add_row([
        what.to_owned(),
        times.len().to_string(),
        at(0.5),
        at(0.99),
        at(1.0),
    ]);
}
