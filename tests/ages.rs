//! `--since` mines only what changed after a date, and `show --since` divides a run's holes by it.

use std::path::Path;
use std::process::Command;

use crate::support::play::{TestDir, has_tools, holes, run, text};

/// The old function, the new one and their tests.
const OLD: &str = "def doubled(number):\n    twice = number + number\n    return twice\n";
const NEW: &str = "\n\ndef squared(number):\n    square = number * number\n    return square\n";
const TESTS: &str = "import unittest\n\nimport numbers_of\n\n\nclass Numbers(unittest.TestCase):\n    \
    def test_doubled(self):\n        self.assertEqual(numbers_of.doubled(3), 6)\n\n    \
    def test_squared(self):\n        self.assertEqual(numbers_of.squared(3), 9)\n";

fn commit(folder: &Path, day: &str) {
    for arguments in [&["add", "."][..], &["commit", "--quiet", "-m", "Change"]] {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_AUTHOR_DATE", format!("{day}T12:00:00Z"))
            .env("GIT_COMMITTER_DATE", format!("{day}T12:00:00Z"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn holes_can_be_chosen_and_divided_by_age() {
    if !has_tools(&["python3", "git"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = dir.write(
        "corpus.toml",
        "schema = 1\n[[project]]\nname = \"numbers\"\nlanguage = \"python\"\nsource = { path = \"numbers\" }\n\
         holes = [\"src/*.py\"]\n[project.environment]\npackages = [\"coverage==7.10.7\"]\n[project.test]\n\
         runner = \"unittest\"\nargs = [\"discover\", \"-s\", \"tests\"]\npath = [\"src\"]\n",
    );
    let source = dir.write("numbers/src/numbers_of.py", OLD);
    let project = source.parent().unwrap().parent().unwrap().to_owned();
    let tests = dir.write("numbers/tests/test_numbers.py", TESTS);
    let initialised = Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&project)
        .status();
    assert!(initialised.unwrap().success());
    commit(&project, "2025-06-01");
    std::fs::write(&source, [OLD, NEW].concat()).unwrap();
    std::fs::write(
        tests,
        TESTS.replace("import unittest\n", "import unittest\n\n"),
    )
    .unwrap();
    commit(&project, "2026-03-05");

    let mined = dir.path("mined.jsonl");
    let (corpus, output) = (text(&corpus), text(&mined));
    let mine = |since: &str| {
        run(&mut dir.command(&[
            "mine", &corpus, "--since", since, "--holes", "20", "-o", &output,
        ]))
    };
    let said = mine("2026-03-01").exits_with(0);
    assert!(said.out.contains("older "), "{}", said.out);
    let later = holes(&mined);
    assert!(!later.is_empty());
    for hole in &later {
        assert_eq!(hole["changed"], "2026-03-05");
        assert!(
            hole["reference"].as_str().unwrap().contains("squar"),
            "{hole}"
        );
    }
    let refused = mine("last spring").exits_with(1);
    assert!(refused.err.contains("neither a date"), "{}", refused.err);

    let folder = text(&dir.path("run"));
    run(&mut dir.command(&[
        "replay",
        &corpus,
        "--model",
        "reference",
        "--holes",
        "20",
        "--out",
        &folder,
    ]))
    .exits_with(0);
    let shown = run(&mut dir.command(&["show", &folder, "--since", "2026-03-01"])).exits_with(0);
    for part in [
        "since 2026-03-01",
        "before 2026-03-01",
        "100.0",
        "points more",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let json = run(&mut dir.command(&["show", &folder, "--since", "2026-03-01", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json.exits_with(0).out).unwrap();
    assert_eq!(json["later"]["value"], 1.0);
    assert_eq!(json["earlier"]["value"], 1.0);
    assert_eq!(json["difference"]["value"], 0.0);
    assert_eq!(json["undated"], 0);

    // The first page of a report has the same figures.
    let pages = dir.path("pages");
    let command = [
        "report",
        &folder,
        "--since",
        "2026-03-01",
        "-o",
        &text(&pages),
    ];
    run(&mut dir.command(&command)).exits_with(0);
    let summary = crate::report::data(&pages, "summary");
    assert_eq!(summary["ages"], serde_json::json!([json]));
}
