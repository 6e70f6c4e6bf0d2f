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
