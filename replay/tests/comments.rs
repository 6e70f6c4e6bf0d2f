//! Checks the style of documentation comments in all Rust files and scripts of the workspace.

use std::path::{Path, PathBuf};

/// Words with which an indirect question begins.
const QUESTION_WORDS: [&str; 6] = ["What", "How", "Whether", "Where", "When", "Which"];

/// Largest share of documentation comments that begin with one of [`QUESTION_WORDS`].
const MOST_QUESTIONS: f64 = 0.05;

/// Fewest comments of a search that reached the whole workspace.
const FEWEST_COMMENTS: usize = 500;

/// Folders whose files are data or not ours.
const SKIPPED_FOLDERS: [&str; 4] = ["corpora", "dist", "fixtures", "node_modules"];

/// Returns the marks that begin documentation comments in files of an extension.
fn comment_marks(extension: &str) -> &'static [&'static str] {
    match extension {
        "rs" => &["///", "//!"],
        "lua" => &["---"],
        "js" | "mjs" | "ts" => &["/**"],
        "py" => &["\"\"\""],
        _ => &[],
    }
}

/// Returns the extension of a file's name; empty if it has none.
fn extension(path: &Path) -> &str {
    path.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}

/// Adds the files below a folder that have one of some extensions.
fn add_files(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !SKIPPED_FOLDERS
                .iter()
                .any(|skipped| path.ends_with(skipped))
            {
                add_files(&path, extensions, files);
            }
        } else if extensions.contains(&extension(&path)) {
            files.push(path);
        }
    }
}

/// Returns the first line of each documentation comment, with its number from 1. Comments of
/// annotations alone are left out.
fn first_lines<'a>(text: &'a str, marks: &[&str]) -> Vec<(usize, &'a str)> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let mut firsts = Vec::new();
    let mut continues = false;
    for (index, &line) in lines.iter().enumerate() {
        let comment = marks
            .iter()
            .find_map(|mark| line.strip_prefix(*mark))
            .filter(|rest| !rest.starts_with(['/', '-']));
        if let Some(comment) = comment.filter(|_| !continues) {
            // The text of a block may begin on its second line.
            let second = lines.get(index + 1).filter(|_| line == "/**");
            let first = second.map_or(comment, |second| second.trim_start_matches('*'));
            let first = first.trim_start();
            if !first.is_empty() && !first.starts_with('@') {
                firsts.push((index + 1, first));
            }
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
    let firsts = first_lines(text, comment_marks("rs"));
    assert_eq!(firsts, [(1, "Tests."), (4, "How long.")]);
    assert!(is_question("How long.") && !is_question("Howl.") && !is_question("Tests."));
}

#[test]
fn first_lines_of_script_comments_are_found() {
    let text = "/** A. */\nlet a;\n/**\n * What.\n */\n/** @type {number} */\nlet b;\n";
    let firsts = first_lines(text, comment_marks("ts"));
    assert_eq!(firsts, [(1, "A. */"), (3, "What.")]);
    let text = "--- A.\n---\n--- @return string\n\n--- @type table\n-- What.\n---- Rule.\n";
    assert_eq!(first_lines(text, comment_marks("lua")), [(1, "A.")]);
    let text = "def a():\n    \"\"\"How long.\n\n    More.\n    \"\"\"\n    return 1\n";
    assert_eq!(first_lines(text, comment_marks("py")), [(2, "How long.")]);
}

#[test]
fn rust_comments_are_rarely_questions() {
    check_share(&["rs"]);
}

#[test]
fn script_comments_are_rarely_questions() {
    check_share(&["js", "lua", "mjs", "py", "ts"]);
}

/// Fails if too many documentation comments in files of some extensions are questions.
fn check_share(extensions: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["editors", "replay", "server", "tests"] {
        add_files(&root.join(folder), extensions, &mut files);
    }
    let (mut comments, mut questions) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file is readable");
        for (line, comment) in first_lines(&text, comment_marks(extension(&file))) {
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
