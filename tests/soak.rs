//! Continuous typing: ten keys a second in four documents, with cancels, accepts, edits by other
//! clients, files that change on disk and settings that change.
//!
//! It runs for 20 seconds; the soak itself is
//! `FILLRATE_SOAK_SECONDS=600 cargo test --release --test system soak`.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::prelude::*;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::support::editor::{self, Editor, ScriptedModel, TIME_LIMIT, uri};

/// Keys a second.
const PACE: u32 = 10;

/// A document as the typist sees it.
struct Buffer {
    uri: String,
    version: i32,
    text: Vec<char>,
    cursor: usize,
    /// Text shown at the cursor, if any.
    shown: Option<String>,
    places: Arc<Mutex<HashSet<(String, String)>>>,
}

/// A request under way.
struct Request {
    id: i64,
    since: Instant,
    buffer: usize,
    version: i32,
    prefix: String,
    suffix: String,
}

/// The model's completion between a prefix and a suffix: a word unique to them.
fn word(prefix: &str, suffix: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (prefix, suffix).hash(&mut hasher);
    format!("w{:x}é😀", hasher.finish())
}

/// The prefix and suffix in a prompt of the family.
fn parts(prompt: &str) -> Option<(&str, &str)> {
    let (_, rest) = prompt.split_once("<|fim_prefix|>")?;
    let (prefix, rest) = rest.split_once("<|fim_suffix|>")?;
    Some((prefix, rest.strip_suffix("<|fim_middle|>")?))
}

/// True if a completion is right at a position: the model's whole text there, or the rest of an
/// earlier one whose beginning the person typed.
fn fits(prefix: &str, suffix: &str, answer: &str) -> bool {
    let starts = prefix.char_indices().map(|(index, _)| index);
    starts.chain([prefix.len()]).rev().take(40).any(|start| {
        let (before, typed) = prefix.split_at(start);
        word(before, suffix) == [typed, answer].concat()
    })
}

impl Buffer {
    fn place(&self) -> (String, String) {
        let (before, after) = self.text.split_at(self.cursor);
        (before.iter().collect(), after.iter().collect())
    }

    fn position(&self, index: usize) -> Value {
        let before: String = self.text[..index].iter().collect();
        let line = before.matches('\n').count();
        let last = before.rsplit('\n').next().unwrap();
        json!({"line": line, "character": last.encode_utf16().count()})
    }

    /// Replaces characters, here and then in the server.
    fn edit(&mut self, editor: &mut Editor, start: usize, end: usize, new: &str) {
        let range = json!({"start": self.position(start), "end": self.position(end)});
        self.version += 1;
        self.text.splice(start..end, new.chars());
        self.cursor = start + new.chars().count();
        self.shown = None;
        // Known before the server is: it may ask the model ahead at once.
        self.places.lock().unwrap().insert(self.place());
        editor.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": range, "text": new}],
            }),
        );
    }
}

#[test]
fn continuous_typing_gets_only_correct_completions() {
    let seconds = std::env::var("FILLRATE_SOAK_SECONDS")
        .ok()
        .map_or(20, |seconds| seconds.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let places: Arc<Mutex<HashSet<(String, String)>>> = Arc::default();
    let known = Arc::clone(&places);
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&wrong);
    let scripted = ScriptedModel::new(Duration::from_millis(120), move |prompt| {
        let Some((prefix, suffix)) = parts(prompt) else {
            seen.lock().unwrap().push(prompt.to_owned());
            return String::new();
        };
        // The windows and the path precede the file's own beginning.
        let own = &prefix[prefix.find("# begin\n").unwrap_or(0)..];
        let place = (own.to_owned(), suffix.to_owned());
        if !known.lock().unwrap().contains(&place) {
            seen.lock().unwrap().push(prompt.to_owned());
        }
        word(own, suffix)
    });

    let folder = tempfile::tempdir().unwrap();
    for number in 0..40 {
        write_other(folder.path(), number, 0);
    }
    let mut editor = Editor::ready(folder.path(), &scripted.settings());
    let mut buffers: Vec<Buffer> = (0..4)
        .map(|number| {
            let text =
                format!("# begin\ndef task_{number}(items):\n    total = \n    return total\n");
            let uri = uri(folder.path(), &format!("open_{number}.py"));
            editor.open(&uri, "python", &text);
            let cursor = text.find("= \n").unwrap() + 2;
            places
                .lock()
                .unwrap()
                .insert((text[..cursor].to_owned(), text[cursor..].to_owned()));
            Buffer {
                uri,
                version: 1,
                text: text.chars().collect(),
                cursor,
                shown: None,
                places: Arc::clone(&places),
            }
        })
        .collect();

    let started = Instant::now();
    let end = started + Duration::from_secs(seconds);
    let warm = started + Duration::from_secs(seconds) / 5;
    let mut memory_when_warm = None;
    let mut under_way: VecDeque<Request> = VecDeque::new();
    let (mut keys, mut requests, mut shown, mut accepted, mut cancelled) = (0u32, 0, 0, 0, 0);
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        keys += 1;
        let next = started + Duration::from_secs(1) * keys / PACE;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            editor.receive(left);
        }
        if memory_when_warm.is_none() && Instant::now() > warm {
            memory_when_warm = Some(editor.memory());
        }

        // What has come is looked at as an editor would.
        under_way.retain(|request| {
            let Some(answer) = editor.try_response(request.id) else {
                assert!(
                    request.since.elapsed() < TIME_LIMIT,
                    "a request was not answered"
                );
                return true;
            };
            slowest = slowest.max(request.since.elapsed());
            assert!(answer.get("error").is_none(), "{answer}");
            let buffer = &mut buffers[request.buffer];
            if let Some(text) = editor::text(&answer) {
                assert!(
                    fits(&request.prefix, &request.suffix, &text),
                    "{text:?} after {:?}",
                    request.prefix
                );
                if buffer.version == request.version {
                    buffer.shown = Some(text);
                    shown += 1;
                }
            }
            false
        });

        // A key, or something else.
        let which = if random.random_bool(0.05) {
            random.random_range(0..buffers.len())
        } else {
            (keys / 50) as usize % buffers.len()
        };
        let buffer = &mut buffers[which];
        let cursor = buffer.cursor;
        match (buffer.shown.clone(), random.random_range(0..100)) {
            (Some(text), 0..20) => {
                buffer.edit(&mut editor, cursor, cursor, &text);
                accepted += 1;
            }
            (Some(text), 20..60) => {
                let key: String = text.chars().take(1).collect();
                buffer.edit(&mut editor, cursor, cursor, &key);
            }
            (_, 60..70) if cursor > "# begin\n".len() => {
                buffer.edit(&mut editor, cursor - 1, cursor, "");
            }
            (_, 70..75) => buffer.edit(&mut editor, cursor, cursor, "\n    "),
            (_, 75..78) => {
                // Elsewhere, possibly in the prefix.
                let start = random.random_range("# begin\n".len()..=buffer.text.len());
                let end = (start + random.random_range(0..10)).min(buffer.text.len());
                buffer.edit(&mut editor, start, end, "x = é😀\n");
            }
            (_, 78..80) => {
                write_other(folder.path(), random.random_range(0..40), keys);
                let changes: Vec<Value> = (0..40)
                    .map(|number| {
                        let uri = uri(folder.path(), &format!("other_{number}.py"));
                        json!({"uri": uri, "type": 2})
                    })
                    .collect();
                editor.notify(
                    "workspace/didChangeWatchedFiles",
                    json!({"changes": changes}),
                );
            }
            (_, 80..82) => {
                let wait = if random.random() { 0 } else { 150 };
                editor.notify(
                    "workspace/didChangeConfiguration",
                    json!({"settings": {"fillrate": {"typing": {"wait_ms": wait}}}}),
                );
            }
            _ => {
                let key = ["a", "b", "_", "é", " ", "("][random.random_range(0..6)];
                buffer.edit(&mut editor, cursor, cursor, key);
            }
        }
        // So that all of it fits a prompt, of which what follows the cursor gets a quarter.
        if buffer.text.len() > 1500 {
            let fresh = "# begin\nx = ";
            let end = buffer.text.len();
            buffer.edit(&mut editor, 0, end, fresh);
        }
        if buffer.text.get(..8) != Some(&['#', ' ', 'b', 'e', 'g', 'i', 'n', '\n']) {
            buffer.edit(&mut editor, 0, 0, "# begin\n");
        }

        if random.random_bool(0.2)
            && let Some(request) = under_way.back()
        {
            editor.notify("$/cancelRequest", json!({"id": request.id}));
            cancelled += 1;
        }
        if random.random_bool(0.9) {
            let buffer = &buffers[which];
            let (prefix, suffix) = buffer.place();
            let position = buffer.position(buffer.cursor);
            let id = editor.send_request(
                "textDocument/inlineCompletion",
                json!({
                    "textDocument": {"uri": buffer.uri},
                    "position": position,
                    "context": {"triggerKind": if random.random_bool(0.1) { 1 } else { 2 }},
                }),
            );
            requests += 1;
            under_way.push_back(Request {
                id,
                since: Instant::now(),
                buffer: which,
                version: buffer.version,
                prefix,
                suffix,
            });
        }
    }
    for request in under_way {
        let answer = editor.response(request.id);
        assert!(answer.get("error").is_none(), "{answer}");
    }

    let calls = scripted.prompts.lock().unwrap().len();
    let (warm, last) = (memory_when_warm.unwrap(), editor.memory());
    println!(
        "{keys} keys, {requests} requests, {cancelled} cancelled, {shown} shown, {accepted} \
         accepted, {calls} calls of the model, slowest answer {slowest:?}, memory {:.1} MiB when \
         warm and {:.1} MiB at the end",
        mib(warm),
        mib(last)
    );
    let wrong = wrong.lock().unwrap();
    assert!(wrong.is_empty(), "the model was sent: {}", wrong[0]);
    assert!(shown > 0 && accepted > 0 && calls > 0);
    assert!(
        last < warm + warm / 4 + (16 << 20),
        "memory grew from {:.1} to {:.1} MiB",
        mib(warm),
        mib(last)
    );
    let errors = editor.errors.lock().unwrap();
    assert!(!errors.contains("panicked"), "{errors}");
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn write_other(folder: &Path, number: u32, version: u32) {
    let contents = format!(
        "def task_helper_{number}(items):\n    total = sum(items) + {version}\n    return total\n"
    );
    std::fs::write(folder.join(format!("other_{number}.py")), contents).unwrap();
}
