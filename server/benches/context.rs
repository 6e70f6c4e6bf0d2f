//! Measures how long the context index takes to build, to update a saved file, and to search.
//!
//! `cargo bench -p fillrate-server --bench context -- FOLDER…` measures the repositories in these
//! folders, and the quality of the windows; without a folder, two synthetic ones of 15 and of 400
//! files.

// A bench that fails has no better way to report it than a panic.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fillrate_server::context::{Index, Query};
use fillrate_server::syntax::Language;
use fillrate_server::workspace::Workspace;

const QUERIES: usize = 200;
const SAVES: usize = 30;
const BUILDS: usize = 5;
const LINES: usize = 3000;

fn main() {
    // Cargo passes its own flags to every bench.
    let folders: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    println!(
        "{:<24} {:>6} {:>8} {:>7} {:>8} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "repository",
        "files",
        "lines",
        "list ms",
        "new ms",
        "update ms",
        "commit ms",
        "MB/s",
        "save ms",
        "p50 ms",
        "p95 ms",
        "max ms"
    );
    if folders.is_empty() {
        for files in [15, 400] {
            measure(&format!("synthetic {files}"), &synthetic(files), 0.0);
        }
    }
    for folder in folders {
        let name = folder.file_name().map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let workspace = Workspace::new(vec![folder]);
        let start = Instant::now();
        let listed = workspace.files();
        let list = milliseconds(start.elapsed());
        let files: Vec<(String, String)> = listed
            .iter()
            .filter_map(|file| Some((file.path.clone(), workspace.read(file).ok()?)))
            .collect();
        measure(&name, &files, list);
        recall(&files);
    }
}

/// Prints one row: the best of [`BUILDS`] builds, the median of [`SAVES`] saves of one file, and
/// quantiles of [`QUERIES`] queries at line ends spread over the repository.
fn measure(name: &str, files: &[(String, String)], list: f64) {
    if files.is_empty() {
        println!("{name:<24} has no source files");
        return;
    }
    let language = |path: &str| Language::for_path(path.as_ref()).unwrap();
    let mut best: Option<(Duration, [Duration; 3], Index)> = None;
    for _ in 0..BUILDS {
        let start = Instant::now();
        let index = Index::new().unwrap();
        let opened = start.elapsed();
        for (path, contents) in files {
            index.update(path, contents, language(path)).unwrap();
        }
        let updated = start.elapsed();
        index.commit().unwrap();
        let total = start.elapsed();
        if best.as_ref().is_none_or(|(before, ..)| total < *before) {
            let steps = [opened, updated - opened, total - updated];
            best = Some((total, steps, index));
        }
    }
    let (total, [opened, updated, committed], index) = best.unwrap();

    let saves = sorted((0..SAVES).map(|save| {
        let (path, contents) = &files[save * files.len() / SAVES];
        let start = Instant::now();
        index.update(path, contents, language(path)).unwrap();
        index.commit().unwrap();
        start.elapsed()
    }));
    let queries = sorted((0..QUERIES).map(|number| {
        let (path, contents) = &files[number * files.len() / QUERIES];
        let ends: Vec<usize> = contents.match_indices('\n').map(|(at, _)| at).collect();
        let cursor = ends
            .get(ends.len() * (number % 7 + 1) / 9)
            .copied()
            .unwrap_or(0);
        let (prefix, suffix) = contents.split_at(cursor);
        let query = Query {
            path,
            prefix,
            suffix,
            language: language(path),
            tree: None,
            head: None,
            recent: &[],
        };
        let start = Instant::now();
        black_box(index.retrieve(&query, 10).unwrap());
        start.elapsed()
    }));

    let bytes: usize = files.iter().map(|(_, contents)| contents.len()).sum();
    let lines: usize = files
        .iter()
        .map(|(_, contents)| contents.lines().count())
        .sum();
    println!(
        "{name:<24} {:>6} {lines:>8} {list:>7.1} {:>8.2} {:>9.1} {:>9.1} {:>7.1} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
        files.len(),
        milliseconds(opened),
        milliseconds(updated),
        milliseconds(committed),
        bytes as f64 / 1e6 / total.as_secs_f64(),
        saves[SAVES / 2],
        queries[QUERIES / 2],
        queries[QUERIES * 95 / 100],
        queries[QUERIES - 1],
    );
}

/// Prints the quality of the windows, without a model. The line before the cursor is masked. Of its
/// words that occur in other files but nowhere else in its own, the share that the best windows
/// contain is counted.
fn recall(files: &[(String, String)]) {
    let language = |path: &str| Language::for_path(path.as_ref()).unwrap();
    let index = Index::new().unwrap();
    let mut holders: HashMap<&str, usize> = HashMap::new();
    for (path, contents) in files {
        index.update(path, contents, language(path)).unwrap();
        for word in words(contents) {
            *holders.entry(word).or_default() += 1;
        }
    }
    index.commit().unwrap();
    let (mut lines, mut asked, mut found) = (0, 0, [0; 3]);
    for number in 0..LINES {
        let (path, contents) = &files[number * files.len() / LINES];
        let all: Vec<&str> = contents.split_inclusive('\n').collect();
        let row = number * 7919 % all.len().max(1);
        let Some(line) = all.get(row) else { continue };
        let (prefix, suffix) = (all[..row].concat(), all[row + 1..].concat());
        let (before, after) = (words(&prefix), words(&suffix));
        let new: Vec<&str> = words(line)
            .into_iter()
            .filter(|word| !before.contains(word) && !after.contains(word) && holders[word] > 1)
            .collect();
        if new.is_empty() {
            continue;
        }
        let query = Query {
            path,
            prefix: &prefix,
            suffix: &suffix,
            language: language(path),
            tree: None,
            head: None,
            recent: &[],
        };
        let windows = index.retrieve(&query, 10).unwrap();
        lines += 1;
        asked += new.len();
        for (count, limit) in found.iter_mut().zip([1, 5, 10]) {
            let texts: Vec<_> = windows
                .iter()
                .take(limit)
                .map(|window| words(&window.text))
                .collect();
            *count += new
                .iter()
                .filter(|word| texts.iter().any(|text| text.contains(*word)))
                .count();
        }
    }
    let share = |count: usize| 100.0 * count as f64 / asked.max(1) as f64;
    println!(
        "    words new to their file ({asked} in {lines} lines) in the best 1, 5, 10 windows: {:.1} {:.1} {:.1} %",
        share(found[0]),
        share(found[1]),
        share(found[2])
    );
}

fn words(text: &str) -> HashSet<&str> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| word.len() > 2 && !word.starts_with(char::is_numeric))
        .collect()
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<f64> {
    let mut times: Vec<f64> = times.map(milliseconds).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Creates Python files of about 150 lines with recurring names, as in real code.
fn synthetic(files: usize) -> Vec<(String, String)> {
    const WORDS: [&str; 24] = [
        "load", "save", "parse", "config", "user", "order", "price", "index", "cache", "token",
        "stream", "buffer", "event", "state", "path", "query", "model", "window", "result",
        "error", "total", "count", "line", "name",
    ];
    // A linear congruential generator: the same files each time, without a crate for it.
    let mut state = 1_u64;
    let mut word = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    (0..files)
        .map(|file| {
            let mut text = format!("import {}\n\n", word());
            for function in 0..15 {
                let (a, b, c) = (word(), word(), word());
                writeln!(text, "def {a}_{b}_{file}_{function}({b}, {c}):").unwrap();
                writeln!(text, "    \"\"\"The {a} of a {b}.\"\"\"").unwrap();
                for _ in 0..6 {
                    let (d, e, f) = (word(), word(), word());
                    writeln!(text, "    {d} = self.{e}_{f}({b}, {c}[{d:?}])").unwrap();
                }
                writeln!(text, "    return {c}.{a}\n").unwrap();
            }
            (format!("part{}/module{file}.py", file % 20), text)
        })
        .collect()
}
