//! `fillrate mine`: what the records say of holes, with the real program and real tests.

use crate::support::play::{TestDir, copy, has_tools, holes, kitchen, repository, text};

/// A copy of the small project, to be changed.
fn copied(dir: &TestDir) -> String {
    copy(&repository("tests/corpora/kitchen"), &dir.path("kitchen"));
    let manifest = std::fs::read_to_string(kitchen()).unwrap();
    text(&dir.write("kitchen.toml", &manifest))
}

#[test]
fn holes_executed_at_import_are_marked() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = copied(&dir);
    let path = dir.path("kitchen/src/kitchen/timer.py");
    let timer = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, timer + "\n\nMINUTE = parse(\"1:00\")\n").unwrap();
    let tasks = dir.path("tasks.jsonl");
    dir.fillrate(&[
        "mine",
        &corpus,
        "--holes",
        "40",
        "--kinds",
        "line",
        "-o",
        &text(&tasks),
    ])
    .exits_with(0);
    let marked: Vec<String> = holes(&tasks)
        .iter()
        .filter(|hole| hole["at_import"] == true)
        .map(|hole| hole["reference"].as_str().unwrap().to_owned())
        .collect();
    // The last line of the function is another branch.
    assert_eq!(
        marked,
        [
            "minutes, separator, seconds = text.rpartition(\":\")",
            "if separator:",
            "return int(minutes) * 60 + int(seconds)",
        ]
    );
}

/// `fillrate mine` on the small project; the ids of the holes, and its output.
fn mined(dir: &TestDir, name: &str, more: &[&str]) -> (Vec<String>, String) {
    let tasks = dir.path(name);
    let mut arguments = vec!["mine".to_owned(), kitchen(), "-o".to_owned(), text(&tasks)];
    arguments.extend(["--holes", "4", "--kinds", "line"].map(str::to_owned));
    arguments.extend(more.iter().map(ToString::to_string));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let finished = dir.fillrate(&arguments).exits_with(0).out;
    let id = |hole: &serde_json::Value| hole["id"].as_str().unwrap().to_owned();
    (holes(&tasks).iter().map(id).collect(), finished)
}

#[test]
fn unless_solved_leaves_out_holes_solved_without_other_files() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (all, _) = mined(&dir, "tasks.jsonl", &[]);
    let tasks = dir.path("tasks.jsonl");
    let lines: Vec<String> = holes(&tasks)
        .iter()
        .enumerate()
        .map(|(index, hole)| {
            // The first alone is solved.
            let right = hole["reference"].as_str().unwrap();
            let completion = if index == 0 { right } else { "pass" };
            serde_json::json!({"hole": hole["id"], "completions": [completion]}).to_string()
        })
        .collect();
    let predictions = text(&dir.write("predictions.jsonl", &lines.join("\n")));
    let replay = |context: &str| {
        let run = dir.path(context);
        dir.fillrate(&[
            "replay",
            &kitchen(),
            "--tasks",
            &text(&tasks),
            "--model",
            &predictions,
            "--context",
            context,
            "--out",
            &text(&run),
        ])
        .exits_with(0);
        text(&run)
    };
    let alone = replay("none");
    let (others, finished) = mined(&dir, "others.jsonl", &["--unless-solved", &alone]);
    assert_eq!(others.len(), all.len());
    assert!(!others.contains(&all[0]), "{others:?}");
    assert!(all[1..].iter().all(|id| others.contains(id)), "{others:?}");
    assert!(finished.contains("solved 1"), "{finished}");

    let everything = replay("editor");
    let refused = dir.fillrate(&[
        "mine",
        &kitchen(),
        "-o",
        &text(&dir.path("no.jsonl")),
        "--unless-solved",
        &everything,
    ]);
    let refused = refused.exits_with(1);
    assert!(refused.error_message().contains("--context none"));
    assert!(!dir.path("no.jsonl").exists());
}

#[test]
fn api_holes_are_mined_on_request() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = copied(&dir);
    let timer = dir.path("kitchen/src/kitchen/timer.py");
    let code = std::fs::read_to_string(&timer).unwrap();
    let more = "\n\ndef label(weight):\n    return \"about \" + scale.display(weight + 1)\n";
    std::fs::write(&timer, format!("from kitchen import scale\n\n{code}{more}")).unwrap();
    dir.write(
        "kitchen/tests/test_label.py",
        "from kitchen.timer import label\n\n\ndef test_label():\n    assert label(4) == \"about 5 g\"\n",
    );
    let mined = |more: &[&str]| {
        let tasks = dir.path("tasks.jsonl");
        let tasks_text = text(&tasks);
        let mut arguments = vec!["mine", &corpus, "--holes", "12", "-o", &tasks_text];
        arguments.extend(more);
        dir.fillrate(&arguments).exits_with(0);
        holes(&tasks)
    };
    let of_kind = mined(&["--kinds", "api"]);
    assert_eq!(of_kind.len(), 1, "{of_kind:#?}");
    assert_eq!(of_kind[0]["kind"], "api");
    let reference = of_kind[0]["reference"].as_str().unwrap();
    assert!(
        "\"about \" + scale.display(weight + 1)".ends_with(reference)
            && reference.contains("display(weight + 1)"),
        "{reference}"
    );
    assert!(mined(&[]).iter().all(|hole| hole["kind"] != "api"));
}

#[test]
fn holes_with_a_low_mutation_score_are_left_out() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = text(&dir.path("tasks.jsonl"));
    let mine = |more: &[&str]| {
        let corpus = kitchen();
        let mut arguments = vec!["mine", &corpus, "--holes", "6", "-o", &tasks];
        arguments.extend(["--kinds", "body,block"]);
        arguments.extend(more);
        dir.fillrate(&arguments)
    };
    let score = |hole: &serde_json::Value| {
        let count = |name: &str| hole["mutation"][name].as_f64().unwrap();
        count("killed") / (count("killed") + count("survived"))
    };
    let finished = mine(&["--min-mutation-score", "0.95"]).exits_with(0);
    let strong = holes(std::path::Path::new(&tasks));
    assert!(!strong.is_empty());
    assert!(strong.iter().all(|hole| score(hole) >= 0.95), "{strong:#?}");
    assert!(finished.out.contains("mutation-score "), "{}", finished.out);
    mine(&[]).exits_with(0);
    for hole in holes(std::path::Path::new(&tasks)) {
        assert_eq!(hole["mutation"], serde_json::Value::Null);
    }
    let refused = mine(&["--min-mutation-score", "95"]).exits_with(2);
    assert!(
        refused.err.contains("it must be a number from 0 to 1"),
        "{refused:#?}"
    );
}
