//! Compares words and scores with NLTK and rank_bm25, on synthetic texts and on texts of this
//! repository.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "a test uses its part of what tests share")]
#[path = "../../tests/support/programs.rs"]
mod programs;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use fillrate_server::context::lines::{LineWindows, WindowScheme};
use fillrate_server::context::words::words;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Reads `{"texts": […], "corpora": [{"documents": […], "query": …}, …]}` and returns the words of
/// each text and the bits of each document's score.
const PYTHON: &str = r#"
import json, re, struct, sys
from nltk.tokenize import word_tokenize
from rank_bm25 import BM25Okapi

def words(text):
    tokens = word_tokenize(text, preserve_line=True)
    return [word for token in tokens for word in re.findall(r"\w+", token)]

def bits(number):
    return struct.pack(">d", number).hex()

asked = json.load(sys.stdin)
scores = [
    [bits(s) for s in BM25Okapi([words(d) for d in c["documents"]]).get_scores(words(c["query"]))]
    for c in asked["corpora"]
]
json.dump({"words": [words(text) for text in asked["texts"]], "scores": scores}, sys.stdout)
"#;

/// Texts that the tokenizer's rules match, and near misses.
const PIECES: &[&str] = &[
    "can't", "cannot", "Cannot", "CAN'T", "wouldn't", "WOULDN'T", "gimme", "gonna", "gotta",
    "lemme", "wanna", "more'n", "d'ye", "'tis", "'Twas", "'t", "n't", "N'T", "n'tn't", "it's",
    "I'm", "we'll", "they've", "'s", "'ll ", "'a'", "'x", "x'", "''", "'", "\"", "`", "``", "“",
    "”", "‘", "’", "«", "»", "„", " ", "  ", "\n", "\t", "\r", "\u{b}", "\u{1f}", "\u{a0}", ".",
    "..", "...", ":", ",", ";", "@", "#", "$", "%", "&", "?", "!", "*", "(", ")", "[", "]", "{",
    "}", "<", ">", "-", "--", "---", "_", "x", "foo_bar", "3.14", "1,000", "a:b", "n", "t", "ß",
    "é", "İ", "ı", "ſ", "gİmme", "'tıs", "٣", "²", "½", "Ⅷ", "中文", "\u{301}", "Ⓐ", "🙂", "do(",
    "=", "==", "/", "\\",
];

fn ask(python: &Path, asked: &Value) -> Value {
    let mut child = Command::new(python)
        .args(["-c", PYTHON])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let asked = asked.to_string();
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Texts of random pieces, then windows of this crate's own sources, which contain contractions
/// too.
fn texts(random: &mut ChaCha8Rng) -> Vec<String> {
    let mut texts: Vec<String> = (0..6000)
        .map(|_| {
            let count = random.random_range(0..14);
            (0..count)
                .map(|_| *PIECES.choose(random).unwrap())
                .collect()
        })
        .collect();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![sources];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let source = std::fs::read_to_string(path).unwrap();
                let lines: Vec<&str> = source.lines().collect();
                texts.extend(lines.chunks(10).map(|lines| lines.join("\n")));
            }
        }
    }
    texts
}

/// Small corpora of few words, so that many documents share them and weights become negative.
fn corpus(random: &mut ChaCha8Rng) -> (Vec<String>, String) {
    let text = |random: &mut ChaCha8Rng, least: u32| -> String {
        let count = random.random_range(least..12);
        let words = (0..count).map(|_| ["a", "b", "c", "d", "e_1", "don't "][pick(random, 6)]);
        words.collect::<Vec<_>>().join(" ")
    };
    let documents = (0..random.random_range(1..20)).map(|_| text(random, 1));
    let documents: Vec<String> = documents.collect();
    (documents, text(random, 0))
}

fn pick(random: &mut impl Rng, below: usize) -> usize {
    random.random_range(0..below)
}

#[test]
fn words_and_scores_are_those_of_nltk_and_rank_bm25() {
    let Some(python) = programs::install("rank-bm25") else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let texts = texts(&mut random);
    let corpora: Vec<_> = (0..500).map(|_| corpus(&mut random)).collect();
    let named: Vec<Value> = corpora
        .iter()
        .map(|(documents, query)| json!({"documents": documents, "query": query}))
        .collect();
    let theirs = ask(&python, &json!({"texts": texts, "corpora": named}));

    let parted = texts.iter().zip(theirs["words"].as_array().unwrap());
    for (text, theirs) in parted {
        assert_eq!(&json!(words(text)), theirs, "{text:?}");
    }
    let scored = corpora.iter().zip(theirs["scores"].as_array().unwrap());
    for ((documents, query), theirs) in scored {
        let mut lines = LineWindows::new(WindowScheme::CrossCodeEval);
        for (number, document) in documents.iter().enumerate() {
            lines.update(&format!("{number:02}.py"), document);
        }
        let ours = lines.candidates("here.py").bm25(query);
        let ours: Vec<String> = ours
            .iter()
            .map(|score| format!("{:016x}", score.to_bits()))
            .collect();
        assert_eq!(&json!(ours), theirs, "{documents:?} {query:?}");
    }
}
