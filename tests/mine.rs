//! `fillrate mine`: what the records say of holes, with the real program and real tests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use play::{Place, copy, has, holes, kitchen, repository, text};

/// A copy of the small project, to be changed.
fn copied(place: &Place) -> String {
    copy(&repository("tests/corpora/kitchen"), &place.path("kitchen"));
    let manifest = std::fs::read_to_string(kitchen()).unwrap();
    text(&place.write("kitchen.toml", &manifest))
}

#[test]
fn a_function_that_is_called_at_import_marks_its_holes() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let corpus = copied(&place);
    let path = place.path("kitchen/src/kitchen/timer.py");
    let timer = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, timer + "\n\nMINUTE = parse(\"1:00\")\n").unwrap();
    let tasks = place.path("tasks.jsonl");
    place
        .fillrate(&[
            "mine",
            &corpus,
            "--holes",
            "40",
            "--kinds",
            "line",
            "-o",
            &text(&tasks),
        ])
        .ended(0);
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

/// `fillrate mine` on the small project; the ids of the holes, and what it says.
fn mined(place: &Place, name: &str, more: &[&str]) -> (Vec<String>, String) {
    let tasks = place.path(name);
    let mut arguments = vec!["mine".to_owned(), kitchen(), "-o".to_owned(), text(&tasks)];
    arguments.extend(["--holes", "4", "--kinds", "line"].map(str::to_owned));
    arguments.extend(more.iter().map(ToString::to_string));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = place.fillrate(&arguments).ended(0).out;
    let id = |hole: &serde_json::Value| hole["id"].as_str().unwrap().to_owned();
    (holes(&tasks).iter().map(id).collect(), said)
}

#[test]
fn what_a_model_solves_without_other_files_is_left_out_when_asked_for() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let (all, _) = mined(&place, "tasks.jsonl", &[]);
    let tasks = place.path("tasks.jsonl");
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
    let predictions = text(&place.write("predictions.jsonl", &lines.join("\n")));
    let replay = |context: &str| {
        let run = place.path(context);
        place
            .fillrate(&[
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
            .ended(0);
        text(&run)
    };
    let alone = replay("none");
    let (others, said) = mined(&place, "others.jsonl", &["--unless-solved", &alone]);
    assert_eq!(others.len(), all.len());
    assert!(!others.contains(&all[0]), "{others:?}");
    assert!(all[1..].iter().all(|id| others.contains(id)), "{others:?}");
    assert!(said.contains("solved 1"), "{said}");

    let everything = replay("editor");
    let refused = place.fillrate(&[
        "mine",
        &kitchen(),
        "-o",
        &text(&place.path("no.jsonl")),
        "--unless-solved",
        &everything,
    ]);
    let refused = refused.ended(1);
    assert!(refused.complaint().contains("--context none"));
    assert!(!place.path("no.jsonl").exists());
}

#[test]
fn what_needs_another_file_is_mined_when_asked_for() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let corpus = copied(&place);
    let timer = place.path("kitchen/src/kitchen/timer.py");
    let code = std::fs::read_to_string(&timer).unwrap();
    let more = "\n\ndef label(weight):\n    return \"about \" + scale.display(weight + 1)\n";
    std::fs::write(&timer, format!("from kitchen import scale\n\n{code}{more}")).unwrap();
    place.write(
        "kitchen/tests/test_label.py",
        "from kitchen.timer import label\n\n\ndef test_label():\n    assert label(4) == \"about 5 g\"\n",
    );
    let mined = |more: &[&str]| {
        let tasks = place.path("tasks.jsonl");
        let tasks_text = text(&tasks);
        let mut arguments = vec!["mine", &corpus, "--holes", "12", "-o", &tasks_text];
        arguments.extend(more);
        place.fillrate(&arguments).ended(0);
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
fn holes_whose_tests_notice_too_few_faults_are_left_out() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let tasks = text(&place.path("tasks.jsonl"));
    let mine = |more: &[&str]| {
        let corpus = kitchen();
        let mut arguments = vec!["mine", &corpus, "--holes", "6", "-o", &tasks];
        arguments.extend(["--kinds", "body,block"]);
        arguments.extend(more);
        place.fillrate(&arguments)
    };
    let score = |hole: &serde_json::Value| {
        let count = |name: &str| hole["mutation"][name].as_f64().unwrap();
        count("killed") / (count("killed") + count("survived"))
    };
    let said = mine(&["--min-mutation-score", "0.95"]).ended(0);
    let strong = holes(std::path::Path::new(&tasks));
    assert!(!strong.is_empty());
    assert!(strong.iter().all(|hole| score(hole) >= 0.95), "{strong:#?}");
    assert!(said.out.contains("mutation-score "), "{}", said.out);
    mine(&[]).ended(0);
    for hole in holes(std::path::Path::new(&tasks)) {
        assert_eq!(hole["mutation"], serde_json::Value::Null);
    }
    let refused = mine(&["--min-mutation-score", "95"]).ended(2);
    assert!(
        refused.err.contains("it must be a number from 0 to 1"),
        "{refused:#?}"
    );
}
