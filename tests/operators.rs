//! Our mutants compared with those of other programs, for the operators that both have: pynguin's
//! for Python, Stryker's for TypeScript. Two are the same if their files' syntax trees are. Every
//! difference is of a class that the reference page, `replay/docs/mutation.md`, documents.
//!
//! Two files are compared, or with `FILLRATE_PEERS=all` every file of the demos and of mistune;
//! then the counts are those of the page too. The scripts in `tests/setup` install the programs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use fillrate_language::mutate::{self, MutationOperator};
use fillrate_syntax::Language;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::peers::{self, everything};
use crate::support::play::{files, repository};
use crate::support::programs::install;

/// The result of comparing one corpus, as the scripts in `tests/peers` write it.
#[derive(Debug, Deserialize)]
struct Comparison {
    /// Mutants whose trees both have.
    equal: usize,
    /// Pairs that differ only in their spelling, not in what they compile to.
    spelling: usize,
    ours: usize,
    theirs: usize,
    differences: Vec<Difference>,
}

#[derive(Debug, Deserialize)]
struct Difference {
    path: String,
    line: usize,
    whose: String,
    class: String,
    change: String,
}

#[test]
fn python_mutants_equal_pynguins_except_for_documented_classes() {
    let Some(python) = install("pynguin") else {
        return;
    };
    let compare = |root: &Path, wanted: &[&str]| {
        let mut command = Command::new(&python);
        command
            .args(["-W", "ignore"])
            .arg(repository("tests/peers/pynguin_mutants.py"));
        compared(&mut command, root, "python", wanted)
    };
    let demo = compare(
        &repository("corpora/demo-python/src"),
        &["ledgerline/budget.py"],
    );
    check("pynguin", "demo", &demo);
    let mistune = compare(&peers::mistune().join("src"), &["mistune/helpers.py"]);
    check("pynguin", "mistune", &mistune);
}

#[test]
fn typescript_mutants_equal_strykers_except_for_documented_classes() {
    let Some(folder) = install("stryker") else {
        return;
    };
    let mut command = Command::new("node");
    command
        .arg(repository("tests/peers/stryker_mutants.mjs"))
        .arg(folder);
    let demo = compared(
        &mut command,
        &repository("corpora/demo-typescript/src"),
        "typescript",
        &["tariff/zones.ts", "units/weight.ts"],
    );
    check("Stryker", "demo", &demo);
}

/// Has a script compare our mutants of a folder's files with its own.
fn compared(command: &mut Command, root: &Path, language: &str, wanted: &[&str]) -> Comparison {
    let request: Vec<Value> = files(root)
        .iter()
        .filter(|path| everything() || wanted.contains(&path.to_str().unwrap()))
        .filter_map(|path| {
            let language = Language::for_path(path).filter(|found| found.id == language)?;
            let text = fs::read_to_string(root.join(path)).unwrap();
            let mutants = mutate::find_mutants(language, &text, 0..text.len());
            // No other program here deletes operands and statements as these two do.
            let mutants: Vec<Value> = mutants
                .iter()
                .filter(|mutant| {
                    !matches!(
                        mutant.operator,
                        MutationOperator::Bod | MutationOperator::Sdl
                    )
                })
                .map(|mutant| {
                    json!({
                        "operator": mutant.operator,
                        "start": mutant.edit.range.start,
                        "end": mutant.edit.range.end,
                        "replacement": mutant.edit.replacement,
                    })
                })
                .collect();
            Some(json!({ "path": path, "text": text, "mutants": mutants }))
        })
        .collect();
    assert!(everything() || request.len() == wanted.len());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = json!({ "files": request }).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Holds a comparison against the page: every class, and where all was compared, every count.
fn check(peer: &str, corpus: &str, comparison: &Comparison) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let classes = page("made by");
    for difference in &comparison.differences {
        let Difference { whose, class, .. } = difference;
        assert!(
            classes.iter().any(|row| row["peer"] == peer
                && row["made by"] == *whose
                && row["kind"] == *class),
            "{}, line {}: only {whose}, unexplained ({class}): {}",
            difference.path,
            difference.line,
            difference.change
        );
        *counts.entry((whose, class)).or_default() += 1;
    }
    let Comparison {
        equal,
        spelling,
        ours,
        theirs,
        ..
    } = comparison;
    println!("{peer}, {corpus}: ours {ours}, theirs {theirs}, equal {equal}, spelling {spelling}");
    for ((whose, class), count) in &counts {
        println!("{peer}, {corpus}: only {whose} {count}: {class}");
    }
    // Something must have been compared for nothing to differ.
    assert!(*equal > 20, "{comparison:#?}");
    if !everything() {
        return;
    }
    for row in classes.iter().filter(|row| row["peer"] == peer) {
        let key = (row["made by"].as_str(), row["kind"].as_str());
        let count = counts.get(&key).copied().unwrap_or_default();
        let written = row[corpus].parse().unwrap_or(0);
        assert_eq!(written, count, "{peer}, {corpus}: {key:?}");
    }
    let sums = page("equal trees");
    let row = sums
        .iter()
        .find(|row| row["peer"] == peer && row["files"] == corpus)
        .unwrap();
    for (column, count) in [
        ("ours", ours),
        ("theirs", theirs),
        ("equal trees", equal),
        ("equal bytecode", spelling),
    ] {
        assert_eq!(row[column], count.to_string(), "{peer}, {corpus}: {column}");
    }
}

/// The rows of the reference page's table that begins with the peer's name and has this column.
fn page(column: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(repository("replay/docs/mutation.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    let mut lines = text.lines().skip_while(|line| {
        let header = cells(line);
        header[0] != "peer" || !header.iter().any(|cell| cell == column)
    });
    let header = cells(lines.next().expect("the page has the table"));
    lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| header.iter().cloned().zip(cells(line)).collect())
        .collect()
}
