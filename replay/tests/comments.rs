//! Checks the style of documentation comments in all Rust files of the workspace.

use std::path::{Path, PathBuf};

/// Words with which an indirect question begins.
const QUESTION_WORDS: [&str; 6] = ["What", "How", "Whether", "Where", "When", "Which"];

/// Largest share of documentation comments that begin with one of [`QUESTION_WORDS`].
const MOST_QUESTIONS: f64 = 0.05;

/// Fewest comments of a search that reached the whole workspace.
const FEWEST_COMMENTS: usize = 1000;

/// Adds the Rust files below a folder.
fn add_rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            add_rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the first line of each documentation comment, with its number from 1.
fn first_lines(text: &str) -> Vec<(usize, &str)> {
    let mut firsts = Vec::new();
    let mut continues = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["///", "//!"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .filter(|rest| !rest.starts_with('/'));
        if let Some(comment) = comment.filter(|_| !continues) {
            firsts.push((index + 1, comment.trim_start()));
        }
        continues = comment.is_some();
    }
    firsts
}

fn is_question(comment: &str) -> bool {
    let word = comment.split(|sign: char| !sign.is_alphabetic()).next();
    word.is_some_and(|word| QUESTION_WORDS.contains(&word))
}

#[test]
fn first_lines_of_comments_are_found() {
    let text = "//! Tests.\n//! What more.\n\n/// How long.\nstruct A;\n//// Rule.\n// What.\n";
    assert_eq!(first_lines(text), [(1, "Tests."), (4, "How long.")]);
    assert!(is_question("How long.") && !is_question("Howl.") && !is_question("Tests."));
}

#[test]
fn documentation_comments_are_rarely_questions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["replay", "server", "tests"] {
        add_rust_files(&root.join(folder), &mut files);
    }
    let (mut comments, mut questions) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (line, comment) in first_lines(&text) {
            comments += 1;
            if is_question(comment) {
                questions.push(format!("{}:{line}: {comment}", file.display()));
            }
        }
    }
    assert!(comments > FEWEST_COMMENTS, "{comments} comments");
    let share = questions.len() as f64 / comments as f64;
    println!(
        "{} of {comments} documentation comments ({:.1} %) begin with a question word",
        questions.len(),
        100.0 * share
    );
    assert!(
        share <= MOST_QUESTIONS,
        "{} of {comments} documentation comments ({:.1} %) begin with a question word; begin them \
         with a noun or a verb (\"Returns…\", \"Number of…\", \"True if…\"):\n{}",
        questions.len(),
        100.0 * share,
        questions.join("\n")
    );
}
