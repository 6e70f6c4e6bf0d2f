//! Compares retrieval with CrossCodeEval's released data: 72 of its examples with the windows that
//! its authors retrieved, in `../shared/oracles` next to the project, and their repositories, each
//! at its commit:
//!
//! ```sh
//! FILLRATE_CCEVAL_REPOSITORIES=FOLDER cargo test -p fillrate-server --test cceval -- --nocapture
//! ```
//!
//! The folder contains a folder for each repository, named as in the examples
//! (`turboderp-exllama-a544085`: owner, name and commit), filled by `git archive COMMIT
//! tar -x -C FOLDER/NAME`. Without these folders, the test prints a message and checks nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fillrate_server::context::lines::{HitTarget, LineWindows, WindowScheme, cceval_query};
use fillrate_server::context::{Window, WindowLayout};
use fillrate_server::prompt::{PromptInput, sides};
use fillrate_server::workspace::Workspace;
use serde_json::Value;

/// Agreement in one repository.
#[derive(Debug, Default)]
struct Agreement {
    examples: usize,
    /// Number of examples whose windows are all equal, in order.
    equal: usize,
    /// Number of examples whose prompt is equal.
    texts: usize,
    windows: usize,
    equal_windows: usize,
    /// Number of scores that are bit-identical.
    equal_scores: usize,
}

#[test]
fn windows_and_scores_are_those_of_the_released_data() {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/oracles/crosscodeeval/examples.jsonl");
    let Ok(examples) = std::fs::read_to_string(&oracle) else {
        println!("skipped: {} is not there", oracle.display());
        return;
    };
    let Some(folder) = std::env::var_os("FILLRATE_CCEVAL_REPOSITORIES") else {
        println!("skipped: FILLRATE_CCEVAL_REPOSITORIES names no folder of repositories");
        return;
    };
    let mut repositories: BTreeMap<String, Option<LineWindows>> = BTreeMap::new();
    let mut agreements: BTreeMap<String, Agreement> = BTreeMap::new();
    for line in examples.lines() {
        let example: Value = serde_json::from_str(line).expect("a line is an example");
        let name = text(&example["metadata"]["repository"]);
        let lines = repositories
            .entry(name.to_owned())
            .or_insert_with(|| read(&PathBuf::from(&folder).join(name)));
        let Some(lines) = lines else {
            continue;
        };
        let agreement = agreements.entry(name.to_owned()).or_default();
        compare(&example, &scores(line), lines, agreement);
    }
    for (name, lines) in &repositories {
        match agreements.get(name) {
            Some(agreement) => println!("{name}: {agreement:?}"),
            None => println!("{name}: skipped, it is not at hand ({})", lines.is_none()),
        }
    }
    for (name, found) in &agreements {
        assert_eq!(found.equal, found.examples, "{name}");
        assert_eq!(found.texts, found.examples, "{name}");
        assert_eq!(found.equal_windows, found.windows, "{name}");
        assert_eq!(found.equal_scores, found.windows, "{name}");
    }
    assert!(
        !agreements.is_empty(),
        "{} holds no repository",
        folder.display()
    );
}

/// The visible files of a repository, as the server reads them.
fn read(folder: &Path) -> Option<LineWindows> {
    if !folder.is_dir() {
        return None;
    }
    let workspace = Workspace::new(vec![folder.to_path_buf()]);
    let mut lines = LineWindows::new(WindowScheme::CrossCodeEval);
    for file in workspace.files() {
        let contents = workspace.read(&file).expect("it was listed");
        lines.update(&file.path, &contents);
    }
    Some(lines)
}

/// Returns the scores in an example, bit-identical: serde_json does not always parse a JSON number
/// to the nearest one.
fn scores(line: &str) -> Vec<f64> {
    let after = line.split("\"score\": ").skip(1);
    let numbers = after.map(|rest| rest.split([',', '}']).next().unwrap_or_default());
    numbers
        .map(|number| number.parse().expect("a score is a number"))
        .collect()
}

fn compare(example: &Value, scores: &[f64], lines: &LineWindows, agreement: &mut Agreement) {
    let (prompt, path) = (text(&example["prompt"]), text(&example["metadata"]["file"]));
    let candidates = lines.candidates(path);
    let ours = candidates.bm25(&cceval_query(prompt, None));
    let found = candidates.best(&ours, 5, HitTarget::Next);
    let released = &example["crossfile_context"];
    let expected: Vec<Window> = released["list"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(scores)
        .map(|(entry, score)| Window {
            path: text(&entry["filename"]).to_owned(),
            first_line: 0,
            text: text(&entry["retrieved_chunk"]).to_owned(),
            score: *score,
        })
        .collect();

    let same = |a: &Window, b: &Window| a.path == b.path && a.text == b.text;
    agreement.examples += 1;
    agreement.windows += expected.len();
    let pairs = || found.iter().zip(&expected);
    agreement.equal_windows += pairs().filter(|(a, b)| same(a, b)).count();
    agreement.equal_scores += pairs()
        .filter(|(a, b)| same(a, b) && a.score.to_bits() == b.score.to_bits())
        .count();
    let all = found.len() == expected.len() && pairs().all(|(a, b)| same(a, b));
    agreement.equal += usize::from(all);
    let place = PromptInput {
        repository: "",
        path,
        line_comment: "#",
        prefix: "",
        suffix: "",
        windows: &found,
        layout: WindowLayout::Comments,
    };
    let written = sides(&place, &[], usize::MAX).prefix;
    agreement.texts += usize::from(written == text(&released["text"]));
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
