//! Measures the time per example of CrossCodeEval's retrieval, compared with the same in Python
//! with NLTK and rank_bm25, whose windows and scores must be bit-identical.
//!
//! ```sh
//! FILLRATE_CCEVAL_REPOSITORIES=FOLDER cargo bench -p fillrate-server --bench retrieval
//! ```
//!
//! With the repositories of CrossCodeEval's examples (see `tests/cceval.rs`), its own queries are
//! used; otherwise, some in the demonstration corpora. Both sides have the files in memory and read
//! none. The first run installs the Python packages into the cache.

// A bench that fails has no better way to report it than a panic.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "a bench uses its part of what tests share")]
#[path = "../../tests/support/programs.rs"]
mod programs;

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fillrate_server::context::Window;
use fillrate_server::context::lines::{HitTarget, LineWindows, WindowScheme, cceval_query};
use fillrate_server::workspace::Workspace;
use serde_json::{Value, json};

/// Number of repetitions of a query per measured time.
const ASKED: u32 = 20;

/// A repository and its questions.
struct Case {
    name: String,
    /// Path and contents.
    files: Vec<(String, String)>,
    /// Path and the text before the cursor.
    examples: Vec<(String, String)>,
}

/// CrossCodeEval's procedure on files in memory. Times are of whole examples: `all` cuts and
/// tokenizes every window anew for each, as its authors' code does. `kept` reuses the tokens of
/// every window, and only creates and queries the BM25 object.
const PYTHON: &str = r#"
import json, os, re, struct, sys, time
from nltk.tokenize import word_tokenize
from rank_bm25 import BM25Okapi

def words(text):
    tokens = word_tokenize(text, preserve_line=True)
    return [word for token in tokens for word in re.findall(r"\w+", token)]

def distance(a, b):
    common = os.path.commonpath([a, b])
    return sum(os.path.relpath(path, common or ".").count("/") for path in (a, b))

def windows(files, path):
    ending = os.path.splitext(path)[1]
    others = [p for p in files if p != path and os.path.splitext(p)[1] == ending]
    others.sort(key=lambda p: (distance(p, path), p))
    found = []
    for other in others[:1000]:
        lines = [line for line in files[other].split("\n") if line.strip()]
        texts = ["\n".join(lines[i:i + 10]) for i in range(0, len(lines), 10)]
        found.append((other, texts))
    return found

def retrieve(parts, prompt):
    named = []
    for path, texts in parts:
        for number, (text, tokens) in enumerate((t, k) for t, k in texts if k):
            named.append((path, number, text, tokens))
    if not named:
        return []
    lines = [line for line in prompt.split("\n") if line.strip()]
    considered = named[:1000]
    scores = BM25Okapi([n[3] for n in considered]).get_scores(words("\n".join(lines[-10:])))
    ids = [f"{path}|{number}" for path, number, _, _ in considered]
    places = {f"{path}|{number}": place for place, (path, number, _, _) in enumerate(named)}
    hits = []
    for score, name in sorted(zip(scores, ids), reverse=True)[:5]:
        path, number = name.rsplit("|", 1)
        place = places.get(f"{path}|{int(number) + 1}", places[name])
        if named[place][2] not in [hit[1] for hit in hits]:
            hits.append([path, named[place][2], struct.pack(">d", score).hex()])
    return hits

answers = []
for case in json.load(sys.stdin):
    files = {p: c.replace("\r\n", "\n").replace("\r", "\n") for p, c in case["files"]}
    kept = {}
    for path, prompt in case["examples"]:
        begin = time.perf_counter()
        parts = [(p, [(t, words(t)) for t in texts]) for p, texts in windows(files, path)]
        hits = retrieve(parts, prompt)
        every = time.perf_counter() - begin
        begin = time.perf_counter()
        again = retrieve(parts, prompt)
        few = time.perf_counter() - begin
        assert hits == again
        answers.append({"hits": hits, "all": every, "kept": few})
json.dump(answers, sys.stdout)
"#;

fn main() {
    let cases = cases();
    println!("asking Python, which takes a while");
    let theirs = python(&cases);
    let mut theirs = theirs.as_array().unwrap().iter();
    println!(
        "{:<36} {:>8} {:>8} {:>9} {:>11} {:>11} {:>11} {:>7} {:>7} {:>7}",
        "repository",
        "examples",
        "windows",
        "new ms",
        "ours ms",
        "Python all",
        "Python kept",
        "×all",
        "×kept",
        "equal"
    );
    for case in &cases {
        let start = Instant::now();
        let mut lines = LineWindows::new(WindowScheme::CrossCodeEval);
        for (path, contents) in &case.files {
            lines.update(path, contents);
        }
        let new = start.elapsed();
        let (mut ours, mut all, mut kept) = (Duration::ZERO, 0.0, 0.0);
        let (mut equal, mut windows) = (0, 0);
        for (path, prompt) in &case.examples {
            let start = Instant::now();
            for _ in 0..ASKED {
                black_box(retrieve(black_box(&lines), path, prompt));
            }
            ours += start.elapsed() / ASKED;
            windows = windows.max(lines.candidates(path).texts().count());
            let answer = theirs.next().unwrap();
            equal += usize::from(json!(shown(&retrieve(&lines, path, prompt))) == answer["hits"]);
            all += answer["all"].as_f64().unwrap();
            kept += answer["kept"].as_f64().unwrap();
        }
        let count = case.examples.len();
        let ours = ours.as_secs_f64();
        let mean = |seconds: f64| seconds * 1000.0 / count as f64;
        println!(
            "{:<36} {count:>8} {windows:>8} {:>9.2} {:>11.4} {:>11.2} {:>11.2} {:>7.0} {:>7.0} {:>7}",
            case.name,
            mean(new.as_secs_f64()) * count as f64,
            mean(ours),
            mean(all),
            mean(kept),
            all / ours,
            kept / ours,
            format!("{equal}/{count}")
        );
    }
    println!(
        "Milliseconds of wall time, means over examples. new: cutting and tokenizing all files \
         once, which a server does when they change.\nours: one question, with the words of every \
         window kept from before, and everything else anew: the order of the files, the statistics \
         of the words, the scores.\nPython all: CrossCodeEval's way, every window tokenized for \
         every question. Python kept: with the words of every window kept from before, as ours."
    );
}

fn retrieve(lines: &LineWindows, path: &str, prompt: &str) -> Vec<Window> {
    let candidates = lines.candidates(path);
    let scores = candidates.bm25(&cceval_query(prompt, None));
    candidates.best(&scores, 5, HitTarget::Next)
}

/// Formats windows like the Python side.
fn shown(windows: &[Window]) -> Vec<[String; 3]> {
    let show = |window: &Window| {
        let score = format!("{:016x}", window.score.to_bits());
        [window.path.clone(), window.text.clone(), score]
    };
    windows.iter().map(show).collect()
}

fn python(cases: &[Case]) -> Value {
    let python = programs::install("rank-bm25").expect("the comparison needs it");
    let cases: Vec<Value> = cases
        .iter()
        .map(|case| json!({"files": case.files, "examples": case.examples}))
        .collect();
    let mut child = Command::new(python)
        .args(["-c", PYTHON])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let asked = json!(cases).to_string();
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn cases() -> Vec<Case> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let oracle = project.join("../shared/oracles/crosscodeeval/examples.jsonl");
    let repositories = std::env::var_os("FILLRATE_CCEVAL_REPOSITORIES").map(PathBuf::from);
    let released = repositories.zip(std::fs::read_to_string(oracle).ok());
    let Some((repositories, examples)) = released else {
        println!("without CrossCodeEval's examples and repositories; asking in our own");
        return ["demo-python", "demo-typescript"]
            .map(|name| own(name, &project.join("corpora").join(name)))
            .into();
    };
    let mut cases: Vec<Case> = Vec::new();
    for line in examples.lines() {
        let example: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let name = text(&example["metadata"]["repository"]);
        let folder = repositories.join(&name);
        if !folder.is_dir() {
            continue;
        }
        let asked = (text(&example["metadata"]["file"]), text(&example["prompt"]));
        match cases.iter_mut().find(|case| case.name == name) {
            Some(case) => case.examples.push(asked),
            None => cases.push(Case {
                name,
                files: files(&folder),
                examples: vec![asked],
            }),
        }
    }
    cases
}

/// Creates a query after every 25th line of every file.
fn own(name: &str, folder: &Path) -> Case {
    let files = files(folder);
    let examples = files.iter().flat_map(|(path, contents)| {
        let ends = contents.match_indices('\n').skip(24).step_by(25);
        ends.map(move |(end, _)| (path.clone(), contents[..end].to_owned()))
    });
    Case {
        name: name.to_owned(),
        examples: examples.collect(),
        files,
    }
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let workspace = Workspace::new(vec![folder.to_path_buf()]);
    let listed = workspace.files();
    let read = listed.iter().map(|file| {
        let contents = workspace.read(file).unwrap();
        (file.path.clone(), contents)
    });
    read.collect()
}
