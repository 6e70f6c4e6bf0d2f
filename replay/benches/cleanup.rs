//! Rate at which clean-up changes a right completion: a raw completion that equals the reference.
//!
//! `cargo bench -p fillrate --bench cleanup -- [--examples N] [FILE.jsonl.gz | FOLDER]...` takes the
//! tasks of [HumanEval-Infilling](https://github.com/openai/human-eval-infilling) files and every
//! hole candidate of the source files in folders; by default those of the demo projects. For each
//! source and each extent it prints the share of references that clean-up keeps, white space at the
//! end aside, and the rules that change the others. `--examples N` prints the first N changed
//! references by rule.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use comfy_table::{ContentArrangement, Table};
use fillrate_language::SourceFile;
use fillrate_mine::candidates::{LineCoverage, find_candidates};
use fillrate_server::cleanup::{CompletionExtent, CursorSite, clean};
use fillrate_syntax::Language;
use flate2::read::GzDecoder;
use serde_json::Value;

/// A file with a hole.
struct Case {
    path: PathBuf,
    prefix: String,
    reference: String,
    suffix: String,
}

const EXTENTS: [CompletionExtent; 2] = [CompletionExtent::Anything, CompletionExtent::Block];

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let (mut examples, mut sources) = (0_usize, Vec::new());
    while let Some(argument) = arguments.next() {
        if argument == "--examples" {
            examples = arguments.next().unwrap().parse().unwrap();
        } else {
            sources.push(PathBuf::from(argument));
        }
    }
    if sources.is_empty() {
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora");
        sources = ["demo-python", "demo-typescript"]
            .map(|name| corpora.join(name))
            .to_vec();
    }
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(100);
    table.set_header(["source", "extent", "n", "kept", "kept %", "changed by rule"]);
    for source in &sources {
        let cases = if source.is_dir() {
            candidates(source)
        } else {
            infilling(source)
        };
        for extent in EXTENTS {
            table.add_row(row(source, &cases, extent, examples));
        }
    }
    println!("{table}");
}

fn row(source: &Path, cases: &[Case], extent: CompletionExtent, examples: usize) -> Vec<String> {
    let mut changed: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases {
        let site = CursorSite {
            prefix: &case.prefix,
            suffix: &case.suffix,
            path: None,
            language: Language::for_path(&case.path),
            tree: None,
            extent,
            chat: false,
        };
        let (text, decisions) = clean(&case.reference, &site);
        if text.trim_end() == case.reference.trim_end() {
            continue;
        }
        let rules: Vec<&str> = decisions.iter().map(|one| one.rule.as_str()).collect();
        let count = changed.entry(rules.join("+")).or_default();
        *count += 1;
        if *count <= examples {
            println!(
                "== {} {extent:?} {}\n{}⟦{}⟧{}\n-- kept: {text:?}",
                case.path.display(),
                rules.join("+"),
                tail(&case.prefix),
                case.reference,
                head(&case.suffix),
            );
        }
    }
    let kept = cases.len() - changed.values().sum::<usize>();
    let rules: Vec<String> = changed
        .iter()
        .map(|(rule, count)| format!("{rule} {count}"))
        .collect();
    vec![
        source.file_name().unwrap().to_string_lossy().into_owned(),
        format!("{extent:?}").to_lowercase(),
        cases.len().to_string(),
        kept.to_string(),
        format!("{:.2}", 100.0 * kept as f64 / cases.len().max(1) as f64),
        rules.join(", "),
    ]
}

/// The last three lines of a text.
fn tail(text: &str) -> &str {
    let start = text.rmatch_indices('\n').nth(3).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

/// The first three lines of a text.
fn head(text: &str) -> &str {
    let end = text
        .match_indices('\n')
        .nth(2)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn infilling(file: &Path) -> Vec<Case> {
    let records = std::io::read_to_string(GzDecoder::new(File::open(file).unwrap())).unwrap();
    records
        .lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| record[name].as_str().unwrap().to_owned();
            Case {
                path: format!("{}.py", field("task_id")).into(),
                prefix: field("prompt"),
                reference: field("canonical_solution"),
                suffix: field("suffix"),
            }
        })
        .collect()
}

fn candidates(folder: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in ignore::Walk::new(folder).map(Result::unwrap) {
        let path = entry.path();
        let Some(language) = Language::for_path(path).filter(|_| path.is_file()) else {
            continue;
        };
        let Ok(contents) = std::fs::read_to_string(path) else {
            continue;
        };
        let file = SourceFile {
            path: path.display().to_string(),
            contents,
            language,
        };
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|_| false,
        };
        for candidate in find_candidates("bench", &file, coverage) {
            let (prefix, suffix) = candidate.hole.cut(&file.contents).unwrap();
            cases.push(Case {
                path: path.to_owned(),
                prefix: prefix.to_owned(),
                reference: candidate.hole.reference.clone(),
                suffix: suffix.to_owned(),
            });
        }
    }
    cases
}
