//! Measures how fast the embedded model learns and completes, and how often it gets a line exactly
//! right.
//!
//! `cargo bench -p fillrate-server --bench embedded -- FOLDER [LINES]` reads a folder of code. One
//! line at a time is masked; the rest of its file and of the repository stays. Without a folder, it
//! generates 100,000 lines, whose exact matches mean nothing. With `SHOW` set it prints every hole.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fillrate_server::context::WindowLayout;
use fillrate_server::model::{
    EmbeddedModel, Model, ModelRequest, ModelSettings, UnlimitedListener,
};
use fillrate_server::syntax::Language;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A file's path and text.
type File = (String, String);

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let files = match arguments.first() {
        Some(folder) => read(Path::new(folder)),
        None => make_up(100_000),
    };
    let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
    let wanted = arguments
        .get(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(500);

    let model = EmbeddedModel::new();
    let start = Instant::now();
    for (path, text) in &files {
        model.observe(path, Some(text));
    }
    let learning = start.elapsed();
    let start = Instant::now();
    let again = files.len().min(20);
    for (path, text) in files.iter().take(again) {
        model.observe(path, Some(text));
    }
    let relearning = start.elapsed() / again.max(1) as u32;
    println!("files            {:>10}", files.len());
    println!("lines            {lines:>10}");
    println!("learn all        {:>10.1} ms", milliseconds(learning));
    println!("learn one again  {:>10.1} ms", milliseconds(relearning));
    println!(
        "hole              n   exact  first token  further lines right   ms mean    ms p95    ms max"
    );
    for hole in [Hole::Line, Hole::RestOfLine, Hole::FiveLines] {
        measure(&model, &files, hole, wanted);
    }
}

/// The masked range.
#[derive(Clone, Copy, PartialEq)]
enum Hole {
    /// A line from its first character.
    Line,
    /// A line from a word within it.
    RestOfLine,
    /// A line from its first character, and the four lines after it.
    FiveLines,
}

fn measure(model: &EmbeddedModel, files: &[File], hole: Hole, wanted: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .expect("a runtime");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let verbose = std::env::var_os("SHOW").is_some();
    let (mut exact, mut first, mut times) = (0, 0, Vec::new());
    let holes = holes(files, &mut random, wanted, hole);
    let (mut further, mut further_right) = (0, 0);
    for (file, start, end) in &holes {
        let (path, text) = &files[*file];
        let request = ModelRequest {
            prefix: text[..*start].to_owned(),
            suffix: text[*end..].to_owned(),
            path: path.clone(),
            repository: "bench".to_owned(),
            language: Language::for_path(Path::new(path)),
            windows: Vec::new(),
            layout: WindowLayout::default(),
            earlier: None,
            hole: None,
            question: None,
            parameters: ModelSettings::default().parameters(),
        };
        let begin = Instant::now();
        let answer = runtime
            .block_on(model.complete(&request, &UnlimitedListener))
            .expect("the embedded model answers");
        times.push(begin.elapsed());
        let reference = text[*start..*end].trim_end();
        let completion = answer.candidates.first().map_or("", |c| c.text.as_str());
        let mut references = reference.lines().map(str::trim_end);
        let mut lines = completion.lines().map(str::trim_end);
        let (line, reference) = (lines.next(), references.next());
        exact += usize::from(line.unwrap_or_default() == reference.unwrap_or_default());
        first += usize::from(word(line.unwrap_or_default()) == word(reference.unwrap_or_default()));
        for line in lines {
            further += 1;
            further_right += usize::from(references.next() == Some(line));
        }
        if verbose {
            println!("{} {reference:?} <- {completion:?}", line == reference);
        }
    }
    times.sort();
    let count = holes.len().max(1);
    let mean = times.iter().sum::<Duration>() / count as u32;
    let rank = |part: f64| times.get((times.len() as f64 * part) as usize).copied();
    println!(
        "{:<14} {count:>5} {:>6.1} % {:>10.1} % {further_right:>12} of {further:<5} {:>9.2} \
         {:>9.2} {:>9.2}",
        match hole {
            Hole::Line => "line",
            Hole::RestOfLine => "rest of line",
            Hole::FiveLines => "five lines",
        },
        100.0 * exact as f64 / count as f64,
        100.0 * first as f64 / count as f64,
        milliseconds(mean),
        milliseconds(rank(0.95).unwrap_or_default()),
        milliseconds(times.last().copied().unwrap_or_default()),
    );
}

/// Returns the first word of a text, or its first character.
fn word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text
        .find(|character: char| !character.is_alphanumeric() && character != '_')
        .unwrap_or(text.len());
    &text[..end.max(text.chars().next().map_or(0, char::len_utf8))]
}

/// Returns masked ranges: a file, the start and the end in bytes. They are lines of code with at
/// least two words, from their first character or from a word within them.
fn holes(
    files: &[File],
    random: &mut ChaCha8Rng,
    wanted: usize,
    hole: Hole,
) -> Vec<(usize, usize, usize)> {
    let mut all = Vec::new();
    for (index, (_, text)) in files.iter().enumerate() {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let code = line.trim();
            let words: Vec<usize> = code
                .char_indices()
                .filter(|(index, character)| {
                    character.is_alphanumeric()
                        && !code[..*index].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                })
                .map(|(index, _)| index)
                .collect();
            let start = at + line.len() - line.trim_start().len();
            if words.len() >= 2 && !code.starts_with(['#', '/', '*', '"', '\'']) {
                let skip = if hole == Hole::RestOfLine {
                    words[1 + random.next_u64() as usize % (words.len() - 1)]
                } else {
                    0
                };
                let end = match hole {
                    Hole::FiveLines => {
                        at + text[at..]
                            .split_inclusive('\n')
                            .take(5)
                            .map(str::len)
                            .sum::<usize>()
                    }
                    _ => at + line.len(),
                };
                let end = at + text[at..end].trim_end().len();
                all.push((index, start + skip, end));
            }
            at += line.len();
        }
    }
    for index in (1..all.len()).rev() {
        all.swap(index, random.next_u64() as usize % (index + 1));
    }
    all.truncate(wanted);
    all
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn read(folder: &Path) -> Vec<File> {
    let mut files: Vec<File> = ignore::Walk::new(folder)
        .flatten()
        .filter(|entry| Language::for_path(entry.path()).is_some())
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(folder).ok()?.to_str()?.to_owned();
            Some((path, std::fs::read_to_string(entry.path()).ok()?))
        })
        .collect();
    files.sort();
    files
}

/// Generates code of realistic shape: names from a Zipf-like distribution, nested blocks, 500 lines
/// per file.
fn make_up(lines: usize) -> Vec<File> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut name = || {
        let fraction = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        format!("name_{}", (fraction.powi(3) * 20_000.0) as u32)
    };
    (0..lines / 500)
        .map(|file| {
            let mut text = String::new();
            for _ in 0..100 {
                let (a, b, c, d) = (name(), name(), name(), name());
                let _ = write!(
                    text,
                    "def {a}({b}, {c}):\n    for {d} in {b}.{c}():\n        \
                     if {d} != {c}[\"{a}\"]:\n            {b}.{d}({c}, {a}=1)\n    return {c}\n"
                );
            }
            (format!("folder{}/file{file}.py", file % 10), text)
        })
        .collect()
}
